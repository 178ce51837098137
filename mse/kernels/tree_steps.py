"""Steps of trees of rigid bodies by the method of order 8 of Dormand and Prince, many in one call.

Errors are controlled as in DOP853 (:mod:`mse.kernels.steps`), but an error is that of the coordinate with the largest one.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from .by_address import GOOD, NOT_GOOD, called
from .jit import bare_part, kept
from .steps import (
    ALL,
    FAILED,
    FIRST,
    NO_INERTIA,
    NONE,
    REACHED,
    ROUNDED,
    SECOND,
    STEP,
    Method,
    Passed,
    Sampled,
    first_length,
    put_dense,
    put_end,
    put_within,
    trial_length,
)  # fmt: skip
from .tree_accelerations import accelerate
from .tree_nodes import A
from .tree_poses import begin_step, put_bodies
from .trees import BALL, HINGE, SLIDE, place, tree_arguments


@bare_part
def _put_stages(tree, rows, method, time, y, h, first, last, slopes, point):
    """Slopes (s, 2 n + 2) of stages of a step h from a time and y; REACHED, or why there are none."""
    for s in range(first, last):
        for i in range(y.shape[0]):
            point[i] = 0.0
        for j in range(s):
            x, row = method.weights[s, j], slopes[j]
            if x != 0.0:
                for i in range(y.shape[0]):
                    point[i] += x * row[i]
        for i in range(y.shape[0]):
            point[i] = y[i] + h * point[i]
        found = accelerate(tree, rows, time + h * method.nodes[s], point, slopes[s])
        if found != GOOD:
            return NO_INERTIA if found == NOT_GOOD else FAILED
    return REACHED


@bare_part
def _put_tolerances(tree, rows, method, v, tolerances):
    """Absolute tolerances (2 n,) of coordinates and rates, from accelerations; the speed (m/s) of what moves fastest."""
    n, size, speed, pull = tolerances.shape[0] // 2, method.limits[1], 0.0, 0.0
    for i in range(v.shape[0]):
        speed = max(speed, abs(v[i]) * (size if i % 6 >= 3 else 1.0))
    for k in range(1, tree.nodes.shape[0]):
        for i in range(3):
            pull = max(pull, abs(rows[k, A + i] + tree.gravity[i]), size * abs(rows[k, A + 3 + i]))
    speed = max(speed, sqrt(size * pull))
    if not speed > method.limits[5] * size:
        speed = size
    for k in range(1, tree.nodes.shape[0]):
        kind, at = tree.nodes[k, 1], tree.nodes[k, 2]
        metric = 1.0 if kind == SLIDE else size
        for i in range(at, at + (3 if kind == BALL else 1 if kind else 0)):
            tolerances[i] = method.limits[0] * size / metric
            tolerances[n + i] = method.limits[0] * method.limits[2] * speed / metric
    return speed


@bare_part
def _error(method, y, end, h, slopes, tolerances):
    """The largest error of a coordinate in tolerances."""
    largest, n = 0.0, tolerances.shape[0] // 2
    for i in range(tolerances.shape[0]):
        fifth = third = 0.0
        for s in range(12):
            fifth += method.errors[0, s] * slopes[s, i]
            third += method.errors[1, s] * slopes[s, i]
        scale = tolerances[i] + method.limits[0] * max(abs(y[i]), abs(end[i]))
        if i >= n:
            scale += ROUNDED / method.limits[0] * tolerances[i - n] / h
        fifth, third = (fifth / scale) ** 2, (third / scale) ** 2
        x = fifth + 0.01 * third
        if not x < np.inf:
            return np.inf
        if x > 0.0:
            largest = max(largest, h * fifth / sqrt(x))
    return largest


@bare_part
def _try_length(method, y, tolerances, slopes):
    """The length of a step by Euler's method that tells how rates change, from the sizes of coordinates and rates."""
    near = rate = 0.0
    for i in range(tolerances.shape[0]):
        scale = tolerances[i] + method.limits[0] * abs(y[i])
        near, rate = max(near, abs(y[i]) / scale), max(rate, abs(slopes[0, i]) / scale)
    return trial_length(near, rate)


@bare_part
def _first_length(method, y, tolerances, slopes, h):
    """The length of a first step, from the sizes of rates and of their change in a step h (Hairer, II.4)."""
    most = change = 0.0
    for i in range(tolerances.shape[0]):
        scale = tolerances[i] + method.limits[0] * abs(y[i])
        most, change = max(most, abs(slopes[0, i]) / scale), max(change, abs(slopes[1, i] - slopes[0, i]) / scale / h)
    return first_length(h, most, change)


@bare_part
def _put_samples(tree, rows, passed, s, y, dense, point, slope, sampled, first):
    """Moments from a number on that lie within a step from y that was made; the number of the one that follows."""
    for m in range(first, sampled.time.shape[0]):
        x = (sampled.time[m] - passed.time[s]) / passed.made[s]
        if sampled.time[m] > passed.time[s + 1]:
            return m
        put_within(y, dense, x, point)
        place(tree, rows, point, slope)
        put_bodies(tree, rows, point, sampled.o[m], sampled.u[m], sampled.v[m])
        _put_angles(tree, passed.angles[s], point, sampled.angles[m])
        sampled.works[m, 0], sampled.works[m, 1] = point[y.shape[0] - 2], point[y.shape[0] - 1]
    return sampled.time.shape[0]


