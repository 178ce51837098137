"""Return along zero-stiffness motions: equilibria as near as possible to the initial poses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..numerics.precision import NOTHING
from .equilibrium_test import POLISHING_STEPS, balanced, beyond_rounding
from .merit_function import MeritFunction, Point
from .scales import STRAIGHT
from .step_methods import Solve

_MOST_RETURNS = 20  # steps back
_NEWTON_STEPS = 8  # from beside an equilibrium back to it: each doubles the digits


def returned(merit: MeritFunction, point: Point, newton: Solve) -> Iterator[tuple[Point, float]]:
    """Equilibria from one towards the start along free motions, and the length (m) of the step to each.

    Nothing decides where along a free motion a body comes to rest, so that is not where the path of the search happened to
    leave it.  Free motions turn along the way, so that steps along them would leave a constant share of it: how the rest changes
    by a step tells where there is none (Anderson's mixing; H. Walker, P. Ni, SIAM J. Numer. Anal. 49 (2011) 1715).
    """
    last = None
    for there in _toward_start(merit, point, newton):
        if last is not None:
            yield last
        last = there
    if last is not None:
        yield _refined(merit, last[0], newton), last[1]


def _toward_start(merit: MeritFunction, point: Point, newton: Solve) -> Iterator[tuple[Point, float]]:
    """The same, each balanced, if not yet as well as rounding allows."""
    share, least, mixed = 1.0, np.inf, False
    last: tuple[np.ndarray, np.ndarray] | None = None  # what was left before a step, and the step
    for _ in range(_MOST_RETURNS):
        null = merit.stability(point).null
        if not null.shape[1]:
            return
        back = -(null @ (null.T @ (merit.moved_since_start(point.state) * merit.scale)))[merit.searched]
        back *= merit.metric / merit.scale[merit.searched]
        length = np.linalg.norm(back, np.inf)
        if length <= NOTHING * merit.outermost:
            return
        share = min(1.0, 2.0 * share, STRAIGHT * merit.size / length)
        stalls = share == 1.0 and length > 0.9 * least
        if stalls and not mixed:
            return  # all that is left is rounding of the motions themselves
        if share == 1.0:
            least = min(least, length)
        step = back if last is None or stalls or share < 1.0 else _mixed(back, *last)
        mixed = step is not back
        while (there := _balanced(merit, merit.stepped(point, share * step, 2), newton)) is None:
            share *= 0.25
            if share < 0.01:
                return
        point, last = there, (back, share * step)
        yield point, share * float(np.linalg.norm(step, np.inf))


def _mixed(left: np.ndarray, before: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The step (n,) that should leave nothing, where a ``step`` left this of what was ``before``; none longer than that."""
    change = left - before
    moved = float(np.linalg.norm(change))
    if moved == 0.0:
        return left
    mixed = left - (left @ change / moved**2) * (change + step)
    return mixed if np.linalg.norm(mixed) <= np.linalg.norm(step) else left


def _balanced(merit: MeritFunction, point: Point, newton: Solve) -> Point | None:
    """A point in equilibrium, by a few Newton steps from one beside it, or None."""
    for _ in range(_NEWTON_STEPS):
        if not np.isfinite(point.energy):
            return None
        if balanced(merit, point):
            return point
        point = _after(merit, point, newton)
    return None


def _refined(merit: MeritFunction, point: Point, newton: Solve) -> Point:
    """The point where an equilibrium balances as well as rounding allows, by a few Newton steps from there."""
    left = beyond_rounding(merit, point)
    for _ in range(POLISHING_STEPS):
        if left <= 1.0:
            break
        there = _after(merit, point, newton)
        if not (np.isfinite(there.energy) and beyond_rounding(merit, there) < 0.5 * left):
            break
        point, left = there, beyond_rounding(merit, there)
    return point


def _after(merit: MeritFunction, point: Point, newton: Solve) -> Point:
    return merit.stepped(point, newton(merit, point, STRAIGHT * merit.size).p, 2)
