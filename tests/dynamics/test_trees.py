"""Trees of joints in their own coordinates: compared with whole systems, to the bit where runs are cut, linear in size."""

import lawful
import numpy as np
import pytest
import textbook as book

import mse
from mse import Pose
from mse.dynamics import explicit
from mse.dynamics.accelerations import Equations
from mse.dynamics.bodies import Bodies
from mse.dynamics.trees import TreeSteps, nodes_of
from mse.model.variants import prepared


def body(name, at, mass=1.0):
    frames = {"one": Pose.dxdydz(0.1, -0.2, 0.3), "two": Pose.dxdydz(-0.2, 0.1, -0.3), "three": Pose.dz(-0.2)}
    return mse.RigidBody(name, mass=mass, inertia=(0.02, 0.03, 0.04), at=at, frames=frames)


def branched():
    """Every kind of joint that a tree may have, with bodies on either frame, and a body that nothing holds."""
    s = mse.MSystem("branched", gravity=(0.3, -0.2, -9.81))
    base, arm = s.add(body("base", Pose.dz(-0.3))), s.add(body("arm", Pose.dz(-1.0), 0.7))
    hand, tray = s.add(body("hand", Pose.dz(-1.6), 0.4)), s.add(body("tray", Pose.dxdydz(0.5, 0, -1), 0.5))
    ball, float_ = s.add(body("ball", Pose.dz(-2.4), 0.3)), s.add(body("float", Pose.dxdydz(2, 0, 0), 0.6))
    rider, lid = s.add(body("rider", Pose.dxdydz(2, 0, -0.5), 0.2)), s.add(body("lid", Pose.dz(-2), 0.3))
    hinge = mse.Revolute("hinge", axis=(0.2, 1, 0.1), stiffness=3.0, damping=0.05)
    s.add(hinge, between=(s.ground, base.frame("one")))
    s.add(
        mse.Cylindrical("shaft", axis=(0, 1, 0), stiffness={"displacement": 40.0}),
        between=(arm.frame("one"), base.frame("two")),
    )
    s.add(mse.Spherical("wrist"), between=(arm.frame("two"), hand.frame("one")))
    slide = mse.Prismatic("slide", axis=(1, 0, 0.5), stiffness=30.0, damping=0.2, preload=0.5)
    s.add(slide, between=(base.frame("three"), tray.frame("two")))
    s.add(
        mse.Joint("bead", free=("x", "z", "ax", "ay", "az"), stiffness={"x": 50.0, "z": 60.0}),
        between=(ball, hand.frame("two")),
    )
    s.add(
        mse.Planar("plane", axis=(0, 0, 1), stiffness={"x": 20.0, "y": 20.0}),
        between=(rider.frame("one"), float_.frame("two")),
    )
    s.add(mse.Joint("free", free=("x", "y", "z", "ax", "ay", "az")), between=(float_, s.ground))
    s.add(mse.Fixed("weld"), between=(lid.frame("one"), hand.frame("three")))
    return s


INITIAL = {
    "hinge.angle": 0.4, "hinge.angle'": 2.0, "shaft.angle'": -3.0, "slide.displacement'": 0.3, "plane.angle'": 4.0,
    "float'": [0.1, 0.2, 0.3, 1.0, -2.0, 0.5],
}  # fmt: skip


def run(system, **more):
    own = {"duration": 0.5, "dt": 0.25, "initial": INITIAL, "rtol": 1e-9, "progress": False}
    return system.simulate(**own | more)


@pytest.mark.slow
def test_every_joint_moves_as_in_a_whole_system(monkeypatch):
    taken = book.count_leaps(monkeypatch, TreeSteps)
    motion = run(branched())
    assert sum(taken) == motion.steps
    assert motion.largest_residual < 1e-13
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-8
    monkeypatch.setattr(explicit, "nodes_of", lambda bodies: None)
    whole = run(branched())
    assert sum(taken) == motion.steps
    assert np.abs(motion.values - whole.values).max() < 1e-7
    assert np.abs(motion.energy["damped"] - whole.energy["damped"]).max() < 1e-8


