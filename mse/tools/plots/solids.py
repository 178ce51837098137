"""Objects of a scene as polygons and lines that hide each other, colored by kind of object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...numerics.triangulations import inside
from ..scene import Part, Scene
from . import style

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

COLORS = {
    "body": style.BLUE, "beam": style.ORANGE, "wire": style.BLACK, "spring": style.BLACK, "joint": style.RED,
    "element": style.SKY, "push": style.PURPLE, "read": style.GREEN, "load": style.PURPLE,
}  # fmt: skip
_LIGHT = np.array([0.35, -0.55, 0.76])  # unit vector towards the light
_DARKEST = 0.55  # factor on the color of faces turned away from it
_EDGES = 0.45  # factor on the color for edges of solids
# factor on the distance from the middle: a solid's edges are drawn outside its faces, which would cover them
_OUTWARD = 1.003
# of the size of the scene: lines and faces are divided into such pieces, which are sorted by their distance
_PIECES = 12
_ROUNDS = 4  # of halving faces
_MOST_FACES = 20_000  # above which faces are not divided further
_TURNS, _WIDTH = 8, 0.02  # of a spring's zigzag, and its width relative to the size of the scene
# half thickness of the arms of bodies without a shape, and radius of their middles: relative to the size of the scene, and
# limits relative to the length of most arms
_ARM, _MIDDLE = (0.0035, 0.04), (0.015, 0.15)
_MOST_BODIES, _MOST_ARMS = 60, 300  # drawn as balls and bars; if there are more, as octahedra and lines


class Polygons(NamedTuple):
    """Polygons (k, 3, 3) in m, with lines among them as triangles without area, and the color (k, 4) of each."""

    corners: np.ndarray
    colors: np.ndarray


def polygons(scene: Scene, *, pale: bool, size: float) -> Polygons:
    """Faces and lines of all objects of a scene; ``pale`` draws only gray lines, for comparison."""
    corners, colors = [np.zeros((0, 3, 3))], [np.zeros((0, 3))]

    def add(pieces: np.ndarray, color: np.ndarray) -> None:
        corners.append(pieces)
        colors.append(np.broadcast_to(color, (len(pieces), 3)))

    _add_bodies(scene, add, pale=pale, size=size)
    for part in scene.parts:
        if part.role in ("channel", "load") or (part.role == "body" and not len(part.triangles)):
            continue
        color = np.array(to_rgb(style.PALE if pale else COLORS[part.role]))
        faces = part.points[part.triangles]
        edges = [part.points[list(line)] for line in part.lines]
        if pale:
            add(_lines(edges, size), 0.85 * color)
            continue
        if len(faces):
            faces = _divided(faces, size / _PIECES)
            add(faces, color * _shade(faces)[:, None])
            edges = _edges(part)
            middle = part.points.mean(axis=0)
            # shorter pieces than those of the faces, so that the faces' farthest corners are farther away
            edges = _lines([middle + _OUTWARD * (line - middle) for line in edges], size, 5 * _PIECES)
            add(edges, color * _EDGES)
        elif part.role == "spring" and len(part.points) == 2:
            add(_lines([_zigzag(*part.points, _WIDTH * size)], size), color)
        else:
            add(_lines(edges, size), color)
    everything = np.concatenate(corners)
    return Polygons(everything, np.column_stack([np.concatenate(colors), np.ones(len(everything))]))


def collection(drawn: Polygons, *, above: float, width: float = 1.1) -> Poly3DCollection:
    """All polygons in one collection: matplotlib sorts by distance from the eye only within one collection."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    look = {"facecolors": drawn.colors, "edgecolors": drawn.colors, "linewidths": width, "joinstyle": "round"}
    # sort by the farthest corner: an edge is never farther than the faces that it bounds, so it is drawn after them
    return Poly3DCollection(drawn.corners, zorder=above, zsort="max", **look)


def to_rgb(color: str) -> tuple[float, float, float]:
    """Red, green and blue of a color like "#0072B2", from 0 to 1."""
    return tuple(int(color[k : k + 2], 16) / 255 for k in (1, 3, 5))


def _shade(faces: np.ndarray) -> np.ndarray:
    """Brightness (k,) of faces lit from above, on either side, since files and elements may list corners in either order."""
    normal = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    normal = np.divide(normal, length, out=np.zeros_like(normal), where=length > 0.0)
    return _DARKEST + (1.0 - _DARKEST) * (0.5 + 0.5 * normal @ _LIGHT)


