"""The merit function of a system: energy, forces and constraints over its states, which searches lower or balance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from operator import is_
from typing import Any, NamedTuple, TypeVar, TypeVarTuple

import numpy as np
import scipy.sparse as sp

from ..errors import ModelError
from ..kernels.jit import writable
from ..kernels.rotations import turn_all
from ..model.assembly import Assembly
from ..model.configuration import Configuration, State
from ..model.flow_constraints import flow_constraints
from ..model.initial_poses import initial_poses
from ..model.topology import Topology
from ..numerics.options import SIZES
from ..numerics.precision import EPS
from ..numerics.rank import rank
from ..numerics.sparse_tools import on_pattern, scaled_both, transposed_product
from ..numerics.tangent import Tangent, normalized, row_numbers, slope_lengths, unit_lengths
from ..validation.arguments import LARGEST
from .coordinate_sizes import internal_scale
from .joint_assembly import put_together, restored
from .scales import (
    SPACING,
    TOO_COARSE,
    coordinate_scale,
    farthest,
    force_rounding,
    joint_arm,
    load_scale,
    model_size,
    searched_coordinates,
    step_metric,
    stiffness_rounding,
    total_force,
)
from .stability import Coordinates, Stability, analyze
from .stages import WHOLE, Stage

_NOISE = 4.0 * EPS  # of the sum of all energies: rounding of their total
# Of its slope at the start: below it a constraint has lost its slope (with a hundredth and a hundred times of it
# tests/statics/test_failures.py::test_a_constraint_that_has_lost_its_slope_is_written_through_zero passes).
_LOST = 1e-6
# what is kept for the last state and follows from positions alone
_BY_POSITIONS = ("frame_poses", "constraint_entries", "slopes_at", "distances", "constraints")


class Point(NamedTuple):
    """Everything evaluated at one state; ``gradient`` and ``stiffness`` contain the reactions of constraints.

    ``tangent`` are the motions that constraints allow, None where nothing constrains the system; ``multipliers`` (m,) those of
    their reactions, ``apart`` (m,) how far constraints are from where they hold, as distances.
    """

    state: State
    energy: float
    noise: float
    gradient: np.ndarray
    load: np.ndarray
    stiffness: sp.csc_matrix
    tangent: Tangent | None
    multipliers: np.ndarray
    apart: np.ndarray


Way = Callable[[State, np.ndarray], State]  # where a step leads from a state

T = TypeVar("T")
Where = TypeVarTuple("Where")  # a point, a state, or the arrays of one


def kept_for_last_point(of: Callable[[MeritFunction, *Where], T]) -> Callable[[MeritFunction, *Where], T]:
    """A function of a merit function and a point, a state, or arrays of one, that keeps what it has found for the last."""
    name = of.__name__

    @wraps(of)
    def kept(merit: MeritFunction, *where: *Where) -> T:
        last = merit._last.get(name)
        if last is None or not all(map(is_, last[0], where)):
            last = merit._last[name] = where, of(merit, *where)
        return last[1]

    return kept


@dataclass(frozen=True, eq=False)
class MeritFunction:
    """A system over its states: the coordinates in which they are searched, energy, forces and constraints; see :meth:`of`.

    ``scale`` (n,) is what one unit of each coordinate counts for in meters, ``metric`` (n searched,) the same for a step along
    those that are ``searched``, ``size`` a length (m) of the model, ``outermost`` the largest number (m) that positions are held
    by, on whose spacing their rounding depends, ``weights`` (n,) the loads on the coordinates,
    ``first_slopes`` (m,) the lengths of the constraints' slopes at the start; ``stage`` the factors on elastic forces, on
    loads, and on forces that come from no energy.
    """

    topology: Topology
    assembly: Assembly
    start: State
    size: float
    outermost: float
    scale: np.ndarray
    searched: np.ndarray
    metric: np.ndarray
    first_slopes: np.ndarray
    weights: np.ndarray
    stage: Stage = WHOLE
    _last: dict[str, tuple[tuple, Any]] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, topology: Topology, assembly: Assembly, start: State | None = None) -> MeritFunction:
        """That of a system from a state on, or from its initial poses, with its joints put together there."""
        start = _initial_state(topology, assembly) if start is None else start
        at = Configuration.of(topology, start)
        size = model_size(topology, assembly, at)
        scale, searched = coordinate_scale(topology, size), searched_coordinates(topology)
        if topology.internal:
            scale[len(scale) - topology.internal :] = internal_scale(topology, assembly, at, size)
        metric = step_metric(topology, assembly, scale, size)[searched]
        none = np.zeros(0)
        new = cls(topology, assembly, start, size, max(size, farthest(at)), scale, searched, metric, none, none)
        new._last["frame_poses"] = (start.o, start.U), at[:2]
        if assembly.constraint_count:
            lengths_there = slope_lengths(new.slopes_at(start)[0])
            new = new._there(first_slopes=lengths_there, start=put_together(new, start))
        return new.weighed()

    def _there(self, **changes: Any) -> MeritFunction:
        """The same with some changes that concern neither where frames are nor constraints, which are known still."""
        new = replace(self, **changes)
        new._last.update({name: known for name, known in self._last.items() if name in _BY_POSITIONS})
        return new

    def neighbor(self, topology: Topology, assembly: Assembly) -> MeritFunction:
        """That of a system with other parameters, with the same coordinates; nothing is put together first."""
        return replace(self, topology=topology, assembly=assembly).weighed()

    def at(self, stage: Stage) -> MeritFunction:
        """The same system with the factors of a stage, and elements softened as it says."""
        if stage == self.stage:
            return self
        assembly, ratio = self.assembly, stage.stiffness_ratio
        if ratio < np.inf or self.stage.stiffness_ratio < np.inf:
            assembly = assembly.softened(
                ratio, abs(stage.load_factor) * total_force(self.weights, self.topology.units - 1)
            )
        return replace(self, stage=stage, assembly=assembly)

    def under(self, load_factor: float) -> MeritFunction:
        """The same system with another factor on the loads."""
        if load_factor == self.load_factor:
            return self
        return replace(self, stage=self.stage._replace(load_factor=load_factor))

    @property
    def label(self) -> str:
        """The system, as messages call it."""
        return self.topology.label

    @property
    def load_factor(self) -> float:
        """The factor on weights and loads."""
        return self.stage.load_factor

    @property
    def is_small(self) -> bool:
        """Whether matrices are dense in the search, so that a stiffness costs little more than forces."""
        return len(self.searched) <= SIZES.dense

    @cached_property
    def is_loaded(self) -> bool:
        """Whether any weight or load acts on a body."""
        forces = self.weights[: 6 * (self.topology.units - 1)].reshape(-1, 6)[:, :3]
        return self.stage.load_factor != 0.0 and bool(forces.any())

    def weighed(self) -> MeritFunction:
        """The same with its weights: those at the start; ModelError where one is beyond reckoning."""
        weights = np.abs(self.assembly.loads(self.configuration(self.start)))
        for k in np.flatnonzero(~(weights <= LARGEST)):
            # by name, where an element's own law is not finite
            self.assembly.refuse_undefined(self.configuration(self.start))
            raise ModelError(
                f"{self.label}: the weights and loads on {self.topology.coordinate_names[k]} come to {weights[k]:.3g} "
                f"(N or N m); expected at most {LARGEST:g}; correct its mass, or the load on it"
            )
        return self._there(weights=weights)

    def weights_at(self, state: State) -> np.ndarray:
        """Scaled weights and loads (n searched) at a state, at unit load factor."""
        return self.assembly.loads(self.configuration(state))[self.searched] / self.metric

    def raw(self, state: State, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scaled forces (n searched) for given multipliers, and residuals (m,) as distances, at any state."""
        gradient = self.assembly.total(self.configuration(state), 1, *self._factors)[2]
        if not self.assembly.constraint_count:
            return gradient[self.searched] / self.metric, np.zeros(0)
        gradient = gradient + transposed_product(self.slopes_at(state)[0], multipliers)
        return gradient[self.searched] / self.metric, self.distances(state)[0]

    @property
    def _factors(self) -> tuple[float, float, float]:
        return self.stage.strength, self.stage.load_factor, self.stage.follower_factor

    # -- evaluation -------------------------------------------------------------------------------------------
    def configuration(self, state: State) -> Configuration:
        """Where everything is in a state."""
        return Configuration(*self.frame_poses(state.o, state.U), state.o, state.q, state.memory, self.topology.gravity)

    @kept_for_last_point
    def frame_poses(self, o: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses of all frames for those of units, which nobody changes afterwards."""
        return self.topology.frame_poses(o, u)

    def evaluate(self, state: State, order: int) -> Point:
        """Energy and forces at a state, stiffness too for order 2."""
        assembly, at = self.assembly, self.configuration(state)
        energy, size, gradient, load, k = assembly.total(at, order, *self._factors)
        # at the free end of what is heavy and elastic, its forces cancel within one element
        load = load + abs(self.stage.load_factor) * self.weights
        tangent, multipliers, distance = None, np.zeros(0), np.zeros(0)
        if assembly.constraint_count:
            full, _ = self.slopes_at(state)
            slopes, distance, length = self.constraints(state)
            tangent = Tangent(slopes, self.assembly.factors)
            found = tangent.multipliers(gradient[self.searched] / self.metric)
            multipliers = found / length
            # a residual g of the constraints changes the energy by lambda.g, more than the last steps do: take it out
            energy += found @ distance
            size += self.outermost * np.linalg.norm(found)
            gradient = gradient + transposed_product(full, multipliers)
            load = load + transposed_product(on_pattern(full, np.abs(full.data)), np.abs(multipliers))
            if order == 2:
                k = self._with_reactions(k, at, multipliers)
        return Point(state, float(energy), _NOISE * size, gradient, load, k, tangent, multipliers, distance)

    def _with_reactions(self, k: sp.csc_matrix, at: Configuration, multipliers: np.ndarray) -> sp.csc_matrix:
        """The stiffness with that of reactions, which has the same pattern."""
        return on_pattern(k, k.data + self.assembly.reaction_total(at, multipliers).data)

    def stiffened(self, point: Point) -> Point:
        """The same point with its stiffness."""
        if point.stiffness is not None:
            return point
        at = self.configuration(point.state)
        k = self.assembly.total(at, 2, *self._factors)[-1]
        if self.assembly.constraint_count:
            k = self._with_reactions(k, at, point.multipliers)
        return point._replace(stiffness=k)

    def lost(self, point: Point) -> Point:
        """A point that no step may lead to, where constraints could not be kept."""
        return point._replace(energy=np.nan)

    def pull(self, point: Point) -> np.ndarray:
        """Gradient of the searched coordinates, scaled."""
        return point.gradient[self.searched] / self.metric

    @kept_for_last_point
    def scaled(self, point: Point) -> tuple[sp.csc_matrix, np.ndarray, np.ndarray]:
        """Stiffness, gradient and load of the searched coordinates, scaled to meters."""
        on = self.searched
        k = point.stiffness if len(on) == len(self.scale) else self.assembly.pattern.part(point.stiffness, on)
        return scaled_both(k.tocsc(), 1.0 / self.metric), self.pull(point), point.load[on] / self.metric

    @kept_for_last_point
    def load_scale(self, point: Point) -> np.ndarray:
        """Loads (n,) by which each coordinate's balance is measured.

        Those of a point that :meth:`bears_nothing` are the terms that cancel in its forces: stiffness times positions.
        """
        if self.bears_nothing(point):
            terms = np.maximum(point.load, self.force_rounding(point) / SPACING)
            return load_scale(terms, self.scale, self.topology.units - 1)
        return self.balancing(point)

    @kept_for_last_point
    def balancing(self, point: Point) -> np.ndarray:
        """The same (n,) by what elements exert alone."""
        return load_scale(point.load, self.scale, self.topology.units - 1)

    def bears_nothing(self, point: Point) -> bool:
        """Whether nothing loads the system, and what its elements exert on each other is hardly more than rounding."""
        if self.is_loaded:
            return False
        rounding = (self.force_rounding(point) / self.scale).max(initial=0.0)
        return bool((point.load / self.scale).max(initial=0.0) <= rounding / TOO_COARSE)

    @kept_for_last_point
    def force_rounding(self, point: Point) -> np.ndarray:
        """By how much each force (n,) may be off by rounding."""
        at = self.configuration(point.state)
        return force_rounding(self.assembly, at, self.scale, point.multipliers, self._factors[:2])

    def farthest(self, point: Point) -> float:
        """The largest number (m) that holds a position, of bodies and of what they are linked to."""
        return farthest(self.configuration(point.state))

    @kept_for_last_point
    def residual(self, point: Point) -> tuple[float, int]:
        """The largest residual relative to its load, and its coordinate."""
        if not len(point.gradient):
            return 0.0, -1
        relative = np.abs(point.gradient) / self.load_scale(point)
        worst = int(relative.argmax())
        return float(relative[worst]), worst

    @kept_for_last_point
    def stability(self, point: Point) -> Stability:
        """Free and unstable motions at a point in or near equilibrium, by what holds positions."""
        return self._judged(point, None)

    @kept_for_last_point
    def permitted(self, point: Point) -> Stability:
        """The same among the motions that flow constraints permit."""
        flows = flow_constraints(self.assembly, self.configuration(point.state)).slopes
        return self._judged(point, flows) if flows.shape[0] else self.stability(point)

    def _judged(self, point: Point, flows: sp.csr_matrix | None) -> Stability:
        t, at = self.topology, self.configuration(point.state)
        unbalanced = np.zeros(
            t.size
        )  # coordinates that are not searched are zero in every working point, and have no force
        unbalanced[self.searched] = point.gradient[self.searched]
        terms = self.assembly.stiffness_terms(at, point.multipliers, self._factors)
        return analyze(
            point.stiffness, Coordinates(t.coordinate_names, self.scale, t.units - 1),
            stiffness_rounding(t, *terms, unbalanced, point.load, self.scale, self.size),
            self._allowed(point, flows), self.assembly.factors,
        )  # fmt: skip

    def refuse_undefined(self, point: Point) -> None:
        """Raise the message of the first element whose energy, or a derivative of it, is not finite at a point."""
        stiffness = np.zeros(0) if point.stiffness is None else point.stiffness.data
        if not (np.isfinite(point.energy) and np.isfinite(point.gradient).all() and np.isfinite(stiffness).all()):
            self.assembly.refuse_undefined(self.configuration(point.state))

    # -- motion -----------------------------------------------------------------------------------------------
    def moved(self, state: State, x: np.ndarray) -> State:
        """The state displaced by a step x of the searched coordinates, as they are scaled."""
        return self.followed(self.displaced(state, x))

    def carried(self, state: State, x: np.ndarray) -> State:
        """The same for a long step, along which bodies turn with what they hang on; see :mod:`mse.model.carriers`."""
        motion, inner = self._unscaled(x)
        o, u = self.assembly.carriers.moved(state.o, state.U, motion[1:], self.axes(state))
        return self.followed(State(o, u, state.q + inner, state.memory))

    def carried_whole(self, state: State, x: np.ndarray) -> State:
        """The same where bodies carry along what hangs on them as a whole."""
        motion, inner = self._unscaled(x)
        o, u = self.assembly.carriers.moved_whole(state.o, state.U, motion[1:])
        return self.followed(State(o, u, state.q + inner, state.memory))

    def carried_on_screws(self, state: State, x: np.ndarray) -> State:
        """The same where each body goes round one axis of what carries it, so that it stays free where it spins freely."""
        motion, inner = self._unscaled(x)
        o, u = self.assembly.carriers.moved_on_screws(state.o, state.U, motion[1:])
        return self.followed(State(o, u, state.q + inner, state.memory))

    def displaced(self, state: State, x: np.ndarray) -> State:
        """The state displaced by a step, with the memories from before."""
        motion, inner = self._unscaled(x)
        u = turn_all(writable(state.U), motion[:, 3:].copy())
        return State(state.o + motion[:, :3], u, state.q + inner, state.memory)

    def _unscaled(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Motions (units, 6) of units in a step of the searched coordinates, and changes of internal coordinates."""
        units, whole = self.topology.units, np.zeros(6 + self.topology.size)
        whole[6:][self.searched] = x / self.metric
        return whole[: 6 * units].reshape(-1, 6), whole[6 * units :]

    def followed(self, state: State) -> State:
        """The state with memories that have followed it."""
        frames = self.frame_poses(state.o, state.U)
        return State(state.o, state.U, state.q, self.assembly.followed(*frames, state.memory))

    def remembered(self, state: State) -> State:
        """The same, of which all is known that is known of the state: each branch is the one that was nearest to the memory."""
        new = self.followed(state)
        self._last.update({name: ((new,), known) for name, (where, known) in self._last.items() if where[0] is state})
        return new

    @kept_for_last_point
    def axes(self, state: State) -> np.ndarray:
        """About what bodies are carried along at a state; see :meth:`.Carriers.axes`."""
        loads = self.load_factor * self.assembly.loads(self.configuration(state))
        six = loads[: 6 * (self.topology.units - 1)].reshape(-1, 6)
        return self.assembly.carriers.axes(state.o, six[:, :3])

    def curves(self, point: Point) -> tuple[sp.csc_matrix, sp.csc_matrix]:
        """For long steps from a point, two scaled matrices (n searched, n searched): their measure, and the bend of the energy.

        Straight lines are good as far as they neither move the frames of elements apart nor turn bodies against their carriers.
        What moves as a whole may go as many times further as there are bodies, as the softest motion of a chain does.
        """
        n, bodies, carriers = len(self.scale), self.topology.units - 1, self.assembly.carriers
        turns, axes = self.scale**2, self.axes(point.state)
        turns[: 6 * bodies].reshape(-1, 6)[:, :3] = 0.0
        measure = self.assembly.relative_motion(self.configuration(point.state))
        measure = measure + carriers.turned_apart(turns, axes) + sp.diags_array(self.scale**2 / bodies**2)
        bend = carriers.bend(point.state.o, point.gradient[: 6 * bodies].reshape(-1, 6), axes, n)
        on, by = self.searched, 1.0 / self.metric
        return tuple(scaled_both(sp.csc_matrix(m.tocsc()[on][:, on]), by) for m in (measure, bend))

    def stepped(
        self, point: Point, step: np.ndarray, order: int, base: Point | None = None, by: Way | None = None
    ) -> Point:
        """The point that a step leads to, with the constraints restored there; its energy is NaN where they cannot be.

        The way there is straight, or that ``by`` which bodies are carried along.
        """
        state = (by or self.moved)(point.state, step)
        if point.tangent is None:
            return self.evaluate(state, order)
        there = restored(self, state, (base or point).tangent)
        return self.lost(point) if there is None else self.evaluate(there, order)

    # -- constraints ------------------------------------------------------------------------------------------
    @kept_for_last_point
    def constraint_entries(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (m,) of all constraints, each in its own unit, and the entries of their slopes."""
        return self.assembly.constraint_entries(self.configuration(state))

    @kept_for_last_point
    def slopes_at(self, state: State) -> tuple[sp.csr_matrix, np.ndarray]:
        """Slopes (m, n) of all constraints by all coordinates, and their residuals (m,), each in its own unit."""
        residual, entries = self.constraint_entries(state)
        return self.assembly.constraint_pattern.matrix(entries), residual

    @kept_for_last_point
    def distances(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (m,) as distances, and the lengths (m,) of the scaled slopes by which they are divided."""
        residual, entries = self.constraint_entries(state)
        length = unit_lengths(self.assembly.constraint_pattern.row, entries / self._measures, len(residual))
        return residual / length, length

    @cached_property
    def _measures(self) -> np.ndarray:
        """The metric for each entry of the slopes of constraints; infinite for coordinates that are not searched."""
        whole = np.full(len(self.scale), np.inf)
        whole[self.searched] = self.metric
        return whole[self.assembly.constraint_pattern.indices]

    @kept_for_last_point
    def constraints(self, state: State) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
        """Slopes (m, n searched) scaled and of unit length, residuals (m,) as distances, and the lengths (m,) taken out."""
        slopes, _ = self.slopes_at(state)
        if len(self.searched) < slopes.shape[1]:
            slopes = slopes[:, self.searched]
        distance, length = self.distances(state)
        data = slopes.data / self.metric[slopes.indices]
        return on_pattern(slopes, data / length[row_numbers(slopes)]), distance, length

    def _allowed(self, point: Point, flows: sp.csr_matrix | None) -> Tangent | None:
        """The motions that constraints and ``flows`` leave at a point, in all coordinates with the scale of results."""
        if point.tangent is None and flows is None:
            return None
        slopes, residual = self.slopes_at(point.state)
        if flows is not None:
            slopes, residual = sp.vstack([slopes, flows], format="csr"), np.zeros(slopes.shape[0] + flows.shape[0])
        return Tangent(
            normalized(on_pattern(slopes, slopes.data / self.scale[slopes.indices]), residual)[0], self.assembly.factors
        )

    def degenerate(self, point: Point) -> str:
        """The object whose constraint has lost its slope at a point, or ""."""
        if point.tangent is None:
            return ""
        lost = np.flatnonzero(slope_lengths(self.slopes_at(point.state)[0]) < _LOST * self.first_slopes)
        return self.assembly.constraint_labels()[int(lost[0])] if len(lost) else ""

    def shared(self, point: Point) -> Point:
        """The point with the multipliers (m,) that balance with the least forces, torques counted by :func:`joint_arm`."""
        if point.tangent is None or point.tangent.unique:
            return point
        slopes, residual = self.slopes_at(point.state)
        rows, _, length = normalized(on_pattern(slopes, slopes.data / self.scale[slopes.indices]), residual)
        at = self.configuration(point.state)
        weight = self.assembly.constraint_weights(joint_arm(self.topology, at.o), length)
        found = weight * rank(rows).weighted(weight * length).shortest(point.multipliers / weight)
        k = self._with_reactions(point.stiffness, at, found - point.multipliers)
        return point._replace(multipliers=found, stiffness=k)


def _initial_state(topology: Topology, assembly: Assembly) -> State:
    o, u = initial_poses(topology)
    frames = topology.frame_poses(o, u)
    return State(o, u, np.zeros(topology.internal), tuple(g.initial_memory(*frames) for g in assembly.groups))
