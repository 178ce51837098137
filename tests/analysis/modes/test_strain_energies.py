"""Where the energy of modes is: shares by object and mechanism, which with loss factors add up to 1/Q."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse.analysis.modes.strain_energies import StrainEnergies

K, LOSS = (40.0, 30.0), {("low", "axial"): 1e-3, ("high", "axial"): 2e-2}


def rail(*, damping: float = 0.0) -> mse.LinearModel:
    """Masses of 1 and 2 kg on a rail, held by one spring and tied by another."""
    system = mse.MSystem("rail", gravity=(0, 0, 0))
    ends = [system.ground]
    for k, mass in enumerate((1.0, 2.0)):
        body = system.add(mse.RigidBody(f"m{k}", mass=mass, inertia=1.0, at=mse.Pose.dx(k + 1.0)))
        system.add(mse.Prismatic(f"guide{k}", axis=(1, 0, 0)), between=(body, system.ground @ mse.Pose.dx(k + 1.0)))
        name = ("low", "high")[k]
        system.add(
            mse.Spring(name, stiffness=K[k], loss=LOSS[name, "axial"], damping=damping), between=(ends[-1], body)
        )
        ends.append(body)
    return system.find_working_point().linearize()


def test_shares_of_undamped_modes_are_those_of_the_stretched_springs():
    modes = rail().modes()
    x = np.array([modes["m0.x"], modes["m1.x"]])
    stretched = np.array([K[0] * x[0] ** 2, K[1] * (x[1] - x[0]) ** 2])
    shares = stretched / stretched.sum(axis=0)
    for k, name in enumerate(("low", "high")):
        np.testing.assert_allclose(modes.strain_energies[name, "axial"], shares[k], atol=1e-12)
    largest = ("low", "high")[int(np.argmax(shares[:, 0]))]
    assert next(iter(modes[0].strain_energies)) == (largest, "axial")
    assert modes[0].strained().startswith(f"{largest} axial {100 * shares[:, 0].max():.0f} %")


def one_over_q(modes: mse.Modes, losses: dict) -> np.ndarray:
    return sum(share * losses.get(label, 0.0) for label, share in modes.strain_energies.items())


def test_shares_times_loss_factors_are_one_over_q():
    modes = rail().modes(lossy=True)
    np.testing.assert_allclose(one_over_q(modes, LOSS), 1 / modes.quality, rtol=1e-12)
    np.testing.assert_allclose(sum(modes.strain_energies.values()), 1.0, rtol=1e-12)
    np.testing.assert_allclose(modes.decay_times, -1 / modes.eigenvalues.real, rtol=1e-14)
    omega = 2 * np.pi * modes.frequencies_hz
    np.testing.assert_allclose(modes.decay_times, 2 * modes.quality / omega, rtol=1e-3)
    assert modes[1].decay_time == modes.decay_times[1]


def test_motions_without_loss_do_not_decay():
    modes = rail().modes()
    assert np.all(np.isinf(modes.decay_times)) and modes[0].decay_time == np.inf


@pytest.mark.parametrize("density", [0.0, 7800.0])
def test_exact_beams_have_the_energy_of_each_mechanism(density):
    """A taut wire of the exact form under a mass: bending at its clamps, beside a tension that loses nothing."""
    loss = {"bending": 2e-4, "axial": 1e-3}
    system = mse.MSystem("fibre", gravity=(0, 0, -9.81))
    body = system.add(mse.RigidBody("body", mass=10.0, inertia=0.05))
    wire = mse.RoundBeam("wire", length=1.0, radius=3e-4, form="exact", density=density, loss=loss)
    system.add(
        wire, between=(system.ground @ mse.Pose.ry(np.pi / 2), body @ (mse.Pose.dz(0.02) @ mse.Pose.ry(np.pi / 2)))
    )
    modes = system.find_working_point().linearize().modes(12, lossy=True)
    fading = modes.loss_factors > 1e-12
    losses = {label: loss.get(label[1].partition("_")[0], 0.0) for label in modes.strain_energies}
    assert fading.sum() >= 5
    np.testing.assert_allclose(one_over_q(modes, losses)[fading], modes.loss_factors[fading], rtol=1e-4)


def test_a_free_motion_has_no_energy():
    system = mse.MSystem("free", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=1.0))
    system.add(mse.Bushing("seat", stiffness=(0, 1, 2, 3, 4, 5)), between=(body, system.ground))
    modes = system.find_working_point().linearize().modes()
    assert modes[0].free and not any(modes[0].strain_energies.values()) and modes[0].strained() == ""
    np.testing.assert_allclose(modes.strain_energies["seat", "elastic"][1:], 1.0, rtol=1e-12)


def test_files_tables_and_pages_keep_them(tmp_path):
    modes = rail().modes(lossy=True)
    modes.save(tmp_path / "modes.npz")
    again = mse.read_result(tmp_path / "modes.npz")
    assert list(again.strain_energies) == list(modes.strain_energies)
    np.testing.assert_array_equal(again.strain_energies.shares, modes.strain_energies.shares)
    assert repr(again) == repr(modes) and modes[0].strained() in repr(modes) and "decay (s)" in repr(modes)
    assert modes[0].strained() in repr(modes[0]) and modes[1].strained() in repr(modes.strain_energies)


def test_names_that_no_part_has_are_refused_with_the_nearest():
    with pytest.raises(mse.UnknownNameError, match="low / axail.*low / axial"):
        rail().modes().strain_energies["low", "axail"]
    with pytest.raises(mse.UnknownNameError, match="did you mean 'low / axial"):
        StrainEnergies((("low", "axial"),), np.ones((1, 1)))["low"]
