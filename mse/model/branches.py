"""Whether a search that began at a working point has ended on the branch of equilibria that leads on from there.

Between the system as it was and as it is lie the systems with the energy ``(1 - s) W_old + s W_new``, s from 0 to 1: those under
the loads, or with the parameters, between.  Their equilibria are a curve from the start.  Where it comes to the point that was
found, without a point on it at which the stiffness is singular, that point is on the same branch.

For all but large changes the tangent at the start tells: what it foresees is what happened, and halfway it is nearly at rest.
Else the curve is followed.  What does not balance at the start, as where joints have moved, fades on the way; so does all where
elements are grouped otherwise, since there W_old is W_new.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .assembly import State
from .correction import brought_to_rest
from .landscape import Landscape, Point
from .trust_region import Step
from .working_point import WorkingPoint

_UNFORESEEN = 0.25  # of a foreseen motion, what may come otherwise; at a limit point as much comes again as is foreseen
_LITTLE = 1e-2  # of the model's size: smaller motions need not be foreseen; stiff members bend them anyhow
_FAR = 1.0  # rad: further turns are not told by orientations alone
_SOFTENED = 0.5  # of the stiffness along a step, what may be gained or lost by its end
_ASIDE, _NEAR = 0.05, 1e-3  # of a step, and of the model's size: how far aside the stiffness is looked at
_LEAST = 1e-6  # of the way: where even such steps fail, the curve ends
_CAREFUL = 12  # steps, enough to come near a limit point; in valleys of stiff members more would be wasted
_LONGEST = 0.05  # of the model's size: a step
_CORRECTIONS = 8
_ARRIVED = 1e-9  # of the model's size: corrections at which an equilibrium counts as found
_SAME = _UNFORESEEN * _LITTLE  # of the model's size: distances of one equilibrium found in two ways, be it ever so soft
_EQUAL = 100.0  # times their rounding: energies of one equilibrium, where free motions leave it anywhere
_ONE_TURN = 0.1  # rad: what memories of one equilibrium may differ by

LEFT = (
    "ended on another branch of equilibria: that of its start ends on the way or leads elsewhere, so that it has snapped "
    "through, tipped or buckled; seek='nearest' refuses that, trace() shows where it happens"
)

Solve = Callable[[Point, float, bool], Step]


class _Between(Landscape):
    """The landscape at a ``share`` of the way from that of a working point to another, where a search began at ``first``."""

    def __init__(self, land: Landscape, start: WorkingPoint, first: Point):
        self.__dict__.update(land.__dict__)
        self._scaled = self._measured = None
        self.share = 0.0
        self._stable = not start.unstable
        self._new, self._old = land, None
        self._left, self._stiffness = first.gradient, first.stiffness
        if _alike(land, start):
            self._old = object.__new__(Landscape)
            self._old.__dict__.update(land.__dict__)
            self._old.topology, self._old.assembly, self._old.load = start.topology, start.assembly, start.load
            # joints that were put together anew have left their equilibrium
            left = self._old.evaluate(first.state, 1).gradient if land.assembly.held else -start.residual
            self._left, self._stiffness = left, start.stiffness

    def begin(self, first: Point) -> Point:
        """The first point of the way; its gradient is the change of forces by the whole way."""
        return first._replace(stiffness=self._stiffness)

    def evaluate(self, state: State, order: int) -> Point:
        s, new = self.share, self._new.evaluate(state, order)
        old = new if self._old is None else self._old.evaluate(state, order)
        return new._replace(
            energy=(1.0 - s) * old.energy + s * new.energy,
            gradient=(1.0 - s) * (old.gradient - self._left) + s * new.gradient,
            stiffness=None if order < 2 else (1.0 - s) * old.stiffness + s * new.stiffness,
        )

    def at(self, share: float, state: State, order: int) -> Point:
        """What there is at a state, a share of the way."""
        self.share = share
        return self.evaluate(state, order)

    def unstable(self, step: Step) -> bool:
        """Whether a curve that began stable is so no more, as Newton's step shows."""
        return self._stable and step.lowest < 0.0

    def moved_to(self, point: Point, step: np.ndarray) -> State | None:
        """The state that a step leads to, without evaluating anything there; None where constraints cannot be kept."""
        state = self.moved(point.state, step)
        return state if point.tangent is None else self.restored(state, point.tangent)


def leaves(land: Landscape, start: WorkingPoint, first: Point | State, found: Point, solve: Solve) -> bool:
    """Whether the equilibrium ``found`` is on another branch than the working point at whose state, ``first``, its search began.

    ``first`` may be that state alone; ``solve`` gives Newton's step from a point.
    """
    first = first if isinstance(first, Point) else land.evaluate(first, 2)
    between = _Between(land, start, first)
    begin = between.begin(first)
    if _foreseen(between, begin, found, solve):
        return False
    end = _followed(between, begin, solve)
    if end is None:
        return True
    if np.any(_apart(land, end, found.state) > _SAME * land.size):
        there = land.evaluate(end, 0)
        free = land.stability(found).null.shape[1] > 0
        return not (free and abs(there.energy - found.energy) <= _EQUAL * (there.noise + found.noise))
    pairs = zip(end.memory, found.state.memory, strict=True)
    return any(np.abs(a - b).max(initial=0.0) > _ONE_TURN for a, b in pairs)


