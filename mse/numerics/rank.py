"""Which rows of a sparse matrix depend on others, and the shortest multipliers where these are not unique.

Why not a library: SciPy has no sparse factorization that tells the rank (SuiteSparse has, as a compiled package beside it),
and a dense QR with pivoting takes a time that grows with the cube of the rows; of 10,000 the matrix alone is 1 GB.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from ..kernels.rank import eliminate
from .precision import DEPENDENT, cleared

# tests/numerics/test_precision.py and tests/statics/test_redundant_joints.py pass with a hundredth of both, with a hundred times
# of the second, and with pivots that are the largest only; with 2 times the largest there are none:
_THRESHOLD = 0.2  # of the largest entry: the least pivot
_SHARE = 1e-7  # of the largest: the least participation in a dependency
_AT_ONCE = 64  # dependent rows


@dataclass(frozen=True, eq=False)
class Rank:
    """Independent and dependent rows of slopes (m, n), and the columns that the independent ones determine.

    ``combination`` (dependent, independent) gives the dependent rows by the others.
    """

    independent: np.ndarray
    dependent: np.ndarray
    pivots: np.ndarray
    combination: sp.csr_matrix

    @property
    def count(self) -> int:
        """Number m of rows."""
        return len(self.independent) + len(self.dependent)

    def weighted(self, weight: np.ndarray) -> Rank:
        """The same for rows that are multiplied by weights (m,)."""
        by = sp.diags(weight[self.dependent]) @ self.combination @ sp.diags(1.0 / weight[self.independent])
        return replace(self, combination=by.tocsr())

    @property
    def self_stress(self) -> sp.csr_matrix:
        """Multipliers (m, dependent) that balance themselves."""
        return (self._placed(self.dependent) - self.combination @ self._placed(self.independent)).T.tocsr()

    def _placed(self, rows: np.ndarray) -> sp.csr_matrix:
        return sp.csr_matrix((np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=(len(rows), self.count))

    def shortest(self, multipliers: np.ndarray) -> np.ndarray:
        """The shortest multipliers (m,) that do what given ones do: without those that balance themselves."""
        if not len(self.dependent):
            return multipliers
        stress = self.self_stress
        # twice, as the first round leaves the rounding of what may be far longer
        inner = splu((stress.T @ stress).tocsc())
        for _ in range(2):
            multipliers = multipliers - stress @ inner.solve(stress.T @ multipliers)
        return multipliers

    @property
    def sharing(self) -> list[np.ndarray]:
        """For each dependency the rows that take part in it, in groups that share none."""
        out: list[set[int]] = []
        for row, share in zip(self.dependent, self.combination, strict=True):
            group = {int(row), *self.independent[share.indices[takes_part(share.data)]].tolist()}
            apart = [g for g in out if not g & group]
            for g in out:
                if g & group:
                    group |= g
            out = [*apart, group]
        return [np.array(sorted(g)) for g in out]


def takes_part(shares: np.ndarray) -> np.ndarray:
    """Which shares in a dependency, of which the largest are about one, are more than rounding."""
    return np.abs(shares) > _SHARE


def shortest_reading(read: sp.csr_matrix, stress: sp.csr_matrix, sharing: np.ndarray) -> sp.csr_matrix:
    """Readings by rows (o, l) of the shortest of the multipliers (l,) that differ by columns of ``stress`` (l, d) only.

    Shortest by the sum of squares of ``sharing`` (l,) times multipliers; as rows (o, l) that read the same of all of them.
    """
    if not stress.shape[1]:
        return read
    squares = sp.diags(sharing**2) @ stress
    shares = splu((stress.T @ squares).tocsc()).solve((read @ stress).T.toarray())
    return (read - sp.csr_matrix(shares.T) @ squares.T).tocsr()


def rank(slopes: sp.csr_matrix, block: int = 6) -> Rank:
    """Find the rank of slopes (m, n) with rows of unit length; columns come in blocks, such as the six of a body."""
    m, n = slopes.shape
    if m == 0:
        none = np.zeros(0, dtype=int)
        return Rank(none, none, none, sp.csr_matrix((0, 0)))
    # number the blocks along the rows that couple them, so that elimination fills in little
    of = np.arange(n) // block
    by_block = sp.csr_matrix((np.ones(n), (np.arange(n), of)), shape=(n, of.max(initial=0) + 1))
    shared = abs(slopes) @ by_block
    along = reverse_cuthill_mckee((shared.T @ shared).tocsr(), symmetric_mode=True)
    place = np.empty(len(along), dtype=int)
    place[along] = np.arange(len(along))
    order = np.lexsort((np.arange(n), place[of]))
    inner = slopes[:, order].tocsr()
    inner.sort_indices()
    first = np.full(m, n)
    filled = np.flatnonzero(np.diff(inner.indptr))
    first[filled] = inner.indices[inner.indptr[filled]]
    rows = np.argsort(first, kind="stable")
    pivot = eliminate(
        inner.indptr.astype(np.int64), inner.indices.astype(np.int64), inner.data, n, rows, _THRESHOLD, DEPENDENT
    )
    independent, dependent = np.flatnonzero(pivot >= 0), np.flatnonzero(pivot < 0)
    pivots = order[pivot[independent]]
    combination = sp.csr_matrix((len(dependent), len(independent)))
    if len(dependent) and len(independent):
        square = splu(slopes[independent][:, pivots].T.tocsc())
        right = slopes[dependent][:, pivots]
        # in portions, as most of it is zero
        portions = [square.solve(right[k : k + _AT_ONCE].T.toarray()).T for k in range(0, len(dependent), _AT_ONCE)]
        combination = sp.vstack([sp.csr_matrix(cleared(p)) for p in portions], format="csr")
    return Rank(independent, dependent, pivots, combination)
