"""A working point solved again with other parameters: the topology and all patterns are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..elements.base import MObject
from ..errors import UnknownNameError, nearest_name
from ..model.system import MSystem, Snapshot
from ..model.variants import prepared, variant
from ..numerics.blas_threads import one_thread
from ..progress.tasks import SEARCHING, Show, Task
from ..validation.arguments import mapping, refusal, shown
from .branches import LEFT, UNKNOWN
from .options import SearchOptions
from .relaxation import Relaxation, relaxation

if TYPE_CHECKING:
    from .working_point import WorkingPoint


_CHANGES = "values by parameter, such as {'wire.length': 0.5}"


@one_thread
def updated(
    wp: WorkingPoint, changes: Mapping[str, Any], options: SearchOptions | None, throw: bool, progress: Show
) -> WorkingPoint:
    """See :meth:`WorkingPoint.update`."""
    if changes is None:
        raise refusal(wp.name, "the argument of update()", changes, _CHANGES)
    changes = mapping(wp.name, "the argument of update()", changes, _CHANGES)
    with Task(wp.name, SEARCHING, show=progress) as task:
        return task.finished(_updated(wp, changes, options, throw))


def _updated(wp: WorkingPoint, changes: Mapping[str, Any], options: SearchOptions | None, throw: bool) -> WorkingPoint:
    source = wp._topology.source
    changed: dict[str, MObject] = {}
    moves = not changes
    for name, value in changes.items():
        if not isinstance(name, str):
            raise UnknownNameError(f"{wp.name}: no parameter {shown(name)}; expected a name, such as 'wire.length'")
        path, _, key = name.rpartition(".")
        if path not in changed:
            changed[path] = source[path]._snapshot()
        target = changed[path]
        if key not in target.parameters:
            raise UnknownNameError(f"{target.label}: no parameter {key!r}{_remedy(source, path, key)}")
        target.parameters[key] = value
        moves = moves or type(target).declared_parameters[key].moves
    if not moves and wp.converged:
        return replace(wp, _topology=wp._topology.retold(changed))
    left: list[bool | None] = []
    for path, obj in changed.items():
        for between in obj.ways_from(source[path]):
            wp = _with(wp, {path: between}, options, throw)
            left.append(wp.branch_left)
    found = _with(wp, changed, options, throw)
    if (
        found.branch_left
        or not any(way is not False for way in left)
        or (found.branch_left is None and True not in left)
    ):
        return found
    before, note = (True, LEFT) if True in left else (None, UNKNOWN)
    return replace(found, branch_left=before, _told=(*(n for n in found._told if n != UNKNOWN), note))


def _with(wp: WorkingPoint, changed: Mapping[str, MObject], options: SearchOptions | None, throw: bool) -> WorkingPoint:
    """The working point after some objects were replaced, by path; the search starts from ``wp``."""
    topology, assembly = variant(wp._topology, wp._assembly, changed)
    # a system with other frames or coordinates starts anew
    fits = topology.same_frames(wp._topology) and topology.internal == wp._topology.internal
    start = wp if wp.converged and fits else None
    return relaxation(topology, assembly, seek=wp.seek, load_factor=wp.load_factor, start=start, options=options).run(
        throw=throw
    )


def _remedy(source: Snapshot, path: str, key: str) -> str:
    """A remedy for a name that is no parameter."""
    if key == "at":
        return (
            "; expected a parameter, and this is an initial pose, which counts for new searches: set "
            f"system[{path!r}].at and find_working_point()"
        )
    if not path:
        try:
            inside = list(source[key].parameters)
        except UnknownNameError:
            pass
        else:
            return f"; it is an object; expected one of its parameters, such as {f'{key}.{inside[0]}' if inside else key!r}"
    return nearest_name(key, list(source[path].parameters))


def relaxed(
    system: MSystem, *, seek: str, load_factor: float, start: WorkingPoint | None, options: SearchOptions | None
) -> Relaxation:
    """See :meth:`MSystem.relaxation`."""
    topology, assembly = system._prepared = prepared(system, system._prepared)
    return relaxation(topology, assembly, seek=seek, load_factor=load_factor, start=start, options=options)
