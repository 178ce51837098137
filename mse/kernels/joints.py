"""Joints between two frames: their constraints, their coordinates, and the springs on these.

Everything a joint measures is a function of fifteen scalars.  With the joint's axes ``a_i = U1 J e_i`` on frame 1 and
``b_i = U0 J e_i`` on frame 0 these are ``d_i = a_i . (o0 - o1)``, ``R_ij = a_i . b_j`` and ``o0 - o1`` itself.  A *measure*
of them is numbered:

=======  =========================================  ==================================================================
0 1 2    ``d_1 d_2 d_3``                            displacement of frame 0 along the axes of frame 1
3 4      ``(-R_23, R_13) t/sin t, cos t = R_33``    tilt of b_3 against a_3: the shortest turn between them
5 6 7    ``log(R)``                                 rotation vector along the axes of frame 1
8        ``-R_12``                                  keeps b_2 perpendicular to a_1 (universal joint)
9        ``atan2(R_21 - R_12, R_11 + R_22)``        angle about a_3
10 11    ``atan2(R_32, R_22), atan2(R_13, R_11)``   angles of a universal joint, about a_1 and about b_2
12 13 14 ``o0 - o1``                                displacement along the axes of the world
=======  =========================================  ==================================================================

Joints that hold all of the displacement hold it along the axes of the world: axes of frame 1 would turn with it, and couple its
turns to the displacements by the whole reaction, which drowns what little stiffness the turns have.

Tilt and rotation grow up to half a turn, so that they vanish only where what they hold is aligned: sines, which vanish at half a
turn too, would keep bodies upside down.  At half a turn itself the axis of a tilt is any, and the first is taken.

Where held measures vanish, the derivative of each is the relative rotation or displacement along its axis, so that their
multipliers are components of the reaction.  Coordinates: (displacement, rotation as exp([a]x) about world axes) of frames 0, 1.
"""

from __future__ import annotations

from math import atan2, pi, sqrt

import numpy as np

from .jit import compiled, part
from .masses import cross_matrices
from .rotations import TURN, WHOLE, put_rotation_vector

_LINEAR, _TILT, _LOG, _ANGLE = 0, 1, 2, 3
# kind, coefficients of a sine u and a cosine t in the scalars (d_i, R row by row, o0 - o1), and what is added to t
KIND = np.array([_LINEAR] * 3 + [_TILT] * 2 + [_LOG] * 3 + [_LINEAR] + [_ANGLE] * 3 + [_LINEAR] * 3)
ROTATION, ANGLE, PLACE = 5, 9, 12  # the first measures of log(R), the angle about a_3, and the first of o0 - o1
_SCALARS = 15
_U = np.zeros((len(KIND), _SCALARS))
_T = np.zeros((len(KIND), _SCALARS))
_ADDED = np.zeros(len(KIND))
for _i in range(3):
    _U[_i, _i] = _U[PLACE + _i, 12 + _i] = 1.0
    _U[ROTATION + _i, 3 + 3 * ((_i + 2) % 3) + (_i + 1) % 3] = 0.5
    _U[ROTATION + _i, 3 + 3 * ((_i + 1) % 3) + (_i + 2) % 3] = -0.5
    _T[ROTATION + _i, [3, 7, 11]] = 0.5
    _ADDED[ROTATION + _i] = -0.5
_U[3, 8], _U[4, 5] = -1.0, 1.0
_T[3, 11] = _T[4, 11] = 1.0
_U[8, 4] = -1.0
_U[9, 6], _U[9, 4], _T[9, 3], _T[9, 7] = 1.0, -1.0, 1.0, 1.0
_U[10, 10], _T[10, 7] = 1.0, 1.0
_U[11, 5], _T[11, 3] = 1.0, 1.0
_SMALLEST = 1e-12  # keeps an angle whose sine and cosine vanish finite
# rad to half a turn, within which slopes are those at half a turn itself.  Across a tilt they grow as pi/sine; with a tenth of
# it the search takes what joints have when put together for lost (MeritFunction.degenerate;
# tests/model/test_joint_assembly.py::test_a_body_that_starts_half_a_turn_off_is_turned_right).
_TO_HALF_A_TURN = 1e-5


