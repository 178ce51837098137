"""Mass, center of mass and inertia of a rigid body as one quantity."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..elsewhere import Guided, GuidedClass
from ..errors import ModelError
from ..pose import Pose
from ..validation.arguments import instance, number, numbers
from .motors import ZERO, Momentum, Twist, Wrench


class SpatialInertia(Guided, metaclass=GuidedClass):
    """Inertia of a rigid body, ``p = m (v + w x c)``, ``L = J w + c x p``: von Mises' inertia dyad, eq. 7.

    Parameters
    ----------
    mass : float, kg
        Mass m.
    center : array_like, (3,), m
        Center of mass c.
    inertia : array_like, (3, 3), kg m2
        Inertia J about the center of mass.

    Raises
    ------
    ModelError
        A mass below zero, or an inertia that is not symmetric.

    Examples
    --------
    >>> ball = mse.SpatialInertia(mass=2.0, center=(0.5, 0, 0), inertia=0.1 * np.eye(3))
    >>> ball.at((0, 0, 0)).diagonal()
    array([0.1, 0.6, 0.6])
    >>> (ball + ball).mass, ball.energy(mse.Twist(angular=(0, 0, 2.0)))
    (4.0, 1.2)
    """

    __array_ufunc__ = None

    def __init__(self, *, mass: float, center: ArrayLike = ZERO, inertia: ArrayLike = ((0.0,) * 3,) * 3):
        self.mass = number("SpatialInertia", "mass", mass, minimum=0.0, unit="kg")
        self.center = numbers("SpatialInertia", "center", center, (3,), unit="m")
        self.inertia = numbers("SpatialInertia", "inertia", inertia, (3, 3), unit="kg m2")
        if not np.allclose(self.inertia, self.inertia.T, rtol=0.0, atol=1e-9 * np.abs(self.inertia).max()):
            raise ModelError("SpatialInertia: inertia is not symmetric; expected J = J^T; mirror its upper half")

    def at(self, point: ArrayLike) -> np.ndarray:
        """``J + m (d^2 I - d d^T)``, d = c - r: the inertia about a point, by Steiner's theorem.

        Parameters
        ----------
        point : array_like, (3,), m
            The point r.

        Returns
        -------
        ndarray, (3, 3), kg m2
            The inertia.
        """
        d = self.center - numbers("SpatialInertia", "point", point, (3,), unit="m")
        return self.inertia + self.mass * (d @ d * np.eye(3) - np.outer(d, d))

    def __add__(self, other: SpatialInertia) -> SpatialInertia:
        """Both bodies as one."""
        other = instance("SpatialInertia", "what is added to it", other, SpatialInertia, "a SpatialInertia")
        mass = self.mass + other.mass
        center = (self.mass * self.center + other.mass * other.center) / mass if mass else self.center
        return SpatialInertia(mass=mass, center=center, inertia=self.at(center) + other.at(center))

    def __matmul__(self, twist: Twist) -> Momentum:
        """The momentum at a twist."""
        instance("SpatialInertia", "the right one of @", twist, Twist, "a Twist")
        p = self.mass * twist.at(self.center)
        return Momentum._of(p, twist.angular @ self.inertia.T + np.cross(self.center, p))

    def __rmatmul__(self, pose: Pose) -> SpatialInertia:
        """``pose @ inertia``: as seen from the frame that the pose is seen from."""
        instance("SpatialInertia", "the left one of @", pose, Pose, "a Pose")
        return SpatialInertia(mass=self.mass, center=pose.apply(self.center), inertia=pose.U @ self.inertia @ pose.U.T)

    def energy(self, twist: Twist) -> float | np.ndarray:
        """``(M v) @ v/2``: kinetic energy.

        Parameters
        ----------
        twist : Twist
            Velocity of the body.

        Returns
        -------
        float or ndarray, (n,), J
            The energy.
        """
        return 0.5 * ((self @ twist) @ twist)

    def acceleration(self, twist: Twist, wrench: Wrench) -> Twist:
        """``M^-1 (f - v x M v)``: the rate of the twist under a wrench, from the law ``p' = f``, eq. 8.

        Parameters
        ----------
        twist : Twist
            Velocity v of the body.
        wrench : Wrench
            All forces f on it.

        Returns
        -------
        Twist
            Rate of the twist (m/s2, rad/s2).

        Raises
        ------
        ModelError
            The body has no mass, or no inertia about some axis.
        """
        instance("SpatialInertia.acceleration", "wrench", wrench, Wrench, "a Wrench")
        turning = twist.cross(self @ twist)
        force, torque = wrench.force - turning.linear, wrench.torque - turning.angular
        sizes = np.linalg.eigvalsh(self.inertia)
        if not (self.mass > 0.0 and sizes[0] > 1e-14 * sizes[-1]):
            raise ModelError(
                f"SpatialInertia: mass {self.mass:g} kg and inertia from {sizes[0]:g} to {sizes[-1]:g} kg m2 have no inverse; "
                "expected both above 0; give the body an inertia about all axes"
            )
        about = torque - np.cross(self.center, force)  # about the center of mass
        angular = np.linalg.solve(self.inertia, about[..., None])[..., 0]
        return Twist._of(angular, force / self.mass + np.cross(self.center, angular))

    def __repr__(self) -> str:
        c = ", ".join(f"{x:.6g}" for x in self.center)
        return f"SpatialInertia(mass={self.mass:g}, center=({c}))"
