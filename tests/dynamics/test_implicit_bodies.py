"""Implicit steps of rigid bodies in compiled code, against explicit steps and against the implicit ones of all other systems."""

import numpy as np
import pytest
import textbook as book
from numba import typeof

import mse
from mse import Pose
from mse.dynamics import implicit, implicit_bodies
from mse.dynamics.accelerations import Equations
from mse.dynamics.implicit_bodies import ImplicitLoopSteps, ImplicitTreeSteps
from mse.dynamics.moments import Moment
from mse.kernels import implicit_loops, implicit_steps, implicit_trees
from mse.kernels.by_address import InMemory
from mse.kernels.steps import NO_INERTIA
from mse.model.evaluation import Evaluation
from mse.model.joint_assembly import put_together
from mse.model.variants import prepared
from test_trees import HUNG, INITIAL, branched, hung, run


def stage(**wire):
    """10 kg on four wires, two of which hang from a beam that tilts and damps; a bushing to the ground."""
    s = mse.MSystem("stage", gravity=(0, 0, -9.81))
    corners = {f"hook{k}": Pose.dxdydz(x, y, 0.02) for k, (x, y) in enumerate([(0.2, 0.15), (0.2, -0.15), (-0.2, 0)])}
    mass = s.add(mse.RigidBody("mass", mass=10.0, inertia=(0.1, 0.15, 0.2), at=Pose.dz(-0.53), frames=corners))
    beam = s.add(mse.RigidBody("beam", mass=1.0, inertia=0.02, at=Pose.dx(0.2), frames={"low": Pose.dx(-0.2)}))
    s.add(mse.Revolute("tilt", axis=(0, 1, 0), stiffness=900.0, damping=0.5), between=(beam.frame("low"), s.ground))
    for k, (x, y) in enumerate([(0.2, 0.15), (0.2, -0.15), (-0.2, 0)]):
        above = beam @ Pose.dxdydz(x - 0.2, y, 0) if x > 0 else s.ground @ Pose.dxdydz(x, y, 0)
        s.add(mse.Spring(f"wire{k}", length=0.5, stiffness=5e4, **wire), between=(mass.frame(f"hook{k}"), above))
    rubber = mse.Bushing("rubber", stiffness=np.diag([30.0, 20, 10, 0.1, 0.2, 0.3]), damping=0.1 * np.eye(6))
    s.add(rubber, between=(mass.frame("center"), s.ground @ Pose.dz(-0.53)))
    return s


def braced():
    """The same on a beam that a second hinge holds in line with the first, which closes a loop."""
    s = stage()
    s.add(
        mse.Revolute("other", axis=(0, 1, 0)), between=(s["beam"] @ Pose.dxdydz(-0.2, 0.1, 0), s.ground @ Pose.dy(0.1))
    )
    return s


PUSHED = {"mass'": [0.3, 0.2, 0.0, 0.1, 0.0, 0.5]}
CASES = [
    (branched, INITIAL, "lid", ImplicitTreeSteps),
    (hung, HUNG, "rider", ImplicitTreeSteps),
    (book.fourbar1, {"hinge.angle'": 3.0}, "coupler", ImplicitLoopSteps),
    (stage, PUSHED, "mass", ImplicitTreeSteps),
    (braced, PUSHED, "mass", ImplicitLoopSteps),
]


def moved(system, initial, **more):
    return run(system, **{"initial": initial, "duration": 0.2, "dt": 0.1, "method": "implicit"} | more)


def poses(motion, body):
    """Places of a body at all samples, and where its axes point."""
    o, u = motion.poses(f"{body}.center")
    return np.hstack([o, u.reshape(-1, 9)])


@pytest.mark.parametrize(("system", "initial", "body", "steps"), CASES)
def test_bodies_move_as_by_the_steps_of_other_systems(monkeypatch, system, initial, body, steps):
    taken = book.count_leaps(monkeypatch, steps)
    motion = moved(system(), initial, rtol=1e-8)
    assert sum(taken) == motion.steps
    exact = moved(system(), initial, rtol=1e-11, method="explicit")
    monkeypatch.setattr(implicit, "implicit_steps_of", lambda *given: None)
    whole = moved(system(), initial, rtol=1e-8)
    for found in (motion, whole):
        assert np.abs(poses(found, body) - poses(exact, body)).max() < 2e-7
        np.testing.assert_allclose(found.energy["damped"], exact.energy["damped"], rtol=1e-5, atol=1e-6)
        assert found.largest_residual < 1e-11
    assert 0.7 * whole.steps < motion.steps < 1.5 * whole.steps


