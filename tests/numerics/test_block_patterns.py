"""Places of entries in the pattern of a matrix made of blocks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mse.numerics.block_patterns import Blocks, ranges


@pytest.mark.parametrize("seed", range(10))
def test_each_entry_has_its_place(seed):
    """Nodes of one to six coordinates, some of which couple."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, 8)
    blocks, on = Blocks(sizes), rng.random((8, 8)) < 0.4
    a, b = np.nonzero(on)
    blocks.couple(np.append(a, -1), np.append(b, 3))
    n, count, indices, indptr = blocks.arranged()
    assert n == sizes.sum() and count == sizes @ on @ sizes
    expected = np.repeat(np.repeat(on, sizes, axis=0), sizes, axis=1)
    assert np.array_equal(sp.csr_matrix((np.ones(count), indices, indptr), shape=(n, n)).toarray(), expected)
    rows, columns = np.nonzero(expected)
    data = np.zeros(count)
    data[blocks.place(rows, columns)] = 100.0 * rows + columns
    numbers = np.where(expected, 100.0 * np.arange(n)[:, None] + np.arange(n), 0.0)
    assert np.array_equal(sp.csr_matrix((data, indices, indptr), shape=(n, n)).toarray(), numbers)


def test_rows_of_elements_begin_where_their_blocks_do():
    """Two elements between two nodes each, one of which has only one."""
    blocks, nodes = Blocks(np.array([3, 2, 3])), np.array([[0, 1], [2, -1]])
    for a, b in ((0, 0), (0, 1), (1, 0), (1, 1), (2, 2)):
        blocks.couple(np.array([a]), np.array([b]))
    blocks.arranged()
    first = blocks.rows_between(nodes, (3, 2))
    assert first.shape == (2, 5, 2)
    assert np.array_equal(first[0, :, 1], blocks.place(np.arange(5), np.full(5, 3)))
    assert np.array_equal(first[1, :3, 0], blocks.place(np.arange(5, 8), np.full(3, 5)))
    assert (first[1, 3:] == -1).all() and (first[1, :, 1] == -1).all()


def test_ranges_follow_each_other():
    assert ranges(np.array([5, 0, 2]), np.array([2, 3, 0])).tolist() == [5, 6, 0, 1, 2]
