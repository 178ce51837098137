"""``s' = A s`` divided into single motions: modes of one or two states each, and a coupled rest.

Undamped modes come from K and M alone, so they cannot be defective.  Each is a block of two states for any damping, free,
critical or unstable.  If damping couples modes, their eigenvectors are used if well conditioned; otherwise these modes stay
together as one dense block.  Everything dropped on the way is below the rounding of the sums it consists of, or of the mode
shapes.

States are scaled to roots of energies, in which A is nearly skew; a condition number then shows the effect of rounding.
(Balancing would hide it: states coupled only by rounding, such as free spins near dampers, would be scaled by powers without
limit.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl
from scipy.sparse.csgraph import connected_components

from ...numerics.eigen import eigen
from ...numerics.precision import EPS, left_by_rounding
from ...numerics.recent import Recent
from .state_space import StateSpace

_ROUNDING = left_by_rounding()  # relative to the terms that cancel in an entry: a smaller entry is zero
_SHAPES = 4 * np.finfo(float).eps  # share of other modes in a mode shape by rounding

# tests/analysis/time/test_normal_form.py and its neighbor for truncation pass with 0.01 and 100 times each:
_MOST_MIXED = 1e-10  # largest share of another mode that counts as rounding
_STILL = 1e-8  # rad per step below which w^2 dt^2 is rounding of one: a free motion
_SLOW = 1e-3  # 1/steps: scale of displacements of free motions relative to velocities

# Largest condition number of an eigenvalue whose vectors are used: with ten times this digits are lost at a triple eigenvalue,
# with a hundredth modes whose eigenvalues differ by a fifth stay together
# (tests/analysis/time/test_normal_form.py::test_what_is_nearly_defective_loses_no_digits_and_is_taken_apart_otherwise).
_CONDITION = 1e3
_CLOSE = 0.5 / _CONDITION**2  # relative discriminant of a single mode at which it has that condition number
_FORMS = Recent(4)  # the latest normal forms: some 25 MB each with 1,200 states
# Relative to a gap between two w^2, or to their coupling: limit of first-order perturbation (with 0.01 and
# 100 times this tests/analysis/time/test_normal_form.py and tests/analysis/time/test_modal_truncation.py pass).
_FIRST_ORDER = 1e-3
_TURN = EPS**0.5  # largest first-order correction of eigenvectors: its square is rounding of one


@dataclass(frozen=True, eq=False)
class NormalForm:
    """``s = to m, m = back s`` with m = (first of each pair, second of each pair, the rest).

    Pairs in this order: ``oscillating`` (c,) eigenvalues alpha + i beta, ``a' = alpha a + beta b, b' = -beta a + alpha b``;
    ``real`` (2, r) two real eigenvalues each; ``coupled`` (g, 2, 2) matrices.  ``rest`` (d, d) is dense.  All in 1/s.
    """

    to: np.ndarray
    back: np.ndarray
    oscillating: np.ndarray
    real: np.ndarray
    coupled: np.ndarray
    rest: np.ndarray

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return len(self.oscillating) + self.real.shape[1] + len(self.coupled)

    def motions(self) -> Iterator[tuple[np.ndarray, list[int]]]:
        """Each uncoupled motion: its matrix, 1/s, and the numbers of its states in m."""
        p, c, r = self.pairs, len(self.oscillating), self.real.shape[1]
        for k, rate in enumerate(self.oscillating):
            yield np.array([[rate.real, rate.imag], [-rate.imag, rate.real]]), [k, p + k]
        for k, block in enumerate(self.coupled, start=c + r):
            yield block, [k, p + k]
        for half, rates in enumerate(self.real):
            for k, rate in enumerate(rates, start=half * p + c):
                if self.to[:, k].any():  # an empty state may fill up the pairs
                    yield np.array([[rate]]), [k]
        count, label = connected_components(self.rest != 0, directed=False) if len(self.rest) else (0, None)
        for k in range(count):
            at = np.flatnonzero(label == k)
            yield self.rest[np.ix_(at, at)], (2 * p + at).tolist()


class _Parts:
    """Columns of ``to`` and rows of ``back``, collected by kind."""

    def __init__(self, size: int):
        self.size = size
        self.oscillating: list = []
        self.real: list = []
        self.coupled: list = []
        self.rest: list = []

    def form(self) -> NormalForm:
        empty = np.zeros((self.size, 0))

        def join(pieces, k, axis, start):
            return np.concatenate([start, *(p[k] for p in pieces)], axis=axis)

        def both(pieces, k):  # columns of to at k, rows of back at k + 1
            return join(pieces, k, 1, empty), join(pieces, k + 1, 0, empty.T)

        lam = join(self.real, 0, 0, np.zeros(0))
        real_to, real_back = both(self.real, 1)
        if len(lam) % 2:  # an empty state fills up the pairs
            lam, real_to = np.append(lam, 0.0), np.hstack([real_to, np.zeros((self.size, 1))])
            real_back = np.vstack([real_back, np.zeros((1, self.size))])
        half = len(lam) // 2
        c, g = both(self.oscillating, 1), both(self.coupled, 1)
        c2, g2 = both(self.oscillating, 3), both(self.coupled, 3)
        rest_to, rest_back = both(self.rest, 1)
        to = np.hstack([c[0], real_to[:, :half], g[0], c2[0], real_to[:, half:], g2[0], rest_to])
        back = np.vstack([c[1], real_back[:half], g[1], c2[1], real_back[half:], g2[1], rest_back])
        return NormalForm(
            to,
            back,
            join(self.oscillating, 0, 0, np.zeros(0, dtype=complex)),
            lam.reshape(2, half),
            join(self.coupled, 0, 0, np.zeros((0, 2, 2))),
            sl.block_diag(*(p[0] for p in self.rest)) if self.rest else np.zeros((0, 0)),
        )


def normal_form(ss: StateSpace, dt: float, stiffness: np.ndarray | None = None) -> NormalForm:
    """The normal form of a state space; ``dt`` (s) is the time scale for free motions.

    ``stiffness`` (r, r) couples the modes in ``scaling``, if it is known more accurately than from A.  Without it the form is
    cached with A, which state spaces of one model share.
    """
    if stiffness is not None:
        return _found(ss, dt, stiffness)
    scaling, form = _FORMS(ss.A, lambda: (ss.scaling, _found(ss, dt, None)), dt)
    return form if scaling[0] is ss.scaling[0] and scaling[1] is ss.scaling[1] else _found(ss, dt, None)


def _found(ss: StateSpace, dt: float, stiffness: np.ndarray | None) -> NormalForm:
    n = len(ss.states)
    parts = _Parts(n)
    if n == 0:
        return parts.form()
    nv = ss.with_mass
    v, d = slice(nv, 2 * nv), slice(2 * nv, n)
    phi, inverse = ss.scaling[0][v, v], ss.scaling[1][v, v]
    if stiffness is None:
        phi, inverse = _refined(phi, inverse, -ss.A[v, :nv])
        stiffness = inverse @ -ss.A[v, :nv] @ phi
    stiffness = stiffness.copy()
    scale = _canceling(inverse, ss.A[v, :nv], phi)
    stiffness[np.abs(stiffness) <= _ROUNDING * scale] = 0.0
    k = np.diag(stiffness).copy()
    k[np.abs(k) <= (_STILL / dt) ** 2] = 0.0
    np.fill_diagonal(stiffness, k)
    mixed, joined = _mixed(scale, stiffness)
    free = np.flatnonzero((k == 0.0) & ~joined.any(axis=0) & ~joined.any(axis=1))
    stiffness[free], stiffness[:, free] = 0.0, 0.0
    if len(free) > 1:  # all combinations are modes; damping distinguishes them
        c = inverse[free] @ -ss.A[v, v] @ phi[:, free]
        turn = eigen(0.5 * (c + c.T))[1]
        phi, inverse = phi.copy(), inverse.copy()
        phi[:, free], inverse[free] = phi[:, free] @ turn, turn.T @ inverse[free]
        mixed[free] = mixed[free].max(axis=0)
    damping = inverse @ -ss.A[v, v] @ phi
    noise = mixed @ np.abs(damping)
    noise += noise.T + _ROUNDING * _canceling(inverse, ss.A[v, v], phi)
    joined |= np.abs(damping) > noise
    c = np.diag(damping)
    f = np.sqrt(np.maximum(k, 0.0))
    f = np.where(f > 0, f, np.maximum(np.maximum(np.sqrt(np.abs(k)), np.abs(c)), _SLOW / dt))
    to = sl.block_diag(phi / f, phi, ss.scaling[0][d, d])
    back = sl.block_diag(f[:, None] * inverse, inverse, ss.scaling[1][d, d])
    a = np.zeros((n, n))
    a[:nv, v] = np.diag(f)
    a[v, :nv], a[v, v] = -stiffness / f, -damping
    if n > 2 * nv:
        bound = _ROUNDING * (np.abs(back) @ np.abs(ss.A) @ np.abs(to))
        whole = back @ ss.A @ to
        whole[np.abs(whole) <= bound] = 0.0
        a[v, d], a[d] = whole[v, d], whole[d]

    node, label, count = _groups(a, nv, joined)
    sizes = np.bincount(label, minlength=count)
    alone = np.flatnonzero(sizes[label] == 1)
    single = alone[alone < nv]
    ways = (to[:, single], back[single]), (to[:, nv + single], back[nv + single])
    _add_single(parts, k[single], c[single], f[single], *ways)
    for state in alone[alone >= nv] + nv:
        parts.real.append((a[[state], [state]], to[:, [state]], back[[state]]))
    for group in np.flatnonzero(sizes > 1):
        at = np.flatnonzero(label[node] == group)
        _add_group(parts, a[np.ix_(at, at)], to[:, at], back[at])
    return parts.form()


def _groups(a: np.ndarray, nv: int, joined: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Node of each state in the coupling graph (a mode is one node), group of each node, and number of groups."""
    n = len(a)
    node = np.concatenate([np.arange(nv), np.arange(nv), np.arange(nv, n - nv)])
    rows, cols = np.nonzero(a)
    graph = np.zeros((n - nv, n - nv), dtype=bool)
    graph[node[rows], node[cols]] = True
    graph[:nv, :nv] = joined
    count, label = connected_components(graph, directed=False)
    return node, label, count


