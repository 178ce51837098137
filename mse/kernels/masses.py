"""Mass and damping matrices of many elements at once, in plain numpy: a few products of stacked 3 x 3 matrices.

Each function takes parameters (E, P), the frame numbers of the elements (E, F), origins (N, 3) and orientations (N, 3, 3) of all
frames, and the elements' memories (E, m).  It returns matrices (E, 6 F, 6 F) in world axes, or None if there are none, as
:mod:`mse.elements.base` documents.  Not compiled: it runs once per linear model, and compiling a function costs the first use
a tenth of a second.
"""

from __future__ import annotations

import numpy as np

from .rotations import cross_matrix, inverse_left_jacobian
from .springs import bushing_memory

_ENTRIES = np.array([0, 2, 1, 2, 1, 0, 1, 0, 2])  # which component of a each entry of [a]x holds, and its sign
_SIGNS = np.array([0.0, -1.0, 1.0, 1.0, 0.0, -1.0, -1.0, 1.0, 0.0])


def body_mass(parameters, frames, origins, orientations, memory):
    """``diag(m I, U J U^T)`` with parameters (m, J row by row); (E, 6, 6)."""
    u = orientations[frames[:, 0]]
    out = np.zeros((len(parameters), 6, 6))
    for a in range(3):
        out[:, a, a] = parameters[:, 0]
    out[:, 3:, 3:] = u @ parameters[:, 1:10].reshape(-1, 3, 3) @ u.transpose(0, 2, 1)
    return out


def body_inertia_force(mass, velocities):
    """``w x (U J U^T w)``, the gyroscopic torque of ``mass`` (E, 6, 6) at velocities (E, 6); (E, 6)."""
    out = np.zeros(velocities.shape)
    w = velocities[:, 3:]
    out[:, 3:] = (cross_matrices(w) @ (mass[:, 3:, 3:] @ w[:, :, None]))[:, :, 0]
    return out


def body_inertia_slopes(mass, velocities, accelerations):
    """``J w' + w x J w`` with the force m o'' (E, 6), and its slopes (E, 6, 6) by turns and by velocities; J is of ``mass``.

    J turns with the body, by ``[a]x J - J [a]x``.
    """
    w, change, j = velocities[:, 3:], accelerations[:, 3:], mass[:, 3:, 3:]
    force = np.einsum("eij,ej->ei", mass, accelerations)
    spin = np.einsum("eij,ej->ei", j, w)
    turned = np.einsum("eij,ej->ei", j, change)
    moving = cross_matrices(np.concatenate([w, change, spin, turned])).reshape(4, -1, 3, 3)
    force[:, 3:] += np.einsum("eij,ej->ei", moving[0], spin)
    w, change, spin, turned = moving
    by_positions, by_velocities = np.zeros((2, *mass.shape))
    by_positions[:, 3:, 3:] = j @ change - turned + w @ (j @ w - spin)
    by_velocities[:, 3:, 3:] = w @ j - spin
    return force, by_positions, by_velocities


def cross_matrices(vectors):
    """``[a]x`` (E, 3, 3) of vectors a (E, 3)."""
    return (vectors.take(_ENTRIES, 1) * _SIGNS).reshape(-1, 3, 3)


def line_damping(parameters, frames, origins, orientations, memory):
    """``c n n^T`` between the origins of two frames, c the last parameter and n the unit vector between them; (E, 12, 12).

    The first parameter is the length, and the last but one tells whether it takes tension only.
    """
    if not parameters[:, -1].any():
        return None
    c, d, distance2, together = _line(parameters, frames, origins)
    block = d[:, :, None] * d[:, None, :] / distance2[:, None, None]
    # a spring of no length between coinciding ends acts alike in every direction
    block[together] = np.eye(3)
    return _between(c[:, None, None] * block)


def line_damping_slopes(parameters, frames, origins, orientations, memory, velocities):
    """Slopes (E, 12, 12) by positions of the forces of :func:`line_damping` at fixed velocities (E, 12)."""
    c, d, distance2, together = _line(parameters, frames, origins)
    length = np.sqrt(distance2)[:, None]
    n, apart = d / length, velocities[:, 6:9] - velocities[:, 0:3]
    rate = np.einsum("ei,ei->e", n, apart)[:, None]
    across = (apart - rate * n) / length
    block = n[:, :, None] * across[:, None, :] + (rate / length)[:, :, None] * (
        np.eye(3) - n[:, :, None] * n[:, None, :]
    )
    block[together] = 0.0
    return _between(c[:, None, None] * block)


def _line(parameters, frames, origins):
    """Damping (E,), line (E, 3) from frame 0 to 1 and its squared length (E,), 1 for ends that coincide, and which do (E,)."""
    d = origins[frames[:, 1]] - origins[frames[:, 0]]
    distance2 = np.einsum("ei,ei->e", d, d)
    slack = (parameters[:, -2] != 0.0) & (distance2 < parameters[:, 0] ** 2)
    together = distance2 == 0.0
    return np.where(slack, 0.0, parameters[:, -1]), d, np.where(together, 1.0, distance2), together


def _between(block):
    """Matrices (E, 12, 12) of what acts along displacements of frame 1 relative to frame 0 by blocks (E, 3, 3)."""
    out = np.zeros((len(block), 12, 12))
    out[:, 0:3, 0:3] = out[:, 6:9, 6:9] = block
    out[:, 0:3, 6:9] = out[:, 6:9, 0:3] = -block
    return out


def bushing_damping(parameters, frames, origins, orientations, memory):
    """``S^T D S`` with S the slope of ``(U1^T (o0 - o1), w)``, D the last 36 parameters, w nearest to memory; (E, 12, 12)."""
    damping = parameters[:, -36:].reshape(-1, 6, 6)
    if not damping.any():
        return None
    seat = orientations[frames[:, 1]].transpose(0, 2, 1)
    apart = origins[frames[:, 0]] - origins[frames[:, 1]]
    turns = memory.copy()
    bushing_memory(parameters, orientations[frames], turns)
    turn = np.array([inverse_left_jacobian(w) for w in turns]) @ seat
    slope = np.zeros((len(parameters), 6, 12))
    slope[:, :3, 0:3], slope[:, :3, 6:9] = seat, -seat
    slope[:, :3, 9:12] = seat @ np.array([cross_matrix(d) for d in apart])
    slope[:, 3:, 3:6], slope[:, 3:, 9:12] = turn, -turn
    return slope.transpose(0, 2, 1) @ damping @ slope
