"""Print one table: task, size, ours, each peer, ratio, error, peak memory.  ``python benchmarks/run.py [--quick]``

Medians of several runs, ours and the peer's in turn in one process, after one run each that compiles and warms caches.
Absolute times depend on the machine and its load; ratios less.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "tests")]

import beams  # noqa: E402
from by_hand import Chain  # noqa: E402
from models import four_wire_chain  # noqa: E402


def ours(stages: int) -> np.ndarray:
    return four_wire_chain(stages).find_working_point().linearize().modes(min(20, 6 * stages)).frequencies


def by_hand(stages: int) -> np.ndarray:
    chain = Chain(stages)
    chain.relax()
    return chain.modes(min(20, 6 * stages))


def alternate(a: Callable, b: Callable, runs: int) -> tuple[float, float, object, object]:
    """Median times of a and b, run in turn, and their last results."""
    times: tuple[list[float], list[float]] = ([], [])
    results = [a(), b()]
    for _ in range(runs):
        for k, f in enumerate((a, b)):
            start = time.perf_counter()
            results[k] = f()
            times[k].append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1]), *results


def peak(f: Callable) -> float:
    """Largest memory traced in Python's and NumPy's allocations, in MB."""
    tracemalloc.start()
    f()
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes and few runs")
    quick = parser.parse_args().quick
    print(f"mse benchmarks, {platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    head = f"{'task':44}{'N':>5}{'ours (s)':>10}{'by hand (s)':>12}{'ratio':>7}{'error':>10}{'MB':>7}{'s/N':>10}"
    print(head + "\n" + "-" * len(head))
    for stages in (1, 4, 20) if quick else (1, 4, 20, 100, 500):
        a, b, mine, theirs = alternate(lambda n=stages: ours(n), lambda n=stages: by_hand(n), 3 if quick else 7)
        error = np.max(np.abs(mine / theirs - 1))
        memory = peak(lambda n=stages: ours(n))
        task = "chain of four-wire stages: system to 20 modes"
        print(f"{task:44}{stages:5d}{a:10.4f}{b:12.4f}{a / b:7.2f}{error:10.1e}{memory:7.1f}{a / stages:10.1e}")
    print("\nby hand: NumPy and SciPy for this chain alone (benchmarks/by_hand.py); ratio is ours over by hand")
    beams.table(quick)


if __name__ == "__main__":
    main()
