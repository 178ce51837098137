"""What is told of long tasks, to whom, and what an interrupted one leaves."""

from __future__ import annotations

import gc
import io
import logging
import os
import sys
import threading
import weakref
from contextlib import contextmanager
from types import SimpleNamespace

import numba
import numpy as np
import pytest

import mse
from models import four_wire_chain
from mse.analysis.frequency import response
from mse.analysis.modes import large_damped
from mse.analysis.time import state_space, steps
from mse.analysis.time.step_loop import StepLoop
from mse.numerics.lanczos import Lanczos
from mse.numerics.options import SIZES
from mse.progress import bars, tasks
from mse.progress.tasks import Compiling, Task
from mse.statics.continuation import Curve
from terminal import Screen


def to_stream(stream, monkeypatch):
    """Let bars go to a stream instead of stderr, which is pytest's."""
    monkeypatch.setattr(bars, "sys", SimpleNamespace(stderr=stream, modules=sys.modules))
    return stream


@pytest.fixture
def screen(monkeypatch) -> Screen:
    """A terminal on which every report is drawn."""
    monkeypatch.setattr(tasks, "_PATIENCE", 0.0)
    monkeypatch.setattr(tasks, "_PERIOD", 0.0)
    monkeypatch.setenv("COLUMNS", "200")
    return to_stream(Screen(), monkeypatch)


@pytest.fixture
def model() -> mse.LinearModel:
    m, k = np.diag([1.0, 2.0]), np.array([[8.0, -4.0], [-4.0, 4.0]])
    return mse.LinearModel.from_matrices(m, 0.01 * k, k, coordinates=["a.x", "b.x"])


def truss(height: float = 0.3) -> mse.MSystem:
    system = mse.MSystem("truss")
    apex = system.add(mse.RigidBody("apex", mass=1.0, inertia=1.0, at=mse.Pose.dz(height)))
    for k in range(3):
        bar = system.add(mse.Spring(f"bar{k}", length=np.hypot(1.0, height), stiffness=2000.0))
        system.clamp(system.ground, bar.frame(0), mse.Pose.rz(2 * np.pi * k / 3) @ mse.Pose.dx(1.0))
        system.clamp(bar.frame(1), apex.frame(0))
    return system


def point() -> mse.WorkingPoint:
    with mse.show_progress(False):
        return truss().find_working_point()


@numba.njit
def nothing(outputs, inputs, memory, time):
    pass


def loop(model: mse.LinearModel) -> StepLoop:
    with mse.show_progress(False):
        return model.step_loop(dt=0.1, initial={"a.x": 1.0})


# -- the bar ------------------------------------------------------------------------------------------------------
def test_a_bar_goes_away_with_its_task(screen):
    with Task("stage", "simulating", 1000, "steps") as task:
        task.tell(400)
    (line,) = screen.lines()
    assert line.startswith("stage: simulating |") and line.endswith("|  40 %, 0 s left")
    assert screen.left() == ""


def test_what_cannot_be_counted_beforehand_has_no_bar(screen):
    with Task("stage", "tracing a%b", unit="points") as task:
        task.tell(1200, "%s = %.3g", "a%b", 0.5)
    assert screen.lines()[-1] == "stage: tracing a%b, 1,200 points, 0 s (a%b = 0.5)"


def test_stages_stand_in_the_line_of_the_first_task(screen):
    with Task("stage", "tracing") as task:
        with Task("stage", "searching", unit="steps") as search:
            search.tell(3)
            with Compiling("beams", "kept here"):
                pass
        task.tell(1)
    assert "stage: tracing, 0 s (searching, 3 steps, compiling beams, once)" in screen.lines()
    assert "stage: tracing, 0 s" in screen.lines()


def test_a_stage_of_the_same_name_counts_for_its_task(screen):
    with Task("stage", "searching") as task:
        with Task("stage", "searching", unit="steps") as search:
            search.tell(7, "residual %.1e", 1e-3)
        assert screen.lines()[-1] == "stage: searching, 7 steps, 0 s (residual 1.0e-03)"
        assert task.progress().done == 7


def test_an_interrupted_task_leaves_its_bar(screen):
    with pytest.raises(KeyboardInterrupt) as stopped, Task("stage", "simulating", 1000, "steps") as task:
        task.tell(500)
        raise KeyboardInterrupt
    assert screen.left().startswith("stage: simulating |") and screen.left().endswith("|  50 %, 0 s left\n")
    (note,) = stopped.value.__notes__
    assert note == "mse: stage: simulating was interrupted after 0 s, 500 steps"


def test_a_failed_task_takes_its_bar_away(screen):
    with pytest.raises(ZeroDivisionError), Task("stage", "simulating") as task:
        task.tell(1)
        raise ZeroDivisionError
    assert screen.lines() and screen.left() == ""


def test_a_short_task_shows_nothing(screen, monkeypatch):
    monkeypatch.setattr(tasks, "_PATIENCE", 1e6)
    with Task("stage", "factorizing") as task:
        task.tell(1)
    assert screen.getvalue() == ""


