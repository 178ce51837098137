"""Sums of squares of responses against dense matrices, however they are found."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import mse
import mse.analysis.frequency.squares as squares
from mse.analysis.frequency.readings import Readings
from mse.analysis.frequency.squares import Squares, sums_of_squares
from mse.analysis.frequency.sweep import Sweep

F = np.geomspace(0.02, 0.4, 45)


def chain(n: int, damping: float = 0.02, second: int = 0) -> mse.LinearModel:
    """Unit masses on springs, pushed at one end; ten outputs of two coordinates, then the first and the last coordinate."""
    rng = np.random.default_rng(n)
    k = sp.diags([2.0 + rng.uniform(0, 1, n), -np.ones(n - 1), -np.ones(n - 1)], [0, 1, -1]).toarray()
    rows = np.zeros((12, n))
    for row in rows[:10]:
        row[rng.choice(n, 2, replace=False)] = rng.standard_normal(2)
    rows[10, 0] = rows[11, -1] = 1.0
    model = mse.LinearModel.from_matrices(np.eye(n), damping * k if damping else None, k, name="chain")
    inputs, outputs = tuple(f"push{i}" for i in range(1 + second)), tuple(f"y{i}" for i in range(12))
    return replace(
        model, inputs=inputs, input_units=("N",) * len(inputs), force=sp.identity(n, format="csr")[:, : len(inputs)],
        drive=sp.csr_matrix((0, len(inputs))), outputs=outputs, output_units=("m",) * 12, measure=sp.csr_matrix(rows),
        rate=None, reaction=sp.csr_matrix((12, 0)),
    )  # fmt: skip


FIRST = np.array([0, 1, 4, 4, 10])  # the third sum is empty


def by_hand(model: mse.LinearModel, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    z = [model.K.toarray() + 1j * w * model.Lambda.toarray() - w**2 * model.M.toarray() for w in 2 * np.pi * f]
    push = model.force.toarray()[:, 0]
    rates = model.force.toarray()[:, 1:].sum(axis=1)
    x = [np.linalg.solve(own, push + 1j * w * rates) for own, w in zip(z, 2 * np.pi * f, strict=True)]
    y = np.array(x) @ model.measure.toarray().T
    sums = [(np.abs(y[:, a:b]) ** 2).sum(axis=1) for a, b in itertools.pairwise(FIRST)]
    return np.array(sums), y[:, 10:]


@pytest.mark.parametrize("damping", [0.02, 0.0])
@pytest.mark.parametrize("second", [0, 1])
@pytest.mark.parametrize("n", [12, 90, 300])
def test_sums_and_other_responses_are_those_of_dense_matrices(n, second, damping):
    model = chain(n, damping, second)
    sums, others, solved = Squares(model, FIRST).at(F)
    right, responses = by_hand(model, F)
    assert solved.all()
    np.testing.assert_allclose(sums, right, rtol=1e-9, atol=1e-13 * right.max())
    np.testing.assert_allclose(others, responses, rtol=1e-9, atol=1e-13 * np.abs(responses).max())


def test_squares_of_frequencies_that_fail_the_check_are_those_of_responses_with_pivots(monkeypatch):
    """A twentieth of all frequencies fails; only these are solved again."""
    model, call, asked = chain(90), Sweep.__call__, []

    def failing(self, w, tell=None, sums=None):
        values, good = call(self, w, tell, sums)
        asked.append(len(w))
        if sums is not None:
            sums[:, ::20], values[::20], good[::20] = np.nan, np.nan, False
        return values, good

    monkeypatch.setattr(Sweep, "__call__", failing)
    sums, others, solved = Squares(model, FIRST).at(F)
    right, responses = by_hand(model, F)
    assert solved.all()
    assert asked in ([45, 3], [45])
    np.testing.assert_allclose(sums, right, rtol=1e-9)
    np.testing.assert_allclose(others, responses, rtol=1e-9)


def test_the_check_of_readings_sees_one_that_is_not_what_the_known_solution_has(monkeypatch):
    known, call, passed = Readings.known, Sweep.__call__, []

    def wrong(self, *given):
        found = known(self, *given)
        found.right.reshape(-1, 10, 4)[:, 7, 0] *= 1.01
        return found

    def watched(self, w, tell=None, sums=None):
        values, good = call(self, w, tell, sums)
        passed.extend([good.copy()] if sums is not None else [])
        return values, good

    monkeypatch.setattr(Sweep, "__call__", watched)
    model, right = chain(90), by_hand(chain(90), F)[0]
    for changed in (known, wrong):
        monkeypatch.setattr(Readings, "known", changed)
        np.testing.assert_allclose(Squares(model, FIRST).at(F)[0], right, rtol=1e-9)
    assert passed[0].all() and not passed[1].any()


def test_squares_added_up_in_pieces_are_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((40, 10)) + 1j * rng.standard_normal((40, 10))
    whole = sums_of_squares(values, FIRST)
    monkeypatch.setattr(squares, "_AT_ONCE", 100.0)
    np.testing.assert_allclose(sums_of_squares(values, FIRST), whole, rtol=1e-14)
    np.testing.assert_allclose(whole[0], np.abs(values[:, 0]) ** 2, rtol=1e-14)
