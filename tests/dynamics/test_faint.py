"""Motions beside the tolerance of steps: what they err by, and what is noted."""

import re

import numpy as np
import pytest
import textbook as book

import mse
from mse import Pose


def pendulum():
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    bob = system.add(mse.RigidBody("bob", mass=1.0, inertia=0.01, at=Pose.dz(-0.5), frames={"top": Pose.dz(0.5)}))
    system.add(mse.Revolute("hinge", axis=(0, 1, 0)), between=(bob.frame("top"), system.ground))
    return system


@pytest.mark.parametrize(
    ("amplitude", "error", "noted"),
    [(1e-3, 1e-7, False), (1e-8, 1e-5, True), (1e-10, 0.1, True), (1e-12, np.inf, True)],
)
def test_a_motion_below_the_tolerance_is_noted(amplitude, error, noted):
    """``A cos(w (1 - A^2/16) t)``, w^2 = m g l/(J + m l^2)."""
    motion = pendulum().simulate(duration=100.0, dt=0.1, initial={"hinge.angle": amplitude}, progress=False)
    rate = np.sqrt(9.81 * 0.5 / 0.26) * (1.0 - amplitude**2 / 16.0)
    assert np.abs(motion["hinge.angle"] / amplitude - np.cos(rate * motion.time)).max() < error
    assert any("what moves farthest" in note for note in motion.notes) == noted


def test_a_smaller_tolerance_makes_a_small_motion_right():
    motion = pendulum().simulate(duration=10.0, dt=0.1, initial={"hinge.angle": 1e-8}, rtol=1e-11, progress=False)
    assert motion["hinge.angle"] == pytest.approx(1e-8 * np.cos(np.sqrt(9.81 * 0.5 / 0.26) * motion.time), abs=1e-14)
    assert motion.notes == ()


def test_the_note_says_how_small_and_what_to_do():
    (note,) = pendulum().simulate(duration=1.0, dt=0.5, initial={"hinge.angle": 1e-9}, progress=False).notes
    assert re.search(r"moves by [12]\.\d times the tolerance .* smaller rtol", note)


def test_what_is_left_alone_may_rest():
    assert pendulum().simulate(duration=1.0, dt=0.5, progress=False).notes == ()


def test_a_force_on_a_tower_moves_it_as_its_linear_model():
    """By 18 tolerances at rtol = 1e-5, where implicit steps err by 2e-3, and by 1,800 at 1e-7."""
    system = book.tower()
    start = system.find_working_point()
    given = {"inputs": {"wind.fx": lambda t: 1e4 * np.sin(1.2 * t)}, "progress": False}
    exact = start.linearize().simulate(duration=5.0, dt=0.5, **given)["eye.x"]
    for rtol, error, noted in ((1e-5, 2e-2, True), (1e-7, 1e-3, False)):
        motion = system.simulate(duration=5.0, dt=0.5, start=start, rtol=rtol, **given)
        assert np.abs(motion["eye.x"] - exact).max() < error * np.abs(exact).max()
        assert any("what moves farthest" in note for note in motion.notes) == noted
