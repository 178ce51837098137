"""Ropes of rods between two points, put together out of any plane: rods that spin freely, alone or several together."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl
from counting import solved_by_lanczos
from scipy.optimize import root

import mse
import mse.analysis.modes.find
from mse import Pose
from mse.numerics.options import SIZES

pytestmark = pytest.mark.rounding

THICK = 1 / 12  # moments of inertia across a rod


def rope(count: int, seed: int, *, universal: float = 0.0, turned: bool = False) -> tuple[mse.MSystem, int]:
    """Rods of a meter between two points ``0.6 count`` apart, and how many spins, alone or shared, nothing holds.

    A share of the joints are universal, through which rods spin together.  With ``turned`` joints join rods the other way round.
    """
    rng = np.random.default_rng(seed)
    s = mse.MSystem("rope", gravity=(0, 0, -9.81))
    tip, above, seat = np.zeros(3), s.ground, Pose()
    spins = 1
    for i, angle in enumerate(np.pi * ((np.arange(count) + 0.5) / count - 0.5)):
        x = np.array([np.cos(angle), 0.1 * rng.standard_normal(), np.sin(angle)])
        x /= np.linalg.norm(x)
        y = np.cross((0.0, 0.0, 1.0), x)
        y /= np.linalg.norm(y)
        at = Pose(tip + 0.5 * x, np.column_stack([x, y, np.cross(x, y)]))
        rod = s.add(mse.RigidBody(f"rod{i}", mass=rng.uniform(0.5, 2), inertia=(1e-4, THICK, THICK), at=at))
        ball = rng.random() >= universal
        spins += int(ball) if i else int(ball) - 1
        across = {} if ball else {"axis": (0.0, 1.0, 0.0), "second": (0.0, 0.0, 1.0)}
        joint = s.add((mse.Spherical if ball else mse.Universal)(f"joint{i}", **across))
        s.clamp(above, joint.frame(int(not turned)), seat)
        s.clamp(rod.frame(0), joint.frame(int(turned)), Pose.dx(-0.5))
        tip, above, seat = tip + x, rod.frame(0), Pose.dx(0.5)
    end = s.add(mse.Spherical("end"))
    s.clamp(above, end.frame(0), seat)
    s.clamp(s.ground, end.frame(1), Pose.dx(0.6 * count))
    return s, spins


def hanging(masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angles (n,) of the rods below the horizontal, and the pulls (n,) along them, from the balance of forces.

    The horizontal pull is the same everywhere; the vertical one at the middle of a rod is that at the end less the weights
    passed.
    """
    weight = 9.81 * masses
    passed = np.cumsum(weight) - 0.5 * weight

    def directions(x):
        pull = np.exp(x[0]) * weight.sum(), x[1] * weight.sum() - passed
        return np.arctan2(pull[1], pull[0]), np.hypot(*pull)

    def open_ends(x):
        angle, _ = directions(x)
        return np.cos(angle).mean() - 0.6, np.sin(angle).mean()

    found = root(open_ends, (-1.0, 0.5), tol=1e-15)
    assert np.abs(found.fun).max() < 1e-13
    return directions(found.x)


def sideways(masses: np.ndarray, pulls: np.ndarray) -> np.ndarray:
    """Frequencies (Hz) out of the plane, by the displacements y of the joints: ``N dy^2/2`` and ``m ybar^2/2 + J dy^2/2``."""
    n = len(masses)
    difference = np.eye(n, n - 1) - np.eye(n, n - 1, -1)
    mean = 0.5 * (np.eye(n, n - 1) + np.eye(n, n - 1, -1))
    stiffness = difference.T @ (pulls[:, None] * difference)
    mass = mean.T @ (masses[:, None] * mean) + THICK * difference.T @ difference
    return np.sqrt(sl.eigh(stiffness, mass, eigvals_only=True)) / (2 * np.pi)


