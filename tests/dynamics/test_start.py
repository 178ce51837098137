"""Consistent beginnings of motions: given coordinates and rates hold exactly, others change as little as joints let them."""

import numpy as np
import pytest
import textbook as book
from scipy.integrate import solve_ivp

import mse
from mse import ModelError, Pose
from mse.dynamics import start
from test_heat import warming_ring


def first(system, **given):
    return system.simulate(duration=1e-3, dt=1e-3, rtol=1e-4, **given)


def test_coordinates_not_named_keep_their_values_in_a_chain():
    found = first(book.double_pendulum(), initial={"one.angle": 2.5})
    assert found["one.angle"][0] == pytest.approx(2.5, abs=1e-14)
    assert found["two.angle"][0] == pytest.approx(0.0, abs=1e-9)


def test_angles_beyond_a_whole_turn_are_reached():
    found = first(book.double_pendulum(), initial={"one.angle": 8.0, "two.angle": -7.0})
    np.testing.assert_allclose([found["one.angle"][0], found["two.angle"][0]], [8.0, -7.0], atol=1e-13)


def test_loops_follow_the_coordinates_that_are_given():
    found = first(book.four_bars(2), initial={"low1.angle": 0.7})
    for name in ("low0.angle", "low2.angle"):
        assert found[name][0] == pytest.approx(0.7, abs=1e-12)
    assert found.largest_residual < 1e-14


def test_rates_that_are_not_named_have_the_least_kinetic_energy():
    found = first(book.double_pendulum(), initial={"one.angle'": 1.0})
    # the lower point stays where it is, as the rods are in line
    assert found.velocities("lower.center")[0, 0] == pytest.approx(0.0, abs=1e-13)
    assert found["two.angle'"][0] == pytest.approx(-1.0 - 1.0 / 0.7, abs=1e-12)


def test_a_working_point_is_a_start_at_rest():
    system = book.trolley()
    found = first(system, start=system.find_working_point())
    assert np.abs(found.velocities("cart.center")).max() < 1e-12


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_how_far_coordinates_are_brought_at_once_decides_nothing(monkeypatch, factor):
    monkeypatch.setattr(start, "_AT_ONCE", factor * start._AT_ONCE)
    test_angles_beyond_a_whole_turn_are_reached()
    test_loops_follow_the_coordinates_that_are_given()


@pytest.mark.parametrize("factor", [1e-2, 1e2])
@pytest.mark.parametrize("name", ["_UNIQUE", "CLOSE"])
def test_weights_and_tolerances_have_a_margin(monkeypatch, name, factor):
    monkeypatch.setattr(start, name, factor * getattr(start, name))
    test_coordinates_not_named_keep_their_values_in_a_chain()
    test_loops_follow_the_coordinates_that_are_given()
    test_rates_that_are_not_named_have_the_least_kinetic_energy()


# -- poses and velocities of bodies -------------------------------------------------------------------------------
def floating():
    """A body on a joint that holds nothing, and one that hangs from it on a ball joint."""
    system = mse.MSystem("pair", gravity=(0, 0, 0))
    one = mse.RigidBody("one", mass=1.0, inertia=(0.1, 0.2, 0.15), at=Pose.dz(0.4), frames={"pin": Pose.dx(0.5)})
    one = system.add(one)
    two = mse.RigidBody(
        "two", mass=2.0, inertia=(0.3, 0.2, 0.1), at=Pose.dxdydz(1.2, 0, 0.4), frames={"pin": Pose.dx(-0.7)}
    )
    system.add(mse.Spherical("ball"), between=(system.add(two).frame("pin"), one.frame("pin")))
    system.add(mse.Joint("free", free=("x", "y", "z", "ax", "ay", "az")), between=(one, system.ground))
    return system


def test_a_body_begins_at_its_pose_with_its_velocity():
    pose, velocity = Pose.dxdydz(0.3, -2.0, 1.0) @ Pose.rotation((0.4, 1.9, -0.7)), (0.1, 0.2, -0.3, 1.0, 2.0, -3.0)
    found = first(floating(), initial={"one": pose, "one'": velocity, "ball.ax": 0.4, "ball.ax'": -1.0}).at(0.0)
    np.testing.assert_allclose(found.poses["one.center"].o, pose.o, atol=1e-13)
    np.testing.assert_allclose(found.poses["one.center"].U, pose.U, atol=1e-13)
    np.testing.assert_allclose(found.velocities["one.center"], velocity, atol=1e-13)
    assert found.joint_coordinates["ball.ax"] == pytest.approx(0.4, abs=1e-13)
    pin = pose @ Pose.dx(0.5)
    np.testing.assert_allclose(found.poses["two.pin"].o, pin.o, atol=1e-13)


