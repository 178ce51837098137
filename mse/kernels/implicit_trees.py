"""Trees of rigid bodies as systems of :mod:`mse.kernels.implicit_steps`."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from . import implicit_steps
from .by_address import GOOD, address, called, from_memory
from .jit import kept
from .tree_accelerations import accelerate
from .tree_poses import begin_step, put_bodies
from .trees import BALL, HINGE, Tree, place, tree_arguments


def given(tree: Tree, rows: np.ndarray, size: int) -> tuple:
    """What these kernels find at their address, of a tree with so many coordinates, rates and works."""
    return tree, rows, np.zeros(len(tree.nodes)), np.zeros(size)


def example() -> tuple:
    """What is given of a tree, for its types."""
    return given(tree_arguments(), np.zeros((0, 0)), 0)


_given = from_memory(example())


@kept(no_cpython_wrapper=True, error_model="numpy", _nrt=False)
def put_begin(at, time, o, u, v, angles, y, gaps):
    """Coordinates y (2 n + 2,) at the begin of a step, where ``begin`` are the angles."""
    tree, rows, begin, _ = _given(at)
    if tree.follow != 0:
        called(tree.follow, (tree.outside, tree.gravity, o, u))
    begin_step(tree, rows, o, u, v, angles, y)
    n, gaps[0] = (y.shape[0] - 2) // 2, 0.0
    for k in range(tree.nodes.shape[0]):
        begin[k] = angles[k]
        if tree.nodes[k, 1] == BALL:
            for i in range(n + tree.nodes[k, 2], n + tree.nodes[k, 2] + 3):
                gaps[0] = max(gaps[0], abs(y[i]))
    return GOOD


@kept(no_cpython_wrapper=True, error_model="numpy", _nrt=False)
def put_slopes(at, time, y, out):
    """Slopes (2 n + 2,) at coordinates y; see :func:`.tree_accelerations.accelerate`."""
    tree, rows, _, _ = _given(at)
    return accelerate(tree, rows, time, y, out)


@kept(no_cpython_wrapper=True, error_model="numpy", _nrt=False)
def put_poses(at, time, y, o, u, v, angles, gaps):
    """Poses, velocities and angles at coordinates y."""
    tree, rows, begin, point = _given(at)
    place(tree, rows, y, point)
    put_bodies(tree, rows, y, o, u, v)
    for k in range(tree.nodes.shape[0]):
        angles[k] = begin[k] + (y[tree.nodes[k, 2]] if tree.nodes[k, 1] == HINGE else 0.0)
    gaps[0] = gaps[1] = 0.0
    return GOOD


def kernels() -> list[tuple]:
    """All kernels of such steps, and arguments of the right types.

    Slopes come first: a process that has compiled explicit steps has compiled their parts.
    """
    row, table, stack = (np.zeros((0,) * axes) for axes in range(1, 4))
    return [
        (put_slopes, (0, 0.0, row, row)), *implicit_steps.kernels(), (put_begin, (0, 0.0, table, stack, row, row, row, row)),
        (put_poses, (0, 0.0, row, table, stack, row, row, row)),
    ]  # fmt: skip


@lru_cache
def addresses() -> tuple[int, ...]:
    """Where the code of the kernels is, in the order of :class:`.implicit_steps.Own`."""
    return tuple(address(*one) for one in kernels() if one[0] is not implicit_steps.march)
