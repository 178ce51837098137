"""Stability where the stiffness does not decide it, by the eigenvalues of (M, Lambda, K) with all their skew parts."""

from __future__ import annotations

import numpy as np

from ...errors import ModelError
from ...linear.linear_model import LinearModel
from ...linear.zero_motions import divided
from ...statics.stability import GrowingMotion, Growth, Motions, describe, without_traces
from ...statics.working_point import WorkingPoint
from .mode import Mode, Modes
from .modes import modes


def growth(wp: WorkingPoint) -> Growth:
    """Which motions about a working point grow, of which that is not determined, and which are free.

    Without a circulatory part motions that have stiffness do not grow, whatever is damped and spins (W. Thomson, P. Tait,
    Treatise on Natural Philosophy, 1879, art. 345); without any skew part all others do.
    """
    model, by_stiffness = wp.linearize(), wp._sorted
    settled = model.skew is None or not (model.skew.circulates or by_stiffness.unstable or by_stiffness.undetermined)
    if settled:
        return Growth(by_stiffness.unstable, by_stiffness.undetermined, by_stiffness.free, "")
    try:
        found = modes(model, damped=True, progress=False)
    except ModelError as error:  # of what has no damped modes
        return Growth((), (), _free(model), str(error))
    return Growth(_motions(model, found, found.unstable), _motions(model, found, found.undetermined), _free(model), "")


def _free(model: LinearModel) -> Motions:
    _, null, local = divided(model)
    unknown = np.zeros(model.size)
    return Motions(null, local, model.coordinates, model.scale, unknown if model.noise is None else model.noise)


def _motions(model: LinearModel, found: Modes, which: np.ndarray) -> tuple[GrowingMotion, ...]:
    at = np.flatnonzero(which)
    _, first = np.unique(found.eigenvalues[at], return_index=True)  # those that meet have one shape
    return tuple(_motion(model, found[k], float(found.uncertainties_hz[k])) for k in at[np.sort(first)].tolist())


def _motion(model: LinearModel, mode: Mode, uncertain_hz: float) -> GrowingMotion:
    """A mode as a motion, turned in phase so that the coordinate that moves most is farthest in its real part."""
    size = mode.vector * model.scale
    vector = without_traces(mode.vector / mode.vector[np.argmax(np.abs(size))])
    vector = vector.real if not np.any(without_traces(vector).imag) else vector
    name = describe(vector.real, model.coordinates, model.scale)
    at = np.flatnonzero(vector)
    moved = tuple(model.coordinates[i] for i in at)
    return GrowingMotion(
        name, at, vector[at] / vector[np.argmax(np.abs(vector))], len(vector), np.nan, np.nan, moved, mode.eigenvalue,
        2 * np.pi * uncertain_hz,
    )  # fmt: skip
