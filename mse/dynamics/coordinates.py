"""Coordinates of joints and of elements at finite poses: their values, and how fast they change."""

from __future__ import annotations

import numpy as np

from ..model.evaluation import Evaluation
from ..model.topology import Topology


class NamedCoordinates:
    """Coordinates of all joints, ``hinge.angle``, then the internal ones of elements, in one order."""

    def __init__(self, topology: Topology, here: Evaluation):
        names, units, turns = [], [], []
        self._joints = [g for g in here.assembly.groups if g.cls.defines("values_at")]
        for g in self._joints:
            for el in g.elements:
                for channel in el.obj.outputs:
                    names.append(f"{el.path}.{channel.name}")
                    units.append(channel.unit)
                    turns.append(channel.unit == "rad")
        first = 6 * (topology.units - 1)
        inner = topology.coordinate_names[first:]
        self.names = (*names, *inner)
        self.units = (*units, *("" for _ in inner))
        self.turns = np.array([*turns, *(False for _ in inner)], dtype=bool)
        self._inner = np.arange(first, first + topology.internal)

    @property
    def rates(self) -> tuple[str, ...]:
        """The names of their rates, ``hinge.angle'``."""
        return tuple(f"{name}'" for name in self.names)

    @property
    def rate_units(self) -> tuple[str, ...]:
        return tuple(f"{unit}/s" if unit else "" for unit in self.units)

    def values(self, here: Evaluation) -> np.ndarray:
        """Values (k,) in a state; angles go beyond whole turns where its memories have followed them."""
        at, found = here.configuration, []
        for g in self._joints:
            for el, memory in zip(g.elements, at.memory[g.number], strict=True):
                found.extend(el.obj.values_at(at.frames(el.frames), memory).values())
        return np.array([*found, *here.state.q])

    def slopes(self, here: Evaluation) -> np.ndarray:
        """Slopes (k, n) of the values by the coordinates of bodies, with which rates are ``slopes @ v``."""
        at, body = here.configuration, here.assembly.body
        out, k = np.zeros((len(self.names), here.assembly.size)), 0
        for g in self._joints:
            for el in g.elements:
                own = el.obj.output_map(at.frames(el.frames))
                for f, six in zip(el.frames, np.split(own, len(el.frames), axis=1), strict=True):
                    if (b := body[f]) > 0:
                        there = slice(6 * b - 6, 6 * b)
                        arm = at.o[f] - at.reference[b]
                        out[k : k + len(own), there] += six
                        out[k : k + len(own), there][:, 3:] += np.cross(arm, six[:, :3])
                k += len(own)
        out[np.arange(k, len(out)), self._inner] = 1.0
        return out
