"""Flexibility and displacement shapes of a beam segment, by Gauss quadrature; its masses are in :mod:`.moving_segments`.

Let x go from 0 to 1 along the segment, and let forces f act at its far end (in the axes of that end, conjugate to ``log``).
The section at x then carries ``s = H^T f`` with ``H = J^-1(-d) Ad(exp(-(1 - x) d))``.  Its strain is ``C^-1 s``, so the far
end moves by ``F f`` with ``F = int H C^-1 H^T ds``, exact for any taper.  Internal coordinates are further stress fields that
move the inside while the ends rest: linear and parabolic pulls and torques, parabolic bending moments with their shear, and
constant shear forces if the section shears.  They respond to inertia forces that vary along the segment, so that frequencies
converge with the sixth power of its length, with shear the fourth.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .motions import inverse_coefficients, small_adjoint

_LEGENDRE = np.polynomial.legendre
_ROOTS, _GAUSS = _LEGENDRE.leggauss(8)
POINTS = 0.5 * (_ROOTS + 1.0)  # positions of the sections, from 0 to 1
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


RUNNING = _integration()


_TERMS = 20  # of the exponential: exact to the last digit up to 2 pi


def _exponential() -> np.ndarray:
    """``T[j, k - 1]`` of ``exp(x) = 1 + sum T t^2j x^k``, k = 1 ... 4, for x = ad of angle t: ``x^5 = -2 t^2 x^3 - t^4 x``."""
    out, power = np.zeros((_TERMS, 5)), np.zeros((_TERMS, 5))  # the sum so far, and x^n
    power[0, 0] = out[0, 0] = factorial = 1.0
    for n in range(1, 2 * _TERMS):
        factorial *= n
        up = np.roll(power, 1, axis=1)
        fifth, up[:, 0] = up[:, 0].copy(), 0.0
        up[1:, 3] -= 2.0 * fifth[:-1]
        up[2:, 1] -= fifth[:-2]
        power = up
        out += power / factorial
    return out[:, 1:]


EXPONENTIAL, _POWERS = _exponential(), np.arange(_TERMS)
_POINT_POWERS = POINTS[:, None] ** np.arange(1, 5)
_FROM_MIDDLE = (POINTS - 0.5)[:, None, None]
_IDENTITY = np.eye(6)


def _along(d):
    """``H^T`` (points, 6, 6) at the points, the transports ``Ad(exp(x d))`` (points, 6, 6), and the change of d by the ends."""
    return _remembered_along(np.asarray(d, dtype=float).tobytes())


@lru_cache(maxsize=4)
def _remembered_along(twist):  # cached, since it is called several times with the same arguments
    d = np.frombuffer(twist).copy()
    ad, t2 = small_adjoint(d), float(d[3:] @ d[3:])
    square = ad @ ad
    fourth = square @ square
    powers = np.stack([ad, square, square @ ad, fourth]).reshape(4, 36)
    a, b, _, _ = inverse_coefficients(t2)
    even = _IDENTITY + a * square + b * fourth
    slope = np.hstack([0.5 * ad - even, 0.5 * ad + even])  # (-J^-1(d), J^-1(-d))
    turns = t2 * POINTS**2
    coefficients = (turns[:, None] ** _POWERS) @ EXPONENTIAL * _POINT_POWERS
    transports = (coefficients @ powers).reshape(-1, 6, 6) + _IDENTITY
    shapes = np.ascontiguousarray((-slope[:, :6] @ transports).transpose(0, 2, 1))  # J^-1(d) = J^-1(-d) Ad(exp(-d))
    return shapes, transports, slope


def _inner_fields() -> np.ndarray:
    """The eight stress fields (points, 6, 8) in balance without end forces, not yet scaled."""
    xi = 2.0 * POINTS - 1.0
    parabola, out = 1.5 * xi * xi - 0.5, np.zeros((len(POINTS), 6, 8))
    out[:, 0, 0] = out[:, 3, 1] = xi
    out[:, 4, 2] = out[:, 5, 3] = out[:, 0, 4] = out[:, 3, 5] = parabola
    out[:, 2, 2], out[:, 1, 3] = 6.0 * xi, -6.0 * xi
    out[:, 1, 6] = out[:, 2, 7] = 1.0
    return out


_FIELDS = _inner_fields()


def inner_stress(length, scale, m):
    """The m = 6 or 8 free stress fields (points, 6, m); ``scale`` (4,) E A, G J, E I, k G A makes coordinates pure numbers."""
    axial, torsion, bending, shear = scale
    torsion, bending = torsion / length, bending / length
    out = _FIELDS[:, :, :m] * np.array([axial, torsion, bending, bending, axial, torsion, shear, shear][:m])
    out[:, 1:3, 2:4] /= length  # the shear that belongs to parabolic moments
    return out


def flexibility(d, length, compliance):
    """``F = int H C^-1 H^T ds`` by component of stress, (6, 6, 6); ``compliance`` (points, 6) is the diagonal of C^-1."""
    columns = _along(d)[0].transpose(1, 2, 0)  # by component, along the segment
    return columns @ (columns * ((WEIGHTS * length)[:, None] * compliance).T[:, None]).transpose(0, 2, 1)


def flexibility_moments(d, length, compliance):
    """``int H C^-1 ds`` and ``int (x - 1/2) H C^-1 ds`` (6, 6), and the diagonal ``int (x - 1/2)^2 C^-1 ds`` (6,)."""
    weights, x = (WEIGHTS * length)[:, None] * compliance, (POINTS - 0.5)[:, None]
    columns = _along(d)[0] * weights[:, :, None]
    return columns.sum(axis=0).T, (x[:, :, None] * columns).sum(axis=0).T, (x * x * weights).sum(axis=0)


def _held_inner_stress(length, scale, m, shapes, compliance, stiffness):
    """The free stress fields (points, 6, m), with end forces added that keep the far end in place."""
    stress = inner_stress(length, scale, m).reshape(-1, m)
    weights, by_end = ((WEIGHTS * length)[:, None] * compliance).reshape(-1, 1), shapes.reshape(-1, 6)
    moved = by_end.T @ (weights * stress)
    return (stress - by_end @ (stiffness @ moved)).reshape(-1, 6, m)


def _carried(length, transports, strain):
    """``Ad(exp(-x d)) int_0^x Ad(exp(y d)) strain dy``: displacement twists (points, 6, m) from strains."""
    n, _, m = strain.shape
    carried = (length * RUNNING) @ (transports @ strain).reshape(n, -1)
    return _back(transports) @ carried.reshape(n, 6, m)


def _back(transports):
    """``Ad(g)^-1`` (points, 6, 6): Ad(g) with its blocks transposed."""
    return transports.reshape(-1, 2, 3, 2, 3).transpose(0, 1, 4, 3, 2).reshape(-1, 6, 6)


def inner_stiffness(d, length, compliance, scale, m, stiffness):
    """Stiffness of the internal coordinates by component of stress (6, m, m), and its increase per unit of tension (m, m).

    ``stiffness`` (6, 6) is the inverse of the flexibility.
    """
    shapes, transports, _ = _along(d)
    inner = _held_inner_stress(length, scale, m, shapes, compliance, stiffness)
    strain = compliance[:, :, None] * inner
    moved = _carried(length, transports, strain)
    weights = (WEIGHTS * length)[:, None, None]
    by_component = inner.transpose(1, 2, 0) @ (weights * strain).transpose(1, 0, 2)
    slopes = np.stack([moved[:, 5] + strain[:, 1], strain[:, 2] - moved[:, 4]], axis=1)
    return by_component, slopes.reshape(-1, m).T @ (weights * slopes).reshape(-1, m)
