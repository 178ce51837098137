"""What objects with a dynamic stiffness add to a linear model at each frequency."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp

from ..elements import frequency_laws
from ..elements.base import FramePose
from ..elements.loss_laws import LossLaw
from ..errors import ModelError
from ..model.flattening import Element
from ..numerics.precision import NOTHING, left_by_rounding
from ..validation.matrices import first_negative, negative
from .law_stiffness import Factor, factor_at
from .linear_model import DynamicMember, LinearModel

# tests/linear/test_members.py passes with 0.01 and 100 times each of these, with 0.1 and 10 times _BENT:
FASTEST = 1e40  # w^2 above all modes
_BENT = 1e-3  # second difference compared with the first; where it is larger, a pole is near: the step is shortened
_STEP = 1e-5  # relative step of differences, of w^2 or of the first pole: error about its square plus rounding over it
_UNSYMMETRIC = 1e-9  # relative to the largest entry of a dynamic stiffness

# Relative to the largest entry: a smaller imaginary part is rounding of sums of complex numbers.  With a hundredth of it
# tests/elements/test_frequency_laws.py::test_a_table_that_dissipates_nothing_but_rounding_is_none_that_feeds fails.
_REAL = 1e-12


class Members:
    """The members of a model with a dynamic stiffness, on its free coordinates."""

    def __init__(self, model: LinearModel, loss: Mapping[tuple[str, str], Factor] | None = None):
        n = model.size
        by_label: dict[str, dict[str, Factor]] = {m.label: {} for m in model.members}
        for (owner, mechanism), eta in (loss or {}).items():
            if owner in by_label and eta:
                by_label[owner][mechanism] = eta
        self._members = [(m, by_label[m.label] if m.mechanisms else {}) for m in model.members]
        self._size = n
        motions = [sp.csr_matrix(m.motion) for m in model.members]
        self._prescribed = [m[:, n:] for m in motions]
        #: motion of each member's own coordinates (k, c) by the c free coordinates ``on`` that move them
        self.local: list[tuple[np.ndarray, np.ndarray]] = []
        for m in motions:
            on = np.unique(m[:, :n].tocoo().col)
            self.local.append((m[:, on].toarray(), on))

    def __len__(self) -> int:
        return len(self._members)

    def change(self, omega: np.ndarray) -> list[np.ndarray]:
        """What every member adds to K at each angular frequency (f,), as (f, k, k) on its own coordinates.

        Complex if the member has loss factors or dissipates by itself.
        """
        return [self.change_of(k, omega) for k in range(len(self))]

    def change_of(self, k: int, omega: np.ndarray) -> np.ndarray:
        """:meth:`change` of the k-th member only, (f, k, k)."""
        if np.iscomplexobj(omega) and not omega.imag.any():
            omega = omega.real
        member, loss = self._members[k]
        _refuse_beyond(member, omega)
        return checked(member, omega, with_losses(member, omega, loss))

    def left_out(self, omega: complex) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Members known at real frequencies only, and bounds on what each may lack at a complex one.

        Their labels, the free coordinates (c,) that move them, and matrices (3, c, c) on these, of which the largest counts.
        """
        found = []
        for (member, _), (to, on) in zip(self._members, self.local, strict=True):
            lacks = None if member.left_out is None else member.left_out(np.array([omega]))
            if lacks is not None:
                found.append((member.label, on, to.T @ lacks[0] @ to))
        return found

    def conservative(self, omega2: float, but: Collection[int] = ()) -> list[np.ndarray]:
        """:meth:`change` without dissipation at one ``w^2``, (k, k) per member; zeros for members in ``but``."""
        return [
            np.zeros((member.motion.shape[0],) * 2) if k in but else conservative(member, np.array([omega2]))[0]
            for k, (member, _) in enumerate(self._members)
        ]

    def on_held(self, values: np.ndarray) -> list[np.ndarray]:
        """Motion (k, i) of each member by values (l, i) of the constrained coordinates."""
        return [m @ values for m in self._prescribed]

    def add_dense(self, z: np.ndarray, change: Sequence[np.ndarray]) -> None:
        """Add a change, (f, k, k) of each member, to matrices (f, n, n) on the free coordinates, in place."""
        for (to, on), own in zip(self.local, change, strict=True):
            z[:, on[:, None], on] += to.T @ own @ to

    def sparse(self, change: Sequence[np.ndarray]) -> sp.csr_matrix:
        """A change, (k, k) of each member, on the free coordinates, (n, n)."""
        if not self._members:
            return sp.csr_matrix((self._size, self._size))
        rows, columns = self._places
        values = np.concatenate([(to.T @ own @ to).ravel() for (to, _), own in zip(self.local, change, strict=True)])
        return sp.csr_matrix((values, (rows, columns)), shape=(self._size, self._size))

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries that members add."""
        pairs = [np.meshgrid(on, on, indexing="ij") for _, on in self.local]
        return tuple(np.concatenate([pair[side].ravel() for pair in pairs]) for side in range(2))

    def clamped_count(self, omega2: float) -> int:
        """``sum J0``: number of natural frequencies of all members with clamped ends below ``omega2``."""
        return sum(self.clamped_count_of(k, omega2) for k in range(len(self)))

    def clamped_count_of(self, k: int, omega2: float) -> int:
        """:meth:`clamped_count` of the k-th member only."""
        return clamped_count(self._members[k][0], omega2)

    @cached_property
    def _steps(self) -> list[float]:
        """Least step of ``w^2`` for differences of each member: far from poles D hardly changes over a smaller one."""
        return [_STEP * _before_poles(member) for member, _ in self._members]

    def inertia(self, omega2: float, but: Collection[int] = ()) -> list[np.ndarray]:
        """``-dD/d(w^2)`` of every member, (k, k), by central differences; zeros for members in ``but``."""
        return [
            np.zeros((m.motion.shape[0],) * 2)
            if k in but
            else _inertia(m, omega2, max(_STEP * abs(omega2), self._steps[k]))
            for k, (m, _) in enumerate(self._members)
        ]


def member_of(
    el: Element, frames: Sequence[FramePose], motion: sp.csr_matrix, static: Callable[[], np.ndarray]
) -> DynamicMember:
    """The member of an element with a dynamic stiffness at these poses; its ``static()`` stiffness is not included."""
    frequency_laws.refuse_static(el.obj, frames, el.size, static)
    count = partial(el.obj.clamped_count, frames=frames) if el.obj.defines("clamped_count") else None
    law = partial(frequency_laws.dynamic_stiffness, el.obj, frames)
    left_out = partial(frequency_laws.left_out, el.obj, frames)
    return DynamicMember(el.owner, motion, law, count, el.obj.dynamic_losses, left_out, *frequency_laws.known(el.obj))


def through(members: Sequence[DynamicMember], t: sp.csr_matrix) -> tuple[DynamicMember, ...]:
    """The same members in other coordinates y, with ``x = t y``."""
    return tuple(replace(m, motion=(m.motion @ t).tocsr()) for m in members)


def with_losses(member: DynamicMember, omega: np.ndarray, loss: Mapping[str, Factor]) -> np.ndarray:
    """The dynamic stiffness (f, k, k) of a member with loss factors and laws by mechanism, at angular frequencies (f,)."""
    if not len(omega) or not any(isinstance(law, LossLaw) for law in loss.values()):
        return member.stiffness(omega, loss)
    # a law is at each frequency a loss factor, which is complex where the modulus changes
    factors = {m: (factor_at(f"{member.label} / {m}", law, omega) - 1.0) / 1j for m, law in loss.items()}
    each = (member.stiffness(omega[k : k + 1], {m: eta[k] for m, eta in factors.items()}) for k in range(len(omega)))
    return np.concatenate(list(each))


def checked(member: DynamicMember, omega: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The dynamic stiffness d (f, k, k) if it is finite and passive (but for a skew part); ModelError otherwise."""
    d, k = np.asarray(d), member.motion.shape[0]
    if d.shape != (len(omega), k, k):
        raise ModelError(
            f"{member.label}: its dynamic stiffness at {len(omega)} frequencies has shape {d.shape}; expected "
            f"{(len(omega), k, k)}"
        )
    if not len(omega):
        return d
    # compare real and imaginary parts: magnitudes of complex numbers would take longer than the rest
    size = np.abs(np.ascontiguousarray(d).view(float) if np.iscomplexobj(d) else d).max(axis=(1, 2))
    if not np.isfinite(size).all():
        at = int(np.argmin(np.isfinite(size)))
        i, j = np.argwhere(~np.isfinite(d[at]))[0]
        raise _refused(member, omega[at], f"is {d[at, i, j]} at [{i}, {j}]; expected finite numbers")
    # loss factors are checked when they are given: near poles rounding would look like feeding
    if np.iscomplexobj(d) and not np.iscomplexobj(omega) and not member.mechanisms:
        _refuse_feeding(member, omega, d, size)
    return d


