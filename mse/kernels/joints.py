"""Joints between two frames: what they hold, what they leave free, and their springs.

Everything a joint measures is a function of twelve scalars.  With the joint's axes ``a_i = U1 J e_i`` on frame 1 and
``b_i = U0 J e_i`` on frame 0 these are ``d_i = a_i . (o0 - o1)`` and ``R_ij = a_i . b_j``.  A *measure* of them is numbered:

=======  =========================================  ==================================================================
0 1 2    ``d_1 d_2 d_3``                            displacement of frame 0 along the axes of frame 1
3 4      ``-R_23/h, R_13/h``, h^2 = (1 + R_33)/2    tilt of b_3 against a_3: zero only where they are parallel
5 6 7    ``(R_32 - R_23)/sqrt(1 + tr R)``, ...      rotation, as twice the vector part of its quaternion
8        ``-R_12``                                  what keeps b_2 perpendicular to a_1 (universal joint)
9        ``atan2(R_21 - R_12, R_11 + R_22)``        angle about a_3
10 11    ``atan2(R_32, R_22), atan2(R_13, R_11)``   angles of a universal joint, about a_1 and about b_2
12 13 14 ``log(R)``                                 rotation vector along the axes of frame 1
=======  =========================================  ==================================================================

Where held measures vanish, the derivative of each is the relative rotation or displacement along its axis, so that their
multipliers are components of the reaction.  Coordinates: (displacement, rotation as exp([a]x) about world axes) of frames 0, 1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_LINEAR, _ROOT, _ANGLE, _LOG = 0, 1, 2, 3
# kind, coefficients of the numerator u and of the denominator t in the twelve scalars (d_i, then R row by row)
KIND = np.array([_LINEAR] * 3 + [_ROOT] * 5 + [_LINEAR] + [_ANGLE] * 3 + [_LOG] * 3)
_U = np.zeros((15, 12))
_T = np.zeros((15, 12))
_HALF = np.ones(15)
for _i in range(3):
    _U[_i, _i] = 1.0
    for _k in (5 + _i, 12 + _i):
        _U[_k, 3 + 3 * ((_i + 2) % 3) + (_i + 1) % 3] = 1.0
        _U[_k, 3 + 3 * ((_i + 1) % 3) + (_i + 2) % 3] = -1.0
        _T[_k, [3, 7, 11]] = 1.0
_U[3, 8], _U[4, 5] = -1.0, 1.0
_T[3, 11] = _T[4, 11] = 1.0
_HALF[3] = _HALF[4] = 0.5
_U[8, 4] = -1.0
_U[9, 6], _U[9, 4], _T[9, 3], _T[9, 7] = 1.0, -1.0, 1.0, 1.0
_U[10, 10], _T[10, 7] = 1.0, 1.0
_U[11, 5], _T[11, 3] = 1.0, 1.0
_SMALLEST = 1e-12  # keeps the half turn, where a root vanishes, finite


@njit(cache=True)
def joint_axes(j, o, u):
    """Axes a, b (3, 3), one a column, and ``o0 - o1`` from the joint's orientation j (9,), row by row, and the frames' poses."""
    a, b, p = np.zeros((3, 3)), np.zeros((3, 3)), np.empty(3)
    for i in range(3):
        p[i] = o[0, i] - o[1, i]
        for k in range(3):
            for m in range(3):
                a[i, k] += u[1, i, m] * j[3 * m + k]
                b[i, k] += u[0, i, m] * j[3 * m + k]
    return a, b, p


@njit(cache=True)
def joint_scalars(a, b, p):
    """The twelve scalars and their slopes (12, 12) by the coordinates of frames 0 and 1."""
    s, slope = np.zeros(12), np.zeros((12, 12))
    for i in range(3):
        k, m = (i + 1) % 3, (i + 2) % 3
        for c in range(3):
            s[i] += a[c, i] * p[c]
            slope[i, c] = a[c, i]
            slope[i, 6 + c] = -a[c, i]
        slope[i, 9] = a[1, i] * p[2] - a[2, i] * p[1]
        slope[i, 10] = a[2, i] * p[0] - a[0, i] * p[2]
        slope[i, 11] = a[0, i] * p[1] - a[1, i] * p[0]
        for j in range(3):
            r = 3 + 3 * i + j
            for c in range(3):
                s[r] += a[c, i] * b[c, j]
            for c in range(3):
                k, m = (c + 1) % 3, (c + 2) % 3
                turn = a[k, i] * b[m, j] - a[m, i] * b[k, j]
                slope[r, 9 + c] = turn
                slope[r, 3 + c] = -turn
    return s, slope


@njit(cache=True)
def add_curvature(weight, a, b, p, h):
    """Add ``sum_k weight_k d2 s_k`` to h (12, 12)."""
    for i in range(3):
        w = weight[i]
        if w != 0.0:
            ap = a[0, i] * p[0] + a[1, i] * p[1] + a[2, i] * p[2]
            for c in range(3):
                for d in range(3):
                    h[9 + c, 9 + d] += 0.5 * w * (a[c, i] * p[d] + p[c] * a[d, i])
                h[9 + c, 9 + c] -= w * ap
                k, m = (c + 1) % 3, (c + 2) % 3
                # d2 (do . (t x a)): the entry (do_c, t_k) is -[a]x
                for o, sign in ((0, 1.0), (6, -1.0)):
                    h[o + c, 9 + k] += sign * w * a[m, i]
                    h[9 + k, o + c] += sign * w * a[m, i]
                    h[o + c, 9 + m] -= sign * w * a[k, i]
                    h[9 + m, o + c] -= sign * w * a[k, i]
        for j in range(3):
            w = weight[3 + 3 * i + j]
            if w == 0.0:
                continue
            ab = a[0, i] * b[0, j] + a[1, i] * b[1, j] + a[2, i] * b[2, j]
            for c in range(3):
                for d in range(3):
                    same = 0.5 * w * (a[c, i] * b[d, j] + b[c, j] * a[d, i])
                    mixed = -w * b[c, j] * a[d, i]
                    if c == d:
                        same -= w * ab
                        mixed += w * ab
                    h[3 + c, 3 + d] += same
                    h[9 + c, 9 + d] += same
                    h[9 + c, 3 + d] += mixed
                    h[3 + d, 9 + c] += mixed


@njit(cache=True)
def _angle_over_sine(c):
    """``f = acos(c)/sqrt(1 - c^2)`` and its first two derivatives; from ``(1 - c^2) f' = c f - 1``."""
    x = 1.0 - c
    if x < 0.3:
        # sum over k of k!/(2 k + 1)!! x^k
        f = df = ddf = 0.0
        term = np.empty(41)
        term[0] = 1.0
        for k in range(1, 41):
            term[k] = term[k - 1] * k / (2 * k + 1)
        for k in range(40, -1, -1):
            f = f * x + term[k]
            if k >= 1:
                df = df * x + k * term[k]
            if k >= 2:
                ddf = ddf * x + k * (k - 1) * term[k]
        return f, -df, ddf
    rest = max(1.0 - c * c, _SMALLEST)
    f = np.arccos(min(max(c, -1.0), 1.0)) / np.sqrt(rest)
    df = (c * f - 1.0) / rest
    return f, df, (f + 3.0 * c * df) / rest


