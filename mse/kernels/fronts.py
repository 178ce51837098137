"""Symbolic elimination without pivoting: columns of L grouped into dense fronts, found once per pattern.

Multifrontal form: J. W. H. Liu, SIAM Review 34 (1992) 82.  A *node* is a set of coordinates with the same neighbors; a *group*
is a set of nodes eliminated together in one dense front; *border* coordinates, numbered after all others, are never
eliminated.
"""

from __future__ import annotations

import numpy as np

from .jit import shared, when_large


@when_large
def gathered(rows, columns, kinds, values, height, width):
    """Sum entries, which have four kinds of values, by place: ``(first, rows, values (k, 4))`` by columns, diagonal first."""
    start = np.zeros(width + 1, np.int64)
    for c in columns:
        start[c + 1] += 1
    for j in range(width):
        start[j + 1] += start[j]
    order, next_one = np.empty(len(rows), np.int64), start.copy()
    for e in range(len(rows)):
        order[next_one[columns[e]]] = e
        next_one[columns[e]] += 1
    first = np.zeros(width + 1, np.int64)
    place = np.full(height, -1)
    out_rows, out = np.empty(len(rows) + width, np.int64), np.zeros((len(rows) + width, 4))
    used = 0
    for j in range(width):
        place[j] = used
        out_rows[used] = j
        used += 1
        for k in range(start[j], start[j + 1]):
            e = order[k]
            # stored zeros couple nothing
            if values[e] != 0.0:
                i = rows[e]
                if place[i] < first[j]:
                    place[i] = used
                    out_rows[used] = i
                    used += 1
                out[place[i], kinds[e]] += values[e]
        first[j + 1] = used
    return first, out_rows[:used], out[:used]


def signatures(first, rows):
    """A number for each column of a symmetric pattern (border rows apart); equal columns have equal numbers, (n,) uint64."""
    # splitmix64, S. Vigna; sums of unsigned numbers wrap around consistently
    z = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = np.where(rows < len(first) - 1, z ^ (z >> np.uint64(31)), np.uint64(0))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(z)])
    return sums[first[1:]] - sums[first[:-1]]


@when_large
def blocks(first, rows, wide):
    """A number for each column of a symmetric pattern, (n,), equal for ``wide`` successive ones with many common neighbors.

    Bodies are such blocks.  Each becomes one node, so the graph is small; the fill that this adds is at most four times the
    stored entries.  Columns without neighbors, such as rotations of a body held by springs at its center, stay alone; border
    rows do not count.
    """
    n = len(first) - 1
    out = np.arange(n)
    seen, coupled = np.full(n, -1), np.zeros(n, np.bool_)
    for a in range(0, n - wide + 1, wide):
        union, members, stored = 0, 0, 0
        for j in range(a, a + wide):
            inner = 0
            for k in range(first[j], first[j + 1]):
                if rows[k] < n:
                    inner += 1
            coupled[j] = inner > 1
            if inner > 1:
                members += 1
                stored += inner
                for k in range(first[j], first[j + 1]):
                    if rows[k] < n and seen[rows[k]] != a:
                        seen[rows[k]] = a
                        union += 1
        if union * members <= 4 * stored:
            for j in range(a, a + wide):
                if coupled[j]:
                    out[j] = a
    return out


@when_large
def nodes(first, rows, label, count, border):
    """Neighbors of each node, including itself and border rows: ``(first, neighbors)``; border rows count from ``count``."""
    n = len(label)
    member, follows = np.full(count, -1), np.empty(n, np.int64)
    for j in range(n):
        follows[j] = member[label[j]]
        member[label[j]] = j
    start = np.zeros(count + 1, np.int64)
    out = np.empty(len(rows), np.int64)
    seen = np.full(count + border, -1)
    used = 0
    for v in range(count):
        j = member[v]
        while j >= 0:
            for k in range(first[j], first[j + 1]):
                i = label[rows[k]] if rows[k] < n else count + rows[k] - n
                if seen[i] != v:
                    seen[i] = v
                    out[used] = i
                    used += 1
            j = follows[j]
        start[v + 1] = used
    return start, out[:used]


@when_large
def structures(first, neighbors, order, border):
    """Rows below the diagonal in each node's columns of L, with nodes in elimination order: ``(first, rows, parent)``.

    Border rows count from ``len(order)``; the last of them, if any, is in every column.  ``parent`` is -1 for roots.
    """
    count = len(order)
    most = count + border
    rank = np.empty(most, np.int64)
    for v in range(count):
        rank[order[v]] = v
    for k in range(count, most):
        rank[k] = k
    start = np.zeros(count + 1, np.int64)
    parent, child, sibling = np.full(count, -1), np.full(count, -1), np.full(count, -1)
    seen = np.full(most, -1)
    rows = np.empty(2 * len(neighbors) + 16, np.int64)
    used = 0
    for v in range(count):
        if used + most > len(rows):
            more = np.empty(2 * len(rows) + most, np.int64)
            for k in range(used):
                more[k] = rows[k]
            rows = more
        seen[v] = v
        if border:
            seen[most - 1] = v
            rows[used] = most - 1
            used += 1
        lowest = most
        for k in range(first[order[v]], first[order[v] + 1]):
            i = rank[neighbors[k]]
            if i > v and seen[i] != v:
                seen[i] = v
                rows[used] = i
                used += 1
                lowest = min(lowest, i)
        c = child[v]
        while c >= 0:
            for k in range(start[c], start[c + 1]):
                i = rows[k]
                if seen[i] != v:
                    seen[i] = v
                    rows[used] = i
                    used += 1
                    lowest = min(lowest, i)
            c = sibling[c]
        start[v + 1] = used
        if lowest < count:
            parent[v] = lowest
            sibling[v] = child[lowest]
            child[lowest] = v
    return start, rows[:used], parent


