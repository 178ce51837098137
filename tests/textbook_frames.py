"""Three-dimensional Euler-Bernoulli frame elements, 12 x 12 as textbooks print them, assembled to uniform beams.

J. Przemieniecki, "Theory of Matrix Structural Analysis" (1968), eq. 5.116 (stiffness) and 11.30 (consistent mass, without
the rotary inertia of bending).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Bar:
    """Rectangular bar along x: length, width along y, height along z, Young's modulus, shear modulus, density."""

    length: float = 0.6
    width: float = 0.03
    height: float = 0.01
    young: float = 7e10
    shear: float = 2.7e10
    density: float = 2700.0

    @property
    def area(self) -> float:
        return self.width * self.height

    @property
    def iy(self) -> float:  # bending about y, along z
        return self.width * self.height**3 / 12

    @property
    def iz(self) -> float:
        return self.height * self.width**3 / 12

    @property
    def torsion(self) -> float:
        return 0.3 * self.width * self.height**3

    @property
    def mass(self) -> float:
        return self.density * self.area * self.length


def element_matrices(bar: Bar, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Mass and stiffness (12, 12) of an element of length h: (u v w rx ry rz) of both ends."""
    m, k = np.zeros((12, 12)), np.zeros((12, 12))

    def put(where, matrix, into):
        into[np.ix_(where, where)] += matrix

    two = np.array([[1, -1], [-1, 1]])
    third = np.array([[2, 1], [1, 2]]) / 6
    put([0, 6], bar.young * bar.area / h * two, k)
    put([0, 6], bar.density * bar.area * h * third, m)
    put([3, 9], bar.shear * bar.torsion / h * two, k)
    put([3, 9], bar.density * (bar.iy + bar.iz) * h * third, m)
    for where, inertia, s in (([1, 5, 7, 11], bar.iz, 1), ([2, 4, 8, 10], bar.iy, -1)):
        bend = np.array([
            [12, 6 * h * s, -12, 6 * h * s],
            [6 * h * s, 4 * h * h, -6 * h * s, 2 * h * h],
            [-12, -6 * h * s, 12, -6 * h * s],
            [6 * h * s, 2 * h * h, -6 * h * s, 4 * h * h],
        ])  # fmt: skip
        move = np.array([
            [156, 22 * h * s, 54, -13 * h * s],
            [22 * h * s, 4 * h * h, 13 * h * s, -3 * h * h],
            [54, 13 * h * s, 156, -22 * h * s],
            [-13 * h * s, -3 * h * h, -22 * h * s, 4 * h * h],
        ])  # fmt: skip
        put(where, bar.young * inertia / h**3 * bend, k)
        put(where, bar.density * bar.area * h / 420 * move, m)
    return m, k


def chain(bar: Bar, elements: int) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Mass and stiffness of the free bar, 6 (elements + 1) coordinates from x = 0 to x = length."""
    m, k = element_matrices(bar, bar.length / elements)
    i, j = np.indices((12, 12))
    first = 6 * np.arange(elements)[:, None]
    at = ((first + i.ravel()).ravel(), (first + j.ravel()).ravel())
    n = 6 * (elements + 1)
    return tuple(sp.csr_matrix((np.tile(a.ravel(), elements), at), shape=(n, n)) for a in (m, k))
