"""Accelerations of rigid bodies whose joints form a tree, in coordinates of the joints and in time linear in their number.

Articulated inertias go from the leaves to the ground, accelerations back (R. Featherstone, Rigid Body Dynamics Algorithms, 2008,
chapter 7), along the axes of the world, about the points of the joints.  A joint is a series of nodes of which each slides, turns
about one axis, turns about all, or is welded; nodes between two bodies have no mass.

A step has coordinates about the poses at its begin: displacements, angles, and for ball joints the rotation vector a with
``U = U_p R exp([a]x)``, whose velocities w are along the axes of the body, ``a' = J(a)^-T w``.
"""

from __future__ import annotations

from math import sin, sqrt
from typing import NamedTuple

import numpy as np

from .jit import bare_part, inner_part, summing_part

WELD, SLIDE, HINGE, BALL = 0, 1, 2, 3
# Of inertias that a joint takes out: less than this is rounding.  With 1e-16 and 1e-9 tests/dynamics/test_trees.py passes.
_NOTHING = 1e-13


class Tree(NamedTuple):
    """A tree of joints as arrays; nodes are numbered from 1, behind those that they hang on; the ground is 0.

    ``nodes`` (k + 1, 6) have the node that each hangs on, its kind, its first coordinate, its body (0 for none), and the first
    and last node of its joint.  ``places`` (k + 1, 3, 3) are where a joint sits on what it hangs on, where on the node itself,
    and the axis along what it hangs on.  ``masses`` (k + 1, 10) are the mass, mass times center and inertia (xx, xy, xz, yy, yz,
    zz) about the joint, along the node's axes.  ``springs`` (k + 1, 4) are stiffness, rest, preload and damping.  ``marks``
    (k + 1, 4, 3) are two axes on what a hinge hangs on and two on the node, which coincide where its angle is zero.  ``levers``
    (k + 1, 3) go from the joint of what a node hangs on to its own, along what it hangs on.  ``ends`` (l, 2) are the nodes of
    springs along lines, ``lines`` (l, 10) where on both nodes they act, from the nodes' joints, and four numbers as of springs.
    """

    gravity: np.ndarray
    nodes: np.ndarray
    places: np.ndarray
    masses: np.ndarray
    springs: np.ndarray
    marks: np.ndarray
    levers: np.ndarray
    ends: np.ndarray
    lines: np.ndarray


# Where a row of the work of a tree, one for each node, keeps what.  A step starts with how a node has turned on that before it,
# and with the coordinate of a slide or hinge.  A hinge turns by ``T + sin(q) E T + (1 - cos q) E^2 T``, with E the cross matrix
# of its axis: three matrices.  Then come orientation, axis, arm from the joint before, angular velocity, acceleration that
# velocities make, articulated inertia (M: 6, H: 9, J: 6) and force, what a slide or hinge takes of these with the inverse
# of its pivot and its push, the acceleration, and place and velocity of the joint.
TURNED, VALUE, U, AXIS, ARM, W = 0, 27, 28, 37, 40, 43
BIAS, M, H, J, F, COLUMN, INVERSE, PUSH, A, P, V, WIDTH = 46, 52, 58, 67, 73, 79, 85, 86, 87, 93, 96, 99


@inner_part
def _put_turned(row, before, matrix):
    """Orientation (9) of a node into its row: that of a row ``before`` times the matrix (9) at a place of its own row."""
    t0, t1, t2 = row[matrix], row[matrix + 1], row[matrix + 2]
    t3, t4, t5 = row[matrix + 3], row[matrix + 4], row[matrix + 5]
    t6, t7, t8 = row[matrix + 6], row[matrix + 7], row[matrix + 8]
    for i in range(U, U + 9, 3):
        x, y, z = before[i], before[i + 1], before[i + 2]
        row[i], row[i + 1], row[i + 2] = x * t0 + y * t3 + z * t6, x * t1 + y * t4 + z * t7, x * t2 + y * t5 + z * t8


