"""``A(w) = L D L^T`` at eight frequencies at once, front by front, with right-hand sides as a border never eliminated.

With ``A = [[Z, B], [B^T, 0]]``, eliminating the coordinates of Z leaves ``-B^T Z^-1 B`` in the border.  That is the response,
without storing L or substituting back.  If x itself is wanted, the columns of L, including those of the border, are stored
and substituted back.

No pivoting: the caller checks the result.  The last row of every border is a right-hand side ``Z x*`` with a known x*, so
its answers are known.

Why not a library: MKL Pardiso, the fastest tried, takes 17 to 42 times as long for the frequency responses of 600 to 60,000
coordinates in docs/benchmarks.md, because it factors one frequency after the other and computes all of x.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import kept, part
from .vector_ir import (
    load,
    minus_product,
    plus,
    plus_square,
    plus_times,
    polynomial,
    product,
    reciprocal,
    store,
    zero,
)  # fmt: skip

BLOCK = 24  # columns eliminated before the rest of the front is updated
_TILE = 48  # rows of a block that fit in the second cache


class Fronts(NamedTuple):
    """The fronts of a pattern, see :mod:`mse.kernels.fronts`: group g has its own columns ``first_column[g:g+2]``, then rows."""

    first_column: np.ndarray
    first_row: np.ndarray
    rows: np.ndarray
    inside: np.ndarray
    parents: np.ndarray
    first_entry: np.ndarray
    places: np.ndarray
    border: int
    largest: int
    stack: int


class Changes(NamedTuple):
    """Additional entries of fronts at ``places``, with values by frequency; group g has ``first[g]`` to ``first[g + 1]``."""

    first: np.ndarray
    places: np.ndarray
    values: np.ndarray


class Terms(NamedTuple):
    """Further terms of fronts, a weight by frequency times a value each: ``first[g]`` to ``first[g + 1]`` are of group g.

    ``values`` (parts, terms) are times the weight number ``law`` of the ``count`` ones that each group of frequencies has.
    """

    first: np.ndarray
    places: np.ndarray
    law: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    count: int


class Squared(NamedTuple):
    """Readings of x whose squares are added up: sum s has readings ``first[s]`` to ``first[s + 1]``.

    Reading r adds ``values`` times x at ``places`` from ``entries[r]`` to ``entries[r + 1]``.  Of the known x of each part it is
    ``right`` (parts, readings, 4), as coefficients of a polynomial and negative; ``weights`` (parts, readings) make its error
    relative.  ``sums`` get the sums of each group of frequencies and then the sum of all squared errors.
    """

    first: np.ndarray
    entries: np.ndarray
    places: np.ndarray
    values: np.ndarray
    right: np.ndarray
    weights: np.ndarray
    sums: np.ndarray


@part
def _factor(arena, size, a, b, w, d):
    """Columns a to b of a front: L below its diagonal in place, ``L D`` in the rows of w (size, b - a), 1/D at d."""
    wide = b - a
    for i in range(a, b):
        for j in range(a, i):
            x = load(arena, i * size + j)
            for k in range(a, j):
                x = minus_product(x, load(arena, w + i * wide + k - a), load(arena, j * size + k))
            store(arena, w + i * wide + j - a, x)
        x = load(arena, i * size + i)
        for j in range(a, i):
            y = load(arena, w + i * wide + j - a)
            low = product(y, load(arena, d + j))
            store(arena, i * size + j, low)
            x = minus_product(x, y, low)
        store(arena, d + i, reciprocal(x))
    for i in range(b, size, 3):
        # the last rows may be computed twice, with the same result
        i1, i2 = min(i + 1, size - 1), min(i + 2, size - 1)
        for j in range(a, b):
            x, x1, x2 = load(arena, i * size + j), load(arena, i1 * size + j), load(arena, i2 * size + j)
            for k in range(a, j):
                low = load(arena, j * size + k)
                x = minus_product(x, load(arena, w + i * wide + k - a), low)
                x1 = minus_product(x1, load(arena, w + i1 * wide + k - a), low)
                x2 = minus_product(x2, load(arena, w + i2 * wide + k - a), low)
            store(arena, w + i * wide + j - a, x)
            store(arena, w + i1 * wide + j - a, x1)
            store(arena, w + i2 * wide + j - a, x2)
        for r in range(i, i2 + 1):
            for j in range(a, b):
                store(arena, r * size + j, product(load(arena, w + r * wide + j - a), load(arena, d + j)))


@part
def _update(arena, size, a, b, w, to):
    """``F -= (L D) L^T`` on the lower triangle after column b, in place, or packed by rows from ``to`` on if ``to >= 0``."""
    wide = b - a
    for tile in range(b, size, _TILE):
        for i in range(tile, size, 3):
            i1, i2 = min(i + 1, size - 1), min(i + 2, size - 1)
            at, at1, at2 = i * size, i1 * size, i2 * size
            if to >= 0:
                at = to + (i - b) * (i - b + 1) // 2 - b
                at1 = to + (i1 - b) * (i1 - b + 1) // 2 - b
                at2 = to + (i2 - b) * (i2 - b + 1) // 2 - b
            for k in range(tile, min(tile + _TILE, i + 1), 3):
                k1, k2 = min(k + 1, size - 1), min(k + 2, size - 1)
                r, s, t = i * size, i1 * size, i2 * size
                x00, x01, x02 = load(arena, r + k), load(arena, r + k1), load(arena, r + k2)
                x10, x11, x12 = load(arena, s + k), load(arena, s + k1), load(arena, s + k2)
                x20, x21, x22 = load(arena, t + k), load(arena, t + k1), load(arena, t + k2)
                p, p1, p2 = w + i * wide, w + i1 * wide, w + i2 * wide
                q, q1, q2 = k * size + a, k1 * size + a, k2 * size + a
                for j in range(wide):
                    y0, y1, y2 = load(arena, p + j), load(arena, p1 + j), load(arena, p2 + j)
                    z0, z1, z2 = load(arena, q + j), load(arena, q1 + j), load(arena, q2 + j)
                    x00, x01, x02 = minus_product(x00, y0, z0), minus_product(x01, y0, z1), minus_product(x02, y0, z2)
                    x10, x11, x12 = minus_product(x10, y1, z0), minus_product(x11, y1, z1), minus_product(x12, y1, z2)
                    x20, x21, x22 = minus_product(x20, y2, z0), minus_product(x21, y2, z1), minus_product(x22, y2, z2)
                store(arena, at + k, x00)
                store(arena, at1 + k, x10)
                store(arena, at2 + k, x20)
                if k1 <= i1:
                    store(arena, at1 + k1, x11)
                    store(arena, at2 + k1, x21)
                if k1 <= i:
                    store(arena, at + k1, x01)
                if k2 <= i2:
                    store(arena, at2 + k2, x22)
                if k2 <= i1:
                    store(arena, at1 + k2, x12)
                if k2 <= i:
                    store(arena, at + k2, x02)


@part
def _assemble(arena, fronts, g, coefficients, check, rates, group, part):
    """Put the matrix's entries of group g into its front; returns its size and number of columns."""
    count = len(fronts.parents)
    rows = fronts.first_row[g + 1] - fronts.first_row[g] if g < count else fronts.border
    columns = fronts.first_column[g + 1] - fronts.first_column[g] if g < count else 0
    size = columns + rows
    nothing = zero(arena)
    for i in range(size):
        for k in range(i + 1):
            store(arena, i * size + k, nothing)
    if g < count:
        entries = fronts.first_entry[count]
        # each part has its own coefficients, one part after the other, or all parts share them
        own = part * entries if len(coefficients) > 4 * entries else 0
        for e in range(fronts.first_entry[g], fronts.first_entry[g + 1]):
            store(arena, fronts.places[e], polynomial(arena, coefficients, own + e, rates, group))
        at = part * fronts.first_column[count] + fronts.first_column[g]
        for j in range(columns):
            store(arena, (size - 1) * size + j, polynomial(arena, check, at + j, rates, group))
    return size, columns