def unsymmetric(d: np.ndarray) -> np.ndarray:
    """Which of the matrices d (f, k, k) differ from their transposes (f,); complex ones should be symmetric, not hermitian."""
    turned = d.transpose(0, 2, 1)
    if np.array_equal(d, turned):
        return np.zeros(len(d), dtype=bool)
    return np.abs(d - turned).max(axis=(1, 2)) > _UNSYMMETRIC * np.abs(d).max(axis=(1, 2))


def refuse_unsymmetric(model: LinearModel, omega: np.ndarray, asked: str) -> None:
    """ModelError if a dynamic stiffness is unsymmetric at angular frequencies (f,); ``asked`` names the analysis."""
    for member in model.members if len(omega) else ():
        d = np.asarray(member.stiffness(omega, {}))
        found = np.flatnonzero(unsymmetric(d))
        if len(found):
            by = np.abs(d[found[0]] - d[found[0]].T).max()
            raise _refused(
                member, omega[found[0]],
                f"is unsymmetric by {by:.3g}, so {asked} cannot be computed; expected a symmetric matrix, complex ones too (not "
                "hermitian); use frequency_response(), or give what is skew by dissipation (gyroscopic) or power (circulatory) "
                "and ask for modes(damped=True)",
            )  # fmt: skip


def _refuse_beyond(member: DynamicMember, omega: np.ndarray) -> None:
    """ModelError where angular frequencies (f,) other than 0 lie beyond those at which a member is known."""
    low, high = member.down_to, member.up_to
    beyond = omega.real[(omega.real > high * (1.0 + NOTHING)) | ((omega.real < low * (1.0 - NOTHING)) & (omega != 0.0))]
    if len(beyond):
        raise _refused(
            member, beyond[0],
            f"is not known; expected frequencies from {low / (2 * np.pi):.6g} to {high / (2 * np.pi):.6g} Hz, its "
            "dynamic_from_hz and dynamic_up_to_hz; ask for these alone, or give values that go further",
        )  # fmt: skip


