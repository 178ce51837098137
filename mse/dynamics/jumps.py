"""Steps as inputs need them: short enough to see all that inputs do, and ending where one jumps, as a voltage switched on.

An error estimate knows inputs at a few moments only.  A system at rest has steps of any length, in which a pulse would be lost.
So inputs are read more often than steps are made, and between the samples of a run.  No step sees both sides of a jump.  Where
something has no mass, its rates jump too: they follow from the new inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from ..elements.coordinates import flowing
from ..errors import ModelError
from ..model.evaluation import Evaluation
from ..numerics.precision import DEPENDENT, EPS, NOTHING
from .accelerations import Equations
from .charts import StepFailed, permitted
from .moments import Moment, Step
from .readings import Reading
from .settling import settled
from .start import Given
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
_EVERY = _READ // _PARTS
# Of the range of an input in a step: by how much lines through its values at the nodes of the step may miss others.  With 0.15
# and 0.4 tests/dynamics/test_jumps.py passes.
_MISSED = 0.25
# Of the largest value: a range that is steady.  With a hundredth and a hundred times of it tests/dynamics/test_jumps.py passes.
_STEADY = 1e-6
# Readings between two samples of a run, and how many may be in one step (tests/dynamics/test_jumps.py::
# test_a_pulse_between_samples_is_seen)
_BETWEEN, _MOST = 8, 4000
_FINEST = 1e3 * EPS  # of the time: steps in which times are hardly told apart

Times = tuple[np.ndarray, np.ndarray, np.ndarray]  # (s) at which inputs are read in a step, see Jumps


class Jumps:
    """The inputs of a run that vary with time; ``given`` has no initial values, ``times`` (s) are those of the samples."""

    def __init__(self, equations: Equations, given: Given, times: np.ndarray):
        self.equations, self._given, self._times = equations, given, times
        self._varying = equations.inputs.varying
        # prescribed motions do not jump, see Signal.broken
        self._jumping = {name: f for name, f in self._varying.items() if name not in equations.inputs.prescribed}

    def leap(self, maker: Stepper, begin: Moment, samples: np.ndarray) -> Step | None:
        """Steps in a row that see what inputs do, with moments at samples (s); None if the next one may have to be shorter."""
        if not self._varying:
            return maker.leap(begin, samples)
        if begin.step is not None:
            with suppress(StepFailed, ModelError):  # raised by the step that is made alone
                return maker.leap(begin, samples, partial(self._clear_steps, maker.nodes))
        return None

    @np.errstate(all="ignore")
    def _clear_steps(self, nodes: np.ndarray, begins: np.ndarray, lengths: np.ndarray) -> int:
        """How many steps in a row (s,) see what inputs do, and no jump."""
        steps = [
            self._times_in(begin, end, nodes)
            for begin, end in zip(begins.tolist(), (begins + lengths).tolist(), strict=True)
        ]
        for name, function in self._varying.items():
            steps = steps[: clear(function, steps, name in self._jumping)]
        return len(steps)

    def step(self, maker: Stepper, switches: Switches, begin: Moment) -> Step:
        """The next step: one that sees what inputs do, up to the first jump ahead, if there is one."""
        if not self._varying:
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
            times = self._times_in(begin, end, nodes)
            together = np.concatenate(times)
            hidden = next((name for name, f in self._varying.items() if hides(times, f.at(together))), None)
            if hidden is None or jump == (begin, np.nextafter(begin, np.inf)):
                return (step if end == begin + step else end - begin), jump
            end = begin + 0.5 * (end - begin)
            if end - begin <= _FINEST * max(abs(begin), NOTHING):
                if hidden in self.equations.inputs.prescribed:  # the step says what is wrong with it
                    return end - begin, None
                raise ModelError(
                    f"{self.equations.topology.label}: input {hidden!r} goes up and down within any step from "
                    f"t = {begin if begin > NOTHING else 0.0:g} s on; expected a function of t that is smooth for some time, or "
                    "jumps; noise wants values at given times, joined by np.interp"
                )

    def _times_in(self, begin: float, end: float, nodes: np.ndarray) -> Times:
        """Times (s) at which inputs are read in a step: so many in equal distances, at its nodes, and between samples of the run.

        The last ones are one more than may be in a step if there are too many.
        """
        at, inside = np.minimum(begin + (end - begin) * nodes, end), np.zeros(0)
        if len(samples := self._times):
            step = (samples[1] - samples[0]) / _BETWEEN
            first, last = ((t - samples[0]) / step for t in (begin, min(end, samples[-1])))
            inside = samples[0] + step * np.arange(np.ceil(first), np.floor(min(last, first + _MOST + 1)) + 1.0)
            inside = inside[(inside >= begin) & (inside <= end)]
        return np.linspace(begin, end, _READ + 1), at, inside

    @np.errstate(all="ignore")
    def _jump_at(self, time: float) -> bool:
        """Whether an input is another one right behind a time (s)."""
        later = float(np.nextafter(time, np.inf))
        pairs = ((f(time), f(later)) for f in self._jumping.values())
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
        for function in self._jumping.values():
            while (jump := jump_between(function, begin, end)) is not None:
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


def clear(function: Reading, steps: list[Times], jumping: bool) -> int:
    """How many of the steps in a row at whose times a function is read neither hide what it does nor, if it may jump, a jump."""
    if not steps:
        return 0
    splits = np.cumsum([sum(map(len, times)) for times in steps])
    values = np.split(function.at(np.concatenate([t for times in steps for t in times])), splits[:-1])
    for k, (times, found) in enumerate(zip(steps, values, strict=True)):
        jumps = jumping and largest_jump(function, times[0][::_EVERY], found[: _READ + 1 : _EVERY])
        if jumps or hides(times, found):
            return k
    return len(steps)


def hides(times: Times, values: np.ndarray) -> bool:
    """Whether lines through the values of a function at the nodes of a step miss what it does between them.

    Values are those at the three kinds of times (s) that are read, see :class:`Jumps`.
    """
    parts, nodes, inside = times
    if len(inside) > _MOST:
        return True
    known = values[len(parts) : len(parts) + len(nodes)]
    good = ~np.isnan(values)
    if not good[len(parts) : len(parts) + len(nodes)].all() or not good.any():
        return False  # the step itself says what is wrong
    together, values = np.concatenate(times)[good], values[good]
    most, least = values.max(), values.min()
    missed = np.abs(values - np.interp(together, nodes, known)).max()
    return bool(missed > max(_MISSED * (most - least), _STEADY * max(abs(most), abs(least))))


def jump_between(function: Reading, begin: float, end: float) -> tuple[float, float] | None:
    """The times next to the jump of a function in the part of an interval where it changes most; None where there is none."""
    if not end > begin:
        return None
    times = np.linspace(begin, end, _PARTS + 1)
    return largest_jump(function, times, function.at(times))


def largest_jump(
    function: Callable[[float], float], times: np.ndarray, values: np.ndarray
) -> tuple[float, float] | None:
    """The neighbouring times next to a jump between two times (s), those between which values of a function change most."""
    k = int(np.abs(values[1:] - values[:-1]).argmax())
    (a, b), (low, high) = times[k : k + 2].tolist(), values[k : k + 2].tolist()
    if not abs(high - low) >= 0.0:  # a number is missing: the function says why
        low, high = function(a), function(b)
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
