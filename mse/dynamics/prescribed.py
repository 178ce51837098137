"""Motions that are prescribed over time: u(t) with its exact rate and acceleration, from functions or samples.

A function of time is recorded for its derivatives (:mod:`mse.numerics.recorder`), anew where it takes another way through its
conditions or gives other values than its record; samples are joined by a spline of degree 5.  A joint that is driven keeps its
coordinate at u(t): its constraint is ``g = c - u``, so that ``G v = u'`` and ``G a = u'' - v'(d2g)v``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..elements.base import MObject
from ..elements.circuits import CurrentSource, HeldCurrent
from ..elements.joints import Fixed, Joint
from ..errors import ModelError
from ..model.topology import Topology
from ..numerics.precision import EPS
from ..numerics.program import Program
from ..numerics.record import Expansion, Record, Unrecordable
from ..numerics.recorder import Recorded
from ..validation.arguments import called, number, numbers, refusal, shown

# Of the largest sample: by how much every second sample may miss those between, so that samples count as smooth; a jump or kink
# misses by some tenths, samples 30 times a period by less.  With a third and three times of it
# tests/dynamics/test_prescribed.py passes.
_SMOOTH = 1e-3
_FEWEST = 8  # samples of which every second one has a spline
# s, or of the time: distance over which a function that jumps is asked on both sides.  With a tenth and ten times of it
# tests/dynamics/test_prescribed.py passes.
BESIDE = 1e-7
_JUMP = 10.0  # times the change that derivatives explain (tests/dynamics/test_prescribed.py)
# Times at which a function is looked at between two others, next to the largest of which it is looked at again, at most so often;
# and the growth on the way that only poles have: with a hundredth and a hundred times of it tests/dynamics/test_prescribed.py
# passes.
_LOOKS, _ZOOMS, _POLE = 16, 20, 1e6
_STILL = 3  # times in a row that it may not double on the way (tests/dynamics/test_prescribed.py)
_USAGE = "a function of t in s"


class Signal:
    """A function of time with two derivatives, as a number, a function of numpy or samples at ``times`` (s) give it."""

    def __init__(self, label: str, name: str, given: Any, times: np.ndarray):
        self._label, self._name, self.given = label, f"input {name!r}", given
        self._spline: Sequence[Callable[[float], float]] = ()
        self._constant = 0.0
        # a program of u, u', u'', conditions and rounding, and answers of the conditions
        self._kept: tuple[Program, list[bool]] | None = None
        if not callable(given):
            if np.ndim(given):
                self._spline = self._joined(given, times)
            else:
                self._constant = number(label, self._name, given)

    def _joined(self, given: ArrayLike, times: np.ndarray) -> Sequence[Callable[[float], float]]:
        from scipy.interpolate import make_interp_spline  # imported here, since a first result should not wait for it

        remedy = f"one value for each of the {len(times)} times {times[0]:g}, {times[1]:g}, ..., {times[-1]:g} s"
        values = numbers(self._label, self._name, given, (len(times),), remedy=remedy)
        if len(times) < _FEWEST:
            raise ModelError(
                f"{self._label}: {self._name} has {len(times)} samples; expected at least {_FEWEST} to join them smoothly; "
                "take a smaller dt, or give a function of time"
            )
        ends = np.unique(np.append(np.arange(0, len(times), 2), len(times) - 1))
        between = make_interp_spline(times[ends], values[ends], k=min(5, len(ends) - 1))(times)
        off = np.abs(between - values)
        if off.max() > _SMOOTH * np.abs(values - values.mean()).max():
            k = int(off.argmax())
            raise ModelError(
                f"{self._label}: {self._name} is no smooth motion at t = {times[k]:g} s: it is {values[k]:.6g}, where its "
                f"neighbors lead to {between[k]:.6g}; expected samples without jumps and kinks, some 30 a period; take a smaller "
                "dt, or end the run there and go on"
            )
        spline = make_interp_spline(times, values, k=5)
        return spline, spline.derivative(1), spline.derivative(2)

    def value(self, time: float) -> float:
        """u at a time (s)."""
        if not callable(self.given):
            return self.at(time)[0]
        return number(
            self._label, f"{self._name} at t = {time:g} s", called(self._label, self._name, _USAGE, self.given, time)
        )

    def at(self, time: float) -> tuple[float, float, float]:
        """u, u' and u'' at a time (s)."""
        if self._spline:
            return tuple(float(f(time)) for f in self._spline)
        if not callable(self.given):
            return self._constant, 0.0, 0.0
        three = self._by_record(time) or self._recorded(time)
        if not np.isfinite(three).all():
            values = ", ".join(f"{x:g}" for x in three)
            raise refusal(
                self._label, f"{self._name} with rate and acceleration at t = {time:g} s", values, "finite numbers"
            )
        return three

    def _by_record(self, time: float) -> tuple[float, float, float] | None:
        """u, u' and u'' by the record that is kept; None without one, or where it does not serve."""
        if self._kept is None:
            return None
        program, answers = self._kept
        u, rate, acceleration, *asked, rounding = program.run(np.array([[time]]))[0].tolist()
        if [bool(x) for x in asked] != answers:
            return None
        plain = np.asarray(called(self._label, self._name, _USAGE, self.given, time), dtype=float)
        return (u, rate, acceleration) if plain.size == 1 and abs(plain.item() - u) <= rounding else None

    def _recorded(self, time: float) -> tuple[float, float, float]:
        """u, u' and u'' by a new record."""
        record = Record([time])
        (t,) = record.inputs(1, 0)
        try:
            found = called(self._label, self._name, _USAGE, self.given, Recorded(record, t))
        except ModelError as error:
            plain = called(
                self._label, self._name, _USAGE, self.given, time
            )  # raises what is wrong with plain numbers, too
            cause = error.__cause__
            # other errors come from code that takes plain numbers only
            reason = f"uses what takes plain numbers only: {cause}".rstrip(".")
            if isinstance(cause, Unrecordable):
                reason = str(cause).rstrip(".")
            raise ModelError(
                f"{self._label}: {self._name} prescribes a motion, so mse differentiates its function twice, and cannot "
                f"(it {reason}; at t = {time:g} s it gives {shown(plain)}); expected elementary functions of numpy, such "
                "as np.sin, and np.where; write it with these, or give samples at all times of the run"
            ) from error
        if isinstance(found, Recorded) and found.nodes.size == 1:
            u = int(found.nodes.item())
            by_time = {t: Expansion({0: record.one})}
            rate = record.by_variables(u, by_time).get(0, record.zero)
            acceleration = record.hessian(u, by_time).get((0, 0), record.zero)
            outputs = [u, rate, acceleration, *record.guards, record.rounding(u)]
            self._kept = record.program(outputs), list(record.guards.values())
            return tuple(self._kept[0].run(np.array([[time]]))[0, :3].tolist())
        return self.value(time), 0.0, 0.0  # a constant, or refused

    def pole(self, begin: float, end: float) -> str:
        """In words: where it grows without limit between two times (s); "" where it does not."""
        if not callable(self.given):
            return ""
        first, low, high = self._size(begin) + self._size(end), begin, end
        most, at, still = 0.0, begin, 0
        for _ in range(_ZOOMS):
            times = np.linspace(low, high, _LOOKS + 1)
            sizes = [self._size(t) for t in times.tolist()]
            k = int(np.argmax(sizes))
            # next to a pole it grows as much as times come nearer, but where one of them was near it by chance
            still = 0 if sizes[k] > 2.0 * most else still + 1
            most, at = sizes[k], float(times[k])
            if still > _STILL and min(sizes[max(0, k - 1)], sizes[min(_LOOKS, k + 1)]) > 0.5 * most:
                return ""  # the top of a pulse, however far above the ends
            if still > _STILL or most == np.inf or not high - low > _LOOKS * EPS * abs(high):
                break
            low, high = times[max(0, k - 1)], times[min(_LOOKS, k + 1)]
        if most <= _POLE * first:
            return ""
        return (
            f"{self._label}: {self._name} grows without limit towards t = {at:.6g} s (it is {self.at(begin)[0]:.4g} at "
            f"t = {begin:.6g} s); expected a motion that stays finite; end the run before, or give another function"
        )

    def _size(self, time: float) -> float:
        """|u| at a time (s), infinite where it is no number."""
        try:
            u = abs(self.value(time))
        except ModelError:
            return np.inf
        return u if u < np.inf else np.inf

    def broken(self, time: float) -> str:
        """In words: how it jumps, or has a kink, next to a time (s); "" where it is smooth."""
        beside = BESIDE * max(1.0, abs(time))
        before, after = self.at(time - beside), self.at(time + beside)
        for k, what in enumerate(("jumps", "has a kink")):
            explained = 2.0 * beside * max(abs(before[k + 1]), abs(after[k + 1]))
            if abs(after[k] - before[k]) > _JUMP * max(explained, BESIDE * max(abs(before[k]), abs(after[k]))):
                rate = "" if k == 0 else "its rate goes "
                return (
                    f"{self._label}: {self._name} {what} at t = {time:.6g} s: {rate}from {before[k]:.6g} to {after[k]:.6g}; "
                    "expected a smooth motion; end the run there, and go on with another function"
                )
        return ""


