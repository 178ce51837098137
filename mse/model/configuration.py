"""State of a system: the positions that a search moves, and the configuration at which elements are evaluated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..elements.base import FramePose
from .topology import Topology


class State(NamedTuple):
    """State of the search for the working point: unit poses, internal coordinates, and the elements' memories."""

    o: np.ndarray
    U: np.ndarray
    q: np.ndarray
    memory: tuple[np.ndarray, ...]


class Configuration(NamedTuple):
    """Everything that elements depend on: positions, memories and gravity.

    ``o`` (frames, 3) m and ``U`` (frames, 3, 3) are the poses of all frames, ``reference`` (bodies, 3) m the points about which
    the bodies of an assembly rotate, ``q`` the internal coordinates, ``memory`` the memories of elements by group (E, m), and
    ``gravity`` is in m/s2.
    """

    o: np.ndarray
    U: np.ndarray
    reference: np.ndarray
    q: np.ndarray
    memory: tuple[np.ndarray, ...]
    gravity: np.ndarray

    @classmethod
    def of(cls, topology: Topology, state: State) -> Configuration:
        """The configuration of a system in a state; units rotate about their own origins."""
        o, u = topology.frame_poses(state.o, state.U)
        return cls(o, u, state.o, state.q, state.memory, topology.gravity)

    def frames(self, numbers: Iterable[int]) -> list[FramePose]:
        """The poses of the numbered frames."""
        return [FramePose(self.o[f], self.U[f]) for f in numbers]
