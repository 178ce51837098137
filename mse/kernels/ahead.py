"""A second process compiles what a first search will need later, while the first process compiles what it needs now.

The second process works from the last kernel needed to the first and leaves the code on disk.  The first process uses what it
finds there; the two meet in the middle.  Neither waits for the other, and the code is the same whoever compiles it.
"""

from __future__ import annotations

import atexit
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Collection
from contextlib import suppress

import numpy as np

from ..progress.bars import by_environment, is_worker
from .assembling import add_forces, add_matrices, shift_to_reference
from .beams import late_parts, segment
from .jit import compile_for, on_disk, storable
from .motions import relative_twist
from .rotations import put_turned, rotation_vector
from .springs import body_load

# if Python is embedded in another application, sys.executable would start that application again
_PYTHON = re.compile(r"(python|pypy)[\d.]*[dtw]*(\.exe)?", re.IGNORECASE)
_NICENESS = 5
_CODE = "import sys; sys.path[:] = {}; from mse.kernels.ahead import compile_backwards; compile_backwards({})"

_asked: set[bool] = set()  # kinds of searches, without or with beams, that this process has begun
_child: subprocess.Popen | None = None


def needed(with_beams: bool) -> list[tuple]:
    """The kernels that a first search needs after its elements' kernels, in order, with arguments of the right types.

    With beams, also the kernels of the linear model and its frequency response, which takes longest to compile.
    """
    numbers = [np.zeros((0,) * axes) for axes in range(5)]
    counts = [np.zeros((0,) * axes, dtype=int) for axes in range(4)]
    _, row, table, stack, blocks = numbers
    out = [
        (shift_to_reference, (stack, 0, table, blocks)),
        (body_load, (table, stack, blocks, table, row, 0, row, table, blocks)),
        (add_forces, (0.0, counts[2], 0, row, table, row, row, row)),
        (add_matrices, (table, blocks, counts[1], counts[3], row)),
        (put_turned, (stack, table, stack)),
        (rotation_vector, (table,)),
    ]
    if with_beams:
        from .ldl import Fronts, sweep

        fronts = Fronts(*[counts[1]] * 7, 0, 0, 0)
        spans, values = (counts[1], counts[1]), (row, row, row)
        out.append((relative_twist, (row, table, row, table)))
        out.append((sweep, (row, fronts, 0, 0, 0, *values, *spans, row, None, None, None, counts[1], None, None, None)))
    return out


def compile_ahead(kernels: Collection) -> None:
    """Start a second process that compiles what a search needs after the element ``kernels``, if that is useful."""
    global _child
    with_beams = segment in kernels
    if _child is not None and _child.poll() is not None:
        _end()
    if with_beams in _asked:
        return
    _asked.add(with_beams)
    first = segment if with_beams else shift_to_reference
    if _child is not None or on_disk(first) or not (storable(first) and _of_use()):
        return
    path = [os.path.abspath(folder) for folder in sys.path if isinstance(folder, str)]
    flags = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
    with suppress(Exception):  # if it is forbidden, this process compiles everything itself
        _child = subprocess.Popen(
            [sys.executable, "-c", _CODE.format(path, with_beams)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, creationflags=flags,
        )  # fmt: skip
        atexit.register(_end)


def _of_use() -> bool:
    """Whether a second process is allowed, can run at the same time, and would be Python."""
    if not by_environment("MSE_COMPILE_AHEAD") or is_worker() or "PYTEST_XDIST_WORKER" in os.environ:
        return False
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    name = os.path.basename(sys.executable or "")
    return processors > 1 and not getattr(sys, "frozen", False) and _PYTHON.fullmatch(name) is not None


def _end() -> None:
    """End the second process, if it still runs, and forget it."""
    global _child
    child, _child = _child, None
    if child is not None:
        with suppress(OSError):
            child.kill()
            child.stdin.close()
        child.wait()
        atexit.unregister(_end)


def compile_backwards(with_beams: bool) -> None:
    """Run in the second process: compile what is not on disk yet, from the last kernel needed to the first."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it, within a kernel too
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    if with_beams:
        _compile_missing(late_parts())  # while the first process compiles the early ones
    _compile_missing(needed(with_beams))


def _compile_missing(kernels: list[tuple]) -> None:
    """Compile kernels, from the last to the first, that are not on disk yet."""
    for kernel, arguments in reversed(kernels):
        if not on_disk(kernel):  # the first process may have compiled it
            compile_for(kernel, arguments)


def _end_with_parent() -> None:
    """Wait for the end of the pipe, which comes when the first process ends in any way."""
    os.read(sys.stdin.fileno(), 1)
    os._exit(0)
