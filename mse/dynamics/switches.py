"""Steps of motions that end where the formula of a law changes, such as where a wire goes slack, so that no step sees both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import ModelError
from ..validation.arguments import called, refusal
from .accelerations import Equations
from .charts import Chart
from .crossings import parts
from .moments import Moment, Step
from .steppers import Stepper

# times rtol, of the size of the system: a step that begins so near to a switch has passed it.  With a tenth and ten times of it
# tests/dynamics/test_switches.py passes.
_THERE = 1.0
# How far from a switch a step ends, times rtol, of the size of the system; the part of a step that a rate is taken over; and how
# often a step is made again. With a tenth and ten times of the first two, and with 2 and 8 steps, tests/dynamics/test_switches.py
# passes.
_BESIDE_IT, _SLOPE, _AIMS = 1e-3, 1e-2, 4
# Steps in a row that begin at a switch, and are shorter than that of the longest: its law chatters.  With half and with twice of
# either tests/dynamics/test_switches.py passes.
_IN_A_ROW, _SHORT = 100, 1e-2
# Of the size of the system: a run that ends so near to a switch ends because of it.  With 0.3 and ten times of it
# tests/dynamics/test_switches.py passes.
_BESIDE = 1e-3
_REMEDY = (
    "expected forces that are continuous where a number of switches changes its sign; round its law off, or damp what moves "
    "across it"
)
_USAGE = "switches(frames, q), and to return a list of numbers"


class Switches:
    """All elements whose laws have switches."""

    def __init__(self, equations: Equations):
        self.equations = equations
        self._elements = [el for el in equations.topology.elements if el.obj.defines("switches")]
        self._owners: list[str] = []  # of each number that decides
        self._longest, self._short = 0.0, 0

    def at(self, moment: Moment) -> np.ndarray:
        """The numbers whose sign decides."""
        at = self.equations.evaluation(moment.state, moment.time).configuration
        found, self._owners = [np.zeros(0)], []
        for el in self._elements:
            places = at.frames(el.frames), at.q[el.coordinates]
            values = called(el.obj.label, "its switches", _USAGE, el.obj.switches, *places)
            given = np.asarray(values, dtype=float)
            if given.ndim != 1 or not np.isfinite(given).all():
                raise refusal(
                    f"{el.obj.label} at t = {moment.time:g} s",
                    "what switches returns",
                    values,
                    "a list of finite numbers",
                )
            found.append(given)
            self._owners += [el.obj.label] * len(given)
        return np.concatenate(found)

    def looks(self, moment: Moment) -> bool:
        """Whether there are such numbers, for which every step is looked at."""
        return bool(self._elements) and len(self.at(moment)) > 0

    def step(self, stepper: Stepper, begin: Moment) -> Step:
        """The step of a stepper, or one in its place that ends at the first switch within it."""
        step = stepper.step(begin)
        if not self._elements or not len(first := self.at(begin)):
            return step
        near = np.abs(first) <= _THERE * stepper.rtol * self.equations.measure.size
        signs = np.where(near, 0.0, np.sign(first))
        self._refuse_chattering(step, near)
        for passed, _, after in parts(step, self.at, signs, begin.time, step.end.time, jumps=True):
            if passed:
                return self._made_again(stepper, step, *passed[0], after)
        return step

    def _made_again(self, stepper: Stepper, step: Step, time: float, number: int, after: np.ndarray) -> Step:
        """A step up to a switch near a time (s), as all of this one beyond it was of the formula there.

        Methods ask for forces at both ends of a step.  So it ends right before the switch, and then its end moves at its velocity
        to right behind it.  ``after`` are signs of the numbers that decide, behind the switch of the one with this ``number``.
        """
        begin, beside = step.begin, _BESIDE_IT * stepper.rtol * self.equations.measure.size

        def left(moment: Moment) -> float:
            return -float(after[number] * self.at(moment)[number])

        evaluations = step.evaluations
        for _ in range(_AIMS):
            short = stepper.step(begin.but(step=time - begin.time))
            evaluations += short.evaluations
            way, h = left(short.end), _SLOPE * (short.end.time - begin.time)
            rate = (left(short.at(short.end.time - h)) - way) / h
            # right at the switch, rounding decides which formula the end has
            if rate <= 0.0 or 0.5 * beside <= way <= 2.0 * beside:
                break
            time = short.end.time + (way - beside) / rate
        end = short.end.but(step=max(short.end.step, step.end.step))
        if rate > 0.0 and 0.0 <= way <= 2.0 * beside:
            end = self._moved(end, (way + beside) / rate)
        return replace(short, end=end, at=lambda t: end if t >= end.time else short.at(t), evaluations=evaluations)

    def _moved(self, moment: Moment, time: float) -> Moment:
        """A moment that is later by so short a time (s) that velocities do not change."""
        e, x = self.equations, np.concatenate([time * moment.v, moment.v, [0.0, 0.0]])
        found = Chart(e, moment.state).settled(x, moment.time + time)
        return moment.but(time=moment.time + time, state=found.state, v=found.v)

    def _refuse_chattering(self, step: Step, near: np.ndarray) -> None:
        h = step.end.time - step.begin.time
        self._longest = max(self._longest, h)
        self._short = self._short + 1 if near.any() and h < _SHORT * self._longest else 0
        if self._short >= _IN_A_ROW:
            raise ModelError(
                f"{self._owners[int(near.argmax())]}: its law chatters at t = {step.begin.time:.6g} s: {self._short} steps in a "
                f"row begin where it changes its formula, the last one of {h:.2g} s; {_REMEDY}"
            )

    def words(self, moment: Moment) -> str:
        """In words: the element at a switch of which a run ends; "" for none."""
        if not self._elements or not len(found := np.abs(self.at(moment))):
            return ""
        k = int(found.argmin())
        if found[k] > _BESIDE * self.equations.measure.size:
            return ""
        return (
            f"{self._owners[k]}: no step from t = {moment.time:.6g} s passes the change of its formula next to there; "
            f"{_REMEDY}"
        )
