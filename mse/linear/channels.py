"""Inputs and outputs of a linear model while they are collected, as rows over all coordinates or as constrained coordinates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..elements.base import Channel
from ..model.flattening import Element
from ..numerics.sparse_tools import empty


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
        return self._sums(n, sp.csr_matrix, 1)

    def by_rate(self) -> sp.csr_matrix:
        """Rows over the rates of all coordinates (channels, n + l)."""
        return added_up(self._rates, sp.csr_matrix, (len(self.names), self.width))

    def by_column(self, n: int) -> tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix]:
        """The same as columns, (n + l, channels) and (l, channels), and columns of rates of constrained ones (l, channels)."""
        rates = self._of_held(self._held_rates, n, sp.csc_matrix, -1)
        return *(a.tocsr() for a in self._sums(n, sp.csc_matrix, -1)), rates.tocsr()

    def _sums(self, n: int, form: type, step: int) -> tuple[sp.spmatrix, sp.spmatrix]:
        maps = added_up(self._maps, form, (len(self.names), self.width)[::step])
        return maps, self._of_held(self._holds, n, form, step)

    def _of_held(self, found: list[tuple[np.ndarray, ...]], n: int, form: type, step: int) -> sp.spmatrix:
        held = [(values, i, j - n) for values, i, j in found]
        return added_up(held, form, (len(self.names), self.width - n)[::step])


def entries(values: np.ndarray, columns: np.ndarray, first: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nonzero entries of rows (m, c) over the columns (c,): values, row numbers counted from ``first``, column numbers."""
    i, j = np.nonzero(values)
    return values[i, j], first + i, columns[j]


def added_up(
    entries: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], form: type, shape: tuple[int, int]
) -> sp.spmatrix:
    """Sum of entries (values, major, minor) whose major axis (rows of csr, columns of csc) is in ascending order."""
    if not entries:
        return empty(*shape)
    values, major, minor = (np.concatenate(x) for x in zip(*entries, strict=True))
    count = shape[0] if form is sp.csr_matrix else shape[1]
    found = form((values, minor, np.searchsorted(major, np.arange(count + 1))), shape=shape)
    found.sum_duplicates()
    return found