@njit(cache=True)
def measure(code, s, order, slope, curvature):
    """One measure of the scalars s (12,): its value; fills its slope (12,) and adds its curvature to (12, 12), both by s."""
    u = t = 0.0
    for k in range(12):
        u += _U[code, k] * s[k]
        t += _T[code, k] * s[k]
    kind = KIND[code]
    if kind == _LINEAR:
        for k in range(12):
            slope[k] = _U[code, k]
        return u
    if kind == _ANGLE:
        r2 = max(u * u + t * t, _SMALLEST)
        du, dt = t / r2, -u / r2
        duu, dut, dtt = -2.0 * t * u / r2**2, (u * u - t * t) / r2**2, 2.0 * t * u / r2**2
        value = np.arctan2(u, t)
    elif kind == _ROOT:
        z = max(_HALF[code] * (1.0 + t), _SMALLEST)
        h = 1.0 / np.sqrt(z)
        value, du, duu = u * h, h, 0.0
        dt = -0.5 * _HALF[code] * u * h / z
        dut = -0.5 * _HALF[code] * h / z
        dtt = 0.75 * _HALF[code] ** 2 * u * h / z**2
    else:
        f, df, ddf = _angle_over_sine(0.5 * (t - 1.0))
        value, du, duu = 0.5 * u * f, 0.5 * f, 0.0
        dt, dut, dtt = 0.25 * u * df, 0.25 * df, 0.125 * u * ddf
    for k in range(12):
        slope[k] = du * _U[code, k] + dt * _T[code, k]
    if order == 2:
        for k in range(12):
            uk, tk = _U[code, k], _T[code, k]
            if uk == 0.0 and tk == 0.0:
                continue
            for m in range(12):
                um, tm = _U[code, m], _T[code, m]
                curvature[k, m] += duu * uk * um + dut * (uk * tm + tk * um) + dtt * tk * tm
    return value


