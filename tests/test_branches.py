"""Searches that begin at a working point say whether they have ended on its branch of equilibria."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import mse
from models import four_wire_chain
from mse import Pose
from mse.statics import branches
from mse.statics import search as relaxation


def truss(height: float, half: float, stiffness: float, load: float, guided: bool = True) -> mse.MSystem:
    """R. von Mises' truss: two springs from the ground to an apex that a load pushes down."""
    s = mse.MSystem("truss", gravity=(0, 0, 0))
    apex = s.add(mse.RigidBody("apex", mass=1.0, inertia=1.0, at=Pose.dz(height)))
    for k, x in enumerate((-half, half)):
        bar = s.add(mse.Spring(f"bar{k}", length=float(np.hypot(half, height)), stiffness=stiffness))
        s.clamp(s.ground, bar.frame(0), Pose((x, 0, 0)))
        s.clamp(bar.frame(1), apex.frame(0))
    if guided:
        guide = s.add(mse.Prismatic("guide", axis=(0, 0, 1)))
        s.clamp(s.ground, guide.frame(1))
        s.clamp(apex.frame(0), guide.frame(0))
    else:
        seat = s.add(mse.Bushing("seat", stiffness=(stiffness, stiffness, 0.0, 1.0, 1.0, 1.0)))
        s.clamp(s.ground, seat.frame(1))
        s.clamp(apex.frame(0), seat.frame(0))
    push = s.add(mse.Load("push", force=(0, 0, -load)))
    s.clamp(apex.frame(0), push.frame(0))
    return s


def limit(height: float, half: float, stiffness: float) -> float:
    """``P = 2 k (L - l) z/l`` is largest where ``l^3 = L a^2``."""
    full = np.hypot(height, half)
    short = np.cbrt(full * half**2)
    return 2 * stiffness * (full - short) * np.sqrt(short**2 - half**2) / short


