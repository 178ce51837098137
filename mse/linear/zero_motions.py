"""Motions that the stiffness of a linear model does not clearly hold, and what rounding may have changed in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from ..elements.coordinates import flowing
from ..numerics.curvatures import Curvatures, classify
from ..numerics.null_motions import within
from ..numerics.options import SIZES
from ..numerics.precision import DEPENDENT, cleared, groups, positive, stiffness_noise
from ..numerics.sparse_tools import scaled_both, symmetric_columns
from ..numerics.tangent import Tangent, normalized
from .linear_model import LinearModel


def curvatures(model: LinearModel) -> Curvatures:
    """What the motions of a model are, in coordinates times their scale, as statics sorts those of a working point."""
    if model.skew is not None:
        if model.skew.circulates:
            return _of_unsymmetric(model)
        return model.symmetric.curvatures
    n = model.size
    allowed = None
    if model.constraints.shape[0]:
        slopes = model.constraints[:, :n] @ sp.diags(1.0 / model.scale, format="csr")
        allowed = Tangent(normalized(slopes, np.zeros(slopes.shape[0]))[0], model.factors)
    k = scaled_both(symmetric_columns(model.K), 1.0 / model.scale)
    return classify(k, noise(model) / model.scale**2, whole_bodies(model), allowed, model.factors)


def divided(model: LinearModel) -> tuple[sp.csc_matrix, sp.csc_matrix, int]:
    """Zero-stiffness motions of a model, scaled: flows of charges and the like alone (n, f), and all others (n, m).

    With them goes how many of the first others move one body each.  What flows exerts nothing; only its rates do.
    """
    found = model.curvatures
    if not found.null.shape[1] or not (inside := flowing(model.coordinates)).any():
        return found.null[:, :0], found.null, found.local
    return within(found.null, found.local, inside)


def flows(model: LinearModel) -> np.ndarray:
    """Zero-stiffness motions (n, f) of charges and others that flow alone."""
    return divided(model)[0].toarray() / model.scale[:, None]


def of_flows(model: LinearModel, shapes: np.ndarray) -> np.ndarray:
    """Which shapes (n, k) are those of charges and others that flow alone (k,)."""
    inside, sizes = flowing(model.coordinates), np.abs(shapes) * model.scale[:, None]
    return np.linalg.norm(sizes[~inside], axis=0) <= DEPENDENT * np.linalg.norm(sizes, axis=0)


def _of_unsymmetric(model: LinearModel) -> Curvatures:
    """Motions that a stiffness with a circulatory part leaves without any force; the signs of its curvatures decide nothing.

    Large models are asked for those that neither the symmetric nor the circulatory part meets.
    """
    n, even = model.size, model.symmetric.curvatures
    unit = 1.0 / np.sqrt(positive(noise(model) / model.scale**2))
    none = Curvatures.none(n)
    k = scaled_both(model.K.tocsc(), 1.0 / model.scale)
    if n <= SIZES.dense_eigenpairs:
        slopes = (model.constraints[:, :n] @ sp.diags(unit / model.scale)).toarray()
        basis = sl.null_space(slopes, rcond=DEPENDENT) if len(slopes) else np.eye(n)
        _, sizes, motions = np.linalg.svd(basis.T @ (unit[:, None] * k.toarray() * unit) @ basis)
        null = unit[:, None] * (basis @ motions[sizes <= 1.0].T)
        null = cleared(np.linalg.qr(null)[0])
    else:
        found = even.null.toarray()
        pushed = unit[:, None] * (k @ found)
        turn, sizes, _ = np.linalg.svd(pushed.T @ pushed)
        null = found @ turn[:, sizes <= 1.0]
    return replace(none, null=sp.csc_matrix(null))


def noise(model: LinearModel) -> np.ndarray:
    """By how much rounding may have changed the stiffness of each coordinate (n,): that of its working point, or of K's parts."""
    if model.noise is not None:
        return model.noise
    terms = scaled_both(symmetric_columns(uncanceled(model)), 1.0 / model.scale)
    return model.scale**2 * stiffness_noise(terms, body_groups(model))


def uncanceled(model: LinearModel) -> sp.csr_matrix:
    """Sum of the absolute values of all entries of K's parts (n, n)."""
    _, rows, cols, values = model.all_parts.entries()
    on = (rows < model.size) & (cols < model.size)
    return sp.csr_matrix((np.abs(values[on]), (rows[on], cols[on])), shape=(model.size, model.size))


def whole_bodies(model: LinearModel) -> int:
    """How many bodies the coordinates begin with, six for each."""
    first = model.bodies[: model.size // 6 * 6].reshape(-1, 6)
    whole = (first[:, 0] >= 0) & np.all(first == first[:, :1], axis=1)
    return len(whole) if whole.all() else int(np.argmin(whole))


def body_groups(model: LinearModel) -> np.ndarray:
    """Numbers (n,) of what coordinates move: bodies, and each of the others on its own."""
    alone = model.bodies.max(initial=-1) + 1 + groups(0, model.size)
    return np.where(model.bodies < 0, alone, model.bodies)
