"""A plant as motions that do not know of each other: which of them a loop moves, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..analysis.time.normal_form import NormalForm, normal_form
from ..analysis.time.state_space import StateSpace
from ..analysis.time.steps import Step
from ..numerics.precision import DEPENDENT, left_by_rounding

# Time (s) in which free motions are measured: it is the unit in which their rates are compared with nothing
# (tests/control/test_poles.py::test_free_motions_that_the_loop_does_not_move_stay_free).
_TIME = 1.0


@dataclass(frozen=True, eq=False)
class Motions:
    """``m' = P m + b u, y = c m + d u``, or ``m_{k+1}``: P of pairs (4, h) as rows of (2, 2) matrices, and ``rest`` (r, r).

    States are the first of each pair, the second of each, and the rest; ``to`` (n, m) leads to those of the state space.
    ``moved`` (m,) says which of them a loop moves: those of motions that it drives and senses.  If inputs change between two
    samples, ``before`` (m, i) is what their values before that do: ``m_{k+1} = P m_k + b u_k + before u_{k-1}``.
    """

    pairs: np.ndarray
    rest: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray
    to: np.ndarray
    moved: np.ndarray
    before: np.ndarray | None = None

    @classmethod
    def continuous(cls, ss: StateSpace) -> Motions:
        """Of a state space from actuators to sensors."""
        form = normal_form(ss, _TIME)
        rates, (first, second), none = form.oscillating, form.real, np.zeros(form.real.shape[1])
        oscillating = np.array([rates.real, rates.imag, -rates.imag, rates.real])
        pairs = np.hstack([oscillating, np.array([first, none, none, second]), form.coupled.reshape(-1, 4).T])
        return cls(pairs, form.rest, form.back @ ss.B, ss.C @ form.to, ss.D, form.to, _moved(ss, form))

    @classmethod
    def sampled(cls, ss: StateSpace, dt: float, fractions: np.ndarray) -> Motions:
        """The same from sample to sample, with inputs that are held, and change ``fractions`` (i,) of dt after each sample.

        This is the modified z-transform (E. I. Jury, "Theory and Application of the z-Transform Method" (1964), section 1.8).
        """
        step, form = Step(ss, dt, [(x, 1.0) if x else "zoh" for x in fractions.tolist()]), normal_form(ss, dt)
        before = Step(ss, dt, [(0.0, x) for x in fractions.tolist()]).into if fractions.any() else None
        return cls(step.pairs, step.rest, step.into, step.of_state, ss.D, step.to, _moved(ss, form), before)

    @property
    def matrix(self) -> np.ndarray:
        """P of the motions that a loop moves, (k, k)."""
        h = self.pairs.shape[1]
        out = np.zeros((len(self.b),) * 2)
        i = np.arange(h)
        out[i, i], out[i, h + i], out[h + i, i], out[h + i, h + i] = self.pairs
        out[2 * h :, 2 * h :] = self.rest
        return out[np.ix_(self.moved, self.moved)]

    def others(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues (k,) of the motions that a loop does not move, and their vectors (n, k) in the state space."""
        h = self.pairs.shape[1]
        p = self.pairs.T.reshape(-1, 2, 2)
        at = np.flatnonzero(~(self.moved[:h] | self.moved[h : 2 * h]))
        values, vectors = np.linalg.eig(p[at].astype(complex))
        shapes = self.to[:, at].T[:, :, None] * vectors[:, :1] + self.to[:, h + at].T[:, :, None] * vectors[:, 1:]
        values, shapes = values.ravel(), shapes.transpose(1, 0, 2).reshape(len(self.to), -1)
        own = shapes.any(axis=0)  # a pair of real motions may have an empty state
        return values[own], shapes[:, own]

    @cached_property
    def _kept(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs (4, k) that a loop moves, and columns of c and rows of b of their first and second states (2, k)."""
        h = self.pairs.shape[1]
        on = np.flatnonzero(self.moved[:h] | self.moved[h : 2 * h])
        return self.pairs[:, on], on, h + on

    def infinite(self, x: np.ndarray) -> np.ndarray:
        """At which x (f,) there is a pole of what the loop moves, to rounding."""
        p0, p1, p2, p3 = self._kept[0]
        x = x[:, None]
        first, second = x - p0, x - p3
        terms = (np.abs(x) + np.abs(p0)) * np.abs(second) + (np.abs(x) + np.abs(p3)) * np.abs(first)
        found = np.abs(first * second - p1 * p2) <= left_by_rounding() * (terms + 2.0 * np.abs(p1 * p2))
        values = np.linalg.eigvals(self.rest)
        of_rest = np.abs(x - values) <= left_by_rounding(len(values)) * (np.abs(x) + np.abs(values))
        return found.any(axis=1) | of_rest.any(axis=1)

    def at(self, x: np.ndarray) -> np.ndarray:
        """``c (x - P)^-1 b + d`` (f, o, i) at complex x (f,)."""
        (p0, p1, p2, p3), one, two = self._kept
        first, second = x[:, None] - p0, x[:, None] - p3
        over = 1.0 / (first * second - p1 * p2)
        c1, c2, b1, b2 = self.c[:, one], self.c[:, two], self.b[one], self.b[two]

        def products(c: np.ndarray, b: np.ndarray) -> np.ndarray:
            return c.T[:, :, None] * b[:, None, :]

        out = np.tensordot(second * over, products(c1, b1), 1) + np.tensordot(first * over, products(c2, b2), 1)
        out += np.tensordot(over, products(c1 * p1, b2) + products(c2 * p2, b1), 1)
        if len(self.rest):
            h = self.pairs.shape[1]
            inverse = np.linalg.solve(x[:, None, None] * np.eye(len(self.rest)) - self.rest, self.b[None, 2 * h :])
            out += self.c[:, 2 * h :] @ inverse
        return out + self.d


def _moved(ss: StateSpace, form: NormalForm) -> np.ndarray:
    """Which states (m,) belong to motions that are driven and sensed, beyond rounding."""
    h, (to, back) = form.pairs, ss.scaling
    driven = _felt(form.back @ to, back @ ss.B).any(axis=1)
    sensed = _felt((back @ form.to).T, (ss.C @ to).T).any(axis=1)
    both = (driven[:h] | driven[h : 2 * h]) & (sensed[:h] | sensed[h : 2 * h])
    # but for the state that makes pairs of real motions complete
    return np.concatenate([both, both, np.ones(len(form.rest), dtype=bool)]) & form.to.any(axis=0)


def _felt(motions: np.ndarray, channels: np.ndarray) -> np.ndarray:
    """Which products (m, k) of motions (m, n) and channels (n, k) are more than cancels in them, and than rounding of motions."""
    cancels = DEPENDENT * (np.abs(motions) @ np.abs(channels))
    sizes = np.linalg.norm(motions, axis=1)[:, None] * np.linalg.norm(channels, axis=0)
    return np.abs(motions @ channels) > np.maximum(cancels, left_by_rounding(len(channels)) * sizes)
