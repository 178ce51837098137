"""Equations with multipliers, ``[[Z, A^T], [A, 0]]``, with fewer of them, and stiffened along A.

Elimination without pivoting is accurate then.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ...numerics.constraint_rows import constraint_stiffness
from ...numerics.ordering import Elimination
from .equations import MembersAdd, Polynomial

# Entries of a row of constraints that is taken as it is, and of the sums that a longer one is made of; joints have up to 12.  A
# star of 600 branches takes 0.1 s with 6 to 24, 0.15 s with 48
# (tests/analysis/frequency/test_stiffening.py::test_a_star_of_branches_at_one_source_is_swept_in_linear_work).
_LONGEST = 24
# Share of the constraints that must have a coordinate for themselves for another basis to be worth its products: 4 of the 3,000
# constraints of 600 hinges have one, and a response takes 8 % longer if they are used, that of 100 hinges 18 %
# (python benchmarks/run.py --only hinges).
_WORTH = 0.1
# Of the stiffness that other constraints get: sums get stiffness from their terms as soon as these are eliminated.  With 1 the
# response of that star loses a digit; from 1e-2 to 1e-5 it loses none
# (tests/analysis/frequency/test_stiffening.py::test_a_star_of_branches_at_one_source_is_swept_in_linear_work).
_OF_SUMS = 1e-3


def without_lone(
    matrix: Polynomial, drive: Polynomial, read: Polynomial, count: int, members: MembersAdd | None
) -> sp.csr_matrix | None:
    """A basis (n, k) of motions that some of the ``count`` constraints allow; None where these are few.

    Some coordinates occur in one constraint alone and are coupled to no other coordinate, such as the charge of a capacitor from
    a node to earth.  The constraint gives such a coordinate by others: its terms act on them, as stiffening would, and neither
    the coordinate nor the multiplier is left.  Constraints that are driven, or whose multipliers are read, stay.
    """
    n = matrix.k.shape[0] - count
    rows = sp.csr_matrix(matrix.k[n:, :n]).real
    rows.eliminate_zeros()
    lengths, size = np.diff(rows.indptr), np.abs(rows.data)
    of, largest = np.repeat(np.arange(count), lengths), np.zeros(count)
    np.maximum.at(largest, of, size)
    alone = np.bincount(rows.indices, minlength=n) == 1
    # no entry is larger, so that errors of the others do not grow
    fits = alone[rows.indices] & (lengths <= _LONGEST)[of] & (size == largest[of])
    if np.count_nonzero(fits) < _WORTH * count:
        return None
    for a in matrix[:3]:
        row, column = sp.csr_matrix(a[:n, :n]).nonzero()
        alone[row[row != column]] = False
    if matrix.laws is not None:
        alone[matrix.laws.row[matrix.laws.row < n]] = False
    for moved in () if members is None else members.moved:
        alone[moved.on] = False
    free = np.ones(count, dtype=bool)
    for a in (*drive.T[:3], *read[:3]):
        free[a[:, n:].nonzero()[1]] = False
    chosen = np.flatnonzero(fits & alone[rows.indices] & free[of])
    chosen = chosen[np.unique(of[chosen], return_index=True)[1]]
    lone, by = rows.indices[chosen], of[chosen]
    follow = sp.csr_matrix((-1.0 / rows.data[chosen], (lone, by)), shape=(n + count, count)) @ rows
    stay = np.ones(n + count, dtype=bool)
    stay[lone] = stay[n + by] = False
    single = sp.identity(n + count, format="csr")
    return (single + follow @ single[:n])[:, stay].tocsr()


def in_short_rows(
    matrix: Polynomial, drive: Polynomial, read: Polynomial, count: int
) -> tuple[Polynomial, Polynomial, Polynomial, int, int]:
    """The same equations with more coordinates and multipliers if some of the ``count`` constraints have long rows.

    Such a row, as of a junction of many branches, is stiffened by a dense block.  It becomes a tree of sums of a few terms each:
    a sum is a coordinate without terms of its own, which a constraint of its own holds.  Returns the numbers of constraints and
    of sums as well; sums come before the multipliers.
    """
    n = matrix.k.shape[0] - count
    rows = sp.csr_matrix(matrix.k[n:, :n])
    if np.diff(rows.indptr).max(initial=0) <= _LONGEST:
        return matrix, drive, read, count, 0
    short = rows
    while np.diff(short.indptr).max() > _LONGEST:
        short = _summed(short)
    sums = short.shape[1] - n
    keep = np.r_[np.arange(n), n + sums + np.arange(count)]
    into = sp.identity(n + 2 * sums + count, format="csr")[:, keep]
    own = into[:, :n]
    rates = (own @ sp.csr_matrix(a[:n, :n]) @ own.T for a in matrix[:3])
    k, c, m = (sp.csr_matrix(a) for a in rates)
    held = sp.bmat([[None, short.T], [short, None]], format="csr")
    drive = Polynomial(*(into @ sp.csr_matrix(a) for a in drive[:3]), drive.laws)
    read = Polynomial(*(sp.csr_matrix(a) @ into.T for a in read[:3]), read.laws)
    return Polynomial(k + held, c, m, matrix.laws), drive, read, count + sums, sums


def _summed(rows: sp.csr_matrix) -> sp.csr_matrix:
    """Rows (m + a, n + a) with a sum for so many entries of each long one of ``rows`` (m, n)."""
    (m, n), lengths = rows.shape, np.diff(rows.indptr)
    row = np.repeat(np.arange(m), lengths)
    long = (lengths > _LONGEST)[row]
    piece = (np.arange(len(row)) - rows.indptr[row]) // (_LONGEST - 1)  # and one for the sum
    _, number = np.unique(np.stack([row[long], piece[long]]), axis=1, return_inverse=True)
    first = np.unique(number, return_index=True)[1]
    sums = np.arange(len(first))
    found = (
        (rows.data[~long], row[~long], rows.indices[~long]),
        (rows.data[long], m + number, rows.indices[long]),
        (-np.ones(len(sums)), m + sums, n + sums),
        (np.ones(len(sums)), row[long][first], n + sums),
    )
    data, at, column = (np.concatenate(x) for x in zip(*found, strict=True))
    return sp.csr_matrix((data, (at, column)), shape=(m + len(sums), n + len(sums)))


def balanced(rows: sp.csr_matrix, size: np.ndarray, sums: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness given to constraints A (m, n) on coordinates with terms of this size (n,), and all sizes (n + m,) with it.

    A constraint gets the stiffness of the coordinates it constrains; many of these have no other stiffness.  The last ``sums``
    coordinates are made by :func:`in_short_rows`.
    """
    squares = rows.multiply(rows).tocsr()
    length2 = squares @ np.ones(rows.shape[1])
    filled, known = size, size > 0
    while not known.all():
        # coordinates without terms take the stiffness of their constraints, and these that of other coordinates they constrain
        of_known = squares @ known.astype(float)
        row = np.divide(squares @ filled, of_known**2, out=np.zeros(len(length2)), where=of_known > 0)
        filled = np.where(known, filled, squares.multiply(row[:, None]).max(axis=0).toarray().ravel())
        if np.array_equal(known, filled > 0):
            break
        known = filled > 0
    stiffness = constraint_stiffness((sp.diags(1.0 / np.sqrt(length2)) @ rows).tocsr(), filled) / length2
    if sums:
        stiffness[np.diff(rows.tocsc()[:, -sums:].tocsr().indptr) > 0] *= _OF_SUMS
    return stiffness, np.concatenate([size + squares.T @ stiffness, 1.0 / stiffness])