def _angle_series() -> np.ndarray:
    """Coefficients of ``acos(c)/sqrt(1 - c^2) = sum k!/(2 k + 1)!! x^k``, x = 1 - c, and of its two derivatives by x."""
    out = np.zeros((41, 3))
    out[0, 0] = 1.0
    for k in range(1, 41):
        out[k, 0] = out[k - 1, 0] * k / (2 * k + 1)
        out[k - 1, 1] = k * out[k, 0]
        if k >= 2:
            out[k - 2, 2] = k * (k - 1) * out[k, 0]
    return out


_SERIES = _angle_series()


@part
def _scalars(parameters, origins, orientations, e, a, b, p, s, slope):
    """Axes a, b (3, 3) of a joint, one a column, ``p = o0 - o1``, and the scalars (15,) with their slopes (15, 12)."""
    for i in range(3):
        p[i] = s[12 + i] = origins[e, 0, i] - origins[e, 1, i]
        for c in range(12):
            slope[12 + i, c] = 0.0
        slope[12 + i, i], slope[12 + i, 6 + i] = 1.0, -1.0
        for k in range(3):
            x = y = 0.0
            for m in range(3):
                turned = parameters[e, 3 * m + k]
                x += orientations[e, 1, i, m] * turned
                y += orientations[e, 0, i, m] * turned
            a[i, k], b[i, k] = x, y
    for i in range(3):
        x = 0.0
        for c in range(3):
            k, m = (c + 1) % 3, (c + 2) % 3
            x += a[c, i] * p[c]
            slope[i, c], slope[i, 6 + c] = a[c, i], -a[c, i]
            slope[i, 3 + c], slope[i, 9 + c] = 0.0, a[k, i] * p[m] - a[m, i] * p[k]
        s[i] = x
        for j in range(3):
            r = 3 + 3 * i + j
            x = 0.0
            for c in range(3):
                k, m = (c + 1) % 3, (c + 2) % 3
                x += a[c, i] * b[c, j]
                turn = a[k, i] * b[m, j] - a[m, i] * b[k, j]
                slope[r, 9 + c], slope[r, 3 + c] = turn, -turn
                slope[r, c] = slope[r, 6 + c] = 0.0
            s[r] = x


@part
def _add_curvature(weight, a, b, p, h):
    """Add ``sum_k weight_k d2 s_k`` to h (12, 12)."""
    for i in range(3):
        w = weight[i]
        if w != 0.0:
            ap = a[0, i] * p[0] + a[1, i] * p[1] + a[2, i] * p[2]
            for c in range(3):
                k, m = (c + 1) % 3, (c + 2) % 3
                for d in range(3):
                    h[9 + c, 9 + d] += 0.5 * w * (a[c, i] * p[d] + p[c] * a[d, i])
                h[9 + c, 9 + c] -= w * ap
                # d2 (do . (t x a)): the entry (do_c, t_k) is -[a]x
                x, y = w * a[m, i], w * a[k, i]
                h[c, 9 + k] += x
                h[9 + k, c] += x
                h[c, 9 + m] -= y
                h[9 + m, c] -= y
                h[6 + c, 9 + k] -= x
                h[9 + k, 6 + c] -= x
                h[6 + c, 9 + m] += y
                h[9 + m, 6 + c] += y
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


@part
def _angle_over_sine(c, sine, out):
    """``f = acos(c)/sqrt(1 - c^2)`` and its first two derivatives, to out (3,); from ``(1 - c^2) f' = c f - 1``."""
    x = 1.0 - c
    f = df = ddf = 0.0
    if x < 0.3:
        for k in range(40, -1, -1):
            f = f * x + _SERIES[k, 0]
            df = df * x + _SERIES[k, 1]
            ddf = ddf * x + _SERIES[k, 2]
        df = -df
    else:
        rest = sine * sine
        f = atan2(sine, c) / sine
        df = (c * f - 1.0) / rest
        ddf = (f + 3.0 * c * df) / rest
    out[0], out[1], out[2] = f, df, ddf


@part
def _combined(by_scalar, s):
    """``by_scalar . s`` (15,)."""
    total = 0.0
    for k in range(_SCALARS):
        total += by_scalar[k] * s[k]
    return total


@part
def _sine(code, s):
    """Sine of the angle of a tilt or rotation, which keeps its accuracy near half a turn."""
    total = 0.0
    for k in range(KIND.shape[0]):
        if KIND[k] == KIND[code]:
            u = _combined(_U[k], s)
            total += u * u
    return sqrt(total)


