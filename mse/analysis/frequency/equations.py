"""The equations of a linear model's frequency response: ``Z q = b u`` and ``y = c q + d u`` at any frequency."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...linear.law_stiffness import Factor, LawEntries
from ...linear.linear_model import LinearModel
from ...linear.losses import law_stiffness, weights
from ...linear.members import Members
from ...linear.rate_inputs import acting
from ...linear.zero_motions import uncanceled
from ...numerics.options import SIZES
from ...numerics.precision import EPS, left_by_rounding
from ..modes.zero import faked_stiffness
from .additions import Moved

# Entries up to which a dense matrix is used: with none, chains of 12 and 40 bodies on an actuator take a third longer, and with
# a million, 100 hinges of which all is read take three times as long.  The responses do not depend on it
# (tests/analysis/frequency/test_equations.py::test_held_coordinates_are_kept_sparse_or_not).
_FEW = 1e4
_SMALL_DIAGONAL = (
    EPS**0.5
)  # relative to the largest entry of the row: scaling by a smaller diagonal would lose half the digits
SMALL = 60  # models of at most this size are cut and multiplied as dense matrices


class Polynomial(NamedTuple):
    """``k + i w c - w^2 m`` of matrices of one shape, sparse or not; k may be complex.  Losses with a law come on top."""

    k: sp.csr_matrix | np.ndarray
    c: sp.csr_matrix | np.ndarray
    m: sp.csr_matrix | np.ndarray
    laws: LawEntries | None = None

    @property
    def T(self) -> Polynomial:
        return Polynomial(self.k.T, self.c.T, self.m.T, None if self.laws is None else self.laws.T)

    def times(self, basis: sp.csr_matrix) -> Polynomial:
        """Of other coordinates, whose motions are the columns of ``basis``."""
        laws = None if self.laws is None else self.laws.times(basis)
        return Polynomial(self.k @ basis, self.c @ basis, self.m @ basis, laws)

    def scaled(self, by: np.ndarray) -> Polynomial:
        """With rows times numbers (rows,)."""
        rows = sp.diags(by, format="csr")
        laws = None if self.laws is None else self.laws.scaled(by)
        return Polynomial(rows @ self.k, rows @ self.c, rows @ self.m, laws)

    def at(self, w: np.ndarray) -> np.ndarray:
        """Dense values (f, rows, columns) at angular frequencies w (f,)."""
        k, c, m = (a.toarray() if sp.issparse(a) else a for a in self[:3])
        rates, w = w, w[:, None, None]
        values = k + 1j * w * c - w**2 * m
        return values if self.laws is None else values + self.laws.at(rates)


class MembersAdd(NamedTuple):
    """Motions of members, and their stiffness by angular frequencies."""

    moved: list[Moved]
    change: Callable[[np.ndarray], list[np.ndarray]]

    def times(self, basis: sp.csr_matrix) -> MembersAdd:
        """In other coordinates: the members' own are single ones in ``basis``, too."""
        return self._replace(moved=[m._replace(on=basis[m.on].indices) for m in self.moved])


