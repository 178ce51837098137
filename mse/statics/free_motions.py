"""Way back along zero-stiffness motions to the equilibrium that is nearest to the initial poses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from ..kernels.rotations import rotation_vector
from ..model.configuration import State
from ..model.evaluation import Evaluation
from ..numerics.factor import Factor
from ..numerics.precision import NOTHING
from .equilibrium import POLISHING_STEPS, balanced, beyond_rounding
from .merit_function import MeritFunction, Point
from .scales import STRAIGHT
from .step_methods import Solve

# Steps back: the longest way known takes 8, for five bodies that spin one below the other
# (tests/statics/test_free_motions.py::test_few_steps_lead_back_to_where_spins_are_nearest_to_the_start passes with 4).
_MOST_RETURNS = 20
_NEWTON_STEPS = 8  # from near an equilibrium back to it: each doubles the digits
# Of a step back: it is quartered down to this; with 1e-5 and 0.3 the tests of tests/statics/test_free_motions.py and of random
# mechanisms pass.
_LEAST_SHARE = 0.01
# Of the step before: a longer Newton step is rounding of the motions.  With a tenth of it
# tests/statics/test_free_motions.py::test_few_steps_lead_back_to_where_spins_are_nearest_to_the_start fails, with 2 none.
_SHORTER = 0.5


def returned(merit: MeritFunction, point: Point, newton: Solve) -> Iterator[tuple[Point, float]]:
    """Equilibria from one towards the start along free motions, and the length (m) of the step to each.

    Along a free motion a body may rest anywhere.  The path of the search should not decide that, so the equilibrium nearest to
    the start is taken: no free motion changes ``|d|^2/2`` there, half of the square of the displacement.
    """
    last = None
    for there in _toward_start(merit, point, newton):
        if last is not None:
            yield last
        last = there
    if last is not None:
        yield _refined(merit, last[0], newton), last[1]


def _toward_start(merit: MeritFunction, point: Point, newton: Solve) -> Iterator[tuple[Point, float]]:
    """The same by Newton's method, with bodies moving on screws; each balances, but not yet as well as rounding allows."""
    before = None
    for _ in range(_MOST_RETURNS):
        null = merit.stability(point).null
        if not null.shape[1]:
            return
        d = _displacement(merit, point.state)
        slope = null.T @ (d * merit.scale)
        if np.linalg.norm(null @ slope, np.inf) <= NOTHING * merit.outermost:
            return
        back, bends = _shortest_way(merit, point.state, d, null, slope)
        length = float(np.linalg.norm(back, np.inf))
        there, share = _nearer(merit, point, back, float(np.linalg.norm(d * merit.scale)), newton)
        if there is None:
            return
        point = there
        yield point, share * length
        if not bends or share < 1.0:
            before = None
        elif length * length <= NOTHING * merit.outermost * (before or merit.size):
            return  # the next step would be as much shorter again
        elif before is not None and length > _SHORTER * before:
            return  # only rounding of the motions is left
        else:
            before = length


def _shortest_way(
    merit: MeritFunction, state: State, d: np.ndarray, null: sp.csc_matrix, slope: np.ndarray
) -> tuple[np.ndarray, bool]:
    """The step (n searched,) along free motions, orthonormal columns of ``null`` (n, f), to the place nearest to the start.

    d (n,) is the displacement since the start, ``slope`` (f,) the slope of ``|d|^2/2``.  Also returns whether it is Newton's
    step; if ``|d|^2/2`` does not bend upwards along all free motions, the step goes down the slope.
    """
    on, by = merit.searched, sp.diags_array(1.0 / merit.scale) @ null
    bend = Factor((by.T @ (_distance_bend(merit, state, d) @ by)).tocsc())
    step = -(by @ (bend.solve(slope) if bend.positive_definite else slope))
    return step[on] * merit.metric, bend.positive_definite


