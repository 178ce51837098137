"""Joints as elements: what they hold, what they leave free and their springs, against plain laws and exact motions."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mse
from mse import Pose
from mse.elements.base import FramePose
from mse.elements.recorded_laws import differentiated, differentiated_constraint
from mse.model.topology import Topology
from test_elements import difference, moved, rigid_motions

AXES = ("x", "y", "z", "ax", "ay", "az")
SUBSETS = [s for k in range(7) for s in itertools.combinations(AXES, k)]
N = np.array([1.0, -2.0, 2.0]) / 3.0
P, Q = np.array([2.0, 1.0, 0.0]) / np.sqrt(5.0), np.array([1.0, -2.0, 0.0]) / np.sqrt(5.0)
SEEDS = pytest.mark.parametrize("seed", range(2))


def turn(vector) -> Pose:
    return Pose(U=Rotation.from_rotvec(np.asarray(vector, dtype=float)).as_matrix())


def shift(vector) -> Pose:
    return Pose(np.asarray(vector, dtype=float))


def general(free):
    """The motion of ``Joint(free=free)``: slides along frame 1, then turns in cyclic order."""
    turns = [k for k in range(3) if AXES[3 + k] in free]
    order = {(0, 2): (2, 0)}.get(tuple(turns), tuple(turns))  # z comes before x

    def motion(values):
        given = dict(zip(free, values, strict=True))
        out = shift([given.get(a, 0.0) for a in "xyz"])
        if len(turns) == 3:
            return out @ turn([given[a] for a in AXES[3:]])
        return functools.reduce(lambda p, k: p @ turn(given[AXES[3 + k]] * np.eye(3)[k]), order, out)

    return motion


# class, options, coordinates, and the pose of frame 0 seen from frame 1 that their values make
JOINTS = {
    "Revolute": (mse.Revolute, {"axis": 3 * N}, ("angle",), lambda v: turn(v[0] * N)),
    "Prismatic": (mse.Prismatic, {"axis": 2 * N}, ("displacement",), lambda v: shift(v[0] * N)),
    "Cylindrical": (
        mse.Cylindrical, {"axis": N}, ("displacement", "angle"), lambda v: shift(v[0] * N) @ turn(v[1] * N)
    ),
    "Planar": (
        mse.Planar, {"axis": (1, 0, 0)}, ("x", "y", "angle"),
        lambda v: shift((0, v[0], v[1])) @ turn((v[2], 0, 0)),
    ),
    "Universal": (
        mse.Universal, {"axis": P, "second": Q}, ("angle1", "angle2"), lambda v: turn(v[0] * P) @ turn(v[1] * Q)
    ),
    "Spherical": (mse.Spherical, {}, ("ax", "ay", "az"), turn),
    "PointOnLine": (
        mse.PointOnLine, {"axis": N}, ("displacement", "ax", "ay", "az"), None,  # its turns are along other axes
    ),
    "Fixed": (mse.Fixed, {}, (), lambda v: Pose()),
} | {f"Joint {' '.join(s) or 'none'}": (mse.Joint, {"free": s}, s, general(s)) for s in SUBSETS}  # fmt: skip
EVERY = pytest.mark.parametrize("kind", JOINTS)
MOVING = {k: v for k, v in JOINTS.items() if v[2]}
LEADING = {k: v for k, v in JOINTS.items() if v[3] is not None}


def make(kind, **more) -> mse.MObject:
    cls, options, _, _ = JOINTS[kind]
    return cls("it", **options, **more)


def anywhere(seed: int, count: int = 2) -> list[FramePose]:
    """Frames at random places, turned against each other by up to some two radians."""
    rng = np.random.default_rng([seed, 11])
    common = Rotation.random(rng=rng)
    turned = [Rotation.from_rotvec(rng.uniform(-1.2, 1.2, 3)) * common for _ in range(count)]
    return [FramePose(rng.normal(size=3), r.as_matrix()) for r in turned]


def joined(relative: Pose, seed: int) -> list[FramePose]:
    """Frames 0 and 1 of which 0 has that pose as seen from 1, which is anywhere."""
    rng = np.random.default_rng([seed, 12])
    one = Pose(rng.normal(size=3), Rotation.random(rng=rng).as_matrix())
    zero = one @ relative
    return [FramePose(zero.o, zero.U), FramePose(one.o, one.U)]


def values_for(names, seed: int, most: float = 1.2) -> np.ndarray:
    return np.random.default_rng([seed, 13]).uniform(-most, most, len(names))


def kernel_terms(obj, frames, multipliers, memory=None):
    """What the compiled kernel says of one joint."""
    m = obj.constraint_count
    out = np.zeros((1, m)), np.zeros((1, m, 12)), np.zeros((1, 12, 12))
    memory = obj.remember(frames) if memory is None else memory
    type(obj).constraint_kernel(
        np.array([obj.kernel_parameters()]), np.array([[f.o for f in frames]]), np.array([[f.U for f in frames]]),
        memory[None].copy(), np.asarray(multipliers)[None], 2, *out,
    )  # fmt: skip
    return tuple(a[0] for a in out)


def all_motors(kind) -> dict:
    names = JOINTS[kind][2]
    return {"motor": ["position"] * len(names), "position": np.linspace(0.1, 0.5, len(names))} if names else {}


# -- the kernel against the law ---------------------------------------------------------------------------------------
@pytest.mark.slow
@EVERY
@SEEDS
@pytest.mark.parametrize("driven", [False, True])
def test_the_kernel_and_exact_derivatives_of_the_plain_law_agree(kind, seed, driven):
    obj, frames = make(kind, **(all_motors(kind) if driven else {})), anywhere(seed)
    given = np.random.default_rng(seed).normal(size=obj.constraint_count)
    found, expected = kernel_terms(obj, frames, given), differentiated_constraint(obj, frames, (), given, 2)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * max(1.0, np.abs(b).max(initial=0.0)))


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 0.3, 0.7953, 0.7954, 0.7955, 1.6, 2.8, 3.1])
@pytest.mark.parametrize("kind", ["Revolute", "Universal", "Spherical", "Fixed", "Joint none"])
def test_the_kernel_is_right_at_turns_of_every_size(kind, angle):
    obj = make(kind, **all_motors(kind))
    direction = np.array([0.3, -0.5, 0.8])
    frames = joined(Pose((0.1, 0.2, -0.3), turn(angle * direction / np.linalg.norm(direction)).U), 4)
    given = np.linspace(-1, 1, obj.constraint_count)
    for a, b in zip(
        kernel_terms(obj, frames, given), differentiated_constraint(obj, frames, (), given, 2), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=3e-10 * max(1.0, np.abs(b).max(initial=0.0)))


@pytest.mark.parametrize("kind", MOVING)
@SEEDS
def test_springs_in_the_kernel_are_those_of_the_plain_law(kind, seed):
    names = JOINTS[kind][2]
    rng = np.random.default_rng([seed, 3])
    obj = make(
        kind,
        stiffness=rng.uniform(1, 5, len(names)),
        rest=rng.normal(size=len(names)),
        preload=rng.normal(size=len(names)),
    )
    frames = anywhere(seed)
    value, slope, parts = obj.evaluate(frames, (), None, 2)
    expected, first, second = differentiated(obj, frames, np.zeros(0), np.zeros(3), 2)
    assert value == pytest.approx(expected, rel=1e-13, abs=1e-13)
    np.testing.assert_allclose(slope, first, rtol=0, atol=1e-12 * np.abs(first).max())
    np.testing.assert_allclose(parts.sum(axis=0), second.sum(axis=0), rtol=0, atol=1e-12 * np.abs(second).max())


@pytest.mark.parametrize("kind", LEADING)
@SEEDS
def test_springs_hold_what_the_exact_motion_says(kind, seed):
    """``W = sum k/2 (c - rest)^2 - preload c`` with c put in by a motion made of turns and slides."""
    names, motion = JOINTS[kind][2:]
    if not names:
        return
    c = values_for(names, seed, 0.9)
    k, rest, preload = np.random.default_rng([seed, 5]).uniform(0.5, 3, (3, len(names)))
    obj = make(kind, stiffness=k, rest=rest, preload=preload)
    found = obj.evaluate(joined(motion(c), seed), (), None, 0)[0]
    assert found == pytest.approx(0.5 * k @ (c - rest) ** 2 - preload @ c, rel=1e-12, abs=1e-12)


# -- what is free and what is not -------------------------------------------------------------------------------------
@EVERY
def test_a_joint_holds_six_less_its_freedoms(kind):
    obj = make(kind)
    names = JOINTS[kind][2]
    assert obj.constraint_count == 6 - len(names)
    if not isinstance(obj, mse.Fixed):
        assert obj.joint_coordinates == names
        assert make(kind, **all_motors(kind)).constraint_count == 6


@pytest.mark.parametrize("kind", LEADING)
@SEEDS
def test_the_motion_of_a_joint_is_free_as_far_as_it_goes(kind, seed):
    obj = make(kind)
    names, motion = JOINTS[kind][2:]
    c = values_for(names, seed)
    frames = joined(motion(c), seed)
    np.testing.assert_allclose(obj.constraint(frames, ()), 0, atol=1e-14)
    np.testing.assert_allclose(kernel_terms(obj, frames, np.zeros(obj.constraint_count))[0], 0, atol=1e-14)
    if names:
        found = obj.values_at(frames, obj.remember(frames))
        assert list(found) == list(names)
        np.testing.assert_allclose(list(found.values()), c, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LEADING)
@SEEDS
def test_nothing_else_is_free(kind, seed):
    """All small motions of frame 0 that the slopes allow are those of its coordinates, and nothing more."""
    obj = make(kind)
    names, motion = JOINTS[kind][2:]
    c = values_for(names, seed)
    frames = joined(motion(c), seed)
    one = Pose(frames[1].o, frames[1].U)
    jacobian = kernel_terms(obj, frames, np.zeros(obj.constraint_count))[1]
    size = np.linalg.svd(jacobian[:, :6], compute_uv=False)
    assert np.all(size > 0.1)

    def place(x):
        p = one @ motion(c + x)
        return np.concatenate([p.o, Rotation.from_matrix(p.U @ frames[0].U.T).as_rotvec()])

    if names:
        along = difference(place, len(names), h=0.01)
        assert np.linalg.matrix_rank(along, tol=1e-3) == len(names)
        np.testing.assert_allclose(jacobian[:, :6] @ along, 0, atol=1e-9)
    # and a common motion of both frames is never held
    np.testing.assert_allclose(jacobian @ rigid_motions(frames, 12), 0, atol=1e-14)


@pytest.mark.parametrize(
    ("kind", "relative"),
    [
        ("Revolute", shift((0, 0, 1e-3))), ("Revolute", turn(1e-3 * P)), ("Prismatic", shift(1e-3 * np.cross(N, P))),
        ("Prismatic", turn(1e-3 * N)), ("Cylindrical", shift(1e-3 * np.cross(N, P))), ("Cylindrical", turn(1e-3 * P)),
        ("Planar", shift((1e-3, 0, 0))), ("Planar", turn((0, 1e-3, 0))), ("Universal", turn((0, 0, 1e-3))),
        ("Universal", shift(1e-3 * P)), ("Spherical", shift((0, 1e-3, 0))), ("PointOnLine", shift(1e-3 * np.cross(N, P))),
        ("Fixed", shift((1e-3, 0, 0))), ("Fixed", turn((0, 0, 1e-3))),
    ],
)  # fmt: skip
def test_what_is_held_is_missed_by_as_much(kind, relative):
    missed = np.linalg.norm(make(kind).constraint(joined(relative, 1), ()))
    assert missed == pytest.approx(1e-3, rel=1e-6)


@SEEDS
def test_a_point_on_a_line_turns_as_it_likes(seed):
    obj = make("PointOnLine")
    frames = joined(shift(0.7 * N) @ turn(values_for("abc", seed)), seed)
    np.testing.assert_allclose(obj.constraint(frames, ()), 0, atol=1e-14)
    found = obj.values_at(frames, obj.remember(frames))
    assert found["displacement"] == pytest.approx(0.7, rel=1e-14)
    angles = np.array([found[a] for a in ("ax", "ay", "az")])
    assert np.linalg.norm(angles) == pytest.approx(np.linalg.norm(values_for("abc", seed)), rel=1e-12)


@pytest.mark.parametrize(
    "axis", [(0, 0, 1), (0, 0, -3), (0, 1, 0), (0, -1, 0), (1, 0, 0), (-1, 0, 0), (1, 1, 1), (-1, 2, 0)]
)
def test_angles_turn_about_the_axis_as_it_points(axis):
    n = np.array(axis) / np.linalg.norm(axis)
    for cls in (mse.Revolute, mse.Cylindrical, mse.Planar):
        obj = cls("it", axis=axis)
        frames = joined(turn(0.4 * n), 2)
        assert obj.values_at(frames, np.zeros(12))["angle"] == pytest.approx(0.4, rel=1e-13)
    for cls in (mse.Prismatic, mse.Cylindrical, mse.PointOnLine):
        frames = joined(shift(0.4 * n), 2)
        assert cls("it", axis=axis).values_at(frames, np.zeros(12))["displacement"] == pytest.approx(0.4, rel=1e-13)


# -- reactions, damping and channels ----------------------------------------------------------------------------------
@EVERY
def test_constraints_are_told_in_meters_or_radians(kind):
    """A unit displacement along each axis changes what is told in meters alone; turns of frame 0 about its origin the rest."""
    obj, frames = make(kind, **all_motors(kind)), joined(Pose(), 3)
    slopes = differentiated_constraint(obj, frames, (), np.zeros(obj.constraint_count), 1)[1]
    moves = np.abs(slopes[:, :3]).max(axis=1, initial=0.0) > 1e-9
    assert obj.constraint_units == tuple("m" if m else "rad" for m in moves)


@EVERY
@SEEDS
def test_the_reaction_is_what_frame_0_does_to_frame_1(kind, seed):
    """From the virtual work of the multipliers on frame 1, taken to the origin of frame 0."""
    obj, frames = make(kind, **all_motors(kind)), anywhere(seed)
    if not any(c in obj.joint_coordinates for c in ("x", "y", "z", "displacement")):
        # what holds the origins together is told at both, and has no torque of its own only where they meet
        frames[0] = FramePose(frames[1].o, frames[0].U)
    given = np.random.default_rng(seed).normal(size=obj.constraint_count)
    work = -given @ differentiated_constraint(obj, frames, (), given, 1)[1]
    force, torque = work[6:9], work[9:12] + np.cross(frames[1].o - frames[0].o, work[6:9])
    expected = np.concatenate([frames[1].U.T @ force, frames[1].U.T @ torque])
    np.testing.assert_allclose(obj.reaction_map(frames) @ given, expected, atol=1e-13)


@EVERY
def test_reactions_are_told_along_their_own_axes(kind):
    """Where a joint is closed, the reaction's part along a free motion is none, and any other can be carried."""
    obj = make(kind)
    names, motion = JOINTS[kind][2], JOINTS[kind][3] or (lambda v: shift(v[0] * N))
    frames = joined(motion(values_for(names, 0)), 0)
    reach = obj.reaction_map(frames)
    assert reach.shape == (6, 6 - len(names))
    assert np.linalg.matrix_rank(reach) == 6 - len(names)
    free = obj.output_map(frames) if names else np.zeros((0, 12))
    jacobian = kernel_terms(obj, frames, np.zeros(obj.constraint_count))[1]
    assert np.linalg.matrix_rank(np.vstack([free, jacobian])) == 6


