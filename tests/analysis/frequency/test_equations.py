"""The equations of a frequency response: how the rows of what is held are kept."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mse
from models import four_wire_chain
from mse.analysis.frequency import equations
from mse.analysis.frequency.response import unconstrained

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


def test_rows_of_many_held_coordinates_stay_sparse():
    """Sixty hinges have 300 multipliers of 660 coordinates, a dense matrix of 1.6 MB: nothing as large is made of them."""
    s = mse.MSystem("hinges")
    last = s.ground
    for k in range(60):
        body = s.add(mse.RigidBody(f"body{k}", mass=1.0, inertia=0.01, at=mse.Pose.dz(-0.1 * (k + 1))))
        hinge = s.add(mse.Revolute(f"hinge{k}", axis=(k % 2, 1 - k % 2, 0), stiffness=1.0))
        s.clamp(last, hinge.frame(1))
        s.clamp(body.frame(0), hinge.frame(0), mse.Pose.dz(0.1))
        last = body.frame(0)
    s.add(mse.PositionSensor("probe"), between=(last, s.ground))
    s.add(mse.ForceActuator("push"), between=(s.ground, last))
    model, back = unconstrained(s.find_working_point().linearize())
    held = equations.Equations(model, np.arange(6), np.arange(6), {}, model, back)
    assert all(sp.issparse(a) for polynomial in (held.drive, held.read) for a in polynomial[:3])
