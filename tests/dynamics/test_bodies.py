"""Rigid bodies on joints in compiled code, against the same equations in numpy."""

import json
import pathlib

import lawful
import numpy as np
import pytest
import textbook as book
from scipy.integrate import solve_ivp

import mse
from mse import Pose
from mse.dynamics import bodies
from mse.dynamics.accelerations import Equations
from mse.dynamics.bodies import Bodies, NotElementary
from mse.dynamics.charts import Chart, permitted
from mse.dynamics.compiled_steps import CompiledSteps
from mse.dynamics.explicit import ExplicitStepper
from mse.dynamics.input_forces import InputForces
from mse.dynamics.moments import Moment
from mse.kernels.by_address import GOOD
from mse.kernels.by_address import NEAR as NEAR_DEAD
from mse.model.evaluation import Evaluation
from mse.model.joint_assembly import put_together
from mse.model.variants import prepared

NEAR = 1e-6
EULER = np.array([0.0, 1.0]), np.array([[0.0, 0.0], [1.0, 0.0]])


def equations_of(system):
    topology, assembly = prepared(system, None)
    return Equations(topology, assembly), put_together(Evaluation.initial(assembly)).state


def squeezer():
    p = json.loads((pathlib.Path(__file__).parent / "squeezer.json").read_text())
    return book.squeezer(p["parameters"], list(p["start"].values()))


def sprung():
    """A body on a drive with a spring beyond a whole turn, a slide with a preload, a ball joint with a spring, and dampers."""
    system = mse.MSystem("sprung", gravity=(1.0, 2.0, -9.81))
    ends = {"a": Pose.dxdydz(0.1, 0.2, 0.3), "b": Pose.dxdydz(-0.2, 0.1, 0.4) @ Pose.rotation((0.3, 0.2, -0.5))}
    one, two, three = (
        system.add(mse.RigidBody(f"body{k}", mass=1.0 + k, inertia=(0.1, 0.2, 0.25), at=Pose.dx(0.3 * k), frames=ends))
        for k in range(3)
    )
    drive = mse.Universal(
        "drive", axis=(0, 1, 0), second=(0, 0, 1), stiffness=(50.0, 3.0), rest=(7.0, 0.1), damping=(0.3, 0.1)
    )
    slide = mse.Cylindrical("slide", axis=(1, 0, 0), preload=(2.0, -1.0), damping=(0.5, 0.4))
    ball = mse.Spherical("ball", stiffness=(4.0, 4.0, 4.0), damping=(0.2, 0.2, 0.1))
    system.add(drive, between=(one.frame("a"), system.ground))
    system.add(slide, between=(two.frame("a"), one.frame("b")))
    system.add(ball, between=(three.frame("a"), two.frame("b")))
    system.add(mse.Spring("line", length=0.2, stiffness=100.0, damping=1.0), between=(three.frame("b"), system.ground))
    return system


def braced():
    """A four-bar with a damped spring across it, and one of no length to the ground, for which nothing is done in Python."""
    system = book.four_bars(1)
    brace = mse.Spring("brace", length=0.7, stiffness=40.0, damping=0.3)
    system.add(brace, between=(system["post0"].frame("center"), system["bar0"].frame("center")))
    band = mse.Spring("band", length=0.0, stiffness=5.0)
    system.add(band, between=(system["post1"].frame("center"), system.ground))
    return system


def motor():
    """Two bodies that are clamped to each other, on a hinge that a motor holds at an angle."""
    system = mse.MSystem("motor", gravity=(0, 0, -9.81))
    arm = system.add(mse.RigidBody("arm", mass=1.0, inertia=(0.1, 0.2, 0.3), frames={"end": Pose.dx(0.5)}))
    load = system.add(mse.RigidBody("load", mass=2.0, inertia=(0.2, 0.1, 0.3)))
    system.clamp(arm.frame("end"), load.frame(0), Pose.rotation((0.1, 0.5, 0.2)))
    hinge = mse.Revolute("hinge", axis=(0, 1, 0), motor="position", position=0.7)
    swivel = system.add(mse.RigidBody("swivel", mass=0.5, inertia=0.1))
    system.add(mse.Revolute("turn", axis=(0, 0, 1)), between=(swivel, system.ground))
    system.add(hinge, between=(arm, swivel))
    return system


