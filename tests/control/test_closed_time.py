"""Closed loops in time: state spaces, runs with continuous and with sampled controllers."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import mse
from loops import MASS, PAIR, chain, damper, free_mass, oscillator, sampled_pd
from mse.errors import ControllerError, ImproperModelError, ModelError

LEAD = mse.Controller.zpk([-2.0], [-80.0, -90.0], 2e5)


def two_loops() -> mse.control.closed.ClosedModel:
    closed = chain(4, damping=3e-3).feedback({("m1.x", "m1.x"): LEAD}, name="lead")
    mixed = mse.Controller.state_space(-50.0, [[1.0, 2.0]], [[30.0], [20.0]], [[5.0, 0.0], [1.0, 2.0]])
    return closed.feedback({(("m0.x", "m3.x"), ("m3.x", "m1.x")): mixed}, name="mixed")


def test_a_closed_state_space_answers_as_the_frequency_response():
    closed, f = two_loops(), np.array([0.0, 1.0, 4.7, 20.0])
    ss, expected = closed.state_space(), closed.frequency_response(f)
    assert ss.states[-3:] == ("lead 0", "lead 1", "mixed 0")
    assert (ss.inputs, ss.outputs) == (expected.inputs, expected.outputs)
    for k, s in enumerate(2j * np.pi * f):
        found = ss.C @ np.linalg.solve(s * np.eye(len(ss.A)) - ss.A, ss.B) + ss.D
        np.testing.assert_allclose(found, expected.values[k], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(np.sort(ss.poles().real), np.sort(closed.poles().real), atol=1e-8)
    some = closed.state_space(inputs=["m1.x noise"], outputs=["m3.x command", "m2.x"])
    np.testing.assert_array_equal(some.C, ss.C[[expected.outputs.index(name) for name in some.outputs]])


def test_moved_grounds_and_force_sensors_are_closed_in_time_as_in_frequency():
    system = mse.MSystem("stage", gravity=(0, 0, 0))
    base, scale = system.add(mse.PositionActuator("base")), system.add(mse.ForceSensor("scale"))
    mass = system.add(mse.RigidBody("mass", mass=2.0, inertia=0.1))
    spring = system.add(mse.Bushing("spring", stiffness=800.0, damping=4.0))
    system.clamp(system.ground, base.frame(1))
    system.clamp(base.frame(0), spring.frame(1))
    system.clamp(spring.frame(0), scale.frame(1))
    system.clamp(scale.frame(0), mass.frame(0))
    system.add(mse.PositionSensor("probe"), between=(mass, system.ground))
    linear = system.find_working_point().linearize()
    closed = linear.feedback({("base.x", "probe.x"): mse.Controller.zpk([], [-10.0, -20.0], 100.0)})
    f = np.array([0.5, 3.0, 8.0])
    names = {"inputs": ["base.x", "probe.x noise"], "outputs": ["probe.x", "base.x command"]}
    ss, expected = closed.state_space(**names), closed.frequency_response(f, **names)
    for k, s in enumerate(2j * np.pi * f):
        found = ss.C @ np.linalg.solve(s * np.eye(len(ss.A)) - ss.A, ss.B) + ss.D
        np.testing.assert_allclose(found, expected.values[k], rtol=1e-8)


def test_a_run_with_a_damper_by_feedback_is_that_with_the_damper():
    """With a pole far away the controller is the damper that it stands for."""
    model, c, corner = chain(3), 8.0, 1e5
    closed = model.feedback({("m0.x", "m0.x"): mse.Controller.zpk([0.0], [-corner], c * corner)}, name="damping")
    lam = model.Lambda.toarray()
    lam[0, 0] += c
    built = mse.LinearModel.from_matrices(np.eye(3), lam, model.K, coordinates=model.coordinates)
    given = {"duration": 2.0, "dt": 1e-3, "inputs": {"m2.x": lambda t: np.sin(9 * t)}, "initial": {"m1.x": 1e-2}}
    found, expected = closed.simulate(**given), built.simulate(**given)
    for name in model.outputs:
        np.testing.assert_allclose(found[name], expected[name], atol=2e-4 * np.abs(expected[name]).max())
    loop, command = closed.step_loop(dt=1e-3, inputs=["m2.x"], initial={"m1.x": 1e-2}), []
    for k in range(2000):
        loop["m2.x"] = np.sin(9 * k * 1e-3)
        command.append(loop["m0.x command"])
        loop.step()
    assert loop["m2.x"] == pytest.approx(found["m2.x"][-1], rel=0.02)
    np.testing.assert_allclose(command, found["m0.x command"][:-1], atol=0.02 * np.abs(command).max())


def test_a_delay_needs_a_stated_order_in_time():
    closed = oscillator().feedback({PAIR: damper()}, name="damping")
    for use in (lambda c: c.state_space(), lambda c: c.simulate(duration=1.0, dt=0.01), lambda c: c.step_loop(dt=0.01)):
        with pytest.raises(ModelError, match=r"loop 'damping' has a delay of 0.005 s, .* with_pade\(order\)"):
            use(closed)
    pole = closed.poles()[np.argmin(np.abs(closed.poles() - (-2.2756874832 + 6.4736658999j)))]
    off = []
    for order in (1, 2, 3):
        near = closed.with_pade(order).state_space().poles()
        off.append(np.abs(near - pole).min())
    assert off[0] > 1e3 * off[1] and off[1] > 1e2 * off[2]
    with pytest.raises(ModelError, match="order is 11; expected a whole number of at least 1 and at most 10"):
        closed.with_pade(11)


def test_improper_and_sampled_controllers_have_no_state_space():
    with pytest.raises(ImproperModelError, match="loop 'loop' has 1 zeros and 0 poles, so it differentiates"):
        oscillator().feedback({PAIR: mse.Controller.zpk([0.0], [], 1.0)}).state_space()
    with pytest.raises(ModelError, match="loop 'loop' is sampled every 0.005 s; expected continuous ones"):
        oscillator().feedback({PAIR: sampled_pd(1.0)}).state_space()
    with pytest.raises(ModelError, match="have a loss factor, which no state space"):
        oscillator(loss=1e-3).feedback({PAIR: LEAD}).simulate(duration=1.0, dt=0.1)


def test_a_sampled_controller_is_the_loop_written_in_python():
    """Reads every fifth step, computes for one sampling time, and holds; noise, a push and a command beside it."""
    closed = oscillator().feedback({PAIR: sampled_pd(60.0)}, name="pd")
    noise = 1e-3 * np.random.default_rng(0).standard_normal(1001)
    run = closed.simulate(
        duration=1.0,
        dt=1e-3,
        inputs={"mass.x noise": noise, "mass.x": lambda t: np.cos(5 * t)},
        initial={"mass.x": 0.01},
    )
    assert run.outputs == ("mass.x", "mass.x command") and run.inputs == ("mass.x noise", "mass.x")
    loop, before, waiting, held = oscillator().step_loop(dt=1e-3, initial={"mass.x": 0.01}), 0.0, 0.0, 0.0
    for k in range(1000):
        if k % 5 == 0:
            y = loop["mass.x"] + noise[k]
            held, waiting = waiting, -(40.0 * y + 60.0 * (y - before) / 5e-3)
            before = y
        assert loop["mass.x"] == pytest.approx(run["mass.x"][k], rel=1e-9, abs=1e-14)
        assert held == pytest.approx(run["mass.x command"][k], rel=1e-9, abs=1e-12)
        loop["mass.x"] = held + np.cos(5 * k * 1e-3)
        loop.step()
    assert run.unit("mass.x command") == "N" and run.unit("mass.x noise") == "m"


@pytest.mark.parametrize(("share", "grows"), [(0.98, False), (1.02, True)])
def test_the_largest_gain_of_a_sampled_loop_is_found_in_time(share, grows):
    closed = free_mass().feedback({PAIR: sampled_pd(share * 1656.583489)})
    run = closed.simulate(duration=5.0, dt=5e-3, initial={"mass.x'": 1.0})
    size = np.abs(run["mass.x command"])
    assert (size[-100:].max() > size[200:300].max()) == grows
    rate = np.log(np.abs(closed.poles()).max()) / 5e-3
    late = np.abs(run["mass.x command"])
    grown = np.log(late[800:1000].max() / late[600:800].max())
    assert grown == pytest.approx(rate if grows else np.log(np.sort(np.abs(closed.poles()))[-2]) / 5e-3, abs=0.05)


def test_sampled_and_continuous_loops_run_together():
    """With an inner loop of a damper the run is that of the damped plant; the command is what both ask for."""
    inner = free_mass().feedback({PAIR: mse.Controller.zpk([0.0], [-1e5], 20.0 * 1e5)}, name="damping")
    both = inner.feedback({PAIR: sampled_pd(60.0)}, name="servo")
    plant = mse.LinearModel.from_matrices([[MASS]], [[20.0]], [[0.0]], coordinates=["mass.x"])
    given = {"duration": 3.0, "dt": 5e-3, "inputs": {"mass.x": np.ones(601)}}
    found = both.simulate(**given)
    expected = plant.feedback({PAIR: sampled_pd(60.0)}).simulate(**given)
    np.testing.assert_allclose(found["mass.x"], expected["mass.x"], atol=1e-4 * expected["mass.x"].max())
    velocity = np.gradient(found["mass.x"], 5e-3)
    beside = found["mass.x command"] - expected["mass.x command"]
    np.testing.assert_allclose(beside[10:-1], -20.0 * velocity[10:-1], atol=0.03 * np.abs(beside).max())


def spring_by_force(c: float, dt: float) -> np.ndarray:
    """m x'' = 800 (u - x), F = 800 (u - x), u_k = -c (u_{k-1} - x_k): x, x' and u from sample to sample, for m = 2."""
    turn = 20.0 * dt
    p = np.array([[np.cos(turn), np.sin(turn) / 20.0], [-20.0 * np.sin(turn), np.cos(turn)]])
    g, u = np.array([1 - np.cos(turn), 20.0 * np.sin(turn)]), np.array([c, 0.0, -c])
    return np.vstack([np.hstack([p, np.zeros((2, 1))]) + np.outer(g, u), u])


