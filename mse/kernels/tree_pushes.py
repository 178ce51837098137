"""Forces on a tree from elements and inputs other than springs of joints and lines.

Steps call these kernels by their address, so that steps are compiled without them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .acting import FOLLOWING, FORCES, Acting, acting_arguments
from .by_address import GOOD, address, called, from_memory
from .jit import kept
from .tree_poses import add_force, put_bodies
from .trees import tree_arguments


class Outside(NamedTuple):
    """What acts, as in :func:`mse.kernels.multibody.run`.

    ``ask`` and ``exert`` are addresses, 0 for none.  The rest is room: poses o (b + 1, 3), u (b + 1, 3, 3) and velocities of
    bodies, with the ground in ``motion`` (b + 1, 6) and without it in ``v`` (6 b,), which is a part of it; and ``extra`` forces
    (6 b + 2,), with powers of dampers and of others.
    """

    ask: int
    exert: int
    acting: Acting
    o: np.ndarray
    u: np.ndarray
    motion: np.ndarray
    v: np.ndarray
    extra: np.ndarray


def example() -> Outside:
    """What acts on nothing, for its types."""
    row, table, stack = (np.zeros((0,) * axes) for axes in range(1, 4))
    return Outside(0, 0, acting_arguments(), table, stack, table, row, row)


_given = from_memory(example())


@kept(no_cpython_wrapper=True, error_model="numpy", _nrt=False)
def push(at, tree, rows, time, y, out):
    """Add what acts on bodies to the forces of nodes, which are placed at y, and put its powers (W) to the end of out.

    The answer is GOOD, or what an address answered instead.
    """
    outside = _given(at)
    forces, last = outside.extra, y.shape[0] - 1
    put_bodies(tree, rows, y, outside.o, outside.u, outside.v)
    if outside.ask != 0:
        answer = called(outside.ask, (time, 0))
        if answer != GOOD:
            return answer
    if outside.exert != 0:
        answer = called(
            outside.exert, (outside.acting, tree.gravity, outside.o, outside.u, outside.motion, outside.extra, FORCES)
        )
        if answer != GOOD:
            return answer
        forces = outside.acting.total
    for k in range(1, tree.nodes.shape[0]):
        if tree.nodes[k, 3]:
            add_force(rows[k], tree.places[k], forces, 6 * tree.nodes[k, 3] - 6)
    out[last - 1], out[last] = forces[forces.shape[0] - 2], forces[forces.shape[0] - 1]
    return GOOD


@kept(no_cpython_wrapper=True, error_model="numpy", _nrt=False)
def follow(at, gravity, o, u):
    """Bring angles and turns that elements remember to poses of bodies."""
    outside = _given(at)
    if outside.exert != 0:
        called(outside.exert, (outside.acting, gravity, o, u, outside.motion, outside.extra, FOLLOWING))
    return GOOD


def kernels() -> list[tuple]:
    """Both kernels, and arguments of the right types."""
    row, table, stack = (np.zeros((0,) * axes) for axes in range(1, 4))
    return [(push, (0, tree_arguments(), table, 0.0, row, row)), (follow, (0, row, table, stack))]


@lru_cache
def addresses() -> tuple[int, ...]:
    """Where the code of both is."""
    return tuple(address(*one) for one in kernels())
