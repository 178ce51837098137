"""Modes: undamped ``K phi = w^2 M phi`` and damped ``(s^2 M + s Lambda + K) phi = 0``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...elements.coordinates import flowing
from ...errors import Interrupted, ModelError
from ...linear.independent import independent
from ...linear.linear_model import LinearModel
from ...linear.losses import loss_factors, told
from ...linear.members import dissipating, refuse_unsymmetric
from ...linear.zero_motions import flows, of_flows
from ...numerics.blas_threads import one_thread
from ...numerics.eigen import eigen_of_pairs
from ...numerics.lanczos import keeps_products
from ...numerics.null_motions import in_echelon
from ...numerics.options import SIZES
from ...numerics.precision import DEPENDENT, NOTHING, left_by_rounding
from ...numerics.sparse_tools import no_columns
from ...progress.tasks import FINDING_MODES, Show, Task
from ...statics.stability import describe
from ...validation.arguments import whole
from ..resources import refuse_beyond_memory
from ..time.massless import condense, separate
from ..time.state_space import full_state_space
from .exact import exact_modes
from .large import Halted, large_undamped
from .large_damped import large_damped, left_vectors
from .lossy import lossy_modes
from .rayleigh import decided, parted, purged, refined
from .result import Columns, Modes
from .strain_energies import StrainEnergies
from .zero import beside, determined, terms_in_noise, uncertain, zeroed

log = logging.getLogger("mse")

_MASSLESS = "nothing has a mass, so nothing oscillates; give bodies one; modes(damped=True) has what fades"
_DEFAULT_COUNT = 20
_UNDAMPED = "undamped modes"  # first words of notes on what undamped modes leave out
_NAMED = 6  # flows named in a note


class _Found(NamedTuple):
    """Modes found by one method: s (m,), shapes (n, m) and momenta; those at zero come first.

    ``alone`` (n, z) are further shapes at zero, of single bodies.  ``more`` says if the model has more modes, ``stopped`` how
    Ctrl-C ended the search, or "".  ``doubt`` has the possible change of each s (m,) by rounding in 1/s, and the modes (m,)
    that may grow within it; None if that follows from the stiffness.
    """

    s: np.ndarray
    shapes: np.ndarray
    momentum: np.ndarray
    more: bool
    alone: sp.csc_matrix
    notes: tuple[str, ...] = ()
    stopped: str = ""
    doubt: tuple[np.ndarray, np.ndarray] | None = None


@one_thread
def modes(
    model: LinearModel,
    count: int | None = None,
    *,
    damped: bool = False,
    lossy: bool = False,
    progress: Show = True,
    restarts: int | None = None,
) -> Modes:
    """See :meth:`.LinearModel.modes`.

    Massless coordinates are condensed exactly; they have shapes but no modes of their own.  Large models are solved by
    shift-invert Lanczos with a sparse factorization, whose inertia shows that no mode is missed.  Damped modes are found by
    Arnoldi and counted by the argument of the determinant around a circle.  If some are missing, ``notes`` say so.  Modes at
    zero come in addition to ``count``; those of single bodies have sparse shapes.

    Undamped modes of a model with dynamic stiffnesses are found by counting (:mod:`mse.analysis.modes.exact`).  Mass is then
    ``-d/d(w^2)`` of the dynamic stiffness at the frequency of the mode; a motion inside members whose ends rest has the shape
    zero. Members that dissipate enter with the real part of their stiffness; ``notes`` say so.

    Modes with loss, and damped modes of models with dynamic stiffnesses, are followed one by one from modes without loss
    (:mod:`mse.analysis.modes.lossy`).

    ``restarts`` limits a search for damped modes of a large model; if it has not converged then, a ModelError is raised.
    """
    with Task(model.name, FINDING_MODES, show=progress) as task:
        found, stopped = _lossy(model, count) if lossy else _without_loss(model, count, damped, restarts)
        found = replace(found, strain_energies=StrainEnergies(of=(model, found.eigenvalues, found._shapes)))
        if stopped:
            raise Interrupted(f"{model.name}: {stopped}; they are the result of this error", found)
        return task.finished(found)


def _without_loss(model: LinearModel, count: int | None, damped: bool, restarts: int | None) -> tuple[Modes, str]:
    """:func:`_modes`, with a note if loss factors are left out."""
    if damped and model.members:
        found, stopped = _damped_members(model.lossless, count)
    else:
        found, stopped = _modes(model, count, damped, restarts)
        refuse_unsymmetric(model, found.eigenvalues.imag, "undamped modes")
    if not model.losses or not len(found):
        return found, stopped
    note = f"without the loss factors of {told(model.losses)}, which modes(lossy=True) has"
    return replace(found, notes=(*found.notes, note)), stopped


def _damped_members(model: LinearModel, count: int | None) -> tuple[Modes, str]:
    """Damped modes of a model with dynamic stiffnesses, each followed from a mode of the real part."""
    if model.skew is not None:
        names = ", ".join(dict.fromkeys(m.label for m in model.members))
        raise ModelError(
            f"{model.name}: with {_skew(model)} and the dynamic stiffness of {names} there are no undamped modes "
            "from which damped ones could be followed; expected one or the other; use frequency_response(), or the "
            "modes of linear.symmetric"
        )
    found, stopped = _lossy(model, count)
    note = "each is followed from a mode of the real part; motions that fade without swinging are not sought"
    return replace(found, lossy=False, notes=(*found.notes, note) if len(found) else found.notes), stopped


def _lossy(model: LinearModel, count: int | None) -> tuple[Modes, str]:
    """The modes with everything that dissipates: damping, loss factors, and members themselves."""
    loss_factors(model, None)  # refuses those that feed energy
    found, stopped = _modes(model, count, not model.members and (model.skew is not None or model.Lambda.nnz > 0))
    if stopped or not len(found):
        return found, stopped and f"{stopped}, without loss"
    refuse_unsymmetric(model, found.eigenvalues.imag, "modes that are followed from undamped ones")
    s, shapes, momenta, still, doubt, tables, lost = lossy_modes(model, found.eigenvalues, found.shapes)
    energies = np.real(np.conj(shapes) * momenta)
    total = energies.sum(axis=0)
    total = np.where(total > 0.0, total, 1.0)
    order = np.lexsort((s.imag, np.abs(s)))
    shapes, energies = (shapes / np.sqrt(total))[:, order], (energies / total)[:, order]
    # a stiffness that grows with frequency may lift modes above others that were not sought
    notes = [note.replace(" lowest modes", " modes that are lowest without loss", 1) for note in found.notes]
    notes = [note for note in notes if not note.startswith(_UNDAMPED)]
    if still.any():
        notes.append(f"{np.count_nonzero(still)} of them do not swing, so loss factors do not act on them")
    unsure = np.where(doubt > 0.0, found.uncertainties_hz + doubt / (2 * np.pi), found.uncertainties_hz)
    if lost.any():
        names = ", ".join(f"{abs(x) / (2 * np.pi):.6g}" for x in s[lost])
        notes.append(
            f"at {names} Hz modes were not found again with loss, as they become one with another or no longer swing: they are "
            "given to first order, with the whole change as their uncertainty; frequency_response() is exact there"
        )
    if tables:
        share = np.divide(doubt, np.abs(s.real), out=np.zeros(len(s)), where=(doubt > 0.0) & ~lost)
        left = ", with an error no larger than rounding"
        if share.max() > NOTHING:
            left = f": the error is up to {share.max():.1g} of a Q, see uncertainties_hz of each mode"
        named = f"the dynamic stiffness of {', '.join(tables)}"
        notes.append(f"{named} is known at real frequencies only and is extended from there by its slope{left}")
    return replace(
        found, eigenvalues=s[order], _shapes=Columns.dense(shapes), _energies=Columns.dense(energies), damped=True, lossy=True,
        notes=tuple(notes), uncertainties_hz=unsure[order], undetermined=found.undetermined[order],
    ), ""  # fmt: skip


def _modes(model: LinearModel, count: int | None, damped: bool, restarts: int | None = None) -> tuple[Modes, str]:
    """The modes, and how Ctrl-C ended the search for them, or ""."""
    n = model.size
    if model.skew is not None and not damped:
        raise _skew_refused(model)
    jointed = model.constraints.shape[0] > 0
    if count is not None:
        count = whole(model.name, "count of modes", count, minimum=1, remedy="None gives all")
    few = count is not None and n > SIZES.dense_modes // (2 if jointed else 4) and 6 * count < n
    sparse = few or not all_at_once(model, damped)
    if sparse and count is None:
        count = _DEFAULT_COUNT
    if jointed and not (sparse and not model.members):
        return _of_independent(model, count, damped)
    if n == 0 and not model.members:
        none = Columns.dense(np.zeros((0, 0)))
        return Modes(model.name, (), (), np.zeros(0, complex), none, none, damped), ""
    if model.members:
        found = _exact(model, count or _DEFAULT_COUNT)
    elif sparse:
        found = _sparse_damped(model, count, restarts) if _is_damped(model, damped) else _sparse_undamped(model, count)
    else:
        if not np.all(model.M.diagonal() > 0.0):
            model = determined(model)
        doubt = None
        if _is_damped(model, damped):
            s, shapes, doubt = _dense_damped(model)
        else:
            s, shapes = _dense_undamped(model)
        order = np.lexsort((s.imag, np.abs(s)))[: None if count is None else count + int(np.count_nonzero(s == 0))]
        more, shapes = len(order) < len(s), shapes[:, order]
        doubt = None if doubt is None else (doubt[0][order], doubt[1][order])
        found = _Found(s[order], shapes, model.M @ shapes, more, no_columns(n), doubt=doubt)
    return _of(model, found, damped)


def all_at_once(model: LinearModel, damped: bool) -> bool:
    """Whether a model is so small that all its modes are computed; of damped ones without symmetry, states count.

    Networks of heat have five coordinates for each state, and so many slow modes that a search for the lowest has no end.
    """
    if model.size <= SIZES.dense_modes:
        return True
    massive = np.count_nonzero(model.M.diagonal()) - model.constraints.shape[0]  # at least so many have mass
    if (
        not damped
        or model.skew is None
        or model.members
        or model.size > SIZES.dense_states
        or massive > SIZES.dense_modes
    ):
        return False
    try:
        sep = separate(independent(model))
    except ModelError:  # of what nothing decides
        return False
    return 2 * len(sep.r) + len(sep.d) <= 2 * SIZES.dense_modes


def _skew(model: LinearModel) -> str:
    """The skew parts of a model, in words."""
    return " and ".join(
        ["gyroscopic coupling"] * bool(model.skew.gyroscopic.nnz) + ["circulatory stiffness"] * model.skew.circulates
    )


def _skew_refused(model: LinearModel) -> ModelError:
    return ModelError(
        f"{model.name}: it has {_skew(model)}, so undamped modes do not exist; expected symmetric M, Lambda and K; call "
        "modes(damped=True), or linear.symmetric.modes() to leave it out"
    )


def _without_flows(model: LinearModel, found: _Found, damped: bool) -> _Found:
    """The modes without charges and others that only flow, at 0 Hz; notes name these."""
    inside = flowing(model.coordinates)
    if not inside.any() or not (flow := flows(model)).shape[1]:
        return found
    alone = found.alone[:, [k for k in range(found.alone.shape[1]) if not inside[found.alone[:, [k]].indices].all()]]
    zero, doubt = found.s == 0, found.doubt
    shapes, momentum = found.shapes[:, zero], found.momentum[:, zero]
    if damped:
        motions = ~of_flows(model, shapes)
        shapes, momentum = shapes[:, motions], momentum[:, motions]
        if doubt is not None:
            doubt = tuple(np.concatenate([x[zero][motions], x[~zero]]) for x in doubt)
    else:  # motions at zero of unit modal mass that are orthogonal to all flows
        turn, sizes, _ = np.linalg.svd(momentum.T @ flow)
        turn = turn[:, np.count_nonzero(sizes > DEPENDENT * sizes.max(initial=0.0)) :]
        shapes, momentum = shapes @ turn, momentum @ turn
    shapes, momentum = (np.hstack(x) for x in ((shapes, found.shapes[:, ~zero]), (momentum, found.momentum[:, ~zero])))
    names = ", ".join(describe(x, model.coordinates, model.scale) for x in flow.T[:_NAMED])
    more = f" and {flow.shape[1] - _NAMED} more" if flow.shape[1] > _NAMED else ""
    note = f"without the flows at 0 Hz of {names}{more}, which store no energy and are not motions"
    s = np.concatenate([np.zeros(shapes.shape[1] - np.count_nonzero(~zero)), found.s[~zero]])
    return found._replace(s=s, shapes=shapes, momentum=momentum, alone=alone, notes=(*found.notes, note), doubt=doubt)


def _of(model: LinearModel, found: _Found, damped: bool) -> tuple[Modes, str]:
    """The result, with normalized shapes."""
    found = _without_flows(model, found, damped)
    alone = found.alone
    shares = alone.multiply(model.M @ alone).tocsc() if alone.shape[1] else alone
    energies = np.real(np.conj(found.shapes) * found.momentum)
    total = energies.sum(axis=0)
    total[total <= 0] = 1.0
    # exact members move inside, too, so their shapes are normalized already
    norm = np.ones(len(total)) if model.members else np.sqrt(total)
    s = np.concatenate([np.zeros(alone.shape[1], dtype=complex), found.s])
    notes = _notes(found, s)
    if not len(s) and not damped and not model.M.diagonal().any():
        notes = (*notes, _MASSLESS)
    sides = _doubts(found.doubt) if found.doubt else uncertain(found.s, found.shapes / norm, model)
    if alone.shape[1]:
        single = uncertain(s[: alone.shape[1]], alone, model)
        sides = tuple(map(np.concatenate, zip(single, sides, strict=True)))
    return Modes(
        model.name, model.coordinates, model.owners, s, Columns(alone, found.shapes / norm),
        Columns(shares, energies / total), damped, not (found.more or found.stopped), notes, *sides,
    ), found.stopped  # fmt: skip


def _doubts(doubt: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    moved, hidden = doubt
    return moved / (2 * np.pi), hidden


def _notes(found: _Found, s: np.ndarray) -> tuple[str, ...]:
    """How the search was stopped, or how to get more than the modes s (m,), and remarks from the search."""
    if found.stopped:
        return found.stopped, *found.notes
    if not found.more:
        return found.notes
    at_zero = int(np.count_nonzero(s == 0))
    count = len(s) - at_zero
    beside = f" beside {at_zero:,} at zero" if at_zero else ""
    return f"the {count} lowest modes{beside}; modes(count={2 * count}) gives more", *found.notes


def _beside_zero(find: Callable[[int], _Found], count: int) -> _Found:
    """``find(wanted)`` with ``wanted`` so large that ``count`` modes are not at zero, or all modes."""
    wanted = count
    while True:
        found = find(wanted)
        short = count - int(np.count_nonzero(found.s))
        if short <= 0 or not found.more or found.stopped:
            return found
        wanted += short


def _exact(model: LinearModel, count: int) -> _Found:
    """Modes of a model with exact members, up to the frequency where the first of their tables ends."""
    highest = min(member.up_to for member in model.members)
    ending = tuple(dict.fromkeys(m.label for m in model.members if m.up_to == highest))

    def find(wanted: int) -> _Found:
        w2, shapes, momentum, more, stopped = exact_modes(model, wanted)
        known = w2 <= highest**2
        w2, shapes, momentum, more = w2[known], shapes[:, known], momentum[:, known], more and bool(known.all())
        notes = _left_out(model, w2)
        if not known.all():
            notes = (
                *notes,
                f"none above {highest / (2 * np.pi):.6g} Hz, where the dynamic stiffness of {', '.join(ending)} ends",
            )
        w2 = zeroed(w2, shapes, model)
        order = np.argsort(np.abs(w2), kind="stable")
        s = _rates(w2[order])
        return _Found(s, shapes[:, order], momentum[:, order], more, no_columns(model.size), notes, stopped)

    return _beside_zero(find, count)


def _sparse_damped(model: LinearModel, count: int, restarts: int | None) -> _Found:
    def find(wanted: int) -> _Found:
        _refuse_large(model, wanted, 16 * 2)
        notes, stopped = (), ""
        try:
            alone, s, shapes, notes = large_damped(model, wanted, restarts)
        except Halted as halted:
            alone, s, shapes = halted.alone, halted.values, halted.shapes
            stopped = _not_counted(min(len(s), wanted), wanted)
        more = len(s) >= wanted or bool(notes)
        s, shapes, before = parted(model, s, shapes)
        order = np.lexsort((s.imag, np.abs(s)))[:wanted]
        s, shapes = s[order], shapes[:, order]
        s, moved, hidden = refined(model, s, shapes, left_vectors(model, s, shapes))
        return _Found(s, shapes, model.M @ shapes, more, alone, notes, stopped, (before[order] + moved, hidden))

    return _beside_zero(find, count)


def _sparse_undamped(model: LinearModel, count: int) -> _Found:
    _refuse_large(model, count, 16 if keeps_products(model.M) else 8)
    stopped = ""
    try:
        alone, w2, shapes = large_undamped(model, count)
    except Halted as halted:
        alone, w2, shapes = halted.alone, zeroed(halted.values, halted.shapes, model), halted.shapes
        stopped = _not_counted(len(w2), count)
    order = np.argsort(np.abs(w2), kind="stable")[: count + int(np.count_nonzero(w2 == 0))]
    w2, shapes = w2[order], shapes[:, order]
    return _Found(_rates(w2), shapes, model.M @ shapes, np.count_nonzero(w2) >= count, alone, stopped=stopped)


def _not_counted(found: int, count: int) -> str:
    """The note for Ctrl-C during a search for modes of a large model."""
    return f"interrupted with {found} of {count} modes; these were not counted, so lower ones may be missing"


def _left_out(model: LinearModel, w2: np.ndarray) -> tuple[str, ...]:
    """Notes on members whose own dissipation is left out of undamped modes."""
    moving, growing, notes = w2[w2 > 0.0], w2[w2 < 0.0], []
    if len(moving) and (names := dissipating(model, float(moving[len(moving) // 2]))):
        notes.append(
            f"{_UNDAMPED}, of the real part of the dynamic stiffness of {', '.join(names)}; frequency_response() "
            "includes its dissipation"
        )
    names = dict.fromkeys(m.label for m in model.members if m.clamped_count is None)
    if len(growing) and names:
        notes.append(
            f"motions that grow are found with the static stiffness of {', '.join(names)}, whose dynamic stiffness is "
            "known at real frequencies only"
        )
    return tuple(notes)


def _refuse_large(model: LinearModel, count: int, number: int) -> None:
    """Refuse more modes than fit into memory, with ``number`` bytes for each coordinate of a mode."""
    vectors = min(2 * count + 50, model.size) + count
    refuse_beyond_memory(
        model.name, float(number) * model.size * vectors,
        f"{count} modes of {model.size} coordinates need {{}}", "ask for fewer modes, or reduce the model",
    )  # fmt: skip


def _of_independent(model: LinearModel, count: int | None, damped: bool) -> tuple[Modes, str]:
    """Modes of a model with constraints, computed in independent coordinates and returned in all coordinates."""
    inner, basis = model.reduced
    # the reduced matrices are hardly sparse
    every = inner.size <= SIZES.dense_modes and not model.members and not damped

    def find(wanted: int | None) -> _Found:
        found, stopped = _modes(inner, None if every else wanted, damped)
        rates, shapes = found.eigenvalues, basis @ found.shapes
        few = slice(None if wanted is None else wanted + int(np.count_nonzero(rates == 0)))
        more = not found.complete or len(rates[few]) < len(rates)
        notes = found.notes if found.complete else found.notes[1:]  # the first note is about further modes
        if model.members:  # the kinetic energy inside members has no coordinates
            shared = np.zeros((model.size, found.energies.shape[1]))
            shared[[model.coordinates.index(name) for name in inner.coordinates]] = found.energies
        else:
            shared = np.real(np.conj(shapes) * (model.M @ shapes))
        doubt = None
        if _is_damped(model, damped):
            doubt = 2 * np.pi * found.uncertainties_hz[few], found.undetermined[few]
        alone = no_columns(model.size)
        return _Found(rates[few], shapes[:, few], shared[:, few], more, alone, notes, stopped, doubt)

    found = find(None) if count is None else _beside_zero(find, count)
    energies = found.momentum
    if not model.members:
        total = energies.sum(axis=0)
        energies = energies / np.where(total > 0, total, 1.0)
    return Modes(
        model.name, model.coordinates, model.owners, found.s, Columns.dense(found.shapes), Columns.dense(energies), damped,
        not found.more, _notes(found, found.s),
        *(_doubts(found.doubt) if found.doubt else uncertain(found.s, found.shapes, model)),
    ), found.stopped  # fmt: skip


def _rates(w2: np.ndarray) -> np.ndarray:
    """``s = i w``, or the rate of growth if w^2 < 0."""
    return np.where(w2 >= 0, 1j * np.sqrt(np.abs(w2)), np.sqrt(np.abs(w2)))


def _is_damped(model: LinearModel, damped: bool) -> bool:
    return damped and (model.skew is not None or model.Lambda.nnz > 0)


def _dense_undamped(model: LinearModel) -> tuple[np.ndarray, np.ndarray]:
    sep, zero = separate(model), model.zero_motions
    zero = zero.toarray() if zero.shape[1] else np.zeros(zero.shape)  # SciPy would make two other matrices first
    nr = len(sep.r)
    if nr == model.size:  # all coordinates carry mass
        w2, shapes = beside(model.K.toarray(), model.M.toarray(), zero)
        return _rates(w2), shapes
    k = (sep.T.T @ model.K @ sep.T).toarray()
    m = (sep.T.T @ model.M @ sep.T).toarray()[:nr, :nr]
    massless = slice(nr, None)
    # massless damped coordinates may lack stiffness; they then follow no static law and do not move
    follow = (
        -np.linalg.pinv(k[massless, massless], hermitian=True, rcond=left_by_rounding(model.size)) @ k[massless, :nr]
    )
    zero = np.linalg.solve(sep.T.toarray(), zero)[:nr]
    w2, phi = beside(k[:nr, :nr] + k[:nr, massless] @ follow, m, zero)
    return _rates(w2), sep.T @ np.vstack([phi, follow @ phi])


def _dense_damped(model: LinearModel) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    none = np.zeros(0, dtype=int)
    c = condense(model, none, none)
    ss = full_state_space(model, inputs=[], outputs=[])
    a, _, _ = ss.scaled()
    nr, nd = len(c.sep.r), len(c.sep.d)
    flow = np.linalg.solve(c.sep.T.toarray(), flows(model))
    turn, count = None, flow.shape[1]
    if count:  # charges that have flowed exert no force, so only their rates are states
        still = in_echelon(ss.scaling[1] @ np.vstack([flow[:nr], 0.0 * flow[:nr], flow[nr : nr + nd]]))
        turn = np.linalg.qr(still, mode="complete")[0]
        turned = turn.T @ a @ turn
        a = turned[count:, count:]
    if model.skew is None:
        s, v = np.linalg.eig(a)
    else:
        s, v, moved, met = eigen_of_pairs(a)
    # a free coordinate has the double eigenvalue 0, which rounding splits; one of a conjugate pair is enough
    s[np.argsort(np.abs(s), kind="stable")[: ss.zeros - count]] = 0.0
    if turn is not None:
        carried = np.zeros((count, len(s)), dtype=complex)
        np.divide(turned[:count, count:] @ v, s, out=carried, where=s != 0, dtype=complex)
        v = turn @ np.vstack([carried, v])
    v = ss.scaling[0] @ v
    own = np.vstack([v[:nr], v[2 * nr : 2 * nr + nd]])
    shapes = c.expand @ own + c.expand_rates @ (s * own)
    keep = s.imag >= 0
    s, shapes = s[keep], shapes[:, keep]
    if model.skew is None:
        shapes = purged(model, s, shapes)
        s, moved, hidden = refined(model, s, shapes, shapes)
    else:
        s, moved, hidden = decided(model, s, moved[keep] * terms_in_noise(model), met[keep])
    return s, shapes, (moved, hidden)
