"""Twists, wrenches, momenta and inertias: transport, products, screws, and the motion of free bodies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import mse
from mse import Dyad, ModelError, Momentum, Pose, SpatialInertia, Twist, Wrench

PARTS = {Twist: ("linear", "angular"), Wrench: ("force", "torque"), Momentum: ("linear", "angular")}
KINDS = tuple(PARTS)


def random_pose(rng) -> Pose:
    return Pose(rng.normal(size=3), Rotation.random(rng=rng).as_matrix())


def random_motor(kind, rng, *shape):
    return kind(**dict(zip(PARTS[kind], rng.normal(size=(2, *shape, 3)), strict=True)))


def random_inertia(rng) -> SpatialInertia:
    a = rng.normal(size=(3, 3))
    return SpatialInertia(mass=2.0, center=rng.normal(size=3), inertia=a @ a.T + np.eye(3))


# -- fields -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(), (4,)])
def test_a_field_seen_from_elsewhere_is_the_same_field(kind, shape):
    rng = np.random.default_rng(1)
    p, x, r = random_pose(rng), random_motor(kind, rng, *shape), rng.normal(size=3)
    np.testing.assert_allclose((p @ x).at(p.apply(r)), x.at(r) @ p.U.T, atol=1e-13)
    np.testing.assert_allclose((p.inverse() @ (p @ x)).vector, x.vector, atol=1e-13)


def test_the_twist_of_a_body_gives_the_velocities_of_its_points():
    rng = np.random.default_rng(2)
    twist, point, h = random_motor(Twist, rng), rng.normal(size=3), 1e-4
    ahead, behind = (twist.exp(t).apply(point) for t in (h, -h))
    np.testing.assert_allclose((ahead - behind) / (2 * h), twist.at(point), atol=1e-7)


@pytest.mark.parametrize("kind", [Wrench, Momentum])
def test_a_force_at_an_arm_is_a_torque(kind):
    first, second = PARTS[kind]
    x = Pose.dx(3.0) @ kind(**{first: (0, 0, 2)})
    np.testing.assert_array_equal(getattr(x, first), [0, 0, 2])
    np.testing.assert_array_equal(getattr(x, second), [0, -6, 0])  # r x f, manual eq. 37
    np.testing.assert_array_equal(x.at((3.0, 0, 0)), 0.0)
    np.testing.assert_array_equal(x.vector, [0, 0, 2, 0, -6, 0])


# -- products -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [Wrench, Momentum])
def test_power_does_not_depend_on_the_frame(kind):
    rng = np.random.default_rng(3)
    p, twist, x = random_pose(rng), random_motor(Twist, rng), random_motor(kind, rng)
    assert (p @ x) @ (p @ twist) == pytest.approx(x.vector @ twist.vector, rel=1e-12)
    assert twist @ x == x @ twist


@pytest.mark.parametrize("kind", KINDS)
def test_the_cross_product_is_the_rate_of_what_moves_along(kind):
    rng = np.random.default_rng(4)
    twist, x, h = random_motor(Twist, rng), random_motor(kind, rng), 1e-5
    rate = ((twist.exp(h) @ x).vector - (twist.exp(-h) @ x).vector) / (2 * h)
    np.testing.assert_allclose(twist.cross(x).vector, rate, atol=1e-8)


def test_cross_products_obey_jacobi_and_lie_in_the_triple_product():
    rng = np.random.default_rng(5)
    a, b, c = (random_motor(Twist, rng) for _ in range(3))
    around = a.cross(b.cross(c)) + b.cross(c.cross(a)) + c.cross(a.cross(b))
    np.testing.assert_allclose(around.vector, 0.0, atol=1e-13)
    f = random_motor(Wrench, rng)
    assert f @ a.cross(b) == pytest.approx(-(a.cross(f) @ b), rel=1e-12)


def test_sums_scale_and_histories_are_motors():
    rng = np.random.default_rng(6)
    x, y = random_motor(Momentum, rng, 5), random_motor(Momentum, rng, 5)
    np.testing.assert_allclose((2.0 * x - y / 4.0).vector, 2.0 * x.vector - y.vector / 4.0, atol=1e-15)
    times = np.arange(5.0)
    np.testing.assert_allclose((times * x).vector, times[:, None] * x.vector)
    np.testing.assert_allclose((-x).vector, -x.vector)
    assert repr(x) == "Momentum(5 of them)"
    assert (x @ random_motor(Twist, rng, 5)).shape == (5,)


# -- screws -------------------------------------------------------------------------------------------------------
def test_a_screw_has_the_axis_and_the_pitch_that_it_was_made_of():
    rng = np.random.default_rng(7)
    point, direction = rng.normal(size=(2, 3))
    twist = Twist.screw(point, direction, rate=3.0, pitch=0.4)
    at, along = twist.axis
    np.testing.assert_allclose(along, direction / np.linalg.norm(direction), atol=1e-14)
    np.testing.assert_allclose(np.cross(at - point, along), 0.0, atol=1e-14)
    assert twist.pitch == pytest.approx(0.4, rel=1e-13)
    np.testing.assert_allclose(twist.at(point), 0.4 * twist.angular, atol=1e-14)


def test_a_line_of_force_is_where_it_has_no_torque():
    wrench = Wrench.line((1.0, 2.0, 3.0), (0.0, -1.0, 4.0))
    np.testing.assert_allclose(wrench.at(np.array([1.0, 2.0, 3.0]) + 5.0 * wrench.force), 0.0, atol=1e-13)
    assert wrench.pitch == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 1.0, 3.0, 3.141592])
def test_exponential_is_that_of_the_matrix_and_log_inverts_it(angle):
    rng = np.random.default_rng(8)
    n = rng.normal(size=3)
    twist = Twist(linear=rng.normal(size=3), angular=angle * n / np.linalg.norm(n))
    generator = np.zeros((4, 4))
    generator[:3, :3] = np.cross(np.eye(3), twist.angular)  # rows e_i x w: [w]x transposed twice
    generator[:3, 3] = twist.linear
    exact, pose = expm(generator), twist.exp()
    np.testing.assert_allclose(pose.U, exact[:3, :3], atol=1e-13)
    np.testing.assert_allclose(pose.o, exact[:3, 3], atol=1e-13)
    np.testing.assert_allclose(Twist.log(pose).vector, twist.vector, atol=1e-8 if angle > 3.1 else 1e-13)
    turns = twist.exp(7.0)  # more than a turn
    np.testing.assert_allclose(turns.o, expm(7.0 * generator)[:3, 3], atol=1e-12)


def test_the_screw_between_two_lines_takes_one_to_the_other():
    rng = np.random.default_rng(9)
    for _ in range(20):
        p, u, q, v = rng.normal(size=(4, 3))
        there = Twist.between_lines((p, u), (q, v)).exp()
        u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
        np.testing.assert_allclose(np.abs((there.U @ u) @ v), 1.0, atol=1e-13)
        np.testing.assert_allclose(np.cross(there.apply(p) - q, v), 0.0, atol=1e-11)
        assert np.linalg.norm(Twist.log(there).angular) <= np.pi / 2 + 1e-12


def test_parallel_lines_are_shifted_and_those_that_meet_are_turned():
    shift = Twist.between_lines(((0, 0, 5), (0, 0, 1)), ((2, 0, -3), (0, 0, -2)))
    np.testing.assert_allclose(shift.vector, [2, 0, 0, 0, 0, 0], atol=1e-15)
    turn = Twist.between_lines(((1, 0, 0), (1, 0, 0)), ((1, 0, 0), (0, 1, 0)))
    np.testing.assert_allclose(turn.angular, [0, 0, np.pi / 2], atol=1e-15)
    np.testing.assert_allclose(turn.at((1, 0, 0)), 0.0, atol=1e-15)


# -- inertia ------------------------------------------------------------------------------------------------------
def test_momentum_and_energy_are_sums_over_points():
    rng = np.random.default_rng(10)
    masses, points = rng.uniform(1, 2, size=12), rng.normal(size=(12, 3))
    whole = SpatialInertia(mass=masses[0], center=points[0])
    for m, r in zip(masses[1:], points[1:], strict=True):
        whole = whole + SpatialInertia(mass=m, center=r)
    twist = random_motor(Twist, rng)
    v = np.array([twist.at(r) for r in points])
    momentum = whole @ twist
    np.testing.assert_allclose(momentum.linear, masses @ v, atol=1e-12)
    np.testing.assert_allclose(momentum.angular, (masses[:, None] * np.cross(points, v)).sum(axis=0), atol=1e-12)
    assert whole.energy(twist) == pytest.approx(0.5 * masses @ (v**2).sum(axis=1), rel=1e-12)
    about = sum(m * ((r @ r) * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points, strict=True))
    np.testing.assert_allclose(whole.at((0, 0, 0)), about, atol=1e-12)


def test_energy_does_not_depend_on_the_frame():
    rng = np.random.default_rng(11)
    p, inertia, twist = random_pose(rng), random_inertia(rng), random_motor(Twist, rng)
    assert (p @ inertia).energy(p @ twist) == pytest.approx(inertia.energy(twist), rel=1e-12)


def test_the_acceleration_is_the_rate_of_a_twist_whose_momentum_follows_the_wrench():
    """In axes at rest, through which the body moves."""
    rng = np.random.default_rng(12)
    inertia, twist, wrench, h = random_inertia(rng), random_motor(Twist, rng), random_motor(Wrench, rng), 1e-5
    rate = inertia.acceleration(twist, wrench)

    def momentum(t):
        return ((twist.exp(t) @ inertia) @ (twist + rate * t)).vector

    np.testing.assert_allclose((momentum(h) - momentum(-h)) / (2 * h), wrench.vector, atol=1e-7)


def test_a_free_body_keeps_its_momentum():
    """In axes of the body, Euler's equations: compared with a motion of the whole program."""
    j, spin = np.diag([0.01, 0.02, 0.03]), np.array([0.02, 5.0, 0.03])
    body = SpatialInertia(mass=1.0, inertia=j)

    def slope(t, w):
        return body.acceleration(Twist(angular=w), Wrench()).angular

    w = solve_ivp(slope, (0, 2.0), spin, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    system = mse.MSystem("free", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=j, at=Pose.dx(0.5)))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    motion = system.simulate(duration=2.0, dt=1.0, initial={"body'": [0, 3.0, 0, *spin]}, rtol=1e-10)
    end = motion.at(2.0)
    pose = end.poses["body.center"]
    np.testing.assert_allclose((pose.inverse() @ end.twist("body.center")).angular, w, atol=1e-6)
    assert end.momentum().vector == pytest.approx(end.momentum("body").vector)
    placed = pose @ system["body"].spatial_inertia
    np.testing.assert_allclose((placed @ end.twist("body.center")).vector, end.momentum("body").vector, atol=1e-12)
    np.testing.assert_allclose(motion.momentum.angular, [j @ spin + [0, 0, 0.5 * 3.0]] * 3, atol=1e-7)
    with pytest.raises(mse.UnknownNameError, match="no object with mass 'bodi'"):
        end.momentum("bodi")


