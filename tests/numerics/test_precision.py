"""What counts as rounding: each threshold lies far from what rounding makes, and far from what is meant."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mse.numerics.factor import Factors
from mse.numerics.precision import apart, carries_mass, cleared, left_by_rounding, without_curvature
from mse.numerics.rank import rank, takes_part
from mse.numerics.tangent import Tangent

pytestmark = pytest.mark.rounding


def turned(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """A symmetric matrix with these eigenvalues."""
    q = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
    return q * values @ q.T


@pytest.mark.parametrize("decades", [0, 2, 4, 5])
@pytest.mark.parametrize("seed", range(10))
def test_rows_that_depend_on_others_are_told_from_those_that_hardly_do_not(seed, decades):
    """Three of fifteen rows are sums of others, which are independent by no more than some decades."""
    rng = np.random.default_rng(seed)
    u, v = (np.linalg.qr(rng.standard_normal((n, 12)))[0] for n in (12, 24))
    rows = u * np.logspace(0, -decades, 12) @ v.T
    rows = np.vstack([rows, rng.standard_normal((3, 12)) @ rows])[rng.permutation(15)]
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    found = rank(sp.csr_matrix(rows))
    assert len(found.independent) == 12
    np.testing.assert_allclose(found.combination @ rows[found.independent], rows[found.dependent], atol=1e-9)
    assert Tangent(sp.csr_matrix(rows), Factors()).basis.shape == (24, 12)


def test_rounding_above_one_noise_makes_no_series_and_soft_chains_do():
    """Eight motions without stiffness, one of them with 1.03 noises by rounding; a chain whose lowest motion has half a noise."""
    free = np.array([2.3e-5, 7.6e-4, 1.1e-3, 8.4e-3, 1.6e-2, 3.8e-2, 0.44, 1.03, 8.6e6, 3.4e8])
    np.testing.assert_array_equal(without_curvature(free), free <= 1.0)
    chain = 0.5 * (2 * np.arange(12) + 1.0) ** 2
    assert not without_curvature(chain).any()
    np.testing.assert_array_equal(without_curvature(np.append(chain, 1e-3)), np.arange(13) == 12)


def test_who_takes_part_in_a_dependency():
    """Rows a, b and a + b depend on each other; a third pair beside them does not, whatever rounding leaves of it."""
    rng = np.random.default_rng(0)
    a, b, c, d = np.linalg.qr(rng.standard_normal((24, 4)))[0].T
    rows = np.array([a + 1e-3 * c, b, c, (a + 1e-3 * c + b) / np.sqrt(2), d])
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    assert [group.tolist() for group in rank(sp.csr_matrix(rows)).sharing] == [[0, 1, 3]]
    assert takes_part(np.array([1.0, -1e-5, 1e-11])).tolist() == [True, True, False]


@pytest.mark.parametrize("seed", range(10))
def test_equal_frequencies_are_told_from_near_ones(seed):
    """Of twelve w^2 in five clusters, the nearest of which are 1e-4 apart, five are apart from those before them."""
    rng = np.random.default_rng(seed)
    distinct = np.sort(rng.uniform(1.0, 10.0, 5))
    distinct[1] = distinct[0] * (1 + 1e-4)
    found = np.linalg.eigvalsh(turned(rng, np.repeat(np.sort(distinct), [3, 2, 4, 2, 1])))
    assert np.flatnonzero(apart(found)).tolist() == [0, 3, 5, 9, 11]
    assert apart(np.array([1e-9, 1.0])).all() and not apart(np.zeros(1)).any()


@pytest.mark.parametrize("mass", [0.0, 1e-12, 1e-6])
def test_a_spin_without_inertia_is_told_from_that_of_a_thin_wire(mass):
    """About its axis a wire has the square of its radius over its length of the inertia across: 1e-12 for a micrometer."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        inertia, axis = q * [1.0, 1.0, mass] @ q.T, q[:, 2]
        assert carries_mass(axis @ inertia @ axis, np.abs(axis) @ np.abs(inertia) @ np.abs(axis)) == (mass > 0.0)


@pytest.mark.parametrize("count", [6, 60, 300])
def test_pivots_that_rounding_leaves_are_told_from_small_ones(count):
    rng = np.random.default_rng(count)
    values = rng.uniform(0.1, 1.0, count)
    values[:2] = 0.0, 1e-9
    found = np.linalg.eigvalsh(turned(rng, values))
    assert np.count_nonzero(found > left_by_rounding(count)) == count - 1


def test_what_is_cleared_is_rounding():
    assert cleared(np.array([[1.0, -1e-15], [1e-11, 0.0]])).tolist() == [[1.0, 0.0], [1e-11, 0.0]]