class Stiffening:
    """``Z + A^T D A`` for Z: the same solutions q if ``A q = 0``, and pivots of q that do not depend on what A constrains.

    The multipliers are the last ``count`` coordinates.  The diagonal D follows from the sizes of the terms in Z at the
    frequencies of a part of the sweep.  If ``A q = b`` drives the constraints, the computed multipliers are too small by ``D b``.
    The last ``sums`` of q are made by :func:`in_short_rows`.
    """

    def __init__(self, matrix: Polynomial, drive: Polynomial, read: Polynomial, count: int, sums: int):
        self._sums = sums
        self._rows = sp.csr_matrix(matrix.k[-count:, :-count]).real
        self._driven, self._read = sp.csr_matrix(drive.k[-count:]), sp.csr_matrix(read.k[:, -count:])
        # all pairs of entries in each row
        lengths = np.diff(self._rows.indptr)
        row = np.repeat(np.arange(count), lengths**2)
        place = np.arange(len(row)) - np.repeat(np.cumsum(lengths**2) - lengths**2, lengths**2)
        self._pairs = row, *(self._rows.indptr[row] + k for k in np.divmod(place, lengths[row]))

    def pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of all entries of ``A^T D A``."""
        return tuple(self._rows.indices[k] for k in self._pairs[1:])

    def place(self, elimination: Elimination, first: np.ndarray, rows: np.ndarray) -> None:
        """Find the places of all entries in a pattern."""
        number = elimination.numbers(first, rows, *self.pattern())
        of = np.flatnonzero(number >= 0)
        row, i, k = (a[of] for a in self._pairs)
        products = self._rows.data[i] * self._rows.data[k]
        self._by_row = sp.csr_matrix(
            (products, (number[of], row)), shape=(len(elimination.entries), self._rows.shape[0])
        )

    def at(self, sizes: np.ndarray) -> Stiffened:
        """The stiffening for coordinates with terms of these sizes (n, p) in each part of a sweep."""
        each = (balanced(self._rows, s, self._sums) for s in sizes.T)
        stiffness, sizes = (np.stack(a, axis=1) for a in zip(*each, strict=True))
        return Stiffened(self, stiffness, sizes)


class Stiffened:
    """The terms of :class:`Stiffening` in each part of a sweep, for D ``stiffness`` (m, p); ``sizes`` (n + m, p) include them."""

    def __init__(self, stiffening: Stiffening, stiffness: np.ndarray, sizes: np.ndarray):
        self._of, self._stiffness, self.sizes = stiffening, stiffness, sizes

    def coefficients(self, values: np.ndarray) -> np.ndarray:
        """Coefficients (p, entries, 4) of all entries, given those without the stiffening (entries, 4)."""
        out = np.repeat(values[None], self._stiffness.shape[1], axis=0)
        out[:, :, 0] += (self._of._by_row @ self._stiffness).T
        return out

    def forces(self, x: np.ndarray) -> np.ndarray:
        """``A^T D A x`` (p, n) for x (n + m, p)."""
        return self._product(self._of._rows, x)

    def magnitudes(self, x: np.ndarray) -> np.ndarray:
        """``|A|^T D |A| x`` (p, n)."""
        return self._product(abs(self._of._rows), x)

    def _product(self, rows: sp.csr_matrix, x: np.ndarray) -> np.ndarray:
        return (rows.T @ (self._stiffness * (rows @ x[: rows.shape[1]]))).T

    def complete(self, values: np.ndarray, part: np.ndarray) -> None:
        """Add what computed multipliers lack to values (f, outputs, inputs) at frequencies in these parts (f,)."""
        of = self._of
        if of._driven.nnz and of._read.nnz:
            for p, own in enumerate(self._stiffness.T):
                values[part == p] += (of._read.multiply(own) @ of._driven).toarray()
