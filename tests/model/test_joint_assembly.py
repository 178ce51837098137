"""Constraints of joints of all kinds together, and states in which they hold."""

from __future__ import annotations

import numpy as np
import pytest
from valleys import merit_of

import mse
from mse import Pose
from mse.elements.joint_base import JointBase
from mse.model.evaluation import Evaluation
from mse.model.joint_assembly import restored
from mse.statics.merit_function import MeritFunction


class Level(mse.MObject):
    """Holds frame 0 at the height of frame 1, by a law of its own."""

    def constraint(self, frames, q):
        return frames[0].o[2] - frames[1].o[2]


KINDS = (
    mse.Revolute("hinge", axis=(0, 1, 0), stiffness=3.0),
    mse.Prismatic("slide", axis=(1, 0, 0)),
    mse.Cylindrical("shaft", axis=(1, 1, 0), stiffness={"angle": 2.0}, rest={"angle": 20.0}),
    mse.Universal("cross"),
    mse.Planar("table"),
    mse.PointOnLine("bead"),
    mse.Joint("motor", free=("z", "az"), motor={"az": "position"}, position={"az": 0.3}),
    mse.Fixed("weld"),
    mse.Spherical("ball"),
)


def mechanism() -> MeritFunction:
    """Bodies in a chain, each joined to the one before by another kind of joint, and a spring, a rod and a law of its own."""
    s = mse.MSystem("mechanism", gravity=(0, 0, -9.81))
    last, at = s.ground, Pose()
    for k, joint in enumerate(KINDS):
        at = at.moved((0.2, 0.1, -0.3), (0.1, 0.2, 0.0))
        ends = {"near": Pose.dx(-0.1), "far": Pose((0.05, 0.1, 0.0))}
        body = s.add(mse.RigidBody(f"body{k}", mass=1.0, inertia=(0.01, 0.02, 0.03), at=at, frames=ends))
        s.add(joint.copy(joint.name), between=(body.frame("near"), last))
        if k == 2:
            s.add(mse.Spring("spring", stiffness=50.0), between=(body, s.ground))
        last = body.frame("far")
    s.add(mse.Rod("rod", length=0.9), between=(body, s.ground))
    s.add(Level("level"), between=(s["body4"], s.ground))
    return merit_of(s)


@pytest.fixture
def calls(monkeypatch):
    """The calls of the kernel of joints since, by their order."""
    made, kernel = [], JointBase.constraint_kernel

    def counted(*given):
        made.append(given[5])
        kernel(*given)

    monkeypatch.setattr(JointBase, "constraint_kernel", counted)
    return made


def test_one_call_tells_the_constraints_of_joints_of_all_kinds(calls):
    merit = mechanism()
    calls.clear()
    rng = np.random.default_rng(0)
    state = merit.moved(merit.start, 0.1 * rng.standard_normal(len(merit.searched)))
    here = merit.here(state)
    slopes, residual = here.slopes, here.residual
    assert calls == [1] and len(merit.assembly.joined) == 5  # bodies, joints, spring, rod, own law
    rows = merit.assembly.constraint_pattern
    assert max(places.max() for places in rows.places) <= len(rows.indices)
    alone = []
    for g in merit.assembly.groups:
        for el in g.elements:
            frames = merit.here(state).configuration.frames(el.frames)
            alone += np.atleast_1d(el.obj.constraint(frames, np.zeros(0))).tolist()
    np.testing.assert_allclose(residual, alone, rtol=0, atol=1e-13)
    found = slopes.toarray()[:, merit.searched] / merit.metric
    for k, x in enumerate(1e-5 * np.eye(len(merit.searched))):
        ahead, behind = (here.moved(y).residual for y in (x, -x))
        np.testing.assert_allclose(found[:, k], (ahead - behind) / 2e-5, rtol=0, atol=1e-8)


