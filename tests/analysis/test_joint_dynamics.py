"""Joints in the linear regime: closed forms, working points solved anew, force sensors beside them."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.errors import ModelError, UnknownNameError
from test_joint_statics import ANYWHERE, JOINTS, SEAT_A, SEAT_B, G, join, pair, put, start
from test_links import slope, turning

pytestmark = pytest.mark.rounding

DISPLACEMENT = ("x", "y", "z", "ax", "ay", "az")
FORCE = ("fx", "fy", "fz", "tx", "ty", "tz")
STEPS = (1, -1, 0.5, -0.5)


def pendulum(world: Pose = Pose(), **hinge) -> mse.MSystem:  # noqa: B008
    """2 kg at 0.6 m on a hinge about y, with 0.12 kg m2 about its own center."""
    s, floor = start(world)
    body = put(s, "body", world @ Pose.dz(-0.6))
    join(s, mse.Revolute("hinge", axis=(0, 1, 0), **hinge), body, Pose.dz(0.6), floor, Pose())
    return s


INERTIA = 0.12 + 2.0 * 0.6**2
WEIGHT = 2.0 * G * 0.6


def modes(s: mse.MSystem) -> np.ndarray:
    return s.find_working_point().linearize().modes().frequencies_hz * 2 * np.pi


# -- closed forms -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("world", [Pose(), ANYWHERE])
@pytest.mark.parametrize("stiffness", [0.0, 5.0])
def test_a_compound_pendulum(world, stiffness):
    found = modes(pendulum(world, stiffness=stiffness))
    np.testing.assert_allclose(found, [np.sqrt((WEIGHT + stiffness) / INERTIA)], rtol=1e-10)


def test_an_inverted_pendulum_stands_on_its_spring():
    s, floor = start()
    body = put(s, "body", Pose.dz(0.6))
    join(s, mse.Revolute("hinge", axis=(0, 1, 0), stiffness=WEIGHT + 3.0), body, Pose.dz(-0.6), floor, Pose())
    wp = s.find_working_point()
    assert wp.stable and abs(wp.joint_coordinates["hinge.angle"]) < 1e-9
    np.testing.assert_allclose(modes(s), [np.sqrt(3.0 / INERTIA)], rtol=1e-8)


def test_a_ball_joint_swings_in_both_planes_and_turns_freely():
    s, floor = start()
    body = put(s, "body", Pose.dz(-0.6))
    join(s, mse.Spherical("ball"), body, Pose.dz(0.6), floor, Pose())
    found = modes(s)
    assert found[0] == 0
    np.testing.assert_allclose(found[1:], np.sqrt(WEIGHT / (2 * 0.36 + np.array([0.12, 0.1]))), rtol=1e-10)


@pytest.mark.parametrize("lean", [0.0, 0.8, -np.pi / 2])
def test_a_mass_on_a_slide(lean):
    s, floor = start()
    slide = mse.Prismatic("slide", axis=(1, 0, 0), stiffness=50.0, damping=3.0)
    join(s, slide, put(s, "body"), Pose.dz(0.1), floor, Pose.ry(-lean))
    linear = s.find_working_point().linearize()
    np.testing.assert_allclose(linear.modes().eigenvalues, [1j * np.sqrt(25.0)], rtol=1e-10)
    decay = 3.0 / 4.0
    np.testing.assert_allclose(
        linear.modes(damped=True).eigenvalues, [-decay + 1j * np.sqrt(25.0 - decay**2)], rtol=1e-10
    )


def test_a_damped_hinge():
    found = pendulum(damping=0.7).find_working_point().linearize().modes(damped=True).eigenvalues
    expected = np.roots([INERTIA, 0.7, WEIGHT])
    np.testing.assert_allclose(found, expected[expected.imag > 0], rtol=1e-10)


def test_a_body_in_a_plane_and_one_on_a_shaft():
    s, floor = start()
    join(s, mse.Planar("plane", stiffness=(50.0, 8.0, 0.6)), put(s, "body"), Pose(), floor, Pose())
    np.testing.assert_allclose(modes(s), sorted(np.sqrt([50 / 2, 8 / 2, 0.6 / 0.15])), rtol=1e-10)
    s, floor = start()
    join(s, mse.Cylindrical("shaft", axis=(1, 0, 0), stiffness=(72.0, 0.9)), put(s, "body"), Pose(), floor, Pose())
    np.testing.assert_allclose(modes(s), sorted(np.sqrt([72 / 2, 0.9 / 0.1])), rtol=1e-10)


def test_a_gear_adds_inertias_by_the_square_of_its_ratio():
    s, floor = start()
    join(s, mse.Revolute("a", stiffness=4.0), put(s, "wheel_a", inertia=0.2), Pose(), floor, Pose())
    join(s, mse.Revolute("b", damping=0.3), put(s, "wheel_b", Pose.dx(1), inertia=0.5), Pose(), floor, Pose.dx(1))
    join(s, mse.Prismatic("rack", axis=(1, 0, 0)), put(s, "bar", Pose.dy(1), mass=3.0), Pose(), floor, Pose.dy(1))
    s.add(mse.Gear("mesh", joints={"a": 1.0, "b": 2.0}))
    s.add(mse.Gear("teeth", joints={"a": 0.1, "rack": -1.0}))
    linear = s.find_working_point().linearize()
    inertia = 0.2 + 0.5 / 4 + 3.0 * 0.01
    np.testing.assert_allclose(linear.modes().frequencies_hz * 2 * np.pi, [np.sqrt(4.0 / inertia)], rtol=1e-10)
    expected = np.roots([inertia, 0.3 / 4, 4.0])
    np.testing.assert_allclose(linear.modes(damped=True).eigenvalues, expected[expected.imag > 0], rtol=1e-9)


def test_a_driven_pendulum_answers_as_on_paper():
    """Hinge on a seat that shakes along x, pushed by a torque: ``J a'' + c a' + (k + m g l) a = torque + m l x''``."""
    s, floor = start()
    seat = s.add(mse.PositionActuator("seat"))
    s.clamp(floor, seat.frame(1))
    body = put(s, "body", Pose.dz(-0.6))
    hinge = mse.Revolute("hinge", axis=(0, 1, 0), stiffness=2.0, damping=0.4, motor="force")
    join(s, hinge, body, Pose.dz(0.6), seat.frame(0), Pose())
    f = np.array([0.0, 0.3, 0.7, 2.0, 9.0])
    w = 2 * np.pi * f
    linear = s.find_working_point().linearize()
    r = linear.frequency_response(f)
    plain = 1 / (2.0 + WEIGHT + 0.4j * w - INERTIA * w**2)
    np.testing.assert_allclose(r["hinge.angle", "hinge.torque"], plain, rtol=1e-10)
    # about y a positive turn takes the bob to -x, and a seat that goes to +x leaves it behind
    np.testing.assert_allclose(r["hinge.angle", "seat.x"], -1.2 * w**2 * plain, rtol=1e-9, atol=1e-15)
    # the seat feels the torque of spring, damper and motor, none through the joint's own axis
    np.testing.assert_allclose(r["hinge.ty", "hinge.torque"], 0, atol=1e-12)
    np.testing.assert_allclose(r["hinge.fx", "hinge.torque"], -1.2 * w**2 * plain, rtol=1e-9, atol=1e-12)
    # a loss factor is of the spring alone
    lossy = linear.frequency_response(f, loss={"hinge": 0.2})["hinge.angle", "hinge.torque"]
    np.testing.assert_allclose(lossy, 1 / (1 / plain + 0.2j * 2.0), rtol=1e-10)
    with pytest.raises(ModelError, match="hinge / reaction.*stores no elastic energy"):
        linear.frequency_response(f, loss={("hinge", "reaction"): 0.1})
    with pytest.raises(UnknownNameError, match="hinge / elastc"):
        linear.frequency_response(f, loss={("hinge", "elastc"): 0.1})


