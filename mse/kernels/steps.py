"""What steps of trees and of loops have in common: coefficients of order 8 of Dormand and Prince, room, lengths, interpolation.

Coefficients, lengths of first steps and interpolation are those of DOP853 (E. Hairer, S. P. Norsett and G. Wanner, Solving
Ordinary Differential Equations I, 1993, II.4 to II.6).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import bare_part, shared

REACHED, FAILED, NO_INERTIA = 0, 1, 2
# numbers of numpy, since numba would compile a part once for each number of Python (jit.py)
NONE, FIRST, SECOND, STEP, ALL = np.int64(0), np.int64(1), np.int64(2), np.int64(12), np.int64(16)

# Of the size of a system: what rounding changes positions by.  Forces follow from rounded positions, so that in a step h no
# velocity is known to less than that over h.  With a quarter and four times of it tests/dynamics/test_closed_loops.py passes.
ROUNDED = 1e-15


class Method(NamedTuple):
    """Coefficients, and what steps keep to.

    ``nodes`` (16,) and ``weights`` (16, 16) of the stages, of which the first twelve make a step; ``last`` (12,) of its end;
    ``errors`` (2, 12) of its errors of orders 5 and 3; ``between`` (4, 16) of the last four parts of its interpolation.
    ``limits`` are the relative tolerance, the size of the system (m), the share of the largest speed below which speeds are as
    exact as this one, the least relative change of a time, how far a body turns in a step (rad), and sizes a second below which
    speeds are rest; ``factors`` are those on the step that an error allows, at least and at most (Hairer's).
    """

    nodes: np.ndarray
    weights: np.ndarray
    last: np.ndarray
    errors: np.ndarray
    between: np.ndarray
    limits: np.ndarray
    factors: np.ndarray


class Passed(NamedTuple):
    """Begins of so many steps, one after the other: poses and velocities of bodies, angles that are followed, times (s).

    Then come works (J) of dampers and of other forces, and the lengths (s) of steps that were foreseen there, zero for none; and
    of the steps that were made, lengths and evaluations.
    """

    o: np.ndarray
    u: np.ndarray
    v: np.ndarray
    angles: np.ndarray
    time: np.ndarray
    works: np.ndarray
    foreseen: np.ndarray
    made: np.ndarray
    asked: np.ndarray


class Sampled(NamedTuple):
    """Moments within steps, at times (s) in order: poses and velocities of bodies, angles, both works (J)."""

    time: np.ndarray
    o: np.ndarray
    u: np.ndarray
    v: np.ndarray
    angles: np.ndarray
    works: np.ndarray


@shared
def trial_length(size, rate):
    """The length of a step by Euler's method that tells how rates change, from sizes of coordinates and rates in tolerances."""
    return 1e-6 if min(size, rate) < 1e-5 else 0.01 * size / rate


@shared
def first_length(trial, rate, change):
    """The length of a first step, after a trial of a length, from sizes of rates and of their change a second (II.4)."""
    most = max(rate, change)
    return min(100.0 * trial, max(1e-6, 1e-3 * trial) if most <= 1e-15 else (0.01 / most) ** 0.125)


@bare_part
def put_end(method, y, h, slopes, end):
    """Coordinates at the end of a step h from y."""
    for i in range(y.shape[0]):
        x = 0.0
        for j in range(12):
            x += method.last[j] * slopes[j, i]
        end[i] = y[i] + h * x


@bare_part
def put_dense(method, y, end, h, slopes, dense):
    """The parts (7, 2 n + 1) of the interpolation of order 7 in a step h from y to an end, from the slopes of all stages."""
    for i in range(y.shape[0]):
        change, first = end[i] - y[i], h * slopes[0, i]
        dense[0, i], dense[1, i], dense[2, i] = change, first - change, 2.0 * change - (h * slopes[12, i] + first)
        for j in range(4):
            x = 0.0
            for s in range(16):
                x += method.between[j, s] * slopes[s, i]
            dense[3 + j, i] = h * x


@bare_part
def put_within(y, dense, x, point):
    """Coordinates at the share x of a step from y, from the parts of its interpolation."""
    for i in range(y.shape[0]):
        z = 0.0
        for j in range(6, -1, -1):
            z = (z + dense[j, i]) * (1.0 - x if j % 2 else x)
        point[i] = y[i] + z
