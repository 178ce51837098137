"""Trees of bodies on joints of all kinds, tied across by springs that do not fit: valleys that stiff members bend."""

from __future__ import annotations

import numpy as np
import pytest
from counting import made_of

import mse
from mse import Pose
from mse.numerics.factor import Ordering
from mse.statics.merit_function import MeritFunction

G = 9.81
KINDS = ("Spherical", "Universal", "Revolute", "Revolute", "Cylindrical", "Prismatic")


def tree(
    seed: int,
    bodies: int,
    ties: int,
    *,
    kinds: tuple[str, ...] = KINDS,
    stiffness: tuple[float, float] = (2.0, 3.0),
    mass: float | None = None,
) -> mse.MSystem:
    """Rods on joints, each on one of the six before it, and ties between any two, up to 20 % too short or too long.

    ``stiffness`` are decades (N/m, N m) of springs in joints and of ties, ``mass`` decades (kg) on both sides of one.
    """
    rng = np.random.default_rng(seed)
    s = mse.MSystem("tree", gravity=(0, 0, -G))
    rods: list[mse.RigidBody] = []
    lengths: list[float] = []
    for i in range(bodies):
        parent = int(rng.integers(max(0, i - 6), i)) if i else None
        length = rng.uniform(0.3, 1)
        along = np.array([rng.normal() * 0.4, rng.normal() * 0.4, -1.0])
        along /= np.linalg.norm(along)
        m = rng.uniform(0.5, 2) if mass is None else 10 ** rng.uniform(-mass, mass)
        across = m * length**2 / 12
        inertia = (across * rng.uniform(0.3, 1), across, across)
        y = np.cross(rng.standard_normal(3), along)
        y /= np.linalg.norm(y)
        seat = np.zeros(3)
        if parent is not None:
            seat = rods[parent].at.o + rods[parent].at.U[:, 0] * lengths[parent] / 2
        at = Pose(seat + along * length / 2, np.column_stack([along, y, np.cross(along, y)]))
        rod = s.add(mse.RigidBody(f"rod{i}", mass=m, inertia=inertia, at=at))
        rods.append(rod)
        lengths.append(length)
        kind = str(rng.choice(kinds))
        k = 10 ** rng.uniform(*stiffness)
        axis = rng.standard_normal(3)
        options = {"axis": axis}
        if kind == "Spherical":
            options = {}
        elif kind == "Revolute" and rng.random() < 0.5:
            options["stiffness"] = k
        elif kind == "Universal":
            options = {"axis": (0, 1, 0), "second": (0, 0, 1)}
        elif kind == "Cylindrical":
            options["stiffness"] = {"displacement": k}
        elif kind == "Prismatic":
            options["stiffness"] = k
        joint = s.add(getattr(mse, kind)(f"joint{i}", **options))
        first, second = (0, 1) if rng.random() < 0.5 else (1, 0)
        if parent is None:
            s.clamp(s.ground, joint.frame(first), Pose(U=at.U))
        else:
            own = Pose.dx(lengths[parent] / 2) @ Pose(U=rods[parent].at.U.T @ at.U)
            s.clamp(rods[parent].frame(0), joint.frame(first), own)
        s.clamp(rod.frame(0), joint.frame(second), Pose.dx(-length / 2))
    for e in range(ties):
        a, b = rng.choice(bodies, 2, replace=False)
        distance = np.linalg.norm(rods[a].at.o - rods[b].at.o)
        tie = s.add(
            mse.Spring(f"tie{e}", length=distance * rng.uniform(0.8, 1.2), stiffness=10 ** rng.uniform(*stiffness))
        )
        s.clamp(rods[a].frame(0), tie.frame(0))
        s.clamp(rods[b].frame(0), tie.frame(1))
    return s


@pytest.mark.rounding
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3])
def test_search_follows_valleys_between_stiff_ties(seed):
    """Ties a fifth too long or too short, of up to 1e8 N/m, beside weights of some newtons: at first all energy is theirs."""
    wp = tree(seed, 52, 3, kinds=("Spherical", "Universal", "Prismatic"), stiffness=(3.0, 8.0)).find_working_point()
    assert wp.stable and np.all(np.abs(wp.residual) <= wp.residual_bound)
    assert np.abs(wp.relative_residual).max() < 1e-7  # the bound is 6 to 50 times what is left here
    assert wp.history[0].energy > 2 * abs(wp.energy)


