"""Where the origin is, which way the axes point, and what else is on the ground decides nothing in a search."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.kernels.sizes import diameter
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.statics.merit_function import MeritFunction

pytestmark = pytest.mark.rounding

STEEL = {"young_modulus": 2e11, "poisson_ratio": 0.3}
FAR = np.array([1e3, -2e3, 5e2])
ORIGIN, TURNED = Pose(), Pose.rotation((0.4, -1.1, 0.7))


def tangled(seed: int, by: Pose = ORIGIN) -> mse.MSystem:
    """Bodies on springs at random places, some of which cross, moved as a whole beside a sensor on the ground that stays."""
    rng, s = np.random.default_rng([3, seed]), mse.MSystem("tangle", gravity=by.U @ (0.0, 0.0, -9.81))
    bodies, places = [s.ground], [np.zeros(3)]
    for k in range(rng.integers(2, 7)):
        place = places[rng.integers(len(places))] + [*rng.uniform(-0.4, 0.4, 2), -rng.uniform(0.4, 1.2)]
        at = by @ Pose(place) @ Pose.rotation(rng.uniform(-0.5, 0.5, 3))
        body = s.add(mse.RigidBody(f"body{k}", mass=float(rng.uniform(0.3, 3.0)), inertia=0.01, at=at))
        bodies.append(body.frame(0))
        places.append(place)
    pairs = [(k, int(rng.integers(k))) for k in range(1, len(bodies)) for _ in range(rng.choice([1, 1, 3]))]
    pairs += [(int(rng.integers(1, len(bodies))), 0) for _ in range(3)]
    for k, (a, b) in enumerate(pairs):
        ends = rng.uniform(-0.3, 0.3, (2, 3))
        length = np.linalg.norm(places[a] + ends[0] - places[b] - ends[1]) * rng.uniform(0.7, 1.3)
        if k % 2:
            line = mse.Spring(f"line{k}", length=float(length), stiffness=float(30.0 / 10.0 ** rng.uniform(-2.0, -0.5)))
        else:
            line = mse.Wire(f"line{k}", length=float(length), radius=float(10.0 ** rng.uniform(-4.2, -3.2)), **STEEL)
        line = s.add(line)
        s.clamp(bodies[a], line.frame(0), Pose(ends[0]))
        s.clamp(bodies[b], line.frame(1), by @ Pose(ends[1]) if b == 0 else Pose(ends[1]))
    eye = s.add(mse.PositionSensor("eye"))
    s.clamp(s.ground, eye.frame(1))
    s.clamp(bodies[1], eye.frame(0))
    return s


def strays(seed: int, by: Pose) -> float:
    """How far the search of a moved system strays from that of the same at its place, as a share of all energy that it loses.

    Over the first half of its steps: the last ones are made of rounding, of which there is more far from the origin.
    """
    ways = [[step.energy for step in tangled(seed, at).find_working_point().history] for at in (ORIGIN, by)]
    here, there = (np.array(way[: len(ways[0]) // 2]) - way[0] for way in ways)
    return float(np.abs(here - there).max() / np.abs(here).max())


def merit_of(system: mse.MSystem) -> MeritFunction:
    topology = Topology(system)
    return MeritFunction.of(topology, Assembly(topology, topology.unit))


@pytest.mark.parametrize("seed", range(4))
def test_lengths_of_a_system_do_not_depend_on_its_place_and_on_axes(seed):
    here, there = merit_of(tangled(seed)), merit_of(tangled(seed, Pose(FAR) @ TURNED))
    assert there.size == pytest.approx(here.size, rel=1e-12)
    np.testing.assert_allclose(there.scale, here.scale, rtol=1e-12)
    np.testing.assert_allclose(there.metric, here.metric, rtol=1e-12)
    assert there.outermost > 1e3 > 100.0 * here.outermost  # what rounding of positions depends on


@pytest.mark.parametrize("points", [1, 2, 3, 7, 500])
@pytest.mark.parametrize("shape", ["anywhere", "ring", "line"])
def test_the_diameter_is_the_largest_of_all_distances(points, shape):
    rng = np.random.default_rng(points)
    at = rng.normal(size=(points, 3)) + FAR
    if shape == "ring":
        turn = 2 * np.pi * np.arange(points) / points
        at = np.column_stack([np.cos(turn), np.sin(turn), np.zeros(points)])
    elif shape == "line":
        at = FAR + np.outer(rng.exponential(size=points), rng.normal(size=3))
    most = np.linalg.norm(at[:, None] - at, axis=2).max()
    assert diameter(at) == pytest.approx(most, rel=1e-12)


def test_frames_in_one_place_far_away_have_no_extent():
    s = mse.MSystem("rotor", gravity=(0, 0, 0))
    rotor = s.add(mse.RigidBody("rotor", mass=1.0, inertia=0.1, at=Pose(FAR + 0.1)))
    axle = s.add(mse.Bushing("axle", stiffness=(1e3, 1e3, 1e3, 10.0, 10.0, 1.0)))
    s.clamp(s.ground, axle.frame(1), Pose(FAR) @ Pose.dxdydz(0.1, 0.1, 0.1))
    s.clamp(rotor.frame(0), axle.frame(0))
    assert merit_of(s).size == 1.0
    assert s.find_working_point().stable


@pytest.mark.slow
@pytest.mark.parametrize("by", [Pose(FAR), TURNED], ids=["moved", "turned"])
def test_moved_systems_are_searched_by_the_same_steps(by):
    assert sum(strays(seed, by) > 1e-6 for seed in range(8)) <= 1


def test_joints_hold_far_from_the_origin():
    """A double pendulum on hinges, 1e6 m away: positions there have a spacing of 1e-10 m."""
    s = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    above, at = s.ground, Pose((1e6, 0.0, 0.0))
    for k in range(2):
        body = s.add(mse.RigidBody(f"rod{k}", mass=1.0, inertia=0.1, at=at @ Pose((0.4, 0.0, 0.3 * k))))
        hinge = s.add(mse.Revolute(f"hinge{k}", axis=(0, 1, 0)))
        s.clamp(above, hinge.frame(1), at if k == 0 else Pose.dz(-0.5))
        s.clamp(body.frame(0), hinge.frame(0), Pose.dz(0.5))
        above = body.frame(0)
    found = s.find_working_point()
    assert found.stable and found.poses["rod1.center"].o[2] == pytest.approx(-1.5, abs=1e-6)