class Equations:
    """``Z q = b u`` and ``y = c q + d u`` at any frequency: polynomials in ``i w``, and members with a dynamic stiffness.

    The u (k,) are the chosen inputs, or their integrals, as ``acting`` says; :meth:`by_input` leads to responses to the inputs.
    If the model replaces a ``whole`` with constraints, ``back`` (whole.size, n) gives the coordinates of the whole; the last
    coordinates may be multipliers.
    """

    def __init__(
        self, model: LinearModel, i: np.ndarray, o: np.ndarray, loss: dict[tuple[str, str], Factor],
        whole: LinearModel | None = None, back: sp.csr_matrix | None = None,
    ):  # fmt: skip
        n = model.size
        self.whole, self.back = model if whole is None else whole, back
        self._asked, self.acting = len(i), acting(model, i)
        self.multipliers = max(n - self.whole.size, 0)
        self.inputs = [model.inputs[i[k]] for k in self.acting.of]
        self.n = n
        self.shape = (len(o), len(self.acting.of))
        self.members = Members(model, loss)
        lossy, laws = weights(model, loss), law_stiffness(model, model.all_parts, loss)
        own = None if laws is None else laws.cut(slice(n), slice(n))
        stiffness = model.all_parts.total(lossy) if lossy else model.full_stiffness
        velocity = model.full_velocity
        self.symmetric = model.skew is None
        self._mirror = None if self.symmetric else model.mirror
        self.complex = velocity.nnz > 0 or bool(lossy) or laws is not None
        small = n <= SMALL
        whole = stiffness, velocity, model.full_mass
        # cutting small matrices with scipy.sparse would take longer than solving them
        reactions = model.read_reactions(np.arange(len(model.outputs)) if small else o)
        channels = model.measure, reactions, model.rate
        force, drive = self.acting.dense(model) if small else self.acting.columns(model)
        if small:
            whole, channels = ([a.toarray() for a in group] for group in (whole, channels))
            measure, react, rate = (a[o] for a in channels)
            self.matrix = Polynomial(*(a[:n, :n] for a in whole), own)
        else:
            measure, react, rate = _chosen(channels[0], o), channels[1], _chosen(channels[2], o)
            self.matrix = Polynomial(stiffness[:n, :n] if lossy else model.K, model.Lambda, model.M, own)
        if len(model.prescribed):
            # rows of the constrained coordinates, or columns if others are wanted
            prescribed = [a[n:] for a in whole]
            columns = prescribed if self.symmetric else [a[:, n:].T for a in whole]
            if not small and prescribed[0].shape[0] * n < _FEW:
                drive, force, measure, react, rate, *prescribed = (
                    a.toarray() for a in (drive, force, measure, react, rate, *prescribed)
                )
            b, c = [-(a[:, :n].T @ drive) for a in columns], [-(react @ a[:, :n]) for a in prescribed]
            d = [-(react @ (a[:, n:] @ drive)) for a in prescribed]
            dragged, pulled, through = (None,) * 3 if laws is None else _of_held(laws, n, drive, react)
            self.drive = Polynomial(b[0] + force[:n], b[1], b[2], dragged)
            self.read = Polynomial(c[0] + measure[:, :n], c[1] + rate[:, :n], c[2], pulled)
            d = d[0] + measure[:, n:] @ drive + react @ force[n:], d[1] + rate[:, n:] @ drive, d[2]
            self._direct = Polynomial(*d, through)
        else:
            none = [np.zeros(a.shape) if small else sp.csr_matrix(a.shape) for a in (force, measure)]
            none.append(np.zeros(self.shape))
            self.drive, self.read = Polynomial(force, none[0], none[0]), Polynomial(measure, rate, none[1])
            self._direct = Polynomial(none[2], none[2], none[2])
        self.dragged, self.reads = [], []
        if len(model.members):
            # motion of each member by inputs, and its contribution to what sensors read, (k, inputs or outputs)
            self.dragged, self.reads = (
                self.members.on_held(x.toarray() if sp.issparse(x) else x) for x in (drive, react.T)
            )

    @cached_property
    def _terms(self) -> Polynomial:
        """Magnitudes of all terms in the equations of the whole, including terms that cancel."""
        whole = self.whole
        k = abs(whole.K) if self.back is None else uncanceled(whole)
        return Polynomial(k, abs(whole.Lambda), abs(whole.M))

    def rounding(self, motions: np.ndarray, w: float) -> np.ndarray:
        """Up to which dynamic stiffness (m,) of motions (n, m) is rounding, at one angular frequency."""
        k, c, m = self._terms[:3]
        motions = motions if self.back is None else self.back @ motions
        return faked_stiffness(motions, self.whole, (k + w * c + w**2 * m).tocsr())

    @cached_property
    def pushes(self) -> np.ndarray:
        """Rounding (n, inputs) of input forces that constraints balance."""
        if self.back is None:
            return np.zeros((self.n, self.shape[1]))
        force = abs(self.acting.columns(self.whole)[0][: self.whole.size]).sum(axis=0)
        return np.outer(abs(self.back).max(axis=0).toarray(), np.asarray(force))

    @cached_property
    def _sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """Sizes of the coordinates except multipliers in k, c, m (n, 3), and their rounding."""
        n = self.n - self.multipliers
        own = np.empty((n, 3))
        for j, a in enumerate(self.matrix[:3]):
            a = sp.csr_matrix(a[:n, :n])
            diagonal, row = np.abs(a.diagonal()), abs(a).max(axis=1).toarray().ravel() if n else np.zeros(0)
            # a zero on the diagonal does not measure its row
            own[:, j] = np.where(diagonal > _SMALL_DIAGONAL * row, diagonal, row)
        single = sp.identity(n, format="csc") if self.back is None else self.back.tocsc()[:, :n]
        return own, np.stack([faked_stiffness(single, self.whole, a) for a in self._terms[:3]], axis=1)

    def swept(self, drive: Polynomial) -> tuple[Polynomial, Polynomial] | None:
        """The matrix and its right-hand sides, with signs of rows that make it symmetric; None if no signs do."""
        if self.symmetric:
            return self.matrix, drive
        if self._mirror is None:
            return None
        return self.matrix.scaled(self._mirror), drive.scaled(self._mirror)

    @cached_property
    def added(self) -> MembersAdd | None:
        """What members add to the matrix, its right-hand sides and the outputs; None without members."""
        if not len(self.members):
            return None
        signs = np.ones(self.n) if self.symmetric else self._mirror
        local = zip(self.members.local, self.dragged, self.reads, strict=True)
        moved = [
            Moved(on, to, dragged, reads, float(signs[on].sum() >= 0) * 2 - 1) for (to, on), dragged, reads in local
        ]
        return MembersAdd(moved, self.members.change)

    def sizes(self, w: np.ndarray) -> np.ndarray:
        """Size of the terms in the dynamic stiffness of coordinates except multipliers (f, n), at angular frequencies w (f,)."""
        own, faked = (a @ np.stack([np.ones_like(w), w, w**2]) for a in self._sizes)
        # if only rounding is left of a coordinate, the terms that canceled are its size
        return np.where(own > faked, own, faked / left_by_rounding()).T

    def direct(self, w: np.ndarray) -> np.ndarray:
        """d without the members' contribution, (f, outputs, inputs), at angular frequencies w (f,)."""
        return self._direct.at(w)

    def by_input(self, values: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Responses (f, o, i) to the chosen inputs, or b and d of them, of those to u (f, o, k), at complex rates s (f,)."""
        return self.acting.response(values, s, self._asked)

    def add_direct(self, values: np.ndarray, w: np.ndarray) -> None:
        """Adds the same to ``values`` (f, outputs, inputs), some frequencies at a time."""
        laws = self._direct.laws
        any_law = laws is not None and laws.value.any()
        if any_law or any(np.any(a.data if sp.issparse(a) else a) for a in self._direct[:3]):
            block = max(1, int(SIZES.pivoted_bytes / (128 * values[0].size)))
            for first in range(0, len(w), block):
                values[first : first + block] += self.direct(w[first : first + block])

    def couplings(self, w: np.ndarray, change: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """b, c, d at angular frequencies w (f,) for the members' stiffness ``change``, (f, k, k) each."""
        b, c, d = self.drive.at(w), self.read.at(w), self.direct(w)
        for (to, on), own, dragged, reads in zip(self.members.local, change, self.dragged, self.reads, strict=True):
            pull, pulled = own @ dragged, reads.T @ own
            b[:, on] -= to.T @ pull
            c[:, :, on] -= pulled @ to
            d -= reads.T @ pull
        return b, c, d


def _of_held(laws: LawEntries, n: int, drive, react) -> tuple[LawEntries, LawEntries, LawEntries]:
    """What laws add to the forces of inputs, to outputs by the n free coordinates, and to outputs by inputs.

    They multiply stiffness that has an energy, so it is symmetric.
    """
    mixed, held = laws.cut(slice(n), slice(n, None)), laws.cut(slice(n, None), slice(n, None))
    return mixed.times(-drive), mixed.times(-react.T).T, held.times(-drive).T.times(react.T).T


def _chosen(a: sp.spmatrix, rows: np.ndarray) -> sp.csr_matrix:
    return a if np.array_equal(rows, np.arange(a.shape[0])) else a.tocsr()[rows]
