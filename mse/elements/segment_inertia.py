"""Inertia of beam segments in motion: consistent masses at any bent shape, and the forces of inertia at finite velocities.

Along the frames' own axes the mass of a segment depends on the twist d between its frames alone, ``T = u' M(d) u/2`` with
``u = R' v``.  Lagrange's equations, in von Mises' form ``dp/dt + v x p = f`` for each frame, give

    ``c = R (dM/dt u - S' t) - R M R' (w x v) + (w x p; v x p + w x p - w x p)``,  ``t_k = u' (dM/dd_k) u/2``,  ``d' = S u``,

so that energy and both momenta are kept.  Slopes of M are exact: complex steps, for all segments at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..kernels import beam_shapes, motions

if TYPE_CHECKING:
    from .beam_segment import BeamSegment

_STEP = 1e-30  # of a complex step, whose square is nothing


class SegmentInertia:
    """Masses and forces of inertia of segments of one class; made from its objects."""

    def __init__(self, segments: Sequence[BeamSegment]):
        data = [s._data for s in segments]
        self._rest = np.array([d.rest for d in data])
        self._lever = np.array([d.row.lever for d in data])
        self._slope = np.array([d.row.slope for d in data])
        self._length = np.array([d.length for d in data])
        self._compliance = np.array([d.compliance for d in data])
        self._density = np.array([d.density for d in data])
        inner = data[0].inner
        self._stress = np.array([beam_shapes._inner_stress(d.length, d.scale, inner) for d in data])

    def __call__(
        self, origins: np.ndarray, orientations: np.ndarray, velocities: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Masses (E, n, n) and forces c (E, n) along world axes, at poses (E, 2, 3) and (E, 2, 3, 3) and velocities (E, n)."""
        count, n = velocities.shape
        poses = zip(origins, orientations, strict=True)
        twists = np.array([motions.relative_twist(o[0], u[0], o[1], u[1]) for o, u in poses])
        axes = np.tile(np.eye(n), (count, 1, 1))
        for k in range(4):
            axes[:, 3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = orientations[:, k // 2]
        if not velocities.any():
            mass, _ = self._masses(twists[:, None])
            return axes @ mass[:, 0] @ axes.transpose(0, 2, 1), np.zeros((count, n))
        masses, slope = self._masses(twists[:, None] + 1j * _STEP * np.eye(6))
        mass, changes, slope = masses[:, 0].real, masses.imag / _STEP, slope[:, 0].real
        mass = axes @ mass @ axes.transpose(0, 2, 1)
        own = np.einsum("eji,ej->ei", axes, velocities)
        by_twist = np.einsum("ekij,ej->eki", changes, own)
        rates = np.einsum("eki,ei->ek", slope, own[:, :12])
        change = np.einsum("ek,eki->ei", rates, by_twist)
        change[:, :12] -= np.einsum("eki,ek->ei", slope, 0.5 * np.einsum("eki,ei->ek", by_twist, own))
        p = np.einsum("eij,ej->ei", mass, velocities)
        turning, force = np.zeros((2, count, n))
        for k in (0, 6):
            v, w = velocities[:, k : k + 3], velocities[:, k + 3 : k + 6]
            turning[:, k : k + 3] = np.cross(w, v)
            force[:, k : k + 3] = np.cross(w, p[:, k : k + 3])
            force[:, k + 3 : k + 6] = np.cross(w, p[:, k + 3 : k + 6]) + np.cross(v, p[:, k : k + 3])
        force += np.einsum("eij,ej->ei", axes, change) - np.einsum("eij,ej->ei", mass, turning)
        return mass, force

    def _masses(self, twists: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Masses (E, s, n, n) along own axes and slopes of twists (E, s, 6, 12) by own motions, at twists (E, s, 6)."""
        return beam_shapes.moving_masses(
            twists, self._rest, self._length, self._compliance, self._density, self._stress, self._lever, self._slope
        )
