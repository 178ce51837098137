"""Sparse symmetric factorisation with its inertia, on SciPy's SuperLU."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

# Below this size a dense eigendecomposition is faster than any sparse detour.
DENSE_LIMIT = 300


def start_vector(n: int) -> np.ndarray:
    """The same start for every Lanczos search (n,), so that results do not change from run to run."""
    return np.random.default_rng(0).standard_normal(n)


class Factor:
    """``L D L^T`` of a symmetric matrix, in the form of an LU without row exchanges.

    ``negative`` counts the negative eigenvalues by Sylvester's law of inertia, or is None where a pivot had to be
    exchanged, so that the count would not hold.  Raises RuntimeError for an exactly singular matrix.
    """

    def __init__(self, matrix: sp.csc_matrix):
        self._lu = splu(
            matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True, "Equil": False}
        )
        unpivoted = np.array_equal(self._lu.perm_r, self._lu.perm_c)
        self.negative = int(np.count_nonzero(self._lu.U.diagonal() < 0)) if unpivoted else None

    @property
    def positive_definite(self) -> bool:
        return self.negative == 0

    def solve(self, right_side: np.ndarray) -> np.ndarray:
        return self._lu.solve(right_side)


def add_diagonal(matrix: sp.csc_matrix, diagonal: np.ndarray) -> sp.csc_matrix:
    """``A + diag(d)``, in csc form."""
    return (matrix + sp.diags(diagonal, format="csc")).tocsc()
