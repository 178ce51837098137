"""Products of small matrices, compiled once for all kernels: quick to compile, and faster than BLAS at six by six."""

from __future__ import annotations

from math import sqrt

import numpy as np

from .jit import part


@part
def product(a, b):
    """``a b``; (n, m), (m, p) -> (n, p)."""
    out = np.zeros((a.shape[0], b.shape[1]))
    put_product(a, b, out)
    return out


@part
def put_product(a, b, out):
    """:func:`product` into ``out`` (n, p)."""
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            out[i, j] = 0.0
        for k in range(a.shape[1]):
            x = a[i, k]
            if x != 0.0:
                for j in range(b.shape[1]):
                    out[i, j] += x * b[k, j]


@part
def put_sixfold(a, b, out):
    """:func:`product` into ``out``, with the same bits; (6, 6), (6, 6 or 12) -> (6, 6 or 12).

    Sums of fixed length stay in registers; such products take half the time of an element with twelve coordinates.
    """
    for first in range(0, b.shape[1], 6):
        for i in range(6):
            p = q = r = s = t = u = 0.0
            for k in range(6):
                x = a[i, k]
                p += x * b[k, first]
                q += x * b[k, first + 1]
                r += x * b[k, first + 2]
                s += x * b[k, first + 3]
                t += x * b[k, first + 4]
                u += x * b[k, first + 5]
            out[i, first], out[i, first + 1], out[i, first + 2] = p, q, r
            out[i, first + 3], out[i, first + 4], out[i, first + 5] = s, t, u


@part
def add_sixfold_transposed(a, b, out):
    """:func:`add_transposed_product`, with the same bits; (6, n), (6, 6 or 12)."""
    for first in range(0, b.shape[1], 6):
        for i in range(a.shape[1]):
            p, q, r = out[i, first], out[i, first + 1], out[i, first + 2]
            s, t, u = out[i, first + 3], out[i, first + 4], out[i, first + 5]
            for k in range(6):
                x = a[k, i]
                p += x * b[k, first]
                q += x * b[k, first + 1]
                r += x * b[k, first + 2]
                s += x * b[k, first + 3]
                t += x * b[k, first + 4]
                u += x * b[k, first + 5]
            out[i, first], out[i, first + 1], out[i, first + 2] = p, q, r
            out[i, first + 3], out[i, first + 4], out[i, first + 5] = s, t, u


@part
def put_zeros(out):
    """Zeros into ``out`` (n, m)."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0


@part
def add_transposed_product(a, b, out):
    """Add ``a^T b`` to the upper left of ``out``; (m, n), (m, p)."""
    for k in range(a.shape[0]):
        for i in range(a.shape[1]):
            x = a[k, i]
            if x != 0.0:
                for j in range(b.shape[1]):
                    out[i, j] += x * b[k, j]


@part
def apply(a, x):
    """``a x``; (n, m), (m,) -> (n,)."""
    out = np.zeros(a.shape[0])
    put_applied(a, x, out)
    return out


@part
def put_applied(a, x, out):
    """:func:`apply` into ``out`` (n,)."""
    for i in range(a.shape[0]):
        y = 0.0
        for k in range(a.shape[1]):
            y += a[i, k] * x[k]
        out[i] = y


@part
def transposed_apply(a, x):
    """``a^T x``; (m, n), (m,) -> (n,)."""
    out = np.zeros(a.shape[1])
    put_transposed_applied(a, x, out)
    return out


@part
def put_transposed_applied(a, x, out):
    """:func:`transposed_apply` into ``out`` (n,)."""
    for i in range(a.shape[1]):
        out[i] = 0.0
    for k in range(a.shape[0]):
        for i in range(a.shape[1]):
            out[i] += a[k, i] * x[k]


@part
def put_root_of_inverse(a, low, out):
    """``L^-1`` of ``a = L L^T`` for a positive definite matrix (n, n) into ``out``, so that ``a^-1 = L^-T L^-1``.

    The entries of L below its diagonal go to ``low``.
    """
    n = a.shape[0]
    put_zeros(out)
    for j in range(n):
        x = a[j, j]
        for k in range(j):
            x -= low[j, k] * low[j, k]
        out[j, j] = 1.0 / sqrt(x)
        for i in range(j + 1, n):
            x = a[i, j]
            for k in range(j):
                x -= low[i, k] * low[j, k]
            low[i, j] = x * out[j, j]
    for j in range(n):
        for i in range(j + 1, n):
            x = 0.0
            for k in range(j, i):
                x -= low[i, k] * out[k, j]
            out[i, j] = x * out[i, i]
