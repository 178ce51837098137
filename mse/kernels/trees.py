"""Rigid bodies whose joints form a tree, as nodes; places and velocities of these.

A joint is a series of nodes of which each slides, turns about one axis, turns about all, or is welded; nodes between two bodies
have no mass.

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
    TURNED,
    VALUE,
    H,
    W,
    add_spin,
    put_along,
    put_angle,
    put_axes,
    put_ball,
    put_ball_rate,
    put_point,
    put_turned,
)

WELD, SLIDE, HINGE, BALL = 0, 1, 2, 3


class Tree(NamedTuple):
    """A tree of joints as arrays; nodes are numbered from 1, behind those that they hang on; the ground is 0.

    ``nodes`` (k + 1, 6) have the node that each hangs on, its kind, its first coordinate, its body (0 for none), and the first
    and last node of its joint.  ``places`` (k + 1, 3, 3) are where a joint sits on what it hangs on, where on the node itself,
    and the axis along what it hangs on.  ``masses`` (k + 1, 10) are the mass, mass times center and inertia (xx, xy, xz, yy, yz,
    zz) about the joint, along the node's axes.  ``springs`` (k + 1, 5) are stiffness, rest, preload, damping and the force of an
    input.  ``marks`` (k + 1, 4, 3) are two axes on what a hinge hangs on and two on the node, which coincide where its angle is
    zero.  ``levers`` (k + 1, 3) go from the joint of what a node hangs on to its own, along what it hangs on.  ``ends`` (l, 2)
    are the nodes of springs along lines, ``lines`` (l, 10) where on both nodes they act, from the nodes' joints, and four numbers
    as of springs.  If other elements or inputs act, ``push`` and ``follow`` are the addresses of the kernels in
    :mod:`.tree_pushes`, and ``outside`` is the address of their data; else all three are 0.
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
    push: int
    follow: int
    outside: int


def tree_arguments() -> Tree:
    """A tree of no size, for its types."""
    row, table, stack = (np.zeros((0,) * axes) for axes in range(1, 4))
    numbers = np.zeros((0, 0), dtype=int)
    return Tree(row, numbers, stack, table, table, stack, table, numbers, table, 0, 0, 0)


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
    """Orientations, arms, and angular velocities of all nodes at coordinates y (2 n + 2,), and rates of coordinates into out."""
    n = (y.shape[0] - 2) // 2
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
    n = (y.shape[0] - 2) // 2
    for k in range(1, tree.nodes.shape[0]):
        rate = y[n + tree.nodes[k, 2]] if tree.nodes[k, 1] == SLIDE else 0.0
        put_point(rows[k], rows[tree.nodes[k, 0]], rate)
