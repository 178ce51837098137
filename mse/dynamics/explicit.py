"""Steps of large motions by the explicit method of order 8 of Dormand and Prince, on charts that are laid anew at every step.

After each step the constraints are restored, for positions and for velocities.  What lies between is interpolated (order 7).
Coefficients and control of the error are those of DOP853 (E. Hairer, S. P. Norsett and G. Wanner, Solving Ordinary Differential
Equations I, 1993, II.5 and II.6).  Of rigid bodies on joints, compiled code makes the steps
(:mod:`mse.dynamics.compiled_steps`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import ModelError
from ..kernels import ahead
from ..kernels.steps import ROUNDED, Method, first_length, trial_length
from ..numerics.dop853 import dop853
from ..numerics.precision import NOTHING
from .accelerations import Equations
from .bodies import Bodies
from .charts import Chart, StepFailed
from .loops import LoopSteps
from .moments import Moment, Step
from .steppers import AT_REST, TURN, Stepper, idle, kernels_of, speed_scale
from .trees import TreeSteps, nodes_of

# Of the largest speed: velocities below it are as exact as this one. With a tenth and with ten times of it
# tests/dynamics/test_known_motions.py::test_a_free_body_tumbles_with_its_period passes.
_SLOW = 1e-2
# Factors on the step that an error allows, and on a step that is repeated, as in Hairer's DOP853. With 0.5 and 0.95, and with 0.1
# and 0.5, tests/dynamics/test_explicit.py passes.
_SAFE = 0.9
_LEAST = 0.2
_MOST = 10.0  # the same for a step that follows
_ORDER = 8.0
_STAGES = range(1, dop853.N_STAGES)
_BETWEEN = range(dop853.N_STAGES, dop853.N_STAGES_EXTENDED)  # what interpolation needs beside them
_COEFFICIENTS = np.ascontiguousarray(dop853.C), np.ascontiguousarray(dop853.A)
_EULER = np.array([0.0, 1.0]), np.array([[0.0, 0.0], [1.0, 0.0]])
_ERRORS = np.array([dop853.E5[:-1], dop853.E3[:-1]])


class ExplicitStepper(Stepper):
    """Steps of order 8."""

    nodes = np.unique(dop853.C[: dop853.N_STAGES])

    def __init__(self, equations: Equations, rtol: float, until: float | None = None):
        super().__init__(equations, rtol, until)
        bodies = Bodies.of(equations)
        if bodies is not None:
            limits = rtol, equations.measure.size, _SLOW, NOTHING, TURN, AT_REST
            arrays = *_COEFFICIENTS, dop853.B, _ERRORS, dop853.D, limits, (_SAFE, _LEAST, _MOST)
            method, nodes = Method(*(np.ascontiguousarray(x, dtype=float) for x in arrays)), nodes_of(bodies)
            self._compiled = LoopSteps(bodies, method) if nodes is None else TreeSteps(bodies, nodes, method)
            kind = kernels_of(bodies, nodes is not None, implicit=False)
            ahead.compile_steps_ahead(kind)
            self._compiled.prepare()
            ahead.wait_for_steps(kind)

    def _single(self, begin: Moment) -> Step:
        return _Steps(self.equations, self.rtol, begin).taken()


class _Steps:
    """Trials of one step, from the center of a chart."""

    def __init__(self, equations: Equations, rtol: float, begin: Moment):
        self._rtol, self._begin, self._chart = rtol, begin, Chart(equations, begin.state)
        n, measure = equations.size, equations.measure
        self._n, self._size = n, measure.size
        self._y = np.concatenate([np.zeros(n), begin.v, [begin.damped, begin.driven]])
        self._slopes = np.zeros((dop853.N_STAGES_EXTENDED, 2 * n + 2))
        self._evaluations = 0
        self._ask(range(1), 0.0)
        first = self._slopes[0]
        if not np.isfinite(first).all():
            raise StepFailed
        metric = measure.metric
        fastest = np.abs(metric * begin.v).max(initial=0.0)
        # a speed that these accelerations reach within the size of the system: motions at rest have none of their own
        pulled = np.sqrt(measure.size * np.abs(metric * first[n : 2 * n]).max(initial=0.0))
        self._speed = speed_scale(float(fastest), float(pulled), measure.size)
        tolerances = np.concatenate([measure.size / metric, _SLOW * self._speed / metric, [np.inf, np.inf]])
        self._tolerances = rtol * tolerances
        turn = np.abs(begin.v[: 6 * (equations.assembly.bodies - 1)].reshape(-1, 6)[:, 3:]).max(initial=0.0)
        self._longest = TURN / float(turn) if turn else np.inf
        self._shortest = idle(measure.size / self._speed, begin.time)

    def _ask(self, stages: range, h: float) -> None:
        """Fill the slopes of some stages of a step h."""
        self._evaluations += len(stages)
        self._chart.rates(self._begin.time, self._y, h, _COEFFICIENTS, stages, self._slopes)

    def taken(self) -> Step:
        """The longest step that keeps the tolerance, found from the length that is given."""
        begin, given = self._begin, self._begin.step
        h = min(self._first() if given is None else given, self._longest)
        follows = _MOST
        while True:
            h = max(h, self._shortest)
            self._ask(_STAGES, h)
            y = self._y + h * (dop853.B @ self._slopes[: dop853.N_STAGES])
            error = self._error(y, h)
            change = min(_MOST, _SAFE * error ** (-1.0 / _ORDER)) if error else _MOST
            if not error < 1.0:
                if h <= self._shortest:
                    raise StepFailed
                h, follows = h * (max(_LEAST, change) if change < 1.0 else _LEAST), 1.0
                continue
            try:
                end = self._chart.settled(y, begin.time + h)
            except ModelError:  # a shorter step may be nearer to where joints close
                if h <= self._shortest:
                    raise
                h, follows = _LEAST * h, 1.0
                continue
            # what constraints had to correct is an error, too, which the method's own estimate may miss
            apart = max(end.distance / self._size, end.speed / self._speed) / self._rtol
            closer = _SAFE * apart ** (-1.0 / _ORDER) if apart else np.inf
            if apart <= 1.0:
                break
            if h <= self._shortest:
                raise StepFailed
            h, follows = h * max(_LEAST, closer), 1.0
        step = h * min(follows, change, closer)
        damped, driven = y[2 * self._n :].tolist()
        moment = Moment(begin.time + h, end.state, end.v, damped, driven, step)
        return Step(begin, moment, self._between(y, h), self._evaluations)

    def _scale(self, y: np.ndarray) -> np.ndarray:
        return self._tolerances + self._rtol * np.maximum(np.abs(self._y), np.abs(y))

    def _error(self, y: np.ndarray, h: float) -> float:
        """The error of a step to y in tolerances, as Hairer's DOP853 estimates it."""
        scale = self._scale(y)
        scale[self._n : 2 * self._n] += ROUNDED / self._rtol * self._tolerances[: self._n] / h
        fifth, third = np.square(_ERRORS @ self._slopes[: dop853.N_STAGES] / scale).sum(axis=1).tolist()
        if fifth == 0.0:
            return 0.0 if third == 0.0 else fifth
        return h * fifth / float(np.sqrt((fifth + 0.01 * third) * len(y)))

    def _first(self) -> float:
        """The length of a first step, from the sizes of rates and of their change (Hairer, II.4)."""
        scale, first = self._scale(self._y), self._slopes[0]
        rate = _mean(first / scale)
        near = _mean(self._y / scale)
        h = min(trial_length(near, rate), self._longest)
        self._evaluations += 1
        self._chart.rates(self._begin.time, self._y, h, _EULER, range(1, 2), self._slopes)
        return first_length(h, rate, _mean((self._slopes[1] - first) / scale) / h)

    def _between(self, end: np.ndarray, h: float) -> Callable[[float], Moment]:
        """Moments within the step to y = end, by interpolation of order 7."""
        parts = np.zeros((0, len(end)))

        def at(t: float) -> Moment:
            nonlocal parts
            if not len(parts):
                self._ask(_BETWEEN, h)
                change, k = end - self._y, self._slopes
                first = change, h * k[0] - change, 2.0 * change - h * (k[dop853.N_STAGES] + k[0])
                parts = np.vstack([*first, h * (dop853.D @ k)])
            x = (t - self._begin.time) / h
            y = self._y + np.multiply.accumulate([x, 1.0 - x, x, 1.0 - x, x, 1.0 - x, x]) @ parts
            found = self._chart.settled(y, t)
            damped, driven = y[2 * self._n :].tolist()
            return Moment(t, found.state, found.v, damped, driven, origin=self._begin)

        return at


def _mean(x: np.ndarray) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(x))))
