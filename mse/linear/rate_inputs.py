"""Inputs that prescribe velocities, as currents of sources do: they act by their integrals.

With ``w' = drive u' + drive_rate u`` an input has up to two columns of forces and displacements: one by which it acts itself, and
one by which its integral acts.  Analyses take both as inputs, and then count the integral as 1/s of the input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..errors import SingularResponseError

if TYPE_CHECKING:
    from .linear_model import LinearModel


class Acting(NamedTuple):
    """Columns (k,) by which some inputs of a model act: first of those that act themselves, then of integrals.

    ``on`` are the numbers of inputs that act themselves, ``rates`` of inputs of which the integral acts, with the ``names``.
    ``of`` (k,) is the place of the input of each column among those that are asked for.  ``model`` is the name of the model.
    """

    model: str
    names: tuple[str, ...]
    on: np.ndarray
    rates: np.ndarray
    of: np.ndarray

    @property
    def integral(self) -> np.ndarray:
        """Which columns (k,) are those of integrals."""
        return np.arange(len(self.of)) >= len(self.on)

    def columns(self, model: LinearModel) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Forces (n + l, k) and displacements (l, k) by column."""
        force, drive = (_columns(a, self.on) for a in (model.force, model.drive))
        if not len(self.rates):
            return force, drive
        none = sp.csr_matrix((force.shape[0], len(self.rates)))
        rates = _columns(model.drive_rate, self.rates)
        return sp.hstack([force, none], format="csr"), sp.hstack([drive, rates], format="csr")

    def dense(self, model: LinearModel) -> tuple[np.ndarray, np.ndarray]:
        """The same as arrays: for small matrices, choosing columns of sparse ones would take longer than what follows."""
        force, drive = (a.toarray()[:, self.on] for a in (model.force, model.drive))
        if not len(self.rates):
            return force, drive
        none = np.zeros((len(force), len(self.rates)))
        return np.hstack([force, none]), np.hstack([drive, model.drive_rate.toarray()[:, self.rates]])

    def added_up(self, values: np.ndarray, count: int) -> np.ndarray:
        """Sums (..., i) of values (..., k) of all columns, for so many inputs i."""
        if not len(self.rates) and len(self.of) == count:
            return values
        out = np.zeros((*values.shape[:-1], count), dtype=values.dtype)
        for column, k in enumerate(self.of.tolist()):
            out[..., k] += values[..., column]
        return out

    def response(self, values: np.ndarray, s: np.ndarray, count: int) -> np.ndarray:
        """Responses (f, o, i) to so many inputs, of those (f, o, k) to the columns, at complex rates s (f,).

        Raises SingularResponseError at s = 0, where integrals are infinite.
        """
        if not len(self.rates):
            return values
        if not np.all(s):
            raise SingularResponseError(
                f"{self.model}: the response to {self.names[0]} at 0 Hz is infinite, as what it drives moves on and on; expected "
                "frequencies above 0; give a low one instead, or choose other inputs", 0.0,
            )  # fmt: skip
        weights = np.where(self.integral, 1.0 / s[:, None], 1.0)
        return self.added_up(values * weights[:, None], count)


def _columns(a: sp.csr_matrix, numbers: np.ndarray) -> sp.csr_matrix:
    return a if np.array_equal(numbers, np.arange(a.shape[1])) else a.tocsc()[:, numbers].tocsr()


def acting(model: LinearModel, inputs: np.ndarray) -> Acting:
    """How the numbered inputs (i,) of a model act."""
    by_rate = np.zeros(len(model.inputs), dtype=bool)
    by_rate[model.drive_rate.indices] = True
    by_rate = by_rate[inputs]
    if not by_rate.any():
        return Acting(model.name, (), inputs, inputs[:0], np.arange(len(inputs)))
    itself = np.zeros(len(model.inputs), dtype=bool)
    for matrix in (model.force, model.drive):
        itself[matrix.indices] = True
    itself = itself[inputs] | ~by_rate
    names = tuple(model.inputs[k] for k in inputs[by_rate])
    of = np.concatenate([np.flatnonzero(itself), np.flatnonzero(by_rate)])
    return Acting(model.name, names, inputs[itself], inputs[by_rate], of)