@inner_part
def _turning(square):
    """``sin(a) / a`` and ``(1 - cos(a)) / a^2`` of the square of an angle a.

    Up to 1 rad, and few steps turn further, nine terms of their series are exact to rounding, and a third of the work.
    """
    if square > 1.0:
        angle = sqrt(square)
        half = sin(0.5 * angle)
        return sin(angle) / angle, 2.0 * half * half / square
    s = 1 / 6227020800 - square * (1 / 1307674368000 - square * (1 / 355687428096000))
    s = 1 / 120 - square * (1 / 5040 - square * (1 / 362880 - square * (1 / 39916800 - square * s)))
    c = 1 / 87178291200 - square * (1 / 20922789888000 - square * (1 / 6402373705728000))
    c = 1 / 720 - square * (1 / 40320 - square * (1 / 3628800 - square * (1 / 479001600 - square * c)))
    return 1.0 - square * (1 / 6 - square * s), 0.5 - square * (1 / 24 - square * c)


@inner_part
def _put_ball(row, rates, at, y, out):
    """``exp([a]x)`` (9) of the coordinates a of a ball joint into its row at H, and the rate of a; w begins at ``rates``."""
    x, z, t = y[at], y[at + 1], y[at + 2]
    square = x * x + z * z + t * t
    s, c = _turning(square)
    # (1 - s / (2 c)) / a^2, which below 1e-2 rad are three terms to rounding
    d = 1 / 12 + square * (1 / 720 + square * (1 / 30240)) if square < 1e-4 else (1.0 - 0.5 * s / c) / square
    row[H], row[H + 4], row[H + 8] = 1.0 - c * (z * z + t * t), 1.0 - c * (x * x + t * t), 1.0 - c * (x * x + z * z)
    row[H + 1], row[H + 3] = c * x * z - s * t, c * x * z + s * t
    row[H + 2], row[H + 6] = c * x * t + s * z, c * x * t - s * z
    row[H + 5], row[H + 7] = c * z * t - s * x, c * z * t + s * x
    w0, w1, w2 = y[rates], y[rates + 1], y[rates + 2]
    along, rest = d * (x * w0 + z * w1 + t * w2), 1.0 - d * square
    out[at] = rest * w0 + along * x + 0.5 * (z * w2 - t * w1)
    out[at + 1] = rest * w1 + along * z + 0.5 * (t * w0 - x * w2)
    out[at + 2] = rest * w2 + along * t + 0.5 * (x * w1 - z * w0)


@bare_part
def place(tree, rows, y, out):
    """Orientations, arms, and angular velocities of all nodes at coordinates y (2 n + 1,), and rates of coordinates into out."""
    n = (y.shape[0] - 1) // 2
    for k in range(1, tree.nodes.shape[0]):
        kind, at = tree.nodes[k, 1], tree.nodes[k, 2]
        row, before, own, lever = rows[k], rows[tree.nodes[k, 0]], tree.places[k], tree.levers[k]
        rate = 0.0
        for i in range(3):
            x, z, t = before[U + 3 * i], before[U + 3 * i + 1], before[U + 3 * i + 2]
            row[AXIS + i] = x * own[2, 0] + z * own[2, 1] + t * own[2, 2]
            row[ARM + i] = x * lever[0] + z * lever[1] + t * lever[2]
        if kind == HINGE:
            s, c = _turning(y[at] * y[at])
            s, c = y[at] * s, y[at] * y[at] * c
            for i in range(9):
                row[H + i] = row[TURNED + i] + s * row[TURNED + 9 + i] + c * row[TURNED + 18 + i]
            _put_turned(row, before, H)
            out[at] = rate = y[n + at]
        else:
            _put_turned(row, before, TURNED)
        for i in range(3):
            row[W + i] = before[W + i] + rate * row[AXIS + i]
        if kind == SLIDE:
            out[at] = y[n + at]
            for i in range(3):
                row[ARM + i] += (row[VALUE] + y[at]) * row[AXIS + i]
        elif kind == BALL:
            _put_ball(row, n + at, at, y, out)
            _put_turned(row, row, H)
            for i in range(3):
                x, z, t = row[U + 3 * i], row[U + 3 * i + 1], row[U + 3 * i + 2]
                row[W + i] += x * y[n + at] + z * y[n + at + 1] + t * y[n + at + 2]


