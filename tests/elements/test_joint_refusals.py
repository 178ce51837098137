"""Joints given badly, or asked for what cannot be: refused by name, value, expectation and remedy; files; users' own joints."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.errors import ModelError, MseError, UnknownNameError
from test_joint_statics import G, join, put, start


def refused(error, *words):
    """A context that expects an error which says all of these words."""
    return pytest.raises(error, match="(?s)" + "".join(f"(?=.*{w})" for w in words))


# -- parameters -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("cls", "options", "words"),
    [
        (mse.Revolute, {"axis": (0, 0, 0)}, ["Revolute 'it'", "axis is", "no direction", "non-zero length"]),
        (mse.Prismatic, {"axis": (0, np.nan, 1)}, ["Prismatic 'it'", "axis", "nan", "finite"]),
        (mse.Planar, {"axis": (1, 0)}, ["Planar 'it'", "axis", r"shape \(3,\)"]),
        (mse.Universal, {"axis": (1, 0, 0), "second": (1, 1, 0)}, ["Universal 'it'", "45 degrees", "perpendicular"]),
        (mse.Universal, {"axis": (1, 0, 0), "second": (1, 0, 0)}, ["Universal 'it'", "0 degrees", "perpendicular"]),
        (mse.Revolute, {"stiffness": np.nan}, ["Revolute 'it'", "stiffness is nan", "finite"]),
        (mse.Revolute, {"stiffness": "3"}, ["stiffness is '3'", "finite number"]),
        (mse.Revolute, {"stiffness": 3j}, ["stiffness is 3j"]),
        (mse.Revolute, {"rest": np.inf}, ["rest is inf"]),
        (mse.Revolute, {"stiffness": (1.0, 2.0)}, [r"stiffness is \(1.0, 2.0\)", "its coordinates are angle"]),
        (mse.Revolute, {"damping": -1.0}, ["damping is -1.0", "at least 0"]),
        (mse.Cylindrical, {"damping": {"angle": -0.1}}, ["damping is -0.1", "at least 0"]),
        (mse.Cylindrical, {"stiffness": 3.0}, ["stiffness is 3.0", "mapping", "displacement"]),
        (mse.Cylindrical, {"stiffness": (3.0,)}, ["its coordinates are displacement, angle"]),
        (mse.Revolute, {"motor": "positon"}, ["motor is 'positon'", "'none', 'force', 'position'"]),
        (mse.Revolute, {"motor": None}, ["motor is None", "'force'"]),
        (mse.Spherical, {"motor": "force"}, ["motor is 'force'", "mapping", "'ax'"]),
        (mse.Revolute, {"position": None}, ["position is None"]),
        (mse.Revolute, {"lower": "low"}, ["lower is 'low'"]),
        (mse.Joint, {"free": "z"}, ["free is 'z'", "tuple"]),
        (mse.Joint, {"free": ("z", "w")}, ["free is", "'w'", "'x', 'y', 'z'"]),
        (mse.Joint, {"free": ("z", "z")}, ["free is"]),
        (mse.Joint, {"stiffness": 1.0}, ["stiffness is 1.0"]),
        (mse.Rod, {"length": 0.0}, ["Rod 'it'", "length is 0.0", "greater than 0"]),
        (mse.Rod, {"length": -1.0}, ["length is -1.0", "greater than 0"]),
        (mse.Rod, {"length": np.nan}, ["length is nan", "finite"]),
    ],
)  # fmt: skip
def test_a_bad_parameter_is_refused(cls, options, words):
    with refused(ModelError, *words):
        cls("it", **options)


@pytest.mark.parametrize(
    ("cls", "options", "words"),
    [
        (mse.Revolute, {"stiffness": {"angel": 3.0}}, ["stiffness", "'angel'", "did you mean 'angle'"]),
        (mse.Planar, {"motor": {"z": "force"}}, ["motor", "'z'", "angle"]),
        (mse.Cylindrical, {"lower": {"displacment": 0.0}}, ["lower", "did you mean 'displacement'"]),
    ],
)  # fmt: skip
def test_a_wrong_coordinate_name_is_refused_with_the_nearest(cls, options, words):
    with refused(UnknownNameError, cls.__name__, *words):
        cls("it", **options)


def test_limits_the_wrong_way_round_are_refused():
    with refused(ModelError, "Revolute 'it'", "lower", "1", "upper", "-1"):
        mse.Revolute("it", lower=1.0, upper=-1.0)


def test_a_number_in_an_array_of_no_dimension_is_a_number():
    assert mse.Revolute("it", stiffness=np.array(3.0)).stiffness == (3.0,)


def test_freedoms_changed_afterwards_ask_for_springs_anew():
    """What was given for one coordinate cannot be left to others: refused when changed, or when used."""
    joint = mse.Joint("it", free=("z",), stiffness=3.0)
    s, floor = start()
    join(s, joint, put(s, "body"), Pose(), floor, Pose())
    with refused(ModelError, "Joint 'it'", "stiffness"):
        joint.free = ("z", "az")
        s.find_working_point()


def test_axes_changed_one_after_the_other():
    joint = mse.Universal("it")
    joint.axis, joint.second = (0, 1, 0), (0, 0, 1)
    s, floor = start()
    join(s, joint, put(s, "body", Pose.dx(0.1)), Pose.dx(-0.1), floor, Pose())
    joint.second = (0, 1, 1)
    with refused(ModelError, "Universal 'it'", "45 degrees", "perpendicular"):
        s.find_working_point()


# -- gears ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("joints", [None, {}, ["a"], {"a": 0}, {"a": np.nan}, {"a": "2"}, {"a": 1j}, {3: 1.0}])
def test_bad_ratios_are_refused(joints):
    with refused(ModelError, "Gear 'it'", "ratio"):
        mse.Gear("it", joints=joints)


def geared(joints) -> mse.MSystem:
    s, floor = start(gravity=(0, 0, 0))
    for k, joint in enumerate(
        (mse.Revolute("hinge"), mse.Cylindrical("slide"), mse.Fixed("weld"), mse.Rod("rod", length=1.0))
    ):
        arm = Pose.dx(1.0) if isinstance(joint, mse.Rod) else Pose()
        join(s, joint, put(s, f"body{k}", Pose.dy(k)), arm, floor, Pose.dy(k))
    s.add(mse.Gear("mesh", joints=joints))
    return s


@pytest.mark.parametrize(
    ("joints", "words"),
    [
        ({"hing": 1.0}, ["'hing'", "did you mean 'hinge'"]), ({"up.hinge": 1.0}, ["'up.hinge'"]),
        ({"hinge.angel": 1.0}, ["'angel'", "angle"]), ({"hinge": 1.0, "slide": 2.0}, ["slide.displacement"]),
        ({"weld": 1.0}, ["'weld'", "Fixed", "joint with coordinates"]), ({"rod": 1.0}, ["Rod", "joint with coordinates"]),
        ({"body0": 1.0}, ["RigidBody", "joint with coordinates"]), ({"hinge.": 1.0}, ["hinge"]), ({"": 1.0}, ["''"]),
    ],
)  # fmt: skip
def test_a_gear_that_names_no_coordinate_is_refused(joints, words):
    with refused(MseError, "Gear 'mesh'", *words):
        geared(joints).find_working_point()


def test_a_gear_that_names_one_coordinate_twice_is_one_with_their_sum():
    s = geared({"hinge": 1.0, "hinge.angle": 1.0, "slide.angle": -1.0})
    s["hinge"].motor, s["hinge"].position = "position", 0.3
    assert s.find_working_point().joint_coordinates["slide.angle"] == pytest.approx(0.6, rel=1e-10)


# -- joints that cannot be what they should -----------------------------------------------------------------------------
def rope(links: int, span: float, cls=mse.Spherical) -> mse.MSystem:
    s, floor = start()
    above, seat = floor, Pose()
    for k in range(links):
        body = put(s, f"b{k}", Pose.dx(k + 0.5), mass=1.0, inertia=0.01)
        join(s, cls(f"ball{k}"), body, Pose.dx(-0.5), above, seat)
        above, seat = body, Pose.dx(0.5)
    join(s, cls("last"), above, seat, floor, Pose.dx(span))
    return s


@pytest.mark.slow
def test_a_rope_too_short_is_refused():
    with refused(ModelError, "cannot be put together", "ball1", "last", "misses by 0.", "lengths", "remove"):
        rope(3, 3.5).find_working_point()


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["on a body", "on the ground"])
def test_both_frames_in_one_place(ends):
    """Where they fit, the joint is redundant and carries nothing; where they do not, it is named."""
    for off, good in ((0.0, True), (0.2, False)):
        s, floor = start()
        body = put(s, "body", Pose.dz(-0.5))
        join(s, mse.Revolute("hinge", axis=(0, 1, 0)), body, Pose.dz(0.5), floor, Pose())
        seat = body if ends == "on a body" else s.ground
        join(s, mse.Revolute("idle", motor="force", damping=1.0), seat, Pose(), seat, Pose.dx(off))
        if not good:
            with refused(ModelError, "idle", "misses by 0.2"):
                s.find_working_point()
            continue
        wp = s.find_working_point()
        np.testing.assert_array_equal(wp.reactions["idle"], np.zeros(6))
        assert sum(d.count for d in wp.redundant) == 5 and {j for d in wp.redundant for j in d.joints} == {"idle"}
        linear = wp.linearize()
        assert len(linear.modes()) == 1 == wp.freedoms
        r = linear.frequency_response([0.0, 1.0])
        assert not r["idle.angle", "idle.torque"].any() and not r["hinge.angle", "idle.torque"].any()


def test_two_motors_that_contradict_each_other_are_refused():
    s = four_bar("position", "position")
    with refused(ModelError, "cannot be put together", "hinge0", "motors' positions"):
        s.find_working_point()


def four_bar(first="none", second="none", at=(0.1, 0.9)) -> mse.MSystem:
    s, floor = start()
    above, seat = floor, Pose()
    place = np.zeros(3)
    for k, (length, lean, motor) in enumerate(((1.0, np.pi / 2, first), (1.5, 0.2, second), (1.2, -1.27, "none"))):
        u = np.array([np.cos(lean), 0.0, np.sin(lean)])
        body = put(s, f"rod{k}", Pose(place + 0.5 * length * u, Pose.ry(-lean).U), mass=1.0)
        hinge = mse.Revolute(
            f"hinge{k}", axis=(0, 1, 0), motor=motor, position=at[k] if k < 2 and motor == "position" else 0.0
        )
        join(s, hinge, body, Pose.dx(-0.5 * length), above, seat)
        above, seat = body, Pose.dx(0.5 * length)
        place = place + length * u
    join(s, mse.Revolute("hinge3", axis=(0, 1, 0)), above, seat, floor, Pose(place))
    return s


def test_two_motors_that_agree_stand_but_cannot_both_move():
    free = four_bar("position", at=(-1.2, 0.0)).find_working_point()
    angles = [free.joint_coordinates[f"hinge{k}.angle"] for k in range(2)]
    wp = four_bar("position", "position", at=angles).find_working_point()
    assert wp.freedoms == 0 and sum(d.count for d in wp.redundant) == 4
    with refused(ModelError, "hinge0.angle, hinge1.angle", "blocked or decided", "remove a motor"):
        wp.linearize()
    assert four_bar("force", "force").find_working_point().linearize().inputs == ("hinge0.torque", "hinge1.torque")


def test_a_motor_blocked_by_a_weld_is_refused():
    s, floor = start()
    body = put(s, "body", Pose.dx(1.0))
    join(s, mse.Revolute("hinge", axis=(0, 1, 0), motor="position"), body, Pose.dx(-1.0), floor, Pose())
    join(s, mse.Fixed("weld"), body, Pose(), floor, Pose.dx(1.0))
    wp = s.find_working_point()
    with refused(ModelError, "hinge.angle", "blocked", "weld", "motor='force'"):
        wp.linearize()


@pytest.mark.parametrize("redundant", [False, True])
def test_a_frame_that_joints_leave_no_motion(redundant):
    """A body on six rods or seven: carried, linear, and without a mode."""
    s, floor = start()
    body = put(s, "body", Pose.dz(1.0), mass=4.0)
    rng = np.random.default_rng(3)
    on, off = rng.uniform(-0.5, 0.5, (7, 3)), rng.uniform(-1, 1, (7, 3)) * (1, 1, 0)
    for k in range(7 if redundant else 6):
        join(
            s,
            mse.Rod(f"rod{k}", length=np.linalg.norm(on[k] + [0, 0, 1] - off[k])),
            body,
            Pose(on[k]),
            floor,
            Pose(off[k]),
        )
    push = s.add(mse.ForceActuator("push"))
    s.clamp(floor, push.frame(0))
    s.clamp(body, push.frame(1))
    wp = s.find_working_point()
    assert wp.freedoms == 0 and wp.stable and "leave no motion" in repr(wp)
    assert sum(d.count for d in wp.redundant) == (1 if redundant else 0)
    n = off - on - [0, 0, 1]
    n /= np.linalg.norm(n, axis=1)[:, None]
    lines = np.hstack([n, np.cross(on, n)])[: len(wp.reactions)].T
    tension = np.array([wp.reactions[f"rod{k}"][0] for k in range(lines.shape[1])])
    np.testing.assert_allclose(lines @ tension, [0, 0, 4 * G, 0, 0, 0], atol=1e-8)
    linear = wp.linearize()
    for damped in (False, True):
        assert len(linear.modes(damped=damped)) == 0 and repr(linear.modes(damped=damped))
    r = linear.frequency_response([0.0, 1.0])
    pull = np.array([r[f"rod{k}.tension", "push.fz"] for k in range(lines.shape[1])])
    np.testing.assert_allclose(lines @ pull, np.outer([0, 0, -1.0, 0, 0, 0], [1, 1]), atol=1e-10)
    # nothing moves: what weight does, a force like it does, however redundant rods share it
    np.testing.assert_allclose(pull[:, 0] * -4 * G, tension, rtol=1e-8)
    assert linear.null_space().independent == () and linear.state_space().states == ()
    assert len(linear.simulate(duration=0.2, dt=0.1).time) == 3


def test_a_truss_of_two_nodes():
    s, floor = start()
    feet = np.array([[0, 0, 0], [1, 0, 0], [0.5, 1, 0]])
    tops = np.array([[0.3, 0.2, 1.0], [0.9, 0.6, 1.2]])
    nodes = [put(s, f"node{k}", Pose(p), mass=2.0) for k, p in enumerate(tops)]
    bars = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2)]
    for n, f in bars:
        join(s, mse.Rod(f"bar{n}{f}", length=np.linalg.norm(tops[n] - feet[f])), nodes[n], Pose(), floor, Pose(feet[f]))
    join(s, mse.Rod("tie", length=np.linalg.norm(tops[0] - tops[1])), nodes[0], Pose(), nodes[1], Pose())
    wp = s.find_working_point()
    a = np.zeros((6, 6))
    for k, (n, f) in enumerate(bars):
        a[3 * n : 3 * n + 3, k] = (feet[f] - tops[n]) / np.linalg.norm(feet[f] - tops[n])
    a[:3, 5] = (tops[1] - tops[0]) / np.linalg.norm(tops[1] - tops[0])
    a[3:, 5] = -a[:3, 5]
    expected = np.linalg.solve(a, [0, 0, 2 * G] * 2)
    found = [wp.reactions[n][0] for n in (*(f"bar{n}{f}" for n, f in bars), "tie")]
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    # the nodes only turn, about their own centers
    assert len(wp.free) == 6 and not wp.linearize().modes().frequencies_hz.any()


# -- files, copies, systems in systems ----------------------------------------------------------------------------------
def everything(geared: bool = True) -> mse.MSystem:
    """All joints, in a row of bodies on soft bushings; a gear on three of them, one three turns round."""
    s, floor = start(gravity=(0.5, 1.0, -9.0))
    joints = [
        mse.Revolute("revolute", axis=(1, 2, 2), motor="position", position=19.0, lower=-1.0, upper=18.0),
        mse.Prismatic("prismatic", axis=(1, 0, 1), stiffness=90.0, lower=None, upper=5.0),
        mse.Cylindrical("cylindrical", stiffness={"displacement": 70.0}, damping=(1.0, 0.2), motor=("none", "force")),
        mse.Planar("planar", axis=(0, 1, 1), preload=(1.0, 2.0, 0.1)),
        mse.Universal("universal", axis=(0, 1, 0), second=(0, 0, 1), rest=(0.1, 0.2), stiffness=(5.0, 6.0)),
        mse.Spherical("spherical", damping=(0.1, 0.2, 0.3)),
        mse.PointOnLine("point", axis=(0, 0, 1), stiffness={"displacement": 100.0}),
        mse.Joint("joint", free=("x", "ay", "az")),
        mse.Fixed("fixed"),
        mse.Rod("rod", length=0.8),
    ]
    for k, joint in enumerate(joints):
        body = put(s, f"b{k}", Pose.dxdydz(k, 0.0, -0.8 if joint.name == "rod" else 0.0))
        arm = Pose() if joint.name == "rod" else Pose.dz(0.1)
        join(s, joint, body, arm, floor, Pose.dx(k))
        soft = mse.Bushing(f"soft{k}", stiffness=[50.0, 60.0, 70.0, 5.0, 6.0, 7.0])
        if joint.name != "revolute":
            join(s, soft, body, Pose(), floor, Pose.dxdydz(k, 0.05, -0.75 if joint.name == "rod" else -0.1))
    if geared:
        s.add(mse.Gear("gear", joints={"revolute": 0.1, "cylindrical.angle": -1.0, "prismatic": 0.5}, offset=1.8))
    return s


def same(one, other, prefix: str = "", close: float = 1e-9) -> None:
    """Two working points of the same system, the other one perhaps as a part named in the prefix."""
    for name in one.reactions:
        np.testing.assert_allclose(other.reactions[prefix + name], one.reactions[name], atol=close)
    for name, value in one.joint_coordinates.items():
        assert other.joint_coordinates[prefix + name] == pytest.approx(value, abs=close)


def test_all_joints_through_a_file(tmp_path):
    s = everything()
    wp = s.find_working_point()
    assert wp.joint_coordinates["revolute.angle"] == pytest.approx(19.0, rel=1e-12)
    assert len(wp.exceeded) == 1 and "revolute.angle is 19 rad" in wp.exceeded[0]
    s.save(tmp_path / "system.json")
    wp.save(tmp_path / "point.json")
    back = mse.read_model(tmp_path / "system.json")
    for obj in s.walk():
        assert type(back[obj.name]) is type(obj) and repr(back[obj.name].parameters) == repr(obj.parameters)
    assert back["gear"].ratios == s["gear"].ratios
    same(wp, back.find_working_point())
    there = mse.read_model(tmp_path / "point.json")
    same(wp, there, close=1e-10)
    np.testing.assert_array_equal(there.state.U, wp.state.U)
    assert there.exceeded == wp.exceeded and there.freedoms == wp.freedoms and str(there) == str(wp)
    found, expected = (p.linearize().modes().frequencies_hz for p in (there, wp))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_copies_are_independent():
    s = everything()
    wp = s.find_working_point()
    other = s.copy("other")
    same(wp, other.find_working_point())
    other["gear"].offset = 1.7
    other["revolute"].position = 18.0
    assert s["gear"].offset == 1.8 and s["revolute"].position == (19.0,)
    same(wp, s.find_working_point())
    joint = s["cylindrical"].copy("again")
    assert joint.stiffness == (70.0, 0.0) and joint.motor == ("none", "force") and joint.system is None
    assert s["gear"].copy("second").ratios == s["gear"].ratios
    # a result keeps what it was solved with
    s["revolute"].position = 3.0
    assert wp.joint_coordinates["revolute.angle"] == pytest.approx(19.0, rel=1e-12)
    assert set(wp.linearize().inputs) == {"revolute.angle", "cylindrical.torque"}


@pytest.mark.slow
@pytest.mark.parametrize("outside", [False, True])
def test_joints_and_gears_in_systems_in_systems(outside, tmp_path):
    inner = everything()
    wp = inner.find_working_point()
    part = everything(geared=not outside).copy("part")
    middle, outer = mse.MSystem("middle"), mse.MSystem("outer", gravity=(0.5, 1.0, -9.0))
    middle.add(part)
    outer.add(middle)
    middle.clamp(middle.ground, part.ground)
    outer.clamp(outer.ground, middle.ground)
    if outside:
        gear = inner["gear"]
        ratios = {f"middle.part.{name}": r for name, r in gear.ratios.items()}
        outer.add(mse.Gear("gear", joints=ratios, offset=gear.offset))
    found = outer.find_working_point()
    for name in wp.reactions:
        path = name if name == "gear" and outside else f"middle.part.{name}"
        np.testing.assert_allclose(found.reactions[path], wp.reactions[name], atol=1e-8)
    np.testing.assert_allclose(
        found.linearize().modes().frequencies_hz, wp.linearize().modes().frequencies_hz, rtol=1e-8
    )
    outer.save(tmp_path / "outer.json")
    again = mse.read_model(tmp_path / "outer.json").find_working_point()
    same(found, again)
