"""Exact dynamic stiffness of a uniform straight member under tension, and the count of its clamped natural frequencies.

Motions go as exp(i w t); everything depends only on ``omega2 = w^2`` (rad2/s2), which may be negative: motions that grow
or fade as exp(s t) have ``omega2 = -s^2``.

A uniform member is its own mirror image, so its end motions split into those even and odd about its middle.  Each is a
problem of half the length h = L/2 with the solutions cosh(p x) and sinh(p x)/p.  Bending has two roots s = p^2 of

    ``s^2 - a s - b = 0``,    EI a = T/e1 - rhoI w^2 - EI e0/e1,    EI b = rhoA w^2 f0/e1,
    e1 = 1 + T/kGA,  e0 = rhoA w^2/kGA,  f0 = 1 - rhoI w^2/kGA,  f1 = EI/kGA

(Euler-Bernoulli: e1 = f0 = 1, e0 = f1 = 0, rhoI = 0).  The stiffness needs only four functions, which are symmetric in the
roots and entire in a and b: with c = cosh(p h) and g = sinh(p h)/p,

    ``c1 c2``,  ``g1 g2``,  ``even = (s1 g1 c2 - s2 g2 c1)/(s1 - s2)``,  ``odd = (g1 c2 - g2 c1)/(s1 - s2)``.

Only these differences can cancel.  They are formed from the roots or from their half sums, whichever are apart, or as power
series if all are small.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

Number = float | complex

_SERIES = 4.0  # |s| L^2 up to which the power series are used
_TERMS = 18  # enough terms for full precision there
_APART = 0.1  # relative distance from which two roots count as apart
_MOST_HALVINGS = 60
_REMEMBERED = 4096  # results kept: round sections, pieces in series and counts ask for the same values again

# stiffnesses that a loss factor makes complex, by mechanism
_LOSSY = {
    "axial": ("axial",),
    "torsion": ("torsion",),
    "bending_y": ("bending_y",),
    "bending_z": ("bending_z",),
    "shear": ("shear_y", "shear_z"),
}
MECHANISMS = tuple(_LOSSY)


@dataclass(frozen=True)
class UniformMember:
    """A straight uniform member with x along it, under a uniform axial force.

    ``length`` m; ``axial`` E A (N), ``torsion`` G J, ``bending_y`` and ``bending_z`` E I about y and z (N m2), ``shear_y``
    and ``shear_z`` k G A (N) for motion along y and z, inf (or 0) for none, which makes that plane Euler-Bernoulli;
    ``tension`` N, negative for compression; ``mass`` rho A (kg/m), ``inertia_x`` rho Ip, ``inertia_y`` and ``inertia_z``
    rho I about y and z (kg m), which only planes with shear feel.
    """

    length: float
    axial: Number
    torsion: Number
    bending_y: Number
    bending_z: Number
    shear_y: Number
    shear_z: Number
    tension: float
    mass: float
    inertia_x: float
    inertia_y: float
    inertia_z: float

    def with_loss(self, loss: Mapping[str, Number]) -> UniformMember:
        """The member with stiffnesses times ``1 + i eta``, eta by mechanism (axial, torsion, bending_y, bending_z, shear).

        eta is complex where a law of loss changes the modulus, too.  Tension is no elastic stiffness and stays real.
        """
        lossy = {
            name: getattr(self, name) * (1.0 + 1j * eta)
            for mechanism, eta in loss.items()
            for name in _LOSSY[mechanism]
            if eta and not _rigid(getattr(self, name))
        }
        return replace(self, **lossy) if lossy else self

    @property
    def planes(self) -> tuple[Plane, Plane]:
        """Bending with motion along y, then along z."""
        common = self.length, self.tension, self.mass
        return (
            Plane(*common, self.bending_z, self.shear_y, self.inertia_z),
            Plane(*common, self.bending_y, self.shear_z, self.inertia_y),
        )


class Plane(NamedTuple):
    """Parameters of bending in one plane: length, tension, rho A, E I, k G A (inf or 0 for no shear) and rho I."""

    length: float
    tension: float
    mass: float
    bending: Number
    shear: Number
    inertia: float


class EndStiffness(NamedTuple):
    """Force and moment at the end x = +h by its deflection and rotation, for motions of one symmetry about x = 0."""

    force: Number  # by deflection, N/m
    mixed: Number  # force by rotation and moment by deflection, N
    moment: Number  # by rotation, N m


def _rigid(shear: Number) -> bool:
    return shear == 0 or math.isinf(abs(shear))


def dynamic_stiffness(omega2: Number, member: UniformMember) -> np.ndarray:
    """End forces by end displacements (ux, uy, uz, ax, ay, az) of end 0, then of end 1; symmetric (12, 12).

    Real for a member without loss and real ``omega2``, else complex.  Rotations are right-handed: az = dv/dx, ay = -dw/dx.
    """
    rod = bar_stiffness(omega2, member.length, member.axial, member.mass)
    shaft = bar_stiffness(omega2, member.length, member.torsion, member.inertia_x)
    along_y, along_z = (bending_stiffness(omega2, p) for p in member.planes)
    blocks = (rod, shaft, along_y, along_z)
    out = np.zeros((12, 12), dtype=np.result_type(*blocks))
    for block, (at, sign) in zip(blocks, _PLACES, strict=True):
        out[np.ix_(at, at)] = block * np.outer(sign, sign)
    return out


_PLACES = (
    ((0, 6), (1, 1)),
    ((3, 9), (1, 1)),
    ((1, 5, 7, 11), (1, 1, 1, 1)),
    ((2, 4, 8, 10), (1, -1, 1, -1)),
)


# -- stretching and twisting ----------------------------------------------------------------------------------------
def bar_stiffness(omega2: Number, length: float, stiffness: Number, inertia: float) -> np.ndarray:
    """``EA u'' + rhoA w^2 u = 0`` between its two ends, or ``GJ a'' + rhoIp w^2 a = 0``; (2, 2), N/m or N m.

    ``EA k cot kL`` on the diagonal and ``-EA k / sin kL`` off it, by their even and odd parts.
    """
    load = inertia * omega2
    h = 0.5 * length
    c, g = _cosh_and_sinh(cmath.sqrt(-load / stiffness), h)
    even, odd = -load * _ratio(g, c), stiffness * _ratio(c, g)
    if not isinstance(load / stiffness, complex):
        even, odd = even.real, odd.real
    return 0.5 * np.array([[odd + even, even - odd], [even - odd, odd + even]])


def _ratio(a: Number, b: Number) -> Number:
    """a/b, finite (though huge) at a pole."""
    return a / (b or 1e-16 * abs(a))


def _cosh_and_sinh(p: complex, h: float, rate: float | None = None) -> tuple[complex, complex]:
    """``cosh(p h)`` and ``sinh(p h)/p``, both times exp(-rate h); rate >= |Re p|, which is the default."""
    rate = abs(p.real) if rate is None else rate
    z = p * h
    if abs(z.real) < 1.0:
        damp = math.exp(-rate * h)
        return cmath.cosh(z) * damp, (cmath.sinh(z) / p if z else h) * damp
    up, down = cmath.exp(z - rate * h), cmath.exp(-z - rate * h)
    return 0.5 * (up + down), 0.5 * (up - down) / p


# -- bending ----------------------------------------------------------------------------------------------------------
def bending_stiffness(omega2: Number, plane: Plane) -> np.ndarray:
    """``D (w0, phi0, w1, phi1)``, the end forces and moments of bending in one plane; (4, 4), phi positive as dw/dx.

    Euler-Bernoulli ``EI w'''' - T w'' - rhoA w^2 w = 0`` with shear force ``T w' - EI w'''``, or with shear
    ``(kGA (w' - phi) + T w')' + rhoA w^2 w = 0``, ``EI phi'' + kGA (w' - phi) + rhoI w^2 phi = 0``: S. Timoshenko,
    Phil. Mag. 41 (1921) 744, with the tension after F. Engesser, Zentralbl. Bauverw. 11 (1891) 483; stiffness of this form:
    W. P. Howson, F. W. Williams, J. Sound Vib. 26 (1973) 503.
    """
    even, odd = even_and_odd(omega2, plane)
    f, m, r = even.force + odd.force, even.mixed + odd.mixed, even.moment + odd.moment
    df, dm, dr = even.force - odd.force, even.mixed - odd.mixed, odd.moment - even.moment
    return 0.5 * np.array([[f, -m, df, dm], [-m, r, -dm, dr], [df, -dm, f, m], [dm, dr, m, r]])


@lru_cache(maxsize=_REMEMBERED)
def even_and_odd(omega2: Number, plane: Plane) -> tuple[EndStiffness, EndStiffness]:
    """Stiffness at the end x = +h for deflections even and odd about the middle of the member."""
    length, tension, mass, bending, shear, inertia = plane
    load = mass * omega2
    if _rigid(shear):
        e0, e1, f0, f1, a = 0.0, 1.0, 1.0, 0.0, tension / bending
    else:
        e0, e1 = load / shear, 1.0 + tension / shear
        f0, f1 = 1.0 - inertia * omega2 / shear, bending / shear
        a = (tension / e1 - inertia * omega2) / bending - load / (shear * e1)
    cc, gg, even, odd = symmetric_functions(a, load * f0 / (e1 * bending), length)
    nu, mu = e1 * even + e0 * odd, f0 * odd - f1 * even
    nu, mu = nu or 1e-16 * abs(e1 * cc * length), mu or 1e-16 * abs(f0 * gg * length)
    return (
        EndStiffness(-load * e1 * gg / nu, -load * odd / nu, bending * e1 * cc / nu),
        EndStiffness(-bending * e1 * cc / mu, bending * even / mu, -bending * f0 * gg / mu),
    )


def symmetric_functions(a: Number, b: Number, length: float) -> tuple[Number, Number, Number, Number]:
    """``c1 c2, g1 g2, even, odd`` of the module docstring, all times one positive factor that keeps them finite."""
    half = cmath.sqrt(0.25 * a * a + b)
    s1 = max(0.5 * a + half, 0.5 * a - half, key=abs)
    s2 = -b / s1 if s1 else 0.0
    if abs(s1) * length**2 <= _SERIES:
        return _by_series(a, b, length)
    found = _by_roots if abs(s1 - s2) > _APART * abs(s1) else _by_half_sums
    values = found(s1, s2, length)
    return values if isinstance(a, complex) or isinstance(b, complex) else tuple(v.real for v in values)


def _by_roots(s1: complex, s2: complex, length: float):
    (c1, g1), (c2, g2) = (_cosh_and_sinh(cmath.sqrt(s), 0.5 * length) for s in (s1, s2))
    gap = s1 - s2
    return c1 * c2, g1 * g2, (s1 * g1 * c2 - s2 * g2 * c1) / gap, (g1 * c2 - g2 * c1) / gap


def _by_half_sums(s1: complex, s2: complex, length: float):
    """The same in u, v = (p1 +- p2)/2: ``c1 c2 = (cosh uL + cosh vL)/2``, ``g1 g2 = (cosh uL - cosh vL)/(2 (u^2 - v^2))``,
    ``even = (G(u) + G(v))/4``, ``odd = (G(v) - G(u))/(4 (u^2 - v^2))`` with ``G(u) = sinh(uL)/u``."""
    p1, p2 = cmath.sqrt(s1), cmath.sqrt(s2)
    u = max(0.5 * (p1 + p2), 0.5 * (p1 - p2), key=abs)
    v = 0.25 * (s1 - s2) / u
    rate = max(abs(u.real), abs(v.real))
    (cu, gu), (cv, gv) = (_cosh_and_sinh(p, length, rate) for p in (u, v))
    gap = u * u - v * v
    return 0.5 * (cu + cv), 0.5 * (cu - cv) / gap, 0.25 * (gu + gv), 0.25 * (gv - gu) / gap


def _by_series(a: Number, b: Number, length: float):
    """The formulas of :func:`_by_half_sums` as power series in ``u^2 + v^2 = a/2`` and ``(u v)^2 = a^2/16 + b/4``.

    Power sums and complete homogeneous sums of two numbers both follow ``t_k = (x + y) t_{k-1} - x y t_{k-2}``.
    """
    l2 = length**2
    total, product = 0.5 * a * l2, (0.0625 * a * a + 0.25 * b) * l2 * l2
    power, power_before = total, 2.0
    whole, whole_before = 1.0, 0.0
    factorial = 1.0
    cc, gg, even, odd = 2.0, 0.0, 2.0, 0.0
    for k in range(1, _TERMS):
        factorial *= (2 * k - 1) * (2 * k)
        cc += power / factorial
        gg += whole / factorial
        even += power / (factorial * (2 * k + 1))
        odd -= whole / (factorial * (2 * k + 1))
        power, power_before = total * power - product * power_before, power
        whole, whole_before = total * whole - product * whole_before, whole
    return 0.5 * cc, 0.5 * gg * l2, 0.25 * even * length, 0.25 * odd * l2 * length


# -- clamped natural frequencies --------------------------------------------------------------------------------------
def clamped_count(omega2: float, member: UniformMember) -> int:
    """Number of natural frequencies below ``sqrt(omega2)`` with both ends clamped, for a member without loss.

    W. H. Wittrick, F. W. Williams, Q. J. Mech. Appl. Math. 24 (1971) 263.
    """
    return (
        _bar_count(omega2, member.length, member.axial, member.mass)
        + _bar_count(omega2, member.length, member.torsion, member.inertia_x)
        + sum(_bending_count(omega2, p) for p in member.planes)
    )


def _bar_count(omega2: float, length: float, stiffness: float, inertia: float) -> int:
    """``w = n pi sqrt(EA/rhoA)/L``."""
    waves = length * math.sqrt(max(omega2, 0.0) * inertia / stiffness) / math.pi
    return max(math.ceil(waves) - 1, 0)


@lru_cache(maxsize=_REMEMBERED)
def _bending_count(omega2: float, plane: Plane) -> int:
    """``J0(2 l) = 2 J0(l) + s(l)``, s the number of negative eigenvalues at the node between two pieces of length l."""
    halvings = 0
    while halvings < _MOST_HALVINGS and not _surely_below_first(
        omega2, plane._replace(length=plane.length / 2**halvings)
    ):
        halvings += 1
    count = 0
    for k in range(halvings, 0, -1):
        even, odd = even_and_odd(omega2, plane._replace(length=plane.length / 2**k))
        # by symmetry, deflection and rotation of the node are uncoupled; the count may exceed NumPy's integers
        count = 2 * count + int(even.force + odd.force < 0) + int(even.moment + odd.moment < 0)
    return count


def _surely_below_first(omega2: float, plane: Plane) -> bool:
    """Whether Rayleigh quotients bound the lowest clamped natural frequency from below by more than ``omega2``.

    With clamped ends ``int w''^2 >= (4.73/l)^4 int w^2`` and ``>= (2 pi/l)^2 int w'^2``, ``int w'^2 >= (pi/l)^2 int w^2``.
    With shear ``int EI phi'^2 + kGA (w' - phi)^2 >= int w'^2 / (1/kGA + l^2/(pi^2 EI))``; half of it is used for w', and half of
    the bending for phi.
    """
    length, tension, mass, bending, shear, inertia = plane
    across = (math.pi / length) ** 2
    if _rigid(shear):
        left = 1.0 + min(tension, 0.0) / (4.0 * across * bending)
        return mass * omega2 < 500.0 * left * bending / length**4 + max(tension, 0.0) * across and left > 0.0
    slope = 1.0 / (1.0 / shear + 1.0 / (across * bending))
    return mass * omega2 < (0.5 * slope + tension) * across and inertia * omega2 < 0.5 * bending * across
