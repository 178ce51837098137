"""Dense solutions that have only the rounding of the matrix's entries, not of its factor.

They are refined until nothing changes, with residuals in the longest floating-point numbers of the machine: 64 bits of
significand on x86, 113 on some machines, or only 53, which gains less.  In a suspension with beams, whose stiffness ranges over
ten decades, plain factors leave about seven digits of a slow motion, on some processors two.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

_ROUNDING = np.finfo(float).eps
_ROUNDS = 20  # each takes the root of what is too large, so 1e300 becomes 2
_LEAST = np.finfo(float).tiny  # if everything is zero


def solver(a: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """``A^-1 b`` for b (n, k) and a square matrix (n, n); inf or nan if it is singular, which the caller must check."""
    scale = _scale(np.abs(a))
    lu, pivots, _ = sl.lapack.dgetrf(scale[:, None] * a * scale)
    long = sp.csr_matrix(a).astype(np.longdouble)  # mostly zeros, since coordinates are not condensed yet

    def once(b: np.ndarray) -> np.ndarray:
        return scale[:, None] * sl.lapack.dgetrs(lu, pivots, scale[:, None] * b)[0]

    def solve(b: np.ndarray) -> np.ndarray:
        x = once(b)
        if not np.isfinite(x).all():
            return x
        before, size = np.inf, 1.0
        while _ROUNDING < size < 0.5 * before:  # until rounding keeps it from becoming smaller
            step = once((b - long @ x.astype(np.longdouble)).astype(float))
            x = x + step
            before, size = size, np.max(np.abs(step).max(axis=0) / np.abs(x).max(axis=0, initial=_LEAST), initial=0.0)
        return x

    return solve


def _scale(sizes: np.ndarray) -> np.ndarray:
    """What rows and columns of a matrix with entries of these sizes (n, n) are multiplied by, so that all are about one (n,).

    The diagonal of a stiffness decides it.  Without symmetry, or without an energy, entries beside it may be far larger.
    """
    diagonal, most = np.diag(sizes), sizes.max(axis=1, initial=0.0)
    scale = 1.0 / np.sqrt(np.maximum(np.where(diagonal > 0.0, diagonal, most), 1e-300))
    for _ in range(_ROUNDS):
        beside = np.sqrt((sizes * scale * scale[:, None]).max(axis=1, initial=0.0))
        if np.all(beside <= 2.0):
            break
        scale = scale / np.maximum(beside, 1.0)
    return scale
