"""Where the entries of element matrices go in a system's sparse matrices, their sums and sums of their absolute terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..elements.base import MObject
from ..kernels.assembling import add_matrices, add_terms
from ..numerics.block_patterns import Blocks, ranges
from ..numerics.precision import EPS
from ..numerics.sparse_tools import on_pattern, without_zeros
from .configuration import Configuration
from .flattening import Kind
from .groups import ALL, Group
from .topology import Topology

if TYPE_CHECKING:
    from .assembly import Assembly

_ROUNDED_ARM = np.sqrt(EPS)  # of a position: an arm that may be its rounding


class Nodes(NamedTuple):
    """Which coordinates the elements couple, by nodes: a node is a body's six coordinates or an element's internal ones.

    ``kinds`` are the elements that have matrices, those with forces first; ``touched`` (E, N) are the nodes of each element of a
    kind, -1 for the ground; ``sizes`` are the numbers of coordinates of the nodes.
    """

    kinds: Sequence[Kind]
    touched: list[np.ndarray]
    sizes: np.ndarray

    @classmethod
    def of(cls, topology: Topology, body: np.ndarray) -> Nodes:
        """The nodes of a system whose frames belong to the bodies ``body`` (frames,), 0 being the ground."""
        t = topology
        kinds = forceful(t) + [kind for kind in t.kinds if not kind.cls.exerts_forces() and _moves(kind.cls)]
        bodies = int(body.max())
        inside = [
            (k, kind.coordinates) for kind in t.kinds if kind.own_coordinates for k in kind.internal[:, 0].tolist()
        ]
        inside = np.array(sorted(inside), dtype=int).reshape(-1, 2)
        starting = np.full(t.internal, -1)  # the node that starts with an internal coordinate
        starting[inside[:, 0]] = bodies + np.arange(len(inside))
        own = [kind.internal[:, : min(1, kind.own_coordinates)] for kind in kinds]
        touched = [np.hstack([body[kind.frames] - 1, starting[inner]]) for kind, inner in zip(kinds, own, strict=True)]
        return cls(kinds, touched, np.concatenate([np.full(bodies, 6), inside[:, 1]]))


def forceful(topology: Topology) -> list[Kind]:
    """The elements that have an energy or a constraint."""
    return [kind for kind in topology.kinds if kind.cls.exerts_forces()]


def _moves(cls: type[MObject]) -> bool:
    """Whether objects of a class have mass or damping."""
    return cls.has_mass() or cls.has_damping()


class Pattern:
    """The sparsity of a system's symmetric matrices; found once for a topology.

    ``size`` and ``count`` are the numbers of coordinates and entries; ``indices`` and ``indptr`` are as in a csr or csc matrix.
    ``further`` are pairs of nodes that have entries although no element touches both.
    """

    def __init__(self, nodes: Nodes, further: Iterable[tuple[np.ndarray, np.ndarray]] = ()):
        self._nodes = nodes
        self._blocks = Blocks(nodes.sizes)
        each = np.arange(len(nodes.sizes))
        self._blocks.couple(each, each)
        for touched in nodes.touched:
            self._blocks.couple(touched[:, :, None], touched[:, None, :])
        for a, b in further:
            self._blocks.couple(a, b)
        self.size, self.count, self.indices, self.indptr = self._blocks.arranged()
        self.indices.flags.writeable = self.indptr.flags.writeable = False  # shared by all matrices with this pattern
        self.widths = [_widths(kind) for kind in nodes.kinds]
        self._places: dict[tuple[int, ...], np.ndarray] = {}
        self._parts: tuple[np.ndarray, sp.csc_matrix, np.ndarray] | None = None

    def part(self, matrix: sp.csc_matrix, on: np.ndarray) -> sp.csc_matrix:
        """The rows and columns ``on`` of a matrix; fast for a matrix of this pattern."""
        if matrix.indices is not self.zero.indices:
            return matrix[on][:, on].tocsc()
        if self._parts is None or not np.array_equal(self._parts[0], on):
            numbered = on_pattern(self.zero, np.arange(self.count))[on][:, on].tocsc()
            numbered.indices.flags.writeable = numbered.indptr.flags.writeable = False
            self._parts = on, on_pattern(numbered, np.zeros(numbered.nnz)), numbered.data
        _, zero, entries = self._parts
        return on_pattern(zero, matrix.data[entries])

    @property
    def kinds(self) -> Sequence[Kind]:
        """The elements that have matrices."""
        return self._nodes.kinds

    @cached_property
    def zero(self) -> sp.csc_matrix:
        """A matrix of zeros."""
        out = sp.csc_matrix((np.zeros(self.count), self.indices, self.indptr), shape=(self.size, self.size))
        out.has_canonical_format = True
        return out

    def places(self, numbers: tuple[int, ...]) -> np.ndarray:
        """Place of the first entry of each coordinate in each node (E, n, N), for elements of similar kinds; -1 for none."""
        if numbers not in self._places:
            touched = np.concatenate([self._nodes.touched[k] for k in numbers])
            self._places[numbers] = self._blocks.rows_between(touched, self.widths[numbers[0]])
        return self._places[numbers]

    def all_places(self, number: int) -> np.ndarray:
        """Places of all entries (E, n, n) of a kind's elements; -1 for none."""
        widths = self.widths[number]
        node, axis = np.repeat(np.arange(len(widths)), widths), ranges(0 * widths, widths)
        first = self.places((number,))[:, :, node]
        return np.where(first < 0, -1, first + axis)

    def place(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Places of single entries, by row and column."""
        return self._blocks.place(i, j)


def _widths(kind: Kind) -> np.ndarray:
    """How many coordinates each node of an element has (N,)."""
    return np.array([6] * kind.count + [kind.own_coordinates] * bool(kind.own_coordinates), dtype=np.int64)


@cache
def _once(parts: int) -> np.ndarray:
    """Weights (1, p) of matrices that are added unchanged."""
    return np.ones((1, parts))


class Sum:
    """A sum of element matrices at the places of a pattern."""

    def __init__(self, pattern: Pattern):
        self.pattern = pattern
        self.data = np.zeros(pattern.count)

    def add(
        self,
        numbers: tuple[int, ...],
        matrices: np.ndarray,
        weights: np.ndarray | None = None,
        part: slice = slice(None),
    ) -> None:
        """Add matrices (E, p, n, n), times weights (E or 1, p), for all elements of similar kinds, or for a ``part`` of them."""
        weights = _once(matrices.shape[1]) if weights is None else weights
        places, widths = self.pattern.places(numbers)[part], self.pattern.widths[numbers[0]]
        if weights.dtype.kind != "c":
            add_matrices(weights, matrices, widths, places, self.data)
            return
        for factor, share in ((1.0, weights.real), (1j, weights.imag)):
            data = np.zeros(self.pattern.count)
            add_matrices(np.ascontiguousarray(share), matrices, widths, places, data)
            self.data = self.data + factor * data

    def put(self, places: np.ndarray, values: np.ndarray) -> None:
        """Add single entries at given places."""
        for factor, share in ((1.0, values.real), (1j, values.imag)):
            if factor == 1.0 or np.iscomplexobj(values):
                self.data = self.data + factor * np.bincount(places, share, self.pattern.count)

    def by_columns(self) -> sp.csc_matrix:
        """The sum with all entries of the pattern."""
        return on_pattern(self.pattern.zero, self.data)

    def by_rows(self, size: int) -> sp.csr_matrix:
        """A symmetric sum as (size, size) without stored zeros; coordinates beyond the pattern have no entries."""
        return filled(self.data, self.pattern.indices, self.pattern.indptr, size)


def filled(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, size: int) -> sp.csr_matrix:
    """A new csr matrix (size, size) without stored zeros; rows beyond ``indptr`` are empty."""
    if size >= len(indptr):
        beyond = np.full(size + 1 - len(indptr), indptr[-1], dtype=indptr.dtype)
        indptr = np.concatenate([indptr, beyond])
    return without_zeros(data, indices, indptr, size)


class Rows:
    """Where the slopes of all constraints go in one matrix (m, size), found once for a topology.

    ``numbers`` (E, c) are the constraints of each group's elements, m if an element has fewer than others; ``coordinates`` (E, n)
    are the coordinates of its elements, -1 on the ground.  ``places`` (E, c, n) says where each slope goes among the entries;
    slopes of no constraint or coordinate go after the last entry.
    """

    def __init__(self, numbers: Sequence[np.ndarray], coordinates: Sequence[np.ndarray], count: int, size: int):
        self.size, self.numbers = size, numbers
        pairs = [np.broadcast_arrays(r[:, :, None], c[:, None, :]) for r, c in zip(numbers, coordinates, strict=True)]
        row, column = (np.concatenate([np.zeros(0, int), *(pair[k].ravel() for pair in pairs)]) for k in range(2))
        nowhere = (row == count) | (column < 0)
        entry, place = np.unique(np.where(nowhere, count * size, row * size + column), return_inverse=True)
        entry = entry[entry < count * size]
        starts = np.cumsum([0, *(r.size for r, _ in pairs)]).tolist()
        self.places = [place[k : k + r.size].reshape(r.shape) for k, (r, _) in zip(starts, pairs, strict=False)]
        self.row = entry // size
        self.indices = (entry % size).astype(np.int32)
        self.indptr = np.searchsorted(entry, size * np.arange(count + 1)).astype(np.int32)

    def matrix(self, entries: np.ndarray) -> sp.csr_matrix:
        """The slopes as one matrix without zeros, which arise if a body holds both frames of a joint and its terms cancel."""
        return without_zeros(entries, self.indices, self.indptr, self.size)


class StiffnessTerms:
    """Sum of the absolute terms in the stiffness of an assembly at a configuration, under ``factors`` as :meth:`.Assembly.total`.

    :meth:`take` gets elements that are evaluated for the stiffness anyway; :meth:`summed` evaluates those that it has not got.
    Elements of groups of one portion are kept by :meth:`take`, and added up by :meth:`summed`.  To keep more would take as long
    as to evaluate it again.  ``at_once``: their terms are added up as they come, for a state where they will be needed.
    """

    def __init__(
        self, assembly: Assembly, at: Configuration, factors: tuple[float, float, float], *, at_once: bool = False
    ):
        self._assembly, self._at, self._factors, self._at_once = assembly, at, factors, at_once
        # the elements of groups by number, None for those whose terms are in the sums
        self._taken: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray] | None] = {}

    def take(self, g: Group, part: slice, levers: np.ndarray, f: np.ndarray, k: np.ndarray) -> None:
        """Elements of a group: levers (E, F, 3), gradients (E, n) and stiffness (E, 1, n, n) at frames, which may change."""
        if len(f) == len(g.members):
            self._taken[g.number] = levers, f.copy(), k.copy()
        elif self._at_once:
            self._add(g, part, levers, f, k)
            self._taken[g.number] = None

    def summed(self, multipliers: np.ndarray) -> tuple[sp.csc_matrix, np.ndarray]:
        """Sum (n, n) of the terms of elements and reactions, and the arms (bodies,) of their forces; for multipliers (m,).

        Rounding of K is a few eps of this sum, whatever cancels: within an element, in ``T^T K T`` by the arms, or between
        elements. The arm of a body is a mean weighted by stiffness; joints contribute their longest arm.
        """
        assembly = self._assembly
        for g in assembly.joined:
            if g.number not in self._taken:
                self._evaluate(g)
            elif (kept := self._taken[g.number]) is not None:
                self._add(g, ALL, *kept)
            self._taken[g.number] = None
        (data, sums), longest = self._sums, 0.0
        if assembly.constraint_count:
            data, of_joints = data.copy(), np.zeros_like(sums)
            for g, f, k in assembly.reactions(self._at, multipliers):
                self._put(g, ALL, (assembly.levers(g, self._at), f, k), 1.0, data, of_joints)
            sums, longest = sums + of_joints, of_joints[2]
        mean = np.sqrt(sums[1] / np.where(sums[0] > 0.0, sums[0], 1.0))
        return on_pattern(assembly.pattern.zero, data), np.maximum(mean, longest)

    @cached_property
    def _sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Entries of the sum (n, n) of elements, and by body (3, bodies) what their arms are found from."""
        return np.zeros(self._assembly.pattern.count), np.zeros((3, self._assembly.bodies))

    def _evaluate(self, g: Group) -> None:
        _, load_factor, follower_factor = self._factors
        for part in g.portions(2):
            _, f, k = g.evaluate(self._at, 2, load_factor, part, summed=True, follower_factor=follower_factor)
            self._add(g, part, self._assembly.levers(g, self._at, part), f, k)

    def _add(self, g: Group, part: slice, levers: np.ndarray, f: np.ndarray, k: np.ndarray) -> None:
        factor = 1.0 if g.cls.external or g.cls.only_weighs() else self._factors[0]
        self._put(g, part, (levers, f, k), factor, *self._sums)

    def _put(self, g: Group, part: slice, found: tuple, factor: float, data: np.ndarray, sums: np.ndarray) -> None:
        (levers, f, k), pattern = found, self._assembly.pattern
        widths, places = pattern.widths[g.numbers[0]], pattern.places(g.numbers)[part]
        positions, bodies = (levers, self._at.o, g.frames[part]), self._assembly.bodies_of(g)[part]
        add_terms(*positions, factor, _ROUNDED_ARM, f, k, bodies, sums, widths, places, data)
