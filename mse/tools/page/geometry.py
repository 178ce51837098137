"""Points, lines and triangles that the page draws, in groups that can be shown and hidden."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...elements.base import MObject
from ...elements.gear import WHEEL, Gear
from ...elements.joint_base import JointBase
from ...elements.joints import Spherical, Universal
from ...elements.rigid_body import RigidBody
from ..scene import Part, Scene

# sizes of symbols for things without extent, relative to the typical length of the picture
_BODY, _LEAST_BODY, _MARK, _JOINT, _TRIAD, _HEAD, _WHEEL = 0.09, 0.02, 0.009, 0.011, 0.05, 0.03, 0.1
_FLAT = 0.2  # height of the ground's plates relative to their sides
_POINT = 1e-3  # extent below which an object is drawn as a mark
_NARROW = 0.45  # longest head of an arrow relative to its length
_SIDES = 24


class Mesh(NamedTuple):
    """Points (n, 3) m, pairs of points joined by lines, and triples that are faces."""

    points: Any
    segments: Any = ()
    triangles: Any = ()


class Geometry:
    """Collects what the page draws: points with their carriers, and pieces with lines and triangles between them.

    A piece is a dictionary that the viewer reads: ``g`` its group, ``o`` the number of its object or -1, ``c`` its color,
    ``p``, ``s`` and ``t`` the first and the count of its points, segments and triangles, ``r`` half the thickness of its lines
    (m), ``k`` their style, ``m`` half the side (m) of cubes at its points, ``h`` the ratio of their height to their side.
    ``q`` marks a symbol for something without extent, whose size means nothing.
    """

    def __init__(self) -> None:
        self._points: list[np.ndarray] = []
        self._carriers: list[np.ndarray] = []
        self._segments: list[np.ndarray] = []
        self._triangles: list[np.ndarray] = []
        self._count = [0, 0, 0]
        self.pieces: list[dict] = []

    @property
    def points(self) -> np.ndarray:
        """All points (n, 3), m."""
        return np.concatenate(self._points) if self._points else np.zeros((0, 3))

    @property
    def carriers(self) -> np.ndarray:
        """Carriers of all points (n,)."""
        return np.concatenate(self._carriers) if self._carriers else np.zeros(0, dtype=int)

    @property
    def segments(self) -> np.ndarray:
        """Pairs of points (s, 2), counted within their pieces."""
        return np.concatenate(self._segments) if self._segments else np.zeros((0, 2), dtype=int)

    @property
    def triangles(self) -> np.ndarray:
        """Triples of points (t, 3), counted within their pieces."""
        return np.concatenate(self._triangles) if self._triangles else np.zeros((0, 3), dtype=int)

    def put(
        self,
        group: str,
        obj: int,
        color: str,
        mesh: Mesh,
        carriers: np.ndarray | int,
        *,
        radius: float = 0.0,
        style: str = "",
    ) -> dict:
        """Add a piece; ``style`` is "coil" for springs, "dash" for lines of sight, "edge" and "axis" for lines of a surface."""
        points = np.asarray(mesh.points, dtype=float).reshape(-1, 3)
        segments = np.asarray(mesh.segments, dtype=int).reshape(-1, 2)
        triangles = np.asarray(mesh.triangles, dtype=int).reshape(-1, 3)
        sizes = len(points), len(segments), len(triangles)
        piece = {"g": group, "o": obj, "c": color}
        for key, first, count in zip("pst", self._count, sizes, strict=True):
            if count:
                piece[key] = [first, count]
        if radius:
            piece["r"] = float(f"{radius:.4g}")
        if style:
            piece["k"] = style
        self._count = [a + b for a, b in zip(self._count, sizes, strict=True)]
        self._points.append(points)
        self._carriers.append(np.broadcast_to(np.asarray(carriers, dtype=int), (len(points),)))
        self._segments.append(segments)
        self._triangles.append(triangles)
        self.pieces.append(piece)
        return piece

    def put_solid(self, group: str, obj: int, color: str, mesh: Mesh, carrier: int) -> None:
        """Add a symbol with a closed surface on one carrier, and its edges."""
        self.put(group, obj, color, mesh, carrier, style="edge")["q"] = 1

    def put_marks(
        self, group: str, obj: int, color: str, points: np.ndarray, carriers: np.ndarray | int, side: float
    ) -> None:
        """Add cubes of equal size at points."""
        piece = self.put(group, obj, color, Mesh(points), carriers)
        piece |= {"m": float(f"{0.5 * side:.4g}"), "q": 1}


def geometry(scene: Scene) -> Geometry:
    """Everything the page draws of a scene; objects have the numbers of the scene's parts."""
    out, size = Geometry(), scene.typical
    typical_mass = _typical_mass(scene)
    for number, part in enumerate(scene.parts):
        _put_part(out, number, part, size)
        if part.role == "body" and not len(part.triangles):
            body = _body(part, scene.frame_U[part.frames[0]], size, typical_mass)
            out.put_solid("objects", number, "body", body, int(part.carriers[0]))
    _put_arms(out, scene)
    _put_frames(out, scene, size)
    _put_clamps(out, scene, size)
    _put_arrows(out, scene, size)
    return out


