"""Slow modes beside fast ones, held against fifty digits."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
import scipy.linalg as sl

from mse.analysis.time.soft_modes import soft_modes

BAND = 500.0  # rad/s: modes up to four times as much are made accurate


def chain(seed: int, free: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and mass of twelve masses between walls, on springs of 1, 1e5 and 1e7 N/m; whole numbers, so without rounding.

    Without the walls, and all of them, where it is ``free``.
    """
    rng = np.random.default_rng(seed)
    size = np.array([1, 10**5, 10**7])[rng.permutation(np.arange(13) % 3)]
    springs = (size * rng.integers(1, 10, 13)).tolist()
    if free:
        springs[0] = springs[-1] = 0
    k = np.zeros((12, 12))
    for at, spring in enumerate(springs):
        for i, j, sign in ((at - 1, at - 1, 1), (at, at, 1), (at - 1, at, -1), (at, at - 1, -1)):
            if 0 <= i < 12 and 0 <= j < 12:
                k[i, j] += sign * spring
    return k, np.diag(rng.integers(1, 10, 12).astype(float))


def exact(k: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, list]:
    """w^2 in ascending order, and shapes, as rows of numbers of fifty digits times the roots of the masses."""
    with mp.workdps(50):
        root = [mp.sqrt(x) for x in np.diag(m).tolist()]
        a = mp.matrix(len(k), len(k))
        for i, j in zip(*np.nonzero(k), strict=True):
            a[int(i), int(j)] = mp.mpf(float(k[i, j])) / (root[i] * root[j])
        w2, shapes = mp.eigsy(a)
        return np.array([float(x) for x in w2]), [[shapes[i, j] for i in range(len(k))] for j in range(len(k))]


@pytest.mark.rounding
@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_slow_modes_do_not_mix_beside_fast_ones(seed, copies):
    """A dense solver leaves 1e-10 of each slow mode in the next, by others within the band; copies have equal modes."""
    k, m = chain(seed)
    w2, shapes = exact(k, m)
    two = np.kron(np.eye(copies), k), np.kron(np.eye(copies), m)
    rates, found = soft_modes(*two, sl.eigh(*two), BAND, False)
    soft = np.flatnonzero(rates <= (4 * BAND) ** 2)
    assert len(soft) == copies * np.count_nonzero(w2 <= (4 * BAND) ** 2) > 2
    np.testing.assert_allclose(np.sort(rates[soft])[::copies], w2[: len(soft) // copies], rtol=1e-11)
    root = np.sqrt(np.diag(m))
    with mp.workdps(50):
        for number in soft:
            parts = (root * found[:, number].reshape(copies, -1)).tolist()
            shares = [float(mp.norm([mp.fdot(part, shape) for part in parts])) for shape in shapes]
            own = int(np.argmax(shares))
            assert rates[number] == pytest.approx(w2[own], rel=1e-11) and shares[own] == pytest.approx(1.0, abs=1e-11)
            apart = np.abs(w2 - w2[own]) / (w2 + w2[own])  # what is near mixes by more
            assert max(shares * apart) < 1e-11


@pytest.mark.rounding
@pytest.mark.parametrize("seed", range(6))
def test_slow_modes_beside_a_free_motion(seed):
    k, m = chain(seed, free=True)
    w2, shapes = exact(k, m)
    rates, found = soft_modes(k, m, sl.eigh(k, m), BAND, True)
    soft = np.argsort(np.abs(rates))[: np.count_nonzero(w2 <= (4 * BAND) ** 2)]
    assert len(soft) > 2 and abs(rates[soft[0]]) < 1e-16 * BAND**2
    np.testing.assert_allclose(rates[soft[1:]], w2[1 : len(soft)], rtol=1e-11)
    root = np.sqrt(np.diag(m))
    right = np.array([[float(x) for x in shapes[number]] for number in range(len(soft))])
    shares = right @ (root[:, None] * found[:, soft])
    np.testing.assert_allclose(np.abs(shares), np.eye(len(soft)), atol=1e-10)
