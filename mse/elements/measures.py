"""Readings of sensors, as laws of poses: values at the working point, and slopes as outputs of the linear model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ModelError
from ..numerics.jets import Jet
from ..validation.arguments import LARGEST, called, shown
from .base import MObject
from .differentiation import FramePose, checked_values, differences, jet_frames
from .law_record import Places, Shape, rows_of
from .recorded_laws import Together, recordable


def readings(obj: MObject, frames: Sequence[FramePose], q: np.ndarray) -> np.ndarray:
    """Readings (outputs,) of an object with a ``measure`` at poses and internal coordinates, checked."""
    found = _read(obj, frames, q)
    if not np.all(np.abs(found) <= LARGEST):
        worst = int(np.argmin(np.abs(found) <= LARGEST))
        raise ModelError(
            f"{obj.label}: its measure of {obj.outputs[worst].name} is {shown(float(found[worst]))} at the present "
            "poses; expected a finite number; check that it does not divide by zero"
        )
    return found


def slopes(objects: Sequence[MObject], places: Places, notes: list[str]) -> list[np.ndarray]:
    """Slopes (outputs, n) of the readings of objects of one class by their coordinates (dx, dy, dz, ax, ay, az, ..., q).

    ``notes`` collects remarks on measures that cannot be recorded.
    """
    found: list[np.ndarray] = [np.zeros((0, 0))] * len(objects)
    counts = [len(obj.outputs) for obj in objects]
    for count in sorted(set(counts)):
        alike = [e for e, own in enumerate(counts) if own == count]
        rows = _alike([objects[e] for e in alike], [places[e] for e in alike], count, notes)
        for e, own in zip(alike, rows, strict=True):
            found[e] = own
            if not np.all(np.abs(own) <= LARGEST):
                worst = int(np.argmin(np.all(np.abs(own) <= LARGEST, axis=1)))
                raise ModelError(
                    f"{objects[e].label}: its measure of {objects[e].outputs[worst].name} has no slope at the present poses; "
                    "expected one, for linear models; measure a square instead of a distance that vanishes"
                )
    return found


def _alike(objects: list[MObject], places: list, count: int, notes: list[str]) -> np.ndarray:
    """:func:`slopes` (E, outputs, n) for objects with equal numbers of outputs."""
    frames, q = places[0]
    shape = Shape(len(frames), len(q), count)
    found = np.zeros((len(objects), count, shape.size))
    left: Sequence[int] = range(len(objects))
    if recordable(type(objects[0]), "measure"):

        def put(here, values):
            found[here] = values[1]

        together = Together(objects, "measure", shape)
        left = together.evaluate(
            slice(None), (rows_of(places), np.zeros(count)), 1, lambda k: readings(objects[k], *places[k]), put
        )
        notes += together.notes
    for k in left:
        found[k] = _differentiated(objects[k], *places[k])
    return found


def _read(obj: MObject, frames: Sequence[FramePose], q: np.ndarray) -> np.ndarray | Jet:
    """The values or jets (outputs,) of a measure; ModelError unless there is one for each output."""
    usage = "measure(frames, q) with frames that have .o (3,) and .U (3, 3), and to return a list of readings"
    found = called(obj.label, "its measure", usage, obj.measure, frames, q)
    found = checked_values(obj, found, "measure", "one for each of its outputs")
    if found.shape != (len(obj.outputs),):
        names = ", ".join(c.name for c in obj.outputs) or "none"
        raise ModelError(
            f"{obj.label}: its measure gives {found.shape[0]} readings; expected one for each of its outputs "
            f"({names}); list every reading in outputs, with its unit"
        )
    return found


def _differentiated(obj: MObject, frames: Sequence[FramePose], q: np.ndarray) -> np.ndarray:
    """The slopes (outputs, n) of one object, exact or by differences as its class says."""
    n, count = 6 * len(frames) + len(q), len(obj.outputs)
    if obj.differentiation == "exact":
        found = _read(obj, *jet_frames(frames, q))
        return found.gradient if isinstance(found, Jet) else np.zeros((count, n))
    rows = [differences(lambda f, p, r=r: _read(obj, f, p)[r], frames, q, 1)[1] for r in range(count)]
    return np.array(rows).reshape(count, n)
