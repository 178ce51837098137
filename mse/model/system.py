"""MSystem: objects, the clamps between their frames, and gravity; itself an object, so systems nest."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np

from ..display import Table, amounts
from ..elements.base import Frame, MObject, Outline, Place
from ..elements.parameters import Array
from ..elements.ports import Port
from ..errors import ModelError, UnknownNameError, nearest_name
from ..pose import IDENTITY, Pose
from ..results import draw
from ..validation.arguments import new_name, refusal, shown
from .connections import Connected
from .searches import Searches

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .assembly import Assembly
    from .topology import Topology

AnyObject = TypeVar("AnyObject", bound=MObject)
_CONTENTS = {"_objects", "_clamps", "_connections", "_prepared"}  # attributes of systems that are compared one by one
Clampable = Frame | Place | str | MObject  # what clamp() and between= accept


class Clamp(NamedTuple):
    """Rigid connection ``U2 = U1 U21, o2 = o1 + U1 o21`` of two frames (manual eq. 30, 31).

    Attributes
    ----------
    first, second : Frame
        The two frames.
    pose21 : Pose
        The second as seen from the first.
    """

    first: Frame
    second: Frame
    pose21: Pose

    @property
    def label(self) -> str:
        """Both frames, for messages."""
        return f"clamp {self.first.label} - {self.second.label}"


class MSystem(Connected, Searches, MObject):
    """A set of objects and clamps; ``ground`` is its inertial frame, or, inside another system, one more frame to clamp.

    Only the outermost system's gravity acts.

    Examples
    --------
    >>> stage = mse.MSystem("stage")
    >>> mass = stage.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
    >>> spring = stage.add(mse.Spring("spring", length=0.5, stiffness=1e3), between=(stage.ground, mass))
    >>> chain = mse.MSystem("chain", gravity=(0, 0, -9.81))
    >>> upper = chain.add(stage.copy("upper"), between=(chain.ground,))
    >>> lower = chain.add(stage.copy("lower"), between=("upper.mass.center",))
    >>> {name: round(pull, 6) for name, pull in chain.find_working_point().tensions.items()}
    {'upper.spring': 19.62, 'lower.spring': 9.81}
    """

    gravity: Array = Array("uniform field", shape=(3,), unit="m/s2", default=(0.0, 0.0, -9.8))

    frame_names = ("ground",)

    if not TYPE_CHECKING:  # checkers read its arguments off the parameters

        def __init__(self, name: str, *, at: Pose | None = None, **parameters: Any):
            super().__init__(name, at=at, **parameters)
            self._objects: dict[str, MObject] = {}
            self._clamps: list[Clamp] = []
            self._connections: list[tuple[Port, ...]] = []
            self._prepared: tuple[Topology, Assembly] | None = None  # of the last search

    # -- building ---------------------------------------------------------------------------------------------
    def add(self, obj: AnyObject, *, between: Sequence[Clampable] = ()) -> AnyObject:
        """Add an object and return it, its frames clamped to others where ``between`` names them.

        Parameters
        ----------
        obj : MObject
            An object of no system yet; ``obj.copy("name")`` makes another of one that has a system.
        between : sequence of frames, optional
            Frames to which its own frames 0, 1 ... are clamped, as :meth:`clamp` takes them: as many as it has, for a beam
            two.  Places seen from a frame are written ``frame @ pose``.

        Returns
        -------
        MObject
            The same object.

        Raises
        ------
        ModelError
            It has a system, its name is taken, or ``between`` has another number of frames; nothing is added then.

        Examples
        --------
        >>> system = mse.MSystem("pendulum")
        >>> mass = system.add(mse.RigidBody("mass", mass=1.0, at=mse.Pose.dz(-1.0)))
        >>> spring = system.add(mse.Spring("spring", length=1.0, stiffness=1e4), between=(system.ground, mass))
        >>> f"{system.find_working_point().tensions['spring']:.6f} N"
        '9.800000 N'
        >>> up = mse.Pose.ry(-np.pi / 2)  # a beam lies along its x
        >>> blade = mse.Beam("blade", length=0.05, width=0.02, height=5e-4)
        >>> table = system.add(mse.RigidBody("table", mass=1.0))
        >>> blade = system.add(blade, between=(system.ground @ mse.Pose.dx(0.1) @ up, table @ up))
        """
        if not isinstance(obj, MObject):
            raise ModelError(f"{self.label}: add() got {shown(obj)}; expected an mse object such as mse.Spring('name')")
        if obj.name in self._objects:
            kind = type(self._objects[obj.name]).__name__
            raise ModelError(f"{self.label}: it already has a {kind} named {obj.name!r}; choose another name")
        if obj.system is not None:
            raise ModelError(
                f"{obj.label} is already part of {obj.system.label}; add {obj.name!r}.copy('new name') instead"
            )
        if obj is self or (isinstance(obj, MSystem) and self._is_inside(obj)):
            raise ModelError(f"{self.label}: a system cannot contain itself")
        others = [] if between == () else [self._own_place(place) for place in self._frames_between(obj, between)]
        obj.system = self
        self._objects[obj.name] = obj
        self._clamps += [Clamp(frame, obj.frame(k), pose) for k, (frame, pose) in enumerate(others)]
        return obj

    def _frames_between(self, obj: MObject, between: Any) -> list:
        """The frames given in ``between``, one for each end frame of the added object, or none at all."""
        count = len(obj.end_frames)
        expected = f"one for each of its {count} ({', '.join(obj.end_frames)})" if count else "none, as it has none"
        if isinstance(between, Clampable | Mapping) or not isinstance(between, Iterable):
            remedy = "write a tuple of frames, such as (system.ground, mass)"
            raise refusal(obj.label, "between", between, f"frames, {expected}", remedy=remedy)
        given = list(between)
        if given and len(given) != count:
            raise ModelError(
                f"{obj.label}: between has {len(given)} frames; expected {expected}; clamp() takes single frames"
            )
        return given

    def clamp(self, first: Clampable, second: Clampable, pose21: Pose = IDENTITY) -> None:
        """Join two frames rigidly, ``U2 = U1 U21, o2 = o1 + U1 o21`` (manual eq. 30, 31).

        Parameters
        ----------
        first, second : Frame, Place, str or MObject
            Frames as objects, ``wire.frame(0)``, or by name, ``"wire.0"``; an object that has one frame stands for that.
            ``frame @ pose`` is the place at a pose as seen from a frame.
        pose21 : Pose, optional
            The second as seen from the first; the same pose if left out.

        Raises
        ------
        ModelError
            An argument is no frame of this system, or both are the same one.

        Examples
        --------
        >>> system = mse.MSystem("arm")
        >>> arm = system.add(mse.RigidBody("arm", mass=1.0, inertia=0.1))
        >>> tip = system.add(mse.PositionSensor("tip"))
        >>> system.clamp(arm.frame(0), tip.frame(0), mse.Pose.dx(0.5))
        >>> system.clamp(system.ground, "tip.1")
        >>> [clamp.label for clamp in system.clamps]
        ['clamp arm.center - tip.0', 'clamp arm.ground - tip.1']
        """
        a, pose1 = self._own_place(first)
        b, pose2 = self._own_place(second)
        if a.owner is b.owner and a.name == b.name:
            raise ModelError(f"{self.label}: clamp() got {a.label!r} twice; expected two different frames")
        if not isinstance(pose21, Pose):
            raise ModelError(f"{self.label}: clamp({a.label}, {b.label}) got pose {shown(pose21)}; expected a Pose")
        self._clamps.append(Clamp(a, b, pose1 @ pose21 @ pose2.inverse()))

    def _own_place(self, place: Clampable) -> tuple[Frame, Pose]:
        if isinstance(place, Place):
            return self._own_frame(place.frame), place.pose
        return self._own_frame(place), IDENTITY

    def _own_frame(self, frame: Frame | str | MObject) -> Frame:
        if not isinstance(frame, Frame):
            if isinstance(frame, str):
                return self.frame(frame)
            if not isinstance(frame, MObject) or len(frame.frame_names) != 1:
                got = f"{frame.label} itself" if isinstance(frame, MObject) else shown(frame)
                raise ModelError(f"{self.label}: clamp() got {got}; expected a frame, e.g. wire.frame(0)")
            frame = frame.frame(0)
        owner: MObject | None = frame.owner
        while owner is not None and owner is not self:
            owner = owner.system
        if owner is None:
            raise ModelError(
                f"{self.label}: frame {frame.label!r} belongs to an object that is not in the system; expected one that is; "
                "add() it first"
            )
        return frame

    # -- looking up -------------------------------------------------------------------------------------------
    @property
    def ground(self) -> Frame:
        """The inertial frame of the outermost system; of a subsystem, a frame to be clamped."""
        return self.frame("ground")

    @property
    def objects(self) -> tuple[MObject, ...]:
        """The objects added to this system itself, in order."""
        return tuple(self._objects.values())

    @property
    def clamps(self) -> tuple[Clamp, ...]:
        """The clamps made in this system itself, in order."""
        return tuple(self._clamps)

    def __getitem__(self, path: str) -> MObject:
        """The object of that name, at any depth: ``system["upper.mass"]``."""
        if not isinstance(path, str):
            raise UnknownNameError(f"{self.label}: no object {shown(path)}; expected a name, such as 'upper.mass'")
        head, dot, rest = path.partition(".")
        found = self._objects.get(head)
        if dot and not rest:
            raise UnknownNameError(f"{self.label}: no object {path!r}; expected a name after the dot, or none")
        if found is None:
            raise UnknownNameError(f"{self.label}: no object {head!r}{nearest_name(head, self._objects)}")
        if not rest:
            return found
        if not isinstance(found, MSystem):
            raise UnknownNameError(
                f"{self.label}: {head!r} is a {type(found).__name__}, not a system; it has no {rest!r}"
            )
        return found[rest]

    def __contains__(self, path: object) -> bool:
        """Whether there is an object of that name, at any depth."""
        try:
            return isinstance(path, str) and self[path] is not None
        except UnknownNameError:
            return False

    def __iter__(self) -> Iterator[MObject]:
        """The objects added to this system itself, in order."""
        return iter(self._objects.values())

    def frame(self, which: int | str) -> Frame:
        """A frame by name, at any depth: ``system.frame("upper.mass.center")``.

        Parameters
        ----------
        which : int or str
            Number of a frame of the system itself, or path of any inside.

        Returns
        -------
        Frame
            The frame.

        Raises
        ------
        UnknownNameError
            There is no such frame; the message offers the nearest name.
        """
        if isinstance(which, str) and "." in which:
            head, _, name = which.rpartition(".")
            return self[head].frame(name)
        return super().frame(which)

    def walk(self) -> Iterator[MObject]:
        """All objects at any depth, subsystems before their contents.

        Returns
        -------
        Iterator of MObject
            In the order in which they were added.
        """
        for obj in self._objects.values():
            yield obj
            if isinstance(obj, MSystem):
                yield from obj.walk()

    def _is_inside(self, other: MSystem) -> bool:
        owner = self.system
        while owner is not None and owner is not other:
            owner = owner.system
        return owner is other

    def _snapshot(self):
        new = super()._snapshot()
        new._objects, new._clamps, new._connections, new._prepared = {}, [], [], None
        return new

    def __getstate__(self) -> dict[str, Any]:
        # copies and pickles do not take the last search along
        return self.__dict__ | {"_prepared": None}

    def copy(self, name: str) -> Self:
        """An independent system under another name, with copies of everything inside.

        Parameters
        ----------
        name : str
            Name of the copy.

        Returns
        -------
        MSystem
            A system inside no other.
        """
        return Snapshot(self).restored(new_name(self.label, "copy's name", name))

    def outline(self, frames):
        return Outline(np.array([frames[0].o]))

    # -- files ------------------------------------------------------------------------------------------------
    def save(self, path: str | Path) -> None:
        """Write the system as JSON, without loss; :func:`mse.read_model` reads it.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        FileError
            The file cannot be written.
        ModelError
            A parameter is a function, which a file cannot have.

        Examples
        --------
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "empty.json")
        ...     mse.MSystem("empty").save(path)
        ...     mse.read_model(path).name
        'empty'
        """
        from ..statics.files import save

        save(self, path)

    # -- display ----------------------------------------------------------------------------------------------
    def _table(self) -> Table:
        rows = [(o.path, type(o).__name__, ", ".join(o.frame_names + tuple(o.fixed_frames()))) for o in self.walk()]
        head = f"{self.label}: {amounts(object=len(rows), clamp=len(self._clamps))}"
        return Table(head, ("object", "type", "frames"), rows)

    def _ipython_key_completions_(self) -> list[str]:
        start = 0 if self.system is None else len(self.path) + 1
        return [obj.path[start:] for obj in self.walk()]

    def plot(self, **options: Any) -> Figure:
        """Draw the initial poses in 3-D with matplotlib (extra ``plot``).

        Parameters
        ----------
        **options : keywords
            ``frames``, ``names`` and ``ax`` of :func:`mse.tools.plots.geometry.initial_poses`.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        return draw(self, **options)


