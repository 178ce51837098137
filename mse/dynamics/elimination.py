"""In which order bodies and the rows of their joints are eliminated: from the leaves of a spanning tree to its root."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np


class Fronts(NamedTuple):
    """Fronts of an elimination, one for each body, as :class:`mse.kernels.multibody.Model` describes them.

    ``of_joint`` (E, 4) are the front of each joint, and in it the places of its bodies and rows; ``tree`` (E,) whether a body
    hangs on it.
    """

    fronts: np.ndarray
    columns: np.ndarray
    of_joint: np.ndarray
    tree: np.ndarray


def eliminated(bodies: int, joints: np.ndarray, first_row: np.ndarray, jointed: int, row_of: np.ndarray) -> Fronts:
    """The fronts of so many bodies, numbered from 1, on joints between two of them or the ground (E, 2), 0.

    Rows of joint e are numbered from ``first_row[e]`` to ``first_row[e + 1]``.  The first ``jointed`` are joints: their rows hold
    nothing when both bodies move as one.  All others may, as gears do.  One with further bodies of the row of another has the
    number of that one in ``row_of`` (E,); all others have their own.
    """
    hangs_on, order = spanned(bodies, joints[:jointed])
    tree = np.zeros(len(joints), dtype=bool)
    tree[[e for e in hangs_on.values() if e >= 0]] = True
    ends = [sorted({int(b) for b in pair if b}) for pair in joints]
    # nodes: bodies by their numbers, rows that close loops by -1 - e
    closing: dict[int, list[int]] = {}
    for e in np.flatnonzero(~tree):
        closing.setdefault(int(-1 - row_of[e]), []).extend(joints[e].tolist())
    cycles = _cycles(order, closing, {-1 - e for e in range(jointed, len(joints))})
    around: dict[int, set[int]] = {b: set() for b in range(1, bodies + 1)}
    for e, own in enumerate(ends):
        row = set() if tree[e] else {int(-1 - row_of[e])}
        for b in own:
            around[b] |= set(own) - {b} | row
    left = Counter(order.values())  # bodies that hang on each, not yet eliminated
    ready, rank, left_of = {b for b in around if not left[b]}, {}, []
    while ready:
        b = min(ready, key=lambda b: (len(around[b]), b))
        ready.remove(b)
        rank[b] = len(rank)
        own = [b, *([-1 - hangs_on[b]] if hangs_on[b] >= 0 else [])]
        own += sorted((n for n in around[b] if n < 0 and cycles[n] <= rank.keys()), reverse=True)
        rest = around[b] - set(own)
        left_of.append((own, rest))
        for n in rest:
            if n > 0:
                around[n] = (around[n] | rest) - {n, *own}
        if (p := order[b]) and not (left.__setitem__(p, left[p] - 1) or left[p]):
            ready.add(p)
    return _arranged(bodies, joints, first_row, row_of, tree, left_of)


def spanned(bodies: int, joints: np.ndarray) -> tuple[dict[int, int], dict[int, int]]:
    """The joint that each body hangs on, -1 for none, and the body on the other side, 0 for the ground; nearest to it first."""
    touching: list[list[tuple[int, int]]] = [[] for _ in range(bodies + 1)]
    for e, (one, two) in enumerate(joints.tolist()):
        if one != two:
            touching[one].append((e, two))
            touching[two].append((e, one))
    hangs_on, carrier = {}, {}
    for root in range(bodies + 1):
        if root and root not in hangs_on:
            hangs_on[root], carrier[root] = -1, 0
        elif root:
            continue
        reached = [root]
        for b in reached:
            for e, other in touching[b]:
                if other and other not in hangs_on:
                    hangs_on[other], carrier[other] = e, b
                    reached.append(other)
    return hangs_on, carrier


def _cycles(carrier: dict[int, int], closing: dict[int, list[int]], whole: set[int]) -> dict[int, set[int]]:
    """The bodies on the way between two on a tree, with both, but without the one that carries all others.

    A row between both moves none of the rest: its pivot vanishes only if it depends on rows before it.  If one of these bodies
    were left, the row might hold it, and its pivot would vanish all the same.  Rows that are ``whole`` move all that carries
    their bodies, down to the ground.
    """
    depth, found = {0: 0}, {}
    for b, below in carrier.items():  # from the ground on
        depth[b] = depth[below] + 1
    for n, own in closing.items():
        found[n] = set()
        if n in whole:
            for b in own:
                while b:
                    found[n].add(b)
                    b = carrier[b]
            continue
        one, two = own
        while one != two:
            one, two = (one, two) if depth[one] >= depth[two] else (two, one)
            found[n].add(one)
            one = carrier[one]
    return found


def _arranged(
    bodies: int, joints: np.ndarray, first_row: np.ndarray, row_of: np.ndarray, tree: np.ndarray,
    left_of: list[tuple[list[int], set[int]]],
) -> Fronts:  # fmt: skip
    def coordinates(node: int) -> list[int]:
        if node > 0:
            return list(range(6 * node - 6, 6 * node))
        return list(range(6 * bodies + int(first_row[-1 - node]), 6 * bodies + int(first_row[-node])))

    place = {n: (f, k) for f, (own, _) in enumerate(left_of) for k, n in enumerate(own)}
    fronts, numbers, places, rests, room = [], [], [], [], 0
    for own, rest in left_of:
        nodes = [*own, *(behind := sorted(rest, key=place.__getitem__))]
        own_numbers = [coordinates(n) for n in nodes]
        starts = np.cumsum([0, *map(len, own_numbers)]).tolist()
        places.append(dict(zip(nodes, starts, strict=False)))
        rests.append(behind)
        parent = place[behind[0]][0] if behind else -1
        fronts.append((own[0], starts[len(own)], starts[-1], room, room, parent))
        numbers.append([n for each in own_numbers for n in each])
        room += starts[-1]
    inside = [np.zeros(len(own), dtype=int) for own in numbers]
    for f, behind in enumerate(rests):
        for n in behind:
            count, start = len(coordinates(n)), places[f][n]
            inside[f][start : start + count] = places[fronts[f][5]][n] + np.arange(count)
    of_joint = np.full((len(joints), 4), -1)
    for e, pair in enumerate(joints.tolist()):
        own = [place[b][0] for b in pair if b]
        if not own:
            continue
        f = min(own)
        of_joint[e] = f, *(places[f][b] if b else -1 for b in pair), places[f][-1 - row_of[e]]
    columns = np.stack([np.concatenate(x).astype(int) for x in (numbers, inside)], axis=1)
    return Fronts(np.array(fronts, dtype=int).reshape(-1, 6), columns, of_joint, tree)
