"""Small records in which objects describe themselves: channels, outlines, components."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# the mechanisms of stiffness that come of loads, reactions, fields and inertia: they store no elastic energy, and lose none
GRAVITY, GEOMETRIC, REACTION, FIELD, MOTION = LOADED = "gravity", "geometric", "reaction", "field", "motion"


class Channel(NamedTuple):
    """An input or output of the linear regime: its name within the object and its SI unit."""

    name: str
    unit: str


class Outline(NamedTuple):
    """Neutral geometry for drawing, in world coordinates: points (n, 3), lines and faces as tuples of point indices."""

    points: np.ndarray
    lines: tuple[tuple[int, ...], ...] = ()
    faces: tuple[tuple[int, ...], ...] = ()


class Component(NamedTuple):
    """An element inside an object, and the names of the object's frames that it acts between."""

    element: Any
    frames: tuple[str, ...]


DISPLACEMENT = tuple(
    Channel(n, u) for n, u in zip(("x", "y", "z", "ax", "ay", "az"), ("m",) * 3 + ("rad",) * 3, strict=True)
)
FORCE = tuple(
    Channel(n, u) for n, u in zip(("fx", "fy", "fz", "tx", "ty", "tz"), ("N",) * 3 + ("N m",) * 3, strict=True)
)
