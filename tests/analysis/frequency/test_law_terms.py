"""Terms of losses with a law in a sweep: the check of every answer sees them, wherever they stand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mse
from mse.analysis.frequency.equations import Polynomial
from mse.analysis.frequency.law_terms import LawTerms
from mse.analysis.frequency.sweep import Sweep
from mse.linear.law_stiffness import LawEntries, Laws

RELAXING = mse.Zener(0.3, 1.0), mse.LossTable([1e-3, 1e3], [0.02, 0.01])
W = np.linspace(0.3, 6.0, 50)


def chain(n: int, seed: int = 0) -> Polynomial:
    """Masses in a row, every third spring with one of two laws."""
    rng = np.random.default_rng(seed)
    stretch = sp.diags([np.ones(n), -np.ones(n - 1)], [0, -1], format="csr")
    k = rng.uniform(1.0, 9.0, n)
    laws, found = Laws({("spring", str(j)): law for j, law in enumerate(RELAXING)}), []
    for j in range(2):
        part = (stretch.T @ sp.diags(np.where(np.arange(n) % 3 == j, k, 0.0)) @ stretch).tocoo()
        found.append((np.full(part.nnz, j), part.row, part.col, part.data))
    entries = LawEntries(laws, *(np.concatenate(a) for a in zip(*found, strict=True)), (n, n))
    m = sp.identity(n, format="csr")
    return Polynomial((stretch.T @ sp.diags(k) @ stretch).tocsr(), 0.01 * m, m, entries)


def picking(n: int, *rows: int) -> Polynomial:
    k = sp.identity(n, format="csr")[list(rows)]
    return Polynomial(k, 0 * k, 0 * k)


def of_laws(n: int, *rows: int) -> Polynomial:
    """Outputs that read the forces of the springs with a law."""
    matrix = chain(n)
    pick = sp.identity(n, format="csr")[list(rows)]
    return picking(n, *rows)._replace(laws=matrix.laws.T.times(pick.T).T)


@pytest.mark.parametrize("outputs", [3, 40], ids=["in the border", "substituted back"])
@pytest.mark.parametrize("read", [picking, of_laws])
def test_matrices_and_rows_with_laws_are_swept(outputs, read):
    n = 60
    matrix, drive, reading = chain(n), picking(n, 0, 30).T, read(n, *range(outputs))
    values, good = Sweep("chain", matrix, drive, reading)(W)
    expected = reading.at(W) @ np.linalg.solve(matrix.at(W), drive.at(W))
    assert good.all()
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


def test_forces_with_laws_are_swept_too():
    n = 60
    matrix, drive, reading = chain(n), of_laws(n, 0, 30).T, picking(n, 5, 6)
    values, good = Sweep("chain", matrix, drive, reading)(W)
    expected = reading.at(W) @ np.linalg.solve(matrix.at(W), drive.at(W))
    assert good.all()
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("entry", [0, 17, 90])
def test_the_check_sees_a_wrong_entry_of_a_law(monkeypatch, entry):
    """Where the elimination adds something else than the equations have, no answer passes."""
    at = LawTerms.at

    def wrong(self, w):
        self._matrix[entry] *= 1.0 + 1e-6
        return at(self, w)

    monkeypatch.setattr(LawTerms, "at", wrong)
    assert not Sweep("chain", chain(60), picking(60, 0).T, picking(60, 5))(W)[1].any()
