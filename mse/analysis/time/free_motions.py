"""Zero-stiffness motions of a state space: how they are called, and how many poles at zero they give."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from ...linear.linear_model import LinearModel
from ...numerics.eigen import eigen
from ...statics.stability import describe, readable
from ..modes.zero import uncanceled, zeroed
from .massless import Condensed

_SOFT = 1e-9  # of the largest w^2, and so far above its rounding: what may be zero
_UNDAMPED = 1e-12  # of the largest rate of decay: none


def free_motions(
    model: LinearModel, c: Condensed, rates: np.ndarray, shapes: np.ndarray
) -> tuple[tuple[str, ...], int]:
    """Names of the zero-stiffness motions of a model, and the number of poles at zero that they give.

    ``rates`` (r,) and ``shapes`` (r, r) are the undamped eigenpairs w^2 of its condensed equations, as a dense solver gives
    them: right to rounding of the largest.
    """
    nr = len(c.sep.r)
    soft = shapes[:, np.abs(rates) <= _SOFT * np.abs(rates).max(initial=0.0)] if len(rates) else shapes
    if not soft.shape[1]:
        return (), 0
    follow = -np.linalg.pinv(c.K[nr:, nr:], hermitian=True, rcond=1e-14) @ c.K[nr:, :nr]
    # the same among the soft ones alone is right to rounding of the terms that cancel in their own stiffness
    w2, turn = eigen(soft.T @ (c.K[:nr, :nr] @ soft + c.K[:nr, nr:] @ (follow @ soft)))
    moved = soft @ turn
    moved = np.vstack([moved, follow @ moved])
    motions = c.expand @ moved
    if model.constraints.shape[0]:
        motions = model.reduced[1] @ motions
        zero = zeroed(w2, motions, model, uncanceled(model)) == 0.0
    else:
        zero = zeroed(w2, motions, model) == 0.0
    if not zero.any():
        return (), 0
    decay = np.linalg.eigvalsh(moved[:, zero].T @ c.Lambda @ moved[:, zero])
    fastest = sl.norm(shapes.T @ c.Lambda[:nr, :nr] @ shapes)
    undamped = np.count_nonzero(np.abs(decay) <= _UNDAMPED * max(float(fastest), 1e-300))
    basis = np.linalg.qr(model.scale[:, None] * motions[:, zero])[0]
    names = tuple(describe(x / model.scale, model.coordinates, model.scale) for x in readable(basis))
    return names, len(decay) + int(undamped)
