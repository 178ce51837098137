"""Fill-reducing orderings of sparse symmetric matrices, and the dense fronts of their elimination; once per pattern."""

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

BODY = 6  # successive coordinates that may be taken for one node of the graph
_REMEMBERED = 30_000  # entries
# Cycles that an ordering takes for each entry, of a sheet of 100 x 100 bodies; it decides only what is tried
# (tests/numerics/test_ordering.py::test_what_takes_less_work_is_chosen_where_another_ordering_is_worth_it).
_ANOTHER = 1000.0
# The same for each entry of a graph: a trial of nested dissection takes a fifth of a factor's time there, or less
# (tests/numerics/test_ordering.py::test_lattices_with_much_fill_are_dissected).
_DISSECTED = 2e5


@dataclass(frozen=True, eq=False)
class Elimination:
    """Fronts of a pattern: ``place[i]`` is the position of coordinate i in the fill-reducing ordering.

    ``entries`` picks from the entries of the bordered matrix those of the lower triangle, in order of fronts.
    """

    fronts: Fronts
    place: np.ndarray
    entries: np.ndarray

    def numbers(self, first: np.ndarray, rows: np.ndarray, of_rows: np.ndarray, of_columns: np.ndarray) -> np.ndarray:
        """Which of ``entries`` are at these rows and columns of the pattern, (k,); -1 for those of the upper triangle."""
        columns = np.repeat(np.arange(len(first) - 1), np.diff(first))
        height = int(rows.max(initial=0)) + 1
        key = columns * height + rows
        order = np.argsort(key)
        number = np.full(len(rows), -1)
        number[self.entries] = np.arange(len(self.entries))
        return number[order[np.searchsorted(key[order], of_columns * height + of_rows)]]

    @cached_property
    def kept(self) -> int:
        """Entries of all columns of L, those of the border with them."""
        columns, rows = np.diff(self.fronts.first_column), np.diff(self.fronts.first_row)
        return int(np.sum(columns * (columns + rows)))

    @cached_property
    def cycles(self) -> float:
        """Processor cycles, roughly, for eight frequencies."""
        columns, rows = np.diff(self.fronts.first_column), np.diff(self.fronts.first_row)
        return float(np.sum(symbolic.work(columns.astype(float), (columns + rows).astype(float))))


class PivotTree(NamedTuple):
    """What was eliminated after what: fronts, children before parents, ``first`` (f + 1,) places and ``parents`` (f,) of them.

    ``place`` (n,) is that of each coordinate, ``pivots`` (n,) are by place; the parent of the last fronts is f.
    """

    place: np.ndarray
    first: np.ndarray
    parents: np.ndarray
    pivots: np.ndarray


def eliminated(first: np.ndarray, rows: np.ndarray, border: int, late: np.ndarray, wide: int = 1) -> Elimination:
    """Order, fronts and places for a matrix by columns: a symmetric one, whole, above the rows of its right-hand sides.

    The last border row, of the right-hand side with the known answer, is in every front without being among the entries.
    Coordinates that are ``late`` (n,), such as multipliers, have a zero diagonal until their neighbors are eliminated.
    Patterns of small matrices are remembered: models that are solved again with other numbers come by often.
    """
    if len(rows) > _REMEMBERED:
        return _found(first, rows, border, late, wide)
    pattern = (np.ascontiguousarray(a, dtype=np.int64).tobytes() for a in (first, rows))
    return _remembered(*pattern, border, late.tobytes(), wide)