@pytest.mark.slow
def test_runs_do_not_depend_on_samples_or_cuts():
    system = branched()
    whole, finer = run(system, duration=1.0), run(system, duration=1.0, dt=0.0625)
    assert np.array_equal(whole.values, finer.values[::4])
    first = run(system, duration=0.25)
    rest = system.simulate(duration=0.75, dt=0.25, start=first.final_state, rtol=1e-9, progress=False)
    assert np.array_equal(rest.values, whole.values[1:])
    there = whole.at(0.3125)
    assert there.joint_coordinates["hinge.angle"] == finer["hinge.angle"][5]


def test_angles_count_whole_turns():
    s = mse.MSystem("wheel", gravity=(0, 0, 0))
    s.add(
        mse.Revolute("hinge", axis=(0, 0, 1)), between=(s.add(mse.RigidBody("wheel", mass=1.0, inertia=1.0)), s.ground)
    )
    motion = s.simulate(duration=10.0, dt=5.0, initial={"hinge.angle": 0.5, "hinge.angle'": -30.0}, progress=False)
    assert motion["hinge.angle"] == pytest.approx([0.5, -149.5, -299.5], abs=1e-9)
    assert motion.steps < 20


def test_a_body_that_tumbles_keeps_small_rates_as_exact_as_large_ones():
    initial = {"body'": [0, 0, 0, 0.02, 5.0, 0.03]}
    motion = book.free_body().simulate(duration=20.0, dt=20.0, initial=initial, rtol=1e-10, outputs=[], progress=False)
    turning, (_, u) = motion.velocities("body.center")[-1, 3:], motion.poses("body.center")
    assert (u[-1].T @ turning)[1] == pytest.approx(-4.9769725065, abs=2e-9)


@pytest.mark.parametrize("arm", [0.0, 0.1])
def test_turns_without_inertia_about_an_arm_are_left_to_whole_systems(arm):
    """A cart pulls a point along the arm that leads to its ball joint; without an arm nothing turns the point."""
    s = mse.MSystem("cart", gravity=(0, 0, 0))
    cart = s.add(mse.RigidBody("cart", mass=1.0, inertia=0.1))
    point = s.add(mse.RigidBody("point", mass=3.0, at=Pose.dx(arm), frames={"hook": Pose.dx(-arm)}))
    s.add(mse.Prismatic("slide", axis=(1, 0, 0), stiffness=4.0), between=(cart, s.ground))
    s.add(mse.Spherical("ball"), between=(point.frame("hook"), cart))
    motion = s.simulate(duration=1.0, dt=1.0, initial={"slide.displacement": 0.5}, progress=False)
    assert motion["slide.displacement"][-1] == pytest.approx(0.5 * np.cos(1.0), abs=1e-8)
    assert ("neither mass nor force" in "".join(motion.notes)) == (arm > 0.0)


def hung():
    """A stage on wires from a body that slides and from an arm; a body on it by a damped spring, and one of no length."""
    s = mse.MSystem("hung", gravity=(0.3, -0.2, -9.81))
    stage, tip = s.add(body("stage", Pose.dz(-1.0))), s.add(body("tip", Pose.dxdydz(-0.2, 0.1, 0.0), 0.3))
    arm, rider = s.add(body("arm", Pose.dxdydz(0.6, 0, 0), 0.4)), s.add(body("rider", Pose.dxdydz(0.1, 0.2, -1.8), 0.2))
    slide = mse.Prismatic("slide", axis=(0, 0.3, 1), stiffness=200.0, damping=0.1)
    s.add(slide, between=(tip.frame("one"), s.ground))
    s.add(mse.Revolute("hinge", axis=(0, 1, 0), stiffness=9.0), between=(arm.frame("two"), s.ground))
    for name, above, hook in (("left", tip.frame("two"), "one"), ("right", arm.frame("three"), "two")):
        s.add(mse.Spring(name, length=0.5, stiffness=900.0), between=(above, stage.frame(hook)))
    s.add(mse.Spring("base", length=0.7, stiffness=300.0), between=(s.ground, stage.frame("one")))
    s.add(
        mse.Spring("low", length=0.4, stiffness=50.0, damping=0.4), between=(rider.frame("one"), stage.frame("three"))
    )
    s.add(mse.Spring("band", length=0.0, stiffness=20.0), between=(rider.frame("two"), stage.frame("two")))
    return s