@pytest.mark.slow
@pytest.mark.parametrize("kind", MOVING)
@SEEDS
def test_coordinates_are_read_driven_and_damped_alike(kind, seed):
    """Outputs are the slopes of the values; a force motor does their work; a damper takes its power."""
    names = JOINTS[kind][2]
    c = np.random.default_rng(seed).uniform(0.5, 2, len(names))
    obj, frames = make(kind, damping=c, motor=["force"] * len(names)), anywhere(seed)
    memory = obj.remember(frames)
    slopes = difference(lambda x: np.array(list(obj.values_at(moved(frames, x), memory).values())), 12, h=0.005)
    np.testing.assert_allclose(obj.output_map(frames), slopes, atol=1e-8 * max(1, np.abs(slopes).max()))
    np.testing.assert_array_equal(obj.input_map(frames), obj.output_map(frames).T)
    np.testing.assert_allclose(
        obj.damping_matrix(frames), slopes.T @ np.diag(c) @ slopes, atol=1e-7 * np.abs(slopes).max() ** 2
    )
    assert [o.name for o in obj.outputs] == list(names)
    assert len(obj.inputs) == len(names) and not obj.motors
    assert make(kind).damping_matrix(frames) is None


@pytest.mark.parametrize(
    ("kind", "names", "units"),
    [
        ("Revolute", ["torque"], ["N m"]), ("Prismatic", ["force"], ["N"]),
        ("Cylindrical", ["force", "torque"], ["N", "N m"]), ("Planar", ["fx", "fy", "torque"], ["N", "N", "N m"]),
        ("Universal", ["torque1", "torque2"], ["N m", "N m"]), ("Spherical", ["tx", "ty", "tz"], ["N m"] * 3),
        ("PointOnLine", ["force", "tx", "ty", "tz"], ["N", "N m", "N m", "N m"]),
        ("Joint y ax", ["fy", "tx"], ["N", "N m"]),
    ],
)  # fmt: skip
def test_force_motors_are_named_after_what_they_do(kind, names, units):
    obj = make(kind, motor=["force"] * len(names))
    assert [c.name for c in obj.inputs] == names
    assert [c.unit for c in obj.inputs] == units


