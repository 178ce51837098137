"""Rounding of a stiffness: thresholds from eps, and from the norms of the terms that are added up.

The computed stiffness K (n, n) differs from the exact one by rounding of its terms, by rounding of the forces that it depends on,
and by forces that are not balanced yet.  A diagonal D bounds all three:

    ``|x^T (K - K_exact) x| <= x^T D x``   for every motion x,

D is the *noise* of K.  So the numbers of eigenvalues mu of the pencil ``K x = mu D x`` below -1 and above 1 are the same as for
the exact stiffness, whatever the units of the coordinates.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .read_only import read_only

if TYPE_CHECKING:
    import scipy.sparse as sp  # elements need these constants before anything is solved

EPS = float(np.finfo(float).eps)

# Rounding of one term of a stiffness or of a force on its way into the sum.  With it eigenvalues mu of free motions stay
# below 1 by a factor of three, and eigenvalues of other motions above SURE by a hundred; between them a motion is undetermined
# (tests/statics/test_stability.py::test_noise_lies_far_between_free_and_soft):
ROUNDED = 8.0 * EPS
SURE = 10.0

# Other rounding.  tests/numerics/test_precision.py has cases on both sides of each number, and passes with a hundredth of each
# and with ten times of it; with a hundred times thin wires lose their inertia, and near frequencies become one:
_TERMS = 64.0  # eps: some tens of terms add up for a body, and each coordinate is eliminated once
DEPENDENT = 1e-9  # of a row of unit length: remainder of a row that depends on others
APART = 1e-6  # relative distance of frequencies that count as one: rounding decides which of a cluster are found first
NOTHING = 1e-12  # compared with one: shares of unit vectors, relative changes, growth in a period
# Times its noise: factors without pivoting cannot tell a smaller curvature from zero, since pivots grow; some thousand eps
# (tests/numerics/test_curvatures.py).
UNPIVOTED = 1e3


def independent(sizes: np.ndarray) -> np.ndarray:
    """Which rows (m,) do not depend on rows before, by the ``sizes`` (m,) of their remainders."""
    return sizes > DEPENDENT * sizes.max(initial=0.0)


def apart(ascending: np.ndarray) -> np.ndarray:
    """Which of ascending frequencies, or of their squares (k,), differ from the one before."""
    return np.diff(ascending, prepend=0.0) > APART * ascending


def left_by_rounding(count: int = 1) -> float:
    """The part of canceling terms that rounding may leave in a pivot or eigenvalue of a matrix of ``count`` coordinates."""
    return max(_TERMS, count) * EPS


def carries_mass(mass: np.ndarray, terms: np.ndarray, count: int = 1) -> np.ndarray:
    """Which motions have ``mass`` (m,) above the rounding of its ``terms`` (m,), for ``count`` coordinates."""
    return mass > left_by_rounding(count) * terms


def without_curvature(mu: np.ndarray) -> np.ndarray:
    """Which curvatures (..., s), in noises, are those of free motions: less than one noise, and far below what is more.

    Rounding alone leaves free motions below about one noise, and all others have far more.  Where curvatures lead down from more
    than ``sqrt(SURE)`` noises, each at least ``SURE^-2`` of the next one, the low ones may be part of that series, and nothing
    says that they are zero: the lowest two of a soft chain with one end free are as one to nine.
    """
    size = np.abs(mu)
    order = np.argsort(size, axis=-1, kind="stable")
    ascending = np.take_along_axis(size, order, axis=-1)
    above = np.concatenate([ascending[..., 1:], np.full_like(ascending[..., :1], np.inf)], axis=-1)
    soft = (ascending > np.sqrt(SURE)) | (above <= SURE**2 * ascending)
    soft = np.flip(np.logical_and.accumulate(np.flip(soft, -1), axis=-1), -1)
    free = np.empty(size.shape, dtype=bool)
    np.put_along_axis(free, order, ~soft & (ascending <= 1.0), axis=-1)
    return free


def cleared(x: np.ndarray) -> np.ndarray:
    """Columns or rows with entries of about one; entries that are rounding become zero."""
    return np.where(np.abs(x) < NOTHING, 0.0, x)


@lru_cache(maxsize=8)
def groups(bodies: int, size: int, each: int = 6) -> np.ndarray:
    """Group numbers (n,) of coordinates, read-only: six coordinates for each body first, then one coordinate in each group.

    With ``each`` = 3, displacements and turns of a body are two groups.
    """
    first = np.repeat(np.arange(6 * bodies // each), each)
    return read_only(np.concatenate([first, len(first) // each + np.arange(size - 6 * bodies)]))


def stiffness_noise(k: sp.csc_matrix, group: np.ndarray, unit: np.ndarray | None = None) -> np.ndarray:
    """Noise (n,) of a stiffness (n, n) from rounding of its terms: absolute row sums, the same for all coordinates of a group.

    It is that of ``diag(u) K diag(u)`` for a ``unit`` u (n,).

    An entry between two coordinates is divided between them by the roots of their sizes, so that noise has the units of the
    diagonal.  The size of a coordinate is its diagonal entry, or comes from the others if terms have canceled there.

    If ``k`` has the terms themselves, and they include the arms, a group is a set of coordinates that rotations mix:
    displacements along three axes, or turns about them.  If only the sum is known, any coordinate of a body may have rounding
    of the others: lever arms, no longer than one in scaled coordinates, turn stiffness along one into stiffness along another.
    """
    from ..kernels.sizes import stiffness_terms  # elements need the constants of this file, and no kernel of it

    unit = np.ones(len(group)) if unit is None else unit
    return ROUNDED * stiffness_terms(k.data, k.indices, k.indptr, group, unit)


def positive(noise: np.ndarray) -> np.ndarray:
    """Noise (n,) that is never zero: coordinates without terms get the square of eps of the largest."""
    return np.maximum(noise, EPS**2 * noise.max(initial=0.0) or 1.0)
