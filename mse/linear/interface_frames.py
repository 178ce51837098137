"""Frames at which models can be clamped to each other, and how files store them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..numerics.read_only import ReadOnly

if TYPE_CHECKING:
    from ..saved import Reader, Record


@dataclass(frozen=True, eq=False)
class InterfaceFrame(ReadOnly):
    """A frame that :func:`mse.compose` may clamp: the body that it moves with, its lever arm, its orientation.

    Attributes
    ----------
    first : int or None
        Number of the body's first coordinate; None on the ground.
    lever : ndarray, (3,), m
        From the point about which the body turns to the origin of the frame, in world axes.
    U : ndarray, (3, 3)
        Orientation, its columns the axes.
    """

    first: int | None
    lever: np.ndarray
    U: np.ndarray


class Interfaces:
    """How files store frames by name; frames on the ground have the number -1."""

    def put(self, record: Record, key: str, value: Mapping[str, InterfaceFrame]) -> None:
        frames = list(value.values())
        record.put(
            interfaces=list(value),
            interface_first=np.array([-1 if f.first is None else f.first for f in frames], dtype=int),
            interface_lever=np.reshape([f.lever for f in frames], (-1, 3)),
            interface_axes=np.reshape([f.U for f in frames], (-1, 3, 3)),
        )

    def take(self, reader: Reader, key: str, found: Mapping[str, Any]) -> dict[str, InterfaceFrame]:
        named = reader.names("interfaces", "frame")
        first = reader.numbered("interface_first", "frame", max(reader.length("coordinate") - 5, 0), -1).tolist()
        levers, axes = reader.array("interface_lever", "frame 3"), reader.array("interface_axes", "frame 3 3")
        frames = zip(named, first, levers, axes, strict=True)
        return {name: InterfaceFrame(None if k < 0 else k, lever, u) for name, k, lever, u in frames}
