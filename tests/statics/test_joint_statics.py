"""Working points of joints: reactions by free-body balances, and stiff bushings that become joints."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mse
from mse import Pose

pytestmark = pytest.mark.rounding

G = 9.81
DOWN = (0.0, 0.0, -G)
ANYWHERE = Pose((0.3, -0.7, 1.1), Rotation.from_rotvec([0.5, -1.1, 0.8]).as_matrix())
WORLDS = pytest.mark.parametrize("world", [Pose(), ANYWHERE], ids=["straight", "moved and turned"])


def start(world: Pose = Pose(), gravity=DOWN) -> tuple[mse.MSystem, mse.Frame]:  # noqa: B008
    """A system whose floor is a body fixed to the ground at a pose, with gravity turned along."""
    s = mse.MSystem("it", gravity=world.U @ np.array(gravity))
    floor = s.add(mse.RigidBody("floor", mass=1.0, at=world))
    s.clamp(s.ground, floor.frame(0), world)
    return s, floor.frame(0)


def put(s, name, at=None, mass=2.0, inertia=(0.1, 0.12, 0.15)) -> mse.Frame:
    return s.add(mse.RigidBody(name, mass=mass, inertia=inertia, at=at)).frame(0)


def join(s, joint, zero, pose0, one, pose1):
    s.add(joint)
    s.clamp(zero, joint.frame(0), pose0)
    s.clamp(one, joint.frame(1), pose1)
    return joint


def in_world(wp, name) -> np.ndarray:
    """Force of frame 0 on frame 1 and its torque about the origin, along world axes."""
    zero, one = wp.poses[f"{name}.0"], wp.poses[f"{name}.1"]
    force = one.U @ wp.reactions[name][:3]
    return np.concatenate([force, one.U @ wp.reactions[name][3:] + np.cross(zero.o, force)])


# -- by hand ----------------------------------------------------------------------------------------------------------
@WORLDS
@pytest.mark.parametrize("turned", [Pose(), Pose.rotation((0.2, 0.7, -0.4))])
def test_a_cantilever_fixed_to_a_wall(world, turned):
    s, floor = start(world)
    body = put(s, "body", world @ Pose.dx(0.5))
    join(s, mse.Fixed("wall"), body, Pose.dx(-0.5) @ turned, floor, turned)
    wp = s.find_working_point()
    force, torque = turned.U.T @ [0, 0, -2 * G], turned.U.T @ [0, 0.5 * 2 * G, 0]
    np.testing.assert_allclose(wp.reactions["wall"], [*force, *torque], atol=1e-11)
    on_body, on_wall = wp.forces["wall"]
    np.testing.assert_allclose(on_body[:3], world.U @ [0, 0, 2 * G], atol=1e-11)
    np.testing.assert_allclose(on_body, -on_wall, atol=1e-11)
    assert wp.freedoms == 0 and wp.stable and not wp.free and not wp.redundant


@WORLDS
def test_a_door_on_a_ball_and_a_guide(world):
    """Hinged at the foot by a ball and at the top by a ring on the post: nothing is redundant."""
    s, floor = start(world)
    door = put(s, "door", world @ Pose.dxdydz(0.4, 0.0, 1.0), mass=20.0, inertia=2.0)
    join(s, mse.Spherical("foot"), door, Pose.dxdydz(-0.4, 0, -0.9), floor, Pose.dz(0.1))
    join(s, mse.PointOnLine("ring"), door, Pose.dxdydz(-0.4, 0, 0.8), floor, Pose.dz(1.5))
    wp = s.find_working_point()
    pull = 20.0 * G * 0.4 / 1.7
    np.testing.assert_allclose(wp.reactions["ring"], [pull, 0, 0, 0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(wp.reactions["foot"], [-pull, 0, -20.0 * G, 0, 0, 0], atol=1e-9)
    assert wp.freedoms == 1 and not wp.redundant
    assert wp.joint_coordinates["ring.displacement"] == pytest.approx(0.3, rel=1e-12)
    assert [m.name for m in wp.free] != []


@WORLDS
def test_a_door_on_two_hinges_has_only_sums(world):
    s, floor = start(world)
    door = put(s, "door", world @ Pose.dxdydz(0.4, 0.0, 1.0), mass=20.0, inertia=2.0)
    for k, height in enumerate((0.1, 1.8)):
        join(s, mse.Revolute(f"hinge{k}"), door, Pose.dxdydz(-0.4, 0, height - 1.0), floor, Pose.dz(height))
    wp = s.find_working_point()
    low, high = (wp.reactions[f"hinge{k}"] for k in (0, 1))
    np.testing.assert_allclose(low[:3] + high[:3], [0, 0, -20.0 * G], atol=1e-9)
    arms = np.cross([0, 0, 0.1], low[:3]) + np.cross([0, 0, 1.8], high[:3])
    np.testing.assert_allclose(low[3:] + high[3:] + arms, [0, 20.0 * G * 0.4, 0], atol=1e-9)
    # both share the weight alike, for nothing tells them apart
    np.testing.assert_allclose([low[2], high[2]], [-10 * G] * 2, atol=1e-9)
    assert wp.freedoms == 1
    assert sum(found.count for found in wp.redundant) == 5
    assert {j for found in wp.redundant for j in found.joints} == {"hinge0", "hinge1"}
    loose = {c for found in wp.redundant for c in found.not_unique}
    assert loose == {f"hinge{k}.{c}" for k in (0, 1) for c in ("fx", "fy", "fz", "tx", "ty")}


@pytest.mark.parametrize(("gap", "fits"), [(0.0, True), (1e-11, True), (1e-8, False)])
def test_hinges_whose_places_are_rounded_to_eleven_digits_fit(gap, fits):
    """Places from a table are right to eleven digits; a hundred millionth of a meter is a misfit."""
    s, floor = start(Pose())
    door = put(s, "door", Pose.dxdydz(0.4, 0.0, 1.0), mass=20.0, inertia=2.0)
    for k, height in enumerate((0.1, 1.8)):
        at = Pose.dz(height + k * gap)
        join(s, mse.Revolute(f"hinge{k}"), door, Pose.dxdydz(-0.4, 0, height - 1.0), floor, at)
    if fits:
        assert s.find_working_point().freedoms == 1
    else:
        with pytest.raises(mse.ModelError, match="its joints cannot be put together"):
            s.find_working_point()


@WORLDS
@pytest.mark.parametrize("lean", [0.0, 0.5, -1.2])
def test_a_slider_on_an_incline_with_a_spring(world, lean):
    s, floor = start(world)
    k, rest, preload = 300.0, 0.05, 7.0
    along = Pose.ry(-lean)  # its x axis climbs
    body = put(s, "body", world @ Pose.rotation((0.3, 0.2, 0.1)))
    slide = mse.Prismatic("slide", axis=(1, 0, 0), stiffness=k, rest=rest, preload=preload)
    join(s, slide, body, Pose.dz(-0.2), floor, along)
    wp = s.find_working_point()
    there = rest + (preload - 2 * G * np.sin(lean)) / k
    assert wp.joint_coordinates["slide.displacement"] == pytest.approx(there, rel=1e-9)
    # the center is 0.2 off the rail: its weight along the rail tips it
    expected = [0, 0, -2 * G * np.cos(lean), 0, -0.2 * 2 * G * np.sin(lean), 0]
    np.testing.assert_allclose(wp.reactions["slide"], expected, atol=1e-9)
    pull = along.U @ [2 * G * np.sin(lean), 0, 2 * G * np.cos(lean)]
    np.testing.assert_allclose(wp.forces["slide"][0, :3], world.U @ pull, atol=1e-9)


@WORLDS
@pytest.mark.parametrize("angle", [0.0, 0.7, -2.0, 4.0, np.pi])
def test_a_motor_holds_a_pendulum_at_an_angle(world, angle):
    s, floor = start(world)
    body = put(s, "body", world @ Pose.dz(-0.6))
    join(s, mse.Revolute("hinge", axis=(0, 1, 0), motor="position", position=angle), body, Pose.dz(0.6), floor, Pose())
    wp = s.find_working_point()
    assert wp.joint_coordinates["hinge.angle"] == pytest.approx(angle, abs=1e-12)
    # turned about y by the angle the bob is at -0.6 (sin, cos) in x, z
    torque = np.cross([-0.6 * np.sin(angle), 0, -0.6 * np.cos(angle)], [0, 0, -2 * G])
    np.testing.assert_allclose(wp.reactions["hinge"], [0, 0, -2 * G, *torque], atol=1e-9)
    assert wp.freedoms == 0


@WORLDS
def test_a_tripod_of_rods(world):
    feet = np.array([[0.0, 0, 0], [2, 0, 0], [1, 1.5, 0]])
    top = np.array([0.9, 0.4, 2.0])
    s, floor = start(world)
    node = put(s, "node", world @ Pose(top + 0.1), mass=3.0)
    for k, foot in enumerate(feet):
        join(s, mse.Rod(f"leg{k}", length=np.linalg.norm(top - foot)), node, Pose(), floor, Pose(foot))
    wp = s.find_working_point()
    assert (world.inverse() @ wp.poses["node.center"]).o == pytest.approx(top, abs=1e-9)
    directions = (feet - top).T / np.linalg.norm(feet - top, axis=1)
    expected = np.linalg.solve(directions, [0, 0, 3.0 * G])
    np.testing.assert_allclose([wp.reactions[f"leg{k}"][0] for k in range(3)], expected, rtol=1e-9)
    np.testing.assert_allclose([wp.tensions[f"leg{k}"] for k in range(3)], expected, rtol=1e-9)
    assert np.all(expected < 0) and not wp.redundant and wp.freedoms == 3


def test_a_gear_passes_a_torque_on():
    """``1.5 a - 0.5 b = 0`` with a torque on a and a spring at b: ``t da = k b db``."""
    s, floor = start()
    a, b = put(s, "wheel_a"), put(s, "wheel_b", Pose.dx(1.0))
    join(s, mse.Revolute("a", preload=2.0), a, Pose(), floor, Pose())
    join(s, mse.Revolute("b", stiffness=4.0), b, Pose(), floor, Pose.dx(1.0))
    s.add(mse.Gear("gear", joints={"a": 1.5, "b": -0.5}))
    wp = s.find_working_point()
    turned = 2.0 / (4.0 * 3.0)
    assert wp.joint_coordinates["b.angle"] == pytest.approx(turned, rel=1e-12)
    assert wp.joint_coordinates["a.angle"] == pytest.approx(turned / 3.0, rel=1e-12)
    assert wp.reactions["gear"] == pytest.approx([2.0 / 1.5], rel=1e-10)
    on = wp.forces["gear"]
    np.testing.assert_allclose(on[:, 5], [-2.0, 2.0, 2.0 / 3, -2.0 / 3], rtol=1e-9)
    np.testing.assert_allclose(wp.reactions["a"], [0, 0, -2 * G, 0, 0, 0], atol=1e-10)


@WORLDS
@pytest.mark.parametrize("turned", [0.0, 0.6, 1.5, -2.2])
def test_a_cardan_shaft(world, turned):
    """Shafts at an angle: ``tan b = cos(lean) tan a``, and torques by the rates; the cross carries one across its axes."""
    lean, k = 0.7, 5.0
    n, second = np.array([np.sin(lean), 0, np.cos(lean)]), np.array([-np.cos(lean), 0, np.sin(lean)])
    along = Pose.ry(lean)  # z along the second shaft
    s, floor = start(world, gravity=(0, 0, 0))
    one, two = put(s, "one", world), put(s, "two", world)
    join(s, mse.Revolute("drive", motor="position", position=turned), one, Pose(), floor, Pose())
    join(s, mse.Joint("bearing", free=("x", "y", "z", "az"), stiffness={"az": k}), two, along, floor, along)
    join(s, mse.Universal("cross", axis=(0, 1, 0), second=second), two, Pose(), one, Pose())
    wp = s.find_working_point()
    angle = np.arctan2(np.cos(lean) * np.sin(turned), np.cos(turned))
    assert wp.joint_coordinates["bearing.az"] == pytest.approx(angle, abs=1e-10)
    rate = np.cos(lean) / (np.cos(turned) ** 2 + np.cos(lean) ** 2 * np.sin(turned) ** 2)
    np.testing.assert_allclose(wp.reactions["drive"][5], -k * angle * rate, atol=1e-9)
    # what the second shaft does to the first: across both axes of the cross, and -k angle along its own axis
    fork = np.array([-np.sin(turned), np.cos(turned), 0])
    across = np.cross(fork, Rotation.from_rotvec(angle * n).apply(second))
    torque = world.U.T @ wp.poses["cross.1"].U @ wp.reactions["cross"][3:]
    np.testing.assert_allclose(torque, -k * angle * across / (across @ n), atol=1e-9)
    np.testing.assert_allclose(wp.reactions["cross"][:3], 0, atol=1e-9)


# -- any joint, between two bodies ------------------------------------------------------------------------------------
P, Q = np.array([2.0, 1.0, 0.0]) / np.sqrt(5.0), np.array([1.0, -2.0, 0.0]) / np.sqrt(5.0)
# class and options; the stiff directions of a bushing that becomes it, in which the axis is z
JOINTS = {
    "Fixed": (mse.Fixed, {}, "111111"),
    "Revolute": (mse.Revolute, {}, "111110"),
    "Prismatic": (mse.Prismatic, {}, "110111"),
    "Cylindrical": (mse.Cylindrical, {}, "110110"),
    "Planar": (mse.Planar, {}, "001110"),
    "Spherical": (mse.Spherical, {}, "111000"),
    "PointOnLine": (mse.PointOnLine, {}, "110000"),
    "Joint": (mse.Joint, {"free": ("x", "y", "ay")}, "001101"),
    "Joint of one": (mse.Joint, {"free": ("x", "z", "ax", "ay", "az")}, "010000"),
    "Universal": (mse.Universal, {"axis": P, "second": Q}, None),
}  # fmt: skip
SEAT_A = Pose.dxdydz(0.2, 0.1, -0.3) @ Pose.rotation((0.4, -0.3, 0.2))
SEAT_B = Pose.dxdydz(-0.1, 0.15, 0.4) @ Pose.rotation((-0.2, 0.1, 0.5))


def pair(make, world: Pose = Pose(), swapped: bool = False) -> mse.MSystem:  # noqa: B008
    """Two heavy bodies on soft bushings, strained by weight in all directions, joined by what ``make(s, b, a)`` puts there."""
    s, floor = start(world, gravity=(3.0, -2.0, -9.0))
    a = put(s, "a", world @ Pose.rotation((0.1, 0.0, 0.2)), mass=4.0)
    b = put(s, "b", world @ Pose.dxdydz(0.4, 0.0, -0.8), mass=3.0, inertia=(0.2, 0.15, 0.1))
    for name, body, place, k in (("soft_a", a, Pose(), 1.0), ("soft_b", b, Pose.dxdydz(0.3, 0.0, -0.7), 0.6)):
        stiffness = k * np.array([120.0, 150.0, 140.0, 12.0, 15.0, 18.0])
        bushing = mse.Bushing(name, stiffness=stiffness, preload=[5.0, 8.0, -4.0, 1.0, -2.0, 1.5])
        join(s, bushing, body, Pose.dx(0.05), floor, place)
    make(s, b, a)
    return s


def jointed(kind, swapped=False, **more):
    cls, options, _ = JOINTS[kind]

    def make(s, b, a):
        if swapped:
            turned = {"axis": Q, "second": P} if kind == "Universal" else options
            join(s, cls("it", **turned, **more), a, SEAT_A, b, SEAT_B)
        else:
            join(s, cls("it", **options, **more), b, SEAT_B, a, SEAT_A)

    return make


def bushed(kind, stiff):
    directions = np.array([float(c) for c in JOINTS[kind][2]])
    return lambda s, b, a: join(s, mse.Bushing("it", stiffness=stiff * directions), b, SEAT_B, a, SEAT_A)


@pytest.mark.slow
@pytest.mark.parametrize("kind", JOINTS)
def test_a_turned_world_changes_no_reaction(kind):
    here, there = (pair(jointed(kind), world).find_working_point() for world in (Pose(), ANYWHERE))
    size = np.abs(here.reactions["it"]).max()
    assert size > 1.0
    np.testing.assert_allclose(there.reactions["it"], here.reactions["it"], atol=1e-8 * size)
    for body in ("a", "b"):
        moved = ANYWHERE @ here.poses[f"{body}.center"]
        assert there.poses[f"{body}.center"].is_close(moved, 1e-8, 1e-8)
    found, expected = (wp.linearize().modes().frequencies_hz for wp in (there, here))
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", JOINTS)
def test_the_reaction_balances_both_bodies(kind):
    """Weight, bushing and joint on each body, summed about the origin."""
    wp = pair(jointed(kind)).find_working_point()
    gravity = np.array([3.0, -2.0, -9.0])
    acts = in_world(wp, "it")
    for body, mass, sign in (("a", 4.0, 1.0), ("b", 3.0, -1.0)):
        weight = mass * gravity
        total = np.concatenate([weight, np.cross(wp.poses[f"{body}.center"].o, weight)]) + sign * acts
        soft = wp.forces[f"soft_{body}"][0]
        total += np.concatenate([soft[:3], soft[3:] + np.cross(wp.poses[f"soft_{body}.0"].o, soft[:3])])
        np.testing.assert_allclose(total, 0, atol=1e-8)
    on_b, on_a = wp.forces["it"]
    places = [wp.poses[f"it.{k}"].o for k in (0, 1)]
    for wrench, place, sign in ((on_b, places[0], -1), (on_a, places[1], 1)):
        about = np.concatenate([wrench[:3], wrench[3:] + np.cross(place, wrench[:3])])
        np.testing.assert_allclose(about, sign * acts, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Fixed", "Revolute", "Prismatic", "Cylindrical", "Planar", "Spherical", "Universal"])
def test_swapped_ends_are_the_same_joint(kind):
    """For joints whose freedoms are the same from both sides; the reaction changes its sign."""
    one, other = (pair(jointed(kind, swapped)).find_working_point() for swapped in (False, True))
    np.testing.assert_allclose(in_world(other, "it"), -in_world(one, "it"), atol=1e-7)
    np.testing.assert_allclose(
        other.linearize().modes().frequencies_hz, one.linearize().modes().frequencies_hz, rtol=1e-7
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", [k for k in JOINTS if k != "Universal"])
def test_a_stiff_bushing_becomes_the_joint(kind):
    """Poses, reactions and modes, under load, with an error that falls as one over its stiffness."""
    wp = pair(jointed(kind)).find_working_point()
    assert wp.stable
    expected = wp.linearize().modes().frequencies_hz
    free = len(expected)
    found, poses, forces = [], [], []
    for stiff in (1e6, 1e7):
        soft = pair(bushed(kind, stiff)).find_working_point(start=None)
        found.append(soft.linearize().modes().frequencies_hz[:free])
        poses.append(np.concatenate([soft.poses[f"{n}.center"].o for n in "ab"]))
        forces.append(soft.forces["it"][0])
    sought = np.concatenate([wp.poses[f"{n}.center"].o for n in "ab"])
    for values, right, size in (
        (found, expected, expected), (poses, sought, 1.0), (forces, wp.forces["it"][0], np.abs(wp.forces["it"]).max())
    ):  # fmt: skip
        far, near = (np.abs((v - right) / size).max() for v in values)
        assert near < 0.2 * far + 1e-9 and near < 1e-3
        np.testing.assert_allclose((10 * values[1] - values[0]) / 9 / size, right / size, rtol=0, atol=2e-6)


def two_hinges(s, b, a):
    """A cross of next to no mass between two hinges."""
    cross = put(s, "cross", mass=1e-7, inertia=1e-9)
    join(s, mse.Revolute("first", axis=P), cross, Pose(), a, SEAT_A)
    join(s, mse.Revolute("second", axis=Q), b, SEAT_B, cross, Pose())


def slide_and_hinge(s, b, a):
    cross = put(s, "cross", mass=1e-7, inertia=1e-9)
    join(s, mse.Prismatic("first"), cross, Pose(), a, SEAT_A)
    join(s, mse.Revolute("second"), b, SEAT_B, cross, Pose())


def slides_and_hinge(s, b, a):
    one, two = put(s, "one", mass=1e-7, inertia=1e-9), put(s, "two", mass=1e-7, inertia=1e-9)
    join(s, mse.Prismatic("first", axis=(1, 0, 0)), one, Pose(), a, SEAT_A)
    join(s, mse.Prismatic("second", axis=(0, 1, 0)), two, Pose(), one, Pose())
    join(s, mse.Revolute("third"), b, SEAT_B, two, Pose())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "chain"), [("Universal", two_hinges), ("Cylindrical", slide_and_hinge), ("Planar", slides_and_hinge)]
)
def test_a_joint_of_several_freedoms_is_a_chain_of_single_ones(kind, chain):
    wp, other = pair(jointed(kind)).find_working_point(), pair(chain).find_working_point()
    np.testing.assert_allclose(in_world(other, "first"), in_world(wp, "it"), atol=1e-4)
    np.testing.assert_allclose(
        other.linearize().modes().frequencies_hz, wp.linearize().modes().frequencies_hz, rtol=3e-6
    )
    values = [x for name, x in other.joint_coordinates.items()]
    np.testing.assert_allclose(values, list(wp.joint_coordinates.values()), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Revolute", "Prismatic", "Universal", "Spherical", "Cylindrical"])
def test_a_spring_at_a_joint_takes_what_a_motor_held(kind):
    """A motor where the joint is at rest carries nothing; elsewhere a preload of its reaction takes its place."""
    names = JOINTS[kind][0]("it", **JOINTS[kind][1]).joint_coordinates
    free = pair(jointed(kind)).find_working_point()
    rest = np.array([free.joint_coordinates[f"it.{n}"] for n in names])
    held = pair(jointed(kind, motor=["position"] * len(names), position=rest)).find_working_point()
    np.testing.assert_allclose(in_world(held, "it"), in_world(free, "it"), atol=1e-7)
    away = rest + 0.1
    held = pair(jointed(kind, motor=["position"] * len(names), position=away)).find_working_point()
    assert np.abs(in_world(held, "it") - in_world(free, "it")).max() > 0.1
    # forces on the coordinates: what the motors do to frame 0
    obj = JOINTS[kind][0]("it", **JOINTS[kind][1])
    frames = [held.poses[f"it.{k}"] for k in (0, 1)]
    slopes = obj.output_map(frames)
    wrench = held.forces["it"].ravel()
    given = np.linalg.lstsq(
        np.vstack([slopes, obj.constraint_terms(frames, (), np.zeros(0), np.zeros(obj.constraint_count), 1)[1]]).T,
        wrench,
        rcond=None,
    )[0]
    pushed = pair(jointed(kind, preload=given[: len(names)])).find_working_point()
    found = [pushed.joint_coordinates[f"it.{n}"] for n in names]
    np.testing.assert_allclose(found, away, atol=1e-6)
    np.testing.assert_allclose(pushed.forces["it"].ravel(), wrench, atol=1e-5)


def test_joints_between_bodies_that_cannot_move_are_solved_in_silence(capfd):
    s = mse.MSystem("bench", gravity=(0, 0, -9.81))
    for name, x in (("left", 0.0), ("right", 1.0)):
        body = s.add(mse.RigidBody(name, mass=1.0, inertia=0.1, at=Pose.dx(x)))
        s.clamp(s.ground, body.frame(0), Pose.dx(x))
    joint = s.add(mse.Spherical("joint"))
    s.clamp(s["left"].frame(0), joint.frame(0), Pose.dx(0.5))
    s.clamp(s["right"].frame(0), joint.frame(1), Pose.dx(-0.5))
    wp = s.find_working_point()
    assert wp.stable and len(wp.redundant) == 3 and not len(wp.free)
    assert capfd.readouterr() == ("", "")
