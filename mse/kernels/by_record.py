"""Kernels of elements whose laws are records (:mod:`mse.numerics.record`): each element has a program, handed over by address.

They have the signatures of other elements' kernels (:mod:`mse.kernels.springs`).  The first parameter of an element is the
address of its program, which a double holds exactly.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from . import machine
from .by_address import InMemory, address, done, from_memory
from .jit import kept


class Law(NamedTuple):
    """A program of the machine for one element at a time.

    ``run`` is the address of the machine's loop.  ``inputs`` (1, i) are frames, what is given besides, and parameters; results
    (1, o) end with conditions, whose ``answers`` (c,) have to be these.  If they are not, ``missed`` (1,) becomes 1, as the
    law then goes another way.  ``form`` (3,) are the column of inputs where velocities are given, -1 for none, the column of
    results where forces begin, and the factor that makes them forces; of rows, a factor on their values.
    """

    run: int
    steps: np.ndarray
    constants: np.ndarray
    registers: np.ndarray
    results: np.ndarray
    inputs: np.ndarray
    answers: np.ndarray
    missed: np.ndarray
    form: np.ndarray


def law(
    program: tuple[np.ndarray, ...],
    inputs: np.ndarray,
    answers: np.ndarray,
    missed: np.ndarray,
    form: tuple[int, int, int],
) -> InMemory:
    """A program's steps, constants, registers and results, for one element."""
    return InMemory(Law(_run_address(), *program, inputs[None].copy(), answers, missed, np.array(form)))


def _example() -> Law:
    row, table, flags = np.zeros(0), np.zeros((0, 0)), np.zeros(0, dtype=bool)
    steps, whole = np.zeros((0, 5), dtype=np.uint32), np.zeros(0, dtype=int)
    return Law(0, steps, row, table, table, table, flags, whole, whole)


@lru_cache
def _run_address() -> int:
    one = _example()
    return address(machine.run, (one.steps, one.constants, one.inputs, one.registers, one.results))


_law = from_memory(_example())


@kept(no_cpython_wrapper=True)
def _put_results(at, o, u, given, own):
    """Results of the program at an address, for frames at o (F, 3), u (F, 3, 3) and what is ``given`` from a column on."""
    one = _law(at)
    inputs, frames = one.inputs, o.shape[0]
    for f in range(frames):
        for i in range(3):
            inputs[0, 3 * f + i] = o[f, i]
            for j in range(3):
                inputs[0, 3 * frames + 9 * f + 3 * i + j] = u[f, i, j]
    for i in range(own.shape[0] if given >= 0 else 0):
        inputs[0, given + i] = own[i]
    done(one.run, (one.steps, one.constants, inputs, one.registers, one.results))
    first = one.results.shape[1] - one.answers.shape[0]
    for c in range(one.answers.shape[0]):
        if (one.results[0, first + c] != 0.0) != one.answers[c]:
            one.missed[0] = 1


@kept(no_cpython_wrapper=True)
def energy_by_record(parameters, origins, orientations, memory, gravity, order, energy, gradient, stiffness):
    """Energies, and their gradients."""
    for e in range(parameters.shape[0]):
        at = np.int64(parameters[e, 0])
        _put_results(at, origins[e], orientations[e], 12 * origins.shape[1], gravity)
        found = _law(at).results
        energy[e] = found[0, 0]
        for i in range(gradient.shape[1]):
            gradient[e, i] = found[0, 1 + i]


@kept(no_cpython_wrapper=True)
def drag_by_record(parameters, origins, orientations, memory, velocity, drag):
    """Forces at velocities."""
    for e in range(parameters.shape[0]):
        at = np.int64(parameters[e, 0])
        form = _law(at).form
        acts = form[2] > 0
        for i in range(drag.shape[1]):
            acts = acts or velocity[e, i] != 0.0
        if not acts:  # at rest nothing damps, though slopes of a speed may be undefined there
            for i in range(drag.shape[1]):
                drag[e, i] = 0.0
            continue
        _put_results(at, origins[e], orientations[e], form[0], velocity[e])
        found = _law(at).results
        for i in range(drag.shape[1]):
            drag[e, i] = form[2] * found[0, form[1] + i]


@kept(no_cpython_wrapper=True)
def rows_by_record(parameters, origins, orientations, memory, velocity, out):
    """Rows (E, m, 2 + 6 F) of constraints: values, bends and slopes."""
    rows, size = out.shape[1], velocity.shape[1]
    for e in range(parameters.shape[0]):
        at = np.int64(parameters[e, 0])
        form = _law(at).form
        _put_results(at, origins[e], orientations[e], form[0], velocity[e])
        found = _law(at).results
        for r in range(rows):
            out[e, r, 0], out[e, r, 1] = form[2] * found[0, r], found[0, rows + r]
            for i in range(size):
                out[e, r, 2 + i] = found[0, 2 * rows + r * size + i]
