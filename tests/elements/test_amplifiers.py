"""Amplifiers and gyrators in circuits, at rest, in small motions and in time."""

from __future__ import annotations

import numpy as np
import pytest

import mse


def amplified(**parameters: float) -> mse.MSystem:
    """A source, an amplifier, and a low pass of 10 ohm and 1 mF behind it."""
    system = mse.MSystem("amplified")
    system.add(mse.VoltageSource("source", voltage=2.0))
    system.add(mse.Amplifier("amplifier", gain=5.0, **parameters))
    system.add(mse.Resistor("resistor", resistance=10.0))
    system.add(mse.Capacitor("capacitor", capacitance=1e-3))
    system.connect("source.+", "amplifier.in+")
    system.connect("source.-", "amplifier.in-", "amplifier.-", "capacitor.-", system.earth)
    system.connect("amplifier.+", "resistor.+")
    system.connect("resistor.-", "capacitor.+")
    return system


@pytest.mark.parametrize("time", [0.0, 3e-3])
def test_an_amplifier_drives_what_it_senses(time):
    point = amplified(time_constant=time).find_working_point()
    assert point.internal["capacitor.charge"] == pytest.approx(5.0 * 2.0 * 1e-3, rel=1e-12)
    assert abs(point.flows["source.charge"]) < 1e-25 and point.stable
    f = np.array([1.0, 10.0, 100.0])
    s = 2j * np.pi * f
    found = point.linearize().frequency_response(f)["capacitor.charge", "source.voltage"]
    np.testing.assert_allclose(found, 5e-3 / ((1.0 + s * time) * (1.0 + s * 1e-2)), rtol=1e-12)
    poles = np.linalg.eigvals(point.linearize().state_space().A)
    np.testing.assert_allclose(np.sort(poles), np.sort([-100.0, *([-1.0 / time] if time else [])]), rtol=1e-10)


def test_feedback_through_an_amplifier_holds_or_runs_away():
    """Its output charges a capacitor through a resistor, and the capacitor is its input: s = (A - 1)/RC."""
    for gain in (0.5, 3.0):
        system = mse.MSystem("loop")
        system.add(mse.Amplifier("amplifier", gain=gain))
        system.add(mse.Resistor("resistor", resistance=10.0))
        system.add(mse.Capacitor("capacitor", capacitance=1e-3))
        system.connect("amplifier.+", "resistor.+")
        system.connect("resistor.-", "capacitor.+", "amplifier.in+")
        system.connect("capacitor.-", "amplifier.-", "amplifier.in-", system.earth)
        point = system.find_working_point()
        assert point.stable is (gain < 1.0)
        (rate,) = point.linearize().modes(damped=True).eigenvalues
        assert rate == pytest.approx((gain - 1.0) * 100.0, rel=1e-10)


def test_a_gyrator_makes_an_inductor_of_a_capacitor():
    system = mse.MSystem("gyrator")
    system.add(mse.VoltageSource("source"))
    system.add(mse.Gyrator("gyrator", resistance=50.0))
    system.add(mse.Capacitor("capacitor", capacitance=1e-6))
    system.add(mse.Resistor("resistor", resistance=20.0))
    system.connect("source.+", "resistor.+")
    system.connect("resistor.-", "gyrator.1+")
    system.connect("source.-", "gyrator.1-", system.earth)
    system.connect("gyrator.2+", "capacitor.+")
    system.connect("gyrator.2-", "capacitor.-", system.earth)
    f = np.array([10.0, 1e3, 1e5])
    found = system.find_working_point().linearize().impedance("source", f)
    np.testing.assert_allclose(found, 20.0 + 2j * np.pi * f * 50.0**2 * 1e-6, rtol=1e-10)


def test_an_amplified_step_in_time():
    system = amplified(time_constant=3e-3)
    system["source"].voltage = 0.0
    run = system.simulate(
        duration=0.02, dt=0.005, inputs={"source.voltage": lambda t: 2.0}, outputs=["capacitor.charge"], rtol=1e-8
    )
    t = np.arange(5) * 0.005
    exact = 1e-2 * (1.0 - (1e-2 * np.exp(-t / 1e-2) - 3e-3 * np.exp(-t / 3e-3)) / 7e-3)
    np.testing.assert_allclose(run["capacitor.charge"], exact, atol=1e-9)
