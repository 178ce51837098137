"""Equations of motion at one instant, against forces by hand."""

import numpy as np
import pytest

import mse
from mse import ModelError, Pose
from mse.dynamics.accelerations import Equations
from mse.model.evaluation import Evaluation
from mse.model.variants import prepared


def equations_of(system):
    topology, assembly = prepared(system, None)
    return Equations(topology, assembly), Evaluation.initial(assembly)


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
    found = own.multipliers(here, terms.mass @ a - terms.force).reshape(2, -1)
    weights = np.abs(found[:, :3]).max(axis=1)
    np.testing.assert_allclose(weights, 0.5 * 3.0 * 9.81, rtol=1e-12)
