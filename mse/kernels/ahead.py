"""A second process compiles what will be needed later, while the first process compiles what it needs now.

It leaves the code on disk, which is the same whoever compiles it.  For a first search the second process works from the last
kernel needed to the first; the first process uses what it finds, and the two meet in the middle.  For a first large motion the
second process, whatever it is at, turns to the kernels that make the steps, from the first to the last, while the first process
compiles what comes before them; then this one works from the last to the first, and waits where the two meet.
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
from queue import SimpleQueue
from time import sleep

import numpy as np

from ..progress.bars import by_environment, is_worker
from ..progress.tasks import Compiling
from .assembling import add_forces, add_matrices, shift_to_reference
from .beams import late_parts, segment
from .jit import compile_for, compiled_for, on_disk, storable
from .joints import put_joints
from .motions import relative_twist
from .rotations import put_turned, rotation_vector
from .springs import body_load

# if Python is embedded in another application, sys.executable would start that application again
_PYTHON = re.compile(r"(python|pypy)[\d.]*[dtw]*(\.exe)?", re.IGNORECASE)
_LOOKING = 0.02  # s, between two looks at whether a kernel is on disk, which take a hundredth of it
_CODE = "import sys; sys.path[:] = {}; from mse.kernels.ahead import compile_as_second; compile_as_second({!r})"

SEARCH, BEAMS, TREES, LOOPS = "search", "beams", "trees", "loops"
ACTING, HOLDING = " acting", " holding"  # bodies on which elements act, and that others hold by rows
IMPLICIT_TREES, IMPLICIT_LOOPS = "implicit trees", "implicit loops"
_BEFORE_STEPS = (
    put_joints,
    shift_to_reference,
)  # what takes longest of all that a large motion needs before its first step
_asked: set[str] = set()  # of these, what this process has begun
_child: subprocess.Popen | None = None
_kind = ""  # what that compiles


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


def steps_of(kind: str) -> list[tuple]:
    """The kernels that make steps of rigid bodies on joints, and arguments of the right types; the longest come first.

    Trees have one of their own.  All other bodies have one that makes many steps, by calls of one that evaluates them.  There are
    others where elements are acting or holding.  Implicit steps have several, some with code for trees and other code for loops.
    """
    if kind == IMPLICIT_TREES:
        from . import implicit_trees

        return implicit_trees.kernels()
    if kind == IMPLICIT_LOOPS:
        from . import implicit_loops

        return implicit_loops.kernels()
    from .acting import exert, exert_arguments

    acting = [(exert, exert_arguments())] if ACTING in kind else []
    if TREES in kind:
        from .tree_steps import march, march_arguments

        return [(march, march_arguments()), *acting]
    from .multibody import run, run_arguments
    from .multibody_steps import march, march_arguments

    kernels = [(run, run_arguments())]
    if HOLDING in kind:
        from .holding import hold, hold_arguments

        kernels.append((hold, hold_arguments()))
    return [*kernels, *acting, (march, march_arguments())]


def compile_ahead(kernels: Collection) -> None:
    """Start a second process that compiles what a search needs after the element ``kernels``, if that is useful."""
    kind = BEAMS if segment in kernels else SEARCH
    if _child is not None and _child.poll() is not None:
        _end()
    if kind not in _asked:
        _asked.add(kind)
        first = segment if kind == BEAMS else shift_to_reference
        if _child is None and not on_disk(first) and storable(first) and _of_use():
            _start(kind)


def may_begin_early() -> bool:
    """Whether a second process could compile the steps of a large motion while this one compiles what comes before them."""
    return not all(map(on_disk, _BEFORE_STEPS)) and storable(put_joints) and _of_use()


def compile_steps_ahead(kind: str) -> None:
    """Let a second process compile the steps of large motions, if this one has to compile something meanwhile."""
    kernels = steps_of(kind)
    missing = _missing(kernels)
    useful = (
        missing and (len(missing) > 1 or not all(map(on_disk, _BEFORE_STEPS))) and storable(put_joints) and _of_use()
    )
    if kind not in _asked and useful:
        _asked.add(kind)
        if not _tell(kind, len(kernels)):
            _end()
            _start(kind)


def wait_for_steps(kind: str) -> None:
    """Compile steps from the last kernel to the first up to the one that the second process is at, and wait for that."""
    if _child is not None and _kind == kind:
        kernels = steps_of(kind)
        with Compiling("large motions", f"kept in {kernels[0][0]._cache.cache_path}"):
            while missing := _missing(kernels):
                if len(missing) > 1 or _child.poll() is not None:
                    _tell(kind, kernels.index(missing[-1]))
                    compile_for(*missing[-1])
                else:
                    with suppress(subprocess.TimeoutExpired):
                        _child.wait(_LOOKING)
        _end()


def _missing(kernels: list[tuple]) -> list[tuple]:
    """The kernels of a list, with their arguments, that no process has compiled yet."""
    return [(kernel, arguments) for kernel, arguments in kernels if not compiled_for(kernel, arguments)]


def _tell(kind: str, share: int) -> bool:
    """Tell the second process to go on with so many kernels of a kind of steps; whether there is one to tell."""
    global _kind
    if _child is None or _child.poll() is not None:
        return False
    with suppress(OSError):  # it may just have ended
        _child.stdin.write(f"{share} {kind}\n".encode())
        _child.stdin.flush()
        _kind = kind
    return _kind == kind


def _start(kind: str) -> None:
    global _child, _kind
    path = [os.path.abspath(folder) for folder in sys.path if isinstance(folder, str)]
    with suppress(Exception):  # if it is forbidden, this process compiles everything itself
        _child = subprocess.Popen(
            [sys.executable, "-c", _CODE.format(path, kind)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )  # fmt: skip
        _kind = kind
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


def compile_as_second(kind: str) -> None:
    """Compile what is not on disk yet, in the second process: for a search from the last kernel needed to the first.

    Before each kernel it turns to what the first process asks for: steps take longer than what is left of a search, and the first
    process waits for them.
    """
    asked = SimpleQueue()
    threading.Thread(target=_listen, args=(asked,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it, within a kernel too
    if kind in (SEARCH, BEAMS):
        late = late_parts() if kind == BEAMS else []  # while the first process compiles the early ones
        kernels = [*reversed(late), *reversed(needed(kind == BEAMS))]
    else:
        kernels = steps_of(kind)
    sleep(_LOOKING)  # the other thread reads what came while this process started
    _compile_missing(kernels, asked)


def _compile_missing(kernels: list[tuple], asked: SimpleQueue) -> None:
    """Compile one after the other what no process has compiled yet; what is asked for meanwhile replaces what is left."""
    while True:
        while not asked.empty():
            share, kind = asked.get().split(maxsplit=1)
            kernels = steps_of(kind)[: int(share)]
        missing = _missing(kernels)
        if not missing:
            return
        compile_for(*missing[0])


def _listen(asked: SimpleQueue) -> None:
    """Hear what the first process asks for, until the pipe ends, as it does with that process in any way."""
    while text := os.read(sys.stdin.fileno(), 1000):
        asked.put(text.decode().splitlines()[-1])
    os._exit(0)
