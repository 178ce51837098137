"""Energies of elements between two frames, many at once: spring, wire, bushing; the load of rigid bodies, and pushes of inputs.

Every kernel has the signature that :mod:`mse.elements.base` documents: it reads parameters (E, P), origins (E, F, 3),
orientations (E, F, 3, 3), memory (E, m) and gravity (3,), and fills energy (E,), gradient (E, 6 F) and, for order 2,
stiffness (E, parts, 6 F, 6 F), all in one part where there is place for one only.  Six-vectors are (displacement,
rotation) with the rotation as exp([a]x) about world axes.  An element outside its domain gets a NaN energy.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from .jit import compiled, part
from .rotations import (
    add_cross_matrix,
    inverse_left_jacobian,
    inverse_left_jacobian_slope,
    put_inverse_left_jacobian,
    put_rotation_vector,
    turn_to_nearest,
)
from .small_matrices import add_transposed_product, apply, product, transposed_apply

# Ends closer than this fraction of the natural length have no usable direction.
_COINCIDENT = 1e-9


@part
def _add_difference(a, b, x, h):
    """Add the second derivative of ``x d_a d_b``, d between the origins of two frames, to h (12, 12): one entry of it."""
    h[a, b] += x
    h[a, 6 + b] -= x
    h[6 + a, b] -= x
    h[6 + a, 6 + b] += x


@part
def _put_turn_between(orientations, memory, turn, w):
    """Rotation vector w (3,) of ``turn = U1 U0^T`` (3, 3) on the branch nearest to ``memory`` (3,)."""
    for a in range(3):
        for b in range(3):
            x = 0.0
            for c in range(3):
                x += orientations[1, a, c] * orientations[0, b, c]
            turn[a, b] = x
    put_rotation_vector(turn, w)
    turn_to_nearest(w, memory)


@part
def _put_line(o, length, n):
    """Unit vector n (3,) from frame 0 to frame 1 and distance; ok is False where natural length > 0 and the ends coincide."""
    for a in range(3):
        n[a] = o[1, a] - o[0, a]
    dist = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
    if dist > 0.0:
        for a in range(3):
            n[a] /= dist
    return dist, length == 0.0 or dist > _COINCIDENT * length


@part
def _stretch(stiffness, length, slack, n, dist, order, gradient, axial, geometric):
    """``k/2 (|d| - l0)^2``: adds its gradient (12,) and its axial and geometric stiffness (12, 12); returns the energy.

    Where ``slack`` is not 0, nothing below the length l0.
    """
    e = dist - length
    if slack != 0.0 and e < 0.0:
        return 0.0
    tension = stiffness * e
    for a in range(3):
        gradient[a] -= tension * n[a]
        gradient[6 + a] += tension * n[a]
    if order == 2:
        for a in range(3):
            for b in range(3):
                nn = n[a] * n[b]
                same = 1.0 if a == b else 0.0
                if dist > 0.0:
                    _add_difference(a, b, stiffness * nn, axial)
                    _add_difference(a, b, tension / dist * (same - nn), geometric)
                else:
                    # Natural length zero at zero distance: the energy is k d^2/2, isotropic.
                    _add_difference(a, b, stiffness * same, axial)
    return 0.5 * stiffness * e * e


@compiled
def spring(parameters, origins, orientations, memory, gravity, order, energy, gradient, stiffness):
    """``W = k/2 (|o1 - o0| - l0)^2`` with parameters (l0, k, tension_only, ...); parts axial, geometric (manual 2.12)."""
    n, last = np.empty(3), stiffness.shape[1] - 1
    for e in range(parameters.shape[0]):
        dist, ok = _put_line(origins[e], parameters[e, 0], n)
        if not ok:
            energy[e] = np.nan
            continue
        energy[e] = _stretch(
            parameters[e, 1], parameters[e, 0], parameters[e, 2], n, dist, order, gradient[e], stiffness[e, 0],
            stiffness[e, last],
        )  # fmt: skip


@part
def _add_twist_curl(moment, twist, w, n, dist, left, slope, h):
    """Add ``moment`` times the second derivative of ``twist = w . n`` to h (12, 12); ``slope`` (12,) is the first one."""
    turned, back = inverse_left_jacobian_slope(w, n), inverse_left_jacobian_slope(w, n)
    add_cross_matrix(-1.0, n, back)  # that of -w, which frame 1 feels
    for a in range(3):
        for b in range(3):
            # exact first derivatives along a0 and a1; their symmetric parts are the Hessian in exp([a]x)
            x00 = x11 = x10 = 0.0
            for c in range(3):
                x00 += 0.5 * moment * turned[a, c] * left[b, c]
                x11 += 0.5 * moment * back[a, c] * left[c, b]
                x10 += moment * back[a, c] * left[b, c]
            h[3 + a, 3 + b] += x00
            h[3 + b, 3 + a] += x00
            h[9 + a, 9 + b] += x11
            h[9 + b, 9 + a] += x11
            h[9 + a, 3 + b] -= x10
            h[3 + b, 9 + a] -= x10
            same = 1.0 if a == b else 0.0
            bent = slope[6 + a] * n[b] + n[a] * slope[6 + b] + twist / dist * (same - n[a] * n[b])
            _add_difference(a, b, -moment / dist * bent, h)
            # origin - rotation: d/da1 of (w - (w.n) n)/dist = P left / dist
            c1 = moment * (left[a, b] - n[a] * slope[9 + b]) / dist
            c0 = -moment * (left[b, a] + n[a] * slope[3 + b]) / dist
            h[6 + a, 9 + b] += c1
            h[9 + b, 6 + a] += c1
            h[a, 9 + b] -= c1
            h[9 + b, a] -= c1
            h[6 + a, 3 + b] += c0
            h[3 + b, 6 + a] += c0
            h[a, 3 + b] -= c0
            h[3 + b, a] -= c0


@compiled
def wire(parameters, origins, orientations, memory, gravity, order, energy, gradient, stiffness):
    """``W = k1/2 (|o1 - o0| - l0)^2 + k2/2 (w . n)^2`` with parameters (l0, k1, k2, tension_only, ...) (manual eq. 35).

    ``w`` is the rotation vector of U1 U0^T on the branch nearest to ``memory`` (E, 3); n points from frame 0 to
    frame 1.  Parts: axial, torsion, geometric.
    """
    n, w, slope = np.empty(3), np.empty(3), np.empty(12)  # slope: d twist
    turn, left = np.empty((3, 3)), np.empty((3, 3))
    last = stiffness.shape[1] - 1
    for e in range(parameters.shape[0]):
        length, k1, k2 = parameters[e, 0], parameters[e, 1], parameters[e, 2]
        dist, ok = _put_line(origins[e], length, n)
        if not (ok and dist > 0.0):
            energy[e] = np.nan
            continue
        g = gradient[e]
        axial, torsion, geometric = stiffness[e, 0], stiffness[e, min(1, last)], stiffness[e, last]
        energy[e] = _stretch(k1, length, parameters[e, 3], n, dist, order, g, axial, geometric)
        _put_turn_between(orientations[e], memory[e], turn, w)
        twist = w[0] * n[0] + w[1] * n[1] + w[2] * n[2]
        energy[e] += 0.5 * k2 * twist * twist
        put_inverse_left_jacobian(w, left)  # dw = left a1 - left^T a0
        for a in range(3):
            slope[6 + a] = (w[a] - twist * n[a]) / dist
            slope[a] = -slope[6 + a]
            x = y = 0.0
            for b in range(3):
                x -= left[a, b] * n[b]
                y += left[b, a] * n[b]
            slope[3 + a], slope[9 + a] = x, y
        moment = k2 * twist
        for a in range(12):
            g[a] += moment * slope[a]
        if order < 2:
            continue
        for a in range(12):
            for b in range(12):
                torsion[a, b] += k2 * slope[a] * slope[b]
        if moment != 0.0:
            _add_twist_curl(moment, twist, w, n, dist, left, slope, geometric)


@compiled
def wire_memory(parameters, orientations, memory):
    """Overwrite memory (E, 3) by the rotation vectors of U1 U0^T, each on the branch nearest to the old one."""
    w, turn = np.empty(3), np.empty((3, 3))
    for e in range(memory.shape[0]):
        _put_turn_between(orientations[e], memory[e], turn, w)
        for a in range(3):
            memory[e, a] = w[a]


@part
def _put_seen_turn(orientations, memory, turn, w):
    """Rotation vector w (3,) of ``turn = U1^T U0`` (3, 3) on the branch nearest to ``memory`` (3,)."""
    for a in range(3):
        for b in range(3):
            x = 0.0
            for c in range(3):
                x += orientations[1, c, a] * orientations[0, c, b]
            turn[a, b] = x
    put_rotation_vector(turn, w)
    turn_to_nearest(w, memory)


@compiled
def bushing(parameters, origins, orientations, memory, gravity, order, energy, gradient, stiffness):
    """``W = s^T K s/2 - F^T s`` with parameters (K row by row, F, ...) and the relative coordinates s (6,).

    ``s = (U1^T (o0 - o1), log(U1^T U0))``: frame 0 as seen from frame 1, the rotation vector on the branch nearest to
    ``memory`` (E, 3).  Parts: elastic, geometric.
    """
    k = np.empty((6, 6))
    s, d, w, turn = np.empty(6), np.empty(3), np.empty(3), np.empty((3, 3))
    last = stiffness.shape[1] - 1
    for e in range(parameters.shape[0]):
        u1 = orientations[e, 1]
        for a in range(3):
            d[a] = origins[e, 0, a] - origins[e, 1, a]
        for a in range(6):
            for b in range(6):
                k[a, b] = parameters[e, 6 * a + b]
        seen = transposed_apply(u1, d)
        _put_seen_turn(orientations[e], memory[e], turn, w)
        for a in range(3):
            s[a], s[3 + a] = seen[a], w[a]
        f = apply(k, s)
        for a in range(6):
            energy[e] += (0.5 * f[a] - parameters[e, 36 + a]) * s[a]
            f[a] -= parameters[e, 36 + a]
        left = inverse_left_jacobian(w)
        slope = _seen_slope(u1, d, left)
        pull = transposed_apply(slope, f)
        for a in range(12):
            gradient[e, a] += pull[a]
        if order == 2:
            add_transposed_product(slope, product(k, slope), stiffness[e, 0])
            _add_seen_curl(u1, d, w, left, f, stiffness[e, last])


@compiled
def bushing_memory(parameters, orientations, memory):
    """Overwrite memory (E, 3) by the rotation vectors of U1^T U0, each on the branch nearest to the old one.

    A bushing that only damps, without stiffness and preload, has none wound up: its vector is the shortest.
    """
    w, turn = np.empty(3), np.empty((3, 3))
    for e in range(memory.shape[0]):
        if not parameters[e, :42].any():
            memory[e] = 0.0
        _put_seen_turn(orientations[e], memory[e], turn, w)
        for a in range(3):
            memory[e, a] = w[a]


@compiled
def line_drag(parameters, origins, orientations, memory, velocity, force):
    """Add forces (E, 12) of dampers along lines, ``-c n (n . v)``, at velocities (E, 12); parameters as of :func:`line_damping`.

    That is :func:`mse.kernels.masses.line_damping`, whose matrices linear models need.
    """
    d, apart = np.empty(3), np.empty(3)
    for e in range(parameters.shape[0]):
        length, c = parameters[e, 0], parameters[e, parameters.shape[1] - 1]
        square = rate = 0.0
        for a in range(3):
            d[a] = origins[e, 1, a] - origins[e, 0, a]
            apart[a] = velocity[e, 6 + a] - velocity[e, a]
            square += d[a] * d[a]
            rate += d[a] * apart[a]
        if parameters[e, parameters.shape[1] - 2] != 0.0 and square < length * length:
            continue
        for a in range(3):
            # ends that meet have no direction
            pull = c * (rate / square * d[a] if square > 0.0 else apart[a])
            force[e, a] += pull
            force[e, 6 + a] -= pull


@compiled
def bushing_drag(parameters, origins, orientations, memory, velocity, force):
    """Add forces (E, 12) of bushings' dampers, ``-S^T D S v``, at velocities (E, 12); S, D as of :func:`bushing_damping`.

    That is :func:`mse.kernels.masses.bushing_damping`, whose matrices linear models need.
    """
    d, w, near, turn, rates, push = np.empty(3), np.empty(3), np.empty(3), np.empty((3, 3)), np.empty(6), np.empty(6)
    first = parameters.shape[1] - 36
    for e in range(parameters.shape[0]):
        wound = parameters[e, :42].any()
        for a in range(3):
            d[a] = origins[e, 0, a] - origins[e, 1, a]
            near[a] = memory[e, a] if wound else 0.0
        _put_seen_turn(orientations[e], near, turn, w)
        slope = _seen_slope(orientations[e, 1], d, inverse_left_jacobian(w))
        for a in range(6):
            rates[a] = push[a] = 0.0
            for i in range(12):
                rates[a] += slope[a, i] * velocity[e, i]
        for a in range(6):
            for b in range(6):
                push[a] += parameters[e, first + 6 * a + b] * rates[b]
        for i in range(12):
            for a in range(6):
                force[e, i] -= slope[a, i] * push[a]


@part
def _seen_slope(u1, d, left):
    """Derivative (6, 12) of ``(U1^T d, log(U1^T U0))`` by the displacements of both frames."""
    out = np.zeros((6, 12))
    for a in range(3):
        for b in range(3):
            out[a, b], out[a, 6 + b] = u1[b, a], -u1[b, a]
            x = 0.0
            for c in range(3):
                x += left[a, c] * u1[b, c]
            out[3 + a, 3 + b], out[3 + a, 9 + b] = x, -x
        for b in range(3):  # U1^T [d]x
            i, j = (b + 1) % 3, (b + 2) % 3
            out[a, 9 + b] = u1[i, a] * d[j] - u1[j, a] * d[i]
    return out


@part
def _add_seen_curl(u1, d, w, left, f, h):
    """Add the second derivative of ``f . (U1^T d, log(U1^T U0))`` to h (12, 12)."""
    force, moment = apply(u1, f[:3]), f[3:]
    cross_force, turn = np.zeros((3, 3)), np.zeros((3, 3))
    add_cross_matrix(1.0, force, cross_force)
    fd = force[0] * d[0] + force[1] * d[1] + force[2] * d[2]
    # torque part: moment . log(exp(-b1) exp(b0) Q), by the product's second-order expansion
    add_cross_matrix(0.5, apply(u1, transposed_apply(left, moment)), turn)
    second = inverse_left_jacobian_slope(w, moment)
    add_cross_matrix(-1.0, moment, second)  # now that of -w
    half, world = product(u1, product(second, left)), np.zeros((3, 3))
    for a in range(3):
        for b in range(3):
            for c in range(3):
                world[a, b] += half[a, c] * u1[b, c]
    for a in range(3):
        for b in range(3):
            h[9 + a, b] += cross_force[a, b]
            h[b, 9 + a] += cross_force[a, b]
            h[9 + a, 6 + b] -= cross_force[a, b]
            h[6 + b, 9 + a] -= cross_force[a, b]
            sym = 0.5 * (world[a, b] + world[b, a])
            h[3 + a, 3 + b] += sym
            h[9 + a, 9 + b] += sym + 0.5 * (force[a] * d[b] + d[a] * force[b])
            h[9 + a, 3 + b] += turn[a, b] - sym
            h[3 + b, 9 + a] += turn[a, b] - sym
        h[9 + a, 9 + a] -= fd


@compiled
def body_load(parameters, origins, orientations, memory, gravity, order, energy, gradient, stiffness):
    """``W = -m g . o`` with parameters (m, ...); part gravity (the frame is at the center of mass)."""
    for e in range(parameters.shape[0]):
        m = parameters[e, 0]
        for a in range(3):
            energy[e] -= m * gravity[a] * origins[e, 0, a]
            gradient[e, a] -= m * gravity[a]


@compiled
def push(parameters, origins, orientations, memory, gravity, order, energy, gradient, stiffness):
    """``gradient = -(force, torque)`` of actuators that push frame 1, and frame 0 back along the same line; there is no energy.

    Parameters are force and torque (6,), along the axes of the world if the seventh is 1, and of frame 1 if it is 0.
    """
    force, lever = np.zeros(6), np.zeros(3)
    for e in range(parameters.shape[0]):
        for i in range(3):
            lever[i] = origins[e, 1, i] - origins[e, 0, i]
            for k in range(0, 6, 3):
                force[k + i] = parameters[e, k + i]
                if parameters[e, 6] == 0.0:
                    force[k + i] = 0.0
                    for j in range(3):
                        force[k + i] += orientations[e, 1, i, j] * parameters[e, k + j]
        for i in range(6):
            gradient[e, i], gradient[e, 6 + i] = force[i], -force[i]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            gradient[e, 3 + i] += lever[j] * force[k] - lever[k] * force[j]
