"""The machine that runs records: alone and side by side, compiled and as Python."""

from __future__ import annotations

import numpy as np
import pytest
from formulas import EXPRESSIONS
from recordings import derivatives

from mse.kernels import machine

POINT = np.array([0.7, -0.35, 0.52, 1.1])


@pytest.mark.parametrize("count", [1, 2, machine.LANES - 1, machine.LANES, machine.LANES + 1, 3 * machine.LANES + 5])
def test_elements_side_by_side_are_as_each_alone(count):
    """To the last bit: products are not rounded in another way in vectors."""
    rng = np.random.default_rng(count)
    points = POINT + 0.1 * rng.normal(size=(count, 4))

    def formula(x):
        return np.exp(-x @ x) * np.arctan2(x[0], x[3]) + np.sqrt(np.cross(x[:3], x[1:4]) @ x[:3] + 5.0)

    together = derivatives(formula, points)
    for k in range(0, count, 7):
        for one, many in zip(derivatives(formula, points[k]), together, strict=True):
            np.testing.assert_array_equal(many[k], one[0])


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_python_does_the_same(name, monkeypatch):
    with np.errstate(all="ignore"):
        compiled = derivatives(EXPRESSIONS[name], POINT)
        for kernel in ("_angle", "_function", "_value", "run"):
            monkeypatch.setattr(machine, kernel, getattr(machine, kernel).py_func)
        plain = derivatives(EXPRESSIONS[name], POINT)
    for one, other in zip(compiled, plain, strict=True):
        # libraries of functions differ in the last place
        np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-14 * (1.0 + np.abs(other).max(initial=0.0)))
