"""State spaces with inputs that act by their integrals, as currents of sources do by charges.

An integral p, with ``p' = u``, is a state only where it acts itself: a constant charge of a source does nothing if all others can
follow it without a force.  States are counted from where the system rests at p, so that p is coupled to the motions that it
drives on and on, and to no others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg as sl

from ...linear.rate_inputs import Acting
from ...numerics.extended import solver
from ...numerics.precision import DEPENDENT
from .massless import Condensed

if TYPE_CHECKING:
    from .state_space import StateSpace, Terms


def rest_positions(
    c: Condensed, columns: np.ndarray, damp_d: np.ndarray, by_mass: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """States (s, k) at which the condensed equations rest at each of these displacements, and by what rates (s, k) they go on.

    Motions without stiffness stay where they are; forces along them are left.  ``damp_d`` is the inverse of the damping of d.
    """
    nr, push = len(c.sep.r), c.A0[:, columns]
    r, d = slice(0, nr), slice(nr, len(c.K))
    size = np.sqrt(np.maximum(np.abs(c.K).max(axis=0, initial=0.0), np.abs(c.K).max(axis=1, initial=0.0)))
    size[size == 0.0] = 1.0
    scaled, k = push / size[:, None], c.K / np.outer(size, size)
    left, stiff, right = np.linalg.svd(k)
    free = stiff <= DEPENDENT * stiff.max(initial=0.0)  # a soft motion among them only leaves more to the integral
    left, right = left[:, free], right[free]
    rest = solver(k + left @ right)(scaled) if scaled.size else scaled
    driven = right @ rest
    driven[np.abs(driven) <= DEPENDENT * (np.abs(left.T) @ np.abs(scaled))] = 0.0
    rest, taken = (rest - right.T @ (right @ rest)) / size[:, None], size[:, None] * (left @ driven)
    of_d = damp_d @ taken[d]
    of_r = by_mass(taken[r] - c.Lambda[r, d] @ of_d)
    zero = np.zeros_like(rest[r])
    return np.vstack([rest[r], zero, rest[d]]), np.vstack([zero, of_r, of_d])


def with_integrals(
    ss: StateSpace, terms: Terms, acting: Acting, names: Sequence[str], at_rest: tuple[np.ndarray, np.ndarray], rates: np.ndarray
) -> tuple[StateSpace, Terms]:  # fmt: skip
    """A state space, and its terms, of the named inputs, from one of what they act by.

    ``at_rest`` is :func:`rest_positions` of the integrals (s, k), and ``rates`` (o, k) are outputs by the inputs of these.
    """
    (static, on), integral = at_rest, acting.integral
    feed = terms.feed[:, integral]
    read = feed + terms.direct @ static + terms.rates @ on
    sizes = np.abs(feed) + np.abs(terms.direct) @ np.abs(static) + np.abs(terms.rates) @ np.abs(on)
    read[np.abs(read) <= DEPENDENT * sizes] = 0.0
    kept = np.flatnonzero(on.any(axis=0) | read.any(axis=0))
    n, m, count = len(ss.A), len(kept), len(names)

    def by_input(own: np.ndarray, of_integrals: np.ndarray) -> np.ndarray:
        both = np.empty((len(own), len(acting.of)))
        both[:, ~integral], both[:, integral] = own[:, ~integral], of_integrals
        return acting.added_up(both, count)

    def below(own: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        return np.vstack([own, np.zeros((m, own.shape[1])) if rows is None else rows])

    none = np.zeros_like(static)
    moved = ss.shift[:, integral] - static
    grow = by_input(np.zeros((m, len(acting.of))), np.eye(integral.sum())[kept])
    size = np.linalg.norm(ss.scaling[1] @ moved[:, kept], axis=0)
    size[size == 0.0] = 1.0
    of = np.flatnonzero(integral)[kept]
    out = replace(
        ss, A=below(np.hstack([ss.A, on[:, kept]]), np.zeros((m, n + m))), B=below(by_input(ss.B, moved), grow),
        C=np.hstack([ss.C, read[:, kept]]), D=by_input(ss.D, rates), shift=below(by_input(ss.shift, none)),
        states=(*ss.states, *(f"integral of {ss.inputs[k]}" for k in of)), inputs=tuple(names),
        input_units=tuple(ss.input_units[acting.of.tolist().index(k)] for k in range(count)), zeros=ss.zeros + m,
        scaling=(sl.block_diag(ss.scaling[0], np.diag(1.0 / size)), sl.block_diag(ss.scaling[1], np.diag(size))),
    )  # fmt: skip
    return out, terms._replace(
        static=below(by_input(terms.static, none)), extra=below(by_input(terms.extra, moved), grow),
        direct=np.hstack([terms.direct, (read - terms.rates @ on)[:, kept]]),
        rates=np.hstack([terms.rates, np.zeros((len(read), m))]), feed=by_input(terms.feed, rates - terms.rates @ moved),
    )  # fmt: skip
