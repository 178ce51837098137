"""Inertia of beam segments in motion: consistent masses at any bent shape, and the forces of inertia at finite velocities.

Along the frames' own axes the mass of a segment depends on the twist d between its frames alone, ``T = u' M(d) u/2`` with
``u = R' v``.  Lagrange's equations, in von Mises' form ``dp/dt + v x p = f`` for each frame, give

    ``c = R (dM/dt u - S' t) - R M R' (w x v) + (w x p; v x p + w x p - w x p)``,  ``t_k = u' (dM/dd_k) u/2``,  ``d' = S u``,

so that energy and both momenta are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..kernels import beam_shapes, motions
from ..kernels.motions import cross
from ..kernels.moving_segments import Segments, masses_at, moving_masses

if TYPE_CHECKING:
    from .beam_segment import BeamSegment


class SegmentInertia:
    """Masses and forces of inertia of segments of one class; made from its objects."""

    def __init__(self, segments: Sequence[BeamSegment]):
        data = [s._data for s in segments]
        stress = [beam_shapes.inner_stress(d.length, d.scale, d.inner) for d in data]
        columns = (
            (d.rest, d.length, d.compliance, d.density, x, d.row.lever, d.row.slope)
            for d, x in zip(data, stress, strict=True)
        )
        self._segments = Segments(*map(np.array, zip(*columns, strict=True)))
        self._last: tuple = (None, None)

    def __call__(
        self, origins: np.ndarray, orientations: np.ndarray, velocities: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Masses (E, n, n) and forces c (E, n) along world axes, at poses (E, 2, 3) and (E, 2, 3, 3) and velocities (E, n).

        They are kept for the next call: a step asks for them, and for its matrices, at the same place.
        """
        given = origins.tobytes(), orientations.tobytes(), velocities.tobytes()
        if given != self._last[0]:
            self._last = given, self._evaluated(origins, orientations, velocities)
        return self._last[1]

    def _evaluated(self, origins, orientations, velocities):
        count, n = velocities.shape
        poses = zip(origins, orientations, strict=True)
        twists = np.array([motions.relative_twist(o[0], u[0], o[1], u[1]) for o, u in poses])
        axes = np.tile(np.eye(n), (count, 1, 1))
        for k in range(4):
            axes[:, 3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = orientations[:, k // 2]
        if not velocities.any():
            return axes @ masses_at(twists, self._segments) @ axes.transpose(0, 2, 1), np.zeros((count, n))
        mass, slope, change, by_twist = moving_masses(twists, np.einsum("eji,ej->ei", axes, velocities), self._segments)
        mass = axes @ mass @ axes.transpose(0, 2, 1)
        change[:, :12] -= np.einsum("eki,ek->ei", slope, by_twist)
        p = np.einsum("eij,ej->ei", mass, velocities)
        v, w = velocities[:, :12].reshape(count, 2, 2, 3).swapaxes(0, 2)  # (frame, E, 3)
        along, about = p[:, :12].reshape(count, 2, 2, 3).swapaxes(0, 2)
        turning = np.stack([cross(w, v), np.zeros_like(v)], axis=1)  # (frame, v or w, E, 3)
        turned = np.stack([cross(w, along), cross(w, about) + cross(v, along)], axis=1)
        turning, turned = (x.transpose(2, 0, 1, 3).reshape(count, 12) for x in (turning, turned))
        force = np.einsum("eij,ej->ei", axes, change) - np.einsum("eij,ej->ei", mass[:, :, :12], turning)
        force[:, :12] += turned
        return mass, force
