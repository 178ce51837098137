"""Eigenpairs of small dense matrices, the small ones beside large ones too."""

from __future__ import annotations

import numpy as np
import pytest

from mse.numerics.eigen import eigen, graded, lowest_eigenvalue


def symmetric(seed: int, values: np.ndarray) -> np.ndarray:
    q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return (q * values) @ q.T


@pytest.mark.parametrize("seed", range(5))
def test_the_lower_triangle_counts(seed):
    values = np.sort(np.random.default_rng(seed).uniform(-1.0, 1.0, 12))
    a = symmetric(seed, values)
    w, v = eigen(np.tril(a))
    np.testing.assert_allclose(w, values, atol=1e-14)
    np.testing.assert_allclose((v * w) @ v.T, a, atol=1e-13)
    assert [x.shape for x in eigen(np.zeros((0, 0)))] == [(0,), (0, 0)]


def test_what_does_not_converge_is_told():
    with pytest.raises(np.linalg.LinAlgError, match="of 3 rows did not converge"):
        eigen(np.full((3, 3), np.nan))


@pytest.mark.parametrize("least", [1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("seed", range(20))
def test_the_bound_is_below_the_lowest_eigenvalue_and_near_it(seed, least):
    values = np.random.default_rng(seed).uniform(1.0, 10.0, 20)
    values[0] = least
    a = symmetric(seed, values)
    bound = lowest_eigenvalue(np.linalg.cholesky(a), np.abs(a).sum(axis=1).max())
    assert 0.005 * least < bound <= least * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_small_eigenvalues_of_a_graded_pencil_keep_their_digits(seed):
    """``D A D x = w M x`` with D over eight decades: the w^2 differ by sixteen, which a dense solver alone would lose."""
    rng = np.random.default_rng(seed)
    a, scale = symmetric(seed, rng.uniform(1.0, 2.0, 9)), rng.permutation(np.repeat(np.logspace(0, -8, 3), 3))
    found, x = graded(scale[:, None] * a * scale, np.eye(9))
    # the least of them are those of the Schur complement on the smallest, to first order of the ratio of scales
    least = scale < 1e-7
    inner = a[np.ix_(least, least)] - a[least][:, ~least] @ np.linalg.solve(
        a[np.ix_(~least, ~least)], a[~least][:, least]
    )
    np.testing.assert_allclose(found[:3], 1e-16 * np.linalg.eigvalsh(inner), rtol=1e-6)
    np.testing.assert_allclose(x.T @ x, np.eye(9), atol=1e-12)
