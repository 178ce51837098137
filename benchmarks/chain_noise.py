"""The noise of a long chain with many losses, compared with three of its responses, the least time that seems possible.

The error is that of the thermal noise compared with ``4 kB T Im(x/F)/w``, the fluctuation-dissipation theorem for the driving
point (Callen and Welton, Phys. Rev. 83 (1951) 34), which needs one response.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mse
from mse.analysis.noise.thermal import BOLTZMANN, ROOM

from . import measure
from .table import Row

SPRINGS = 5  # between two bodies, each with a loss


def chain(bodies: int) -> mse.LinearModel:
    """Bodies in a row, with a force on the last and a sensor of its position."""
    system = mse.MSystem("chain", gravity=(0, 0, 0))
    before, rng = system.ground, np.random.default_rng(0)
    for k in range(bodies):
        body = system.add(mse.RigidBody(f"body{k}", mass=rng.uniform(1.0, 2.0), inertia=0.1))
        for j in range(SPRINGS):
            stiffness = np.zeros(6)
            stiffness[[j, -1] if j == SPRINGS - 1 else j] = rng.uniform(500.0, 1000.0)
            spring = mse.Bushing(f"spring{k}_{j}", stiffness=stiffness, loss=1e-3 * (1 + j))
            system.add(spring, between=(body, before))
        before = body
    system.add(mse.PositionSensor("probe"), between=(before, system.ground))
    system.add(mse.ForceActuator("push"), between=(before, system.ground))
    return system.find_working_point().linearize()


def row(bodies: int, frequencies: int, runs: int) -> Row:
    """One budget."""
    model, f = chain(bodies), np.geomspace(0.01, 10.0, frequencies)

    def response() -> np.ndarray:
        found = model.frequency_response(f, inputs=["push.fx"], outputs=["probe.x"], bound=0.0, progress=False)
        return found.values[:, 0, 0]

    functions = {"ours": lambda: model.noise(f, "probe.x", progress=False), "response": response}
    times, results = measure.alternate(functions, runs)
    right = np.sqrt(4.0 * BOLTZMANN * ROOM * np.abs(results["response"].imag) / (2.0 * np.pi * f))
    error = float(np.abs(results["ours"].total / right - 1.0).max())
    name = f"chain, {SPRINGS * bodies:,} losses: noise, {frequencies:,} freq."
    return Row(name, model.size, times["ours"], {"mse otherwise": 3.0 * times["response"]}, error)


def rows(quick: bool) -> Iterator[Row]:
    yield row(100 if quick else 1000, 1000, 3)
