"""Evaluations of a system as whoever moves it uses them, with poses and velocities, and no scales of a search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mse
from mse import Pose
from mse.model.assembly import Assembly
from mse.model.evaluation import Evaluation
from mse.model.joint_assembly import put_together, restored
from mse.model.topology import Topology


def swing(*, apart: float = 0.0, turning: bool = False) -> mse.MSystem:
    """A bar on a hinge, whose body hangs on a spring and carries a second one on a ball joint."""
    s = mse.MSystem("swing", gravity=(0.0, 0.0, -9.81))
    bar = s.add(mse.RigidBody("bar", mass=1.0, inertia=0.1, at=Pose((0.4 + apart, 0.0, 0.0))))
    bob = s.add(mse.RigidBody("bob", mass=2.0, inertia=0.2, at=Pose((0.9, 0.0, -0.5))))
    hinge = s.add(mse.Revolute("hinge", axis=(0.0, 1.0, 0.0)))
    ball = s.add(mse.Spherical("ball"))
    s.clamp(s.ground, hinge.frame(0))
    s.clamp(bar, hinge.frame(1), Pose((-0.4, 0.0, 0.0)))
    s.clamp(bar, ball.frame(0), Pose((0.5, 0.0, 0.0)))
    s.clamp(bob, ball.frame(1), Pose((0.0, 0.0, 0.5)))
    s.add(mse.Spring("spring", length=0.6, stiffness=40.0), between=(s.ground, bob))
    if turning:
        tip = s.add(mse.RigidBody("tip", mass=0.5, inertia=0.05))
        motor = s.add(mse.PositionActuator("motor"))
        s.clamp(bar, motor.frame(0), Pose((0.2, 0.0, 0.0)))
        s.clamp(motor.frame(1), tip, Pose((0.0, 0.0, 0.1)))
    return s


def of(system: mse.MSystem) -> Evaluation:
    topology = Topology(system)
    return Evaluation.initial(Assembly(topology, topology.unit))


def off(here: Evaluation, size: float = 0.1) -> Evaluation:
    """Somewhere beside, where neither forces nor constraints are zero."""
    return here.moved(size * np.random.default_rng(1).standard_normal(len(here.measure.moving)))


@pytest.fixture
def here() -> Evaluation:
    return off(of(swing()))


def directions(here: Evaluation) -> np.ndarray:
    """A small step (k,) along each coordinate, in units of coordinates."""
    return 1e-5 * np.diag(here.measure.metric)


def test_forces_stiffness_and_slopes_are_derivatives(here):
    total, multipliers = here.total(2), np.array([1.0, -2.0, 0.5, 0.3, 0.2, -0.4, 0.7, 1.1])[: len(here.residual)]
    k = here.with_reactions(total.stiffness, multipliers).toarray()
    for i, step in enumerate(directions(here)):
        ahead, behind = here.moved(step), here.moved(-step)
        assert (ahead.total(0).energy - behind.total(0).energy) / 2e-5 == pytest.approx(total.gradient[i], abs=1e-7)
        slope = (ahead.residual - behind.residual) / 2e-5
        np.testing.assert_allclose(slope, here.slopes[:, [i]].toarray().ravel(), atol=1e-8)
        # turns off a state do not add up: half of the commutator is in each of K and its transpose
        second = (ahead.total(0).energy + behind.total(0).energy - 2.0 * total.energy) / 1e-10
        second += multipliers @ (ahead.residual + behind.residual - 2.0 * here.residual) / 1e-10
        assert second == pytest.approx(k[i, i], abs=2e-4)


def test_what_is_found_in_a_state_is_found_once(here, monkeypatch):
    made, entries = [], Assembly.constraint_entries

    def counted(assembly, at):
        made.append(at)
        return entries(assembly, at)

    monkeypatch.setattr(Assembly, "constraint_entries", counted)
    there = restored(here)
    assert len(made) > 1
    assert np.abs(there.residual).max() < 1e-13 and there.slopes is there.slopes and there.tangent() is not None
    assert made[-1] is not there.configuration, "found in the last state before memories followed"
    last = len(made)
    assert there.distances[0].max() < 1e-13 and len(made) == last


def test_joints_are_put_together_without_scales_of_a_search():
    apart = of(swing(apart=0.2))
    assert np.abs(apart.residual).max() > 0.1
    there = put_together(apart)
    assert np.abs(there.residual).max() < 1e-12
    assert np.abs(there.state.o - apart.state.o).max() < 0.5


def test_velocities_are_projected_on_what_constraints_allow(here):
    """As a motion does: the part of a velocity that constraints refuse is taken off, and none is left to first order."""
    there = restored(here)
    measure, tangent = there.measure, there.tangent()
    v = tangent.along(np.random.default_rng(2).standard_normal(len(measure.moving)))
    assert np.linalg.norm(v) > 0.5 and np.abs(there.slopes @ (v / measure.metric)).max() < 1e-13
    for h in (1e-2, 1e-3):
        assert np.abs(there.moved(h * v).residual).max() < 10.0 * h**2


def test_energy_is_kept_by_a_motion_that_an_evaluation_drives():
    """Velocity Verlet with constraints restored after each step: an error of energy that falls with the step."""
    worst = []
    for steps in (100, 200):
        there, h = put_together(of(swing())), 0.2 / steps
        measure = there.measure
        mass = np.tile([1.0, 1.0, 1.0, 0.1, 0.1, 0.1], 2)
        mass[6:] *= 2.0  # isotropic inertia: its forces have no gyroscopic part
        root, v, energies = np.sqrt(mass), np.zeros(12), []
        there = there.measured(replace(measure, metric=root))
        for _ in range(steps):
            v = there.tangent().along(v - 0.5 * h * there.total(1).gradient / root)
            there = restored(there.moved(h * v), there.tangent())
            v = there.tangent().along(v - 0.5 * h * there.total(1).gradient / root)
            energies.append(there.total(0).energy + 0.5 * v @ v)
        worst.append(np.ptp(energies))
        assert np.linalg.norm(v) > 0.5
    assert worst[0] < 1e-3 and worst[1] < 0.6 * worst[0]


def test_clusters_turn_about_the_points_of_their_units():
    topology = Topology(swing(turning=True))
    units, clusters = (Evaluation.initial(Assembly(topology, body)) for body in (topology.unit, topology.cluster))
    assert clusters.assembly.bodies == units.assembly.bodies + 1
    at = clusters.configuration
    np.testing.assert_array_equal(at.reference, units.configuration.reference[topology.unit_of_cluster])
    assert clusters.total(1).energy == pytest.approx(units.total(1).energy, rel=1e-14)
    # what a unit feels is the sum of what its clusters feel
    felt = np.zeros((units.assembly.bodies, 6))
    np.add.at(felt, topology.unit_of_cluster[1:], clusters.total(1).gradient.reshape(-1, 6))
    np.testing.assert_allclose(felt[1:].ravel(), units.total(1).gradient, atol=1e-12)


def test_absolute_terms_of_the_stiffness_are_carried_by_arms():
    """``A |K| A^T`` of a bushing at an arm r without load, with ``|r|`` in the place of ``[r]x`` in A."""
    system, arm = mse.MSystem("s", gravity=(0, 0, 0)), np.array([0.1, -0.3, 0.2])
    stiffness = np.array([1e3, 2e3, 3e3, 10.0, 20.0, 30.0])
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=1.0, frames={"seat": Pose(arm, np.eye(3))}))
    bushing = system.add(mse.Bushing("bushing", stiffness=stiffness))
    system.clamp(body.frame("seat"), bushing.frame(0))
    system.clamp(system.ground, bushing.frame(1), Pose(arm, np.eye(3)))
    terms, arms = of(system).stiffness_terms(np.zeros(0))
    x, y, z = np.abs(arm)
    carry = np.eye(6)
    carry[3:, :3] = [[0, z, y], [z, 0, x], [y, x, 0]]
    np.testing.assert_allclose(terms.toarray(), carry @ np.diag(stiffness) @ carry.T, rtol=1e-12)
    assert arms[1] == pytest.approx(0.3)


def test_no_entry_of_the_stiffness_is_larger_than_its_absolute_terms():
    system = mse.MSystem("s", gravity=(0, 0, -9.81))
    last = system.ground
    for k in range(3):
        body = system.add(mse.RigidBody(f"body{k}", mass=2.0, inertia=0.1, at=Pose.dxdydz(0.1, 0.2 * k, -0.5 * k)))
        for n, place in enumerate([(0.2, 0.1, 0.05), (-0.1, 0.2, 0.1), (0.0, -0.2, -0.1)]):
            spring = system.add(mse.Spring(f"spring{k}{n}", length=0.3, stiffness=400.0))
            system.clamp(last, spring.frame(0), Pose.dxdydz(*place))
            system.clamp(body.frame(0), spring.frame(1), Pose.dxdydz(*place[::-1]))
        last = body.frame(0)
    here = of(system)
    terms, _ = here.stiffness_terms(np.zeros(0))
    k = np.abs(here.total(2).stiffness.toarray())
    assert np.all(k <= terms.toarray() * (1.0 + 1e-12)) and k.max() > 100.0
