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

from .jit import bare_part, inner_part
from .tree_nodes import (
    ARM,
    COLUMN,
    TURNED,
    VALUE,
    A,
    H,
    M,
    W,
    accelerate_ball,
    accelerate_hinge,
    accelerate_slide,
    accelerate_weld,
    add_pull,
    add_spin,
    hand_force_on,
    hand_inertia_on,
    let_hinge_go,
    let_slide_go,
    let_turn,
    put_along,
    put_angle,
    put_axes,
    put_ball,
    put_ball_rate,
    put_bias,
    put_inverse,
    put_line,
    put_own,
    put_point,
    put_turned,
)

WELD, SLIDE, HINGE, BALL = 0, 1, 2, 3


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


@bare_part
def place(tree, rows, y, out):
    """Orientations, arms, and angular velocities of all nodes at coordinates y (2 n + 1,), and rates of coordinates into out."""
    n = (y.shape[0] - 1) // 2
    for k in range(1, tree.nodes.shape[0]):
        kind, at = tree.nodes[k, 1], tree.nodes[k, 2]
        row, before = rows[k], rows[tree.nodes[k, 0]]
        rate = 0.0
        put_axes(row, before, tree.places[k], tree.levers[k])
        if kind == HINGE:
            s, c = _turning(y[at] * y[at])
            put_angle(row, y[at] * s, y[at] * y[at] * c)
            put_turned(row, before, H)
            out[at] = rate = y[n + at]
        else:
            put_turned(row, before, TURNED)
        put_along(row, W, before, rate)
        if kind == SLIDE:
            out[at] = y[n + at]
            put_along(row, ARM, row, row[VALUE] + y[at])
        elif kind == BALL:
            square = y[at] * y[at] + y[at + 1] * y[at + 1] + y[at + 2] * y[at + 2]
            s, c = _turning(square)
            # (1 - s / (2 c)) / a^2, which below 1e-2 rad are three terms to rounding
            d = 1 / 12 + square * (1 / 720 + square * (1 / 30240)) if square < 1e-4 else (1.0 - 0.5 * s / c) / square
            put_ball(row, y, at, s, c)
            put_ball_rate(y, at, n + at, d, out)
            put_turned(row, row, H)
            add_spin(row, y, n + at)


@bare_part
def put_points(tree, rows, y):
    """Places and velocities of the joints of all nodes, which are placed at y."""
    n = (y.shape[0] - 1) // 2
    for k in range(1, tree.nodes.shape[0]):
        rate = y[n + tree.nodes[k, 2]] if tree.nodes[k, 1] == SLIDE else 0.0
        put_point(rows[k], rows[tree.nodes[k, 0]], rate)


@bare_part
def _pull(tree, rows, y):
    """Add the forces of springs along lines to those of nodes; the power of their dampers (W)."""
    put_points(tree, rows, y)
    power = 0.0
    for e in range(tree.lines.shape[0]):
        own, one, two = tree.lines[e], rows[tree.ends[e, 0]], rows[tree.ends[e, 1]]
        length = sqrt(put_line(own, one, two))
        rate = two[COLUMN] / length if length > 0.0 else 0.0
        pull = own[6] * (length - own[7]) - own[8] + own[9] * rate
        power -= own[9] * rate * rate
        add_pull(one, two, pull / length if length > 0.0 else own[6] if own[7] == 0.0 else np.nan)
    return power


@bare_part
def accelerate(tree, rows, y, out):
    """Slopes (2 n + 1,) at coordinates y (2 n + 1,); whether each joint has inertia."""
    n, count, damped = (y.shape[0] - 1) // 2, tree.nodes.shape[0], 0.0
    place(tree, rows, y, out)
    for k in range(1, count):
        kind, at, row, own = tree.nodes[k, 1], tree.nodes[k, 2], rows[k], tree.masses[k]
        put_bias(row, rows[tree.nodes[k, 0]], 2.0 * y[n + at] if kind == SLIDE else 0.0)
        if own[0] == 0.0 and own[4] + own[7] + own[9] == 0.0:
            for i in range(M, COLUMN):
                row[i] = 0.0
        else:
            put_own(row, own)
    if tree.lines.shape[0] > 0:
        damped += _pull(tree, rows, y)
    for k in range(count - 1, 0, -1):
        before, kind, at, row, own = tree.nodes[k, 0], tree.nodes[k, 1], tree.nodes[k, 2], rows[k], tree.springs[k]
        if kind == BALL:
            put_inverse(row)
            if not (row[COLUMN] > 0.0 and row[COLUMN + 1] > 0.0 and row[COLUMN + 2] > 0.0):
                return False
            if before > 0:
                let_turn(row, rows[before])
            continue
        if kind != WELD:
            more = (
                let_hinge_go(row, own, y[at], y[n + at]) if kind == HINGE else let_slide_go(row, own, y[at], y[n + at])
            )
            if not more > 0.0:
                return False
            damped -= own[3] * y[n + at] * y[n + at]
        if before > 0:
            hand_force_on(row, rows[before])
            hand_inertia_on(row, rows[before])
    for i in range(3):
        rows[0, A + i], rows[0, A + 3 + i] = -tree.gravity[i], 0.0
    for k in range(1, count):
        kind, at, row, before = tree.nodes[k, 1], n + tree.nodes[k, 2], rows[k], rows[tree.nodes[k, 0]]
        if kind == BALL:
            accelerate_ball(row, before, out, at)
        elif kind == HINGE:
            accelerate_hinge(row, before, out, at)
        elif kind == SLIDE:
            accelerate_slide(row, before, out, at)
        else:
            accelerate_weld(row, before)
    out[2 * n] = damped
    return True
