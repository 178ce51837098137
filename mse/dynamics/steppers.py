"""What makes the steps of a motion, whichever method it has, and when it gives up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress

import numpy as np

from ..kernels import ahead
from ..numerics.precision import NOTHING
from .accelerations import Equations
from .bodies import Bodies, NotElementary
from .charts import StepFailed
from .compiled_steps import Clear, CompiledSteps
from .moments import Moment, Step
from .trees import nodes_of

# rad that a body turns in one step: charts reach to a whole turn, memories of joints to half of one.  With half and with twice
# of it tests/dynamics/test_explicit.py passes.
TURN = 1.0
# Sizes a second: what moves slower is at rest.  Rounding of weight gives 5e-8, and up to 8e-6 in structures with redundant joints
# (tests/dynamics/test_closed_loops.py::test_structures_that_nothing_moves_take_few_steps).  With 1e-5 and 1e-4
# tests/dynamics/test_closed_loops.py, test_implicit.py and test_jumps.py pass.
AT_REST = 3e-5
LONG = 1.0  # s, of what hardly moves: parts of it may be fast (tests/dynamics/test_jumps.py)
# A run ends when it would take more than so many steps of the present length, and so many steps in a row have said so: at the
# beginning and behind a jump some ten steps are that short, and they grow while a fast part dies out.  With a tenth and ten times
# of either tests/dynamics/test_implicit.py passes.
_HOPELESS, _IN_A_ROW = 1e7, 100


def speed_scale(fastest: float, pulled: float, size: float) -> float:
    """The speed (m/s) to which errors of velocities are relative: the fastest now or soon; at rest, ``size`` a second."""
    speed = max(fastest, pulled)
    return speed if speed > AT_REST * size else size


def idle(pace: float, time: float) -> float:
    """A step (s) that changes nothing at a time (s), where something moves by the size of the system in ``pace`` (s)."""
    return NOTHING * max(min(pace, LONG), abs(time))


def compile_steps_ahead(equations: Equations, implicit: bool) -> None:
    """Let a second process compile the steps of rigid bodies on joints, while this one compiles what comes before them."""
    bodies = Bodies.of(equations, early=True) if ahead.may_begin_early() else None
    if bodies is not None and not (bodies.shares.in_python and implicit):
        ahead.compile_steps_ahead(kernels_of(bodies, nodes_of(bodies) is not None, implicit))


def kernels_of(bodies: Bodies, tree: bool, implicit: bool) -> str:
    """The compiled code that makes the steps of bodies, which may form a tree; see :mod:`mse.kernels.ahead`."""
    if implicit:
        return ahead.IMPLICIT_TREES if tree else ahead.IMPLICIT_LOOPS
    others = ahead.ACTING * bodies.acting + ahead.HOLDING * bodies.lawful
    return (ahead.TREES if tree else ahead.LOOPS) + others


class Stepper(ABC):
    """Steps of a system with a relative tolerance; many may be made at once if a run goes ``until`` a time (s).

    A run ``until`` a time ends where steps stay so short that it would not end in a day, as before a motion that leaves for
    infinity in finite time.
    """

    nodes: np.ndarray  # in a step, from 0 to 1, where it sees forces

    def __init__(self, equations: Equations, rtol: float, until: float | None = None):
        self.equations, self.rtol, self._until = equations, rtol, until
        self._short, self._first = 0, 0.0  # steps in a row that were too short, none twice as long as the first
        self._compiled: CompiledSteps | None = None
        self.samples = np.zeros(0)  # times (s) of a run, where nobody asks for other moments within its steps

    @abstractmethod
    def _single(self, begin: Moment) -> Step:
        """One step that no compiled code makes."""

    @np.errstate(all="ignore")  # trials may go far beyond what steps keep
    def step(self, begin: Moment) -> Step:
        """One step; ModelError or :class:`.StepFailed` where there is none."""
        if self._compiled is not None:
            with suppress(NotElementary):
                return self._kept(self._compiled.step(begin, self._until, self.samples))
        return self._kept(self._single(begin))

    def left(self, moment: Moment) -> np.ndarray | None:
        """``M a - f`` (n,) at a moment; None where compiled code does not know it."""
        return None if self._compiled is None else self._compiled.left(moment)

    @property
    def leaps(self) -> bool:
        """Whether many steps may be made at once, where nobody has to look at each."""
        return self._compiled is not None and self._until is not None

    def leap(self, begin: Moment, times: np.ndarray, clear: Clear | None = None) -> Step | None:
        """Steps in a row that are ``clear``, with moments at some of the times (s) ahead.

        None where compiled code has none.  Raises as ``step``.
        """
        with suppress(NotElementary):
            if (found := self._compiled.leap(begin, self._until, times, clear)) is not None:
                step, between = found
                self._keep(between)
                return step
        return None

    def _kept(self, step: Step) -> Step:
        """A step that was made; :class:`StepFailed` if it is one of too many short ones."""
        self._keep([step.begin.time, step.end.time])
        return step

    def _keep(self, times: list[float]) -> None:
        """Look at the lengths of steps between times (s)."""
        if self._until is None:
            return
        h = np.diff(times)
        short = self._until - np.array(times[1:]) > _HOPELESS * h
        if not short.any():
            self._short = 0
            return
        for one, length in zip(short.tolist(), h.tolist(), strict=True):
            if one and self._short and length < 2.0 * self._first:
                self._short += 1
            else:
                self._short, self._first = int(one), length
            if self._short > _IN_A_ROW:
                raise StepFailed
