"""Runs that are written to disk: what is there after an end of any kind, and that they go on to the same bits."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_dynamics import damped_stage

import mse
import mse.analysis.progress
import mse.analysis.recording
import mse.analysis.time
from mse.analysis import recording

DT = 1e-3
STEPS = 60_001  # several pieces and a remainder


def push(t):
    return np.sin(3 * t) + 0.2 * np.cos(50 * t)


NOISE = np.random.default_rng(0).standard_normal(STEPS + 1)
OPTIONS = {
    "duration": STEPS * DT, "dt": DT, "inputs": {"push.fz": push, "base.z": 1e-3 * NOISE},
    "outputs": ["probe.z", "probe.x"], "initial": {"mass.x": 1e-3},
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def interruptible():
    """Ctrl-C as Python handles it, also where these tests run in the background and inherit that it is ignored."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.fixture(scope="module")
def model():
    return damped_stage()


@pytest.fixture(scope="module")
def whole(model, tmp_path_factory):
    """The uninterrupted run: its history and the bytes of its file."""
    path = tmp_path_factory.mktemp("whole") / "run.npy"
    return model.simulate(**OPTIONS, record=path), path.read_bytes()


@pytest.fixture
def often(monkeypatch):
    """Write after every piece."""
    monkeypatch.setattr(recording, "_FLUSH_SECONDS", 0.0)


def ending_at(time: float, how):
    """The function push, which ends the run in some way when it is first called for times beyond ``time``."""
    done = []

    def drive(t):
        if np.max(t) > time and not done:
            done.append(True)
            how()
        return push(t)

    return drive


def interrupted(model, path, time=30.0, how=lambda: os.kill(os.getpid(), signal.SIGINT)):
    inputs = {"push.fz": ending_at(time, how), "base.z": OPTIONS["inputs"]["base.z"]}
    return model.simulate(**(OPTIONS | {"inputs": inputs}), record=path)


# -- what is written ----------------------------------------------------------------------------------------------
def test_a_recorded_run_is_the_one_in_memory(model, whole, tmp_path):
    history, _ = whole
    plain = model.simulate(**OPTIONS)
    assert np.array_equal(history.values, plain.values) and np.array_equal(history.driven, plain.driven)
    assert np.array_equal(history.time, plain.time) and history.final_state == plain.final_state
    assert (history.outputs, history.inputs, history.unit("push.fz")) == (plain.outputs, plain.inputs, "N")
    assert repr(history) == repr(plain) and np.array_equal(history["probe.z"], plain["probe.z"])


