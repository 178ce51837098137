"""The search for modes of large models: from where it begins, and with what it counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse as sp

import mse
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
    narrow, wide = model.factors(model.K.tocsc()), model.factors((model.K - model.M).tocsc())
    assert 2 * narrow.ordering.kept < wide.ordering.kept
    before = replace(model).modes(20).frequencies_hz
    np.testing.assert_array_equal(before, model.modes(20).frequencies_hz)