@part
def _at_half_a_turn(code, s, along):
    """A tilt or rotation nearly at half a turn, to first order: its value, and to along (15,) its derivatives.

    With the axis n, ``log R = pi n - u`` and ``n_k = (R + R^T)_km/(4 n_m)``, ``4 n_m^2 = 2 (1 + R_mm)`` for the largest m.
    """
    for k in range(_SCALARS):
        along[k] = -_U[code, k]
    if KIND[code] == _TILT:
        first = _combined(_U[3], s)
        u = _combined(_U[code], s)
        return -u if code == 4 else (pi if first >= 0.0 else -pi) - u
    w = np.empty(3)
    put_rotation_vector(s[3:12].reshape((3, 3)), w)
    i, m = code - ROTATION, 0
    for k in range(3):
        if abs(w[k]) > abs(w[m]):
            m = k
    by = pi * pi / (4.0 * w[m])  # pi/(4 n_m)
    along[3 + 3 * i + m] += by
    along[3 + 3 * m + i] += by
    along[3 + 4 * m] -= by * w[i] / w[m]
    return w[i]


@part
def _measure(code, s, d, along):
    """One measure of the scalars s (15,): its value, its derivatives by them to along (15,), and to d (5,) those by u, t, and
    twice by u u, u t, t t."""
    u, t = _combined(_U[code], s), _combined(_T[code], s) + _ADDED[code]
    kind = KIND[code]
    value, du = u, 1.0
    dt = duu = dut = dtt = 0.0
    if kind == _ANGLE:
        r2 = u * u + t * t
        if r2 < _SMALLEST:
            r2 = _SMALLEST
        du, dt = t / r2, -u / r2
        r4 = r2 * r2
        duu, dut = -2.0 * t * u / r4, (u * u - t * t) / r4
        dtt = -duu
        value = atan2(u, t)
    elif kind != _LINEAR:
        sine = _sine(code, s)
        if t < 0.0 and sine < _TO_HALF_A_TURN:
            for k in range(5):
                d[k] = 0.0
            return _at_half_a_turn(code, s, along)
        _angle_over_sine(t, sine, d)
        du, dut = d[0], d[1]
        value, dt, dtt = u * du, u * dut, u * d[2]
    d[0], d[1], d[2], d[3], d[4] = du, dt, duu, dut, dtt
    for k in range(_SCALARS):
        along[k] = du * _U[code, k] + dt * _T[code, k]
    return value


@part
def _to_coordinates(by_scalar, scalar_slope, out):
    """``out += scalar_slope^T by_scalar``: a slope by the scalars as one by the coordinates (12,)."""
    for k in range(_SCALARS):
        x = by_scalar[k]
        if x != 0.0:
            for c in range(12):
                out[c] += x * scalar_slope[k, c]


@part
def _curvature_to_coordinates(by_scalar, scalar_slope, out):
    """``out += scalar_slope^T by_scalar scalar_slope``; (12, 12)."""
    half = np.empty((_SCALARS, 12))
    for k in range(_SCALARS):
        for c in range(12):
            half[k, c] = 0.0
        _to_coordinates(by_scalar[k], scalar_slope, half[k])
    for k in range(_SCALARS):
        for c in range(12):
            x = scalar_slope[k, c]
            if x != 0.0:
                for d in range(12):
                    out[c, d] += x * half[k, d]


# Parameters of a joint: orientation j (9); held measures: how many, which (6), their targets (6); coordinates: how many,
# which (6), stiffness (6), rest (6), preload (6).  Its memory holds the angles of the held measures, then of the coordinates.
HELD, TARGET, FREE, STIFFNESS, REST, PRELOAD, DAMPING, PARAMETERS = 9, 16, 22, 29, 35, 41, 47, 53
_FOLLOW = -1  # the order for angles only


