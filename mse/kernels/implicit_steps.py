"""Steps of rigid bodies by Radau IIA of order 5, many in one call.

Of ``x' = r(x, v)``, ``v' = a(t, x, v)`` three stages are solved together by Newton's method.  Charts are centered where a step
begins, so that r = v is near enough for its matrices ``s^2 - s A_v - A_x``, with the slopes A of accelerations by differences.
:mod:`mse.dynamics.implicit` makes the steps of all other systems, by the same method, error estimate and step control.

Trees and loops have three kernels each (:mod:`.implicit_trees`, :mod:`.implicit_loops`), which are called by their addresses.
One puts coordinates at the begin of a step, one slopes at coordinates, one poses at coordinates.  Their first arguments are
``given``, the address of the data of the system, and a time (s).  They return GOOD, or another number where nothing is found.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from .by_address import GOOD, called, done
from .jit import bare_part, kept
from .steps import FAILED, NO_INERTIA, REACHED, Passed, Sampled

ONE, TWO = np.int64(0), np.int64(1)  # the systems of Newton's method, of numpy (jit.py)


class Limits(NamedTuple):
    """What steps keep to.

    ``rtol`` is the relative tolerance, ``size`` that of the system (m), ``estimated`` the tolerance of the estimated error, and
    ``close`` the change in such tolerances at which Newton's method ends in a step, ``close_within`` for a moment in one.
    ``idle`` is the least relative change of a time, ``turn`` how far a body turns in a step (rad), ``rest`` the sizes a second
    below which speeds are rest, ``long`` the longest time (s) whose least change is counted.  ``nudge`` is the relative change
    of positions and velocities that differentiates accelerations.  ``safe``, ``least`` and ``most`` are factors on the step that
    an error allows, ``iterations`` how many there are at most, and ``first`` is the share of a first step.
    ``varying`` is 1 where inputs vary with time.
    """

    rtol: float
    size: float
    estimated: float
    close: float
    close_within: float
    idle: float
    turn: float
    rest: float
    long: float
    nudge: float
    safe: float
    least: float
    most: float
    iterations: int
    first: float
    varying: int


class Radau(NamedTuple):
    """Coefficients, and ``limits``.

    ``nodes`` (3,) of the stages, ``inverse`` (3, 3) of their weights, ``last`` (3,) of them, its eigenvalues (2,), eigenvectors
    and their inverse (3, 3), and the weights (3,) of the error.  ``metric`` (n,) makes coordinates to distances (m).
    """

    nodes: np.ndarray
    inverse: np.ndarray
    last: np.ndarray
    values: np.ndarray
    vectors: np.ndarray
    back: np.ndarray
    errors: np.ndarray
    metric: np.ndarray
    limits: Limits


class Stages(NamedTuple):
    """Room for a step: coordinates y (N,) at its begin and of a point, slopes at the begin (N,) and where the system is asked.

    ``end`` and ``inside`` (N,) are coordinates at its end, and of a moment within.  ``z`` (3, 2 n) is what stages are off from
    the begin, ``whole`` (3, 2 n) the same of a step that was made, ``slopes`` (3, N) are theirs.  ``by_x`` and ``by_v`` (n, n)
    are the slopes of accelerations.  Of both systems, the real one first, there are ``factors`` (2, n, n), ``pivots`` (2, n) and
    the ``right`` sides (2, 2, n), in whose place is what was found for them.  ``gaps`` (4,) are the largest angular rate (rad/s)
    at the begin of a step, or by which distance (m) and speed (m/s) rows were open, the error of a step in tolerances, and the
    time (s) in which something moves by the size of the system.
    """

    y: np.ndarray
    point: np.ndarray
    first: np.ndarray
    asked: np.ndarray
    end: np.ndarray
    inside: np.ndarray
    z: np.ndarray
    whole: np.ndarray
    slopes: np.ndarray
    by_x: np.ndarray
    by_v: np.ndarray
    factors: np.ndarray
    pivots: np.ndarray
    right: np.ndarray
    gaps: np.ndarray


class Own(NamedTuple):
    """Addresses of the kernels of a system and of its data.

    ``stages`` and ``factors`` are kernels of this module.  ``slopes``, ``begin`` and ``poses`` are kernels of the system's kind,
    which read its data at ``given``.
    """

    slopes: int
    stages: int
    factors: int
    begin: int
    poses: int
    given: int


@bare_part
def _asked(own, time, y, out):
    """Whether slopes (N,) are found at a time and y."""
    return called(own.slopes, (own.given, time, y, out)) == GOOD


@bare_part
def _speed_of(radau, y, slope):
    """The speed (m/s) of what moves fastest, or soon will."""
    n, size, fastest, pull = radau.metric.shape[0], radau.limits.size, 0.0, 0.0
    for i in range(n):
        fastest, pull = max(fastest, radau.metric[i] * abs(y[n + i])), max(pull, radau.metric[i] * abs(slope[n + i]))
    speed = max(fastest, sqrt(size * pull))
    return speed if speed > radau.limits.rest * size else size


@bare_part
def _differentiated(own, radau, room, time, speed):
    """Whether accelerations could be differentiated at the begin of a step."""
    n = radau.metric.shape[0]
    for i in range(room.y.shape[0]):
        room.point[i] = room.y[i]
    for j in range(2 * n):
        k = j % n
        step = radau.limits.nudge * (radau.limits.size if j < n else speed) / radau.metric[k]
        if j < n and room.y[n + k] < 0.0:  # ahead, as a law may have changed its formula right here
            step = -step
        room.point[j] = room.y[j] + step
        if not _asked(own, time, room.point, room.asked):
            return False
        room.point[j] = room.y[j]
        for i in range(n):
            slope = (room.asked[n + i] - room.first[n + i]) / step
            if j < n:
                room.by_x[i, k] = slope
            else:
                room.by_v[i, k] = slope
    return True


@kept(no_cpython_wrapper=True, error_model="numpy", _nrt=False)
def put_factors(radau, room, h, count):
    """Factors of the first matrices of a step h, rows exchanged, with inverses of the pivots in their places."""
    n = room.by_x.shape[0]
    for which in range(count):
        a, pivots, s = room.factors[which], room.pivots[which], radau.values[which] / h
        for i in range(n):
            for j in range(n):
                a[i, j] = s * ((s if i == j else 0.0) - room.by_v[i, j]) - room.by_x[i, j]
        for k in range(n):
            p, most = k, 0.0
            for i in range(k, n):
                size = abs(a[i, k].real) + abs(a[i, k].imag)
                if size > most:
                    p, most = i, size
            pivots[k] = p
            for j in range(n):
                x = a[k, j]
                a[k, j] = a[p, j]
                a[p, j] = x
            # numba's complex numbers raise an error where others become infinite
            inverse = 1.0 / a[k, k] if most > 0.0 else complex(np.nan, np.nan)
            for i in range(k + 1, n):
                x = a[i, k] * inverse
                a[i, k] = x
                if x != 0.0:
                    for j in range(k + 1, n):
                        a[i, j] -= x * a[k, j]
            a[k, k] = inverse


@bare_part
def _solve(radau, room, h, which):
    """Positions and velocities in the place of right sides (2, n) of ``s x - v = r1``, ``s v - A_x x - A_v v = r2``."""
    n, s = room.by_x.shape[0], radau.values[which] / h
    factors, pivots, x, v = room.factors[which], room.pivots[which], room.right[which, 0], room.right[which, 1]
    for i in range(n):
        total = s * v[i]
        for j in range(n):
            total += room.by_x[i, j] * x[j]
        v[i] = total
    for k in range(n):
        y = v[pivots[k]]
        v[pivots[k]] = v[k]
        v[k] = y
    for k in range(n):
        for i in range(k + 1, n):
            v[i] -= factors[i, k] * v[k]
    for k in range(n - 1, -1, -1):
        y = v[k]
        for j in range(k + 1, n):
            y -= factors[k, j] * v[j]
        v[k] = y * factors[k, k]
    inverse = 1.0 / s
    for i in range(n):
        x[i] = (x[i] + v[i]) * inverse


@bare_part
def _put_start(radau, room, h):
    """What stages are off, as a short step of Euler's method goes."""
    n, real = radau.metric.shape[0], radau.values[0].real
    for i in range(n):
        room.right[0, 0, i], room.right[0, 1, i] = room.first[i], room.first[n + i]
    _solve(radau, room, h, ONE)
    for k in range(3):
        along = radau.nodes[k]
        for i in range(n):
            straight = h * room.first[i]
            room.z[k, i] = along * straight + real * along * along * (real * room.right[0, 0, i].real - straight)
            room.z[k, n + i] = real * along * room.right[0, 1, i].real


