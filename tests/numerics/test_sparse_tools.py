"""Small operations on sparse matrices, each beside SciPy's own."""

import numpy as np
import pytest
import scipy.sparse as sp

from mse.numerics.sparse_tools import canonical, transposed_product


def some(rows=7, columns=5, seed=0):
    return sp.random(rows, columns, 0.4, format="csr", random_state=np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(5))
def test_a_matrix_of_canonical_arrays_is_scipys(seed):
    a = some(seed=seed)
    found = canonical(a.data, a.indices, a.indptr, a.shape[1])
    assert found.has_canonical_format and found.shape == a.shape and type(found) is type(sp.csr_matrix((1, 1)))
    assert np.array_equal(found.toarray(), a.toarray()) and np.array_equal(
        (found.T @ found).toarray(), (a.T @ a).toarray()
    )
    found.check_format(full_check=True)


def test_two_matrices_of_one_shape_keep_their_own_entries():
    a, b = some(seed=1), some(seed=2)
    first, second = (canonical(m.data, m.indices, m.indptr, 5) for m in (a, b))
    first.data *= 2.0
    assert np.array_equal(second.toarray(), b.toarray())
    assert canonical(np.zeros(0), np.zeros(0, np.int32), np.zeros(8, np.int32), 5).nnz == 0


@pytest.mark.parametrize("seed", range(5))
def test_transposed_products_are_scipys(seed):
    a, x = some(seed=seed), np.random.default_rng(seed).normal(size=7)
    np.testing.assert_array_equal(transposed_product(a, x), a.T @ x)
    assert transposed_product(a[:0], x[:0]).tolist() == [0.0] * 5
