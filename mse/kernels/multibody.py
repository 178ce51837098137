"""Accelerations of rigid bodies on joints, compiled: ``[M G'; G 0] (a, l) = (f - c, -v'(d2g)v)`` in time linear in their number.

Rows of joints are sums of the fifteen scalars of :mod:`mse.kernels.joints`, with factors that stay: a measure that is held at an
angle vanishes where its sine does.  The sixteenth is the square of a distance, which rods hold.  So slopes and bends
``v'(d2g)v`` are exact and short.

M is stiffened along the rows, by ``G'WG``, which changes no acceleration, since ``G a`` is given: bodies without inertia are then
eliminated as others are.  Elimination goes from the leaves of a spanning tree of the bodies to its root, in one dense front for
each body, with the rows of the joint that the body hangs on (:mod:`mse.dynamics.elimination`).  Rows that close loops come after
both of their bodies, so that their pivots vanish where they depend on other rows.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import NamedTuple

import numpy as np

from .acting import FORCES, acting_arguments
from .by_address import GOOD, NEAR, NOT_GOOD, address, called
from .jit import bare_part, kept
from .multibody_fronts import eliminate, solve
from .multibody_rows import angle_near, dot, put_all_rows, put_cross
from .rotations import put_inverse_left_jacobian, put_turned_in

# of numpy, since numba would compile a part once for each of Python's (jit.py)
_FREE, _FORCED = np.bool_(False), np.bool_(True)
_ROUNDS = 8  # of Newton's method, which takes two or three


class Model(NamedTuple):
    """A system as arrays; bodies are numbered from 1, the ground is 0.

    ``bodies`` (b, 13) have their mass, mass times center, and inertia about the reference point, along their axes.
    ``joints`` (E, 8) have two bodies, their front, in that front the places of both bodies (-1 for the ground) and of the first
    row, the first row and that of the next joint.  Joints that only measure stand behind those that hold, one for each of the
    ``springs`` (S, 5), stiffness, rest, preload, damping and the force of an input; for these the front and the place after it
    are the fronts of both bodies.  ``seats`` (E, 2, 4, 3) are the place and the three axes of a joint on each body.
    Row r is ``held[r, 0]`` and the sum of the ``factors`` of its ``scalars``, from ``first_term[r]`` to ``first_term[r + 1]``;
    ``held[r, 1]`` is W, ``held[r, 2]`` not zero where a body hangs on the row, and where a motion is prescribed along it,
    ``held[r, 3]`` and ``held[r, 4]`` are its rate and acceleration.  ``held[r, 5]`` is the mass that moves along it.  A row on
    more than two bodies has a joint for each two of them, one after the other: M is not stiffened along it, and that mass is
    zero for all but the first.  A spring of two rows acts on the angle whose sine and cosine they are, one of a row without
    scalars on the distance of both places.
    ``fronts`` (b, 6) have the body, the columns that are eliminated and all columns, where their rows begin in the arena and
    their columns among ``columns``, and the front that takes what is left, -1 for none.  ``columns`` (c, 2) are the numbers of
    unknowns, bodies first, and the places in the front that takes what is left.
    """

    gravity: np.ndarray
    bodies: np.ndarray
    joints: np.ndarray
    seats: np.ndarray
    first_term: np.ndarray
    scalars: np.ndarray
    factors: np.ndarray
    held: np.ndarray
    springs: np.ndarray
    fronts: np.ndarray
    columns: np.ndarray


class Work(NamedTuple):
    """Room for one evaluation.

    Poses, turns and motions are of ground and bodies (b + 1, ...), slopes (R, 12), values and bends (R,) of rows.  The arena
    (r, widest) has the fronts, ``right`` (c,) their right sides, ``terms`` (6 b,) the terms of pivots.  What solves them, and
    what was found before, are (n + R,), a point of a chart (2 n + 2,).  ``small`` (36, 3) is room for one joint or
    body, up to row 31 in parts of ``run``, behind it in ``run`` itself.
    """

    o: np.ndarray
    u: np.ndarray
    turn: np.ndarray
    motion: np.ndarray
    slope: np.ndarray
    value: np.ndarray
    bend: np.ndarray
    arena: np.ndarray
    right: np.ndarray
    terms: np.ndarray
    solution: np.ndarray
    found: np.ndarray
    point: np.ndarray
    small: np.ndarray


@bare_part
def _put_inertia(model, work, b, s, inertia):
    """Mass times lever of the center s (3,) and inertia (3, 3) of a body about its reference point, along world axes."""
    u, own = work.u[b], model.bodies[b - 1]
    for i in range(3):
        s[i] = dot(u[i], own[1:4])
        x = u[i, 0] * own[4] + u[i, 1] * own[7] + u[i, 2] * own[10]
        y = u[i, 0] * own[5] + u[i, 1] * own[8] + u[i, 2] * own[11]
        z = u[i, 0] * own[6] + u[i, 1] * own[9] + u[i, 2] * own[12]
        for j in range(3):
            inertia[i, j] = x * u[j, 0] + y * u[j, 1] + z * u[j, 2]


@bare_part
def _put_matrix(model, work, s, inertia):
    """All fronts before elimination, for the present poses and slopes; the last two are room (3,) and (3, 3)."""
    arena, terms = work.arena, work.terms
    for f in range(model.fronts.shape[0]):
        b, size, base = model.fronts[f, 0], model.fronts[f, 2], model.fronts[f, 3]
        for i in range(size):
            to = arena[base + i]
            for j in range(size):
                to[j] = 0.0
        _put_inertia(model, work, b, s, inertia)
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            arena[base + i, i] = model.bodies[b - 1, 0]
            arena[base + j, 3 + k], arena[base + k, 3 + j] = s[i], -s[i]
            for j in range(3):
                arena[base + 3 + i, 3 + j] = inertia[i, j]
        for i in range(6):
            terms[6 * b - 6 + i] = arena[base + i, i]
    for e in range(model.joints.shape[0] - model.springs.shape[0]):
        base = model.fronts[model.joints[e, 2], 3]
        # the body that is eliminated first, and the other one if there is one
        near = 0 if model.joints[e, 4] < 0 or 0 <= model.joints[e, 3] < model.joints[e, 4] else 1
        p, q = model.joints[e, 3 + near], model.joints[e, 4 - near]
        first, other = 6 * model.joints[e, near] - 6, 6 * model.joints[e, 1 - near] - 6
        for r in range(model.joints[e, 6], model.joints[e, 7]):
            weight, g = model.held[r, 1], work.slope[r]
            row, i0, j0 = model.joints[e, 5] + r - model.joints[e, 6], 6 * near, 6 - 6 * near
            for i in range(6):
                y = g[i0 + i]
                if y != 0.0:
                    x, to = weight * y, arena[base + p + i]
                    to[row] = y
                    terms[first + i] += x * y
                    for j in range(6):
                        to[p + j] += x * g[i0 + j]
                    if q >= 0:
                        for j in range(6):
                            to[q + j] += x * g[j0 + j]
            if q >= 0:
                for i in range(6):
                    y = g[j0 + i]
                    if y != 0.0:
                        x, to = weight * y, arena[base + q + i]
                        if row < q:
                            arena[base + row, q + i] = y
                        else:
                            to[row] = y
                        terms[other + i] += x * y
                        for j in range(6):
                            to[q + j] += x * g[j0 + j]


@bare_part
def _put_forces(model, work, memory, extra):
    """Put all forces into the right sides: weights, inertia, ``extra`` ones, and springs, dampers and inputs of joints.

    Returns the powers (W) of the dampers and of the inputs.
    """
    s, p, q, across, inertia = work.small[0], work.small[1], work.small[2], work.small[3], work.small[4:7]
    right, gravity = work.right, model.gravity
    for f in range(model.fronts.shape[0]):
        b, size, first = model.fronts[f, 0], model.fronts[f, 2], model.fronts[f, 4]
        w, mass = work.motion[b, 3:6], model.bodies[b - 1, 0]
        _put_inertia(model, work, b, s, inertia)
        p[0], p[1], p[2] = dot(inertia[0], w), dot(inertia[1], w), dot(inertia[2], w)
        put_cross(w, p, q)
        put_cross(w, s, p)
        put_cross(w, p, across)
        put_cross(s, gravity, p)
        for i in range(3):
            right[first + i] = mass * gravity[i] - across[i] + extra[6 * b - 6 + i]
            right[first + 3 + i] = p[i] - q[i] + extra[6 * b - 3 + i]
        for i in range(6, size):
            right[first + i] = 0.0
    damped, driven, holding = 0.0, 0.0, model.joints.shape[0] - model.springs.shape[0]
    for k in range(model.springs.shape[0]):
        e, own = holding + k, model.springs[k]
        r = model.joints[e, 6]
        value, by_sine, by_cosine, cosine = work.value[r], 1.0, 0.0, r
        if model.joints[e, 7] - r == 2:
            cosine = r + 1
            u, t = work.value[r], work.value[cosine]
            square = u * u + t * t
            value, by_sine, by_cosine = angle_near(u, t, memory[k]), t / square, -u / square
        if value == 0.0 and own[1] > 0.0 and model.first_term[r] == model.first_term[r + 1]:
            value = np.nan  # of places that meet, the line has no direction
        rate = 0.0
        for i in range(12):
            g = by_sine * work.slope[r, i] + by_cosine * work.slope[cosine, i]
            rate += g * work.motion[model.joints[e, i // 6], i % 6]
        damped, driven = damped - own[3] * rate * rate, driven + own[4] * rate
        pull = own[2] + own[4] - own[0] * (value - own[1]) - own[3] * rate
        for i in range(12):
            if model.joints[e, i // 6]:
                g = by_sine * work.slope[r, i] + by_cosine * work.slope[cosine, i]
                right[model.fronts[model.joints[e, 2 + i // 6], 4] + i % 6] += pull * g
    return damped, driven


@bare_part
def _put_left(model, work, given):
    """What forces in right sides and ``given`` rows (R,) leave of the equations, in place of both."""
    s, p, q, inertia = work.small[0], work.small[1], work.small[2], work.small[3:6]
    right, x = work.right, work.solution
    for f in range(model.fronts.shape[0]):
        b, first = model.fronts[f, 0], model.fronts[f, 4]
        a, turn = x[6 * b - 6 : 6 * b - 3], x[6 * b - 3 : 6 * b]
        _put_inertia(model, work, b, s, inertia)
        put_cross(s, turn, p)
        put_cross(s, a, q)
        for i in range(3):
            right[first + i] -= model.bodies[b - 1, 0] * a[i] - p[i]
            right[first + 3 + i] -= q[i] + dot(inertia[i], turn)
    for e in range(model.joints.shape[0] - model.springs.shape[0]):
        first = model.fronts[model.joints[e, 2], 4]
        for r in range(model.joints[e, 6], model.joints[e, 7]):
            g = work.slope[r]
            pull = x[model.columns[first + model.joints[e, 5] + r - model.joints[e, 6], 0]]
            for side in range(2):
                place, k, at = model.joints[e, 3 + side], 6 * side, 6 * model.joints[e, side] - 6
                if place >= 0:
                    for i in range(6):
                        right[first + place + i] -= pull * g[k + i]
                        given[r] -= g[k + i] * x[at + i]


@bare_part
def _move(work, v, start):
    """Velocities of bodies, from the numbers ``start`` of v on; the ground has none."""
    for b in range(1, work.motion.shape[0]):
        for c in range(6):
            work.motion[b, c] = v[start + 6 * b - 6 + c]


@bare_part
def _displace(work, o, u, x):
    """Poses of bodies displaced from o (b + 1, 3), u (b + 1, 3, 3) by the coordinates x (n,) of a chart."""
    for b in range(o.shape[0]):
        for c in range(3):
            work.o[b, c] = o[b, c] + (x[6 * b - 6 + c] if b else 0.0)
            work.turn[b, c] = x[6 * b - 3 + c] if b else 0.0
    put_turned_in(work.small[:9], u, work.turn, work.u)


@bare_part
def _put_speeds(model, work):
    """What velocities lack along rows, ``u' - G v`` (R,), in the place of bends."""
    for e in range(model.joints.shape[0]):
        one, two = work.motion[model.joints[e, 0]], work.motion[model.joints[e, 1]]
        for r in range(model.joints[e, 6], model.joints[e, 7]):
            total, g = model.held[r, 3], work.slope[r]
            for i in range(6):
                total -= g[i] * one[i] + g[6 + i] * two[i]
            work.bend[r] = total


