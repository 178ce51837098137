"""Modes: undamped ``K phi = w^2 M phi`` and damped ``(s^2 M + s Lambda + K) phi = 0``."""

from __future__ import annotations

import logging

import numpy as np
import scipy.linalg as sl

from ...errors import Interrupted
from ...linear.exact_members import dissipating
from ...linear.linear_model import LinearModel
from ...numerics.blas_threads import one_thread
from ...numerics.eigen import eigen
from ...numerics.options import SIZES
from ...numerics.sparse_tools import column_products
from ...progress.tasks import FINDING_MODES, shown_as
from ...validation.arguments import whole
from ..resources import refuse_beyond_memory
from ..time.massless import condense, refuse_exact_members, separate
from ..time.state_space import full_state_space
from .exact import exact_modes
from .large import Halted, large_undamped
from .large_damped import large_damped
from .mode import Modes
from .zero import uncanceled, zeroed

log = logging.getLogger("mse")

_DEFAULT_COUNT = 20
_SOFT = 1e-5  # of the largest w^2: below it eigenvalues come from the inverse problem
_SHIFT = 3e-11  # of the largest w^2: distance from zero of the inverse problem's shift
_ROUNDING = 1e-15  # of the terms in a reduced stiffness, and of the lowest w^2 that is no rounding of the highest


@one_thread
@shown_as(FINDING_MODES)
def modes(model: LinearModel, count: int | None = None, *, damped: bool = False) -> Modes:
    """See :meth:`.LinearModel.modes`.

    Massless coordinates are condensed exactly and have shapes, but no modes of their own.  Large models are solved by
    shift-invert Lanczos on the sparse factorization, and the factorization's inertia shows that none is missed; damped ones
    by Arnoldi, and the argument of the determinant around a circle shows it.  Where some are missing, ``notes`` say so.

    A model with exact members has undamped modes only, found by counting (:mod:`mse.analysis.modes.exact`); mass is then
    ``-d/d(w^2)`` of the dynamic stiffness at the frequency of the mode, and a motion inside members whose ends do not move has
    the shape zero.  For members that dissipate the real part of the stiffness counts; ``notes`` say so.
    """
    found, stopped = _found(model, count, damped)
    if stopped:
        raise Interrupted(f"{model.name}: {stopped}; they are the result of this error", found)
    return found


def _found(model: LinearModel, count: int | None, damped: bool) -> tuple[Modes, str]:
    """The modes, and how Ctrl-C ended the search for them, or ""."""
    n = model.size
    jointed = model.constraints.shape[0] > 0
    if count is not None:
        count = whole(model.name, "count of modes", count, minimum=1, remedy="None gives all")
    few = count is not None and n > SIZES.dense_modes // (2 if jointed else 4) and 6 * count < n
    sparse = n > SIZES.dense_modes or few
    if sparse and count is None:
        count = _DEFAULT_COUNT
    if jointed and not (sparse and not model.members):
        return _of_independent(model, count, damped)
    if n == 0 and not model.members:
        return Modes(model.name, (), (), np.zeros(0, complex), np.zeros((0, 0)), np.zeros((0, 0)), damped), ""
    notes, stopped = (), ""
    if model.members:
        if damped:
            refuse_exact_members(model)
        w2, shapes, momentum, more, stopped = exact_modes(model, count or _DEFAULT_COUNT)
        notes = _left_out(model, w2)
        w2 = zeroed(w2, shapes, model)
        order = np.argsort(np.abs(w2), kind="stable")
        shapes, momentum, s = shapes[:, order], momentum[:, order], _rates(w2[order])
    elif damped and model.Lambda.nnz:
        _refuse_large(model, count, sparse, 16 * 2)
        s, shapes, notes = large_damped(model, count) if sparse else (*_dense_damped(model), ())
        more = (len(s) >= count or bool(notes)) if sparse else len(s) > (count or len(s))
        order = np.lexsort((s.imag, np.abs(s)))[:count]
        s, shapes = s[order], shapes[:, order]
    else:
        _refuse_large(model, count, sparse, 8)
        try:
            w2, shapes = large_undamped(model, count) if sparse else _dense_undamped(model)
        except Halted as halted:
            w2, shapes = zeroed(halted.w2, halted.shapes, model), halted.shapes
            stopped = f"interrupted with {len(w2)} of {count} modes, which were not counted: lower ones may be missing"
        more = len(w2) >= count if sparse else len(w2) > (count or len(w2))
        order = np.argsort(np.abs(w2), kind="stable")[:count] if not sparse else np.argsort(np.abs(w2), kind="stable")
        shapes, s = shapes[:, order], _rates(w2[order])
    if not model.members:
        momentum = model.M @ shapes
    energies = np.real(np.conj(shapes) * momentum)
    total = energies.sum(axis=0)
    total[total <= 0] = 1.0
    # exact members move inside, too: their shapes come normalized
    norm = np.ones(len(total)) if model.members else np.sqrt(total)
    notes = (stopped, *notes) if stopped else _how_to_get_more(more, len(s), notes)
    return Modes(
        model.name, model.coordinates, model.owners, s, shapes / norm, energies / total, damped,
        not (more or stopped), notes,
    ), stopped  # fmt: skip


