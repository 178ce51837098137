"""Systems and working points as JSON text, without loss.

Numbers are written in full (Python's shortest form that reads back equal), objects by class and parameters.  A class is named
by its module and name, ``__main__.Tether``, all of mse's own as ``mse.Spring``.  Reading looks these names up among the
classes that are already defined; it never imports or runs anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..elements.base import Frame, MObject, class_name
from ..errors import FileError, ModelError, MseError, nearest_name
from ..model.assembly import Assembly, State
from ..model.system import MSystem
from ..model.topology import Topology
from ..pose import _ORTHONORMAL_TOLERANCE, Pose
from ..validation import json_shapes as js
from ..validation.arguments import called, shown, whole
from ..validation.file_access import file_path, write_whole
from .merit_function import _OPEN, Landscape, Point
from .search import _TOO_COARSE
from .working_point import Iteration, WorkingPoint

_FORMAT = "mse 1"
_DEEPEST = 50  # levels of subsystems: what takes systems apart calls itself for each, a few times over


# -- what files hold ----------------------------------------------------------------------------------------------
_POSE = js.optional(js.entries({"o": js.numbers(3), "U": js.numbers(3, 3)}))
_CLAMP = js.row(js.text, js.text, _POSE)


def _option(value: Any) -> None:
    (_POSE if isinstance(value, dict) else js.data)(value)


_OBJECT = {"type": js.text, "name": js.text, "at": _POSE, "parameters": js.named(js.data)}
_OPTIONS = {"options": js.named(js.named(_option))}
_SINGLE = js.entries(_OBJECT, _OPTIONS)


def _system(level: int = 1) -> js.Shape:
    def member(value: Any) -> None:
        (_system(level + 1) if isinstance(value, dict) and "objects" in value else _SINGLE)(value)

    inside = {"objects": js.each(member), "clamps": js.each(_CLAMP)}
    shape = js.entries(_OBJECT | inside, _OPTIONS)

    def check(value: Any) -> None:
        if level > _DEEPEST:
            raise js.Misfit(f"a subsystem on level {level}", f"at most {_DEEPEST} levels")
        shape(value)

    return check


_STEP = js.row(js.whole, js.number, js.number, js.number, js.text, js.number, js.flag)
_WORKING_POINT = js.entries(
    {
        "o": js.numbers(None, 3),
        "U": js.numbers(None, 3, 3),
        "q": js.numbers(None),
        "memory": js.each(js.numbers(None, None)),
        "scale": js.each(js.positive),
        "size": js.positive,
        "history": js.each(_STEP),
        "converged": js.flag,
        "reason": js.text,
        "load": js.number,
        "seek": js.word("stable", "nearest"),
        "notes": js.each(js.text),
        "relative_residual": js.each(js.not_negative),
    },
    # for readers of the file; poses and forces are recomputed from the state when it is loaded
    {"branch_left": js.optional(js.flag), "poses": js.named(_POSE), "tensions": js.named(js.number)},
)
_FILE = js.entries({"format": js.word(_FORMAT), "system": _system()}, {"working_point": _WORKING_POINT})


def save(what: MSystem | WorkingPoint, path: str | Path) -> None:
    """Write a system or a working point as JSON, whole or not at all; FileError where that fails."""
    path = file_path(path)
    content = {"format": _FORMAT, "system": _pack_system(what if isinstance(what, MSystem) else what.system)}
    if isinstance(what, WorkingPoint):
        content["working_point"] = _pack_working_point(what)
    js.check_shape(path, content, _FILE, "; nothing was written")
    write_whole(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def load(path: str | Path, *, most_elements: int = 100_000) -> MSystem | WorkingPoint:
    """Read what :meth:`MSystem.save` or :meth:`WorkingPoint.save` wrote; nothing in the file is ever run.

    Classes of the user's own elements must be defined before.  A file that asks for more than ``most_elements`` in all, as a
    beam can in one line, is refused.

    Raises FileError, with the place in the file, where there is none or something in it is not what it has to be.
    """
    path = file_path(path)
    most = whole("mse.load", "most_elements", most_elements, minimum=1)
    content = js.read_json(path, _FILE, "save()")
    system = _Reader(path, most).system(content["system"], "system")
    if "working_point" not in content:
        return system
    with _placed(path, "working_point"):
        return _unpack_working_point(system, content["working_point"])


@contextmanager
def _placed(path: Path, place: str) -> Iterator[None]:
    """What mse refuses inside is refused as this place in the file."""
    try:
        yield
    except MseError as error:
        raise FileError(f"{path}: {place}: {error}") from error


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
    out = {"type": class_name(type(obj)), "name": obj.name, "at": _pack_pose(obj.at), "parameters": values}
    options = {
        key: {name: _pack_pose(v) if isinstance(v, Pose) else v for name, v in named.items()}
        for key, named in obj.options().items()
        if named
    }
    if options:
        out["options"] = options
    return out


def _pack_system(system: MSystem, level: int = 1) -> dict:
    if level > _DEEPEST:
        raise ModelError(f"{system.label} is on level {level}; expected at most {_DEEPEST} levels of systems in a file")
    out = _pack_object(system)
    out["objects"] = [_pack_system(o, level + 1) if isinstance(o, MSystem) else _pack_object(o) for o in system.objects]
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


class _Reader:
    """Builds the objects of one file, as many elements as it may ask for, and tells the place of what is refused."""

    def __init__(self, path: Path, most_elements: int):
        self._path, self._most, self._elements = path, most_elements, 0

    def system(self, data: dict, place: str) -> MSystem:
        with _placed(self._path, place):
            system = self._object(data, MSystem)
        for k, item in enumerate(data["objects"]):
            here = f"{place}.objects[{k}]"
            if "objects" in item:
                obj = self.system(item, here)
            else:
                with _placed(self._path, here):
                    obj = self._object(item, MObject)
            with _placed(self._path, here):
                system.add(obj)
        for k, (first, second, pose) in enumerate(data["clamps"]):
            with _placed(self._path, f"{place}.clamps[{k}]"):
                system.connect(first, second, _unpack_pose(pose))
        return system

    def _object(self, data: dict, kind: type[MObject]) -> MObject:
        cls, name, parameters = _class_of(data), data["name"], data["parameters"]
        label = f"{cls.__name__} {shown(name)}"
        if issubclass(cls, MSystem) is not (kind is MSystem):
            raise ModelError(
                f"{label}: expected objects and clamps beside its parameters if, and only if, it is a system"
            )
        for key in parameters:
            if key not in cls.declared_parameters:
                raise ModelError(f"{label}: no parameter {shown(key)}{nearest_name(key, cls.declared_parameters)}")
        options = {
            key: {n: _unpack_pose(v) if isinstance(v, dict) else v for n, v in named.items()}
            for key, named in data.get("options", {}).items()
        }
        given = options.keys() & {*parameters, "self", "name", "at"}
        if given:
            raise ModelError(f"{label}: {min(given)!r} is no option; expected one that its class takes")

        at = _unpack_pose(data["at"])

        def build() -> MObject:
            return cls(name, at=at, **options, **parameters)

        obj = called(label, "its class", f"{cls.__name__}(name, at=..., options, parameters)", build)
        self._elements += obj.element_count
        if self._elements > self._most:
            raise ModelError(
                f"{label}: with it the file asks for {self._elements} elements; expected at most {self._most} in all; if "
                "they are wanted, give load() a larger most_elements"
            )
        return obj


def _class_of(data: dict) -> type[MObject]:
    """The class of an object, among those defined; without a module, as older files name it, the only one so called."""
    name, known = data["type"], MObject.classes
    if name in known:
        return known[name]
    alike = [n for n in known if n.rpartition(".")[2] == name.rpartition(".")[2]]
    if "." not in name and len(alike) == 1:
        return known[alike[0]]
    who = f"object {shown(data['name'])} is of class {name!r:.200}"
    if "." not in name and alike:
        raise ModelError(f"{who}, which may be {' or '.join(sorted(alike))}; expected one of these in the file")
    raise ModelError(
        f"{who}, which is not defined here{nearest_name(name, alike or known)}; expected a class that is defined or imported "
        "before loading"
    )


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
        "branch_left": wp.branch_left,
        "relative_residual": wp.relative_residual.tolist(),
        # for readers of the file; poses and forces are recomputed from the state when it is loaded
        "poses": {name: _pack_pose(p) for name, p in wp.poses.items()},
        "tensions": dict(wp.tensions),
    }


def _unpack_working_point(system: MSystem, data: dict) -> WorkingPoint:
    topology = Topology(system)
    assembly = Assembly(topology, topology.unit)
    _check_lengths(data, topology, assembly)
    memory = tuple(
        np.array(m, dtype=float).reshape(len(g.members), g.elements[0].obj.memory_size)
        for m, g in zip(data["memory"], assembly.groups, strict=True)
    )
    state = State(*(np.array(data[key], dtype=float) for key in ("o", "U", "q")), memory)
    _refuse_skewed(state, topology)
    with np.errstate(all="ignore"):  # poses beyond all bounds, of which nothing finite comes
        land = Landscape(system.label, topology, assembly, state)
        land.scale, land.size = np.array(data["scale"], dtype=float), float(data["size"])
        land.load = float(data["load"])
        point = land.evaluate(state, 2)
        _refuse_unbalanced(land, point, data["converged"])
    found = WorkingPoint.at(
        land,
        point,
        land.stability(point),
        load=land.load,
        seek=data["seek"],
        converged=data["converged"],
        reason=data["reason"],
        history=tuple(Iteration(*step) for step in data["history"]),
        notes=tuple(data["notes"]),
        branch_left=data.get("branch_left", False),
    )
    # as it was judged then, against the loads of the poses it started from
    return replace(found, relative_residual=np.array(data["relative_residual"], dtype=float))


def _check_lengths(data: dict, topology: Topology, assembly: Assembly) -> None:
    """Refuse a state with other numbers of bodies or coordinates than the system has."""
    expected = {
        "o": topology.units, "U": topology.units, "q": topology.internal, "scale": topology.size,
        "relative_residual": topology.size, "memory": len(assembly.groups),
    }  # fmt: skip
    for key, count in expected.items():
        if len(data[key]) != count:
            raise ModelError(f"{key} has {len(data[key])} entries; expected {count}, as the system of this file has")
    for k, (m, g) in enumerate(zip(data["memory"], assembly.groups, strict=True)):
        size = g.elements[0].obj.memory_size
        if len(m) != len(g.members) or any(len(one) != size for one in m):
            raise ModelError(f"memory[{k}] has another shape; expected {(len(g.members), size)}, as its elements keep")


def _refuse_skewed(state: State, topology: Topology) -> None:
    gram = np.swapaxes(state.U, -1, -2) @ state.U
    off = np.abs(gram - np.eye(3)).max(axis=(1, 2), initial=0.0)
    for k in np.flatnonzero(~((off < _ORTHONORMAL_TOLERANCE) & (np.linalg.det(state.U) > 0.0))):
        raise ModelError(f"U[{k}] of {topology.unit_names[k]} is off a rotation matrix by {off[k]:.3g}; expected one")


def _refuse_unbalanced(land: Landscape, point: Point, converged: bool) -> None:
    """Refuse a state without finite forces, and one called a working point that this system does not rest in."""
    finite = (np.isfinite(values).all() for values in (point.energy, point.gradient, point.stiffness.data))
    if not all(finite):
        raise ModelError("forces or stiffness in this state are not finite; expected a state that the system can be in")
    if not converged or not len(point.gradient):
        return
    apart = np.abs(land.constraints(point.state)[1]).max(initial=0.0)
    left = np.abs(point.gradient / land.scale).max() / (land.load_scale(point.load) / land.scale).max()
    if apart > _OPEN * land.size or left > _TOO_COARSE:
        raise ModelError(
            f"the system does not rest in this state: {left:.3g} of the loads are unbalanced, joints are {apart:.3g} m apart; "
            f"expected at most {_TOO_COARSE:g} and {_OPEN * land.size:.3g} m; was something changed after it was saved? load the "
            "system alone and find its working point again"
        )
