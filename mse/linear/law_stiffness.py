"""Stiffness with loss laws: ``K(w) = K + sum_l (kappa_l(w) - 1) P_l`` P_l being all parts with the law number l."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ..elements.loss_laws import NEGATIVE, Factor, LossLaw, factor_of
from ..errors import ModelError
from ..numerics.precision import NOTHING

if TYPE_CHECKING:
    from .stiffness_parts import StiffnessParts

Label = tuple[str, str]

# Of a frequency, for slopes: they are right to its square, and Newton's method needs less.  With a hundredth and a hundred times
# of it tests/linear/test_law_stiffness.py passes.
_STEP = 1e-5


class Laws:
    """Distinct laws of a model, each with the name of the first part that has it."""

    def __init__(self, factors: Mapping[Label, Factor]):
        self.numbers: dict[LossLaw, int] = {}
        self._names: list[str] = []
        for label, law in factors.items():
            if isinstance(law, LossLaw) and law not in self.numbers:
                self.numbers[law] = len(self.numbers)
                self._names.append(" / ".join(label))

    def __len__(self) -> int:
        return len(self.numbers)

    def weights(self, omega: np.ndarray) -> np.ndarray:
        """``kappa_l - 1`` (f, l) at angular frequencies (f,); ModelError where a law is not known, or feeds energy."""
        out = np.empty((len(omega), len(self)), dtype=complex)
        for (law, k), name in zip(self.numbers.items(), self._names, strict=True):
            out[:, k] = factor_at(name, law, omega) - 1.0
        return out

    def with_slopes(self, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`weights` and ``d kappa_l/d omega``, (f, l) each, at angular frequencies (f,)."""
        step = _STEP * np.abs(omega)
        here, low, high = np.split(self.weights(np.concatenate([omega, omega - step, omega + step])), 3)
        return here, (high - low) / (2.0 * step[:, None])


def factor_at(name: str, law: Factor, omega: np.ndarray) -> np.ndarray:
    """``kappa`` (f,) of a loss factor or law at angular frequencies (f,); ``name`` is the part's in messages."""
    try:
        found = np.asarray(factor_of(law, omega))
    except ModelError as error:
        raise ModelError(f"{name}: its loss: {error}") from None
    if found.shape != np.shape(omega) or not np.isfinite(found).all():
        raise ModelError(f"{name}: its loss law {law:g} gives {found}; expected a finite number for each frequency")
    low = np.imag(found) < -NOTHING * np.abs(found)
    if not np.iscomplexobj(omega) and low.any():
        at = int(np.argmax(low))
        raise ModelError(
            f"{name}: its loss law {law:g} gives a stiffness times {found[at]:.6g} at {omega[at] / (2 * np.pi):.6g} Hz; expected "
            f"an imaginary part of at least 0 for exp(i w t): {NEGATIVE}"
        )
    return found


@dataclass(frozen=True)
class LawEntries:
    """Matrices P_l of one shape as one list of entries: ``sum_l (kappa_l - 1) P_l`` is added at each frequency."""

    laws: Laws
    law: np.ndarray
    row: np.ndarray
    column: np.ndarray
    value: np.ndarray
    shape: tuple[int, int]

    @property
    def T(self) -> LawEntries:
        return replace(self, row=self.column, column=self.row, shape=self.shape[::-1])

    def cut(self, rows: slice, columns: slice) -> LawEntries:
        """The block of some rows and columns, given as slices of step 1."""
        (low, high, _), (left, right, _) = rows.indices(self.shape[0]), columns.indices(self.shape[1])
        on = (self.row >= low) & (self.row < high) & (self.column >= left) & (self.column < right)
        picked = (self.row[on] - low, self.column[on] - left, self.value[on])
        return LawEntries(self.laws, self.law[on], *picked, (high - low, right - left))

    def times(self, matrix: sp.spmatrix | np.ndarray) -> LawEntries:
        """``P_l matrix`` of each law."""
        n = self.shape[0]
        stacked = sp.csr_matrix(
            (self.value, (self.law * n + self.row, self.column)), (len(self.laws) * n, self.shape[1])
        )
        found = sp.coo_matrix(stacked @ matrix)
        law, row = np.divmod(found.row, n) if n else (found.row, found.row)
        return LawEntries(self.laws, law, row, found.col, found.data, (n, found.shape[1]))

    def scaled(self, by: np.ndarray) -> LawEntries:
        """With rows times numbers (rows,)."""
        return replace(self, value=self.value * by[self.row])

    def forms(self, motions: np.ndarray) -> np.ndarray:
        """``x^H P_l x`` (m, l), real, of motions (n, m)."""
        out = np.zeros((motions.shape[1], len(self.laws)))
        products = self.value[:, None] * (motions[self.row].conj() * motions[self.column]).real
        np.add.at(out.T, self.law, products)
        return out

    def sum(self, weights: np.ndarray) -> sp.csr_matrix:
        """``sum_l weights_l P_l`` (rows, columns) for weights (l,)."""
        return sp.csr_matrix((weights[self.law] * self.value, (self.row, self.column)), self.shape)

    def dense(self, weights: np.ndarray) -> np.ndarray:
        """``sum_l weights_l P_l`` (f, rows, columns) for weights (f, l)."""
        return (self._spread @ weights.T).T.reshape(len(weights), *self.shape)

    @cached_property
    def _spread(self) -> sp.csr_matrix:
        height, width = self.shape
        where = self.row * width + self.column
        return sp.csr_matrix((self.value, (where, self.law)), (height * width, len(self.laws)))

    def at(self, omega: np.ndarray) -> np.ndarray:
        """What is added at angular frequencies (f,), dense: (f, rows, columns)."""
        return self.dense(self.laws.weights(omega))


def law_entries(parts: StiffnessParts, factors: Mapping[Label, Factor]) -> LawEntries | None:
    """Entries of the parts of a stiffness that have a law among ``factors``; None where none has."""
    laws = Laws({label: law for label, law in factors.items() if label in parts})
    if not len(laws):
        return None
    number = np.array([laws.numbers.get(factors.get(label), -1) for label in parts.labels])
    part, row, column, value = parts.entries()
    on = np.flatnonzero((number[part] >= 0) & (value != 0.0))
    n = parts.size
    # parts with one law add up
    places, inverse = np.unique((number[part[on]] * n + row[on]) * n + column[on], return_inverse=True)
    rows, columns = np.divmod(places, n)
    return LawEntries(laws, *np.divmod(rows, n), columns, np.bincount(inverse, value[on]), (n, n))
