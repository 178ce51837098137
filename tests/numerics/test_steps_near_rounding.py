"""Steps in a trust region where rounding makes stiffness and forces that are none, and beside small ones that are some."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mse.numerics.factor import Factors
from mse.numerics.options import SIZES
from mse.numerics.trust_region import Quadratic, newton_step

pytestmark = pytest.mark.rounding

N, STIFF, LOAD = 24, 1e8, 1.0  # N/m, N


def row(seed: int, held: float, unbalanced: float, pulled: float = LOAD) -> tuple[Quadratic, np.ndarray]:
    """Masses in a row on stiff springs, the first on a spring to the ground (N/m), and how much springs are stretched (m).

    The springs are ``pulled`` (N) at their ends, the masses by loads that balance but for a share of each.
    """
    rng = np.random.default_rng(seed)
    springs = STIFF * 10.0 ** rng.uniform(-4, 0, N - 1)
    ends = sp.diags([-np.ones(N - 1), np.ones(N - 1)], [0, 1], shape=(N - 1, N)).toarray()
    k = ends.T @ (springs[:, None] * ends)
    k[0, 0] += held
    pull = pulled * rng.uniform(-1.0, 1.0, N - 1)
    force = ends.T @ -pull + unbalanced * LOAD
    return Quadratic(sp.csc_matrix(k), -force, np.full(N, LOAD), 0, 1e12, Factors()), -pull / springs


@pytest.mark.parametrize("limit", [0, N])
@pytest.mark.parametrize("seed", range(20))
def test_stiffness_that_is_rounding_is_none(monkeypatch, seed, limit):
    """Nothing holds the row: it is stretched, and does not fall or leave."""
    monkeypatch.setattr(SIZES, "dense", limit)
    energy, stretched = row(seed, 0.0, 0.0)
    step = newton_step(energy, 1.0)
    np.testing.assert_allclose(np.diff(step.p), stretched, rtol=1e-9, atol=1e-12 * np.abs(stretched).max())
    assert step.lowest == 0.0 and not step.on_boundary and abs(step.p.mean()) < 1e-2 * np.abs(stretched).max()


@pytest.mark.parametrize("limit", [0, N])
@pytest.mark.parametrize("seed", range(20))
def test_stiffness_of_a_billionth_is_some(monkeypatch, seed, limit):
    """A spring of a billionth holds the row against a millionth of its force: that is where it moves, all of it."""
    monkeypatch.setattr(SIZES, "dense", limit)
    energy, _ = row(seed, 1e-9 * STIFF, 1e-6 / N, pulled=0.0)
    step = newton_step(energy, 1.0)
    np.testing.assert_allclose(step.p, 1e-6 / (1e-9 * STIFF), rtol=1e-2)


@pytest.mark.parametrize("seed", range(5))
def test_forces_of_some_hundred_roundings_push_nothing_and_those_of_thousands_do(seed):
    """Along the whole row, which nothing holds, loads of 1 N cancel; others, of 1e-8 N, stretch it."""
    steps = [newton_step(row(seed, 0.0, share, pulled=1e-8)[0], 1.0) for share in (2e-14, 4e-13)]
    assert [step.on_boundary for step in steps] == [False, True]
    assert abs(steps[0].p.mean()) < 1e-6 < 0.1 < steps[1].p.mean()


def spinning(stiffness: float, torque: float) -> Quadratic:
    """Four bodies that springs hold in all directions but one turn, which has a stiffness of its own (N m/rad)."""
    k, g = np.full(N, STIFF), np.full(N, LOAD)
    k[5::6], g[5::6] = stiffness, -torque
    return Quadratic(sp.diags(k, format="csc"), g, np.abs(g), 4, 1e12, Factors())


@pytest.mark.parametrize("eps", [-2.0, -1.0, 1.0, 2.0])
def test_a_turn_with_the_rounding_of_its_bodys_stiffness_is_free(eps):
    step = newton_step(spinning(eps * np.finfo(float).eps * STIFF, 0.0), 1.0)
    assert step.lowest == 0.0 and not step.on_boundary and not step.p[5::6].any()


def test_a_turn_that_a_thin_wire_holds_is_not_free():
    """1e-5 N m/rad, as a wire of 0.1 mm and 1 m has, beside 1e8 N/m."""
    step = newton_step(spinning(1e-5, 1e-8), 1.0)
    np.testing.assert_allclose(step.p[5::6], 1e-3, rtol=1e-9)
    assert not step.on_boundary


@pytest.mark.parametrize("limit", [0, N])
def test_a_free_turn_is_pushed_by_more_than_the_rounding_of_its_load(monkeypatch, limit):
    """Torques that lean on nothing but the floor beneath all stiffness."""
    monkeypatch.setattr(SIZES, "dense", limit)
    turned = []
    for share in (2e-15, 1e-4):
        energy = spinning(0.0, share * LOAD)
        turned.append(np.abs(newton_step(energy._replace(load=np.full(N, LOAD)), 1.0).p[5::6]).max())
    assert turned[0] < 1e-20 and turned[1] > 1e-10
