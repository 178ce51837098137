"""Forces of elements on rigid bodies, by calls of the elements' own kernels, for :mod:`mse.kernels.multibody`.

Kernels of elements have one signature (:mod:`mse.kernels.springs`), so that their addresses are all that has to be known of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .by_address import BROKEN, GOOD, address, done
from .jit import bare_part, kept

# what exert() is asked for; of numpy, since numba would compile a part once for each of Python's (jit.py)
FORCES, FOLLOWING = np.bool_(False), np.bool_(True)
ENERGIES_AND_DAMPERS, DRIVING, STORING = range(3)  # what groups are


class Acting(NamedTuple):
    """Elements that act on bodies, one group of a class after the other; the ground is body 0.

    ``groups`` (G, 6) are the number of elements in each, frames, parameters and remembered numbers of one, parts of its
    stiffness, and what it is; ``kernels`` (G, 3) are the addresses of its kernel, of the one that damps and of the one that
    follows memories, 0 for none.  Of all elements one after the other there are ``parameters`` and ``memory``, and of all frames
    ``bodies`` (F,) and ``offset_o`` (F, 3), ``offset_U`` (F, 3, 3).
    The kind of a group says which powers are added up.  ENERGIES_AND_DAMPERS: those of the dampers.  DRIVING: all.  STORING:
    none, since these forces have an energy.
    ``missed`` (1,) is not 0 where an element found that its kernel is not its law.
    ``hold`` is the address of :func:`.holding.hold`, and ``held`` the address of its arrays.  Both are 0 if no element has rows.
    The rest is room: poses and velocities of frames, energies (F,) at most, gradients and forces of dampers (6 F,), a stiffness
    of no size, and ``total`` (n + 2,).
    """

    groups: np.ndarray
    kernels: np.ndarray
    parameters: np.ndarray
    memory: np.ndarray
    bodies: np.ndarray
    offset_o: np.ndarray
    offset_U: np.ndarray
    missed: np.ndarray
    hold: int
    held: int
    o: np.ndarray
    u: np.ndarray
    velocity: np.ndarray
    energy: np.ndarray
    gradient: np.ndarray
    drag: np.ndarray
    stiffness: np.ndarray
    total: np.ndarray


@bare_part
def put_frames(acting, o, u):
    """Poses of the frames of elements on bodies at o (b + 1, 3), u (b + 1, 3, 3)."""
    for f in range(acting.bodies.shape[0]):
        b, at, turn = acting.bodies[f], acting.offset_o[f], acting.offset_U[f]
        for i in range(3):
            x, y, z = u[b, i, 0], u[b, i, 1], u[b, i, 2]
            acting.o[f, i] = o[b, i] + (x * at[0] + y * at[1] + z * at[2])
            for j in range(3):
                acting.u[f, i, j] = x * turn[0, j] + y * turn[1, j] + z * turn[2, j]


@bare_part
def put_velocities(acting, o, motion):
    """Velocities of the frames of elements on bodies with reference points o (b + 1, 3) and velocities (b + 1, 6)."""
    for f in range(acting.bodies.shape[0]):
        b = acting.bodies[f]
        v, at = motion[b], acting.o[f]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            by_turn = v[3 + j] * (at[k] - o[b, k]) - v[3 + k] * (at[j] - o[b, j])
            acting.velocity[6 * f + i], acting.velocity[6 * f + 3 + i] = v[i] + by_turn, v[3 + i]


@bare_part
def _add_up(acting, f, per_element, many, e, o, kind):
    """Forces at ``many`` frames from number f on, of elements from number e on, to the total, and powers of a ``kind``."""
    total, damps, drives = acting.total, kind == ENERGIES_AND_DAMPERS, kind == DRIVING
    for k in range(f, f + many):
        b, x, y = acting.bodies[k], acting.gradient[6 * k : 6 * k + 6], acting.drag[6 * k : 6 * k + 6]
        for i in range(6):
            total[total.shape[0] - 2] += damps * y[i] * acting.velocity[6 * k + i]
            # slopes may be finite although an element is outside its domain
            x[i] = y[i] - x[i] if abs(acting.energy[e + (k - f) // per_element]) < np.inf else np.nan
            total[total.shape[0] - 1] += drives * x[i] * acting.velocity[6 * k + i]
        if b:
            for i in range(3):
                j, h = (i + 1) % 3, (i + 2) % 3
                arm, other = acting.o[k, j] - o[b, j], acting.o[k, h] - o[b, h]
                total[6 * b - 6 + i] += x[i]
                total[6 * b - 3 + i] += x[3 + i] + arm * x[h] - other * x[j]


@kept(no_cpython_wrapper=True)
def exert(acting, gravity, o, u, motion, extra, following):
    """Put forces of elements and ``extra`` ones, and powers of both, into the total (n + 2,), at poses and a ``motion``.

    Poses are o (b + 1, 3), u (b + 1, 3, 3), and velocities (b + 1, 6).  For ``following``, no force is found: angles and
    turns that elements remember are brought to these poses, from poses less than half a turn away.  The answer is GOOD, or
    BROKEN where an element missed its law.
    """
    e, f, p, m = 0, 0, 0, 0
    put_frames(acting, o, u)
    if not following:
        put_velocities(acting, o, motion)
        for i in range(extra.shape[0]):
            acting.total[i] = extra[i]
        for i in range(acting.drag.shape[0]):
            acting.energy[i // 6] = acting.gradient[i] = acting.drag[i] = 0.0
    for g in range(acting.groups.shape[0]):
        count, frames, parameters, remembered, parts, kind = acting.groups[g]
        many, flat = count * frames, (count, 6 * frames)
        own = acting.parameters[p : p + count * parameters].reshape((count, parameters))
        turns = acting.u[f : f + many].reshape((count, frames, 3, 3))
        memory = acting.memory[m : m + count * remembered].reshape((count, remembered))
        given = own, acting.o[f : f + many].reshape((count, frames, 3)), turns, memory
        velocity = acting.velocity[6 * f : 6 * (f + many)].reshape(flat)
        if following:
            if acting.kernels[g, 2] != 0:
                done(acting.kernels[g, 2], (own, turns, memory))
        else:
            gradient, stiffness = acting.gradient[6 * f : 6 * (f + many)], (count, parts, 0, 0)
            out = acting.energy[e : e + count], gradient.reshape(flat), acting.stiffness.reshape(stiffness)
            if acting.kernels[g, 0] != 0:
                done(acting.kernels[g, 0], (*given, gravity, 1, *out))
            if acting.kernels[g, 1] != 0:
                drag = acting.drag[6 * f : 6 * (f + many)]
                done(acting.kernels[g, 1], (*given, velocity, drag.reshape(flat)))
            _add_up(acting, f, frames, many, e, o, kind)
        e, f, p, m = e + count, f + many, p + count * parameters, m + count * remembered
    return GOOD if acting.missed[0] == 0 else BROKEN


def acting_arguments() -> Acting:
    """No elements, of the right types to compile what has some."""
    row, table, stack = (np.zeros((0,) * axes) for axes in range(1, 4))
    numbers, pairs = np.zeros(0, dtype=int), np.zeros((0, 0), dtype=int)
    return Acting(pairs, pairs, row, row, numbers, table, stack, numbers, 0, 0, table, stack, *[row] * 6)


@lru_cache
def kernel_addresses(kernel, damping, followed) -> tuple[int, int, int]:
    """Where the code of an element's kernel is, of the one that damps and of the one that follows its memory, 0 for none."""
    row, table, stack, blocks = (np.zeros((0,) * axes) for axes in range(1, 5))
    given = table, stack, blocks, table
    return (
        address(kernel, (*given, row, 1, row, table, blocks)) if kernel is not None else 0,
        address(damping, (*given, table, table)) if damping is not None else 0,
        address(followed, (table, blocks, table)) if followed is not None else 0,
    )


def exert_arguments() -> tuple:
    """Arguments of :func:`exert` of the right types, to compile it."""
    row, table, stack = (np.zeros((0,) * axes) for axes in range(1, 4))
    return acting_arguments(), row, table, stack, table, row, False


@lru_cache
def exert_address() -> int:
    """Where the code of :func:`exert` is."""
    return address(exert, exert_arguments())
