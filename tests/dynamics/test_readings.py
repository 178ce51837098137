"""Inputs that are read at many times at once, if they take arrays."""

import math

import numpy as np
import pytest

import mse
from mse.dynamics.readings import Reading

TIMES = np.linspace(0.0, 2.0, 41)
FUNCTIONS = {
    "numpy": lambda t: 3.0 * np.sin(7.0 * t),
    "samples": lambda t: np.interp(t, [0.0, 0.3, 2.0], [1.0, 5.0, -2.0]),
    "one choice of two": lambda t: np.where(t > 0.7, np.cos(t), 0.5),
    "the same": lambda t: 4.0,
    "one number": lambda t: 3.0 * math.sin(7.0 * t),
    "a condition": lambda t: 1.0 if t > 0.7 else 0.0,
    "whole numbers": lambda t: int(t),
    # these give arrays that say something else
    "all at once": lambda t: np.sum(t) + 1.0,
    "how many": lambda t: t + np.size(t),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_at_single_times(name):
    function, asked = FUNCTIONS[name], []

    def checked(t):
        asked.append(t)
        return float(function(t))

    reading, expected = Reading(checked, function), [float(function(t)) for t in TIMES.tolist()]
    for _ in range(2):
        asked.clear()
        np.testing.assert_allclose(reading.at(TIMES), expected, atol=1e-12)
    together = name in ("numpy", "samples", "one choice of two", "the same")
    assert len(asked) == (3 if together else len(TIMES))


def test_no_value_is_nan():
    def checked(t):
        if t > 1.0:
            raise mse.ModelError("no value")
        return t

    with np.errstate(all="ignore"):
        for plain in (None, lambda t: np.where(t > 1.0, np.nan, t), lambda t: np.where(t > 1.0, np.inf, t)):
            found = Reading(checked, plain).at(TIMES)
            assert np.isnan(found[TIMES > 1.0]).all() and np.array_equal(found[TIMES <= 1.0], TIMES[TIMES <= 1.0])
