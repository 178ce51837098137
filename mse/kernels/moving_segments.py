"""Consistent masses of many beam segments, at one bent shape each, and their exact slopes by the twists between the ends.

The formulas are those of :mod:`mse.kernels.beam_shapes`, for arrays with a first axis of segments (E, ...).  By twists d
change ``Ad(exp(x d))`` by ``ad(X) Ad(exp(x d))``, where ``X = int_0^x Ad(exp(y d)) dy``, and powers of ad by the product rule.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from .beam_shapes import EXPONENTIAL, POINTS, RUNNING, WEIGHTS
from .motions import coadjoint_form, inverse_series, small_adjoint

_EVEN, _NEXT = 2 * np.arange(len(EXPONENTIAL)), np.arange(1, 5)  # exponents of the angle and of ad in its series
_INTEGRAL = EXPONENTIAL / (_EVEN[:, None] + _NEXT + 1.0)
_IDENTITY = np.eye(6)
# The most segments whose masses are found in one call, with arrays of 8 MB.  5,000 segments in one call took 160 MB, and as long
# (tests/elements/test_segment_inertia.py).
_AT_ONCE = 256
_AD, _COAD = (np.array([by(x) for x in _IDENTITY]).reshape(6, 36) for by in (small_adjoint, coadjoint_form))
_FROM_MIDDLE = (POINTS - 0.5)[:, None]


class Segments(NamedTuple):
    """Data of segments: twists at rest (E, 6), lengths (E,), compliance and density (E, points, 6) of sections.

    ``stress`` (E, points, 6, m) are their free stress fields; ``lever`` and ``moment`` (E, 6, 6) are ``lever`` and ``slope`` of
    :class:`mse.kernels.beams.Row`.
    """

    rest: np.ndarray
    length: np.ndarray
    compliance: np.ndarray
    density: np.ndarray
    stress: np.ndarray
    lever: np.ndarray
    moment: np.ndarray

    @property
    def soft(self) -> np.ndarray:
        return WEIGHTS[:, None] * self.length[:, None, None] * self.compliance

    @property
    def heavy(self) -> np.ndarray:
        return WEIGHTS[:, None] * self.length[:, None, None] * self.density


def moving_masses(twists: np.ndarray, moves: np.ndarray, s: Segments) -> tuple[np.ndarray, ...]:
    """Masses M (E, 12 + m, 12 + m) for motions u along own axes, at twists (E, 6), and how they change along ``moves`` u.

    Also gives ``S`` (E, 6, 12) of ``d' = S u``, ``M' u`` (E, 12 + m), and ``dT/dd`` (E, 6) of ``T = u' M u/2``.
    """
    form = _Form(twists, s)
    motion = form.motions()
    velocities = _times(motion, moves[:, None])
    momentum, slopes = s.heavy * velocities, form.velocity_slopes(moves, velocities)
    rates = _times(form.slope, moves[:, :12])
    change = _summed(motion, s.heavy * _times(slopes, rates[:, None])) + form.momentum_change(momentum, rates)
    return form.masses(motion), form.slope, change, _summed(slopes, momentum)


def masses_at(twists: np.ndarray, s: Segments) -> np.ndarray:
    """M alone."""

    def some(first: int) -> np.ndarray:
        form = _Form(twists[first : first + _AT_ONCE], Segments(*(x[first : first + _AT_ONCE] for x in s)))
        return form.masses(form.motions())

    return np.concatenate([some(first) for first in range(0, len(twists), _AT_ONCE)])


def section_motions(twists: np.ndarray, s: Segments) -> np.ndarray:
    """Motions (E, points, 6, 12 + m) of the sections, by the motions of frames 0 and 1 and by the internal coordinates.

    Sections and frames move by twists along their own axes.
    Velocities between the ends follow the static shapes about the present form, which is a helix under the forces at the ends.
    """
    return _Form(twists, s).motions()


class _Form:
    """Segments at twists (E, 6)."""

    def __init__(self, twists: np.ndarray, s: Segments):
        self.segments, self.twists = s, twists
        ad, self._t2 = _adjoints(twists), np.sum(twists[:, 3:] * twists[:, 3:], axis=1)
        square = ad @ ad
        self._powers = np.stack([ad, square, square @ ad, square @ square], axis=1)
        self._series = [x[:, None, None] for x in inverse_series(self._t2)]
        even = _IDENTITY + self._series[0] * self._powers[:, 1] + self._series[1] * self._powers[:, 3]
        self.slope = np.concatenate([0.5 * ad - even, 0.5 * ad + even], axis=-1)
        self.transports = self._sums(EXPONENTIAL, POINTS[:, None] ** _NEXT) + _IDENTITY
        self.by_end = _transposed(-self.slope[:, None, :, :6] @ self.transports)
        self.softened = s.soft[..., None] * self.by_end
        self.stiffness = np.linalg.inv(_multiplied(self.by_end, self.softened))
        self.yields = _multiplied(self.softened, s.stress)  # of the far end, by the free stress fields
        self.force = _times(self.stiffness, twists - s.rest)
        # a section that turns sees other components of the end force: under tension, a shear force
        self.swung = _coadjoints(self.force) @ (s.lever @ self.slope)

    def _sums(self, series: np.ndarray, of_points: np.ndarray) -> np.ndarray:
        """Sums (E, points, 6, 6) of powers of ad by a series of the exponential."""
        turns = (self._t2[:, None] * POINTS**2)[..., None] ** (_EVEN // 2)
        flat = (turns @ series * of_points) @ self._powers.reshape(-1, 4, 36)
        return flat.reshape(*flat.shape[:2], 6, 6)

    def motions(self) -> np.ndarray:
        """See :func:`section_motions`."""
        s = self.segments
        ends = self.stiffness @ (self.slope - s.moment @ self.swung)
        by_ends = self.by_end @ ends[:, None] + _FROM_MIDDLE[:, None] * self.swung[:, None]
        inner = s.stress - self.by_end @ (self.stiffness @ self.yields)[:, None]
        motion = self._carried(s.compliance[..., None] * np.concatenate([by_ends, inner], axis=-1))
        motion[..., :6] += self._back
        return motion

    def masses(self, motion: np.ndarray) -> np.ndarray:
        return _multiplied(motion, self.segments.heavy[..., None] * motion)

    @cached_property
    def _back(self) -> np.ndarray:
        parts = self.transports.reshape(*self.transports.shape[:2], 2, 3, 2, 3)
        return parts.transpose(0, 1, 2, 5, 4, 3).reshape(self.transports.shape)

    def _integrated(self, strain: np.ndarray, running: np.ndarray = RUNNING) -> np.ndarray:
        """Integrals from 0 to x along the segment of strains (E, points, ...)."""
        flat = strain.reshape(*strain.shape[:2], -1)
        return (self.segments.length[:, None, None] * (running @ flat)).reshape(strain.shape)

    def _carried(self, strain: np.ndarray) -> np.ndarray:
        return self._back @ self._integrated(self.transports @ strain)

    # -- slopes by the twist --------------------------------------------------------------------------------------
    def velocity_slopes(self, moves: np.ndarray, velocities: np.ndarray) -> np.ndarray:
        """Slopes (E, points, 6, 6) by the twist of the velocities (E, points, 6) of sections at fixed motions of the ends."""
        s, inner = self.segments, moves[:, 12:]
        turning = self._transport_slopes
        own, given = _times(self.slope, moves[:, :12]), _times(s.stress, inner[:, None])
        lever = _times(s.lever, own)
        own_slope = self._slope_of(moves[:, 6:12] - moves[:, :6], moves[:, :6] + moves[:, 6:12])
        swung = _times(_coadjoints(self.force), lever)
        swung_slope = _transposed(_adjoints(lever)) @ self._force_slope + _coadjoints(self.force) @ (
            s.lever @ own_slope
        )
        ends = _times(self.stiffness, own - _times(s.moment, swung) - _times(self.yields, inner))
        moved_slope, stress_slope = self._pulled_slopes(ends, s.soft * given)
        ends_slope = self.stiffness @ (own_slope - s.moment @ swung_slope - moved_slope)
        stress = _times(self.by_end, ends[:, None]) + _FROM_MIDDLE * swung[:, None] + given
        stress_slope += self.by_end @ ends_slope[:, None]
        stress_slope += _FROM_MIDDLE[:, None] * swung_slope[:, None]
        moved = _times(self.transports, s.compliance * stress)
        moved_slope = self.transports @ (s.compliance[..., None] * stress_slope) - _adjoints(moved) @ turning
        # velocities are Ad^-1 of what is summed up to the section
        return self._back @ (self._integrated(moved_slope) + _adjoints(_times(self.transports, velocities)) @ turning)

    def momentum_change(self, momentum: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """How the momenta (E, 12 + m) of fixed ones (E, points, 6) of sections change, as the twist changes at rates (E, 6)."""
        s = self.segments
        turning = _transposed(_adjoints(_times(self._transport_slopes, rates[:, None])))
        at_start = _times(_transposed(self._back), momentum)
        at_start_change = -_times(turning, at_start)
        beyond, beyond_change = self._integrated(at_start, RUNNING.T), self._integrated(at_start_change, RUNNING.T)
        back, towards_end = _transposed(self.transports), _transposed(self.by_end)
        strain = s.compliance * _times(back, beyond)
        strain_change = s.compliance * _times(back, _times(turning, beyond) + beyond_change)
        ends = _times(self.stiffness, _times(towards_end, strain).sum(axis=1))
        moved, stress_slope = self._pulled_slopes(ends, -strain)
        ends_change = _times(self.stiffness, -_times(moved, rates) + _times(towards_end, strain_change).sum(axis=1))
        moment, push, lever = _transposed(s.moment), -_coadjoints(self.force), _transposed(s.lever)
        swung = np.sum(_FROM_MIDDLE * strain, axis=1) - _times(moment, ends)
        swung_change = np.sum(_FROM_MIDDLE * strain_change, axis=1) - _times(moment, ends_change)
        pushed = _times(push, swung_change) - _times(_coadjoints(_times(self._force_slope, rates)), swung)
        by_ends = ends + _times(lever, _times(push, swung))
        out = np.empty((len(rates), 12 + s.stress.shape[-1]))
        out[:, :12] = _times(_transposed(self.slope), ends_change + _times(lever, pushed))
        odd, even = 0.5 * _coadjoints(by_ends), self._even_slope(_transposed(self._powers), _coadjoints, by_ends)
        out[:, :6] += at_start_change.sum(axis=1) + _times(odd - even, rates)
        out[:, 6:12] += _times(odd + even, rates)
        strain_change -= s.soft * _times(stress_slope, rates[:, None])
        out[:, 12:] = _summed(s.stress, strain_change) - _times(_transposed(self.yields), ends_change)
        return out

    @cached_property
    def _force_slope(self) -> np.ndarray:
        """Slopes (E, 6, 6) of the force at the far end."""
        return self.stiffness @ (_IDENTITY - self._pulled_slopes(self.force, 0.0)[0])

    @cached_property
    def _transport_slopes(self) -> np.ndarray:
        """X (E, points, 6, 6): of ``Ad(exp(x d))`` by d."""
        return self._sums(_INTEGRAL, POINTS[:, None] ** (_NEXT + 1)) + POINTS[:, None, None] * _IDENTITY

    def _even_slope(self, powers: np.ndarray, product, v: np.ndarray) -> np.ndarray:
        """Slopes (E, 6, 6) by d of ``(1 + a x^2 + b x^4) v``, x = ad_d or its transpose; ``product(v)`` are those of ``x v``."""
        _, _, da, db = self._series
        a, b = self._series[:2]
        raised = np.concatenate([v[:, None], _times(powers, v[:, None])], axis=1)  # v, x v, ..., x^4 v
        by = product(raised[:, :4])
        second = by[:, 1] + powers[:, 0] @ by[:, 0]
        fourth = by[:, 3] + powers[:, 0] @ by[:, 2] + powers[:, 1] @ second
        out = a * second + b * fourth
        out[..., 3:] += (
            2.0 * (da[..., 0] * raised[:, 2] + db[..., 0] * raised[:, 4])[..., None] * self.twists[:, None, 3:]
        )
        return out

    def _slope_of(self, apart: np.ndarray, both: np.ndarray) -> np.ndarray:
        """Slopes (E, 6, 6) of the rate of the twist, from the difference and the sum (E, 6) of the motions of the ends."""
        return self._even_slope(self._powers, lambda v: -_adjoints(v), apart) - 0.5 * _adjoints(both)

    def _end_slope(self, strain: np.ndarray) -> np.ndarray:
        """Slopes (E, 6, 6) of what strains (E, points, 6) of the sections move at the far end."""
        carried = _times(self.transports, strain)
        total = carried.sum(axis=1)
        turned = np.sum(_adjoints(carried) @ self._transport_slopes, axis=1)
        return self._slope_of(total, -total) + self.slope[:, :, :6] @ turned

    def _pulled_slopes(self, force: np.ndarray, strain: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
        """Slopes by d of what a force (E, 6) at the far end makes.

        They are (E, 6, 6) of how it moves there, together with strains (E, points, 6), and (E, points, 6, 6) of its stress.
        """
        at_start = -_times(_transposed(self.slope[:, :, :6]), force)
        slope = self._even_slope(_transposed(self._powers), _coadjoints, force) - 0.5 * _coadjoints(force)
        slope = slope[:, None] + _coadjoints(at_start)[:, None] @ self._transport_slopes
        stress = _transposed(self.transports) @ slope
        moved = self._end_slope(_times(self.softened, force[:, None]) + strain) + _multiplied(self.softened, stress)
        return moved, stress


def _adjoints(x: np.ndarray) -> np.ndarray:
    """``ad_x`` (..., 6, 6) of twists (..., 6)."""
    return (x @ _AD).reshape(*x.shape, 6)


def _coadjoints(mu: np.ndarray) -> np.ndarray:
    """:func:`.coadjoint_form` (..., 6, 6) of forces (..., 6)."""
    return (mu @ _COAD).reshape(*mu.shape, 6)


def _times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Products (..., i) of matrices (..., i, j) and vectors (..., j)."""
    return (matrices @ vectors[..., None])[..., 0]


def _transposed(matrices: np.ndarray) -> np.ndarray:
    return matrices.swapaxes(-1, -2)


def _multiplied(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Sums (E, i, j) over sections of transposed matrices (E, points, k, i) times others (E, points, k, j)."""
    flat = [x.reshape(len(x), -1, x.shape[-1]) for x in (one, other)]
    return _transposed(flat[0]) @ flat[1]


def _summed(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Sums (E, j) over sections of transposed matrices (E, points, i, j) and vectors (E, points, i)."""
    return _multiplied(vectors[..., None], matrices)[:, 0]
