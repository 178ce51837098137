"""Stiffness as a sum of named parts, by object and mechanism."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..display import Result
from ..errors import UnknownNameError
from ..numerics.read_only import read_only
from ..validation.arguments import complex_number, find, mapping, shown


class StiffnessParts(Mapping):
    """Stiffness as a sum of named parts: maps (object, mechanism), such as ("wire", "axial"), to a sparse matrix (n, n).

    All entries lie in one list of coordinates, so thousands of parts cost no more than their sum.  Parts come from a linear
    model: :attr:`.LinearModel.stiffness_parts`.

    Parameters
    ----------
    labels : sequence of (str, str)
        Object and mechanism of each part.
    size : int
        Number n of coordinates.
    part, rows, cols : array_like of int, (k,)
        Number of the part, row and column of each entry.
    values : array_like, (k,), N/m, N, N m
        Entries; those at one place add up.
    """

    def __init__(self, labels: Sequence[tuple[str, str]], size: int, part, rows, cols, values):
        self.labels = tuple(labels)
        self.size = size
        self._listed = tuple(np.asarray(a) for a in (part, rows, cols, values))

    __getstate__ = Result.__getstate__

    @cached_property
    def _index(self) -> dict[tuple[str, str], int]:
        return {label: k for k, label in enumerate(self.labels)}

    @cached_property
    def _by_part(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Rows, columns and values of all entries part after part, and where each part starts."""
        part, *others = self._listed
        order = np.argsort(part, kind="stable")
        return *(a[order] for a in others), np.searchsorted(part[order], np.arange(len(self.labels) + 1))

    def __getitem__(self, label: tuple[str, str]) -> sp.csr_matrix:
        k = self._number(label)
        rows, cols, values, start = self._by_part
        piece = slice(start[k], start[k + 1])
        return self._matrix(rows[piece], cols[piece], values[piece])

    def _number(self, label: tuple[str, str]) -> int:
        if not isinstance(label, tuple) or label not in self._index:
            known = [" / ".join(x) for x in self.labels]
            named = isinstance(label, tuple) and all(isinstance(x, str) for x in label)
            find("", "stiffness part", " / ".join(label) if named else label, known)
            raise UnknownNameError(f"no stiffness part {shown(label)}; expected two names, (object, mechanism)")
        return self._index[label]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def _matrix(self, rows, cols, values) -> sp.csr_matrix:
        return sp.csr_matrix((values, (rows, cols)), shape=(self.size, self.size))

    def _weights(self, factors: Mapping[tuple[str, str], complex]) -> np.ndarray:
        """The factor of every part."""
        given = mapping("total", "factors", factors, "numbers by (object, mechanism)")
        some_complex = any(isinstance(f, complex | np.complexfloating) for f in given.values())
        weight = np.ones(len(self.labels), dtype=complex if some_complex else float)
        for label, f in given.items():
            weight[self._number(label)] = complex_number("total", f"factor of {shown(label)}", f)
        return weight

    def total(self, factors: Mapping[tuple[str, str], complex] | None = None) -> sp.csr_matrix:
        """Sum of all parts, each times its factor.

        Parameters
        ----------
        factors : mapping, optional
            Factor by (object, mechanism), complex for a loss angle; 1 for parts that are not named.

        Returns
        -------
        scipy.sparse.csr_matrix, (n, n)
            The sum.

        Raises
        ------
        UnknownNameError
            A label that no part has.
        """
        part, rows, cols, values = self._listed
        return self._matrix(rows, cols, values if factors is None else values * self._weights(factors)[part])

    def mechanisms(self) -> dict[str, sp.csr_matrix]:
        """The parts added up over all objects.

        Returns
        -------
        dict
            Stiffness (n, n) by mechanism: axial, torsion, geometric, gravity ...
        """
        names = dict.fromkeys(m for _, m in self.labels)
        number = {m: k for k, m in enumerate(names)}
        of_part = np.array([number[m] for _, m in self.labels], dtype=int)
        part, rows, cols, values = self._listed
        of_entry = of_part[part] if len(of_part) else part
        out = {}
        for m, k in number.items():
            mask = of_entry == k
            out[m] = self._matrix(rows[mask], cols[mask], values[mask])
        return out

    def at(self, columns: np.ndarray, size: int) -> StiffnessParts:
        """The same parts on other coordinates.

        Parameters
        ----------
        columns : ndarray of int, (n,)
            New number of each coordinate; negative where it is left out.
        size : int
            Number of coordinates then.

        Returns
        -------
        StiffnessParts
            Parts with the same labels.
        """
        part, rows, cols, values = self._listed
        rows, cols = columns[rows], columns[cols]
        on = (rows >= 0) & (cols >= 0)
        return StiffnessParts(self.labels, size, part[on], rows[on], cols[on], values[on])

    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All entries.

        Returns
        -------
        tuple of ndarray
            Part, row, column and value of each, (k,).
        """
        return read_only(self._listed)

    def restricted(self, n: int) -> StiffnessParts:
        """The same parts on the first coordinates only.

        Parameters
        ----------
        n : int
            How many are kept.

        Returns
        -------
        StiffnessParts
            Parts with the same labels.
        """
        if n == self.size:
            return self
        return self.at(np.where(np.arange(self.size) < n, np.arange(self.size), -1), n)
