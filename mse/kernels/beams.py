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
from .small import apply, cross, dot, positive_inverse, product, put, transposed_apply, transposed_product

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
def _strain(row, curved_from, d):
    """e = d - d0 without what a change of curvature makes of d, and its derivative by d (6, 6)."""
    raw = d - row[_REST:_WEIGHT]
    wave, sway = _curved(row, curved_from)
    waves, swayed, turned = apply(wave, raw), apply(sway, raw), _turned(row, d)
    e = raw - turned * swayed
    e[0] += dot(waves, waves)
    slope = np.eye(6) - turned * sway
    for j in range(6):
        slope[0, j] += 2.0 * (waves[0] * wave[0, j] + waves[1] * wave[1, j])
    for i in range(6):
        for j in range(3):
            slope[i, 3 + j] -= swayed[i] * d[3 + j] / 360.0
    return e, slope


@njit(cache=True)
def _strain_curl(row, curved_from, d, pull):
    """Second derivative of ``e . pull`` by d, (6, 6)."""
    wave, sway = _curved(row, curved_from)
    curl = 2.0 * pull[0] * transposed_product(wave, wave)
    swung = dot(pull, apply(sway, d - row[_REST:_WEIGHT])) / 360.0
    side = transposed_apply(sway, pull) / 360.0
    for i in range(3):
        curl[3 + i, 3 + i] -= swung
        for j in range(6):
            curl[3 + i, j] -= d[3 + i] * side[j]
            curl[j, 3 + i] -= d[3 + i] * side[j]
    return curl


@njit(cache=True)
def _curved(row, first):
    return row[first : first + 12].reshape(2, 6), row[first + 12 :].reshape(6, 6)


@njit(cache=True)
def _turned(row, d):
    """``(t^2 - t0^2)/720`` of the turns in d and at rest."""
    return (dot(d[3:], d[3:]) - dot(row[_REST + 3 : _WEIGHT], row[_REST + 3 : _WEIGHT])) / 720.0


@njit(cache=True)
def _weigh(weight, origins, orientations, gravity, order, gradient, stiffness):
    """Energy of the weights (4,) at one segment's frames; adds to gradient (n,) and stiffness (n, n)."""
    energy = 0.0
    for i in range(2):
        arm = weight[2 + i] * orientations[i, :, 0]
        moment, down = cross(arm, gravity), dot(arm, gravity)
        energy -= weight[i] * dot(origins[i], gravity) + down
        if order == 0:
            continue
        for a in range(3):
            gradient[6 * i + a] -= weight[i] * gravity[a]
            gradient[6 * i + 3 + a] -= moment[a]
        if order < 2:
            continue
        for a in range(3):
            stiffness[6 * i + 3 + a, 6 * i + 3 + a] += down
            for b in range(3):
                stiffness[6 * i + 3 + a, 6 * i + 3 + b] -= 0.5 * (arm[a] * gravity[b] + gravity[a] * arm[b])
    return energy


@njit(cache=True)
def _to_world(a, u0, u1):
    """Columns (r, 12) for motions along the frames' own axes as columns for motions along the world's."""
    out = np.zeros(a.shape)
    for r in range(a.shape[0]):
        for f in range(4):
            u = u0 if f < 2 else u1
            for j in range(3):
                for k in range(3):
                    out[r, 3 * f + j] += a[r, 3 * f + k] * u[j, k]
    return out


