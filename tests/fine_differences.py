"""Derivatives by differences of order sixteen in long double: to rounding of doubles, by no other arithmetic than a law has."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mse.elements.base import FramePose

POINTS = 8  # on each side
# (K!)^2/((K - k)! (K + k)!), with signs: B. Fornberg, "Generation of finite difference formulas" (1988)
WEIGHTS = [
    -((-1) ** k)
    * np.longdouble(math.factorial(POINTS) ** 2)
    / (math.factorial(POINTS - k) * math.factorial(POINTS + k))
    for k in range(1, POINTS + 1)
]


def along(f: Callable, step: float = 6e-3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A function of one long double number at zero, with its first and second derivatives there."""
    h, at = np.longdouble(step), f(np.longdouble(0))
    first = second = 0.0 * at
    for k, weight in enumerate(WEIGHTS, 1):
        ahead, back = f(k * h), f(-k * h)
        first = first + weight / k * (ahead - back) / h
        second = second + 2 * weight / k**2 * ((ahead - at) + (back - at)) / h**2
    return at, first, second


def directions(n: int, count: int = 4) -> np.ndarray:
    """Directions (count, n) in which nothing vanishes by chance."""
    return np.random.default_rng(n).uniform(0.3, 1.0, (count, n)) * np.random.default_rng(n).choice([-1, 1], (count, n))


def placed(frames, q, x: np.ndarray) -> tuple[list[FramePose], np.ndarray]:
    """Frames and internal coordinates moved by x (n,): ``o + d``, ``exp([a]x) U``."""
    out = []
    for k, f in enumerate(frames):
        turn = term = np.eye(3, dtype=np.longdouble)
        (a, b, c) = x[6 * k + 3 : 6 * k + 6]
        generator = np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]], dtype=np.longdouble)
        for order in range(1, 12):
            term = term @ generator / order
            turn = turn + term
        out.append(FramePose(f.o + x[6 * k : 6 * k + 3], turn @ f.U))
    return out, np.asarray(q) + x[6 * len(frames) :]


def alike(found, expected, tolerance: float = 1e-12, least: float = 1e-9) -> None:
    """Assert that numbers agree to a share of the largest."""
    expected = np.asarray(expected, dtype=float)
    size = max(least, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(np.asarray(found, dtype=float), expected, rtol=0, atol=tolerance * size)


def agrees(derivatives: tuple, law: Callable, frames, q, tolerance: float = 1e-12) -> None:
    """Assert that a value, its gradient (n,) and second derivatives (n, n) by coordinates are those of a law of frames and q."""
    value, gradient, hessian = derivatives
    for u in directions(6 * len(frames) + len(q)):
        at, first, second = along(lambda t, u=u: law(*placed(frames, q, t * u)), 2e-3)
        scale = max(1e-9, float(np.abs(gradient).max()), abs(float(value)))
        alike(value, at, tolerance, scale)
        alike(gradient @ u, first, tolerance, scale)
        alike(u @ hessian @ u, second, tolerance, max(scale, float(np.abs(hessian).max())))
