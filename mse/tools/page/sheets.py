"""What the page says about each object: parameters, poses of its frames, forces on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ...display import Cell, without_rounding
from ...kernels.rotations import rotation_vector
from ...statics.named import Named
from ...statics.working_point import WorkingPoint
from ..scene import Part, Scene
from .packing import packed

_DIGITS = 6  # of forces, poses and tensions
_MOST_FRAMES = 4  # frames listed for an object: a beam has many nodes inside


class Sheets:
    """Tables of objects; objects with equal parameters share one of ``tables``."""

    def __init__(self, scene: Scene, wp: WorkingPoint | None = None):
        """Without a working point there are no forces in them."""
        self._scene, self._wp = scene, wp
        turns = np.array([rotation_vector(np.ascontiguousarray(u)) for u in scene.frame_U]).reshape(-1, 3)
        size = max(wp.size if wp else scene.size, np.abs(scene.frame_o).max(initial=0.0))
        self._poses = np.hstack([without_rounding(scene.frame_o, size), without_rounding(turns, 1.0)])
        # as the tables show them: values that are rounding compared with the largest are left out
        if wp:
            self._loads, self._tensions = _rows(wp.forces), _rows(wp.tensions)
            self._reactions, self._joints = _rows(wp.reactions), _rows(wp.joint_coordinates)
        self.tables: list[list[list[str]]] = []
        self._known: dict[str, int] = {}

    def objects(self) -> list[dict]:
        """One entry for each part of the scene, in order."""
        out = []
        for part in self._scene.parts:
            entry = {"n": part.path, "k": part.kind, "r": part.role, "s": self._sheet(part.obj), "f": _told(part)}
            entry["p"] = [_shortened(self._poses[f]) for f in entry["f"]]
            out.append(entry | (self._forces(part, len(entry["f"])) if self._wp else {}))
        return out

    def _forces(self, part: Part, frames: int) -> dict:
        """Forces on the first frames of a part at the working point, or what it exerts as a joint; tension, and coordinates."""
        wp, entry = self._wp, {}
        if part.path in wp.forces:
            entry["l"] = [_shortened(row[1:]) for row in self._loads.get(part.path, ())[:frames]]
        elif part.path in wp.reactions:
            (row,) = self._reactions.get(part.path, [()])
            # joints with outputs other than force and torque have a table of their own
            entry["x"] = _shortened(row if len(row) == 6 else wp.reactions[part.path])
        if part.path in wp.tensions:
            entry["t"] = _short(self._tensions[part.path][0][0])
        names = getattr(part.obj, "joint_coordinates", ())
        if names:
            entry["j"] = {n: _short(self._joints[f"{part.path}.{n}"][0][0]) for n in names}
        return entry

    def _sheet(self, obj) -> int:
        rows = [[_lines(str(cell)) for cell in row[:3]] for row in obj.parameters.table().rows]
        key = repr(rows)
        if key not in self._known:
            self._known[key] = len(self.tables)
            self.tables.append(rows)
        return self._known[key]

    def frames(self, center: np.ndarray) -> dict:
        """Names, carriers and origins (relative to the center of the picture) of all frames."""
        scene = self._scene
        return {
            "names": scene.topology.frame_labels,
            "on": packed(scene.frame_carrier, "u4"),
            "o": packed(scene.frame_o - center, "f4"),
        }


def _lines(text: str) -> str:
    """The text of a parameter; a real matrix is written row by row."""
    if not text.startswith("[["):
        return text
    try:
        return "\n".join(" ".join(f"{float(x):.9g}" for x in row.split()) for row in text.strip("[]").split("]  ["))
    except ValueError:  # not a real matrix, or rows are abbreviated
        return text


def _told(part) -> list[int]:
    return [int(f) for f in part.frames[:_MOST_FRAMES]]


def _rows(named: Named) -> dict[str, list[Sequence[Cell]]]:
    """The rows of a table without their first cells, by the text in these."""
    out: dict[str, list[Sequence[Cell]]] = {}
    for name, *cells in named.table().rows:
        out.setdefault(str(name), []).append(cells)
    return out


def _shortened(values: Iterable[float]) -> list[float]:
    return [_short(x) for x in values]


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
