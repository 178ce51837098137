"""Lossy modes in which the ends of members rest: ``D = L (w^2 - B)^-1 L^T + regular``, with ``L^T x + (B - w^2) v = 0``.

Near a member's clamped natural frequencies, which are the eigenvalues of B, its dynamic stiffness D has poles.  Here the
amplitudes v of its clamped motions are additional coordinates, so that motions with resting ends x, ``L v = 0``, have a nonzero
vector.  L and B are found from integrals of D around the poles: W.-J. Beyn, Linear Algebra Appl. 436 (2012) 3839.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import scipy.linalg as sl

from ...linear.members import Members
from ...numerics.precision import APART, DEPENDENT, EPS, UNPIVOTED

# poles are within half a radius of the center or beyond two, so the trapezoidal rule has the error 2^-points, below eps
_POINTS = 56
_CIRCLE = np.exp(2j * np.pi * (np.arange(_POINTS) + 0.5) / _POINTS)
_MOST_HALVINGS = 30  # of radii: after more, poles are as close together as rounding
_MOST_STEPS = 40
_CONVERGED = UNPIVOTED * EPS  # relative to an eigenvalue
_BESIDE = 8.0 * EPS  # relative to an eigenvalue: distance at which equations are solved instead


class Equations(Protocol):
    """What this module needs of the equations of a model with a share of its loss."""

    members: Members
    n: int

    def solve_beside_poles(
        self, omega2: complex, regular: dict[int, Callable[[complex], np.ndarray]], right: np.ndarray
    ) -> np.ndarray:
        """Motions (n, m) by forces (n, m), with members k replaced by ``regular[k](omega2)``."""


class _Poles(NamedTuple):
    """Poles of one member inside a circle: loads (k, r), B (r, r), and a function for the regular part at any w^2 inside."""

    loads: np.ndarray
    values: np.ndarray
    regular: Callable[[complex], np.ndarray]


class _Circle(NamedTuple):
    """A circle in which the poles of a member are sought, their number, and the units of its coordinates (k,)."""

    center: complex
    radius: float
    rank: int
    size: np.ndarray


class Start(NamedTuple):
    """Modes without loss: w^2 (m,), shapes (n, m), and in which all ends rest (m,)."""

    omega2: np.ndarray
    shapes: np.ndarray
    resting: np.ndarray


def followed(
    equations: Callable[[float], Equations], undamped: Equations, start: Start, pieces: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Modes in which all ends rest, followed while loss is raised in steps: their numbers, w^2, and shapes (n, m).

    Modes of nearly the same frequency that move the ends are followed with them: if loss differs between members, one kind
    turns into the other.  ``equations(share)`` has that share of the loss, ``undamped`` has none and no damping.  None if the
    modes are not recognized after a step.
    """
    rest = np.flatnonzero(start.resting)
    rest = rest[np.argsort(start.omega2[rest])]
    w2 = start.omega2[rest]
    groups = np.split(rest, np.flatnonzero(np.diff(w2) > APART * w2[1:]) + 1)
    out = [_group(equations, undamped, start, on, pieces) for on in groups]
    if any(found is None for found in out):
        return None
    which, values, shapes = zip(*out, strict=True)
    return np.concatenate(which), np.concatenate(values), np.hstack(shapes)


