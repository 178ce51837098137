"""Reading Wavefront OBJ files: the faces of a surface as triangles, with limits on what a file can demand.

Points and faces are read; normals, textures, materials, names, lines and points without faces are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError
from ..numerics.triangulations import filled
from ..validation.file_access import read_bytes
from .stl_files import FARTHEST, MOST_TRIANGLES, refuse_many

_BYTES = 400 * MOST_TRIANGLES  # of a file: three points, textures and normals for each triangle take some 350
_MOST_CORNERS = 200  # of a face: a hollow face takes time by the square of them


def read_obj(path: Any) -> np.ndarray:
    """Corners (m, 3, 3) of the faces in an OBJ file, cut into triangles; FileError if it is not one or is too large."""
    path, data = read_bytes(path, _BYTES)
    points: list[list[float]] = []
    corners: list[np.ndarray] = []
    count = 0
    for number, line in _lines(data):
        word, *rest = line.partition(b"#")[0].split() or [b""]
        if word == b"v":
            points.append(_point(path, number, rest))
        elif word == b"f":
            corners.append(filled(np.array([_face(path, number, rest, points)])))
            count += len(corners[-1])
            refuse_many(path, count)
    if not corners:
        raise FileError(f"{path} has no faces; expected an OBJ file of a surface; export it again, as polygons")
    return np.concatenate(corners)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines and their numbers; a line that ends in a backslash continues in the next."""
    first, held = 1, b""
    for number, line in enumerate(data.splitlines(), start=1):
        first = first if held else number
        if line.endswith(b"\\"):
            held += line[:-1] + b" "
            continue
        yield first, held + line
        held = b""


def _point(path: Path, number: int, words: list[bytes]) -> list[float]:
    try:
        x, y, z = (float(word) for word in words[:3])
    except ValueError:
        raise FileError(f"{path}: line {number}: a point does not have three numbers; expected 'v x y z'") from None
    if not all(abs(c) <= FARTHEST for c in (x, y, z)):
        raise FileError(
            f"{path}: line {number}: a point is at {[x, y, z]}; expected finite coordinates of at most {FARTHEST:g}; export it "
            "again"
        )
    return [x, y, z]


def _face(path: Path, number: int, words: list[bytes], points: list[list[float]]) -> list[list[float]]:
    """The corners of a face, given by numbers of points from 1 on, or backwards from the last point."""
    if not 3 <= len(words) <= _MOST_CORNERS:
        raise FileError(
            f"{path}: line {number}: a face has {len(words)} corners; expected from 3 to {_MOST_CORNERS}; export it as triangles"
        )
    found = []
    for word in words:
        try:
            k = int(word.partition(b"/")[0])
        except ValueError:
            k = 0
        if not 0 < abs(k) <= len(points):
            raise FileError(
                f"{path}: line {number}: a corner is {word[:40].decode('latin-1')!r}; expected the number of one of the "
                f"{len(points)} points above, such as 1 or 1/1/1"
            )
        found.append(points[k - 1 if k > 0 else k])
    return found
