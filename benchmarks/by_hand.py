"""The peer: what one would write today for the chain of plates on four wires, in NumPy and SciPy alone.

Vectorised over the wires, sparse, Newton on the full stiffness; good for this chain and nothing else.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh, splu
from scipy.spatial.transform import Rotation


def skew(v: np.ndarray) -> np.ndarray:
    """Cross-product matrices of vectors (n, 3)."""
    m = np.zeros((len(v), 3, 3))
    m[:, 0, 1], m[:, 0, 2], m[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    return m - m.transpose(0, 2, 1)


class Chain:
    """Plates 0..N-1 with wires (upper plate or -1 for the ground, attachment above, lower plate, attachment below)."""

    def __init__(self, stages: int, gravity: float = 9.81):
        self.n = stages
        corner = np.array([[0.1 * (1 - 2 * (k % 2)), 0.1 * (1 - 2 * (k // 2)), 0.0] for k in range(4)])
        plate = np.repeat(np.arange(stages), 4)
        place = np.tile(corner, (stages, 1))
        self.lower, self.upper = plate, plate - 1
        self.below = place + np.array([0.0, 0.0, 0.01])
        self.above = place - np.where(plate[:, None] > 0, np.array([0.0, 0.0, 0.01]), 0.0)
        radius = 2e-4 * np.sqrt(1 + 0.2 * (stages - plate))
        self.length = 0.5
        self.k1 = 2e11 * np.pi * radius**2 / self.length
        self.k2 = 2e11 / 2.6 * 0.5 * np.pi * radius**4 / self.length
        self.mass, self.inertia, self.g = 10.0, np.array([0.04, 0.05, 0.08]), gravity
        self.x = np.zeros((stages, 3))
        # a little lower than mse starts: plain Newton needs wires that already pull
        self.x[:, 2] = -0.521 * (np.arange(stages) + 1) + 0.01
        self.r = Rotation.identity(stages)

    def assemble(self):
        """Gradient (6 N,) and stiffness (6 N, 6 N) at the present poses; valid for wires without twist."""
        grounded = self.upper < 0
        turns = self.r.as_matrix()
        ra = np.einsum("nij,nj->ni", np.where(grounded[:, None, None], np.eye(3), turns[self.upper]), self.above)
        rb = np.einsum("nij,nj->ni", turns[self.lower], self.below)
        a = ra + np.where(grounded[:, None], 0.0, self.x[self.upper])
        d = self.x[self.lower] + rb - a
        dist = np.linalg.norm(d, axis=1)
        n = d / dist[:, None]
        tension = self.k1 * (dist - self.length)
        f = tension[:, None] * n
        nn = n[:, :, None] * n[:, None, :]
        block = self.k1[:, None, None] * nn + (tension / dist)[:, None, None] * (np.eye(3) - nn)
        twist = self.k2[:, None, None] * nn
        g = np.zeros((self.n, 6))
        rows, cols, values = [], [], []
        for i, ri, si in ((self.lower, rb, 1.0), (self.upper, ra, -1.0)):
            held = i >= 0
            np.add.at(g, i[held], si * np.hstack([f, np.cross(ri, f)])[held])
            for j, rj, sj in ((self.lower, rb, 1.0), (self.upper, ra, -1.0)):
                k = np.zeros((len(n), 6, 6))
                k[:, :3, :3] = block
                k[:, :3, 3:] = -block @ skew(rj)
                k[:, 3:, :3] = skew(ri) @ block
                k[:, 3:, 3:] = -skew(ri) @ block @ skew(rj) + twist
                k *= si * sj
                if ri is rj:
                    k[:, 3:, 3:] += 0.5 * si * (skew(f) @ skew(ri) + skew(ri) @ skew(f))
                both = held & (j >= 0)
                p, q = np.meshgrid(np.arange(6), np.arange(6), indexing="ij")
                rows.append((6 * i[both, None, None] + p).ravel())
                cols.append((6 * j[both, None, None] + q).ravel())
                values.append(k[both].ravel())
        g[:, 2] += self.mass * self.g
        shape = (6 * self.n, 6 * self.n)
        k = sp.csc_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(cols))), shape=shape)
        return g.ravel(), k

    def relax(self) -> int:
        """Newton to the working point; number of steps."""
        for step in range(50):
            g, k = self.assemble()
            if np.abs(g).max() < 1e-10 * self.mass * self.g * self.n:
                return step
            p = -splu(k).solve(g).reshape(-1, 6)
            self.x += p[:, :3]
            self.r = Rotation.from_rotvec(p[:, 3:]) * self.r
        raise RuntimeError("no convergence")

    def modes(self, count: int) -> np.ndarray:
        """Lowest frequencies in Hz."""
        _, k = self.assemble()
        m = sp.diags(np.tile(np.r_[[self.mass] * 3, self.inertia], self.n)).tocsc()
        if 6 * self.n <= count + 2:
            w2 = np.linalg.eigvals(np.linalg.solve(m.toarray(), k.toarray())).real
        else:
            w2 = eigsh(k, count, m, sigma=-1e-6, return_eigenvectors=False)
        return np.sqrt(np.sort(w2)[:count]) / (2 * np.pi)
