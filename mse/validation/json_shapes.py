"""JSON files, read with limits and checked against a declared shape, so that every misfit is reported with its place.

A shape is a function that returns if a value fits and raises :class:`Misfit` otherwise.  Shapes for lists and mappings are made
of others: ``entries({"name": text, "at": optional(numbers(3))})``.  Types and lengths of a value that fits need no further
check.  NaN and infinite numbers fit only ``real``; integers beyond the range of floats fit no shape.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from ..errors import FileError, nearest_name
from .arguments import shown
from .file_access import read_text, too_large

Shape = Callable[[Any], None]

_LARGEST = 1.7976931348623157e308  # of floats
_DIGITS = 400  # of integers: longer ones exceed the largest float and take long to read


class Misfit(Exception):
    """A value that does not have its shape; ``steps`` lead to it, the last one first."""

    def __init__(self, found: str, expected: str):
        self.found, self.expected = found, expected
        self.steps: list[int | str] = []

    @property
    def place(self) -> str:
        """Its place, such as ``system.objects[3].at``."""
        words = [
            f"[{s}]" if isinstance(s, int) else f".{s}" if s.isidentifier() else f"[{shown(s)}]" for s in self.steps
        ]
        return "".join(reversed(words)).removeprefix(".") or "the whole"


# -- shapes -------------------------------------------------------------------------------------------------------
def number(value: Any) -> None:
    """A finite number; True and False are refused."""
    if type(value) not in (float, int) or not -_LARGEST <= value <= _LARGEST:
        raise Misfit(_shown(value), "a finite number")


def real(value: Any) -> None:
    """A number, including infinity and NaN."""
    if type(value) is not float:
        number(value)


def positive(value: Any) -> None:
    """A finite number above zero."""
    number(value)
    if value <= 0:
        raise Misfit(_shown(value), "a number above zero")


def not_negative(value: Any) -> None:
    """A finite number of at least zero."""
    number(value)
    if value < 0:
        raise Misfit(_shown(value), "a number of at least 0")


def whole(value: Any) -> None:
    """A whole number of at least zero in the range of array indices."""
    if type(value) is not int or not 0 <= value < 2**62:
        raise Misfit(_shown(value), "a whole number of at least 0")


def text(value: Any) -> None:
    """A string."""
    if not isinstance(value, str):
        raise Misfit(_shown(value), "a text")


def flag(value: Any) -> None:
    """True or false."""
    if not isinstance(value, bool):
        raise Misfit(_shown(value), "true or false")


def data(value: Any) -> None:
    """Any JSON value with finite numbers."""
    if isinstance(value, list | tuple):
        _list_of_data(value)
    elif isinstance(value, dict):
        _mapping_of_data(value)
    elif not isinstance(value, bool | str | None):
        number(value)


def word(*among: str) -> Shape:
    """One of a few words."""

    def check(value: Any) -> None:
        if not isinstance(value, str) or value not in among:
            raise Misfit(_shown(value), "one of " + ", ".join(map(repr, among)))

    return check


def optional(shape: Shape) -> Shape:
    """That shape, or null."""

    def check(value: Any) -> None:
        if value is not None:
            shape(value)

    return check


def each(shape: Shape, count: int | None = None) -> Shape:
    """A list, of ``count`` entries if that is given, all of one shape."""
    expected = "a list" if count is None else f"a list of {count}"

    def check(value: Any) -> None:
        if not isinstance(value, list | tuple) or (count is not None and len(value) != count):
            raise Misfit(_shown(value), expected)
        # fast path for large matrices
        if set(map(type, value)) == {float} and shape in (number, data) and all(map(isfinite, value)):
            return
        for k, item in enumerate(value):
            try:
                shape(item)
            except Misfit as misfit:
                misfit.steps.append(k)
                raise

    return check


def numbers(*lengths: int | None) -> Shape:
    """Finite numbers in nested lists of these lengths, None for any."""
    shape: Shape = number
    for length in reversed(lengths):
        shape = each(shape, length)
    return shape


def row(*shapes: Shape) -> Shape:
    """A list with one entry for each shape."""
    listed = each(lambda item: None, len(shapes))

    def check(value: Any) -> None:
        listed(value)
        for k, (shape, item) in enumerate(zip(shapes, value, strict=True)):
            _within(k, shape, item)

    return check


def named(shape: Shape) -> Shape:
    """A mapping from any names to values of one shape."""

    def check(value: Any) -> None:
        if not isinstance(value, dict):
            raise Misfit(_shown(value), "a mapping")
        for key, item in value.items():
            _within(key, shape, item)

    return check


def entries(required: Mapping[str, Shape], further: Mapping[str, Shape] | None = None) -> Shape:
    """A mapping with the required entries, optionally the ``further`` ones, and no others."""
    known = {**required, **(further or {})}

    def check(value: Any) -> None:
        if not isinstance(value, dict):
            raise Misfit(_shown(value), "a mapping with " + ", ".join(required))
        for key, shape in known.items():  # in this order, since the format comes first
            if key in value:
                _within(key, shape, value[key])
            elif key in required:
                raise Misfit(f"without {key!r}", "a mapping with " + ", ".join(required))
        for key in value:
            if key not in known:
                raise Misfit(f"with an entry {shown(key)}{nearest_name(key, known)}", "a mapping without")

    return check


_list_of_data, _mapping_of_data = each(data), named(data)


def _within(step: int | str, shape: Shape, value: Any) -> None:
    try:
        shape(value)
    except Misfit as misfit:
        misfit.steps.append(step)
        raise


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return f"a mapping with {len(value)} entries"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return shown(value)


# -- files --------------------------------------------------------------------------------------------------------
def read_json(path: Path, shape: Shape, written_by: str, others: str = "") -> Any:
    """Content of a JSON file of that shape; otherwise FileError with line and column, or the place inside.

    ``others`` names the functions that read binary files.
    """
    return from_json(path, read_text(path, others), shape, written_by)


def from_json(path: Path, source: str, shape: Shape, written_by: str) -> Any:
    """:func:`read_json` for a text found inside a file."""

    def integer(digits: str) -> int:
        if len(digits) > _DIGITS:
            line, column = _line_and_column(source, source.index(digits))
            raise FileError(
                f"{path}: line {line} column {column} has an integer of {len(digits)} digits; expected at most {_DIGITS}"
            )
        return int(digits)

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))
            raise FileError(f"{path}: one mapping has two entries {shown(twice)}; expected each name once")
        return found

    try:
        content = json.loads(source, parse_int=integer, object_pairs_hook=mapping)
    except json.JSONDecodeError as error:
        raise FileError(f"{path}: not a JSON text ({error}); expected a file written by {written_by}") from None
    except RecursionError:
        raise FileError(f"{path}: nested too deep to be read; expected a file written by {written_by}") from None
    except MemoryError:
        raise too_large(path) from None
    check_shape(path, content, shape, f"; such files are written by {written_by}")
    return content


def check_shape(path: Path, content: Any, shape: Shape, hint: str = "") -> None:
    """FileError with the place in the file if its content has another shape."""
    try:
        shape(content)
    except Misfit as misfit:
        raise FileError(f"{path}: {misfit.place} is {misfit.found}; expected {misfit.expected}{hint}") from None
    except RecursionError:
        raise FileError(f"{path}: nested too deep; expected lists in a few levels{hint}") from None


def _line_and_column(source: str, at: int) -> tuple[int, int]:
    return source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at)
