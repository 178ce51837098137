"""What classes of results declare of their data: dimensions, names and units, from which files, tables and exports follow.

A field of a result is an array over named dimensions, an axis, names along a dimension, a number, a flag or a text.
Files, labeled arrays, tables of pandas, default tables and completion read these declarations, and nothing else of a result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .numerics.read_only import Matrix

_Function = TypeVar("_Function", bound=Callable[..., Any])
_ENTRY = "entry"  # name of the declaration among the metadata of a field
_EARLY = ("names", "number", "text")  # kinds that are read before arrays, as they say how long these are


@dataclasses.dataclass(repr=False, eq=False)
class Entry:
    """The declaration of a field, or of a property that is handed on with labels.

    ``kind`` is the method of :class:`.Record` and :class:`.Reader` that writes and reads it, the latter with the ``options``; or
    an object that does so with ``put(record, key, value)`` and ``take(reader, key, found)``, where ``found`` are the fields that
    were read before: all names and numbers, unless it is ``early`` itself.  :func:`array` describes the other options.
    """

    kind: Any
    dims: str = ""
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    key: str = ""
    sign: str = ""
    make: Callable[[Any], Any] | None = None
    label: str = ""
    unit: str | None = None
    units: str | Sequence[str] = ()
    columns: str | tuple[str, ...] = ()
    along: dict[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    apart: bool = False
    whole: bool = True
    axis: bool = False

    @property
    def shown(self) -> bool:
        """Whether it is an array that is handed on with labels."""
        return bool(self.units) or self.unit is not None

    @property
    def early(self) -> bool:
        """Whether it is read before arrays."""
        return self.kind in _EARLY or hasattr(self.kind, "early")


# -- fields -----------------------------------------------------------------------------------------------------------
_OF_FIELDS = ("default", "default_factory")


def entry(kind: Any, dims: str = "", **declared: Any) -> Any:
    """A field of a result; ``default`` and ``default_factory`` are as in :func:`dataclasses.field`.

    Files may lack a field with a ``sign``, the name of an array, number or list by which they show that they have it.
    """
    given = {name: declared.pop(name) for name in _OF_FIELDS if name in declared}
    return dataclasses.field(metadata={_ENTRY: Entry(kind, dims, **declared)}, **given)


def array(
    dims: str, kind: str = "f", *, finite: bool = True, default: Any = dataclasses.MISSING, **declared: Any
) -> Any:
    """A field that is an array over named dimensions.

    Parameters
    ----------
    dims : str
        Names of its dimensions, such as "frequency output"; a number is a length, "*" any length.
    kind : str
        Kind of its numbers, "f" or "c", "fc" for either of both.
    finite : bool
        Whether a file with infinite numbers is refused.
    default : array_like, optional
        Its value if left out.
    **declared : keywords
        ``unit``: its unit, in which "{name}" is another field; an array without one is kept by files and not labeled.
        ``units``: units along the dimensions that are no index, or the name of an attribute that has them, instead of one.
        ``label``: its name among labeled arrays; if left out, the name of the field.
        ``columns``: of what the columns of tables are named: coordinates, or a text such as "{frame}.{axis}".
        ``along``: names along dimensions that no field names.
        ``apart``: each column is a labeled array by itself.  ``whole``: whether it is a labeled array at all.
        ``key``: its name in files, which may lack it if it has a ``sign``.  ``make``: what is made of it when it is read.
    """
    given = {} if default is dataclasses.MISSING else {"default_factory": lambda: default}
    return entry("array", dims, options={"kind": kind, "finite": finite}, **declared, **given)


def axis(dim: str, unit: str = "", label: str = "") -> Any:
    """A field (d,) that numbers a dimension, such as frequencies."""
    return array(dim, unit=unit, axis=True, label=label or dim)


def names(dim: str, label: str | None = None, **declared: Any) -> Any:
    """A field with names along a dimension, which label it; "" where they do not.  "*" for a list such as notes."""
    return entry("names", dim, label=dim * (dim != "*") if label is None else label, **declared)


def scalar(kind: type, **declared: Any) -> Any:
    """A field that is a number of at least zero, a flag or a text."""
    if kind is str:
        return entry("text", **declared)
    return entry("number", options={"whole": kind is not float}, make=kind, **declared)


def labeled(dims: str, kind: str = "array", **declared: Any) -> Callable[[_Function], _Function]:
    """Decorator of a property (below it) that is handed on with labels, too; options as for :func:`array`."""

    def mark(function: _Function) -> _Function:
        vars(function)[_ENTRY] = Entry(kind, dims, **({"label": function.__name__} | declared))
        return function

    return mark


def naming(dim: str, label: str) -> Callable[[_Function], _Function]:
    """Decorator of a property (below it) that gives names along a dimension."""
    return labeled(dim, "names", label=label)


# -- what classes declare ---------------------------------------------------------------------------------------------
@cache
def entries(cls: type) -> dict[str, Entry]:
    """The declarations of the fields of a class, by their names."""
    found = {}
    for field in dataclasses.fields(cls):
        matrix = vars(cls).get(field.name)
        dims, sign = (matrix.dims, matrix.sign) if isinstance(matrix, Matrix) else ("", "")
        declared = field.metadata.get(_ENTRY, Entry("sparse", dims, sign=sign) if dims else None)
        if declared is not None:
            label = declared.label or field.name * declared.shown
            found[field.name] = dataclasses.replace(declared, key=declared.key or field.name, label=label)
    return found


def unsaved(cls: type) -> list[str]:
    """The fields of a class that no file can hold, and without which there is no such result."""
    needed = [f.name for f in dataclasses.fields(cls) if f.default is f.default_factory]  # both are missing
    return [name for name in needed if name not in entries(cls) and name != "name"]


@cache
def _all_entries(cls: type) -> dict[str, Entry]:
    """The declarations of fields and of properties."""
    found = dict(entries(cls))
    for name, value in vars(cls).items():
        function = getattr(value, "fget", None) or getattr(value, "func", None)
        if _ENTRY in vars(function or object):
            found[name] = vars(function)[_ENTRY]
    return found


def has_columns(cls: type) -> bool:
    """Whether results of a class have columns by name."""
    return any(one.columns for one in _all_entries(cls).values())


# -- what results have ------------------------------------------------------------------------------------------------
class Variable(NamedTuple):
    """An array with labels: dimensions, values, and a unit, or several along its dimensions that are no index."""

    label: str | tuple[str, ...]
    dims: tuple[str, ...]
    values: np.ndarray
    unit: Any
    declared: Entry


def variables(result: Any) -> Iterator[Variable]:
    """All arrays of a result that are handed on with labels, but its axes."""
    for name, one in _all_entries(type(result)).items():
        if one.shown and not one.axis:
            unit = getattr(result, one.units) if isinstance(one.units, str) else one.units
            unit = unit if one.unit is None else one.unit.format_map(vars(result))
            yield Variable(one.label, tuple(one.dims.split()), np.asarray(getattr(result, name)), unit, one)


def coordinates(result: Any) -> dict[str, tuple[str, Any, str]]:
    """What numbers or names each dimension, by its label: the dimension, the values, and their unit."""
    found = {}
    for name, one in _all_entries(type(result)).items():
        if one.axis:
            label, unit = (text.format_map(vars(result)) for text in (one.label, one.unit or ""))
            found[label] = (one.dims, np.asarray(getattr(result, name)), unit)
        elif one.label and not one.shown:
            found[one.label] = (one.dims, list(getattr(result, name)), "")
        found |= {dim: (dim, list(fixed), "") for dim, fixed in one.along.items()}
    return found


def scalars(result: Any) -> dict[str, Any]:
    """Numbers, flags (0 or 1), texts and lists by themselves."""
    found = {}
    for name, one in entries(type(result)).items():
        if one.kind in _EARLY and one.dims in ("", "*"):
            value = getattr(result, name)
            found[name] = list(value) if one.dims else value if isinstance(value, str) else value + 0
    return found


def index(result: Any) -> tuple[str, np.ndarray, str, str]:
    """Dimension of the rows of a table, their numbers, name and unit."""
    for label, (dim, values, unit) in coordinates(result).items():
        if isinstance(values, np.ndarray):
            return dim, values, label, unit
    first = next(variables(result))
    return first.dims[0], np.arange(len(first.values)), first.dims[0], ""


def columns(result: Any) -> Iterator[Variable]:
    """The columns of a table over the index: arrays along it, and the columns of arrays whose columns have names."""
    rows, known, taken = index(result)[0], coordinates(result), set()
    for one in variables(result):
        if one.dims == (rows,):
            yield one
        elif one.declared.columns:
            others = tuple(d for d in one.dims if d != rows)
            values = np.moveaxis(one.values, one.dims.index(rows), 0)
            named = {label: (others.index(dim), names) for label, (dim, names, _) in known.items() if dim in others}
            for at in np.ndindex(values.shape[1:]):
                of = {label: names[at[place]] for label, (place, names) in named.items()}
                how = one.declared.columns
                label = how.format_map(of) if isinstance(how, str) else tuple(of[name] for name in how)
                if label in taken:  # an input named as an output is, as in models from matrices
                    label = f"{others[-1]} {label}"
                taken.add(label)
                unit = one.unit if isinstance(one.unit, str) else np.asarray(one.unit)[at].item()
                yield Variable(label, (rows,), values[(slice(None), *at)], unit, one.declared)
