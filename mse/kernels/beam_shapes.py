"""How a beam segment gives way inside: flexibility, displacement shapes and consistent mass, by Gauss quadrature.

Along the segment, with x from 0 to 1 and forces f at its far end (in the axes of that end, conjugate to ``log``), the
section at x carries ``s = H^T f`` with ``H = J^-1(-d) Ad(exp(-(1 - x) d))``.  Its strain is ``C^-1 s``, so the far end
moves by ``F f`` with ``F = int H C^-1 H^T ds``: exact for any taper.  Further stress fields let the inside move while the
ends rest: linear and parabolic pulls and torques, parabolic bending moments with their shear, and, where the section shears,
constant shear forces.  They answer to inertia forces that vary along the segment, so that frequencies converge with the
sixth power of its length, with shear the fourth.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .motions import adjoint, inverse_jacobian
from .small import product, put, transposed_product

_LEGENDRE = np.polynomial.legendre
_ROOTS, _GAUSS = _LEGENDRE.leggauss(8)
POINTS = 0.5 * (_ROOTS + 1.0)  # where sections are asked for, from 0 to 1
WEIGHTS = 0.5 * _GAUSS


def _integration() -> np.ndarray:
    """``A[i, j] = int_0^x_i l_j dx`` of the Lagrange polynomials through the points: running integrals."""
    n = len(POINTS)
    to_legendre = np.linalg.inv(_LEGENDRE.legvander(_ROOTS, n - 1))
    running = np.empty((n, n))
    for j in range(n):
        integral = _LEGENDRE.legint(to_legendre[:, j], lbnd=-1)
        running[:, j] = 0.5 * _LEGENDRE.legval(_ROOTS, integral)
    return running


_RUNNING = _integration()


@njit(cache=True)
def _stress_shapes(d):
    """``H^T`` (points, 6, 6) at the points, and the transports ``Ad(exp(x d))`` (points, 6, 6)."""
    n = POINTS.shape[0]
    shapes, transports = np.empty((n, 6, 6)), np.empty((n, 6, 6))
    back = product(inverse_jacobian(-d), adjoint(-d))
    for i in range(n):
        put(transports[i], 0, 0, adjoint(POINTS[i] * d))
        put(shapes[i], 0, 0, product(back, transports[i]).T)
    return shapes, transports


@njit(cache=True)
def _inner_stress(length, scale, m):
    """The m = 6 or 8 free stress fields (points, 6, m); ``scale`` (4,) E A, G J, E I, k G A makes coordinates pure numbers."""
    n = POINTS.shape[0]
    out = np.zeros((n, 6, m))
    for i in range(n):
        xi = 2.0 * POINTS[i] - 1.0
        parabola, slope = 1.5 * xi * xi - 0.5, 6.0 * xi / length
        moment = scale[2] / length
        out[i, 0, 0] = scale[0] * xi
        out[i, 3, 1] = scale[1] * xi / length
        out[i, 4, 2] = moment * parabola
        out[i, 2, 2] = moment * slope
        out[i, 5, 3] = moment * parabola
        out[i, 1, 3] = -moment * slope
        out[i, 0, 4] = scale[0] * parabola
        out[i, 3, 5] = scale[1] * parabola / length
        if m == 8:
            out[i, 1, 6] = scale[3]
            out[i, 2, 7] = scale[3]
    return out


@njit(cache=True)
def flexibility(d, length, compliance):
    """``F = int H C^-1 H^T ds`` by component of stress, (6, 6, 6); ``compliance`` (points, 6) is the diagonal of C^-1."""
    out = np.zeros((6, 6, 6))
    shapes, _ = _stress_shapes(d)
    for i in range(POINTS.shape[0]):
        for c in range(6):
            weight = WEIGHTS[i] * length * compliance[i, c]
            for a in range(6):
                for b in range(6):
                    out[c, a, b] += weight * shapes[i, c, a] * shapes[i, c, b]
    return out


@njit(cache=True)
def _held_inner_stress(length, scale, m, shapes, compliance, stiffness):
    """The free stress fields with the end forces that keep the far end where it is, (points, 6, m)."""
    stress = _inner_stress(length, scale, m)
    moved = np.zeros((6, m))
    for i in range(POINTS.shape[0]):
        weighted = stress[i].copy()
        for c in range(6):
            weighted[c] *= WEIGHTS[i] * length * compliance[i, c]
        moved += transposed_product(shapes[i], weighted)
    hold = product(stiffness, moved)
    for i in range(POINTS.shape[0]):
        stress[i] -= product(shapes[i], hold)
    return stress


@njit(cache=True)
def _carried(d, length, transports, strain):
    """``Ad(exp(-x d)) int_0^x Ad(exp(y d)) strain dy``: displacement twists (points, 6, m) from strains."""
    n = POINTS.shape[0]
    carried = np.empty_like(strain)
    for i in range(n):
        put(carried[i], 0, 0, product(transports[i], strain[i]))
    out = np.empty_like(strain)
    for i in range(n):
        total = np.zeros(strain.shape[1:])
        for j in range(n):
            total += _RUNNING[i, j] * length * carried[j]
        put(out[i], 0, 0, product(adjoint(-POINTS[i] * d), total))
    return out


@njit(cache=True)
def flexibility_moments(d, length, compliance):
    """``int H C^-1 ds`` and ``int (x - 1/2) H C^-1 ds`` (6, 6), and the diagonal ``int (x - 1/2)^2 C^-1 ds`` (6,)."""
    mean, slope, spread = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros(6)
    shapes, _ = _stress_shapes(d)
    for i in range(POINTS.shape[0]):
        x = POINTS[i] - 0.5
        for c in range(6):
            weight = WEIGHTS[i] * length * compliance[i, c]
            spread[c] += weight * x * x
            for a in range(6):
                mean[a, c] += weight * shapes[i, c, a]
                slope[a, c] += weight * x * shapes[i, c, a]
    return mean, slope, spread


@njit(cache=True)
def inner_stiffness(d, length, compliance, scale, m, stiffness):
    """Stiffness of the internal coordinates by component of stress (6, m, m), and what it gains per unit of tension (m, m).

    ``stiffness`` (6, 6) is the inverse of the flexibility.
    """
    n = POINTS.shape[0]
    shapes, transports = _stress_shapes(d)
    inner = _held_inner_stress(length, scale, m, shapes, compliance, stiffness)
    by_component, strain = np.zeros((6, m, m)), np.empty((n, 6, m))
    for i in range(n):
        weight = WEIGHTS[i] * length
        for c in range(6):
            strain[i, c] = compliance[i, c] * inner[i, c]
            for a in range(m):
                for b in range(m):
                    by_component[c, a, b] += weight * compliance[i, c] * inner[i, c, a] * inner[i, c, b]
    moved = _carried(d, length, transports, strain)
    tensed = np.zeros((m, m))
    for i in range(n):
        weight = WEIGHTS[i] * length
        slope_y, slope_z = moved[i, 5] + strain[i, 1], strain[i, 2] - moved[i, 4]
        for a in range(m):
            for b in range(m):
                tensed[a, b] += weight * (slope_y[a] * slope_y[b] + slope_z[a] * slope_z[b])
    return by_component, tensed


@njit(cache=True)
def local_mass(d, length, compliance, scale, m, stiffness, density):
    """Consistent mass (12 + m, 12 + m) for the twists of frames 0 and 1 along their own axes and the inner coordinates.

    Velocities between the ends follow the static shapes about the present form, a helix; ``stiffness`` (6, 6) belongs to
    that form; ``density`` (points, 6) is the diagonal of the mass of the section per length.
    """
    n = POINTS.shape[0]
    shapes, transports = _stress_shapes(d)
    slope = np.empty((6, 12))
    put(slope, 0, 0, -inverse_jacobian(d))
    put(slope, 0, 6, inverse_jacobian(-d))
    ends = product(stiffness, slope)
    inner = _held_inner_stress(length, scale, m, shapes, compliance, stiffness)
    strain = np.empty((n, 6, 12 + m))
    for i in range(n):
        put(strain[i], 0, 0, product(shapes[i], ends))
        put(strain[i], 0, 12, inner[i])
        for c in range(6):
            strain[i, c] *= compliance[i, c]
    moved = _carried(d, length, transports, strain)
    mass = np.zeros((12 + m, 12 + m))
    for i in range(n):
        moved[i, :, :6] += adjoint(-POINTS[i] * d)
        weighted = moved[i].copy()
        for c in range(6):
            weighted[c] *= WEIGHTS[i] * length * density[i, c]
        mass += transposed_product(moved[i], weighted)
    return mass
