"""Zero-stiffness and unstable motions at a working point, and their names."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from ..numerics.eigen import eigen
from ..numerics.factor import ConstrainedFactor, Factor, Factors
from ..numerics.lanczos import Lanczos
from ..numerics.null_motions import local_null
from ..numerics.options import SIZES
from ..numerics.read_only import ReadOnly
from ..numerics.sparse_tools import absolute_product, add_diagonal, column_products, scaled_both, weighted_squares
from ..numerics.tangent import Tangent
from ..numerics.trust_region import NULL_SHARE, neighborhood, null_directions, positive_definite

log = logging.getLogger("mse")

_MOST_SOUGHT = 1e8  # coordinates times motions sought: gigabytes of vectors
_ROUNDED = 1e-13  # of the terms of an entry of K: some hundred roundings


@dataclass(frozen=True, eq=False)
class Motion(ReadOnly):
    """A named direction in coordinate space.

    Attributes
    ----------
    name : str
        Coordinates that move most.
    indices, values : ndarray, (k,)
        Entries that are not zero, the largest of them 1.
    size : int
        Number n of coordinates.
    stiffness : float, N/m
        Curvature of the energy along it, in scaled coordinates.
    """

    name: str
    indices: np.ndarray
    values: np.ndarray
    size: int
    stiffness: float

    @classmethod
    def of(cls, name: str, vector: np.ndarray, stiffness: float) -> Motion:
        """A motion along a vector.

        Parameters
        ----------
        name : str
            Its name.
        vector : ndarray, (n,)
            Direction of any length.
        stiffness : float, N/m
            Curvature of the energy along it.

        Returns
        -------
        Motion
            The motion.
        """
        indices = np.flatnonzero(vector)
        return cls(name, indices, vector[indices] / vector[np.argmax(np.abs(vector))], len(vector), stiffness)

    @property
    def vector(self) -> np.ndarray:
        """The direction (n,), its largest entry 1."""
        v = np.zeros(self.size)
        v[self.indices] = self.values
        return v

    def __repr__(self) -> str:
        return f"Motion({self.name!r})"


@dataclass(frozen=True, eq=False)
class Stability:
    """An orthonormal basis (n, m) of zero-stiffness motions, the first ``local`` of which move one body each; eigenvectors of
    negative curvature (n, k) and their curvatures (k,); all scaled, and named on request.  Curvatures below ``rounding`` may be
    rounding of reactions.
    """

    null: sp.csc_matrix
    local: int
    negative_motions: np.ndarray
    curvatures: np.ndarray
    names: tuple[str, ...]
    scale: np.ndarray
    rounding: float

    @cached_property
    def free(self) -> tuple[Motion, ...]:
        if not self.null.shape[1]:
            return ()
        of_one = (self.null[:, [i]].toarray().ravel() for i in range(self.local))
        return tuple(self._motion(v) for v in (*of_one, *readable(self.null[:, self.local :].toarray())))

    @cached_property
    def unstable(self) -> tuple[Motion, ...]:
        return tuple(self._motion(v, float(w)) for v, w in zip(self.negative_motions.T, self.curvatures, strict=True))

    def _motion(self, vector: np.ndarray, stiffness: float = 0.0) -> Motion:
        x = vector / self.scale
        return Motion.of(describe(x, self.names, self.scale), x, stiffness)


class Coordinates(NamedTuple):
    """Names of coordinates, what one unit of each counts for in meters (n,), and with how many bodies, six each, they begin."""

    names: tuple[str, ...]
    scale: np.ndarray
    bodies: int


def analyze(
    k: sp.csc_matrix,
    coordinates: Coordinates,
    slack: np.ndarray,
    allowed: Tangent | None = None,
    carried: float = 0.0,
    factors: Factors | None = None,
) -> Stability:
    """Free and unstable motions of stiffness k (n, n) in some coordinates.

    ``slack`` (n,) is the curvature of each coordinate that the remaining unbalanced force can fake: force over length.
    ``allowed`` are the motions that constraints leave, ``carried`` the stiffness that their reactions could make.  ``factors``
    serve for this pattern.
    """
    names, scale, bodies = coordinates
    n = k.shape[0]
    rounding = NULL_SHARE * carried + float(slack.max(initial=0.0))
    nothing = Stability(sp.csc_matrix((n, 0)), 0, np.zeros((n, 0)), np.zeros(0), names, scale, rounding)
    if n == 0:
        return nothing
    scaled = scaled_both(k.tocsc(), 1.0 / scale)
    if n <= SIZES.dense:
        a = scaled.toarray()
        if allowed is None and positive_definite(0.5 * (a + a.T), bodies, slack.max()) is not None:
            return nothing
        local = nothing.null
        z = np.eye(n) if allowed is None else allowed.basis
        w, v = eigen(z.T @ a @ z)
        v = z @ v
    else:
        local, w, v = _lowest(scaled, bodies, allowed, carried, slack, Factors() if factors is None else factors)
    null = null_directions(w, v, scaled, bodies, carried) | (np.abs(w) <= weighted_squares(slack, v))
    basis = v[:, null]
    basis[np.abs(basis) < 1e-12] = 0.0
    negative_motions = (w < 0) & ~null
    return Stability(
        sp.hstack([local, sp.csc_matrix(basis)], format="csc"),
        local.shape[1],
        v[:, negative_motions],
        w[negative_motions],
        names,
        scale,
        rounding,
    )


def _lowest(
    scaled: sp.csc_matrix, bodies: int, allowed: Tangent | None, carried: float, slack: np.ndarray, factors: Factors
) -> tuple[sp.csc_matrix, np.ndarray, np.ndarray]:
    """Null vectors of single bodies (n, m), and the other eigenpairs that are zero or negative to rounding."""
    n = scaled.shape[0]
    top = np.abs(scaled.data).max(initial=0.0) or 1.0  # not the diagonal: reactions couple by more
    tolerance = 10 * NULL_SHARE * top

    def factorized(k: sp.csc_matrix, below: np.ndarray) -> Factor | ConstrainedFactor:
        return factors(k, -below) if allowed is None else allowed.factor(add_diagonal(k, -below))

    local = sp.csc_matrix((n, 0))
    # No motion v is null if K exceeds this: |v|^T |K| |v| is at most v^T diag(sums of |K|) v.  The coordinates inside short
    # elements are softer than rounding of the stiffest, by thousands, and not softer than their own.
    sums = absolute_product(scaled, np.ones(n)) + neighborhood(scaled.diagonal(), bodies) + carried
    for below in (np.full(n, tolerance), NULL_SHARE * sums + slack):
        if factorized(scaled, below).negative == 0:
            return local, np.zeros(0), np.zeros((n, 0))
    # Give the free motions of single bodies a stiffness, so that only the rarer shared ones are left to search for.
    local = local_null(scaled if allowed is None else sp.vstack([scaled / top, allowed.slopes]).tocsc(), bodies)
    local = local[:, null_directions(column_products(local, scaled @ local), local, scaled, bodies, carried)]
    rest = (scaled + top * local @ local.T).tocsc() if local.shape[1] else scaled
    for wider in (1.0, 3.0, 10.0):
        factor = factorized(rest, np.full(n, wider * tolerance))
        if factor.negative == 0:
            return local, np.zeros(0), np.zeros((n, 0))
        if n * (factor.negative or 0) > _MOST_SOUGHT:
            if factorized(scaled, _ROUNDED * sums + slack).negative == 0:
                return local, np.zeros(0), np.zeros((n, 0))
            break
        # of 1/(w - tolerance), the negative ones belong to just the eigenvalues below the tolerance
        found = None if factor.negative is None else _below(factor, wider * tolerance)
        if found is not None:
            return local, *found
    return local, *_dense_below(rest, allowed, tolerance)


def _below(factor: Factor | ConstrainedFactor, shift: float) -> tuple[np.ndarray, np.ndarray] | None:
    """The eigenpairs below a shift of a matrix less the shift, as many as its factor has counted; None where it finds fewer."""
    search = Lanczos(factor.solve, sp.identity(factor.size, format="csr"), factor.freedoms)
    before = -1
    while True:
        try:
            nu, v = search.find(factor.negative, 0, 0)
        except RuntimeError:  # the factor does not solve well enough
            return None
        negative = nu < 0
        found = int(np.count_nonzero(negative))
        if found == factor.negative:
            return shift + 1.0 / nu[negative], v[:, negative]
        if found == before:
            return None
        before = found
        search.renew()  # more of them are equal than were found at once


def _dense_below(scaled: sp.csc_matrix, allowed: Tangent | None, below: float) -> tuple[np.ndarray, np.ndarray]:
    """The same from all eigenpairs, where no factor counts."""
    n = scaled.shape[0]
    if n > SIZES.dense_eigenpairs:
        log.warning("stability could not be decided: what holds %d coordinates cannot be told from rounding", n)
        return np.zeros(0), np.zeros((n, 0))
    z = np.eye(n) if allowed is None else sl.null_space(allowed.slopes.toarray(), rcond=1e-9)
    w, v = eigen(z.T @ (scaled @ z))
    return w[w < below], z @ v[:, w < below]


def readable(null: np.ndarray) -> list[np.ndarray]:
    """A readable basis of a null space (n, m): single coordinates where the space contains them, then the rest."""
    if not null.shape[1]:
        return []
    alone = np.flatnonzero(np.einsum("ij,ij->i", null, null) > 1 - 1e-9)
    vectors = [np.eye(1, len(null), i)[0] for i in alone]
    rest = null.copy()
    rest[alone] = 0.0
    basis = np.linalg.svd(rest, full_matrices=False)[0][:, : null.shape[1] - len(alone)]
    # each vector is led by a coordinate of its own, and the next one orthogonal to it
    leads, order = sl.qr(basis.T, mode="r", pivoting=True)
    for lead in leads:
        x = np.zeros(len(null))
        x[order] = lead
        x[np.abs(x) < 1e-9 * np.abs(x).max()] = 0.0
        vectors.append(x)
    return vectors


def describe(x: np.ndarray, names: tuple[str, ...], scale: np.ndarray, most: int = 4) -> str:
    """A motion in words: its largest coordinates with their signed shares, ``mass.ax``, ``0.71 a.x - 0.71 b.x``."""
    y = x * scale
    y = y / np.linalg.norm(y)
    order = np.argsort(-np.abs(y), kind="stable")
    clear = np.abs(y[order]) > 0.05
    order = order[clear] if clear.any() else order[: most + 1]  # a little of very many
    if len(order) == 1:
        return names[order[0]]
    sign = 1.0 if y[order[0]] > 0 else -1.0
    words = ""
    for i in order[:most]:
        value = sign * y[i]
        words += (f" {'+' if value > 0 else '-'} " if words else "") + f"{abs(value):.2f} {names[i]}"
    return words + (" ..." if len(order) > most else "")
