"""Inputs that prescribe rates, as currents of sources, in every analysis of linear models."""

import numpy as np
import pytest
import scipy.signal
from wiring import wired

import mse
from mse.numerics.options import SIZES

BL, MASS, LOSS, STIFF = 8.0, 0.03, 0.4, 1500.0


def ladder(sections=3, **source):
    """A current into resistors in series, with a capacitor, a coil and a resistor in series at each node."""
    branches = [(mse.CurrentSource("source", **source), "0", "n0")]
    for k in range(sections):
        here, there = f"n{k}", f"n{k + 1}"
        branches += [
            (mse.Resistor(f"r{k}", resistance=10.0 + k), here, there),
            (mse.Capacitor(f"c{k}", capacitance=1e-6 * (k + 1)), there, "0"),
            (mse.Inductor(f"l{k}", inductance=1e-3), there, f"m{k}"),
            (mse.Resistor(f"s{k}", resistance=300.0), f"m{k}", "0"),
        ]
    return wired(mse.MSystem("ladder"), *branches)


def by_hand(f, sections=3):
    """The impedance that the source sees, section by section from the far end."""
    s, z = 2j * np.pi * f, np.inf
    for k in range(sections)[::-1]:
        z = 10.0 + k + 1.0 / (1.0 / z + 1e-6 * (k + 1) * s + 1.0 / (300.0 + 1e-3 * s))
    return z


def speaker(current=0.0):
    """A coil in a magnet on a spring, fed by a current."""
    system = mse.MSystem("speaker", gravity=(0, 0, 0))
    cone = system.add(mse.RigidBody("cone", mass=MASS, inertia=1e-5))
    system.add(mse.Prismatic("guide", stiffness=STIFF, damping=LOSS), between=(cone, system.ground))
    system.add(mse.VoiceCoil("coil", bl=BL, resistance=6.0, inductance=2e-3), between=(system.ground, cone))
    system.add(mse.CurrentSource("source", current=current))
    system.connect("source.-", "coil.+")
    system.connect("source.+", "coil.-", system.earth)
    return system


def linear_of(system):
    return system.find_working_point().linearize()


def at(ss, f):
    """The response of a state space (f, o, i)."""
    a, b, c = ss.scaled()
    return np.array([c @ np.linalg.solve(2j * np.pi * x * np.eye(len(a)) - a, b) + ss.D for x in np.atleast_1d(f)])


# -- frequency ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sections", [3, 30])
def test_a_ladder_has_the_impedance_of_nodal_analysis(sections, monkeypatch):
    """In independent coordinates, and with multipliers where there are many."""
    if sections > 3:
        monkeypatch.setattr(SIZES, "dense", 20)
    linear, f = linear_of(ladder(sections)), np.geomspace(1.0, 1e5, 60)
    assert (linear.inputs, linear.input_units) == (("source.current",), ("A",))
    found = linear.frequency_response(f)
    assert found.unit("source.voltage", "source.current") == "V/A"
    z = -found["source.voltage", "source.current"]  # from earth to the first node
    np.testing.assert_allclose(z, by_hand(f, sections), rtol=1e-9)
    assert np.all(z.real >= 0.0)
    np.testing.assert_allclose(found["source.current", "source.current"], 1.0, rtol=1e-12)
    assert np.all(np.abs(linear.impedance("source", f)) > 1e15)


def test_a_current_pushes_a_cone_at_once():
    """``z/i = Bl/(k + i w c - w^2 m)``, and ``u/i = R + i w L + i w Bl z/i``."""
    f, linear = np.array([3.0, 40.0, 300.0]), linear_of(speaker())
    s, found = 2j * np.pi * f, linear.frequency_response(f)
    z = BL / (STIFF + s * LOSS + s**2 * MASS)
    np.testing.assert_allclose(-found["source.voltage", "source.current"], 6.0 + s * 2e-3 + s * BL * z, rtol=1e-10)


def test_a_current_at_rest_has_no_response_of_a_charge():
    with pytest.raises(mse.SingularResponseError, match=r"ladder: the response to source\.current at 0 Hz .*above 0"):
        linear_of(ladder()).frequency_response([0.0, 1.0])


