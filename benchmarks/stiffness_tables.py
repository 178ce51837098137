"""Frequency responses of masses on mounts with measured stiffness: 1,000 frequencies, tables k(f) of 12 x 12 for each mount.

The peer is what one writes by hand: the matrix of each frequency from the same tables, and ``numpy.linalg.solve``.  It is timed
at a few of the frequencies and scaled to 1,000.  Error: against it, relative to the largest response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import mse
from mse import Pose

from . import measure
from .table import Row

FREQUENCIES = 1000
GRID = np.geomspace(0.05, 20.0, FREQUENCIES)
TABLE = np.array([0.0, 0.1, 1.0, 10.0, 100.0])  # Hz
MODULUS = np.array([300.0, 310.0 + 5.0j, 340.0 + 12.0j, 400.0 + 20.0j, 420.0 + 22.0j])  # N/m
BETWEEN = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.diag([1.0, 1.0, 1.5, 0.1, 0.1, 0.2]))
ARM = np.array([0.1, -0.2, 0.3])


class Mount(mse.MObject):
    """A mount by its table."""

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.5 * MODULUS[0].real * np.array([1.0, 1.0, 1.5]) @ (d * d)

    def dynamic_stiffness(self, omega, frames):
        return (np.interp(omega / (2 * np.pi), TABLE, MODULUS) - MODULUS[0].real) * BETWEEN


def linear(masses: int) -> mse.LinearModel:
    """Masses in a row, each on a mount and a bushing that are clamped off its center."""
    system = mse.MSystem("mounts", gravity=(0, 0, 0))
    last = system.ground
    for k in range(masses):
        body = system.add(mse.RigidBody(f"mass{k}", mass=1.0 + 0.01 * k, inertia=(0.1, 0.2, 0.3)))
        hold = mse.Bushing(f"hold{k}", stiffness=(20, 30, 40, 50, 60, 70))
        for one in (system.add(Mount(f"mount{k}")), system.add(hold)):
            system.clamp(last, one.frame(0), Pose(ARM))
            system.clamp(body.frame(0), one.frame(1), Pose(ARM))
        last = body.frame(0)
    system.add(mse.ForceActuator("push"), between=(system.ground, "mass0.center"))
    system.add(mse.PositionSensor("probe"), between=(last, system.ground))
    return system.find_working_point().linearize()


def response(masses: int) -> Callable[[], object]:
    """The sweep of a model built before."""
    model = linear(masses)
    return lambda: model.frequency_response(GRID, inputs=["push.fx"], outputs=["probe.x"])


def by_hand(model: mse.LinearModel, f: np.ndarray) -> np.ndarray:
    """The same response from matrices, one frequency after the other."""
    k, m = model.K.toarray(), model.M.toarray()
    drive, read = model.force[:, [0]].toarray(), model.measure[[0]].toarray()
    motions = [member.motion.toarray() for member in model.members]
    on = [np.flatnonzero(np.abs(motion).max(axis=0)) for motion in motions]
    arms = [motion[:, i] for motion, i in zip(motions, on, strict=True)]
    out = []
    for hz in f:
        z = k - (2 * np.pi * hz) ** 2 * m.astype(complex)
        for i, arm in zip(on, arms, strict=True):
            z[np.ix_(i, i)] += arm.T @ ((np.interp(hz, TABLE, MODULUS) - MODULUS[0].real) * BETWEEN) @ arm
        out.append((read @ np.linalg.solve(z, drive))[0, 0])
    return np.array(out)


def row(masses: int, samples: int, runs: int) -> Row:
    """One model; the peer at so many of the frequencies."""
    model = linear(masses)
    some = np.linspace(0, FREQUENCIES - 1, samples).astype(int)
    calls = {"ours": response(masses), "by hand": lambda: by_hand(model, GRID[some])}
    times, results = measure.alternate(calls, runs)
    found, right = results["ours"].values[:, 0, 0], results["by hand"]
    error = float(np.abs(found[some] - right).max() / np.abs(found).max())
    scaled = {"by hand": times["by hand"] * FREQUENCIES / samples}
    memory = measure.peak(response, (masses,), (3,))
    name = f"1,000 frequencies: {masses} tables k(f), 12 x 12"
    return Row(name, model.size, times["ours"], scaled, error, memory, "; ".join(results["ours"].notes))


def rows(quick: bool) -> Iterator[Row]:
    for masses in (10, 100):
        yield row(masses, 12, 3 if quick else 7)
