"""Assembly of joints: a search begins in the state near the given one that satisfies all constraints."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError
from ..model.configuration import State
from ..numerics.precision import EPS
from ..numerics.tangent import Tangent
from .scales import reach

if TYPE_CHECKING:
    from .merit_function import MeritFunction

# Of the largest position: a constraint with a larger residual is violated.  With a hundredth and a hundred times of it
# tests/statics/test_joint_statics.py::test_hinges_whose_places_are_rounded_to_eleven_digits_fit fails.
OPEN = 1e-10
# rad, in one step of assembling joints; with a hundredth of it a motor does not arrive
# (tests/statics/test_joint_statics.py::test_a_motor_holds_a_pendulum_at_an_angle).
_TURN = 0.5
_CLOSED = 16.0 * EPS  # of the largest position: residual of constraints to rounding of positions
_ATTEMPTS = 16  # starts from which joints are assembled, before they count as contradicting each other


def put_together(merit: MeritFunction, state: State) -> State:
    """A state near the given one that satisfies all constraints; if there is none, a ModelError names the joints."""
    if not merit.assembly.constraint_count:
        return state
    _refuse_undefined(merit, state)
    if np.abs(merit.constraints(state)[1]).max() <= OPEN * merit.outermost:
        return restored(merit, state) or state
    # from afar a turn counts as its displacement; steps of a search count turns less, and would turn bodies far
    far = reach(merit.searched, merit.metric, merit.topology.units - 1, merit.size)
    merit = replace(merit, metric=far * merit.metric)
    best: tuple[float, State] | None = None
    rng = np.random.default_rng(0)
    for attempt in range(_ATTEMPTS):
        # a stuck assembly restarts from perturbations of growing size
        start = state if best is None or attempt % 2 else best[1]
        if attempt:
            start = merit.moved(start, 0.03 * (1 + attempt) * merit.size * rng.standard_normal(len(merit.searched)))
        found = _nearer(merit, start)
        distance = float(np.abs(merit.constraints(found)[1]).max())
        if best is None or distance < best[0]:
            best = distance, found
        if distance <= OPEN * merit.outermost:
            return found
    raise ModelError(_contradiction(merit, best[1]))


def _nearer(merit: MeritFunction, state: State) -> State:
    """Damped Gauss-Newton steps on the sum of squared mismatches, as long as it decreases."""
    slopes, residual, length = merit.constraints(state)
    cost, slow = float(residual @ residual), 0
    for _ in range(500):
        if np.abs(residual).max() <= OPEN * merit.outermost:
            return restored(merit, state) or state
        step = Tangent(slopes, merit.assembly.factors).restoring(residual)
        # slopes are right for rotations well below a radian
        turn = float(np.abs(_turns(merit, step)).max(initial=0.0))
        longest = max(turn / _TURN, float(np.linalg.norm(step, np.inf)) / merit.size)
        share = min(1.0, 1.0 / longest) if longest > 0.0 else 0.0
        for _ in range(12):
            trial = merit.moved(state, share * step)
            there = merit.constraints(trial)
            now = float(np.sum((there[1] * there[2] / length) ** 2))
            if now < cost:
                break
            share *= 0.5
        else:
            return state
        slow = slow + 1 if now > 0.995 * cost else 0
        if slow > 10:
            return state
        state, (slopes, residual, length) = trial, there
        cost = float(residual @ residual)
    return state


def restored(merit: MeritFunction, state: State, tangent: Tangent | None = None) -> State | None:
    """The nearest state that satisfies all constraints, or None if Newton's method does not converge.

    Memories follow to the end, and along each correction that turns bodies far.
    """
    last = np.inf
    for _ in range(30):
        residual, _ = merit.distances(state)
        distance = float(np.abs(residual).max())
        if distance <= _CLOSED * merit.outermost or (distance <= OPEN * merit.outermost and distance > 0.3 * last):
            return merit.remembered(state)
        if not distance < np.inf or distance > 2.0 * last:
            return None
        if tangent is None or distance > 0.1 * last:
            tangent = Tangent(merit.constraints(state)[0], merit.assembly.factors)
        step = tangent.restoring(residual)
        if np.abs(step).max() > merit.size:
            return None
        state, last = _displaced(merit, state, step), distance
    return None


def _displaced(merit: MeritFunction, state: State, step: np.ndarray) -> State:
    """The state displaced by a step.  If that turns bodies far, the step is divided, and memories follow each part."""
    turn = float(np.abs(_turns(merit, step)).max(initial=0.0))
    if not turn > _TURN:  # or not a number
        return merit.displaced(state, step)
    shares = math.ceil(turn / _TURN)
    for _ in range(shares):
        state = merit.moved(state, step / shares)
    return state


def _refuse_undefined(merit: MeritFunction, state: State) -> None:
    slopes, residual = merit.slopes_at(state)
    bad = np.flatnonzero(~np.isfinite(residual))
    if not len(bad):
        entries = slopes.tocoo()
        bad = np.unique(entries.row[~np.isfinite(entries.data)])
    if len(bad):
        label = merit.assembly.constraint_labels()[int(bad[0])]
        raise ModelError(
            f"{label}: its constraint or a derivative of it is not a finite number at the initial poses of its frames; "
            "expected finite residuals wherever its frames are; correct the function, or start elsewhere (at=...)"
        )


def _contradiction(merit: MeritFunction, state: State) -> str:
    _, residual, _ = merit.constraints(state)
    raw = merit.slopes_at(state)[1]
    labels = merit.assembly.constraint_labels()
    worst: dict[str, float] = {}
    size: dict[str, float] = {}
    for label, distance, value in zip(labels, np.abs(residual), np.abs(raw), strict=True):
        worst[label] = max(worst.get(label, 0.0), distance)
        size[label] = max(size.get(label, 0.0), value)
    order = sorted((x for x in worst if worst[x] > 1e-3 * max(worst.values())), key=lambda x: -worst[x])
    shown = ", ".join(f"{x} misses by {size[x]:.3g}" for x in order[:6])
    more = f" and {len(order) - 6} more" if len(order) > 6 else ""
    return (
        f"{merit.label}: its joints cannot be put together: as near as {_ATTEMPTS} starts came, {shown}{more} (m or rad); "
        "expected constraints that can all hold at once; correct the poses they are clamped at, their lengths or motors' "
        "positions, remove one of them, or start nearer to where all of them hold (at=...)"
    )


def _turns(merit: MeritFunction, x: np.ndarray) -> np.ndarray:
    """The rotations (rad) of bodies in a step of the searched coordinates."""
    turning = (merit.searched < 6 * (merit.topology.units - 1)) & (merit.searched % 6 >= 3)
    return x[turning] / merit.metric[turning]