def rods():
    """A table on five rods, and a rope of points on rods from its rim."""
    system = mse.MSystem("rods", gravity=(0.3, 0, -9.81))
    feet = [Pose.dxdydz(np.cos(k), np.sin(k), 0.1 * k) for k in range(6)]
    ends = {f"foot{k}": foot for k, foot in enumerate(feet)}
    table = system.add(mse.RigidBody("table", mass=2.0, inertia=(0.3, 0.4, 0.5), frames=ends))
    for k in range(5):
        above = Pose.dxdydz(1.5 * np.cos(k + 0.5), 1.5 * np.sin(k + 0.5), 1.0)
        rod = mse.Rod(f"rod{k}", length=np.linalg.norm(above.o - feet[k].o))
        system.add(rod, between=(table.frame(f"foot{k}"), system.ground @ above))
    near = table.frame("foot5")
    for k in range(3):
        at = feet[5] @ Pose.dxdydz(0.0, 0.3 * (k + 1), 0.0)
        point = system.add(mse.RigidBody(f"point{k}", mass=0.1, at=at))
        system.add(mse.Rod(f"link{k}", length=0.3), between=(near, point))
        near = point
    return system


def held_from_afar():
    """A cart carries an arm, and rows between the arm and a hand hold the cart, since of the hand nothing else is free."""
    system = mse.MSystem("held", gravity=(3.0, 1.0, -9.81))
    cart, arm, hand, bob = (
        system.add(mse.RigidBody(name, mass=1.0, inertia=(0.1, 0.2, 0.25), at=at, frames={"low": Pose.dz(-1.0)}))
        for name, at in (
            ("cart", Pose()),
            ("arm", Pose.dz(1.0)),
            ("hand", Pose.dxdydz(1.0, 0.2, 1.0)),
            ("bob", Pose.dz(1.0)),
        )
    )
    system.add(mse.Prismatic("slide", axis=(1, 0.5, 0)), between=(cart, system.ground))
    system.add(mse.Fixed("weld"), between=(arm.frame("low"), cart))
    system.add(mse.Universal("knee"), between=(hand, system.ground @ Pose.dxdydz(1.0, 0.2, 1.0)))
    system.add(mse.Prismatic("hold", axis=(0.3, 0.2, 1)), between=(hand, arm @ Pose.dxdydz(1.0, 0.2, 0.0)))
    system.add(mse.Spherical("ball"), between=(bob.frame("low"), cart))
    return system


def hung():
    """A post on wires and springs, one slack and one of no length, a bob on it by a bushing, all with dampers."""
    system = mse.MSystem("hung", gravity=(1.0, 2.0, -9.81))
    feet = [Pose.dxdydz(0.2 * np.cos(2 * k), 0.2 * np.sin(2 * k), 0.1) for k in range(4)]
    post = system.add(mse.RigidBody("post", mass=2.0, inertia=(0.1, 0.2, 0.25)))
    bob = system.add(mse.RigidBody("bob", mass=1.0, inertia=(0.2, 0.1, 0.15), at=Pose.dz(-0.6)))
    wire = {"radius": 1e-3, "young_modulus": 1e9, "poisson_ratio": 0.3, "damping": 0.7}
    for k, (length, slack) in enumerate(((0.8, False), (0.9, True), (1.5, True))):
        above = system.ground @ Pose.dxdydz(0.3 * k, 0.1 * k, 1.0)
        own = mse.Wire(f"wire{k}", length=length, tension_only=slack, **wire)
        system.add(own, between=(above, post @ feet[k]))
    band = mse.Spring("band", length=0.0, stiffness=5.0, damping=0.4)
    system.add(band, between=(post @ feet[3], bob @ Pose.dx(0.3)))
    rope = mse.Spring("rope", length=0.4, stiffness=30.0, damping=0.2, tension_only=True)
    system.add(rope, between=(bob, post))
    stiffness, damping = np.diag([30.0, 40, 50, 3, 4, 5]) + 1.0, np.diag([0.3, 0.4, 0.5, 0.03, 0.04, 0.05]) + 0.01
    bushing = mse.Bushing("bushing", stiffness=stiffness, damping=damping, preload=(1.0, 2, 3, 0.1, 0.2, 0.3))
    system.add(bushing, between=(bob @ (Pose.dz(0.2) @ Pose.rotation((0.5, 0.3, -0.4))), post @ Pose.dz(-0.3)))
    return system


