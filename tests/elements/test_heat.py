"""Heat: temperatures at rest, small changes of them, damping by heat that flows, and a discharge that warms."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse.errors import ModelError


def heated(voltage: float = 6.0, slope: float = 0.004) -> mse.MSystem:
    """A heater in a box that loses heat to a room at 300 K."""
    system = mse.MSystem("box")
    system.add(mse.VoltageSource("supply", voltage=voltage))
    system.add(mse.Heater("heater", resistance=10.0, slope=slope, temperature=300.0))
    system.add(mse.HeatCapacity("box", capacity=0.5, temperature=300.0))
    system.add(mse.HeatConductor("wall", conductance=0.08))
    system.add(mse.TemperatureSource("room", temperature=300.0))
    system.connect("supply.+", "heater.+")
    system.connect("supply.-", "heater.-", system.earth)
    system.connect("heater.heat", "box.heat", "wall.1")
    system.connect("wall.2", "room.heat")
    return system


def warmth_by_hand(voltage: float, slope: float) -> float:
    """0.08 d = U^2/(10 (1 + a d)), the kelvins above the room."""
    return (-1.0 + np.sqrt(1.0 + 4.0 * slope * voltage**2 / 0.8)) / (2.0 * slope)


def test_a_heater_whose_resistance_grows_settles():
    point = heated().find_working_point()
    assert point.potentials["box.heat"] - 300.0 == pytest.approx(38.9359631076, rel=1e-10)
    assert point.stable and not point.free
    found = point.linearize().modes(damped=True)
    assert found.eigenvalues == pytest.approx(np.array([-0.1815610200]), rel=1e-9)


@pytest.mark.parametrize("voltage", [0.0, 1e-3, 60.0, 600.0])
def test_temperatures_at_any_voltage_and_energy_is_kept(voltage):
    point = heated(voltage).find_working_point()
    above = point.potentials["box.heat"] - 300.0
    assert above == pytest.approx(warmth_by_hand(voltage, 0.004), rel=1e-9, abs=1e-9)
    flows = point.flows
    heat = 300.0 * flows["wall.entropy2"]
    assert -heat == pytest.approx(voltage * flows["heater.charge"], rel=1e-9, abs=1e-9)


def test_a_network_may_run_away_and_is_named_unstable():
    """A resistance that falls: more current, more heat."""
    point = heated(voltage=1.0, slope=-0.05).find_working_point()
    d = warmth_by_hand(1.0, -0.05)
    assert point.potentials["box.heat"] - 300.0 == pytest.approx(d, rel=1e-9)
    rate = (0.05 / (10.0 * (1.0 - 0.05 * d) ** 2) - 0.08) / 0.5
    assert point.linearize().modes(damped=True).eigenvalues == pytest.approx(np.array([rate]), rel=1e-8)
    told = r"box.*no steady state was found of the network of supply\.charge, heater.*runs away otherwise.*conduct more"
    with pytest.raises(ModelError, match=told):
        heated(voltage=3.0, slope=-0.05).find_working_point()


def test_responses_of_temperatures_are_those_of_the_linear_equations():
    linear = heated().find_working_point().linearize()
    f = np.array([1e-4, 0.03, 2.0])
    d, u = 38.9359631076, 6.0
    r = 10.0 * (1.0 + 0.004 * d)
    lag = 0.5 * 2j * np.pi * f + 0.08 + u**2 / r**2 * 0.04
    found = linear.frequency_response(f)
    np.testing.assert_allclose(found["box.temperature", "supply.voltage"], 2.0 * u / r / lag, rtol=1e-8)
    np.testing.assert_allclose(found["box.temperature", "room.temperature"], 0.08 / lag, rtol=1e-8)
    run = linear.simulate(duration=20.0, dt=0.5, inputs={"room.temperature": lambda t: np.ones_like(t)})
    rate = -0.1815610200
    np.testing.assert_allclose(
        run["box.temperature"], 0.08 / (0.5 * -rate) * (1.0 - np.exp(rate * run.time)), atol=1e-8
    )


def furnace(seed: int) -> mse.MSystem:
    """Heaters in a row, each in a box that loses heat to the room, or to a box before it."""
    rng = np.random.default_rng(seed)
    system, last = mse.MSystem("furnace"), "supply.+"
    system.add(mse.VoltageSource("supply", voltage=10 ** rng.uniform(2, 3)))
    system.add(mse.TemperatureSource("room", temperature=300.0))
    for k in range(rng.integers(3, 7)):
        system.add(mse.Heater(f"heater{k}", resistance=10 ** rng.uniform(-1, 2)))
        system.add(mse.HeatCapacity(f"box{k}", capacity=10 ** rng.uniform(-2, 2), temperature=300.0))
        system.add(mse.HeatConductor(f"wall{k}", conductance=10 ** rng.uniform(-2, 1)))
        system.connect(last, f"heater{k}.+")
        system.connect(f"heater{k}.heat", f"box{k}.heat", f"wall{k}.1")
        system.connect(f"wall{k}.2", f"box{rng.integers(0, k)}.heat" if k and rng.random() < 0.7 else "room.heat")
        last = f"heater{k}.-"
    system.connect(last, "supply.-", system.earth)
    return system


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2, 9, 17])
def test_networks_that_reach_thousands_of_kelvins(seed):
    system = furnace(seed)
    point = system.find_working_point()
    heat = system["supply"].voltage * point.flows["heater0.charge"]
    assert 300.0 * point.flows["room.entropy"] == pytest.approx(heat, rel=1e-9)
    assert max(value for name, value in point.potentials.items() if name.startswith("box")) > 900.0
    assert point.stable


def rod(gravity: float) -> mse.MSystem:
    system = mse.MSystem("rod", gravity=(gravity, 0, 0))
    body = system.add(mse.RigidBody("body", mass=2.0, inertia=0.1, at=mse.Pose.dx(0.1)))
    system.add(mse.Prismatic("guide", axis=(1, 0, 0)), between=(body, system.ground))
    spring = mse.ThermalSpring("rod", stiffness=1e5, length=0.1, expansion=2.3e-3, capacity=2.4, temperature=300.0)
    system.add(spring, between=(system.ground, body))
    system.add(mse.HeatConductor("wall", conductance=0.7))
    system.add(mse.TemperatureSource("room", temperature=300.0))
    system.add(mse.ForceActuator("push"), between=(system.ground, body))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    system.connect("rod.heat", "wall.1")
    system.connect("wall.2", "room.heat")
    return system


@pytest.mark.parametrize("gravity", [0.0, 50.0])
def test_a_thermal_spring_damps_as_zener_says(gravity):
    """k (1 + D i w t/(1 + i w t)), D = k a^2 l^2 T0/C, t = C/G, at any load."""
    point = rod(gravity).find_working_point()
    assert point.poses["body.center"].o[0] - 0.1 == pytest.approx(2.0 * gravity / 1e5, rel=1e-8, abs=1e-15)
    assert point.internal["rod.entropy"] == pytest.approx(1e5 * 2.3e-4 * 2.0 * gravity / 1e5, abs=1e-9)
    f = np.array([1e-3, 0.05, 1.0, 30.0])
    turn, w = 2j * np.pi * f * 2.4 / 0.7, 2 * np.pi * f
    k = 1e5 * (1.0 + 1e5 * 2.3e-4**2 * 300.0 / 2.4 * turn / (1.0 + turn))
    found = point.linearize().frequency_response(f)["probe.x", "push.fx"]
    np.testing.assert_allclose(1.0 / found, k - 2.0 * w**2, rtol=1e-9)


def test_a_heater_without_current_changes_no_damping():
    system = rod(50.0)
    system.add(mse.Heater("heater", resistance=10.0))
    system.add(mse.VoltageSource("supply"))
    system.connect("heater.heat", "rod.heat")
    system.connect("supply.+", "heater.+")
    system.connect("supply.-", "heater.-", system.earth)
    f = np.array([1e-3, 0.05, 1.0, 30.0])
    with_it, without = (s.find_working_point().linearize() for s in (system, rod(50.0)))
    one, two = (linear.frequency_response(f)["probe.x", "push.fx"] for linear in (with_it, without))
    np.testing.assert_allclose(one, two, rtol=1e-11)
    one, two = (linear.modes(damped=True).eigenvalues for linear in (with_it, without))
    np.testing.assert_allclose(one, two, rtol=1e-9)


def test_nothing_flows_in_a_circuit_without_a_voltage_where_heat_flows():
    """Not even rounding of temperatures: a current of 1e-33 A would couple the circuit with heat."""
    system = heated(voltage=0.0)
    system["room"].temperature = 293.15
    point = system.find_working_point()
    assert point.flows["heater.charge"] == 0.0 and point.potentials["heater.+"] == 0.0


def test_a_spring_that_is_warmed_grows():
    system = rod(0.0)
    system["room"].temperature = 310.0
    point = system.find_working_point()
    assert point.poses["body.center"].o[0] - 0.1 == pytest.approx(2.3e-3 * 0.1 * 10.0, rel=1e-9)


def warming_ring() -> mse.MSystem:
    """A capacitor, a coil and a heater in a ring; the heater warms a body."""
    system = mse.MSystem("ring")
    system.add(mse.Capacitor("capacitor", capacitance=1e-4))
    system.add(mse.Inductor("coil", inductance=0.01))
    system.add(mse.Heater("heater", resistance=5.0))
    system.add(mse.HeatCapacity("body", capacity=0.02, temperature=300.0))
    system.connect("capacitor.+", "coil.+")
    system.connect("coil.-", "heater.+")
    system.connect("heater.-", "capacitor.-", system.earth)
    system.connect("heater.heat", "body.heat")
    return system


@pytest.mark.slow
def test_a_discharge_warms_and_energy_is_kept():
    system = warming_ring()
    names = ["body.temperature", "capacitor.charge", "coil.charge'"]
    run = system.simulate(duration=0.01, dt=1e-3, initial={"capacitor.charge": 1e-2}, outputs=names, rtol=1e-10)
    warm, charge, current = (run[name] for name in names)
    np.testing.assert_allclose(warm[[1, 3, 10]], [304.8081067322, 320.0378464818, 324.8086571248], rtol=1e-9)
    energy = 0.5 * charge**2 / 1e-4 + 0.5 * 0.01 * current**2 + 0.02 * warm
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)


def test_heat_without_a_way_out_is_refused():
    system = mse.MSystem("oven")
    system.add(mse.VoltageSource("supply", voltage=6.0))
    system.add(mse.Heater("heater", resistance=10.0))
    system.add(mse.HeatCapacity("box", capacity=0.5))
    system.connect("supply.+", "heater.+")
    system.connect("supply.-", "heater.-", system.earth)
    system.connect("heater.heat", "box.heat")
    with pytest.raises(ModelError, match=r"no steady state.*a way out for all that is fed in, such as a HeatConductor"):
        system.find_working_point()


def test_two_temperatures_at_one_place_are_refused():
    system = mse.MSystem("both")
    system.add(mse.TemperatureSource("a", temperature=300.0))
    system.add(mse.TemperatureSource("b", temperature=400.0))
    system.add(mse.HeatCapacity("c", capacity=1.0))
    system.connect("a.heat", "b.heat", "c.heat")
    with pytest.raises(
        ModelError, match="'a', TemperatureSource 'b': a loop of ideal sources, .*0 K .* add a resistance"
    ):
        system.find_working_point()


@pytest.mark.parametrize("sections", [20, 130])
def test_a_rod_between_two_temperatures_cools_as_fourier_says(sections):
    """s_k = -(G/C) (2 - 2 cos(k pi/(n + 1))), of small and large networks."""
    system, last, n = mse.MSystem("rod"), "hot.heat", sections
    system.add(mse.TemperatureSource("hot", temperature=400.0))
    system.add(mse.TemperatureSource("cold", temperature=300.0))
    for k in range(n + 1):
        system.add(mse.HeatConductor(f"g{k}", conductance=5.0 * n))
        system.connect(last, f"g{k}.1")
        if k < n:
            system.add(mse.HeatCapacity(f"c{k}", capacity=20.0 / n))
            last = f"c{k}.heat"
            system.connect(f"g{k}.2", last)
    system.connect(f"g{n}.2", "cold.heat")
    point = system.find_working_point()
    found = np.array([point.potentials[f"c{k}.heat"] for k in range(n)])
    np.testing.assert_allclose(found, 400.0 - 100.0 * np.arange(1, n + 1) / (n + 1), rtol=1e-10)
    assert point.stable and not point.undetermined and not point.free and not point.notes
    rates = point.linearize().modes(damped=True).eigenvalues
    by_hand = -0.25 * n * n * (2.0 - 2.0 * np.cos(np.arange(1, n + 1) * np.pi / (n + 1)))
    np.testing.assert_allclose(rates, by_hand, rtol=1e-9)


def test_a_room_that_cools_down_cools_a_box_at_rest():
    """From 300 K by r t, the box is behind by ``r tau (1 - exp(-t/tau))``; nothing moves at first but by rounding."""
    run = heated(0.0).simulate(duration=10.0, dt=1.0, inputs={"room.temperature": lambda t: -2.0 * t})
    tau = 0.5 / 0.08
    behind = -tau * np.expm1(-run.time / tau)
    np.testing.assert_allclose(run["box.temperature"], 300.0 - 2.0 * (run.time - behind), rtol=1e-8)


@pytest.mark.parametrize(
    "given",
    [
        {"inputs": {"room.temperature": lambda t: -301.0 + 0.0 * t}},
        {"initial": {"box.entropy": -20.0}},
    ],
)
def test_motions_that_begin_at_0_kelvin_are_refused(given):
    with pytest.raises(ModelError, match=r"no temperature wall\.temperature\d above 0 K .*less than 0 K"):
        heated(0.0).simulate(duration=1.0, dt=0.5, **given)


def test_a_motion_to_0_kelvin_ends_with_the_cause():
    box = heated(0.0)
    with pytest.raises(mse.MotionError, match=r"t = (0\.99\d*|1) s.* 0 K"):
        box.simulate(duration=2.0, dt=0.5, rtol=1e-5, inputs={"room.temperature": lambda t: -300.0 * t})


def test_a_heater_in_nothing_that_takes_heat_is_refused():
    system = mse.MSystem("bare")
    system.add(mse.VoltageSource("supply", voltage=6.0))
    system.add(mse.Heater("heater", resistance=10.0))
    system.connect("supply.+", "heater.+")
    system.connect("supply.-", "heater.-", system.earth)
    with pytest.raises(ModelError, match=r"no temperature heater\.temperature .*open heat port"):
        system.simulate(duration=1.0, dt=0.5)


def test_warming_up_is_accounted_for():
    """What the source gives the box is of one kind, and no energy is missing."""
    run = heated().simulate(duration=60.0, dt=20.0, rtol=1e-7)
    assert run["box.temperature"][-1] == pytest.approx(338.9359631 - 38.94 * np.exp(-0.18 * 60.0), abs=1e-2)
    assert not any("accounted" in note for note in run.notes)


@pytest.mark.parametrize("conductance", [0.2, 1.0])
def test_a_heater_warms_under_a_given_current(conductance):
    """``G (T - T0) = R (1 + a (T - T0)) I^2``, with R = 1 ohm, a = 0.1/K and 1 A."""
    system = mse.MSystem("fed")
    system.add(mse.CurrentSource("source", current=1.0))
    system.add(mse.Heater("heater", resistance=1.0, slope=0.1))
    system.add(mse.HeatConductor("wall", conductance=conductance))
    system.add(mse.TemperatureSource("room"))
    system.connect("source.+", "heater.+")
    system.connect("source.-", "heater.-", system.earth)
    system.connect("heater.heat", "wall.1")
    system.connect("wall.2", "room.heat")
    point = system.find_working_point()
    assert point.potentials["heater.heat"] == pytest.approx(293.15 + 1.0 / (conductance - 0.1), abs=1e-9)


def test_bodies_that_nothing_links_to_surroundings_have_no_steady_temperature():
    """Any common temperature is steady; in motions they meet where the energy is kept, (2 * 400 + 3 * 300)/5 K."""
    system = mse.MSystem("pair")
    system.add(mse.HeatCapacity("a", capacity=2.0, temperature=400.0))
    system.add(mse.HeatCapacity("b", capacity=3.0, temperature=300.0))
    system.add(mse.HeatConductor("wall", conductance=0.5))
    system.connect("a.heat", "wall.1")
    system.connect("wall.2", "b.heat")
    with pytest.raises(
        ModelError,
        match=r"pair': nothing decides .*wall\.temperature1, wall\.temperature2.*TemperatureSource.*simulate",
    ):
        system.find_working_point()
    run = system.simulate(duration=60.0, dt=60.0, rtol=1e-6)
    assert run["a.temperature"][-1] == pytest.approx(340.0, abs=1e-2)
