"""Spring: a straight line between two frames that resists stretching, with viscous damping along it."""

from __future__ import annotations

import numpy as np

from ..kernels import masses, springs
from .line import Line
from .losses import Loss, temperature
from .parameters import Flag, Real


class Spring(Line):
    """A coil spring that pulls two origins along their line, without torque: ``W = k/2 (|o1 - o0| - l0)^2`` (manual 2.12).

    Valid wherever the ends are apart; with natural length 0 everywhere.  Damping is ``c`` times the rate of change of
    the length.  A stretched spring pulls its frames together, a shortened one pushes them apart, or with ``tension_only=True``
    exerts nothing.

    Examples
    --------
    >>> system = mse.MSystem("oscillator", gravity=(0, 0, 0))
    >>> mass = system.add(mse.RigidBody("mass", mass=2.0, inertia=0.1, at=mse.Pose.dx(1.0)))
    >>> spring = mse.Spring("spring", length=1.0, stiffness=200.0, damping=1.0)
    >>> spring = system.add(spring, between=(system.ground, mass))
    >>> modes = system.find_working_point().linearize().modes()
    >>> f"{modes.frequencies_hz[-1]:.6f} Hz"
    '1.591549 Hz'
    """

    length: Real = Real("length at rest", unit="m", default=1.0, minimum=0.0)
    stiffness: Real = Real("force per stretch", unit="N/m", default=1.0, minimum=0.0)
    damping: Real = Real("force per rate of stretch", unit="N s/m", default=0.0, minimum=0.0)
    loss: Loss = Loss()
    temperature: Real = temperature()
    tension_only: Flag = Flag("whether it exerts nothing along its line below its length", default=False)

    parts = ("axial", "geometric")
    kernel = springs.spring
    adds_parts = True
    damping_kernel = masses.line_damping
    damping_slopes = masses.line_damping_slopes
    by_column = True

    def kernel_parameters(self):
        return (self.length, self.stiffness, self.tension_only, self.damping)

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        if self.length == 0.0:
            return 0.5 * self.stiffness * (d @ d)
        stretch = np.sqrt(d @ d) - self.length
        return 0.0 if self.tension_only and stretch < 0.0 else 0.5 * self.stiffness * stretch**2
