"""Rigid motions as twists, compiled: exponential, logarithm and what their derivatives need.

A twist is (v, w), translation first; ``ad (v, w) = [[w]x, [v]x; 0, [w]x]``, ``Ad(g) = [R, [p]x R; 0, R]`` and
``exp`` maps twists to motions (J. M. Selig, "Geometric Fundamentals of Robotics" (2005), chapters 4 and 7).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .rotations import cross_matrix, rotation_matrix, rotation_vector
from .small import cross, dot, product, put, transposed_apply, transposed_product

# |B_2k|/(2k)! = 2 zeta(2k)/(2 pi)^2k, k = 1 ... 32: the series of x/2 cot(x/2), which converges for |x| < 2 pi.
_BERNOULLI = np.array([
    2.0 * sum(float(n) ** (-2 * k) for n in range(60, 0, -1)) / (2.0 * np.pi) ** (2 * k) for k in range(1, 33)
])  # fmt: skip
_BERNOULLI[0], _BERNOULLI[1], _BERNOULLI[2] = 1.0 / 12.0, 1.0 / 720.0, 1.0 / 30240.0
# enough terms for the last digit below 1/2 rad, and up to 3 rad
_FEW, _MANY, _SMALL = 10, 32, 0.25


def inverse_coefficient_series(t2):
    """``c(t) = (1 - t/2 cot(t/2))/t^2`` from ``t2 = t^2``, up to 3 rad; plain Python, so that t2 may be a jet."""
    c = 0.0
    for b in _BERNOULLI[::-1]:
        c = c * t2 + b
    return c


@njit(cache=True)
def _inverse_coefficient(t2):
    c = 0.0
    for k in range((_FEW if t2 < _SMALL else _MANY) - 1, -1, -1):
        c = c * t2 + _BERNOULLI[k]
    return c


@njit(cache=True)
def inverse_coefficients(t2):
    """``a, b`` of ``x/(e^x - 1) = 1 - x/2 + a x^2 + b x^4`` for x = ad of angle t, and their derivatives by t^2.

    On ad, whose eigenvalues are 0 and +-i t (double), a = c - t^2 e/2 and b = -e/2 with
    ``c = (1 - t/2 cot(t/2))/t^2`` and ``e = c'/t``.
    """
    n = _FEW if t2 < _SMALL else _MANY
    c = e = f = 0.0
    for k in range(n - 1, -1, -1):
        c = c * t2 + _BERNOULLI[k]
    for k in range(n - 1, 0, -1):
        e = e * t2 + 2.0 * k * _BERNOULLI[k]
    for k in range(n - 1, 1, -1):
        f = f * t2 + 2.0 * k * (k - 1) * _BERNOULLI[k]
    return c - 0.5 * t2 * e, -0.5 * e, -0.5 * t2 * f, -0.5 * f


@njit(cache=True)
def small_adjoint(x):
    """``ad_x`` (6, 6) of a twist (6,)."""
    m = np.zeros((6, 6))
    w = cross_matrix(x[3:])
    put(m, 0, 0, w)
    put(m, 3, 3, w)
    put(m, 0, 3, cross_matrix(x[:3]))
    return m


@njit(cache=True)
def motion(x):
    """Origin (3,) and orientation (3, 3) of ``exp(x)``, x a twist (6,)."""
    w = x[3:]
    t2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    if t2 < 1e-2:
        c = 0.5 - t2 / 24 * (1 - t2 / 30 * (1 - t2 / 56 * (1 - t2 / 90)))
        s = 1 / 6 - t2 / 120 * (1 - t2 / 42 * (1 - t2 / 72 * (1 - t2 / 110)))
    else:
        t = np.sqrt(t2)
        c = 2.0 * np.sin(0.5 * t) ** 2 / t2
        s = (t - np.sin(t)) / (t2 * t)
    turned = cross(w, x[:3])
    return x[:3] + c * turned + s * cross(w, turned), rotation_matrix(w)


@njit(cache=True)
def adjoint(x):
    """``Ad(exp(x))`` (6, 6) of a twist (6,)."""
    p, r = motion(x)
    m = np.zeros((6, 6))
    put(m, 0, 0, r)
    put(m, 3, 3, r)
    put(m, 0, 3, product(cross_matrix(p), r))
    return m


@njit(cache=True)
def relative_twist(o0, u0, o1, u1):
    """``log(g0^-1 g1)`` (6,), the twist that carries frame 0 into frame 1, seen from either; valid below 3 rad."""
    w = rotation_vector(transposed_product(u0, u1))
    p = transposed_apply(u0, o1 - o0)
    c = _inverse_coefficient(dot(w, w))
    turned = cross(w, p)
    again = cross(w, turned)
    d = np.empty(6)
    for i in range(3):
        d[i] = p[i] - 0.5 * turned[i] + c * again[i]
        d[3 + i] = w[i]
    return d


@njit(cache=True)
def inverse_jacobian(d):
    """``J^-1(d)`` (6, 6): log(exp(x) exp(d)) = d + J^-1 x + O(x^2); the one for motions on the right is J^-1(-d)."""
    a, b, _, _ = inverse_coefficients(dot(d[3:], d[3:]))
    m = small_adjoint(d)
    m2 = product(m, m)
    return np.eye(6) - 0.5 * m + a * m2 + b * product(m2, m2)


@njit(cache=True)
def pulled_slope(d, mu):
    """Derivative of ``J^-1(d)^T mu`` by d, (6, 6)."""
    a, b, da, db = inverse_coefficients(dot(d[3:], d[3:]))
    ad = small_adjoint(d)
    v1 = transposed_apply(ad, mu)
    v2 = transposed_apply(ad, v1)
    v3 = transposed_apply(ad, v2)
    v4 = transposed_apply(ad, v3)
    # ad_x^T m = -M(m) x with M the matrix of the coadjoint form, so every power has its columns at once
    m0, m1, m2, m3 = coadjoint_form(mu), coadjoint_form(v1), coadjoint_form(v2), coadjoint_form(v3)
    square = m1 + transposed_product(ad, m0)
    fourth = m3 + transposed_product(ad, m2 + transposed_product(ad, square))
    out = -0.5 * m0 + a * square + b * fourth
    for i in range(6):
        for j in range(3):
            out[i, 3 + j] += 2.0 * d[3 + j] * (da * v2[i] + db * v4[i])
    return out


@njit(cache=True)
def coadjoint_form(mu):
    """``m`` (6, 6) with ``ad_x^T mu = m x``: antisymmetric, ``y . m x = mu . [x, y]``."""
    m = np.zeros((6, 6))
    force = cross_matrix(mu[:3])
    put(m, 0, 3, force)
    put(m, 3, 0, force)
    put(m, 3, 3, cross_matrix(mu[3:]))
    return m