SYSTEMS = {
    "points": book.double_pendulum, "dampers": book.trolley, "free": book.free_body, "loop": book.fourbar1,
    "redundant": book.bricard, "windows": lambda: book.four_bars(3), "loads": squeezer, "sprung": sprung, "motor": motor,
    "braced": braced, "rods": rods, "held": held_from_afar, "hung": hung, **lawful.SYSTEMS,
}  # fmt: skip


def driven(wire):
    """A loop whose crank is driven, a slide and a universal joint that are, and a wire that goes slack."""
    system = book.four_bars(1)
    crank = mse.Revolute("crank", axis=(0, 1, 0), motor="position", position=0.4)
    arm = system.add(
        mse.RigidBody("arm", mass=0.5, inertia=(0.02, 0.03, 0.04), frames={"end": Pose.dxdydz(0.1, 0.2, -0.3)})
    )
    system.add(crank, between=(arm, system["post0"].frame("center")))
    cart = system.add(mse.RigidBody("cart", mass=2.0, inertia=(0.2, 0.3, 0.1)))
    slide = mse.Prismatic("slide", axis=(1, 2, 0), motor="position", position=0.1)
    system.add(slide, between=(cart, arm.frame("end")))
    fork = system.add(
        mse.RigidBody("fork", mass=1.0, inertia=(0.1, 0.2, 0.15), frames={"eye": Pose.dxdydz(0.1, 0.1, 0.4)})
    )
    turned = mse.Universal("swivel", axis=(1, 0, 0), second=(0, 1, 0), motor=("position", "none"), position=(0.3, 0.0))
    system.add(turned, between=(fork.frame("eye"), cart))
    if wire:
        system.add(mse.Spring("wire", length=0.1, stiffness=80.0, tension_only=True), between=(fork, system.ground))
    topology, assembly = prepared(system, None)
    inputs = {
        "crank.angle": lambda t: 0.4 + 7.0 * t + np.sin(2.0 * t), "slide.displacement": lambda t: 0.1 * np.cos(5.0 * t) + 0.3 * t,
        "swivel.angle1": lambda t: 0.3 + np.sin(4.0 * t),
    }  # fmt: skip
    state = put_together(Evaluation.initial(assembly)).state
    return Equations(topology, assembly, InputForces(assembly, inputs)), state


@pytest.mark.parametrize("wire", [False, True])
def test_driven_joints_move_as_in_numpy_at_any_angle(wire):
    equations, state = driven(wire)
    compiled = Bodies.of(equations)
    assert compiled.acting == wire
    y, time = begin(equations, state), 0.0
    for _ in range(100):  # in which the crank turns once, and further
        charts = compiled.chart(state, NEAR), Chart(equations, state)
        found, exact = (rates(chart, y, 1e-6, time) for chart in charts)
        np.testing.assert_allclose(found, exact, atol=1e-8 * np.abs(exact).max())
        y, time = y + 0.01 * exact[0], time + 0.01
        settled = charts[0].settled(y, time)
        state, y = equations.followed(settled.state), np.concatenate([np.zeros_like(settled.v), settled.v, [0.0, 0.0]])
        here = equations.evaluation(state, time)
        assert np.abs(here.residual).max() < 1e-13 and np.abs(equations.drift(here, settled.v, time)).max() < 1e-10