def _refuse_feeding(member: DynamicMember, omega: np.ndarray, d: np.ndarray, size: np.ndarray) -> None:
    """ModelError if the imaginary part of d (f, k, k) has negative eigenvalues at a frequency above zero."""
    lost = 0.5 * (d.imag + d.imag.transpose(0, 2, 1))  # a skew part is gyroscopic
    lost = np.where(np.abs(lost) > _REAL * size[:, None, None], lost, 0.0)
    diagonal = np.einsum("fii->fi", lost)
    # most matrices are diagonally dominant, which is sufficient and cheap to check
    weak = np.any(2.0 * diagonal < np.abs(lost).sum(axis=2) * (1.0 - _REAL), axis=1) & (omega > 0)
    if not weak.any():
        return
    lost = lost[weak]
    wrong = first_negative(lost)
    if wrong is not None:
        raise _refused(
            member, omega[weak][wrong],
            f"has an imaginary part that {negative(lost[wrong])}, which would feed energy into motions exp(i w t); expected no "
            "negative eigenvalues; change its sign if it is meant for exp(-i w t); use a controller if it is meant to feed "
            "energy; set dynamic_up_to_hz if it is a table measured only up to a lower frequency",
        )  # fmt: skip


def _refused(member: DynamicMember, omega: complex, what: str) -> ModelError:
    return ModelError(f"{member.label}: its dynamic stiffness at {omega / (2 * np.pi):.6g} Hz {what}")


def conservative(member: DynamicMember, omega2: np.ndarray) -> np.ndarray:
    """The dynamic stiffness (f, k, k) of a member without dissipation, at squares of angular frequencies (f,).

    For real w it is the symmetric half of the real part.  Above the frequencies at which the member is known it keeps its last
    value, so that the modes below can be counted.  For motions that grow (``w^2 < 0``) it is evaluated only if it is a function
    of ``w^2`` without poles there, as it is for members that count their modes.  Laws of relaxation are not, and tables know
    real frequencies only.
    """
    out = np.zeros((len(omega2), *(member.motion.shape[0],) * 2))
    known = omega2 >= 0.0 if member.clamped_count is None else np.ones(len(omega2), dtype=bool)
    if known.any():
        omega2 = np.minimum(omega2[known], member.up_to**2)
        omega = np.sqrt(omega2) if np.all(omega2 >= 0.0) else np.sqrt(omega2.astype(complex))
        d = np.real(checked(member, omega, member.stiffness(omega, {})))
        out[known] = 0.5 * (d + d.transpose(0, 2, 1))
    return out


def clamped_count(member: DynamicMember, omega2: float) -> int:
    """Natural frequencies below ``sqrt(omega2)`` of a member with its ends clamped; 0 if the member does not count them."""
    return 0 if member.clamped_count is None else member.clamped_count(omega2)


def dissipating(model: LinearModel, omega2: float) -> tuple[str, ...]:
    """Names of members whose dynamic stiffness itself has an imaginary part at ``w^2``."""
    omega = np.sqrt(np.array([omega2]))
    found = (m.label for m in model.members if np.any(np.imag(m.stiffness(omega, {}))))
    return tuple(dict.fromkeys(found))


def _before_poles(member: DynamicMember) -> float:
    """A value of ``w^2`` below the first clamped natural frequency, less than 16 times below it if there is one."""
    value = 1.0
    if member.clamped_count is None:
        return value
    while value < FASTEST and not member.clamped_count(value):
        value *= 16.0
    while value > 1.0 / FASTEST and member.clamped_count(value):
        value /= 16.0
    return value


def _inertia(member: DynamicMember, omega2: float, step: float) -> np.ndarray:
    least = left_by_rounding() * abs(omega2)
    while True:
        before, here, after = conservative(member, np.array([omega2 - step, omega2, omega2 + step]))
        bent, slope = np.abs(before - 2.0 * here + after).max(), np.abs(before - after).max()
        if bent <= _BENT * slope or step <= least:
            return (before - after) / (2.0 * step)
        step /= 16.0  # a pole is near