def _distance_bend(merit: MeritFunction, state: State, d: np.ndarray) -> sp.csc_matrix:
    """The second derivative (n, n) of ``|d|^2/2`` along steps on screws, for a displacement d (n,) since the start.

    Across the axis of a turn r, the second derivative of ``|r|^2/2`` is ``(|r|/2) cot(|r|/2)``.
    """
    bodies, square = merit.topology.units - 1, merit.scale**2
    weights = square[: 6 * bodies].reshape(-1, 6)
    turn = d[: 6 * bodies].reshape(-1, 6)[:, 3:]
    angle = np.linalg.norm(turn, axis=1)
    across = np.divide(0.5 * angle, np.tan(0.5 * angle), out=np.ones(bodies), where=angle > 0.0)
    axis = np.divide(turn, angle[:, None], out=np.zeros_like(turn), where=angle[:, None] > 0.0)
    blocks = np.zeros((bodies, 6, 6))
    blocks[:, :3, :3] = np.eye(3)
    blocks[:, 3:, 3:] = across[:, None, None] * np.eye(3)
    blocks[:, 3:, 3:] += (1.0 - across)[:, None, None] * axis[:, :, None] * axis[:, None, :]
    blocks *= weights[:, :, None]
    straight = sp.bsr_array((blocks, np.arange(bodies), np.arange(bodies + 1)), shape=(6 * bodies, 6 * bodies))
    straight = sp.block_diag([straight, sp.diags_array(square[6 * bodies :])], format="csc")
    gradient = (d * square)[: 6 * bodies].reshape(-1, 6)
    return straight + merit.assembly.carriers.bend_on_screws(state.o, gradient, len(d))


def _nearer(
    merit: MeritFunction, point: Point, step: np.ndarray, far: float, newton: Solve
) -> tuple[Point | None, float]:
    """An equilibrium nearer to the start, by a share of a step (n searched,) from ``point``; and the share.

    ``point`` is ``far`` (m) from the start.  If long steps do not end in balance, free motions bend otherwise than on screws.
    """
    share, length = 1.0, float(np.linalg.norm(step, np.inf))
    while share >= _LEAST_SHARE:
        there = merit.stepped(point, share * step, 2, by=Evaluation.carried_on_screws)
        if np.linalg.norm(_displacement(merit, there.state) * merit.scale) <= (1.0 + NOTHING) * far:
            there = _balanced(merit, there, newton, 0 if share * length > STRAIGHT * merit.size else _NEWTON_STEPS)
            if there is not None:
                return there, share
        share *= 0.25
    return None, share


def _displacement(merit: MeritFunction, state: State) -> np.ndarray:
    """The displacement (n,) since the start, turns as rotation vectors."""
    then = merit.start
    turned = [rotation_vector(a @ b.T) for a, b in zip(state.U[1:], then.U[1:], strict=True)]
    six = np.hstack([state.o[1:] - then.o[1:], np.reshape(turned, (-1, 3))])
    return np.concatenate([six.ravel(), state.q - then.q])


def _balanced(merit: MeritFunction, point: Point, newton: Solve, steps: int) -> Point | None:
    """A point in equilibrium, by a few Newton steps from a nearby point, or None."""
    for left in range(steps, -1, -1):
        if not np.isfinite(point.energy):
            return None
        if balanced(merit, point):
            return point
        if left:
            point = _after(merit, point, newton)
    return None


def _refined(merit: MeritFunction, point: Point, newton: Solve) -> Point:
    """The equilibrium, balanced as well as rounding allows by a few more Newton steps."""
    left = beyond_rounding(merit, point)
    for _ in range(POLISHING_STEPS):
        if left <= 1.0:
            break
        there = _after(merit, point, newton)
        if not (np.isfinite(there.energy) and beyond_rounding(merit, there) <= max(0.5 * left, 1.0)):
            break
        point, left = there, beyond_rounding(merit, there)
    return point


def _after(merit: MeritFunction, point: Point, newton: Solve) -> Point:
    return merit.stepped(point, newton(merit, point, STRAIGHT * merit.size).p, 2)
