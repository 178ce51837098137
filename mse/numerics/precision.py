"""What rounding may do to a stiffness: thresholds from eps, and from the norms of what was added up.

The stiffness K (n, n) that was computed differs from the exact one by rounding of the terms added up in it, by the rounding of
the forces that it depends on, and by the forces that are not balanced yet.  All three are at most a diagonal D in the sense

    ``|x^T (K - K_exact) x| <= x^T D x``   for every motion x,

with D the *noise* of K.  So the numbers of eigenvalues mu of the pencil ``K x = mu D x`` below -1 and above 1 are those of the
exact stiffness, whatever the units of the coordinates.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy.sparse as sp

from ..kernels.sizes import stiffness_terms
from .read_only import read_only

EPS = float(np.finfo(float).eps)

# eps: rounding of one term of a stiffness or of a force on its way into the sum.  With it eigenvalues mu of free motions stay
# below 1 by a factor of three, and those of others above SURE by a hundred; what is between is not determined
# (tests/statics/test_stability.py::test_noise_lies_far_between_free_and_soft):
_TERM = 8.0
SURE = 10.0

# What else rounding may leave.  tests/numerics/test_precision.py has cases on both sides of each, and passes with a hundredth of
# each and with ten times of it; with a hundred times thin wires lose their inertia, and near frequencies are one:
_TERMS = 64.0  # eps: some tens of terms add up for a body, and each coordinate is eliminated once
DEPENDENT = 1e-9  # of a row of unit length: what is left of it beside others that it depends on
APART = 1e-6  # relative distance of two frequencies that are one: which of a cluster are found first is up to rounding
NOTHING = 1e-12  # beside one: of shares of unit vectors, relative changes, growth in a period
# Noises of a curvature below which factors without pivoting cannot tell it from zero: some thousand eps, as pivots grow
# (tests/numerics/test_curvatures.py).
UNPIVOTED = 1e3


def independent(sizes: np.ndarray) -> np.ndarray:
    """Which rows (m,) do not depend on those before, by the ``sizes`` (m,) of what is left of them beside these."""
    return sizes > DEPENDENT * sizes.max(initial=0.0)


def apart(ascending: np.ndarray) -> np.ndarray:
    """Which of ascending frequencies, or of their squares (k,), are not one with the frequency before them."""
    return np.diff(ascending, prepend=0.0) > APART * ascending


def left_by_rounding(count: int = 1) -> float:
    """The share of terms that rounding may leave of them, in a pivot or eigenvalue of a matrix of ``count`` coordinates."""
    return max(_TERMS, count) * EPS


def carries_mass(mass: np.ndarray, terms: np.ndarray, count: int = 1) -> np.ndarray:
    """Which motions have mass (m,) beyond rounding of the ``terms`` (m,) that add up in it, of ``count`` coordinates."""
    return mass > left_by_rounding(count) * terms


def cleared(x: np.ndarray) -> np.ndarray:
    """Columns or rows with entries of about one, without those that are rounding."""
    return np.where(np.abs(x) < NOTHING, 0.0, x)


@lru_cache(maxsize=8)
def groups(bodies: int, size: int, each: int = 6) -> np.ndarray:
    """Numbers (n,) of what coordinates move: six for each of the bodies that they begin with, then one each; read-only.

    With ``each`` of 3 displacements and turns of a body have a number each.
    """
    first = np.repeat(np.arange(6 * bodies // each), each)
    return read_only(np.concatenate([first, len(first) // each + np.arange(size - 6 * bodies)]))


def largest(x: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The largest |x| in the group of each coordinate (n,)."""
    out = np.zeros(int(group.max(initial=-1)) + 1)
    np.maximum.at(out, group, np.abs(x))
    return out[group]


def stiffness_noise(k: sp.csc_matrix, group: np.ndarray) -> np.ndarray:
    """Noise (n,) of a stiffness (n, n) by rounding of its terms: its absolute row sums, those of a group's coordinates alike.

    An entry between two coordinates is divided among them by the roots of their sizes, so that noise has the units of the
    diagonal whatever those of the coordinates: a coordinate is as stiff as its diagonal entry says, or the others where terms
    have canceled in that.  Where ``k`` holds the terms themselves, and they say how far arms reach, groups are what turns
    into each other: displacements along three axes, or turns about them.  Of a stiffness without its terms nothing else is known
    than that any coordinate of a body may have rounding of the others: lever arms, no longer than one in scaled coordinates,
    turn stiffness along one of them into that of another.
    """
    return _TERM * EPS * stiffness_terms(k.data, k.indices, k.indptr, group)


def force_noise(
    unbalanced: np.ndarray, load: np.ndarray, bodies: int, arm: np.ndarray, reach: np.ndarray
) -> np.ndarray:
    """Noise (n,) of a stiffness by forces: those left ``unbalanced`` (n,) N, and rounding of the loads (n,) that balance.

    A motion on a path of radius ``arm`` (n,) m bends the energy by a force over that radius.  Where a body turns about itself,
    forces move as far as their arm on it: by the share ``reach`` (bodies,) of that radius.
    """
    force = np.abs(unbalanced) + _TERM * EPS * load
    out = largest(force, groups(bodies, len(arm))) / arm
    turned, torque = (x[: 6 * bodies].reshape(-1, 6)[:, 3:] for x in (out, force / arm))
    turned *= reach[:, None]
    turned += torque.max(axis=1, keepdims=True, initial=0.0)
    return out


def positive(noise: np.ndarray) -> np.ndarray:
    """Noise (n,) that can be divided by: coordinates without any terms get the square of eps of the largest."""
    return np.maximum(noise, EPS**2 * noise.max(initial=0.0) or 1.0)
