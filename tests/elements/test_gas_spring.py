"""Gas springs: transmission with a wand, the geometric form's stiffness and loss, and masses that a wand may not have."""

from __future__ import annotations

import numpy as np
import pytest

import mse

GRAVITY, LOAD, STIFFNESS = 9.81, 100.0, 500.0


def stage(*, base: mse.MObject | None = None, mass: float = LOAD, **parameters) -> mse.MSystem:
    """A load on a gas spring that works at h = 0, from a base, or from the ground."""
    system = mse.MSystem("stage", gravity=(0, 0, -GRAVITY))
    load = system.add(mse.RigidBody("load", mass=mass, inertia=1.0))
    if base is None:
        below = system.ground
    else:
        below = system.add(base).frame(0)
    if isinstance(base, mse.PositionActuator):
        system.clamp(system.ground, base.frame(1))
    system.add(mse.Prismatic("guide"), between=(load, below))
    parameters = {"stiffness": STIFFNESS, "preload": mass * GRAVITY} | parameters
    system.add(mse.GasSpring("gas", **parameters), between=(load, below))
    system.add(mse.PositionSensor("probe"), between=(load, system.ground))
    return system


@pytest.mark.parametrize(
    "wand, expected", [(1.0, (1.046991417, 0.01128088)), (-1.0, (1.006502086, 0.00874466)), (0.0, None)]
)
def test_the_load_follows_its_base_as_the_wand_lets_it(wand, expected):
    model = stage(base=mse.PositionActuator("base"), wand=wand, loss=1 / 30).find_working_point().linearize()
    f = np.array([0.5, 10.0])
    found = model.frequency_response(f)["probe.z", "base.z"]
    w2, k = (2 * np.pi * f) ** 2, STIFFNESS * (1 + 1j / 30)
    np.testing.assert_allclose(found, (k + wand * w2) / (k - LOAD * w2), rtol=1e-12)
    if expected:
        np.testing.assert_allclose(np.abs(found), expected, rtol=1e-6)


def test_compressed_blades_take_stiffness_and_no_loss():
    """k - kx (l0/x0 - 1) is left, of which k alone loses: Q falls with the square of the frequency."""
    blades = {"blade_stiffness": 4000.0, "blade_length": 0.33, "loss": {"axial": 1e-3, "blades": 0.02}}
    for span in (0.33, 0.31, 0.297):
        wp = stage(blade_span=span, **blades).find_working_point()
        net = STIFFNESS - 4000.0 * (0.33 / span - 1.0)
        mode = wp.linearize().modes(lossy=True)[0]
        quality = net / (1e-3 * STIFFNESS)
        assert mode.quality == pytest.approx(quality, rel=1e-9)
        natural = np.sqrt(net / LOAD * np.sqrt(1 + quality**-2)) / (2 * np.pi)
        assert mode.frequency_hz == pytest.approx(natural, rel=1e-9)


def test_off_its_working_point_the_blades_lose_too():
    wp = stage(
        blade_stiffness=4000.0, blade_length=0.33, blade_span=0.31, preload=LOAD * GRAVITY + 20.0, loss={"blades": 1e-3}
    ).find_working_point()
    h = wp.poses["load.center"].o[2]
    length = np.hypot(0.31, h)
    assert STIFFNESS * h + 4000.0 * (length - 0.33) * h / length == pytest.approx(20.0, rel=1e-9)
    lossy = 4000.0 * (h / length) ** 2
    whole = STIFFNESS + lossy + 4000.0 * (length - 0.33) * 0.31**2 / length**3
    assert wp.linearize().modes(lossy=True)[0].loss_factor == pytest.approx(1e-3 * lossy / whole, rel=1e-9)


def test_thermal_noise_of_the_net_stiffness_at_its_temperature():
    model = stage(loss=1 / 30, temperature=77.0).find_working_point().linearize()
    f = np.array([0.1, 3.0])
    w = 2 * np.pi * f
    chi = 1.0 / (STIFFNESS * (1 + 1j / 30) - LOAD * w**2)
    expected = 4 * 1.380649e-23 * 77.0 / w * STIFFNESS / 30 * np.abs(chi) ** 2
    np.testing.assert_allclose(model.noise(f, "probe.z").total ** 2, expected, rtol=1e-9)


@pytest.mark.parametrize("wand", [-2.1, 2.1])
def test_a_wand_heavier_than_its_bodies_is_refused(wand):
    system = stage(base=mse.RigidBody("filter", mass=1.0, inertia=1.0), mass=4.0, wand=wand)
    system.add(mse.Bushing("seat", stiffness=1e3), between=(system["filter"], system.ground))
    wp = system.find_working_point()
    with pytest.raises(mse.ModelError, match=r"GasSpring 'gas': its kinetic .* sqrt\(m0 m1\)"):
        wp.linearize()
    assert len(wp.update({"gas.wand": 0.9 * wand}).linearize().modes())


def test_blades_without_lengths_are_refused():
    with pytest.raises(mse.ModelError, match=r"GasSpring 'gas': blade_stiffness is 40 N/m, blade_span 0 m"):
        stage(blade_stiffness=40.0, blade_length=0.3).find_working_point()


def test_files_keep_it(tmp_path):
    stage(wand=-1.0, loss={"axial": 0.01}, axis=(0, 0, 2)).save(tmp_path / "stage.json")
    again = mse.read_model(tmp_path / "stage.json")["gas"]
    assert (again.wand, again.stiffness, dict(again.loss)) == (-1.0, STIFFNESS, {"axial": 0.01})
