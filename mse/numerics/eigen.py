"""Eigenvectors of small dense matrices."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dsyevd


def eigen(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``A = V diag(w) V^T`` of a symmetric A (n, n), of which the lower triangle counts: w (n,) ascending, V (n, n).

    By LAPACK directly: checks and copies would take longer than the smallest ones.  Raises LinAlgError where it does not
    converge.
    """
    if not len(a):
        return np.zeros(0), np.zeros((0, 0))
    w, v, wrong = dsyevd(a, lower=1)
    if wrong:
        raise np.linalg.LinAlgError(f"eigenvalues of a matrix of {len(a)} rows did not converge (LAPACK says {wrong})")
    return w, v
