"""Free motions returned to where users put them, at rest all the same."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mse
from models import double_pendulum
from mse import Pose
from mse.statics import free_motions

pytestmark = pytest.mark.rounding


@pytest.mark.parametrize("line", ["wire", "spring"])
def test_without_loads_wires_carry_rounding_alone(line):
    """Residuals relative to loads that are rounding themselves must not pass for balance on the way back."""
    wp = double_pendulum(line=line).find_working_point(load_factor=0.0)
    assert max(abs(tension) for tension in wp.tensions.values()) < 1e-6
    assert wp.energy < 1e-20


def tilted_pendulum(seed: int) -> mse.MSystem:
    """A body on a spherical joint, far from below it and turned anyhow: about the vertical nothing holds it."""
    turned = Rotation.from_rotvec(np.random.default_rng(seed).uniform(-1.2, 1.2, 3)).as_matrix()
    center = np.array([0.1, 0.2, -0.5])
    s = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("body", mass=2.0, inertia=(0.02, 0.03, 0.04), at=Pose(turned @ center, turned)))
    joint = s.add(mse.Spherical("joint"))
    s.clamp(s.ground, joint.frame(0))
    s.clamp(body.frame(0), joint.frame(1), Pose(-center))
    return s


@pytest.mark.parametrize("seed", [0, 4, 5])
def test_few_steps_lead_back_along_motions_that_turn(seed, monkeypatch):
    """Steps along the motion itself end where the others do, which foresee how it turns, in 8 to 12 for 2 or 3."""
    found = tilted_pendulum(seed).find_working_point()
    monkeypatch.setattr(free_motions, "_mixed", lambda left, before, step: left)
    plain = tilted_pendulum(seed).find_working_point()
    assert np.abs(found.poses["body.center"].o - plain.poses["body.center"].o).max() < 1e-10
    assert np.abs(found.poses["body.center"].U - plain.poses["body.center"].U).max() < 1e-10
    assert len(found.history) <= len(plain.history) - 5
