"""Where entries of element matrices go in the matrices of the linear model: found once per topology, kept by its assembly.

Without links they go where they do in the search.  With links the coordinates are x = (q, w): each link adds six constrained
coordinates at the end, and what is beyond links moves with several bodies and links at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..elements.base import MObject
from ..elements.ports import ports_of
from ..elements.records import REACTION
from ..model.assembly import Assembly
from ..model.flattening import Kind
from ..model.groups import parts_of_models
from ..model.pattern import Nodes, Pattern, Sum, forceful
from ..model.topology import Topology
from .link_columns import LinkTree


class Carried(NamedTuple):
    """Matrices of elements on clusters beyond links: entry number ``of``, times two arms, is added at ``place``."""

    of: np.ndarray
    first: np.ndarray
    second: np.ndarray
    place: np.ndarray


def linear_pattern(assembly: Assembly) -> LinearPattern:
    """Where the elements go in the matrices of the linear model; found once for all variants of an assembly."""
    if assembly.patterns.linear is None:
        assembly.patterns.linear = LinearPattern(assembly.topology, assembly.pattern)
    return assembly.patterns.linear


class LinearPattern:
    """Sparsity of a linear model's matrices: as in the search, with six more coordinates for each link.

    ``pattern`` has the places of elements; ``carried`` has the terms of elements beyond links, by kind, which are not in
    ``pattern``.  ``with_channels`` numbers the elements that may have inputs, outputs, constraints or a dynamic stiffness,
    ``maybe_without_energy`` the elements that may have no energy.
    """

    def __init__(self, t: Topology, bodies: Pattern | None = None):
        self._topology = t
        self.links = LinkTree(t)
        self._clusters = Assembly(t, t.cluster) if t.links else None
        self.with_channels = sorted(
            k for kind in t.kinds for k in _asked(t, kind, _has_channels(kind.cls), {"inputs", "outputs"})
        )
        self.maybe_without_energy = sorted(
            k for kind in t.kinds for k in _asked(t, kind, _may_lack_energy(kind.cls), {"conservative"})
        )
        self.carried: dict[int, Carried] = {}
        if t.links:
            self._place_links(t)
        else:
            self.pattern = Pattern(Nodes.of(t, t.unit)) if bodies is None else bodies

    @property
    def size(self) -> int:
        """Number of coordinates x = (q, w) of bodies, elements and links."""
        return self.pattern.size

    @property
    def kinds(self) -> Sequence[Kind]:
        """The elements that have matrices, by kind."""
        return self.pattern.kinds

    def __reduce__(self):
        return LinearPattern, (self._topology,)

    def clusters(self, assembly: Assembly) -> Assembly:
        """The assembly on clusters instead of units, with its present parameters."""
        if self._clusters is None:
            return assembly  # clusters are units
        found = self._clusters.with_groups(assembly.topology, assembly.groups)
        found.flows = assembly.flows
        return found

    # -- names ------------------------------------------------------------------------------------------------
    @cached_property
    def names(self) -> tuple[dict[tuple[str, str], int], list[np.ndarray], list[np.ndarray]]:
        """Labels of elements' stiffness parts; by group, label numbers (E, parts) of stiffness and (E,) of reactions."""
        labels: dict[tuple[str, str], int] = {}

        def numbered(kind: Kind, parts: Sequence[str]) -> np.ndarray:
            # components are listed under the object that they are part of
            owners = [self._topology.elements[k].owner for k in kind.members]
            found = [labels.setdefault((owner, part), len(labels)) for owner in owners for part in parts]
            return np.array(found, dtype=int).reshape(len(owners), len(parts))

        kinds = forceful(self._topology)
        own = [numbered(kind, parts_of_models(kind.cls)) for kind in kinds]
        reactions = [numbered(kind, (REACTION,) if kind.cls.constrains() else ()) for kind in kinds]
        return labels, own, reactions

    # -- structure --------------------------------------------------------------------------------------------
    def _place_links(self, t: Topology) -> None:
        """Find the places of elements, of parts carried by links, and of link loads that turn."""
        nodes = Nodes.of(t, t.unit)
        nodes = nodes._replace(sizes=np.concatenate([nodes.sizes, np.full(self.links.count, 6)]))
        node = np.repeat(np.arange(len(nodes.sizes)), nodes.sizes)  # the node of each coordinate
        linked = np.array([c in self.links.upstream for c in range(t.clusters)])
        expanded = {}
        for number, (kind, touched) in enumerate(zip(nodes.kinds, nodes.touched, strict=True)):
            beyond = np.flatnonzero(linked[t.cluster[kind.frames]].any(axis=1))
            touched[beyond] = -1
            if len(beyond):
                found = [self._carried(t, kind, e) for e in beyond]
                expanded[number] = [np.concatenate(x) for x in zip(*found, strict=True)]
        rows, cols = self.links.turning_coordinates()
        pairs = [(rows, cols), (cols, rows), *(x[3:] for x in expanded.values())]
        self.pattern = Pattern(nodes, [(node[i], node[j]) for i, j in pairs])
        self.carried = {k: Carried(*x[:3], self.pattern.place(*x[3:])) for k, x in expanded.items()}
        self.turning_places = self.pattern.place(rows, cols), self.pattern.place(cols, rows)

    def _carried(self, t: Topology, kind: Kind, e: int) -> tuple[np.ndarray, ...]:
        """Entries of one element beyond links: their numbers, the indices of their two arms, row and column in x."""
        size, found = 6 * kind.count + kind.coordinates, []
        for k, f in enumerate(kind.frames[e]):
            axis, col, factor = self.links.columns(int(t.cluster[f]))
            found.append((6 * k + axis, col, factor))
        inner = np.arange(kind.coordinates)
        found.append((6 * kind.count + inner, 6 * (t.units - 1) + kind.internal[e], 0 * inner))
        own, col, factor = (np.concatenate(x) for x in zip(*found, strict=True))
        i, j = (x.ravel() for x in np.indices((len(own), len(own))))
        return (e * size + own[i]) * size + own[j], factor[i], factor[j], col[i], col[j]