# -- beyond half a turn -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["Revolute", "Cylindrical", "Planar", "Joint az", "Universal"])
@pytest.mark.parametrize("turns", [3.2, -2.7])
def test_angles_go_on_beyond_whole_turns(kind, turns):
    names, motion = JOINTS[kind][2:]
    where = next(k for k, n in enumerate(names) if n in ("angle", "az", "angle1"))
    unit = np.eye(len(names))[where]
    obj = make(kind, stiffness=2.0 * unit, rest=0.5 * unit)
    memory, parameters = obj.remember(joined(motion(0 * unit), 6))[None].copy(), np.array([obj.kernel_parameters()])
    for angle in np.append(np.arange(0.0, 2 * np.pi * turns, np.sign(turns) * 1.1), 2 * np.pi * turns):
        frames = joined(motion(angle * unit), 6)
        type(obj).follow(parameters, np.array([[f.U for f in frames]]), memory)
        assert obj.values_at(frames, memory[0])[names[where]] == pytest.approx(angle, abs=1e-12)
    out = np.zeros(1), np.zeros((1, 12)), np.zeros((1, 2, 12, 12))
    type(obj).kernel(
        parameters, np.array([[f.o for f in frames]]), np.array([[f.U for f in frames]]), memory, np.zeros(3), 2, *out
    )
    stretch = 2 * np.pi * turns - 0.5
    assert out[0][0] == pytest.approx(stretch**2, rel=1e-12)
    axis = frames[1].U @ {"Revolute": N, "Cylindrical": N, "Planar": [1, 0, 0], "Universal": P}.get(kind, [0, 0, 1])
    np.testing.assert_allclose(out[1][0][9:12] @ axis, -2.0 * stretch, rtol=1e-12)