@summing_part
def _put_bias(row, before, sliding):
    """Acceleration (6) of a node from velocities, relative to the one before it; ``sliding`` is twice the rate of a slide."""
    p0, p1, p2 = before[W], before[W + 1], before[W + 2]
    r0, r1, r2, w0, w1, w2 = row[ARM], row[ARM + 1], row[ARM + 2], row[W], row[W + 1], row[W + 2]
    along, square = p0 * r0 + p1 * r1 + p2 * r2, p0 * p0 + p1 * p1 + p2 * p2
    e0, e1, e2 = sliding * row[AXIS], sliding * row[AXIS + 1], sliding * row[AXIS + 2]
    row[BIAS] = p0 * along - r0 * square + p1 * e2 - p2 * e1
    row[BIAS + 1] = p1 * along - r1 * square + p2 * e0 - p0 * e2
    row[BIAS + 2] = p2 * along - r2 * square + p0 * e1 - p1 * e0
    row[BIAS + 3] = p1 * w2 - p2 * w1
    row[BIAS + 4] = p2 * w0 - p0 * w2
    row[BIAS + 5] = p0 * w1 - p1 * w0


@summing_part
def _put_own(row, own):
    """Inertia of a node about its joint, along the world, and the forces that it takes without accelerations."""
    mass = own[0]
    if mass == 0.0 and own[4] + own[7] + own[9] == 0.0:
        for i in range(M, COLUMN):
            row[i] = 0.0
        return
    w0, w1, w2 = row[W], row[W + 1], row[W + 2]
    a0, a1, a2 = row[U], row[U + 1], row[U + 2]
    b0, b1, b2 = row[U + 3], row[U + 4], row[U + 5]
    c0, c1, c2 = row[U + 6], row[U + 7], row[U + 8]
    s0 = a0 * own[1] + a1 * own[2] + a2 * own[3]
    s1 = b0 * own[1] + b1 * own[2] + b2 * own[3]
    s2 = c0 * own[1] + c1 * own[2] + c2 * own[3]
    row[M] = row[M + 3] = row[M + 5] = mass
    row[M + 1] = row[M + 2] = row[M + 4] = row[H] = row[H + 4] = row[H + 8] = 0.0
    # -[s]x
    row[H + 1], row[H + 2], row[H + 3], row[H + 5], row[H + 6], row[H + 7] = s2, -s1, -s2, s0, s1, -s0
    along, square = w0 * s0 + w1 * s1 + w2 * s2, w0 * w0 + w1 * w1 + w2 * w2
    row[F], row[F + 1], row[F + 2] = w0 * along - s0 * square, w1 * along - s1 * square, w2 * along - s2 * square
    x, y, z = (
        a0 * own[4] + a1 * own[5] + a2 * own[6],
        a0 * own[5] + a1 * own[7] + a2 * own[8],
        a0 * own[6] + a1 * own[8] + a2 * own[9],
    )
    j0, j1, j2 = x * a0 + y * a1 + z * a2, x * b0 + y * b1 + z * b2, x * c0 + y * c1 + z * c2
    x, y, z = (
        b0 * own[4] + b1 * own[5] + b2 * own[6],
        b0 * own[5] + b1 * own[7] + b2 * own[8],
        b0 * own[6] + b1 * own[8] + b2 * own[9],
    )
    j3, j4 = x * b0 + y * b1 + z * b2, x * c0 + y * c1 + z * c2
    x, y, z = (
        c0 * own[4] + c1 * own[5] + c2 * own[6],
        c0 * own[5] + c1 * own[7] + c2 * own[8],
        c0 * own[6] + c1 * own[8] + c2 * own[9],
    )
    j5 = x * c0 + y * c1 + z * c2
    row[J], row[J + 1], row[J + 2], row[J + 3], row[J + 4], row[J + 5] = j0, j1, j2, j3, j4, j5
    l0, l1, l2 = j0 * w0 + j1 * w1 + j2 * w2, j1 * w0 + j3 * w1 + j4 * w2, j2 * w0 + j4 * w1 + j5 * w2
    row[F + 3], row[F + 4], row[F + 5] = w1 * l2 - w2 * l1, w2 * l0 - w0 * l2, w0 * l1 - w1 * l0


