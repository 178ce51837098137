"""Numbers as users give them."""

from __future__ import annotations

from typing import Any

import numpy as np


def real_array(value: Any) -> np.ndarray:
    """A new float array from real numbers; TypeError for text, truth values, complex numbers and ragged lists."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise TypeError("ragged") from None
    if array.dtype.kind == "O":
        array = (
            np.array([real_array(x) for x in array.ravel()], dtype=float).reshape(array.shape) if array.ndim else None
        )
    if array is None or array.dtype.kind not in "iuf":
        raise TypeError("not real numbers")
    return array.astype(float)


def is_finite(value: Any) -> bool:
    """Whether value is one finite real number."""
    try:
        number = real_array(value)
    except TypeError:
        return False
    return number.shape == () and bool(np.isfinite(number))


def is_positive(value: Any) -> bool:
    """Whether value is one finite real number above zero."""
    return is_finite(value) and float(value) > 0.0
