"""Rest under torques and follower loads, which come from no energy: beside gravity, which alone may hold what they push."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.numerics.options import SIZES
from mse.statics.merit_function import MeritFunction
from mse.statics.stages import Stage

MOST = 9.81 / 2  # N m: what the weight of the rod holds when it is level


def rod(*, stiffness: float = 0.0, soft: bool = False, **load) -> mse.MSystem:
    """A rod of 1 kg and 1 m, hanging on a hinge or a soft bushing about y, with a load on its middle."""
    s = mse.MSystem("rod", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("rod", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-3), at=Pose.dz(-0.5)))
    if soft:
        hinge = s.add(mse.Bushing("hinge", stiffness=(1e5, 1e5, 1e5, 1e3, stiffness, 1e3)))
    else:
        hinge = s.add(mse.Revolute("hinge", axis=(0, 1, 0), stiffness=stiffness))
    s.clamp(s.ground, hinge.frame(1))
    s.clamp(body.frame(0), hinge.frame(0), Pose.dz(0.5))
    s.clamp(body.frame(0), s.add(mse.Load("load", **load)).frame(0))
    return s


def angle(wp: mse.WorkingPoint) -> float:
    o = wp.poses["rod.center"].o
    return float(np.arctan2(-o[0], -o[2]))


@pytest.mark.slow
@pytest.mark.parametrize("torque", [1e-6, 0.1, -1.0, 3.0, 4.9])
@pytest.mark.parametrize("seek", ["stable", "nearest"])
def test_a_torque_lifts_what_only_gravity_holds(torque, seek):
    wp = rod(torque=(0, torque, 0)).find_working_point(seek=seek)
    assert angle(wp) == pytest.approx(np.arcsin(torque / MOST), rel=1e-12)
    assert wp.converged and wp.stable and not wp.free


@pytest.mark.slow
@pytest.mark.parametrize("torque", [1e-6, 0.1, -1.0, 3.0, 4.9])
def test_updates_search_as_the_load_asks(torque):
    """From no load to torques, and between them, in both directions."""
    wp = rod().find_working_point()
    lifted = wp.update({"load.torque": (0, torque, 0)})
    assert angle(lifted) == pytest.approx(np.arcsin(torque / MOST), rel=1e-12)
    # measured: one step fewer than the search that begins without knowing where it rested
    assert len(lifted.history) <= len(rod(torque=(0, torque, 0)).find_working_point().history)
    assert angle(lifted.update({"load.torque": (0, 0, 0)})) == pytest.approx(0.0, abs=1e-12)
    assert lifted.update({"load.torque": (0, 0, 0)}).stable
    both = wp.update({"load.torque": (0, torque, 0), "load.force": (0.0, 0.0, -9.81)})
    assert angle(both) == pytest.approx(np.arcsin(torque / (2 * MOST)), rel=1e-12)


def test_a_follower_load_pushes_across_the_rod():
    wp = rod(force=(1.0, 0, 0), axes="frame").find_working_point()
    assert angle(wp) == pytest.approx(-np.arcsin(1.0 / 9.81), rel=1e-12)


def test_a_soft_hinge_that_only_gravity_makes_stiff():
    wp = rod(soft=True, torque=(0, 3.0, 0)).find_working_point()
    assert angle(wp) == pytest.approx(np.arcsin(3.0 / MOST), rel=1e-3)
    assert np.abs(wp.relative_residual).max() < 1e-10


@pytest.mark.parametrize("updated", [False, True])
@pytest.mark.parametrize("turns", [0.01, 1.0])
def test_a_wire_is_wound_up_by_a_torque(turns, updated):
    """``torque = G pi r^4/2 phi/length``, under a weight that must make the wire taut first."""
    radius, length, young, poisson = 2e-4, 1.0, 2e11, 0.3
    twist = young / (2 * (1 + poisson)) * np.pi * radius**4 / 2 / length
    s = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    wire = s.add(mse.Wire("wire", length=length, radius=radius, young_modulus=young, poisson_ratio=poisson))
    bob = s.add(mse.RigidBody("bob", mass=1.0, inertia=0.01, at=Pose.dz(-1.0)))
    s.clamp(s.ground, wire.frame(1))
    s.clamp(bob.frame(0), wire.frame(0))
    load = s.add(mse.Load("load"))
    s.clamp(bob.frame(0), load.frame(0))
    torque = (0, 0, 2 * np.pi * turns * twist)
    if updated:
        wp = s.find_working_point().update({"load.torque": torque})
    else:
        load.torque = torque
        wp = s.find_working_point()
    u = wp.poses["bob.center"].U
    found, expected = np.exp(1j * np.arctan2(u[1, 0], u[0, 0])), np.exp(2j * np.pi * turns)
    assert abs(found - expected) < 1e-6
    assert np.abs(wp.relative_residual).max() < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("torque", [5.0, 6.0])
def test_beyond_the_limit_it_says_how_far_it_got(torque):
    with pytest.raises(mse.WorkingPointError, match="loads that have no energy") as caught:
        rod(torque=(0, torque, 0)).find_working_point()
    share = float(str(caught.value).split("followed up to ")[1].split()[0])
    assert share == pytest.approx(MOST / torque, abs=2e-4) and share <= MOST / torque


@pytest.mark.slow
def test_updates_keep_what_was_sought():
    """An inverted pendulum found upright stays there, whatever changes, in memory and through a file."""
    s = mse.MSystem("inverted", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("rod", mass=1.0, inertia=(0.1, 0.1, 0.01), at=Pose.dz(0.5)))
    hinge = s.add(mse.Revolute("hinge", axis=(0, 1, 0), stiffness=4.0))
    s.clamp(s.ground, hinge.frame(1))
    s.clamp(body.frame(0), hinge.frame(0), Pose.dz(-0.5))
    upright = s.find_working_point(seek="nearest")
    for changes in ({"hinge.damping": 0.1}, {"rod.mass": 1.5}, {"hinge.stiffness": 1.0}):
        found = upright.update(changes)
        assert found.joint_coordinates["hinge.angle"] == 0.0 and len(found.unstable) == 1 and found.seek == "nearest"
    fallen = s.find_working_point().update({"hinge.damping": 0.1})
    assert abs(fallen.joint_coordinates["hinge.angle"]) > 1.0 and fallen.stable


def test_files_remember_what_was_sought(tmp_path):
    s = rod()
    s.find_working_point(seek="nearest").save(tmp_path / "rod.json")
    assert mse.read_model(tmp_path / "rod.json").seek == "nearest"


def test_raising_scales_forces_and_their_stiffness():
    """Halfway, half of what the load adds; at nothing, what there is without it."""
    system = rod(force=(1.0, 0, 2.0), torque=(0.5, 1.0, 0), axes="frame")
    bare = rod()
    found = {}
    for name, s in (("with", system), ("bare", bare)):
        topology = Topology(s)
        assembly = Assembly(topology, topology.unit)
        whole = MeritFunction.of(topology, assembly)
        for raised in (0.0, 0.5, 1.0):
            merit = whole.at(Stage(follower_factor=raised))
            point = merit.evaluate(merit.start, 2)
            found[name, raised] = (
                point.gradient - point.multipliers @ merit.here(merit.start).slopes,
                point.stiffness.toarray(),
            )
    for k in range(2):
        none, half, whole = (found["with", raised][k] for raised in (0.0, 0.5, 1.0))
        np.testing.assert_allclose(none, found["bare", 1.0][k], atol=1e-12)
        if k == 0:
            np.testing.assert_allclose(half, 0.5 * (none + whole), atol=1e-12)
            assert np.abs(whole - none).max() > 0.4


# -- where other branches of equilibria begin: where det K vanishes, not where that of its symmetric half does ---------
def column(follower: float, joint: str = "Revolute") -> mse.MSystem:
    """Ziegler's column: bars of 1 m on two hinges of 1 N m/rad, under 1 N, a share of which follows the upper bar."""
    s = mse.MSystem("column", gravity=(0, 0, 0))
    last = s.ground
    for at, mass in enumerate((2.0, 1.0), 1):
        bar = s.add(mse.RigidBody(f"bar{at}", mass=mass, inertia=0.01, at=Pose.dz(at)))
        options = {"axis": (0, 1, 0), "stiffness": 1.0} if joint == "Revolute" else {"stiffness": (1.0, 1.0)}
        hinge = s.add(getattr(mse, joint)(f"hinge{at}", **options))
        s.clamp(last, hinge.frame(1))
        s.clamp(hinge.frame(0), bar.frame(0), Pose.dz(1.0))
        last = bar.frame(0)
    s.add(mse.Load("follower", force=(0, 0, -follower), axes="frame"), between=(bar,))
    s.add(mse.Load("dead", force=(0, 0, follower - 1.0)), between=(bar,))
    return s


