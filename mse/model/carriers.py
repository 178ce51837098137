"""Which bodies hang on others, and how they turn along with them in long steps of a search.

A body that turns about the line of its link turns all that hangs on it.  In a straight step the tilt of what hangs there and its
displacement off that line would stay as they are in the world, which is wrong as soon as small turns of many links add up
along a chain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import depth_first_order

from ..kernels.frames import add_up, carry
from ..kernels.jit import writable
from ..kernels.rotations import turn_all
from .flattening import Kind


class Carriers(NamedTuple):
    """Which body carries which: ``body`` (b,) hangs on ``carrier`` (b,) alone, which comes before it; both number units."""

    body: np.ndarray
    carrier: np.ndarray

    @classmethod
    def of(cls, unit: np.ndarray, kinds: list[Kind], units: int) -> Carriers:
        """Those of frames that belong to a ``unit`` (frames,), 0 being the ground, linked by the elements of some kinds.

        What hangs on the ground is carried by nothing, and neither is what hangs together in loops with it.
        """
        ends = [(unit[kind.frames[:, :1]], unit[kind.frames[:, 1:]]) for kind in kinds if kind.frames.shape[1] > 1]
        first = np.concatenate([np.zeros(0, dtype=int), *(np.broadcast_to(a, b.shape).ravel() for a, b in ends)])
        second = np.concatenate([np.zeros(0, dtype=int), *(b.ravel() for _, b in ends)])
        both = np.concatenate([first, second]), np.concatenate([second, first])
        graph = sp.csr_matrix((np.ones(len(both[0])), both), shape=(units, units))
        order, before = depth_first_order(graph, 0)
        place = np.full(units, units)
        place[order] = np.arange(len(order))
        # the first and the last place that each body's subtree is linked to; where both are inside, one link holds it all
        low, high, size = place.copy(), place.copy(), np.ones(units, dtype=int)
        for v in order[:0:-1].tolist():
            near = graph.indices[graph.indptr[v] : graph.indptr[v + 1]]
            near = place[near[near != before[v]]]
            parent = before[v]
            low[v], high[v] = min(low[v], *near, low[v]), max(high[v], *near, high[v])
            size[parent] += size[v]
            low[parent], high[parent] = min(low[parent], low[v]), max(high[parent], high[v])
        carrier = np.zeros(units, dtype=int)
        for v in order[1:].tolist():
            alone = low[v] >= place[v] and high[v] < place[v] + size[v]
            carrier[v] = before[v] if alone else carrier[before[v]]
        body = order[1:][carrier[order[1:]] > 0]
        return cls(body, carrier[body])

    def lines(self, o: np.ndarray) -> np.ndarray:
        """Unit vectors (b, 3) from carriers to what they carry, for origins (units, 3)."""
        lines = o[self.body] - o[self.carrier]
        return lines / np.maximum(np.linalg.norm(lines, axis=1), np.finfo(float).tiny)[:, None]

    def moved(self, o: np.ndarray, u: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Origins and orientations of units after a step (units - 1, 6) from origins o (units, 3) and orientations u."""
        motion = np.vstack([np.zeros((1, 6)), step])
        origins, turns = np.empty_like(o), np.empty_like(o)
        carry(self.body, self.carrier, self.lines(o), writable(o), motion, origins, turns)
        return origins, turn_all(u, turns)

    def bend(self, o: np.ndarray, gradient: np.ndarray, size: int) -> sp.csc_matrix:
        """The second derivative (size, size) that an energy has along such steps beyond that along straight ones.

        It comes from the ``gradient`` (units - 1, 6): forces on all that hangs on a link turn with its line.  What lines add that
        follow each other at an angle is left out.
        """
        force, torque = np.vstack([np.zeros((1, 6)), gradient]).reshape(-1, 2, 3).transpose(1, 0, 2).copy()
        add_up(self.body, self.carrier, force)
        line = self.lines(o)
        sideways = line[:, :, None] * np.cross(force[self.body], line)[:, None, :]
        twisted = 0.5 * line[:, :, None] * np.cross(torque[self.body], line)[:, None, :]
        turn = _coordinates(self.carrier)[:, 3:]
        other = np.hstack([_coordinates(self.body), _coordinates(self.carrier)[:, :3]])
        values = np.concatenate([sideways, twisted, -sideways], axis=2)
        half = sp.coo_array((values.ravel(), _pairs(turn, other)), shape=(size, size))
        return sp.csc_matrix(half + half.T)

    def turned_apart(self, o: np.ndarray, weights: np.ndarray) -> sp.csc_matrix:
        """The matrix (n, n) of the sum of squares of turns times ``weights`` (n,), less what bodies are carried along by.

        ``weights`` are those of all coordinates of a system; those of displacements do not count.
        """
        size = len(weights)
        line = self.lines(o)
        own, with_carrier = _coordinates(self.body)[:, 3:], _coordinates(self.carrier)[:, 3:]
        values = weights[own][:, :1, None] * line[:, :, None] * line[:, None, :]
        carried = sp.coo_array((values.ravel(), _pairs(with_carrier, with_carrier)), shape=(size, size))
        both = sp.coo_array((values.ravel(), _pairs(own, with_carrier)), shape=(size, size))
        return sp.csc_matrix(sp.diags_array(weights) + carried - both - both.T)


def _coordinates(units: np.ndarray) -> np.ndarray:
    """Numbers (b, 6) of the coordinates of units."""
    return 6 * (units[:, None] - 1) + np.arange(6)


def _pairs(rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of all entries between the coordinates (b, r) and (b, c), one block after another."""
    shape = (len(rows), rows.shape[1], columns.shape[1])
    return (
        np.broadcast_to(rows[:, :, None], shape).ravel(),
        np.broadcast_to(columns[:, None, :], shape).ravel(),
    )
