"""Which rows of a sparse matrix depend on others, found by elimination."""

from __future__ import annotations

import numpy as np

from .jit import compiled


@compiled
def alone(indptr, indices, data, threshold, pivot, count, rows, waiting):
    """Pivot columns of rows (m,) with a column that no other row has, once such rows are taken away, in ``pivot``.

    These rows depend on no others and need no elimination.  The pivot is the first such column whose entry is at least
    ``threshold`` times the largest of the row.  ``count``, ``rows`` and ``waiting`` (columns,) are room for the rows left by
    column, the sum of their numbers, and the columns with one row left; a column that starts with a count is none of these.
    """
    for row in range(len(pivot)):
        for k in range(indptr[row], indptr[row + 1]):
            count[indices[k]] += 1
            rows[indices[k]] += row
    left = 0
    for c in range(len(count)):
        if count[c] == 1:
            waiting[left] = c
            left += 1
    while left > 0:
        left -= 1
        c = waiting[left]
        if count[c] != 1:
            continue
        row, chosen = rows[c], -1
        largest = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            largest = max(largest, abs(data[k]))
        for k in range(indptr[row], indptr[row + 1]):
            c = indices[k]
            if count[c] == 1 and abs(data[k]) >= threshold * largest > 0.0 and (chosen < 0 or c < chosen):
                chosen = c
        if chosen < 0:
            continue
        pivot[row] = chosen
        for k in range(indptr[row], indptr[row + 1]):
            c = indices[k]
            count[c] -= 1
            rows[c] -= row
            if count[c] == 1:
                waiting[left] = c
                left += 1


def eliminate(indptr, indices, data, columns, order, threshold, tolerance):
    """Pivot column of each row of a CSR matrix (m, columns), or -1 if it depends on rows before it.

    Rows are eliminated in the given order.  The pivot is the first column whose entry is at least ``threshold`` times the largest
    one left in the row: with columns numbered along a chain, the front moves along it without fill.  A row is dependent if less
    than ``tolerance`` of its largest entry is left.
    """
    m = len(indptr) - 1
    pivot, start, length, todo, turn = np.full((5, m), -1, dtype=np.int64)
    row_of_column, where = np.full((2, columns), -1, dtype=np.int64)
    work, inside = np.zeros(columns), np.zeros(columns, dtype=bool)
    room = 4 * len(indices) + columns
    kept_columns, kept_values = np.empty(room, dtype=np.int64), np.empty(room)
    done = 0
    while True:
        done = _eliminate(
            indptr, indices, data, order, threshold, tolerance, done, pivot, row_of_column, start, length, todo, turn,
            kept_columns, kept_values, work, where, inside,
        )  # fmt: skip
        if done == m:
            return pivot
        # allocate between rows, outside the kernel: kernels that allocate take longer to compile
        kept_columns = np.concatenate([kept_columns, np.empty_like(kept_columns)])
        kept_values = np.concatenate([kept_values, np.empty_like(kept_values)])


@compiled
def _eliminate(
    indptr, indices, data, order, threshold, tolerance, done, pivot, row_of_column, start, length, todo, turn,
    kept_columns, kept_values, work, where, inside,
):  # fmt: skip
    """Eliminate rows from ``done`` on; returns how many are done when memory may run out, or at the end."""
    used = 0
    for position in range(done):
        row = order[position]
        if pivot[row] >= 0:
            used = start[row] + length[row]
    for position in range(done, order.shape[0]):
        if used + work.shape[0] > kept_columns.shape[0]:
            return position
        row = order[position]
        turn[row] = position
        count = waiting = 0
        largest = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            c = indices[k]
            if not inside[c]:
                inside[c] = True
                where[count] = c
                count += 1
                if row_of_column[c] >= 0:
                    todo[waiting] = row_of_column[c]
                    waiting += 1
            work[c] += data[k]
            if abs(data[k]) > largest:
                largest = abs(data[k])
        # earlier rows in the order in which they were stored: each adds only later ones
        while waiting > 0:
            best = 0
            for k in range(1, waiting):
                if turn[todo[k]] < turn[todo[best]]:
                    best = k
            r = todo[best]
            waiting -= 1
            todo[best] = todo[waiting]
            factor = work[pivot[r]] / kept_values[start[r]]
            work[pivot[r]] = 0.0
            if factor == 0.0:
                continue
            for k in range(start[r] + 1, start[r] + length[r]):
                c = kept_columns[k]
                if not inside[c]:
                    inside[c] = True
                    where[count] = c
                    count += 1
                    if row_of_column[c] >= 0:
                        todo[waiting] = row_of_column[c]
                        waiting += 1
                work[c] -= factor * kept_values[k]
        left = 0.0
        for k in range(count):
            if abs(work[where[k]]) > left:
                left = abs(work[where[k]])
        if left > tolerance * largest and left > 0.0:
            chosen = -1
            for k in range(count):
                c = where[k]
                if abs(work[c]) >= threshold * left and (chosen < 0 or c < chosen):
                    chosen = c
            pivot[row] = chosen
            row_of_column[chosen] = row
            start[row] = used
            kept_columns[used], kept_values[used] = chosen, work[chosen]
            used += 1
            for k in range(count):
                c = where[k]
                if c != chosen and abs(work[c]) > 1e-16 * left:
                    kept_columns[used], kept_values[used] = c, work[c]
                    used += 1
            length[row] = used - start[row]
        for k in range(count):
            work[where[k]] = 0.0
            inside[where[k]] = False
    return order.shape[0]
