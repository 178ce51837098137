"""Small operations on SciPy's sparse matrices that keep patterns and make no copies."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
import scipy.sparse as sp

from ..kernels import factor as compiled
from .read_only import read_only, twin


def start_vector(n: int) -> np.ndarray:
    """The same start for every Lanczos search (n,), so that results do not change from run to run."""
    return np.random.default_rng(0).standard_normal(n)


@lru_cache(maxsize=32)
def empty(rows: int, columns: int) -> sp.csr_matrix:
    """A matrix without entries, read-only; SciPy takes as long to make one as to multiply two small matrices."""
    return read_only(sp.csr_matrix((rows, columns)))


@lru_cache(maxsize=32)
def no_columns(rows: int) -> sp.csc_matrix:
    """A matrix (rows, 0) in csc form, read-only."""
    return read_only(sp.csc_matrix((rows, 0)))


@lru_cache(maxsize=32)
def identity(n: int) -> sp.csr_matrix:
    """The identity (n, n), read-only."""
    return read_only(sp.identity(n, format="csr"))


def of_matrices(read: Callable) -> Callable:
    """A reading function of SciPy that returns sparse matrices, which is the default before version 1.15."""
    return partial(read, spmatrix=True) if "spmatrix" in inspect.signature(read).parameters else read


def symmetric_columns(matrix: sp.csr_matrix) -> sp.csc_matrix:
    """A symmetric csr matrix as csc; only the format changes."""
    return sp.csc_matrix((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)


def mirrored(matrix: sp.csr_matrix) -> np.ndarray | None:
    """The entries (e,) of A^T in the places of the entries of A, a canonical csr matrix; None if its pattern is unsymmetric."""
    other = matrix.T.tocsr()
    same = np.array_equal(other.indptr, matrix.indptr) and np.array_equal(other.indices, matrix.indices)
    return other.data if same else None


def on_pattern(matrix: sp.csc_matrix, data: np.ndarray) -> sp.csc_matrix:
    """A matrix with the pattern and indices of another one, and other values; SciPy would check the indices again."""
    out = object.__new__(type(matrix))
    out.__dict__.update(matrix.__dict__, data=data)
    return out


def canonical(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, columns: int) -> sp.csr_matrix:
    """The csr matrix of arrays with sorted rows that name no column twice; SciPy would check this."""
    out = twin(empty(len(indptr) - 1, columns))
    out.data, out.indices, out.indptr = data, indices, indptr
    return out


def without_zeros(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, columns: int) -> sp.csr_matrix:
    """The same, with new arrays of the nonzero entries."""
    (kept,) = data.nonzero()
    if len(kept) == len(data):
        return canonical(data.copy(), indices.copy(), indptr.copy(), columns)
    return canonical(data[kept], indices[kept], np.searchsorted(kept, indptr).astype(indptr.dtype), columns)


def transposed_product(matrix: sp.csr_matrix, x: np.ndarray) -> np.ndarray:
    """``A^T x`` of a csr matrix (m, n); SciPy would make the transpose first."""
    rows = x.repeat(matrix.indptr[1:] - matrix.indptr[:-1])
    return np.bincount(matrix.indices, matrix.data * rows, matrix.shape[1])


def scaled_both(matrix: sp.csc_matrix, scale: np.ndarray) -> sp.csc_matrix:
    """``diag(s) A diag(s)`` in csc form, with the pattern of A."""
    columns = scale.repeat(matrix.indptr[1:] - matrix.indptr[:-1])
    data = matrix.data * scale.take(matrix.indices)  # takes half as long as brackets
    data *= columns
    return on_pattern(matrix, data)


def absolute_product(matrix: sp.csc_matrix, x: np.ndarray) -> np.ndarray:
    """``|A| x`` of a csc matrix."""
    return on_pattern(matrix, np.abs(matrix.data)) @ x


def row_sizes(matrix: sp.csc_matrix) -> np.ndarray:
    """The sum of |A| in each row of a csc matrix (n, m): (n,)."""
    return np.bincount(matrix.indices, np.abs(matrix.data), matrix.shape[0])


def column_maxima(matrix: sp.csc_matrix, data: np.ndarray) -> np.ndarray:
    """The largest of the values (e,) >= 0 in each column of the pattern of a matrix (n, m): (m,), zero for empty columns."""
    first = matrix.indptr[:-1]
    filled = np.flatnonzero(first < matrix.indptr[1:])
    out = np.zeros(matrix.shape[1])
    if len(filled):
        out[filled] = np.maximum.reduceat(data, first[filled])
    return out


def column_products(a: np.ndarray | sp.csc_matrix, b: np.ndarray | sp.csc_matrix) -> np.ndarray:
    """The scalar products (m,) of columns of a (n, m) with the same columns of b (n, m); both dense or both sparse."""
    if sp.issparse(a):
        return np.asarray(a.multiply(b).sum(axis=0)).ravel()
    return np.einsum("ij,ij->j", a, np.asarray(b))


def weighted_squares(weight: np.ndarray, a: np.ndarray | sp.csc_matrix) -> np.ndarray:
    """The sum of weights (n,) times squares in each column of a (n, m): (m,)."""
    return a.multiply(a).T @ weight if sp.issparse(a) else weight @ (a * a)


def add_diagonal(matrix: sp.csc_matrix, diagonal: np.ndarray) -> sp.csc_matrix:
    """``A + diag(d)``, in csc form."""
    return (matrix + sp.diags(diagonal, format="csc")).tocsc()


def united(a: sp.csc_matrix, b: sp.csc_matrix) -> tuple[sp.csc_matrix, sp.csc_matrix]:
    """Both matrices on the union of their patterns, so that ``a.data - s b.data`` are the entries of ``a - s b``."""
    same = len(a.indices) == len(b.indices)
    if same and np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices):
        return a, on_pattern(a, b.data)
    a, b = (x if x.has_sorted_indices else x.sorted_indices() for x in (a, b))
    patterns = (p.astype(np.int64) for x in (a, b) for p in (x.indptr, x.indices))
    first, rows, *places = compiled.united(*patterns)
    # in SciPy's integer type, so that it makes no copies
    first, rows = (p.astype(a.indices.dtype) for p in (first, rows))
    out = []
    for x, at in zip((a, b), places, strict=True):
        values = np.zeros(len(rows), dtype=x.dtype)
        values[at] = x.data
        out.append(sp.csc_matrix((values, rows, first), shape=x.shape))
    return tuple(out)
