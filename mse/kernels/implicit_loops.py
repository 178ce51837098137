"""Rigid bodies on joints that close loops as systems of :mod:`mse.kernels.implicit_steps`."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from . import implicit_steps
from .acting import FOLLOWING, Acting, acting_arguments
from .by_address import GOOD, NOT_GOOD, address, called, from_memory
from .jit import kept
from .multibody import Model, Work, run, run_arguments
from .multibody_rows import put_angles


class Rooms(NamedTuple):
    """Arrays for calls of :func:`mse.kernels.multibody.run`.

    These are poses and angles at the begin of a step; further forces (n + 2,), of which there are none; which rows are
    independent (R,), and the same where constraints are restored; limits (5,) of ``run``, with the distance (m) behind them by
    which rows may stay open; gaps (4,), nodes and weights of no stages, and slopes (2, 2 n + 2).
    """

    o: np.ndarray
    u: np.ndarray
    angles: np.ndarray
    extra: np.ndarray
    independent: np.ndarray
    loose: np.ndarray
    limits: np.ndarray
    gaps: np.ndarray
    weights: np.ndarray
    slopes: np.ndarray


def given(
    runs: int, model: Model, work: Work, exerting: tuple[int, int, Acting], limits: np.ndarray, angles: int, rows: int
) -> tuple:
    """What these kernels find at their address, of bodies of which so many angles are followed and so many rows hold."""
    n, bodies = len(work.terms), len(work.o)
    rooms = Rooms(
        np.zeros((bodies, 3)), np.zeros((bodies, 3, 3)), np.zeros(angles), np.zeros(n + 2), np.ones(rows, dtype=bool),
        np.ones(rows, dtype=bool), limits, np.zeros(4), np.zeros((2, 2)), np.zeros((2, 2 * n + 2)),
    )  # fmt: skip
    return runs, model, work, *exerting, rooms


def example() -> tuple:
    """What is given of bodies, for its types."""
    model, work = run_arguments()[:2]
    return given(0, model, work, (0, 0, acting_arguments()), np.zeros(0), 0, 0)


_given = from_memory(example())


@kept(no_cpython_wrapper=True, error_model="numpy", _nrt=False)
def put_begin(at, time, o, u, v, angles, y, gaps):
    """Coordinates y (2 n + 2,) at the begin of a step, where it is found which rows are independent."""
    runs, model, work, ask, exert, acting, rooms = _given(at)
    n, gaps[0] = v.shape[0], 0.0
    for b in range(o.shape[0]):
        for i in range(3):
            rooms.o[b, i] = o[b, i]
            for j in range(3):
                rooms.u[b, i, j] = u[b, i, j]
    for k in range(angles.shape[0]):
        rooms.angles[k] = angles[k]
    for i in range(n):
        y[i], y[n + i] = 0.0, v[i]
        if i % 6 >= 3:
            gaps[0] = max(gaps[0], abs(v[i]))
    if exert != 0:
        called(exert, (acting, model.gravity, rooms.o, rooms.u, work.motion, rooms.extra, FOLLOWING))
    given = model, work, ask, exert, acting, rooms.o, rooms.u, rooms.angles, rooms.extra, rooms.independent
    stage = time, y, 0.0, rooms.weights[0], rooms.weights, 0, 1, False
    return called(runs, (*given, *stage, rooms.slopes, rooms.limits, rooms.gaps))


@kept(no_cpython_wrapper=True, error_model="numpy", _nrt=False)
def put_slopes(at, time, y, out):
    """Slopes (2 n + 2,) at coordinates y; GOOD unless some body has no mass along a motion, or a dead point is near."""
    runs, model, work, ask, exert, acting, rooms = _given(at)
    given = model, work, ask, exert, acting, rooms.o, rooms.u, rooms.angles, rooms.extra, rooms.independent
    stage = time, y, 0.0, rooms.weights[0], rooms.weights, 1, 2, False
    found = called(runs, (*given, *stage, rooms.slopes, rooms.limits, rooms.gaps))
    for i in range(out.shape[0]):
        out[i] = rooms.slopes[1, i]
    return found


@kept(no_cpython_wrapper=True, error_model="numpy", _nrt=False)
def put_poses(at, time, y, o, u, v, angles, gaps):
    """Poses, velocities and angles at coordinates y, with constraints restored, so that velocities in y change, too."""
    runs, model, work, ask, exert, acting, rooms = _given(at)
    n = v.shape[0]
    for r in range(rooms.loose.shape[0]):
        rooms.loose[r] = rooms.independent[r]
    given = model, work, ask, exert, acting, rooms.o, rooms.u, rooms.angles, rooms.extra, rooms.loose
    stage = time, y, 0.0, rooms.weights[0], rooms.weights, 0, 0, True
    found = called(runs, (*given, *stage, rooms.slopes, rooms.limits, rooms.gaps))
    gaps[0], gaps[1] = rooms.gaps[0], rooms.gaps[1]
    if found != GOOD or not rooms.gaps[2] <= rooms.limits[5]:
        return NOT_GOOD
    for b in range(1, o.shape[0]):
        for i in range(3):
            o[b, i] = work.o[b, i]
            for j in range(3):
                u[b, i, j] = work.u[b, i, j]
    for i in range(n):
        v[i] = y[n + i]
    put_angles(model, work, rooms.angles, angles)
    return GOOD


def kernels() -> list[tuple]:
    """All kernels of such steps, and arguments of the right types."""
    row, table, stack = (np.zeros((0,) * axes) for axes in range(1, 4))
    return [
        (run, run_arguments()), (put_slopes, (0, 0.0, row, row)), *implicit_steps.kernels(),
        (put_begin, (0, 0.0, table, stack, row, row, row, row)), (put_poses, (0, 0.0, row, table, stack, row, row, row)),
    ]  # fmt: skip


@lru_cache
def addresses() -> tuple[int, ...]:
    """Where the code of the kernels but ``run`` is, in the order of :class:`.implicit_steps.Own`."""
    return tuple(address(*one) for one in kernels()[1:] if one[0] is not implicit_steps.march)
