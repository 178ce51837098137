"""Copies of a system beside each other: the three stages of an implicit step are three states that are asked at once.

Most of the time of a small system goes into calls, not into numbers.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..model.configuration import Configuration
from .inertia import GroupInertia
from .whole import Pull

if TYPE_CHECKING:
    from .accelerations import Equations

_NO_MOTIONS = np.zeros((0, 6)), np.zeros((0, 3))  # of frames that nothing asks for


class Beside:
    """So many copies of a system beside each other, the elements of a class in all of them evaluated in one call.

    They are what records of the system as a whole do not have.
    """

    def __init__(self, equations: Equations, count: int):
        e, a, whole = equations, equations.assembly, equations.whole
        self._groups, heavy, parts = (
            (a.groups, e.parts, e.parts) if whole is None else (whole.groups, whole.heavy, whole.parts)
        )
        bodies, internal, self._count = a.bodies - 1, e.topology.internal, count
        # numbers of the coordinates of each copy: bodies come first
        own, of_copies = np.arange(e.size), np.arange(count)[:, None]
        inner = own >= 6 * bodies
        self._numbers = own + np.where(inner, 6 * bodies * (count - 1) + internal * of_copies, 6 * bodies * of_copies)
        self._empty = not (self._groups or heavy or parts)
        self._all = e
        if count > 1:
            self._all = self._copied(e)
        kept = dict(zip(e.parts, self._all.parts, strict=True))
        self._heavy, self._parts = [kept[p] for p in heavy], [kept[p] for p in parts]

    def _copied(self, e: Equations) -> Equations:
        new, a, count = copy.copy(e), copy.copy(e.assembly), self._count
        place = np.hstack([self._numbers, np.full((count, 1), -1)])  # the ground is one for all
        given = count, len(a.body), e.topology.internal
        groups = {id(g): g.beside(*given) for g in (*a.groups, *(p.group for p in e.parts))}
        a.body = np.concatenate([np.where(a.body, a.body + k * (a.bodies - 1), 0) for k in range(count)])
        a.bodies, a.size, self._groups = (
            count * (a.bodies - 1) + 1,
            count * e.size,
            [groups[id(g)] for g in self._groups],
        )
        a.rows = [place[:, rows].reshape(-1, rows.shape[1]) for rows in a.rows]
        a._bodies = {g.numbers: a.body[groups[id(g)].frames] for g in a.groups}
        new.assembly, new.size, new.parts = a, a.size, [GroupInertia(groups[id(p.group)]) for p in e.parts]
        new._rows = [place[:, rows].reshape(-1, rows.shape[1]) for rows in e._rows]
        new._works = np.ones(a.size + 1)
        new._works[self._numbers] = e._works[:-1]
        return new

    def add(self, total: Pull, at: Sequence[Configuration], v: np.ndarray) -> None:
        """Add masses and forces at some configurations and velocities (k, n)."""
        if self._empty:
            return
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
            mass, inertia = e.inertia_of(here, moves, motions, self._heavy)
            total.mass[:] += mass[numbers[:, :, None], numbers[:, None, :]]
            total.force[:] -= inertia[numbers]
        force, *powers = e.of_elements(here, moves, self._groups, self._parts, motions[0])
        total.force[:] += force[numbers]
        for sum_of, found in zip((total.damped, total.driven), powers, strict=True):
            for own in found:
                sum_of += own.reshape(len(at), -1).sum(axis=1)
