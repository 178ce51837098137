"""What counts as large in a system: its size, its loads, and one unit of each coordinate."""

from __future__ import annotations

import numpy as np

from .assembly import Assembly, State
from .topology import Topology


def model_size(topology: Topology, assembly: Assembly, state: State) -> float:
    """A length (m) of the whole: its extent, or that of its longest element."""
    frames_o, _ = topology.frame_poses(state.o, state.U)
    extent = np.ptp(frames_o, axis=0).max()
    return max([float(extent), *(float(g.spans.max()) for g in assembly.groups)]) or 1.0


def coordinate_scale(topology: Topology, size: float) -> np.ndarray:
    """What one unit of each coordinate (n,) counts for in metres: rotations by the arm at which their body is held."""
    t = topology
    arm, typical = t.arms
    scale = np.ones(t.size)
    six = scale[: 6 * (t.units - 1)].reshape(-1, 6)
    six[:, 3:] = np.maximum(arm, 0.3 * (typical if typical > 0.0 else 0.1 * size))[1:, None]
    return scale


def typical_arm(scale: np.ndarray, bodies: int) -> float:
    """A typical lever arm (m) of a system, by which torques compare with forces."""
    arms = scale[: 6 * bodies].reshape(-1, 6)[:, 3]
    return float(np.median(arms)) if len(arms) else 1.0


def searched_coordinates(topology: Topology) -> np.ndarray:
    """Numbers of the coordinates that the search moves: all but those at zero in every working point."""
    t = topology
    searched = np.ones(t.size, dtype=bool)
    for k in (k for kind in t.kinds if kind.coordinates for k in kind.members):
        el = t.elements[k]
        if el.obj.resting:
            names = el.obj.coordinate_names
            first = 6 * (t.units - 1) + el.coordinates.start
            searched[[first + names.index(name) for name in el.obj.resting]] = False
    return np.flatnonzero(searched)


def loads_on_coordinates(topology: Topology, assembly: Assembly, state: State) -> np.ndarray:
    """All weights and loads on the coordinates (n,) N, N m, at unit load factor."""
    frames = topology.frame_poses(state.o, state.U)
    return assembly.loads(*frames, state.o, state.q, state.memory, topology.gravity)


def load_scale(load: np.ndarray, scale: np.ndarray, bodies: int) -> np.ndarray:
    """The load (n,) that each coordinate's balance is measured by: forces by body, torques by force times arm too.

    ``load`` (n,) is the sum of absolute forces on each coordinate, ``scale`` (n,) that of :func:`coordinate_scale`.
    """
    out = load.copy()
    six = out[: 6 * bodies].reshape(-1, 6)
    force = np.linalg.norm(six[:, :3], axis=1)
    force = np.maximum(force, 1e-3 * force.max(initial=0.0))
    six[:, :3] = force[:, None]
    arm = scale[: 6 * bodies].reshape(-1, 6)[:, 3:]
    six[:, 3:] = np.maximum(six[:, 3:], force[:, None] * arm)
    # what carries next to nothing beside the rest is balanced however little it carries
    out = np.maximum(out, 1e-4 * out.max(initial=0.0))
    out[out == 0.0] = 1.0
    return out
