"""Eigenvectors of small dense matrices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.linalg.lapack import dpocon, dsyevd, dsygvd
from scipy.sparse.csgraph import connected_components

# Eigenvalues below this share of the largest are computed again, on the span of their vectors.  Larger ones have a relative error
# of eps over this share.  Their vectors leave as much of themselves in the others, which changes the others by its square.  The
# cube root of eps makes both small.
SOFT = float(np.cbrt(np.finfo(float).eps))

# Factor by which the estimated norm of an inverse may be too small: with a tenth of it there is no bound, with ten times of it
# the bound is far off
# (tests/numerics/test_eigen.py::test_the_bound_is_below_the_lowest_eigenvalue_and_near_it).
_SHORT = 10.0


def lowest_eigenvalue(factor: np.ndarray, sums: float) -> float:
    """A lower bound of the eigenvalues of a matrix, from its Cholesky factor (n, n) and its largest absolute row sum.

    No eigenvalue of the inverse exceeds the largest row sum of the inverse.  LAPACK's estimate of that is seldom too small by a
    factor of three.
    """
    return dpocon(factor, sums, uplo="L")[0] * sums / _SHORT


def eigen(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``A = V diag(w) V^T`` of a symmetric A (n, n), from its lower triangle: w (n,) ascending, V (n, n).

    Calls LAPACK directly: for small matrices checks and copies would take longer.  Raises LinAlgError without convergence.
    """
    if not len(a):
        return np.zeros(0), np.zeros((0, 0))
    w, v, wrong = dsyevd(a, lower=1)
    if wrong:
        raise np.linalg.LinAlgError(f"eigenvalues of a matrix of {len(a)} rows did not converge (LAPACK says {wrong})")
    return w, v


def graded(
    k: np.ndarray | sp.csc_matrix, m: np.ndarray | sp.csr_matrix, x: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs ``K x = w M x`` on the span of x (n, s), or of all: w (s,) ascending, (n, s) with ``X^T M X = 1``.

    A dense solver has the rounding of the largest eigenvalue in all of them.  So eigenvalues far below it are computed again on
    the span of their vectors, which contains nothing large, until each has only the rounding of terms that cancel in its own
    stiffness.
    """
    values, vectors = [], []
    while True:
        w, x = _pencil(k, m) if x is None else _pencil(x.T @ (k @ x), x.T @ (m @ x), x)
        soft = np.abs(w) < SOFT * np.abs(w).max(initial=0.0)
        values.append(w[~soft])
        vectors.append(x[:, ~soft])
        if not soft.any():
            break
        x = _without_stiff(k, values[-1], vectors[-1], x[:, soft])
    w, x = np.concatenate(values), np.hstack(vectors)
    order = np.argsort(w, kind="stable")
    return w[order], x[:, order]


def _without_stiff(k: np.ndarray | sp.csc_matrix, w: np.ndarray, stiff: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Soft vectors x (n, s) without the parts of stiff vectors (n, r), of stiffness w (r,), that rounding has left in them.

    A part of eps, in the norm of M, adds ``eps^2 w``, which is more than a soft eigenvalue if masses differ by 1/eps. Each round
    leaves rounding of the parts that it removes; rounds end when these parts no longer decrease.
    """
    before = np.inf
    while True:
        share = (stiff.T @ (k @ x)) / w[:, None]
        energy = float(np.abs(w) @ (share * share).sum(axis=1))
        if not 0.0 < energy < 0.5 * before:
            return x
        x = x - stiff @ share
        before = energy


def _pencil(k: np.ndarray, m: np.ndarray, x: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    if not len(m):
        return np.zeros(0), np.zeros((0, 0)) if x is None else x
    scale = 1.0 / np.sqrt(np.diag(m))
    both = scale * scale[:, None]
    w, turn, wrong = dsygvd(k * both, m * both, uplo="L")
    if wrong:
        raise np.linalg.LinAlgError(f"eigenvalues of a pencil of {len(w)} rows were not found (LAPACK says {wrong})")
    turn *= scale[:, None]
    return w, turn if x is None else x @ turn


class Pairs(NamedTuple):
    """Eigenvalues (n,) of a matrix, right vectors (n, n), and the rounding of each value (n,).

    ``met`` (n,) says which of them belong to multiple eigenvalues that rounding has split.
    """

    values: np.ndarray
    vectors: np.ndarray
    moved: np.ndarray
    met: np.ndarray


def eigen_of_pairs(a: np.ndarray) -> Pairs:
    """Eigenvalues and right vectors of a real unsymmetric matrix (n, n); eigenvalues that rounding has split are made equal.

    If two eigenvalues meet and have one vector, as at the onset of flutter, rounding moves them apart by its square root.  One of
    them then seems to grow.  Each moves by as much as its condition number says, while their mean stays right.
    """
    if not len(a):
        return Pairs(np.zeros(0, complex), np.zeros((0, 0), complex), np.zeros(0), np.zeros(0, bool))
    s, left, right = sl.eig(a, left=True, right=True)
    cosines = np.abs(np.einsum("ij,ij->j", left.conj(), right))
    moved = len(a) * np.finfo(float).eps * np.linalg.norm(a) / np.maximum(cosines, np.finfo(float).tiny)
    near = np.abs(s[:, None] - s[None, :]) <= np.minimum(moved[:, None], moved[None, :])
    count, label = connected_components(near, directed=False)
    mean = np.bincount(label, s.real, count) + 1j * np.bincount(label, s.imag, count)
    mean /= np.bincount(label, minlength=count)
    met = np.bincount(label, minlength=count)[label] > 1
    apart = np.zeros(count)
    np.maximum.at(apart, label, np.abs(s - mean[label]))
    return Pairs(np.where(met, mean[label], s), right, np.where(met, apart[label], moved), met)
