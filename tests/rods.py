"""Reference solutions for rods and beams, on numpy and scipy alone: closed forms, series, Galerkin and shooting.

SI units. Rods run along s from 0 to length with local axes x (tangent), y, z; a rectangle has its width along y
and its height along z, so I_y = width height^3/12 resists motion in z and I_z = height width^3/12 motion in y.
Frequencies are in Hz. Nothing here knows of the package under test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev, legendre
from scipy.integrate import solve_ivp
from scipy.linalg import block_diag, eigh
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from scipy.special import ellipeinc, ellipj, elliprd, elliprf, expit, jv, zeta

TIGHT = {"xtol": 1e-300, "rtol": 4 * np.finfo(float).eps}


# -- elastica -----------------------------------------------------------------------------------------------------
def elastica_cantilever(alpha: float) -> tuple[float, float, float]:
    """``theta'' + alpha cos(theta) = 0, theta(0) = 0, theta'(1) = 0``: tip (x, y, angle) under a dead force +y.

    Bisshopp and Drucker, Quart. Appl. Math. 3 (1945) 272, with S = sin(tip angle) as the unknown, and the complement
    K(k) - F(phi0, k) turned by the addition theorem into sqrt(alpha) = F(psi, k), k^2 = (1 + S)/2,
    tan(psi)^2 = 2 S/(1 - S), written in Carlson's R_F (DLMF 19.25.5) so that nothing cancels for small alpha;
    x = sqrt(2 S/alpha) is the moment at the clamp, y = S - int theta'^2/(2 alpha) ds the first integral, by R_D.
    """
    if alpha == 0.0:
        return 1.0, 0.0, 0.0
    size = abs(alpha)

    def parts(v):
        up, down = float(expit(v)), float(expit(-v))  # S and 1 - S, both to full relative precision
        return up, down, math.sqrt(2 * up / (1 + up)), down / (1 + up)  # S, 1 - S, sin(psi), cos(psi)^2

    def excess(v):
        _, down, sine, cos2 = parts(v)
        return math.log(sine * elliprf(cos2, down, 1.0)) - 0.5 * math.log(size)

    up, down, sine, cos2 = parts(brentq(excess, -600.0, 600.0, **TIGHT))
    angle = math.atan2(up, math.sqrt(down * (1 + up)))
    y = up - down * (1 + up) * sine**3 * float(elliprd(cos2, 1.0, down)) / (6 * math.sqrt(size))
    return math.sqrt(2 * up / size), math.copysign(y, alpha), math.copysign(angle, alpha)


def elastica_follower(alpha: float) -> tuple[float, float, float]:
    """``phi'' = alpha cos(phi), phi = phi' = 0 at the tip``: tip (x, y, angle), the force staying normal to the tip.

    phi is the angle from the section to the tip, counted in arc length from the tip: a pendulum let go at the
    horizontal, so the modulus is 1/sqrt(2) for every load and the tip angle is single valued (no critical load):
    sin(phi) = sd(w)^2/2, cos(phi) = cn(w)/dn(w)^2, w = sqrt(alpha). Frisch-Fay, Flexible Bars (1962), on follower
    loads; integral of sd^2 by DLMF 22.16(ii).
    """
    if alpha == 0.0:
        return 1.0, 0.0, 0.0
    w = math.sqrt(abs(alpha))
    sn, cn, dn, am = (float(v) for v in ellipj(w, 0.5))
    angle = math.atan2(0.5 * (sn / dn) ** 2, cn / dn**2)
    along = sn / dn / w  # from clamp to tip, along the tip tangent
    across = 2.0 * (float(ellipeinc(am, 0.5)) - 0.5 * w - 0.5 * sn * cn / dn) / w  # and against the force
    x = math.cos(angle) * along + math.sin(angle) * across
    y = math.sin(angle) * along - math.cos(angle) * across
    return x, math.copysign(1.0, alpha) * y, math.copysign(angle, alpha)


# -- sections and tapered cantilevers -----------------------------------------------------------------------------
def saint_venant_torsion(width, height):
    """``J = k1 a b^3, tau_max = T/(k2 a b^2)`` of a rectangle of sides a >= b: returns (J, k2), also for arrays.

    Timoshenko and Goodier, Theory of Elasticity (3rd ed.), art. 109: k1 = (1 - 192 b/(pi^5 a) sum tanh(n pi a/2b)/n^5)
    / 3, k2 = k1/(1 - 8/pi^2 sum 1/(n^2 cosh(n pi a/2b))), n odd. Here sum 1/n^5 = 31/32 zeta(5) is taken out and the
    rest falls like exp(-n pi a/b). tau_max is at the middle of the long side.
    """
    a, b = np.maximum(width, height), np.minimum(width, height)
    n = np.arange(1, 30, 2)
    x = np.multiply.outer(a / b, 0.5 * np.pi * n)
    decay = np.exp(-2 * x)
    tanh_sum = 31 / 32 * zeta(5) - np.sum(2 * decay / (1 + decay) / n**5.0, axis=-1)
    k1 = (1 - 192 / np.pi**5 * b / a * tanh_sum) / 3
    k = 1 - 8 / np.pi**2 * np.sum(2 * np.exp(-x) / (1 + decay) / n**2.0, axis=-1)
    out = k1 * a * b**3, k1 / k
    return out if np.ndim(out[0]) else (float(out[0]), float(out[1]))


def _section(width, height, length, E, nu, rho, kappa, points=80):
    """Gauss points and weights on (0, length) and the stiffnesses and inertias of the local rectangle there."""
    x, weight = legendre.leggauss(points)
    w, h = (v[0] + (v[1] - v[0]) * 0.5 * (1 + x) for v in (width, height))
    G = E / (2 * (1 + nu))
    stiff = {"y": E * h * w**3 / 12, "z": E * w * h**3 / 12, "axial": E * w * h, "shear": kappa * G * w * h}
    stiff["torsion"] = G * saint_venant_torsion(w, h)[0]
    inertia = {"y": rho * h * w**3 / 12, "z": rho * w * h**3 / 12, "axial": rho * w * h}
    inertia["torsion"] = inertia["y"] + inertia["z"]
    return x, 0.5 * length * weight, stiff, inertia


def _bases(x, length, order):
    """Legendre polynomials at x in (-1, 1) and their once and twice repeated integrals over s from the clamp."""
    c = np.eye(order)
    integrals = [legendre.legint(c, m, lbnd=-1, scl=0.5 * length) if m else c for m in range(3)]
    return [legendre.legval(x, v).T for v in integrals]


def _frequencies(K, M, count):
    """Hz of ``K u = omega^2 M u`` with K well conditioned: the greatest eigenvalues of K^-1 M are exact to rounding."""
    inverse = eigh(M, K, eigvals_only=True)[::-1][:count]
    return 1 / (2 * np.pi * np.sqrt(inverse))


def tapered_frequencies(width, height, length, E, nu, rho, kappa=5 / 6, theory="timoshenko", count=5, order=60):
    """``(k u')' + omega^2 m u = 0`` and Timoshenko's pair, clamped-free: dict of arrays "y", "z", "axial", "torsion".

    width and height are pairs (at the clamp, at the tip), linear between; "y" and "z" name the direction of motion.
    Timoshenko: (kappa G A (w' - psi))' + omega^2 rho A w = 0, (E I psi')' + kappa G A (w' - psi) + omega^2 rho I psi
    = 0 (Weaver, Timoshenko and Young, Vibration Problems in Engineering, 5th ed., ch. 5; Han, Benaroya and Wei,
    J. Sound Vib. 225 (1999) 935). "euler-bernoulli" has neither shear nor rotary inertia. Torsion: G J(s) of the
    local rectangle by Saint-Venant and rho (I_y + I_z). Galerkin on the strains (curvature and shear are Legendre
    series, displacements their integrals from the clamp), so there is no locking and K is near diagonal;
    order 60 serves tapers to a fiftieth.
    """
    x, weight, stiff, inertia = _section(width, height, length, E, nu, rho, kappa, 2 * order)
    P, once, twice = _bases(x, length, order)
    form = lambda u, k, v: (u * (weight * k)[:, None]).T @ v
    out = {}
    for name in ("y", "z"):
        if theory == "euler-bernoulli":
            K, M = form(P, stiff[name], P), form(twice, inertia["axial"], twice)
        else:
            w, psi = np.hstack([twice, once]), np.hstack([once, np.zeros_like(once)])
            K = block_diag(form(P, stiff[name], P), form(P, stiff["shear"], P))
            M = form(w, inertia["axial"], w) + form(psi, inertia[name], psi)
        out[name] = _frequencies(K, M, count)
    for name in ("axial", "torsion"):
        out[name] = _frequencies(form(P, stiff[name], P), form(once, inertia[name], once), count)
    return out


def tapered_tip(
    width, height, length, E, nu, rho, kappa=5 / 6, theory="timoshenko", plane="z", force=0.0, moment=0.0, gravity=0.0
):
    """``w(L) = int M (L - s)/EI + V/(kappa G A) ds, psi(L) = int M/EI ds``: tip (deflection, rotation), linear theory.

    Mohr's integrals by Gauss quadrature (Timoshenko, Strength of Materials I, on the unit load method); force at the
    tip along the plane's axis, moment in the sense that deflects the same way, and the weight rho A gravity likewise.
    The rotation is the section's and counts positive where it equals dw/ds without shear.
    """
    x, weight, stiff, inertia = _section(width, height, length, E, nu, rho, kappa)
    arm = 0.5 * length * (1 - x)
    area = legendre.legfit(x, inertia["axial"] * gravity, 2)
    shear = force - legendre.legval(x, legendre.legint(area, 1, lbnd=1, scl=0.5 * length))
    bending = moment + force * arm + legendre.legval(x, legendre.legint(area, 2, lbnd=1, scl=0.5 * length))
    flexible = 0.0 if theory == "euler-bernoulli" else float(weight @ (shear / stiff["shear"]))
    return float(weight @ (bending * arm / stiff[plane])) + flexible, float(weight @ (bending / stiff[plane]))


def tapered_axial_tip(width, height, length, E, nu, rho, force=0.0, torque=0.0, gravity=0.0):
    """``u(L) = int N/EA ds, phi(L) = int T/GJ ds``: tip (stretch, twist) under force, torque and weight along s."""
    x, weight, stiff, inertia = _section(width, height, length, E, nu, rho, 1.0)
    mass = legendre.legint(legendre.legfit(x, inertia["axial"], 2), 1, lbnd=1, scl=0.5 * length)
    normal = force - gravity * legendre.legval(x, mass)
    return float(weight @ (normal / stiff["axial"])), float(weight @ (torque / stiff["torsion"]))


# -- buckling -----------------------------------------------------------------------------------------------------
def euler_buckling(EI: float, length: float, ends: str = "clamped-free") -> float:
    """``P = (x/L)^2 EI`` with cos x = 0, sin x = 0, tan x = x, sin(x/2) = 0: Euler's four cases.

    Timoshenko and Gere, Theory of Elastic Stability (2nd ed.), secs. 2.1 to 2.4; ends "clamped-free",
    "pinned-pinned", "clamped-pinned", "clamped-clamped".
    """
    tan_root = brentq(lambda x: math.sin(x) - x * math.cos(x), 4.4, 4.6, **TIGHT)
    roots = {"clamped-free": math.pi / 2, "pinned-pinned": math.pi, "clamped-pinned": tan_root}
    return ({**roots, "clamped-clamped": 2 * math.pi}[ends] / length) ** 2 * EI


def heavy_column(EI: float = 1.0, length: float = 1.0) -> float:
    """``EI theta'' + q (L - s) theta = 0``, clamped-free: the critical weight per length q = 9/4 j^2 EI/L^3.

    j is the first zero of J_{-1/3}, q L^3/EI = 7.8373...; Timoshenko and Gere, sec. 2.12; Greenhill (1881).
    """
    return 2.25 * brentq(lambda x: jv(-1 / 3, x), 1.8, 1.9, **TIGHT) ** 2 * EI / length**3


def lateral_buckling_cantilever(EI: float = 1.0, GJ: float = 1.0, length: float = 1.0) -> float:
    """``phi'' + P^2 (L - s)^2/(EI GJ) phi = 0``, phi(0) = phi'(L) = 0: P = 2 j sqrt(EI GJ)/L^2, 4.0126...

    j is the first zero of J_{-1/4}; tip load at the centroid of a narrow rectangle, EI its weak bending stiffness,
    warping and the deflection before buckling neglected (EI/EI_strong -> 0). Timoshenko and Gere, sec. 6.3;
    Prandtl (1899), Michell (1899).
    """
    return 2 * brentq(lambda x: jv(-0.25, x), 1.9, 2.1, **TIGHT) * math.sqrt(EI * GJ) / length**2


def lateral_buckling_moment(EI, GJ, length, EI_strong=math.inf, ends="fork") -> float:
    """``M = (pi/L) sqrt(EI GJ/((1 - EI/B)(1 - GJ/B)))``, B = EI_strong: lateral buckling under constant moment.

    ends "fork": twist held and lateral rotation free at both ends, moments about the fixed horizontal axis
    (Timoshenko and Gere, sec. 6.2, with B infinite; Michell (1899) and Trahair, Flexural-Torsional Buckling (1993),
    for the factor of the deflection before buckling, exact for Kirchhoff rods of any B: linearize m' + kappa x m = 0
    about the circle kappa = M/B). ends "lever": clamped at 0, the moment at the free end made by dead vertical forces
    on a rigid arm along its tangent (so its axis stays horizontal and normal to the tangent): half of it. A moment
    of fixed axis on a cantilever has no static buckling at all.
    """
    factor = {"fork": 1.0, "lever": 0.5}[ends]
    return factor * math.pi / length * math.sqrt(EI * GJ / ((1 - EI / EI_strong) * (1 - GJ / EI_strong)))


# -- columns with a mass, strings ---------------------------------------------------------------------------------
def pendulum_stiffness(P: float, EI: float, length: float) -> float:
    """``k = P/(tan(beta L)/beta - L), beta^2 = P/EI``: horizontal stiffness at the free tip of a massless column.

    Timoshenko and Gere, ch. 1 (beam-columns): P is a compression of fixed direction, negative in tension (tanh).
    Through Lambert's continued fraction of tan, k = EI/L^3 (3 - x - x/(5 - x/(7 - ...))), x = P L^2/EI: exact through
    P = 0 (3 EI/L^3) and zero at Euler's load x = pi^2/4.
    """
    x = P * length**2 / EI
    tail = 0.0
    for odd in range(2 * int(20 + 2 * math.sqrt(abs(x))) + 5, 3, -2):
        tail = x / (odd - tail)
    return EI / length**3 * (3 - x - tail)


def inverted_pendulum(mass: float, EI: float, length: float, g: float = 9.81) -> float:
    """``f = sqrt(k(m g)/m)/(2 pi)``: Hz of a point mass on a massless clamped column, with pendulum_stiffness."""
    return math.sqrt(pendulum_stiffness(mass * g, EI, length) / mass) / (2 * math.pi)


def column_frequencies(P, EI, mu, length, mass=0.0, inertia=0.0, count=4) -> np.ndarray:
    """``EI w'''' + P w'' = mu omega^2 w``; w = w' = 0 at 0; ``EI w'' = J omega^2 w', EI w''' + P w' + m omega^2 w = 0``.

    Hz of a clamped column under constant compression P of fixed direction (negative in tension, below Euler's load),
    with a point mass m of rotary inertia J at its tip; Euler-Bernoulli. Weaver, Timoshenko and Young, ch. 5
    (beams with axial force). Four-by-four determinant in exp(-a s), exp(a (s - L)), cos(b s), sin(b s) with
    a^2 b^2 = mu omega^2/EI, b^2 - a^2 = P/EI; its roots bracketed by a Galerkin solution.
    """
    if euler_buckling(EI, length) <= P:
        raise ValueError("the column has buckled")
    x, weight = legendre.leggauss(80)
    curvature, slope, w = _bases(x, length, 40)
    end_slope, end = (v[0] for v in _bases(np.ones(1), length, 40)[1:])
    weight = 0.5 * length * weight[:, None]
    K = EI * (curvature * weight).T @ curvature - P * (slope * weight).T @ slope
    M = mu * (w * weight).T @ w + mass * np.outer(end, end) + inertia * np.outer(end_slope, end_slope)

    def determinant(f):
        square = (2 * np.pi * f) ** 2
        root = math.sqrt(P**2 + 4 * EI * mu * square)
        large = (abs(P) + root) / (2 * EI)
        small = mu * square / EI / large
        a, b = (math.sqrt(v) for v in ((small, large) if P > 0 else (large, small)))
        e, c, s = math.exp(-a * length), math.cos(b * length), math.sin(b * length)
        start = [[1.0, e, 1.0, 0.0], [-a, a * e, 0.0, b]]
        jet = np.array([[e, 1.0, c, s], [-a * e, a, -b * s, b * c]])  # w, w' at the tip
        bent = np.array([a**2 * e, a**2, -(b**2) * c, -(b**2) * s])
        rate = np.array([-(a**3) * e, a**3, b**3 * s, -(b**3) * c])
        tip = np.array([EI * bent - inertia * square * jet[1], EI * rate + P * jet[1] + mass * square * jet[0]])
        rows = np.vstack([start, tip])
        return np.linalg.det(rows / np.abs(rows).max(axis=1)[:, None])

    return np.array([_root_near(determinant, f) for f in _frequencies(K, M, count)])


def _root_near(function: Callable, guess: float) -> float:
    for width in (1e-9, 1e-7, 1e-5, 1e-3):
        low, high = guess * (1 - width), guess * (1 + width)
        if function(low) * function(high) < 0:
            return brentq(function, low, high, **TIGHT)
    raise ValueError(f"no root near {guess}")


def violin_modes(tension, EI, mu, length, count=5, ends="clamped") -> np.ndarray:
    """``EI w'''' - T w'' = mu omega^2 w``: Hz of a stiff string; omega^2 = EI/mu a^2 b^2, a^2 - b^2 = T/EI.

    Fletcher, J. Acoust. Soc. Am. 36 (1964) 203. ends "pinned": b L = n pi. "clamped": b L = n pi + 2 d,
    tan d = (b/a) tanh(a L/2) for even n and (b/a)/tanh(a L/2) for odd n. "clamped-pinned": b L = n pi + d,
    tan d = (b/a) tanh(a L). T >= 0; T = 0 gives the beam.
    """
    share = {"pinned": 0.0, "clamped": 2.0, "clamped-pinned": 1.0}[ends]
    out = []
    for n in range(1, count + 1):
        wave = lambda d, n=n: (n * np.pi + share * d) / length
        other = lambda b: math.sqrt(b**2 + tension / EI)

        def miss(d, n=n, wave=wave, other=other):
            b = wave(d)
            a = other(b)
            t = math.tanh(a * length / max(share, 1.0))
            return d - math.atan(b / a * (1 / t if share == 2.0 and n % 2 else t))

        b = wave(brentq(miss, 0.0, 1.5, **TIGHT) if share else 0.0)
        out.append(b * other(b) * math.sqrt(EI / mu) / (2 * np.pi))
    return np.array(out)


# -- Simo-Reissner rods -------------------------------------------------------------------------------------------
class Rod(NamedTuple):
    """A solved rod: tip place, tip frame, places(s), frames(s) at lengths s, force and moment in the rod at the clamp."""

    tip: np.ndarray
    frame: np.ndarray
    places: Callable
    frames: Callable
    force: np.ndarray
    moment: np.ndarray


def _hamilton() -> np.ndarray:
    """H[k, a, b] of the quaternion product (p q)_k = H[k, a, b] p_a q_b, scalar first."""
    H = np.zeros((4, 4, 4))
    for a in range(4):
        H[a, 0, a] = H[a, a, 0] = 1.0
        H[0, a, a] = 1.0 if a == 0 else -1.0
    for i, j, k in ((1, 2, 3), (2, 3, 1), (3, 1, 2)):
        H[k, i, j], H[k, j, i] = 1.0, -1.0
    return H


_H = _hamilton()
_RATE = 0.5 * _H[:, :, 1:].reshape(4, 12)  # q' = q (0, curvature)/2
_TURN = np.einsum("kac,cdb->kdab", _H, _H * np.array([1, -1, -1, -1]))[1:, 1:].reshape(9, 16)  # R from q q


def _along(value) -> Callable:
    """A function of s, made of a constant array where it is none."""
    if callable(value):
        return lambda s: np.asarray(value(s), dtype=float)
    constant = np.array(value, dtype=float)
    return lambda s: constant


def cosserat_cantilever(
    length: float,
    stiffness,
    force=(0.0, 0.0, 0.0),
    moment=(0.0, 0.0, 0.0),
    load=(0.0, 0.0, 0.0),
    curvature=(0.0, 0.0, 0.0),
    frame=None,
    reaction=None,
    rtol: float = 1e-13,
) -> Rod:
    """``n' = -q, m' = -r' x n, r' = R (e1 + C_n R^T n), R' = R [k0 + C_m R^T m]x``; r = 0, R = frame at s = 0.

    Simo, Comput. Meth. Appl. Mech. Eng. 49 (1985) 55, and Antman, Nonlinear Problems of Elasticity, ch. 8, with
    diagonal elasticity: stiffness = (EA, GA_y, GA_z, GJ, EI_y, EI_z), or a function of s giving it; inf is rigid.
    force, moment and load (per length, or a smooth function of s) are dead, in global axes; moment and
    force act at the tip; curvature is k0 (or a function) of the free rod in its own axes; frame has the local axes of
    the clamp as columns. Shooting on the moment at the clamp (the force there is known), DOP853 in quaternions,
    differences along one batch for the slope. The load grows from nothing in steps that hold Newton to short and
    contracting steps, so the answer is on the branch of the free rod; a guess of the clamp's moment as ``reaction``
    starts Newton at the full load instead.
    """
    stiff, spread, free = (_along(v) for v in (stiffness, load, curvature))
    force, moment = (np.asarray(v, dtype=float) for v in (force, moment))
    nodes = chebyshev.chebpts1(40)
    fit = chebyshev.chebfit(nodes, np.array([spread(0.5 * length * (1 + x)) for x in nodes]), 39)
    fit = fit[: 1 + max(np.flatnonzero(np.abs(fit).max(axis=1) > 1e-15 * np.abs(fit).max()), default=0)]
    beyond = -chebyshev.chebint(fit, 1, lbnd=1, scl=0.5 * length)  # load between s and the tip
    unit = float(np.max(stiff(0.0)[4:])) / length  # of moments
    start = np.roll(Rotation.from_matrix(np.eye(3) if frame is None else frame).as_quat(), 1)
    scale = np.array([length] * 3 + [1.0] * 4 + [unit] * 3)[:, None]

    def turn(q):
        return (_TURN @ (q[:, None] * q[None]).reshape(16, -1)).reshape(3, 3, -1) / np.sum(q * q, axis=0)

    def force_at(s, part):
        return part * (force + chebyshev.chebval(2 * s / length - 1, beyond))

    def slope(s, y, part):
        y = y.reshape(10, -1) * scale
        q, m, n, c = y[3:7], y[7:], force_at(s, part), 1.0 / stiff(s)
        R = turn(q)
        strain = c[:3, None] * np.einsum("ijb,i->jb", R, n)
        strain[0] += 1.0
        bend = free(s)[:, None] + c[3:, None] * np.einsum("ijb,ib->jb", R, m)
        rate = np.einsum("ijb,jb->ib", R, strain)
        cross = np.array([[0.0, -n[2], n[1]], [n[2], 0.0, -n[0]], [-n[1], n[0], 0.0]])
        spin = _RATE @ (q[:, None] * bend[None]).reshape(12, -1)
        return (np.vstack([rate, spin, cross @ rate]) / scale).ravel()

    def shoot(moments, part, tol, dense=False):
        y = np.zeros((10, moments.shape[1]))
        y[3:7], y[7:] = start[:, None], moments / unit
        return solve_ivp(
            slope, (0.0, length), y.ravel(), "DOP853", rtol=tol, atol=0.01 * tol, args=(part,), dense_output=dense
        )

    def newton(m, part, tol, reach):
        """The moment at the clamp and how far it was from m, or nothing where Newton leaps or does not contract."""
        last, first, error_before = reach, None, math.inf
        for _ in range(15):
            trial = m[:, None] + np.hstack([np.zeros((3, 1)), 1e-6 * unit * np.eye(3)])
            end = shoot(trial, part, tol).y[:, -1].reshape(10, -1)[7:] * unit
            miss = end[:, 0] - part * moment
            error = np.abs(miss).max() / unit
            if error < tol or (error < 1e4 * tol and error > 0.3 * error_before):
                return m, first or 0.0
            step = np.linalg.solve((end[:, 1:] - end[:, :1]) / (1e-6 * unit), miss)
            now = np.abs(step).max() / unit
            if not now < last:
                return None
            m, error_before, first, last = m - step, error, first or now, min(last, max(0.5 * now, 1e-4))
        return None

    path, stride, tol = [(0.0, np.zeros(3))], 1.0, 1e-8
    if reaction is not None:
        path = [(1.0, np.asarray(reaction, dtype=float))]
    while path[-1][0] < 1.0:
        part = min(1.0, path[-1][0] + stride)
        at = np.array([p for p, _ in path[-3:]])
        weights = [np.prod([(part - b) / (a - b) for b in at if b != a]) for a in at]  # extrapolate the last three
        found = newton(sum(w * m for w, (_, m) in zip(weights, path[-3:], strict=True)), part, tol, 0.5)
        if found is None:
            stride *= 0.5
            if stride < 1e-4:
                raise ValueError(f"no equilibrium found beyond the share {path[-1][0]} of the load")
            continue
        path.append((part, found[0]))
        stride *= 2.0 if found[1] < 0.1 else 1.0
    found = newton(path[-1][1], 1.0, rtol, 1.0 if reaction is None else math.inf)
    if found is None:
        raise ValueError("Newton does not converge at the full load")
    at_clamp = found[0]
    sol = shoot(at_clamp[:, None], 1.0, rtol, dense=True)
    places = lambda s: np.moveaxis(np.asarray(sol.sol(s))[:3], 0, -1) * length

    def frames(s):
        R = turn(np.asarray(sol.sol(s))[3:7].reshape(4, -1))
        return np.moveaxis(R, -1, 0).reshape((*np.shape(s), 3, 3))

    tip = sol.y[:3, -1] * length
    return Rod(tip, turn(sol.y[3:7, -1:])[..., 0], places, frames, force_at(0.0, 1.0), at_clamp)


def bend45(torsion: float = 0.140577014955154, shear: bool = True, load: float = 600.0) -> Rod:
    """The 45-degree bend: arc of R = 100 from (0, 0, 0) to (29.29, 70.71, 0), unit square, E = 1e7, load along +z.

    Bathe and Bolourchi, Int. J. Num. Meth. Eng. 14 (1979) 961; Simo and Vu-Quoc, Comput. Meth. Appl. Mech.
    Eng. 58 (1986) 79. nu = 0, so G = 5e6; torsion is the section's J (Saint-Venant's by default; 1/6, the polar
    moment, is as common); shear with the factor 5/6, or none. Through a parabola in place of the arc, J = 1/6, this
    solver gives the tip of BeamDyn and Kynema (-23.6459716009047, 13.7208006040058, 53.5776450626987) to 1.3e-13.
    """
    E, G = 1e7, 5e6
    GA = 5 / 6 * G if shear else math.inf
    stiffness = (E, GA, GA, G * torsion, E / 12, E / 12)
    frame = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    return cosserat_cantilever(25 * math.pi, stiffness, force=(0, 0, load), curvature=(0, 0, -0.01), frame=frame)