def _has_channels(cls: type[MObject]) -> bool:
    """Whether objects of a class may have inputs, outputs, constraints or a dynamic stiffness."""
    return (
        any(cls.defines(name) for name in ("inputs", "outputs", "dynamic_stiffness", "flow_constraint", "measure"))
        or cls.constrains()
        or isinstance(cls.coordinate_names, property)  # of each object, maybe with ports
        or any(ports_of(cls))
    )


def _may_lack_energy(cls: type[MObject]) -> bool:
    return cls.conservative is not True or cls.defines("power")


def _asked(topology: Topology, kind: Kind, all_of_them: bool, names: set[str]) -> list[int]:
    """All elements of a kind, or those that define at least one of the given attributes."""
    if all_of_them:
        return kind.members
    return [k for k in kind.members if not names.isdisjoint(vars(topology.elements[k].obj))]


class LinearSum(Sum):
    """A sparse matrix of a linear model to which element matrices are added; ``arms`` are those of its :class:`LinkTree`."""

    def __init__(self, linear: LinearPattern, arms: np.ndarray):
        super().__init__(linear.pattern)
        self._carried, self._arms = linear.carried, arms

    def add(
        self,
        numbers: tuple[int, ...],
        matrices: np.ndarray,
        weights: np.ndarray | None = None,
        part: slice = slice(None),
    ) -> None:
        super().add(numbers, matrices, weights, part)
        (number,) = numbers
        if number in self._carried:
            of, first, second, place = self._carried[number]
            values = matrices.sum(axis=1) if weights is None else np.einsum("ep,epij->eij", weights, matrices)
            self.put(place, values.ravel()[of] * self._arms[first] * self._arms[second])
