"""Elements of two ports that only circuits have: amplifiers and gyrators."""

from __future__ import annotations

from .base import MObject
from .coordinates import coordinate
from .parameters import Real
from .records import Channel


class Amplifier(MObject):
    """An amplifier, ``U = A e/(1 + s t)``: e is the voltage from "in+" to "in-", where nothing flows in, U that from "+" to "-".

    Its gain falls by 3 dB up to ``1/(2 pi t)``; t is its ``time_constant``.  It gives any current; what leaves at "+" comes from
    its supply, not from its input.

    Examples
    --------
    >>> amplifier = mse.Amplifier("amplifier", gain=20.0, time_constant=1e-6)
    >>> amplifier.state_names[0].unit
    'V'
    """

    gain: Real = Real("A", unit="V/V")
    time_constant: Real = Real("t", unit="s", default=0.0, minimum=0.0)

    frame_names = ()
    coordinate_names = (
        coordinate("sensed", unit="C", ports=("in+", "in-")),
        coordinate("charge", unit="C", ports=("+", "-")),
    )
    effort_names = (coordinate("input", unit="V", domain="generalized"),)
    state_names = (coordinate("output", unit="V", domain="generalized"),)
    outputs = (Channel("charge", "C"),)

    def power(self, frames, q, v, given):
        return -given.e[0] * v[0] - given.s[0] * v[1]

    def effort_constraint(self, frames, q, v, given):
        return v[0]

    def state_rates(self, frames, q, v, given):
        return [[self.time_constant]], [self.gain * given.e[0] - given.s[0]]

    def measure(self, frames, q):
        return [q[1]]


class Gyrator(MObject):
    """A gyrator, ``e1 = r v2``, ``e2 = -r v1``: a capacitor on one side acts as an inductor on the other, and power passes.

    Source: B. Tellegen, The gyrator, a new electric network element, Philips Res. Rep. 3 (1948) 81.

    Examples
    --------
    >>> [port for port, _ in mse.elements.ports.ports_of(mse.Gyrator("gyrator", resistance=50.0))]
    ['1+', '1-', '2+', '2-']
    """

    resistance: Real = Real("r", unit="ohm")

    frame_names = ()
    coordinate_names = (
        coordinate("charge1", unit="C", ports=("1+", "1-")),
        coordinate("charge2", unit="C", ports=("2+", "2-")),
    )
    outputs = (Channel("charge1", "C"), Channel("charge2", "C"))

    def power(self, frames, q, v, given):
        return self.resistance * (given.v[0] * v[1] - given.v[1] * v[0])

    def measure(self, frames, q):
        return [q[0], q[1]]
