"""Where loaded equilibria begin when motions are free without loads: pendulums that lean, on hinges, wires and blades."""

from __future__ import annotations

import numpy as np
import pytest

import mse
import rods
from models import double_pendulum
from mse import Pose
from test_beams import slender

pytestmark = pytest.mark.rounding

UP = Pose.ry(-np.pi / 2)
WEIGHT = 9.81  # N, of 1 kg


def leaning(angle: float, *, about: float = 0.0, stiffness: float = 1e4) -> mse.MSystem:
    """A bob of 1 kg on a spring of 1 m that leans at its start, towards any side."""
    s = mse.MSystem("leaning", gravity=(0, 0, -WEIGHT))
    bob = s.add(mse.RigidBody("bob", mass=1.0, inertia=0.1, at=Pose.rz(about) @ Pose.ry(angle) @ Pose.dz(-1.0)))
    s.add(mse.Spring("spring", length=1.0, stiffness=stiffness), between=(s.ground, bob))
    return s


def hinged(angle: float, count: int) -> mse.MSystem:
    """Bars on ball joints, one below the other, each turned further than the one above."""
    s = mse.MSystem("chain", gravity=(0, 0, -WEIGHT))
    above, place = s.ground, Pose()
    for k in range(count):
        place = place @ Pose.rx(0.5 * k) @ Pose.ry(angle) @ Pose.dz(-1.0)
        bar = s.add(mse.RigidBody(f"bar{k}", mass=1.0, inertia=0.1, at=place))
        joint = s.add(mse.Spherical(f"joint{k}"))
        s.clamp(above, joint.frame(1))
        s.clamp(bar.frame(0), joint.frame(0), Pose.dz(1.0))
        above = bar.frame(0)
    return s


def mast_with_pendulum(*, lean: float, stiffness: float = 20.0, wire: float = 2e3) -> mse.MSystem:
    """A mast of 1 m on a hinge with a spring, and a bob on a wire from its top, which leans to a side at its start."""
    s = mse.MSystem("mast", gravity=(0, 0, -WEIGHT))
    mast = s.add(mse.RigidBody("mast", mass=0.5, inertia=0.1, at=Pose.dz(0.5)))
    hinge = s.add(mse.Revolute("hinge", axis=(0, 1, 0), stiffness=stiffness))
    s.clamp(s.ground, hinge.frame(1))
    s.clamp(mast.frame(0), hinge.frame(0), Pose.dz(-0.5))
    _hang(s, mast.add_frame("top", Pose.dz(0.5)), lean, wire)
    return s


def column_with_pendulum(*, lean: float) -> mse.MSystem:
    """The same on a column that bends, of E I = 1 and 1 m, without weight."""
    s = mse.MSystem("column", gravity=(0, 0, -WEIGHT))
    beam = s.add(slender(16, ea=1e8, iz=1.5))
    beam.at = UP
    s.clamp(s.ground, beam.frame(0), UP)
    _hang(s, beam.frame(1), lean, 2e3)
    return s


def _hang(s: mse.MSystem, top, lean: float, stiffness: float) -> None:
    place = Pose.dz(1.0) @ Pose.rz(0.9) @ Pose.ry(lean) @ Pose.dz(-0.5)
    bob = s.add(mse.RigidBody("bob", mass=1.0, inertia=0.1, at=place))
    s.add(mse.Spring("wire", length=0.5, stiffness=stiffness), between=(top, bob))


def sliding() -> mse.MSystem:
    """A block on an upright rail, which nothing keeps from falling."""
    s = mse.MSystem("slider", gravity=(0, 0, -WEIGHT))
    block = s.add(mse.RigidBody("block", mass=1.0, inertia=0.1))
    s.add(mse.Prismatic("rail", axis=(0, 0, 1)), between=(block, s.ground))
    return s


# -- the beginning ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("angle", [1e-8, 1e-5, 1e-2, 0.3, 1.5, np.pi / 2, 2.5, 3.1])
def test_a_pendulum_that_leans_hangs_straight_under_its_loads(angle):
    found = leaning(angle, about=0.7).find_instability(max_load_factor=50.0)
    assert not found and found.working_point.load_factor == 50.0
    straight = [0.0, 0.0, -1.0 - 50.0 * WEIGHT / 1e4]
    np.testing.assert_allclose(found.working_point.poses["bob.center"].o, straight, atol=1e-9)


@pytest.mark.parametrize("stiffness", [20.0, 1e8])
def test_how_stiff_a_wire_is_does_not_matter(stiffness):
    found = leaning(1.0, stiffness=stiffness).find_instability(max_load_factor=5.0)
    assert not found
    assert found.working_point.poses["bob.center"].o[2] == pytest.approx(-1.0 - 5.0 * WEIGHT / stiffness, rel=1e-9)