# -- dyads --------------------------------------------------------------------------------------------------------
def test_a_stiffness_seen_from_elsewhere_gives_the_same_force():
    rng = np.random.default_rng(13)
    a, p, twist = rng.normal(size=(6, 6)), random_pose(rng), random_motor(Twist, rng)
    stiffness = Dyad(a @ a.T + np.eye(6), takes=Twist, gives=Wrench)
    np.testing.assert_allclose(((p @ stiffness) @ (p @ twist)).vector, (p @ (stiffness @ twist)).vector, atol=1e-11)
    np.testing.assert_allclose((p @ stiffness).matrix, (p @ stiffness).matrix.T, atol=1e-11)
    back = stiffness.inverse() @ (stiffness @ twist)
    np.testing.assert_allclose(back.vector, twist.vector, atol=1e-10)
    np.testing.assert_allclose((stiffness.inverse() @ stiffness).matrix, np.eye(6), atol=1e-10)
    np.testing.assert_allclose((stiffness + stiffness).matrix, 2.0 * stiffness.matrix)


# -- bad input ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: Twist() + Wrench(), "what is added to it is Wrench.*expected a Twist"),
        (lambda: Wrench() - Momentum(), "expected a Wrench"),
        (lambda: Twist() @ Twist(), "Twist @ Twist: these have no product"),
        (lambda: Wrench() @ Momentum(), "these have no product"),
        (lambda: Pose() @ Pose().o, "matmul|unsupported"),
        (lambda: Twist(linear=np.zeros((3, 3)), angular=np.zeros((4, 3))), "expected one length"),
        (lambda: Twist(linear=(1, 2)), "expected"),
        (lambda: Wrench(torque=(0, 0, 1)).axis, "its force part is zero"),
        (lambda: Twist.screw((0, 0, 0), (0, 0, 0)), "expected a vector that is not zero"),
        (lambda: Twist(linear=np.zeros((3, 3))).exp(), "expected one"),
        (lambda: SpatialInertia(mass=-1.0), "mass"),
        (lambda: SpatialInertia(mass=1.0, inertia=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
        (lambda: SpatialInertia(mass=1.0).acceleration(Twist(), Wrench()), "have no inverse"),
        (lambda: SpatialInertia(mass=1.0) @ Wrench(), "a Twist"),
        (lambda: Dyad(np.eye(6), takes=Twist, gives=Wrench) @ Wrench(), "expected a Twist"),
        (lambda: Dyad(np.eye(6), takes=Twist, gives=Pose), "gives is"),
        (lambda: Dyad(np.zeros((6, 6)), takes=Twist, gives=Wrench).inverse(), "singular"),
        (
            lambda: Dyad(np.eye(6), takes=Twist, gives=Wrench) + Dyad(np.eye(6), takes=Wrench, gives=Twist),
            "expected the same kinds",
        ),
    ],
)
def test_kinds_that_do_not_fit_are_refused(wrong, words):
    with pytest.raises((ModelError, TypeError, ValueError), match=words):
        wrong()


