"""Loops in compiled steps: the same to the bit where runs are cut or looked at, and as steps that Python controls."""

import numpy as np
import pytest
import textbook as book

import mse
from mse import Pose
from mse.dynamics import explicit, loops
from mse.dynamics.accelerations import Equations
from mse.dynamics.explicit import ExplicitStepper
from mse.dynamics.loops import LoopSteps
from mse.dynamics.moments import Moment
from mse.model.evaluation import Evaluation
from mse.model.joint_assembly import put_together
from mse.model.variants import prepared


def linkage():
    """A crank that turns with a spring beyond whole turns, a damped hinge, and a spring along a line."""
    s = mse.MSystem("linkage", gravity=(0, 0, -9.81))
    ends = {"in": Pose.dx(-0.5), "out": Pose.dx(0.5)}
    crank, rocker = (
        s.add(mse.RigidBody(name, mass=1.0, inertia=(0.01, 0.1, 0.1), at=at, frames=ends))
        for name, at in (("crank", Pose.dx(0.5)), ("rocker", Pose.dx(3.0)))
    )
    longer = {"in": Pose.dx(-0.75), "out": Pose.dx(0.75)}
    coupler = s.add(mse.RigidBody("coupler", mass=0.5, inertia=(0.01, 0.2, 0.2), at=Pose.dx(1.75), frames=longer))
    drive = mse.Revolute("drive", axis=(0, 1, 0), stiffness=0.2, rest=12.0)
    s.add(drive, between=(crank.frame("in"), s.ground))
    s.add(mse.Revolute("knee", axis=(0, 1, 0), damping=0.05), between=(crank.frame("out"), coupler.frame("in")))
    s.add(mse.Revolute("wrist", axis=(0, 1, 0)), between=(coupler.frame("out"), rocker.frame("in")))
    slide = s.add(mse.Prismatic("slide", axis=(1, 0, 0), stiffness=2.0))
    s.add(mse.Spring("line", length=0.4, stiffness=3.0, damping=0.1), between=(rocker, s.ground))
    s.clamp(rocker.frame("out"), slide.frame(0))
    s.clamp(s.ground, slide.frame(1), Pose.dx(3.5))
    return s


def run(system=None, **more):
    own = {"duration": 3.0, "dt": 0.5, "initial": {"drive.angle'": 9.0}, "rtol": 1e-8, "progress": False}
    return (system or linkage()).simulate(**own | more)


def test_steps_are_as_long_as_those_in_numpy(monkeypatch):
    taken = book.count_leaps(monkeypatch, LoopSteps)
    motion = run()
    assert sum(taken) == motion.steps
    assert motion["drive.angle"].max() - motion["drive.angle"].min() > 2 * np.pi
    assert np.abs(motion.energy["unaccounted"]).max() < 2e-6
    monkeypatch.setattr(explicit.Bodies, "of", lambda equations: None)
    single = run()
    assert sum(taken) == motion.steps == pytest.approx(single.steps, rel=0.03)
    assert motion.evaluations == pytest.approx(single.evaluations, rel=0.1)
    assert np.abs(motion.values - single.values).max() < 1e-6
    assert motion.energy["damped"] == pytest.approx(single.energy["damped"], abs=1e-6)


def test_runs_do_not_depend_on_samples_cuts_or_looks():
    system = linkage()
    whole, finer = run(system), run(system, dt=0.125)
    assert np.array_equal(whole.values, finer.values[::4])
    first = run(system, duration=1.0)
    rest = system.simulate(duration=2.0, dt=0.5, start=first.final_state, rtol=1e-8, progress=False)
    assert np.array_equal(rest.values, whole.values[2:])
    looked_at = run(system, crossings={"drive.angle": 100.0})
    assert np.array_equal(looked_at.values, whole.values)
    assert looked_at.evaluations == whole.evaluations
    assert whole.at(0.625).joint_coordinates["drive.angle"] == finer["drive.angle"][5]
    assert looked_at.at(0.625).joint_coordinates["drive.angle"] == finer["drive.angle"][5]


def test_a_step_may_have_more_samples_than_are_made_at_once():
    few, many = (run(duration=0.75, dt=dt, rtol=1e-4) for dt in (0.75, 0.75 / 4096))
    assert 256 * few.steps < 4096
    assert many.steps == few.steps
    assert np.array_equal(many.values[-1], few.values[-1])
    o, _ = many.poses("rocker.center")
    assert np.abs(np.diff(o[:, 0], 3)).max() < 1e-6  # neighbours were found in both ways
    assert np.array_equal(o[3], many.at(0.75 * 3 / 4096).poses["rocker.center"].o)


def test_a_row_of_many_steps_has_the_memories_of_each():
    """The drive turns 40 times; each begin of a step knows how often it has."""
    motion = book.four_bars(1).simulate(
        duration=20.0, dt=20.0, initial={f"low{k}.angle'": 15.0 for k in range(2)}, rtol=1e-6, progress=False
    )
    assert motion.steps > 100
    assert motion["low0.angle"][-1] > 80 * np.pi
    assert motion["low0.angle"][-1] == pytest.approx(motion["low1.angle"][-1], abs=1e-9)
    assert motion.at(10.0).joint_coordinates["low0.angle"] == pytest.approx(0.5 * motion["low0.angle"][-1], rel=0.01)


