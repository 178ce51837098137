"""Crossings of outputs in a large motion: when an output passes a level, to rounding of what is interpolated in a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from ..analysis.time.response import Crossing
from ..numerics.precision import EPS, NOTHING
from ..validation.arguments import mapping, number
from .charts import MomentFailed
from .moments import Moment, Step
from .outputs import Outputs

# Parts of a step at whose ends outputs are looked at: two crossings within one part stay unseen.  With two and with eight of them
# tests/dynamics/test_crossings.py passes.
_PARTS = 4
LEVELS = "levels by output, such as {'hinge.angle': 0.0}"


class Watch:
    """Levels that outputs may pass, those of ``crossings`` and then those of ``until``, the first of which ends a run."""

    def __init__(self, outputs: Outputs, crossings: Mapping[str, float] | None, until: Mapping[str, float] | None):
        self._outputs, label = outputs, outputs.label
        given = [*mapping(label, "crossings", crossings, LEVELS).items()]
        self._first_of_until = len(given)
        given += mapping(label, "until", until, LEVELS).items()
        self._names = [name for name, _ in given]
        self._columns = outputs.chosen(self._names)
        self._levels = np.array([number(label, f"level of {name!r}", value) for name, value in given])
        self._signs: np.ndarray | None = None  # of outputs less levels, where they were last looked at
        self.found: list[Crossing] = []

    @property
    def looks(self) -> bool:
        """Whether there are levels, for which every step is looked at."""
        return bool(self._names)

    def _above(self, moment: Moment) -> np.ndarray:
        return self._outputs.at(moment, self._columns) - self._levels

    def start(self, sample: Moment) -> None:
        """Begin to look at the first sample; what is at its level there has not passed it."""
        if self._names:
            above = self._above(sample)
            near = np.abs(above) <= NOTHING * np.maximum(1.0, np.abs(self._levels))
            self._signs = np.where(near, 0.0, np.sign(above))

    def between(self, step: Step, first: float, last: float) -> Moment | None:
        """List what is passed in a step between two times (s); the moment at which the run ends, if it does."""
        if not self._names:
            return None
        for passed, before, after in parts(step, self._above, self._signs, first, last):
            for t, i in passed:
                self.found.append(Crossing(self._names[i], float(self._levels[i]), t, bool(before[i] < 0.0)))
                if i >= self._first_of_until:
                    return step.at(t)
            self._signs = after
        return None


def parts(
    step: Step,
    above: Callable[[Moment], np.ndarray],
    signs: np.ndarray,
    first: float,
    last: float,
    *,
    jumps: bool = False,
) -> Iterator[tuple[list[tuple[float, int]], np.ndarray, np.ndarray]]:
    """Times (s) and numbers of what changes its sign in each part of a step between two times, and the signs around it.

    ``above`` gives the numbers (k,) that are looked at; one whose sign is zero at the beginning has not passed it.
    With ``jumps``, forces may jump where a sign changes.  An implicit step that would end there is not found: the change is then
    at the end of that step.
    """
    begin = max(first, step.begin.time)
    for k in range(1, _PARTS + 1):
        end = step.begin.time + k / _PARTS * (step.end.time - step.begin.time)
        end = min(step.end.time if k == _PARTS else end, last)
        if end <= begin:
            continue
        now = above(step.end if end == step.end.time else step.at(end))
        after = np.sign(now)
        numbers = np.flatnonzero((signs != 0.0) & (after != signs)).tolist()
        yield sorted((_time(step, above, i, begin, end, float(now[i]), jumps), i) for i in numbers), signs, after
        signs, begin = after, end


def _time(
    step: Step, above: Callable[[Moment], np.ndarray], i: int, begin: float, end: float, last: float, jumps: bool
) -> float:
    """When one number passes zero between two times (s), at the second of which it is ``last``."""
    from scipy.optimize import brentq  # imported here, since a first result should not wait for it

    def at(t: float) -> float:
        if t in (begin, end):
            return last if t == end else -last
        try:
            return float(above(step.at(t))[i])
        except MomentFailed:
            if jumps:
                return 0.0
            raise

    return end if last == 0.0 else float(brentq(at, begin, end, xtol=EPS * abs(end), rtol=4.0 * EPS))
