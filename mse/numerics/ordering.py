"""Fill-reducing orderings of sparse symmetric matrices, and the dense fronts of their elimination; made once per pattern."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spilu

from ..kernels import fronts as symbolic
from ..kernels.ldl import Fronts
from .dissection import dissected

BODY = 6  # successive coordinates that may be one node of the graph
_REMEMBERED = 30_000  # entries
# Processor cycles of an ordering for each entry, for a sheet of 100 x 100 bodies; it decides only what is tried
# (tests/numerics/test_ordering.py::test_what_takes_less_work_is_chosen_where_another_ordering_is_worth_it).
_ANOTHER = 1000.0
# The same of nested dissection, for each entry of a graph: a trial takes a fifth of a factor's time, or less
# (tests/numerics/test_ordering.py::test_lattices_with_much_fill_are_dissected).
_DISSECTED = 2e5


@dataclass(frozen=True, eq=False)
class Elimination:
    """Fronts of a pattern: ``place[i]`` is the position of coordinate i in the fill-reducing ordering.

    ``entries`` picks the entries of the lower triangle from the bordered matrix, in the order of fronts.
    """

    fronts: Fronts
    place: np.ndarray
    entries: np.ndarray

    def numbers(self, first: np.ndarray, rows: np.ndarray, of_rows: np.ndarray, of_columns: np.ndarray) -> np.ndarray:
        """Numbers (k,) among ``entries`` of given rows and columns of the pattern; -1 in the upper triangle."""
        columns = np.repeat(np.arange(len(first) - 1), np.diff(first))
        height = int(rows.max(initial=0)) + 1
        key = columns * height + rows
        order = np.argsort(key)
        number = np.full(len(rows), -1)
        number[self.entries] = np.arange(len(self.entries))
        return number[order[np.searchsorted(key[order], of_columns * height + of_rows)]]

    @cached_property
    def kept(self) -> int:
        """Entries of all columns of L below its diagonal, with the border."""
        columns, rows = np.diff(self.fronts.first_column), np.diff(self.fronts.first_row)
        return int(np.sum(columns * (columns - 1) // 2 + columns * rows))

    @cached_property
    def cycles(self) -> float:
        """Approximate processor cycles for eight frequencies."""
        columns, rows = np.diff(self.fronts.first_column), np.diff(self.fronts.first_row)
        return float(np.sum(symbolic.work(columns.astype(float), (columns + rows).astype(float))))


class PivotTree(NamedTuple):
    """The order of elimination: fronts, children before parents, with their ``first`` places (f + 1,) and ``parents`` (f,).

    ``place`` (n,) is the place of each coordinate, ``pivots`` (n,) are in the order of places; the parent of a root is f.
    """

    place: np.ndarray
    first: np.ndarray
    parents: np.ndarray
    pivots: np.ndarray


def eliminated(first: np.ndarray, rows: np.ndarray, border: int, late: np.ndarray, wide: int = 1) -> Elimination:
    """Order, fronts and places for a matrix by columns: a whole symmetric one, above the rows of its right-hand sides.

    The last border row belongs to the right-hand side with a known solution.  It is in every front, but not among the entries.
    ``late`` coordinates (n,), such as multipliers, have a zero diagonal until their neighbors are eliminated.  Patterns of small
    matrices are remembered, since models are often solved again with other numbers.
    """
    if len(rows) > _REMEMBERED:
        return _found(first, rows, border, late, wide)
    pattern = (np.ascontiguousarray(a, dtype=np.int64).tobytes() for a in (first, rows))
    return _remembered(*pattern, border, late.tobytes(), wide)


def cheapest(first: np.ndarray, rows: np.ndarray, border: int, late: np.ndarray) -> Elimination:
    """The same with or without bodies as nodes; both are tried if that is worth it, and the one with less work is taken."""
    own = eliminated(first, rows, border, late)
    if own.cycles <= _ANOTHER * len(rows):
        return own
    return min(own, eliminated(first, rows, border, late, BODY), key=lambda found: found.cycles)


@functools.lru_cache(maxsize=32)
def _remembered(first: bytes, rows: bytes, border: int, late: bytes, wide: int) -> Elimination:
    pattern = (np.frombuffer(a, dtype=np.int64).copy() for a in (first, rows))
    return _found(*pattern, border, np.frombuffer(late, dtype=bool).copy(), wide)


def _found(first: np.ndarray, rows: np.ndarray, border: int, late: np.ndarray, wide: int) -> Elimination:
    n = len(first) - 1
    # coordinates with the same neighbors, such as the six of a body, are one node
    alike = symbolic.blocks(first, rows, wide) if wide > 1 else symbolic.signatures(first, rows)
    _, label = np.unique(alike, return_inverse=True)
    late_entries = _late_entries(first, rows, late) if late.any() else None
    if late_entries is not None:
        # first as part of a neighbor, to find an order
        label = _joined(late_entries, label)
    count = int(label.max(initial=-1)) + 1
    around, neighbors = symbolic.nodes(first, rows, label, count, border)
    tree = _ordered(around, neighbors, np.bincount(label, minlength=count), border)
    label = tree.rank[label]
    if late_entries is not None:
        # then as nodes of their own right after the last neighbor, which may have very many of them
        label = _behind(late_entries, label, symbolic.signatures(first, rows))
        count = int(label.max()) + 1
        around, neighbors = symbolic.nodes(first, rows, label, count, border)
        tree = _Tree.of(around, neighbors, np.arange(count), np.bincount(label, minlength=count), border)
    start, below, weight, last, parents, group = (
        tree.start, tree.below, tree.weight, tree.last, tree.parents, tree.group
    )  # fmt: skip
    # positions: by group, within it by node
    by_node = np.lexsort((np.arange(count), group))
    node_first = np.empty(count + border, dtype=np.int64)
    node_first[by_node] = np.cumsum(weight[by_node]) - weight[by_node]
    node_first[count:] = n + np.arange(border)
    place = np.empty(n + border, dtype=np.int64)
    place[np.lexsort((late, node_first[label]))] = np.arange(n)
    place[n:] = n + np.arange(border)
    first_column = np.concatenate([[0], np.cumsum(np.bincount(group, weight[:count], len(last)))]).astype(np.int64)
    # the coordinates of the rows under each group's last node
    owner, nodes = _spread(start[last], start[last + 1] - start[last])
    nodes = below[nodes]
    of_node, positions = _spread(node_first[nodes], weight[nodes])
    key = np.sort(owner[of_node] * (n + border) + positions)
    owner, all_rows = np.divmod(key, n + border)
    first_row = np.searchsorted(owner, np.arange(len(last) + 1))
    inside = symbolic.inside(first_column, first_row, all_rows, parents, border)
    node = np.append(label, np.full(border, count))
    entries, first_entry, places = symbolic.lower_triangle(
        first, rows, place, node, first_column, first_row, all_rows, border
    )
    stack, largest = symbolic.stack_peak(first_column, first_row, parents)
    fronts = Fronts(
        first_column, first_row, all_rows, inside, parents, first_entry, places, border, max(largest, border), stack
    )
    return Elimination(fronts, place[:n], entries)


class _Tree(NamedTuple):
    """The elimination of a graph in some order: its nodes, numbered in that order, and groups of them.

    ``rank`` (count,) is the place of each node in the order, ``weight`` the coordinates of each node and of the border.  The rows
    of L under a node are in ``below``, from ``start``.  ``last`` is the last node of each ``group``, ``parents`` are the groups'.
    """

    rank: np.ndarray
    weight: np.ndarray
    start: np.ndarray
    below: np.ndarray
    group: np.ndarray
    last: np.ndarray
    parents: np.ndarray
    cycles: float

    @classmethod
    def of(cls, around: np.ndarray, neighbors: np.ndarray, order: np.ndarray, weight: np.ndarray, border: int) -> _Tree:
        """From the neighbors of each node, the ``order`` of elimination, and the number of coordinates of each node."""
        count = len(order)
        rank, number = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        rank[order] = np.arange(count)
        weight = np.concatenate([weight[order], np.ones(border, dtype=np.int64)])
        start, below, parent = symbolic.structures(around, neighbors, order, border)
        summed = np.concatenate([[0], np.cumsum(weight[below])])
        under = summed[start[1:]] - summed[start[:-1]]
        top, last, parents = symbolic.groups(parent, weight[:count], under)
        number[last] = np.arange(len(last))
        group = number[top]
        columns = np.bincount(group, weight[:count], len(last))
        cycles = float(np.sum(symbolic.work(columns, columns + under[last])))
        return cls(rank, weight, start, below, group, last, parents, cycles)


def _ordered(around: np.ndarray, neighbors: np.ndarray, weight: np.ndarray, border: int) -> _Tree:
    """The ordering with the least work: multiple minimum degree, or nested dissection if that is worth a trial."""
    count = len(weight)
    inner = neighbors < count
    graph = np.concatenate([[0], np.cumsum(inner)])[around], neighbors[inner]
    tree = _Tree.of(around, neighbors, _minimum_degree(*graph, count), weight, border)
    if tree.cycles <= _DISSECTED * len(graph[1]):
        return tree
    other = _Tree.of(around, neighbors, dissected(*graph, weight, tree.rank), weight, border)
    return min(tree, other, key=lambda one: one.cycles)


def _late_entries(first: np.ndarray, rows: np.ndarray, late: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of a late coordinate and a neighbor that is not late."""
    columns = np.repeat(np.arange(len(late)), np.diff(first))
    inner = rows < len(late)
    chosen = inner & late[columns] & ~late[np.where(inner, rows, 0)]
    return columns[chosen], rows[chosen]


