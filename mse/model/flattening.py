"""From a system of objects to elements between numbered frames, and edges that join frames rigidly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..elements.base import MObject
from ..elements.ports import Port
from ..errors import ModelError
from ..pose import IDENTITY, UNTURNED, Pose
from .junctions import Junction, joined
from .system import Clamp, Snapshot

_NONE = np.zeros(0, dtype=np.int64)


@dataclass(slots=True, eq=False)
class Element:
    """One object of the flattened system: snapshot, path, numbers of its frames, place of its internal coordinates.

    ``owner`` is its own path, or for a component the path of the object it is part of.
    """

    obj: MObject
    path: str
    frames: np.ndarray
    coordinates: slice | np.ndarray  # of a junction, the numbers of the coordinates that it joins
    owner: str

    @property
    def size(self) -> int:
        """Number of its coordinates: six for each frame, and internal ones."""
        return 6 * len(self.frames) + len(self.internal)

    @property
    def internal(self) -> np.ndarray:
        """Numbers (c,) of its internal coordinates."""
        at = self.coordinates
        return np.arange(at.start, at.stop) if isinstance(at, slice) else at

    @property
    def inner(self) -> bool:
        """Whether it is a component of another object."""
        return self.owner != self.path


class Edges(NamedTuple):
    """Rigid connections ``U2 = U1 U21, o2 = o1 + U1 o21``: clamps, and if ``fixed`` frames fixed within an object.

    Arrays over the edges: frame numbers ``first`` and ``second``, pose ``o`` (e, 3) and ``U`` (e, 3, 3), ``fixed``.
    """

    first: np.ndarray
    second: np.ndarray
    o: np.ndarray
    U: np.ndarray
    fixed: np.ndarray


@dataclass(eq=False)
class Kind:
    """Elements of one class with equal numbers of frames, internal coordinates and constraints (``constraint_count``).

    ``members`` are their numbers; ``frames`` (E, F) and ``internal`` (E, c) number their frames and internal coordinates.
    """

    cls: type[MObject]
    count: int
    coordinates: int
    constraint_count: int
    members: list[int]
    first: list[int]  # first frame of each element whose frames are consecutive
    frames: np.ndarray = field(init=False)
    internal: np.ndarray = field(init=False)

    @property
    def own_coordinates(self) -> int:
        """Number of internal coordinates that belong to each element; junctions, which are linear, only join others'."""
        return 0 if self.cls is Junction else self.coordinates


class _Say(NamedTuple):
    """Which members of the contract a class overrides; the others are skipped."""

    fixed_frames: bool
    components: bool
    joined: bool
    holds: bool


class _Inside:
    """Stands for the system of a component; it only knows the path of the object that the component is part of."""

    def __init__(self, path: str):
        self.path = path
        self.system = self


