"""Steps with a compiled controller between them; compiled once for all controllers, which are called by their address."""

from __future__ import annotations

import numpy as np
from numba import float64, int64, types, void

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

    Before, the inputs numbered ``own`` (g,) are set to ``given`` (n + 1, g).  The controller sees ``y_k = C s_k + D u`` with
    these and the others of k - 1, and sets u_k.  Fills values (n + 1, o) with ``C s_k + D u_k`` and driven (n + 1, i) with
    u_k, the last rows with the other inputs as they were left.  ``done`` (1,) counts the steps made, also when the controller
    fails; it stays below n where an input is not finite, where the controller changed one of ``own``, and where the state
    would not stay finite.
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