def _divided(faces: np.ndarray, longest: float) -> np.ndarray:
    """Triangles (k, 3, 3) halved until no side is longer than ``longest``, or until there are many."""
    for _ in range(2 * _ROUNDS):
        sides = np.linalg.norm(faces - np.roll(faces, -1, axis=1), axis=2)  # side from corner j to j + 1
        long = sides.max(axis=1) > longest
        if not long.any() or len(faces) > _MOST_FACES:
            break
        first = sides[long].argmax(axis=1)
        k = np.arange(len(first))
        a, b, c = (faces[long][k, (first + j) % 3] for j in range(3))
        middle = 0.5 * (a + b)
        faces = np.concatenate([faces[~long], np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
    return faces


def _lines(lines: Sequence[np.ndarray], size: float, pieces: int = _PIECES) -> np.ndarray:
    """Polylines (n, 3) as triangles without area (k, 3, 3), in pieces that can be sorted by distance."""
    if not len(lines):
        return np.zeros((0, 3, 3))
    start = np.concatenate([line[:-1] for line in lines]).reshape(-1, 3)
    way = np.concatenate([line[1:] for line in lines]).reshape(-1, 3) - start
    # powers of two: face sides are halved, so each piece of an edge belongs to one piece of a face
    wanted = np.maximum(1.0, np.linalg.norm(way, axis=1) * pieces / size)
    count = 2 ** np.ceil(np.log2(wanted)).astype(int)
    if count.sum() > _MOST_FACES:
        count[:] = 1
    step = np.repeat(way / count[:, None], count, axis=0)
    number = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    begin = np.repeat(start, count, axis=0) + number[:, None] * step
    return np.stack([begin, begin + step, begin + step], axis=1)


def _zigzag(a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    """A spring between two points (2 _TURNS + 2, 3)."""
    way = b - a
    length = np.linalg.norm(way)
    if not length > 0.0:
        return np.array([a, b])
    across = np.cross(way / length, np.eye(3)[np.argmin(np.abs(way))])
    share = np.concatenate([[0.0], np.linspace(0.15, 0.85, 2 * _TURNS), [1.0]])
    side = np.concatenate([[0.0], np.tile([1.0, -1.0], _TURNS), [0.0]])
    across *= min(width, 0.2 * length) / np.linalg.norm(across)
    return a + share[:, None] * way + side[:, None] * across


def bodies(scene: Scene) -> list[Part]:
    """The rigid bodies of a scene, with a shape or without."""
    return [part for part in scene.parts if part.role == "body"]


def _add_bodies(scene: Scene, add: Callable[[np.ndarray, np.ndarray], None], *, pale: bool, size: float) -> None:
    """Bodies without a shape: a ball in the middle, and bars to what is clamped to them."""
    color = np.array(to_rgb(style.PALE if pale else COLORS["body"]))
    arms, carriers = scene.arms
    shaped = [part for part in bodies(scene) if len(part.triangles)]
    seen = np.array([not any(_hidden(part, arm) for part in shaped) for arm in arms], dtype=bool)
    # frames that are clamped together without a body, as on an actuator, are joined by lines
    own = np.isin(carriers, [part.carriers[0] for part in bodies(scene)])
    add(_lines(list(arms[seen & ~own]), size), np.array(to_rgb(style.PALE if pale else style.GRAY)))
    arms = arms[seen & own]
    plain = [part for part in bodies(scene) if not len(part.triangles)]
    if pale:
        add(_lines(list(arms), size), 0.85 * color)
        return
    reach = float(np.median(np.linalg.norm(arms[:, 1] - arms[:, 0], axis=1))) if len(arms) else size
    half, radius = (min(share * size, most * reach) for share, most in (_ARM, _MIDDLE))
    few = len(arms) <= _MOST_ARMS
    if not few:
        add(_lines(list(arms), size), color)
    shapes = [_bar(*arm, half) for arm in arms] if few else []
    ball = _ball(radius) if len(plain) <= _MOST_BODIES else radius * _OCTAHEDRON
    shapes += [part.points[0] + ball for part in plain]
    if shapes:
        faces = np.concatenate(shapes)
        add(faces, color * _shade(faces)[:, None])


def _edges(part: Part) -> list[np.ndarray]:
    """Lines (n, 3) that draw a solid: the edges of a body, and visible lines from its middle, point 0, to its frames.

    The line of a beam is its axis, which is inside.
    """
    if part.role != "body":
        return []
    lines = ((line[0], part.points[list(line)]) for line in part.lines)
    return [points for first, points in lines if first or not _hidden(part, points)]


def _hidden(part: Part, line: np.ndarray) -> bool:
    """Whether the middle of a straight line (2, 3) is inside the shape of a body."""
    middle = 0.5 * (line[:1] + line[-1:])
    low, high = part.points.min(axis=0), part.points.max(axis=0)
    within = ((middle >= low) & (middle <= high)).all()
    return bool(within and inside(part.points, part.triangles, middle)[0])


_OCTAHEDRON = np.array([
    [(x, 0, 0), (0, y, 0), (0, 0, z)] if x * y * z > 0 else [(0, y, 0), (x, 0, 0), (0, 0, z)]
    for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)
])  # fmt: skip


def _ball(radius: float) -> np.ndarray:
    """A ball of triangles (128, 3, 3): an octahedron whose sides are halved twice, projected onto the sphere."""
    faces = _OCTAHEDRON
    for _ in range(2):
        a, b, c = np.moveaxis(faces, 1, 0)
        ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
        faces = np.concatenate([np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
    return radius * faces / np.linalg.norm(faces, axis=2, keepdims=True)


def _bar(a: np.ndarray, b: np.ndarray, half: float) -> np.ndarray:
    """A square bar between two points, its four sides as triangles, in pieces (k, 3, 3)."""
    way = b - a
    length = np.linalg.norm(way)
    if not length > 0.0:
        return np.zeros((0, 3, 3))
    x = np.cross(way / length, np.eye(3)[np.argmin(np.abs(way))])
    x *= half / np.linalg.norm(x)
    y = np.cross(way / length, x)
    ring = np.array([x + y, x - y, -x - y, y - x])
    place = a + np.linspace(0.0, 1.0, 7)[:, None, None] * way + ring
    p, q = place[:-1], place[1:]
    p1, q1 = np.roll(p, -1, axis=1), np.roll(q, -1, axis=1)
    return np.concatenate([np.stack([p, p1, q], axis=2), np.stack([p1, q1, q], axis=2)]).reshape(-1, 3, 3)
