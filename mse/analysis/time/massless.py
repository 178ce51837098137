"""Exact separation of coordinates without mass: r with mass, d without mass but damped, k without either.

Laws without energy may have a rate of one coordinate in the equation of another, as the flow of heat is in that of a temperature.
Equations are separated as coordinates are then, by null spaces from the left.

An equation of rates alone, such as "nothing flows into the input of an amplifier", is integrated: its coordinates stay where they
are, or follow what is prescribed.  One of them is given up for it, and the equation of that one decides the effort that keeps it
there, such as the voltage of a coil with inductance at that input.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ...errors import ModelError
from ...linear.independent import independent
from ...linear.linear_model import LinearModel
from ...linear.rate_inputs import acting
from ...linear.zero_motions import of_rates_alone
from ...numerics.blas_threads import one_thread
from ...numerics.eigen import eigen
from ...numerics.options import SIZES
from ...numerics.precision import DEPENDENT, EPS, NOTHING, left_by_rounding
from ...numerics.recent import Recent
from ...numerics.sparse_tools import empty, identity
from .improper import refuse_push, remaining


@dataclass(frozen=True, eq=False)
class Separation:
    """``q = T (r, d, k) + P w`` with M = diag(M_rr, 0, 0) and no rates of k; in ``W^T`` times the equations, the last have none
    of d.  Coordinates that are given up follow prescribed displacements w (l,) by P.

    Each new coordinate keeps the name of an old one; ``r``, ``d``, ``k`` are their numbers in the old order.
    """

    T: sp.csr_matrix
    P: sp.csr_matrix
    W: sp.csr_matrix
    r: np.ndarray
    d: np.ndarray
    k: np.ndarray
    integrated: sp.csr_matrix  # (n, n), which takes the equations that are integrated from all


def range_and_null(a: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray, sp.csr_matrix]:
    """Coordinates that carry a positive semi-definite matrix, the others, and columns (n, others) that span its null space.

    Works on the connected blocks of a, so that null vectors stay local.
    """
    n = a.shape[0]
    diagonal = a.diagonal()
    if np.all(diagonal > 0) and n <= SIZES.dense and _definite(a.toarray(), diagonal):
        return np.arange(n), np.zeros(0, dtype=int), empty(n, 0)
    _, label = connected_components(abs(a), directed=False)
    keep, drop = list(np.flatnonzero(diagonal > 0)), list(np.flatnonzero(diagonal <= 0))
    rows, cols, values = [], [], []
    order = np.argsort(label, kind="stable")
    for block in np.split(order, np.flatnonzero(np.diff(label[order])) + 1) if n else []:
        block = block[diagonal[block] > 0]
        if len(block) < 2:
            continue
        s = 1.0 / np.sqrt(diagonal[block])
        dense = a[block][:, block].toarray() * s * s[:, None]
        _, pivot, rank, _ = sl.lapack.dpstrf(dense, tol=left_by_rounding(len(block)), lower=1)
        if rank == len(block):
            continue
        pivot = pivot - 1
        first, rest = pivot[:rank], pivot[rank:]
        inverse = np.linalg.inv(dense[np.ix_(first, first)])
        x = _without_errors(-inverse @ dense[np.ix_(first, rest)], inverse, s[first][:, None] / s[rest])
        for j, c in enumerate(rest):
            column = block[c]
            keep.remove(column)
            drop.append(column)
            rows += list(block[first])
            cols += [column] * rank
            values += list(x[:, j])
    keep, drop = np.array(sorted(keep), dtype=int), np.array(sorted(drop), dtype=int)
    full = sp.csr_matrix((values, (rows, cols)), shape=(n, n)) + sp.identity(n)
    return keep, drop, full.tocsc()[:, drop].tocsr()


def _definite(a: np.ndarray, diagonal: np.ndarray) -> bool:
    """Whether all pivots of a symmetric matrix are above rounding, so that no coordinate is massless."""
    s = 1.0 / np.sqrt(diagonal)
    _, _, rank, _ = sl.lapack.dpstrf(a * s * s[:, None], tol=left_by_rounding(len(a)), lower=1)
    return rank == len(a)


def separate(model: LinearModel) -> Separation:
    """Find r, d and k of a model; ModelError names coordinates that have neither mass, damping nor stiffness."""
    return _SEPARATIONS(model, lambda: _separation(model))


_SEPARATIONS = Recent(4)  # a question of stability, all modes and a state space need one


def _separation(model: LinearModel) -> Separation:
    n = model.size
    integrated, given_up, resting, follow = _integrated(model)
    mass, moving = model.M, identity(n)
    if len(given_up):
        mass = _where_terms_remain(resting.T, mass, resting)
        moving = sp.diags_array(1.0 - np.isin(np.arange(n), given_up), format="csr")
    r, s, null_m = range_and_null((moving @ mass @ moving).tocsr() if len(given_up) else mass)
    if not len(s):
        none = np.zeros(0, dtype=int)
        return Separation(identity(n), follow, identity(n), r, none, none, integrated)
    rates = model.symmetric.Lambda if model.skew is None else model.symmetric.Lambda + model.gyroscopic
    # the columns for r are plain unit vectors: q_r = r - M_rr^-1 M_rs s
    null_w = _where_terms_remain(resting, null_m - _pushed(mass, r, s, given_up))
    null_m, rates = _where_terms_remain(resting, null_m), rates - integrated @ rates
    damping = (_where_terms_remain(null_w.T, rates, null_m) @ moving[s][:, s]).tocsr()
    in_d, in_k, null_l = range_and_null(damping) if model.skew is None else _range_and_null_of_any(damping)
    rows_d, left = (in_d, null_l) if model.skew is None else _range_and_null_of_any(damping.T.tocsr())[::2]
    e_r = resting.tocsc()[:, r]
    times = _where_terms_remain if _compares_rounding(model) else operator.matmul
    t, w = (
        sp.hstack([e_r, x.tocsc()[:, of_d], times(x, null)], format="csr")
        for x, of_d, null in ((null_m, in_d, null_l), (null_w, rows_d, left))
    )
    out = Separation(t, follow, w, r, s[in_d], s[in_k], integrated)
    last = slice(len(r) + len(in_d), n)
    _refuse_free(model, out, t.tocsc()[:, last], w.tocsc()[:, last])
    return out


def _integrated(model: LinearModel) -> tuple[sp.csr_matrix, np.ndarray, sp.csr_matrix, sp.csr_matrix]:
    """What takes (n, n) from all equations those of rates alone, as many coordinates given up for them, and columns (n, n).

    The columns of all other coordinates obey those equations.  The last matrix (n, l) says how those that are given up follow
    prescribed displacements.  Coordinates with mass are given up only if no others can be: they would add accelerations.
    """
    n, links, integrated = model.size, len(model.prescribed), of_rates_alone(model)
    none = empty(n, n), np.zeros(0, dtype=int), identity(n), empty(n, links)
    if not integrated.nnz:
        return none
    given_up, drop, null = _range_and_null_of_any((integrated @ model.Lambda).tocsr(), last=model.M.diagonal() > 0.0)
    if len(given_up) < integrated.nnz:  # those that follow from others hold nothing
        return none
    columns = sp.identity(n, format="lil")
    columns[:, drop] = null
    rates = (integrated @ model.full_velocity[:n]).tocsr()[integrated.diagonal() > 0.0]
    own, driven = rates[:, given_up].toarray(), rates[:, n:].toarray()
    size = np.abs(own).max(axis=1, keepdims=True)
    inverse = np.linalg.inv(own / size)
    follow = sp.lil_matrix((n, links))
    follow[given_up] = _without_errors(-inverse @ (driven / size), inverse)
    return integrated, given_up, columns.tocsr(), follow.tocsr()


def _pushed(mass: sp.csr_matrix, r: np.ndarray, s: np.ndarray, given_up: np.ndarray) -> sp.csr_matrix:
    """Multiples (n, s) of the equations of r that free those of coordinates that are given up from accelerations."""
    own = mass.tocsc()[:, given_up].tocsr()[r]
    found = sp.lil_matrix((mass.shape[0], len(s)))
    if own.nnz:
        diagonal = mass.diagonal()
        size, other = (1.0 / np.sqrt(np.where(diagonal[of] > 0.0, diagonal[of], 1.0)) for of in (r, given_up))
        inverse = np.linalg.inv(mass[r][:, r].toarray() * size * size[:, None])
        x = inverse @ (own.toarray() * size[:, None] * other)
        found[np.ix_(r, np.searchsorted(s, given_up))] = _without_errors(x, inverse, size[:, None] / other)
    return found.tocsr()


def _without_errors(x: np.ndarray, inverse: np.ndarray, unit: np.ndarray | float = 1.0) -> np.ndarray:
    """Solutions (r, k) of equations with this inverse (r, r), times ``unit`` (r, k), whole numbers where they may be.

    The equations and their right-hand sides have entries up to 1.  Charges of a circuit follow each other by whole numbers.  What
    remains of nothing, or of the difference of two that are equal, would be rates of coordinates that have none, or derivatives
    of inputs in outputs.
    """
    errors = left_by_rounding() * np.abs(inverse).sum(axis=1)[:, None] * (1.0 + np.abs(x).sum(axis=0))
    found, errors = x * unit, errors * unit
    whole = np.where(errors <= DEPENDENT, np.round(found), 0.0)
    return np.where(np.abs(found - whole) <= errors, whole, found)


def _where_terms_remain(*factors: sp.csr_matrix) -> sp.csr_matrix:
    """A product without entries that are rounding of their own terms: others may have other units, and be far larger."""
    product = reduce(operator.matmul, factors).tocoo()
    terms = reduce(operator.matmul, map(abs, factors)).tocsr()
    rows, columns = product.coords
    remain = np.abs(product.data) > left_by_rounding() * np.asarray(terms[rows, columns]).ravel()
    return sp.csr_matrix((product.data[remain], (rows[remain], columns[remain])), shape=product.shape)


def _range_and_null_of_any(
    a: sp.csr_matrix, last: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, sp.csr_matrix]:
    """:func:`range_and_null` of any square matrix: columns that span its range, the others, and its null space by these.

    Columns that are ``last`` (n,) are among those that span the range only where all others do not.
    """
    n = a.shape[0]
    label = connected_components(abs(a), directed=False)[1]
    filled = np.isin(np.arange(n), a.nonzero())
    keep, drop, columns = [], list(np.flatnonzero(~filled)), sp.identity(n, format="lil")
    order = np.argsort(label, kind="stable")
    order = order[filled[order]]
    for block in np.split(order, np.flatnonzero(np.diff(label[order])) + 1) if len(order) else []:
        dense = a[block][:, block].toarray()
        long = np.abs(dense).max(axis=1)
        dense /= np.where(long > 0.0, long, 1.0)[:, None]
        wide = np.linalg.norm(dense, axis=0)
        wide[wide == 0.0] = 1.0
        if last is not None:
            wide = np.where(last[block], wide / np.sqrt(EPS), wide)  # half of the digits are left to decide the rank
        triangle, pivot = sl.qr(dense / wide, mode="r", pivoting=True)
        size = np.abs(np.diag(triangle))
        rank = int(np.count_nonzero(size > left_by_rounding(len(block)) * size[0]))
        first, rest = block[pivot[:rank]], block[pivot[rank:]]
        keep, drop = [*keep, *first], [*drop, *rest]
        if rank and len(rest):
            x = -sl.solve_triangular(triangle[:rank, :rank], triangle[:rank, rank:])
            inverse = sl.solve_triangular(triangle[:rank, :rank], np.eye(rank))
            columns[np.ix_(first, rest)] = _without_errors(x, inverse, wide[pivot[rank:]] / wide[pivot[:rank], None])
    keep, drop = np.array(sorted(keep), dtype=int), np.array(sorted(drop), dtype=int)
    return keep, drop, columns.tocsc()[:, drop].tocsr()


def _refuse_free(model: LinearModel, sep: Separation, t_k: sp.csc_matrix, w_k: sp.csc_matrix) -> None:
    if not len(sep.k):
        return
    k = (w_k.T @ (model.K + sep.integrated @ model.Lambda) @ t_k).toarray()
    if model.skew is None:
        scale = np.sqrt(np.abs(np.diag(k)))
        scale[scale == 0] = 1.0
        k /= np.outer(scale, scale)
        w, v = eigen(k)
    else:
        for axis in (1, 0):
            size = np.abs(k).max(axis=axis, keepdims=True)
            k /= np.where(size > 0.0, size, 1.0)
        _, w, v = np.linalg.svd(k)
        v = v.T
    bad = np.abs(w) <= NOTHING * max(1.0, np.abs(w).max())
    if not bad.any():
        return
    who = np.flatnonzero(np.abs(v[:, bad]).max(axis=1) > 0.1)
    names = ", ".join(model.coordinates[sep.k[i]] for i in who[:8]) + (" ..." if len(who) > 8 else "")
    if np.all(model.bodies[sep.k[who]] < 0):
        raise ModelError(
            f"{model.name}: nothing decides {names}; expected a law that holds each of them; give what flows a "
            "resistance, an inductance or a capacity, and efforts an equation"
        )
    raise ModelError(
        f"{model.name}: {names} can move freely without mass, damping or stiffness, so the motion is undefined; expected "
        "at least one of them; give the body inertia, or constrain it"
    )


@dataclass(frozen=True, eq=False)
class Condensed:
    """Dense equations of the coordinates x1 = (r, d), after k is eliminated statically.

    ``M r'' + (Lambda x1')_r + (K x1)_r = (A0 u + A1 u' + A2 u'')_r``, the same without mass and A2 for d, and
    ``y = B0 x1 + B1 x1' + B2 r'' + D0 u + D1 u' + D2 u'' + D3 u'''``.  ``expand`` (n, x1) and ``expand_rates`` give all q from
    x1 and x1' (for u = 0); ``symmetric`` says whether Lambda and K are symmetric.
    """

    sep: Separation
    symmetric: bool
    M: np.ndarray
    Lambda: np.ndarray
    K: np.ndarray
    A0: np.ndarray
    A1: np.ndarray
    A2: np.ndarray
    B0: np.ndarray
    B1: np.ndarray
    B2: np.ndarray
    D0: np.ndarray
    D1: np.ndarray
    D2: np.ndarray
    D3: np.ndarray
    expand: np.ndarray
    expand_rates: np.ndarray


def _compares_rounding(model: LinearModel) -> bool:
    """Whether what is left of terms that cancel would be derivatives of inputs in outputs.

    Null vectors of symmetric models are exact enough, unless the rate of what is driven is the input itself.
    """
    return model.skew is not None or model.drive_rate.nnz > 0


def _product(model: LinearModel, *factors: sp.csr_matrix) -> np.ndarray:
    """A product of matrices with zeros where its terms cancel, if :func:`_compares_rounding`."""
    if not all(a.nnz for a in factors):
        return np.zeros((factors[0].shape[0], factors[-1].shape[1]))
    if not _compares_rounding(model):
        return reduce(operator.matmul, factors).toarray()
    return _where_terms_remain(*factors).toarray()


def _above_rounding(found: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """What was found by sums of such terms, with zeros where rounding may have left it."""
    return np.where(np.abs(found) <= left_by_rounding() * terms, 0.0, found)


def _inverse(a: np.ndarray) -> np.ndarray:
    """The inverse, with zeros where its entries may be nothing but rounding of the elimination."""
    if not len(a):
        return a
    left, right = sl.lu(a, permute_l=True)
    found = np.linalg.inv(a)
    return _above_rounding(found, abs(found) @ (abs(left) @ abs(right)) @ abs(found))


def _refuse_unsymmetric_mass(model: LinearModel, sep: Separation, mass: np.ndarray) -> None:
    size = np.sqrt(np.abs(np.diag(mass)))
    odd = np.abs(mass - mass.T) > left_by_rounding(len(mass)) * np.outer(size, size)
    if odd.any() or not _definite(mass, np.diag(mass)):
        at = np.flatnonzero(odd.any(axis=0)) if odd.any() else np.flatnonzero(size)
        names = ", ".join(model.coordinates[sep.r[j]] for j in at[:8])
        raise ModelError(
            f"{model.name}: charges without inductance or resistance push {names} by accelerations, and act there as a mass that "
            "is unsymmetric or negative; expected inductance or resistance for state_space, simulate and damped modes; give a "
            "coil its own"
        )


def refuse_dynamic_stiffness(model: LinearModel) -> None:
    """ModelError for a model whose stiffness is not a polynomial of the frequency, with the names of its members."""
    if not model.members:
        return
    labels = list(dict.fromkeys(m.label for m in model.members))
    shown = ", ".join(labels[:6]) + (f" and {len(labels) - 6} more" if len(labels) > 6 else "")
    raise ModelError(
        f"{model.name}: state_space, simulate and step_loop need constant matrices, but the stiffness of "
        f"{shown} depends on the frequency, as its dynamic_stiffness says; expected a model without such objects; choose "
        "form='elements' for beams, give others internal coordinates with damping, or use frequency_response() and modes()"
    )


@dataclass(frozen=True, eq=False)
class Separated:
    """A model in the coordinates (r, d, k, w) of its separation; M, Lambda and K are dense.

    ``x = T (r, d, k, w)``, where x are all coordinates; ``W^T`` times the equations of x are those of r, d, k and w.
    """

    sep: Separation
    T: sp.csr_matrix
    W: sp.csr_matrix
    M: np.ndarray
    Lambda: np.ndarray
    K: np.ndarray
    k_inverse: np.ndarray


def separated(model: LinearModel) -> Separated:
    """The part of the condensed equations of a model that all inputs and outputs share.

    Raises ModelError for more than some 2,000 coordinates and for models with a dynamic stiffness.
    """
    refuse_dynamic_stiffness(model)
    model = independent(model)
    if model.size > SIZES.dense_states:
        raise ModelError(
            f"{model.name}: {model.size} coordinates are too many for a dense state space (at most {SIZES.dense_states}); use "
            "frequency_response, modes with a count, or a smaller model"
        )
    sep = separate(model)
    own = sp.identity(len(model.prescribed))
    t, w = sp.bmat([[sep.T, sep.P], [None, own]], format="csr"), sp.block_diag([sep.W, own], format="csr")
    rates, stiffness = model.full_velocity, model.full_stiffness
    if sep.integrated.nnz:
        integrated = sp.block_diag([sep.integrated, empty(len(model.prescribed), len(model.prescribed))]) @ rates
        rates, stiffness = (rates - integrated).tocsr(), stiffness + integrated
    if sep.integrated.nnz:
        m = _product(model, w.T, model.full_mass, t)
    else:
        m = (w.T @ model.full_mass @ t).toarray()
        m[len(sep.r) : model.size] = 0.0
    lam, k = (_product(model, w.T, a, t) for a in (rates, stiffness))
    kk = slice(len(sep.r) + len(sep.d), model.size)
    k_inverse = _inverse(k[kk, kk]) if _compares_rounding(model) else np.linalg.inv(k[kk, kk])
    return Separated(sep, t, w, m, lam, k, k_inverse)


@one_thread
def condense(model: LinearModel, inputs: np.ndarray, outputs: np.ndarray, known: Separated | None = None) -> Condensed:
    """The condensed equations of a model for the numbered inputs and outputs; ``known`` is :func:`separated` of the model.

    Its u are the inputs or their integrals, as :func:`.acting` says.
    """
    model, of = independent(model), separated(model) if known is None else known
    sep, t, m, lam, k, k_inverse = of.sep, of.T, of.M, of.Lambda, of.K, of.k_inverse
    n, links = model.size, len(model.prescribed)
    nr, nd = len(sep.r), len(sep.d)
    x1, r, kk, w = slice(nr + nd), slice(nr), slice(nr + nd, n), slice(n, n + links)
    force, drive = acting(model, inputs).dense(model)
    force = _product(model, of.W.T, sp.csr_matrix(force))
    measure, rate = (_product(model, a, t)[outputs] for a in (model.measure, model.rate))
    react = model.read_reactions(outputs).toarray()

    compared = _compares_rounding(model)

    def summed(*products: tuple[np.ndarray, ...]) -> np.ndarray:
        found = sum(reduce(operator.matmul, factors) for factors in products)
        if not compared:
            return found
        return _above_rounding(found, sum(reduce(operator.matmul, map(abs, factors)) for factors in products))

    def times(*factors: np.ndarray) -> np.ndarray:
        return summed(factors)

    # q_k = h_x x1 + h_v x1' + h_w w + h_r w' + h_a w'' + h_u u: equations without rates of d and k may have rates of r and w, and
    # an effort that makes a coil carry what is prescribed has accelerations of w
    h_v, h_r = (-times(k_inverse, lam[kk, x]) for x in (x1, w))
    h_x, h_w = (-times(k_inverse, k[kk, x]) for x in (x1, w))
    h_u, h_a = times(k_inverse, force[kk]), -times(k_inverse, m[kk, w])
    stiffness = k[x1, x1] + k[x1, kk] @ h_x
    pushed = lam[x1, kk]  # by rates of k: through a coil at a capacitor, accelerations push as a mass does
    mass, added = m[r, r].copy(), times(pushed[r], h_v[:, r])
    if added.any():
        mass = mass + added
        _refuse_unsymmetric_mass(model, sep, mass)
    if model.skew is None or not model.skew.circulates:
        # sums in another order would differ by rounding: modes and static solutions would belong to two stiffnesses
        stiffness = 0.5 * (stiffness + stiffness.T)
    b0, b1, b2 = measure - react @ k[w], rate - react @ lam[w], -react @ m[w]
    a0 = force[x1] - k[x1, kk] @ h_u - (k[x1, w] + k[x1, kk] @ h_w) @ drive
    a1 = -times(summed((lam[x1, w],), (k[x1, kk], h_r), (pushed, h_w)), drive) - times(pushed, h_u)
    a2 = -times(summed((m[x1, w],), (pushed, h_r), (k[x1, kk], h_a)), drive)
    a3, d3 = times(pushed, h_a, drive), times(b1[:, kk], h_a, drive)
    if sep.integrated.nnz:
        of_mass = (abs(of.W.T) @ abs(model.full_mass) @ abs(of.T)).toarray()[:, w] @ np.abs(drive)
        a2, a3, d3 = _from_mass(of, (a2, a3, d3), of_mass, np.abs(h_r @ drive), np.abs(b1[:, kk]))
        refuse_push(model, inputs, a3)
    d0 = (b0[:, w] + b0[:, kk] @ h_w) @ drive + b0[:, kk] @ h_u + react @ force[w]
    d1 = times(summed((b1[:, w],), (b1[:, kk], h_w), (b0[:, kk], h_r)), drive) + times(b1[:, kk], h_u)
    d2 = times(summed((b2[:, w],), (b1[:, kk], h_r), (b0[:, kk], h_a)), drive)
    condensed = Condensed(
        sep=sep, symmetric=model.skew is None, M=mass,
        Lambda=lam[x1, x1] + k[x1, kk] @ h_v + pushed @ h_x, K=stiffness, A0=a0, A1=a1, A2=a2[:nr],
        B0=b0[:, x1] + b0[:, kk] @ h_x,
        B1=b1[:, x1] + times(b1[:, kk], h_x) + times(b0[:, kk], h_v),
        B2=b2[:, r] + times(b1[:, kk], h_v[:, r]), D0=d0, D1=d1, D2=d2, D3=d3,
        expand=sep.T.toarray() @ np.vstack([np.eye(nr + nd), h_x]),
        expand_rates=sep.T.toarray()[:, nr + nd :] @ h_v,
    )  # fmt: skip
    return _without_jumps(condensed, a2[nr:]) if sep.integrated.nnz and a2[nr:].any() else condensed


def _from_mass(
    of: Separated, found: tuple[np.ndarray, ...], of_mass: np.ndarray, rates: np.ndarray, read: np.ndarray
) -> list[np.ndarray]:
    """The forces A2 and A3 and readings D3 of ``found``, without what may be rounding of the mass.

    ``of_mass`` (n + l, i) are the absolute terms of forces by prescribed accelerations, ``rates`` (k, i) the sizes of prescribed
    rates of k, and ``read`` (o, k) those of readings of these.
    """
    nx = len(of.sep.r) + len(of.sep.d)
    last = slice(nx, nx + len(of.sep.k))
    late = np.abs(of.k_inverse) @ of_mass[last]
    pushed, held = np.abs(of.Lambda[:nx, last]), np.abs(of.K[:nx, last])
    terms = of_mass[:nx] + pushed @ rates + held @ late, pushed @ late, read @ late
    return [remaining(a, made_of) for a, made_of in zip(found, terms, strict=True)]


def _without_jumps(c: Condensed, a2: np.ndarray) -> Condensed:
    """The equations without the forces ``a2 u''`` (d, i) on massless coordinates d, which jump with u'.

    The new coordinates are ``d - X u'``, where damping decides X.
    """
    r, d = slice(0, len(c.M)), slice(len(c.M), len(c.K))
    inverse = np.linalg.inv(c.Lambda[d, d])
    x = remaining(inverse @ a2, np.abs(inverse) @ np.abs(a2))

    def beside(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return remaining(a + b @ x, np.abs(a) + np.abs(b) @ np.abs(x))

    return replace(
        c, A1=beside(c.A1, -c.K[:, d]), A2=beside(c.A2, -c.Lambda[r, d]), D1=beside(c.D1, c.B0[:, d]),
        D2=beside(c.D2, c.B1[:, d]),
    )  # fmt: skip
