"""Modes with loss factors: ``(K (1 + i eta) + s Lambda + s^2 M + members) phi = 0``, each followed from one without loss.

Loss factors are those of motions ``exp(s t)`` with Im s > 0; the conjugate motions have the conjugate stiffness.  A motion that
does not swing has no loss.  What the modes without loss, which are counted, become is found to first order on their span (equal
frequencies turn into each other there), and then exactly, by Newton's method for each vector and its eigenvalue: P. M. Anselone,
L. B. Rall, Numer. Math. 11 (1968) 38.  The eigenvalue is w^2, or s where there is damping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
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
        return found._replace(shapes=shapes, momenta=_momenta(model, found.s, shapes))
    s, shapes = s.astype(complex), shapes.astype(complex)
    swinging = np.abs(s.imag) > NOTHING * np.abs(s)
    moving = shapes.any(axis=0)
    terms, without, lost = _Terms(model), s, np.zeros(len(s), dtype=bool)
    if swinging.any():
        s, shapes, lost = _found(terms, s, shapes, (swinging & moving, swinging & ~moving))
    doubt, tables = _doubt(_Equations(terms, 1.0), s, shapes, np.flatnonzero(swinging & moving & ~lost))
    doubt[lost] = np.abs(s - without)[lost]
    return Lossy(s, shapes, _momenta(model, s, shapes), (s != 0) & ~swinging, doubt, tables, lost)


def _found(
    terms: _Terms, s: np.ndarray, shapes: np.ndarray, which: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """s (m,) and shapes (n, m) with loss, and which modes (m,) are lost and so known to first order only."""
    for pieces in _PIECES:
        try:
            return *_with_loss(terms, s, shapes, which, pieces), np.zeros(len(s), dtype=bool)
        except _Lost as error:
            away = error.which
    (moving, resting), lost, found = which, np.zeros(len(s), dtype=bool), None
    while found is None:
        lost[away] = True
        if (lost & resting).any():
            _refuse_lost(terms.model, s, np.flatnonzero(lost))
        try:
            found = _with_loss(terms, s, shapes, (moving & ~lost, resting), _PIECES[-1])
        except _Lost as error:
            away = error.which
    for k in np.flatnonzero(lost):  # of two that become one, one can be found
        lost[k] = False
        try:
            found = _with_loss(terms, s, shapes, (moving & ~lost, resting), _PIECES[-1])
        except _Lost:
            lost[k] = True
    whole, on = _Equations(terms, 1.0), np.flatnonzero(moving)
    p, vectors = _first_order(_Equations(terms, 0.0), whole, whole.eigenvalues(s[on]), shapes[:, on])
    of_lost = lost[on]
    found[0][on[of_lost]], found[1][:, on[of_lost]] = whole.rates(p)[of_lost], vectors[:, of_lost]
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
    terms: _Terms, s: np.ndarray, shapes: np.ndarray, which: tuple[np.ndarray, np.ndarray], pieces: int
) -> tuple[np.ndarray, np.ndarray]:
    """s (m,) and shapes (n, m) with loss, which is raised in some ``pieces``; _Lost where modes are on the way.

    ``which`` of them (m,) swing, those with motion of the coordinates and those without.
    """
    s, shapes = s.copy(), shapes.copy()
    moving, resting = which
    whole = _Equations(terms, 1.0)
    on = np.flatnonzero(moving | resting)
    if resting.any():
        start = Start(np.abs(s[on]) ** 2, shapes[:, on], resting[on])
        found = followed(partial(_Equations, terms), _Equations(terms, 0.0, damping=False), start, pieces)
        if found is None:
            raise _Lost(np.flatnonzero(resting))
        beside = on[found[0]]
        s[beside], shapes[:, beside] = 1j * np.sqrt(found[1]), found[2]
        moving = moving & ~np.isin(np.arange(len(s)), beside)
    if moving.any():
        found, vectors = whole.eigenvalues(s[moving]), shapes[:, moving]
        for k in range(pieces):
            now, then = (_Equations(terms, share / pieces) for share in (k, k + 1))
            found, vectors, converged = _refined(then, *_first_order(now, then, found, vectors))
            if not converged.all():
                raise _Lost(np.flatnonzero(moving)[~converged])
        s[moving], shapes[:, moving] = whole.rates(found), vectors
    on = on[shapes[:, on].any(axis=0)]
    twice = _found_twice(terms.model, whole.eigenvalues(s[on]), shapes[:, on])
    if twice.any():
        raise _Lost(on[twice])
    return s, shapes


class _Terms:
    """The matrices of a model, whatever share of its loss is taken: dense (n, n) for small models without constraints.

    Constraints stand below and beside them, as large as the stiffness.
    """

    def __init__(self, model: LinearModel):
        self.model, self.n = model, model.size
        given = weights(model, model.losses)
        # only the imaginary part is summed: the real part keeps its last bit
        lost = model.stiffness_parts._total(model.stiffness_parts._weights(given).imag) if given else None
        self.laws = law_stiffness(model, model.stiffness_parts, model.losses)
        self.dense = model.size <= _DENSE and not model.constraints.shape[0]
        form = (lambda a: a.toarray()) if self.dense else (lambda a: a.tocsc())
        self.k, self.c, self.m = (form(a) for a in (model.K, model.Lambda, model.M))
        self.lost = None if lost is None else form(lost)
        self.border = model.constraints[:, : self.n] * (float(np.abs(model.K.data).max(initial=0.0)) or 1.0)

    def of_laws(self, weights: np.ndarray):
        """The stiffness with weights (m, l) of laws: (m, n, n), or a list of sparse matrices."""
        assert self.laws is not None
        return self.laws.dense(weights) if self.dense else [self.laws.sum(w) for w in weights]

    def times(self, matrices, x: np.ndarray) -> np.ndarray:
        """``A_k x_k`` (n, m) of matrices A (m, n, n), or a list of sparse ones, and motions x (n, m)."""
        if self.dense:
            return (matrices @ x.T[:, :, None])[:, :, 0].T
        return np.array([a @ column for a, column in zip(matrices, x.T, strict=True)]).T


class _Equations:
    """A(p) and its slope by p, which is w^2, or s where there is damping, with a share of the loss factors."""

    def __init__(self, terms: _Terms, share: float, *, damping: bool = True):
        self.terms, self.model, self.n, self.share = terms, terms.model, terms.n, share
        self.damped = damping and self.model.Lambda.nnz > 0
        loss = {label: share * eta for label, eta in self.model.losses.items()} if self.model.members else {}
        self.members = Members(self.model, loss)
        self._k = terms.k if terms.lost is None else terms.k + 1j * share * terms.lost

    def eigenvalues(self, s: np.ndarray) -> np.ndarray:
        """p of rates s."""
        return s if self.damped else -(s**2)

    def rates(self, p: np.ndarray) -> np.ndarray:
        """s of p, with Im s > 0."""
        return p if self.damped else 1j * np.sqrt(p)

    def omega(self, p: np.ndarray) -> np.ndarray:
        """Complex angular frequencies of p."""
        return -1j * p if self.damped else np.sqrt(p)

    def of_laws(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """What laws of loss multiply their stiffness by at each p (m,), and its slope by p: (m, l) each; None without laws."""
        if self.terms.laws is None:
            return None
        omega = self.omega(p)
        found, slopes = self.terms.laws.laws.with_slopes(omega)
        inner = np.full(len(p), -1j) if self.damped else 0.5 / omega
        return self.share * found, self.share * slopes * inner[:, None]

    def matrices(self, p: np.ndarray, of_laws: np.ndarray | None = None):
        """A(p) for each p (m,): (m, n, n), or a list of sparse matrices; ``of_laws`` (m, l) are weights known already."""
        found = self._without_members(p, of_laws)
        if self.model.members:
            for k, value in enumerate(p):
                found[k] = found[k] + self._change(-value * value if self.damped else value)
        return found

    def _without_members(self, p: np.ndarray, of_laws: np.ndarray | None = None):
        t, square = self.terms, p * p if self.damped else -p
        if t.laws is not None and of_laws is None:
            of_laws = self.share * t.laws.laws.weights(self.omega(p))
        if t.dense:
            found = self._k + square[:, None, None] * t.m
            found = found + p[:, None, None] * t.c if self.damped else found
            return found if of_laws is None else found + t.of_laws(of_laws)
        found = [self._k + by * t.m for by in square]
        found = [a + by * t.c for a, by in zip(found, p, strict=True)] if self.damped else found
        return found if of_laws is None else [a + d for a, d in zip(found, t.of_laws(of_laws), strict=True)]

    def pushed(self, p: np.ndarray, x: np.ndarray, slopes: np.ndarray | None = None) -> np.ndarray:
        """``dA/dp x`` (n, m) for p (m,) and x (n, m); ``slopes`` (m, l) are those of laws."""
        t = self.terms
        found = t.c @ x + 2.0 * (t.m @ x) * p if self.damped else -(t.m @ x)
        if slopes is not None:
            found = found + t.times(t.of_laws(slopes), x)
        if self.model.members:
            for k, value in enumerate(p):
                omega2, inner = (-value * value, -2.0 * value) if self.damped else (value, 1.0)
                found[:, k] += inner * (self._member_slope(omega2) @ x[:, k])
        return found

    def _change(self, omega2: complex, regular: Mapping[int, Callable[[complex], np.ndarray]] = _NONE):
        omega = np.sqrt(np.array([omega2]))
        own = [
            regular[k](omega2) if k in regular else self.members.change_of(k, omega)[0]
            for k in range(len(self.members))
        ]
        found = self.members.sparse(own)
        return found.toarray() if self.terms.dense else found

    def _member_slope(self, omega2: complex):
        step = _STEP * abs(omega2)
        while True:
            found = self.members.change(np.sqrt(np.array([omega2 - step, omega2, omega2 + step])))
            bent = max(np.abs(low - 2.0 * here + high).max() for low, here, high in found)
            if bent <= _BENT * max(np.abs(high - low).max() for low, _, high in found) or step < _STEP**2 * abs(omega2):
                found = self.members.sparse([(high - low) / (2.0 * step) for low, _, high in found])
                return found.toarray() if self.terms.dense else found
            step /= 16.0

    def solve(
        self, p: np.ndarray, right: np.ndarray, of_laws: np.ndarray | None = None, *, turned: bool = False
    ) -> np.ndarray:
        """``A(p)^-1 right`` (n, m), or with A^T, within the constraints; exactly at an eigenvalue that of one beside it."""
        out = np.full(right.shape, np.nan, dtype=complex)
        for beside in _BESIDE:
            on = np.flatnonzero(~np.isfinite(out).all(axis=0))
            if not len(on):
                break
            a = self.matrices(p[on] * (1.0 + beside), None if of_laws is None or beside else of_laws[on])
            if turned:
                a = a.transpose(0, 2, 1) if self.terms.dense else [x.T for x in a]
            out[:, on] = self._solved_each(a, right[:, on])
        return out

    def _solved_each(self, a, right: np.ndarray) -> np.ndarray:
        """``a_k^-1 right_k`` (n, m) of matrices a (m, n, n) or a list."""
        if self.terms.dense:
            try:
                return np.linalg.solve(a, right.T[:, :, None])[:, :, 0].T
            except np.linalg.LinAlgError:  # one of them is singular
                pass
        return np.array([self._solved(x, column) for x, column in zip(a, right.T, strict=True)]).T

    def solve_beside_poles(
        self, omega2: complex, regular: Mapping[int, Callable[[complex], np.ndarray]], right: np.ndarray
    ) -> np.ndarray:
        """``A^-1 right`` (n, m), with the dynamic stiffness ``regular[k](omega2)`` in place of that of member k."""
        p = self.eigenvalues(1j * np.sqrt(np.array([omega2], dtype=complex)))
        return self._solved(self._without_members(p)[0] + self._change(omega2, regular), right)

    def _solved(self, a, right: np.ndarray) -> np.ndarray:
        """``a^-1 right`` within the constraints; nan where that does not exist."""
        border = self.terms.border
        try:
            if self.terms.dense:
                return np.linalg.solve(a, right)
            if border.shape[0]:
                a = sp.bmat([[a, border.T], [border, None]])
            right = np.concatenate([right, np.zeros((border.shape[0], *right.shape[1:]))])
            return splu(a.tocsc()).solve(right)[: self.n]
        except (np.linalg.LinAlgError, RuntimeError):
            return np.full(right.shape, np.nan)[: self.n]

    def left(self, x: np.ndarray) -> np.ndarray | None:
        """Left vectors to right ones (n, m); None where they do not follow from these."""
        if self.model.skew is None:
            return x
        return None if self.model.mirror is None else (x.T * self.model.mirror).T

    def left_vectors(self, p: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The left vectors (n, m) of eigenvalues (m,) with the right ones x."""
        left = self.left(x)
        return self.solve(p, np.conj(x), turned=True) if left is None else left

    def rounding(self, p: np.ndarray, x: np.ndarray, of_laws: np.ndarray | None) -> np.ndarray:
        """By how much rounding of the stiffness may move eigenvalues (m,) with the right vectors x (n, m).

        ``of_laws`` (m, l) are the slopes of laws there.
        """
        y, noise = self.left_vectors(p, x), self.model._stiffness_noise
        off = np.sqrt((noise @ np.abs(x) ** 2) * (noise @ np.abs(y) ** 2))
        return off / np.abs(np.einsum("ij,ij->j", y, self.pushed(p, x, of_laws)))

    def lacking(self, omega: complex) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """What tables may lack at a complex frequency, as :meth:`.Members.left_out`."""
        return self.members.left_out(omega)


