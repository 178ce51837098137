"""Newton's method for equations of mixed units, of which some may depend on others."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import null_space
from scipy.sparse.csgraph import connected_components

from .precision import DEPENDENT, EPS

_STEPS = 40  # of Newton's method, which takes five to ten, and one for each time that a temperature doubles
_HALVINGS = 20
_ENOUGH = 64.0 * EPS  # of the terms that balance


class Left(NamedTuple):
    """What is left of equations (m,), their slopes (m, n), and the sizes (m,) of the terms that should cancel in them."""

    values: np.ndarray
    slopes: np.ndarray
    terms: np.ndarray

    @property
    def off(self) -> np.ndarray:
        """What is left (m,) over what may be left where no step is better; it may all be rounding of the largest terms."""
        most = np.maximum(np.sqrt(EPS) * self.terms, _ENOUGH * self.terms.max(initial=0.0))
        return np.abs(self.values) / np.where(most > 0.0, most, 1.0)


@np.errstate(over="ignore", invalid="ignore")  # steps that are too long are halved
def solved(equations: Callable[[np.ndarray], Left], z: np.ndarray, *, positive: np.ndarray) -> tuple[np.ndarray, bool]:
    """Unknowns (n,) that solve the equations, found from z on by the shortest steps, and whether they do.

    Steps are halved where they would lead farther off, and where unknowns that are ``positive`` (n,) would not be.
    """
    left = equations(z)
    for _ in range(_STEPS):
        change, by = shortest(left.slopes, -left.values)
        for halved in range(_HALVINGS):
            new = z + 0.5**halved * change
            if (new[positive] > 0.0).all():
                found = equations(new)
                if np.linalg.norm(found.values * by) < np.linalg.norm(left.values * by):
                    break
        else:
            break  # rounding is left
        z, left = new, found
        if (np.abs(left.values) <= _ENOUGH * left.terms).all():
            break
    return z, bool((left.off <= 1.0).all())


def shortest(slopes: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shortest x (n,) with ``slopes x = values``, all scaled to one size, and the factors (m,) on the equations.

    Equations without common unknowns are solved apart: those of heat would leave rounding in those of a circuit.
    """
    by = 1.0 / _or_one(np.abs(slopes).max(axis=1, initial=0.0))
    scaled = by[:, None] * slopes
    wide = _or_one(np.linalg.norm(scaled, axis=0))
    scaled, values = scaled / wide, values * by
    count, x = len(slopes), np.zeros(slopes.shape[1])
    links = sp.csr_matrix(slopes)
    parts, part = connected_components(sp.block_array([[None, links], [links.T, None]]), directed=False)
    for rows, columns in ((part[:count] == k, part[count:] == k) for k in range(parts)):
        if rows.any() and columns.any():
            x[columns] = np.linalg.lstsq(scaled[np.ix_(rows, columns)], values[rows], rcond=DEPENDENT)[0]
    return x / wide, by


def unbalanced(slopes: np.ndarray, forces: np.ndarray) -> int | None:
    """Where most of forces (m,) acts along motions on which no unknown has an influence: those whose slopes (m, n) vanish."""
    motion = unbalanced_motion(slopes, forces)
    return None if motion is None else int(np.abs(motion * forces).argmax())


def unbalanced_motion(slopes: np.ndarray, forces: np.ndarray) -> np.ndarray | None:
    """That of these motions (m,) along which most of the forces acts; None if they do on none."""
    slopes = slopes / _or_one(np.linalg.norm(slopes, axis=0))
    lengths = _or_one(np.linalg.norm(slopes, axis=1))
    motions = null_space((slopes / lengths[:, None]).T, rcond=DEPENDENT) / lengths[:, None]
    work = motions * forces[:, None]
    along = np.abs(work.sum(axis=0)) / _or_one(np.abs(work).sum(axis=0))
    return motions[:, along.argmax()] if along.max(initial=0.0) > DEPENDENT else None


def undetermined(slopes: np.ndarray) -> np.ndarray:
    """Which unknowns (n,) change along motions on which equations with slopes (m, n) have no influence."""
    return (np.abs(undetermined_motions(slopes)) > DEPENDENT).any(axis=1)


def undetermined_motions(slopes: np.ndarray, vanished: float = 0.0) -> np.ndarray:
    """Those motions (n, k); slopes up to ``vanished`` are none."""
    slopes = np.where(np.abs(slopes) > vanished, slopes, 0.0)
    slopes = slopes / _or_one(np.abs(slopes).max(axis=1, initial=0.0))[:, None]
    wide = _or_one(np.linalg.norm(slopes, axis=0))
    motions = null_space(slopes / wide, rcond=DEPENDENT) / wide[:, None]
    return motions / _or_one(np.abs(motions).max(axis=0, initial=0.0))


def _or_one(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0.0, x, 1.0)
