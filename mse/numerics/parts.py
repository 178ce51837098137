"""Free motions of parts of a structure with the rest at rest, for all parts at once.

The elimination tree divides a sparse matrix into subtrees.  They are not coupled to each other, only to coordinates eliminated
later (J. Liu, SIAM J. Matrix Anal. Appl. 11 (1990) 134).  The negative pivots in a subtree count the negative eigenvalues of
its part of the matrix.  Many freely spinning bodies are in many such parts with few motions each.  So one inverse iteration
with few vectors, each of which covers all parts, finds the motions of every part.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .factor import ConstrainedFactor, Factor, Factors
from .options import SIZES
from .ordering import PivotTree
from .precision import DEPENDENT, cleared, without_curvature
from .sparse_tools import add_diagonal, no_columns
from .tangent import Tangent, normalized, slope_lengths

# Inverse iterations: each reduces stiff motions by the ratio of the eigenvalue sought to their curvature.  With one
# tests/test_complexity.py::test_free_motions_of_many_chains_cost_no_search_and_stay_on_them fails, with ten none.
_ITERATIONS = 3


class Parts(NamedTuple):
    """Coordinates of parts that are not coupled to each other, one part after the other.

    Part i has ``coordinates`` (p,) from ``first[i]`` to ``first[i + 1]``; ``counts`` (parts,) motions are sought in each.
    """

    coordinates: np.ndarray
    first: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, tree: PivotTree, size: int, most: int) -> Parts:
        """The largest subtrees of at most ``most`` coordinates in whose top front a negative eigenvalue appears.

        Coordinates from ``size`` on are multipliers; each has a negative eigenvalue that is not a motion.
        """
        signs = (tree.pivots < 0.0).astype(np.int64)
        signs[tree.place[size:]] -= 1
        own = np.add.reduceat(signs, tree.first[:-1]) if len(tree.parents) else signs
        sizes, totals, parents = np.diff(tree.first).tolist(), own.tolist(), tree.parents.tolist()
        for front, parent in enumerate(parents):  # children come before their parents
            if parent < len(parents):
                sizes[parent] += sizes[front]
                totals[parent] += totals[front]
        part, counts = [-1] * (len(parents) + 1), []
        for front in range(len(parents) - 1, -1, -1):
            part[front] = part[parents[front]]
            if part[front] < 0 and own[front] and totals[front] > 0 and sizes[front] <= most:
                part[front] = len(counts)
                counts.append(totals[front])
        of_place = np.repeat(part[:-1], np.diff(tree.first)).astype(np.int64)
        of = of_place[tree.place[:size]]
        inside = np.flatnonzero(of >= 0)
        inside = inside[np.argsort(of[inside], kind="stable")]
        sizes = np.bincount(of[inside], minlength=len(counts))
        return cls(inside, np.concatenate([[0], np.cumsum(sizes)]), np.minimum(np.array(counts, dtype=np.int64), sizes))

    @property
    def number(self) -> np.ndarray:
        """The part of each coordinate (p,)."""
        return np.repeat(np.arange(len(self.counts)), np.diff(self.first))

    def alike(self, counts: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
        """Parts (b,) with the same size r and number of motions, the places of their coordinates (b, r), and that number."""
        shapes, which = np.unique(np.column_stack([np.diff(self.first), counts]), axis=0, return_inverse=True)
        for k, (size, count) in enumerate(shapes):
            if size and count:
                parts = np.flatnonzero(which.ravel() == k)
                yield parts, self.first[parts][:, None] + np.arange(size), int(count)


class Free(NamedTuple):
    """Free motions of parts: ``by_noise`` (n, m) orthonormal by the noise, ``null`` (n, m) an orthonormal basis of them."""

    by_noise: sp.csc_matrix
    null: sp.csc_matrix

    @classmethod
    def none(cls, n: int) -> Free:
        return cls(no_columns(n), no_columns(n))


def free_of_parts(
    k: sp.csc_matrix,
    noise: np.ndarray,
    below: float,
    factor: Factor | ConstrainedFactor,
    allowed: Tangent | None,
    factors: Factors,
    crowded: bool,
) -> Free:
    """Motions of less than a noise of a stiffness k (n, n) that move one small part each.

    If soft motions are ``crowded``, only those far below all others in their part count as free.

    ``factor`` is the factor of k minus ``below`` noises, on the ``allowed`` motions.  Some motions may be missed; those found
    have curvatures of less than one noise, and the rest exerts no force on them.
    """
    n = len(noise)
    tree = factor.tree
    parts = None if tree is None else Parts.of(tree, n, SIZES.part)
    if parts is None or not len(parts.counts):
        return Free.none(n)
    at = parts.coordinates
    own, weight = k[at][:, at].tocsc(), noise[at]
    try:
        inner = _factor(own, -below * weight, None if allowed is None else allowed.slopes[:, at], factors)
    except RuntimeError:
        return Free.none(n)
    x, free = _free_alone(parts, own, _soft(parts, inner, weight), crowded)
    free &= _left_free(parts, x, noise, below, factor)
    return _columns(parts, x, free, n)


def _soft(parts: Parts, factor: Factor | ConstrainedFactor, noise: np.ndarray) -> np.ndarray:
    """Motions (p, s) of all parts by inverse iteration, as many as each part needs; orthonormal by the noise (p,)."""
    most = int(parts.counts.max())
    x = np.random.default_rng(0).standard_normal((len(noise), most))
    x[np.arange(most) >= parts.counts[parts.number][:, None]] = 0.0
    for _ in range(_ITERATIONS):
        x = factor.solve(noise[:, None] * x)
        x /= np.abs(x).max(axis=0)
    root = np.sqrt(noise)
    for _, rows, count in parts.alike(parts.counts):
        x[rows, :count] = np.linalg.qr(root[rows][:, :, None] * x[rows, :count])[0] / root[rows][:, :, None]
    return x


def _free_alone(parts: Parts, k: sp.csc_matrix, x: np.ndarray, crowded: bool) -> tuple[np.ndarray, np.ndarray]:
    """Motions (p, s) in the span of x, and which of them (parts, s) have no curvature beyond the noise within their part.

    The other motions are set to zero; k (p, p) is the stiffness of all parts.
    """
    push, alone = k @ x, np.zeros(x.shape)
    free = np.zeros((len(parts.counts), x.shape[1]), dtype=bool)
    for which, rows, count in parts.alike(parts.counts):
        y = x[rows, :count]
        bend = np.swapaxes(y, 1, 2) @ push[rows, :count]
        mu, turn = np.linalg.eigh(0.5 * (bend + np.swapaxes(bend, 1, 2)))
        free[which, :count] = without_curvature(mu) if crowded else np.abs(mu) <= 1.0
        alone[rows, :count] = y @ turn * free[which, None, :count]
    return alone, free


def _left_free(
    parts: Parts, x: np.ndarray, noise: np.ndarray, below: float, factor: Factor | ConstrainedFactor
) -> np.ndarray:
    """Which motions x (p, s) of parts (parts, s) are free in the whole structure, too.

    Solve ``K y + G^T l - s D y = -s D x`` for the whole matrix, with y = x + z and s times the noise D.  The remaining force on
    y is s D z, which is less than its noise if s z is less than y.
    """
    at, number = parts.coordinates, parts.number
    sides = np.zeros((len(noise), x.shape[1]))
    sides[at] = noise[at, None] * x
    again = -below * factor.solve(sides)
    again[at] -= x
    squares = noise[:, None] * again**2
    within = np.zeros((len(parts.counts), x.shape[1]))
    np.add.at(within, number, squares[at])
    squares[at] = 0.0
    return within + squares.sum(axis=0) <= 1.0 / below**2


def _factor(
    k: sp.csc_matrix, diagonal: np.ndarray, slopes: sp.csr_matrix | None, factors: Factors
) -> Factor | ConstrainedFactor:
    """The factor of a stiffness (p, p) plus a diagonal, under the constraints (m, p) that act there."""
    if slopes is not None:
        slopes = slopes.tocsr()
        slopes = slopes[slope_lengths(slopes) > DEPENDENT]
        if slopes.shape[0]:
            slopes = normalized(slopes, np.zeros(slopes.shape[0]))[0]
            return factors.constrained(add_diagonal(k, diagonal), slopes)
    return factors(k, diagonal)


def _columns(parts: Parts, x: np.ndarray, free: np.ndarray, n: int) -> Free:
    """The motions x (p, s) of all parts that are ``free`` (parts, s), as sparse columns."""
    counts = free.sum(axis=1)
    order = np.argsort(~free, axis=1, kind="stable")  # free ones first
    x = np.take_along_axis(x, order[parts.number], axis=1)
    column = np.cumsum(counts) - counts
    shape = (n, int(counts.sum()))
    entries = [(np.zeros(0), np.zeros(0), np.zeros(0, dtype=int), np.zeros(0, dtype=int))]
    for which, rows, count in parts.alike(counts):
        y = x[rows, :count]
        row = np.broadcast_to(parts.coordinates[rows][:, :, None], y.shape)
        col = np.broadcast_to(column[which][:, None, None] + np.arange(count), y.shape)
        entries.append((y.ravel(), cleared(np.linalg.qr(y)[0]).ravel(), row.ravel(), col.ravel()))
    by_noise, null, row, col = (np.concatenate(each) for each in zip(*entries, strict=True))
    out = [sp.csc_matrix((values, (row, col)), shape=shape) for values in (by_noise, null)]
    for matrix in out:
        matrix.eliminate_zeros()
    return Free(*out)