def test_a_chain_of_bars_hangs_straight_under_its_loads():
    found = hinged(0.4, 3).find_instability(max_load_factor=20.0)
    assert not found
    for k in range(3):
        np.testing.assert_allclose(found.working_point.poses[f"bar{k}.center"].o, [0, 0, -1.0 - k], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("line", ["wire", "spring"])
@pytest.mark.parametrize("hook", [0.05, 0.03, 0.0])
def test_a_double_pendulum_on_blades_and_wires_is_stable(hook, line):
    """Wires that do not hang straight from their tips, are strained without loads, or leave more motions free."""
    found = double_pendulum(hook, line=line).find_instability(max_load_factor=20.0)
    assert not found and found.working_point.stable
    alone = double_pendulum(hook, line=line).find_working_point(load_factor=20.0)
    for name in ("top.center", "low.center"):
        np.testing.assert_allclose(found.working_point.poses[name].o, alone.poses[name].o, atol=1e-7)


# -- instabilities beyond it ------------------------------------------------------------------------------------
@pytest.mark.parametrize("lean", [0.0, 0.4, 2.0])
@pytest.mark.parametrize("wire", [2e3, 1e7])
def test_what_hangs_from_a_mast_tips_it_where_its_weight_is_worth_the_spring(lean, wire):
    """``k = factor (m l + M l/2) g``: a hanging weight acts where it hangs from."""
    found = mast_with_pendulum(lean=lean, wire=wire).find_instability(max_load_factor=50.0)
    assert found.kind == "bifurcation" and "mast" in found.motion.name
    assert found.load_factor == pytest.approx(20.0 / (WEIGHT * (1.0 + 0.25)), rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("lean", [0.0, 0.4])
def test_what_hangs_from_a_column_buckles_it_at_eulers_load(lean):
    found = column_with_pendulum(lean=lean).find_instability(max_load_factor=50.0)
    assert found.kind == "bifurcation" and "beam.1.x" in found.motion.name
    assert WEIGHT * found.load_factor == pytest.approx(rods.euler_buckling(1.0, 1.0, "clamped-free"), rel=1e-6)


@pytest.mark.slow
def test_a_mast_that_tips_under_the_least_load_is_not_passed():
    """Its instability is at a thousandth of its loads, below the first step of them."""
    s = mast_with_pendulum(lean=0.7, stiffness=1e-3 * WEIGHT * 1.25)
    assert s.find_instability(max_load_factor=50.0).load_factor == pytest.approx(1e-3, rel=1e-8)


# -- no such beginning ------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_what_nothing_keeps_from_falling_is_an_error_by_name():
    with pytest.raises(
        mse.WorkingPointError, match="push along motions that nothing holds without them .block.z., and lead .* no equ"
    ):
        sliding().find_instability(max_load_factor=2.0)


def test_what_only_loads_hold_is_an_error_that_tells_how_little_of_them_does():
    """A pendulum on a hinge whose spring pushes it over, ``-k = factor m g l``."""
    s = mse.MSystem("tipping", gravity=(0, 0, -WEIGHT))
    bob = s.add(mse.RigidBody("bob", mass=1.0, inertia=0.1, at=Pose.dz(-1.0)))
    hinge = s.add(mse.Revolute("hinge", axis=(0, 1, 0), stiffness=-5.0))
    s.clamp(s.ground, hinge.frame(1))
    s.clamp(bob.frame(0), hinge.frame(0), Pose.dz(1.0))
    with pytest.raises(mse.WorkingPointError, match="unstable even without loads.* stable only down to 0.50968399"):
        s.find_instability(max_load_factor=10.0)


@pytest.mark.slow
def test_a_line_that_is_straight_without_loads_is_followed_from_its_working_point():
    """Two springs at rest in a line have no stiffness across it until they sag."""
    s = mse.MSystem("line", gravity=(0, 0, -WEIGHT))
    bob = s.add(mse.RigidBody("bob", mass=1.0, inertia=0.1))
    for name, x in (("left", -1.0), ("right", 1.0)):
        spring = s.add(mse.Spring(name, length=1.0, stiffness=1e4))
        s.clamp(s.ground, spring.frame(0), Pose.dx(x))
        s.clamp(spring.frame(1), bob.frame(0))
    found = s.find_instability(max_load_factor=5.0)
    sag = -found.working_point.poses["bob.center"].o[2]
    length = np.hypot(1.0, sag)
    assert not found and 2e4 * (length - 1.0) * sag / length == pytest.approx(5.0 * WEIGHT, rel=1e-9)


# -- curves -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("angle", [1e-3, 0.5, 1.5])
def test_a_curve_from_no_load_begins_where_a_pendulum_hangs(angle):
    s = leaning(angle, stiffness=100.0)
    trace = s.trace("load_factor", 3.0, start=s.find_working_point(load_factor=0.0))
    assert trace.complete and trace.values[0] == 0.0 and not trace.events and np.all(trace.stable)
    np.testing.assert_allclose(trace.origins("bob.center")[:, :2], 0.0, atol=1e-10)
    assert trace.origins("bob.center")[:, 2] == pytest.approx(-1.0 - trace.values * WEIGHT / 100.0, abs=1e-12)


def test_a_curve_does_not_begin_by_a_fall():
    s = leaning(2.0)
    trace = s.trace("load_factor", 3.0, start=s.find_working_point(load_factor=0.0))
    assert not trace.complete and "lost" in trace.reason


@pytest.mark.slow
@pytest.mark.parametrize("line", ["wire", "spring"])
def test_a_double_pendulum_is_traced_from_no_load(line):
    s = double_pendulum(line=line)
    trace = s.trace("load_factor", 2.0, start=s.find_working_point(load_factor=0.0))
    assert trace.complete and np.all(trace.stable) and not trace.events
