"""Motions that constraints allow: the tangent space, the step that restores the constraints, the multipliers that balance.

Everything is in scaled coordinates, in which one length serves for displacements and rotations, and with each constraint
divided by the length of its slope, so that a residual is a distance.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from .factor import ConstrainedFactor, Factors
from .options import SIZES
from .precision import NOTHING, independent, left_by_rounding
from .sparse_tools import on_pattern


def slope_lengths(slopes: sp.csr_matrix) -> np.ndarray:
    """Lengths (m,) of the rows of slopes (m, n)."""
    return np.sqrt(np.bincount(_rows(slopes), slopes.data * slopes.data, slopes.shape[0]))


def normalized(slopes: sp.csr_matrix, residual: np.ndarray) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
    """Slopes (m, n) and residuals (m,) with rows of unit length, and the lengths (m,) they had; empty rows stay."""
    length = slope_lengths(slopes)
    length = np.where(length > NOTHING * length.max(initial=0.0), length, 1.0)
    return on_pattern(slopes, slopes.data / length[_rows(slopes)]), residual / length, length


def _rows(slopes: sp.csr_matrix) -> np.ndarray:
    """The row of each entry."""
    return np.repeat(np.arange(slopes.shape[0]), np.diff(slopes.indptr))


class Tangent:
    """The space of steps p with ``G p = 0`` at one point, for slopes G (m, n) with rows of unit length.

    ``factors`` serve for slopes of this pattern.
    """

    def __init__(self, slopes: sp.csr_matrix, factors: Factors):
        self.slopes, self._factors = slopes, factors
        m, n = slopes.shape
        self.dense = n <= SIZES.dense
        if self.dense:
            q, r, order = sl.qr(slopes.toarray().T, pivoting=True)
            rank = int(np.count_nonzero(independent(np.abs(np.diag(r)))))
            self._range, self.basis, self._order = q[:, :rank], q[:, rank:], order
            # G = P B Q1^T with B (m, rank) of full column rank; its own QR gives the least squares solutions
            self._b, self._r = np.linalg.qr(r[:rank].T)
        else:
            self.basis = None
            # rounding on the diagonal keeps the normal equations of dependent constraints solvable
            self._factor = factors((slopes @ slopes.T).tocsc(), np.full(m, left_by_rounding()))

    @property
    def unique(self) -> bool:
        """Whether it is known that no constraint depends on others, so that there are no other multipliers."""
        return self.dense and self._range.shape[1] == self.slopes.shape[0]

    def restoring(self, residual: np.ndarray) -> np.ndarray:
        """The shortest step (n,) that takes residuals (m,) back to zero, to first order."""
        if self.dense:
            if not self._range.shape[1]:
                return np.zeros(self.slopes.shape[1])
            y = sl.solve_triangular(self._r, self._b.T @ residual[self._order])
            return -self._range @ y
        step = np.zeros(self.slopes.shape[1])
        for _ in range(4):  # takes the regularization back out
            step -= self.slopes.T @ self._factor.solve(residual + self.slopes @ step)
        return step

    def multipliers(self, gradient: np.ndarray) -> np.ndarray:
        """Multipliers (m,) for which ``gradient + G^T multipliers`` is as small as it gets.

        Those of dependent constraints are not unique; :meth:`.rank.Rank.shortest` makes them so.
        """
        if self.dense:
            found = np.zeros(self.slopes.shape[0])
            if self._range.shape[1]:
                found[self._order] = -self._b @ sl.solve_triangular(self._r, self._range.T @ gradient, trans="T")
            return found
        found = np.zeros(self.slopes.shape[0])
        left = gradient
        for _ in range(4):
            # from the true residual, as normal equations square the rounding error
            found -= self._factor.solve(self.slopes @ left)
            left = gradient + self.slopes.T @ found
        return found

    def along(self, x: np.ndarray) -> np.ndarray:
        """The part of x (n,) that the constraints allow."""
        if self.dense:
            return self.basis @ (self.basis.T @ x)
        return x + self.slopes.T @ self.multipliers(x)

    def factor(self, matrix: sp.csc_matrix) -> ConstrainedFactor:
        """Factor of a symmetric matrix (n, n) on this space."""
        return self._factors.constrained(matrix, self.slopes)
