"""GasSpring: a geometric anti-spring, the vertical stage of seismic isolators."""

from __future__ import annotations

import numpy as np

from ..errors import ModelError
from ..kernels.rotations import cross_matrix
from .base import MObject
from .joints import axis_parameter
from .losses import Loss, temperature
from .parameters import Array, Real


class GasSpring(MObject):
    """A geometric anti-spring: ``W = k h^2/2 - F h + kx (sqrt(x0^2 + h^2) - l0)^2/2``, and ``T = mu h0' h1'`` of its wand.

    h is how far frame 0, the load, stands along ``axis`` of frame 1, the filter body: both coincide at h = 0, and frame 0 is
    pulled along the axis by ``F - k h - kx (l - l0) h/l``, ``l = sqrt(x0^2 + h^2)``.  With a ``preload`` equal to the load, the
    spring works at h = 0.  Across the axis it exerts nothing: guide the load by a :class:`Prismatic` joint of the same frames.

    Two forms:

    * linear (``blade_stiffness`` 0): ``stiffness`` is the net one that was measured, ``loss`` 1/Q.
    * geometric: blades of free length ``blade_length`` l0, pressed into ``blade_span`` x0 < l0, push the load away from h = 0.
      There the stiffness is ``k - kx (l0/x0 - 1)``.  The blades are not stretched there, so compression takes stiffness away
      and no loss: Q falls with the square of the frequency.

    ``wand`` mu (kg) is the mass that couples the motions h0', h1' of both frames along the axis.  The load follows the filter by
    ``(k + mu w^2)/(k - m w^2)``, which levels off at ``mu/m``: positive mu is what blades of some mass do by themselves; a
    counterweight beyond the pivot makes mu smaller, and a negative one has a notch at ``sqrt(-k/mu)``.  Masses on the diagonal
    belong to the bodies.  The mass matrix has to stay positive definite: linearizing refuses ``|mu| > sqrt(m0 m1)``.

    Valid while blades bend in proportion to load, below their own resonances (some 50 Hz).  Sources: G. Cella et al., Nucl.
    Instrum. Methods A 540 (2005) 502 (geometric anti-spring); A. Stochino et al., Nucl. Instrum. Methods A 580 (2007) 1559
    (wands).

    Examples
    --------
    >>> system = mse.MSystem("filter")
    >>> load = system.add(mse.RigidBody("load", mass=100.0, inertia=1.0))
    >>> guide = system.add(mse.Prismatic("guide"), between=(load, system.ground))
    >>> spring = mse.GasSpring("gas", stiffness=500.0, preload=980.0, loss=1 / 30)
    >>> spring = system.add(spring, between=(load, system.ground))
    >>> mode = system.find_working_point().linearize().modes(lossy=True)[0]
    >>> f"{mode.frequency_hz:.4f} Hz, Q {mode.quality:.4g}"
    '0.3560 Hz, Q 30'
    """

    stiffness: Real = Real("along the axis, k", unit="N/m", minimum=0.0)
    preload: Real = Real("force along the axis on frame 0 at h = 0, F", unit="N", default=0.0)
    blade_stiffness: Real = Real("of the blades in compression, kx", unit="N/m", default=0.0, minimum=0.0)
    blade_span: Real = Real("length of the compressed blades at h = 0, x0", unit="m", default=0.0, minimum=0.0)
    blade_length: Real = Real("their free length, l0", unit="m", default=0.0, minimum=0.0)
    wand: Real = Real("mass that couples both motions along the axis, mu", unit="kg", default=0.0)
    axis: Array = axis_parameter("direction of the load's motion, in the axes of frame 1", (0.0, 0.0, 1.0))
    loss: Loss = Loss()
    temperature: Real = temperature()

    parts = ("axial", "blades", "geometric")

    def _direction(self):
        return self.axis / np.linalg.norm(self.axis)

    def energy(self, frames, q):
        h = (frames[1].U @ self._direction()) @ (frames[0].o - frames[1].o)
        linear = 0.5 * self.stiffness * h**2 - self.preload * h
        if self.blade_stiffness == 0.0:
            return linear
        self._refuse_blades()
        return linear + 0.5 * self.blade_stiffness * (np.sqrt(self.blade_span**2 + h**2) - self.blade_length) ** 2

    def _refuse_blades(self) -> None:
        if not (self.blade_span > 0.0 and self.blade_length > 0.0):
            raise ModelError(
                f"{self.label}: blade_stiffness is {self.blade_stiffness:g} N/m, blade_span {self.blade_span:g} m and "
                f"blade_length {self.blade_length:g} m; expected lengths above zero; give both, or leave blade_stiffness out and "
                "give the net stiffness"
            )

    def evaluate(self, frames, q, gravity, order: int):
        n, d = frames[1].U @ self._direction(), frames[0].o - frames[1].o
        h = float(n @ d)
        k, force, slope, bent = self.stiffness, self.stiffness * h - self.preload, 0.0, 0.0
        if self.blade_stiffness:
            self._refuse_blades()
            length = np.hypot(self.blade_span, h)
            push, slope = self.blade_stiffness * (length - self.blade_length), h / length
            force, bent = force + push * slope, push * self.blade_span**2 / length**3
        energy = self.energy(frames, q)
        if order == 0:
            return energy, None, None
        along = np.concatenate([n, np.zeros(3), -n, np.cross(n, d)])
        if order == 1:
            return energy, force * along, None
        turning, across = np.zeros((12, 12)), cross_matrix(n)
        turning[9:, 0:3], turning[9:, 6:9] = across, -across
        turning += turning.T
        turning[9:, 9:] = 0.5 * (np.outer(n, d) + np.outer(d, n)) - h * np.eye(3)
        both = np.outer(along, along)
        return (
            energy,
            force * along,
            np.array([k * both, self.blade_stiffness * slope**2 * both, bent * both + force * turning]),
        )

    def kinetic(self, frames, q, v):
        n = frames[1].U @ self._direction()
        return self.wand * (n @ frames[0].v) * (n @ frames[1].v)
