"""The compiled sparse factor: its solutions, its inertia, what it does where pivots are lost, and what it shares."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mse.numerics.factor
from mse.kernels.factor import LARGE
from mse.numerics.factor import ConstrainedFactor, Factor, Factors, Ordering
from mse.numerics.sparse_tools import symmetric_columns, united

pytestmark = pytest.mark.rounding


def coupled(n: int, links: list[tuple[int, int]], block: int, seed: int = 0) -> sp.csc_matrix:
    """A symmetric indefinite matrix of n blocks, (i, j) coupled by a full block each."""
    rng = np.random.default_rng(seed)
    a = np.zeros((n * block, n * block))
    for i, j in [*((i, i) for i in range(n)), *links]:
        a[i * block : (i + 1) * block, j * block : (j + 1) * block] = rng.standard_normal((block, block))
    return sp.csc_matrix(a + a.T)


def chain(n: int, block: int) -> sp.csc_matrix:
    return coupled(n, [(i, i + 1) for i in range(n - 1)], block)


def scattered(n: int, seed: int) -> sp.csc_matrix:
    """Entries anywhere, and one dense row and column."""
    rng = np.random.default_rng(seed)
    a = sp.random(n, n, density=2.0 / n, rng=rng, data_rvs=rng.standard_normal).toarray()
    a[0] = rng.standard_normal(n)
    return sp.csc_matrix(a + a.T + np.diag(rng.standard_normal(n)))


CASES = {
    "chain of 6": chain(40, 6),
    "chain of 24": chain(12, 24),
    "chain of 5": chain(30, 5),
    "chain of 1": chain(100, 1),
    "ring": coupled(20, [(i, (i + 1) % 20) for i in range(20)], 6),
    "grid": coupled(49, [(i, i + d) for i in range(49) for d in (1, 7) if i + d < 49], 3),
    "one dense block": coupled(1, [], 70),
    "apart": sp.block_diag([chain(9, 6), chain(4, 3), np.eye(3)], format="csc"),
    "a dense row": scattered(150, 1),
    "one": sp.csc_matrix([[-3.0]]),
    "two": sp.csc_matrix([[1.0, 2.0], [2.0, 1.0]]),
    "diagonal": sp.csc_matrix(np.diag(np.arange(-10.0, 10.0) + 0.5)),
}


def residual(a: sp.spmatrix, x: np.ndarray, b: np.ndarray) -> float:
    """Relative to the terms in it."""
    return float(np.max(np.abs(a @ x - b) / (abs(a) @ np.abs(x) + np.abs(b))))


@pytest.mark.parametrize("name", CASES)
def test_solutions_and_inertia(name):
    a = CASES[name]
    n = a.shape[0]
    factor = Factor(a)
    assert factor.negative == np.count_nonzero(np.linalg.eigvalsh(a.toarray()) < 0)
    assert factor.positive_definite == (factor.negative == 0)
    rng = np.random.default_rng(3)
    for shape in (n, (n, 1), (n, 3), (n, 8), (n, 19), (n, 0)):
        b = rng.standard_normal(shape)
        x = factor.solve(b)
        assert x.shape == b.shape
        # backward stable in norm: no pivot is small here
        assert np.abs(a @ x - b).max(initial=0.0) < 1e-9 * (abs(a).max() * np.abs(x).max(initial=0.0) + 1.0)


@pytest.mark.parametrize("name", CASES)
def test_definite_matrices_are_solved_to_rounding(name):
    a = CASES[name]
    a = (a @ a + 0.1 * sp.identity(a.shape[0])).tocsc()
    factor = Factor(a)
    b = np.random.default_rng(0).standard_normal((a.shape[0], 2))
    assert factor.positive_definite
    assert residual(a, factor.solve(b), b) < 1e-13
    np.testing.assert_allclose(factor.solve(b), np.linalg.solve(a.toarray(), b), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_complex_matrices(name):
    a = (CASES[name] + 0.3j * abs(CASES[name]) + 2j * sp.identity(CASES[name].shape[0])).tocsc()
    factor = Factor(a)
    assert factor.negative is None
    b = np.random.default_rng(0).standard_normal((a.shape[0], 10)) * (1 + 2j)
    for right in (b, b[:, 0], b[:, 0].real):
        x = factor.solve(right)
        assert np.abs(a @ x - right).max() < 1e-10 * abs(a).max() * np.abs(x).max()


@pytest.mark.parametrize("seed", range(30))
def test_inertia_of_random_indefinite_matrices(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 120))
    a = scattered(n, seed)
    shifted = (a - rng.standard_normal() * sp.identity(n)).tocsc()
    assert Factor(shifted).negative in (None, np.count_nonzero(np.linalg.eigvalsh(shifted.toarray()) < 0))
    # the same as a diagonal that is added, in the order of the first
    ordering = Factor(a).ordering
    added = rng.standard_normal(n)
    with_diagonal = Factor(a, ordering, added)
    assert with_diagonal.ordering is ordering
    whole = a.toarray() + np.diag(added)
    assert with_diagonal.negative in (None, np.count_nonzero(np.linalg.eigvalsh(whole) < 0))
    b = rng.standard_normal(n)
    np.testing.assert_allclose(whole @ with_diagonal.solve(b), b, atol=1e-7)


@pytest.mark.parametrize("unit", [1.0, 1.0 + 0.5j])
def test_large_fronts_are_eliminated_as_small_ones_are(unit):
    """Their rows are brought together in parts: neither pivots are exchanged for it, nor solutions refined."""
    a = (unit * coupled(3, [(0, 1), (1, 2)], 265) + sp.diags_array(np.linspace(200.0, 400.0, 795))).tocsc()
    ordering = Ordering.of(a)
    assert (np.diff(ordering._rows.first_column) + np.diff(ordering._rows.first_row) > LARGE).all()
    own = ordering.factorize(a.data, ordering.places(a), np.zeros(0))
    right = np.random.default_rng(0).standard_normal((795, 3)).astype(a.dtype)
    assert residual(a, own.solve(right), right) < 1e-13


def test_nothing_at_all():
    factor = Factor(sp.csc_matrix((0, 0)))
    assert factor.negative == 0
    assert factor.solve(np.zeros(0)).shape == (0,)
    assert factor.solve(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((1, 1)),
        np.array([[1.0, -1.0], [-1.0, 1.0]]),
        np.diag([1.0, 0.0, 2.0]),
        sp.block_diag([chain(3, 2), np.zeros((2, 2))]).toarray(),
    ],
)
def test_exactly_singular_matrices_are_refused(matrix):
    with pytest.raises(RuntimeError, match="singular"):
        Factor(sp.csc_matrix(matrix))


@pytest.mark.parametrize("seed", range(5))
def test_a_pivot_that_is_rounding_is_not_trusted(seed):
    """Springs in a free row: singular, but for rounding, which has a sign."""
    k = np.random.default_rng(seed).uniform(0.1, 10.0, 50)
    a = sp.diags([np.append(k, 0.0) + np.append(0.0, k), -k, -k], [0, 1, -1], format="csc")
    try:
        factor = Factor(a)
    except RuntimeError:
        return
    assert factor._lu is not None


def test_a_zero_on_the_diagonal_is_exchanged_and_not_counted():
    a = sp.csc_matrix([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 3.0]])
    factor = Factor(a)
    assert factor.negative in (None, 1)
    np.testing.assert_allclose(a @ factor.solve(np.arange(3.0)), np.arange(3.0), atol=1e-14)


@pytest.mark.parametrize("tiny", [1e-7, 1e-9, 1e-12, 1e-15, 1e-18])
def test_small_pivots_neither_spoil_solutions_nor_counts(tiny):
    """Pairs ``[[tiny, 1], [1, 0]]`` between the bodies of a chain: the first pivot is small, and its multiples are large."""
    a = chain(30, 6).toarray()
    pairs = sp.block_diag([sp.csc_matrix(a), *[[[tiny, 1.0], [1.0, 0.0]]] * 20]).tolil()
    for k in range(20):
        pairs[180 + 2 * k, 9 * k] = pairs[9 * k, 180 + 2 * k] = 0.5
    a = pairs.tocsc()
    factor = Factor(a)
    b = np.random.default_rng(0).standard_normal(a.shape[0])
    x = factor.solve(b)
    assert np.abs(a @ x - b).max() < 1e-9 * np.abs(x).max()
    assert factor.negative in (None, np.count_nonzero(np.linalg.eigvalsh(a.toarray()) < 0))


@pytest.mark.parametrize("tiny", [1e-30, 1e-18, 1e-16, 1e-14, 1e-12])
def test_rounding_on_the_diagonal_is_no_pivot(tiny):
    """Pairs coupled off the diagonal alone, with rounding of either sign on it, beside stiff springs."""
    a = 1e3 * np.eye(60)
    a[:40, :40] = np.diag(tiny * np.random.default_rng(0).standard_normal(40))
    for i in range(0, 40, 2):
        a[i, i + 1] = a[i + 1, i] = 7.0
    b = np.random.default_rng(1).standard_normal(60)
    a = sp.csc_matrix(a)
    assert residual(a, Factor(a).solve(b), b) < 1e-14


@pytest.mark.parametrize("tiny", [1e-4, 1e-6, 1e-8])
def test_poor_factors_are_refined(monkeypatch, tiny):
    """Leaves with a small pivot go first and cost its digits, which come back."""
    a = sp.block_diag([chain(10, 6), tiny * sp.identity(5)]).tolil()
    for k in range(5):
        a[60 + k, 12 * k] = a[12 * k, 60 + k] = 1.0
    a = a.tocsc()
    b = np.random.default_rng(1).standard_normal(65)
    factor = Factor(a)
    good, once = factor.solve(b), factor._own.solve(b)
    assert residual(a, once, b) > 3e-18 / tiny
    assert residual(a, good, b) < 1e-14
    # and where refinement would be of no use SuperLU gets them
    monkeypatch.setattr(mse.numerics.factor, "_USELESS", 1e-15)
    assert Factor(a)._lu is not None


def test_an_ordering_serves_all_matrices_inside_its_pattern():
    rng = np.random.default_rng(5)
    a = chain(20, 6)
    ordering = Ordering.of(a)
    less = a.copy()
    less.data[rng.random(a.nnz) < 0.3] = 0.0
    less = (less + less.T).tocsc()
    less.eliminate_zeros()
    assert less.nnz < a.nnz
    factor = Factor(less, ordering)
    assert factor.ordering is ordering
    assert factor.negative == np.count_nonzero(np.linalg.eigvalsh(less.toarray()) < 0)
    more = (a + sp.csc_matrix(([1.0, 1.0], ([0, 119], [119, 0])), shape=a.shape)).tocsc()
    other = Factor(more, ordering)
    assert other.ordering is not ordering
    assert other.negative == np.count_nonzero(np.linalg.eigvalsh(more.toarray()) < 0)
    assert Factor(chain(4, 6), ordering).ordering is not ordering


def test_an_ordering_that_does_not_fit_is_widened():
    """Two patterns with different holes get one order for both, and for all that lies in them; unlike ones do not."""
    rng = np.random.default_rng(6)
    whole = chain(20, 6)

    def holed():
        found = whole.copy()
        found.data[rng.random(found.nnz) < 0.1] = 0.0
        found = (found + found.T).tocsc()
        found.eliminate_zeros()
        return found

    first, second = holed(), holed()
    factors = Factors()
    one = factors(first).ordering
    both = factors(second).ordering
    assert both is not one
    for a in (first, second, first + second):
        assert factors(a.tocsc()).ordering is both
        assert residual(a, factors(a.tocsc()).solve(np.ones(120)), np.ones(120)) < 1e-12
    backwards = second.copy()
    for j in range(120):  # rows of a column may come in any order
        at = slice(backwards.indptr[j], backwards.indptr[j + 1])
        backwards.indices[at], backwards.data[at] = backwards.indices[at][::-1].copy(), backwards.data[at][::-1].copy()
    backwards = sp.csc_matrix((backwards.data, backwards.indices, backwards.indptr), shape=(120, 120))
    wider = factors(first, np.ones(120)).ordering.fitting(backwards)
    assert wider is both
    widened = one.fitting(backwards)
    assert residual(second, Factor(backwards, widened).solve(np.ones(120)), np.ones(120)) < 1e-12
    assert widened.places(first) is not None
    backwards.sort_indices()  # in place: neither order nor places may follow
    assert residual(second, Factor(backwards, widened).solve(np.ones(120)), np.ones(120)) < 1e-12
    star = coupled(20, [(0, k) for k in range(1, 20)], 6)
    alone = Ordering.of(star).fitting(chain(120, 1))
    assert alone.places(chain(120, 1)) is not None and alone.places(star) is None


def test_a_much_narrower_matrix_gets_an_ordering_of_its_own(monkeypatch):
    """Also where the wide one came first: that of stiffness and mass, then that of the stiffness, and both again."""
    made, real = [], Ordering.of
    monkeypatch.setattr(Ordering, "of", lambda *a: made.append(a) or real(*a))
    wide, narrow = chain(100, 6), sp.block_diag([chain(3, 2)] * 100, format="csc")
    both = (wide + narrow).tocsc()
    factors, right = Factors(), np.linspace(1.0, 2.0, 600)
    for a in (both, narrow, both, narrow):
        assert residual(a, factors(a).solve(right), right) < 1e-12
    assert len(made) == 2
    assert factors(narrow).ordering.kept < 0.7 * factors(both).ordering.kept


def test_places_are_those_of_the_pattern_asked_for():
    """Also where one pattern after another has as many entries."""
    whole = chain(20, 6)
    ordering = Ordering.of(whole)
    for i, j in ((0, 7), (1, 8), (30, 36), (0, 7)):
        a = whole.tolil()
        a[i, j] = a[j, i] = 0.0
        a = a.tocsc()
        assert a.nnz == whole.nnz - 2
        factor = Factor(a, ordering)
        assert factor.ordering is ordering and factor._lu is None
        assert residual(a, factor.solve(np.ones(120)), np.ones(120)) < 1e-12


def test_coordinates_without_coupling_fill_nothing_in():
    """Turns of bodies that springs hold at their centers: whole blocks are stored, and six coordinates are a body."""
    links = [(i, i + d) for i in range(100) for d in (1, 10) if i + d < 100]
    stored = coupled(100, links, 6)
    turns = np.arange(600) % 6 >= 3
    spring = stored.copy()
    spring.data[turns[spring.indices] | turns[np.repeat(np.arange(600), np.diff(spring.indptr))]] = 0.0
    assert spring.nnz == stored.nnz
    inertias, right = np.where(turns, -2.0, 0.0), np.linspace(1.0, 2.0, 600)
    factors = Factors()
    factor = factors(spring, inertias)
    assert factor.ordering.kept < 0.4 * Ordering.of(stored).kept
    whole = spring.toarray() + np.diag(inertias)
    assert residual(sp.csc_matrix(whole), factor.solve(right), right) < 1e-12
    assert factor.negative == np.count_nonzero(np.linalg.eigvalsh(whole) < 0)
    # once they couple, on the same pattern, they count; what fills in so much less keeps its ordering beside the new one
    again = factors(stored, inertias)
    assert again.ordering is not factor.ordering
    whole = stored.toarray() + np.diag(inertias)
    assert residual(sp.csc_matrix(whole), again.solve(right), right) < 1e-12
    assert factors(spring, inertias).ordering is factor.ordering
    assert factors(stored, inertias).ordering is again.ordering
    assert residual(sp.csc_matrix(whole), factors(stored, inertias).solve(right), right) < 1e-12
    # one that couples anew brings its own entries alone
    one = spring.copy()
    at = slice(one.indptr[3], one.indptr[4])
    one.data[at] = np.where(one.indices[at] < 9, 1.0, 0.0)
    one = ((one + one.T) / 2).tocsc()
    assert factor.ordering.fitting(one).kept < 0.5 * Ordering.of(stored).kept


def test_patterns_united():
    a, b = chain(20, 3), sp.identity(60, format="lil") * 2.0
    b[7, 55] = b[55, 7] = 1.0
    b = b.tocsc()
    for first, second in ((a, b), (b, a), (a, a), (symmetric_columns(a.tocsr()), b)):
        k, m = united(first, second)
        np.testing.assert_array_equal(k.toarray(), first.toarray())
        np.testing.assert_array_equal(m.toarray(), second.toarray())
        assert np.shares_memory(k.indices, m.indices)
        combined = sp.csc_matrix((k.data - 3.0 * m.data, k.indices, k.indptr), shape=k.shape)
        np.testing.assert_array_equal(combined.toarray(), (first - 3.0 * second).toarray())


def test_late_coordinates_follow_those_they_are_coupled_to():
    a = chain(10, 6).tolil()
    late = np.zeros(60, dtype=bool)
    late[::7] = True
    place = Ordering.of(a.tocsc(), late).place
    for i in np.flatnonzero(late):
        neighbors = [j for j in a.rows[i] if not late[j]]
        assert place[i] > max(place[neighbors])


@pytest.mark.slow
def test_work_and_memory_grow_with_the_chain():
    small, large = (Ordering.of(chain(n, 6)) for n in (50, 500))
    assert large.kept < 10.2 * small.kept
    assert small.kept <= 50 * 6 * 16


@pytest.mark.parametrize("seed", range(8))
def test_factors_on_the_space_that_constraints_leave(seed):
    rng = np.random.default_rng(seed)
    n, m = 48, 11
    a = CASES["chain of 6"][:n, :n].tocsc()
    held = sp.random(m, n, density=0.1, rng=rng, data_rvs=rng.standard_normal).toarray()
    held[:, 0] += 1.0
    if seed % 2:
        held[-1] = held[0] + held[1]  # dependent
    held /= np.linalg.norm(held, axis=1)[:, None]
    factor = ConstrainedFactor(a, sp.csr_matrix(held))
    space = np.linalg.svd(held)[2][np.linalg.matrix_rank(held) :].T
    inner = space.T @ a @ space
    assert factor.negative == np.count_nonzero(np.linalg.eigvalsh(inner) < 0)
    b = rng.standard_normal((n, 2))
    for right in (b, b[:, 0]):
        x = factor.solve(right)
        np.testing.assert_allclose(held @ x, 0.0, atol=1e-9 * np.abs(x).max())
        np.testing.assert_allclose(x, space @ np.linalg.solve(inner, space.T @ right), rtol=1e-6, atol=1e-8)
    again = ConstrainedFactor(a, sp.csr_matrix(held), factor.ordering)
    assert again.ordering is factor.ordering
    np.testing.assert_allclose(again.solve(b), factor.solve(b), rtol=1e-9, atol=1e-12)


def test_rows_in_a_chain_of_soft_coordinates_do_not_give_way():
    """A coordinate of stiffness -1 is held by 40 rows, one after another, whose coordinates have hardly any stiffness."""
    n = 40
    a = sp.diags(np.r_[-1.0, np.full(n, 1e-12), -1.0], format="csc")
    rows = sp.diags([np.full(n + 1, 0.5**0.5), np.full(n + 1, -(0.5**0.5))], [0, 1], shape=(n + 1, n + 2)).tolil()
    rows[n] = np.eye(n + 2)[n]
    rows = rows.tocsr()
    assert ConstrainedFactor(a, rows, independent=True).negative == 1


def test_a_pivot_that_rounding_makes_exactly_zero_is_exchanged_and_nothing_counted(monkeypatch):
    """As in a search through a structure of 64 bodies with 130 dependent constraints, whose spins are held by 2e-12."""
    splu = mse.numerics.factor.splu

    def without_diagonal(matrix, **options):
        if options.get("diag_pivot_thresh") == 0.0:
            raise RuntimeError("Factor is exactly singular")
        return splu(matrix, **options)

    monkeypatch.setattr(mse.numerics.factor, "splu", without_diagonal)
    matrix = sp.csc_matrix([[0.0, 1.0], [1.0, 0.0]])
    factor = Factor(matrix)
    assert factor.negative is None and not factor.positive_definite
    assert factor.solve(np.array([2.0, 3.0])) == pytest.approx([3.0, 2.0])


def test_a_coupling_in_one_triangle_alone_has_its_place():
    """Rounding may leave one of two entries that mirror each other, and no other of a turn."""
    links = [(i, i + d) for i in range(100) for d in (1, 10) if i + d < 100]
    spring = coupled(100, links, 6)
    turns = np.arange(600) % 6 >= 3
    spring.data[turns[spring.indices] | turns[np.repeat(np.arange(600), np.diff(spring.indptr))]] = 0.0
    column = 302
    within = slice(spring.indptr[column], spring.indptr[column + 1])
    spring.data[within] = np.where(spring.indices[within] == 305, 1e-17, spring.data[within])
    assert np.count_nonzero(spring.toarray()[:, 305]) == 0 and spring[305, column] == 1e-17
    right = np.linspace(1.0, 2.0, 600)
    factor = Factors()(spring, np.ones(600))
    assert residual((spring + sp.identity(600)).tocsc(), factor.solve(right), right) < 1e-12
