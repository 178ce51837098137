"""Recursions in time, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def march(transition, forcing, start, states):
    """``s_{k+1} = P s_k + g_k``: fills states (n, s) with s_0 ... s_{n-1} and returns s_n."""
    n, size = forcing.shape
    now = start.copy()
    if size > 40:
        # from here on the library's matrix product beats the plain loops
        for k in range(n):
            states[k] = now
            now = transition @ now + forcing[k]
        return now
    after = np.empty(size)
    for k in range(n):
        for i in range(size):
            states[k, i] = now[i]
            total = forcing[k, i]
            for j in range(size):
                total += transition[i, j] * now[j]
            after[i] = total
        now, after = after, now
    return now.copy()
