"""Between circuits and bodies: voice coils, plates of a capacitor, piezo stacks.

Each law is a function of places, charge q and current v = q'.  Its slopes by places are forces, those by charges voltages,
so neither can be forgotten.  Frame 1 moves relative to frame 0 along ``axis``, in the axes of frame 0; guide it by a
:class:`Prismatic` joint of the same frames where nothing else does.
"""

from __future__ import annotations

import numpy as np

from ..errors import ModelError
from .base import MObject
from .coordinates import coordinate
from .joints import axis_parameter
from .parameters import Array, Real
from .records import Channel

# Of the drawn gap: plates that are nearer touch.  Without it tests/elements/test_transducers_of_circuits.py::
# test_plates_come_nearer_up_to_pull_in fails.
_TOUCHING = 1e-3
_CHARGE = (coordinate("charge", unit="C", ports=("+", "-")),)
_EDDY = coordinate("eddy", unit="C")
_AXIS = "direction of the motion, in the axes of frame 0"


class _Transducer(MObject):
    """Base of elements with one charge, which they read, and a motion along an axis."""

    axis: Array = axis_parameter(_AXIS, (0.0, 0.0, 1.0))

    coordinate_names = _CHARGE
    outputs = (Channel("charge", "C"),)

    def _distance(self, frames):
        """How far frame 1 is from frame 0 along the axis."""
        return (frames[0].U @ self.axis) @ (frames[1].o - frames[0].o) / np.sqrt(self.axis @ self.axis)

    def measure(self, frames, q):
        return [q[0]]


class VoiceCoil(_Transducer):
    """A coil in a magnet's gap: pushes frame 1 along the axis with the force ``Bl i`` of its current i.

    Its coenergy is ``T = L i^2/2 + i phi(z)``, its content ``D = R i^2/2``; z is the displacement of frame 1 along the axis.
    The flux is ``phi = Bl z``, or with a ``width`` a, the displacement at which Bl has halved, ``phi = Bl a arctan(z/a)``, so
    that ``Bl(z) = Bl/(1 + (z/a)^2)``.  A motion of frame 1 induces the voltage ``Bl z'`` from the same function.  A steady
    current i adds the stiffness ``-i Bl'(z)``.

    Eddy currents in iron, a shorted winding, are the usual ``L2`` with ``R2`` in parallel, in series with R and L: with the
    current j of L2, ``T += L2 j^2/2`` and ``D += R2 (i - j)^2/2``.  The impedance at rest is ``R + s L + s L2 R2/(R2 + s L2)``.

    Source: W. Klippel, J. Audio Eng. Soc. 54 (2006) 907, for Bl(z), L2 and R2 of loudspeakers.

    Examples
    --------
    >>> system = mse.MSystem("shaker", gravity=(0, 0, 0))
    >>> table = system.add(mse.RigidBody("table", mass=0.5, inertia=1e-3))
    >>> guide = mse.Prismatic("guide", stiffness=1000.0)
    >>> guide = system.add(guide, between=(table, system.ground))
    >>> coil = mse.VoiceCoil("coil", bl=8.0, resistance=4.0)
    >>> coil = system.add(coil, between=(system.ground, table))
    >>> source = system.add(mse.VoltageSource("source", voltage=2.0))
    >>> system.connect("source.+", "coil.+")
    >>> system.connect("source.-", "coil.-", system.earth)
    >>> point = system.find_working_point()  # 8 N/A * 0.5 A / 1000 N/m
    >>> f"{point.flows['coil.charge']:.3f} A, {point.poses['table.center'].o[2]:.6f} m"
    '0.500 A, 0.004000 m'
    """

    bl: Real = Real("force per current at z = 0, Bl", unit="N/A")
    resistance: Real = Real("of its wire, R", unit="ohm", default=0.0, minimum=0.0)
    inductance: Real = Real("of its wire, L", unit="H", default=0.0, minimum=0.0)
    width: Real = Real(
        "at which Bl(z) has fallen to a half, a; 0 for a constant one", unit="m", default=0.0, minimum=0.0
    )

    eddy_inductance: Real = Real("of eddy currents, L2; 0 for none", unit="H", default=0.0, minimum=0.0)
    eddy_resistance: Real = Real("of eddy currents, R2; 0 for none", unit="ohm", default=0.0, minimum=0.0)

    @property
    def coordinate_names(self):
        if (self.eddy_inductance > 0.0) is not (self.eddy_resistance > 0.0):
            raise ModelError(
                f"{self.label}: eddy_inductance is {self.eddy_inductance:g} H and eddy_resistance {self.eddy_resistance:g} ohm; "
                "expected both above 0, or both 0 without eddy currents; give the other one, too"
            )
        return (*_CHARGE, _EDDY) if self.eddy_inductance > 0.0 else _CHARGE

    def kinetic(self, frames, q, v):
        z = self._distance(frames)
        flux = self.bl * (self.width * np.arctan(z / self.width) if self.width > 0.0 else z)
        eddy = 0.5 * self.eddy_inductance * v[1] ** 2 if len(v) > 1 else 0.0
        return 0.5 * self.inductance * v[0] ** 2 + v[0] * flux + eddy

    def dissipation(self, frames, q, v):
        eddy = 0.5 * self.eddy_resistance * (v[0] - v[1]) ** 2 if len(v) > 1 else 0.0
        return 0.5 * self.resistance * v[0] ** 2 + eddy