def cheapest(first: np.ndarray, rows: np.ndarray, border: int, late: np.ndarray) -> Elimination:
    """The same with or without bodies as nodes: what takes less work, where that is worth another ordering."""
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
    # coordinates with the same neighbors, such as those of a body, are one node
    alike = symbolic.blocks(first, rows, wide) if wide > 1 else symbolic.signatures(first, rows)
    _, label = np.unique(alike, return_inverse=True)
    late_entries = _late_entries(first, rows, late) if late.any() else None
    if late_entries is not None:
        # as part of some neighbor, for an order
        label = _joined(late_entries, label)
    count = int(label.max(initial=-1)) + 1
    around, neighbors = symbolic.nodes(first, rows, label, count, border)
    tree = _ordered(around, neighbors, np.bincount(label, minlength=count), border)
    label = tree.rank[label]
    if late_entries is not None:
        # then as nodes of their own right behind the last neighbor, which may have very many of them
        label = _behind(late_entries, label, symbolic.signatures(first, rows))
        count = int(label.max()) + 1
        around, neighbors = symbolic.nodes(first, rows, label, count, border)
        tree = _Tree.of(around, neighbors, np.arange(count), np.bincount(label, minlength=count), border)
    start, below, weight, last, parents, group = (
        tree.start, tree.below, tree.weight, tree.last, tree.parents, tree.group
    )  # fmt: skip
    # positions: by group, in it by node
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
    """What an order makes of a graph: structures of its nodes, numbered as they are eliminated, and their groups.

    ``rank`` (count,) is the place of each node of the graph in the order, ``weight`` the coordinates of each and of the border,
    ``below`` the rows of L under each, from ``start``; ``last`` the last node of each ``group``, ``parents`` their parents.
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
        """From neighbors of each node, the ``order`` in which they are eliminated, and the coordinates of each node."""
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
    """The ordering with the least work: multiple minimum degree, or nested dissection where that is worth a trial."""
    count = len(weight)
    inner = neighbors < count
    graph = np.concatenate([[0], np.cumsum(inner)])[around], neighbors[inner]
    tree = _Tree.of(around, neighbors, _minimum_degree(*graph, count), weight, border)
    if tree.cycles <= _DISSECTED * len(graph[1]):
        return tree
    other = _Tree.of(around, neighbors, dissected(*graph, weight, tree.rank), weight, border)
    return min(tree, other, key=lambda one: one.cycles)


def _late_entries(first: np.ndarray, rows: np.ndarray, late: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Late coordinates and their neighbors that are not, pair by pair."""
    columns = np.repeat(np.arange(len(late)), np.diff(first))
    inner = rows < len(late)
    chosen = inner & late[columns] & ~late[np.where(inner, rows, 0)]
    return columns[chosen], rows[chosen]


def _joined(late: tuple[np.ndarray, np.ndarray], value: np.ndarray) -> np.ndarray:
    """Numbers from 0 of nodes by ``value`` (n,), late coordinates in the node of their neighbor with the largest."""
    out = value.copy()
    best = np.full(len(value), -1)
    np.maximum.at(best, late[0], value[late[1]])
    out[best >= 0] = best[best >= 0]
    return np.unique(out, return_inverse=True)[1]


def _behind(late: tuple[np.ndarray, np.ndarray], rank: np.ndarray, signatures: np.ndarray) -> np.ndarray:
    """Numbers from 0 of nodes by ``rank`` (n,), those of late coordinates behind that of their neighbor with the largest.

    Late ones of one rank with the same neighbors, by ``signatures`` (n,), are one node.
    """
    best = np.full(len(rank), -1)
    np.maximum.at(best, late[0], rank[late[1]])
    behind = best >= 0
    _, alike = np.unique(signatures[behind], return_inverse=True)
    order, own = rank.copy(), np.zeros(len(rank), dtype=np.int64)
    order[behind], own[behind] = best[behind], 1 + alike
    return np.unique(order * (1 + int(own.max(initial=0))) + own, return_inverse=True)[1]


def _spread(first: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All of ``first[k], first[k] + 1, ...``, ``lengths[k]`` of each, behind the k they belong to."""
    k = np.repeat(np.arange(len(first)), lengths)
    return k, np.arange(len(k)) + np.repeat(first - np.cumsum(lengths) + lengths, lengths)


def _minimum_degree(first: np.ndarray, neighbors: np.ndarray, count: int) -> np.ndarray:
    """A fill-reducing ordering of a graph's nodes: multiple minimum degree, by SuperLU.

    SuperLU tells it with a factor only: an incomplete one, of the diagonal alone, is least work.
    """
    if count <= 2:
        return np.arange(count)
    graph = sp.csc_matrix((np.full(len(neighbors), -1.0), neighbors, first), shape=(count, count))
    # dominant on the diagonal, so that no rows are exchanged; a pattern need not have it
    graph = (graph + sp.diags_array(np.full(count, 3.0 * count))).tocsc()
    lu = spilu(
        graph, drop_tol=1.0, fill_factor=1.0, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )  # fmt: skip
    return np.argsort(lu.perm_c)
