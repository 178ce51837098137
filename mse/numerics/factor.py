"""Sparse symmetric factorization with its inertia: ``A = L D L^T`` without pivoting, compiled; SuperLU if that fails.

Why not a library: the search, stability and the counts of modes need the inertia, the number of negative pivots.  SuperLU gives
it only if it exchanges no rows, and QDLDL and CHOLMOD not for indefinite matrices that need exchanges.  Nor is it slower: a
lattice of 7,680 coordinates, a plate of 15,000 and a chain of 3,000 take 0.04, 0.08 and 0.16 times as long as SuperLU on the
symmetric pattern (0.12, 0.17 and 1.2 with the analysis of the pattern), and solutions of four right-hand sides 0.37 to 0.45 times
(``python benchmarks/run.py --only matrices``).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import SuperLU, splu

from ..kernels import factor as compiled
from ..kernels.jit import writable
from ..kernels.vector_ir import aligned
from .constraint_rows import constraint_stiffness, divided
from .ordering import BODY, PivotTree, eliminated
from .precision import EPS, left_by_rounding
from .rank import rank
from .sparse_tools import absolute_product, add_diagonal, start_vector

# tests/numerics/test_factor.py::test_an_ordering_that_does_not_fit_is_widened
_MUCH_THE_SAME = 1.5  # largest ratio of the entries of two patterns together to one of them, if they share an ordering
# Relative to the terms in a residual: solutions with a larger one are refined.  With a hundred times of it they lose digits
# (tests/numerics/test_factor.py::test_poor_factors_are_refined), with a hundredth only time.
_ACCURATE = 1e-13
_GROWN = _ACCURATE / EPS  # largest ratio of a pivot's terms to the matrix entry there: their rounding leaves as much
# The same: solutions with a larger one are not worth refining.  With a tenth of it a good factor is not used
# (tests/numerics/test_factor.py::test_factors_on_the_space_that_constraints_leave).
_USELESS = 1e-6
_MOST_ROUNDS = 4  # of refinement with constraints


_Pattern = tuple[np.ndarray, np.ndarray]  # indptr and indices


class Ordering:
    """The fill-reducing ordering of all matrices of one symmetric pattern, and their fronts; made once.

    ``indptr`` (n + 1,) and ``indices`` (e,) are the whole pattern, by columns or rows.  ``late`` coordinates (n,), such as
    multipliers, come after the coordinates that they are coupled to.
    """

    def __init__(self, indptr: np.ndarray, indices: np.ndarray, late: np.ndarray | None = None):
        n = self.size = len(indptr) - 1
        # copies, since the indices of a matrix may be sorted in place later
        wide = [p.astype(np.int64) for p in (indptr, indices)]
        late = np.zeros(n, dtype=bool) if late is None else late
        elimination = eliminated(*wide, 0, late, BODY)
        fronts, self.place = elimination.fronts, elimination.place
        columns, left = np.diff(fronts.first_column), np.diff(fronts.first_row)
        own, other = -(-columns // 8), -(-left // 8)
        stride = own + other
        first_vector = np.concatenate([[0], np.cumsum(columns * stride)])
        places = compiled.element_places(
            fronts.first_column, fronts.first_row, first_vector, fronts.first_entry, fronts.places, elimination.entries,
            len(indices),
        )  # fmt: skip
        # places by pattern: its own, and the last other one used; and which of its entries have no place
        self._places = [(*wide, places, np.zeros(0, dtype=np.int64))]
        self._met: list[_Pattern | None] = [None]  # the arrays that last had one of these patterns
        parent = np.repeat(fronts.parents, left)
        inside = _filled_up(fronts.inside, np.append(columns, 0)[parent])
        self._rows = compiled.Rows(
            fronts.first_column, fronts.first_row, first_vector, fronts.rows, inside, fronts.parents
        )
        of_column = np.repeat(np.arange(len(columns)), columns)
        j = np.arange(n) - fronts.first_column[of_column]
        self._diagonal = 8 * (first_vector[of_column] + j * stride[of_column]) + j
        scratch = np.cumsum([first_vector[-1], (columns * stride).max(initial=0), (left * other).max(initial=0)])
        self._scratch = scratch
        stack = int(scratch[-1] + _highest(left * other, fronts.parents))
        large = 8 * int(stride.max(initial=0)) > compiled.LARGE
        self._pack = stack if large else None
        together = 2 + max(int(other.max(initial=0)), compiled.DEEP // 8)
        self._length = 8 * (stack + (compiled.DEEP * together if large else 0))
        self._widest = 8 * int(stride.max(initial=0))

    @classmethod
    def of(cls, matrix: sp.csc_matrix | sp.csr_matrix, late: np.ndarray | None = None) -> Ordering:
        """Ordering for the pattern of a symmetric matrix.

        Stored entries count, zero or not.  Coordinates whose couplings are all zero are left out, such as turns of bodies that
        springs hold at their centers; but if these are few, their couplings may be zero in this matrix only, so they count.
        """
        return cls(*_coupled(matrix), late)

    def fitting(self, matrix: sp.csc_matrix, late: np.ndarray | None = None) -> Ordering:
        """This ordering if its pattern has all nonzero entries of ``matrix``; else a new one, of both patterns if they are alike.

        Patterns of one model differ by entries that happen to be zero, so the union of a few patterns fits all later ones.
        """
        if self.places(matrix) is not None:
            return self
        if self.size == matrix.shape[0]:
            first, rows, *_ = self._places[0]
            shape = matrix.shape
            own = sp.csc_matrix((np.ones(len(rows)), rows, first), shape=shape)
            of_indptr, of_indices = _coupled(matrix)
            both = own + sp.csc_matrix((np.ones(len(of_indices)), of_indices, of_indptr), shape=shape)
            if both.nnz <= _MUCH_THE_SAME * len(of_indices):
                return Ordering.of(both, late)
        return Ordering.of(matrix, late)

    @property
    def kept(self) -> int:
        """Numbers that a factor keeps, including padding of vectors."""
        return 8 * int(self._rows.first_vector[-1])

    @property
    def entries(self) -> int:
        """Entries of its pattern."""
        return len(self._places[0][1])

    @property
    def products(self) -> float:
        """Multiplications that a factor takes, approximately."""
        columns, left = np.diff(self._rows.first_column), np.diff(self._rows.first_row)
        return float(columns @ (columns + left).astype(float) ** 2)

    def places(self, matrix: sp.csc_matrix) -> np.ndarray | None:
        """Places of the entries of a matrix; None if the pattern lacks a nonzero entry."""
        if matrix.shape[0] != self.size:
            return None
        own = matrix.indptr, matrix.indices
        for k, (first, rows, places, outside) in enumerate(self._places):
            if _is_same(self._met[k], own) or (np.array_equal(first, own[0]) and np.array_equal(rows, own[1])):
                self._met[k] = own
                return None if matrix.data[outside].any() else places
        if np.count_nonzero(matrix.data) > len(self._places[0][1]):
            return None
        pattern = tuple(p.astype(np.int64) for p in own)
        found = compiled.places_of(*self._places[0][:3], *pattern)
        outside = np.flatnonzero(found == -2)
        if matrix.data[outside].any():
            return None
        self._places[1:], self._met[1:] = [(*pattern, found, outside)], [own]
        return found

    def factorize(self, values: np.ndarray, places: np.ndarray, diagonal: np.ndarray) -> Eliminated:
        """``L D L^T`` of the matrix with ``values`` (e,) at ``places``, plus a ``diagonal`` (n,) or (0,)."""
        return Eliminated(self, values, places, diagonal)


class Eliminated:
    """``L D L^T`` from elimination without pivoting, whether right or not."""

    def __init__(self, ordering: Ordering, values: np.ndarray, places: np.ndarray, diagonal: np.ndarray):
        self._ordering, n = ordering, ordering.size
        self.dtype = values.dtype
        self._arena = aligned(ordering._length, self.dtype)
        self.pivots, self._own_terms = np.empty(n, dtype=self.dtype), np.empty(n, dtype=self.dtype)
        waiting = np.empty(len(ordering._rows.parents), dtype=np.int64)
        compiled.factorize(
            self._arena, ordering._rows, ordering._scratch, ordering._pack, values, places, diagonal,
            ordering._diagonal, ordering.place, self.pivots, self._own_terms, waiting,
        )  # fmt: skip
        with np.errstate(divide="ignore", invalid="ignore"):
            self._inverse = _arena(1.0 / self.pivots)

    def inertia(self) -> tuple[int, float, float]:
        """Number of negative pivots of a real factor, the smallest pivot relative to the terms of its sum, and their growth."""
        return compiled.inertia(self._arena, self._ordering._rows, self.pivots, self._own_terms)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """``A^-1 b`` for b (n,) or (n, k)."""
        ordering = self._ordering
        sides = np.ascontiguousarray(right, dtype=self.dtype).reshape(len(right), right[:1].size if len(right) else 0)
        out = np.empty_like(sides)
        arena = aligned(8 * (ordering._widest + ordering.size), self.dtype)
        local, x = arena[: 8 * ordering._widest], arena[8 * ordering._widest :]
        for k in range(0, sides.shape[1], 8):
            compiled.substitute(
                self._arena,
                ordering._rows,
                ordering.place,
                self._inverse,
                sides,
                out,
                k,
                min(k + 8, sides.shape[1]),
                local,
                x,
            )
        return out.reshape(right.shape)


def _is_same(met: _Pattern | None, own: _Pattern) -> bool:
    """Whether two patterns are the same read-only arrays."""
    return met is not None and all(a is b and not a.flags.writeable for a, b in zip(met, own, strict=True))


def _coupled(matrix: sp.csc_matrix | sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Pattern of a symmetric matrix without coordinates whose couplings are all zero; the whole pattern if these are few."""
    indptr, indices = matrix.indptr, matrix.indices
    if matrix.data.all():
        return indptr, indices
    column = np.repeat(np.arange(matrix.shape[0]), np.diff(indptr))
    beside = indices != column
    coupled = np.zeros(matrix.shape[0], dtype=bool)
    there = beside & (matrix.data != 0)  # only rounding may be left, in one triangle
    coupled[column[there]] = coupled[indices[there]] = True
    kept = ~beside | (coupled[column] & coupled[indices])
    if len(kept) <= _MUCH_THE_SAME * np.count_nonzero(kept):
        return indptr, indices
    return np.concatenate([[0], np.cumsum(kept)])[indptr], indices[kept]


