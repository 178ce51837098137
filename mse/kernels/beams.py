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

from .jit import compiled, part
from .motions import coadjoint_form, pulled_slope, relative_slope, relative_twist, small_adjoint, turn_squared
from .small_matrices import add_transposed_product, apply, positive_inverse, product, transposed_apply

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


@part
def _add_flexibility(row, c, ad, out):
    """Add F by stress component c where d differs from rest by a twist with adjoint ``ad`` to ``out`` (6, 6)."""
    spread = row[_SPREAD + c]
    for i in range(6):
        for j in range(6):
            slope_i, slope_j = row[_SLOPE + 6 * i + c], row[_SLOPE + 6 * j + c]
            at_rest = row[_F + 36 * c + 6 * i + j]
            out[i, j] += at_rest + slope_i * ad[j, c] + ad[i, c] * (slope_j + spread * ad[j, c])


@part
def _strain(row, curved, d):
    """e = d - d0 without what a change of curvature makes of d, its derivative by d (6, 6), and d - d0."""
    raw, e, slope = np.zeros(6), np.zeros(6), np.zeros((6, 6))
    for i in range(6):
        raw[i] = d[i] - row[_REST + i]
    turned = (turn_squared(d) - turn_squared(row[_REST:_WEIGHT])) / 720.0
    for i in range(6):
        slope[i, i] = 1.0
        swayed = 0.0
        for j in range(6):
            swayed += curved[12 + 6 * i + j] * raw[j]
            slope[i, j] -= turned * curved[12 + 6 * i + j]
        for j in range(3):
            slope[i, 3 + j] -= swayed * d[3 + j] / 360.0
        e[i] = raw[i] - turned * swayed
    for w in range(2):
        waves = 0.0
        for j in range(6):
            waves += curved[6 * w + j] * raw[j]
        e[0] += waves * waves
        for j in range(6):
            slope[0, j] += 2.0 * waves * curved[6 * w + j]
    return e, slope, raw


@part
def _add_strain_curl(curved, d, raw, pull, out):
    """Add the second derivative of ``e . pull`` by d to ``out`` (6, 6)."""
    for j in range(6):
        side = 0.0
        for i in range(6):
            side += curved[12 + 6 * i + j] * pull[i] / 360.0
            out[i, j] += 2.0 * pull[0] * (curved[i] * curved[j] + curved[6 + i] * curved[6 + j])
        for i in range(3):
            out[3 + i, 3 + i] -= side * raw[j]
            out[3 + i, j] -= d[3 + i] * side
            out[j, 3 + i] -= d[3 + i] * side


@part
def _weigh(row, origins, orientations, gravity, order, gradient, stiffness):
    """Energy of the weights at one segment's frames; adds to gradient (n,) and stiffness (n, n)."""
    energy = 0.0
    arm = np.zeros(3)
    for i in range(2):
        m, at, down = row[_WEIGHT + i], 6 * i + 3, 0.0
        for a in range(3):
            arm[a] = row[_WEIGHT + 2 + i] * orientations[i, a, 0]
            down += arm[a] * gravity[a]
            energy -= m * origins[i, a] * gravity[a]
        energy -= down
        if order == 0:
            continue
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            gradient[6 * i + a] -= m * gravity[a]
            gradient[at + a] -= arm[b] * gravity[c] - arm[c] * gravity[b]
        if order < 2:
            continue
        for a in range(3):
            stiffness[at + a, at + a] += down
            for b in range(3):
                stiffness[at + a, at + b] -= 0.5 * (arm[a] * gravity[b] + gravity[a] * arm[b])
    return energy


