"""Eigenpairs at both ends of ``A^-1 M x = nu x`` by the Lanczos method, for a symmetric A and a mass matrix M.

Vectors come in blocks, each made M-orthogonal to all before, with thick restarts.  G. H. Golub, R. Underwood, "The block
Lanczos method for computing eigenvalues", in Mathematical Software III (1977) 361; K. Wu, H. Simon, SIAM J. Matrix Anal. Appl.
22 (2000) 602.

Why not a library: ARPACK, with the same factor, takes 2.1, 2.8 and 0.6 times the processor time for 20 modes of a lattice of
7,680 coordinates, a plate of 15,000 and a chain of 3,000.  It solves for 64, 107 and 141 vectors one by one; blocks of four
need 24, 27 and 54 solutions (wall time: ``python benchmarks/run.py --only matrices``).  If a count shows that a list is
incomplete, this search goes on, where ARPACK begins anew; and it finds modes on both sides of the shift together.  ARPACK is
kept for damped modes (:mod:`mse.analysis.modes.large_damped`), whose matrices are not symmetric.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ..kernels import factor as compiled
from .eigen import eigen
from .ordering import BODY
from .precision import EPS
from .read_only import read_only

_BLOCK = 4  # vectors solved for at once, and equal nu found at once
_ROUNDING = 4.0 * EPS  # a residual below this, relative to the largest nu, is rounding
# Residual relative to nu for pairs that only have to be distinguished: half of the digits of nu are right.
_NEARLY = EPS**0.25

# tests/numerics/test_lanczos.py passes with 0.01 to 100 times each, with two exceptions: with 0.01 of _SKEWED vectors are not
# orthogonal, with ten times it masses are multiplied too often.  With a thousandth of _CONVERGED searches take more blocks,
# with ten thousand times it digits are lost (by benchmarks/margins.py):
_CONVERGED = 1e-11  # residual relative to nu: shapes have this error, nu its square
_SKEWED = 0.03  # ratio of lengths in a block below which orthogonalizing once is not enough
_DECADES = 1.5  # decades by which residuals decrease per block once they converge
# crowded eigenvalues far from the shift took 221 (tests/numerics/test_lanczos.py); solutions that are noise never converge
_MOST_RESTARTS = 1000
_LARGEST = (
    float(np.finfo(float).max) ** 0.25
)  # with a larger nu, smaller ones have no digits; its square does not overflow
_PRODUCTS = 900_000  # multiplications in one product of a long matrix: OpenBLAS starts no threads below a million


def keeps_products(mass: sp.csr_matrix) -> bool:
    """Whether M times the basis is stored, which saves a product per block, if masses couple more than single bodies.

    For masses of bodies only, the product is faster than reading it from memory.
    """
    return mass.nnz > BODY * mass.shape[0]


class Lanczos:
    """A growing space of M-orthonormal vectors (M is (n, n)), and the eigenpairs of ``A^-1 M`` in it.

    ``solve`` maps b (n, k) to ``A^-1 b``; the space has at most ``dimension`` vectors.  It starts from the same vectors every
    time.  M may be singular: coordinates without mass follow the others, and nu = 0 is not sought.  If ``first`` b (n,) is given,
    ``A^-1 b`` is in the space from the start.
    """

    def __init__(
        self,
        solve: Callable[[np.ndarray], np.ndarray],
        mass: sp.csr_matrix,
        dimension: int,
        first: np.ndarray | None = None,
    ):
        self._solve, self._n, self.dimension, self._first = solve, mass.shape[0], dimension, first
        self._mass = read_only(mass)  # a single type for numba
        self._random = np.random.default_rng(0)
        self._basis = np.empty((self._n, 0), order="F")
        self._moved = np.empty((self._n, 0), order="F") if keeps_products(mass) else None  # M times the basis
        self._inner = np.zeros((0, 0))  # A^-1 M in the basis
        self._size = 0  # vectors of the basis that have been multiplied
        self._renewed = 0  # how many of them came before the last fresh start
        self.renew()

    def find(self, below: int, above: int, more: int, restarts: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The ``below`` most negative and ``above`` largest nu, ascending, with vectors (n, k); fewer if M has no more.

        ``more`` further ones above are included, with a few digits right.  RuntimeError if they do not converge within
        ``restarts`` (by default a thousand), as happens if solutions are mostly rounding.
        """
        wanted = below + above + more
        most = 2 * wanted + 12 * _BLOCK + self._size
        self._make_room(most + _BLOCK)
        check = 0 if self._size else 3 * wanted
        left = restarts = _MOST_RESTARTS if restarts is None else restarts
        while True:
            if not self._next.shape[1] and self._size < wanted:
                self.renew()
            if self._next.shape[1]:
                if self._size + self._next.shape[1] > most:
                    if not left:
                        raise RuntimeError(f"Lanczos has not converged after {restarts} restarts")
                    left -= 1
                    dropped = self._restart(below, above + more)
                    check -= dropped  # the next check comes after as many blocks as before
                self._step()
                if not np.abs(self._inner[: self._size, : self._size]).max() <= _LARGEST:
                    raise RuntimeError("A is singular up to rounding: its solutions overflow")
                if self._size < min(check, most - _BLOCK):
                    continue
            nu, s, residual = self._ritz()
            if not self._next.shape[1]:
                break  # the space is invariant, or includes all that has mass
            k = len(nu)
            tight = np.ones(k, dtype=bool)
            tight[below : max(k - above, below)] = False
            tight[: min(below, k)] = True
            loose = ~tight & (np.arange(k) >= k - above - more)
            size = np.abs(nu)
            off = residual / (_CONVERGED * size + _ROUNDING * size.max() + 1e-300)
            worst = max(off[tight].max(initial=0.0), off[loose].max(initial=0.0) * _CONVERGED / _NEARLY)
            if self._renewed:
                # new vectors are not coupled to converged ones, so check that no eigenvector hides in them
                new, turned = eigen(self._inner[self._renewed : self._size, self._renewed : self._size])
                residual = np.linalg.norm(self._coupling[:, self._renewed :] @ turned, axis=0)
                ends = [0, -1] if below else [-1]
                worst = max(worst, np.max(residual[ends] / (_NEARLY * np.abs(new[ends]) + _ROUNDING * size.max())))
            if k >= wanted and worst <= 1.0:
                break
            check = self._size + _BLOCK * int(np.clip(np.ceil(np.log10(max(worst, 1.0)) / _DECADES), 1, 6))
        k = len(nu)
        low = min(below, k)
        some = np.r_[:low, max(k - above - more, low) : k]
        nu, s = nu[some], s[:, some]
        x = self.vectors(s)
        if self._next.shape[1]:
            # one more multiplication by A^-1 M, at no cost here
            x += self._next @ ((self._coupling @ s) / nu)
        return nu, x

    def so_far(self) -> tuple[np.ndarray, np.ndarray]:
        """nu (k,) and vectors (n, k) in the present space, whether converged or not, at whatever point :meth:`find` was left."""
        size = min(self._size, self._coupling.shape[1])  # a block may be half included
        nu, s = eigen(self._inner[:size, :size])
        return nu, self._basis[:, :size] @ s

    def grown(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """nu (k,), ascending, and their vectors in the basis (k, k), after another block; and whether nothing is left to find."""
        self._make_room(self._size + 2 * _BLOCK)
        if self._next.shape[1]:
            self._step()
        nu, s, _ = self._ritz()
        return nu, s, not self._next.shape[1]

    def vectors(self, s: np.ndarray) -> np.ndarray:
        """``V s`` (n, k): vectors from their components s (size, k) in the basis."""
        out = np.empty((self._n, s.shape[1]))
        rows = max(256, _PRODUCTS // max(s.size, 1))
        for a in range(0, self._n, rows):
            np.matmul(self._basis[a : a + rows, : self._size], s, out=out[a : a + rows])
        return out

    def along(self, force: np.ndarray) -> np.ndarray:
        """``V^T b`` (size,) of a force b (n,)."""
        return self._basis[:, : self._size].T @ force

    def renew(self) -> None:
        """Restart with vectors orthogonal to the basis, to find more eigenvectors of equal nu."""
        if self._size:
            # only converged vectors are not coupled to the others
            nu, s, residual = self._ritz()
            self._keep(nu, s, np.flatnonzero(residual <= _CONVERGED * np.abs(nu) + _ROUNDING * np.abs(nu).max()))
        w = self._weighed(self._start())
        if self._first is not None:
            w[:, 0], self._first = self._first, None
        w = self._solve(w)
        w /= np.exp2(np.frexp(np.abs(w).max(axis=0, initial=0.0))[1])
        lengths = np.sqrt(np.maximum(np.einsum("ij,ij->j", w, self._weighed(w)), 0.0))
        w = w[:, lengths > 0.0] / lengths[lengths > 0.0]
        self._next, self._next_mass, _ = self._orthonormal(w, 1.0)
        self._coupling = np.zeros((self._next.shape[1], self._size))
        self._renewed = self._size

    def _start(self) -> np.ndarray:
        return self._random.standard_normal((self._n, _BLOCK))

    def _make_room(self, most: int) -> None:
        if most > self._basis.shape[1]:
            inner = np.zeros((most, most))
            inner[: self._size, : self._size] = self._inner[: self._size, : self._size]
            self._basis, self._inner = self._longer(self._basis, most), inner
            if self._moved is not None:
                self._moved = self._longer(self._moved, most)

    def _longer(self, vectors: np.ndarray, most: int) -> np.ndarray:
        out = np.empty((self._n, most), order="F")
        out[:, : self._size] = vectors[:, : self._size]
        return out

    def _step(self) -> None:
        """Include the next block in the basis, and make the one after it."""
        v, moved, first = self._next, self._next_mass, self._size
        size = first + v.shape[1]
        w = self._solve(moved)
        # first orthogonalize to the vectors it is coupled to; couplings to others are rounding
        coupled = np.flatnonzero(self._coupling.any(axis=0))
        if len(coupled):
            w -= self._basis[:, coupled[0] : first] @ self._coupling[:, coupled[0] :].T
        own = moved.T @ w
        own = 0.5 * (own + own.T)
        w -= v @ own
        self._basis[:, first:size] = v
        if self._moved is not None:
            self._moved[:, first:size] = moved
        self._inner[first:size, :first], self._inner[:first, first:size] = self._coupling, self._coupling.T
        self._inner[first:size, first:size] = own
        self._size = size
        scale = np.abs(own).max() + np.abs(self._coupling).max(initial=0.0)
        self._next, self._next_mass, upper = self._orthonormal(w, scale)
        self._coupling = np.zeros((len(upper), size))
        self._coupling[:, first:] = upper

    def _orthonormal(self, w: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Vectors v (n, k) orthonormal to each other and to the basis, M v, and u (k, columns of w) with ``w = v u``.

        Vectors shorter than rounding of ``scale`` are dropped, since what is left of them may not be in the space, and so are
        vectors that the space has no room for.  If nothing is left, k is 0.
        """
        # solutions of a nearly singular A may be so long that their squares overflow
        unit = np.exp2(np.frexp(np.abs(w).max(initial=0.0))[1])
        w /= unit
        scale, upper = scale / unit, unit * np.eye(w.shape[1])
        for turn in range(4):
            if self._size:
                w -= self.vectors(self._shares(w))
            heavy = self._weighed(w)
            squares, q = eigen(w.T @ heavy)
            lengths = np.sqrt(np.maximum(squares, 0.0))
            kept = lengths > (0.5 if turn else max(_CONVERGED * scale, 1e-13 * lengths.max(initial=0.0)))
            kept[: max(len(kept) - (self.dimension - self._size), 0)] = False
            if not kept.any():  # also if w has no columns
                return w[:, :0], heavy[:, :0], upper[:0]
            turned = q[:, kept] / lengths[kept]
            w, heavy, upper = w @ turned, heavy @ turned, (lengths[kept, None] * q[:, kept].T) @ upper
            if lengths[0] > _SKEWED * lengths[-1] and lengths[0] > _SKEWED * (turn or scale):
                break
        return w, heavy, upper

    def _weighed(self, w: np.ndarray) -> np.ndarray:
        """``M w`` (n, k)."""
        mass = self._mass
        if w.shape[1] != 4:
            return mass @ w
        out = np.empty(w.shape)
        compiled.four_products(mass.indptr, mass.indices, mass.data, np.ascontiguousarray(w), out)
        return out

    def _shares(self, w: np.ndarray) -> np.ndarray:
        """``V^T M w`` (size, k) for w (n, k)."""
        vectors, w = (self._basis, self._weighed(w)) if self._moved is None else (self._moved, w)
        out = np.zeros((self._size, w.shape[1]))
        rows = max(256, _PRODUCTS // max(out.size, 1))
        for a in range(0, self._n, rows):
            out += vectors[a : a + rows, : self._size].T @ w[a : a + rows]
        return out

    def _ritz(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """nu (size,), ascending, their vectors in the basis (size, size), and the lengths (size,) of their residuals."""
        nu, s = eigen(self._inner[: self._size, : self._size])
        return nu, s, np.linalg.norm(self._coupling @ s, axis=0)

    def _restart(self, below: int, above: int) -> int:
        """Keep half of the space or more, the eigenvectors nearest to the wanted ones; returns how many are dropped."""
        nu, s, _ = self._ritz()
        k = len(nu)
        low = min(below + _BLOCK, k // 3) if below else 0
        high = min(max(above + 2 * _BLOCK, k // 2), k - low - _BLOCK)
        self._keep(nu, s, np.r_[:low, k - high : k])
        return k - self._size

    def _keep(self, nu: np.ndarray, s: np.ndarray, kept: np.ndarray) -> None:
        turn = s[:, kept]
        rows = max(256, _PRODUCTS // max(turn.size, 1))
        for a in range(0, self._n, rows):  # in place
            self._basis[a : a + rows, : len(kept)] = self._basis[a : a + rows, : self._size] @ turn
        for a in range(0, len(kept) if self._moved is not None else 0, _BLOCK):  # cheaper than transforming these, too
            b = min(a + _BLOCK, len(kept))
            self._moved[:, a:b] = self._weighed(self._basis[:, a:b])
        self._coupling = self._coupling @ turn
        self._size, self._renewed = len(kept), 0
        self._inner[: self._size, : self._size] = np.diag(nu[kept])
