"""Laws that are records, rolling wheels and gears in compiled steps of bodies; test_bodies.py compares them with numpy."""

import numpy as np
import pytest
import textbook as book
from lawful import Cubic, Pair, Stop, geared, pendulum
from scipy.integrate import solve_ivp

import mse
from mse import Pose
from mse.dynamics import explicit
from mse.dynamics.accelerations import Equations
from mse.dynamics.bodies import Bodies
from mse.elements.parameters import Real
from mse.model.variants import prepared


def bodies_of(system):
    return Bodies.of(Equations(*prepared(system, None)))


@pytest.fixture
def in_numpy(monkeypatch):
    """The states at which steps begin that numpy makes."""
    begins, chart = [], explicit.Chart
    monkeypatch.setattr(explicit, "Chart", lambda *of: (begins.append(of[1]), chart(*of))[1])
    return begins


def test_a_gear_couples_angles_through_many_turns():
    """``1.5 a - 0.7 b = 0.1``, with ratios that no number of whole turns has in common."""
    system = geared((1.5, -0.7), offset=0.1)
    motion = system.simulate(duration=3.0, dt=0.1, initial={"hinge1.angle'": 12.0}, rtol=1e-9)
    assert motion["hinge2.angle"][-1] > 30.0
    np.testing.assert_allclose(1.5 * motion["hinge1.angle"] - 0.7 * motion["hinge2.angle"], 0.1, atol=1e-11)
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-6


def test_wheels_in_mesh_are_a_pendulum_with_the_inertia_of_both():
    """``(J1 + n^2 J2) a'' = -k a``, with a = cos(w t)."""
    system = mse.MSystem("drive", gravity=(0, 0, 0))
    for name, inertia, stiffness in (("arm", 0.1, 10.0), ("motor", 0.001, 0.0)):
        hinge = mse.Revolute(f"{name}_hinge", stiffness=stiffness)
        system.add(hinge, between=(system.add(mse.RigidBody(name, mass=1.0, inertia=inertia)), system.ground))
    system.add(mse.Gear("gear", joints={"motor_hinge": 1.0, "arm_hinge": -5.0}))
    motion = system.simulate(duration=5.0, dt=0.1, initial={"arm_hinge.angle": 1.0, "motor_hinge.angle": 5.0})
    np.testing.assert_allclose(motion["arm_hinge.angle"], np.cos(np.sqrt(10.0 / 0.125) * motion.time), atol=1e-7)


def test_two_gears_lock_two_slides_that_carry_each_other(in_numpy):
    """Each holds the lower slide, too, so that none depends on the other."""
    system = mse.MSystem("locked", gravity=(0, 0, -9.81))
    low, high = (system.add(mse.RigidBody(name, mass=1.0, inertia=0.1)) for name in ("low", "high"))
    system.add(mse.Prismatic("slide1"), between=(low, system.ground))
    system.add(mse.Prismatic("slide2", axis=(0.3, 0.2, 1.0)), between=(high, low))
    for name, ratio in (("gear1", -2.0), ("gear2", 0.5)):
        system.add(mse.Gear(name, joints={"slide1": 1.0, "slide2": ratio}))
    motion = system.simulate(duration=1.0, dt=0.1)
    assert not in_numpy
    for name in ("slide1", "slide2"):
        np.testing.assert_allclose(motion[f"{name}.displacement"], 0.0, atol=1e-12)


def test_numpy_makes_the_steps_in_which_a_law_goes_another_way(in_numpy, monkeypatch):
    """Two stops of other strengths, which are touched at other times."""
    given = {"duration": 3.0, "dt": 0.1, "initial": {"body'": (0.0, 3.0, 0.0, 6.0, 0.0, 1.0)}, "rtol": 1e-9}
    system = pendulum(Stop("one"))
    stop = system.add(Stop("two", strength=0.5))
    system.clamp(system["body"].frame("low"), stop.frame("a"), Pose.dz(-0.05))
    system.clamp(system.ground, stop.frame("b"))
    motion = system.simulate(**given)
    assert 3 < len(in_numpy) < motion.steps / 2
    monkeypatch.setattr(Bodies, "of", lambda equations: None)
    numpy = system.simulate(**given)
    found, exact = (m.poses("body.center")[0] for m in (motion, numpy))
    np.testing.assert_allclose(found, exact, atol=1e-6)
    assert np.ptp(exact[:, 2]) > 0.3


def test_what_has_no_record_is_asked_in_python():
    class Counting(Cubic):
        def energy(self, frames, q):
            self.asked = getattr(self, "asked", 0) + 1
            return super().energy(frames, q)

    compiled = bodies_of(pendulum(Counting("it")))
    assert not compiled.alone and compiled.shares.in_python
    differing = type("Own", (Cubic,), {"differentiation": "differences"})
    assert not bodies_of(pendulum(differing("it"))).alone


def test_own_masses_are_left_to_numpy():
    class Heavy(Pair):
        def kinetic(self, frames, q, v):
            return 0.5 * self.strength * (frames[0].v @ frames[0].v)

    assert bodies_of(pendulum(Heavy("it"))) is None


