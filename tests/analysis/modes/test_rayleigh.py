"""Growth of damped modes beyond what rounding and the search leave open; against dense solutions and signs of the matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse as sp

import mse
from mse import Pose
from mse.analysis.modes.rayleigh import decided, most_growing, refined

pytestmark = pytest.mark.rounding


def stage() -> mse.LinearModel:
    """A table on four blades, with one dashpot along x: all but a few motions swing without loss."""
    s = mse.MSystem("stage", gravity=(0, 0, -9.81))
    up = Pose.ry(-np.pi / 2)
    table = s.add(mse.RigidBody("table", mass=0.6, inertia=(5e-4, 7e-4, 1e-3)))
    for name, (x, y) in {"a": (0.05, 0.04), "b": (0.05, -0.04), "c": (-0.05, 0.04), "d": (-0.05, -0.04)}.items():
        blade = s.add(mse.Beam(f"blade {name}", length=0.05, width=0.02, height=4e-4, elements=4))
        s.clamp(s.ground, blade.frame(0), Pose.dxdydz(x, y, 0) @ up)
        s.clamp(table.add_frame(name, Pose.dxdydz(x, y, -0.01) @ up), blade.frame(1))
    damper = s.add(mse.Bushing("damper", damping=(5, 0, 0, 0, 0, 0)))
    s.clamp(s.ground, damper.frame(1), Pose.dz(0.06))
    s.clamp(table.frame("center"), damper.frame(0))
    return s.find_working_point().linearize()


def test_a_damped_stage_that_is_held_does_not_grow():
    model = stage()
    every = model.modes(damped=True)
    assert not every.unstable.any() and np.all(every.damping_ratios >= 0.0)
    for count in (6, 10, 20):
        found = model.modes(count, damped=True)
        assert not found.unstable.any() and not found.undetermined.any()
        assert np.all(found.damping_ratios >= 0.0)
        assert "UNSTABLE" not in str(found) and "not determined" not in str(found)
        off = np.abs(found.eigenvalues - every.eigenvalues[:count]) / (2 * np.pi)
        assert np.all(off <= found.uncertainties_hz + every.uncertainties_hz[:count])
        assert np.all(found.uncertainties_hz <= 1e-7 * found.frequencies_hz)


def matrices(*, pushes: float = 0.0, spins: float = 0.0, stiffness: float = 1.0) -> mse.LinearModel:
    """200 masses in a row on springs, the first stiffness of its own; some damped, pushed aside and spun."""
    n = 200
    rng = np.random.default_rng(3)
    k = sp.diags([np.full(n, 2.0), np.full(n - 1, -1.0), np.full(n - 1, -1.0)], [0, 1, -1]).tolil()
    k[0, 0] = 1.0 + stiffness
    skew = sp.diags([rng.uniform(-1.0, 1.0, n - 1)], [1], shape=(n, n))
    skew = skew - skew.T
    damping = sp.diags(np.where(np.arange(n) % 7 == 0, 0.3, 0.0))
    return mse.LinearModel.from_matrices(
        sp.diags(rng.uniform(0.5, 2.0, n)), damping + spins * skew, 1e4 * (k.tocsr() + pushes * skew)
    )


@pytest.mark.parametrize(
    "given", [{}, {"spins": 20.0}, {"pushes": 0.02}, {"pushes": 0.02, "spins": 20.0}, {"stiffness": -0.1}]
)
def test_eigenvalues_of_large_models_are_off_by_no_more_than_they_say(given):
    model = matrices(**given)
    m, c, k = (a.toarray() for a in (model.M, model.Lambda, model.K))
    n = len(m)
    s = sl.eigvals(np.block([[np.zeros((n, n)), np.eye(n)], [-sl.solve(m, k), -sl.solve(m, c)]]))
    found = model.modes(8, damped=True)
    nearest = np.abs(found.eigenvalues[:, None] - s).argmin(axis=1)
    off = np.abs(found.eigenvalues - s[nearest])
    limit = 2 * np.pi * found.uncertainties_hz
    assert np.all(off <= limit + 1e-11 * np.abs(s).max())
    assert np.all(limit <= 1e-9 * np.abs(s).max())
    assert np.array_equal(found.unstable, s[nearest].real > 1e-6 * np.abs(s).max())
    assert np.count_nonzero(found.unstable) == ("stiffness" in given)
    assert not found.undetermined.any()


def test_no_more_motions_grow_than_stiffness_is_negative():
    assert most_growing(matrices()) == most_growing(matrices(spins=20.0)) == 0
    assert most_growing(matrices(stiffness=-0.1)) == 1
    assert most_growing(matrices(pushes=0.02)) is None
    fed = mse.LinearModel.from_matrices([[1.0]], [[-1e-3]], [[1.0]], active=True)
    assert most_growing(fed) is None
    assert fed.modes(damped=True).unstable.all()


def test_growth_by_rounding_is_none_where_nothing_can_grow_and_not_known_elsewhere():
    s, off, none = np.array([1e-9 + 1j, 1e-9 + 2j]), np.full(2, 1e-8), np.zeros(2, dtype=bool)
    held = decided(matrices(), s, off, none)
    assert np.all(held.s == [1j, 2j]) and not held.hidden.any()
    pushed = decided(matrices(pushes=0.02), s, off, none)
    assert np.all(pushed.s == s) and pushed.hidden.all()


def test_one_step_doubles_the_digits_of_an_eigenvalue():
    model = matrices()
    found = model.modes(4, damped=True)
    shapes = found.shapes + 1e-4 * np.roll(found.shapes, 1, axis=1)
    s, moved, _ = refined(model, found.eigenvalues * (1.0 + 1e-4j), shapes, shapes)
    size = np.abs(s)
    assert np.all(np.abs(s - found.eigenvalues) < 1e-6 * size)
    assert np.all((0.9e-4 * size < moved) & (moved < 1.1e-4 * size))


def test_critical_damping_is_known_to_half_the_digits():
    model = mse.LinearModel.from_matrices([[1.0]], [[2.0]], [[1.0]])
    found = model.modes(damped=True)
    assert np.all(np.abs(found.eigenvalues + 1.0) <= 2 * np.pi * found.uncertainties_hz)
    assert np.all(2 * np.pi * found.uncertainties_hz < 1e-6)


def test_modes_beside_joints_say_by_how_much_they_are_off():
    s = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    bob = s.add(mse.RigidBody("bob", mass=1.0, inertia=0.01, at=Pose.dz(-1.0)))
    hinge = s.add(mse.Revolute("hinge", axis=(1, 0, 0), damping=1e-3))
    s.clamp(s.ground, hinge.frame(1))
    s.clamp(bob.frame(0), hinge.frame(0), Pose.dz(1.0))
    model = s.find_working_point().linearize()
    w2, c = 9.81 / 1.01, 1e-3 / 1.01
    exact = -0.5 * c + 1j * np.sqrt(w2 - 0.25 * c**2)
    found = model.modes(damped=True)
    assert np.all(np.abs(found.eigenvalues - exact) <= 2 * np.pi * found.uncertainties_hz)
    assert np.all(found.uncertainties_hz < 1e-10)
