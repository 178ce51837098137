"""Large motions of what has no mass: circuits, heat and the examples of J. Suk, Automatic Formulation of Lagrangian DAEs.

Charges, entropies and efforts have no mass of their own, so that these are differential-algebraic equations.
"""

from __future__ import annotations

import numpy as np
import pytest

import mse
from example_scripts import example
from mse.errors import ModelError


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "duration", "initial", "expected"),
    [
        ("Pendulum", 3.0, {"x1": 0.1, "x3": 0.6}, {"x1": -0.4825758615, "x2": -10.2702858337, "x3": -0.4034742951}),
        ("Lever", 0.01, {}, {"q0": 6.8434617055e-4, "x1": 1.1697226438e-3}),
        ("Blender", 5.0, {}, {"s3": 6688.978784885, "theta'": 137.687250206}),
    ],
)
def test_examples_of_the_thesis(name, duration, initial, expected):
    system = mse.MSystem("thesis")
    system.add(getattr(example("lagrangian_daes"), name)("it"))
    names = [f"it.{name}" for name in expected]
    initial = {f"it.{name}": value for name, value in initial.items()}
    run = system.simulate(duration=duration, dt=duration / 5, initial=initial, outputs=names, rtol=1e-10)
    assert [run[name][-1] for name in names] == pytest.approx(list(expected.values()), rel=1e-8)
    assert run.method == "implicit" and not any("accounted" in note for note in run.notes)


@pytest.mark.slow
def test_rates_that_no_law_decides_are_refused():
    """Of two volumes only the sum meets an energy."""
    system = mse.MSystem("thesis")
    system.add(example("lagrangian_daes").PrintedBlender("it"))
    with pytest.raises(ModelError, match=r"nothing decides how it\.v1, it\.v2 divide: no energy, mass, resistance"):
        system.simulate(duration=1.0, dt=0.25)
    with pytest.raises(ModelError, match='initial "it.v1\'" is 0.001, where .* follows from the circuit'):
        system.simulate(duration=1.0, dt=0.25, initial={"it.v1'": 1e-3, "it.v2'": -1e-3})


@pytest.mark.slow
def test_a_force_that_nothing_balances_is_refused_where_it_acts():
    """It pushes the input of a lever that meets no spring and no mass; constraints spread it to others."""
    system = mse.MSystem("thesis", gravity=(0, 0, 0))
    system.add(example("lagrangian_daes").PrintedFlapper("it"))
    with pytest.raises(ModelError, match=r"nothing balances 5 N on it\.u; expected a stiffness"):
        system.find_working_point()
    with pytest.raises(
        ModelError, match=r"5 N acts on it\.u, which has no mass or inertia, and moves without stiffness"
    ):
        system.simulate(duration=0.01, dt=1e-3)


def test_a_force_on_a_bare_part_of_two_is_refused():
    """Two plates without mass are held by a spring between them alone."""

    class Plates(mse.MObject):
        frame_names = ()
        coordinate_names = ("a", "b")

        def energy(self, frames, q):
            return 50.0 * (q[0] - q[1]) ** 2 - 3.0 * q[0]

        def dissipation(self, frames, q, v):
            return 2.0 * (v[0] - v[1]) ** 2

    system = mse.MSystem("plates")
    system.add(Plates("it"))
    with pytest.raises(ModelError, match=r"3 N acts on it\.a, which has no mass"):
        system.simulate(duration=0.1, dt=0.01)


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


def test_a_small_capacitor_keeps_the_tolerance_beside_a_large_one():
    """Each charge counts by what its own capacitor holds."""
    system, parts = mse.MSystem("two"), ((10.0, 1e-3), (2e3, 1e-7))
    system.add(mse.VoltageSource("source", voltage=5.0))
    for k, (resistance, capacitance) in enumerate(parts):
        system.add(mse.Resistor(f"r{k}", resistance=resistance))
        system.add(mse.Capacitor(f"c{k}", capacitance=capacitance))
        system.connect(f"r{k}.-", f"c{k}.+")
    system.connect("source.+", "r0.+", "r1.+")
    system.connect("source.-", "c0.-", "c1.-", system.earth)
    run = system.simulate(duration=1e-3, dt=1e-4, rtol=1e-6)
    for k, (resistance, capacitance) in enumerate(parts):
        by_hand = 5.0 * capacitance * (1.0 - np.exp(-run.time / (resistance * capacitance)))
        np.testing.assert_allclose(run[f"c{k}.charge"], by_hand, atol=2e-6 * 5.0 * capacitance)


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


@pytest.mark.parametrize(
    ("voltage", "rate"),
    [
        (lambda t: 1e3 * t, lambda t: 1e3 + 0.0 * t),
        (lambda t: np.sin(1e3 * t), lambda t: 1e3 * np.cos(1e3 * t)),
        (lambda t: np.interp(t, [0.0, 1.0], [0.0, 1e3]), lambda t: 1e3 + 0.0 * t),
    ],
)
def test_the_current_of_a_capacitor_across_a_source_follows_from_the_rate_of_its_voltage(voltage, rate):
    system = mse.MSystem("across")
    system.add(mse.VoltageSource("source"))
    system.add(mse.Capacitor("capacitor", capacitance=1e-6))
    system.add(mse.Resistor("resistor", resistance=50.0))
    system.connect("source.+", "capacitor.+", "resistor.+")
    system.connect("source.-", "capacitor.-", "resistor.-", system.earth)
    run = system.simulate(duration=2e-3, dt=1e-3, inputs={"source.voltage": voltage}, rtol=1e-6)
    np.testing.assert_allclose(run["capacitor.current"], 1e-6 * rate(run.time), rtol=1e-6)
    np.testing.assert_allclose(run["resistor.current"], voltage(run.time) / 50.0, rtol=1e-6, atol=1e-12)
    assert not any("accounted" in note for note in run.notes)
    first = system.simulate(duration=1e-3, dt=1e-3, inputs={"source.voltage": voltage}, rtol=1e-6)
    then = system.simulate(
        duration=1e-3, dt=1e-3, start=first.final_state, inputs={"source.voltage": voltage}, rtol=1e-6
    )
    np.testing.assert_array_equal(then["capacitor.current"], run["capacitor.current"][1:])


def test_a_store_that_initial_values_put_along_is_noted():
    run = low_pass().simulate(duration=1e-4, dt=1e-4, initial={"source.charge": 1e-6}, rtol=1e-6)
    assert "junctions lead to capacitor.charge -1e-06 C where initial values are given for source.charge" in run.notes
    run = low_pass().simulate(duration=1e-4, dt=1e-4, initial={"capacitor.charge": 1e-6}, rtol=1e-6)
    assert not any("junctions" in note for note in run.notes)


def test_charges_that_no_junction_allows_are_refused_in_coulombs():
    system = mse.MSystem("pair")
    system.add(mse.Capacitor("one", capacitance=1e-6))
    system.add(mse.Capacitor("two", capacitance=1e-6))
    system.connect("one.+", "two.+")
    system.connect("one.-", "two.-", system.earth)
    with pytest.raises(ModelError, match=r"junctions contradict .*where 1 C is given.*'one\.\+' is open by 0\.75 C"):
        system.simulate(duration=1e-3, dt=1e-3, initial={"one.charge": 1.0, "two.charge": 0.5})
