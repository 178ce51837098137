"""Systems of rigid bodies on joints as arrays for :mod:`mse.kernels.multibody`, and who exerts the forces in them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..elements.base import MObject
from ..elements.joint_base import FreeJoint
from ..elements.rod import Rod
from ..kernels import joints, masses, springs
from ..kernels.multibody import Model
from ..model.flattening import Element
from ..model.groups import Group
from ..numerics.precision import NOTHING
from .accelerations import Equations
from .acting import acts, pushes
from .elimination import eliminated
from .inertia import GroupInertia

LINE = -2  # the code of a distance
_SQUARE = 15  # the scalar of a distance's square, behind those of joints
WHOLE = 12, 13, 14  # those of what holds a displacement along the axes of the world


def model_of(equations: Equations) -> tuple[Model, Shares, list[Seat], list[Seat]] | None:
    """The arrays, who exerts forces, joints that hold and what measures; None where something has no such arrays."""
    assembly, topology = equations.assembly, equations.topology
    if equations.flows or topology.internal:
        return None
    if assembly.bodies != topology.units or assembly.bodies < 2:
        return None
    for part in equations.parts:
        kernels = part.cls.mass_kernel, part.cls.inertia_kernel
        if part.has_mass and kernels != (masses.body_mass, masses.body_inertia_force):
            return None
    holding = [g.cls for g in assembly.groups if g.constraint_count]
    if any(cls is not Rod and cls.constraint_kernel is not joints.joint_constraints for cls in holding):
        return None
    shares = Shares.of(equations)
    found = _seats(equations, shares)
    if found is None:
        return None
    model = _model(equations, shares, *found)
    # numba compiles for each layout of arrays
    return Model(*map(np.ascontiguousarray, model)), shares, *found


class Shares(NamedTuple):
    """Who exerts the forces of a system: groups by the compiled code's ``own``, or ``acting`` by their kernels, and Python.

    Python exerts the forces of ``groups``, and dampings and powers of ``parts``.  If there are any, or one input has no compiled
    code, Python exerts those of all inputs (``others``).  If not, compiled code exerts them from values of ``inputs``, each an
    element and the number of one of its inputs, by name: along coordinates of joints, and by actuators, which are ``pushing``.
    """

    own: list[Group]
    acting: list[Group]
    groups: list[Group]
    parts: list[GroupInertia]
    others: bool
    inputs: dict[str, tuple[Element, int]]
    pushing: list[Element]

    @classmethod
    def of(cls, equations: Equations) -> Shares:
        own = _own_groups(equations)
        left = [g for g in equations.assembly.groups if g not in own]
        acting, groups = ([g for g in left if acts(g) is compiled] for compiled in (True, False))
        parts = [p for p in equations.parts if p.has_damping and p.group not in [*own, *acting]]
        given = equations.inputs.acting
        paths = {el.path for g in own for el in g.elements}
        compiled = not (groups or parts) and all(_is_compiled(paths, *one) for one in given.values())
        inputs = given if compiled else {}
        pushing = {el.path: el for el, _ in inputs.values() if pushes(el)}
        return cls(own, acting, groups, parts, bool(given) and not compiled, inputs, [*pushing.values()])

    @property
    def in_python(self) -> bool:
        return bool(self.groups or self.parts or self.others)


def _is_compiled(paths: set[str], el: Element, column: int) -> bool:
    """Whether compiled code has the forces of an input, where ``paths`` are of elements whose other forces it has."""
    if not isinstance(el.obj, FreeJoint) or type(el.obj).input_map is not FreeJoint.input_map:
        return pushes(el)
    return el.path in paths and joints.proportional(measure_pushed(el, column)) is not None


def measure_pushed(el: Element, column: int) -> int:
    """The measure of a joint along which one of its inputs pushes."""
    return [c.code for c, motor in el.obj._driven() if motor == "force"][column]


class Seat(NamedTuple):
    """A joint between two bodies: its ``places`` (2, 4, 3), origin and axes on each, and ``rows``, factors (15,) and constants.

    ``joint`` are its group and its number there, ``angle`` the place of an angle in its memory.  One that holds has measures and
    their targets, and for rows that are ``driven`` the number of the row, measure, target and number of the constraint.  One that
    measures has the ``code`` of what it measures, and four numbers of a ``spring``.  A spring along the
    line between two places is such a joint, too; its row has no factors.
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