@pytest.mark.parametrize("guided", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_a_truss_says_where_it_snaps_through(seed, guided):
    rng = np.random.default_rng(seed)
    shape = rng.uniform(0.05, 0.8), rng.uniform(0.5, 2.0), 10 ** rng.uniform(1, 6)
    top = limit(*shape)
    first = rng.uniform(0, 0.9) * top
    wp = truss(*shape, first, guided).find_working_point()
    assert wp.poses["apex.center"].o[2] > 0 and not wp.branch_left and not wp.notes
    near = 10 ** rng.uniform(-4, -1)
    for share in (1 - near, 1 + near, 10 ** rng.uniform(0.1, 2)):
        found = wp.update({"push.force": (0, 0, -share * top)})
        assert found.stable and found.branch_left == (share > 1) == (found.poses["apex.center"].o[2] < 0)
        assert any("another branch" in note for note in found.notes) == found.branch_left
        assert ("another branch" in repr(found)) == found.branch_left
        for twin in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
            assert twin.branch_left == found.branch_left


@pytest.mark.parametrize("share", [1.001, 2.0, 30.0])
def test_the_nearest_equilibrium_is_refused_rather_than_left(share):
    shape = 0.3, 1.0, 1000.0
    wp = truss(*shape, 0.3 * limit(*shape)).find_working_point(seek="nearest")
    near = wp.update({"push.force": (0, 0, -0.99 * limit(*shape))})
    assert near.stable and near.poses["apex.center"].o[2] > 0
    with pytest.raises(mse.WorkingPointError, match=r"use trace\(\)"):
        wp.update({"push.force": (0, 0, -share * limit(*shape))})


def test_a_start_under_other_loads_counts_too():
    shape = 0.3, 1.0, 1000.0
    s = truss(*shape, limit(*shape))
    low = s.find_working_point(load=0.5)
    assert not s.find_working_point(load=0.98, start=low).branch_left
    assert s.find_working_point(load=1.5, start=low).branch_left
    assert not low.branch_left


def test_ordinary_changes_of_a_suspension_stay_on_their_branch():
    wp = four_wire_chain(3).find_working_point()
    rng = np.random.default_rng(0)
    for _ in range(15):
        factor = 1.0 + rng.choice([-1, 1]) * 10 ** rng.uniform(-2, -0.3)
        name = rng.choice(["wire0_0.length", "wire1_2.young_modulus", "wire2_1.radius", "plate1.mass"])
        path, _, key = name.partition(".")
        found = wp.update({name: factor * wp.system[path].parameters[key]})
        assert found.stable and not found.branch_left and not found.notes


def test_to_tell_branches_takes_little_more_than_the_search(monkeypatch):
    taken = []

    def counting(land, start, first, found, solve, *most):
        def counted(*arguments):
            taken.append(1)
            return solve(*arguments)

        return branches.leaves(land, start, first, found, counted, *most)

    monkeypatch.setattr(relaxation, "leaves", counting)
    wp = four_wire_chain(3).find_working_point()
    for changes in ({"wire1_1.length": 0.4354}, {"wire1_1.length": 0.4526}, {"plate1.mass": 12.96}):
        taken.clear()
        found = wp.update(changes)
        assert 0 < len(taken) <= len(found.history) + branches._FREE + 8
    assert len(taken) <= 2 and found.branch_left is False


def test_what_was_not_determined_is_told(monkeypatch, tmp_path):
    shape = 0.3, 1.0, 1000.0
    wp = truss(*shape, 0.3 * limit(*shape)).find_working_point()
    heavier = {"push.force": (0, 0, -0.9999 * limit(*shape))}
    assert wp.update(heavier).branch_left is False
    monkeypatch.setattr(branches, "_FREE", -20)
    found = wp.update(heavier)
    assert found.stable and found.branch_left is None
    assert found.notes == (branches.UNKNOWN,) and "did not determine" in repr(found)
    found.save(tmp_path / "found.json")
    assert mse.load(tmp_path / "found.json").branch_left is None


def test_a_leaning_column_bends_on_its_branch_and_a_straight_one_leaves_it():
    def column(lean):
        s = mse.MSystem("column", gravity=(0, 0, 0))
        rod = s.add(mse.RigidBody("rod", mass=1.0, inertia=0.1, at=Pose.dz(0.5)))
        foot = s.add(mse.Revolute("foot", axis=(0, 1, 0), stiffness=10.0, rest=lean))
        s.clamp(s.ground, foot.frame(1))
        s.clamp(rod.frame(0), foot.frame(0), Pose.dz(-0.5))
        load = s.add(mse.Load("load", force=(0, 0, -4.0)))
        s.clamp(rod.frame(0), load.frame(0), Pose.dz(0.5))
        return s.find_working_point()

    heavier = {"load.force": (0, 0, -14.0)}
    leaning, straight = column(0.02), column(0.0)
    bent = leaning.update(heavier)
    assert bent.stable and bent.joint_coordinates["foot.angle"] > 1.0 and not bent.branch_left
    fallen = straight.update(heavier)
    assert fallen.stable and abs(fallen.joint_coordinates["foot.angle"]) > 1.0 and fallen.branch_left


def test_wires_beyond_half_a_turn_are_told():
    def hanging(turn):
        s = mse.MSystem("wound", gravity=(0, 0, -9.81))
        wire = s.add(mse.Wire("wire", length=1.0, young_modulus=2e11, poisson_ratio=0.3, radius=1e-3))
        mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=Pose.dz(-1.0)))
        s.clamp(s.ground, wire.frame(0))
        s.clamp(mass.frame(0), wire.frame(1))
        load = s.add(mse.Load("load", torque=(0, 0, turn * wire.torsional_stiffness), axes="frame"))
        s.clamp(mass.frame(0), load.frame(0))
        return s.find_working_point()

    below, beyond = hanging(3.0), hanging(5.0)
    # the line to frame 1 points down
    assert below.twists["wire"] == pytest.approx(-3.0, rel=1e-6) and not below.notes
    assert beyond.twists["wire"] == pytest.approx(-5.0, rel=1e-6)
    assert beyond.notes == ("followed wires beyond half a turn, which end twisted by turns: wire by -0.796",)
    assert "wire by -0.796" in repr(beyond)