# -- working points solved anew ---------------------------------------------------------------------------------------
CARRIED = {
    "Revolute": {"stiffness": 9.0}, "Prismatic": {"stiffness": 80.0}, "Cylindrical": {"stiffness": (90.0, 7.0)},
    "Planar": {}, "Universal": {"stiffness": (4.0, 6.0), "preload": (3.0, -2.0)}, "Spherical": {}, "PointOnLine": {},
    "Joint": {}, "Joint of one": {}, "Fixed": {},
}  # fmt: skip


def watch(s) -> None:
    """A sensor of body b as seen from the ground."""
    probe = s.add(mse.PositionSensor("probe"))
    s.clamp(s["b"].frame(0), probe.frame(0), Pose.dxdydz(0.1, 0.0, 0.05))
    s.clamp(s.ground, probe.frame(1), Pose.rotation((0.3, -0.2, 0.1)))


def carried(kind, **more) -> mse.MSystem:
    cls, options, _ = JOINTS[kind]
    s = pair(lambda s, b, a: join(s, cls("it", **{**options, **CARRIED[kind], **more}), b, SEAT_B, a, SEAT_A))
    watch(s)
    return s


def expected_slopes(points, h) -> dict[str, float]:
    """Derivatives of everything that a working point tells of probe and joints, by output name."""
    seen = [p.poses["probe.0"].seen_from(p.poses["probe.1"]) for p in points]
    out = dict(
        zip((f"probe.{c}" for c in DISPLACEMENT), [*slope([p.o for p in seen], h), *turning(seen, h)], strict=True)
    )
    for name in points[0].joint_coordinates:
        out[name] = slope([p.joint_coordinates[name] for p in points], h)
    for name, wrench in points[0].reactions.items():
        rows = ["tension"] if name.startswith("rod") else ["transmitted"] if name == "gear" else FORCE
        assert len(wrench) == len(rows)
        rates = slope([p.reactions[name] for p in points], h)
        out |= dict(zip((f"{name}.{r}" for r in rows), rates, strict=True))
    return out


