"""The terms that add up in a stiffness, whose size decides its rounding; taken from elements while the stiffness is evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ..kernels.assembling import add_terms
from ..numerics.precision import EPS
from ..numerics.sparse_tools import on_pattern
from .configuration import Configuration
from .groups import ALL, Group
from .pattern import Sum

if TYPE_CHECKING:
    from .assembly import Assembly

_ROUNDED_ARM = np.sqrt(EPS)  # of a position: an arm that may be its rounding


class StiffnessTerms:
    """Sum of the absolute terms in the stiffness of an assembly at a configuration, under ``factors`` as :meth:`.Assembly.total`.

    :meth:`take` gets elements that are evaluated for the stiffness anyway; :meth:`summed` evaluates those that it has not got.
    ``at_once``: terms are added up as they come, for a state where they will be needed.  Otherwise :meth:`take` keeps elements of
    groups of one portion, and :meth:`summed` adds them up.  To keep more would take as long as to evaluate it again.
    """

    def __init__(
        self, assembly: Assembly, at: Configuration, factors: tuple[float, float, float], *, at_once: bool = False
    ):
        self._assembly, self._at, self._factors, self._at_once = assembly, at, factors, at_once
        self._kept: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self._sum: Sum | None = None
        self._of_elements = np.zeros((3, assembly.bodies))
        self._added: set[int] = set()  # groups whose terms are in the sum, by number

    def take(self, g: Group, part: slice, levers: np.ndarray, f: np.ndarray, k: np.ndarray) -> None:
        """Elements of a group: levers (E, F, 3), gradients (E, n) and stiffness (E, 1, n, n) at frames, which may change."""
        if self._at_once:
            self._add(g, part, levers, f, k)
            self._added.add(g.number)
        elif len(g.portions(2)) == 1:
            self._kept[g.number] = levers, f.copy(), k.copy()

    def summed(self, multipliers: np.ndarray) -> tuple[sp.csc_matrix, np.ndarray]:
        """Sum (n, n) of the terms of elements and reactions, and the arms (bodies,) of their forces; for multipliers (m,).

        Rounding of K is a few eps of this sum, whatever cancels: within an element, in ``T^T K T`` by the arms, or between
        elements. The arm of a body is a mean weighted by stiffness; joints contribute their longest arm.
        """
        assembly = self._assembly
        for g in assembly.joined:
            if g.number not in self._added:
                self._evaluate(g)
                self._added.add(g.number)
        self._kept = {}
        data, of_joints = self._entries, np.zeros((3, assembly.bodies))
        if assembly.constraint_count:
            data = data.copy()
            for g, f, k in assembly.reactions(self._at, multipliers):
                self._put(g, ALL, (assembly.levers(g, self._at), f, k), 1.0, of_joints, data)
        held, square, _ = self._of_elements + of_joints
        mean = np.sqrt(square / np.where(held > 0.0, held, 1.0))
        return on_pattern(assembly.pattern.zero, data), np.maximum(mean, of_joints[2])

    @property
    def _entries(self) -> np.ndarray:
        if self._sum is None:
            self._sum = Sum(self._assembly.pattern)
        return self._sum.data

    def _evaluate(self, g: Group) -> None:
        if (kept := self._kept.get(g.number)) is not None:
            self._add(g, ALL, *kept)
            return
        _, load_factor, follower_factor = self._factors
        for part in g.portions(2):
            _, f, k = g.evaluate(self._at, 2, load_factor, part, summed=True, follower_factor=follower_factor)
            self._add(g, part, self._assembly.levers(g, self._at, part), f, k)

    def _add(self, g: Group, part: slice, levers: np.ndarray, f: np.ndarray, k: np.ndarray) -> None:
        factor = 1.0 if g.cls.external or g.cls.only_weighs() else self._factors[0]
        self._put(g, part, (levers, f, k), factor, self._of_elements, self._entries)

    def _put(self, g: Group, part: slice, found: tuple, factor: float, sums: np.ndarray, data: np.ndarray) -> None:
        (levers, f, k), pattern = found, self._assembly.pattern
        bodies, widths, places = (
            self._assembly.bodies_of(g)[part],
            pattern.widths[g.numbers[0]],
            pattern.places(g.numbers),
        )
        positions = levers, self._at.o, g.frames[part]
        add_terms(*positions, factor, _ROUNDED_ARM, f, k, bodies, sums, widths, places[part], data)