@summing_part
def _let_go(row, kind, own, y, at):
    """Take the motion along a slide or hinge out of inertia and force of a node; its pivot, 0 where it has no inertia.

    ``own`` are stiffness, rest, preload and damping, ``at`` the places of its coordinate and rate in y.
    """
    e0, e1, e2 = row[AXIS], row[AXIS + 1], row[AXIS + 2]
    if kind == HINGE:
        c0 = row[H] * e0 + row[H + 1] * e1 + row[H + 2] * e2
        c1 = row[H + 3] * e0 + row[H + 4] * e1 + row[H + 5] * e2
        c2 = row[H + 6] * e0 + row[H + 7] * e1 + row[H + 8] * e2
        d0 = row[J] * e0 + row[J + 1] * e1 + row[J + 2] * e2
        d1 = row[J + 1] * e0 + row[J + 3] * e1 + row[J + 4] * e2
        d2 = row[J + 2] * e0 + row[J + 4] * e1 + row[J + 5] * e2
        pivot, size = e0 * d0 + e1 * d1 + e2 * d2, row[J] + row[J + 3] + row[J + 5]
        push = -(e0 * row[F + 3] + e1 * row[F + 4] + e2 * row[F + 5])
    else:
        c0 = row[M] * e0 + row[M + 1] * e1 + row[M + 2] * e2
        c1 = row[M + 1] * e0 + row[M + 3] * e1 + row[M + 4] * e2
        c2 = row[M + 2] * e0 + row[M + 4] * e1 + row[M + 5] * e2
        d0 = row[H] * e0 + row[H + 3] * e1 + row[H + 6] * e2
        d1 = row[H + 1] * e0 + row[H + 4] * e1 + row[H + 7] * e2
        d2 = row[H + 2] * e0 + row[H + 5] * e1 + row[H + 8] * e2
        pivot, size = e0 * c0 + e1 * c1 + e2 * c2, row[M] + row[M + 3] + row[M + 5]
        push = -(e0 * row[F] + e1 * row[F + 1] + e2 * row[F + 2])
    if not pivot > _NOTHING * size:
        return 0.0
    push += own[2] - own[0] * (row[VALUE] + y[at[0]] - own[1]) - own[3] * y[at[1]]
    row[COLUMN], row[COLUMN + 1], row[COLUMN + 2] = c0, c1, c2
    row[COLUMN + 3], row[COLUMN + 4], row[COLUMN + 5] = d0, d1, d2
    inverse = 1.0 / pivot
    row[INVERSE], row[PUSH] = inverse, push
    x0, x1, x2, z0, z1, z2 = c0 * inverse, c1 * inverse, c2 * inverse, d0 * inverse, d1 * inverse, d2 * inverse
    row[M], row[M + 1], row[M + 2] = row[M] - x0 * c0, row[M + 1] - x0 * c1, row[M + 2] - x0 * c2
    row[M + 3], row[M + 4], row[M + 5] = row[M + 3] - x1 * c1, row[M + 4] - x1 * c2, row[M + 5] - x2 * c2
    row[H], row[H + 1], row[H + 2] = row[H] - x0 * d0, row[H + 1] - x0 * d1, row[H + 2] - x0 * d2
    row[H + 3], row[H + 4], row[H + 5] = row[H + 3] - x1 * d0, row[H + 4] - x1 * d1, row[H + 5] - x1 * d2
    row[H + 6], row[H + 7], row[H + 8] = row[H + 6] - x2 * d0, row[H + 7] - x2 * d1, row[H + 8] - x2 * d2
    row[J], row[J + 1], row[J + 2] = row[J] - z0 * d0, row[J + 1] - z0 * d1, row[J + 2] - z0 * d2
    row[J + 3], row[J + 4], row[J + 5] = row[J + 3] - z1 * d1, row[J + 4] - z1 * d2, row[J + 5] - z2 * d2
    row[F], row[F + 1], row[F + 2] = row[F] + x0 * push, row[F + 1] + x1 * push, row[F + 2] + x2 * push
    row[F + 3], row[F + 4], row[F + 5] = row[F + 3] + z0 * push, row[F + 4] + z1 * push, row[F + 5] + z2 * push
    return pivot


