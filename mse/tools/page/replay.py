"""The motion of all coordinates during a run, computed again from its history, which keeps only inputs and outputs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import scipy.sparse as sp

from ...analysis.time.inputs import NODES, Input
from ...analysis.time.response import TimeResponse
from ...display import ROUNDING, scales
from ...errors import ModelError
from ...linear.linear_model import LinearModel
from ...statics.working_point import WorkingPoint
from ..scene import Scene

_BLOCK = 2e7  # numbers in memory at once: 160 MB
_ANOTHER = 1e-2  # relative to the largest output of the same unit: a larger difference is not rounding
_BESIDE = 16  # samples before and after a block, which make splines in it as accurate as in the middle


def replayed(scene: Scene, wp: WorkingPoint, history: TimeResponse, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Times (t,) of at most ``most`` samples, and the twists (t, c, 6) of all carriers at them.

    The run is computed again with all coordinates as outputs; ModelError if its outputs differ from the history.
    """
    model = wp.linearize()
    unknown = [n for n in (*history.inputs, *history.outputs) if n not in (*model.inputs, *model.outputs)]
    if unknown:
        raise ModelError(
            f"{wp.name}: the run of {history.name!r} has {unknown[0]!r}, which this system does not have; expected one of this "
            "working point's linear model: working_point.linearize().simulate(...)"
        )
    count = len(history.time)
    if count < 2:
        raise ModelError(f"{wp.name}: the run of {history.name!r} has {count} samples; expected at least two")
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
        rate=sp.vstack([sp.csr_matrix((n, width)), model.rate], format="csr"),
        reaction=sp.vstack([sp.csr_matrix((n, model.reaction.shape[1])), model.reaction], format="csr"),
    )
    known = history.holds or not history.inputs
    # files of earlier versions do not say how inputs vary between samples: loops held them, runs interpolated them linearly
    ways = [history.holds] if known else [(hold,) * len(history.inputs) for hold in ("foh", "zoh")]
    sizes = np.abs(history.values).max(axis=0, initial=0.0)
    limits = _ANOTHER * scales(sizes, history.output_units)
    for holds in ways:
        found, off = _run_again(whole, names, replace(history, holds=holds), limits, chosen)
        if off is None:
            return found
    remedy = "make both from one system"
    if "smooth" in history.holds and not len(history.between):
        remedy += "; a recorded run keeps only samples of functions, which must resolve them: take a smaller dt"
    raise ModelError(
        f"{model.name}: run again, the history's {off}; expected a run of this working point's linear model with the "
        f"inputs that it records; {remedy}"
    )


def _run_again(
    whole: LinearModel, names: tuple[str, ...], history: TimeResponse, limits: np.ndarray, chosen: np.ndarray
) -> tuple[np.ndarray, str | None]:
    """All coordinates (t, n) at the chosen samples, and in words if an output differs from the history by its limit (o,)."""
    n, steps = len(names), len(history.time) - 1
    dt = float(history.time[-1] - history.time[0]) / steps
    block = max(1, int(_BLOCK / (n + len(history.outputs) + 1)))
    state, out, first = dict(history.initial_state), [], 0
    while first < steps:
        last = min(first + block, steps)
        run = whole.simulate(
            duration=dt * (last - first), dt=dt, inputs=_inputs(history, first, last),
            outputs=[*names, *history.outputs], initial=state, hold="zoh" if "zoh" in history.holds else None,
            progress=False,
        )  # fmt: skip
        off = np.abs(run.values[:, n:] - history.values[first : last + 1]).max(axis=0, initial=0.0)
        another = off > np.maximum(limits, ROUNDING * np.abs(run.values).max(initial=0.0))
        if another.any():
            worst = int(np.argmax(another))
            return np.zeros(
                (0, n)
            ), f"output {history.outputs[worst]!r} differs by {off[worst]:.3g} {history.output_units[worst]}"
        here = chosen[(chosen >= first) & (chosen < last + (last == steps))]
        out.append(run.values[here - first, :n])
        state, first = run.final_state, last
    return np.vstack(out), None


def _inputs(history: TimeResponse, first: int, last: int) -> dict[str, Input]:
    """The inputs of a history between two samples, varying between samples as they did."""
    inputs: dict[str, Input] = {}
    inner = 0
    for k, (name, hold) in enumerate(zip(history.inputs, history.holds, strict=True)):
        samples = np.array(history.driven[first : last + 1, k])
        if hold != "smooth":
            inputs[name] = samples
            continue
        between = history.between[first:last, inner : inner + 3]
        inner += 3
        if not len(history.between):
            between = _interpolated(history.driven[:, k], first, last)
        flat = np.append(np.column_stack([samples[:-1], between]).ravel(), samples[-1])
        inputs[name] = partial(_at_nodes, flat)
    return inputs


def _at_nodes(values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """A smooth input; a run asks for its values at all nodes of its steps at once."""
    return values


def _interpolated(samples: np.ndarray, first: int, last: int) -> np.ndarray:
    """Values (n, 3) inside the steps between two samples of a smooth input, interpolated as a recorded run keeps samples only."""
    from scipy.interpolate import make_interp_spline  # imported here, since pages of working points do not need it

    begin, end = max(first - _BESIDE, 0), min(last + _BESIDE, len(samples) - 1)
    number = np.arange(begin, end + 1)
    degree = min(5, (len(number) - 1) // 2 * 2 + 1, len(number) - 1)
    spline = make_interp_spline(number, samples[begin : end + 1], k=degree)
    return spline(np.arange(first, last)[:, None] + NODES["smooth"][1:-1])
