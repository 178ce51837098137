"""Assembly of joints: moves a state to a near one that satisfies all constraints, where a search can begin."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..errors import ModelError
from ..numerics.precision import EPS
from ..numerics.tangent import Tangent
from .evaluation import Evaluation

# Relative to the largest position: a constraint with a larger residual is violated.  With 0.01 and 100 times this
# tests/statics/test_joint_statics.py::test_hinges_whose_places_are_rounded_to_eleven_digits_fit fails.
OPEN = 1e-10
# rad in one step of assembling joints; with 0.01 times this a motor does not arrive
# (tests/statics/test_joint_statics.py::test_a_motor_holds_a_pendulum_at_an_angle).
_TURN = 0.5
CLOSED = 16.0 * EPS  # relative to the largest position: residual of constraints satisfied to rounding
_ATTEMPTS = 16  # starts that are tried before joints count as contradicting each other


def put_together(here: Evaluation) -> Evaluation:
    """A state near the given one that satisfies all constraints; if none is found, a ModelError names the joints."""
    if not here.assembly.constraint_count:
        return here
    _refuse_undefined(here)
    measure = here.measure
    if np.abs(here.distances[0]).max() <= OPEN * measure.outermost:
        return restored(here) or here
    # far from a solution rotations count with their displacement; the search counts them less, which would rotate bodies far
    here = here.measured(replace(measure, metric=measure.reach * measure.metric))
    best: tuple[float, Evaluation] | None = None
    rng = np.random.default_rng(0)
    for attempt in range(_ATTEMPTS):
        # an assembly that is stuck starts again from larger and larger perturbations
        start = here if best is None or attempt % 2 else best[1]
        if attempt:
            start = start.moved(0.03 * (1 + attempt) * measure.size * rng.standard_normal(len(measure.moving)))
        found = nearer(start)
        distance = float(np.abs(found.distances[0]).max())
        if best is None or distance < best[0]:
            best = distance, found
        if distance <= OPEN * measure.outermost:
            return found.measured(measure)
    raise ModelError(_contradiction(best[1]))


def nearer(here: Evaluation) -> Evaluation:
    """Damped Gauss-Newton steps on the sum of squared mismatches, while it decreases."""
    residual, length = here.distances
    cost, slow = float(residual @ residual), 0
    for _ in range(500):
        if np.abs(residual).max() <= OPEN * here.measure.outermost:
            return restored(here) or here
        step = here.tangent().restoring(residual)
        # slopes are valid for rotations well below a radian
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

    Memories are updated at the end, and along each correction that rotates bodies far.
    """
    last, outermost = np.inf, here.measure.outermost
    for _ in range(30):
        residual, _ = here.distances
        distance = float(np.abs(residual).max())
        if distance <= CLOSED * outermost or (distance <= OPEN * outermost and distance > 0.3 * last):
            return here.followed()
        if not distance < np.inf or distance > 2.0 * last:
            return None
        if tangent is None or distance > 0.1 * last:
            tangent = here.tangent()
        step = tangent.restoring(residual)
        if np.abs(step).max(initial=0.0) > here.measure.size:
            return None
        here, last = _displaced(here, step), distance
    return None


def _displaced(here: Evaluation, step: np.ndarray) -> Evaluation:
    """The state after a step; if it rotates bodies far, it is divided, and memories are updated after each part."""
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
        f"{here.assembly.topology.label}: its joints cannot be put together: in the best of {_ATTEMPTS} attempts {shown}{more} "
        "(m or rad); expected constraints that can all hold at once; correct the poses they are clamped at, their lengths or "
        "motors' positions, remove one of them, or start nearer to a state in which all of them hold (at=...)"
    )
