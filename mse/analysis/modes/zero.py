"""Modes at exactly zero: motions without stiffness, as :mod:`mse.numerics.curvatures` decides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ...linear.linear_model import LinearModel
from ...linear.stiffness_parts import JoinedParts, ListedParts
from ...linear.zero_motions import body_groups, whole_bodies
from ...numerics.eigen import SOFT, graded
from ...numerics.null_motions import alone
from ...numerics.precision import EPS, SURE, UNPIVOTED, carries_mass, stiffness_noise
from ...numerics.sparse_tools import column_products, no_columns, symmetric_columns, weighted_squares


def beside(k: np.ndarray, m: np.ndarray, zero: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All eigenpairs of ``K x = w^2 M x``: exactly 0 for the motions ``zero`` (n, z), and the others separated from these."""
    w2, x = graded(k, m)
    if not zero.shape[1]:
        return w2, x
    inside, sizes, _ = np.linalg.svd(x.T @ (m @ zero), full_matrices=False)
    inside = inside[:, sizes > len(k) * EPS * sizes.max(initial=0.0)]  # the others have no mass
    count = inside.shape[1]
    # they are combinations of the softest modes, as many as they are; rounding mixes in a trace of others
    order = np.argsort(np.abs(w2), kind="stable")
    captured = np.cumsum(np.sum(inside[order] ** 2, axis=1))
    soft = np.abs(w2) < SOFT * np.abs(w2).max(initial=0.0)
    soft[order[: 1 + int(np.searchsorted(captured, count - SOFT))]] = True
    turn = np.linalg.svd(inside[soft])[0]
    still, (lowest, rest) = x[:, soft] @ turn[:, :count], graded(k, m, x[:, soft] @ turn[:, count:])
    return np.concatenate([np.zeros(count), lowest, w2[~soft]]), np.hstack([still, rest, x[:, ~soft]])


def zeroed(w2: np.ndarray, shapes: np.ndarray, model: LinearModel, known: int = 0, rounding: float = 0.0) -> np.ndarray:
    """w^2 (k,) found near a shift, set to exactly 0 for the model's zero-stiffness motions.

    ``known`` of these are not among the shapes (n, k), and no others are set to 0 instead.  ``rounding`` is the rounding of w^2
    by the shift.
    """
    nearest = np.argsort(np.abs(w2), kind="stable")[: model._curvatures.null.shape[1] - known]
    out = w2.copy()
    out[nearest[lost(w2[nearest], shapes[:, nearest], model) | (np.abs(w2[nearest]) <= rounding)]] = 0.0
    return out


def lost(stiffness: np.ndarray, shapes: np.ndarray, model: LinearModel) -> np.ndarray:
    """For which shapes (n, k) a stiffness (k,), computed with a shift, may be that of zero-stiffness motions."""
    return np.abs(stiffness) <= UNPIVOTED * weighted_squares(model._stiffness_noise, np.abs(shapes))


def uncertain(s: np.ndarray, shapes: np.ndarray, model: LinearModel) -> tuple[np.ndarray, np.ndarray]:
    """Possible change of the frequencies (k,) Hz of undamped modes by rounding of K, and which modes are undetermined.

    ``s`` (k,) are eigenvalues in 1/s, ``shapes`` (n, k) have unit modal mass.
    """
    rounding, size = weighted_squares(model._stiffness_noise, shapes), np.abs(s)
    doubtful = np.flatnonzero((size > 0.0) & (size**2 <= SURE * rounding))
    doubtful = doubtful[np.argsort(size[doubtful], kind="stable")][: model._curvatures.doubts]
    undetermined = np.zeros(len(s), dtype=bool)
    undetermined[doubtful] = True
    return (np.hypot(size, np.sqrt(rounding)) - size) / (2 * np.pi), undetermined


def terms_in_noise(model: LinearModel) -> float:
    """Ratio of the stiffness's possible error to rounding of its terms, at least 1."""
    if model._noise is None:
        return 1.0
    # the larger of both: a motion with hardly any stiffness has hardly any rounding of it
    whole, alone = (
        np.max(x / model.scale**2, initial=0.0) for x in (model._noise, replace(model, _noise=None)._stiffness_noise)
    )
    return max(1.0, float(whole / alone)) if alone else 1.0


def faked_stiffness(shapes: np.ndarray | sp.csc_matrix, model: LinearModel, terms: sp.csr_matrix) -> np.ndarray:
    """Rounding in the stiffness (m,) of motions (n, m), from ``terms`` (n, n), all positive, or from reactions."""
    faked = model.scale**2 * stiffness_noise(symmetric_columns(terms), body_groups(model), 1.0 / model.scale)
    if model._noise is not None:
        faked = np.maximum(faked, model._noise)
    return weighted_squares(faked, abs(shapes))