def test_what_moves_as_one_goes_by_its_name():
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    ends = {"top": Pose.dz(0.3), "low": Pose.dz(-0.3)}
    bob = system.add(mse.RigidBody("bob", mass=1.0, inertia=0.01, at=Pose.dz(-0.3), frames=ends))
    system.add(mse.Revolute("hinge", axis=(0, 1, 0)), between=(bob.frame("top"), system.ground))
    system.add(mse.Spring("spring", length=0.3, stiffness=1.0), between=(bob.frame("low"), system.ground))
    now = system.simulate(duration=0.1, dt=0.1, initial={"hinge.angle'": 2.0}, rtol=1e-6).at(0.0)
    for name in ("bob", "bob.low", "bob.top"):
        np.testing.assert_allclose(now.twist(name).vector, [0, 0, 0, 0, 2.0, 0], atol=1e-12)
    np.testing.assert_allclose(now.twist("bob").at((0, 0, -0.6)), now.velocities["bob.low"][:3], atol=1e-12)
    with pytest.raises(
        ModelError, match="'spring' does not move as one; expected a rigid object, or a frame such as 'spr"
    ):
        now.twist("spring")
    with pytest.raises(mse.UnknownNameError, match="no object or frame 'bop'.*bob"):
        now.twist("bop")
