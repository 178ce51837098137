"""Loops of nested dissection: distances in a graph, and the fewest nodes that separate two of its sides.

The neighbors of node v are ``neighbors[first[v]:first[v + 1]]``, which may include v itself.
"""

from __future__ import annotations

from .jit import when_large


@when_large
def distances(first, neighbors, part, start, distance, reached):
    """Fill distances (n,) from ``start`` within its part; returns how many nodes are ``reached``, listed nearest first.

    ``distance`` is negative for nodes not reached yet.
    """
    reached[0] = start
    distance[start] = 0
    count, k = 1, 0
    while k < count:
        v = reached[k]
        k += 1
        for e in range(first[v], first[v + 1]):
            u = neighbors[e]
            if part[u] == part[start] and distance[u] < 0:
                distance[u] = distance[v] + 1
                reached[count] = u
                count += 1
    return count


@when_large
def separator(first, neighbors, side, left, mate, seen, following, path, found):
    """The smallest set of nodes that covers all edges between sides 1 and 2; returns its size, and puts it in front of ``found``.

    The set is as large as a largest matching (D. Koenig 1931), which grows along augmenting paths.  ``left`` are the nodes of
    side 1; ``mate`` and ``seen`` (n,) are negative before and after; ``following`` and ``path`` (n,) are scratch.
    """
    for v in left:
        for e in range(first[v], first[v + 1]):
            u = neighbors[e]
            if mate[v] < 0 and side[u] == 2 and mate[u] < 0:
                mate[u], mate[v] = v, u
    used = 0  # number of nodes in ``found`` without a path to an unmatched node; later searches find none either
    for root in left:
        if mate[root] >= 0:
            continue
        path[0], following[root], deep, tried = root, first[root], 1, used
        while deep > 0:
            v = path[deep - 1]
            if following[v] == first[v + 1]:
                deep -= 1
                continue
            u = neighbors[following[v]]
            following[v] += 1
            if side[u] != 2 or seen[u] >= 0:
                continue
            seen[u] = root
            found[tried] = u
            tried += 1
            w = mate[u]
            if w >= 0:
                path[deep], following[w] = w, first[w]
                deep += 1
                continue
            while deep > 0:
                deep -= 1
                v = path[deep]
                mate[u], u, mate[v] = v, mate[v], u
            for k in range(used, tried):
                seen[found[k]] = -1
            tried = used
        used = tried
    count = 0
    for k in range(used):
        mate[mate[found[k]]] = -1  # covered from side 2
    for v in left:
        if mate[v] >= 0:
            found[used + count] = v
            count += 1
    for k in range(used + count):
        u = found[k]
        v = mate[u]
        mate[u] = seen[u] = -1
        if v >= 0:
            mate[v] = seen[v] = -1
    return used + count
