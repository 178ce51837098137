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


class HeldFactor:
    """Factor of ``[[A, G^T], [G, 0]]``: a symmetric A (n, n) on the space ``G x = 0``, for rows of G (m, n) of unit length.

    A is first stiffened along G, which changes nothing on that space, and the zero block is a small negative number, so that
    dependent rows do no harm (quasi-definite form; R. Vanderbei, SIAM J. Optimization 5 (1995) 100).  ``negative`` counts
    the negative eigenvalues of A on the space, or is None where pivots had to be exchanged.
    """

    def __init__(self, matrix: sp.csc_matrix, held: sp.csr_matrix):
        m, n = held.shape
        self._held, self._size = held, n
        self._matrix = matrix
        self._stiffness = abs(matrix.diagonal()).max(initial=0.0) or 1.0
        small = 1e-9 / self._stiffness
        stiffened = matrix + self._stiffness * (held.T @ held)
        whole = sp.bmat([[stiffened, held.T], [held, -small * sp.identity(m)]], format="csc")
        self._small = small
        self._factor = Factor(whole)
        self.negative = None if self._factor.negative is None else self._factor.negative - m

    @property
    def positive_definite(self) -> bool:
        return self.negative == 0

    def solve(self, right_side: np.ndarray) -> np.ndarray:
        """x (n,) or (n, k) with ``A x + G^T y = right_side, G x = 0``."""
        m, n = self._held.shape
        zero = np.zeros((m, *right_side.shape[1:]))
        both = self._factor.solve(np.concatenate([right_side, zero]))
        for _ in range(2):
            # against the exact equations: takes the small number and the rounding of the stiffening back out
            x, y = both[:n], both[n:]
            pulled = self._held @ x
            left = right_side - self._matrix @ x - self._held.T @ (y + self._stiffness * pulled)
            both = both + self._factor.solve(np.concatenate([left, -pulled]))
        return both[:n]


def scaled_both(matrix: sp.csc_matrix, scale: np.ndarray) -> sp.csc_matrix:
    """``diag(s) A diag(s)`` in csc form, with the pattern of A."""
    columns = np.repeat(scale, np.diff(matrix.indptr))
    data = matrix.data * scale[matrix.indices] * columns
    return sp.csc_matrix((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def absolute_product(matrix: sp.csc_matrix, x: np.ndarray) -> np.ndarray:
    """``|A| x`` of a csc matrix, without a copy of it."""
    return np.bincount(matrix.indices, np.abs(matrix.data) * np.repeat(x, np.diff(matrix.indptr)), matrix.shape[0])


def add_diagonal(matrix: sp.csc_matrix, diagonal: np.ndarray) -> sp.csc_matrix:
    """``A + diag(d)``, in csc form."""
    return (matrix + sp.diags(diagonal, format="csc")).tocsc()
