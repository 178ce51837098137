"""Implicit steps of grids of beams: by sparse matrices, compared with the dense ones that mse takes for few coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np

import mse
from mse import Pose
from mse.numerics.options import SIZES

from .table import Row

SIDE, RADIUS = 0.2, 2e-3  # of a beam; m
RUN = {"duration": 0.01, "dt": 0.01, "rtol": 1e-4, "outputs": [], "progress": False}
TURNED = Pose.rz(np.pi / 2)
DENSE = 10**6  # coordinates: more than any grid has


def grid(count: int) -> mse.MSystem:
    """Nodes in a square, joined by steel beams, two of them at the ground."""
    system, nodes = mse.MSystem("grid", gravity=(0, 0, -9.81)), {}
    for i, j in np.ndindex(count, count):
        node = mse.RigidBody(f"node{i}_{j}", mass=0.01, inertia=1e-6, at=Pose.dxdydz(SIDE * i, SIDE * j, 0.0))
        nodes[i, j] = system.add(node)
    for (i, j), node in nodes.items():
        for other, turn in (((i + 1, j), Pose()), ((i, j + 1), TURNED)):
            if other in nodes:
                name = f"beam{i}_{j}_{'xy'[turn is TURNED]}"
                beam = system.add(mse.RoundBeam(name, length=SIDE, radius=RADIUS, elements=1, at=node.at @ turn))
                system.clamp(node, beam.frame(0), turn)
                system.clamp(nodes[other], beam.frame(1), turn)
    system.clamp(system.ground, nodes[0, 0])
    system.clamp(system.ground, nodes[count - 1, 0], Pose.dx(SIDE * (count - 1)))
    return system


def timed(system: mse.MSystem, dense: int) -> tuple[float, mse.Trajectory]:
    """Seconds of a run in which matrices of up to so many coordinates are dense, and the motion."""
    usual, SIZES.dense = SIZES.dense, dense
    try:
        start = perf_counter()
        motion = system.simulate(**RUN)
        return perf_counter() - start, motion
    finally:
        SIZES.dense = usual


def rows(quick: bool) -> Iterator[Row]:
    for count in (6,) if quick else (6, 15):
        system = grid(count)
        timed(system, SIZES.dense)  # compiles
        seconds, motion = min((timed(system, SIZES.dense) for _ in range(3)), key=lambda found: found[0])
        others, error = {}, None
        if count == 6:
            others["mse otherwise"], dense = timed(system, DENSE)
            error = max(
                np.abs(motion.poses(f"node{k}_5.center")[0] - dense.poses(f"node{k}_5.center")[0]).max()
                for k in range(6)
            )
        size = system.relaxation().topology.size
        yield Row("grid of beams, let go for 0.01 s", size, seconds, others, error, note=f"{motion.steps} steps")
