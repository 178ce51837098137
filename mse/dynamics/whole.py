"""The laws of many elements of a system as one, whose records give forces and masses of a whole system in one call each.

Asking element by element takes most of the time of a motion with circuits: a millisecond for a loudspeaker, whose records run
in 50 microseconds.  What is asked here are laws of mse's own classes that depend on places and velocities alone: circuits and
their like, bodies, and joints.  What has a kernel of its own, such as wires, and laws of others are asked element by element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..elements.base import MObject
from ..elements.definitions import of_mse
from ..elements.differentiation import FramePose, Given, MovingFrame, hardly_moving, regular, stiffness_of
from ..elements.joint_base import FreeJoint
from ..elements.law_record import Law, Shape, bounded
from ..kernels import joints, springs
from ..model.configuration import State
from ..model.flattening import Element
from ..model.groups import Group
from ..model.topology import Topology
from ..numerics.record import Expansion
from ..numerics.recorder import Recorded
from .inertia import GroupInertia

# Coordinates beyond which recording would take long: it grows with their square, to 0.2 s here
# (tests/dynamics/test_whole.py::test_large_systems_and_those_without_charges_are_asked_element_by_element).
_MOST = 60
_KEPT = 16  # records of ways through the conditions of the laws: a law with endless ways must not fill the memory


class Pull(NamedTuple):
    """M (n, n), f - c (n,), power (W) of dampers, and of other forces; of several states along a first axis.

    M of a large system is sparse, of several states one after the other.
    """

    mass: np.ndarray | sp.csr_matrix | Sequence[sp.csr_matrix]
    force: np.ndarray
    damped: float | np.ndarray
    driven: float | np.ndarray


class Whole:
    """The laws of a system by records of their sums.

    Forces of ``groups``, masses of ``heavy`` and dampings of ``parts`` have no records: these are asked element by element.
    """

    def __init__(
        self, topology: Topology, groups: Sequence[Group], parts: Sequence[GroupInertia], bound: Sequence[Group]
    ):
        self.groups = [g for g in groups if not _has_force(g)]
        self._powers = {p.cls for p in parts if p.has_power and _has_damping(p)}
        self.heavy = [p for p in parts if p.has_mass and not _has_mass(p)]
        self.parts = [p for p in parts if p.has_damping and not _has_damping(p)]
        own = [p for p in parts if p.has_damping and _has_damping(p)]
        of: dict[str, list[Element]] = {
            "energy": [el for g in groups if _has_force(g) for el in g.elements],
            "kinetic": [el for p in parts if p.has_mass and _has_mass(p) for el in p.group.elements],
            "dissipation": [el for p in own if _dissipates(p.cls) for el in p.group.elements if not _undamped(el.obj)],
            "power": [el for p in own if p.has_power for el in p.group.elements],
        }  # fmt: skip
        #: whether it has all constraints
        self.binds = bool(bound) and all(map(_holds, bound))
        of["constraint"] = [el for g in bound for el in g.elements] if self.binds else []
        self._own = _Together(topology, of)
        shape = Shape(topology.units - 1, topology.internal, sum(g.constraint_count * len(g.elements) for g in bound))
        self._shapes = dict.fromkeys(("constraint", "rates", "bends"), shape)
        self._shapes |= {law: shape.of(law) for law in ("energy", "motion", "dissipation", "power", "inertia", "drag")}
        self._laws: dict[str, list[Law]] = {law: [] for law in self._shapes}
        self._has = {law for law, elements in of.items() if elements}

    @classmethod
    def of(
        cls, topology: Topology, groups: Sequence[Group], parts: Sequence[GroupInertia], bound: Sequence[Group]
    ) -> Whole | None:
        """None for a system without charges and the like, and for a large one."""
        if not topology.internal or topology.size > _MOST or topology.links:
            return None
        return cls(topology, groups, parts, bound)

    def _asked(
        self, law: str, places: np.ndarray, given: np.ndarray, order: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values (k, m), slopes (k, m, n) and second derivatives (k, n, n) of a law at places (k, i), as ``given`` (k, g)."""
        rows, known = np.concatenate([places, given], axis=1), self._laws[law]
        found = next((own for own in known if own.serves(rows).all()), None)
        if found is not None:
            return found.run(rows, order)
        if len(rows) > 1:
            one_by_one = [self._asked(law, *one, order) for one in zip(places[:, None], given[:, None], strict=True)]
            return tuple(np.concatenate(x) for x in zip(*one_by_one, strict=True))
        with np.errstate(all="ignore"):
            found = Law(self._own, law, self._shapes[law], None, rows[0])
        self._laws[law] = [*known, found][-_KEPT:]
        return found.run(rows, order)

    def _asked_once(self, law: str, state: State, given: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        """The same without their first axis, in one state."""
        return tuple(x[0] for x in self._asked(law, _places([state]), given[None], order))

    def pulls(self, states: Sequence[State], v: np.ndarray, gravity: np.ndarray, works: np.ndarray) -> Pull:
        """Its shares in some states, along a first axis of all numbers, at velocities v (k, n).

        ``works`` (n,) is 1 where forces of powers do work, 0 elsewhere.
        """
        (count, n), places = v.shape, _places(states)
        mass, force, damped, driven = np.zeros((count, n, n)), np.zeros((count, n)), np.zeros(count), np.zeros(count)
        if "energy" in self._has:
            given = np.broadcast_to(gravity, (count, len(gravity)))
            energy, slopes, _ = self._asked("energy", places, given, 1)
            force -= np.where(np.isfinite(bounded(energy)), slopes[:, 0], np.nan)
        if "kinetic" in self._has:
            values = self._asked("motion", places, v, 0)[0]
            mass += values[:, 1 + n :].reshape(count, n, n)
            force -= values[:, 1 : 1 + n]
        if "dissipation" in self._has:
            drag = self._asked("dissipation", places, v, 1)[1][:, 0]
            force -= drag
            damped -= np.sum(drag * v, axis=1)
        if "power" in self._has:
            power = self._asked("power", places, np.concatenate([np.zeros_like(v), v], axis=1), 0)[0]
            force += power
            driven += np.sum(power * works * v, axis=1)
        return Pull(mass, force, damped, driven)

    def mass(self, state: State) -> np.ndarray:
        """M (n, n)."""
        n = self._shapes["energy"].size
        if "kinetic" not in self._has:
            return np.zeros((n, n))
        return self._asked_once("motion", state, np.zeros(n), 0)[0][1 + n :].reshape(n, n)

    def constraints(self, states: Sequence[State]) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (k, m) of all constraints and their slopes (k, m, n) in some states."""
        return self._asked(
            "constraint", _places(states), np.zeros((len(states), self._shapes["constraint"].values)), 1
        )[:2]

    def has_power(self, g: Group) -> bool:
        """Whether it has the powers of a group."""
        return g.cls in self._powers

    def of_inertia(self, state: State, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """M, and slopes by velocities and by positions (3, n, n) of forces of inertia, at accelerations a (n,)."""
        n = len(v)
        if "kinetic" not in self._has:
            return np.zeros((3, n, n))
        moving = hardly_moving(v)
        mass = self._asked_once("motion", state, moving, 0)[0][1 + n :].reshape(n, n)
        forces, by_x, by_v = self._asked_once("inertia", state, np.concatenate([moving, a]), 2)
        return np.stack([mass, regular(by_v), self._symmetric(by_x[1:], forces[1:])])

    def of_velocities(self, state: State, v: np.ndarray, gravity: np.ndarray) -> np.ndarray:
        """Slopes by velocities and by positions (2, n, n) of all other forces, on the side of ``M a``."""
        n = len(v)
        damping, stiffness, moving = np.zeros((n, n)), np.zeros((n, n)), hardly_moving(v)
        if "energy" in self._has:
            stiffness += self._asked_once("energy", state, gravity, 2)[2]
        if "dissipation" in self._has:
            forces, by_x, by_v = self._asked_once("drag", state, moving, 2)
            damping += by_v
            stiffness += self._symmetric(by_x[1:], forces[1:])
        if "power" in self._has:
            forces, by_x, by_v = self._asked_once("power", state, np.concatenate([np.zeros(n), moving]), 2)
            damping -= by_v
            stiffness -= self._symmetric(by_x, forces)
        return regular(np.stack([damping, stiffness]))

    def _symmetric(self, by_x: np.ndarray, forces: np.ndarray) -> np.ndarray:
        """Slopes (n, n) of forces (n,) by positions with half of how torques turn with bodies, as second derivatives have it."""
        return regular(-stiffness_of(forces[None], by_x[None], self._shapes["energy"].frames)[0])

    def reactions(self, state: State, v: np.ndarray, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``d(G'l)/dx`` (n, n) at multipliers l (m,), and the slopes (m, n) by positions of the rates of constraints."""
        return self._asked_once("constraint", state, multipliers, 2)[2], self._asked_once("rates", state, v, 1)[1]

    def bends(self, state: State, v: np.ndarray) -> np.ndarray:
        """``v'(d2g)v`` (m,) of all constraints."""
        return self._asked_once("bends", state, v, 0)[0]


def _places(states: Sequence[State]) -> np.ndarray:
    """Where units and internal coordinates are, as records take them, one row each."""
    return np.array([np.concatenate([s.o[1:].ravel(), s.U[1:].ravel(), s.q]) for s in states])


def _plain(g: Group) -> bool:
    return of_mse(g.cls) and g.cls.differentiation != "differences"


def _is_joint(g: Group) -> bool:
    return g.cls.kernel is joints.joint_springs


def _has_force(g: Group) -> bool:
    if not _plain(g) or g.without_energy.any():
        return False
    if _is_joint(g):  # whose angles have a memory
        return not any(isinstance(el.obj, FreeJoint) and el.obj._turns_on_springs() for el in g.elements)
    return g.cls.kernel is springs.body_load or (g.cls.kernel is None and not g.elements[0].obj.memory_size)


def _has_mass(p: GroupInertia) -> bool:
    return _plain(p.group) and (p.cls.defines("kinetic") or p.cls.kernel is springs.body_load)


def _has_damping(p: GroupInertia) -> bool:
    if _is_joint(p.group):
        return _plain(p.group)
    laws = p.cls.defines("dissipation") or p.cls.defines("power")
    return _plain(p.group) and laws and p.cls.damping_kernel is None and not p.cls.defines("damping_matrix")


def _holds(g: Group) -> bool:
    own = g.cls.constraint_kernel is joints.joint_constraints or g.cls.constraint_kernel is None
    return all(of_mse(type(el.obj)) for el in g.elements) and own and not g.cls.defines("constraint_terms")


class _Together:
    """The sum of the laws of some elements, of the poses of units, as a law of one object."""

    _remembered = ()

    def __init__(self, topology: Topology, elements: dict[str, list[Element]]):
        self._topology, self._elements, self._values = topology, elements, {}

    @staticmethod
    def defines(what: str) -> bool:
        return what == "gravity_energy"

    def _frames(self, el: Element, units: Sequence) -> list:
        """The frames of an element, which move if the units do."""
        t, found = self._topology, []
        for f in el.frames:
            o, u, unit = t.offset_o[f], t.offset_U[f], int(t.unit[f])
            if unit == 0:
                at = FramePose(o, u)
                found.append(MovingFrame(*at, np.zeros(3), np.zeros(3)) if _moves(units) else at)
                continue
            own = units[unit - 1]
            arm = own.U @ o
            at = FramePose(own.o + arm, own.U @ u)
            found.append(MovingFrame(*at, own.v + _cross(own.w, arm), own.w) if _moves(units) else at)
        return found

    def _each(self, law: str, units: Sequence, member: str = "") -> Iterator[tuple[MObject, list, np.ndarray]]:
        """Objects with a law (of these, objects that define a ``member``), their frames, and numbers of internal coordinates."""
        for el in self._elements[law]:
            if not member or el.obj.defines(member):
                yield el.obj, self._frames(el, units), el.coordinates

    def energy(self, units, q):
        return sum((obj.energy(frames, q[k]) for obj, frames, k in self._each("energy", units, "energy")), 0.0)

    def gravity_energy(self, units, q, gravity):
        each = self._each("energy", units, "gravity_energy")
        return sum((obj.gravity_energy(frames, q[k], gravity) for obj, frames, k in each), 0.0)

    def kinetic(self, units, q, v):
        total = 0.0
        for obj, frames, k in self._each("kinetic", units):
            if obj.defines("kinetic"):
                total = total + obj.kinetic(frames, q[k], v[k])
            else:  # a body
                rates = np.concatenate([frames[0].v, frames[0].w])
                total = total + 0.5 * (rates @ (obj.mass_matrix(frames) @ rates))
        return total

    def dissipation(self, units, q, v):
        total = 0.0
        for obj, frames, k in self._each("dissipation", units):
            if isinstance(obj, FreeJoint):
                dampings, values = obj._damped_coordinates(frames)
                rates = zip(dampings, _rates(units, values), strict=True)
                total = total + sum(0.5 * c * rate * rate for c, rate in rates)
            else:
                total = total + obj.dissipation(frames, q[k], v[k])
        return total

    def power(self, units, q, v, given):
        actual = (Given(frames, given.v[k]) for _, frames, k in self._each("power", given.frames))
        each = zip(actual, self._each("power", units), strict=True)
        return sum((obj.power(frames, q[k], v[k], own) for own, (obj, frames, k) in each), 0.0)

    def constraint(self, units, q):
        return [x for obj, frames, k in self._each("constraint", units) for x in obj.constraint(frames, q[k])]


def _dissipates(cls: type) -> bool:
    return cls.defines("dissipation") or issubclass(cls, FreeJoint)


def _undamped(obj: MObject) -> bool:
    return isinstance(obj, FreeJoint) and not any(obj.damping)


def _rates(units: Sequence, values: list) -> list:
    """How fast recorded values that depend on places change, where units move."""
    moving = {}
    for unit in units:
        for place, rate in ((unit.o, unit.v), *((u, _cross(unit.w, u)) for u in unit.U.T)):
            for v, along in zip(place.nodes.tolist(), rate.nodes.tolist(), strict=True):
                moving[v] = Expansion({0: along})
    record = values[0].record
    return [Recorded(record, record.by_variables(int(x.nodes), moving).get(0, record.zero)) for x in values]


def _moves(units: Sequence) -> bool:
    return bool(units) and isinstance(units[0], MovingFrame)


def _cross(a, b):
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
