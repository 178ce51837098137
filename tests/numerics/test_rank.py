"""Dependent rows of sparse matrices, and the shortest multipliers, against least squares."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from mse.numerics.rank import rank, shortest_reading


def dependent_rows(seed: int, blocks: int = 6) -> np.ndarray:
    """Rows (m, 6 blocks) that couple two neighboring blocks each; the last two are made of others."""
    rng = np.random.default_rng(seed)
    found = np.zeros((2 * blocks, 6 * blocks))
    for k in range(2 * blocks):
        first = 6 * (k % (blocks - 1))
        found[k, first : first + 12] = rng.standard_normal(12)
    found = np.vstack([found, found[0] - found[5], found[1] + 0.3 * found[6]])
    return found / np.linalg.norm(found, axis=1)[:, None]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("any_pivots", [None, slice(None), slice(18, None)])
def test_dependent_rows_follow_from_the_others(seed, any_pivots):
    rows = dependent_rows(seed)
    found = rank(sp.csr_matrix(rows), any_pivots=any_pivots)
    assert len(found.independent) == np.linalg.matrix_rank(rows) == len(rows) - 2 and found.count == len(rows)
    np.testing.assert_allclose(found.combination @ rows[found.independent], rows[found.dependent], atol=1e-12)
    assert abs(np.linalg.det(rows[np.ix_(found.independent, found.pivots)])) > 0.0
    assert np.abs(found.self_stress.T @ rows).max() < 1e-12
    weight = np.random.default_rng(seed).uniform(0.1, 10.0, len(rows))
    assert np.abs(found.weighted(weight).self_stress.T @ (weight[:, None] * rows)).max() < 1e-10


@pytest.mark.parametrize("seed", range(10))
def test_the_shortest_multipliers_do_the_same(seed):
    rows, rng = dependent_rows(seed), np.random.default_rng(seed)
    found, given = rank(sp.csr_matrix(rows)), rng.standard_normal(len(rows))
    shortest = np.linalg.pinv(rows.T) @ (rows.T @ given)
    far = given + 1e6 * found.self_stress @ np.ones(2)
    np.testing.assert_allclose(found.shortest(far), shortest, atol=1e-9)
    read = rng.standard_normal((3, len(rows)))
    of_them = shortest_reading(sp.csr_matrix(read), found.self_stress.tocsc(), np.ones(len(rows)))
    np.testing.assert_allclose(of_them @ given, read @ shortest, atol=1e-10)


def junctions(nodes: int, branches: int, rng: np.random.Generator) -> np.ndarray:
    """Unit rows (nodes, branches) of what flows from each node of a network without an earth; each part has a dependent one."""
    found = np.zeros((nodes, branches))
    for k in range(branches):
        found[rng.choice(nodes, 2, replace=False), k] = 1.0, -1.0
    length = np.linalg.norm(found, axis=1)
    return found[length > 0.0] / length[length > 0.0, None]


@pytest.mark.parametrize("seed", range(20))
def test_one_row_of_each_part_of_a_network_depends_on_the_others(seed):
    rng = np.random.default_rng(seed)
    rows = junctions(int(rng.integers(3, 30)), int(rng.integers(3, 40)), rng)
    found = rank(sp.csr_matrix(rows), 1, any_pivots=slice(None))
    assert len(found.independent) == np.linalg.matrix_rank(rows) and found.count == len(rows)
    square = rows[np.ix_(found.independent, found.pivots)]
    assert np.linalg.cond(square) < 1e3
    np.testing.assert_allclose(found.combination @ rows[found.independent], rows[found.dependent], atol=1e-12)


def test_junctions_of_a_ladder_fill_in_nothing():
    """A source, resistors in a row, and a small capacitor to earth behind each."""
    peaks = []
    for sections in (500, 2000):
        k = np.arange(sections)
        rows, columns = np.concatenate([[0], k, k + 1, k + 1]), np.concatenate([[0], 2 * k + 1, 2 * k + 1, 2 * k + 2])
        ladder = sp.csr_matrix((np.where((columns == 2 * rows) & (rows > 0), 1e-3, 1.0), (rows, columns)))
        rank(ladder, any_pivots=slice(None))
        tracemalloc.start()
        assert len(rank(ladder, any_pivots=slice(None)).independent) == sections + 1
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 5.0 * peaks[0]  # measured 4.0, and 15 with elimination


def test_columns_that_may_be_any_pivots_leave_the_others_first_along_their_blocks():
    """Bodies in a row, each with two rows to the next one, before a star of branches that are tied to them by nothing."""
    rng = np.random.default_rng(3)
    bodies = dependent_rows(3)
    branches = np.zeros((4, 9))
    branches[:, 0] = 1.0
    branches[np.arange(8) % 4, 1 + np.arange(8)] = -1.0
    rows = sp.csr_matrix(sp.block_diag([bodies, branches / np.linalg.norm(branches, axis=1)[:, None]]))
    rows = rows[rng.permutation(rows.shape[0])]
    first, some = rank(rows), rank(rows, any_pivots=slice(bodies.shape[1], None))
    own = [np.sort(found.pivots[found.pivots < bodies.shape[1]]) for found in (first, some)]
    assert own[0].tolist() == own[1].tolist()
    # of two branches that a row has for itself the first
    assert np.sort(some.pivots - bodies.shape[1])[-4:].max() <= 4


def test_rows_without_entries_depend_on_nothing_else():
    found = rank(sp.csr_matrix((2, 12)))
    assert len(found.independent) == 0 and found.dependent.tolist() == [0, 1]
    assert rank(sp.csr_matrix((0, 12))).count == 0
