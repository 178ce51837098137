"""Large motions of what has no mass: circuits, heat and the examples of J. Suk, Automatic Formulation of Lagrangian DAEs.

Charges, entropies and efforts have no mass of their own, so that these are differential-algebraic equations.
"""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse.errors import ModelError


class Pendulum(mse.MObject):
    """Section 4.2: a ball on a rod from a massless block, on a spring and a damper in a row."""

    frame_names = ()
    coordinate_names = ("x1", "x2", mse.coordinate("x3", unit="rad"))

    def energy(self, frames, q):
        return 15.0 * q[0] ** 2 + 1.5 * 9.81 * (q[1] - 0.8 * np.cos(q[2]))

    def kinetic(self, frames, q, v):
        return 0.75 * (v[1] ** 2 + 0.64 * v[2] ** 2 + 1.6 * v[1] * v[2] * np.sin(q[2]))

    def dissipation(self, frames, q, v):
        return 2.0 * (v[0] - v[1]) ** 2


class Lever(mse.MObject):
    """Section 4.4: a lever moves the plate of a capacitor and the core of a coil, whose currents meet."""

    frame_names = ()
    coordinate_names = ("x1", "x2", *(mse.coordinate(name, unit="C") for name in ("q0", "q1", "q2")))

    def energy(self, frames, q):
        return 50.0 * (q[0] ** 2 + q[1] ** 2) + q[2] ** 2 * (0.01 - q[0]) / 2e-6 + q[3] ** 2 / 1e-4 - 5.0 * q[2]

    def kinetic(self, frames, q, v):
        return 0.5 * (0.05 + 2.0 * q[1]) * v[4] ** 2

    def dissipation(self, frames, q, v):
        return 10.0 * v[2] ** 2

    def constraint(self, frames, q):
        return [q[0] + q[1]]

    def flow_constraint(self, frames, q, v):
        return v[2] - v[3] - v[4]


class Blender(mse.MObject):
    """Section 4.5, corrected: resistances hold the volumes, and the torque of the fan follows from the current."""

    frame_names = ()
    coordinate_names = (
        *(mse.coordinate(name, unit="J/K") for name in ("s1", "s2", "s3")),
        mse.coordinate("q0", unit="C"),
        mse.coordinate("theta", unit="rad"),
    )
    effort_names = ("torque",)

    def energy(self, frames, q):
        return 0.01 * q[2] ** 2 - 340.0 * (q[0] + q[1]) - 24.0 * q[3]

    def kinetic(self, frames, q, v):
        return 1e-3 * v[4] ** 2

    def dissipation(self, frames, q, v):
        return 0.15 * v[0] ** 2 + 0.3 * v[1] ** 2 + 4.0 * v[3] ** 2 + 0.5e-3 * v[4] ** 2

    def flow_constraint(self, frames, q, v):
        return v[2] - v[0] - v[1]

    def power(self, frames, q, v, given):
        return given.e[0] * v[4]

    def effort_constraint(self, frames, q, v, given):
        return given.e[0] - 0.05 * v[3]


@pytest.mark.parametrize(
    ("cls", "duration", "initial", "expected"),
    [
        (Pendulum, 3.0, {"x1": 0.1, "x3": 0.6}, {"x1": -0.4825758615, "x2": -10.2702858337, "x3": -0.4034742951}),
        (Lever, 0.01, {}, {"q0": 6.8434617055e-4, "x1": 1.1697226438e-3}),
        (Blender, 5.0, {}, {"s3": 6688.978784885, "theta'": 137.687250206}),
    ],
)
def test_examples_of_the_thesis(cls, duration, initial, expected):
    system = mse.MSystem("thesis")
    system.add(cls("it"))
    names = [f"it.{name}" for name in expected]
    initial = {f"it.{name}": value for name, value in initial.items()}
    run = system.simulate(duration=duration, dt=duration / 5, initial=initial, outputs=names, rtol=1e-10)
    assert [run[name][-1] for name in names] == pytest.approx(list(expected.values()), rel=1e-8)
    assert run.method == "implicit" and not any("accounted" in note for note in run.notes)


def low_pass(**voltage: float) -> mse.MSystem:
    system = mse.MSystem("low pass")
    system.add(mse.VoltageSource("source", **voltage))
    system.add(mse.Resistor("resistor", resistance=1e3))
    system.add(mse.Capacitor("capacitor", capacitance=1e-6))
    system.connect("source.+", "resistor.+")
    system.connect("resistor.-", "capacitor.+")
    system.connect("source.-", "capacitor.-", system.earth)
    return system


def test_a_capacitor_is_charged_from_the_first_moment_on():
    """Currents at the beginning follow from the charges there."""
    run = low_pass(voltage=5.0).simulate(duration=5e-3, dt=1e-3, rtol=1e-8)
    decay = np.exp(-run.time / 1e-3)
    np.testing.assert_allclose(run["capacitor.charge"], 5e-6 * (1.0 - decay), rtol=0.0, atol=5e-13)
    np.testing.assert_allclose(run["resistor.current"], 5e-3 * decay, rtol=1e-6)


def test_a_run_in_two_pieces_is_the_one_to_the_bit():
    system = low_pass(voltage=5.0)
    whole = system.simulate(duration=4e-3, dt=1e-3)
    first = system.simulate(duration=2e-3, dt=1e-3)
    then = system.simulate(duration=2e-3, dt=1e-3, start=first.final_state)
    np.testing.assert_array_equal(whole["capacitor.charge"][2:], then["capacitor.charge"])


def test_a_current_given_for_a_coil_is_kept():
    system = mse.MSystem("tank")
    system.add(mse.Inductor("coil", inductance=1e-3))
    system.add(mse.Capacitor("capacitor", capacitance=1e-6))
    system.connect("coil.+", "capacitor.+")
    system.connect("coil.-", "capacitor.-", system.earth)
    run = system.simulate(duration=1e-3, dt=1e-4, initial={"coil.charge'": 0.1}, rtol=1e-9)
    np.testing.assert_allclose(run["coil.current"], 0.1 * np.cos(run.time / np.sqrt(1e-9)), rtol=0.0, atol=1e-9)
    assert np.abs(run.energy["unaccounted"]).max() < 1e-13


def test_rates_that_nothing_keeps_are_refused():
    initial = {"capacitor.charge": 1e-6, "resistor.charge'": 3e-3}
    with pytest.raises(ModelError, match=r"resistor\.charge'\" is 0\.003, where 0\.004 A follows.*leave it out"):
        low_pass(voltage=5.0).simulate(duration=1e-3, dt=1e-3, initial=initial)


def test_charges_that_would_jump_are_refused():
    system = mse.MSystem("across")
    system.add(mse.VoltageSource("source", voltage=5.0))
    system.add(mse.Capacitor("capacitor", capacitance=1e-6))
    system.connect("source.+", "capacitor.+")
    system.connect("source.-", "capacitor.-", system.earth)
    with pytest.raises(
        ModelError, match=r"charge would jump at t = 0 s.*put a resistor there, give charges that agree"
    ):
        system.simulate(duration=1e-3, dt=1e-3)
    run = system.simulate(duration=1e-3, dt=1e-3, initial={"capacitor.charge": 5e-6})
    np.testing.assert_allclose(run["capacitor.charge"], 5e-6, rtol=1e-12)
