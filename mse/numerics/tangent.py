"""Motions that constraints allow: the tangent space, the step that restores the constraints, the multipliers that balance.

Coordinates are scaled, so that displacements and rotations are lengths.  Each constraint is divided by the length of its slope,
so that its residual is a distance.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dgeqp3, dorgqr, dtrtrs

from .factor import ConstrainedFactor, Factors
from .options import SIZES
from .precision import NOTHING, independent, left_by_rounding
from .sparse_tools import on_pattern

_BLOCK = 64  # most columns that LAPACK treats together; they determine its work space


def slope_lengths(slopes: sp.csr_matrix) -> np.ndarray:
    """Lengths (m,) of the rows of slopes (m, n)."""
    return _lengths(row_numbers(slopes), slopes.data, slopes.shape[0])


def normalized(slopes: sp.csr_matrix, residual: np.ndarray) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
    """Slopes (m, n) and residuals (m,) divided by the lengths (m,) of rows, and these lengths; empty rows stay."""
    rows = row_numbers(slopes)
    length = unit_lengths(rows, slopes.data, slopes.shape[0])
    return on_pattern(slopes, slopes.data / length[rows]), residual / length, length


def row_numbers(slopes: sp.csr_matrix) -> np.ndarray:
    """The row of each entry."""
    return np.arange(slopes.shape[0]).repeat(slopes.indptr[1:] - slopes.indptr[:-1])


def unit_lengths(rows: np.ndarray, entries: np.ndarray, count: int) -> np.ndarray:
    """Lengths (count,) by which rows are divided, from the row of each entry; one for rows that are tiny."""
    length = _lengths(rows, entries, count)
    return np.where(length > NOTHING * length.max(initial=0.0), length, 1.0)


def _lengths(rows: np.ndarray, entries: np.ndarray, count: int) -> np.ndarray:
    return np.sqrt(np.bincount(rows, entries * entries, count))


class Tangent:
    """The space of steps p with ``G p = 0`` at one point, for slopes G (m, n) with rows of unit length.

    ``factors`` fit slopes of this pattern; ``dense`` has a basis found for large ones, too, which may be given as an array.
    """

    def __init__(self, slopes: sp.csr_matrix | np.ndarray, factors: Factors, *, dense: bool = False):
        self.slopes, self._factors = slopes, factors
        m, n = slopes.shape
        self.dense = dense or n <= SIZES.dense
        if self.dense:
            self._r, q, order = _pivoted(slopes.toarray() if sp.issparse(slopes) else slopes.copy())
            rank = int(np.count_nonzero(independent(np.abs(self._r.diagonal()))))
            self._range, self.basis, self._order = q[:, :rank], q[:, rank:], order
            # G = P R^T Q1^T; if rows depend on others, least squares solutions come from another QR, of R^T (m, rank)
            self._b = None
            if rank < m:
                self._b, self._r = np.linalg.qr(np.triu(self._r)[:rank].T)
        else:
            self.basis = None
            # eps on the diagonal keeps the normal equations of dependent constraints solvable
            self._factor = factors((slopes @ slopes.T).tocsc(), np.full(m, left_by_rounding()))

    @property
    def unique(self) -> bool:
        """Whether no constraint is known to depend on others, so that multipliers are unique."""
        return self.dense and self._range.shape[1] == self.slopes.shape[0]

    def restoring(self, residual: np.ndarray) -> np.ndarray:
        """The shortest step (n,) that makes residuals (m,) zero, to first order."""
        if self.dense:
            if not self._range.shape[1]:
                return np.zeros(self.slopes.shape[1])
            right, transposed = (
                (residual[self._order], 1) if self._b is None else (self._b.T @ residual[self._order], 0)
            )
            return -self._range @ dtrtrs(self._r, right, trans=transposed)[0]
        step = np.zeros(self.slopes.shape[1])
        for _ in range(4):  # removes the regularization
            step -= self.slopes.T @ self._factor.solve(residual + self.slopes @ step)
        return step

    def multipliers(self, gradient: np.ndarray) -> np.ndarray:
        """Multipliers (m,) for which ``gradient + G^T multipliers`` is smallest.

        For dependent constraints they are not unique.  With a dense basis the shortest ones are found; without one,
        :meth:`.rank.Rank.shortest` makes them the shortest.
        """
        if self.dense:
            found = np.zeros(self.slopes.shape[0])
            if self._range.shape[1]:
                along, transposed = self._range.T @ gradient, 0 if self._b is None else 1
                y = dtrtrs(self._r, along, trans=transposed)[0]
                found[self._order] = -y if self._b is None else -self._b @ y
            return found
        found = np.zeros(self.slopes.shape[0])
        left = gradient
        for _ in range(4):
            # by the true residual, since normal equations square the rounding error
            found -= self._factor.solve(self.slopes @ left)
            left = gradient + self.slopes.T @ found
        return found

    def along(self, x: np.ndarray) -> np.ndarray:
        """The part of x (n,) that the constraints allow."""
        if self.dense:
            return self.basis @ (self.basis.T @ x)
        return x + self.slopes.T @ self.multipliers(x)

    def left_of(self, errors: np.ndarray) -> np.ndarray | None:
        """Root mean square (n,) of independent ``errors`` (n,) after projection on this space; None if it would take long."""
        if not self.dense:
            return None
        along = self.basis @ self.basis.T
        return np.sqrt(along**2 @ errors**2)

    def scaled(self, scale: np.ndarray) -> Tangent:
        """The same motions in other coordinates y (n,), ``x = scale y``."""
        slopes = on_pattern(self.slopes, self.slopes.data * scale[self.slopes.indices])
        return Tangent(normalized(slopes, np.zeros(slopes.shape[0]))[0], self._factors)

    def factor(self, matrix: sp.csc_matrix) -> ConstrainedFactor:
        """Factor of a symmetric matrix (n, n) on this space."""
        return self._factors.constrained(matrix, self.slopes)


def _pivoted(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``A^T P = Q R`` of rows (m, n): R (n, m), on and above its diagonal, orthogonal Q (n, n), and P as numbers (m,).

    Calls LAPACK directly: for small matrices, checks and the query for work space take longer.
    """
    m, n = a.shape
    if n == 0:  # LAPACK complains on the terminal
        return np.zeros((0, m)), np.zeros((0, 0)), np.arange(m)
    room = _BLOCK * (max(m, n) + 1)
    r, order, reflections, *_ = dgeqp3(a.T, lwork=2 * m + room, overwrite_a=True)
    q = np.zeros((n, n), order="F")
    q[:, :m] = r[:, :n]
    return r, dorgqr(q, reflections, lwork=room, overwrite_a=True)[0], order - 1