@part
def _to_world(a, orientations):
    """Columns (r, 12) for motions along the frames' own axes as columns for motions along the world's."""
    out = np.zeros(a.shape)
    for r in range(a.shape[0]):
        for f in range(4):
            u = orientations[f // 2]
            for j in range(3):
                for k in range(3):
                    out[r, 3 * f + j] += a[r, 3 * f + k] * u[j, k]
    return out


@part
def _half_curl(after, odd):
    """Half the second derivative of ``d . pull``, transposed: world's displacements by motions along own axes, (12, 12).

    From ``pulled_slope(d, pull)`` and ``coadjoint_form(pull)``, both times the derivative of d (6, 12).
    """
    out = np.zeros((12, 12))
    for j in range(6):
        for i in range(6):
            out[j, i] = -0.5 * after[i, j]
            out[j, 6 + i] = after[i, j] + odd[i, j]
            out[6 + j, 6 + i] = 0.5 * (after[i, 6 + j] + odd[i, 6 + j])
    return out


@part
def _add_motion_curl(half, moved, out):
    """Add the second derivative of ``d . pull`` by the world's displacements to ``out``; its first one is ``moved`` (12,)."""
    for i in range(12):
        for j in range(12):
            out[i, j] += half[i, j] + half[j, i]
    # origins move along world axes, not along the turning body's: displacement = v + w x v/2
    for f in range(0, 12, 6):
        for i in range(3):
            j, k, x = f + (i + 1) % 3, f + (i + 2) % 3, 0.5 * moved[f + i]
            out[3 + k, j] += x
            out[j, 3 + k] += x
            out[3 + j, k] -= x
            out[k, 3 + j] -= x


@part
def _follow(row, ad, change, bend, lever):
    """How f follows the strain: (6, 6), applied transposed after F^-1."""
    turned, by_force, out = small_adjoint(change), np.zeros((6, 6)), np.zeros((6, 6))
    for i in range(6):
        out[i, i] = 1.0
        for j in range(6):
            by_force[i, j] = row[_SLOPE + 6 * j + i] + row[_SPREAD + i] * ad[j, i]
    give = product(bend, by_force)
    for i in range(6):
        for j in range(6):
            give[i, j] += turned[j, i]
    add_transposed_product(lever, give, out)
    return out


@part
def _put_inner(factor, numbers, m, stiffness):
    """Write the stiffness of the m internal coordinates: a multiple of m^2 numbers."""
    for i in range(m):
        for j in range(m):
            stiffness[12 + i, 12 + j] = factor * numbers[m * i + j]


@compiled
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
        row, u = parameters[n], orientations[n]
        curved = row[curved_from:]
        d = relative_twist(origins[n, 0], u[0], origins[n, 1], u[1])
        if turn_squared(d) > MOST_TURN**2:
            energy[n] = np.nan
            continue
        # with the end force f, W = f.e - f^T F f/2, stationary in f
        e, e_slope, raw = _strain(row, curved, d)
        lever = row[_LEVER:_BUBBLE].reshape(6, 6)
        turning = apply(lever, e)
        ad = small_adjoint(turning)
        flexibility = np.zeros((6, 6))
        for c in range(6):
            _add_flexibility(row, c, ad, flexibility)
        k = positive_inverse(flexibility)
        f = apply(k, e)
        energy[n] = _weigh(row, origins[n], u, gravity, order, gradient[n], stiffness[n, MECHANISMS])
        for i in range(6):
            energy[n] += 0.5 * f[i] * e[i]
        if order == 0:
            continue
        bend = coadjoint_form(f)  # ad(a)^T f = bend a
        change = apply(bend, turning)
        for i in range(6):
            change[i] *= row[_SPREAD + i]
            for j in range(6):
                change[i] += row[_SLOPE + 6 * j + i] * f[j]
        pull = transposed_apply(lever, apply(bend, change))
        for i in range(6):
            pull[i] += f[i]
        pull_d = transposed_apply(e_slope, pull)
        slope = _to_world(relative_slope(d), u)
        moved = transposed_apply(slope, pull_d)
        for i in range(12):
            gradient[n, i] += moved[i]
        if order < 2:
            continue
        by_force = np.zeros((6, 6))
        add_transposed_product(_follow(row, ad, change, bend, lever), e_slope, by_force)
        forced = product(product(k, by_force), slope)
        for c in range(6):
            flexibility = np.zeros((6, 6))
            _add_flexibility(row, c, ad, flexibility)
            add_transposed_product(forced, product(flexibility, forced), stiffness[n, MECHANISM[c]])
        for p in range(MECHANISMS):
            _put_inner(1.0, row[_BUBBLE + m * m * p :], m, stiffness[n, p])
        # geometric: at constant f
        geometric, inside = stiffness[n, MECHANISMS + 1], np.zeros((6, 6))
        swing, weighted = product(product(bend, lever), e_slope), np.zeros((6, 6))
        for c in range(6):
            for i in range(6):
                weighted[c, i] = -row[_SPREAD + c] * swing[c, i]
        add_transposed_product(swing, weighted, inside)
        _add_strain_curl(curved, d, raw, pull, inside)
        add_transposed_product(slope, product(inside, slope), geometric)
        half = _half_curl(product(pulled_slope(d, pull_d), slope), product(coadjoint_form(pull_d), slope))
        _add_motion_curl(_to_world(half, u), moved, geometric)
        _put_inner(f[0], row[tensed_from:], m, geometric)
