"""Damped modes by Arnoldi: none missed, and told where some are; against dense solutions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse as sp

import mse
from mse.analysis.modes import large_damped
from mse.analysis.modes.find import modes
from mse.analysis.modes.large_damped import missing_inside
from mse.errors import ModelError

pytestmark = pytest.mark.rounding


def row(n: int) -> sp.csr_matrix:
    """n unit masses on unit springs between two walls."""
    return sp.diags([np.full(n, 2.0), np.full(n - 1, -1.0), np.full(n - 1, -1.0)], [0, 1, -1], format="csr")


def equal_rows() -> tuple[sp.csr_matrix, ...]:
    """Seven equal rows, each with a dashpot beside its wall: all eigenvalues seven times."""
    dashpots = sp.diags(np.r_[3.0, np.zeros(29)])
    return tuple(sp.kron(sp.identity(7), a, format="csr") for a in (sp.identity(30), dashpots, 1e3 * row(30)))


def overdamped() -> tuple[sp.csr_matrix, ...]:
    return sp.identity(200, format="csr"), 50.0 * sp.identity(200, format="csr"), 1e4 * row(200)


def grid() -> tuple[sp.csr_matrix, ...]:
    """A square membrane: pairs of equal modes, and dashpots on a few masses."""
    one = sp.identity(14)
    k = sp.kron(row(14), one) + sp.kron(one, row(14))
    dashpots = sp.diags(np.where(np.arange(196) % 15 == 0, 4.0, 0.0))  # on the diagonal
    return sp.identity(196, format="csr"), (dashpots + 0.01 * k).tocsr(), (100.0 * k).tocsr()


def free() -> tuple[sp.csr_matrix, ...]:
    """A row without walls on one dashpot: a single eigenvalue at zero."""
    k = row(200).tolil()
    k[0, 0] = k[199, 199] = 1.0
    return sp.identity(200, format="csr"), sp.csr_matrix(([5.0], ([90], [90])), shape=(200, 200)), 1e3 * k.tocsr()


def anything(seed: int) -> tuple[sp.csr_matrix, ...]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(200, 240))
    k, c = (b @ b.T for b in (sp.random(n, m, density=2.0 / n, rng=rng) for m in (n, n // 3)))
    return (
        sp.diags(rng.uniform(0.5, 2.0, n), format="csr"),
        c * 10.0 ** rng.uniform(-2, 1),
        (k + 0.1 * sp.identity(n)).tocsr(),
    )


MODELS = {
    "equal rows": equal_rows,
    "overdamped": overdamped,
    "grid": grid,
    "free": free,
    "random": lambda: anything(2),
}


@cache
def solved(name: str) -> tuple[mse.LinearModel, np.ndarray]:
    """A model, and all its eigenvalues, from zero, by a dense solution."""
    m, c, k = MODELS[name]()
    dense = [a.toarray() for a in (m, c, k)]
    n = len(dense[0])
    s = np.linalg.eigvals(
        np.block([[np.zeros((n, n)), np.eye(n)], [-sl.solve(dense[0], dense[2]), -sl.solve(dense[0], dense[1])]])
    )
    return mse.LinearModel.from_matrices(m, c, k), s[np.argsort(np.abs(s))]


@pytest.fixture(params=MODELS)
def given(request):
    return solved(request.param)


@pytest.fixture(params=["equal rows", "overdamped", "grid"])
def hard(request):
    return solved(request.param)


def one_of_each(s: np.ndarray) -> np.ndarray:
    return s[s.imag >= -1e-9 * np.abs(s)]


@pytest.mark.slow
@pytest.mark.parametrize("count", [4, 15])
def test_against_a_dense_solution(given, count):
    model, s = given
    found = model.modes(count, damped=True)
    exact = np.abs(one_of_each(s))
    exact = exact[: count + np.count_nonzero(exact < 1e-6 * exact[count])]
    # equal |s| of different kinds may come in either order
    np.testing.assert_allclose(np.abs(found.eigenvalues), exact, rtol=1e-7, atol=1e-7 * exact.max())
    assert len(found.notes) == 1 and "lowest modes" in found.notes[0]
    x, v = found.eigenvalues, found.shapes
    left = model.M @ v * x**2 + model.Lambda @ v * x + model.K @ v
    assert np.all(np.abs(left).max(axis=0) <= 1e-9 * (abs(model.K) @ np.abs(v)).max(axis=0))


@pytest.mark.slow
@pytest.mark.parametrize("always", [False, True])
def test_what_a_search_has_lost_is_found_by_another_or_told(hard, always, monkeypatch):
    model, s = hard
    search, calls, lost = large_damped.eigs, [], []

    def poor(*args, **options):
        nu, v = search(*args, **options)
        calls.append(options["k"])
        if not lost:
            lost.append(nu[np.argsort(-np.abs(nu))[3]])
        kept = np.abs(nu - lost[0]) > 1e-6 * np.abs(nu)
        return (nu[kept], v[:, kept]) if always or len(calls) == 1 else (nu, v)

    monkeypatch.setattr(large_damped, "eigs", poor)
    found = model.modes(10, damped=True)
    assert len(calls) > 1 and not found.complete
    if always:
        assert "more than were found" in found.notes[1]
    else:
        exact = np.abs(one_of_each(s))[:10]
        np.testing.assert_allclose(np.abs(found.eigenvalues), exact, rtol=1e-7)
        assert len(found.notes) == 1


@pytest.mark.parametrize("inside", [1, 2, 9])
def test_the_count_is_that_of_all_eigenvalues(given, inside):
    """With nothing known beforehand, with all, and with one too many."""
    model, s = given
    size = np.abs(s)
    gaps = np.flatnonzero(np.diff(size[: inside + 30]) > 1e-3 * size[inside + 29])
    after = gaps[gaps + 1 >= inside][0]
    radius = 0.5 * (size[after] + size[after + 1])
    quadratic = large_damped._Quadratic(model, model.constraints)
    assert missing_inside(quadratic, radius, np.zeros(0)) == after + 1
    whole = s[: after + 1]
    assert missing_inside(quadratic, radius, whole) == 0
    twice = np.concatenate([whole, whole[np.abs(whole.imag) < 1e-9 * size.max()][:1]])
    assert missing_inside(quadratic, radius, twice) == len(whole) - len(twice)


@pytest.mark.parametrize("gap", [1e-5, 1e-3, 0.1])
@pytest.mark.parametrize("which", [0, 3])
def test_real_eigenvalues_are_real_however_near_to_each_other(which, gap):
    """All masses in one liquid: a mode a little above critical damping decays in two ways, those below it far apart."""
    n = 200
    w = 2.0 * np.sin(np.pi * np.arange(1, n + 1) / (2 * n + 2))
    c = 2.0 * w[which] * np.hypot(1.0, gap)
    one = sp.identity(n, format="csr")
    found = mse.LinearModel.from_matrices(one, c * one, row(n)).modes(12, damped=True).eigenvalues
    swing = np.sqrt((0.25 * c**2 - w**2).astype(complex))
    exact = np.concatenate([-0.5 * c + swing, -0.5 * c - swing[swing.real > 0.0]])
    exact = exact[np.lexsort((exact.imag, np.abs(exact)))][:12]
    assert np.array_equal(found.imag == 0.0, exact.imag == 0.0)
    assert np.count_nonzero(found.imag == 0.0) >= 2
    # double eigenvalues are good to half the digits
    np.testing.assert_allclose(found, exact, rtol=0.0, atol=1e-12 * w[which] / gap)


@pytest.mark.parametrize("soft", [1e-5, 1e-3])
def test_a_soft_mode_swings_however_far_the_others_are(soft):
    n = 200
    k = sp.block_diag([row(n), [[soft**2]]], format="csr")
    one = sp.identity(n + 1, format="csr")
    model = mse.LinearModel.from_matrices(one, 1e-2 * soft * one, k)
    found = model.modes(12, damped=True).eigenvalues
    assert found[0] == pytest.approx(soft * (-5e-3 + 1j * np.sqrt(1.0 - 25e-6)), rel=1e-8)
    assert np.all(found.imag > 0.0)


def crowded(n: int) -> mse.LinearModel:
    """Masses on springs of their own, and on links so soft that all frequencies are one to eight digits."""
    links = sp.diags([np.full(n, 2.0), np.full(n - 1, -1.0), np.full(n - 1, -1.0)], [0, 1, -1])
    one = sp.identity(n, format="csr")
    return mse.LinearModel.from_matrices(one, 1e-3 * one, (one + 1e-9 * links).tocsr())


@pytest.mark.parametrize("restarts", [2, 10])
def test_a_search_among_crowded_modes_ends_after_a_bounded_number_of_solutions(restarts, monkeypatch):
    solved, apply = [], large_damped._Search._apply
    monkeypatch.setattr(large_damped._Search, "_apply", lambda self, x: (solved.append(1), apply(self, x))[1])
    with pytest.raises(
        ModelError, match=r"crowded near .* of the 52 sought, only .* have converged after \d+ solutions"
    ):
        modes(crowded(700), 20, damped=True, progress=False, restarts=restarts)
    kept, more = 52, 52 + 20
    assert kept < len(solved) <= kept + more + restarts * more + 1


@pytest.mark.parametrize("restarts", [2, 6])
def test_searches_in_turn_end_after_a_bounded_number_of_solutions_together(restarts, monkeypatch):
    """The wider ones that follow where the lowest modes are not among those found nearest to the shift."""
    solved, asked = [], []
    apply, find = large_damped._Search._apply, large_damped._Search.find

    def missing(self, ask):
        find(self, ask)
        asked.append(ask)
        self.known = 0.0

    monkeypatch.setattr(large_damped._Search, "_apply", lambda self, x: (solved.append(1), apply(self, x))[1])
    monkeypatch.setattr(large_damped._Search, "find", missing)
    n = 400
    row = sp.diags([np.full(n, 2.0), np.full(n - 1, -1.0), np.full(n - 1, -1.0)], [0, 1, -1]).tocsr()
    model = mse.LinearModel.from_matrices(sp.identity(n, format="csr"), 1e-3 * row, row)
    with pytest.raises(ModelError, match=r"the 20 lowest damped modes are not among the \d+ nearest to .* solutions"):
        modes(model, 20, damped=True, progress=False, restarts=restarts)
    assert asked == [52 * 2**k for k in range(len(asked))]
    assert len(solved) <= restarts * (2 * 52 + 20) + len(asked)
