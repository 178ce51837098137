"""Numpy functions of several arrays, by elementary operations; for arrays that record or differentiate operations.

Jets and recorded arrays share them.  Each defines the elementary functions, and how arrays are indexed, joined and selected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..errors import ModelError


def unsupported(name: str) -> ModelError:
    """The refusal of a function that jets and records do not have."""
    return ModelError(
        f"an energy uses numpy.{name}, whose derivatives mse does not know; write it with elementary functions, "
        "or set differentiation = 'differences' in the class"
    )


def _array(x):
    return x if hasattr(x, "ndim") else np.asarray(x, dtype=float)


def hypot(a, b):
    return np.sqrt(a * a + b * b)


def matmul(a, b):
    a, b = _array(a), _array(b)
    if b.ndim == 1:
        return (a * b).sum(-1)
    if a.ndim == 1:
        return (a[:, None] * b).sum(-2)
    return (a[..., :, :, None] * b[..., None, :, :]).sum(-2)


def dot(a, b):
    a, b = _array(a), _array(b)
    return a * b if a.ndim == 0 or b.ndim == 0 else matmul(a, b)


def _inner(a, b):
    a, b = _array(a), _array(b)
    if b.ndim == 2:
        return matmul(a, b.T) if a.ndim == 2 else matmul(b, a)
    return dot(a, b)


def _trace(a):
    if a.ndim != 2:
        raise unsupported("trace of more than two dimensions")
    n = min(a.shape)
    return a[np.arange(n), np.arange(n)].sum()


def _cross(a, b):
    a, b = _array(a), _array(b)
    parts = [a[..., (i + 1) % 3] * b[..., (i + 2) % 3] - a[..., (i + 2) % 3] * b[..., (i + 1) % 3] for i in range(3)]
    return np.stack(parts, axis=-1)


def _norm(x, ord=None, axis=None):
    if ord not in (None, 2, "fro") or (ord == 2 and x.ndim != 1 and axis is None):
        raise unsupported(f"linalg.norm(ord={ord!r})")
    return np.sqrt((x * x).sum(axis))


def _hstack(items):
    return np.concatenate([x if hasattr(x, "ndim") and x.ndim else np.atleast_1d(x) for x in items])


def solved(matrix: Sequence, right):
    """x (n,) of ``A x = b``, A given by the rows of a symmetric positive definite matrix; for use inside a law.

    Elimination, which needs no pivots then (G. H. Golub, C. F. Van Loan, "Matrix Computations" (2013), section 4.2), so that it
    asks no value.
    """
    left, reduced = [np.concatenate([row, right[i : i + 1]]) for i, row in enumerate(matrix)], []
    while left:
        first, *left = left
        reduced.append(first)
        left = [row[1:] - (row[0] / first[0]) * first[1:] for row in left]
    found: list = []
    for row in reduced[::-1]:
        known = sum((a * x for a, x in zip(row[1:-1], found, strict=True)), 0.0)
        found.insert(0, (row[-1] - known) / row[0])
    return np.stack(found)


COMPOUND: dict[Callable, Callable] = {
    np.dot: dot,
    np.inner: _inner,
    np.vdot: lambda a, b: (_array(a) * _array(b)).sum(),
    np.cross: _cross,
    np.linalg.norm: _norm,
    np.sum: lambda x, axis=None: x.sum(axis),
    np.trace: _trace,
    np.transpose: lambda x: x.T,
    np.hstack: _hstack,
    np.outer: lambda a, b: _array(a)[:, None] * _array(b),
}
