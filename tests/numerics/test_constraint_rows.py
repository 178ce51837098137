"""Long rows of constraints as short ones: the same factors, by dense projection."""

import numpy as np
import pytest
import scipy.sparse as sp

from mse.numerics.constraint_rows import divided
from mse.numerics.factor import ConstrainedFactor


def rows_of(rng, n: int, m: int) -> sp.csr_matrix:
    """Unit rows, of which the first three are long, and the third depends on the others if m is even."""
    dense = sp.random(m, n, density=0.02, rng=rng, data_rvs=rng.standard_normal).toarray()
    dense[:2] = rng.standard_normal((2, n)) * (rng.random((2, n)) < 0.7)
    dense[2] = dense[0] - dense[1] if m % 2 == 0 else rng.standard_normal(n)
    return sp.csr_matrix(dense / np.linalg.norm(dense, axis=1)[:, None])


@pytest.mark.parametrize("seed", range(4))
def test_divided_rows_leave_the_same_space(seed):
    rng = np.random.default_rng(seed)
    rows = rows_of(rng, 400, 20 + seed)
    found, sizes = divided(rows, np.full(400, 3.0))
    sums = found.shape[1] - 400
    assert found.shape[0] == rows.shape[0] + sums and len(sizes) == found.shape[1]
    np.testing.assert_allclose(sp.linalg.norm(found, axis=1), 1.0, rtol=1e-12)
    # the squares of their entries, of which a penalty has as many
    assert (np.diff(found.indptr) ** 2).sum() < 0.15 * (np.diff(rows.indptr) ** 2).sum()
    space = np.linalg.svd(found.toarray())[2][np.linalg.matrix_rank(found.toarray()) :].T
    whole = np.linalg.svd(rows.toarray())[2][np.linalg.matrix_rank(rows.toarray()) :].T
    assert space.shape[1] == whole.shape[1]
    np.testing.assert_allclose(rows @ space[:400], 0.0, atol=1e-12)
    assert np.linalg.matrix_rank(space[:400]) == whole.shape[1]


@pytest.mark.parametrize("seed", range(4))
def test_a_factor_under_long_rows_solves_and_counts_on_their_space(seed):
    rng = np.random.default_rng(seed)
    n, rows = 300, rows_of(rng, 300, 20 + seed)
    a = sp.random(n, n, density=0.01, rng=rng, data_rvs=rng.standard_normal)
    a = (a + a.T + sp.diags(rng.standard_normal(n) * 3.0)).tocsc()
    factor = ConstrainedFactor(a, rows)
    space = np.linalg.svd(rows.toarray())[2][np.linalg.matrix_rank(rows.toarray()) :].T
    inner, b = space.T @ a @ space, rng.standard_normal((n, 2))
    assert factor.negative in (None, np.count_nonzero(np.linalg.eigvalsh(inner) < 0)) and factor.size == n
    assert factor.freedoms == space.shape[1]
    for right in (b, b[:, 0]):
        x = factor.solve(right)
        np.testing.assert_allclose(rows @ x, 0.0, atol=1e-9 * np.abs(x).max())
        np.testing.assert_allclose(x, space @ np.linalg.solve(inner, space.T @ right), rtol=1e-6, atol=1e-8)
    assert factor.error(b[:, 0]) < 1e-10


def test_a_penalty_along_a_junction_of_many_ports_does_not_fill():
    """A star of 1,000: its row has as many entries, and their products would be a million."""
    n = 1000
    row = sp.csr_matrix(np.full((1, n), n**-0.5))
    factor = ConstrainedFactor(sp.identity(n, format="csc"), row)
    assert factor.ordering.entries < 40 * n
    b = np.arange(n, dtype=float)
    np.testing.assert_allclose(factor.solve(b), b - b.mean(), atol=1e-9)
