"""Between bodies and nodes of a tree: coordinates at the begin of a step, poses and velocities of bodies, forces on them."""

from __future__ import annotations

from math import atan2

from .jit import bare_part
from .rotations import TURN, WHOLE
from .straight_ir import straight
from .tree_nodes import COLUMN, TURNED, VALUE, F, P, U, V, W
from .trees import BALL, HINGE, SLIDE, put_points


@straight
def _put_body(row, o, u, v, at):
    """Pose and velocity of a body into the row of its node; those in v begin at a place."""
    for i in range(3):
        row[P + i], row[V + i], row[W + i] = o[i], v[at + i], v[at + 3 + i]
        for j in range(3):
            row[U + 3 * i + j] = u[i, j]


@straight
def _put_turn(row, before):
    """How a node has turned on that before it."""
    for i in range(3):
        for j in range(3):
            x = 0.0
            for c in range(U, U + 9, 3):
                x += before[c + i] * row[c + j]
            row[TURNED + 3 * i + j] = x


@straight
def _put_crossed(row, place):
    """``E T`` and ``E^2 T`` of a hinge into its row."""
    for first in range(TURNED, TURNED + 18, 9):
        for i in range(3):
            i1, i2 = (i + 1) % 3, (i + 2) % 3
            for j in range(first, first + 3):
                row[j + 9 + 3 * i] = place[2, i1] * row[j + 3 * i2] - place[2, i2] * row[j + 3 * i1]


def _seen(row, place, i):
    """A vector (3,) of a node, along the axes of the world."""
    return [
        row[U + 3 * c] * place[i, 0] + row[U + 3 * c + 1] * place[i, 1] + row[U + 3 * c + 2] * place[i, 2]
        for c in range(3)
    ]


@straight
def _begin_hinge(row, before, one, two, place, marks):
    """The rate of a hinge between bodies one and two, and in two places of its row the sine and cosine of its angle."""
    axis, sine, cosine, rate = _seen(before, place, 2), 0.0, 0.0, 0.0
    (x0, x1), (z0, z1) = ([_seen(of, marks, i) for i in pair] for of, pair in ((before, (0, 1)), (row, (2, 3))))
    for c in range(3):
        rate += axis[c] * (two[W + c] - one[W + c])
        cosine += x0[c] * z0[c] + x1[c] * z1[c]
        sine += x1[c] * z0[c] - x0[c] * z1[c]
    row[COLUMN], row[COLUMN + 1] = sine, cosine
    return rate


@straight
def _begin_slide(row, before, one, two, place, from_, to):
    """The rate of a slide between bodies one and two, and its displacement into its row."""
    axis, there, on = _seen(before, place, 2), _seen(two, to, 1), _seen(one, from_, 0)
    arm, value, rate = [two[P + c] + there[c] - one[P + c] for c in range(3)], 0.0, 0.0
    for c in range(3):
        c1, c2 = (c + 1) % 3, (c + 2) % 3
        value += axis[c] * (arm[c] - on[c])
        rate += axis[c] * (two[V + c] + two[W + c1] * there[c2] - two[W + c2] * there[c1])
        rate -= axis[c] * (one[V + c] + one[W + c1] * arm[c2] - one[W + c2] * arm[c1])
    row[VALUE] = value
    return rate


@straight
def _begin_ball(row, one, two, y, at):
    """The rates of a ball joint between bodies one and two, into y from a place on."""
    for j in range(3):
        x = 0.0
        for c in range(3):
            x += row[U + 3 * c + j] * (two[W + c] - one[W + c])
        y[at + j] = x


@bare_part
def begin_step(tree, rows, o, u, v, angles, y):
    """Coordinates y (2 n + 2,) at the begin of a step from poses o (b + 1, 3), u (b + 1, 3, 3) and velocities v (6 b,) of bodies.

    ``angles`` (k + 1,) of hinges are brought to what poses say, on the branch where they are.
    """
    n = (y.shape[0] - 2) // 2
    for i in range(y.shape[0]):
        y[i] = 0.0
    for i in range(3):
        for j in range(3):
            rows[0, U + 3 * i + j] = 1.0 if i == j else 0.0
        rows[0, P + i] = rows[0, V + i] = rows[0, W + i] = 0.0
    for k in range(1, tree.nodes.shape[0]):
        body = tree.nodes[k, 3]
        if body:
            _put_body(rows[k], o[body], u[body], v, 6 * body - 6)
    for k in range(1, tree.nodes.shape[0]):
        kind, at, first, last = tree.nodes[k, 1], n + tree.nodes[k, 2], tree.nodes[k, 4], tree.nodes[k, 5]
        row, before, place = rows[k], rows[tree.nodes[k, 0]], tree.places[k]
        one, two = rows[tree.nodes[first, 0]], rows[last]
        if not tree.nodes[k, 3]:
            for i in range(U, U + 9):
                row[i] = before[i]
        _put_turn(row, before)
        row[VALUE] = 0.0
        if kind == HINGE:
            y[at] = _begin_hinge(row, before, one, two, place, tree.marks[k])
            value = atan2(row[COLUMN], row[COLUMN + 1])
            turns = (angles[k] - value) / TURN
            angles[k] = row[VALUE] = value + TURN * ((turns + WHOLE) - WHOLE)
            _put_crossed(row, place)
        elif kind == SLIDE:
            y[at] = _begin_slide(row, before, one, two, place, tree.places[first], tree.places[last])
        elif kind == BALL:
            _begin_ball(row, one, two, y, at)


@straight
def _put_pose(row, place, o, u, v, at):
    """Pose and velocity of a body, with its orientation brought to the nearest rotation; its velocity begins at a place of v."""
    arm = [-x for x in _seen(row, place, 1)]  # of the body, from the joint
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        o[i], v[at + 3 + i] = row[P + i] + arm[i], row[W + i]
        v[at + i] = row[V + i] + row[W + i1] * arm[i2] - row[W + i2] * arm[i1]
    for i in range(3):
        for j in range(3):
            x = 0.0
            for m in range(3):
                # U (3 I - U'U) / 2
                z = row[U + m] * row[U + j] + row[U + 3 + m] * row[U + 3 + j] + row[U + 6 + m] * row[U + 6 + j]
                x += row[U + 3 * i + m] * ((1.5 if m == j else 0.0) - 0.5 * z)
            u[i, j] = x


@bare_part
def put_bodies(tree, rows, y, o, u, v):
    """Poses and velocities of bodies where nodes are placed, at y, with orientations brought to the nearest rotations."""
    put_points(tree, rows, y)
    for k in range(1, tree.nodes.shape[0]):
        body = tree.nodes[k, 3]
        if body:
            _put_pose(rows[k], tree.places[k], o[body], u[body], v, 6 * body - 6)


@straight
def add_force(row, place, forces, at):
    """Add the force on a body, with a torque about its point, which begin at a place of ``forces``, to the force of its node."""
    arm = [-x for x in _seen(row, place, 1)]
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        row[F + i] -= forces[at + i]
        row[F + 3 + i] -= forces[at + 3 + i] + arm[i1] * forces[at + i2] - arm[i2] * forces[at + i1]
