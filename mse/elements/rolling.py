"""Discs and spheres that roll without slip on a plane, which may move."""

from __future__ import annotations

import numpy as np

from ..errors import ModelError
from .base import FORCE, MObject, Outline
from .joints import axis_parameter, with_third
from .parameters import Array, Real

# Of a right angle, in rad: a disc that lies flatter has no lowest point.  With a hundredth and a hundred times of it
# tests/elements/test_rolling.py passes.
_FLAT = 1e-6
# The same for one near to which no steps may be found; discs that fall straight come to 1e-4 at rtol = 1e-9.  With a tenth and
# ten times of it tests/elements/test_rolling.py::test_a_disc_that_falls_flat_is_named passes.
_NEARLY_FLAT = 1e-2
_CORNERS = 24  # of the circle that is drawn


class Rolling(MObject):
    """Base of what rolls on the plane z = 0 of frame 1: its height is held, and the velocity of the point that touches."""

    constraint_count = 1
    constraint_units = ("m",)
    reaction_outputs = FORCE[:3]
    only_pushes = True

    def _touching(self, frames):
        """From the center to the point that touches."""
        raise NotImplementedError

    def constraint(self, frames, q):
        normal = frames[1].U[:, 2]
        return [normal @ (frames[0].o + self._touching(frames) - frames[1].o)]

    def flow_constraint(self, frames, q, v):
        arm = self._touching(frames)
        slip = frames[0].v + np.cross(frames[0].w, arm)
        slip = slip - frames[1].v - np.cross(frames[1].w, frames[0].o + arm - frames[1].o)
        return [frames[1].U[:, 0] @ slip, frames[1].U[:, 1] @ slip]

    def reaction_map(self, frames):
        # forces of frame 0 on frame 1 along its axes: height comes first
        return np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])


class RollingDisc(Rolling):
    """A disc with a sharp edge that rolls without slip: ``n.(o0 - o1) = R |n x e|``, and its lowest point is at rest.

    Its center is frame 0, the plane is z = 0 of frame 1, n its normal, which may move, as on a turntable; e is the axis.  It
    has no mass: clamp it to a wheel.  Outputs are the forces of the disc on the plane, along the axes of frame 1.  The two rows
    on velocities hold no position (Neimark & Fufaev, Dynamics of Nonholonomic Systems, 1972).

    Examples
    --------
    >>> system = mse.MSystem("wheel", gravity=(0, 0, -9.81))
    >>> wheel = system.add(mse.RigidBody("wheel", mass=1.0, inertia=(0.0625, 0.125, 0.0625), at=mse.Pose.dz(0.5)))
    >>> disc = system.add(mse.RollingDisc("disc", axis=(0, 1, 0), radius=0.5), between=(wheel, system.ground))
    >>> free = mse.Joint("free", free=("x", "y", "z", "ax", "ay", "az"))
    >>> free = system.add(free, between=(wheel, system.ground))
    >>> motion = system.simulate(duration=0.5, dt=0.5, initial={"free.ay'": 4.0})
    >>> np.round(motion["free.x"], 9)  # one radius a radian
    array([0., 1.])
    """

    axis: Array = axis_parameter("axis of the disc along the axes of frame 0", (0.0, 1.0, 0.0))
    radius: Real = Real("radius of the edge", unit="m", above=0.0)

    def _touching(self, frames):
        normal = frames[1].U[:, 2]
        axis = frames[0].U @ (self.axis / np.sqrt(self.axis @ self.axis))
        along = normal - (normal @ axis) * axis
        if along @ along < _FLAT**2:  # rounding would decide which point is the lowest
            return np.full(3, np.nan)
        return -self.radius * along / np.sqrt(along @ along)

    def check_frames(self, frames):
        if self._lean(frames) < _FLAT:
            raise ModelError(
                f"{self.label}: it lies flat on its plane, where no point is the lowest; expected an axis that is not upright; "
                "turn its body, or take another axis"
            )

    def end_of_range(self, frames, memory):
        lean = self._lean(frames)
        if lean > _NEARLY_FLAT:
            return ""
        return (
            f"{self.label} has fallen to {lean:.1g} rad from flat on its plane, where no point is the lowest and the one that "
            "touches runs around without limit; expected a disc that stays up; end the run before, with until"
        )

    def _lean(self, frames):
        """Sine of the angle between disc and plane."""
        return np.linalg.norm(np.cross(frames[1].U[:, 2], frames[0].U @ (self.axis / np.linalg.norm(self.axis))))

    def outline(self, frames):
        across = frames[0].U @ with_third(self.axis)[:, :2]
        angles = np.linspace(0.0, 2.0 * np.pi, _CORNERS, endpoint=False)
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ across.T
        # a spoke shows how far it has turned
        points = np.concatenate([frames[0].o + self.radius * circle, frames[0].o[None]])
        return Outline(points, ((*range(_CORNERS), 0), (_CORNERS, 0)))


class RollingSphere(Rolling):
    """A sphere that rolls without slip: ``n.(o0 - o1) = R``, and its lowest point is at rest.

    Its center is frame 0, the plane is z = 0 of frame 1, n its normal, which may move.  It has no mass: clamp it to a body.
    Outputs are the forces of the sphere on the plane, along the axes of frame 1.

    Examples
    --------
    >>> system = mse.MSystem("ball", gravity=(0, 0, -9.81))
    >>> ball = system.add(mse.RigidBody("ball", mass=1.0, inertia=0.1, at=mse.Pose.dz(0.5)))
    >>> sphere = system.add(mse.RollingSphere("sphere", radius=0.5), between=(ball, system.ground))
    >>> system.find_working_point().freedoms
    5
    """

    radius: Real = Real("radius", unit="m", above=0.0)

    def _touching(self, frames):
        return -self.radius * frames[1].U[:, 2]

    def outline(self, frames):
        angles = np.linspace(0.0, 2.0 * np.pi, _CORNERS, endpoint=False)[:, None]
        points, lines = [], []
        for i, j in ((0, 1), (1, 2), (2, 0)):
            u = frames[0].U
            lines.append((*range(len(points) * _CORNERS, (len(points) + 1) * _CORNERS), len(points) * _CORNERS))
            points.append(frames[0].o + self.radius * (np.cos(angles) * u[:, i] + np.sin(angles) * u[:, j]))
        return Outline(np.concatenate(points), tuple(lines))
