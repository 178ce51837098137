"""Transition matrices: known figures, Liouville's theorem, and neighboring motions."""

import numpy as np
import pytest
import textbook as book

import mse
from mse import ModelError, Pose
from mse.dynamics import transition

START = {"one.angle": 0.8, "two.angle": -1.1}


@pytest.mark.slow
def test_a_double_pendulum_over_two_seconds():
    motion = book.double_pendulum().simulate(duration=2, dt=2, initial=START, rtol=1e-8)
    found = motion.transition_matrix(0.0, 2.0)
    assert np.trace(found.matrix) == pytest.approx(0.2726206186, abs=1e-7)
    assert np.linalg.det(found.matrix) == pytest.approx(0.9658530355, abs=1e-7)


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
