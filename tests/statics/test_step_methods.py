"""Steps of searches: what is foreseen of them, and what that decides."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from models import four_wire_chain
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.statics import step_methods
from mse.statics.following import foreseen_motion, goes_beyond
from mse.statics.merit_function import MeritFunction
from mse.statics.scales import STRAIGHT
from mse.statics.stages import WHOLE, Reached
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
    assert not is_foreseen(point, step, merit.stepped(point, step.p, 1))


def test_a_rod_that_leans_a_little_falls():
    point = balanced_rod(1e-3).find_working_point()
    assert point.stable
    assert point.poses["rod.center"].o[2] == pytest.approx(-0.5, abs=1e-9)


def test_a_step_cut_to_the_longest_is_refused_whichever_way_its_length_rounds():
    topology = Topology(wound_chain(4))
    merit = MeritFunction.of(topology, Assembly(topology, topology.unit))
    ways = np.random.default_rng(0).standard_normal((200, len(merit.searched)))
    cut = [p * (STRAIGHT * merit.size / np.linalg.norm(p)) for p in ways]
    assert all(goes_beyond(merit, p, np.inf) for p in cut)
    assert not any(goes_beyond(merit, 0.999 * p, np.inf) for p in cut)


def wound_chain(bodies: int) -> mse.MSystem:
    """Bodies on two springs a stage, which stretch it to twice its length and wind it up."""
    s, last = mse.MSystem("chain", gravity=(0, 0, -9.81)), None
    for i in range(bodies):
        ends = {"top": mse.Pose.dz(0.1), "low": mse.Pose.dz(-0.1)}
        body = s.add(mse.RigidBody(f"body{i}", mass=1.0, inertia=0.02, at=mse.Pose.dz(-0.5 * (i + 1)), frames=ends))
        for j, x in enumerate((-0.1, 0.12)):
            spring = s.add(mse.Spring(f"spring{i}_{j}", length=0.28, stiffness=2e3))
            s.clamp(s.ground if last is None else last.frame("low"), spring.frame(1), mse.Pose((x, 0.05 * j, 0)))
            s.clamp(body.frame("top"), spring.frame(0), mse.Pose((x, 0.03, 0)))
        last = body
    return s


def test_straight_steps_and_those_along_curves_end_in_the_same_equilibria(monkeypatch):
    lengths = (10, 14, 19)
    curved = [wound_chain(bodies).find_working_point() for bodies in lengths]
    monkeypatch.setattr(step_methods, "_SHALLOW", max(lengths))
    straight = [wound_chain(bodies).find_working_point() for bodies in lengths]
    for a, b in zip(curved, straight, strict=True):
        assert a.stable and np.abs(a.state.o - b.state.o).max() < 1e-9 * a.size
    # measured: 10, 9 and 9 steps for 17, 21 and 23
    assert sum(len(wp.history) for wp in straight) > 1.5 * sum(len(wp.history) for wp in curved)


@pytest.mark.parametrize(("share", "known"), [(1e-4, True), (1e-2, False)])
def test_loads_on_what_nothing_holds_tell_no_motion_but_traces_of_them_do(share, known):
    """Two carts on rails, one on a spring of 1e3 N/m under 1 N, the other free under a share of that."""
    system = mse.MSystem("carts", gravity=(0, 0, 0))
    for name, force, options in (("held", 1.0, {"stiffness": 1e3}), ("free", share, {})):
        cart = system.add(mse.RigidBody(name, mass=1.0, inertia=0.1))
        rail = system.add(mse.Prismatic(f"{name} rail", axis=(1, 0, 0), **options))
        load = system.add(mse.Load(f"{name} load", force=(force, 0, 0)))
        system.clamp(system.ground, rail.frame(1))
        system.clamp(cart.frame(0), rail.frame(0))
        system.clamp(cart.frame(0), load.frame(0))
    topology = Topology(system)
    merit = MeritFunction.of(topology, Assembly(topology, topology.unit))
    foreseen = foreseen_motion(merit, Reached(0.0, 1.0, merit.start), WHOLE, merit.evaluate(merit.start, 1))
    assert foreseen == (pytest.approx(1e-3, rel=1e-6) if known else np.inf)
