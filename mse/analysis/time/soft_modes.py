"""Slow modes of models that also have very fast ones, as accurate as the slow modes' own stiffness allows.

A dense solver gives w^2 with the rounding of the largest one: in a suspension with beams that is 1e14 times the smallest.
Inverse iteration ``X = (K + sigma M)^-1 M Phi`` removes nearly all of the fast motions from slow shapes, and the Ritz matrices
``X^T (K + sigma M) X = Phi^T M X`` and ``X^T M X`` have no large terms that cancel.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl
from scipy.sparse.csgraph import connected_components

from ...numerics.extended import solver

# Modes are made accurate up to this many times the wanted frequency, which costs little; with a hundredth the wanted ones are not
# accurate (tests/analysis/time/test_soft_modes.py).
_BEYOND = 4.0
# Relative to the sum of two w^2: rounding divided by a smaller difference would leave their shapes oblique.  From 1e-4 to 0.1
# tests/analysis/time/test_soft_modes.py passes, with 1e-5 and with 1 it fails.
_NEAR = 1e-3
# Relative to the frequency: shift of inverse iteration if there are zero-stiffness motions; with a hundred times this, and a
# ten-thousandth, modes lose digits (tests/analysis/time/test_soft_modes.py::test_slow_modes_beside_a_free_motion).
_SHIFT = 0.1
# the first corrects shapes, the second what this changes, the third confirms; w^2 are then ratios of diagonals
_STEPS = 3


def soft_modes(
    k: np.ndarray, m: np.ndarray, modes: tuple[np.ndarray, np.ndarray], w: float, free: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs w^2 (n,) and shapes (n, n) of ``k phi = w^2 m phi``, corrected up to an angular frequency and beyond.

    ``modes`` come from a dense solver; ``free`` says if there are zero-stiffness motions.
    """
    rates, shapes = modes[0].copy(), modes[1].copy()
    soft = np.abs(rates) <= (_BEYOND * w) ** 2
    if not soft.any():
        return rates, shapes
    sigma = (_SHIFT * w) ** 2 if free else 0.0
    shifted = k + sigma * m
    solve = solver(shifted)
    phi = shapes[:, soft]
    for _ in range(_STEPS):
        driven = m @ phi
        y = solve(driven)
        stiffness, mass = driven.T @ y, y.T @ m @ y
        weight = 1.0 / np.sqrt(np.diag(mass))
        stiffness, mass = (weight[:, None] * (0.5 * (a + a.T)) * weight for a in (stiffness, mass))
        phi = (y * weight) @ _separated(stiffness, mass)
    # nearly diagonal now; an eigenvalue solver would bring in rounding of the largest
    rates[soft] = np.diag(stiffness) - sigma
    shapes[:, soft] = phi
    rest = shapes[:, ~soft]
    shapes[:, ~soft] = rest - phi @ (phi.T @ (m @ rest))
    return rates, shapes


def _separated(k: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Eigenvectors (n, n) of a pencil whose w^2 span many decades, each pair separated to the rounding of its own entries.

    A dense solver leaves rounding of the largest w^2 between the slowest ones.  Those close to each other are solved together;
    what is left between all others is removed to first order; a second round confirms.
    """
    turn = sl.eigh(k, m)[1]
    for _ in range(2):
        _, gap, both = _between(k, m, turn)
        count, label = connected_components(np.abs(gap) <= _NEAR * both, directed=False)
        for cluster in range(count):
            at = np.flatnonzero(label == cluster)
            if len(at) > 1:
                own = turn[:, at]
                turn[:, at] = own @ sl.eigh(_symmetric(own.T @ k @ own), _symmetric(own.T @ m @ own))[1]
        mixed, gap, _ = _between(k, m, turn)
        turn = turn + turn @ np.divide(mixed, gap, out=np.zeros(gap.shape), where=label[:, None] != label)
    return turn / np.sqrt(np.diag(turn.T @ m @ turn))


def _between(k: np.ndarray, m: np.ndarray, turn: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Products left between vectors (n, n), by whose ratio to the differences of w^2 they mix; these, and the sums of w^2."""
    stiffness, mass = turn.T @ k @ turn, turn.T @ m @ turn
    w2 = np.diag(stiffness) / np.diag(mass)
    mixed = (stiffness - mass * w2) / np.diag(mass)[:, None]
    return mixed, w2[None, :] - w2[:, None], np.abs(w2[None, :]) + np.abs(w2[:, None])


def _symmetric(a: np.ndarray) -> np.ndarray:
    return 0.5 * (a + a.T)
