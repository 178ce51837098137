"""Which rows of a sparse matrix depend on others, by elimination."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def eliminate(indptr, indices, data, columns, order, threshold, tolerance):
    """Pivot column of each row of a CSR matrix (m, columns), or -1 where it depends on rows before it.

    Rows are taken in the order given.  The pivot is the first column whose entry is at least ``threshold`` times the largest
    in what is left of the row: with columns numbered along a chain, the front moves along it and fills in nothing.  A row is
    dependent where less than ``tolerance`` of its largest entry is left.
    """
    m = len(indptr) - 1
    pivot, row_of_column = np.empty(m, np.int64), np.empty(columns, np.int64)
    for k in range(m):
        pivot[k] = -1
    for k in range(columns):
        row_of_column[k] = -1
    start, length = np.zeros(m, np.int64), np.zeros(m, np.int64)
    kept_columns, kept_values = np.empty(max(4 * len(indices), 16), np.int64), np.empty(max(4 * len(indices), 16))
    used = 0
    work, where = np.zeros(columns), np.empty(columns, np.int64)
    inside = np.zeros(columns, np.bool_)
    todo = np.empty(m, np.int64)
    turn = np.zeros(m, np.int64)
    for position in range(m):
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
            largest = max(largest, abs(data[k]))
        # earlier rows in the order in which they were kept: each brings in only later ones
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
            left = max(left, abs(work[where[k]]))
        if left > tolerance * largest and left > 0.0:
            chosen = -1
            for k in range(count):
                c = where[k]
                if abs(work[c]) >= threshold * left and (chosen < 0 or c < chosen):
                    chosen = c
            pivot[row] = chosen
            row_of_column[chosen] = row
            if used + count > len(kept_values):
                more = max(2 * len(kept_values), used + count)
                columns_now, values_now = np.empty(more, np.int64), np.empty(more)
                for k in range(used):  # slices would take long to compile
                    columns_now[k], values_now[k] = kept_columns[k], kept_values[k]
                kept_columns, kept_values = columns_now, values_now
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
    return pivot
