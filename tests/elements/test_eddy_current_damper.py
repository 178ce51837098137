"""Eddy-current dampers: the coefficient of a magnet, a corner that is exact in frequency and time, and their thermal noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm

import mse

MASS, STIFFNESS, C, CORNER = 1.0, 100.0, 0.2, 3.0


def stage(**parameters) -> mse.LinearModel:
    system = mse.MSystem("stage", gravity=(0, 0, -9.81))
    mass = system.add(mse.RigidBody("mass", mass=MASS, inertia=0.1))
    system.add(mse.Bushing("seat", stiffness=STIFFNESS), between=(mass, system.ground))
    system.add(mse.EddyCurrentDamper("damper", **parameters), between=(mass, system.ground))
    system.add(mse.PositionSensor("probe"), between=(mass, system.ground))
    system.add(mse.ForceActuator("coil"), between=(system.ground, mass))
    return system.find_working_point().linearize()


def test_a_dipole_over_a_sheet():
    """The power of the rings of current under a moving dipole, added up, is c v^2."""
    m, h, sigma, t = 2.0, 0.01, 5.8e7, 1e-3

    def power(r):
        field = 3 * 4e-7 * np.pi * m * h * r / (4 * np.pi * (h**2 + r**2) ** 2.5)
        return sigma * t * field**2 * 2 * np.pi * r

    damper = mse.EddyCurrentDamper.from_magnet("d", moment=m, height=h, conductivity=sigma, thickness=t, corner_hz=40.0)
    assert damper.damping[2] == pytest.approx(quad(power, 0, 1, points=[0.01, 0.05])[0], rel=1e-9)
    assert damper.damping[2] == pytest.approx(0.546637122, rel=1e-8)
    assert not damper.damping[[0, 1, 3, 4, 5]].any() and damper.corner_hz == 40.0


@pytest.mark.parametrize("corner", [0.0, CORNER])
def test_force_and_thermal_noise_at_each_frequency(corner):
    model, f = stage(damping=C, corner_hz=corner, temperature=77.0), np.array([0.5, 1.6, 20.0])
    w = 2 * np.pi * f
    z = STIFFNESS - MASS * w**2 + 1j * w * C / (1 + 1j * f / corner if corner else 1)
    np.testing.assert_allclose(model.frequency_response(f)["probe.z", "coil.fz"], 1 / z, rtol=1e-12)
    expected = 4 * 1.380649e-23 * 77.0 * (z.imag / w) / np.abs(z) ** 2
    np.testing.assert_allclose(model.noise(f, "probe.z").total ** 2, expected, rtol=1e-10)
    np.testing.assert_allclose(model.frequency_response([0.0])["probe.z", "coil.fz"], 1 / STIFFNESS, rtol=1e-14)


def test_a_corner_is_one_state_and_exact_in_time():
    model, wc = stage(damping=C, corner_hz=CORNER), 2 * np.pi * CORNER
    a = np.array([[0, 1, 0], [-STIFFNESS / MASS, 0, -1 / MASS], [0, C * wc, -wc]])
    assert len(model.state_space().A) == 12 + 1
    found = model.simulate(duration=4.0, dt=0.5, initial={"mass.z": 1e-3}, outputs=["probe.z"])["probe.z"]
    expected = [(expm(a * t) @ [1e-3, 0, 0])[0] for t in 0.5 * np.arange(9)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)
    s = np.linalg.eigvals(a)
    swinging = s[s.imag > 0][0]
    assert min(abs(model.modes(damped=True).eigenvalues - swinging)) < 1e-9


def test_six_coefficients_have_a_corner_each():
    model = stage(damping=(0.1, 0.0, 0.3, 0.01, 0.0, 0.02), corner_hz=CORNER)
    assert [c for c in model.coordinates if "lag" in c] == [f"damper.lag_{x}" for x in ("x", "z", "ax", "az")]
    f, w = np.array([2.0]), 4 * np.pi
    response = model.frequency_response(f)
    for axis, force, inertia, c in (("x", "fx", 1.0, 0.1), ("y", "fy", 1.0, 0.0), ("az", "tz", 0.1, 0.02)):
        z = STIFFNESS - inertia * w**2 + 1j * w * c / (1 + 2j / CORNER)
        np.testing.assert_allclose(response[f"probe.{axis}", f"coil.{force}"], 1 / z, rtol=1e-12)


def test_updates_and_files(tmp_path):
    system = mse.MSystem("stage", gravity=(0, 0, 0))
    mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
    system.add(mse.EddyCurrentDamper("damper", damping=C), between=(mass, system.ground))
    wp = system.find_working_point().update({"damper.corner_hz": CORNER})
    assert wp.linearize().coordinates[6:] == ("damper.lag_z",)
    wp.save(tmp_path / "stage.json")
    again = mse.read_model(tmp_path / "stage.json").system["damper"]
    assert again.corner_hz == CORNER and again.damping[2] == C


@pytest.mark.parametrize(
    "value, told", [(-1.0, "feed energy"), ((1, 2), "six finite numbers of at least 0, or one for z"), ("a", "six")]
)
def test_wrong_coefficients_are_refused(value, told):
    with pytest.raises(mse.ModelError, match=f"EddyCurrentDamper 'd': damping is .*{told}"):
        mse.EddyCurrentDamper("d", damping=value)


def test_a_magnet_in_the_sheet_is_refused():
    with pytest.raises(
        mse.ModelError, match="EddyCurrentDamper 'd': height is 0.0 m; expected a finite number greater"
    ):
        mse.EddyCurrentDamper.from_magnet("d", moment=2.0, height=0.0, conductivity=5.8e7, thickness=1e-3)
