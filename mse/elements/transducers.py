"""Actuators and sensors of displacement and force: inputs and outputs of the linear regime.

Components are along the axes of frame 1, which turn with it.  A sensor between two parts of a rigid body therefore reads
nothing, and a force sensor whose seat tilts reads its load along the tilted axes.  Only a force actuator can push along world
axes instead.
"""

from __future__ import annotations

import numpy as np

from ..kernels.rotations import cross_matrix, rotation_vector
from .base import DISPLACEMENT, FORCE, MObject
from .parameters import Choice


class PositionActuator(MObject):
    """A shaker, a piezo, the motion of the ground: prescribes ``o0 = o1 + U1 u, U0 = U1 exp([w]x)``.

    The inputs (u, w) are x y z ax ay az; u = w = 0 while the working point is sought.  Frames 0 and 1 coincide at the working
    point.  In the linear regime the motion of frame 0 relative to frame 1, along the axes of frame 1, is prescribed (manual
    2.9).

    Examples
    --------
    >>> system = mse.MSystem("pendulum")
    >>> mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-1.0)))
    >>> shaker = system.add(mse.PositionActuator("shaker"))
    >>> system.clamp(system.ground, shaker.frame(1))
    >>> spring = mse.Spring("spring", length=1.0, stiffness=1e4)
    >>> spring = system.add(spring, between=(shaker.frame(0), mass))
    >>> system.find_working_point().linearize().inputs[:3]
    ('shaker.x', 'shaker.y', 'shaker.z')
    """

    role = "drive"
    inputs = DISPLACEMENT


class ForceActuator(MObject):
    """A force between two frames, such as of a coil: frame 0 pushes frame 1 with the inputs fx fy fz tx ty tz.

    There is no force at the working point.

    Clamp the body that it moves to frame 1.  A :class:`PositionSensor` reads its frame 0: if both are clamped alike to the same
    two bodies, they have opposite signs, and a stiffness worked out from them is negative.

    Forces are along the axes of frame 1, or of the world with ``axes="world"``, as in a :class:`Load`.
    The reaction acts on frame 0 along the same line: minus the force, and minus the torque minus ``(o1 - o0) x f``, so
    that the pair puts neither net force nor net torque on the system (manual 2.3).

    Examples
    --------
    >>> system = mse.MSystem("mount", gravity=(0, 0, 0))
    >>> mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
    >>> seat = system.add(mse.Bushing("seat", stiffness=1e3), between=(mass, system.ground))
    >>> coil = system.add(mse.ForceActuator("coil"), between=(system.ground, mass))
    >>> probe = system.add(mse.PositionSensor("probe"), between=(mass, system.ground))
    >>> linear = system.find_working_point().linearize()
    >>> f"{abs(linear.frequency_response([0.0])['probe.x', 'coil.fx'][0]):.6f} m/N"
    '0.001000 m/N'
    """

    axes: Choice = Choice("what the components are along", among=("frame", "world"), default="frame")

    inputs = FORCE

    def input_map(self, frames):
        seat = frames[1].U if self.axes == "frame" else np.eye(3)
        lever = frames[1].o - frames[0].o
        m = np.zeros((12, 6))
        m[6:9, :3] = seat
        m[9:12, 3:] = seat
        m[0:3, :3] = -seat
        m[3:6, :3] = -cross_matrix(lever) @ seat
        m[3:6, 3:] = -seat
        return m


class PositionSensor(MObject):
    """A gauge: reads the motion of frame 0 as seen from frame 1, ``y = U1^T (d0 - d1 - a1 x (o0 - o1), a0 - a1)``.

    It exerts no force (manual 2.10).

    Clamp the body that it reads to frame 0.  A :class:`ForceActuator` pushes its frame 1: if both are clamped alike to the same
    two bodies, they have opposite signs.

    Outputs x y z ax ay az are along the axes of frame 1.  If the frames are apart, a rotation of frame 1 moves frame 0 as seen
    from it.  The frames may be turned relative to each other by any angle.

    In a large motion it reads ``U1^T (o0 - o1)`` and the rotation vector of ``U1^T U0``, at most half a turn.

    Examples
    --------
    >>> system = mse.MSystem("mount", gravity=(0, 0, 0))
    >>> mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
    >>> seat = system.add(mse.Bushing("seat", stiffness=1e3), between=(mass, system.ground))
    >>> probe = system.add(mse.PositionSensor("probe"), between=(mass, system.ground))
    >>> system.find_working_point().linearize().outputs
    ('probe.x', 'probe.y', 'probe.z', 'probe.ax', 'probe.ay', 'probe.az')
    """

    outputs = DISPLACEMENT

    def reading(self, frames):
        seat = frames[1].U.T
        return np.concatenate([seat @ (frames[0].o - frames[1].o), rotation_vector(seat @ frames[0].U)])

    def output_map(self, frames):
        seat = frames[1].U.T
        m = np.zeros((6, 12))
        m[:3, 0:3] = m[3:, 3:6] = seat
        m[:3, 6:9] = m[3:, 9:12] = -seat
        m[:3, 9:12] = seat @ cross_matrix(frames[0].o - frames[1].o)
        return m


class ForceSensor(MObject):
    """A load cell: reads fx fy fz tx ty tz, the change of the force and torque that frame 0 exerts on frame 1.

    They are along the axes of frame 1.  It is rigid: its frames coincide always (manual 2.4, eq. 8 with the symmetric sign).
    The torque is about their common origin.

    Examples
    --------
    >>> system = mse.MSystem("scale", gravity=(0, 0, -9.81))
    >>> mass = system.add(mse.RigidBody("mass", mass=2.0, inertia=0.1, at=mse.Pose.dz(-1.0)))
    >>> scale = system.add(mse.ForceSensor("scale"))
    >>> system.clamp(system.ground, scale.frame(0))
    >>> spring = mse.Spring("spring", length=1.0, stiffness=1e4)
    >>> spring = system.add(spring, between=(scale.frame(1), mass))
    >>> system.find_working_point().linearize().outputs[:3]
    ('scale.fx', 'scale.fy', 'scale.fz')
    """

    role = "reaction"
    outputs = FORCE
