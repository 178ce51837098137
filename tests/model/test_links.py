"""Position actuators and force sensors between moving bodies, against displaced clamps solved anew."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.pose import IDENTITY

pytestmark = pytest.mark.rounding

DISPLACEMENT = ("x", "y", "z", "ax", "ay", "az")
FORCE = ("fx", "fy", "fz", "tx", "ty", "tz")


def carrier(
    offset: Pose = IDENTITY, *, swapped: bool = False, actuated: bool = True, tilt: float = 0.3, rider: bool = False
) -> mse.MSystem:
    """Two bodies on springs; the upper carries the lower's suspension on a tilted actuator and a force sensor in series.

    A ``rider`` is a body that the actuator moves rigidly, with a damper to the ground.  With ``actuated`` False the
    actuator is replaced by a clamp with the pose ``offset`` of its frame 0 seen from frame 1.
    """
    s = mse.MSystem("carrier", gravity=(0.3, -0.2, -9.81))
    rng = np.random.default_rng(5)
    upper = s.add(mse.RigidBody("upper", mass=5.0, inertia=(0.1, 0.12, 0.15), at=Pose.dz(-0.5)))
    lower = s.add(mse.RigidBody("lower", mass=3.0, inertia=(0.05, 0.06, 0.07), at=Pose.dz(-1.3)))
    for k in range(3):
        w = s.add(mse.Wire(f"top{k}", length=0.45, young_modulus=1e9, poisson_ratio=0.3, radius=1e-3))
        place = Pose(rng.uniform(-0.2, 0.2, 3) + np.array([0.25 * np.cos(2 * k), 0.25 * np.sin(2 * k), 0.0]))
        s.clamp(s.ground, w.frame(1), place)
        s.clamp(upper.frame(0), w.frame(0), place @ Pose(rng.uniform(-0.03, 0.03, 3)))
    seat = Pose.dxdydz(0.05, -0.03, -0.1) @ Pose.rotation((tilt, -0.2, 0.5))
    sensor = s.add(mse.ForceSensor("load"))
    near, far = (1, 0) if not swapped else (0, 1)
    if actuated:
        actuator = s.add(mse.PositionActuator("piezo"))
        s.clamp(upper.frame(0), actuator.frame(near), seat)
        s.clamp(actuator.frame(far), sensor.frame(near))
    else:
        s.clamp(upper.frame(0), sensor.frame(near), seat @ (offset if not swapped else offset.inverse()))
    for k in range(3):
        w = s.add(mse.Spring(f"low{k}", length=0.4, stiffness=300.0 + 50 * k, damping=2.0))
        place = Pose((0.15 * np.cos(2 * k + 1), 0.15 * np.sin(2 * k + 1), 0.0))
        s.clamp(sensor.frame(far), w.frame(1), place)
        s.clamp(lower.frame(0), w.frame(0), place)
    if rider:
        body = s.add(mse.RigidBody("rider", mass=1.5, inertia=(0.02, 0.03, 0.04)))
        s.clamp(sensor.frame(far), body.frame(0), Pose.dxdydz(0.02, 0.03, 0.04))
        damper = s.add(mse.Bushing("damper", stiffness=np.zeros(6), damping=(8.0, 6.0, 4.0, 0.3, 0.2, 0.1)))
        s.clamp(body.frame(0), damper.frame(0))
        s.clamp(s.ground, damper.frame(1), Pose.dz(-0.5))
    probe = s.add(mse.PositionSensor("probe"))
    s.clamp(lower.frame(0), probe.frame(0), Pose.dxdydz(0.02, 0.0, 0.03))
    s.clamp(upper.frame(0), probe.frame(1), Pose.rotation((0.1, 0.4, -0.2)))
    push = s.add(mse.ForceActuator("push"))
    s.clamp(upper.frame(0), push.frame(0), Pose.dxdydz(0.1, 0.0, 0.0))
    s.clamp(lower.frame(0), push.frame(1), Pose.rotation((0.0, 0.3, 0.1)))
    return s


def small(axis: int, size: float) -> Pose:
    six = np.zeros(6)
    six[axis] = size
    return Pose(six[:3], Pose.rotation(six[3:]).U)


def slope(values, step):
    """Derivative from values at +-step and +-step/2, error of fourth order; rows are vectors."""
    plus, minus, half_plus, half_minus = values
    return (4 * (half_plus - half_minus) / step - (plus - minus) / (2 * step)) / 3


def turning(seen, step):
    """Rate of turning along the axes of frame 1 from poses at +-step and +-step/2."""
    plus, minus, half_plus, half_minus = (p.U for p in seen)
    wide, narrow = (Pose((0, 0, 0), a @ b.T).rotation_vector() for a, b in ((plus, minus), (half_plus, half_minus)))
    return (4 * narrow / step - wide / (2 * step)) / 3


@pytest.mark.slow
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("axis", range(6))
def test_static_response_to_an_actuator_is_the_working_point_with_a_displaced_clamp(axis, swapped):
    linear = carrier(swapped=swapped).find_working_point().linearize()
    static = linear.frequency_response([0.0], inputs=[f"piezo.{DISPLACEMENT[axis]}"])
    h = 2e-4
    points = [
        carrier(small(axis, f * h), swapped=swapped, actuated=False).find_working_point() for f in (1, -1, 0.5, -0.5)
    ]
    seen = [p.poses["probe.0"].seen_from(p.poses["probe.1"]) for p in points]
    expected = {
        "probe": np.concatenate([slope([p.o for p in seen], h), turning(seen, h)]),
        "load": slope([p.reactions["load"] for p in points], h),
    }
    for sensor, names in (("probe", DISPLACEMENT), ("load", FORCE)):
        got = np.array([static[f"{sensor}.{n}", static.inputs[0]][0] for n in names])
        assert not got.imag.any()
        np.testing.assert_allclose(
            got.real, expected[sensor], rtol=0, atol=1e-6 * max(1.0, np.abs(expected[sensor]).max())
        )


@pytest.mark.slow
@pytest.mark.parametrize("axis", range(3))
def test_static_response_to_a_force_along_the_world_is_the_working_point_under_a_load(axis):
    """Through links and levers, on a seat that is turned; ``axes`` is changed where the system is solved already."""
    wp = carrier().find_working_point()
    world = wp.update({"push.axes": "world"}).linearize()
    names = [f"push.{n}" for n in FORCE[:3]]
    static = world.frequency_response([0.0], inputs=names)
    of_frame = wp.linearize().frequency_response([0.0], inputs=names)
    seat = wp.poses["push.1"].U
    np.testing.assert_allclose(static.values[0], of_frame.values[0] @ seat.T, rtol=1e-9, atol=1e-12)

    h = 1e-3
    s = carrier()
    for frame in (0, 1):
        # what a lever would turn is left to the actuator itself: the same force on both, along the world
        s.clamp(s["push"].frame(frame), s.add(mse.Load(f"load{frame}")).frame(0))
    s.clamp(s["push"].frame(0), s.add(mse.Load("turn")).frame(0))
    unloaded, arm = s.find_working_point(), wp.poses["push.1"].o - wp.poses["push.0"].o

    def loaded(size):
        force = size * np.eye(3)[axis]
        seen = unloaded.update(
            {"load0.force": -force, "load1.force": force, "turn.torque": -np.cross(arm, force)}
        ).poses
        return seen["probe.0"].seen_from(seen["probe.1"]).o

    expected = slope([loaded(f * h) for f in (1, -1, 0.5, -0.5)], h)
    got = np.array([static[f"probe.{n}", names[axis]][0].real for n in DISPLACEMENT[:3]])
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.slow
def test_static_response_to_a_force_is_the_working_point_with_more_weight():
    h = 1e-3

    def loaded(extra):
        s = carrier()
        s["lower"].mass += extra
        return s.find_working_point()

    points = [loaded(f * h) for f in (1, -1, 0.5, -0.5)]
    seen = [p.poses["probe.0"].seen_from(p.poses["probe.1"]).o for p in points]
    base = carrier()
    # frame 0 of the actuator on the ground and unturned frame 1 at the center of mass: a pure world force there
    push = base.add(mse.ForceActuator("weight"))
    base.clamp(base.ground, push.frame(0))
    at_rest = base_pose_of(base, "lower")
    base.clamp(base["lower"].frame(0), push.frame(1), Pose((0, 0, 0), at_rest.U.T))
    static = base.find_working_point().linearize().frequency_response([0.0], inputs=[f"weight.f{b}" for b in "xyz"])
    g = base.gravity
    got = sum(
        np.array([static[f"probe.{a}", f"weight.f{b}"][0].real for a in "xyz"]) * g[k] for k, b in enumerate("xyz")
    )
    np.testing.assert_allclose(got, slope(seen, h), rtol=0, atol=1e-6 * np.abs(slope(seen, h)).max())


def base_pose_of(system, name):
    """Pose of a body at the working point of the system without the actuator that is still to be connected."""
    return carrier().find_working_point().poses[f"{name}.center"]


def test_force_between_two_bodies_puts_no_net_load_on_their_suspension():
    """The three wires of the upper body carry the same total force whatever the internal push does, statically."""
    linear = carrier().find_working_point().linearize()
    push = linear.force[:, [linear.inputs.index(f"push.{n}") for n in FORCE]].toarray()
    upper, lower = push[:6], push[6:12]
    assert np.abs(upper).max() > 0.1
    np.testing.assert_allclose(upper[:3] + lower[:3], 0.0, atol=1e-15)
    wp = carrier().find_working_point()
    arm = wp.poses["lower.center"].o - wp.poses["upper.center"].o
    np.testing.assert_allclose(upper[3:] + lower[3:] + np.cross(arm, lower[:3], axisb=0, axisc=0), 0.0, atol=1e-14)


def test_reciprocity_of_force_and_displacement():
    """A force on one coordinate moves another as a force there moves the first: the response is symmetric."""
    linear = carrier().find_working_point().linearize()
    model = mse.LinearModel.from_matrices(linear.M, linear.Lambda, linear.K)
    values = model.frequency_response([0.3, 1.7, 5.0]).values
    assert np.abs(values).max() > 0
    np.testing.assert_allclose(values, values.transpose(0, 2, 1), rtol=0, atol=1e-12 * np.abs(values).max())
    # and through actuators and sensors: coil on the lower body and sensor at its place, along the same axes
    s = carrier()
    hands = []
    for k, place in enumerate((Pose.dx(0.1), Pose.dxdydz(0.0, -0.1, 0.05))):
        push, probe = s.add(mse.ForceActuator(f"push{k}")), s.add(mse.PositionSensor(f"see{k}"))
        body = s["upper" if k else "lower"]
        s.clamp(s.ground, push.frame(0))
        s.clamp(body.frame(0), push.frame(1), place)
        # the sensor's frame 1 is on the ground, turned like the body at rest, so that both speak of the same axes
        turn = carrier().find_working_point().poses[f"{body.name}.center"].U
        s.clamp(body.frame(0), probe.frame(0), place)
        s.clamp(s.ground, probe.frame(1), Pose((0, 0, 0), turn))
        hands.append((f"push{k}", f"see{k}"))
    response = s.find_working_point().linearize().frequency_response([0.3, 1.7, 5.0])
    (push0, see0), (push1, see1) = hands
    for f, a in zip(FORCE[:3], DISPLACEMENT[:3], strict=True):
        for g, b in zip(FORCE[:3], DISPLACEMENT[:3], strict=True):
            there, back = response[f"{see1}.{b}", f"{push0}.{f}"], response[f"{see0}.{a}", f"{push1}.{g}"]
            np.testing.assert_allclose(
                there, back, rtol=0, atol=1e-9 * np.abs(response[f"{see0}.{a}", f"{push0}.{f}"]).max()
            )


def test_force_sensor_reads_the_static_weight_change():
    """A force sensor under the whole suspension reads, at zero frequency, every vertical force put on what hangs below."""
    s = mse.MSystem("scale", gravity=(0, 0, -9.81))
    sensor = s.add(mse.ForceSensor("cell"))
    spring = s.add(mse.Spring("spring", length=0.5, stiffness=300.0))
    body = s.add(mse.RigidBody("body", mass=2.0, inertia=0.01, at=Pose.dz(-0.6)))
    push = s.add(mse.ForceActuator("push"))
    s.clamp(s.ground, sensor.frame(1))
    s.clamp(sensor.frame(0), spring.frame(1))
    s.clamp(spring.frame(0), body.frame(0))
    s.clamp(s.ground, push.frame(0))
    s.clamp(body.frame(0), push.frame(1))
    wp = s.find_working_point()
    np.testing.assert_allclose(wp.reactions["cell"], [0, 0, -2.0 * 9.81, 0, 0, 0], atol=1e-12)
    response = wp.linearize().frequency_response([0.0, 1.0, 30.0], inputs=["push.fz"])
    # transmissibility of a mass on a spring: 1 / (1 - w^2 m/k)
    w = 2 * np.pi * np.array([0.0, 1.0, 30.0])
    np.testing.assert_allclose(response["cell.fz", "push.fz"], 1 / (1 - w**2 * 2.0 / 300.0), rtol=1e-12)


def test_force_sensor_reading_has_the_sign_of_what_frame_0_does_to_frame_1():
    for swapped in (False, True):
        wp = carrier(swapped=swapped, tilt=0.0).find_working_point()
        weight = wp.poses["load.1"].U @ wp.reactions["load"][:3]
        expected = 3.0 * wp.system.gravity * (1 if not swapped else -1)
        np.testing.assert_allclose(weight, expected, rtol=1e-9)