@pytest.mark.parametrize("turns", [3.0, -3.0, 3.5, 0.5, -0.5])
def test_a_hinge_spring_wound_up_by_a_motor(turns):
    """A motor that holds a wheel three turns round carries the torque of three turns."""
    s = mse.MSystem("clock", gravity=(0, 0, 0))
    wheel = s.add(mse.RigidBody("wheel", mass=1.0, inertia=0.3))
    angle = 2 * np.pi * turns
    hinge = s.add(mse.Revolute("hinge", axis=N, stiffness=1.5, rest=0.2, preload=0.4, motor="position", position=angle))
    s.clamp(wheel.frame(0), hinge.frame(0))
    s.clamp(s.ground, hinge.frame(1))
    wp = s.find_working_point()
    assert wp.joint_coordinates["hinge.angle"] == pytest.approx(angle, rel=1e-13)
    np.testing.assert_allclose(wp.reactions["hinge"], [0, 0, 0, *(-(1.5 * (angle - 0.2) - 0.4) * N)], atol=1e-10)
    np.testing.assert_allclose(wp.forces["hinge"], 0, atol=1e-10)


def test_a_rotation_vector_is_read_nearly_up_to_half_a_turn():
    obj = make("Spherical")
    for size in (0.0, 1e-8, 1.0, 3.0, np.pi - 1e-4):
        found = obj.values_at(joined(turn(size * N), 3), np.zeros(12))
        np.testing.assert_allclose(list(found.values()), size * N, atol=1e-9)


