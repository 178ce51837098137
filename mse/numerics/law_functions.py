"""Functions for laws: of plain arrays, and of recorded ones, from which mse takes derivatives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernels import rotations
from .precision import EPS


def rotation_vector(matrix):
    """``log R`` (3,) rad of a rotation matrix R (3, 3).

    ``log R = vee(R - R^T)/2 * t/sin t`` with ``cos t = (tr R - 1)/2``; R. M. Murray, Z. Li, S. S. Sastry, "A
    Mathematical Introduction to Robotic Manipulation" (1994), eq. 2.17.  Smooth below pi; at pi it has no derivative.
    """
    if isinstance(matrix, np.ndarray) and matrix.dtype == float:
        return rotations.rotation_vector(np.ascontiguousarray(matrix))
    axial = [
        (matrix[2, 1] - matrix[1, 2]) * 0.5,
        (matrix[0, 2] - matrix[2, 0]) * 0.5,
        (matrix[1, 0] - matrix[0, 1]) * 0.5,
    ]
    factor = angle_over_sine((matrix[0, 0] + matrix[1, 1] + matrix[2, 2] - 1.0) * 0.5)
    return np.stack([a * factor for a in axial])


def angle_over_sine(cosine):
    """``t/sin t`` by cos t of one number; smooth below pi, huge there."""
    if hasattr(cosine, "angle_over_sine"):
        return cosine.angle_over_sine()
    below, above = 1.0 - cosine, max(1.0 + cosine, EPS)
    if below <= 0.0:  # beyond 1 by its rounding
        return 1.0 + below / 3.0
    return 2.0 * np.arctan2(np.sqrt(below), np.sqrt(above)) / np.sqrt(below * above)


def solved(matrix: Sequence, right):
    """x (n,) of ``A x = b``, A given by the rows of a symmetric positive definite matrix.

    Elimination, which needs no pivots then (G. H. Golub, C. F. Van Loan, "Matrix Computations" (2013), section 4.2), so that it
    asks no value.
    """
    left, reduced = [np.concatenate([row, right[i : i + 1]]) for i, row in enumerate(matrix)], []
    while left:
        first, *left = left
        reduced.append(first)
        left = [row[1:] - (row[0] / first[0]) * first[1:] for row in left]
    found: list = []
    for row in reduced[::-1]:
        known = sum((a * x for a, x in zip(row[1:-1], found, strict=True)), 0.0)
        found.insert(0, (row[-1] - known) / row[0])
    return np.stack(found)