@bare_part
def _put_start_within(radau, room, part):
    """What stages of a shorter step are off, on the polynomial of the whole one."""
    a, b = radau.nodes[0], radau.nodes[1]
    for k in range(3):
        x = part * radau.nodes[k]
        one = x * (x - b) * (x - 1.0) / (a * (a - b) * (a - 1.0))
        two = x * (x - a) * (x - 1.0) / (b * (b - a) * (b - 1.0))
        three = x * (x - a) * (x - b) / ((1.0 - a) * (1.0 - b))
        for i in range(room.z.shape[1]):
            room.z[k, i] = one * room.whole[0, i] + two * room.whole[1, i] + three * room.whole[2, i]


@bare_part
def _put_left(radau, room, h):
    """Right sides of Newton's method."""
    n = radau.metric.shape[0]
    for i in range(2 * n):
        one = two = 0.0j
        for k in range(3):
            left = room.slopes[k, i]
            for j in range(3):
                left -= radau.inverse[k, j] * room.z[j, i] / h
            one += radau.back[0, k] * left
            two += radau.back[1, k] * left
        room.right[0, i // n, i % n], room.right[1, i // n, i % n] = one, two


@bare_part
def _solved(own, radau, room, time, h, enough):
    """How many iterations of Newton's method make the stages of a step h from the present ones; 0 if it does not converge."""
    n, last, most = radau.metric.shape[0], np.inf, radau.limits.iterations
    for iteration in range(1, most + 1):
        for k in range(3):
            for i in range(2 * n):
                room.point[i] = room.y[i] + room.z[k, i]
            if not _asked(own, time + h * radau.nodes[k], room.point, room.asked):
                return 0
            for i in range(room.y.shape[0]):
                room.slopes[k, i] = room.asked[i]
        _put_left(radau, room, h)
        _solve(radau, room, h, ONE)
        _solve(radau, room, h, TWO)
        total = 0.0
        for i in range(2 * n):
            row, at = i // n, i % n
            weight = radau.metric[at] * (h if row else 1.0)
            for k in range(3):
                # the third eigenvalue is the conjugate of the second
                change = (radau.vectors[k, 0] * room.right[0, row, at]).real
                change += 2.0 * (radau.vectors[k, 1] * room.right[1, row, at]).real
                room.z[k, i] += change
                total += (weight * change) ** 2
        size = sqrt(total / (6 * n)) / (radau.limits.estimated * radau.limits.size)
        slower = size / last
        stalls = iteration > 2 and slower >= 1.0
        if not size < np.inf or (stalls and size > enough):
            return 0
        if stalls or size <= radau.limits.close * ((1.0 - slower) / slower if slower > 0.5 else 1.0):
            return iteration
        last = size
    return 0


@bare_part
def _filtered(own, radau, room, h, slope):
    """The error of a step h in tolerances, from slopes at its begin; what positions and velocities err stands on the right."""
    n, total, moved, size = radau.metric.shape[0], 0.0, 0.0, radau.limits.size
    for i in range(2 * n):
        x = slope[i]
        for k in range(3):
            x += radau.errors[k] * room.z[k, i] / h
        room.right[0, i // n, i % n] = x
    _solve(radau, room, h, ONE)
    for i in range(n):
        weight = radau.metric[i]
        total += (weight * room.right[0, 0, i].real) ** 2 + (h * weight * room.right[0, 1, i].real) ** 2
        moved += (weight * room.z[2, i]) ** 2
    share = min(max(sqrt(moved / (2 * n)) / size, radau.limits.rtol), 1.0) ** (1.0 / 3.0)
    error = sqrt(total / (2 * n)) / (radau.limits.estimated * size) / share
    if radau.limits.varying and error < 1.0:
        # an error of velocities moves on after the step: what it makes of positions in the time that motions take counts, too
        done(own.factors, (radau, room, radau.values[0].real * room.gaps[3], 1))
        total = 0.0
        for i in range(n):
            room.right[0, 0, i] = 0.0
        _solve(radau, room, radau.values[0].real * room.gaps[3], ONE)
        for i in range(n):
            total += (radau.metric[i] * room.right[0, 0, i].real / room.gaps[3]) ** 2
        error = max(error, sqrt(total / (2 * n)) / (radau.limits.estimated * size) / share)
    return error if error < np.inf else np.inf


@kept(no_cpython_wrapper=True, error_model="numpy", _nrt=False)
def put_stages(own, radau, room, time, h, part, repeated):
    """How many iterations make the stages of a step h from a time on, and its error into ``gaps``.

    There are 0 iterations if Newton's method does not converge.  RADAU5 filters the error once more where a step is
    ``repeated``.  The step is ``part`` of one that was made, for a moment there, if that is below one.
    """
    n, h = radau.metric.shape[0], part * h
    done(own.factors, (radau, room, h, 2))
    if part < 1.0:
        _put_start_within(radau, room, part)
        return _solved(own, radau, room, time, h, radau.limits.close_within)
    _put_start(radau, room, h)
    iterations = _solved(own, radau, room, time, h, radau.limits.close)
    if iterations:
        room.gaps[2] = _filtered(own, radau, room, h, room.first)
        if repeated and 1.0 <= room.gaps[2] < np.inf:
            for i in range(2 * n):
                room.point[i] = room.y[i] + room.right[0, i // n, i % n].real
            found = _asked(own, time, room.point, room.asked)
            room.gaps[2] = _filtered(own, radau, room, h, room.asked) if found else np.inf
    return iterations


@bare_part
def _put_end(radau, room, h, end):
    """Coordinates and works (N,) at the end of a step h whose stages are known."""
    n = radau.metric.shape[0]
    for i in range(room.y.shape[0]):
        if i < 2 * n:
            end[i] = room.y[i] + room.z[2, i]
        else:
            power = 0.0
            for k in range(3):
                power += radau.last[k] * room.slopes[k, i]
            end[i] = room.y[i] + h * power


@bare_part
def _change(radau, error, iterations):
    """The factor by which a step may change for an error in tolerances."""
    most = radau.limits.iterations
    safe = radau.limits.safe * (2.0 * most + 1.0) / (2.0 * most + iterations)
    return safe * error**-0.25 if error > 0.0 else radau.limits.most


@bare_part
def _begun(own, radau, room, passed, s):
    """Whether a step may begin, the speed (m/s) that it is measured by, and its least and its greatest length (s)."""
    n, time = radau.metric.shape[0], passed.time[s]
    start = passed.o[s], passed.u[s], passed.v[s], passed.angles[s]
    called(own.begin, (own.given, time, *start, room.y, room.gaps))
    turning = room.gaps[0]
    for k in range(room.y.shape[0] - 2 * n):
        room.y[2 * n + k] = passed.works[s, k]
    if not _asked(own, time, room.y, room.first):
        return False, 0.0, 0.0, 0.0
    speed = _speed_of(radau, room.y, room.first)
    room.gaps[3] = radau.limits.size / speed
    pace = min(room.gaps[3], radau.limits.long)
    found = _differentiated(own, radau, room, time, speed)
    return (
        found,
        speed,
        radau.limits.idle * max(pace, abs(time)),
        radau.limits.turn / turning if turning > 0.0 else np.inf,
    )


@bare_part
def _taken(own, radau, room, time, first, lengths, speed, to):
    """A step that keeps the tolerance, tried from the first of two lengths (s) down to the second.

    Returns its length, that of the next step, the iterations of all trials, and REACHED or FAILED.  The coordinates at its end
    are those of ``room``, and poses, velocities and angles are put into ``to``.
    """
    (h, shortest), most, iterations = lengths, radau.limits.most, 0
    while True:
        h = max(h, shortest)
        many = called(own.stages, (own, radau, room, time, h, 1.0, first or most == 1.0))
        error = room.gaps[2]
        iterations += many if many else radau.limits.iterations
        factor = 0.5
        if many:
            factor = min(radau.limits.most, _change(radau, error, many))
            if error < 1.0:
                _put_end(radau, room, h, room.end)
                if called(own.poses, (own.given, time + h, room.end, *to, room.gaps)) == GOOD:
                    apart = max(room.gaps[0] / radau.limits.size, room.gaps[1] / speed) / radau.limits.rtol
                    if apart <= 1.0:
                        return h, h * min(most, factor), iterations, REACHED
                    factor = radau.limits.safe * apart**-0.25
                else:
                    factor = radau.limits.least
            factor = max(radau.limits.least, factor) if factor < 1.0 else radau.limits.least
        if h <= shortest or not h > 0.0:
            return h, h, iterations, FAILED
        h, most = factor * h, 1.0


@bare_part
def _put_samples(own, radau, room, passed, s, sampled, m):
    """Moments from the number m on within a step; the number of the one that follows, and REACHED or FAILED if one is missing."""
    for k in range(3):
        for i in range(room.z.shape[1]):
            room.whole[k, i] = room.z[k, i]
    while m < sampled.time.shape[0] and sampled.time[m] <= passed.time[s + 1]:
        y = room.end
        if sampled.time[m] < passed.time[s + 1]:
            part, y = (sampled.time[m] - passed.time[s]) / passed.made[s], room.inside
            if called(own.stages, (own, radau, room, passed.time[s], passed.made[s], part, False)) == 0:
                return m, FAILED
            _put_end(radau, room, part * passed.made[s], y)
        to = sampled.o[m], sampled.u[m], sampled.v[m], sampled.angles[m]
        if called(own.poses, (own.given, sampled.time[m], y, *to, room.gaps)) != GOOD:
            return m, FAILED
        for k in range(y.shape[0] - room.z.shape[1]):
            sampled.works[m, k] = y[room.z.shape[1] + k]
        m += 1
    return m, REACHED


@kept(nogil=True, error_model="numpy", _nrt=False)
def march(own, radau, room, passed, until, sampled):
    """See :func:`mse.kernels.tree_steps.march`."""
    m, n = np.int64(0), radau.metric.shape[0]
    for s in range(passed.made.shape[0]):
        time, h = passed.time[s], passed.foreseen[s]
        if time >= until:
            return s, m, REACHED
        found, speed, shortest, longest = _begun(own, radau, room, passed, s)
        if not found:
            return s, m, NO_INERTIA
        first = h == 0.0
        if first:
            h = radau.limits.first * radau.limits.size / speed
        to = passed.o[s + 1], passed.u[s + 1], passed.v[s + 1], passed.angles[s + 1]
        h, follows, iterations, ended = _taken(own, radau, room, time, first, (min(h, longest), shortest), speed, to)
        if ended != REACHED:
            return s, m, ended
        passed.time[s + 1], passed.made[s] = time + h, h
        for k in range(room.end.shape[0] - 2 * n):
            passed.works[s + 1, k] = room.end[2 * n + k]
        passed.foreseen[s + 1], passed.asked[s] = follows, 1 + 2 * n + 3 * iterations
        if m < sampled.time.shape[0] and sampled.time[m] <= time + h:
            m, ended = _put_samples(own, radau, room, passed, s, sampled, m)
            if ended != REACHED:
                return s, m, ended
            if m == sampled.time.shape[0]:
                return s + 1, m, REACHED
    return passed.made.shape[0], m, REACHED


def kernels() -> list[tuple]:
    """The kernels that trees and loops share, and arguments of the right types; the longest come first."""
    row, table, stack, blocks = (np.zeros((0,) * axes) for axes in range(1, 5))
    pairs, triples = np.zeros((0, 0), dtype=complex), np.zeros((0, 0, 0), dtype=complex)
    own = Own(0, 0, 0, 0, 0, 0)
    limits = Limits(*[0.0] * 13, 0, 0.0, 0)
    radau = Radau(row, table, row, np.zeros(0, dtype=complex), pairs, pairs, row, row, limits)
    room = Stages(*[row] * 6, *[table] * 5, triples, np.zeros((0, 0), dtype=int), triples, row)
    passed = Passed(stack, blocks, table, table, row, table, row, row, np.zeros(0, dtype=int))
    sampled = Sampled(row, stack, blocks, table, table, table)
    return [
        (put_stages, (own, radau, room, 0.0, 0.0, 0.0, False)), (march, (own, radau, room, passed, 0.0, sampled)),
        (put_factors, (radau, room, 0.0, 0)),
    ]  # fmt: skip