# -- time -----------------------------------------------------------------------------------------------------------------
def test_the_state_space_has_an_integral_only_where_a_charge_acts():
    f, linear = np.array([10.0, 800.0, 3e4]), linear_of(ladder())
    whole, voltage = linear.state_space(), linear.state_space(outputs=["source.voltage"])
    for ss in (whole, voltage):
        right = linear.frequency_response(f, outputs=ss.outputs).values
        np.testing.assert_allclose(at(ss, f) / right, 1.0, rtol=1e-8)
    assert "integral of source.current" in whole.states and "source.charge" in whole.outputs
    assert not any(name.startswith("integral") for name in voltage.states)
    assert whole.zeros == voltage.zeros + 1
    alone = linear_of(
        wired(mse.MSystem("fed"), (mse.CurrentSource("i"), "0", "a"), (mse.Capacitor("c", capacitance=2.0), "a", "0"))
    )
    ss = alone.state_space(outputs=["i.voltage"])
    assert ss.states == ("integral of i.current",) and ss.poles().tolist() == [0.0]
    np.testing.assert_allclose(at(ss, 0.5)[0, 0, 0], -1.0 / (2j * np.pi), rtol=1e-14)


def test_a_voltage_that_needs_the_rate_of_a_current_is_refused():
    system = wired(
        mse.MSystem("coil"), (mse.CurrentSource("i"), "0", "a"), (mse.Inductor("l", inductance=2.0), "a", "0")
    )
    with pytest.raises(mse.ImproperModelError, match=r"i\.voltage under i\.current would need the first derivative"):
        linear_of(system).state_space()


def test_slow_motions_alone_and_zeros_with_poles_are_those_of_the_whole(tmp_path):
    linear, f = linear_of(ladder()), np.array([5.0, 50.0])
    ss = linear.state_space(outputs=["source.voltage", "r0.charge"], up_to_hz=800.0)
    right = linear.frequency_response(f, outputs=ss.outputs).values
    assert len(ss.states) < len(linear.state_space(outputs=ss.outputs).states)
    np.testing.assert_allclose((at(ss, f) + ss.left_out.error(f)) / right, 1.0, rtol=1e-7)
    ss.save(tmp_path / "ss.npz")
    np.testing.assert_array_equal(mse.read_result(tmp_path / "ss.npz").B, ss.B)


@pytest.mark.parametrize(("make", "read"), [(ladder, "source.voltage"), (speaker, "guide.displacement")])
def test_small_currents_move_the_linear_model_as_the_whole_one(make, read):
    """Also beside a bias, by which the working point is another one."""
    system = make(current=0.02)

    def swing(t):
        return 1e-5 * np.sin(900.0 * t)

    outputs, point = [read, "source.charge"], system.find_working_point()
    small = point.linearize().simulate(duration=4e-3, dt=1e-4, inputs={"source.current": swing}, outputs=outputs)
    large = system.simulate(
        duration=4e-3,
        dt=1e-4,
        inputs={"source.current": swing},
        outputs=outputs,
        start=point,
        rtol=1e-11,
        progress=False,
    )
    still = system.simulate(duration=4e-3, dt=1e-4, outputs=outputs, start=point, rtol=1e-11, progress=False)
    for name in outputs:
        change = large[name] - still[name]
        np.testing.assert_allclose(small[name], change, atol=1e-5 * np.abs(change).max())


def test_a_step_of_a_current_in_a_loop_is_its_closed_form():
    """``u = R i (1 - exp(-t/RC))``, held from sample to sample; charges go on from those of the states."""
    system = wired(
        mse.MSystem("fed"), (mse.CurrentSource("i"), "0", "a"),
        (mse.Capacitor("c", capacitance=1e-6), "a", "0"), (mse.Resistor("r", resistance=50.0), "a", "0"),
    )  # fmt: skip
    loop = linear_of(system).step_loop(dt=2e-5, inputs=["i.current"], outputs=["i.voltage", "i.charge", "i.current"])
    loop["i.current"] = 2e-3
    for k in range(1, 6):
        loop.step()
        assert loop["i.voltage"] == pytest.approx(0.1 * np.expm1(-k * 2e-5 / 5e-5), rel=1e-12)
        assert loop["i.charge"] == pytest.approx(2e-3 * k * 2e-5, rel=1e-12)
        assert loop["i.current"] == pytest.approx(2e-3, rel=1e-12)


