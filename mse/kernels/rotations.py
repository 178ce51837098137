"""Rotations as 3x3 matrices and rotation vectors, compiled.

All rotations are active and right-handed; ``exp([w]x)`` turns by ``|w|`` about ``w``.  The formulas are those of
J. Sola, "Quaternion kinematics for the error-state Kalman filter" (2017), appendix B, and of T. Barfoot, "State
Estimation for Robotics" (2017), section 7.1; series replace them where they would cancel.
"""

from __future__ import annotations

from math import atan2, cos, pi, sin, sqrt

import numpy as np

from .small import compiled


def cross_matrix(v):
    """``[v]x`` with ``[v]x b = v x b``; (3,) -> (3, 3)."""
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


@compiled
def add_cross_matrix(factor, v, out):
    """Add a multiple of ``[v]x`` to ``out`` (3, 3)."""
    for i in range(3):
        j, k, x = (i + 1) % 3, (i + 2) % 3, factor * v[i]
        out[k, j] += x
        out[j, k] -= x


@compiled
def rotation_matrix(w):
    """``exp([w]x) = I + sin(t)/t [w]x + (1 - cos t)/t^2 [w]x^2``; (3,) rad -> (3, 3)."""
    t2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    t = sqrt(t2)
    if t < 1e-4:
        s = 1.0 - t2 / 6.0
        c = 0.5 - t2 / 24.0
    else:
        s = sin(t) / t
        half = sin(0.5 * t) / t
        c = 2.0 * half * half
    m = np.empty((3, 3))
    m[0, 0] = 1.0 - c * (w[1] * w[1] + w[2] * w[2])
    m[1, 1] = 1.0 - c * (w[0] * w[0] + w[2] * w[2])
    m[2, 2] = 1.0 - c * (w[0] * w[0] + w[1] * w[1])
    m[0, 1] = c * w[0] * w[1] - s * w[2]
    m[1, 0] = c * w[0] * w[1] + s * w[2]
    m[0, 2] = c * w[0] * w[2] + s * w[1]
    m[2, 0] = c * w[0] * w[2] - s * w[1]
    m[1, 2] = c * w[1] * w[2] - s * w[0]
    m[2, 1] = c * w[1] * w[2] + s * w[0]
    return m


@compiled
def rotation_vector(m):
    """``log(m)``: the vector w with ``exp([w]x) = m`` and ``0 <= |w| <= pi``; (3, 3) -> (3,) rad.

    Goes through the quaternion whose largest component is computed first (S. W. Shepperd, J. Guidance and
    Control 1 (1978) 223), so it keeps its relative accuracy from the smallest angles up to and at pi.
    """
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    q = np.empty(4)
    k = 0
    largest = trace
    for i in range(3):
        if m[i, i] > largest:
            largest = m[i, i]
            k = i + 1
    if k == 0:
        q[0] = 1.0 + trace
        q[1] = m[2, 1] - m[1, 2]
        q[2] = m[0, 2] - m[2, 0]
        q[3] = m[1, 0] - m[0, 1]
    else:
        i = k - 1
        j = (i + 1) % 3
        h = (i + 2) % 3
        q[i + 1] = 1.0 + m[i, i] - m[j, j] - m[h, h]
        q[j + 1] = m[j, i] + m[i, j]
        q[h + 1] = m[h, i] + m[i, h]
        q[0] = m[h, j] - m[j, h]
    if q[0] < 0.0:
        for i in range(4):
            q[i] = -q[i]
    v = sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    if v == 0.0:
        return np.zeros(3)
    factor = 2.0 * atan2(v, q[0]) / v
    w = np.empty(3)
    for i in range(3):
        w[i] = q[i + 1] * factor
    return w


