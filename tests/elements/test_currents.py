"""Currents and other flows as outputs: in frequency, in time, through models made of others, and in noise."""

import numpy as np
import pytest

import mse
from mse.elements.base import Channel
from test_circuits import LADDER, network

OHM, HENRY, VOLT = 5.0, 0.02, 3.0


def coil_on_a_source():
    system = mse.MSystem("lead")
    system.add(mse.VoltageSource("source"))
    system.add(mse.Resistor("wire", resistance=OHM))
    system.add(mse.Inductor("coil", inductance=HENRY))
    system.connect("source.+", "wire.+")
    system.connect("wire.-", "coil.+")
    system.connect("coil.-", "source.-", system.earth)
    return system


def speaker(voltage=4.0):
    system = mse.MSystem("speaker", gravity=(0, 0, 0))
    cone = system.add(mse.RigidBody("cone", mass=0.03, inertia=1e-5))
    system.add(mse.Prismatic("guide", stiffness=1500.0, damping=0.4), between=(cone, system.ground))
    system.add(mse.VoiceCoil("coil", bl=8.0, resistance=6.0, inductance=2e-3), between=(system.ground, cone))
    system.add(mse.VoltageSource("source", voltage=voltage))
    system.connect("source.+", "coil.+")
    system.connect("source.-", "coil.-", system.earth)
    return system


# -- frequency ------------------------------------------------------------------------------------------------------------
def test_currents_by_the_voltage_are_admittances():
    linear, f = network(LADDER).find_working_point().linearize(), np.array([10.0, 1e3, 5e3])
    found = linear.frequency_response(f)
    assert found.unit("L3.current", "source.voltage") == "A/V"
    assert -found["source.current", "source.voltage"] == pytest.approx(1.0 / linear.impedance("source", f), rel=1e-11)
    for name in ("R0", "C1", "L3"):
        charge, current = (found[f"{name}.{what}", "source.voltage"] for what in ("charge", "current"))
        assert current == pytest.approx(2j * np.pi * f * charge, rel=1e-12)
    entering, leaving = ([found[f"{n}.current", "source.voltage"] for n in names] for names in (["R0"], ["C1", "R2"]))
    assert entering[0] == pytest.approx(sum(leaving), rel=1e-11)


def test_current_of_a_voice_coil_at_a_flow_of_fluid():
    """The coil's current is U/(R + i w L + Bl^2/(d + i w m + k/i w)); fluids have flows in place of currents."""
    f, linear = np.array([3.0, 40.0, 300.0]), speaker().find_working_point().linearize()
    s = 2j * np.pi * f
    expected = 1.0 / (6.0 + s * 2e-3 + 64.0 / (0.4 + s * 0.03 + 1500.0 / s))
    assert linear.frequency_response(f)["coil.current", "source.voltage"] == pytest.approx(expected, rel=1e-10)
    pipe = mse.MSystem("pipe")
    pipe.add(mse.PressureSource("pump"))
    pipe.add(mse.FlowResistance("duct", resistance=3e5))
    pipe.connect("pump.+", "duct.+")
    pipe.connect("pump.-", "duct.-", pipe.earth)
    found = pipe.find_working_point().linearize().frequency_response([2.0])
    assert found["duct.flow", "pump.pressure"] == pytest.approx([1 / 3e5], rel=1e-12)


def test_each_winding_and_own_charges_have_a_current():
    core = mse.Transformer("core", primary=1.0, secondary=1.0, coupling=0.5)

    class Loop(mse.MObject):
        frame_names = ()
        coordinate_names = (mse.coordinate("loop", unit="C", ports=("a", "b")),)
        outputs = (Channel("current", "A"),)

        def kinetic(self, frames, q, v):
            return v[0] ** 2

        def measure(self, frames, q):
            return [3.0 * q[0]]

    system = mse.MSystem("both")
    system.add(core)
    system.add(Loop("own"))
    outputs = system.find_working_point().linearize().outputs
    assert outputs == (
        "core.charge1", "core.charge2", "core.current1", "core.current2", "own.current", "own.loop'",
    )  # fmt: skip


# -- models made of others ------------------------------------------------------------------------------------------------
def test_sums_reductions_and_files_keep_currents(tmp_path):
    f, linear = [40.0, 300.0], speaker().find_working_point().linearize()
    current = linear.frequency_response(f)["coil.current", "source.voltage"]
    both = linear.combined(outputs={"both": {"coil.current": 2.0, "coil.charge": 1.0}})
    charge = linear.frequency_response(f)["coil.charge", "source.voltage"]
    assert both.frequency_response(f)["both", "source.voltage"] == pytest.approx(2.0 * current + charge, rel=1e-12)
    small, _ = mse.reduce_model(linear, ["source.charge", "cone.z"], modes=0)
    assert small.frequency_response(f)["coil.current", "source.voltage"] == pytest.approx(current, rel=1e-10)
    linear.save(tmp_path / "model.npz")
    again = mse.read_result(tmp_path / "model.npz")
    assert again.frequency_response(f)["coil.current", "source.voltage"] == pytest.approx(current, rel=1e-14)
    alone = mse.compose("again", [linear])
    assert alone.frequency_response(f)["coil.current", "source.voltage"] == pytest.approx(current, rel=1e-12)
    space = linear.state_space()
    s = 2j * np.pi * np.array(f)
    row = space.C[space.outputs.index("coil.current")]
    column = space.B[:, 0]
    found = [row @ np.linalg.solve(x * np.eye(len(row)) - space.A, column) for x in s]
    assert found == pytest.approx(current, rel=1e-10)