@summing_part
def _hand_force_on(row, to):
    """Add the force that a node passes on at its joint to the force of the node that carries it."""
    r0, r1, r2 = row[ARM], row[ARM + 1], row[ARM + 2]
    b0, b1, b2, b3, b4, b5 = row[BIAS], row[BIAS + 1], row[BIAS + 2], row[BIAS + 3], row[BIAS + 4], row[BIAS + 5]
    # fmt: off
    f0 = row[F] + row[M] * b0 + row[M + 1] * b1 + row[M + 2] * b2 + row[H] * b3 + row[H + 1] * b4 + row[H + 2] * b5
    f1 = row[F + 1] + row[M + 1] * b0 + row[M + 3] * b1 + row[M + 4] * b2 + row[H + 3] * b3 + row[H + 4] * b4 + row[H + 5] * b5
    f2 = row[F + 2] + row[M + 2] * b0 + row[M + 4] * b1 + row[M + 5] * b2 + row[H + 6] * b3 + row[H + 7] * b4 + row[H + 8] * b5
    f3 = row[F + 3] + row[H] * b0 + row[H + 3] * b1 + row[H + 6] * b2 + row[J] * b3 + row[J + 1] * b4 + row[J + 2] * b5
    f4 = row[F + 4] + row[H + 1] * b0 + row[H + 4] * b1 + row[H + 7] * b2 + row[J + 1] * b3 + row[J + 3] * b4 + row[J + 4] * b5
    f5 = row[F + 5] + row[H + 2] * b0 + row[H + 5] * b1 + row[H + 8] * b2 + row[J + 2] * b3 + row[J + 4] * b4 + row[J + 5] * b5
    # fmt: on
    to[F], to[F + 1], to[F + 2] = to[F] + f0, to[F + 1] + f1, to[F + 2] + f2
    to[F + 3] += f3 + r1 * f2 - r2 * f1
    to[F + 4] += f4 + r2 * f0 - r0 * f2
    to[F + 5] += f5 + r0 * f1 - r1 * f0


@summing_part
def _hand_inertia_on(row, to):
    """Add the inertia that a node passes on at its joint to the inertia of the node that carries it."""
    r0, r1, r2 = row[ARM], row[ARM + 1], row[ARM + 2]
    # All is read from the row again, since registers do not hold it: kept, it would go to the stack and back.
    # H' = H - M [r]x, J' = J - H'[r]x + [r]x H', of which the first H' is transposed and without the arm
    g0 = row[H] - row[M + 1] * r2 + row[M + 2] * r1
    g1 = row[H + 1] - row[M + 2] * r0 + row[M] * r2
    g2 = row[H + 2] - row[M] * r1 + row[M + 1] * r0
    g3 = row[H + 3] - row[M + 3] * r2 + row[M + 4] * r1
    g4 = row[H + 4] - row[M + 4] * r0 + row[M + 1] * r2
    g5 = row[H + 5] - row[M + 1] * r1 + row[M + 3] * r0
    g6 = row[H + 6] - row[M + 4] * r2 + row[M + 5] * r1
    g7 = row[H + 7] - row[M + 5] * r0 + row[M + 2] * r2
    g8 = row[H + 8] - row[M + 2] * r1 + row[M + 4] * r0
    to[M], to[M + 1], to[M + 2] = to[M] + row[M], to[M + 1] + row[M + 1], to[M + 2] + row[M + 2]
    to[M + 3], to[M + 4], to[M + 5] = to[M + 3] + row[M + 3], to[M + 4] + row[M + 4], to[M + 5] + row[M + 5]
    to[H], to[H + 1], to[H + 2] = to[H] + g0, to[H + 1] + g1, to[H + 2] + g2
    to[H + 3], to[H + 4], to[H + 5] = to[H + 3] + g3, to[H + 4] + g4, to[H + 5] + g5
    to[H + 6], to[H + 7], to[H + 8] = to[H + 6] + g6, to[H + 7] + g7, to[H + 8] + g8
    to[J] += row[J] + r1 * (g6 + row[H + 6]) - r2 * (g3 + row[H + 3])
    to[J + 1] += row[J + 1] + r1 * g7 - r2 * g4 + r2 * row[H] - r0 * row[H + 6]
    to[J + 2] += row[J + 2] + r1 * g8 - r2 * g5 + r0 * row[H + 3] - r1 * row[H]
    to[J + 3] += row[J + 3] + r2 * (g1 + row[H + 1]) - r0 * (g7 + row[H + 7])
    to[J + 4] += row[J + 4] + r2 * g2 - r0 * g8 + r0 * row[H + 4] - r1 * row[H + 1]
    to[J + 5] += row[J + 5] + r0 * (g5 + row[H + 5]) - r1 * (g2 + row[H + 2])


