"""Time evolution: 100,000 steps of the chain of plates on four wires, driven at its top; steps with a controller; recording.

"Evolution" is the difference between 100,000 steps and next to none; ours, with 1,200 states, where the difference would be
lost in what precedes the steps, a fourth of the difference between 500,000 and 100,000.  "Whole call" begins at the linear
model; the peers get A, B, C, D made before.  Errors: largest difference of any output from the reference, relative to that
output's largest value: steps in long double up to 240 states, lsim beyond.
"""

from __future__ import annotations

import functools
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numba
import numpy as np
import scipy.signal

import long_double
import mse
from models import four_wire_chain

from . import by_hand, measure
from .peers import peer
from .table import Row

STEPS, LONG, FEW, DT = 100_000, 500_000, 10, 1e-2
LARGE = 600  # states
DRIVES = [f"base.{a}" for a in ("x", "y", "z", "ax", "ay", "az")]
SAMPLED = "python-control: 10,000 steps, the difference to next to none scaled to 100,000"


def driven(stages: int, damped: bool) -> mse.LinearModel:
    """The chain; ``damped``: its first plate against the ground, which couples all modes."""
    s = four_wire_chain(stages, driven=True)
    if damped:
        damper = s.add(mse.Bushing("damper", stiffness=np.zeros(6), damping=(5.0, 4.0, 3.0, 0.1, 0.1, 0.1)))
        s.clamp(s.ground, damper.frame(1), mse.Pose.dz(-0.52))
        s.clamp(s["plate0"].frame(0), damper.frame(0))
    return s.find_working_point().linearize()