class PlateCapacitor(_Transducer):
    """Two parallel plates, ``V = q^2 g/(2 eps A (1 + (a^2 ty^2 + b^2 tx^2)/(12 g^2)))``, ``A = a b``, at a distance g.

    They pull each other by ``q^2/(2 eps A)``.  The sides are a along x and b along y of frame 0; tilts tx, ty of frame 1
    about these axes are small and count for the axis z.  At a voltage above the pull-in ``sqrt(8 k g0^3/(27 eps A))`` of a
    spring k and a gap g0 there is no equilibrium.  Contact is not modeled: plates touch at a thousandth of the drawn gap.

    Source: S. D. Senturia, Microsystem Design (2001), section 6.4.

    Examples
    --------
    >>> plates = mse.PlateCapacitor("plates", sides=(0.01, 0.01), gap=1e-3)
    >>> f"{plates.permittivity * np.prod(plates.sides) / plates.gap / 1e-12:.4f} pF at rest"
    '0.8854 pF at rest'
    """

    sides: Array = Array("lengths a along x and b along y of frame 0", shape=(2,), unit="m")
    gap: Real = Real("distance where it is drawn, for initial poses", unit="m", above=0.0)
    permittivity: Real = Real("of what is between them, eps", unit="F/m", default=8.8541878128e-12, above=0.0)

    def energy(self, frames, q):
        least = _TOUCHING * self.gap
        # not a number for plates that touch: a search would take the charge that runs away there for an equilibrium
        gap = least + np.sqrt(self._distance(frames) - least) ** 2
        normal = frames[0].U.T @ frames[1].U[:, 2]
        tilt = (self.sides[0] * normal[0]) ** 2 + (self.sides[1] * normal[1]) ** 2
        area = self.sides[0] * self.sides[1]
        return 0.5 * q[0] ** 2 * gap / (self.permittivity * area * (1.0 + tilt / (12.0 * gap**2)))

    def span(self):
        return self.gap

    def check_frames(self, frames):
        raise ModelError(
            f"{self.label}: its plates touch: the gap is {self._distance(frames):.6g} m; expected one above 0 m; lower the "
            "voltage below pull-in, drive the charge, or start with a larger gap (at=...)"
        )


class PiezoStack(_Transducer):
    """A piezo stack, ``V = k_oc x^2/2 - h x q + q^2/(2 C_S)``: grows along the axis by ``d`` per volt.

    Data sheets give the ``stiffness`` k_sc at constant voltage, the stroke d per volt, and the ``capacitance`` C_T of the free
    stack.  From these ``C_S = C_T - d^2 k_sc`` (clamped), ``h = d k_sc/C_S``, ``k_oc = k_sc + h^2 C_S`` (open).  x is the length
    beyond ``length``, along the axis.

    Source: IEEE Standard on Piezoelectricity 176-1987, section 2, for one dimension.

    Examples
    --------
    >>> stack = mse.PiezoStack("stack", stiffness=5e7, stroke=1e-7, capacitance=1e-6)
    >>> f"coupling {np.sqrt(1e-7**2 * stack.stiffness / stack.capacitance):.4f}"
    'coupling 0.7071'
    """

    stiffness: Real = Real("at constant voltage, k_sc", unit="N/m", above=0.0)
    stroke: Real = Real("by which it grows per volt, d", unit="m/V")
    capacitance: Real = Real("of the free stack, C_T", unit="F", above=0.0)
    length: Real = Real("without voltage and force", unit="m", default=0.0, minimum=0.0)

    def energy(self, frames, q):
        held = self._clamped()
        x = self._distance(frames) - self.length
        charge = q[0] - self.stroke * self.stiffness * x
        return 0.5 * self.stiffness * x**2 + 0.5 * charge**2 / held

    def _clamped(self):
        held = self.capacitance - self.stroke**2 * self.stiffness
        if held <= 0.0:
            raise ModelError(
                f"{self.label}: capacitance is {self.capacitance:g} F, which is not above stroke^2 stiffness; expected more, "
                "since the clamped stack keeps a capacitance above 0; correct the units of the data sheet (m/V, N/m, F)"
            )
        return held

    def span(self):
        return self.length
