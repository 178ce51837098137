"""Steps as inputs need them: short enough to see all that inputs do, and ending where one jumps, as a voltage switched on.

An error estimate knows inputs at a few moments only.  A system at rest has steps of any length, in which a pulse would be lost.
So inputs are read more often than steps are made, and between the samples of a run.  No step sees both sides of a jump.  Where
something has no mass, its rates jump too: they follow from the new inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..elements.coordinates import flowing
from ..errors import ModelError
from ..model.evaluation import Evaluation
from ..numerics.precision import DEPENDENT, EPS, NOTHING
from .accelerations import Equations
from .charts import permitted
from .moments import Moment, Step
from .start import Given, settled
from .steppers import Stepper
from .switches import Switches

# Parts of a step in which the largest change of an input is looked for.  With 2 and 32 tests/dynamics/test_jumps.py passes.
_PARTS = 8
# Of the change in such a part: a smaller one between neighbouring times is no jump.  With a tenth and ten times of it
# tests/dynamics/test_jumps.py passes.
_JUMP = 1e-3
_HALVINGS = 64  # by then two times are neighbours as numbers
_FAINT = np.finfo(float).tiny / EPS  # numbers below it have steps of their own
_READ = 64  # parts of a step in which inputs are read; with 32 and 128 tests/dynamics/test_jumps.py passes
# Of the range of an input in a step: by how much lines through its values at the nodes of the step may miss others.  With 0.15
# and 0.4 tests/dynamics/test_jumps.py passes.
_MISSED = 0.25
# Of the largest value: a range that is steady.  With a hundredth and a hundred times of it tests/dynamics/test_jumps.py passes.
_STEADY = 1e-6
# Readings between two samples of a run, and how many may be in one step (tests/dynamics/test_jumps.py::
# test_a_pulse_between_samples_is_seen)
_BETWEEN, _MOST = 8, 4000
_FINEST = 1e3 * EPS  # of the time: steps in which times are hardly told apart


class Jumps:
    """The inputs of a run that vary with time; ``given`` has no initial values, ``times`` (s) are those of the samples."""

    def __init__(self, equations: Equations, given: Given, times: np.ndarray):
        self.equations, self._given, self._times = equations, given, times
        self._functions, self._varying = equations.inputs.functions, equations.inputs.varying

    @property
    def looks(self) -> bool:
        """Whether each step is looked at."""
        return bool(self._varying)

    def step(self, maker: Stepper, switches: Switches, begin: Moment) -> Step:
        """The next step: one that sees what inputs do, up to the first jump ahead, if there is one."""
        if not self.looks:
            return switches.step(maker, begin)
        if begin.step is None and self._jump_at(begin.time):
            begin = self.behind(begin, float(np.nextafter(begin.time, np.inf)))
        first = switches.step(maker, begin) if begin.step is None else None
        whole = begin.step if first is None else first.end.time - begin.time
        length, jump = self._clear(begin.time, whole, maker.nodes)
        if jump is not None and length <= NOTHING * abs(jump[0]):  # a step before it has come so near
            begin = self.behind(begin, jump[1])
            first = switches.step(maker, begin)
            whole = first.end.time - begin.time
            length, jump = self._clear(begin.time, whole, maker.nodes)
        if jump is None or jump[0] == begin.time:
            if length < whole:
                begin, first = begin.but(step=length), None
            return first or switches.step(maker, begin)
        # shorter by rounding, so that no stage lies behind the jump
        short = (jump[0] - begin.time) * (1.0 - 4.0 * EPS) - EPS * abs(jump[0])
        step = switches.step(maker, begin.but(step=min(short, begin.step or np.inf)))
        if step.end.time < begin.time + short:
            return step
        try:
            there = self.behind(step.end, jump[1])
        except ModelError:
            return step  # the next one says why the motion ends there
        return replace(step, end=there, at=lambda t: there if t >= there.time else step.at(t))

    @np.errstate(all="ignore")
    def _clear(self, begin: float, step: float, nodes: np.ndarray) -> tuple[float, tuple[float, float] | None]:
        """A step (s) from a time on whose ``nodes`` see what inputs do in it, and the jump at which it ends, if at one."""
        end = begin + step
        while True:
            jump = self._ahead(begin, end)
            end = end if jump is None else jump[0]
            at = np.minimum(begin + (end - begin) * nodes, end)
            hidden = next((name for name, value in self._varying.items() if hides(value, at, self._times)), None)
            if hidden is None or jump == (begin, np.nextafter(begin, np.inf)):
                return (step if end == begin + step else end - begin), jump
            end = begin + 0.5 * (end - begin)
            if end - begin <= _FINEST * max(abs(begin), NOTHING):
                if hidden in self.equations.inputs.prescribed:  # the step says what is wrong with it
                    return end - begin, None
                raise ModelError(
                    f"{self.equations.topology.label}: input {hidden!r} goes up and down within {end - begin:.3g} s of "
                    f"t = {begin:g} s; expected a function of t that is smooth for some time, or jumps; noise wants values at "
                    "given times, joined by np.interp"
                )

    @np.errstate(all="ignore")
    def _jump_at(self, time: float) -> bool:
        """Whether an input is another one right behind a time (s)."""
        later = float(np.nextafter(time, np.inf))
        pairs = ((f(time), f(later)) for f in self._functions)
        return any(abs(b - a) > max(_JUMP * max(abs(a), abs(b)), _FAINT) for a, b in pairs)

    def behind(self, moment: Moment, time: float) -> Moment:
        """The moment behind a jump, where nothing has moved."""
        e, state, v = self.equations, moment.state, moment.v
        here = e.evaluation(state, time)
        _refuse_kept(e, here, v, time)
        if e.implicit:
            here, v = settled(e, here, v, time, self._given)
            state = here.state
        elif e.inputs.held:
            v = permitted(e, here, v, time)
        return Moment(time, state, v, moment.damped, moment.driven)

    def _ahead(self, begin: float, end: float) -> tuple[float, float] | None:
        """The neighbouring times (s) between which the first jump lies; None without one."""
        found = None
        for function in self._functions:
            while (jump := largest_jump(function, begin, end)) is not None:
                found, end = jump, jump[0]
        return found


def _refuse_kept(e: Equations, here: Evaluation, v: np.ndarray, time: float) -> None:
    """Refuse jumps of currents that no rate without mass can follow, as where a coil is in series with their source."""
    if not e.inputs.held:
        return
    off, rows, mass = e.drift(here, v, time), e.rows(here, v), e.mass(here)
    names = e.topology.coordinate_names
    light = flowing(names) & (abs(mass) @ np.ones(e.size) == 0.0)
    left = off - rows[:, light] @ np.linalg.lstsq(rows[:, light], off, rcond=DEPENDENT)[0]
    if np.abs(left).max(initial=0.0) <= DEPENDENT * np.abs(off).max(initial=0.0):
        return
    change = np.where(light | ~flowing(names), 0.0, np.abs(permitted(e, here, v, time) - v))
    kept = [str(names[k]) for k in np.flatnonzero(change > DEPENDENT * change.max())]
    jumps = [f"input {n!r} would jump by {-off[row]:.4g} A" for n, row in e.inputs.held.items() if off[row]]
    raise ModelError(
        f"{e.topology.label}: at t = {time:.6g} s {', '.join(jumps)}, which the current of {', '.join(kept)} cannot follow; "
        "expected another way for the current; connect a Resistor in parallel with it, or round off the jump"
    )


def hides(function: Callable[[float], float], nodes: np.ndarray, samples: np.ndarray) -> bool:
    """Whether lines through the values of a function at ``nodes`` (s), ascending, miss what it does between them.

    It is read there, and between the ``samples`` (s), of equal distance, of a run.
    """
    begin, end = nodes[[0, -1]].tolist()
    times = np.linspace(begin, end, _READ + 1)
    if len(samples):
        step = (samples[1] - samples[0]) / _BETWEEN
        first, last = ((t - samples[0]) / step for t in (begin, min(end, samples[-1])))
        if last - first > _MOST:
            return True
        inside = samples[0] + step * np.arange(np.ceil(first), np.floor(last) + 1.0)
        times = np.append(times, inside[(inside >= begin) & (inside <= end)])
    values = np.array([_read(function, t) for t in times.tolist()])
    known = np.array([_read(function, t) for t in nodes.tolist()])
    times, values = times[~np.isnan(values)], values[~np.isnan(values)]
    if np.isnan(known).any() or not len(values):
        return False  # the step itself says what is wrong
    most, least = max(values.max(), known.max()), min(values.min(), known.min())
    missed = np.abs(values - np.interp(times, nodes, known)).max()
    return bool(missed > max(_MISSED * (most - least), _STEADY * max(abs(most), abs(least))))


def _read(function: Callable[[float], float], time: float) -> float:
    try:
        return function(time)
    except ModelError:
        return np.nan


def largest_jump(function: Callable[[float], float], begin: float, end: float) -> tuple[float, float] | None:
    """The times next to the jump of a function in the part of an interval where it changes most; None where there is none."""
    if not end > begin:
        return None
    times = np.linspace(begin, end, _PARTS + 1).tolist()
    values = [function(t) for t in times]
    k = int(np.abs(np.diff(values)).argmax())
    (a, b), (low, high) = times[k : k + 2], values[k : k + 2]
    length, change = b - a, abs(high - low)
    for _ in range(_HALVINGS):
        middle = 0.5 * (a + b)
        if abs(high - low) <= _JUMP * change or not a < middle < b:
            break
        value = function(middle)
        if abs(value - low) >= abs(high - value):
            b, high = middle, value
        else:
            a, low = middle, value
    # what is smooth changes in a short time as much less as that is shorter
    share = (b - a) / length if length else 1.0
    return (a, b) if abs(high - low) > max(max(_JUMP, share / _JUMP) * change, _FAINT) else None
