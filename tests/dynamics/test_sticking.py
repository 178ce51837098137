"""Friction whose law jumps at zero velocity: named where it would hold what has come to rest, and no hindrance before."""

import numpy as np
import pytest

import mse
from mse import MotionError
from mse.dynamics import sticking


class Rubs(mse.MObject):
    """Coulomb's friction of 2 N along x."""

    def dissipation(self, frames, q, v):
        return 2.0 * np.abs(frames[0].v[0] - frames[1].v[0])


class Rounded(mse.MObject):
    def dissipation(self, frames, q, v):
        return 2.0 * np.sqrt((frames[0].v[0] - frames[1].v[0]) ** 2 + 1e-6)


def rubbing(cls, duration, method=None, stiffness=10.0):
    """From 0.5 m on, where the spring pulls by 5 N, to -0.1 m, where it cannot overcome the friction any more."""
    s = mse.MSystem("rubbing", gravity=(0, 0, -9.81))
    cart = s.add(mse.RigidBody("cart", mass=1.0, inertia=0.1))
    s.add(mse.Prismatic("rail", axis=(1, 0, 0), stiffness=stiffness), between=(cart, s.ground))
    s.add(cls("rub"), between=(cart, s.ground))
    initial = {"rail.displacement": 0.5, "rail.displacement'": -1e-6}
    return s.simulate(duration=duration, dt=0.1, initial=initial, method=method, rtol=1e-7, progress=False)


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_what_sticks_is_named(method):
    """It comes to rest after half a period, pi/sqrt(10) = 0.993459 s."""
    message = r"Rubs 'rub': its law dissipation jumps where its velocity is zero, by 4 N, and at t = 0\.99"
    with pytest.raises(MotionError, match=message) as caught:
        rubbing(Rubs, 2.0, method)
    motion = caught.value.motion
    assert motion.time[-1] == pytest.approx(0.9)
    expected = 0.2 + 0.3 * np.cos(np.sqrt(10.0) * motion.time)
    np.testing.assert_allclose(motion["rail.displacement"], expected, atol=1e-5)


@pytest.mark.parametrize("name", ["_SHORT", "_IN_A_ROW", "_REST", "_SLOWER"])
@pytest.mark.parametrize("up", [False, True])
def test_numbers_that_tell_it_do_not_matter(monkeypatch, name, up):
    factor = {"_REST": 10.0, "_SLOWER": 100.0}.get(name, 2.0)
    value = getattr(sticking, name)
    monkeypatch.setattr(sticking, name, type(value)(value * factor if up else value / factor))
    with pytest.raises(MotionError, match="'rub': its law dissipation jumps where its velocity is zero"):
        rubbing(Rubs, 2.0, "implicit")


def test_what_turns_round_goes_on():
    """At 20 N/m it stops at -0.3 m, from where 6 N pull it back against 2 N."""
    motion = rubbing(Rubs, 1.0, stiffness=20.0)
    w = np.sqrt(20.0)
    t, back = motion.time, motion.time > np.pi / w
    expected = np.where(back, -0.1 - 0.2 * np.cos(w * t - np.pi), 0.1 + 0.4 * np.cos(w * t))
    np.testing.assert_allclose(motion["rail.displacement"], expected, atol=1e-5)


def test_friction_that_is_rounded_off_holds():
    motion = rubbing(Rounded, 2.0)
    assert motion["rail.displacement"][-1] == pytest.approx(-0.1, abs=1e-2)
