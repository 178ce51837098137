"""Coordinates of joints and of elements at finite poses: their values, and how fast they change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..kernels.joints import FREE, joint_coordinates
from ..model.evaluation import Evaluation
from ..model.groups import Group
from ..model.topology import Topology
from .inertia import cross

_SHOWN = 3  # intervals that a note lists


class NamedCoordinates:
    """Coordinates of all joints, ``hinge.angle``, then the internal ones of elements, in one order."""

    def __init__(self, topology: Topology, here: Evaluation):
        names, units, turns, limits = [], [], [], []
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
        return np.concatenate([*(self._measured(g, here)[0] for g in self._joints), here.state.q])

    def values_and_rates(self, here: Evaluation, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and rates (k,) in a state at velocities v (n,)."""
        six, values, rates = np.vstack([np.zeros(6), v[: self._first].reshape(-1, 6)]), [], []
        for g in self._joints:
            own, slopes, bodies = self._of(g, here)
            values.append(own)
            rates.append(np.einsum("kfi,kfi->k", slopes, six[bodies]))
        return np.concatenate([*values, here.state.q]), np.concatenate([*rates, v[self._first :]])

    def beyond(self, samples: Iterable[tuple[float, Evaluation]]) -> list[str]:
        """Notes on coordinates that are beyond their limits at some of the samples, times (s) and states, with intervals."""
        if not self._limits:
            return []
        times, states = zip(*samples, strict=True)
        values = np.array([self.values(here) for here in states])
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
        out, first = np.zeros((len(self.names), 6 + here.assembly.size)), 0
        for g in self._joints:
            _, slopes, bodies = self._of(g, here)
            rows = np.arange(first, first + len(slopes))
            np.add.at(out, (rows[:, None, None], 6 * bodies[:, :, None] + np.arange(6)), slopes)
            first += len(slopes)
        out[np.arange(first, len(out)), 6 + self._first :] = np.eye(len(out) - first)
        return out[:, 6:]

    def _of(self, g: Group, here: Evaluation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values (k,) of the coordinates of some joints, slopes (k, 2, 6) by the motions of both bodies, and these (k, 2)."""
        at, body = here.configuration, here.assembly.body[g.frames]
        values, slopes, e = self._measured(g, here)
        slopes, arms = slopes.reshape(-1, 6), (at.o[g.frames] - at.reference[body])[e]
        slopes[:, 3:] += cross(arms.reshape(-1, 3), slopes[:, :3])
        return values, slopes.reshape(-1, 2, 6), body[e]

    @staticmethod
    def _measured(g: Group, here: Evaluation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values (k,) of the coordinates of some joints, slopes (k, 12) by the motions of both frames, and the joint of each."""
        at = here.configuration
        values, slopes = joint_coordinates(g.parameters, at.o[g.frames], at.U[g.frames], at.memory[g.number])
        e, r = np.nonzero(np.arange(6) < g.parameters[:, [FREE]])
        return values[e, r], slopes[e, r], e


def intervals(times: Sequence[float], inside: np.ndarray) -> str:
    """In words: the intervals of times (s) at all samples of which something is so; "" where it never is."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int))).reshape(-1, 2)
    spans = [f"{times[a]:.6g} to {times[b - 1]:.6g} s" for a, b in ends[:_SHOWN].tolist()]
    return ", ".join(spans) + (f" and {len(ends) - _SHOWN} more times" if len(ends) > _SHOWN else "")
