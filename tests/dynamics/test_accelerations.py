"""Equations of motion at one instant, against forces by hand."""

import numpy as np
import pytest

import mse
from mse import ModelError, Pose
from mse.dynamics import constrained
from mse.dynamics.accelerations import Equations
from mse.model.evaluation import Evaluation
from mse.model.variants import prepared


def equations_of(system):
    topology, assembly = prepared(system, None)
    return Equations(topology, assembly), Evaluation.initial(assembly)


def point_on_rod():
    """A point of 2 kg, without inertia, on a rod of 0.5 m, with a hook beside it."""
    system = mse.MSystem("swing", gravity=(0, 0, -9.81))
    point = system.add(mse.RigidBody("point", mass=2.0, at=Pose.dz(-0.5), frames={"hook": Pose.dx(0.1)}))
    system.add(mse.Rod("rod", length=0.5), between=(system.ground, point))
    return system


def test_what_carries_no_mass_and_no_force_stays_at_rest():
    own, here = equations_of(point_on_rod())
    v = np.array([1.5, 0, 0, 0, 0, 0])
    a, terms = own.accelerations(here, v, 0.0)
    np.testing.assert_allclose(a, [0, 0, 1.5**2 / 0.5, 0, 0, 0], atol=1e-13)
    assert own.massless
    (pull,) = own.multipliers(here, terms, a)
    assert abs(pull) == pytest.approx(2.0 * (9.81 + 1.5**2 / 0.5))


def test_a_force_on_what_has_no_mass_is_refused_by_name():
    system = point_on_rod()
    system.add(mse.Load("push", force=(0, 1, 0)), between=(system["point"].frame("hook"),))
    own, here = equations_of(system)
    with pytest.raises(ModelError, match=r"acts on point\.a[xyz], which has no mass or inertia; expected"):
        own.accelerations(here, np.zeros(6), 0.0)


def test_charges_without_inductance_ask_for_implicit_steps():
    system = mse.MSystem("charging")
    for element in (
        mse.VoltageSource("u", voltage=2.0), mse.Resistor("r", resistance=1.0), mse.Capacitor("c", capacitance=1.0),
    ):  # fmt: skip
        system.add(element)
    system.connect("u.+", "r.+")
    system.connect("r.-", "c.+")
    system.connect("u.-", "c.-", system.earth)
    with pytest.raises(ModelError, match=r"\.charge, which has no mass or inertia; .*set method='implicit'"):
        system.simulate(duration=1.0, dt=0.1, method="explicit")


def test_reactions_of_redundant_joints_are_the_shortest():
    system = mse.MSystem("door", gravity=(0, 0, -9.81))
    frames = {"low": Pose.dz(-1.0), "high": Pose.dz(1.0)}
    door = system.add(mse.RigidBody("door", mass=3.0, inertia=1.0, frames=frames))
    for name, z in (("low", -1.0), ("high", 1.0)):
        hinge = system.add(mse.Revolute(name))
        system.clamp(door.frame(name), hinge.frame(0))
        system.clamp(system.ground, hinge.frame(1), Pose.dz(z))
    own, here = equations_of(system)
    a, terms = own.accelerations(here, np.zeros(6), 0.0)
    found = own.multipliers(here, terms, a).reshape(2, -1)
    weights = np.abs(found[:, :3]).max(axis=1)
    np.testing.assert_allclose(weights, 0.5 * 3.0 * 9.81, rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_what_counts_as_no_force_has_a_margin(monkeypatch, factor):
    monkeypatch.setattr(constrained, "_NO_FORCE", factor * constrained._NO_FORCE)
    test_what_carries_no_mass_and_no_force_stays_at_rest()
    test_a_force_on_what_has_no_mass_is_refused_by_name()
