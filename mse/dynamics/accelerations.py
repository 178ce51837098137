"""Equations of motion of a whole system: ``[M G'; G 0] (a, l) = (f - c, -v'(d2g)v)`` at any poses and velocities.

Unknowns are the accelerations a (n,) of bodies (o'', w', world axes, about their reference points) and of internal coordinates,
and the multipliers l of the constraints g, whose slopes are G; c are the forces of inertia that are there without accelerations
(:mod:`mse.dynamics.inertia`).  A frame at lever r moves by ``v + w x r``, and is accelerated by ``w x (w x r)`` more than a
and w' say.  Constraints may depend on each other.

What is known of a system at given poses comes from :class:`.Evaluation`; this module adds what depends on velocities.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..elements import laws
from ..kernels.assembling import shift_to_reference
from ..kernels.motions import cross
from ..model.assembly import Assembly
from ..model.configuration import Configuration, State
from ..model.evaluation import Evaluation, Measure
from ..model.groups import Group
from ..model.initial_poses import initial_poses
from ..model.topology import Topology
from ..numerics.options import SIZES
from ..numerics.rank import rank
from ..numerics.tangent import Tangent
from ..statics.coordinate_sizes import motion_scale, without_store
from ..statics.forces import joint_reactions
from .beside import Beside
from .constrained import Constrained
from .flows import FlowPart
from .inertia import GroupInertia
from .input_forces import InputForces
from .whole import Pull, Whole


class Inertia(NamedTuple):
    """M as rows, columns and values, which add up at equal places, and the forces of inertia c (n,) without accelerations."""

    entries: tuple[np.ndarray, np.ndarray, np.ndarray]
    force: np.ndarray


class Terms(NamedTuple):
    """What the equations consist of: M (n, n), f - c (n,), bends ``v'(d2g)v`` (m,), power (W) of dampers, and of other forces.

    M of a large system is sparse.
    """

    mass: np.ndarray | sp.csr_matrix
    force: np.ndarray
    bend: np.ndarray
    damped: float
    driven: float


class Equations:
    """A system as equations of motion, with ``parts``, the inertia of each group of its elements."""

    def __init__(self, topology: Topology, assembly: Assembly, inputs: InputForces | None = None):
        self.topology, self.assembly, self.size = topology, assembly, assembly.size
        forceful = {tuple(g.members): g for g in assembly.groups}
        moving = [kind for kind in topology.kinds if kind.cls.has_mass() or kind.cls.has_damping()]
        # classes that have nothing but mass or damping are in no assembly
        groups = [forceful.get(tuple(kind.members)) or Group(topology, kind, -1) for kind in moving]
        self.parts = [GroupInertia(g) for g in groups]
        self._rows = [assembly._coordinates(g) for g in groups]
        self._entries = [entries(rows) for rows in self._rows]
        # where forces do work: on all coordinates but efforts and states, whose forces are what is left of their equations
        efforts, states = assembly.variables()
        self._works = np.ones(self.size + 1)  # the last one is the ground
        self._works[self.size - topology.internal : self.size] = ~(efforts | states)
        self.flows = [FlowPart(topology, kind) for kind in topology.kinds if kind.cls.defines("flow_constraint")]
        self.inputs = InputForces(assembly, None) if inputs is None else inputs
        # how a run goes, which it says before its first step
        self.implicit = False  # whether steps are, so that stiffness and damping may hold what has no mass
        self.sparse = False  # whether these go by sparse matrices
        self.undecided = False  # whether some motion has neither mass nor force, where steps are implicit
        self.hidden = False  # whether some rates follow from inputs that change alone
        self.massless = False  # whether some motion that joints allow has no mass, as the first accelerations show
        self._beside: dict[int, Beside] = {}  # what evaluates so many states at once

    def beside(self, count: int) -> Equations:
        """So many copies beside each other: of all terms these have inertia and forces of elements."""
        new, a = copy.copy(self), self.assembly
        given = count, len(a.body), self.topology.internal
        groups = {id(g): g.beside(*given) for g in (*a.groups, *(p.group for p in self.parts))}
        new.assembly = a.beside([groups[id(g)] for g in a.groups], count)
        new.size, new.parts = new.assembly.size, [GroupInertia(groups[id(p.group)]) for p in self.parts]
        new._rows = [new.assembly._coordinates(p.group) for p in new.parts]
        new._entries = [entries(rows) for rows in new._rows]
        inner = 6 * (a.bodies - 1)
        new._works = np.concatenate([np.ones(count * inner), np.tile(self._works[inner:-1], count), np.ones(1)])
        return new

    def evaluation(self, state: State, time: float = 0.0) -> Evaluation:
        """The system in a state, with all that positions decide, and where motions are prescribed at a time (s)."""
        return self.evaluations([state], [time])[0]

    def followed(self, state: State) -> State:
        """The state with memories of elements brought to its poses, less than half a turn from where they were."""
        memory = self.assembly.followed(*self.topology.frame_poses(state.o, state.U), state.memory)
        return state._replace(memory=memory)

    def evaluations(self, states: Sequence[State], times: Sequence[float]) -> list[Evaluation]:
        """The same in some states."""
        targets = [self.inputs.targets(t) if self.inputs.motors else None for t in times]
        found = [
            Evaluation(self.assembly, s, measure=self.measure, targets=u) for s, u in zip(states, targets, strict=True)
        ]
        if self.whole is not None and self.whole.binds:
            pattern = self.assembly.constraint_pattern
            for here, residual, slopes in zip(found, *self.whole.constraints(states), strict=True):
                off = residual if here.targets is None else residual - here.targets
                here.constraint_entries = off, slopes[pattern.row, pattern.indices]
        return found

    @cached_property
    def whole(self) -> Whole | None:
        """The laws of the system as one; None where they are asked element by element."""
        groups = self.assembly.groups
        return Whole.of(self.topology, groups, self.parts, [g for g in groups if g.constraint_count])

    @cached_property
    def large(self) -> bool:
        """Whether masses are sparse matrices."""
        return self.size > SIZES.dense and self.whole is None

    @cached_property
    def measure(self) -> Measure:
        """What steps count for: turns by the size of the system, charges and the like by what is stored of them.

        Shapes count by what they displace, so that steps do not depend on how they are scaled.
        """
        t = self.topology
        found = Measure.of(self.assembly, t.frame_poses(*initial_poses(t))[0])
        if t.internal:
            at = Evaluation.initial(self.assembly).configuration
            scale = motion_scale(t, self.assembly, at, found.size)
            for part in self.parts:
                numbers, moved = part.shapes(at)
                scale[numbers] = moved
            found.metric[self.size - t.internal :] = scale
        return found

    @cached_property
    def without_store(self) -> list[tuple[np.ndarray, float]]:
        """Numbers of charges and the like that flow into no store of their own, by domain, and the effort that drives them."""
        return without_store(self.topology, self.assembly, Evaluation.initial(self.assembly).configuration)

    # -- frames -----------------------------------------------------------------------------------------------
    def frame_motions(self, at: Configuration, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Velocities (frames, 6) of all frames, and the accelerations (frames, 3) that they have by turning alone."""
        six, across = self._turning(at, v)
        w = six[:, 3:]
        return np.hstack([six[:, :3] + across, w]), cross(w, across)

    def frame_velocities(self, at: Configuration, v: np.ndarray) -> np.ndarray:
        """Velocities (frames, 6) of all frames."""
        six, across = self._turning(at, v)
        six[:, :3] += across
        return six

    def _turning(self, at: Configuration, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Velocities (frames, 6) of the bodies on which frames are, and what their turning adds at the frames (frames, 3)."""
        body = self.assembly.body
        six = np.zeros((self.assembly.bodies, 6))
        six[1:] = v[: 6 * (self.assembly.bodies - 1)].reshape(-1, 6)
        six = six.take(body, 0)
        return six, cross(six[:, 3:], at.o - at.reference.take(body, 0))

    def _own(self, g: Group, v: np.ndarray, moving: np.ndarray) -> np.ndarray:
        """Velocities (E, n) of the frames and internal coordinates of the elements of a group."""
        inner = v[6 * (self.assembly.bodies - 1) + g.internal]
        return np.concatenate([moving[g.frames].reshape(len(g.frames), -1), inner], axis=1)

    def _levers(self, g: Group, at: Configuration) -> np.ndarray:
        """From the reference points of bodies to the frames of elements (E, F, 3)."""
        return at.o[g.frames] - at.reference[self.assembly.body[g.frames]]

    # -- terms ------------------------------------------------------------------------------------------------
    def inertia_of(
        self, at: Configuration, v: np.ndarray, motions: tuple[np.ndarray, np.ndarray], parts: Sequence[GroupInertia]
    ) -> Inertia:
        moving, turning = motions
        force, found = np.zeros(self.size + 1), []  # the last one is the ground
        for part, rows, (at_entries, mine) in zip(self.parts, self._rows, self._entries, strict=True):
            if part.has_mass and part in parts:
                own = self._own(part.group, v, moving)
                m, c = part.masses(at, own)
                c = c + np.einsum("eij,ej->ei", m[:, :, : 6 * part.shape.frames], _by_turning(part.group, turning))
                levers, m = self._levers(part.group, at), m[:, None].copy()
                shift_to_reference(levers, 2, np.zeros_like(c), m)
                shift_to_reference(levers, 1, c, np.zeros((len(c), 1, 0, 0)))
                found.append((*at_entries, m[:, 0][mine]))
                np.add.at(force, rows, c)
        if not found:
            none = np.zeros(0, dtype=int)
            return Inertia((none, none, np.zeros(0)), force[:-1])
        row, column, value = map(np.concatenate, zip(*found, strict=True))
        return Inertia((row, column, value), force[:-1])

    def mass(self, here: Evaluation) -> np.ndarray | sp.csr_matrix:
        """M (n, n) in a state, sparse for a large system."""
        at, whole, rest = here.configuration, self.whole, np.zeros(self.size)
        parts = self.parts if whole is None else whole.heavy
        row, column, value = self.inertia_of(at, rest, self.frame_motions(at, rest), parts).entries
        if self.large:
            return sp.csr_matrix((value, (row, column)), shape=(self.size, self.size))
        out = np.zeros((self.size, self.size))
        np.add.at(out, (row, column), value)
        return out if whole is None else out + whole.mass(here.state)

    def pull(self, here: Evaluation, v: np.ndarray, time: float) -> Pull:
        """Masses and forces in a state, at velocities v (n,) and a time (s), of which inputs are functions."""
        found = self.pulls([here], v[None], [time])
        return Pull(found.mass[0], found.force[0], float(found.damped[0]), float(found.driven[0]))

    def pulls(self, here: Sequence[Evaluation], v: np.ndarray, times: Sequence[float]) -> Pull:
        """The same in some states, at velocities v (k, n)."""
        count, n, whole = len(v), self.size, self.whole
        if whole is None:
            mass = [sp.csr_matrix((n, n))] * count if self.large else np.zeros((count, n, n))
            total = Pull(mass, np.zeros((count, n)), np.zeros(count), np.zeros(count))
        else:
            total = whole.pulls([at.state for at in here], v, self.topology.gravity, self._works[:-1])
        if count not in self._beside:
            self._beside[count] = Beside(self, count)
        total = self._beside[count].added(total, [at.configuration for at in here], v)
        for k, (at, own, t) in enumerate(zip(here, v, times, strict=True) if self.inputs.names else ()):
            given = self.inputs.forces(t, at)
            total.force[k] += given
            total.driven[k] += given @ own
        return total

    def terms(self, here: Evaluation, v: np.ndarray, time: float) -> Terms:
        """All terms of the equations, likewise."""
        mass, force, damped, driven = self.pull(here, v, time)
        if self.whole is not None and self.whole.binds:
            bend = self.whole.bends(here.state, v)
        else:
            bend = self._bends(here.configuration, v)
        return Terms(mass, force, bend, damped, driven)

    def of_elements(
        self,
        at: Configuration,
        v: np.ndarray,
        groups: Sequence[Group],
        parts: Sequence[GroupInertia],
        moving: np.ndarray,
    ) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
        """The same without inputs, and powers element by element, with velocities of frames (frames, 6)."""
        force, damped, driven = np.zeros(self.size + 1), [], []  # the last one is the ground
        for g in groups:
            # powers come with the parts
            energy, gradient, _ = self.assembly.evaluate(g, at, 1, follower_factor=0.0)
            if not np.isfinite(energy).all():
                # where slopes may be finite, as behind a condition that returns no number
                gradient = np.full_like(gradient, np.nan)
            rows = self.assembly.rows[g.number]
            np.subtract.at(force, rows, gradient)
            if not g.cls.defines("power") and (without := g.without_energy).any():
                driven.append(-np.where(without, np.sum(gradient * np.append(v, 0.0)[rows], axis=1), 0.0))
        for part in parts:
            place = self._rows[self.parts.index(part)]
            if part.has_damping and (v.any() or part.has_power):
                own = self._own(part.group, v, moving)
                both = part.dampings(at, own)
                damped.append(np.sum(both * own, axis=1))
                if part.has_power:
                    power = part.powers(at, own)
                    driven.append(np.sum(power * own * self._works[place], axis=1))
                    both = both + power
                shift_to_reference(self._levers(part.group, at), 1, both, np.zeros((len(both), 1, 0, 0)))
                np.add.at(force, place, both)
        return force[:-1], damped, driven

    def _bends(self, at: Configuration, v: np.ndarray) -> np.ndarray:
        """``v'(d2g)v`` (m,) of all constraints, so that ``g'' = G a + v'(d2g)v``."""
        out = np.zeros(self.assembly.constraint_count)
        if not len(out) or not v.any():
            return out
        moving, turning = self.frame_motions(at, v)
        out = np.append(out, 0.0)  # the last one is of rows that joined groups fill up
        for g, numbers in zip(self.assembly.bound, self.assembly.constraint_pattern.numbers, strict=True):
            own, faster = self._own(g, v, moving), _by_turning(g, turning)
            slopes, curvatures = g.curvatures(at)
            bend = np.einsum("erij,ei,ej->er", curvatures, own, own)
            out[numbers] = bend + np.einsum("eri,ei->er", slopes[:, :, : faster.shape[1]], faster)
        return out[:-1]

    def flow_rows(self, here: Evaluation, v: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        """Rows A (f, n) of flow constraints, None without any, and ``(dA/dt) v`` (f,)."""
        if not self.flows:
            return None, np.zeros(0)
        at, n = here.configuration, self.size
        moving, turning = self.frame_motions(at, v)
        found, bends = [], []
        for part in self.flows:
            own, levers = self._own(part, v, moving), self._levers(part, at)
            rows, by_x, _ = part.terms(at, own)
            faster = _by_turning(part, turning)
            bend = np.einsum("eri,ei->er", by_x, own) + np.einsum("eri,ei->er", rows[:, :, : faster.shape[1]], faster)
            place = self.assembly._coordinates(part)
            whole = np.zeros((*rows.shape[:2], n + 1))  # the last one is the ground
            for k in range(levers.shape[1]):
                rows[:, :, 6 * k + 3 : 6 * k + 6] += cross(levers[:, None, k], rows[:, :, 6 * k : 6 * k + 3])
            elements, numbers = np.ogrid[: len(rows), : rows.shape[1]]
            np.add.at(whole, (elements[:, :, None], numbers[:, :, None], place[:, None]), rows)
            found.append(whole.reshape(-1, n + 1)[:, :n])
            bends.append(bend.ravel())
        return np.vstack(found), np.concatenate(bends)

    def accelerations(self, here: Evaluation, v: np.ndarray, time: float) -> tuple[np.ndarray, Terms]:
        """Accelerations (n,) in a state at velocities v (n,) and a time (s), and their terms; NaN where a law is undefined."""
        terms = self.terms(here, v, time)
        mass = terms.mass.data if sp.issparse(terms.mass) else terms.mass
        if not all(np.isfinite(x).all() for x in (terms.force, mass, terms.bend, here.constraint_entries[1])):
            return np.full(self.size, np.nan), terms
        rows, bend = self.flow_rows(here, v)
        system, right = Constrained(self, here, terms.mass, rows), -np.concatenate([terms.bend, bend])
        if not self.inputs.motors and not self.inputs.held:
            return system.solve(terms.force, right), terms
        right += self.inputs.accelerations(time)
        a = system.solve(terms.force, right)
        # only constraints that move do work
        return a, terms._replace(driven=terms.driven + float(v @ (terms.mass @ a - terms.force)))

    def drift(self, here: Evaluation, v: np.ndarray, time: float) -> np.ndarray:
        """Rates (m + f,) by which velocities v (n,) are off from what constraints, prescribed motions and flows allow."""
        along = here.slopes @ v if self.assembly.constraint_count else np.zeros(0)
        flows, _ = self.flow_rows(here, v)
        return (along if flows is None else np.append(along, flows @ v)) - self.inputs.rates(time)

    def rows(self, here: Evaluation, v: np.ndarray) -> np.ndarray:
        """Rows (m + f, n) of constraints and of flows on velocities."""
        held, (flows, _) = np.zeros((self.assembly.constraint_count, self.size)), self.flow_rows(here, v)
        if len(held):
            pattern = self.assembly.constraint_pattern
            held[pattern.row, pattern.indices] = here.constraint_entries[1]
        return held if flows is None else np.vstack([held, flows])

    def slipping(self, here: Evaluation, v: np.ndarray, time: float) -> float:
        """The largest speed (m/s) among those rates."""
        lengths = here.distances[1] if self.assembly.constraint_count else np.zeros(0)
        rows, _ = self.flow_rows(here, v)
        if rows is not None:
            lengths = np.append(lengths, self._lengths(rows))
        return float(np.abs(self.drift(here, v, time) / lengths).max())

    def _of_unit_length(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Measured rows (k, n) of unit length, and their lengths (k,)."""
        lengths = self._lengths(rows)
        return rows / self.measure.metric / lengths[:, None], lengths

    def _lengths(self, rows: np.ndarray) -> np.ndarray:
        """Lengths of measured rows (k, n), 1 for rows of zeros."""
        found = np.linalg.norm(rows / self.measure.metric, axis=1)
        return np.where(found == 0.0, 1.0, found)

    def holding(self, here: Evaluation, v: np.ndarray, time: float, left: np.ndarray | None = None) -> np.ndarray:
        """Multipliers of the constraints (m,), then of flow constraints (f,), at velocities v (n,) and a time (s).

        ``left`` (n,) is ``M a - f``, if it is known.
        """
        if left is None:
            acceleration, terms = self.accelerations(here, v, time)
            left = terms.mass @ acceleration - terms.force
        return self.multipliers(here, left, self.flow_rows(here, v)[0])

    def multipliers(self, here: Evaluation, left: np.ndarray, flows: np.ndarray | None = None) -> np.ndarray:
        """Multipliers of the constraints (m,), then of rows ``flows`` (f, n), that balance what is ``left`` (n,) by all others.

        They are the shortest ones where they are not unique.
        """
        if not self.assembly.constraint_count and flows is None:
            return np.zeros(0)
        if self.size > SIZES.dense:
            slopes, lengths = self.stacked(here, flows, sparse=True)
            tangent = Tangent(slopes, self.assembly.factors)
        else:
            tangent, lengths = self.tangent(here, flows)
        found = tangent.multipliers(left / self.measure.metric)
        if not tangent.dense:
            found = rank(tangent.slopes).shortest(found)
        return found / lengths

    def allowed(self, here: Evaluation, extra: np.ndarray | None = None) -> np.ndarray:
        """Measured motions (n, f), orthonormal, that all constraints allow, and ``extra`` rows (k, n)."""
        tangent, _ = self.tangent(here, extra)
        return np.eye(self.size) if tangent is None else tangent.basis

    def stacked(self, here: Evaluation, extra: np.ndarray | None, *, sparse: bool = False):
        """Measured slopes (m, n) of unit length of all constraints, with ``extra`` rows last, and their lengths (m,)."""
        slopes, lengths = sp.csr_matrix((0, self.size)) if sparse else np.zeros((0, self.size)), np.zeros(0)
        if self.assembly.constraint_count:
            slopes, lengths = here.constraints if sparse else here.dense_slopes, here.distances[1]
        if extra is not None:
            rows, own = self._of_unit_length(extra)
            slopes = sp.vstack([slopes, sp.csr_matrix(rows)], format="csr") if sparse else np.vstack([slopes, rows])
            lengths = np.append(lengths, own)
        return slopes, lengths

    def tangent(self, here: Evaluation, extra: np.ndarray | None = None) -> tuple[Tangent | None, np.ndarray]:
        """Measured motions that all constraints allow, and ``extra`` rows (k, n), None without any; lengths (m,) as of rows."""
        if extra is None and self.assembly.constraint_count:
            return here.dense_tangent, here.distances[1]
        slopes, lengths = self.stacked(here, extra)
        return Tangent(slopes, self.assembly.factors, dense=True) if len(slopes) else None, lengths


def entries(place: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Rows and columns of entries of matrices (E, k, k) at such places, and which of the entries are not on the ground."""
    rows, columns = np.broadcast_arrays(place[:, :, None], place[:, None, :])
    mine = (rows >= 0) & (columns >= 0)
    return (rows[mine], columns[mine]), mine


def _by_turning(group: Group, turning: np.ndarray) -> np.ndarray:
    """Accelerations (E, 6 F) of the frames of elements that levers give, without angular ones."""
    frames = group.frames
    return np.concatenate([turning[frames], np.zeros((*frames.shape, 3))], axis=2).reshape(len(frames), -1)


def all_reactions(
    equations: Equations, here: Evaluation, multipliers: np.ndarray, of_flows: np.ndarray
) -> dict[str, np.ndarray]:
    """Reaction outputs of joints and of all that constrains velocities, from multipliers of constraints (m,) and flows (f,)."""
    a, at, first = equations.assembly, here.configuration, 0
    found = joint_reactions(a, at, multipliers)
    held = {el.path: n for g in a.groups for el, n in zip(g.elements, a.constraint_rows(g), strict=True)}
    for part in equations.flows:
        for el in part.elements:
            own = multipliers[held[el.path]] if el.path in held else np.zeros(0)
            given = np.concatenate([own, of_flows[first : first + part.count]])
            first += part.count
            if el.obj.reaction_outputs:
                found[el.path] = laws.reactions(el.obj, at.frames(el.frames)) @ given
    return found
