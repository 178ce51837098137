"""Rows of constraints as factors of matrices take them: their penalties, and long ones as sums of short ones."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .precision import EPS

# Penalty relative to the stiffness it acts on.  The value is not round, so that it cannot cancel a shift.  With a million times
# of it solutions drown in rounding, with a ten-millionth constraints do
# (tests/numerics/test_factor.py::test_factors_on_the_space_that_constraints_leave).
_STIFFER = 7.3
_SOFTEST = EPS**0.5  # of the stiffest: softest penalty of a constraint, half way to rounding
# Of the penalties of other rows on its coordinates: the softest penalty of a row.  Without it
# tests/dynamics/test_constrained.py::test_given_rates_of_many_points_on_rods_are_there fails; with a tenth and ten times of it
# that test and tests/numerics pass.
_BESIDE = 1e-2
# Entries beyond which a row is divided.  The working point of a star of 1,200 coils takes as long with 30 and 300.
_LONG = 100


def constraint_stiffness(constraints: sp.csr_matrix, sizes: np.ndarray) -> np.ndarray:
    """Penalty stiffness (m,) of constraints with rows (m, n) of unit length, on coordinates of the stiffness ``sizes`` (n,).

    No row is much softer than its neighbors on the same coordinates.  The block of its multiplier goes with the inverse of its
    penalty, so it would be large, and rounds of refinement would not remove its error.
    """
    rows = abs(constraints)
    found = np.maximum(_STIFFER * (rows @ sizes), _SOFTEST * (sizes.max(initial=0.0) or 1.0))
    return np.maximum(found, _BESIDE * (rows @ (rows.multiply(rows).T @ found)))


def divided(rows: sp.csr_matrix, sizes: np.ndarray) -> tuple[sp.csr_matrix, np.ndarray]:
    """Rows (m, n) of unit length without long ones: their parts are sums of their own, which follow as further coordinates.

    A penalty along a row of c entries, as of a junction of c ports, would have their square.  Parts of about the root of c
    entries have few: ``a.x = b z`` for each part a of the row, and ``sum of b z = 0``, where b is the length of a.  Returns rows
    (m + p, n + p), and the stiffness ``sizes`` (n,) continued for the sums (n + p,).
    """
    (m, n), count = rows.shape, np.diff(rows.indptr)
    if not (count > _LONG).any():
        return rows, sizes
    row = np.arange(m).repeat(count)
    inside = count[row] > _LONG
    begins = inside & ((np.arange(rows.nnz) - rows.indptr[row]) % np.ceil(np.sqrt(count[row])) == 0)
    part, parts = (np.cumsum(begins) - 1)[inside], int(begins.sum())
    lengths = np.sqrt(np.bincount(part, rows.data[inside] ** 2, parts))
    lengths[lengths == 0.0] = 1.0  # of stored zeros
    own = sp.csr_matrix((rows.data[inside] / lengths[part], (part, rows.indices[inside])), (parts, n))
    short = sp.csr_matrix((rows.data[~inside], (row[~inside], rows.indices[~inside])), rows.shape)
    sums = sp.csr_matrix((lengths, (row[begins], np.arange(parts))), (m, parts))
    half = np.sqrt(0.5)  # so that these rows have unit length, too
    found = sp.bmat([[short, sums], [half * own, -half * sp.identity(parts)]], format="csr")
    return found, np.append(sizes, abs(own) @ sizes)
