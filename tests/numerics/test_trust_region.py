"""Steps in a trust region, against the minimum found from all eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize as so
import scipy.sparse as sp

from mse.numerics.factor import Factors
from mse.numerics.options import SIZES
from mse.numerics.slow_descent import ASIDE, GROWN
from mse.numerics.tangent import Tangent
from mse.numerics.trust_region import Quadratic, newton_step, stiff_answer

N = 24


@pytest.fixture(params=["dense", "sparse"], autouse=True)
def way(request, monkeypatch):
    """Both sides of the size from which on matrices stay sparse."""
    monkeypatch.setattr(SIZES, "dense", N if request.param == "dense" else 0)
    return request.param


def problem(seed: int, negative: int, allowed: np.ndarray | None = None) -> Quadratic:
    """A random K with so many negative eigenvalues, and a gradient along what rows ``allowed`` (m, n) leave.

    The size is so large that no curvature counts as made by the gradient.
    """
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.standard_normal((N, N)))[0]
    w = np.concatenate([-rng.uniform(0.1, 1.0, negative), rng.uniform(0.1, 10.0, N - negative)])
    k, g = (q * w) @ q.T, rng.standard_normal(N)
    k = sp.csc_matrix(0.5 * (k + k.T))
    factors = Factors()
    tangent = None if allowed is None else Tangent(sp.csr_matrix(allowed), factors)
    g = g if tangent is None else tangent.along(g)
    return Quadratic(k, g, np.abs(g), 0, 1e12, factors, tangent)


def least(k: np.ndarray, g: np.ndarray, radius: float) -> float:
    """The least of ``g.p + p.K p/2`` over ``|p| <= radius``."""
    w, v = np.linalg.eigh(k)
    c = v.T @ g

    def step(shift: float) -> np.ndarray:
        return -c / (w + shift)

    shift = 0.0
    if w[0] <= 0.0 or np.linalg.norm(step(0.0)) > radius:
        low = max(0.0, -w[0])
        shift = so.brentq(
            lambda m: np.linalg.norm(step(m)) - radius, low + 1e-9, low + np.linalg.norm(g) / radius + 1.0
        )
    p = step(shift)
    return float(c @ p + 0.5 * p @ (w * p))


@pytest.mark.parametrize("negative", [0, 1, 3])
@pytest.mark.parametrize("seed", range(10))
def test_steps_to_the_boundary_take_most_of_what_there_is(way, seed, negative):
    energy = problem(seed, negative)
    k, g, radius = energy.k.toarray(), energy.g, 0.3
    step = newton_step(energy, radius)
    p = step.p
    assert step.on_boundary and np.linalg.norm(p) == pytest.approx(radius, rel=0.2)
    assert step.predicted == pytest.approx(g @ p + 0.5 * p @ k @ p, rel=1e-9)
    # sparse matrices are factored until the length is right to a fifth only
    assert step.predicted < (0.99 if way == "dense" else 0.75) * least(k, g, radius)
    assert (step.lowest < 0.0) == (negative > 0)


@pytest.mark.parametrize("seed", range(10))
def test_steps_within_the_region_are_newtons(seed):
    energy = problem(seed, 0)
    exact = -np.linalg.solve(energy.k.toarray(), energy.g)
    step = newton_step(energy, 1e3)
    np.testing.assert_allclose(step.p, exact, rtol=1e-9, atol=1e-9 * np.abs(exact).max())
    assert not step.on_boundary and step.lowest >= 0.0


@pytest.mark.parametrize("seed", range(10))
def test_without_descent_the_step_leads_where_forces_balance(seed):
    """On a saddle, too, and cut to the radius."""
    energy = problem(seed, 2)
    exact = -np.linalg.solve(energy.k.toarray(), energy.g)
    np.testing.assert_allclose(newton_step(energy, 1e3, convex=False).p, exact, atol=1e-9 * np.abs(exact).max())
    short = newton_step(energy, 0.1, convex=False).p
    np.testing.assert_allclose(short, exact * 0.1 / np.linalg.norm(exact), atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_without_a_force_along_it_the_direction_of_negative_curvature_is_taken(seed):
    energy = problem(seed, 1)
    w, v = np.linalg.eigh(energy.k.toarray())
    g = 1e-4 * v[:, 1:] @ (v[:, 1:].T @ energy.g)
    step = newton_step(energy._replace(g=g, load=np.abs(energy.g)), 0.5)
    others = -v[:, 1:] @ (v[:, 1:].T @ g / w[1:])
    np.testing.assert_allclose(step.p, others + v[:, 0] * (v[:, 0] @ step.p), atol=5e-3 * np.linalg.norm(others))
    assert abs(v[:, 0] @ step.p) == pytest.approx(ASIDE * 0.5, rel=0.01)
    assert not step.on_boundary and step.lowest == pytest.approx(w[0], rel=1e-3)
    np.testing.assert_allclose(step.sideways, v[:, 0] * (v[:, 0] @ step.p), atol=1e-3)


@pytest.mark.parametrize("radius", [0.3, 1e3])
@pytest.mark.parametrize("seed", range(5))
def test_steps_stay_within_what_constraints_allow(seed, radius):
    rows = np.linalg.qr(np.random.default_rng(seed + 100).standard_normal((N, 5)))[0].T
    energy = problem(seed, 0, rows)
    step = newton_step(energy, radius)
    assert np.abs(rows @ step.p).max() < 1e-9 * np.linalg.norm(step.p)
    z = np.linalg.svd(rows)[2][5:].T
    k, g = z.T @ energy.k.toarray() @ z, z.T @ energy.g
    exact = -np.linalg.solve(k, g)
    if radius > np.linalg.norm(exact):
        np.testing.assert_allclose(step.p, z @ exact, atol=1e-9 * np.abs(exact).max())
    else:
        assert step.on_boundary and step.predicted < 0.75 * least(k, g, radius)


@pytest.mark.parametrize("convex", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_within_constraints_steps_and_answers_are_newtons(seed, convex):
    rng = np.random.default_rng(seed)
    rows = np.linalg.qr(rng.standard_normal((N, 5)))[0].T
    energy = problem(seed, 0, rows)
    free = np.linalg.svd(rows)[2][5:].T
    inverse = free @ np.linalg.inv(free.T @ energy.k @ free) @ free.T
    step = newton_step(energy, 1e6, convex)
    np.testing.assert_allclose(step.p, -inverse @ energy.g, atol=1e-9)
    assert step.lowest >= 0.0 and not step.on_boundary
    assert step.predicted == pytest.approx(-0.5 * energy.g @ inverse @ energy.g, rel=1e-9)
    other = energy.allowed.along(rng.standard_normal(N))
    np.testing.assert_allclose(step.answer(other, 0.0), -inverse @ other, atol=1e-9)
    if step.newton is not None:
        np.testing.assert_allclose(step.newton(other), -inverse @ other, atol=1e-9)


@pytest.mark.parametrize("negative", [0, 2])
@pytest.mark.parametrize("constraints", [0, 5])
@pytest.mark.parametrize("seed", range(5))
def test_what_is_stiffer_than_a_limit_gives_way_and_hardly_anything_else(seed, constraints, negative):
    rng = np.random.default_rng(seed)
    rows = np.linalg.qr(rng.standard_normal((N, max(constraints, 1))))[0].T[:constraints]
    energy = problem(seed, negative, rows if constraints else None)
    free = np.linalg.svd(rows)[2][constraints:].T if constraints else np.eye(N)
    # what the space leaves is one motion of 1e-3 beside others of some 1e4 N/m, but for those that fall
    w, v = np.linalg.eigh(free.T @ energy.k.toarray() @ free)
    v = free @ v
    w = np.where(w > 0.0, 1e4 * np.abs(w), w)
    w[negative] = 1e-3
    energy = energy._replace(k=sp.csc_matrix((v * w) @ v.T))
    d = energy.g
    p = stiff_answer(energy)(d, 10.0)
    exact = -v @ np.where(w > 10.0, v.T @ d / w, 0.0)
    assert np.abs(rows @ p).max(initial=0.0) < 1e-12 * np.linalg.norm(p)
    assert d @ p < 0.0
    stiff = w > 10.0
    np.testing.assert_allclose(v[:, stiff].T @ p, v[:, stiff].T @ exact, rtol=0.1)
    assert np.linalg.norm(v[:, ~stiff].T @ p) < 1e-2 * np.linalg.norm(d) / 10.0


def test_a_limit_below_what_falls_is_raised_until_nothing_does():
    energy = problem(3, 2)
    p = stiff_answer(energy)(energy.g, 1e-3)
    assert np.all(np.isfinite(p)) and energy.g @ p < 0.0


@pytest.mark.parametrize("radius", [1e-3, 0.3, 3.0, 1e3])
@pytest.mark.parametrize("seed", range(5))
def test_steps_along_negative_curvature_follow_the_slow_descent_no_longer_than_it_is_foreseen(seed, radius):
    energy = problem(seed, 2)
    w, v = np.linalg.eigh(energy.k.toarray())
    c = v.T @ energy.g
    step = newton_step(energy, radius)
    # until forces along the most negative curvature have grown, or later, until it is a share of the radius along both
    times = np.linspace(0.0, 20.0 / -w[0], 20001)[1:]
    descent = np.expm1(-w * times[:, None]) / w * c
    grown, lengths = times >= np.log(GROWN) / -w[0], np.linalg.norm(descent, axis=1)
    ends = np.flatnonzero((lengths >= radius) | (grown & (np.linalg.norm(descent[:, :2], axis=1) >= ASIDE * radius)))[0]
    assert step.on_boundary == (lengths[ends] >= radius)
    assert np.linalg.norm(step.p) <= 1.01 * radius
    if ends:
        np.testing.assert_allclose(step.p, v @ descent[ends], atol=5e-3 * lengths[ends])


@pytest.mark.parametrize("force", [1e-3, 1e-6, 1e-12])
def test_the_less_force_is_along_negative_curvature_the_more_steps_are_those_without(force):
    """On both sides of any share of the forces."""
    energy = problem(1, 1)
    v = np.linalg.eigh(energy.k.toarray())[1]
    others = 1e-3 * v[:, 1:] @ (v[:, 1:].T @ energy.g)
    without, more = (newton_step(energy._replace(g=others - f * v[:, 0]), 0.5).p for f in (0.0, 1e-3 * force))
    sign = np.sign(v[:, 0] @ without)
    without += v[:, 0] * (v[:, 0] @ without) * (sign - 1.0)
    np.testing.assert_allclose(more, without, atol=5e-3 * np.linalg.norm(without))
