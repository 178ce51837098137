"""Actuators and sensors of displacement and force: how the linear regime is driven and read.

Components are along the axes of frame 1, which turn with it: a sensor between two parts of a body that moves as a
whole reads nothing, and a force sensor whose seat tilts reads the share of its load that comes into its axes.  Only a force
actuator may push along the axes of the world instead.
"""

from __future__ import annotations

import numpy as np

from ..kernels.rotations import cross_matrix
from .base import DISPLACEMENT, FORCE, MObject
from .parameters import Choice


class PositionActuator(MObject):
    """``o0 = o1 + U1 u, U0 = U1 exp([w]x)`` with inputs (u, w) = x y z ax ay az; u = w = 0 while the working point is sought.

    Frames 0 and 1 coincide at the working point.  In the linear regime the motion of frame 0 relative to frame 1,
    along the axes of frame 1, is prescribed (manual 2.9).
    """

    role = "drive"
    inputs = DISPLACEMENT


class ForceActuator(MObject):
    """Frame 0 pushes frame 1 with the inputs fx fy fz tx ty tz; no force at the working point.

    They are along the axes of frame 1, or with ``axes="world"`` along those of the world, as a :class:`Load` has them.
    The reaction acts on frame 0 along the same line: minus the force, and minus the torque minus ``(o1 - o0) x f``, so
    that the pair puts neither net force nor net torque on the system (manual 2.3).
    """

    axes = Choice("what the components are along", among=("frame", "world"))

    inputs = FORCE

    def input_map(self, frames):
        seat = frames[1].U if self.axes == "frame" else np.eye(3)
        lever = frames[1].o - frames[0].o
        m = np.zeros((12, 6))
        m[6:9, :3] = seat
        m[9:12, 3:] = seat
        m[0:3, :3] = -seat
        m[3:6, :3] = -np.cross(lever, seat, axisb=0, axisc=0)
        m[3:6, 3:] = -seat
        return m


class PositionSensor(MObject):
    """``y = U1^T (d0 - d1 - a1 x (o0 - o1), a0 - a1)``: motion of frame 0 as seen from frame 1; exerts no force (manual 2.10).

    Outputs x y z ax ay az along the axes of frame 1.  Where the frames are apart, a rotation of frame 1 moves frame 0 as
    seen from it; they may be turned against each other by any angle.
    """

    outputs = DISPLACEMENT

    def output_map(self, frames):
        seat = frames[1].U.T
        m = np.zeros((6, 12))
        m[:3, 0:3] = m[3:, 3:6] = seat
        m[:3, 6:9] = m[3:, 9:12] = -seat
        m[:3, 9:12] = seat @ cross_matrix(frames[0].o - frames[1].o)
        return m


class ForceSensor(MObject):
    """Outputs fx fy fz tx ty tz: change of the force and torque that frame 0 exerts on frame 1, along the axes of frame 1.

    Rigid: its frames coincide always (manual 2.4, eq. 8 with the symmetric sign).  The torque is about their common
    origin.
    """

    role = "reaction"
    outputs = FORCE
