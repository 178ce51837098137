"""Modes with loss factors: ``(K (1 + i eta) + s Lambda + s^2 M + members) phi = 0``, each followed from one without loss.

Loss factors are those of motions ``exp(s t)`` with Im s > 0; the conjugate motions have the conjugate stiffness.  A motion that
does not swing has no loss.  What the modes without loss, which are counted, become is found to first order on their span (equal
frequencies turn into each other there), and then exactly, by Newton's method for each vector and its eigenvalue: P. M. Anselone,
L. B. Rall, Numer. Math. 11 (1968) 38.  The eigenvalue is w^2, or s where there is damping.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from ...errors import ModelError
from ...linear.linear_model import LinearModel
from ...linear.losses import law_stiffness, weights
from ...linear.members import Members
from ...numerics.precision import EPS, NOTHING, UNPIVOTED
from .resting import Start, followed

# With a hundredth and a hundred times of each tests/analysis/modes/test_lossy.py passes:
_STEP = 1e-5  # of w^2, for differences of members: they are right to its square, and to rounding over it
_BENT = 1e-4  # second difference of members beside the first; where it is larger a pole is near: the step is shortened
_LITTLE = 1e-6  # of the loss: what it changes to first order, near poles too
_COUPLED = 0.05  # of the distance of two eigenvalues: a coupling by loss that turns their vectors into each other
_FELT = 1e-11  # of an eigenvalue: couplings that are no rounding
_CONVERGED = 1e-13  # of an eigenvalue: last change of Newton's method
_EQUAL, _ALIKE = 1e-9, 1e-6  # of eigenvalues, and of vectors of unit length: what one mode found twice has
_TO_A_TENTH = 0.1  # of the rate at which a mode fades: what a table known at real frequencies may leave open of it

_BESIDE = (
    0.0,
    8.0 * EPS,
    UNPIVOTED * EPS,
)  # of an eigenvalue, where the matrix is singular to rounding: how far off to solve
_MOST_NEWTON = 20
_PIECES = (1, 4, 16)  # in which loss is raised, where all at once leads to one mode twice
_NONE: Mapping = MappingProxyType({})
_DENSE = 60  # coordinates of models that are solved as dense matrices


class Lossy(NamedTuple):
    """Modes with loss: s (m,), shapes and momenta (n, m), and which of them neither stand still nor swing, and so have no loss.

    ``doubt`` (m,), in 1/s, is by how much s may be off, since members in ``tables`` are known at real frequencies alone.  Modes
    that are ``lost`` (m,) were not found again with loss: they are known to first order, with the whole change as doubt.
    """

    s: np.ndarray
    shapes: np.ndarray
    momenta: np.ndarray
    still: np.ndarray
    doubt: np.ndarray
    tables: tuple[str, ...]
    lost: np.ndarray


def lossy_modes(model: LinearModel, s: np.ndarray, shapes: np.ndarray) -> Lossy:
    """What the modes s (m,), shapes (n, m) of a model without its loss become with it."""
    if model.constraints.shape[0] and model.size <= _DENSE:
        free, basis = model.reduced
        place = {name: k for k, name in enumerate(model.coordinates)}
        found = lossy_modes(free, s, shapes[[place[name] for name in free.coordinates]])
        shapes = basis @ found.shapes
        return found._replace(shapes=shapes, momenta=_Equations(model, 1.0).momenta(found.s, shapes))
    s, shapes = s.astype(complex), shapes.astype(complex)
    swinging = np.abs(s.imag) > NOTHING * np.abs(s)
    moving = shapes.any(axis=0)
    whole, without, lost = _Equations(model, 1.0), s, np.zeros(len(s), dtype=bool)
    if swinging.any():
        s, shapes, lost = _found(model, s, shapes, (swinging & moving, swinging & ~moving))
    doubt, tables = _doubt(whole, s, shapes, np.flatnonzero(swinging & moving & ~lost))
    doubt[lost] = np.abs(s - without)[lost]
    return Lossy(s, shapes, whole.momenta(s, shapes), (s != 0) & ~swinging, doubt, tables, lost)


def _found(
    model: LinearModel, s: np.ndarray, shapes: np.ndarray, which: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """s (m,) and shapes (n, m) with loss, and which modes (m,) are lost and so known to first order only."""
    for pieces in _PIECES:
        try:
            return *_with_loss(model, s, shapes, which, pieces), np.zeros(len(s), dtype=bool)
        except _Lost as error:
            away = error.which
    (moving, resting), lost, found = which, np.zeros(len(s), dtype=bool), None
    while found is None:
        lost[away] = True
        if (lost & resting).any():
            _refuse_lost(model, s, np.flatnonzero(lost))
        try:
            found = _with_loss(model, s, shapes, (moving & ~lost, resting), _PIECES[-1])
        except _Lost as error:
            away = error.which
    for k in np.flatnonzero(lost):  # of two that become one, one can be found
        lost[k] = False
        try:
            found = _with_loss(model, s, shapes, (moving & ~lost, resting), _PIECES[-1])
        except _Lost:
            lost[k] = True
    whole, on = _Equations(model, 1.0), np.flatnonzero(moving)
    p, vectors = _first_order(_Equations(model, 0.0), whole, whole.eigenvalues(s[on]), shapes[:, on])
    of_lost = lost[on]
    found[0][on[of_lost]], found[1][:, on[of_lost]] = whole.rates(p)[of_lost], np.array(vectors).T[:, of_lost]
    return *found, lost


class _Lost(Exception):
    """Modes, by number, that are not found again when loss is raised."""

    def __init__(self, which: np.ndarray):
        super().__init__()
        self.which = which


def _refuse_lost(model: LinearModel, s: np.ndarray, lost: np.ndarray) -> None:
    names = ", ".join(f"{abs(x) / (2 * np.pi):.6g}" for x in s[lost][:4]) + (" ..." if len(s[lost]) > 4 else "")
    smoother = ", or tables with smaller steps in slope" if model.members else ""
    raise ModelError(
        f"{model.name}: its modes at {names} Hz without loss are not found again with it: they become one, or no longer swing; "
        f"expected one for each; ask for modes below these alone, give smaller loss factors{smoother}, or use "
        "frequency_response()"
    )


def _with_loss(
    model: LinearModel, s: np.ndarray, shapes: np.ndarray, which: tuple[np.ndarray, np.ndarray], pieces: int
) -> tuple[np.ndarray, np.ndarray]:
    """s (m,) and shapes (n, m) with loss, which is raised in some ``pieces``; _Lost where modes are on the way.

    ``which`` of them (m,) swing, those with motion of the coordinates and those without.
    """
    s, shapes = s.copy(), shapes.copy()
    moving, resting = which
    whole = _Equations(model, 1.0)
    on = np.flatnonzero(moving | resting)
    if resting.any():
        start = Start(np.abs(s[on]) ** 2, shapes[:, on], resting[on])
        found = followed(partial(_Equations, model), _Equations(model, 0.0, damping=False), start, pieces)
        if found is None:
            raise _Lost(np.flatnonzero(resting))
        beside = on[found[0]]
        s[beside], shapes[:, beside] = 1j * np.sqrt(found[1]), found[2]
        moving = moving & ~np.isin(np.arange(len(s)), beside)
    if moving.any():
        found, vectors = whole.eigenvalues(s[moving]), shapes[:, moving]
        for k in range(pieces):
            now, then = (_Equations(model, share / pieces) for share in (k, k + 1))
            refined = [_refined(then, p, x) for p, x in zip(*_first_order(now, then, found, vectors), strict=True)]
            if any(r is None for r in refined):
                raise _Lost(np.flatnonzero(moving)[[r is None for r in refined]])
            found, vectors = np.array([p for p, _ in refined]), np.array([x for _, x in refined]).T
        s[moving], shapes[:, moving] = whole.rates(found), vectors
    on = on[shapes[:, on].any(axis=0)]
    twice = _found_twice(model, whole.eigenvalues(s[on]), shapes[:, on])
    if twice.any():
        raise _Lost(on[twice])
    return s, shapes


class _Equations:
    """A(p) and its slope by p, which is w^2, or s where there is damping, with a share of the loss factors.

    Constraints stand below and beside them, as large as the stiffness.
    """

    def __init__(self, model: LinearModel, share: float, *, damping: bool = True):
        self.model, self.n, self.share = model, model.size, share
        self._loss = {label: share * eta for label, eta in model.losses.items()}
        self.damped = damping and model.Lambda.nnz > 0
        self.members = Members(model, self._loss)
        given = weights(model, self._loss)
        self._laws = law_stiffness(model, model.stiffness_parts, self._loss)
        # the real part stays what it is, to the last bit: loss changes it nowhere
        k = model.K + 1j * model.stiffness_parts.total(given).imag if given else model.K
        self._dense = model.size <= _DENSE and not model.constraints.shape[0]
        form = (lambda a: a.toarray()) if self._dense else (lambda a: a.tocsc())
        self._k, self._c, self._m = (form(a) for a in (k, model.Lambda, model.M))
        self._border = model.constraints[:, : self.n] * (float(np.abs(k.data).max(initial=0.0)) or 1.0)

    def eigenvalues(self, s: np.ndarray) -> np.ndarray:
        """p of rates s."""
        return s if self.damped else -(s**2)

    def rates(self, p: np.ndarray) -> np.ndarray:
        """s of p, with Im s > 0."""
        return p if self.damped else 1j * np.sqrt(p)

    def matrix(self, p: complex):
        """A(p), (n, n)."""
        a = self._without_members(p)
        return a + self._change(-p * p if self.damped else p) if self.model.members else a

    def _without_members(self, p: complex):
        a = self._k + p * self._c + p * p * self._m if self.damped else self._k - p * self._m
        if self._laws is None:
            return a
        return a + self._of_laws(self._laws.laws.weights(np.array([self._omega(p)]))[0])

    def _omega(self, p: complex) -> complex:
        return -1j * p if self.damped else np.sqrt(complex(p))

    def _of_laws(self, weights: np.ndarray):
        return np.tensordot(weights, self._law_matrices, axes=1) if self._dense else self._laws.sum(weights)

    @cached_property
    def _law_matrices(self) -> np.ndarray:
        """The stiffness (l, n, n) with each law."""
        out = np.zeros((len(self._laws.laws), self.n, self.n))
        out[self._laws.law, self._laws.row, self._laws.column] = self._laws.value
        return out

    def slope(self, p: complex):
        """dA/dp, (n, n)."""
        a = self._c + 2.0 * p * self._m if self.damped else -self._m
        if self._laws is not None:
            omega = self._omega(p)
            a = a + self._of_laws(self._laws.laws.slopes(omega) * (-1j if self.damped else 0.5 / omega))
        if not self.model.members:
            return a
        return a + self._member_slope(-p * p if self.damped else p) * (-2.0 * p if self.damped else 1.0)

    def _change(self, omega2: complex, regular: Mapping[int, Callable[[complex], np.ndarray]] = _NONE):
        omega = np.sqrt(np.array([omega2]))
        own = [
            regular[k](omega2) if k in regular else self.members.change_of(k, omega)[0]
            for k in range(len(self.members))
        ]
        found = self.members.sparse(own)
        return found.toarray() if self._dense else found

    def _member_slope(self, omega2: complex):
        step = _STEP * abs(omega2)
        while True:
            found = self.members.change(np.sqrt(np.array([omega2 - step, omega2, omega2 + step])))
            bent = max(np.abs(low - 2.0 * here + high).max() for low, here, high in found)
            if bent <= _BENT * max(np.abs(high - low).max() for low, _, high in found) or step < _STEP**2 * abs(omega2):
                found = self.members.sparse([(high - low) / (2.0 * step) for low, _, high in found])
                return found.toarray() if self._dense else found
            step /= 16.0

    def solve(self, p: complex, right: np.ndarray, *, turned: bool = False) -> np.ndarray:
        """``A(p)^-1 right`` (n,), or with A^T, within the constraints; exactly at an eigenvalue that of one beside it."""
        for beside in _BESIDE:
            a = self.matrix(p * (1.0 + beside))
            found = self._solved(a.T if turned else a, right)
            if np.isfinite(found).all():
                return found
        return np.full(self.n, np.nan)

    def solve_beside_poles(
        self, omega2: complex, regular: Mapping[int, Callable[[complex], np.ndarray]], right: np.ndarray
    ) -> np.ndarray:
        """``A^-1 right`` (n, m), with the dynamic stiffness ``regular[k](omega2)`` in place of that of member k."""
        p = self.eigenvalues(1j * np.sqrt(np.array([omega2], dtype=complex)))[0]
        return self._solved(self._without_members(p) + self._change(omega2, regular), right)

    def _solved(self, a, right: np.ndarray) -> np.ndarray:
        """``a^-1 right`` within the constraints; nan where that does not exist."""
        try:
            if self._dense:
                return np.linalg.solve(a, right)
            if self._border.shape[0]:
                a = sp.bmat([[a, self._border.T], [self._border, None]])
            right = np.concatenate([right, np.zeros((self._border.shape[0], *right.shape[1:]))])
            return splu(a.tocsc()).solve(right)[: self.n]
        except (np.linalg.LinAlgError, RuntimeError):
            return np.full(right.shape, np.nan)[: self.n]

    def left(self, x: np.ndarray) -> np.ndarray | None:
        """Left vectors to right ones (n, m); None where they do not follow from these."""
        if self.model.skew is None:
            return x
        return None if self.model.mirror is None else (x.T * self.model.mirror).T

    def left_vector(self, p: complex, x: np.ndarray) -> np.ndarray:
        """The left vector (n,) of an eigenvalue with the right one x."""
        left = self.left(x[:, None])
        return self.solve(p, np.conj(x), turned=True) if left is None else left[:, 0]

    def rounding(self, p: complex, x: np.ndarray) -> float:
        """By how much rounding of the stiffness may move an eigenvalue with the right vector x (n,)."""
        y, noise = self.left_vector(p, x), self.model.stiffness_noise
        off = np.sqrt((noise @ np.abs(x) ** 2) * (noise @ np.abs(y) ** 2))
        return float(off / abs(y @ (self.slope(p) @ x)))

    def lacking(self, omega: complex) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """What tables may lack at a complex frequency, as :meth:`.Members.left_out`."""
        return self.members.left_out(omega)

    def momenta(self, s: np.ndarray, shapes: np.ndarray) -> np.ndarray:
        """What motions carry of momentum, members included, (n, m)."""
        out = self.model.M @ shapes
        for k in np.flatnonzero(s.imag) if self.model.members else ():
            out[:, k] += self.members.sparse(self.members.inertia(abs(s[k]) ** 2)) @ shapes[:, k]
        return out


def _doubt(
    equations: _Equations, s: np.ndarray, shapes: np.ndarray, which: np.ndarray
) -> tuple[np.ndarray, tuple[str, ...]]:
    """By how much some of s (m,) may be off for what tables lack beside the real axis, (m,), and names of these."""
    doubt, tables = np.zeros(len(s)), {}
    for k in which if equations.model.members else ():
        p, x = equations.eigenvalues(s[k : k + 1])[0], shapes[:, k]
        lacks = equations.lacking(s[k] / 1j)
        if not lacks:
            continue
        y = equations.left_vector(p, x)
        off = sum(float(np.abs(y[on] @ d @ x[on]).max()) for _, on, d in lacks)
        moved = off / abs(y @ (equations.slope(p) @ x))
        doubt[k] = moved if equations.damped else 0.5 * moved / abs(s[k])
        if doubt[k] > _TO_A_TENTH * abs(s[k].real):
            _refuse_doubtful(equations.model.name, s[k], doubt[k], [label for label, *_ in lacks])
        tables |= dict.fromkeys(label for label, *_ in lacks)
    return doubt, tuple(tables)


def _refuse_doubtful(name: str, s: complex, doubt: float, labels: list[str]) -> None:
    low, high = (abs(s.imag + sign * s.real) / (2 * np.pi) for sign in (1, -1))
    raise ModelError(
        f"{name}: the mode at {abs(s) / (2 * np.pi):.6g} Hz fades with {-s.real:.3g} 1/s, of which {doubt:.2g} 1/s are open: the "
        f"dynamic_stiffness of {', '.join(dict.fromkeys(labels))} is known at real frequencies alone, and its slope changes too "
        f"much between {low:.6g} and {high:.6g} Hz; expected less than {_TO_A_TENTH:g} of that rate; give a formula, which "
        "goes on at complex omega, or a table with finer steps and a smooth interpolation, ask for fewer modes where lower ones "
        "are enough, or use frequency_response()"
    )


def _first_order(
    now: _Equations, then: _Equations, p: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Eigenvalues (m,) and vectors after a change of loss, to first order; those that it couples are found together."""
    left = now.left(x)
    if left is None:
        return p, list(x.T)
    part = _Equations(now.model, now.share + _LITTLE * (then.share - now.share))
    changes, slopes = np.zeros((len(p), len(p)), dtype=complex), np.zeros(len(p), dtype=complex)
    for k, value in enumerate(p):
        before, after = now.matrix(value), part.matrix(value)
        change = ((after - before) @ x[:, k]) / _LITTLE
        if now.model.members:  # which may dissipate by themselves
            change = change + before @ x[:, k]
        changes[:, k] = left.T @ change
        slopes[k] = left[:, k] @ (now.slope(value) @ x[:, k])
    changes /= -slopes[:, None]
    coupling = np.maximum(np.abs(changes), np.abs(changes.T))
    apart = np.abs(p[:, None] - p)
    together = (coupling > _COUPLED * apart) & (coupling > _FELT * np.abs(p))
    count, group = connected_components(together, directed=False)
    out, vectors = p + np.diag(changes), list(x.T)
    for g in range(count):
        on = np.flatnonzero(group == g)
        if len(on) > 1:
            middle = p[on].mean()
            values, turn = np.linalg.eig(np.diag(p[on] - middle) + changes[np.ix_(on, on)])
            out[on] = middle + values
            for k, column in zip(on, (x[:, on] @ turn).T, strict=True):
                vectors[k] = column
    return out, vectors