def agree(static, source, expected, close=2e-6) -> None:
    """Outputs at 0 Hz against slopes, each kind on its own scale."""
    assert len(expected) > 6
    named = [n for n in static.outputs if n in expected]
    assert set(expected) == set(named)
    for ending in (DISPLACEMENT[:3], DISPLACEMENT[3:], FORCE[:3], FORCE[3:], None):
        chosen = [n for n in named if n.rpartition(".")[2] in ending] if ending else named
        found = np.array([static[n, source][0] for n in chosen])
        right = np.array([expected[n] for n in chosen])
        assert not found.imag.any()
        wrong = np.abs(found.real - right) > close * max(1.0, np.abs(right).max(initial=0.0))
        assert not wrong.any(), [(n, a, b) for n, a, b, w in zip(chosen, found.real, right, wrong, strict=True) if w]


def drives(kind):
    obj = JOINTS[kind][0]("it", **JOINTS[kind][1])
    return obj.joint_coordinates if kind != "Fixed" else ()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [(k, n) for k in CARRIED for n in drives(k)])
def test_the_static_response_to_a_position_motor_is_that_of_working_points(kind, name):
    free = carried(kind).find_working_point()
    at = free.joint_coordinates[f"it.{name}"] + (0.2 if kind != "Spherical" else 0.1)
    h = 1e-3
    points = [carried(kind, motor={name: "position"}, position={name: at + f * h}).find_working_point() for f in STEPS]
    linear = carried(kind, motor={name: "position"}, position={name: at}).find_working_point().linearize()
    source = f"it.{name}"
    assert linear.inputs == (source,)
    agree(linear.frequency_response([0.0]), source, expected_slopes(points, h))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [(k, n) for k in CARRIED for n in drives(k)])
def test_the_static_response_to_a_force_motor_is_that_of_a_preload(kind, name):
    cls = JOINTS[kind][0]("it", **JOINTS[kind][1])
    where = cls.joint_coordinates.index(name)
    base = np.broadcast_to(CARRIED[kind].get("preload", 0.0), len(cls.joint_coordinates))
    h = 0.02
    points = [carried(kind, preload=base + f * h * np.eye(len(base))[where]).find_working_point() for f in STEPS]
    linear = carried(kind, motor={name: "force"}).find_working_point().linearize()
    agree(linear.frequency_response([0.0]), linear.inputs[0], expected_slopes(points, h))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Revolute", "Universal"])
def test_motors_in_two_joints_one_behind_the_other(kind):
    """A boom on a motor at the ground, a joint at its end under load, a rod and a gear beside."""

    def crane(angle=0.5, **hinge):
        s, floor = start(gravity=(2.0, 1.0, -9.0))
        boom = put(s, "boom", Pose.dx(0.5), mass=3.0)
        more = {"motor": "position", "position": angle, **hinge}
        join(s, mse.Revolute("hinge", axis=(0, 1, 0), **more), boom, Pose.dx(-0.5), floor, Pose())
        b = put(s, "b", Pose.dxdydz(1.0, 0.1, -0.5))
        cls, options, _ = JOINTS[kind]
        join(s, cls("it", **{**options, **CARRIED[kind]}), b, Pose.dxdydz(0.1, 0, 0.5), boom, Pose.dx(0.5))
        stay = put(s, "stay", Pose.dxdydz(1.0, 0.8, 0.3), mass=1.0)
        rope = mse.Bushing("rope", stiffness=[40.0] * 3 + [3.0] * 3)
        join(s, rope, stay, Pose(), floor, Pose.dxdydz(1.0, 0.9, 0.4))
        join(s, mse.Rod("rod", length=0.7), boom, Pose.dxdydz(0.4, 0.1, 0), stay, Pose.dy(0.05))
        wheel = put(s, "wheel", Pose.dy(-1))
        join(s, mse.Revolute("axle", axis=(1, 0, 0), stiffness=6.0), wheel, Pose.dz(0.1), floor, Pose.dy(-1))
        s.add(mse.Gear("gear", joints={"hinge": 1.0, "axle": -2.0}, offset=0.1))
        watch(s)
        return s

    h = 1e-3
    points = [crane(0.5 + f * h).find_working_point() for f in STEPS]
    linear = crane().find_working_point().linearize()
    agree(linear.frequency_response([0.0]), "hinge.angle", expected_slopes(points, h))


