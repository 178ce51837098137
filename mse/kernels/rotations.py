"""Compiled: rotations as 3x3 matrices and rotation vectors.

All rotations are active and right-handed; ``exp([w]x)`` turns by ``|w|`` about ``w``.  The formulas are those of
J. Sola, "Quaternion kinematics for the error-state Kalman filter" (2017), appendix B, and of T. Barfoot, "State
Estimation for Robotics" (2017), section 7.1; series replace them where they would cancel.
"""

from __future__ import annotations

from math import atan2, cos, sin, sqrt

import numpy as np

from .jit import bare_part, compiled, part

TURN = 2.0 * np.pi
WHOLE = 1.5 * 2.0**52  # adding and subtracting it rounds to an integer


def cross_matrix(v):
    """``[v]x`` with ``[v]x b = v x b``; (3,) -> (3, 3)."""
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


@part
def add_cross_matrix(factor, v, out):
    """Add a multiple of ``[v]x`` to ``out`` (3, 3)."""
    for i in range(3):
        j, k, x = (i + 1) % 3, (i + 2) % 3, factor * v[i]
        out[k, j] += x
        out[j, k] -= x


@compiled
def rotation_matrix(w):
    """``exp([w]x) = I + sin(t)/t [w]x + (1 - cos t)/t^2 [w]x^2``; (3,) rad -> (3, 3)."""
    m = np.empty((3, 3))
    put_rotation_matrix(w, m)
    return m


@bare_part
def put_rotation_matrix(w, m):
    """:func:`rotation_matrix` of w (3,) into m (3, 3)."""
    x, y, z = w[0], w[1], w[2]
    t2 = x * x + y * y + z * z
    t = sqrt(t2)
    if t < 1e-4:
        s = 1.0 - t2 / 6.0
        c = 0.5 - t2 / 24.0
    else:
        s = sin(t) / t
        half = sin(0.5 * t) / t
        c = 2.0 * half * half
    xy, xz, yz = c * x * y, c * x * z, c * y * z
    x2, y2, z2 = x * x, y * y, z * z
    m[0, 0], m[1, 1], m[2, 2] = 1.0 - c * (y2 + z2), 1.0 - c * (x2 + z2), 1.0 - c * (x2 + y2)
    x, y, z = s * x, s * y, s * z
    m[0, 1], m[1, 0] = xy - z, xy + z
    m[0, 2], m[2, 0] = xz + y, xz - y
    m[1, 2], m[2, 1] = yz - x, yz + x


@compiled
def rotation_vector(m):
    """``log(m)``: the vector w with ``exp([w]x) = m`` and ``0 <= |w| <= pi``; (3, 3) -> (3,) rad.

    Computes the largest component of the quaternion first (S. W. Shepperd, J. Guidance and Control 1 (1978) 223), so it keeps
    its relative accuracy from the smallest angles up to pi.
    """
    w = np.empty(3)
    put_rotation_vector(m, w)
    return w


@part
def put_rotation_vector(m, w):
    """:func:`rotation_vector` of m (3, 3) into w (3,)."""
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    first, largest = -1, trace
    for i in range(3):
        j, h = (i + 1) % 3, (i + 2) % 3
        w[i] = m[h, j] - m[j, h]
        if m[i, i] > largest:
            first, largest = i, m[i, i]
    real = 1.0 + trace  # 4 times a component of the quaternion times each component, as in w
    if first >= 0:
        j, h = (first + 1) % 3, (first + 2) % 3
        real = w[first]
        w[first] = 1.0 + m[first, first] - m[j, j] - m[h, h]
        w[j] = m[j, first] + m[first, j]
        w[h] = m[h, first] + m[first, h]
    sign = -1.0 if real < 0.0 else 1.0
    v = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    factor = sign * 2.0 * atan2(v, sign * real) / v if v != 0.0 else 0.0
    for i in range(3):
        w[i] *= factor


@compiled
def nearest_rotation_vector(w, previous):
    """The rotation vector of the same rotation as ``w`` that is closest to ``previous``; all (3,) rad.

    A rotation by t about n is also one by t + 2 pi k about n.  Following the closest one keeps the twist of a wire continuous
    when its ends rotate past pi.
    """
    out = np.empty(3)
    for i in range(3):
        out[i] = w[i]
    turn_to_nearest(out, previous)
    return out


