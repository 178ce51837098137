"""Zero-stiffness motions of a state space: their names, and how many poles at zero they give."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from ...linear.linear_model import LinearModel
from ...linear.zero_motions import divided
from ...numerics.precision import NOTHING
from ...statics.stability import describe, readable
from .massless import Condensed


def free_motions(model: LinearModel, c: Condensed, shapes: np.ndarray) -> tuple[tuple[str, ...], int]:
    """Names of the zero-stiffness motions of a model, and the number of poles at zero that they give.

    ``shapes`` (r, r) are the undamped shapes of unit mass of its condensed equations.
    """
    null = model._curvatures.null.toarray()
    if not null.shape[1]:
        return (), 0
    motions = divided(model)[1].toarray()
    names = tuple(describe(x / model.scale, model.coordinates, model.scale) for x in readable(motions))
    moved, scale = null / model.scale[:, None], model.scale
    if model.constraints.shape[0]:
        inner, place = model.reduced[0], {name: k for k, name in enumerate(model.coordinates)}
        moved, scale = moved[[place[name] for name in inner.coordinates]], inner.scale
    nr = len(c.sep.r)
    moved = np.linalg.solve(c.sep.T.toarray(), moved)[: len(c.K)]
    mass, damping = moved[:nr].T @ c.M @ moved[:nr], moved.T @ c.Lambda @ moved
    heavy = np.linalg.norm(scale[c.sep.r, None] * moved[:nr], axis=0) > NOTHING
    if model.skew is None:
        size = np.sqrt(np.where(heavy, np.diag(mass), np.diag(damping)))
        decay = np.linalg.eigvalsh(damping / (size * size[:, None]))
    else:
        decay = _decays(model, c, moved, heavy)
    fastest = sl.norm(shapes.T @ c.Lambda[:nr, :nr] @ shapes)
    undamped = np.count_nonzero(np.abs(decay) <= NOTHING * max(float(fastest), 1e-300))
    return names, len(decay) + int(undamped)


def _decays(model: LinearModel, c: Condensed, moved: np.ndarray, heavy: np.ndarray) -> np.ndarray:
    """How fast velocity forces turn or stop zero-stiffness motions (r + d, m): singular values (m,) in 1/s.

    A motion stops if its velocity pushes along a motion without stiffness from the left; with a circulatory part these are other
    motions.
    """
    nr = len(c.sep.r)
    left = moved
    if model.skew.circulates:
        left = np.linalg.svd(c.K.T)[2][len(c.K) - moved.shape[1] :].T
    push = c.Lambda @ moved
    size = np.where(heavy, np.sqrt(np.abs(np.diag(moved[:nr].T @ c.M @ moved[:nr]))), np.linalg.norm(push, axis=0))
    size = np.where(size > 0.0, size, 1.0)
    mass = np.sum(left[:nr] * (c.M @ left[:nr]), axis=0)
    by_mass = np.sqrt(np.where(mass > NOTHING * np.abs(c.M).max(initial=0.0), mass, 1.0))
    sizes = size if left is moved else by_mass
    return np.linalg.svd((left.T @ push) / (size * sizes[:, None]), compute_uv=False)
