"""Rigid motions as twists, compiled: exponential, logarithm and the matrices in their derivatives.

A twist is (v, w), translation first; ``ad (v, w) = [[w]x, [v]x; 0, [w]x]``, ``Ad(g) = [R, [p]x R; 0, R]`` and
``exp`` maps twists to motions (J. M. Selig, "Geometric Fundamentals of Robotics" (2005), chapters 4 and 7).
"""

from __future__ import annotations

from math import sin, sqrt

import numpy as np

from .jit import compiled, long_part, part, shared
from .rotations import cross_matrix, put_rotation_vector, rotation_matrix
from .small_matrices import add_sixfold_transposed, put_sixfold, put_zeros

# |B_2k|/(2k)! = 2 zeta(2k)/(2 pi)^2k, k = 1 ... 32: the series of x/2 cot(x/2), which converges for |x| < 2 pi.
_BERNOULLI = np.array([
    2.0 * sum(float(n) ** (-2 * k) for n in range(60, 0, -1)) / (2.0 * np.pi) ** (2 * k) for k in range(1, 33)
])  # fmt: skip
_BERNOULLI[0], _BERNOULLI[1], _BERNOULLI[2] = 1.0 / 12.0, 1.0 / 720.0, 1.0 / 30240.0
_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])  # axes after each axis
# numbers of terms for full precision below 1/2 rad and up to 3 rad
_FEW, _MANY, _SMALL = 10, 32, 0.25


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a x b`` of rows (..., 3), of few rows in an eighth of the time that NumPy's takes."""
    return a.take(_NEXT, -1) * b.take(_LAST, -1) - a.take(_LAST, -1) * b.take(_NEXT, -1)


def inverse_coefficient_series(t2):
    """``c(t) = (1 - t/2 cot(t/2))/t^2`` from ``t2 = t^2``, up to 3 rad; plain Python, so that t2 may be recorded."""
    c = 0.0
    for b in _BERNOULLI[::-1]:
        c = c * t2 + b
    return c


def inverse_series(t2):
    """:func:`inverse_coefficients` of arrays; plain Python."""
    c = slope = curl = 0.0
    for b in _BERNOULLI[::-1]:
        curl = curl * t2 + slope
        slope = slope * t2 + c
        c = c * t2 + b
    return c - t2 * slope, -slope, -2.0 * t2 * curl, -2.0 * curl


@shared
def inverse_coefficients(t2):
    """``a, b`` of ``x/(e^x - 1) = 1 - x/2 + a x^2 + b x^4`` for x = ad of angle t, and their derivatives by t^2.

    On ad, whose eigenvalues are 0 and +-i t (double), a = c - t^2 e/2 and b = -e/2 with
    ``c = (1 - t/2 cot(t/2))/t^2`` and ``e = c'/t``.
    """
    n = _FEW if t2 < _SMALL else _MANY
    c = slope = curl = 0.0  # c, its derivative by t^2, and half the second one
    for k in range(n - 1, -1, -1):
        curl = curl * t2 + slope
        slope = slope * t2 + c
        c = c * t2 + _BERNOULLI[k]
    return c - t2 * slope, -slope, -2.0 * t2 * curl, -2.0 * curl


@part
def turn_squared(d):
    """Squared angle of a twist (6,)."""
    return d[3] * d[3] + d[4] * d[4] + d[5] * d[5]


def small_adjoint(x):
    """``ad_x`` (6, 6) of a twist (6,); plain Python."""
    m = np.zeros((6, 6))
    m[:3, :3] = m[3:, 3:] = cross_matrix(x[3:])
    m[:3, 3:] = cross_matrix(x[:3])
    return m


@part
def put_small_adjoint(x, m):
    """:func:`small_adjoint` into m (6, 6)."""
    put_zeros(m)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        m[j, k] = m[3 + j, 3 + k] = -x[3 + i]
        m[k, j] = m[3 + k, 3 + j] = x[3 + i]
        m[j, 3 + k], m[k, 3 + j] = -x[i], x[i]


