"""The peer by hand: what one would write today for these tasks in NumPy and SciPy (and numba) alone.

The chain of plates on four wires is vectorized over the wires, sparse, with Newton's method on the full stiffness; it is good
for this chain and nothing else.
"""

from __future__ import annotations

import numba
import numpy as np
import scipy.linalg
import scipy.signal
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
        self.length = np.full(4 * stages, 0.5)
        self.axial = 2e11 * np.pi * radius**2
        self.torsional = 2e11 / 2.6 * 0.5 * np.pi * radius**4
        self.mass, self.inertia, self.g = 10.0, np.array([0.04, 0.05, 0.08]), gravity
        self.place()

    def place(self) -> None:
        """Put the plates where the search starts, a little lower than mse does: plain Newton needs wires that already pull."""
        self.x = np.zeros((self.n, 3))
        self.x[:, 2] = -0.521 * (np.arange(self.n) + 1) + 0.01
        self.r = Rotation.identity(self.n)

    def assemble(self):
        """Gradient (6 N,) and stiffness (6 N, 6 N) at the present poses; valid for wires without twist.

        Kept beside them: the forces on the first plate for a unit motion of the ground along x.
        """
        k1, k2 = self.axial / self.length, self.torsional / self.length
        grounded = self.upper < 0
        turns = self.r.as_matrix()
        ra = np.einsum("nij,nj->ni", np.where(grounded[:, None, None], np.eye(3), turns[self.upper]), self.above)
        rb = np.einsum("nij,nj->ni", turns[self.lower], self.below)
        a = ra + np.where(grounded[:, None], 0.0, self.x[self.upper])
        d = self.x[self.lower] + rb - a
        dist = np.linalg.norm(d, axis=1)
        n = d / dist[:, None]
        tension = k1 * (dist - self.length)
        f = tension[:, None] * n
        nn = n[:, :, None] * n[:, None, :]
        block = k1[:, None, None] * nn + (tension / dist)[:, None, None] * (np.eye(3) - nn)
        twist = k2[:, None, None] * nn
        pull = block[grounded, :, 0]
        self.drive = np.hstack([pull, np.cross(rb[grounded], pull)]).sum(axis=0)
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

    def masses(self) -> sp.csc_matrix:
        """Mass matrix, the moments of inertia turned with the plates."""
        turns = self.r.as_matrix()
        blocks = np.zeros((self.n, 6, 6))
        blocks[:, range(3), range(3)] = self.mass
        blocks[:, 3:, 3:] = turns * self.inertia @ turns.transpose(0, 2, 1)
        at = np.arange(self.n)
        return sp.bsr_matrix((blocks, at, np.arange(self.n + 1)), shape=(6 * self.n, 6 * self.n)).tocsc()

    def modes(self, count: int) -> np.ndarray:
        """Lowest frequencies in Hz."""
        _, k = self.assemble()
        if 6 * self.n <= max(count + 2, 60):
            w2 = scipy.linalg.eigh(k.toarray(), self.masses().toarray(), eigvals_only=True)
        else:
            w2 = eigsh(k, count, self.masses(), sigma=-1e-6, return_eigenvectors=False)
        return np.sqrt(np.sort(w2)[:count]) / (2 * np.pi)

    def response(self, frequencies: np.ndarray) -> np.ndarray:
        """The last plate's x over the ground's x, (f,), by NumPy's solution of all frequencies at once."""
        _, k = self.assemble()
        w = 2 * np.pi * frequencies[:, None, None]
        load = np.zeros((len(w), 6 * self.n, 1))
        load[:, :6, 0] = self.drive
        return np.linalg.solve(k.toarray() - w**2 * self.masses().toarray(), load)[:, -6, 0]


class Steps:
    """``x' = P x + Q u``, ``y = C x + D u`` one step at a time, inputs held: SciPy's exponential and NumPy's products."""

    def __init__(self, a, b, c, d, dt: float):
        self.p, self.q, self.c, self.d, _ = scipy.signal.cont2discrete((a, b, c, d), dt)
        self.x, self.u = np.zeros(len(a)), np.zeros(b.shape[1])

    def read(self) -> np.ndarray:
        return self.c @ self.x + self.d @ self.u

    def step(self) -> None:
        self.x = self.p @ self.x + self.q @ self.u


@numba.njit
def run(p, q, c, d, gain, steps):
    """Steps with the controller ``u[0] = -gain (y[0] - y[0] before)`` compiled into the loop; the outputs seen."""
    x, u, y = np.zeros(len(p)), np.zeros(q.shape[1]), np.zeros((steps, len(c)))
    before, after = 0.0, np.zeros(len(p))
    for k in range(steps):
        for i in range(len(c)):
            for j in range(len(x)):
                y[k, i] += c[i, j] * x[j]
            for j in range(len(u)):
                y[k, i] += d[i, j] * u[j]
        u[0] = -gain * (y[k, 0] - before)
        before = y[k, 0]
        for i in range(len(x)):
            after[i] = 0.0
            for j in range(len(x)):
                after[i] += p[i, j] * x[j]
            for j in range(len(u)):
                after[i] += q[i, j] * u[j]
        x, after = after, x
    return y
