"""What a tree of joints computes for one of its nodes, in a row of numbers: arithmetic without conditions (straight_ir.py)."""

from __future__ import annotations

from .straight_ir import straight, summing

# Of inertias that a joint takes out: less than this is rounding.  With 1e-16 and 1e-9 tests/dynamics/test_trees.py passes.
_NOTHING = 1e-13

# Where a row of the work of a tree, one for each node, keeps what.  A step starts with how a node has turned on that before it,
# and with the coordinate of a slide or hinge.  A hinge turns by ``T + sin(q) E T + (1 - cos q) E^2 T``, with E the cross matrix
# of its axis: three matrices.  Then come orientation, axis, arm from the joint before, angular velocity, acceleration that
# velocities make, articulated inertia (M: 6, H: 9, J: 6) and force, what a slide or hinge takes of these with the inverse
# of its pivot and its push, the acceleration, and place and velocity of the joint.
TURNED, VALUE, U, AXIS, ARM, W = 0, 27, 28, 37, 40, 43
BIAS, M, H, J, F, COLUMN, INVERSE, PUSH, A, P, V, WIDTH = 46, 52, 58, 67, 73, 79, 85, 86, 87, 93, 96, 99


@straight
def put_turned(row, before, matrix):
    """Orientation (9) of a node into its row: that of a row ``before`` times the matrix (9) at a place of its own row."""
    t0, t1, t2 = row[matrix], row[matrix + 1], row[matrix + 2]
    t3, t4, t5 = row[matrix + 3], row[matrix + 4], row[matrix + 5]
    t6, t7, t8 = row[matrix + 6], row[matrix + 7], row[matrix + 8]
    for i in range(U, U + 9, 3):
        x, y, z = before[i], before[i + 1], before[i + 2]
        row[i], row[i + 1], row[i + 2] = x * t0 + y * t3 + z * t6, x * t1 + y * t4 + z * t7, x * t2 + y * t5 + z * t8


@straight
def put_ball(row, y, at, s, c):
    """How a ball joint is turned, ``exp([a]x)`` (9) of its coordinates a, into its row at H."""
    x, z, t = y[at], y[at + 1], y[at + 2]
    row[H], row[H + 4], row[H + 8] = 1.0 - c * (z * z + t * t), 1.0 - c * (x * x + t * t), 1.0 - c * (x * x + z * z)
    row[H + 1], row[H + 3] = c * x * z - s * t, c * x * z + s * t
    row[H + 2], row[H + 6] = c * x * t + s * z, c * x * t - s * z
    row[H + 5], row[H + 7] = c * z * t - s * x, c * z * t + s * x


@straight
def put_ball_rate(y, at, rates, d, out):
    """The rate of coordinates a of a ball joint, from its angular velocity, which begins at ``rates``."""
    x, z, t, w0, w1, w2 = y[at], y[at + 1], y[at + 2], y[rates], y[rates + 1], y[rates + 2]
    along, rest = d * (x * w0 + z * w1 + t * w2), 1.0 - d * (x * x + z * z + t * t)
    out[at] = rest * w0 + along * x + 0.5 * (z * w2 - t * w1)
    out[at + 1] = rest * w1 + along * z + 0.5 * (t * w0 - x * w2)
    out[at + 2] = rest * w2 + along * t + 0.5 * (x * w1 - z * w0)


@straight
def put_axes(row, before, place, lever):
    """The axis of a node, and its arm, from the orientation of what it hangs on."""
    for i in range(3):
        x, z, t = before[U + 3 * i], before[U + 3 * i + 1], before[U + 3 * i + 2]
        row[AXIS + i] = x * place[2, 0] + z * place[2, 1] + t * place[2, 2]
        row[ARM + i] = x * lever[0] + z * lever[1] + t * lever[2]


@straight
def put_angle(row, s, c):
    """How a hinge is turned, with the sine of its angle and the cosine taken from 1, into its row at H."""
    for i in range(9):
        row[H + i] = row[TURNED + i] + s * row[TURNED + 9 + i] + c * row[TURNED + 18 + i]


@straight
def put_along(row, at, before, rate):
    """Add a rate along the axis of a node to three numbers of the node before, into the same place ``at`` of its row."""
    for i in range(3):
        row[at + i] = before[at + i] + rate * row[AXIS + i]


@straight
def add_spin(row, y, rates):
    """The angular velocity of a ball joint, from coordinates that begin at ``rates``."""
    for i in range(3):
        x, z, t = row[U + 3 * i], row[U + 3 * i + 1], row[U + 3 * i + 2]
        row[W + i] += x * y[rates] + z * y[rates + 1] + t * y[rates + 2]


