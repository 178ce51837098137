"""Steps that strain stiff members: what they leave out of balance does not hide how far soft motions are from equilibrium."""

from __future__ import annotations

from typing import NamedTuple

import pytest

import mse
from mse import Pose
from mse.statics.stiff_valleys import unstrained


def hung(at: Pose, turned: float) -> mse.WorkingPoint:
    """A beam of two bodies on one thin wire, which holds its spin with 2e-8 N m/rad, searched from turned about it (rad)."""
    s = mse.MSystem("hung", gravity=(0, 0, -9.81))
    wire = s.add(mse.Wire("wire", length=1.0, young_modulus=2e11, poisson_ratio=0.3, radius=2e-5))
    left = s.add(mse.RigidBody("left", mass=1.0, inertia=0.01, at=Pose.rotation((0, 0, turned)) @ at))
    right = s.add(mse.RigidBody("right", mass=1.5, inertia=0.01))
    s.clamp(s.ground, wire.frame(1))
    s.clamp(left.frame(0), wire.frame(0), Pose((-0.3, 0.0, 0.2)))
    s.clamp(left.frame(0), right.frame(0), Pose((-0.5, 0.0, 0.0)))
    return s.find_working_point()


def assert_balances(found: mse.WorkingPoint) -> None:
    assert found.stable and found.relative_residual.max() < 1e-14
    # rounding of the torques of loads, 7e-15 N m, over the stiffness
    assert abs(found.poses["left.center"].rotation_vector()[2]) < 1e-6


def test_a_search_ends_where_a_motion_that_is_nearly_free_balances():
    """At 0.015 rad its torque is below a ten-billionth of the loads, and a step from there strains the wire by 3e-4 N."""
    assert_balances(hung(Pose((0.3, 0.0, -1.2)), 0.3))


@pytest.mark.parametrize("turned", [1e-5, 1e-4, 1e-3, 1e-2])
def test_a_start_that_is_balanced_but_for_a_nearly_free_motion_is_left(turned):
    rest = hung(Pose((0.3, 0.0, -1.2)), 0.3).poses["left.center"].o
    assert_balances(hung(Pose((0.3, 0.0, rest[2])), turned))


def test_a_body_turned_far_about_its_thin_wire_takes_some_dozens_of_steps():
    """35 along the valley of its wire; 103 where errors of ten times what a step foresees are allowed."""
    found = hung(Pose((0.3, 0.0, -1.2)), 2.5)
    assert_balances(found)
    assert len(found.history) < 60


@pytest.mark.parametrize("turned", [0.46, 0.97, 1.6])
def test_two_bodies_on_thin_wires_end_where_their_spin_balances(turned):
    """Steps along the wires' valley become short; the last one, under forces below the tolerance, is whole again."""
    s = mse.MSystem("pair", gravity=(0, 0, -9.81))
    upper, lower = (
        s.add(mse.Wire(name, length=1.0, young_modulus=2e11, poisson_ratio=0.3, radius=r))
        for name, r in (("upper", 2e-5), ("lower", 4e-5))
    )
    around = Pose.rotation((0, 0, turned))
    left = s.add(mse.RigidBody("left", mass=1.0, inertia=0.01, at=around @ Pose((0.3, 0.0, -1.2))))
    right = s.add(mse.RigidBody("right", mass=1.5, inertia=0.01, at=around @ Pose((-0.2, 0.0, -2.5))))
    s.clamp(s.ground, upper.frame(1))
    s.clamp(left.frame(0), upper.frame(0), Pose((-0.3, 0.0, 0.2)))
    s.clamp(left.frame(0), lower.frame(1), Pose((-0.5, 0.0, -0.1)))
    s.clamp(right.frame(0), lower.frame(0), Pose((0.0, 0.0, 0.2)))
    assert_balances(s.find_working_point())


class Residual(NamedTuple):
    energy: float
    left: float


class Converging:
    """Newton's steps from an equilibrium along a valley that bends: what each leaves is a constant times the square."""

    size = 1.0

    def stiffened(self, point):
        return point

    def stepped(self, point, step, order):
        return Residual(0.0, 4e9 * point.left**2)


class NoStep:
    p = None


@pytest.mark.parametrize("after", [0.6e-11, 0.95e-11, 5e-11])
def test_steps_that_converge_go_on_until_they_count(after):
    """A residual a little below the one before is no end: one that is not half of it would be the last step."""
    found = unstrained(
        Converging(), Residual(0.0, after), lambda p: p.left, 1e-11, lambda merit, point, radius: NoStep()
    )
    assert found.left < 0.5e-11
