"""Rows of constraints on rigid bodies that are no joints: gears, wheels, own constraints; for :mod:`mse.kernels.multibody`.

A gear adds up what joints measure.  Other elements give rows by kernels of their own.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .acting import put_frames, put_velocities
from .by_address import BROKEN, GOOD, address, done, from_memory
from .jit import bare_part, kept
from .multibody import run_arguments
from .multibody_rows import angle_near


class Held(NamedTuple):
    """Elements that give rows, one class after the other; the ground is body 0.

    ``kernel`` is the address of their kernel.  ``groups`` (G, 5) are the number of elements in each class, frames and rows of
    one, how many pairs of bodies a row is on, and the number of the first row; ``parameters`` (E, 1) those of all elements.  Of
    all frames there are ``bodies`` (F,), ``offset_o`` (F, 3), ``offset_U`` (F, 3, 3), and for which body of its row each counts
    (``sides``, -1 for the ground).  ``missed`` (1,) is not 0 where an element found that its kernel is not its law.
    ``gears`` (T, 4) have the row of a gear, the number of a joint that measures, and for which body of the row each of its
    bodies counts, -1 for the ground; ``ratios`` (T,) by how much.
    The rest is room: poses and velocities of frames, no memory (0, 0), and what kernels give.
    """

    kernel: int
    groups: np.ndarray
    parameters: np.ndarray
    bodies: np.ndarray
    offset_o: np.ndarray
    offset_U: np.ndarray
    sides: np.ndarray
    missed: np.ndarray
    gears: np.ndarray
    ratios: np.ndarray
    o: np.ndarray
    u: np.ndarray
    velocity: np.ndarray
    memory: np.ndarray
    rows: np.ndarray


def example() -> Held:
    """No elements, of the right types."""
    row, table, stack = (np.zeros((0,) * axes) for axes in range(1, 4))
    numbers, pairs = np.zeros(0, dtype=int), np.zeros((0, 0), dtype=int)
    return Held(0, pairs, table, numbers, table, stack, numbers, numbers, pairs, row, table, stack, row, table, row)


_held = from_memory(example())


@bare_part
def _put_gears(held, model, work, memory):
    """Rows of gears, from what joints measure; ``memory`` (K,) has angles before, as the joints that measure are numbered."""
    holding = model.joints.shape[0] - model.springs.shape[0]
    for k in range(held.gears.shape[0]):
        for side in range(2):
            row = held.gears[k, 0] + max(held.gears[k, 2 + side], 0) // 2
            work.value[row], work.bend[row] = model.held[row, 0], 0.0
            for i in range(12):
                work.slope[row, i] = 0.0
    for k in range(held.gears.shape[0]):
        row, measure, ratio = held.gears[k, 0], held.gears[k, 1], held.ratios[k]
        first, last = model.joints[holding + measure, 6], model.joints[holding + measure, 7] - 1
        value, bend, by_sine, by_cosine = work.value[first], work.bend[first], 1.0, 0.0
        if last > first:  # sine and cosine of an angle, whose squares have a sum that its joint holds
            u, t = value, work.value[last]
            square = u * u + t * t
            by_sine, by_cosine = t / square, -u / square
            bend = by_sine * bend + by_cosine * work.bend[last]
            value = angle_near(u, t, memory[measure])
        work.value[row] += ratio * value
        work.bend[row] += ratio * bend
        for i in range(12):
            side = held.gears[k, 2 + i // 6]
            if side >= 0:
                slope = by_sine * work.slope[first, i] + by_cosine * work.slope[last, i]
                work.slope[row + side // 2, 6 * (side % 2) + i % 6] += ratio * slope


@bare_part
def _put_held(held, work, f, rows, pairs, first):
    """Rows (m, 2 + 6 F) of one element by its frames, from number f on, as rows by bodies, from the number ``first`` on."""
    for r in range(rows.shape[0]):
        row, bend = first + r * pairs, rows[r, 1]
        for k in range(row, row + pairs):
            work.value[k] = work.bend[k] = 0.0
            for i in range(12):
                work.slope[k, i] = 0.0
        for k in range((rows.shape[1] - 2) // 6):
            side, b = held.sides[f + k], held.bodies[f + k]
            if side >= 0:
                slope, at6 = work.slope[row + side // 2], 6 * (side % 2)
                g, v = rows[r, 2 + 6 * k : 8 + 6 * k], held.velocity[6 * (f + k) :]
                at, own = held.o[f + k], work.motion[b]
                for i in range(3):
                    j, h = (i + 1) % 3, (i + 2) % 3
                    slope[at6 + i] += g[i]
                    slope[at6 + 3 + i] += g[3 + i] + (at[j] - work.o[b, j]) * g[h] - (at[h] - work.o[b, h]) * g[j]
                    # what turns is accelerated towards the reference point of its body
                    bend += g[i] * (own[3 + j] * (v[h] - own[h]) - own[3 + h] * (v[j] - own[j]))
        work.value[row], work.bend[row] = rows[r, 0], bend


@kept(no_cpython_wrapper=True)
def hold(at, model, work, memory):
    """Put values, slopes and bends of the rows of gears and laws into ``work``; ``at`` is the address of a :class:`Held`.

    Angles of joints that measure were ``memory`` (K,) before.  The answer is GOOD, or BROKEN where an element missed its law.
    """
    held, e, f = _held(at), 0, 0
    _put_gears(held, model, work, memory)
    put_frames(held, work.o, work.u)
    put_velocities(held, work.o, work.motion)
    for g in range(held.groups.shape[0]):
        count, frames, rows, pairs, first = held.groups[g]
        many, width = count * frames, 2 + 6 * frames
        places = held.o[f : f + many].reshape((count, frames, 3)), held.u[f : f + many].reshape((count, frames, 3, 3))
        velocity = held.velocity[6 * f : 6 * (f + many)].reshape((count, 6 * frames))
        out = held.rows[: count * rows * width].reshape((count, rows, width))
        done(held.kernel, (held.parameters[e : e + count], *places, held.memory, velocity, out))
        for k in range(count):
            _put_held(held, work, f + k * frames, out[k], pairs, first + k * rows * pairs)
        e, f = e + count, f + many
    return GOOD if held.missed[0] == 0 else BROKEN


def hold_arguments() -> tuple:
    """Arguments of :func:`hold` of the right types, to compile it."""
    model, work, *_ = run_arguments()
    return 0, model, work, np.zeros(0)


@lru_cache
def hold_address() -> int:
    """Where the code of :func:`hold` is."""
    return address(hold, hold_arguments())


@lru_cache
def row_address(kernel) -> int:
    """Where the code of an element's kernel of rows is."""
    table, stack, blocks = (np.zeros((0,) * axes) for axes in range(2, 5))
    return address(kernel, (table, stack, blocks, table, table, stack))
