"""Poses of frames that edges join rigidly, for many frames at once."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from ..kernels.frames import placed_frames
from .flattening import Edges


def inverse(o: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``-U^T o, U^T`` of poses (n, 3), (n, 3, 3)."""
    back = np.ascontiguousarray(np.swapaxes(u, 1, 2))
    return -(back @ o[:, :, None])[:, :, 0], back


def both_ways(first: np.ndarray, second: np.ndarray, count: int) -> sp.coo_array:
    """The graph (count, count) of edges in both directions; given one direction, SciPy would build the transposed matrix."""
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    return sp.coo_array((np.ones(len(ends[0])), ends), shape=(count, count))


class FrameTree:
    """Poses of all frames relative to their start frames, each reached along edges by the shortest path.

    ``o`` (n, 3), ``U`` (n, 3, 3); ``reached_by`` (n,) is the edge that leads to a frame, -1 at a start.
    """

    def __init__(self, edges: Edges, count: int, starts: np.ndarray):
        # an extra node joined to all starts, so that one search finds all paths
        beyond = np.full(len(starts), count)
        order, before = breadth_first_order(
            both_ways(np.concatenate([edges.first, beyond]), np.concatenate([edges.second, starts]), count + 1), count
        )
        order, before = order[1:].astype(np.int64), before.astype(np.int64)
        self.o, self.U = np.zeros((count, 3)), np.empty((count, 3, 3))
        self.U[:] = np.eye(3)
        self.reached_by = np.full(count, -1)
        self._before = before
        rest = order[len(starts) :]
        if not len(rest):
            return
        # the edge between a frame and its predecessor: the first edge that joins the two
        low, high = np.minimum(edges.first, edges.second), np.maximum(edges.first, edges.second)
        keys = low * count + high
        by_key = np.argsort(keys, kind="stable")
        come = before[rest]
        wanted = np.minimum(rest, come) * count + np.maximum(rest, come)
        edge = by_key[np.searchsorted(keys[by_key], wanted)]
        self.reached_by[rest] = edge
        step_o, step_U = edges.o[edge], edges.U[edge]
        against = edges.first[edge] != come
        step_o[against], step_U[against] = inverse(step_o[against], step_U[against])
        # by distance from the start, so that predecessors come first
        position = np.empty(count, dtype=np.int64)
        position[order] = np.arange(count)
        come_at = position[come]
        start, bound = 0, len(starts)
        while start < len(rest):
            stop = int(np.searchsorted(come_at, bound))
            span, at = slice(start, stop), rest[start:stop]
            self.o[at], self.U[at] = placed_frames(self.o, self.U, come[span], step_o[span], step_U[span])
            start, bound = stop, len(starts) + stop

    def contradicted(self, edges: Edges, distance: float, angle: float) -> np.ndarray:
        """Numbers of the edges that the poses of their frames contradict."""
        used = np.zeros(len(edges.first), dtype=bool)
        used[self.reached_by[self.reached_by >= 0]] = True
        rest = np.flatnonzero(~used)
        if not len(rest):
            return rest
        first, second = edges.first[rest], edges.second[rest]
        o, u = placed_frames(self.o, self.U, first, edges.o[rest], edges.U[rest])
        turned = np.linalg.norm(u - self.U[second], axis=(1, 2)) / np.sqrt(8.0)  # sine of half the angle
        wrong = np.linalg.norm(o - self.o[second], axis=1) > distance
        return rest[wrong | (2 * np.arcsin(np.minimum(turned, 1.0)) > angle)]

    def way_back(self, frame: int) -> list[int]:
        """Edges from a frame back to the start of its path."""
        found = []
        while self.reached_by[frame] >= 0:
            found.append(int(self.reached_by[frame]))
            frame = int(self._before[frame])
        return found
