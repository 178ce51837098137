"""Copies of a system beside each other: the three stages of an implicit step are three states that are asked at once.

Most of the time of a small system goes into calls, not into numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ..model.configuration import Configuration
from .whole import Pull

if TYPE_CHECKING:
    from .accelerations import Equations

_NO_MOTIONS = np.zeros((0, 6)), np.zeros((0, 3))  # of frames that nothing asks for


class Beside:
    """So many copies of a system beside each other, the elements of a class in all of them evaluated in one call.

    These elements are those that are not in the records of :class:`.Whole`; without such records they are all.
    """

    def __init__(self, equations: Equations, count: int):
        e, a, whole = equations, equations.assembly, equations.whole
        groups, heavy, parts = (
            (a.groups, e.parts, e.parts) if whole is None else (whole.groups, whole.heavy, whole.parts)
        )
        bodies, internal = a.bodies - 1, e.topology.internal
        # numbers of the coordinates of each copy: bodies come first
        own, of_copies = np.arange(e.size), np.arange(count)[:, None]
        inner = own >= 6 * bodies
        self._numbers = own + np.where(inner, 6 * bodies * (count - 1) + internal * of_copies, 6 * bodies * of_copies)
        # of each coordinate of all copies: which copy it belongs to, and its number there
        self._copies, self._own = np.empty((2, self._numbers.size), dtype=int)
        self._copies[self._numbers], self._own[self._numbers] = of_copies, own
        self._large, self._size = e.large, e.size
        self._empty = not (groups or heavy or parts)
        self._all = e.beside(count) if count > 1 else e
        self._groups = [self._all.assembly.groups[g.number] for g in groups]
        kept = dict(zip(e.parts, self._all.parts, strict=True))
        self._heavy, self._parts = [kept[p] for p in heavy], [kept[p] for p in parts]

    def added(self, total: Pull, at: Sequence[Configuration], v: np.ndarray) -> Pull:
        """The sum with masses and forces at some configurations and velocities (k, n)."""
        if self._empty:
            return total
        e, numbers, moves = self._all, self._numbers, np.zeros(self._all.size)
        moves[numbers] = v
        here = at[0]
        if len(at) > 1:
            reference = np.concatenate([here.reference[:1], *(x.reference[1:] for x in at)])
            memory = tuple(np.concatenate(own) for own in zip(*(x.memory for x in at), strict=True))
            o, u, q = (np.concatenate([getattr(x, name) for x in at]) for name in ("o", "U", "q"))
            here = Configuration(o, u, reference, q, memory, here.gravity)
        motions = e.frame_motions(here, moves) if self._heavy or self._parts else _NO_MOTIONS
        if self._heavy:
            (row, column, value), inertia = e.inertia_of(here, moves, motions, self._heavy)
            copy, row, column = self._copies[row], self._own[row], self._own[column]
            if self._large:
                n = self._size
                mass = sp.csr_matrix((value, (n * copy + row, column)), shape=(n * len(at), n))
                total = total._replace(mass=[mass[n * k : n * k + n] for k in range(len(at))])
            else:
                np.add.at(total.mass, (copy, row, column), value)
            total.force[:] -= inertia[numbers]
        force, *powers = e.of_elements(here, moves, self._groups, self._parts, motions[0])
        total.force[:] += force[numbers]
        for sum_of, found in zip((total.damped, total.driven), powers, strict=True):
            for own in found:
                sum_of += own.reshape(len(at), -1).sum(axis=1)
        return total