def _alike(land: Landscape, start: WorkingPoint) -> bool:
    """Whether states of the one system are states of the other."""
    t, groups = land.topology, land.assembly.groups
    same = [(g.members, g.held) for g in groups] == [(g.members, g.held) for g in start.assembly.groups]
    return same and np.array_equal(t.unit_reference, start.topology.unit_reference)


def _foreseen(between: _Between, begin: Point, found: Point, solve: Solve) -> bool:
    """Whether the tangent at the start foresees the equilibrium found, and half of it one halfway."""
    step = solve(begin, np.inf, False)
    if between.unstable(step) or np.abs(between._turns(step.p)).max(initial=0.0) > _FAR:
        return False
    foreseen = _lengths(between, step.p)
    enough = np.maximum(foreseen, _LITTLE * between.size)
    there = between.moved(begin.state, step.p)  # constraints are kept to first order, which will do
    if np.any(_apart(between, there, found.state) > _UNFORESEEN * enough):
        return False
    halfway = between.moved_to(begin, 0.5 * step.p)
    if halfway is None:
        return False
    left = _lengths(between, step.answer(between.pull(between.at(0.5, halfway, 1)), 0.0))
    return bool(np.all(left <= 0.5 * _UNFORESEEN * enough))


def _followed(between: _Between, begin: Point, solve: Solve) -> State | None:
    """The equilibrium at the end of the curve from the start, or None where it ends before or becomes unstable."""
    point, done, steps = between.at(0.0, begin.state, 2), 0.0, 0
    while done < 1.0:
        left, steps = 1.0 - done, steps + 1
        whole = solve(point._replace(gradient=between.at(1.0, point.state, 1).gradient), np.inf, False)
        length = float(np.linalg.norm(whole.p))
        if between.unstable(whole):
            return None
        bend = _bend(between, point, whole) if steps <= _CAREFUL else 0.0
        share = min(1.0, _LONGEST * between.size / max(length, 1e-300), _SOFTENED / max(bend, 1e-300))
        while (there := _next(between, point, whole, done + share * left, share, solve)) is None:
            share *= 0.5
            if share * left < _LEAST:
                return None
        if share * left < _LEAST and share < 1.0:
            return None
        point, done = there, done + share * left if share < 1.0 else 1.0
    return point.state


def _bend(between: _Between, point: Point, whole: Step) -> float:
    """The share of the stiffness along a step that is gained or lost on it, as it changes where the step begins."""
    length = float(np.linalg.norm(whole.p))
    if length <= _ARRIVED * between.size:
        return 0.0
    aside = min(_ASIDE, _NEAR * between.size / length)
    ends = [between.pull(between.stepped(point, sign * aside * whole.p, 1)) for sign in (1.0, -1.0)]
    between.share = 1.0
    bend = (ends[0] + ends[1] - 2.0 * between.pull(between.evaluate(point.state, 1))) / aside**2
    return float(np.linalg.norm(whole.answer(bend, 0.0))) / length


def _next(between: _Between, point: Point, whole: Step, done: float, share: float, solve: Solve) -> Point | None:
    """The equilibrium when so much is done, a share of a step on; None where Newton's method may not stay on the curve."""
    pushed = point._replace(gradient=between.at(done, point.state, 1).gradient)
    step = whole._replace(p=share * whole.p)
    last = float(np.linalg.norm(step.p))
    trial = between.stepped(pushed, step.p, 1)
    for _ in range(_CORRECTIONS):
        if not np.isfinite(trial.energy):
            return None
        trial = between.evaluate(brought_to_rest(between, pushed, step, trial).state, 2)
        pushed, step = trial, solve(trial, np.inf, False)
        length = float(np.linalg.norm(step.p))
        if between.unstable(step) or length > max(_UNFORESEEN * last, _ARRIVED * between.size):
            return None
        if length <= _ARRIVED * between.size:
            return trial
        trial, last = between.stepped(trial, step.p, 1), length
    return None


def _lengths(land: Landscape, step: np.ndarray) -> np.ndarray:
    """How far (m) a scaled step moves each body and each internal coordinate."""
    bodies = 6 * (land.topology.units - 1)
    return np.concatenate([np.linalg.norm(step[:bodies].reshape(-1, 6), axis=1), np.abs(step[bodies:])])


def _apart(land: Landscape, a: State, b: State) -> np.ndarray:
    """How far apart (m) each body and each internal coordinate that is searched are in two states, turns as chords."""
    units = land.topology.units - 1
    searched = land.searched[land.searched >= 6 * units]
    arm = land.metric[: 6 * units].reshape(-1, 6)[:, 3]
    turned = np.sqrt(0.5 * np.sum((a.U[1:] - b.U[1:]) ** 2, axis=(1, 2)))
    inner = np.abs(a.q - b.q)[searched - 6 * units] * land.metric[6 * units :]
    return np.concatenate([np.hypot(np.linalg.norm(a.o[1:] - b.o[1:], axis=1), arm * turned), inner])
