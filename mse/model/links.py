"""Position actuators and force sensors, which link clusters rigidly while the working point is sought."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..pose import Pose
from .frame_tree import inverse

if TYPE_CHECKING:
    from .topology import Topology


@dataclass(frozen=True, eq=False)
class Link:
    """A position actuator or force sensor as a tree edge between clusters, pointing away from the unit's root.

    ``forward`` is True if frame 1 is on the root's side.
    """

    element: int
    parent: int
    child: int
    forward: bool


class LinkedUnits:
    """Clusters joined by position actuators and force sensors: each one's root (clusters,) and its pose relative to it.

    ``o`` (clusters, 3), ``U`` (clusters, 3, 3) are the clusters' first frames relative to the reference frame of their unit.
    """

    def __init__(self, topology: Topology, linked: list[int], weights: np.ndarray, seen: tuple[np.ndarray, np.ndarray]):
        t = topology

        def in_cluster(frame: int) -> Pose:
            return Pose._of(seen[0][frame], seen[1][frame])

        self.roots = np.arange(t.clusters)
        self.o, self.U = inverse(seen[0][t.masters], seen[1][t.masters])
        self.links: list[Link] = []
        neighbors: dict[int, list[tuple[int, int]]] = {}
        for k in linked:
            a, b = (int(t.cluster[f]) for f in t.elements[k].frames[:2])
            if a == b:
                t.refuse_rigid_loop(k)
            neighbors.setdefault(a, []).append((b, k))
            neighbors.setdefault(b, []).append((a, k))
        done: set[int] = set()
        heaviest_first = sorted(sorted(neighbors), key=lambda c: -weights[c])
        for root in [c for c in (0,) if c in neighbors] + heaviest_first:
            if root in done:
                continue
            done.add(root)
            queue = deque([(root, -1)])
            while queue:
                c, came_by = queue.popleft()
                for d, k in neighbors[c]:
                    if k == came_by:
                        continue
                    if d in done:
                        t.refuse_rigid_loop(k)
                    done.add(d)
                    f0, f1 = (int(f) for f in t.elements[k].frames[:2])
                    here, there = (f1, f0) if t.cluster[f1] == c else (f0, f1)
                    placed = Pose._of(self.o[c], self.U[c]) @ in_cluster(here) @ in_cluster(there).inverse()
                    self.o[d], self.U[d], self.roots[d] = placed.o, placed.U, root
                    self.links.append(Link(k, c, d, here == f1))
                    queue.append((d, k))