def pushed(wire, ball=False):
    """Bodies that actuators push, and motors of a hinge with a spring, of a slide and of a universal joint; with a wire or not.

    Nothing but numpy has the torques along the rotation vector of a ball joint.
    """
    system = mse.MSystem("pushed", gravity=(0, 0, -9.81))
    box = {"inertia": (0.02, 0.03, 0.04), "frames": {"end": Pose.dxdydz(0.1, 0.2, -0.3)}}
    arm = system.add(mse.RigidBody("arm", mass=0.5, **box))
    hinge = mse.Revolute("hinge", axis=(1, 2, 2), motor="force", stiffness=0.4, damping=0.1)
    system.add(hinge, between=(arm.frame("end"), system.ground))
    cart = system.add(mse.RigidBody("cart", mass=2.0, **box))
    system.add(mse.Prismatic("slide", axis=(1, 2, 0), motor="force"), between=(cart.frame("end"), arm))
    fork = system.add(mse.RigidBody("fork", mass=1.0, **box))
    turned = mse.Universal("swivel", axis=(1, 0, 0), second=(0, 1, 0), motor=("force", "none"))
    if ball:
        turned = mse.Spherical("swivel", motor=("force", "none", "none"))
    system.add(turned, between=(fork.frame("end"), cart))
    for name, axes, one, other in (("own", "frame", arm, fork.frame(0)), ("fixed", "world", cart, system.ground)):
        push = system.add(mse.ForceActuator(name, axes=axes))
        system.clamp(one.frame(0), push.frame(0), Pose.dxdydz(0.3, 0.0, 0.2))
        system.clamp(other, push.frame(1), Pose.dxdydz(0.3, -0.1, 0.2))
    if wire:
        system.add(mse.Spring("wire", length=0.1, stiffness=80.0, tension_only=True), between=(fork, system.ground))
    topology, assembly = prepared(system, None)
    inputs = {
        "hinge.torque": np.sin, "slide.force": lambda t: 2.0 - t, "swivel.tx" if ball else "swivel.torque1": 0.7,
        "own.fx": np.cos, "own.ty": 0.3, "own.fz": 1.5, "fixed.fz": lambda t: 3.0 * t, "fixed.tx": -0.4,
    }  # fmt: skip
    state = put_together(Evaluation.initial(assembly)).state
    return Equations(topology, assembly, InputForces(assembly, inputs)), state


@pytest.mark.parametrize(("wire", "ball"), [(False, False), (True, False), (False, True)])
def test_inputs_push_as_in_numpy(wire, ball):
    """The last of the rates are powers of dampers and of inputs."""
    equations, state = pushed(wire, ball)
    compiled, time = Bodies.of(equations), 0.0
    assert compiled.shares.in_python == ball and not compiled.alone
    for k in range(20):
        y = begin(equations, state, seed=k)
        charts = compiled.chart(state, NEAR), Chart(equations, state)
        found, exact = (rates(chart, y, 1e-6, time) for chart in charts)
        np.testing.assert_allclose(found, exact, atol=1e-9 * np.abs(exact).max())
        assert exact[0, -1] != 0.0
        settled = charts[0].settled(y + 0.1 * exact[0], time)
        state, time = equations.followed(settled.state), time + 0.2


def rates(chart, y, h, time=0.0):
    """Rates at the begin, and after a step of Euler's method."""
    out = np.zeros((2, len(y)))
    for stages in (range(1), range(1, 2)):
        if isinstance(chart, Chart):
            chart.rates(time, y, h, EULER, stages, out)
        elif chart._run(time, y, h, EULER, stages, False, out) == NEAR_DEAD:
            chart._run(time, y, h, EULER, stages, True, out)
    return out


def begin(equations, state, seed=1):
    v = np.random.default_rng(seed).standard_normal(equations.size)
    here = equations.evaluation(state)
    if equations.assembly.constraint_count:
        v = permitted(equations, here, v, 0.0)
    return np.concatenate([np.zeros_like(v), v, [0.0, 0.0]])


@pytest.mark.parametrize("name", SYSTEMS)
def test_rates_and_restored_constraints_are_those_of_numpy(name):
    equations, state = equations_of(SYSTEMS[name]())
    y = begin(equations, state)
    charts = Bodies.of(equations).chart(state, NEAR), Chart(equations, state)
    # a step of Euler's method is open by its square: 1e-12, and redundant rows contradict each other by so much
    found, exact = (rates(chart, y, 1e-6) for chart in charts)
    np.testing.assert_allclose(found, exact, atol=1e-9 * np.abs(exact).max())
    y = y + 1e-4 * exact[0]
    found, exact = (chart.settled(y, 0.0) for chart in charts)
    np.testing.assert_allclose(found.v, exact.v, atol=1e-6 * np.abs(exact.v).max())
    here = equations.evaluation(found.state)
    if equations.assembly.constraint_count:
        assert np.abs(here.distances[0]).max() < 1e-14 * equations.measure.outermost
        assert np.abs(here.slopes @ found.v / here.distances[1]).max() < 1e-13 * np.abs(found.v).max()
        assert found.distance == pytest.approx(exact.distance, rel=0.5, abs=1e-14)
        assert found.speed == pytest.approx(exact.speed, rel=0.5, abs=1e-13)


