"""Uniform straight beams between two frames, exact in the frequency domain under their tension, with mass or without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..errors import ModelError
from ..kernels.dynamic_stiffness import MECHANISMS, UniformMember, clamped_count, dynamic_stiffness
from ..kernels.rotations import rotation_matrix
from ..numerics.law_functions import angle_over_sine, rotation_vector
from .base import FramePose, MObject, Outline
from .beam_errors import bent_error, heavy_error, sagging_softness
from .records import GEOMETRIC

_BUCKLING = -(np.pi**2)  # z at which it buckles with both ends clamped
# Limit on the error of frequencies as estimated from how an exact member is bent; measured errors are up to three times as
# large (tests/elements/test_beam_errors.py).
_MOST_ERROR = 0.3
_HAIR = np.finfo(float).eps ** 0.25  # rad: this close to half a turn, second derivatives keep a third of their digits
_ASIDE = np.array(
    [[0.6, 0.8, -0.5], [-0.3, 0.5, 0.7]]
)  # directions of no element, by which each end is turned off half a turn
_LITTLE = 1e-20  # of a stiffness: beside the real axis, where no difference is taken
_SERIES = np.array(
    [1 / 3, -1 / 45, 2 / 945, -1 / 4725, 2 / 93555, -1382 / 638512875, 4 / 18243225, -3617 / 162820783125]
)


def _coth_remainder(z):
    """``g = (sqrt(z) coth sqrt(z) - 1)/z`` and its derivative, smooth through z = 0 (there 1/3) and negative z."""
    if abs(z) < 0.1:
        g = slope = 0.0
        for k in range(len(_SERIES) - 1, -1, -1):
            slope = slope * z + g
            g = g * z + _SERIES[k]
        return g, slope
    if z > 0:
        u = np.sqrt(z)
        g = (u / np.tanh(u) - 1.0) / z
    else:
        u = np.sqrt(-z)
        g = (u / np.tan(u) - 1.0) / z
    return g, (0.5 * (1.0 - g * (1.0 + z * g)) - g) / z


def _third_remainder(z, g):
    """``(1 - 3 g)/z`` of that g, smooth through z = 0 (there 1/15)."""
    if abs(z) >= 0.1:
        return (1.0 - 3.0 * g) / z
    out = 0.0
    for coefficient in _SERIES[:0:-1]:
        out = out * z - 3.0 * coefficient
    return out


def _square(omega: complex) -> float | complex:
    """``omega^2``, real also for growing or fading motions."""
    square = omega * omega
    return square if square.imag else square.real


def _bent(line):
    """Components across x of the angle between x and a unit vector (3,): the angle grows up to pi, unlike its sine."""
    return line * angle_over_sine(line[0])


def _most_turned(planes) -> float:
    """The largest rotation (rad) of an end against the line."""
    return max(float(np.hypot(*(b + sign * s for b, s, *_ in planes))) for sign in (1, -1))


def _beside_half_turns(frames, n):
    """The frames, turned by :data:`_HAIR` where they are half a turn from each other or the line: no way leads back there."""
    axes = [f.U for f in frames]
    cosines = *(u[:, 0] @ n for u in axes), 0.5 * (np.vdot(*axes) - 1.0)
    if min(cosines) > -1.0 + 0.25 * _HAIR**2:
        return frames
    return [FramePose(f.o, f.U @ rotation_matrix(w)) for f, w in zip(frames, _HAIR * _ASIDE, strict=True)]


def _bending(planes, tension, length):
    """Energy of bending at fixed tension, and its derivative by the tension: the shortening of the line."""
    energy = slope = 0.0
    for b, s, ei, slender, shear in planes:
        yielding = 1.0 + tension * shear
        z, z_slope = slender * tension / yielding, slender / yielding**2
        g, g_slope = _coth_remainder(z)
        flexible = g + shear / slender
        energy = energy + 2.0 * ei / length * ((1.0 + z * g) * b**2 + s**2 / flexible)
        slope = slope + 2.0 * ei / length * z_slope * ((g + z * g_slope) * b**2 - g_slope * (s / flexible) ** 2)
    return energy, slope


def _tension(planes, stretch: float, stiffness: float, length: float) -> float:
    """The tension at which stretch and bending together give the distance of the ends; nan beyond buckling."""
    least = max(_BUCKLING / (slender - _BUCKLING * shear) for _, _, _, slender, shear in planes)
    low = max(stiffness * stretch, least * (1.0 - 1e-9))

    def misfit(tension):
        return stretch + _bending(planes, tension, length)[1] - tension / stiffness

    at_low = misfit(low)
    if not at_low > 0.0:
        return low if stiffness * stretch > least * (1.0 - 1e-9) else np.nan
    high = low + stiffness * at_low
    # more tension means less shortening, so there is no solution beyond; with little bending, rounding closes the bracket
    if not misfit(high) < 0.0:
        return high
    from scipy.optimize import brentq  # imported here, since importing mse should not wait for it

    return brentq(misfit, low, high, xtol=1e-14 * abs(low) + 1e-300, rtol=1e-15, maxiter=500)


def _tension_and_slope(stretch: float, stiffness: float, length: float, *planes: float) -> tuple[float, float]:
    """The tension of :func:`_tension`, and the slope of the misfit by it."""
    planes = np.reshape(planes, (2, 5)).tolist()
    tension = _tension(planes, stretch, stiffness, length)
    step = 1e-5 * (abs(tension) + 1.0 / max(slender for _, _, _, slender, _ in planes))  # relative to z, or to 1
    slopes = [_bending(planes, tension + sign * step, length)[1] for sign in (1, -1)]
    return tension, (slopes[0] - slopes[1]) / (2 * step) - 1.0 / stiffness


class StraightSegment(MObject):
    """``W = max over T of T (c - L) - T^2 L/2EA + sum of k_e(T) b^2 + k_o(T) s^2 + GJ w^2/2L``, c the distance of its ends.

    In each plane b and s are half the difference and half the sum of the end rotations against the line between the ends,
    which are angles: they grow up to half a turn, so that no end comes to rest backwards.
    With ``z = T L c/4EI`` and ``p = sqrt(z) coth sqrt(z)``: ``k_e = 2EI/L p``, ``k_o = 2EI/L z/(p - 1)`` (statics of
    ``EI w'''' = T w''``); with shear z is divided by ``1 + T/kGA``, and s gains the flexibility of ``4EI/kGA L^2``.
    Rotations against that line are small, the line itself turns by any angle.  T is the mean tension.
    """

    mechanisms = ()  # the beam has its loss
    _remembered = frozenset({"_known", "_last"})

    def __init__(self, name: str, length: float, rigidity: np.ndarray, density: np.ndarray):
        super().__init__(name)
        self._length, self._rigidity, self._density = float(length), rigidity, density

    def span(self):
        return self._length

    # -- statics ----------------------------------------------------------------------------------------------
    def _planes(self, frames, n, distance):
        """(b, s, E I, z/T, 1/kGA) for bending about y and about z, n being the direction of the line.

        When stretched, it keeps the stiffness of its ends at rest, 2 E I/L, so the stiffness per length grows with the length.
        """
        _, gay, gaz, _, eiy, eiz = self._rigidity
        first, second = (_bent(f.U.T @ n) for f in frames)
        for axis, ei, shear in ((2, eiy, gaz), (1, eiz, gay)):
            half = (first[axis] - second[axis]) / 2, (first[axis] + second[axis]) / 2
            yield *half, ei, 0.25 * self._length * distance / ei, (1.0 / shear) * self._length / distance

    def _shaped(self, frames):
        """Stretch, direction of the line, planes and tension at the poses of its ends, the tension to second order."""
        known = vars(self).get("_last")
        if known is None or known[0] is not frames:
            known = self._last = frames, *self._found_shape(frames)
        return known[1:]

    def _found_shape(self, frames):
        d = frames[1].o - frames[0].o
        distance = np.sqrt(d @ d)
        n = d / distance
        planes = list(self._planes(_beside_half_turns(frames, n), n, distance))
        stretch, stiffness = distance - self._length, self._rigidity[0] / self._length
        from ..numerics.recorder import Recorded, outside  # imported here, since importing mse should not wait for it

        numbers = (x for plane in planes for x in plane)
        tension, slope = outside(_tension_and_slope, 2, stretch, stiffness, self._length, *numbers)
        for _ in range(2 if isinstance(stretch, Recorded) else 0):
            misfit = stretch + _bending(planes, tension, self._length)[1] - tension / stiffness
            tension = tension - misfit / slope
        return stretch, n, planes, tension

    def energy(self, frames, q):
        stretch, n, planes, tension = self._shaped(frames)
        bending, _ = _bending(planes, tension, self._length)
        frames = _beside_half_turns(frames, n)
        twist = rotation_vector(frames[1].U @ frames[0].U.T) @ n
        return (
            tension * stretch
            - 0.5 * tension**2 * self._length / self._rigidity[0]
            + bending
            + 0.5 * self._rigidity[3] / self._length * twist**2
        )

    def gravity_energy(self, frames, q, gravity):
        """Its weight W in the bent form: half at each end, ``W L g/2 b`` across and ``W L/8 (g + (1 - 3 g)/(z g)) b s`` along it.

        Across, these are the moments of a clamped beam under tension, with ``g = (p - 1)/z``.  Along, the tension changes by W
        from end to end; its energy is ``1/2 int (N - T) w'^2 dx`` for the shape w under the mean tension.
        """
        weight, length = self._density[0] * self._length, self._length
        energy = -0.5 * weight * ((frames[0].o + frames[1].o) @ gravity)
        if not weight:
            return energy
        _, n, planes, tension = self._shaped(frames)
        pull = n @ gravity
        for axis, (b, s, _, slender, shear) in zip((2, 1), planes, strict=True):
            z = slender * tension / (1.0 + tension * shear)
            g, _ = _coth_remainder(z)
            side = 0.5 * (frames[0].U[:, axis] + frames[1].U[:, axis])
            across = side @ gravity - (side @ n) * pull
            along = 0.125 * (g + _third_remainder(z, g) / g) * pull * s
            energy = energy + weight * length * b * (0.5 * g * across + along)
        return energy

    def bent_softness(self, planes, tension: float) -> float:
        """Compliance of the line by straightening relative to that by stretching: ``-EA/L d2 W_bending/dT^2``."""
        step = 1e-4 * (abs(tension) + 1.0 / max(slender for _, _, _, slender, _ in planes))
        slopes = [_bending(planes, tension + sign * step, self._length)[1] for sign in (1, -1)]
        return float(max(slopes[1] - slopes[0], 0.0) / (2 * step) * self._rigidity[0] / self._length)

    def errors(self, frames: Sequence[FramePose], gravity: np.ndarray) -> tuple[float, float, float]:
        """Estimated errors of the exact form, see :func:`mse.elements.beam_errors.bent_error` and ``heavy_error``.

        Parameters
        ----------
        frames : sequence of FramePose
            Poses of its two frames.
        gravity : ndarray, (3,), m/s2
            Gravity.

        Returns
        -------
        tuple of float
            Largest turn (rad) of an end against the line, relative error of frequencies as it is bent, and by its weight.
        """
        _, n, planes, tension = self._shaped(frames)
        turned = _most_turned(planes)
        weight, length = self._density[0] * self._length, self._length
        along, softness = float(n @ gravity), self.bent_softness(planes, tension)
        across = weight / length * float(np.linalg.norm(gravity - along * n))
        softness += sagging_softness(across, length, self._rigidity[0], min(self._rigidity[4:]), tension)
        heavy = heavy_error(weight * along, length, min(self._rigidity[4:]), tension)
        return turned, bent_error(softness, turned), heavy

    def check_frames(self, frames):
        gap = float(np.linalg.norm(frames[1].o - frames[0].o))
        raise ModelError(
            f"{self.label}: its ends are {gap:.6g} m apart, so it is compressed beyond its buckling load; expected "
            f"close to its length of {self._length:g} m; choose form='elements', or pull it"
        )

    # -- dynamics ---------------------------------------------------------------------------------------------
    def _member(self, frames) -> tuple[UniformMember, np.ndarray, np.ndarray]:
        """The member under its present tension, its axes and its static stiffness in them, both (12, 12)."""
        known = vars(self).get("_known")
        if known is None or known[0] is not frames:
            known = self._known = frames, *self._found(frames)
        return known[1:]

    def _found(self, frames) -> tuple[UniformMember, np.ndarray, np.ndarray]:
        d = frames[1].o - frames[0].o
        distance = float(np.linalg.norm(d))
        x = d / distance
        y = sum(f.U[:, 1] - (f.U[:, 1] @ x) * x for f in frames)
        y /= np.linalg.norm(y)
        turn = np.array([x, y, np.cross(x, y)])
        _, _, _, tension = self._shaped(frames)
        # stretched, it keeps its mass and the static stiffness of its ends
        ea, gay, gaz, gj, eiy, eiz = (float(v) * distance / self._length for v in self._rigidity)
        mass, _, _, ix, iy, iz = (float(v) * self._length / distance for v in self._density)
        member = UniformMember(distance, ea, gj, eiy, eiz, gay, gaz, tension, mass, ix, iy, iz)
        return member, np.kron(np.eye(4), turn), dynamic_stiffness(0.0, member)

    def section_motions(self, frames: Sequence[FramePose], omega2: float, pieces: int) -> np.ndarray:
        """Motion of the sections that divide it into equal pieces, as its ends move at one frequency.

        Parameters
        ----------
        frames : sequence of FramePose
            Poses of its two frames.
        omega2 : float, rad2/s2
            Square of the angular frequency.
        pieces : int
            Number of pieces.

        Returns
        -------
        ndarray, (pieces - 1, 6, 12)
            Displacement and rotation of each section by those of both frames, along world axes.
        """
        member, axes, _ = self._member(frames)
        piece = dynamic_stiffness(omega2, replace(member, length=member.length / pieces))
        size = 6 * (pieces + 1)
        whole = np.zeros((size, size))
        for k in range(0, size - 6, 6):
            whole[k : k + 12, k : k + 12] += piece
        inner, ends = np.arange(6, size - 6), np.r_[0:6, size - 6 : size]
        moved = np.linalg.solve(whole[np.ix_(inner, inner)], -whole[np.ix_(inner, ends)])
        return axes[:6, :6].T @ moved.reshape(pieces - 1, 6, 12) @ axes

    def outline(self, frames):
        return Outline(np.array([f.o for f in frames]), ((0, 1),))


class ExactSegment(StraightSegment):
    """A :class:`StraightSegment` with mass along it: exact at every frequency, by its dynamic stiffness."""

    dynamic_losses = MECHANISMS

    def dynamic_stiffness(self, omega, frames, loss: Mapping[str, float] | None = None):
        member, axes, static = self._member(frames)
        member = member.with_loss(loss or {})
        # the change along its own axes: of much stiffer ones rounding would be left in others
        change = np.array([dynamic_stiffness(_square(w), member) - static for w in np.ravel(omega)])
        change = axes.T @ change.reshape(-1, 12, 12) @ axes
        return change if np.ndim(omega) else change[0]

    def _found(self, frames):
        self._refuse_bent(frames)
        return super()._found(frames)

    def _refuse_bent(self, frames: Sequence[FramePose]) -> None:
        _, _, planes, tension = self._shaped(frames)
        turned = _most_turned(planes)
        if (error := bent_error(self.bent_softness(planes, tension), turned)) > _MOST_ERROR:
            raise ModelError(
                f"{self.label}: its ends are rotated by {turned:.2g} rad against the line between them, by which frequencies may "
                f"be off by {100 * error:.2g} %; expected at most {100 * _MOST_ERROR:g} % in the exact form, which is that of a "
                "nearly straight beam; clamp it along its pull, or choose form='elements'"
            )

    def clamped_count(self, omega2, frames):
        return clamped_count(omega2, self._member(frames)[0])


class MasslessSegment(StraightSegment):
    """A :class:`StraightSegment` without mass: constant stiffness ``K = sum of k dK/dk + geometric``, for k = EA, GJ, EI, kGA.

    At fixed tension the parts ``k dK/dk`` are the second derivatives of the energies of stretch, twist, bending and shear at the
    shape that the beam takes (the envelope theorem), which its loss factors multiply; what is left stores energy without loss.
    They are those of a straight beam.  Without mass, straightening takes no time, so a bent one is no exception.
    """

    parts = (*MECHANISMS, GEOMETRIC)
    mechanisms = ()  # the beam has its loss

    def elastic_parts(self, frames):
        member, axes, _ = self._member(frames)
        # exact derivatives: the slope of an analytic function is its imaginary part beside the real axis
        beside = (dynamic_stiffness(0.0, member.with_loss({m: _LITTLE})) for m in MECHANISMS)
        return axes.T @ np.array([np.imag(k) / _LITTLE for k in beside]) @ axes
