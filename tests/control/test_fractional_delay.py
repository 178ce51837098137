"""Sampled controllers whose computing delay is no whole number of samples: poles, responses and time, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from loops import MASS, PAIR, free_mass, oscillator
from mse.errors import ModelError

DT, LATE = 5e-3, 0.4


def pd(kd: float, late: float = LATE) -> mse.Controller:
    """``40 y + kd (y - y_before)/dt``, this many samples late."""
    k = 40.0 + kd / DT
    return mse.Controller.zpk([kd / DT / k], [0.0], k, dt=DT, delay=late * DT)


def closed_form(kd: float) -> np.ndarray:
    """Poles in z of a free mass: ``z^2 (z - 1)^2 + T^2/2m ((1-g)^2 z^2 + (1 + 2g - 2g^2) z + g^2)(k z - kd/T)/z`` is zero.

    The second factor is that of the modified z-transform of 1/s^2, g being the delay in samples.
    """
    plant = DT**2 / (2.0 * MASS) * np.array([(1 - LATE) ** 2, 1 + 2 * LATE - 2 * LATE**2, LATE**2])
    open_loop = np.polymul([1.0, 0.0, 0.0], [1.0, -2.0, 1.0])
    return np.roots(np.polyadd(open_loop, np.polymul(plant, [40.0 + kd / DT, -kd / DT])))


@pytest.mark.parametrize("kd", [60.0, 500.0, 5000.0])
def test_poles_of_a_free_mass_are_those_of_the_modified_z_transform(kd):
    closed = free_mass().feedback({PAIR: pd(kd)})
    expected = closed_form(kd)
    found = closed.poles()
    assert len(found) == len(expected) == 4
    for z in expected:
        assert np.abs(found - z).min() < 1e-9
    assert closed.stable == (np.abs(expected).max() < 1.0)  # Nyquist's count agrees, or there is an error


def test_the_largest_gain_is_on_the_unit_circle():
    margins = free_mass().feedback({PAIR: pd(60.0)}).margins()
    for gain in margins.gain_margins:
        plant = DT**2 / (2.0 * MASS) * np.array([(1 - LATE) ** 2, 1 + 2 * LATE - 2 * LATE**2, LATE**2])
        whole = np.polyadd(
            np.polymul([1.0, 0.0, 0.0], [1.0, -2.0, 1.0]),
            gain * np.polymul(plant, [40.0 + 60.0 / DT, -60.0 / DT]),
        )
        assert np.abs(np.abs(np.roots(whole)) - 1.0).min() < 1e-7


def test_responses_have_hold_and_delay():
    f = np.array([0.3, 1.0, 7.0, 40.0])
    s = 2j * np.pi * f
    z = np.exp(s * DT)
    c = (40.0 + 60.0 / DT * (1 - 1 / z)) * (1 - 1 / z) / (s * DT) * np.exp(-s * LATE * DT)
    plant = 1.0 / (MASS * s**2)
    found = free_mass().feedback({PAIR: pd(60.0)}).frequency_response(f)["mass.x", "mass.x"]
    np.testing.assert_allclose(found, plant / (1 + c * plant), rtol=1e-10)


@pytest.mark.parametrize("late", [LATE, 1.4])
@pytest.mark.parametrize("steps", [5, 2, 1])
def test_a_run_is_the_loop_written_in_python(late, steps):
    """Commands change on a step if a sample has five of them; with two or one they change within a step."""
    closed = oscillator().feedback({PAIR: pd(60.0, late)})
    run = closed.simulate(
        duration=1.0, dt=DT / steps, initial={"mass.x": 0.01}, inputs={"mass.x": lambda t: 0.3 + 0 * t}
    )
    loop, before, waiting = oscillator().step_loop(dt=DT / 5, initial={"mass.x": 0.01}), 0.0, {}
    command = 0.0
    for k in range(1000):
        if k % 5 == 0:
            y = loop["mass.x"]
            waiting[k + round(5 * late)] = -(40.0 * y + 60.0 * (y - before) / DT)
            before = y
        if k % 5 == 0:
            assert run["mass.x"][k // 5 * steps] == pytest.approx(y, rel=1e-9, abs=1e-14)
            assert run["mass.x command"][k // 5 * steps] == pytest.approx(command, rel=1e-9, abs=1e-13)
        command = waiting.pop(k, command)
        loop["mass.x"] = command + 0.3
        loop.step()


def test_sensors_that_feel_their_actuator_at_once_read_the_command_that_still_holds():
    """A force sensor above a spring with a moving base: steps on which commands change, and steps within which they do."""
    system = mse.MSystem("stage", gravity=(0, 0, 0))
    base, scale = system.add(mse.PositionActuator("base")), system.add(mse.ForceSensor("scale"))
    mass = system.add(mse.RigidBody("mass", mass=2.0, inertia=0.1))
    spring = system.add(mse.Bushing("spring", stiffness=800.0))
    system.clamp(system.ground, base.frame(1))
    system.clamp(base.frame(0), scale.frame(1))
    system.clamp(scale.frame(0), spring.frame(1))
    system.clamp(mass.frame(0), spring.frame(0))
    linear = system.find_working_point().linearize()
    controller = mse.Controller.zpk([], [], 2e-4, dt=0.01, delay=4e-3)
    closed = linear.feedback({("base.x", "scale.fx"): controller})
    given = {"initial": {"mass.x": 1e-3}, "outputs": ["scale.fx", "base.x command"]}
    coarse, fine = (closed.simulate(duration=0.5, dt=dt, **given) for dt in (0.01, 0.002))
    for name in given["outputs"]:
        size = np.abs(fine[name]).max()
        np.testing.assert_allclose(coarse[name][:-1], fine[name][:-1:5], atol=1e-9 * size)
    # poles, from the run: u_k follows from its past by the polynomial of the poles
    u, polynomial = coarse["base.x command"][:-1], np.poly(closed.poles())
    left = np.convolve(u, polynomial.real, mode="valid")
    assert np.abs(left).max() < 1e-8 * np.abs(u).max() * np.abs(polynomial).sum()


def test_commands_of_one_actuator_change_together():
    one = free_mass().feedback({PAIR: pd(60.0)}, name="one")
    assert one.feedback({PAIR: pd(10.0, 1.4)}, name="two").stable
    with pytest.raises(
        ModelError, match=r"'mass.x' come 0.002 and 0.003 s after a sample; expected .* whole sampling times"
    ):
        one.feedback({PAIR: pd(10.0, 0.6)}, name="two")
