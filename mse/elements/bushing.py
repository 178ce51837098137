"""Bushing: a general linear coupling of two frames, six by six."""

from __future__ import annotations

import numpy as np

from ..kernels import masses, rotations, springs
from ..numerics.law_functions import rotation_vector
from .base import MObject
from .line import near_whole_turn
from .losses import Loss, temperature
from .parameters import Array, Real, scalar_or_diagonal, symmetric, symmetric_dissipative


class Bushing(MObject):
    """Six springs and dampers at once between two frames: a mount, a bearing, a flexure; ``W = s^T K s/2 - F^T s``.

    ``s = (U1^T (o0 - o1), log(U1^T U0))`` is the motion of frame 0 as seen from frame 1.  At rest, without preload, the frames
    coincide; clamp it with a pose where they should not.  ``preload`` F is the force and torque on frame 0, along the axes of
    frame 1, at s = 0.  Large displacements are exact, and rotations below a whole turn: the rotation vector starts below half a
    turn and is followed continuously beyond, as the twist of a wire is.  At a whole turn it has no smooth tilt.  A bushing that
    only damps takes the shortest vector, so whole turns are nothing to it.  Stiffness and damping take a 6 x 6 matrix, six
    diagonal entries, or one number for all six.

    Examples
    --------
    >>> system = mse.MSystem("mount", gravity=(0, 0, -9.81))
    >>> mass = system.add(mse.RigidBody("mass", mass=3.0, inertia=0.1))
    >>> mount = mse.Bushing("mount", stiffness=(1e4, 1e4, 2e4, 50.0, 50.0, 50.0))
    >>> mount = system.add(mount, between=(mass, system.ground))
    >>> f"{system.find_working_point().poses['mass.center'].o[2]:.7f} m"
    '-0.0014715 m'
    """

    stiffness: Array = Array("stiffness (x y z ax ay az)", shape=(6, 6), unit="N/m, N, N m", default=0.0,
                      promote=scalar_or_diagonal(6), check=symmetric)  # fmt: skip
    damping: Array = Array("viscous damping (x y z ax ay az)", shape=(6, 6), unit="N s/m, N s, N m s", default=0.0,
                    promote=scalar_or_diagonal(6), check=symmetric_dissipative)  # fmt: skip
    preload: Array = Array("force and torque on frame 0 at rest", shape=(6,), unit="N, N m", default=np.zeros(6))
    loss: Loss = Loss()
    temperature: Real = temperature()

    parts = ("elastic", "geometric")
    kernel = springs.bushing
    adds_parts = True
    damping_kernel = masses.bushing_damping
    memory_size = 3
    follow = springs.bushing_memory

    def kernel_parameters(self):
        return (*self.stiffness.ravel(), *self.preload, *self.damping.ravel())

    @staticmethod
    def twists(origins, memory):
        return np.linalg.norm(memory, axis=1)

    def energy(self, frames, q):
        seat = frames[1].U.T
        s = np.concatenate([seat @ (frames[0].o - frames[1].o), rotation_vector(seat @ frames[0].U)])
        return 0.5 * (s @ (self.stiffness @ s)) - s @ self.preload

    def end_of_range(self, frames, memory):
        less = (
            "less than a whole turn; join the frames by a Revolute or Cylindrical joint with a spring, whose angle counts on, "
            "or by bushings one after the other"
        )
        return near_whole_turn(f"{self.label} is turned", "it", memory, less)

    def damping_matrix(self, frames, q=()):
        if not np.any(self.damping):
            return None
        slope = relative_motion(frames)
        return slope.T @ self.damping @ slope


def relative_motion(frames) -> np.ndarray:
    """``ds/dx`` (6, 12) of ``s = (U1^T (o0 - o1), log(U1^T U0))``: motion of frame 0 as seen from frame 1."""
    seat = frames[1].U.T
    w = rotations.rotation_vector(np.ascontiguousarray(seat @ frames[0].U))
    turn = rotations.inverse_left_jacobian(w) @ seat
    slope = np.zeros((6, 12))
    slope[:3, 0:3] = seat
    slope[:3, 6:9] = -seat
    slope[:3, 9:12] = seat @ rotations.cross_matrix(frames[0].o - frames[1].o)
    slope[3:, 3:6] = turn
    slope[3:, 9:12] = -turn
    return slope
