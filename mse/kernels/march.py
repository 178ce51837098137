"""Recursions in time, compiled.  States are (first of each pair, second of each pair, rest); pairs (4, h) by rows."""

from __future__ import annotations

import numpy as np
from numba import njit

_LOOPS = 40  # states up to which plain loops beat the library's matrix product


@njit(cache=True)
def turn(pairs, rest, state):
    """``s <- P s`` in place, P of 2 x 2 blocks (p0 p1; p2 p3) and one dense block ``rest``."""
    h = pairs.shape[1]
    for j in range(h):
        a, b = state[j], state[h + j]
        state[j] = pairs[0, j] * a + pairs[1, j] * b
        state[h + j] = pairs[2, j] * a + pairs[3, j] * b
    size = rest.shape[0]
    if size == 0:
        return
    if size > _LOOPS:
        state[2 * h :] = rest @ state[2 * h :]
        return
    before = state[2 * h :].copy()
    for i in range(size):
        total = 0.0
        for j in range(size):
            total += rest[i, j] * before[j]
        state[2 * h + i] = total


@njit(cache=True)
def march(pairs, rest, forcing, state):
    """``s_{k+1} = P s_k + g_k``: puts s_k in the place of g_k in forcing (n, s) and leaves s_n in state."""
    h = pairs.shape[1]
    size = len(state)
    p0, p1, p2, p3 = pairs[0], pairs[1], pairs[2], pairs[3]
    after = np.empty(size - 2 * h)
    for k in range(forcing.shape[0]):
        for j in range(h):
            a, b = state[j], state[h + j]
            f, g = forcing[k, j], forcing[k, h + j]
            forcing[k, j], forcing[k, h + j] = a, b
            state[j] = p0[j] * a + p1[j] * b + f
            state[h + j] = p2[j] * a + p3[j] * b + g
        if len(after) == 0:
            continue
        if len(after) > _LOOPS:
            after[:] = rest @ state[2 * h :]
        else:
            for i in range(len(after)):
                after[i] = 0.0
                for j in range(len(after)):
                    after[i] += rest[i, j] * state[2 * h + j]
        for i in range(len(after)):
            g = forcing[k, 2 * h + i]
            forcing[k, 2 * h + i] = state[2 * h + i]
            state[2 * h + i] = after[i] + g


@njit(cache=True)
def add_product(matrix, vector, out):
    """``out += matrix vector``, all contiguous."""
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * vector[j]
        out[i] += total


@njit(cache=True)
def step(pairs, rest, into, state, inputs):
    """``s <- P s + G u`` in place."""
    turn(pairs, rest, state)
    add_product(into, inputs, state)


@njit(cache=True)
def output(of_state, of_inputs, state, inputs, number):
    """``y_i = C_i s + D_i u`` for one i."""
    total = 0.0
    for j in range(len(state)):
        total += of_state[number, j] * state[j]
    for j in range(len(inputs)):
        total += of_inputs[number, j] * inputs[j]
    return total


@njit(cache=True)
def read(of_state, of_inputs, state, inputs, out):
    """``y = C s + D u``."""
    for i in range(len(out)):
        out[i] = 0.0
    add_product(of_state, state, out)
    add_product(of_inputs, inputs, out)


@njit(cache=True)
def walk(pairs, rest, into, of_state, of_inputs, state, inputs, outputs):
    """One step after another: outputs (n, o) at the start of each of n steps with inputs (n, i); state moves on."""
    for k in range(inputs.shape[0]):
        read(of_state, of_inputs, state, inputs[k], outputs[k])
        step(pairs, rest, into, state, inputs[k])
