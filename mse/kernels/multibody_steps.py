"""Steps of rigid bodies on joints that close loops by the method of order 8 of Dormand and Prince, many in one call.

Errors and lengths of steps follow the rules of :mod:`mse.dynamics.explicit`, which makes the steps of other systems in numpy.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from .acting import FOLLOWING, acting_arguments
from .by_address import BROKEN, GOOD, NEAR, called
from .jit import bare_part, kept
from .multibody import run_arguments
from .multibody_rows import put_angles
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


class Rules(NamedTuple):
    """How steps of bodies are judged: ``metric`` (n,) makes velocities of coordinates to speeds (m/s).

    ``limits`` (5,) are those of :func:`mse.kernels.multibody.run`.  ``apart`` (4,) are the distance (m) by which rows may stay
    open, the pivot below which rounding denies the tolerance, and by which factor and how often a step is made shorter where that
    pivot shows.  The rest is room: for the gaps (4,) of ``run`` and whether
    constraints of stages are restored, which rows are independent (R,), the same where constraints are restored, and further
    forces (n + 2,); for coordinates at the begin and twice at the end of a step (3, 2 n + 2), slopes of its stages (16, 2 n + 2)
    and tolerances (2 n,).  March allocates nothing: without counting who refers to an array it compiles
    in three quarters of the time.
    """

    metric: np.ndarray
    limits: np.ndarray
    apart: np.ndarray
    gaps: np.ndarray
    independent: np.ndarray
    loose: np.ndarray
    extra: np.ndarray
    ends: np.ndarray
    slopes: np.ndarray
    tolerances: np.ndarray


@bare_part
def _put_tolerances(method, rules, y, slope, tolerances):
    """Absolute tolerances (2 n,) of coordinates and velocities; the speed (m/s) of what moves fastest, or soon will."""
    n, size, fastest, pull = rules.metric.shape[0], method.limits[1], 0.0, 0.0
    for i in range(n):
        fastest, pull = max(fastest, rules.metric[i] * abs(y[n + i])), max(pull, rules.metric[i] * abs(slope[n + i]))
    speed = max(fastest, sqrt(size * pull))
    if not speed > method.limits[5] * size:
        speed = size
    for i in range(n):
        tolerances[i] = method.limits[0] * size / rules.metric[i]
        tolerances[n + i] = method.limits[0] * method.limits[2] * speed / rules.metric[i]
    return speed


@bare_part
def _scale(method, tolerances, y, end, i):
    return tolerances[i] + method.limits[0] * max(abs(y[i]), abs(end[i]))


@bare_part
def _error(method, y, end, h, slopes, tolerances):
    """The error of a step in tolerances, as Hairer's DOP853 estimates it."""
    fifth, third, n = 0.0, 0.0, tolerances.shape[0] // 2
    for i in range(tolerances.shape[0]):
        a = b = 0.0
        for s in range(12):
            a += method.errors[0, s] * slopes[s, i]
            b += method.errors[1, s] * slopes[s, i]
        scale = _scale(method, tolerances, y, end, i)
        if i >= n:
            scale += ROUNDED / method.limits[0] * tolerances[i - n] / h
        fifth, third = fifth + (a / scale) ** 2, third + (b / scale) ** 2
    total = fifth + 0.01 * third
    if not total < np.inf:
        return np.inf
    return h * fifth / sqrt(total * y.shape[0]) if total > 0.0 else 0.0


@bare_part
def _mean(method, y, x, tolerances):
    """Root mean square of x in tolerances at y."""
    total = 0.0
    for i in range(tolerances.shape[0]):
        total += (x[i] / _scale(method, tolerances, y, y, i)) ** 2
    return sqrt(total / y.shape[0])


@bare_part
def _longest(y, turn):
    """The length of a step in which no body turns further than that (rad) about an axis."""
    n, fastest = (y.shape[0] - 2) // 2, 0.0
    for i in range(n + 3, 2 * n, 6):
        fastest = max(fastest, abs(y[i]), abs(y[i + 1]), abs(y[i + 2]))
    return turn / fastest if fastest > 0.0 else np.inf


@bare_part
def _asked(own, begin, method, y, h, first, last, slopes):
    """REACHED if slopes of some stages are found; near to a dead point, constraints are restored in all stages of a step."""
    run, model, work, exerting, rules = own
    time, place = begin
    gaps, found = rules.gaps, NEAR
    if first <= 1:
        gaps[4] = 0.0
    while found == NEAR:
        gaps[3], restoring = 1.0, gaps[4] > 0.0
        stages = time, y, h, method.nodes, method.weights, first, last, restoring
        found = called(
            run, (model, work, *exerting, *place, rules.extra, rules.independent, *stages, slopes, rules.limits, gaps)
        )
        if found == NEAR:
            gaps[4] = 1.0
    return REACHED if found == GOOD else FAILED if found == BROKEN else NO_INERTIA


