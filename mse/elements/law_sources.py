"""Sources: everything a law reads besides its arguments (globals, closures, class attributes), constant in its record.

They are compared before a record is used again, so that a record is never used after its sources have changed.
"""

from __future__ import annotations

import dis
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..numerics.record import Unrecordable
from .parameters import Parameter

_FOREIGN = {"numpy", "scipy", "math", "mse", "builtins"}  # modules whose functions and constants do not change
_NUMBERS = (int, float, complex, str, bytes, bool, types.NoneType, np.generic)
_CODE = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, np.ufunc)


class Source(NamedTuple):
    """A name that a law reads, the place where it is defined, and its value at that time."""

    name: str
    read: Callable[[], Any]
    value: Any

    @property
    def changed(self) -> bool:
        """Whether its value has changed since."""
        try:
            return contents(self.read(), self.name) != self.value
        except Exception:  # it no longer exists or has another type
            return True


def contents(value: Any, name: str) -> Any:
    """A copy for later comparison; Unrecordable for objects whose changes cannot be seen."""
    if isinstance(value, float) and value != value:
        return "nan"
    if isinstance(value, _NUMBERS):
        return type(value).__name__, value
    if isinstance(value, np.ndarray) and value.dtype.kind in "iufbc":
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, list | tuple):
        return type(value).__name__, tuple(contents(x, name) for x in value)
    if isinstance(value, set | frozenset):
        return frozenset(contents(x, name) for x in value)
    if isinstance(value, dict):
        return tuple((contents(k, name), contents(x, name)) for k, x in value.items())
    if isinstance(value, _CODE) or hasattr(value, "__wrapped__"):
        return "code", id(value)
    raise Unrecordable(
        f"reads {name}, a {type(value).__name__}, which may change unnoticed; numbers and arrays are checked"
    )


def sources(cls: type, law: str) -> list[Source]:
    """Everything that a law of a class and the functions it calls read besides their arguments.

    Each function is visited once; the functions of numpy, scipy and mse are not read.
    """
    seen: set[int] = set()

    def of(found: Any) -> Iterator[Source]:
        """The sources that a function, method or property reads."""
        for part in ("fget", "func", "__func__", "__wrapped__"):
            found = getattr(found, part, None) or found
        code = getattr(found, "__code__", None)
        if code is None or id(found) in seen or _foreign(getattr(found, "__module__", None)):
            return
        seen.add(id(found))
        read, names = _names(code)
        for name in read & found.__globals__.keys():
            yield from read_value(name, functools.partial(found.__globals__.__getitem__, name), names)
        for name in names:
            yield from attribute(cls, name)
        for name, cell in zip(code.co_freevars, found.__closure__ or (), strict=True):
            if name != "__class__":
                yield from read_value(name, functools.partial(getattr, cell, "cell_contents"), names)
        if found.__defaults__:
            yield from read_value("a default", functools.partial(getattr, found, "__defaults__"), names)

    def read_value(name: str, read: Callable[[], Any], names: set[str]) -> Iterator[Source]:
        value = read()
        yield Source(name, read, contents(value, name))
        if isinstance(value, types.ModuleType | type) and not _foreign(getattr(value, "__module__", value.__name__)):
            for inner in names:
                yield from attribute(value, inner)
        else:
            yield from of(value)

    def attribute(holder: Any, name: str) -> Iterator[Source]:
        """An attribute of a class or module, under the name by which some code reads it from an object."""
        found = inspect.getattr_static(holder, name, None)
        if found is None or isinstance(found, Parameter | types.MemberDescriptorType | types.GetSetDescriptorType):
            return
        if isinstance(found, property | functools.cached_property | staticmethod | classmethod | types.FunctionType):
            yield from of(found)
        elif not callable(found):
            yield Source(f"{holder.__name__}.{name}", functools.partial(getattr, holder, name), contents(found, name))

    return list(of(inspect.getattr_static(cls, law)))


def _foreign(module: str | None) -> bool:
    return (module or "builtins").partition(".")[0] in _FOREIGN


def _names(code: types.CodeType) -> tuple[set[str], set[str]]:
    """Names of globals that a function and its inner functions read, and names of attributes."""
    read, attributes = set(), set()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            read.add(step.argval)
        elif step.opname.startswith(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER")):
            attributes.add(step.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            for found, inside in zip((read, attributes), _names(constant), strict=True):
                found |= inside
    return read, attributes
