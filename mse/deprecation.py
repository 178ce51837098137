"""Public names that were replaced: they work for one more minor version, and warn."""

from __future__ import annotations

import warnings
from typing import Any

from .errors import stack_level

# Names of the package that were replaced: by which, and the version that has the old one no more.
RENAMED: dict[str, tuple[str, str]] = {}


def warn_renamed(old: str, new: str, ends: str) -> None:
    """Warn of an old name, as from the line outside mse that uses it."""
    message = f"{old} is now {new}; the old name ends with mse {ends}"
    warnings.warn(message, DeprecationWarning, stacklevel=stack_level())


class Renamed:
    """An attribute or method under its old name; ``old = Renamed("new", ends="0.4")`` in the body of its class."""

    def __init__(self, new: str, *, ends: str):
        self.new, self.ends = new, ends

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.old = owner.__name__, name

    def __get__(self, instance: Any, owner: type) -> Any:
        warn_renamed(f"{self.owner}.{self.old}", f"{self.owner}.{self.new}", self.ends)
        return getattr(owner if instance is None else instance, self.new)