def with_drives(topology: Topology, inputs: Sequence[str], outputs: Sequence[str]) -> Topology:
    """The system with joints in place of the position actuators that have inputs, and of the force sensors that are read.

    Current sources with an input hold their current at velocities, and no charge.
    """
    others: dict[str, MObject] = {}
    for path, own in _by_path(inputs).items():
        if path not in topology.places:
            continue
        obj = topology.elements[topology.places[path]].obj
        if isinstance(obj, CurrentSource) and "current" in own:
            others[path] = HeldCurrent(obj.name, current=obj.current)
        elif obj.role == "drive":
            turns = tuple(a for a in ("ax", "ay", "az") if a in own)
            free = (
                "x",
                "y",
                "z",
                *(turns if len(turns) == 1 else ("ax", "ay", "az")),
            )  # one angle may go beyond half a turn
            at = topology.source[path].at
            others[path] = Joint(path.rpartition(".")[2], at=at, free=free, motor=dict.fromkeys(free, "position"))
    for path in _by_path(outputs):
        if path in topology.places and topology.elements[topology.places[path]].obj.role == "reaction":
            others[path] = Fixed(path.rpartition(".")[2], at=topology.source[path].at)
    return Topology(topology.source.changed(others).restored(topology.source.name)) if others else topology


def _by_path(names: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        path, _, own = name.rpartition(".")
        found.setdefault(path, []).append(own)
    return found
