"""Topology and assembly of a changed system, which share everything that does not depend on the changes."""

from __future__ import annotations

from collections.abc import Mapping

from ..elements.base import MObject
from .assembly import Assembly
from .system import MSystem
from .topology import Topology


def prepared(system: MSystem, last: tuple[Topology, Assembly] | None) -> tuple[Topology, Assembly]:
    """Topology and assembly of a system; what has not changed since the ``last`` time is used again."""
    changed = None if last is None else last[0].source.differences(system)
    if changed is not None:
        topology = last[0].changed(changed) if changed else last[0]
        if topology is not None:
            return topology, last[1].changed(topology, changed)
    topology = Topology(system)
    return topology, Assembly(topology, topology.unit)


def variant(topology: Topology, assembly: Assembly, changed: Mapping[str, MObject]) -> tuple[Topology, Assembly]:
    """Topology and assembly of the system with other objects at some paths; everything that does not depend on them is shared."""
    new = topology.changed(changed)
    if new is not None:
        return new, assembly.changed(new, changed)
    source = topology.source.changed(changed)
    new = Topology(source.restored(source.name))
    return new, Assembly(new, new.unit)