@summing_part
def _let_turn(row, to, carried):
    """Take the turns of a ball joint out of inertia and force of a node, and hand on what is left; whether it has inertia.

    The node keeps H, its torque, and the inverse of J in the place of it.
    """
    a, b, c, d, e, f = row[J], row[J + 1], row[J + 2], row[J + 3], row[J + 4], row[J + 5]
    x, y, z = d * f - e * e, c * e - b * f, b * e - c * d
    minor, whole = a * d - b * b, a * x + b * y + c * z
    if not (a > 0.0 and minor > _NOTHING * a * d and whole > _NOTHING * minor * f):
        return False
    inverse = 1.0 / whole
    a, d, e, f = x * inverse, (a * f - c * c) * inverse, (b * c - a * e) * inverse, minor * inverse
    b, c = y * inverse, z * inverse
    row[J], row[J + 1], row[J + 2], row[J + 3], row[J + 4], row[J + 5] = a, b, c, d, e, f
    if not carried:
        return True
    h0, h1, h2, h3, h4, h5 = row[H], row[H + 1], row[H + 2], row[H + 3], row[H + 4], row[H + 5]
    h6, h7, h8, t0, t1, t2 = row[H + 6], row[H + 7], row[H + 8], row[F + 3], row[F + 4], row[F + 5]
    r0, r1, r2, b0, b1, b2 = row[ARM], row[ARM + 1], row[ARM + 2], row[BIAS], row[BIAS + 1], row[BIAS + 2]
    x, y, z = h0 * a + h1 * b + h2 * c, h0 * b + h1 * d + h2 * e, h0 * c + h1 * e + h2 * f
    m0, m1, m2 = (
        row[M] - x * h0 - y * h1 - z * h2,
        row[M + 1] - x * h3 - y * h4 - z * h5,
        row[M + 2] - x * h6 - y * h7 - z * h8,
    )
    f0 = row[F] - x * t0 - y * t1 - z * t2
    x, y, z = h3 * a + h4 * b + h5 * c, h3 * b + h4 * d + h5 * e, h3 * c + h4 * e + h5 * f
    m3, m4 = row[M + 3] - x * h3 - y * h4 - z * h5, row[M + 4] - x * h6 - y * h7 - z * h8
    f1 = row[F + 1] - x * t0 - y * t1 - z * t2
    x, y, z = h6 * a + h7 * b + h8 * c, h6 * b + h7 * d + h8 * e, h6 * c + h7 * e + h8 * f
    m5, f2 = row[M + 5] - x * h6 - y * h7 - z * h8, row[F + 2] - x * t0 - y * t1 - z * t2
    f0, f1, f2 = f0 + m0 * b0 + m1 * b1 + m2 * b2, f1 + m1 * b0 + m3 * b1 + m4 * b2, f2 + m2 * b0 + m4 * b1 + m5 * b2
    to[F], to[F + 1], to[F + 2] = to[F] + f0, to[F + 1] + f1, to[F + 2] + f2
    to[F + 3] += r1 * f2 - r2 * f1
    to[F + 4] += r2 * f0 - r0 * f2
    to[F + 5] += r0 * f1 - r1 * f0
    g0, g1, g2 = m2 * r1 - m1 * r2, m0 * r2 - m2 * r0, m1 * r0 - m0 * r1
    g3, g4, g5 = m4 * r1 - m3 * r2, m1 * r2 - m4 * r0, m3 * r0 - m1 * r1
    g6, g7, g8 = m5 * r1 - m4 * r2, m2 * r2 - m5 * r0, m4 * r0 - m2 * r1
    to[M], to[M + 1], to[M + 2] = to[M] + m0, to[M + 1] + m1, to[M + 2] + m2
    to[M + 3], to[M + 4], to[M + 5] = to[M + 3] + m3, to[M + 4] + m4, to[M + 5] + m5
    to[H], to[H + 1], to[H + 2] = to[H] + g0, to[H + 1] + g1, to[H + 2] + g2
    to[H + 3], to[H + 4], to[H + 5] = to[H + 3] + g3, to[H + 4] + g4, to[H + 5] + g5
    to[H + 6], to[H + 7], to[H + 8] = to[H + 6] + g6, to[H + 7] + g7, to[H + 8] + g8
    to[J] += r1 * g6 - r2 * g3
    to[J + 1] += r1 * g7 - r2 * g4
    to[J + 2] += r1 * g8 - r2 * g5
    to[J + 3] += r2 * g1 - r0 * g7
    to[J + 4] += r2 * g2 - r0 * g8
    to[J + 5] += r0 * g5 - r1 * g2
    return True


