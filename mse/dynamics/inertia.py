"""Inertia and velocity forces of elements at finite velocities, in world axes, straight from their laws.

Of a kinetic coenergy T with the momenta ``p = dT/dv`` the equation of motion is ``M a + c = f``, with ``M = dp/dv`` and
``c = (dp/dx) v - dT/dx - w x p``; the last term, on turns of frames, is there because angular velocities are no rates of
coordinates (von Mises' motor calculus, ``dp/dt + v x p = f``).  For a rigid body c is ``w x (U J U^T w)``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from ..elements import laws, velocity_laws
from ..elements.base import MObject
from ..elements.coordinates import GENERALIZED, declared
from ..elements.law_record import Shape
from ..elements.recorded_laws import Together
from ..kernels.motions import cross
from ..kernels.rotations import turn_all
from ..model.configuration import Configuration
from ..model.groups import Group

# rad, or relative to the length of an element: differences of fourth order of a matrix then err by some 1e-12 of it, those of
# forces of inertia, which are differences themselves, by 1e-9 (tests/dynamics/test_about.py,
# tests/dynamics/test_inertia.py::test_inertia_forces_of_a_mass_matrix_are_those_of_its_coenergy).
_STEP = 1e-3


class GroupInertia:
    """Masses, inertia forces and velocity forces of all elements of one class; see the module."""

    def __init__(self, group: Group):
        self.group, self.cls = group, group.cls
        self.objects: list[MObject] = [el.obj for el in group.elements]
        self.shape = Shape(group.frames.shape[1], group.internal.shape[1])
        self.has_mass = self.cls.has_mass()
        self.has_damping = any(map(self.cls.defines, ("dissipation", "power", "damping_matrix")))
        self.has_power = self.cls.defines("power")
        self._by_kernels = self.cls.mass_kernel is not None and self.cls.inertia_kernel is not None
        self._own = None if self.cls.moving is None else self.cls.moving(self.objects)
        self._records: dict[str, Together] = {}

    def recorded(self, law: str) -> Together:
        """The records of a law of all elements, kept for the next moment: each is compared with its law only once."""
        if law not in self._records:
            self._records[law] = Together(self.objects, law, self.shape.of(law))
        return self._records[law]

    def _memory(self, at: Configuration) -> np.ndarray:
        g = self.group
        return np.zeros((len(g.members), 0)) if g.number < 0 else g.memories(at.memory)

    def masses(self, at: Configuration, velocities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mass matrices (E, n, n) and inertia forces c (E, n) at velocities (E, n) of frames and internal coordinates."""
        g, cls = self.group, self.cls
        if self._by_kernels:
            mass = self.kernel_masses(at)
            return mass, cls.inertia_kernel(mass, velocities)
        if self._own is not None:
            return self._own(at.o[g.frames], at.U[g.frames], velocities)
        if velocity_laws.of(cls, "mass_matrix"):
            n = self.shape.size
            values = self.recorded("motion").evaluate(self.group.columns(at), velocities, 0)[0]
            return values[:, 1 + n :].reshape(-1, n, n), values[:, 1 : 1 + n]
        return self._by_mass_matrix(at, velocities)

    def kernel_masses(self, at: Configuration) -> np.ndarray:
        """Mass matrices (E, n, n) of a class that has a kernel for them."""
        g = self.group
        return self.cls.mass_kernel(g.parameters, g.frames, at.o, at.U, self._memory(at))

    def energies(self, at: Configuration, velocities: np.ndarray) -> np.ndarray:
        """Kinetic energies (E,) in J at velocities (E, n) of frames and internal coordinates."""
        mass = self.kernel_masses(at) if self._by_kernels else self.masses(at, velocities)[0]
        return 0.5 * np.einsum("ei,eij,ej->e", velocities, mass, velocities)

    def shapes(self, at: Configuration) -> tuple[np.ndarray, np.ndarray]:
        """Numbers (k,) of internal coordinates that are amplitudes of shapes, as of beams, and what one unit displaces (k,) in m.

        That is the root mean square over the mass of the element.  Coordinates with a unit or a declared size are no shapes.
        """
        inner, frames = self.group.internal, 6 * self.shape.frames
        if not self.has_mass or not inner.size:
            return np.zeros(0, dtype=int), np.zeros(0)
        named = [
            [c.domain == GENERALIZED and not c.unit and c.size is None for c in declared(obj)] for obj in self.objects
        ]
        mass, _ = self.masses(at, np.zeros((len(inner), self.shape.size)))
        whole = np.repeat(mass[:, :frames:6, :frames:6].sum(axis=(1, 2))[:, None], inner.shape[1], axis=1)
        own = np.einsum("eii->ei", mass)[:, frames:]
        known = np.array(named) & (own > 0.0) & (whole > 0.0)
        return inner[known], np.sqrt(own[known] / whole[known])

    def _mass_matrices(self, at: Configuration) -> np.ndarray:
        n = self.shape.size
        found = laws.matrices(self.objects, "mass_matrix", self.group.places(at), n)
        return np.zeros((len(self.objects), n, n)) if found is None else found

    def _by_mass_matrix(self, at: Configuration, velocities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mass, slopes = self._mass_matrices(at), np.zeros((len(velocities), *(self.shape.size,) * 2))  # of the momenta
        if mass.any() and velocities.any():
            slopes = self.differences(
                at, lambda own, there: np.einsum("eij,ej->ei", own._mass_matrices(there), velocities)
            )
        energy = 0.5 * np.einsum("ei,eij->ej", velocities, slopes)
        p = np.einsum("eij,ej->ei", mass, velocities)
        return mass, inertia_force(energy, p, slopes, velocities, self.shape.frames)

    def differences(self, at: Configuration, exerts: Callable[[GroupInertia, Configuration], np.ndarray]) -> np.ndarray:
        """Slopes (E, n, n) of forces (E, n) by positions, by central differences of fourth order."""
        g, (count, frames) = self.group, self.group.frames.shape
        own, n = copy.copy(self), self.shape.size
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

    def dampings(self, at: Configuration, velocities: np.ndarray) -> np.ndarray:
        """Forces (E, n) of dampings at velocities (E, n)."""
        if self.cls.damping_kernel is None and self.cls.defines("dissipation"):
            found = -self.recorded("dissipation").evaluate(self.group.columns(at), velocities, 1)[1][:, 0]
            # at rest nothing damps, though formulas like a speed's have no slopes there
            return np.where(velocities.any(axis=1, keepdims=True), found, 0.0)
        matrices = self.damping_matrices(at)
        return np.zeros(velocities.shape) if matrices is None else -np.einsum("eij,ej->ei", matrices, velocities)

    def damping_matrices(self, at: Configuration) -> np.ndarray | None:
        """Damping matrices (E, n, n) by the kernel or the law of the class; None where nothing damps, as in most joints."""
        g, cls = self.group, self.cls
        if cls.damping_kernel is not None:
            return cls.damping_kernel(g.parameters, g.frames, at.o, at.U, self._memory(at))
        if cls.defines("damping_matrix"):
            return laws.matrices(self.objects, "damping_matrix", g.places(at), self.shape.size)
        return None

    def powers(self, at: Configuration, velocities: np.ndarray) -> np.ndarray:
        """Forces (E, n) of powers at velocities (E, n)."""
        given = np.hstack([np.zeros_like(velocities), velocities])
        return self.recorded("power").evaluate(self.group.columns(at), given, 0)[0]

    def velocity_forces(self, at: Configuration, velocities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What velocities (E, n) change in the forces: of dampings (E, n), and of powers (E, n)."""
        power = np.zeros(velocities.shape)
        if self.has_power:
            power = self.powers(at, velocities) - self.powers(at, power)
        return self.dampings(at, velocities), power


def inertia_force(
    slope: np.ndarray, p: np.ndarray, change: np.ndarray, velocities: np.ndarray, frames: int
) -> np.ndarray:
    """``c = (dp/dx) v - dT/dx - w x p`` (E, n) from dT/dx (E, n), p (E, n) and dp/dx (E, n, n)."""
    c = np.einsum("eij,ej->ei", change, velocities) - slope
    for k in range(frames):
        turn = slice(6 * k + 3, 6 * k + 6)
        c[:, turn] -= cross(velocities[:, turn], p[:, turn])
    return c
