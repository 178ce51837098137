"""Newton's method for equations of mixed units, of which some may depend on others."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .precision import DEPENDENT, EPS

_STEPS = 40  # of Newton's method, which takes five to ten, and one for each time that a temperature doubles
_HALVINGS = 20
_ENOUGH = 64.0 * EPS  # of the terms that balance


class Left(NamedTuple):
    """What is left of equations (m,), their slopes (m, n), and the sizes (m,) of the terms that should cancel in them."""

    values: np.ndarray
    slopes: np.ndarray
    terms: np.ndarray


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
    # where no step is better, what is left may all be rounding of the largest terms
    most = np.maximum(np.sqrt(EPS) * left.terms, EPS * left.terms.max(initial=0.0))
    return z, bool((np.abs(left.values) <= most).all())


def shortest(slopes: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shortest x (n,) with ``slopes x = values``, all scaled to one size, and the factors (m,) on the equations."""
    by = 1.0 / _or_one(np.abs(slopes).max(axis=1, initial=0.0))
    scaled = by[:, None] * slopes
    wide = _or_one(np.linalg.norm(scaled, axis=0))
    return np.linalg.lstsq(scaled / wide, values * by, rcond=DEPENDENT)[0] / wide, by


def _or_one(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0.0, x, 1.0)
