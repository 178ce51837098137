"""Reference answers for planar mechanisms, in angles, on numpy and scipy alone: chains, ropes of rods, four-bars.

SI units, motion in a vertical plane with x to the right and z upwards. A chain of rods starts at the origin; rod j makes
the angle theta_j with x, so that node j is at sum of l_i (cos theta_i, sin theta_i) over i <= j. All derivatives
are closed forms, so that what is below holds to rounding. Nothing here knows of the package under test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eig, eigh, null_space
from scipy.optimize import brentq, minimize
from scipy.special import roots_laguerre

GRAVITY = 9.81


# -- pendulums ----------------------------------------------------------------------------------------------------
def rod_pendulum(length: float = 1.0, gravity: float = GRAVITY) -> float:
    """``omega^2 = 3 g/(2 l)``: frequency (Hz) of a uniform rod hung by its end."""
    return math.sqrt(1.5 * gravity / length) / (2 * math.pi)


def compound_pendulum(
    mass: float, arm: float, inertia: float, gravity: float = GRAVITY, stiffness: float = 0.0
) -> float:
    """``omega^2 = (m g r + k)/(J + m r^2)``: frequency (Hz) of a body hung at r from its center, turning spring k."""
    return math.sqrt((mass * gravity * arm + stiffness) / (inertia + mass * arm**2)) / (2 * math.pi)


def laguerre_chain(links: int, length: float = 1.0, gravity: float = GRAVITY) -> np.ndarray:
    """``omega^2 = (g/l) x, L_N(x) = 0``: frequencies (Hz) of N equal point masses on massless links."""
    return np.sqrt(gravity / length * roots_laguerre(links)[0]) / (2 * math.pi)


# -- chains of rods -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class LineSpring:
    """A damped spring between node ``node`` (counted from 1) of a chain and a fixed ``anchor`` (x, z)."""

    node: int
    stiffness: float
    length: float
    damping: float = 0.0
    anchor: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Chain:
    """Uniform rods (and point masses at their far ends) hinged to each other; ``end`` (x, z) pins the last node."""

    lengths: tuple[float, ...]
    masses: tuple[float, ...]
    points: tuple[float, ...] | None = None
    end: tuple[float, float] | None = None
    spring: LineSpring | None = None
    gravity: float = GRAVITY

    @property
    def count(self) -> int:
        return len(self.lengths)

    def _beyond(self) -> np.ndarray:
        """Mass (n,) that is carried by the far end of each rod."""
        m = np.asarray(self.masses, dtype=float)
        mu = np.zeros(len(m)) if self.points is None else np.asarray(self.points, dtype=float)
        return np.cumsum((m + mu)[::-1])[::-1] - m

    def nodes(self, theta: np.ndarray) -> np.ndarray:
        """Places (n, 2) of the far ends of the rods."""
        arms = np.asarray(self.lengths)[:, None] * np.column_stack([np.cos(theta), np.sin(theta)])
        return np.cumsum(arms, axis=0)

    def _stretch(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Length of the spring with its gradient (n,) and second derivative (n, n)."""
        s, n = self.spring, self.count
        along = np.where(np.arange(n) < s.node, self.lengths, 0.0)
        first = along * np.array([-np.sin(theta), np.cos(theta)])  # (2, n): d r/d theta
        r = self.nodes(theta)[s.node - 1] - np.asarray(s.anchor)
        second = np.diag(-along * (r[0] * np.cos(theta) + r[1] * np.sin(theta)))  # r . d2 r
        size = float(np.hypot(*r))
        slope = first.T @ r / size
        return size, slope, (first.T @ first + second - np.outer(slope, slope)) / size

    def energy(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Potential energy with its gradient (n,) and second derivative (n, n)."""
        weight = self.gravity * (self._beyond() + 0.5 * np.asarray(self.masses)) * np.asarray(self.lengths)
        value, slope, bend = weight @ np.sin(theta), weight * np.cos(theta), np.diag(-weight * np.sin(theta))
        if self.spring is not None:
            k, (size, first, second) = self.spring.stiffness, self._stretch(theta)
            out = size - self.spring.length
            value, slope = value + 0.5 * k * out**2, slope + k * out * first
            bend = bend + k * (np.outer(first, first) + out * second)
        return float(value), slope, bend

    def closure(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far the last node is from its pin (2,), and the derivative (2, n) of that; empty for an open chain."""
        if self.end is None:
            return np.zeros(0), np.zeros((0, self.count))
        arms = np.asarray(self.lengths) * np.array([np.cos(theta), np.sin(theta)])
        return arms.sum(axis=1) - self.end, np.array([-arms[1], arms[0]])

    def mass(self, theta: np.ndarray) -> np.ndarray:
        """Mass matrix (n, n): ``l_j l_k cos(theta_j - theta_k)`` times what moves with both rods."""
        m, beyond = np.asarray(self.masses), self._beyond()
        j, k = np.indices((self.count, self.count))
        shared = np.where(j == k, beyond[j] + m[j] / 3, (beyond + 0.5 * m)[np.maximum(j, k)])
        return shared * np.outer(self.lengths, self.lengths) * np.cos(np.subtract.outer(theta, theta))

    def polished(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Angles and pin forces (2,) after Newton's method on energy and closure together, to rounding."""
        theta, n = np.array(theta, dtype=float), self.count
        last, force = math.inf, np.zeros(0)
        for _ in range(60):
            _, slope, bend = self.energy(theta)
            gap, rows = self.closure(theta)
            if not len(force):
                force = np.linalg.lstsq(rows.T, slope, rcond=None)[0]
            if len(gap):  # second derivative of force . gap
                arms = np.asarray(self.lengths) * np.array([np.cos(theta), np.sin(theta)])
                bend = bend + np.diag(force @ arms)
            left = np.concatenate([slope - rows.T @ force, gap])
            system = np.block([[bend, -rows.T], [rows, np.zeros((len(gap), len(gap)))]])
            step = np.linalg.solve(system, -left)
            size = float(np.abs(step).max())
            if size < 1e-9 and size >= 0.5 * last:
                return theta, force
            last, theta, force = size, theta + step[:n], force + step[n:]
        raise ArithmeticError(f"Newton's method from {theta} does not settle: last step {last:.1e}")

    def small_motions(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mass, damping and stiffness (f, f) on the freedoms that closure leaves, at an equilibrium."""
        theta, force = self.polished(theta)
        bend = self.energy(theta)[2]
        rows = self.closure(theta)[1]
        if len(rows):
            bend = bend + np.diag(force @ (np.asarray(self.lengths) * np.array([np.cos(theta), np.sin(theta)])))
            free = null_space(rows)
        else:
            free = np.eye(self.count)
        loss = np.zeros_like(bend)
        if self.spring is not None:
            slope = self._stretch(theta)[1]
            loss = self.spring.damping * np.outer(slope, slope)
        return tuple(free.T @ a @ free for a in (self.mass(theta), loss, bend))

    def frequencies(self, theta: np.ndarray) -> np.ndarray:
        """Undamped natural frequencies (f,) Hz at an equilibrium; negative where the motion falls."""
        mass, _, bend = self.small_motions(theta)
        w2 = eigh(bend, mass, eigvals_only=True)
        return np.sign(w2) * np.sqrt(np.abs(w2)) / (2 * math.pi)

    def eigenvalues(self, theta: np.ndarray) -> np.ndarray:
        """``(s^2 M + s C + K) v = 0``: all s (2 f,) rad/s at an equilibrium."""
        mass, loss, bend = self.small_motions(theta)
        one, none = np.eye(len(mass)), np.zeros_like(mass)
        return eig(np.block([[none, one], [-bend, -loss]]), np.block([[one, none], [none, mass]]), right=False)

    def descended(self, theta: np.ndarray) -> np.ndarray:
        """Angles close to a minimum of the energy on the closed shapes, for Newton's method to polish."""
        pins = {"type": "eq", "fun": lambda x: self.closure(x)[0], "jac": lambda x: self.closure(x)[1]}
        return minimize(
            lambda x: self.energy(x)[0],
            theta,
            jac=lambda x: self.energy(x)[1],
            method="SLSQP",
            constraints=() if self.end is None else pins,
            options={"maxiter": 500, "ftol": 1e-13},
        ).x

    def equilibria(self, starts: int = 60, seed: int = 0) -> list[np.ndarray]:
        """Stable equilibria, angles in (-pi, pi], lowest energy first, found from random angles."""
        rng = np.random.default_rng(seed)
        found: list[np.ndarray] = []
        for _ in range(starts):
            start = rng.uniform(-math.pi, math.pi, self.count)
            try:
                theta = self.polished(self.descended(start))[0]
            except (ArithmeticError, np.linalg.LinAlgError):
                continue
            theta = math.pi - np.mod(math.pi - theta, 2 * math.pi)
            if np.abs(self.closure(theta)[0]).max(initial=0.0) > 1e-12 or self.frequencies(theta)[0] <= 0:
                continue
            if all(np.abs(np.exp(1j * theta) - np.exp(1j * other)).max() > 1e-6 for other in found):
                found.append(theta)
        return sorted(found, key=lambda x: self.energy(x)[0])


def rope(rods: int, span: float, length: float = 1.0, mass: float = 1.0, gravity: float = GRAVITY) -> Chain:
    """A rope of equal rods between two pins at equal height."""
    return Chain((length,) * rods, (mass,) * rods, end=(span, 0.0), gravity=gravity)


def hanging_angles(chain: Chain) -> np.ndarray:
    """Angles (n,) of a rope with two pins, descended to from an arc that starts downwards and ends upwards.

    Its rods are all pulled, so that it is the shape of lowest energy: with the forces of the pins held, the energy of
    each rod is ``-|tension| l cos(angle to its tension)``, which no other angle undercuts.
    """
    shape = np.linspace(-1.0, 1.0, chain.count)
    reach = lambda a: np.sum(np.asarray(chain.lengths) * np.cos(a * shape)) - np.hypot(*chain.end)
    widest = brentq(lambda a: np.sum(np.asarray(chain.lengths) * np.cos(a * shape)), 0.0, math.pi)
    arc = brentq(reach, 0.0, widest) * shape + math.atan2(chain.end[1], chain.end[0])
    return chain.polished(chain.descended(arc))[0]


def sprung_four_bar(stiffness=25.0, length=2**0.5, damping=1.0, gravity=GRAVITY, ground=1.0) -> Chain:
    """Three 1 m, 1 kg rods from (0, 0) to (ground, 0), a damped spring from the origin to the joint of rods 2 and 3."""
    spring = LineSpring(2, stiffness, length, damping)
    return Chain((1.0, 1.0, 1.0), (1.0, 1.0, 1.0), end=(ground, 0.0), spring=spring, gravity=gravity)
