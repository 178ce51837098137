"""Forces and stiffness at rest of the powers of many elements, by their records, or by jets if there are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .base import MObject
from .differentiation import SLOW, directions, exerted, power_terms, stiffness_of
from .recorded_laws import Together


def power_forces(
    objects: Sequence[MObject], together: Together | None, part: slice, columns: np.ndarray, order: int,
    place: Callable[[int], tuple],
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Forces (E, n) and, for order 2, stiffness (E, n, n) of the powers of some objects (``part``) of one class.

    ``columns`` (E, i) are their poses and internal coordinates in the form of records; ``place`` gives frames and internal
    coordinates of an object by its number.  Forces are taken at zero velocity; formulas such as a speed have slopes by positions
    only in motion.
    """
    numbers, first = range(len(objects))[part], objects[0]
    n = 6 * len(first.frame_names) + len(first.coordinate_names)
    forces, stiffness = np.zeros((len(numbers), n)), np.zeros((len(numbers), n, n)[: 1 + order])
    left: Sequence[int] = range(len(numbers))
    if together is not None:
        given = np.zeros(2 * n)

        def plain(k: int) -> np.ndarray:
            return exerted(objects[k], *place(k), given[n:])

        def put(here, found):
            forces[here] = found[0]

        def put_slopes(here, found):
            stiffness[here] = stiffness_of(forces[here], found[1], together.shape.frames)

        left = together.evaluate(part, (columns, given), 0, plain, put)
        if order == 2:
            given = np.concatenate([np.zeros(n), SLOW * directions(n)[0]])
            together.evaluate(part, (columns, given), 1, plain, put_slopes)
    for e in left:
        found = power_terms(objects[numbers[e]], *place(numbers[e]), order)
        forces[e] = found[0]
        if order == 2:
            stiffness[e] = found[1]
    return forces, stiffness