def _momenta(model: LinearModel, s: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """What motions carry of momentum, members included, (n, m)."""
    out = model.M @ shapes
    members = Members(model)
    for k in np.flatnonzero(s.imag) if model.members else ():
        out[:, k] += members.sparse(members.inertia(abs(s[k]) ** 2)) @ shapes[:, k]
    return out


def _doubt(
    equations: _Equations, s: np.ndarray, shapes: np.ndarray, which: np.ndarray
) -> tuple[np.ndarray, tuple[str, ...]]:
    """By how much some of s (m,) may be off for what tables lack beside the real axis, (m,), and names of these."""
    doubt, tables = np.zeros(len(s)), {}
    for k in which if equations.model.members else ():
        p, x = equations.eigenvalues(s[k : k + 1]), shapes[:, k : k + 1]
        lacks = equations.lacking(s[k] / 1j)
        if not lacks:
            continue
        y = equations.left_vectors(p, x)
        off = sum(float(np.abs(y[on, 0] @ d @ x[on, 0]).max()) for _, on, d in lacks)
        _, slopes = equations.of_laws(p) or (None, None)
        moved = off / abs(y[:, 0] @ equations.pushed(p, x, slopes)[:, 0])
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


def _first_order(now: _Equations, then: _Equations, p: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (m,) and vectors (n, m) after a change of loss, to first order; those that it couples are found together."""
    left = now.left(x)
    if left is None:
        return p, x
    terms, more = now.terms, then.share - now.share
    change = np.zeros(x.shape, dtype=complex) if terms.lost is None else 1j * more * (terms.lost @ x)
    whole, slopes = _Equations(terms, 1.0, damping=now.damped).of_laws(p) or (None, None)
    if whole is not None:
        change = change + more * terms.times(terms.of_laws(whole), x)
    if now.model.members:
        change = change + _of_members(now, then, p, x)
    changes = left.T @ change
    pushed = now.pushed(p, x, None if slopes is None else now.share * slopes)
    changes /= -np.einsum("ij,ij->j", left, pushed)[:, None]
    coupling = np.maximum(np.abs(changes), np.abs(changes.T))
    apart = np.abs(p[:, None] - p)
    together = (coupling > _COUPLED * apart) & (coupling > _FELT * np.abs(p))
    out, vectors = p + np.diag(changes), x.copy()
    for on in _groups(together):
        middle = p[on].mean()
        values, turn = np.linalg.eig(np.diag(p[on] - middle) + changes[np.ix_(on, on)])
        out[on], vectors[:, on] = middle + values, x[:, on] @ turn
    return out, vectors


def _of_members(now: _Equations, then: _Equations, p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """What a change of loss changes in members, and what these dissipate by themselves, as forces (n, m) on motions x (n, m)."""
    part = _Equations(now.terms, now.share + _LITTLE * (then.share - now.share))
    out = np.empty(x.shape, dtype=complex)
    for k, (omega2, own) in enumerate(zip(now.omega(p) ** 2, now.matrices(p), strict=True)):
        out[:, k] = (part._change(omega2) - now._change(omega2)) @ x[:, k] / _LITTLE + own @ x[:, k]
    return out


def _refined(equations: _Equations, p: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues (m,) and vectors (n, m) nearest to given ones by Newton's method, and which of them (m,) converged."""
    p, x, mass = p.astype(complex), x.astype(complex), equations.terms.m
    converged, on, last = np.zeros(len(p), dtype=bool), np.arange(len(p)), np.full(len(p), np.inf)
    for _ in range(_MOST_NEWTON):
        of_laws, slopes = equations.of_laws(p[on]) or (None, None)
        pushed = equations.pushed(p[on], x[:, on], slopes)
        u = equations.solve(p[on], pushed, of_laws)
        singular = np.flatnonzero(~np.isfinite(u).all(axis=0))
        if len(singular):  # eigenvalues but for rounding, which may be more than that of p
            at = on[singular]
            p[at] += 0.5 * equations.rounding(p[at], x[:, at], None if slopes is None else slopes[singular])
            u[:, singular] = equations.solve(p[at], pushed[:, singular])
        momentum = np.conj(mass @ x[:, on])
        massless = np.abs(np.einsum("ij,ij->j", momentum, x[:, on])) == 0.0
        measure = np.where(massless, np.conj(x[:, on]), momentum)
        length = np.einsum("ij,ij->j", measure, u)
        good = np.isfinite(u).all(axis=0) & (length != 0.0)
        on, u, measure, length = on[good], u[:, good], measure[:, good], length[good]
        slopes = None if slopes is None else slopes[good]
        step = np.einsum("ij,ij->j", measure, x[:, on]) / length
        p[on], x[:, on] = p[on] - step, _real_where_largest(u)
        size = np.abs(step) / np.abs(p[on])
        done = size <= _CONVERGED
        slow = np.flatnonzero(~done & (size >= 0.5 * last[on]))
        if len(slow):
            off = equations.rounding(p[on[slow]], x[:, on[slow]], None if slopes is None else slopes[slow])
            done[slow] = np.abs(step[slow]) <= off
        converged[on[done]], last[on] = True, size
        on = on[~done]
        if not len(on):
            break
    if not equations.damped:
        p = np.where(np.abs(p.imag) < EPS * np.abs(p), p.real, p)
    return p, x, converged


def _real_where_largest(x: np.ndarray) -> np.ndarray:
    """Vectors (n, m) times what makes the largest entry of each 1: small losses leave its imaginary part small."""
    return x / np.take_along_axis(x, np.abs(x).argmax(axis=0)[None], axis=0)


def _found_twice(model: LinearModel, p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Which modes (m,) were found more than once: one eigenvalue and one vector."""
    weight, twice = np.sqrt(np.abs(model.M.diagonal()))[:, None], np.zeros(len(p), dtype=bool)
    for on in _groups(np.abs(p[:, None] - p) <= _EQUAL * np.abs(p)):
        y = weight * x[:, on]
        y = np.where(np.linalg.norm(y, axis=0) > 0.0, y, x[:, on])
        twice[on] = np.linalg.svd(y / np.linalg.norm(y, axis=0), compute_uv=False)[-1] <= _ALIKE
    return twice


def _groups(together: np.ndarray) -> Iterator[np.ndarray]:
    """Groups of two or more that ``together`` (m, m) joins, as arrays of their numbers; usually there are none."""
    joined = np.flatnonzero((together & ~np.eye(len(together), dtype=bool)).any(axis=0))
    if not len(joined):
        return
    group = connected_components(together, directed=False)[1]
    for g in np.unique(group[joined]):
        yield np.flatnonzero(group == g)
