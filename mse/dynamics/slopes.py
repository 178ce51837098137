"""Forces of inertia and of velocities with their slopes by positions and velocities, element by element, in world axes.

``F(x, v, a)`` are the forces that stand on the side of ``M a``: of inertia, of dampings, and of what velocities change in
powers.  Slopes by positions are taken along ``o + d, exp([a]x) U`` at fixed components of v and a along the axes of the world.
They are closed for rigid bodies, and of records for laws that can be recorded; damping matrices and mass matrices are
differentiated by central differences of fourth order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..elements import velocity_laws
from ..elements.differentiation import VANISHED, hardly_moving, regular
from ..elements.records import FIELD, MOTION
from ..errors import ModelError
from ..linear.skew_parts import DAMPING
from ..model.configuration import Configuration
from .inertia import GroupInertia


class Slopes(NamedTuple):
    """Forces (E, n) of a mechanism and their slopes (E, n, n) by positions, velocities and accelerations; see the module."""

    mechanism: str
    force: np.ndarray
    by_x: np.ndarray
    by_v: np.ndarray
    mass: np.ndarray


def slopes(part: GroupInertia, at: Configuration, v: np.ndarray, a: np.ndarray) -> Iterator[Slopes]:
    """All that elements of one class exert by moving at velocities v and accelerations a (E, n) of their coordinates."""
    if part.has_mass:
        yield of_inertia(part, at, v, a)
    yield from of_velocities(part, at, v)


def of_inertia(part: GroupInertia, at: Configuration, v: np.ndarray, a: np.ndarray, *, exact: bool = True) -> Slopes:
    """Those of inertia, of a class that has mass."""
    return _checked(part, "inertia", _inertia(part, at, v, a, exact))


def of_velocities(part: GroupInertia, at: Configuration, v: np.ndarray, *, exact: bool = True) -> Iterator[Slopes]:
    """Those of dampings and of powers, on which accelerations have no influence."""
    found = _damping(part, at, v, exact)
    if found is not None:
        yield _checked(part, "damping", found)
    if part.has_power:
        yield _checked(part, "power", _power(part, at, v))


def _checked(part: GroupInertia, law: str, found: Slopes) -> Slopes:
    if all(np.isfinite(x).all() for x in found[1:]):
        return found
    defined = np.all([np.isfinite(x).reshape(len(x), -1).all(axis=1) for x in found[1:]], axis=0)
    also = ", nor its effort_constraint" if law == "power" and part.cls.effort_names else ""
    raise ModelError(
        f"{part.objects[int(defined.argmin())].label}: its {law} has no slopes at the present velocities{also}; expected finite "
        "ones, which linear models and implicit steps need; round off what jumps, as by v/sqrt(v**2 + s**2)"
    )


def _inertia(part: GroupInertia, at: Configuration, v: np.ndarray, a: np.ndarray, exact: bool) -> Slopes:
    if part.cls.mass_kernel is not None and part.cls.inertia_slopes is not None:
        mass = part.kernel_masses(at)
        return Slopes(MOTION, *part.cls.inertia_slopes(mass, v, a), mass)
    mass, c = part.masses(at, v)
    force = np.einsum("eij,ej->ei", mass, a) + c
    if velocity_laws.of(part.cls, "mass_matrix"):
        return Slopes(MOTION, force, *_recorded(part, at, "inertia", np.hstack([_slow(v), a])), mass)
    by_x, by_v = np.zeros((2, *mass.shape))
    if exact and (v.any() or a.any()):

        def exerts(part: GroupInertia, at: Configuration, v: np.ndarray) -> np.ndarray:
            m, c = part.masses(at, v)
            return np.einsum("eij,ej->ei", m, a) + c

        by_x = part.differences(at, lambda p, there: exerts(p, there, v))
        for i in range(v.shape[1]):  # of second degree in velocities: any step is exact
            unit = np.zeros(v.shape[1])
            unit[i] = 1.0
            by_v[:, :, i] = 0.5 * (exerts(part, at, v + unit) - exerts(part, at, v - unit))
    return Slopes(MOTION, force, by_x, by_v, mass)


def _slow(v: np.ndarray) -> np.ndarray:
    """Velocities (E, n) of elements; those at rest get tiny ones, where formulas like a speed's have slopes."""
    return np.where(v.any(axis=1, keepdims=True), v, hardly_moving(v))


def _recorded(part: GroupInertia, at: Configuration, law: str, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slopes (E, n, n) of forces by positions and by velocities, by records of a law."""
    first = 0 if law == "power" else 1  # before its forces stands a coenergy or content
    _, by_x, by_v = part.recorded(law).evaluate(part.group.columns(at), given, 2)
    return regular(by_x[:, first:]), regular(by_v)


def _damping(part: GroupInertia, at: Configuration, v: np.ndarray, exact: bool) -> Slopes | None:
    """None where nothing damps, as in most joints."""
    cls, n = part.cls, part.shape.size
    if cls.damping_kernel is None and cls.defines("dissipation"):
        force, none, rest = -part.dampings(at, _slow(v)), np.zeros((len(v), n, n)), ~v.any(axis=1)
        force[rest] = np.where(np.abs(force[rest]) <= VANISHED, 0.0, np.nan)  # of friction, which jumps there
        return Slopes(DAMPING, force, *_recorded(part, at, "drag", _slow(v)), none)
    by_v = part.damping_matrices(at)
    if by_v is None:
        return None
    by_x = np.zeros_like(by_v)
    if cls.damping_kernel is not None and cls.damping_slopes is not None:
        by_x = cls.damping_slopes(part.group.parameters, part.group.frames, at.o, at.U, part._memory(at), v)
    elif exact and v.any() and by_v.any():
        by_x = part.differences(at, lambda p, there: -p.dampings(there, v))
    return Slopes(DAMPING, np.einsum("eij,ej->ei", by_v, v), by_x, by_v, np.zeros_like(by_v))


def _power(part: GroupInertia, at: Configuration, v: np.ndarray) -> Slopes:
    """Without the forces at rest and their slopes by positions, which K of the elements has."""
    none = np.zeros_like(v)
    by_x, by_v = _recorded(part, at, "power", np.hstack([none, _slow(v)]))
    at_rest, _ = _recorded(part, at, "power", np.hstack([none, _slow(none)]))
    return Slopes(FIELD, -part.velocity_forces(at, v)[1], at_rest - by_x, -by_v, np.zeros_like(by_v))
