"""Controllers between steps: compiled ones are the loop in Python, and both are the zero-order hold."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import mse
from mse.analysis.time.step_loop import StepLoop
from mse.numerics.options import SIZES
from test_dynamics import damped_stage


@numba.njit
def servo(outputs, inputs, memory, time):
    """Proportional, with the difference of the last two outputs as damping; memory = (gains, last output, calls)."""
    inputs[0] = np.sin(7 * time) - memory[0] * outputs[0] - memory[1] * (outputs[0] - memory[2])
    memory[2] = outputs[0]
    memory[3] += 1


def loop_of(model=None) -> mse.LinearModel:
    return (model or damped_stage()).step_loop(dt=0.01, inputs=["push.fz"], outputs=["probe.z", "probe.x"])


@pytest.mark.slow
def test_a_compiled_controller_is_the_loop_in_python():
    compiled, python = loop_of(), loop_of()
    memory = np.array([80.0, 5.0, 0.0, 0.0])
    history = compiled.run(500, controller=servo, memory=memory)
    own, seen, set_ = np.array([80.0, 5.0, 0.0, 0.0]), [], []
    for _ in range(500):
        u = python._u.copy()
        servo.py_func(python.read(), u, own, python.time)
        python.set(u)
        set_.append(u[0])
        seen.append(python.read())
        python.step()
    seen.append(python.read())
    np.testing.assert_allclose(history.values, seen, atol=1e-15)
    np.testing.assert_allclose(history["push.fz"], [*set_, set_[-1]], rtol=1e-12)
    np.testing.assert_allclose(memory, own, rtol=1e-12)
    assert memory[3] == 500
    assert history.time[-1] == pytest.approx(5.0) and compiled.time == python.time
    assert compiled.state() == pytest.approx(python.state(), abs=1e-15)


def test_a_run_is_replayed_by_simulate():
    history = loop_of().run(300, controller=servo, memory=[80.0, 5.0, 0.0, 0.0])
    replay = damped_stage().simulate(
        duration=3.0, dt=0.01, inputs={"push.fz": history["push.fz"]}, hold="zoh", outputs=["probe.z", "probe.x"]
    )
    np.testing.assert_allclose(replay.values, history.values, atol=1e-14)
    assert history.final_state == pytest.approx(replay.final_state, abs=1e-14)
    assert history.inputs == ("push.fz",) and history.unit("probe.z") == "m"


def test_two_runs_are_one():
    memory = np.array([80.0, 5.0, 0.0, 0.0])
    loop, whole = loop_of(), loop_of().run(300, controller=servo, memory=memory.copy())
    first, second = (loop.run(n, controller=servo, memory=memory) for n in (100, 200))
    assert np.array_equal(first.values[:-1], whole.values[:100]) and np.array_equal(second.values, whole.values[100:])
    assert np.array_equal(second.time, whole.time[100:]) and second.final_state == whole.final_state


@pytest.mark.slow
def test_a_controller_sees_what_the_inputs_so_far_make():
    """A prescribed displacement shows at once: the controller reads that of the last step, the history the new one."""
    s = mse.MSystem("marked", gravity=(0, 0, 0))
    base, mark = s.add(mse.PositionActuator("base")), s.add(mse.PositionSensor("mark"))
    spring, mass = s.add(mse.Bushing("spring", stiffness=100.0)), s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
    probe = s.add(mse.PositionSensor("probe"))
    s.clamp(s.ground, base.frame(1))
    s.clamp(base.frame(0), spring.frame(1))
    s.clamp(spring.frame(0), mass.frame(0))
    for sensor, frame in ((mark, base.frame(0)), (probe, mass.frame(0))):
        s.clamp(frame, sensor.frame(0))
        s.clamp(s.ground, sensor.frame(1))
    linear = s.find_working_point().linearize()
    loop = linear.step_loop(dt=1e-3, inputs=["base.y", "base.x"], outputs=["mark.x", "probe.x"])

    @numba.njit
    def count(outputs, inputs, memory, time):
        memory[:] = outputs
        inputs[1] = inputs[1] + 1e-3

    memory = np.zeros(len(loop.outputs))
    history = loop.run(1, controller=count, memory=memory)
    assert not memory.any()
    np.testing.assert_allclose(history["mark.x"], 1e-3)
    assert history["probe.x"][0] == 0 and history["probe.x"][1] > 0
    loop.run(1, controller=count, memory=memory)
    np.testing.assert_allclose(memory, history.values[1], atol=1e-18)


def test_the_loop_stays_what_it_was_for_numbers_of_all_kinds():
    loop = loop_of()
    for value in (1, 1.0, np.float64(1.0), np.float32(1.0), np.int64(1), np.array(1.0)):
        loop["push.fz"] = value
        assert loop["push.fz"] == 1.0
    for value in (np.nan, np.inf, np.float64("nan"), "1", None, 1j, [1.0, 2.0]):
        with pytest.raises(mse.ModelError, match=r"input 'push\.fz' at t = .* is .*expected a finite number"):
            loop["push.fz"] = value
    assert loop.step() == 0.01
    np.testing.assert_allclose(loop.read(), [loop["probe.z"], loop["probe.x"]], rtol=1e-15)
    assert isinstance(loop["probe.z"], float)


@numba.njit
def three(outputs, inputs, memory):
    inputs[0] = 0.0


@numba.njit
def returning(outputs, inputs, memory, time):
    return outputs[0]


@numba.njit
def wrong(outputs, inputs, memory, time):
    inputs.value = 1.0


@numba.njit
def not_finite(outputs, inputs, memory, time):
    inputs[0] = np.inf if time > 0.0255 else 1.0


@numba.njit
def failing(outputs, inputs, memory, time):
    inputs[0] = 1.0
    if time > 0.0255:
        raise ValueError("off the rails")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"controller": lambda y, u, m, t: None}, ["is not compiled", "decorated with @numba.njit"]),
        ({"controller": 3}, ["controller is 3", "@numba.njit"]),
        (
            {"controller": three},
            ["'three' takes (outputs, inputs, memory)", "expected (outputs, inputs, memory, time)"],
        ),
        ({"controller": returning}, ["'returning' returns float64", "expected nothing"]),
        ({"controller": wrong}, ["'wrong' does not compile", "float array", "inputs.value"]),
        ({"memory": "a"}, ["memory is 'a'", "expected numbers (n,)"]),
        ({"memory": [[1.0]]}, ["memory is [[1.0]]"]),
        ({"steps": 0}, ["steps is 0", "at least 1"]),
        ({"steps": 2.0}, ["steps is 2.0"]),
    ],
)
def test_controllers_that_cannot_be_called(options, words):
    options = {"steps": 5, "controller": servo, "memory": np.zeros(4)} | options
    with pytest.raises(mse.ModelError) as error:
        loop_of().run(options.pop("steps"), **options)
    for word in ("stage: ", *words):
        assert word in str(error.value)


@numba.njit
def constant(outputs, inputs, memory, time):
    inputs[0] = 1.0


def plain_history() -> mse.TimeResponse:
    return loop_of().run(10, controller=constant)


@numba.njit
def beyond_memory(outputs, inputs, memory, time):
    inputs[0] = memory[5]


@numba.njit
def beyond_inputs(outputs, inputs, memory, time):
    inputs[7] = 1.0


@pytest.mark.parametrize("controller", [beyond_memory, beyond_inputs])
def test_controllers_that_reach_beyond_their_arrays(controller):
    """Compiled code would write there without a word."""
    loop = loop_of()
    with pytest.raises(mse.ModelError, match=r"'beyond_\w+' reaches beyond its arrays .*0 numbers of memory"):
        loop.run(10, controller=controller)
    assert loop.time == 0.0 and not loop.read().any()


@pytest.mark.parametrize("values", [[np.nan], [np.inf], ["a"], ["1"], [True], [1j], [1.0, 2.0], np.array([1j]), None])
def test_what_is_set_at_once_is_checked_too(values):
    loop = loop_of()
    loop.set([1.0])
    with pytest.raises(mse.ModelError, match="stage: "):
        loop.set(values)
    assert loop["push.fz"] == 1.0


@pytest.mark.slow
def test_a_run_that_ends_early_leaves_the_loop_where_it_stands():
    for controller, error, text in (
        (not_finite, mse.ModelError, r"set input 'push\.fz' to inf at t = 0\.03 s"),
        (failing, ValueError, "off the rails"),
    ):
        loop, plain = loop_of(), loop_of()
        with pytest.raises(error, match=text) as caught:
            loop.run(10, controller=controller)
        for _ in range(3):
            plain["push.fz"] = 1.0
            plain.step()
        assert loop.time == pytest.approx(0.03)
        seen, whole = caught.value.history, plain_history()
        assert isinstance(caught.value, mse.ControllerError) and np.array_equal(seen.time, whole.time[:3])
        assert np.array_equal(seen.values, whole.values[:3]) and np.array_equal(seen["push.fz"], np.ones(3))
        assert loop.state() == pytest.approx(plain.state(), abs=1e-17) and loop.state()["mass.z"] > 0


def test_memory_of_another_kind_is_copied():
    given = np.array([80, 5, 0, 0])
    history = loop_of().run(10, controller=servo, memory=given)
    assert given.tolist() == [80, 5, 0, 0]
    assert np.array_equal(history.values, loop_of().run(10, controller=servo, memory=np.array([80.0, 5, 0, 0])).values)


# -- inputs beside a controller -----------------------------------------------------------------------------------
DRIVEN = {"inputs": ["push.fz", "push.fx", "push.tx"], "outputs": ["probe.z", "probe.x"]}


def test_recorded_inputs_beside_a_controller_are_the_loop_in_python():
    """Samples and a function of time, over two runs, with a controller for the third input."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(501)
    compiled, python = (damped_stage().step_loop(dt=0.01, **DRIVEN) for _ in range(2))
    memory = np.array([80.0, 5.0, 0.0, 0.0])
    first = compiled.run(200, controller=servo, memory=memory, inputs={"push.tx": np.sin, "push.fx": noise[:201]})
    second = compiled.run(300, controller=servo, memory=memory, inputs={"push.fx": noise[200:], "push.tx": np.sin})
    own, seen, set_ = np.array([80.0, 5.0, 0.0, 0.0]), [], []
    for k in range(500):
        python["push.fx"], python["push.tx"] = noise[k], np.sin(python.time)
        u = python._u.copy()
        servo.py_func(python.read(), u, own, python.time)
        python.set(u)
        set_.append(u)
        seen.append(python.read())
        python.step()
    values = np.vstack([first.values[:-1], second.values[:-1]])
    np.testing.assert_allclose(values, seen, rtol=0, atol=1e-13)
    np.testing.assert_allclose(np.vstack([first.driven[:-1], second.driven[:-1]]), set_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(memory, own, rtol=1e-10)
    assert second["push.fx"][-1] == noise[500] and second["push.tx"][-1] == np.sin(5.0)
    assert np.array_equal(first["push.fx"], noise[:201])


def test_the_controller_sees_what_recorded_inputs_make_at_once():
    """A prescribed displacement shows in an output that is clamped to it, at the same sample."""
    s = mse.MSystem("shaken", gravity=(0, 0, 0))
    base, mark = s.add(mse.PositionActuator("base")), s.add(mse.PositionSensor("mark"))
    s.clamp(s.ground, base.frame(1))
    s.clamp(base.frame(0), mark.frame(0))
    s.clamp(s.ground, mark.frame(1))
    loop = (
        s.find_working_point().linearize().step_loop(dt=0.1, inputs=["base.x", "base.y"], outputs=["mark.x", "mark.y"])
    )

    @numba.njit
    def copy(outputs, inputs, memory, time):
        inputs[1] = outputs[0]

    noise = np.random.default_rng(1).standard_normal(11)
    history = loop.run(10, controller=copy, inputs={"base.x": noise})
    np.testing.assert_allclose(history["mark.x"], noise, rtol=1e-14)
    np.testing.assert_allclose(history["mark.y"][:-1], noise[:-1], rtol=1e-14)


def test_one_input_has_one_driver():
    loop = damped_stage().step_loop(dt=0.01, **DRIVEN)
    samples = np.linspace(0.0, 1.0, 11)

    @numba.njit
    def late(outputs, inputs, memory, time):
        inputs[0] = 2.0
        if time > 0.0255:
            inputs[1] = 7.0

    with pytest.raises(mse.ControllerError) as error:
        loop.run(10, controller=late, inputs={"push.fx": samples})
    for words in ("stage: ", "set input 'push.fx' to 7.0 at t = 0.03 s", "inputs= sets it to 0.3", "leave it out of"):
        assert words in str(error.value)
    assert len(error.value.history.time) == 3 and loop.time == pytest.approx(0.03)
    assert loop["push.fx"] == samples[3]


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"push.fy": np.zeros(11)}, ["no input 'push.fy'", "did you mean 'push.f"]),
        ({"push.fx": np.zeros(10)}, ["input 'push.fx' has shape (10,)", "(11,)", "0.05, 0.06, ..., 0.15 s"]),
        ({"push.fx": np.full(11, np.nan)}, ["input 'push.fx' at t = 0.05 s is nan; expected a finite real number"]),
        ({"push.fx": lambda t: 1j * t}, ["input 'push.fx' at t = 0.05 s is", "j; expected a finite real number"]),
        (["push.fx"], ["inputs is ['push.fx']", "by input name"]),
    ],
)
def test_recorded_inputs_that_are_none(inputs, words):
    loop = damped_stage().step_loop(dt=0.01, **DRIVEN)
    loop.run(5, controller=constant)
    with pytest.raises(mse.MseError) as error:
        loop.run(10, controller=constant, inputs=inputs)
    for word in words:
        assert word in str(error.value)
    assert loop.time == 0.05