def adds_up(merit: MeritFunction, load_factor: float = 1.0) -> None:
    """Energy, forces and stiffness are the sums over elements class by class, where each joint has counted other turns."""
    a, at = merit.assembly, merit.here(merit.start).configuration
    turned = [m + 2 * np.pi * (k + np.arange(len(m))[:, None]) for k, m in enumerate(at.memory)]
    at = at._replace(memory=tuple(turned))
    energy, _, gradient, _, stiffness = a.total(at, 2, load_factor=load_factor)
    x = np.random.default_rng(3).standard_normal(a.size)
    pushed = stiffness @ x
    for g, rows in zip(a.groups, a.rows, strict=True):
        e, f, k = a.evaluate(g, at, 2, load_factor, summed=True)
        on = rows >= 0
        energy -= e.sum()
        gradient -= np.bincount(rows[on], f[on], a.size)
        pushed -= np.bincount(rows[on], np.einsum("eij,ej->ei", k[:, 0], np.where(on, x[rows], 0.0))[on], a.size)
    largest = max(turned[g.number].max(initial=0.0) for g in a.groups)
    assert abs(energy) < 1e-9 * largest**2
    assert np.abs(gradient).max() < 1e-9 * largest and np.abs(pushed).max() < 1e-9 * largest


def test_energies_of_joints_of_all_kinds_add_up_with_the_turns_that_each_remembers():
    adds_up(mechanism())


def several(*joints: JointBase) -> MeritFunction:
    """Bodies on the ground, each by a joint."""
    s = mse.MSystem("several", gravity=(0, 0, -9.81))
    for k, joint in enumerate(joints):
        at = Pose((0.1 * k, 0.0, -0.2), Pose.rotation((0.1, 0.2, 0.3)).U)
        s.add(joint, between=(s.add(mse.RigidBody(f"body{k}", mass=1.0, inertia=0.1, at=at)), s.ground))
    return merit_of(s)


def test_joints_of_two_kinds_that_fill_more_than_the_cache_add_up():
    shafts = [mse.Cylindrical(f"shaft{k}", stiffness={"angle": 2.0}) for k in range(3)]
    merit = several(*shafts, *(mse.Revolute(f"hinge{k}", stiffness=1.0 + k) for k in range(200)))
    (joints,) = merit.assembly.bound
    assert len(joints.portions(2)) > 1
    adds_up(merit)


class Blown(mse.Revolute):
    """A hinge in the wind."""

    def power(self, frames, q, v, given):
        return 3.0 * frames[0].v[0]


class Gusty(mse.Revolute):
    """A hinge in another wind."""

    def power(self, frames, q, v, given):
        return 5.0 * frames[0].o[0] * frames[0].v[2]


class Wound(mse.Revolute):
    """A hinge that starts a thousand turns on, and follows by Python."""

    follow = None
    parts = ["elastic", "geometric"]  # noqa: RUF012 - as users may write it

    def remember(self, frames):
        return np.full(12, 2000 * np.pi)

    def recall(self, frames, memory):
        return memory + 1.0


class Weight(mse.Revolute):
    """A hinge whose preload is a load."""

    external = True


@pytest.mark.parametrize("classes", [(mse.Revolute, Wound), (mse.Revolute, Weight), (Blown, Gusty)])
def test_hinges_with_laws_of_their_own_stand_apart_from_others(classes):
    merit = several(*(cls(f"hinge{k}", stiffness=2.0, preload=1.0) for k, cls in enumerate(classes)))
    assert len(merit.assembly.bound) == 2
    adds_up(merit, load_factor=0.5)
    start, frames = merit.start, merit.here(merit.start).configuration[:2]
    together = merit.assembly.followed(*frames, start.memory)
    for g, memory in zip(merit.assembly.groups, together, strict=True):
        np.testing.assert_array_equal(memory, g.followed(*frames, start.memory[g.number]))


def test_reactions_of_joints_of_all_kinds_turn_as_the_slopes_of_each_do():
    merit = mechanism()
    rng = np.random.default_rng(1)
    state = merit.moved(merit.start, 0.1 * rng.standard_normal(len(merit.searched)))
    multipliers = rng.standard_normal(merit.assembly.constraint_count)
    found = merit.assembly.reaction_total(merit.here(state).configuration, multipliers).toarray()
    p = 1e-5 * rng.standard_normal(len(merit.searched))
    here = merit.here(state)
    curved = multipliers @ (here.moved(p).residual + here.moved(-p).residual - 2.0 * here.residual)
    assert p / merit.metric @ found @ (p / merit.metric) == pytest.approx(curved, rel=1e-4)


