"""Modes at exactly zero: those of the motions that have no stiffness, as :mod:`mse.numerics.curvatures` decides."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ...linear.linear_model import LinearModel
from ...linear.zero_motions import body_groups, noise, whole_bodies
from ...numerics.eigen import SOFT, eigen, graded
from ...numerics.null_motions import local_null
from ...numerics.precision import EPS, SURE, stiffness_noise
from ...numerics.sparse_tools import column_products, scaled_both, symmetric_columns, weighted_squares

# Noises up to which a w^2 from a factor with a shift may be that of a zero-stiffness motion (mse.numerics.curvatures._SOUGHT)
_SHIFTED = 1e3


def beside(k: np.ndarray, m: np.ndarray, zero: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All eigenpairs of ``K x = w^2 M x``: exactly 0 for the motions ``zero`` (n, z), the others apart from these."""
    w2, x = graded(k, m)
    if not zero.shape[1]:
        return w2, x
    inside, sizes, _ = np.linalg.svd(x.T @ (m @ zero), full_matrices=False)
    inside = inside[:, sizes > len(k) * EPS * sizes.max(initial=0.0)]  # the others have no mass
    count = inside.shape[1]
    # they are among the softest: as many of these as they consist of, but for rounding, which mixes a trace of others in
    order = np.argsort(np.abs(w2), kind="stable")
    captured = np.cumsum(np.sum(inside[order] ** 2, axis=1))
    soft = np.abs(w2) < SOFT * np.abs(w2).max(initial=0.0)
    soft[order[: 1 + int(np.searchsorted(captured, count - SOFT))]] = True
    turn = np.linalg.svd(inside[soft])[0]
    still, (lowest, rest) = x[:, soft] @ turn[:, :count], graded(k, m, x[:, soft] @ turn[:, count:])
    return np.concatenate([np.zeros(count), lowest, w2[~soft]]), np.hstack([still, rest, x[:, ~soft]])


def zeroed(w2: np.ndarray, shapes: np.ndarray, model: LinearModel) -> np.ndarray:
    """w^2 (k,) found near a shift, with those of the model's zero-stiffness motions set to exactly 0."""
    nearest = np.argsort(np.abs(w2), kind="stable")[: model.curvatures.null.shape[1]]
    out = w2.copy()
    zero = np.abs(w2[nearest]) <= _SHIFTED * weighted_squares(noise(model), shapes[:, nearest])
    out[nearest[zero]] = 0.0
    return out


def uncertain(s: np.ndarray, shapes: np.ndarray, model: LinearModel) -> tuple[np.ndarray, np.ndarray]:
    """By how much rounding of K may have changed the frequencies (k,) Hz of undamped modes, and which are not determined.

    ``s`` (k,) are eigenvalues in 1/s, ``shapes`` (n, k) have unit modal mass.
    """
    rounding, size = weighted_squares(noise(model), shapes), np.abs(s)
    doubtful = np.flatnonzero((size > 0.0) & (size**2 <= SURE * rounding))
    doubtful = doubtful[np.argsort(size[doubtful], kind="stable")][: model.curvatures.undetermined.shape[1]]
    undetermined = np.zeros(len(s), dtype=bool)
    undetermined[doubtful] = True
    return (np.hypot(size, np.sqrt(rounding)) - size) / (2 * np.pi), undetermined


def faked_stiffness(shapes: np.ndarray | sp.csc_matrix, model: LinearModel, terms: sp.csr_matrix) -> np.ndarray:
    """Up to which stiffness (m,) of motions (n, m) is the rounding of ``terms`` (n, n), all positive, or of reactions."""
    faked = model.scale**2 * stiffness_noise(
        scaled_both(symmetric_columns(terms), 1.0 / model.scale), body_groups(model)
    )
    if model.noise is not None:
        faked = np.maximum(faked, model.noise)
    return weighted_squares(faked, abs(shapes))


def single_motions(model: LinearModel, constraints: sp.csr_matrix) -> sp.csc_matrix:
    """Modes at exactly zero in which one body moves alone, such as spins, and ``constraints x = 0``: columns Z, ``Z^T M Z = 1``.

    None where masses couple them.
    """
    z = local_null(sp.vstack([model.K / (abs(model.K).max() or 1.0), constraints]).tocsc(), whole_bodies(model))
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
    return z[:, np.abs(column_products(z, model.K @ z)) <= weighted_squares(noise(model), z)]


def _inverse_roots(mass: np.ndarray, model: LinearModel) -> np.ndarray:
    """``1/sqrt(m)``, and 0 where there is no mass."""
    heavy = mass > 1e-12 * model.M.diagonal().max(initial=0.0)
    return np.divide(1.0, np.sqrt(np.abs(mass)), out=np.zeros(len(mass)), where=heavy)
