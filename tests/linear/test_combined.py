"""Sums of inputs and outputs by name."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse.errors import ModelError, UnknownNameError


def stage() -> mse.LinearModel:
    """A table on a moved ground through a force sensor, with a coil and a probe."""
    system = mse.MSystem("stage", gravity=(0, 0, -9.81))
    base = system.add(mse.PositionActuator("base"))
    system.clamp(system.ground, base.frame(1))
    scale = system.add(mse.ForceSensor("scale"))
    system.clamp(base.frame(0), scale.frame(1))
    table = system.add(mse.RigidBody("table", mass=2.0, inertia=0.1))
    system.add(mse.Bushing("mount", stiffness=300.0, damping=0.3), between=(table, scale.frame(0)))
    system.add(mse.ForceActuator("coil"), between=(system.ground, table))
    system.add(mse.PositionSensor("probe"), between=(table, system.ground))
    return system.find_working_point().linearize()


def test_sums_of_channels_have_the_sums_of_responses():
    linear = stage()
    f = np.array([0.3, 2.0, 30.0])
    both = linear.combined(
        outputs={"beam": {"probe.x": 1.0, "probe.ay": 0.2, "scale.fx": 1e-3}},
        inputs={"length": {"coil.fx": 0.5, "base.x": 2.0}},
    )
    assert both.outputs == (*linear.outputs, "beam") and both.inputs == (*linear.inputs, "length")
    assert (both.output_units[-1], both.input_units[-1]) == ("m", "N")
    found, own = both.frequency_response(f), linear.frequency_response(f)
    sense, drive = {"probe.x": 1.0, "probe.ay": 0.2, "scale.fx": 1e-3}, {"coil.fx": 0.5, "base.x": 2.0}
    expected = sum(s * a * own[o, i] for o, s in sense.items() for i, a in drive.items())
    np.testing.assert_allclose(found["beam", "length"], expected, rtol=1e-10)
    np.testing.assert_allclose(found["probe.x", "coil.fx"], own["probe.x", "coil.fx"], rtol=1e-12)


def test_sums_reach_time_runs():
    linear = stage().combined(outputs={"twice": {"probe.x": 2.0}}, inputs={"half": {"coil.fx": 0.5}})
    run = {"duration": 1.0, "dt": 0.01, "outputs": ["twice", "probe.x"]}
    history = linear.simulate(inputs={"half": lambda t: np.sin(5 * t)}, **run)
    other = linear.simulate(inputs={"coil.fx": lambda t: 0.5 * np.sin(5 * t)}, **run)
    np.testing.assert_allclose(history["twice"], 2.0 * other["probe.x"], rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(
    ("outputs", "error", "words"),
    [
        ({"probe.x": {"probe.y": 1.0}}, ModelError, "without '.'"),
        ({"beam": {"probe.w": 1.0}}, UnknownNameError, "probe.w"),
        ({"beam": {}}, ModelError, "output 'beam' is {}; expected at least one output"),
        ({"beam": {"probe.x": "1"}}, ModelError, "weight of 'probe.x' in 'beam' is '1'"),
        ({"beam": 1.0}, ModelError, "output 'beam' is 1.0; expected weights"),
        ([("beam", 1.0)], ModelError, "outputs is"),
    ],
)
def test_what_is_no_sum_is_refused(outputs, error, words):
    with pytest.raises(error, match=words.replace("{}", r"\{\}")):
        stage().combined(outputs=outputs)


def test_a_name_that_there_is_already_is_refused():
    once = stage().combined(outputs={"beam": {"probe.x": 1.0}})
    with pytest.raises(ModelError, match="an output named 'beam' exists already"):
        once.combined(outputs={"beam": {"probe.y": 1.0}})
