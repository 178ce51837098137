"""Frequency responses: 1,000 frequencies, one input and one output, viscous and structural damping.

The peers are loops over ``splu`` as it comes (COLAMD and partial pivoting, matrices added by SciPy) and as well as it can be
set (minimum degree on the symmetric pattern, diagonal pivots, values on one pattern), and over Pardiso.  They are timed at a
few of the frequencies and scaled to 1,000.  Errors: against that loop refined, at those frequencies, relative to the largest
response.  All use as many threads as they can: ours and Pardiso all processors, SuperLU one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import mse

from . import measure
from .pardiso import ComplexSymmetric
from .peers import peer
from .table import Row

FREQUENCIES = 1000
GRID = np.geomspace(0.05, 20.0, FREQUENCIES)
LOSS = 0.005
SYMMETRIC = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}


def assembled(bodies: int, links, block: int = 6):
    """K, Lambda and M of bodies with random inertia joined by random stiffnesses about levers; (a, -1) goes to the ground."""
    rng = np.random.default_rng(1)

    def definite(low):
        a = rng.standard_normal((block, block))
        return a @ a.T / block + low * np.eye(block)

    kinds = [(1e4 * definite(0.3), np.eye(block) + 0.1 * rng.standard_normal((block, block))) for _ in range(50)]
    at, values = [[], []], []
    step = np.arange(block)
    for number, (a, b) in enumerate(links):
        k, lever = kinds[number % len(kinds)]
        # levers of a joint's two ends, so that no end of a long chain is favored
        terms = [(a, a, k)]
        if b >= 0:
            lever = lever if number % 2 else np.linalg.inv(lever)
            terms += [(b, b, lever.T @ k @ lever), (a, b, -k @ lever), (b, a, -(k @ lever).T)]
        for i, j, value in terms:
            at[0].append(np.repeat(block * i + step, block))
            at[1].append(np.tile(block * j + step, block))
            values.append(value.ravel())
    size = (block * bodies,) * 2
    k = sp.csr_matrix((np.concatenate(values), tuple(map(np.concatenate, at))), shape=size)
    k = ((k + k.T) / 2).tocsr()
    m = sp.block_diag([sp.csr_matrix(definite(1.0)) for _ in range(min(bodies, 50))] * -(-bodies // 50), format="csr")[
        : size[0], : size[0]
    ]
    return k, (1e-5 * k + 0.02 * m).tocsr(), m


def chain(bodies: int, block: int = 6):
    """Every body on the one before, and weakly on the ground, as in a row of suspended masses."""
    return assembled(bodies, [(a, a - 1) for a in range(bodies)] + [(a, -1) for a in range(0, bodies, 10)], block)


def tower(bays: int):
    """Bays of four joints, each held by all four of the bay below."""
    return chain(bays, 24)


def crossed(bodies: int):
    """Three chains with a link between random bodies for every twenty."""
    third = bodies // 3
    links = [(c * third + a, c * third + a - 1 if a else -1) for c in range(3) for a in range(third)]
    pairs = np.random.default_rng(2).integers(0, 3 * third, (bodies // 20, 2))
    return assembled(3 * third, links + [(int(a), int(b)) for a, b in pairs if a != b])


MODELS = {"chain": chain, "tower": tower, "crossed": crossed}
TASKS = {
    "chain": "1,000 frequencies: chain, blocks of 6",
    "tower": "1,000 frequencies: lattice tower, blocks of 24",
    "crossed": "1,000 frequencies: three chains, cross-linked",
}


def seen(n: int) -> int:
    """The coordinate that is the output; the first one is driven."""
    return min(n - 1, 61)


def response(kind: str, bodies: int) -> Callable[[], object]:
    """The sweep of a model built before."""
    k, c, m = MODELS[kind](bodies)
    model = mse.LinearModel.from_matrices(m, c, k)
    output = f"x{seen(k.shape[0])}"
    return lambda: model.frequency_response(GRID, inputs=["x0"], outputs=[output], loss={"model": LOSS})


class OnePattern:
    """``Z = K + i w C - w^2 M`` with its values computed on the union of the three patterns (CSC or CSR)."""

    def __init__(self, k, c, m):
        matrices = [a.tocoo() for a in (k, c, m)]
        size, kind = k.shape[0], k.format
        keys = []
        for a in matrices:
            major, minor = (a.col, a.row) if kind == "csc" else (a.row, a.col)
            keys.append(major.astype(np.int64) * size + minor)
        union = np.unique(np.concatenate(keys))
        self.indices = (union % size).astype(np.int32)
        self.indptr = np.searchsorted(union, np.arange(size + 1) * size).astype(np.int32)
        self.shape = k.shape
        self.values = np.zeros((3, len(union)), dtype=complex)
        for row, a, key in zip(self.values, matrices, keys, strict=True):
            np.add.at(row, np.searchsorted(union, key), a.data)

    def at(self, w: float) -> np.ndarray:
        return self.values[0] + 1j * w * self.values[1] - w**2 * self.values[2]


class Loops:
    """What one writes today: the response at frequencies w, one after the other."""

    def __init__(self, k, c, m, w: np.ndarray):
        self.k, self.c, self.m, self.w = (k * (1 + 1j * LOSS)).tocsc(), c.tocsc(), m.tocsc(), w
        self.load = np.zeros(k.shape[0], dtype=complex)
        self.load[0] = 1.0
        self.out = seen(k.shape[0])

    def plain(self) -> np.ndarray:
        """``splu`` as it comes."""
        return np.array([
            splu((self.k + 1j * w * self.c - w**2 * self.m).tocsc()).solve(self.load)[self.out] for w in self.w
        ])  # fmt: skip

    def refined(self) -> np.ndarray:
        """The reference: iterative refinement of that."""
        found = []
        for w in self.w:
            z = (self.k + 1j * w * self.c - w**2 * self.m).tocsc()
            lu = splu(z)
            x = lu.solve(self.load)
            for _ in range(3):
                x = x + lu.solve(self.load - z @ x)
            found.append(x[self.out])
        return np.array(found)

    def best(self) -> Callable[[], np.ndarray]:
        """``splu`` as well as it can be set."""
        z = OnePattern(self.k, self.c, self.m)

        def at(w: float) -> complex:
            matrix = sp.csc_matrix((z.at(w), z.indices, z.indptr), shape=z.shape)
            return splu(matrix, **SYMMETRIC).solve(self.load)[self.out]

        return lambda: np.array([at(w) for w in self.w])

    def pardiso(self) -> Callable[[], np.ndarray]:
        z = OnePattern(*(sp.triu(a, format="csr") for a in (self.k, self.c, self.m)))
        solver = ComplexSymmetric(z.indices, z.indptr, z.at(self.w[0]))
        return lambda: np.array([solver.solve(z.at(w), self.load)[self.out] for w in self.w])


def row(kind: str, bodies: int, samples: int, runs: int) -> Row:
    """One model; the peers at so many of the frequencies."""
    some = np.linspace(0, FREQUENCIES - 1, samples).astype(int)
    loops = Loops(*MODELS[kind](bodies), 2 * np.pi * GRID[some])
    calls = {"ours": response(kind, bodies), "SciPy": loops.plain, "SciPy best": loops.best()}
    if peer("Pardiso") is not None:
        calls["Pardiso"] = loops.pardiso()
    times, results = measure.alternate(calls, runs)
    found, right = results["ours"].values[:, 0, 0], loops.refined()
    error = float(np.abs(found[some] - right).max() / np.abs(found).max())
    scaled = {name: t * FREQUENCIES / samples for name, t in times.items() if name != "ours"}
    small = (kind, 20)
    memory = measure.peak(response, (kind, bodies), small)
    return Row(TASKS[kind], loops.k.shape[0], times["ours"], scaled, error, memory, "; ".join(results["ours"].notes))


def rows(quick: bool) -> Iterator[Row]:
    for bodies in (100, 1000) if quick else (100, 1000, 10000):
        yield row("chain", bodies, 12 if bodies < 5000 else 3, 3 if quick or bodies > 5000 else 7)
    for bays in (25,) if quick else (25, 250, 2500):
        yield row("tower", bays, 12 if bays < 500 else 3, 3)
    if not quick:
        yield row("crossed", 1000, 3, 3)