def single_motions(model: LinearModel) -> tuple[sp.csc_matrix, sp.csc_matrix]:
    """Motions without stiffness in which one body moves alone, such as spins, as columns.

    First those with mass: modes at exactly zero, with ``Z^T M Z = 1``.  Then unit vectors of those without mass, which are not
    modes and take part in none.  Motions that masses couple with each other are left out.
    """
    if not model._curvatures.null.shape[1]:
        return no_columns(model.size), no_columns(model.size)
    z = _of_single_bodies(model)
    weight = (z.T @ model.M @ z).tocoo()
    body = body_groups(model)[z.indices[z.indptr[:-1]]]
    coupled = body[weight.row] != body[weight.col]
    single = np.isin(body, body[weight.row[coupled]], invert=True)
    order = np.flatnonzero(single)[np.argsort(body[single], kind="stable")]
    z, body, weight = z[:, order], body[order], weight.tocsr()[order][:, order]
    z = (z @ _axes(weight, body)).tocsc()
    mass, terms = column_products(z, model.M @ z), column_products(abs(z), abs(model.M) @ abs(z))
    heavy = carries_mass(mass, terms)
    return (z[:, heavy] @ sp.diags(1.0 / np.sqrt(mass[heavy]))).tocsc(), z[:, ~heavy]


def _of_single_bodies(model: LinearModel) -> sp.csc_matrix:
    """Motions of unit length without stiffness that move one body each (n, m)."""
    found, n, bodies = model._curvatures, model.size, whole_bodies(model)
    if found.local or not bodies or not found.null.shape[1]:
        z = model.zero_motions[:, : found.local]
    else:  # for small models a basis is known that mixes them with others
        rows = found.null[: 6 * bodies].toarray().reshape(bodies, 6, -1)
        shares, axes = np.linalg.eigh(rows @ rows.transpose(0, 2, 1))
        body, which = np.nonzero(alone(shares))
        at = (6 * body[:, None] + np.arange(6)).ravel()
        values = axes[body, :, which].ravel() / model.scale[at]
        z = sp.csc_matrix((values, at, 6 * np.arange(len(body) + 1)), shape=(n, len(body)))
        z.eliminate_zeros()
        z = z[:, np.abs(column_products(z, model.K @ z)) <= weighted_squares(model._stiffness_noise, z)]
    z = (z @ sp.diags(1.0 / np.sqrt(weighted_squares(np.ones(n), z)))).tocsc()
    z.sort_indices()
    return z


def undamped(motions: sp.csc_matrix, model: LinearModel) -> sp.csc_matrix:
    """Those of the motions (n, m) that meet no damping except rounding of its terms."""
    met = np.abs(column_products(motions, model.symmetric.Lambda @ motions))
    if model.skew is not None:  # a skew part couples a motion with others, which may be damped
        met += np.sqrt(weighted_squares(np.ones(model.size), (model.gyroscopic @ motions).tocsc()))
    terms = symmetric_columns(abs(model.Lambda))
    rounding = model.scale**2 * stiffness_noise(terms, body_groups(model), 1.0 / model.scale)
    return motions[:, met <= weighted_squares(rounding, motions)]


def determined(model: LinearModel) -> LinearModel:
    """The model with a stiffness for single bodies' motions without stiffness, mass and damping; no mode takes part in them."""
    z = undamped(single_motions(model)[1], model)
    if not z.shape[1]:
        return model
    rows = sp.vstack([z, sp.csc_matrix((len(model.prescribed), z.shape[1]))], format="csr")
    stiffness = rows @ rows.T * np.abs(model.K.data).max(initial=1.0)
    added = ListedParts.of([(("massless motions", "held"), stiffness)], rows.shape[0])
    return replace(model, parts=JoinedParts(model.parts, added))


def body_stiffness(model: LinearModel) -> np.ndarray:
    """Largest diagonal entry of K (n,) on the body of each coordinate: N/m, converted by arms to N m."""
    body = body_groups(model)
    largest = np.zeros(body.max(initial=-1) + 1)
    np.maximum.at(largest, body, np.abs(model.K.diagonal()) / model.scale**2)
    return largest[body] * model.scale**2


def _axes(weight: sp.csr_matrix, body: np.ndarray) -> sp.csc_matrix:
    """Orthonormal combinations (m, m) of motions, each of one ``body`` (m,), that make their masses (m, m) diagonal."""
    first = np.flatnonzero(np.diff(body, prepend=-1))
    count = np.diff(first, append=len(body))
    rows, columns, values = ([np.zeros(0, dtype=t)] for t in (int, int, float))
    for size in np.unique(count):  # all bodies with the same number at once
        at = first[count == size][:, None] + np.arange(size)
        i, j = (np.repeat(at, size, axis=1).ravel(), np.tile(at, size).ravel())
        masses = np.asarray(weight[i, j]).reshape(-1, size, size)
        rows.append(i), columns.append(j), values.append(np.linalg.eigh(masses)[1].ravel())
    rows, columns, values = map(np.concatenate, (rows, columns, values))
    turn = sp.csc_matrix((values, (rows, columns)), shape=weight.shape)
    turn.eliminate_zeros()
    return turn
