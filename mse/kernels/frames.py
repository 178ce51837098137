"""Compiled: poses of frames on the bodies that carry them."""

from __future__ import annotations

import numpy as np

from .jit import compiled, writable
from .motions import add_relative_motion, motion_coefficients, put_relative_twist, turn_squared
from .rotations import rotation_matrix, rotation_vector
from .small_matrices import product


def placed_frames(origins, orientations, body, offset_o, offset_U) -> tuple[np.ndarray, np.ndarray]:
    """``o = o_b + U_b o_f, U = U_b U_f`` for frames f on bodies b: (n, 3) and (n, 3, 3) from ``body`` (n,) and offsets."""
    o, u = np.empty((len(body), 3)), np.empty((len(body), 3, 3))
    _place(writable(origins), writable(orientations), body, offset_o, offset_U, o, u)
    return o, u


@compiled
def _place(origins, orientations, body, offset_o, offset_U, o, u):
    for f in range(body.shape[0]):
        b = body[f]
        for i in range(3):
            x, y, z = orientations[b, i, 0], orientations[b, i, 1], orientations[b, i, 2]
            o[f, i] = origins[b, i] + (x * offset_o[f, 0] + y * offset_o[f, 1] + z * offset_o[f, 2])
            for j in range(3):
                u[f, i, j] = x * offset_U[f, 0, j] + y * offset_U[f, 1, j] + z * offset_U[f, 2, j]


@compiled
def carry(body, carrier, axes, origins, motion, moved, turns):
    """Fill origins ``moved`` and rotation vectors ``turns`` (units, 3) after a ``motion`` (units, 6) of units at ``origins``.

    Each ``body`` (b,) rotates with its ``carrier`` (b,) about ``axes`` (b, 3), unit vectors; carriers come first.
    """
    units = origins.shape[0]
    whole = np.zeros((units, 3, 3))  # rotation of each unit with its carriers, as a matrix and as a vector
    round_axis = np.zeros((units, 3))
    own, arm, apart = np.empty(3), np.empty(3), np.empty(3)
    for v in range(units):
        for i in range(3):
            whole[v, i, i] = 1.0
            moved[v, i] = origins[v, i] + motion[v, i]
            turns[v, i] = motion[v, 3 + i]
    for k in range(body.shape[0]):
        v, c = body[k], carrier[k]
        angle = 0.0
        for i in range(3):
            angle += axes[k, i] * motion[c, 3 + i]
            arm[i] = origins[v, i] - origins[c, i]
        for i in range(3):
            round_axis[v, i] = angle * axes[k, i]
            own[i] = round_axis[v, i] - round_axis[c, i]
        whole[v] = product(whole[c], rotation_matrix(own))
        # the rotation of the carrier explains this part of the displacement
        for i in range(3):
            p, q = (i + 1) % 3, (i + 2) % 3
            by_turn = round_axis[v, p] * arm[q] - round_axis[v, q] * arm[p]
            apart[i] = arm[i] + motion[v, i] - motion[c, i] - by_turn
        for i in range(3):
            moved[v, i] = moved[c, i]
            for j in range(3):
                moved[v, i] += whole[v, i, j] * apart[j]
            own[i] = motion[v, 3 + i] - round_axis[v, i]
        turn = rotation_vector(product(whole[v], rotation_matrix(own)))
        for i in range(3):
            turns[v, i] = turn[i]


@compiled
def carry_whole(body, carrier, most_turn, origins, orientations, motion, moved, turned):
    """Move bodies (b,) rigidly with their ``carrier`` (b,), plus the change of relative pose that ``motion`` (units, 6) gives.

    The twist from carrier to body changes as ``motion`` changes it at ``origins`` (units, 3) and ``orientations`` (units, 3, 3).
    ``moved`` and ``turned`` are initially the poses that the motion alone gives, and stay so for bodies that are rotated by more
    than ``most_turn`` (rad) relative to their carrier.
    """
    d, powers, place = np.zeros(6), np.zeros((4, 6)), np.zeros((3, 3))
    line, own, other, apart = np.zeros(6), np.zeros(6), np.zeros(6), np.zeros(3)
    for k in range(body.shape[0]):
        v, c = body[k], carrier[k]
        a, b = orientations[c], orientations[v]
        put_relative_twist(origins[c], a, origins[v], b, place, line, d)
        if turn_squared(d) > most_turn * most_turn:
            continue
        for i in range(3):
            for j in range(0, 6, 3):
                own[j + i] = other[j + i] = 0.0
                for h in range(3):
                    own[j + i] += a[h, i] * motion[c, j + h]
                    other[j + i] += b[h, i] * motion[v, j + h]
        add_relative_motion(d, own, other, powers)
        coefficient, further = motion_coefficients(turn_squared(d))
        for i in range(3):
            p, q = (i + 1) % 3, (i + 2) % 3
            own[i] = d[3 + p] * d[q] - d[3 + q] * d[p]
        for i in range(3):
            p, q = (i + 1) % 3, (i + 2) % 3
            apart[i] = d[i] + coefficient * own[i] + further * (d[3 + p] * own[q] - d[3 + q] * own[p])
        turn = rotation_matrix(d[3:])
        for i in range(3):
            moved[v, i] = moved[c, i]
            for j in range(3):
                moved[v, i] += turned[c, i, j] * apart[j]
                turned[v, i, j] = 0.0
                for h in range(3):
                    turned[v, i, j] += turned[c, i, h] * turn[h, j]


@compiled
def carry_on_screws(body, carrier, origins, motion, moved, turns):
    """Fill origins ``moved`` and rotation vectors ``turns`` (units, 3) after a ``motion`` (units, 6) of units at ``origins``.

    Each ``body`` (b,) moves with its ``carrier`` (b,), which comes first, and relative to it along the screw whose first-order
    motion is the given one.
    """
    whole = np.empty((origins.shape[0], 3, 3))
    whole[0] = rotation_matrix(motion[0, 3:])
    for i in range(3):
        moved[0, i] = origins[0, i] + motion[0, i]
        turns[0, i] = motion[0, 3 + i]
    arm, turn, apart, own = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for k in range(body.shape[0]):
        v, c = body[k], carrier[k]
        t2 = 0.0
        for i in range(3):
            arm[i] = origins[v, i] - origins[c, i]
            turn[i] = motion[v, 3 + i] - motion[c, 3 + i]
            t2 += turn[i] * turn[i]
        for i in range(3):
            p, q = (i + 1) % 3, (i + 2) % 3
            apart[i] = motion[v, i] - motion[c, i] - (motion[c, 3 + p] * arm[q] - motion[c, 3 + q] * arm[p])
        for i in range(3):
            p, q = (i + 1) % 3, (i + 2) % 3
            own[i] = turn[p] * apart[q] - turn[q] * apart[p]
        coefficient, further = motion_coefficients(t2)
        for i in range(3):
            p, q = (i + 1) % 3, (i + 2) % 3
            arm[i] += apart[i] + coefficient * own[i] + further * (turn[p] * own[q] - turn[q] * own[p])
        whole[v] = product(whole[c], rotation_matrix(turn))
        for i in range(3):
            moved[v, i] = moved[c, i]
            for j in range(3):
                moved[v, i] += whole[c, i, j] * arm[j]
        turned = rotation_vector(whole[v])
        for i in range(3):
            turns[v, i] = turned[i]


@compiled
def add_up(body, carrier, forces):
    """Add to the ``forces`` (units, 3) on each carrier the forces on everything it carries."""
    for k in range(body.shape[0] - 1, -1, -1):
        for i in range(3):
            forces[carrier[k], i] += forces[body[k], i]