@part
def turn_to_nearest(w, previous):
    """:func:`nearest_rotation_vector` in place, in w (3,)."""
    t = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    if t < 1e-12:
        # the axis is undefined here, so take the previous one for the whole turns
        p = sqrt(previous[0] * previous[0] + previous[1] * previous[1] + previous[2] * previous[2])
        turned = TURN * ((p / TURN + WHOLE) - WHOLE)
        if turned != 0.0:
            for i in range(3):
                w[i] += previous[i] / p * turned
        return
    along = (previous[0] * w[0] + previous[1] * w[1] + previous[2] * w[2]) / t
    turned = t + TURN * (((along - t) / TURN + WHOLE) - WHOLE)
    for i in range(3):
        w[i] *= turned / t


def _log_series() -> np.ndarray:
    """Coefficients of ``c`` and ``c'/t`` in powers of t^2; omitted terms are below rounding for t <= 1/2."""
    c = [1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600]
    c += [3617 / 10670622842880000]
    return np.array([[x, 2 * (k + 1) * y] for k, (x, y) in enumerate(zip(c, [*c[1:], 0.0], strict=True))])


_LOG_SERIES = _log_series()


@compiled
def log_coefficients(t2):
    """``c(t) = (1 - t/2 cot(t/2)) / t^2`` and ``c'(t)/t`` of ``exp``'s inverse Jacobian, from ``t2 = t^2``."""
    c = e = 0.0
    if t2 < 0.25:
        for k in range(7, -1, -1):
            c = c * t2 + _LOG_SERIES[k, 0]
            e = e * t2 + _LOG_SERIES[k, 1]
    else:
        t = sqrt(t2)
        h = 0.5 * t
        sine = sin(h)
        cot = cos(h) / sine
        c = (1.0 - h * cot) / t2
        e = (-0.5 * (cot - h / (sine * sine)) / t2 - 2.0 * (1.0 - h * cot) / (t2 * t)) / t
    return c, e


@compiled
def inverse_left_jacobian(w):
    """``J^-1(w) = I - [w]x/2 + c(t) [w]x^2``: log(exp([a]x) exp([w]x)) = w + J^-1 a + O(a^2); (3,) -> (3, 3)."""
    m = np.empty((3, 3))
    put_inverse_left_jacobian(w, m)
    return m


@part
def put_inverse_left_jacobian(w, m):
    """:func:`inverse_left_jacobian` of w (3,) into m (3, 3)."""
    t2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    c, _ = log_coefficients(t2)
    for i in range(3):
        for j in range(3):
            m[i, j] = c * w[i] * w[j]
        m[i, i] += 1.0 - c * t2
    add_cross_matrix(-0.5, w, m)


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


def turn_all(orientations, vectors):
    """``exp([a]x) U`` for orientations (n, 3, 3) and rotation vectors (n, 3), kept orthonormal; (n, 3, 3)."""
    out = np.empty(orientations.shape)
    put_turned(orientations, vectors, out)
    return out


@compiled
def put_turned(orientations, vectors, out):
    """:func:`turn_all` into ``out`` (n, 3, 3)."""
    put_turned_in(np.empty((9, 3)), orientations, vectors, out)


@bare_part
def put_turned_in(room, orientations, vectors, out):
    """:func:`put_turned` with room (9, 3), for kernels that allocate nothing."""
    turn, u, towards = room[:3], room[3:6], room[6:9]
    for n in range(orientations.shape[0]):
        put_rotation_matrix(vectors[n], turn)
        for i in range(3):
            for j in range(3):
                x = 0.0
                for k in range(3):
                    x += turn[i, k] * orientations[n, k, j]
                u[i, j] = x
        # one step towards the nearest rotation keeps thousands of small rotations orthonormal
        for i in range(3):
            for j in range(3):
                x = 1.5 if i == j else 0.0
                for k in range(3):
                    x -= 0.5 * u[k, i] * u[k, j]
                towards[i, j] = x
        for i in range(3):
            for j in range(3):
                x = 0.0
                for k in range(3):
                    x += u[i, k] * towards[k, j]
                out[n, i, j] = x
