"""Equilibria traced along loads and parameters, against closed forms: snap-through, pitchforks, points exactly met."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose

pytestmark = pytest.mark.rounding


def shallow_truss(stiffness=2000.0, height=0.3) -> mse.MSystem:
    """A 1 kg mass on a vertical guide, between two inclined springs at rest (von Mises truss)."""
    s = mse.MSystem("truss", gravity=(0, 0, -9.81))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=1.0, at=Pose((0, 0, height))))
    guide = s.add(mse.Prismatic("guide"))
    s.connect(s.ground, guide.frame(1))
    s.connect(mass.frame(0), guide.frame(0))
    for k, x in enumerate((-1, 1)):
        spring = s.add(mse.Spring(f"spring{k}", length=np.hypot(1.0, height), stiffness=stiffness))
        s.connect(s.ground, spring.frame(0), Pose((x, 0, 0)))
        s.connect(mass.frame(0), spring.frame(1))
    return s


def truss_load(z, stiffness=2000.0, height=0.3):
    """Load factor at which the mass rests at height z: ``-2 k (l - l0) z/l = factor m g``."""
    length = np.hypot(1.0, z)
    return -2.0 * stiffness * (length - np.hypot(1.0, height)) * z / length / 9.81


def inverted_pendulum(stiffness=20.0) -> mse.MSystem:
    s = mse.MSystem("column", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose((0, 0, 1))))
    hinge = s.add(mse.Revolute("hinge", axis=(0, 1, 0), stiffness=stiffness))
    s.connect(s.ground, hinge.frame(1))
    s.connect(body.frame(0), hinge.frame(0), Pose((0, 0, -1)))
    return s


def test_snap_through_is_traced_through_both_limit_points():
    trace = shallow_truss().trace("load", 4.0)
    z = trace.origins("mass.center")[:, 2]
    assert trace.complete and trace.values[-1] == pytest.approx(4.0, abs=1e-12)
    assert np.abs(truss_load(z) - trace.values).max() < 1e-11
    # l^3 = l0: where the load has its extremes
    height = np.sqrt(np.hypot(1.0, 0.3) ** (2 / 3) - 1.0)
    assert [e.kind for e in trace.events] == ["limit point", "limit point"]
    assert [e.value for e in trace.events] == pytest.approx([truss_load(height), -truss_load(height)], rel=1e-8)
    assert {e.motion.name for e in trace.events} == {"mass.z"}
    assert trace.stable[0] and trace.stable[-1]
    assert np.array_equal(trace.stable, np.abs(z) > height)


def test_a_load_dropped_to_the_other_sign_goes_the_other_way():
    trace = shallow_truss().trace("load", -3.0)
    assert trace.complete and not trace.events and np.all(trace.stable)
    assert np.abs(truss_load(trace.origins("mass.center")[:, 2]) - trace.values).max() < 1e-11


@pytest.mark.parametrize(
    "parameter, to, critical", [("load", 4.0, 20 / 9.81), ("hinge.stiffness", 5.0, 9.81), ("body.mass", 3.0, 20 / 9.81)]
)
def test_a_pitchfork_is_a_branch_point(parameter, to, critical):
    trace = inverted_pendulum().trace(parameter, to)
    (event,) = trace.events
    assert event.kind == "branch point" and event.value == pytest.approx(critical, rel=1e-9)
    assert "body.ay" in event.motion.name
    assert trace.complete and trace.stable[0] and not trace.stable[-1]


def test_a_parameter_of_a_constraint_moves_what_is_held():
    """A rod that grows lifts the end of a hinged bar; the angle follows from the triangle."""
    s = mse.MSystem("lift", gravity=(0, 0, -9.81))
    bar = s.add(mse.RigidBody("bar", mass=1.0, inertia=0.1, at=Pose((0.5, 0, 0))))
    hinge = s.add(mse.Revolute("hinge", axis=(0, -1, 0)))
    rod = s.add(mse.Rod("rod", length=1.0))
    s.connect(s.ground, hinge.frame(1))
    s.connect(bar.frame(0), hinge.frame(0), Pose((-0.5, 0, 0)))
    s.connect(s.ground, rod.frame(1), Pose((1.0, 0, 1.0)))
    s.connect(bar.frame(0), rod.frame(0), Pose((0.5, 0, 0)))
    trace = s.trace("rod.length", 0.6)
    angle = np.array([wp.joint_coordinates["hinge.angle"] for wp in trace.working_points])
    assert np.hypot(1 - np.cos(angle), 1 - np.sin(angle)) == pytest.approx(trace.values, abs=1e-10)
    assert trace.values[-1] == pytest.approx(0.6, abs=1e-12)


def test_a_curve_that_ends_says_where():
    """The rod cannot reach further than the bar's circle: there the mechanism locks."""
    s = mse.MSystem("reach", gravity=(0, 0, -9.81))
    bar = s.add(mse.RigidBody("bar", mass=1.0, inertia=0.1, at=Pose((0.5, 0, 0))))
    hinge = s.add(mse.Revolute("hinge", axis=(0, -1, 0)))
    rod = s.add(mse.Rod("rod", length=1.0))
    s.connect(s.ground, hinge.frame(1))
    s.connect(bar.frame(0), hinge.frame(0), Pose((-0.5, 0, 0)))
    s.connect(s.ground, rod.frame(1), Pose((1.0, 0, 1.0)))
    s.connect(bar.frame(0), rod.frame(0), Pose((0.5, 0, 0)))
    trace = s.trace("rod.length", 5.0, most=60)
    assert not trace.complete and trace.reason
    assert trace.values.max() == pytest.approx(1.0 + np.sqrt(2.0), abs=1e-3)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("lode", 2.0), "no parameter 'lode'"),
        (("hinge.stifness", 2.0), "did you mean 'stiffness'"),
        (("hinge.axis", 2.0), "expected a number"),
        (("nothing.mass", 2.0), "no object 'nothing'"),
        (("load", np.nan), "finite number"),
        (("load", 1.0), "already"),
        ((3, 1.0), "expected 'load'"),
    ],
)
def test_refusals(arguments, words):
    with pytest.raises(mse.MseError, match=words):
        inverted_pendulum().trace(*arguments)
