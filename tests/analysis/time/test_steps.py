"""Time evolution in blocks: against the exponential in long double, closed forms, SciPy, and itself cut elsewhere."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numba
import numpy as np
import pytest
import scipy.signal

import long_double
import mse
import mse.analysis.resources
import mse.analysis.time.normal_form
from models import four_wire_chain, hanging_stages
from mse import Pose
from mse.analysis.time.normal_form import normal_form
from mse.analysis.time.steps import Blocks, Step, phi_functions
from mse.numerics.options import SIZES
from paths import IMPORTED
from test_dynamics import damped_stage, in_series
from test_links import carrier

pytestmark = pytest.mark.rounding


# -- models -------------------------------------------------------------------------------------------------------
def floating(damping=(3.0, 2.0, 1.0, 0.1, 0.1, 0.1)) -> mse.LinearModel:
    """Three bodies on damped bushings, held by nothing: six free motions beside modes that damping couples."""
    s = mse.MSystem("floating", gravity=(0, 0, 0))
    bodies = [
        s.add(mse.RigidBody(f"b{k}", mass=1.0 + k, inertia=(0.1, 0.2, 0.3), at=Pose.dx(0.5 * k))) for k in range(3)
    ]
    for k in range(2):
        u = s.add(mse.Bushing(f"u{k}", stiffness=(1e4, 2e4, 1e5, 10, 20, 30), damping=np.array(damping) * (1 + k)))
        s.clamp(bodies[k].frame(0), u.frame(0), Pose.dx(0.25))
        s.clamp(bodies[k + 1].frame(0), u.frame(1), Pose.dx(-0.25))
    push, probe = s.add(mse.ForceActuator("push")), s.add(mse.PositionSensor("probe"))
    s.clamp(s.ground, push.frame(0))
    s.clamp(bodies[0].frame(0), push.frame(1))
    s.clamp(bodies[2].frame(0), probe.frame(0))
    s.clamp(s.ground, probe.frame(1))
    return s.find_working_point().linearize()


def locally_damped(stages: int) -> mse.LinearModel:
    """A driven chain of plates, the first of which is damped against the ground: damping couples all modes."""
    s = four_wire_chain(stages, driven=True)
    damper = s.add(mse.Bushing("damper", stiffness=np.zeros(6), damping=(5.0, 4.0, 3.0, 0.1, 0.1, 0.1)))
    s.clamp(s.ground, damper.frame(1), Pose.dz(-0.52))
    s.clamp(s["plate0"].frame(0), damper.frame(0))
    return s.find_working_point().linearize()


def triple_eigenvalue(off: float = 0.0) -> mse.LinearModel:
    """A mass on a spring behind a spring beside a dashpot, all eigenvalues -1: one vector for three of them.

    With the first spring ``off`` by a share they are the third root of it apart.
    """
    k = 3.0 * (1.0 + off)
    return mse.LinearModel.from_matrices(
        np.diag([1.0, 0.0]), np.diag([0.0, 9 / 8]), [[k, -k], [-k, k + 3 / 8]], name="triple"
    )


def stiff(damping: float) -> mse.LinearModel:
    """Oscillators from 0.1 Hz to 100 kHz with a dashpot between all of them."""
    w = 2 * np.pi * np.geomspace(0.1, 1e5, 7)
    arm = np.ones(7)
    return mse.LinearModel.from_matrices(np.eye(7), damping * np.outer(arm, arm), np.diag(w**2), name="stiff")


def hinged() -> mse.LinearModel:
    """A bar on a hinge that an actuator moves."""
    s = mse.MSystem("hinged")
    base, hinge = s.add(mse.PositionActuator("base")), s.add(mse.Revolute("hinge", damping=0.02))
    bar = s.add(mse.RigidBody("bar", mass=2.0, inertia=0.05, at=Pose.dz(-0.4)))
    probe = s.add(mse.PositionSensor("probe"))
    s.clamp(s.ground, base.frame(1))
    s.clamp(base.frame(0), hinge.frame(0), Pose.rotation((0, np.pi / 2, 0)))
    s.clamp(bar.frame(0), hinge.frame(1), Pose.dz(0.4) @ Pose.rotation((0, np.pi / 2, 0)))
    s.clamp(bar.frame(0), probe.frame(0))
    s.clamp(s.ground, probe.frame(1))
    return s.find_working_point().linearize()


MODELS = {
    "free and damped": (damped_stage, {}, 0.01),
    "undamped": (lambda: damped_stage(damping=0.0), {}, 0.01),
    "critical": (lambda: damped_stage(damping=40.0), {}, 0.01),
    "nearly critical": (lambda: damped_stage(damping=40.0 * (1 + 1e-7)), {}, 0.01),
    "overdamped": (lambda: damped_stage(damping=100.0), {}, 0.01),
    "far overdamped": (lambda: damped_stage(damping=1e5), {}, 0.01),
    "prescribed, dragging": (lambda: carrier(rider=True).find_working_point().linearize(), {"outputs": ["probe.x"]}, 0.02),
    "massless damped": (lambda: in_series(stiffness=150.0, damping=40.0), {}, 0.02),
    "massless undamped": (lambda: in_series(stiffness=150.0), {}, 0.02),
    "floating": (floating, {}, 1e-3),
    "locally damped": (lambda: locally_damped(2), {}, 0.01),
    "defective": (triple_eigenvalue, {}, 0.1),
    "stiff": (lambda: stiff(0.0), {}, 1e-3),
    "stiff, coupled": (lambda: stiff(0.3), {}, 1e-3),
    "hinged": (hinged, {"outputs": ["probe.x", "probe.z", "probe.ay"]}, 0.01),
    "hanging": (lambda: hanging_stages(11).find_working_point().linearize(), {"inputs": [], "outputs": []}, 0.01),
    "unstable": (lambda: mse.LinearModel.from_matrices(np.eye(2), None, [[-4.0, 1.0], [1.0, 9.0]]), {}, 0.01),
}  # fmt: skip


# -- every kind of motion -----------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("hold", ["zoh", "foh"])
@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_motion_is_the_exponential(name, hold):
    make, choice, dt = MODELS[name]
    model = make()
    ss = model.state_space(**choice)
    rng = np.random.default_rng(3)
    steps = 211  # no multiple of any block
    u = rng.standard_normal((steps + 1, len(ss.inputs)))
    start = rng.standard_normal(len(ss.states)) * 0.1
    history = model.simulate(
        duration=steps * dt, dt=dt, hold=hold, outputs=ss.outputs,
        inputs=dict(zip(ss.inputs, u.T, strict=True)), initial=dict(zip(ss.states, start, strict=True)),
    )  # fmt: skip
    expected = long_double.outputs(ss, dt, u, hold, start)
    size = np.abs(expected).max(axis=0, initial=1e-300)
    np.testing.assert_allclose(history.values / size, expected / size, rtol=0, atol=2e-9 if "stiff" in name else 2e-11)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_smooth_inputs_are_exact_for_quartic_ones(name):
    """One step of 10 dt and ten of dt are the same, if both are exact."""
    make, choice, dt = MODELS[name]
    model = make()
    ss = model.state_space(**choice)
    span = 40 * dt
    drive = {n: (lambda t, k=k: (t / span) ** 4 - k * (t / span) ** 3 + 1.0) for k, n in enumerate(ss.inputs)}
    coarse, fine = (
        model.simulate(duration=span, dt=step, inputs=drive, outputs=ss.outputs).values for step in (10 * dt, dt)
    )
    size = np.abs(fine).max(axis=0, initial=1e-300)
    np.testing.assert_allclose(coarse / size, fine[::10] / size, rtol=0, atol=1e-9 if "stiff" in name else 1e-11)


def test_steps_of_smooth_inputs_are_of_order_eight():
    """``x'' + x = cos 2t`` from rest is ``(cos t - cos 2t)/3``; a wrong inner node leaves order six."""
    model = mse.LinearModel.from_matrices([[1.0]], None, [[1.0]])

    def error(dt):
        history = model.simulate(duration=4.0, dt=dt, inputs={model.inputs[0]: lambda t: np.cos(2.0 * t)})
        return abs(history.values[-1, 0] - (np.cos(4.0) - np.cos(8.0)) / 3.0)

    errors = [error(dt) for dt in (1.0, 0.5, 0.25)]
    assert errors[0] > 2**7 * errors[1] and errors[1] > 2**7 * errors[2] > 0.0


@pytest.mark.parametrize("hold", ["zoh", "foh"])
def test_blocks_are_scipys_steps(hold):
    model = locally_damped(3)
    ss = model.state_space(inputs=["base.x", "base.ay"])
    dt, n = 0.01, 3000
    u = np.random.default_rng(5).standard_normal((n + 1, 2)) * 1e-3
    history = model.simulate(
        duration=n * dt, dt=dt, inputs={"base.x": u[:, 0], "base.ay": u[:, 1]}, hold=hold, outputs=ss.outputs
    )
    _, y, _ = scipy.signal.lsim((ss.A, ss.B, ss.C, ss.D), u, dt * np.arange(n + 1), interp=hold == "foh")
    np.testing.assert_allclose(history.values, y, rtol=0, atol=1e-10 * np.abs(y).max())


def test_which_motions_are_taken_apart():
    """Modes where they hold, free and critical ones as blocks of two, dense only what has no vectors."""

    def kinds(model):
        f = normal_form(model.state_space(), 0.01)
        np.testing.assert_allclose(f.to @ f.back, np.eye(len(f.to)), atol=1e-9)
        return len(f.oscillating), f.real.shape[1], len(f.coupled), len(f.rest)

    assert kinds(damped_stage(damping=0.0)) == (3, 0, 3, 0)
    assert kinds(damped_stage(damping=40.0)) == (2, 0, 4, 0)
    assert kinds(damped_stage(damping=100.0)) == (2, 1, 3, 0)
    assert kinds(in_series(stiffness=150.0, damping=40.0)) == (6, 3, 0, 0)
    oscillating, real, coupled, rest = kinds(floating())
    assert coupled == 6 and rest == 0 and oscillating + real == 12
    assert kinds(triple_eigenvalue()) == (0, 0, 0, 3)


def test_the_defective_motion_in_closed_form():
    """y'' = -3 (y - x), x = y + y''/3: a start in (y, y', x) gives (a + b t + c t^2) exp(-t)."""
    model = triple_eigenvalue()
    history = model.simulate(duration=20.0, dt=0.05, initial={"x0": 1.0, "x0'": 0.5, "x1": -0.25})
    t = history.time
    a, b = 1.0, 0.5 + 1.0
    c = 0.5 * (-3 * (1.0 + 0.25) - a + 2 * b)  # y''(0) = a - 2 b + 2 c
    np.testing.assert_allclose(history["x0"], (a + b * t + c * t**2) * np.exp(-t), atol=1e-13)


# -- long runs ----------------------------------------------------------------------------------------------------
def test_energy_stays_for_a_million_steps():
    model = four_wire_chain(5).find_working_point().linearize()
    n = model.size
    start = np.random.default_rng(2).standard_normal(2 * n) * 1e-3
    k, m = model.K.toarray(), model.M.toarray()

    def energy(x):
        return 0.5 * x[:n] @ k @ x[:n] + 0.5 * x[n:] @ m @ x[n:]

    states = model.state_space(outputs=[]).states
    history = model.simulate(duration=1e4, dt=1e-2, outputs=[], initial=dict(zip(states, start, strict=True)))
    end = np.array([history.final_state[n] for n in states])
    assert energy(end) == pytest.approx(energy(start), rel=1e-9)


def test_a_free_drift_is_exact():
    """Three masses on two springs, pushed: x = x0 + v t, and F t^2/(2 m) under a constant force, after 1e5 steps."""
    k = np.array([[70.0, -70.0, 0.0], [-70.0, 100.0, -30.0], [0.0, -30.0, 30.0]])
    model = mse.LinearModel.from_matrices(np.diag([1.0, 2.0, 5.0]), 0.01 * k, k)
    drift = model.simulate(
        duration=1e3, dt=1e-2, initial={f"x{i}": 0.5 for i in range(3)} | {f"x{i}'": 2.0 for i in range(3)}
    )
    for i in range(3):
        np.testing.assert_allclose(drift[f"x{i}"], 0.5 + 2.0 * drift.time, rtol=1e-12)
    ones = np.ones(100_001)
    # forces that accelerate all masses alike
    pushed = model.simulate(
        duration=1e3, dt=1e-2, inputs={"x0": ones, "x1": 2 * ones, "x2": 5 * ones}, hold="zoh", outputs=["x0", "x2"]
    )
    for name in ("x0", "x2"):
        np.testing.assert_allclose(pushed[name], 0.5 * pushed.time**2, rtol=1e-11, atol=1e-12)


def test_floating_bodies_drift_beside_their_damped_modes():
    model = floating()
    start = {f"b{k}.{a}'": v for k in range(3) for a, v in zip("xyz", (1.0, -2.0, 0.5), strict=True)}
    history = model.simulate(duration=100.0, dt=1e-3, initial=start)
    for axis, v in zip("xyz", (1.0, -2.0, 0.5), strict=True):
        np.testing.assert_allclose(history[f"probe.{axis}"], v * history.time, rtol=0, atol=1e-9)


def test_slow_motions_keep_their_digits_beside_fast_ones():
    """0.1 Hz beside 100 kHz at 100 steps a second: 1e5 steps, the slow one to 1e-10."""
    model = stiff(0.0)
    history = model.simulate(duration=1e3, dt=1e-2, initial={"x0": 1.0, "x6": 1.0}, outputs=["x0", "x6"])
    np.testing.assert_allclose(history["x0"], np.cos(0.2 * np.pi * history.time), atol=1e-10)
    # 6e8 rad in all: the phase of the fast one is known to the rounding of its frequency
    np.testing.assert_allclose(history["x6"], np.cos(2e5 * np.pi * history.time), atol=3e-6)


def test_what_would_grow_but_rests_does_not_spoil_what_moves():
    """A motion that would grow by exp(200) a step overflows in a block of four, and times nothing is no number."""
    model = mse.LinearModel.from_matrices(np.eye(2), None, np.diag([-1.0, 1.0]))
    history = model.simulate(duration=8000.0, dt=200.0, initial={"x1": 1.0})
    np.testing.assert_allclose(history["x1"], np.cos(history.time), atol=1e-11)
    assert not history["x0"].any()


# -- where a run is cut -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("steps", [1, 2, 3, 7, 8, 9, 31, 33, 100])
def test_short_runs_are_the_beginning_of_long_ones(steps):
    model = locally_damped(1)
    u = np.random.default_rng(0).standard_normal(201)
    whole = model.simulate(duration=2.0, dt=0.01, inputs={"base.x": u}, outputs=["probe.x", "probe.ay"])
    part = model.simulate(
        duration=steps * 0.01, dt=0.01, inputs={"base.x": u[: steps + 1]}, outputs=["probe.x", "probe.ay"]
    )
    size = np.abs(whole.values).max(axis=0)
    np.testing.assert_allclose(part.values / size, whole.values[: steps + 1] / size, rtol=0, atol=1e-13)


def test_a_run_goes_on_to_the_same_bits_at_the_edges_of_chunks():
    ss = locally_damped(1).state_space(inputs=["base.x"])
    step = Step(ss, 0.01, ["smooth"])
    blocks = Blocks(step, 20_000)
    w = np.random.default_rng(0).standard_normal((20_000, step.into.shape[1]))
    y, z = np.empty((2, 20_000, len(ss.outputs)))
    state, again = np.zeros((2, step.into.shape[0]))
    blocks.advance(state, w, y)
    for first in range(0, 20_000, blocks.chunk):
        last = min(first + blocks.chunk, 20_000)
        Blocks(step, 20_000).advance(again, w[first:last], z[first:last])
    assert blocks.chunk < 10_000
    assert np.array_equal(y, z) and np.array_equal(state, again) and np.any(y)


@pytest.mark.parametrize("dense", [False, True])
def test_two_threads_share_many_states_and_do_not_change_the_bits(monkeypatch, dense):
    """More states than one thread moves on, pairs alone or with a dense block, against one thread and one share of all."""
    rng = np.random.default_rng(0)
    n = 210
    w2 = np.geomspace(1.0, 1e3, n)
    damping = np.diag(0.02 * np.sqrt(w2))
    if dense:
        # two pairs of modes without eigenvectors: det(s^2 + C s + K) = (s + w)^4
        for k, w in ((n - 4, 20.0), (n - 2, 25.0)):
            w2[k : k + 2] = 2.0 * w**2, 0.5 * w**2
            damping[k : k + 2, k : k + 2] = w * np.array([[8 / 3, 1 / np.sqrt(18)], [1 / np.sqrt(18), 4 / 3]])
    model = mse.LinearModel.from_matrices(np.eye(n), damping, np.diag(w2))
    ss = model.state_space(inputs=["x0", "x209"], outputs=["x0", "x100", "x209"])
    step, steps = Step(ss, 0.01, ["zoh", "foh"]), 20_001
    assert len(step.rest) == 8 * dense
    w = rng.standard_normal((steps, step.into.shape[1]))
    start = rng.standard_normal(step.into.shape[0])

    def run(shares):
        told, state, y = [], start.copy(), np.empty((steps, 3))
        blocks = Blocks(step, steps)
        assert len(blocks._shares) == shares
        blocks.advance(state, w, y, told.append)
        assert told[-1] == steps and told == sorted(set(told))
        return y, state

    both = run(2)
    monkeypatch.setattr("mse.analysis.time.steps.processors", lambda: 1)
    one = run(2)
    monkeypatch.setattr(SIZES, "shared_states", 10**9)
    undivided = run(1)
    for a, b, c in zip(both, one, undivided, strict=True):
        assert np.array_equal(a, b)
        np.testing.assert_allclose(a / np.abs(c).max(axis=0), c / np.abs(c).max(axis=0), rtol=0, atol=1e-12)


def test_runs_without_inputs_outputs_or_states():
    model = locally_damped(1)
    still = model.simulate(duration=0.5, dt=0.01)
    assert still.values.shape == (51, 6) and not still.values.any() and still.driven.shape == (51, 0)
    none = model.simulate(duration=0.5, dt=0.01, inputs={"base.x": np.ones(51)}, outputs=[])
    assert none.values.shape == (51, 0) and none.final_state["plate0.x"] != 0
    s = mse.MSystem("rigid", gravity=(0, 0, 0))
    base, probe = s.add(mse.PositionActuator("base")), s.add(mse.PositionSensor("probe"))
    s.clamp(s.ground, base.frame(1))
    s.clamp(base.frame(0), probe.frame(0))
    s.clamp(s.ground, probe.frame(1))
    rigid = s.find_working_point().linearize().simulate(duration=1.0, dt=0.1, inputs={"base.x": np.sin})
    np.testing.assert_allclose(rigid["probe.x"], np.sin(rigid.time), rtol=1e-14)
    assert rigid.final_state == {}


def test_inputs_are_not_changed_and_may_be_of_any_kind():
    model = locally_damped(1)
    u = np.linspace(0, 1, 101)
    before = u.copy()
    by_array = model.simulate(duration=1.0, dt=0.01, inputs={"base.x": u}, outputs=["probe.x"])
    by_list = model.simulate(duration=1.0, dt=0.01, inputs={"base.x": list(u)}, outputs=["probe.x"])
    # beside a function each input keeps its own hold
    mixed = model.simulate(duration=1.0, dt=0.01, inputs={"base.y": lambda t: 0.0, "base.x": u}, outputs=["probe.x"])
    assert np.array_equal(u, before) and np.array_equal(by_array.values, by_list.values)
    np.testing.assert_allclose(mixed["probe.x"], by_array["probe.x"], atol=1e-15)

    def shy(t):
        if np.ndim(t):
            raise TypeError("one time at once, please")
        return np.sin(9 * t)

    alone, together = (
        model.simulate(duration=1.0, dt=0.01, inputs={"base.x": f}, outputs=["probe.x"])
        for f in (shy, lambda t: np.sin(9 * t))
    )
    np.testing.assert_allclose(alone["probe.x"], together["probe.x"], rtol=0, atol=1e-14)


def test_an_empty_system_has_a_time_all_the_same():
    model = mse.MSystem("nothing").find_working_point().linearize()
    history = model.simulate(duration=1.0, dt=0.1)
    assert history.values.shape == (11, 0) and history.final_state == {}
    assert model.step_loop(dt=0.1).step() == 0.1


# -- inputs and numbers that are none -----------------------------------------------------------------------------
def fails_late(t):
    """At one time at once, as the condition has no one truth value for an array."""
    if t > 0.25:
        raise RuntimeError("no such file")
    return 1.0


def fails(t):
    raise RuntimeError("no signal")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda t: np.exp(1j * t), ["at t = 0 s is np.complex128(1+0j)", "expected a finite real number"]),
        (lambda t: 1j, ["at t = 0 s is 1j"]),
        (lambda t: "1", ["at t = 0 s is '1'"]),
        (lambda t: t > 0.5, ["at t = 0 s is np.False_"]),
        (lambda t: np.ma.masked_greater(t, 0.5), ["is masked"]),
        (lambda t: None, ["at t = 0 s is None"]),
        (lambda t: np.where(t > 0.55, np.nan, t), ["s is nan; expected a finite real number"]),
        (lambda t: t[1:], ["as a function of time gives shape (", "one finite real number for each time"]),
        (fails_late, [" s failed: RuntimeError: no such file"]),
        (fails, ["failed: RuntimeError: no signal"]),
        (lambda: 1.0, ["failed: TypeError", "takes 0 positional", "expected to be called as a function of t in s"]),
        (np.ones(11) * 1j, ["expected a function of time or real samples"]),
        (["1"] * 11, ["expected a function of time or real samples"]),
        (np.ma.masked_greater(np.arange(11.0), 5.0), ["expected a function of time or real samples"]),
    ],
)
@pytest.mark.parametrize("hold", [None, "zoh"])
def test_inputs_that_are_no_real_numbers(given, words, hold):
    with pytest.raises(mse.ModelError) as error:
        locally_damped(1).simulate(duration=1.0, dt=0.1, inputs={"base.x": given}, hold=hold)
    text = str(error.value)
    assert all(word in text for word in ("chain of 1: input 'base.x'", *words)), text
    if given is fails or given is fails_late:
        assert isinstance(error.value.__cause__, RuntimeError)


