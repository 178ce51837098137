"""Whether a search that began at a working point has ended on the branch of equilibria that leads on from there.

Between the system as it was and as it is lie those with loads and parameters between.  Their equilibria are a curve from the
start.  Where it comes to the point that was found, without a point on it at which the stiffness is singular, that point is on
the same branch.  Where parameters have nothing between them (other functions, other clamps), the forces by which the start does
not balance fade instead; so do those that remain at any start, as where joints have moved.

The curve is followed by Newton's method with the stiffness at the start of each step.  By the theorem of Newton and Kantorovich
its first correction tells whether the curve reaches the end of the step: a correction of a quarter of the step is what
is left of it where a quadratic law has its limit (P. Deuflhard, "Newton Methods for Nonlinear Problems" (2011), section 2.1).
For all but large changes one step is enough.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..elements.base import MObject
from ..errors import ModelError
from .assembly import State
from .landscape import Landscape, Point
from .trust_region import Step
from .working_point import WorkingPoint

_CONTRACTING = 0.25  # of a step, the most that its first correction may be: Kantorovich's condition
_AIM = 0.15  # the same, that steps aim at
_GROWTH = 4.0  # times the last step
_CORRECTIONS = 12  # as many quarters are 6e-8
_STIFF = 20.0  # times the curvature along a step: what is stiffer is strained by the square of a step, and rests first
_TO_REST = 2  # such corrections
_LITTLE = 0.05  # of the model's size: shorter steps that contract need not have tangents alike; stiff members bend them
_ON_THE_CURVE = 1e-3  # of a step: corrections at which it has arrived; what is left counts in the next step
_BEYOND = 1.5  # times the distance to a limit; the stiffness is reversed at twice that
_CLEAR = 0.1  # of the way to a limit, by what it must be short of the end
_LEAST = 1e-6  # of the way: where even such steps fail, the curve has a kink, or ends
# solutions for a check, besides as many as the search has taken: enough for 180 von Mises trusses to 1e-4 of their limits
_FREE = 24
_SAME = 2.5e-3  # of the model's size: distances of one equilibrium found in two ways, be it ever so soft
_EQUAL = 100.0  # times their rounding: energies of one equilibrium, where free motions leave it anywhere
_ONE_TURN = 0.1  # rad: what memories of one equilibrium may differ by

LEFT = (
    "ended on another branch of equilibria: that of its start ends on the way or leads elsewhere, so that it has snapped "
    "through, tipped or buckled; seek='nearest' refuses that, trace() shows where it happens"
)
UNKNOWN = (
    "did not determine whether it is still on its start's branch of equilibria: "
    "change less at once, or use trace(), to know"
)

Solve = Callable[[Point, float, bool], Step]


class _Between:
    """The landscapes at shares of the way from that of a working point to another, where a search began at a state."""

    def __init__(self, land: Landscape, start: WorkingPoint):
        self._end, self._start = land, start
        self._differing = _differing(start, land)

    def at(self, share: float) -> Landscape:
        """The landscape a share of the way."""
        new = copy.copy(self._end)
        new._scaled = new._measured = None
        new.load = (1.0 - share) * self._start.load + share * new.load
        if self._differing:
            changed = {path: _mixed(old, obj, share) for path, (old, obj) in self._differing.items()}
            topology = None if None in changed.values() else new.topology.changed(changed)
            if topology is None:
                self._differing = {}
            else:
                new.topology, new.assembly = topology, new.assembly.changed(topology, changed)
        return new


def _differing(start: WorkingPoint, land: Landscape) -> dict[str, tuple[MObject, MObject]]:
    """The objects that are others than at the start, by path, as they were and are; none where they have nothing between."""
    old, new = start._topology, land.topology
    pairs = {b.path: (a.obj, b.obj) for a, b in zip(old.elements, new.elements, strict=True) if a.obj is not b.obj}
    pairs[""] = old.source.system, new.source.system
    differing = {path: (a, b) for path, (a, b) in pairs.items() if a._values is not b._values}
    mixed = {path: _mixed(a, b, 0.0) for path, (a, b) in differing.items()}
    if None in mixed.values() or new.changed(mixed) is None:
        return {}
    return differing


def _mixed(old: MObject, new: MObject, share: float) -> MObject | None:
    """An object between two, or None where there is none."""
    if type(old) is not type(new):
        return None
    mixed = new._snapshot()
    for name, b in new._values.items():
        a = old._values[name]
        if a is b:
            continue
        value = _mean(a, b, share)
        if value is None:
            return None
        try:
            mixed.parameters[name] = value
        except ModelError:
            return None
    return mixed


def _mean(a: Any, b: Any, share: float) -> Any:
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        values = tuple(_mean(x, y, share) for x, y in zip(a, b, strict=True))
        return None if None in values else values
    if isinstance(a, float | np.ndarray) and isinstance(b, float | np.ndarray) and np.shape(a) == np.shape(b):
        return (1.0 - share) * a + share * b
    return b if isinstance(b, str | int | None) and a == b else None


def leaves(
    land: Landscape, start: WorkingPoint, first: Point | State, found: Point, solve: Solve, most: int
) -> bool | None:
    """Whether the equilibrium ``found`` is on another branch than the working point at whose state, ``first``, its search began.

    None where that was not determined with about ``most`` solutions.  ``first`` may be that state alone; ``solve`` gives
    Newton's step from a point.
    """
    curve = _Curve(land, start, first, solve, _FREE + most)
    end = curve.end(_CONTRACTING)
    if end is None or _one(land, end, found):
        return curve.ends if end is None else False
    # forces with kinks contract more than is true of what is between
    again = curve.end(0.5 * _CONTRACTING)
    if again is None or _one(land, again, found):
        return curve.ends if again is None else False
    return True if _one(land, again, end) else None


class _Curve:
    """The equilibria between a working point and another system, from a state on; ``most`` bounds the solutions.

    ``ends`` is True once the curve is known to end or to become unstable on the way, and None before.
    """

    def __init__(self, land: Landscape, start: WorkingPoint, first: Point | State, solve: Solve, most: int):
        self._land, self._start, self._solve, self._most = land, start, solve, most
        self._stable = not start.unstable
        self._first = first if isinstance(first, Point) else land.evaluate(first, 2)
        self._first = self._first._replace(stiffness=self._stiffness())
        self._solved = 0
        self.ends: bool | None = None

    @cached_property
    def _between(self) -> _Between:
        return _Between(self._land, self._start)

    @cached_property
    def _left(self) -> np.ndarray:
        """What is out of balance where the curve begins."""
        here = self._between.at(0.0)
        return here.pull(here.evaluate(self._first.state, 1))

    def _stiffness(self) -> sp.csc_matrix:
        """The stiffness where the curve begins."""
        old, new = self._start, self._land
        same = [(g.members, g.held) for g in new.assembly.groups] == [(g.members, g.held) for g in old._assembly.groups]
        if same and np.array_equal(new.topology.unit_reference, old._topology.unit_reference):
            return old.stiffness
        return self._between.at(0.0).evaluate(self._first.state, 2).stiffness

    def _at(self, share: float) -> Landscape:
        return self._between.at(share) if share < 1.0 else self._land

    def _out_of_balance(self, share: float) -> np.ndarray | float:
        return (1.0 - share) * self._left if share < 1.0 else 0.0

    def _pull(self, share: float, point: Point) -> np.ndarray:
        """What is out of balance at a share of the way, at a point that was evaluated there."""
        return self._at(share).pull(point) - self._out_of_balance(share)

    def end(self, contracting: float) -> Point | None:
        """The equilibrium at the end of the way, or None where the curve does not get there, or not with so many solutions."""
        point, done, ahead, growth = self._first, 0.0, 1.0, _GROWTH
        step = self._step(point)
        while self._solved <= self._most:
            share = min(1.0, done + ahead)
            there, contraction, p = self._next(point, step, done, share, contracting)
            if there is not None:
                if share == 1.0:
                    return there
                there = self._at(share).evaluate(there.state, 2)
                onward = self._step(there)
                if self._falls(onward) and self._unstable(share, there, np.linalg.norm(p)):
                    self.ends = True
                    return None
                point, step = there, onward
                ahead = (share - done) * float(np.clip(_AIM / max(contraction, 1e-300), 0.5, growth))
                done, growth = share, _GROWTH
                continue
            if self.ends or self._turns_back(point, step, done, share, p, contraction):
                self.ends = True
                return None
            if share - done <= _LEAST:
                return None
            ahead, growth = (share - done) * float(np.clip(_AIM / contraction, 0.05, 0.5)), 1.0
        return None

    def _step(self, point: Point) -> Step:
        self._solved += 1
        return self._solve(point, np.inf, False)

    def _falls(self, step: Step) -> bool:
        return self._stable and step.lowest < 0.0

    def _next(
        self, point: Point, step: Step, done: float, share: float, contracting: float
    ) -> tuple[Point | None, float, np.ndarray]:
        """The equilibrium at a share of the way, the contraction towards it, and the first step to it.

        The equilibrium is None where Newton's method does not contract, or the tangents at both ends are not alike.
        """
        there, left = self._at(share), self._out_of_balance(share)
        pushed = there.pull(there.evaluate(point.state, 1)) - left
        first = p = whole = step.answer(pushed, 0.0)
        length = last = float(np.linalg.norm(p))
        enough = max(_ON_THE_CURVE * length, _ON_THE_CURVE * _SAME * there.size)
        trial = there.stepped(point, p, 1)
        stiff = _STIFF * abs(pushed @ p) / (p @ p + 1e-300)
        for _ in range(_TO_REST):
            if not np.isfinite(trial.energy):
                return None, 1.0, first
            p = step.answer(there.pull(trial) - left, stiff)
            if not enough < np.linalg.norm(p) <= length:
                break
            trial, whole = there.stepped(trial, p, 1, point), whole + p
        if not np.isfinite(trial.energy):
            return None, 1.0, first
        trial = base = there.evaluate(trial.state, 2)
        step = self._step(base)
        if self._falls(step):
            self.ends = self._unstable(share, base, length, enough) or None
            return None, 2.0 * _CONTRACTING, first
        contraction = 0.0
        for k in range(_CORRECTIONS):
            p = step.answer(there.pull(trial) - left, 0.0)
            now = float(np.linalg.norm(p))
            if k == 0:
                contraction = now / (
                    length + 2.0 * now + 1e-300
                )  # with the stiffness at the end of a step it is larger
            if (contraction if k == 0 else 0.5 * now / last) > contracting and now > enough:
                return None, max(contraction, 0.25), first
            trial, last, whole = there.stepped(trial, p, 1, base), now, whole + p
            if not np.isfinite(trial.energy):
                break
            if now <= enough:
                far = np.linalg.norm(whole) > _LITTLE * there.size
                alike = not far or (_alike(first, whole) and _alike(self._back(trial, step, done), whole))
                return (trial if alike else None), (contraction if alike else max(contraction, _CONTRACTING)), first
        return None, max(contraction, 0.25), first

    def _unstable(self, share: float, point: Point, last: float, enough: float = 0.0) -> bool:
        """Whether the curve is unstable beside a point, where a step of length ``last`` has led; within ``enough`` of it."""
        land = self._at(share)
        enough = max(enough, _ON_THE_CURVE * last, _ON_THE_CURVE * _SAME * land.size)
        for left in (2, 1, 0):
            gradient = point.gradient.copy()
            gradient[land.searched] -= self._out_of_balance(share) * land.metric
            point = point._replace(gradient=gradient)
            p = self._step(point).p
            now = float(np.linalg.norm(p))
            if now <= enough:
                return bool(land.stability(point).unstable)
            if now > _CONTRACTING * last:
                return False
            last = now
            if left:
                point = land.stepped(point, p, 2)
                if not np.isfinite(point.energy):
                    return False
        return False

    def _back(self, point: Point, step: Step, done: float) -> np.ndarray:
        """The step that the tangent at a point foresees for the way back to an earlier share, reversed."""
        before = self._at(done).evaluate(point.state, 1)
        return -step.answer(self._pull(done, before), 0.0)

    def _turns_back(
        self, point: Point, step: Step, done: float, share: float, p: np.ndarray, contraction: float
    ) -> bool:
        """Whether the curve has a limit ahead, before the end: followed by its length, it is unstable beyond.

        A correction by c of a step p is that of a quadratic law with its limit at p/2c (E. Riks, Int. J. Solids Structures 15
        (1979) 529, for the steps by length).
        """
        size = float(np.linalg.norm(p))
        if not self._stable or contraction > 1.0 or size == 0.0:
            return False
        along, slope = p / size, (share - done) / size
        length = 0.5 * _BEYOND * size / contraction
        at, last = float(np.clip(done + slope * length * (1.0 - 0.5 * _BEYOND), 0.0, 1.0)), length
        trial = self._at(at).stepped(point, length * along, 1)
        for _ in range(_CORRECTIONS):
            if not np.isfinite(trial.energy):
                return False
            d = step.answer(self._pull(at, trial), 0.0)
            forth = float(along @ d)
            across = d - forth * along
            now, change = float(np.linalg.norm(across)), -slope * forth
            if now > _CONTRACTING * max(last, length) or not 0.0 <= at + change <= 1.0:
                return False
            at, last = at + change, now
            land = self._at(at)
            trial = land.stepped(trial, across, 1, point)
            if max(now, abs(change) / slope) <= _ON_THE_CURVE * length:
                bend = (at - done - slope * length) / length**2
                top = done - slope**2 / (4.0 * bend) if bend < 0.0 else 1.0
                clear = 1.0 - top > _CLEAR * (top - done)
                return clear and self._falls(self._step(land.evaluate(trial.state, 2)))
        return False


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two motions are alike, as those are of tangents of which one is at most twice as steep as the other."""
    return bool(np.linalg.norm(a - b) <= 0.5 * min(np.linalg.norm(a), np.linalg.norm(b)))


def _one(land: Landscape, end: Point, found: Point) -> bool:
    """Whether two points are one equilibrium."""
    if np.any(_apart(land, end.state, found.state) > _SAME * land.size):
        free = land.stability(found).null.shape[1] > 0
        return free and abs(end.energy - found.energy) <= _EQUAL * (end.noise + found.noise)
    pairs = zip(end.state.memory, found.state.memory, strict=True)
    return all(np.abs(a - b).max(initial=0.0) <= _ONE_TURN for a, b in pairs)


def _apart(land: Landscape, a: State, b: State) -> np.ndarray:
    """How far apart (m) each body and each internal coordinate that is searched are in two states, turns as chords."""
    units = land.topology.units - 1
    searched = land.searched[land.searched >= 6 * units]
    arm = land.metric[: 6 * units].reshape(-1, 6)[:, 3]
    turned = np.sqrt(0.5 * np.sum((a.U[1:] - b.U[1:]) ** 2, axis=(1, 2)))
    inner = np.abs(a.q - b.q)[searched - 6 * units] * land.metric[6 * units :]
    return np.concatenate([np.hypot(np.linalg.norm(a.o[1:] - b.o[1:], axis=1), arm * turned), inner])
