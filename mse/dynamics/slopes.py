"""Forces of inertia and of velocities with their slopes by positions and velocities, element by element, in world axes.

``F(x, v, a)`` are the forces that stand on the side of ``M a``: of inertia, of dampings, and of what velocities change in
powers.  Slopes by positions are taken along ``o + d, exp([a]x) U`` at fixed components of v and a along the axes of the world.
They are closed for rigid bodies, and of records for laws that can be recorded; damping matrices and mass matrices are
differentiated by central differences of fourth order.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..elements import laws, velocity_laws
from ..elements.differentiation import SLOW, VANISHED, directions, exerted, power_slopes
from ..elements.law_record import rows_of
from ..elements.recorded_laws import Together, recordable
from ..elements.records import FIELD, MOTION
from ..errors import ModelError
from ..kernels.rotations import turn_all
from ..linear.skew_parts import DAMPING
from ..model.configuration import Configuration
from ..numerics.jets import Jet
from .inertia import GroupInertia

# rad, or of the length of an element: differences of fourth order of a damping matrix then err by some 1e-12 of it, those of
# forces of inertia, which are differences themselves, by 1e-9 (tests/dynamics/test_about.py).
_STEP = 1e-3


class Slopes(NamedTuple):
    """Forces (E, n) of a mechanism and their slopes (E, n, n) by positions, velocities and accelerations; see the module."""

    mechanism: str
    force: np.ndarray
    by_x: np.ndarray
    by_v: np.ndarray
    mass: np.ndarray


def slopes(part: GroupInertia, at: Configuration, v: np.ndarray, a: np.ndarray) -> Iterator[Slopes]:
    """All that elements of one class exert by moving at velocities v and accelerations a (E, n) of their coordinates."""
    cls = part.cls
    if part.has_mass:
        yield _checked(part, "inertia", _inertia(part, at, v, a))
    if cls.damping_kernel is not None or cls.defines("dissipation") or cls.defines("damping_matrix"):
        yield _checked(part, "damping", _damping(part, at, v))
    if cls.defines("power"):
        yield _checked(part, "power", _power(part, at, v))


def _checked(part: GroupInertia, law: str, found: Slopes) -> Slopes:
    for e, obj in enumerate(part.objects):
        if not all(np.isfinite(x[e]).all() for x in found[1:]):
            raise ModelError(
                f"{obj.label}: its {law} has no slopes at the present velocities; expected finite ones, for a linear model; "
                "round off what jumps, as by v/sqrt(v**2 + s**2)"
            )
    return found


def _inertia(part: GroupInertia, at: Configuration, v: np.ndarray, a: np.ndarray) -> Slopes:
    mass, c = part.masses(at, v)
    if part.cls.inertia_slopes is not None:
        return Slopes(MOTION, *part.cls.inertia_slopes(mass, v, a), mass)
    force = np.einsum("eij,ej->ei", mass, a) + c
    by_x, by_v = np.zeros((2, *mass.shape))
    left: Any = range(len(mass))
    if velocity_laws.of(part.cls, "mass_matrix"):
        left = _recorded(part, at, "inertia", "kinetic", np.hstack([_slow(v), a]), by_x, by_v)
    if len(left) and (v.any() or a.any()):

        def exerts(part: GroupInertia, at: Configuration, v: np.ndarray) -> np.ndarray:
            m, c = part.masses(at, v)
            return np.einsum("eij,ej->ei", m, a) + c

        by_x[left] = _differences(part, at, lambda p, there: exerts(p, there, v))[left]
        for i in range(v.shape[1]):  # of second degree in velocities, for a mass matrix: any step is exact
            unit = np.zeros(v.shape[1])
            unit[i] = 1.0
            by_v[left, :, i] = 0.5 * (exerts(part, at, v + unit) - exerts(part, at, v - unit))[left]
    return Slopes(MOTION, force, by_x, by_v, mass)


def _slow(v: np.ndarray) -> np.ndarray:
    """Velocities (E, n), with hardly any in place of none: formulas like a speed's have no slopes at rest."""
    out = v.copy()
    out[~v.any(axis=1)] = SLOW * directions(v.shape[1])[0]
    return out


def _recorded(
    part: GroupInertia, at: Configuration, record: str, law: str, given: np.ndarray, by_x: np.ndarray, by_v: np.ndarray
) -> list[int]:
    """Fill slopes by a record of a law; the numbers of objects that have none."""
    if not recordable(part.cls, record):
        return list(range(len(part.objects)))
    places, n = part._places(at), part.shape.size
    together = Together(part.objects, record, part.shape._replace(values=1 + n))

    def put(here: Any, found: tuple) -> None:
        by_x[here], by_v[here] = found[1][:, 1:], found[2]

    def plain(e: int) -> Any:
        return velocity_laws.value(part.objects[e], law, *places[e], given[e][:n])

    left = together.evaluate(slice(None), (rows_of(places), given), 2, plain, put)
    for out in (by_x, by_v):
        out[np.abs(out) <= VANISHED] = 0.0
    return left.tolist()


