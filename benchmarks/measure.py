"""Times of calls made in turn, and the memory that a call takes in a process of its own.

What is measured is made by a *factory*: a function of a module, given plain numbers and texts, that prepares everything
and returns the call to be measured.  ``python -m benchmarks.measure`` is how :func:`peak` runs one elsewhere.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import gc
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

PATIENCE = 8.0  # seconds for the runs of one call


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def alternate(
    calls: Mapping[str, Callable[[], Any]], runs: int, each: int = 1
) -> tuple[dict[str, float], dict[str, Any]]:
    """Median times of calls made in turn, ``each`` times in a row, and their last results.

    The first round compiles and warms caches and is not counted.  Calls that take more than ``PATIENCE`` altogether are made
    fewer times after it, at least once.
    """
    results, times = {name: call() for name, call in calls.items()}, {name: [] for name in calls}
    for _ in range(runs):
        for name, call in calls.items():
            for _ in range(each):
                if sum(times[name]) >= PATIENCE:
                    break
                start = time.perf_counter()
                results[name] = call()
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(t) for name, t in times.items()}, results


class Elsewhere:
    """A process that measures the memory of one call after another, and does nothing else."""

    def __init__(self) -> None:
        root = str(Path(__file__).parent.parent)
        path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH")) if p)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.measure"], cwd=root, env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def peak(self, *job: Any) -> float | None:
        """The answer to one job; None where the process did not survive it."""
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            return None


@functools.cache
def elsewhere() -> Elsewhere:
    process = Elsewhere()
    atexit.register(process.process.kill)
    return process


def peak(factory: Callable[..., Callable[[], Any]], args: tuple, small: tuple) -> float | None:
    """Growth of the resident memory to its peak while the call runs, in MB, in another process; None where that fails.

    The factory's call for ``small`` arguments runs before, so that what is compiled and loaded once does not count; neither
    does what the factory prepares.
    """
    found = elsewhere().peak(factory.__module__, factory.__name__, small, args)
    if found is None:
        elsewhere.cache_clear()
    return found


def _status(key: str) -> float | None:
    """An entry of Linux's account of this process, in MB."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((float(x.split()[1]) * 1024 / 1e6 for x in lines if x.startswith(key + ":")), None)


def _largest() -> float:
    """The largest resident memory of this process so far, in MB."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return _status("VmHWM") or kilobytes * 1024 / 1e6


def _forget_peak() -> float:
    """Give free memory back, begin a new peak, and return the memory held now, in MB; elsewhere than on Linux the peak so far."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (OSError, AttributeError):
        return _largest()
    return _status("VmRSS") or _largest()


def main() -> None:
    """Answer jobs, one a line, until there are no more."""
    for line in sys.stdin:
        module, name, small, args = json.loads(line)
        factory = getattr(importlib.import_module(module), name)
        factory(*small)()
        call = factory(*args)
        before = _forget_peak()
        result = call()
        print(json.dumps(max(_largest() - before, 0.0)), flush=True)
        del result, call


if __name__ == "__main__":
    main()