def test_the_first_kernel_is_shown_before_it_is_compiled(screen, monkeypatch):
    monkeypatch.setattr(tasks, "_PATIENCE", 1e6)
    with Task("stage", "searching"), Compiling("beams", "kept here"):
        assert screen.lines() == ["stage: searching, 0 s (compiling beams, once)"]


def test_reports_are_few_and_no_thread_makes_them(screen, monkeypatch):
    monkeypatch.setattr(tasks, "_PERIOD", 1e6)
    before = threading.enumerate()
    with Task("stage", "counting", 10_000) as task:
        for k in range(10_000):
            task.tell(k + 1)
        assert threading.enumerate() == before
    assert len(screen.lines()) == 1


def test_a_closed_terminal_ends_no_run(screen):
    with Task("stage", "simulating") as task:
        task.tell(1)
        screen.close()
        task.tell(2)
        assert task.finished(3) == 3


@pytest.mark.parametrize("record", [True, False])
def test_simulating_shows_a_bar_on_terminals_alone(model, tmp_path, screen, monkeypatch, record):
    def run(name, **options):
        options |= {"record": tmp_path / name} if record else {}
        model.simulate(duration=100.0, dt=0.01, inputs={"a.x": np.sin}, **options)

    run("a.npy", progress=False)
    assert screen.getvalue() == ""
    run("b.npy")
    assert "model: simulating |" in screen.getvalue() and screen.left() == ""
    stream = to_stream(io.StringIO(), monkeypatch)
    run("c.npy")
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("value", "shown"), [("0", False), (" Off", False), ("1", True), ("", True)])
def test_the_environment_turns_it_off(value, shown, monkeypatch):
    monkeypatch.setenv("MSE_PROGRESS", value)
    assert bars.by_environment() is shown


def test_it_is_turned_off_for_a_block(screen):
    with mse.show_progress(False), Task("stage", "factorizing") as task:
        task.tell(1)
        assert screen.getvalue() == ""
    with Task("stage", "factorizing") as task:
        task.tell(1)
        assert screen.getvalue() != ""


@pytest.mark.parametrize("wrong", [None, "no", 0, 1.0])
def test_it_is_turned_to_no_other_thing(model, wrong):
    with pytest.raises(mse.ModelError, match=r"show_progress\(\) got .*; expected True, False or a function of one"):
        mse.show_progress(wrong)
    with pytest.raises(mse.ModelError, match="model: progress got .*; expected True, False or a function of one"):
        model.frequency_response([1.0], progress=wrong)


LONG_PERIOD = [
    lambda model, **options: truss().find_working_point(**options),
    lambda model, **options: truss().relaxation().run(**options),
    lambda model, **options: point().update({"bar0.stiffness": 2200.0}, **options),
    lambda model, **options: point().linearize(**options),
    lambda model, **options: point().linearize(within="bar0", **options),
    lambda model, **options: truss().find_instability(max_load_factor=2.0, **options),
    lambda model, **options: truss().trace("load_factor", 2.0, **options),
    lambda model, **options: model.modes(**options),
    lambda model, **options: model.modes(damped=True, **options),
    lambda model, **options: model.frequency_response([1.0], **options),
    lambda model, **options: model.resonance_grid(0.1, 1.0, **options),
    lambda model, **options: model.state_space(**options),
    lambda model, **options: model.state_space(up_to_hz=1.0, **options),
    lambda model, **options: model.simulate(duration=0.1, dt=0.01, **options),
    lambda model, **options: model.step_loop(dt=0.1, **options),
    lambda model, **options: loop(model).run(10, controller=nothing, **options),
    lambda model, **options: mse.reduce_model(model, ["a.x"], modes=1, **options),
    lambda model, **options: mse.reduce_matrices(model.M, None, model.K, [0], modes=1, **options),
]


@pytest.mark.parametrize("call", LONG_PERIOD)
def test_each_long_call_is_told_where_to_show_itself(call, model, screen):
    call(model, progress=False)
    assert screen.getvalue() == ""
    told: list[mse.Progress] = []
    call(model, progress=told.append)
    assert len({now.task for now in told}) == 1 and screen.getvalue() == ""


def test_a_fork_shows_nothing_of_what_its_parent_does(screen):
    if not hasattr(os, "fork"):
        return
    with Task("stage", "factorizing") as task:
        task.tell(1)
        child = os.fork()
        if child == 0:
            shown = screen.getvalue()
            task.tell(2)
            with Task("stage", "simulating") as inner:
                inner.tell(1)
            task.__exit__(None, None, None)
            os._exit(int(screen.getvalue() != shown))
        assert os.waitpid(child, 0)[1] == 0
    assert screen.left() == ""


# -- compiling ----------------------------------------------------------------------------------------------------
def test_compiling_leaves_a_line_after_the_task_that_needed_it(screen):
    with Task("stage", "searching"):
        for subject in ("beams", "joints", "beams"):
            with Compiling(subject, "kept in a folder"):
                pass
    assert screen.left() == "mse: compiled for this machine, once, in 0.0 s: beams, joints (kept in a folder)\n"