def motion(x):
    """Origin (3,) and orientation (3, 3) of ``exp(x)``, x a twist (6,); plain Python."""
    v, w = x[:3], x[3:]
    c, s = motion_coefficients(float(w @ w))
    across = cross_matrix(w)
    turned = across @ v
    return v + c * turned + s * (across @ turned), rotation_matrix(w)


@shared
def motion_coefficients(t2):
    """``(1 - cos t)/t^2`` and ``(t - sin t)/t^3`` from ``t2 = t^2``."""
    if t2 < 1e-2:
        c = 0.5 - t2 / 24 * (1 - t2 / 30 * (1 - t2 / 56 * (1 - t2 / 90)))
        s = 1 / 6 - t2 / 120 * (1 - t2 / 42 * (1 - t2 / 72 * (1 - t2 / 110)))
        return c, s
    t = sqrt(t2)
    return 2.0 * sin(0.5 * t) ** 2 / t2, (t - sin(t)) / (t2 * t)


@compiled
def relative_twist(o0, u0, o1, u1):
    """``log(g0^-1 g1)`` (6,), the twist that moves frame 0 to frame 1, the same seen from either; valid below 3 rad."""
    d = np.zeros(6)
    put_relative_twist(o0, u0, o1, u1, np.zeros((3, 3)), np.zeros(6), d)
    return d


@part
def put_relative_twist(o0, u0, o1, u1, turn, work, d):
    """:func:`relative_twist` into d (6,); ``turn`` (3, 3) and ``work`` (6,) are scratch."""
    p, w = work[:3], work[3:]
    for i in range(3):
        p[i] = 0.0
        for k in range(3):
            p[i] += u0[k, i] * (o1[k] - o0[k])
        for j in range(3):
            turn[i, j] = 0.0
            for k in range(3):
                turn[i, j] += u0[k, i] * u1[k, j]
    put_rotation_vector(turn, w)
    t2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    along = w[0] * p[0] + w[1] * p[1] + w[2] * p[2]
    a, b, _, _ = inverse_coefficients(t2)
    c = a - b * t2
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        d[i] = p[i] - 0.5 * (w[j] * p[k] - w[k] * p[j]) + c * (w[i] * along - t2 * p[i])
        d[3 + i] = w[i]


@part
def put_bracket(d, x, out):
    """``ad_d x`` of twists (6,) into ``out`` (6,)."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i] = d[3 + j] * x[k] - d[3 + k] * x[j] + d[j] * x[3 + k] - d[k] * x[3 + j]
        out[3 + i] = d[3 + j] * x[3 + k] - d[3 + k] * x[3 + j]


@part
def put_pull(d, mu, out):
    """``ad_d^T mu`` of a twist and a wrench (6,) into ``out`` (6,)."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i] = d[3 + k] * mu[j] - d[3 + j] * mu[k]
        out[3 + i] = d[k] * mu[j] - d[j] * mu[k] + d[3 + k] * mu[3 + j] - d[3 + j] * mu[3 + k]


@part
def add_relative_motion(d, x, y, powers):
    """Add to the twist d between two frames its first-order change as they move by x and y (6,) along their own axes.

    See :func:`put_relative_slope`; ``powers`` (4, 6) is scratch.
    """
    a, b, _, _ = inverse_coefficients(turn_squared(d))
    for i in range(6):
        powers[0, i] = x[i] + y[i]
        powers[2, i] = y[i] - x[i]
    put_bracket(d, powers[0], powers[1])
    put_bracket(d, powers[2], powers[0])
    put_bracket(d, powers[0], powers[3])
    for i in range(6):
        powers[1, i] = 0.5 * powers[1, i] + powers[2, i] + a * powers[3, i]
    put_bracket(d, powers[3], powers[0])
    put_bracket(d, powers[0], powers[3])
    for i in range(6):
        d[i] += powers[1, i] + b * powers[3, i]


