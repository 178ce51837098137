"""Rest under torques and follower loads, which come from no energy: beside gravity, which alone may hold what they push."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.model.assembly import Assembly
from mse.model.topology import Topology
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
                point.gradient - point.multipliers @ merit.slopes_at(merit.start)[0],
                point.stiffness.toarray(),
            )
    for k in range(2):
        none, half, whole = (found["with", raised][k] for raised in (0.0, 0.5, 1.0))
        np.testing.assert_allclose(none, found["bare", 1.0][k], atol=1e-12)
        if k == 0:
            np.testing.assert_allclose(half, 0.5 * (none + whole), atol=1e-12)
            assert np.abs(whole - none).max() > 0.4