def test_a_body_that_is_clamped_beside_another_begins_where_it_is_told():
    system = floating()
    tag = system.add(mse.RigidBody("tag", mass=0.1))
    system.clamp(system["one"].frame(0), tag.frame(0), Pose.dy(0.3))
    pose, velocity = Pose.dx(2.0) @ Pose.rotation((0.2, -0.5, 0.4)), (0.3, -0.1, 0.2, 1.0, 2.0, 3.0)
    found = first(system, initial={"tag": pose, "tag'": velocity}).at(0.0)
    np.testing.assert_allclose(found.poses["tag.center"].o, pose.o, atol=1e-13)
    np.testing.assert_allclose(found.velocities["tag.center"], velocity, atol=1e-13)
    across = np.cross(velocity[3:], found.poses["one.center"].o - pose.o)
    np.testing.assert_allclose(found.velocities["one.center"][:3], np.array(velocity[:3]) + across, atol=1e-13)


def test_the_pose_of_a_body_brings_joints_along():
    system = book.double_pendulum()
    pose = Pose.ry(-2.0) @ Pose.dz(-1.0)
    found = first(system, initial={"upper": pose, "lower'": (0, 0, 0, 0, 0.5, 0)})
    assert found["one.angle"][0] == pytest.approx(2.0, abs=1e-12)
    assert found.velocities("lower.center")[0, 4] == pytest.approx(0.5, abs=1e-13)


def test_poses_and_velocities_that_joints_contradict_are_refused_by_name():
    system = book.double_pendulum()
    with pytest.raises(ModelError, match=r"contradict the initial values: .*upper is .* m and .* rad from its pose"):
        first(system, initial={"upper": Pose.dz(-0.9)})
    with pytest.raises(ModelError, match=r"contradict the initial values: .*one\.angle is .* where 1 rad is given"):
        first(system, initial={"upper": Pose.ry(-2.0) @ Pose.dz(-1.0), "one.angle": 1.0})
    with pytest.raises(ModelError, match=r"tie the initial rates together: .*upper'\[1\] is .* where 1 m/s is given"):
        first(system, initial={"upper'": (0, 1.0, 0, 0, 0, 0)})


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ({"upper": 3.0}, r"initial 'upper' is 3\.0; expected a pose of the body, such as Pose\.dz"),
        ({"upper'": 3.0}, r"initial \"upper'\" has shape \(\); expected six finite numbers \(m/s, rad/s\)"),
        ({"uper": Pose()}, "did you mean 'upper'"),
    ],
)
def test_what_is_no_pose_or_velocity_is_refused(initial, message):
    with pytest.raises(mse.MseError, match=message):
        first(book.double_pendulum(), initial=initial)


def test_rates_that_a_knife_edge_forbids_name_it():
    class Knife(mse.MObject):
        frame_names = ("0",)

        def flow_constraint(self, frames, q, v):
            return frames[0].U[:, 1] @ frames[0].v

    system = mse.MSystem("sledge")
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=1.0))
    system.add(Knife("knife"), between=(body,))
    system.add(mse.Joint("free", free=("x", "y", "z", "ax", "ay", "az")), between=(body, system.ground))
    with pytest.raises(mse.ModelError, match=r"Knife 'knife' moves apart by 0\.5 a second"):
        system.simulate(duration=0.1, dt=0.05, initial={"free.y'": 1.0}, progress=False)


def twisted(length=None):
    """A body on a hinge along z, held a second time by another hinge on the same axis, and by a wire along it on demand."""
    s = mse.MSystem("twisted", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1, frames={"low": Pose.dz(-0.5)}))
    s.add(mse.Revolute("hinge"), between=(body, s.ground))
    s.add(mse.Revolute("again"), between=(s.ground, body))
    if length:
        wire = mse.Wire("wire", length=length, radius=1e-4, young_modulus=1e9, poisson_ratio=0.3)
        s.add(wire, between=(body.frame("low"), s.ground @ Pose.dz(-1.5)))
    return s


@pytest.mark.parametrize("angle", [1000.0, -1000.0, 7.0])
def test_many_turns_take_as_long_as_few(monkeypatch, angle):
    """Three ways: to the angle less its whole turns, one turn, and what is left of them, which needs none."""
    calls = []
    brought = start._brought
    monkeypatch.setattr(start, "_brought", lambda *given: calls.append(1) or brought(*given))
    found = first(twisted(), initial={"hinge.angle": angle})
    assert found["hinge.angle"][0] == pytest.approx(angle, rel=1e-12)
    assert found["again.angle"][0] == pytest.approx(-angle, rel=1e-12)
    assert len(calls) < 30