def test_short_compiling_leaves_none(screen, monkeypatch):
    monkeypatch.setattr(tasks, "_PATIENCE", 60.0)
    with Task("stage", "searching"), Compiling("beams", "kept in a folder"):
        pass
    assert screen.left() == ""


# -- the logger -----------------------------------------------------------------------------------------------------
def test_the_logger_has_sentences(screen, caplog, monkeypatch):
    caplog.set_level(logging.INFO, "mse")
    with Task("stage", "simulating", 1000, "steps") as task:
        task.tell(500)
        task.tell(500)  # says no more for a minute
        monkeypatch.setattr(tasks, "_SENTENCES", 0.0)
        task.tell(500)
        monkeypatch.setattr(tasks, "_SENTENCES", 60.0)
        task.tell(1000)
    assert caplog.messages == [
        "stage: simulating, 500 of 1,000 steps, 0 s left",
        "stage: simulating, 500 of 1,000 steps, 0 s left",
        "stage: simulating took 0 s, 1,000 steps",
    ]


def test_the_logger_hears_what_is_shown_nowhere(caplog, monkeypatch):
    caplog.set_level(logging.INFO, "mse")
    monkeypatch.setattr(tasks, "_PATIENCE", 0.0)
    with pytest.raises(ZeroDivisionError), mse.show_progress(False), Task("stage", "simulating") as task:
        task.tell(0)
        raise ZeroDivisionError
    assert caplog.messages == ["stage: simulating, 0 s", "stage: simulating failed after 0 s"]


# -- callbacks --------------------------------------------------------------------------------------------------------
def test_a_callback_gets_records_in_the_thread_that_computes(monkeypatch):
    monkeypatch.setattr(tasks, "_PERIOD", 0.0)
    told: list[tuple[mse.Progress, int]] = []
    curve = truss().trace("load_factor", 20.0, progress=lambda now: told.append((now, threading.get_ident())))
    assert {thread for _, thread in told} == {threading.get_ident()}
    records = [now for now, _ in told]
    assert {r.task for r in records} == {"truss: tracing load_factor"}
    assert [r.elapsed for r in records] == sorted(r.elapsed for r in records)
    counts = [r.done for r in records if r.unit == "points"]
    assert counts == sorted(counts) and counts[-1] >= len(curve.values) - 1
    assert any("load_factor = " in r.stage for r in records)
    with pytest.raises(AttributeError):
        records[0].done = 1


def test_callbacks_are_few(model):
    told: list[mse.Progress] = []
    with mse.show_progress(told.append), Task("stage", "counting", 10_000) as task:
        for k in range(10_000):
            task.tell(k + 1)
    assert told[0].done == 0 and told[-1].done == 10_000
    assert len(told) <= 2 + told[-1].elapsed / tasks._PERIOD


def test_time_left_counts_what_was_done_here():
    with Task("stage", "simulating", 1000, "steps", first=900) as task:
        task.tell(950)
        now = task.progress()
        assert now.left == pytest.approx(now.elapsed, rel=0.5)  # 50 done, 50 to go
    assert "90 %" in str(now._replace(done=900)) and str(now._replace(left=200.0)).endswith("%, 3 min left")
    assert str(now._replace(left=3e4)).endswith("%, 8 h 20 min left")


def test_what_a_callback_raises_ends_the_task(model):
    def fail(now):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        model.simulate(duration=1.0, dt=0.1, progress=fail)
    assert not tasks._here.stack


def test_a_callback_does_not_fail_amid_compiling(monkeypatch):
    monkeypatch.setattr(tasks, "_PERIOD", 0.0)
    passed = []

    def fail(now):
        if "compiling" in now.stage:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), mse.show_progress(fail), Task("stage", "searching") as task:
        with Compiling("beams", "kept"):
            passed.append("compiled")
        task.tell(1)
    assert passed == ["compiled"]


# -- interrupted --------------------------------------------------------------------------------------------------------
@pytest.fixture
def interrupt(monkeypatch):
    """Interrupts a task, as Ctrl-C does, the first time that something holds for it."""
    monkeypatch.setattr(tasks, "_PERIOD", 0.0)

    @contextmanager
    def at(holds):
        def stop(now: mse.Progress) -> None:
            if holds(now):
                raise KeyboardInterrupt

        with mse.show_progress(stop):
            yield

    return at


def test_an_interrupted_trace_has_its_points(interrupt):
    whole = truss().trace("load_factor", 20.0)
    with (
        pytest.raises(mse.Interrupted, match=r"truss: interrupted at load_factor = .*, after 8 points") as stopped,
        interrupt(lambda now: now.done >= 8),
    ):
        truss().trace("load_factor", 20.0)
    curve = stopped.value.result
    assert len(curve.values) == 8 and not curve.complete and curve.reason.startswith("interrupted at load_factor")
    assert np.array_equal(curve.values, whole.values[:8])
    assert [e.value for e in curve.events] == [e.value for e in whole.events][: len(curve.events)]


