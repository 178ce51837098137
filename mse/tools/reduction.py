"""Balanced truncation of state spaces by SLICOT (extra ``reduction``)."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import scipy.linalg as sl

from ..analysis.time.balanced import Balanced
from ..analysis.time.state_space import StateSpace
from ..errors import ModelError
from ..numerics.blas_threads import one_thread
from ..numerics.precision import NOTHING
from ..validation.arguments import number, whole
from ..validation.extras import needed

_ROUNDS = 20  # of evening out inputs and outputs, which settle in a few


@one_thread
def reduced(ss: StateSpace, order: int | None, error: float | None) -> StateSpace:
    """See :meth:`.StateSpace.reduced`."""
    who = f"{ss.name}: reduced()"
    if (order is None) == (error is None):
        raise ModelError(f"{who}: order is {order} and error is {error}; expected one of them; write reduced(order=20)")
    if not (ss.inputs and ss.outputs):
        raise ModelError(
            f"{who}: it has {len(ss.inputs)} inputs and {len(ss.outputs)} outputs; expected at least one of each, as it "
            "keeps the responses between them; name them in state_space(inputs=..., outputs=...)"
        )
    slycot = needed("slycot", "reduction", "balanced reductions")
    to, back, split = _parted(ss)
    a, b, c = back @ ss.A @ to, back @ ss.B, ss.C @ to
    kept, count = split, len(a) - split
    if not count:
        raise ModelError(
            f"{who}: none of its {kept} states decays, and what does not decay is kept; expected damping; give some, or keep the "
            "motions up to a frequency with state_space(up_to_hz=...)"
        )
    fade = slice(split, None)
    peak = _peaks(a[fade, fade], b[fade], c[:, fade])
    row, column = _even(peak)
    scaled = a[fade, fade], b[fade] * column, row[:, None] * c[:, fade]
    if order is not None:
        order = whole(who, "order", order, minimum=kept, maximum=len(a), remedy=f"{kept} states do not decay and stay")
    wanted = count if order is None else order - kept
    system = count, len(ss.inputs), len(ss.outputs), *scaled
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on orders beyond those of a minimal realization, which then is what is found
        sigma = slycot.ab09ad("C", "B", "N", *system, nr=count, tol=0.0)[-1]
        if error is not None:
            left = 2.0 * (sigma.sum() - np.append(0.0, np.cumsum(sigma)))
            wanted = int(np.argmax(left <= number(who, "error", error, above=0.0)))
        nr, ar, br, cr, _ = slycot.ab09ad("C", "B", "N", *system, nr=wanted, tol=0.0)
    bound = 2.0 * sigma[nr:].sum() / np.outer(row, column)
    size = kept + nr
    balanced = Balanced(ss.name, ss.inputs, ss.outputs, kept, len(a), sigma, int(nr), peak, bound)
    return replace(
        ss, A=sl.block_diag(a[:split, :split], ar[:nr, :nr]), B=np.vstack([b[:split], br[:nr] / column]),
        C=np.hstack([c[:, :split], cr[:, :nr] / row[:, None]]),
        states=(*(f"kept {k}" for k in range(kept)), *(f"balanced {k}" for k in range(nr))), with_mass=0,
        shift=np.zeros((size, len(ss.inputs))), scaling=(np.eye(size), np.eye(size)), left_out=None, balanced=balanced,
    )  # fmt: skip


def _parted(ss: StateSpace) -> tuple[np.ndarray, np.ndarray, int]:
    """A basis (s, s) in which motions that do not decay come first and know nothing of the others, its inverse, their number."""
    scaled = ss.scaled()[0]
    poles = np.linalg.eigvals(scaled)
    free = np.sort(np.abs(poles))[: ss.zeros].max(initial=0.0)

    def stays(re: float, im: float) -> bool:
        size = np.hypot(re, im)
        return bool(size <= free * (1.0 + NOTHING) or re >= -NOTHING * size)

    t, z, k = sl.schur(scaled, sort=stays)
    x = sl.solve_sylvester(t[:k, :k], -t[k:, k:], -t[:k, k:]) if 0 < k < len(t) else np.zeros((k, len(t) - k))
    to, back = np.eye(len(t)), np.eye(len(t))
    to[:k, k:], back[:k, k:] = x, -x
    return ss.scaling[0] @ z @ to, back @ z.T @ ss.scaling[1], k


def _peaks(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Largest responses (o, i) at the frequencies of the poles."""
    t, z = sl.schur(a, output="complex")
    b, c = z.conj().T @ b, c @ z
    out = np.zeros((len(c), b.shape[1]))
    for w in np.unique(np.abs(np.diag(t).imag)):
        out = np.maximum(out, np.abs(c @ sl.solve_triangular(1j * w * np.eye(len(t)) - t, b)))
    return out


def _even(peak: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factors of outputs (o,) and inputs (i,) by which the largest response of each is nearly 1, be it in m or rad."""
    column = np.ones(peak.shape[1])
    for _ in range(_ROUNDS):
        row = _inverse((peak * column).max(axis=1))
        column = _inverse((peak.T * row).max(axis=1))
    return row, column


def _inverse(largest: np.ndarray) -> np.ndarray:
    return np.divide(1.0, largest, out=np.ones_like(largest), where=largest > 0.0)
