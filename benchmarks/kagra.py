"""KAGRA's type Bp suspension of ``examples/``: all modes, and a noise budget of all losses and six inputs.

By hand: ``scipy.linalg.eigh`` of K and M in independent coordinates, which are given; and the total alone of thermal noise and
inputs, from one batched ``numpy.linalg.solve`` of these coordinates.  Errors: ours against these, relative.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.linalg

import mse
from mse.analysis.noise.thermal import BOLTZMANN, ROOM
from mse.elements.records import LOADED
from mse.linear.losses import loss_factors, weights

from . import measure
from .table import Row

SCRIPT = Path(__file__).parent.parent / "examples" / "kagra_type_bp.py"
DENSITY = 1e-12  # N/sqrt(Hz) or N m/sqrt(Hz) of each input
LOSS = 1e-3  # of every spring and wire
BATCH = 1000


@functools.cache
def linear() -> mse.LinearModel:
    """With a sensor of the mirror."""
    spec = importlib.util.spec_from_file_location("kagra_type_bp", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    with contextlib.redirect_stdout(io.StringIO()):
        spec.loader.exec_module(script)
    system = script.build()
    system.add(mse.PositionSensor("probe"), between=(system.frame("TM.center"), system.ground))
    return system.find_working_point().linearize()


def losses(model: mse.LinearModel) -> dict[str, float]:
    """Of all objects that have elastic parts."""
    return {owner: LOSS for owner, mechanism in model.parts if mechanism not in LOADED}


def noise(frequencies: int) -> Callable[[], mse.NoiseBudget]:
    """The budget of a model built before."""
    model = linear()
    f, loss = np.geomspace(0.01, 100.0, frequencies), losses(model)
    inputs = dict.fromkeys(model.inputs[:6], DENSITY)
    return lambda: model.noise(f, "probe.y", loss=loss, inputs=inputs, progress=False)


def by_hand(f: np.ndarray) -> Callable[[], np.ndarray]:
    """The total amplitude (f,) from dense matrices of independent coordinates, made before."""
    model = linear()
    free = model.reduced[0]
    n, output = free.size, model.outputs.index("probe.y")
    k = free.parts.total(weights(free, loss_factors(model, losses(model)))).toarray()
    lost, k = k.imag[:n, :n], k.real[:n, :n]
    c, m = free.Lambda.toarray(), free.M.toarray()
    row, drive = free.measure[[output], :n].toarray()[0], free.force[:n, :6].toarray()

    def total() -> np.ndarray:
        out = []
        for part in np.array_split(f, -(-len(f) // BATCH)):
            w = 2 * np.pi * part[:, None, None]
            r = np.linalg.solve((k - w**2 * m) + 1j * (lost + w * c), row[:, None])[:, :, 0]
            heat = np.einsum("fi,fij,fj->f", r, lost / w + c, r.conj()).real
            out.append(4 * BOLTZMANN * ROOM * heat + DENSITY**2 * (np.abs(r @ drive) ** 2).sum(axis=1))
        return np.sqrt(np.concatenate(out))

    return total


def modes_row(runs: int) -> Row:
    """All modes of the linear model."""
    model = linear()
    free = model.reduced[0]
    k, m = free.K.toarray(), free.M.toarray()
    times, results = measure.alternate({"ours": model.modes, "by hand": lambda: scipy.linalg.eigh(m, k)}, runs)
    found = results["ours"].frequencies_hz
    right = np.sort(1 / np.sqrt(results["by hand"][0][-len(found) :])) / (2 * np.pi)
    error = float(np.abs(found / right - 1).max())
    return Row("KAGRA type Bp: all modes", model.size, times["ours"], {"by hand": times["by hand"]}, error)


def noise_row(frequencies: int, runs: int) -> Row:
    """One budget."""
    by = by_hand(np.geomspace(0.01, 100.0, frequencies))
    times, results = measure.alternate({"ours": noise(frequencies), "by hand": by}, runs)
    error = float(np.abs(results["ours"].total / results["by hand"] - 1).max())
    memory = measure.peak(noise, (frequencies,), (100,))
    name = f"KAGRA type Bp: noise, {frequencies:,} frequencies"
    return Row(name, linear().size, times["ours"], {"by hand": times["by hand"]}, error, memory)


def rows(quick: bool) -> Iterator[Row]:
    yield modes_row(15)
    for frequencies in (3000,) if quick else (3000, 100_000):
        yield noise_row(frequencies, 3 if frequencies > 3000 else 7)
