"""What the page tells of each object: parameters, poses of its frames, forces on them."""

from __future__ import annotations

import numpy as np

from ...kernels.rotations import rotation_vector
from ...statics.working_point import WorkingPoint
from ..scene import Scene
from .packing import packed

_DIGITS = 6  # of forces, poses and tensions
_MOST_FRAMES = 4  # of an object that are told: a beam has many nodes inside


class Sheets:
    """Tables of objects; those of equal parameters share one of ``tables``."""

    def __init__(self, scene: Scene, wp: WorkingPoint):
        self._scene, self._wp = scene, wp
        self.tables: list[list[list[str]]] = []
        self._known: dict[str, int] = {}

    def objects(self) -> list[dict]:
        """One entry for each part of the scene, in their order."""
        wp, out = self._wp, []
        for part in self._scene.parts:
            entry = {"n": part.path, "k": part.kind, "r": part.role, "s": self._sheet(part.obj), "f": _told(part)}
            if part.path in wp.forces:
                entry["l"] = [[_short(x) for x in row] for row in np.asarray(wp.forces[part.path])[: len(entry["f"])]]
            elif part.path in wp.reactions:
                entry["x"] = [_short(x) for x in wp.reactions[part.path]]
            if part.path in wp.tensions:
                entry["t"] = _short(wp.tensions[part.path])
            values = {n: wp.joint_coordinates[f"{part.path}.{n}"] for n in getattr(part.obj, "joint_coordinates", ())}
            if values:
                entry["j"] = {n: _short(x) for n, x in values.items()}
            out.append(entry)
        return out

    def _sheet(self, obj) -> int:
        rows = [[_lines(str(cell)) for cell in row[:3]] for row in obj.parameters.table().rows]
        key = repr(rows)
        if key not in self._known:
            self._known[key] = len(self.tables)
            self.tables.append(rows)
        return self._known[key]

    def frames(self, center: np.ndarray) -> dict:
        """Names, carriers, origins about the center of the picture, and rotation vectors of all frames."""
        scene = self._scene
        turns = np.array([rotation_vector(np.ascontiguousarray(u)) for u in scene.frame_U])
        return {
            "names": scene.topology.frame_labels,
            "on": packed(scene.frame_carrier, "u4"),
            "o": packed(scene.frame_o - center, "f4"),
            "turns": packed(turns, "f4"),
        }


def _lines(text: str) -> str:
    """The text of a parameter; of a matrix of real numbers, row by row."""
    if not text.startswith("[["):
        return text
    try:
        return "\n".join(" ".join(f"{float(x):.9g}" for x in row.split()) for row in text.strip("[]").split("]  ["))
    except ValueError:  # of others, or with rows left out
        return text


def _told(part) -> list[int]:
    return [int(f) for f in part.frames[:_MOST_FRAMES]]


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
