"""Readings of a solution whose squares a sweep adds up while the solution of a frequency is at hand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...kernels.ldl import Squared

_TINY = np.finfo(float).tiny


class Readings(NamedTuple):
    """Real readings (r, n) of x whose squares are added up: of sum s from number ``first[s]`` to ``first[s + 1]``."""

    rows: sp.csr_matrix
    first: np.ndarray

    def times(self, basis: sp.csr_matrix) -> Readings:
        """Of other coordinates, whose motions are the columns of ``basis``."""
        return self._replace(rows=(self.rows @ basis).tocsr())

    def known(self, place: np.ndarray, x: np.ndarray, scale: np.ndarray) -> Squared:
        """The readings with coordinates at ``place``, and their values for known x (n, p) of sizes ``scale`` (n, p)."""
        rows = self.rows
        right = np.zeros((x.shape[1], rows.shape[0], 4))
        right[:, :, 0] = -(rows @ x[: rows.shape[1]]).T
        weights = 1.0 / ((abs(rows) @ scale[: rows.shape[1]]).T + _TINY)
        starts, places = rows.indptr.astype(np.int64), place[rows.indices]
        return Squared(self.first, starts, places, rows.data, right.ravel(), weights.ravel(), np.zeros(0))
