"""Steps of rigid bodies on joints that form a tree, in coordinates of the joints; compiled in :mod:`mse.kernels.tree_steps`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import count, groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from ..kernels import tree_steps
from ..kernels.joints import ANGLE
from ..kernels.tree_nodes import WIDTH
from ..kernels.tree_steps import Method, Passed, Sampled
from ..kernels.trees import BALL, HINGE, SLIDE, WELD, Tree
from ..model.configuration import State
from ..numerics.dop853 import dop853
from .bodies import LINE, WHOLE, Bodies, NotElementary, Seat
from .charts import StepFailed
from .elimination import spanned
from .moments import MadeLater, Moment, Step

# Turns that a joint leaves, by the measures that it holds beside displacements.  Cardan joints go the way of loops.
_TURNS = {(5, 6, 7): WELD, (3, 4): HINGE, (): BALL}
# Steps in one call at the most, and the factor on those of the call before where somebody looks at every step.
# With 64 and 1,024, and with 2 and 8, tests/dynamics/test_trees.py passes.
_MOST, _MORE = 256, 4
# Factor on the step that an error allows.  The error of the worst coordinate varies more than a mean.  Chains of 10 and 50 links
# (benchmarks/motions.py) repeat 13 to 25 of a hundred trials with 0.9, and 3 to 15 with 0.8: as many trials in all, for errors
# that are a half to a tenth.
_SAFE = 0.8
_UPPER = np.triu_indices(3)


class _Node(NamedTuple):
    """A node of a tree, see :class:`mse.kernels.trees.Tree`; ``remembered`` is where a memory keeps its angle."""

    numbers: list[int]
    places: np.ndarray
    masses: np.ndarray
    marks: np.ndarray
    remembered: tuple[int, int, int] | None


class Nodes:
    """The nodes of a tree, made body by body; ``found`` is False where there is none."""

    def __init__(self, bodies: Bodies):
        self._own = bodies.model.bodies
        pairs = np.array([s.bodies for s in bodies.holding], dtype=int).reshape(-1, 2)
        hangs_on, carrier = spanned(len(self._own), pairs)
        self.nodes: list[_Node] = []
        self._of_body, self.springs, self.count = {0: 0}, {}, 0
        self.found = len(pairs) == sum(e >= 0 for e in hangs_on.values()) and all(
            self._joint(b, carrier[b], bodies.holding[e]) if e >= 0 else self._free(b) for b, e in hangs_on.items()
        )
        for seat in bodies.measuring:
            self.found = self.found and (seat.code == LINE or seat.code in self.springs.get(seat.joint, {}))

    def tree(self, bodies: Bodies) -> Tree:
        count = len(self.nodes) + 1
        springs, lines = np.zeros((count, 4)), [s for s in bodies.measuring if s.code == LINE]
        for seat in bodies.measuring:
            if seat.code != LINE:
                springs[self.springs[seat.joint][seat.code]] = seat.spring
        ends = np.array([[self._of_body[b] for b in s.bodies.tolist()] for s in lines], dtype=int).reshape(-1, 2)
        out = Tree(
            bodies.model.gravity, np.zeros((count, 6), dtype=int), np.zeros((count, 3, 3)), np.zeros((count, 10)), springs,
            np.zeros((count, 4, 3)), np.zeros((count, 3)), ends, np.zeros((len(lines), 10)),
        )  # fmt: skip
        for k, node in enumerate(self.nodes, 1):
            out.nodes[k], out.places[k], out.masses[k], out.marks[k] = node[:4]
            out.levers[k] = out.places[k, 0] - out.places[node.numbers[0], 1]
        for own, seat, nodes in zip(out.lines, lines, ends, strict=True):
            own[:6], own[6:] = (seat.places[:, 0] - out.places[nodes, 1]).ravel(), seat.spring
        return out

    def _free(self, b: int) -> bool:
        """A body that nothing holds slides along the axes of the world and turns about its center of mass."""
        own, axes = self._own[b - 1], np.eye(3)
        center = own[1:4] / own[0] if own[0] > 0.0 else np.zeros(3)
        self._add(
            b, 0, [*((SLIDE, axis) for axis in axes), (BALL, axes[2])], np.zeros(3), center, np.zeros((4, 3)), None
        )
        return True

    def _joint(self, b: int, before: int, seat: Seat) -> bool:
        """The nodes of the joint on which a body hangs; False for a joint that has none."""
        codes, one = [code for code, target in seat.held if target == 0.0], int(seat.bodies[1] != before)
        turning = _TURNS.get(tuple(c for c in codes if c not in (*WHOLE, 0, 1, 2)))
        if len(codes) < len(seat.held) or turning is None:
            return False
        sliding = [] if set(WHOLE) <= set(codes) else [i for i in range(3) if i not in codes]
        if sliding and (any(c in codes for c in WHOLE) or (one and turning != WELD)):
            return False
        # if a body hangs on frame 0, the turns and displacements of frame 0 are seen from the body
        sign, (from_, to) = 1 - 2 * one, (seat.places[1 - one], seat.places[one])
        kinds = [(SLIDE, sign * from_[1 + i]) for i in sliding]
        if turning != WELD or not sliding:
            kinds.append((turning, sign * from_[3]))
        marks = np.stack([from_[1 + one], from_[2 - one], to[1 + one], to[2 - one]])
        self._add(b, before, kinds, from_[0], to[0], marks, seat)
        codes = [*sliding, ANGLE] if turning == HINGE else sliding
        self.springs[seat.joint] = dict(
            zip(codes, range(len(self.nodes) - len(kinds) + 1, len(self.nodes) + 1), strict=False)
        )
        return True

    def _add(self, b, before, kinds, on, at, marks, seat) -> None:
        first, last = len(self.nodes) + 1, len(self.nodes) + len(kinds)
        for k, (kind, axis) in enumerate(kinds, first):
            hangs_on = self._of_body[before] if k == first else k - 1
            places = np.stack([on if k == first else np.zeros(3), at if k == last else np.zeros(3), axis])
            masses = _about(self._own[b - 1], at) if k == last else np.zeros(10)
            remembered = (*seat.joint, seat.angle) if seat is not None and kind == HINGE else None
            numbers = [hangs_on, kind, self.count, b if k == last else 0, first, last]
            self.nodes.append(_Node(numbers, places, masses, marks, remembered))
            self.count += {WELD: 0, SLIDE: 1, HINGE: 1, BALL: 3}[kind]
        self._of_body[b] = last


def _about(own: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Mass, mass times center and inertia (10,) of a body about a point of it, from those about its reference point (13,)."""
    mass, first, inertia = own[0], own[1:4], own[4:].reshape(3, 3)
    # with lever r of the center and arm a of the point, r r -> (r - a)(r - a)
    dyad = -np.outer(first, at) - np.outer(at, first) + mass * np.outer(at, at)
    moved = inertia + np.trace(dyad) * np.eye(3) - dyad
    return np.concatenate([[mass], first - mass * at, moved[_UPPER]])


