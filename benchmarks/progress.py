"""What showing progress costs, and how soon a first use says what it does."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mse

from .first_use import BLADE
from .measure import seconds
from .table import Row


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def calls(steps: int, frequencies: int) -> dict[str, tuple[int, Callable[..., Any]]]:
    """Long calls and short ones by name, with their sizes; each takes ``progress``."""
    stage = mse.MSystem("stage")
    mass = stage.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
    stage.add(mse.Spring("spring", length=0.5, stiffness=980.0, damping=0.1), between=(stage.ground, mass))
    stage.add(mse.ForceActuator("coil"), between=(mass, stage.ground))
    point = stage.find_working_point()
    linear = point.linearize()
    f = np.geomspace(0.1, 100.0, frequencies)
    return {
        "update": (6, lambda **o: point.update({"spring.length": 0.51}, **o)),
        "linearize": (6, lambda **o: point.linearize(**o)),
        "response": (frequencies, lambda **o: linear.frequency_response(f, **o)),
        "run": (steps, lambda **o: linear.simulate(duration=1e-3 * steps, dt=1e-3, inputs={"coil.fz": np.sin}, **o)),
    }


def cost_rows(steps: int, frequencies: int, runs: int) -> Iterator[Row]:
    """Times of calls whose progress a terminal is to show, and in the notes how much of them that takes.

    Both are the least of many in turn: the difference is smaller than what other processes add to a median.
    """
    with contextlib.redirect_stderr(Screen()):
        for name, (size, call) in calls(steps, frequencies).items():
            call()
            both = [(seconds(call), seconds(lambda call=call: call(progress=False))) for _ in range(runs)]
            shown, off = map(min, zip(*both, strict=True))
            yield Row(f"progress: {name}, shown", size, shown, note=f"{shown / off - 1.0:+.2%} by showing it ({name})")


def told_row() -> Row | None:
    """Seconds from the start of a process until a terminal says what it does, with numba's cache empty."""
    if not hasattr(os, "openpty"):
        return None
    root = str(Path(__file__).parent.parent)
    path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH")) if p)
    program = f"import time, mse; print(time.perf_counter(), flush=True)\n{BLADE}"
    with tempfile.TemporaryDirectory() as cache:
        screen, stderr = os.openpty()
        begin = time.perf_counter()  # the clock of all processes, on Linux and macOS
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=stderr, text=True,
            env=os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": path, "COLUMNS": "100"},
        )  # fmt: skip
        os.close(stderr)
        imported = float(process.stdout.readline())
        os.read(screen, 1)
        told = time.perf_counter()
        process.terminate()
        process.communicate()
        os.close(screen)
    return Row(
        "first use: until it says what it does", 48, told - begin, note=f"{told - imported:.2f} s after the import"
    )


def rows(quick: bool) -> Iterator[Row]:
    yield from cost_rows(200_000, 2_000, 100 if quick else 500)
    told = told_row()
    if told is not None:
        yield told