@bare_part
def _settled(own, begin, time, method, y, slopes, to):
    """Whether constraints are restored at y and a time, where velocities change, too; poses of bodies and angles there."""
    run, model, work, exerting, rules = own
    place = begin[1]
    for r in range(rules.loose.shape[0]):
        rules.loose[r] = rules.independent[r]
    rules.gaps[3] = 1.0
    stages = time, y, 0.0, method.nodes, method.weights, 0, 0, True
    found = called(
        run, (model, work, *exerting, *place, rules.extra, rules.loose, *stages, slopes, rules.limits, rules.gaps)
    )
    if found != GOOD or not rules.gaps[2] <= rules.apart[0]:
        return False
    for b in range(1, work.o.shape[0]):
        for i in range(3):
            to[0][b, i] = work.o[b, i]
            for j in range(3):
                to[1][b, i, j] = work.u[b, i, j]
    put_angles(model, work, place[2], to[2])
    return True


@bare_part
def _first_length(own, begin, method, y, tolerances, slopes, longest, room):
    """The length of a first step, from the sizes of rates and of their change (Hairer, II.4); negative where there is none."""
    rate, size = _mean(method, y, slopes[0], tolerances), _mean(method, y, y, tolerances)
    h = min(trial_length(size, rate), longest)
    if _asked(own, begin, method, y, h / method.weights[1, 0], FIRST, SECOND, slopes) != REACHED:
        return -1.0
    for i in range(y.shape[0]):
        room[i] = slopes[1, i] - slopes[0, i]
    return first_length(h, rate, _mean(method, y, room, tolerances) / h)


@bare_part
def _taken(own, begin, method, speed, lengths, y, ends, slopes, tolerances, to):
    """A step that keeps the tolerance, tried from the first of two lengths (s) down to the second.

    Returns its length, the length of the next step, the number of trials, and REACHED or the reason why there is none.  The first
    of ``ends`` gets the coordinates at the end, the second the same with restored constraints, ``to`` the poses and angles.
    """
    rules, (h, shortest), (end, point), tried = own[4], lengths, ends, 0
    safe, least, follows = method.factors[0], method.factors[1], method.factors[2]
    elsewhere, at_ends, whole = 0, 0, 0.0  # how often stages, and ends, were moved away from a dead point
    while True:
        h = max(h, shortest)
        ended = _asked(own, begin, method, y, h, FIRST, STEP, slopes)
        if ended != REACHED:
            return h, h, tried, ended
        tried += 1
        dead = rules.gaps[3] < rules.apart[1]
        put_end(method, y, h, slopes, end)
        for i in range(y.shape[0]):
            point[i] = end[i]
        error = _error(method, y, end, h, slopes, tolerances)
        change = min(method.factors[2], safe * error**-0.125) if error > 0.0 else method.factors[2]
        if not error < 1.0 and dead and elsewhere < rules.apart[3]:
            h, elsewhere = rules.apart[2] * h, elsewhere + 1
            continue
        shorter = max(least, change) if change < 1.0 else least
        if error < 1.0:
            shorter = least  # a shorter step may be nearer to where joints close
            if _settled(own, begin, begin[0] + h, method, point, slopes, to):
                if rules.gaps[3] < rules.apart[1] and at_ends <= rules.apart[3]:
                    whole = whole if at_ends else h
                    h, at_ends = rules.apart[2] * h if at_ends < rules.apart[3] else whole, at_ends + 1
                    continue
                # what constraints had to correct is an error, too, which the method's own estimate may miss
                apart = max(rules.gaps[0] / method.limits[1], rules.gaps[1] / speed) / method.limits[0]
                closer = safe * apart**-0.125 if apart > 0.0 else change
                if apart <= 1.0:
                    return h, h * min(follows, change, closer), tried, REACHED
                shorter = max(least, closer)
        if h <= shortest or not h > 0.0:
            return h, h, tried, FAILED
        h, follows = h * shorter, 1.0


