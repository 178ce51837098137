"""Coefficients of the method of order 8."""

from __future__ import annotations

import numpy as np
from scipy.integrate._ivp import dop853_coefficients

from mse.numerics.dop853 import dop853


def test_coefficients_are_those_of_scipy_and_of_order_8():
    for name in ("A", "B", "C", "D", "E3", "E5"):
        assert np.array_equal(getattr(dop853, name), getattr(dop853_coefficients, name))
    b, c = dop853.B, dop853.C[: dop853.N_STAGES]
    # quadrature of t^k over a step
    assert np.allclose([b @ c**k for k in range(8)], 1.0 / np.arange(1, 9), rtol=0.0, atol=1e-15)
