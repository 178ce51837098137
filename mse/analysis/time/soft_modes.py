"""Slow modes beside very fast ones, as accurate as the stiffness of the slow ones allows.

A dense solver gives w^2 right to rounding of the largest: in a suspension with beams these are 1e14 times the smallest.
Inverse iteration ``X = (K + sigma M)^-1 M Phi`` leaves next to nothing of fast motions in slow shapes, and the Ritz matrices
``X^T (K + sigma M) X = Phi^T M X`` and ``X^T M X`` have no large terms that cancel.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from ...numerics.extended import solver

_BEYOND = 4.0  # times the frequency wanted: up to there modes are made accurate, which costs little
_SHIFT = 0.1  # of the frequency: where inverse iteration of zero-stiffness motions stands
_STEPS = (
    3  # the first corrects shapes, the second what that changes, the third confirms: w^2 are ratios of diagonals then
)


def soft_modes(
    k: np.ndarray, m: np.ndarray, modes: tuple[np.ndarray, np.ndarray], w: float, free: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs w^2 (n,) and shapes (n, n) of ``k phi = w^2 m phi``, corrected up to an angular frequency and beyond.

    ``modes`` are those of a dense solver, ``free`` says whether there are zero-stiffness motions.
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
        phi = (y * weight) @ sl.eigh(stiffness, mass)[1]
    # nearly diagonal by now: an eigenvalue from all of them would be right to rounding of the largest
    rates[soft] = np.diag(stiffness) - sigma
    shapes[:, soft] = phi
    rest = shapes[:, ~soft]
    shapes[:, ~soft] = rest - phi @ (phi.T @ (m @ rest))
    return rates, shapes