def test_what_winds_up_on_the_way_is_wound_up():
    """A wire that is twisted by 50 rad pulls back by its stiffness, as one that is turned there step by step."""
    s = twisted(1.0)
    motion = s.simulate(duration=1e-6, dt=1e-6, initial={"hinge.angle": 50.0}, outputs=["hinge.angle"], progress=False)
    stiffness = s["wire"].torsional_stiffness
    assert motion.energy["elastic"][0] == pytest.approx(0.5 * stiffness * 50.0**2, rel=1e-9)


def test_a_working_point_is_a_start_of_what_an_actuator_moves_from_there():
    """The actuator links both frames in the working point, where the driven body is no unit of its own."""
    s = mse.MSystem("driven", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1))
    s.add(mse.PositionActuator("drive"), between=(body, s.ground))
    found = first(s, start=s.find_working_point(progress=False), inputs={"drive.x": lambda t: 0.1 * np.sin(t)})
    assert found.at(1e-3).poses["body.center"].o[0] == pytest.approx(0.1 * np.sin(1e-3), abs=1e-12)
    assert found.velocities("body.center")[0, 0] == pytest.approx(0.1, rel=1e-9)


def test_stores_keep_what_they_have_where_resistors_can_give_way():
    """1 C on a capacitor: the other one, behind 1 ohm, stays empty whether that is said or not."""
    runs = []
    for initial in ({"c1.charge": 1.0}, {"c1.charge": 1.0, "c2.charge": 0.0}):
        system = mse.MSystem("two stores")
        for element in (
            mse.Capacitor("c1", capacitance=1.0), mse.Capacitor("c2", capacitance=2.0), mse.VoltageSource("u"),
            mse.Resistor("between", resistance=1.0), mse.Resistor("far", resistance=1e3),
        ):  # fmt: skip
            system.add(element)
        system.connect("c1.+", "between.+", "far.-")
        system.connect("between.-", "c2.+")
        system.connect("u.+", "far.+")
        system.connect("c1.-", "c2.-", "u.-", system.earth)
        runs.append(system.simulate(duration=1.0, dt=0.5, initial=initial))
    assert abs(runs[0]["c2.charge"][0]) < 1e-15
    np.testing.assert_allclose(runs[0]["c1.charge"], runs[1]["c1.charge"], rtol=1e-9)


@pytest.mark.parametrize("given", ["coil.charge'", "heater.charge'"])
def test_a_ring_that_warms_a_body_begins_with_a_current(given):
    """The entropy's rate, ``R i^2/T``, is not given: only the coil keeps a rate, all others follow it.  Against ``solve_ivp``."""
    system = warming_ring()
    motion = system.simulate(duration=0.003, dt=1e-3, initial={"capacitor.charge": 0.01, given: 0.3}, rtol=1e-9)
    (_, i, temperature) = solve_ivp(
        lambda t, y: (-y[1], (y[0] / 1e-4 - 5.0 * y[1]) / 0.01, 5.0 * y[1] ** 2 / 0.02),
        (0.0, 0.003),
        (0.01, 0.3, 300.0),
        t_eval=motion.time,
        rtol=1e-12,
        atol=1e-14,
    ).y
    np.testing.assert_allclose(motion["coil.current"], i, atol=1e-9)
    np.testing.assert_allclose(motion["body.temperature"], temperature, rtol=1e-9)
    with pytest.raises(mse.ModelError, match=r"initial \"body.entropy'\" is 0, where 0.0015 W/K follows"):
        system.simulate(duration=1e-3, dt=1e-3, initial={given: 0.3, "body.entropy'": 0.0})


