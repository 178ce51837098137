"""Isolators by existing elements: an inverted pendulum is a hinge with stiffness and loss under a body; a geophone, a mass."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose

KAPPA, LENGTH, LEG, LOAD, GRAVITY = 1250.0, 0.45, 0.5, 250.0, 9.81


def inverted_pendulum(loss: float = 0.0) -> mse.LinearModel:
    """A leg on a flexure, with a load on its head; the base moves along x."""
    system = mse.MSystem("inverted pendulum", gravity=(0, 0, -GRAVITY))
    base = system.add(mse.PositionActuator("base"))
    system.clamp(system.ground, base.frame(1))
    frames = {"foot": Pose.dz(-LENGTH / 2), "head": Pose.dz(LENGTH / 2)}
    leg = system.add(mse.RigidBody("leg", mass=LEG, inertia=(LEG * LENGTH**2 / 12,) * 2 + (0.0,), frames=frames))
    load = system.add(mse.RigidBody("load", mass=LOAD, inertia=0.0))
    flexure = mse.Revolute("flexure", axis=(0, 1, 0), stiffness=KAPPA, loss=loss)
    system.add(flexure, between=(leg.frame("foot"), base.frame(0)))
    system.clamp(leg.frame("head"), load.frame("center"))
    system.add(mse.PositionSensor("probe"), between=(load, system.ground))
    return system.find_working_point().linearize()


def test_an_inverted_pendulum_is_a_hinge_under_a_body():
    model = inverted_pendulum()
    assert model.modes().frequencies_hz == pytest.approx([0.2695149872], rel=1e-9)
    left = KAPPA - (LOAD + LEG / 2) * GRAVITY * LENGTH
    assert left == pytest.approx((2 * np.pi * 0.2695149872) ** 2 * (LOAD + LEG / 3) * LENGTH**2, rel=1e-9)
    plateau = model.frequency_response([1e7])["probe.x", "base.x"][0]
    assert plateau.real == pytest.approx(-3.33111259e-4, rel=1e-8)
    lossy = inverted_pendulum(1e-3)
    assert lossy.modes(lossy=True).quality == pytest.approx([116.2171], rel=1e-6)
    f = np.array([0.1])
    w, k = 2 * np.pi * f, left + 1e-3j * KAPPA
    chi = LENGTH**2 / (k - (LOAD + LEG / 3) * LENGTH**2 * w**2)  # of the head
    expected = 4 * 1.380649e-23 * 300.0 / w * chi.conj().imag
    np.testing.assert_allclose(lossy.noise(f, "probe.x").total ** 2, expected, rtol=1e-9)


def test_a_geophone_is_a_mass_on_a_spring_and_reads_tilt():
    """Below its resonance it reads the acceleration along its axis, g times the tilt among it."""
    system = mse.MSystem("geophone", gravity=(0, 0, -GRAVITY))
    table, case = system.add(mse.PositionActuator("table")), system.add(mse.RigidBody("case", mass=1.0, inertia=0.01))
    system.clamp(system.ground, table.frame(1))
    system.clamp(table.frame(0), case.frame("center"))
    mass = system.add(mse.RigidBody("mass", mass=0.5, inertia=0.0))
    m, c, k = 0.5, 2.0, 0.5 * (2 * np.pi * 1.0) ** 2
    system.add(mse.Prismatic("slide", axis=(1, 0, 0), stiffness=k, damping=c), between=(mass, case))
    response = system.find_working_point().linearize().frequency_response(f := np.array([0.01, 0.3, 5.0]))
    w = 2 * np.pi * f
    chi = m / (k + 1j * w * c - m * w**2)
    np.testing.assert_allclose(response["slide.displacement", "table.x"], w**2 * chi, rtol=1e-9)
    np.testing.assert_allclose(response["slide.displacement", "table.ay"], GRAVITY * chi, rtol=1e-9)
