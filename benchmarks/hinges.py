"""200 frequencies of a chain of hinges, whose constraints are rows of the matrix: one input, and one output or all.

SciPy's ``splu`` factors coordinates and multipliers together, at a few of the frequencies, scaled.  Errors: against that loop
refined, at those frequencies, relative to the largest response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import mse
from mse.analysis.frequency.equations import Equations
from mse.linear.independent import augmented

from . import measure
from .table import Row


class Hinges:
    """A chain of bodies on hinges, pushed at its end, by mse and by ``splu`` of ``[[Z, G^T], [G, 0]]`` as it comes."""

    GRID = np.geomspace(0.01, 10.0, 200)

    def __init__(self, count: int, samples: int):
        s = mse.MSystem("hinges")
        last = s.ground
        for k in range(count):
            ends = {"top": mse.Pose.dz(0.05), "low": mse.Pose.dz(-0.05)}
            at = mse.Pose.dz(-0.1 * k - 0.05)
            body = s.add(mse.RigidBody(f"body{k}", mass=1.0, inertia=0.01, at=at, frames=ends))
            hinge = mse.Revolute(f"hinge{k}", axis=(k % 2, 1 - k % 2, 0), stiffness=1.0, damping=1e-3)
            s.add(hinge, between=(body.frame("top"), last))
            last = body.frame("low")
        s.add(mse.ForceActuator("push"), between=(s.ground, last))
        s.add(mse.PositionSensor("probe"), between=(last, s.ground))
        self.model = s.find_working_point().linearize()
        self.some = np.linspace(0, len(self.GRID) - 1, samples).astype(int)
        whole, back = augmented(self.model)
        outputs = np.arange(len(whole.outputs))
        equations = Equations(whole, whole.input_indices(["push.fx"]), outputs, {}, self.model, back)
        self.matrix = equations.matrix[:3]
        self.load, self.read = (
            np.asarray(sp.csr_matrix(equations.drive.k).todense(), dtype=complex)[:, 0],
            equations.read[:3],
        )

    def ours(self, outputs: list[str] | None) -> np.ndarray:
        response = self.model.frequency_response(self.GRID, inputs=["push.fx"], outputs=outputs)
        return response.values[:, :, 0]

    def plain(self, outputs: slice, rounds: int = 0) -> np.ndarray:
        k, c, m = self.matrix
        read, found = [sp.csr_matrix(a[outputs]) for a in self.read], []
        for w in 2 * np.pi * self.GRID[self.some]:
            z = (k + 1j * w * c - w**2 * m).tocsc()
            lu = splu(z)
            x = lu.solve(self.load)
            for _ in range(rounds):
                x = x + lu.solve(self.load - z @ x)
            found.append(read[0] @ x + 1j * w * (read[1] @ x) - w**2 * (read[2] @ x))
        return np.array(found)


def call_of(count: int, outputs: list[str] | None) -> Callable[[], object]:
    chain = Hinges(count, 1)
    return lambda: chain.ours(outputs)


def hinge_rows(count: int, samples: int, runs: int) -> Iterator[Row]:
    """One output of the chain, and all."""
    chain = Hinges(count, samples)
    one = chain.model.outputs.index("probe.x")
    for what, names, chosen in (("one output", ["probe.x"], slice(one, one + 1)), ("all outputs", None, slice(None))):
        calls = {"ours": lambda names=names: chain.ours(names), "SciPy": lambda chosen=chosen: chain.plain(chosen)}
        times, results = measure.alternate(calls, runs)
        right = chain.plain(chosen, 3)
        error = float(np.abs(results["ours"][chain.some] - right).max() / np.abs(right).max())
        scaled = {"SciPy": times["SciPy"] * len(chain.GRID) / samples}
        memory = measure.peak(call_of, (count, names), (20, names))
        yield Row(f"200 frequencies: hinges, {what}", chain.model.size, times["ours"], scaled, error, memory)


def rows(quick: bool) -> Iterator[Row]:
    for count in (100,) if quick else (100, 600, 1200):
        yield from hinge_rows(count, 10, 3)
