"""Chains that stretch to three times their length and wind up by many turns: steps of the search go along curves there."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.statics.merit_function import MeritFunction


def chain(bodies: int, stiffness: float = 2e3, gravity: tuple[float, ...] = (0.0, 0.0, -9.81)) -> mse.MSystem:
    """Bodies on two springs a stage, whose upper ends are turned against the lower ones by 0.2 rad."""
    s = mse.MSystem("chain", gravity=gravity)
    last = s.ground
    ends = {"top": Pose.dz(0.1), "low": Pose.dz(-0.1)}
    for i in range(bodies):
        at = Pose.dz(-0.5 * (i + 1))
        body = s.add(mse.RigidBody(f"body{i}", mass=1.0, inertia=0.02, at=at, frames=ends))
        for j, x in enumerate((-0.1, 0.12)):
            spring = s.add(mse.Spring(f"spring{i}_{j}", length=0.28, stiffness=stiffness))
            s.clamp(last, spring.frame(1), Pose((x, 0.05 * j, 0)))
            s.clamp(body.frame("top"), spring.frame(0), Pose((x, 0.03, 0)))
        last = body.frame("low")
    return s


def merit_of(system: mse.MSystem) -> MeritFunction:
    topology = Topology(system)
    return MeritFunction.of(topology, Assembly(topology, topology.unit))


@pytest.mark.slow
def test_steps_hardly_grow_with_the_length_of_a_chain():
    """Measured: 9 steps for 60 to 120 bodies, 14 for 200, 17 for 300, 19 for 400, 24 to 31 for 600 to 1,000.

    About the lines between bodies instead of the loads on them: 25, 46, 62, 100, and 248 to 374; straight: 107 for 100.
    """
    steps = {}
    for bodies in (60, 80, 100, 120, 200, 240, 280, 400):
        wp = chain(bodies).find_working_point()
        assert wp.stable and wp.relative_residual.max() < 1e-10
        steps[bodies] = len(wp.history)
    assert wp.poses["body399.center"].o[2] < -350.0
    assert np.mean([steps[60], steps[80], steps[100], steps[120]]) < 15
    assert np.mean([steps[200], steps[240], steps[280], steps[400]]) < 30


def test_short_chains_take_as_few_steps():
    """Measured: 9 to 11, with straight steps 17 to 52."""
    found = [chain(bodies).find_working_point() for bodies in (10, 20, 30, 40, 50)]
    assert all(wp.stable and wp.relative_residual.max() < 1e-10 for wp in found)
    assert np.mean([len(wp.history) for wp in found]) < 15


@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (0.0, 0.0, 0.0)])
def test_energy_along_curves_is_known_to_second_order(gravity):
    """The bend is what differences of the energy along a carried step have beyond the stiffness.

    Of chains in any shape, whose links point anywhere, with loads in several directions or none.
    """
    system = chain(6, gravity=gravity)
    rng = np.random.default_rng(0)
    if any(gravity):
        for k in (2, 4):
            load = system.add(mse.Load(f"load{k}", force=10.0 * rng.standard_normal(3)))
            system.clamp(system[f"body{k}"].frame(0), load.frame(0))
    merit = merit_of(system)
    k = len(merit.searched)
    for _ in range(4):
        start = merit.moved(merit.start, 0.1 * rng.standard_normal(k))
        point = merit.evaluate(start, 2)
        stiffness = merit.scaled(point)[0]
        _, bend = merit.curves(point)
        p = rng.standard_normal(k)
        change = 1e-4
        ahead, behind = (merit.evaluated(point.here.carried(x * p), 0).energy for x in (change, -change))
        curvature = (ahead + behind - 2.0 * point.energy) / change**2
        assert curvature == pytest.approx(p @ (stiffness @ p) + p @ (bend @ p), rel=1e-5)
        assert abs(p @ (bend @ p)) > 1e-4 * abs(curvature)


def test_motion_as_a_whole_is_short_and_motion_apart_is_long():
    merit = merit_of(chain(10))
    measure, _ = merit.curves(merit.evaluate(merit.start, 2))

    def length(x):
        x = np.ravel(x) * merit.metric
        return float(np.sqrt(x @ (measure @ x)))

    together = np.zeros((10, 6))
    together[:, 0] = 1.0  # but for the two springs to the ground, nothing is moved apart
    alternating = together * np.array([1.0, -1.0] * 5)[:, None]
    assert length(together) == pytest.approx(np.sqrt(2.0 + 10 / 10**2))
    assert length(alternating) == pytest.approx(np.sqrt(2.0 + 9 * 2 * 4.0 + 10 / 10**2))
    # all bodies turned with the first one about the line they hang on, which itself is turned against the ground
    winding = np.zeros((10, 6))
    winding[:, 5] = 1.0
    one = np.zeros((10, 6))
    one[0, 5] = 1.0
    assert length(winding) < length(one) * 2.0