def _canceling(left: np.ndarray, a: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``sqrt(t_i t_j)``, the scale of rounding, with t the sums of magnitudes in the diagonal of ``left a right``."""
    t = np.sqrt(np.einsum("ij,ji->i", np.abs(left) @ np.abs(a), np.abs(right)))
    return np.outer(t, t)


def _mixed(scale: np.ndarray, stiffness: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Share of mode j (columns) in mode i that is rounding (n, n), and the modes that stiffness couples by more than that.

    The rounding comes from the shapes and, by first-order perturbation, from ``phi^-1 k phi`` divided by differences of w^2.
    If no coupling between two groups of modes exceeds what such shares cause, they are modes of a system that differs by
    rounding.  Single entries within a group are never dropped, since a strong damper makes sums of large entries that cancel.
    """
    w2 = np.abs(np.diag(stiffness))
    gap, both = np.abs(w2[None, :] - w2[:, None]), w2[None, :] + w2[:, None]
    mixed = np.divide(_ROUNDING * scale, gap, out=np.zeros(gap.shape), where=gap > _FIRST_ORDER * both)
    mixed = _SHAPES + np.minimum(mixed, _MOST_MIXED)
    joined = np.abs(stiffness) > mixed * both
    np.fill_diagonal(joined, False)
    return mixed, joined


def _refined(phi: np.ndarray, inverse: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Modes corrected to first order until ``phi^-1 k phi`` is diagonal to rounding, also between soft and stiff modes."""
    n = len(phi)
    for _ in range(3):
        e = inverse @ k @ phi
        w2 = np.diag(e).copy()
        np.fill_diagonal(e, 0.0)
        e[np.abs(e) <= _ROUNDING * _canceling(inverse, k, phi)] = 0.0
        gap = w2[None, :] - w2[:, None]
        turn = np.divide(e, gap, out=np.zeros((n, n)), where=np.abs(e) < _FIRST_ORDER * np.abs(gap))
        if not turn.any():
            break
        turn += np.eye(n)
        phi, inverse = phi @ turn, np.linalg.solve(turn, inverse)
    return phi, inverse


def _add_single(parts: _Parts, k, c, f, displacements, velocities) -> None:
    """Uncoupled modes ``q'' + c q' + k q = 0`` with s = (f q, q'); for each its matrices to and back."""
    half = 0.5 * c
    (first, in_first), (second, in_second) = displacements, velocities
    split = half**2 - k
    near = np.abs(split) <= _CLOSE * (half**2 + f**2)

    on = ~near & (split < 0)
    zeta = half[on] / f[on]
    root = np.sqrt((1.0 - zeta) * (1.0 + zeta))
    parts.oscillating.append((
        f[on] * (-zeta + 1j * root),
        first[:, on] - zeta * second[:, on], in_first[on],
        root * second[:, on], (zeta[:, None] * in_first[on] + in_second[on]) / root[:, None],
    ))  # fmt: skip

    on = ~near & (split > 0)
    # first the root without cancellation, then the other from the product of both
    large = -(half[on] + np.where(half[on] < 0, -1.0, 1.0) * np.sqrt(split[on]))
    small = k[on] / large
    up, down = large / f[on], small / f[on]  # ratio of velocity to f q along each
    norms = np.hypot(1.0, up), np.hypot(1.0, down)
    for rate, slope, other, norm in ((large, up, down, norms[0]), (small, down, up, norms[1])):
        rows = (in_second[on] - other[:, None] * in_first[on]) * (norm / (slope - other))[:, None]
        parts.real.append((rate, (first[:, on] + slope * second[:, on]) / norm, rows))

    blocks = np.zeros((near.sum(), 2, 2))
    blocks[:, 0, 1], blocks[:, 1, 0], blocks[:, 1, 1] = f[near], -k[near] / f[near], -2.0 * half[near]
    parts.coupled.append((blocks, first[:, near], in_first[near], second[:, near], in_second[near]))


def _add_group(parts: _Parts, a: np.ndarray, to: np.ndarray, back: np.ndarray) -> None:
    """Modes coupled by damping: by eigenvectors if these are accurate to rounding, otherwise unchanged."""
    found = _eigenvectors(a)
    if found is None:
        parts.rest.append((a, to, back))
        return
    lam, v, left = found
    c = np.count_nonzero(lam.imag > 0)
    x, w = to @ v, left @ back
    parts.oscillating.append((lam[:c], x[:, :c], w[:c], x[:, c : 2 * c], w[c : 2 * c]))
    parts.real.append((lam[2 * c :].real, x[:, 2 * c :], w[2 * c :]))


def _eigenvectors(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Eigenvalues, vectors and their inverse, corrected to first order; None if they do not make A diagonal to rounding.

    All in real numbers: eigenvalues (up, down, real) with vectors ``V = W Q``, W = (real parts, imaginary parts, real ones).
    """
    lam, v = sl.eig(a)
    up, real = np.flatnonzero(lam.imag > 0), np.flatnonzero(lam.imag == 0)
    lam = np.concatenate([lam[up], lam[up].conj(), lam[real]])
    v = np.hstack([v[:, up].real, v[:, up].imag, v[:, real].real])
    lu, pivots, singular = sl.lapack.dgetrf(v)
    if singular:
        return None
    left = sl.lapack.dgetri(lu, pivots)[0]
    if not np.abs(left).max() < 2.0 * _CONDITION:  # vectors have unit length; squares of larger numbers might overflow
        return None
    c = len(up)

    def sizes(x):  # sizes of the complex vectors, from pairs of real ones
        both = np.hypot(x[:c], x[c : 2 * c])
        return np.concatenate([both, both, x[2 * c :]])

    # one over the cosine between the left and right vector of each eigenvalue
    cosines = sizes(np.linalg.norm(v, axis=0)) * sizes(np.linalg.norm(left, axis=1))
    cosines[: 2 * c] *= 0.5
    if not np.max(cosines, initial=0.0) < _CONDITION:
        return None
    e = _of_complex(left @ (a @ v), c)
    change = np.diag(e) - lam
    np.fill_diagonal(e, 0.0)
    gap = lam[None, :] - lam[:, None]
    turn = np.divide(e, gap, out=np.zeros(e.shape, dtype=complex), where=np.abs(e) < _TURN * np.abs(gap))
    kept = np.abs(np.where(turn == 0, e, 0.0))
    terms = sizes(np.sqrt(np.einsum("ij,ji->i", np.abs(left) @ np.abs(a), np.abs(v))))
    if np.any(kept > _ROUNDING * np.outer(terms, terms)):
        return None
    lam[: 2 * c] += change[: 2 * c]
    lam[2 * c :] += change[2 * c :].real
    turn = _of_real(turn, c)
    return lam, v + v @ turn, left - turn @ left


def _of_complex(r: np.ndarray, c: int) -> np.ndarray:
    """``Q^-1 R Q`` with Q = ((1, 1, 0), (i, -i, 0), (0, 0, 1)): a real matrix among eigenvectors of c conjugate pairs."""
    r = np.hstack([r[:, :c] + 1j * r[:, c : 2 * c], r[:, :c] - 1j * r[:, c : 2 * c], r[:, 2 * c :]])
    return np.vstack([0.5 * (r[:c] - 1j * r[c : 2 * c]), 0.5 * (r[:c] + 1j * r[c : 2 * c]), r[2 * c :]])


def _of_real(e: np.ndarray, c: int) -> np.ndarray:
    """``Q E Q^-1``, the inverse of :func:`_of_complex`."""
    e = np.hstack([0.5 * (e[:, :c] + e[:, c : 2 * c]), -0.5j * (e[:, :c] - e[:, c : 2 * c]), e[:, 2 * c :]])
    return np.vstack([e[:c] + e[c : 2 * c], 1j * (e[:c] - e[c : 2 * c]), e[2 * c :]]).real
