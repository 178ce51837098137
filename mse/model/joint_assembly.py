"""Assembly of joints: a search begins in the state near the given one that satisfies all constraints."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..errors import ModelError
from ..numerics.precision import EPS
from ..numerics.tangent import Tangent
from .evaluation import Evaluation

# Of the largest position: a constraint with a larger residual is violated.  With a hundredth and a hundred times of it
# tests/statics/test_joint_statics.py::test_hinges_whose_places_are_rounded_to_eleven_digits_fit fails.
OPEN = 1e-10
# rad, in one step of assembling joints; with a hundredth of it a motor does not arrive
# (tests/statics/test_joint_statics.py::test_a_motor_holds_a_pendulum_at_an_angle).
_TURN = 0.5
_CLOSED = 16.0 * EPS  # of the largest position: residual of constraints to rounding of positions
_ATTEMPTS = 16  # starts from which joints are assembled, before they count as contradicting each other


def put_together(here: Evaluation) -> Evaluation:
    """A state near the given one that satisfies all constraints; if there is none, a ModelError names the joints."""
    if not here.assembly.constraint_count:
        return here
    _refuse_undefined(here)
    measure = here.measure
    if np.abs(here.distances[0]).max() <= OPEN * measure.outermost:
        return restored(here) or here
    # from afar a turn counts as its displacement; steps of a search count turns less, and would turn bodies far
    here = here.measured(replace(measure, metric=measure.reach * measure.metric))
    best: tuple[float, Evaluation] | None = None
    rng = np.random.default_rng(0)
    for attempt in range(_ATTEMPTS):
        # a stuck assembly restarts from perturbations of growing size
        start = here if best is None or attempt % 2 else best[1]
        if attempt:
            start = start.moved(0.03 * (1 + attempt) * measure.size * rng.standard_normal(len(measure.moving)))
        found = _nearer(start)
        distance = float(np.abs(found.distances[0]).max())
        if best is None or distance < best[0]:
            best = distance, found
        if distance <= OPEN * measure.outermost:
            return found.measured(measure)
    raise ModelError(_contradiction(best[1]))


def _nearer(here: Evaluation) -> Evaluation:
    """Damped Gauss-Newton steps on the sum of squared mismatches, as long as it decreases."""
    residual, length = here.distances
    cost, slow = float(residual @ residual), 0
    for _ in range(500):
        if np.abs(residual).max() <= OPEN * here.measure.outermost:
            return restored(here) or here
        step = here.tangent().restoring(residual)
        # slopes are right for rotations well below a radian
        turn = float(np.abs(here.measure.turns(step)).max(initial=0.0))
        longest = max(turn / _TURN, float(np.linalg.norm(step, np.inf)) / here.measure.size)
        share = min(1.0, 1.0 / longest) if longest > 0.0 else 0.0
        for _ in range(12):
            trial = here.moved(share * step)
            distance, own = trial.distances
            now = float(np.sum((distance * own / length) ** 2))
            if now < cost:
                break
            share *= 0.5
        else:
            return here
        slow = slow + 1 if now > 0.995 * cost else 0
        if slow > 10:
            return here
        here, (residual, length) = trial, (distance, own)
        cost = float(residual @ residual)
    return here


def restored(here: Evaluation, tangent: Tangent | None = None) -> Evaluation | None:
    """The nearest state that satisfies all constraints, or None if Newton's method does not converge.

    Memories follow to the end, and along each correction that turns bodies far.
    """
    last, outermost = np.inf, here.measure.outermost
    for _ in range(30):
        residual, _ = here.distances
        distance = float(np.abs(residual).max())
        if distance <= _CLOSED * outermost or (distance <= OPEN * outermost and distance > 0.3 * last):
            return here.followed()
        if not distance < np.inf or distance > 2.0 * last:
            return None
        if tangent is None or distance > 0.1 * last:
            tangent = here.tangent()
        step = tangent.restoring(residual)
        if np.abs(step).max() > here.measure.size:
            return None
        here, last = _displaced(here, step), distance
    return None


def _displaced(here: Evaluation, step: np.ndarray) -> Evaluation:
    """The state displaced by a step.  If that turns bodies far, the step is divided, and memories follow each part."""
    turn = float(np.abs(here.measure.turns(step)).max(initial=0.0))
    if not turn > _TURN:  # or not a number
        return here.displaced(step)
    shares = math.ceil(turn / _TURN)
    for _ in range(shares):
        here = here.moved(step / shares)
    return here


def _refuse_undefined(here: Evaluation) -> None:
    bad = np.flatnonzero(~np.isfinite(here.residual))
    if not len(bad):
        entries = here.slopes.tocoo()
        bad = np.unique(entries.row[~np.isfinite(entries.data)])
    if len(bad):
        label = here.assembly.constraint_labels()[int(bad[0])]
        raise ModelError(
            f"{label}: its constraint or a derivative of it is not a finite number at the initial poses of its frames; "
            "expected finite residuals wherever its frames are; correct the function, or start elsewhere (at=...)"
        )


def _contradiction(here: Evaluation) -> str:
    labels = here.assembly.constraint_labels()
    worst: dict[str, float] = {}
    size: dict[str, float] = {}
    for label, distance, value in zip(labels, np.abs(here.distances[0]), np.abs(here.residual), strict=True):
        worst[label] = max(worst.get(label, 0.0), distance)
        size[label] = max(size.get(label, 0.0), value)
    order = sorted((x for x in worst if worst[x] > 1e-3 * max(worst.values())), key=lambda x: -worst[x])
    shown = ", ".join(f"{x} misses by {size[x]:.3g}" for x in order[:6])
    more = f" and {len(order) - 6} more" if len(order) > 6 else ""
    return (
        f"{here.assembly.topology.label}: its joints cannot be put together: as near as {_ATTEMPTS} starts came, {shown}{more} "
        "(m or rad); expected constraints that can all hold at once; correct the poses they are clamped at, their lengths or "
        "motors' positions, remove one of them, or start nearer to where all of them hold (at=...)"
    )