def _unlike(entries: int, others: int) -> bool:
    """Whether one of two patterns has far fewer entries than the other."""
    return max(entries, others) > _MUCH_THE_SAME * min(entries, others)


def _arena(x: np.ndarray) -> np.ndarray:
    """Numbers (n,) as elements of an arena."""
    vectors = np.append(x, np.zeros(-len(x) % 8, dtype=x.dtype)).reshape(-1, 8)
    return (
        np.stack([vectors.real, vectors.imag], axis=1).ravel().view(complex) if x.dtype == complex else vectors.ravel()
    )


def _filled_up(place: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Places in fronts, each with ``columns`` of its own, after padding the columns to whole vectors of eight."""
    return np.where(place < columns, place, place - columns + 8 * -(-columns // 8))


def _highest(left: np.ndarray, parents: np.ndarray) -> int:
    """Largest size of the stack, if every front takes the updates of its children and leaves ``left``."""
    taken = np.zeros(len(left) + 1, dtype=np.int64)
    np.add.at(taken, parents, left)
    return int(np.cumsum(left - taken[:-1]).max(initial=0))


class Factor:
    """``L D L^T`` of a symmetric matrix (n, n), real or complex (symmetric, not Hermitian), plus a ``diagonal`` (n,).

    ``negative`` counts the negative eigenvalues by Sylvester's law of inertia.  It is None for complex matrices, and if pivots
    had to be exchanged, since the count would not hold.  ``ordering`` may come from an earlier factor; a new one is made if it
    does not fit or is left out.  Only the triangle that is below the diagonal in the fill-reducing ordering is read.  Raises
    RuntimeError for an exactly singular matrix.

    Rows are not exchanged.  If a pivot is rounding of its terms, or solutions are wrong, SuperLU takes over; solutions that are
    only poor are refined.
    """

    def __init__(self, matrix: sp.csc_matrix, ordering: Ordering | None = None, diagonal: np.ndarray | None = None):
        ordering = Ordering.of(matrix) if ordering is None else ordering.fitting(matrix)
        self.ordering, self._matrix, self._diagonal = ordering, matrix, diagonal
        self._lu, self._rounds = None, 0
        values = writable(matrix.data)
        values = values if values.dtype == complex else values.astype(float, copy=False)
        added = np.zeros(0) if diagonal is None else diagonal
        self._own = ordering.factorize(values, ordering.places(matrix), added.astype(values.dtype, copy=False))
        if values.dtype == complex:
            self.negative, sound = None, bool(np.all(np.isfinite(self._own.pivots)))
            poor = True
        else:
            self.negative, least, growth = self._own.inertia()
            sound, poor = least > left_by_rounding(), growth > _GROWN
        if sound and poor:
            sound = self._tried_out() < _USELESS
        if not sound:
            self._exchange()

    @property
    def size(self) -> int:
        return self.ordering.size

    @property
    def freedoms(self) -> int:
        """Dimension of the space of solutions."""
        return self.size

    @property
    def positive_definite(self) -> bool:
        return self.negative == 0

    @property
    def tree(self) -> PivotTree | None:
        """The order of elimination as a tree; None if rows were exchanged."""
        own, rows = self.ordering, self.ordering._rows
        return None if self._lu is not None else PivotTree(own.place, rows.first_column, rows.parents, self._own.pivots)

    def _product(self, x: np.ndarray) -> np.ndarray:
        return self._matrix @ x if self._diagonal is None else self._matrix @ x + (self._diagonal * x.T).T

    def _tried_out(self) -> float:
        """Residual of a test solution relative to its terms; it sets the rounds of refinement of all later solutions."""
        right = start_vector(self.ordering.size).astype(self._own.dtype)
        with np.errstate(all="ignore"):
            x = self._once(right)
        terms = absolute_product(self._matrix, np.abs(x)) + np.abs(right)
        if self._diagonal is not None:
            terms += np.abs(self._diagonal * x)
        with np.errstate(all="ignore"):
            errors = np.abs(right - self._product(x)) / terms
        error = float(errors.max(initial=0.0)) if np.all(np.isfinite(errors)) else np.inf
        self._rounds = 0 if error <= _ACCURATE else 1 if error <= 1e-10 else 2
        return error

    def _exchange(self) -> None:
        """The same by SuperLU, which exchanges rows if a diagonal entry is zero."""
        matrix = self._matrix.copy() if self._diagonal is None else add_diagonal(self._matrix, self._diagonal)
        try:
            self._lu = splu(
                matrix,
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True, "Equil": False},
            )
            unpivoted = np.array_equal(self._lu.perm_r, self._lu.perm_c) and not np.iscomplexobj(matrix.data)
            self.negative = int(np.count_nonzero(self._lu.U.diagonal() < 0)) if unpivoted else None
            useless = self._tried_out() > _USELESS
        except RuntimeError:  # a pivot is exactly zero; others may replace it
            useless = True
        if useless:
            # small diagonals: the largest entry of a column becomes the pivot, and the inertia is not counted
            self._lu, self.negative = splu(matrix), None
            self._tried_out()

    def _once(self, right_side: np.ndarray) -> np.ndarray:
        return self._own.solve(right_side) if self._lu is None else self._lu.solve(right_side)

    def log_determinant(self) -> complex:
        """The logarithm of the determinant; its imaginary part up to whole turns."""
        if self._lu is None:
            return complex(np.sum(np.log(self._own.pivots.astype(complex))))
        return _log_determinant(self._lu)

    def solve(self, right_side: np.ndarray) -> np.ndarray:
        """x (n,) or (n, k) with ``A x = right_side``."""
        x = self._once(right_side)
        for _ in range(self._rounds):
            x += self._once(right_side - self._product(x))
        return x

    def error(self, right_side: np.ndarray) -> float:
        """The change of the solution for a right side (n,) by another round of refinement, relative to its largest entry."""
        x = self.solve(right_side)
        return _relative_size(self._once(right_side - self._product(x)), x)


class UnsymmetricFactor:
    """``L U`` of any regular matrix (n, n), real or complex, with rows exchanged.  Raises RuntimeError for a singular one."""

    def __init__(self, matrix: sp.csc_matrix):
        self._matrix, self._lu = matrix, splu(matrix)

    def log_determinant(self) -> complex:
        """The logarithm of the determinant; its imaginary part up to whole turns."""
        return _log_determinant(self._lu)

    def solve(self, right_side: np.ndarray) -> np.ndarray:
        """x (n,) or (n, k) with ``A x = right_side``, refined once."""
        right_side = right_side.astype(self._matrix.dtype)
        x = self._lu.solve(right_side)
        return x + self._lu.solve(right_side - self._matrix @ x)


def _log_determinant(lu: SuperLU) -> complex:
    swaps = _exchanges(lu.perm_r) + _exchanges(lu.perm_c)
    return complex(np.sum(np.log(lu.U.diagonal().astype(complex))) + 1j * np.pi * (swaps % 2))


class Factors:
    """Factors of one matrix after another: the last ordering of the same size is used again if it fits.

    An ordering with a much narrower or wider pattern is kept as well: one for stiffness, one for stiffness and mass.
    """

    def __init__(self):
        self._orderings: dict[tuple[int, ...], tuple[Ordering, ...]] = {}

    def __reduce__(self):
        return Factors, ()  # not pickled, since they are many times as large as the matrices

    def __call__(self, matrix: sp.csc_matrix, diagonal: np.ndarray | None = None) -> Factor:
        return Factor(matrix, self.ordering(matrix), diagonal)

    def ordering(self, matrix: sp.csc_matrix) -> Ordering:
        """An ordering that fits a symmetric matrix (n, n)."""
        size = matrix.shape[:1]
        known = self._orderings.get(size, ())
        fitting = [ordering for ordering in known if ordering.places(matrix) is not None]
        if fitting:
            found = min(fitting, key=lambda ordering: ordering.entries)
            if found.entries <= _MUCH_THE_SAME * len(matrix.indices):
                return found
            found = Ordering.of(matrix)
        else:
            found = known[-1].fitting(matrix) if known else Ordering.of(matrix)
        other = [one for one in known if _unlike(one.entries, found.entries)]
        self._orderings[size] = (*other[-1:], found)
        return found

    def constrained(self, matrix: sp.csc_matrix, rows: sp.csr_matrix, independent: bool = False) -> ConstrainedFactor:
        """The factor of a matrix (n, n) under constraints with ``rows`` (m, n) of unit length."""
        known = self._orderings.get(rows.shape)
        found = ConstrainedFactor(matrix, rows, known[-1] if known else None, independent)
        self._orderings[rows.shape] = (found.ordering,)
        return found


class ConstrainedFactor:
    """Factor of ``[[A, G^T], [G, 0]]``: a symmetric A (n, n) on the space ``G x = 0``, for rows of G (m, n) of unit length.

    A is first stiffened along G, which changes nothing on that space.  The zero block is made small and negative, so that
    dependent rows do no harm (quasi-definite form; R. Vanderbei, SIAM J. Optimization 5 (1995) 100).  ``negative`` counts the
    negative eigenvalues of A on the space, or is None if pivots had to be exchanged.  It may be too large if rows are nearly
    dependent, because the block lets them give way.  ``independent`` rows need no block, unless pivots are rounding.
    """

    def __init__(self, matrix: sp.csc_matrix, constraints: sp.csr_matrix, ordering=None, independent: bool = False):
        self.size = matrix.shape[0]
        # the penalty along each row is as stiff as the matrix there, over many decades: a stiffer penalty drowns the matrix in
        # rounding, a much softer one makes pivots grow
        constraints, largest = divided(constraints, abs(matrix).max(axis=0).toarray().ravel())
        m, n = constraints.shape
        if n > self.size:
            matrix = sp.block_diag([matrix, sp.csc_matrix((n - self.size,) * 2)], format="csc")
        self._constraints, self._matrix = constraints, matrix
        self._stiffness = constraint_stiffness(constraints, largest)
        stiffened = matrix + constraints.T @ sp.diags(self._stiffness) @ constraints
        late = np.arange(n + m) >= n
        for give in (0.0, 1e-9) if independent else (1e-9,):
            block = sp.diags(-give / self._stiffness)
            whole = sp.bmat([[stiffened, constraints.T], [constraints, block]], format="csc")
            self.ordering = Ordering.of(whole, late) if ordering is None else ordering.fitting(whole, late)
            self._factor = Factor(whole, self.ordering)
            self.negative = None if self._factor.negative is None else self._factor.negative - m
            if self.negative is not None:
                break

    @property
    def tree(self) -> PivotTree | None:
        """See :attr:`Factor.tree`; multipliers come after the coordinates."""
        tree, sums = self._factor.tree, np.arange(self.size, len(self._matrix.indptr) - 1)
        return tree if tree is None or not len(sums) else tree._replace(place=np.delete(tree.place, sums))

    @cached_property
    def freedoms(self) -> int:
        """Dimension of the space."""
        return self._matrix.shape[0] - len(rank(self._constraints, any_pivots=slice(None)).independent)

    @property
    def positive_definite(self) -> bool:
        return self.negative == 0

    def solve(self, right_side: np.ndarray) -> np.ndarray:
        """x (n,) or (n, k) with ``A x + G^T y = right_side, G x = 0``."""
        return self._both(right_side)[: self.size]

    def error(self, right_side: np.ndarray) -> float:
        """The change of the solution for a right side (n,) by another round of refinement, relative to its largest entry."""
        both = self._both(right_side)
        left, pulled = self._left(right_side, both)
        change = self._factor.solve(np.concatenate([left, -pulled]))
        return _relative_size(change[: self.size], both[: self.size])

    def _both(self, right_side: np.ndarray) -> np.ndarray:
        """x and the forces along the rows (n + m,) or (n + m, k)."""
        zero = np.zeros((self._factor.size - self.size, *right_side.shape[1:]))
        both = self._factor.solve(np.concatenate([right_side, zero]))
        for k in range(_MOST_ROUNDS):
            # by the exact equations: removes the small block and the rounding of the stiffening
            left, pulled = self._left(right_side, both)
            if k and np.abs(pulled).max(initial=0.0) <= 1e-15 * np.abs(both[: self.size]).max(initial=0.0):
                break
            both = both + self._factor.solve(np.concatenate([left, -pulled]))
        return both

    def _left(self, right_side: np.ndarray, both: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n = self._matrix.shape[0]
        x, y = both[:n], both[n:]
        pulled = self._constraints @ x
        if n > self.size:  # nothing acts on sums
            right_side = np.concatenate([right_side, np.zeros((n - self.size, *right_side.shape[1:]))])
        return right_side - self._matrix @ x - self._constraints.T @ (y + (self._stiffness * pulled.T).T), pulled


def _relative_size(change: np.ndarray, x: np.ndarray) -> float:
    size = np.abs(x).max(initial=0.0)
    relative = np.abs(change).max(initial=0.0) / size if size else 0.0
    return float(relative) if np.isfinite(relative) else np.inf


def _exchanges(permutation: np.ndarray) -> int:
    """Number of transpositions in a permutation (n,)."""
    n = len(permutation)
    cycles = sp.csr_matrix((np.ones(n), permutation, np.arange(n + 1)), shape=(n, n))
    return n - connected_components(cycles)[0]
