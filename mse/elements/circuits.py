"""Circuits: elements of one charge each, which flows in at port "+" and leaves at "-".

Each law is an energy of the charge q (C), a kinetic coenergy or a content of the current v = q' (A).  With the potentials e at
its ports, the charge of an element obeys ``dV/dq + dD/dv + d/dt(dT/dv) = e(+) - e(-)``.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..errors import ModelError
from ..numerics.precision import left_by_rounding
from ..numerics.reals import real_array
from ..validation.arguments import LARGEST, number, real
from .base import MObject
from .coordinates import coordinate
from .parameters import Array, Number, Parameter, Real
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


class KeptFlux(Parameter[float | None, Number | None]):
    """A flux linkage (Wb) that a loop without resistance keeps; None if none is given."""

    kind = "number"

    def expectation(self) -> str:
        return "a finite number, or None"

    def checked(self, obj, value) -> float | None:
        return None if value is None else number(obj.label, self.name, value, unit=self.unit)


class Inductor(_OfCharge):
    """A coil, ``T = L v^2/2``: the potential falls by ``L v'`` from "+" to "-".

    In a loop of coils without any resistance, as of a superconductor, nothing changes the flux linkage ``dT/dv``.  If a coil in
    it is given a ``flux``, the loop has the sum of all given ones at the working point, wherever magnets and other coils are:
    its current follows from that, and is ``flux/L`` in a coil whose ports are connected to each other.  The ``flux`` of one coil
    is enough for all such loops of a circuit.  In any other loop it changes nothing.

    Examples
    --------
    >>> float(mse.Inductor("choke", inductance=1e-3).kinetic([], [0.0], [2.0]))
    0.002
    """

    inductance: Real = Real("L", unit="H", above=0.0)
    flux: KeptFlux = KeptFlux("flux that a loop without resistance keeps", unit="Wb", default=None)

    def kinetic(self, frames, q, v):
        own = 0.5 * self.inductance * v[0] ** 2
        return own if self.flux is None else own - self.flux * v[0]


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
    positive.  :class:`CoupledInductors` has more windings.

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


class InductanceMatrix(Array):
    """Inductances (n, n) of windings, symmetric and positive definite, for as many windings as at the beginning."""

    def __init__(self, description: str):
        super().__init__(description, shape=(), unit="H")

    def expectation(self) -> str:
        return "finite numbers of shape (n, n), symmetric, one row for each winding"

    def checked(self, obj, value) -> np.ndarray:
        try:
            array = real_array(value)
        except (TypeError, ValueError):  # no numbers, or ragged
            raise self.refuse(obj, value) from None
        before = vars(obj).get("_values", {}).get(self.name)
        if before is not None and array.shape != before.shape:
            raise self.refuse(obj, value, f"it has {len(before)} windings; make another object instead")
        square = array.ndim == 2 and 0 < len(array) == array.shape[1]
        if not square or not np.all(np.abs(array) <= LARGEST) or not np.array_equal(array, array.T):
            raise self.refuse(obj, value)
        sizes = np.sqrt(np.abs(array.diagonal()) + (array.diagonal() == 0.0))
        if np.linalg.eigvalsh(array / np.outer(sizes, sizes))[0] <= left_by_rounding(len(array)):
            raise self.refuse(
                obj, value, "as some currents would store no energy, or a negative one: M_ij = k_ij sqrt(L_i L_j) with couplings "
                "between -1 and 1 that go together; make them smaller"
            )  # fmt: skip
        array.flags.writeable = False
        return array


class CoupledInductors(MObject):
    """Any number of windings that share flux, ``T = v'L v/2``: winding i has the ports "i+" and "i-", from "1+" on.

    The diagonal of ``inductance`` has the inductances ``L_i`` of the windings, the other entries the mutual ones,
    ``M_ij = k_ij sqrt(L_i L_j)`` with couplings k.  Currents into "i+" and "j+" add their fluxes if ``M_ij`` is positive.

    Examples
    --------
    >>> core = mse.CoupledInductors("core", inductance=[[2e-3, 1e-3, 0.0], [1e-3, 8e-3, 2e-3], [0.0, 2e-3, 4e-3]])
    >>> [str(name) for name in core.coordinate_names]
    ['charge1', 'charge2', 'charge3']
    """

    inductance: Array = InductanceMatrix("self and mutual inductances of the windings, L")

    frame_names = ()

    @property
    def coordinate_names(self):
        numbers = range(1, 1 + len(self.inductance))
        return tuple(coordinate(f"charge{k}", unit="C", ports=(f"{k}+", f"{k}-")) for k in numbers)

    @property
    def outputs(self):
        return tuple(Channel(str(name), "C") for name in self.coordinate_names)

    def kinetic(self, frames, q, v):
        return 0.5 * (v @ (self.inductance @ v))

    def measure(self, frames, q):
        return q


class CurrentSource(_OfCharge):
    """A current I that flows in at "+" and leaves at "-", whatever the potentials; with none it is a voltmeter.

    The output ``voltage`` is the potential at "+" less that at "-".  The ``current`` flows at the working point; the input
    ``current`` adds to it.

    Examples
    --------
    >>> list(mse.CurrentSource("supply", current=0.1).rate_motors)
    [Channel(name='current', unit='A')]
    """

    current: Real = Real("I", unit="A", default=0.0)

    rate_motors: ClassVar[dict[str, int]] = {Channel("current", "A"): 0}
    reaction_outputs = (Channel("voltage", "V"),)

    def constraint(self, frames, q):
        return [q[0]]

    def reaction_map(self, frames):
        return np.ones((1, 1))


class HeldCurrent(_OfCharge):
    """A :class:`CurrentSource` in a motion that is given its ``current`` over time, whose integral is not known ahead."""

    current: Real = Real("I", unit="A", default=0.0)

    reaction_outputs = (Channel("voltage", "V"),)

    def flow_constraint(self, frames, q, v):
        return [v[0]]

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