def pushed():
    s = stage()
    s.add(mse.ForceActuator("coil"), between=(s["mass"], s.ground))
    s["tilt"].motor = "force"
    return s


def cranked():
    """A slider-crank whose slider has a stiff spring."""
    s = book.slider_crank()
    s["slide"].stiffness, s["slide"].damping = 300.0, 2.0
    return s


@pytest.mark.parametrize(
    ("system", "body", "inputs", "steps"),
    [
        (
            pushed,
            "mass",
            {"coil.fx": lambda t: 30.0 * np.sin(20.0 * t), "coil.tz": 0.5, "tilt.torque": lambda t: 3.0 * t},
            ImplicitTreeSteps,
        ),
        (cranked, "slider", {"crank.angle": lambda t: 4.0 * t + np.sin(3.0 * t)}, ImplicitLoopSteps),
    ],
)
def test_inputs_act_in_compiled_steps(monkeypatch, system, body, inputs, steps):
    given = {"duration": 0.5, "dt": 0.05, "inputs": inputs, "progress": False}
    exact = system().simulate(**given, rtol=1e-11, method="explicit")
    taken = book.count_leaps(monkeypatch, steps)
    motion = system().simulate(**given, rtol=1e-8, method="implicit")
    assert sum(taken) >= motion.steps - 1  # the first one is looked at alone
    assert np.abs(poses(motion, body) - poses(exact, body)).max() < 2e-7
    for kind in ("damped", "driven"):
        np.testing.assert_allclose(motion.energy[kind], exact.energy[kind], rtol=1e-5, atol=1e-6)
    assert np.abs(exact.energy["driven"]).max() > 0.01 and motion.largest_residual < 1e-11


@pytest.mark.parametrize(("system", "initial", "body", "steps"), [CASES[1], *CASES[3:]])
def test_runs_do_not_depend_on_samples_or_cuts(system, initial, body, steps):
    whole, finer = (moved(system(), initial, rtol=1e-6, duration=0.4, dt=dt) for dt in (0.2, 0.025))
    assert np.array_equal(whole.values, finer.values[::8])
    own = system()
    first = moved(own, initial, rtol=1e-6, duration=0.2, dt=0.2)
    rest = own.simulate(duration=0.2, dt=0.2, start=first.final_state, rtol=1e-6, method="implicit", progress=False)
    assert np.array_equal(poses(rest, body)[-1], poses(whole, body)[-1])
    one, two = (motion.at(0.313).poses[f"{body}.center"].o for motion in (whole, finer))
    assert np.array_equal(one, two)


@pytest.mark.parametrize(("system", "initial", "body"), [(book.trolley, {"phi1.angle": 1.6}, "two"), CASES[2][:3]])
def test_steps_are_of_order_five(system, initial, body):
    exact = poses(moved(system(), initial, duration=1.0, dt=1.0, rtol=1e-12, method="explicit"), body)
    motions = [moved(system(), initial, duration=1.0, dt=1.0, rtol=rtol) for rtol in (1e-7, 1e-10)]
    errors = [np.abs(poses(motion, body) - exact).max() for motion in motions]
    order = np.log(errors[0] / errors[1]) / np.log(motions[1].steps / motions[0].steps)
    assert 4.0 < order < 6.5


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_accelerations_are_differentiated_by_any_small_change(monkeypatch, factor):
    expected = moved(stage(), PUSHED, rtol=1e-8)
    monkeypatch.setattr(implicit, "NUDGE", factor * implicit.NUDGE)
    motion = moved(stage(), PUSHED, rtol=1e-8)
    assert motion.steps == pytest.approx(expected.steps, rel=0.05)
    np.testing.assert_allclose(poses(motion, "mass"), poses(expected, "mass"), atol=1e-8)


@pytest.mark.parametrize(
    ("system", "initial", "kernels"),
    [
        (branched, INITIAL, implicit_trees),
        (stage, PUSHED, implicit_trees),
        (braced, PUSHED, implicit_loops),
    ],
)
def test_kernels_find_what_they_are_given_by_its_types(monkeypatch, system, initial, kernels):
    given = []
    monkeypatch.setattr(implicit_bodies, "InMemory", lambda one: given.append(one) or InMemory(one))
    moved(system(), initial, rtol=1e-6)
    assert {typeof(one) for one in given} == {typeof(kernels.example())}


