"""Normal forms: coupled modes by eigenvectors and as one dense block."""

from __future__ import annotations

import numpy as np
import pytest

import mse
import mse.analysis.time.normal_form
from mse.analysis.time.normal_form import normal_form
from test_steps import locally_damped

pytestmark = pytest.mark.rounding


def test_dense_blocks_are_the_modal_ones(monkeypatch):
    """Without eigenvectors the coupled modes march as one matrix, by plain loops or by the library's products."""
    for stages in (2, 5):
        model = locally_damped(stages)
        u = np.random.default_rng(1).standard_normal(5001)
        options = {"duration": 50.0, "dt": 0.01, "inputs": {"base.x": u}, "outputs": ["probe.x", "probe.ay"]}
        modal = model.simulate(**options)
        with monkeypatch.context() as m:
            m.setattr(mse.analysis.time.normal_form, "_eigenvectors", lambda a: None)
            assert len(normal_form(model.state_space(), 0.01).rest) > 10
            dense = model.simulate(**options)
        size = np.abs(modal.values).max(axis=0)
        np.testing.assert_allclose(dense.values / size, modal.values / size, rtol=0, atol=1e-10)
        for name, value in modal.final_state.items():
            assert dense.final_state[name] == pytest.approx(value, abs=1e-9 * max(map(abs, modal.final_state.values())))