# -- made of others, noise, loops -----------------------------------------------------------------------------------------
def test_currents_go_through_whatever_is_made_of_a_model(tmp_path):
    f, linear = np.array([10.0, 400.0]), linear_of(ladder())
    z = by_hand(f)
    linear.save(tmp_path / "model.npz")
    other = mse.MSystem("other")
    other = wired(other, (mse.VoltageSource("u"), "a", "0"), (mse.Resistor("r", resistance=2.0), "a", "0"))
    both = mse.compose("both", [linear, linear_of(other)])
    summed = linear.combined(inputs={"twice": {"source.current": 2.0}})
    mixed = both.combined(inputs={"mixed": {"source.current": 2.0, "u.voltage": 3.0}})
    for model, name, factor in (
        (mse.read_result(tmp_path / "model.npz"), "source.current", 1.0), (both, "source.current", 1.0),
        (summed, "twice", 2.0), (mixed, "mixed", 2.0),
    ):  # fmt: skip
        found = model.frequency_response(f)["source.voltage", name]
        np.testing.assert_allclose(found, -factor * z, rtol=1e-10)
        ss = model.state_space(inputs=[name], outputs=["source.voltage"])
        np.testing.assert_allclose(at(ss, f)[:, 0, 0], -factor * z, rtol=1e-9)
    mix = mixed.frequency_response(f)["r.current", "mixed"]
    np.testing.assert_allclose(mix, 1.5, rtol=1e-12)


def test_a_reduced_model_takes_the_current():
    f, linear = np.array([10.0, 400.0]), linear_of(speaker())
    small, _ = mse.reduce_model(linear, list(linear.reduced[0].coordinates), modes=0)
    for name in ("guide.displacement", "source.voltage"):
        right = linear.frequency_response(f)[name, "source.current"]
        np.testing.assert_allclose(small.frequency_response(f)[name, "source.current"], right, rtol=1e-9)


def test_noise_of_a_current_is_that_of_its_impedance():
    f, linear = np.array([10.0, 400.0]), linear_of(ladder())
    budget = linear.noise(f, "source.voltage", inputs={"source.current": 1e-9})
    np.testing.assert_allclose(budget["source.current"], 1e-9 * np.abs(by_hand(f)), rtol=1e-9)
    # Johnson's noise of the impedance that the source sees
    heat = 4.0 * 1.380649e-23 * 300.0 * by_hand(f).real
    np.testing.assert_allclose(budget.total**2 - budget["source.current"] ** 2, heat, rtol=1e-8)


def test_a_controller_drives_a_current():
    """``m s^2 + (c + Bl g) s + k`` and the pole at -p of ``g p s/(s + p)``, which keeps the controller proper."""
    system = speaker()
    system.add(mse.PositionSensor("probe"), between=(system["cone"], system.ground))
    linear, g, p = linear_of(system), 0.3, 4e3
    along = [name for name in linear.outputs if name.startswith("probe.")]
    f = np.array([30.0])
    found = linear.frequency_response(f, inputs=["source.current"], outputs=along).values[0, :, 0]
    name, sign = along[int(np.abs(found).argmax())], 1.0
    sign = float(
        np.sign((found[np.abs(found).argmax()] * (STIFF - (60 * np.pi) ** 2 * MASS + 60j * np.pi * LOSS)).real)
    )
    closed = linear.feedback({("source.current", name): mse.Controller.zpk([0.0], [-p], sign * g * p)}, name="damping")
    right = np.roots(np.polyadd(np.polymul([MASS, LOSS, STIFF], [1.0, p]), [BL * g * p, 0.0]))
    modes = closed.modes()
    for pole in right[right.imag >= 0.0]:
        assert np.abs(modes.eigenvalues - pole).min() < 1e-7 * abs(pole)
    assert closed.stable
    found = closed.frequency_response(f, inputs=["source.current"], outputs=[name]).values.ravel()
    s = 2j * np.pi * f
    np.testing.assert_allclose(
        sign * found, BL / (MASS * s**2 + LOSS * s + STIFF + BL * g * p * s / (s + p)), rtol=1e-9
    )
    run = closed.simulate(duration=0.05, dt=1e-4, inputs={"source.current": np.sin}, outputs=[name], progress=False)
    exact = scipy.signal.TransferFunction(
        np.polymul([BL], [1.0, p]), np.polyadd(np.polymul([MASS, LOSS, STIFF], [1.0, p]), [BL * g * p, 0.0])
    )
    t = np.linspace(0.0, 0.05, 20001)
    by_scipy = scipy.signal.lsim(exact, np.sin(t), t)[1]
    np.testing.assert_allclose(sign * run[name], by_scipy[::40], atol=1e-6 * np.abs(by_scipy).max())


