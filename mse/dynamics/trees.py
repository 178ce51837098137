"""Steps of rigid bodies on joints that form a tree, in coordinates of the joints; compiled in :mod:`mse.kernels.tree_steps`."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.integrate._ivp import dop853_coefficients as dop853

from ..kernels import tree_steps
from ..kernels.joints import ANGLE
from ..kernels.tree_steps import Method, Passed
from ..kernels.trees import BALL, HINGE, SLIDE, WELD, WIDTH, Tree
from ..model.configuration import State
from .bodies import Bodies, NotElementary, Seat
from .charts import StepFailed
from .elimination import spanned
from .moments import MadeLater, Moment, Step

_WHOLE = 12, 13, 14  # what holds a displacement along the axes of the world
# Turns that a joint leaves, by the measures that it holds beside displacements.  Cardan joints go the way of loops.
_TURNS = {(5, 6, 7): WELD, (3, 4): HINGE, (): BALL}
_MOST = 256  # steps in one call


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
            self.found = self.found and seat.code in self.springs.get(seat.joint, {})

    def tree(self, bodies: Bodies) -> Tree:
        count = len(self.nodes) + 1
        springs = np.zeros((count, 4))
        for seat in bodies.measuring:
            springs[self.springs[seat.joint][seat.code]] = seat.spring
        out = Tree(
            bodies.model.gravity, np.zeros((count, 6), dtype=int), np.zeros((count, 3, 3)), np.zeros((count, 10)), springs,
            np.zeros((count, 4, 3)), np.zeros((count, 3)),
        )  # fmt: skip
        for k, node in enumerate(self.nodes, 1):
            out.nodes[k], out.places[k], out.masses[k], out.marks[k] = node[:4]
            out.levers[k] = out.places[k, 0] - out.places[node.numbers[0], 1]
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
        turning = _TURNS.get(tuple(c for c in codes if c not in (*_WHOLE, 0, 1, 2)))
        if len(codes) < len(seat.held) or turning is None:
            return False
        sliding = [] if set(_WHOLE) <= set(codes) else [i for i in range(3) if i not in codes]
        if sliding and (any(c in codes for c in _WHOLE) or (one and turning != WELD)):
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
    return np.concatenate([[mass], first - mass * at, moved[np.triu_indices(3)]])


class TreeSteps:
    """Steps of a tree with a relative tolerance, many of which are made in one call where it is known how far they go."""

    def __init__(self, bodies: Bodies, nodes: Nodes, rtol: float, constants: tuple[float, ...]):
        equations = bodies.equations
        self.equations, self._nodes, self._tree = equations, nodes, nodes.tree(bodies)
        rows = len(self._tree.nodes)
        self._rows = np.zeros((rows, WIDTH))
        slow, rounding, turn, *factors = constants
        self._method = Method(
            np.ascontiguousarray(dop853.A), np.ascontiguousarray(dop853.B), np.array([dop853.E5[:-1], dop853.E3[:-1]]),
            np.array([rtol, equations.measure.size, slow, rounding, turn]), np.array(factors),
        )  # fmt: skip
        self._chunk: _Chunk | None = None
        self._many = 1

    @classmethod
    def of(cls, bodies: Bodies | None, rtol: float, constants: tuple[float, ...]) -> TreeSteps | None:
        """None for a system that is no tree, or on which more acts than gravity and springs and dampers of its joints."""
        if bodies is None or not bodies.alone:
            return None
        nodes = Nodes(bodies)
        return cls(bodies, nodes, rtol, constants) if nodes.found else None

    def step(self, begin: Moment, until: float | None) -> Step:
        """The step that begins at a moment; NotElementary where a joint has no inertia, StepFailed where there is none."""
        chunk = self._chunk
        if chunk is None or begin is not chunk.next:
            self._many = 1 if until is None or chunk is None or begin is not chunk.last else min(4 * self._many, _MOST)
            chunk = self._chunk = self._made(begin, np.inf if until is None else until)
        return chunk.step()

    def _made(self, begin: Moment, until: float) -> _Chunk:
        many, rows, state = self._many, len(self._tree.nodes), begin.state
        angles = np.zeros(rows)
        for k, node in enumerate(self._nodes.nodes, 1):
            if node.remembered is not None:
                g, element, number = node.remembered
                angles[k] = state.memory[g][element, number]
        firsts = (
            state.o,
            state.U,
            begin.v,
            angles,
            np.array(begin.time),
            np.array(begin.damped),
            np.array(begin.step or 0.0),
        )
        passed = Passed(
            *(np.repeat(x[None], many + 1, axis=0) for x in firsts), np.zeros(many), np.zeros(many, dtype=int)
        )
        made, ended = tree_steps.march(self._tree, self._rows, self._method, passed, until)
        if not made:
            raise NotElementary if ended == tree_steps.NO_INERTIA else StepFailed
        return _Chunk(self, begin, passed, made)

    # -- states -----------------------------------------------------------------------------------------------
    def state(self, o: np.ndarray, u: np.ndarray, angles: np.ndarray, before: State) -> State:
        """The state at poses of bodies, where hinges are on the branches of ``angles``."""
        memory = [m.copy() for m in before.memory]
        for k, node in enumerate(self._nodes.nodes, 1):
            if node.remembered is not None:
                g, element, number = node.remembered
                memory[g][element, number] = angles[k]
        e = self.equations
        return State(o, u, before.q, e.assembly.followed(*e.topology.frame_poses(o, u), memory))

    def slopes(self, passed: Passed, s: int) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (2 n + 1,) at the begin of a step that was made, and slopes of all its stages."""
        y = np.zeros(2 * self._nodes.count + 1)
        y[-1] = passed.damped[s]
        found = np.zeros((dop853.N_STAGES_EXTENDED, len(y)))
        tree_steps.again(
            self._tree, self._rows, self._method, passed.o[s], passed.u[s], passed.v[s], passed.angles[s].copy(), y,
            passed.made[s], found,
        )  # fmt: skip
        return y, found

    def between(self, passed: Passed, s: int, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Poses and velocities of bodies, and angles of nodes, at coordinates of a step that was made."""
        o, u, v, angles = passed.o[s].copy(), passed.u[s].copy(), np.zeros_like(passed.v[s]), passed.angles[s].copy()
        tree_steps.put_between(
            self._tree, self._rows, passed.o[s], passed.u[s], passed.v[s], angles, np.zeros_like(at), at, o, u, v
        )
        hinges = np.flatnonzero(self._tree.nodes[:, 1] == HINGE)
        angles[hinges] += at[self._tree.nodes[hinges, 2]]
        return o, u, v, angles


class _Chunk:
    """Steps that were made in one call and are handed out one by one; ``next`` is where the next one begins."""

    def __init__(self, steps: TreeSteps, begin: Moment, passed: Passed, made: int):
        self._steps, self._passed, self._made, self._s = steps, passed, made, 0
        self._first, self.next = begin.state, begin
        self.last: Moment | None = None  # the end of the last step

    def step(self) -> Step:
        s, passed, begin = self._s, self._passed, self.next
        make = partial(self._steps.state, passed.o[s + 1], passed.u[s + 1], passed.angles[s + 1], self._first)
        end = MadeLater(
            make, float(passed.time[s + 1]), passed.v[s + 1], damped=float(passed.damped[s + 1]), driven=begin.driven,
            step=float(passed.foreseen[s + 1]),
        )  # fmt: skip
        self._s += 1
        over = self._s == self._made
        self.last, self.next = (end, None) if over else (None, end)
        return Step(begin, end, _Between(self._steps, passed, s, begin), int(passed.asked[s]))


class _Between:
    """Moments within a step that was made, by interpolation of order 7."""

    def __init__(self, steps: TreeSteps, passed: Passed, s: int, begin: Moment):
        self._steps, self._passed, self._s, self._begin = steps, passed, s, begin
        self._parts: list[np.ndarray] = []

    def __call__(self, t: float) -> Moment:
        h = float(self._passed.made[self._s])
        if not self._parts:
            begin, k = self._steps.slopes(self._passed, self._s)
            change = h * (dop853.B @ k[: dop853.N_STAGES])
            self._parts = [
                change,
                h * k[0] - change,
                2.0 * change - h * (k[dop853.N_STAGES] + k[0]),
                *(h * (dop853.D @ k)),
                begin,
            ]
        *parts, begin = self._parts
        x, y = (t - self._begin.time) / h, np.zeros_like(begin)
        for i, part in enumerate(reversed(parts)):
            y = (y + part) * (1.0 - x if i % 2 else x)
        y += begin
        o, u, v, angles = self._steps.between(self._passed, self._s, y)
        make = partial(self._steps.state, o, u, angles, self._begin.state)
        return MadeLater(make, t, v, damped=float(y[-1]), driven=self._begin.driven, origin=self._begin)
