"""Heat between bodies at temperatures of their own: entropies flow where currents flow in circuits, temperatures are potentials.

A flow of entropy S' (W/K) at a temperature T (K) is a flow of heat T S' (W).  Earth is at 0 K, so surroundings are a
:class:`TemperatureSource`.  Conduction and friction make entropy and keep energy.
"""

from __future__ import annotations

import numpy as np

from .base import MObject
from .coordinates import coordinate
from .parameters import Real
from .records import Channel

_KELVIN = {"unit": "K", "domain": "generalized"}


class HeatCapacity(MObject):
    """A body that stores heat, ``V = C T0 exp(S/C)``: its temperature is ``T = T0 exp(S/C)``, the energy in it ``C T``.

    Its ``temperature`` is T0 where its entropy S is zero, as where motions begin unless they are told otherwise.  At a working
    point the network decides.  Source: H. Callen, Thermodynamics and an Introduction to Thermostatistics, 1985, eq. 2.6.

    Examples
    --------
    >>> body = mse.HeatCapacity("body", capacity=2.0, temperature=300.0)
    >>> float(body.energy([], [0.0])), float(body.measure([], [0.0])[0])
    (600.0, 300.0)
    """

    capacity: Real = Real("C", unit="J/K", above=0.0)
    temperature: Real = Real("T0, without entropy", unit="K", default=293.15, above=0.0)

    frame_names = ()
    coordinate_names = (coordinate("entropy", unit="J/K", size=lambda self: self.capacity, ports=("heat",)),)
    outputs = (Channel("temperature", "K"),)

    def energy(self, frames, q):
        return self.capacity * self.temperature * np.exp(q[0] / self.capacity)

    def measure(self, frames, q):
        return [self.temperature * np.exp(q[0] / self.capacity)]


class TemperatureSource(MObject):
    """Surroundings at a temperature T, whatever flows; the input ``temperature`` of linear models adds to it.

    Examples
    --------
    >>> mse.TemperatureSource("room", temperature=295.0).inputs
    (Channel(name='temperature', unit='K'),)
    """

    temperature: Real = Real("T", unit="K", default=293.15, above=0.0)

    frame_names = ()
    coordinate_names = (coordinate("entropy", unit="J/K", ports=("heat",)),)
    inputs = (Channel("temperature", "K"),)

    def energy(self, frames, q):
        return self.temperature * q[0]

    def input_map(self, frames):
        return np.array([[-1.0]])


class HeatConductor(MObject):
    """A conductor of heat, ``T1 S1' = G (T1 - T2) = -T2 S2'``: heat is kept, and entropy made.

    Its flow of heat fluctuates by ``2 kB G (T1^2 + T2^2)`` (W^2/Hz, one-sided), ``4 kB T^2 G`` at one temperature (J. Mather,
    Bolometer noise: nonequilibrium theory, Appl. Opt. 21 (1982) 1125, for a short link).

    Examples
    --------
    A heater in a box that loses heat to the room:

    >>> system = mse.MSystem("box")
    >>> supply = system.add(mse.VoltageSource("supply", voltage=6.0))
    >>> heater = system.add(mse.Heater("heater", resistance=10.0))
    >>> box = system.add(mse.HeatCapacity("box", capacity=0.5))
    >>> wall = system.add(mse.HeatConductor("wall", conductance=0.08))
    >>> room = system.add(mse.TemperatureSource("room", temperature=300.0))
    >>> system.connect(supply.port("+"), heater.port("+"))
    >>> system.connect(supply.port("-"), heater.port("-"), system.earth)
    >>> system.connect(heater.port("heat"), box.port("heat"), wall.port("1"))
    >>> system.connect(wall.port("2"), room.port("heat"))
    >>> f"{system.find_working_point().potentials['box.heat']:.3f} K"
    '345.000 K'
    """

    conductance: Real = Real("G", unit="W/K", above=0.0)

    frame_names = ()
    coordinate_names = (
        coordinate("entropy1", unit="J/K", ports=("1",)),
        coordinate("entropy2", unit="J/K", ports=("2",)),
    )
    effort_names = (coordinate("temperature1", **_KELVIN), coordinate("temperature2", **_KELVIN))

    def power(self, frames, q, v, given):
        return -given.e[0] * v[0] - given.e[1] * v[1]

    def effort_constraint(self, frames, q, v, given):
        first, second = given.e
        return v[0] - self.conductance * (1.0 - second / first), v[1] - self.conductance * (1.0 - first / second)

    def fluctuation_matrix(self, frames, q, v):
        # 2 kB G (T1^2 + T2^2) of the flow of heat, which takes 1/T1 from one end and gives 1/T2 to the other
        inverse = np.concatenate([np.zeros(2), 1.0 / q[2:] * [1.0, -1.0]])
        return 0.5 * self.conductance * (q[2:] @ q[2:]) * np.outer(inverse, inverse)


