"""Attempts of a search, and the plan that decides what follows each; all are objects that can be tested alone.

A plan is asked ``after(state, ending)`` once an attempt has ended: it answers with the next :class:`Attempt`, or with the
:class:`Ending` of the whole search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import scipy.sparse as sp

from . import failures
from .stages import Reached, Stage, halfway
from .step_methods import StepMethod, guarded

if TYPE_CHECKING:
    from ..model.configuration import State
    from .branches import Followed
    from .search import SearchState

# Steps of the loads, each half as large as the one before, that fail in a row before the loads are no longer raised.  Structures
# near their buckling loads (tests/statics/test_standing.py) are found with 2 as with 4, some of them not with 1.
_MOST_REFUSED = 3


class Ending(NamedTuple):
    """How an attempt, or a whole search, has ended: ``reason`` says why it failed, nothing at an equilibrium.

    ``hopeless``: no other way leads to anything better.  ``branch_left``, where the search began at a working point: see
    :class:`WorkingPoint`.
    """

    reason: str = ""
    hopeless: bool = False
    branch_left: bool | None = False

    @property
    def converged(self) -> bool:
        return not self.reason


class Plan(Protocol):
    """The rule for what follows an attempt."""

    def after(self, state: SearchState, ending: Ending) -> Attempt | Ending:
        """The next attempt, or the ending of the whole search."""
        ...


@dataclass(frozen=True)
class Nothing:
    """The end; where the attempt has failed too, with the ``reason`` of an earlier one, if there is any."""

    reason: str = ""

    def after(self, state: SearchState, ending: Ending) -> Attempt | Ending:
        return ending if ending.converged or not self.reason else ending._replace(reason=self.reason)


@dataclass(frozen=True)
class Attempt:
    """A search from a state ``begin`` through ``stages`` by one method; ``then`` is what follows it.

    ``reached`` is the equilibrium from which its first stage changes loads.  Out of balance it begins with ``stiffness``, where
    that is known.  ``lost_branch`` is the last equilibrium of the branch that an earlier attempt could not follow; ``arrived``:
    it begins where the branch of a working point was followed to.
    """

    method: StepMethod
    stages: tuple[Stage, ...]
    begin: State
    reached: Reached
    then: Plan = field(default_factory=Nothing)
    stiffness: sp.csc_matrix | None = None
    lost_branch: Reached | None = None
    arrived: bool = False


@dataclass(frozen=True)
class Otherwise:
    """Another attempt where one has failed."""

    attempt: Attempt

    def after(self, state: SearchState, ending: Ending) -> Attempt | Ending:
        return ending if ending.converged or ending.hopeless else self.attempt


@dataclass(frozen=True)
class Afterwards:
    """Another plan; where the attempt before it has failed, with an earlier ``reason``, if there is any."""

    plan: Plan
    reason: str

    def after(self, state: SearchState, ending: Ending) -> Attempt | Ending:
        return self.plan.after(state, Nothing(self.reason).after(state, ending))


@dataclass(frozen=True)
class FollowersRaised:
    """After an equilibrium without forces that come from no energy, these are raised from there to the ``whole`` stage.

    Where there is no such equilibrium, all loads are raised from nothing.
    """

    method: StepMethod
    whole: Stage
    begin: State

    def after(self, state: SearchState, ending: Ending) -> Attempt | Ending:
        nothing = FromNothing(self.method, self.whole, self.begin)
        if not ending.converged:
            return nothing.attempt(Nothing(), ending.reason)
        reached = Reached(self.whole.load_factor, 0.0, state.state)
        return Attempt(self.method, (self.whole,), reached.state, reached, LoadsHalved(self.whole, self.begin, nothing))


@dataclass(frozen=True)
class LoadsHalved:
    """After a step of the loads has failed, one half as large, and so on.

    Where even small ones fail without any equilibrium under loads, a :func:`guarded` search is made straight from ``begin``; if
    that fails too, the reason given is the one why there is none ``without`` some of the loads, where that is known.
    """

    whole: Stage
    begin: State
    then: Plan = field(default_factory=Nothing)
    without: str = ""

    def after(self, state: SearchState, ending: Ending) -> Attempt | Ending:
        if ending.converged or ending.hopeless:
            return ending
        method, reached = state.attempt.method, state.reached
        smaller = halfway(reached, state.stage, self.whole)
        if smaller is not None:
            return Attempt(method, (smaller, state.stage, *state.ahead), reached.state, reached, self)
        ending = Ending(failures.limit_reached(reached, self.whole))
        if reached.load_factor == 0.0:
            then = Afterwards(self.then, self.without)
            return Attempt(guarded(method), (self.whole,), self.begin, reached._replace(state=self.begin), then)
        return self.then.after(state, ending)


@dataclass(frozen=True)
class WayFollowed:
    """After Newton's method from a working point has failed, from where its branch leads to as parameters change bit by bit."""

    whole: Stage
    followed: Callable[[StepMethod], Followed]

    def after(self, state: SearchState, ending: Ending) -> Attempt | Ending:
        if ending.converged or ending.hopeless:
            return ending
        method = state.attempt.method
        way = self.followed(method)
        if way.end is None:
            return ending._replace(reason=failures.way_ends(way.share, passed=way.passed))
        begin = way.end.state
        reached = Reached(self.whole.load_factor, self.whole.follower_factor, begin)
        return Attempt(method, (self.whole,), begin, reached, arrived=True)


@dataclass(frozen=True)
class LoadsRaised:
    """After a step of the loads from an equilibrium has failed, one half as large; another attempt where three in a row have,
    or where it does not begin in an equilibrium that ``is_held``.
    """

    whole: Stage
    begin: State
    is_held: Callable[[], bool]
    otherwise: Attempt
    refused: int = 0

    def after(self, state: SearchState, ending: Ending) -> Attempt | Ending:
        if ending.converged or ending.hopeless:
            return ending
        attempt, reached = state.attempt, state.reached
        refused = 1 if reached is not attempt.reached else self.refused + 1
        if not self.is_held():
            return self.otherwise
        smaller = halfway(reached, state.stage, self.whole)
        if refused > _MOST_REFUSED or smaller is None:
            return replace(self.otherwise, lost_branch=None if reached.state is self.begin else reached)
        then = replace(self, refused=refused)
        return Attempt(attempt.method, (smaller, state.stage, *state.ahead), reached.state, reached, then)


@dataclass(frozen=True)
class FromNothing:
    """After forces that come from no energy could not be raised alone, all loads are raised from nothing."""

    method: StepMethod
    whole: Stage
    begin: State

    def after(self, state: SearchState, ending: Ending) -> Attempt | Ending:
        if ending.converged or state.reached.follower_factor == 1.0:
            return ending
        return self.attempt(Nothing(ending.reason))

    def attempt(self, then: Plan, without: str = "") -> Attempt:
        """The attempt, and what follows where halving its loads does not help; see :class:`LoadsHalved`."""
        nothing = Reached(0.0, 1.0, self.begin)
        return Attempt(
            self.method, (self.whole,), self.begin, nothing, LoadsHalved(self.whole, self.begin, then, without)
        )
