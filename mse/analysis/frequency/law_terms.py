"""What losses with a law add to a bordered matrix, and to its products with known answers, at many frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...kernels.ldl import Terms
from ...kernels.vector_ir import WIDTH
from ...linear.law_stiffness import LawEntries
from ...numerics.ordering import Elimination
from .additions import Products


class LawTerms:
    """``sum_l (kappa_l(w) - 1) A_l`` of a bordered matrix of n columns and more rows, its pieces each from a row on."""

    def __init__(self, pieces: Sequence[tuple[int, LawEntries]], n: int, height: int):
        self.laws = pieces[0][1].laws
        self._size, self._height = n, height
        self._law, self._row, self._column, self._value = (
            np.concatenate(a)
            for a in zip(*((p.law, first + p.row, p.column, p.value) for first, p in pieces), strict=True)
        )

    def pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of all entries."""
        return self._row, self._column

    def place(self, elimination: Elimination, first: np.ndarray, rows: np.ndarray, bound: int) -> None:
        """Find the places of all terms above row ``bound`` in the fronts of a pattern, and of those of the known answer."""
        fronts = elimination.fronts
        count = len(fronts.parents)
        group_of_entry = np.repeat(np.arange(count), np.diff(fronts.first_entry))
        group_of_column = np.repeat(np.arange(count), np.diff(fronts.first_column))
        sizes = np.diff(fronts.first_column) + np.diff(fronts.first_row)
        above = np.flatnonzero(self._row < bound)
        number = elimination.numbers(first, rows, self._row[above], self._column[above])
        lower, number = above[number >= 0], number[number >= 0]  # of the lower triangle, as fronts hold it
        self._matrix = self._value[lower]
        # one product of a law with the known answer for each of its rows
        self._rows, self._row_of = np.unique(self._law * self._height + self._row, return_inverse=True)
        law, row = np.divmod(self._rows, self._height)
        self._inner = np.flatnonzero(row < self._size)
        column = elimination.place[row[self._inner]]
        group = group_of_column[column]
        last = sizes[group] - 1
        groups = np.concatenate([group_of_entry[number], group])
        places = np.concatenate([fronts.places[number], last * sizes[group] + column - fronts.first_column[group]])
        laws = np.concatenate([self._law[lower], law[self._inner]])
        self._order = np.argsort(groups, kind="stable")
        self._first = np.searchsorted(groups[self._order], np.arange(count + 1))
        self._places, self._laws = places[self._order], laws[self._order]
        self._below = np.flatnonzero(row >= bound)
        self._bound, self._place = bound, elimination.place

    def read(self, read: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Rows that are multiplied with solutions (starts, places, coefficients), and one more for each law in one of them."""
        entries = np.flatnonzero(np.isin(self._row_of, self._below))
        entries = entries[np.argsort(self._row_of[entries], kind="stable")]
        lengths = np.bincount(np.searchsorted(self._below, self._row_of[entries]), minlength=len(self._below))
        values = np.zeros((len(entries), 4))
        values[:, 0] = self._value[entries]
        starts, places, coefficients = read
        return (
            np.concatenate([starts, starts[-1] + np.cumsum(lengths)]),
            np.concatenate([places, self._place[self._column[entries]]]),
            np.concatenate([coefficients, values.ravel()]),
        )

    def at(self, w: np.ndarray) -> AtFrequencies:
        """The terms at angular frequencies (f,), a multiple of eight."""
        return AtFrequencies(self, self.laws.weights(w))

    def products(self, x: np.ndarray, *, size: bool = False) -> np.ndarray:
        """``A_l x`` for each row of each law (r, p) and x (n, p); with ``size`` by the magnitudes of all entries."""
        value = np.abs(self._value) if size else self._value
        return sp.csr_matrix((value, (self._row_of, self._column)), (len(self._rows), self._size)) @ x


class AtFrequencies(NamedTuple):
    """:class:`LawTerms` with their weights (f, l)."""

    of: LawTerms
    weights: np.ndarray

    def sizes(self, part: np.ndarray, parts: int) -> np.ndarray:
        """Sizes of what is added on the diagonal (n, parts), the largest of the frequencies in each part (f,)."""
        of, out = self.of, np.zeros((self.of._size, parts))
        diagonal = np.flatnonzero(of._row == of._column)
        for p in range(parts):
            largest = np.abs(self.weights[part == p]).max(axis=0)
            np.add.at(out[:, p], of._row[diagonal], largest[of._law[diagonal]] * np.abs(of._value[diagonal]))
        return out

    def known(self, x: np.ndarray, scale: np.ndarray, part: np.ndarray, rows: int) -> tuple[Products, np.ndarray]:
        """What all add to answers for known x and sizes (n, parts), and the values of the terms (parts, t)."""
        of = self.of
        law, row = np.divmod(of._rows, of._height)
        pushed, most = of.products(x), of.products(scale, size=True)
        inner, outer = of._inner, np.flatnonzero(row >= of._size)
        answers, sizes = (np.zeros((len(part), 1 + rows), dtype=t) for t in (complex, float))
        for out, own, by, weights in (
            (answers, pushed, x, self.weights), (sizes, most, scale, np.abs(self.weights)),
        ):  # fmt: skip
            total = np.zeros((len(of.laws), x.shape[1]))
            np.add.at(total, law[inner], by[row[inner]] * own[inner])
            out[:, 0] = np.einsum("fl,fl->f", weights, total.T[part])
            for k in outer:
                out[:, 1 + row[k] - of._size] += weights[:, law[k]] * own[k, part]
        squares = sizes[:, 1:] ** 2
        values = np.tile(of._matrix, (x.shape[1], 1))
        values = np.concatenate([values, pushed[inner].T], axis=1)[:, of._order]
        by_groups = (a.reshape(-1, WIDTH, a.shape[1]).transpose(0, 2, 1) for a in (answers, sizes, squares))
        return Products([], *by_groups), values

    def complete(self, read: np.ndarray, of: np.ndarray) -> np.ndarray:
        """Products of rows and solutions (groups, rows, border, 8) of groups ``of``; ``read`` has the rows of laws last."""
        law, row = np.divmod(self.of._rows[self.of._below], self.of._height)
        count = read.shape[1] - len(row)
        weights = self.weights.reshape(-1, WIDTH, self.weights.shape[1])[of]
        for k, (number, to) in enumerate(zip(law, row - self.of._bound, strict=True)):
            read[:, to] += weights[:, None, :, number] * read[:, count + k]
        return read[:, :count]

    def terms(self, values: np.ndarray) -> Terms:
        """All terms as the elimination adds them, with their values (parts, t)."""
        groups, count = len(self.weights) // WIDTH, self.weights.shape[1]
        lanes = np.empty((groups, count, 2, WIDTH))
        by_group = self.weights.reshape(groups, WIDTH, count).transpose(0, 2, 1)
        lanes[:, :, 0], lanes[:, :, 1] = by_group.real, by_group.imag
        return Terms(self.of._first, self.of._places, self.of._laws, values.ravel(), lanes.ravel().view(complex), count)