def test_an_interrupted_search_for_an_instability_knows_how_far_it_was_stable(interrupt):
    whole = truss().find_instability()
    with pytest.raises(mse.Interrupted, match="stable up to") as stopped, interrupt(lambda now: now.done >= 3):
        truss().find_instability()
    part = stopped.value.result
    assert not part.found and part.working_point.stable
    assert 0.0 < part.max_load_factor == part.working_point.load_factor < whole.load_factor


def test_an_interrupted_run_has_its_samples(model, interrupt, monkeypatch):
    monkeypatch.setattr(SIZES, "run_bytes", 1e3)
    options = {"dt": 0.01, "inputs": {"a.x": np.sin}, "initial": {"b.x": 1.0}}
    whole = model.simulate(duration=1000.0, **options)
    with (
        pytest.raises(mse.Interrupted, match=r"interrupted after \d+ of 100000 steps") as stopped,
        interrupt(lambda now: now.done > 30_000),
    ):
        model.simulate(duration=1000.0, **options)
    part = stopped.value.result
    count = len(part.time)
    assert 30_000 < count < 100_000 and np.array_equal(part.time, whole.time[:count])
    assert np.array_equal(part.values[:-1], whole.values[: count - 1])
    np.testing.assert_allclose(part.values[-1], whole.values[count - 1], rtol=1e-12, atol=1e-15)
    there = model.simulate(duration=part.time[-1], **options).final_state
    assert part.final_state == pytest.approx(there, rel=1e-12, abs=1e-15)


def test_an_interrupted_recording_has_its_samples_and_goes_on(model, interrupt, tmp_path):
    options = {"duration": 1000.0, "dt": 0.01, "inputs": {"a.x": np.sin}}
    whole = model.simulate(**options, record=tmp_path / "whole.npy")
    with pytest.raises(KeyboardInterrupt), interrupt(lambda now: now.done > 30_000):
        model.simulate(**options, record=tmp_path / "run.npy")
    again = model.simulate(**options, record=tmp_path / "run.npy")
    assert np.array_equal(again.values, whole.values)


@pytest.mark.parametrize("way", ["sparse", "threads", "pivots", "dense"])
def test_an_interrupted_response_has_its_frequencies(interrupt, monkeypatch, way):
    n = 12 if way == "dense" else 60
    k = np.diag(np.full(n, 2.0)) - np.eye(n, k=1) - np.eye(n, k=-1)
    chain = mse.LinearModel.from_matrices(np.eye(n), 0.01 * k, k, coordinates=[f"m{i}.x" for i in range(n)])
    f = np.linspace(0.5, 0.01, 400)
    names = {"inputs": ["m0.x"], "outputs": ["m3.x", "m5.x"], "bound": 0.0}
    monkeypatch.setattr(SIZES, "sweep_cycles", 1.0)
    monkeypatch.setattr(SIZES, "pivoted_bytes", 1.0)
    if way in ("dense", "pivots"):
        monkeypatch.setattr("mse.analysis.frequency.response.Sweep", None)
        monkeypatch.setattr(SIZES, "few_coordinates", 1000)
        monkeypatch.setattr(SIZES, "few_frequencies", 1000)
    if way == "pivots":
        monkeypatch.setattr(SIZES, "dense", 5)
    monkeypatch.setattr(SIZES, "shared_cycles", 1.0)
    monkeypatch.setattr("mse.analysis.frequency.sweep.processors", lambda: 2 if way == "threads" else 1)
    whole = chain.frequency_response(f, **names)
    with (
        pytest.raises(mse.Interrupted, match=r"interrupted after \d+ of 400 frequencies") as stopped,
        interrupt(lambda now: now.done >= 100),
    ):
        chain.frequency_response(f, **names)
    part = stopped.value.result
    count = len(part.frequencies_hz)
    assert 100 <= count < 400 or way == "threads"  # the other thread may have been quick
    where = np.isin(f, part.frequencies_hz)
    assert np.array_equal(part.frequencies_hz, f[where]) and np.array_equal(part.values, whole.values[where])
    assert part.notes == (f"interrupted after {count} of 400 frequencies",)


@pytest.mark.parametrize("lossy", [True, False])
def test_an_interrupted_budget_has_its_frequencies(interrupt, monkeypatch, lossy):
    k = np.diag(np.full(60, 2.0)) - np.eye(60, k=1) - np.eye(60, k=-1)
    damping = 0.01 * k if lossy else None
    names = [f"m{i}.x" for i in range(60)]
    chain = mse.LinearModel.from_matrices(np.eye(60), damping, k, coordinates=names)
    f = np.linspace(0.4, 0.5, 400)
    monkeypatch.setattr(SIZES, "sweep_cycles", 1.0)
    monkeypatch.setattr("mse.analysis.frequency.sweep.processors", lambda: 1)
    whole = chain.noise(f, "m3.x", inputs={"m0.x": 1.0})
    with (
        pytest.raises(mse.Interrupted, match=r"interrupted after \d+ of 400 frequencies") as stopped,
        interrupt(lambda now: now.done >= 100),
    ):
        chain.noise(f, "m3.x", inputs={"m0.x": 1.0})
    part = stopped.value.result
    where = np.isin(f, part.frequencies_hz)
    assert 100 <= len(part.frequencies_hz) < 400 and part.sources == whole.sources
    assert np.array_equal(part.frequencies_hz, f[where]) and np.array_equal(part.densities, whole.densities[:, where])
    assert part.notes[0] == f"interrupted after {where.sum()} of 400 frequencies"