def loads_of_branches(follower: float, to: float) -> list[float]:
    """Roots P of ``det [[2 - P, follower P - 1], [-1, 1 - (1 - follower) P]]``, by the torques about both hinges."""
    dead = 1.0 - follower
    roots = np.roots([dead, -1.0 - 2.0 * dead + follower, 1.0])
    return sorted(float(r.real) for r in roots if abs(r.imag) < 1e-12 and 0.0 < r.real < to)


@pytest.mark.parametrize("joint", ["Revolute", pytest.param("Universal", marks=pytest.mark.slow)])
@pytest.mark.parametrize("follower", [1.0, 0.45, *(pytest.param(x, marks=pytest.mark.slow) for x in (0.7, 0.5, 0.0))])
@pytest.mark.parametrize("dense", [300, pytest.param(1, marks=pytest.mark.slow)])
def test_branches_begin_where_the_whole_stiffness_is_singular(follower, joint, dense, monkeypatch):
    """With as much stiffness about both axes two motions let go at once, between which det K has one sign."""
    monkeypatch.setattr(SIZES, "dense", dense)
    s = column(follower, joint)
    trace = s.trace("load_factor", 4.0, start=s.find_working_point(seek="nearest", load_factor=0.01))
    expected = loads_of_branches(follower, 4.0)
    assert len(expected) == {1.0: 0, 0.7: 0}.get(follower, 2)
    assert trace.complete and [e.value for e in trace.events] == pytest.approx(expected, rel=1e-8)
    assert {e.kind for e in trace.events} <= {"branch point"}


