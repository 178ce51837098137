"""Free motions returned to where users put them, at rest all the same."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from valleys import merit_of

import mse
from models import double_pendulum
from mse import Pose
from mse.numerics.options import SIZES
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


def hanging_one_below_the_other(seed: int, count: int) -> mse.MSystem:
    """Bodies on spherical joints, each off the axis that the one above spins about, turned anyhow where they begin."""
    rng = np.random.default_rng(seed)
    s = mse.MSystem("hanging", gravity=(0, 0, -9.81))
    above, offset, at = s.ground, Pose(), Pose()
    for k in range(count):
        center = np.array([0.0, 0.0, -0.4]) + rng.uniform(-0.1, 0.1, 3)
        turned = Rotation.from_rotvec(rng.uniform(-0.8, 0.8, 3)).as_matrix()
        place = at.o + at.U @ offset.o
        at = Pose(place + turned @ center, turned)
        body = s.add(mse.RigidBody(f"body{k}", mass=rng.uniform(0.5, 3.0), inertia=(0.02, 0.03, 0.04), at=at))
        joint = s.add(mse.Spherical(f"joint{k}"))
        s.clamp(above, joint.frame(0), offset)
        s.clamp(body.frame(0), joint.frame(1), Pose(-center))
        above, offset = body.frame(0), Pose(rng.uniform(-0.3, 0.3, 3))
    return s


@pytest.mark.parametrize(("seed", "count"), [(0, 1), (4, 1), (5, 1), (1, 2), (2, 3), (3, 4)])
def test_few_steps_lead_back_to_where_spins_are_nearest_to_the_start(seed, count):
    """Spins of bodies that carry others, and that bend the square of the distance, by a search over their angles alone."""
    system = tilted_pendulum(seed) if count == 1 else hanging_one_below_the_other(seed, count)
    wp = system.find_working_point()
    assert len(wp.free) == count
    merit = merit_of(system)
    names = ["joint"] if count == 1 else [f"joint{k}" for k in range(count)]
    pivots = [wp.poses[f"{name}.0"].o for name in names]

    def distance(angles: np.ndarray) -> float:
        """Half of the square (m^2) after each body has turned about the vertical through its joint with all below it."""
        o, u = wp.state.o.copy(), np.array(wp.state.U)
        at = np.array(pivots)
        for k, angle in enumerate(angles):
            turn = Rotation.from_rotvec([0.0, 0.0, angle]).as_matrix()
            pivot = at[k].copy()
            for i in range(k, count):
                at[i] = pivot + turn @ (at[i] - pivot)
                o[1 + i] = pivot + turn @ (o[1 + i] - pivot)
                u[1 + i] = turn @ u[1 + i]
        turned = Rotation.from_matrix(u[1:] @ merit.start.U[1:].transpose(0, 2, 1)).as_rotvec()
        six = np.hstack([o[1:] - merit.start.o[1:], turned]).ravel()
        return 0.5 * float(np.sum((six * merit.scale) ** 2))

    nearest = minimize(distance, np.zeros(count), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-15})
    assert np.abs(nearest.x).max() < 1e-6
    slope = [(distance(e) - distance(-e)) / 2e-4 for e in 1e-4 * np.eye(count)]
    assert np.abs(slope).max() < 1e-8
    rests = next(step.number for step in wp.history if step.residual < 1e-10)
    assert len(wp.history) - 1 - rests <= 5  # with straight steps 3 to 21


@pytest.mark.parametrize("limit", [300, 0])
def test_many_spins_come_back_in_as_few_steps(monkeypatch, limit):
    monkeypatch.setattr(SIZES, "dense", limit)
    system = mse.MSystem("many", gravity=(0, 0, -9.81))
    rng = np.random.default_rng(0)
    for k in range(40):
        body = system.add(
            mse.RigidBody(
                f"body{k}",
                mass=1.0,
                inertia=(0.02, 0.03, 0.04),
                at=Pose([k, 0, 0]) @ Pose.rotation(rng.uniform(-1, 1, 3)),
            )
        )
        joint = system.add(mse.Spherical(f"joint{k}"))
        system.clamp(system.ground, joint.frame(0), Pose.dxdydz(k, 0, 0))
        system.clamp(body.frame(0), joint.frame(1), Pose([0.1, 0.2, 0.3]))
    wp = system.find_working_point()
    assert len(wp.free) == 40 and wp.stable
    rests = next(step.number for step in wp.history if step.residual < 1e-10)
    assert len(wp.history) - 1 - rests <= 7


def test_what_is_left_of_forces_is_taken_out_as_far_as_rounding_goes(monkeypatch):
    """A step that leads from a little beyond rounding to within it is taken, though it does not halve what was left."""
    left = {0: 1.9, 1: 1.0}
    monkeypatch.setattr(free_motions, "beyond_rounding", lambda merit, point: left[point.energy])
    monkeypatch.setattr(free_motions, "_after", lambda merit, point, newton: SimpleNamespace(energy=point.energy + 1))
    assert free_motions._refined(None, SimpleNamespace(energy=0), None).energy == 1
    left.update({0: 9.0, 1: 8.0})
    assert free_motions._refined(None, SimpleNamespace(energy=0), None).energy == 0
