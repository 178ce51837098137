"""Which motions have no curvature, of stiffnesses whose null space is known exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from mse.numerics.curvatures import _independent, classify
from mse.numerics.eigen import graded
from mse.numerics.factor import Factor, Factors
from mse.numerics.lanczos import Lanczos
from mse.numerics.options import SIZES
from mse.numerics.precision import SURE, groups, stiffness_noise
from mse.numerics.tangent import Tangent, normalized

pytestmark = pytest.mark.rounding


def nullity(matrix: np.ndarray) -> int:
    """Of a matrix of whole numbers (m, n), exactly."""
    rows = [[Fraction(int(x)) for x in row] for row in matrix]
    rank = 0
    for j in range(matrix.shape[1]):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(rank + 1, len(rows)):
            share = rows[i][j] / rows[rank][j]
            rows[i] = [a - share * b for a, b in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return matrix.shape[1] - rank


def random_stiffness(seed: int) -> tuple[np.ndarray, int]:
    """``B^T D B`` of whole numbers B and stiffnesses D over six decades, and how many motions it leaves free."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 16))
    b = rng.integers(-3, 4, (int(rng.integers(3, n + 1)), n)) * (rng.random((1, n)) < 0.9)
    return b.T @ (10 ** rng.uniform(-3, 3, len(b))[:, None] * b), nullity(b)


def kinds(k: np.ndarray) -> tuple[int, int, int]:
    """Numbers of free, undetermined and unstable motions."""
    k = sp.csc_matrix(k)
    found = classify(k, stiffness_noise(k, groups(0, k.shape[0])), 0)
    return found.null.shape[1], found.undetermined.shape[1], found.negative.shape[1]


@pytest.mark.parametrize("limit", [0, 10_000])
@pytest.mark.parametrize("seed", range(20))
def test_free_motions_are_as_many_as_the_exact_rank_leaves(monkeypatch, seed, limit):
    """In any units of the coordinates, which powers of two change without rounding; and with a direction turned around."""
    monkeypatch.setattr(SIZES, "dense", limit)
    k, free = random_stiffness(seed)
    units = 2.0 ** np.random.default_rng(seed).integers(-30, 30, len(k))
    assert kinds(k) == kinds(k * units * units[:, None]) == kinds(2.0**-200 * k) == (free, 0, 0)
    assert kinds(-k) == (free, 0, len(k) - free)


@pytest.mark.parametrize("limit", [0, 10_000])
def test_between_zero_and_certain_nothing_is_determined(monkeypatch, limit):
    monkeypatch.setattr(SIZES, "dense", limit)
    noise = np.full(5, 1e-9)
    shares = np.array([0.01, 2.0, -2.0, 2.0 * SURE, -2.0 * SURE])
    found = classify(sp.csc_matrix(np.diag(shares * noise)), noise, 0)
    np.testing.assert_allclose(np.abs(found.null.toarray()[:, 0]), np.eye(5)[0], atol=1e-12)
    np.testing.assert_allclose(np.sort(found.within_noise), [-2e-9, 2e-9])
    np.testing.assert_allclose(found.below_zero, [-2e-9 * SURE])


def test_less_than_one_noise_is_not_zero_where_others_lead_down_to_it():
    noise, shares = np.full(5, 1e-9), np.array([1e-5, 0.03, 0.5, 2.0, 50.0])
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    found = classify(sp.csc_matrix((q * shares * noise) @ q.T), noise, 0)
    assert found.null.shape[1] == 1 and abs(found.null.toarray()[:, 0] @ q[:, 0]) > 1.0 - 1e-9
    np.testing.assert_allclose(np.sort(found.within_noise), shares[1:4] * 1e-9)


def soft_chain(n: int, noises: float) -> tuple[sp.csc_matrix, np.ndarray]:
    """A chain of n equal springs, one end held, of so many noises each; and its curvatures (n,), in noises."""
    diagonal = np.full(n, 2.0)
    diagonal[-1] = 1.0
    k = sp.diags([diagonal, -np.ones(n - 1), -np.ones(n - 1)], [0, 1, -1])
    return (noises * k).tocsc(), 4.0 * noises * np.sin(np.pi * (2 * np.arange(n) + 1) / (4 * n + 2)) ** 2


