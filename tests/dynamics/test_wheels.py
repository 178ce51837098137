"""Rolling wheels in large motions, steady ones, and small motions about them."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mse
from example_scripts import example
from mse import Pose
from mse.kernels.rotations import inverse_left_jacobian

R = 0.5
THIN = (R * R / 4, R * R / 2, R * R / 4)


def wheel(at):
    """A thin disc of 1 kg with its axis along y, on a plane."""
    system = mse.MSystem("wheel", gravity=(0, 0, -9.81))
    body = system.add(mse.RigidBody("wheel", mass=1.0, inertia=THIN, at=at))
    system.add(mse.Joint("free", free=("x", "y", "z", "ax", "ay", "az")), between=(body, system.ground))
    system.add(mse.RollingDisc("disc", axis=(0, 1, 0), radius=R), between=(body, system.ground))
    return system


def leaning(rtol, duration):
    """Let go at yaw .2, lean .1 with rates of yaw .1, lean -.05, spin 6."""
    pose = Pose.rz(0.2) @ Pose.rx(0.1)
    u, heading = pose.U, Pose.rz(0.2).U[:, 0]
    low = -R * Pose.rz(0.2).U @ [0, -np.sin(0.1), np.cos(0.1)]
    w = np.array([0, 0, 0.1]) - 0.05 * heading + 6.0 * u[:, 1]
    rates = inverse_left_jacobian(Rotation.from_matrix(u).as_rotvec()) @ w
    initial = {f"free.{name}'": float(x) for name, x in zip(("ax", "ay", "az"), rates, strict=True)}
    system = wheel(Pose(-low, u))
    return system.simulate(duration=duration, dt=duration, initial=initial, rtol=rtol, outputs=[])


@pytest.mark.slow
def test_a_thin_disc_rolls_and_wobbles():
    motion = leaning(1e-9, 10.0)
    o, u = (x[-1] for x in motion.poses("wheel.center"))
    axis = u[:, 1]
    assert np.arctan2(-axis[0], axis[1]) == pytest.approx(-2.6651449446, abs=1e-7)
    assert np.arcsin(axis[2]) == pytest.approx(0.1634313017, abs=1e-7)
    np.testing.assert_allclose(o, [6.8413519636, -19.5712296500, 0.4933374020], atol=1e-7)
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-7


def test_the_point_that_touches_does_not_slip_and_carries_the_weight():
    motion = leaning(1e-8, 0.2)
    now = motion.at(0.1)
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-7
    o, u, v = now.poses["wheel.center"].o, now.poses["wheel.center"].U, now.velocities["wheel.center"]
    axis = u[:, 1]
    low = -(np.array([0, 0, 1.0]) - axis[2] * axis)
    low *= R / np.linalg.norm(low)
    np.testing.assert_allclose(v[:3] + np.cross(v[3:], low), 0.0, atol=1e-12)
    assert o[2] + low[2] == pytest.approx(0.0, abs=1e-12)
    h = 1e-3
    before, after = (motion.at(0.1 + s * h).velocities["wheel.center"][:3] for s in (-1, 1))
    force = (after - before) / (2 * h) + [0, 0, 9.81]  # of the plane on the disc
    np.testing.assert_allclose(now.reactions["disc"], -force, atol=1e-4)


def test_straight_rolling_is_stable_above_a_speed():
    trace = wheel(Pose.dz(R)).find_steady_motion({"free.x": 1.0}).trace("free.x'", 1.5, points=1)
    assert trace.limits == pytest.approx((R * 2.5573423706,), abs=1e-9)


def test_a_disc_rolls_in_a_circle():
    """Lean .3 and a yaw rate of 2: it spins at -2.5155927502, and nods at .17218435 rad/s."""
    lean, spin = 0.3, 2.5155927502
    system = mse.MSystem("circle", gravity=(0, 0, -9.81))
    at = Pose((spin * R / 2.0 - R * np.sin(lean), 0, R * np.cos(lean))) @ Pose.ry(-lean)
    turning = system.add(mse.RigidBody("turning", mass=0.0))
    hub = system.add(mse.RigidBody("hub", mass=0.0, at=at))
    body = system.add(mse.RigidBody("wheel", mass=1.0, inertia=(R * R / 2, R * R / 4, R * R / 4), at=at))
    system.add(mse.Revolute("turn"), between=(turning, system.ground))
    system.add(mse.Joint("place", free=("x", "z", "ay", "az")), between=(hub, turning))
    system.add(mse.Revolute("spin", axis=(1, 0, 0)), between=(body, hub))
    system.add(mse.RollingDisc("disc", axis=(1, 0, 0), radius=R), between=(body, system.ground))
    steady = system.find_steady_motion({"turn.angle": 2.0})
    assert steady.joint_coordinates["place.ay"] == pytest.approx(-lean, abs=1e-8)
    assert "-2.515592" in repr(steady)
    found = steady.linearize().modes(damped=True).eigenvalues
    assert np.abs(found - 0.17218435j).min() < 1e-7
    assert steady.reactions["disc"][2] == pytest.approx(-9.81, rel=1e-9)
    assert steady.stable


def circling(drawn):
    """A disc that leans by .3 in a circle, with a yaw rate of 2, drawn at some share of the radius."""
    lean, spin = 0.3, -2.5155927502
    system = mse.MSystem("circle", gravity=(0, 0, -9.81))
    at = Pose.dxdydz(0, drawn * (-spin * R / 2.0 - R * np.sin(lean)), R)
    names = ("arm", "carriage", "fork")
    arm, carriage, fork = (system.add(mse.RigidBody(n, mass=0.0, at=Pose() if n == "arm" else at)) for n in names)
    body = system.add(mse.RigidBody("wheel", mass=1.0, inertia=THIN, at=at))
    system.add(mse.Revolute("yaw"), between=(arm, system.ground))
    system.add(mse.Joint("place", free=("x", "y", "z")), between=(carriage, arm))
    system.add(mse.Revolute("lean", axis=(1, 0, 0)), between=(fork, carriage))
    system.add(mse.Revolute("spin", axis=(0, 1, 0)), between=(body, fork))
    system.add(mse.RollingDisc("disc", axis=(0, 1, 0), radius=R), between=(body, system.ground))
    given = {"initial": {"lean.angle": lean}, "free": ["spin.angle"]}
    return system.find_steady_motion({"yaw.angle": 2.0, "spin.angle": spin}, **given)


def test_a_disc_in_a_circle_whose_spin_is_found_is_stable():
    """Its four motions at zero are two by two one eigenvector; rounding split them to +-3.3e-5."""
    found = circling(1.0)
    assert found.rates["spin.angle"] == pytest.approx(-2.5155927502, abs=1e-9)
    s = found.linearize().modes(damped=True).eigenvalues
    assert np.count_nonzero(s == 0.0) == 4 and np.abs(s - 0.17218435j).min() < 1e-7
    assert found.stable


def test_a_disc_that_is_drawn_off_its_circle_is_told_what_goes():
    """Its center is .0048 m farther out than rolling at a yaw rate of 2 lets it be."""
    with pytest.raises(
        mse.ModelError, match=r"rolling makes others go there, place.x' = 0.0096.: begin where those rest"
    ):
        circling(1.01)


def test_a_ball_on_a_turntable_goes_in_circles():
    """It circles at 2/7 of the turntable's rate, wherever it began (Pars, A Treatise on Analytical Dynamics, 1965, 8.12)."""
    system = mse.MSystem("table", gravity=(0, 0, -9.81))
    table = system.add(mse.RigidBody("table", mass=1.0, inertia=1e6))
    ball = system.add(mse.RigidBody("ball", mass=1.0, inertia=0.4 * 0.01, at=Pose((0.5, 0, 0.1))))
    system.add(mse.Revolute("turn"), between=(table, system.ground))
    system.add(mse.Joint("free", free=("x", "y", "z", "ax", "ay", "az")), between=(ball, system.ground))
    system.add(mse.RollingSphere("sphere", radius=0.1), between=(ball, table))
    motion = system.simulate(
        duration=1.0, dt=0.5, initial={"turn.angle'": 1.4, "free.x'": 0.1, "free.y'": 0.0}, rtol=1e-8, outputs=[]
    )
    v = motion.velocities("ball.center")[:, :2]
    turned = [np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) @ v[0] for a in 0.4 * motion.time]
    np.testing.assert_allclose(v, turned, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("speed", "expected"),
    [
        (0.0, [-5.53094372, -3.13164325, 3.13164325, 5.53094372]),
        (2.0, [-8.67387985, -3.07158646, 2.68234518 + 1.68066297j]),
        (5.0, [-14.07838969, -0.77534188 + 4.46486771j, -0.32286643]),
        (8.0, [-20.27940894, -2.69348684 + 8.46037971j, 0.1432788]),
    ],
)
def test_a_bicycle_at_some_speeds(speed, expected):
    model = example("bicycle").build().find_steady_motion({"pose.x": speed}).linearize()
    found = model.modes(damped=True).eigenvalues
    np.testing.assert_allclose(np.sort_complex(found[np.abs(found) > 1e-6]), expected, atol=1e-8)


@pytest.mark.slow
def test_a_bicycle_weaves_and_capsizes():
    weave, capsize = example("bicycle").trace.limits
    assert weave == pytest.approx(4.292382536, abs=1e-6)
    assert capsize == pytest.approx(6.024262015, abs=2e-5)