HUNG = {"hinge.angle": 0.2, "hinge.angle'": 2.0, "stage'": [0.1, 0.2, 0.3, 1.0, -2.0, 0.5]}


def test_springs_along_lines_pull_as_in_numpy(monkeypatch):
    motion, again = (run(hung(), duration=0.2, dt=dt, initial=HUNG, rtol=1e-10) for dt in (0.1, 0.05))
    assert np.array_equal(motion.values, again.values[::2])
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-8
    assert abs(motion.energy["damped"][-1]) > 1e-2
    monkeypatch.setattr(explicit.Bodies, "of", lambda *given: None)
    whole = run(hung(), duration=0.2, dt=0.1, initial=HUNG, rtol=1e-10)
    assert np.abs(motion.values - whole.values).max() < 1e-7
    assert np.abs(motion.energy["damped"] - whole.energy["damped"]).max() < 1e-8


def test_two_points_on_a_spring_swing_about_their_distance_in_steps_made_at_once(monkeypatch):
    taken = book.count_leaps(monkeypatch, TreeSteps)
    s = mse.MSystem("two", gravity=(0, 0, 0))
    one, two = (
        s.add(mse.RigidBody(f"body{k}", mass=m, inertia=0.1, at=Pose.dx(0.6 * k))) for k, m in ((0, 2.0), (1, 3.0))
    )
    s.add(mse.Spring("line", length=0.5, stiffness=30.0), between=(one, two))
    motion = s.simulate(duration=3.0, dt=0.5, initial={"body0": Pose(), "body1": Pose.dx(0.6)}, progress=False)
    apart = motion.poses("body1.center")[0][:, 0] - motion.poses("body0.center")[0][:, 0]
    assert apart == pytest.approx(0.5 + 0.1 * np.cos(5.0 * motion.time), abs=1e-8)  # 30 (1 / 2 + 1 / 3) = 5^2
    assert sum(taken) == motion.steps


@pytest.mark.parametrize("own", [{"tension_only": True}, {"length": 0.0, "damping": 0.1}])
def test_lines_that_go_slack_or_damp_where_ends_meet_act_by_their_kernel(own):
    s = mse.MSystem("line")
    s.add(
        mse.Spring("line", **{"length": 0.5, "stiffness": 3.0} | own), between=(s.ground, s.add(body("body", Pose())))
    )
    bodies = Bodies.of(Equations(*prepared(s, None)))
    assert len(bodies.shares.actors.groups) == 1 and bodies.alone and not len(bodies.model.springs)


def test_a_line_between_ends_that_meet_is_refused_by_name():
    s = mse.MSystem("line")
    s.add(mse.Spring("line", length=0.5, stiffness=3.0), between=(s.ground, s.add(body("body", Pose()))))
    with pytest.raises(mse.ModelError, match="Spring 'line': its ends are 0 m apart"):
        run(s, initial={"body": Pose()})


@pytest.mark.slow
def test_steps_that_nobody_looks_at_are_those_that_are_looked_at():
    system = branched()
    at_once, each = run(system), run(system, crossings={"hinge.angle": 50.0})
    assert each.steps == at_once.steps
    assert each.evaluations == at_once.evaluations
    assert np.array_equal(each.values, at_once.values)
    there = (m.at(0.3).joint_coordinates["hinge.angle"] for m in (each, at_once))
    assert len(set(there)) == 1


