"""Nested dissection: orderings of graphs, their fill counted by others, and the separators that they are made of."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.sparse.linalg import splu

from mse.kernels import dissection as compiled
from mse.numerics import dissection


def line(n: int) -> sp.csr_matrix:
    return sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1], shape=(n, n)).tocsr()


def grid(*sides: int) -> sp.csr_matrix:
    """The graph of a grid, as a matrix (n, n)."""
    return reduce(lambda a, side: sp.kronsum(a, line(side), format="csr"), sides[1:], line(sides[0]))


def star(n: int) -> sp.csr_matrix:
    arms = np.zeros((n, n))
    arms[0, 1:] = arms[1:, 0] = 1.0
    return sp.csr_matrix(arms)


def loose(seed: int, n: int, edges: int) -> sp.csr_matrix:
    """Edges at random; most nodes have some, pieces are many."""
    rng = np.random.default_rng(seed)
    a = sp.csr_matrix((np.ones(edges), rng.integers(n, size=(2, edges))), shape=(n, n))
    return (a + a.T).tocsr()


GRAPHS = {
    "empty": sp.csr_matrix((0, 0)),
    "one": sp.csr_matrix((1, 1)),
    "no edges": sp.csr_matrix((700, 700)),
    "path": line(2_000),
    "star": star(900),
    "dense": sp.csr_matrix(np.ones((400, 400))),
    "sheet": grid(30, 40),
    "cube": grid(10, 11, 12),
    "two cubes": sp.block_diag([grid(9, 9, 9), grid(8, 8, 8)], format="csr"),
    "pieces": loose(0, 3_000, 1_400),
    "random": loose(1, 600, 2_000),
}


def dissected(graph: sp.csr_matrix, weight: int = 1) -> np.ndarray:
    n = graph.shape[0]
    first, neighbors = (a.astype(np.int64) for a in (graph.indptr, graph.indices))
    return dissection.dissected(first, neighbors, np.full(n, weight), np.arange(n))


def factor(graph: sp.csr_matrix, order: np.ndarray) -> sp.csc_matrix:
    """L, by SuperLU."""
    n = graph.shape[0]
    moved = (graph + 2.0 * n * sp.identity(n))[order][:, order].tocsc()
    return splu(moved, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True}).L


def fill(graph: sp.csr_matrix, order: np.ndarray) -> int:
    return factor(graph, order).nnz


def multiplications(graph: sp.csr_matrix, order: np.ndarray) -> int:
    """Those of the elimination, but for the diagonal."""
    return int(np.sum(np.diff(factor(graph, order).indptr).astype(np.int64) ** 2))


def minimum_degree(graph: sp.csr_matrix) -> np.ndarray:
    n = graph.shape[0]
    lu = splu((graph + 2.0 * n * sp.identity(n)).tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
              options={"SymmetricMode": True})  # fmt: skip
    return np.argsort(lu.perm_c)


@pytest.mark.parametrize("weight", [1, 6, 1000])
@pytest.mark.parametrize("name", GRAPHS)
def test_every_graph_has_an_ordering(name, weight):
    graph = GRAPHS[name]
    np.testing.assert_array_equal(np.sort(dissected(graph, weight)), np.arange(graph.shape[0]))


def test_what_has_no_cycles_is_hardly_filled():
    """A node of a path has two others below it at most, the next one and a separator; that of an arm of a star one."""
    path, many = GRAPHS["path"], GRAPHS["star"]
    assert fill(path, dissected(path, 6)) <= 3 * path.shape[0]
    assert fill(many, dissected(many, 6)) == 2 * many.shape[0] - 1


@pytest.mark.parametrize("name", ["sheet", "cube", "pieces", "two cubes"])
def test_nothing_couples_the_parts_beside_a_separator(name):
    graph = GRAPHS[name]
    n = graph.shape[0]
    whole = dissection._Graph(graph.indptr.astype(np.int64), graph.indices.astype(np.int64), np.full(n, 6))
    parts, divided = [np.arange(n)], 0
    while parts:
        nodes = parts.pop()
        last, smaller = whole.divided(nodes)
        np.testing.assert_array_equal(np.sort(np.concatenate([last, *smaller])), np.sort(nodes))
        for k, part in enumerate(smaller):
            for other in smaller[k + 1 :]:
                assert graph[part][:, other].nnz == 0
        if name in ("sheet", "cube") and len(smaller) == 2:
            assert min(map(len, smaller)) > dissection._UNEVEN * len(nodes)
            # a side of a square, or the face of a cube, and half as much
            assert len(last) <= 1.5 * len(nodes) ** (0.5 if name == "sheet" else 2 / 3)
        divided += len(smaller) > 0
        parts += smaller
    assert divided >= 2


def test_fill_of_cubes_grows_as_by_theory():
    """Entries of L as n^(4/3), where those by minimum degree grow faster."""
    cubes = [grid(side, side, side) for side in (10, 20)]
    ours = [fill(cube, dissected(cube, 6)) for cube in cubes]
    theirs = [fill(cube, minimum_degree(cube)) for cube in cubes]
    exponents = [np.log(b / a) / np.log(cubes[1].shape[0] / cubes[0].shape[0]) for a, b in (ours, theirs)]
    assert exponents[0] < 4 / 3 + 0.1 < exponents[1]
    assert ours[1] < 0.9 * theirs[1]


def test_cubes_take_half_of_the_work_after_few_searches(monkeypatch):
    """A tenth of, or ten times, the coordinates of a part, one end, and nine, are too many searches or too much work."""
    searches = []
    distances = compiled.distances
    monkeypatch.setattr(compiled, "distances", lambda *given: searches.append(given) or distances(*given))
    cube = grid(14, 14, 14)
    assert multiplications(cube, dissected(cube, 6)) < 0.57 * multiplications(cube, minimum_degree(cube))
    assert len(searches) < 500


def test_fill_of_sheets_grows_as_by_theory():
    """Entries of L as n log n."""
    sheets = [grid(side, side) for side in (25, 50, 100)]
    each = [fill(sheet, dissected(sheet, 6)) / (sheet.shape[0] * np.log2(sheet.shape[0])) for sheet in sheets]
    assert max(each) < 1.1 * min(each)


@pytest.mark.parametrize("seed", range(20))
def test_a_separator_is_as_large_as_a_largest_matching(seed):
    """By Koenig's theorem none is smaller; the scratch of one call serves the next."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    graph = loose(seed, n, int(rng.integers(1, 3 * n)))
    mate, seen = np.full(n, -1), np.full(n, -1)
    following, path, found = (np.empty(n, dtype=np.int64) for _ in range(3))
    for _ in range(3):
        side = rng.integers(0, 3, n)
        left, right = (np.flatnonzero(side == k) for k in (1, 2))
        count = compiled.separator(
            graph.indptr.astype(np.int64), graph.indices.astype(np.int64), side, left, mate, seen, following, path, found
        )  # fmt: skip
        between = graph[left][:, right].tocsr()
        assert count == np.count_nonzero(maximum_bipartite_matching(between) >= 0)
        assert len(set(found[:count])) == count
        left, right = (np.setdiff1d(part, found[:count]) for part in (left, right))
        assert graph[left][:, right].nnz == 0
        assert mate.max() == seen.max() == -1