class Snapshot:
    """A copy of a system at one moment; later changes of the ``original`` do not affect it.

    ``system`` is a copy without contents; ``objects`` are copies in the order of ``originals`` (snapshots for subsystems), and
    ``clamps`` and ``connections`` still refer to the originals.
    """

    __slots__ = ("_place", "clamps", "connections", "objects", "original", "originals", "system")

    def __init__(self, system: MSystem):
        self.original = system
        self.system = system._snapshot()
        self.originals = list(system._objects.values())
        self.objects = [Snapshot(o) if isinstance(o, MSystem) else o._snapshot() for o in self.originals]
        self.clamps, self.connections = list(system._clamps), list(system._connections)
        self._place: dict[str, int] | None = None  # place of each object by name, made at the first look-up

    def _number(self, name: str) -> int | None:
        if self._place is None:
            self._place = {o.name: k for k, o in enumerate(self.objects)}
        return self._place.get(name)

    @property
    def name(self) -> str:
        """Name of the system."""
        return self.system.name

    def __getitem__(self, path: str) -> MObject:
        """The object at a path, "" being the system itself; otherwise UnknownNameError with the nearest name."""
        here: Snapshot | MObject | None = self
        for name in path.split(".") if path else ():
            k = here._number(name) if isinstance(here, Snapshot) else None
            here = None if k is None else here.objects[k]
        if here is None:
            return self.restored(self.name)[path]  # raises the error
        return here.system if isinstance(here, Snapshot) else here

    def differences(self, system: MSystem) -> dict[str, MObject] | None:
        """Snapshots, by path, of the objects whose parameters have changed in the system since; None if more has changed."""
        own, known = vars(system), vars(self.system)
        if any(own.get(k) is not known.get(k) for k in (own.keys() | known.keys()) - _CONTENTS):
            return None
        if list(system._objects.values()) != self.originals or system._clamps != self.clamps:
            return None
        if system._connections != self.connections:
            return None
        found: dict[str, MObject] = {}
        for original, obj in zip(self.originals, self.objects, strict=True):
            if isinstance(obj, Snapshot):
                inside = obj.differences(original)
                if inside is None:
                    return None
                found |= {f"{original.name}.{path}": other for path, other in inside.items()}
                continue
            if original._differs_from(obj):
                found[original.name] = original._snapshot()
        return found

    def changed(self, others: Mapping[str, MObject]) -> Snapshot:
        """The same system with other objects at some paths; "" is the system itself."""
        new = copy.copy(self)
        new.system = others.get("", self.system)
        new.objects = list(self.objects)
        inside: dict[str, dict[str, MObject]] = {}
        for path, obj in others.items():
            head, _, rest = path.partition(".")
            if head:
                inside.setdefault(head, {})[rest] = obj
        for name, here in inside.items():
            k = self._number(name)
            obj = self.objects[k]
            new.objects[k] = obj.changed(here) if isinstance(obj, Snapshot) else here[""]
        return new

    def restored(self, name: str) -> MSystem:
        """An independent system with these contents under some name."""
        return self._restored(name, {})

    def _restored(self, name: str, known: dict[int, MObject]) -> MSystem:
        new = MObject.copy(self.system, name)
        known[id(self.original)] = new
        for original, obj in zip(self.originals, self.objects, strict=True):
            other = obj._restored(obj.name, known) if isinstance(obj, Snapshot) else obj.copy(obj.name)
            known[id(original)] = other
            other.system = new
            new._objects[other.name] = other
        for first, second, pose21 in self.clamps:
            ends = Frame(known[id(first.owner)], first.name), Frame(known[id(second.owner)], second.name)
            new._clamps.append(Clamp(*ends, pose21))
        for ports in self.connections:
            new._connections.append(tuple(Port(known[id(p.owner)], p.name, p.domain) for p in ports))
        return new