@pytest.mark.slow
@pytest.mark.parametrize("count", [60, 300, 800])
def test_against_the_balance_of_forces(count):
    system, spins = rope(count, count)
    wp = system.find_working_point()
    assert len(wp.free) == spins == count and wp.stable
    # forces along free motions count as rounding up to 1e-13 of the pull, which is hundreds of rods' weight
    assert np.abs(wp.relative_residual).max() < 1e-12
    masses = np.array([system[f"rod{i}"].mass for i in range(count)])
    angles, pulls = hanging(masses)
    for i in (0, count // 3, count - 1):
        np.testing.assert_allclose(
            wp.poses[f"rod{i}.center"].U[:, 0], (np.cos(angles[i]), 0.0, -np.sin(angles[i])), atol=1e-12
        )
    modes = wp.linearize().modes(12)
    assert np.count_nonzero(modes.free) == spins and not modes.unstable.any()
    f, shapes = modes.frequencies_hz[spins:], modes.shapes[:, spins:]
    across = np.array([c.endswith(".y") for c in modes.coordinates])
    out = np.sum(shapes[across] ** 2, axis=0) > 1e-3 * np.sum(shapes**2, axis=0)
    assert 3 <= np.count_nonzero(out) <= 9
    np.testing.assert_allclose(f[out], sideways(masses, pulls)[: np.count_nonzero(out)], rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("count", "universal"), [(60, 0.0), (90, 0.5), (80, 0.9), (70, 0.7)])
def test_spins_are_told_from_slow_modes(monkeypatch, count, universal, turned):
    """The few lowest modes by Lanczos against all of them by a dense solution in independent coordinates."""
    system, spins = rope(count, count, universal=universal, turned=turned)
    wp = system.find_working_point()
    assert len(wp.free) == spins and wp.stable
    linear = wp.linearize()
    monkeypatch.setattr(SIZES, "dense_modes", 0)
    few = linear.modes(12)
    monkeypatch.setattr(SIZES, "dense_modes", 10_000)
    every = linear.modes()
    assert np.count_nonzero(few.free) == np.count_nonzero(every.free) == spins
    assert not few.unstable.any()
    np.testing.assert_allclose(few.frequencies_hz[spins:], every.frequencies_hz[spins : spins + 12], rtol=1e-10)
    np.testing.assert_allclose(few.shapes.T @ (linear.M @ few.shapes), np.eye(spins + 12), atol=1e-8)
    assert np.abs(linear.constraints[:, : linear.size] @ few.shapes).max() < 1e-9 * np.abs(few.shapes).max()


@pytest.mark.slow
def test_rest_takes_few_steps_and_no_search_for_spins(monkeypatch):
    """Longer ropes take more rounding, but hardly more steps; spins of single rods are known without a search."""
    solved, steps = solved_by_lanczos(monkeypatch), []
    for count in (30, 90):
        histories = []
        for seed in range(20):
            system, spins = rope(count, seed)
            wp = system.find_working_point()
            assert len(wp.free) == spins
            histories.append(wp.history)
        assert not solved
        assert np.count_nonzero(wp.linearize().modes(5).free) == spins
        assert sum(solved) < 100  # of five modes that swing, whatever the number of spins
        solved.clear()
        steps.append([len(history) for history in histories])
        # of 140 ropes of 30 to 300 rods none rejects more than one step
        assert np.quantile([sum(not step.accepted for step in history) for history in histories], 0.95) <= 1
    # median and largest measured: 13 and 13 steps for 30 rods, 14 and 14 for ninety
    for few in steps:
        assert np.median(few) <= 17 and np.quantile(few, 0.95) <= 18


@pytest.mark.slow
def test_rods_that_spin_together_come_back_as_near_as_rounding_tells():
    """They come back to where they were put, and no further than that: steps after the forces are balanced."""
    after = []
    for seed in range(20):
        system, spins = rope(90, seed, universal=0.5)
        wp = system.find_working_point()
        assert len(wp.free) == spins
        spinning = wp.free.vectors.toarray().reshape(90, 6, spins)
        assert np.abs(spinning[:, :3]).max() < 1e-11  # rods that spin stay where they are
        after.append(len(wp.history) - next(step.number for step in wp.history if step.residual < 1e-11))
    # median and 95 % of these twenty measured: 9.5 and 11.1 steps, one of them for the search beside the start
    assert np.median(after) <= 11 and np.quantile(after, 0.95) <= 13


def test_joints_that_hold_origins_do_not_couple_turns_to_displacements():
    """The reaction turns neither frame's axes, so that K of a rope has no entries beyond those of its single rods."""
    system, _ = rope(30, 1)
    linear = system.find_working_point().linearize()
    entries = linear.K.tocoo()
    body = np.array([c.split(".")[0] for c in linear.coordinates])
    assert np.all(body[entries.row] == body[entries.col])
    turns = np.array([c.rpartition(".")[2].startswith("a") for c in linear.coordinates])
    assert np.all(turns[entries.row] & turns[entries.col] | (entries.data == 0.0))
