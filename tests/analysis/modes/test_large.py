"""The search for modes of large models: from where it begins, and with what it counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse as sp

import mse
from mse import Pose
from mse.analysis.modes import large


def row(n: int, held: float, reach: int = 2) -> mse.LinearModel:
    """Masses in a row on springs, coupled by mass at a distance; the first one held by so much of a spring."""
    k = sp.diags_array([-np.ones(n - 1), np.full(n, 2.0), -np.ones(n - 1)], offsets=[-1, 0, 1]).tolil()
    k[0, 0], k[-1, -1] = 1.0 + held, 1.0
    m = sp.diags_array([np.full(n - reach, 0.1), np.full(n, 1.0), np.full(n - reach, 0.1)], offsets=[-reach, 0, reach])
    zero = sp.csr_matrix((n, n))
    return mse.LinearModel.from_matrices(m.tocsr(), zero, k.tocsr())


@pytest.fixture
def shifts(monkeypatch):
    """Those of all factors."""
    met = []
    factored = large._Shifted.__call__
    monkeypatch.setattr(large._Shifted, "__call__", lambda self, at: met.append(at) or factored(self, at))
    return met


def test_the_stiffness_itself_is_factored_where_nothing_is_free(shifts):
    """And once more behind the modes, to count them; it fills in less than with a shift, as it lacks the entries of M."""
    model = row(700, 0.5)
    w2 = (2 * np.pi * model.modes(20).frequencies_hz) ** 2
    assert shifts[0] == 0.0
    assert len(shifts) == 2
    right = sl.eigh(model.K.toarray(), model.M.toarray(), eigvals_only=True, subset_by_index=[0, 20])
    np.testing.assert_allclose(w2, right[:20], rtol=1e-11, atol=1e-15)
    assert right[19] < shifts[1] < right[20]


def test_where_mass_couples_nothing_else_a_shift_costs_nothing(shifts):
    """And makes solutions more right."""
    model = row(700, 0.5, 1)
    model.modes(20)
    assert shifts[0] < 0.0
    assert len(shifts) == 2


def test_free_motions_are_searched_beside_a_shift(shifts):
    model = row(700, 0.0)
    w2 = (2 * np.pi * model.modes(20).frequencies_hz) ** 2
    assert shifts[0] < 0.0
    right = sl.eigh(model.K.toarray(), model.M.toarray(), eigvals_only=True, subset_by_index=[0, 20])
    assert w2[0] == 0.0
    np.testing.assert_allclose(w2[1:20], right[1:20], rtol=1e-11, atol=1e-15)


def test_a_stiffness_is_factored_by_its_own_ordering_after_modes_were_counted():
    """What M adds to the pattern of K would fill in its factor."""
    model = row(700, 0.5, 30)
    model.modes(20)
    narrow, wide = model._factors(model.K.tocsc()), model._factors((model.K - model.M).tocsc())
    assert 2 * narrow.ordering.kept < wide.ordering.kept
    before = replace(model).modes(20).frequencies_hz
    np.testing.assert_array_equal(before, model.modes(20).frequencies_hz)


@pytest.mark.rounding
@pytest.mark.parametrize("hung", [0, 3])
def test_modes_of_long_linkages_of_thin_bars_are_counted(hung):
    """Forty four-bars hang in a row, of one freedom together, and pendulums on the first few: as in independent coordinates."""
    s, count = mse.MSystem("linkage", gravity=(0, -9.81, 0)), 40

    def bar(name: str, x: float, y: float, turn: float) -> mse.RigidBody:
        body = mse.RigidBody(name, mass=1.0, inertia=(1e-9, 1 / 12, 1 / 12), at=Pose((x, y, 0)) @ Pose.rz(turn))
        return s.add(body)

    def pin(name: str, frame: mse.Frame, pose: Pose, body: mse.RigidBody, x: float) -> None:
        hinge = s.add(mse.Revolute(name))
        s.clamp(frame, hinge.frame(1), pose)
        s.clamp(body.frame(0), hinge.frame(0), Pose.dx(x))

    cranks = [bar(f"c{k}", k, -0.5, -np.pi / 2) for k in range(count + 1)]
    for k, crank in enumerate(cranks):
        pin(f"f{k}", s.ground, Pose.dx(k), crank, -0.5)
    for k in range(count):
        coupler = bar(f"b{k}", k + 0.5, -1.0, 0.0)
        pin(f"l{k}", cranks[k].frame(0), Pose.dx(0.5), coupler, -0.5)
        pin(f"r{k}", cranks[k + 1].frame(0), Pose.dx(0.5), coupler, 0.5)
        if k < hung:
            pin(f"q{k}", coupler.frame(0), Pose(), bar(f"p{k}", k + 0.5, -1.5, -np.pi / 2), -0.5)
    model = s.find_working_point().linearize()
    found, every = model.modes(2), model.modes()
    assert every.complete and len(every) == 1 + hung
    np.testing.assert_allclose(found.frequencies_hz, every.frequencies_hz[:2], rtol=1e-12)
    # of rods of one length l: w^2 = (sum of m g over cranks, and of couplers that hang on them) / (sum of J/l^2 and m)
    if not hung:
        exact = 9.81 * (0.5 * (count + 1) + count) / ((count + 1) / 3 + count)
        assert found.frequencies_hz[0] == pytest.approx(np.sqrt(exact) / (2 * np.pi), rel=1e-10)
