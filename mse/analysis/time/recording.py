"""Time evolutions that are written to disk while they run, and can be continued.

``run.npy`` is a plain NumPy file with the columns time, outputs, inputs, and one row per sample.  At any moment ``np.load`` can
read it, with all samples that its header counts.  ``run.npy.json`` next to it has names and units of the columns, the number of
samples, the state after them, the arguments of the run and the process that wrote last.  A piece is written in this order:
rows, header, and the sidecar, which is renamed into place.  A run that ends in between continues from the last sidecar.  A
running simulation locks ``run.npy``: a second one is refused, readers are not.
"""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import platform
import shutil
import signal
import threading
import time
from pathlib import Path

import numpy as np

from ...errors import FileError, Interrupted, RecordingError
from ...validation import json_shapes as js
from ...validation.file_access import existing_file, file_path, file_status, write_whole
from .file_lock import Locked, LockedFile
from .inputs import Inputs
from .response import TimeResponse
from .state_space import StateSpace
from .steps import Step

log = logging.getLogger("mse")

_FORMAT = "mse recording 1"
# most bytes of rows kept in memory; a run takes a few times as much
# (tests/analysis/time/test_recording.py::test_memory_does_not_grow_with_the_run)
_FLUSH_BYTES = 32e6
# longest time in s that rows wait to be written: a run that is killed loses as much
# (tests/analysis/time/test_recording.py::test_rows_are_written_together_and_wait_no_longer_than_a_second)
_FLUSH_SECONDS = 1.0
_COMPARED = 1024  # latest samples whose inputs are compared when a run continues
_PLACES, _AT_EACH = 128, 8  # places among the earlier samples, and samples compared at each
_PATIENCE = 20  # tenths of a second to wait for the name of the writing process
# Relative difference of equations that count as equal: with ten thousand times this another model could continue, with a
# ten-thousandth a model that differs by rounding could not
# (tests/analysis/time/test_recording.py::test_another_model_is_refused_by_its_equations,
# test_a_model_that_differs_by_rounding_goes_on).
_SAME = 1e-9

_SIDECAR = js.entries(
    {
        "format": js.word(_FORMAT),
        "model": js.text,
        "dt": js.positive,
        "samples": js.whole,
        "outputs": js.each(js.text),
        "inputs": js.named(js.text),
        "initial": js.named(js.number),
        "states": js.each(js.text),
        "units": js.each(js.text),
        "rows": js.whole,
        "state": js.named(js.real),
        "internal": js.each(js.real),
        "digest": js.text,
        "equations": js.entries({"values": js.each(js.number), "sizes": js.each(js.number)}),
    },
    {"writer": js.entries({"process": js.whole, "host": js.text})},
)