def _joined(late: tuple[np.ndarray, np.ndarray], value: np.ndarray) -> np.ndarray:
    """Node numbers from 0 by ``value`` (n,); a late coordinate is in the node of its neighbor with the largest value."""
    out = value.copy()
    best = np.full(len(value), -1)
    np.maximum.at(best, late[0], value[late[1]])
    out[best >= 0] = best[best >= 0]
    return np.unique(out, return_inverse=True)[1]


def _behind(late: tuple[np.ndarray, np.ndarray], rank: np.ndarray, signatures: np.ndarray) -> np.ndarray:
    """Node numbers from 0 by ``rank`` (n,); the node of a late coordinate comes after its neighbor with the largest rank.

    Late coordinates after the same node with the same neighbors, by ``signatures`` (n,), are one node.
    """
    best = np.full(len(rank), -1)
    np.maximum.at(best, late[0], rank[late[1]])
    behind = best >= 0
    _, alike = np.unique(signatures[behind], return_inverse=True)
    order, own = rank.copy(), np.zeros(len(rank), dtype=np.int64)
    order[behind], own[behind] = best[behind], 1 + alike
    return np.unique(order * (1 + int(own.max(initial=0))) + own, return_inverse=True)[1]


def _spread(first: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The k and the number of all ``first[k], first[k] + 1, ...``, ``lengths[k]`` of each."""
    k = np.repeat(np.arange(len(first)), lengths)
    return k, np.arange(len(k)) + np.repeat(first - np.cumsum(lengths) + lengths, lengths)


def _minimum_degree(first: np.ndarray, neighbors: np.ndarray, count: int) -> np.ndarray:
    """A fill-reducing ordering of a graph's nodes: multiple minimum degree, by SuperLU.

    SuperLU gives it only with a factor; an incomplete factor of the diagonal alone is the least work.
    """
    if count <= 2:
        return np.arange(count)
    graph = sp.csc_matrix((np.full(len(neighbors), -1.0), neighbors, first), shape=(count, count))
    # a dominant diagonal, so that no rows are exchanged; the pattern may lack one
    graph = (graph + sp.diags_array(np.full(count, 3.0 * count))).tocsc()
    lu = spilu(
        graph, drop_tol=1.0, fill_factor=1.0, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )  # fmt: skip
    return np.argsort(lu.perm_c)