def sensed_coil(*, inductance=0.1, load):
    """A current flows through a coil between the inputs of an amplifier of gain 3, which drives a load at node "b"."""
    system = mse.MSystem("sensed coil")
    amplifier = system.add(mse.Amplifier("amplifier", gain=3.0))
    further = {
        "a": [amplifier.port("in+")], "0": [amplifier.port("in-"), amplifier.port("-")], "b": [amplifier.port("+")],
    }  # fmt: skip
    coil = mse.Inductor("coil", inductance=inductance)
    return wired(system, (mse.CurrentSource("i"), "0", "a"), (coil, "a", "0"), *load, further=further)


def test_a_coil_at_an_input_carries_what_a_source_prescribes():
    """Modes and state spaces were refused: nothing but the accelerations of what is prescribed decides the effort."""
    load = [(mse.Resistor("r", resistance=5.0), "b", "c"), (mse.Capacitor("c", capacitance=0.02), "c", "0")]
    linear, f = linear_of(sensed_coil(load=load)), np.array([0.5, 3.0])
    s = 2j * np.pi * f
    np.testing.assert_allclose(linear.modes(damped=True).eigenvalues, [-1.0 / (5.0 * 0.02)], rtol=1e-12)
    ss = linear.state_space(outputs=["c.charge", "coil.current"])
    voltage = 3.0 * 0.1 * s  # of the amplifier for 1 A
    np.testing.assert_allclose(at(ss, f)[:, 0, 0], voltage / (50.0 + 5.0 * s), rtol=1e-12)
    np.testing.assert_allclose(at(ss, f)[:, 1, 0], 1.0, rtol=1e-12)
    for name in ("i.voltage", "c.current"):
        with pytest.raises(mse.ImproperModelError, match=rf"{name} under i\.current would need the first derivative"):
            linear.state_space(outputs=[name])


def test_a_current_that_derivatives_drive_through_nothing_is_refused():
    capacitor = [(mse.Capacitor("c", capacitance=0.02), "b", "0")]
    linear = linear_of(sensed_coil(load=capacitor))
    with pytest.raises(mse.ImproperModelError, match=r"c\.current under i\.current would need the second derivative"):
        linear.state_space(outputs=["c.current"])
    with pytest.raises(mse.ImproperModelError, match=r"c\.charge under i\.current would need the first derivative"):
        linear.state_space(outputs=["c.charge"])


def test_a_current_whose_third_derivative_pushes_is_refused():
    system = sensed_coil(load=[(mse.Capacitor("c", capacitance=1e-4), "b", "c")])
    cone = system.add(mse.RigidBody("cone", mass=0.02, inertia=1e-4))
    system.add(mse.Prismatic("guide", stiffness=1500.0), between=(cone, system.ground))
    speaker = system.add(mse.VoiceCoil("speaker", bl=5.0), between=(system.ground, cone))
    system.connect(speaker.port("+"), system["c"].port("-"))
    system.connect(speaker.port("-"), system.earth)
    linear = linear_of(system)
    with pytest.raises(mse.ImproperModelError, match=r"derivatives of i\.current push masses or coils"):
        linear.state_space(outputs=["guide.displacement"])
    assert np.abs(linear.modes(damped=True).eigenvalues) == pytest.approx(np.sqrt(1500.0 / (0.02 + 1e-4 * 25.0)))
