"""Systems of rigid bodies on joints as arrays for :mod:`mse.kernels.multibody`, and who exerts the forces in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..elements.base import MObject
from ..elements.joint_base import FreeJoint
from ..elements.rod import Rod
from ..kernels import joints, masses, springs
from ..kernels.multibody import Model
from ..model.configuration import Configuration
from ..model.evaluation import Evaluation
from ..model.flattening import Element
from ..model.groups import Group
from ..numerics.precision import NOTHING
from .accelerations import Equations
from .acting import Actors, acts, pushes
from .elimination import eliminated
from .inertia import GroupInertia
from .law_elements import LawPart, exerted_by, held_by, rolled_by
from .seats import LINE, MORE, ROW, SQUARE, Seat, is_gear, measure_pushed, seats_of, springs_on

WHOLE = 12, 13, 14  # those of what holds a displacement along the axes of the world


def model_of(equations: Equations, early: bool) -> tuple[Model, Shares, list[Seat], list[Seat]] | None:
    """The arrays, who exerts forces, joints that hold and what measures; None where something has no such arrays.

    If it is ``early``, nothing compiled is called: laws are taken for records, and rows of laws have no weights.
    """
    assembly, topology = equations.assembly, equations.topology
    if topology.internal:
        return None
    if assembly.bodies != topology.units or assembly.bodies < 2:
        return None
    for part in equations.parts:
        kernels = part.cls.mass_kernel, part.cls.inertia_kernel
        if part.has_mass and kernels != (masses.body_mass, masses.body_inertia_force):
            return None
    shares = Shares.of(equations, early)
    found = None if shares is None else seats_of(equations, shares)
    if found is None:
        return None
    model = _model(equations, shares, *found)
    if not early and (shares.laws or shares.gears):
        weights = _weights_of_laws(equations, shares, model.bodies)
        end = model.joints[len(found[0]) - 1, 7]
        own = model.held[rows_of_joints(found[0]) : end]
        own[own[:, 5] != 0.0, 5] = weights
        own[:, 1] = np.where(own[:, 1] != 0.0, own[:, 5], 0.0)
    # numba compiles for each layout of arrays
    return Model(*map(np.ascontiguousarray, model)), shares, *found


class Shares(NamedTuple):
    """Who exerts the forces of a system: groups by the compiled code's ``own``, or ``actors`` by their kernels, and Python.

    Python exerts the forces of ``groups``, and dampings and powers of ``parts``.  If there are any, or one input has no compiled
    code, Python exerts those of all inputs (``others``).  If not, compiled code exerts them from values of ``inputs``, each an
    element and the number of one of its inputs, by name: along coordinates of joints, and by actuators.
    """

    own: list[Group]
    gears: list[Group]
    laws: list[LawPart]
    actors: Actors
    groups: list[Group]
    parts: list[GroupInertia]
    others: bool
    inputs: dict[str, tuple[Element, int]]

    @classmethod
    def of(cls, equations: Equations, early: bool) -> Shares | None:
        """None where constraints have no rows in compiled code."""
        own, rows = _own_groups(equations), _rows(equations, early)
        if rows is None:
            return None
        gears = [g for g in equations.assembly.groups if is_gear(g)]
        left = [g for g in equations.assembly.groups if g not in own]
        acting = [g for g in left if acts(g)]
        damping = [p for p in equations.parts if p.has_damping and p.group not in [*own, *acting]]
        by_group = {id(p.group): p for p in damping}
        groups, parts, laws = [], [], []
        for g in [g for g in left if g not in acting and (g.cls.has_energy() or g.cls.defines("power"))]:
            part = by_group.pop(id(g), None)
            if (found := exerted_by(g, part)) is not None and _recorded(equations, found, early):
                laws += found
            else:
                groups.append(g)
                parts += [] if part is None else [part]
        for part in by_group.values():
            if (found := exerted_by(None, part)) is not None and _recorded(equations, found, early):
                laws += found
            else:
                parts.append(part)
        given = equations.inputs.acting
        paths = {el.path for g in own for el in g.elements}
        compiled = not (groups or parts) and all(_is_compiled(paths, *one) for one in given.values())
        inputs = given if compiled else {}
        pushing = {el.path: el for el, _ in inputs.values() if pushes(el)}
        actors = Actors(acting, [*pushing.values()], laws)
        return cls(own, gears, rows, actors, groups, parts, bool(given) and not compiled, inputs)

    @property
    def in_python(self) -> bool:
        return bool(self.groups or self.parts or self.others)


def _recorded(equations: Equations, laws: Iterable[LawPart], early: bool) -> bool:
    """Whether all laws have records at the initial poses at rest; nobody knows if it is ``early``."""
    if early:
        return True
    at = Evaluation.initial(equations.assembly).configuration
    rest = np.zeros((len(at.o), 6))
    return all(part.served(at, rest) is not None for part in laws)


def _rows(equations: Equations, early: bool) -> list[LawPart] | None:
    """Laws of all constraints that are not joints, rods or gears; None where a law has no record, or one is within the ground."""
    found, unit = [], equations.topology.unit
    for g in (g for g in equations.assembly.groups if g.constraint_count):
        if g.cls is not Rod and g.cls.constraint_kernel is not joints.joint_constraints:
            if not (is_gear(g) or g.records("constraint")) or not unit[g.frames].any(axis=1).all():
                return None
            found += [] if is_gear(g) else [held_by(g)]
    found += map(rolled_by, equations.flows)
    apart = all(unit[part.frames].any(axis=1).all() for part in found)
    return found if not found or (apart and _recorded(equations, found, early)) else None


def _is_compiled(paths: set[str], el: Element, column: int) -> bool:
    """Whether compiled code has the forces of an input, where ``paths`` are of elements whose other forces it has."""
    if not isinstance(el.obj, FreeJoint) or type(el.obj).input_map is not FreeJoint.input_map:
        return pushes(el)
    return el.path in paths and joints.proportional(measure_pushed(el, column)) is not None


def _own_groups(equations: Equations) -> list[Group]:
    """Groups whose forces and dampings the compiled code has: weights, lines, and coordinates of joints that it measures."""
    dampings = FreeJoint.damping_matrix, MObject.damping_matrix
    own = []
    for g in equations.assembly.groups:
        if g.cls.kernel is joints.joint_springs and g.cls.damping_matrix in dampings and not g.cls.defines("power"):
            acting = [code for k in range(len(g.members)) for _, code, _ in springs_on(g, k, set())]
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


def _model(equations: Equations, shares: Shares, holding: list[Seat], measuring: list[Seat]) -> Model:
    bodies, seats = equations.topology.units - 1, holding + measuring
    pairs = np.array([s.bodies for s in seats], dtype=int).reshape(-1, 2)
    places = np.array([s.places for s in seats]).reshape(-1, 2, 4, 3)
    rows = [row for s in seats for row in s.rows]
    factors = np.zeros((len(rows), SQUARE + 1))
    for of_row, (f, _) in zip(factors, rows, strict=True):
        of_row[: len(f)] = f
    row, scalars = np.nonzero(factors)
    first = np.cumsum([0, *(len(s.rows) for s in seats)])
    own = _masses(equations)
    points = _points(equations, shares, own, seats)
    # nothing turns points, so inertia that is the same about all axes changes no motion; without any, elimination fails
    own[points, 4:] += own[points, :1] * equations.measure.size**2 * np.eye(3).ravel()
    jointed = sum(s.code not in (ROW, MORE) for s in holding)  # which come first
    more = np.array([s.code == MORE for s in holding], dtype=bool)
    row_of = np.maximum.accumulate(np.where(more, 0, np.arange(len(holding))))
    found = eliminated(bodies, pairs[: len(holding)], first[: len(holding) + 1], jointed, row_of)
    front_of = np.zeros(bodies + 1, dtype=int)
    front_of[found.fronts[:, 0]] = np.arange(bodies)
    in_front = np.vstack([found.of_joint, np.pad(front_of[pairs[len(holding) :]], [(0, 0), (0, 2)])])
    held = np.zeros((len(rows), 6))
    held[:, 0] = [constant for _, constant in rows]
    count = first[len(holding)]
    weights = _weights(own, pairs[: len(holding)], places[:, :, 0], first[: len(holding) + 1], factors[:count])
    more = np.repeat(more, np.diff(first)[: len(holding)])
    held[:count, 5] = np.where(more, 0.0, weights)
    held[:count, 1] = np.where(more | np.append(more[1:], False), 0.0, weights)  # only rows on two bodies stiffen
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
        found.fronts,
        found.columns,
    )


def rows_of_joints(holding: list[Seat]) -> int:
    """The number of rows of joints, behind which rows of laws and gears begin."""
    return sum(len(s.rows) for s in holding if s.code not in (ROW, MORE))


def _weights_of_laws(equations: Equations, shares: Shares, own: np.ndarray) -> np.ndarray:
    """The mass that moves along each row of laws and of gears, from their slopes at the initial poses; see :func:`_weights`."""
    at = Evaluation.initial(equations.assembly).configuration
    slopes = [(part.frames, part.slopes(at)) for part in shares.laws]
    slopes += [(g.frames, g.constrain(at, np.ones((len(g.frames), 1)), 1)[1]) for g in shares.gears]
    return np.concatenate([1.0 / _yielding(equations, at, own, *one) for one in slopes])


def _yielding(
    equations: Equations, at: Configuration, own: np.ndarray, frames: np.ndarray, slopes: np.ndarray
) -> np.ndarray:
    """By how much rows (E m,) with slopes (E, m, 6 F) by frames (E, F) yield to a force, for masses of bodies (b, 13)."""
    body, (count, m, _) = equations.topology.unit[frames], slopes.shape
    arm = at.o[frames] - at.reference[body]
    by_frame = slopes.reshape(count, m, -1, 2, 3)
    force, torque = by_frame[..., 0, :], by_frame[..., 1, :] + np.cross(arm[:, None], by_frame[..., 0, :])
    mass = np.append(own[:, 0], 0.0)[body - 1]  # of the ground the last
    turning = np.append(own[:, [4, 8, 12]].max(axis=1), 0.0)[body - 1] + mass * np.square(arm).sum(axis=2)
    total = np.zeros((count, m))
    for pull, heavy in ((force, mass), (torque, turning)):
        yielding = np.where(heavy > 0.0, 1.0, 0.0) / np.where(heavy > 0.0, heavy, 1.0)
        total += np.einsum("emfi,emfi,ef->em", pull, pull, yielding)
    return np.where(total > 0.0, total, 1.0).ravel()


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
    along = np.square(factors[:, [0, 1, 2, 12, 13, 14]]).sum(axis=1) + (factors[:, SQUARE] != 0.0)
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