@summing
def put_bias(row, before, sliding):
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


@summing
def put_own(row, own):
    """Inertia of a node about its joint, along the world, and the forces that it takes without accelerations."""
    mass = own[0]
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


def _let_go(row, c, d, pivot, push):
    """Reduce inertia and force of a node, as its joint is free to move along or about one axis."""
    (c0, c1, c2), (d0, d1, d2), inverse = c, d, 1.0 / pivot
    row[COLUMN], row[COLUMN + 1], row[COLUMN + 2] = c
    row[COLUMN + 3], row[COLUMN + 4], row[COLUMN + 5] = d
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


@summing
def let_hinge_go(row, own, value, rate):
    """Take the turn of a hinge out of inertia and force of its node; how much more inertia it has than rounding.

    ``own`` are stiffness, rest, preload, damping and the force of an input.
    """
    e0, e1, e2 = row[AXIS], row[AXIS + 1], row[AXIS + 2]
    c = [row[k] * e0 + row[k + 1] * e1 + row[k + 2] * e2 for k in (H, H + 3, H + 6)]
    d0 = row[J] * e0 + row[J + 1] * e1 + row[J + 2] * e2
    d1 = row[J + 1] * e0 + row[J + 3] * e1 + row[J + 4] * e2
    d2 = row[J + 2] * e0 + row[J + 4] * e1 + row[J + 5] * e2
    pivot, size = e0 * d0 + e1 * d1 + e2 * d2, row[J] + row[J + 3] + row[J + 5]
    push = -(e0 * row[F + 3] + e1 * row[F + 4] + e2 * row[F + 5])
    push = push + (own[2] + own[4] - own[0] * (row[VALUE] + value - own[1]) - own[3] * rate)
    _let_go(row, c, (d0, d1, d2), pivot, push)
    return pivot - _NOTHING * size


@summing
def let_slide_go(row, own, value, rate):
    """The same for the displacement of a slide."""
    e0, e1, e2 = row[AXIS], row[AXIS + 1], row[AXIS + 2]
    c0 = row[M] * e0 + row[M + 1] * e1 + row[M + 2] * e2
    c1 = row[M + 1] * e0 + row[M + 3] * e1 + row[M + 4] * e2
    c2 = row[M + 2] * e0 + row[M + 4] * e1 + row[M + 5] * e2
    d = [row[k] * e0 + row[k + 3] * e1 + row[k + 6] * e2 for k in (H, H + 1, H + 2)]
    pivot, size = e0 * c0 + e1 * c1 + e2 * c2, row[M] + row[M + 3] + row[M + 5]
    push = -(e0 * row[F] + e1 * row[F + 1] + e2 * row[F + 2])
    push = push + (own[2] + own[4] - own[0] * (row[VALUE] + value - own[1]) - own[3] * rate)
    _let_go(row, (c0, c1, c2), d, pivot, push)
    return pivot - _NOTHING * size


@summing
def hand_force_on(row, to):
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


@summing
def hand_inertia_on(row, to):
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


@summing
def put_inverse(row):
    """The inverse of J of a ball joint in the place of it, and how much more inertia its turns have than rounding."""
    a, b, c, d, e, f = row[J], row[J + 1], row[J + 2], row[J + 3], row[J + 4], row[J + 5]
    x, y, z = d * f - e * e, c * e - b * f, b * e - c * d
    minor, whole = a * d - b * b, a * x + b * y + c * z
    inverse = 1.0 / whole
    row[J], row[J + 1], row[J + 2] = x * inverse, y * inverse, z * inverse
    row[J + 3], row[J + 4], row[J + 5] = (a * f - c * c) * inverse, (b * c - a * e) * inverse, minor * inverse
    row[COLUMN], row[COLUMN + 1], row[COLUMN + 2] = a, minor - _NOTHING * a * d, whole - _NOTHING * minor * f


@summing
def let_turn(row, to):
    """Take the turns of a ball joint, whose inverse is known, out of inertia and force of a node, and hand on what is left.

    The node keeps H and its torque.
    """
    a, b, c, d, e, f = row[J], row[J + 1], row[J + 2], row[J + 3], row[J + 4], row[J + 5]
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


def _carried(row, before):
    """Acceleration (6) of a node that stays where it is on the one before it."""
    p0, p1, p2, r0, r1, r2 = before[A + 3], before[A + 4], before[A + 5], row[ARM], row[ARM + 1], row[ARM + 2]
    a0 = before[A] + p1 * r2 - p2 * r1 + row[BIAS]
    a1 = before[A + 1] + p2 * r0 - p0 * r2 + row[BIAS + 1]
    a2 = before[A + 2] + p0 * r1 - p1 * r0 + row[BIAS + 2]
    return a0, a1, a2, p0 + row[BIAS + 3], p1 + row[BIAS + 4], p2 + row[BIAS + 5]