def _own_groups(equations: Equations) -> list[Group]:
    """Groups whose forces and dampings the compiled code has: weights, lines, and coordinates of joints that it measures."""
    dampings = FreeJoint.damping_matrix, MObject.damping_matrix
    own = []
    for g in equations.assembly.groups:
        if g.cls.kernel is joints.joint_springs and g.cls.damping_matrix in dampings and not g.cls.defines("power"):
            acting = [code for k in range(len(g.members)) for _, code, _ in _springs(g, k, set())]
            if all(joints.proportional(code) is not None for code in acting):
                own.append(g)
        elif g.cls.kernel is springs.body_load or _are_lines(g) or g.cls is Rod:
            own.append(g)
    return own


def _are_lines(g: Group) -> bool:
    """Whether a group are springs that always act along a line: none that goes slack, or damps where its ends may meet."""
    if g.cls.kernel is not springs.spring or not acts(g):
        return False
    length, _, slack, damping = g.parameters.T
    return not slack.any() and not damping[length == 0.0].any()


def _springs(g: Group, k: int, pushed: set[int]) -> list[tuple[int, int, tuple[float, ...]]]:
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


def _seats(equations: Equations, shares: Shares) -> tuple[list[Seat], list[Seat]] | None:
    """Joints that hold, and what springs and dampers measure, lines last; None if what one holds is no displacement or sine."""
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
                places, square = np.zeros((2, 4, 3)), np.zeros(_SQUARE + 1)
                if pair[0] == pair[1] != 0:
                    return None
                places[:, 0], square[_SQUARE] = t.offset_o[frames], 0.5 / length
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
                for r, code, spring in _springs(g, k, pushed.get(g.elements[k].path, set())):
                    rows = [(factors, 0.0) for factors in joints.proportional(code)]
                    measuring.append(Seat(pair, places, rows, (g.number, k), 6 + r, (), code, spring))
    return holding, measuring + lines


def _model(equations: Equations, shares: Shares, holding: list[Seat], measuring: list[Seat]) -> Model:
    bodies, seats = equations.topology.units - 1, holding + measuring
    pairs = np.array([s.bodies for s in seats], dtype=int).reshape(-1, 2)
    places = np.array([s.places for s in seats]).reshape(-1, 2, 4, 3)
    rows = [row for s in seats for row in s.rows]
    factors = np.zeros((len(rows), _SQUARE + 1))
    for of_row, (f, _) in zip(factors, rows, strict=True):
        of_row[: len(f)] = f
    row, scalars = np.nonzero(factors)
    first = np.cumsum([0, *(len(s.rows) for s in seats)])
    own = _masses(equations)
    points = _points(equations, shares, own, seats)
    # nothing turns points, so inertia that is the same about all axes changes no motion; without any, elimination fails
    own[points, 4:] += own[points, :1] * equations.measure.size**2 * np.eye(3).ravel()
    found = eliminated(bodies, pairs[: len(holding)], first[: len(holding) + 1])
    front_of = np.zeros(bodies + 1, dtype=int)
    front_of[found.fronts[:, 0]] = np.arange(bodies)
    in_front = np.vstack([found.of_joint, np.pad(front_of[pairs[len(holding) :]], [(0, 0), (0, 2)])])
    held = np.zeros((len(rows), 5))
    held[:, 0] = [constant for _, constant in rows]
    count = first[len(holding)]
    held[:count, 1] = _weights(own, pairs[: len(holding)], places[:, :, 0], first[: len(holding) + 1], factors[:count])
    held[:count, 2] = np.repeat(found.tree, np.diff(first)[: len(holding)])
    return Model(
        np.array(equations.topology.gravity, dtype=float),
        own,
        np.hstack([pairs, in_front, first[:-1, None], first[1:, None]]),
        places,
        np.searchsorted(row, np.arange(len(rows) + 1)),
        scalars,
        factors[row, scalars],
        held,
        np.array([(*s.spring, 0.0) for s in measuring]).reshape(-1, 5),
        np.hstack([found.fronts, found.parent[:, None]]),
        np.stack([found.numbers, found.inside], axis=1),
    )