@compiled
def nearest_rotation_vector(w, previous):
    """The rotation vector of the same rotation as ``w`` that lies closest to ``previous``; all (3,) rad.

    A rotation by t about n is also one by t + 2 pi k about n.  Following the closest one keeps the twist of a
    wire continuous when its ends turn past pi.
    """
    t = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    out = np.empty(3)
    if t < 1e-12:
        # The axis is undefined here: the previous one carries the whole turns.
        p = sqrt(previous[0] * previous[0] + previous[1] * previous[1] + previous[2] * previous[2])
        turn = 2.0 * pi * np.rint(p / (2.0 * pi))
        for i in range(3):
            out[i] = w[i] if turn == 0.0 else w[i] + previous[i] / p * turn
        return out
    along = (previous[0] * w[0] + previous[1] * w[1] + previous[2] * w[2]) / t
    turned = t + 2.0 * pi * np.rint((along - t) / (2.0 * pi))
    for i in range(3):
        out[i] = w[i] / t * turned
    return out


@compiled
def log_coefficients(t2):
    """``c(t) = (1 - t/2 cot(t/2)) / t^2`` and ``c'(t)/t`` of ``exp``'s inverse Jacobian, from ``t2 = t^2``."""
    if t2 < 0.25:
        c = 1 / 12 + t2 * (
            1 / 720 + t2 * (1 / 30240 + t2 * (1 / 1209600 + t2 * (1 / 47900160 + t2 * 691 / 1307674368000)))
        )
        e = 1 / 360 + t2 * (1 / 7560 + t2 * (1 / 201600 + t2 * (1 / 5987520 + t2 * 691 / 130767436800)))
        # the terms left out are below rounding for t <= 1/2
        c += t2**6 * (1.0 / 74724249600.0 + t2 * 3617.0 / 10670622842880000.0)
        e += t2**5 * (12.0 / 74724249600.0 + t2 * 14.0 * 3617.0 / 10670622842880000.0)
        return c, e
    t = sqrt(t2)
    h = 0.5 * t
    cot = cos(h) / sin(h)
    c = (1.0 - h * cot) / t2
    slope = -0.5 * (cot - h / sin(h) ** 2) / t2 - 2.0 * (1.0 - h * cot) / (t2 * t)
    return c, slope / t


@compiled
def inverse_left_jacobian(w):
    """``J^-1(w) = I - [w]x/2 + c(t) [w]x^2``: log(exp([a]x) exp([w]x)) = w + J^-1 a + O(a^2); (3,) -> (3, 3)."""
    t2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    c, _ = log_coefficients(t2)
    m = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            m[i, j] = c * w[i] * w[j]
        m[i, i] += 1.0 - c * t2
    add_cross_matrix(-0.5, w, m)
    return m


@compiled
def inverse_left_jacobian_slope(w, n):
    """Derivative of ``J^-1(w) n`` by w at fixed n; (3,), (3,) -> (3, 3), column j is d/dw_j."""
    t2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    c, e = log_coefficients(t2)
    s = w[0] * n[0] + w[1] * n[1] + w[2] * n[2]
    m = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            m[i, j] = e * (w[i] * s - t2 * n[i]) * w[j] + c * (w[i] * n[j] - 2.0 * n[i] * w[j])
        m[i, i] += c * s
    add_cross_matrix(0.5, n, m)
    return m


@compiled
def turn_all(orientations, vectors):
    """``exp([a]x) U`` for orientations (n, 3, 3) and rotation vectors (n, 3), kept orthonormal; (n, 3, 3)."""
    out = np.empty(orientations.shape)
    u, towards = np.empty((3, 3)), np.empty((3, 3))
    for n in range(orientations.shape[0]):
        turn = rotation_matrix(vectors[n])
        for i in range(3):
            for j in range(3):
                u[i, j] = 0.0
                for k in range(3):
                    u[i, j] += turn[i, k] * orientations[n, k, j]
        # one step towards the nearest rotation keeps thousands of small turns from drifting
        for i in range(3):
            for j in range(3):
                towards[i, j] = 1.5 if i == j else 0.0
                for k in range(3):
                    towards[i, j] -= 0.5 * u[k, i] * u[k, j]
        for i in range(3):
            for j in range(3):
                out[n, i, j] = 0.0
                for k in range(3):
                    out[n, i, j] += u[i, k] * towards[k, j]
    return out