def test_a_planetary_gear_divides_speed_by_its_ratio_and_power_by_speeds(in_numpy):
    """Sun s, ring (the ground), planets p on carrier c: ``20 s' = (20 + 60) c'``; reduced inertia, and torques by power.

    The planet turns on the carrier: gears between planet and sun, and planet and ground, are on three bodies and on two.
    """
    system = mse.MSystem("planetary", gravity=(0, 0, -9.81))
    sun = system.add(mse.RigidBody("sun", mass=1.0, inertia=2e-3))
    carrier = system.add(mse.RigidBody("carrier", mass=2.0, inertia=0.02))
    planet = system.add(mse.RigidBody("planet", mass=0.5, inertia=1e-3, at=Pose.dx(0.2)))
    system.add(mse.Revolute("sun_hinge", axis=(0, 0, 1), motor="force"), between=(sun, system.ground))
    system.add(mse.Revolute("carrier_hinge", axis=(0, 0, 1)), between=(carrier, system.ground))
    system.add(mse.Revolute("planet_hinge", axis=(0, 0, 1)), between=(planet, carrier @ Pose.dx(0.2)))
    # seen from the carrier, the sun of 20 teeth, the planet of 20 and the ring of 60 turn by -c + s, p and -c
    system.add(mse.Gear("inner", joints={"sun_hinge": 20.0, "carrier_hinge": -20.0, "planet_hinge": 20.0}))
    system.add(mse.Gear("outer", joints={"planet_hinge": 20.0, "carrier_hinge": 60.0}))
    motion = system.simulate(duration=2.0, dt=0.1, inputs={"sun_hinge.torque": 0.3}, rtol=1e-9)
    assert not in_numpy
    # rates by that of the carrier: sun 4, planet -3 on it, so -2 in space
    inertia = 16 * 2e-3 + 0.02 + 4 * 1e-3 + 0.5 * 0.2**2
    np.testing.assert_allclose(motion["carrier_hinge.angle"], 0.5 * 4 * 0.3 / inertia * motion.time**2, rtol=1e-8)
    np.testing.assert_allclose(motion["sun_hinge.angle"], 4.0 * motion["carrier_hinge.angle"], atol=1e-9)


def test_a_law_without_a_slope_at_rest_damps_nothing_there(in_numpy):
    """``|v|`` has no slope at rest: bodies that start at rest fall as if nothing damped them, and are damped then."""

    class Friction(Pair):
        def dissipation(self, frames, q, v):
            slip = frames[0].v - frames[1].v
            return 0.5 * np.sqrt(slip @ slip)

    system = mse.MSystem("falling", gravity=(0, 0, -9.81))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.1))
    system.add(mse.Prismatic("slide", axis=(0, 0, 1)), between=(body, system.ground))
    system.add(Friction("air"), between=(body, system.ground))
    motion = system.simulate(duration=1.0, dt=1.0, method="explicit")
    assert motion["slide.displacement"][-1] == pytest.approx(-0.5 * (9.81 - 0.5), abs=1e-6)
    assert not in_numpy


def test_a_weight_of_ones_own_is_that_of_bodies():
    class Weight(mse.MObject):
        frame_names = ("a",)
        mass: Real = Real("mass", default=1.0)

        def energy(self, frames, q):
            return self.mass * 9.81 * frames[0].o[2]

    one, own = book.double_pendulum(), book.double_pendulum()
    one.gravity, own.gravity = (0, 0, -9.81), (0, 0, 0)
    for name in ("upper", "lower"):
        own.add(Weight(f"weight_of_{name}", mass=own[name].mass), between=(own[name],))
    given = {"duration": 2.0, "dt": 0.1, "rtol": 1e-10, "initial": {"one.angle": 1.0}}
    one, two = (s.simulate(**given)["two.angle"] for s in (one, own))
    np.testing.assert_allclose(one, two, atol=1e-8)


@pytest.mark.parametrize("method", [None, "explicit", "implicit"])
def test_drag_without_a_slope_formula_at_rest_begins_at_rest(method):
    """``v |v| v`` of ``|v|^3/3``: ``x'' = -100 x - x'|x'|`` from 0.1 m, against a solution by scipy."""

    class Cube(mse.MObject):
        frame_names = ("0",)

        def dissipation(self, frames, q, v):
            return np.linalg.norm(frames[0].v) ** 3 / 3.0

    system = mse.MSystem("air", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.01))
    system.add(mse.Prismatic("slide", axis=(1, 0, 0), stiffness=100.0), between=(body, system.ground))
    system.add(Cube("drag"), between=(body,))
    given = {"duration": 1.0, "dt": 0.1, "initial": {"slide.displacement": 0.1}, "method": method, "progress": False}
    found = system.simulate(**given)
    given = {"method": "DOP853", "t_eval": found.time, "rtol": 1e-12, "atol": 1e-14}
    exact = solve_ivp(lambda t, y: [y[1], -100.0 * y[0] - y[1] * abs(y[1])], (0.0, 1.0), [0.1, 0.0], **given)
    np.testing.assert_allclose(found["slide.displacement"], exact.y[0], atol=1e-8)