def test_what_grows_beyond_all_numbers_is_refused(tmp_path):
    toppling = mse.LinearModel.from_matrices([[1.0]], None, [[-1.0]], name="toppling")
    options = {"duration": 1000.0, "dt": 1.0, "initial": {"x0": 1.0}}
    for record in (None, tmp_path / "run.npy"):
        with pytest.raises(mse.ModelError, match=r"toppling: output 'x0' grows beyond the largest number by t = 711 s"):
            toppling.simulate(record=record, **options)
    with pytest.raises(mse.ModelError, match="the motion grows beyond the largest number"):
        toppling.simulate(outputs=[], **options)
    with pytest.raises(mse.ModelError, match=r"beyond the largest number within one step of 1000 s"):
        toppling.simulate(duration=1000.0, dt=1000.0, initial={"x0": 1.0})
    with pytest.raises(mse.ModelError, match=r"initial x0 is 1e\+308; expected a finite number.* at most"):
        toppling.simulate(duration=1.0, dt=0.1, initial={"x0": 1e308})
    with pytest.raises(mse.ModelError, match=r"dt is 5e-324 s|not a whole number|steps need"):
        toppling.simulate(duration=1.0, dt=5e-324)
    with pytest.raises(mse.ModelError, match="grows beyond the largest number"):
        toppling.simulate(duration=1.0, dt=0.1, inputs={"x0": np.full(11, 1.7e308)})