class Flattened:
    """Elements, numbered frames and rigid edges of a system at any depth, in the order of addition.

    ``ground_of`` gives each element's ground frame, to which its initial pose refers; ``inner`` lists the frames inside objects
    that components hold.
    """

    def __init__(self, source: Snapshot):
        self.elements: list[Element] = []
        self.ground_of: list[int] = []
        # objects with frames, and the names of the frames
        self.paths: list[str] = []
        self.names: list[tuple[str, ...]] = []
        self.frames = 1
        self.internal = 0
        self.inner: set[int] = set()
        self._first: list[int] = []
        self._second: list[int] = []
        self._poses: list[Pose] = []
        self._fixed: list[tuple[int, int]] = []  # ranges of edges
        # by object (kept alive meanwhile): its first frame, and the places of its contents by name
        self._start = {id(source.original): 0}
        self._offset = {id(source.original): {"ground": 0}}
        self._offsets: dict[tuple[str, ...], dict[str, int]] = {}
        self._about: dict[type, _Say] = {}
        self._kinds: dict[tuple[type[MObject], int, int, int], Kind] = {}
        self._span = slice(0, 0)  # of internal coordinates; elements without any share one
        self._others: dict[int, list[int]] = {}  # frames of elements whose frames are not consecutive
        self._path_of: dict[int, str] = {id(source.original): ""}
        self._connections: list[tuple[Port, ...]] = []
        self._flatten(source, "", 0)
        self.junctions = joined(self.elements, self._connections, self._path_of)
        self._keep_junctions()
        self.kinds = list(self._kinds.values())
        self._number_frames()
        self.edges = self._edges()

    def _say(self, cls: type[MObject]) -> _Say:
        found = _Say(cls.defines("fixed_frames"), cls.defines("components"), cls.defines("joined"), cls.constrains())
        self._about[cls] = found
        return found

    def _flatten(self, source: Snapshot, prefix: str, ground: int) -> None:
        joined = []
        for obj, original in zip(source.objects, source.originals, strict=True):
            nested = isinstance(obj, Snapshot)
            own = obj.system if nested else obj
            cls = type(own)
            say = self._about.get(cls) or self._say(cls)
            path = self._path_of[id(original)] = prefix + own._name
            if say.joined and own.joined:  # its frames belong to other objects, which may come later
                joined.append((own, path))
                continue
            names = own.frame_names
            count, start = len(names), self.frames
            if say.fixed_frames and (fixed := own.fixed_frames()):
                names = (*names, *fixed)
                self._fixed.append((len(self._first), len(self._first) + len(fixed)))
                self._first += [start] * len(fixed)
                self._second += range(start + count, start + len(names))
                self._poses += fixed.values()
            self.frames += len(names)
            self.paths.append(path)
            self.names.append(names)
            offsets = self._offsets.get(names)
            if offsets is None:
                offsets = self._offsets[names] = {name: k for k, name in enumerate(names)}
            self._start[id(original)] = start
            self._offset[id(original)] = offsets
            if nested:
                if own.at is not None:
                    # the subsystem's ground is an ordinary frame with an initial pose like a body's
                    self._keep(own, say, path, start, count, ground, path)
                self._flatten(obj, path + ".", start)
                continue
            self._keep(own, say, path, start, count, ground, path)
            if say.components:
                self._take_apart(own, path, start, ground)
        for own, path in joined:
            frames = [source.original.frame(label) for label in own.joined]
            self._others[len(self.elements)] = [self._number(f.owner, f.name) for f in frames]
            self._keep(own, self._about[type(own)], path, 0, len(frames), ground, path)
        self._clamp(source.clamps)
        self._connections += source.connections

    def _keep_junctions(self) -> None:
        for met in self.junctions.all:
            if met.row is not None:
                key = Junction, 0, len(met.signs), 1
                kind = self._kinds.setdefault(key, Kind(*key, [], []))
                kind.members.append(len(self.elements))
                kind.first.append(0)
                path = met.ports[0]
                self.elements.append(Element(met.row, path, _NONE, met.coordinates, path))
                self.ground_of.append(0)

    def _keep(self, obj: MObject, say: _Say, path: str, first: int, frames: int, ground: int, owner: str) -> None:
        count, number = len(obj.coordinate_names), len(self.elements)
        key = type(obj), frames, count, obj.constraint_count if say.holds else 0
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = Kind(*key, [], [])
        kind.members.append(number)
        kind.first.append(first)
        if count or self._span.stop > self._span.start:
            self._span = slice(self.internal, self.internal + count)
            self.internal += count
        self.elements.append(Element(obj, path, _NONE, self._span, owner))
        self.ground_of.append(ground)

    def _take_apart(self, obj: MObject, path: str, start: int, ground: int) -> None:
        """Add the components of an object; they act between its frames and have none of their own."""
        number = {name: start + k for k, name in enumerate(obj.frame_names)}
        for part in obj.components():
            part.element.system = _Inside(path)
            frames = [number[name] for name in part.frames]
            cls = type(part.element)
            say = self._about.get(cls) or self._say(cls)
            self._others[len(self.elements)] = frames
            self._keep(part.element, say, f"{path}.{part.element.name}", 0, len(frames), ground, path)
            self.inner.update(frames)

    def _number_frames(self) -> None:
        """Fill in the frame numbers of all elements, as rows of their kind's array."""
        for kind in self.kinds:
            kind.frames = np.array(kind.first, dtype=np.int64)[:, None] + np.arange(kind.count)
            if self._others:
                for k, number in enumerate(kind.members):
                    if number in self._others:
                        kind.frames[k] = self._others[number]
            kind.internal = np.zeros((len(kind.members), kind.coordinates), dtype=np.int64)
            if kind.cls is Junction:
                kind.internal[:] = [self.elements[k].coordinates for k in kind.members]
            elif kind.coordinates:
                starts = np.array([self.elements[k].coordinates.start for k in kind.members])
                kind.internal[:] = starts[:, None] + np.arange(kind.coordinates)
            for number, row in zip(kind.members, kind.frames, strict=True):
                self.elements[number].frames = row

    def _clamp(self, clamps: list[Clamp]) -> None:
        start, offset = self._start, self._offset
        try:
            for first, second, pose21 in clamps:
                number = id(first.owner)
                self._first.append(start[number] + offset[number][first.name])
                number = id(second.owner)
                self._second.append(start[number] + offset[number][second.name])
                self._poses.append(pose21)
        except KeyError:
            for frame in (first, second):
                self._number(frame.owner, frame.name)

    def _number(self, owner: MObject, name: str) -> int:
        if name not in self._offset.get(id(owner), ()):
            raise ModelError(
                f"frame {f'{owner.path}.{name}'!r} is clamped but no longer exists; was it renamed after clamp()?"
            )
        return self._start[id(owner)] + self._offset[id(owner)][name]

    def _edges(self) -> Edges:
        count = len(self._first)
        o, u = np.zeros((count, 3)), np.empty((count, 3, 3))
        u[:] = UNTURNED
        poses = self._poses
        moved = [k for k, pose in enumerate(poses) if pose is not IDENTITY]
        turned = [k for k in moved if poses[k].U is not UNTURNED]
        if moved:
            o[moved] = np.concatenate([poses[k].o for k in moved]).reshape(-1, 3)
        if turned:
            u[turned] = np.concatenate([poses[k].U for k in turned]).reshape(-1, 3, 3)
        fixed = np.zeros(count, dtype=bool)
        for start, stop in self._fixed:
            fixed[start:stop] = True
        return Edges(np.array(self._first, dtype=np.int64), np.array(self._second, dtype=np.int64), o, u, fixed)
