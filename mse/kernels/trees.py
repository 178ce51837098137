"""Accelerations of rigid bodies whose joints form a tree, in coordinates of the joints and in time linear in their number.

Articulated inertias go from the leaves to the ground, accelerations back (R. Featherstone, Rigid Body Dynamics Algorithms, 2008,
chapter 7), along the axes of the world, about the points of the joints.  A joint is a series of nodes of which each slides, turns
about one axis, turns about all, or is welded; nodes between two bodies have no mass.

A step has coordinates about the poses at its begin: displacements, angles, and for ball joints the rotation vector a with
``U = U_p R exp([a]x)``, whose velocities w are along the axes of the body, ``a' = J(a)^-T w``.
"""

from __future__ import annotations

from math import atan2, cos, sin, sqrt
from typing import NamedTuple

import numpy as np

from .jit import bare_part
from .rotations import TURN, WHOLE, put_inverse_left_jacobian

WELD, SLIDE, HINGE, BALL = 0, 1, 2, 3


class Tree(NamedTuple):
    """A tree of joints as arrays; nodes are numbered from 1, behind those that they hang on; the ground is 0.

    ``nodes`` (k + 1, 6) have the node that each hangs on, its kind, its first coordinate, its body (0 for none), and the first
    and last node of its joint.  ``places`` (k + 1, 3, 3) are where a joint sits on what it hangs on, where on the node itself,
    and the axis along what it hangs on.  ``masses`` (k + 1, 10) are the mass, mass times center and inertia (xx, xy, xz, yy, yz,
    zz) about the joint, along the node's axes.  ``springs`` (k + 1, 4) are stiffness, rest, preload and damping.  ``marks``
    (k + 1, 4, 3) are two axes on what a hinge hangs on and two on the node, which coincide where its angle is zero.
    """

    gravity: np.ndarray
    nodes: np.ndarray
    places: np.ndarray
    masses: np.ndarray
    springs: np.ndarray
    marks: np.ndarray


class TreeWork(NamedTuple):
    """Room for one evaluation: of each node where its step begins, where it is, how it moves, and its articulated inertia.

    At the begin: relative rotation and coordinate (value of a slide or hinge).  Then orientation, origin, place of the joint,
    axis, arm from the joint before, velocity and angular velocity, accelerations, bias, force, the inertia in three blocks (M, H,
    J), and what a slide or hinge takes of it (6), its pivot and push; the last two
    are room for what is worked out between.
    """

    turned: np.ndarray
    value: np.ndarray
    u: np.ndarray
    o: np.ndarray
    p: np.ndarray
    axis: np.ndarray
    arm: np.ndarray
    v: np.ndarray
    w: np.ndarray
    a: np.ndarray
    bias: np.ndarray
    force: np.ndarray
    blocks: np.ndarray
    column: np.ndarray
    matrix: np.ndarray
    vector: np.ndarray


SHAPES = (3, 3), (), (3, 3), (3,), (3,), (3,), (3,), (3,), (3,), (6,), (6,), (6,), (3, 3, 3), (8,), (3, 3), (3,)


@bare_part
def _put_product(a, b, out):
    for i in range(3):
        for j in range(3):
            out[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]


@bare_part
def _put_rotation(x, y, z, out):
    """``exp([a]x)`` of a = (x, y, z) (rad) into out (3, 3), as :func:`mse.kernels.rotations.rotation_matrix`."""
    square = x * x + y * y + z * z
    t = sqrt(square)
    s, c = 1.0 - square / 6.0, 0.5 - square / 24.0
    if t >= 1e-4:
        half = sin(0.5 * t) / t
        s, c = sin(t) / t, 2.0 * half * half
    out[0, 0], out[1, 1], out[2, 2] = 1.0 - c * (y * y + z * z), 1.0 - c * (x * x + z * z), 1.0 - c * (x * x + y * y)
    out[0, 1], out[1, 0] = c * x * y - s * z, c * x * y + s * z
    out[0, 2], out[2, 0] = c * x * z + s * y, c * x * z - s * y
    out[1, 2], out[2, 1] = c * y * z - s * x, c * y * z + s * x


