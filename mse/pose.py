"""Poses: origin and orientation of a frame, and their algebra.

Notation: ``Pose(o, U)`` has origin ``o`` (3,) in meters and orientation ``U`` (3, 3) whose columns are its axes.
``p_AB`` is the pose of B as seen from A.  Poses take twists and wrenches from one frame to another, too (:mod:`mse.spatial`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .display import without_rounding
from .elsewhere import Guided, GuidedClass
from .errors import ModelError, warn
from .kernels import rotations
from .kernels.jit import writable
from .validation.arguments import instance, number, numbers

# Orientation matrices typed in by hand carry some 1e-9 of rounding; more than this is a mistake, not rounding.
ORTHONORMAL_TOLERANCE = 1e-8
_WHOLE_TURN = (
    2.0 * np.pi * (1.0 + ORTHONORMAL_TOLERANCE)
)  # rad, with the rounding of whole turns that are computed or typed

UNTURNED = np.eye(3)
UNTURNED.flags.writeable = False  # all poses without a turn share it


def orthonormal(u: np.ndarray) -> np.ndarray:
    """Nearest rotation to a nearly orthonormal u by one step of U (3 I - U^T U)/2; shape (..., 3, 3)."""
    return u @ (1.5 * np.eye(3) - 0.5 * np.swapaxes(u, -1, -2) @ u)


def _turn(vector: ArrayLike) -> np.ndarray:
    """``exp([w]x)`` of a rotation vector (3,) rad, with a ModelWarning beyond a whole turn, of which a pose keeps nothing."""
    w = numbers("Pose", "rotation vector", vector, (3,))
    if (angle := float(np.sqrt(w @ w))) > _WHOLE_TURN:
        warn(
            f"Pose: it is turned by {angle:.6g} rad, more than a whole turn, which a pose does not keep; expected radians; "
            f"write np.deg2rad({angle:.6g}) for degrees"
        )
    return rotations.rotation_matrix(w)


@dataclass(frozen=True, repr=False, eq=False)
class Pose(Guided, metaclass=GuidedClass):
    """Origin ``o`` (3,) in m and orientation ``U`` (3, 3), columns = axes, as seen from some other frame.

    Parameters
    ----------
    o : array_like, (3,), m
        Origin; zeros if left out.
    U : array_like, (3, 3), optional
        Orientation, its columns the axes; the identity if left out.

    Raises
    ------
    ModelError
        U is not a right-handed orthonormal matrix to 1e-8, or a number is not finite.

    Examples
    --------
    >>> corner = mse.Pose.dxdydz(0.1, 0.2, 0.0) @ mse.Pose.rz(np.pi / 2)
    >>> np.round(corner.U @ (1, 0, 0) + corner.o, 12)  # where the point (1, 0, 0) of its axes is
    array([0.1, 1.2, 0. ])
    """

    o: np.ndarray
    U: np.ndarray

    def __init__(self, o: ArrayLike = (0.0, 0.0, 0.0), U: ArrayLike | None = None):
        o = numbers("Pose", "origin", o, (3,))
        u = UNTURNED if U is None else self._checked_orientation(U)
        o.flags.writeable = u.flags.writeable = False
        object.__setattr__(self, "o", o)
        object.__setattr__(self, "U", u)

    @classmethod
    def _of(cls, o: np.ndarray, u: np.ndarray) -> Pose:
        """A pose from arrays that come out of other poses: nothing left to check."""
        new = object.__new__(cls)
        o.flags.writeable = u.flags.writeable = False
        object.__setattr__(new, "o", o)
        object.__setattr__(new, "U", u)
        return new

    def __reduce__(self):
        # copies and pickles keep the arrays read-only
        return Pose._of, (self.o.copy(), self.U.copy())

    @staticmethod
    def _checked_orientation(value: ArrayLike) -> np.ndarray:
        u = numbers("Pose", "orientation", value, (3, 3), remedy="columns are the axes")
        error = np.max(np.abs(u.T @ u - np.eye(3)))
        if not error < ORTHONORMAL_TOLERANCE:
            raise ModelError(
                f"Pose: orientation columns are not orthonormal: |U^T U - I| reaches {error:.3g}, expected below "
                f"{ORTHONORMAL_TOLERANCE:g}; build it with Pose.rx, ry, rz, euler or rotation"
            )
        if np.linalg.det(u) < 0:
            raise ModelError(
                "Pose: orientation is left-handed (determinant -1); expected right-handed; reverse one of its axes"
            )
        # Exact input stays exact: rounding is removed only where there is some.
        return u if error < 1e-15 else orthonormal(u)

    # -- constructors in the manual's words -------------------------------------------------------------------
    @staticmethod
    def dx(d: float) -> Pose:
        """Origin at (d, 0, 0), axes unturned.

        Parameters
        ----------
        d : float, m
            Distance.

        Returns
        -------
        Pose
            The pose.

        Examples
        --------
        >>> mse.Pose.dx(0.5)
        Pose(o=(0.5, 0, 0))
        """
        return Pose((d, 0.0, 0.0))

    @staticmethod
    def dy(d: float) -> Pose:
        """Origin at (0, d, 0), axes unturned.

        Parameters
        ----------
        d : float, m
            Distance.

        Returns
        -------
        Pose
            The pose.

        Examples
        --------
        >>> mse.Pose.dy(0.5)
        Pose(o=(0, 0.5, 0))
        """
        return Pose((0.0, d, 0.0))

    @staticmethod
    def dz(d: float) -> Pose:
        """Origin at (0, 0, d), axes unturned.

        Parameters
        ----------
        d : float, m
            Distance.

        Returns
        -------
        Pose
            The pose.

        Examples
        --------
        >>> mse.Pose.dz(0.5)
        Pose(o=(0, 0, 0.5))
        """
        return Pose((0.0, 0.0, d))

    @staticmethod
    def dxdydz(x: float, y: float, z: float) -> Pose:
        """Origin at (x, y, z), axes unturned.

        Parameters
        ----------
        x, y, z : float, m
            Coordinates of the origin.

        Returns
        -------
        Pose
            The pose.

        Examples
        --------
        >>> mse.Pose.dxdydz(0.1, 0.2, -0.3)
        Pose(o=(0.1, 0.2, -0.3))
        """
        return Pose((x, y, z))

    @staticmethod
    def rx(angle: float) -> Pose:
        """Axes turned about x, right-handed.

        Parameters
        ----------
        angle : float, rad
            Angle.

        Returns
        -------
        Pose
            The pose.

        Examples
        --------
        >>> np.round(mse.Pose.rx(np.pi / 2).apply((0, 1, 0)), 12) + 0.0
        array([0., 0., 1.])
        """
        return Pose.rotation((angle, 0.0, 0.0))

    @staticmethod
    def ry(angle: float) -> Pose:
        """Axes turned about y, right-handed.

        Parameters
        ----------
        angle : float, rad
            Angle.

        Returns
        -------
        Pose
            The pose.

        Examples
        --------
        >>> np.round(mse.Pose.ry(np.pi / 2).apply((0, 0, 1)), 12) + 0.0
        array([1., 0., 0.])
        """
        return Pose.rotation((0.0, angle, 0.0))

    @staticmethod
    def rz(angle: float) -> Pose:
        """Axes turned about z, right-handed.

        Parameters
        ----------
        angle : float, rad
            Angle.

        Returns
        -------
        Pose
            The pose.

        Examples
        --------
        >>> np.round(mse.Pose.rz(np.pi / 2).apply((1, 0, 0)), 12) + 0.0
        array([0., 1., 0.])
        """
        return Pose.rotation((0.0, 0.0, angle))

    @staticmethod
    def rotation(vector: ArrayLike) -> Pose:
        """``U = exp([w]x)``: axes turned by a rotation vector w; a ModelWarning where it is longer than a whole turn.

        Parameters
        ----------
        vector : array_like, (3,), rad
            Axis of the rotation times its angle.

        Returns
        -------
        Pose
            The pose.

        Examples
        --------
        >>> mse.Pose.rotation((0.1, 0.2, 0.3)).rotation_vector().round(12)
        array([0.1, 0.2, 0.3])
        """
        return Pose((0.0, 0.0, 0.0), _turn(vector))

    @staticmethod
    def euler(a1: float, a2: float, a3: float) -> Pose:
        """``U = Rz(a1) Rx(a2) Rz(a3)``: the z-x-z angles of the manual's eq. 42, taken as an active rotation.

        Parameters
        ----------
        a1, a2, a3 : float, rad
            Angles.

        Returns
        -------
        Pose
            The pose.

        Examples
        --------
        >>> mse.Pose.euler(0.1, 0.2, 0.3).euler_angles().round(12)
        array([0.1, 0.2, 0.3])
        """
        return Pose.rz(a1) @ Pose.rx(a2) @ Pose.rz(a3)

    # -- algebra ----------------------------------------------------------------------------------------------
    def __matmul__(self, other: Pose) -> Pose:
        """``p_AC = p_AB @ p_BC``: o = o1 + U1 o2, U = U1 U2 (manual eq. 40)."""
        if not isinstance(other, Pose):
            return NotImplemented
        if other is IDENTITY:
            return self
        if self is IDENTITY:
            return other
        return Pose._of(self.o + self.U @ other.o, self.U @ other.U)

    def inverse(self) -> Pose:
        """``p_BA = (-U^T o, U^T)`` from ``p_AB`` (manual eq. 41).

        Returns
        -------
        Pose
            The outer frame as seen from this one.
        """
        if self is IDENTITY:
            return self
        return Pose._of(-self.U.T @ self.o, self.U.T.copy())

    def seen_from(self, other: Pose) -> Pose:
        """``p_BC = (U_B^T (o_C - o_B), U_B^T U_C)`` from C, this one, and B, both seen from A (manual eq. 39).

        Parameters
        ----------
        other : Pose
            B.

        Returns
        -------
        Pose
            C as seen from B.
        """
        instance("Pose", "the other frame", other, Pose, "a Pose")
        return Pose._of(other.U.T @ (self.o - other.o), other.U.T @ self.U)

    def apply(self, point: ArrayLike) -> np.ndarray:
        """``o + U p``: a point given in this frame, as seen from outside.

        Parameters
        ----------
        point : array_like, (3,) or (n, 3), m
            One point or several.

        Returns
        -------
        ndarray, (3,) or (n, 3), m
            The same from outside.
        """
        p = numbers("Pose", "point", point, (3,), (None, 3))
        return self.o + p @ self.U.T

    def moved(self, d: ArrayLike, a: ArrayLike) -> Pose:
        """``(o + d, exp([a]x) U)``: displaced, and turned about its own origin, both along the outer axes.

        Parameters
        ----------
        d : array_like, (3,), m
            Displacement.
        a : array_like, (3,), rad
            Rotation vector.

        Returns
        -------
        Pose
            The pose moved.
        """
        return Pose(self.o + numbers("Pose", "displacement", d, (3,)), _turn(a) @ self.U)

    # -- coordinates ------------------------------------------------------------------------------------------
    def rotation_vector(self) -> np.ndarray:
        """``log U``, exact to rounding from 1e-12 rad up to and at pi.

        Returns
        -------
        ndarray, (3,), rad
            Axis of the rotation times its angle, which is between 0 and pi.
        """
        return rotations.rotation_vector(writable(self.U))

    def euler_angles(self) -> np.ndarray:
        """z-x-z Euler angles: the inverse of :meth:`euler`.

        Returns
        -------
        ndarray, (3,), rad
            a1, a2, a3 with 0 <= a2 <= pi.  At a2 = 0 or pi only a1 +- a3 is defined; a3 is then 0.
        """
        u = self.U
        sine = np.hypot(u[0, 2], u[1, 2])
        a1 = np.arctan2(u[0, 2], -u[1, 2]) if sine > 1e-15 else np.arctan2(u[1, 0], u[0, 0])
        # near the poles a1 is only as good as the sine's digits: take a3 from what a1 leaves, so that their sum is right
        row = np.cos(a1) * u[0] + np.sin(a1) * u[1]
        return np.array([a1, np.arctan2(sine, u[2, 2]), np.arctan2(-row[1], row[0]) if sine > 1e-15 else 0.0])

    # -- comparison and display -------------------------------------------------------------------------------
    def is_close(self, other: Pose, distance: float = 1e-9, angle: float = 1e-9) -> bool:
        """Whether this pose and another agree.

        Parameters
        ----------
        other : Pose
            The other one.
        distance : float, m
            How far the origins may be apart.
        angle : float, rad
            By what angle the axes may be turned.

        Returns
        -------
        bool
            Whether both are within these.
        """
        distance = number("Pose", "distance", distance, minimum=0.0)
        angle = number("Pose", "angle", angle, minimum=0.0)
        relative = self.seen_from(other)
        return bool(np.linalg.norm(relative.o) <= distance and np.linalg.norm(relative.rotation_vector()) <= angle)

    def __repr__(self) -> str:
        w = without_rounding(self.rotation_vector(), 1.0)
        place = ", ".join(f"{x:.6g}" for x in without_rounding(self.o))
        if not np.any(w):
            return f"Pose(o=({place}))"
        turn = ", ".join(f"{x:.6g}" for x in w)
        return f"Pose(o=({place}), turned by ({turn}) rad)"


IDENTITY = Pose()
