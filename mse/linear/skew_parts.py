"""The skew parts of damping and stiffness, kept apart so that no symmetric method uses them by mistake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from ..declared import entry
from ..errors import ModelError
from ..numerics.read_only import Matrix, ReadOnly
from ..numerics.sparse_tools import mirrored
from ..validation.arguments import mapping
from ..validation.matrices import square_matrix, symmetric_matrix
from .stiffness_parts import ListedParts, Parts, StiffnessParts

CIRCULATORY, GYROSCOPIC = "circulatory", "gyroscopic"  # mechanisms of the skew parts of a stiffness and of a damping
DAMPING = "damping"  # mechanism of the dissipating part
Given = ArrayLike | sp.spmatrix  # a matrix as users give it

_SKEW = 1e-9  # relative to the largest entry: rounding of sparse matrix products, see tests/linear/test_skew_parts.py


@dataclass(frozen=True, eq=False)
class SkewParts(ReadOnly):
    """``gyroscopic x' + circulatory x``: what unsymmetric laws add to ``Lambda x' + K x`` on all coordinates x = (q, w).

    And the noise of such laws that dissipate, which no symmetric matrix shows.

    Attributes
    ----------
    gyroscopic : scipy.sparse.csr_matrix, (n + l, n + l)
        Skew part of damping: turns velocities into forces without any work.
    circulatory : StiffnessParts
        Skew part of the stiffness, by object; it does work along closed paths.
    fluctuations : StiffnessParts or None
        Thermal noise of forces by object, N of the power densities ``4 kB N``; None if there is none.
    """

    gyroscopic: sp.csr_matrix = Matrix("x x")  # noqa: RUF009 - a descriptor, not a value
    circulatory: StiffnessParts = entry(Parts(), key="skew")  # noqa: RUF009
    fluctuations: StiffnessParts | None = entry(  # noqa: RUF009
        Parts("noise"), key="fluctuation", sign="fluctuation_number", default=None
    )

    def __post_init__(self):
        g = self.gyroscopic
        both = abs(g + g.T)
        if both.nnz and both.max() > _SKEW * abs(g).max():
            raise ModelError(
                f"the gyroscopic part of a damping is not skew: G + G^T has an entry of {both.max():.3g}, the largest of G is "
                f"{abs(g).max():.3g}; expected G^T = -G; give the symmetric part as Lambda"
            )
        object.__setattr__(self, "gyroscopic", (0.5 * (g - g.T)).tocsr())
        super().__post_init__()

    @property
    def circulates(self) -> bool:
        """Whether there is a circulatory part."""
        return len(self.circulatory) > 0

    def through(self, t: sp.csr_matrix) -> SkewParts:
        """The same parts in other coordinates y, with ``x = t y``.

        Parameters
        ----------
        t : scipy.sparse.csr_matrix, (n + l, m)
            Coordinates x by y.

        Returns
        -------
        SkewParts
            ``t^T A t`` of each.
        """
        circulatory, fluctuations = (
            parts
            if parts is None
            else ListedParts.of(((x, t.T @ n @ t) for x, n in parts.items()), t.shape[1], parts.quantity)
            for parts in (self.circulatory, self.fluctuations)
        )
        # the product is skew up to rounding; if its terms cancel, only rounding is left, so the skew part is taken
        return SkewParts(split(t.T @ self.gyroscopic @ t)[1], circulatory, fluctuations)

    def at(self, keep: np.ndarray) -> SkewParts:
        """The same parts on some of the coordinates only.

        Parameters
        ----------
        keep : ndarray of int, (k,)
            Numbers of the coordinates that stay.

        Returns
        -------
        SkewParts
            Rows and columns of these.
        """
        size = self.gyroscopic.shape[0]
        rows = np.arange(len(keep))
        return self.through(sp.csr_matrix((np.ones(len(keep)), (keep, rows)), shape=(size, len(keep))))


def split(matrix: sp.csr_matrix | np.ndarray) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """The symmetric and the skew part (n, n) of a matrix, which add up to it."""
    a = sp.csr_matrix(matrix)
    mirror = mirrored(a)
    if mirror is not None and np.array_equal(a.data, mirror):
        return a, sp.csr_matrix(a.shape)
    skew = (0.5 * (a - a.T)).tocsr()
    skew.eliminate_zeros()
    return (0.5 * (a + a.T)).tocsr() if skew.nnz else a, skew


def named_parts(
    who: str, what: str, given: Given | Mapping[str, Given], skew: str, size: int | None = None
) -> tuple[dict[str, sp.csr_matrix], sp.csr_matrix]:
    """The symmetric parts (n, n) of a matrix by name, and its skew part, which a mapping gives under the name ``skew``.

    A matrix that is not a mapping is split into both.
    """
    if not isinstance(given, Mapping):
        even, odd = split(square_matrix(who, what, given, size=size))
        return {"given": even}, odd
    found: dict[str, sp.csr_matrix] = {}
    odd = None
    for name, value in mapping(who, what, given, "matrices by the names of parts").items():
        part = f"{what}[{name!r}]"
        if name == skew:
            even, odd = split(square_matrix(who, part, value, size=size))
            _refuse_symmetric(who, part, even, odd)
        else:
            found[name] = sp.csr_matrix(symmetric_matrix(who, part, value, size=size))
        size = (odd if name == skew else found[name]).shape[0]
    if size is None:
        raise ModelError(f"{who}: {what} has no parts; expected a matrix, or matrices by name")
    return found, sp.csr_matrix((size, size)) if odd is None else odd


def _refuse_symmetric(who: str, part: str, even: sp.csr_matrix, odd: sp.csr_matrix) -> None:
    worst = abs(even).max() if even.nnz else 0.0
    if worst > _SKEW * (abs(odd).max() if odd.nnz else 0.0):
        raise ModelError(
            f"{who}: {part} has a symmetric part of {worst:.3g}; expected a skew matrix, A^T = -A; give the symmetric part as "
            "another part"
        )


def joined(size: int, parts: list[tuple[SkewParts | None, sp.csr_matrix]]) -> SkewParts | None:
    """The skew parts of several models together, each in its own coordinates; None if no model has any."""
    found = [skew.through(t) for skew, t in parts if skew is not None]
    if not found:
        return None
    gyroscopic = sum((skew.gyroscopic for skew in found), sp.csr_matrix((size, size))).tocsr()
    pieces = [item for skew in found for item in skew.circulatory.items()]
    noises = [item for skew in found if skew.fluctuations is not None for item in skew.fluctuations.items()]
    return SkewParts(
        gyroscopic, ListedParts.of(pieces, size), ListedParts.of(noises, size, "noise") if noises else None
    )


def signs(symmetric: list[sp.csr_matrix], skew: list[sp.csr_matrix]) -> np.ndarray | None:
    """Signs (n,) of rows that make the sum of symmetric and skew matrices (n, n) symmetric; None if no signs do.

    Coordinates that a symmetric entry couples need the same sign; a skew entry needs opposite signs, as between charges of
    coils and displacements.
    """
    n = symmetric[0].shape[0]
    _, group = connected_components(sum(map(abs, symmetric[1:]), abs(symmetric[0])), directed=False)
    a, b = (group[i] for i in sum(map(abs, skew), sp.csr_matrix((n, n))).nonzero())
    # two copies of each group of equal sign, one per sign: a skew coupling joins copies of opposite sign
    count = int(group.max(initial=-1)) + 1
    edges = np.concatenate([a, a + count]), np.concatenate([b + count, b])
    sides = sp.csr_matrix((np.ones(len(edges[0])), edges), shape=(2 * count, 2 * count))
    _, found = connected_components(sides, directed=False)
    over, under = found[:count], found[count:]
    if np.any(over == under):
        return None
    return np.where(over < under, 1.0, -1.0)[group]
