"""Energies of elements between two frames, many at once: spring, wire, bushing; and the load of rigid bodies.

Every kernel has the signature that :mod:`mse.elements.base` documents: it reads parameters (E, P), origins (E, F, 3),
orientations (E, F, 3, 3), memory (E, m) and gravity (3,), and fills energy (E,), gradient (E, 6 F) and, for order 2,
stiffness (E, parts, 6 F, 6 F).  Six-vectors are (displacement, rotation) with the rotation as exp([a]x) about world
axes.  An element outside its domain gets a NaN energy.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .rotations import (
    cross_matrix,
    inverse_left_jacobian,
    inverse_left_jacobian_slope,
    nearest_rotation_vector,
    rotation_vector,
)

# Ends closer than this fraction of the natural length have no usable direction.
_COINCIDENT = 1e-9


@njit(cache=True)
def _add_difference(block, sign_i, sign_j, i, j, h):
    """Add ``sign_i sign_j block`` to the rows of frame i and columns of frame j of h (12, 12); translations only."""
    s = sign_i * sign_j
    for a in range(3):
        for b in range(3):
            h[6 * i + a, 6 * j + b] += s * block[a, b]


@njit(cache=True)
def _line(o, length):
    """Unit vector from frame 0 to frame 1 and distance; ok is False where natural length > 0 and the ends coincide."""
    n = np.empty(3)
    for a in range(3):
        n[a] = o[1, a] - o[0, a]
    dist = np.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
    if dist > 0.0:
        for a in range(3):
            n[a] /= dist
    return n, dist, length == 0.0 or dist > _COINCIDENT * length


@njit(cache=True)
def _stretch(stiffness, length, n, dist, order, gradient, axial, geometric):
    """``k/2 (|d| - l0)^2``: adds its gradient (12,) and its axial and geometric stiffness (12, 12); returns the energy."""
    e = dist - length
    tension = stiffness * e
    for a in range(3):
        gradient[a] -= tension * n[a]
        gradient[6 + a] += tension * n[a]
    if order == 2:
        along = np.empty((3, 3))
        across = np.empty((3, 3))
        for a in range(3):
            for b in range(3):
                nn = n[a] * n[b]
                same = 1.0 if a == b else 0.0
                if dist > 0.0:
                    along[a, b] = stiffness * nn
                    across[a, b] = tension / dist * (same - nn)
                else:
                    # Natural length zero at zero distance: the energy is k d^2/2, isotropic.
                    along[a, b] = stiffness * same
                    across[a, b] = 0.0
        for i in range(2):
            for j in range(2):
                s = 1.0 if i == j else -1.0
                _add_difference(along, s, 1.0, i, j, axial)
                _add_difference(across, s, 1.0, i, j, geometric)
    return 0.5 * stiffness * e * e


@njit(cache=True)
def spring(parameters, origins, orientations, memory, gravity, order, energy, gradient, stiffness):
    """``W = k/2 (|o1 - o0| - l0)^2`` with parameters (l0, k); parts axial, geometric (manual 2.12)."""
    for e in range(parameters.shape[0]):
        n, dist, ok = _line(origins[e], parameters[e, 0])
        if not ok:
            energy[e] = np.nan
            continue
        energy[e] = _stretch(
            parameters[e, 1], parameters[e, 0], n, dist, order, gradient[e], stiffness[e, 0], stiffness[e, 1]
        )


@njit(cache=True)
def wire(parameters, origins, orientations, memory, gravity, order, energy, gradient, stiffness):
    """``W = k1/2 (|o1 - o0| - l0)^2 + k2/2 (w . n)^2`` with parameters (l0, k1, k2) (manual eq. 35).

    ``w`` is the rotation vector of U1 U0^T on the branch nearest to ``memory`` (E, 3); n points from frame 0 to
    frame 1.  Parts: axial, torsion, geometric.
    """
    for e in range(parameters.shape[0]):
        length, k1, k2 = parameters[e, 0], parameters[e, 1], parameters[e, 2]
        n, dist, ok = _line(origins[e], length)
        if not (ok and dist > 0.0):
            energy[e] = np.nan
            continue
        g = gradient[e]
        axial, torsion, geometric = stiffness[e, 0], stiffness[e, 1], stiffness[e, 2]
        energy[e] = _stretch(k1, length, n, dist, order, g, axial, geometric)
        w = rotation_vector(orientations[e, 1] @ orientations[e, 0].T)
        w = nearest_rotation_vector(w, memory[e])
        twist = w[0] * n[0] + w[1] * n[1] + w[2] * n[2]
        energy[e] += 0.5 * k2 * twist * twist
        left = inverse_left_jacobian(w)  # dw = left a1 - left^T a0
        slope = np.empty(12)  # d twist
        across = w - twist * n
        p1 = left.T @ n
        p0 = left @ n
        for a in range(3):
            slope[a] = -across[a] / dist
            slope[6 + a] = across[a] / dist
            slope[3 + a] = -p0[a]
            slope[9 + a] = p1[a]
        moment = k2 * twist
        for a in range(12):
            g[a] += moment * slope[a]
        if order < 2:
            continue
        for a in range(12):
            for b in range(12):
                torsion[a, b] += k2 * slope[a] * slope[b]
        # second derivative of the twist
        dp0 = inverse_left_jacobian_slope(w, n)
        dp1 = inverse_left_jacobian_slope(-w, n) * -1.0
        h11 = dp1 @ left  # exact first derivative of p1 along a1; its symmetric part is the exp-chart Hessian
        h00 = dp0 @ left.T
        h10 = -(dp1 @ left.T)
        for a in range(3):
            for b in range(3):
                geometric[9 + a, 9 + b] += moment * 0.5 * (h11[a, b] + h11[b, a])
                geometric[3 + a, 3 + b] += moment * 0.5 * (h00[a, b] + h00[b, a])
                geometric[9 + a, 3 + b] += moment * h10[a, b]
                geometric[3 + b, 9 + a] += moment * h10[a, b]
                d2 = -(across[a] * n[b] + n[a] * across[b]) - twist * ((1.0 if a == b else 0.0) - n[a] * n[b])
                d2 *= moment / (dist * dist)
                geometric[a, b] += d2
                geometric[6 + a, 6 + b] += d2
                geometric[a, 6 + b] -= d2
                geometric[6 + a, b] -= d2
        # origin - rotation: d/da1 of (w - (w.n) n)/dist = P left / dist
        for a in range(3):
            for b in range(3):
                c1 = moment * (left[a, b] - n[a] * p1[b]) / dist
                c0 = -moment * (left[b, a] - n[a] * p0[b]) / dist
                geometric[6 + a, 9 + b] += c1
                geometric[9 + b, 6 + a] += c1
                geometric[a, 9 + b] -= c1
                geometric[9 + b, a] -= c1
                geometric[6 + a, 3 + b] += c0
                geometric[3 + b, 6 + a] += c0
                geometric[a, 3 + b] -= c0
                geometric[3 + b, a] -= c0


@njit(cache=True)
def wire_memory(parameters, orientations, memory):
    """Overwrite memory (E, 3) by the rotation vectors of U1 U0^T, each on the branch nearest to the old one."""
    for e in range(memory.shape[0]):
        w = rotation_vector(orientations[e, 1] @ orientations[e, 0].T)
        memory[e] = nearest_rotation_vector(w, memory[e])


@njit(cache=True)
def bushing(parameters, origins, orientations, memory, gravity, order, energy, gradient, stiffness):
    """``W = s^T K s/2 - F^T s`` with parameters (K row by row, F) and the relative coordinates s (6,).

    ``s = (U1^T (o0 - o1), log(U1^T U0))``: frame 0 as seen from frame 1.  Parts: elastic, geometric.
    """
    for e in range(parameters.shape[0]):
        k = np.ascontiguousarray(parameters[e, :36]).reshape(6, 6)
        u1 = np.ascontiguousarray(orientations[e, 1])
        u1t = np.ascontiguousarray(u1.T)
        d = origins[e, 0] - origins[e, 1]
        s = np.empty(6)
        s[:3] = u1t @ d
        w = rotation_vector(u1t @ np.ascontiguousarray(orientations[e, 0]))
        s[3:] = w
        ks = k @ s
        f = ks - parameters[e, 36:42]
        energy[e] = 0.5 * s @ ks - parameters[e, 36:42] @ s
        # ds = slope (dx0, da0, dx1, da1)
        slope = np.zeros((6, 12))
        left = inverse_left_jacobian(w) @ u1t
        slope[:3, 0:3] = u1t
        slope[:3, 6:9] = -u1t
        slope[:3, 9:12] = u1t @ cross_matrix(d)
        slope[3:, 3:6] = left
        slope[3:, 9:12] = -left
        gradient[e] += slope.T @ f
        if order < 2:
            continue
        stiffness[e, 0] += slope.T @ (k @ slope)
        h = stiffness[e, 1]
        force = u1 @ f[:3]
        cross_force = cross_matrix(force)
        fd = force[0] * d[0] + force[1] * d[1] + force[2] * d[2]
        for a in range(3):
            for b in range(3):
                h[9 + a, b] += cross_force[a, b]
                h[b, 9 + a] += cross_force[a, b]
                h[9 + a, 6 + b] -= cross_force[a, b]
                h[6 + b, 9 + a] -= cross_force[a, b]
                h[9 + a, 9 + b] += 0.5 * (force[a] * d[b] + d[a] * force[b])
            h[9 + a, 9 + a] -= fd
        # torque part: moment . log(exp(-b1) exp(b0) Q), by the product's second-order expansion
        moment = np.ascontiguousarray(f[3:])
        g = inverse_left_jacobian(w).T @ moment
        second = -inverse_left_jacobian_slope(-w, moment) @ inverse_left_jacobian(w)
        world_second = u1 @ second @ u1t
        turn = 0.5 * cross_matrix(u1 @ g)
        for a in range(3):
            for b in range(3):
                sym = 0.5 * (world_second[a, b] + world_second[b, a])
                h[3 + a, 3 + b] += sym
                h[9 + a, 9 + b] += sym
                h[9 + a, 3 + b] += turn[a, b] - sym
                h[3 + b, 9 + a] += turn[a, b] - sym


@njit(cache=True)
def body_load(parameters, origins, orientations, memory, gravity, order, energy, gradient, stiffness):
    """``W = -m g . o`` with parameters (m,); part gravity (the frame is at the centre of mass)."""
    for e in range(parameters.shape[0]):
        m = parameters[e, 0]
        for a in range(3):
            energy[e] -= m * gravity[a] * origins[e, 0, a]
            gradient[e, a] -= m * gravity[a]