def _masses(equations: Equations) -> np.ndarray:
    """Mass, mass times center and inertia about the reference point of each body (b, 13), along its axes."""
    t = equations.topology
    out = np.zeros((t.units, 13))
    for part in equations.parts:
        if part.has_mass:
            for own, frame in zip(part.group.parameters, part.group.frames[:, 0], strict=True):
                at, turn = t.offset_o[frame], t.offset_U[frame]
                inertia = turn @ own[1:10].reshape(3, 3) @ turn.T
                inertia += own[0] * (at @ at * np.eye(3) - np.outer(at, at))
                out[t.unit[frame]] += np.concatenate([own[:1], own[0] * at, inertia.ravel()])
    return out[1:]


def _points(equations: Equations, shares: Shares, own: np.ndarray, seats: list[Seat]) -> np.ndarray:
    """Which bodies (b,) are points: without inertia about their center of mass, and all forces on them act there."""
    t, (mass, first) = equations.topology, (own[:, 0], own[:, 1:4])
    center = np.divide(first, mass[:, None], out=np.zeros_like(first), where=mass[:, None] > 0.0)
    about = np.einsum("bi,bi->b", first, center)[:, None, None] * np.eye(3) - first[:, :, None] * center[:, None, :]
    found = (mass > 0.0) & np.all(np.abs(own[:, 4:] - about.reshape(-1, 9)) <= NOTHING * np.abs(own[:, 4:]), axis=1)
    pulled, turned = [], set()  # bodies and the places where forces act on them; bodies on which torques may act
    for s in seats:
        if s.held and {code for code, _ in s.held} <= {*WHOLE, LINE}:
            pulled += zip(s.bodies.tolist(), s.places[:, 0], strict=True)
        elif s.code != LINE:  # these are among the springs below
            turned |= {*s.bodies.tolist()}
    # classes that only damp are in no assembly
    for g in (*equations.assembly.groups, *(p.group for p in equations.parts if p.has_damping)):
        if g.cls.kernel is springs.spring or g.cls is Rod:
            pulled += [(int(t.unit[f]), t.offset_o[f]) for f in g.frames.ravel()]
        elif g not in shares.own:
            turned |= {*t.unit[g.frames].ravel().tolist()}
    for el, column in shares.inputs.values():
        if pushes(el) and column < 3:  # a force acts at frame 1, wherever that is on the body of frame 0
            turned.add(int(t.unit[el.frames[0]]))
            pulled.append((int(t.unit[el.frames[1]]), t.offset_o[el.frames[1]]))
        else:
            turned |= {*t.unit[el.frames].tolist()}
    turned |= {b for b, place in pulled if b and not np.array_equal(place, center[b - 1])}
    found[[b - 1 for b in turned if b]] = False
    return found & (not shares.others)


def _weights(own: np.ndarray, pairs: np.ndarray, at: np.ndarray, first: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """The mass that moves along each row (R,), by which M is stiffened there."""
    arm = np.einsum("esi,esi->es", at, at)
    turning = own[:, [4, 8, 12]].max(axis=1)
    for side in range(2):
        on = pairs[:, side] > 0
        np.maximum.at(turning, pairs[on, side] - 1, own[pairs[on, side] - 1, 0] * arm[: len(pairs)][on, side])
    joint = np.repeat(np.arange(len(pairs)), np.diff(first))
    along = np.square(factors[:, [0, 1, 2, 12, 13, 14]]).sum(axis=1) + (factors[:, _SQUARE] != 0.0)
    about = np.square(factors[:, 3:12]).sum(axis=1)
    yields = np.zeros(len(factors))
    for side in range(2):
        b = pairs[joint, side] - 1
        for size, mass in ((along, own[b, 0]), (about + along * arm[joint, side], turning[b])):
            heavy = (b >= 0) & (mass > 0.0)
            yields += np.where(heavy, size, 0.0) / np.where(heavy, mass, 1.0)
    moved = yields > 0.0
    weights = np.where(moved, 1.0, 0.0) / np.where(moved, yields, 1.0)
    return np.where(moved, weights, weights.max(initial=0.0) or 1.0)
