"""Junctions: rows by which what flows into connected ports adds up to zero; their multipliers are the efforts there.

Charges, volumes and the like count from the drawn state, so that rates add up to zero exactly if these sums do.  A junction with
earth needs no row.  A part of a circuit that is not connected to earth has one row too many; the junction with the first name
is left out and is the reference of that part.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from ..elements.base import MObject
from ..elements.ports import Port, ports_of
from .ideal_sources import open_sources, refuse_cuts, refuse_loops, refuse_open_inputs


class Junction(MObject):
    """``sum of s_k q_k = 0`` over the ports of a junction: s = 1 where a coordinate's rate flows in, -1 where it leaves."""

    frame_names = ()

    def __init__(self, name: str, signs: np.ndarray):
        super().__init__("junction")
        self._name = name  # a path, which other objects may not have for a name
        self._signs = signs  # alone, so that junctions of as many ports share the record of their law

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        return tuple(map(str, range(len(self._signs))))

    @property
    def constraint_count(self) -> int:
        return 1

    def constraint(self, frames, q):
        return [self._signs @ q]


class Met(NamedTuple):
    """A junction: the ports it joins by path, its row (None where its effort is zero), and the members of the row.

    ``coordinates`` (k,) number internal coordinates of the system, ``signs`` (k,) are +1 where a rate flows in there.
    """

    ports: tuple[str, ...]
    row: Junction | None
    coordinates: np.ndarray
    signs: np.ndarray


class Junctions(NamedTuple):
    """All junctions of a system, the references of its parts that float, and sources that are not connected."""

    all: tuple[Met, ...]
    references: tuple[str, ...]
    open: tuple[str, ...] = ()

    @property
    def reference(self) -> dict[str, float]:
        """The ports at zero effort."""
        return {port: 0.0 for met in self.all if met.row is None for port in met.ports}


class _Port(NamedTuple):
    path: str
    coordinate: int
    sign: float


def joined(elements: Sequence[Any], connections: Sequence[tuple[Port, ...]], path_of: dict[int, str]) -> Junctions:
    """The junctions of all ports of the elements; ports that are connected to nothing are junctions of their own.

    Parameters
    ----------
    elements : sequence of Element
        The flattened elements.
    connections : sequence of tuple of Port
        The ports that each call of connect() has joined, at any depth.
    path_of : dict
        Path by ``id`` of each original object.
    """
    ports = list(_ports(elements))
    if not ports:
        return Junctions((), ())
    number = {port.path: k for k, port in enumerate(ports)}
    earth = len(ports)
    pairs = []
    for together in connections:
        ends = [number[f"{path_of[id(p.owner)]}.{p.name}"] if p.domain else earth for p in together]
        pairs += itertools.pairwise(ends)
    pairs = np.array(pairs, dtype=int).reshape(-1, 2)
    of = _groups(earth + 1, pairs)  # number of the junction of each port, and of earth
    # one coordinate joins the junctions of both its ports; that of a single port joins it to earth
    ends: dict[int, list[int]] = {}
    for k, port in enumerate(ports):
        ends.setdefault(port.coordinate, []).append(int(of[k]))
    both = {c: (x[0], x[1] if len(x) > 1 else int(of[earth])) for c, x in ends.items()}
    refuse_loops(elements, both)
    alone = np.bincount(of) == 1
    alone[of[earth]] = False  # it is the other end of all that has one port
    refuse_cuts(elements, both, alone, _groups)
    refuse_open_inputs(elements, both, alone)
    part = _groups(int(of.max()) + 1, np.array(list(both.values()), dtype=int))
    members: dict[int, list[_Port]] = {}
    for k, port in enumerate(ports):
        members.setdefault(int(of[k]), []).append(port)
    grounded, found, references = part[of[earth]], [], []
    # the first of each part by name, so that the order of adding decides nothing
    begun = {int(grounded)}
    for junction, inside in sorted(members.items(), key=_by_name):
        names = tuple(sorted(p.path for p in inside))
        coordinates, signs = _sums(inside)
        at = int(part[junction])
        if junction == of[earth] or at not in begun:
            if junction != of[earth] and len(names) > 1:
                references.append(names[0])
            begun.add(at)
            found.append(Met(names, None, coordinates, signs))
            continue
        row = Junction(names[0], signs) if len(signs) else None
        found.append(Met(names, row, coordinates, signs))
    return Junctions(tuple(found), tuple(references), open_sources(elements, both, alone))


def _ports(elements: Sequence[Any]) -> Iterator[_Port]:
    for el in elements:
        if el.coordinates.stop > el.coordinates.start:
            for name, (k, sign, _) in ports_of(el.obj):
                yield _Port(f"{el.path}.{name}", el.coordinates.start + k, sign)


def _by_name(item: tuple[int, list[_Port]]) -> tuple[bool, str]:
    """Junctions that join ports come before open ones."""
    return len(item[1]) == 1, min(port.path for port in item[1])


def _groups(count: int, pairs: np.ndarray) -> np.ndarray:
    """Numbers (count,) of the connected parts of a graph with the given edges (p, 2)."""
    graph = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    return connected_components(graph, directed=False)[1]


def _sums(ports: Sequence[_Port]) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (k,) and their signs, without those that flow in and out at the same junction."""
    total: dict[int, float] = {}
    for port in ports:
        total[port.coordinate] = total.get(port.coordinate, 0.0) + port.sign
    kept = {c: sign for c, sign in sorted(total.items()) if sign}
    return np.array(list(kept), dtype=np.int64), np.array(list(kept.values()))
