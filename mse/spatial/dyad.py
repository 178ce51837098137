"""Linear maps of twists, wrenches and momenta: stiffness, compliance, inertia."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..elsewhere import Guided, GuidedClass
from ..errors import ModelError
from ..pose import Pose
from ..validation.arguments import instance, numbers
from .motors import Momentum, Twist, Wrench


class Dyad(Guided, metaclass=GuidedClass):
    """A linear map of motors, ``y = D x``, as a stiffness, a compliance or an inertia is: von Mises' motor dyad, eq. 4.

    Parameters
    ----------
    matrix : array_like, (6, 6)
        Its components by the ``vector`` of both, translation first.
    takes, gives : class
        Kinds of x and y: ``mse.Twist``, ``mse.Wrench`` or ``mse.Momentum``.

    Raises
    ------
    ModelError
        The matrix is not (6, 6), or a kind is none of these.

    Examples
    --------
    >>> stiffness = mse.Dyad(np.diag([1e3, 1e3, 1e3, 2.0, 2.0, 2.0]), takes=mse.Twist, gives=mse.Wrench)
    >>> moved = mse.Pose.dx(0.5) @ stiffness  # of the same spring, 0.5 m away
    >>> moved @ mse.Twist(angular=(0, 0, 0.01))
    Wrench(force=(0, 5, 0), torque=(0, 0, 2.52))
    >>> (stiffness.inverse() @ stiffness @ mse.Twist(linear=(1, 0, 0))).linear
    array([1., 0., 0.])
    """

    __array_ufunc__ = None

    def __init__(self, matrix: ArrayLike, *, takes: type, gives: type):
        self.matrix = numbers("Dyad", "matrix", matrix, (6, 6))
        for what, kind in (("takes", takes), ("gives", gives)):
            if kind not in (Twist, Wrench, Momentum):
                raise ModelError(f"Dyad: {what} is {kind!r}; expected mse.Twist, mse.Wrench or mse.Momentum")
        self.takes, self.gives = takes, gives

    def __matmul__(self, other: Any) -> Any:
        """``D x``, eq. 4, or the map that does one after the other, eq. 5."""
        kind = other.gives if isinstance(other, Dyad) else type(other)
        if kind is not self.takes:
            raise ModelError(
                f"Dyad: it is applied to a {kind.__name__}; expected a {self.takes.__name__}, from which it makes a "
                f"{self.gives.__name__}; inverse() goes the other way"
            )
        if isinstance(other, Dyad):
            return Dyad(self.matrix @ other.matrix, takes=other.takes, gives=self.gives)
        found = other.vector @ self.matrix.T
        return self.gives(**dict(zip(self.gives._names, (found[..., :3], found[..., 3:]), strict=True)))

    def __add__(self, other: Dyad) -> Dyad:
        other = instance("Dyad", "what is added to it", other, Dyad, "a Dyad")
        if (other.takes, other.gives) != (self.takes, self.gives):
            raise ModelError(
                f"Dyad: to a map from {self.takes.__name__} to {self.gives.__name__} one from {other.takes.__name__} to "
                f"{other.gives.__name__} is added; expected the same kinds"
            )
        return Dyad(self.matrix + other.matrix, takes=self.takes, gives=self.gives)

    def __rmatmul__(self, pose: Pose) -> Dyad:
        """``pose @ D``: as seen from the frame that the pose is seen from."""
        instance("Dyad", "the left one of @", pose, Pose, "a Pose")
        columns = (_transport(pose, self.gives) @ self.matrix).T
        return Dyad(np.linalg.solve(_transport(pose, self.takes).T, columns).T, takes=self.takes, gives=self.gives)

    def inverse(self) -> Dyad:
        """The map back.

        Returns
        -------
        Dyad
            What it takes is what this one gives.

        Raises
        ------
        ModelError
            The matrix has no inverse.
        """
        try:
            return Dyad(np.linalg.inv(self.matrix), takes=self.gives, gives=self.takes)
        except np.linalg.LinAlgError:
            raise ModelError(
                "Dyad: its matrix is singular; expected a regular one; leave out what it does not hold"
            ) from None

    def __repr__(self) -> str:
        return f"Dyad({self.takes.__name__} to {self.gives.__name__})"


def _transport(pose: Pose, kind: type) -> np.ndarray:
    """The matrix (6, 6) of ``pose @ x`` for a kind of motor."""
    six = np.eye(6)
    return (pose @ kind(**dict(zip(kind._names, (six[:, :3], six[:, 3:]), strict=True)))).vector.T