def test_what_is_interrupted_with_loops_closed_is_that_of_the_closed_model(interrupt, monkeypatch):
    chain = line_of_masses(60)
    closed = chain.feedback({("m0.x", "m0.x"): mse.Controller.zpk([0.0], [], 0.2)})
    f = np.linspace(0.01, 0.5, 400)
    monkeypatch.setattr(SIZES, "sweep_cycles", 1.0)
    monkeypatch.setattr("mse.analysis.frequency.sweep.processors", lambda: 1)
    ask = {"inputs": ["m1.x"], "outputs": ["m3.x"]}
    whole = closed.frequency_response(f, **ask)
    with pytest.raises(mse.Interrupted) as stopped, interrupt(lambda now: now.done >= 100):
        closed.frequency_response(f, **ask)
    part = stopped.value.result
    where = np.isin(f, part.frequencies_hz)
    assert part.outputs == ("m3.x",) and 100 <= where.sum() < 400
    np.testing.assert_allclose(part.values, whole.values[where], rtol=1e-12)
    damper = mse.Controller.zpk([0.0], [], 0.2)

    def stop(task, done):
        if done >= 100:
            raise KeyboardInterrupt

    monkeypatch.setattr(Task, "tell", stop)
    for call in (lambda: closed.noise(f, "m3.x"), lambda: chain.feedback({("m0.x", "m0.x"): damper}).margins()):
        with pytest.raises(KeyboardInterrupt) as stopped:
            call()
        assert type(stopped.value) is KeyboardInterrupt


def line_of_masses(n: int) -> mse.LinearModel:
    k = np.diag(np.full(n, 2.0)) - np.eye(n, k=1) - np.eye(n, k=-1)
    return mse.LinearModel.from_matrices(np.eye(n), 0.01 * k, k, coordinates=[f"m{i}.x" for i in range(n)])


@pytest.mark.parametrize("rounds", [1, 3])  # samples, checks, samples of halves
def test_an_interrupted_interpolated_response_has_what_was_solved_and_taken(rounds, monkeypatch):
    chain = line_of_masses(25)
    # crowded resonances at first, so that the first windows are halved, and none in the others
    f = np.concatenate([np.linspace(0.01, 0.33, 2048), np.linspace(0.5, 3.0, 4096)])[::-1]
    names = {"inputs": ["m0.x"], "outputs": ["m1.x", "m5.x"], "bound": 1e-6}
    monkeypatch.setattr(SIZES, "interpolated_frequencies", 100)
    monkeypatch.setattr(SIZES, "interpolated_cycles", 0.0)
    whole = chain.frequency_response(f, **(names | {"bound": 0.0}))
    assert "interpolation" in str(chain.frequency_response(f, **names).notes)
    monkeypatch.setattr(SIZES, "sweep_cycles", 1.0)
    monkeypatch.setattr("mse.analysis.frequency.sweep.processors", lambda: 1)
    calls, sweep = [], response.Sweep.__call__

    def once_more(self, w, tell):
        calls.append(len(w))

        def stop(done):
            if len(calls) == rounds and done >= 24:
                raise KeyboardInterrupt

        return sweep(self, w, stop)

    monkeypatch.setattr(response.Sweep, "__call__", once_more)
    with pytest.raises(mse.Interrupted, match=r"interrupted after \d+ of 6144 frequencies") as stopped:
        chain.frequency_response(f, **names)
    part = stopped.value.result
    where = np.isin(f, part.frequencies_hz)
    assert np.array_equal(part.frequencies_hz, f[where])
    scale = np.abs(whole.values).max()
    np.testing.assert_allclose(part.values, whole.values[where], atol=1e-6 * scale)
    assert (len(part.notes) == 2) == (rounds == 3)
    if rounds == 1:
        assert 24 <= len(part.frequencies_hz) < calls[0]
    else:
        assert len(part.frequencies_hz) > 2000 and "by rational interpolation" in part.notes[1]