class Recording:
    """The file of one run, new or continued: ``rows`` are on disk, ``state`` is the state after them.

    Raises RecordingError if the file belongs to another run (naming what differs), if the disk has too little space, or if
    writing fails.
    """

    def __init__(self, path: Path, ss: StateSpace, given: Inputs, steps: int, dt: float, start: np.ndarray, step: Step):
        self._path, self._sidecar = path, _sidecar(path)
        self._ss, self._dt, self.total = ss, dt, steps + 1
        self.width = 1 + len(ss.outputs) + len(ss.inputs)
        self._digest = step.digest()
        self._asked = {
            "model": ss.name, "dt": dt, "samples": self.total, "outputs": list(ss.outputs), "inputs": given.described(),
            "initial": {n: float(v) for n, v in zip(ss.states, start, strict=True) if v}, "states": list(ss.states),
        }  # fmt: skip
        self._units = [*ss.output_units, *ss.input_units]
        self._sketch = _sketch(ss)
        self._named = dict(zip(ss.states, start.tolist(), strict=True))
        self.rows, self.state = 0, step.back @ start
        self._waiting: list[np.ndarray] = []
        self._stop, self._former = False, None
        self._refuse_place()
        self._held = self._lock()
        try:
            if self._sidecar.exists():
                self._continue(given, step)
            elif path.stat().st_size:
                raise RecordingError(
                    f"{ss.name}: {path} exists and is not a recording (there is no {self._sidecar.name}); expected a "
                    "new file or one to continue; choose another name or delete it"
                )
            self._refuse_full_disk()
        except BaseException:
            self._let_go()
            raise

    # -- beginning ----------------------------------------------------------------------------------------------
    def _refuse_place(self) -> None:
        folder = self._path.absolute().parent
        if not folder.is_dir():
            raise RecordingError(
                f"{self._ss.name}: there is no directory {folder} to record in; make it, or choose another"
            )
        try:
            file_status(self._path)
        except FileError as error:
            raise RecordingError(f"{self._ss.name}: {error}") from error

    def _lock(self) -> LockedFile | None:
        """The file, locked for this run; None if it is read-only and may contain a complete run."""
        try:
            return LockedFile(self._path)
        except Locked:
            raise RecordingError(
                f"{self._ss.name}: {self._path} is being written by {self._writer()}; expected a file that no other "
                "run writes; wait until that has ended, or choose another name"
            ) from None
        except OSError as error:
            if not self._sidecar.exists():
                raise self._failed(error) from error
            return None

    def _writer(self) -> str:
        """The process with the lock, from the sidecar, which is written soon after locking."""
        for _ in range(_PATIENCE):
            try:
                writer = _read_sidecar(self._sidecar).get("writer")
            except RecordingError:  # not there yet
                writer = None
            if writer is not None:
                process, host = writer["process"], writer["host"]
                if host != platform.node():
                    return f"process {process} on {host}"
                if process == os.getpid():
                    return f"another run of this process ({process})"
                if _lives(process):
                    return f"process {process}"
            time.sleep(0.1)
        return "another process"

    def _let_go(self) -> None:
        if self._held is not None:
            self._held.close()

    def _continue(self, given: Inputs, step: Step) -> None:
        before = _read_sidecar(self._sidecar)
        there = {k: v for k, v in before.items() if k in self._asked}
        differ = _differences(self._asked, there) or _other_equations(self._ss, self._sketch, before["equations"])
        if not differ and before["rows"]:
            differ = self._other_inputs(given, before["rows"])
        if differ:
            raise RecordingError(
                f"{self._ss.name}: {self._path} belongs to another run: {'; '.join(differ)}; expected the same arguments and "
                "model to continue it; choose another file, or delete this one and its .json"
            )
        if not before["rows"]:
            return
        self.rows, self._named = before["rows"], before["state"]
        if before["digest"] == self._digest:
            self.state = np.array(before["internal"], dtype=float)
        else:  # computed elsewhere: the same motion in other coordinates
            at = min(self.rows, self.total - 1)
            self.state = step.back @ np.array([self._named[n] for n in self._ss.states])
            self.state -= step.shift @ given.between(at, at)[0][0]
        log.info("%s: %s has %d of %d samples", self._ss.name, self._path, self.rows, self.total)

    def _other_inputs(self, given: Inputs, rows: int) -> list[str]:
        """Inputs that differ from those in the file, at its end or at some earlier places."""
        table = _mapped(self._path, rows, self.width)
        last = max(rows - _COMPARED, 0)
        places = [(k, min(k + _AT_EACH, rows)) for k in np.unique(np.linspace(0, last, _PLACES).astype(int))]
        places.append((last, rows))
        driven = [table[first:end, 1 + len(self._ss.outputs) :] for first, end in places]
        size = np.max([np.abs(there).max(axis=0, initial=0.0) for there in driven], axis=0)
        said: dict[str, str] = {}
        for (first, end), there in zip(places, driven, strict=True):
            now = given.between(first, end - 1)[0]
            off = np.abs(there - now) > _SAME * size
            for i in np.flatnonzero(off.any(axis=0)):
                k = int(np.argmax(off[:, i]))
                said.setdefault(
                    given.names[i],
                    f"input {given.names[i]!r} is {now[k, i]:.12g} at t = {self._dt * (first + k):g} s, but "
                    f"{there[k, i]:.12g} in the file",
                )
        return list(said.values())

    def _refuse_full_disk(self) -> None:
        folder = self._path.absolute().parent
        need, free = 8.0 * self.width * (self.total - self.rows), shutil.disk_usage(folder).free
        if need > free:
            raise RecordingError(
                f"{self._ss.name}: {self.total - self.rows} samples need {need / 1e9:.3g} GB on disk, but {folder} has "
                f"{free / 1e9:.3g} GB left; free some, take fewer outputs or a larger dt, or record elsewhere"
            )

    def __enter__(self) -> Recording:
        if self.complete:
            self._let_go()
            return self
        try:
            if self._held is None:
                raise PermissionError(errno.EACCES, "it may only be read")
            self._save()
            if self.rows == 0:
                self._file.truncate(0)
                self._file.seek(0)
                _write_all(self._file, memoryview(_header(0, self.width)))
        except BaseException as error:
            self._let_go()
            if isinstance(error, OSError):
                raise self._failed(error) from error
            raise
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._former = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *exc) -> None:
        if self._former is not None:
            signal.signal(signal.SIGINT, self._former)
        self._let_go()

    def _interrupted(self, number, frame) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a second Ctrl-C does not wait
        self._stop = True

    # -- writing ------------------------------------------------------------------------------------------------
    @property
    def _file(self) -> io.FileIO:
        return self._held.file

    @property
    def complete(self) -> bool:
        """Whether all samples are on disk."""
        return self.rows == self.total

    def append(self, rows: np.ndarray, state: np.ndarray, named: dict[str, float]) -> None:
        """Take rows (n, width), and write all if they are many, old or the last, or if the run is to stop.

        ``state`` and ``named`` (by state name) belong to the time after the rows.  Raises Interrupted after Ctrl-C, once all is
        written.
        """
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting.append(rows)
        count = sum(len(r) for r in self._waiting)
        late = time.monotonic() - self._since >= _FLUSH_SECONDS
        if late or self._stop or 8.0 * count * self.width >= _FLUSH_BYTES or self.rows + count == self.total:
            try:
                self._write(self._waiting, state, named)
            except OSError as error:
                raise self._failed(error) from error
            self._waiting = []
        if self._stop:
            raise Interrupted(self._how_far("stopped"), read_recording(self._path))

    def _write(self, pieces: list[np.ndarray], state: np.ndarray, named: dict[str, float]) -> None:
        if self._file.closed:
            raise OSError(errno.EBADF, "this process was forked from the one that records")
        self._file.seek(len(_header(0, self.width)) + 8 * self.width * self.rows)
        for rows in pieces:
            _write_all(self._file, memoryview(np.ascontiguousarray(rows, dtype="<f8")).cast("B"))
        os.fsync(self._file.fileno())
        now = self.rows + sum(len(rows) for rows in pieces)
        self._file.seek(0)
        _write_all(self._file, memoryview(_header(now, self.width)))
        os.fsync(self._file.fileno())
        before = self.rows, self.state, self._named
        self.rows, self.state, self._named = now, state.copy(), named
        try:
            self._save()
        except OSError:
            self.rows, self.state, self._named = before
            raise

    def _save(self) -> None:
        content = {
            "format": _FORMAT, **self._asked, "units": self._units, "rows": self.rows, "state": self._named,
            "internal": self.state.tolist(), "digest": self._digest, "equations": self._sketch,
            "writer": {"process": os.getpid(), "host": platform.node()},
        }  # fmt: skip
        write_whole(self._sidecar, json.dumps(content), alone=True)

    def _how_far(self, what: str) -> str:
        return (
            f"{self._ss.name}: {what} after {self.rows} of {self.total} samples (t = "
            f"{self._dt * max(self.rows - 1, 0):g} s); {self._path} is valid up to there, for np.load and "
            "mse.read_recording"
        )

    def _failed(self, error: OSError) -> RecordingError:
        reason = error.__cause__ if isinstance(error, FileError) and error.__cause__ else error
        return RecordingError(
            f"{self._how_far(f'writing failed ({reason.strerror or reason})')}; make room, then the same call of "
            "simulate continues from there"
        )


