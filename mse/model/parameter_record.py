"""The parameters of a system as data, which results keep to document the system they were computed from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from ..declared import entry
from ..display import amounts
from ..elements.base import class_name
from .system import Snapshot


class ParameterRecord(Mapping):
    """Parameters of all objects of a system by their paths: lists, numbers and texts, ``"class"`` among them.

    Functions are recorded by name only, since no file can store them.  The record is made when it is first read.

    Parameters
    ----------
    source : Snapshot or dict
        The system, or the record itself.
    within : tuple of str
        Beginnings of the paths of the objects wanted, each with a dot behind it; systems are always there.
    """

    def __init__(self, source: Snapshot | dict[str, dict[str, Any]] | None = None, within: tuple[str, ...] = ("",)):
        self._source, self._within = {} if source is None else source, within

    @cached_property
    def _record(self) -> dict[str, dict[str, Any]]:
        return self._source if isinstance(self._source, dict) else dict(_listed(self._source, "", self._within))

    def __getstate__(self) -> dict[str, Any]:
        return {"_source": self._record, "_within": ("",)}

    def __getitem__(self, path: str) -> dict[str, Any]:
        return self._record[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._record)

    def __len__(self) -> int:
        return len(self._record)

    def __repr__(self) -> str:
        return f"parameters of {amounts(object=len(self))}: {', '.join(self)}"


def recorded_parameters() -> Any:
    """A field of a result with the parameters of its system; none if left out."""
    return entry("system", make=ParameterRecord, default_factory=ParameterRecord)


def _listed(source: Snapshot, prefix: str, within: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield prefix.removesuffix("."), _of(source.system)
    for obj in source.objects:
        if isinstance(obj, Snapshot):
            yield from _listed(obj, f"{prefix}{obj.name}.", within)
        elif f"{prefix}{obj.name}.".startswith(within):
            yield prefix + obj.name, _of(obj)


def _of(obj: Any) -> dict[str, Any]:
    return {"class": class_name(type(obj))} | {name: _plain(value) for name, value in obj.parameters.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return f"function {value.__name__}" if hasattr(value, "__name__") else str(value)
