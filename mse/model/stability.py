"""Which motions at a working point are held, free or falling, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..dense import eigen
from ..lanczos import Lanczos
from ..local_null import local_null
from ..sparse import DENSE_LIMIT, Factor, Factors, HeldFactor, add_diagonal, scaled_both
from .tangent import Tangent
from .trust_region import NULL_SHARE, held_everywhere, null_directions

_DENSE_LIMIT = DENSE_LIMIT


@dataclass(frozen=True, eq=False)
class Motion:
    """A named direction in coordinate space: ``vector`` (n,) with unit largest entry, ``stiffness`` its scaled curvature."""

    name: str
    indices: np.ndarray
    values: np.ndarray
    size: int
    stiffness: float

    @classmethod
    def of(cls, name: str, vector: np.ndarray, stiffness: float) -> Motion:
        indices = np.flatnonzero(vector)
        return cls(name, indices, vector[indices] / vector[np.argmax(np.abs(vector))], len(vector), stiffness)

    @property
    def vector(self) -> np.ndarray:
        v = np.zeros(self.size)
        v[self.indices] = self.values
        return v

    def __repr__(self) -> str:
        return f"Motion({self.name!r})"


class Stability(NamedTuple):
    """Motions that nothing holds, motions that fall, and an orthonormal basis (n, m) of the former, scaled."""

    free: tuple[Motion, ...]
    unstable: tuple[Motion, ...]
    null: sp.csc_matrix


def analyse(
    k: sp.csc_matrix,
    scale: np.ndarray,
    names: tuple[str, ...],
    bodies: int,
    slack: float,
    allowed: Tangent | None = None,
    carried: float = 0.0,
    factors: Factors | None = None,
) -> Stability:
    """Free and unstable motions of stiffness k (n, n) with coordinates scaled by ``scale`` (n,), bodies first.

    ``slack`` is the curvature that the remaining unbalanced force can fake: force over length.  ``allowed`` are the motions
    that constraints leave, ``carried`` the stiffness that their reactions could make.  ``factors`` serve for this pattern.
    """
    n = k.shape[0]
    if n == 0:
        return Stability((), (), sp.csc_matrix((0, 0)))
    scaled = scaled_both(k.tocsc(), 1.0 / scale)
    if n <= _DENSE_LIMIT:
        local = sp.csc_matrix((n, 0))
        a = scaled.toarray()
        if allowed is None and held_everywhere(0.5 * (a + a.T), bodies, slack) is not None:
            return Stability((), (), sp.csc_matrix((n, 0)))
        z = np.eye(n) if allowed is None else allowed.basis
        w, v = eigen(z.T @ a @ z)
        v = z @ v
    else:
        local, w, v = _lowest(scaled, bodies, allowed, Factors() if factors is None else factors)
    null = null_directions(w, v, scaled, bodies, carried) | (np.abs(w) <= slack)
    basis = v[:, null]
    basis[np.abs(basis) < 1e-12] = 0.0
    free = [
        Motion.of(describe(c / scale, names, scale), c / scale, 0.0)
        for c in (local[:, i].toarray().ravel() for i in range(local.shape[1]))
    ]
    free += _named_basis(basis, scale, names)
    falling = [Motion.of(describe(v[:, i] / scale, names, scale), v[:, i] / scale, float(w[i]))
               for i in np.flatnonzero((w < 0) & ~null)]  # fmt: skip
    return Stability(tuple(free), tuple(falling), sp.hstack([local, sp.csc_matrix(basis)], format="csc"))


def _lowest(
    scaled: sp.csc_matrix, bodies: int, allowed: Tangent | None, factors: Factors
) -> tuple[sp.csc_matrix, np.ndarray, np.ndarray]:
    """Null vectors of single bodies (n, m), and the other eigenpairs that are zero or negative to rounding."""
    n = scaled.shape[0]
    top = np.abs(scaled.data).max(initial=0.0) or 1.0  # not the diagonal: reactions couple by more
    tolerance = 10 * NULL_SHARE * top
    below = np.full(n, -tolerance)

    def factorised(k: sp.csc_matrix) -> Factor | HeldFactor:
        if allowed is None:
            return factors(k, below)
        return allowed.factor(add_diagonal(k, below))

    factor, local = factorised(scaled), sp.csc_matrix((n, 0))
    if factor.negative:
        # Give the free motions of single bodies a stiffness, so that only the rarer shared ones are left to search for.
        local = local_null(scaled if allowed is None else sp.vstack([scaled / top, allowed.slopes]).tocsc(), bodies)
        if local.shape[1]:
            factor = factorised((scaled + top * local @ local.T).tocsc())
    if not factor.negative:
        return local, np.zeros(0), np.zeros((n, 0))
    # of 1/(w - tolerance), the negative ones belong to just the eigenvalues below the tolerance
    return local, *_below(factor, tolerance)


def _below(factor: Factor | HeldFactor, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """The eigenpairs below a shift of a matrix less the shift, as many as its factor has counted."""
    search = Lanczos(factor.solve, sp.identity(factor.size, format="csr"))
    found = -1
    while True:
        nu, v = search.find(factor.negative, 0, 0)
        negative = nu < 0
        if found in (np.count_nonzero(negative), factor.negative):
            break
        found = int(np.count_nonzero(negative))
        if found < factor.negative:
            search.renew()  # more of them are equal than were found at once
    return shift + 1.0 / nu[negative], v[:, negative]


def _named_basis(null: np.ndarray, scale: np.ndarray, names: tuple[str, ...]) -> list[Motion]:
    """A readable basis of a null space (n, m): single coordinates where the space contains them, then the rest."""
    motions = []
    alone = np.flatnonzero(np.einsum("ij,ij->i", null, null) > 1 - 1e-9)
    for i in alone:
        e = np.zeros(len(names))
        e[i] = 1.0
        motions.append(Motion.of(names[i], e, 0.0))
    rest = null.copy()
    rest[alone] = 0.0
    basis = np.linalg.svd(rest, full_matrices=False)[0][:, : null.shape[1] - len(alone)]
    while basis.shape[1]:
        # lead each vector by a coordinate of its own, and go on in what is orthogonal to it
        i = int(np.argmax(np.sum(basis**2, axis=1)))
        lead = basis[i] / np.linalg.norm(basis[i])
        x = basis @ lead
        x[np.abs(x) < 1e-9 * np.abs(x).max()] = 0.0
        motions.append(Motion.of(describe(x / scale, names, scale), x / scale, 0.0))
        basis = basis @ np.linalg.svd(lead[None, :])[2][1:].T
    return motions


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