@pytest.mark.parametrize("name", [*SYSTEMS, "pushed", "driven"])
def test_joints_pull_as_in_numpy(name):
    """``M a - f``, where joints are redundant, too."""
    own = {"pushed": lambda: pushed(True), "driven": lambda: driven(True)}
    equations, state = own[name]() if name in own else equations_of(SYSTEMS[name]())
    v = begin(equations, state)[equations.size : 2 * equations.size]
    acceleration, terms = equations.accelerations(equations.evaluation(state), v, 0.0)
    left = terms.mass @ acceleration - terms.force
    found = Bodies.of(equations).left(Moment(0.0, state, v))
    np.testing.assert_allclose(found, left, atol=1e-9 * max(np.abs(left).max(), np.abs(terms.force).max()))


def pendulum_beside_a_fixed_hinge():
    system = mse.MSystem("both", gravity=(0, 0, -9.81))
    post = system.add(mse.RigidBody("post", mass=1.0, inertia=0.1))
    system.clamp(system.ground, post.frame(0))
    system.add(mse.Revolute("fixed", axis=(0, 1, 0), motor="force"), between=(post, system.ground))
    bob = system.add(mse.RigidBody("bob", mass=1.0, inertia=0.1, at=Pose.dx(0.5), frames={"eye": Pose.dx(-0.5)}))
    system.add(mse.Revolute("swing", axis=(0, 1, 0)), between=(bob.frame("eye"), system.ground))
    return system


def test_an_input_of_a_joint_within_the_ground_does_nothing():
    system = pendulum_beside_a_fixed_hinge()
    free, given = (system.simulate(duration=0.5, dt=0.5, inputs=i, progress=False) for i in ({}, {"fixed.torque": 3.0}))
    assert given["swing.angle"] == pytest.approx(free["swing.angle"], abs=1e-8)


@pytest.mark.parametrize("system", [braced, hung])
def test_nothing_is_done_in_python_for_springs_wires_and_bushings(system):
    assert Bodies.of(equations_of(system())[0]).alone


@pytest.mark.parametrize("spring", [None, "spring", "wire"])
def test_python_is_not_asked_for_forces_that_stay(monkeypatch, spring):
    """A tree, the same with a spring, and with one that goes slack."""
    asked, start = [], {"hinge.angle": 0.4, "rail.displacement": 0.1}
    monkeypatch.setattr(Bodies, "_answer", lambda *of: asked.append(of) or GOOD)
    system = book.crane()
    if spring:
        ends = system["load"], system.ground @ Pose.dxdydz(0.3, 0, -1.0)
        system.add(mse.Spring("rope", length=0.3, stiffness=20.0, tension_only=spring == "wire"), between=ends)
    given = {"coil.fx": 3.0, "coil.fz": -1.0}
    motion = system.simulate(duration=0.3, dt=0.1, initial=start, inputs=given, progress=False)
    loop = system.step_loop(dt=0.1, inputs=[*given], initial=start)
    for _ in range(3):
        loop.set([*given.values()])
        loop.step()
    assert not asked
    assert loop["hinge.angle"] == motion["hinge.angle"][-1] != 0.0


def twisted():
    """A bob that spins on a wire, on which it turns about its axis many times, and on a bushing that holds no turns."""
    system = mse.MSystem("twisted", gravity=(0, 0, -9.81))
    bob = system.add(mse.RigidBody("bob", mass=2.0, inertia=(0.02, 0.02, 0.03), at=Pose.dz(-0.5)))
    wire = mse.Wire("wire", length=0.45, radius=2e-3, young_modulus=8.4e8, poisson_ratio=0.3, damping=0.5)
    system.add(wire, between=(system.ground, bob @ Pose.dz(0.05)))
    system.add(mse.PositionSensor("eye"), between=(bob, system.ground))
    guide = mse.Bushing("guide", stiffness=(5.0, 5, 0, 0, 0, 0), damping=(0.1, 0.1, 0.1, 0, 0, 0))
    system.add(guide, between=(bob, system.ground @ Pose.dz(-0.5)))
    return system


