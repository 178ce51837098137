"""Closed responses against matrices written down, for loops of one and of several channels."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from loops import PAIR, chain, damper, oscillator, sampled_pd
from mse.errors import ModelError, SingularResponseError, UnknownNameError


def test_several_loops_are_the_dense_closed_matrix():
    """``Z + b C c`` with all loops, in which nothing is inverted but the whole."""
    model, f = chain(4, loss=1e-2), np.array([0.0, 1.0, 4.7, 20.0])
    first, second = damper(), mse.Controller.zpk([-3.0], [-30.0, -40.0], 5e4, delay=1e-3)
    mixed = mse.Controller.state_space(-50.0, [[1.0, 2.0]], [[30.0], [20.0]], [[5.0, 0.0], [1.0, 2.0]])
    closed = model.feedback({("m0.x", "m1.x"): first, ("m2.x", "m2.x"): 30.0}, name="first")
    closed = closed.feedback({("m2.x", "m3.x"): second}, name="second")
    closed = closed.feedback({(("m0.x", "m3.x"), ("m3.x", "m1.x")): mixed}, name="mixed")
    found = closed.frequency_response(f)
    for k, hz in enumerate(f):
        s = 2j * np.pi * hz
        z = model.K.toarray() * (1 + 1e-2j) + s * model.Lambda.toarray() + s**2 * model.M.toarray()
        c = np.zeros((4, 4), dtype=complex)  # from sensors to actuators
        c[0, 1], c[2, 2], c[2, 3] = first.response([hz])[0], 30.0, second.response([hz])[0]
        c[np.ix_([0, 3], [3, 1])] += mixed.response([hz])[0]
        x = np.linalg.solve(z + c, np.hstack([np.eye(4), -c]))
        sensors = [1, 2, 3]
        actuators = [0, 2, 3]
        np.testing.assert_allclose(
            found.values[k][:4], x[:, [0, 1, 2, 3, *(4 + j for j in sensors)]], rtol=1e-9, atol=1e-15
        )
        noise = np.hstack([np.zeros((4, 4)), np.eye(4)])
        command = (-c @ (x + noise))[actuators]
        np.testing.assert_allclose(
            found.values[k][4:], command[:, [0, 1, 2, 3, *(4 + j for j in sensors)]], rtol=1e-9, atol=1e-9
        )
    assert found.inputs[4:] == ("m1.x noise", "m2.x noise", "m3.x noise")
    assert found.outputs[4:] == ("m0.x command", "m2.x command", "m3.x command")
    assert found.unit("m0.x command", "m1.x noise") == "N/m"
    some = closed.frequency_response(f, inputs=["m1.x noise", "m3.x"], outputs=["m2.x command", "m0.x"])
    np.testing.assert_allclose(some.values, found.values[:, [5, 0]][:, :, [4, 3]], rtol=1e-12)


def test_loops_of_moved_grounds_and_force_sensors_are_closed_through_them():
    """A base that is driven in position, and a force that its mass is felt by: both answer at once."""
    system = mse.MSystem("stage", gravity=(0, 0, 0))
    base, scale = system.add(mse.PositionActuator("base")), system.add(mse.ForceSensor("scale"))
    mass = system.add(mse.RigidBody("mass", mass=2.0, inertia=0.1))
    spring = system.add(mse.Bushing("spring", stiffness=800.0, damping=4.0))
    system.clamp(system.ground, base.frame(1))
    system.clamp(base.frame(0), scale.frame(1))
    system.clamp(scale.frame(0), spring.frame(1))
    system.clamp(mass.frame(0), spring.frame(0))
    linear = system.find_working_point().linearize()
    closed = linear.feedback({("base.x", "scale.fx"): mse.Controller.zpk([], [-10.0], 2e-3)})
    f = np.array([0.5, 3.0, 8.0])
    p = linear.frequency_response(f, inputs=["base.x"], outputs=["scale.fx"])["scale.fx", "base.x"]
    c = closed.links.all[0].controller.response(f)
    found = closed.frequency_response(f, inputs=["base.x", "scale.fx noise"], outputs=["scale.fx", "base.x command"])
    np.testing.assert_allclose(found["scale.fx", "base.x"], p / (1 + c * p), rtol=1e-10)
    np.testing.assert_allclose(found["base.x command", "scale.fx noise"], -c / (1 + c * p), rtol=1e-10)


def test_sampled_controllers_are_held_and_say_where_they_fold():
    closed, f = oscillator().feedback({PAIR: sampled_pd(60.0)}), np.array([1.0, 90.0, 150.0])
    s = 2j * np.pi * f
    p = oscillator().frequency_response(f).values[:, 0, 0]
    c = (40 + 60 * (1 - np.exp(-5e-3 * s)) / 5e-3) * np.exp(-5e-3 * s) * (1 - np.exp(-5e-3 * s)) / (5e-3 * s)
    found = closed.frequency_response(f, inputs=["mass.x"], outputs=["mass.x"])
    np.testing.assert_allclose(found.values[:, 0, 0], p / (1 + c * p), rtol=1e-12)
    assert "above 100 Hz" in found.notes[-1]
    assert not closed.frequency_response([50.0]).notes


@pytest.mark.parametrize(
    ("loops", "error", "words"),
    [
        ({("coil.fx", "mass.x"): 1.0}, UnknownNameError, "loop 'loop': no actuator 'coil.fx'"),
        ({("mass.x", "mas.x"): 1.0}, UnknownNameError, "no sensor 'mas.x' (did you mean 'mass.x'?)"),
        ({"mass.x": 1.0}, ModelError, "has the key 'mass.x'; expected controllers by (actuator, sensor)"),
        ({}, ModelError, "loop 'loop' is {}; expected controllers"),
        ({PAIR: [[1.0, 2.0]]}, ModelError, "controller is [[1.0, 2.0]]; expected a number"),
        ({PAIR: mse.Controller.state_space([], [], [], [[1.0, 2.0]])}, ModelError, "1 outputs and 2 inputs; expected 1 and 1"),
    ],
)  # fmt: skip
def test_loops_that_do_not_fit_are_refused(loops, error, words):
    with pytest.raises(error) as refused:
        oscillator().feedback(loops)
    assert words in str(refused.value)


def test_swapped_names_second_loops_of_a_name_and_other_sampling_times_are_refused():
    system = mse.MSystem("stage", gravity=(0, 0, 0))
    mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
    system.add(mse.Bushing("spring", stiffness=100.0), between=(mass, system.ground))
    system.add(mse.ForceActuator("coil"), between=(system.ground, mass))
    system.add(mse.PositionSensor("lvdt"), between=(mass, system.ground))
    linear = system.find_working_point().linearize()
    with pytest.raises(
        UnknownNameError, match=r"'lvdt.x', 'coil.fx'\), the sensor first; expected \(actuator, sensor\)"
    ):
        linear.feedback({("lvdt.x", "coil.fx"): 1.0})
    closed = linear.feedback({("coil.fx", "lvdt.x"): sampled_pd(1.0)}, name="damping")
    with pytest.raises(ModelError, match="there is a loop 'damping' already"):
        closed.feedback({("coil.fx", "lvdt.x"): 1.0}, name="damping")
    with pytest.raises(ModelError, match="sampled every 0.001 s and 0.005 s; expected one sampling time"):
        closed.feedback({("coil.fx", "lvdt.x"): sampled_pd(1.0, 1e-3)}, name="other")
    assert "u = -C y" in repr(closed) and "sampled every 0.005 s" in repr(closed)


def test_infinite_controllers_and_closed_poles_are_named():
    integral = oscillator().feedback({PAIR: mse.Controller.zpk([], [0.0], 1.0)})
    with pytest.raises(SingularResponseError, match="a controller is infinite at 0 Hz"):
        integral.frequency_response([0.0, 1.0])
    undone = oscillator().feedback({PAIR: -float(oscillator().K[0, 0])})
    with pytest.raises(SingularResponseError, match=r"1 \+ C P is singular"):
        undone.frequency_response([0.0])
