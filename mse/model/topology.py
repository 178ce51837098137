"""From a system of objects to numbered frames, clusters of clamped frames, and rigid units.

A *cluster* is what clamps hold together.  A *unit* is what moves as one while the working point is sought: clusters
joined by position actuators and force sensors, whose two frames coincide there.  Unit 0 holds the ground.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..elements.base import FramePose, MObject
from ..errors import ModelError
from ..pose import IDENTITY, Pose
from .system import MSystem

_MISMATCH = 1e-9  # m per metre of model, and rad: rounding of poses typed in or composed, far below any real offset


@dataclass(frozen=True, eq=False)
class Element:
    """One object of the flattened system: a snapshot, its path, its frames' numbers, its internal coordinates' place.

    ``owner`` is the path of the object it is a component of, or its own.
    """

    obj: MObject
    path: str
    frames: np.ndarray
    coordinates: slice
    owner: str

    @property
    def inner(self) -> bool:
        """Whether it is a component of another object."""
        return self.owner != self.path


@dataclass(frozen=True, eq=False)
class Link:
    """A position actuator or force sensor as a tree edge between clusters, pointing away from the unit's root.

    ``forward`` is True where frame 1 is on the root's side.
    """

    element: int
    parent: int
    child: int
    forward: bool


class _Edge(NamedTuple):
    """A clamp by the numbers of its frames, or where ``fixed`` a further frame of one object."""

    first: int
    second: int
    pose21: Pose
    fixed: bool


class _Inside:
    """What a component sees as its system: only the path of the object it is part of."""

    def __init__(self, path: str):
        self.path = path
        self.system = self


class Topology:
    """Frames, clusters and units of a system, fixed for all its poses.

    Arrays are indexed by frame: ``unit`` and ``cluster`` (n,), and ``offset_o`` (n, 3), ``offset_U`` (n, 3, 3), the pose
    of each frame as seen from the reference frame of its unit.
    """

    def __init__(self, system: MSystem):
        self.label = system.label
        self.gravity = np.array(system.gravity)
        self.frame_labels: list[str] = []
        self.elements: list[Element] = []
        self._number: dict[str, int] = {}
        self._of_object: dict[tuple[int, str], int] = {}  # frames by object and name, while objects are alive
        self.system_ground: list[int] = []  # per element: the ground frame its initial pose refers to
        self._internal = 0
        self._clamp_edges: list[_Edge] = []
        self._inner_frames: set[int] = set()  # held by components of their object
        self._new_frame("ground")
        self._flatten(system, "", 0)
        self._refuse_unconnected()
        self._cluster_frames()
        self._join_units()
        self._name_units()
        self._check_held()

    # -- flattening -------------------------------------------------------------------------------------------
    def _new_frame(self, label: str) -> int:
        self._number[label] = len(self.frame_labels)
        self.frame_labels.append(label)
        return self._number[label]

    def _flatten(self, system: MSystem, prefix: str, ground: int) -> None:
        for obj in system.objects:
            path = prefix + obj.name
            if obj.joined:  # its frames are those of others, which may come later
                continue
            own = [self._new_frame(f"{path}.{name}") for name in obj.frame_names]
            numbers = np.array(own)
            for name, k in zip(obj.frame_names, own, strict=True):
                self._of_object[id(obj), name] = k
            for name, pose in obj.fixed_frames().items():
                k = self._new_frame(f"{path}.{name}")
                self._clamp_edges.append(_Edge(int(numbers[0]), k, pose, True))
            if isinstance(obj, MSystem):
                if obj.at is not None:
                    # The subsystem's ground is an ordinary frame; its initial pose is a body's.
                    self._keep(obj, path, numbers, ground)
                self._flatten(obj, path + ".", int(numbers[0]))
            else:
                self._keep(obj, path, numbers, ground)
                self._take_apart(obj, path, numbers, ground)
        for obj in system.objects:
            if obj.joined:
                numbers = np.array([self._number[prefix + frame] for frame in obj.joined])
                self._keep(obj, prefix + obj.name, numbers, ground)
        for clamp in system.clamps:
            first, second = clamp.first, clamp.second
            a = self._of_object.get((id(first.owner), first.name))
            b = self._of_object.get((id(second.owner), second.name))
            a = self._frame_number(first, system, prefix) if a is None else a
            b = self._frame_number(second, system, prefix) if b is None else b
            self._clamp_edges.append(_Edge(a, b, clamp.pose21, False))

    def _take_apart(self, obj: MObject, path: str, numbers: np.ndarray, ground: int) -> None:
        """Keep the components of an object; they act between its frames and have none of their own."""
        if not obj.defines("components"):
            return
        number = dict(zip(obj.frame_names, numbers, strict=True))
        for part in obj.components():
            part.element.system = _Inside(path)
            frames = np.array([number[name] for name in part.frames])
            self._keep(part.element, f"{path}.{part.element.name}", frames, ground, owner=path)
            self._inner_frames.update(frames.tolist())

    def _keep(self, obj: MObject, path: str, numbers: np.ndarray, ground: int, owner: str | None = None) -> None:
        count = len(obj.coordinate_names)
        coordinates = slice(self._internal, self._internal + count)
        # components are made for this topology alone, so they need no copy
        self.elements.append(Element(obj if owner else obj._snapshot(), path, numbers, coordinates, owner or path))
        self.system_ground.append(ground)
        self._internal += count

    def _frame_number(self, frame, system: MSystem, prefix: str) -> int:
        names = [frame.name]
        owner = frame.owner
        while owner is not system:
            names.append(owner.name)
            owner = owner.system
        if len(names) == 1:  # the system's own ground
            return self._number[prefix + "ground"]
        label = prefix + ".".join(reversed(names))
        if label not in self._number:
            raise ModelError(f"frame {label!r} is clamped but no longer exists; was it renamed after connect()?")
        return self._number[label]

    def _refuse_unconnected(self) -> None:
        touched = {k for e in self._clamp_edges for k in (e.first, e.second) if not e.fixed}
        touched |= self._inner_frames
        fixed_to = {e.first: [] for e in self._clamp_edges}
        for e in self._clamp_edges:
            if e.fixed:
                fixed_to[e.first].append(e.second)
        loose = []
        for el in self.elements:
            for k in el.frames:
                if int(k) not in touched and not any(f in touched for f in fixed_to.get(int(k), ())):
                    loose.append(f"{self.frame_labels[k]} ({type(el.obj).__name__})")
        if loose:
            shown = ", ".join(loose[:10]) + (f" and {len(loose) - 10} more" if len(loose) > 10 else "")
            raise ModelError(
                f"{self.label}: frames connected to nothing: {shown}; expected every frame of every object to be "
                "clamped to something; connect() them or remove their objects (a body that floats wants at least a sensor on it)"
            )

    # -- clusters ---------------------------------------------------------------------------------------------
    def _cluster_frames(self) -> None:
        n = len(self.frame_labels)
        neighbours: list[list[tuple[int, _Edge]]] = [[] for _ in range(n)]
        for e in self._clamp_edges:
            neighbours[e.first].append((e.second, e))
            neighbours[e.second].append((e.first, e))
        origins = [e.pose21.o for e in self._clamp_edges if e.pose21 is not IDENTITY]
        size = max(1.0, float(np.linalg.norm(origins, axis=1).max())) if origins else 1.0
        self.cluster = np.full(n, -1)
        seen: list[Pose | None] = [None] * n  # frame as seen from its cluster's first frame
        reached_by: list[_Edge | None] = [None] * n
        self.cluster_frames: list[list[int]] = []
        for start in range(n):
            if seen[start] is not None:
                continue
            members = [start]
            seen[start] = IDENTITY
            queue = deque(members)
            while queue:
                f = queue.popleft()
                for g, edge in neighbours[f]:
                    if edge is reached_by[f]:
                        continue
                    step = edge.pose21 if edge.first == f else edge.pose21.inverse()
                    there = seen[f] @ step
                    if seen[g] is None:
                        seen[g], reached_by[g] = there, edge
                        members.append(g)
                        queue.append(g)
                    elif not seen[g].is_close(there, _MISMATCH * size, _MISMATCH):
                        self._refuse_loop(f, g, edge, there, seen[g], reached_by)
            self.cluster[members] = len(self.cluster_frames)
            self.cluster_frames.append(members)
        self._in_cluster = seen

    def _label(self, edge: _Edge) -> str:
        if edge.fixed:
            return f"frame {self.frame_labels[edge.second]}"
        return f"clamp {self.frame_labels[edge.first]} - {self.frame_labels[edge.second]}"

    def _refuse_loop(self, f, g, edge, there, known, reached_by) -> None:
        def back(k):
            path = []
            while reached_by[k] is not None:
                path.append(reached_by[k])
                k = reached_by[k].second if reached_by[k].first == k else reached_by[k].first
            return path

        one, two = back(f), back(g)
        shared = {id(e) for e in one} & {id(e) for e in two}
        loop = [self._label(e) for e in one + two if id(e) not in shared] + [self._label(edge)]
        gap = there.seen_from(known)
        raise ModelError(
            f"{self.label}: clamps contradict each other around the loop {', '.join(loop)}: they place "
            f"{self.frame_labels[g]} at two "
            f"poses {np.linalg.norm(gap.o):.6g} m and {np.linalg.norm(gap.rotation_vector()):.6g} rad apart; expected the "
            "same pose along both ways; remove one of the clamps or correct its pose"
        )

    # -- units ------------------------------------------------------------------------------------------------
    def _join_units(self) -> None:
        count = len(self.cluster_frames)
        masters = [frames[0] for frames in self.cluster_frames]
        weights = np.zeros(count)
        self.cluster_names = [self.frame_labels[m] for m in masters]
        for el in self.elements:
            if len(el.frames) != 1:
                continue
            m = el.obj.mass_matrix([FramePose(np.zeros(3), np.eye(3))])
            c = self.cluster[el.frames[0]]
            if (
                m is not None
                and c != 0
                and (m[0, 0] > weights[c] or self.cluster_names[c] == self.frame_labels[masters[c]])
            ):
                weights[c] = m[0, 0]
                masters[c] = int(el.frames[0])
                self.cluster_names[c] = el.path
        self.cluster_names[0] = "ground"
        neighbours: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        for k, el in enumerate(self.elements):
            if el.obj.role == "free":
                continue
            a, b = (int(self.cluster[f]) for f in el.frames[:2])
            if a == b:
                self._refuse_rigid_loop(el)
            neighbours[a].append((b, k))
            neighbours[b].append((a, k))
        self.unit_of_cluster = np.full(count, -1)
        # Poses of the clusters' first frames as seen from the reference frame of their unit.
        placed: list[Pose | None] = [None] * count
        self.unit_reference: list[int] = []  # frame
        self.links: list[Link] = []
        self.unit_root: list[int] = []
        for root in [0, *sorted(range(1, count), key=lambda c: -weights[c])]:
            if placed[root] is not None:
                continue
            unit = len(self.unit_reference)
            self.unit_reference.append(masters[root])
            self.unit_root.append(root)
            placed[root] = self._in_cluster[masters[root]].inverse()
            self.unit_of_cluster[root] = unit
            queue = deque([(root, -1)])
            while queue:
                c, came_by = queue.popleft()
                for d, k in neighbours[c]:
                    if k == came_by:
                        continue
                    if placed[d] is not None:
                        self._refuse_rigid_loop(self.elements[k])
                    f0, f1 = (int(f) for f in self.elements[k].frames[:2])
                    here, there = (f1, f0) if self.cluster[f1] == c else (f0, f1)
                    placed[d] = placed[c] @ self._in_cluster[here] @ self._in_cluster[there].inverse()
                    self.unit_of_cluster[d] = unit
                    self.links.append(Link(k, c, d, here == f1))
                    queue.append((d, k))
        self._number_units()
        poses = [placed[self.cluster[f]] @ self._in_cluster[f] for f in range(len(self.frame_labels))]
        self.unit = self.unit_of_cluster[self.cluster]
        self.offset_o = np.array([p.o for p in poses])
        self.offset_U = np.array([p.U for p in poses])
        del self._in_cluster

    def _number_units(self) -> None:
        """Give the units the order in which their bodies were added; the ground's stays first."""
        order = [0, *sorted(range(1, len(self.unit_reference)), key=lambda u: self.unit_reference[u])]
        new = np.empty(len(order), dtype=int)
        new[order] = np.arange(len(order))
        self.unit_of_cluster = new[self.unit_of_cluster]
        self.unit_reference = [self.unit_reference[u] for u in order]
        self.unit_root = [self.unit_root[u] for u in order]

    def _refuse_rigid_loop(self, el: Element) -> None:
        what = "its force is then not determined" if el.obj.role == "reaction" else "its displacement is then blocked"
        raise ModelError(
            f"{el.obj.label}: its two frames are also held together by another rigid path of clamps, position actuators or "
            f"force sensors, so {what}; expected the only rigid path between them; remove the other one"
        )

    def _name_units(self) -> None:
        self.unit_names = [self.cluster_names[c] for c in self.unit_root]
        self.units = len(self.unit_names)
        names = [f"{name}.{axis}" for name in self.unit_names[1:] for axis in ("x", "y", "z", "ax", "ay", "az")]
        for el in self.elements:
            names += [f"{el.path}.{q}" for q in el.obj.coordinate_names]
        self.coordinate_names = tuple(names)
        owner = {int(self.unit[f]): el.owner for el in self.elements if el.inner for f in el.frames}
        inner = self.inner_units()
        self.coordinate_owners = tuple(
            owner[u] if u in inner else self.unit_names[u] for u in range(1, len(self.unit_names)) for _ in range(6)
        ) + tuple(el.owner for el in self.elements for _ in el.obj.coordinate_names)
        self.size = 6 * (self.units - 1) + self._internal
        self.internal = self._internal
        self._clamp_edges.clear()
        self._of_object.clear()

    def inner_units(self) -> set[int]:
        """Units that are nothing but a node inside one object."""
        frames = np.bincount(self.unit, minlength=self.units)
        return {int(self.unit[f]) for f in self._inner_frames if frames[self.unit[f]] == 1 and self.unit[f]}

    def _check_held(self) -> None:
        """Refuse what falls: units with weight that no chain of elements ties to the ground."""
        import scipy.sparse as sp
        from scipy.sparse.csgraph import connected_components

        pairs = []
        heavy: dict[int, list[str]] = {}
        for el in self.elements:
            units = self.unit[el.frames]
            if el.obj.exerts_forces():
                # a constraint on a single frame holds it in the world
                pairs += [(units[0], u) for u in (units[1:] if len(units) > 1 or not el.obj.holds() else [0])]
            if np.any(self.gravity) and len(units) == 1 and el.obj.exerts_forces():
                frames = [FramePose(np.zeros(3), np.eye(3))]
                g = el.obj._evaluate(frames, np.zeros(len(el.obj.coordinate_names)), self.gravity, 1)[1]
                if np.any(g):
                    heavy.setdefault(int(units[0]), []).append(el.path)
            elif el.inner and np.any(self.gravity) and type(el.obj).gravity_energy is not MObject.gravity_energy:
                names = heavy.setdefault(int(units[0]), [])
                if el.owner not in names:
                    names.append(el.owner)
        i, j = np.array(pairs, dtype=int).reshape(-1, 2).T
        graph = sp.coo_matrix((np.ones(len(i)), (i, j)), shape=(self.units, self.units))
        _, component = connected_components(graph, directed=False)
        falling = [name for u, names in heavy.items() if component[u] != component[0] for name in names]
        falling = list(dict.fromkeys(falling))
        if not falling:
            return
        shown = ", ".join(falling[:8]) + (f" and {len(falling) - 8} more" if len(falling) > 8 else "")
        if not np.any(component[1:] == component[0]) and self.units > 1 and not np.any(self.unit[1:] == 0):
            raise ModelError(
                f"{self.label}: the system has no ground: nothing is connected to it, so {shown} would fall; expected at "
                "least one clamp to system.ground; connect() one, or set gravity=(0, 0, 0)"
            )
        raise ModelError(
            f"{self.label}: the system falls: no spring, wire, bushing, joint or clamp ties {shown} to the ground; expected "
            "every weight to be held; connect what should carry it, or set gravity=(0, 0, 0)"
        )

    def frame_poses(self, origins: np.ndarray, orientations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Origins (n, 3) and orientations (n, 3, 3) of all frames from those of the units' reference frames."""
        u = orientations[self.unit]
        return origins[self.unit] + np.einsum("nij,nj->ni", u, self.offset_o), u @ self.offset_U
