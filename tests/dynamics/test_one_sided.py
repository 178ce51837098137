"""Wires that push and wheels that are pulled in motions, which are noted with the times, and those that do not."""

import numpy as np
import pytest

import mse
from mse import Pose


def hopping(speed, **wire):
    """A mass on a vertical wire, thrown upwards from where the wire carries it: 1 kg at 100 N/m, so w = 10/s."""
    s = mse.MSystem("hopping", gravity=(0, 0, -10.0))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=Pose.dz(-1.1)))
    s.add(mse.Prismatic("guide"), between=(mass, s.ground))
    area = np.pi * 1e-3**2
    wire = mse.Wire("wire", length=1.0, radius=1e-3, young_modulus=100.0 / area, poisson_ratio=0.3, **wire)
    s.add(wire, between=(s.ground, mass))
    return s.simulate(
        duration=0.6,
        dt=0.01,
        initial={"guide.displacement": -1.1, "guide.displacement'": speed},
        rtol=1e-8,
        progress=False,
    )


def test_a_wire_that_pushes_is_noted_with_the_times():
    """z = 2 0.1 sin(10 t) is above 0.1 from 0.05236 to 0.26180 s, and pushes by 10 N at most."""
    (note,) = hopping(2.0).notes
    assert note.startswith(
        "wire pushes by up to 9.99 N from 0.06 to 0.26 s: a real one goes slack; pretension it, or set tension_only"
    )


@pytest.mark.parametrize(("speed", "wire"), [(0.9, {}), (2.0, {"tension_only": True})])
def test_wires_that_stay_taut_or_go_slack_are_not(speed, wire):
    assert hopping(speed, **wire).notes == ()


def pulled_ball(amplitude):
    """A rolling ball of 1 kg on a plane that goes up and down."""
    s = mse.MSystem("pulled", gravity=(0, 0, -10.0))
    ball = s.add(mse.RigidBody("ball", mass=1.0, inertia=0.1, at=Pose.dz(0.5)))
    plane = s.add(mse.RigidBody("plane", mass=1.0, inertia=0.1))
    s.add(mse.Prismatic("lift", motor="position"), between=(plane, s.ground))
    s.add(mse.RollingSphere("sphere", radius=0.5), between=(ball, plane))
    return s.simulate(
        duration=1.0,
        dt=0.01,
        inputs={"lift.displacement": lambda t: amplitude * (1.0 - np.cos(10.0 * t))},
        progress=False,
    )


def test_a_wheel_that_is_pulled_is_noted_with_the_times():
    """The plane accelerates downwards by 20 cos(10 (t - pi/10)) m/s2, more than 10 from pi/15 on."""
    (note,) = pulled_ball(0.2).notes
    expected = "sphere is held on its plane by up to 9.99 N from 0.21 to 0.41 s, 0.84 to 1 s: a real one lifts off"
    assert note.startswith(expected)


def test_a_wheel_that_is_pressed_is_not():
    assert pulled_ball(0.05).notes == ()


def test_a_wheel_that_carries_nothing_but_rounding_is_not():
    """A ball on a slope along which all its weight pulls, and one on a plate that falls as it does."""
    slope = Pose.rotation((0.3, 0.7, -0.2))
    s = mse.MSystem("rolling", gravity=tuple(-9.81 * slope.U[:, 0]))
    ball = s.add(mse.RigidBody("ball", mass=1.0, inertia=0.1, at=slope @ Pose.dz(0.5)))
    s.add(mse.RollingSphere("sphere", radius=0.5), between=(ball, s.ground @ slope))
    motion = s.simulate(duration=1.0, dt=0.05, initial={"ball'": (*(0.5 * slope.U[:, 1]), *-slope.U[:, 0])})
    friction = motion.at(0.5).reactions["sphere"]
    assert np.abs(friction).max() > 1.0 and 0.0 < np.abs(friction).min() < 1e-12
    assert motion.notes == ()
    s = mse.MSystem("falling", gravity=(0, 0, -9.81))
    ball, plate = (
        s.add(mse.RigidBody(k, mass=1.0, inertia=0.1, at=slope @ Pose.dz(z)))
        for k, z in (("ball", 0.5), ("plate", 0.0))
    )
    s.add(mse.RollingSphere("sphere", radius=0.5), between=(ball, plate))
    s.add(mse.Joint("free", free=("x", "y", "z", "ax", "ay", "az")), between=(plate, s.ground))
    assert s.simulate(duration=1.0, dt=0.05).notes == ()


@pytest.mark.parametrize(("rate", "noted"), [(5.4, True), (1.0, False)])
def test_springs_that_reverse_at_half_a_turn_are_noted(rate, noted):
    s = mse.MSystem("turning", gravity=(0, 0, 0))
    ball = s.add(mse.RigidBody("ball", mass=1.0, inertia=0.1))
    s.add(mse.Spherical("joint", stiffness={"ax": 0.05, "ay": 0.05, "az": 0.05}), between=(ball, s.ground))
    motion = s.simulate(duration=1.0, dt=0.5, initial={"ball'": (0, 0, 0, 0.6 * rate, 0.0, 0.8 * rate)}, progress=False)
    notes = [note for note in motion.notes if note.startswith("joint turns past half a turn at t = 0.")]
    assert len(notes) == noted
