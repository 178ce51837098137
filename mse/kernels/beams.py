"""Energy of beam segments, many at once.

A segment joins two frames g0, g1 of a beam.  Its strain is measured on the group of rigid motions by
``d = log(g0^-1 g1)``: constant stretch, curvature and twist are exact, whatever the rotation (V. Sonneville, A. Cardona,
O. Bruls, Comput. Methods Appl. Mech. Eng. 268 (2014) 451).  What varies along the segment follows from equilibrium: an
end force f, carried back along the bent segment, makes stresses ``H^T f`` and moves the end by ``F f = d - d0`` with
``F = int H C^-1 H^T ds``.  To the order that fourth-order convergence asks for, in every section and bent shape,
``H = H0 + (x - 1/2) ad(a)``, with H0 exact at rest and a the mean stretch, shear and turn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from .motions import coadjoint_form, inverse_jacobian, pulled_slope, relative_twist, small_adjoint
from .rotations import cross_matrix

MOST_TURN = 3.0  # rad between the ends of one segment
MECHANISMS = 5  # axial, shear, torsion, bending about y, bending about z
# components of stress (N, Vy, Vz, T, My, Mz) by the mechanism they belong to
MECHANISM = np.array([0, 1, 1, 2, 3, 4])

# Where a segment's numbers lie in its row of parameters; :func:`pack` writes them.  With m internal coordinates, 5 m^2
# numbers follow for their stiffness by mechanism, and m^2 for what it gains under a pull.
_REST, _WEIGHT, _F, _SLOPE, _SPREAD, _LEVER, _BUBBLE = 0, 6, 10, 226, 262, 268, 304


class Row(NamedTuple):
    """The numbers of one segment with m internal coordinates.

    ``rest`` (6,) d at rest; ``weight`` (4,) with ``int rho A x ds = m0 o0 + m1 o1 + n0 U0 e_x + n1 U1 e_x``;
    ``flexibility`` (6, 6, 6) F at rest by component of stress, ``slope`` (6, 6) ``int (x - 1/2) H0 C^-1 ds`` and ``spread``
    (6,) ``int (x - 1/2)^2 C^-1 ds``; ``lever`` (6, 6) takes d' to the strain and turn that bend the segment; ``bubble``
    (5, m, m) the stiffness of the internal coordinates by mechanism and ``tensed`` (m, m) what it gains per newton of
    tension; ``wave`` (2, 6) and ``sway`` (6, 6) the terms of e in d'.
    """

    rest: np.ndarray
    weight: np.ndarray
    flexibility: np.ndarray
    slope: np.ndarray
    spread: np.ndarray
    lever: np.ndarray
    bubble: np.ndarray
    tensed: np.ndarray
    wave: np.ndarray
    sway: np.ndarray


def pack(row: Row) -> np.ndarray:
    """One row of the kernel's parameters."""
    return np.concatenate([a.ravel() for a in row])


@njit(cache=True)
def _inverse(a):
    """Inverse of a positive definite matrix (6, 6), by Cholesky."""
    n = 6
    low = np.zeros((n, n))
    for j in range(n):
        for i in range(j, n):
            x = a[i, j]
            for k in range(j):
                x -= low[i, k] * low[j, k]
            low[i, j] = np.sqrt(x) if i == j else x / low[j, j]
    inv = np.zeros((n, n))  # of low
    for j in range(n):
        inv[j, j] = 1.0 / low[j, j]
        for i in range(j + 1, n):
            x = 0.0
            for k in range(j, i):
                x -= low[i, k] * inv[k, j]
            inv[i, j] = x / low[i, i]
    return inv.T @ inv


@njit(cache=True)
def _present_flexibility(row, ad):
    """F by mechanism (5, 6, 6) where d differs from rest by a twist with adjoint ``ad``."""
    slope, spread = row[_SLOPE:_SPREAD].reshape(6, 6), row[_SPREAD:_LEVER]
    out = np.zeros((MECHANISMS, 6, 6))
    for c in range(6):
        at_rest = row[_F + 36 * c : _F + 36 * c + 36].reshape(6, 6)
        f = out[MECHANISM[c]]
        for i in range(6):
            for j in range(6):
                f[i, j] += at_rest[i, j] + slope[i, c] * ad[j, c] + ad[i, c] * (slope[j, c] + spread[c] * ad[j, c])
    return out


