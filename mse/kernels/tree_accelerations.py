"""Accelerations of rigid bodies whose joints form a tree, in coordinates of the joints and in time linear in their number.

Articulated inertias go from the leaves to the ground, accelerations back (R. Featherstone, Rigid Body Dynamics Algorithms, 2008,
chapter 7), along the axes of the world, about the points of the joints.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from .by_address import GOOD, NOT_GOOD, called
from .jit import bare_part
from .tree_nodes import (
    COLUMN,
    A,
    M,
    accelerate_ball,
    accelerate_hinge,
    accelerate_slide,
    accelerate_weld,
    add_pull,
    hand_force_on,
    hand_inertia_on,
    let_hinge_go,
    let_slide_go,
    let_turn,
    put_bias,
    put_inverse,
    put_line,
    put_own,
)
from .trees import BALL, HINGE, SLIDE, WELD, place, put_points


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
def accelerate(tree, rows, time, y, out):
    """Slopes (2 n + 2,) at a time (s) and coordinates y (2 n + 2,): of coordinates, rates, and works of dampers and of others.

    GOOD if each joint has inertia and all that acts from outside was found.
    """
    n, count, damped, driven = (y.shape[0] - 2) // 2, tree.nodes.shape[0], 0.0, 0.0
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
    out[2 * n] = out[2 * n + 1] = 0.0
    if tree.push != 0:
        answer = called(tree.push, (tree.outside, tree, rows, time, y, out))
        if answer != GOOD:
            return answer
    for k in range(count - 1, 0, -1):
        before, kind, at, row, own = tree.nodes[k, 0], tree.nodes[k, 1], tree.nodes[k, 2], rows[k], tree.springs[k]
        if kind == BALL:
            put_inverse(row)
            if not (row[COLUMN] > 0.0 and row[COLUMN + 1] > 0.0 and row[COLUMN + 2] > 0.0):
                return NOT_GOOD
            if before > 0:
                let_turn(row, rows[before])
            continue
        if kind != WELD:
            more = (
                let_hinge_go(row, own, y[at], y[n + at]) if kind == HINGE else let_slide_go(row, own, y[at], y[n + at])
            )
            if not more > 0.0:
                return NOT_GOOD
            damped -= own[3] * y[n + at] * y[n + at]
            driven += own[4] * y[n + at]
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
    out[2 * n], out[2 * n + 1] = out[2 * n] + damped, out[2 * n + 1] + driven
    return GOOD