def test_the_file_is_plain_numpy(model, whole, tmp_path):
    path = tmp_path / "run.npy"
    model.simulate(**OPTIONS, record=str(path))
    table = np.load(path)
    assert table.shape == (STEPS + 1, 5)
    assert np.array_equal(table[:, 0], DT * np.arange(STEPS + 1))
    assert np.array_equal(table[:, 1], whole[0]["probe.z"]) and np.array_equal(table[:, 4], whole[0]["base.z"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.npy", "run.npy.json"]
    again = mse.read_recording(path)
    assert np.array_equal(again.values, whole[0].values) and isinstance(again.values, np.memmap)


def test_a_complete_run_is_only_read(model, tmp_path):
    path = tmp_path / "run.npy"
    model.simulate(**OPTIONS, record=path)
    before = path.stat().st_mtime_ns
    calls = []

    def counted(t):
        calls.append(np.size(t))
        return push(t)

    options = OPTIONS | {"inputs": {"push.fz": counted, "base.z": OPTIONS["inputs"]["base.z"]}}
    history = model.simulate(**options, record=path)
    assert len(history.time) == STEPS + 1 and path.stat().st_mtime_ns == before
    assert sum(calls) < 10_000  # the last inputs are compared


# -- ends of all kinds --------------------------------------------------------------------------------------------
def test_an_interrupt_stops_after_the_piece_and_goes_on_to_the_same_bits(model, whole, tmp_path):
    path = tmp_path / "run.npy"
    with pytest.raises(
        KeyboardInterrupt, match=r"stage: stopped after (\d+) of 60002 samples \(t = .*run\.npy is good"
    ):
        interrupted(model, path)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    part = mse.read_recording(path)
    n = len(part.time)
    assert 30_000 < n < 50_000 and np.load(path).shape == (n, 5)
    assert np.array_equal(part.values, whole[0].values[:n])
    history = model.simulate(**OPTIONS, record=path)
    assert np.array_equal(history.values, whole[0].values) and history.final_state == whole[0].final_state
    assert path.read_bytes() == whole[1]


def test_a_second_interrupt_does_not_wait(model, tmp_path, often):
    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("the second one should have ended this")

    path = tmp_path / "run.npy"
    with pytest.raises(KeyboardInterrupt) as error:
        interrupted(model, path, how=twice)
    assert not str(error.value)
    assert 20_000 < len(mse.read_recording(path).time) < 30_001


def test_a_kill_loses_nothing_written(model, whole, tmp_path):
    """A process that gets SIGKILL amid a long run leaves a file to read, from which another one goes on."""
    path = tmp_path / "run.npy"
    script = (
        "import os, signal, sys\n"
        "sys.path[:0] = sys.argv[2:]\n"
        "import test_recording as t\n"
        "t.recording._FLUSH_SECONDS = 0.0\n"
        "t.interrupted(t.damped_stage(), t.Path(sys.argv[1]), 40.0, lambda: os.kill(os.getpid(), signal.SIGKILL))\n"
    )
    here = Path(__file__).parent
    ended = subprocess.run([sys.executable, "-c", script, path, here, here.parent], capture_output=True, timeout=300)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    part = mse.read_recording(path)
    n = len(part.time)
    assert 24_000 < n < 40_001 and np.load(path).shape == (n, 5)
    assert np.array_equal(part.values, whole[0].values[:n])
    assert np.array_equal(model.simulate(**OPTIONS, record=path).values, whole[0].values)
    assert path.read_bytes() == whole[1]


@pytest.mark.parametrize("stage", ["rows", "header", "sidecar"])
def test_an_end_between_any_two_writes_loses_nothing(model, whole, tmp_path, monkeypatch, often, stage):
    """Ends in the middle of the rows, between rows and header, and between header and sidecar."""
    path = tmp_path / "run.npy"
    write_all, save = recording._write_all, recording.Recording._save
    calls = {"writes": 0, "saves": 0}

    def writing(file, data):
        calls["writes"] += 1
        if stage != "sidecar" and calls["writes"] == (5 if stage == "rows" else 6):
            write_all(file, data[: len(data) // 2] if stage == "rows" else data[:0])
            raise SystemExit
        write_all(file, data)

    def saving(self):
        calls["saves"] += 1
        if stage == "sidecar" and calls["saves"] == 4:
            raise SystemExit
        save(self)

    with monkeypatch.context() as m:
        m.setattr(recording, "_write_all", writing)
        m.setattr(recording.Recording, "_save", saving)
        with pytest.raises(SystemExit):
            model.simulate(**OPTIONS, record=path)
    part = mse.read_recording(path)
    assert 0 < len(part.time) <= len(np.load(path)) < STEPS
    assert np.array_equal(part.values, whole[0].values[: len(part.time)])
    model.simulate(**OPTIONS, record=path)
    assert path.read_bytes() == whole[1]


def test_a_full_disk_is_told_and_overcome(model, whole, tmp_path, monkeypatch, often):
    path = tmp_path / "run.npy"
    write_all, left = recording._write_all, [1_000_000]

    def filling(file, data):
        left[0] -= len(data)
        if left[0] < 0:
            write_all(file, data[: len(data) // 3])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_all(file, data)

    with monkeypatch.context() as m:
        m.setattr(recording, "_write_all", filling)
        with pytest.raises(mse.RecordingError) as error:
            model.simulate(**OPTIONS, record=path)
    n = len(mse.read_recording(path).time)
    words = ["stage: writing failed (No space left on device)", f"after {n} of 60002 samples", "run.npy is good up to there",
             "make room", "goes on from there"]  # fmt: skip
    for word in words:
        assert word in str(error.value)
    assert isinstance(error.value.__cause__, OSError) and error.value.__cause__.errno == errno.ENOSPC
    assert n > 10_000 and np.array_equal(np.load(path)[:, 1], whole[0]["probe.z"][:n])
    model.simulate(**OPTIONS, record=path)
    assert path.read_bytes() == whole[1]


def test_a_real_limit_of_the_system_is_told(model, whole, tmp_path, often):
    """The kernel itself refuses to let the file grow, after part of a piece."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "run.npy"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
        with pytest.raises(mse.RecordingError, match=r"writing failed \(File too large\) after \d+ of 60002"):
            model.simulate(**OPTIONS, record=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert 0 < len(mse.read_recording(path).time) < 25_000
    model.simulate(**OPTIONS, record=path)
    assert path.read_bytes() == whole[1]


def test_a_disk_too_small_is_foreseen(model, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda p: usage._replace(free=1_000_000))
    with pytest.raises(
        mse.RecordingError, match=r"stage: 60002 samples need 0\.0024 GB on disk, but .* has 0\.001 GB left"
    ):
        model.simulate(**OPTIONS, record=tmp_path / "run.npy")
    assert not list(tmp_path.iterdir())


def test_an_error_in_an_input_leaves_what_was_written(model, whole, tmp_path, often):
    def fail():
        raise RuntimeError("no signal")

    path = tmp_path / "run.npy"
    with pytest.raises(RuntimeError, match="no signal"):
        interrupted(model, path, how=fail)
    n = len(mse.read_recording(path).time)
    assert 20_000 < n < 30_001
    model.simulate(**OPTIONS, record=path)
    assert path.read_bytes() == whole[1]


# -- what does not belong together --------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def half(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("half") / "run.npy"
    with pytest.raises(KeyboardInterrupt):
        interrupted(model, path)
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dt": 2e-3, "duration": 2 * STEPS * DT}, ["dt is 0.002, in the file 0.001"]),
        ({"duration": 2e-3 * 500, "inputs": {"push.fz": push}}, ["samples is 1001, in the file 60002"]),
        ({"outputs": ["probe.z"]}, ["outputs is ['probe.z'], in the file ['probe.z', 'probe.x']"]),
        ({"initial": {"mass.x": 2e-3}}, ["initial 'mass.x' is 0.002, in the file 0.001"]),
        ({"inputs": {"push.fz": push}}, ["inputs 'base.z' is absent, in the file samples"]),
        ({"inputs": {"push.fz": push, "base.z": 2e-3 * NOISE}}, ["inputs 'base.z' is samples", "in the file samples"]),
        ({"inputs": {"push.fz": np.cos, "base.z": 1e-3 * NOISE}}, ["input 'push.fz' is ", "at t = ", "in the file"]),
        ({"inputs": {"base.z": 1e-3 * NOISE, "push.fz": push}}, ["inputs are in another order"]),
        ({"hold": "zero"}, ["inputs 'push.fz' is function, hold zero, in the file function, hold smooth"]),
    ],
)
def test_another_run_is_refused_by_what_differs(model, half, change, words):
    before = half.read_bytes()
    with pytest.raises(mse.RecordingError) as error:
        model.simulate(**(OPTIONS | change), record=half)
    for word in ("stage: ", "run.npy belongs to another run: ", *words, "expected the same arguments"):
        assert word in str(error.value)
    assert half.read_bytes() == before


def test_inputs_that_differ_long_before_the_end_are_refused(model, half):
    """The same for the last ten seconds recorded, but not in the first."""
    rows = len(mse.read_recording(half).time)
    with pytest.raises(mse.RecordingError, match=r"input 'push\.fz' is .* at t = "):
        model.simulate(
            **(OPTIONS | {"inputs": OPTIONS["inputs"] | {"push.fz": lambda t: push(t) + (t < DT * (rows - 10_000))}}),
            record=half,
        )


def test_another_model_is_refused_by_its_equations(half):
    with pytest.raises(mse.RecordingError, match=r"the equation of state mass\.z' is another;"):
        damped_stage(damping=3.001).simulate(**OPTIONS, record=half)
    with pytest.raises(mse.RecordingError, match=r"the equation of state mass\.x' is another; .*mass\.y'"):
        damped_stage(mass=2.001).simulate(**OPTIONS, record=half)


def test_a_model_that_differs_by_rounding_goes_on(model, whole, half, tmp_path):
    """As one built on another machine: other last bits, so the state is taken by name; the history agrees to rounding."""
    path = tmp_path / "run.npy"
    shutil.copy(half, path)
    sidecar = Path(f"{path}.json")
    told = json.loads(Path(f"{half}.json").read_text())
    told["digest"] = "another"
    told["internal"] = [0.0] * len(told["internal"])
    sidecar.write_text(json.dumps(told))
    history = model.simulate(**OPTIONS, record=path)
    size = np.abs(whole[0].values).max(axis=0)
    np.testing.assert_allclose(history.values / size, whole[0].values / size, rtol=0, atol=1e-12)


def test_files_that_are_no_recordings(model, tmp_path):
    path = tmp_path / "notes.npy"
    np.save(path, np.arange(3))
    before = path.read_bytes()
    with pytest.raises(mse.RecordingError, match=r"notes\.npy exists and is no recording.*choose another name"):
        model.simulate(**OPTIONS, record=path)
    with pytest.raises(mse.RecordingError, match=r"notes\.npy is no recording: there is no notes\.npy\.json"):
        mse.read_recording(path)
    for text in ("{", "[]", '{"format": "other"}'):
        Path(f"{path}.json").write_text(text)
        with pytest.raises(mse.RecordingError, match=r"notes\.npy\.json (cannot be read|is no description)"):
            model.simulate(**OPTIONS, record=path)
    assert path.read_bytes() == before
    with pytest.raises(mse.RecordingError, match="there is no directory .*nowhere to record in"):
        model.simulate(**OPTIONS, record=tmp_path / "nowhere" / "run.npy")


def test_a_file_shorter_than_its_description_is_refused(model, half, tmp_path):
    path = tmp_path / "run.npy"
    shutil.copy(f"{half}.json", f"{path}.json")
    with pytest.raises(mse.RecordingError, match=r"run\.npy cannot be read .*its \.json counts \d+ samples"):
        model.simulate(**OPTIONS, record=path)
    path.write_bytes(half.read_bytes()[:100_000])
    with pytest.raises(mse.RecordingError, match=r"run\.npy cannot be read"):
        mse.read_recording(path)
    np.save(path, np.zeros((10, 5)))
    with pytest.raises(mse.RecordingError, match=r"shape \(10, 5\); expected at least"):
        model.simulate(**OPTIONS, record=path)


def test_a_run_that_ends_before_its_first_piece(model, whole, tmp_path):
    path = tmp_path / "run.npy"

    def fail():
        raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted(model, path, time=-1.0, how=fail)
    with pytest.raises(RuntimeError):
        interrupted(model, path, time=1.0, how=fail)
    part = mse.read_recording(path)
    assert part.values.shape == (0, 2) and "no samples yet" in repr(part) and np.load(path).shape == (0, 5)
    model.simulate(**OPTIONS, record=path)
    assert path.read_bytes() == whole[1]


# -- the bar ------------------------------------------------------------------------------------------------------
class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("record", [True, False])
def test_a_bar_on_a_terminal_only(model, tmp_path, monkeypatch, record):
    monkeypatch.setattr(mse.analysis.progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(mse.analysis.progress, "_PERIOD", 0.0)

    def shown(stream, name, **options):
        monkeypatch.setattr(sys, "stderr", stream)
        model.simulate(**OPTIONS, **options, **({"record": tmp_path / name} if record else {}))
        return stream.getvalue()

    text = shown(Terminal(), "a.npy")
    assert text.startswith("\rstage [") and "100 %, 0 s left" in text and text.endswith("\n")
    assert "#" in text.split("\r")[2] and text.count("\r") > 3
    assert shown(Terminal(), "b.npy", progress=False) == ""
    assert shown(io.StringIO(), "c.npy") == ""


def test_a_short_run_shows_no_bar(model, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(mse.analysis.progress, "_PATIENCE", 1e6)
    model.simulate(**OPTIONS)
    assert sys.stderr.getvalue() == ""


# -- memory -------------------------------------------------------------------------------------------------------
def test_memory_does_not_grow_with_the_run(model, tmp_path, monkeypatch):
    import tracemalloc

    monkeypatch.setattr(recording, "_FLUSH_BYTES", 1e6)
    model.simulate(duration=1.0, dt=DT, inputs={"push.fz": push}, record=tmp_path / "first.npy")
    tracemalloc.start()
    model.simulate(duration=1000.0, dt=DT, inputs={"push.fz": push}, record=tmp_path / "run.npy", outputs=["probe.z"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "run.npy").stat().st_size > 24e6 and peak < 8e6
