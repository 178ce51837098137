"""Joints: hinges, slides, balls and all others, by the freedoms that they leave between two frames."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..errors import ModelError
from .joint_base import AXES, FreeJoint, JointBase
from .parameters import Array, Subset


def _nonzero(axis: np.ndarray) -> str | None:
    if np.linalg.norm(axis) < 1e-12:
        return "it has no direction; expected a vector of non-zero length, such as (0, 0, 1)"
    return None


def axis_parameter(description: str, default) -> Array:
    return Array(description, shape=(3,), default=default, check=_nonzero)


def with_third(axis: np.ndarray) -> np.ndarray:
    """A right-handed orientation (3, 3) with the given third axis; made of world axes if that is one of them."""
    z = axis / np.linalg.norm(axis)
    k = int(np.argmax(np.abs(z)))
    x = np.eye(3)[(k + 1) % 3] * np.sign(z[k])
    x = x - (x @ z) * z
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


class Revolute(FreeJoint):
    """A hinge with the coordinate ``angle`` (rad): ``o0 = o1``, and the axis of frame 0 along that of frame 1.

    Examples
    --------
    >>> system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    >>> top = {"top": mse.Pose.dz(0.3)}
    >>> bob = system.add(mse.RigidBody("bob", mass=1.0, inertia=0.01, frames=top))
    >>> hinge = mse.Revolute("hinge", axis=(0, 1, 0))
    >>> hinge = system.add(hinge, between=(bob.frame("top"), system.ground))
    >>> modes = system.find_working_point().linearize().modes()
    >>> expected = np.sqrt(1.0 * 9.81 * 0.3 / (0.01 + 0.3**2)) / (2 * np.pi)
    >>> f"{modes.frequencies_hz[0] / expected:.9f}"
    '1.000000000'
    """

    axis: Array = axis_parameter("axis of the hinge, in the axes of frame 1", (0.0, 0.0, 1.0))
    names: ClassVar[dict[str, tuple[str, str]]] = {"az": ("angle", "torque")}

    def _free(self):
        return ("az",)

    def _orientation(self):
        return with_third(self.axis)


class Prismatic(FreeJoint):
    """A slide: ``o0 = o1 + displacement axis, U0 = U1``.

    Examples
    --------
    >>> system = mse.MSystem("slide", gravity=(0, 0, -9.81))
    >>> mass = system.add(mse.RigidBody("mass", mass=2.0, inertia=0.1))
    >>> slide = mse.Prismatic("slide", axis=(0, 0, 1), stiffness=1e3)
    >>> slide = system.add(slide, between=(mass, system.ground))
    >>> f"{system.find_working_point().joint_coordinates['slide.displacement']:.5f} m"
    '-0.01962 m'
    """

    axis: Array = axis_parameter("direction of the slide, in the axes of frame 1", (0.0, 0.0, 1.0))
    names: ClassVar[dict[str, tuple[str, str]]] = {"z": ("displacement", "force")}

    def _free(self):
        return ("z",)

    def _orientation(self):
        return with_third(self.axis)


class Cylindrical(FreeJoint):
    """A joint that slides along an axis and turns about it by ``angle``: ``o0 = o1 + displacement axis``, one axis for both.

    Examples
    --------
    >>> shaft = mse.Cylindrical("shaft", axis=(1, 0, 0), stiffness={"displacement": 1e4, "angle": 2.0})
    >>> shaft.joint_coordinates
    ('displacement', 'angle')
    """

    axis: Array = axis_parameter("common axis, in the axes of frame 1", (0.0, 0.0, 1.0))
    names: ClassVar[dict[str, tuple[str, str]]] = {"z": ("displacement", "force"), "az": ("angle", "torque")}

    def _free(self):
        return ("z", "az")

    def _orientation(self):
        return with_third(self.axis)


class Planar(FreeJoint):
    """A joint that moves in a plane by x and y and turns in it by ``angle``: ``(o0 - o1) . normal = 0``, one normal for both.

    The plane is along y and z of frame 1 if its normal is x, and along z and x if that is y.

    Examples
    --------
    >>> table = mse.Planar("table", axis=(0, 0, 1), damping={"x": 0.1, "y": 0.1})
    >>> table.joint_coordinates
    ('x', 'y', 'angle')
    """

    axis: Array = axis_parameter("normal of the plane, in the axes of frame 1", (0.0, 0.0, 1.0))
    names: ClassVar[dict[str, tuple[str, str]]] = {"az": ("angle", "torque")}

    def _free(self):
        return ("x", "y", "az")

    def _orientation(self):
        return with_third(self.axis)


class Universal(FreeJoint):
    """A cardan joint, a cross with two angles: ``o0 = o1``, and ``axis`` on frame 1 perpendicular to ``second`` on frame 0.

    ``angle1`` turns about ``axis`` of frame 1, ``angle2`` about ``second`` of frame 0; both axes are given as they are where
    the frames coincide.

    Examples
    --------
    >>> cross = mse.Universal("cross", axis=(1, 0, 0), second=(0, 1, 0), stiffness={"angle1": 0.01, "angle2": 0.02})
    >>> cross.stiffness
    (0.01, 0.02)
    """

    axis: Array = axis_parameter("axis fixed to frame 1", (1.0, 0.0, 0.0))
    second: Array = axis_parameter("axis fixed to frame 0", (0.0, 1.0, 0.0))
    names: ClassVar[dict[str, tuple[str, str]]] = {"ax": ("angle1", "torque1"), "ay": ("angle2", "torque2")}

    def _free(self):
        return ("ax", "ay")

    def _orientation(self):
        x, y = self.axis / np.linalg.norm(self.axis), self.second / np.linalg.norm(self.second)
        if abs(x @ y) > 1e-9:
            raise ModelError(
                f"{self.label}: its axes {self.axis.tolist()} and {self.second.tolist()} are "
                f"{np.degrees(np.arccos(np.clip(x @ y, -1, 1))):.6g} degrees apart; expected perpendicular axes"
            )
        return np.stack([x, y, np.cross(x, y)], axis=1)


class Spherical(FreeJoint):
    """A ball joint, ``o0 = o1``; its coordinates are the rotation vector of frame 0 along the axes of frame 1.

    Examples
    --------
    >>> mse.Spherical("ball", lower={"ax": -0.3}, upper={"ax": 0.3}).joint_coordinates
    ('ax', 'ay', 'az')
    """

    def _free(self):
        return ("ax", "ay", "az")


class PointOnLine(FreeJoint):
    """A bead on a straight line: ``o0 = o1 + z axis``, the line going through the origin of frame 1; it may turn as it likes.

    Its rotation vector is along axes of which the third is ``axis``: y, z, x of frame 1 if that is x, and z, x, y if it is y.

    Examples
    --------
    >>> mse.PointOnLine("bead", axis=(1, 0, 0)).joint_coordinates
    ('displacement', 'ax', 'ay', 'az')
    """

    axis: Array = axis_parameter("direction of the line, in the axes of frame 1", (0.0, 0.0, 1.0))
    names: ClassVar[dict[str, tuple[str, str]]] = {"z": ("displacement", "force")}

    def _free(self):
        return ("z", "ax", "ay", "az")

    def _orientation(self):
        return with_third(self.axis)


class Joint(FreeJoint):
    """A joint that leaves any of the six relative freedoms: ``free=("z", "az")`` along the axes of frame 1.

    With one free rotation that axis is common to both frames; with two, the first is fixed to frame 1 and the second (in the
    cyclic order x y z) to frame 0, as in a universal joint.

    Examples
    --------
    >>> mse.Joint("stage", free=("x", "y"), stiffness={"x": 1e3, "y": 1e3}).joint_coordinates
    ('x', 'y')
    """

    free: Subset = Subset("the freedoms it leaves", among=AXES, default=())  # springs, limits and motors refer to them

    def _free(self):
        return self.free


class Fixed(JointBase):
    """A weld, ``o0 = o1, U0 = U1``, which constrains all six freedoms; unlike a clamp it has a reaction as output.

    Examples
    --------
    >>> system = mse.MSystem("bracket", gravity=(0, 0, -10.0))
    >>> mass = system.add(mse.RigidBody("mass", mass=2.0, inertia=0.1))
    >>> weld = system.add(mse.Fixed("weld"), between=(mass, system.ground))
    >>> [round(float(x), 6) + 0.0 for x in system.find_working_point().reactions["weld"][:3]]
    [0.0, 0.0, -20.0]
    """

    def _free(self):
        return ()
