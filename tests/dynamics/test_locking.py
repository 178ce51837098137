"""Prescribed motions beyond what joints can follow: a run ends close to there, and names time, input and joint."""

import numpy as np
import pytest

import mse
from mse import MotionError, Pose
from mse.dynamics import locking


def arm(method=None, *, to, **more):
    """Two links of 0.5 m, whose tip goes along a line at 0.42 m below the shoulder, to x = ``to(t)``; reach is 0.907524."""
    s = mse.MSystem("arm", gravity=(0, 0, -9.81))
    upper = s.add(mse.RigidBody("upper", mass=1.0, inertia=0.01, frames={"end": Pose.dx(0.5)}))
    at = Pose.dx(0.5) @ Pose.ry(1.0)
    lower = s.add(mse.RigidBody("lower", mass=1.0, inertia=0.01, at=at, frames={"tip": Pose.dx(0.5)}))
    s.add(mse.Revolute("shoulder", axis=(0, 1, 0)), between=(upper, s.ground))
    s.add(mse.Revolute("elbow", axis=(0, 1, 0)), between=(lower, upper.frame("end")))
    motor = {"x": "position", "z": "position"}
    s.add(mse.Joint("tip", free=("x", "z", "ay"), motor=motor), between=(lower.frame("tip"), s.ground))
    inputs = {"tip.x": to, "tip.z": -0.42}
    return s.simulate(duration=1.0, dt=0.1, rtol=1e-6, inputs=inputs, method=method, progress=False, **more)


def outwards(t):
    return 0.8 + 0.2 * t


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_an_arm_beyond_its_reach_locks_where_it_is_straight(method):
    """sqrt(1 - 0.42^2) = 0.907524, at 0.537621 s."""
    with pytest.raises(
        MotionError, match=r"joints lock at t = 0\.537621 s: inputs drive tip\.x = 0\.907524, and "
    ) as caught:
        arm(method, to=outwards)
    assert "it is open by" in str(caught.value)
    assert caught.value.motion.time[-1] == pytest.approx(0.5)
    assert caught.value.motion["tip.x"][-1] == pytest.approx(0.9)


@pytest.mark.parametrize("factor", [0.5, 2.0])
@pytest.mark.parametrize("name", ["_SHORTER", "_FAR", "_PARTS"])
def test_when_it_is_looked_for_changes_nothing(monkeypatch, name, factor):
    value = getattr(locking, name)
    monkeypatch.setattr(locking, name, type(value)(factor * value))
    with pytest.raises(MotionError, match=r"joints lock at t = 0\.537621 s"):
        arm(to=outwards)


@pytest.mark.parametrize("factor", [0.1, 10.0])
@pytest.mark.parametrize("name", ["_NEAR", "_LISTED"])
def test_how_near_it_is_looked_for_changes_nothing(monkeypatch, name, factor):
    monkeypatch.setattr(locking, name, factor * getattr(locking, name))
    with pytest.raises(MotionError, match=r"joints lock at t = 0\.537621 s: inputs drive tip\.x = 0\.907524"):
        arm(to=outwards)


def test_an_arm_that_turns_back_just_before_does_not_lock():
    """It comes to 1e-4 of the reach."""
    motion = arm(to=lambda t: 0.8 + 0.10742 * np.sin(np.pi * t))
    assert motion.time[-1] == 1.0


def test_a_crank_that_turns_further_than_its_rocker_names_what_opens():
    """Links 0.5, 0.8 and 0.3 between pivots 1.2 m apart: straight at an angle whose cosine is (0.25 + 1.44 - 1.21)/1.2."""
    s = mse.MSystem("crank", gravity=(0, 0, -9.81))
    wheel = s.add(mse.RigidBody("wheel", mass=1.0, inertia=0.01, frames={"pin": Pose.dx(0.5)}))
    rod = s.add(mse.RigidBody("rod", mass=1.0, inertia=0.01, at=Pose.dx(0.5), frames={"end": Pose.dx(0.8)}))
    frames = {"end": Pose.dz(0.3)}
    rocker = s.add(mse.RigidBody("rocker", mass=1.0, inertia=0.01, at=Pose.dx(1.2), frames=frames))
    s.add(mse.Revolute("crank", axis=(0, 1, 0), motor="position"), between=(wheel, s.ground))
    s.add(mse.Revolute("pin", axis=(0, 1, 0)), between=(rod, wheel.frame("pin")))
    s.add(mse.Revolute("end", axis=(0, 1, 0)), between=(rod.frame("end"), rocker.frame("end")))
    s.add(mse.Revolute("base", axis=(0, 1, 0)), between=(rocker, s.ground @ Pose.dx(1.2)))
    angle = np.arccos((0.25 + 1.44 - 1.21) / 1.2)
    message = rf"joints lock at t = {angle / 2:.4g}\d* s: inputs drive crank\.angle = -{angle:.4g}\d*, and Revolute '"
    with pytest.raises(MotionError, match=message):
        s.simulate(duration=3.0, dt=0.1, rtol=1e-6, inputs={"crank.angle": lambda t: -2.0 * t}, progress=False)


@pytest.mark.parametrize("factor", [1.0, 0.1, 3.0])
def test_an_angle_with_a_pole_ends_too(monkeypatch, factor):
    """Its steps become shorter as it turns faster, and each turn of infinitely many would take some."""
    monkeypatch.setattr(locking, "_SHORT", factor * locking._SHORT)
    s = mse.MSystem("pole", gravity=(0, 0, 0))
    rod = s.add(mse.RigidBody("rod", mass=1.0, inertia=0.1))
    s.add(mse.Revolute("hinge", motor="position"), between=(rod, s.ground))
    inputs = {"hinge.angle": lambda t: 1.0 / (t - 0.1) + 10.0}
    with pytest.raises(MotionError, match=r"input 'hinge\.angle' grows without limit towards t = 0\.1 s"):
        s.simulate(duration=0.2, dt=0.1, inputs=inputs, rtol=1e-3, progress=False)
