"""Which motions have no curvature, which a negative one, and of which rounding hides the sign: the one place that decides it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf

from .eigen import eigen, graded, lowest_eigenvalue
from .factor import ConstrainedFactor, Factor, Factors
from .lanczos import Lanczos
from .null_motions import local_null
from .options import SIZES
from .parts import Free, free_of_parts
from .precision import DEPENDENT, SURE, UNPIVOTED, cleared, positive
from .read_only import Matrix, ReadOnly
from .sparse_tools import add_diagonal, column_products, no_columns, weighted_squares
from .tangent import Tangent

log = logging.getLogger("mse")


@dataclass(frozen=True, eq=False)
class Curvatures(ReadOnly):
    """Motions that a stiffness does not clearly resist, in columns of unit length.

    ``null`` (n, m) is an orthonormal basis of those without curvature, the first ``local`` of which move one body each;
    ``negative`` (n, k) are orthonormal motions with the negative curvatures ``below_zero`` (k,); ``undetermined`` (n, u) are
    those with curvatures ``within_noise`` (u,) that may be rounding.
    """

    null: sp.csc_matrix = Matrix()  # noqa: RUF009 - a descriptor, not a value
    local: int
    negative: np.ndarray
    below_zero: np.ndarray
    undetermined: np.ndarray
    within_noise: np.ndarray

    @property
    def clear(self) -> bool:
        """Whether no motion is without curvature or may be."""
        return not self.null.shape[1] and not self.undetermined.shape[1]

    @staticmethod
    @lru_cache(maxsize=32)
    def none(n: int) -> Curvatures:
        """Those of a stiffness that resists every motion: none."""
        return Curvatures(no_columns(n), 0, np.zeros((n, 0)), np.zeros(0), np.zeros((n, 0)), np.zeros(0))


def classify(
    k: sp.csc_matrix, noise: np.ndarray, bodies: int, allowed: Tangent | None = None, factors: Factors | None = None
) -> Curvatures:
    """The motions that a stiffness k (n, n), known up to its ``noise`` (n,), does not clearly resist.

    A curvature of less than one noise is zero, one of more than :data:`SURE` noises is what it is, and those between are not
    determined.  Motions are compared by noise, so what is found does not depend on the units of coordinates.  The first
    ``6 bodies`` coordinates are those of bodies; ``allowed`` are the motions that constraints leave, ``factors`` serve for the
    pattern of k.
    """
    n = k.shape[0]
    if n == 0:
        return Curvatures.none(0)
    noise = positive(noise)
    if n <= SIZES.dense:
        a = k.toarray()
        a = 0.5 * (a + a.T)
        weight = 1.0 / np.sqrt(noise)
        within = np.eye(n) if allowed is None else _within(weight, allowed)
        if within is None:
            return _sorted(a, noise, allowed.basis, None)
        inner = a * weight * weight[:, None]
        if _surely_positive(inner if allowed is None else within.T @ inner @ within, n):
            return Curvatures.none(n)
        return _sorted(a, noise, weight[:, None] * within, None)
    search = _Search(k, noise, bodies, allowed, Factors() if factors is None else factors)
    found = search.small()
    return Curvatures.none(n) if found is None else _sorted(k, noise, found, search)


def _within(weight: np.ndarray, allowed: Tangent) -> np.ndarray | None:
    """A basis of the motions allowed (n, s), over ``weight`` (n,) with which the noise is 1; None where rows become dependent.

    It is found there: rounding of a basis found before would move what is stiff along with what has hardly any noise.
    """
    basis = allowed.scaled(weight).basis
    return basis if basis.shape[1] == allowed.basis.shape[1] else None


def _surely_positive(a: np.ndarray, count: int) -> bool:
    """Whether every eigenvalue of a stiffness (s, s), of ``count`` coordinates and with a noise of 1, is above rounding."""
    factor, wrong = dpotrf(a, lower=1)
    if wrong or not len(a):
        return not wrong
    # rounding of the factor is n eps of its diagonal, which is one noise over eps at most
    return lowest_eigenvalue(factor, np.abs(a).sum(axis=1).max()) > SURE + count


def _sorted(k: sp.csc_matrix | np.ndarray, noise: np.ndarray, x: np.ndarray, search: _Search | None) -> Curvatures:
    """The same from the span of x (n, s), which contains all motions that the stiffness does not clearly resist."""
    n = len(noise)
    local, idle, parts = (no_columns(n),) * 3 if search is None else (search.local, search.idle, search.parts.null)
    doubts, within_noise = np.zeros((n, 0)), np.zeros(0)
    null = negative = doubts
    if x.shape[1]:
        mu, x = graded(k, sp.diags(noise, format="csr"), x)
        is_null, is_negative = np.abs(mu) <= 1.0, mu < -SURE
        null = cleared(np.linalg.qr(x[:, is_null])[0])
        between = ~is_null & (np.abs(mu) <= SURE)
        doubts = x[:, between] / np.linalg.norm(x[:, between], axis=0)
        within_noise = column_products(doubts, k @ doubts)
        negative = np.linalg.qr(x[:, is_negative])[0]
    below_zero, turn = eigen(negative.T @ (k @ negative))
    return Curvatures(
        sp.hstack([local, idle, parts, sp.csc_matrix(null)], format="csc"),
        local.shape[1],
        negative @ turn,
        below_zero,
        doubts,
        within_noise,
    )


class _Search:
    """The search for small curvatures of a large sparse stiffness: by a factor that counts them, and Lanczos on it."""

    def __init__(self, k: sp.csc_matrix, noise: np.ndarray, bodies: int, allowed: Tangent | None, factors: Factors):
        self._k, self._noise, self._bodies, self._allowed, self._factors = k, noise, bodies, allowed, factors
        self.local, self.parts = no_columns(k.shape[0]), Free.none(k.shape[0])
        self.idle = _idle(k, 6 * bodies, allowed)

    def small(self) -> np.ndarray | None:
        """Motions (n, s) that span all of less than some noises, but those of bodies and parts; None where there are none.

        Free motions ``local`` to one body, ``idle`` coordinates, and motions of ``parts`` that leave the rest at rest, may be
        very many.
        """
        k, noise, idle = self._k, self._noise, self.idle
        if not idle.shape[1] and self._negative(self._factor(k, UNPIVOTED)) == 0:
            return None
        self.local = self._single()
        # Give what is known to be free a stiffness, so that only the rarer shared motions are left to search for.
        top = np.abs(k.data).max(initial=0.0) or 1.0
        known = sp.hstack([self.local, idle], format="csc")
        rest = (k + top * known @ known.T).tocsc() if known.shape[1] else k
        n = k.shape[0]
        for sought in (UNPIVOTED, 3 * UNPIVOTED, 10 * UNPIVOTED):
            factor = self._factor(rest, sought)
            count = self._negative(factor)
            if count == 0:
                return np.zeros((n, 0))
            if count is None:
                continue
            if not self.parts.null.shape[1]:
                self.parts = free_of_parts(rest, noise, sought, factor, self._allowed, self._factors, SIZES.part)
            left = count - self.parts.null.shape[1]
            if left == 0:
                return np.zeros((n, 0))
            if n * left > SIZES.motions_sought:
                if self._negative(self._factor(rest, SURE)) == count - left:
                    return np.zeros((n, 0))
                break
            # of 1/(mu - sought), the negative ones belong to just the eigenvalues below what is sought
            found = _below(factor, sp.diags(noise, format="csr"), self.parts.by_noise) if left > 0 else None
            if found is not None:
                return found
        self.parts = Free.none(n)
        return self._densely()

    def _factor(self, k: sp.csc_matrix, below: float) -> Factor | ConstrainedFactor | None:
        """The factor of what a stiffness exceeds some noises by; None where that is exactly singular."""
        try:
            if self._allowed is None:
                return self._factors(k, -below * self._noise)
            return self._allowed.factor(add_diagonal(k, -below * self._noise))
        except RuntimeError:
            return None

    @staticmethod
    def _negative(factor: Factor | ConstrainedFactor | None) -> int | None:
        """How many eigenvalues are below, where the factor has counted them."""
        return None if factor is None else factor.negative

    def _single(self) -> sp.csc_matrix:
        k, top = self._k, np.abs(self._k.data).max(initial=0.0) or 1.0
        found = local_null(
            k if self._allowed is None else sp.vstack([k / top, self._allowed.slopes]).tocsc(), self._bodies
        )
        return found[:, np.abs(column_products(found, k @ found)) <= weighted_squares(self._noise, found)]

    def _densely(self) -> np.ndarray:
        """The same where no factor counts."""
        n = self._k.shape[0]
        if n > SIZES.dense_eigenpairs:
            log.warning("stability could not be decided: what holds %d coordinates cannot be told from rounding", n)
            return np.zeros((n, 0))
        rows = [self.local.T, self.idle.T] + ([] if self._allowed is None else [self._allowed.slopes])
        return sl.null_space(sp.vstack(rows).toarray(), rcond=DEPENDENT) if any(r.shape[0] for r in rows) else np.eye(n)


def _idle(k: sp.csc_matrix, first: int, allowed: Tangent | None) -> sp.csc_matrix:
    """Unit vectors (n, m) of the coordinates from the ``first`` on that no stiffness and no constraint knows, such as charges.

    Coils give charges mass and couple their rates with velocities; there is one for each coil, and nothing to search for.
    """
    known = np.zeros(k.shape[0], dtype=bool)
    known[:first] = True
    known[k.indices[k.data != 0.0]] = True
    if allowed is not None:
        known[allowed.slopes.indices[allowed.slopes.data != 0.0]] = True
    return sp.identity(len(known), format="csc")[:, np.flatnonzero(~known)]


def _independent(x: np.ndarray, noise: sp.csr_matrix) -> bool:
    """Whether motions (n, s) are clearly apart; a factor that is nearly singular may solve for one instead of all."""
    squares = column_products(x, noise @ x)
    if not np.all(squares > 0.0):
        return False
    x = x / np.sqrt(squares)
    return bool(eigen(x.T @ (noise @ x))[0][0] > DEPENDENT)


def _below(
    factor: Factor | ConstrainedFactor, noise: sp.csr_matrix, known: sp.csc_matrix | None = None
) -> np.ndarray | None:
    """Eigenvectors (n, s) for the negative eigenvalues of a factored matrix, as many as it has counted, or None.

    Those that are ``known`` (n, m), orthonormal by the noise (n, n), are not among them.
    """
    known = no_columns(noise.shape[0]) if known is None else known
    weighed, wanted = (noise @ known).tocsc(), factor.negative - known.shape[1]

    def solve(sides: np.ndarray) -> np.ndarray:
        """Solutions beside what is known."""
        if not known.shape[1]:
            return factor.solve(sides)
        x = factor.solve(sides - weighed @ (known.T @ sides))
        return x - known @ (weighed.T @ x)

    search = Lanczos(solve, noise, factor.freedoms - known.shape[1])
    before = -1
    while True:
        try:
            nu, v = search.find(wanted, 0, 0)
        except RuntimeError:  # the factor does not solve well enough
            return None
        found = int(np.count_nonzero(nu < 0))
        if found == wanted:
            # Lanczos leaves the root of its tolerance of stiff motions in them, which may bend more than the noise.  One inverse
            # iteration takes those out but for the ratio of what is sought to their curvature.
            x = solve(noise @ v[:, nu < 0])
            return x if _independent(x, noise) else None
        if found == before:
            return None
        before = found
        search.renew()  # more of them are equal than were found at once