class Heater(MObject):
    """A resistor that warms its port ``heat``, ``R = R0 (1 + a (T - T0))``: what it takes from the circuit leaves as heat.

    The potential falls by ``R v`` from "+" to "-", and ``T S' = -R v^2`` flows in at "heat".  Its voltage fluctuates by
    ``4 kB T R`` (V^2/Hz, one-sided) at the temperature T of that port (H. Nyquist, Phys. Rev. 32 (1928) 110), and what this
    voltage feeds into a steady current comes out of the heat.

    Examples
    --------
    >>> [port for port, _ in mse.elements.ports.ports_of(mse.Heater("heater", resistance=10.0))]
    ['+', '-', 'heat']
    """

    resistance: Real = Real("R0", unit="ohm", above=0.0)
    slope: Real = Real("a, by which its resistance grows", unit="1/K", default=0.0)
    temperature: Real = Real("T0, at which the resistance is R0", unit="K", default=293.15, above=0.0)

    frame_names = ()
    coordinate_names = (
        coordinate("charge", unit="C", ports=("+", "-")),
        coordinate("entropy", unit="J/K", ports=("heat",)),
    )
    effort_names = (coordinate("temperature", **_KELVIN),)
    outputs = (Channel("charge", "C"),)

    def _resistance(self, temperature):
        return self.resistance * (1.0 + self.slope * (temperature - self.temperature))

    def power(self, frames, q, v, given):
        return -self._resistance(given.e[0]) * given.v[0] * v[0] - given.e[0] * v[1]

    def effort_constraint(self, frames, q, v, given):
        return v[1] + self._resistance(given.e[0]) * v[0] ** 2 / given.e[0]

    def fluctuation_matrix(self, frames, q, v):
        # a voltage u of its own pushes the charge, and what it does to a current v is no heat: T S' = -(R v - u) v
        by_voltage = np.array([1.0, 0.0, -v[0] / q[2]])
        return self._resistance(q[2]) * q[2] * np.outer(by_voltage, by_voltage)

    def measure(self, frames, q):
        return [q[0]]


class ThermalSpring(MObject):
    """A spring that cools where it is stretched, ``V = k e^2/2 + k a l T0 e + C T0 (exp((S - k a l e)/C) - 1)``.

    e (m) is how much longer than l it is, and its temperature is ``T0 exp((S - k a l e)/C)``.  Where heat flows through a
    conductance G to surroundings at T0, slow motions feel k, fast ones ``k (1 + D)`` with ``D = k a^2 l^2 T0/C``, and between
    them it damps, most at ``2 pi f = G/C`` (C. Zener, Internal friction in solids, Phys. Rev. 52 (1937) 230).

    Examples
    --------
    >>> rod = mse.ThermalSpring("rod", stiffness=1e5, length=0.1, expansion=2.3e-5, capacity=2.4)
    >>> [port for port, _ in mse.elements.ports.ports_of(rod)]
    ['heat']
    """

    stiffness: Real = Real("k, at constant temperature", unit="N/m", above=0.0)
    length: Real = Real("l, without load at T0", unit="m", above=0.0)
    expansion: Real = Real("a, by which it grows when it is warmed", unit="1/K")
    capacity: Real = Real("C, at constant length", unit="J/K", above=0.0)
    temperature: Real = Real("T0", unit="K", default=293.15, above=0.0)

    coordinate_names = (coordinate("entropy", unit="J/K", size=lambda self: self.capacity, ports=("heat",)),)
    outputs = (Channel("temperature", "K"),)

    def _longer(self, frames):
        d = frames[1].o - frames[0].o
        return np.sqrt(d @ d) - self.length

    def _entropy(self, e, q):
        """What of its entropy warms it (J/K)."""
        return q[0] - self.stiffness * self.expansion * self.length * e

    def energy(self, frames, q):
        e = self._longer(frames)
        warm = self.capacity * (np.exp(self._entropy(e, q) / self.capacity) - 1.0)
        pull = self.stiffness * self.expansion * self.length * e
        return 0.5 * self.stiffness * e**2 + self.temperature * (pull + warm)

    def measure(self, frames, q):
        return [self.temperature * np.exp(self._entropy(self._longer(frames), q) / self.capacity)]
