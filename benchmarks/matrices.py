"""Matrices without mechanics: factors of sparse symmetric ones, solutions with them, and the lowest eigenpairs.

The peers are SuperLU on the symmetric pattern with diagonal pivots, as well as it can be set, and ARPACK with the same factor
as ours, so that what differs is how it seeks.  ``factor`` analyzes the pattern as SuperLU does each time, ``factor again``
has an ordering.  Dense matrices are one front each, the largest kind of work inside a factor; there the peer is LAPACK's
Cholesky, which is made of BLAS 3.  Errors: residuals relative to the terms in them; eigenvalues against ARPACK's.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from mse.numerics.factor import Factor, Ordering
from mse.numerics.lanczos import Lanczos

from . import measure
from .frequencies import SYMMETRIC, chain
from .table import Row

MODES = 20


def lattice(*counts: int) -> sp.csc_matrix:
    """Stiffness of rods of 1e6 N/m between all neighbors, diagonal ones too, in a grid of nodes held by 1e3 N/m each."""
    number = np.arange(np.prod(counts)).reshape(counts)
    steps = [s for s in np.ndindex(3, 3, 3) if s > (1, 1, 1)]
    rows, columns, values = [], [], []
    for step in (np.array(s) - 1 for s in steps):
        from_, to = (number[tuple(slice(max(0, d), n + min(0, d)) for d, n in zip(s, counts, strict=True))].ravel()
                     for s in (-step, step))  # fmt: skip
        along = np.kron(step, step).reshape(3, 3) * (1e6 / (step @ step))
        for a, b, sign in ((from_, from_, 1), (to, to, 1), (from_, to, -1), (to, from_, -1)):
            i, j = np.divmod(np.arange(9), 3)
            rows.append((3 * a[:, None] + i).ravel())
            columns.append((3 * b[:, None] + j).ravel())
            values.append(np.tile(sign * along.ravel(), len(a)))
    size = 3 * number.size
    k = sp.csc_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(size, size))
    return (k + 1e3 * sp.identity(size)).tocsc()


def factor_rows(name: str, matrix: sp.csc_matrix, runs: int) -> Iterator[Row]:
    """Factors and solutions of four right-hand sides."""
    size = matrix.shape[0]
    ordering, right = Ordering.of(matrix), np.random.default_rng(0).standard_normal((size, 4))
    calls = {
        "new": lambda: Factor(matrix),
        "again": lambda: Factor(matrix, ordering),
        "SciPy best": lambda: splu(matrix, **SYMMETRIC),
    }
    times, factors = measure.alternate(calls, runs)
    x = factors["again"].solve(right)
    error = float(np.max(abs(matrix @ x - right) / (abs(matrix) @ abs(x) + abs(right))))
    yield Row(f"factor: {name}", size, times["new"], {"SciPy best": times["SciPy best"]}, error)
    yield Row(f"factor again: {name}", size, times["again"], {"SciPy best": times["SciPy best"]}, error)
    solve = {"ours": lambda: factors["again"].solve(right), "SciPy best": lambda: factors["SciPy best"].solve(right)}
    times, _ = measure.alternate(solve, runs)
    yield Row(f"solutions: {name}", size, times["ours"], {"SciPy best": times["SciPy best"]}, error)


def front_row(size: int, runs: int) -> Row:
    """The factor of a dense matrix, with its inertia and its checks, beside Cholesky's, which has neither."""
    square = np.random.default_rng(0).standard_normal((size, size))
    dense = square + square.T + 4.0 * size * np.identity(size)
    matrix = sp.csc_matrix(dense)
    ordering = Ordering.of(matrix)
    times, factors = measure.alternate(
        {"ours": lambda: Factor(matrix, ordering), "SciPy best": lambda: dpotrf(dense, lower=True)[0]}, runs
    )
    right = square[:, :4]
    x = factors["ours"].solve(right)
    error = float(np.max(abs(dense @ x - right) / (abs(dense) @ abs(x) + abs(right))))
    return Row("factor again: one dense front", size, times["ours"], {"SciPy best": times["SciPy best"]}, error)


def mode_row(name: str, matrix: sp.csc_matrix, runs: int) -> Row:
    """The lowest eigenvalues of the matrix."""
    size = matrix.shape[0]
    factor, mass = Factor(matrix), sp.identity(size, format="csr")
    inverse = LinearOperator((size, size), matvec=lambda b: factor.solve(b.reshape(-1, 1)).ravel(), dtype=float)
    calls = {
        "ours": lambda: np.sort(Lanczos(factor.solve, mass, size).find(0, MODES, 0)[0])[::-1],
        "SciPy best": lambda: np.sort(eigsh(inverse, MODES, tol=1e-14, return_eigenvectors=True)[0])[::-1],
    }
    times, found = measure.alternate(calls, runs)
    error = float(np.max(abs(found["ours"] / found["SciPy best"] - 1.0)))
    return Row(f"{MODES} modes: {name}", size, times["ours"], {"SciPy best": times["SciPy best"]}, error)


def rows(quick: bool) -> Iterator[Row]:
    runs = 2 if quick else 7
    matrices = {
        "lattice": lattice(12, 6, 6) if quick else lattice(40, 8, 8),
        "plate": lattice(20, 20, 2) if quick else lattice(100, 25, 2),
        "chain": chain(100 if quick else 500)[0].tocsc(),
    }
    for name, matrix in matrices.items():
        yield from factor_rows(name, matrix, runs)
        yield mode_row(name, matrix, runs)
    for size in (300,) if quick else (300, 1500, 3000):
        yield front_row(size, runs)