def _how_to_get_more(more: bool, count: int, notes: tuple[str, ...]) -> tuple[str, ...]:
    return (f"the {count} lowest modes; modes(count={2 * count}) gives more", *notes) if more else notes


def _left_out(model: LinearModel, w2: np.ndarray) -> tuple[str, ...]:
    """Notes on members whose own dissipation undamped modes leave out."""
    moving = w2[w2 > 0.0]
    names = dissipating(model, float(moving[len(moving) // 2])) if len(moving) else ()
    if not names:
        return ()
    return (
        f"undamped modes, of the real part of the dynamic stiffness of {', '.join(names)}; frequency_response() has its "
        "dissipation",
    )


def _refuse_large(model: LinearModel, count: int | None, sparse: bool, number: int) -> None:
    """Refuse more modes than there is memory for their vectors, of ``number`` bytes for each coordinate."""
    if sparse:
        vectors = min(2 * count + 50, model.size) + count
        refuse_beyond_memory(
            model.name, float(number) * model.size * vectors,
            f"{count} modes of {model.size} coordinates need {{}}", "ask for fewer modes, or reduce the model",
        )  # fmt: skip


def _of_independent(model: LinearModel, count: int | None, damped: bool) -> tuple[Modes, str]:
    """Modes of a model with constraints, computed in independent coordinates and given in all of them."""
    inner, basis = model.reduced
    # the reduced matrices are hardly sparse
    every = inner.size <= SIZES.dense_modes and not model.members and not damped
    found, stopped = _found(inner, None if every else count, damped)
    shapes = basis @ found.shapes
    rates = found.eigenvalues
    if not damped:
        # independent coordinates do not show which terms have canceled in them
        terms = uncanceled(model)
        w2 = np.where(rates.real > 0, -1.0, 1.0) * np.abs(rates) ** 2
        w2 = zeroed(w2, shapes, model, terms)
        most = abs(basis) @ np.abs(found.shapes)
        w2[np.abs(w2) <= _ROUNDING * column_products(most, terms @ most)] = 0.0
        rates = np.where(w2 == 0.0, 0.0, rates)
    energies = np.real(np.conj(shapes) * (model.M @ shapes))
    total = energies.sum(axis=0)
    energies = found.energies if model.members else energies / np.where(total > 0, total, 1.0)
    if model.members:  # the kinetic energy inside members has no coordinates of its own
        shared = np.zeros((model.size, energies.shape[1]))
        at = [model.coordinates.index(name) for name in inner.coordinates]
        shared[at] = energies
        energies = shared
    more = not found.complete or len(rates) > (count or len(rates))
    few = slice(count)
    notes = found.notes if found.complete else found.notes[1:]  # the first one is about further modes
    notes = (stopped, *notes) if stopped else _how_to_get_more(more, len(rates[few]), notes)
    return Modes(
        model.name, model.coordinates, model.owners, rates[few], shapes[:, few], energies[:, few], damped,
        not more, notes,
    ), stopped  # fmt: skip


def _rates(w2: np.ndarray) -> np.ndarray:
    """``s = i w``, or the rate of growth where w^2 < 0."""
    return np.where(w2 >= 0, 1j * np.sqrt(np.abs(w2)), np.sqrt(np.abs(w2)))


def _dense_undamped(model: LinearModel) -> tuple[np.ndarray, np.ndarray]:
    sep = separate(model)
    nr = len(sep.r)
    if nr == model.size:  # all coordinates carry mass
        w2, shapes = _both_ends(model.K.toarray(), model.M.toarray())
        return zeroed(w2, shapes, model), shapes
    k = (sep.T.T @ model.K @ sep.T).toarray()
    m = (sep.T.T @ model.M @ sep.T).toarray()[:nr, :nr]
    massless = slice(nr, None)
    # massless damped coordinates may lack stiffness; without it they follow no static law and do not move
    follow = -np.linalg.pinv(k[massless, massless], hermitian=True, rcond=1e-14) @ k[massless, :nr]
    w2, phi = _both_ends(k[:nr, :nr] + k[:nr, massless] @ follow, m)
    shapes = sep.T @ np.vstack([phi, follow @ phi])
    return zeroed(w2, shapes, model), shapes


def _both_ends(k: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs of ``K x = w^2 M x`` with soft modes right beside stiff ones.

    A dense solver is right to rounding of the largest eigenvalue.  Those far below it are taken from the inverse
    problem ``L^-1 M L^-T y = y/(w^2 - s)`` with ``L L^T = K - s M``, which is right at the other end of the spectrum.
    """
    w2, x = sl.eigh(k, m)
    top = np.abs(w2).max(initial=0.0)
    soft = int(np.count_nonzero(w2 < _SOFT * top))
    if not soft:
        return w2, x
    # halfway, on a logarithmic scale, between the highest of them and rounding: the inverse is right to rounding of the shift
    # for those below it, and for those above it to rounding times their ratio, 3e-11 in both cases
    shift = 1.001 * min(w2[0], 0.0) - _SHIFT * top
    try:
        factor = sl.cholesky(k - shift * m, lower=True)
    except np.linalg.LinAlgError:
        return w2, x
    half = sl.solve_triangular(factor, m, lower=True)
    nu, y = eigen(sl.solve_triangular(factor, half.T, lower=True))
    low = np.argsort(-nu)[:soft]
    shapes = sl.solve_triangular(factor, y[:, low], lower=True, trans="T")
    shapes /= np.sqrt(np.einsum("ij,ij->j", shapes, m @ shapes))
    lowest = shift + 1.0 / nu[low]
    lowest[np.abs(lowest) <= _ROUNDING * w2[w2 > 1e-14 * top].min(initial=top)] = 0.0
    return np.concatenate([lowest, w2[soft:]]), np.hstack([shapes, x[:, soft:]])


def _dense_damped(model: LinearModel) -> tuple[np.ndarray, np.ndarray]:
    none = np.zeros(0, dtype=int)
    c = condense(model, none, none)
    ss = full_state_space(model, inputs=[], outputs=[])
    a, _, _ = ss.scaled()
    s, v = np.linalg.eig(a)
    v = ss.scaling[0] @ v
    nr, nd = len(c.sep.r), len(c.sep.d)
    shapes = c.expand @ np.vstack([v[:nr], v[2 * nr : 2 * nr + nd]])
    top = np.abs(s).max(initial=0.0)
    # a free coordinate has the double eigenvalue 0, which rounding splits; one of a conjugate pair is enough
    keep = s.imag >= 0
    s, shapes = s[keep], shapes[:, keep]
    small = np.abs(s) <= 1e-9 * top
    stiffness = np.abs(np.einsum("ij,ij->j", shapes.conj(), model.K @ shapes))
    canceling = np.einsum("ij,ij->j", np.abs(shapes), abs(model.K) @ np.abs(shapes))
    s = np.where(small & (stiffness <= 1e-10 * canceling), 0.0, s)
    return s, shapes