def test_an_interrupted_resonance_grid_is_the_grid_so_far(interrupt, monkeypatch):
    chain = line_of_masses(40)
    monkeypatch.setattr(SIZES, "sweep_cycles", 1.0)
    monkeypatch.setattr("mse.analysis.frequency.sweep.processors", lambda: 1)
    options = {"low_hz": 0.01, "high_hz": 0.4, "points_per_width": 4.0}
    whole = chain.resonance_grid(**options)
    grids = []
    for round_ in (1, 3):
        seen = []

        def there(now, round_=round_, seen=seen):
            if "solving" in now.stage and now.stage.partition(" of ")[2] not in seen[-1:]:
                seen.append(now.stage.partition(" of ")[2])
            return len(seen) == round_

        with (
            pytest.raises(mse.Interrupted, match=r"interrupted with \d+ frequencies, .* \d+ intervals") as stopped,
            interrupt(there),
        ):
            chain.resonance_grid(**options)
        grids.append(stopped.value.result)
    for grid in grids:
        np.testing.assert_array_equal(grid.resonances_hz, whole.resonances_hz)
        assert np.isin(grid.frequencies_hz, whole.frequencies_hz).all()
        assert "were not fully compared" in str(grid.notes)
    assert len(grids[0]) == len(whole) - whole.added <= len(grids[1])


def test_interrupted_modes_of_exact_members_are_the_lowest(interrupt):
    system = mse.MSystem("violin", gravity=(0, 0, -9.81))
    steel = {"young_modulus": 2e11, "poisson_ratio": 0.3, "density": 7800.0}
    wire = system.add(mse.RoundBeam("wire", length=0.5, radius=1e-4, form="exact", **steel))
    system.clamp(system.ground, wire.frame(0), mse.Pose.ry(np.pi / 2))
    system.add(mse.RigidBody("mass", mass=1.0, inertia=0.01), between=(wire.frame(1),))
    linear = system.find_working_point().linearize()
    whole = linear.modes(12)
    with (
        pytest.raises(mse.Interrupted, match="violin: interrupted with the [6-9] lowest of 12 modes") as stopped,
        interrupt(lambda now: now.done >= 6),
    ):
        linear.modes(12)
    part = stopped.value.result
    assert not part.complete and part.notes[0].startswith("interrupted with")
    np.testing.assert_allclose(part.frequencies_hz, whole.frequencies_hz[: len(part)], rtol=1e-9)


@pytest.mark.parametrize("at", [1, 8, 14])
def test_interrupted_modes_of_a_large_model_are_those_found_and_say_that_they_are_not_counted(at, monkeypatch):
    n = 700
    k = np.diag(np.full(n, 2.0)) - np.eye(n, k=1) - np.eye(n, k=-1)
    model = mse.LinearModel.from_matrices(np.eye(n), None, k)
    whole = model.modes(n)
    solved = []

    def stopping(solve, mass, dimension):
        def once(b):
            solved.append(b)
            if len(solved) == at:
                raise KeyboardInterrupt
            return solve(b)

        return Lanczos(once, mass, dimension)

    monkeypatch.setattr("mse.analysis.modes.large.Lanczos", stopping)
    with pytest.raises(mse.Interrupted, match=r"interrupted with \d+ of 12 modes; these were not counted") as stopped:
        model.modes(12)
    part = stopped.value.result
    assert not part.complete and not part.damped
    for mode in part:
        k_ = int(np.argmin(np.abs(whole.frequencies_hz - mode.frequency_hz)))
        assert mode.frequency_hz == pytest.approx(whole.frequencies_hz[k_], rel=1e-9)
        assert np.abs(mode.vector @ whole[k_].vector) == pytest.approx(1.0, rel=1e-6)
    assert len(part) > 5 or at < 14


@pytest.mark.parametrize(("where", "at"), [("large_undamped", 1), ("eigs", 1), ("eigs", 2), ("missing_inside", 1)])
def test_interrupted_damped_modes_of_a_large_model_are_those_of_the_last_search(where, at, monkeypatch):
    n = 700
    k = np.diag(np.full(n, 2.0)) - np.eye(n, k=1) - np.eye(n, k=-1)
    model = mse.LinearModel.from_matrices(np.eye(n), 1e-3 * k, k)
    whole = model.modes(13, damped=True)
    own, begun = getattr(large_damped, where), []

    def stopping(*arguments, **options):
        begun.append(where)
        if len(begun) == at:
            raise KeyboardInterrupt
        found = own(*arguments, **options)
        return (
            found if where != "eigs" else (found[0][1:], found[1][:, 1:])
        )  # one is missing, which a second search finds

    monkeypatch.setattr(large_damped, where, stopping)
    with pytest.raises(mse.Interrupted, match=r"interrupted with \d+ of 12 modes; these were not counted") as stopped:
        model.modes(12, damped=True)
    part = stopped.value.result
    assert part.damped and not part.complete and part.notes[0].startswith("interrupted with")
    assert len(part) == (0 if where == "large_undamped" or (at == 1 and where == "eigs") else 12)
    for mode in part:
        k_ = int(np.argmin(np.abs(whole.eigenvalues - mode.eigenvalue)))
        assert mode.eigenvalue == pytest.approx(whole.eigenvalues[k_], rel=1e-9)


