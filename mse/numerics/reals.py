"""Real numbers of any type, from users."""

from __future__ import annotations

from typing import Any

import numpy as np

_PLAIN = {float, int}


def real_array(value: Any) -> np.ndarray:
    """A new float array from real numbers.

    TypeError for text, truth values, complex and masked numbers, None, ragged lists and anything else that is no real number, at
    any depth of lists.
    """
    # quicker, since poses are made by the thousand
    if type(value) in (tuple, list) and _PLAIN.issuperset(map(type, value)):
        try:
            return np.array(value, dtype=float)
        except OverflowError:  # whole numbers too large for a float
            pass
    _refuse_odd(value)
    try:
        array = np.asarray(value)
    except Exception:  # ragged lists, or any error of a foreign class
        raise TypeError("not an array") from None
    if array.dtype.kind == "O":
        array = (
            np.array([real_array(x) for x in array.ravel()], dtype=float).reshape(array.shape) if array.ndim else None
        )
    if array is None or array.dtype.kind not in "iuf":
        raise TypeError("not real numbers")
    if array.dtype.itemsize <= 8:
        return array.astype(float)
    with np.errstate(over="ignore"):  # long doubles that are too large become infinite
        return array.astype(float)


def _refuse_odd(value: Any) -> None:
    """Refuse masked entries, and truth values among numbers, which numpy would convert to numbers."""
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            raise TypeError("masked")
    elif isinstance(value, bytearray):
        raise TypeError("bytes")
    elif isinstance(value, list | tuple):
        for kind in set(map(type, value)) - _PLAIN:
            if kind in (bool, np.bool_):
                raise TypeError("truth values")
            if not issubclass(kind, float | int | np.number):
                for x in value:
                    if type(x) is kind:
                        _refuse_odd(x)


def is_finite(value: Any) -> bool:
    """Whether value is one finite real number."""
    try:
        number = real_array(value)
    except TypeError:
        return False
    return number.shape == () and bool(np.isfinite(number))
