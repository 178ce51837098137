"""Inputs that are read at many times, between steps, for jumps and pulses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import ModelError
from ..validation.arguments import LARGEST

# Relative to the largest value: how much a value for an array of times may differ from that for a single time.  Numpy's differ
# in the last digits.  With a hundredth and a hundred times of it tests/dynamics/test_readings.py passes.
_ALIKE = 1e-9


class Reading:
    """An input as a function of time (s), ``checked``; its ``plain`` function reads many times in one call if it takes arrays."""

    def __init__(self, checked: Callable[[float], float], plain: Callable | None = None):
        self._checked, self._plain = checked, plain

    def __call__(self, time: float) -> float:
        return self._checked(time)

    def at(self, times: np.ndarray) -> np.ndarray:
        """Values at times (k,), nan where there is none; the caller keeps numpy from warning."""
        if self._plain is not None and len(times) > 1:
            if (found := self._together(times)) is not None:
                return found
            self._plain = None
        return np.array([self._alone(t) for t in times.tolist()])

    def _together(self, times: np.ndarray) -> np.ndarray | None:
        """The values by one call; None if the function takes no arrays, or gives other values for single times."""
        try:
            found = np.broadcast_to(np.asarray(self._plain(times.copy()), dtype=float), times.shape)
        except Exception:  # of a function of one number, such as of the math module, or with a condition
            return None
        found = np.where(np.abs(found) <= LARGEST, found, np.nan)
        probes = [0, len(times) // 2, len(times) - 1]
        alone = np.array([self._alone(t) for t in times[probes].tolist()])
        largest = np.abs(found).max(initial=0.0, where=~np.isnan(found))
        alike = np.allclose(found[probes], alone, rtol=0.0, atol=_ALIKE * largest, equal_nan=True)
        return found if alike else None

    def _alone(self, time: float) -> float:
        try:
            return self._checked(time)
        except ModelError:
            return np.nan
