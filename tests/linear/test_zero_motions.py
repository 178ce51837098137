"""Free motions of models with a circulatory part: the same whether found densely or sparsely, which is told by products alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import mse
from mse import LinearModel, Pose
from mse.numerics.options import SIZES

pytestmark = pytest.mark.rounding


def pushed(n: int, pushing: int, stiffness: float) -> LinearModel:
    """A row of masses, of which some are pushed by others and push nothing back: these lose their own rows."""
    k = stiffness * sp.diags([np.full(n, 2.0), np.full(n - 1, -1.0), np.full(n - 1, -1.0)], [0, 1, -1]).tolil()
    k[7 : 7 + 30 * pushing : 30] = 0.0
    return LinearModel.from_matrices(sp.identity(n), None, k.tocsr(), active=True)


def projector(model: LinearModel, monkeypatch, dense: int) -> np.ndarray:
    """Onto the free motions of a model, found anew, densely up to a size."""
    monkeypatch.setattr(SIZES, "dense", dense)
    null = np.linalg.qr(replace(model).zero_motions.toarray())[0]
    return null @ null.T


@pytest.mark.parametrize("stiffness", [1e-3, 1.0, 1e9])
@pytest.mark.parametrize("pushing", [0, 1, 3])
def test_rows_that_nothing_pushes_back(pushing, stiffness, monkeypatch):
    model = pushed(100, pushing, stiffness)
    sparse, dense = (projector(model, monkeypatch, size) for size in (10, 1000))
    assert np.trace(dense) == pytest.approx(pushing, abs=1e-9)
    np.testing.assert_allclose(sparse, dense, rtol=0, atol=1e-9)


def test_what_a_search_has_sorted_is_not_sorted_again_but_for_another_stiffness(monkeypatch):
    s = mse.MSystem("swing", gravity=(0, 0, -9.81))
    bar = s.add(mse.RigidBody("bar", mass=1.0, inertia=0.1, at=Pose.dz(-0.5)))
    hinge = s.add(mse.Spherical("hinge"))
    s.clamp(s.ground, hinge.frame(0))
    s.clamp(bar, hinge.frame(1), Pose.dz(0.5))
    model = s.find_working_point().linearize()
    free = model.reduced[0].zero_motions
    monkeypatch.setattr("mse.linear.zero_motions.classify", None)
    assert model.zero_motions.shape[1] == free.shape[1] == 1  # it turns about its own axis
    again = s.find_working_point().linearize()
    assert again.reduced[0].zero_motions.shape[1] == 1
    with pytest.raises(TypeError, match="NoneType"):
        _ = replace(model, name="other").zero_motions


def test_more_free_motions_than_are_asked_for_first(monkeypatch):
    model = pushed(600, 17, 5.0)
    sparse = projector(model, monkeypatch, 10)
    assert np.trace(sparse) == pytest.approx(17, abs=1e-9)
    assert np.abs(model.K @ sparse).max() < 1e-12


def test_large_rows_are_known_without_dense_matrices(monkeypatch):
    monkeypatch.setattr(SIZES, "dense_eigenpairs", 0)
    model = pushed(3000, 2, 10.0)
    null = model.zero_motions
    assert null.shape == (3000, 2)
    assert np.abs((model.K @ null).toarray()).max() < 1e-12


@pytest.mark.parametrize("jointed", [False, True])
def test_bodies_that_spin_under_a_load_that_follows(jointed, monkeypatch):
    """Balls on a chain of springs, free to turn about what they hang on, and a follower load across the last."""
    s = mse.MSystem("chain", gravity=(0, 0, -9.81))
    above = s.ground
    for k in range(5):
        body = s.add(mse.RigidBody(f"b{k}", mass=1.0, inertia=0.01, at=Pose.dz(-1.0 - k)))
        spring = s.add(mse.Spring(f"s{k}", length=0.9, stiffness=1e4))
        s.clamp(above, spring.frame(1), Pose.dz(-0.05) if k else Pose())
        s.clamp(spring.frame(0), body.frame(0), Pose.dz(0.05))
        above = body.frame(0)
    if jointed:
        s.add(mse.Joint("slide", free=("x", "z", "az", "ay")), between=("b2.center", s.ground))
    s.clamp(above, s.add(mse.Load("load", force=(0.3, 0, 0.2), axes="frame")).frame(0), Pose.dz(-0.2))
    model = s.find_working_point().linearize()
    assert model.skew.circulates
    sparse, dense = (projector(model, monkeypatch, size) for size in (10, 1000))
    np.testing.assert_allclose(sparse, dense, rtol=0, atol=1e-6)
    assert np.trace(dense) > 2.5
