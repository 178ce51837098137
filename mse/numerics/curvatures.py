"""The one place that decides which motions have no curvature, which a negative one, and which are undetermined by rounding."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf

from .eigen import eigen, graded, lowest_eigenvalue
from .factor import ConstrainedFactor, Factor, Factors
from .lanczos import Lanczos
from .null_motions import in_echelon, local_null, null_space, orthonormal
from .options import SIZES
from .parts import Free, free_of_parts
from .precision import DEPENDENT, SURE, UNPIVOTED, cleared, positive, without_curvature
from .read_only import Matrix, ReadOnly
from .sparse_tools import add_diagonal, column_products, no_columns, weighted_squares
from .tangent import Tangent

log = logging.getLogger("mse")

# Of motions that rounding may hide: the most that are computed one by one, how many of a larger crowd are computed (the others
# are counted), and the restarts after which a search is given up, or in a crowd the restarts or blocks of vectors.
# tests/numerics/test_curvatures.py passes with half and three times each; with a third of _SOME
# test_only_soft_motions_are_sought_beside_free_ones_of_their_parts finds a crowd where there is none.
_EACH = 100
_SOME = 12
_RESTARTS = 10
_BLOCKS = 60


@dataclass(frozen=True, eq=False)
class Curvatures(ReadOnly):
    """Motions without clearly positive stiffness, in columns of unit length.

    ``null`` (n, m) is an orthonormal basis of motions without curvature; its first ``local`` columns move one body each.
    ``negative`` (n, k) are orthonormal motions with the negative curvatures ``below_zero`` (k,).  ``undetermined`` (n, u) have
    curvatures ``within_noise`` (u,) that may be rounding.  If there are very many of these, ``more`` counts those not computed.
    """

    null: sp.csc_matrix = Matrix()  # noqa: RUF009 - a descriptor, not a value
    local: int
    negative: np.ndarray
    below_zero: np.ndarray
    undetermined: np.ndarray
    within_noise: np.ndarray
    more: int = 0

    @property
    def doubts(self) -> int:
        """Number of motions whose curvature may be rounding."""
        return self.undetermined.shape[1] + self.more

    @property
    def clear(self) -> bool:
        """Whether every motion clearly has a curvature."""
        return not self.null.shape[1] and not self.doubts

    @staticmethod
    @lru_cache(maxsize=32)
    def none(n: int) -> Curvatures:
        """The result for a stiffness that resists every motion: no columns."""
        return Curvatures(no_columns(n), 0, np.zeros((n, 0)), np.zeros(0), np.zeros((n, 0)), np.zeros(0))


def classify(
    k: sp.csc_matrix, noise: np.ndarray, bodies: int, allowed: Tangent | None = None, factors: Factors | None = None
) -> Curvatures:
    """The motions that a stiffness k (n, n), known up to its ``noise`` (n,), does not clearly resist.

    A curvature of more than :data:`SURE` noises is taken as it is.  One below a noise is zero, unless it is the lowest of a
    series of soft motions (see :func:`.without_curvature`).  All others are undetermined.  Curvatures are measured in noises,
    so results do not depend on the units of coordinates.  The first ``6 bodies`` coordinates belong to bodies; ``allowed`` are
    the motions that constraints leave; ``factors`` fit the pattern of k.
    """
    n = k.shape[0]
    if n == 0:
        return Curvatures.none(0)
    noise = positive(noise)
    if n <= SIZES.dense:
        a = k.toarray()
        a = 0.5 * (a + a.T)
        weight = 1.0 / np.sqrt(noise)
        inner, within = a * weight * weight[:, None], None
        if allowed is not None:
            within = _within(weight, allowed)
            if within is None:
                # what moves no stiff coordinate has exact zeros there
                return _sorted(a, noise, cleared(in_echelon(cleared(allowed.basis), weight)), None)
            inner = within.T @ inner @ within
        if _surely_positive(inner, n):
            return Curvatures.none(n)
        return _sorted(a, noise, np.diag(weight) if within is None else weight[:, None] * within, None)
    search = _Search(k, noise, bodies, allowed, Factors() if factors is None else factors)
    found = search.small()
    return Curvatures.none(n) if found is None else _sorted(k, noise, found, search)


def _within(weight: np.ndarray, allowed: Tangent) -> np.ndarray | None:
    """A basis (n, s) of the allowed motions, scaled by ``weight`` (n,) to noise 1; None if rows become dependent.

    The basis is found after scaling.  Rounding of a basis found before would let stiff coordinates move with nearly noiseless
    ones.
    """
    basis = allowed.scaled(weight).basis
    return basis if basis.shape[1] == allowed.basis.shape[1] else None


def _surely_positive(a: np.ndarray, count: int) -> bool:
    """Whether all eigenvalues of a stiffness (s, s) with noise 1, of ``count`` coordinates, are above rounding."""
    factor, wrong = dpotrf(a, lower=1)
    if wrong or not len(a):
        return not wrong
    # rounding of the factor is n eps of its diagonal, at most n noises
    return lowest_eigenvalue(factor, np.abs(a).sum(axis=1).max()) > SURE + count


def _sorted(k: sp.csc_matrix | np.ndarray, noise: np.ndarray, x: np.ndarray, search: _Search | None) -> Curvatures:
    """:func:`classify` on the span of x (n, s), which contains all motions that the stiffness does not clearly resist."""
    n = len(noise)
    local, idle, parts = (no_columns(n),) * 3 if search is None else (search.local, search.idle, search.parts.null)
    doubts, within_noise = np.zeros((n, 0)), np.zeros(0)
    null = negative = doubts
    if x.shape[1] and idle.shape[1]:
        x = x - idle @ (idle.T @ x)
    if x.shape[1]:
        mu, x = graded(k, sp.diags(noise, format="csr"), x)
        crowded = search is not None and search.hidden > 0
        is_null, is_negative = without_curvature(mu) & (not crowded), mu < -SURE
        null = cleared(np.linalg.qr(x[:, is_null])[0])
        between = ~is_null & (np.abs(mu) <= SURE)
        if between.any():
            doubts = x[:, between] / np.linalg.norm(x[:, between], axis=0)
            within_noise = column_products(doubts, k @ doubts)
        if is_negative.any():
            negative = np.linalg.qr(x[:, is_negative])[0]
    below_zero, turn = eigen(negative.T @ (k @ negative))
    shared, known = sp.csc_matrix(null), [a for a in (local, idle, parts) if a.shape[1]]
    return Curvatures(
        sp.hstack([*known, shared], format="csc") if known else shared,
        local.shape[1],
        negative @ turn,
        below_zero,
        doubts,
        within_noise,
        0 if search is None else max(search.hidden - len(within_noise), 0),
    )


class _Near:
    """Counts of motions near zero: ``hidden`` have less than :data:`SURE` noises by a ``factor``, some of them less than one."""

    def __init__(self, factor: Factor | ConstrainedFactor | None, within: Factor | ConstrainedFactor | None):
        self.factor, self.hidden = factor, _negative(factor)
        self._within = _negative(within)

    def crowded(self, count: int) -> bool:
        """Whether many of ``count`` motions are neither free nor clearly held, so that a search finds no gap to stop at."""
        if self.hidden is None or self._within is None:
            return False
        return count - self.hidden > _SOME or self.hidden - self._within > _EACH


def _negative(factor: Factor | ConstrainedFactor | None) -> int | None:
    """Number of negative eigenvalues, if the factor has counted them."""
    return None if factor is None else factor.negative


class _Search:
    """The search for small curvatures of a large sparse stiffness, by a factor that counts them and by Lanczos iteration."""

    def __init__(self, k: sp.csc_matrix, noise: np.ndarray, bodies: int, allowed: Tangent | None, factors: Factors):
        self._k, self._noise, self._bodies, self._allowed, self._factors = k, noise, bodies, allowed, factors
        self.local, self.parts = no_columns(k.shape[0]), Free.none(k.shape[0])
        self.hidden = 0  # motions hidden by rounding, if they are counted and not all computed
        self.idle, self._held = _idle(k, 6 * bodies, allowed)

    def small(self) -> np.ndarray | None:
        """Motions (n, s) that span all of less than some noises, except those of bodies and parts; None if there are none.

        Free motions ``local`` to one body, ``idle`` ones, and motions of ``parts`` with the rest at rest may be very many, so
        they are found separately.
        """
        k, noise = self._k, self._noise
        if not len(self._held) and _negative(self._factor(k, UNPIVOTED)) == 0:
            return None
        self.local = self._single()
        # give known free motions a stiffness, so that only the rarer shared motions are left to find; of an idle one it is enough
        # to hold one coordinate, since any other motion may be mixed with it until that rests
        n, top = k.shape[0], np.abs(k.data).max(initial=0.0) or 1.0
        held = sp.identity(n, format="csc")[:, self._held]
        known = sp.hstack([self.local, held], format="csc")
        rest = (k + top * known @ known.T).tocsc() if known.shape[1] else k
        near = None
        for sought in (UNPIVOTED, 3 * UNPIVOTED, 10 * UNPIVOTED):
            factor = self._factor(rest, sought)
            count = _negative(factor)
            if count == 0:
                return np.zeros((n, 0))
            if count is None:
                continue
            if near is None:
                near = _Near(*(self._factor(rest, noises) for noises in (SURE, 1.0)))
            crowded = near.crowded(count)
            if not self.parts.null.shape[1]:
                self.parts = free_of_parts(rest, noise, sought, factor, self._allowed, self._factors, crowded)
            found = self._shared(rest, factor, near, crowded)
            if found is not None:
                return found
        if n > SIZES.dense_eigenpairs and near is not None and near.hidden is not None:
            found = self._some(rest, near.hidden - self.parts.null.shape[1])
            if found is not None:
                return found
        self.parts = Free.none(n)
        return self._densely()

    def _shared(
        self, k: sp.csc_matrix, factor: Factor | ConstrainedFactor, near: _Near, crowded: bool
    ) -> np.ndarray | None:
        """:meth:`small` for a stiffness k (n, n) of unknown motions, by the ``factor`` that has counted them; None if not found.

        It finds motions of less than a thousand noises; if soft ones are ``crowded`` there, those of less than :data:`SURE`
        noises; if these are very many, too, all unstable ones and some of the others, which are counted.
        """
        n, known = k.shape[0], self.parts.null.shape[1]
        left = factor.negative - known
        much = n * left**2 > SIZES.motions_sought
        if left <= 0 or ((crowded or much) and near.hidden is not None and near.hidden <= known):
            return np.zeros((n, 0))
        hidden = left if near.hidden is None else near.hidden - known
        if crowded:
            found = self._beyond(near.factor) if hidden <= _EACH else None
            return self._some(k, hidden) if found is None else found
        found = None if much else self._beyond(factor)
        return self._beyond(near.factor) if found is None and hidden <= _EACH and near.factor is not None else found

    def _beyond(self, factor: Factor | ConstrainedFactor) -> np.ndarray | None:
        """Eigenvectors for the negative values of 1/(mu - limit): these belong to the eigenvalues mu below the limit."""
        return _below(factor, sp.diags(self._noise, format="csr"), self.parts.by_noise)

    def _some(self, k: sp.csc_matrix, hidden: int) -> np.ndarray | None:
        """All unstable motions (n, s), and some of the ``hidden`` others of less than :data:`SURE` noises.

        Eigenvalues on a growing space are not below those of the stiffness.  So small ones are hidden motions, converged or
        not, and the work is bounded.
        """
        factor, noise = self._factor(k, -SURE), sp.diags(self._noise, format="csr")
        if factor is None or factor.negative is None:
            return None
        solve, known = _beside(factor, noise, self.parts.by_noise), self.parts.by_noise.shape[1]
        search, x = Lanczos(solve, noise, factor.freedoms - known), np.zeros((k.shape[0], 0))
        try:
            if factor.negative:
                nu, v = search.find(factor.negative, 0, 0, _BLOCKS)
                x = v[:, nu < 0.0]
            if x.shape[1] < factor.negative:
                return None
            for _ in range(_BLOCKS):
                nu, s, every = search.grown()
                soft = np.flatnonzero(nu >= 0.5 / SURE)[-_SOME:]
                if every or len(soft) == _SOME:
                    break
        except RuntimeError:
            return None
        self.hidden = hidden - factor.negative
        return np.hstack([x, solve(noise @ search.vectors(s[:, soft]))])

    def _factor(self, k: sp.csc_matrix, below: float) -> Factor | ConstrainedFactor | None:
        """The factor of a stiffness minus ``below`` noises; None if that is exactly singular."""
        try:
            if self._allowed is None:
                return self._factors(k, -below * self._noise)
            return self._allowed.factor(add_diagonal(k, -below * self._noise))
        except RuntimeError:
            return None

    def _single(self) -> sp.csc_matrix:
        k, top = self._k, np.abs(self._k.data).max(initial=0.0) or 1.0
        found = local_null(
            k if self._allowed is None else sp.vstack([k / top, self._allowed.slopes]).tocsc(), self._bodies
        )
        mu = np.abs(column_products(found, k @ found)) / weighted_squares(self._noise, found)
        # if many motions are soft, some have less than a noise
        return found[:, without_curvature(mu) if np.count_nonzero(mu > 1.0) > _SOME else mu <= 1.0]

    def _densely(self) -> np.ndarray:
        """:meth:`small` by a dense method, if no factor counts."""
        n = self._k.shape[0]
        if n > SIZES.dense_eigenpairs:
            log.warning("stability could not be decided: the stiffness of %d coordinates may be rounding", n)
            return np.zeros((n, 0))
        rows = [self.local.T, self.idle.T] + ([] if self._allowed is None else [self._allowed.slopes])
        return sl.null_space(sp.vstack(rows).toarray(), rcond=DEPENDENT) if any(r.shape[0] for r in rows) else np.eye(n)


def _idle(k: sp.csc_matrix, first: int, allowed: Tangent | None) -> tuple[sp.csc_matrix, np.ndarray]:
    """Orthonormal motions (n, m) of coordinates from ``first`` on without stiffness, such as charges, and one coordinate of each.

    Coils give charges mass and couple their rates with velocities.  Each coil has one, each mesh of resistors too, and none needs
    to be searched for.
    """
    n = k.shape[0]
    if first == n:
        return no_columns(n), np.zeros(0, dtype=int)
    without = np.ones(n, dtype=bool)
    without[:first] = False
    without[k.indices[k.data != 0.0]] = False
    numbers = np.flatnonzero(without)
    if not len(numbers):
        return no_columns(n), numbers
    if allowed is None:
        return sp.identity(n, format="csc")[:, numbers], numbers
    rows = allowed.slopes.tocsc()[:, numbers].tocsr()
    rows.eliminate_zeros()
    basis, chosen = null_space(rows)
    found = orthonormal(basis)
    return sp.csc_matrix((found.data, numbers[found.indices], found.indptr), shape=(n, found.shape[1])), numbers[chosen]


def _independent(x: np.ndarray, noise: sp.csr_matrix) -> bool:
    """Whether motions (n, s) are clearly independent; a nearly singular factor may give the same one for all."""
    squares = column_products(x, noise @ x)
    if not np.all(squares > 0.0):
        return False
    x = x / np.sqrt(squares)
    return not x.shape[1] or bool(eigen(x.T @ (noise @ x))[0][0] > DEPENDENT)


def _beside(
    factor: Factor | ConstrainedFactor, noise: sp.csr_matrix, known: sp.csc_matrix
) -> Callable[[np.ndarray], np.ndarray]:
    """Solutions with a factored matrix without the ``known`` motions (n, m), which are orthonormal by the noise (n, n)."""
    if not known.shape[1]:
        return factor.solve
    weighed = (noise @ known).tocsc()

    def solve(sides: np.ndarray) -> np.ndarray:
        x = factor.solve(sides - weighed @ (known.T @ sides))
        return x - known @ (weighed.T @ x)

    return solve


def _below(
    factor: Factor | ConstrainedFactor, noise: sp.csr_matrix, known: sp.csc_matrix | None = None
) -> np.ndarray | None:
    """Eigenvectors (n, s) for the negative eigenvalues of a factored matrix, as many as it has counted, or None.

    The ``known`` motions (n, m), orthonormal by the noise (n, n), are excluded.
    """
    known = no_columns(noise.shape[0]) if known is None else known
    solve, wanted = _beside(factor, noise, known), factor.negative - known.shape[1]
    search = Lanczos(solve, noise, factor.freedoms - known.shape[1])
    before = -1
    while True:
        try:
            nu, v = search.find(wanted, 0, 0, _RESTARTS)
        except RuntimeError:  # the factor is too inaccurate for solutions
            return None
        found = int(np.count_nonzero(nu < 0))
        if found == wanted:
            # Lanczos vectors contain stiff motions by the root of its tolerance, and these may bend more than the noise.  One
            # inverse iteration reduces them by the ratio of the eigenvalue sought to their curvature.
            x = solve(noise @ v[:, nu < 0])
            return x if _independent(x, noise) else None
        if found == before:
            return None
        before = found
        search.renew()  # some have equal eigenvalues: search again from a new start
