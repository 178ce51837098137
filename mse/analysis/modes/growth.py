"""Stability if the stiffness does not decide it: by the eigenvalues of (M, Lambda, K) with all their skew parts."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

from ...errors import ModelError
from ...linear.linear_model import LinearModel
from ...linear.zero_motions import divided
from ...numerics.factor import UnsymmetricFactor
from ...numerics.precision import APART
from ...numerics.sparse_tools import start_vector
from ...statics.stability import GrowingMotion, Growth, Motions, Stability, describe, without_traces
from ...validation.matrices import negative
from .find import all_at_once, modes
from .result import Mode, Modes

_FEW, _MOST = 20, 40  # lowest modes of large models that are computed, at first and at most

# Of one search: tests/analysis/modes/test_growth.py passes with 3; without a limit a row of 3,400 bodies does not end.
_RESTARTS = 10

# tests/analysis/modes/test_growth.py passes with 0.01 and 100 times this:
_SLIGHT = 1e-2  # relative to frequency: a large model is called stable if all higher motions grow less


def growth(model: LinearModel) -> Growth:
    """Which motions of a model grow, which may grow, and which are free.

    If nothing circulates and no damping feeds, motions with positive stiffness do not grow, whatever is damped or spins (W.
    Thomson, P. Tait, Treatise on Natural Philosophy, 1879, art. 345).  Without any skew part, all motions with negative
    stiffness do.
    """
    circulates = model.skew is not None and model.skew.circulates
    try:
        if circulates and all_at_once(model, damped=True):  # signs of curvatures decide nothing then
            return _of_all(model)
        found = (model.symmetric if circulates else model)._curvatures
        by_stiffness = Stability(found, model.coordinates, model.scale, model._stiffness_noise / model.scale**2)
        feeds = negative(model.symmetric.Lambda) is not None
        spins = model.skew is not None
        if not feeds and not (spins and (circulates or by_stiffness.unstable or by_stiffness.undetermined)):
            return Growth(by_stiffness.unstable, by_stiffness.undetermined, by_stiffness.free)
        if all_at_once(model, damped=True):
            return _of_all(model)
        return _of_lowest(model, held=not (feeds or by_stiffness.negative_motions.shape[1]))
    except ModelError as error:  # of what has no damped modes
        return Growth((), (), _free(model), str(error))


def _of_all(model: LinearModel) -> Growth:
    found = modes(model, damped=True, progress=False)
    return Growth(_motions(model, found, found.unstable), _motions(model, found, found.undetermined), _free(model))


def _of_lowest(model: LinearModel, *, held: bool) -> Growth:
    """:func:`growth` of a large model: by its lowest modes, and a bound on the growth of all others.

    For a motion v with ``v^H M v = 1``, ``s v^H P(s) v = 0`` gives ``Re s (|s|^2 + k) = -c Im s - |s|^2 d``.  Here k >= 0 if
    the symmetric stiffness is ``held``, d >= 0, and c (from the circulatory part) is at most its largest eigenvalue relative to
    M.  So ``Re s <= c/|s|``, whatever spins.
    """
    push, count, highest = _largest_push(model), _FEW, 0.0
    unstable, undetermined = [], []
    while True:
        try:
            found = modes(model, count, damped=True, progress=False, restarts=_RESTARTS)
        except ModelError as error:
            reason = _given_up(str(error), push if held else np.inf, highest)
            return Growth((), tuple(undetermined), _free(model), reason)
        size, new = np.abs(found.eigenvalues), np.abs(found.eigenvalues) > highest * (1.0 + APART)
        highest = size.max(initial=0.0)
        unstable += _motions(model, found, new & found.unstable)
        undetermined += _motions(model, found, new & found.undetermined)
        reason, fastest = "; ".join(found.notes[1:]), push / highest if highest else np.inf
        settled = found.complete or (held and fastest <= _SLIGHT * highest)
        if unstable or reason or settled or count >= _MOST:
            break
        count *= 2
    if unstable:
        return Growth(tuple(unstable), tuple(undetermined), _free(model))
    beyond = ""
    if not found.complete:
        beyond = f"motions above {highest / (2 * np.pi):.6g} Hz grow by at most {fastest:.1e} 1/s, if at all"
    if not reason and not settled:
        reason = "its symmetric stiffness and damping do not hold it, and it is too large to compute all modes"
        reason = beyond if held else reason
    return Growth((), tuple(undetermined), _free(model), reason, "" if reason else beyond)


def _given_up(error: str, push: float, highest: float) -> str:
    """What is known after a search for modes was given up; modes up to ``highest`` (1/s) are known from the search before."""
    looked = "no motion is known to be stable"
    if highest:
        looked = f"none up to {highest / (2 * np.pi):.6g} Hz is known to grow"
        if np.isfinite(push):
            looked += f", others grow by at most {push / highest:.1e} 1/s, if at all"
    return f"{error}; {looked}; ask for linearize().modes(count, damped=True), which searches on, or reduce the model"


def _largest_push(model: LinearModel) -> float:
    """The largest eigenvalue (1/s2) of the circulatory stiffness relative to M; infinite if it acts on a massless motion.

    Also infinite if the largest ones are so close together that the search does not end.
    """
    n = model.size
    k = model.K.tocsc()
    skew = (0.5 * (k - k.T)).tocsc()
    try:
        mass = UnsymmetricFactor(model.M.tocsc())
    except RuntimeError:  # singular
        return np.inf
    # the square of the matrix is symmetric relative to M; its eigenvalues are the squares
    square = LinearOperator((n, n), matvec=lambda x: -mass.solve(skew @ mass.solve(skew @ np.ravel(x))), dtype=float)
    try:
        found = eigs(square, k=1, v0=square @ start_vector(n), return_eigenvectors=False, maxiter=_RESTARTS)
    except ArpackNoConvergence:
        return np.inf
    return float(np.sqrt(np.abs(found[0])))


def _free(model: LinearModel) -> Motions:
    _, null, local = divided(model)
    unknown = np.zeros(model.size)
    return Motions(null, local, model.coordinates, model.scale, unknown if model._noise is None else model._noise)


def _motions(model: LinearModel, found: Modes, which: np.ndarray) -> tuple[GrowingMotion, ...]:
    """Modes as motions with uncertain eigenvalues."""
    at = np.flatnonzero(which)
    shapes = found.shapes[:, at]
    shapes = shapes / np.linalg.norm(shapes, axis=0)
    same = np.equal.outer(found.eigenvalues[at], found.eigenvalues[at]) & (
        np.abs(shapes.conj().T @ shapes) >= 1.0 - APART
    )
    first = at[~np.triu(same, 1).any(axis=0)]  # of those that coincide in eigenvalue and shape
    return tuple(_motion(model, found[k], 2 * np.pi * float(found.uncertainties_hz[k])) for k in first.tolist())


def _motion(model: LinearModel, mode: Mode, uncertainty: float) -> GrowingMotion:
    """A mode as a motion, rotated in phase so that its real part shows the largest coordinate at its farthest."""
    size = mode.vector * model.scale
    vector = without_traces(mode.vector / mode.vector[np.argmax(np.abs(size))])
    vector = vector.real if not np.any(without_traces(vector).imag) else vector
    name = describe(vector.real, model.coordinates, model.scale)
    at = np.flatnonzero(vector)
    moved = tuple(model.coordinates[i] for i in at)
    return GrowingMotion(
        name, at, vector[at] / vector[np.argmax(np.abs(vector))], len(vector), np.nan, np.nan, moved, mode.eigenvalue,
        uncertainty,
    )  # fmt: skip
