"""What counts as equilibrium: rounding of forces, and systems without loads."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.statics.merit_function import MeritFunction
from test_stiff_trees import tree

pytestmark = pytest.mark.rounding


def frame(seed: int, elements: int, *, away: float = 0.0) -> mse.MSystem:
    """A frame of eight beams without gravity on four feet, about 0.5 m wide; they fit but for rounding."""
    rng = np.random.default_rng(seed)
    s = mse.MSystem("frame", gravity=(0, 0, 0))
    feet = away + np.array([(0, 0, 0), (0.5, 0, 0), (0.5, 0.5, 0), (0, 0.5, 0)])
    tops = feet + np.array((0, 0, 0.6)) + rng.uniform(-0.1, 0.1, (4, 3))
    nodes = [s.add(mse.RigidBody(f"node{k}", mass=0.3, inertia=3e-4, at=Pose(o))) for k, o in enumerate(tops)]
    section = {"width": 0.015, "height": 0.006, "young_modulus": 2.1e11, "poisson_ratio": 0.3, "density": 7800.0}
    for k in range(8):
        first, second = (feet[k], tops[k]) if k < 4 else (tops[k - 4], tops[k - 3 if k < 7 else 0])
        length = float(np.linalg.norm(second - first))
        x = (second - first) / length
        y = np.cross(rng.normal(size=3), x)
        y /= np.linalg.norm(y)
        u = np.column_stack([x, y, np.cross(x, y)])
        beam = s.add(
            mse.Beam(
                f"beam{k}", length=length, elements=elements, theory="euler-bernoulli", at=Pose(first, u), **section
            )
        )
        if k < 4:
            s.clamp(s.ground, beam.frame(0), Pose(first, u))
            s.clamp(nodes[k].frame(0), beam.frame(1), Pose(U=u))
        else:
            s.clamp(nodes[k - 4].frame(0), beam.frame(0), Pose(U=u))
            s.clamp(nodes[(k - 3) % 4].frame(0), beam.frame(1), Pose(U=u))
    return s


def rigid(stiffness: float) -> mse.MSystem:
    s = mse.MSystem("rigid", gravity=(0, 0, -9.81))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=1.0, at=Pose.dz(-1.0)))
    s.add(mse.Spring("wire", length=1.0, stiffness=stiffness), between=(s.ground, mass))
    return s


@pytest.mark.parametrize("away", [0.0, 1e3 / 3])
@pytest.mark.parametrize("elements", [4, 16, 32])
def test_unloaded_structures_that_fit_are_at_rest(elements, away):
    """All forces are rounding of stiffness times positions, and none of it is said to be out of balance."""
    for seed in range(4):
        wp = frame(seed, elements, away=away).find_working_point()
        assert wp.stable and not wp.free
        assert wp.relative_residual.max() < np.finfo(float).eps
        assert np.all(np.abs(wp.residual) <= wp.residual_bound)


@pytest.mark.parametrize("elements", [2, 16])
def test_forces_are_off_by_no_more_than_their_bound(elements):
    """The same structure elsewhere has other forces by rounding alone: within the bound there, and not far below it."""
    shares = []
    for seed in range(4):
        found = []
        for away in (0.0, 100.0 / 3):
            topology = Topology(frame(seed, elements, away=away))
            merit = MeritFunction.of(topology, Assembly(topology, topology.unit))
            point = merit.evaluate(merit.start, 2)
            found.append((point.gradient, merit.force_rounding(point)))
        (here, little), (there, bound) = found
        # without internal coordinates, which nothing pushes
        on = bound > 0.0
        share = np.abs(here - there)[on] / (bound + little)[on]
        assert share.max() < 1.0
        shares.append(share.max())
    assert np.median(shares) > 1e-3


def test_result_states_the_bound_where_ten_digits_are_not_reached():
    wp = rigid(1e11).find_working_point()
    assert wp.relative_residual.max() > 1e-10
    assert np.all(np.abs(wp.residual) <= wp.residual_bound)
    assert "rounding may leave" in str(wp)
    assert "rounding may leave" not in str(rigid(1e3).find_working_point())


def test_self_stress_is_a_load():
    """Springs that pull at each other balance to ten digits of their pull, and a residual is told as a share of it."""
    s = mse.MSystem("pulled", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=1.0, at=Pose.dz(0.01)))
    for name, z in (("up", 1.0), ("down", -1.0)):
        spring = s.add(mse.Spring(name, length=0.9, stiffness=1e3))
        s.clamp(s.ground, spring.frame(0), Pose.dz(z))
        s.clamp(body.frame(0), spring.frame(1))
    wp = s.find_working_point()
    assert wp.tensions["up"] == pytest.approx(100.0)
    assert wp.relative_residual.max() < 1e-10
    assert wp.relative_residual.max() >= np.abs(wp.residual).max() / 300.0


@pytest.mark.slow
def test_stiff_trees_balance_to_ten_digits_or_to_their_bound():
    for seed in range(3):
        wp = tree(seed, 6, 2, stiffness=(3.0, 9.0)).find_working_point()
        enough = np.where(wp.relative_residual > 1e-10, wp.residual_bound, np.inf)
        assert np.all(np.abs(wp.residual) <= enough)
