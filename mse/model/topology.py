"""Numbered frames to clusters of clamped frames, and to rigid units.

A *cluster* is a set of frames joined by clamps.  A *unit* moves as one body while the working point is sought: it consists of
clusters joined by position actuators and force sensors, whose two frames coincide then.  Unit 0 contains the ground.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, connected_components

from ..elements import laws, losses, velocity_laws
from ..elements.base import FramePose, MObject
from ..elements.coordinates import effort_unit_of, flowing, full_names, undeclared
from ..elements.definitions import of_mse
from ..errors import ModelError
from ..kernels.ahead import compile_ahead
from ..kernels.frames import placed_frames
from ..pose import Pose
from .flattening import Edges, Element, Flattened
from .frame_tree import FrameTree, both_ways, inverse
from .links import Link, LinkedUnits
from .system import MSystem, Snapshot

# rad, and m per meter of model: rounding of poses typed in or composed, far below any real offset (tests/model/test_systems.py
# passes with 0.01 and 100 times this).
_MISMATCH = 1e-9
_AXES = ("x", "y", "z", "ax", "ay", "az")


class Topology:
    """Frames, clusters and units of a system, fixed for all its poses.

    Arrays are indexed by frame: ``unit`` and ``cluster`` (n,), and ``offset_o`` (n, 3), ``offset_U`` (n, 3, 3), the pose of each
    frame relative to the reference frame of its unit.  ``kinds`` groups similar elements; ``clusters`` and ``units`` are counts.
    """

    def __init__(self, system: MSystem):
        self.source = Snapshot(system)
        self.label = system.label
        self.gravity = system.gravity
        flat = Flattened(self.source)
        self.elements = flat.elements
        self.kinds = flat.kinds
        self.system_ground = flat.ground_of
        self.internal = flat.internal
        self.junctions = flat.junctions
        self._paths, self._names = flat.paths, flat.names
        self._inner_frames = flat.inner
        self.frames = flat.frames
        # initial poses of units, kept if users have given all of them
        self.given_poses: tuple[np.ndarray, np.ndarray] | None = None
        self._refuse_unconnected(flat.edges)
        compile_ahead([kind.cls.kernel for kind in self.kinds])
        self._cluster_frames(flat.edges)
        self._join_units()
        self.size = 6 * (self.units - 1) + self.internal
        self._check_held()

    # -- names ------------------------------------------------------------------------------------------------
    @cached_property
    def frame_labels(self) -> list[str]:
        """Name of every frame by number: ``mass.center``."""
        pairs = zip(self._paths, self._names, strict=True)
        return ["ground", *(f"{path}.{name}" for path, names in pairs for name in names)]

    def same_frames(self, other: Topology) -> bool:
        """Whether another topology has frames with the same names."""
        return self._paths is other._paths or (self._paths == other._paths and self._names == other._names)

    @cached_property
    def unit_names(self) -> list[str]:
        """Name of every unit: the name of its heaviest body."""
        return [self.cluster_name(c) for c in self.unit_root]

    def cluster_name(self, cluster: int) -> str:
        """Path of the heaviest body in a cluster, or the name of its first frame."""
        body = self._heaviest[cluster]
        if cluster == 0:
            return "ground"
        return self.elements[body].path if body >= 0 else self.frame_labels[self.masters[cluster]]

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates: six for each unit, then the internal ones."""
        names = [f"{name}.{axis}" for name in self.unit_names[1:] for axis in _AXES]
        return tuple(names + [q for el in self._with_coordinates() for q in full_names(el.obj, el.path)])

    @cached_property
    def coordinate_owners(self) -> tuple[str, ...]:
        """Path of the object that each coordinate belongs to; for frames clamped together without a body, the first object."""
        inner = self.inner_units()
        # the ground needs no name
        bare = {int(self.masters[c]) for c in self.unit_root[1:] if self._heaviest[c] < 0}
        units, names = self.unit.tolist(), list(self.unit_names)
        for el in reversed(self.elements) if bare or inner else ():
            for f in el.frames:
                if f in bare or (el.owner != el.path and units[f] in inner):
                    names[units[f]] = el.owner
        owners = [name for name in names[1:] for _ in _AXES]
        return tuple(owners + [el.owner for el in self._with_coordinates() for _ in el.obj.coordinate_names])

    @cached_property
    def coordinate_bodies(self) -> np.ndarray:
        """Number of the body that each coordinate moves, -1 for internal coordinates."""
        return np.concatenate([np.repeat(np.arange(self.units - 1), 6), np.full(self.internal, -1)])

    @cached_property
    def flowing(self) -> np.ndarray:
        """Which coordinates (n,) flow, such as charges."""
        return flowing(self.coordinate_names)

    def force_unit(self, coordinate: int) -> str:
        """Unit of the force along a coordinate, with a blank before it; empty if unknown."""
        if self.coordinate_bodies[coordinate] < 0:
            unit = effort_unit_of(self.coordinate_names[coordinate])
            return f" {unit}" if unit else ""
        return " N" if coordinate % 6 < 3 else " N m"

    def _with_coordinates(self) -> list[Element]:
        """Elements with internal coordinates of their own, in order."""
        return [
            self.elements[k] for k in sorted(k for kind in self.kinds if kind.own_coordinates for k in kind.members)
        ]

    @cached_property
    def places(self) -> dict[str, int]:
        """Number of each element by its path."""
        return {el.path: k for k, el in enumerate(self.elements)}

    @cached_property
    def arms(self) -> tuple[np.ndarray, float]:
        """Rms lever arm (m) of the elements that hold each unit (units,), and a typical one of the bodies, or 0.

        For the ground the arm is the distance of its frames from the world's origin, which may be anywhere.
        """
        arms, held = np.zeros(self.units), np.zeros(self.units)
        for kind in self.kinds:
            if kind.count > 1 and kind.cls.exerts_forces():
                units = self.unit[kind.frames].ravel()
                arms += np.bincount(units, np.sum(self.offset_o[kind.frames] ** 2, axis=-1).ravel(), self.units)
                held += np.bincount(units, minlength=self.units)
        arm = np.sqrt(arms / np.maximum(held, 1.0))
        bodies = arm[1:][arm[1:] > 0]
        return arm, float(np.median(bodies)) if len(bodies) else 0.0

    @cached_property
    def conservative(self) -> bool:
        """Whether all forces come from an energy."""
        powers = any(kind.cls.defines("power") for kind in self.kinds)
        return not powers and all(el.obj.conservative for el in self.elements)

    @cached_property
    def flow_constrained(self) -> list[str]:
        """Paths of the elements that have flow constraints."""
        kinds = [kind for kind in self.kinds if kind.cls.defines("flow_constraint")]
        return [self.elements[k].path for kind in kinds for k in kind.members]

    @property
    def notes(self) -> list[str]:
        """The notes on internal coordinates without a unit, and on circuits without earth."""
        plain = (undeclared(self.elements[kind.members[0]].obj) for kind in self.kinds if kind.coordinates)
        floating = [
            f"took {path} for the reference of efforts, at zero, since its part of the circuit is not connected to earth"
            for path in self.junctions.references
        ]
        idle = [
            f"took {path} for a source that drives nothing, since a port of it is connected to nothing; connect both of its ports"
            for path in self.junctions.open
        ]
        return [*dict.fromkeys(filter(None, plain)), *floating, *idle]

    @cached_property
    def may_spin(self) -> bool:
        """Whether dampings may have gyroscopic parts, which hold motions that the stiffness leaves free."""
        return any(kind.cls.has_damping() and not of_mse(kind.cls) for kind in self.kinds)

    # -- variants ---------------------------------------------------------------------------------------------
    def changed(self, others: Mapping[str, MObject]) -> Topology | None:
        """The same topology with other objects at some paths, or None if more than parameters differ.

        "" is the system itself.
        """
        new = copy.copy(self)
        new.source = self.source.changed(others)
        new.elements = list(self.elements)
        for path, obj in others.items():
            if isinstance(obj, MSystem):
                if not path:
                    new.gravity = obj.gravity
                    if self._loose:
                        return None
                continue
            if path not in self.places or obj.defines("components") or obj.defines("joined"):
                return None  # its components or partners may depend on its parameters
            if self._loose:
                return None  # it may fall now that it has a weight
            old = self.elements[self.places[path]]
            snapshot = obj._snapshot()
            if _held(snapshot) != _held(old.obj) or _coordinates(snapshot) != _coordinates(old.obj):
                return None
            if _held(snapshot) and any(kind.cls.defines("joined") for kind in self.kinds):
                return None  # a gear refers to its joints
            if snapshot.at is not old.obj.at:
                new.given_poses = None
            new.elements[self.places[path]] = Element(snapshot, old.path, old.frames, old.coordinates, old.owner)
        new._lose_again(others)
        massive = self.named_by_mass and any(obj.has_mass() for obj in others.values())
        return None if massive and not new._has_heaviest_of(self) else new

    def retold(self, others: Mapping[str, MObject]) -> Topology:
        """The same topology with other objects at some paths, if they differ in nothing that forces depend on."""
        new = copy.copy(self)
        new.source, new.elements = self.source.changed(others), list(self.elements)
        for path, obj in others.items():
            if path in self.places:
                old = self.elements[self.places[path]]
                new.elements[self.places[path]] = Element(obj, old.path, old.frames, old.coordinates, old.owner)
        new._lose_again(others)
        return new

    @cached_property
    def lossy(self) -> list[int]:
        """Numbers of elements with loss factors, and of components, whose loss factors have to agree."""
        return [
            k
            for kind in self.kinds
            if losses.loses(kind.cls)
            for k in kind.members
            if self.elements[k].obj._values["loss"] or self.elements[k].path != self.elements[k].owner
        ]

    def _lose_again(self, others: Iterable[str]) -> None:
        """Update which elements at some paths have a loss factor."""
        if "lossy" in vars(self):
            again = {self.places[path] for path in others if path in self.places}
            found = {k for k in again if losses.loses(type(obj := self.elements[k].obj)) and obj._values["loss"]}
            self.lossy = sorted((set(self.lossy) - again) | found)

    def _has_heaviest_of(self, former: Topology) -> bool:
        """Whether the heaviest bodies of clusters and units are still the same."""
        weights = self._heaviest_bodies(bool(self.links))
        units = [(link.child, self.unit_root[self.unit_of_cluster[link.child]]) for link in self.links]
        return np.array_equal(self._heaviest, former._heaviest) and not any(
            root and weights[cluster] > weights[root] for cluster, root in units
        )

    # -- connections ------------------------------------------------------------------------------------------
    def _refuse_unconnected(self, edges: Edges) -> None:
        touched = np.zeros(self.frames, dtype=bool)
        clamped = ~edges.fixed
        touched[edges.first[clamped]] = touched[edges.second[clamped]] = True
        touched[list(self._inner_frames)] = True
        fixed = edges.first[edges.fixed], edges.second[edges.fixed]
        reached = touched.copy()
        reached[fixed[0][touched[fixed[1]]]] = True
        lost = {int(f): kind.cls.__name__ for kind in self.kinds for f in kind.frames[~reached[kind.frames]]}
        if lost:
            loose = [f"{self.frame_labels[f]} ({lost[f]})" for f in sorted(lost)]
            shown = ", ".join(loose[:10]) + (f" and {len(loose) - 10} more" if len(loose) > 10 else "")
            raise ModelError(
                f"{self.label}: frames clamped to nothing: {shown}; expected every frame of every object to be "
                "clamped to something; clamp() them or remove their objects (a body that floats wants at least a sensor on it)"
            )

    # -- clusters ---------------------------------------------------------------------------------------------
    def _cluster_frames(self, edges: Edges) -> None:
        """Number the clusters by their first frames, and follow the edges from these to all other frames."""
        n = self.frames
        self.clusters, cluster = connected_components(both_ways(edges.first, edges.second, n), connection="strong")
        first = np.empty(self.clusters, dtype=np.int64)
        first[cluster[::-1]] = np.arange(n)[::-1]
        self.cluster_first = np.sort(first)
        self.cluster = np.searchsorted(self.cluster_first, first[cluster])
        tree = FrameTree(edges, n, self.cluster_first)
        self._seen = tree.o, tree.U  # pose of each frame relative to the first one of its cluster
        origins = edges.o[edges.o.any(axis=1)]
        size = max(1.0, float(np.linalg.norm(origins, axis=1).max(initial=0.0)))
        wrong = tree.contradicted(edges, _MISMATCH * size, _MISMATCH)
        if len(wrong):
            self._refuse_loop(edges, tree, int(wrong[0]))

    def _refuse_loop(self, edges: Edges, tree: FrameTree, wrong: int) -> None:
        def label(k):
            if edges.fixed[k]:
                return f"frame {self.frame_labels[edges.second[k]]}"
            return f"clamp {self.frame_labels[edges.first[k]]} - {self.frame_labels[edges.second[k]]}"

        f, g = int(edges.first[wrong]), int(edges.second[wrong])
        one, two = tree.way_back(f), tree.way_back(g)
        shared = set(one) & set(two)
        loop = [label(k) for k in one + two if k not in shared] + [label(wrong)]
        there = Pose(tree.o[f], tree.U[f]) @ Pose(edges.o[wrong], edges.U[wrong])
        gap = there.seen_from(Pose(tree.o[g], tree.U[g]))
        raise ModelError(
            f"{self.label}: clamps contradict each other around the loop {', '.join(loop)}: they place "
            f"{self.frame_labels[g]} at two "
            f"poses {np.linalg.norm(gap.o):.6g} m and {np.linalg.norm(gap.rotation_vector()):.6g} rad apart; expected the "
            "same pose along both ways; remove one of the clamps or correct its pose"
        )

    def _heaviest_bodies(self, linked: bool) -> np.ndarray:
        """Masses (kg) of the clusters' heaviest bodies, which give the clusters their names and reference frames."""
        self._heaviest = np.full(self.clusters, -1)
        self.masters = self.cluster_first.copy()
        self.named_by_mass = False  # whether masses have decided any name
        weights = np.zeros(self.clusters)
        bodies = [kind for kind in self.kinds if kind.count == 1 and kind.cls.has_mass()]
        crowded = sum(np.bincount(self.cluster[kind.frames[:, 0]], minlength=self.clusters) for kind in bodies) > 1
        for kind in bodies:
            frames, members = kind.frames[:, 0], np.array(kind.members)
            clusters = self.cluster[frames]
            compared = (crowded[clusters] | linked | (kind.cls.mass_kernel is None)) & (clusters > 0)
            self.named_by_mass |= bool(compared.any())
            alone = clusters[~compared]
            self._heaviest[alone], self.masters[alone] = members[~compared], frames[~compared]
            for k, c, f in zip(members[compared], clusters[compared], frames[compared], strict=True):
                obj, place, q = self.elements[k].obj, [FramePose(np.zeros(3), np.eye(3))], np.zeros(kind.coordinates)
                if law := velocity_laws.of(kind.cls, "mass_matrix"):
                    m = velocity_laws.matrices([obj], law, [(place, q)])[0]
                else:
                    m = laws.matrix(obj, "mass_matrix", place, q, self.elements[k].size)
                if m is not None and (m[0, 0] > weights[c] or self._heaviest[c] < 0):
                    weights[c], self._heaviest[c], self.masters[c] = m[0, 0], k, f
        self._heaviest[0], self.masters[0] = -1, self.cluster_first[0]
        return weights

    # -- units ------------------------------------------------------------------------------------------------
    def _join_units(self) -> None:
        linked = [k for kind in self.kinds if kind.cls.role != "free" for k in kind.members]
        weights = self._heaviest_bodies(bool(linked))
        o, u = self._seen
        del self._seen
        back_o, back_U = inverse(o[self.masters], u[self.masters])
        self.links: list[Link] = []
        roots = np.arange(self.clusters)
        if linked:
            placed = LinkedUnits(self, sorted(linked), weights, (o, u))
            roots, self.links = placed.roots, placed.links
            back_o, back_U = placed.o, placed.U
        # units in the order in which their bodies were added; the ground's stays first
        self.unit_root = np.unique(roots)
        order = np.argsort(self.masters[self.unit_root[1:]], kind="stable")
        self.unit_root[1:] = self.unit_root[1:][order]
        number = np.empty(self.clusters, dtype=np.int64)
        number[self.unit_root] = np.arange(len(self.unit_root))
        self.unit_of_cluster = number[roots]
        self.unit_reference = self.masters[self.unit_root]
        self.units = len(self.unit_root)
        self.unit = self.unit_of_cluster[self.cluster]
        self.offset_o, self.offset_U = placed_frames(back_o, back_U, self.cluster, o, u)

    def refuse_rigid_loop(self, element: int) -> None:
        """Raise an error for a position actuator or force sensor whose frames are also joined by another path."""
        obj = self.elements[element].obj
        what = "its force is then not determined" if obj.role == "reaction" else "its displacement is then blocked"
        raise ModelError(
            f"{obj.label}: its two frames are also held together by another rigid path of clamps, position actuators or "
            f"force sensors, so {what}; expected the only rigid path between them; remove the other one"
        )

    def inner_units(self) -> set[int]:
        """Units that are only a node inside an object."""
        if not self._inner_frames:
            return set()
        frames = np.bincount(self.unit, minlength=self.units)
        return {int(self.unit[f]) for f in self._inner_frames if frames[self.unit[f]] == 1 and self.unit[f]}

    def _check_held(self) -> None:
        """Refuse units with weight that no chain of elements ties to the ground, which would fall."""
        first, second = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for kind in self.kinds:
            if kind.cls.exerts_forces() and kind.count:
                units = self.unit[kind.frames]
                # a constraint on a single frame fixes it in the world
                others = units[:, 1:] if kind.count > 1 else 0 * units if kind.cls.constrains() else units
                first.append(np.repeat(units[:, 0], others.shape[1]))
                second.append(others.ravel())
        graph = both_ways(np.concatenate(first), np.concatenate(second), self.units)
        loose = np.ones(self.units, dtype=bool)
        loose[breadth_first_order(graph, 0, return_predecessors=False)] = False
        self._loose = bool(loose.any())
        if not self._loose or not np.any(self.gravity):
            return
        unsupported: dict[str, None] = {}
        for el in self.elements:
            if not loose[self.unit[el.frames[:1]]].any():
                continue
            if len(el.frames) == 1 and el.obj.exerts_forces():
                frames = [FramePose(np.zeros(3), np.eye(3))]
                g = el.obj.evaluate(frames, np.zeros(len(el.obj.coordinate_names)), self.gravity, 1)[1]
                if np.any(g):
                    unsupported[el.path] = None
            elif el.inner and el.obj.defines("gravity_energy"):
                unsupported[el.owner] = None
        if not unsupported:
            return
        shown = ", ".join(list(unsupported)[:8]) + (f" and {len(unsupported) - 8} more" if len(unsupported) > 8 else "")
        if loose[1:].all() and self.units > 1 and not np.any(self.unit[1:] == 0):
            raise ModelError(
                f"{self.label}: the system has no ground: nothing is connected to it, so {shown} would fall; expected at "
                "least one clamp to system.ground; add one with clamp(), or set gravity=(0, 0, 0)"
            )
        raise ModelError(
            f"{self.label}: the system falls: no spring, wire, bushing, joint or clamp ties {shown} to the ground; expected "
            "every weight to be held; clamp it to what should carry it, or set gravity=(0, 0, 0)"
        )

    def frame_poses(self, origins: np.ndarray, orientations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Origins (n, 3) and orientations (n, 3, 3) of all frames from the poses of the units' reference frames."""
        return placed_frames(origins, orientations, self.unit, self.offset_o, self.offset_U)

    def frame_over_time(self, k: int, poses: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """Origins (t, 3) and orientations (t, 3, 3) of one frame, from the poses of the units' reference frames at all times."""
        unit, count = self.unit[k], len(poses)
        o, u = (
            np.array([o[unit] for o, _ in poses]).reshape(-1, 3),
            np.array([u[unit] for _, u in poses]).reshape(-1, 3, 3),
        )
        at = np.full(count, k)
        return placed_frames(o, u, np.arange(count), self.offset_o[at], self.offset_U[at])


def _coordinates(obj: MObject) -> tuple:
    channels = obj.inputs, obj.outputs, obj.conservative
    return obj.frame_names, dict(obj.fixed_frames()), obj.coordinate_names, *channels


def _held(obj: MObject) -> tuple:
    return (
        (obj.constraint_count, *(tuple(x.items()) for x in (obj.motors, obj.rate_motors))) if obj.constrains() else ()
    )
