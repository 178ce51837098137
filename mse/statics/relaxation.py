"""Searches for the working point that users can watch, and how each kind of search is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np
import scipy.sparse as sp

from ..display import Shown, Table, amounts
from ..errors import ModelError, WorkingPointError
from ..model.assembly import Assembly
from ..model.configuration import State
from ..model.topology import Topology
from ..numerics.blas_threads import one_thread
from ..progress.reports import Progress
from ..progress.tasks import SEARCHING, Task
from ..validation.arguments import choice, instance, number
from . import failures
from .attempts import Attempt, FollowersRaised, LoadsHalved, LoadsRaised, Nothing, Otherwise, Plan, WayFollowed
from .branches import Followed, way_from
from .coupled_flows import balanced_together
from .equilibrium import balanced
from .following import foreseen_motion, motion_between
from .history import Iteration, Outcome, Steps, steps_table
from .merit_function import MeritFunction
from .options import SearchOptions
from .pull_in import pulled_in
from .search import Search, SearchState
from .stages import Reached, Stage, loads_from_little, stages, stiffness_ratios
from .steady_flows import changed_flows
from .step_methods import BESIDE, DESCENT, FOLLOWING, LOADED, UNSYMMETRIC_FOLLOWING, StepMethod
from .working_point import WorkingPoint

_LAST = 20  # steps that a table shows
_ROUNDS = 50  # searches after which steady flows should have settled
_AS_THEY_ARE = SearchOptions()  # elastic forces


class Relaxation(Shown):
    """The search for a working point, step by step: ``for step in system.relaxation(): print(step)``; then ``.result()``.

    Each step is an :class:`.Iteration`.  Far from equilibrium the energy decreases at every accepted step; near it the full
    Newton step is taken and converges quadratically.  Tolerances are relative to the loads and the size of the model.

    Parameters
    ----------
    search : Search
        The search; :meth:`.MSystem.relaxation` makes it.
    """

    def __init__(self, search: Search):
        self._search = search
        self._now: SearchState = search.begin()
        self._outcome: Outcome | None = search.terminate(self._now)

    @property
    def topology(self) -> Topology:
        """The system that is searched, as arrays."""
        return self._search.whole.topology

    @property
    def history(self) -> Steps:
        """All steps so far."""
        return Steps(self._now.history)

    @property
    def state(self) -> State:
        """Poses, internal coordinates and memories at present."""
        return self._now.state

    @property
    def finished(self) -> bool:
        """Whether the search has ended, with or without a working point."""
        return self._outcome is not None

    @property
    def converged(self) -> bool:
        """Whether the search has ended at a working point."""
        return self._outcome is not None and self._outcome.converged

    def table(self) -> Table:
        state = "found" if self.converged else "ended without one" if self.finished else "not ended"
        steps = self.history
        head = f"{self.topology.source.name}: search for a working point, {state}; {amounts(step=steps.tried)}"
        return steps_table(head + (f", the last {_LAST}" if len(steps) > _LAST else ""), steps[-_LAST:])

    def __iter__(self) -> Iterator[Iteration]:
        while not self.finished:
            known = len(self._now.history)
            step = self.step()
            if len(self._now.history) > known:
                yield step

    @one_thread
    def step(self) -> Iteration:
        """One step of the search (manual 2.8.5).

        Returns
        -------
        Iteration
            Record of the step.
        """
        self._now = self._search.step(self._now)
        self._outcome = self._search.terminate(self._now)
        return self._now.history[-1]

    @one_thread
    def run(self, *, throw: bool = True, progress: bool | Callable[[Progress], object] = True) -> WorkingPoint:
        """Search to the end; after Ctrl-C, call it again to go on.

        Parameters
        ----------
        throw : bool
            Whether a search without result raises; otherwise its last state is returned, ``converged`` False.
        progress : bool or callable
            Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

        Returns
        -------
        WorkingPoint
            The result.

        Raises
        ------
        WorkingPointError
            No equilibrium was reached.
        """
        with Task(self.topology.source.name, SEARCHING, unit="steps", show=progress) as task:
            for step in self:
                task.tell(step.number + 1, "residual %.1e", step.residual)
            result = self.result()
            if throw and not result.converged:
                told = pulled_in(result, partial(_again, result)) or failures.message(
                    self._now.merit, self._now.point, result
                )
                raise WorkingPointError(told, result)
            return task.finished(self._settled(result, throw))

    def _settled(self, result: WorkingPoint, throw: bool) -> WorkingPoint:
        """The working point at which steady flows are those of its own positions, on which their efforts may depend."""
        for _ in range(_ROUNDS):
            if not result.converged or not changed_flows(result):
                return result
            again = relaxation(
                result._topology,
                result._assembly,
                seek=result.seek,
                load_factor=result.load_factor,
                start=result,
                options=None,
            )
            while not again.finished:
                again.step()
            result = again.result()
        if throw:
            raise WorkingPointError(
                f"{result.name}: steady flows and positions still change each other after {_ROUNDS} searches; expected them to "
                "settle; start nearer to the equilibrium (at=...)", result
            )  # fmt: skip
        return result

    @one_thread
    def result(self) -> WorkingPoint:
        """The present state as a working point.

        Returns
        -------
        WorkingPoint
            Its ``converged`` says whether it is an equilibrium.
        """
        return self._search.result(self._now, self._outcome)


def _again(failed: WorkingPoint, topology: Topology, assembly: Assembly, start: WorkingPoint | None) -> WorkingPoint:
    """The search of a variant of a system whose search has failed, without raising."""
    return relaxation(topology, assembly, seek=failed.seek, load_factor=failed.load_factor, start=start).run(
        throw=False
    )


@one_thread
def relaxation(
    topology: Topology,
    assembly: Assembly,
    *,
    seek: str,
    load_factor: float = 1.0,
    start: WorkingPoint | None = None,
    options: SearchOptions | None = None,
) -> Relaxation:
    """The search for a stable or for the nearest equilibrium of a system; its kind depends on the forces.

    ``load_factor`` multiplies weights and loads; the search may continue from ``start``, an earlier result for the same system.
    """
    label = topology.label
    choice(label, "seek", seek, ("stable", "nearest"))
    if start is not None:
        instance(label, "start", start, WorkingPoint, "a working point of this system, or None")
    options = _AS_THEY_ARE if options is None else options
    instance(label, "options", options, SearchOptions, "mse.SearchOptions(...), or None")
    strength = options.initial_strength
    load_factor = number(label, "load_factor", load_factor, remedy="1 stands for the loads as they are")
    taken = None if start is None else taken_up(start, topology, assembly)
    merit = MeritFunction.of(topology, assembly, taken)
    whole, together = Stage(load_factor=load_factor), None
    if topology.internal:
        together = balanced_together(merit.at(whole).here(merit.start), stable=seek == "stable")
        if together is not None:
            taken, merit = together, MeritFunction.of(topology, assembly, together)
    reached = Reached(0.0 if start is None else start.load_factor, 1.0, merit.start)
    if seek == "nearest":
        first = followed(merit, whole, reached, strength, start, taken or merit.start)
    elif topology.conservative:
        otherwise = descended(merit, whole, reached, strength)
        if strength == 1.0 and (little := loads_from_little(merit.topology, whole, merit.weights)):
            otherwise = Attempt(DESCENT, little, merit.start, reached, Otherwise(otherwise))
        first = beside(merit, reached, otherwise, start)
        if together is not None and held_by_flows(merit.at(whole)):
            first = Attempt(FOLLOWING, (whole,), merit.start, reached, Otherwise(first))
    else:
        first = raised(merit, whole, reached, strength, from_start=taken is not None)
    return Relaxation(Search(merit, first, seek, start, taken, together is not None))


def held_by_flows(merit: MeritFunction) -> bool:
    """Whether the start is a stable equilibrium that falls at constant flows: loops hold it that keep their flux."""
    point = merit.evaluate(merit.start, 2)
    stability = merit.permitted(point)
    if not stability.unstable or not balanced(merit, point):
        return False
    found = WorkingPoint._at(merit, point, stability, Outcome(), load_factor=merit.load_factor, seek="stable")
    return found.stable


# -- kinds of searches ----------------------------------------------------------------------------------------
def beside(merit: MeritFunction, reached: Reached, otherwise: Attempt, start: WorkingPoint | None) -> Attempt:
    """Newton's method to the stable equilibrium in whose basin the search begins; another attempt if it leaves the basin.

    With new parameters, forces at a ``start`` are out of balance.  They change the stiffness there more than the way to the new
    equilibrium does, so the stiffness of the start itself gives the first step.
    """
    *_, whole = otherwise.stages
    if otherwise.stages[0].strength < 1.0:
        return otherwise
    same = start is not None and np.array_equal(start._topology.unit_reference, merit.topology.unit_reference)
    held = same and start._topology.conservative and start.held
    stiffness = start.stiffness if held else None
    then = LoadsRaised(whole, merit.start, Held(merit, reached, whole), otherwise)
    return Attempt(BESIDE, (whole,), merit.start, reached, then, stiffness=stiffness)


@dataclass(frozen=True, eq=False)
class Held:
    """Whether a search begins in equilibrium under other loads, with stiffness against the new ones; computed once."""

    merit: MeritFunction
    reached: Reached
    whole: Stage

    def __call__(self) -> bool:
        return self._found

    @cached_property
    def _found(self) -> bool:
        there = self.merit.at(self.whole)
        point = there.evaluate(self.reached.state, 1)
        return foreseen_motion(there, self.reached, self.whole, point) < np.inf


def descended(
    merit: MeritFunction, whole: Stage, reached: Reached, strength: float, then: Plan | None = None
) -> Attempt:
    """A descent to a stable equilibrium, through stages of softened elements."""
    ratios = stiffness_ratios(merit.topology, whole.load_factor, merit.weights)
    return Attempt(DESCENT, stages(strength, ratios, whole), merit.start, reached, then or Nothing())


def followed(
    merit: MeritFunction, whole: Stage, reached: Reached, strength: float, start: WorkingPoint | None, taken: State
) -> Attempt:
    """Newton's method to the nearest equilibrium; if it does not get there, load steps are halved.

    If only loads differ from a ``start``, or from poses that balance without loads, the stiffness there gives the first step and
    predicts the motion.  If all this fails, the branch of the start is followed; its state for these objects is ``taken``.
    """
    method = FOLLOWING if merit.topology.conservative else UNSYMMETRIC_FOLLOWING
    first, stiffness = stages(strength, (), whole), None
    if len(first) == 1 and method is FOLLOWING and not reached.is_at(whole):
        if start is None:
            stiffness = _stiffness_unloaded(merit, reached, whole)
        elif start.converged and start._topology is merit.topology:
            stiffness = start.stiffness
        if stiffness is not None:
            method = LOADED
    then: Plan = Nothing()
    if start is not None and start.converged:
        there = merit.at(whole)

        @cache
        def way(method: StepMethod) -> Followed:
            return way_from(there, start, taken, lambda point, radius, _: method.newton(there, point, radius))

        then = WayFollowed(whole, way)
    return Attempt(method, first, merit.start, reached, LoadsHalved(whole, merit.start, then), stiffness=stiffness)


def _stiffness_unloaded(merit: MeritFunction, reached: Reached, whole: Stage) -> sp.csc_matrix | None:
    """The stiffness at the start without loads, if that is an equilibrium with stiffness against the loads; else None."""
    before, there = merit.under(reached.load_factor), merit.at(whole)
    point = before.evaluate(merit.start, 2)
    held = balanced(before, point) and motion_between(there, point, there.evaluate(merit.start, 1)) < np.inf
    return point.stiffness if held else None


def raised(merit: MeritFunction, whole: Stage, reached: Reached, strength: float, *, from_start: bool) -> Attempt:
    """A search under forces that have no energy: first for equilibrium without them, then they are raised step by step.

    From a start, they are raised from the loads that balance there, if Newton's method succeeds.  If there is no equilibrium
    without them, all loads are raised from zero.
    """
    then = FollowersRaised(UNSYMMETRIC_FOLLOWING, whole, merit.start)
    without = descended(merit, whole._replace(follower_factor=0.0), reached, strength, then)
    if not from_start:
        return without
    first = stages(strength, (), whole)
    return Attempt(UNSYMMETRIC_FOLLOWING, first, merit.start, reached, Otherwise(without))


def taken_up(start: WorkingPoint, topology: Topology, assembly: Assembly) -> State:
    """The state of an earlier result, for a system with the same frames."""
    if not start._topology.same_frames(topology) or len(start.state.q) != topology.internal:
        raise ModelError(
            f"{topology.label}: start is a working point of {start.name!r} with other objects or clamps; expected one of this "
            "system, in which only parameters have changed"
        )
    old, new = start._assembly.groups, assembly.groups
    state = start.state
    if not np.array_equal(start._topology.unit_reference, topology.unit_reference):
        # another body of a cluster is now the heaviest, and so its reference
        o, u = start.frame_poses
        state = state._replace(o=o[topology.unit_reference], U=u[topology.unit_reference])
    if [g.members for g in old] == [g.members for g in new]:
        return state
    # new parameters may put elements into other groups; each keeps its memory
    known = {
        el.path: memory[k] for g, memory in zip(old, start.state.memory, strict=True) for k, el in enumerate(g.elements)
    }
    frames = start.frame_poses
    memory = []
    for g in new:
        fresh = g.initial_memory(*frames)
        for k, el in enumerate(g.elements):
            if el.path in known and len(known[el.path]) == fresh.shape[1]:
                fresh[k] = known[el.path]
        memory.append(fresh)
    return state._replace(memory=tuple(memory))
