"""The drawing of a system: points on carriers, and how carriers move along modes, motions and other poses.

A *carrier* moves as a rigid body: it is a cluster of clamped frames or a section inside a beam, which moves as the beam's
shape functions do.  All points of a picture are fixed to carriers, so six numbers for each carrier displace the picture.
Pictures, animations and the page are made from a :class:`Scene`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..analysis.modes.result import Mode, Modes
from ..elements.base import FramePose
from ..elements.exact_beam import StraightSegment
from ..elements.load import Load
from ..errors import ModelError
from ..kernels.rotations import rotation_matrix
from ..linear.pattern import linear_pattern
from ..model.topology import Topology
from ..statics.stability import Motion
from ..statics.working_point import WorkingPoint
from .scene_parts import EXACT_PIECES, Drawing, Part, Section

# largest amplitude drawn, large enough to see: relative to the typical length, and in rad
_REACH, _TURN = 0.06, 0.3
# typical length of a picture of many things: this many times the extent of the larger ones, at least this fraction of its size
_THINGS, _MOST_THINGS = 2.5, 20


@dataclass(frozen=True, eq=False)
class Arrow:
    """An arrow of one object between two points on carriers: "push", "read", "load" or "follower".

    ``size`` is a load's force in N, which the length of its arrow does not show.
    """

    path: str
    kind: str
    points: np.ndarray
    carriers: tuple[int, int]
    size: float = 0.0


@dataclass(frozen=True, eq=False)
class Scene:
    """The drawing of a system at some poses; made by :meth:`at` and :meth:`of`.

    Attributes
    ----------
    name : str
        Name of the system.
    o, U : ndarray, (c, 3), m and (c, 3, 3)
        Poses of the carriers; the ground is number 0, then come the other clusters.
    parts : tuple of Part
        All objects that are drawn.
    arms : tuple of ndarray and ndarray, (a, 2, 3), m and (a,)
        Lines from the middle of what is clamped together to its frames, and the carrier of each.
    frame_o, frame_U, frame_carrier : ndarray, (f, 3), (f, 3, 3), (f,)
        Poses of all frames, and the carriers that they ride on.
    """

    name: str
    topology: Topology
    o: np.ndarray
    U: np.ndarray
    parts: tuple[Part, ...]
    arms: tuple[np.ndarray, np.ndarray]
    frame_o: np.ndarray
    frame_U: np.ndarray
    frame_carrier: np.ndarray
    _sections: tuple[Section, ...] = ()
    _slopes: tuple[tuple[int, np.ndarray, np.ndarray], ...] = ()
    _working_point: WorkingPoint | None = None

    @classmethod
    def at(cls, topology: Topology, o: np.ndarray, U: np.ndarray, name: str | None = None) -> Scene:
        """The scene of a system whose units are at some poses.

        Parameters
        ----------
        topology : Topology
            The system.
        o, U : ndarray, (units, 3), m and (units, 3, 3)
            Poses of the units' reference frames, as ``state`` of a working point has them.
        name : str, optional
            Title; the name of the system if left out.

        Returns
        -------
        Scene
            All that is drawn, displaced by nothing.
        """
        drawn = Drawing(topology, o, U)
        return cls(
            topology.source.name if name is None else name, topology, np.array(drawn.o), np.array(drawn.U), drawn.parts,
            drawn.arms(), drawn.frame_o, drawn.frame_U, topology.cluster, tuple(drawn.sections), tuple(drawn.slopes),
        )  # fmt: skip

    @classmethod
    def of(cls, working_point: WorkingPoint) -> Scene:
        """The scene of a working point, which :meth:`twists` can displace."""
        wp = working_point
        return replace(cls.at(wp._topology, wp.state.o, wp.state.U, wp.name), _working_point=wp)

    # -- size -------------------------------------------------------------------------------------------------
    @cached_property
    def drawn(self) -> tuple[np.ndarray, np.ndarray]:
        """Points (n, 3) m of all frames but the ground's, and of all parts, and their carriers (n,)."""
        points = [self.frame_o[1:], *(p.points for p in self.parts)]
        return np.vstack(points), np.concatenate([self.frame_carrier[1:], *(p.carriers for p in self.parts)])

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest coordinates (3,) m of everything drawn."""
        points = self.drawn[0] if len(self.drawn[0]) else self.frame_o
        return points.min(axis=0), points.max(axis=0)

    @property
    def size(self) -> float:
        """Largest extent (m) along an axis; at least 1 mm, so that a single point has a scale."""
        low, high = self.bounds
        return max(float((high - low).max()), 1e-3)

    @cached_property
    def typical(self) -> float:
        """Length (m) that marks and amplitudes are scaled by: the size, or less in a picture of many small things."""
        lines, on = self.arms
        reach = np.zeros(len(self.o))
        np.maximum.at(reach, on, np.abs(lines[:, 1] - lines[:, 0]).max(axis=1, initial=0.0))
        extents = [np.ptp(p.points, axis=0).max() for p in self.parts if len(p.points) > 1]
        extents = np.array([*extents, *reach[np.unique(on)]])
        large = float(np.quantile(extents, 0.9)) if len(extents) else 0.0
        return float(np.clip(_THINGS * large, self.size / _MOST_THINGS, self.size))

    # -- motion -----------------------------------------------------------------------------------------------
    def coordinates(self, motion: Motion | Mode | Modes) -> np.ndarray:
        """A motion in the coordinates of the working point.

        Parameters
        ----------
        motion : Motion, Mode or Modes
            A free or unstable motion of the working point, or modes of its linear model, or of one made ``within`` it.

        Returns
        -------
        ndarray, (n,) or (n, m)
            The vector, or one column a mode; complex where phases differ.

        Raises
        ------
        ModelError
            It has coordinates that this system does not have, or is of another size.
        """
        names = self.topology.coordinate_names
        if isinstance(motion, Motion):
            if motion.size != len(names):
                raise ModelError(
                    f"{self.name}: the motion {motion.name!r} is over {motion.size} coordinates; expected one of the "
                    f"{len(names)} of this system, such as working_point.free[0]"
                )
            return motion.vector
        given = motion.shapes if isinstance(motion, Modes) else motion.vector
        if motion.coordinates == names:
            return given
        place = {name: k for k, name in enumerate(names)}
        unknown = [name for name in motion.coordinates if name not in place]
        if unknown:
            raise ModelError(
                f"{self.name}: the modes of {motion.name!r} move {unknown[0]!r}, which this system does not have; expected modes "
                "of its own: working_point.linearize().modes()"
            )
        out = np.zeros((len(names), *given.shape[1:]), dtype=given.dtype)
        out[[place[name] for name in motion.coordinates]] = given
        return out

    def twists(self, vector: np.ndarray, links: np.ndarray | None = None, omega2: float = 0.0) -> np.ndarray:
        """Small displacement and rotation of every carrier along world axes.

        Parameters
        ----------
        vector : ndarray, (n,) or (n, m)
            Displacements of the coordinates, as :meth:`coordinates` gives them.
        links : ndarray, (6 l,) or (6 l, m), optional
            Displacements that position actuators prescribe, and force sensors (none); zero if left out.
        omega2 : float, rad2/s2
            Square of the angular frequency, by which members that are exact in frequency bend inside.

        Returns
        -------
        ndarray, (c, 6) or (c, 6, m), m and rad
            Of each carrier about its origin.
        """
        vector = np.asarray(vector)
        columns = vector if vector.ndim == 2 else vector[:, None]
        held = None if links is None else np.asarray(links).reshape(-1, columns.shape[1])
        t, count = self.topology, columns.shape[1]
        out = np.zeros((len(self.o), 6, count), dtype=columns.dtype)
        internal = columns[6 * (t.units - 1) :]
        if t.links and self._working_point is not None:
            pattern = linear_pattern(self._working_point._assembly).links
            levers = self.frame_o - self._working_point.state.o[t.unit]
            z = pattern.transformation(pattern.twists(levers, self.frame_U))
            if held is None:
                held = np.zeros((6 * len(t.links), count), dtype=columns.dtype)
            out[1 : t.clusters] = (z @ np.vstack([columns, held]))[: 6 * (t.clusters - 1)].reshape(-1, 6, count)
        else:
            by_unit = np.zeros((t.units, 6, count), dtype=columns.dtype)
            by_unit[1:] = columns[: 6 * (t.units - 1)].reshape(-1, 6, count)
            out[: t.clusters] = by_unit[t.unit_of_cluster]
        for section in self._sections:
            self._move_sections(section, out, internal, omega2)
        for carrier, frames, slope in self._slopes:
            out[carrier, :3] = np.tensordot(slope, self._of_frames(frames, out).reshape(-1, count), 1)
        return out if vector.ndim == 2 else out[:, :, 0]

    def _of_frames(self, frames: np.ndarray, twists: np.ndarray) -> np.ndarray:
        """Displacement and rotation (f, 6, m) of frames about their own origins."""
        carrier = self.frame_carrier[frames]
        out = twists[carrier].copy()
        lever = self.frame_o[frames] - self.o[carrier]
        out[:, :3] += np.cross(out[:, 3:], lever[:, :, None], axis=1)
        return out

    def _move_sections(self, section: Section, twists: np.ndarray, internal: np.ndarray, omega2: float) -> None:
        el, there = section.element, slice(section.first, section.first + len(section.chosen))
        frames = [FramePose(self.frame_o[f], self.frame_U[f]) for f in el.frames]
        ends = self._of_frames(el.frames, twists).reshape(12, -1)
        if isinstance(el.obj, StraightSegment):
            twists[there] = np.tensordot(el.obj.section_motions(frames, omega2, EXACT_PIECES), ends, 1)
            return
        own = np.tensordot(
            el.obj.section_motions(frames)[section.chosen], np.vstack([ends, internal[el.coordinates]]), 1
        )
        axes = self.U[there]
        twists[there, :3] = axes @ own[:, :3]
        twists[there, 3:] = axes @ own[:, 3:]

    def displacements(self, points: np.ndarray, carriers: np.ndarray, twists: np.ndarray) -> np.ndarray:
        """Small displacements of points on carriers.

        Parameters
        ----------
        points : ndarray, (n, 3), m
            Points, for instance of a part.
        carriers : ndarray of int, (n,)
            Their carriers.
        twists : ndarray, (c, 6), m and rad
            Motion of the carriers, as :meth:`twists` gives it.

        Returns
        -------
        ndarray, (n, 3), m
            ``d + a x r``; complex where the motion is.
        """
        return twists[carriers, :3] + np.cross(twists[carriers, 3:], points - self.o[carriers])

    def largest(self, twists: np.ndarray) -> tuple[float, float]:
        """Largest displacement (m) of a drawn point and largest rotation (rad) of a carrier, over all phases of a motion."""
        return _longest(self.displacements(*self.drawn, twists)), _longest(twists[:, 3:])

    def amplitude(self, twists: np.ndarray) -> float:
        """Factor that makes a motion easy to see: up to 6 % of the typical length, and up to 0.3 rad."""
        reach, turn = self.largest(twists)
        size = max(reach / (_REACH * self.typical), turn / _TURN)
        return 1.0 / size if size > 0.0 else 1.0

    def moved(self, twists: np.ndarray) -> Scene:
        """The scene with all points displaced by a small motion.

        Parameters
        ----------
        twists : ndarray, (c, 6), m and rad
            Motion of the carriers; of a complex one the real part.

        Returns
        -------
        Scene
            Parts, arms and frames at their displaced places.
        """
        twists = np.real(twists)

        def shifted(points: np.ndarray, carriers: np.ndarray) -> np.ndarray:
            return points + self.displacements(points, carriers, twists)

        parts = tuple(replace(p, points=shifted(p.points, p.carriers)) for p in self.parts)
        arms, on = self.arms
        arms = shifted(arms.reshape(-1, 3), np.repeat(on, 2)).reshape(-1, 2, 3)
        turned = np.array([rotation_matrix(a) for a in np.ascontiguousarray(twists[:, 3:])]).reshape(-1, 3, 3)
        return replace(
            self,
            parts=parts,
            arms=(arms, on),
            o=self.o + twists[:, :3],
            U=turned @ self.U,
            frame_o=shifted(self.frame_o, self.frame_carrier),
            frame_U=turned[self.frame_carrier] @ self.frame_U,
        )

    def arrows(self) -> list[Arrow]:
        """Arrows of actuators, from frame 0, which pushes; of sensors, from frame 1, which reads; and of loads.

        Returns
        -------
        list of Arrow
            Those of force actuators, sensors and loads; of length 0 where both frames are at one place.
        """
        out = []
        for part in self.parts:
            ends = part.frames[:2]
            if part.role == "channel" and len(ends) == 2:
                pushes = bool(part.obj.inputs)
                pair = ends if pushes else ends[::-1]
                carriers = int(self.frame_carrier[pair[0]]), int(self.frame_carrier[pair[1]])
                out.append(Arrow(part.path, "push" if pushes else "read", self.frame_o[pair], carriers))
            elif part.role == "load" and isinstance(part.obj, Load):
                f, turns = int(ends[0]), part.obj.axes == "frame"
                force = (self.frame_U[f] if turns else np.eye(3)) @ part.obj.force
                size = float(np.linalg.norm(force))
                tip = self.frame_o[f]
                tail = tip - 0.15 * self.typical * (force / size if size else np.zeros(3))
                on = int(self.frame_carrier[f])
                out.append(Arrow(part.path, "follower" if turns else "load", np.array([tail, tip]), (on, on), size))
        return out

    def clamps(self) -> list[tuple[int, np.ndarray, tuple[str, ...]]]:
        """Places where objects are clamped to others.

        Returns
        -------
        list of (int, ndarray, tuple of str)
            The carrier, 0 for the ground; the place (3,) m; the names of the frames there.
        """
        t, found = self.topology, {}
        labels = t.frame_labels
        owners = [label.rpartition(".")[0] for label in labels]
        bodies = {p.path for p in self.parts if p.role == "body"}
        several = [set() for _ in range(t.clusters)]
        for cluster, owner in zip(t.cluster.tolist(), owners, strict=True):
            several[cluster].add(owner)
        fine = 1e-6 * self.size
        for f in range(1, t.frames):
            cluster = int(t.cluster[f])
            if len(several[cluster]) > 1:
                found.setdefault((cluster, *np.round(self.frame_o[f] / fine).astype(int).tolist()), []).append(f)
        # bodies may have frames that nothing is clamped to; other objects do not
        return [
            (carrier, self.frame_o[frames[0]], tuple(labels[f] for f in frames))
            for (carrier, *_), frames in found.items()
            if any(owners[f] not in bodies for f in frames) or len({owners[f] for f in frames}) > 1
        ]

    def stress(self, part: Part) -> np.ndarray:
        """Largest size of the normal stress in the sections of a beam.

        Parameters
        ----------
        part : Part
            A beam.

        Returns
        -------
        ndarray, (n,), Pa
            At each of its points; nan where the extent of its section is unknown.
        """
        loads = part.obj.internal_forces(self._working_point)
        # at a jump under a load, show the larger of the two sides
        places = np.unique(loads.s)
        largest = np.array([loads.stress[loads.s == s].max() for s in places])
        return np.interp(part.along, places, largest)


def _longest(vectors: np.ndarray) -> float:
    """Length of the longest of complex vectors (n, 3), each at the phase at which it is longest."""
    size = np.einsum("ij,ij->i", vectors, vectors.conj()).real
    return float(np.sqrt(np.max(0.5 * (size + np.abs(np.einsum("ij,ij->i", vectors, vectors))), initial=0.0)))
