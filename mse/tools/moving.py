"""The scenes of a large motion: all carriers at their poses in its samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..dynamics.trajectory import Trajectory
from ..errors import ModelError
from .scene import Scene


def moving(motion: Trajectory, most: int) -> tuple[np.ndarray, list[Scene]]:
    """Times (t,) s of at most ``most`` samples, the first and the last among them, and the scenes there."""
    count = len(motion.time)
    if count < 2:
        raise ModelError(f"{motion.name}: the motion has {count} sample{'s' * (count != 1)}; expected at least two")
    chosen = np.rint(np.linspace(0, count - 1, min(count, most))).astype(int)
    topology = motion._equations.topology
    states = [motion._samples[k].state for k in chosen]
    return motion.time[chosen], [Scene.at(topology, s.o, s.U, motion.name) for s in states]


def room(scenes: Sequence[Scene]) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest coordinates (3,) m of everything drawn in any of the scenes."""
    low, high = zip(*(scene.bounds for scene in scenes), strict=True)
    return np.min(low, axis=0), np.max(high, axis=0)