def _put_part(out: Geometry, number: int, part: Part, size: float) -> None:
    """One object, except bodies without a shape, axes of joints and arrows of loads."""
    if part.role == "load" or (part.role == "body" and not len(part.triangles)):
        return
    if isinstance(part.obj, JointBase):
        _put_joint(out, number, part, size)
        return
    if isinstance(part.obj, Gear):
        part = _resized(part, _WHEEL * size)
    color = part.role
    group, style = {"channel": ("channels", "dash"), "spring": ("objects", "coil"), "body": ("objects", "edge"),
                    "beam": ("objects", "axis")}.get(part.role, ("objects", ""))  # fmt: skip
    if len(part.points) and np.ptp(part.points, axis=0).max() > _POINT * size and (part.lines or len(part.triangles)):
        lines = [pair for line in part.lines for pair in pairwise(line)]
        mesh = Mesh(part.points, lines, part.triangles)
        out.put(group, number, color, mesh, part.carriers, radius=part.radius, style=style)
    elif len(part.points):
        out.put_marks(group, number, color, part.points[:1], part.carriers[:1], 2 * _MARK * size)


def _put_joint(out: Geometry, number: int, part: Part, size: float) -> None:
    """A joint as a pin along its axis or a ball, and a line if its frames are apart."""
    points, carriers = part.points, part.carriers
    if np.abs(points[1] - points[0]).max() > _POINT * size:
        out.put("objects", number, "joint", Mesh(points[:2], [(0, 1)]), carriers[:2])
    seat, axis = points[1], points[2] - points[3]
    length = np.linalg.norm(axis)
    ball = isinstance(part.obj, Spherical | Universal) or not length
    mesh = _ball(seat, _JOINT * size) if ball else _pin(seat, axis / length, _JOINT * size, 4 * _JOINT * size)
    out.put_solid("objects", number, "joint", mesh, int(carriers[1]))


