"""Values of a working point by name: poses, forces, tensions, reactions, coordinates of joints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from ..display import Shown, Table
from ..numerics.read_only import read_only
from ..validation.arguments import find

Value = TypeVar("Value")


class Named(Shown, Mapping[str, Value]):
    """A read-only mapping by name that offers the nearest name for an unknown one, and shows itself as a table."""

    def __init__(self, what: str, items: Mapping[str, Value], tabled: Callable[[Mapping[str, Value]], Table]):
        self._what, self._items, self._tabled = what, read_only(dict(items)), tabled

    def __getitem__(self, name: str) -> Value:
        return self._items[find("", self._what, name, self._items)]

    def __contains__(self, name: object) -> bool:
        return name in self._items  # without a search for the nearest name

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._items)

    def table(self) -> Table:
        return self._tabled(self._items)
