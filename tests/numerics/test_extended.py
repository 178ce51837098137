"""Dense solutions of stiff matrices with soft motions, against numbers known exactly."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from mse.numerics.extended import solver

STIFF = 3.0**20


def held_chain(n: int) -> np.ndarray:
    """Stiff springs between n masses, and one soft spring that holds them: all numbers are exact."""
    k = np.zeros((n, n))
    for i in range(n - 1):
        k[i : i + 2, i : i + 2] += STIFF * np.array([[1.0, -1.0], [-1.0, 1.0]])
    k[0, 0] += 1.0
    return k


def test_soft_motions_beside_stiff_ones_keep_their_digits():
    rng = np.random.default_rng(2)
    k = held_chain(40)
    turn = np.kron(np.eye(20), [[1.0, 1.0], [1.0, -1.0]])[np.ix_(p := rng.permutation(40), rng.permutation(40))]
    k = turn.T @ k @ turn  # whole numbers below 2^53, and so is the solution
    x = rng.integers(-9, 10, size=(40, 3)).astype(float)
    b = np.array(
        [[sum(int(a) * int(c) for a, c in zip(row, column, strict=True)) for column in x.T] for row in k], float
    )
    plain = np.abs(np.linalg.solve(k, b) - x).max()
    # numbers longer than a double leave the square of that
    longer = np.finfo(np.longdouble).eps < 1e-18
    assert plain > 1e-9 and len(set(p)) == 40
    assert np.abs(solver(k)(b) - x).max() < (1e-3 if longer else 2.0) * plain


def test_singular_matrices_are_told_by_what_is_not_finite():
    assert not np.isfinite(solver(np.diag([1.0, 0.0]))(np.ones((2, 1)))).all()
    a = sl.hilbert(4)
    np.testing.assert_allclose(a @ solver(a)(np.eye(4)), np.eye(4), atol=1e-12)


def test_entries_beside_the_diagonal_decide_the_scale_where_that_is_empty():
    """Rounding in the same row and column became as large as 1e134, and solutions had no digit."""
    rng = np.random.default_rng(5)
    a = rng.standard_normal((6, 6))
    a[-1, -1], a[0, -1], a[-1, 0] = 0.0, 1e-16, 1e-17
    size, x = 10.0 ** rng.uniform(-6, 6, 6), rng.standard_normal((6, 2))
    found = solver(a * size * size[:, None])((a @ x) * size[:, None])
    np.testing.assert_allclose(found * size[:, None], x, rtol=1e-12)
