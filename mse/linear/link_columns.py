"""Position actuators and force sensors: their constrained coordinates, the loads they carry, and how the loads turn.

All clusters of a unit are described about one point P, the unit's reference origin.  A cluster beyond links moves by
``g_root o g_1 o g_2 ...``.  To first order its twist about P is the sum of the twists of these motions,
``x_c = q + sum E_l w_l``, with w_l the motion of frame 0 relative to frame 1 along the axes of frame 1.  To second order,
two motions (d, a) and then (e, b) add ``a x e`` to the displacement and ``a x b/2`` to the rotation.  A link that carries
the load (F, T about P) therefore adds the mixed energy ``-F.(a x e) - T.(a x b)/2``: the load turns with its carrier.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..kernels.rotations import cross_matrix
from ..model.topology import Topology


class LinkTree:
    """The links of a topology: six constrained coordinates each, numbered after the free ones, and their order.

    ``upstream`` lists the links between each cluster and the root of its unit, ``names`` the constrained coordinates; ``first``
    maps a link's path to the number of its first coordinate among all.
    """

    def __init__(self, topology: Topology):
        t = self.topology = topology
        self.count = len(t.links)
        self.first: dict[str, int] = {}
        self.upstream: dict[int, tuple[int, ...]] = {}
        names = []
        for k, link in enumerate(t.links):
            el = t.elements[link.element]
            self.upstream[link.child] = (*self.upstream.get(link.parent, ()), k)
            self.first[el.path] = t.size + 6 * k
            names += [f"{el.path}.{c.name}" for c in (el.obj.inputs or el.obj.outputs)]
        self.names = tuple(names)
        self.beyond: list[list[int]] = [[] for _ in t.links]
        for cluster, links in self.upstream.items():
            for k in links:
                self.beyond[k].append(cluster)
        # (link, carriers): the link's load turns with its carriers, which are other links or the unit (-1)
        self.turning = []
        for k, link in enumerate(t.links):
            carriers = [*self.upstream.get(link.parent, ()), *([-1] if t.unit_of_cluster[link.child] else [])]
            if carriers:
                self.turning.append((k, carriers))
        self._seats = np.array([t.elements[link.element].frames[1] for link in t.links], dtype=int)
        self._signs = np.array([1.0 if link.forward else -1.0 for link in t.links])

    def twists(self, levers: np.ndarray, u: np.ndarray) -> np.ndarray:
        """E (links, 6, 6) from the frames' lever arms (frames, 3) about their units' reference points, and their orientations."""
        e = np.zeros((self.count, 6, 6))
        if self.count:
            seat, p = u[self._seats], levers[self._seats]
            e[:, :3, :3] = e[:, 3:, 3:] = seat
            e[:, :3, 3:] = np.cross(p[:, :, None], seat, axisa=1, axisb=1, axisc=1)
            # w is the motion of frame 0 seen from frame 1; if the link leads from 0 to 1, the far side moves by -w
            e *= self._signs[:, None, None]
        return e

    def columns(self, cluster: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates of x that move a cluster: its axis, the coordinate, and the index of the factor in :meth:`arms`."""
        t, axes = self.topology, np.arange(6)
        found = [(axes[:0],) * 3]
        if t.unit_of_cluster[cluster]:
            found.append((axes, 6 * (t.unit_of_cluster[cluster] - 1) + axes, 0 * axes))
        for k in self.upstream.get(cluster, ()):
            i, j = np.nonzero((axes[:, None] < 3) | (axes >= 3))  # displacements cause no rotation
            found.append((i, t.size + 6 * k + j, 1 + 36 * k + 6 * i + j))
        return tuple(np.concatenate(x) for x in zip(*found, strict=True))

    @staticmethod
    def arms(twists: np.ndarray) -> np.ndarray:
        """Factors by which coordinates move clusters: 1, then the entries of all twists; :meth:`columns` gives indices here."""
        return np.concatenate([[1.0], twists.ravel()])

    def transformation(self, twists: np.ndarray) -> sp.csr_matrix:
        """Z with ``x_clusters = Z (q, w)``."""
        t = self.topology
        clusters = t.clusters - 1
        found = [self.columns(c) for c in range(1, clusters + 1)]
        inner = np.arange(t.internal)
        rows = np.concatenate([6 * c + r for c, (r, _, _) in enumerate(found)] + [6 * clusters + inner])
        cols = np.concatenate([c for _, c, _ in found] + [6 * (t.units - 1) + inner])
        arms = self.arms(twists)
        values = np.concatenate([arms[f] for _, _, f in found] + [np.ones(t.internal)])
        shape = (6 * clusters + t.internal, t.size + 6 * self.count)
        z = sp.csr_matrix((values, (rows, cols)), shape=shape)
        z.eliminate_zeros()
        return z

    def turning_blocks(self, twists: np.ndarray, pull: np.ndarray) -> list[np.ndarray]:
        """For each link in ``turning``, the mixed stiffness (carriers, 6, 6) between its carriers' motion and its own.

        ``pull`` (clusters, 6) is the slope of the energy on each cluster, about its unit's reference point.
        """
        out = []
        for k, carriers in self.turning:
            load = -pull[self.beyond[k]].sum(axis=0)
            mixed = np.zeros((6, 6))
            mixed[3:, :3] = cross_matrix(load[:3])
            mixed[3:, 3:] = 0.5 * cross_matrix(load[3:])
            block = mixed @ twists[k]
            out.append(np.array([block if j < 0 else twists[j].T @ block for j in carriers]))
        return out

    def turning_coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns (blocks, 6, 6) in x of all blocks of :meth:`turning_blocks`."""
        t = self.topology
        axes = np.arange(6)
        rows, cols = [], []
        for k, carriers in self.turning:
            for j in carriers:
                there = (6 * (t.unit_of_cluster[t.links[k].child] - 1) if j < 0 else t.size + 6 * j) + axes
                i, h = np.meshgrid(there, t.size + 6 * k + axes, indexing="ij")
                rows.append(i)
                cols.append(h)
        return tuple(np.array(x, dtype=int).reshape(-1, 6, 6) for x in (rows, cols))
