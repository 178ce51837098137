"""The motion of all coordinates behind a run, of which a history keeps inputs and outputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ...analysis.time.response import TimeResponse
from ...errors import ModelError
from ...linear.linear_model import LinearModel
from ...statics.working_point import WorkingPoint
from ..scene import Scene

_BLOCK = 2e7  # numbers that are held at once: 160 MB
_ANOTHER = 1e-2  # of the largest value of an output: a difference that no rounding and no kind of hold makes


def replayed(scene: Scene, wp: WorkingPoint, history: TimeResponse, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Times (t,) of at most ``most`` samples, and the twists (t, c, 6) of all carriers at them.

    The run is computed again with all coordinates as outputs; ModelError where that gives other outputs than the history has.
    """
    model = wp.linearize()
    unknown = [n for n in (*history.inputs, *history.outputs) if n not in (*model.inputs, *model.outputs)]
    if unknown:
        raise ModelError(
            f"{wp.name}: the run of {history.name!r} has {unknown[0]!r}, which this system has not; expected one of this working "
            "point's linear model: working_point.linearize().simulate(...)"
        )
    count = len(history.time)
    if count < 2:
        raise ModelError(f"{wp.name}: the run of {history.name!r} has {count} samples; expected two at least")
    every = -(-(count - 1) // (most - 1))
    chosen = np.arange(0, count, every)
    coordinates = _coordinates_over_time(model, history, chosen)
    links = 6 * len(wp._topology.links)
    held = model.drive[:, [model.inputs.index(n) for n in history.inputs]] @ history.driven[chosen].T
    twists = scene.twists(coordinates.T, held[:links])
    return history.time[chosen], np.moveaxis(twists, 2, 0)


def _coordinates_over_time(model: LinearModel, history: TimeResponse, chosen: np.ndarray) -> np.ndarray:
    """All coordinates (t, n) at the chosen samples."""
    n, width = model.size, model.full_mass.shape[0]
    names = tuple(f"coordinate {c}" for c in model.coordinates)
    whole = replace(
        model,
        outputs=(*names, *model.outputs),
        output_units=(*("",) * n, *model.output_units),
        measure=sp.vstack([sp.eye(n, width, format="csr"), model.measure], format="csr"),
        reaction=sp.vstack([sp.csr_matrix((n, model.reaction.shape[1])), model.reaction], format="csr"),
    )
    off = {}
    # a history does not tell how its inputs went between samples; loops hold them, runs join them by lines
    for hold in ("foh", "zoh"):
        found, off[hold] = _run_again(whole, names, history, hold, chosen)
        if off[hold] is None:
            return found
    raise ModelError(
        f"{model.name}: run again, the history's {off['foh']}; expected a run of this working point's linear model with the "
        "inputs that it records; make both from one system"
    )


def _run_again(
    whole: LinearModel, names: tuple[str, ...], history: TimeResponse, hold: str, chosen: np.ndarray
) -> tuple[np.ndarray, str | None]:
    """All coordinates (t, n) at the chosen samples, and in words where the outputs differ from the history's."""
    n, steps = len(names), len(history.time) - 1
    dt = float(history.time[-1] - history.time[0]) / steps
    block = max(1, int(_BLOCK / (n + len(history.outputs) + 1)))
    state, out, first = dict(history.initial_state), [], 0
    while first < steps:
        last = min(first + block, steps)
        inputs = {name: np.array(history[name][first : last + 1]) for name in history.inputs}
        run = whole.simulate(
            duration=dt * (last - first), dt=dt, inputs=inputs, outputs=[*names, *history.outputs], initial=state,
            hold=hold, progress=False,
        )  # fmt: skip
        off = _difference(history, run, first)
        if off is not None:
            return np.zeros((0, n)), off
        here = chosen[(chosen >= first) & (chosen < last + (last == steps))]
        out.append(run.values[here - first, :n])
        state, first = run.final_state, last
    return np.vstack(out), None


def _difference(history: TimeResponse, run: TimeResponse, first: int) -> str | None:
    for name in history.outputs:
        given, found = history[name][first : first + len(run.time)], run[name]
        size = max(np.abs(given).max(initial=0.0), np.abs(found).max(initial=0.0))
        off = np.abs(given - found).max(initial=0.0)
        if off > _ANOTHER * size and off > 1e-12 * max(np.abs(run.values).max(initial=0.0), size):
            return f"output {name!r} differs by {off:.3g} of {size:.3g}"
    return None
