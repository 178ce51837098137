"""Products of small matrices, compiled once for all kernels: quick to compile, and quicker than BLAS at six by six."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def product(a, b):
    """``a b``; (n, m), (m, p) -> (n, p)."""
    out = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            x = a[i, k]
            if x != 0.0:
                for j in range(b.shape[1]):
                    out[i, j] += x * b[k, j]
    return out


@njit(cache=True)
def transposed_product(a, b):
    """``a^T b``; (m, n), (m, p) -> (n, p)."""
    out = np.zeros((a.shape[1], b.shape[1]))
    for k in range(a.shape[0]):
        for i in range(a.shape[1]):
            x = a[k, i]
            if x != 0.0:
                for j in range(b.shape[1]):
                    out[i, j] += x * b[k, j]
    return out


@njit(cache=True)
def apply(a, x):
    """``a x``; (n, m), (m,) -> (n,)."""
    out = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            out[i] += a[i, k] * x[k]
    return out


@njit(cache=True)
def transposed_apply(a, x):
    """``a^T x``; (m, n), (m,) -> (n,)."""
    out = np.zeros(a.shape[1])
    for k in range(a.shape[0]):
        for i in range(a.shape[1]):
            out[i] += a[k, i] * x[k]
    return out


@njit(cache=True)
def put(a, i, j, block):
    """Write ``block`` into ``a`` at (i, j); an assignment to a slice would compile its error messages too."""
    for r in range(block.shape[0]):
        for c in range(block.shape[1]):
            a[i + r, j + c] = block[r, c]


@njit(cache=True)
def dot(x, y):
    """``x . y`` of two vectors."""
    out = 0.0
    for k in range(x.shape[0]):
        out += x[k] * y[k]
    return out


@njit(cache=True)
def cross(a, b):
    """``a x b`` of two vectors (3,)."""
    out = np.empty(3)
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    return out


@njit(cache=True)
def positive_inverse(a):
    """Inverse of a positive definite matrix (n, n), by Cholesky."""
    n = a.shape[0]
    low = np.zeros((n, n))
    for j in range(n):
        for i in range(j, n):
            x = a[i, j]
            for k in range(j):
                x -= low[i, k] * low[j, k]
            low[i, j] = np.sqrt(x) if i == j else x / low[j, j]
    inverse = np.zeros((n, n))  # of low
    for j in range(n):
        inverse[j, j] = 1.0 / low[j, j]
        for i in range(j + 1, n):
            x = 0.0
            for k in range(j, i):
                x -= low[i, k] * inverse[k, j]
            inverse[i, j] = x / low[i, i]
    return transposed_product(inverse, inverse)
