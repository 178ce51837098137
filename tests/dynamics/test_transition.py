"""Transition matrices: known figures, Liouville's theorem, and neighboring motions."""

import numpy as np
import pytest
import textbook as book
from counting import made_of

import mse
from mse import ModelError, Pose
from mse.dynamics import transition
from mse.dynamics.moving import Moving
from mse.linear.linear_model import LinearModel

START = {"one.angle": 0.8, "two.angle": -1.1}


def test_a_double_pendulum_over_two_seconds():
    motion = book.double_pendulum().simulate(duration=2, dt=2, initial=START, rtol=1e-8)
    found = motion.transition_matrix(0.0, 2.0)
    assert np.trace(found.matrix) == pytest.approx(0.2726206186, abs=1e-9)
    assert np.linalg.det(found.matrix) == pytest.approx(0.9658530355, abs=1e-9)


def test_neighbors_part_as_it_says_and_pieces_join():
    system = book.double_pendulum()

    def run(initial):
        return system.simulate(duration=0.06, dt=0.06, initial=initial, rtol=1e-9)

    motion = run(START)
    whole = motion.transition_matrix(0.0, 0.06)
    first, second = motion.transition_matrix(0.0, 0.02), motion.transition_matrix(0.02, 0.06)
    np.testing.assert_allclose(second.matrix @ first.matrix, whole.matrix, atol=1e-8)
    assert whole.coordinates == ("one.angle", "two.angle")
    assert "two.angle'" in repr(whole)
    h, names = 1e-4, ("one.angle", "two.angle", "one.angle'", "two.angle'")
    apart = [run(START | {"two.angle": -1.1 + s * h}) for s in (1, -1)]
    column = [(apart[0][name][-1] - apart[1][name][-1]) / (2 * h) for name in names]
    np.testing.assert_allclose(whole.matrix[:, 1], column, atol=3e-6)  # rtol over the step


def hung_on_springs():
    """A body on a damped hinge and a body on a damped universal joint below it, with a spring and a rope to the ground."""
    system = mse.MSystem("hung", gravity=(0, 0, -9.81))
    frames = {"top": Pose((0.05, 0.0, 0.3)), "low": Pose((0.0, 0.1, -0.3))}
    one = system.add(mse.RigidBody("one", mass=1.0, inertia=(0.03, 0.04, 0.02), at=Pose.dz(-0.3), frames=frames))
    inertia, top = (0.02, 0.01, 0.015), {"top": Pose((0.0, 0.05, 0.25))}
    two = system.add(mse.RigidBody("two", mass=0.5, inertia=inertia, at=Pose.dz(-0.85), frames=top))
    system.add(mse.Revolute("hinge", axis=(0, 1, 0.3), damping=0.05), between=(one.frame("top"), system.ground))
    system.add(mse.Universal("cross", damping=(0.02, 0.03)), between=(two.frame("top"), one.frame("low")))
    system.add(mse.Spring("spring", length=0.7, stiffness=80.0, damping=0.4), between=(two, system.ground))
    rope = mse.Wire("rope", length=0.2, young_modulus=1e6, poisson_ratio=0.3, radius=0.005, damping=1.0)
    system.add(rope, between=(one, system.ground))
    return system


def test_dampers_springs_and_wires_are_in_it():
    names = ("hinge.angle", "cross.angle1", "cross.angle2")
    start = dict(zip(names, (0.3, -0.2, 0.4), strict=True)) | dict.fromkeys((f"{n}'" for n in names), 2.0)

    def run(initial):
        return hung_on_springs().simulate(duration=0.1, dt=0.1, initial=initial, rtol=1e-10)

    found, h = run(start).transition_matrix(0.0, 0.1), 1e-4
    states = [*names, *(f"{n}'" for n in names)]
    for k, name in enumerate(states):
        ahead, back = (run(start | {name: start[name] + s * h}) for s in (1, -1))
        column = [(ahead[n][-1] - back[n][-1]) / (2 * h) for n in states]
        np.testing.assert_allclose(found.matrix[:, k], column, atol=1e-6 * np.abs(found.matrix).max())


def test_no_linear_model_is_made_on_the_way(monkeypatch):
    motion = book.double_pendulum().simulate(duration=0.1, dt=0.1, initial=START, rtol=1e-6)
    models, states = made_of(monkeypatch, LinearModel), made_of(monkeypatch, Moving)
    motion.transition_matrix(0.0, 0.1)
    assert not models
    assert len(states) == (transition._POINTS - 2) * motion.steps


@pytest.mark.parametrize("points", [8, 10, 12])
def test_a_pendulum_that_swings_a_little(monkeypatch, points):
    """About rest the matrix is that of an oscillator, whose multipliers have size one."""
    monkeypatch.setattr(transition, "_POINTS", points)
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    bob = system.add(mse.RigidBody("bob", mass=1.0, at=Pose.dz(-0.5), frames={"top": Pose.dz(0.5)}))
    system.add(mse.Revolute("hinge", axis=(0, 1, 0)), between=(bob.frame("top"), system.ground))
    motion = system.simulate(duration=0.1, dt=0.1, initial={"hinge.angle": 1e-9}, rtol=1e-7)
    found = motion.transition_matrix(0.0, 0.1)
    w = np.sqrt(9.81 / 0.5)
    c, s = np.cos(0.1 * w), np.sin(0.1 * w)
    np.testing.assert_allclose(found.matrix, [[c, s / w], [-w * s, c]], atol=1e-8)
    np.testing.assert_allclose(np.abs(found.multipliers), 1.0, atol=1e-8)


def test_what_has_no_transition_matrix_is_refused():
    system = mse.MSystem("ball", gravity=(0, 0, -9.81))
    ball = system.add(mse.RigidBody("ball", mass=1.0, inertia=0.1, at=Pose.dz(0.5)))
    system.add(mse.Spring("spring", length=0.3, stiffness=10.0), between=(ball, system.ground))
    motion = system.simulate(duration=0.01, dt=0.01)
    with pytest.raises(ModelError, match="0 coordinates of joints move, of 6 freedoms; expected"):
        motion.transition_matrix(0.0, 0.01)
    with pytest.raises(ModelError, match="expected an end after the start"):
        motion.transition_matrix(0.01, 0.0)
    system.add(mse.RollingSphere("sphere", radius=0.5), between=(ball, system.ground))
    with pytest.raises(ModelError, match="RollingSphere 'sphere': it constrains velocities, for which"):
        system.simulate(duration=0.01, dt=0.01).transition_matrix(0.0, 0.01)
