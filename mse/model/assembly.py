"""Energy, forces and stiffness of a whole system, added up from elements of one kind at a time in sparse form.

Coordinates: six for each rigid body (dx, dy, dz, ax, ay, az about its reference point, world axes), then the internal
coordinates of the elements.  A frame at lever arm r from the reference point has ``T = [[I, -[r]x], [0, I]]``; its force and
stiffness contribute ``T^T f`` and ``T^T K T``.  Because the arm turns with the body, the body's rotation block also gains
``-([f]x [r]x + [r]x [f]x)/2``, with f the force that the element exerts on the frame.
"""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..elements import laws
from ..errors import ModelError
from ..kernels.assembling import add_forces, add_slopes, shift_to_reference
from ..numerics.factor import Factors
from .carriers import Carriers
from .configuration import Configuration
from .groups import ALL, Group, alike, joined
from .pattern import Nodes, Pattern, Rows, StiffnessTerms, Sum, forceful
from .topology import Topology

# K.  With 200 and 3,000 tests/elements/test_heat.py passes.
_ROOM = 300.0


@dataclass(eq=False)
class Patterns:
    """Patterns that an assembly and its variants share; each is found on first use."""

    bodies: Pattern | None = None
    constraints: Rows | None = None
    linear: Any = None  # the linear model's pattern, kept here for :func:`mse.linear.pattern.linear_pattern`
    carriers: Carriers | None = None

    def __reduce__(self):
        return (
            Patterns,
            (),
        )  # other processes find the patterns again: pickled they are ten times as large as the system


