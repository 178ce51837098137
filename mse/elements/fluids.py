"""Fluids in ducts and chambers: elements of one volume each, with pressures above ambient at their ports.

Volumes q (m3) and flows v = q' (m3/s) stand where charges and currents stand in circuits, pressures (Pa) where potentials do.
What flows in at port "+" leaves at "-"; what flows into a chamber, which has one port, stays there.
"""

from __future__ import annotations

import numpy as np

from ..errors import ModelError
from .base import MObject
from .coordinates import coordinate
from .joints import axis_parameter
from .parameters import Array, Real
from .records import Channel


class _OfVolume(MObject):
    """Base of elements with one volume, which they read."""

    frame_names = ()
    coordinate_names = (coordinate("volume", unit="m3", ports=("+", "-")),)
    outputs = (Channel("volume", "m3"),)

    def measure(self, frames, q):
        return [q[0]]


class _Chamber(_OfVolume):
    """Base of chambers, with the ambience on their other side."""

    coordinate_names = (coordinate("volume", unit="m3", ports=("+",)),)


class FlowResistance(_OfVolume):
    """A duct or an orifice with viscous flow, ``D = R v^2/2``: the pressure falls by ``R v`` from "+" to "-".

    Examples
    --------
    >>> float(mse.FlowResistance("duct", resistance=3e5).dissipation([], [0.0], [1e-3]))
    0.15
    """

    resistance: Real = Real("R", unit="Pa s/m3", above=0.0)

    def dissipation(self, frames, q, v):
        return 0.5 * self.resistance * v[0] ** 2


class Inertance(_OfVolume):
    """The mass of the fluid in a duct, ``T = I v^2/2``, ``I = density length/area``: "+" has ``I v'`` more pressure than "-".

    Examples
    --------
    >>> f"{mse.Inertance('duct', inertance=1.5e8).kinetic([], [0.0], [1e-4]):.2f} J"
    '0.75 J'
    """

    inertance: Real = Real("I", unit="Pa s2/m3", above=0.0)

    def kinetic(self, frames, q, v):
        return 0.5 * self.inertance * v[0] ** 2


class Compliance(_Chamber):
    """A chamber whose walls or fluid give way, ``V = q^2/(2 C)``: the pressure ``q/C`` is at "+", its only port.

    Examples
    --------
    >>> f"{mse.Compliance('chamber', compliance=3e-12).energy([], [3e-7]):.3f} J"
    '0.015 J'
    """

    compliance: Real = Real("C", unit="m3/Pa", above=0.0)

    def energy(self, frames, q):
        return 0.5 * q[0] ** 2 / self.compliance


class Accumulator(_Chamber):
    """A gas spring, ``V = p0 V0/(n - 1) ((V0/(V0 - q))^(n - 1) - 1) - p0 q``: at "+" is ``p0 (V0/(V0 - q))^n - p0``.

    The gas has the ``gas_volume`` V0 at the ambient ``pressure`` p0, absolute, as long as nothing has flowed in.  The
    ``exponent`` n is 1 for slow (isothermal) and 1.4 for fast (adiabatic) changes of air.

    Examples
    --------
    >>> gas = mse.Accumulator("gas", pressure=2e5, gas_volume=1e-4)
    >>> f"{gas.energy([], [1e-6]):.6f} J"
    '0.001411 J'
    """

    pressure: Real = Real("absolute, p0", unit="Pa", above=0.0)
    gas_volume: Real = Real("of the gas at that pressure, V0", unit="m3", above=0.0)
    exponent: Real = Real("n of pressure times volume^n", default=1.4, minimum=1.0)

    def energy(self, frames, q):
        stretch = -np.log1p(-q[0] / self.gas_volume)  # not a number for more than all of its volume
        n = self.exponent - 1.0
        return self.pressure * (self.gas_volume * (np.expm1(n * stretch) / n if n > 0.0 else stretch) - q[0])

    def check_frames(self, frames):
        raise ModelError(
            f"{self.label}: more flows in than its volume of {self.gas_volume:g} m3; expected less; enlarge its volume, or start "
            "nearer to the equilibrium"
        )


class PressureSource(_OfVolume):
    """A pump that keeps a pressure p, ``V = p q``: "+" has p more than "-", whatever flows.

    The ``pressure`` is there at the working point; the input ``pressure`` of linear models adds to it.

    Examples
    --------
    >>> mse.PressureSource("pump", pressure=1e5).inputs
    (Channel(name='pressure', unit='Pa'),)
    """

    pressure: Real = Real("p", unit="Pa", default=0.0)

    inputs = (Channel("pressure", "Pa"),)

    def energy(self, frames, q):
        return self.pressure * q[0]

    def input_map(self, frames):
        return np.array([[-1.0]])


class HydraulicCylinder(_OfVolume):
    """A cylinder on frame 0 with a piston on frame 1, ``q = A (x - x0)``: what flows in at "+" moves the piston along the axis.

    x is the distance of frame 1 from frame 0 along ``axis``, in the axes of frame 0; x0 is the ``length`` at which q is 0.  The
    pressure at its port pushes the piston with ``A p``.  Guide the piston by a :class:`Prismatic` joint of the same frames where
    nothing else does.  A cylinder whose port is connected to nothing holds its piston.

    Examples
    --------
    >>> mse.HydraulicCylinder("lift", area=2e-3).frame_names
    ('0', '1')
    """

    area: Real = Real("of the piston, A", unit="m2", above=0.0)
    length: Real = Real("distance of the frames where nothing has flowed in, x0", unit="m", default=0.0)
    axis: Array = axis_parameter("direction of the piston, in the axes of frame 0", (0.0, 0.0, 1.0))

    frame_names = ("0", "1")
    coordinate_names = (coordinate("volume", unit="m3", ports=("+",)),)

    def constraint(self, frames, q):
        x = (frames[0].U @ self.axis) @ (frames[1].o - frames[0].o) / np.sqrt(self.axis @ self.axis)
        return [self.area * (x - self.length) - q[0]]

    def span(self):
        return self.length