@compiled
def put_joints(
    first, parameters, origins, orientations, memory, forces, order, value, jacobian, energy, gradient, stiffness
):
    """The part common to all below, compiled once: the measures listed from ``first`` on, HELD or FREE, of all joints.

    Fills value (E, m), from the target or the rest on, and jacobian (E, m, 12).  Of coordinates it adds what
    :func:`joint_springs` says, of held measures only the last of the parts of stiffness, for ``forces`` (E, m).
    """
    free = first == FREE
    place, targets, last = 6 if free else 0, REST if free else TARGET, stiffness.shape[1] - 1
    a, b, slope, curvature = (
        np.empty((3, 3)),
        np.empty((3, 3)),
        np.empty((_SCALARS, 12)),
        np.empty((_SCALARS, _SCALARS)),
    )
    p, s, d, along, total = np.empty(3), np.empty(_SCALARS), np.empty(5), np.empty(_SCALARS), np.empty(_SCALARS)
    for e in range(parameters.shape[0]):
        if free and order != _FOLLOW:
            loads = 0.0
            for r in range(6):
                loads += abs(parameters[e, STIFFNESS + r]) + abs(parameters[e, PRELOAD + r])
            if loads == 0.0:
                continue
        _scalars(parameters, origins, orientations, e, a, b, p, s, slope)
        for i in range(_SCALARS):
            total[i] = 0.0
            for j in range(_SCALARS):
                curvature[i, j] = 0.0
        for r in range(int(parameters[e, first])):
            code = int(parameters[e, first + 1 + r])
            x = _measure(code, s, d, along)
            if KIND[code] == _ANGLE:  # the branch nearest to the previous one
                turns = (memory[e, place + r] - x) / TURN
                x += TURN * ((turns + WHOLE) - WHOLE)
                if order == _FOLLOW:
                    memory[e, place + r] = x
            if order == _FOLLOW:
                continue
            value[e, r] = x - parameters[e, targets + r]
            _to_coordinates(along, slope, jacobian[e, r])
            k = force = 0.0
            if free:
                k, preload = parameters[e, STIFFNESS + r], parameters[e, PRELOAD + r]
                force = k * value[e, r] - preload
                energy[e] += 0.5 * k * value[e, r] * value[e, r] - preload * x
            else:
                force = forces[e, r]
            for i in range(_SCALARS):
                total[i] += force * along[i]
            if order < 2:
                continue
            if k != 0.0:
                for i in range(12):
                    for j in range(12):
                        stiffness[e, 0, i, j] += k * jacobian[e, r, i] * jacobian[e, r, j]
            if KIND[code] == _LINEAR:
                continue
            for i in range(_SCALARS):
                ui, ti = _U[code, i], _T[code, i]
                if ui != 0.0 or ti != 0.0:
                    for j in range(_SCALARS):
                        uj, tj = _U[code, j], _T[code, j]
                        curvature[i, j] += force * (d[2] * ui * uj + d[3] * (ui * tj + ti * uj) + d[4] * ti * tj)
        if order == _FOLLOW:
            continue
        if free:
            _to_coordinates(total, slope, gradient[e])
        if order == 2:
            _curvature_to_coordinates(curvature, slope, stiffness[e, last])
            _add_curvature(total, a, b, p, stiffness[e, last])


def vanishing(code: int, target: float) -> tuple[np.ndarray, float] | None:
    """Factors of the scalars (15,) and a constant, whose sum vanishes where a measure is at its target; None where none does.

    It is the displacement, or a sine of the angle from the target.
    """
    kind = KIND[code]
    if kind == _LINEAR:
        return _U[code], -target
    if kind == _ANGLE:
        return np.cos(target) * _U[code] - np.sin(target) * _T[code], 0.0
    return (_U[code], 0.0) if target == 0.0 else None


def proportional(code: int) -> list[np.ndarray] | None:
    """Factors of the scalars (15,) whose sum is a displacement, or whose sums are multiples of an angle's sine and cosine."""
    return {_LINEAR: [_U[code]], _ANGLE: [_U[code], _T[code]]}.get(int(KIND[code]))


def moved(code: int, target: float) -> tuple[np.ndarray, float]:
    """As :func:`vanishing`, of a displacement or an angle alone, with the slope of the measure itself where it vanishes.

    Of an angle about a_3, sine and cosine have twice that slope, as the tilt is held.
    """
    factors, constant = vanishing(code, target)
    return (0.5 * factors if code == ANGLE else factors), constant


_NOTHING = tuple(np.zeros((0,) * n) for n in range(5))  # for outputs that are not wanted; by number of axes


def joint_constraints(parameters, origins, orientations, memory, multipliers, order, residual, jacobian, hessian):
    """``g`` (E, m), ``dg/dx`` (E, m, 12) and for order 2 ``sum_r multiplier_r d2 g_r/dx2`` (E, 12, 12)."""
    put_joints(
        HELD, parameters, origins, orientations, memory, multipliers, order, residual, jacobian, _NOTHING[1], _NOTHING[2],
        hessian[:, None],
    )  # fmt: skip