class Assembly:
    """Carries element quantities from frames to bodies, which are units in statics and clusters in the linear model.

    ``body`` (frames,) is the number of each frame's body; 0 is the ground, which has no coordinates.  Each body rotates about
    its point in ``reference`` of the :class:`Configuration` where it is evaluated.
    """

    def __init__(self, topology: Topology, body: np.ndarray):
        self.topology = topology
        self.body = body
        self.bodies = int(body.max()) + 1
        self.size = 6 * (self.bodies - 1) + topology.internal
        self.groups = [Group(topology, kind, number) for number, kind in enumerate(forceful(topology))]
        self._alike = alike(self.groups)
        self.joined = self._joined()
        self._softened = np.inf
        self.flows = np.zeros(topology.internal)  # steady rates of internal coordinates
        self.steady = None  # the state of networks that no search moves, :class:`mse.statics.networks.Steady`
        self.rows = [self._coordinates(g) for g in self.groups]
        self._joined_rows = [self._coordinates(g) if len(g.numbers) > 1 else self.rows[g.number] for g in self.joined]
        self._bodies = {g.numbers: body[g.frames] for g in {*self.groups, *self.joined}}
        self.factors = Factors()  # fill-reducing orderings for matrices with the pattern of the stiffness
        self.patterns = Patterns()
        # number of the first constraint of each group
        self.first_constraint = np.cumsum([0, *(g.constraint_count * len(g.members) for g in self.groups)])
        self.constraint_count = int(self.first_constraint[-1])

    def _coordinates(self, group: Group) -> np.ndarray:
        """Coordinate number (E, n) of each element coordinate; -1 on the ground."""
        first = 6 * (self.body[group.frames] - 1)
        rows = (first[..., None] + np.arange(6)).reshape(len(first), -1)
        rows[np.repeat(first < 0, 6, axis=1)] = -1
        return np.hstack([rows, 6 * (self.bodies - 1) + group.internal])

    @property
    def pattern(self) -> Pattern:
        """Where each element entry goes in the sparse matrices; found once, at the first total."""
        if self.patterns.bodies is None:
            self.patterns.bodies = Pattern(Nodes.of(self.topology, self.body))
        return self.patterns.bodies

    @property
    def carriers(self) -> Carriers:
        """Which bodies hang on a single other one; found once, when a search first takes steps along curves."""
        if self.patterns.carriers is None:
            self.patterns.carriers = Carriers.of(self.body, forceful(self.topology), self.bodies)
        return self.patterns.carriers

    def evaluate(
        self,
        g: Group,
        at: Configuration,
        order: int,
        load_factor: float = 1.0,
        part: slice = ALL,
        *,
        summed: bool = False,
        follower_factor: float = 1.0,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One group in body coordinates: energies (E,), gradients (E, n), stiffness parts (E, p, n, n), lever terms last.

        ``summed`` adds the parts up first, which is faster: (E, 1, n, n).  ``follower_factor`` multiplies the forces of powers.
        """
        found = g.evaluate(at, order, load_factor, part, summed=summed, follower_factor=follower_factor)
        energy, gradient, stiffness = found
        shift_to_reference(self.levers(g, at, part), order, gradient, stiffness)
        return energy, gradient, stiffness

    def bodies_of(self, group: Group) -> np.ndarray:
        """Numbers (E, F) of the bodies that the frames of elements are on."""
        return self._bodies[group.numbers]

    def levers(self, group: Group, at: Configuration, part: slice = ALL) -> np.ndarray:
        """Vectors from bodies' reference points to the frames of elements on them (E, F, 3)."""
        frames, bodies = group.frames[part], self._bodies[group.numbers][part]
        return at.o.take(frames, axis=0) - at.reference.take(bodies, axis=0)

    def changed(self, topology: Topology, paths: Collection[str]) -> Assembly:
        """The same assembly with the elements at some paths taken from another topology; all patterns are shared."""
        groups = list(self.groups)
        numbers = {topology.places[path] for path in paths if path in topology.places}
        for at, g in enumerate(self.groups):
            touched = [bisect_left(g.members, k) for k in sorted(numbers.intersection(g.members))]
            if touched:
                g = groups[at] = copy.copy(g)
                g.elements = list(g.elements)
                for k in touched:
                    g.elements[k] = topology.elements[g.members[k]]
                g.update(touched)
        return self.with_groups(topology, groups)

    def with_groups(self, topology: Topology, groups: list[Group]) -> Assembly:
        """The same assembly with other groups of the same elements; all patterns are shared."""
        new = copy.copy(self)
        new.topology, new.groups = topology, groups
        new.joined = new._joined()
        return new

    def carrying(self, flows: np.ndarray, steady: Any = None) -> Assembly:
        """The same assembly with steady flows, the rates (k,) of all internal coordinates, and networks in a ``steady`` state."""
        if steady is None and self.steady is None and np.array_equal(flows, self.flows):
            return self
        new = self.with_groups(self.topology, [g.carrying(flows) for g in self.groups])
        new.flows, new.steady = flows, steady
        return new

    def beside(self, groups: list[Group], count: int) -> Assembly:
        """So many copies of it beside each other, in which ``groups``, made by :meth:`Group.beside`, are evaluated alone."""
        new, own = copy.copy(self), self.bodies - 1
        new.groups = groups
        new.body = np.concatenate([np.where(self.body, self.body + k * own, 0) for k in range(count)])
        new.bodies, new.size = 1 + count * own, count * self.size
        new.rows = [new._coordinates(g) for g in groups]
        new._bodies = {g.numbers: new.body[g.frames] for g in groups}
        return new

    def variables(self) -> tuple[np.ndarray, np.ndarray]:
        """Which internal coordinates (k,) are efforts of laws, and which are states."""
        efforts, states = np.zeros((2, self.topology.internal), dtype=bool)
        for g in self.groups:
            first = g.internal.shape[1] - len(g.cls.state_names)
            efforts[g.internal[:, first - len(g.cls.effort_names) : first]] = True
            states[g.internal[:, first:]] = True
        return efforts, states

    def initial_values(self) -> np.ndarray:
        """Internal coordinates (k,) at the beginning: zero but for temperatures, by which laws may divide."""
        if not self.topology.internal:
            return np.zeros(0)
        names = self.topology.coordinate_names[len(self.topology.coordinate_names) - self.topology.internal :]
        warm = self.variables()[0] & np.array([getattr(name, "unit", "") == "K" for name in names], dtype=bool)
        return np.where(warm, _ROOM, 0.0)

    def _joined(self) -> list[Group]:
        """The groups, merged if one call evaluates them together."""
        return [joined([self.groups[k] for k in numbers]) for numbers in self._alike]

    def followed(self, o: np.ndarray, u: np.ndarray, memory: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """The memories of all groups after frames have moved to origins o and orientations u."""
        found = list(memory)
        for g in self.joined:
            if memory[g.number].shape[1]:
                new = g.followed(o, u, g.memories(memory))
                for k, part in zip(g.numbers, g.slices, strict=True):
                    found[k] = new[part]
        return tuple(found)

    # -- constraints ------------------------------------------------------------------------------------------
    def constraint_weights(self, arm: float, length: np.ndarray) -> np.ndarray:
        """Factor on each constraint (m,) that makes all residuals displacements (m): rotations are multiplied by an arm.

        Residuals of unknown unit are divided by the ``length`` (m,) of their slopes.
        """
        out = 1.0 / length
        for g in self.groups:
            if g.constraint_count:
                for el, numbers in zip(g.elements, self.constraint_rows(g), strict=True):
                    for number, unit in zip(numbers, laws.constraint_units(el.obj, g.constraint_count), strict=True):
                        out[number] = {"rad": arm, "m": 1.0}.get(unit, out[number])
        return out

    def constraint_rows(self, g: Group) -> np.ndarray:
        """Constraint numbers (E, m) of a group."""
        count = len(g.members) * g.constraint_count
        return self.first_constraint[g.number] + np.arange(count).reshape(len(g.members), g.constraint_count)

    def constraint_labels(self) -> list[str]:
        """The object of every constraint, as named in messages."""
        return [el.obj.label for g in self.groups for el in g.elements for _ in range(g.constraint_count)]

    @property
    def bound(self) -> list[Group]:
        """The groups that have constraints, merged."""
        return [g for g in self.joined if g.constraint_count]

    @property
    def constraint_pattern(self) -> Rows:
        """Where the slopes of constraints go in their matrix; found once."""
        if self.patterns.constraints is None:
            numbers = [np.full((len(g.frames), g.constraint_count), self.constraint_count) for g in self.bound]
            for g, own in zip(self.bound, numbers, strict=True):
                for k, part in zip(g.numbers, g.slices, strict=True):
                    own[part, : self.groups[k].constraint_count] = self.constraint_rows(self.groups[k])
            coordinates = [r for g, r in zip(self.joined, self._joined_rows, strict=True) if g.constraint_count]
            self.patterns.constraints = Rows(numbers, coordinates, self.constraint_count, self.size)
        return self.patterns.constraints

    def constraint_entries(self, at: Configuration) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (m,) of all constraints, and their slopes as entries of the :attr:`constraint_pattern`."""
        rows = self.constraint_pattern
        residual, entries = np.zeros(self.constraint_count + 1), np.zeros(len(rows.indices) + 1)
        for g, numbers, places in zip(self.bound, rows.numbers, rows.places, strict=True):
            residual[numbers], slopes, _ = g.constrain(at, np.zeros(numbers.shape), 1)
            add_slopes(self.levers(g, at), places, slopes, entries)
        return residual[:-1], entries[:-1]

    def constraints(self, at: Configuration) -> tuple[np.ndarray, sp.csr_matrix]:
        """Residuals (m,) of all constraints and their slopes (m, n) by the coordinates of the bodies."""
        residual, entries = self.constraint_entries(at)
        return residual, self.constraint_pattern.matrix(entries)

    def reaction_stiffness(self, at: Configuration, multipliers: np.ndarray) -> dict[int, np.ndarray]:
        """``d(G^T multipliers)/dx`` (E, 1, n, n) by group number, about the bodies' reference points; ``multipliers`` (m,)."""
        found = self.reactions(at, multipliers)
        shifted = ((g, self._shifted(g, at, f, k)) for g, f, k in found)
        return {k: stiffness[part] for g, stiffness in shifted for k, part in zip(g.numbers, g.slices, strict=True)}

    def reactions(self, at: Configuration, multipliers: np.ndarray) -> Iterator[tuple[Group, np.ndarray, np.ndarray]]:
        """Groups with constraints, their reactions (E, n) and the stiffness (E, 1, n, n) of these, at frames."""
        rows = self.constraint_pattern.numbers if self.constraint_count else ()
        for g, numbers in zip(self.bound, rows, strict=True):
            given = np.append(multipliers, 0.0)[numbers]
            _, slope, curvature = g.constrain(at, given, 2)
            yield g, np.einsum("er,ern->en", given, slope), curvature[:, None]

    def _shifted(self, g: Group, at: Configuration, gradient: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
        """Move a stiffness (E, 1, n, n) in place from frames to the bodies' reference points."""
        shift_to_reference(self.levers(g, at), 2, gradient, stiffness)
        return stiffness

    def reaction_total(self, at: Configuration, multipliers: np.ndarray) -> sp.csc_matrix:
        """``d(G^T multipliers)/dx`` (n, n) of all constraints: the stiffness by which their reactions turn with the frames."""
        total = Sum(self.pattern)
        for g, f, k in self.reactions(at, multipliers):
            total.add(g.numbers, self._shifted(g, at, f, k))
        return total.by_columns()

    def by_rates(self, at: Configuration) -> sp.csc_matrix:
        """Slopes (n, n) of forces, as in gradients, by velocities at its steady flows, of elements that something flows in."""
        total = Sum(self.pattern)
        for g in self.groups:
            if g.cls.carries():
                slopes = g.by_rates(at)[:, None]
                total.add(g.numbers, self._shifted(g, at, np.zeros((len(slopes), slopes.shape[-1])), slopes))
        return total.by_columns()

    @property
    def inductive(self) -> list[Group]:
        """Groups in which something flows that has a coenergy."""
        return [g for g in self.groups if g.cls.carries() and g.cls.defines("kinetic")]

    def fluxes(self, at: Configuration, rates: np.ndarray) -> np.ndarray:
        """Momenta (k,) of internal coordinates at their rates (k,), such as flux linkages; frames rest."""
        found = np.zeros(self.topology.internal)
        for g in self.inductive:
            np.add.at(found, g.internal, g.momenta(at, g.velocities(rates))[:, 6 * g.frames.shape[1] :])
        return found

    def inductances(self, at: Configuration, rates: np.ndarray) -> sp.csr_matrix:
        """Slopes (k, k) of :meth:`fluxes` by the rates (k,)."""
        found = sp.csr_matrix((self.topology.internal,) * 2)
        for g in self.inductive:
            inner, n = 6 * g.frames.shape[1], g.internal.shape[1]
            own = g.masses(at, g.velocities(rates))[:, inner:, inner:]
            at_rows, at_columns = np.repeat(g.internal, n, axis=1).ravel(), np.tile(g.internal, n).ravel()
            found = found + sp.coo_matrix((own.ravel(), (at_rows, at_columns)), found.shape)
        return found.tocsr()

    def softened(self, ratio: float, load: float) -> Assembly:
        """The same assembly with softened elements, see :meth:`Group.softened`; a ratio of ``inf`` softens nothing."""
        if ratio == self._softened == np.inf:
            return self
        groups = [g.softened(ratio, load) if g.cls.defines("softened") else g for g in self.groups]
        new = self.with_groups(self.topology, groups)
        new._softened = ratio
        return new

    def total(
        self,
        at: Configuration,
        order: int,
        strength: float = 1.0,
        load_factor: float = 1.0,
        follower_factor: float = 1.0,
        terms: StiffnessTerms | None = None,
    ) -> tuple[float, float, np.ndarray, np.ndarray, sp.csc_matrix | None]:
        """Sum over all elements: energy, sum of |energies|, gradient, sum of |gradients|, stiffness (csc) or None.

        ``strength`` scales everything except weights of rigid bodies and other loads, ``load_factor`` scales weights and loads,
        ``follower_factor`` scales forces without an energy.  An energy that is not finite is returned as NaN.
        ``terms`` take the elements that the stiffness is added up from.
        """
        sums, gradient, loads = np.zeros(2), np.zeros(self.size), np.zeros(self.size)
        stiffness = Sum(self.pattern) if order == 2 else None
        for g, rows in zip(self.joined, self._joined_rows, strict=True):
            factor = 1.0 if g.cls.external or g.cls.only_weighs() else strength
            for part in g.portions(order):
                e, f, k = g.evaluate(at, order, load_factor, part, summed=True, follower_factor=follower_factor)
                levers = self.levers(g, at, part)
                if terms is not None:
                    terms.take(g, part, levers, f, k)
                shift_to_reference(levers, order, f, k)
                weights = None if factor == 1.0 else np.array([[factor]])
                if follower_factor != 1.0:
                    share = np.where(g.without_energy[part], follower_factor, 1.0)[:, None]
                    f, weights = f * share, factor * share
                add_forces(factor, rows[part], order, e, f, sums, gradient, loads)
                if stiffness is not None:
                    stiffness.add(g.numbers, k, weights, part)
        energy, magnitude = sums.tolist()
        return energy, magnitude, gradient, loads, None if stiffness is None else stiffness.by_columns()

    def relative_motion(self, at: Configuration) -> sp.csc_matrix:
        """The matrix W (n, n) with ``x.W x`` the sum of squares (m2) by which elements' frames move relative to each other."""
        total = Sum(self.pattern)
        for g in self.groups:
            count, nodes = g.frames.shape
            own = np.zeros((6 * nodes + g.internal.shape[1],) * 2)
            against_first = np.hstack([-np.ones((nodes - 1, 1)), np.eye(nodes - 1)])
            apart = np.kron(against_first, np.eye(3, 6))
            own[: 6 * nodes, : 6 * nodes] = apart.T @ apart
            matrices = np.broadcast_to(own, (count, 1, *own.shape)).copy()
            shift_to_reference(self.levers(g, at), 2, np.zeros((count, len(own))), matrices)
            total.add(g.numbers, matrices)
        return total.by_columns()

    def force_terms(self, at: Configuration, strength: float = 1.0, load_factor: float = 1.0) -> np.ndarray:
        """Sum (n,) of the absolute terms in each force: forces of elements, and their stiffness times positions.

        Rounding of a force is a few eps of this sum.  Positions, the ground's too, are rounded to their spacing as numbers, and
        strains are differences of them.  Every axis of a frame counts with its largest coordinate, since arms and displacements
        of all axes were added up in it; rotations count with 1, the size of an orientation's entries.
        """
        out, sums, unused = np.zeros(self.size), np.zeros(2), np.zeros(self.size)
        outermost = np.abs(at.o).max(axis=1, initial=0.0)
        for g, rows in zip(self.groups, self.rows, strict=True):
            factor = 1.0 if g.cls.external or g.cls.only_weighs() else strength
            for part in g.portions(2):
                _, f, k = g.evaluate(at, 2, load_factor, part, summed=True)
                frames, levers = g.frames[part], np.abs(self.levers(g, at, part))
                places = np.ones((*frames.shape, 6))
                places[..., :3] = outermost[frames][..., None]
                places = np.hstack([places.reshape(len(frames), -1), np.abs(at.q[g.internal[part]])])
                terms = np.einsum("eij,ej->ei", np.abs(k[:, 0]), places) + np.abs(f)
                six = terms[:, : 6 * frames.shape[1]].reshape(*frames.shape, 6)
                for a in range(3):
                    b, c = (a + 1) % 3, (a + 2) % 3
                    six[..., 3 + a] += levers[..., b] * six[..., c] + levers[..., c] * six[..., b]
                add_forces(factor, rows[part], 1, np.zeros(len(frames)), terms, sums, out, unused)
        return out

    def loads(self, at: Configuration) -> np.ndarray:
        """Weights and loads (n,) on the bodies' coordinates at unit load factor."""
        out, weighed = np.zeros(self.size), bool(at.gravity.any())
        for g, rows in zip(self.groups, self.rows, strict=True):
            if not (g.cls.external or (weighed and g.cls.defines("gravity_energy"))):
                continue
            on = rows >= 0
            for factor in (1.0,) if g.cls.only_weighs() else (1.0, -1.0):
                pull = self.evaluate(g, at, 1, load_factor=0.5 + 0.5 * factor)[1]
                out -= factor * np.bincount(rows[on], pull[on], self.size)
        return out

    def refuse_undefined(self, at: Configuration) -> None:
        """Raise an error for the first element whose energy or derivatives are not finite at these poses."""
        for g in self.groups:
            energy = g.evaluate(at, 0)[0]
            for k in np.flatnonzero(~np.isfinite(energy)):
                g.elements[k].obj.check_frames(at.frames(g.frames[k]))
                raise ModelError(
                    f"{g.elements[k].obj.label}: its energy is {energy[k]} at the present poses of its frames; expected a "
                    "finite number"
                )
        for g in self.groups:
            _, forces, stiffness = g.evaluate(at, 2, summed=True)
            undefined = ~(np.isfinite(forces).all(axis=1) & np.isfinite(stiffness).all(axis=(1, 2, 3)))
            for k in np.flatnonzero(undefined):
                laws = "an energy that is smooth there (a rotation vector is not at half a turn)"
                if g.cls.effort_names or g.cls.state_names:
                    laws = "laws that are smooth there, such as v = exp(e) instead of log(v) = e, as efforts and flows begin at 0"
                raise ModelError(
                    f"{g.elements[k].obj.label}: one of its forces or stiffnesses is not a finite number at the present poses "
                    f"of its frames; expected {laws}; correct its law, or start elsewhere (at=...)"
                )
