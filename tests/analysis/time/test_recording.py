"""Runs that are written to disk: what is there after an end of any kind, and that they go on to the same bits."""

from __future__ import annotations

import errno
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import mse
import mse.analysis.time.recording
from mse.analysis.time import file_lock, recording
from mse.analysis.time.file_lock import LockedFile
from paths import IMPORTED
from test_dynamics import damped_stage

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
        KeyboardInterrupt, match=r"stage: stopped after (\d+) of 60002 samples \(t = .*run\.npy is valid"
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


@pytest.mark.slow
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
    ended = subprocess.run([sys.executable, "-c", script, path, *IMPORTED], capture_output=True, timeout=300)
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
        if stage != "sidecar" and calls["writes"] == (6 if stage == "rows" else 7):
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
    words = ["stage: writing failed (No space left on device)", f"after {n} of 60002 samples", "run.npy is valid up to there",
             "make room", "continues from there"]  # fmt: skip
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
    with pytest.raises(mse.ModelError, match="input .* failed: RuntimeError: no signal"):
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
        ({"dt": 2e-3, "duration": 2 * STEPS * DT}, ["dt is 0.002, but 0.001 in the file"]),
        ({"duration": 2e-3 * 500, "inputs": {"push.fz": push}}, ["samples is 1001, but 60002 in the file"]),
        ({"outputs": ["probe.z"]}, ["outputs is ['probe.z'], but ['probe.z', 'probe.x'] in the file"]),
        ({"initial": {"mass.x": 2e-3}}, ["initial 'mass.x' is 0.002, but 0.001 in the file"]),
        ({"inputs": {"push.fz": push}}, ["inputs 'base.z' is absent, but samples"]),
        ({"inputs": {"push.fz": push, "base.z": 2e-3 * NOISE}}, ["inputs 'base.z' is samples", "but samples"]),
        ({"inputs": {"push.fz": np.cos, "base.z": 1e-3 * NOISE}}, ["input 'push.fz' is ", "at t = ", "in the file"]),
        ({"inputs": {"base.z": 1e-3 * NOISE, "push.fz": push}}, ["inputs are in another order"]),
        ({"hold": "zoh"}, ["inputs 'push.fz' is function, hold zoh, but function, hold smooth in the file"]),
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
        damped_stage(damping=3.0 * (1.0 + 1e-5)).simulate(**OPTIONS, record=half)
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
    told["equations"]["values"] = [(1.0 + 1e-11) * x for x in told["equations"]["values"]]
    sidecar.write_text(json.dumps(told))
    history = model.simulate(**OPTIONS, record=path)
    size = np.abs(whole[0].values).max(axis=0)
    np.testing.assert_allclose(history.values / size, whole[0].values / size, rtol=0, atol=1e-12)


def test_files_that_are_no_recordings(model, tmp_path):
    path = tmp_path / "notes.npy"
    np.save(path, np.arange(3))
    before = path.read_bytes()
    with pytest.raises(mse.RecordingError, match=r"notes\.npy exists and is not a recording.*choose another name"):
        model.simulate(**OPTIONS, record=path)
    with pytest.raises(mse.RecordingError, match=r"notes\.npy is not a recording: there is no notes\.npy\.json"):
        mse.read_recording(path)
    for text, said in (
        ("{", "not a JSON text"),
        ("[]", r"the whole is a list of 0; expected a mapping"),
        ('{"format": "other"}', r"format is 'other'; expected one of 'mse recording 1'"),
        ("[" * 100_000, "nested too deep"),
    ):
        Path(f"{path}.json").write_text(text)
        with pytest.raises(mse.RecordingError, match=rf"notes\.npy\.json: {said}"):
            model.simulate(**OPTIONS, record=path)
    assert path.read_bytes() == before
    with pytest.raises(mse.RecordingError, match="there is no directory .*nowhere to record in"):
        model.simulate(**OPTIONS, record=tmp_path / "nowhere" / "run.npy")


