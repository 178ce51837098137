"""Poses of frames on the bodies that carry them, compiled."""

from __future__ import annotations

import numpy as np

from .jit import compiled, writable


def placed_frames(origins, orientations, body, offset_o, offset_U) -> tuple[np.ndarray, np.ndarray]:
    """``o = o_b + U_b o_f, U = U_b U_f`` for frames f on bodies b: (n, 3) and (n, 3, 3) from ``body`` (n,) and offsets."""
    o, u = np.empty((len(body), 3)), np.empty((len(body), 3, 3))
    _place(writable(origins), writable(orientations), body, offset_o, offset_U, o, u)
    return o, u


@compiled
def _place(origins, orientations, body, offset_o, offset_U, o, u):
    for f in range(body.shape[0]):
        b = body[f]
        for i in range(3):
            x, y, z = orientations[b, i, 0], orientations[b, i, 1], orientations[b, i, 2]
            o[f, i] = origins[b, i] + (x * offset_o[f, 0] + y * offset_o[f, 1] + z * offset_o[f, 2])
            for j in range(3):
                u[f, i, j] = x * offset_U[f, 0, j] + y * offset_U[f, 1, j] + z * offset_U[f, 2, j]