def joint_springs(parameters, origins, orientations, memory, gravity, order, energy, gradient, stiffness):
    """``W = sum k/2 (c - c0)^2 - F c`` over the joint's coordinates c; parts elastic, geometric."""
    value, jacobian = np.empty((len(parameters), 6)), np.zeros((len(parameters), 6, 12))
    put_joints(
        FREE, parameters, origins, orientations, memory, _NOTHING[2], order, value, jacobian, energy, gradient, stiffness
    )  # fmt: skip


def joint_memory(parameters, orientations, memory):
    """Overwrite memory (E, 12) by the angles of held measures and coordinates, each nearest to what it was."""
    nowhere = np.zeros((len(parameters), 2, 3))
    for first in (HELD, FREE):
        put_joints(
            first, parameters, nowhere, orientations, memory, _NOTHING[2], _FOLLOW, _NOTHING[2], _NOTHING[3], _NOTHING[1],
            _NOTHING[2], _NOTHING[4],
        )  # fmt: skip


def joint_coordinates(parameters, origins, orientations, memory):
    """Values (E, 6) of the coordinates of joints, angles nearest to those in memory (E, 12), and ``dc/dx`` (E, 6, 12)."""
    value, jacobian, _ = _coordinates(parameters, origins, orientations, memory, np.zeros((len(parameters), 6)), 1)
    return value, jacobian


def _coordinates(parameters, origins, orientations, memory, weights, order):
    """:func:`joint_coordinates`, and for order 2 second derivatives (E, 12, 12) of the sums by weights (E, 6)."""
    count = len(parameters)
    value, jacobian, as_held = np.zeros((count, 6)), np.zeros((count, 6, 12)), np.zeros((count, PARAMETERS))
    hessian = np.zeros((count if order == 2 else 0, 1, 12, 12))
    as_held[:, :HELD], as_held[:, HELD:TARGET] = parameters[:, :HELD], parameters[:, FREE:STIFFNESS]
    put_joints(
        HELD, as_held, origins, orientations, memory[:, 6:].copy(), weights, order, value, jacobian, _NOTHING[1], _NOTHING[2],
        hessian,
    )  # fmt: skip
    return value, jacobian, hessian[:, 0]


def joint_damping(parameters, frames, origins, orientations, memory):
    """``sum d dc/dx (dc/dx)^T`` (E, 12, 12) over the coordinates c of joints, d their dampings; None without any."""
    dampings = parameters[:, DAMPING:PARAMETERS]
    if not dampings.any():
        return None
    _, slopes = joint_coordinates(parameters, origins.take(frames, axis=0), orientations.take(frames, axis=0), memory)
    return slopes.transpose(0, 2, 1) @ (dampings[:, :, None] * slopes)


def joint_damping_slopes(parameters, frames, origins, orientations, memory, velocities):
    """Slopes (E, 12, 12) by positions of the forces of :func:`joint_damping` at fixed velocities (E, 12)."""
    count, dampings = len(parameters), parameters[:, DAMPING:PARAMETERS]
    # as of so many joints with one coordinate each
    each, one = np.repeat(np.arange(count), 6), np.tile(np.eye(6), (count, 1))
    places = origins.take(frames[each], axis=0), orientations.take(frames[each], axis=0)
    _, slopes, turned = _coordinates(parameters[each], *places, memory[each], one, 2)
    slopes = slopes[::6]
    for a in (slice(3, 6), slice(9, 12)):  # slopes are along axes that do not turn, second derivatives along exp([a]x)
        turned[:, a, a] -= 0.5 * cross_matrices(slopes[:, :, a].reshape(-1, 3))
    turned = turned.reshape(count, 6, 12, 12)
    rates = np.einsum("eri,ei->er", slopes, velocities)
    faster = np.einsum("ei,erij->erj", velocities, turned)
    return np.einsum("er,erij->eij", dampings * rates, turned) + np.einsum("er,eri,erj->eij", dampings, slopes, faster)


def joint_measure(j, code, previous, o, u, gradient, hessian):
    """One measure of a joint: its value on the branch nearest to ``previous``; adds its derivatives (12,), (12, 12)."""
    parameters, value = np.zeros((1, PARAMETERS)), np.zeros((1, 1))
    parameters[0, :HELD], parameters[0, HELD], parameters[0, HELD + 1] = j, 1, code
    put_joints(
        HELD, parameters, o[None], u[None], np.full((1, 12), previous), np.ones((1, 1)), 2, value, gradient[None, None],
        _NOTHING[1], _NOTHING[2], hessian[None, None],
    )  # fmt: skip
    return float(value[0, 0])
