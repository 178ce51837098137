"""Coordinates of joints of a tree from poses and velocities of its bodies at the begin of a step, and these at coordinates."""

from __future__ import annotations

from math import atan2

from .jit import bare_part, inner_part
from .rotations import TURN, WHOLE
from .trees import BALL, COLUMN, HINGE, SLIDE, TURNED, VALUE, P, U, V, W, put_points


@inner_part
def _put_crossed(row, axis):
    """``E T`` and ``E^2 T`` of a hinge into its row."""
    for first in range(TURNED, TURNED + 18, 9):
        for i in range(3):
            i1, i2 = (i + 1) % 3, (i + 2) % 3
            for j in range(first, first + 3):
                row[j + 9 + 3 * i] = axis[i1] * row[j + 3 * i2] - axis[i2] * row[j + 3 * i1]


@bare_part
def begin_step(tree, rows, o, u, v, angles, y):
    """Coordinates y (2 n + 1,) at the begin of a step from poses o (b + 1, 3), u (b + 1, 3, 3) and velocities v (6 b,) of bodies.

    ``angles`` (k + 1,) of hinges are brought to what poses say, on the branch where they are.
    """
    n = (y.shape[0] - 1) // 2
    for i in range(y.shape[0]):
        y[i] = 0.0
    for i in range(3):
        for j in range(3):
            rows[0, U + 3 * i + j] = 1.0 if i == j else 0.0
        rows[0, P + i] = rows[0, V + i] = rows[0, W + i] = 0.0
    for k in range(1, tree.nodes.shape[0]):
        before, kind, at, body = tree.nodes[k, 0], tree.nodes[k, 1], tree.nodes[k, 2], tree.nodes[k, 3]
        from_, row = rows[before], rows[k]
        for i in range(3):
            for j in range(3):
                row[U + 3 * i + j] = u[body, i, j] if body else from_[U + 3 * i + j]
        for i in range(3):
            for j in range(3):
                row[TURNED + 3 * i + j] = 0.0
                for c in range(U, U + 9, 3):
                    row[TURNED + 3 * i + j] += from_[c + i] * row[c + j]
        base, last = tree.nodes[tree.nodes[k, 4], 0], tree.nodes[k, 5]
        one, two = tree.nodes[base, 3], tree.nodes[last, 3]
        sine = cosine = 0.0
        rate, value = 0.0, 0.0
        for c in range(3):
            # of both sides of the joint: what turns, and what moves at its place
            w1 = v[6 * one - 3 + c] if one else 0.0
            w2 = v[6 * two - 3 + c]
            axis = (
                from_[U + 3 * c] * tree.places[k, 2, 0]
                + from_[U + 3 * c + 1] * tree.places[k, 2, 1]
                + from_[U + 3 * c + 2] * tree.places[k, 2, 2]
            )
            if kind == HINGE:
                rate += axis * (w2 - w1)
                for i in range(2):
                    x = y1 = z = 0.0
                    for j in range(3):
                        x += from_[U + 3 * c + j] * tree.marks[k, i, j]
                        y1 += row[U + 3 * c + j] * tree.marks[k, 2 + i, j]
                        z += row[U + 3 * c + j] * tree.marks[k, 3 - i, j]
                    cosine += x * y1
                    sine += x * z if i == 1 else -x * z
            elif kind == BALL:
                for j in range(3):
                    y[n + at + j] += row[U + 3 * c + j] * (w2 - w1)
            elif kind == SLIDE:
                c1, c2 = (c + 1) % 3, (c + 2) % 3
                there = there1 = there2 = on = 0.0
                for j in range(3):
                    there += u[two, c, j] * tree.places[last, 1, j]
                    there1 += u[two, c1, j] * tree.places[last, 1, j]
                    there2 += u[two, c2, j] * tree.places[last, 1, j]
                    on += u[one, c, j] * tree.places[tree.nodes[k, 4], 0, j]
                value += axis * (o[two, c] + there - o[one, c] - on)
                rate += axis * (v[6 * two - 6 + c] + v[6 * two - 3 + c1] * there2 - v[6 * two - 3 + c2] * there1)
                if one:
                    arm1, arm2 = o[two, c1] + there1 - o[one, c1], o[two, c2] + there2 - o[one, c2]
                    rate -= axis * (v[6 * one - 6 + c] + v[6 * one - 3 + c1] * arm2 - v[6 * one - 3 + c2] * arm1)
        if kind == HINGE:
            value = atan2(sine, cosine)
            turns = (angles[k] - value) / TURN
            value += TURN * ((turns + WHOLE) - WHOLE)
            angles[k] = value
            _put_crossed(row, tree.places[k, 2])
        if kind in (HINGE, SLIDE):
            y[n + at] = rate
        row[VALUE] = value


@bare_part
def put_bodies(tree, rows, y, o, u, v):
    """Poses and velocities of bodies where nodes are placed, at y, with orientations brought to the nearest rotations."""
    put_points(tree, rows, y)
    for k in range(1, tree.nodes.shape[0]):
        body, row, at = tree.nodes[k, 3], rows[k], tree.places[k]
        if not body:
            continue
        for i in range(3):
            # of the body, from the joint
            row[COLUMN + i] = -(
                row[U + 3 * i] * at[1, 0] + row[U + 3 * i + 1] * at[1, 1] + row[U + 3 * i + 2] * at[1, 2]
            )
            o[body, i], v[6 * body - 3 + i] = row[P + i] + row[COLUMN + i], row[W + i]
        for i in range(3):
            i1, i2 = (i + 1) % 3, (i + 2) % 3
            v[6 * body - 6 + i] = row[V + i] + row[W + i1] * row[COLUMN + i2] - row[W + i2] * row[COLUMN + i1]
            for j in range(3):
                x = 0.0
                for m in range(3):
                    # U (3 I - U'U) / 2
                    z = row[U + m] * row[U + j] + row[U + 3 + m] * row[U + 3 + j] + row[U + 6 + m] * row[U + 6 + j]
                    x += row[U + 3 * i + m] * ((1.5 if m == j else 0.0) - 0.5 * z)
                u[body, i, j] = x
