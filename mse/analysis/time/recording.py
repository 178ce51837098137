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
from typing import Any

import numpy as np

from ...errors import FileError, Interrupted, RecordingError
from ...validation import json_shapes as js
from ...validation.file_access import existing_file, file_path, file_status, write_whole
from .asked import SAME, Asked
from .file_lock import Locked, LockedFile
from .response import TimeResponse

log = logging.getLogger("mse")

_FORMAT = "mse recording 1"
# most bytes of rows kept in memory; a run takes a few times as much
# (tests/analysis/time/test_recording.py::test_memory_does_not_grow_with_the_run)
_FLUSH_BYTES = 32e6
# longest time in s that rows wait to be written: a run that is killed loses as much
# (tests/analysis/time/test_recording.py::test_rows_are_written_together_and_wait_no_longer_than_a_second)
_FLUSH_SECONDS = 1.0
_COMPARED = 1024  # last samples whose inputs are compared when a run continues
_PLACES, _AT_EACH = 128, 8  # and places spread over the earlier ones, with so many samples each
_PATIENCE = 20  # tenths of a second for the name of the process that writes

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
    {
        "writer": js.entries({"process": js.whole, "host": js.text}),
        "rtol": js.positive,
        "method": js.text,
        "crossed": js.each(js.text),
        "passages": js.each(js.number),
        "ended": js.whole,
    },
)


class Recording:
    """The file of one run, new or continued: ``rows`` are on disk, ``state`` is the state after them.

    Raises RecordingError if the file belongs to another run (naming what differs), if the disk has too little space, or if
    writing fails.
    """

    def __init__(self, path: Path, run: Asked):
        self._path, self._sidecar, self._run = path, _sidecar(path), run
        self.total = run.compared["samples"]
        self.width = 1 + len(run.units)
        self.rows, self.state, self._named = 0, run.start, run.named
        self.more: dict[str, Any] = {}  # what the sidecar says beyond that: crossings, and whether the run has ended
        self._waiting: list[np.ndarray] = []
        self._stop, self._former = False, None
        self._refuse_place()
        self._held = self._lock()
        try:
            if self._sidecar.exists():
                self._continue()
            elif path.stat().st_size:
                raise RecordingError(
                    f"{run.name}: {path} exists and is not a recording (there is no {self._sidecar.name}); expected a new file "
                    "or one to continue; choose another name or delete it"
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
                f"{self._run.name}: there is no directory {folder} to record in; make it, or choose another"
            )
        try:
            file_status(self._path)
        except FileError as error:
            raise RecordingError(f"{self._run.name}: {error}") from error

    def _lock(self) -> LockedFile | None:
        """The file, locked for this run; None if it is read-only and may contain a complete run."""
        try:
            return LockedFile(self._path)
        except Locked:
            raise RecordingError(
                f"{self._run.name}: {self._path} is being written by {self._writer()}; expected a file that no other run writes; "
                "wait until that has ended, or choose another name"
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

    def _continue(self) -> None:
        run, before = self._run, _read_sidecar(self._sidecar)
        there = {k: v for k, v in before.items() if k in run.compared}
        differ = run.differences(there) or run.other_equations(before["equations"])
        among = before["rows"] - before.get("ended", 0)  # the last row of one that has ended lies between samples
        if not differ and among > 0:
            differ = self._other_inputs(among)
        if differ:
            raise RecordingError(
                f"{self._run.name}: {self._path} belongs to another run: {'; '.join(differ)}; expected the same arguments and "
                "model to continue it; choose another file, or delete this one and its .json"
            )
        if not before["rows"]:
            return
        self.rows, self._named = before["rows"], before["state"]
        # the same motion in other coordinates, where it was made elsewhere
        same = before["digest"] == run.digest
        self.state = np.array(before["internal"], dtype=float) if same else run.resumed(before)
        self.more = {key: before[key] for key in ("crossed", "passages", "ended") if key in before}
        log.info("%s: %s holds %d of %d samples", self._run.name, self._path, self.rows, self.total)

    def _other_inputs(self, rows: int) -> list[str]:
        """Inputs that are not those in the file, at its end or where it is looked at before."""
        table = _mapped(self._path, rows, self.width)
        last = max(rows - _COMPARED, 0)
        places = [(k, min(k + _AT_EACH, rows)) for k in np.unique(np.linspace(0, last, _PLACES).astype(int))]
        places.append((last, rows))
        outputs, names, dt = (
            len(self._run.compared["outputs"]),
            list(self._run.compared["inputs"]),
            self._run.compared["dt"],
        )
        driven = [table[first:end, 1 + outputs :] for first, end in places]
        size = np.max([np.abs(there).max(axis=0, initial=0.0) for there in driven], axis=0)
        said: dict[str, str] = {}
        for (first, end), there in zip(places, driven, strict=True):
            now = self._run.driven(first, end - 1)
            off = np.abs(there - now) > SAME * size
            for i in np.flatnonzero(off.any(axis=0)):
                k = int(np.argmax(off[:, i]))
                said.setdefault(
                    names[i],
                    f"input {names[i]!r} is {now[k, i]:.12g} at t = {dt * (first + k):g} s, but "
                    f"{there[k, i]:.12g} in the file",
                )
        return list(said.values())

    def _refuse_full_disk(self) -> None:
        folder = self._path.absolute().parent
        need, free = 8.0 * self.width * (self.total - self.rows), shutil.disk_usage(folder).free
        if need > free:
            raise RecordingError(
                f"{self._run.name}: {self.total - self.rows} samples need {need / 1e9:.3g} GB on disk, but {folder} has "
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
        return self.rows == self.total or bool(self.more.get("ended"))

    def history(self) -> TimeResponse:
        """All samples on disk."""
        return read_recording(self._path)

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
            self.flush(state, named)
        if self._stop:
            raise Interrupted(self._how_far("stopped"), read_recording(self._path))

    def flush(self, state: np.ndarray, named: dict[str, float]) -> None:
        """Write all rows so far, and the state after them."""
        try:
            self._write(self._waiting, state, named)
        except OSError as error:
            raise self._failed(error) from error
        self._waiting = []

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
            "format": _FORMAT, **self._run.compared, "units": self._run.units, "rows": self.rows, "state": self._named,
            "internal": self.state.tolist(), "digest": self._run.digest, "equations": self._run.equations, **self.more,
            "writer": {"process": os.getpid(), "host": platform.node()},
        }  # fmt: skip
        write_whole(self._sidecar, json.dumps(content), alone=True)

    def _how_far(self, what: str) -> str:
        reached = self._run.compared["dt"] * max(self.rows - 1, 0)
        return (
            f"{self._run.name}: {what} after {self.rows} of {self.total} samples (t = {reached:g} s); "
            f"{self._path} is valid up to there, for np.load and mse.read_recording"
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
        crossed=tuple(told["crossed"]) if told.get("crossed") else None,
        passages=np.reshape(told["passages"], (-1, 3)).astype(float) if told.get("crossed") else None,
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
