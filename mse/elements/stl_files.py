"""Reading STL files, binary and text: the triangles of a surface, with limits on what a file can demand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError
from ..validation.file_access import read_bytes

MOST_TRIANGLES = 200_000  # ten megabytes of binary STL; a browser still rotates them at 60 frames a second

_HEAD, _RECORD = 84, 50  # bytes
_TEXT_RECORD = 400  # bytes of a facet in a text: 12 numbers of up to 24 digits and the words take 380
# of coordinates; floats of single precision end at 3e38, products of five such leave the doubles at 1e61
FARTHEST = 1e30

_NUMBER = rb"\s+(\S{1,40})"
_FACET = re.compile(
    rb"\s*facet\s+normal"
    + 3 * _NUMBER
    + rb"\s+outer\s+loop"
    + 3 * (rb"\s+vertex" + 3 * _NUMBER)
    + rb"\s+endloop\s+endfacet\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(rb"\s*(?:endsolid[^\n]*\n?|solid[^\n]*\n)", re.IGNORECASE)


def read_stl(path: Any) -> np.ndarray:
    """Corners (m, 3, 3) of the triangles in an STL file, in the file's unit; FileError if it is not one or is too large."""
    path, data = read_bytes(path, _HEAD + _TEXT_RECORD * MOST_TRIANGLES)
    # texts begin with "solid", but so do some binary files, so the size decides
    binary = len(data) >= _HEAD and len(data) == _HEAD + _RECORD * int.from_bytes(data[80:84], "little")
    if binary:
        corners = _binary(path, data)
    elif data[:5].lower() == b"solid":
        corners = _text(path, data)
    else:
        raise FileError(
            f"{path} is no STL file: it has {len(data)} bytes, does not begin with 'solid', and its size does not fit the number "
            "of triangles in it; expected a whole STL file, binary or text; export it again"
        )
    if not len(corners):
        raise FileError(f"{path} has no triangles; expected an STL file of a surface; export it again")
    bad = ~(np.abs(corners) <= FARTHEST).all(axis=(1, 2))
    if bad.any():
        k = int(np.argmax(bad))
        raise FileError(
            f"{path}: triangle {k + 1} has a corner at {corners[k].tolist()}; expected finite coordinates of at most {FARTHEST:g}"
            "; export it again"
        )
    return corners


def refuse_many(path: Path, count: int) -> None:
    """FileError if a file has more triangles than can be drawn."""
    if count > MOST_TRIANGLES:
        raise FileError(
            f"{path} has {count} triangles; expected at most {MOST_TRIANGLES}; export it with a coarser tolerance"
        )


def _binary(path: Path, data: bytes) -> np.ndarray:
    count = (len(data) - _HEAD) // _RECORD
    refuse_many(path, count)
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    return np.frombuffer(data, record, count, _HEAD)["corners"].astype(float)


def _text(path: Path, data: bytes) -> np.ndarray:
    corners, place = [], 0
    while place < len(data):
        facet = _FACET.match(data, place)
        if facet is None:
            between = _BETWEEN.match(data, place)
            if between is None:
                break
            place = between.end()
            continue
        try:
            corners.append([float(x) for x in facet.groups()[3:]])
        except ValueError:
            raise FileError(
                f"{path}: line {_line(data, place)}: a corner is not a number; expected three for each"
            ) from None
        refuse_many(path, len(corners))
        place = facet.end()
    if data[place:].strip():
        raise FileError(
            f"{path}: the text from line {_line(data, place)} on is not a facet of an STL file; expected 'facet "
            "normal', 'outer loop', three lines with 'vertex', 'endloop' and 'endfacet'; export it again"
        )
    return np.array(corners).reshape(-1, 3, 3)


def _line(data: bytes, place: int) -> int:
    start = place + len(data[place:]) - len(data[place:].lstrip())
    return data.count(b"\n", 0, start) + 1
