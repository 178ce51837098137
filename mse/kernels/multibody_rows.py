"""Rows of constraints on rigid bodies: values, slopes and bends ``v'(d2g)v``, for :mod:`mse.kernels.multibody`.

Rows of joints are sums of scalars.  Gears, wheels and own constraints have a kernel of their own (:mod:`.holding`), called by
its address.
"""

from __future__ import annotations

from math import atan2, sqrt

from .by_address import GOOD, called
from .jit import bare_part
from .rotations import TURN, WHOLE


@bare_part
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@bare_part
def put_cross(a, b, out):
    out[0], out[1], out[2] = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@bare_part
def _put_rows(model, work):
    """Values (R,), slopes (R, 12) by both bodies and bends (R,) of rows of joints; without meaning for all others."""
    # levers (0 and 4), axes of the second body (1 to 3) and of the first (5 to 7), distance of places (8); and their first and
    # second derivatives in time without accelerations
    x, dx, ddx, side, across = work.small[:9], work.small[9:18], work.small[18:27], work.small[27:30], work.small[30]
    o, motion = work.o, work.motion
    for e in range(model.joints.shape[0]):
        one, two = model.joints[e, 0], model.joints[e, 1]
        for first in range(0, 8, 4):
            b, s = (two, 1) if first == 0 else (one, 0)
            u, w = work.u[b], motion[b, 3:6]
            for k in range(4):
                seat, to = model.seats[e, s, k], x[first + k]
                to[0], to[1], to[2] = dot(u[0], seat), dot(u[1], seat), dot(u[2], seat)
                put_cross(w, to, dx[first + k])
                put_cross(w, dx[first + k], ddx[first + k])
        for c in range(3):
            x[8, c] = o[one, c] + x[4, c] - o[two, c] - x[0, c]
            dx[8, c] = motion[one, c] + dx[4, c] - motion[two, c] - dx[0, c]
            ddx[8, c] = ddx[4, c] - ddx[0, c]
        for r in range(model.joints[e, 6], model.joints[e, 7]):
            value, bend = model.held[r, 0], 0.0
            for k in range(3):  # force, and the torques on both sides
                side[k, 0] = side[k, 1] = side[k, 2] = 0.0
            for term in range(model.first_term[r], model.first_term[r + 1]):
                s, f = model.scalars[term], model.factors[term]
                if s == 15:
                    value += f * dot(x[8], x[8])
                    bend += 2.0 * f * (dot(ddx[8], x[8]) + dot(dx[8], dx[8]))
                    for c in range(3):
                        side[0, c] += 2.0 * f * x[8, c]
                    continue
                if s >= 12:
                    value += f * x[8, s - 12]
                    bend += f * ddx[8, s - 12]
                    side[0, s - 12] += f
                    continue
                i, j = (1 + s, 8) if s < 3 else (s // 3, 5 + s % 3)
                value += f * dot(x[i], x[j])
                bend += f * (dot(ddx[i], x[j]) + 2.0 * dot(dx[i], dx[j]) + dot(x[i], ddx[j]))
                put_cross(x[i], x[j], across)
                for c in range(3):
                    side[2, c] += f * across[c]
                    if j == 8:
                        side[0, c] += f * x[i, c]
                    else:
                        side[1, c] -= f * across[c]
            if model.first_term[r] == model.first_term[r + 1]:
                value = sqrt(dot(x[8], x[8]))
                for c in range(3):
                    side[0, c] = x[8, c] / value if value > 0.0 else 0.0
            work.value[r], work.bend[r] = value, bend
            g = work.slope[r]
            put_cross(x[4], side[0], g[3:6])
            put_cross(x[0], side[0], across)
            for c in range(3):
                g[c], g[6 + c] = side[0, c], -side[0, c]
                g[3 + c] += side[1, c]
                g[9 + c] = side[2, c] - across[c]


@bare_part
def angle_near(sine, cosine, before):
    """An angle (rad) less than half a turn from the one before."""
    value = atan2(sine, cosine)
    turns = (before - value) / TURN
    return value + TURN * ((turns + WHOLE) - WHOLE)


@bare_part
def put_angles(model, work, before, after):
    """Angles (rad) on which springs act, from those before."""
    holding = model.joints.shape[0] - model.springs.shape[0]
    for k in range(after.shape[0]):
        r = model.joints[holding + k, 6]
        if model.joints[holding + k, 7] - r == 2:
            after[k] = angle_near(work.value[r], work.value[r + 1], before[k])


@bare_part
def put_all_rows(model, work, memory, acting):
    """Values, slopes and bends of all rows, also of gears and of laws; GOOD, or what :func:`.holding.hold` answers."""
    _put_rows(model, work)
    return GOOD if acting.hold == 0 else called(acting.hold, (acting.held, model, work, memory))
