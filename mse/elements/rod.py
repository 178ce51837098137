"""Rod: a massless rigid rod with a ball joint at either end."""

from __future__ import annotations

import numpy as np

from .base import Channel, MObject
from .parameters import Real


class Rod(MObject):
    """A rigid strut between two ball joints, ``|o0 - o1| = length``; its output is the pull between the two origins.

    In contrast to a stiff spring it has no stretch, and in contrast to a wire it also pushes.

    Examples
    --------
    >>> system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    >>> mass = system.add(mse.RigidBody("mass", mass=1.0, at=mse.Pose.dxdydz(0.1, 0, -0.2)))
    >>> rod = system.add(mse.Rod("rod", length=0.25), between=(system.ground, mass))
    >>> working_point = system.find_working_point()
    >>> [round(float(x), 6) + 0.0 for x in working_point.poses["mass.center"].o]
    [0.0, 0.0, -0.25]
    """

    length: Real = Real("distance of the two origins", unit="m", above=0.0)

    constraint_count = 1
    constraint_units = ("m",)
    reaction_outputs = (Channel("tension", "N"),)

    def constraint(self, frames, q):
        d = frames[0].o - frames[1].o
        return [np.sqrt(d @ d) - self.length]

    def constraint_terms(self, frames, q, memory, multipliers, order):
        d = frames[0].o - frames[1].o
        distance = np.linalg.norm(d)
        jacobian, hessian = np.zeros((1, 12)), np.zeros((12, 12))
        # at zero distance all directions are equal; the first step apart decides
        n = d / distance if distance > 0.0 else np.array([0.0, 0.0, 1.0])
        jacobian[0, 0:3], jacobian[0, 6:9] = n, -n
        if order == 2 and distance > 0.0:
            across = multipliers[0] / distance * (np.eye(3) - np.outer(n, n))
            hessian[0:3, 0:3] = hessian[6:9, 6:9] = across
            hessian[0:3, 6:9] = hessian[6:9, 0:3] = -across
        return np.array([distance - self.length]), jacobian, hessian

    def reaction_map(self, frames):
        return np.eye(1)

    def reaction_slopes(self, frames, q, multipliers):
        return np.zeros((1, 12))

    def span(self):
        return self.length
