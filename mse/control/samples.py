"""Sampled loops: the plant discretized exactly for inputs that are held, and the poles of the loop in z."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.time.massless import condense
from ..linear.independent import independent
from .controller import sampled
from .links import Links
from .motions import Motions
from .poles import Poles, coordinates_of, eigen_with_rounding
from .time import continuous

if TYPE_CHECKING:
    from .closed import ClosedModel


class SampledPlant:
    """What stands between the actuators and sensors of sampled loops, continuous ones being closed, from sample to sample.

    Sensors are read before new commands are given.  ``P(z) = c (z - P)^-1 (b + before/z) + d/z``, where ``before`` is what
    commands do that are still held in a part of the next interval.
    """

    def __init__(self, closed: ClosedModel):
        self.links = Links([link for link in closed.links.all if link.controller.dt is not None])
        self.dt = self.links.dt
        #: half the sampling rate, rad/s
        self.highest = np.pi / self.dt
        self._closed, self.model_name = closed, closed.name
        self._model = closed.linear.lossless

    @cached_property
    def _motions(self) -> Motions:
        channels = {"inputs": self.links.actuators, "outputs": self.links.sensors}
        plant = continuous(self._closed, self._model).state_space(**channels, progress=False)
        return Motions.sampled(plant, self.dt, self.links.fractions)

    def gain(self, w: np.ndarray, shift: float = 0.0) -> np.ndarray:
        """``C P`` (f, a, a) at ``z = e^((shift + i w) dt)``."""
        z, m = np.exp((shift + 1j * w) * self.dt), self._motions
        late = m.d if m.before is None else replace(m, b=m.before).at(z)
        return self.links.at_samples(z) @ (m.at(z) - m.d + late / z[:, None, None])

    def rates(self, z: np.ndarray) -> np.ndarray:
        """s of ``z = e^(s dt)``, with ``|Im s| <= pi/dt``."""
        return np.log(np.where(z == 0.0, np.finfo(float).tiny, z.astype(complex))) / self.dt

    @cached_property
    def open(self) -> np.ndarray:
        """Poles of ``C P`` as rates s."""
        return self.rates(np.concatenate([np.linalg.eigvals(self._motions.matrix), self.links.poles()]))

    @property
    def closed(self) -> np.ndarray:
        """Closed poles that the loops move, as rates s."""
        return self.rates(self.poles.values[self.poles.moved])

    @cached_property
    def poles(self) -> Poles:
        """All poles with loops closed, in z."""
        m = self._motions
        (ac, bc, cc, dc, _), sensors, _ = self.links.stacked(sampled)
        on = np.flatnonzero(m.moved)
        p, b, c, d = m.matrix, m.b[on], m.c[np.ix_(sensors, on)], m.d[sensors]
        n, k, u = len(p), len(ac), b.shape[1]
        command = -np.hstack([dc @ c, cc, dc @ d])  # by motions, controllers and the last commands
        a = np.zeros((n + k + u, n + k + u))
        a[:n, :n], a[n : n + k, n : n + k] = p, ac
        a[:n] += b @ command
        a[n : n + k] += bc @ np.hstack([c, np.zeros((len(sensors), k)), d])
        a[n + k :] = command
        if m.before is not None:
            a[:n, n + k :] += m.before[on]
        elif not d.any():
            a = a[: n + k, : n + k]
        values, vectors, rounding = eigen_with_rounding(a)
        others, own = m.others()
        states = np.hstack([m.to[:, on] @ vectors[:n], own])
        condensed = condense(independent(self._model), *[np.zeros(0, dtype=int)] * 2)
        shapes = coordinates_of(condensed, states, self.rates(np.concatenate([values, others])))
        if self._model.constraints.shape[0]:
            shapes = self._model.reduced[1] @ shapes
        count = len(values) + len(others)
        return Poles(
            np.concatenate([values, others]), shapes, np.concatenate([rounding, np.zeros(len(others))]),
            np.arange(count) < len(values),
        )  # fmt: skip