def test_folders_devices_and_other_things_are_no_place_for_a_run(model, tmp_path):
    os.mkfifo(tmp_path / "pipe.npy")
    for path, said in (
        (tmp_path, "is a folder; expected a file"),
        (tmp_path / "pipe.npy", "is a device, pipe or socket"),
        (tmp_path / "no\0name", "record is .*expected the name of a file"),
        (3, "record is 3; expected the name of a file"),
    ):
        with pytest.raises(mse.FileError, match=said):
            model.simulate(**OPTIONS, record=path)
    assert [p.name for p in tmp_path.iterdir()] == ["pipe.npy"]


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("model", None, "model is null; expected a text"),
        ("outputs", 3, "outputs is 3; expected a list"),
        ("outputs", ["probe.z"], "units has 4 entries; expected 3"),
        ("units", ["m", 3, "N", "m"], r"units\[1\] is 3; expected a text"),
        ("rows", -5, "rows is -5; expected a whole number"),
        ("rows", True, "rows is true; expected a whole number"),
        ("rows", 10**7, "rows is 10000000; expected at most 60002"),
        ("internal", [1.0], "internal has 1 entries; expected 12"),
        ("internal", "x", "internal is 'x'; expected a list"),
        ("equations", {}, "equations is without 'values'"),
        ("equations", {"values": [1.0], "sizes": [1.0]}, "the number of equations differs"),
        ("state", {"mass.x": 0.0}, "state has 1 entries; expected 12"),
        ("dt", float("nan"), "dt is nan; expected a finite number"),
    ],
)
def test_every_entry_of_a_description_is_checked(model, half, tmp_path, key, value, place):
    path = tmp_path / "run.npy"
    shutil.copy(half, path)
    told = json.loads(Path(f"{half}.json").read_text())
    Path(f"{path}.json").write_text(json.dumps(told | {key: value}))
    with pytest.raises(mse.RecordingError, match=place):
        model.simulate(**OPTIONS, record=path)
    del told[key]
    Path(f"{path}.json").write_text(json.dumps(told))
    for call in (lambda: mse.read_recording(path), lambda: model.simulate(**OPTIONS, record=path)):
        with pytest.raises(mse.RecordingError, match=f"the whole is without '{key}'"):
            call()


def test_a_table_of_other_numbers_is_refused(half, tmp_path):
    path = tmp_path / "run.npy"
    shutil.copy(f"{half}.json", f"{path}.json")
    for table in (np.zeros((STEPS, 5), dtype=np.int8), np.asfortranarray(np.zeros((STEPS, 5)))):
        np.save(path, table)
        with pytest.raises(mse.RecordingError, match=r"run\.npy has numbers of type .*expected rows of float64"):
            mse.read_recording(path)
    path.write_bytes(b"")
    with pytest.raises(mse.RecordingError, match=r"run\.npy cannot be read"):
        mse.read_recording(path)


# -- one writer ---------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_a_second_run_on_a_file_is_refused_in_every_way(model, whole, tmp_path, often):
    """By the same thread, another thread and another process, for the same run and another; reading goes on."""
    path = tmp_path / "run.npy"
    refused, seen = [], []
    script = (
        "import sys\n"
        "sys.path[:0] = sys.argv[2:]\n"
        "import test_recording as t\n"
        "try: t.damped_stage().simulate(**t.OPTIONS, record=sys.argv[1])\n"
        "except t.mse.RecordingError as error: print(error)\n"
    )

    def attempt(**change):
        try:
            model.simulate(**(OPTIONS | change), record=path)
        except mse.RecordingError as error:
            refused.append(str(error))

    def others():
        attempt()
        attempt(dt=2e-3, duration=2 * STEPS * DT)
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join()
        done = subprocess.run([sys.executable, "-c", script, path, *IMPORTED], capture_output=True, text=True)
        refused.append(done.stdout or done.stderr)
        seen.append(len(mse.read_recording(path).time))

    interrupted(model, path, how=others)
    assert path.read_bytes() == whole[1] and 20_000 < seen[0] < 30_001
    assert len(refused) == 4
    for text in refused:
        assert "stage: " in text and "run.npy is being written by " in text and "wait until that has ended" in text
        assert str(os.getpid()) in text
    assert "another run of this process" in refused[0] and "by process" in refused[3]
    assert np.array_equal(model.simulate(**OPTIONS, record=path).values, whole[0].values)