def test_reactions_of_each_class_add_up_to_those_of_all():
    merit = mechanism()
    a, at, rng = merit.assembly, merit.here(merit.start).configuration, np.random.default_rng(1)
    multipliers, x = rng.standard_normal(a.constraint_count), rng.standard_normal(a.size)
    left = a.reaction_total(at, multipliers) @ x
    for number, stiffness in a.reaction_stiffness(at, multipliers).items():
        rows = a.rows[number]
        on = rows >= 0
        left -= np.bincount(rows[on], np.einsum("eij,ej->ei", stiffness[:, 0], np.where(on, x[rows], 0.0))[on], a.size)
    assert np.abs(left).max() < 1e-12


def test_what_is_known_of_constraints_where_they_hold_again_is_not_found_twice(calls):
    merit = mechanism()
    point = merit.evaluate(merit.start, 2)
    rng = np.random.default_rng(2)
    step = point.tangent.along(0.2 * rng.standard_normal(len(merit.searched)))
    calls.clear()
    there = restored(point.here.moved(step), point.tangent)
    assert there is not None and len(calls) > 2
    calls.clear()
    merit.evaluated(there, 1)
    assert calls == []


def test_memories_follow_to_where_constraints_hold_again():
    """The hinge remembers the angle at which it is there, whole turns counted, not that before the corrections."""
    merit = mechanism()
    point = merit.evaluate(merit.start, 2)
    rng = np.random.default_rng(2)
    step = point.tangent.along(0.2 * rng.standard_normal(len(merit.searched)))
    (hinge,) = (g for g in merit.assembly.groups if g.cls is mse.Revolute)

    def angle(here):
        frames = here.configuration.frames(hinge.frames[0])
        return hinge.elements[0].obj.values_at(frames, here.state.memory[hinge.number][0])["angle"]

    moved = point.here.moved(step)
    there = restored(moved, point.tangent)
    assert abs(angle(there) - angle(moved)) > 1e-4
    assert there.state.memory[hinge.number][0, 6] == pytest.approx(angle(there), abs=1e-14)


def test_a_state_keeps_its_memory_where_that_of_another_follows():
    merit = several(mse.Revolute("hinge"))
    start = merit.start.memory[1].copy()
    moved = merit.moved(merit.start, 0.1 * np.ones(len(merit.searched)))
    np.testing.assert_array_equal(merit.start.memory[1], start)
    assert np.abs(moved.memory[1] - start).max() > 0.01


@pytest.mark.parametrize("seed", [56, 131, 208, 278])
def test_turns_are_counted_along_corrections_that_turn_bodies_far(monkeypatch, seed):
    """As by eight shares of each correction; with seeds 208 and 278 single ones turn bodies by 3.1 and 2.6 rad."""
    merit = mechanism()
    point = merit.evaluate(merit.start, 2)
    rng = np.random.default_rng(seed)
    step = point.tangent.along(rng.uniform(0.2, 1.5) * rng.standard_normal(len(merit.searched)))
    moved, way, displaced = point.here.moved(step), [], Evaluation.displaced

    def recorded(correction):
        def corrected(self, x):
            way.extend(displaced(self, share * x) for share in np.arange(1, 9) / 8)
            return correction(self, x)

        return corrected

    for name in ("moved", "displaced"):
        monkeypatch.setattr(Evaluation, name, recorded(getattr(Evaluation, name)))
    there, memory = restored(moved, point.tangent), moved.state.memory
    for here in way:
        memory = merit.assembly.followed(*here.frame_poses, memory)
    for end, followed in zip(there.state.memory, memory, strict=True):
        np.testing.assert_allclose(end, followed, rtol=0, atol=1e-9)