def _refined(equations: _Equations, p: complex, x: np.ndarray) -> tuple[complex, np.ndarray] | None:
    """The eigenvalue and vector nearest to given ones by Newton's method; None where it does not converge."""
    last = np.inf
    mass = equations.model.M
    for _ in range(_MOST_NEWTON):
        pushed = equations.slope(p) @ x
        u = equations.solve(p, pushed)
        if not np.isfinite(u).all():  # an eigenvalue but for rounding, which may be more than that of p
            p = p + 0.5 * equations.rounding(p, x)
            u = equations.solve(p, pushed)
        momentum = np.conj(mass @ x)
        measure = momentum if abs(momentum @ x) > 0.0 else np.conj(x)
        if not np.isfinite(u).all() or not measure @ u:
            return None
        step = (measure @ x) / (measure @ u)
        p, x = p - step, _real_where_largest(u)
        size = abs(step) / abs(p)
        if size <= _CONVERGED:
            break
        if size >= 0.5 * last and abs(step) <= equations.rounding(p, x):
            break
        last = size
    else:
        return None
    if not equations.damped and abs(p.imag) < EPS * abs(p):
        p = complex(p.real)
    return p, x


def _real_where_largest(x: np.ndarray) -> np.ndarray:
    """A vector times what makes its largest entry 1: small losses leave its imaginary part small."""
    return x / x[np.argmax(np.abs(x))]


def _found_twice(model: LinearModel, p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Which modes (m,) were found more than once: one eigenvalue and one vector."""
    y = np.sqrt(np.abs(model.M.diagonal()))[:, None] * x
    y = np.where(np.linalg.norm(y, axis=0) > 0.0, y, x)
    y = y / np.linalg.norm(y, axis=0)
    near = np.abs(p[:, None] - p) <= _EQUAL * np.abs(p)
    count, group = connected_components(near, directed=False)
    same = [np.linalg.svd(y[:, group == g], compute_uv=False)[-1] <= _ALIKE for g in range(count)]
    return np.array(same, dtype=bool)[group]
