"""Singular motions of large models, found by inverse iteration."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from mse.analysis.frequency import direct


@pytest.mark.parametrize("free", [0, 3, 14, 18, 40])
def test_all_motions_without_stiffness_are_found_though_rounding_hides_some_of_a_full_block(free):
    """Of blocks with less than twice as many motions two keep some stiffness, as rounding may leave it."""
    stiffness = np.concatenate([np.zeros(free), np.linspace(1.0, 2.0, 60)])
    z = sp.diags_array(stiffness).tocsc()

    def solve(right: np.ndarray) -> np.ndarray:
        x = right / (stiffness + direct._SHIFT)[:, None]
        if right.shape[1] < 2 * free:
            x[-1, :2] += 0.1 * np.abs(x).max()
        return x

    system = SimpleNamespace(
        n=len(stiffness), multipliers=0, rounding=lambda motions, w: np.full(motions.shape[1], 1e-13)
    )
    found = direct._free_motions(system, 0.0, z, solve, np.ones(len(stiffness)))
    assert found.shape[1] == free
    assert np.abs(z @ found).max(initial=0.0) < 1e-12
