"""The space that rows leave, dense and sparse, against least squares."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mse.numerics.factor import Factors
from mse.numerics.options import SIZES
from mse.numerics.tangent import Tangent, normalized


@pytest.fixture(params=["dense", "sparse"], autouse=True)
def way(request, monkeypatch):
    """Both sides of the size from which on matrices stay sparse."""
    monkeypatch.setattr(SIZES, "dense", 300 if request.param == "dense" else 0)
    return request.param


def rows(seed: int, dependent: bool) -> np.ndarray:
    """Eight rows (m, 20) of unit length; with ``dependent`` two more that are sums of them."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal((8, 20))
    if dependent:
        found = np.vstack([found, found[0] + found[3], found[1] - 2 * found[5] + found[6]])
    return found / np.linalg.norm(found, axis=1)[:, None]


@pytest.mark.parametrize("dependent", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_steps_and_multipliers_are_those_of_least_squares(seed, dependent):
    g, rng = rows(seed, dependent), np.random.default_rng(seed + 1)
    tangent = Tangent(sp.csr_matrix(g), Factors())
    residual, x = g @ rng.standard_normal(20), rng.standard_normal(20)
    np.testing.assert_allclose(tangent.restoring(residual), -np.linalg.pinv(g) @ residual, atol=1e-9)
    along = x - np.linalg.pinv(g) @ (g @ x)
    np.testing.assert_allclose(tangent.along(x), along, atol=1e-9)
    np.testing.assert_allclose(x + g.T @ tangent.multipliers(x), along, atol=1e-9)
    assert not (tangent.unique and dependent)


@pytest.mark.parametrize("dependent", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_solutions_on_the_space_leave_nothing_along_it(seed, dependent):
    g, rng = rows(seed, dependent), np.random.default_rng(seed + 1)
    root, right = rng.standard_normal((20, 20)), rng.standard_normal(20)
    k = root @ root.T + np.eye(20)
    tangent = Tangent(sp.csr_matrix(g), Factors())
    p = tangent.factor(sp.csc_matrix(k)).solve(tangent.along(right))
    z = np.linalg.svd(g)[2][8:].T
    np.testing.assert_allclose(p, z @ np.linalg.solve(z.T @ k @ z, z.T @ right), atol=1e-9)


def test_rows_get_unit_length_and_empty_ones_stay():
    g = sp.csr_matrix(np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 2e-3]]))
    unit, residual, length = normalized(g, np.array([10.0, 1.0, 4e-3]))
    np.testing.assert_allclose(unit.toarray(), [[0.6, 0.8, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]], rtol=1e-15)
    np.testing.assert_allclose(residual, [2.0, 1.0, 2.0], rtol=1e-15)
    np.testing.assert_allclose(length, [5.0, 1.0, 2e-3], rtol=1e-15)


@pytest.mark.parametrize("dependent", [False, True])
def test_errors_that_constraints_leave_are_those_of_many_samples(way, dependent):
    g, rng = rows(3, dependent), np.random.default_rng(0)
    tangent, sizes = Tangent(sp.csr_matrix(g), Factors()), 10.0 ** rng.uniform(-3, 3, 20)
    left = tangent.left_of(sizes)
    if way == "sparse":
        assert left is None
        return
    samples = sizes[:, None] * rng.standard_normal((20, 20_000))
    np.testing.assert_allclose(
        left, np.sqrt(np.mean((samples - np.linalg.pinv(g) @ (g @ samples)) ** 2, axis=1)), rtol=0.03
    )


@pytest.mark.parametrize("dependent", [False, True])
def test_motions_in_other_coordinates_are_the_same(dependent):
    g, rng = rows(4, dependent), np.random.default_rng(0)
    by, x = 10.0 ** rng.uniform(-1, 1, 20), rng.standard_normal(20)
    other = Tangent(sp.csr_matrix(g), Factors()).scaled(by)
    np.testing.assert_allclose(g @ (by * other.along(x)), 0.0, atol=1e-11)
    np.testing.assert_allclose(other.along(other.along(x)), other.along(x), atol=1e-11)