def drive(steps: int, inputs: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((steps + 1, inputs)) * 1e-3


def whole(stages: int, inputs: int, damped: bool, steps: int) -> Callable[[], object]:
    """All of simulate(), from the linear model; linear between samples where damped, held else."""
    model, u = driven(stages, damped), drive(steps, inputs)
    given = dict(zip(DRIVES, np.ascontiguousarray(u.T), strict=False))
    hold = "foh" if damped else "zoh"
    return lambda: model.simulate(duration=steps * DT, dt=DT, inputs=given, hold=hold, progress=False)


def evolution_rows(stages: int, inputs: int, damped: bool, runs: int) -> Iterator[Row]:
    ss = driven(stages, damped).state_space(inputs=DRIVES[:inputs])
    states, u, hold = len(ss.states), drive(STEPS, inputs), "foh" if damped else "zoh"

    def lsim(steps: int) -> np.ndarray:
        times = DT * np.arange(steps + 1)
        return scipy.signal.lsim((ss.A, ss.B, ss.C, ss.D), u[: steps + 1], times, interp=damped)[1]

    few, many = (STEPS, LONG) if states > LARGE else (FEW, STEPS)
    calls = {
        "ours": whole(stages, inputs, damped, STEPS),
        "few": whole(stages, inputs, damped, few),
        "many": whole(stages, inputs, damped, many),
        "SciPy": lambda: lsim(STEPS),
        "no SciPy": lambda: lsim(FEW),
    }
    control, share = peer("control"), 1 if states < 50 else 10
    if control is not None and damped:  # it knows no held inputs: linear between samples always
        given = control.ss(ss.A, ss.B, ss.C, ss.D)

        def forced(steps: int) -> np.ndarray:
            return control.forced_response(given, DT * np.arange(steps + 1), u[: steps + 1].T).outputs

        calls |= {"control": lambda: forced(STEPS // share), "no control": lambda: forced(FEW)}
    # small differences of long times: as many of these as there is time for
    times, results = measure.alternate(calls, runs, 3 if states > LARGE else 1)
    right = long_double.outputs(ss, DT, u, hold) if states <= 240 else results["SciPy"]
    size = np.abs(right).max(axis=0)
    moves = size > 1e-12 * size.max()
    error = float(np.max(np.abs(results["ours"].values - right)[:, moves] / size[moves]))
    alone = {
        name: (times[name] - times["no " + name]) * (share if name == "control" else 1)
        for name in ("SciPy", "control")
        if name in times
    }
    all_of = {name: alone[name] + times["no " + name] for name in alone}
    task = f"100,000 steps, {inputs} input{'s' * (inputs > 1)}" + ", ramps, damped" * damped
    note = SAMPLED if "control" in times and share > 1 else ""
    ours = (times["many"] - times["few"]) * STEPS / (many - few)
    yield Row(f"{task}: evolution", states, ours, alone, error, None, note)
    memory = measure.peak(whole, (stages, inputs, damped, STEPS), (1, inputs, damped, FEW))
    yield Row(f"{task}: whole call", states, times["ours"], all_of, error, memory, note)


@numba.njit
def damping(outputs, inputs, memory, time):
    inputs[0] = -memory[0] * (outputs[0] - memory[1])
    memory[1] = outputs[0]


def controller_rows(runs: int, steps: int = 20_000) -> Iterator[Row]:
    """One step with a simple controller, 12 states, one input, one output."""
    model = driven(1, False)
    names = {"inputs": ["base.x"], "outputs": ["probe.x"]}
    ss, loop = model.state_space(**names), model.step_loop(dt=DT, **names)
    hand = by_hand.Steps(ss.A, ss.B, ss.C, ss.D, DT)
    wide = model.step_loop(dt=DT, inputs=DRIVES)

    def by_name() -> None:
        for _ in range(steps):
            loop["base.x"] = -1e-3 * loop["probe.x"]
            loop.step()

    def together() -> None:
        u = np.zeros(6)
        for _ in range(steps):
            y = wide.read()
            u[0] = -1e-3 * y[0]
            wide.set(u)
            wide.step()

    def numpy() -> None:
        for _ in range(steps):
            hand.u[0] = -1e-3 * hand.read()[0]
            hand.step()

    def compiled():
        fresh = model.step_loop(dt=DT, **names)
        return fresh.run(10 * steps, controller=damping, memory=np.array([1e-3, 0.0]))

    matrices = [np.ascontiguousarray(a) for a in (hand.p, hand.q, hand.c, hand.d)]
    calls = {"ours": by_name, "by hand": numpy, "wide": together}
    times, _ = measure.alternate(calls, runs)
    task = "one step, Python controller"
    yield Row(f"{task}, by name", 12, times["ours"] / steps, {"by hand": times["by hand"] / steps})
    yield Row(f"{task}, 6 in and out", 12, times["wide"] / steps)
    numba_loop = functools.partial(by_hand.run, *matrices, 1e-3, 10 * steps)
    times, results = measure.alternate({"ours": compiled, "by hand": numba_loop}, runs)
    theirs, mine = results["by hand"][:, 0], results["ours"].values[:-1, 0]
    error = float(np.abs(mine - theirs).max() / max(np.abs(theirs).max(), 1e-300))
    scaled = {name: t / (10 * steps) for name, t in times.items()}
    yield Row("one step, compiled controller", 12, scaled["ours"], {"by hand": scaled["by hand"]}, error)


def recorded(steps: int) -> Callable[[], None]:
    """A run written to disk."""
    model, u = driven(1, False), drive(steps, 1)[:, 0]

    def call() -> None:
        with tempfile.TemporaryDirectory() as folder:
            model.simulate(
                duration=steps * DT, dt=DT, inputs={"base.x": u}, record=Path(folder) / "run.npy", progress=False
            )

    return call


def recording_row(steps: int) -> Row:
    call = recorded(steps)
    call()
    time = statistics.median(measure.seconds(call) for _ in range(3))
    return Row(f"{steps:,} steps recorded on disk", 12, time, memory=measure.peak(recorded, (steps,), (FEW,)))


def rows(quick: bool) -> Iterator[Row]:
    for stages in (1, 5) if quick else (1, 5, 20, 100):
        for inputs, damped in ((1, False), (6, False), (6, True)):
            yield from evolution_rows(stages, inputs, damped, 3 if quick else 5)
    yield from controller_rows(3 if quick else 7)
    yield recording_row(200_000 if quick else 2_000_000)
