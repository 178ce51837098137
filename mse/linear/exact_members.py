"""Exact members in a linear model: the change of its stiffness from zero frequency to any other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..errors import ModelError
from ..numerics.precision import left_by_rounding
from .linear_model import ExactMember, LinearModel

# With a hundredth and a hundred times of each tests/linear/test_exact_members.py passes:
FASTEST = 1e40  # w^2 beyond all modes
_STEP = 1e-5  # of w^2, or of the first pole, for differences: they are right to its square, and to rounding over it
_UNSYMMETRIC = 1e-9  # of the largest entry of a dynamic stiffness


class Members:
    """The exact members of a model as the change of its stiffness from zero frequency to any other."""

    def __init__(self, model: LinearModel, loss: Mapping[tuple[str, str], float] | None = None):
        n = model.size
        by_label: dict[str, dict[str, float]] = {m.label: {} for m in model.members}
        for (owner, mechanism), eta in (loss or {}).items():
            if owner in by_label and eta:
                by_label[owner][mechanism] = eta
        self._members = [(m, by_label[m.label]) for m in model.members]
        motions = [sp.csr_matrix(m.motion) for m in model.members]
        self._prescribed = [m[:, n:] for m in motions]
        self._free = [m[:, :n] for m in motions]
        #: motion of each member's ends (12, k) by the k free coordinates ``on`` that move them
        self.local: list[tuple[np.ndarray, np.ndarray]] = []
        for m in motions:
            on = np.unique(m[:, :n].tocoo().col)
            self.local.append((m[:, on].toarray(), on))

    def change(self, omega2: np.ndarray, but: Collection[int] = ()) -> np.ndarray:
        """``D(w) - D(0)`` of every member at every ``w^2``, (f, members, 12, 12), own coordinates; zeros for those in ``but``.

        Complex where a stiffness is: by loss factors, or because a member dissipates by itself.
        """
        out = np.zeros((len(omega2), len(self._members), 12, 12))
        for k, (member, loss) in enumerate(self._members):
            for j, value in enumerate(omega2 if k not in but else ()):
                value = complex(value) if np.imag(value) else float(np.real(value))
                change = checked(member, value, member.stiffness(value, loss)) - member.static
                if np.iscomplexobj(change) and not np.iscomplexobj(out):
                    out = out.astype(complex)
                out[j, k] = change
        return out

    def on_held(self, values: np.ndarray) -> np.ndarray:
        """Motion of the ends by values (l, i) of the constrained coordinates; (members, 12, i)."""
        return np.array([m @ values for m in self._prescribed]).reshape(len(self._prescribed), 12, values.shape[1])

    def add_dense(self, z: np.ndarray, change: np.ndarray) -> None:
        """Add a change (f, members, 12, 12) to matrices (f, n, n) on the free coordinates, in place."""
        for k, (to, on) in enumerate(self.local):
            z[:, on[:, None], on] += to.T @ change[:, k] @ to

    def sparse(self, change: np.ndarray) -> sp.csr_matrix:
        """A change (members, 12, 12) on the free coordinates, (n, n)."""
        count = len(change)
        blocks = sp.bsr_matrix((change, np.arange(count), np.arange(count + 1)), shape=(12 * count, 12 * count))
        return (self._on_free.T @ blocks.tocsr() @ self._on_free).tocsr()

    @cached_property
    def _on_free(self) -> sp.csr_matrix:
        return sp.vstack(self._free, format="csr")

    def clamped_count(self, omega2: float) -> int:
        """``sum J0``, the natural frequencies below of all members with their ends clamped."""
        return sum(member.clamped_count(omega2) for member, _ in self._members)

    @cached_property
    def _steps(self) -> list[float]:
        """Least step of ``w^2`` for differences of each member: far from its poles D changes little over less."""
        return [_STEP * _before_poles(member) for member, _ in self._members]

    def inertia(self, omega2: float, but: Collection[int] = ()) -> np.ndarray:
        """``-dD/d(w^2)`` of every member (members, 12, 12), positive semi-definite, by central differences."""
        zero = np.zeros((12, 12))
        return np.array([
            zero if k in but else _inertia(m, omega2, max(_STEP * abs(omega2), self._steps[k]))
            for k, (m, _) in enumerate(self._members)
        ])  # fmt: skip


def checked(member: ExactMember, omega2: float, d: np.ndarray) -> np.ndarray:
    """The dynamic stiffness d, or ModelError where it is none: 12 x 12, finite, symmetric."""
    d, what = np.asarray(d), None
    if d.shape != (12, 12):
        what = f"has shape {d.shape}; expected (12, 12)"
    elif not np.isfinite(d).all():
        what = "has entries that are not finite numbers; expected finite ones"
    elif np.abs(d - d.T).max() > _UNSYMMETRIC * np.abs(d).max():
        what = f"is unsymmetric by {np.abs(d - d.T).max():.3g}; expected a symmetric matrix, complex ones too (not hermitian)"
    if what:
        raise ModelError(f"{member.label}: its exact dynamic stiffness at w^2 = {omega2:.6g} rad2/s2 {what}")
    return d


def dissipating(model: LinearModel, omega2: float) -> tuple[str, ...]:
    """Names of the members whose dynamic stiffness has an imaginary part of its own at ``w^2``."""
    found = (m.label for m in model.members if np.any(np.imag(m.stiffness(omega2, {}))))
    return tuple(dict.fromkeys(found))


def _before_poles(member: ExactMember) -> float:
    """A value of ``w^2`` below the first clamped natural frequency, by less than a factor of 16 unless it has none."""
    value = 1.0
    while value < FASTEST and not member.clamped_count(value):
        value *= 16.0
    while value > 1.0 / FASTEST and member.clamped_count(value):
        value /= 16.0
    return value


def _inertia(member: ExactMember, omega2: float, step: float) -> np.ndarray:
    if member.clamped_count(omega2 + step) != member.clamped_count(omega2 - step):
        # a pole in between: stay well on this side of it
        while step > left_by_rounding() * abs(omega2) and (
            member.clamped_count(omega2 + step) != member.clamped_count(omega2 - step)
        ):
            step /= 8.0
        step /= 64.0
    return (member.stiffness(omega2 - step, {}) - member.stiffness(omega2 + step, {})) / (2.0 * step)