@njit(cache=True)
def nearest_turn(value, code, previous):
    """An angle on the branch nearest to the previous one; other measures as they are."""
    if KIND[code] == _ANGLE:
        return value + 2.0 * np.pi * np.round((previous - value) / (2.0 * np.pi))
    return value


@njit(cache=True)
def to_coordinates(by_scalar, scalar_slope, out):
    """``out += scalar_slope^T by_scalar``: a slope by the scalars as one by the coordinates (12,)."""
    for k in range(12):
        if by_scalar[k] != 0.0:
            for c in range(12):
                out[c] += by_scalar[k] * scalar_slope[k, c]


@njit(cache=True)
def curvature_to_coordinates(by_scalar, scalar_slope, out):
    """``out += scalar_slope^T by_scalar scalar_slope``; (12, 12)."""
    half = np.zeros((12, 12))
    for k in range(12):
        for m in range(12):
            x = by_scalar[k, m]
            if x != 0.0:
                for c in range(12):
                    half[k, c] += x * scalar_slope[m, c]
    for k in range(12):
        for c in range(12):
            x = scalar_slope[k, c]
            if x != 0.0:
                for d in range(12):
                    out[c, d] += x * half[k, d]


@njit(cache=True)
def clear(a):
    """Set a matrix to zero; an assignment to a slice would take long to compile."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = 0.0


@njit(cache=True)
def joint_measure(j, code, previous, o, u, gradient, hessian):
    """One measure of a joint: its value on the branch nearest to ``previous``; adds its derivatives (12,), (12, 12)."""
    a, b, p = joint_axes(j, o, u)
    s, scalar_slope = joint_scalars(a, b, p)
    slope, curvature = np.zeros(12), np.zeros((12, 12))
    value = measure(code, s, 2, slope, curvature)
    to_coordinates(slope, scalar_slope, gradient)
    curvature_to_coordinates(curvature, scalar_slope, hessian)
    add_curvature(slope, a, b, p, hessian)
    return nearest_turn(value, code, previous)


# Parameters of a joint: orientation j (9); held measures: how many, which (6), their targets (6); coordinates: how many,
# which (6), stiffness (6), rest (6), preload (6).  Its memory holds the angles of the held measures, then of the coordinates.
HELD, TARGET, FREE, STIFFNESS, REST, PRELOAD, PARAMETERS = 9, 16, 22, 29, 35, 41, 47


@njit(cache=True)
def joint_constraints(parameters, origins, orientations, memory, multipliers, order, residual, jacobian, hessian):
    """``g`` (E, m), ``dg/dx`` (E, m, 12) and for order 2 ``sum_r multiplier_r d2 g_r/dx2`` (E, 12, 12)."""
    for e in range(parameters.shape[0]):
        a, b, p = joint_axes(parameters[e], origins[e], orientations[e])
        s, scalar_slope = joint_scalars(a, b, p)
        slope = np.zeros(12)
        sum_slope, sum_curvature, one = np.zeros(12), np.zeros((12, 12)), np.zeros((12, 12))
        for r in range(residual.shape[1]):
            code = int(parameters[e, HELD + 1 + r])
            clear(one)
            value = measure(code, s, order, slope, one)
            residual[e, r] = nearest_turn(value, code, memory[e, r]) - parameters[e, TARGET + r]
            to_coordinates(slope, scalar_slope, jacobian[e, r])
            if order == 2:
                for k in range(12):
                    sum_slope[k] += multipliers[e, r] * slope[k]
                    for m in range(12):
                        sum_curvature[k, m] += multipliers[e, r] * one[k, m]
        if order == 2:
            curvature_to_coordinates(sum_curvature, scalar_slope, hessian[e])
            add_curvature(sum_slope, a, b, p, hessian[e])


@njit(cache=True)
def joint_springs(parameters, origins, orientations, memory, gravity, order, energy, gradient, stiffness):
    """``W = sum k/2 (c - c0)^2 - F c`` over the joint's coordinates c; parts elastic, geometric."""
    for e in range(parameters.shape[0]):
        count = int(parameters[e, FREE])
        loaded = False
        for r in range(count):
            loaded = loaded or parameters[e, STIFFNESS + r] != 0.0 or parameters[e, PRELOAD + r] != 0.0
        if not loaded:
            continue
        a, b, p = joint_axes(parameters[e], origins[e], orientations[e])
        s, scalar_slope = joint_scalars(a, b, p)
        slope, along = np.zeros(12), np.zeros(12)
        sum_slope, sum_curvature, one = np.zeros(12), np.zeros((12, 12)), np.zeros((12, 12))
        for r in range(count):
            k, preload = parameters[e, STIFFNESS + r], parameters[e, PRELOAD + r]
            code = int(parameters[e, FREE + 1 + r])
            clear(one)
            value = nearest_turn(measure(code, s, order, slope, one), code, memory[e, 6 + r])
            stretch = value - parameters[e, REST + r]
            force = k * stretch - preload
            energy[e] += 0.5 * k * stretch * stretch - preload * value
            for c in range(12):
                sum_slope[c] += force * slope[c]
                for d in range(12):
                    sum_curvature[c, d] += force * one[c, d]
            if order == 2:
                for c in range(12):
                    along[c] = 0.0
                to_coordinates(slope, scalar_slope, along)
                for c in range(12):
                    for d in range(12):
                        stiffness[e, 0, c, d] += k * along[c] * along[d]
        to_coordinates(sum_slope, scalar_slope, gradient[e])
        if order == 2:
            curvature_to_coordinates(sum_curvature, scalar_slope, stiffness[e, 1])
            add_curvature(sum_slope, a, b, p, stiffness[e, 1])


@njit(cache=True)
def joint_memory(parameters, orientations, memory):
    """Overwrite memory (E, 12) by the angles of held measures and coordinates, each nearest to what it was."""
    nowhere = np.zeros((2, 3))
    for e in range(parameters.shape[0]):
        a, b, p = joint_axes(parameters[e], nowhere, orientations[e])
        s, _ = joint_scalars(a, b, p)
        slope, one = np.zeros(12), np.zeros((12, 12))
        for start, place in ((HELD, 0), (FREE, 6)):
            for r in range(int(parameters[e, start])):
                code = int(parameters[e, start + 1 + r])
                if KIND[code] == _ANGLE:
                    memory[e, place + r] = nearest_turn(measure(code, s, 1, slope, one), code, memory[e, place + r])