@part
def put_forces_of(d, mu, powers, out):
    """:func:`put_relative_slope` at d, transposed, times mu (6,) into ``out`` (12,).

    Leaves ``(ad_d^T)^k mu`` for k = 1 to 4 in ``powers`` (4, 6).
    """
    a, b, _, _ = inverse_coefficients(turn_squared(d))
    put_pull(d, mu, powers[0])
    for k in range(3):
        put_pull(d, powers[k], powers[k + 1])
    for i in range(6):
        even = mu[i] + a * powers[1, i] + b * powers[3, i]
        out[i], out[6 + i] = 0.5 * powers[0, i] - even, 0.5 * powers[0, i] + even


@long_part
def put_relative_slope(d, work, out):
    """Derivative of the twist d between two frames by their motions along own axes into ``out`` (6, 12).

    It is ``(-J^-1(d), J^-1(-d))``, since ``log(exp(x) exp(d)) = d + J^-1(d) x + O(x^2)``, and ``J^-1(-d) = J^-1(d) + ad_d``.
    ``work`` (3 or more, 6, 6) is scratch.
    """
    a, b, _, _ = inverse_coefficients(turn_squared(d))
    ad, square, fourth = work[0], work[1], work[2]
    put_small_adjoint(d, ad)
    put_sixfold(ad, ad, square)
    put_sixfold(square, square, fourth)
    for i in range(6):
        for j in range(6):
            even = a * square[i, j] + b * fourth[i, j]
            if i == j:
                even += 1.0
            out[i, j], out[i, 6 + j] = 0.5 * ad[i, j] - even, 0.5 * ad[i, j] + even


@long_part
def put_pulled_slope(d, mu, powers, work, first):
    """Derivative of ``J^-1(d)^T mu`` by d into ``first`` (6, 6); at -d it is the negative of this minus ``coadjoint_form(mu)``.

    ``powers`` (4, 6) come from :func:`put_forces_of`; ``work`` (4, 6, 6) is scratch.
    """
    a, b, da, db = inverse_coefficients(turn_squared(d))
    ad, second, third, fourth = work[0], work[1], work[2], work[3]
    v1, v2, v3, v4 = powers[0], powers[1], powers[2], powers[3]
    put_small_adjoint(d, ad)
    # ad_x^T m = -M(m) x with M the matrix of the coadjoint form, so each power gives all its columns at once
    put_coadjoint_form(mu, first)
    put_coadjoint_form(v1, second)
    put_coadjoint_form(v2, third)
    put_coadjoint_form(v3, fourth)
    add_sixfold_transposed(ad, first, second)
    add_sixfold_transposed(ad, second, third)
    add_sixfold_transposed(ad, third, fourth)
    for i in range(6):
        for j in range(6):
            first[i, j] = a * second[i, j] + b * fourth[i, j] - 0.5 * first[i, j]
        for j in range(3):
            first[i, 3 + j] += 2.0 * d[3 + j] * (da * v2[i] + db * v4[i])


def coadjoint_form(mu):
    """``m`` (6, 6) with ``ad_x^T mu = m x``: antisymmetric, ``y . m x = mu . [x, y]``; plain Python."""
    m = np.zeros((6, 6))
    m[:3, 3:] = m[3:, :3] = cross_matrix(mu[:3])
    m[3:, 3:] = cross_matrix(mu[3:])
    return m


@part
def put_coadjoint_form(mu, m):
    """:func:`coadjoint_form` into m (6, 6)."""
    put_zeros(m)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        m[j, 3 + k] = m[3 + j, k] = -mu[i]
        m[k, 3 + j] = m[3 + k, j] = mu[i]
        m[3 + j, 3 + k], m[3 + k, 3 + j] = -mu[3 + i], mu[3 + i]
