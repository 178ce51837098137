"""Attempts of a search, and the plans that decide what follows; each object can be tested alone.

When an attempt has ended, ``plan.after(state, ending)`` returns the next :class:`Attempt`, or the :class:`Ending` of the whole
search.
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

# Load steps are halved after a failure; after this many failures in a row loads are no longer raised.  Structures near their
# buckling loads (tests/statics/test_standing.py) are found with 2 and with 4; with 1 some are not.
_MOST_REFUSED = 3


class Ending(NamedTuple):
    """How an attempt or a whole search has ended: ``reason`` says why it failed, and is empty at an equilibrium.

    ``hopeless``: no other attempt can do better.  ``branch_left`` is for searches that begin at a working point: see
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
    """The end.  If the attempt has failed, the ``reason`` of an earlier one is given instead of its own, if there is one."""

    reason: str = ""

    def after(self, state: SearchState, ending: Ending) -> Attempt | Ending:
        return ending if ending.converged or not self.reason else ending._replace(reason=self.reason)


@dataclass(frozen=True)
class Attempt:
    """A search from a state ``begin`` through ``stages`` by one method; the plan ``then`` decides what follows.

    ``reached`` is the equilibrium from which the first stage changes loads.  If ``begin`` is not in balance, the first step uses
    ``stiffness``, if known.  ``lost_branch`` is the last equilibrium of a branch that an earlier attempt could not follow.
    ``arrived``: the attempt begins at the end of a followed branch of a working point.
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
    """Another attempt, if one has failed."""

    attempt: Attempt

    def after(self, state: SearchState, ending: Ending) -> Attempt | Ending:
        return ending if ending.converged or ending.hopeless else self.attempt


@dataclass(frozen=True)
class Afterwards:
    """Another plan.  If the attempt before it has failed, the plan is given an earlier ``reason``, if there is one."""

    plan: Plan
    reason: str

    def after(self, state: SearchState, ending: Ending) -> Attempt | Ending:
        return self.plan.after(state, Nothing(self.reason).after(state, ending))


@dataclass(frozen=True)
class FollowersRaised:
    """An equilibrium was sought without the forces that have no energy; from there these are raised to the ``whole`` stage.

    If there is no such equilibrium, all loads are raised from zero.
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
    """After a load step has failed, a step half as large, and so on.

    If even small steps lead to no equilibrium under loads, a :func:`guarded` search is made directly from ``begin``.  If that
    fails too, the reason given is ``without``, if known: why there is no equilibrium without some of the loads.
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
    """After Newton's method from a working point has failed, its branch is followed by small changes of the parameters."""

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
    """After a load step from an equilibrium has failed, a step half as large.

    ``otherwise`` follows if three halvings in a row fail, or if the first equilibrium is not held (``is_held``).
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
    """If the forces without an energy could not be raised alone, all loads are raised from zero."""

    method: StepMethod
    whole: Stage
    begin: State

    def after(self, state: SearchState, ending: Ending) -> Attempt | Ending:
        if ending.converged or state.reached.follower_factor == 1.0:
            return ending
        return self.attempt(Nothing(ending.reason))

    def attempt(self, then: Plan, without: str = "") -> Attempt:
        """The attempt; ``then`` follows if halving its loads does not help, see :class:`LoadsHalved`."""
        nothing = Reached(0.0, 1.0, self.begin)
        return Attempt(
            self.method, (self.whole,), self.begin, nothing, LoadsHalved(self.whole, self.begin, then, without)
        )