@bare_part
def _largest(model, work, values, size, count, independent, gap):
    """The largest of some values (count,), as distances (m) in a system of a ``size`` (m), of independent rows and of all."""
    gap[0] = gap[1] = length = value = 0.0
    row = 0
    for r in range(count):
        if model.held[r, 5] != 0.0:  # not further bodies of the row before
            row, length, value = r, 0.0, 0.0
        value += values[r]
        for i in range(12):
            x = work.slope[r, i] / (size if i % 6 >= 3 else 1.0)
            length += x * x
        if r + 1 < count and model.held[r + 1, 5] == 0.0:
            continue
        x = abs(value) / sqrt(length) if length > 0.0 else 0.0
        if not x < np.inf:
            gap[0] = gap[1] = np.inf
            return
        gap[1] = max(gap[1], x)
        if independent[row]:
            gap[0] = max(gap[0], x)


@kept(nogil=True, error_model="numpy", _nrt=False)
def run(
    model, work, ask, exert, acting, o, u, memory, extra, independent, time, y, h, nodes, coefficients, first, last,
    restoring, slopes, limits, gaps,
):  # fmt: skip
    """Slopes (s, 2 n + 2) of the stages from ``first`` to ``last`` of a step h from y (2 n + 2,), or why there are none.

    Coordinates of bodies displaced from the poses o, u come first, then velocities, and works of dampers and of other forces;
    ``extra`` (n + 2,) are further forces, and power of both kinds; ``exert`` is the address of :func:`.acting.exert` if elements
    are ``acting``, and 0 if none are.  ``ask`` is 0, or the address of Python's code that sets ``extra`` forces and what is
    driven by motors: it gets the time (s), which is that of the step's begin and h times one of ``nodes`` (s,), and whether
    forces are left out; it answers GOOD, or BROKEN where it failed.  The first stage of all finds which rows are independent.
    Stages with a pivot of a row that closes a loop below ``limits[4]`` are ``NEAR`` a dead point.  For ``restoring``, constraints
    are restored before accelerations are found, which there are corrected once for their rounding.
    Without a stage, constraints are restored at y instead, to ``limits[1]`` (m) in a system of the size ``limits[0]`` (m): poses
    in ``work``, and velocities in y.  Both move by impulses of constraints alone.  ``gaps`` (4,) are the distance (m) and speed
    (m/s) by which rows were open at most, the distance by which they still are, and the smallest pivot of a row that closes a
    loop so far.
    """
    n, rows = 6 * model.bodies.shape[0], independent.shape[0]
    jacobian, room, gap, settling, point = work.small[31:34], work.small[34], work.small[35], first == last, work.point
    for s in range(first, last + settling):
        for i in range(y.shape[0]):
            point[i] = y[i]
        for j in range(0 if settling else s):
            x = h * coefficients[s, j]
            if x != 0.0:
                for i in range(y.shape[0]):
                    point[i] += x * slopes[j, i]
        _displace(work, o, u, point)
        _move(work, point, n)
        if ask != 0:
            answer = called(ask, (time + h * nodes[s], 1 if settling else 0))
            if answer != GOOD:
                return answer
        rounds, least, moving = 0, 1.0, settling or (restoring and s > 0)
        while True:
            answer = put_all_rows(model, work, memory, acting)
            if answer != GOOD:
                return answer
            if settling:
                _largest(model, work, work.value, limits[0], rows, independent, gap)
            if rounds < 2:  # after that the matrix is as good as at the end
                _put_matrix(model, work, room, jacobian)
                # at the end of a step rows may be independent that were not at its begin; they show where constraints hold
                decide = rounds == 1 or gap[0] <= limits[1] if settling else s == 0
                least = eliminate(model, work, independent, limits, decide)
                if least < 0.0:
                    return NOT_GOOD
                gaps[3] = min(gaps[3], least)
            if not moving:
                if least < limits[4] and s > 0:
                    return NEAR
                break
            if rounds == 0:
                _put_speeds(model, work)
                _largest(model, work, work.bend, limits[0], rows, independent, gap)
                gaps[1] = gap[1]
            _largest(model, work, work.value, limits[0], rows, independent, gap)
            if rounds == 0:
                gaps[0] = gap[1]
            if gap[0] <= limits[1] or rounds == _ROUNDS:
                gaps[2] = gap[1]
                break
            for r in range(rows):
                work.bend[r] = -work.value[r]
            solve(model, work, independent, work.bend, _FREE)
            for b in range(1, o.shape[0]):
                for c in range(3):
                    work.turn[b, c] = work.solution[6 * b - 3 + c]
                    work.o[b, c] += work.solution[6 * b - 6 + c]
            put_turned_in(work.small[:9], work.u, work.turn, work.u)
            rounds += 1
        for _ in range(2 * moving):
            _put_speeds(model, work)
            solve(model, work, independent, work.bend, _FREE)
            for b in range(1, o.shape[0]):
                for c in range(6):
                    work.motion[b, c] += work.solution[6 * b - 6 + c]
        if settling:
            for b in range(1, o.shape[0]):
                for c in range(6):
                    y[n + 6 * b - 6 + c] = work.motion[b, c]
            return GOOD
        if moving:
            answer = put_all_rows(model, work, memory, acting)
            if answer != GOOD:
                return answer
        for r in range(rows):
            work.bend[r] = model.held[r, 4] - work.bend[r]
        forces = extra
        if exert != 0:
            answer = called(exert, (acting, model.gravity, work.o, work.u, work.motion, extra, FORCES))
            if answer != GOOD:
                return answer
            forces = acting.total
        damped, driven = _put_forces(model, work, memory, forces)
        solve(model, work, independent, work.bend, _FORCED)
        if least < limits[4]:
            for i in range(n + rows):
                work.found[i] = work.solution[i]
            _put_forces(model, work, memory, forces)
            _put_left(model, work, work.bend)
            solve(model, work, independent, work.bend, _FORCED)
            for i in range(n + rows):
                work.solution[i] += work.found[i]
        out = slopes[s]
        for at in range(0, n, 6):
            put_inverse_left_jacobian(point[at + 3 : at + 6], jacobian)
            w = point[n + at + 3 : n + at + 6]
            for c in range(3):
                out[at + c], out[at + 3 + c] = point[n + at + c], dot(jacobian[c], w)
            for c in range(6):
                out[n + at + c] = work.solution[at + c]
        out[2 * n], out[2 * n + 1] = damped + forces[n], driven + forces[n + 1]
        for r in range(rows):  # only constraints that move do work
            out[2 * n + 1] -= work.solution[n + r] * model.held[r, 3]
    return GOOD


def run_arguments() -> tuple:
    """Arguments of :func:`run` of the right types, to compile it."""
    row, table, stack, blocks = (np.zeros((0,) * axes) for axes in range(1, 5))
    numbers, pairs = np.zeros(0, dtype=int), np.zeros((0, 0), dtype=int)
    model = Model(row, table, pairs, blocks, numbers, numbers, row, table, table, pairs, pairs)
    work = Work(table, stack, table, table, table, row, row, table, row, row, row, row, row, table)
    independent = np.zeros(0, dtype=bool)
    start = model, work, 0, 0, acting_arguments(), table, stack, row, row, independent
    return *start, 0.0, row, 0.0, row, table, 0, 0, False, table, row, row


@lru_cache
def run_address() -> int:
    """Where the code of :func:`run` is."""
    return address(run, run_arguments())
