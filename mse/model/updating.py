"""A working point solved again with other parameters: the topology and all patterns of the first one are kept."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..elements.base import MObject
from ..errors import ModelError, UnknownNameError, nearest_name
from .assembly import Assembly
from .relaxation import Relaxation
from .system import MSystem
from .topology import Element, Topology

if TYPE_CHECKING:
    from .working_point import WorkingPoint


def updated(wp: WorkingPoint, changes: Mapping[str, Any], throw: bool) -> WorkingPoint:
    """See :meth:`WorkingPoint.update`."""
    if not isinstance(changes, Mapping):
        raise ModelError(
            f"{wp.name}: update({changes!r:.60}); expected values by parameter, such as {{'wire.length': 0.5}}"
        )
    system = wp.system.copy(wp.system.name)
    changed: dict[str, MObject] = {}
    for name, value in changes.items():
        path, _, key = str(name).rpartition(".")
        target = system[path] if path else system
        if key not in target.parameters:
            raise UnknownNameError(f"{target.label}: no parameter {key!r}{nearest_name(key, list(target.parameters))}")
        target.parameters[key] = value
        changed[path] = target
    for name in changes:
        steps = _turns(wp, changed, name)
        if steps > 1:  # more at once, and angles of loops would not know how often they went round
            path, _, key = name.rpartition(".")
            old, new = (np.array(s[path].parameters[key]) for s in (wp.system, system))
            for share in np.arange(1, steps) / steps:
                wp = updated(wp, {name: tuple(old + share * (new - old))}, throw)
    prepared = None
    topology = _with(wp.topology, system, changed)
    if topology is not None:
        prepared = topology, _assembly(wp.assembly, topology, changed)
    return Relaxation(system, load=wp.load, start=wp if wp.converged else None, prepared=prepared).run(throw=throw)


def _turns(wp: WorkingPoint, changed: Mapping[str, MObject], name: str) -> int:
    """Steps of at most a radian in which to take a position motor to its new place."""
    path, _, key = name.rpartition(".")
    if key != "position" or path not in changed or wp.system[path].motor != changed[path].motor:
        return 1
    old, new = (np.array(obj.parameters[key]) for obj in (wp.system[path], changed[path]))
    turning = np.array([c.unit == "rad" for c in changed[path].outputs])
    return int(np.ceil(np.abs((new - old)[turning]).max(initial=0.0)))


def _with(topology: Topology, system: MSystem, changed: Mapping[str, MObject]) -> Topology | None:
    """The same topology with other elements, or None where the changes reach further than parameters of elements."""
    place = {el.path: k for k, el in enumerate(topology.elements)}
    new = copy.copy(topology)
    new.elements = list(topology.elements)
    for path, obj in changed.items():
        if isinstance(obj, MSystem):
            if obj is system:
                new.gravity = np.array(system.gravity)
            continue
        if path not in place or any(el.owner == path and el.inner for el in topology.elements):
            return None  # made of components, which its parameters shape
        old = topology.elements[place[path]]
        snapshot = obj._snapshot()
        if _held(snapshot) != _held(old.obj) or snapshot.fixed_frames() != old.obj.fixed_frames():
            return None
        if _held(snapshot) and any(el.obj.joined for el in topology.elements):
            return None  # a gear knows its joints
        new.elements[place[path]] = Element(snapshot, old.path, old.frames, old.coordinates, old.owner)
    return new


def _held(obj: MObject) -> tuple:
    return (obj.constraint_count, tuple(obj.motors.items())) if obj.holds() else ()


def _assembly(assembly: Assembly, topology: Topology, changed: Mapping[str, MObject]) -> Assembly:
    """The same assembly with the parameters of the changed elements; all patterns are shared."""
    assembly._pattern  # found once, for all that share it  # noqa: B018
    new = copy.copy(assembly)
    new.topology = topology
    new.groups = []
    for g in assembly.groups:
        touched = [k for k, el in enumerate(g.elements) if el.path in changed]
        if touched:
            g = copy.copy(g)
            g.elements = [topology.elements[k] for k in g.members]
            g.update(touched)
        new.groups.append(g)
    return new
