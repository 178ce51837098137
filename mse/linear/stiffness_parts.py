"""K and the damping as sums of named parts, with one interface for all ways to store them."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..display import Column, Shown, Table, amounts
from ..elements.loss_laws import LossLaw, as_law
from ..errors import ModelError, UnknownNameError
from ..numerics.read_only import read_only
from ..results import Result
from ..validation.arguments import complex_number, find, mapping, shown

if TYPE_CHECKING:
    from ..saved import Reader, Record

#: Part, row, column and value of every entry.
Entries = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class StiffnessParts(Shown, Mapping[tuple[str, str], sp.csr_matrix]):
    """Stiffness as a sum of named parts: maps (object, mechanism), such as ("wire", "axial"), to a sparse matrix (n, n).

    All entries lie in one list of coordinates, so thousands of parts cost no more than their sum.  Parts come from a linear
    model: :attr:`.LinearModel.stiffness_parts`.

    The damping is such a sum, too: :attr:`.LinearModel.damping_parts`.

    A subclass has ``labels``, ``size`` and ``_list()``, its entries; all else follows from these, and subclasses may know
    shorter ways.

    Attributes
    ----------
    labels : tuple of (str, str)
        Object and mechanism of each part.
    size : int
        Number n of coordinates.
    quantity : str
        What the parts add up to, in words.
    """

    labels: tuple[tuple[str, str], ...]
    size: int
    quantity: str = "stiffness"

    __getstate__ = Result.__getstate__

    @abstractmethod
    def _list(self) -> Entries:
        """Part, row, column and value of every entry."""

    @cached_property
    def _listed(self) -> Entries:
        return read_only(self._list())

    @cached_property
    def _storing(self) -> set[tuple[str, str]]:
        """Labels of parts that are known to be negative for no motion."""
        return set()

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
            find("", f"{self.quantity} part", " / ".join(label) if named else label, known)
            raise UnknownNameError(f"no {self.quantity} part {shown(label)}; expected two names, (object, mechanism)")
        return self._index[label]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def __contains__(self, label: object) -> bool:
        # Mapping's would make the matrix
        return isinstance(label, tuple) and label in self._index

    def _ipython_key_completions_(self) -> list[tuple[str, str]]:
        return list(self.labels)

    def table(self) -> Table:
        part, _, _, values = self._listed
        largest = np.zeros(len(self.labels))
        np.maximum.at(largest, part, np.abs(values))
        columns = ("object", "mechanism", Column("largest entry", digits=6))
        rows = [(*label, size) for label, size in zip(self.labels, largest.tolist(), strict=True)]
        return Table(
            f"{amounts(part=len(rows))} of a {self.quantity} of {amounts(coordinate=self.size)}", columns, rows
        )

    def _matrix(self, rows, cols, values) -> sp.csr_matrix:
        return sp.csr_matrix((values, (rows, cols)), shape=(self.size, self.size))

    def _weights(self, weights: Mapping[tuple[str, str], complex] | None) -> np.ndarray:
        """The weight of every part."""
        if weights is None:
            return np.ones(len(self.labels))
        given = mapping("total", "weights", weights, "numbers by (object, mechanism)")
        some_complex = any(isinstance(f, complex | np.complexfloating) for f in given.values())
        weight = np.ones(len(self.labels), dtype=complex if some_complex else float)
        for label, f in given.items():
            weight[self._number(label)] = complex_number("total", f"weight of {shown(label)}", f)
        return weight

    def total(self, weights: Mapping[tuple[str, str], complex] | None = None) -> sp.csr_matrix:
        """Sum of all parts, each times its weight.

        Parameters
        ----------
        weights : mapping, optional
            Weight by (object, mechanism), complex for a loss angle; 1 for parts that are not named.

        Returns
        -------
        scipy.sparse.csr_matrix, (n, n)
            The sum.

        Raises
        ------
        UnknownNameError
            A label that no part has.
        """
        return self._total(None if weights is None else self._weights(weights))

    def _total(self, weights: np.ndarray | None) -> sp.csr_matrix:
        """The sum of all parts, times weights if given."""
        part, rows, cols, values = self._listed
        return self._matrix(rows, cols, values if weights is None else values * weights[part])

    def _uncanceled(self) -> sp.csr_matrix:
        """Sum of the absolute values of all terms of each entry (n, n), which bounds its rounding."""
        _, rows, cols, values = self._listed
        return self._matrix(rows, cols, np.abs(values))

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
        return ListedParts(self.labels, size, (part[on], rows[on], cols[on], values[on]), self.quantity)

    def entries(self) -> Entries:
        """All entries.

        Returns
        -------
        tuple of ndarray
            Part, row, column and value of each, (k,).
        """
        return self._listed

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


@dataclass
class Parts:
    """How files store named parts on all coordinates x, whose sum is a ``quantity`` in words."""

    quantity: str = "stiffness"

    def put(self, record: Record, key: str, value: StiffnessParts) -> None:
        pieces: dict[str, Any] = dict(zip(("number", "rows", "columns", "values"), value.entries(), strict=True))
        pieces |= {"objects": [owner for owner, _ in value], "mechanisms": [mechanism for _, mechanism in value]}
        record.put(**{f"{key}_{name}": piece for name, piece in pieces.items()}, **{f"{key}_total": value.total()})

    def take(self, reader: Reader, key: str, found: Mapping[str, Any]) -> ListedParts:
        one, size = f"{key}_entry", reader.length("x")
        objects, mechanisms = (reader.names(f"{key}_{what}", f"{key}_part") for what in ("objects", "mechanisms"))
        counts = {"number": len(objects), "rows": size, "columns": size}
        places = [reader.numbered(f"{key}_{name}", one, count) for name, count in counts.items()]
        entries = (*places, reader.array(f"{key}_values", one))
        total = reader.sparse(f"{key}_total", "x x") if reader.has(f"{key}_total_data") else None
        return ListedParts(tuple(zip(objects, mechanisms, strict=True)), size, entries, self.quantity, total)


class Losses:
    """How files hold loss factors by object and mechanism, and laws as JSON texts, empty for a factor."""

    def put(self, record: Record, key: str, value: Mapping[tuple[str, str], float | LossLaw]) -> None:
        if not value:
            return
        objects, mechanisms = zip(*value, strict=True)
        laws = []
        for label, x in value.items():
            try:
                laws.append(json.dumps(x.data()) if isinstance(x, LossLaw) else "")
            except ModelError as error:
                raise ModelError(f"{' / '.join(label)}: {error}") from None
        factors = np.array([0.0 if isinstance(x, LossLaw) else x for x in value.values()])
        record.put(loss_objects=objects, loss_mechanisms=mechanisms, loss_factors=factors)
        if any(laws):
            record.put(loss_laws=laws)

    def take(self, reader: Reader, key: str, found: Mapping[str, Any]) -> dict[tuple[str, str], float | LossLaw]:
        values: list[float | LossLaw | None] = reader.array("loss_factors", "loss").tolist()
        if reader.has("loss_laws"):
            texts = reader.names("loss_laws", "loss")
            values = [_law(text) if text else eta for text, eta in zip(texts, values, strict=True)]
        labels = zip(*(reader.names(key, "loss") for key in ("loss_objects", "loss_mechanisms")), strict=True)
        losses = dict(zip(labels, values, strict=True))
        for label, eta in losses.items():
            if label not in found["parts"].labels or eta is None or not (isinstance(eta, LossLaw) or eta >= 0.0):
                raise reader.damaged(
                    f"the loss factor of {' / '.join(label)}", f"is {eta}", "one of a part, at least 0, or a law"
                )
        return losses


def _law(text: str) -> float | LossLaw | None:
    """A law from its JSON text; None for what is none."""
    try:
        return as_law(json.loads(text))
    except (ValueError, ModelError, RecursionError):
        return None


class ListedParts(StiffnessParts):
    """Stiffness parts by their entries.

    Parameters
    ----------
    labels : sequence of (str, str)
        Object and mechanism of each part.
    size : int
        Number n of coordinates.
    entries : tuple of array_like, (k,)
        Number of the part, row, column and value (N/m, N, N m) of each; those at one place add up.
    quantity : str
        What they add up to, in words.
    total : scipy.sparse.csr_matrix, (n, n), optional
        Their sum, if it was added up in another order before, which changes its last bits.
    """

    def __init__(
        self, labels: Sequence[tuple[str, str]], size: int, entries: Entries, quantity: str = "stiffness",
        total: sp.csr_matrix | None = None,
    ):  # fmt: skip
        self.labels = tuple(labels)
        self.size = size
        self.quantity = quantity
        self._given, self._sum = tuple(np.asarray(a) for a in entries), total

    @classmethod
    def of(
        cls, matrices: Iterable[tuple[tuple[str, str], sp.spmatrix]], size: int, quantity: str = "stiffness"
    ) -> ListedParts:
        """Parts given as matrices (size, size) by label; matrices with the same label add up."""
        labels: dict[tuple[str, str], int] = {}
        part, rows, cols, values = (
            [np.zeros(0, dtype=int)],
            [np.zeros(0, dtype=int)],
            [np.zeros(0, dtype=int)],
            [np.zeros(0)],
        )
        for label, matrix in matrices:
            k, number = matrix.tocoo(), labels.setdefault(label, len(labels))
            part.append(np.full(k.nnz, number))
            rows.append(k.row)
            cols.append(k.col)
            values.append(k.data)
        return cls(tuple(labels), size, tuple(map(np.concatenate, (part, rows, cols, values))), quantity)

    def _list(self) -> Entries:
        return self._given

    def _total(self, weights: np.ndarray | None) -> sp.csr_matrix:
        return self._sum.copy() if weights is None and self._sum is not None else super()._total(weights)


class TransformedParts(StiffnessParts):
    """Stiffness parts in other coordinates, ``T^T K T``, each computed on request."""

    def __init__(self, parts: StiffnessParts, t: sp.csr_matrix):
        self._parts, self._t = parts, t
        self.size, self.quantity = t.shape[1], parts.quantity

    @property
    def labels(self) -> tuple[tuple[str, str], ...]:
        return self._parts.labels

    @cached_property
    def _storing(self) -> set[tuple[str, str]]:
        """Those known of the parts that were transformed, which keep their sign; what is found here may be negative there."""
        return set(self._parts._storing)

    def _through(self, k: sp.csr_matrix) -> sp.csr_matrix:
        return (self._t.T @ k @ self._t).tocsr()

    def __getitem__(self, label: tuple[str, str]) -> sp.csr_matrix:
        return self._through(self._parts[label])

    def _list(self) -> Entries:
        return ListedParts.of(self.items(), self.size, self.quantity).entries()

    def _total(self, weights: np.ndarray | None) -> sp.csr_matrix:
        return self._through(self._parts._total(weights))

    def _uncanceled(self) -> sp.csr_matrix:
        size = abs(self._t)  # the terms of T^T K T count, too; one product for all parts
        return (size.T @ self._parts._uncanceled() @ size).tocsr()

    def mechanisms(self) -> dict[str, sp.csr_matrix]:
        return {name: self._through(k) for name, k in self._parts.mechanisms().items()}

    def restricted(self, n: int) -> StiffnessParts:
        return TransformedParts(self._parts, self._t[:, :n])


class JoinedParts(StiffnessParts):
    """The parts of two kinds on the same coordinates, with different labels."""

    def __init__(self, first: StiffnessParts, second: StiffnessParts):
        self._both, self.size = (first, second), first.size

    @cached_property
    def labels(self) -> tuple[tuple[str, str], ...]:
        return (*self._both[0].labels, *self._both[1].labels)

    def _list(self) -> Entries:
        (part, *first), (other, *second) = (parts.entries() for parts in self._both)
        pairs = ((part, other + len(self._both[0])), *zip(first, second, strict=True))
        return tuple(np.concatenate(pair) for pair in pairs)

    def _total(self, weights: np.ndarray | None) -> sp.csr_matrix:
        shares = None, None
        if weights is not None:
            shares = np.split(weights, [len(self._both[0])])
        first, second = (parts._total(share) for parts, share in zip(self._both, shares, strict=True))
        return (first + second).tocsr()

    def _uncanceled(self) -> sp.csr_matrix:
        first, second = (parts._uncanceled() for parts in self._both)
        return (first + second).tocsr()
