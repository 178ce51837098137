"""Checks of users' matrices: real, finite, square, symmetric, and free of negative eigenvalues if they stand for energies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..numerics.blas_threads import one_thread
from ..numerics.reals import real_array
from .arguments import LARGEST, refusal

if TYPE_CHECKING:
    import scipy.sparse as sp

    from ..numerics.factor import Factors

_UNSYMMETRIC = 1e-9  # relative to the largest entry: rounding in files with ten digits
_INDEFINITE = 1e-8  # relative to a unit diagonal: rounding of eigenvalues of such matrices
_ROUNDING = 1e-12  # relative to the largest diagonal: rounding of finite elements in entries that should be zero
_SCALED = "once scaled to a unit diagonal"
_STEPS = 500  # steps of conjugate gradients before a sparse matrix is factorized to find its sign
# Steps after which the residual predicts a long iteration: relative to the first one it is then above 0.5 for beams, below 0.03
# for solids (tests/validation/test_matrices.py::test_masses_are_factorized_where_gradients_take_long).
_TRIED, _SLOW = 8, 0.1
_SOLVED = 1e-12


# -- form ---------------------------------------------------------------------------------------------------------
def symmetric_matrix(
    who: str, what: str, value: Any, *, expected: str = "a symmetric matrix of real numbers, dense or sparse",
    size: int | None = None, most: int | None = None, unit: str = "",
) -> np.ndarray | sp.csr_matrix:  # fmt: skip
    """A new symmetric matrix of finite real numbers, dense (n, n) or csr as given; ModelError for anything else.

    ``expected`` describes it in messages, ``size`` is the required n ("like K"), ``most`` the largest n that memory allows.
    Asymmetry by rounding is averaged out.
    """
    matrix, skew = _evened(_square(who, what, value, expected, size, most))
    _refuse_unsymmetric(who, what, matrix, skew, unit)
    return matrix


def square_matrix(
    who: str, what: str, value: Any, *, expected: str = "a matrix of real numbers, dense or sparse, square",
    size: int | None = None, most: int | None = None,
) -> np.ndarray | sp.csr_matrix:  # fmt: skip
    """A square matrix that may be unsymmetric; otherwise as :func:`symmetric_matrix`."""
    return _evened(_square(who, what, value, expected, size, most))[0]


def _square(
    who: str, what: str, value: Any, expected: str, size: int | None, most: int | None
) -> np.ndarray | sp.csr_matrix:
    """A new square matrix of finite real numbers."""
    from scipy.sparse import issparse  # imported here, since importing mse should not wait for it

    matrix = _sparse(who, what, value, expected) if issparse(value) else _dense(who, what, value, expected)
    if most is not None and max(matrix.shape) > most:
        raise ModelError(
            f"{who}: {what} has shape {matrix.shape}; expected at most {most} coordinates; condense it to its interfaces and "
            "some modes first, see reduce_matrices"
        )
    if matrix.shape != (matrix.shape[:1] if size is None else (size,)) * 2:
        wanted = expected if size is None else f"({size}, {size}) like K"
        raise ModelError(f"{who}: {what} has shape {matrix.shape}; expected {wanted}")
    _refuse_beyond(who, what, matrix)
    return matrix


def _evened(matrix: np.ndarray | sp.csr_matrix) -> tuple[np.ndarray | sp.csr_matrix, np.ndarray | sp.csr_matrix | None]:
    """The matrix with asymmetry by rounding averaged out, and None; or if the asymmetry is larger, ``|A - A^T|``."""
    if not isinstance(matrix, np.ndarray) and (mirror := _mirrored(matrix)) is not None:
        worst = np.abs(matrix.data - mirror).max(initial=0.0)
        if worst == 0.0:
            return matrix, None
        if worst <= _UNSYMMETRIC * np.abs(matrix.data).max():
            matrix.data = 0.5 * (matrix.data + mirror)
            matrix.eliminate_zeros()
            return matrix, None
    error = abs(matrix - matrix.T)
    worst = error.max() if min(matrix.shape) else 0.0
    if worst == 0.0:
        return matrix, None
    if worst > _UNSYMMETRIC * abs(matrix).max():
        return matrix, error
    evened = 0.5 * (matrix + matrix.T)
    return evened if isinstance(matrix, np.ndarray) else evened.tocsr(), None


def _mirrored(matrix: sp.csr_matrix) -> np.ndarray | None:
    from ..numerics.sparse_tools import mirrored

    return mirrored(matrix)


def _dense(who: str, what: str, value: Any, expected: str) -> np.ndarray:
    try:
        matrix = real_array(value)
    except TypeError:
        matrix = None
    if matrix is None:
        raise refusal(who, what, value, expected)
    if matrix.ndim != 2:
        raise ModelError(f"{who}: {what} has shape {matrix.shape}; expected {expected}")
    return matrix


def _sparse(who: str, what: str, value: Any, expected: str) -> sp.csr_matrix:
    from scipy.sparse import csr_matrix

    if value.dtype.kind not in "iuf" or value.ndim != 2:
        raise refusal(who, what, value, expected)
    try:
        matrix = csr_matrix(value, dtype=float, copy=True)
        matrix.check_format(full_check=True)  # compiled code would follow indices out of range
    except (ValueError, IndexError) as error:
        raise ModelError(f"{who}: {what} is damaged ({error}); expected {expected}; export it again") from None
    matrix.sum_duplicates()
    if not matrix.data.all():
        matrix.eliminate_zeros()  # they couple nothing
    return matrix


def refuse_one_triangle(who: str, what: str, matrix: np.ndarray | sp.csr_matrix, remedy: str) -> None:
    """ModelError for a matrix with all couplings in one triangle, which is more likely half of a symmetric matrix."""
    rows, columns = matrix.nonzero()
    above, below = np.count_nonzero(rows < columns), np.count_nonzero(rows > columns)
    if (above == 0) != (below == 0):
        raise ModelError(
            f"{who}: {what} is triangular, with {above} entries above its diagonal and {below} below; expected both triangles; "
            f"if only one was exported, add the other; {remedy}"
        )


def _refuse_beyond(who: str, what: str, matrix: np.ndarray | sp.csr_matrix) -> None:
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    good = np.abs(values) <= LARGEST  # False for nan
    if good.all():
        return
    if isinstance(matrix, np.ndarray):
        i, j = np.argwhere(~good)[0]
    else:
        entry = int(np.flatnonzero(~good)[0])
        i, j = np.searchsorted(matrix.indptr, entry, side="right") - 1, matrix.indices[entry]
    raise ModelError(f"{who}: {what}[{i}, {j}] is {matrix[i, j]}; expected finite numbers up to {LARGEST:g}")


def _refuse_unsymmetric(
    who: str, what: str, matrix: np.ndarray | sp.csr_matrix, error: np.ndarray | sp.csr_matrix | None, unit: str
) -> None:
    if error is None:
        return
    worst = error.max()
    i, j = np.unravel_index(int(error.argmax()), matrix.shape)
    raise ModelError(
        f"{who}: {what} is unsymmetric by {worst:.3g}{f' {unit}' if unit else ''} at [{i}, {j}], its largest entry being "
        f"{abs(matrix).max():.3g}; expected a symmetric matrix; if only one triangle was exported, add the other"
    )


# -- sign ---------------------------------------------------------------------------------------------------------
def refuse_indefinite(
    who: str, what: str, matrix: np.ndarray | sp.csr_matrix, why: str = "", remedy: str = "", factors: Factors | None = None
) -> None:  # fmt: skip
    """ModelError for a symmetric matrix with negative eigenvalues beyond rounding; ``why`` and ``remedy`` go into the message.

    ``factors`` keeps the ordering of a sparse matrix for others with its pattern.
    """
    found = negative(matrix, factors)
    if found:
        why, remedy = (f", {why}" if why else ""), (f"; {remedy}" if remedy else "")
        raise ModelError(f"{who}: {what} {found}; expected a positive semi-definite matrix{why}{remedy}")


@one_thread
def negative(matrix: np.ndarray | sp.csr_matrix, factors: Factors | None = None) -> str | None:
    """Words that show that a symmetric matrix (n, n) has a negative eigenvalue beyond rounding; None if it has none.

    Entries may mix units, so the matrix is scaled by its diagonal first.  ``factors`` as in :func:`refuse_indefinite`.
    """
    if not matrix.shape[0]:
        return None
    diagonal = matrix.diagonal()
    worst = int(np.argmin(diagonal))
    if diagonal[worst] < -_ROUNDING * np.abs(diagonal).max():
        return f"is {diagonal[worst]:.6g} at [{worst}, {worst}]"
    scale = 1.0 / _sizes(diagonal)
    if isinstance(matrix, np.ndarray):
        return _negative_dense(matrix * np.outer(scale, scale))
    return _negative_sparse(matrix, scale, factors)


@one_thread
def first_negative(matrices: np.ndarray) -> int | None:
    """Number of the first of symmetric matrices (E, n, n) that :func:`negative` objects to; None if there is none."""
    scale = 1.0 / _sizes(np.einsum("eii->ei", matrices))
    try:
        np.linalg.cholesky(matrices * scale[:, :, None] * scale[:, None, :] + _INDEFINITE * np.eye(matrices.shape[1]))
    except np.linalg.LinAlgError:
        return next((k for k, matrix in enumerate(matrices) if negative(matrix)), None)
    return None


def _sizes(diagonal: np.ndarray) -> np.ndarray:
    """Scale of coordinates (..., n) such that rounding of the largest stays below the bound on negative eigenvalues."""
    size = np.sqrt(np.abs(diagonal))
    size = np.maximum(size, np.sqrt(_ROUNDING / _INDEFINITE) * size.max(axis=-1, keepdims=True))
    return np.where(size > 0.0, size, 1.0)


def _negative_dense(scaled: np.ndarray) -> str | None:
    try:
        np.linalg.cholesky(scaled + _INDEFINITE * np.eye(len(scaled)))
    except np.linalg.LinAlgError:
        lowest = float(np.linalg.eigvalsh(scaled)[0])
        return f"has the eigenvalue {lowest:.3g} {_SCALED}" if lowest < -_INDEFINITE else None
    return None


def _negative_sparse(matrix: sp.csr_matrix, scale: np.ndarray, factors: Factors | None) -> str | None:
    from ..numerics.factor import Factor, Factors
    from ..numerics.options import SIZES
    from ..numerics.sparse_tools import row_sizes, scaled_both, start_vector, symmetric_columns

    scaled, n = scaled_both(symmetric_columns(matrix), scale), len(scale)
    # Gershgorin disks: sufficient for masses without coupling
    if np.all(2.0 * scaled.diagonal() + _INDEFINITE >= row_sizes(scaled)):
        return None
    if n <= SIZES.dense:
        return _negative_dense(scaled.toarray())
    # Conjugate gradients from a random start find a negative eigenvalue before they converge.  The residual must vanish along
    # every eigenvector; along one with a negative eigenvalue, that takes a step of negative curvature.
    left, added = start_vector(n), np.full(n, _INDEFINITE)
    along, size = left, left @ left
    first = size
    for step in range(_STEPS):
        if step == _TRIED and size > _SLOW**2 * first:
            factors = Factors() if factors is None else factors
            # factorizing is no more work than the remaining steps, and others use the ordering again
            if factors.ordering(scaled).products <= _STEPS * scaled.nnz and factors(scaled, added).positive_definite:
                return None
        image = scaled @ along + added * along
        curvature = along @ image
        if curvature <= 0.0:
            return f"has an eigenvalue of {curvature / (along @ along) - _INDEFINITE:.3g} or less {_SCALED}"
        left = left - (size / curvature) * image
        before, size = size, left @ left
        if size <= _SOLVED**2 * first:
            return None
        along = left + (size / before) * along
    count = Factor(scaled, diagonal=added).negative
    return f"has {count} negative eigenvalues" if count else None
