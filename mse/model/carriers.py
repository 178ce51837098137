"""Which bodies hang on which, and how bodies turn with their carriers in long steps of a search.

Suppose a body turns about the direction of the load it carries.  Everything that hangs on it turns along, and loads do no
work.  A straight step would leave the tilt and displacement of what hangs there unchanged in the world.  That is wrong as soon
as small rotations of many links add up along a chain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import depth_first_order

from ..kernels.frames import add_up, carry, carry_on_screws, carry_whole
from ..kernels.jit import writable
from ..kernels.rotations import turn_all
from .flattening import Kind

# rad: a body rotated further relative to its carrier is not carried; logarithms of motions end at pi.  With a tenth of this
# tests/model/test_carriers.py::test_what_is_carried_as_a_whole_goes_where_its_twist_against_its_carrier_leads fails, with ten
# times it tests/model/test_carriers.py::test_bodies_turned_by_more_than_logarithms_reach_are_not_carried.
MOST_TURN = 3.0


class Carriers(NamedTuple):
    """Which body carries which: ``body`` (b,) hangs only on ``carrier`` (b,), listed before it; both are numbers of units."""

    body: np.ndarray
    carrier: np.ndarray

    @classmethod
    def of(cls, unit: np.ndarray, kinds: list[Kind], units: int) -> Carriers:
        """The carriers for frames that belong to ``unit`` (frames,), 0 being the ground, linked by elements of some kinds.

        Bodies that hang on the ground, or form loops with it, are not carried.
        """
        ends = [(unit[kind.frames[:, :1]], unit[kind.frames[:, 1:]]) for kind in kinds if kind.frames.shape[1] > 1]
        first = np.concatenate([np.zeros(0, dtype=int), *(np.broadcast_to(a, b.shape).ravel() for a, b in ends)])
        second = np.concatenate([np.zeros(0, dtype=int), *(b.ravel() for _, b in ends)])
        both = np.concatenate([first, second]), np.concatenate([second, first])
        graph = sp.csr_matrix((np.ones(len(both[0])), both), shape=(units, units))
        order, before = depth_first_order(graph, 0)
        place = np.full(units, units)
        place[order] = np.arange(len(order))
        # first and last place that each body's subtree is linked to; if both are inside, a single link holds the subtree
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

    @property
    def depth(self) -> int:
        """Longest chain of bodies that are carried by each other."""
        depth = dict.fromkeys(self.carrier.tolist(), 0)
        for body, carrier in zip(self.body.tolist(), self.carrier.tolist(), strict=True):
            depth[body] = depth[carrier] + 1
        return max(depth.values(), default=0)

    def axes(self, o: np.ndarray, loads: np.ndarray) -> np.ndarray:
        """Unit vectors (b, 3) about which bodies turn what they carry; origins (units, 3), ``loads`` (units - 1, 3).

        The axis is the direction of the sum of loads on what is carried, or the line to it if there is no such sum.
        """
        total, terms = (np.vstack([np.zeros((1, 3)), x]) for x in (loads, np.abs(loads)))
        add_up(self.body, self.carrier, total)
        add_up(self.body, self.carrier, terms)
        rounding = len(o) * np.finfo(float).eps * _lengths(terms[self.body])
        pull, line = total[self.body], o[self.body] - o[self.carrier]
        axes = np.where((_lengths(pull) > rounding)[:, None], pull, line)
        return axes / np.maximum(_lengths(axes), np.finfo(float).tiny)[:, None]

    def moved(self, o: np.ndarray, u: np.ndarray, step: np.ndarray, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Origins and orientations of units after a step (units - 1, 6) from origins o (units, 3) and orientations u."""
        motion = np.vstack([np.zeros((1, 6)), step])
        origins, turns = np.empty_like(o), np.empty_like(o)
        carry(self.body, self.carrier, axes, writable(o), motion, origins, turns)
        return origins, turn_all(u, turns)

    def moved_whole(self, o: np.ndarray, u: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`moved`, but bodies carry others along rigidly for any rotation: strains change as in the straight step."""
        motion = np.vstack([np.zeros((1, 6)), step])
        origins, turned = o + motion[:, :3], turn_all(u, motion[:, 3:].copy())
        carry_whole(self.body, self.carrier, MOST_TURN, writable(o), writable(u), motion, origins, turned)
        return origins, turn_all(turned, np.zeros_like(o))

    def moved_on_screws(self, o: np.ndarray, u: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`moved`, but each body follows one screw of its carrier: bodies that spin freely stay free."""
        motion, moved, turns = np.vstack([np.zeros((1, 6)), step]), np.empty_like(o), np.empty_like(o)
        body, carrier = self._all(len(o))
        carry_on_screws(body, carrier, writable(o), motion, moved, turns)
        return moved, turn_all(u, turns)

    def bend_on_screws(self, o: np.ndarray, gradient: np.ndarray, size: int) -> sp.csc_matrix:
        """The additional second derivative (size, size) of an energy along such steps, compared with straight steps.

        It comes from the ``gradient`` (units - 1, 6): F on a body, and F' and M' about its origin on the body and all it carries.
        For a step with the twists (v, w) of a body and (v', w') of its carrier there, it is the sum over bodies of
        ``F.(w x v) + F'.(w' x v - w x v') + M'.(w' x w)``.
        """
        force, torque = np.vstack([np.zeros((1, 6)), gradient]).reshape(-1, 2, 3).transpose(1, 0, 2).copy()
        middle = o[1:].mean(axis=0) if len(o) > 1 else o[0]
        pull, moment = force.copy(), torque + np.cross(o - middle, force)
        add_up(self.body, self.carrier, pull)
        add_up(self.body, self.carrier, moment)
        body, carrier = self.body, self.carrier
        pull, moment = pull[body], moment[body] - np.cross(o[body] - middle, pull[body])
        arm, units = _crosses(o[body] - o[carrier]), np.arange(1, len(o))
        own, of_carrier, every = _coordinates(body), _coordinates(carrier), _coordinates(units)
        turned_by = _crosses(pull)
        half = sum(
            sp.coo_array((block.ravel(), _pairs(rows, columns)), shape=(size, size))
            for block, rows, columns in (
                (-0.5 * _crosses(force[1:]), every[:, 3:], every[:, :3]),
                (-0.5 * turned_by, of_carrier[:, :3], own[:, 3:]),
                (-0.5 * turned_by, of_carrier[:, 3:], own[:, :3]),
                (-0.5 * (_crosses(moment) + arm @ turned_by), of_carrier[:, 3:], own[:, 3:]),
            )
        )
        return sp.csc_matrix(half + half.T)

    def _all(self, units: int) -> tuple[np.ndarray, np.ndarray]:
        """All ``units`` but the ground and the carrier of each, carriers first; the ground carries those without another."""
        alone = np.setdiff1d(np.arange(1, units), self.body)
        return np.concatenate([alone, self.body]), np.concatenate([np.zeros_like(alone), self.carrier])

    def bend(self, o: np.ndarray, gradient: np.ndarray, axes: np.ndarray, size: int) -> sp.csc_matrix:
        """The additional second derivative (size, size) of an energy along such steps, compared with straight steps.

        It comes from the ``gradient`` (units - 1, 6).  Let what is carried have the rotation r, the arm a, the force F on all
        of it with the moment M about the carrier, and let u and w be displacements and rotations of both bodies: ``F.(r x (u -
        u') - r x (r x a)/2) + torque.(r x w)/2 + M.(r' x r)/2``.
        """
        body, carrier = self.body, self.carrier
        force, torque = np.vstack([np.zeros((1, 6)), gradient]).reshape(-1, 2, 3).transpose(1, 0, 2).copy()
        add_up(body, carrier, force)
        arm, pull = o[body] - o[carrier], force[body]
        moment = np.zeros_like(torque)
        moment[body] = torque[body] + np.cross(arm, pull)
        add_up(body, carrier, moment)
        own, turn = _coordinates(body), _coordinates(carrier)
        sideways = np.cross(pull, axes)
        round_it = -0.5 * np.einsum("bi,bi->b", pull, np.cross(axes, np.cross(axes, arm)))
        number = np.full(len(o), -1)
        number[body] = np.arange(len(body))
        both = np.flatnonzero(number[carrier] >= 0)
        before = number[carrier[both]]
        aslant = 0.5 * np.einsum("bi,bi->b", moment[body[both]], np.cross(axes[before], axes[both]))
        half = sum(
            sp.coo_array(((by[:, :, None] * to[:, None, :]).ravel(), _pairs(rows, columns)), shape=(size, size))
            for by, to, rows, columns in (
                (axes, np.hstack([sideways, 0.5 * np.cross(torque[body], axes)]), turn[:, 3:], own),
                (axes, np.hstack([-sideways, round_it[:, None] * axes]), turn[:, 3:], turn),
                (axes[before], aslant[:, None] * axes[both], turn[before, 3:], turn[both, 3:]),
            )
        )
        return sp.csc_matrix(half + half.T)

    def turned_apart(self, weights: np.ndarray, axes: np.ndarray) -> sp.csc_matrix:
        """The matrix (n, n) of the weighted sum of squared rotations, without the rotations by which bodies are carried along.

        ``weights`` (n,) has one for each coordinate of the system; those of displacements do not count.
        """
        size = len(weights)
        own, with_carrier = _coordinates(self.body)[:, 3:], _coordinates(self.carrier)[:, 3:]
        values = weights[own][:, :1, None] * axes[:, :, None] * axes[:, None, :]
        carried = sp.coo_array((values.ravel(), _pairs(with_carrier, with_carrier)), shape=(size, size))
        both = sp.coo_array((values.ravel(), _pairs(own, with_carrier)), shape=(size, size))
        return sp.csc_matrix(sp.diags_array(weights) + carried - both - both.T)


def _coordinates(units: np.ndarray) -> np.ndarray:
    """Numbers (b, 6) of the coordinates of units."""
    return 6 * (units[:, None] - 1) + np.arange(6)


def _pairs(rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of all entries between coordinates (b, r) and (b, c), block after block."""
    shape = (len(rows), rows.shape[1], columns.shape[1])
    return (
        np.broadcast_to(rows[:, :, None], shape).ravel(),
        np.broadcast_to(columns[:, None, :], shape).ravel(),
    )


def _crosses(vectors: np.ndarray) -> np.ndarray:
    """``[v]x`` (n, 3, 3) with ``[v]x b = v x b`` for vectors v (n, 3)."""
    return np.cross(vectors[:, None, :], np.eye(3)).transpose(0, 2, 1)


def _lengths(vectors: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vectors, axis=1)