THREADS = """
import hashlib, sys
sys.path[:0] = {imported!r}
import numpy as np
from test_steps import locally_damped
model = locally_damped(12)
sha = hashlib.sha256()
for hold in ("zoh", "foh"):
    u = np.random.default_rng(0).standard_normal(3001)
    run = model.simulate(duration=30.0, dt=0.01, inputs={{"base.x": u, "base.ay": 0.1 * u}}, hold=hold)
    sha.update(run.values.tobytes() + str(run.final_state).encode())
loop = model.step_loop(dt=0.01, initial={{"plate0.x": 1e-3}})
for _ in range(100):
    loop.step()
sha.update(str(loop.state()).encode())
print(sha.hexdigest())
"""


@pytest.mark.slow
def test_threads_of_blas_do_not_change_the_bits():
    """144 states, for which OpenBLAS would wake its threads."""
    found = []
    for threads in ("1", "2"):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": threads, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", THREADS.format(imported=IMPORTED)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(done.stdout)
    assert found[0] == found[1] and len(found[0]) == 65


# -- the pieces ---------------------------------------------------------------------------------------------------
def test_phi_functions():
    """Against their integrals, ``int exp((1 - t) z) t^(k-1)/(k-1)!``, by Gauss-Legendre quadrature."""
    z = np.array([0.0, 1e-12, -1e-3, 0.5j, -1.9, -2.1, 1.9j, 2.1j, -30.0, 25j, -1 + 3j, -40 + 40j])
    x, w = np.polynomial.legendre.leggauss(60)
    t, w = 0.5 * (x + 1), 0.5 * w
    found = phi_functions(z, 5)
    np.testing.assert_allclose(found[0], np.exp(z), rtol=1e-15)
    for k in range(1, 6):
        factor = t ** (k - 1) / float(np.prod(range(1, k)))
        np.testing.assert_allclose(found[k], [w @ (np.exp((1 - t) * a) * factor) for a in z], rtol=3e-13, atol=2e-14)
    assert phi_functions(np.array([-1e6, -1.0]), 2)[1] == pytest.approx([1e-6, 1 - np.exp(-1)], rel=1e-14)


