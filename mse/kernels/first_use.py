"""Says that kernels are being compiled, and when that is done: the first script of a machine would else wait in silence.

Lines go to the logger ``mse`` at INFO; where nobody listens there, to stderr.  A level of that logger above INFO silences both.
"""

from __future__ import annotations

import atexit
import logging
import sys
import threading
from time import perf_counter

from numba.core import event

log = logging.getLogger("mse")

# what users call the subject of a file of kernels
_SUBJECTS = {
    "assembling": "assembly",
    "beams": "beams",
    "control": "compiled controllers",
    "factor": "factorization",
    "frames": "assembly",
    "fronts": "elimination",
    "joints": "joints",
    "ldl": "frequency response",
    "march": "time steps",
    "motions": "beams",
    "rank": "constraints",
    "rotations": "rotations",
    "springs": "springs and weights",
}


class FirstUse(event.Listener):
    """Adds up what numba compiles of this package; what a kernel calls is part of it.

    Nothing is said about the first ``silent`` seconds; ``quiet`` seconds without compiling are its end.  numba compiles in one
    thread at a time, within its own lock; the lock here is for the timer that notices the end.
    """

    def __init__(self, silent: float = 1.0, quiet: float = 1.0):
        self.silent, self.quiet = silent, quiet
        self._lock = threading.Lock()
        self._end: threading.Timer | None = None
        self._open: list = []  # functions being compiled, each waiting for the next
        self._began = self._spent = 0.0  # when the outermost began, and what others took since the last line
        self._subjects: dict[str, None] = {}
        self._told = False

    def on_start(self, event) -> None:
        """A function is going to be compiled."""
        kernel = event.data["dispatcher"]
        with self._lock:
            if not self._open:
                module = kernel.py_func.__module__ or ""  # code that is executed from text has none
                if not module.startswith(f"{__package__}."):
                    return  # not ours, nor asked for by one of ours
                if self._end is not None:
                    self._end.cancel()
                self._began = perf_counter()
                name = module.rpartition(".")[2]
                self._subjects[_SUBJECTS.get(name, name)] = None
            self._open.append(kernel)
            if not self._told and self._spent + perf_counter() - self._began >= self.silent:
                self._told = True
                folder = self._open[0]._cache.cache_path
                where = f"kept in {folder}" if folder else "no folder to keep it in can be written; set NUMBA_CACHE_DIR"
                _say(f"compiling for this machine, once: {list(self._subjects)[-1]} ({where})")

    def on_end(self, event) -> None:
        """A function has been compiled, or could not be."""
        with self._lock:
            if not self._open or self._open[-1] is not event.data["dispatcher"]:
                return
            self._open.pop()
            if self._open:
                return
            self._spent += perf_counter() - self._began
            if self._told:
                self._end = threading.Timer(self.quiet, self.finish)
                self._end.daemon = True
                self._end.start()

    def finish(self) -> None:
        """Say how long it took, if its beginning was told."""
        with self._lock:
            if not self._told or self._open:
                return
            _say(f"compiled in {self._spent:.1f} s: {', '.join(self._subjects)}")
            self._spent, self._told = 0.0, False
            self._subjects.clear()


def _say(line: str) -> None:
    """One line, unless this is a worker of multiprocessing, whose siblings would all say it."""
    processes = sys.modules.get("multiprocessing")
    if processes is not None and processes.parent_process() is not None:
        return
    if log.isEnabledFor(logging.INFO) and log.hasHandlers():
        log.info(line)
    elif log.level <= logging.INFO and sys.stderr is not None:
        print(f"mse: {line}", file=sys.stderr, flush=True)


first_use = FirstUse()  # registered in jit.py
atexit.register(first_use.finish)