# -- force sensors beside joints --------------------------------------------------------------------------------------
def weighed(kind, motor, **more) -> mse.MSystem:
    """The joint sits on a force sensor, which reads all that it carries."""
    cls, options, _ = JOINTS[kind]
    names = drives(kind)
    driven = {"motor": [motor] * len(names)} if names else {}
    if motor == "position":
        driven["position"] = np.linspace(0.3, 0.1, len(names))

    def make(s, b, a):
        sensor = s.add(mse.ForceSensor("cell"))
        s.clamp(a, sensor.frame(1), SEAT_A)
        join(s, cls("it", **options, **driven, **more), b, SEAT_B, sensor.frame(0), Pose())
        push = s.add(mse.ForceActuator("push"))
        s.clamp(s.ground, push.frame(0))
        s.clamp(b, push.frame(1), Pose.dxdydz(0.1, 0.2, 0.0))

    return pair(make)


@pytest.mark.slow
@pytest.mark.parametrize("motor", ["none", "position"])
@pytest.mark.parametrize("kind", ["Fixed", "Revolute", "Universal", "Spherical", "Joint of one"])
def test_a_joint_reads_what_a_force_sensor_below_it_reads(kind, motor):
    """Static and at all frequencies, for joints without springs; their torques are about the same point."""
    if kind == "Fixed" and motor == "position":
        return
    wp = weighed(kind, motor).find_working_point()
    size = np.abs(wp.reactions["it"]).max()
    about = wp.poses["it.0"].o - wp.poses["it.1"].o

    def moved(wrench):
        lever = wp.poses["it.1"].U.T @ about
        return np.concatenate([wrench[:3], wrench[3:] - np.cross(lever, wrench[:3])])

    np.testing.assert_allclose(wp.reactions["it"], moved(wp.reactions["cell"]), atol=1e-9 * size)
    if kind == "Joint of one":  # its lever moves
        return
    linear = wp.linearize()
    assert len(linear.inputs) == 6 + (len(drives(kind)) if motor == "position" else 0)
    r = linear.frequency_response([0.0, 0.4, 1.3, 20.0])
    for source in linear.inputs:
        cell = np.array([r[f"cell.{c}", source] for c in FORCE])
        it = np.array([r[f"it.{c}", source] for c in FORCE])
        np.testing.assert_allclose(it, cell, atol=1e-7 * np.abs(cell).max())


def test_springs_and_dampers_of_a_joint_are_not_in_its_reaction_but_in_the_sensor_s():
    wp = weighed("Revolute", "force", stiffness=7.0, rest=0.3, preload=1.0, damping=0.5).find_working_point()
    angle = wp.joint_coordinates["it.angle"]
    spring = 7.0 * (angle - 0.3) - 1.0
    cell, it = wp.reactions["cell"], wp.reactions["it"]
    np.testing.assert_allclose(cell - it, [0, 0, 0, 0, 0, spring], atol=1e-8)
    f = np.array([0.0, 0.4, 3.0])
    r = wp.linearize().frequency_response(f)
    for source in ("push.fx", "push.tz", "it.torque"):
        pull = (7.0 + 0.5 * 2j * np.pi * f) * r["it.angle", source] - (source == "it.torque")
        np.testing.assert_allclose(r["cell.tz", source] - r["it.tz", source], pull, atol=1e-8)
        np.testing.assert_allclose(r["cell.fx", source], r["it.fx", source], atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("axis", range(6))
@pytest.mark.parametrize("kind", ["Revolute", "Universal", "Prismatic"])
def test_a_displaced_actuator_under_a_joint_is_a_displaced_clamp(kind, axis):
    """The joint's seat on body a is driven: what carries a load turns it."""
    cls, options, _ = JOINTS[kind]

    def made(six=None):
        def make(s, b, a):
            seat, pose = a, SEAT_A
            if six is None:
                piezo = s.add(mse.PositionActuator("piezo"))
                s.clamp(a, piezo.frame(1), SEAT_A)
                seat, pose = piezo.frame(0), Pose()
            else:
                pose = SEAT_A @ Pose(six[:3], Pose.rotation(six[3:]).U)
            join(s, cls("it", **options, **CARRIED[kind]), b, SEAT_B, seat, pose)

        s = pair(make)
        watch(s)
        return s

    h = 1e-3
    points = [made(f * h * np.eye(6)[axis]).find_working_point() for f in STEPS]
    static = made().find_working_point().linearize().frequency_response([0.0], inputs=[f"piezo.{DISPLACEMENT[axis]}"])
    agree(static, static.inputs[0], expected_slopes(points, h))
