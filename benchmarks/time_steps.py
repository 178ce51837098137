"""Time evolution beside scipy.signal.lsim, one table; then the cost of a step with a controller, and of recording.

``python benchmarks/time_steps.py [--quick]``: 100,000 steps of the chain of plates on four wires, driven at its top, undamped
or with one plate damped against the ground (which couples all modes).  Medians of several runs, ours and the peer's in
turn in one process; with 1,200 states lsim runs once, for about a minute.  "steps" is the evolution alone, given inputs
and outputs; "call" all of simulate(), from the linear model.  The error is the largest difference of any output from the
reference, relative to the largest value of that output: steps with the exponential in long double up to 240 states,
lsim beyond.  MB is the largest memory that simulate() had in Python's and NumPy's allocations.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "tests")]

import numba  # noqa: E402
import numpy as np  # noqa: E402
import scipy.signal  # noqa: E402
from run import peak  # noqa: E402
from test_time_blocks import exactly, locally_damped  # noqa: E402

from models import four_wire_chain  # noqa: E402
from mse.analysis.stepping import Blocks, Step  # noqa: E402

STEPS, DT = 100_000, 1e-2
DRIVES = [f"base.{a}" for a in ("x", "y", "z", "ax", "ay", "az")]


def seconds(f: Callable) -> float:
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def median(f: Callable, runs: int) -> float:
    return statistics.median(seconds(f) for _ in range(runs))


def line(stages: int, inputs: int, hold: str, damped: bool) -> str:
    model = locally_damped(stages) if damped else four_wire_chain(stages, driven=True).find_working_point().linearize()
    names = DRIVES[:inputs]
    ss = model.state_space(inputs=names)
    u = np.random.default_rng(0).standard_normal((STEPS + 1, inputs)) * 1e-3
    step = Step(ss, DT, [hold] * inputs)
    blocks = Blocks(step, STEPS)
    y = np.empty((STEPS, len(ss.outputs)))
    history = []

    def march() -> None:
        blocks.advance(-step.shift @ u[0], u[:-1], y)

    def call() -> None:
        given = dict(zip(names, u.T, strict=True))
        history[:] = [model.simulate(duration=STEPS * DT, dt=DT, inputs=given, hold=hold, progress=False)]

    def lsim() -> None:
        time = DT * np.arange(STEPS + 1)
        theirs[:] = [scipy.signal.lsim((ss.A, ss.B, ss.C, ss.D), u, time, interp=hold == "first")[1]]

    theirs: list[np.ndarray] = []
    march()
    call()
    large = len(ss.states) > 600
    ours, peers = [], []
    for _ in range(1 if large else 5):
        ours += [seconds(march) for _ in range(5)]
        peers.append(seconds(lsim))
    whole = median(call, 3)
    small = len(ss.states) <= 240
    reference = exactly(ss, DT, u, hold, np.zeros(len(ss.states))) if small else theirs[0]
    size = np.abs(reference).max(axis=0)

    def error(found: np.ndarray) -> float:
        return float(np.max(np.abs(found - reference)[:, size > 1e-12 * size.max()] / size[size > 1e-12 * size.max()]))

    a, b = statistics.median(ours), statistics.median(peers)
    other = f"{error(theirs[0]):10.1e}" if small else f"{'-':>10}"
    task = f"{'damped' if damped else 'undamped'}, {inputs} input{'s' * (inputs > 1)}, hold {hold}"
    return (
        f"{task:34}{len(ss.states):7d}{1e3 * a:11.2f}{1e3 * b:11.1f}{b / a:8.0f}{1e3 * whole:11.1f}{b / whole:8.0f}"
        f"{error(history[0].values):10.1e}{other}{peak(call):8.1f}"
    )


@numba.njit
def damping(outputs, inputs, memory, time):
    inputs[0] = -memory[0] * (outputs[0] - memory[1])
    memory[1] = outputs[0]


def controllers() -> None:
    """Our own cost of a step: a loop with a controller, less the controller alone."""
    model = four_wire_chain(1, driven=True).find_working_point().linearize()
    print("\nsteps with a controller, 12 states: us a step of our own")
    for inputs, outputs in ((["base.x"], ["probe.x"]), (DRIVES, None)):
        loop = model.step_loop(dt=DT, inputs=inputs, outputs=outputs)
        n = 20_000

        def python(loop=loop, n=n) -> None:
            for _ in range(n):
                loop["base.x"] = -1e-3 * loop["probe.x"]
                loop.step()

        def all_at_once(loop=loop, n=n, u=np.zeros(len(inputs))) -> None:  # noqa: B008
            for _ in range(n):
                y = loop.read()
                u[0] = -1e-3 * y[0]
                loop.set(u)
                loop.step()

        def bare(n=n, u={"base.x": 0.0}, y={"probe.x": 1e-3}) -> None:  # noqa: B006
            for _ in range(n):
                u["base.x"] = -1e-3 * y["probe.x"]

        def compiled(loop=loop, n=n) -> None:
            loop.run(10 * n, controller=damping, memory=np.array([1e-3, 0.0]))

        def alone(n=n) -> None:
            calls(damping, np.zeros(6), np.zeros(6), np.array([1e-3, 0.0]), 10 * n)

        for f in (python, all_at_once, compiled, alone):
            f()
        free = median(bare, 7)
        by_name, together = ((median(f, 7) - free) / n * 1e6 for f in (python, all_at_once))
        in_run = (median(compiled, 7) - median(alone, 7)) / (10 * n) * 1e6
        print(
            f"  {len(loop.inputs)} inputs, {len(loop.outputs)} outputs: from Python, by name {by_name:.2f}, read() and set() "
            f"{together:.2f}; compiled {in_run:.3f}"
        )


@numba.njit
def calls(controller, y, u, memory, n):
    for k in range(n):
        controller(y, u, memory, k * 1.0)


def recording() -> None:
    model = four_wire_chain(1, driven=True).find_working_point().linearize()
    n = 2_000_000
    u = np.random.default_rng(0).standard_normal(n + 1)
    options = {"duration": n * DT, "dt": DT, "inputs": {"base.x": u}, "progress": False}

    def memory() -> None:
        model.simulate(**options)

    def disk() -> None:
        with tempfile.TemporaryDirectory() as folder:
            model.simulate(**options, record=Path(folder) / "run.npy")

    memory()
    a, b = median(memory, 3), median(disk, 3)
    print(f"\n{n} steps, 12 states, 6 outputs: {a:.2f} s in memory ({peak(memory):.0f} MB), "
          f"{b:.2f} s recorded in {8e-6 * 8 * n:.0f} MB on disk ({peak(disk):.0f} MB of memory)")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to 60 states, few runs")
    quick = parser.parse_args().quick
    head = f"{f'{STEPS} steps, 6 outputs':34}{'states':>7}{'steps (ms)':>11}{'lsim (ms)':>11}{'ratio':>8}"
    head += f"{'call (ms)':>11}{'ratio':>8}{'error':>10}{'of lsim':>10}{'MB':>8}"
    print(head + "\n" + "-" * len(head))
    for stages in (1, 5) if quick else (1, 5, 20, 100):
        cases = [(1, "zero", False), (6, "zero", False), (6, "first", False), (6, "first", True)]
        for inputs, hold, damped in cases if stages < 100 else [cases[0], cases[1], cases[3]]:
            print(line(stages, inputs, hold, damped), flush=True)
    controllers()
    recording()


if __name__ == "__main__":
    main()
