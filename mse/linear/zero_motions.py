"""Motions of a linear model without clearly positive stiffness, and how much rounding may have changed the stiffness."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

from ..elements.coordinates import flowing
from ..numerics.curvatures import Curvatures, classify
from ..numerics.factor import UnsymmetricFactor
from ..numerics.null_motions import in_echelon, local_null, within
from ..numerics.options import SIZES
from ..numerics.precision import (
    DEPENDENT,
    SURE,
    UNPIVOTED,
    cleared,
    groups,
    independent,
    left_by_rounding,
    positive,
    stiffness_noise,
)
from ..numerics.read_only import read_only
from ..numerics.sparse_tools import add_diagonal, empty, scaled_both, start_vector, symmetric_columns, weighted_squares
from ..numerics.tangent import Tangent, normalized

if TYPE_CHECKING:
    from .linear_model import LinearModel

_FIRST = 12  # number of zero-stiffness motions sought first; doubled until all are found


def curvatures(model: LinearModel) -> Curvatures:
    """Free, unstable and undetermined motions of a model, in scaled coordinates, sorted as at a working point."""
    if model.skew is not None:
        if model.skew.circulates:
            return _of_unsymmetric(model)
        return model.symmetric._curvatures
    n = model.size
    allowed = None
    if model.constraints.shape[0]:
        slopes = model.constraints[:, :n] @ sp.diags(1.0 / model.scale, format="csr")
        allowed = Tangent(normalized(slopes, np.zeros(slopes.shape[0]))[0], model._factors)
    k = scaled_both(symmetric_columns(model.K), 1.0 / model.scale)
    return classify(k, model._stiffness_noise / model.scale**2, whole_bodies(model), allowed, model._factors)


def divided(model: LinearModel) -> tuple[sp.csc_matrix, sp.csc_matrix, int]:
    """Zero-stiffness motions of a model, scaled: those of charges and other flowing quantities only (n, f), and others (n, m).

    Also how many of the others, at the front, move one body each.  A flowing quantity exerts no force; only its rate does.
    """
    found = model._curvatures
    if not found.null.shape[1] or not (inside := flowing(model.coordinates)).any():
        return sp.csc_matrix((model.size, 0)), found.null, found.local
    return within(found.null, found.local, inside)


def flows(model: LinearModel) -> np.ndarray:
    """Zero-stiffness motions (n, f) of charges and other flowing quantities only."""
    return divided(model)[0].toarray() / model.scale[:, None]


def of_rates_alone(model: LinearModel) -> sp.csr_matrix:
    """What takes (n, n) from all equations those that have rates alone, as "nothing flows into the input of an amplifier".

    It is the equation of an effort that has no rates itself.  Its coordinates stay where they are, or follow what is prescribed,
    so it holds positions, as a constraint does.
    """
    n = model.size
    if model.skew is None:
        return empty(n, n)
    inputs = abs(model.drive) + abs(model.drive_rate)
    driven = [abs(x[:n, n:]) @ inputs for x in (model.full_mass, model.full_stiffness)]
    others = [model.M, model.K, model.force[:n], *driven, model.Lambda.T, model.constraints[:, :n].T]
    none = sum(np.asarray(abs(x).sum(axis=1)).ravel() for x in others) == 0.0
    some = np.asarray(abs(model.Lambda).sum(axis=1)).ravel() > 0.0
    alone = np.flatnonzero(none & some)
    return sp.csr_matrix((np.ones(len(alone)), (alone, alone)), shape=(n, n))


def of_flows(model: LinearModel, shapes: np.ndarray) -> np.ndarray:
    """Which shapes (n, k) move only charges and other flowing coordinates (k,)."""
    inside, sizes = flowing(model.coordinates), np.abs(shapes) * model.scale[:, None]
    return np.linalg.norm(sizes[~inside], axis=0) <= DEPENDENT * np.linalg.norm(sizes, axis=0)


def _of_unsymmetric(model: LinearModel) -> Curvatures:
    """Free motions of a stiffness with a circulatory part: those without any force, since signs of curvatures decide nothing."""
    n = model.size
    unit = 1.0 / np.sqrt(positive(model._stiffness_noise / model.scale**2))
    k = scaled_both(scaled_both(model.K.tocsc(), 1.0 / model.scale), unit)
    still = of_rates_alone(model)
    still = still[still.diagonal() > 0.0]
    constraints = model.constraints[:, :n]
    # what constraints add to equations, and what may be left in those that hold positions
    pushed = sp.vstack([constraints @ sp.diags(1.0 / model.scale), still], format="csr")
    slopes = (sp.vstack([constraints, still @ model.Lambda]) @ sp.diags(1.0 / model.scale)).tocsr()
    # charges and entropies flow in as many ways as a network has meshes, and forces at rest need not be semi-simple
    if n > (SIZES.dense_eigenpairs if flowing(model.coordinates).any() else SIZES.dense):
        rows = tuple(_normalized(x @ sp.diags(unit)) for x in (pushed, slopes))
        return replace(Curvatures.none(n), null=_sparse_null(model, k, rows, unit))
    left, basis = (_left_by(x, unit) for x in (pushed, slopes))
    _, sizes, motions = np.linalg.svd(left.T @ k.toarray() @ basis)
    # the smallest singular values have the largest relative errors
    rounding = max(SURE, left_by_rounding(n) * sizes.max(initial=0.0))
    null = unit[:, None] * (basis @ motions[sizes <= rounding].T)
    return replace(Curvatures.none(n), null=sp.csc_matrix(cleared(np.linalg.qr(null)[0])))


def _normalized(rows: sp.sparray) -> sp.csr_matrix:
    return normalized(rows.tocsr(), np.zeros(rows.shape[0]))[0]


def _left_by(rows: sp.csr_matrix, unit: np.ndarray) -> np.ndarray:
    """Motions (n, m) that rows (c, n) leave, in coordinates divided by ``unit`` (n,).

    Rows that differ only in coordinates of small units become dependent there.  Motions are then found before, as in
    :mod:`..numerics.curvatures`.
    """
    if not rows.shape[0]:
        return np.eye(rows.shape[1])
    plain = _normalized(rows).toarray()
    found = sl.null_space(_normalized(rows @ sp.diags(unit)).toarray(), rcond=DEPENDENT)
    if found.shape[1] == rows.shape[1] - np.count_nonzero(independent(np.linalg.svd(plain, compute_uv=False))):
        return found
    found = cleared(in_echelon(cleared(sl.null_space(plain, rcond=DEPENDENT)), unit)) / unit[:, None]
    return found / np.linalg.norm(found, axis=0)


def _sparse_null(
    model: LinearModel, k: sp.csc_matrix, slopes: tuple[sp.csr_matrix, sp.csr_matrix], unit: np.ndarray
) -> sp.csc_matrix:
    """Free motions (n, m) of a large model with stiffness k (n, n) in units of its noise.

    ``slopes`` are those (c, n) along which constraints act, and those that they hold at zero.

    Motions of single bodies are found first, then eigenvectors at zero.  A factor with a shift separates these from stiff
    motions.
    """
    (pushed, held), n = slopes, k.shape[0]
    count = held.shape[0]
    plain = sp.diags(1.0 / unit)
    known = plain @ local_null((sp.vstack([k, held]) @ plain).tocsc(), whole_bodies(model))
    known = known @ sp.diags(1.0 / np.sqrt(weighted_squares(np.ones(n), known)))
    push = (k @ known).tocsc()
    z = np.linalg.qr(known.tocsc()[:, weighted_squares(np.ones(n), push) <= SURE**2].toarray())[0]
    shifted = add_diagonal(k, np.full(n, -UNPIVOTED))
    if count:
        shifted = sp.bmat([[shifted, pushed.T], [held, None]], format="csc")
    factor = UnsymmetricFactor(shifted.tocsc())

    def solved(x: np.ndarray) -> np.ndarray:
        """Solutions for columns (n, m), with known motions removed."""
        x = x.reshape(n, -1)
        x = factor.solve(np.vstack([x, np.zeros((count, x.shape[1]))]))[:n]
        return x - z @ (z.T @ x)

    operator = LinearOperator((n, n), matvec=solved, matmat=solved, dtype=float)
    near, ask = np.zeros((n, 0)), _FIRST
    while ask < n - 1:
        try:
            nu, vectors = eigs(operator, k=ask, which="LM", v0=solved(start_vector(n)).ravel())
        except ArpackNoConvergence as stopped:
            # the rest are stiff motions, which are close together when none is near zero
            nu, vectors = stopped.eigenvalues, stopped.eigenvectors
        near = vectors[:, np.abs(1.0 / nu + UNPIVOTED) <= SURE]
        if near.shape[1] < ask:
            break
        ask *= 2
    if near.shape[1]:
        near = solved(solved(np.hstack([near.real, near.imag])))  # removes what is left of stiff motions
        near, sizes, _ = np.linalg.svd(near, full_matrices=False)
        near = near[:, independent(sizes)]
        # for a motion without stiffness the solution is the motion divided by the shift
        _, sizes, turn = np.linalg.svd(near + UNPIVOTED * solved(near), full_matrices=False)
        near = near @ turn[UNPIVOTED * sizes <= SURE].T
    return sp.csc_matrix(cleared(np.linalg.qr(unit[:, None] * np.hstack([z, near]))[0]))


def noise(model: LinearModel) -> np.ndarray:
    """See :attr:`.LinearModel._stiffness_noise`."""
    if model._noise is not None:
        return model._noise
    terms = symmetric_columns(uncanceled(model))
    return read_only(model.scale**2 * stiffness_noise(terms, body_groups(model), 1.0 / model.scale))


def uncanceled(model: LinearModel) -> sp.csr_matrix:
    """Sum of the absolute values of the entries of all parts of K (n, n)."""
    return model._on_free(model.all_parts._uncanceled())


def whole_bodies(model: LinearModel) -> int:
    """How many bodies have all six coordinates, at the front."""
    first = model.bodies[: model.size // 6 * 6].reshape(-1, 6)
    whole = (first[:, 0] >= 0) & np.all(first == first[:, :1], axis=1)
    return len(whole) if whole.all() else int(np.argmin(whole))


def body_groups(model: LinearModel) -> np.ndarray:
    """Group number (n,) of each coordinate: one group per body, one for every other coordinate."""
    alone = model.bodies.max(initial=-1) + 1 + groups(0, model.size)
    return np.where(model.bodies < 0, alone, model.bodies)
