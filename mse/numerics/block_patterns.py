"""Blocks of a sparse matrix whose coordinates belong to nodes, such as six to a body."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class Blocks:
    """Blocks of a sparse matrix with nodes of given sizes (N,): first which nodes couple, then the places of entries."""

    def __init__(self, sizes: np.ndarray):
        self.sizes = sizes
        self.first = np.cumsum(sizes) - sizes
        self.node = np.repeat(np.arange(len(sizes)), sizes)
        self._keys = [np.zeros(0, dtype=int)]

    def couple(self, a: np.ndarray, b: np.ndarray) -> None:
        """Let nodes a and b share blocks; -1 for none."""
        a, b = np.broadcast_arrays(a, b)
        on = (a >= 0) & (b >= 0)
        self._keys.append(np.unique(a[on] * len(self.sizes) + b[on]))

    def arranged(self) -> tuple[int, int, np.ndarray, np.ndarray]:
        """Fix the order; returns the numbers of coordinates and entries, indices and indptr of the csr matrix."""
        self._found = np.unique(np.concatenate(self._keys))
        row, col = np.divmod(self._found, max(len(self.sizes), 1))
        self._width = np.bincount(row, self.sizes[col], len(self.sizes)).astype(int)  # entries in each row of a node
        entries = self.sizes * self._width
        self._start = np.cumsum(entries) - entries
        before = np.cumsum(self._width) - self._width
        self._offset = np.cumsum(self.sizes[col]) - self.sizes[col] - before[row]
        self._count = int(entries.sum())
        columns = ranges(self.first[col], self.sizes[col])  # columns of one row of each node
        indices = columns[ranges(before[self.node], self._width[self.node])]
        indptr = np.concatenate([[0], np.cumsum(self._width[self.node])])
        return len(self.node), self._count, indices.astype(np.int32), indptr.astype(np.int32)

    def _corner(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Place of the first entry of the block of nodes a and b, which must be coupled."""
        return self._start[a] + self._offset[np.searchsorted(self._found, a * len(self.sizes) + b)]

    def place(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Places of entries by their rows and columns."""
        a, b = self.node[i], self.node[j]
        return self._corner(a, b) + (i - self.first[a]) * self._width[a] + (j - self.first[b])

    def rows_between(self, nodes: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
        """Places (E, n, N) of the first entry in row n and node N, for elements on nodes (E, N) of given sizes.

        -1 if one of the two nodes is -1.
        """
        of, axis = _spread(sizes)
        a, b = np.broadcast_arrays(nodes[:, :, None], nodes[:, None, :])
        on = (a >= 0) & (b >= 0)
        corner, width = np.zeros(on.shape, dtype=np.int64), np.zeros(on.shape, dtype=np.int64)
        corner[on], width[on] = self._corner(a[on], b[on]), self._width[a[on]]
        places = corner[:, of] + width[:, of] * axis[:, None]
        places[~on[:, of]] = -1
        return np.ascontiguousarray(places)


def _spread(sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Number of the node, and the place in it, of each coordinate of nodes of given sizes."""
    of = np.repeat(np.arange(len(sizes)), sizes)
    return of, np.arange(len(of)) - np.repeat(np.cumsum(sizes, dtype=np.int64) - sizes, sizes)


def ranges(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """``first[0], first[0] + 1, ...`` (count[0] of them), ``first[1], ...``"""
    return np.arange(count.sum()) + np.repeat(first - np.cumsum(count) + count, count)
