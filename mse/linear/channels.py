"""Inputs and outputs of a linear model while they are collected, as rows over all coordinates or as constrained coordinates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..elements.base import Channel
from ..model.flattening import Element
from ..numerics.sparse_tools import canonical, empty


class Channels:
    """Inputs or outputs while they are collected: names, units, and rows over all coordinates x = (q, w)."""

    def __init__(self, width: int):
        self.width = width
        self.names: list[str] = []
        self.units: list[str] = []
        self._maps: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._holds: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._rates: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._held_rates: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def map(self, el: Element, channels: Sequence[Channel], values: np.ndarray, columns: np.ndarray) -> None:
        """Add channels that are sums of coordinates: ``values`` (channels, c) of the coordinates numbered ``columns`` (c,)."""
        self._maps.append(entries(values, columns, len(self.names)))
        self.names += [f"{el.path}.{c.name}" for c in channels]
        self.units += [c.unit for c in channels]

    def map_rates(self, el: Element, channels: Sequence[Channel], columns: np.ndarray) -> None:
        """Add channels that are the rates of coordinates numbered ``columns`` (channels,)."""
        self._rates.append(entries(np.eye(len(channels)), columns, len(self.names)))
        self.names += [f"{el.path}.{c.name}" for c in channels]
        self.units += [c.unit for c in channels]

    def hold(self, el: Element, channels: Sequence[Channel], numbers: np.ndarray) -> None:
        """Add channels that are constrained coordinates themselves."""
        self.weigh(el, channels, np.eye(len(channels)), numbers, np.zeros((0, 0)), numbers[:0])

    def hold_rates(self, el: Element, channels: Sequence[Channel], numbers: np.ndarray) -> None:
        """Add channels that are the rates of constrained coordinates."""
        self._held_rates.append(entries(np.eye(len(channels)), numbers, len(self.names)))
        self.names += [f"{el.path}.{c.name}" for c in channels]
        self.units += [c.unit for c in channels]

    def weigh(
        self, el: Element, channels: Sequence[Channel], weights: np.ndarray, numbers: np.ndarray,
        values: np.ndarray, columns: np.ndarray,
    ) -> None:  # fmt: skip
        """Add channels that also contain constrained coordinates with weights (channels, numbers), on top of :meth:`map`."""
        self._holds.append(entries(weights, numbers, len(self.names)))
        self.map(el, channels, values, columns)

    def by_row(self, n: int) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Rows over all coordinates (channels, n + l), and rows that select constrained ones (channels, l)."""
        count = len(self.names)
        return added_up(self._maps, (count, self.width)), added_up(_of_held(self._holds, n), (count, self.width - n))

    def by_rate(self) -> sp.csr_matrix:
        """Rows over the rates of all coordinates (channels, n + l)."""
        return added_up(self._rates, (len(self.names), self.width))

    def by_column(self, n: int) -> tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix]:
        """The same as columns, (n + l, channels) and (l, channels), and columns of rates of constrained ones (l, channels)."""
        count = len(self.names)
        maps, holds, rates = (
            [(values, j, i) for values, i, j in found]
            for found in (self._maps, _of_held(self._holds, n), _of_held(self._held_rates, n))
        )
        held = self.width - n, count
        return added_up(maps, (self.width, count)), added_up(holds, held), added_up(rates, held)


def _of_held(found: list[tuple[np.ndarray, ...]], n: int) -> list[tuple[np.ndarray, ...]]:
    """Entries with the numbers that columns have among constrained coordinates, which come after n others."""
    return [(values, i, j - n) for values, i, j in found]


def entries(values: np.ndarray, columns: np.ndarray, first: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nonzero entries of rows (m, c) over the columns (c,): values, row numbers counted from ``first``, column numbers."""
    i, j = np.nonzero(values)
    return values[i, j], first + i, columns[j]


def added_up(found: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], shape: tuple[int, int]) -> sp.csr_matrix:
    """Sum of entries (values, rows, columns) in any order; SciPy would check and sort them one by one."""
    if not found:
        return empty(*shape)
    values, row, column = (np.concatenate(x) for x in zip(*found, strict=True))
    place = row * shape[1] + column
    order = place.argsort(kind="stable")
    place = place[order]
    first = np.flatnonzero(np.diff(place, prepend=-1))
    row, column = np.divmod(place[first], shape[1])
    indptr = row.searchsorted(np.arange(shape[0] + 1))
    sums = np.add.reduceat(values[order], first) if len(first) else np.zeros(0)
    return canonical(sums, column.astype(np.int32), indptr.astype(np.int32), shape[1])