def read_recording(path: str | os.PathLike[str]) -> TimeResponse:
    """The history in a file that ``simulate(record=path)`` writes or has written: all samples so far, read as they are used.

    Parameters
    ----------
    path : path
        The ``.npy`` file.

    Returns
    -------
    TimeResponse
        Outputs and inputs by name; ``final_state`` is the state after the last sample.

    Raises
    ------
    RecordingError
        There is no recording, or it is damaged.

    Examples
    --------
    >>> import os, tempfile
    >>> model = mse.LinearModel.from_matrices([[1.0]], None, [[1.0]], coordinates=["mass.x"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "run.npy")
    ...     history = model.simulate(duration=1.0, dt=0.25, initial={"mass.x": 1.0}, record=path)
    ...     bool(np.isclose(mse.read_recording(path)["mass.x"][-1], np.cos(1.0), atol=1e-12))
    True
    """
    path = file_path(path)
    sidecar = _sidecar(path)
    if not os.path.exists(sidecar):  # also False for impossible names
        raise RecordingError(
            f"{path} is not a recording: there is no {sidecar.name}; expected a file that simulate(record=...) wrote"
        )
    told = _read_sidecar(sidecar)
    outputs, inputs, units = tuple(told["outputs"]), tuple(told["inputs"]), tuple(told["units"])
    o = len(outputs)
    table = _mapped(path, told["rows"], 1 + o + len(inputs))
    return TimeResponse(
        told["model"], table[:, 0], table[:, 1 : 1 + o], outputs, units[:o], table[:, 1 + o :], inputs, units[o:],
        told["state"], initial_state=told["initial"], holds=tuple(how.rpartition(" ")[2] for how in told["inputs"].values()),
    )  # fmt: skip


