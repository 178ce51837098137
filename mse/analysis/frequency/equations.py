"""The equations of a frequency response: ``Z q = b u`` and ``y = c q + d u`` at any frequency, of a linear model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...linear.exact_members import Members
from ...linear.linear_model import LinearModel

BATCH_BYTES = 64e6  # of frequencies that are computed at once
_FEW = 1e6  # numbers that are no burden as a dense matrix
_SMALL = 60  # coordinates of models that are cut and multiplied as dense matrices


class Polynomial(NamedTuple):
    """``k + i w c - w^2 m`` of matrices of one shape, sparse or not; k may be complex."""

    k: sp.csr_matrix | np.ndarray
    c: sp.csr_matrix | np.ndarray
    m: sp.csr_matrix | np.ndarray

    @property
    def T(self) -> Polynomial:
        return Polynomial(self.k.T, self.c.T, self.m.T)

    def at(self, w: np.ndarray) -> np.ndarray:
        """Dense values (f, rows, columns) at angular frequencies w (f,)."""
        k, c, m = (a.toarray() if sp.issparse(a) else a for a in self)
        w = w[:, None, None]
        return k + 1j * w * c - w**2 * m


class Equations:
    """``Z q = b u`` and ``y = c q + d u`` at any frequency: polynomials in ``i w``, and the members, from those of the model."""

    def __init__(self, model: LinearModel, i: np.ndarray, o: np.ndarray, loss: dict[tuple[str, str], float]):
        n = model.size
        self.inputs = [model.inputs[k] for k in i]
        self.n = n
        self.shape = (len(o), len(i))
        self.members = Members(model, loss)
        own = {m.label for m in model.members}
        factors = {part: complex(1.0, eta) for part, eta in loss.items() if eta and part[0] not in own}
        stiffness = model.parts.total(factors) if factors else model.stiffness
        self.complex = model.damping.nnz > 0 or bool(factors)
        whole, channels = (
            (stiffness, model.damping, model.mass),
            (model.drive, model.force, model.measure, model.read_reactions(o)),
        )
        small = n <= _SMALL
        if small:  # scipy.sparse would take longer to cut these than it takes to solve them
            whole, channels = ([a.toarray() for a in group] for group in (whole, channels))
            drive, force, measure, react = channels[0][:, i], channels[1][:, i], channels[2][o], channels[3]
            self.matrix = Polynomial(*(a[:n, :n] for a in whole))
        else:
            drive, force = (_chosen(a.T, i).T for a in channels[:2])
            measure, react = _chosen(channels[2], o), channels[3]
            self.matrix = Polynomial(stiffness[:n, :n] if factors else model.K, model.Lambda, model.M)
        if len(model.held):
            # rows of the held coordinates; the matrices are symmetric
            held = [a[n:] for a in whole]
            if not small and held[0].shape[0] * n < _FEW:
                drive, force, measure, react, *held = (a.toarray() for a in (drive, force, measure, react, *held))
            b, c = [-(a[:, :n].T @ drive) for a in held], [-(react @ a[:, :n]) for a in held]
            d = [-(react @ (a[:, n:] @ drive)) for a in held]
            self.drive = Polynomial(b[0] + force[:n], b[1], b[2])
            self.read = Polynomial(c[0] + measure[:, :n], c[1], c[2])
            self._direct = Polynomial(d[0] + measure[:, n:] @ drive + react @ force[n:], d[1], d[2])
        else:
            none = [np.zeros(a.shape) if small else sp.csr_matrix(a.shape) for a in (force, measure)]
            none.append(np.zeros(self.shape))
            self.drive, self.read = Polynomial(force, none[0], none[0]), Polynomial(measure, none[1], none[1])
            self._direct = Polynomial(none[2], none[2], none[2])
        if len(model.members):
            # what the inputs drag of each member and what the sensors read from it, (members, 12, inputs or outputs)
            self._dragged, self._read = (
                self.members.on_held(x.toarray() if sp.issparse(x) else x) for x in (drive, react.T)
            )

    def direct(self, w: np.ndarray) -> np.ndarray:
        """d without what members add, (f, outputs, inputs), at angular frequencies w (f,)."""
        return self._direct.at(w)

    def add_direct(self, values: np.ndarray, w: np.ndarray) -> None:
        """Adds the same to ``values`` (f, outputs, inputs), some frequencies at a time."""
        if any(np.any(a.data if sp.issparse(a) else a) for a in self._direct):
            block = max(1, int(BATCH_BYTES / (128 * values[0].size)))
            for first in range(0, len(w), block):
                values[first : first + block] += self.direct(w[first : first + block])

    def couplings(self, w: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """b, c, d at the angular frequencies w (f,), for the stiffness ``change`` (f, members, 12, 12) of the members."""
        b, c, d = self.drive.at(w), self.read.at(w), self.direct(w)
        for k, (to, on) in enumerate(self.members.local):
            pull, pulled = change[:, k] @ self._dragged[k], self._read[k].T @ change[:, k]
            b[:, on] -= to.T @ pull
            c[:, :, on] -= pulled @ to
            d -= self._read[k].T @ pull
        return b, c, d


def _chosen(a: sp.spmatrix, rows: np.ndarray) -> sp.csr_matrix:
    return a if np.array_equal(rows, np.arange(a.shape[0])) else a.tocsr()[rows]