@pytest.mark.parametrize("resistance", [1.3, 13.7])
def test_a_coil_beside_a_capacitor_begins_at_its_steady_current(resistance):
    system = mse.MSystem("loudspeaker", gravity=(0, 0, -9.81))
    cone = system.add(mse.RigidBody("cone", mass=0.3, inertia=1e-3))
    system.add(mse.Prismatic("guide", stiffness=300.0, damping=0.3), between=(cone, system.ground))
    coil = mse.VoiceCoil("coil", bl=3.0, resistance=3.0, inductance=4e-3)
    system.add(coil, between=(system.ground, cone))
    system.add(mse.VoltageSource("source", voltage=2.7))
    system.add(mse.Resistor("series", resistance=resistance))
    system.add(mse.Resistor("across", resistance=17.0))
    system.add(mse.Capacitor("capacitor", capacitance=3e-4))
    system.connect("source.+", "series.+")
    system.connect("series.-", "coil.+", "across.+", "capacitor.+")
    system.connect("source.-", "coil.-", "across.-", "capacitor.-", system.earth)
    point = system.find_working_point()
    asked = {"duration": 0.02, "inputs": {"source.voltage": lambda t: np.sin(200.0 * t)}, "progress": False}
    outputs = ["guide.displacement", "coil.current"]
    motion = system.simulate(start=point, dt=0.02, outputs=outputs, **asked)
    small = point.linearize().simulate(dt=2e-5, outputs=outputs, hold="foh", **asked)
    for name in outputs:  # its laws are linear
        change = small[name][-1] - small[name][0]
        assert motion[name][-1] - motion[name][0] == pytest.approx(change, rel=1e-5)


def test_a_torque_that_nothing_takes_is_refused():
    system = mse.MSystem("point", gravity=(0, 0, -9.81))
    point = system.add(mse.RigidBody("point", mass=1.0))
    system.add(mse.Spring("line", length=0.5, stiffness=100.0), between=(system.ground @ Pose.dz(0.5), point))
    system.add(mse.Load("twist", torque=(0, 0, 1.0)), between=(point,))
    with pytest.raises(mse.ModelError, match=r"1 N m acts on point\.az, which has no mass or inertia"):
        system.simulate(duration=0.1, dt=0.1, progress=False)


def stage(first):
    """A pendulum on a hinge of a plate on springs, which is the ``first`` object or a later one."""
    system = mse.MSystem("stage", gravity=(0, 0, -9.81))
    plate = mse.RigidBody("plate", mass=10.0, inertia=0.1)
    bob = mse.RigidBody("bob", mass=0.2, inertia=1e-3, at=Pose.dz(-0.15), frames={"top": Pose.dz(0.15)})
    for body in (plate, bob) if first else (bob, plate):
        system.add(body)
    mount = mse.Bushing("mount", stiffness=(1e5, 1e5, 1e5, 1e4, 1e4, 1e4))
    system.add(mount, between=(plate, system.ground))
    system.add(mse.Revolute("hinge", axis=(0, 1, 0)), between=(bob.frame("top"), plate))
    return system


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    "initial", [{"hinge.angle": 1.2}, {"bob": Pose.ry(1.2) @ Pose.dz(-0.15)}, {"hinge.angle": 7.0}]
)
def test_what_hangs_turns_and_what_it_hangs_on_stays(first, initial):
    motion = stage(first).simulate(duration=0.01, dt=0.01, initial=initial, progress=False)
    start = motion.at(0.0)
    np.testing.assert_allclose(start.poses["plate.center"].U, np.eye(3), atol=1e-5)
    np.testing.assert_allclose(start.poses["plate.center"].o, 0.0, atol=1e-5)
    assert motion["hinge.angle"][0] == pytest.approx(initial.get("hinge.angle", 1.2), abs=1e-5)


def test_a_pendulum_turns_below_a_blade_that_stays_straight():
    system = mse.MSystem("blade", gravity=(0, 0, -9.81))
    blade = system.add(mse.Beam("blade", length=0.2, width=0.02, height=1e-3, elements=2))
    system.clamp(system.ground, blade.frame(0))
    bob = system.add(
        mse.RigidBody("bob", mass=0.2, inertia=1e-3, at=Pose.dxdydz(0.2, 0, -0.15), frames={"top": Pose.dz(0.15)})
    )
    system.add(mse.Revolute("hinge", axis=(0, 1, 0)), between=(bob.frame("top"), blade.frame(1)))
    motion = system.simulate(duration=1e-3, dt=1e-3, rtol=1e-5, initial={"hinge.angle": 1.2}, progress=False)
    assert motion["hinge.angle"][0] == pytest.approx(1.2, abs=1e-12)
    assert motion.energy["elastic"][0] < 1e-12


def test_what_is_placed_by_its_pose_keeps_nothing_else_in_place():
    """The plate is moved away, and the pendulum goes with it."""
    motion = stage(True).simulate(duration=0.01, dt=0.01, initial={"plate": Pose.dx(0.01)}, progress=False)
    assert motion["hinge.angle"][0] == pytest.approx(0.0, abs=1e-7)
    assert motion.at(0.0).poses["bob.center"].o == pytest.approx((0.01, 0.0, -0.15), abs=1e-7)
