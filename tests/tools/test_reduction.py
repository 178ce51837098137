"""Balanced reductions of state spaces: errors within their bounds, motions that do not decay kept, and refusals."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import mse

F = np.geomspace(1e-3, 3.0, 300)


def chain(n: int = 8, *, damping: float = 0.02, first: float = 1.0) -> mse.LinearModel:
    """Masses in a row between springs of 1 N/m, the first one of them tied to the ground."""
    k = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    k[0, 0], k[-1, -1] = 1.0 + first, 1.0
    damped = damping * (np.diag(np.linspace(1.0, 2.0, n)) - 0.1 * np.eye(n, k=1) - 0.1 * np.eye(n, k=-1))
    return mse.LinearModel.from_matrices(np.eye(n), damped, k)


def response(ss: mse.StateSpace) -> np.ndarray:
    return np.array([ss.C @ np.linalg.solve(2j * np.pi * f * np.eye(len(ss.A)) - ss.A, ss.B) + ss.D for f in F])


def pair(model: mse.LinearModel) -> mse.StateSpace:
    return model.state_space(inputs=["x0", "x3"], outputs=["x7", "x1"])


@pytest.fixture(autouse=True)
def _slycot():
    pytest.importorskip("slycot")


@pytest.mark.parametrize("how", [{"order": 6}, {"order": 10}, {"error": 0.05}, {"error": 3e-3}])
def test_no_response_is_off_by_more_than_the_bound(how):
    ss = pair(chain(damping=0.3))
    less = ss.reduced(**how)
    off = np.abs(response(less) - response(ss)).max(axis=0)
    assert np.all(off <= less.balanced.bound) and np.all(off >= 0.02 * less.balanced.bound)
    assert len(less.states) < len(ss.states) and less.balanced.whole == 16 and less.balanced.kept == 0
    if "order" in how:
        assert len(less.states) == how["order"]
    else:
        assert np.all(less.balanced.bound <= how["error"] * less.balanced.peak.max() * (1 + 1e-9))
    assert (less.inputs, less.outputs, less.output_units) == (ss.inputs, ss.outputs, ss.output_units)
    assert np.all(less.poles().real < 0.0)


def test_units_of_any_size_count_alike():
    """Outputs in m and um: the same states are left out."""
    ss, turn = pair(chain(damping=0.3)), np.diag([1.0, 1e6])
    scaled = replace(ss, C=turn @ ss.C)
    one, other = ss.reduced(error=0.01), scaled.reduced(error=0.01)
    np.testing.assert_allclose(other.balanced.bound, turn @ one.balanced.bound, rtol=1e-6)
    expected = turn @ response(one)
    np.testing.assert_allclose(
        response(other) / np.abs(expected).max(axis=0), expected / np.abs(expected).max(axis=0), atol=1e-6
    )


def test_free_undamped_and_growing_motions_stay_as_they_are():
    m, c, k = np.eye(8), np.zeros((8, 8)), np.zeros((8, 8))
    c[:6, :6], k[:6, :6] = chain(6).Lambda.toarray(), chain(6).K.toarray()
    k[6, 6], c[7, 7] = 4.0, 0.0  # an undamped mass, and a free one
    m[0, 6] = m[6, 0] = m[0, 7] = m[7, 0] = 0.0
    model = mse.LinearModel.from_matrices(m, c, k)
    ss = model.state_space()
    a = ss.A.copy()
    a[8 + 6, 8 + 6] = 0.05  # which makes the undamped one grow
    for whole, stay in ((ss, 4), (replace(ss, A=a), 4)):
        less = whole.reduced(order=12)
        assert less.balanced.kept == stay and less.states[:stay] == tuple(f"kept {k}" for k in range(stay))
        kept, poles = np.linalg.eigvals(less.A[:stay, :stay]), np.linalg.eigvals(whole.A)
        staying = poles[poles.real > -1e-9]
        far = np.abs(kept[:, None] - staying)  # each has its like: they have no order, where real parts are rounding
        assert len(staying) == stay and far.min(axis=0).max() < 1e-7 and far.min(axis=1).max() < 1e-7
        assert less.free == whole.free and less.zeros == whole.zeros
        off = np.abs(response(less) - response(whole)).max(axis=0)
        assert np.all(off <= less.balanced.bound + 1e-9 * np.abs(response(whole)).max(axis=0) + 1e-12)


def test_tables_and_files_state_the_error(tmp_path):
    less = pair(chain()).reduced(order=8)
    assert "8 of 16 states, by balanced truncation" in repr(less) and "error, at most" in repr(less)
    less.save(tmp_path / "less.npz")
    again = mse.read_result(tmp_path / "less.npz")
    np.testing.assert_array_equal(again.balanced.bound, less.balanced.bound)
    assert repr(again) == repr(less)


@pytest.mark.parametrize(
    "how, told",
    [
        ({}, "expected one of them"),
        ({"order": 4, "error": 0.1}, "expected one of them"),
        ({"order": 17}, "order is 17; expected .* at most 16"),
        ({"error": 0.0}, "error is 0.0; expected a finite number greater than 0"),
    ],
)
def test_what_cannot_be_reduced_is_refused(how, told):
    with pytest.raises(mse.ModelError, match=told):
        pair(chain()).reduced(**how)


def test_undamped_plants_and_a_missing_package_are_named(monkeypatch):
    with pytest.raises(mse.ModelError, match="none of its 16 states decays.*up_to_hz"):
        pair(chain(damping=0.0)).reduced(order=4)
    monkeypatch.setitem(sys.modules, "slycot", None)
    with pytest.raises(mse.MissingPackageError, match=r"balanced reductions need slycot.*mse\[reduction\]"):
        pair(chain()).reduced(order=4)


@pytest.mark.parametrize(
    ("ends", "told"), [({"inputs": []}, "0 inputs and 8 outputs"), ({"outputs": []}, "8 inputs and 0 out")]
)
def test_state_spaces_without_inputs_or_outputs_are_refused(ends, told):
    with pytest.raises(mse.ModelError, match=f"{told}.*at least one of each"):
        chain().state_space(**ends).reduced(order=2)
