"""Inertia and velocity forces of elements at finite velocities, in world axes, straight from their laws.

Of a kinetic coenergy T with the momenta ``p = dT/dv`` the equation of motion is ``M a + c = f``, with ``M = dp/dv`` and
``c = (dp/dx) v - dT/dx - w x p``; the last term, on turns of frames, is there because angular velocities are no rates of
coordinates (von Mises' motor calculus, ``dp/dt + v x p = f``).  For a rigid body c is ``w x (U J U^T w)``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..elements import laws, velocity_laws
from ..elements.base import FramePose, MObject
from ..elements.law_record import Places, Shape, rows_of
from ..elements.recorded_laws import Together
from ..model.configuration import Configuration
from ..model.groups import Group
from ..pose import Pose

# rad, or of the length of an element: differences of fourth order of a mass matrix then err by some 1e-12 of it
# (tests/dynamics/test_inertia.py::test_inertia_forces_of_a_mass_matrix_are_those_of_its_coenergy).
_STEP = 1e-3


class GroupInertia:
    """Masses, inertia forces and velocity forces of all elements of one class; see the module."""

    def __init__(self, group: Group):
        self.group, self.cls = group, group.cls
        self.objects: list[MObject] = [el.obj for el in group.elements]
        self.shape = Shape(group.frames.shape[1], group.internal.shape[1])
        self.has_mass = self.cls.has_mass()
        self.has_damping = any(map(self.cls.defines, ("dissipation", "power", "damping_matrix")))
        self._records: dict[str, Together] = {}
        n = self.shape.size
        for law, values in {"kinetic": 1, "momenta": n + 1, "dissipation": 1, "power": n}.items():
            if self.cls.defines("kinetic" if law == "momenta" else law):
                self._records[law] = Together(self.objects, law, self.shape._replace(values=values))

    def _places(self, at: Configuration) -> Places:
        g = self.group
        return [(at.frames(f), at.q[i]) for f, i in zip(g.frames, g.internal, strict=True)]

    def _memory(self, at: Configuration) -> np.ndarray:
        g = self.group
        return np.zeros((len(g.members), 0)) if g.number < 0 else g.memories(at.memory)

    def masses(self, at: Configuration, velocities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mass matrices (E, n, n) and inertia forces c (E, n) at velocities (E, n) of frames and internal coordinates."""
        g, cls = self.group, self.cls
        if cls.mass_kernel is not None and cls.inertia_kernel is not None:
            given = g.parameters, g.frames, at.o, at.U, self._memory(at)
            mass = cls.mass_kernel(*given)
            return mass, cls.inertia_kernel(mass, velocities)
        if velocity_laws.of(cls, "mass_matrix"):
            return self._by_coenergy(self._rows(at), velocities)
        return self._by_mass_matrix(self._places(at), velocities)

    def _rows(self, at: Configuration) -> np.ndarray:
        return rows_of(self._places(at))

    def _by_coenergy(self, rows: np.ndarray, velocities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mass = self._records["kinetic"].evaluate(rows, velocities, 2)[2]
        values, slopes, _ = self._records["momenta"].evaluate(rows, velocities, 1)
        return mass, _inertia_force(slopes[:, 0], values[:, 1:], slopes[:, 1:], velocities, self.shape.frames)

    def _by_mass_matrix(self, places: Places, velocities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n = self.shape.size
        mass = laws.matrices(self.objects, "mass_matrix", places, n)
        if mass is None:
            return np.zeros((len(places), n, n)), np.zeros((len(places), n))
        slopes = np.zeros((len(places), n, n))  # of the momenta, by coordinates
        for e, ((frames, q), v) in enumerate(zip(places, velocities, strict=True)):
            if v.any():
                slopes[e] = _mass_slopes(self.objects[e], frames, q, v)
        energy = 0.5 * np.einsum("ei,eij->ej", velocities, slopes)
        p = np.einsum("eij,ej->ei", mass, velocities)
        return mass, _inertia_force(energy, p, slopes, velocities, self.shape.frames)

    def velocity_forces(self, at: Configuration, velocities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What velocities (E, n) change in the forces: of dampings (E, n), and of powers (E, n)."""
        g, cls = self.group, self.cls
        damping, power = np.zeros((2, *velocities.shape))
        if cls.damping_kernel is not None:
            matrices = cls.damping_kernel(g.parameters, g.frames, at.o, at.U, self._memory(at))
            if matrices is not None:
                damping -= np.einsum("eij,ej->ei", matrices, velocities)
        elif cls.defines("dissipation"):
            damping -= self._records["dissipation"].evaluate(self._rows(at), velocities, 1)[1][:, 0]
        elif cls.defines("damping_matrix"):
            matrices = laws.matrices(self.objects, "damping_matrix", self._places(at), self.shape.size)
            if matrices is not None:
                damping -= np.einsum("eij,ej->ei", matrices, velocities)
        if cls.defines("power"):  # without the forces at rest, which an assembly's total has
            for actual, sign in ((velocities, 1.0), (np.zeros_like(velocities), -1.0)):
                given = np.hstack([np.zeros_like(actual), actual])
                power += sign * self._records["power"].evaluate(self._rows(at), given, 0)[0]
        return damping, power


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a x b`` of rows (k, 3), in a third of the time that NumPy's takes."""
    out = np.empty(a.shape)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[:, i] = a[:, j] * b[:, k] - a[:, k] * b[:, j]
    return out


def _inertia_force(
    slope: np.ndarray, p: np.ndarray, change: np.ndarray, velocities: np.ndarray, frames: int
) -> np.ndarray:
    """``c = (dp/dx) v - dT/dx - w x p`` (E, n) from dT/dx (E, n), p (E, n) and dp/dx (E, n, n)."""
    c = np.einsum("eij,ej->ei", change, velocities) - slope
    for k in range(frames):
        turn = slice(6 * k + 3, 6 * k + 6)
        c[:, turn] -= cross(velocities[:, turn], p[:, turn])
    return c


def _mass_slopes(obj: MObject, frames: Sequence[FramePose], q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Slopes (n, n) of the momenta ``M(x) v`` by coordinates, by central differences of fourth order."""
    n = len(v)
    size = (
        max(float(np.linalg.norm(f.o - frames[0].o)) for f in frames) or 1.0
    )  # masses of one frame do not change along it

    def at(x: np.ndarray) -> np.ndarray:
        moved = [
            Pose(f.o, f.U).moved(d[:3], d[3:]) for f, d in zip(frames, x[: n - len(q)].reshape(-1, 6), strict=True)
        ]
        found = laws.matrix(obj, "mass_matrix", [FramePose(p.o, p.U) for p in moved], q + x[n - len(q) :], n)
        return np.zeros(n) if found is None else found @ v

    out = np.zeros((n, n))
    for i in range(n):
        unit = np.zeros(n)
        unit[i] = _STEP * (size if i < n - len(q) and i % 6 < 3 else 1.0)
        near, far = at(unit) - at(-unit), at(2.0 * unit) - at(-2.0 * unit)
        out[:, i] = (8.0 * near - far) / (12.0 * unit[i])
    return out