@pytest.mark.parametrize("noises", [3.0, 300.0, 1e5])
@pytest.mark.parametrize("n", [20, 320, 3000])
def test_motions_of_a_soft_chain_that_rounding_hides_are_counted_and_none_is_free(noises, n):
    k, mu = soft_chain(n, noises)
    found = classify(k, np.ones(n), 0)
    assert found.doubts == np.count_nonzero(mu < SURE) and not found.null.shape[1] and not found.negative.shape[1]
    assert found.clear == (found.doubts == 0)
    np.testing.assert_allclose(np.linalg.norm(found.undetermined, axis=0), 1.0)
    assert np.all(found.within_noise <= SURE)


def test_the_work_for_motions_that_rounding_hides_does_not_grow_with_their_number(monkeypatch):
    solved, solve = [], Factor.solve
    monkeypatch.setattr(Factor, "solve", lambda self, b: (solved.append(b.size), solve(self, b))[1])
    work = []
    for n in (700, 2800):
        solved.clear()
        assert classify(soft_chain(n, 0.9)[0], np.ones(n), 0).doubts == n
        work.append(sum(solved) / n)
    assert work[1] <= 1.1 * work[0]


def test_motions_that_fall_are_all_found_beside_very_many_that_rounding_hides():
    k, mu = soft_chain(2000, 50.0)
    k = sp.block_diag([k, np.diag([-1e3, -2e5, 0.0])], format="csc")
    found = classify(k, np.ones(2003), 0)
    np.testing.assert_allclose(found.below_zero, [-2e5, -1e3], rtol=1e-9)
    assert found.doubts == np.count_nonzero(mu < SURE)
    assert found.null.shape[1] == 1  # a coordinate that nothing holds needs no search


def test_soft_eigenvalues_are_right_to_rounding_of_their_own_terms():
    """Twelve decades in one matrix: each pair of coordinates is coupled to the next by less than itself."""
    n = 12
    k = np.diag(10.0 ** -np.arange(n))
    k += np.diag(0.3 * 10.0 ** -np.arange(1, n), 1) + np.diag(0.3 * 10.0 ** -np.arange(1, n), -1)
    w, x = graded(k, np.eye(n))
    np.testing.assert_allclose(x.T @ x, np.eye(n), atol=1e-12)
    # the determinant by the pivots, which are all positive and lose no digits
    pivots = [k[0, 0]]
    for i in range(1, n):
        pivots.append(k[i, i] - k[i, i - 1] ** 2 / pivots[-1])
    np.testing.assert_allclose(np.prod(w), np.prod(pivots), rtol=1e-11)


@pytest.mark.parametrize("seed", range(20))
def test_only_motions_that_constraints_allow_count(seed):
    """A stiffness that falls along constrained motions, and is soft along an allowed one; a row depends on others."""
    rng, n = np.random.default_rng(seed), 12
    q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    rows = np.vstack([mixed := rng.standard_normal((3, 3)) @ q[:, :3].T, mixed[0] - 2.0 * mixed[1]])
    tangent = Tangent(normalized(sp.csr_matrix(rows), np.zeros(4))[0], Factors())
    curvatures = np.concatenate([[-1.0, -1.0, 1.0], 10.0 ** rng.uniform(-2, 0, n - 3)])
    stiff = (q * curvatures) @ q.T
    noise = stiffness_noise(sp.csc_matrix(stiff), groups(0, n))
    unit = noise @ q[:, 3] ** 2
    for soft, expected in ((0.0, (1, 0, 0)), (3.0, (0, 1, 0)), (1e4, (0, 0, 0)), (-1e4, (0, 0, 1))):
        k = stiff + (soft * unit - curvatures[3]) * np.outer(q[:, 3], q[:, 3])
        found = classify(sp.csc_matrix(0.5 * (k + k.T)), noise, 0, tangent)
        assert (found.null.shape[1], found.undetermined.shape[1], found.negative.shape[1]) == expected


def test_motions_that_a_nearly_singular_factor_has_made_one_are_not_taken_for_many():
    """A tree of 52 bodies ended in an error of LAPACK there; its motions are found densely instead."""
    noise, apart = sp.identity(5, format="csr"), np.eye(5)[:, :2]
    assert _independent(1e3 * apart, noise)
    assert not _independent(apart @ np.array([[1.0, 1.0], [0.0, 1e-7]]), noise)
    assert not _independent(0.0 * apart, noise)


