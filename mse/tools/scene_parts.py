"""Points that draw the objects of a system, each fixed to a carrier: a cluster of clamped frames or a section inside a beam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ..elements.base import FramePose, MObject
from ..elements.beam import RoundBeam
from ..elements.beam_base import SlenderBody
from ..elements.beam_segment import BeamSegment
from ..elements.exact_beam import StraightSegment
from ..elements.spring import Spring
from ..elements.wire import Wire
from ..kernels.beam_shapes import POINTS
from ..kernels.rotations import rotation_matrix
from ..model.topology import Element, Topology

EXACT_PIECES = 16  # of a beam exact in frequency: twice the number of half waves to be seen
# sections drawn inside an element, out of its 8: few if a beam has many elements
_FEW, _MORE, _MANY = (2, 5), (1, 3, 4, 6), 6
_SIDES = 12  # of the polygon that draws a round section
_RIGID = 1e-9  # relative to a point's distance from the moved frames: rounding of the motion
_STEP = 1e-6  # displacement (m) and rotation (rad) for slopes of outlines whose points follow several frames


@dataclass(frozen=True, eq=False)
class Part:
    """One object as it is drawn.

    Attributes
    ----------
    path, kind, role : str
        Path of the object, name of its class, and what it is: "body", "beam", "wire", "spring", "joint", "element", "load",
        or "channel" for actuators and sensors, which exert nothing.
    obj : MObject
        The object as it was solved.
    frames : ndarray of int, (f,)
        Numbers of its frames.
    points : ndarray, (n, 3), m
        Points that draw it.
    carriers : ndarray of int, (n,)
        The carrier of each point.
    lines : tuple of tuple of int
        Polylines through the points.
    triangles : ndarray of int, (t, 3)
        Faces of its surface.
    radius : float, m
        Half the thickness of its lines, 0 where it has none of its own.
    along : ndarray, (n,), m
        Distance of each point from the start of a beam; empty for all others.
    """

    path: str
    kind: str
    role: str
    obj: MObject
    frames: np.ndarray
    points: np.ndarray
    carriers: np.ndarray
    lines: tuple[tuple[int, ...], ...] = ()
    triangles: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), dtype=int))
    radius: float = 0.0
    along: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class Section:
    """Sections drawn inside one element of a beam: the number of their first carrier, and which sections they are."""

    element: Element
    first: int
    chosen: np.ndarray


class Drawing:
    """Parts and carriers of a system at poses ``o`` (units, 3), ``U`` (units, 3, 3) of the units.

    ``o`` and ``U`` collect the poses of the carriers, ``sections`` those inside beams; ``slopes`` has carriers of single points,
    the frames that they follow and their slopes (3, 6 F); ``parts`` are in the order of the system's objects.
    """

    def __init__(self, topology: Topology, o: np.ndarray, U: np.ndarray):
        t = self.t = topology
        self.frame_o, self.frame_U = t.frame_poses(o, U)
        self.o, self.U = list(o[t.unit_of_cluster]), list(U[t.unit_of_cluster])
        self.sections: list[Section] = []
        self.slopes: list[tuple[int, np.ndarray, np.ndarray]] = []
        self.inner: dict[str, list[Element]] = {}
        for el in t.elements:
            if el.inner:
                self.inner.setdefault(el.owner, []).append(el)
        self.parts = tuple(self._part(el) for el in t.elements if not el.inner)

    def _poses(self, frames: np.ndarray) -> list[FramePose]:
        return [FramePose(self.frame_o[f], self.frame_U[f]) for f in frames]

    def _part(self, el: Element) -> Part:
        if isinstance(el.obj, SlenderBody):
            return self._beam(el)
        obj, frames = el.obj, self._poses(el.frames)
        about = el.path, type(obj).__name__, _role(el), obj, el.frames
        radius = obj.radius if isinstance(obj, Wire) else 0.0
        if not obj.defines("outline"):
            points = self.frame_o[el.frames]
            lines = (tuple(range(len(points))),) if len(points) > 1 else ()
            return Part(*about, points, self.t.cluster[el.frames], lines, radius=radius)
        outline = obj.outline(frames)
        points = np.asarray(outline.points, dtype=float).reshape(-1, 3)
        triangles = [(face[0], *pair) for face in outline.faces for pair in pairwise(face[1:])]
        lines = tuple(tuple(line) for line in outline.lines)
        return Part(*about, points, self._carriers(el, points), lines,
                    np.array(triangles, dtype=int).reshape(-1, 3), radius)  # fmt: skip

    def _carriers(self, el: Element, points: np.ndarray) -> np.ndarray:
        """The carrier of each point of an outline: that of the frame it moves with, or a new one that follows all frames."""
        frames, cluster = self._poses(el.frames), self.t.cluster[el.frames]
        if len(frames) == 1:
            return np.full(len(points), cluster[0])
        # move every frame differently, and see which frame each point follows
        moves = [_some_motion(k) for k in range(len(frames))]
        there = np.asarray(el.obj.outline([_by(f, m) for f, m in zip(frames, moves, strict=True)]).points, dtype=float)
        out = np.full(len(points), -1)
        if there.shape == points.shape:
            for k, (f, m) in reversed(list(enumerate(zip(frames, moves, strict=True)))):
                with_it = (points - f.o) @ m[1].T + f.o + m[0]
                out[np.abs(with_it - there).max(axis=1) <= _RIGID * (1.0 + np.abs(points - f.o).max(axis=1))] = cluster[
                    k
                ]
        free = np.flatnonzero(out < 0)
        if len(free):
            slopes = _slopes(el.obj, frames, free)
            for i, slope in zip(free, slopes, strict=True):
                out[i] = self._carrier(FramePose(points[i], np.eye(3)))
                self.slopes.append((int(out[i]), el.frames, slope))
        return out

    def _carrier(self, pose: FramePose) -> int:
        self.o.append(pose.o)
        self.U.append(pose.U)
        return len(self.o) - 1

    # -- beams ------------------------------------------------------------------------------------------------
    def _beam(self, el: Element) -> Part:
        """A beam's axis and the surface around it, through its nodes and the sections between them."""
        obj = el.obj
        nodes = dict(zip(obj.frame_names, el.frames, strict=True))
        places = list(obj.nodes().items())
        poses, carriers, along = [], [], []
        for k, (name, s) in enumerate(places):
            f = nodes[name]
            poses.append(FramePose(self.frame_o[f], self.frame_U[f]))
            carriers.append(int(self.t.cluster[f]))
            along.append(s)
            if k < len(places) - 1:
                inside = self._inside(self.inner[el.path][k], len(places) - 1)
                for x, pose in inside:
                    poses.append(pose)
                    carriers.append(self._carrier(pose))
                    along.append(s + x * (places[k + 1][1] - s))
        return _surface(el, poses, np.array(carriers), np.array(along))

    def _inside(self, el: Element, elements: int) -> list[tuple[float, FramePose]]:
        """Position along one of a beam's elements and pose of the sections drawn inside it."""
        frames = self._poses(el.frames)
        if isinstance(el.obj, StraightSegment):
            x = np.arange(1, EXACT_PIECES) / EXACT_PIECES
            way = frames[1].o - frames[0].o
            poses = [FramePose(frames[0].o + share * way, frames[0].U) for share in x]
            self.sections.append(Section(el, len(self.o), np.arange(len(x))))
            return list(zip(x.tolist(), poses, strict=True))
        if not isinstance(el.obj, BeamSegment):
            return []
        chosen = np.array(_FEW if elements >= _MANY else _MORE)
        poses = el.obj.section_poses(frames)
        self.sections.append(Section(el, len(self.o), chosen))
        return [(float(POINTS[i]), poses[i]) for i in chosen]

    # -- rigid bodies -----------------------------------------------------------------------------------------
    def arms(self) -> tuple[np.ndarray, np.ndarray]:
        """Lines from the middle of each cluster to its frames, if these are apart, and the carrier of each."""
        t = self.t
        middle = self.frame_o[t.masters[t.cluster]]
        far = np.abs(self.frame_o - middle).max(axis=1, initial=0.0)
        size = max(np.ptp(self.frame_o, axis=0).max(initial=0.0), 1e-3)
        on = np.flatnonzero((t.cluster > 0) & (far > 1e-3 * size))
        lines = np.stack([middle[on], self.frame_o[on]], axis=1)
        key = np.hstack([np.round(lines.reshape(-1, 6), 9), t.cluster[on][:, None]])
        first = np.unique(key, axis=0, return_index=True)[1]
        return lines[first], t.cluster[on][first]


