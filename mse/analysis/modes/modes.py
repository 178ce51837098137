"""Modes: undamped ``K phi = w^2 M phi`` and damped ``(s^2 M + s Lambda + K) phi = 0``."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from ...errors import Interrupted
from ...linear.exact_members import dissipating
from ...linear.linear_model import LinearModel
from ...numerics.blas_threads import one_thread
from ...numerics.curvatures import Curvatures
from ...numerics.options import SIZES
from ...progress.tasks import FINDING_MODES, shown_as
from ...validation.arguments import whole
from ..resources import refuse_beyond_memory
from ..time.massless import condense, refuse_exact_members, separate
from ..time.state_space import full_state_space
from .exact import exact_modes
from .large import Halted, large_undamped
from .large_damped import large_damped
from .mode import Modes
from .zero import beside, uncertain, zeroed

log = logging.getLogger("mse")

_DEFAULT_COUNT = 20


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
        none = np.zeros((0, 0))
        return Modes(model.name, (), (), np.zeros(0, complex), none, none, damped), ""
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
        not (more or stopped), notes, *_uncertain(s, shapes / norm, model, damped),
    ), stopped  # fmt: skip


def _uncertain(s: np.ndarray, shapes: np.ndarray, model: LinearModel, damped: bool) -> tuple[np.ndarray, np.ndarray]:
    return (np.full(len(s), np.nan), np.zeros(len(s), dtype=bool)) if damped else uncertain(s, shapes, model)


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
    vars(inner)["curvatures"] = _in_independent(model, inner)
    found, stopped = _found(inner, None if every else count, damped)
    shapes = basis @ found.shapes
    rates = found.eigenvalues
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
        not more, notes, *_uncertain(rates[few], shapes[:, few], model, damped),
    ), stopped  # fmt: skip


def _in_independent(model: LinearModel, inner: LinearModel) -> Curvatures:
    """What the motions of a model are, in its independent coordinates."""
    found, at = model.curvatures, [model.coordinates.index(name) for name in inner.coordinates]
    null = found.null.tocsr()[at].tocsc()
    return replace(found, null=null, local=0, negative=found.negative[at], undetermined=found.undetermined[at])


def _rates(w2: np.ndarray) -> np.ndarray:
    """``s = i w``, or the rate of growth where w^2 < 0."""
    return np.where(w2 >= 0, 1j * np.sqrt(np.abs(w2)), np.sqrt(np.abs(w2)))


def _dense_undamped(model: LinearModel) -> tuple[np.ndarray, np.ndarray]:
    sep, zero = separate(model), model.zero_motions.toarray()
    nr = len(sep.r)
    if nr == model.size:  # all coordinates carry mass
        return beside(model.K.toarray(), model.M.toarray(), zero)
    k = (sep.T.T @ model.K @ sep.T).toarray()
    m = (sep.T.T @ model.M @ sep.T).toarray()[:nr, :nr]
    massless = slice(nr, None)
    # massless damped coordinates may lack stiffness; without it they follow no static law and do not move
    follow = -np.linalg.pinv(k[massless, massless], hermitian=True, rcond=1e-14) @ k[massless, :nr]
    zero = np.linalg.solve(sep.T.toarray(), zero)[:nr]
    w2, phi = beside(k[:nr, :nr] + k[:nr, massless] @ follow, m, zero)
    return w2, sep.T @ np.vstack([phi, follow @ phi])


def _dense_damped(model: LinearModel) -> tuple[np.ndarray, np.ndarray]:
    none = np.zeros(0, dtype=int)
    c = condense(model, none, none)
    ss = full_state_space(model, inputs=[], outputs=[])
    a, _, _ = ss.scaled()
    s, v = np.linalg.eig(a)
    # a free coordinate has the double eigenvalue 0, which rounding splits; one of a conjugate pair is enough
    s[np.argsort(np.abs(s), kind="stable")[: ss.zeros]] = 0.0
    v = ss.scaling[0] @ v
    nr, nd = len(c.sep.r), len(c.sep.d)
    shapes = c.expand @ np.vstack([v[:nr], v[2 * nr : 2 * nr + nd]])
    keep = s.imag >= 0
    return s[keep], shapes[:, keep]
