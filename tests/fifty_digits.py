"""Rigid bodies on springs in fifty digits: their equilibrium, and how many motions have exactly no stiffness there.

Coordinates are (d, a) for each body, o -> o + d, U -> exp([a]x) U, as in mse; nothing here is taken from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import mpmath as mp
import numpy as np

import mse
from mse import Pose

_DIGITS = 50
_BALANCED = mp.mpf(10) ** -40  # of the weights
_ZERO = mp.mpf(10) ** -30  # of the largest stiffness
_FREE = 1e-11  # of the largest stiffness, in double precision


@dataclass(frozen=True)
class Spring:
    """Between a point of body ``a`` and one of body ``b``, -1 for the ground, each about the body's center along its axes."""

    a: int
    at_a: np.ndarray
    b: int
    at_b: np.ndarray
    length: float
    stiffness: float


@dataclass(frozen=True)
class Bodies:
    """Bodies of ``masses`` (n,) at ``places`` (n, 3) on springs; ``unit`` is one meter in the unit of all lengths."""

    masses: np.ndarray
    places: np.ndarray
    springs: tuple[Spring, ...]
    unit: float = 1.0

    @classmethod
    def random(cls, seed: int, *, meter: float = 1.0, kilogram: float = 1.0) -> Bodies:
        """One to four bodies, each on one to four springs; in other units of length and mass."""
        rng = np.random.default_rng([5, seed])
        n = int(rng.integers(1, 5))
        masses, places = 10 ** rng.uniform(-1, 1, n), np.zeros((n, 3))
        springs = []
        for k in range(n):
            up = int(rng.integers(-1, k)) if k else -1
            above = places[up] if up >= 0 else np.zeros(3)
            places[k] = above + np.array([*rng.uniform(-0.3, 0.3, 2), -rng.uniform(0.5, 1.0)])
            for _ in range(int(rng.integers(1, 5))):
                here, there = rng.uniform(-0.2, 0.2, (2, 3))
                if rng.random() < 0.3:
                    here = np.zeros(3)
                if up < 0:
                    there = there + places[k] * [1, 1, 0]
                span = np.linalg.norm(places[k] + here - there - above)
                stiffness = masses.sum() * 9.81 / 10 ** rng.uniform(-5, -0.3)
                springs.append(
                    Spring(
                        k, meter * here, up, meter * there, meter * span * rng.uniform(0.7, 1.0), kilogram * stiffness
                    )
                )
        return cls(kilogram * masses, meter * places, tuple(springs), meter)

    def system(self) -> mse.MSystem:
        s = mse.MSystem("bodies", gravity=(0, 0, -9.81 * self.unit))
        bodies = [
            s.add(mse.RigidBody(f"b{k}", mass=m, inertia=0.02 * m * self.unit**2, at=Pose(tuple(place))))
            for k, (m, place) in enumerate(zip(self.masses, self.places, strict=True))
        ]
        for k, one in enumerate(self.springs):
            spring = s.add(mse.Spring(f"s{k}", length=one.length, stiffness=one.stiffness))
            s.clamp(bodies[one.a].frame(0), spring.frame(0), Pose(tuple(one.at_a)))
            s.clamp(s.ground if one.b < 0 else bodies[one.b].frame(0), spring.frame(1), Pose(tuple(one.at_b)))
        return s

    def free_count(self, wp: mse.WorkingPoint) -> int:
        """Number of motions without any stiffness at the equilibrium beside a working point."""
        with mp.workdps(_DIGITS):
            poses = [wp.poses[f"b{k}.center"] for k in range(len(self.masses))]
            o = [mp.matrix(pose.o.tolist()) for pose in poses]
            turns = [_orthogonal(mp.matrix(pose.U.tolist())) for pose in poses]
            weight = mp.mpf(float(self.masses.sum() * 9.81 * self.unit))
            for _ in range(40):
                slope, stiffness = self._expanded(o, turns)
                if mp.norm(slope, mp.inf) <= _BALANCED * weight:
                    w = mp.eigsy(stiffness, eigvals_only=True)
                    top = max(abs(x) for x in w)
                    return sum(abs(x) <= _ZERO * top for x in w)
                # steps of double precision: each leaves a share of the slope, and what is free is not moved
                rough = np.array(stiffness.tolist(), float)
                size = mp.norm(slope, mp.inf)
                step = -np.linalg.pinv(rough, _FREE, hermitian=True) @ np.array((slope / size).tolist(), float)
                step = size * mp.matrix(step.tolist())
                for k in range(len(o)):
                    o[k] = o[k] + step[6 * k : 6 * k + 3]
                    turns[k] = _turn(step[6 * k + 3 : 6 * k + 6]) * turns[k]
            raise AssertionError("no equilibrium in fifty digits")

    def _expanded(self, o: list, turns: list) -> tuple[mp.matrix, mp.matrix]:
        """Gradient (6 n, 1) and Hessian (6 n, 6 n) of the energy."""
        n = len(o)
        slope, stiffness = mp.zeros(6 * n, 1), mp.zeros(6 * n)
        for k, m in enumerate(self.masses):
            slope[6 * k + 2] += mp.mpf(float(m)) * mp.mpf(9.81 * self.unit)
        for one in self.springs:
            ends = [(one.a, one.at_a, 1), (one.b, one.at_b, -1)]
            arms = [(k, mp.matrix(at.tolist()) if k < 0 else turns[k] * mp.matrix(at.tolist()), s) for k, at, s in ends]
            span = sum((s * (r if k < 0 else o[k] + r) for k, r, s in arms), mp.zeros(3, 1))
            length = mp.norm(span)
            along = span / length
            pull = mp.mpf(one.stiffness) * (length - mp.mpf(one.length))
            inner = mp.mpf(one.stiffness) * along * along.T + pull / length * (mp.eye(3) - along * along.T)
            moved = [(k, r, s, _joined(mp.eye(3), -_cross(r))) for k, r, s in arms if k >= 0]
            for k, r, s, by in moved:
                _add(slope, 6 * k, 0, s * pull * (by.T * along))
                # a x (a x r) along the pull: 2 times the second-order part of the end's motion
                turned = (along * r.T + r * along.T) / 2 - (along.T * r)[0] * mp.eye(3)
                _add(stiffness, 6 * k + 3, 6 * k + 3, s * pull * turned)
                for j, _, other, there in moved:
                    _add(stiffness, 6 * k, 6 * j, s * other * (by.T * inner * there))
        return slope, stiffness


def _add(matrix: mp.matrix, i: int, j: int, block: mp.matrix) -> None:
    for a in range(block.rows):
        for b in range(block.cols):
            matrix[i + a, j + b] += block[a, b]


def _cross(r: mp.matrix) -> mp.matrix:
    return mp.matrix([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def _joined(a: mp.matrix, b: mp.matrix) -> mp.matrix:
    out = mp.zeros(a.rows, a.cols + b.cols)
    _add(out, 0, 0, a)
    _add(out, 0, a.cols, b)
    return out


def _turn(a: mp.matrix) -> mp.matrix:
    return mp.expm(_cross(a))


def _orthogonal(u: mp.matrix) -> mp.matrix:
    """The rotation nearest to a matrix that is one to rounding of double precision."""
    for _ in range(4):
        u = u * (3 * mp.eye(3) - u.T * u) / 2
    return u
