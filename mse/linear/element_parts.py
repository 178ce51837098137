"""The stiffness parts of a linear model as the elements give them: evaluated and listed only where a part is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..numerics.read_only import read_only
from .pattern import LinearPattern, Sum, filled
from .stiffness_parts import StiffnessParts


class Turning(NamedTuple):
    """Loads of links that turn with what carries them: blocks (b, 6, 6), the label's number of each (b,), and labels of links."""

    blocks: np.ndarray
    load_of: np.ndarray
    labels: tuple[tuple[str, str], ...]


#: Stiffness parts (E, p, n, n) of each group, and those of reactions (E, n, n) by number of the group.
Elements = tuple[list[np.ndarray], Mapping[int, np.ndarray]]


class BlockParts(StiffnessParts):
    """Stiffness parts (E, p, n, n) of each group of a pattern, those of reactions (E, n, n) by group, and turning loads of links.

    ``elements()`` gives the former two; ``turning`` has the blocks of :meth:`LinkTree.turning_blocks`, one after the other.
    ``whole`` is the sum of all, where that is known without them.
    """

    def __init__(
        self, size: int, pattern: LinearPattern, factors: np.ndarray, elements: Callable[[], Elements],
        turning: Turning, whole: sp.csc_matrix | None,
    ):  # fmt: skip
        self.size = size
        self._pattern, self._factors = pattern, factors
        self._elements, self._whole = elements, read_only(whole)
        self._turning = turning

    @cached_property
    def labels(self) -> tuple[tuple[str, str], ...]:
        """Object and mechanism of every part, in their order."""
        return (*self._pattern.names[0], *self._turning.labels)

    @cached_property
    def _evaluated(self) -> Elements:
        return self._elements()

    def _blocks(self):
        """Source, part numbers (E, p) and matrices (E, p, n, n) of all that elements have."""
        _, own, reactions = self._pattern.names
        parts, of_reactions = self._evaluated
        for k, stiffness in enumerate(parts):
            yield self._pattern.sources[k], own[k], stiffness
        for k, stiffness in of_reactions.items():
            yield self._pattern.sources[k], reactions[k], stiffness[:, None]

    def total(self, factors: Mapping[tuple[str, str], complex] | None = None) -> sp.csr_matrix:
        if factors:
            weight = self._weights(factors)
            out = Sum(self._pattern, self._factors)
            for source, number, k in self._blocks():
                out.add(source, np.einsum("ep,epij->eij", weight[number], k))
            turning = self._turning.blocks * weight[len(self._pattern.names[0]) + self._turning.load_of][:, None, None]
        elif self._whole is not None:
            # by columns what is wanted by rows: it is symmetric
            return filled(self._whole.data, self._whole.indices, self._whole.indptr, self.size)
        else:
            out, turning = Sum(self._pattern, self._factors), self._turning.blocks
            parts, reactions = self._evaluated
            for source, k in zip(self._pattern.sources, parts, strict=False):
                out.add(source, k.sum(axis=1))
            for number, k in reactions.items():
                out.add(self._pattern.sources[number], k)
        if len(turning):
            for places in self._pattern.turning_places:
                out.put(places.ravel(), turning.ravel())
        return out.matrix(self.size)

    @cached_property
    def _listed(self):
        p = self._pattern
        row = np.repeat(np.arange(p.size), np.diff(p.indptr))
        found = [(np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros(0))]
        for source, number, k in self._blocks():
            flat = k.ravel()
            entry = np.flatnonzero(flat)
            of, place = np.divmod(entry, source.size**2)
            place += of // k.shape[1] * source.size**2
            place = source.places[place]
            on = place < p.count
            found.append((number.ravel()[of[on]], place[on], flat[entry[on]]))
            if source.carried is not None:
                of, first, second, place = source.carried
                factor = self._factors[first] * self._factors[second]
                for part in range(k.shape[1]):
                    values = k[:, part].ravel()[of] * factor
                    on = np.flatnonzero(values)
                    found.append((number[of[on] // source.size**2, part], place[on], values[on]))
        turning, load = self._turning.blocks.ravel(), np.repeat(len(p.names[0]) + self._turning.load_of, 36)
        found += [(load, places.ravel(), turning) for places in p.turning_places]
        part, place, values = (np.concatenate(x) for x in zip(*found, strict=True))
        return part, row[place], p.indices[place].astype(int), values
