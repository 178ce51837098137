"""Readings of sensors, as laws of poses: values at the working point, and slopes as outputs of the linear model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ModelError
from ..validation.arguments import LARGEST, shown
from .base import MObject
from .differentiation import FramePose, law_values
from .law_record import Places, Shape, rows_of
from .recorded_laws import Together


def readings(obj: MObject, frames: Sequence[FramePose], q: np.ndarray) -> np.ndarray:
    """What an object with a ``measure`` reads at poses and internal coordinates (outputs,), checked."""
    found = law_values(obj, "measure", frames, q, ())
    _refuse_infinite(obj, found)
    return found


def _refuse_infinite(obj: MObject, found: np.ndarray) -> None:
    if not np.all(np.abs(found) <= LARGEST):
        worst = int(np.argmin(np.abs(found) <= LARGEST))
        raise ModelError(
            f"{obj.label}: its measure of {obj.outputs[worst].name} is {shown(float(found[worst]))} at the present "
            "poses; expected a finite number; check that it does not divide by zero"
        )


def slopes(objects: Sequence[MObject], places: Places, notes: list[str]) -> list[np.ndarray]:
    """Slopes (outputs, n) of the readings of objects of one class by their coordinates (dx, dy, dz, ax, ay, az, ..., q).

    ``notes`` collects remarks on measures that cannot be recorded.
    """
    found: list[np.ndarray] = [np.zeros((0, 0))] * len(objects)
    counts = [len(obj.outputs) for obj in objects]
    for count in sorted(set(counts)):
        alike = [e for e, own in enumerate(counts) if own == count]
        frames, q = places[alike[0]]
        together = Together([objects[e] for e in alike], "measure", Shape(len(frames), len(q), count))
        values, rows, _ = together.evaluate(rows_of([places[e] for e in alike]), np.zeros(count), 1)
        notes += together.notes
        for e, read, own in zip(alike, values, rows, strict=True):
            found[e] = own
            _refuse_infinite(objects[e], read)
            if not np.all(np.abs(own) <= LARGEST):
                worst = int(np.argmin(np.all(np.abs(own) <= LARGEST, axis=1)))
                raise ModelError(
                    f"{objects[e].label}: its measure of {objects[e].outputs[worst].name} has no slope at the present poses; "
                    "expected one, for linear models; measure a square instead of a distance that vanishes"
                )
    return found
