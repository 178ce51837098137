"""Frequency responses against what one writes with SciPy today.  ``python benchmarks/frequencies.py [--quick]``

One table: 1,000 frequencies, one input and one output, viscous and structural damping.  The peers are loops over ``splu`` as
it comes (COLAMD and partial pivoting) and as well as it can be set (minimum degree on the symmetric pattern, diagonal pivots);
they are timed at a few frequencies, between our runs, and scaled to 1,000.  Errors are against that loop refined, relative
to the largest response.  Both use as many threads as they can: ours all processors, SuperLU one.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
import tracemalloc

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import mse

FREQUENCIES = 1000
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
        # levers of a joint's two ends, so that no end of a long chain is favoured
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
    m = sp.block_diag([definite(1.0) for _ in range(min(bodies, 50))] * -(-bodies // 50), format="csr")[
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


def loop(k, c, m, w, load, options) -> tuple[np.ndarray, float]:
    """``x`` at frequencies w by splu, and its time for each."""
    k, c, m = k.tocsc(), c.tocsc(), m.tocsc()
    out, start = [], time.perf_counter()
    for x in w:
        lu = splu((k + 1j * x * c - x**2 * m).tocsc(), **options)
        out.append(lu.solve(load))
    return np.array(out), (time.perf_counter() - start) / len(w)


def refined(k, c, m, w: float, load) -> np.ndarray:
    z = (k + 1j * w * c - w**2 * m).tocsc()
    lu = splu(z)
    x = lu.solve(load)
    for _ in range(3):
        x = x + lu.solve(load - z @ x)
    return x


def peak(f) -> float:
    """Largest memory traced in Python's and NumPy's allocations, in MB."""
    tracemalloc.start()
    f()
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size / 1e6


def row(task: str, matrices, samples: int, runs: int) -> None:
    k, c, m = matrices
    n = k.shape[0]
    model = mse.LinearModel.from_matrices(m, c, k)
    f = np.geomspace(0.05, 20.0, FREQUENCIES)
    some = np.linspace(0, FREQUENCIES - 1, samples).astype(int)
    lossy = (k * (1 + 0.005j)).tocsr()
    load = np.zeros(n, dtype=complex)
    load[0] = 1.0
    seen = min(n - 1, 61)

    def ours():
        return model.frequency_response(f, inputs=["x0"], outputs=[f"x{seen}"], loss={"model": 0.005})

    ours()
    times, plain, best = [], [], []
    for _ in range(runs):
        start = time.perf_counter()
        response = ours()
        times.append(time.perf_counter() - start)
        plain.append(loop(lossy, c, m, 2 * np.pi * f[some], load, {})[1] * FREQUENCIES)
        best.append(loop(lossy, c, m, 2 * np.pi * f[some], load, SYMMETRIC)[1] * FREQUENCIES)
    right = np.array([refined(lossy, c, m, 2 * np.pi * f[j], load)[seen] for j in some])
    found = response.values[:, 0, 0]
    error = np.abs(found[some] - right).max() / np.abs(found).max()
    a, b, d = (statistics.median(x) for x in (times, plain, best))
    print(
        f"{task:34}{n:7d}{a:9.4f}{b:9.3f}{d:9.3f}{b / a:8.1f}{d / a:8.1f}{error:10.1e}{peak(ours):8.1f}"
        + ("  notes: " + "; ".join(response.notes) if response.notes else ""),
        flush=True,
    )


def small(runs: int) -> None:
    """A suspension of 36 coordinates at 200 frequencies, against NumPy's batched solution."""
    k, c, m = (a.toarray() for a in chain(6))
    model = mse.LinearModel.from_matrices(m, c, k)
    f = np.geomspace(0.05, 20.0, 200)
    load = np.zeros((36, 1), dtype=complex)
    load[0] = 1.0

    def ours():
        return model.frequency_response(f, inputs=["x0"], outputs=["x35"]).values[:, 0, 0]

    def theirs():
        w = 2 * np.pi * f[:, None, None]
        return np.linalg.solve(k + 1j * w * c - w**2 * m, np.broadcast_to(load, (200, 36, 1)))[:, 35, 0]

    times = ([], [])
    for _ in range(4 * runs + 1):
        for taken, solve in zip(times, (ours, theirs), strict=True):
            start = time.perf_counter()
            solve()
            taken.append(time.perf_counter() - start)
    a, b = (statistics.median(x[1:]) for x in times)
    error = np.abs(ours() - theirs()).max() / np.abs(theirs()).max()
    print(
        f"{'suspension, 200 frequencies':34}{36:7d}{a:9.4f}{b:9.4f}{'':9}{b / a:8.1f}{'':8}{error:10.1e}{peak(ours):8.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes and few runs")
    quick = parser.parse_args().quick
    print(f"mse benchmarks, {platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    head = f"{'task, 1000 frequencies':34}{'n':>7}{'ours (s)':>9}{'splu':>9}{'best':>9}{'ratio':>8}{'to best':>8}"
    head += f"{'error':>10}{'MB':>8}"
    print(head + "\n" + "-" * len(head))
    small(3 if quick else 7)
    for bodies in (100, 1000) if quick else (100, 1000, 10000):
        row(
            "chain of bodies, blocks of 6",
            chain(bodies),
            12 if bodies < 5000 else 3,
            3 if quick or bodies > 5000 else 7,
        )
    for bays in (25,) if quick else (25, 250, 2500):
        row("lattice tower, blocks of 24", tower(bays), 12 if bays < 500 else 3, 3)
    if not quick:
        row("three chains, cross-linked", crossed(1000), 3, 3)
    print(
        "\nsplu: the loop with its defaults; best: with symmetric ordering and diagonal pivots; error against refinement"
    )


if __name__ == "__main__":
    main()