@njit(cache=True)
def segment(parameters, origins, orientations, memory, gravity, order, energy, gradient, stiffness):
    """``W = e^T F^-1 e/2 + q^T (B + N G) q/2 - g . int rho A x ds``, F bent along with d, for ``q = 0``.

    ``e = d - d0`` without what a change b of curvature makes of d: a shortening by ``h b^2/240``, which carries the
    geometric stiffness of a taut segment, and ``t^2/720 [d0, b]``, t the turn (terms of the series of W. Magnus, Comm. Pure
    Appl. Math. 7 (1954) 649, for a nearly straight segment).  q (m,) are motions of the inside with the ends at rest, N
    the tension.  Parts: the five mechanisms, gravity, geometric.
    """
    m = gradient.shape[1] - 12
    tensed_from = _BUBBLE + MECHANISMS * m * m
    wave_from = tensed_from + m * m
    turn = np.zeros((12, 12))
    for n in range(parameters.shape[0]):
        row = parameters[n]
        u0, u1 = np.ascontiguousarray(orientations[n, 0]), np.ascontiguousarray(orientations[n, 1])
        d = relative_twist(origins[n, 0], u0, origins[n, 1], u1)
        if d[3] * d[3] + d[4] * d[4] + d[5] * d[5] > MOST_TURN**2:
            energy[n] = np.nan
            continue
        # -- strain energy: with the end force f, W = f.d' - f^T F f/2, stationary in f
        strain = d - row[_REST:_WEIGHT]
        wave, sway = row[wave_from : wave_from + 12].reshape(2, 6), row[wave_from + 12 :].reshape(6, 6)
        waves, swayed, rest = wave @ strain, sway @ strain, row[_REST:_WEIGHT]
        turned = (d[3:] @ d[3:] - rest[3:] @ rest[3:]) / 720.0
        strain = strain - turned * swayed
        strain[0] += waves @ waves
        lever = row[_LEVER:_BUBBLE].reshape(6, 6)
        turning = lever @ strain
        ad = small_adjoint(turning)
        by_mechanism = _present_flexibility(row, ad)
        k = _inverse(by_mechanism.sum(axis=0))
        f = k @ strain
        energy[n] = 0.5 * f @ strain
        weight = row[_WEIGHT:_F]
        for i in range(2):
            for a in range(3):
                energy[n] -= gravity[a] * (weight[i] * origins[n, i, a] + weight[2 + i] * orientations[n, i, a, 0])
        if order == 0:
            continue
        bend = coadjoint_form(f)  # ad(d')^T f = bend d'
        carried = bend @ turning
        spread = row[_SPREAD:_LEVER]
        change = np.ascontiguousarray(row[_SLOPE:_SPREAD].reshape(6, 6).T) @ f + spread * carried
        pull = f + lever.T @ (bend @ change)
        left, right = inverse_jacobian(d), inverse_jacobian(-d)
        slope = np.empty((6, 12))
        slope[:, :6] = -left
        slope[:, 6:] = right
        rise = np.eye(6) - turned * sway
        for j in range(6):
            rise[0, j] += 2.0 * (waves[0] * wave[0, j] + waves[1] * wave[1, j])
        for i in range(6):
            for j in range(3):
                rise[i, 3 + j] -= swayed[i] * d[3 + j] / 360.0
        curl = 2.0 * pull[0] * (wave.T @ wave)
        swung, side = (pull @ swayed) / 360.0, (sway.T @ pull) / 360.0
        for i in range(3):
            curl[3 + i, 3 + i] -= swung
            for j in range(6):
                curl[3 + i, j] -= d[3 + i] * side[j]
                curl[j, 3 + i] -= d[3 + i] * side[j]
        straight = slope
        slope = rise @ slope
        pull = rise.T @ pull
        body = straight.T @ pull
        for i in range(4):
            turn[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = u0.T if i < 2 else u1.T
        gradient[n, :12] += turn.T @ body
        for i in range(2):
            arm = weight[2 + i] * orientations[n, i, :, 0]
            cross = np.cross(arm, gravity)
            for a in range(3):
                gradient[n, 6 * i + a] -= weight[i] * gravity[a]
                gradient[n, 6 * i + 3 + a] -= cross[a]
        if order < 2:
            continue
        # -- second derivatives: elastic by mechanism, gravity, and the rest
        follow = np.empty((6, 6))  # derivative of change by f, at fixed strain
        for i in range(6):
            for j in range(6):
                follow[i, j] = row[_SLOPE + 6 * j + i] + spread[i] * ad[j, i]
        give = np.eye(6) + lever.T @ (bend @ follow + small_adjoint(change).T)
        world = slope @ turn
        half_way = k @ (give.T @ world)
        for p in range(MECHANISMS):
            stiffness[n, p, :12, :12] += half_way.T @ (by_mechanism[p] @ half_way)
            stiffness[n, p, 12:, 12:] += row[_BUBBLE + m * m * p : _BUBBLE + m * m * (p + 1)].reshape(m, m)
        for i in range(2):
            arm = weight[2 + i] * orientations[n, i, :, 0]
            down = arm[0] * gravity[0] + arm[1] * gravity[1] + arm[2] * gravity[2]
            for a in range(3):
                for b in range(3):
                    turned = -0.5 * (arm[a] * gravity[b] + gravity[a] * arm[b]) + (down if a == b else 0.0)
                    stiffness[n, MECHANISMS, 6 * i + 3 + a, 6 * i + 3 + b] += turned
        bent = bend @ lever
        for c in range(6):
            bent[c] *= np.sqrt(spread[c])
        bent = -(bent.T @ bent)
        h = slope.T @ (bent @ slope) + straight.T @ (curl @ straight)
        slope_left, slope_right = pulled_slope(d, pull), -pulled_slope(-d, pull)
        h11 = slope_right @ right
        h00 = slope_left @ left
        h10 = slope_right @ left
        h[6:, 6:] += 0.5 * (h11 + h11.T)
        h[:6, :6] += 0.5 * (h00 + h00.T)
        h[6:, :6] -= h10
        h[:6, 6:] -= h10.T
        # origins move along world axes, not along the turning body's: displacement = v + w x v/2
        for i in range(2):
            half = 0.5 * cross_matrix(body[6 * i : 6 * i + 3])
            h[6 * i + 3 : 6 * i + 6, 6 * i : 6 * i + 3] += half
            h[6 * i : 6 * i + 3, 6 * i + 3 : 6 * i + 6] += half.T
        geometric = stiffness[n, MECHANISMS + 1]
        geometric[:12, :12] += turn.T @ (h @ turn)
        geometric[12:, 12:] += f[0] * row[tensed_from:wave_from].reshape(m, m)
