"""Starts that belong to other systems: what was replaced since, which no change of a parameter amounts to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..elements.base import MObject
from ..elements.definitions import class_name
from ..elements.parameters import Array, Subset
from ..errors import ModelError
from ..model.system import Snapshot
from ..model.topology import Topology


def refuse_other(what: str, old: tuple[Topology, Snapshot], new: tuple[Topology, Snapshot]) -> None:
    """Refuse a start, of which ``what`` says what it is, of a system with other objects, other joints or other axes."""
    (old_topology, before), (topology, now) = old, new
    same = topology.same_frames(old_topology) and topology.internal == old_topology.internal
    differs = _replaced(dict(_objects(before)), dict(_objects(now))) or _moved(old_topology, topology)
    if not differs and same:
        return
    if not differs:
        one, two = topology.frame_labels, old_topology.frame_labels
        differs = next((f"{n} is in one of them only" for n in [*two, *one] if (n in one) != (n in two)), "their order")
    raise ModelError(
        f"{topology.label}: start is a {what} of a system with other objects ({differs}); expected one of this system; values "
        "such as masses, stiffnesses and lengths may have changed, objects, joints and their axes may not; start from a working "
        "point of this system, or with initial"
    )


def _objects(source: Snapshot, head: str = "") -> Iterator[tuple[str, MObject]]:
    for obj in source.objects:
        if isinstance(obj, Snapshot):
            yield from _objects(obj, f"{head}{obj.name}.")
        else:
            yield head + obj.name, obj


def _replaced(before: dict[str, MObject], now: dict[str, MObject]) -> str:
    """In words: the first object that is another one; "" if all are of the same class, and leave the same motions."""
    for path in [*before, *now]:
        if path not in before or path not in now:
            return f"{path} is in one of them only"
        old, new = before[path], now[path]
        names = class_name(type(old)), class_name(type(new))
        if names[0] != names[1]:  # the same class may have been defined again, as in a notebook
            return f"{path} was a {names[0]} and is a {names[1]}"
        if new.constrains() or new.defines("flow_constraint"):
            for name, parameter in new.declared_parameters.items():
                # directions, and freedoms: what else there is are sizes, which have a unit
                if isinstance(parameter, (Array, Subset)) and not parameter.unit:
                    one, two = (np.asarray(o._values[name]).tolist() for o in (old, new))
                    if one != two:
                        return f"{name} of {path} was {tuple(one)} and is {tuple(two)}"
    return ""


def _moved(old: Topology, new: Topology) -> str:
    """In words: the first object whose internal coordinates have another place, or whose frames are clamped to others."""
    before = {el.path: el for el in old.elements}
    for el in new.elements:
        other = before.get(el.path)
        if other is None:
            return f"{el.path} is in one of them only"
        if not np.array_equal(el.frames, other.frames) or not np.array_equal(el.internal, other.internal):
            return f"{el.path} has other frames or coordinates"
    apart = np.flatnonzero(_clamped(old.cluster) != _clamped(new.cluster))
    return f"{new.frame_labels[apart[0]]} is connected elsewhere" if len(apart) else ""


def _clamped(clusters: np.ndarray) -> np.ndarray:
    """Of each frame, the first one in its cluster: clusters without the order of their numbers."""
    _, first, own = np.unique(clusters, return_index=True, return_inverse=True)
    return first[own]
