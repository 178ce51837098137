"""Recursions in time, compiled.  States are (first of each pair, second of each pair, rest); pairs (4, h) by rows.

The dense block of the rest comes by its columns: so its product is sums of vectors, which vector registers do in the order
of plain loops, and BLAS, which takes long to compile a way to, would be no quicker.
"""

from __future__ import annotations

import numpy as np

from .jit import compiled, kept, part


@part
def _move_rest(columns, start, state, after):
    """The rest of a state, from ``start`` on, after one step, to ``after``."""
    for i in range(after.shape[0]):
        after[i] = 0.0
    j, size = 0, after.shape[0]
    while j + 3 < size:  # four at a time, so that the sum is read and written a quarter as often
        a, b, c, d = state[start + j], state[start + j + 1], state[start + j + 2], state[start + j + 3]
        for i in range(size):
            x = after[i] + columns[j, i] * a
            x = x + columns[j + 1, i] * b
            x = x + columns[j + 2, i] * c
            after[i] = x + columns[j + 3, i] * d
        j += 4
    for k in range(j, size):
        a = state[start + k]
        for i in range(size):
            after[i] += columns[k, i] * a


def march(pairs, rest, forcing, state):
    """``s_{k+1} = P s_k + g_k``: puts s_k in the place of g_k in forcing (n, s or more) and leaves s_n in state.

    P has 2 x 2 blocks (p0 p1; p2 p3) and one dense block ``rest``.
    """
    _march(pairs, np.ascontiguousarray(rest.T), forcing, state)


@kept(nogil=True)
def _march(pairs, columns, forcing, state):
    h, size = pairs.shape[1], columns.shape[0]
    p0, p1, p2, p3 = pairs[0], pairs[1], pairs[2], pairs[3]
    after = np.empty(size)
    for k in range(forcing.shape[0]):
        for j in range(h):
            a, b = state[j], state[h + j]
            f, g = forcing[k, j], forcing[k, h + j]
            forcing[k, j], forcing[k, h + j] = a, b
            state[j] = p0[j] * a + p1[j] * b + f
            state[h + j] = p2[j] * a + p3[j] * b + g
        if size == 0:
            continue
        _move_rest(columns, 2 * h, state, after)
        for i in range(size):
            g = forcing[k, 2 * h + i]
            forcing[k, 2 * h + i] = state[2 * h + i]
            state[2 * h + i] = after[i] + g


@part
def _add_product(matrix, vector, out):
    """``out += matrix vector``, all contiguous."""
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * vector[j]
        out[i] += total


@compiled
def step(pairs, columns, into, state, inputs):
    """``s <- P s + G u`` in place, the dense block of P by its columns; whether all of s are still finite numbers."""
    h = pairs.shape[1]
    for j in range(h):
        a, b = state[j], state[h + j]
        state[j] = pairs[0, j] * a + pairs[1, j] * b
        state[h + j] = pairs[2, j] * a + pairs[3, j] * b
    size = columns.shape[0]
    if size > 0:
        after = np.empty(size)
        _move_rest(columns, 2 * h, state, after)
        for i in range(size):
            state[2 * h + i] = after[i]
    _add_product(into, inputs, state)
    total = 0.0
    for j in range(state.shape[0]):
        total += 0.0 * state[j]
    return total == 0.0


@compiled
def output(of_state, of_inputs, state, inputs, number):
    """``y_i = C_i s + D_i u`` for one i."""
    total = 0.0
    for j in range(state.shape[0]):
        total += of_state[number, j] * state[j]
    for j in range(inputs.shape[0]):
        total += of_inputs[number, j] * inputs[j]
    return total


@compiled
def read(of_state, of_inputs, state, inputs, out):
    """``y = C s + D u``."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    _add_product(of_state, state, out)
    _add_product(of_inputs, inputs, out)


def walk(pairs, rest, into, of_state, of_inputs, state, inputs, outputs):
    """One step after another: outputs (n, o) at the start of each of n steps with inputs (n, i); state moves on."""
    _walk(pairs, np.ascontiguousarray(rest.T), into, of_state, of_inputs, state, inputs, outputs)


@compiled
def _walk(pairs, columns, into, of_state, of_inputs, state, inputs, outputs):
    for k in range(inputs.shape[0]):
        read(of_state, of_inputs, state, inputs[k], outputs[k])
        step(pairs, columns, into, state, inputs[k])
