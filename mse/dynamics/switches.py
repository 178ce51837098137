"""Steps of motions that end where the formula of a law changes, such as where a wire goes slack, so that no step sees both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..validation.arguments import called, refusal
from .accelerations import Equations
from .crossings import parts
from .explicit import Stepper
from .implicit import ImplicitStepper
from .moments import Moment, Step

# times rtol, of the size of the system: a step that begins so near to a switch has passed it.  With a tenth and ten times of it
# tests/dynamics/test_switches.py passes.
_THERE = 100.0
_USAGE = "switches(frames, q), and to return a list of numbers"


class Switches:
    """All elements whose laws have switches."""

    def __init__(self, equations: Equations):
        self.equations = equations
        self._elements = [el for el in equations.topology.elements if el.obj.defines("switches")]

    def at(self, moment: Moment) -> np.ndarray:
        """The numbers whose sign decides."""
        at = self.equations.evaluation(moment.state, moment.time).configuration
        found = [np.zeros(0)]
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
        return np.concatenate(found)

    def cut(self, stepper: Stepper | ImplicitStepper, step: Step) -> Step:
        """A step, or one in its place that ends at the first switch within it."""
        if not self._elements or not len(begin := self.at(step.begin)):
            return step
        near = np.abs(begin) <= _THERE * stepper.rtol * self.equations.measure.size
        signs = np.where(near, 0.0, np.sign(begin))
        for passed, _, _ in parts(step, self.at, signs, step.begin.time, step.end.time):
            if passed:
                # made again, as all of this one beyond the switch was of the formula there
                short = stepper.step(replace(step.begin, step=passed[0][0] - step.begin.time))
                end = replace(short.end, step=max(short.end.step, step.end.step))
                return replace(short, end=end, evaluations=step.evaluations + short.evaluations)
        return step
