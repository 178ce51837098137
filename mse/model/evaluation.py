"""A system in one state: energy, forces, stiffness and constraints, each computed once.

An :class:`Evaluation` keeps everything computed in its state.  The bodies of its assembly are units, which states move, or
clusters.  A :class:`Measure` defines the length of steps of the system; a search and a motion use different ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..kernels.jit import writable
from ..kernels.rotations import turn_all
from ..kernels.sizes import diameter
from ..numerics.precision import NOTHING
from ..numerics.sparse_tools import on_pattern, transposed_product
from ..numerics.tangent import Tangent, row_numbers, unit_lengths
from .assembly import Assembly
from .configuration import Configuration, State
from .flow_constraints import FlowConstraints, flow_constraints
from .initial_poses import initial_poses
from .pattern import StiffnessTerms

_BY_POSITIONS = "frame_poses", "constraint_entries", "slopes"  # these depend on positions only
_BY_MEASURE = "distances", "constraints"  # these also depend on the measure of steps


def model_size(assembly: Assembly, origins: np.ndarray) -> float:
    """A length (m) of a system with frames at origins (n, 3): its extent, or the length of its longest element if larger.

    Ground frames without an element do not count: the world's origin and sensors may be anywhere.
    """
    counts = assembly.topology.unit > 0
    for g in assembly.groups:
        counts[g.frames] = True
    extent = float(diameter(origins[counts]))
    extent = extent if extent > NOTHING * farthest(origins) else 0.0
    return max([extent, *(float(g.spans.max()) for g in assembly.groups)]) or 1.0


def farthest(origins: np.ndarray) -> float:
    """The largest coordinate (m) of bodies and of the places that they are linked to, from origins (n, 3) of all frames."""
    return float(np.abs(origins).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Measure:
    """How steps of a system are measured.

    ``moving`` (k,) numbers the coordinates that move, ``metric`` (k,) is the length in meters of one unit of each, ``size`` a
    length (m) of the system, and ``outermost`` the largest coordinate (m) of any position, whose spacing as a number decides its
    rounding.  Six coordinates of each of the ``bodies`` come first, then the ``internal`` ones.
    """

    moving: np.ndarray
    metric: np.ndarray
    size: float
    outermost: float
    bodies: int
    internal: int

    @classmethod
    def of(cls, assembly: Assembly, origins: np.ndarray) -> Measure:
        """The measure by displacements of frames, now at origins (n, 3): a rotation counts as that at the size of the system."""
        size, metric = model_size(assembly, origins), np.ones(assembly.size)
        metric[: 6 * (assembly.bodies - 1)].reshape(-1, 6)[:, 3:] = size
        count = assembly.topology.internal
        return cls(np.arange(assembly.size), metric, size, max(size, farthest(origins)), assembly.bodies - 1, count)

    @cached_property
    def whole(self) -> np.ndarray:
        """The metric of all coordinates (n,), infinite for those that do not move."""
        out = np.full(6 * self.bodies + self.internal, np.inf)
        out[self.moving] = self.metric
        return out

    @cached_property
    def turning(self) -> np.ndarray:
        """Which of the moving coordinates (k,) are rotations of bodies."""
        return (self.moving < 6 * self.bodies) & (self.moving % 6 >= 3)

    @cached_property
    def reach(self) -> np.ndarray:
        """Largest displacement (m) per meter of step along each coordinate (k,); rotations move points as far off as the size."""
        return np.where(self.turning, self.size / self.metric, 1.0)

    def turns(self, step: np.ndarray) -> np.ndarray:
        """The rotations (rad) of bodies in a step (k,)."""
        return step[self.turning] / self.metric[self.turning]


class Total(NamedTuple):
    """Sums over all elements: energy, sum of |energies|, gradient (n,), sum of |gradients| (n,), stiffness (n, n) or None."""

    energy: float
    magnitude: float
    gradient: np.ndarray
    load: np.ndarray
    stiffness: sp.csc_matrix | None


class Evaluation:
    """A system in a state, immutable.

    ``factors`` are those on elastic forces, on weights and loads, and on forces that come from no energy; ``frames`` the
    poses of all frames, where they are known.  Without a ``measure`` it is that by displacements of frames.  Constraints are
    held at ``targets`` (m,) in place of zero, where motions are prescribed.
    """

    def __init__(
        self,
        assembly: Assembly,
        state: State,
        factors: tuple[float, float, float] = (1.0, 1.0, 1.0),
        *,
        measure: Measure | None = None,
        frames: tuple[np.ndarray, np.ndarray] | None = None,
        targets: np.ndarray | None = None,
    ):
        self.assembly, self.state, self.factors, self.targets = assembly, state, factors, targets
        self._terms: StiffnessTerms | None = None
        if measure is not None:
            self.measure = measure
        if frames is not None:
            self.frame_poses = frames

    @classmethod
    def initial(cls, assembly: Assembly) -> Evaluation:
        """The system at the initial poses of its objects, where joints may be apart."""
        t = assembly.topology
        o, u = initial_poses(t)
        frames = t.frame_poses(o, u)
        memory = tuple(g.initial_memory(*frames) for g in assembly.groups)
        return cls(assembly, State(o, u, assembly.initial_values(), memory), frames=frames)

    @cached_property
    def measure(self) -> Measure:
        """The measure of steps."""
        return Measure.of(self.assembly, self.configuration.o)

    def measured(self, measure: Measure) -> Evaluation:
        """The same state with another measure of steps."""
        new = Evaluation(self.assembly, self.state, self.factors, measure=measure, targets=self.targets)
        return self._known_by(new, _BY_POSITIONS)

    def held_at(self, targets: np.ndarray | None) -> Evaluation:
        """The same state with constraints held at targets (m,)."""
        return Evaluation(self.assembly, self.state, self.factors, measure=self.measure, targets=targets)

    def under(self, assembly: Assembly, factors: tuple[float, float, float]) -> Evaluation:
        """The same state with other factors and an assembly with the same constraints, such as one with softened elements."""
        new = Evaluation(assembly, self.state, factors, measure=self.measure, targets=self.targets)
        return self._known_by(new, _BY_POSITIONS + _BY_MEASURE)

    def _known_by(self, new: Evaluation, names: tuple[str, ...]) -> Evaluation:
        """Give another evaluation what this one has computed under some names."""
        known, own = vars(self), vars(new)
        for name in names:
            if name in known:
                own[name] = known[name]
        return new

    # -- positions --------------------------------------------------------------------------------------------
    @cached_property
    def frame_poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Poses of all frames, from the poses of units."""
        return self.assembly.topology.frame_poses(self.state.o, self.state.U)

    @cached_property
    def configuration(self) -> Configuration:
        """Everything that elements depend on; clusters beyond links rotate about their unit's point."""
        t, s = self.assembly.topology, self.state
        reference = s.o if self.assembly.bodies == t.units else s.o[t.unit_of_cluster]
        return Configuration(*self.frame_poses, reference, s.q, s.memory, t.gravity)

    @property
    def farthest(self) -> float:
        """The largest coordinate (m) of any position of bodies and of what they are linked to."""
        return farthest(self.configuration.o)

    # -- energy and forces ------------------------------------------------------------------------------------
    def total(self, order: int) -> Total:
        """Energy and forces of all elements, and their stiffness for order 2."""
        return Total(*self.assembly.total(self.configuration, order, *self.factors))

    def total_with_terms(self, *, at_once: bool = False) -> Total:
        """:meth:`total` of order 2, which takes elements along for :meth:`stiffness_terms`; see :class:`.StiffnessTerms`."""
        self._terms = StiffnessTerms(self.assembly, self.configuration, self.factors, at_once=at_once)
        return Total(*self.assembly.total(self.configuration, 2, *self.factors, terms=self._terms))

    def with_reactions(self, stiffness: sp.csc_matrix, multipliers: np.ndarray) -> sp.csc_matrix:
        """A stiffness of all elements plus that of reactions, which has the same pattern, for multipliers (m,)."""
        if not self.assembly.constraint_count:
            return stiffness
        reactions = self.assembly.reaction_total(self.configuration, multipliers)
        return on_pattern(stiffness, stiffness.data + reactions.data)

    def forces(self, multipliers: np.ndarray) -> np.ndarray:
        """Slope (n,) of the energy plus the reactions of constraints for multipliers (m,)."""
        gradient = self.total(1).gradient
        if not self.assembly.constraint_count:
            return gradient
        return gradient + transposed_product(self.slopes, multipliers)

    @cached_property
    def loads(self) -> np.ndarray:
        """Weights and loads (n,) at unit load factor."""
        return self.assembly.loads(self.configuration)

    def force_terms(self) -> np.ndarray:
        """Sum (n,) of the absolute terms in each force; see :meth:`.Assembly.force_terms`."""
        return self.assembly.force_terms(self.configuration, *self.factors[:2])

    def stiffness_terms(self, multipliers: np.ndarray) -> tuple[sp.csc_matrix, np.ndarray]:
        """Sum (n, n) of the absolute terms of the stiffness, and their arms; see :meth:`.StiffnessTerms.summed`."""
        if self._terms is None:
            self._terms = StiffnessTerms(self.assembly, self.configuration, self.factors)
        return self._terms.summed(multipliers)

    def refuse_undefined(self) -> None:
        """Raise an error for the first element whose energy or derivatives are not finite here."""
        self.assembly.refuse_undefined(self.configuration)

    # -- constraints ------------------------------------------------------------------------------------------
    @cached_property
    def constraint_entries(self) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (m,) of all constraints, each in its own unit, and the entries of their slopes."""
        residual, entries = self.assembly.constraint_entries(self.configuration)
        return (residual if self.targets is None else residual - self.targets), entries

    @property
    def residual(self) -> np.ndarray:
        """Residuals (m,) of all constraints, each in its own unit."""
        return self.constraint_entries[0]

    @cached_property
    def slopes(self) -> sp.csr_matrix:
        """Slopes (m, n) of all constraints by all coordinates."""
        return self.assembly.constraint_pattern.matrix(self.constraint_entries[1])

    @cached_property
    def distances(self) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (m,) as distances, and the lengths (m,) of the measured slopes that they are divided by."""
        residual, entries = self.constraint_entries
        pattern = self.assembly.constraint_pattern
        length = unit_lengths(pattern.row, entries / self.measure.whole[pattern.indices], len(residual))
        return residual / length, length

    @cached_property
    def constraints(self) -> sp.csr_matrix:
        """Measured slopes (m, k) by the coordinates that move, normalized to unit length."""
        slopes, moving = self.slopes, self.measure.moving
        if len(moving) < slopes.shape[1]:
            slopes = slopes[:, moving]
        data = slopes.data / self.measure.metric[slopes.indices]
        return on_pattern(slopes, data / self.distances[1][row_numbers(slopes)])

    @cached_property
    def dense_slopes(self) -> np.ndarray:
        """:attr:`constraints` as an array (m, n), of systems whose coordinates all move."""
        pattern, length = self.assembly.constraint_pattern, self.distances[1]
        slopes = np.zeros((len(length), self.assembly.size))
        entries = self.constraint_entries[1] / self.measure.metric[pattern.indices] / length[pattern.row]
        slopes[pattern.row, pattern.indices] = entries
        return slopes

    @cached_property
    def dense_tangent(self) -> Tangent:
        """:meth:`tangent` with a basis and slopes as an array, at any size; of systems whose coordinates all move."""
        return Tangent(self.dense_slopes, self.assembly.factors, dense=True)

    def tangent(self) -> Tangent:
        """The motions that constraints allow, in measured coordinates."""
        return Tangent(self.constraints, self.assembly.factors)

    @cached_property
    def flows(self) -> FlowConstraints:
        """Rows of the flow constraints on velocities."""
        return flow_constraints(self.assembly, self.configuration)

    # -- motion of units --------------------------------------------------------------------------------------
    def moved(self, step: np.ndarray) -> Evaluation:
        """The evaluation after a measured step (k,) along a straight line."""
        units, inner = self._straight(step)
        return self._ended(units, inner)

    def displaced(self, step: np.ndarray) -> Evaluation:
        """:meth:`moved`, with unchanged memories."""
        units, inner = self._straight(step)
        return self.in_state(State(*units, self.state.q + inner, self.state.memory))

    def _straight(self, step: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        """Poses of units after a measured step (k,) along a straight line, and changes of internal coordinates."""
        motion, inner = self._motion(step)
        units = self.state.o + motion[:, :3], turn_all(writable(self.state.U), motion[:, 3:].copy())
        return units, inner

    def carried(self, step: np.ndarray) -> Evaluation:
        """The evaluation after a long step, in which bodies turn with what carries them; see :mod:`mse.model.carriers`."""
        motion, inner = self._motion(step)
        return self._ended(self.assembly.carriers.moved(self.state.o, self.state.U, motion[1:], self.axes), inner)

    def carried_whole(self, step: np.ndarray) -> Evaluation:
        """:meth:`carried`, but bodies carry along rigidly what hangs on them."""
        motion, inner = self._motion(step)
        return self._ended(self.assembly.carriers.moved_whole(self.state.o, self.state.U, motion[1:]), inner)

    def carried_on_screws(self, step: np.ndarray) -> Evaluation:
        """:meth:`carried`, but each body follows one screw of its carrier, so bodies that spin freely stay free."""
        motion, inner = self._motion(step)
        return self._ended(self.assembly.carriers.moved_on_screws(self.state.o, self.state.U, motion[1:]), inner)

    @cached_property
    def axes(self) -> np.ndarray:
        """Axes about which bodies are carried along; see :meth:`.Carriers.axes`."""
        six = (self.factors[1] * self.loads)[: 6 * (self.assembly.bodies - 1)].reshape(-1, 6)
        return self.assembly.carriers.axes(self.state.o, six[:, :3])

    def followed(self) -> Evaluation:
        """The same positions with updated memories: each takes the branch nearest to its old value."""
        memory = self.assembly.followed(*self.frame_poses, self.state.memory)
        return self._known_by(self.in_state(self.state._replace(memory=memory)), _BY_POSITIONS + _BY_MEASURE)

    def in_state(self, state: State) -> Evaluation:
        """The same system in another state."""
        return Evaluation(self.assembly, state, self.factors, measure=self.measure, targets=self.targets)

    def _ended(self, units: tuple[np.ndarray, np.ndarray], inner: np.ndarray) -> Evaluation:
        """The evaluation with units at other poses and changed internal coordinates, to which memories follow."""
        frames = self.assembly.topology.frame_poses(*units)
        state = State(*units, self.state.q + inner, self.assembly.followed(*frames, self.state.memory))
        return Evaluation(self.assembly, state, self.factors, measure=self.measure, frames=frames, targets=self.targets)

    def _motion(self, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Motions (units, 6) of units in a measured step (k,), and changes of internal coordinates."""
        units, whole = self.assembly.bodies, np.zeros(6 + self.assembly.size)
        whole[6:][self.measure.moving] = step / self.measure.metric
        return whole[: 6 * units].reshape(-1, 6), whole[6 * units :]
