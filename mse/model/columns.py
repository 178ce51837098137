"""Parameters of many objects of one class, in the form that their compiled kernels use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..elements.base import MObject


def parameters_of(objects: Sequence[MObject]) -> np.ndarray:
    """Kernel parameters of objects of one class, (E, p)."""
    return np.array([obj.kernel_parameters() for obj in objects], dtype=float).reshape(len(objects), -1)


def by_column(objects: Sequence[MObject]) -> MObject | None:
    """One object whose parameters are columns with the values of all given objects; None if their class does not allow it."""
    cls = type(objects[0])
    # derived classes may have other laws, so the class itself must allow it
    if not vars(cls).get("by_column"):
        return None
    values = [obj._values for obj in objects]
    together = object.__new__(cls)
    needed = [name for name, p in cls.declared_parameters.items() if p.moves]
    together._values = {name: np.array([v[name] for v in values]) for name in needed}
    return together
