"""Energy of beam segments, many at once.

A segment joins two frames g0, g1 of a beam.  Its strain is measured on the group of rigid motions by ``d = log(g0^-1 g1)``, so
constant stretch, curvature and twist are exact at any rotation (V. Sonneville, A. Cardona, O. Bruls, Comput. Methods Appl.
Mech. Eng. 268 (2014) 451).  Equilibrium gives what varies along the segment: an end force f, carried back along the bent
segment, makes stresses ``H^T f`` and moves the end by ``F f = d - d0`` with ``F = int H C^-1 H^T ds``.  Fourth-order
convergence for every section and bent shape needs ``H = H0 + (x - 1/2) ad(a)``, with H0 exact at rest and a the mean
stretch, shear and rotation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import compiled, long_part, part
from .motions import (
    put_bracket,
    put_coadjoint_form,
    put_forces_of,
    put_pulled_slope,
    put_relative_slope,
    put_relative_twist,
    put_small_adjoint,
    turn_squared,
)
from .small_matrices import (
    add_sixfold_transposed,
    put_applied,
    put_root_of_inverse,
    put_sixfold,
    put_transposed_applied,
    put_zeros,
)

MOST_TURN = 3.0  # rad between the ends of one segment
MECHANISMS = 5  # axial, shear, torsion, bending about y, bending about z
# component of stress (N, Vy, Vz, T, My, Mz) -> mechanism it belongs to
MECHANISM = np.array([0, 1, 1, 2, 3, 4])

# Where a segment's numbers begin in its row of parameters; :func:`pack` writes them.  With m internal coordinates, 5 m^2
# numbers for their stiffness by mechanism follow, and m^2 for its increase under tension.
_REST, _WEIGHT, _F, _SLOPE, _SPREAD, _LEVER, _BUBBLE = 0, 6, 10, 226, 262, 268, 304


class Row(NamedTuple):
    """The parameters of one segment with m internal coordinates.

    ``rest`` (6,) is d at rest; ``weight`` (4,) has ``int rho A x ds = m0 o0 + m1 o1 + n0 U0 e_x + n1 U1 e_x``; ``flexibility``
    (6, 6, 6) is F at rest by component of stress, ``slope`` (6, 6) ``int (x - 1/2) H0 C^-1 ds`` and ``spread`` (6,)
    ``int (x - 1/2)^2 C^-1 ds``; ``lever`` (6, 6) maps d' to the strain and rotation that bend the segment; ``bubble`` (5, m, m)
    is the stiffness of the internal coordinates by mechanism and ``tensed`` (m, m) its increase per newton of tension; ``wave``
    (2, 6) and ``sway`` (6, 6) are the terms of e in d'.
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


@long_part
def _add_flexibility(row, c, ad, out):
    """Add F by stress component c to ``out`` (6, 6), for a d that differs from rest by a twist with adjoint ``ad``."""
    spread = row[_SPREAD + c]
    for i in range(6):
        for j in range(6):
            slope_i, slope_j = row[_SLOPE + 6 * i + c], row[_SLOPE + 6 * j + c]
            at_rest = row[_F + 36 * c + 6 * i + j]
            out[i, j] += at_rest + slope_i * ad[j, c] + ad[i, c] * (slope_j + spread * ad[j, c])


@part
def _put_flexibility(row, turning, ad, work, out):
    """The sum of :func:`_add_flexibility` over all components into ``out`` (6, 6); ``work`` (2, 6, 6) is scratch.

    With G the slope and half of what ``spread`` adds to it, the sum is ``F + G ad^T + ad G^T``; ``ad`` belongs to ``turning``.
    """
    half, moved = work[0], work[1]
    for i in range(6):
        for c in range(6):
            half[i, c] = row[_SLOPE + 6 * i + c] + 0.5 * row[_SPREAD + c] * ad[i, c]
        put_bracket(turning, half[i], moved[i])
    for i in range(6):
        for j in range(i + 1):
            x = moved[i, j] + moved[j, i]
            for c in range(6):
                x += row[_F + 36 * c + 6 * i + j]
            out[i, j] = out[j, i] = x