@pytest.mark.parametrize("left", [0.0, 1e-9, 1e-6, 1e-4, 0.1])
@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 0, -1), (0.6, -0.8, 0), (2, -1, 2)])
def test_a_weld_near_half_a_turn_is_missed_by_all_of_it(axis, left):
    """Slopes by differences of rotation vectors that go on beyond half a turn."""
    n = np.array(axis) / np.linalg.norm(axis)
    relative = turn((np.pi - left) * n)
    value, jacobian, _ = kernel_terms(make("Fixed"), joined(relative, 2), np.zeros(6))
    assert np.linalg.norm(value[3:]) == pytest.approx(np.pi - left, abs=1e-11)
    one = joined(Pose(), 2)[1].U

    def measured(a):
        w = Rotation.from_matrix(turn(one.T @ a).U @ relative.U).as_rotvec()
        return w if w @ value[3:] > 0 else w - 2 * np.pi * w / np.linalg.norm(w)

    np.testing.assert_allclose(jacobian[3:, 3:6], difference(measured, 3, h=1e-3), rtol=0, atol=2e-5)
    assert np.linalg.svd(jacobian[3:, 3:6], compute_uv=False).min() > 0.99


@pytest.mark.parametrize("left", [0.0, 1e-9, 1e-6, 1e-4, 0.1])
@pytest.mark.parametrize("axis", [(1, 0, 0), (0, -1, 0), (0.6, -0.8, 0)])
def test_a_hinge_near_half_a_turn_about_another_axis_is_missed_by_all_of_it(axis, left):
    obj = mse.Revolute("it", axis=(0, 0, 1))
    frames = joined(turn((np.pi - left) * np.array(axis)), 2)
    value, jacobian, _ = kernel_terms(obj, frames, np.zeros(5))
    assert np.linalg.norm(value[3:]) == pytest.approx(np.pi - left, abs=2e-5)
    step = -np.linalg.pinv(jacobian[3:, 3:6]) @ value[3:]
    np.testing.assert_allclose(turn(step).U @ frames[0].U @ [0, 0, 1], frames[1].U @ [0, 0, 1], rtol=0, atol=2e-5)