def test_more_than_memory_is_foreseen(monkeypatch):
    monkeypatch.setattr(mse.analysis.resources, "free_memory", lambda: 1e6)
    monkeypatch.setattr(mse.analysis.resources, "ALWAYS_FREE", 5e5)
    model = locally_damped(1)
    with pytest.raises(mse.ModelError, match=r"20000 steps need 0\.00112 GB.*at most 0\.0008 GB.*record='run\.npy'"):
        model.simulate(duration=200.0, dt=0.01)
    with pytest.raises(
        mse.ModelError, match=r"10000 steps need 0\.0016 GB"
    ):  # functions are looked at inside the steps
        model.simulate(duration=100.0, dt=0.01, inputs={"base.x": np.sin})
    model.simulate(duration=100.0, dt=0.01)
    loop = model.step_loop(dt=0.01)
    with pytest.raises(mse.ModelError, match="run fewer steps at a time"):
        loop.run(20_000, controller=numba.njit(lambda y, u, memory, t: None))


def test_states_may_have_any_names():
    """One mass and two dashpots without mass, which may be named like velocities of the mass."""
    mass, damping = np.diag([1.0, 0.0, 0.0]), np.diag([0.1, 2.0, 3.0])
    stiffness = np.array([[50.0, -10.0, -5.0], [-10.0, 20.0, 0.0], [-5.0, 0.0, 30.0]])
    found = []
    for names in (("a", "b", "c"), ("a", "a'", "a''")):
        model = mse.LinearModel.from_matrices(mass, damping, stiffness, coordinates=names)
        ss = pickle.loads(pickle.dumps(model.state_space(inputs=[names[0]], outputs=[names[0]])))
        form = normal_form(ss, 0.01)
        found.append((ss.with_mass, form.to, form.back, form.oscillating, form.real, form.coupled, form.rest))
    assert found[0][0] == 1
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