def _group(
    equations: Callable[[float], Equations], undamped: Equations, start: Start, rest: np.ndarray, pieces: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """:func:`followed` for modes ``rest`` of one frequency."""
    omega2 = float(start.omega2[rest].mean())
    members = undamped.members
    circles = {k: c for k in range(len(members)) if (c := _circle(members, k, omega2)) is not None}
    poles = {k: _poles(members, k, c, None) for k, c in circles.items()}
    reduced = _Reduced(undamped, poles)
    if len(reduced) < len(rest):
        return None
    vectors, others = reduced.resting(omega2, len(rest))
    along, beside = _beside(reduced, start, others)
    which, vectors = np.concatenate([rest, beside]), np.hstack([vectors, along]).astype(complex)
    for piece in range(pieces):
        now = equations((piece + 1) / pieces)
        circles = {k: c._replace(center=np.trace(poles[k].values) / c.rank) for k, c in circles.items()}
        poles = {k: _poles(now.members, k, c, poles[k].loads) for k, c in circles.items()}
        if not all(_holds(poles[k], c) for k, c in circles.items()):
            return None
        reduced = _Reduced(now, poles)
        # first order on the span of all, since equal frequencies leave their combination open
        h = vectors.T @ reduced.matrix(omega2) @ vectors
        values, turn = np.linalg.eig(np.linalg.solve(vectors.T @ vectors, h))
        vectors = vectors @ turn
        vectors = vectors / np.linalg.norm(vectors, axis=0)
        for j in range(len(which)):
            found = reduced.mode(values[j], vectors[:, j])
            if found is None:
                return None
            values[j], vectors[:, j] = found
        if np.linalg.svd(vectors, compute_uv=False)[-1] < APART:
            return None
        omega2 = values.mean()
    return which, values, np.array([reduced.ends(w2, v) for w2, v in zip(values, vectors.T, strict=True)]).T


def _beside(reduced: _Reduced, start: Start, others: list[tuple[float, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Which ``others`` are modes without loss that move the ends: as columns (r, j), and the numbers of these modes (j,)."""
    along, beside = [], []
    for value, v in others:
        found = reduced.mode(value, v)
        if found is None:
            continue
        value, v = found[0].real, found[1]
        near = np.flatnonzero(~start.resting & (np.abs(start.omega2 - value) <= APART * value))
        near = near[~np.isin(near, beside)]
        if len(near):
            likeness = np.abs(np.conj(reduced.ends(value, v)) @ start.shapes[:, near])
            along.append(v)
            beside.append(int(near[np.argmax(likeness / np.linalg.norm(start.shapes[:, near], axis=0))]))
    return np.array(along).reshape(len(along), len(reduced)).T, np.array(beside, dtype=int)


def _circle(members: Members, k: int, omega2: float) -> _Circle | None:
    """The largest circle about ``omega2`` with a member's poles well inside or far outside; None if none is inside."""

    def below(share: float) -> int:
        return members.clamped_count_of(k, omega2 * (1.0 + share))

    radius = 1.0
    for _ in range(_MOST_HALVINGS):
        radius /= 2.0
        rank = below(0.5 * radius) - below(-0.5 * radius)
        if below(2.0 * radius) - below(-2.0 * radius) != rank:
            continue
        if not rank:
            return None
        moved = radius * omega2 * _CIRCLE
        d = members.change_of(k, np.sqrt(omega2 + moved))
        size = np.sqrt(np.abs(np.einsum("fii->fi", d)).max(axis=0) * radius * omega2)
        size[size == 0.0] = 1.0
        inside = np.linalg.eigvalsh(np.real(_moment(d, moved)) / np.outer(size, size))
        if inside[-rank] > DEPENDENT * inside[-1]:  # loads of several orders may depend on each other
            return _Circle(omega2, radius * omega2, rank, size)
    return None


def _moment(d: np.ndarray, moved: np.ndarray, power: int = 0) -> np.ndarray:
    return np.tensordot(moved ** (power + 1), d, axes=1) / len(moved)


def _poles(members: Members, k: int, circle: _Circle, near: np.ndarray | None) -> _Poles:
    """The poles inside a circle; their loads are as close as possible to the loads ``near`` (k, r) with less or no loss."""
    moved = circle.radius * _CIRCLE
    at = circle.center + moved
    d = members.change_of(k, np.sqrt(at))
    units = np.outer(circle.size, circle.size)
    a0, a1 = _moment(d, moved) / units, _moment(d, moved, 1) / units
    if near is None:
        value, vector = np.linalg.eigh(0.5 * np.real(a0 + a0.T))
        loads = vector[:, -circle.rank :] * np.sqrt(value[-circle.rank :])
    else:
        seen = a0 @ np.linalg.pinv(near / circle.size[:, None]).T
        turn = np.linalg.pinv(near / circle.size[:, None]) @ seen
        loads = seen @ np.linalg.inv(sl.sqrtm(turn))
    inverse = np.linalg.pinv(loads)
    b = inverse @ a1 @ inverse.T + circle.center * np.eye(circle.rank)
    loads = circle.size[:, None] * loads
    rest = d - loads @ np.linalg.inv(at[:, None, None] * np.eye(circle.rank) - b) @ loads.T

    def regular(omega2: complex) -> np.ndarray:
        return np.tensordot(moved / (at - omega2), rest, axes=1) / len(at)

    return _Poles(loads, 0.5 * (b + b.T), regular)


def _holds(poles: _Poles, circle: _Circle) -> bool:
    """Whether loss leaves the poles in the inner half of their circle, where the integrals are accurate."""
    return bool(np.abs(np.linalg.eigvals(poles.values) - circle.center).max() < 0.5 * circle.radius)


class _Reduced:
    """``H(w^2) v = w^2 v`` with ``H = B - P^T A_regular(w^2)^-1 P``: the clamped motions, coupled by the ends."""

    def __init__(self, equations: Equations, poles: dict[int, _Poles]):
        self._equations = equations
        self._regular = {k: p.regular for k, p in poles.items()}
        self._b = sl.block_diag(*(p.values for p in poles.values()))
        self._p = np.zeros((equations.n, len(self._b)), dtype=complex)
        first = 0
        for k, p in poles.items():
            to, on = equations.members.local[k]
            last = first + p.loads.shape[1]
            self._p[on, first:last] = to.T @ p.loads
            first = last

    def __len__(self) -> int:
        return len(self._b)

    def _follow(self, omega2: complex, loads: np.ndarray) -> np.ndarray:
        return self._equations.solve_beside_poles(omega2, self._regular, loads) if len(loads) else loads

    def matrix(self, omega2: complex) -> np.ndarray:
        """H (r, r)."""
        return self._b - self._p.T @ self._follow(omega2, self._p)

    def ends(self, omega2: complex, v: np.ndarray) -> np.ndarray:
        """Motion of the ends (n,) for clamped motions v of unit mass; 0 if its effect on w^2 is rounding."""
        load = self._p @ v
        x = -self._follow(omega2, load[:, None])[:, 0]
        return x if np.abs(load) @ np.abs(x) > DEPENDENT**2 * abs(omega2) else np.zeros(len(x))

    def resting(self, omega2: float, count: int) -> tuple[np.ndarray, list[tuple[float, np.ndarray]]]:
        """Combinations (r, count) of lossless clamped motions that load the ends least at this w^2; and the others."""
        values, vectors = np.linalg.eigh(np.real(self.matrix(omega2)))
        largest = (np.abs(self._p) ** 2).sum(axis=1, keepdims=True)
        felt = (np.abs(self._p @ vectors) ** 2 / np.where(largest > 0.0, largest, 1.0)).sum(axis=0)
        order = np.argsort(felt + (np.abs(values - omega2) > APART * omega2), kind="stable")
        return vectors[:, order[:count]], [(values[k], vectors[:, k]) for k in order[count:]]

    def mode(self, omega2: complex, v: np.ndarray) -> tuple[complex, np.ndarray] | None:
        """The eigenvalue and unit vector near others, by inverse iteration; None if it leaves these or does not converge."""
        start, last = v, None
        for _ in range(_MOST_STEPS):
            h = self.matrix(omega2)
            v = np.linalg.solve(h - omega2 * (1.0 + _BESIDE) * np.eye(len(h)), v)
            v = v / np.linalg.norm(v)
            off = (v @ h @ v) / (v @ v) - omega2
            if abs(off) <= _CONVERGED * abs(omega2):
                same = 2.0 * np.abs(np.conj(start) @ v) ** 2 > 1.0  # more than half of the vector is the same
                return (omega2 + off, v) if same else None
            slope = -1.0 if last is None else (off - last[1]) / (omega2 - last[0])
            last, omega2 = (omega2, off), omega2 - off / slope
        return None
