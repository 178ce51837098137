"""BeamSegment: one element of a beam, between two frames; made by the beams of :mod:`mse.elements.beam_base`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import ModelError
from ..kernels import beam_shapes, beams, motions
from ..numerics.law_functions import rotation_vector, solved
from .base import FramePose, MObject, Outline
from .coordinates import GENERALIZED, coordinate
from .segment_inertia import SegmentInertia

_MOST_STRAIN = 0.02  # of a segment softened for the search, under all loads
_NEAR = 0.8  # of the largest rotation: from here on it may be what stops a search


@dataclass(frozen=True, eq=False)
class SegmentData:
    """Data of a segment: unloaded twist between its ends (6,) and sections at the quadrature points.

    ``rigidity`` (points, 6) is E A, k G A twice (infinite without shear), G J, E Iy, E Iz; ``density`` (points, 6) the mass and
    moments of inertia per length; ``reach`` the length of the whole beam; ``inner`` the number of internal coordinates, 6, or 8
    if sections shear.
    """

    rest: np.ndarray
    length: float
    rigidity: np.ndarray
    density: np.ndarray
    reach: float
    inner: int

    @property
    def compliance(self) -> np.ndarray:
        return 1.0 / self.rigidity

    @property
    def scale(self) -> np.ndarray:
        """Typical E A, G J, E I and k G A (4,), units of the internal coordinates."""
        mean = self.rigidity.mean(axis=0)
        return np.array([mean[0], mean[3], 0.5 * (mean[4] + mean[5]), 0.5 * (mean[1] + mean[2])])

    def stiffness(self, twist: np.ndarray) -> np.ndarray:
        """``(int H C^-1 H^T ds)^-1`` about the helix ``twist`` (6,); (6, 6)."""
        k = np.linalg.inv(beam_shapes.flexibility(twist, self.length, self.compliance).sum(axis=0))
        return 0.5 * (k + k.T)

    @cached_property
    def row(self) -> beams.Row:
        """The parameters of the kernel :func:`mse.kernels.beams.segment`."""
        flexibility = beam_shapes.flexibility(self.rest, self.length, self.compliance)
        mean, slope, spread = beam_shapes.flexibility_moments(self.rest, self.length, self.compliance)
        k = np.linalg.inv(flexibility.sum(axis=0))
        moved, tensed = beam_shapes.inner_stiffness(
            self.rest, self.length, self.compliance, self.scale, self.inner, 0.5 * (k + k.T)
        )
        bubble = np.zeros((5, self.inner, self.inner))
        np.add.at(bubble, beams.MECHANISM, moved)
        x, mass = beam_shapes.POINTS, beam_shapes.WEIGHTS * self.length * self.density[:, 0]
        hermite = np.array([
            (1 - x) ** 2 * (1 + 2 * x), x**2 * (3 - 2 * x), x * (1 - x) ** 2 * self.length, -(x**2) * (1 - x) * self.length
        ])  # fmt: skip
        # displacements that come with a change of strain bend no lever; they are in the shortening
        lever = np.vstack([(mean.T @ k)[:3], np.eye(6)[3:]])
        change = 12.0 * slope.T @ k
        wave = np.sqrt(self.length / 240.0) * change[4:]
        sway = motions.small_adjoint(self.rest) @ change
        return beams.Row(self.rest, hermite @ mass, flexibility, slope, spread, lever, bubble, tensed, wave, sway)

    def softened(self, ratio: float, load: float) -> SegmentData:
        """The same data with stretch and shear at most ``ratio`` times as stiff as bending over the length of the beam."""
        bending = self.rigidity[:, 4:].max(axis=1) / self.reach**2
        most = np.maximum(ratio * bending, load / _MOST_STRAIN)
        rigidity = self.rigidity.copy()
        rigidity[:, :3] = np.minimum(rigidity[:, :3], most[:, None])
        return self if np.array_equal(rigidity, self.rigidity) else replace(self, rigidity=rigidity)


def _twist(frames: Sequence[FramePose]) -> np.ndarray:
    """The twist (6,) that moves frame 0 to frame 1."""
    return motions.relative_twist(*(np.array(a) for f in frames for a in f))


def _stacked(frames: Sequence[FramePose]) -> tuple[np.ndarray, np.ndarray]:
    """Origins (1, 2, 3) and orientations (1, 2, 3, 3) of the two frames of one segment."""
    return np.array([[f.o for f in frames]]), np.array([[f.U for f in frames]])


class BeamSegment(MObject):
    """``W = d'^T F^-1 d'/2 - g . int rho A x ds`` with ``d' = log(g0^-1 g1) - d0`` and F its flexibility as it is bent.

    Small strains about the rest shape are exact for any taper; see :mod:`mse.kernels.beams`.  Internal coordinates let its
    inside stretch, twist and bend while its ends are fixed; they are zero in every working point and serve the modes.
    """

    coordinate_names = tuple(
        coordinate(name, domain=GENERALIZED) for name in ("stretch", "twist", "bend_y", "bend_z", "stretch2", "twist2")
    )
    resting = coordinate_names
    parts = ("axial", "shear", "torsion", "bending_y", "bending_z", "gravity", "geometric")
    mechanisms = ()  # the beam has the loss
    kernel = beams.segment
    adds_parts = True
    moving = SegmentInertia

    def __init__(self, name: str, data: SegmentData):
        super().__init__(name)
        self._data = data

    def span(self):
        return self._data.length

    def kernel_parameters(self):
        return beams.pack(self._data.row)

    def softened(self, ratio, load):
        data = self._data.softened(ratio, load)
        return self if data is self._data else type(self)(self.name, data)

    def energy(self, frames, q):
        row = self._data.row
        seat = frames[0].U.T
        w, p = rotation_vector(seat @ frames[1].U), seat @ (frames[1].o - frames[0].o)
        turned = np.cross(w, p)
        c = motions.inverse_coefficient_series(w @ w)
        strain = np.concatenate([p - 0.5 * turned + c * np.cross(w, turned), w]) - row.rest
        # what the inside bends takes length
        strain = np.concatenate([strain[:1] + 0.5 * (q @ (row.tensed @ q)), strain[1:]])
        waves = row.wave @ strain
        strain = strain - ((w @ w) - row.rest[3:] @ row.rest[3:]) / 720.0 * (row.sway @ strain)
        strain = np.concatenate([strain[:1] + waves @ waves, strain[1:]])

        bending = row.lever @ strain
        lever, turn = bending[:3], bending[3:]

        def moved_by(f):  # F f at the present strain
            carried = np.concatenate([np.cross(f[:3], turn), np.cross(f[:3], lever) + np.cross(f[3:], turn)])
            change = f @ row.slope + row.spread * carried
            back = np.concatenate(
                [np.cross(turn, change[:3]) + np.cross(lever, change[3:]), np.cross(turn, change[3:])]
            )
            return row.flexibility.sum(axis=0) @ f + row.slope @ carried + back

        f = solved([moved_by(unit) for unit in np.eye(6)], strain)  # the force that makes this strain
        return 0.5 * (f @ strain) + 0.5 * (q @ (row.bubble.sum(axis=0) @ q))

    def gravity_energy(self, frames, q, gravity):
        m0, m1, n0, n1 = self._data.row.weight
        return -((m0 * frames[0].o + m1 * frames[1].o + n0 * frames[0].U[:, 0] + n1 * frames[1].U[:, 0]) @ gravity)

    def mass_matrix(self, frames, q=()):
        return self._inertia.masses(*_stacked(frames))[0]

    @cached_property
    def _inertia(self) -> SegmentInertia:
        return SegmentInertia([self])

    def section_motions(self, frames: Sequence[FramePose]) -> np.ndarray:
        """Motion of the sections at the quadrature points.

        Parameters
        ----------
        frames : sequence of FramePose
            Poses of its two frames.

        Returns
        -------
        ndarray, (points, 6, 12 + inner)
            Displacement and rotation of each section along its own axes, by those of both frames along world axes and by the
            internal coordinates.
        """
        return self._inertia.motions(*_stacked(frames))[0]

    def section_poses(self, frames: Sequence[FramePose]) -> list[FramePose]:
        """Poses of the sections at the quadrature points: on the helix between its frames.

        Parameters
        ----------
        frames : sequence of FramePose
            Poses of its two frames.

        Returns
        -------
        list of FramePose
            In the order of :meth:`section_motions`.
        """
        twist, (o, u) = _twist(frames), frames[0]
        steps = (motions.motion(x * twist) for x in beam_shapes.POINTS)
        return [FramePose(o + u @ there, u @ turn) for there, turn in steps]

    def end_of_range(self, frames, memory):
        d, turn = self._data, float(np.linalg.norm(_twist(frames)[3:]))
        gyration = np.sqrt(d.rigidity[:, 4:].max() / d.rigidity[:, 0].min())
        if gyration > d.reach:
            return (
                f"{self.label} has a section with a radius of gyration of {gyration:.3g} m in a beam of {d.reach:g} "
                "m; expected less than the length of the beam; correct its section or length"
            )
        if turn < _NEAR * beams.MOST_TURN:
            return ""
        return (
            f"{self.label} is bent or twisted by {turn:.3g} rad between its ends; expected less than {beams.MOST_TURN:g} rad "
            "within one element; use more elements"
        )

    def check_frames(self, frames):
        raise ModelError(
            f"{self.label}: its ends are rotated by more than {beams.MOST_TURN:g} rad against each other; expected "
            "less than half a turn within one element; use more elements"
        )

    def outline(self, frames):
        twist = _twist(frames)
        points = [frames[0].o + frames[0].U @ motions.motion(x * twist)[0] for x in np.linspace(0.0, 1.0, 5)]
        return Outline(np.array(points), ((0, 1, 2, 3, 4),))


class ShearingSegment(BeamSegment):
    """A :class:`BeamSegment` whose sections shear: two more internal coordinates let them shear inside."""

    coordinate_names = (
        *BeamSegment.coordinate_names,
        *(coordinate(name, domain=GENERALIZED) for name in ("shear_y", "shear_z")),
    )
    resting = coordinate_names
