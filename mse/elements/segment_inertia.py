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

from ..kernels import beam_shapes
from ..kernels.motions import cross, relative_twist
from ..kernels.moving_segments import Segments, masses_at, moving_masses, section_motions

if TYPE_CHECKING:
    from .beam_segment import BeamSegment


class SegmentInertia:
    """Masses and forces of inertia of segments of one class; made from the data of its objects."""

    def __init__(self, objects: Sequence[BeamSegment]):
        data = [obj._data for obj in objects]
        stress = [beam_shapes.inner_stress(d.length, d.scale, d.inner) for d in data]
        columns = (
            (d.rest, d.length, d.compliance, d.density, x, d.row.lever, d.row.slope)
            for d, x in zip(data, stress, strict=True)
        )
        self.segments = Segments(*map(np.array, zip(*columns, strict=True)))
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

    def masses(self, origins: np.ndarray, orientations: np.ndarray) -> np.ndarray:
        """Masses alone."""
        twists, axes = self._seen(origins, orientations)
        return axes @ masses_at(twists, self.segments) @ axes.transpose(0, 2, 1)

    def motions(self, origins: np.ndarray, orientations: np.ndarray) -> np.ndarray:
        """Motions (E, points, 6, n) of the sections along their own axes, by velocities along world axes."""
        twists, axes = self._seen(origins, orientations)
        return section_motions(twists, self.segments) @ axes.transpose(0, 2, 1)[:, None]

    def _seen(self, origins, orientations):
        """Twists (E, 6) between the frames, and the axes (E, n, n) of their coordinates."""
        poses = zip(origins, orientations, strict=True)
        twists = np.array([relative_twist(o[0], u[0], o[1], u[1]) for o, u in poses])
        axes = np.tile(np.eye(12 + self.segments.stress.shape[-1]), (len(twists), 1, 1))
        for k in range(4):
            axes[:, 3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = orientations[:, k // 2]
        return twists, axes

    def _evaluated(self, origins, orientations, velocities):
        count, n = velocities.shape
        if not velocities.any():
            return self.masses(origins, orientations), np.zeros((count, n))
        twists, axes = self._seen(origins, orientations)
        mass, slope, change, by_twist = moving_masses(twists, np.einsum("eji,ej->ei", axes, velocities), self.segments)
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