def test_sampled_sensors_that_feel_their_actuator_at_once_read_the_command_before():
    """A spring between a base and a force sensor: u_k = -k_c F(u_{k-1}), with the swing of a mass beside it."""
    system = mse.MSystem("stage", gravity=(0, 0, 0))
    base, scale = system.add(mse.PositionActuator("base")), system.add(mse.ForceSensor("scale"))
    mass = system.add(mse.RigidBody("mass", mass=2.0, inertia=0.1))
    spring = system.add(mse.Bushing("spring", stiffness=800.0))
    system.clamp(system.ground, base.frame(1))
    system.clamp(base.frame(0), scale.frame(1))
    system.clamp(scale.frame(0), spring.frame(1))
    system.clamp(mass.frame(0), spring.frame(0))
    linear, dt = system.find_working_point().linearize(), 0.01
    sign = np.sign(linear.state_space(inputs=["base.x"], outputs=["scale.fx"]).D[0, 0])
    for gain, stable in ((2e-4, True), (-2e-4, False)):
        closed = linear.feedback({("base.x", "scale.fx"): mse.Controller.zpk([], [], sign * gain, dt=dt)})
        whole = spring_by_force(gain * 800.0, dt)
        for z in np.linalg.eigvals(whole):
            assert np.abs(closed.poles() - z).min() < 1e-9
        assert closed.stable == stable == (np.abs(np.linalg.eigvals(whole)).max() < 1.0)
        if stable:  # its edge is at half the sampling rate
            edge = spring_by_force(gain * 800.0 * closed.margins().gain_margins[-1], dt)
            assert np.abs(edge_poles := np.linalg.eigvals(edge)).max() == pytest.approx(1.0, abs=1e-9)
            assert edge_poles.real.min() == pytest.approx(-1.0, abs=1e-9)
        run = closed.simulate(duration=0.5, dt=dt, initial={"mass.x": 1e-3}, outputs=["base.x command"])
        state = np.array([1e-3, 0.0, 0.0])
        for k in range(50):
            state = whole @ state
            assert run["base.x command"][k] == pytest.approx(state[2], rel=1e-9, abs=1e-15)


