"""Fill-reducing orderings of graphs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from mse.kernels import fronts
from mse.numerics import ordering


def grid(*sides: int) -> sp.csc_matrix:
    """The graph of a grid, each node its own neighbor, too."""
    graph = sp.identity(1, format="csc")
    for side in sides:
        line = sp.diags([np.ones(side - 1)] * 2, [-1, 1])
        graph = sp.kron(graph, sp.identity(side)) + sp.kron(sp.identity(graph.shape[0]), line)
    graph = sp.csc_matrix(graph)
    graph.sort_indices()
    return graph


def without_diagonal(graph: sp.csc_matrix) -> sp.csc_matrix:
    """The same graph where every third node is not its own neighbor, as where multipliers have no stiffness."""
    own = sp.diags((np.arange(graph.shape[0]) % 3 == 0).astype(float))
    graph = sp.csc_matrix(graph - own)
    graph.eliminate_zeros()
    graph.sort_indices()
    return graph


GRAPHS = {"chain": grid(200), "plate": grid(25, 30), "cube": grid(8, 8, 8), "three": grid(3)}
GRAPHS["multipliers"] = without_diagonal(grid(20, 30))


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_is_ordered_as_for_a_complete_factor_by_an_incomplete_one(name, monkeypatch):
    """The order is that of SuperLU; the numbers of a factor, which grow faster than the graph, are not worked out for it."""
    graph, factors, factorize = GRAPHS[name], [], ordering.spilu

    def kept(*given, **options):
        factors.append(factorize(*given, **options))
        return factors[-1]

    monkeypatch.setattr(ordering, "spilu", kept)
    n = graph.shape[0]
    order = ordering._minimum_degree(graph.indptr, graph.indices, n)
    whole = splu(
        (graph + n * sp.identity(n)).tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )  # fmt: skip
    np.testing.assert_array_equal(order, np.argsort(whole.perm_c))
    assert [f.nnz <= 5 * n for f in factors] == [True]
    if n > 500:
        assert whole.nnz > 15 * n


def bodies(graph: sp.csc_matrix, border: int) -> tuple[np.ndarray, np.ndarray]:
    """Pattern of bodies of six coordinates on a graph, by columns; a twelfth of the entries happens to be zero.

    In every column stands one of so many border rows, and no two of a body have the same.
    """
    n = 6 * graph.shape[0]
    whole = sp.csc_matrix(sp.kron(graph, np.ones((6, 6))))
    whole.data = np.random.default_rng(0).random(whole.nnz)
    kept = (whole + whole.T).tocsc()
    kept.data = (kept.data > 0.4).astype(float)
    rows = sp.csc_matrix((np.ones(n), (np.arange(n) % border, np.arange(n))), shape=(border, n))
    whole = sp.vstack([kept + sp.identity(n), rows]).tocsc()
    whole.eliminate_zeros()
    whole.sort_indices()
    return whole.indptr.astype(np.int64), whole.indices.astype(np.int64)


def test_what_takes_less_work_is_chosen_where_another_ordering_is_worth_it(monkeypatch):
    made, find = [], ordering.eliminated

    def kept(*given):
        made.append(find(*given))
        return made[-1]

    monkeypatch.setattr(ordering, "eliminated", kept)
    worth = []
    for graph in (grid(300), grid(30, 30)):
        made.clear()
        first, rows = bodies(graph, 7)
        chosen = ordering.cheapest(first, rows, 8, np.zeros(len(first) - 1, dtype=bool))
        assert chosen.cycles == min(found.cycles for found in made)
        worth.append(len(made))
    assert worth == [1, 2]
    assert made[1].cycles < 0.9 * made[0].cycles


def test_lattices_with_much_fill_are_dissected(monkeypatch):
    """Where it takes much less work than minimum degree; chains and sheets, which it would fill more, are not tried."""
    tried, dissect = [], ordering.dissected

    def kept(*given):
        tried.append(dissect(*given))
        return tried[-1]

    monkeypatch.setattr(ordering, "dissected", kept)
    for graph, times in ((grid(5_000), 0), (grid(100, 100), 0), (grid(14, 14, 14), 1)):
        tried.clear()
        n = graph.shape[0]
        given = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
        order, weight = ordering._minimum_degree(*given, n), np.full(n, 6)
        tree = ordering._ordered(*given, weight, 0)
        assert len(tried) == times
        other = ordering._Tree.of(*given, tried[0] if times else order, weight, 0)
        np.testing.assert_array_equal(tree.rank, other.rank)
    assert other.cycles < 0.75 * ordering._Tree.of(*given, order, weight, 0).cycles


def test_the_ordering_with_the_least_work_is_taken(monkeypatch):
    graph = grid(12, 12, 12)
    given = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    n = graph.shape[0]
    monkeypatch.setattr(ordering, "_DISSECTED", 0.0)
    monkeypatch.setattr(ordering, "dissected", lambda *_: np.random.default_rng(0).permutation(n))
    tree = ordering._ordered(*given, np.full(n, 6), 0)
    np.testing.assert_array_equal(np.argsort(tree.rank), ordering._minimum_degree(*given, n))


def test_border_rows_do_not_make_nodes_of_bodies_apart():
    first, rows = bodies(grid(12, 12), 7)
    label = fronts.blocks(first, rows, ordering.BODY)
    np.testing.assert_array_equal(label, np.repeat(6 * np.arange(144), 6))


def star(arms: int) -> tuple[sp.csc_matrix, np.ndarray]:
    """One body that each arm is joined to by three constraints; the stiffened matrix, and which coordinates are multipliers."""
    rng = np.random.default_rng(arms)
    bodies = 1 + arms
    slopes = sp.lil_matrix((3 * arms, 6 * bodies))
    for k in range(arms):
        slopes[3 * k : 3 * k + 3, :6] = rng.standard_normal((3, 6))
        slopes[3 * k : 3 * k + 3, 6 * k + 6 : 6 * k + 12] = rng.standard_normal((3, 6))
    slopes = slopes.tocsr()
    stiff = sp.identity(6 * bodies) + slopes.T @ slopes
    whole = sp.bmat([[stiff, slopes.T], [slopes, sp.identity(3 * arms)]], format="csc")
    return whole, np.arange(whole.shape[0]) >= 6 * bodies


@pytest.mark.parametrize("arms", [20, 200])
def test_arms_of_a_body_with_many_joints_know_nothing_of_each_other(arms):
    """Multipliers come behind all that they hold, and arms, eliminated before, stand over the body and their own three alone."""
    matrix, late = star(arms)
    found = ordering.eliminated(matrix.indptr, matrix.indices, 0, late, ordering.BODY)
    rows, columns = matrix.nonzero()
    held = late[rows] & ~late[columns]
    assert np.all(found.place[rows[held]] > found.place[columns[held]])
    own, under = np.diff(found.fronts.first_column), np.diff(found.fronts.first_row)
    assert under.max() <= 9 and own.max() >= 3 * arms
    assert own.sum() == matrix.shape[0]
    # the body's own front is as large as it has multipliers, those of arms are not
    assert found.kept <= (6 + 3 * arms) ** 2 + arms * 6 * (6 + 9)