@bare_part
def begin_step(tree, work, o, u, v, angles, y):
    """Coordinates y (2 n + 1,) at the begin of a step from poses o (b + 1, 3), u (b + 1, 3, 3) and velocities v (6 b,) of bodies.

    ``angles`` (k + 1,) of hinges are brought to what poses say, on the branch where they are.
    """
    n = (y.shape[0] - 1) // 2
    for i in range(y.shape[0]):
        y[i] = 0.0
    for i in range(3):
        for j in range(3):
            work.u[0, i, j] = 1.0 if i == j else 0.0
        work.o[0, i] = work.p[0, i] = work.v[0, i] = work.w[0, i] = 0.0
    for k in range(1, tree.nodes.shape[0]):
        before, kind, at, body = tree.nodes[k, 0], tree.nodes[k, 1], tree.nodes[k, 2], tree.nodes[k, 3]
        from_, here = work.u[before], work.u[k]
        for i in range(3):
            for j in range(3):
                here[i, j] = u[body, i, j] if body else from_[i, j]
        for i in range(3):
            for j in range(3):
                work.turned[k, i, j] = from_[0, i] * here[0, j] + from_[1, i] * here[1, j] + from_[2, i] * here[2, j]
        base, last = tree.nodes[tree.nodes[k, 4], 0], tree.nodes[k, 5]
        one, two = tree.nodes[base, 3], tree.nodes[last, 3]
        sine = cosine = 0.0
        rate, value = 0.0, 0.0
        for c in range(3):
            # of both sides of the joint: what turns, and what moves at its place
            w1 = v[6 * one - 3 + c] if one else 0.0
            w2 = v[6 * two - 3 + c]
            axis = (
                from_[c, 0] * tree.places[k, 2, 0]
                + from_[c, 1] * tree.places[k, 2, 1]
                + from_[c, 2] * tree.places[k, 2, 2]
            )
            if kind == HINGE:
                rate += axis * (w2 - w1)
                for i in range(2):
                    x = y1 = z = 0.0
                    for j in range(3):
                        x += from_[c, j] * tree.marks[k, i, j]
                        y1 += here[c, j] * tree.marks[k, 2 + i, j]
                        z += here[c, j] * tree.marks[k, 3 - i, j]
                    cosine += x * y1
                    sine += x * z if i == 1 else -x * z
            elif kind == BALL:
                for j in range(3):
                    y[n + at + j] += here[c, j] * (w2 - w1)
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
        if kind in (HINGE, SLIDE):
            y[n + at] = rate
        work.value[k] = value


@bare_part
def place(tree, work, y):
    """Poses and motions of all nodes at coordinates y (2 n + 1,)."""
    n = (y.shape[0] - 1) // 2
    turn = work.matrix[0]
    for k in range(1, tree.nodes.shape[0]):
        before, kind, at = tree.nodes[k, 0], tree.nodes[k, 1], tree.nodes[k, 2]
        from_, here, own, r = work.u[before], work.u[k], tree.places[k], work.arm[k]
        axis, p, w, wb, turned = work.axis[k], work.p[k], work.w[k], work.w[before], work.turned[k]
        for i in range(3):
            axis[i] = from_[i, 0] * own[2, 0] + from_[i, 1] * own[2, 1] + from_[i, 2] * own[2, 2]
            p[i] = work.o[before, i] + from_[i, 0] * own[0, 0] + from_[i, 1] * own[0, 1] + from_[i, 2] * own[0, 2]
            w[i] = wb[i]
        if kind == SLIDE:
            for i in range(3):
                p[i] += (work.value[k] + y[at]) * axis[i]
        if kind == BALL:
            _put_product(from_, turned, here)
            _put_rotation(y[at], y[at + 1], y[at + 2], work.matrix[1])
            _put_product(here, work.matrix[1], turn)
            for i in range(3):
                for j in range(3):
                    here[i, j] = turn[i, j]
            for i in range(3):
                w[i] += here[i, 0] * y[n + at] + here[i, 1] * y[n + at + 1] + here[i, 2] * y[n + at + 2]
        elif kind == HINGE:
            # exp([q e]x) U_p = c U_p + s [e]x U_p + (1 - c) e e'U_p, with e along the world
            s, half = sin(y[at]), sin(0.5 * y[at])
            c1, c = 2.0 * half * half, cos(y[at])
            for j in range(3):
                along = axis[0] * from_[0, j] + axis[1] * from_[1, j] + axis[2] * from_[2, j]
                for i in range(3):
                    i1, i2 = (i + 1) % 3, (i + 2) % 3
                    turn[i, j] = (
                        c * from_[i, j] + s * (axis[i1] * from_[i2, j] - axis[i2] * from_[i1, j]) + c1 * along * axis[i]
                    )
            _put_product(turn, turned, here)
            for i in range(3):
                w[i] += y[n + at] * axis[i]
        else:
            _put_product(from_, turned, here)
        for i in range(3):
            work.o[k, i] = p[i] - here[i, 0] * own[1, 0] - here[i, 1] * own[1, 1] - here[i, 2] * own[1, 2]
            r[i] = p[i] - work.p[before, i]
        v, vb = work.v[k], work.v[before]
        for i in range(3):
            i1, i2 = (i + 1) % 3, (i + 2) % 3
            v[i] = vb[i] + wb[i1] * r[i2] - wb[i2] * r[i1]
        if kind == SLIDE:
            for i in range(3):
                v[i] += y[n + at] * axis[i]


