"""Sampled loops: the plant discretized exactly for inputs that are held, and the poles of the loop in z.

Loss factors have no state space.  With them ``P(z)`` is that of modal damping instead, which is discretized, and what the two
differ by: the sum of ``H(s) (P - P')(s)`` over the rates ``s + 2 pi i n/T`` of one z, for the hold ``H(s) = (1 - e^(-sT))/(sT)``
(E. I. Jury, "Sampled-Data Control Systems" (1958)).  It falls fast, since both have the same inertia.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.time.massless import condense
from ..analysis.time.state_space import StateSpace
from ..errors import SingularResponseError
from ..linear.independent import independent
from ..numerics.precision import APART, DEPENDENT
from .controller import sampled
from .links import Links, finite
from .motions import Motions
from .poles import Exact, Plant, Poles, coordinates_of, eigen_with_rounding, joined, solved, unit
from .time import continuous

if TYPE_CHECKING:
    from .closed import ClosedModel

_MOST_ALIASES = 128  # rates of one z on each side at which losses count, before what is left is extrapolated
# Of a response: what sums may leave out without a note.  tests/control/test_poles.py passes with ten times of it.
_TOLD = 1e-9
# Sums from which their limit is extrapolated: what is left of the last falls with the fifth power of the rates.  With four and
# six tests/control/test_poles.py passes, with three it fails.
_LEVELS = 5


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
        self._inner = Links([link for link in closed.links.all if link.controller.dt is None])
        self._lossy = bool(closed.linear.losses)
        self._left = self._left_of_poles = 0.0  # what sums of one question leave out, and those of the poles
        self._model = closed.linear.modal_damping()
        self._plant = Plant(closed.linear, Links([*self._inner.all, *self.links.all]))

    @cached_property
    def _discrete(self) -> StateSpace:
        channels = {"inputs": self.links.actuators, "outputs": self.links.sensors}
        return continuous(self._closed, self._model).state_space(**channels, progress=False)

    @cached_property
    def _motions(self) -> Motions:
        return Motions.sampled(self._discrete, self.dt, self.links.fractions)

    @cached_property
    def _in_time(self) -> Motions:
        return Motions.continuous(self._discrete)

    def gain(self, w: np.ndarray, shift: float = 0.0, *, beside: bool = True) -> np.ndarray:
        """``C P`` (f, a, a) at ``z = e^((shift + i w) dt)``; where it is infinite ``beside`` it, or SingularResponseError."""
        s = shift + 1j * w
        infinite = self._motions.infinite(np.exp(s * self.dt))
        if infinite.any() and not beside:
            hz = w[np.argmax(infinite)] / (2 * np.pi)
            raise SingularResponseError(
                f"{self.model_name}: the loop gain from sample to sample is infinite at {hz:.12g} Hz, where a motion "
                "without damping swings, or appears by sampling; expected a frequency off it; move the frequency, or add damping"
            )
        s = np.where(infinite, s * (1.0 + DEPENDENT), s)
        p = self._damped(s)
        if self._lossy:
            p = p + self._of_loss(s, first=True)
        return finite(self.model_name, self.links.at_samples(np.exp(s * self.dt)), w, beside) @ p

    # -- P(z) ---------------------------------------------------------------------------------------------------
    def _damped(self, s: np.ndarray) -> np.ndarray:
        """P (f, s, a) at rates (f,), with modal damping in place of losses."""
        z, m = np.exp(s * self.dt), self._motions
        late = m.d if m.before is None else replace(m, b=m.before).at(z)
        return m.at(z) - m.d + late / z[:, None, None]

    def _of_loss(self, s: np.ndarray, *, first: bool) -> np.ndarray:
        """P (f, s, a) with losses less that with modal damping, summed over all rates of one z.

        Unless ``first``, the term with losses at s itself is left out.
        """
        damped, turn = self._held(s) * self._in_time.at(s), 2j * self.highest
        total = self._held(s) * self._exact(s) - damped if first else -damped
        size, top = np.abs(damped), float(self._rates_open.imag.max(initial=0.0))
        sums, reached = [total], False
        while 2 ** len(sums) <= _MOST_ALIASES and not reached:  # twice as many each time
            n = np.arange(2 ** (len(sums) - 1), 2 ** len(sums))
            x = (s + turn * np.concatenate([n, -n])[:, None]).ravel()
            more = self._held(x) * (self._exact(x) - self._in_time.at(x))
            more = more.reshape(2, len(n), *total.shape).sum(axis=0)
            sums.append(sums[-1] + more.sum(axis=0))
            least = size + DEPENDENT * size.max()
            beyond = (2 * n[-1] - 1) * self.highest > top
            # terms fall at least as 1/n^2, so all that are left sum up to no more than the last ones
            left = np.maximum(np.abs(sums[-1] - sums[-2]), np.abs(more[-1]))
            reached = beyond and bool(np.all(left <= _TOLD * least))
        if not reached and beyond:
            found, error = _extrapolated(np.array(sums[-_LEVELS:]))
            better = error < left
            sums[-1], left = np.where(better, found, sums[-1]), np.where(better, error, left)
        self._left = max(self._left, float(np.max(left / least, initial=0.0)))
        return sums[-1]

    def asked(self) -> None:
        """A new question begins: the notes are about it and the poles alone, whatever was asked before."""
        self._left = 0.0

    @property
    def notes(self) -> tuple[str, ...]:
        """What the sums over rates of one z have left out, for the poles and the last question, if more than a billionth."""
        left = max(self._left, self._left_of_poles)
        if left <= _TOLD:
            return ()
        return (
            f"the sum over the rates of one z ends at {_MOST_ALIASES - 1} sampling rates: what losses do above them is left out, "
            f"up to some {left:.1g} of the response; positions in place of velocities or forces leave less, or a shorter "
            "sampling time",
        )

    def _held(self, s: np.ndarray) -> np.ndarray:
        """Responses (f, 1, a) of holds that are as late as commands are within a sample."""
        turn = (s * self.dt)[:, None, None]
        return (
            np.divide(-np.expm1(-turn), turn, out=np.ones_like(turn), where=turn != 0.0)
            * np.exp(-turn * self.links.fractions)
        )  # fmt: skip

    def _exact(self, s: np.ndarray) -> np.ndarray:
        """P (f, s, a) in time at complex rates (f,), with losses and with continuous loops closed."""
        below, w = s.imag < 0.0, np.abs(s.imag)
        if len(s) > 1 and np.all(s.real == s.real[0]):
            p = self._plant.response(w, float(s.real[0]))
        else:
            z, b, c, d = self._plant.dynamics(s.real + 1j * w)
            p = d + c @ solved(z, b)
        if self._inner.all:
            of, a, y = self._inner.at(s.real + 1j * w), len(self._inner.actuators), len(self._inner.sensors)
            p = p - p[:, :, :a] @ np.linalg.solve(np.eye(a) + of @ p[:, :y, :a], of @ p[:, :y])
        p = p[:, self._own[0][:, None], self._own[1]]
        return np.where(below[:, None, None], p.conj(), p)

    @cached_property
    def _own(self) -> tuple[np.ndarray, np.ndarray]:
        """Places of the sensors and of the actuators of sampled controllers among all."""
        whole = self._plant.links
        return (
            np.array([whole.sensors.index(name) for name in self.links.sensors]),
            np.array([whole.actuators.index(name) for name in self.links.actuators]),
        )

    def _dynamics(self, s: np.ndarray) -> tuple[np.ndarray, ...]:
        """Z, b, c and d at rates (f,) of motions that swing so, with what they do at the other rates of the same z in d."""
        open_ = self._plant.dynamics
        z, b, c, d = Exact(open_, self._inner).closed(s) if self._inner.all else open_(s)
        rows, columns = self._own
        hold, rest = self._held(s), self._damped(s) + self._of_loss(s, first=False)
        return z, b[:, :, columns] * hold, c[:, rows], d[:, rows[:, None], columns] * hold + rest

    # -- poles --------------------------------------------------------------------------------------------------
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
        z = np.concatenate([values, others])
        moved = np.arange(len(z)) < len(values)
        found = Poles(z, shapes, np.concatenate([rounding, np.zeros(len(others))]), moved)
        if self._lossy:
            self.asked()
            found = self._with_loss(found)
            self._left_of_poles = self._left
        if self._model.constraints.shape[0]:
            found = found._replace(shapes=self._model.reduced[1] @ found.shapes)
        return found

    @cached_property
    def _rates_open(self) -> np.ndarray:
        """Rates (k,) of all motions with modal damping, of those that swing the upper ones."""
        found = np.concatenate([np.linalg.eigvals(self._in_time.matrix), self._in_time.others()[0]])
        return found[found.imag >= 0.0]

    def _with_loss(self, found: Poles) -> Poles:
        """Poles and free coordinates with losses, by Newton's method; what does not swing has none."""
        z = found.values
        real = z.imag == 0.0
        swinging = (z.imag > 0.0) | (real & (z.real < -found.rounding))
        upper = np.flatnonzero(swinging)
        s, turned = self._unfolded(self.rates(z[upper]))
        shapes = np.where(turned, found.shapes[:, upper].conj(), found.shapes[:, upper])
        exact = Exact(self._dynamics, self.links, self.dt)
        out = [
            (z[k], unit(found.shapes[:, k]), found.rounding[k], found.moved[k])
            for k in np.flatnonzero(real & ~swinging)
        ]
        for rate, q, rounding, moved in exact.poles(s, shapes, found.rounding[upper], found.moved[upper]):
            x = np.exp(rate * self.dt)
            if abs(x.imag) <= APART * abs(x):  # to what the sum leaves
                out.append((x.real, q.real, rounding, moved))
            else:
                out += [(x, q, rounding, moved), (x.conjugate(), q.conj(), rounding, moved)]
        return joined(out, len(found.shapes))

    def _unfolded(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of all rates with the z of s (k,), or its conjugate, those next to an open one; and which are of the conjugate."""
        turn, rates = 2.0 * self.highest, self._rates_open
        both = np.stack([s, s.conj()])[:, :, None]
        rates = both + 1j * turn * np.round((rates - both).imag / turn)
        away = np.where(rates.imag > 0.0, np.abs(rates - self._rates_open), np.inf)
        rates, away = np.hstack([s[:, None], *rates]), np.hstack([np.full((len(s), 1), turn), *away])
        near = np.argmin(away, axis=1)
        return rates[np.arange(len(s)), near], near > len(self._rates_open)


def _extrapolated(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The limit of sums (k, ...) of which each has twice as many terms, and its possible error.

    What is left of sums of n terms is a series of powers of 1/n, removed one by one (L. F. Richardson, Phil. Trans. R. Soc. A
    226 (1927) 299).
    """
    for power in range(1, len(sums)):
        before, sums = sums, sums[1:] + (sums[1:] - sums[:-1]) / (2.0**power - 1.0)
    # holds that change within a sample turn the terms, too: one difference alone may be small by chance
    return sums[-1], np.maximum(np.abs(sums[-1] - before[-1]), np.abs(before[-1] - before[-2]))