def test_limit_points_are_told_where_forces_have_no_energy():
    """A mass on a guide between two inclined springs: a load that follows it is one that does not."""
    s = mse.MSystem("truss", gravity=(0, 0, 0))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=1.0, at=Pose.dz(0.3)))
    s.add(mse.Prismatic("guide"), between=(mass, s.ground))
    for k, x in enumerate((-1, 1)):
        spring = s.add(mse.Spring(f"spring{k}", length=np.hypot(1.0, 0.3), stiffness=2000.0))
        s.clamp(s.ground, spring.frame(0), Pose.dx(x))
        s.clamp(mass.frame(0), spring.frame(1))
    s.add(mse.Load("load", force=(0, 0, -10.0), axes="frame"), between=(mass,))
    top = 2 * 2000.0 * (np.hypot(1.0, 0.3) ** (2 / 3) - 1.0) ** 1.5 / 10.0
    events = s.trace("load_factor", 20.0, start=s.find_working_point(seek="nearest", load_factor=0.1)).events
    assert [e.kind for e in events] == ["limit point"] * 2
    assert [e.value for e in events] == pytest.approx([top, -top], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("follower", [0.0, 0.3, 1.0])
def test_columns_of_beam_elements_part_as_the_closed_form_says(follower):
    """``cos sqrt(P/EI) L = -follower/(1 - follower)`` for a share that follows its end; Beck's column has no other branch."""
    s = mse.MSystem("column", gravity=(0, 0, 0))
    up, bending = Pose.ry(-np.pi / 2), 2e11 * 0.02 * 0.01**3 / 12
    beam = mse.Beam("beam", length=1.0, width=0.02, height=0.01, young_modulus=2e11, density=7800.0, elements=12,
                    theory="euler-bernoulli")  # fmt: skip
    s.add(beam)
    tip = s.add(mse.RigidBody("tip", mass=1e-3, inertia=1e-9, at=Pose.dz(1.0)))
    s.clamp(s.ground, beam.frame(0), up)
    s.clamp(beam.frame(1), tip, up.inverse())
    s.add(mse.Load("follower", force=(0, 0, -follower * bending), axes="frame"), between=(tip,))
    s.add(mse.Load("dead", force=(0, 0, (follower - 1.0) * bending)), between=(tip,))
    trace = s.trace("load_factor", 9.0, start=s.find_working_point(seek="nearest", load_factor=0.01))
    expected = [] if follower == 1.0 else [np.arccos(-follower / (1.0 - follower)) ** 2]
    assert trace.complete and [e.value for e in trace.events] == pytest.approx(expected, rel=1e-4)