def test_an_interrupted_loop_has_its_samples_and_goes_on(model, interrupt, monkeypatch):
    @numba.njit
    def brake(outputs, inputs, memory, time):
        inputs[0] = -0.3 * outputs[0]
        memory[0] += 1.0

    monkeypatch.setattr(SIZES, "loop_steps", 16)
    monkeypatch.setattr(SIZES, "loop_seconds", 0.0)
    whole = model.step_loop(dt=0.1, initial={"a.x": 1.0}).run(1000, controller=brake, memory=[0.0])
    loop = model.step_loop(dt=0.1, initial={"a.x": 1.0})
    with (
        pytest.raises(mse.Interrupted, match="interrupted after 320 of 1000 steps") as stopped,
        interrupt(lambda now: now.done >= 320),
    ):
        loop.run(1000, controller=brake, memory=[0.0])
    part = stopped.value.result
    assert len(part.time) == 321 and np.array_equal(part.values[:-1], whole.values[:320])
    rest = loop.run(680, controller=brake, memory=[0.0])
    assert np.array_equal(rest.values, whole.values[320:]) and np.array_equal(rest.time, whole.time[320:])


def test_an_interrupted_search_goes_on_from_there(interrupt):
    whole = truss().relaxation().run()
    search = truss().relaxation()
    with pytest.raises(KeyboardInterrupt) as stopped, interrupt(lambda now: now.done >= 2):
        search.run()
    assert stopped.value.__notes__ == ["mse: truss: searching for the working point was interrupted after 0 s, 2 steps"]
    assert 0 < len(search.history) < len(whole.history)
    found = search.run()
    assert found.converged and np.array_equal(found.state.o, whole.state.o)


@pytest.mark.parametrize("call", LONG_PERIOD)
def test_who_interrupts_the_last_report_has_the_whole_result(call, model, monkeypatch):
    monkeypatch.setattr(tasks, "_PERIOD", np.inf)  # tasks and compilations as they begin and end, nothing between
    whole = call(model, progress=False)
    told = []

    def stop(now: mse.Progress) -> None:
        told.append(now)
        if "compiling" not in now.stage and len([t for t in told if "compiling" not in t.stage]) == 2:
            raise KeyboardInterrupt

    with pytest.raises(mse.Interrupted) as stopped:
        call(model, progress=stop)
    assert type(stopped.value.result) is type(whole) and repr(stopped.value.result) == repr(whole)
    assert not tasks._here.stack


def test_a_point_whose_events_are_unknown_is_left_out(monkeypatch):
    whole, advance = truss().trace("load_factor", 20.0), Curve.advance

    def interrupted(curve):
        events = advance(curve)
        if len(curve.places) > 8:
            raise KeyboardInterrupt
        return events

    monkeypatch.setattr(Curve, "advance", interrupted)
    with pytest.raises(mse.Interrupted) as stopped:
        truss().trace("load_factor", 20.0)
    assert np.array_equal(stopped.value.result.values, whole.values[:8])


def test_a_run_interrupted_between_two_signs_ends_at_the_one_before(model, monkeypatch):
    monkeypatch.setattr(SIZES, "run_bytes", 1e3)
    options = {"dt": 0.01, "inputs": {"a.x": np.sin}, "initial": {"b.x": 1.0}}
    whole, march, calls = model.simulate(duration=1000.0, **options), steps.march, []

    def interrupted(*arrays):
        march(*arrays)
        calls.append(len(arrays))
        if len(calls) == 20:
            raise KeyboardInterrupt

    monkeypatch.setattr(steps, "march", interrupted)
    with pytest.raises(mse.Interrupted) as stopped:
        model.simulate(duration=1000.0, **options)
    part = stopped.value.result
    count = len(part.time)
    assert 1 < count < 100_000
    np.testing.assert_allclose(part.values, whole.values[:count], rtol=1e-12, atol=1e-15)


def test_a_loop_interrupted_at_once_stands_at_its_beginning(model, interrupt):
    standing = loop(model)
    with pytest.raises(mse.Interrupted, match="after 0 of 10 steps") as stopped, interrupt(lambda now: True):
        standing.run(10, controller=nothing)
    part = stopped.value.result
    assert part["a.x"] == pytest.approx([1.0], rel=1e-14)
    assert standing.time == 0.0


def test_a_loop_interrupted_while_its_controller_is_compiled_stands_at_its_beginning(model, interrupt):
    @numba.njit
    def push(outputs, inputs, memory, time):
        inputs[0] = -0.3 * outputs[0]

    whole, standing = loop(model).run(10, controller=push), loop(model)
    with (
        pytest.raises(mse.Interrupted, match="after 0 of 10 steps") as stopped,
        interrupt(lambda now: "compiling the controller" in now.stage),
    ):
        standing.run(10, controller=push)
    assert len(stopped.value.result.time) == 1 and standing.time == 0.0
    assert np.array_equal(standing.run(10, controller=push).values, whole.values)