def _resized(part: Part, radius: float) -> Part:
    """A gear whose largest wheel has this radius (m)."""
    points = part.points.reshape(len(part.frames) // 2, -1, 3)
    middle = points[:, :1]
    return replace(part, points=(middle + radius / WHEEL * (points - middle)).reshape(-1, 3))


def _put_arms(out: Geometry, scene: Scene) -> None:
    """Lines from the middle of every cluster to its frames; the lines of a body belong to it."""
    lines, on = scene.arms
    body_of = {int(p.carriers[0]): k for k, p in reversed(list(enumerate(scene.parts))) if p.role == "body"}
    for carrier in np.unique(on).tolist():
        own = lines[on == carrier]
        pairs = np.arange(2 * len(own)).reshape(-1, 2)
        out.put("objects", body_of.get(carrier, -1), "arm", Mesh(own.reshape(-1, 3), pairs), carrier)


def _put_frames(out: Geometry, scene: Scene, size: float) -> None:
    key = np.round(np.hstack([scene.frame_o / size, scene.frame_U.reshape(-1, 9), scene.frame_carrier[:, None]]), 6)
    chosen = np.unique(key, axis=0, return_index=True)[1]
    o, carriers = scene.frame_o[chosen], scene.frame_carrier[chosen]
    pairs = np.arange(2 * len(o)).reshape(-1, 2)
    for axis, color in enumerate(("x", "y", "z")):
        tips = o + _TRIAD * size * scene.frame_U[chosen][:, :, axis]
        out.put("frames", -1, color, Mesh(np.stack([o, tips], axis=1), pairs), np.repeat(carriers, 2))


def _put_clamps(out: Geometry, scene: Scene, size: float) -> None:
    found = scene.clamps()
    for group, color, side, on_ground in (("ground", "ground", 4.0, True), ("clamps", "clamp", 1.3, False)):
        chosen = [(place, carrier) for carrier, place, _ in found if (carrier == 0) is on_ground]
        if chosen:
            places, carriers = zip(*chosen, strict=True)
            out.put_marks(group, -1, color, np.array(places), np.array(carriers), side * _MARK * size)
            out.pieces[-1]["h"] = _FLAT if on_ground else 1


def _put_arrows(out: Geometry, scene: Scene, size: float) -> None:
    numbers = {p.path: k for k, p in enumerate(scene.parts)}
    for arrow in scene.arrows():
        tail, tip = arrow.points
        length = float(np.linalg.norm(tip - tail))
        if length <= _POINT * size:
            continue
        along = (tip - tail) / length
        head = min(_HEAD * size, _NARROW * length)
        loads = arrow.kind in ("load", "follower")
        group, color = ("loads", "load") if loads else ("channels", "channel")
        if loads:
            shaft = Mesh(arrow.points, [(0, 1)])
            out.put(group, numbers[arrow.path], color, shaft, np.array(arrow.carriers), radius=0.12 * head)
        out.put_solid(group, numbers[arrow.path], color, _cone(tip, along, 0.33 * head, head), arrow.carriers[1])


# -- bodies without a shape ---------------------------------------------------------------------------------------
def _typical_mass(scene: Scene) -> float:
    masses = [m for p in scene.parts if p.role == "body" and (m := _mass(p.obj)) > 0.0]
    return float(np.median(masses)) if masses else 1.0


def _mass(obj: MObject) -> float:
    return obj.mass if isinstance(obj, RigidBody) else 0.0


def _body(part: Part, axes: np.ndarray, size: float, typical: float) -> Mesh:
    """A box with the proportions of the body's inertia, or a ball for a point mass; its size follows its mass, within limits."""
    center, mass = part.points[0], _mass(part.obj)
    reach = np.clip(_BODY * np.cbrt(mass / typical) if mass else _LEAST_BODY, _LEAST_BODY, 2 * _BODY) * size
    inertia = part.obj.inertia if isinstance(part.obj, RigidBody) else np.zeros((3, 3))
    if mass == 0.0 or not np.any(inertia):
        return _ball(center, 0.4 * reach)
    moments, turn = np.linalg.eigh(inertia)
    if np.linalg.det(turn) < 0:
        turn[:, 0] *= -1.0
    sides = np.sqrt(np.maximum(0.5 * moments.sum() - moments, 0.0))
    sides = np.maximum(sides / sides.max(), 0.08)
    return _box(center, axes @ turn, reach * sides)


# -- meshes -------------------------------------------------------------------------------------------------------
def _box(center: np.ndarray, axes: np.ndarray, sides: np.ndarray) -> Mesh:
    corners = 0.5 * sides * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    edges = [(a, b) for a in range(8) for b in range(a) if bin(a ^ b).count("1") == 1]
    return Mesh(center + corners @ axes.T, edges, triangles)


def _ball(center: np.ndarray, radius: float, sides: int = 16) -> Mesh:
    bands = sides // 2
    polar = np.pi * np.arange(1, bands) / bands
    around = 2 * np.pi * np.arange(sides) / sides
    ring = np.stack([np.cos(around), np.sin(around), np.zeros(sides)], axis=1)
    points = [np.sin(p) * ring + [0.0, 0.0, np.cos(p)] for p in polar]
    points = np.vstack([*points, [[0, 0, 1], [0, 0, -1]]])
    top, bottom, triangles = len(points) - 2, len(points) - 1, []
    for j in range(sides):
        k = (j + 1) % sides
        triangles += [(top, j, k), (bottom, (bands - 2) * sides + k, (bands - 2) * sides + j)]
        for b in range(bands - 2):
            i = b * sides
            triangles += [(i + j, i + sides + j, i + k), (i + k, i + sides + j, i + sides + k)]
    middle = (bands // 2 - 1) * sides
    edges = [(middle + j, middle + (j + 1) % sides) for j in range(sides)]
    return Mesh(center + radius * points, edges, triangles)


def _rings(along: np.ndarray, radius: float) -> np.ndarray:
    across = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    across /= np.linalg.norm(across)
    angle = 2 * np.pi * np.arange(_SIDES)[:, None] / _SIDES
    return radius * (np.cos(angle) * across + np.sin(angle) * np.cross(along, across))


def _pin(center: np.ndarray, along: np.ndarray, radius: float, length: float) -> Mesh:
    ring = _rings(along, radius)
    points = center + np.vstack([ring - 0.5 * length * along, ring + 0.5 * length * along])
    j, k = np.arange(_SIDES), (np.arange(_SIDES) + 1) % _SIDES
    fan = np.stack([np.zeros(_SIDES - 2, dtype=int), j[1:-1], j[2:]], axis=1)
    sides = np.vstack([np.stack([j, k, j + _SIDES], axis=1), np.stack([k, k + _SIDES, j + _SIDES], axis=1)])
    edges = [(a + s, b + s) for s in (0, _SIDES) for a, b in zip(j.tolist(), k.tolist(), strict=True)]
    return Mesh(points, edges, np.vstack([sides, fan[:, ::-1], fan + _SIDES]))


def _cone(tip: np.ndarray, along: np.ndarray, radius: float, length: float) -> Mesh:
    points = np.vstack([tip - length * along + _rings(along, radius), tip])
    j, k = np.arange(_SIDES), (np.arange(_SIDES) + 1) % _SIDES
    fan = np.stack([np.zeros(_SIDES - 2, dtype=int), j[2:], j[1:-1]], axis=1)
    sides = np.stack([j, k, np.full(_SIDES, _SIDES)], axis=1)
    edges = [(0, _SIDES), (_SIDES // 4, _SIDES), (_SIDES // 2, _SIDES), (3 * _SIDES // 4, _SIDES)]
    return Mesh(points, edges, np.vstack([sides, fan]))