def _sidecar(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _lives(process: int) -> bool:
    if os.name == "nt":  # on Windows asking would end the process
        return True
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _read_sidecar(path: Path) -> dict:
    """The description of a recording, complete and consistent; otherwise RecordingError with the place of the fault."""
    try:
        told = js.read_json(path, _SIDECAR, "simulate(record=...)")
    except FileError as error:
        raise RecordingError(str(error)) from error
    counts = {
        "units": len(told["outputs"]) + len(told["inputs"]), "state": len(told["states"]), "internal": len(told["states"]),
    }  # fmt: skip
    for key, count in counts.items():
        if len(told[key]) != count:
            raise RecordingError(f"{path}: {key} has {len(told[key])} entries; expected {count}")
    if told["state"].keys() != set(told["states"]):
        raise RecordingError(f"{path}: state has other names than states; expected the same")
    if told["rows"] > told["samples"]:
        raise RecordingError(f"{path}: rows is {told['rows']}; expected at most {told['samples']}, its samples")
    return told


def _mapped(path: Path, rows: int, width: int) -> np.ndarray:
    """The first rows of the file (rows, width), mapped into memory; RecordingError if they are not there."""
    if not rows:
        return np.zeros((0, width))
    try:
        table = np.load(existing_file(path), mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise RecordingError(
            f"{path} cannot be read ({error}); its .json counts {rows} samples; delete both, or restore it"
        ) from error
    if table.dtype != np.dtype("<f8") or not table.flags.c_contiguous:
        raise RecordingError(
            f"{path} has numbers of type {table.dtype}; expected rows of float64; delete it and its .json, or restore "
            "it"
        )
    if table.ndim != 2 or table.shape[1] != width or len(table) < rows:
        raise RecordingError(
            f"{path} has shape {table.shape}; expected at least {(rows, width)} by its .json; delete both, or restore it"
        )
    return table[:rows]


def _header(rows: int, width: int) -> bytes:
    """Header of a .npy file; NumPy leaves room for the number of rows to grow, so its length stays the same."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": (rows, width)})
    return out.getvalue()


def _write_all(file, data: memoryview) -> None:
    while len(data):
        data = data[file.write(data) :]


def _sketch(ss: StateSpace) -> dict[str, list[float]]:
    """Each equation of a state space condensed to one number: its coefficients times fixed random ones."""
    rng = np.random.default_rng(0)
    v = np.concatenate([rng.uniform(0.5, 1.5, len(ss.states)), rng.uniform(0.5, 1.5, len(ss.inputs))])
    whole = np.block([[ss.A, ss.B], [ss.C, ss.D]])
    return {"values": (whole @ v).tolist(), "sizes": (np.abs(whole) @ v).tolist()}


def _other_equations(ss: StateSpace, now: dict, there: dict) -> list[str]:
    if len(there["values"]) != len(now["values"]) or len(there["sizes"]) != len(now["sizes"]):
        return ["the number of equations differs"]
    a, b, size = np.array(now["values"]), np.array(there["values"]), np.array(there["sizes"])
    names = [*(f"the equation of state {n}" for n in ss.states), *(f"output {n}" for n in ss.outputs)]
    off = np.abs(a - b) > _SAME * size + 1e-13 * size.max(initial=0.0)
    return [f"{names[k]} is another" for k in np.flatnonzero(off)[:6]]


def _differences(now: dict, there: dict) -> list[str]:
    """Differences of two descriptions, in words."""
    out = []
    for key in now:
        a, b = now[key], there.get(key)
        if a == b and not (isinstance(a, dict) and list(a) != list(b)):
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            names = [n for n in {**a, **b} if a.get(n) != b.get(n)]
            out += [f"{key} {n!r} is {_shown(a.get(n))}, but {_shown(b.get(n))} in the file" for n in names[:4]]
            if not names:
                out.append(f"{key} are in another order")
        else:
            out.append(f"{key} is {_shown(a)}, but {_shown(b)} in the file")
    return out


def _shown(value) -> str:
    text = "absent" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
