"""Which frequencies are zero: those whose stiffness is the rounding of terms that cancel."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ...linear.linear_model import LinearModel
from ...numerics.eigen import eigen
from ...numerics.null_motions import local_null
from ...numerics.sparse_tools import absolute_product, column_products, weighted_squares

_ZERO = 2e-14  # of the terms that cancel in it: stiffness that counts as zero
_BESIDE = 2e-2  # of the stiffest coordinate of a body: counts as canceling in each of them
_NOTHING = 1e-24  # of the largest w^2 and stiffness: none at all, not even terms that cancel


def zeroed(
    w2: np.ndarray, shapes: np.ndarray | sp.csc_matrix, model: LinearModel, terms: sp.csr_matrix | None = None
) -> np.ndarray:
    """Eigenvalues with those set to exactly 0 that are rounding of ``terms`` (K by default) canceling in ``phi^T K phi``."""
    k, n = model.K if terms is None else terms, model.size
    size, stiffest = abs(shapes), _stiffest(model, np.abs(k.diagonal()))
    nothing = np.abs(w2) <= _NOTHING * np.maximum(np.abs(w2).max(initial=0.0), weighted_squares(stiffest, size))
    # a cheap upper bound of the canceling terms settles most modes
    most = absolute_product(k, np.ones(n)) + _BESIDE * stiffest
    faked = 0.0 if model.noise is None else weighted_squares(model.noise, size)
    doubtful = np.flatnonzero(np.abs(w2) <= _ZERO * weighted_squares(most, size) + faked)
    if not len(doubtful):
        return np.where(nothing, 0.0, w2)
    out = np.where(nothing | (np.abs(w2) <= faked), 0.0, w2)
    out[doubtful[np.abs(w2[doubtful]) <= _ZERO * _canceling(size[:, doubtful], model, abs(k))]] = 0.0
    return out


def _canceling(size: np.ndarray | sp.csc_matrix, model: LinearModel, terms: sp.csr_matrix) -> np.ndarray:
    """Measure (m,) of the rounding of the stiffness of motions, given by magnitudes (n, m)."""
    # rounding of one coordinate is measured by the stiffest one of its body, too
    beside = _BESIDE * _stiffest(model, terms.diagonal())
    return column_products(size, terms @ size) + weighted_squares(beside, size)


def _stiffest(model: LinearModel, stiffness: np.ndarray) -> np.ndarray:
    """The largest stiffness (n,) beside each coordinate on its body, of those given (n,): N/m, turned by arms into N m."""
    body = np.where(model.bodies < 0, model.bodies.max(initial=-1) + 1 + np.arange(model.size), model.bodies)
    largest = np.zeros(body.max(initial=-1) + 1)
    np.maximum.at(largest, body, stiffness / model.scale**2)
    return largest[body] * model.scale**2


def faked_stiffness(shapes: np.ndarray | sp.csc_matrix, model: LinearModel, terms: sp.csr_matrix) -> np.ndarray:
    """Up to which stiffness (m,) of motions (n, m) is the rounding of ``terms`` (n, n), all positive, or of reactions."""
    size = abs(shapes)
    noise = 0.0 if model.noise is None else weighted_squares(model.noise, size)
    return _ZERO * _canceling(size, model, terms) + noise


def uncanceled(model: LinearModel) -> sp.csr_matrix:
    """Sum of the absolute values of all entries of K's parts (n, n)."""
    _, rows, cols, values = model.parts.entries()
    on = (rows < model.size) & (cols < model.size)
    return sp.csr_matrix((np.abs(values[on]), (rows[on], cols[on])), shape=(model.size, model.size))


def single_motions(model: LinearModel, constraints: sp.csr_matrix) -> sp.csc_matrix:
    """Modes at exactly zero in which one body moves alone, such as spins, and ``constraints x = 0``: columns Z, ``Z^T M Z = 1``.

    None where masses couple them.
    """
    z = local_null(sp.vstack([model.K / (abs(model.K).max() or 1.0), constraints]).tocsc(), _bodies(model))
    weight = (z.T @ model.M @ z).tocoo()
    body = z.indices[z.indptr[:-1]] // 6
    if np.any(body[weight.row] != body[weight.col]):
        return z[:, :0]
    weight, first = weight.tocsr(), np.flatnonzero(np.diff(body, prepend=-1))
    count = np.diff(first, append=len(body))
    turn = sp.diags(_inverse_roots(weight.diagonal(), model)).tolil()
    for a, n in zip(first[count > 1], count[count > 1], strict=True):
        mass, axes = eigen(weight[a : a + n, a : a + n].toarray())
        turn[a : a + n, a : a + n] = axes * _inverse_roots(mass, model)
    z = (z @ turn.tocsc()).tocsc()
    z = z[:, np.flatnonzero(np.diff(z.indptr))]
    return z[:, zeroed(column_products(z, model.K @ z), z, model) == 0.0]


def _inverse_roots(mass: np.ndarray, model: LinearModel) -> np.ndarray:
    """``1/sqrt(m)``, and 0 where there is no mass."""
    heavy = mass > 1e-12 * model.M.diagonal().max(initial=0.0)
    return np.divide(1.0, np.sqrt(np.abs(mass)), out=np.zeros(len(mass)), where=heavy)


def _bodies(model: LinearModel) -> int:
    """How many bodies the coordinates begin with, six for each."""
    first = model.bodies[: model.size // 6 * 6].reshape(-1, 6)
    whole = (first[:, 0] >= 0) & np.all(first == first[:, :1], axis=1)
    return len(whole) if whole.all() else int(np.argmin(whole))
