"""Frames of objects, and places relative to them, where objects are clamped to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..elsewhere import Guided
from ..pose import IDENTITY, Pose


@dataclass(frozen=True, repr=False, eq=False)
class Frame(Guided):
    """A frame owned by an object, which :meth:`MSystem.clamp` joins to others; ``frame @ pose`` is a place seen from it."""

    owner: Any  # the MObject that has it
    name: str

    @property
    def label(self) -> str:
        """``object.frame`` by its path in the system, for messages."""
        return f"{self.owner.path}.{self.name}"

    def __matmul__(self, pose: Pose) -> Place:
        """The place at a pose as seen from this frame, to be clamped to as to a frame."""
        return Place(self) @ pose

    def __repr__(self) -> str:
        return f"Frame({self.label!r})"


@dataclass(frozen=True, repr=False, eq=False)
class Place:
    """``frame @ pose``: a place at a pose as seen from a frame, which moves with it.

    Attributes
    ----------
    frame : Frame
        The frame that it moves with.
    pose : Pose
        The place as seen from it.
    """

    frame: Frame
    pose: Pose = IDENTITY

    def __matmul__(self, pose: Pose) -> Place:
        """The place at a further pose, as seen from this one."""
        if not isinstance(pose, Pose):
            return NotImplemented
        return Place(self.frame, self.pose @ pose)

    def __repr__(self) -> str:
        return f"{self.frame!r} @ {self.pose!r}"
