"""Joints, and other elements that hold or measure, between two bodies each, for :mod:`mse.dynamics.body_models`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..elements.gear import Gear
from ..elements.rod import Rod
from ..kernels import joints, springs
from ..model.flattening import Element
from ..model.groups import Group
from ..model.topology import Topology
from .accelerations import Equations
from .acting import pushes
from .law_elements import pairs_on, sides_on

if TYPE_CHECKING:
    from .body_models import Shares

LINE, ROW, MORE = (
    -2,
    -3,
    -4,
)  # codes of a distance, of rows of laws and gears, and of further bodies of such a row before
SQUARE = 15  # the scalar of a distance's square, behind those of joints


class Seat(NamedTuple):
    """A joint between two bodies: its ``places`` (2, 4, 3), origin and axes on each, and ``rows``, factors (15,) and constants.

    ``joint`` are its group and its number there, ``angle`` the place of an angle in its memory.  One that holds has the measures
    that are ``held``, with their targets; a row that a motor drives is in ``driven``, with its measure, target and constraint.
    One that measures has the ``code`` of what it measures, and four numbers of a ``spring``.  A spring along the line between
    two places is such a joint, too; its row has no factors.  Laws and gears hold, too; their rows come from
    :mod:`mse.kernels.holding`.  One on more than two bodies has a joint for each two.
    """

    bodies: np.ndarray
    places: np.ndarray
    rows: list[tuple[np.ndarray, float]]
    joint: tuple[int, int]
    angle: int
    held: tuple[tuple[int, float], ...] = ()
    code: int = -1
    spring: tuple[float, ...] = ()
    driven: tuple[tuple[int, int, float, int], ...] = ()


def drives_of(holding: list[Seat]) -> list[tuple[int, int, float, int]]:
    """Rows that are driven: number among all, measure, target without motion, and number of the constraint."""
    firsts = np.cumsum([0, *(len(seat.rows) for seat in holding)]).tolist()
    return [(first + r, *rest) for first, seat in zip(firsts, holding, strict=False) for r, *rest in seat.driven]


def measure_pushed(el: Element, column: int) -> int:
    """The measure of a joint along which one of its inputs pushes."""
    return [c.code for c, motor in el.obj._driven() if motor == "force"][column]


def springs_on(g: Group, k: int, pushed: set[int]) -> list[tuple[int, int, tuple[float, ...]]]:
    """Coordinates of a joint on which something acts: number, measure, and stiffness, rest, preload and damping.

    Inputs act on those whose measures are ``pushed``.
    """
    own, damping = g.parameters[k], getattr(g.elements[k].obj, "damping", ())
    found = []
    for r in range(int(own[joints.FREE])):
        spring = (*own[[joints.STIFFNESS + r, joints.REST + r, joints.PRELOAD + r]].tolist(), damping[r])
        code = int(own[joints.FREE + 1 + r])
        if spring[0] or spring[2] or spring[3] or code in pushed:
            found.append((r, code, spring))
    return found


def _held(own: np.ndarray) -> tuple[list[float], list[int]]:
    """Targets of what a joint with these parameters holds, and measures."""
    count = int(own[joints.HELD])
    codes = own[joints.HELD + 1 : joints.HELD + 1 + count].astype(int)
    return own[joints.TARGET : joints.TARGET + count].tolist(), codes.tolist()


def seats_of(equations: Equations, shares: Shares) -> tuple[list[Seat], list[Seat]] | None:
    """Joints that hold, laws that do last, and what springs and dampers measure, lines last.

    None if what a joint holds is no displacement or sine.
    """
    t, holding, measuring, lines, own_groups = equations.topology, [], [], [], shares.own
    motors = set(equations.inputs.motors.values())
    pushed: dict[str, set[int]] = {}  # measures along which inputs push, by the paths of joints
    for el, column in shares.inputs.values():
        if not pushes(el):
            pushed.setdefault(el.path, set()).add(measure_pushed(el, column))
    for g in equations.assembly.groups:
        if g in own_groups and g.cls.kernel is springs.spring:
            for k, (own, frames) in enumerate(zip(g.parameters, g.frames, strict=True)):
                pair, places = t.unit[frames], np.zeros((2, 4, 3))
                places[:, 0] = t.offset_o[frames]
                if pair[0] != pair[1]:
                    spring, rows = (own[1], own[0], 0.0, own[3]), [(np.zeros(15), 0.0)]
                    lines.append(Seat(pair, places, rows, (g.number, k), -1, (), LINE, spring))
        if g.cls is Rod:
            for k, (el, frames) in enumerate(zip(g.elements, g.frames, strict=True)):
                length, pair = el.obj.length, t.unit[frames]
                places, square = np.zeros((2, 4, 3)), np.zeros(SQUARE + 1)
                if pair[0] == pair[1] != 0:
                    return None
                places[:, 0], square[SQUARE] = t.offset_o[frames], 0.5 / length
                if pair.any():
                    rows = [(square, -0.5 * length)]
                    holding.append(Seat(pair, places, rows, (g.number, k), -1, ((LINE, length),)))
        if g.cls.constraint_kernel is not joints.joint_constraints:
            continue
        for k, (own, frames) in enumerate(zip(g.parameters, g.frames, strict=True)):
            pair = t.unit[frames]
            axes = t.offset_U[frames] @ own[:9].reshape(3, 3)
            places = np.concatenate([t.offset_o[frames][:, None], axes.transpose(0, 2, 1)], axis=1)
            targets, codes = _held(own)
            rows = [joints.vanishing(*one) for one in zip(codes, targets, strict=True)]
            driven = [
                (r, codes[r], targets[r], n)
                for r, n in enumerate(equations.assembly.constraint_rows(g)[k].tolist())
                if n in motors
            ]
            for r, code, *_ in driven:
                parts = joints.proportional(code)
                rows[r] = None if parts is None else (sum(parts), 0.0)  # all scalars that it may have
            if any(row is None for row in rows) or (pair[0] == pair[1] != 0):
                return None
            if rows and pair.any():
                free = own[joints.FREE + 1 : joints.FREE + 1 + int(own[joints.FREE])].astype(int).tolist()
                turn = 6 + free.index(joints.ANGLE) if joints.ANGLE in free else -1
                held = tuple(zip(codes, targets, strict=True))
                holding.append(Seat(pair, places, rows, (g.number, k), turn, held, driven=tuple(driven)))
            if g in own_groups and pair.any():
                for r, code, spring in springs_on(g, k, pushed.get(g.elements[k].path, set())):
                    rows = [(factors, 0.0) for factors in joints.proportional(code)]
                    measuring.append(Seat(pair, places, rows, (g.number, k), 6 + r, (), code, spring))
    laws, terms = _seats_of_laws(t, shares)
    return holding + laws, measuring + terms + lines


def _seats_of_laws(t: Topology, shares: Shares) -> tuple[list[Seat], list[Seat]]:
    """Laws and gears that hold, and what gears measure."""
    holding, measuring = [], []
    for part in shares.laws:
        for pairs in pairs_on(t.unit[part.frames]):
            together = part.rows if len(pairs) == 1 else 1
            holding += _seats_of_rows(pairs, (-1, -1), together, 0.0) * (part.rows // together)
    for g in shares.gears:
        for k, (el, frames) in enumerate(zip(g.elements, g.frames, strict=True)):
            (pairs,) = pairs_on(t.unit[frames][None])
            holding += _seats_of_rows(pairs, (g.number, k), 1, -el.obj.offset)
            for r, (axes, code, _) in enumerate(el.obj._terms):
                pair = frames[2 * r : 2 * r + 2]
                turned = (t.offset_U[pair] @ axes).transpose(0, 2, 1)
                places = np.concatenate([t.offset_o[pair][:, None], turned], axis=1)
                rows = [(factors, 0.0) for factors in joints.proportional(code)]
                measuring.append(Seat(t.unit[pair], places, rows, (g.number, k), r, (), code, (0.0,) * 4))
    return holding, measuring


def _seats_of_rows(pairs: np.ndarray, joint: tuple[int, int], rows: int, constant: float) -> list[Seat]:
    """Rows of a law or a gear on pairs of bodies (P, 2)."""
    of_pairs = [(ROW, constant), *[(MORE, 0.0)] * (len(pairs) - 1)]
    return [
        Seat(pair, np.zeros((2, 4, 3)), [(np.zeros(15), own)] * rows, joint, -1, (), code)
        for pair, (code, own) in zip(pairs, of_pairs, strict=True)
    ]


def gears_of(shares: Shares, holding: list[Seat], measuring: list[Seat]) -> tuple[np.ndarray, np.ndarray]:
    """Terms (T, 4) of gears, and ratios (T,), see :class:`.Held`."""
    of = {g.number: g for g in shares.gears}
    firsts = np.cumsum([0, *(len(seat.rows) for seat in holding)]).tolist()
    at: dict[tuple[int, int], tuple[int, list[np.ndarray]]] = {}
    for first, seat in zip(firsts, holding, strict=False):
        if seat.joint[0] in of:
            at.setdefault(seat.joint, (first, []))[1].append(seat.bodies)
    terms, ratios = [], []
    for k, seat in enumerate(measuring):
        if seat.joint[0] in of:
            row, pairs = at[seat.joint]
            terms.append((row, k, *sides_on(seat.bodies[None], np.array([pairs]))[0].tolist()))
            ratios.append(of[seat.joint[0]].elements[seat.joint[1]].obj._terms[seat.angle][2])
    return np.array(terms, dtype=int).reshape(-1, 4), np.array(ratios)


def is_gear(g: Group) -> bool:
    """Whether the elements of a group are gears on displacements and angles."""
    terms = [code for el in g.elements for _, code, _ in el.obj._terms] if g.cls is Gear else [-1]
    return all(code >= 0 and joints.proportional(code) is not None for code in terms)
