"""Twists, wrenches and momenta of rigid bodies, each as one quantity: the motor calculus of von Mises.

A motor is a field ``h(r) = h_o + g x r`` with a resultant g, the same everywhere, and a moment h_o at the origin.  Velocities
are such a field (g is the angular velocity), torques (g is the force) and angular momenta (g is the momentum).  Components are
about the origin and along the axes of one frame; ``pose @ x`` has those of the frame that the pose is seen from.  Arrays
(n, 3) make a whole history of motors.

Source: T. Zaiczek and O. Enge-Rosenblatt, Towards an object-oriented implementation of von Mises' motor calculus using
Modelica; equations are numbered as there.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ..display import without_rounding
from ..elsewhere import Guided, GuidedClass
from ..errors import ModelError
from ..kernels import rotations
from ..pose import Pose
from ..validation.arguments import instance, number, numbers

ZERO = (0.0, 0.0, 0.0)
_PARALLEL = 1e-12  # sine below which lines are parallel: that of directions typed with all their digits


def _dot(a: np.ndarray, b: np.ndarray) -> Any:
    found = np.einsum("...i,...i", a, b)
    return float(found) if found.ndim == 0 else found


class Motor(Guided, metaclass=GuidedClass):
    """Resultant g and moment h_o at the origin; ``_names`` are those of the components, translation first."""

    __array_ufunc__ = None  # so that an array times a motor asks the motor
    _names: ClassVar[tuple[str, str]]
    _resultant: ClassVar[int]  # which of the two is g

    def __init__(self, first: ArrayLike, second: ArrayLike):
        kind = type(self).__name__
        pair = [numbers(kind, n, x, (3,), (None, 3)) for n, x in zip(self._names, (first, second), strict=True)]
        if len({x.shape for x in pair if x.ndim == 2}) > 1:
            raise ModelError(f"{kind}: {self._names[0]} has shape {pair[0].shape}, {self._names[1]} {pair[1].shape}; "
                             "expected one length for both")  # fmt: skip
        self._pair = tuple(np.broadcast_arrays(*pair))

    @classmethod
    def _of(cls, resultant: np.ndarray, moment: np.ndarray) -> Self:
        new = object.__new__(cls)
        pair = np.broadcast_arrays(resultant, moment)
        new._pair = tuple(pair if cls._resultant == 0 else pair[::-1])
        return new

    @property
    def resultant(self) -> np.ndarray:
        """The part g that is the same at all points, (3,) or (n, 3)."""
        return self._pair[self._resultant]

    @property
    def moment(self) -> np.ndarray:
        """The field h_o at the origin, (3,) or (n, 3)."""
        return self._pair[1 - self._resultant]

    @property
    def vector(self) -> np.ndarray:
        """Both parts in one array (6,) or (n, 6), translation first, as reactions and velocities are."""
        return np.concatenate(self._pair, axis=-1)

    def at(self, point: ArrayLike) -> np.ndarray:
        """``h(r) = h_o + g x r``, eq. 1: the velocity of a point, or torque or angular momentum about it.

        Parameters
        ----------
        point : array_like, (3,) or (n, 3), m
            Where.

        Returns
        -------
        ndarray, (3,) or (n, 3)
            The field there, in m/s, N m or N m s.
        """
        r = numbers(type(self).__name__, "point", point, (3,), (None, 3), unit="m")
        return self.moment + np.cross(self.resultant, r)

    @property
    def axis(self) -> tuple[np.ndarray, np.ndarray]:
        """A point ``g x h_o/g^2`` of the line on which the field is along g, and the direction of g; each (3,) or (n, 3)."""
        g, size = self.resultant, self._sizes()
        return np.cross(g, self.moment) / size**2, g / size

    @property
    def pitch(self) -> float | np.ndarray:
        """``g . h_o/g^2``: by what the field along the axis exceeds the resultant (m; for twists in m/rad)."""
        found = _dot(self.resultant, self.moment) / self._sizes()[..., 0] ** 2
        return float(found) if found.ndim == 0 else found

    def _sizes(self) -> np.ndarray:
        size = np.linalg.norm(self.resultant, axis=-1, keepdims=True)
        if not size.all():
            name = self._names[self._resultant]
            raise ModelError(
                f"{type(self).__name__}: its {name} part is zero, so its axis is infinitely far away and its pitch infinite; "
                f"expected one that is not zero; ask for axis and pitch where {name} is not zero"
            )
        return size

    # -- algebra ------------------------------------------------------------------------------------------------
    def _same(self, other: Any, what: str) -> Self:
        kind = type(self).__name__
        return instance(kind, f"what is {what} it", other, type(self), f"a {kind}, as only the same kinds have a sum")

    def __add__(self, other: Self) -> Self:
        other = self._same(other, "added to")
        return self._of(self.resultant + other.resultant, self.moment + other.moment)

    def __sub__(self, other: Self) -> Self:
        other = self._same(other, "subtracted from")
        return self._of(self.resultant - other.resultant, self.moment - other.moment)

    def __neg__(self) -> Self:
        return self * -1.0

    def __mul__(self, factor: ArrayLike) -> Self:
        factor = numbers(type(self).__name__, "factor", factor, (), (None,))[..., None]
        return self._of(factor * self.resultant, factor * self.moment)

    __rmul__ = __mul__

    def __truediv__(self, divisor: ArrayLike) -> Self:
        return self * (1.0 / numbers(type(self).__name__, "divisor", divisor, (), (None,)))

    def __matmul__(self, other: Any) -> Any:
        """``g1 . h_o2 + g2 . h_o1``, eq. 2: power of a wrench and a twist (W), twice the energy of momentum and twist (J)."""
        kinds = {type(self), type(other)}
        if kinds not in ({Wrench, Twist}, {Momentum, Twist}):
            raise ModelError(
                f"{type(self).__name__} @ {type(other).__name__}: these have no product; expected a Twist with a Wrench (power) "
                "or with a Momentum (twice the kinetic energy); Twist.cross gives the product that is a motor"
            )
        return _dot(self.resultant, other.moment) + _dot(self.moment, other.resultant)

    def __rmatmul__(self, pose: Pose) -> Self:
        """``pose @ x``, ``(U g, U h_o + o x U g)``: as seen from the frame that the pose is seen from."""
        instance(type(self).__name__, "the left one of @", pose, Pose, "a Pose or a motor")
        g = self.resultant @ pose.U.T
        return self._of(g, self.moment @ pose.U.T + np.cross(pose.o, g))

    def __repr__(self) -> str:
        kind = type(self).__name__
        if self.moment.ndim == 2:
            return f"{kind}({len(self.moment)} of them)"
        shown = (without_rounding(v).tolist() for v in self._pair)
        told = (f"{n}=({', '.join(f'{x:.6g}' for x in v)})" for n, v in zip(self._names, shown, strict=True))
        return f"{kind}({', '.join(told)})"


class Twist(Motor):
    """Velocity of a rigid body, ``v(r) = linear + angular x r``; or a small displacement: von Mises' velocity motor.

    Parameters
    ----------
    linear : array_like, (3,) or (n, 3), m/s
        Velocity of the point of the body that is at the origin of the frame.
    angular : array_like, (3,) or (n, 3), rad/s
        Angular velocity.

    Raises
    ------
    ModelError
        The numbers are not finite, or of other shapes.

    Examples
    --------
    >>> rolling = mse.Twist.screw(point=(1.0, 0.0, 0.0), direction=(0, 1, 0), rate=2.0)
    >>> rolling.at((1.0, 0.0, 0.0)), rolling.at((1.0, 0.0, 0.5))  # at rest where it touches, 1 m/s at the hub
    (array([0., 0., 0.]), array([1., 0., 0.]))
    """

    _names = "linear", "angular"
    _resultant = 1

    def __init__(self, *, linear: ArrayLike = ZERO, angular: ArrayLike = ZERO):
        super().__init__(linear, angular)

    @property
    def linear(self) -> np.ndarray:
        """Velocity at the origin, (3,) or (n, 3), m/s."""
        return self._pair[0]

    @property
    def angular(self) -> np.ndarray:
        """Angular velocity, (3,) or (n, 3), rad/s."""
        return self._pair[1]

    @staticmethod
    def screw(point: ArrayLike, direction: ArrayLike, *, rate: float = 1.0, pitch: float = 0.0) -> Twist:
        """``g = rate n``, ``h_o = pitch g + p x g``: a turn about a line, and a shift along it.

        Parameters
        ----------
        point : array_like, (3,), m
            A point p of the line.
        direction : array_like, (3,)
            Its direction; the length does not matter.
        rate : float, rad/s
            Angular velocity.
        pitch : float, m/rad
            Shift along the line for each radian.

        Returns
        -------
        Twist
            The twist.
        """
        p = numbers("Twist.screw", "point", point, (3,), unit="m")
        g = number("Twist.screw", "rate", rate) * _direction("Twist.screw", direction)
        return Twist._of(g, number("Twist.screw", "pitch", pitch) * g + np.cross(p, g))

    @staticmethod
    def between_lines(first: tuple[ArrayLike, ArrayLike], second: tuple[ArrayLike, ArrayLike]) -> Twist:
        """The screw about the common perpendicular of two lines, whose ``exp()`` takes the first line to the second.

        Its resultant is as long as the smaller angle of the lines (von Mises takes the tangent of that angle), its moment on the
        axis is the distance from the first to the second.

        Parameters
        ----------
        first, second : tuple of two array_like, (3,)
            A point (m) and the direction of each line.

        Returns
        -------
        Twist
            The twist, of displacements (m, rad).
        """
        (p, u), (q, v) = (
            (numbers("Twist.between_lines", f"point of the {n} line", x, (3,), unit="m"), _direction("Twist.between_lines", d))
            for n, (x, d) in (("first", first), ("second", second))
        )  # fmt: skip
        v = -v if u @ v < 0.0 else v
        n = np.cross(u, v)
        if (sine := float(np.linalg.norm(n))) <= _PARALLEL:
            return Twist(linear=(q - p) - u * (u @ (q - p)))
        n, angle, apart = n / sine, np.arctan2(sine, u @ v), q - p
        # the point of the first line that is nearest to the second one
        foot = p + u * (np.cross(apart, v) @ n / sine)
        return Twist.screw(foot, n, rate=angle, pitch=float(apart @ n) / angle)

    @staticmethod
    def log(pose: Pose) -> Twist:
        """The twist at which a body gets from the origin of the frame to a pose in one second: the inverse of :meth:`exp`.

        Parameters
        ----------
        pose : Pose
            Where it gets to.

        Returns
        -------
        Twist
            The twist, its angle between 0 and pi.
        """
        instance("Twist.log", "pose", pose, Pose, "a Pose")
        w = pose.rotation_vector()
        return Twist._of(w, rotations.inverse_left_jacobian(w) @ pose.o)

    def cross(self, other: Motor) -> Any:
        """``(g1 x g2, g1 x h_o2 + h_o1 x g2)``, eq. 3: how fast this twist changes what moves along with it.

        The rate of a motor is its rate as seen from a moving frame, and the cross product of the frame's twist with it (eq. 6).

        Parameters
        ----------
        other : Twist, Wrench or Momentum
            What moves along.

        Returns
        -------
        Twist, Wrench or Momentum
            The rate, of the same kind.
        """
        instance("Twist.cross", "the other one", other, Motor, "a Twist, Wrench or Momentum")
        g, h = self.resultant, self.moment
        return other._of(np.cross(g, other.resultant), np.cross(g, other.moment) + np.cross(h, other.resultant))

    def exp(self, t: float = 1.0) -> Pose:
        """The pose that a body, at first in the origin of the frame, has after a time t at this twist; :meth:`log` inverts it.

        Parameters
        ----------
        t : float, s
            The time.

        Returns
        -------
        Pose
            ``U = exp([g t]x)``, and o along the screw (R. M. Murray, Z. Li, S. S. Sastry, A Mathematical Introduction to Robotic
            Manipulation (1994), eq. 2.36).
        """
        if self.moment.ndim == 2:
            raise ModelError(f"Twist: exp of {len(self.moment)} twists; expected one; take them one by one")
        t = number("Twist.exp", "t", t, unit="s")
        w, d = self.angular * t, self.linear * t
        if (angle := float(np.linalg.norm(w))) == 0.0:
            return Pose(d)
        n = w / angle
        along = n * (n @ d)
        o = (
            along
            + np.sinc(angle / np.pi) * (d - along)
            + 0.5 * angle * np.sinc(0.5 * angle / np.pi) ** 2 * np.cross(n, d)
        )
        return Pose(o, Pose.rotation(n * np.remainder(angle, 2.0 * np.pi)).U)


class Wrench(Motor):
    """Force and torque on a rigid body, torque ``t(r) = torque + force x r`` about a point r: von Mises' force motor.

    Parameters
    ----------
    force : array_like, (3,) or (n, 3), N
        The force.
    torque : array_like, (3,) or (n, 3), N m
        The torque about the origin of the frame.

    Raises
    ------
    ModelError
        The numbers are not finite, or of other shapes.

    Examples
    --------
    >>> push = mse.Wrench.line(point=(3.0, 0.0, 0.0), force=(0, 0, 2.0))
    >>> push.torque
    array([ 0., -6.,  0.])
    >>> f"{push @ mse.Twist(angular=(0, 0.5, 0))} W"
    '-3.0 W'
    """

    _names = "force", "torque"
    _resultant = 0

    def __init__(self, *, force: ArrayLike = ZERO, torque: ArrayLike = ZERO):
        super().__init__(force, torque)

    @property
    def force(self) -> np.ndarray:
        """Force, (3,) or (n, 3), N."""
        return self._pair[0]

    @property
    def torque(self) -> np.ndarray:
        """Torque about the origin, (3,) or (n, 3), N m."""
        return self._pair[1]

    @staticmethod
    def line(point: ArrayLike, force: ArrayLike) -> Wrench:
        """``(f, p x f)``: a force at a point.

        Parameters
        ----------
        point : array_like, (3,), m
            A point p of its line.
        force : array_like, (3,), N
            The force.

        Returns
        -------
        Wrench
            The wrench.
        """
        f = numbers("Wrench.line", "force", force, (3,), unit="N")
        return Wrench._of(f, np.cross(numbers("Wrench.line", "point", point, (3,), unit="m"), f))


class Momentum(Motor):
    """Momentum of bodies, angular momentum ``L(r) = angular + linear x r`` about a point r: von Mises' momentum motor.

    Parameters
    ----------
    linear : array_like, (3,) or (n, 3), N s
        Linear momentum.
    angular : array_like, (3,) or (n, 3), N m s
        Angular momentum about the origin of the frame.

    Raises
    ------
    ModelError
        The numbers are not finite, or of other shapes.

    Examples
    --------
    >>> body = mse.RigidBody("body", mass=2.0, inertia=0.1)
    >>> momentum = body.spatial_inertia @ mse.Twist(linear=(3.0, 0, 0))
    >>> momentum
    Momentum(linear=(6, 0, 0), angular=(0, 0, 0))
    """

    _names = "linear", "angular"
    _resultant = 0

    def __init__(self, *, linear: ArrayLike = ZERO, angular: ArrayLike = ZERO):
        super().__init__(linear, angular)

    @property
    def linear(self) -> np.ndarray:
        """Linear momentum, (3,) or (n, 3), N s."""
        return self._pair[0]

    @property
    def angular(self) -> np.ndarray:
        """Angular momentum about the origin, (3,) or (n, 3), N m s."""
        return self._pair[1]


def _direction(who: str, value: ArrayLike) -> np.ndarray:
    d = numbers(who, "direction", value, (3,))
    if not d.any():
        raise ModelError(f"{who}: direction is (0, 0, 0); expected a vector that is not zero")
    return d / np.linalg.norm(d)