@summing_part
def _put_acceleration(row, before, kind):
    """Acceleration (6) of a node from that of the one before it; of a slide or hinge also its own, which is given back."""
    p0, p1, p2, r0, r1, r2 = before[A + 3], before[A + 4], before[A + 5], row[ARM], row[ARM + 1], row[ARM + 2]
    a0 = before[A] + p1 * r2 - p2 * r1 + row[BIAS]
    a1 = before[A + 1] + p2 * r0 - p0 * r2 + row[BIAS + 1]
    a2 = before[A + 2] + p0 * r1 - p1 * r0 + row[BIAS + 2]
    a3, a4, a5, own = p0 + row[BIAS + 3], p1 + row[BIAS + 4], p2 + row[BIAS + 5], 0.0
    if kind == BALL:
        x = -(row[F + 3] + row[H] * a0 + row[H + 3] * a1 + row[H + 6] * a2)
        y = -(row[F + 4] + row[H + 1] * a0 + row[H + 4] * a1 + row[H + 7] * a2)
        z = -(row[F + 5] + row[H + 2] * a0 + row[H + 5] * a1 + row[H + 8] * a2)
        row[BIAS + 3], row[BIAS + 4], row[BIAS + 5] = a3, a4, a5
        a3 = row[J] * x + row[J + 1] * y + row[J + 2] * z
        a4 = row[J + 1] * x + row[J + 3] * y + row[J + 4] * z
        a5 = row[J + 2] * x + row[J + 4] * y + row[J + 5] * z
    elif kind != WELD:
        own = row[PUSH] - (
            (row[COLUMN] * a0 + row[COLUMN + 1] * a1) + (row[COLUMN + 2] * a2 + row[COLUMN + 3] * a3)
            + (row[COLUMN + 4] * a4 + row[COLUMN + 5] * a5)
        )  # fmt: skip
        own *= row[INVERSE]
        if kind == HINGE:
            a3, a4, a5 = a3 + own * row[AXIS], a4 + own * row[AXIS + 1], a5 + own * row[AXIS + 2]
        else:
            a0, a1, a2 = a0 + own * row[AXIS], a1 + own * row[AXIS + 1], a2 + own * row[AXIS + 2]
    row[A], row[A + 1], row[A + 2], row[A + 3], row[A + 4], row[A + 5] = a0, a1, a2, a3, a4, a5
    return own


@bare_part
def put_points(tree, rows, y):
    """Places and velocities of the joints of all nodes, which are placed at y."""
    n = (y.shape[0] - 1) // 2
    for k in range(1, tree.nodes.shape[0]):
        row, before = rows[k], rows[tree.nodes[k, 0]]
        rate = y[n + tree.nodes[k, 2]] if tree.nodes[k, 1] == SLIDE else 0.0
        for i in range(3):
            i1, i2 = (i + 1) % 3, (i + 2) % 3
            row[P + i] = before[P + i] + row[ARM + i]
            row[V + i] = (
                before[V + i] + before[W + i1] * row[ARM + i2] - before[W + i2] * row[ARM + i1] + rate * row[AXIS + i]
            )


