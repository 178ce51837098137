"""Modal damping from loss factors: Q of modes with loss, equal frequencies, and grounds that move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mse
from mse.errors import ModelError


def test_equal_frequencies_share_their_loss_as_with_complex_stiffness():
    """Two directions at 1 Hz, with a loss along a third one between them: one mode loses all, the other nothing."""
    along = np.outer([0.6, 0.8], [0.6, 0.8])
    model = mse.LinearModel.from_matrices(
        2 * np.eye(2), None, {"lossy": 50.0 * along, "rest": 50.0 * (np.eye(2) - along)}, name="table"
    )
    damped = replace(model, losses={("table", "lossy"): 1e-4}).modal_damping()
    np.testing.assert_allclose(damped.Lambda.toarray(), 1e-4 * np.sqrt(2 * 50.0) * along, atol=1e-16)
    assert sorted(damped.modes(damped=True).damping_ratios) == pytest.approx([0.0, 5e-5], abs=1e-14)
    assert damped.state_space().A.shape == (4, 4) and not damped.losses


def test_every_mode_has_its_q_by_laws_of_the_frequency():
    """Four masses with loss that is different and coupled; Q of modes with complex stiffness, to second order."""
    rng = np.random.default_rng(0)
    parts = {}
    for k in range(6):
        b = rng.normal(size=(4, 1))
        parts[f"s{k}"] = 100.0 * (k + 1) * b @ b.T
    model = mse.LinearModel.from_matrices(np.diag([1.0, 2.0, 3.0, 4.0]), None, parts, name="four")
    laws = {f"s{k}": 1e-4 * (k + 1) for k in range(4)} | {"s4": mse.LossTable([0.01, 100.0], [1e-3, 1e-5])}
    lossy = replace(model, losses={("four", name): law for name, law in laws.items()})
    damped = lossy.modal_damping()
    np.testing.assert_allclose(damped.modes(damped=True).quality, lossy.modes(lossy=True).quality, rtol=1e-5)
    assert np.linalg.eigvalsh(damped.Lambda.toarray())[0] > -1e-15


@pytest.mark.parametrize("jointed", [False, True])
def test_a_ground_that_moves_drags_by_its_relative_velocity(jointed):
    """``(k + i w c)/(k + i w c - w^2 m)`` with c = phi sqrt(k m), for a bushing and for a hinge on a platform that shakes."""
    system = mse.MSystem("moved", gravity=(0, 0, 0))
    at = mse.Pose((0.1, 0.2, 0.5)) if jointed else mse.Pose()
    base = system.add(mse.RigidBody("base", mass=3.0, inertia=0.2))
    top = system.add(mse.RigidBody("top", mass=2.0, inertia=0.1, at=at))
    system.add(mse.PositionActuator("shaker"), between=(system.ground, base))
    system.add(mse.PositionSensor("probe"), between=(top, system.ground))
    if jointed:
        hinge = system.add(mse.Revolute("hinge", axis=(0, 1, 0), stiffness=90.0, loss=1e-2))
        system.clamp(base.frame("center"), hinge.frame(0))
        system.clamp(hinge.frame(1), top.frame("center"), at)
        k, m, axis = 90.0, 0.1 + 2.0 * (0.1**2 + 0.5**2), "ay"
    else:
        system.add(mse.Bushing("feet", stiffness=(400, 500, 600, 30, 31, 32), loss=1e-2), between=(base, top))
        k, m, axis = 400.0, 2.0, "x"
    damped = system.find_working_point().linearize().modal_damping()
    f = np.array([0.0, 0.5, 1.9, 2.2, 10.0, 100.0])
    found = damped.frequency_response(f, inputs=[f"shaker.{axis}"], outputs=[f"probe.{axis}"]).values.ravel()
    w = 2 * np.pi * f
    held = k + 1j * w * 1e-2 * np.sqrt(k * m)
    np.testing.assert_allclose(found / found[0], held / (held - w**2 * m), rtol=1e-9)


def test_what_has_no_damping_of_its_modes_is_refused():
    system = mse.MSystem("heavy", gravity=(0, 0, 0))
    beam = system.add(mse.RoundBeam("beam", length=1.0, radius=0.01, form="exact", loss=1e-3))
    system.clamp(system.ground, beam.frame(0))
    with pytest.raises(ModelError, match="the stiffness of beam depends on the frequency"):
        system.find_working_point().linearize().modal_damping()


def test_a_model_whose_modes_all_grow_has_no_damping_and_a_note():
    system = mse.MSystem("stick", gravity=(0, 0, -9.81))
    body = mse.RigidBody("body", mass=1.0, inertia=0.1, at=mse.Pose.dz(0.5), frames={"foot": mse.Pose.dz(-0.5)})
    system.add(body)
    system.add(
        mse.Revolute("hinge", axis=(0, 1, 0), stiffness=1.0, loss=1e-3), between=(system.ground, body.frame("foot"))
    )
    found = system.find_working_point(seek="nearest").linearize().modal_damping()
    assert not found.losses and not found.full_damping.nnz and "no mode swings" in found.notes[-1]
