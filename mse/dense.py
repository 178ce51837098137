"""Eigenvectors of small dense matrices."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dsyevd


def eigen(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``A = V diag(w) V^T`` of a symmetric A (n, n), of which the lower triangle counts: w (n,) ascending, V (n, n).

    By SciPy's LAPACK, like all other factors of dense matrices: NumPy's own has threads of its own, and where both kinds wait
    for work at the same time a machine with few processors has none left to work.  Raises LinAlgError where it does not converge.
    """
    if not len(a):
        return np.zeros(0), np.zeros((0, 0))
    w, v, wrong = dsyevd(a, lower=1)
    if wrong:
        raise np.linalg.LinAlgError(f"eigenvalues of a matrix of {len(a)} rows did not converge (LAPACK says {wrong})")
    return w, v
