"""Damped eigenvalues by Rayleigh quotients, their possible errors, and how many of them can grow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as sl

from ...linear.linear_model import LinearModel
from ...numerics.sparse_tools import weighted_squares
from ...validation.matrices import negative
from .result import hidden_growth


class Refined(NamedTuple):
    """Eigenvalues s (k,), possible errors ``moved`` (k,) in 1/s, and for which it is not known whether they grow."""

    s: np.ndarray
    moved: np.ndarray
    hidden: np.ndarray


def parted(model: LinearModel, s: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Oscillating eigenvalues s (k,) and shapes x (n, k) by ``A z = s B z`` on the span of ``z = (x, s x)``; and how far s moved.

    ``A = [[-K, 0], [0, M]]`` and ``B = [[Lambda, M], [M, 0]]`` are symmetric, up to ``model.mirror``.  The error of values is the
    square of that of the vectors, even for equal frequencies, whose vectors a search mixes.  See the same article, section 3.4.
    """
    at, moved = np.flatnonzero(s.imag != 0.0), np.zeros(len(s))
    if model.mirror is None or not len(at):
        return s, x, moved
    old, v = s[at], x[:, at]
    m, c, k = ((model.mirror[:, None] * v).T @ (a @ v) for a in (model.M, model.Lambda, model.K))
    new, turn = sl.eig(old[:, None] * m * old - k, c + old[:, None] * m + m * old)
    if not np.all(new.imag > 0.0):  # near critical damping rounding may exchange eigenvalues
        return s, x, moved
    s, x = s.copy(), x.copy()
    s[at], x[:, at], moved[at] = new, v @ turn, np.abs(new[:, None] - old).min(axis=1)
    return s, x, moved


def purged(model: LinearModel, s: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Shapes x (n, k) of oscillating s (k,), with ``Z^T (s M + Lambda) x = 0`` for the motions Z without stiffness.

    Dense solvers leave some of Z in x, since the many equal eigenvalues at zero have few vectors.
    """
    z = model.zero_motions.toarray()
    swinging = np.flatnonzero(s.imag > 0.0)
    if not z.shape[1] or not len(swinging):
        return x
    x, zm, zc = x.astype(complex), (model.M @ z).T, (model.Lambda.T @ z).T
    for k in swinging:
        a = s[k] * zm + zc
        x[:, k] -= z @ np.linalg.lstsq(a @ z, a @ x[:, k], rcond=None)[0]
    return x


def refined(model: LinearModel, s: np.ndarray, x: np.ndarray, y: np.ndarray) -> Refined:
    """``y^T P(s) x = 0`` solved for s, with ``P(s) = s^2 M + s Lambda + K``, by one Newton step from each s (k,).

    The error of s is then the product of the errors of x (n, k) and of the left vectors y (n, k), which are x if the matrices
    are symmetric: F. Tisseur, K. Meerbergen, SIAM Review 43 (2001) 235, section 2.  Before, it was as large as the step.  The
    change of s by rounding of K is added to the step.
    """
    s = s.astype(complex)
    m, c, k = (np.einsum("ij,ij->j", y, a @ x) for a in (model.M, model.Lambda, model.K))
    left, slope = np.where(s == 0, 0.0, k + s * (c + s * m)), c + 2.0 * s * m
    rounding = np.sqrt(np.prod([weighted_squares(model._stiffness_noise, np.abs(v)) for v in (x, y)], axis=0))
    # the step may lead to another root if one is close, as at critical damping and at the onset of flutter
    discriminant = np.abs(slope) ** 2 - 4.0 * np.abs(m) * np.maximum(np.abs(left), rounding)
    met = discriminant <= 0.0
    step = np.divide(left, slope, out=np.zeros(len(s), complex), where=~met)
    step.imag[s.imag == 0.0] = 0.0
    moved = np.abs(step) + np.divide(2.0 * rounding, np.abs(slope), out=np.zeros(len(s)), where=~met)
    apart = np.divide(np.abs(left) + rounding, np.abs(m), out=np.zeros(len(s)), where=met & (m != 0.0))
    return decided(model, s - step, moved + 2.0 * np.sqrt(apart), met)


def decided(model: LinearModel, s: np.ndarray, moved: np.ndarray, met: np.ndarray) -> Refined:
    """Which eigenvalues s (k,), uncertain by ``moved`` (k,), grow: no more than can; those that swing forever get no growth.

    Eigenvalues that have ``met`` (k,) others may be split by rounding.
    """
    held = np.zeros(len(s), dtype=bool)
    if (most := most_growing(model)) is not None:
        held[np.argsort(-s.real, kind="stable")[most:]] = True
    s = np.where(held & (s.real > 0.0), 1j * s.imag, s)
    return Refined(s, moved, hidden_growth(s, moved, met) & ~held)


def most_growing(model: LinearModel) -> int | None:
    """How many motions can grow, at most; None if that does not follow from the signs of the matrices.

    If nothing circulates and damping feeds nothing, whatever spins, no more motions grow than K has negative curvatures
    (W. Thomson, P. Tait, Treatise on Natural Philosophy, 1879, art. 345).
    """
    if (model.skew is not None and model.skew.circulates) or negative(model.symmetric.Lambda) is not None:
        return None
    found = model._curvatures
    return found.negative.shape[1] + found.doubts
