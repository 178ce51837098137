"""Return along zero-stiffness motions: equilibria as near as possible to the initial poses."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..numerics.precision import NOTHING
from .equilibrium_test import RESIDUAL, balanced
from .merit_function import MeritFunction, Point
from .scales import STRAIGHT
from .step_methods import Solve

_MOST_RETURNS = 20  # steps back, which converge as the motions straighten
_NEWTON_STEPS = 8  # from beside an equilibrium back to it: each doubles the digits


def returned(merit: MeritFunction, point: Point, newton: Solve) -> Iterator[tuple[Point, float]]:
    """Equilibria from one towards the start along free motions, and the length (m) of the step to each.

    Nothing decides where along a free motion a body comes to rest, so that is not where the path of the search happened to
    leave it.
    """
    share, least = 1.0, np.inf
    reached = merit.residual(point)[0]
    enough = max(reached, min(4 * reached, RESIDUAL), 1e-3 * RESIDUAL)
    # without weight, loads are rounding themselves, and a residual relative to them says nothing
    by_rounding = merit.bears_nothing(point) or (reached > RESIDUAL and balanced(merit, point))

    def rests(there: Point) -> bool:
        return balanced(merit, there) if by_rounding else merit.residual(there)[0] <= enough

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
        if share == 1.0:
            if length > 0.9 * least:
                return  # all that is left is rounding of the motions themselves
            least = length
        while (there := _balanced(merit, merit.stepped(point, share * back, 2), rests, newton)) is None:
            share *= 0.25
            if share < 0.01:
                return
        point = there
        yield point, share * float(length)


def _balanced(merit: MeritFunction, point: Point, rests: Callable[[Point], bool], newton: Solve) -> Point | None:
    """A point that ``rests``, by a few Newton steps from one beside it, or None."""
    for _ in range(_NEWTON_STEPS):
        if not np.isfinite(point.energy):
            return None
        if rests(point):
            return point
        step = newton(merit, point, STRAIGHT * merit.size)
        point = merit.stepped(point, step.p, 2)
    return None
