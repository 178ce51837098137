"""Coordinates of joints and of elements at finite poses: their values, and how fast they change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..kernels.frames import placed_frames
from ..kernels.joints import FREE, joint_coordinates
from ..kernels.motions import cross
from ..model.evaluation import Evaluation
from ..model.groups import Group
from ..model.topology import Topology
from .moments import Moment

_SHOWN = 3  # intervals that a note lists
# Joints in one call, of 2 kB each.  With a tenth and with ten times of it tests/dynamics/test_joint_coordinates.py passes.
_TOGETHER = 1000


class NamedCoordinates:
    """Coordinates of all joints, ``hinge.angle``, then the internal ones of elements, in one order."""

    def __init__(self, topology: Topology, here: Evaluation):
        self._topology, names, units, turns, limits = topology, [], [], [], []
        self._joints = [g for g in here.assembly.groups if g.cls.defines("values_at")]
        for g in self._joints:
            for el in g.elements:
                for channel in el.obj.outputs:
                    names.append(f"{el.path}.{channel.name}")
                    units.append(channel.unit)
                    turns.append(channel.unit == "rad")
                limits += zip(el.obj.lower, el.obj.upper, strict=True)
        self._first = 6 * (topology.units - 1)
        inner = topology.coordinate_names[self._first :]
        self.names = (*names, *inner)
        self.units = (*units, *(getattr(name, "unit", "") for name in inner))
        joints = (f"{unit}/s" if unit else "" for unit in units)
        self.rate_units = (*joints, *(getattr(name, "flow_unit", "") for name in inner))
        self._limits = {k: own for k, own in enumerate(limits) if own != (None, None)}
        self.turns = np.array([*turns, *(False for _ in inner)], dtype=bool)

    @property
    def rates(self) -> tuple[str, ...]:
        """The names of their rates, ``hinge.angle'``."""
        return tuple(f"{name}'" for name in self.names)

    def values(self, here: Evaluation) -> np.ndarray:
        """Values (k,) in a state; angles go beyond whole turns where its memories have followed them."""
        return self.over_time([Moment(0.0, here.state, np.zeros(here.assembly.size))])[0, : len(self.names)]

    def over_time(self, moments: Sequence[Moment]) -> np.ndarray:
        """Values, then rates (t, 2 k) at moments of a motion, many in a call, which takes as long as tens of joints."""
        together = max(1, _TOGETHER // max(1, sum(len(g.members) for g in self._joints)))
        starts = range(0, len(moments), together)
        return np.concatenate([self._at_once(moments[k : k + together]) for k in starts])

    def _at_once(self, moments: Sequence[Moment]) -> np.ndarray:
        poses, v = [m.poses for m in moments], np.array([m.v for m in moments])
        (o, u), values, rates = map(np.array, zip(*poses, strict=True)), [], []
        six = np.zeros((len(moments), self._first // 6 + 1, 6))
        six[:, 1:].reshape(len(moments), -1)[:] = v[:, : self._first]
        for g in self._joints:
            memory = np.concatenate([m.unfollowed.memory[g.number] for m in moments])
            own, slopes, bodies = self._measured(g, o, u, memory)
            values.append(own)
            rates.append(np.einsum("tkfi,tkfi->tk", slopes, six[:, bodies]))
        inner = [m.unfollowed.q for m in moments] if self._first < v.shape[1] else np.zeros((len(moments), 0))
        return np.hstack([*values, inner, *rates, v[:, self._first :]])

    def beyond(self, samples: Sequence[Moment]) -> list[str]:
        """Notes on coordinates that are beyond their limits at some of the samples, with intervals."""
        if not self._limits:
            return []
        times, values = [m.time for m in samples], self.over_time(samples)
        notes = []
        for k, (low, high) in self._limits.items():
            low, high = (-np.inf if low is None else low), (np.inf if high is None else high)
            outside = (values[:, k] < low) | (values[:, k] > high)
            if spans := intervals(times, outside):
                notes.append(
                    f"{self.names[k]} is beyond its limits {low:g} to {high:g} {self.units[k]} from {spans}: "
                    "nothing stops a joint there"
                )
        return notes

    def slopes(self, here: Evaluation) -> np.ndarray:
        """Slopes (k, n) of the values by the coordinates of bodies, with which rates are ``slopes @ v``."""
        return self.sparse_slopes(here).toarray()

    def sparse_slopes(self, here: Evaluation) -> sp.csr_matrix:
        """The same as a sparse matrix, for large systems."""
        rows, columns, values = self._entries(here)
        return sp.csr_matrix((values, (rows, columns)), shape=(len(self.names), here.assembly.size))

    def _entries(self, here: Evaluation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first, found, s = 0, [], here.state
        for g in self._joints:
            _, (slopes,), bodies = self._measured(g, s.o[None], s.U[None], s.memory[g.number])
            rows = np.arange(first, first + len(slopes))
            found.append(np.broadcast_arrays(rows[:, None, None], 6 * bodies[:, :, None] - 6 + np.arange(6), slopes))
            first += len(slopes)
        inner = np.arange(len(self.names) - first)
        found.append((first + inner, self._first + inner, np.ones(len(inner))))
        rows, columns, values = (np.concatenate([x.ravel() for x in own]) for own in zip(*found, strict=True))
        moves = columns >= 0  # the ground does not
        return rows[moves], columns[moves], values[moves]

    def _measured(
        self, g: Group, o: np.ndarray, u: np.ndarray, memory: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values (t, k) of the coordinates of some joints, slopes (t, k, 2, 6) by the motions of both bodies, and these (k, 2).

        Poses of units are (t, b, 3) and (t, b, 3, 3), memories (t E, 12).
        """
        t, count, (units, frames) = self._topology, len(o), (o.shape[1], g.frames.ravel())
        unit = (t.unit[frames] + units * np.arange(count)[:, None]).ravel()
        offsets = (np.tile(x[frames], (count, *[1] * (x.ndim - 1))) for x in (t.offset_o, t.offset_U))
        at, turned = placed_frames(o.reshape(-1, 3), u.reshape(-1, 3, 3), unit, *offsets)
        values, slopes = joint_coordinates(
            np.tile(g.parameters, (count, 1)), at.reshape(-1, 2, 3), turned.reshape(-1, 2, 3, 3), memory
        )
        e, r = np.nonzero(np.arange(6) < g.parameters[:, [FREE]])
        slopes = slopes.reshape(count, -1, 6, 2, 6)[:, e, r]
        arms = (at - o.reshape(-1, 3)[unit]).reshape(count, -1, 2, 3)[:, e]
        slopes[..., 3:] += cross(arms, slopes[..., :3])
        return values.reshape(count, -1, 6)[:, e, r], slopes, t.unit[g.frames][e]


def intervals(times: Sequence[float], inside: np.ndarray) -> str:
    """In words: the intervals of times (s) at all samples of which something is so; "" where it never is."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int))).reshape(-1, 2)
    spans = [f"{times[a]:.6g} to {times[b - 1]:.6g} s" for a, b in ends[:_SHOWN].tolist()]
    return ", ".join(spans) + (f" and {len(ends) - _SHOWN} more times" if len(ends) > _SHOWN else "")