@bare_part
def _put_own(tree, work, k):
    """Inertia of a node about its joint, along the world, and the forces that it takes without accelerations."""
    u, own, blocks, f, w = work.u[k], tree.masses[k], work.blocks[k], work.force[k], work.w[k]
    m = own[0]
    if m == 0.0 and tree.nodes[k, 3] == 0:
        for i in range(3):
            f[i] = f[3 + i] = 0.0
            for j in range(3):
                blocks[0, i, j] = blocks[1, i, j] = blocks[2, i, j] = 0.0
        return
    s0 = u[0, 0] * own[1] + u[0, 1] * own[2] + u[0, 2] * own[3]
    s1 = u[1, 0] * own[1] + u[1, 1] * own[2] + u[1, 2] * own[3]
    s2 = u[2, 0] * own[1] + u[2, 1] * own[2] + u[2, 2] * own[3]
    mass, h, inertia = blocks[0], blocks[1], blocks[2]
    for i in range(3):
        x = u[i, 0] * own[4] + u[i, 1] * own[5] + u[i, 2] * own[6]
        y = u[i, 0] * own[5] + u[i, 1] * own[7] + u[i, 2] * own[8]
        z = u[i, 0] * own[6] + u[i, 1] * own[8] + u[i, 2] * own[9]
        for j in range(3):
            inertia[i, j] = x * u[j, 0] + y * u[j, 1] + z * u[j, 2]
            mass[i, j] = m if i == j else 0.0
        h[i, i] = 0.0
    # -[s]x
    h[0, 1], h[0, 2], h[1, 0], h[1, 2], h[2, 0], h[2, 1] = s2, -s1, -s2, s0, s1, -s0
    ws = w[0] * s0 + w[1] * s1 + w[2] * s2
    ww = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    f[0], f[1], f[2] = w[0] * ws - s0 * ww, w[1] * ws - s1 * ww, w[2] * ws - s2 * ww
    l0 = inertia[0, 0] * w[0] + inertia[0, 1] * w[1] + inertia[0, 2] * w[2]
    l1 = inertia[1, 0] * w[0] + inertia[1, 1] * w[1] + inertia[1, 2] * w[2]
    l2 = inertia[2, 0] * w[0] + inertia[2, 1] * w[1] + inertia[2, 2] * w[2]
    f[3], f[4], f[5] = w[1] * l2 - w[2] * l1, w[2] * l0 - w[0] * l2, w[0] * l1 - w[1] * l0


@bare_part
def _less(block, x, z, t, a, b, c):
    """Subtract ``(x, z, t) (a, b, c)'`` from a block (3, 3)."""
    block[0, 0], block[0, 1], block[0, 2] = block[0, 0] - x * a, block[0, 1] - x * b, block[0, 2] - x * c
    block[1, 0], block[1, 1], block[1, 2] = block[1, 0] - z * a, block[1, 1] - z * b, block[1, 2] - z * c
    block[2, 0], block[2, 1], block[2, 2] = block[2, 0] - t * a, block[2, 1] - t * b, block[2, 2] - t * c