# -- rods and gears ---------------------------------------------------------------------------------------------------
@SEEDS
def test_a_rod_by_its_law_and_by_hand(seed):
    rod, frames = mse.Rod("rod", length=0.8), anywhere(seed)
    given = np.array([2.5])
    for a, b in zip(
        rod.constraint_terms(frames, (), np.zeros(0), given, 2), differentiated_constraint(rod, frames, (), given, 2),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_allclose(a, b, atol=1e-13)
    assert rod.constraint_count == 1 and rod.span() == 0.8


def test_a_rod_of_no_distance_is_told_as_such():
    frames = [FramePose(np.zeros(3), np.eye(3))] * 2
    g, slope, curvature = mse.Rod("rod", length=0.8).constraint_terms(frames, (), np.zeros(0), np.ones(1), 2)
    assert g == pytest.approx([-0.8]) and np.linalg.norm(slope[0, :3]) == pytest.approx(1.0)
    assert np.all(np.isfinite(curvature))


def train(joints, offset=0.0, **hinge) -> mse.MSystem:
    s = mse.MSystem("train", gravity=(0, 0, 0))
    for k, (name, cls) in enumerate((("a", mse.Revolute), ("b", mse.Revolute), ("c", mse.Cylindrical))):
        body = s.add(mse.RigidBody(f"wheel_{name}", mass=1.0, inertia=0.2 + 0.1 * k, at=Pose.dx(k)))
        joint = s.add(cls(name, axis=N, **(hinge if name == "a" else {})))
        s.clamp(body.frame(0), joint.frame(0))
        s.clamp(s.ground, joint.frame(1), Pose.dx(k))
    s.add(mse.Gear("gear", joints=joints, offset=offset))
    return s


@SEEDS
@pytest.mark.parametrize(
    "joints", [{"a": 1.5, "b": -0.7}, {"c.displacement": 2.0, "a": 1.0}, {"c.angle": -1.0, "c.displacement": 0.3}]
)
def test_a_gear_by_its_law(seed, joints):
    gear = Topology(train(joints, 0.3)).source["gear"]
    frames = [f for k in range(len(joints)) for f in anywhere(seed + 10 * k)]
    given = np.array([-1.7])
    found = gear.constraint_terms(frames, (), np.zeros(len(joints)), given, 2)
    for a, b in zip(found, differentiated_constraint(gear, frames, (), given, 2), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("angle", [0.4, 7.0, -25.0])
def test_a_gear_counts_whole_turns(angle):
    s = train({"a": 3.0, "b": -2.0}, 0.6, motor="position", position=angle)
    s["b"].stiffness = 0.5
    wp = s.find_working_point()
    there = (3.0 * angle - 0.6) / 2.0
    assert wp.joint_coordinates["b.angle"] == pytest.approx(there, rel=1e-12)
    # the gear turns b against its spring: -0.5 there = -2 load, and the motor at a carries 3 load
    load = -0.5 * there / -2.0
    np.testing.assert_allclose(abs(wp.reactions["gear"][0]), abs(load), rtol=1e-10)
    np.testing.assert_allclose(np.abs(wp.reactions["a"][3:]), np.abs(3.0 * load * N), rtol=1e-9)
    assert wp.forces["gear"].shape == (4, 6)