@bare_part
def _put_samples(own, begin, method, passed, s, point, y, slopes, sampled, dense, m):
    """Moments from the number m on within a step; the number of the one that follows, and REACHED or FAILED if one is missing."""
    while m < sampled.time.shape[0] and sampled.time[m] <= passed.time[s + 1]:
        x = (sampled.time[m] - passed.time[s]) / passed.made[s]
        put_within(y, dense, x, point)
        to = sampled.o[m], sampled.u[m], sampled.angles[m]
        if not _settled(own, begin, sampled.time[m], method, point, slopes, to):
            return m, FAILED
        _put_velocities(point, sampled.v[m], sampled.works[m])
        m += 1
    return m, REACHED


@bare_part
def _put_velocities(y, v, works):
    """Velocities (n,) and works (2,) from the coordinates of a step."""
    for i in range(v.shape[0]):
        v[i] = y[v.shape[0] + i]
    works[0], works[1] = y[2 * v.shape[0]], y[2 * v.shape[0] + 1]


@kept(nogil=True, error_model="numpy", _nrt=False)
def march(run, model, work, ask, exert, acting, method, rules, passed, until, sampled, dense, rows):
    """See :func:`mse.kernels.tree_steps.march`; the angles are those on which springs act.

    ``run``, ``ask`` and ``exert`` are addresses, the last one of :mod:`.acting` and 0 if nothing is ``acting``; see ``run``.

    ``dense`` (k, 7, 2 n + 2) are the parts of the last interpolation, or if no moments are asked for, of those in all steps, and
    ``rows`` (k, R) which ones were independent there.
    """
    n, m, own = rules.metric.shape[0], np.int64(0), (run, model, work, (ask, exert, acting), rules)
    y, ends, slopes, tolerances = rules.ends[0], (rules.ends[1], rules.ends[2]), rules.slopes, rules.tolerances
    for s in range(passed.made.shape[0]):
        time, place = passed.time[s], (passed.o[s], passed.u[s], passed.angles[s])
        begin = time, place
        if time >= until:
            return s, m, REACHED
        if exert != 0:
            called(exert, (acting, model.gravity, place[0], place[1], work.motion, rules.extra, FOLLOWING))
        for i in range(n):
            y[i], y[n + i] = 0.0, passed.v[s, i]
        y[2 * n], y[2 * n + 1] = passed.works[s, 0], passed.works[s, 1]
        ended = _asked(own, begin, method, y, 0.0, NONE, FIRST, slopes)
        if ended != REACHED:
            return s, m, ended
        speed = _put_tolerances(method, rules, y, slopes[0], tolerances)
        h, longest, first = passed.foreseen[s], _longest(y, method.limits[4]), passed.foreseen[s] == 0.0
        if first:
            h = _first_length(own, begin, method, y, tolerances, slopes, longest, ends[0])
            if h < 0.0:
                return s, m, NO_INERTIA
        lengths = min(h, longest), method.limits[3] * max(method.limits[1] / speed, abs(time))
        to = passed.o[s + 1], passed.u[s + 1], passed.angles[s + 1]
        h, follows, tried, ended = _taken(own, begin, method, speed, lengths, y, ends, slopes, tolerances, to)
        if ended != REACHED:
            return s, m, ended
        _put_velocities(ends[1], passed.v[s + 1], passed.works[s + 1])
        passed.time[s + 1], passed.made[s], passed.foreseen[s + 1] = time + h, h, follows
        passed.asked[s] = 1 + first + 11 * tried
        last = sampled.time.shape[0]
        if last == 0 or sampled.time[m] <= time + h:
            ended = _asked(own, begin, method, y, h, STEP, ALL, slopes)
            if ended != REACHED:
                return s, m, ended
            at = 0 if last else s
            put_dense(method, y, ends[0], h, slopes, dense[at])
            for r in range(rows.shape[1]):
                rows[at, r] = rules.independent[r]
            m, ended = _put_samples(own, begin, method, passed, s, ends[1], y, slopes, sampled, dense[at], m)
            if ended != REACHED:
                return s, m, ended
            if 0 < last == m:
                return s + 1, m, REACHED
    return passed.made.shape[0], m, REACHED


def march_arguments() -> tuple:
    """Arguments of :func:`march` of the right types, to compile it."""
    row, table, stack, blocks = (np.zeros((0,) * axes) for axes in range(1, 5))
    model, work, *_, independent = run_arguments()[:10]
    passed = Passed(stack, blocks, table, table, row, table, row, row, np.zeros(0, dtype=int))
    rules = Rules(row, row, row, row, independent, independent, row, table, table, row)
    sampled = Sampled(row, stack, blocks, table, table, table)
    return (
        0,
        model,
        work,
        0,
        0,
        acting_arguments(),
        Method(row, table, row, table, table, row, row),
        rules,
        passed,
        0.0,
        sampled,
        stack,
        np.zeros((0, 0), dtype=bool),
    )