def _own(row, a):
    """Acceleration of a slide or hinge, whose node would have the acceleration a (6) without it."""
    own = row[PUSH] - (
        (row[COLUMN] * a[0] + row[COLUMN + 1] * a[1]) + (row[COLUMN + 2] * a[2] + row[COLUMN + 3] * a[3])
        + (row[COLUMN + 4] * a[4] + row[COLUMN + 5] * a[5])
    )  # fmt: skip
    return own * row[INVERSE]


@summing
def accelerate_weld(row, before):
    """Acceleration (6) of a node that does not move relative to the one before it."""
    row[A], row[A + 1], row[A + 2], row[A + 3], row[A + 4], row[A + 5] = _carried(row, before)


@summing
def accelerate_slide(row, before, out, at):
    """Acceleration (6) of a node that slides on the one before it, and of its coordinate, ``out[at]``."""
    a = _carried(row, before)
    own = _own(row, a)
    for i in range(3):
        row[A + i], row[A + 3 + i] = a[i] + own * row[AXIS + i], a[3 + i]
    out[at] = own


@summing
def accelerate_hinge(row, before, out, at):
    """Acceleration (6) of a node that is hinged to the one before it, and of its coordinate, ``out[at]``."""
    a = _carried(row, before)
    own = _own(row, a)
    for i in range(3):
        row[A + i], row[A + 3 + i] = a[i], a[3 + i] + own * row[AXIS + i]
    out[at] = own


@summing
def accelerate_ball(row, before, out, at):
    """Acceleration (6) of a node on a ball joint, and angular ones along its axes, from ``out[at]`` on."""
    a0, a1, a2, a3, a4, a5 = _carried(row, before)
    x = -(row[F + 3] + row[H] * a0 + row[H + 3] * a1 + row[H + 6] * a2)
    y = -(row[F + 4] + row[H + 1] * a0 + row[H + 4] * a1 + row[H + 7] * a2)
    z = -(row[F + 5] + row[H + 2] * a0 + row[H + 5] * a1 + row[H + 8] * a2)
    b3 = row[J] * x + row[J + 1] * y + row[J + 2] * z
    b4 = row[J + 1] * x + row[J + 3] * y + row[J + 4] * z
    b5 = row[J + 2] * x + row[J + 4] * y + row[J + 5] * z
    row[A], row[A + 1], row[A + 2], row[A + 3], row[A + 4], row[A + 5] = a0, a1, a2, b3, b4, b5
    x, y, z = b3 - a3, b4 - a4, b5 - a5
    for i in range(3):
        out[at + i] = row[U + i] * x + row[U + 3 + i] * y + row[U + 6 + i] * z


@straight
def put_point(row, before, rate):
    """Place and velocity of the joint of a node, which slides at a rate."""
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        row[P + i] = before[P + i] + row[ARM + i]
        row[V + i] = (
            before[V + i] + before[W + i1] * row[ARM + i2] - before[W + i2] * row[ARM + i1] + rate * row[AXIS + i]
        )


def _line(one, two):
    """The line (3,) of a spring, with levers to its ends in the place of what is not needed before accelerations."""
    return [two[P + i] + two[A + 3 + i] - one[P + i] - one[A + i] for i in range(3)]


@straight
def put_line(own, one, two):
    """Levers of a spring on both nodes; the square of its length, and in a place of ``two`` half the rate of this."""
    for i in range(3):
        one[A + i] = one[U + 3 * i] * own[0] + one[U + 3 * i + 1] * own[1] + one[U + 3 * i + 2] * own[2]
        two[A + 3 + i] = two[U + 3 * i] * own[3] + two[U + 3 * i + 1] * own[4] + two[U + 3 * i + 2] * own[5]
    square = along = 0.0
    for i, d in enumerate(_line(one, two)):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        square += d * d
        along += d * (two[V + i] + two[W + i1] * two[A + 3 + i2] - two[W + i2] * two[A + 3 + i1])
        along -= d * (one[V + i] + one[W + i1] * one[A + i2] - one[W + i2] * one[A + i1])
    two[COLUMN] = along
    return square


@straight
def add_pull(one, two, pull):
    """The force of a spring on both nodes: so many times its line."""
    f = [pull * d for d in _line(one, two)]
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        one[F + i] -= f[i]
        two[F + i] += f[i]
        one[F + 3 + i] -= one[A + i1] * f[i2] - one[A + i2] * f[i1]
        two[F + 3 + i] += two[A + 3 + i1] * f[i2] - two[A + 3 + i2] * f[i1]
