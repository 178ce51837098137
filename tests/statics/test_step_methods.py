"""Steps of searches: what is foreseen of them, and what that decides."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from models import four_wire_chain
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.statics.merit_function import MeritFunction
from mse.statics.step_methods import is_foreseen, newton


@pytest.mark.parametrize("stages", [4, 40])
def test_a_wire_that_begins_compressed_does_not_keep_newtons_method_from_the_equilibrium_beside_the_start(stages):
    """A longer wire pushes until the weights pull it: the stiffness at the start is not that of any equilibrium."""
    chain, taken = four_wire_chain(stages), []
    for longer in (1e-5, 4e-5, 9e-5):
        chain["wire0_0"].length = 0.5 + longer
        point = chain.find_working_point()
        assert point.stable
        taken.append(len(point.history) - 1)
    # measured: 2 or 3; by descent 7 to 12
    assert np.mean(taken) < 4.0, taken


def balanced_rod(lean: float) -> mse.MSystem:
    """A rod on a hinge at its lower end, which leans by an angle (rad)."""
    system = mse.MSystem("rod", gravity=(0, 0, -9.81))
    at = mse.Pose.ry(lean) @ mse.Pose.dz(0.5)
    rod = system.add(mse.RigidBody("rod", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-3), at=at))
    hinge = system.add(mse.Revolute("hinge", axis=(0, 1, 0)))
    system.clamp(system.ground, hinge.frame(1))
    system.clamp(rod.frame(0), hinge.frame(0), mse.Pose.dz(-0.5))
    return system


@pytest.mark.parametrize("lean", [1e-3, 0.3, 1.2])
def test_a_step_to_a_balance_that_is_higher_is_not_foreseen(lean):
    topology = Topology(balanced_rod(lean))
    merit = MeritFunction.of(topology, Assembly(topology, topology.unit))
    point = merit.evaluate(merit.start, 2)
    step = newton(merit, point, np.inf)
    assert step.predicted > 0.0
    assert not is_foreseen(merit, point, step)


def test_a_rod_that_leans_a_little_falls():
    point = balanced_rod(1e-3).find_working_point()
    assert point.stable
    assert point.poses["rod.center"].o[2] == pytest.approx(-0.5, abs=1e-9)
