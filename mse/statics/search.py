"""The search for the static working point: trust-region Newton on the poses, with load steps where it needs them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..errors import ModelError, WorkingPointError
from ..model.assembly import Assembly
from ..model.configuration import Configuration, State
from ..model.topology import Topology
from ..numerics.blas_threads import one_thread
from ..numerics.options import SIZES
from ..numerics.sparse_tools import absolute_product
from ..numerics.trust_region import Quadratic, Step, newton_step
from ..validation.arguments import number
from .branches import LEFT, UNKNOWN, leaves
from .merit_function import Landscape, Point
from .scales import lengths
from .stability import Stability, describe
from .stiff_valleys import corrected
from .working_point import Iteration, Outcome, WorkingPoint

log = logging.getLogger("mse")

_RESIDUAL = 1e-10  # relative to the loads that balance: what counts as equilibrium
_POSITION_ROUNDING = 4e-16  # relative spacing of the numbers that hold a position
_NOWHERE = 1e-15  # of the numbers that hold a position: a step that moves it no more than its rounding does
_UNTOLD = 0.16  # of what forces change by if all positions are off by their spacing: what rounding of all leaves
_FEW = 100.0  # times the rounding of forces: loads that are no more than this are rounding themselves
_COARSE, TOO_COARSE = 1e-6, 1e-3  # residuals, reached at rounding, that are worth a warning, and no result
_ROUNDING = 1e-15  # residual that no further step improves
_POLISH = 4  # further Newton steps towards rounding once equilibrium is reached
_DOUBTS = 2  # steps at rest from which on what still falls there is looked at more closely
_STAGNANT = 15  # steps without any better balance
_STALLED = 1e-5  # residual at which a search that finds no better point counts as arrived
_MOST_RETURNS = 20
_FAR = 1e3  # sizes of the model; a body that got so far is not coming back
_RETRY_STRENGTH = 1e-3
# How much stiffer than the softest a mechanism may be in the steps towards the working point, where elements can tell:
# stiff directions make curved valleys that the search could follow only in short steps.
_SOFTENING = (1e2, 1e4, 1e6, 1e8, 1e10, 1e12)


class Stage(NamedTuple):
    """A leg of the search: strength of elastic forces, stiffest mechanism over the softest in an element, factors on loads and on
    forces that come from no energy.
    """

    strength: float
    ratio: float
    load: float
    raised: float


class Reached(NamedTuple):
    """Factors on loads and on forces that come from no energy, at which a state was at rest."""

    load: float
    raised: float
    state: State


class Relaxation:
    """Iterate over it to watch the search: ``for step in system.relaxation(): print(step)``; then ``.result()``.

    Each step is a record of :class:`Iteration`.  Far from equilibrium the energy falls at every accepted step; near it the full
    Newton step is taken and converges quadratically.  Tolerances are relative to the loads and the size of the model.
    ``load`` multiplies weights and loads.  ``start`` continues from an earlier result for the same system.
    :class:`.following.Following` seeks the nearest equilibrium instead of a stable one.  An ``assembly`` is what a
    solved neighbour has found already, ``raised`` the factor on forces that come from no energy.
    """

    seek = "stable"
    convex, most_steps = True, 500  # whether steps must lead down in energy, and how many of them one stage has

    @one_thread
    def __init__(
        self,
        topology: Topology,
        assembly: Assembly | None = None,
        *,
        load: float = 1.0,
        start: WorkingPoint | None = None,
        raised: float = 1.0,
    ):
        self.topology = topology
        self._label = topology.label
        remedy = "1 stands for the loads as they are"
        self.load, self._raised = number(self._label, "load", load, remedy=remedy), raised
        self.assembly = Assembly(topology, topology.unit) if assembly is None else assembly
        self.history: list[Iteration] = []
        self.converged = self.branch_left = False
        self.reason = ""
        self.notes: list[str] = []
        self._too_coarse = self._fell = False
        self._origin = start
        self._taken = None if start is None else self._taken_up(start)
        self._land = Landscape(self._label, self.topology, self.assembly, self._taken)
        self._start = self._land.start
        self._size, self._scale, self._searched = self._land.size, self._land.scale, self._land.searched
        self._small = len(self._searched) <= SIZES.dense
        self._reached = Reached(0.0 if start is None else start.load, raised, self._start)
        weights = self._land.weights[: 6 * (self.topology.units - 1)].reshape(-1, 6)
        self._load_size = abs(self.load) * float(lengths(weights[:, :3]).sum())
        self._stages = self._schedule(topology.source.system.initial_strength)
        self._begin(self._start)
        self._first = self._start if self._stages else self._point

    # -- preparation ------------------------------------------------------------------------------------------
    def _schedule(self, first: float) -> list[Stage]:
        """Stages of the search: strengths from ``first`` to 1, at most a factor of ten apart, softened as far as elements can."""
        count = int(np.ceil(-np.log10(first)))
        strengths = [*np.geomspace(first, 1.0, count + 1)] if count else [1.0]
        t = self.topology
        kinds = [kind for kind in t.kinds if self.convex and kind.cls.defines("softened")]
        elements = [t.elements[k].obj for kind in kinds for k in kind.members]
        soft = [s for s in _SOFTENING if any(obj.softened(s, self._load_size) is not obj for obj in elements)]
        least = soft[0] if soft else np.inf
        stages = [Stage(s, least, self.load, self._raised) for s in strengths[:-1]]
        return stages + [Stage(1.0, s, self.load, self._raised) for s in (*soft, np.inf)]

    def _taken_up(self, start: WorkingPoint) -> State:
        """The state of an earlier result, for this system."""
        if not start._topology.same_frames(self.topology) or len(start.state.q) != self.topology.internal:
            raise ModelError(
                f"{self._label}: start is a working point of {start.name!r} with other objects or clamps; expected one of this "
                "system, whose parameters alone may have changed"
            )
        old, new = start._assembly.groups, self.assembly.groups
        state = start.state
        if not np.array_equal(start._topology.unit_reference, self.topology.unit_reference):
            # another body of a cluster has become the heaviest, and moves as its reference
            o, u = start.frame_poses
            state = state._replace(o=o[self.topology.unit_reference], U=u[self.topology.unit_reference])
        if [g.members for g in old] == [g.members for g in new]:
            return state
        # parameters may sort elements into other groups, but what each remembers stays
        known = {
            el.path: memory[k]
            for g, memory in zip(start._assembly.groups, start.state.memory, strict=True)
            for k, el in enumerate(g.elements)
        }
        frames = start.frame_poses
        memory = []
        for g in self.assembly.groups:
            fresh = g.initial_memory(*frames)
            for k, el in enumerate(g.elements):
                if el.path in known and len(known[el.path]) == fresh.shape[1]:
                    fresh[k] = known[el.path]
            memory.append(fresh)
        return state._replace(memory=tuple(memory))

    def _begin(self, state: State) -> None:
        self._stage = self._stages.pop(0)
        land, stage = self._land, self._stage
        land.strength, land.load, land.raised = stage.strength, stage.load, stage.raised
        self.assembly.soften(self._stage.ratio, self._load_size)
        self._first_step = len(self.history)
        self._radius = 0.3 * self._size
        self._polished = self._doubts = 0
        # a residual, and the step at which energies could tell last, or it was half of that before
        self._improved = np.inf, self._first_step
        self._straight = False
        self._analysed: tuple[Point, Stability] | None = None
        self._best: tuple[float, Point] | None = None
        self._point = self._land.evaluate(state, 2)
        if not np.isfinite(self._point.energy):
            self.assembly.refuse_undefined(Configuration.of(self.topology, state))
        self._record(True, 0.0)

    # -- evaluation -------------------------------------------------------------------------------------------
    def _at_rest(self, point: Point) -> bool:
        """Whether every coordinate balances, as far as positions in double precision can."""
        load = self._land.load_scale(point.load)
        if np.all(np.abs(point.gradient) <= _RESIDUAL * load):
            return True
        resolution = self._resolution(point)
        if point.tangent is not None:
            # constraints carry rounding to where hardly anything else acts
            carried = self._scale * (resolution / self._scale).max(initial=0.0)
            resolution = np.where(load <= _FEW * carried, np.maximum(resolution, carried), resolution)
        return bool(np.all(np.abs(point.gradient) <= _RESIDUAL * load + resolution))

    def _resolution(self, point: Point) -> np.ndarray:
        """What each force may change by when all positions are off by their spacing."""
        place = np.concatenate([np.hstack([point.state.o[1:], np.ones_like(point.state.o[1:])]).ravel(), point.state.q])
        return _POSITION_ROUNDING * absolute_product(point.stiffness.tocsc(), np.abs(place))

    def _stagnant(self, step: Step, residual: float) -> bool:
        """Whether for many steps now energies could not tell, nor was the balance any better: what is left is rounding."""
        if not (self.convex and self.topology.conservative):
            return False
        if -step.predicted > 8 * self._point.noise or residual < 0.5 * self._improved[0]:
            self._improved = residual, len(self.history)
        return residual <= _STALLED and len(self.history) - self._improved[1] >= _STAGNANT

    def _arrived(self, step: Step, residual: float) -> bool:
        """Whether rounding of positions is all that a step from the present point would move, or that forces are off by."""
        point = self._point
        place = np.repeat(np.abs(point.state.o[1:]).max(axis=1, initial=0.0), 6)
        place = np.concatenate([place, np.abs(point.state.q) * self._scale[len(place) :]])[self._searched]
        if np.all(np.abs(step.p) <= _NOWHERE * place):
            return True
        if point.tangent is not None:  # constraints carry rounding to where hardly anything else acts
            return False
        worst = (self._resolution(point) / self._land.load_scale(point.load)).max(initial=0.0)
        return residual <= _UNTOLD * float(worst)

    def _record(self, accepted: bool, length: float) -> Iteration:
        residual, worst = self._land.residual(self._point)
        where = self.topology.coordinate_names[worst] if worst >= 0 else ""
        step = Iteration(len(self.history), self._stage.strength, self._point.energy, residual, where, length, accepted)
        self.history.append(step)
        log.debug("%s", step)
        return step

    # -- iteration --------------------------------------------------------------------------------------------
    def __iter__(self) -> Iterator[Iteration]:
        while not self.finished:
            known = len(self.history)
            step = self.step()
            if len(self.history) > known:
                yield step

    @property
    def state(self) -> State:
        """Poses, internal coordinates and memories at present."""
        return self._point.state

    @property
    def finished(self) -> bool:
        """Whether the search has ended, with or without a working point."""
        return self.converged or bool(self.reason)

    @one_thread
    def step(self) -> Iteration:
        """One relaxation step (manual 2.8.5)."""
        residual, _ = self._land.residual(self._point)
        step = self._solve(self._point, self._radius, convex=self.convex)
        rests = self._at_rest(self._point) or self._stagnant(step, residual)
        settled = rests and (not self.convex or step.lowest >= 0.0)
        self._doubts = self._doubts + 1 if rests and not settled else 0
        if self._doubts > _DOUBTS:
            # what seems to fall again and again may be rounding of reactions
            settled = not self._stability(self._point).unstable
        if settled:
            if self._settle(residual, arrived=self._arrived(step, residual)):
                return self.history[-1]
            if step.on_boundary:
                step = self._solve(self._point, self._radius, convex=False)
        length = float(np.linalg.norm(step.p, np.inf))
        # the stiffness is taken along where it is cheap, and where the last trial was accepted as it stood
        first = trial = self._land.stepped(self._point, step.p, 2 if self._small or self._straight else 1)
        if not settled:
            trial = self._corrected(step, trial)
        accepted = self._judge(step, trial, residual, settled)
        self._straight = accepted and trial is first
        if accepted:
            self._point = trial if trial.stiffness is not None else self._land.evaluate(trial.state, 2)
            if step.sideways is not None:
                self._note_buckling(step.sideways)
        self._give_up_if_lost()
        return self._record(accepted, length if accepted else 0.0)

    def _corrected(self, step: Step, trial: Point) -> Point:
        return corrected(self._land, self._point, step, trial, 2 if self._small else 1)

    def _solve(self, point: Point, radius: float, convex: bool) -> Step:
        k, g, load = self._land.scaled(point)
        bodies = self.topology.units - 1
        energy = Quadratic(k, g, load, bodies, self._size, self.assembly.factors, point.tangent)
        return newton_step(energy, radius, convex)

    def _settle(self, residual: float, arrived: bool) -> bool:
        """At equilibrium: go on while Newton still improves it, then move to the next strength or finish.

        ``arrived`` says that positions cannot hold anything better.
        """
        if self._best is None or residual < 0.5 * self._best[0]:
            self._best = (residual, self._point)
            if residual > _ROUNDING and not arrived and not self._stages:
                self._polished += 1
                if self._polished <= _POLISH:
                    return False
        self._point = self._best[1]
        if self._stages:
            self._reached = Reached(self._stage.load, self._stage.raised, self._point.state)
            self._begin(self._point.state)
        elif (coarse := self._coarseness(self._point)) > TOO_COARSE:
            self._too_coarse = True
            self.reason = (
                f"rounding of the positions alone leaves {coarse:.1e} of the loads unbalanced, because something is "
                "so stiff; lower that stiffness or replace it by a clamp"
            )
        elif lost := self._land.degenerate(self._point):
            self._too_coarse = True
            self.reason = (
                f"{lost}: its constraint has no slope where it holds, so its reaction is not determined; write a residual that "
                "passes through zero, such as x in place of x^2"
            )
        else:
            self._go_back()
            self.converged = True
            if coarse > _COARSE:
                where = self.topology.coordinate_names[self._land.residual(self._point)[1]]
                log.warning(
                    "%s: so stiff that rounding of the positions leaves %.1e of the loads unbalanced (%s); forces and what "
                    "follows from them are good to that only; lower the stiffness or clamp instead",
                    self._label, coarse, where,
                )  # fmt: skip
        return True

    def _coarseness(self, point: Point) -> float:
        """The largest unbalanced force over the largest load; 0 where nothing is loaded."""
        if self._load_size == 0.0 or not len(point.gradient):
            return 0.0
        loads = self._land.load_scale(point.load) / self._scale
        return float(np.abs(point.gradient / self._scale).max() / loads.max())

    def _stability(self, point: Point) -> Stability:
        if self._analysed is None or self._analysed[0] is not point:
            self._analysed = (point, self._land.stability(point))
        return self._analysed[1]

    def _go_back(self) -> None:
        """Return motions that nothing holds towards the start.

        Nothing decides where along a free motion a body comes to rest, so it should rest as near as possible to where
        its user put it, not where the path of the search happened to leave it.
        """
        share, least = 1.0, np.inf
        reached = self._land.residual(self._point)[0]
        enough = max(reached, min(4 * reached, _RESIDUAL), 1e-3 * _RESIDUAL)
        for _ in range(_MOST_RETURNS):
            null = self._stability(self._point).null
            if not null.shape[1]:
                return
            back = -(null @ (null.T @ (self._land.moved_since_start(self._point.state) * self._scale)))[self._searched]
            back *= self._land.metric / self._scale[self._searched]
            size = np.linalg.norm(back, np.inf)
            if size <= 1e-12 * self._size:
                return
            share = min(1.0, 2.0 * share, 0.3 * self._size / size)
            if share == 1.0:
                if size > 0.9 * least:
                    return  # all that is left is rounding of the motions themselves
                least = size
            while (there := self._balanced(self._land.stepped(self._point, share * back, 2), enough)) is None:
                share *= 0.25
                if share < 0.01:
                    return
            self._point = there
            self._record(True, share * float(size))

    def _balanced(self, point: Point, enough: float) -> Point | None:
        """Equilibrium to a residual of ``enough`` by a few plain Newton steps from a point beside it, or None."""
        for _ in range(8):
            if not np.isfinite(point.energy):
                return None
            if self._land.residual(point)[0] <= enough:
                return point
            step = self._solve(point, 0.3 * self._size, convex=False)
            point = self._land.stepped(point, step.p, 2)
        return None

    def _judge(self, step, trial: Point, residual: float, settled: bool) -> bool:
        """Accept or refuse a trial point, and adapt the radius."""
        new_residual, _ = self._land.residual(trial) if np.isfinite(trial.energy) else (np.inf, -1)
        if settled:
            if new_residual >= residual:
                self._polished = _POLISH
                return False
            return True
        return self._judge_far(step, trial)

    def _judge_far(self, step, trial: Point) -> bool:
        """Whether a trial point away from equilibrium is an advance."""
        drop = self._point.energy - trial.energy
        noise = 4 * (self._point.noise + trial.noise)
        if -step.predicted <= noise and drop >= -noise:
            # too close for energies to tell, but the forces along the step still do
            drop = -0.5 * (self._land.pull(self._point) + self._land.pull(trial)) @ step.p
        ratio = drop / -step.predicted if step.predicted < 0 and np.isfinite(drop) else -1.0
        if ratio < 0.25:
            self._radius = 0.25 * min(self._radius, np.linalg.norm(step.p))
        elif ratio > 0.75 and step.on_boundary:
            self._radius = min(2.0 * self._radius, 50 * self._size)
        return bool(ratio > 1e-4)

    def _give_up_if_lost(self) -> None:
        far = np.abs(self._point.state.o - self._start.o).max(initial=0.0)
        if far > _FAR * self._size:
            self._fell = True
            unit = int(np.argmax(np.abs(self._point.state.o - self._start.o).max(axis=1)))
            self.reason = (
                f"{self.topology.unit_names[unit]} has moved {far:.3g} m, over {_FAR:g} times the size of the model, and the "
                "energy still falls: nothing holds that motion, so the system has no equilibrium, or it is very soft; give it "
                "a stiffness (in N/m), or start nearer (at=...)"
            )
        elif self._radius < 1e-14 * self._size:
            residual = self._land.residual(self._point)[0]
            if residual <= _STALLED and not self._stability(self._point).unstable:
                # rounding in what is stiff hides any further descent: this is rest as well as it can be told
                self._polished, self._best = _POLISH, (residual, self._point)
                self._settle(residual, arrived=True)
            else:
                self.reason = "no step improves the balance any further"
        elif len(self.history) - self._first_step >= self.most_steps:
            moved = np.linalg.norm(self._point.state.o - self._start.o, axis=1)
            unit = int(np.argmax(moved))
            self.reason = (
                f"{self.most_steps} steps were not enough; {self.topology.unit_names[unit]} has moved furthest, "
                f"{moved[unit]:.3g} m of a model of {self._size:.3g} m"
            )

    # -- result -----------------------------------------------------------------------------------------------
    @one_thread
    def run(self, *, throw: bool = True) -> WorkingPoint:
        """Iterate to the end; see :meth:`MSystem.find_working_point`."""
        for _ in self:
            pass
        if not self.converged and not self._too_coarse:
            self.retry()
        result = self.result()
        if throw and not self.converged:
            raise WorkingPointError(self._failure(result), result)
        return result

    def retry(self) -> None:
        """A second way to the working point, where the first has failed."""
        # what falls for ever falls even faster with weaker springs
        if self.history[0].strength == 1.0 and not self._fell:
            first_reason, first_point = self.reason, self._point
            log.info("%s: %s; trying again with forces raised step by step", self._label, self.reason)
            self._stages, self.reason = self._schedule(_RETRY_STRENGTH), ""
            self._begin(self._start)
            for _ in self:
                pass
            if not self.converged:
                self.reason, self._stage = first_reason, Stage(1.0, np.inf, self.load, self._raised)
                self._land.strength, self._land.load = 1.0, self.load
                self.assembly.soften(np.inf, 0.0)
                self._point = self._land.evaluate(first_point.state, 2)

    def _note_buckling(self, motion: np.ndarray) -> None:
        """Remember that the search had to choose a side where no force does: a balance that does not hold."""
        x = np.zeros(self.topology.size)
        x[self._searched] = motion / self._land.metric
        names = self.topology.coordinate_names
        if not self.notes:
            self.notes.append(
                f"left a balance that does not hold: it buckles or tips along {describe(x, names, self._scale)}"
            )

    def _leaves_its_branch(self) -> bool | None:
        start = self._origin
        return start is not None and leaves(self._land, start, self._taken, self._first, self._point, self._solve)

    @one_thread
    def result(self) -> WorkingPoint:
        """The present state as a working point; its ``converged`` says whether it is one."""
        if self.converged and self.branch_left is False and (left := self._leaves_its_branch()) is not False:
            self.branch_left = left
            self.notes.append(LEFT if left else UNKNOWN)
        outcome = Outcome(self.converged, self.reason, tuple(self.history), tuple(self.notes), self.branch_left)
        stability = self._stability(self._point)
        return WorkingPoint.at(self._land, self._point, stability, outcome, load=self._stage.load, seek=self.seek)

    def _failure(self, result: WorkingPoint) -> str:
        residual, worst = self._land.residual(self._point)
        name, unit = self.topology.coordinate_names[worst], self.topology.force_unit(worst)
        remedy = "start from poses nearer to equilibrium (at=...), or lower initial_strength"
        pushed = [
            m.name for m in result.free if abs(m.vector @ result.residual) > 1e-8 * np.abs(self._point.load).max()
        ]
        if pushed:
            remedy = (
                f"nothing holds {', '.join(pushed)}, yet a load acts along it: give it a stiffness or remove the load"
            )
        relative = np.abs(self._point.gradient) / self._land.load_scale(self._point.load)
        next_worst = [k for k in np.argsort(-relative)[1:4] if relative[k] > max(_RESIDUAL, 0.01 * residual)]
        others = "".join(f", {self.topology.coordinate_names[k]} ({relative[k]:.2g})" for k in next_worst)
        return (
            f"{self._label}: no working point after {len(self.history)} steps: {self.reason}. Largest residual "
            f"{-self._point.gradient[worst]:.6g}{unit} on {name} ({residual:.2g} of its loads, expected below "
            f"{_RESIDUAL:g}){', then' + others[1:] if others else ''}; {remedy}"
        )