def test_moments_within_steps_may_be_asked_for_in_any_order():
    topology, assembly = prepared(linkage(), None)
    state = put_together(Evaluation.initial(assembly)).state
    found = []
    for others in (False, True):
        stepper, begin = ExplicitStepper(Equations(topology, assembly), 1e-8, 3.0), Moment(0.0, state, np.zeros(18))
        steps = [stepper.step(begin)]
        for _ in range(3):
            steps.append(stepper.step(steps[-1].end))
        one, two = (steps[k].begin.time + 0.4 * (steps[k].end.time - steps[k].begin.time) for k in (1, 2))
        if others:
            steps[1].at(steps[1].end.time)
            steps[2].at(two)
        found.append(steps[1].at(one).poses[0])
    assert np.array_equal(*found)


def structure(seed):
    """Three bodies on a chain of hinges, each held at the ground by a ball joint, too; a coil pushes the last one."""
    rng = np.random.default_rng(seed)
    s = mse.MSystem("structure", gravity=(0, 0, -9.81))
    above, at = s.ground, Pose()
    for k in range(3):
        place = at @ Pose(rng.uniform(-0.5, 0.5, 3)) @ Pose.rotation(rng.uniform(-1, 1, 3))
        body = s.add(mse.RigidBody(f"body{k}", mass=rng.uniform(0.5, 5), inertia=rng.uniform(0.03, 0.04, 3), at=place))
        hinge = mse.Revolute(f"hinge{k}", axis=rng.standard_normal(3))
        s.add(hinge, between=(body, above @ at.inverse() @ place))
        s.add(mse.Spherical(f"ball{k}"), between=(body @ Pose.dx(0.3), s.ground @ (place @ Pose.dx(0.3))))
        above, at = body, place
    s.add(mse.ForceActuator("coil"), between=(s.ground, above))
    return s


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_structures_that_nothing_moves_take_few_steps(seed):
    """Rounding of forces gives accelerations, whose speed in the size of the system is no motion to be followed."""
    motion = structure(seed).simulate(
        duration=0.4, dt=0.1, inputs={"coil.fz": lambda t: 0.01 * np.sin(7 * t)}, rtol=1e-9, progress=False
    )
    assert motion.steps < 20
    assert np.abs(motion.velocities("body2.center")).max() < 1e-12


def hanging(wires):
    """A stage on four stiff wires, or on springs of the same stiffness."""
    s = mse.MSystem("hanging", gravity=(0, 0, -9.81))
    stage = s.add(mse.RigidBody("stage", mass=5.0, inertia=(0.1, 0.12, 0.15), at=Pose.dz(-0.5)))
    for k, (x, y) in enumerate(((0.15, 0.1), (0.15, -0.1), (-0.15, 0.1), (-0.15, -0.1))):
        wire = mse.Wire(f"line{k}", length=0.5, radius=1e-3, young_modulus=2e11, poisson_ratio=0.3)
        spring = mse.Spring(f"line{k}", length=0.5, stiffness=2e11 * np.pi * 1e-6 / 0.5)
        at = Pose.dxdydz(x, y, 0)
        s.add(wire if wires else spring, between=(s.ground @ at, stage @ at))
    s.add(mse.ForceActuator("coil"), between=(s.ground, stage))
    s.add(mse.PositionSensor("eye"), between=(stage @ Pose.dxdydz(0.1, 0.1, 0.1), s.ground))
    return s


@pytest.mark.parametrize("wires", [True, False])
@pytest.mark.parametrize("inputs", [{}, {"coil.fx": 0.0}])
def test_small_vibrations_take_no_more_steps_than_large_ones(wires, inputs):
    """At 1e-10 of size a second rounding of forces is larger than the tolerance; small motions are right all the same."""
    system, asked = hanging(wires), {"duration": 0.05, "dt": 0.0025, "method": "explicit", "progress": False}
    start, found = system.find_working_point(), {}
    model, rates = start.linearize(), np.array([0.3, -0.2, 0.5, 0.5, 0.4, -0.6])
    for e in (1e-3, 1e-6):
        found[e] = system.simulate(**asked, start=start, inputs=inputs, initial={"stage'": e * rates}, rtol=1e-11)
        states = dict(
            zip([f"stage.{c}'" for c in ("x", "y", "z", "ax", "ay", "az")], (e * rates).tolist(), strict=True)
        )
        linear = model.simulate(duration=0.05, dt=0.0025, initial=states, progress=False)
        moved = found[e].values - found[e].values[0]
        size = np.abs(linear.values).max()
        assert np.abs(moved - linear.values).max() < 0.1 * e * size + 1e-13
    assert found[1e-6].evaluations < 1.5 * found[1e-3].evaluations < 20_000


def test_a_tolerance_that_rounding_denies_next_to_a_dead_point_is_told(monkeypatch):
    """Where steps may not be shorter than a tenth of the time that motions take, and dead points are where others are not."""
    monkeypatch.setattr(explicit, "NOTHING", 0.1)
    monkeypatch.setattr(loops, "dead_pivot", lambda rtol: 0.3)
    said = "rtol = 1e-09 next to a dead point of joints, where rounding makes accelerations .*; expected a larger rtol; the"
    with pytest.raises(mse.MotionError, match=said) as caught:
        book.four_bars(2).simulate(duration=1.5, dt=0.1, initial={f"low{k}.angle'": 1.0 for k in range(3)}, rtol=1e-9)
    assert 0.5 < caught.value.motion.time[-1] < 0.8
