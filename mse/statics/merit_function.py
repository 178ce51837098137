"""The merit function of a system: energy, forces and constraints over its states, which searches lower or balance.

What a system exerts in a state is found by :class:`.Evaluation`; here it is scaled, and compared with rounding and loads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from ..errors import ModelError
from ..model.assembly import Assembly
from ..model.configuration import State
from ..model.evaluation import Evaluation, Measure, farthest, model_size
from ..model.joint_assembly import put_together, restored
from ..model.topology import Topology
from ..numerics.options import SIZES
from ..numerics.precision import EPS
from ..numerics.rank import rank
from ..numerics.sparse_tools import on_pattern, scaled_both, transposed_product
from ..numerics.tangent import Tangent, normalized, slope_lengths
from ..validation.arguments import LARGEST
from .coordinate_sizes import internal_scale
from .scales import (
    SPACING,
    TOO_COARSE,
    coordinate_scale,
    force_rounding,
    joint_arm,
    load_scale,
    searched_coordinates,
    step_metric,
    stiffness_rounding,
    total_force,
)
from .stability import Coordinates, Stability, analyze
from .stages import WHOLE, Stage
from .steady_flows import carrying

_NOISE = 4.0 * EPS  # of the sum of all energies: rounding of their total
# Of its slope at the start: below it a constraint has lost its slope (with a hundredth and a hundred times of it
# tests/statics/test_failures.py::test_a_constraint_that_has_lost_its_slope_is_written_through_zero passes).
_LOST = 1e-6


@dataclass(eq=False)  # to refuse assignments, dataclasses would set each field in three times the time
class Point:
    """Everything evaluated at one state; ``gradient`` and ``stiffness`` contain the reactions of constraints.

    ``here`` is the system in that state.  ``tangent`` are the motions that constraints allow, None where nothing constrains the
    system; ``multipliers`` (m,) those of their reactions, ``apart`` (m,) how far constraints are from where they hold, as
    distances.  What merit functions find at a point is kept in it, by their functions' names.
    """

    here: Evaluation
    energy: float
    noise: float
    gradient: np.ndarray
    load: np.ndarray
    stiffness: sp.csc_matrix | None
    tangent: Tangent | None
    multipliers: np.ndarray
    apart: np.ndarray
    found: dict[str, tuple[MeritFunction, Any]] = field(default_factory=dict, init=False, repr=False)

    @property
    def state(self) -> State:
        """Poses, internal coordinates and memories."""
        return self.here.state


Way = Callable[[Evaluation, np.ndarray], Evaluation]  # where a step leads from a state

T = TypeVar("T")


def kept_by_point(of: Callable[[MeritFunction, Point], T]) -> Callable[[MeritFunction, Point], T]:
    """A function of a merit function and a point that finds the same once, and has the point keep it."""
    name = of.__name__

    @wraps(of)
    def kept(merit: MeritFunction, point: Point) -> T:
        known = point.found.get(name)
        if known is None or known[0] is not merit:
            known = point.found[name] = merit, of(merit, point)
        return known[1]

    return kept


@dataclass(frozen=True, eq=False)
class MeritFunction:
    """A system over its states: the coordinates in which they are searched, energy, forces and constraints; see :meth:`of`.

    ``begin`` is the system where searches begin, whose measure says which coordinates are searched and what their steps count
    for in meters.  ``scale`` (n,) is what one unit of each coordinate counts for in results, ``weights`` (n,) the loads on the
    coordinates, ``first_slopes`` (m,) the lengths of the constraints' slopes at the start; ``stage`` the factors on elastic
    forces, on loads, and on forces that come from no energy.
    """

    topology: Topology
    assembly: Assembly
    begin: Evaluation
    scale: np.ndarray
    first_slopes: np.ndarray
    weights: np.ndarray
    stage: Stage = WHOLE

    @classmethod
    def of(cls, topology: Topology, assembly: Assembly, start: State | None = None) -> MeritFunction:
        """That of a system from a state on, or from its initial poses, with its joints put together there."""
        here = Evaluation.initial(assembly) if start is None else Evaluation(assembly, start)
        here = carrying(here)
        assembly, at = here.assembly, here.configuration
        size = model_size(assembly, at.o)
        scale, searched = coordinate_scale(topology, size), searched_coordinates(topology, assembly)
        if topology.internal:
            scale[len(scale) - topology.internal :] = internal_scale(topology, assembly, at, size)
        metric = step_metric(topology, assembly, scale, size)[searched]
        measure = Measure(searched, metric, size, max(size, farthest(at.o)), topology.units - 1, topology.internal)
        here, lengths = here.measured(measure), np.zeros(0)
        if assembly.constraint_count:
            lengths = slope_lengths(here.slopes)
            here = put_together(here)
        return cls(topology, assembly, here, scale, lengths, _weights(here))

    def neighbor(self, topology: Topology, assembly: Assembly) -> MeritFunction:
        """That of a system with other parameters, with the same coordinates; nothing is put together first."""
        begin = Evaluation(assembly, self.start, measure=self.measure)
        if (flowing := carrying(begin)) is not begin:
            assembly, begin = flowing.assembly, Evaluation(flowing.assembly, flowing.state, measure=self.measure)
        return replace(self, topology=topology, assembly=assembly, begin=begin, weights=_weights(begin))

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
    def start(self) -> State:
        """The state where searches begin."""
        return self.begin.state

    @property
    def measure(self) -> Measure:
        """What steps count for."""
        return self.begin.measure

    @property
    def searched(self) -> np.ndarray:
        """Numbers of the coordinates that are searched."""
        return self.begin.measure.moving

    @property
    def metric(self) -> np.ndarray:
        """What one unit of each searched coordinate (n searched,) counts for in a step, in meters."""
        return self.begin.measure.metric

    @property
    def size(self) -> float:
        """A length (m) of the model."""
        return self.begin.measure.size

    @property
    def outermost(self) -> float:
        """The largest number (m) that positions are held by, on whose spacing their rounding depends."""
        return self.begin.measure.outermost

    @property
    def is_small(self) -> bool:
        """Whether matrices are dense in the search, so that a stiffness costs little more than forces."""
        return len(self.searched) <= SIZES.dense

    @cached_property
    def is_loaded(self) -> bool:
        """Whether any weight or load acts on a body."""
        forces = self.weights[: 6 * (self.topology.units - 1)].reshape(-1, 6)[:, :3]
        return self.stage.load_factor != 0.0 and bool(forces.any())

    def weights_at(self, state: State) -> np.ndarray:
        """Scaled weights and loads (n searched) at a state, at unit load factor."""
        return self.here(state).loads[self.searched] / self.metric

    def raw(self, state: State, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scaled forces (n searched) for given multipliers, and residuals (m,) as distances, at any state."""
        here = self.here(state)
        apart = here.distances[0] if self.assembly.constraint_count else np.zeros(0)
        return here.forces(multipliers)[self.searched] / self.metric, apart

    # -- evaluation -------------------------------------------------------------------------------------------
    def here(self, state: State) -> Evaluation:
        """The system in a state, under the factors of the stage."""
        if state is self.start:
            return self.begin.under(self.assembly, self._factors)
        return Evaluation(self.assembly, state, self._factors, measure=self.measure)

    @property
    def _factors(self) -> tuple[float, float, float]:
        return self.stage.strength, self.stage.load_factor, self.stage.follower_factor

    def evaluate(self, state: State, order: int) -> Point:
        """Energy and forces at a state, stiffness too for order 2."""
        return self.evaluated(self.here(state), order)

    def evaluated(self, here: Evaluation, order: int, *, terms: bool = False) -> Point:
        """The same of this system in a state, of which something may be known already; ``terms`` as for :meth:`stiffened`."""
        found = here.total_with_terms(at_once=terms) if order == 2 else here.total(order)
        energy, size, gradient, load, k = found
        # at the free end of what is heavy and elastic, its forces cancel within one element
        load = load + abs(self.stage.load_factor) * self.weights
        tangent, multipliers, distance = None, np.zeros(0), np.zeros(0)
        if self.assembly.constraint_count:
            full, (distance, length) = here.slopes, here.distances
            tangent = here.tangent()
            finite = np.isfinite(gradient).all()  # as long as no step has led too far
            found = (
                tangent.multipliers(gradient[self.searched] / self.metric) if finite else np.full(len(distance), np.nan)
            )
            multipliers = found / length
            if (steady := self.assembly.steady) is not None:
                multipliers[steady.rows] = steady.multipliers
                found = multipliers * length
            # a residual g of the constraints changes the energy by lambda.g, more than the last steps do: take it out
            energy += found @ distance
            size += self.outermost * np.linalg.norm(found)
            gradient = gradient + transposed_product(full, multipliers)
            load = load + transposed_product(on_pattern(full, np.abs(full.data)), np.abs(multipliers))
            if order == 2:
                k = here.with_reactions(k, multipliers)
        if (steady := self.assembly.steady) is not None:  # which a search holds
            gradient = gradient.copy()
            gradient[gradient.size - self.topology.internal + steady.coordinates] = 0.0
        return Point(here, float(energy), _NOISE * size, gradient, load, k, tangent, multipliers, distance)

    def stiffened(self, point: Point, *, terms: bool = False) -> Point:
        """The same point with its stiffness; ``terms``: with its terms, too, which a judgment of its stability asks for."""
        if point.stiffness is not None:
            return point
        here = self._at(point)
        found = here.total_with_terms(at_once=terms).stiffness
        new = replace(point, here=here, stiffness=here.with_reactions(found, point.multipliers))
        new.found.update(point.found)  # of forces alone
        return new

    def _at(self, point: Point) -> Evaluation:
        """This system at a point, which may be one of another system."""
        here = point.here
        same = here.assembly is self.assembly and here.factors == self._factors and here.measure is self.measure
        return here if same else self.here(point.state)

    def lost(self, point: Point) -> Point:
        """A point that no step may lead to, where constraints could not be kept."""
        return replace(point, energy=np.nan)

    def pull(self, point: Point) -> np.ndarray:
        """Gradient of the searched coordinates, scaled."""
        return point.gradient[self.searched] / self.metric

    @kept_by_point
    def scaled(self, point: Point) -> tuple[sp.csc_matrix, np.ndarray, np.ndarray]:
        """Stiffness, gradient and load of the searched coordinates, scaled to meters."""
        on = self.searched
        k = point.stiffness if len(on) == len(self.scale) else self.assembly.pattern.part(point.stiffness, on)
        return scaled_both(k.tocsc(), 1.0 / self.metric), self.pull(point), point.load[on] / self.metric

    @kept_by_point
    def load_scale(self, point: Point) -> np.ndarray:
        """Loads (n,) by which each coordinate's balance is measured.

        Those of a point that :meth:`bears_nothing` are the terms that cancel in its forces: stiffness times positions.
        """
        if self.bears_nothing(point):
            terms = np.maximum(point.load, self.force_rounding(point) / SPACING)
            return load_scale(terms, self.scale, self.topology.units - 1)
        return self.balancing(point)

    @kept_by_point
    def balancing(self, point: Point) -> np.ndarray:
        """The same (n,) by what elements exert alone."""
        return load_scale(point.load, self.scale, self.topology.units - 1)

    def bears_nothing(self, point: Point) -> bool:
        """Whether nothing loads the system, and what its elements exert on each other is hardly more than rounding."""
        if self.is_loaded:
            return False
        rounding = (self.force_rounding(point) / self.scale).max(initial=0.0)
        return bool((point.load / self.scale).max(initial=0.0) <= rounding / TOO_COARSE)

    @kept_by_point
    def force_rounding(self, point: Point) -> np.ndarray:
        """By how much each force (n,) may be off by rounding."""
        return force_rounding(self._at(point), self.scale, point.multipliers)

    def farthest(self, point: Point) -> float:
        """The largest number (m) that holds a position, of bodies and of what they are linked to."""
        return self._at(point).farthest

    @kept_by_point
    def residual(self, point: Point) -> tuple[float, int]:
        """The largest residual relative to its load, and its coordinate."""
        if not len(point.gradient):
            return 0.0, -1
        relative = np.abs(point.gradient) / self.load_scale(point)
        worst = int(relative.argmax())
        return float(relative[worst]), worst

    @kept_by_point
    def stability(self, point: Point) -> Stability:
        """Free and unstable motions at a point in or near equilibrium, by what holds positions."""
        return self._judged(point, None)

    @kept_by_point
    def permitted(self, point: Point) -> Stability:
        """The same among the motions that flow constraints permit."""
        flows = self._at(point).flows.slopes if self.topology.flow_constrained else None
        return self.stability(point) if flows is None or not flows.shape[0] else self._judged(point, flows)

    def _judged(self, point: Point, flows: sp.csr_matrix | None) -> Stability:
        t, here = self.topology, self._at(point)
        unbalanced = np.zeros(
            t.size
        )  # coordinates that are not searched are zero in every working point, and have no force
        unbalanced[self.searched] = point.gradient[self.searched]
        terms = here.stiffness_terms(point.multipliers)
        return analyze(
            point.stiffness, Coordinates(t.coordinate_names, self.scale, t.units - 1),
            stiffness_rounding(t, *terms, unbalanced, point.load, self.scale, self.size),
            self._allowed(here, flows), self.assembly.factors,
        )  # fmt: skip

    def refuse_undefined(self, point: Point) -> None:
        """Raise the message of the first element whose energy, or a derivative of it, is not finite at a point."""
        stiffness = np.zeros(0) if point.stiffness is None else point.stiffness.data
        if not (np.isfinite(point.energy) and np.isfinite(point.gradient).all() and np.isfinite(stiffness).all()):
            self._at(point).refuse_undefined()

    # -- motion -----------------------------------------------------------------------------------------------
    def moved(self, state: State, x: np.ndarray) -> State:
        """The state displaced by a step x of the searched coordinates, as they are scaled."""
        return self.here(state).moved(x).state

    def curves(self, point: Point) -> tuple[sp.csc_matrix, sp.csc_matrix]:
        """For long steps from a point, two scaled matrices (n searched, n searched): their measure, and the bend of the energy.

        Straight lines are good as far as they neither move the frames of elements apart nor turn bodies against their carriers.
        What moves as a whole may go as many times further as there are bodies, as the softest motion of a chain does.
        """
        n, bodies, carriers = len(self.scale), self.topology.units - 1, self.assembly.carriers
        here, turns = self._at(point), self.scale**2
        turns[: 6 * bodies].reshape(-1, 6)[:, :3] = 0.0
        measure = self.assembly.relative_motion(here.configuration)
        measure = measure + carriers.turned_apart(turns, here.axes) + sp.diags_array(self.scale**2 / bodies**2)
        bend = carriers.bend(point.state.o, point.gradient[: 6 * bodies].reshape(-1, 6), here.axes, n)
        on, by = self.searched, 1.0 / self.metric
        return tuple(scaled_both(sp.csc_matrix(m.tocsc()[on][:, on]), by) for m in (measure, bend))

    def stepped(
        self,
        point: Point,
        step: np.ndarray,
        order: int,
        base: Point | None = None,
        by: Way | None = None,
        *,
        terms: bool = False,
    ) -> Point:
        """The point that a step leads to, with the constraints restored there; its energy is NaN where they cannot be.

        The way there is straight, or that ``by`` which bodies are carried along; ``terms`` as for :meth:`stiffened`.
        """
        there = (by or Evaluation.moved)(self._at(point), step)
        if point.tangent is not None:
            there = restored(there, (base or point).tangent)
        return self.lost(point) if there is None else self.evaluated(there, order, terms=terms)

    # -- constraints ------------------------------------------------------------------------------------------
    def _allowed(self, here: Evaluation, flows: sp.csr_matrix | None) -> Tangent | None:
        """The motions that constraints and ``flows`` leave in a state, in all coordinates with the scale of results."""
        if not self.assembly.constraint_count and flows is None:
            return None
        slopes, residual = here.slopes, here.residual
        if flows is not None:
            slopes, residual = sp.vstack([slopes, flows], format="csr"), np.zeros(slopes.shape[0] + flows.shape[0])
        return Tangent(
            normalized(on_pattern(slopes, slopes.data / self.scale[slopes.indices]), residual)[0], self.assembly.factors
        )

    def degenerate(self, point: Point) -> str:
        """The object whose constraint has lost its slope at a point, or ""."""
        if point.tangent is None:
            return ""
        lost = np.flatnonzero(slope_lengths(self._at(point).slopes) < _LOST * self.first_slopes)
        return self.assembly.constraint_labels()[int(lost[0])] if len(lost) else ""

    def shared(self, point: Point) -> Point:
        """The point with the multipliers (m,) that balance with the least forces, torques counted by :func:`joint_arm`."""
        if point.tangent is None or point.tangent.unique:
            return point
        here = self._at(point)
        slopes, residual = here.slopes, here.residual
        rows, _, length = normalized(on_pattern(slopes, slopes.data / self.scale[slopes.indices]), residual)
        weight = self.assembly.constraint_weights(joint_arm(self.topology, here.configuration.o, self.scale), length)
        found = rank(rows, any_pivots=slice(None)).weighted(weight * length).shortest(point.multipliers / weight)
        found = weight * found
        k = here.with_reactions(point.stiffness, found - point.multipliers)
        return replace(point, multipliers=found, stiffness=k)


def _weights(here: Evaluation) -> np.ndarray:
    """Absolute weights and loads (n,) in a state; ModelError where one is beyond reckoning."""
    weights, t = np.abs(here.loads), here.assembly.topology
    for k in np.flatnonzero(~(weights <= LARGEST)):
        here.refuse_undefined()  # by name, where an element's own law is not finite
        raise ModelError(
            f"{t.label}: the weights and loads on {t.coordinate_names[k]} come to {weights[k]:.3g} "
            f"(N or N m); expected at most {LARGEST:g}; correct its mass, or the load on it"
        )
    return weights