def _role(el: Element) -> str:
    cls = type(el.obj)
    if isinstance(el.obj, Wire):
        return "wire"
    if isinstance(el.obj, Spring):
        return "spring"
    if el.obj.external:
        return "load"
    if cls.constrains():
        return "joint"
    if len(el.frames) == 1:
        return "body"
    return "element" if cls.exerts_forces() or el.obj.rest_poses() else "channel"


def _surface(el: Element, poses: Sequence[FramePose], carriers: np.ndarray, along: np.ndarray) -> Part:
    """A beam with its sections at these poses: points of its axis first, then a ring of points around each."""
    obj, n = el.obj, len(poses)
    y, z = obj.extent(along)
    unknown = ~(np.isfinite(y) & np.isfinite(z))
    side = 0.5 * np.sqrt(obj.sections(along).area)  # of the square with the same area
    y, z = np.where(unknown, side, y), np.where(unknown, side, z)
    if isinstance(obj, RoundBeam):
        angle = 2 * np.pi * np.arange(_SIDES) / _SIDES
        ring = np.stack([np.cos(angle), np.sin(angle)])
    else:
        ring = np.array([[1.0, -1.0, -1.0, 1.0], [1.0, 1.0, -1.0, -1.0]])
    sides = ring.shape[1]
    o, u = np.array([p.o for p in poses]), np.array([p.U for p in poses])
    local = np.stack([np.zeros((n, sides)), y[:, None] * ring[0], z[:, None] * ring[1]], axis=2)
    around = o[:, None] + np.einsum("nij,nsj->nsi", u, local)
    first = n + sides * np.arange(n)
    j, following = np.arange(sides), (np.arange(sides) + 1) % sides
    a, b = first[:-1, None] + j, first[:-1, None] + following
    c, d = a + sides, b + sides
    mantle = np.stack([np.stack([a, b, c], axis=2), np.stack([b, d, c], axis=2)], axis=2).reshape(-1, 3)
    fan = np.stack([np.zeros(sides - 2, dtype=int), j[2:], j[1:-1]], axis=1)
    lids = np.vstack([first[0] + fan, first[-1] + fan[:, ::-1]])
    return Part(
        el.path, type(obj).__name__, "beam", obj, el.frames, np.vstack([o, around.reshape(-1, 3)]),
        np.concatenate([carriers, np.repeat(carriers, sides)]), (tuple(range(n)),), np.vstack([mantle, lids]),
        float(np.minimum(y, z).mean()), np.concatenate([along, np.repeat(along, sides)]),
    )  # fmt: skip


def _some_motion(k: int) -> tuple[np.ndarray, np.ndarray]:
    """A displacement and rotation of frame k that differ from those of all other frames."""
    x = np.sin(1.0 + 7.0 * k + np.arange(6))
    return 0.1 * x[:3], rotation_matrix(0.3 * x[3:])


def _by(frame: FramePose, motion: tuple[np.ndarray, np.ndarray]) -> FramePose:
    return FramePose(frame.o + motion[0], motion[1] @ frame.U)


def _slopes(obj: MObject, frames: Sequence[FramePose], points: np.ndarray) -> np.ndarray:
    """Change of an outline's points with the coordinates of its frames, (p, 3, 6 F), by central differences."""

    def at(k: int, step: np.ndarray) -> np.ndarray:
        there = list(frames)
        there[k] = _by(frames[k], (step[:3], rotation_matrix(step[3:])))
        return np.asarray(obj.outline(there).points, dtype=float)[points]

    steps = _STEP * np.eye(6)
    return np.stack([(at(k, s) - at(k, -s)) / (2 * _STEP) for k in range(len(frames)) for s in steps], axis=2)