@bare_part
def _pull(tree, rows, y):
    """Add the forces of springs along lines to those of nodes; the power of their dampers (W)."""
    put_points(tree, rows, y)
    power = 0.0
    for e in range(tree.lines.shape[0]):
        own, one, two = tree.lines[e], rows[tree.ends[e, 0]], rows[tree.ends[e, 1]]
        square = along = 0.0
        # levers, and the line, in the place of what is not needed before accelerations
        for i in range(3):
            one[A + i] = one[U + 3 * i] * own[0] + one[U + 3 * i + 1] * own[1] + one[U + 3 * i + 2] * own[2]
            two[A + 3 + i] = two[U + 3 * i] * own[3] + two[U + 3 * i + 1] * own[4] + two[U + 3 * i + 2] * own[5]
        for i in range(3):
            i1, i2 = (i + 1) % 3, (i + 2) % 3
            d = two[P + i] + two[A + 3 + i] - one[P + i] - one[A + i]
            square += d * d
            along += d * (two[V + i] + two[W + i1] * two[A + 3 + i2] - two[W + i2] * two[A + 3 + i1])
            along -= d * (one[V + i] + one[W + i1] * one[A + i2] - one[W + i2] * one[A + i1])
        length = sqrt(square)
        rate = along / length if length > 0.0 else 0.0
        pull = own[6] * (length - own[7]) - own[8] + own[9] * rate
        power -= own[9] * rate * rate
        pull = pull / length if length > 0.0 else own[6] if own[7] == 0.0 else np.nan
        for i in range(3):
            i1, i2 = (i + 1) % 3, (i + 2) % 3
            d = two[P + i] + two[A + 3 + i] - one[P + i] - one[A + i]
            d1 = two[P + i1] + two[A + 3 + i1] - one[P + i1] - one[A + i1]
            d2 = two[P + i2] + two[A + 3 + i2] - one[P + i2] - one[A + i2]
            one[F + i] -= pull * d
            two[F + i] += pull * d
            one[F + 3 + i] -= pull * (one[A + i1] * d2 - one[A + i2] * d1)
            two[F + 3 + i] += pull * (two[A + 3 + i1] * d2 - two[A + 3 + i2] * d1)
    return power


@bare_part
def accelerate(tree, rows, y, out):
    """Slopes (2 n + 1,) at coordinates y (2 n + 1,); whether each joint has inertia."""
    n, count, damped = (y.shape[0] - 1) // 2, tree.nodes.shape[0], 0.0
    place(tree, rows, y, out)
    for k in range(1, count):
        kind, at, row = tree.nodes[k, 1], tree.nodes[k, 2], rows[k]
        _put_bias(row, rows[tree.nodes[k, 0]], 2.0 * y[n + at] if kind == SLIDE else 0.0)
        _put_own(row, tree.masses[k])
    if tree.lines.shape[0] > 0:
        damped += _pull(tree, rows, y)
    for k in range(count - 1, 0, -1):
        before, kind, at, row = tree.nodes[k, 0], tree.nodes[k, 1], tree.nodes[k, 2], rows[k]
        if kind == BALL:
            if not _let_turn(row, rows[before], before > 0):
                return False
            continue
        if kind != WELD:
            if _let_go(row, kind, tree.springs[k], y, (at, n + at)) == 0.0:
                return False
            damped -= tree.springs[k, 3] * y[n + at] * y[n + at]
        if before > 0:
            _hand_force_on(row, rows[before])
            _hand_inertia_on(row, rows[before])
    for i in range(3):
        rows[0, A + i], rows[0, A + 3 + i] = -tree.gravity[i], 0.0
    for k in range(1, count):
        kind, at, row = tree.nodes[k, 1], tree.nodes[k, 2], rows[k]
        own = _put_acceleration(row, rows[tree.nodes[k, 0]], kind)
        if kind == BALL:
            x, z, t = row[A + 3] - row[BIAS + 3], row[A + 4] - row[BIAS + 4], row[A + 5] - row[BIAS + 5]
            for i in range(3):
                out[n + at + i] = row[U + i] * x + row[U + 3 + i] * z + row[U + 6 + i] * t
        elif kind != WELD:
            out[n + at] = own
    out[2 * n] = damped
    return True
