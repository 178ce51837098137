"""Steps with a compiled controller between them.  It is compiled once for all controllers, which it calls by their address."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import float64, int64, njit, types, void

from .jit import kept
from .march import read, step

_ROW, _TABLE = float64[::1], float64[:, ::1]
CONTROLLER = void(_ROW, _ROW, _ROW, float64)


@kept(
    void(
        _TABLE, _TABLE, _TABLE, _TABLE, _TABLE, _ROW, _ROW,
        types.FunctionType(CONTROLLER), _ROW, int64, float64, int64[::1], _TABLE, _TABLE, _TABLE, int64[::1],
    ),
)  # fmt: skip
def control(
    pairs,
    columns,
    into,
    of_state,
    of_inputs,
    state,
    inputs,
    controller,
    memory,
    first,
    dt,
    own,
    given,
    values,
    driven,
    done,
):
    """``controller(y_k, u, memory, t_k); s_{k+1} = P s_k + G u_k`` for k = first, first + 1 ...

    Before each step, the inputs numbered ``own`` (g,) are set to ``given`` (n + 1, g).  The controller sees ``y_k = C s_k + D u``
    with these inputs and the other ones of step k - 1, and sets u_k.  Fills values (n + 1, o) with ``C s_k + D u_k`` and driven
    (n + 1, i) with u_k; in the last rows the other inputs keep their values.  ``done`` (1,) counts the steps made, also if the
    controller fails.  It stays below n if an input is not finite, if the controller changes one of ``own``, or if the state would
    not stay finite.
    """
    n = len(values) - 1
    outputs = np.empty(values.shape[1])
    for k in range(n):
        for j in range(len(own)):
            inputs[own[j]] = given[k, j]
        read(of_state, of_inputs, state, inputs, outputs)
        controller(outputs, inputs, memory, (first + k) * dt)
        for i in range(len(inputs)):
            if not np.isfinite(inputs[i]):
                return
            driven[k, i] = inputs[i]
        for j in range(len(own)):
            if inputs[own[j]] != given[k, j]:
                return
        read(of_state, of_inputs, state, inputs, values[k])
        if not step(pairs, columns, into, state, inputs):
            return
        done[0] = k + 1
    for j in range(len(own)):
        inputs[own[j]] = given[n, j]
    read(of_state, of_inputs, state, inputs, values[n])
    for i in range(len(inputs)):
        driven[n, i] = inputs[i]


@njit
def filters(outputs, inputs, memory, time):
    """``u = -(C x + D v); x = A x + B v`` every so many steps: sampled linear controllers as one controller of :func:`control`.

    ``memory`` has the steps between samples, a counter, the numbers of states n, commands a and readings v, the number b of
    inputs that have the command of the step before (a, or none), the output that each reading is, A, B, C, D by rows, x twice,
    the steps that each command waits after a sample, and the commands that wait.
    """
    every, step, n, a, v, b = (
        int(memory[0]),
        int(memory[1]),
        int(memory[2]),
        int(memory[3]),
        int(memory[4]),
        int(memory[5]),
    )
    memory[1] = (step + 1.0) % every
    read = 6
    of_states = read + v
    of_read = of_states + n * n
    to_command = of_read + n * v
    direct = to_command + a * n
    now = direct + a * v
    after = now + n
    wait = after + n
    waiting = wait + a
    if step == 0:
        for i in range(a):
            total = 0.0
            for j in range(n):
                total += memory[to_command + i * n + j] * memory[now + j]
            for j in range(v):
                total += memory[direct + i * v + j] * outputs[int(memory[read + j])]
            memory[waiting + i] = -total
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += memory[of_states + i * n + j] * memory[now + j]
            for j in range(v):
                total += memory[of_read + i * v + j] * outputs[int(memory[read + j])]
            memory[after + i] = total
        for i in range(n):
            memory[now + i] = memory[after + i]
    for i in range(b):
        inputs[a + i] = inputs[i]
    for i in range(a):
        if step == int(memory[wait + i]):
            inputs[i] = memory[waiting + i]


@lru_cache(maxsize=4)
def before_filters(controller, count: int, inputs_before: int, outputs_before: int):
    """A controller of the later inputs and outputs, then :func:`filters`, which have the first ``count`` numbers of memory."""

    @njit(CONTROLLER)
    def both(outputs, inputs, memory, time):
        controller(outputs[outputs_before:], inputs[inputs_before:], memory[count:], time)
        filters(outputs, inputs, memory[:count], time)

    return both