def test_wires_and_bushings_move_as_in_numpy_through_many_turns(monkeypatch):
    """Steps in one call, steps that are looked at, and steps in numpy; the wire is wound up by three turns, and unwinds."""
    given = {
        "duration": 3.0,
        "dt": 0.1,
        "initial": {"bob'": (0.0, 0.0, 0.1, 0.0, 0.0, 15.0)},
        "rtol": 1e-9,
        "progress": False,
    }
    at_once = twisted().simulate(**given)
    each = twisted().simulate(**given, crossings={"eye.z": 50.0})
    turns = np.unwrap(np.arctan2(*at_once.poses("bob.center")[1][:, (1, 0), 0].T))
    assert np.abs(turns).max() > 6.0 * np.pi > abs(turns[-1]) + 1.0
    monkeypatch.setattr(bodies.Bodies, "of", lambda equations: None)
    numpy = twisted().simulate(**given)
    for found, exact in zip(at_once.poses("bob.center"), numpy.poses("bob.center"), strict=True):
        np.testing.assert_allclose(found, exact, atol=1e-7)
    for found, exact in zip(at_once.poses("bob.center"), each.poses("bob.center"), strict=True):
        np.testing.assert_array_equal(found, exact)
    assert at_once.steps == each.steps
    assert np.abs(at_once.energy["unaccounted"]).max() < 1e-6


def test_no_number_comes_from_a_wire_whose_ends_meet():
    system = mse.MSystem("met", gravity=(0, 0, -9.81))
    bob = system.add(mse.RigidBody("bob", mass=1.0, inertia=0.1, at=Pose()))
    wire = mse.Wire("wire", length=0.5, radius=1e-3, young_modulus=1e9, poisson_ratio=0.3)
    system.add(wire, between=(bob, system.ground))
    equations, state = equations_of(system)
    chart = Bodies.of(equations).chart(state, NEAR)
    found = rates(chart, np.zeros(2 * equations.size + 2), 0.0)
    assert np.isnan(found[0, equations.size : 2 * equations.size]).all()


def test_steps_end_where_wires_go_slack_whoever_makes_them(monkeypatch):
    given = {"duration": 2.0, "dt": 0.1, "rtol": 1e-9, "progress": False}
    monkeypatch.setattr(CompiledSteps, "leap", lambda *_: pytest.fail("nobody looks at these steps"))
    compiled = hung().simulate(**given)
    monkeypatch.setattr(bodies.Bodies, "of", lambda equations: None)
    numpy = hung().simulate(**given)
    for name in ("post.center", "bob.center"):
        np.testing.assert_allclose(compiled.poses(name)[0], numpy.poses(name)[0], atol=1e-7)
    assert compiled.evaluations < 1.2 * numpy.evaluations  # trees judge steps by the worst coordinate, others by a mean


def test_turns_without_mass_are_left_to_numpy():
    system = mse.MSystem("swing", gravity=(0, 0, -9.81))
    point = mse.RigidBody("point", mass=2.0, at=Pose.dz(-0.5), frames={"top": Pose.dz(0.5)})
    system.add(mse.Spherical("ball"), between=(system.add(point).frame("top"), system.ground))
    equations, state = equations_of(system)
    with pytest.raises(NotElementary):
        rates(Bodies.of(equations).chart(state, NEAR), begin(equations, state), 0.0)
    assert system.simulate(duration=0.1, dt=0.1).notes


@pytest.mark.parametrize("factor", [0.1, 10.0])
@pytest.mark.parametrize("name", ["_DEPENDENT", "_NO_MASS"])
def test_what_counts_as_dependent_or_without_mass_has_a_margin(monkeypatch, name, factor):
    monkeypatch.setattr(bodies, name, factor * getattr(bodies, name))
    test_turns_without_mass_are_left_to_numpy()
    for system in ("points", "redundant", "windows", "loads"):
        test_rates_and_restored_constraints_are_those_of_numpy(system)


def test_rounding_that_fades_away_takes_no_time():
    """Numbers near the smallest there are take a hundred times as long; rounding fades to them from front to front."""
    equations, state = equations_of(book.four_bars(25))
    found = Bodies.of(equations)
    rates(found.chart(state, NEAR), begin(equations, state), 1e-4)
    assert not np.any((found.work.arena != 0.0) & (np.abs(found.work.arena) < 1e-290))


def test_rounding_that_fades_away_in_a_motion_takes_no_time():
    """Restored constraints square what rounding moves out of a plane, step by step."""
    equations, state = equations_of(book.four_bars(10))
    found, stepper, n = Bodies.of(equations), ExplicitStepper(equations, 1e-6), equations.size
    moment = Moment(0.0, state, begin(equations, state)[n : 2 * n])
    for _ in range(15):
        moment = stepper.step(moment).end
        found.chart(moment.state, NEAR).settled(np.concatenate([np.zeros(n), moment.v, [0.0, 0.0]]), moment.time)
        assert not np.any((found.work.solution != 0.0) & (np.abs(found.work.solution) < 1e-100))


