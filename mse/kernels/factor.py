"""``A = L D L^T`` of one sparse symmetric matrix, real or complex, front by front without pivoting; L is kept.

Multifrontal form: J. W. H. Liu, SIAM Review 34 (1992) 82.  Rows of L^T are stored in *vectors* of eight columns: first the
front's own columns, filled up to whole vectors, then the other columns, filled up likewise.  A row is contiguous from its
diagonal on; entries left of the diagonal and fill are never read as numbers.

No pivoting: the caller checks the result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import compiled, kept, part, when_large
from .vector_ir import load, minus_product, pick, put, reciprocal, spread, store, zero
from .vector_ir import product as times

PANEL = 8  # rows eliminated one by one before all of them update the next rows
DEEP = 128  # rows that update a large front at once: two vectors of each take half of the first cache
LARGE = 512  # coordinates of a front: rows of larger ones exceed the processor's second cache of a megabyte or two


class Rows(NamedTuple):
    """Layout: front g has its own columns ``first_column[g:g+2]`` and the further rows ``rows[first_row[g]:first_row[g+1]]``.

    ``first_vector`` (g + 1,) is where its rows of L^T begin; ``inside`` has the columns of ``rows`` in the parent's front,
    counted with fill.
    """

    first_column: np.ndarray
    first_row: np.ndarray
    first_vector: np.ndarray
    rows: np.ndarray
    inside: np.ndarray
    parents: np.ndarray


@part
def _row(arena, x, w, stride, a, i):
    """Update row i of a front by rows a to i: W goes to w, its multiples L replace it at x; returns its pivot."""
    row = i * stride
    begin = i // 8
    for k in range(begin, stride, 2):
        k1 = min(k + 1, stride - 1)
        y, y1 = load(arena, x + row + k), load(arena, x + row + k1)
        for j in range(a, i):
            z = spread(arena, 8 * (w + j * stride) + i)
            y = minus_product(y, z, load(arena, x + j * stride + k))
            y1 = minus_product(y1, z, load(arena, x + j * stride + k1))
        store(arena, w + row + k, y)
        store(arena, w + row + k1, y1)
    scale = reciprocal(spread(arena, 8 * (w + row) + i))
    for k in range(begin, stride):
        store(arena, x + row + k, times(load(arena, w + row + k), scale))
    return pick(arena, 8 * (w + row) + i)


@part
def _tiles(arena, x, apart, w, w_apart, a, b, first, last, source, to, row, wide):
    """``X[i, k] -= sum_j W[j, i] L[j, k]``, j from a to b, for rows i from ``first`` to ``last``, from the diagonal on.

    Row j of L is at ``x + j apart`` and row j of W at ``w + j w_apart``; row i of X, ``wide`` vectors, is read at
    ``source + i row`` and written to ``to + i row``.
    """
    for i in range(first, last, 4):
        i1, i2, i3 = min(i + 1, last - 1), min(i + 2, last - 1), min(i + 3, last - 1)
        for k in range(i // 8, wide, 2):
            k1 = min(k + 1, wide - 1)
            x0, y0 = load(arena, source + i * row + k), load(arena, source + i * row + k1)
            x1, y1 = load(arena, source + i1 * row + k), load(arena, source + i1 * row + k1)
            x2, y2 = load(arena, source + i2 * row + k), load(arena, source + i2 * row + k1)
            x3, y3 = load(arena, source + i3 * row + k), load(arena, source + i3 * row + k1)
            for j in range(a, b):
                at = 8 * (w + j * w_apart)
                of = x + j * apart
                p, q = load(arena, of + k), load(arena, of + k1)
                z = spread(arena, at + i)
                x0, y0 = minus_product(x0, z, p), minus_product(y0, z, q)
                z = spread(arena, at + i1)
                x1, y1 = minus_product(x1, z, p), minus_product(y1, z, q)
                z = spread(arena, at + i2)
                x2, y2 = minus_product(x2, z, p), minus_product(y2, z, q)
                z = spread(arena, at + i3)
                x3, y3 = minus_product(x3, z, p), minus_product(y3, z, q)
            store(arena, to + i * row + k, x0)
            store(arena, to + i * row + k1, y0)
            store(arena, to + i1 * row + k, x1)
            store(arena, to + i1 * row + k1, y1)
            store(arena, to + i2 * row + k, x2)
            store(arena, to + i2 * row + k1, y2)
            store(arena, to + i3 * row + k, x3)
            store(arena, to + i3 * row + k1, y3)


@part
def _together(arena, x, w, pack, stride, a, b, first, last, source, to, row, wide):
    """:func:`_tiles` for many rows, from a whole vector on; also writes left of the diagonal.

    For ``DEEP`` rows at a time, all of W and two vectors of L are copied to ``pack``: in a large front rows are one ``stride``
    apart, too far for the processor's cache.
    """
    for deep in range(a, b, DEEP):
        n = min(DEEP, b - deep)
        begin, end = first // 8, (last + 7) // 8
        for v in range(begin, end):
            for j in range(n):
                store(arena, pack + 2 * DEEP + (v - begin) * n + j, load(arena, w + (deep + j) * stride + v))
        for k in range(begin, wide, 2):
            two = min(2, wide - k)
            for j in range(n):
                of = x + (deep + j) * stride + k
                store(arena, pack + 2 * j, load(arena, of))
                store(arena, pack + 2 * j + 1, load(arena, of + two - 1))
            for v in range(begin, min(end, k + two)):
                at, rows = 8 * v * row + k, min(8, last - 8 * v)
                w_at = pack + 2 * DEEP + (v - begin) * n
                _tiles(arena, pack, 2, w_at, 1, 0, n, 0, rows, source + at, to + at, row, two)
        source = to


@part
def _add_child(arena, inside, first, left, at, x, columns, own, stride, rest, wide):
    """Add the update of a front, ``left`` rows at ``at``, to its parent: its rows of L^T at x, its own update at ``rest``."""
    each = (left + 7) // 8
    for i in range(left):
        row = inside[first + i]
        to = 8 * (x + row * stride) if row < columns else 8 * (rest + (row - 8 * own) * wide - own)
        of = 8 * (at + i * each)
        for k in range(i, left):
            place = to + inside[first + k]
            put(arena, place, pick(arena, place) + pick(arena, of + k))


@kept(nogil=True)
def factorize(arena, rows, scratch, pack, values, places, diagonal, diagonal_places, place, pivots, own_terms, waiting):
    """Factor all fronts: L^T at the front of the arena, and ``pivots`` (n,), the diagonal of D, in the fill-reducing ordering.

    ``values`` (e,) are added at the elements ``places`` (e,) of the arena, and skipped if negative; ``diagonal`` (n,) or (0,) is
    added to the diagonal at ``diagonal_places`` (n,), whose values ``own_terms`` (n,) then has.  ``scratch`` says where in the
    arena a front's W, its update, and the stack of updates waiting for parents begin; ``pack`` where rows of large fronts are
    copied, or None if no front is large, so that numba leaves that code out.  ``place`` (n,) is the fill-reducing ordering;
    ``waiting`` (fronts,) is scratch.
    """
    w, rest, top = scratch[0], scratch[1], scratch[2]
    nothing = zero(arena)
    count = len(rows.parents)
    for v in range(rows.first_vector[count]):
        store(arena, v, nothing)
    for e in range(len(values)):
        if places[e] >= 0:
            put(arena, places[e], pick(arena, places[e]) + values[e])
    for i in range(len(diagonal)):
        at = diagonal_places[place[i]]
        put(arena, at, pick(arena, at) + diagonal[i])
    for i in range(len(own_terms)):
        own_terms[i] = pick(arena, diagonal_places[i])
    depth = 0
    for g in range(count):
        start = rows.first_column[g]
        columns, left = rows.first_column[g + 1] - start, rows.first_row[g + 1] - rows.first_row[g]
        own, wide = (columns + 7) // 8, (left + 7) // 8
        x, stride = rows.first_vector[g], own + wide
        for v in range(rest, rest + left * wide):
            store(arena, v, nothing)
        while depth > 0 and rows.parents[waiting[depth - 1]] == g:
            depth -= 1
            c = waiting[depth]
            first = rows.first_row[c]
            under = rows.first_row[c + 1] - first
            top -= under * ((under + 7) // 8)
            _add_child(arena, rows.inside, first, under, top, x, columns, own, stride, rest, wide)
        small = pack is None or 8 * stride <= LARGE
        deep = columns if small else DEEP
        for outer in range(0, columns, deep):
            end = min(outer + deep, columns)
            if pack is not None:  # noqa: SIM102 - numba leaves out only what depends on this condition alone
                if outer:
                    _together(arena, x, w, pack, stride, 0, outer, outer, end, x, x, stride, stride)
            for a in range(outer, end, PANEL):
                b = min(a + PANEL, end)
                if a > outer:
                    _tiles(arena, x, stride, w, stride, outer, a, a, b, x, x, stride, stride)
                for i in range(a, b):
                    pivots[start + i] = _row(arena, x, w, stride, a, i)
        if left and small:
            _tiles(arena, x + own, stride, w + own, stride, 0, columns, 0, left, rest, top, wide, wide)
        if pack is not None:  # noqa: SIM102
            if left and not small:
                _together(arena, x + own, w + own, pack, stride, 0, columns, 0, left, rest, top, wide, wide)
        top += left * wide
        waiting[depth] = g
        depth += 1


@kept(nogil=True)
def inertia(arena, rows, pivots, own_terms):
    """Number of negative pivots, the smallest |pivot| relative to the terms it is the sum of, and the largest growth.

    For real matrices: ``d_k = a_kk - sum_j l_kj^2 d_j``.  If all d_j are positive, the two sides show how much canceled; terms
    of negative d_j are summed.  Growth is the size of these terms relative to a_kk.  0 and infinite if a pivot is zero or not a
    number.
    """
    count = len(rows.parents)
    added = np.zeros(len(pivots))
    negative, least, growth = 0, 1.0, 1.0
    for g in range(count):
        start, first = rows.first_column[g], rows.first_row[g]
        columns, left = rows.first_column[g + 1] - start, rows.first_row[g + 1] - first
        own = (columns + 7) // 8
        stride = own + (left + 7) // 8
        for j in range(columns):
            d, a = pivots[start + j], own_terms[start + j]
            terms = abs(a) + abs(a - d) + 2.0 * added[start + j]
            if not (abs(d) > 0.0 and terms < np.inf):
                return negative, 0.0, np.inf
            least = min(least, abs(d) / terms)
            if terms > growth * abs(a):
                growth = terms / abs(a) if a != 0.0 else np.inf
            if d < 0.0:
                negative += 1
                at = 8 * (rows.first_vector[g] + j * stride)
                for k in range(j + 1, columns):
                    added[start + k] -= arena[at + k] ** 2 * d
                for k in range(left):
                    added[rows.rows[first + k]] -= arena[at + 8 * own + k] ** 2 * d
    return negative, least, growth


@part
def _forward(arena, rows, g, x):
    """``x = L^-1 x`` by a front g, four of its rows at a time, so that neighboring entries of L are read together."""
    start, first = rows.first_column[g], rows.first_row[g]
    columns, left = rows.first_column[g + 1] - start, rows.first_row[g + 1] - first
    own = 8 * ((columns + 7) // 8)
    stride, at = own + 8 * ((left + 7) // 8), 8 * rows.first_vector[g]
    for k in range(0, columns, 4):
        k1, k2, k3 = min(k + 1, columns - 1), min(k + 2, columns - 1), min(k + 3, columns - 1)
        y, y1, y2, y3 = load(x, start + k), load(x, start + k1), load(x, start + k2), load(x, start + k3)
        for i in range(k):
            of, z = at + i * stride, load(x, start + i)
            y = minus_product(y, spread(arena, of + k), z)
            y1 = minus_product(y1, spread(arena, of + k1), z)
            y2 = minus_product(y2, spread(arena, of + k2), z)
            y3 = minus_product(y3, spread(arena, of + k3), z)
        store(x, start + k, y)
        store(x, start + k1, y1)
        store(x, start + k2, y2)
        store(x, start + k3, y3)
        for j in range(k + 1, min(k + 4, columns)):
            y = load(x, start + j)
            for i in range(k, j):
                y = minus_product(y, spread(arena, at + i * stride + j), load(x, start + i))
            store(x, start + j, y)
    for k in range(0, left, 4):
        k1, k2, k3 = min(k + 1, left - 1), min(k + 2, left - 1), min(k + 3, left - 1)
        r, r1, r2, r3 = rows.rows[first + k], rows.rows[first + k1], rows.rows[first + k2], rows.rows[first + k3]
        y, y1, y2, y3 = load(x, r), load(x, r1), load(x, r2), load(x, r3)
        for i in range(columns):
            of, z = at + i * stride + own, load(x, start + i)
            y = minus_product(y, spread(arena, of + k), z)
            y1 = minus_product(y1, spread(arena, of + k1), z)
            y2 = minus_product(y2, spread(arena, of + k2), z)
            y3 = minus_product(y3, spread(arena, of + k3), z)
        store(x, r, y)
        store(x, r1, y1)
        store(x, r2, y2)
        store(x, r3, y3)


@part
def _backward(arena, rows, g, inverse, local, x):
    """``x = L^-T D^-1 x`` by a front g, four rows at a time, so that one sum can proceed while another waits."""
    start, first = rows.first_column[g], rows.first_row[g]
    columns, left = rows.first_column[g + 1] - start, rows.first_row[g + 1] - first
    own = 8 * ((columns + 7) // 8)
    stride, at = own + 8 * ((left + 7) // 8), 8 * rows.first_vector[g]
    for m in range(left):
        store(local, m, load(x, rows.rows[first + m]))
    for end in range(columns, 0, -4):
        k, k1, k2, k3 = max(end - 4, 0), max(end - 3, 0), max(end - 2, 0), end - 1
        of, of1, of2, of3 = at + k * stride, at + k1 * stride, at + k2 * stride, at + k3 * stride
        y = times(load(x, start + k), spread(inverse, start + k))
        y1 = times(load(x, start + k1), spread(inverse, start + k1))
        y2 = times(load(x, start + k2), spread(inverse, start + k2))
        y3 = times(load(x, start + k3), spread(inverse, start + k3))
        for i in range(end, columns):
            z = load(x, start + i)
            y = minus_product(y, spread(arena, of + i), z)
            y1 = minus_product(y1, spread(arena, of1 + i), z)
            y2 = minus_product(y2, spread(arena, of2 + i), z)
            y3 = minus_product(y3, spread(arena, of3 + i), z)
        for m in range(left):
            z = load(local, m)
            y = minus_product(y, spread(arena, of + own + m), z)
            y1 = minus_product(y1, spread(arena, of1 + own + m), z)
            y2 = minus_product(y2, spread(arena, of2 + own + m), z)
            y3 = minus_product(y3, spread(arena, of3 + own + m), z)
        store(x, start + k, y)
        store(x, start + k1, y1)
        store(x, start + k2, y2)
        store(x, start + k3, y3)
        for j in range(end - 2, k - 1, -1):
            y = load(x, start + j)
            for i in range(j + 1, end):
                y = minus_product(y, spread(arena, at + j * stride + i), load(x, start + i))
            store(x, start + j, y)


@kept(nogil=True)
def substitute(arena, rows, place, inverse, right, out, first_side, last_side, local, x):
    """``out = A^-1 right`` (n, k) from the result of :func:`factorize`, for up to eight right-hand sides at the cost of one.

    ``inverse`` is an arena with the reciprocals of the pivots; ``place`` (n,) is the fill-reducing ordering.  ``local`` and x are
    scratch arenas with the entries of a front and with n entries.
    """
    count = len(rows.parents)
    nothing = zero(x)
    for i in range(len(place)):
        store(x, place[i], nothing)
        for c in range(first_side, last_side):
            put(x, 8 * place[i] + c - first_side, right[i, c])
    for g in range(count):
        _forward(arena, rows, g, x)
    for g in range(count - 1, -1, -1):
        _backward(arena, rows, g, inverse, local, x)
    for i in range(len(place)):
        for c in range(first_side, last_side):
            out[i, c] = pick(x, 8 * place[i] + c - first_side)


@when_large
def four_products(first, columns, values, x, out):
    """``out = A x`` (n, 4) for a matrix stored by rows; SciPy takes nearly twice as long, since it does not fix the four."""
    for i in range(len(out)):
        a = b = c = d = 0.0
        for k in range(first[i], first[i + 1]):
            value, j = values[k], np.uint32(columns[k])  # unsigned: numba then allows for no negative indices
            a += value * x[j, 0]
            b += value * x[j, 1]
            c += value * x[j, 2]
            d += value * x[j, 3]
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = a, b, c, d


@when_large
def element_places(first_column, first_row, first_vector, first_entry, places, entries, count):
    """Elements of the arena (count,) for entries of a matrix at ``places`` in square fronts; -1 for all others."""
    out = np.full(count, -1)
    for g in range(len(first_column) - 1):
        columns, left = first_column[g + 1] - first_column[g], first_row[g + 1] - first_row[g]
        own = (columns + 7) // 8
        stride = own + (left + 7) // 8
        for e in range(first_entry[g], first_entry[g + 1]):
            row = places[e] // (columns + left)
            column = places[e] - row * (columns + left)
            if row >= columns:
                row += 8 * own - columns
            out[entries[e]] = 8 * (first_vector[g] + column * stride) + row
    return out


@compiled
def places_of(first, rows, places, of_first, of_rows):
    """``places`` (e,) of the entries of one pattern in another, by columns; -2 for entries that the other does not have."""
    n = len(first) - 1
    at = np.full(n, -1)
    out = np.empty(len(of_rows), np.int64)
    for j in range(n):
        for k in range(first[j], first[j + 1]):
            at[rows[k]] = k
        for k in range(of_first[j], of_first[j + 1]):
            e = at[of_rows[k]]
            out[k] = places[e] if e >= first[j] else -2
    return out


@compiled
def united(first, rows, other_first, other_rows):
    """Union of two patterns by columns with ascending rows, and the places of both in it: ``(first, rows, at, other_at)``."""
    n = len(first) - 1
    out_first, out = np.zeros(n + 1, np.int64), np.empty(len(rows) + len(other_rows), np.int64)
    at, other_at = np.empty(len(rows), np.int64), np.empty(len(other_rows), np.int64)
    used = 0
    for j in range(n):
        k, m = first[j], other_first[j]
        while k < first[j + 1] or m < other_first[j + 1]:
            i = rows[k] if k < first[j + 1] else n
            if m < other_first[j + 1]:
                i = min(i, other_rows[m])
            if k < first[j + 1] and rows[k] == i:
                at[k] = used
                k += 1
            if m < other_first[j + 1] and other_rows[m] == i:
                other_at[m] = used
                m += 1
            out[used] = i
            used += 1
        out_first[j + 1] = used
    return out_first, out[:used], at, other_at