def test_steps_that_do_not_fit_a_sampling_time_are_refused():
    closed = oscillator().feedback({PAIR: sampled_pd(60.0)})
    for dt, better in ((3e-3, "0.0025"), (0.01, "0.005")):
        with pytest.raises(
            ModelError, match=f"no whole number of steps of {dt:g} s; expected one; take a dt of {better} s"
        ):
            closed.simulate(duration=0.3, dt=dt)
    with pytest.raises(ModelError, match="hold is 'foh'; expected 'zoh'"):
        closed.simulate(duration=0.3, dt=5e-3, hold="foh")
    with pytest.raises(ControllerError, match="expected a finite number|grows beyond the largest number"):
        free_mass().feedback({PAIR: sampled_pd(1e5)}).simulate(duration=50.0, dt=5e-3, initial={"mass.x": 1.0})


def test_an_unknown_argument_is_refused_with_those_that_there_are():
    with pytest.raises(TypeError, match=r"simulate\(\) has no argument 'record' \(known: dt, duration, hold"):
        two_loops().simulate(duration=1.0, dt=0.1, record="run")


@numba.njit
def _pushing(outputs, inputs, memory, time):
    inputs[0] = memory[0] * np.cos(3.0 * time)


@pytest.mark.parametrize("late", [1.0, 1.3])
@pytest.mark.parametrize("steps", [1, 5])
def test_sampled_controllers_act_in_a_step_loop_as_in_a_run(late, steps):
    """Sample by sample and with a further compiled controller; a delay that ends within a step, and a continuous loop inside."""
    dt, n = 5e-3 / steps, 60
    servo = mse.Controller.zpk([0.98], [0.0], 12e3, dt=5e-3, delay=late * 5e-3)
    inner = oscillator().feedback({PAIR: mse.Controller.zpk([], [-50.0], 2e3)}, name="spring")
    closed = inner.feedback({PAIR: servo}, name="servo")
    names = {"inputs": ["mass.x", "mass.x noise"], "outputs": ["mass.x command", "mass.x"], "initial": {"mass.x": 1e-2}}
    force, noise = np.cos(3.0 * dt * np.arange(n + 1)), 1e-3 * np.sin(np.arange(n + 1))
    given = {"mass.x": force, "mass.x noise": noise}
    run = closed.simulate(duration=n * dt, dt=dt, **{**names, "inputs": given})
    loop, found = closed.step_loop(dt=dt, **names), []
    assert (loop.inputs, loop.outputs) == (("mass.x", "mass.x noise"), ("mass.x command", "mass.x"))
    for k in range(n + 1):
        loop["mass.x"], loop["mass.x noise"] = force[k], noise[k]
        found.append(loop.read())
        assert loop["mass.x"] == found[-1][1]
        loop.step()
    np.testing.assert_allclose(found[:-1], run.values[:-1], rtol=1e-12, atol=1e-15)
    loop = closed.step_loop(dt=dt, **names)
    halves = [
        loop.run(n // 2, controller=_pushing, memory=[1.0], inputs={"mass.x noise": x})
        for x in (noise[: n // 2 + 1], noise[n // 2 :])
    ]
    values = np.vstack([halves[0].values[:-1], halves[1].values])
    np.testing.assert_allclose(values[:-1], run.values[:-1], rtol=1e-12, atol=1e-15)
    assert halves[1].inputs == ("mass.x", "mass.x noise") and "mass.x noise" in repr(loop)
    with pytest.raises(ModelError, match="sampled every 0.005 s, which is no whole number of steps of 0.003 s"):
        closed.step_loop(dt=3e-3)