def test_a_loop_that_runs_away_says_so():
    model = mse.LinearModel.from_matrices([[1.0]], None, [[-1.0]], name="toppling")
    loop = model.step_loop(dt=100.0, initial={"x0": 1.0})
    with pytest.raises(
        mse.ModelError, match=r"toppling: the motion grows beyond the largest number in the step from t = 700 s"
    ):
        for _ in range(10):
            loop.step()
    loop = model.step_loop(dt=100.0, initial={"x0": 1.0})
    with pytest.raises(mse.ControllerError, match="beyond the largest number in the step from t = 700 s") as error:
        loop.run(20, controller=numba.njit(lambda y, u, memory, t: None))
    assert np.isfinite(error.value.history.values).all() and len(error.value.history.time) == 7


def test_steps_between_signs_of_progress_take_about_the_same_time(monkeypatch):
    """Slow controllers would keep Ctrl-C and what draws the progress waiting for as many steps as quick ones take."""

    @numba.njit
    def idle(outputs, inputs, memory, time):
        memory[0] += 1.0

    model = mse.LinearModel.from_matrices(np.eye(1), None, np.eye(1), coordinates=["mass.x"])
    pieces, whole = [], StepLoop._piece

    def counted(loop, controller, memory, first, own, rows):
        pieces.append(len(rows[0]) - 1)
        return whole(loop, controller, memory, first, own, rows)

    monkeypatch.setattr(StepLoop, "_piece", counted)
    monkeypatch.setattr(SIZES, "loop_steps", 16)
    for seconds, expected in ((0.0, [16] + [1] * 48), (1e9, [16, 32, 16])):
        monkeypatch.setattr(SIZES, "loop_seconds", seconds)
        memory = np.zeros(1)
        model.step_loop(dt=0.1).run(64, controller=idle, memory=memory)
        assert pieces == expected and memory[0] == 64.0
        pieces.clear()
