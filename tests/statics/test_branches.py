"""Searches that begin at a working point say whether they have ended on its branch of equilibria."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import mse
from models import four_wire_chain, hanging_stages
from mse import Pose
from mse.statics import branches, search


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


@pytest.mark.slow
@pytest.mark.parametrize("guided", [True, False])
@pytest.mark.parametrize("seed", range(5))
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


@pytest.mark.slow
@pytest.mark.parametrize("share", [1.001, 2.0, 30.0])
def test_the_nearest_equilibrium_is_refused_rather_than_left(share):
    shape = 0.3, 1.0, 1000.0
    wp = truss(*shape, 0.3 * limit(*shape)).find_working_point(seek="nearest")
    near = wp.update({"push.force": (0, 0, -0.99 * limit(*shape))})
    assert near.stable and near.poses["apex.center"].o[2] > 0
    with pytest.raises(mse.WorkingPointError, match=r"use trace\(\)"):
        wp.update({"push.force": (0, 0, -share * limit(*shape))})


@pytest.mark.slow
def test_a_start_under_other_loads_counts_too():
    shape = 0.3, 1.0, 1000.0
    s = truss(*shape, limit(*shape))
    low = s.find_working_point(load_factor=0.5)
    assert not s.find_working_point(load_factor=0.98, start=low).branch_left
    assert s.find_working_point(load_factor=1.5, start=low).branch_left
    assert not low.branch_left


@pytest.mark.slow
def test_ordinary_changes_of_a_suspension_stay_on_their_branch():
    wp = four_wire_chain(3).find_working_point()
    rng = np.random.default_rng(0)
    for _ in range(15):
        factor = 1.0 + rng.choice([-1, 1]) * 10 ** rng.uniform(-2, -0.3)
        name = rng.choice(["wire0_0.length", "wire1_2.young_modulus", "wire2_1.radius", "plate1.mass"])
        path, _, key = name.partition(".")
        found = wp.update({name: factor * wp.system[path].parameters[key]})
        assert found.stable and not found.branch_left and not found.notes


def test_small_changes_are_told_by_the_first_and_the_last_step_of_the_search(monkeypatch):
    taken = []

    def counting(merit, start, *rest):
        *points, solve = rest

        def counted(*arguments):
            taken.append(1)
            return solve(*arguments)

        return branches.leaves(merit, start, *points, counted)

    monkeypatch.setattr(search, "leaves", counting)
    wp = four_wire_chain(3).find_working_point()
    for changes in ({"wire1_1.length": 0.5005}, {"wire0_2.radius": 2.1e-4}, {"plate1.mass": 12.96}):
        taken.clear()
        assert wp.update(changes).branch_left is False and not taken
    taken.clear()
    assert wp.update({"wire1_1.length": 0.4354}).branch_left and len(taken) < 60


def test_a_plate_that_one_short_wire_tips_has_left_its_branch():
    s = four_wire_chain(3)
    wp = s.find_working_point()
    trace = s.trace("wire1_1.length", 0.4354, start=wp)
    (tipping,) = trace.events
    assert tipping.kind == "branch point" and not trace.stable[-1]
    table = tipping.table()
    assert table.title == f"{s.name}: branch point at {tipping.value:.9g}"
    assert table.more[0].title == f"Motion {tipping.motion.name}: without stiffness" and len(table.more[0].rows) > 1
    for length in (0.49, 0.4526, tipping.value + 1e-4):
        assert wp.update({"wire1_1.length": length}).branch_left is False
    for length in (tipping.value - 1e-4, 0.4354):
        found = wp.update({"wire1_1.length": length})
        assert found.stable and found.branch_left


@pytest.mark.slow
def test_what_was_not_determined_is_told(monkeypatch, tmp_path):
    shape = 0.3, 1.0, 1000.0
    wp = truss(*shape, 0.3 * limit(*shape)).find_working_point()
    heavier = {"push.force": (0, 0, -0.9999 * limit(*shape))}
    assert wp.update(heavier).branch_left is False
    monkeypatch.setattr(branches, "_PLACES", 0)
    found = wp.update(heavier)
    assert found.stable and found.branch_left is None
    assert found.notes == (branches.UNKNOWN,) and "it is not known whether" in repr(found)
    found.save(tmp_path / "found.json")
    assert mse.read_model(tmp_path / "found.json").branch_left is None


@pytest.mark.slow
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
    assert beyond.notes == ("followed elements beyond half a turn, which end twisted by turns: wire by -0.796",)
    assert "wire by -0.796" in repr(beyond)


def cantilever(eccentric: float) -> mse.MSystem:
    """An upright beam with E I = 1, clamped below; a load on top that is Euler's, beside the axis."""
    s = mse.MSystem("cantilever", gravity=(0, 0, 0))
    beam = s.add(mse.SectionBeam(
        "beam", length=1.0, young_modulus=1.0, poisson_ratio=-0.5, density=1.0, area=1e4, second_moment_y=1.0,
        second_moment_z=3.0, torsion_constant=5.0, elements=4, theory="euler-bernoulli",
    ))  # fmt: skip
    s.clamp(s.ground, beam.frame(0), Pose.ry(-np.pi / 2))
    load = s.add(mse.Load("load", force=(0, 0, -(np.pi**2) / 4)))
    s.clamp(beam.frame(1), load.frame(0), Pose.dz(eccentric))
    return s


