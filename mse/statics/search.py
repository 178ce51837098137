"""The search for the static working point: a frozen state, a step to the next state, and a test for the end.

    state = search.begin()
    while (ending := search.terminate(state)) is None:
        state = search.step(state)

(as in optimistix: init, step, terminate).  A search consists of attempts (:mod:`.attempts`), and an attempt of stages
(:mod:`.stages`).  A stage takes steps by one method (:mod:`.step_methods`) until it is in equilibrium (:mod:`.equilibrium`).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..model.configuration import State
from ..numerics.trust_region import Step
from . import failures
from .attempts import Attempt, Ending, Nothing
from .branches import LEFT, UNKNOWN, alike, leaves
from .equilibrium import (
    LEAST_RADIUS,
    MOST_DOUBTS,
    POLISHING_STEPS,
    RESIDUAL,
    STALLED,
    at_rounding,
    balanced,
    balances_loads,
    beyond_rounding,
    coarseness,
)
from .following import foreseen_motion, goes_beyond, has_jumped, motion_by, translation
from .free_motions import returned
from .history import DRAWN, Iteration, Outcome
from .merit_function import MeritFunction, Point
from .scales import COARSE, STRAIGHT
from .stability import describe
from .stages import Reached, Stage
from .step_methods import is_foreseen
from .stiff_valleys import unstrained
from .working_point import WorkingPoint

log = logging.getLogger("mse")

# A step that much shorter than the one before bends by its square, a hundred times less; with 0.01 and 1 evaluations are as many
# (tests/statics/test_load_steps.py::test_stiffness_is_taken_along_where_steps_become_shorter).
SHORTER = 0.1


class SearchState(NamedTuple):
    """State of a search: the ``point`` on the merit function (``merit``) of its ``stage``, and data of its way.

    - ``ahead``: the stages after this one; ``reached``: the equilibrium before it.
    - ``entered``: the state where the stage began, at step ``since``; ``foreseen``: how far (m) the stage should lead.
    - ``best``: the best point in equilibrium: its residual in units of rounding, the point, the step from there; ``polished``
      and ``doubts`` count steps there.
    - ``straight``: the last step was accepted without correction.
    - ``first``: where the search began; ``began``: the first step; ``forth``: the step from there by the stiffness of the origin.
    - ``lost_branch``: the last equilibrium of a branch along which loads could not be raised further.
    - ``ending``: set when the attempt has ended.
    """

    attempt: Attempt
    merit: MeritFunction
    stage: Stage
    ahead: tuple[Stage, ...]
    reached: Reached
    entered: State
    since: int
    point: Point
    radius: float
    foreseen: float = np.inf
    best: tuple[float, Point, Step | None] | None = None
    polished: int = 0
    doubts: int = 0
    straight: bool = False
    history: tuple[Iteration, ...] = ()
    notes: tuple[str, ...] = ()
    first: Point | State | None = None
    forth: Step | None = None
    began: np.ndarray | None = None
    lost_branch: Reached | None = None
    ending: Ending | None = None

    @property
    def state(self) -> State:
        """Poses, internal coordinates and memories."""
        return self.point.state

    def grows(self, step: Step) -> bool:
        """Whether the last two steps and the next one are each longer than the one before, which happens far from equilibrium."""
        last = [s.step for s in self.history[self.since + 1 :]][-2:]
        return len(last) == 2 and last[0] < last[1] < _largest(step.p)

    def converges(self, step: Step) -> bool:
        """Whether the next step is so much shorter than the last one that it hardly bends."""
        return _largest(step.p) <= SHORTER * self.history[-1].step

    def end_of(self, step: Step) -> Point:
        """The end of a step; with its stiffness if that is cheap, or if the step will likely be accepted without correction.

        If it converges after a step without correction, it is likely the last, and terms of the stiffness come with it.
        """
        converges, way = self.converges(step), self.attempt.method.way(step)
        order = 2 if self.merit.is_small or self.straight or converges else 1
        return self.merit.stepped(self.point, step.p, order, by=way, terms=self.straight and converges)

    def begun(self) -> SearchState:
        """With its point in the history, before any step."""
        return self._recorded(self.history[-1].number if self.history else 0, True, 0.0)

    def tried(self, accepted: bool, length: float, **changes: Any) -> SearchState:
        """With some ``changes``, and one more step in the history."""
        return self._recorded(self.history[-1].number + 1, accepted, length, **changes)

    def _recorded(self, number: int, accepted: bool, length: float, **changes: Any) -> SearchState:
        point = changes.get("point", self.point)
        residual, worst = self.merit.residual(point)
        where = self.merit.topology.coordinate_names[worst] if worst >= 0 else ""
        step = Iteration(number, self.stage.strength, point.energy, residual, where, length, accepted)
        log.debug("%s", step)
        return self._replace(history=(*self.history, step), **changes)


@dataclass(frozen=True, eq=False)
class Search:
    """Constants of a search: the system as a merit function, its first attempt, and the kind of equilibrium.

    If the search begins at a working point, that is its ``origin``; ``taken`` is its state for the objects of this system.
    ``together``: flows that depend on positions balance where it begins.  Further steps, at constant flows, would be worse.
    """

    whole: MeritFunction
    attempt: Attempt
    seek: str = "stable"
    origin: WorkingPoint | None = None
    taken: State | None = None
    together: bool = False

    def begin(self) -> SearchState:
        """The state in which the search begins."""
        state = self._enter(self.attempt, self.attempt.stages, self.attempt.begin, self.attempt.reached)
        whole = self.whole.under(self.attempt.stages[-1].load_factor)
        if self.whole.topology.internal and (reason := failures.driven(whole)):
            ended = replace(self.attempt, then=Nothing())
            return state._replace(
                attempt=ended, merit=whole, point=whole.evaluate(whole.start, 2), ending=Ending(reason)
            )
        return state._replace(first=state.entered if state.ahead else state.point)

    def step(self, state: SearchState) -> SearchState:
        """One step; after the end of an attempt, the beginning of the next one."""
        if state.ending is not None:
            onward = state.attempt.then.after(state, state.ending)
            return self._attempted(onward, state, state.ending) if isinstance(onward, Attempt) else state
        merit, point, method = state.merit, state.point, state.attempt.method
        step = method.solve(merit, point, state.radius)
        if point.stiffness is state.attempt.stiffness:
            state = state._replace(forth=step)
        trial, first = None, len(state.history) - state.since == 1
        if first and method.follows and state.attempt.stiffness is not None:
            state = state._replace(foreseen=motion_by(merit, point, step.whole))
        if method.stays:
            falls = step.lowest < 0.0
            if first:
                began = step.p if state.since == 0 else None
                state = state._replace(foreseen=translation(merit, step.p), began=began)
                if falls:
                    trial = state.end_of(step)
                    falls = not is_foreseen(point, step, trial)
            if falls or goes_beyond(merit, step.p, state.foreseen) or state.grows(step):
                return state._replace(ending=Ending(failures.NOT_BESIDE))
        state, settled = self._rests(state, step)
        if settled:
            state, done = self._polished(state, step)
            if done:
                return self._arrived(state)
            if step.on_boundary or step.lowest < 0.0:
                # a whole step, since the way here may have left a short radius
                step, trial = method.newton(merit, point, STRAIGHT * merit.size), None
        trial = state.end_of(step) if trial is None else trial
        return self._tried(state, step, trial, settled)

    def terminate(self, state: SearchState) -> Outcome | None:
        """How the whole search has ended; None while it goes on."""
        if state.ending is None:
            return None
        end = state.attempt.then.after(state, state.ending)
        if isinstance(end, Attempt):
            return None
        return Outcome(end.converged, end.reason, state.history, state.notes, end.branch_left, self._start)

    def result(self, state: SearchState, outcome: Outcome | None) -> WorkingPoint:
        """The state as a working point; its ``converged`` says whether it is an equilibrium."""
        outcome = outcome or Outcome(False, "", state.history, state.notes, start=self._start)
        merit, stability = state.merit, state.merit.permitted(state.point)
        return WorkingPoint._at(merit, state.point, stability, outcome, load_factor=merit.load_factor, seek=self.seek)

    @property
    def _start(self) -> str:
        """Where the search begins, in words."""
        if self.origin is None:
            return DRAWN
        before, now = self.origin.load_factor, self.attempt.stages[-1].load_factor
        return "an earlier working point" if before == now else f"a working point under {before:g} times its loads"

    def lost(self, state: SearchState) -> Ending | None:
        """How the present attempt has failed at a state; None if it may go on."""
        if away := failures.moved_away(self.whole, state.state):
            return Ending(away)
        if state.radius < LEAST_RADIUS * self.whole.outermost:
            stalled = state.merit.residual(state.point)[0] > STALLED
            return Ending(failures.no_better(self.whole, state.state)) if stalled else None
        most = state.attempt.method.most_steps
        if len(state.history) - state.since > most:  # the beginning is recorded too
            return Ending(failures.too_many_steps(self.whole, state.state, most))
        return None

    def _tried(self, state: SearchState, step: Step, first: Point, settled: bool) -> SearchState:
        """The state after a step that ends at ``first`` was tried; ``settled``: it began in an equilibrium."""
        merit, point, method, trial = state.merit, state.point, state.attempt.method, first
        radius, notes = state.radius, state.notes
        if settled:
            # energies are rounding here
            left = partial(beyond_rounding, merit, known=point)
            trial = unstrained(merit, trial, left, left(point), method.newton)
            accepted = bool(np.isfinite(trial.energy)) and left(trial) <= left(point)
        else:
            trial = method.correct(merit, point, step, trial)
            accepted, radius = method.judge(merit, point, trial, step, radius)
        straight = accepted and trial is first
        if accepted:
            point = trial
            if trial.stiffness is None:
                point = merit.stiffened(trial, terms=balances_loads(merit, trial))  # if so, it is likely the last point
            notes = notes or _buckled(merit, state.point, step.sideways)
        length = _largest(step.p) if accepted else 0.0
        state = state.tried(accepted, length, point=point, radius=radius, straight=straight, notes=notes)
        if (ending := self.lost(state)) is not None:
            return state._replace(ending=ending)
        if settled and not accepted:
            return self._arrived(state)  # no step improves it
        if radius < LEAST_RADIUS * merit.outermost:
            return self._arrived(state._replace(best=(beyond_rounding(merit, point), point, None)))
        return state

    # -- stages -----------------------------------------------------------------------------------------------
    def _attempted(self, attempt: Attempt, state: SearchState, ending: Ending) -> SearchState:
        """The beginning of an attempt, after another one has ended in ``state``."""
        if not ending.converged:
            log.info("%s: %s; trying again", self.whole.label, ending.reason)
        state = state._replace(lost_branch=attempt.lost_branch or state.lost_branch)
        return self._enter(attempt, attempt.stages, attempt.begin, attempt.reached, state)

    def _enter(
        self,
        attempt: Attempt,
        stages: tuple[Stage, ...],
        begin: State,
        reached: Reached,
        last: SearchState | None = None,
    ) -> SearchState:
        """The beginning of the first of the ``stages``, after the ``last`` state."""
        stage, *ahead = stages
        merit, history = self.whole.at(stage), last.history if last else ()
        point = _first_point(merit, begin, attempt.stiffness, last)
        # an attempt that ended where it began has recorded this point already
        known = last is not None and point is last.point and len(history) - last.since == 1
        since = last.since if known else len(history)
        state = SearchState(
            attempt, merit, stage, tuple(ahead), reached, begin, since, point, attempt.method.first * merit.size,
            history=history, notes=last.notes if last else (), first=last.first if last else None,
            forth=last.forth if last else None, lost_branch=last.lost_branch if last else None,
        )  # fmt: skip
        merit.refuse_undefined(point)
        if attempt.arrived:
            state = state._replace(foreseen=0.0)
        elif attempt.method.follows and attempt.stiffness is None:  # else the first step predicts it
            state = state._replace(foreseen=foreseen_motion(merit, reached, stage, point))
        return state if known else state.begun()

    # -- equilibrium ------------------------------------------------------------------------------------------
    def _rests(self, state: SearchState, step: Step) -> tuple[SearchState, bool]:
        """Whether the point of a state is an equilibrium of the kind that its method seeks; ``step`` is the step from there."""
        merit, point, stable = state.merit, state.point, state.attempt.method.stable
        rests = balanced(merit, point)
        settled = rests and (not stable or step.lowest >= 0.0)
        if rests and not settled:
            state = state._replace(doubts=state.doubts + 1)
        elif state.doubts:
            state = state._replace(doubts=0)
        if state.doubts > MOST_DOUBTS:
            # repeated negative curvature may be rounding of reactions
            settled = not merit.stability(point).unstable
        return state, settled

    def _polished(self, state: SearchState, step: Step) -> tuple[SearchState, bool]:
        """The state with the best point in equilibrium so far, and whether no step improves it; ``step`` starts there."""
        left = beyond_rounding(state.merit, state.point)
        if state.best is None or left < 0.5 * state.best[0] or _nears(state.best, left, step):
            found = self.together and state.state is self.whole.start
            arrived = found or at_rounding(state.merit, state.point, step)
            state = state._replace(best=(left, state.point, step))
            if not arrived and not state.ahead:
                state = state._replace(polished=state.polished + 1)
                return state, state.polished > POLISHING_STEPS or self._has_jumped(state)
        return state, True

    def _has_jumped(self, state: SearchState) -> bool:
        return has_jumped(state.merit, state.entered, state.state, state.foreseen)

    def _arrived(self, state: SearchState) -> SearchState:
        """The next stage after an equilibrium, or the end of the attempt."""
        if self._has_jumped(state):
            return state._replace(ending=Ending(failures.JUMPED))
        state = state._replace(point=state.best[1])
        if state.ahead:
            reached = Reached(state.stage.load_factor, state.stage.follower_factor, state.state)
            return self._enter(state.attempt, state.ahead, state.state, reached, state)
        merit = state.merit
        if failure := failures.without_digits(merit, state.point):
            return state._replace(ending=Ending(failure, hopeless=True))
        coarse = coarseness(merit, state.point)
        for point, length in returned(merit, state.point, state.attempt.method.newton):
            state = state.tried(True, length, point=point)
        if coarse > COARSE:
            where = merit.topology.coordinate_names[merit.residual(state.point)[1]]
            log.warning(
                "%s: so stiff that rounding of the positions leaves %.1e of the loads unbalanced (%s); forces and all results "
                "from them are no more accurate; lower the stiffness or clamp instead", merit.label, coarse, where,
            )  # fmt: skip
        return self._on_its_branch(state)

    def _on_its_branch(self, state: SearchState) -> SearchState:
        """The end of an attempt in equilibrium, which may be on another branch than the origin."""
        method, merit, refused = state.attempt.method, state.merit, self.seek == "nearest"
        _, best, onward = state.best
        found = state.point, onward if state.point is best else None
        origin, taken, first = self.origin, self.taken, (state.first, state.forth)
        if origin is None and state.lost_branch is not None:
            origin, taken, first = self._from_branch(state.lost_branch)
        elif origin is None and self._strays(state, found) and state.attempt.then.is_held():
            origin, taken, first = self._from_branch(Reached(0.0, 1.0, merit.start))
        # steps of the loads alone are compared with the tangent
        known = origin is None or (refused and np.isfinite(state.foreseen))
        if known or isinstance(state.attempt.then.after(state, Ending()), Attempt):
            return state._replace(ending=Ending())

        def solve(point: Point, radius: float, _: bool) -> Step:
            return method.newton(merit, point, radius)

        left = leaves(merit, origin, taken, first, found, solve)
        if left is False:
            return state._replace(ending=Ending())
        if refused:
            return state._replace(ending=Ending(failures.JUMPED))
        return state._replace(ending=Ending(branch_left=left), notes=(*state.notes, LEFT if left else UNKNOWN))

    def _strays(self, state: SearchState, found: tuple[Point, Step | None]) -> bool:
        """Whether Newton's steps from poses that balance without loads have ended elsewhere than tangents predict.

        If one step ends in equilibrium they have not, since forces are linear along it.
        """
        merit, first, (there, onward) = state.merit, state.first, found
        if state.began is None or not merit.is_loaded or len(state.history) <= 2:  # the first entry is the beginning
            return False
        before = merit.under(0.0)
        if not balanced(before, replace(before.evaluate(first.state, 1), stiffness=first.stiffness)):
            return False
        known = onward is not None and onward.newton is not None
        return not (known and alike(merit, before, first, state.began, there, onward))

    def _from_branch(self, reached: Reached) -> tuple[WorkingPoint, State, tuple[State, None]]:
        """An equilibrium under lower loads as a working point, whose branch the search may have left."""
        merit = self.whole.under(reached.load_factor)
        point = merit.evaluate(reached.state, 2)
        stability, outcome = merit.permitted(point), Outcome()
        start = WorkingPoint._at(merit, point, stability, outcome, load_factor=merit.load_factor, seek=self.seek)
        return start, reached.state, (reached.state, None)


def _first_point(
    merit: MeritFunction, begin: State, stiffness: sp.csc_matrix | None, last: SearchState | None
) -> Point:
    """The point where an attempt begins; if it is out of balance, with the ``stiffness`` given."""
    if stiffness is not None:
        point = replace(merit.evaluate(begin, 1), stiffness=stiffness)
        if not balanced(merit, point):
            return point
    elif (
        last is not None and last.point.state is begin and last.stage == merit.stage and last.attempt.stiffness is None
    ):
        return last.point
    return merit.evaluate(begin, 2)


def _largest(step: np.ndarray) -> float:
    return float(np.abs(step).max(initial=0.0))


def _nears(best: tuple[float, Point, Step | None], left: float, step: Step) -> bool:
    """Whether the ``step`` is less than half of the step from the ``best`` point, and the residual ``left`` not larger than
    there.

    Forces of stiff members may hardly decrease while a soft motion approaches its equilibrium.
    """
    least, _, onward = best
    return onward is not None and left <= least and bool(np.linalg.norm(step.p) < 0.5 * np.linalg.norm(onward.p))


def _buckled(merit: MeritFunction, point: Point, sideways: np.ndarray | None) -> tuple[str, ...]:
    """A note if the search had to choose a side of a motion (n searched): no more force is along it than in equilibrium."""
    if sideways is None:
        return ()
    _, g, loads = merit.scaled(point)
    if abs(g @ sideways) > RESIDUAL * np.linalg.norm(loads) * np.linalg.norm(sideways):
        return ()
    x = np.zeros(merit.topology.size)
    x[merit.searched] = sideways / merit.metric
    along = describe(x, merit.topology.coordinate_names, merit.scale)
    return (f"left a balance that is unstable: it buckles or tips along {along}",)
