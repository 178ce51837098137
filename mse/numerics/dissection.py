"""Nested dissection: a fill-reducing ordering for graphs that fill space, such as lattices with many nodes in each direction.

A small separator is eliminated after the two parts that it separates, and these are divided in the same way: A. George, SIAM J.
Numer. Anal. 10 (1973) 345.  Distances from an end of the graph decide to which part a node belongs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..kernels import dissection as compiled

# Largest part (in coordinates) that is not divided, and number of ends from which a division is tried.  With a third or three
# times either, there are twice the searches for 4 % less work, or a fifth more work and more
# (tests/numerics/test_dissection.py::test_cubes_take_half_of_the_work_after_few_searches).
_LEAF = 300
_ENDS = 3
# A separator with less than this share of a part's coordinates on one side is refused.  Above a half nothing is divided and
# cubes fill in (tests/numerics/test_dissection.py::test_fill_of_cubes_grows_as_by_theory), with a hundredth no test fails.
_UNEVEN = 0.2


def dissected(first: np.ndarray, neighbors: np.ndarray, weight: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """An ordering (n,) of a graph's nodes; the smallest parts and the separators are ordered by ``rank`` (n,).

    Node v has the neighbors ``neighbors[first[v]:first[v + 1]]`` and ``weight[v]`` coordinates.
    """
    graph = _Graph(first, neighbors, weight)
    parts, later = [np.arange(len(weight))], [np.arange(0)]
    while parts:
        last, smaller = graph.divided(parts.pop())
        later.append(last[np.argsort(rank[last])])
        parts += smaller
    return np.concatenate(later[::-1])


class _Graph:
    """A graph, with work arrays to divide its parts."""

    def __init__(self, first: np.ndarray, neighbors: np.ndarray, weight: np.ndarray):
        n = len(weight)
        self._first, self._neighbors, self._weight = first, neighbors, weight
        self._part, self._side = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self._distance, self._mate, self._seen = np.full(n, -1), np.full(n, -1), np.full(n, -1)
        self._reached, self._following, self._path = (np.empty(n, dtype=np.int64) for _ in range(3))
        self._parts = 0

    def divided(self, nodes: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """The separator of a part, whose nodes come last, and the smaller parts that it separates."""
        weight = self._weight[nodes]
        if weight.sum() <= _LEAF:
            return nodes, []
        self._parts += 1
        self._part[nodes] = self._parts
        if self._from(nodes, nodes[0])[1] < len(nodes):
            return self._pieces(nodes)
        best, least = None, np.inf
        for distance in self._from_ends(nodes):
            # split at half of the coordinates
            order = np.argsort(distance, kind="stable")
            half = np.searchsorted(np.cumsum(weight[order]), 0.5 * weight.sum())
            separator, left, right = self._separated(nodes[order[:half]], nodes[order[half:]])
            sizes = [int(self._weight[some].sum()) for some in (separator, left, right)]
            cost = sizes[0] * (1.0 + abs(sizes[1] - sizes[2]) / weight.sum())
            if min(sizes[1:]) > _UNEVEN * weight.sum() and cost < least:
                best, least = (separator, [left, right]), cost
        return (nodes, []) if best is None else best

    def _from(self, nodes: np.ndarray, start: int) -> tuple[np.ndarray, int, int]:
        """Distances of a part's nodes from ``start``, the number of nodes reached, and the last of them."""
        self._distance[nodes] = -1
        count = compiled.distances(self._first, self._neighbors, self._part, start, self._distance, self._reached)
        return self._distance[nodes], count, self._reached[count - 1]

    def _pieces(self, nodes: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Parts not joined by an edge; small ones are combined."""
        shape = (len(self._weight),) * 2
        whole = sp.csr_matrix((np.ones(len(self._neighbors)), self._neighbors, self._first), shape=shape)
        piece = connected_components(whole[nodes][:, nodes], directed=False)[1]
        each = np.split(nodes[np.argsort(piece, kind="stable")], np.cumsum(np.bincount(piece))[:-1])
        large = np.bincount(piece, self._weight[nodes]) > _LEAF
        return nodes[~large[piece]], [each[k] for k in np.flatnonzero(large)]

    def _from_ends(self, nodes: np.ndarray) -> Iterator[np.ndarray]:
        """Distances of a connected part's nodes (k,) from each of its ends in turn, each end far from those before."""
        _, _, end = self._from(nodes, nodes[0])
        nearest = np.full(len(nodes), len(nodes))
        for _ in range(_ENDS):
            distance = self._from(nodes, end)[0]
            nearest = np.minimum(nearest, distance)
            end = nodes[np.argmax(nearest)]
            yield distance

    def _separated(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A smallest separator of two sets of nodes, and what remains of both sets."""
        side = self._side
        side[left], side[right] = 1, 2
        count = compiled.separator(
            self._first, self._neighbors, side, left, self._mate, self._seen, self._following, self._path, self._reached
        )
        separator = self._reached[:count].copy()
        side[separator] = 0
        left, right = left[side[left] == 1], right[side[right] == 2]
        side[left] = side[right] = 0
        return separator, left, right
