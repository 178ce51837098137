"""Where the matrices of all elements land in those of the linear model: found once for a topology, kept by its assembly.

The coordinates x = (q, w) come in *nodes*: the six of a unit, the internal ones of an element, the six held ones of a link.
Elements couple nodes, so the matrices of the model consist of blocks, and the place of an entry follows from that of its block.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..elements.base import MObject
from ..model.assembly import Assembly
from ..model.flattening import Kind
from ..model.topology import Topology
from ..numerics.block_patterns import Blocks
from .link_columns import LinkTree


class Carried(NamedTuple):
    """What becomes of elements on clusters beyond links: entry number ``of``, times two factors, lands at ``place``."""

    of: np.ndarray
    first: np.ndarray
    second: np.ndarray
    place: np.ndarray


class Source:
    """Elements of one class, and the places of the entries of their matrices (E, n, n) among those of the model.

    ``members`` (E,) number the elements, ``frames`` (E, F) their frames, ``internal`` (E, c) their internal coordinates.
    ``places`` are one past the last place for what lands nowhere, on the ground, and for all of an element of which a part
    is ``carried`` by links.
    """

    def __init__(self, kind: Kind):
        self.cls = kind.cls
        self.members = np.array(kind.members)
        self.frames = kind.frames
        self.inner = kind.coordinates
        self.size = 6 * self.frames.shape[1] + self.inner
        self.internal = kind.internal
        self.carried: Carried | None = None

    def locate(self, blocks: Blocks, nodes: np.ndarray) -> None:
        """Take over the nodes (E, N) of the elements, by which their places are found when they are asked for."""
        self._located = blocks, nodes

    @cached_property
    def places(self) -> np.ndarray:
        """Where each entry lands (E n n,)."""
        blocks, nodes = self._located
        return blocks.places_between(nodes, [6] * self.frames.shape[1] + [self.inner] * bool(self.inner)).ravel()


def linear_pattern(assembly: Assembly) -> LinearPattern:
    """Where all elements land in the matrices of the linear model; found once, for all variants of an assembly."""
    if assembly.patterns.linear is None:
        assembly.patterns.linear = LinearPattern(assembly.topology)
    return assembly.patterns.linear


class LinearPattern:
    """The sparse matrices of a linear model before they have values.

    ``indices`` and ``indptr`` are those of a csr matrix of ``size`` coordinates x with ``count`` entries.  ``sources`` are the
    groups of the assembly in their order, then elements that have only mass or damping.  ``speaking`` number the elements that
    may have inputs, outputs, constraints or exact dynamics, ``doubtful`` those that may have no energy.
    """

    def __init__(self, t: Topology):
        self._topology = t
        self.links = LinkTree(t)
        self._clusters = Assembly(t, t.cluster) if t.links else None
        forceful = [kind for kind in t.kinds if kind.cls.exerts_forces()]
        others = [kind for kind in t.kinds if not kind.cls.exerts_forces() and _moves(kind.cls)]
        self.sources = [Source(kind) for kind in (*forceful, *others)]
        self.speaking = sorted(k for kind in t.kinds for k in _asked(t, kind, _speaks(kind.cls), {"inputs", "outputs"}))
        self.doubtful = sorted(
            k for kind in t.kinds for k in _asked(t, kind, kind.cls.conservative is not True, {"conservative"})
        )
        self._find_places(t)

    def __reduce__(self):
        return LinearPattern, (self._topology,)

    def clusters(self, assembly: Assembly) -> Assembly:
        """The assembly about clusters instead of units, with its present parameters."""
        if self._clusters is None:
            return assembly  # then clusters are units
        new = copy.copy(self._clusters)
        new.topology, new.groups = assembly.topology, assembly.groups
        return new

    # -- names ------------------------------------------------------------------------------------------------
    @cached_property
    def names(self) -> tuple[dict[tuple[str, str], int], list[np.ndarray], list[np.ndarray]]:
        """Labels of the stiffness parts of elements; by group, those (E, parts) of its own and (E,) of its reactions."""
        labels: dict[tuple[str, str], int] = {}

        def numbered(source: Source, parts: Sequence[str]) -> np.ndarray:
            # components count as what they are part of
            owners = [self._topology.elements[k].owner for k in source.members.tolist()]
            found = [labels.setdefault((owner, part), len(labels)) for owner in owners for part in parts]
            return np.array(found, dtype=int).reshape(len(owners), len(parts))

        groups = [s for s in self.sources if s.cls.exerts_forces()]
        own = [numbered(s, s.cls.parts) for s in groups]
        reactions = [numbered(s, ("reaction",) if s.cls.holds() else ()) for s in groups]
        return labels, own, reactions

    # -- structure --------------------------------------------------------------------------------------------
    def _find_places(self, t: Topology) -> None:
        inner = [(k, kind.coordinates) for kind in t.kinds if kind.coordinates for k in kind.internal[:, 0].tolist()]
        inner = np.array(sorted(inner), dtype=int).reshape(-1, 2)
        of_inner = np.full(t.internal, -1)  # the node that starts with an internal coordinate
        of_inner[inner[:, 0]] = t.units - 1 + np.arange(len(inner))
        sizes = np.full(t.units - 1, 6), inner[:, 1], np.full(self.links.count, 6)
        blocks = Blocks(np.concatenate(sizes))

        linked = np.array([c in self.links.upstream for c in range(t.clusters)])
        nodes, expanded = [], []
        for s in self.sources:
            touched = t.unit[s.frames] - 1  # the ground has no coordinates
            if s.inner:
                touched = np.hstack([touched, of_inner[s.internal[:, :1]]])
            beyond = np.flatnonzero(linked[t.cluster[s.frames]].any(axis=1))
            touched[beyond] = -1
            nodes.append(touched)
            blocks.couple(touched[:, :, None], touched[:, None, :])
            found = [self._carried(t, s, e) for e in beyond]
            expanded.append([np.concatenate(x) for x in zip(*found, strict=True)] if found else None)
            if found:
                blocks.couple(*(blocks.node[x] for x in expanded[-1][3:]))
        rows, cols = self.links.turning_coordinates()
        for i, j in ((rows, cols), (cols, rows)):
            blocks.couple(blocks.node[i], blocks.node[j])
        self.size, self.count, self.indices, self.indptr = blocks.arranged()

        for s, touched, more in zip(self.sources, nodes, expanded, strict=True):
            s.locate(blocks, touched)
            if more is not None:
                s.carried = Carried(*more[:3], blocks.place(*more[3:]))
        self.turning_places = blocks.place(rows, cols), blocks.place(cols, rows)

    def _carried(self, t: Topology, s: Source, e: int) -> tuple[np.ndarray, ...]:
        """Entries of one element beyond links: which, places of their two factors, row and column among x."""
        found = []
        for k, f in enumerate(s.frames[e]):
            axis, col, factor = self.links.columns(int(t.cluster[f]))
            found.append((6 * k + axis, col, factor))
        if s.inner:
            inner = np.arange(s.inner)
            found.append((s.size - s.inner + inner, 6 * (t.units - 1) + s.internal[e], 0 * inner))
        own, col, factor = (np.concatenate(x) for x in zip(*found, strict=True))
        i, j = (x.ravel() for x in np.indices((len(own), len(own))))
        return (e * s.size + own[i]) * s.size + own[j], factor[i], factor[j], col[i], col[j]


def _moves(cls: type[MObject]) -> bool:
    """Whether objects of a class have mass or damping."""
    return cls.defines("mass_matrix") or cls.defines("damping_matrix")


def _speaks(cls: type[MObject]) -> bool:
    """Whether objects of a class may have inputs, outputs, constraints or exact dynamics."""
    return any(cls.defines(name) for name in ("inputs", "outputs", "exact_dynamics")) or cls.holds()


def _asked(topology: Topology, kind: Kind, all_of_them: bool, names: set[str]) -> list[int]:
    """All elements of a kind, or those among them that have one of some attributes of their own."""
    if all_of_them:
        return kind.members
    return [k for k in kind.members if not names.isdisjoint(vars(topology.elements[k].obj))]


class Sum:
    """Matrices of elements added up in one sparse matrix."""

    def __init__(self, pattern: LinearPattern, factors: np.ndarray):
        self._pattern, self._factors = pattern, factors
        self._data: np.ndarray | None = None  # and one more, for what lands nowhere

    def add(self, source: Source, values: np.ndarray) -> None:
        """Add matrices (E, n, n) of all elements of a source."""
        values = values.ravel()
        if not values.any():
            return
        self.put(source.places, values)
        if source.carried is not None:
            of, first, second, place = source.carried
            self.put(place, values[of] * self._factors[first] * self._factors[second])

    def put(self, places: np.ndarray, values: np.ndarray) -> None:
        """Add single entries at given places."""
        count = self._pattern.count + 1
        found = np.bincount(places, values.real, count)
        if np.iscomplexobj(values):
            found = found + 1j * np.bincount(places, values.imag, count)
        self._data = found if self._data is None else self._data + found

    def matrix(self, size: int) -> sp.csr_matrix:
        """The sum as (size, size) without entries that are zero; coordinates beyond those of the pattern have none."""
        if self._data is None:
            return sp.csr_matrix((size, size))
        return filled(self._data[:-1], self._pattern.indices, self._pattern.indptr, size)


def filled(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, size: int) -> sp.csr_matrix:
    """A csr matrix (size, size) of its own of what is not zero; rows beyond those of ``indptr`` are empty."""
    kept = np.flatnonzero(data)
    if len(kept) == len(data):
        data, indices, indptr = data.copy(), indices.copy(), indptr.copy()
    else:
        data, indices, indptr = data[kept], indices[kept], np.searchsorted(kept, indptr).astype(indptr.dtype)
    beyond = np.full(size + 1 - len(indptr), indptr[-1], dtype=indptr.dtype)
    return sp.csr_matrix((data, indices, np.concatenate([indptr, beyond])), shape=(size, size))
