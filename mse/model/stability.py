"""Which motions at a working point are held, free or falling, and their names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from ..sparse import DENSE_LIMIT, Factor, add_diagonal
from .trust_region import NULL_SHARE

_DENSE_LIMIT = 5 * DENSE_LIMIT
_AXES = ("x", "y", "z", "ax", "ay", "az")


@dataclass(frozen=True, eq=False)
class Motion:
    """A named direction in coordinate space: ``vector`` (n,) with unit largest entry, ``stiffness`` its scaled curvature."""

    name: str
    vector: np.ndarray
    stiffness: float

    def __repr__(self) -> str:
        return f"Motion({self.name!r})"


def analyse(k: sp.csc_matrix, scale: np.ndarray, names: tuple[str, ...]) -> tuple[tuple[Motion, ...], tuple[Motion, ...]]:
    """Free and unstable motions of stiffness k (n, n) with coordinates scaled by ``scale`` (n,)."""
    n = k.shape[0]
    if n == 0:
        return (), ()
    inverse = sp.diags(1.0 / scale, format="csc")
    scaled = (inverse @ k @ inverse).tocsc()
    if n <= _DENSE_LIMIT:
        w, v = np.linalg.eigh(scaled.toarray())
    else:
        w, v = _lowest(scaled)
    share = np.einsum("ij,ij->j", np.abs(v), np.asarray(abs(scaled) @ np.abs(v)))
    null = np.abs(w) <= NULL_SHARE * share
    free = [] if not null.any() else _named_basis(v[:, null], scale, names)
    falling = [Motion(describe(v[:, i] / scale, names, scale), _unit(v[:, i] / scale), float(w[i]))
               for i in np.flatnonzero((w < 0) & ~null)]  # fmt: skip
    return tuple(free), tuple(falling)


def _lowest(scaled: sp.csc_matrix) -> tuple[np.ndarray, np.ndarray]:
    """All eigenpairs of a large sparse matrix that are zero or negative to rounding."""
    n = scaled.shape[0]
    local = _local_null(scaled)
    # Give the free motions of single bodies a stiffness, so that only the rarer shared ones are left to search for.
    top = np.abs(scaled.diagonal()).max(initial=0.0) or 1.0
    held = (scaled + top * local @ local.T).tocsc() if local.shape[1] else scaled
    tolerance = 10 * NULL_SHARE * top
    below = add_diagonal(held, np.full(n, -tolerance))
    count = Factor(below).negative
    w, v = np.zeros(local.shape[1]), local.toarray()
    if count:
        # of 1/(w - tolerance), the negative ones belong to just the eigenvalues below the tolerance
        low, shapes = eigsh(held, k=min(count, n - 2), sigma=tolerance, which="SA")
        w, v = np.concatenate([w, low]), np.hstack([v, shapes])
    return w, v


def _local_null(scaled: sp.csc_matrix) -> sp.csc_matrix:
    """Orthonormal null vectors that move only one body (six consecutive coordinates), as sparse columns (n, m)."""
    n = scaled.shape[0]
    rows, cols, values = [], [], []
    count = 0
    gram = (scaled.T @ scaled).tocsr()
    for first in range(0, n - n % 6, 6):
        block = gram[first : first + 6, first : first + 6].toarray()
        w, v = np.linalg.eigh(block)
        for i in np.flatnonzero(w <= (1e-13) ** 2 * max(block.max(), 1e-300) + 1e-300):
            rows += range(first, first + 6)
            cols += [count] * 6
            values += list(v[:, i])
            count += 1
    return sp.csc_matrix((values, (rows, cols)), shape=(n, count))


def _unit(x: np.ndarray) -> np.ndarray:
    return x / x[np.argmax(np.abs(x))]


def _named_basis(null: np.ndarray, scale: np.ndarray, names: tuple[str, ...]) -> list[Motion]:
    """A readable basis of a null space (n, m): single coordinates where the space contains them, then the rest."""
    projector = np.einsum("ij,ij->i", null, null)
    motions = []
    alone = np.flatnonzero(projector > 1 - 1e-9)
    for i in alone:
        e = np.zeros(len(names))
        e[i] = 1.0
        motions.append(Motion(names[i], e, 0.0))
    rest = null.copy()
    rest[alone] = 0.0
    if len(alone) < null.shape[1]:
        u, s, _ = np.linalg.svd(rest, full_matrices=False)
        # rotate the remaining vectors so that each is led by a coordinate of its own
        basis = u[:, : null.shape[1] - len(alone)]
        for _ in range(basis.shape[1]):
            i = int(np.argmax(np.sum(basis**2, axis=1)))
            c = basis[i] / np.linalg.norm(basis[i])
            x = basis @ c
            x[np.abs(x) < 1e-9 * np.abs(x).max()] = 0.0
            motions.append(Motion(describe(x / scale, names, scale), _unit(x / scale), 0.0))
            keep = np.linalg.svd(c[None, :])[2][1:]
            basis = basis @ keep.T
            if basis.shape[1] == 0:
                break
    return motions


def describe(x: np.ndarray, names: tuple[str, ...], scale: np.ndarray, most: int = 4) -> str:
    """A motion in words: its largest coordinates with their signed shares, ``mass.ax``, ``0.71 a.x - 0.71 b.x``."""
    y = x * scale
    y = y / np.linalg.norm(y)
    order = [i for i in np.argsort(-np.abs(y), kind="stable") if abs(y[i]) > 0.05]
    if len(order) == 1:
        return names[order[0]]
    sign = 1.0 if y[order[0]] > 0 else -1.0
    words = ""
    for i in order[:most]:
        value = sign * y[i]
        words += (f" {'+' if value > 0 else '-'} " if words else "") + f"{abs(value):.2f} {names[i]}"
    return words + (" ..." if len(order) > most else "")
