"""Fill-reducing orderings of graphs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import splu

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