@part
def _add_changes(arena, changes, g, group):
    """Add the additional entries of group g to its front."""
    start = group * len(changes.places)
    for e in range(changes.first[g], changes.first[g + 1]):
        place = changes.places[e]
        store(arena, place, plus(load(arena, place), load(changes.values, start + e)))


@part
def _add_terms(arena, terms, g, group, part):
    """Adds the further terms of group g to its front."""
    own, start = part * len(terms.places), group * terms.count
    for e in range(terms.first[g], terms.first[g + 1]):
        place = terms.places[e]
        weight = load(terms.weights, start + terms.law[e])
        store(arena, place, plus_times(load(arena, place), weight, terms.values, own + e))


@part
def _add_child(arena, fronts, c, top, size):
    """Add the update of group c, the last one on the stack, to its parent's front; returns the new top of the stack."""
    first, last = fronts.first_row[c], fronts.first_row[c + 1]
    left = last - first
    top -= left * (left + 1) // 2
    at = top
    for i in range(left):
        to = fronts.inside[first + i] * size
        for k in range(i + 1):
            place = to + fronts.inside[first + k]
            store(arena, place, plus(load(arena, place), load(arena, at)))
            at += 1
    return top


@part
def substitute_back(arena, fronts, keep, x):
    """``L^T x = D^-1 L^-1 b`` for the border's right-hand sides b, from the stored columns; (coordinates, border) at x."""
    count, border = len(fronts.parents), fronts.border
    n = fronts.first_column[count]
    at = keep
    for g in range(count):
        columns = fronts.first_column[g + 1] - fronts.first_column[g]
        at += columns * (columns - 1) // 2 + columns * (fronts.first_row[g + 1] - fronts.first_row[g])
    for g in range(count - 1, -1, -1):
        start, columns = fronts.first_column[g], fronts.first_column[g + 1] - fronts.first_column[g]
        first, last = fronts.first_row[g], fronts.first_row[g + 1]
        rows = at - columns * (last - first)  # of L below the triangle, which has i (i - 1) / 2 entries before row i
        at = rows - columns * (columns - 1) // 2
        nothing = zero(arena)
        for j in range(columns * border):
            store(arena, x + start * border + j, nothing)
        inner = last
        while inner > first and fronts.rows[inner - 1] >= n:
            inner -= 1
            low = rows + (inner - first) * columns
            for j in range(columns):
                store(arena, x + (start + j) * border + fronts.rows[inner] - n, load(arena, low + j))
        for j in range(columns - 1, -1, -1):
            for b in range(0, border, 3):
                b1, b2 = min(b + 1, border - 1), min(b + 2, border - 1)
                to = x + (start + j) * border
                y, y1, y2 = load(arena, to + b), load(arena, to + b1), load(arena, to + b2)
                for i in range(j + 1, columns + inner - first):
                    row = start + i if i < columns else fronts.rows[first + i - columns]
                    of = x + row * border
                    low = load(arena, at + i * (i - 1) // 2 + j if i < columns else rows + (i - columns) * columns + j)
                    y = minus_product(y, low, load(arena, of + b))
                    y1 = minus_product(y1, low, load(arena, of + b1))
                    y2 = minus_product(y2, low, load(arena, of + b2))
                store(arena, to + b, y)
                store(arena, to + b1, y1)
                store(arena, to + b2, y2)


@part
def _add_squares(arena, x, border, squared, line, rates, group, part):
    """Sums of squares of readings for the first right-hand side, and of relative errors for the known one, in line ``line``."""
    count, readings = len(squared.first) - 1, len(squared.entries) - 1
    at = line * (count + 1)
    wrong = zero(squared.sums)
    for s in range(count):
        total = zero(squared.sums)
        for r in range(squared.first[s], squared.first[s + 1]):
            own = part * readings + r
            y, error = zero(arena), polynomial(arena, squared.right, own, rates, group)
            for e in range(squared.entries[r], squared.entries[r + 1]):
                of = x + squared.places[e] * border
                y = plus_times(y, load(arena, of), squared.values, e)
                error = plus_times(error, load(arena, of + border - 1), squared.values, e)
            total = plus_square(total, y)
            wrong = plus_square(wrong, plus_times(zero(arena), error, squared.weights, own))
        store(squared.sums, at + s, total)
    store(squared.sums, at + count, wrong)


@kept(nogil=True)
def sweep(
    arena, fronts, stack, keep, x, coefficients, check, rates, parts, groups, out, read, read_at, read_values, waiting,
    changes, terms, squared,
):  # fmt: skip
    """Eliminate for the groups of frequencies ``groups[0]`` to ``groups[1]`` and write the answers to ``out``.

    For each group the lower triangle of the border's ``-B^T Z^-1 B`` by rows, and where L is kept (``keep >= 0``) the
    products of the rows (``read``, ``read_at``, ``read_values``: CSR with four coefficients an entry) with x, (rows, border).
    Where it is not, these are None, for which numba leaves out what needs L: the first response waits less.  So are ``changes``
    and ``terms`` where all entries are polynomials of the frequency, and ``squared`` where no squares are added up.

    The arena contains one front, its panel and its pivots; from ``stack`` on the updates waiting for their parents; and from
    ``keep`` on, unless it is negative, the columns of L of every front.  ``waiting`` (groups,) is scratch.
    """
    count, border = len(fronts.parents), fronts.border
    w = fronts.largest * fronts.largest
    d = w + fronts.largest * BLOCK
    at = 0
    for group in range(groups[0], groups[1]):
        top, depth, column = stack, 0, keep
        for g in range(count + 1):
            size, columns = _assemble(arena, fronts, g, coefficients, check, rates, group, parts[group])
            while depth > 0 and fronts.parents[waiting[depth - 1]] == g:
                depth -= 1
                top = _add_child(arena, fronts, waiting[depth], top, size)
            if g == count:
                break
            if changes is not None:
                _add_changes(arena, changes, g, group)
            if terms is not None:
                _add_terms(arena, terms, g, group, parts[group])
            for a in range(0, columns, BLOCK):
                b = min(a + BLOCK, columns)
                _factor(arena, size, a, b, w, d)
                _update(arena, size, a, b, w, top if b == columns else -1)
            left = size - columns
            top += left * (left + 1) // 2
            waiting[depth] = g
            depth += 1
            if keep >= 0:
                for i in range(size):
                    for j in range(min(i, columns)):
                        store(arena, column, load(arena, i * size + j))
                        column += 1
        # the border's triangle is left at the start of the arena
        for i in range(border):
            for k in range(i + 1):
                store(out, at, load(arena, i * border + k))
                at += 1
        if read is not None:
            substitute_back(arena, fronts, keep, x)
            for r in range(len(read) - 1):
                for b in range(border):
                    y = zero(arena)
                    for e in range(read[r], read[r + 1]):
                        # with the sign of the border's triangle
                        value = polynomial(arena, read_values, e, rates, group)
                        y = minus_product(y, value, load(arena, x + read_at[e] * border + b))
                    store(out, at, y)
                    at += 1
            if squared is not None:
                _add_squares(arena, x, border, squared, group - groups[0], rates, group, parts[group])
