"""Matrices of the sweep, one above the other: their entries by columns, and their products with known answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp

from ...kernels import fronts as symbolic
from .equations import SMALL, Polynomial

_TINY = np.finfo(float).tiny


def gathered(
    pieces: Sequence[tuple[int, Polynomial]],
    height: int,
    width: int,
    patterns: Sequence[tuple[np.ndarray, np.ndarray]] = (),
):
    """Entries by columns of stacked matrices, each from its first row on; see :func:`symbolic.gathered`.

    The places of ``patterns`` (rows and columns) are included, whatever is there.
    """
    rows, columns, kinds, values = ([np.zeros(0, dtype=t)] for t in (np.int64, np.int64, np.int8, float))
    for start, polynomial in pieces:
        for kind, a in zip((0, 2, 3), polynomial[:3], strict=True):
            if not (a.nnz if sp.issparse(a) else a.any()):
                continue
            if sp.issparse(a):
                a = a if a.format in ("csr", "csc") else a.tocsr()
                # as tocoo(), but without its checks, which take longer than solving a small model
                at = np.repeat(np.arange(len(a.indptr) - 1), np.diff(a.indptr)), a.indices
                at, data = at if a.format == "csr" else at[::-1], a.data
            else:
                at = np.nonzero(a)
                data = a[at]
            for number, part in ((kind, data.real), (1, data.imag)) if np.iscomplexobj(data) else ((kind, data),):
                rows.append(at[0] + start)
                columns.append(at[1])
                values.append(part)
                kinds.append(np.full(len(part), number, dtype=np.int8))
    if not patterns:
        return symbolic.gathered(*(np.concatenate(a) for a in (rows, columns, kinds, values)), height, width)
    more, there = (np.concatenate(a) for a in zip(*patterns, strict=True))
    # tiny instead of zero, since zeros would be left out; they change no sum
    every = more, there, np.zeros(len(more), dtype=np.int8), np.full(len(more), _TINY)
    found = (np.concatenate([*a, b]) for a, b in zip((rows, columns, kinds, values), every, strict=True))
    first, rows, values = symbolic.gathered(*found, height, width)
    values[np.abs(values) <= len(more) * _TINY] = 0.0
    return first, rows, values


def known_products(
    entries: tuple[np.ndarray, np.ndarray, np.ndarray], border: int, x: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Products of ``entries``, as :func:`gathered` has them, with x and s (n, p): Z (n, n) and so many ``border`` rows B below.

    They are ``[Z, B] x`` (p, n + b, 4), ``s^T |Z| s`` (p, 3), and ``|B| s`` and ``|B|^2 s^2``, (p, b, 3) each.  The last axis has
    the real and imaginary part of k, then c and m; products of magnitudes have |k|, |c|, |m|.
    """
    first, rows, values = entries
    n, each = len(x), [0, 2, 3]
    times = _fourfold(first, rows, n + border)
    product = times(values, x)
    sizes = np.abs(values)
    sizes[:, 0], sizes[:, 1] = np.hypot(values[:, 0], values[:, 1]), 0.0
    magnitudes = times(sizes, scale)
    total = np.einsum("np,pnk->pk", scale, magnitudes[:, :n])[:, each]
    shares = magnitudes[:, n:][:, :, each]
    del magnitudes
    return product, total, shares, times(sizes**2, scale**2)[:, n:][:, :, each]


def _fourfold(first: np.ndarray, rows: np.ndarray, height: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Products (p, height, 4) of four matrices (height, n), with values (e, 4) of their entries by columns, and x (n, p).

    Three products of a model of 36 coordinates take 50 us less as dense ones, of 1.1 ms for 200 frequencies.
    """
    n, at = len(first) - 1, (4 * rows[:, None] + np.arange(4)).ravel()
    if n <= SMALL:
        columns, dense = np.repeat(np.arange(n), 4 * np.diff(first)), np.zeros((4 * height, n))
    else:
        # four rows for each row of theirs
        stacked = sp.csc_matrix((np.zeros(len(at)), at, 4 * first), shape=(4 * height, n))

    def times(values: np.ndarray, x: np.ndarray) -> np.ndarray:
        if n <= SMALL:
            dense[at, columns] = values.ravel()
            product = dense @ x
        else:
            stacked.data = values.ravel()
            product = stacked @ x
        return product.T.reshape(x.shape[1], height, 4)

    return times