@bare_part
def _hand_on(work, k, before):
    """Add what is left of a node's inertia and force, at its joint, to those of the node that it hangs on."""
    mass, h, inertia = work.blocks[k, 0], work.blocks[k, 1], work.blocks[k, 2]
    to_mass, to_h, to_inertia = work.blocks[before, 0], work.blocks[before, 1], work.blocks[before, 2]
    f, g, r = work.force[k], work.force[before], work.arm[k]
    r0, r1, r2 = r[0], r[1], r[2]
    f0, f1, f2 = f[0], f[1], f[2]
    g[0], g[1], g[2] = g[0] + f0, g[1] + f1, g[2] + f2
    g[3] += f[3] + r1 * f2 - r2 * f1
    g[4] += f[4] + r2 * f0 - r0 * f2
    g[5] += f[5] + r0 * f1 - r1 * f0
    # H' = H - M [r]x, J' = J - H'[r]x + [r]x H', row by row of H
    for i in range(3):
        m0, m1, m2 = mass[i, 0], mass[i, 1], mass[i, 2]
        h0, h1, h2 = h[i, 0], h[i, 1], h[i, 2]
        to_mass[i, 0], to_mass[i, 1], to_mass[i, 2] = to_mass[i, 0] + m0, to_mass[i, 1] + m1, to_mass[i, 2] + m2
        # the transpose of row i of H times row i of [r]x: its part of H'[r]x
        a, b, c = (0.0, -r2, r1) if i == 0 else (r2, 0.0, -r0) if i == 1 else (-r1, r0, 0.0)
        _less(to_inertia, h0, h1, h2, a, b, c)
        h0, h1, h2 = h0 - m1 * r2 + m2 * r1, h1 - m2 * r0 + m0 * r2, h2 - m0 * r1 + m1 * r0
        to_h[i, 0], to_h[i, 1], to_h[i, 2] = to_h[i, 0] + h0, to_h[i, 1] + h1, to_h[i, 2] + h2
        # and of [r]x times row i
        _less(to_inertia, a, b, c, h0, h1, h2)
    for i in range(3):
        for j in range(3):
            to_inertia[i, j] += inertia[i, j]