@pytest.mark.slow
@pytest.mark.parametrize(("eccentric", "leaves"), [(0.0, True), (1e-3, False), (0.1, False)])
def test_a_column_beyond_eulers_load_bends_on_its_branch_unless_it_is_straight(eccentric, leaves):
    s = cantilever(eccentric)
    wp = s.find_working_point(load_factor=0.5)
    below, beyond = (s.find_working_point(load_factor=load, start=wp) for load in (0.95, 1.3))
    assert below.branch_left is False and beyond.stable and beyond.branch_left is leaves
    assert np.abs(beyond.poses["beam.1"].o[:2]).max() > 0.3
    longer = wp.update({"beam.length": 1.6})
    # the search may end on the side that the load does not bend it to
    other = bool(longer.poses["beam.1"].o[0] * below.poses["beam.1"].o[0] < 0)
    assert longer.stable and longer.branch_left is (leaves or other)


@pytest.mark.slow
@pytest.mark.parametrize("sideways", [0.0, 0.03])
def test_a_shallow_arch_says_where_it_snaps_through(sideways):
    height, s = 0.1, mse.MSystem("arch", gravity=(0, 0, 0))
    slope = np.arctan(height)
    half = [s.add(mse.SectionBeam(
        name, length=float(np.hypot(1.0, height)), young_modulus=1.0, poisson_ratio=-0.5, density=1.0, area=4e3,
        second_moment_y=1.0, second_moment_z=10.0, torsion_constant=10.0, elements=4, theory="euler-bernoulli",
    )) for name in ("left", "right")]  # fmt: skip
    s.clamp(s.ground, half[0].frame(0), Pose.dx(-1.0) @ Pose.ry(-slope))
    s.clamp(s.ground, half[1].frame(0), Pose.dx(1.0) @ Pose.ry(np.pi + slope))
    s.clamp(half[0].frame(1), half[1].frame(1), Pose.ry(np.pi + 2 * slope))
    load = s.add(mse.Load("load", force=(sideways, 0, -1.0)))
    s.clamp(half[0].frame(1), load.frame(0))
    top = s.find_instability(max_load_factor=1e3).load_factor
    wp = s.find_working_point(load_factor=0.3 * top)
    for share in (0.5, 0.99, 1.01):
        found = s.find_working_point(load_factor=share * top, start=wp)
        # the search may snap through before the limit already
        snapped = bool(found.poses["left.1"].o[2] < 0)
        assert found.stable and found.branch_left is snapped and (snapped or share < 1)


@pytest.mark.slow
@pytest.mark.parametrize("half", [0.95, 1.015, 1.018, 1.2])
def test_a_truss_whose_supports_are_moved_apart_snaps_through(half):
    height, stiffness, load = 0.3, 1000.0, 5.0
    full = np.hypot(1.0, height)

    def on_supports(half):
        s = truss(height, half, stiffness, load)
        for k in range(2):
            s[f"bar{k}"].length = full
        return s

    found = on_supports(half).find_working_point(start=on_supports(1.0).find_working_point())
    snaps = bool(limit(np.sqrt(max(full**2 - half**2, 0.0)), half, stiffness) < load)
    assert found.stable and found.branch_left is snaps == (found.poses["apex.center"].o[2] < 0)


def in_many_steps(wp: mse.WorkingPoint, name: str, value: float, count: int) -> tuple[mse.WorkingPoint, bool]:
    """The working point at the end of many small updates, and whether one of them has jumped or buckled."""
    path, _, key = name.rpartition(".")
    before, moved = wp, []
    for x in np.linspace(wp.system[path].parameters[key], value, count + 1)[1:]:
        after = before.update({name: float(x)})
        if any("a balance that is unstable" in note for note in after.notes):
            return after, True
        moved.append(np.abs(after.state.o - before.state.o).max())
        before = after
    most = int(np.argmax(moved))
    beside = max(moved[k] for k in range(max(most - 2, 0), min(most + 3, count)) if k != most)
    return before, moved[most] > 5.0 * beside


def random_updates(kind: str, seed: int) -> tuple[mse.MSystem, str, float]:
    rng = np.random.default_rng([seed, len(kind)])
    share = rng.choice([-1, 1]) * 10 ** rng.uniform(-2, -0.4)
    if kind == "hanging":
        s = hanging_stages(seed)
        names = [obj.name for obj in s.objects if "length" in obj.parameters]
        name = f"{rng.choice(names)}.length"
    else:
        shape = rng.uniform(0.1, 0.5), 1.0, 1000.0
        s = truss(*shape, rng.uniform(0.1, 0.8) * limit(*shape), guided=False)
        s["bar0"].stiffness = 1000.0 * rng.uniform(0.7, 1.5)
        s["seat"].stiffness = (300.0, 300.0, 0.0, 1.0, 1.0, 1.0)
        name = str(rng.choice(["bar1.length", "bar1.stiffness"]))
        share = share if name == "bar1.length" else 3.0 * abs(share) if share > 0 else 2.0 * share
        share = max(share, -0.8)
    path, _, key = name.rpartition(".")
    return s, name, float(s[path].parameters[key] * (1.0 + share))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [("hanging", 2), ("truss", 12)])
def test_random_updates_end_where_many_small_ones_do_or_say_so(kind, count, monkeypatch):
    told = []
    for seed in range(count):
        s, name, value = random_updates(kind, seed)
        wp = s.find_working_point()
        try:
            found = wp.update({name: value})
        except mse.WorkingPointError:
            continue
        with monkeypatch.context() as unchecked:
            unchecked.setattr(search, "leaves", lambda *_: False)
            end, jumped = in_many_steps(wp, name, value, 25)
        elsewhere = np.abs(end.state.o - found.state.o).max() > 1e-3
        if found.branch_left is not None:
            assert found.branch_left is bool(jumped or elsewhere), (kind, seed, name, value)
        told.append(found.branch_left)
    assert told.count(None) <= 0.05 * count and len(told) > 0.8 * count
    assert kind == "hanging" or {True, False} <= set(told)
