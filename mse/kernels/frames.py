"""Poses of frames on the bodies that carry them, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def placed_frames(origins, orientations, body, offset_o, offset_U):
    """``o = o_b + U_b o_f, U = U_b U_f`` for frames f on bodies b: (n, 3) and (n, 3, 3) from ``body`` (n,) and offsets."""
    count = len(body)
    o, u = np.empty((count, 3)), np.empty((count, 3, 3))
    for f in range(count):
        b = body[f]
        for i in range(3):
            x, y, z = orientations[b, i, 0], orientations[b, i, 1], orientations[b, i, 2]
            o[f, i] = origins[b, i] + (x * offset_o[f, 0] + y * offset_o[f, 1] + z * offset_o[f, 2])
            for j in range(3):
                u[f, i, j] = x * offset_U[f, 0, j] + y * offset_U[f, 1, j] + z * offset_U[f, 2, j]
    return o, u