def test_a_loop_interrupted_after_its_last_step_has_them_all(model, monkeypatch):
    monkeypatch.setattr(tasks, "_PERIOD", 0.0)
    told: list[mse.Progress] = []
    whole = loop(model).run(10, controller=nothing, progress=told.append)
    assert [now.done for now in told[-2:]] == [10, 10]  # by the last step, and by the end of the task
    calls = []

    def at_the_end(now):
        calls.append(now)
        if len(calls) == len(told):
            raise KeyboardInterrupt

    standing = loop(model)
    with pytest.raises(mse.Interrupted, match="after 10 of 10 steps") as stopped:
        standing.run(10, controller=nothing, progress=at_the_end)
    assert np.array_equal(stopped.value.result.values, whole.values)
    assert standing.time == pytest.approx(1.0)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_an_interrupted_update_leaves_the_working_point_as_it_was(steps, interrupt):
    changes = {"bar0.length": 1.03, "apex.mass": 3.0}
    untouched, expected = point(), point().update(changes)
    wp = point()
    with pytest.raises(KeyboardInterrupt) as stopped, interrupt(lambda now: now.unit == "steps" and now.done >= steps):
        wp.update(changes)
    assert not isinstance(stopped.value, mse.Interrupted)
    assert "searching for the working point was interrupted after" in stopped.value.__notes__[0]
    assert np.array_equal(wp.state.o, untouched.state.o) and np.array_equal(wp.residual, untouched.residual)
    assert wp.tensions == untouched.tensions
    assert (wp.linearize().K != untouched.linearize().K).nnz == 0
    again = wp.update(changes)
    assert np.array_equal(again.state.o, expected.state.o) and again.tensions == expected.tensions


@pytest.mark.parametrize("where", ["mse.linear.linearize.JointRows", "mse.linear.linearize.ElementParts"])
def test_an_interrupted_linearization_leaves_nothing_half_done(where, monkeypatch):
    wp, expected = point(), point().linearize()

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(where, stop)
        with pytest.raises(KeyboardInterrupt) as stopped:
            wp.linearize()
    assert (
        not isinstance(stopped.value, mse.Interrupted) and "linearizing was interrupted" in stopped.value.__notes__[0]
    )
    model = wp.linearize()
    assert (model.K != expected.K).nnz == 0 and (model.M != expected.M).nnz == 0


@pytest.mark.parametrize("where", ["condense", "soft_modes"])
def test_an_interrupted_state_space_leaves_nothing_half_done(where, model, monkeypatch):
    fresh = mse.LinearModel.from_matrices(model.M, model.Lambda, model.K, coordinates=["a.x", "b.x"])
    expected = fresh.state_space(up_to_hz=10.0)

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(state_space, where, stop)
        with pytest.raises(KeyboardInterrupt) as stopped:
            model.state_space(up_to_hz=10.0)
    assert "building the state space was interrupted" in stopped.value.__notes__[0]
    again = model.state_space(up_to_hz=10.0)
    assert np.array_equal(again.A, expected.A) and np.array_equal(again.B, expected.B)


def test_errors_with_results_can_be_told_from_others():
    assert issubclass(mse.Interrupted, KeyboardInterrupt) and not issubclass(mse.Interrupted, Exception)


def test_results_that_nobody_holds_are_let_go_at_once():
    """Without waiting for the collector of cycles, which comes by when many small objects are made, not large ones."""
    system = four_wire_chain(1)
    system.find_working_point().linearize()  # kernels hold on to what they are compiled with
    gc.disable()
    try:
        wp = system.find_working_point()
        linear = wp.linearize()
        kept = [weakref.ref(wp), weakref.ref(linear)]
        del wp, linear
        assert [of() for of in kept] == [None, None]
    finally:
        gc.enable()


def test_memory_that_is_used_up_is_told_by_the_outermost_task():
    said = "stage: finding modes has used up the memory .*Unable to allocate 122"
    with (
        pytest.raises(mse.OutOfMemoryError, match=said) as caught,
        Task("stage", "finding modes"),
        Task("", "counting"),
    ):
        raise MemoryError("Unable to allocate 122. MiB")
    assert isinstance(caught.value, MemoryError) and isinstance(caught.value, mse.MseError)
    assert type(caught.value.__cause__) is MemoryError
    said = "stage: searching has used up .*more was asked for than there is"
    with pytest.raises(mse.OutOfMemoryError, match=said), Task("stage", "searching"):
        _nothing_left()
    said = "stage: searching has used up .*_core.so: failed to map segment"  # of a module that is loaded on first use
    with pytest.raises(mse.OutOfMemoryError, match=said), Task("stage", "searching"):
        raise ImportError("_core.so: failed to map segment from shared object")
    said = "stage: searching has used up .*error return without exception set"  # with no memory for the error itself
    with pytest.raises(mse.OutOfMemoryError, match=said), Task("stage", "searching"):
        raise SystemError("error return without exception set")
    with pytest.raises(ImportError, match="no module"), Task("stage", "searching"):
        raise ImportError("no module named 'highs'")


def _nothing_left() -> None:
    raise MemoryError


def test_given_matrices_that_do_not_fit_into_memory_are_told(monkeypatch):
    monkeypatch.setattr("mse.linear.linear_model.named_parts", lambda *given: _nothing_left())
    with pytest.raises(mse.OutOfMemoryError, match="LinearModel 'plate': checking its matrices has used up the memory"):
        mse.LinearModel.from_matrices([[1.0]], None, [[1.0]], name="plate")