@part
def _put_strain(row, curved, d, shortened, raw, e, slope):
    """e, its derivative by d (6, 6), and ``raw`` = d - d0; e is d - d0 without the terms that a change of curvature adds to d.

    By ``shortened`` (m) the segment would be shorter, since its inside bends.
    """
    put_zeros(slope)
    for i in range(6):
        raw[i] = d[i] - row[_REST + i]
    raw[0] += shortened
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


@long_part
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
    for i in range(2):
        m, arm, at, down = row[_WEIGHT + i], row[_WEIGHT + 2 + i], 6 * i + 3, 0.0
        u = orientations[i]
        for a in range(3):
            down += arm * u[a, 0] * gravity[a]
            energy -= m * origins[i, a] * gravity[a]
        energy -= down
        if order == 0:
            continue
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            gradient[6 * i + a] -= m * gravity[a]
            gradient[at + a] -= arm * (u[b, 0] * gravity[c] - u[c, 0] * gravity[b])
        if order < 2:
            continue
        for a in range(3):
            stiffness[at + a, at + a] += down
            for b in range(3):
                stiffness[at + a, at + b] -= 0.5 * arm * (u[a, 0] * gravity[b] + gravity[a] * u[b, 0])
    return energy


@long_part
def _put_in_world(a, orientations, out):
    """Columns (r, 12) for motions along the frames' own axes, as columns for motions along world axes, into ``out``."""
    for f in range(4):
        u = orientations[f // 2]
        for j in range(3):
            x, y, z = u[j, 0], u[j, 1], u[j, 2]
            for r in range(a.shape[0]):
                out[r, 3 * f + j] = a[r, 3 * f] * x + a[r, 3 * f + 1] * y + a[r, 3 * f + 2] * z


@long_part
def _put_half_curl(after, odd, out):
    """Half the second derivative of ``d . pull``, transposed: world displacements by motions along own axes, (12, 12).

    From ``put_pulled_slope`` at d and pull and ``coadjoint_form(pull)``, both times the derivative of d (6, 12).
    """
    for j in range(6):
        for i in range(6):
            out[j, i], out[6 + j, i] = -0.5 * after[i, j], 0.0
            out[j, 6 + i] = after[i, j] + odd[i, j]
            out[6 + j, 6 + i] = 0.5 * (after[i, 6 + j] + odd[i, 6 + j])


@long_part
def _add_motion_curl(half, moved, out):
    """Add the second derivative of ``d . pull`` by world displacements to ``out``; its first derivative is ``moved`` (12,)."""
    for i in range(12):
        for j in range(12):
            out[i, j] += half[i, j] + half[j, i]
    # origins move along world axes, which do not turn with the body: displacement = v + w x v/2
    for f in range(0, 12, 6):
        for i in range(3):
            j, k, x = f + (i + 1) % 3, f + (i + 2) % 3, 0.5 * moved[f + i]
            out[3 + k, j] += x
            out[j, 3 + k] += x
            out[3 + j, k] -= x
            out[k, 3 + j] -= x


@long_part
def _put_follow(row, ad, change, bend, lever, work, out):
    """How f follows the strain: (6, 6), to be applied transposed after F^-1; ``work`` (3 or more, 6, 6) is scratch."""
    turned, by_force, give = work[0], work[1], work[2]
    put_small_adjoint(change, turned)
    put_zeros(out)
    for i in range(6):
        out[i, i] = 1.0
        for j in range(6):
            by_force[i, j] = row[_SLOPE + 6 * j + i] + row[_SPREAD + i] * ad[j, i]
    put_sixfold(bend, by_force, give)
    for i in range(6):
        for j in range(6):
            give[i, j] += turned[j, i]
    add_sixfold_transposed(lever, give, out)


@long_part
def _add_inner(factor, numbers, m, stiffness):
    """Add a multiple of m^2 numbers to the stiffness of the m internal coordinates."""
    for i in range(m):
        for j in range(m):
            stiffness[12 + i, 12 + j] += factor * numbers[m * i + j]


@part
def _put_tensed(m, numbers, q, bent):
    """``G q`` into ``bent`` (m,), and ``q^T G q/2``."""
    shortened = 0.0
    for i in range(m):
        bent[i] = 0.0
        for j in range(m):
            bent[i] += numbers[m * i + j] * q[j]
        shortened += 0.5 * q[i] * bent[i]
    return shortened


@part
def _put_inner_forces(row, m, q, tensed, tension, gradient):
    """Forces on internal coordinates, ``B q + N G q``, into ``gradient``; half of what B stores."""
    stored = 0.0
    for i in range(m):
        force = 0.0
        for p in range(MECHANISMS):
            for j in range(m):
                force += row[_BUBBLE + m * (m * p + i) + j] * q[j]
        stored += 0.5 * q[i] * force
        gradient[12 + i] = force + tension * tensed[i]
    return stored


@long_part
def _add_inner_slopes(m, tensed, slope, inside, stiffness):
    """Add what a tension that follows motions of the ends, and the length that the inside takes, change in forces."""
    for p in range(inside.shape[0]):
        for k in range(6):
            for i in range(m):
                for j in range(12):
                    x = tensed[i] * inside[p, 0, k] * slope[k, j]
                    stiffness[12 + i, j] += x
                    stiffness[j, 12 + i] += x
        for i in range(m):
            for j in range(m):
                stiffness[12 + i, 12 + j] += tensed[i] * inside[p, 0, 0] * tensed[j]


@compiled
def segment(parameters, origins, orientations, memory, gravity, order, energy, gradient, stiffness):
    """``W = e^T F^-1 e/2 + q^T B q/2 - g . int rho A x ds``, F bent along with d.

    The inside, bent by q, takes the length ``q^T G q/2``, which adds to the stretch in e.
    ``e = d - d0`` without the terms that a change b of curvature adds to d: a shortening by ``h b^2/240``, which carries the
    geometric stiffness of a taut segment, and ``t^2/720 [d0, b]``, t the rotation (terms of the series of W. Magnus, Comm. Pure
    Appl. Math. 7 (1954) 649, for a nearly straight segment).  q (m,) are motions of the inside with the ends at rest, zero
    unless they follow the parameters; N is the tension.  Parts: the five mechanisms, gravity, geometric; all in one if
    ``stiffness`` has one part only.
    """
    m, parts = gradient.shape[1] - 12, stiffness.shape[1]
    tensed_from = _BUBBLE + MECHANISMS * m * m
    curved_from = tensed_from + m * m
    inner_from = curved_from + 48
    moves = parameters.shape[1] > inner_from
    tensed = np.zeros(m)
    # scratch, allocated once for all segments
    d, e, raw, turning, f, change = np.zeros(6), np.zeros(6), np.zeros(6), np.zeros(6), np.zeros(6), np.zeros(6)
    pull, pull_d, bent, by_own, moved = np.zeros(6), np.zeros(6), np.zeros(6), np.zeros(12), np.zeros(12)
    turn, powers, work, inside = np.zeros((3, 3)), np.zeros((4, 6)), np.zeros((4, 6, 6)), np.zeros((parts, 6, 6))
    e_slope, ad, flexibility, root = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6))
    bend, by_force, forced, swing = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6))
    own, slope, after, odd = np.zeros((6, 12)), np.zeros((6, 12)), np.zeros((6, 12)), np.zeros((6, 12))
    half, half_world = np.zeros((12, 12)), np.zeros((12, 12))
    for n in range(parameters.shape[0]):
        row, u = parameters[n], orientations[n]
        curved = row[curved_from:]
        put_relative_twist(origins[n, 0], u[0], origins[n, 1], u[1], turn, e, d)
        if turn_squared(d) > MOST_TURN**2:
            energy[n] = np.nan
            continue
        # with the end force f, W = f.e - f^T F f/2, stationary in f
        shortened = 0.0
        if moves:
            shortened = _put_tensed(m, row[tensed_from:], row[inner_from:], tensed)
        _put_strain(row, curved, d, shortened, raw, e, e_slope)
        lever = row[_LEVER:_BUBBLE].reshape(6, 6)
        put_applied(lever, e, turning)
        put_small_adjoint(turning, ad)
        _put_flexibility(row, turning, ad, work, flexibility)
        put_root_of_inverse(flexibility, work[0], root)
        put_applied(root, e, change)
        put_transposed_applied(root, change, f)
        energy[n] = _weigh(
            row, origins[n], u, gravity, order, gradient[n], stiffness[n, MECHANISMS if parts > 1 else 0]
        )
        for i in range(6):
            energy[n] += 0.5 * f[i] * e[i]
        if order == 0 and not moves:
            continue
        put_coadjoint_form(f, bend)  # ad(a)^T f = bend a
        put_applied(bend, turning, change)
        for i in range(6):
            change[i] *= row[_SPREAD + i]
            for j in range(6):
                change[i] += row[_SLOPE + 6 * j + i] * f[j]
        put_applied(bend, change, bent)
        put_transposed_applied(lever, bent, pull)
        for i in range(6):
            pull[i] += f[i]
        put_transposed_applied(e_slope, pull, pull_d)
        if moves:
            energy[n] += _put_inner_forces(row, m, row[inner_from:], tensed, pull_d[0], gradient[n])
        if order == 0:
            continue
        put_forces_of(d, pull_d, powers, by_own)
        for i in range(12):
            g, j = 3 * (i // 3), i % 3
            moved[i] = by_own[g] * u[i // 6, j, 0] + by_own[g + 1] * u[i // 6, j, 1] + by_own[g + 2] * u[i // 6, j, 2]
            gradient[n, i] += moved[i]
        if order < 2:
            continue
        # second derivatives by d: first elastic ones by part, where forces follow; then geometric ones at constant f
        _put_follow(row, ad, change, bend, lever, work, forced)
        put_zeros(by_force)
        add_sixfold_transposed(forced, e_slope, by_force)
        put_sixfold(root, by_force, work[0])
        for p in range(parts):
            put_zeros(inside[p])
        if parts == 1:
            add_sixfold_transposed(work[0], work[0], inside[0])
        else:
            put_zeros(forced)
            add_sixfold_transposed(root, work[0], forced)
            for c in range(6):
                put_zeros(flexibility)
                _add_flexibility(row, c, ad, flexibility)
                put_sixfold(flexibility, forced, work[0])
                add_sixfold_transposed(forced, work[0], inside[MECHANISM[c]])
        put_sixfold(bend, lever, work[0])
        put_sixfold(work[0], e_slope, swing)
        for c in range(6):
            for i in range(6):
                work[0, c, i] = -row[_SPREAD + c] * swing[c, i]
        add_sixfold_transposed(swing, work[0], inside[parts - 1])
        _add_strain_curl(curved, d, raw, pull, inside[parts - 1])
        put_relative_slope(d, work, own)
        _put_in_world(own, u, slope)
        if moves:
            _add_inner_slopes(m, tensed, slope, inside, stiffness[n, parts - 1])
        for p in range(parts):
            if p != MECHANISMS:
                put_sixfold(inside[p], slope, after)
                add_sixfold_transposed(slope, after, stiffness[n, p])
        geometric = stiffness[n, parts - 1]
        put_pulled_slope(d, pull_d, powers, work, forced)
        put_sixfold(forced, slope, after)
        put_coadjoint_form(pull_d, forced)
        put_sixfold(forced, slope, odd)
        _put_half_curl(after, odd, half)
        _put_in_world(half, u, half_world)
        _add_motion_curl(half_world, moved, geometric)
        for p in range(MECHANISMS):
            _add_inner(1.0, row[_BUBBLE + m * m * p :], m, stiffness[n, p if parts > 1 else 0])
        _add_inner(pull_d[0], row[tensed_from:], m, geometric)


def late_parts() -> list[tuple]:
    """The parts that :func:`segment` calls last, in order, with arguments of the right types: half of its compile time."""
    row, table, stack = (np.zeros((0,) * axes) for axes in (1, 2, 3))
    return [
        (_put_follow, (row, table, row, table, table, stack, table)),
        (_add_flexibility, (row, 0, table, table)),
        (_add_strain_curl, (row, row, row, row, table)),
        (put_relative_slope, (row, stack, table)),
        (_put_in_world, (table, stack, table)),
        (_add_inner_slopes, (0, row, table, stack, table)),
        (put_pulled_slope, (row, row, table, stack, table)),
        (_put_half_curl, (table, table, table)),
        (_add_motion_curl, (table, row, table)),
        (_add_inner, (0.0, row, 0, table)),
    ]
