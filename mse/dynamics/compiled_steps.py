"""Steps that compiled code makes, many in one call where it is known how far a run goes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import count

import numpy as np

from ..kernels.steps import NO_INERTIA, Passed, Sampled
from ..model.configuration import State
from .bodies import Bodies, NotElementary
from .charts import no_moment
from .moments import MadeLater, Moment, Step

# The most steps in one call, and how many times as many as the call before a call makes where each step is looked at.
# With 64 and 1,024, and with 2 and 8, tests/dynamics/test_trees.py passes.
_MOST, _MORE = 256, 4
# The most steps times bodies in one call.  Ctrl-C and the display of progress wait for a call: half a second for 900 bodies in
# loops.  With a tenth and ten times of it tests/dynamics/test_closed_loops.py passes.
_WORK = 10_000
# The same where Python gives inputs, whose functions may be slow.  With 10 and 64 tests/dynamics/test_jumps.py passes.
_ASKING = 16


# What finds a moment within one of the steps that were made, from its number and the moment at its begin; ModelError without one.
Interpolation = Callable[[Passed, int, Moment], Callable[[Sampled], None]]


# How many of the steps that begin at times (s) and may have the lengths (s) see all that inputs do.
Clear = Callable[[np.ndarray, np.ndarray], int]


class CompiledSteps(ABC):
    """Steps of bodies, of which compiled code follows so many angles."""

    complete: bool  # whether elements remember nothing but these angles, so that a moment long before tells the rest

    def __init__(self, bodies: Bodies, angles: int):
        self.bodies, self.equations, self._angles = bodies, bodies.equations, angles
        self._row: _Row | None = None
        # Python exerts forces from the state at the begin of a step, and looks at each step that follows a prescribed motion
        many = 1 if bodies.shares.in_python or bodies.drives else _WORK // self.equations.assembly.bodies
        if not bodies.alone:
            many = min(many, _ASKING)
        self._many, self._most = 1, max(1, min(_MOST, many))

    @abstractmethod
    def march(self, begin: Moment, passed: Passed, until: float, sampled: Sampled) -> tuple[int, int, int]:
        """Steps from a moment on, which is the first of ``passed``, see :func:`mse.kernels.tree_steps.march`."""

    def prepare(self) -> None:
        """Compile what acts, while another process compiles the steps."""
        _ = self.bodies.elements

    def failed(self, begin: Moment) -> Exception:
        """What to raise where no step from a moment keeps the tolerance; NotElementary where other code may find one."""
        return NotElementary()

    @abstractmethod
    def interpolation(self, s: int) -> Interpolation | None:
        """The interpolation in one of the steps that were made last; None where it is not known.

        If moments were asked for, the first step has one.  If none were, each step of loops has one, and none of trees.  No
        implicit step has one.
        """

    def left(self, moment: Moment) -> np.ndarray | None:
        """``M a - f`` (n,) at a moment; None where this code does not know it."""
        return None

    @abstractmethod
    def angles(self, state: State) -> np.ndarray:
        """The angles at a state."""

    @abstractmethod
    def state(self, o: np.ndarray, u: np.ndarray, angles: np.ndarray, before: State) -> State:
        """The state at poses of bodies and angles, after one whose memories it goes on from."""

    def step(self, begin: Moment, until: float | None, samples: np.ndarray) -> Step:
        """The step that begins at a moment; NotElementary where a joint has no inertia, StepFailed where there is none.

        If it is made alone, moments at ``samples`` (s) in it are found with it.
        """
        row = self._row
        if self._most == 1 and len(samples):
            far = begin.time + (np.inf if begin.step is None else begin.step)
            first, last = np.searchsorted(samples, [begin.time, far], side="right").tolist()
            # one behind the step tells that it needs no interpolation
            return self.leap(begin, np.inf if until is None else until, samples[first : last + 1])[0]
        if row is None or begin is not row.next:
            self._many = (
                1 if until is None or row is None or begin is not row.last else min(_MORE * self._many, self._most)
            )
            row = self._row = self._made(begin, self._many, np.inf if until is None else until, np.zeros(0))
        return row.step()

    def leap(
        self, begin: Moment, until: float, times: np.ndarray, clear: Clear | None = None
    ) -> tuple[Step, list[float]] | None:
        """Many steps from a moment on, until a time (s), with moments at some of the times (s) ahead, and the times between them.

        They are as many as are ``clear``; None if the first is not.  Raises as ``step``.
        """
        if clear is None:
            return self._made(begin, self._most, until, times[:_MOST]).leap()
        row = self._made(begin, self._many, until, times[:_MOST], clear)
        self._many = min(_MORE * self._many, self._most) if len(row) == self._many else 1
        return row.leap() if len(row) else None

    def _made(self, begin: Moment, many: int, until: float, times: np.ndarray, clear: Clear | None = None) -> _Row:
        state, passed = begin.state, self._room(many, begin)
        step = begin.step or 0.0
        firsts = state.o, state.U, begin.v, self.angles(state), begin.time, (begin.damped, begin.driven), step
        for own, first in zip(passed, firsts, strict=False):
            own[0] = first
        sampled = self.sampled(times, begin)
        made, came, ended = self.march(begin, passed, until, sampled)
        if not made:
            raise NotElementary if ended == NO_INERTIA else self.failed(begin)
        if clear is not None:
            made = clear(passed.time[:made], passed.foreseen[:made])
            came = int(np.searchsorted(times[:came], passed.time[made], side="right"))
        kept = [None if len(times) else self.interpolation(s) for s in range(made)]
        return _Row(self, begin, passed, Sampled(*(x[:came] for x in sampled)), kept)

    # -- arrays -----------------------------------------------------------------------------------------------
    def _places(self, many: int, v: np.ndarray) -> list[np.ndarray]:
        """Room for so many poses and velocities of bodies, and angles; the ground does not move."""
        shapes = (len(v) // 6 + 1, 3), (len(v) // 6 + 1, 3, 3), (len(v),), (self._angles,)
        out = [np.zeros((many, *shape)) for shape in shapes]
        out[1][:, 0] = np.eye(3)
        return out

    def _room(self, many: int, begin: Moment) -> Passed:
        """Room for so many steps from a moment on."""
        places, works = self._places(many + 1, begin.v), _works(many + 1, begin)
        return Passed(*places, np.zeros(many + 1), works, np.zeros(many + 1), np.zeros(many), np.zeros(many, dtype=int))

    def sampled(self, times: np.ndarray, begin: Moment) -> Sampled:
        """Room for moments at times (s) behind a moment."""
        return Sampled(np.array(times), *self._places(len(times), begin.v), _works(len(times), begin))

    def moment(self, at: Passed | Sampled, k: int, before: Moment, step: float | None, origin: Callable) -> Moment:
        """One of the moments that were found, after one before whose memories it goes on from."""
        o, u, (damped, driven) = at.o[k], at.u[k], at.works[k].tolist()
        return MadeLater(
            (o, u), lambda: self.state(o, u, at.angles[k], before.state), self.equations.followed, origin,
            time=at.time.item(k), v=at.v[k], damped=damped, driven=driven, step=step,
        )  # fmt: skip


class _Row(Sequence[Moment]):
    """Where steps begin that were made in one call; ``next`` is where the next of those begins that are handed out singly."""

    def __init__(
        self, steps: CompiledSteps, begin: Moment, passed: Passed, sampled: Sampled,
        kept: list[Interpolation | None],
    ):  # fmt: skip
        self._steps, self._passed, self._sampled, self._kept = steps, passed, sampled, kept
        self._made, self._s = len(kept), 0
        self._known = [begin]  # where memories are followed from step to step, the begins so far
        self.next: Moment | None = begin
        self.last: Moment | None = None  # the end of the last step

    def __len__(self) -> int:
        return self._made

    def __getitem__(self, s: int) -> Moment:
        return self._at(s % self._made)

    def _at(self, s: int) -> Moment:
        """The moment after so many steps."""
        known, passed = self._known, self._passed
        if s == 0:
            return known[0]
        if self._steps.complete:
            return self._steps.moment(passed, s, known[0], passed.foreseen.item(s), _nothing)
        for k in range(len(known), s + 1):
            _ = known[-1].state  # one after the other: asked for at the end, each would wait for the one before
            known.append(self._steps.moment(passed, k, known[-1], passed.foreseen.item(k), _nothing))
        return known[s]

    def step(self) -> Step:
        """The next of the steps."""
        s, begin, end = self._s, self.next, self._at(self._s + 1)
        self._s += 1
        over = self._s == self._made
        self.last, self.next = (end, None) if over else (None, end)
        return Step(
            begin, end, _Between(self._steps, self._passed, s, begin, self._kept[s]), self._passed.asked.item(s)
        )

    def leap(self) -> tuple[Step, list[float]]:
        """All steps as one, and the times (s) between them."""
        times, sampled = self._passed.time[: self._made + 1].tolist(), self._sampled
        found = dict(zip(sampled.time.tolist(), count(), strict=False))

        def begin(t: float) -> Moment:
            return self[bisect_left(times, t) - 1]

        def at(t: float) -> Moment:
            if (k := found.get(t)) is not None:
                before = self._known[0] if self._steps.complete else begin(t)
                return self._steps.moment(sampled, k, before, None, lambda: begin(t))
            s = bisect_left(times, t) - 1
            # there are more moments in the last step than had room
            return _Between(self._steps, self._passed, s, self[s], None)(t)

        evaluations = int(self._passed.asked[: self._made].sum())
        return Step(self[0], self._at(self._made), at, evaluations, self), times


def _works(count: int, begin: Moment) -> np.ndarray:
    """Room for works (k, 2) at so many moments, as they are at the begin."""
    return np.tile([begin.damped, begin.driven], (count, 1))


def _nothing() -> None:
    """The origin of what is not interpolated."""


class _Between:
    """Moments within a step that was made, by interpolation of order 7."""

    def __init__(self, steps: CompiledSteps, passed: Passed, s: int, begin: Moment, kept: Interpolation | None):
        self._steps, self._passed, self._s, self._begin = steps, passed, s, begin
        self._put = None if kept is None else kept(passed, s, begin)

    def __call__(self, t: float) -> Moment:
        if t == self._begin.time:
            return self._begin
        steps, s, sampled, came = self._steps, self._s, self._steps.sampled(np.array([t]), self._begin), 0
        if self._put is None:
            # made once more, as a step that is not asked for moments may have no interpolation
            once = Passed(*(x[s : s + (2 if len(x) > len(self._passed.made) else 1)].copy() for x in self._passed))
            _, came, ended = steps.march(self._begin, once, np.inf, sampled)
            if (kept := steps.interpolation(0)) is not None and ended != NO_INERTIA:
                self._put = kept(self._passed, s, self._begin)
            elif not came:
                begin, end = self._passed.time[s : s + 2].tolist()
                raise no_moment(steps.equations.topology.label, t, begin, end)
        if not came:
            self._put(sampled)
        return steps.moment(sampled, 0, self._begin, None, lambda: self._begin)
