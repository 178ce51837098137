"""Zero-stiffness and unstable motions at a working point, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from ..numerics.curvatures import Curvatures, classify
from ..numerics.factor import Factors
from ..numerics.precision import groups, stiffness_noise
from ..numerics.read_only import ReadOnly
from ..numerics.sparse_tools import scaled_both
from ..numerics.tangent import Tangent


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
    rounding : float, N/m
        By how much rounding may have changed it.
    """

    name: str
    indices: np.ndarray
    values: np.ndarray
    size: int
    stiffness: float
    rounding: float = 0.0

    @classmethod
    def of(cls, name: str, vector: np.ndarray, stiffness: float, rounding: float = 0.0) -> Motion:
        """A motion along a vector.

        Parameters
        ----------
        name : str
            Its name.
        vector : ndarray, (n,)
            Direction of any length.
        stiffness : float, N/m
            Curvature of the energy along it.
        rounding : float, N/m
            By how much rounding may have changed it.

        Returns
        -------
        Motion
            The motion.
        """
        indices = np.flatnonzero(vector)
        largest = vector[np.argmax(np.abs(vector))]
        return cls(name, indices, vector[indices] / largest, len(vector), stiffness, rounding)

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
    """Motions that a stiffness in scaled coordinates does not clearly hold, named on request, and its ``noise`` (n,)."""

    curvatures: Curvatures
    names: tuple[str, ...]
    scale: np.ndarray
    noise: np.ndarray

    @property
    def null(self) -> sp.csc_matrix:
        """An orthonormal basis (n, m) of zero-stiffness motions, the first of which move one body each."""
        return self.curvatures.null

    @property
    def negative_motions(self) -> np.ndarray:
        """Orthonormal motions (n, k) of negative curvature."""
        return self.curvatures.negative

    @cached_property
    def free(self) -> tuple[Motion, ...]:
        if not self.null.shape[1]:
            return ()
        local = self.curvatures.local
        of_one = (self.null[:, [i]].toarray().ravel() for i in range(local))
        return tuple(self._motion(v) for v in (*of_one, *readable(self.null[:, local:].toarray())))

    @cached_property
    def unstable(self) -> tuple[Motion, ...]:
        return self._named(self.curvatures.negative, self.curvatures.falling)

    @cached_property
    def undetermined(self) -> tuple[Motion, ...]:
        return self._named(self.curvatures.undetermined, self.curvatures.doubtful)

    def _named(self, vectors: np.ndarray, stiffness: np.ndarray) -> tuple[Motion, ...]:
        return tuple(self._motion(v, float(w)) for v, w in zip(vectors.T, stiffness, strict=True))

    def _motion(self, vector: np.ndarray, stiffness: float = 0.0) -> Motion:
        x = vector / self.scale
        rounding = float(self.noise @ vector**2)
        return Motion.of(describe(x, self.names, self.scale), x, stiffness, rounding)


class Coordinates(NamedTuple):
    """Names of coordinates, what one unit of each counts for in meters (n,), and with how many bodies, six each, they begin."""

    names: tuple[str, ...]
    scale: np.ndarray
    bodies: int


def analyze(
    k: sp.csc_matrix,
    coordinates: Coordinates,
    forces: np.ndarray,
    allowed: Tangent | None = None,
    factors: Factors | None = None,
) -> Stability:
    """Free and unstable motions of stiffness k (n, n) in some coordinates.

    ``forces`` (n,) is the noise of k by forces that are not balanced, or rounding; ``allowed`` are the motions that constraints
    leave; ``factors`` serve for this pattern.
    """
    names, scale, bodies = coordinates
    scaled = scaled_both(k.tocsc(), 1.0 / scale)
    noise = stiffness_noise(scaled, groups(bodies, k.shape[0])) + forces
    return Stability(classify(scaled, noise, bodies, allowed, factors), names, scale, noise)


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
