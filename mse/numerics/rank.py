"""Which rows of a sparse matrix depend on others, and the shortest multipliers if they are not unique.

Why not a library: SciPy has no sparse factorization that finds the rank (SuiteSparse has one, but is another compiled package).
The time of a dense QR with pivoting grows with the cube of the rows, and 10,000 rows take 1 GB for the matrix alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from ..kernels.rank import alone, eliminate
from .precision import DEPENDENT, cleared

# tests/numerics/test_precision.py and tests/statics/test_redundant_joints.py pass with a hundredth of both, with a hundred times
# of the second, and with only the largest entry as pivot; with 2 times the largest there is no pivot:
_THRESHOLD = 0.2  # of the largest entry: the least pivot
_SHARE = 1e-7  # of the largest share in a dependency: the least share that counts
_AT_ONCE = 64  # dependent rows that are solved together


@dataclass(frozen=True, eq=False)
class Rank:
    """Independent and dependent rows of slopes (m, n), and the columns that the independent rows determine.

    ``combination`` (dependent, independent) times the independent rows gives the dependent ones.
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
        """The shortest multipliers (m,) with the same effect: without a part that balances itself."""
        if not len(self.dependent):
            return multipliers
        stress = self.self_stress
        # twice: the first round leaves rounding of a part that may be far longer
        inner = splu((stress.T @ stress).tocsc())
        for _ in range(2):
            multipliers = multipliers - stress @ inner.solve(stress.T @ multipliers)
        return multipliers

    @property
    def sharing(self) -> list[np.ndarray]:
        """The rows that take part in dependencies; dependencies with common rows are one group."""
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
    """Which shares in a dependency are more than rounding; the largest is about one."""
    return np.abs(shares) > _SHARE


def shortest_reading(read: sp.csr_matrix, stress: sp.csr_matrix, sharing: np.ndarray) -> sp.csr_matrix:
    """Rows (o, l) that read the shortest multipliers, whatever multiple of the columns of ``stress`` (l, d) is added to them.

    ``read`` (o, l) are the readings of the shortest multipliers (l,), which minimize the sum of squares of ``sharing`` (l,) times
    multipliers.
    """
    if not stress.shape[1]:
        return read
    squares = sp.diags(sharing**2) @ stress
    shares = splu((stress.T @ squares).tocsc()).solve((read @ stress).T.toarray())
    return (read - sp.csr_matrix(shares.T) @ squares.T).tocsr()


def rank(slopes: sp.csr_matrix, block: int = 6, *, any_pivots: slice | None = None) -> Rank:
    """Find the rank of slopes (m, n) with rows of unit length; columns belong to blocks, such as the six of a body.

    The pivot of a row is the first column that may be one, along the blocks.  A row that has one of the columns ``any_pivots``
    for itself takes that one and needs no elimination: the rows of a long circuit would fill in.
    """
    m, n = slopes.shape
    if m == 0:
        none = np.zeros(0, dtype=int)
        return Rank(none, none, none, sp.csr_matrix((0, 0)))
    slopes = slopes.tocsr()
    if not slopes.has_canonical_format:
        slopes = slopes.copy()
        slopes.sum_duplicates()
    pivot = np.full(m, -1, dtype=np.int64)
    if any_pivots is not None:
        first, columns, room = (
            slopes.indptr.astype(np.int64),
            slopes.indices.astype(np.int64),
            np.zeros((3, n), dtype=np.int64),
        )
        room[0] = m + 1  # too many to be alone
        room[0, any_pivots] = 0
        alone(first, columns, slopes.data, _THRESHOLD, pivot, *room)
    rest = np.flatnonzero(pivot < 0)
    if len(rest):
        pivot[rest] = _eliminated(slopes[rest] if len(rest) < m else slopes, block)
    independent, dependent = np.flatnonzero(pivot >= 0), np.flatnonzero(pivot < 0)
    pivots = pivot[independent]
    combination = sp.csr_matrix((len(dependent), len(independent)))
    if len(dependent) and len(independent):
        square = splu(slopes[independent][:, pivots].T.tocsc())
        right = slopes[dependent][:, pivots]
        # in portions, since most entries are zero
        portions = [square.solve(right[k : k + _AT_ONCE].T.toarray()).T for k in range(0, len(dependent), _AT_ONCE)]
        combination = sp.vstack([sp.csr_matrix(cleared(p)) for p in portions], format="csr")
    return Rank(independent, dependent, pivots, combination)


def _eliminated(slopes: sp.csr_matrix, block: int) -> np.ndarray:
    """Pivot columns of rows (m,), or -1, by elimination along the blocks that rows couple, which fills in little."""
    n = slopes.shape[1]
    of = np.arange(n) // block
    by_block = sp.csr_matrix((np.ones(n), (np.arange(n), of)), shape=(n, of.max(initial=0) + 1))
    shared = abs(slopes) @ by_block
    along = reverse_cuthill_mckee((shared.T @ shared).tocsr(), symmetric_mode=True)
    place = np.empty(len(along), dtype=int)
    place[along] = np.arange(len(along))
    order = np.lexsort((np.arange(n), place[of]))
    inner = slopes[:, order].tocsr()
    inner.sort_indices()
    first = np.full(slopes.shape[0], n)
    filled = np.flatnonzero(np.diff(inner.indptr))
    first[filled] = inner.indices[inner.indptr[filled]]
    rows = np.argsort(first, kind="stable")
    pivot = eliminate(
        inner.indptr.astype(np.int64), inner.indices.astype(np.int64), inner.data, n, rows, _THRESHOLD, DEPENDENT
    )
    return np.append(order, -1)[pivot]
