"""Systems as JSON data, without loss: objects by class and parameters, clamps by the names of their frames.

Numbers are written in Python's shortest form that reads back equal.  A class is written as its module and name,
``__main__.Tether``, or ``mse.Spring`` for mse's own.  Reading looks these names up among the classes already defined; it
never imports or runs anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..elements import losses
from ..elements.base import Frame, MObject, class_name
from ..elements.ports import Port
from ..errors import FileError, ModelError, MseError, nearest_name
from ..pose import Pose
from ..validation import json_shapes as js
from ..validation.arguments import called, shown
from .system import MSystem

_DEEPEST = 50  # levels of subsystems: reading and writing take a few recursions for each

# -- content of files ----------------------------------------------------------------------------------------------
POSE = js.optional(js.entries({"o": js.numbers(3), "U": js.numbers(3, 3)}))
_CLAMP = js.row(js.text, js.text, POSE)


def _option(value: Any) -> None:
    (POSE if isinstance(value, dict) else js.data)(value)


_OBJECT = {"type": js.text, "name": js.text, "at": POSE, "parameters": js.named(js.data)}
_OPTIONS = {"options": js.named(js.named(_option))}
_SINGLE = js.entries(_OBJECT, _OPTIONS)


def system_shape(level: int = 1) -> js.Shape:
    def member(value: Any) -> None:
        (system_shape(level + 1) if isinstance(value, dict) and "objects" in value else _SINGLE)(value)

    inside = {"objects": js.each(member), "clamps": js.each(_CLAMP)}
    shape = js.entries(_OBJECT | inside, _OPTIONS | {"connections": js.each(js.each(js.text))})

    def check(value: Any) -> None:
        if level > _DEEPEST:
            raise js.Misfit(f"a subsystem on level {level}", f"at most {_DEEPEST} levels")
        shape(value)

    return check


@contextmanager
def placed(path: Path, place: str) -> Iterator[None]:
    """Raise errors from inside as FileError with this place in the file."""
    try:
        yield
    except MseError as error:
        raise FileError(f"{path}: {place}: {error}") from error


def pack_pose(pose: Pose | None) -> Any:
    return None if pose is None else {"o": pose.o.tolist(), "U": pose.U.tolist()}


def _unpack_pose(data: Any) -> Pose | None:
    if data is None:
        return None
    # return the matrix as written, to the last bit; Pose() only checks it
    checked = Pose(data["o"], data["U"])
    return Pose._of(checked.o.copy(), np.array(data["U"], dtype=float))


def _pack_object(obj: MObject) -> dict:
    values = {}
    for name, value in obj.parameters.items():
        if isinstance(obj.declared_parameters[name], losses.Loss):
            try:
                value = losses.as_data(value)
            except ModelError as error:
                raise ModelError(f"{obj.label}: {name}: {error}") from None
        if callable(value):
            raise ModelError(
                f"{obj.label}: {name} is a function, which a file cannot store; expected numbers; give a number or a pair, or "
                "keep the script that builds the system"
            )
        value = dict(value) if isinstance(value, Mapping) else value
        values[name] = value.tolist() if isinstance(value, np.ndarray) else value
    out = {"type": class_name(type(obj)), "name": obj.name, "at": pack_pose(obj.at), "parameters": values}
    options = {
        key: {name: pack_pose(v) if isinstance(v, Pose) else v for name, v in named.items()}
        for key, named in obj.options().items()
        if named
    }
    if options:
        out["options"] = options
    return out


def pack_system(system: MSystem, level: int = 1) -> dict:
    if level > _DEEPEST:
        raise ModelError(f"{system.label} is on level {level}; expected at most {_DEEPEST} levels of systems in a file")
    out = _pack_object(system)
    out["objects"] = [pack_system(o, level + 1) if isinstance(o, MSystem) else _pack_object(o) for o in system.objects]
    out["clamps"] = [
        [_path_within(system, c.first), _path_within(system, c.second), pack_pose(c.pose21)] for c in system.clamps
    ]
    if system.connections:
        out["connections"] = [[_path_within(system, port) for port in ports] for ports in system.connections]
    return out


def _path_within(system: MSystem, end: Frame | Port) -> str:
    names = [end.name]
    owner = end.owner
    while owner is not system:
        names.append(owner.name)
        owner = owner.system
    return ".".join(reversed(names))


class SystemReader:
    """Builds the objects of one file, up to a number of elements; errors name the place in the file."""

    def __init__(self, path: Path, max_elements: int):
        self._path, self._max_elements, self._elements = path, max_elements, 0

    def system(self, data: dict, place: str) -> MSystem:
        with placed(self._path, place):
            system = self._object(data, MSystem)
        for k, item in enumerate(data["objects"]):
            here = f"{place}.objects[{k}]"
            if "objects" in item:
                obj = self.system(item, here)
            else:
                with placed(self._path, here):
                    obj = self._object(item, MObject)
            with placed(self._path, here):
                system.add(obj)
        for k, (first, second, pose) in enumerate(data["clamps"]):
            with placed(self._path, f"{place}.clamps[{k}]"):
                system.clamp(first, second, _unpack_pose(pose))
        for k, ports in enumerate(data.get("connections", ())):
            with placed(self._path, f"{place}.connections[{k}]"):
                system.connect(*ports)
        return system

    def _object(self, data: dict, kind: type[MObject]) -> MObject:
        cls, name, parameters = _class_of(data), data["name"], data["parameters"]
        label = f"{cls.__name__} {shown(name)}"
        cls = cls._of_options(data.get("options", {}))
        if issubclass(cls, MSystem) is not (kind is MSystem):
            raise ModelError(
                f"{label}: expected objects and clamps, besides its parameters, if and only if it is a system"
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
        if self._elements > self._max_elements:
            raise ModelError(
                f"{label}: with it the file has {self._elements} elements; expected at most {self._max_elements} in all; to read "
                "more, give read_model() a larger max_elements"
            )
        return obj


def _class_of(data: dict) -> type[MObject]:
    """The class of an object among those defined; older files give no module, so the name must then be unique."""
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
