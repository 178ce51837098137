"""Circuits: elements of one charge each, which flows in at port "+" and leaves at "-".

Each law is an energy of the charge q (C), a kinetic coenergy or a content of the current v = q' (A).  With the potentials e at
its ports, the charge of an element obeys ``dV/dq + dD/dv + d/dt(dT/dv) = e(+) - e(-)``.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..errors import ModelError
from ..validation.arguments import real
from .base import MObject
from .coordinates import coordinate
from .parameters import Real
from .records import Channel

_CHARGE = (coordinate("charge", unit="C", ports=("+", "-")),)
_READ = (Channel("charge", "C"),)


class _OfCharge(MObject):
    """Base of elements with one charge, which they read."""

    frame_names = ()
    coordinate_names = _CHARGE
    outputs = _READ

    def measure(self, frames, q):
        return [q[0]]


class Resistor(_OfCharge):
    """A resistor, ``D = R v^2/2``: the potential falls by ``R v`` from "+" to "-".

    Examples
    --------
    >>> system = mse.MSystem("low pass")
    >>> source = system.add(mse.VoltageSource("source"))
    >>> resistor = system.add(mse.Resistor("resistor", resistance=1e3))
    >>> capacitor = system.add(mse.Capacitor("capacitor", capacitance=1e-6))
    >>> system.connect(source.port("+"), resistor.port("+"))
    >>> system.connect(resistor.port("-"), capacitor.port("+"))
    >>> system.connect(capacitor.port("-"), source.port("-"), system.earth)
    >>> linear = system.find_working_point().linearize()
    >>> charge = linear.frequency_response([500 / np.pi])["capacitor.charge", "source.voltage"]
    >>> f"{charge[0] / 1e-6:.6f} V/V"
    '0.500000-0.500000j V/V'
    """

    resistance: Real = Real("R", unit="ohm", above=0.0)

    def dissipation(self, frames, q, v):
        return 0.5 * self.resistance * v[0] ** 2


class Capacitor(_OfCharge):
    """A capacitor, ``V = q^2/(2 C)``: the potential falls by ``q/C`` from "+" to "-".

    Examples
    --------
    >>> float(mse.Capacitor("filter", capacitance=1e-6).energy([], [2e-6]))
    2e-06
    """

    capacitance: Real = Real("C", unit="F", above=0.0)

    def energy(self, frames, q):
        return 0.5 * q[0] ** 2 / self.capacitance


class Inductor(_OfCharge):
    """A coil, ``T = L v^2/2``: the potential falls by ``L v'`` from "+" to "-".

    Examples
    --------
    >>> float(mse.Inductor("choke", inductance=1e-3).kinetic([], [0.0], [2.0]))
    0.002
    """

    inductance: Real = Real("L", unit="H", above=0.0)

    def kinetic(self, frames, q, v):
        return 0.5 * self.inductance * v[0] ** 2


class Coupling(Real):
    """A coupling of two windings, between -1 and 1."""

    def checked(self, obj, value) -> float:
        given = real(value)
        if given is not None and abs(given) >= 1.0:
            raise ModelError(
                f"{obj.label}: {self.name} is {given:g}; expected a number between -1 and 1, since windings without leakage "
                "store no energy for some currents; give 0.9999, or write an element with a constraint for an ideal transformer"
            )
        return super().checked(obj, value)


class Transformer(MObject):
    """Two windings on one core, ``T = L1 v1^2/2 + M v1 v2 + L2 v2^2/2`` with ``M = k sqrt(L1 L2)``.

    The primary has the ports "1+" and "1-", the secondary "2+" and "2-".  Currents into "1+" and "2+" add their fluxes if k is
    positive.

    Examples
    --------
    >>> core = mse.Transformer("core", primary=2e-3, secondary=8e-3, coupling=0.9)
    >>> f"{core.kinetic([], np.zeros(2), np.array([1.0, 1.0])):.4f} J"
    '0.0086 J'
    """

    primary: Real = Real("inductance of the primary winding, L1", unit="H", above=0.0)
    secondary: Real = Real("inductance of the secondary winding, L2", unit="H", above=0.0)
    coupling: Real = Coupling("share of the flux that both windings have in common, k", minimum=-1.0, maximum=1.0)

    frame_names = ()
    coordinate_names = (
        coordinate("charge1", unit="C", ports=("1+", "1-")),
        coordinate("charge2", unit="C", ports=("2+", "2-")),
    )
    outputs = (Channel("charge1", "C"), Channel("charge2", "C"))

    def kinetic(self, frames, q, v):
        mutual = self.coupling * np.sqrt(self.primary * self.secondary)
        return 0.5 * self.primary * v[0] ** 2 + mutual * v[0] * v[1] + 0.5 * self.secondary * v[1] ** 2

    def measure(self, frames, q):
        return [q[0], q[1]]


class CurrentSource(_OfCharge):
    """A current I that flows in at "+" and leaves at "-", whatever the potentials; with none it is a voltmeter.

    The output ``voltage`` is the potential at "+" less that at "-".  The ``current`` flows at the working point.  In linear
    models the input is a ``charge``; its rate is the current that is added.  The response to a current is therefore the response
    to the charge divided by ``2j pi f``.

    Examples
    --------
    >>> [channel.name for channel in mse.CurrentSource("supply", current=0.1).motors]
    ['charge']
    """

    current: Real = Real("I", unit="A", default=0.0)

    motors: ClassVar[dict[str, int]] = {Channel("charge", "C"): 0}
    reaction_outputs = (Channel("voltage", "V"),)

    def constraint(self, frames, q):
        return [q[0]]

    def reaction_map(self, frames):
        return np.ones((1, 1))


class VoltageSource(_OfCharge):
    """A voltage U, ``V = U q``: "+" is at a potential higher by U than "-", whatever flows.

    The ``voltage`` is there at the working point; the input ``voltage`` of linear models adds to it.  A current that leaves at
    "+" flows backwards through the source: its charge decreases.

    Examples
    --------
    >>> mse.VoltageSource("supply", voltage=5.0).inputs
    (Channel(name='voltage', unit='V'),)
    """

    voltage: Real = Real("U", unit="V", default=0.0)

    inputs = (Channel("voltage", "V"),)

    def energy(self, frames, q):
        return self.voltage * q[0]

    def input_map(self, frames):
        return np.array([[-1.0]])
