"""The equations of a frequency response: how the rows of what is held are kept."""

from __future__ import annotations

import numpy as np
import pytest

from models import four_wire_chain
from mse.analysis.frequency import equations

pytestmark = pytest.mark.rounding


def test_held_coordinates_are_kept_sparse_or_not(monkeypatch):
    """70 coordinates, an actuator and a sensor, with their rows as dense matrices and as sparse ones."""
    linear = four_wire_chain(12, driven=True).find_working_point().linearize()
    f = np.geomspace(0.05, 50, 20)
    dense = linear.frequency_response(f).values
    monkeypatch.setattr(equations, "_FEW", 0.0)
    sparse = linear.frequency_response(f).values
    largest = np.abs(dense).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(sparse / largest, dense / largest, rtol=0, atol=1e-12)
