"""Reading COLLADA files (.dae): the polygons of their scene as triangles, with limits on what a file can demand.

<triangles>, <polylist> and <polygons> are read, in meters, at the places given by the nodes of the scene.  Materials, normals,
lines, cameras and lights are ignored.  Anything else that would be drawn, such as skins and splines, is refused by name.

Why not a library: ``tests/elements/test_collada_files.py`` has 36 files that must be refused (with X, Y and Z as names of their
parameters).  trimesh 5.2 with pycollada 0.9 reads 14 of them without a warning: a coordinate that is not a number becomes 0,
corner -1 the last point, and polygons with holes are left out.  On 2, whose nodes refer to each other, it does not end within
20 s.  On the others it raises five kinds of errors without the place in the file.  It leaves the unit and the upward axis to the
user, keeps single precision and cuts hollow faces into fans.  Limits, units and refusals would still be needed here, by estimate
more than half of these 250 code lines.  It reads a truncated STL file as an empty one, and in OBJ files corner 0 as the last
point; the readers for these have 82 and 65 code lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import hypot, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError
from ..numerics.triangulations import filled
from ..pose import Pose
from ..validation.arguments import shown
from ..validation.file_access import read_bytes
from ..validation.xml_tree import Tag, tag_error, xml_tree
from .stl_files import FARTHEST, MOST_TRIANGLES, refuse_many

_BYTES = 400 * MOST_TRIANGLES  # of a file, as of others with polygons
_MOST_NUMBERS = 15 * MOST_TRIANGLES  # in a list: three corners with position, normal, two textures and a color
# most elements visited in nodes, which may be referred to many times: as many as a file may have
_MOST_VISITED = 200_000
_DEEPEST = 100  # levels of nodes, as for elements of a file
_MOST_CORNERS = 200  # of a face: a hollow face takes time by the square of them

# rows that turn a file with this upward axis so that z points upwards
_UPRIGHT = {
    "X_UP": np.array([(0.0, -1.0, 0.0), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0)]),
    "Y_UP": np.array([(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)]),
    "Z_UP": np.eye(3),
}
_FACES = ("triangles", "polylist", "polygons")
_NOT_READ = ("tristrips", "trifans", "instance_controller", "lookat", "skew")
_TRANSFORMS = ("matrix", "translate", "rotate", "scale")


def read_dae(path: Any, upright: bool = True) -> np.ndarray:
    """Corners (m, 3, 3) of the triangles in a COLLADA file, in meters; FileError if it is not one or is too large.

    ``upright`` rotates the upward axis of the file to z.
    """
    path, content = read_bytes(path, _BYTES)
    root = xml_tree(path, content, "COLLADA", "a surface")
    if root.tag != "COLLADA":
        raise FileError(f"{path}: it begins with <{root.tag[:40]}>; expected <COLLADA>, as COLLADA files do")
    return _Scene(path, root).corners(upright)


class _Scene:
    """The geometry in a file, checked piece by piece."""

    def __init__(self, path: Path, root: Tag):
        self.path, self.root = path, root
        self.named: dict[tuple[str, str], Tag] = {}
        waiting = [root]
        while waiting:
            tag = waiting.pop()
            self.named.setdefault((tag.tag, tag.values.get("id", "")), tag)
            waiting += reversed(tag.inside)
        # points of sources and triangles of geometries, by the identity of their XML elements
        self.read: dict[int, np.ndarray] = {}
        self.found: list[np.ndarray] = []
        self.count = self.visited = 0

    def corners(self, upright: bool) -> np.ndarray:
        """Corners (m, 3, 3) of all triangles."""
        unit, turn = self._units(upright)
        for tag in self._tops():
            if tag.tag == "geometry":
                self._place(tag, np.eye(4))
            else:
                self._walk(tag, np.eye(4), 0)
        if not self.count:
            raise FileError(
                f"{self.path} has no faces; expected a COLLADA file of a surface; export it again, as triangles"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.concatenate(self.found) @ (unit * turn).T
        bad = ~(np.abs(found) <= FARTHEST).all(axis=(1, 2))
        if bad.any():
            at = found[np.argmax(bad)].tolist()
            raise FileError(
                f"{self.path}: a triangle has corners at {at}; expected finite coordinates of at most {FARTHEST:g} m; export "
                "it again"
            )
        return found

    def _units(self, upright: bool) -> tuple[float, np.ndarray]:
        asset = self.root.one("asset") or Tag("asset", {}, self.root.line)
        unit, axis = asset.one("unit"), asset.one("up_axis")
        meter = 1.0 if unit is None else self._numbers(unit, unit.values.get("meter", "1"), 1)[0]
        if meter <= 0.0:
            raise self._error(unit, f"has meter={shown(unit.values['meter'])}", "a number above zero; export it again")
        name = "Y_UP" if axis is None else axis.text.strip()
        if name not in _UPRIGHT:
            raise self._error(axis, f"is {shown(name)}", f"one of {', '.join(_UPRIGHT)}")
        return meter, _UPRIGHT[name] if upright else np.eye(3)

    def _tops(self) -> Iterator[Tag]:
        """Elements to draw: the nodes of the scene, or all geometries if a file has no scene."""
        scene = self.root.one("scene")
        chosen = scene.one("instance_visual_scene") if scene is not None else None
        if chosen is not None:
            yield self._target(chosen, "url", "visual_scene")
            return
        for kind, library in (("visual_scene", "library_visual_scenes"), ("geometry", "library_geometries")):
            found = [tag for one in self.root.all(library) for tag in one.all(kind)]
            if found:
                yield from found
                return

    # -- nodes --------------------------------------------------------------------------------------------------------
    def _walk(self, node: Tag, above: np.ndarray, depth: int) -> None:
        self.visited += 1 + len(node.inside)
        if depth > _DEEPEST or self.visited > _MOST_VISITED:
            raise self._error(
                node, f"{shown(node.values.get('id', ''))} has more than {_DEEPEST} levels of nodes, or with what they refer to "
                f"more than {_MOST_VISITED} elements", "a smaller tree; export it as one mesh",
            )  # fmt: skip
        at = above
        for tag in node.inside:
            if tag.tag in _NOT_READ:
                raise self._error(tag, "is not read", "meshes placed by nodes; export it as triangles")
            if tag.tag in _TRANSFORMS:
                with np.errstate(over="ignore", invalid="ignore"):
                    at = at @ self._transform(tag)
        for tag in node.inside:
            if tag.tag == "node":
                self._walk(tag, at, depth + 1)
            elif tag.tag == "instance_node":
                self._walk(self._target(tag, "url", "node"), at, depth + 1)
            elif tag.tag == "instance_geometry":
                self._place(self._target(tag, "url", "geometry"), at)

    def _transform(self, tag: Tag) -> np.ndarray:
        out = np.eye(4)
        if tag.tag == "matrix":
            out = np.array(self._numbers(tag, tag.text, 16)).reshape(4, 4)
            if out[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
                raise self._error(tag, f"has the last row {out[3].tolist()}", "0 0 0 1; export it again")
        elif tag.tag == "translate":
            out[:3, 3] = self._numbers(tag, tag.text, 3)
        elif tag.tag == "scale":
            out[range(3), range(3)] = self._numbers(tag, tag.text, 3)
        else:
            *axis, degrees = self._numbers(tag, tag.text, 4)
            length = hypot(*axis)
            if degrees and not 0.0 < length <= FARTHEST:
                raise self._error(tag, f"has the axis {axis}", "one with a length")
            if degrees:
                out[:3, :3] = Pose.rotation(np.deg2rad(degrees % 360.0) * np.array(axis) / length).U
        return out

    def _place(self, geometry: Tag, at: np.ndarray) -> None:
        """Add the triangles of a geometry at the place that a node gives."""
        key = id(geometry)
        if key not in self.read:
            self.read[key] = self._triangles(geometry)
        own = self.read[key]
        self.count += len(own)
        refuse_many(self.path, self.count)
        with np.errstate(over="ignore", invalid="ignore"):
            corners = own @ at[:3, :3].T + at[:3, 3]
            mirrored = np.linalg.det(at[:3, :3]) < 0.0
        self.found.append(corners[:, ::-1] if mirrored else corners)

    # -- geometries ---------------------------------------------------------------------------------------------------
    def _triangles(self, geometry: Tag) -> np.ndarray:
        """Corners (m, 3, 3) of a geometry, along its own axes."""
        mesh = geometry.one("mesh")
        if mesh is None:
            kinds = " and ".join(f"<{tag.tag[:40]}>" for tag in geometry.inside[:3]) or "nothing"
            raise self._error(geometry, f"{shown(geometry.values.get('id', ''))} holds {kinds}",
                              "a <mesh>; export it as triangles")  # fmt: skip
        found = [np.zeros((0, 3, 3))]
        for tag in mesh.inside:
            if tag.tag in _NOT_READ:
                raise self._error(tag, "is not read", f"{', '.join(_FACES)}; export it as triangles")
            if tag.tag in _FACES:
                found += self._faces(tag, mesh)
        return np.concatenate(found)

    def _faces(self, tag: Tag, mesh: Tag) -> Iterator[np.ndarray]:
        """Triangles (m, 3, 3) of the faces in an element, for each number of corners."""
        points, offset, stride = self._inputs(tag, mesh)
        lists = [self._whole(p, p.text) for p in tag.all("p")]
        if tag.one("ph") is not None:
            raise self._error(tag.one("ph"), "is a polygon with holes", "<p> alone; export it as triangles")
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *lists])
        if any(len(one) % stride for one in lists):
            raise self._error(tag, f"has {len(rows)} numbers in <p>", f"{stride} for each corner; export it again")
        rows = rows.reshape(-1, stride)[:, offset]
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(points):
            raise self._error(tag, f"has corners from {rows.min()} to {rows.max()}",
                              f"numbers of {len(points)} points, counted from 0; export it again")  # fmt: skip
        if tag.tag == "triangles":
            counts = np.full(len(rows) // 3 + bool(len(rows) % 3), 3)
        elif tag.tag == "polygons":
            counts = np.array([len(one) // stride for one in lists], dtype=np.int64)
        else:
            vcount = tag.one("vcount")
            counts = self._whole(vcount, vcount.text) if vcount is not None else np.zeros(0, dtype=np.int64)
        if len(counts) and not 3 <= counts.min() <= counts.max() <= _MOST_CORNERS:
            raise self._error(tag, f"has faces with {counts.min()} to {counts.max()} corners",
                              f"from 3 to {_MOST_CORNERS}; export it as triangles")  # fmt: skip
        if counts.sum() != len(rows):
            raise self._error(tag, f"has {len(rows)} corners", f"{counts.sum()} for its faces; export it again")
        refuse_many(self.path, self.count + int((counts - 2).sum()))
        first = np.cumsum(counts) - counts
        for n in np.unique(counts):
            yield filled(points[rows[first[counts == n][:, None] + np.arange(n)]])

    def _inputs(self, tag: Tag, mesh: Tag) -> tuple[np.ndarray, int, int]:
        """The points (n, 3) of faces, the place of a point's number among a corner's numbers, and how many these are."""
        inputs = list(tag.all("input"))
        offsets = [int(self._whole(one, one.values.get("offset", "0"), 1)[0]) for one in inputs]
        at = next((k for k, one in enumerate(inputs) if one.values.get("semantic") == "VERTEX"), None)
        if at is None or not 0 <= min(offsets) <= max(offsets) < 100:
            raise self._error(
                tag, f"has {len(inputs)} inputs", "one of semantic VERTEX, and offsets from 0 on; export it again"
            )
        vertices = self._target(inputs[at], "source", "vertices", mesh)
        position = next((one for one in vertices.all("input") if one.values.get("semantic") == "POSITION"), None)
        if position is None:
            raise self._error(vertices, "has no input of semantic POSITION", "one; export it again")
        source = self._target(position, "source", "source", mesh)
        if id(source) not in self.read:
            self.read[id(source)] = self._points(source)
        return self.read[id(source)], offsets[at], max(offsets) + 1

    def _points(self, source: Tag) -> np.ndarray:
        array, common = source.one("float_array"), source.one("technique_common")
        if array is None:
            raise self._error(
                source, f"{shown(source.values.get('id', ''))} has no <float_array>", "one; export it again"
            )
        values = np.array(self._numbers(array, array.text))
        accessor = common.one("accessor") if common is not None else None
        stride = offset = None
        if accessor is not None:
            stride, offset = (int(self._whole(accessor, accessor.values.get(key, default), 1)[0])
                              for key, default in (("stride", "3"), ("offset", "0")))  # fmt: skip
        stride, offset = stride or 3, offset or 0
        if not (np.abs(values) <= FARTHEST).all():
            raise self._error(
                array, f"has {np.abs(values).max():g}", f"coordinates of at most {FARTHEST:g}; export it again"
            )
        if not 3 <= stride <= 100 or not 0 <= offset <= len(values) or (len(values) - offset) % stride:
            raise self._error(array, f"has {len(values)} numbers from {offset} on, {stride} a point",
                              "three or more for each point; export it again")  # fmt: skip
        return values[offset:].reshape(-1, stride)[:, :3]

    # -- words --------------------------------------------------------------------------------------------------------
    def _error(self, tag: Tag, found: str, expected: str) -> FileError:
        return tag_error(self.path, tag, found, expected)

    def _target(self, tag: Tag, key: str, kind: str, mesh: Tag | None = None) -> Tag:
        """The element that an attribute refers to: first in its own mesh, since some programs reuse ids, then in the file."""
        name = tag.values.get(key, "")
        found = None
        if name[:1] == "#" and name[1:]:
            near = (one for one in (mesh.all(kind) if mesh is not None else ()) if one.values.get("id") == name[1:])
            found = next(near, None) or self.named.get((kind, name[1:]))
        if found is None:
            raise self._error(
                tag, f"has {key}={shown(name)}", f"'#' and the id of a <{kind}> of this file; export it as one file"
            )
        return found

    def _words(self, tag: Tag, text: str) -> list[str]:
        words = text.split(None, _MOST_NUMBERS)
        if len(words) > _MOST_NUMBERS:
            raise self._error(
                tag, f"has more than {_MOST_NUMBERS} numbers", "fewer; export it with a coarser tolerance"
            )
        return words

    def _numbers(self, tag: Tag, text: str, count: int | None = None) -> list[float]:
        try:
            found = [float(word) for word in self._words(tag, text)]
        except ValueError:
            found = [np.nan]
        if not all(map(isfinite, found)) or count not in (None, len(found)):
            expected = "finite numbers" if count is None else f"{count} finite number{'s' * (count > 1)}"
            raise self._error(tag, f"has {shown(text.strip()[:80])}", f"{expected}; export it again")
        return found

    def _whole(self, tag: Tag, text: str, count: int | None = None) -> np.ndarray:
        try:
            found = np.array([int(word) for word in self._words(tag, text)], dtype=np.int64)
        except (ValueError, OverflowError):
            found = None
        if found is None or count not in (None, len(found)):
            raise self._error(tag, f"has {shown(text.strip()[:80])}", "whole numbers; export it again")
        return found