@shared
def work(columns, size):
    """Rough number of processor cycles for eight frequencies of a complex front (size, size) with ``columns`` eliminated.

    Fitted to measurements: a vector of multiplications per cycle, three cycles per vector moved, and a cost per front.
    """
    left = size - columns
    products = (size * (size + 1) * (size + 2) - left * (left + 1) * (left + 2)) / 6.0
    return 4.5 * products + 8.0 * (size * size + left * left) + 40.0 * size + 200.0


@when_large
def groups(parent, weight, below):
    """Join nodes with their parents if that saves work: ``(top, order, parents)``.

    ``weight`` (nodes,) counts the coordinates of a node, ``below`` the rows of L under it.  ``top`` is the last node of each
    node's group; ``order`` lists these so that children come before parents and a stack can keep their updates; ``parents``
    gives the number of each one's parent in ``order``, ``len(order)`` for roots.
    """
    count = len(parent)
    into = np.arange(count)
    wide = weight.copy()
    child, sibling = np.full(count + 1, -1), np.full(count, -1)
    for v in range(count):
        c, before = child[v], -1
        while c >= 0:
            after = sibling[c]
            together = work(wide[v] + wide[c], wide[v] + wide[c] + below[v])
            if together <= work(wide[v], wide[v] + below[v]) + work(wide[c], wide[c] + below[c]):
                into[c] = v
                wide[v] += wide[c]
                # its children replace it in the list and are tried in turn
                if child[c] >= 0:
                    last = child[c]
                    while sibling[last] >= 0:
                        last = sibling[last]
                    sibling[last] = after
                    after = child[c]
                if before < 0:
                    child[v] = after
                else:
                    sibling[before] = after
            else:
                before = c
            c = after
        up = parent[v] if parent[v] >= 0 else count
        sibling[v] = child[up]
        child[up] = v
    top = np.empty(count, np.int64)
    for v in range(count - 1, -1, -1):
        top[v] = v if into[v] == v else top[into[v]]
    order, number = np.empty(count, np.int64), np.full(count + 1, -1)
    used = 0
    path = np.empty(count + 1, np.int64)
    path[0], deep = count, 1
    while deep > 0:
        v = path[deep - 1]
        c = child[v]
        if c >= 0:
            child[v] = sibling[c]
            path[deep] = c
            deep += 1
        else:
            deep -= 1
            number[v] = used
            if v < count:
                order[used] = v
                used += 1
    parents = np.empty(used, np.int64)
    for k in range(used):
        up = parent[order[k]]
        parents[k] = number[top[up]] if up >= 0 else used
    return top, order[:used], parents


@when_large
def inside(first_column, first_row, rows, parents, border):
    """Place of each group's rows in its parent's front, like ``rows``; roots refer to the border coordinates."""
    count = len(first_column) - 1
    size = first_column[count]
    place = np.zeros(size + border, np.int64)
    out = np.empty(len(rows), np.int64)
    child, sibling = np.full(count + 1, -1), np.full(count, -1)
    for g in range(count):
        sibling[g] = child[parents[g]]
        child[parents[g]] = g
    for g in range(count + 1):
        if g == count:
            for k in range(border):
                place[size + k] = k
        else:
            columns = first_column[g + 1] - first_column[g]
            for j in range(columns):
                place[first_column[g] + j] = j
            for k in range(first_row[g], first_row[g + 1]):
                place[rows[k]] = columns + k - first_row[g]
        c = child[g]
        while c >= 0:
            for k in range(first_row[c], first_row[c + 1]):
                out[k] = place[rows[k]]
            c = sibling[c]
    return out


@when_large
def lower_triangle(first, rows, place, node, first_column, first_row, front_rows, border):
    """Entries of the lower triangle by group, where each group begins, and their places in its square front, by rows.

    ``place`` and ``node`` cover all coordinates and the border.  A node's structure contains the nodes after it in the
    fill-reducing ordering.  If one of two mirrored entries is zero, only the later node may have the other one, which is
    rounding.
    """
    n, count = len(first) - 1, len(first_column) - 1
    column_of = np.empty(n, np.int64)
    for j in range(n):
        column_of[place[j]] = j
    out, places = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    start, at = np.zeros(count + 1, np.int64), np.zeros(n + border, np.int64)
    used = 0
    for g in range(count):
        begin, columns = first_column[g], first_column[g + 1] - first_column[g]
        size = columns + first_row[g + 1] - first_row[g]
        for k in range(columns):
            at[begin + k] = k
        for k in range(first_row[g], first_row[g + 1]):
            at[front_rows[k]] = columns + k - first_row[g]
        for k in range(columns):
            j = column_of[begin + k]
            for e in range(first[j], first[j + 1]):
                i = rows[e]
                if node[i] > node[j] or (node[i] == node[j] and place[i] >= begin + k):
                    out[used] = e
                    places[used] = at[place[i]] * size + k
                    used += 1
        start[g + 1] = used
    return out[:used], start, places[:used]


@when_large
def stack_peak(first_column, first_row, parents):
    """Most entries that updates of eliminated groups take at one time, and the size of the largest front."""
    count = len(first_column) - 1
    taken = np.zeros(count + 1, np.int64)
    now = peak = largest = 0
    for g in range(count):
        left = first_row[g + 1] - first_row[g]
        largest = max(largest, first_column[g + 1] - first_column[g] + left)
        now += left * (left + 1) // 2 - taken[g]
        taken[parents[g]] += left * (left + 1) // 2
        peak = max(peak, now)
    return peak, largest