@bare_part
def _put_angles(tree, begin, y, angles):
    """Angles of nodes at coordinates y of a step, from those at its begin."""
    for k in range(tree.nodes.shape[0]):
        angles[k] = begin[k] + (y[tree.nodes[k, 2]] if tree.nodes[k, 1] == HINGE else 0.0)


@bare_part
def _longest(tree, y, turn):
    """The length of a step in which no ball joint turns further than that (rad)."""
    n, longest = (y.shape[0] - 2) // 2, np.inf
    for k in range(1, tree.nodes.shape[0]):
        if tree.nodes[k, 1] == BALL:
            x, at = 0.0, n + tree.nodes[k, 2]
            for i in range(at, at + 3):
                x += y[i] * y[i]
            if x > 0.0:
                longest = min(longest, turn / sqrt(x))
    return longest


@kept(nogil=True, error_model="numpy")
def march(tree, rows, method, passed, until, sampled, dense):
    """Make steps until a time (s) is passed, there is no room for more, or all moments that are asked for have come.

    Gives how many, how many of these moments have come, and what ended them.  ``dense`` (7, 2 n + 2) are the parts of the last
    interpolation.
    """
    size, m = dense.shape[1], NONE
    y, end, point, slopes = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros((16, size))
    tolerances = np.zeros(size - 2)
    safe, least, most = method.factors[0], method.factors[1], method.factors[2]
    for s in range(passed.made.shape[0]):
        time, v, angles = passed.time[s], passed.v[s], passed.angles[s]
        if time >= until:
            return s, m, REACHED
        if tree.follow != 0:
            called(tree.follow, (tree.outside, tree.gravity, passed.o[s], passed.u[s]))
        begin_step(tree, rows, passed.o[s], passed.u[s], v, angles, y)
        y[size - 2], y[size - 1] = passed.works[s, 0], passed.works[s, 1]
        ended = _put_stages(tree, rows, method, time, y, 0.0, NONE, FIRST, slopes, point)
        if ended != REACHED:
            return s, m, ended
        speed = _put_tolerances(tree, rows, method, v, tolerances)
        h, follows = passed.foreseen[s], most
        passed.asked[s] = 1
        if h == 0.0:
            h = _try_length(method, y, tolerances, slopes)
            trial = h / method.weights[1, 0]
            if _put_stages(tree, rows, method, time, y, trial, FIRST, SECOND, slopes, point) == REACHED:
                h = _first_length(method, y, tolerances, slopes, h)
            passed.asked[s] = 2
        h = min(h, _longest(tree, y, method.limits[4]))
        shortest = method.limits[3] * max(method.limits[1] / speed, abs(time))
        while True:
            h = max(h, shortest)
            ended = _put_stages(tree, rows, method, time, y, h, FIRST, STEP, slopes, point)
            if ended != REACHED:
                return s, m, ended
            passed.asked[s] += 11
            put_end(method, y, h, slopes, end)
            error = _error(method, y, end, h, slopes, tolerances)
            change = min(most, safe * error**-0.125) if error > 0.0 else most
            if error < 1.0:
                break
            if h <= shortest or not h > 0.0:
                return s, m, FAILED
            h, follows = h * (max(least, change) if change < 1.0 else least), 1.0
        place(tree, rows, end, point)
        put_bodies(tree, rows, end, passed.o[s + 1], passed.u[s + 1], passed.v[s + 1])
        _put_angles(tree, angles, end, passed.angles[s + 1])
        passed.time[s + 1], passed.made[s] = time + h, h
        passed.works[s + 1, 0], passed.works[s + 1, 1] = end[size - 2], end[size - 1]
        passed.foreseen[s + 1] = h * min(follows, change)
        if m < sampled.time.shape[0] and sampled.time[m] <= time + h:
            ended = _put_stages(tree, rows, method, time, y, h, STEP, ALL, slopes, point)
            if ended != REACHED:
                return s, m, ended
            put_dense(method, y, end, h, slopes, dense)
            m = _put_samples(tree, rows, passed, s, y, dense, point, slopes[0], sampled, m)
            if m == sampled.time.shape[0]:
                return s + 1, m, REACHED
    return passed.made.shape[0], m, REACHED


def march_arguments() -> tuple:
    """Arguments of :func:`march` of the right types, to compile it."""
    row, table, stack, blocks = (np.zeros((0,) * axes) for axes in range(1, 5))
    method = Method(row, table, row, table, table, row, row)
    passed = Passed(stack, blocks, table, table, row, table, row, row, np.zeros(0, dtype=int))
    return tree_arguments(), table, method, passed, 0.0, Sampled(row, stack, blocks, table, table, table), table


@kept(nogil=True, error_model="numpy")
def between(tree, rows, passed, s, dense, sampled):
    """Moments within a step that was made, of which the parts of its interpolation are given."""
    size = dense.shape[1]
    y, point, slope = np.zeros(size), np.zeros(size), np.zeros(size)
    begin_step(tree, rows, passed.o[s], passed.u[s], passed.v[s], passed.angles[s], y)
    y[size - 2], y[size - 1] = passed.works[s, 0], passed.works[s, 1]
    _put_samples(tree, rows, passed, s, y, dense, point, slope, sampled, NONE)