@pytest.mark.slow
def test_valleys_of_small_trees_take_some_dozens_of_steps():
    """Half of sixteen measured take 26 steps at most, nine of ten 43."""
    steps = []
    for seed in range(16):
        wp = tree(seed, 8, 3, kinds=("Spherical", "Universal", "Prismatic"), stiffness=(3.0, 8.0)).find_working_point()
        steps.append(len(wp.history))
    assert np.median(steps) < 40 and np.quantile(steps, 0.9) < 60
    # 439 in all, 428 and 437 with the kernels of other processors; with turns that count for a third or three times as much
    # (scales._ARM) 451 and 458, for a tenth or ten times as much 500 and 580
    assert sum(steps) < 515


@pytest.mark.slow
def test_forces_left_in_stiff_ties_do_not_mislead_steps():
    """Nine of ten take 36 steps at most; 139 where ties keep forces that bend the energy of the next step."""
    steps = []
    for seed in range(12):
        rng = np.random.default_rng(seed + 777)
        bodies, ties = int(rng.integers(4, 15)), int(rng.integers(1, 5))
        s = tree(seed, bodies, ties, kinds=("Spherical", "Universal", "Prismatic"), stiffness=(3.0, 8.0))
        steps.append(len(s.find_working_point().history))
    assert np.quantile(steps, 0.9) < 100


@pytest.mark.slow
def test_members_give_way_with_their_stiffness_after_turns(monkeypatch):
    """Springs and ties of 10 to 1e9 N/m: half of eight take 26 steps at most; 48 with the stiffness before the step alone.

    A step has forces evaluated 4.5 times; 6.1 times where that serves until it fails.
    """
    steps, evaluated = [], []
    evaluate = MeritFunction.evaluated
    monkeypatch.setattr(
        MeritFunction, "evaluated", lambda *given, **named: (evaluated.append(1), evaluate(*given, **named))[1]
    )
    for seed in range(8):
        s = tree(seed, 10, 8, kinds=("Cylindrical", "Prismatic", "Universal"), stiffness=(1.0, 9.0))
        wp = s.find_working_point()
        assert wp.stable and np.all(np.abs(wp.residual) <= wp.residual_bound)
        steps.append(len(wp.history))
    assert np.median(steps) < 40 and np.quantile(steps, 0.9) < 55
    assert len(evaluated) < 5.4 * sum(steps)


@pytest.mark.rounding
@pytest.mark.slow
def test_search_ends_where_only_rounding_falls():
    """Grams beside tonnes: rounding of the heavy ones' reactions bends the light ones' motions downwards."""
    steps = []
    for seed in (5, 8):
        wp = tree(seed, 60, 10, mass=3.0).find_working_point()
        assert wp.stable and np.abs(wp.relative_residual).max() < 1e-10
        steps.append(len(wp.history))
    assert np.mean(steps) < 130  # of twenty measured the median takes 85, 95 % take 124, the longest 130


@pytest.mark.slow
def test_one_ordering_serves_several_steps(monkeypatch):
    """Slopes of joints have zeros here and there, others in each step; orderings that have met some of them fit the rest."""
    made = made_of(monkeypatch, Ordering)
    steps = sum(len(tree(seed, 60, 10).find_working_point().history) for seed in (5, 8))
    # orderings for each entry of the history, those of parts with free motions too: 0.45 here; seeds 0 to 19 find 0.40 in the
    # median, the worst 0.8
    assert 0 < len(made) < 0.6 * steps


@pytest.mark.rounding
@pytest.mark.slow
def test_search_ends_where_no_better_balance_is_left():
    """Positions in double precision balance springs of 1e9 N/m to a microgram only."""
    wp = tree(1, 52, 3, stiffness=(1.0, 9.0)).find_working_point()
    assert wp.stable
    assert np.all(np.abs(wp.residual) <= wp.residual_bound)
