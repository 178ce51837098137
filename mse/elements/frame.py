"""Frame: a place on an object, by which it is clamped to others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..elsewhere import Guided


@dataclass(frozen=True, eq=False)
class Frame(Guided):
    """A frame owned by an object, which :meth:`MSystem.clamp` joins to others."""

    owner: Any  # the MObject that has it
    name: str

    @property
    def label(self) -> str:
        """``object.frame`` by its path in the system, for messages."""
        return f"{self.owner.path}.{self.name}"

    def __repr__(self) -> str:
        return f"Frame({self.label!r})"
