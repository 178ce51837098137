"""Zero-stiffness motions of a state space: their names, and how many poles at zero they give."""

from __future__ import annotations

import numpy as np

from ...linear.linear_model import LinearModel
from ...linear.zero_motions import divided
from ...numerics.precision import NOTHING
from ...statics.stability import describe, readable
from .massless import Condensed


def free_motions(model: LinearModel, c: Condensed) -> tuple[tuple[str, ...], int]:
    """Names of the zero-stiffness motions of a model, and the number of poles at zero that they give."""
    null = model._curvatures.null.toarray()
    if not null.shape[1]:
        return (), 0
    motions = divided(model)[1].toarray()
    names = tuple(describe(x / model.scale, model.coordinates, model.scale) for x in readable(motions))
    moved = null / model.scale[:, None]
    if model.constraints.shape[0]:
        inner, place = model.reduced[0], {name: k for k, name in enumerate(model.coordinates)}
        moved = moved[[place[name] for name in inner.coordinates]]
    moved = np.linalg.solve(c.sep.T.toarray(), moved)[: len(c.K)]
    undamped = np.count_nonzero(_decays(model, c, moved) <= NOTHING)
    return names, moved.shape[1] + int(undamped)


def _decays(model: LinearModel, c: Condensed, moved: np.ndarray) -> np.ndarray:
    """How far velocity forces turn or stop zero-stiffness motions (r + d, m): singular values (m,), relative to their terms.

    A motion stops if its velocity pushes along a motion without stiffness from the left; with a circulatory part these are other
    motions.
    """
    left = moved
    if model.skew is not None and model.skew.circulates:
        left = np.linalg.svd(c.K.T)[2][len(c.K) - moved.shape[1] :].T
    damping, terms = left.T @ c.Lambda @ moved, np.abs(left).T @ np.abs(c.Lambda) @ np.abs(moved)
    for axis in (1, 0):  # motions may have any units, and damp as fast or slowly as they like
        size = terms.max(axis=axis, keepdims=True)
        size[size == 0.0] = 1.0
        damping, terms = damping / size, terms / size
    return np.linalg.svd(damping, compute_uv=False)
