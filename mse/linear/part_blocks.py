"""Named parts of a matrix as small dense matrices, of which many are decomposed at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .stiffness_parts import StiffnessParts

# Coordinates of a part beyond which its eigenvalues take longer than its sparse products
# (tests/analysis/noise/test_thermal.py::test_parts_on_many_coordinates_have_the_same_noise)
WIDE = 60


class Blocks(NamedTuple):
    """Parts, each times its factor, on the coordinates that they have entries on.

    ``alike`` are those of one size each: numbers among ``labels`` (k,), coordinates (k, c) and matrices (k, c, c).  ``wide`` are
    those on many coordinates: coordinates (c,) and sparse matrix (c, c) by number.
    """

    labels: list[tuple[str, str]]
    alike: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    wide: dict[int, tuple[np.ndarray, sp.csr_matrix]]


def blocks(parts: StiffnessParts, factors: Mapping[tuple[str, str], float]) -> Blocks:
    """The parts that have a factor other than zero, and entries."""
    factor = np.array([factors.get(label, 0.0) for label in parts])
    part, i, j, value = parts.entries()
    used = np.flatnonzero((factor[part] if len(part) else np.zeros(0)) * value)
    used = used[np.argsort(part[used], kind="stable")]
    part, i, j, value = part[used], i[used], j[used], value[used] * factor[part[used]]
    numbers, part = np.unique(part, return_inverse=True)
    # the coordinates of each part, part by part, and the places of all entries among those of their part
    pairs, at = np.unique(np.tile(part, 2) * parts.size + np.concatenate([i, j]), return_inverse=True)
    of, on = np.divmod(pairs, max(parts.size, 1))
    lengths = np.bincount(of, minlength=len(numbers))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    row, column = (at - np.tile(starts[part], 2)).reshape(2, -1)
    wide: dict[int, tuple[np.ndarray, sp.csr_matrix]] = {}
    for k in np.flatnonzero(lengths > WIDE).tolist():
        own, c = part == k, int(lengths[k])
        wide[k] = on[of == k], sp.csr_matrix((value[own], (row[own], column[own])), shape=(c, c))
    # matrices of one size together
    found = []
    for c in np.unique(lengths[lengths <= WIDE]).tolist():
        alike, own = np.flatnonzero(lengths == c), lengths[part] == c
        flat = (np.searchsorted(alike, part[own]) * c + row[own]) * c + column[own]
        matrices = np.bincount(flat, value[own], len(alike) * c * c).reshape(-1, c, c)
        found.append((alike, on[starts[alike][:, None] + np.arange(c)], matrices))
    return Blocks([parts.labels[k] for k in numbers.tolist()], found, wide)
