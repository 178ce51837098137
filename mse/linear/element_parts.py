"""Stiffness and damping of elements as named parts, evaluated and listed only when a part is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..model.pattern import filled
from ..numerics.read_only import read_only
from .pattern import LinearPattern, LinearSum
from .stiffness_parts import Entries, ListedParts, StiffnessParts


class Turning(NamedTuple):
    """Stiffness blocks (b, 6, 6) of link loads that turn with their carriers, the label number of each (b,), and the labels."""

    blocks: np.ndarray
    load_of: np.ndarray
    labels: tuple[tuple[str, str], ...]


#: Stiffness parts (E, p, n, n) of each group, and reaction parts (E, 1, n, n) by group number.
Elements = tuple[list[np.ndarray], Mapping[int, np.ndarray]]


class ElementParts(StiffnessParts):
    """Stiffness parts of each group of a pattern, reaction parts by group, and turning loads of links.

    ``elements()`` gives the first two; ``turning`` has the blocks of :meth:`LinkTree.turning_blocks`, one after the other.
    ``known`` is the sum of all parts, if it has been computed already.
    """

    def __init__(
        self, size: int, pattern: LinearPattern, arms: np.ndarray, elements: Callable[[], Elements],
        turning: Turning, known: sp.csc_matrix | None,
    ):  # fmt: skip
        self.size = size
        self._pattern, self._arms = pattern, arms
        self._elements, self._known = elements, read_only(known)
        self._turning = turning

    @cached_property
    def labels(self) -> tuple[tuple[str, str], ...]:
        """Object and mechanism of every part, in order."""
        return (*self._pattern.names[0], *self._turning.labels)

    @cached_property
    def _evaluated(self) -> Elements:
        return self._elements()

    def _of_groups(self):
        """Group number, part numbers (E, p) and matrices (E, p, n, n) of every group that has a stiffness."""
        _, own, reactions = self._pattern.names
        parts, of_reactions = self._evaluated
        for k, stiffness in enumerate(parts):
            yield k, own[k], stiffness
        for k, stiffness in of_reactions.items():
            yield k, reactions[k], stiffness

    def _total(self, weights: np.ndarray | None) -> sp.csr_matrix:
        if weights is None:
            if self._known is not None:
                # the matrix is symmetric, so csc arrays are also its csr arrays
                return filled(self._known.data, self._known.indices, self._known.indptr, self.size)
            weights = np.ones(len(self.labels))
        out = LinearSum(self._pattern, self._arms)
        for k, number, stiffness in self._of_groups():
            out.add((k,), stiffness, weights[number])
        if self._turning.labels:
            turning = self._turning.blocks * weights[len(self._pattern.names[0]) + self._turning.load_of, None, None]
            for places in self._pattern.turning_places:
                out.put(places.ravel(), turning.ravel())
        return out.by_rows(self.size)

    def _list(self) -> Entries:
        found = []
        for k, number, stiffness in self._of_groups():
            found += _landed(self._pattern, self._arms, k, number, stiffness)
        if self._turning.labels:
            turning, load = (
                self._turning.blocks.ravel(),
                np.repeat(len(self._pattern.names[0]) + self._turning.load_of, 36),
            )
            found += [(load, places.ravel(), turning) for places in self._pattern.turning_places]
        return _entries(self._pattern, found)


class ObjectParts(StiffnessParts):
    """Damping or circulatory matrices (E, n, n) of some kinds of elements, as parts by object.

    Each of ``matrices`` is the number of a kind, a mechanism and the kind's matrices; ``owners`` maps a kind to its objects (E,).
    """

    def __init__(
        self, size: int, pattern: LinearPattern, arms: np.ndarray, owners: Mapping[int, Sequence[str]],
        matrices: Sequence[tuple[int, str, np.ndarray]], quantity: str,
    ):  # fmt: skip
        self.size, self.quantity = size, quantity
        self._pattern, self._arms, self._matrices = pattern, arms, tuple(matrices)
        labels: dict[tuple[str, str], int] = {}
        self._numbers = []
        for kind, mechanism, own in matrices:
            used = own.any(axis=(1, 2))
            number = [
                labels.setdefault((owner, mechanism), len(labels)) if on else 0
                for owner, on in zip(owners[kind], used.tolist(), strict=True)
            ]
            self._numbers.append(np.array(number, dtype=int)[:, None])
        self.labels = tuple(labels)

    def __reduce__(self):
        """Pickled as entries, which are smaller than the pattern, and as the sum, so that its last bits stay the same."""
        return ListedParts, (self.labels, self.size, self.entries(), self.quantity, self.total())

    def _total(self, weights: np.ndarray | None) -> sp.csr_matrix:
        out = LinearSum(self._pattern, self._arms)
        for (kind, _, own), number in zip(self._matrices, self._numbers, strict=True):
            if self.labels:
                out.add((kind,), own[:, None], None if weights is None else weights[number])
        return out.by_rows(self.size)

    def _list(self) -> Entries:
        found = []
        for (kind, _, own), number in zip(self._matrices, self._numbers, strict=True):
            found += _landed(self._pattern, self._arms, kind, number, own[:, None])
        return _entries(self._pattern, found)


def _entries(pattern: LinearPattern, found: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Entries:
    """Part, row, column and value of entries that :func:`_landed` has found."""
    p = pattern.pattern
    row = np.repeat(np.arange(p.size), np.diff(p.indptr))
    found = [(np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros(0)), *found]
    part, place, values = (np.concatenate(x) for x in zip(*found, strict=True))
    return part, row[place], p.indices[place].astype(int), values


def _landed(
    pattern: LinearPattern, arms: np.ndarray, kind: int, number: np.ndarray, matrices: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Part, place in the csr matrix and value of all entries of a kind's matrices (E, p, n, n); parts have ``number`` (E, p)."""
    flat, entries = matrices.ravel(), matrices[0, 0].size
    entry = np.flatnonzero(flat)
    of, place = np.divmod(entry, entries)
    place = pattern.pattern.all_places(kind).ravel()[place + of // matrices.shape[1] * entries]
    on = place >= 0
    found = [(number.ravel()[of[on]], place[on], flat[entry[on]])]
    if kind in pattern.carried:
        of, first, second, place = pattern.carried[kind]
        arm = arms[first] * arms[second]
        for part in range(matrices.shape[1]):
            values = matrices[:, part].ravel()[of] * arm
            on = np.flatnonzero(values)
            found.append((number[of[on] // entries, part], place[on], values[on]))
    return found
