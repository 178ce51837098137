"""Docstrings of classes of objects, completed from the declarations of their parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

_SECTION = re.compile(r"^(Parameters|Returns|Raises|Notes|References|Examples)\n-+\n", re.MULTILINE)


class Later:
    """An attribute of classes that is computed when it is read, as for help, so that importing takes no time for it."""

    def __init__(self, found: Callable[[type], Any]):
        self._found = found

    def __get__(self, obj: object, owner: type) -> Any:
        return self._found(owner)


class Docstring:
    """The docstring of a class and of its objects; an object makes its own with ``described()``."""

    def __init__(self, of_class: str | None):
        self._of_class = of_class

    def __get__(self, obj: Any, owner: type) -> str | None:
        return self._of_class if obj is None else obj.described()


def completed(text: str | None, cls: type) -> str | None:
    """The docstring of a class of objects with all its parameters in a numpydoc section, units and limits as declared.

    They are in the order of its signature.

    Arguments without a declaration, such as the frames of a rigid body, are in the section ``Parameters`` that the class itself
    has.
    """
    if not text:
        return text
    text = inspect.cleandoc(text) + "\n"
    start = _SECTION.search(text)
    summary, rest = (text, "") if start is None else (text[: start.start()], text[start.start() :])
    own = ""
    if start is not None and start[1] == "Parameters":
        rest = text[start.end() :]
        end = _SECTION.search(rest)
        own, rest = (rest, "") if end is None else (rest[: end.start()], rest[end.start() :])
    declared = [_entry(parameter) for _, parameter in required_first(cls)]
    entries = [_NAME, *declared, _AT, *([own.strip()] if own else [])]
    return f"{summary.strip()}\n\nParameters\n----------\n" + "\n".join(entries) + f"\n\n{rest}".rstrip() + "\n"


def required_first(cls: type) -> list[tuple[str, Any]]:
    """The parameters of a class by name in the order of its declarations, required ones first."""
    return sorted(cls.declared_parameters.items(), key=lambda item: not item[1].required)


_NAME = "name : str\n    Name of the object, as results have it."
_AT = "at : Pose, optional\n    Initial pose of frame 0, as seen from the ground of the system that it is added to."


def _entry(parameter) -> str:
    unit = f", {parameter.unit}" if parameter.unit else ""
    what, _, more = parameter.__doc__.partition(": ")
    what = what.removesuffix(f" ({parameter.unit})")
    return f"{parameter.name} : {parameter.kind}{unit}\n    {what[:1].upper()}{what[1:]}: {more}."
