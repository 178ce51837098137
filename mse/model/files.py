"""Systems and working points as JSON text, without loss.

Numbers are written in full (Python's shortest form that reads back equal), objects by class name and parameters.
Reading looks class names up among the classes that are already defined; it never imports or runs anything.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..elements.base import Frame, MObject
from ..errors import ModelError, nearest_name
from ..pose import Pose
from .assembly import Assembly, State
from .landscape import Landscape
from .system import MSystem
from .topology import Topology
from .working_point import Iteration, WorkingPoint

_FORMAT = "mse 1"


def save(what: MSystem | WorkingPoint, path: str | Path) -> None:
    """Write a system or a working point as JSON."""
    if isinstance(what, WorkingPoint):
        content = {"format": _FORMAT, "system": _pack_system(what.system), "working_point": _pack_working_point(what)}
    else:
        content = {"format": _FORMAT, "system": _pack_system(what)}
    text = json.dumps(content, indent=1, allow_nan=False) + "\n"
    # what it replaces stays until all is written
    beside = Path(f"{path}.part")
    try:
        beside.write_text(text)
        os.replace(beside, path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def load(path: str | Path) -> MSystem | WorkingPoint:
    """Read what :meth:`MSystem.save` or :meth:`WorkingPoint.save` wrote; ModelError where the file is not such.

    Classes of the user's own elements must be defined before.
    """
    try:
        content = json.loads(Path(path).read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: not a JSON text ({error}); expected a file written by save()") from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        found = content.get("format") if isinstance(content, dict) else type(content).__name__
        raise ModelError(f"{path}: its format is {found!r}; expected {_FORMAT!r}, written by save()")
    try:
        system = _unpack_system(content["system"])
        if "working_point" in content:
            return _unpack_working_point(system, content["working_point"])
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ModelError(
            f"{path}: an entry is missing or of the wrong kind ({error!r}); expected a file written by save()"
        ) from None
    return system


# -- systems ------------------------------------------------------------------------------------------------------
def _pack_pose(pose: Pose | None) -> Any:
    return None if pose is None else {"o": pose.o.tolist(), "U": pose.U.tolist()}


def _unpack_pose(data: Any) -> Pose | None:
    if data is None:
        return None
    # the matrix comes back as it was written, to the last bit; only a damaged one fails the check
    checked = Pose(data["o"], data["U"])
    return Pose._of(checked.o.copy(), np.array(data["U"], dtype=float))


def _pack_object(obj: MObject) -> dict:
    values = {}
    for name, value in obj.parameters.items():
        if callable(value):
            raise ModelError(
                f"{obj.label}: {name} is a function, which a file cannot hold; expected numbers; give a number or a pair, or "
                "keep the script that builds the system"
            )
        values[name] = value.tolist() if isinstance(value, np.ndarray) else value
    out = {"type": type(obj).__name__, "name": obj.name, "at": _pack_pose(obj.at), "parameters": values}
    options = {
        key: {name: _pack_pose(v) if isinstance(v, Pose) else v for name, v in named.items()}
        for key, named in obj.options().items()
        if named
    }
    if options:
        out["options"] = options
    return out


def _pack_system(system: MSystem) -> dict:
    out = _pack_object(system)
    out["objects"] = [_pack_system(o) if isinstance(o, MSystem) else _pack_object(o) for o in system.objects]
    out["clamps"] = [
        [_path_within(system, c.first), _path_within(system, c.second), _pack_pose(c.pose21)] for c in system.clamps
    ]
    return out


def _path_within(system: MSystem, frame: Frame) -> str:
    names = [frame.name]
    owner = frame.owner
    while owner is not system:
        names.append(owner.name)
        owner = owner.system
    return ".".join(reversed(names))


def _unpack_object(data: dict) -> MObject:
    name = data["type"]
    cls = MObject.classes.get(name)
    if cls is None:
        raise ModelError(
            f"object {data['name']!r} is of class {name!r}, which is not defined here{nearest_name(name, MObject.classes)}; "
            "define or import the class before loading"
        )
    options = {
        key: {n: _unpack_pose(v) if isinstance(v, dict) else v for n, v in named.items()}
        for key, named in data.get("options", {}).items()
    }
    return cls(data["name"], at=_unpack_pose(data["at"]), **options, **data["parameters"])


def _unpack_system(data: dict) -> MSystem:
    system = _unpack_object(data)
    for item in data["objects"]:
        system.add(_unpack_system(item) if "objects" in item else _unpack_object(item))
    for first, second, pose in data["clamps"]:
        system.connect(first, second, _unpack_pose(pose))
    return system


# -- working points -----------------------------------------------------------------------------------------------
def _pack_working_point(wp: WorkingPoint) -> dict:
    return {
        "o": wp.state.o.tolist(),
        "U": wp.state.U.tolist(),
        "q": wp.state.q.tolist(),
        "memory": [m.tolist() for m in wp.state.memory],
        "scale": wp.scale.tolist(),
        "size": wp.size,
        "history": [list(step) for step in wp.history],
        "converged": wp.converged,
        "reason": wp.reason,
        "load": wp.load,
        "seek": wp.seek,
        "notes": list(wp.notes),
        "relative_residual": wp.relative_residual.tolist(),
        # for readers of the file; poses and forces are recomputed from the state when it is loaded
        "poses": {name: _pack_pose(p) for name, p in wp.poses.items()},
        "tensions": dict(wp.tensions),
    }


def _unpack_working_point(system: MSystem, data: dict) -> WorkingPoint:
    topology = Topology(system)
    assembly = Assembly(topology, topology.unit)
    memory = tuple(
        np.array(m, dtype=float).reshape(len(g.members), g.elements[0].obj.memory_size)
        for m, g in zip(data["memory"], assembly.groups, strict=True)
    )
    state = State(np.array(data["o"]), np.array(data["U"]), np.array(data["q"], dtype=float), memory)
    if (
        state.o.shape != (topology.units, 3)
        or state.U.shape != (topology.units, 3, 3)
        or len(state.q) != topology.internal
    ):
        raise ModelError(f"{system.label}: the saved state does not fit the system; expected {topology.units} units")
    land = Landscape(system.label, topology, assembly, state)
    land.scale, land.size = np.array(data["scale"], dtype=float), data["size"]
    land.load = data["load"]
    point = land.evaluate(state, 2)
    found = WorkingPoint.at(
        land,
        point,
        land.stability(point),
        load=data["load"],
        seek=data["seek"],
        converged=bool(data["converged"]),
        reason=data["reason"],
        history=tuple(Iteration(*step) for step in data["history"]),
        notes=tuple(data["notes"]),
    )
    # as it was judged then, against the loads of the poses it started from
    return replace(found, relative_residual=np.array(data["relative_residual"], dtype=float))