@bare_part
def accelerate(tree, work, y, out):
    """Slopes (2 n + 1,) at the coordinates y at which nodes are placed; whether each joint has inertia."""
    n = (y.shape[0] - 1) // 2
    count = tree.nodes.shape[0]
    jacobian, vector, damped = work.matrix[0], work.vector[0], 0.0
    for k in range(1, count):
        _put_own(tree, work, k)
        before, kind, at = tree.nodes[k, 0], tree.nodes[k, 1], tree.nodes[k, 2]
        wb, r, axis, bias = work.w[before], work.arm[k], work.axis[k], work.bias[k]
        wr = wb[0] * r[0] + wb[1] * r[1] + wb[2] * r[2]
        ww = wb[0] * wb[0] + wb[1] * wb[1] + wb[2] * wb[2]
        for i in range(3):
            i1, i2 = (i + 1) % 3, (i + 2) % 3
            bias[i] = wb[i] * wr - r[i] * ww
            bias[3 + i] = wb[i1] * (work.w[k, i2] - wb[i2]) - wb[i2] * (work.w[k, i1] - wb[i1])
            if kind == SLIDE:
                bias[i] += 2.0 * y[n + at] * (wb[i1] * axis[i2] - wb[i2] * axis[i1])
    for i in range(6):
        work.force[0, i] = 0.0
    for k in range(count - 1, 0, -1):
        before, kind, at = tree.nodes[k, 0], tree.nodes[k, 1], tree.nodes[k, 2]
        mass, h, inertia = work.blocks[k, 0], work.blocks[k, 1], work.blocks[k, 2]
        f, bias, e, column = work.force[k], work.bias[k], work.axis[k], work.column[k]
        if kind == BALL:
            # its inertia inverted, in the place of that
            a, b, c = inertia[0, 0], inertia[0, 1], inertia[0, 2]
            d, g, q = inertia[1, 1], inertia[1, 2], inertia[2, 2]
            x, z, t = d * q - g * g, c * g - b * q, b * g - c * d
            minor, whole = a * d - b * b, a * x + b * z + c * t
            if not (a > 0.0 and minor > 1e-13 * a * d and whole > 1e-13 * minor * q):
                return False
            inverse = 1.0 / whole
            inertia[0, 0], inertia[0, 1], inertia[0, 2] = x * inverse, z * inverse, t * inverse
            inertia[1, 0], inertia[1, 1], inertia[1, 2] = (
                z * inverse,
                (a * q - c * c) * inverse,
                (b * c - a * g) * inverse,
            )
            inertia[2, 0], inertia[2, 1], inertia[2, 2] = t * inverse, inertia[1, 2], minor * inverse
            gain = jacobian
            _put_product(h, inertia, gain)
            for i in range(3):
                for j in range(3):
                    mass[i, j] -= gain[i, 0] * h[j, 0] + gain[i, 1] * h[j, 1] + gain[i, 2] * h[j, 2]
            # the node itself keeps H, the inverse and its torque; only a force goes on
            r, to = work.arm[k], work.force[before]
            for i in range(3):
                vector[i] = f[i] - gain[i, 0] * f[3] - gain[i, 1] * f[4] - gain[i, 2] * f[5]
                vector[i] += mass[i, 0] * bias[0] + mass[i, 1] * bias[1] + mass[i, 2] * bias[2]
            to_mass, to_h, to_inertia = work.blocks[before, 0], work.blocks[before, 1], work.blocks[before, 2]
            if before:
                for i in range(3):
                    i1, i2 = (i + 1) % 3, (i + 2) % 3
                    to[i] += vector[i]
                    to[3 + i] += r[i1] * vector[i2] - r[i2] * vector[i1]
                    for j in range(3):
                        j1, j2 = (j + 1) % 3, (j + 2) % 3
                        to_mass[i, j] += mass[i, j]
                        gain[i, j] = mass[i, j2] * r[j1] - mass[i, j1] * r[j2]
                        to_h[i, j] += gain[i, j]
                for i in range(3):
                    i1, i2 = (i + 1) % 3, (i + 2) % 3
                    for j in range(3):
                        to_inertia[i, j] += r[i1] * gain[i2, j] - r[i2] * gain[i1, j]
            continue
        if kind != WELD:
            e0, e1, e2 = e[0], e[1], e[2]
            if kind == HINGE:
                c0 = h[0, 0] * e0 + h[0, 1] * e1 + h[0, 2] * e2
                c1 = h[1, 0] * e0 + h[1, 1] * e1 + h[1, 2] * e2
                c2 = h[2, 0] * e0 + h[2, 1] * e1 + h[2, 2] * e2
                d0 = inertia[0, 0] * e0 + inertia[0, 1] * e1 + inertia[0, 2] * e2
                d1 = inertia[1, 0] * e0 + inertia[1, 1] * e1 + inertia[1, 2] * e2
                d2 = inertia[2, 0] * e0 + inertia[2, 1] * e1 + inertia[2, 2] * e2
                pivot, size = e0 * d0 + e1 * d1 + e2 * d2, inertia[0, 0] + inertia[1, 1] + inertia[2, 2]
                push = -(e0 * f[3] + e1 * f[4] + e2 * f[5])
            else:
                c0 = mass[0, 0] * e0 + mass[0, 1] * e1 + mass[0, 2] * e2
                c1 = mass[1, 0] * e0 + mass[1, 1] * e1 + mass[1, 2] * e2
                c2 = mass[2, 0] * e0 + mass[2, 1] * e1 + mass[2, 2] * e2
                d0 = h[0, 0] * e0 + h[1, 0] * e1 + h[2, 0] * e2
                d1 = h[0, 1] * e0 + h[1, 1] * e1 + h[2, 1] * e2
                d2 = h[0, 2] * e0 + h[1, 2] * e1 + h[2, 2] * e2
                pivot, size = e0 * c0 + e1 * c1 + e2 * c2, mass[0, 0] + mass[1, 1] + mass[2, 2]
                push = -(e0 * f[0] + e1 * f[1] + e2 * f[2])
            if not pivot > 1e-13 * size:
                return False
            own, rate = tree.springs[k], y[n + at]
            push += own[2] - own[0] * (work.value[k] + y[at] - own[1]) - own[3] * rate
            damped -= own[3] * rate * rate
            column[0], column[1], column[2], column[3], column[4], column[5] = c0, c1, c2, d0, d1, d2
            column[6], column[7] = pivot, push
            if not before:
                continue
            inverse = 1.0 / pivot
            x, z, t = c0 * inverse, c1 * inverse, c2 * inverse
            _less(mass, x, z, t, c0, c1, c2)
            _less(h, x, z, t, d0, d1, d2)
            f[0] += x * push
            f[1] += z * push
            f[2] += t * push
            x, z, t = d0 * inverse, d1 * inverse, d2 * inverse
            _less(inertia, x, z, t, d0, d1, d2)
            f[3] += x * push
            f[4] += z * push
            f[5] += t * push
        if not before:
            continue
        for i in range(3):
            for j in range(3):
                f[i] += mass[i, j] * bias[j] + h[i, j] * bias[3 + j]
                f[3 + i] += h[j, i] * bias[j] + inertia[i, j] * bias[3 + j]
        _hand_on(work, k, before)
    for i in range(3):
        work.a[0, i], work.a[0, 3 + i] = -tree.gravity[i], 0.0
    for k in range(1, count):
        before, kind, at = tree.nodes[k, 0], tree.nodes[k, 1], tree.nodes[k, 2]
        a, ab, r, e, bias, column = work.a[k], work.a[before], work.arm[k], work.axis[k], work.bias[k], work.column[k]
        for i in range(3):
            i1, i2 = (i + 1) % 3, (i + 2) % 3
            a[i] = ab[i] + ab[3 + i1] * r[i2] - ab[3 + i2] * r[i1] + bias[i]
            a[3 + i] = ab[3 + i] + bias[3 + i]
        if kind == BALL:
            f, h, inverse, u = work.force[k], work.blocks[k, 1], work.blocks[k, 2], work.u[k]
            for i in range(3):
                vector[i] = -f[3 + i] - h[0, i] * a[0] - h[1, i] * a[1] - h[2, i] * a[2]
            for i in range(3):
                bias[3 + i] = (
                    inverse[i, 0] * vector[0] + inverse[i, 1] * vector[1] + inverse[i, 2] * vector[2] - a[3 + i]
                )
            for i in range(3):
                a[3 + i] += bias[3 + i]
                out[n + at + i] = u[0, i] * bias[3] + u[1, i] * bias[4] + u[2, i] * bias[5]
                vector[i] = -y[at + i]
            put_inverse_left_jacobian(vector, jacobian)
            for i in range(3):
                out[at + i] = (
                    jacobian[i, 0] * y[n + at] + jacobian[i, 1] * y[n + at + 1] + jacobian[i, 2] * y[n + at + 2]
                )
        elif kind != WELD:
            x = column[7]
            for i in range(6):
                x -= column[i] * a[i]
            x /= column[6]
            first = 3 if kind == HINGE else 0
            for i in range(3):
                a[first + i] += x * e[i]
            out[at], out[n + at] = y[n + at], x
    out[2 * n] = damped
    return True


@bare_part
def put_bodies(tree, work, o, u, v):
    """Poses and velocities of bodies where nodes are placed, with orientations brought to the nearest rotations."""
    for k in range(1, tree.nodes.shape[0]):
        body = tree.nodes[k, 3]
        if body:
            here, w, at, p = work.u[k], work.w[k], work.o[k], work.p[k]
            for i in range(3):
                i1, i2 = (i + 1) % 3, (i + 2) % 3
                o[body, i] = at[i]
                v[6 * body - 6 + i] = work.v[k, i] + w[i1] * (at[i2] - p[i2]) - w[i2] * (at[i1] - p[i1])
                v[6 * body - 3 + i] = w[i]
            for i in range(3):
                for j in range(3):
                    x = 0.0
                    for m in range(3):
                        # U (3 I - U'U) / 2
                        y = here[0, m] * here[0, j] + here[1, m] * here[1, j] + here[2, m] * here[2, j]
                        x += here[i, m] * ((1.5 if m == j else 0.0) - 0.5 * y)
                    u[body, i, j] = x