def test_joints_apart_are_put_together_by_displacements_as_much_as_by_turns():
    """Of the shortest way back by ``|d|^2 + (size turn)^2`` half is a turn, where the lever is the size."""
    s = mse.MSystem("hinged", gravity=(0, 0, -9.81))
    bar = s.add(mse.RigidBody("bar", mass=1.0, inertia=0.1, at=Pose.dxdydz(1.0, 0.0, 0.01)))
    hinge = s.add(mse.Revolute("hinge", axis=(0.0, 1.0, 0.0)))
    s.clamp(s.ground, hinge.frame(0))
    s.clamp(bar.frame(0), hinge.frame(1), Pose.dx(-1.0))
    start = merit_of(s).start
    height, turn = start.o[1, 2], np.arcsin(start.U[1][0, 2])
    np.testing.assert_allclose([height, abs(turn)], [0.005, 0.005], rtol=0.01)


HALF_TURNED = {
    "weld": mse.Fixed("j"),
    "joint": mse.Joint("j", free=("x", "z")),
    "slide": mse.Prismatic("j", stiffness=50.0),
    "hinge": mse.Revolute("j"),
    "shaft": mse.Cylindrical("j", stiffness={"displacement": 50.0}),
    "table": mse.Planar("j"),
    "cross": mse.Universal("j"),
    "ball": mse.Spherical("j", stiffness=(10.0, 11.0, 12.0)),
}


@pytest.mark.parametrize("left", [0.0, 1e-12, 1e-8, 1e-7, 1e-6, 1e-4])
@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (1, 1, 0), (-1, 2, 3)])
@pytest.mark.parametrize("kind", HALF_TURNED)
def test_a_body_that_starts_half_a_turn_off_is_turned_right(kind, axis, left):
    """Starts within ``left`` (rad) of half a turn about an axis: sines say that these are aligned already."""
    s = mse.MSystem("s", gravity=(0, 0, -9.81))
    turned = Pose.rotation((np.pi - left) * np.array(axis) / np.linalg.norm(axis))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=(0.1, 0.12, 0.13), at=turned))
    s.add(HALF_TURNED[kind].copy("j"), between=(body, s.ground))
    if kind in ("joint", "table"):
        s.add(mse.Bushing("seat", stiffness=(1e3, 1e3, 1e3, 0, 0, 0)), between=(body, s.ground))
    turn = s.find_working_point().poses["body.center"].U
    held = {"hinge": 1.0 - turn[2, 2], "shaft": 1.0 - turn[2, 2], "table": 1.0 - turn[2, 2], "cross": turn[0, 1]}
    assert held.get(kind, np.linalg.norm(turn - np.eye(3))) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("count", [6, pytest.param(120, marks=pytest.mark.slow)])
def test_chains_of_joints_that_start_half_a_turn_off_are_turned_right(count):
    """Beyond 600 coordinates the slopes are factorized sparse."""
    s = mse.MSystem("s", gravity=(0, 0, -9.81))
    last, turns = s.ground, (Pose(), Pose.rx(np.pi), Pose.ry(np.pi), Pose.rotation(np.pi * np.array([0.6, 0.0, 0.8])))
    for k in range(count):
        body = s.add(mse.RigidBody(f"b{k}", mass=1.0, inertia=0.1, at=Pose.dz(-0.5 * k) @ turns[k * 7 % 4]))
        joint = mse.Revolute(f"j{k}", axis=(0, 1, 0), stiffness=10.0) if k % 2 else mse.Fixed(f"j{k}")
        s.add(joint)
        s.clamp(last, joint.frame(1), Pose.dz(-0.25))
        s.clamp(body.frame(0), joint.frame(0), Pose.dz(0.25))
        last = body.frame(0)
    poses = s.find_working_point().poses
    for k in range(1, count):
        relative = poses[f"b{k - 1}.center"].U.T @ poses[f"b{k}.center"].U
        kept = relative[1, 1] if k % 2 else (np.trace(relative) - 1.0) / 2.0
        assert kept == pytest.approx(1.0, abs=1e-9)