def test_currents_that_nothing_limits_but_others_do_are_in_state_spaces():
    """Two capacitors share the current that a resistor limits."""
    linear = network([("R", 10.0, 1, 2), ("C", 1e-6, 2, 0), ("C", 3e-6, 2, 0)]).find_working_point().linearize()
    f, space = np.array([100.0, 4e3, 1e5]), linear.state_space(outputs=["C1.current", "C2.current"])
    found = [
        (space.C @ np.linalg.solve(s * np.eye(len(space.A)) - space.A, space.B) + space.D)[:, 0] for s in 2j * np.pi * f
    ]
    expected = linear.frequency_response(f)
    assert np.array(found)[:, 1] == pytest.approx(expected["C2.current", "source.voltage"], rel=1e-10)
    assert np.array(found)[:, 1] == pytest.approx(3.0 * np.array(found)[:, 0], rel=1e-10)


def test_noise_of_a_current_is_johnsons():
    """4 k T R |Y|^2 of one resistor, A^2/Hz."""
    linear, f = coil_on_a_source().find_working_point().linearize(), np.array([1.0, 40.0, 500.0])
    found = linear.noise(f, "coil.current")
    assert found.unit == "A"
    y = 1.0 / (OHM + 2j * np.pi * f * HENRY)
    expected = np.sqrt(4.0 * 1.380649e-23 * 300.0 * OHM) * np.abs(y)
    assert found.total == pytest.approx(expected, rel=1e-9)


# -- time -----------------------------------------------------------------------------------------------------------------
def test_a_current_rises_after_a_step():
    system = coil_on_a_source()
    point = system.find_working_point()
    run = point.linearize().simulate(duration=0.01, dt=1e-4, inputs={"source.voltage": lambda t: VOLT}, hold="zoh")
    expected = VOLT / OHM * (1.0 - np.exp(-run.time * OHM / HENRY))
    assert run["coil.current"] == pytest.approx(expected, abs=1e-11)
    large = system.simulate(
        duration=0.01, dt=1e-4, inputs={"source.voltage": VOLT}, outputs=["coil.current", "coil.charge"]
    )
    assert large["coil.current"] == pytest.approx(expected, abs=1e-8)
    assert large["coil.charge"][-1] == pytest.approx(np.trapezoid(expected, run.time), rel=1e-3)
    assert "coil.current" in speaker().simulate(duration=1e-3, dt=1e-4).outputs


def test_what_is_read_of_a_charge_is_read_once():
    """An element's reading of its charge is no second output: what follows in the list would have values of others."""
    system = coil_on_a_source()
    system.add(mse.CurrentSource("meter"))
    system.connect("meter.+", "coil.+")
    system.connect("meter.-", system.earth)
    run = system.simulate(
        duration=2e-3, dt=1e-4, inputs={"source.voltage": VOLT}, outputs=["meter.voltage", "wire.current"]
    )
    across = VOLT * np.exp(-run.time * OHM / HENRY)
    assert run["meter.voltage"][1:] == pytest.approx(across[1:], rel=1e-6)
    assert run["wire.current"] == pytest.approx((VOLT - across) / OHM, abs=1e-8)


def test_a_capacitors_current_under_a_step_is_refused_in_time():
    system = network([("C", 1e-6, 1, 0), ("R", 10.0, 1, 0)])
    linear = system.find_working_point().linearize()
    f = np.array([50.0])
    assert linear.frequency_response(f)["C0.current", "source.voltage"] == pytest.approx(2e-6j * np.pi * f, rel=1e-11)
    told = r"C0\.current under source\.voltage.*first derivative.*nothing limits.*add one"
    with pytest.raises(mse.ImproperModelError, match=told):
        linear.simulate(duration=1e-3, dt=1e-4, inputs={"source.voltage": lambda t: 1.0}, outputs=["C0.current"])
    run = linear.simulate(duration=1e-3, dt=1e-4, inputs={"source.voltage": lambda t: 1.0})
    assert "R1.current" in run.outputs and {"C0.current", "source.current"}.isdisjoint(run.outputs)
    assert run["R1.current"][-1] == pytest.approx(0.1, rel=1e-12)


# -- voltmeters -----------------------------------------------------------------------------------------------------------
def test_a_current_source_without_current_is_a_voltmeter():
    system = network([("R", 10.0, 1, 2), ("R", 20.0, 2, 0), ("C", 1e-6, 2, 0)], voltage=6.0)
    system.add(mse.CurrentSource("meter"))
    system.connect("meter.+", "R1.+")
    system.connect("meter.-", system.earth)
    point = system.find_working_point()
    assert point.reactions["meter"] == pytest.approx([4.0], rel=1e-12)
    f = np.array([1.0, 2.4e4])
    expected = 20.0 / 30.0 / (1.0 + 2j * np.pi * f * 1e-6 * 20.0 / 3.0)
    found = point.linearize().frequency_response(f)["meter.voltage", "source.voltage"]
    assert found == pytest.approx(expected, rel=1e-10)
