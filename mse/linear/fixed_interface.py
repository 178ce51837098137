"""The inside of a body with its boundary clamped: the statics and modes that a condensation needs."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..errors import ModelError
from ..numerics.eigen import eigen
from ..numerics.factor import Factor, Factors
from ..numerics.lanczos import Lanczos
from ..numerics.options import SIZES
from ..numerics.precision import apart, carries_mass, left_by_rounding
from ..numerics.sparse_tools import add_diagonal, start_vector

# Relative to the largest stiffness: if a motion meets less, negative and zero stiffnesses are counted
# (tests/linear/test_fixed_interface.py passes with 0.01 and 100 times this).
_SUSPICIOUS = 1e-11
_SEARCHES = 3  # with new start vectors, to find modes of equal frequency


class FixedInterface:
    """The inside of a body with its boundary clamped: statics and modes of K_ii, M_ii, dense if that is quicker."""

    def __init__(self, k: sp.csc_matrix, m: sp.csc_matrix, numbers: np.ndarray):
        self.k, self.m, self.numbers = k, m, numbers
        self.size = k.shape[0]
        diagonal = k.diagonal()
        loose = numbers[diagonal <= 0.0]
        if len(loose):
            shown = ", ".join(map(str, loose[:8])) + (", ..." if len(loose) > 8 else "")
            raise ModelError(
                f"reduce_matrices: K has no positive stiffness at {len(loose)} coordinates inside: {shown}; expected none that "
                "can move while the boundary is clamped; leave them out, or take them into the boundary"
            )
        self._scale = 1.0 / np.sqrt(diagonal)
        grid = sp.diags(self._scale, format="csc")
        scaled = (grid @ k @ grid).tocsc()
        self.dense = self.size <= 2 * SIZES.dense or scaled.nnz > 0.1 * self.size**2
        if self.dense:
            values, vectors = eigen(scaled.toarray()) if self.size else (np.ones(1), np.zeros((0, 1)))
            count = int(np.count_nonzero(values < left_by_rounding(self.size)))
            if count:
                raise self._mechanism(count, vectors[:, 0])
            self._cholesky = scipy.linalg.cho_factor(scaled.toarray()) if self.size else None
        else:
            self._factors = Factors()
            self._factor = self._checked_factor(scaled)

    def _checked_factor(self, scaled: sp.csc_matrix) -> Factor:
        """The factor of the scaled stiffness; ModelError if it is singular or indefinite."""
        try:
            factor = self._factors(scaled)
            x = factor.solve(start_vector(self.size))
            for _ in range(2):
                x = factor.solve(x / np.linalg.norm(x))
            if factor.positive_definite and np.linalg.norm(x) < 1.0 / _SUSPICIOUS:
                return factor
        except RuntimeError:
            factor, x = None, None
        shifted = self._factors(add_diagonal(scaled, np.full(self.size, -left_by_rounding())))
        if shifted.negative == 0 and factor is not None:
            return factor
        if x is None or not np.all(np.isfinite(x)):
            x = shifted.solve(start_vector(self.size))
        raise self._mechanism(shifted.negative, x)

    def _mechanism(self, count: int | None, x: np.ndarray) -> ModelError:
        where = self.numbers[int(np.argmax(np.abs(x)))]
        return ModelError(
            f"reduce_matrices: {count or 'some'} motions inside have no positive stiffness while the boundary is clamped "
            f"(one is largest at coordinate {where}); expected a positive definite stiffness inside; take into the boundary "
            "what holds the body, and remove loose parts"
        )

    def solve(self, load: np.ndarray) -> np.ndarray:
        """``K_ii^-1 f`` (i, c), with one step of iterative refinement."""
        x = self._once(load)
        return x + self._once(load - self.k @ x)

    def _once(self, load: np.ndarray) -> np.ndarray:
        scale = self._scale.reshape(-1, *(1,) * (load.ndim - 1))
        right = load * scale
        if not right.size:
            return right
        if self.dense:
            return scipy.linalg.cho_solve(self._cholesky, right) * scale
        return self._factor.solve(np.ascontiguousarray(right)) * scale

    def modes(self, count: int | None, up_to_hz: float | None) -> tuple[np.ndarray, np.ndarray, float]:
        """``K phi = w^2 M phi`` for the lowest: w^2 (c,), phi (i, c) of unit modal mass, and w^2 of the next or infinity."""
        limit = np.inf if up_to_hz is None else (2 * np.pi * up_to_hz) ** 2
        wanted = count
        if wanted is None and not self.dense:
            wanted = self._count_below(limit)
        if self.dense or wanted is None or wanted + 1 >= self.size:
            rates, shapes = self._all_modes()
        else:
            rates, shapes = self._lowest(wanted + 1)
        if count is None:
            count = int(np.count_nonzero(rates <= limit))
        if count > len(rates):
            raise too_many_modes(count, len(rates))
        return rates[:count], shapes[:, :count], float(rates[count]) if count < len(rates) else np.inf

    def _all_modes(self) -> tuple[np.ndarray, np.ndarray]:
        if not self.size:
            return np.zeros(0), np.zeros((0, 0))
        # eigenvalues are 1/w^2 with K as the definite matrix, since M may not be definite
        grid = self._scale
        flexibility, shapes = scipy.linalg.eigh(
            self.m.toarray() * np.outer(grid, grid), self.k.toarray() * np.outer(grid, grid)
        )
        flexibility, shapes = flexibility[::-1], shapes[:, ::-1]
        moves = carries_mass(flexibility, flexibility[0], self.size)
        rates = 1.0 / flexibility[moves]
        return rates, shapes[:, moves] * grid[:, None] * np.sqrt(rates)

    def _lowest(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        search = Lanczos(self._once, self.m.tocsr(), self.size)
        for _ in range(_SEARCHES):
            flexibility, shapes = search.find(0, count, 0)
            rates, shapes = 1.0 / flexibility[::-1], shapes[:, ::-1]
            if self._complete(rates):
                return rates, shapes / np.sqrt(np.sum(shapes * (self.m @ shapes), axis=0))
            search.renew()  # some modes have equal frequencies: search again from a new start
        raise ModelError(
            f"reduce_matrices: the search for {count - 1} modes missed some between {np.sqrt(rates[0]) / (2 * np.pi):.6g} and "
            f"{np.sqrt(rates[-1]) / (2 * np.pi):.6g} Hz; expected all of them; ask for a few more modes"
        )

    def _count_below(self, limit: float) -> int | None:
        """Number of modes with a lower w^2, by Sylvester's law of inertia; None if the factorization gives no inertia."""
        try:
            return self._factors((self.k - limit * self.m).tocsc()).negative
        except RuntimeError:
            return None

    def _complete(self, rates: np.ndarray) -> bool:
        """Whether the inertia counts as many modes below the last gap in the rates as were found."""
        gaps = np.flatnonzero(apart(rates))
        below = int(gaps[-1])
        low, high = (rates[below - 1] if below else 0.0), rates[below]
        counts = (self._count_below(low + share * (high - low)) for share in (0.5, 0.3, 0.7))
        return next((n for n in counts if n is not None), None) == below

    def modal_mass(self, load: np.ndarray) -> np.ndarray:
        """Diagonal of ``X^T M_ii^-1 X`` (b,): effective masses of all modes together, on the coordinates that have mass."""
        moves = np.flatnonzero(self.m.diagonal() > 0.0)
        x = load[moves]
        if not x.size:
            return np.zeros(load.shape[1])
        m = self.m[moves][:, moves]
        if self.dense:
            return np.sum(x * np.linalg.lstsq(m.toarray(), x, rcond=None)[0], axis=0)
        try:
            return np.sum(x * Factor(m.tocsc()).solve(np.ascontiguousarray(x)), axis=0)
        except RuntimeError:
            # a node may have mass only in a plane, along a line or at a point; traces of mass elsewhere are rounding
            return np.sum(
                x * Factor(add_diagonal(m.tocsc(), 1e-12 * m.diagonal())).solve(np.ascontiguousarray(x)), axis=0
            )


def too_many_modes(modes: int, there_are: int) -> ModelError:
    return ModelError(
        f"reduce_matrices: modes is {modes}; expected at most {there_are}, the number of modes with mass inside"
    )
