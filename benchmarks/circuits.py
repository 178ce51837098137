"""Circuits at size: a ladder of resistors and capacitors, and a hanging chain of masses with a coil between neighbors.

By hand: nodal analysis of the ladder, one ``scipy.sparse.linalg.splu`` for each frequency; the error is that of its impedance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import mse
from mse import Pose

from . import measure
from .table import Row

OHM, FARAD = 10.0, 1e-6
FREQUENCIES = 200


def ladder(sections: int) -> mse.MSystem:
    """A source, and so many resistors in a row with a capacitor to earth behind each."""
    system = mse.MSystem("ladder")
    source = system.add(mse.VoltageSource("source", voltage=1.0))
    node, earth = [source.port("+")], [system.earth, source.port("-")]
    for k in range(sections):
        resistor = system.add(mse.Resistor(f"r{k}", resistance=OHM))
        capacitor = system.add(mse.Capacitor(f"c{k}", capacitance=FARAD))
        system.connect(*node, resistor.port("+"))
        node = [resistor.port("-"), capacitor.port("+")]
        earth.append(capacitor.port("-"))
    system.connect(*node)
    system.connect(*earth)
    return system


def by_hand(sections: int, f: np.ndarray) -> np.ndarray:
    """The impedance (f,) of the ladder."""
    diagonal = np.full(sections, 2.0 / OHM)
    diagonal[-1] = 1.0 / OHM
    beside = np.full(sections - 1, -1.0 / OHM)
    g, c = sp.diags([diagonal, beside, beside], [0, 1, -1]).tocsc(), FARAD * sp.identity(sections, format="csc")
    fed = np.zeros(sections, dtype=complex)
    fed[0] = 1.0 / OHM
    potentials = [splu((g + 2j * np.pi * x * c).tocsc()).solve(fed)[0] for x in f]
    return OHM / (1.0 - np.array(potentials))


def coils(masses: int) -> mse.MSystem:
    """Masses that hang from each other, each with a coil, closed by a resistor, between it and the one above."""
    system, above = mse.MSystem("coils", gravity=(0, 0, -9.81)), None
    for k in range(masses):
        mass = system.add(mse.RigidBody(f"mass{k}", mass=1.0, inertia=0.1, at=Pose.dz(-0.1 * (k + 1))))
        seat = system.ground if above is None else above.frame(0)
        spring = system.add(mse.Bushing(f"spring{k}", stiffness=(1e6, 1e6, 1e6, 1e4, 1e4, 1e4)))
        coil = system.add(mse.VoiceCoil(f"coil{k}", bl=1.0, resistance=2.0, inductance=1e-3))
        shunt = system.add(mse.Resistor(f"shunt{k}", resistance=5.0))
        for element, at in ((spring, Pose.dz(-0.1)), (coil, Pose())):
            system.clamp(mass.frame(0), element.frame(0))
            system.clamp(seat, element.frame(1), at)
        system.connect(coil.port("+"), shunt.port("+"))
        system.connect(coil.port("-"), shunt.port("-"))
        above = mass
    ends = {"probe": mse.PositionSensor("probe"), "push": mse.ForceActuator("push")}
    for end in ends.values():
        system.clamp(above.frame(0), system.add(end).frame(0))
        system.clamp(system.ground, end.frame(1), Pose.dz(-0.1 * masses))
    return system


def impedance(sections: int) -> Callable[[], np.ndarray]:
    """What finds the impedance of the ladder at 200 frequencies."""
    model, f = ladder(sections).find_working_point().linearize(), np.geomspace(1.0, 1e4, FREQUENCIES)
    return lambda: model.impedance("source", f)


def impedance_by_hand(sections: int) -> Callable[[], np.ndarray]:
    """The same by nodal analysis."""
    f = np.geomspace(1.0, 1e4, FREQUENCIES)
    return lambda: by_hand(sections, f)


def ladder_row(sections: int, runs: int) -> Row:
    """The impedance of the ladder at 200 frequencies."""
    functions = {"ours": impedance(sections), "by hand": impedance_by_hand(sections)}
    times, results = measure.alternate(functions, runs)
    error = float(np.abs(results["ours"] / results["by hand"] - 1.0).max())
    peers = {"by hand": times["by hand"]}
    memory, of_hand = (measure.peak(one, (sections,), (20,)) for one in (impedance, impedance_by_hand))
    note = "" if of_hand is None else f"by hand {of_hand:.1f} MB"
    return Row(f"RC ladder: impedance, {FREQUENCIES} freq.", sections, times["ours"], peers, error, memory, note)


def coil_rows(masses: int, runs: int) -> Iterator[Row]:
    """The working point of the chain, from objects, and one response."""
    model, f = coils(masses).find_working_point().linearize(), np.geomspace(0.1, 100.0, FREQUENCIES)
    functions = {
        "rest": lambda: coils(masses).find_working_point(),
        "response": lambda: model.frequency_response(f, inputs=["push.fx"], outputs=["probe.x"], progress=False),
    }
    times, _ = measure.alternate(functions, runs)
    yield Row("coils in a chain: working point", masses, times["rest"], {}, None)
    yield Row(f"coils in a chain: {FREQUENCIES} freq.", masses, times["response"], {}, None)


def rows(quick: bool) -> Iterator[Row]:
    yield ladder_row(300 if quick else 3000, 3)
    yield from coil_rows(150 if quick else 1500, 3)