@pytest.mark.parametrize("rtol", [1e-6, 1e-7, 1e-9])
@pytest.mark.parametrize("windows", [2, 20])
def test_steps_pass_a_dead_point_as_if_there_were_none(windows, rtol):
    """All posts turn by one angle, and all bars move with their ends: one pendulum, which passes four dead points."""
    pull = 9.81 * ((windows + 1) / 2 + windows) / ((windows + 1) / 3 + windows)
    exact = solve_ivp(lambda t, y: [y[1], pull * np.sin(y[0])], (0, 4), [0, 1], "DOP853", rtol=1e-13, atol=1e-13)
    initial = {f"low{k}.angle'": 1.0 for k in range(windows + 1)}
    motion = book.four_bars(windows).simulate(duration=4, dt=4, initial=initial, rtol=rtol)
    assert motion["low0.angle"][-1] == pytest.approx(exact.y[0, -1], abs=20 * rtol)
    assert motion.steps < 80


@pytest.mark.parametrize("one_sided", [False, True])
def test_points_on_springs_and_balls_move_in_compiled_steps_by_newtons_law(one_sided):
    """A net of 3 by 3 points without inertia, on springs along lines; one of them is held at its place."""
    system, places = mse.MSystem("net", gravity=(0, 0, -9.81)), []
    for k in range(9):
        places.append([0.1 * (k // 3), 0.1 * (k % 3), 0.01 * k])
        system.add(mse.RigidBody(f"point{k}", mass=0.01, at=Pose(places[-1])))
    pairs = [(k, k + 1) for k in range(9) if k % 3 < 2] + [(k, k + 3) for k in range(6)]
    for one, two in pairs:
        spring = mse.Spring(f"spring{one}{two}", length=0.1, stiffness=20.0, tension_only=one_sided)
        system.add(spring, between=(system[f"point{one}"], system[f"point{two}"]))
    system.add(mse.Spherical("pin"), between=(system["point0"], system.ground))

    def slopes(t, y):
        x, v = y.reshape(2, 9, 3)
        force = np.tile([0.0, 0.0, -0.01 * 9.81], (9, 1))
        for one, two in pairs:
            line = x[two] - x[one]
            length = np.linalg.norm(line)
            pull = 20.0 * (length - 0.1) * line / length * (length > 0.1 or not one_sided)
            force[one] += pull
            force[two] -= pull
        force[0] = 0.0
        return np.concatenate([v, force / 0.01]).ravel()

    topology, assembly = prepared(system, None)
    compiled = Bodies.of(Equations(topology, assembly))
    assert compiled is not None and np.all(compiled.model.bodies[:, 4] > 0.0)  # turns of points have some inertia
    y = np.concatenate([np.array(places), np.zeros((9, 3))]).ravel()
    exact = solve_ivp(slopes, (0, 0.2), y, "DOP853", rtol=1e-12, atol=1e-13, max_step=1e-3).y[:27, -1].reshape(9, 3)
    motion = system.simulate(duration=0.2, dt=0.1, rtol=1e-9)
    found = np.array([motion.poses(f"point{k}.center")[0][-1] for k in range(9)])
    np.testing.assert_allclose(found, exact, atol=1e-7)


def test_a_point_that_something_turns_keeps_no_inertia():
    """A spring pulls one at a hook off its center, a hinge holds one, and a damper may turn one."""

    class Drag(mse.MObject):
        frame_names = ("at",)

        def dissipation(self, frames, q, v):
            return 0.1 * frames[0].w @ frames[0].w

    system = mse.MSystem("points", gravity=(0, 0, 0))
    for k, hook in enumerate((Pose(), Pose.dx(0.1))):
        point = system.add(mse.RigidBody(f"point{k}", mass=1.0, at=Pose.dx(k), frames={"hook": hook}))
        spring = mse.Spring(f"spring{k}", length=0.5, stiffness=10.0)
        system.add(spring, between=(point.frame("hook"), system.ground @ Pose.dxdydz(k, 0.0, 1.0)))
    hinged = system.add(mse.RigidBody("hinged", mass=1.0, at=Pose.dx(2.0)))
    system.add(mse.Revolute("hinge", axis=(0, 1, 0)), between=(hinged, system.ground @ Pose.dx(2.0)))
    braked = system.add(mse.RigidBody("braked", mass=1.0, at=Pose.dx(3.0)))
    system.add(Drag("drag"), between=(braked,))
    model = Bodies.of(Equations(*prepared(system, None))).model
    assert (model.bodies[:, 4] > 0.0).tolist() == [True, False, False, False]


def test_a_point_that_inputs_push_at_its_place_has_some_inertia():
    """Forces of actuators act at frame 1, along a line that may lie anywhere on the body of frame 0; torques and motors turn."""
    system = mse.MSystem("points", gravity=(0, 0, 0))
    points = [system.add(mse.RigidBody(f"point{k}", mass=1.0, at=Pose.dx(k))) for k in range(6)]
    pairs = [(system.ground, points[0]), (points[1], system.ground), (points[2], points[3]), (system.ground, points[4])]
    for k, pair in enumerate(pairs):
        system.add(mse.ForceActuator(f"push{k}"), between=pair)
    hinge = mse.Revolute("hinge", axis=(0, 1, 0), motor="force")
    system.add(hinge, between=(points[5], system.ground @ Pose.dx(5.0)))
    topology, assembly = prepared(system, None)

    def inertia(**inputs):
        given = InputForces(assembly, {name.replace("_", "."): value for name, value in inputs.items()})
        return (Bodies.of(Equations(topology, assembly, given)).model.bodies[:, 4] > 0.0).tolist()

    assert inertia() == [True] * 5 + [False]
    assert inertia(push0_fx=1.0, push1_fy=1.0, push2_fz=1.0) == [True, False, False, True, True, False]
    assert inertia(push3_tx=1.0, hinge_torque=1.0) == [True, True, True, True, False, False]


def test_a_pushed_point_moves_by_newtons_law():
    system = mse.MSystem("bob", gravity=(0, 0, -9.81))
    bob = system.add(mse.RigidBody("bob", mass=2.0, at=Pose.dz(-0.5)))
    system.add(mse.Spring("spring", length=0.4, stiffness=300.0), between=(bob, system.ground))
    system.add(mse.ForceActuator("push", axes="world"), between=(system.ground, bob))
    motion = system.simulate(
        duration=1.0, dt=0.5, inputs={"push.fx": lambda t: np.sin(9.0 * t), "push.fz": 0.5}, rtol=1e-10
    )

    def slopes(t, y):
        length = np.linalg.norm(y[:3])
        pull = -300.0 * (length - 0.4) * y[:3] / length + [np.sin(9.0 * t), 0.0, 0.5 - 2.0 * 9.81]
        return np.concatenate([y[3:], pull / 2.0])

    exact = solve_ivp(slopes, (0, 1.0), [0.0, 0.0, -0.5, 0.0, 0.0, 0.0], "DOP853", rtol=1e-12, atol=1e-13).y[:3, -1]
    np.testing.assert_allclose(motion.poses("bob.center")[0][-1], exact, atol=1e-9)


def test_compiled_code_says_where_it_goes_another_way_than_the_law():
    equations, state = equations_of(lawful.pendulum(lawful.Stop("stop")))
    compiled, y = Bodies.of(equations), begin(equations, state)
    chart = compiled.chart(state, NEAR)
    rates(chart, y, 1e-6)  # below the stop's height, at -1
    y[2] += 0.2
    assert not compiled.missed
    with pytest.raises(NotElementary):
        chart._run(0.0, y, 0.0, EULER, range(1), False, np.zeros((2, len(y))))
    assert compiled.missed


def test_a_law_is_recorded_anew_when_what_it_reads_changes():
    """``x'' = -k x`` of 1 kg, with k from outside the element."""
    outside = {"k": 4.0}

    class Outside(lawful.Pair):
        def energy(self, frames, q):
            return 0.5 * outside["k"] * (frames[0].o[0] - frames[1].o[0]) ** 2

    system = mse.MSystem("slider", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose.dx(0.5)))
    system.add(mse.Joint("slide", free=("x",), at=Pose.dx(0.5)), between=(body, system.ground @ Pose.dx(0.5)))
    system.add(Outside("spring"), between=(body, system.ground))
    equations, state = equations_of(system)
    chart, y = Bodies.of(equations).chart(state, NEAR), np.zeros(14)
    for k in (4.0, 9.0):
        outside["k"] = k
        assert rates(chart, y, 0.0)[0, 6] == pytest.approx(-0.5 * k, rel=1e-14)
