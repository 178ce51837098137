"""All elements of one class: parameters and frames as arrays; energies, forces, stiffness and constraints in one call."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence

import numpy as np

from ..elements import laws
from ..elements.base import FramePose
from ..elements.definitions import of_mse
from ..elements.law_record import Places, Shape, bounded
from ..elements.recorded_laws import Together, derived, power_forces, split
from ..elements.records import GEOMETRIC, LOADED
from ..elements.variables import refuse_missing
from ..errors import ModelError
from ..kernels.jit import writable
from .columns import by_column, parameters_of
from .configuration import Configuration
from .flattening import Kind
from .topology import Topology

ALL = slice(None)
_CACHED = 50_000  # numbers in one portion


def parts_of_models(cls: type) -> tuple[str, ...]:
    """The parts of a class in models: a geometric one follows elastic ones, which terms of lever arms do not belong to.

    They are forces times second derivatives of positions, so they lose nothing.
    """
    parts = tuple(cls.parts)
    if cls.external or not cls.frame_names or GEOMETRIC in parts or not set(parts).difference(LOADED):
        return parts
    return (*parts, GEOMETRIC)


class Group:
    """All elements of one class: parameters and frame numbers as arrays, evaluated in one call if compiled.

    ``number`` is its place among the groups of its assembly.  A group merged from others by :func:`joined` has their
    ``numbers``, and ``slices`` says where their members are.
    """

    def __init__(self, topology: Topology, kind: Kind, number: int):
        self.number, self.numbers, self.slices = number, (number,), (ALL,)
        self.members = kind.members
        self.elements = [topology.elements[k] for k in kind.members]
        self.cls = cls = kind.cls
        self.frames = kind.frames
        self.internal = kind.internal
        self.parts = parts_of_models(cls)
        self.constraint_count = kind.constraint_count
        self._portions = self._in_portions()
        self.compiled = cls.kernel is not None or cls.constraint_kernel is not None
        objects = [el.obj for el in self.elements]
        together = by_column(objects) if self.compiled else None
        self.flows: np.ndarray | None = None  # steady rates (E, c) of internal coordinates, None where nothing flows
        self.spans = np.zeros(len(objects))
        if cls.defines("span"):
            self.spans[:] = [obj.span() for obj in objects] if together is None else together.span()
        if together is not None:
            columns = np.broadcast_arrays(*together.kernel_parameters())
            self.parameters = np.ascontiguousarray(np.stack(columns, axis=1), dtype=float)
        elif self.compiled:
            self.parameters = parameters_of(objects)
        shape = Shape(self.frames.shape[1], self.internal.shape[1])
        shapes = {
            "energy": shape,
            "constraint": shape._replace(values=kind.constraint_count),
            "power": shape.of("power"),
        }
        if cls.effort_names and not of_mse(cls):
            for obj in objects:
                refuse_missing(obj)
        self._records = {law: Together(objects, law, own) for law, own in shapes.items() if derived(cls, law)}

    def records(self, law: str) -> Together | None:
        """The records of a law of all elements; None where mse takes no derivatives of it."""
        return self._records.get(law)

    # -- steady flows -----------------------------------------------------------------------------------------
    def carrying(self, flows: np.ndarray) -> Group:
        """The same group with steady flows, rates (k,) of all internal coordinates of the system."""
        if not self.cls.carries():
            return self
        own = flows[self.internal]
        if self.flows is None and not own.any():
            return self
        new = copy.copy(self)
        new.flows = own if own.any() else None
        return new

    def _rates(self, part: slice) -> np.ndarray:
        """Steady rates of the coordinates (E, n) of members; frames rest."""
        own = self.flows[part]
        return np.hstack([np.zeros((len(own), 6 * self.frames.shape[1])), own])

    def velocities(self, rates: np.ndarray) -> np.ndarray:
        """Velocities (E, n) of the coordinates of members whose frames rest, at rates (k,) of all internal coordinates."""
        return np.hstack([np.zeros((len(self.members), 6 * self.frames.shape[1])), rates[self.internal]])

    def _add_flows(
        self, at: Configuration, order: int, part: slice, gradient: np.ndarray, stiffness: np.ndarray
    ) -> np.ndarray:
        """Add ``D_v - dT/dx`` of steady flows to gradients (E, n), ``-d2T/dx2`` to the first part of the stiffness (E, p, n, n).

        Returns energies (E,): minus the coenergy, and efforts of resistances times their charges.
        """
        rates, rows, inner = self._rates(part), self.columns(at, part), at.q[self.internal[part]]
        energy = np.zeros(len(rates))
        if self.cls.defines("kinetic"):
            values, slopes, second = self._together("coenergy").evaluate(rows, rates, order, part)
            energy -= values[:, 0]
            if order:
                gradient -= slopes[:, 0]
            if order == 2:
                stiffness[:, 0] -= second
        efforts = self.resisted(at, part, rates)[0]
        if order:
            gradient += efforts
        return energy + np.einsum("ek,ek->e", efforts[:, efforts.shape[1] - inner.shape[1] :], inner)

    def _together(self, law: str) -> Together:
        if law not in self._records:
            shape = Shape(self.frames.shape[1], self.internal.shape[1]).of(law)
            self._records = self._records | {law: Together([el.obj for el in self.elements], law, shape)}
        return self._records[law]

    def resisted(self, at: Configuration, part: slice, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slopes (E, n) of contents by velocities at some rates (E, n), and second derivatives (E, n, n)."""
        n = rates.shape[1]
        if self.cls.defines("dissipation"):
            values, by_places, slopes = self._together("drag").evaluate(self.columns(at, part), rates, 2, part)
            self._refuse_places(by_places[:, 1:], part)
            return values[:, 1:], slopes
        none = np.zeros((len(rates), n)), np.zeros((len(rates), n, n))
        if not self.cls.defines("damping_matrix"):
            return none
        found = laws.matrices([el.obj for el in self.elements[part]], "damping_matrix", self.places(at, part), n)
        return none if found is None else (np.einsum("eij,ej->ei", found, rates), found)

    def _refuse_places(self, slopes: np.ndarray, part: slice) -> None:
        """Refuse contents whose efforts have slopes (E, n, n) by positions where something flows."""
        if slopes.any():
            k = range(len(self.members))[part][int(slopes.any(axis=(1, 2)).argmax())]
            raise ModelError(
                f"{self.elements[k].obj.label}: its dissipation depends on positions or charges while a steady flow passes it; "
                "expected one that depends on velocities alone; keep its resistance constant, or take the flow away"
            )

    def momenta(self, at: Configuration, rates: np.ndarray) -> np.ndarray:
        """Slopes (E, n) of kinetic coenergies by velocities, at some rates (E, n)."""
        if not self.cls.defines("kinetic"):
            return np.zeros_like(rates)
        return self._together("momenta").evaluate(self.columns(at), rates, 1)[0][:, 1:]

    def masses(self, at: Configuration, rates: np.ndarray) -> np.ndarray:
        """Second derivatives (E, n, n) of kinetic coenergies by velocities, at some rates (E, n)."""
        return self._together("kinetic").evaluate(self.columns(at), rates, 2)[2]

    def powered(self, at: Configuration, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By how much forces (E, n) of powers differ at some rates (E, n) from those at rest, and their slopes (E, n, n)."""
        rows, none = self.columns(at), np.zeros_like(rates)
        forces, _, slopes = self._records["power"].evaluate(rows, np.hstack([none, rates]), 2)
        return forces - power_forces(self._records["power"], rows, 1)[0], slopes

    def by_rates(self, at: Configuration) -> np.ndarray:
        """Slopes (E, n, n) of forces, as in gradients, by the velocities of steady flows."""
        rates = np.zeros((len(self.members), 6 * self.frames.shape[1] + self.internal.shape[1]))
        if self.flows is not None:
            rates = self._rates(ALL)
        found = self.resisted(at, ALL, rates)[1]
        if self.cls.defines("kinetic"):
            momenta = self._together("momenta").evaluate(self.columns(at), rates, 1)[1]
            found = found - momenta[:, 1:].transpose(0, 2, 1)
        return found - self.powered(at, rates)[1] if self.cls.defines("power") else found

    @property
    def notes(self) -> list[str]:
        """Notes for users on how these elements were evaluated."""
        return [note for together in self._records.values() for note in together.notes]

    def softened(self, ratio: float, load: float) -> Group:
        """The same group with every mechanism at most ``ratio`` times as stiff as its element's softest, under that load (N)."""
        if not self.compiled:
            return self
        new = copy.copy(self)
        new.parameters = parameters_of([el.obj.softened(ratio, load) for el in self.elements])
        return new

    @property
    def without_energy(self) -> np.ndarray:
        """Which members exert forces without an energy (E,), not counting powers."""
        return np.array([not el.obj.conservative for el in self.elements])

    def beside(self, count: int, frames: int, internal: int) -> Group:
        """So many of its members' copies one after the other, each on its own ``frames`` and ``internal`` coordinates."""
        new = copy.copy(self)
        new.members, new.elements = self.members * count, self.elements * count
        new.frames = np.concatenate([self.frames + k * frames for k in range(count)])
        new.internal = np.concatenate([self.internal + k * internal for k in range(count)])
        if self.compiled:
            new.parameters = np.tile(self.parameters, (count, 1))
        objects = [el.obj for el in new.elements]
        new._records = {law: Together(objects, law, own.shape) for law, own in self._records.items()}
        return new

    def update(self, numbers: Sequence[int]) -> None:
        """Read the parameters of some members again, into new arrays, since other groups share the old ones."""
        self.spans = self.spans.copy()
        for k in numbers:
            self.spans[k] = self.elements[k].obj.span()
        if self.compiled:
            self.parameters = self.parameters.copy()
            for k in numbers:
                self.parameters[k] = self.elements[k].obj.kernel_parameters()
        objects = [el.obj for el in self.elements]
        self._records = {law: together.changed(numbers, objects) for law, together in self._records.items()}

    def _frame_poses(self, o: np.ndarray, u: np.ndarray) -> list[list[FramePose]]:
        """The poses of the frames of each member, from the poses of all frames."""
        return [[FramePose(o[f], u[f]) for f in frames] for frames in self.frames]

    def initial_memory(self, o: np.ndarray, u: np.ndarray) -> np.ndarray:
        if not self.elements[0].obj.memory_size:
            return np.zeros((len(self.members), 0))
        if self.cls.follow is not None and not self.cls.defines("remember"):
            return self.followed(o, u, np.zeros((len(self.members), self.cls.memory_size)))
        poses = self._frame_poses(o, u)
        return np.array([el.obj.remember(frames) for el, frames in zip(self.elements, poses, strict=True)])

    def followed(self, o: np.ndarray, u: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """The memory after the frames have moved to origins o and orientations u."""
        if not memory.shape[1]:
            return memory
        if self.cls.follow is None:
            remembering = zip(self.elements, self._frame_poses(o, u), memory, strict=True)
            return np.array([el.obj.recall(frames, own) for el, frames, own in remembering])
        memory = memory.copy()
        self.cls.follow(self.parameters, u.take(self.frames, axis=0), memory)
        return memory

    @property
    def alike(self) -> Hashable:
        """Kernels and shapes: groups for which these are equal, even of different classes, can be evaluated in one call."""
        cls = self.cls
        if cls.constraint_kernel is None or cls.kernel is None or cls.defines("power"):
            return self.number
        shapes = self.frames.shape[1], self.internal.shape[1], self.parameters.shape[1], cls.memory_size
        return cls.kernel, cls.constraint_kernel, cls.follow, tuple(cls.parts), cls.adds_parts, cls.external, *shapes

    def memories(self, of_groups: Sequence[np.ndarray], part: slice = ALL) -> np.ndarray:
        """The memories (E, m) of its members, or of some of them, taken from those of all groups."""
        if len(self.numbers) == 1:
            return writable(of_groups[self.number][part])
        first, end, _ = part.indices(len(self.members))
        among = zip(self.numbers, self.slices, strict=True)
        return np.concatenate([of_groups[k][max(first - s.start, 0) : max(end - s.start, 0)] for k, s in among])

    def constrain(
        self, at: Configuration, multipliers: np.ndarray, order: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Residuals (E, m), their slopes (E, m, n), and for order 2 the sum of multiplier times curvature (E, n, n)."""
        memory = self.memories(at.memory)
        count, nodes = self.frames.shape
        n, m = 6 * nodes + self.internal.shape[1], self.constraint_count
        residual, jacobian, hessian = np.zeros((count, m)), np.zeros((count, m, n)), np.zeros((count, n, n))
        if self.cls.constraint_kernel is not None:
            given = at.o.take(self.frames, axis=0), at.U.take(self.frames, axis=0), memory, multipliers
            self.cls.constraint_kernel(self.parameters, *given, order, residual, jacobian, hessian)
            return residual, jacobian, hessian

        if (records := self.records("constraint")) is not None:
            found = records.evaluate(self.columns(at), multipliers, order)
            return tuple(
                own if own.size else none for own, none in zip(found, (residual, jacobian, hessian), strict=True)
            )
        for k, (el, (frames, inner)) in enumerate(zip(self.elements, self.places(at), strict=True)):
            found = el.obj.constraint_terms(frames, inner, memory[k], multipliers[k], order)
            shapes = [np.shape(a) for a in found]
            if shapes != [(m,), (m, n), (n, n)]:
                raise ModelError(
                    f"{el.obj.label}: its constraint_terms have shapes {shapes}; expected {[(m,), (m, n), (n, n)]}: residuals, "
                    "slopes, weighted second derivatives"
                )
            residual[k], jacobian[k], hessian[k] = found
        return residual, jacobian, hessian

    def curvatures(self, at: Configuration) -> tuple[np.ndarray, np.ndarray]:
        """Slopes (E, m, n) of constraints, and the curvature (E, m, n, n) of each of them."""
        count, m = len(self.frames), self.constraint_count
        n = 6 * self.frames.shape[1] + self.internal.shape[1]
        # as of so many elements with one constraint each: one call takes less time than m
        each, units = np.repeat(np.arange(count), m), np.tile(np.eye(m), (count, 1))
        if self.cls.constraint_kernel is not None:
            frames, memory = self.frames[each], self.memories(at.memory)[each]
            residual, slopes, found = np.zeros((len(each), m)), np.zeros((len(each), m, n)), np.zeros((len(each), n, n))
            given = self.parameters[each], at.o.take(frames, axis=0), at.U.take(frames, axis=0), memory, units
            self.cls.constraint_kernel(*given, 2, residual, slopes, found)
        elif (records := self.records("constraint")) is not None:
            _, slopes, found = records.evaluate(self.columns(at)[each], units, 2, each)
        else:
            rows = [self.constrain(at, np.tile(unit, (count, 1)), 2)[1:] for unit in np.eye(m)]
            return rows[0][0], np.stack([curvature for _, curvature in rows], axis=1)
        return slopes[::m], found.reshape(count, m, n, n)

    def portions(self, order: int) -> list[slice]:
        """Slices of members whose matrices (parts added up) fit in the processor's cache together."""
        return self._portions[order == 2]

    @property
    def _adds_parts(self) -> bool:
        """Whether the parts add up as they are evaluated."""
        return self.cls.adds_parts or len(self.cls.parts) == 1

    def _in_portions(self) -> list[list[slice]]:
        """Portions without stiffness, and with it."""
        size, parts = 6 * self.frames.shape[1] + self.internal.shape[1], 1 if self._adds_parts else len(self.parts)
        steps = (max(1, _CACHED // numbers) for numbers in (size, size * (1 + parts * size)))
        return [[slice(k, k + step) for k in range(0, len(self.members), step)] for step in steps]

    def evaluate(
        self, at: Configuration, order: int, load_factor: float = 1.0, part: slice = ALL, *, summed: bool = False,
        follower_factor: float = 1.0,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """Energies (E,), gradients (E, n) and stiffness parts (E, p, n, n); the latter are empty below order 2.

        ``load_factor`` multiplies weights and loads, ``follower_factor`` the forces of powers; ``part`` selects members.
        ``summed`` adds the parts up, (E, 1, n, n).
        """
        found = self._evaluate(at, load_factor * at.gravity, order, part, summed and self._adds_parts)
        if self.cls.defines("power") and order and follower_factor:
            rates = 0.0 if self.flows is None else self._rates(part)
            forces, field = power_forces(self._records["power"], self.columns(at, part), order, part, rates)
            found[1][:] -= follower_factor * forces
            if order == 2:
                found[2][:, 0] += follower_factor * field
        if self.flows is not None:
            found[0][:] += self._add_flows(at, order, part, *found[1:])
        if order == 2 and not summed and self.cls.defines("elastic_parts"):
            energy = found[2][:, int(self.cls.has_field()) :]
            for k, parts in zip(range(len(self.members))[part], energy, strict=True):
                parts[:] = split(self.elements[k].obj, at.frames(self.frames[k]), parts)
        if summed and found[2].shape[1] > 1:
            found = (*found[:2], found[2].sum(axis=1, keepdims=True))
        if self.cls.external and load_factor != 1.0:
            return tuple(load_factor * a for a in found)
        return found

    def _evaluate(self, at: Configuration, gravity: np.ndarray, order: int, part: slice, together: bool):
        chosen = self.frames[part]
        count, nodes = chosen.shape
        n = 6 * nodes + self.internal.shape[1]
        parts, sides = 1 if together else len(self.parts), n if order == 2 else 0
        energy, gradient, stiffness = np.zeros(count), np.zeros((count, n)), np.zeros((count, parts, sides, sides))
        if not self.cls.has_energy():
            return energy, gradient, stiffness
        # the power's stiffness goes to the first part, terms of lever arms to the last one
        whole, energies = stiffness, ALL if together else slice(int(self.cls.has_field()), len(self.cls.parts))
        if not together and (own := len(range(parts)[energies])) < parts:
            stiffness = np.zeros((count, own, sides, sides))
        if self.cls.kernel is not None:
            # take() gathers rows in a third of the time of indexing
            given = at.o.take(chosen, axis=0), at.U.take(chosen, axis=0), self.memories(at.memory, part)
            self.cls.kernel(self._numbers(at, part), *given, gravity, order, energy, gradient, stiffness)
        else:
            self._evaluate_laws(at, gravity, order, part, (energy, gradient, stiffness))
        if stiffness is not whole:
            whole[:, energies] = stiffness
        return energy, gradient, whole

    def _numbers(self, at: Configuration, part: slice) -> np.ndarray:
        """Parameters (E, P) of members for their kernel, with internal coordinates last where resting ones do not rest."""
        if self.cls.resting and at.q.any() and at.q[self.internal[part]].any():
            return np.hstack([self.parameters[part], at.q[self.internal[part]]])
        return self.parameters[part]

    def _evaluate_laws(self, at: Configuration, gravity: np.ndarray, order: int, part: slice, out: tuple) -> None:
        """Fill energies, gradients and stiffness parts by derivatives of the laws, or by what members have in their place."""
        energy, gradient, stiffness = out
        if (records := self.records("energy")) is not None:
            values, slopes, second = records.evaluate(self.columns(at, part), gravity, order, part)
            energy[:] = bounded(values[:, 0])
            if order >= 1:
                gradient[:] = slopes[:, 0]
            if order == 2:
                stiffness[:, 0] = second
            return
        for e, (el, (frames, inner)) in enumerate(zip(self.elements[part], self.places(at, part), strict=True)):
            found = laws.of_energy(el.obj, frames, inner, gravity, order)
            energy[e] = found[0]
            if order >= 1:
                gradient[e] = found[1]
            if order == 2:
                stiffness[e] = found[2]

    def places(self, at: Configuration, part: slice = ALL) -> Places:
        """Frames and internal coordinates of each member."""
        return [(at.frames(f), at.q[i]) for f, i in zip(self.frames[part], self.internal[part], strict=True)]

    def columns(self, at: Configuration, part: slice = ALL) -> np.ndarray:
        """Origins, orientations and internal coordinates of members, one row each."""
        chosen = self.frames[part]
        given = at.o[chosen], at.U[chosen], at.q[self.internal[part]]
        return np.concatenate([x.reshape(len(chosen), -1) for x in given], axis=1)


def alike(groups: Sequence[Group]) -> list[tuple[int, ...]]:
    """Numbers of the groups that are evaluated in one call, because their :attr:`Group.alike` is equal."""
    found: dict[Hashable, list[int]] = {}
    for g in groups:
        found.setdefault(g.alike, []).append(g.number)
    return [tuple(numbers) for numbers in found.values()]


def joined(groups: Sequence[Group]) -> Group:
    """Merge groups with equal :attr:`Group.alike`; if a group has fewer constraints, zeros fill up."""
    if len(groups) == 1:
        return groups[0]
    new, ends = copy.copy(groups[0]), np.cumsum([len(g.members) for g in groups]).tolist()
    new.numbers = tuple(g.number for g in groups)
    new.slices = tuple(slice(end - len(g.members), end) for g, end in zip(groups, ends, strict=True))
    new.members, new.elements = ([x for g in groups for x in getattr(g, name)] for name in ("members", "elements"))
    for name in ("frames", "internal", "parameters"):
        setattr(new, name, np.concatenate([getattr(g, name) for g in groups]))
    new.constraint_count = max(g.constraint_count for g in groups)
    new._portions = new._in_portions()
    return new
