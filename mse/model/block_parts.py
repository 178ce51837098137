"""The stiffness parts of a linear model as the elements give them: matrices by class, listed only where a part is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..linear_model import StiffnessParts
from .linear_pattern import LinearPattern, Sum


class BlockParts(StiffnessParts):
    """Stiffness parts (E, p, n, n) of each group of a pattern, those of reactions (E, n, n) by group, and turning loads of links.

    ``turning`` (blocks, 6, 6) are the blocks of :meth:`LinkTree.turning_blocks`, one after the other, ``loads`` the labels
    of those links, and ``load_of`` (blocks,) the number of the label of each.
    """

    def __init__(
        self, size: int, pattern: LinearPattern, factors: np.ndarray, stiffness: list[np.ndarray],
        reactions: Mapping[int, np.ndarray], turning: np.ndarray, load_of: np.ndarray, loads: tuple[tuple[str, str], ...],
    ):  # fmt: skip
        self.size = size
        self._pattern, self._factors = pattern, factors
        self._stiffness, self._reactions = stiffness, reactions
        self._turning, self._load_of, self._loads = turning, load_of, loads

    @cached_property
    def labels(self) -> tuple[tuple[str, str], ...]:
        """Object and mechanism of every part, in their order."""
        return (*self._pattern.names[0], *self._loads)

    def _blocks(self):
        """Source, part numbers (E, p) and matrices (E, p, n, n) of all that elements have."""
        _, own, reactions = self._pattern.names
        for k, stiffness in enumerate(self._stiffness):
            yield self._pattern.sources[k], own[k], stiffness
        for k, stiffness in self._reactions.items():
            yield self._pattern.sources[k], reactions[k], stiffness[:, None]

    def total(self, factors: Mapping[tuple[str, str], complex] | None = None) -> sp.csr_matrix:
        if factors:
            weight = self._weights(factors)
            out = Sum(self._pattern, self._factors)
            for source, number, k in self._blocks():
                out.add(source, np.einsum("ep,epij->eij", weight[number], k))
            turning = self._turning * weight[len(self._pattern.names[0]) + self._load_of][:, None, None]
        else:
            out, turning = Sum(self._pattern, self._factors), self._turning
            for source, k in zip(self._pattern.sources, self._stiffness, strict=False):
                out.add(source, k.sum(axis=1))
            for number, k in self._reactions.items():
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
        turning, load = self._turning.ravel(), np.repeat(len(p.names[0]) + self._load_of, 36)
        found += [(load, places.ravel(), turning) for places in p.turning_places]
        part, place, values = (np.concatenate(x) for x in zip(*found, strict=True))
        return part, row[place], p.indices[place].astype(int), values