def tree_of_nulls(seed: int, parts: int, other: float = -1e-3) -> tuple[np.ndarray, int, int]:
    """A stiffness of parts of seven coordinates on a hub of three: two free motions in most, in some one with an ``other`` value.

    How many motions are free, and how many have the other one.  Some of what is free in a part alone is held by the hub.
    """
    rng = np.random.default_rng(seed)
    n, free, others = 7 * parts + 3, 0, 0
    k = np.zeros((n, n))
    hub = np.arange(7 * parts, n)
    k[np.ix_(hub, hub)] = np.diag([1.0, 2.0, 3.0])
    for p in range(parts):
        own = np.arange(7 * p, 7 * p + 7)
        q = np.linalg.qr(rng.standard_normal((7, 7)))[0]
        sizes = np.r_[0.0, 0.0, 10.0 ** rng.uniform(-5, 0, 5)]
        free += 2
        if p % 5 == 0:
            sizes[0] = other
            free, others = free - 1, others + 1
        rows = np.zeros((2, n))
        rows[:, own] = (
            (rng.standard_normal((2, 5)) @ q[:, 2:].T) if p % 7 else (rng.standard_normal((2, 6)) @ q[:, 1:].T)
        )
        free -= p % 7 == 0  # the second motion pulls at the hub
        rows[:, hub] = rng.standard_normal((2, 3))
        k[np.ix_(own, own)] += (q * sizes) @ q.T
        k += rows.T @ rows
    return 0.5 * (k + k.T), free, others


@pytest.mark.parametrize("seed", range(6))
def test_what_is_free_in_its_part_counts_where_the_rest_does_not_hold_it(monkeypatch, seed):
    """The same with parts, without them, and densely; some motions fall, others are held by the hub alone."""
    k, free, falling = tree_of_nulls(seed, 30)
    found = []
    for dense, part in ((0, 300), (0, 0), (10_000, 0)):
        monkeypatch.setattr(SIZES, "dense", dense)
        monkeypatch.setattr(SIZES, "part", part)
        found.append(kinds(k))
    assert found == 3 * [(free, 0, falling)]


@pytest.fixture
def sought(monkeypatch) -> list[int]:
    """How many motions each search by Lanczos is to find, of which small stiffnesses need some, too."""
    sought, find = [], Lanczos.find
    monkeypatch.setattr(SIZES, "dense", 0)
    monkeypatch.setattr(Lanczos, "find", lambda self, *wanted: (sought.append(wanted[0]), find(self, *wanted))[1])
    return sought


@pytest.mark.parametrize("seed", range(6))
def test_only_soft_motions_are_sought_beside_free_ones_of_their_parts(sought, seed):
    """Some hundred noises of curvature: too little for factors to tell it from none."""
    k, free, soft = tree_of_nulls(seed, 30, 3e-12)
    assert kinds(k) == (free, 0, 0)
    assert sought == [soft]


@pytest.mark.parametrize("seed", range(3))
def test_what_motions_of_many_parts_leave_does_not_add_up(sought, seed):
    """About a noise of curvature in a fifth of 90 parts: 11 or 12 motions are sought, and 22 where all count against each."""
    k, free, slight = tree_of_nulls(seed, 90, 5e-15)
    found, undetermined, falling = kinds(k)
    assert found + undetermined == free + slight and not falling
    assert sum(sought) < 17


@pytest.mark.parametrize("below", [1.0, -1.0])
def test_what_the_rest_pulls_at_is_not_free_though_it_bends_nothing(monkeypatch, below):
    """A curvature of zero in a part, beside a hub that falls: with the hub it is one motion that rises and one that falls."""
    monkeypatch.setattr(SIZES, "dense", 0)
    n = 12
    k = np.diag(np.r_[np.zeros(n - 1), below])
    k[:-1, -1] = k[-1, :-1] = np.where(np.arange(n - 1) < 2, 1e-3, 0.0)
    assert kinds(k) == (n - 2, 0, 1)


def test_no_motions_are_independent():
    """As where a closer look finds nothing hidden: a ladder of 3,000 resistors and capacitors ended with an IndexError."""
    assert _independent(np.zeros((3, 0)), sp.identity(3, format="csr"))
