"""The motion of all coordinates behind a run, found again from what its history keeps."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest

import mse
from mse import Pose
from mse.tools.page.replay import _coordinates_over_time


@pytest.fixture(scope="module")
def linear() -> mse.LinearModel:
    """A load on a blade whose foot is moved; its slowest mode is at 1.9 Hz, and ``probe`` does not see the blade."""
    system = mse.MSystem("stage", gravity=(0, 0, -9.81))
    base = system.add(mse.PositionActuator("base"))
    blade = mse.Beam("blade", length=0.2, width=0.03, height=0.002, elements=4)
    load = system.add(mse.RigidBody("load", mass=2.0, inertia=1e-3))
    system.clamp(system.ground, base.frame(1))
    system.add(blade, between=(base.frame(0), load @ Pose.dz(0.02)))
    system.add(mse.PositionSensor("probe"), between=(load, system.ground))
    system.add(mse.PositionSensor("middle"), between=(blade.frame("n2"), system.ground))
    return system.find_working_point().linearize()


def fast(t):
    return 1e-3 * np.sin(40 * t) + 1e-4 * np.cos(300 * t)


PROBE = [f"probe.{axis}" for axis in ("x", "y", "z", "ax", "ay", "az")]
RUNS = {
    "a function": {"inputs": {"base.x": fast}},
    "a function that is held": {"inputs": {"base.x": fast}, "hold": "zoh"},
    "a function along lines": {"inputs": {"base.x": fast}, "hold": "foh"},
    "samples": {"inputs": {"base.x": fast(0.05 * np.arange(41))}},
    "samples that are held": {"inputs": {"base.x": fast(0.05 * np.arange(41))}, "hold": "zoh"},
    "both": {"inputs": {"base.x": fast, "base.z": fast(0.05 * np.arange(41))[::-1], "base.ay": lambda t: 1e-3 * t}},
    "no input": {"initial": {"load.x": 1e-3}},
}


@pytest.mark.parametrize("kind", RUNS)
def test_all_coordinates_are_found_again_however_inputs_go_between_samples(linear, tmp_path, kind):
    run = {"duration": 2.0, "dt": 0.05, **RUNS[kind]}
    truth = linear.simulate(**run)["middle.z"]
    history = linear.simulate(**run, outputs=PROBE)
    history.save(tmp_path / "run.npz")
    chosen = np.arange(0, 41, 3)
    column = linear.coordinates.index("blade.n2.z")
    for same in (history, mse.read_result(tmp_path / "run.npz")):
        found = _coordinates_over_time(linear, same, chosen)[:, column]
        np.testing.assert_allclose(found, truth[chosen], atol=1e-9 * np.abs(truth).max())


@numba.njit
def hold(outputs, inputs, memory, time):
    inputs[0] = 1e-3 if time < 1.0 else -1e-3


@pytest.mark.slow  # numba compiles the controller
def test_the_motion_of_a_loop_is_found_again(linear):
    history = linear.step_loop(dt=0.05, inputs=["base.x"], outputs=["middle.x", *PROBE]).run(40, controller=hold)
    units = history.output_units[1:]
    seen = replace(history, outputs=tuple(PROBE), values=history.values[:, 1:], output_units=units)
    found = _coordinates_over_time(linear, seen, np.arange(41))
    at = linear.coordinates.index("blade.n2.x")
    np.testing.assert_allclose(found[:, at], history["middle.x"], atol=1e-9 * np.abs(history["middle.x"]).max())


def test_a_recorded_function_is_found_again_where_its_samples_resolve_it(linear, tmp_path):
    slow = {"base.x": lambda t: 1e-3 * np.sin(6 * t)}
    run = linear.simulate(duration=2.0, dt=0.05, inputs=slow, outputs=PROBE, record=tmp_path / "slow.npy")
    assert run.holds == ("smooth",) and not run.between.size
    truth = linear.simulate(duration=2.0, dt=0.05, inputs=slow)["middle.z"]
    found = _coordinates_over_time(linear, run, np.arange(41))[:, linear.coordinates.index("blade.n2.z")]
    np.testing.assert_allclose(found, truth, atol=1e-2 * np.abs(truth).max())
    run = linear.simulate(duration=2.0, dt=0.05, inputs={"base.x": fast}, outputs=PROBE, record=tmp_path / "fast.npy")
    with pytest.raises(mse.ModelError, match="a recorded run keeps only samples of functions"):
        _coordinates_over_time(linear, run, np.arange(41))


def test_a_history_that_does_not_tell_its_holds_is_tried_with_both(linear):
    for how in ("foh", "zoh"):
        history = linear.simulate(duration=2.0, dt=0.05, inputs={"base.x": fast}, hold=how)
        old = replace(history, holds=(), between=np.zeros((0, 0)))
        found = _coordinates_over_time(linear, old, np.arange(41))[:, linear.coordinates.index("blade.n2.z")]
        np.testing.assert_allclose(found, history["middle.z"], atol=1e-9 * np.abs(history["middle.z"]).max())


def test_the_run_of_another_model_is_refused(linear):
    history = linear.simulate(duration=2.0, dt=0.05, inputs={"base.x": fast})
    other = replace(history, values=1.05 * history.values)
    with pytest.raises(mse.ModelError, match=r"run again, the history's output '.*' differs by .* make both from one"):
        _coordinates_over_time(linear, other, np.arange(41))
    # what is rounding next to the other outputs of its unit decides nothing
    values = history.values.copy()
    values[:, history.outputs.index("probe.y")] += 1e-3 * history["probe.x"].max()
    _coordinates_over_time(linear, replace(history, values=values), np.arange(41))
