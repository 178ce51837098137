"""Load: a constant force and torque on a frame, along fixed axes or turning with the frame."""

from __future__ import annotations

import numpy as np

from ..kernels.rotations import cross_matrix
from .base import MObject
from .parameters import Array, Choice


class Load(MObject):
    """A constant force and torque on a frame, ``W = -F . o``, which act while the working point is sought, too.

    ``axes="world"`` keeps their directions, as weights do; ``axes="frame"`` turns them with the frame (a follower load).
    Follower loads and torques have no energy.  The search then follows the equilibrium in load steps, and eigenvalues of the
    linear model, whose stiffness has a circulatory part, decide whether it is stable.

    Examples
    --------
    >>> system = mse.MSystem("pushed", gravity=(0, 0, 0))
    >>> mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
    >>> seat = system.add(mse.Bushing("seat", stiffness=1e3), between=(mass, system.ground))
    >>> push = system.add(mse.Load("push", force=(5.0, 0, 0)), between=(mass,))
    >>> f"{system.find_working_point().poses['mass.center'].o[0]:.4f} m"
    '0.0050 m'
    """

    force: Array = Array("force on the frame", shape=(3,), unit="N", default=np.zeros(3))
    torque: Array = Array("torque on the frame", shape=(3,), unit="N m", default=np.zeros(3))
    axes: Choice = Choice("what the components are along", among=("world", "frame"), default="world")

    frame_names = ("0",)
    parts = ("load",)
    external = True

    @property
    def conservative(self) -> bool:
        return self.axes == "world" and not np.any(self.torque)

    def _present(self, frames):
        if self.axes == "world":
            return self.force, self.torque
        turn = frames[0].U
        return turn @ self.force, turn @ self.torque

    def energy(self, frames, q):
        return -(frames[0].o @ self.force) if self.conservative else 0.0

    def forces(self, frames, q, gravity=None):
        return np.concatenate(self._present(frames))

    def stiffness_parts(self, frames, q, gravity=None):
        force, torque = self._present(frames)
        k = np.zeros((6, 6))
        if self.axes == "frame":
            k[:3, 3:] = cross_matrix(force)
            k[3:, 3:] = cross_matrix(torque)
        # the symmetric derivatives of all other torques omit this part; the net torque vanishes at equilibrium
        if np.any(torque):
            k[3:, 3:] -= 0.5 * cross_matrix(torque)
        return {"load": k}
