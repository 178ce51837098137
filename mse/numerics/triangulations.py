"""Surfaces of triangles: the body that they enclose, their sharp edges, and triangles that fill a polygon.

A surface has vertices (n, 3) and triangles (m, 3), rows of vertex numbers counterclockwise as seen from outside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# between the normals of two neighbors: facets of a round surface meet at smaller angles, corners of a part at larger ones
_SHARP = np.cos(np.radians(30.0))


class Enclosed(NamedTuple):
    """Volume (m3), centroid (3,) and second moment ``integral of x x^T`` (3, 3) about the centroid (m5)."""

    volume: float
    center: np.ndarray
    second: np.ndarray


def merged(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles from corners (m, 3, 3): equal points become one vertex, triangles without area are left out."""
    vertices, number = np.unique(corners.reshape(-1, 3) + 0.0, axis=0, return_inverse=True)  # -0.0 is 0.0
    triangles = number.reshape(-1, 3)
    a, b, c = triangles.T
    return vertices, triangles[(a != b) & (b != c) & (c != a)]


def open_edges(triangles: np.ndarray) -> int:
    """Number of edges where a surface is open: triangles follow it more often in one direction than in the other."""
    if not len(triangles):
        return 0
    ends = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    sign = np.where(ends[:, 0] < ends[:, 1], 1, -1)
    _, of = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
    return int(np.count_nonzero(np.bincount(of.ravel(), weights=sign)))


def enclosed(vertices: np.ndarray, triangles: np.ndarray) -> Enclosed:
    """The volume in a closed surface and its moments, exactly, by the tetrahedra from one point to all triangles.

    If the triangles are clockwise, the volume is negative; centroid and second moment do not change.
    """
    middle = vertices.mean(axis=0)  # a point near the body, so that little cancels
    a, b, c = np.moveaxis((vertices - middle)[triangles], 1, 0)
    six = np.einsum("ij,ij->i", a, np.cross(b, c))
    total = a + b + c
    volume = six.sum() / 6.0
    if volume == 0.0:
        return Enclosed(0.0, middle, np.zeros((3, 3)))
    center = six @ total / (24.0 * volume)
    squares = sum((six[:, None] * x).T @ x for x in (a, b, c, total)) / 120.0
    second = np.sign(volume) * (squares - volume * np.outer(center, center))
    return Enclosed(float(volume), middle + center, second)