class TreeSteps:
    """Steps of a tree with a relative tolerance, many of which are made in one call where it is known how far they go."""

    def __init__(self, bodies: Bodies, nodes: Nodes, rtol: float, constants: tuple[float, ...]):
        equations = bodies.equations
        self.equations, self._tree = equations, nodes.tree(bodies)
        rows = len(self._tree.nodes)
        self._rows = np.zeros((rows, WIDTH))
        remembered = [(*node.remembered, k) for k, node in enumerate(nodes.nodes, 1) if node.remembered is not None]
        self._remembered = [  # group, and arrays of elements, of their numbers and of nodes
            (g, *np.array([rest for _, *rest in own]).T) for g, own in groupby(sorted(remembered), itemgetter(0))
        ]
        slow, rounding, turn, *factors = constants
        self._method = Method(
            np.ascontiguousarray(dop853.A), np.ascontiguousarray(dop853.B), np.array([dop853.E5[:-1], dop853.E3[:-1]]),
            np.ascontiguousarray(dop853.D),
            np.array([rtol, equations.measure.size, slow, rounding, turn]), np.array([_SAFE, *factors]),
        )  # fmt: skip
        self.dense = np.zeros((7, 2 * nodes.count + 1))
        self._row: _Row | None = None
        self._many = 1

    @classmethod
    def of(cls, bodies: Bodies | None, rtol: float, constants: tuple[float, ...]) -> TreeSteps | None:
        """None for a system that is no tree, or on which more acts than gravity and springs and dampers of joints or lines."""
        if bodies is None or not bodies.alone:
            return None
        nodes = Nodes(bodies)
        return cls(bodies, nodes, rtol, constants) if nodes.found else None

    def step(self, begin: Moment, until: float | None) -> Step:
        """The step that begins at a moment; NotElementary where a joint has no inertia, StepFailed where there is none."""
        row = self._row
        if row is None or begin is not row.next:
            self._many = 1 if until is None or row is None or begin is not row.last else min(_MORE * self._many, _MOST)
            row = self._row = self._made(begin, self._many, np.inf if until is None else until, np.zeros(0))
        return row.step()

    def leap(self, begin: Moment, until: float, times: np.ndarray) -> tuple[Step, list[float]]:
        """Many steps from a moment on, until a time (s), with moments at some of the times (s) ahead, and the times between them.

        Raises as ``step``.
        """
        return self._made(begin, _MOST, until, times[:_MOST]).leap()

    def _made(self, begin: Moment, many: int, until: float, times: np.ndarray) -> _Row:
        angles, state = np.zeros(len(self._tree.nodes)), begin.state
        for g, elements, numbers, nodes in self._remembered:
            angles[nodes] = state.memory[g][elements, numbers]
        passed = self.room(many, begin.v)
        step = begin.step or 0.0
        firsts = state.o, state.U, begin.v, angles, begin.time, begin.damped, step
        for own, first in zip(passed, firsts, strict=False):
            own[0] = first
        sampled = self.sampled(times, begin.v)
        made, came, ended = self.march(passed, until, sampled)
        if not made:
            raise NotElementary if ended == tree_steps.NO_INERTIA else StepFailed
        return _Row(self, begin, passed, made, Sampled(*(x[:came] for x in sampled)))

    # -- kernels ----------------------------------------------------------------------------------------------
    def _places(self, many: int, v: np.ndarray) -> list[np.ndarray]:
        """Room for so many poses and velocities of bodies, and angles of nodes; the ground does not move."""
        shapes = (len(v) // 6 + 1, 3), (len(v) // 6 + 1, 3, 3), (len(v),), (len(self._tree.nodes),)
        out = [np.zeros((many, *shape)) for shape in shapes]
        out[1][:, 0] = np.eye(3)
        return out

    def room(self, many: int, v: np.ndarray) -> Passed:
        """Room for so many steps of a system with velocities v (6 b,)."""
        rest = (np.zeros(many + 1) for _ in range(3))
        return Passed(*self._places(many + 1, v), *rest, np.zeros(many), np.zeros(many, dtype=int))

    def sampled(self, times: np.ndarray, v: np.ndarray) -> Sampled:
        """Room for moments at times (s) of a system with velocities v (6 b,)."""
        return Sampled(np.array(times), *self._places(len(times), v), np.zeros(len(times)))

    def march(self, passed: Passed, until: float, sampled: Sampled) -> tuple[int, int, int]:
        """Steps that begin where the first of ``passed`` does, see :func:`mse.kernels.tree_steps.march`."""
        return tree_steps.march(self._tree, self._rows, self._method, passed, until, sampled, self.dense)

    def between(self, passed: Passed, s: int, dense: np.ndarray, sampled: Sampled) -> None:
        """Moments within a step that was made, with the parts of its interpolation."""
        tree_steps.between(self._tree, self._rows, passed, s, dense, sampled)

    # -- states -----------------------------------------------------------------------------------------------
    def _state(self, o: np.ndarray, u: np.ndarray, angles: np.ndarray, before: State) -> State:
        """The state at poses of bodies, where hinges are on the branches of ``angles``."""
        memory = list(before.memory)
        for g, elements, numbers, nodes in self._remembered:
            memory[g] = memory[g].copy()
            memory[g][elements, numbers] = angles[nodes]
        return State(o, u, before.q, tuple(memory))

    def moment(self, at: Passed | Sampled, k: int, begin: Moment, step: float | None, origin: Callable) -> Moment:
        """One of the moments that were found, after a begin whose memories it goes on from."""
        o, u = at.o[k], at.u[k]
        return MadeLater(
            (o, u), lambda: self._state(o, u, at.angles[k], begin.state), self.equations.followed, origin,
            time=at.time.item(k), v=at.v[k], damped=at.damped.item(k), driven=begin.driven, step=step,
        )  # fmt: skip


class _Row(Sequence[Moment]):
    """Where steps begin that were made in one call; ``next`` is where the next of those begins that are handed out singly."""

    def __init__(self, steps: TreeSteps, begin: Moment, passed: Passed, made: int, sampled: Sampled):
        self._steps, self._passed, self._made, self._s, self._sampled = steps, passed, made, 0, sampled
        self._first, self.next = begin, begin
        self.last: Moment | None = None  # the end of the last step

    def __len__(self) -> int:
        return self._made

    def __getitem__(self, s: int) -> Moment:
        s = s % self._made
        return self._end(s) if s else self._first

    def _end(self, s: int) -> Moment:
        """The end of so many steps."""
        return self._steps.moment(self._passed, s, self._first, self._passed.foreseen.item(s), _nothing)

    def step(self) -> Step:
        """The next of the steps."""
        s, begin, end = self._s, self.next, self._end(self._s + 1)
        self._s += 1
        over = self._s == self._made
        self.last, self.next = (end, None) if over else (None, end)
        return Step(begin, end, _Between(self._steps, self._passed, s, begin), self._passed.asked.item(s))

    def leap(self) -> tuple[Step, list[float]]:
        """All steps as one, and the times (s) between them."""
        times, sampled = self._passed.time[: self._made + 1].tolist(), self._sampled
        found = dict(zip(sampled.time.tolist(), count(), strict=False))

        def at(t: float) -> Moment:
            if (k := found.get(t)) is not None:
                return self._steps.moment(sampled, k, self._first, None, lambda: self[bisect_left(times, t) - 1])
            s = bisect_left(times, t) - 1
            return _Between(self._steps, self._passed, s, self[s])(t)  # there are more in the last step than had room

        evaluations = int(self._passed.asked[: self._made].sum())
        return Step(self._first, self._end(self._made), at, evaluations, self), times


def _nothing() -> None:
    """The origin of what is not interpolated."""


class _Between:
    """Moments within a step that was made, by interpolation of order 7."""

    def __init__(self, steps: TreeSteps, passed: Passed, s: int, begin: Moment):
        self._steps, self._passed, self._s, self._begin = steps, passed, s, begin
        self._dense: np.ndarray | None = None

    def __call__(self, t: float) -> Moment:
        steps, sampled = self._steps, self._steps.sampled(np.array([t]), self._begin.v)
        if self._dense is None:
            # made once more, as a step that is not asked for moments has no interpolation
            once = Passed(
                *(x[self._s : self._s + (2 if len(x) > len(self._passed.made) else 1)].copy() for x in self._passed)
            )
            steps.march(once, np.inf, sampled)
            self._dense = steps.dense.copy()
        else:
            steps.between(self._passed, self._s, self._dense, sampled)
        return steps.moment(sampled, 0, self._begin, None, lambda: self._begin)
