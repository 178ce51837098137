"""Where mechanisms are special: tiny and huge, neutral, closed curves, wound up, degenerate."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose

pytestmark = pytest.mark.rounding

G = 9.81


def pendulum(length: float) -> mse.MSystem:
    s = mse.MSystem("pendulum", gravity=(0, 0, -G))
    hinge = s.add(mse.Revolute("hinge", axis=(0, 1, 0)))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=length**2 / 12, at=Pose((0, 0, -length))))
    s.clamp(s.ground, hinge.frame(1))
    s.clamp(body.frame(0), hinge.frame(0), Pose((0, 0, length)))
    return s


def twice_fixed(length: float) -> mse.MSystem:
    s = mse.MSystem("twice", gravity=(0, 0, -G))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=length**2 / 12, at=Pose((0.2 * length, 0, 0))))
    for k, x in enumerate((-0.5, 0.5)):
        joint = s.add(mse.Fixed(f"fixed{k}"))
        s.clamp(s.ground, joint.frame(1), Pose((x * length, 0, 0)))
        s.clamp(body.frame(0), joint.frame(0), Pose(((x - 0.2) * length, 0, 0)))
    return s


@pytest.mark.slow
@pytest.mark.parametrize("length", [1e-6, 1e-3, 1.0, 1e4])
def test_size_changes_nothing_but_size(length):
    wp = pendulum(length).find_working_point()
    assert wp.reactions["hinge"][2] == pytest.approx(-G, rel=1e-12)
    expected = np.sqrt(G / (length * (1 + 1 / 12))) / (2 * np.pi)
    assert wp.linearize().modes().frequencies_hz == pytest.approx([expected], rel=1e-12)
    shares = [twice_fixed(size).find_working_point().reactions["fixed0"][2] for size in (length, 1.0)]
    assert shares[0] == pytest.approx(shares[1], rel=1e-9)


def test_neutral_motions_have_frequency_zero_in_modes_too():
    """A cart on a rail with a pole hinged to it: the rail leaves it where it is."""
    s = mse.MSystem("cart", gravity=(0, 0, -G))
    rail, hinge = s.add(mse.Prismatic("rail", axis=(1, 0, 0))), s.add(mse.Revolute("hinge", axis=(0, 1, 0)))
    cart = s.add(mse.RigidBody("cart", mass=2.0, inertia=0.1))
    pole = s.add(mse.RigidBody("pole", mass=0.5, inertia=0.02, at=Pose((0, 0, -0.4))))
    s.clamp(s.ground, rail.frame(1))
    s.clamp(cart.frame(0), rail.frame(0))
    s.clamp(cart.frame(0), hinge.frame(1))
    s.clamp(pole.frame(0), hinge.frame(0), Pose((0, 0, 0.4)))
    modes = s.find_working_point().linearize().modes()
    assert modes.free.tolist() == [True, False]


@pytest.mark.slow
def test_systems_with_free_motions_are_traced_and_loaded():
    s = mse.MSystem("bob", gravity=(0, 0, -G))
    rod, bob = s.add(mse.Rod("rod", length=1.0)), s.add(mse.RigidBody("bob", mass=1.0, inertia=0.01))
    s.clamp(s.ground, rod.frame(1))
    s.clamp(bob.frame(0), rod.frame(0))
    trace = s.trace("rod.length", 0.6)
    assert trace.complete and trace.origins("bob.center")[-1] == pytest.approx([0, 0, -0.6], abs=1e-9)
    assert not s.find_instability(max_load_factor=10.0)
    trace = s.trace("bob.mass", 0.001)  # and not beyond, where masses are negative
    assert trace.complete and trace.values[-1] == pytest.approx(0.001)


@pytest.mark.slow
def test_a_crank_taken_round_leaves_its_rocker_where_it_swings():
    s = mse.MSystem("rocker", gravity=(0, 0, 0))
    lengths, seats = (0.3, 1.0, 0.8), [Pose(), Pose((1.0, 0, 0))]
    # closed at crank angle 0: coupler and rocker from the triangle over 0.7 m
    at = np.arccos((0.7**2 + 1.0 - 0.8**2) / (2 * 0.7 * 1.0))
    tip = np.array([0.3 + np.cos(at), 0, np.sin(at)])
    ends = [(np.zeros(3), np.array([0.3, 0, 0])), (np.array([0.3, 0, 0]), tip), (np.array([1.0, 0, 0]), tip)]
    bodies = []
    for name, (a, b) in zip(("crank", "coupler", "rocker"), ends, strict=True):
        d = b - a
        pose = Pose(0.5 * (a + b), Pose.ry(-np.arctan2(d[2], d[0])).U)
        bodies.append(s.add(mse.RigidBody(name, mass=1.0, inertia=0.1, at=pose)))
    half = [Pose.dx(0.5 * x) for x in lengths], [Pose.dx(-0.5 * x) for x in lengths]
    crank, coupler, rocker = (b.frame(0) for b in bodies)
    pins = (
        ("A", s.ground, seats[0], crank, half[1][0]),
        ("B", crank, half[0][0], coupler, half[1][1]),
        ("C", rocker, half[0][2], coupler, half[0][1]),
        ("D", s.ground, seats[1], rocker, half[1][2]),
    )
    for name, seat, at_seat, body, at_body in pins:
        motor = {"motor": "position"} if name == "A" else {}
        pin = s.add(mse.Revolute(name, axis=(0, -1, 0), **motor))
        s.clamp(seat, pin.frame(1), at_seat)
        s.clamp(body, pin.frame(0), at_body)
    first = s.find_working_point()
    round_ = first.update({"A.position": 4 * np.pi})
    assert round_.joint_coordinates["A.angle"] == pytest.approx(4 * np.pi)
    for name in ("C", "D"):
        assert round_.joint_coordinates[f"{name}.angle"] == pytest.approx(
            first.joint_coordinates[f"{name}.angle"], abs=1e-9
        )
    trace = s.trace("A.position", 2 * np.pi)
    assert trace.complete and trace.working_points[-1].joint_coordinates["D.angle"] == pytest.approx(
        first.joint_coordinates["D.angle"], abs=1e-9
    )
    # the rocker itself cannot be driven round: its curve closes instead
    s["A"].motor = "none"
    s["D"].motor = "position"
    s["D"].position = first.joint_coordinates["D.angle"]
    trace = s.trace("D.position", 6.0, max_points=200)
    assert not trace.complete and "came back" in trace.reason
    assert [e.kind for e in trace.events[:2]] == ["limit point", "limit point"]


class Squared(mse.MObject):
    def constraint(self, frames, q):
        return [(frames[0].o[2] - frames[1].o[2] + 1.0) ** 2]


def test_a_constraint_without_a_slope_is_no_working_point():
    s = mse.MSystem("flat", gravity=(0, 0, -G))
    body, hold = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose((0, 0, -0.4)))), s.add(Squared("hold"))
    s.clamp(body.frame(0), hold.frame(0))
    s.clamp(s.ground, hold.frame(1))
    with pytest.raises(mse.MseError, match="'hold'"):
        s.find_working_point()


def test_a_position_without_a_motor_is_refused():
    with pytest.raises(mse.ModelError, match="position is 1 rad on angle, whose motor is 'none'"):
        mse.Revolute("h", position=1.0)
