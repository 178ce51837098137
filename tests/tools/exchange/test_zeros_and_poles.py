"""Zeros and poles that miss the response they are made from."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse.errors import ModelWarning
from mse.tools.exchange import zeros_and_poles as module


def test_products_that_miss_are_left_out_with_a_warning(tmp_path, monkeypatch):
    k, c = np.array([[2.0, -1.0], [-1.0, 2.0]]), np.diag([0.1, 0.1])
    ss = mse.LinearModel.from_matrices(np.eye(2), c, k).state_space()
    monkeypatch.setattr(module, "_MISSED", -1.0)
    with pytest.warns(ModelWarning, match=r"zeros and poles of \d+ responses are left out.*up_to_hz"):
        ss.save(tmp_path / "a.h5")
    again = mse.read_result(tmp_path / "a.h5")
    for name in "ABCD":
        np.testing.assert_array_equal(getattr(again, name), getattr(ss, name))