def _damping(part: GroupInertia, at: Configuration, v: np.ndarray) -> Slopes:
    cls, n = part.cls, part.shape.size
    by_x, by_v = np.zeros((2, len(v), n, n))

    def matrices(part: GroupInertia, at: Configuration) -> np.ndarray:
        if cls.damping_kernel is not None:
            g = part.group
            found = cls.damping_kernel(g.parameters, g.frames, at.o, at.U, part._memory(at))
        else:
            found = laws.matrices(part.objects, "damping_matrix", part._places(at), n)
        return np.zeros((len(v), n, n)) if found is None else found

    force = -part.velocity_forces(at, v)[0]
    if cls.damping_kernel is None and cls.defines("dissipation"):
        for e in _recorded(part, at, "drag", "dissipation", _slow(v), by_x, by_v):
            place = part._places(at)[e]
            found = velocity_laws.value(part.objects[e], "dissipation", *place, Jet.variables(_slow(v)[e]))
            by_v[e] = found.hessian if isinstance(found, Jet) else 0.0
            if v[e].any():
                by_x[e] = _differences(part, at, lambda p, there: -p.velocity_forces(there, v)[0])[e]
    else:
        by_v = matrices(part, at)
        if v.any() and by_v.any():
            by_x = _differences(part, at, lambda p, there: np.einsum("eij,ej->ei", matrices(p, there), v))
    return Slopes(DAMPING, force, by_x, by_v, np.zeros_like(by_v))


def _power(part: GroupInertia, at: Configuration, v: np.ndarray) -> Slopes:
    """Without the forces at rest and their slopes by positions, which K of the elements has."""
    places, n = part._places(at), part.shape.size
    by_x, by_v = np.zeros((2, len(v), n, n))

    def add(actual: np.ndarray, sign: float) -> None:
        left: Any = range(len(v))
        given = np.hstack([np.zeros_like(actual), actual])

        def put(here: Any, found: tuple) -> None:
            by_x[here] -= sign * found[1]
            if sign > 0.0:
                by_v[here] -= found[2]

        if recordable(part.cls, "power"):
            together = Together(part.objects, "power", part.shape._replace(values=n))
            left = together.evaluate(
                slice(None), (rows_of(places), given), 2, lambda e: exerted(part.objects[e], *places[e], actual[e]), put
            )
        for e in left:
            by_x[e] -= sign * power_slopes(part.objects[e], *places[e], actual[e])
            if sign > 0.0:
                by_v[e] -= power_slopes(part.objects[e], *places[e], Jet.variables(actual[e]))

    add(_slow(v), 1.0)
    add(_slow(np.zeros_like(v)), -1.0)
    by_v[np.abs(by_v) <= VANISHED] = 0.0
    return Slopes(FIELD, -part.velocity_forces(at, v)[1], by_x, by_v, np.zeros_like(by_v))


def _differences(
    part: GroupInertia, at: Configuration, exerts: Callable[[GroupInertia, Configuration], np.ndarray]
) -> np.ndarray:
    """Slopes (E, n, n) of forces (E, n) by positions, by central differences of fourth order."""
    g, (count, frames) = part.group, part.group.frames.shape
    own, n = copy.copy(part), part.shape.size
    own.group = copy.copy(g)
    own.group.frames = np.arange(count * frames).reshape(count, frames)  # frames that no two elements share
    o, u = at.o[g.frames], at.U[g.frames]
    size = np.linalg.norm(o - o[:, :1], axis=2).max(axis=1)
    size[size == 0.0] = 1.0  # of one frame alone nothing changes along a displacement

    def displaced(i: int, h: float) -> np.ndarray:
        if i >= 6 * frames:
            q = at.q.copy()
            q[g.internal[:, i - 6 * frames]] += h
            return exerts(own, at._replace(o=o.reshape(-1, 3), U=u.reshape(-1, 3, 3), q=q))
        k, axis = divmod(i, 6)
        moved, turned = o.copy(), u.copy()
        if axis < 3:
            moved[:, k, axis] += h * size
        else:
            turn = np.zeros((count, 3))
            turn[:, axis - 3] = h
            turned[:, k] = turn_all(u[:, k].copy(), turn)
        moved, turned = moved.reshape(-1, 3), turned.reshape(-1, 3, 3)
        memory = at.memory
        if g.number >= 0 and memory[g.number].shape[1]:
            followed = own.group.followed(moved, turned, memory[g.number])
            memory = (*memory[: g.number], followed, *memory[g.number + 1 :])
        return exerts(own, at._replace(o=moved, U=turned, memory=memory))

    out = np.zeros((count, n, n))
    for i in range(n):
        near, far = (displaced(i, k * _STEP) - displaced(i, -k * _STEP) for k in (1, 2))
        step = _STEP * (size if i < 6 * frames and i % 6 < 3 else np.ones(count))
        out[:, :, i] = (8.0 * near - far) / (12.0 * step[:, None])
    return out
