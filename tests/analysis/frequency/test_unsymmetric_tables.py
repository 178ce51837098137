"""Dynamic stiffnesses that are not symmetric, as those of seals and journal bearings: responses, and what refuses them."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.numerics.options import SIZES

MASS, SPRING = 2.0, 800.0
F = np.geomspace(0.3, 30.0, 12)
ACROSS = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


def seal(omega):
    """Film of a seal, 3 x 3: damping, and a stiffness across that is a gyroscopic coupling, too; both with the frequency."""
    return (
        20j * omega / (1.0 + 0.01j * omega) * np.diag([1.0, 1.0, 0.0])
        + (300.0 * omega / (omega + 5.0) + 2j * omega) * ACROSS
    )


class Seal(mse.MObject):
    """Between a shaft and its housing, asked for one frequency at a time."""

    law = staticmethod(seal)

    def dynamic_stiffness(self, omega, frames):
        d = np.zeros((12, 12), dtype=complex)
        for i in range(2):
            for j in range(2):
                d[6 * i : 6 * i + 3, 6 * j : 6 * j + 3] = (1 - 2 * (i != j)) * self.law(float(omega))
        return d


def shafts(count: int, law=seal, *, driven: bool = False, opposite: bool = False) -> mse.LinearModel:
    system = mse.MSystem("shafts", gravity=(0, 0, 0))
    last = system.ground
    if driven:
        piezo, force = system.add(mse.PositionActuator("piezo")), system.add(mse.ForceSensor("force"))
        system.clamp(system.ground, piezo.frame(1))
        system.clamp(piezo.frame(0), force.frame(1))
        last = force.frame(0)
    for k in range(count):
        own = (lambda w: law(w).T) if opposite and k % 2 else law
        cls = type("Seal", (Seal,), {"law": staticmethod(own)})
        body = system.add(mse.RigidBody(f"b{k}", mass=MASS, inertia=0.1))
        held = mse.Bushing(f"s{k}", stiffness=(SPRING, SPRING, SPRING, 5.0, 6.0, 7.0))
        for one in (cls(f"seal{k}"), held):
            system.add(one, between=(system.ground if opposite else last, body))
        last = body.frame(0)
    push, probe = system.add(mse.ForceActuator("push")), system.add(mse.PositionSensor("probe"))
    for one, (ground, moved) in ((push, (0, 1)), (probe, (1, 0))):
        system.clamp(system.ground, one.frame(ground), Pose())
        system.clamp(last, one.frame(moved), Pose())
    return system.find_working_point().linearize()


@pytest.fixture(params=[True, False], ids=["small", "swept"])
def size(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(SIZES, "few_coordinates", 0)


@pytest.mark.parametrize("across", [1.0, 1e-7])
def test_a_shaft_in_a_seal_has_its_closed_form(size, across):
    law = lambda w: 0.5 * (seal(w) + seal(w).T) + across * 0.5 * (seal(w) - seal(w).T)
    found = shafts(1, law).frequency_response(F, inputs=["push.fx", "push.fy"], outputs=["probe.x", "probe.y"])
    for k, w in enumerate(2 * np.pi * F):
        z = (SPRING - MASS * w**2) * np.eye(2) + law(w)[:2, :2]
        np.testing.assert_allclose(found.values[k], np.linalg.inv(z), rtol=1e-9)
    assert abs(found["probe.x", "push.fy"][3] / found["probe.y", "push.fx"][3] + 1.0) < 1e-12


def test_opposite_seals_whose_skew_parts_cancel_in_a_check_are_solved_right(monkeypatch):
    """The sum over random signs of the coordinates that checks an elimination does not see them."""
    monkeypatch.setattr(SIZES, "few_coordinates", 0)
    law = lambda w: 20j * w * np.diag([1.0, 1.0, 0.0]) + 1e-3 * ACROSS * (w > 0.0)
    found = shafts(2, law, opposite=True).frequency_response(F)
    for k, w in enumerate(2 * np.pi * F):
        z = (SPRING - MASS * w**2) * np.eye(2) + law(w).T[:2, :2]
        assert found["probe.y", "push.fx"][k] == pytest.approx(np.linalg.inv(z)[1, 0], rel=1e-9)
        assert found["probe.x", "push.fy"][k] == pytest.approx(np.linalg.inv(z)[0, 1], rel=1e-9)


@pytest.mark.parametrize("driven", [False, True])
def test_several_shafts_agree_with_dense_matrices(size, driven):
    linear = shafts(3, driven=driven)
    found = linear.frequency_response(F).values
    n, expected = linear.size, []
    force, drive, measure, reaction = (
        a.toarray() for a in (linear.force, linear.drive, linear.measure, linear.reaction)
    )
    for w in 2 * np.pi * F:
        z = (linear.full_stiffness + 1j * w * linear.full_velocity - w**2 * linear.full_mass).toarray()
        for member in linear.members:
            z = z + member.motion.T @ member.stiffness(np.array([w]), {})[0] @ member.motion
        x = np.vstack([np.linalg.solve(z[:n, :n], force[:n] - z[:n, n:] @ drive), drive])
        expected.append(measure @ x - reaction @ (z[n:] @ x - force[n:]))
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())
    assert np.abs(found - found.transpose(0, 2, 1)).max() > 1e-3 * np.abs(found).max() or driven


def test_a_spin_as_a_dynamic_stiffness_is_the_gyroscopic_coupling(size):
    """``i w G`` beside K is ``G`` among the dampings."""
    found = shafts(2, lambda w: 3j * w * ACROSS).frequency_response(F)

    class Spin(mse.MObject):
        def damping_matrix(self, frames, q=()):
            return np.kron([[1.0, -1.0], [-1.0, 1.0]], np.kron(np.diag([1.0, 0.0]), 3.0 * ACROSS))

    system = mse.MSystem("shafts", gravity=(0, 0, 0))
    last = system.ground
    for k in range(2):
        body = system.add(mse.RigidBody(f"b{k}", mass=MASS, inertia=0.1))
        held = mse.Bushing(f"s{k}", stiffness=(SPRING, SPRING, SPRING, 5.0, 6.0, 7.0))
        for one in (Spin(f"spin{k}"), held):
            system.add(one, between=(last, body))
        last = body.frame(0)
    for one, (ground, moved) in ((mse.ForceActuator("push"), (0, 1)), (mse.PositionSensor("probe"), (1, 0))):
        system.add(one)
        system.clamp(system.ground, one.frame(ground))
        system.clamp(last, one.frame(moved))
    expected = system.find_working_point().linearize().frequency_response(F).values
    np.testing.assert_allclose(found.values, expected, atol=1e-12 * np.abs(expected).max())


def test_only_unsymmetric_frequencies_are_pivoted(monkeypatch):
    monkeypatch.setattr(SIZES, "few_coordinates", 0)
    law = lambda w: 5j * w * np.diag([1.0, 1.0, 0.0]) + 100.0 * (w > 20.0) * ACROSS
    found = shafts(2, law).frequency_response(F)
    many = np.count_nonzero(2 * np.pi * F > 20.0)
    assert 0 < many < len(F)
    assert found.notes[0].startswith(f"{many} of {len(F)} frequencies") and "unsymmetric" in found.notes[0]
    assert shafts(2, lambda w: 5j * w * np.diag([1.0, 1.0, 0.0])).frequency_response(F).notes == ()