def sharp_edges(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Edges (e, 2) at which two triangles meet at more than 30 degrees, or which belong to one or more than two triangles."""
    if not len(triangles):
        return np.zeros((0, 2), dtype=np.int64)
    a, b, c = np.moveaxis(vertices[triangles], 1, 0)
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    normal = np.divide(normal, length, out=np.zeros_like(normal), where=length > 0.0)
    ends = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    edges, of, count = np.unique(ends, axis=0, return_inverse=True, return_counts=True)
    of = of.ravel()
    order = np.argsort(of, kind="stable")
    owner = np.tile(np.arange(len(triangles)), 3)[order]
    start = np.cumsum(count) - count
    two = count == 2
    sharp = ~two
    cosine = np.einsum("ij,ij->i", normal[owner[start[two]]], normal[owner[start[two] + 1]])
    sharp[two] = cosine < _SHARP
    return edges[sharp]


def inside(vertices: np.ndarray, triangles: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Which points (k, 3) a surface encloses, by its solid angle as seen from them; an open surface must enclose them mostly.

    Solid angle of a triangle: A. Van Oosterom, J. Strackee, "The solid angle of a plane triangle" (1983).
    """
    out = np.zeros(len(points), dtype=bool)
    for k, point in enumerate(points):
        a, b, c = np.moveaxis((vertices - point)[triangles], 1, 0)
        la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
        dots = [np.einsum("ij,ij->i", x, y) for x, y in ((a, b), (b, c), (c, a))]
        below = la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb
        out[k] = abs(np.arctan2(np.einsum("ij,ij->i", a, np.cross(b, c)), below).sum()) > np.pi
    return out


# -- polygons -----------------------------------------------------------------------------------------------------
def polygon_area(corners: np.ndarray) -> float:
    """Area of a polygon (n, 2), positive if its corners are counterclockwise."""
    (x, y), (x1, y1) = corners.T, np.roll(corners, -1, axis=0).T
    return 0.5 * float(x @ y1 - x1 @ y)


def crossing_sides(corners: np.ndarray) -> tuple[int, int] | None:
    """The first two sides of a polygon (n, 2) that touch or cross without being neighbors, or None; side k starts at corner k."""
    count = len(corners)
    p, q = corners, np.roll(corners, -1, axis=0)

    def side(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        u, v = b - a, c - a
        return np.sign(u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0])

    for k in range(count - 2):
        others = np.arange(k + 2, count if k else count - 1)
        a, b, c, d = p[k], q[k], p[others], q[others]
        apart = (np.maximum(a, b) < np.minimum(c, d)) | (np.minimum(a, b) > np.maximum(c, d))
        meet = (side(a, b, c) * side(a, b, d) <= 0) & (side(c, d, a) * side(c, d, b) <= 0) & ~apart.any(axis=1)
        if meet.any():
            return k, int(others[np.argmax(meet)])
    return None


def ears(corners: np.ndarray) -> np.ndarray:
    """Triangles (n - 2, 3) that fill a polygon (n, 2) whose corners are counterclockwise and whose sides do not cross.

    An ear, a corner whose triangle holds no other corner, is cut off again and again; every polygon has two of them
    (G. H. Meisters, "Polygons have ears", 1975).
    """
    left, out = list(range(len(corners))), []
    while len(left) > 3:
        p = corners[left]
        before, after = np.roll(p, 1, axis=0), np.roll(p, -1, axis=0)
        turn = _cross(p - before, after - p)
        # the roundest ear first: cutting in any order makes slivers
        longest = np.maximum.reduce([np.sum(s**2, axis=1) for s in (p - before, after - p, after - before)])
        best = np.argsort(-turn / longest)
        k = next((k for k in best if turn[k] >= 0.0 and not _holds_another(p, k)), best[0])
        out.append((left[k - 1], left[k], left[(k + 1) % len(left)]))
        del left[k]
    return np.array([*out, left], dtype=np.int64)


def filled(faces: np.ndarray) -> np.ndarray:
    """Triangles (m * (n - 2), 3, 3) that fill faces (m, n, 3) of n corners each, in their planes and their directions."""
    n = faces.shape[1]
    k = np.arange(1, n - 1)
    out = np.stack([np.broadcast_to(faces[:, :1], (len(faces), n - 2, 3)), faces[:, k], faces[:, k + 1]], axis=2)
    if n > 3:
        after = np.roll(faces, -1, axis=1)
        normals = np.cross(faces - faces[:, :1], after - faces[:, :1]).sum(axis=1)
        # projected along the axis that is nearest to each normal
        axis = np.argmax(np.abs(normals), axis=1)[:, None, None]
        upwards = np.take_along_axis(normals, axis[:, 0], axis=1)[:, :, None] > 0.0
        seen = (
            np.concatenate([np.where(upwards, axis + 1, axis + 2), np.where(upwards, axis + 2, axis + 1)], axis=2) % 3
        )
        flat = np.take_along_axis(faces, seen, axis=2)
        sides = np.roll(flat, -1, axis=1) - flat
        hollow = (_cross(sides, np.roll(sides, -1, axis=1)) < 0.0).any(axis=1) & normals.any(axis=1)
        for one in np.flatnonzero(hollow):
            out[one] = faces[one][ears(flat[one])]
    return out.reshape(-1, 3, 3)


def _cross(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]


def _holds_another(p: np.ndarray, k: int) -> bool:
    """Whether the triangle at corner k of a polygon holds another corner, inside or on its sides."""
    a, b, c = p[k - 1], p[k], p[(k + 1) % len(p)]
    others = np.delete(p, [(k - 1) % len(p), k, (k + 1) % len(p)], axis=0)
    inside = (_cross(b - a, others - a) >= 0) & (_cross(c - b, others - b) >= 0) & (_cross(a - c, others - c) >= 0)
    return bool(inside.any())
