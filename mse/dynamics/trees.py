"""Steps of rigid bodies on joints that form a tree, in coordinates of the joints; compiled in :mod:`mse.kernels.tree_steps`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from ..kernels import tree_pushes, tree_steps
from ..kernels.by_address import InMemory
from ..kernels.joints import ANGLE
from ..kernels.steps import Method, Passed, Sampled
from ..kernels.tree_nodes import WIDTH
from ..kernels.tree_pushes import Outside
from ..kernels.trees import BALL, HINGE, SLIDE, WELD, Tree
from ..model.configuration import State
from .bodies import Bodies, NotElementary
from .body_models import WHOLE
from .charts import StepFailed
from .compiled_steps import CompiledSteps, Interpolation
from .elimination import spanned
from .moments import Moment
from .seats import LINE, Seat

# Turns that a joint leaves, by the measures that it holds beside displacements.  Cardan joints go the way of loops.
_TURNS = {(5, 6, 7): WELD, (3, 4): HINGE, (): BALL}
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
            self.found = self.found and (seat.code == LINE or (seat.joint, seat.code) in self.springs)

    def tree(self, bodies: Bodies) -> Tree:
        count = len(self.nodes) + 1
        springs, lines = np.zeros((count, 5)), [s for s in bodies.measuring if s.code == LINE]
        for seat in bodies.measuring:
            if seat.code != LINE:
                springs[self.springs[seat.joint, seat.code], :4] = seat.spring
        ends = np.array([[self._of_body[b] for b in s.bodies.tolist()] for s in lines], dtype=int).reshape(-1, 2)
        out = Tree(
            bodies.model.gravity, np.zeros((count, 6), dtype=int), np.zeros((count, 3, 3)), np.zeros((count, 10)), springs,
            np.zeros((count, 4, 3)), np.zeros((count, 3)), ends, np.zeros((len(lines), 10)),
            0, 0, 0,
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
        for k, code in enumerate(codes, len(self.nodes) - len(kinds) + 1):
            self.springs[seat.joint, code] = k
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


class OfTree(CompiledSteps):
    """Steps of a tree, in coordinates of its joints."""

    def __init__(self, bodies: Bodies, nodes: Nodes):
        self._tree = nodes.tree(bodies)
        self._outside: InMemory | None = None  # what acts on it, once it is asked for
        bodies.push_springs(self._tree.springs, nodes.springs)
        super().__init__(bodies, len(self._tree.nodes))
        self.complete = not any(g.cls.memory_size for g in bodies.shares.actors.groups)
        self.rows = np.zeros((len(self._tree.nodes), WIDTH))
        remembered = [(*node.remembered, k) for k, node in enumerate(nodes.nodes, 1) if node.remembered is not None]
        self._remembered = [  # group, and arrays of elements, of their numbers and of nodes
            (g, *np.array([rest for _, *rest in own]).T) for g, own in groupby(sorted(remembered), itemgetter(0))
        ]

    def prepare(self) -> None:
        super().prepare()
        if self.bodies.acting or not self.bodies.alone:
            tree_pushes.addresses()

    def tree(self, begin: Moment) -> Tree:
        """The tree with what acts on it in steps from a moment on."""
        ask, exert, acting = self.bodies.exerting(begin.state, begin.v)
        if (ask or exert) and self._outside is None:
            work = self.bodies.work
            self._outside = InMemory(  # which has to live as long as steps are made
                Outside(ask, exert, acting, work.o, work.u, work.motion, work.motion[1:].reshape(-1), self.bodies.extra)
            )
            push, follow = tree_pushes.addresses()
            self._tree = self._tree._replace(push=push, follow=follow, outside=self._outside.at)
        return self._tree

    def angles(self, state: State) -> np.ndarray:
        """Angles of nodes at a state; only hinges have some."""
        angles = np.zeros(len(self._tree.nodes))
        for g, elements, numbers, nodes in self._remembered:
            angles[nodes] = state.memory[g][elements, numbers]
        return angles

    def state(self, o: np.ndarray, u: np.ndarray, angles: np.ndarray, before: State) -> State:
        memory = list(before.memory)
        for g, elements, numbers, nodes in self._remembered:
            memory[g] = memory[g].copy()
            memory[g][elements, numbers] = angles[nodes]
        return State(o, u, before.q, tuple(memory))


def nodes_of(bodies: Bodies) -> Nodes | None:
    """None for a system that is no tree, or where inputs, laws or gears hold something."""
    if bodies.drives or bodies.lawful:
        return None
    nodes = Nodes(bodies)
    return nodes if nodes.found else None


class TreeSteps(OfTree):
    """Steps of order 8 of a tree."""

    def __init__(self, bodies: Bodies, nodes: Nodes, method: Method):
        super().__init__(bodies, nodes)
        self._method = method._replace(factors=np.append(_SAFE, method.factors[1:]))
        self._parts = 7, 2 * nodes.count + 2  # of an interpolation

    def failed(self, begin: Moment) -> Exception:
        return NotElementary() if self.bodies.missed else StepFailed()

    @np.errstate(all="ignore")
    def march(self, begin: Moment, passed: Passed, until: float, sampled: Sampled) -> tuple[int, int, int]:
        self._dense = np.zeros(self._parts) if len(sampled.time) else np.zeros((0, self._parts[1]))
        tree = self.tree(begin)
        found = tree_steps.march(tree, self.rows, self._method, passed, until, sampled, self._dense)
        self.bodies.refuse_broken(found[0] > 0)
        return found

    def interpolation(self, s: int) -> Interpolation | None:
        return partial(self._between, self._dense) if len(self._dense) else None

    def _between(self, dense: np.ndarray, passed: Passed, s: int, begin: Moment) -> Callable[[Sampled], None]:
        return partial(tree_steps.between, self._tree, self.rows, passed, s, dense)