def test_a_step_may_have_more_samples_than_are_made_at_once():
    s = mse.MSystem("wheel", gravity=(0, 0, -9.81))
    wheel = s.add(mse.RigidBody("wheel", mass=1.0, inertia=1.0, frames={"rim": Pose.dx(0.5)}))
    s.add(mse.Revolute("hinge", axis=(0, 1, 0)), between=(wheel.frame("rim"), s.ground))
    few, many = (
        s.simulate(duration=3.0, dt=dt, initial={"hinge.angle'": 0.5}, rtol=1e-6, progress=False)
        for dt in (0.75, 0.75 / 2048)
    )
    assert 256 * few.steps < 4 * 2048
    assert many.steps == few.steps
    assert np.array_equal(many.values[::2048], few.values)
    o, u = many.poses("wheel.rim")
    there = many.at(0.75 * 3 / 2048).poses["wheel.rim"]
    assert np.array_equal(o[3], there.o)
    assert np.array_equal(u[3], there.U)


def acted_on(counted):
    """A wire, a bushing, actuators, motors of joints and laws with a record on a tree, and if ``counted`` one without."""
    s = branched()
    for name, axes, ends in (
        ("coil", "world", (s["arm"].frame("three"), s["tray"].frame("one"))),
        ("voice", "frame", (s["lid"].frame("two"), s.ground)),
    ):
        s.add(mse.ForceActuator(name, axes=axes), between=ends)
    s["hinge"].motor = s["slide"].motor = "force"
    wire = mse.Wire("wire", length=0.9, radius=1e-3, young_modulus=1e8, poisson_ratio=0.3, damping=0.1)
    s.add(wire, between=(s["float"].frame("one"), s["arm"].frame("two")))
    rubber = mse.Bushing("rubber", stiffness=np.diag([5.0, 4, 3, 0.3, 0.2, 0.1]), damping=0.05 * np.eye(6))
    s.add(rubber, between=(s["rider"].frame("two"), s.ground))
    s.add(lawful.Drag("drag", strength=0.1), between=(s["ball"].frame("one"), s.ground))
    s.add(lawful.Cubic("cubic", strength=0.2), between=(s["ball"].frame("two"), s["float"].frame("three")))
    if counted:  # then Python tells the forces of inputs, too
        s.add(Counted("counted"), between=(s["tray"].frame("three"), s.ground))
    return s


class Counted(lawful.Pair):
    """A spring that has no record, since it keeps something."""

    def energy(self, frames, q):
        self.asked = getattr(self, "asked", 0) + 1
        d = frames[0].o - frames[1].o
        return 2.0 * (d @ d)


INPUTS = {
    "coil.fx": lambda t: 2.0 * np.sin(9.0 * t),
    "coil.tz": 0.1,
    "voice.fy": lambda t: 1.0 if t > 0.113 else 0.0,
    "voice.tx": lambda t: 0.1 * t,
    "hinge.torque": lambda t: 0.5 * np.cos(20.0 * t),
    "slide.force": lambda t: 3.0 * t,
}


@pytest.mark.parametrize("counted", [False, True])
def test_all_that_acts_moves_a_tree_as_in_numpy(monkeypatch, counted):
    assert nodes_of(Bodies.of(Equations(*prepared(acted_on(counted), None)))) is not None
    motion = run(acted_on(counted), inputs=INPUTS, duration=0.2, dt=0.05, rtol=1e-10)
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-8
    monkeypatch.setattr(explicit.Bodies, "of", lambda *given, **more: None)
    whole = run(acted_on(counted), inputs=INPUTS, duration=0.2, dt=0.05, rtol=1e-10)
    assert np.abs(motion.values - whole.values).max() < 1e-7
    for kind in ("damped", "driven"):
        assert np.abs(whole.energy[kind]).max() > 0.05
        assert np.abs(motion.energy[kind] - whole.energy[kind]).max() < 1e-7