def test_only_the_present_writer_is_named(model, half, tmp_path, monkeypatch):
    """Not the last one, which ended, before the new one has told who it is."""
    monkeypatch.setattr(recording, "_PATIENCE", 2)
    path = tmp_path / "run.npy"
    shutil.copy(half, path)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    told = json.loads(Path(f"{half}.json").read_text())
    for process, host, words in (
        (ended.pid, platform.node(), "by another process;"),
        (os.getppid(), platform.node(), f"by process {os.getppid()};"),
        (7, "elsewhere", "by process 7 on elsewhere;"),
    ):
        Path(f"{path}.json").write_text(json.dumps(told | {"writer": {"process": process, "host": host}}))
        with LockedFile(path), pytest.raises(mse.RecordingError, match=words):
            model.simulate(**OPTIONS, record=path)


def test_a_forked_process_does_not_hold_the_file(model, whole, tmp_path, often):
    """A child that outlives its parent leaves the file free; one that goes on with the run itself is refused."""
    path = tmp_path / "run.npy"
    reads, writes = os.pipe()
    told = []

    def fork():
        told.append(os.fork())
        if told[0] == 0:
            os.read(reads, 1)

    try:
        history = interrupted(model, path, how=fork)
    except mse.RecordingError as error:
        os._exit(0 if told == [0] and "forked from the one that records" in str(error) else 1)
    assert np.array_equal(history.values, whole[0].values)
    assert len(model.simulate(**OPTIONS, record=path).time) == STEPS + 1
    with LockedFile(path) as held:
        assert not held.made
    os.write(writes, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(told[0], 0)[1]) == 0


def test_a_file_without_locks_is_written_all_the_same(model, whole, tmp_path, monkeypatch, caplog):
    fcntl = pytest.importorskip("fcntl")

    def none(file, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    assert np.array_equal(model.simulate(**OPTIONS, record=tmp_path / "run.npy").values, whole[0].values)
    assert "it cannot be locked (No locks available); nothing keeps others from writing" in caplog.text


def test_a_lock_is_of_the_file_that_is_there(tmp_path, monkeypatch):
    """Between opening and locking somebody else deletes the file: the lock is taken on the new one."""
    path, lock, calls = tmp_path / "run.npy", file_lock._lock, []

    def late(file, where):
        if not calls:
            path.unlink()
        calls.append(where)
        lock(file, where)

    monkeypatch.setattr(file_lock, "_lock", late)
    held = LockedFile(path)
    assert len(calls) == 2 and os.path.samestat(os.stat(path), os.fstat(held.file.fileno()))
    with pytest.raises(file_lock.Locked):
        LockedFile(path)
    held.close()
    assert not path.exists()


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

    with pytest.raises(mse.ModelError, match="failed: RuntimeError"):
        interrupted(model, path, time=-1.0, how=fail)
    with pytest.raises(mse.ModelError, match="failed: RuntimeError"):
        interrupted(model, path, time=1.0, how=fail)
    part = mse.read_recording(path)
    assert part.values.shape == (0, 2) and "no samples yet" in repr(part) and np.load(path).shape == (0, 5)
    model.simulate(**OPTIONS, record=path)
    assert path.read_bytes() == whole[1]


def test_rows_are_written_together_and_wait_no_longer_than_a_second(model, tmp_path, monkeypatch):
    """By a clock that gains 0.3 s whenever it is read, once or twice for each of the eight pieces of the run."""
    pieces, written, save, append = [0], [], recording.Recording._save, recording.Recording.append

    class Clock:
        at = 0.0

        def monotonic(self):
            self.at += 0.3
            return self.at

        def __getattr__(self, name):
            return getattr(time, name)

    def counted(self, *given):
        pieces[0] += 1
        append(self, *given)

    monkeypatch.setattr(recording, "time", Clock())
    monkeypatch.setattr(recording.Recording, "append", counted)
    monkeypatch.setattr(recording.Recording, "_save", lambda self: (written.append(pieces[0]), save(self)))
    model.simulate(**OPTIONS, record=tmp_path / "run.npy")
    apart = np.diff(written)
    assert len(apart) and np.all(apart >= 2) and np.all(apart <= 5), apart


# -- memory -------------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_memory_does_not_grow_with_the_run(model, tmp_path, monkeypatch):
    import tracemalloc

    monkeypatch.setattr(recording, "_FLUSH_BYTES", 1e6)
    model.simulate(duration=1.0, dt=DT, inputs={"push.fz": push}, record=tmp_path / "first.npy")
    tracemalloc.start()
    model.simulate(duration=1000.0, dt=DT, inputs={"push.fz": push}, record=tmp_path / "run.npy", outputs=["probe.z"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "run.npy").stat().st_size > 24e6 and peak < 8e6
