"""Functions of arrays by elementary operations: plain arrays against numpy; recorded ones are compared where they are used."""

from __future__ import annotations

import numpy as np
import pytest

from mse.numerics.numpy_functions import solved


@pytest.mark.parametrize("n", [1, 2, 6])
def test_elimination_solves_positive_definite_systems(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(n, n)), rng.normal(size=n)
    matrix = a @ a.T + 0.1 * np.eye(n)
    expected = np.linalg.solve(matrix, b)
    for rows in (matrix, list(matrix)):
        np.testing.assert_allclose(solved(rows, b), expected, rtol=0, atol=1e-12 * np.abs(expected).max())