def test_a_step_that_compiled_code_does_not_make_is_made_by_numpy(monkeypatch):
    expected = moved(stage(), PUSHED, rtol=1e-6)
    monkeypatch.setattr(implicit_steps, "march", lambda *given: (0, 0, NO_INERTIA))
    motion = moved(stage(), PUSHED, rtol=1e-6)
    np.testing.assert_allclose(poses(motion, "mass"), poses(expected, "mass"), atol=1e-6)


def test_angles_count_whole_turns():
    s = mse.MSystem("wheel", gravity=(0, 0, 0))
    wheel = s.add(mse.RigidBody("wheel", mass=1.0, inertia=1.0))
    s.add(mse.Revolute("hinge", axis=(0, 0, 1), stiffness=1.0), between=(wheel, s.ground))
    start = {"hinge.angle": 40.0}
    motion = s.simulate(duration=2.0, dt=1.0, initial=start, method="implicit", rtol=1e-10, progress=False)
    np.testing.assert_allclose(motion["hinge.angle"], 40.0 * np.cos(motion.time), atol=1e-6)


def test_moments_at_the_begin_of_a_step_are_known():
    """A transition matrix asks for both ends of each step."""
    one, two = (
        moved(book.trolley(), {"phi1.angle": 1.6}, rtol=rtol, method=method).transition_matrix(0.0, 0.2).matrix
        for method, rtol in (("implicit", 1e-8), ("explicit", 1e-10))
    )
    np.testing.assert_allclose(one, two, atol=1e-6 * np.abs(two).max())


def test_a_strong_damper_between_a_light_and_a_heavy_body_takes_few_steps():
    """Slopes by velocities are no symmetric matrix then: rates of both become those of their momentum in 0.1 us."""
    s = mse.MSystem("pair", gravity=(0, 0, 0))
    heavy = s.add(mse.RigidBody("heavy", mass=1.0, inertia=0.1))
    light = s.add(mse.RigidBody("light", mass=1e-3, inertia=1e-4))
    s.add(mse.Prismatic("rail", axis=(1, 0, 0), stiffness=1.001), between=(heavy, s.ground))
    s.add(mse.Prismatic("slide", axis=(1, 0, 0), damping=1e4), between=(light, heavy))
    start = {"rail.displacement": 0.1}
    motion = s.simulate(duration=1.0, dt=0.5, initial=start, method="implicit", rtol=1e-8, progress=False)
    np.testing.assert_allclose(motion["rail.displacement"], 0.1 * np.cos(motion.time), atol=1e-8)
    assert motion.steps < 60 and motion.evaluations < 25 * motion.steps


def test_a_wire_remembers_how_often_it_was_twisted():
    s = mse.MSystem("torsion", gravity=(0, 0, -9.81))
    bob = s.add(mse.RigidBody("bob", mass=1.0, inertia=0.01, at=Pose.dz(-0.5)))
    wire = mse.Wire("wire", length=0.5, radius=1e-3, young_modulus=2e11, poisson_ratio=0.3)
    s.add(wire, between=(s.ground, bob))
    start = {"bob'": [0, 0, 0, 0, 0, 80.0]}
    one, two = (
        run(s, duration=0.7, dt=0.1, initial=start, method=method, rtol=rtol)
        for method, rtol in (("implicit", 1e-8), ("explicit", 1e-10))
    )
    stored = two.energy["elastic"]
    assert stored.max() > 20.0
    np.testing.assert_allclose(one.energy["elastic"], stored, atol=1e-4)


def test_a_sample_at_the_end_of_a_step_is_that_end_behind_another_one_in_it():
    topology, assembly = prepared(book.trolley(), None)
    begin = Moment(
        0.0, put_together(Evaluation.initial(assembly)).state, np.array([0, 0, 0, 0, 0, 0] * 2 + [1, 0, 0] * 2)
    )
    stepper = implicit.ImplicitStepper(Equations(topology, assembly), 1e-6, 1.0)
    end = stepper.leap(begin, np.zeros(0)).begins[1]
    step = stepper.leap(begin, np.array([0.5 * (begin.time + end.time), end.time]))
    found = step.at(end.time)
    assert np.array_equal(found.state.o, end.state.o) and np.array_equal(found.v, end.v)
