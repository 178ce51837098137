"""Steps that end where an input jumps, such as a voltage that is switched on, and motions that go on behind the jump.

No step of a method sees both sides.  Where something has no mass, its rates jump too: they follow from the new inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..errors import ModelError
from ..numerics.precision import EPS, NOTHING
from .accelerations import Equations
from .explicit import Stepper
from .implicit import ImplicitStepper
from .moments import Moment, Step
from .start import Given, settled
from .switches import Switches

# Parts of a step in which the largest change of an input is looked for.  With 2 and 32 tests/dynamics/test_jumps.py passes.
_PARTS = 8
# Of the change in such a part: a smaller one between neighbouring times is no jump.  With a tenth and ten times of it
# tests/dynamics/test_jumps.py passes.
_JUMP = 1e-3
_HALVINGS = 64  # by then two times are neighbours as numbers


class Jumps:
    """The inputs of a run that are functions of time; ``given`` has no initial values."""

    def __init__(self, equations: Equations, given: Given):
        self.equations, self._given = equations, given
        self._functions = equations.inputs.functions

    def step(self, maker: Stepper | ImplicitStepper, switches: Switches, begin: Moment) -> Step:
        """The next step: up to the first jump ahead, if there is one."""
        if not self._functions:
            return switches.cut(maker, maker.step(begin))
        if begin.step is None and self._jump_at(begin.time):
            begin = self.behind(begin, float(np.nextafter(begin.time, np.inf)))
        first = switches.cut(maker, maker.step(begin)) if begin.step is None else None
        jump = self._ahead(begin.time, begin.time + begin.step if first is None else first.end.time)
        if jump is not None and jump[0] - begin.time <= NOTHING * abs(jump[0]):  # a step before it has come so near
            begin = self.behind(begin, jump[1])
            first = switches.cut(maker, maker.step(begin))
            jump = self._ahead(begin.time, first.end.time)
        if jump is None or jump[0] == begin.time:
            return first or switches.cut(maker, maker.step(begin))
        # shorter by rounding, so that no stage lies behind the jump
        short = (jump[0] - begin.time) * (1.0 - 4.0 * EPS) - EPS * abs(jump[0])
        step = switches.cut(maker, maker.step(replace(begin, step=min(short, begin.step or np.inf))))
        if step.end.time < begin.time + short:
            return step
        try:
            there = self.behind(step.end, jump[1])
        except ModelError:
            return step  # the next one says why the motion ends there
        return replace(step, end=there, at=lambda t: there if t >= there.time else step.at(t))

    def _jump_at(self, time: float) -> bool:
        """Whether an input is another one right behind a time (s)."""
        later = float(np.nextafter(time, np.inf))
        pairs = ((f(time), f(later)) for f in self._functions)
        return any(abs(b - a) > _JUMP * max(abs(a), abs(b)) for a, b in pairs)

    def behind(self, moment: Moment, time: float) -> Moment:
        """The moment behind a jump, where nothing has moved."""
        e, state, v = self.equations, moment.state, moment.v
        if e.implicit:
            here, v = settled(e, e.evaluation(state, time), v, time, self._given)
            state = here.state
        return Moment(time, state, v, moment.damped, moment.driven)

    def _ahead(self, begin: float, end: float) -> tuple[float, float] | None:
        """The neighbouring times (s) between which the first jump lies; None without one."""
        found = None
        for function in self._functions:
            while (jump := largest_jump(function, begin, end)) is not None:
                found, end = jump, jump[0]
        return found


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
        if low == high or not a < middle < b:
            break
        value = function(middle)
        if abs(value - low) >= abs(high - value):
            b, high = middle, value
        else:
            a, low = middle, value
    # what is smooth changes in a short time as much less as that is shorter
    share = (b - a) / length if length else 1.0
    return (a, b) if abs(high - low) > max(_JUMP, share / _JUMP) * change else None