@njit(cache=True)
def _motion_curl(d, pull, slope):
    """Second derivative of ``d . pull`` by the world's displacements of both frames, along their own axes (12, 12)."""
    h = np.zeros((12, 12))
    after, before = pulled_slope(d, pull), pulled_slope(-d, pull)
    body = transposed_apply(slope, pull)
    for i in range(6):
        for j in range(6):
            x11 = x00 = x10 = 0.0
            for k in range(6):  # slope is (-J^-1(d), J^-1(-d))
                x11 -= before[i, k] * slope[k, 6 + j]
                x00 -= after[i, k] * slope[k, j]
                x10 += before[i, k] * slope[k, j]
            h[6 + i, 6 + j] += 0.5 * x11
            h[6 + j, 6 + i] += 0.5 * x11
            h[i, j] += 0.5 * x00
            h[j, i] += 0.5 * x00
            h[6 + i, j] -= x10
            h[j, 6 + i] -= x10
    # origins move along world axes, not along the turning body's: displacement = v + w x v/2
    for f in range(2):
        half = 0.5 * cross_matrix(body[6 * f : 6 * f + 3])
        for i in range(3):
            for j in range(3):
                h[6 * f + 3 + i, 6 * f + j] += half[i, j]
                h[6 * f + i, 6 * f + 3 + j] += half[j, i]
    return h


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
    curved_from = tensed_from + m * m
    for n in range(parameters.shape[0]):
        row = parameters[n]
        u0, u1 = np.ascontiguousarray(orientations[n, 0]), np.ascontiguousarray(orientations[n, 1])
        d = relative_twist(origins[n, 0], u0, origins[n, 1], u1)
        if dot(d[3:], d[3:]) > MOST_TURN**2:
            energy[n] = np.nan
            continue
        # with the end force f, W = f.e - f^T F f/2, stationary in f
        e, e_slope = _strain(row, curved_from, d)
        lever = row[_LEVER:_BUBBLE].reshape(6, 6)
        turning = apply(lever, e)
        ad = small_adjoint(turning)
        by_mechanism = _present_flexibility(row, ad)
        k = positive_inverse(by_mechanism.sum(axis=0))
        f = apply(k, e)
        energy[n] = 0.5 * dot(f, e) + _weigh(
            row[_WEIGHT:_F], origins[n], orientations[n], gravity, order, gradient[n], stiffness[n, MECHANISMS]
        )
        if order == 0:
            continue
        bend, spread = coadjoint_form(f), row[_SPREAD:_LEVER]  # ad(a)^T f = bend a
        change = transposed_apply(row[_SLOPE:_SPREAD].reshape(6, 6), f) + spread * apply(bend, turning)
        on_strain = f + transposed_apply(lever, apply(bend, change))
        pull = transposed_apply(e_slope, on_strain)
        slope = np.empty((6, 12))
        put(slope, 0, 0, -inverse_jacobian(d))
        put(slope, 0, 6, inverse_jacobian(-d))
        in_world = _to_world(transposed_apply(slope, pull).reshape(1, 12), u0, u1)
        for i in range(12):
            gradient[n, i] += in_world[0, i]
        if order < 2:
            continue
        # how f follows the strain, and with it each mechanism
        follow = np.empty((6, 6))  # derivative of change by f
        turned = small_adjoint(change)
        for i in range(6):
            for j in range(6):
                follow[i, j] = row[_SLOPE + 6 * j + i] + spread[i] * ad[j, i]
        give = product(bend, follow)
        for i in range(6):
            for j in range(6):
                give[i, j] += turned[j, i]
        give = np.eye(6) + transposed_product(lever, give)
        strained = product(e_slope, slope)
        half_way = product(k, transposed_product(give, _to_world(strained, u0, u1)))
        for p in range(MECHANISMS):
            put(stiffness[n, p], 0, 0, transposed_product(half_way, product(by_mechanism[p], half_way)))
            put(stiffness[n, p], 12, 12, row[_BUBBLE + m * m * p : _BUBBLE + m * m * (p + 1)].reshape(m, m))
        # geometric: at constant f
        bent = product(bend, lever)
        weighted = bent.copy()
        for c in range(6):
            weighted[c] *= -spread[c]
        h = transposed_product(strained, product(transposed_product(bent, weighted), strained))
        h += transposed_product(slope, product(_strain_curl(row, curved_from, d, on_strain), slope))
        h += _motion_curl(d, pull, slope)
        half_turned = _to_world(h, u0, u1).T.copy()
        put(stiffness[n, MECHANISMS + 1], 0, 0, _to_world(half_turned, u0, u1))
        put(stiffness[n, MECHANISMS + 1], 12, 12, f[0] * row[tensed_from:curved_from].reshape(m, m))
