"""Constraints of joints of all kinds together, and states in which they hold."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.elements.joint_base import JointBase
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.statics.joint_assembly import restored
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
    topology = Topology(s)
    return MeritFunction.of(topology, Assembly(topology, topology.unit))


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
    slopes, residual = merit.slopes_at(state)
    assert calls == [1] and len(merit.assembly.joined) == 5  # bodies, joints, spring, rod, own law
    rows = merit.assembly.constraint_pattern
    assert max(places.max() for places in rows.places) <= len(rows.indices)
    alone = []
    for g in merit.assembly.groups:
        for el in g.elements:
            frames = merit.configuration(state).frames(el.frames)
            alone += np.atleast_1d(el.obj.constraint(frames, np.zeros(0))).tolist()
    np.testing.assert_allclose(residual, alone, rtol=0, atol=1e-13)
    found = slopes.toarray()[:, merit.searched] / merit.metric
    for k, x in enumerate(1e-5 * np.eye(len(merit.searched))):
        ahead, behind = (merit.slopes_at(merit.moved(state, y))[1] for y in (x, -x))
        np.testing.assert_allclose(found[:, k], (ahead - behind) / 2e-5, rtol=0, atol=1e-8)


def test_energies_of_joints_of_all_kinds_add_up_with_the_turns_that_each_remembers():
    merit = mechanism()
    state = merit.start
    turned = tuple(m + 6 * np.pi * k for k, m in enumerate(state.memory))
    at, a = merit.configuration(state._replace(memory=turned)), merit.assembly
    energy, _, gradient, _, stiffness = a.total(at, 2)
    for g, rows in zip(a.groups, a.rows, strict=True):
        e, f, k = a.evaluate(g, at, 2, summed=True)
        energy -= e.sum()
        for row, force, matrix in zip(rows, f, k[:, 0], strict=True):
            on = row >= 0
            np.subtract.at(gradient, row[on], force[on])
            whole = np.zeros(stiffness.shape)
            whole[np.ix_(row[on], row[on])] = matrix[np.ix_(on, on)]
            stiffness = stiffness - whole
    assert abs(energy) < 1e-9 and np.abs(gradient).max() < 1e-9 and np.abs(stiffness).max() < 1e-9


def test_reactions_of_joints_of_all_kinds_turn_as_the_slopes_of_each_do():
    merit = mechanism()
    rng = np.random.default_rng(1)
    state = merit.moved(merit.start, 0.1 * rng.standard_normal(len(merit.searched)))
    multipliers = rng.standard_normal(merit.assembly.constraint_count)
    found = merit.assembly.reaction_total(merit.configuration(state), multipliers).toarray()
    p = 1e-5 * rng.standard_normal(len(merit.searched))
    curved = merit.slopes_at(merit.moved(state, p))[1] + merit.slopes_at(merit.moved(state, -p))[1]
    curved = multipliers @ (curved - 2.0 * merit.slopes_at(state)[1])
    assert p / merit.metric @ found @ (p / merit.metric) == pytest.approx(curved, rel=1e-4)


def test_what_is_known_of_constraints_where_they_hold_again_is_not_found_twice(calls):
    merit = mechanism()
    point = merit.evaluate(merit.start, 2)
    rng = np.random.default_rng(2)
    step = point.tangent.along(0.2 * rng.standard_normal(len(merit.searched)))
    calls.clear()
    there = restored(merit, merit.moved(merit.start, step), point.tangent)
    assert there is not None and len(calls) > 2
    calls.clear()
    merit.evaluate(there, 1)
    assert calls == []


def test_memories_follow_to_where_constraints_hold_again():
    """The hinge remembers the angle at which it is there, whole turns counted, not that before the corrections."""
    merit = mechanism()
    point = merit.evaluate(merit.start, 2)
    rng = np.random.default_rng(2)
    step = point.tangent.along(0.2 * rng.standard_normal(len(merit.searched)))
    (hinge,) = (g for g in merit.assembly.groups if g.cls is mse.Revolute)

    def angle(state):
        frames = merit.configuration(state).frames(hinge.frames[0])
        return hinge.elements[0].obj.values_at(frames, state.memory[hinge.number][0])["angle"]

    moved = merit.moved(merit.start, step)
    there = restored(merit, moved, point.tangent)
    assert abs(angle(there) - angle(moved)) > 1e-4
    assert there.memory[hinge.number][0, 6] == pytest.approx(angle(there), abs=1e-14)


def test_turns_are_counted_along_corrections_that_turn_bodies_far(monkeypatch):
    merit = mechanism()
    point = merit.evaluate(merit.start, 2)
    rng = np.random.default_rng(56)
    step = point.tangent.along(rng.uniform(0.2, 1.5) * rng.standard_normal(len(merit.searched)))
    moved, way, displaced = merit.moved(merit.start, step), [], MeritFunction.displaced

    def recorded(self, state, x):
        way.append(displaced(self, state, x))
        return way[-1]

    monkeypatch.setattr(MeritFunction, "displaced", recorded)
    there, memory = restored(merit, moved, point.tangent), moved.memory
    for state in way:
        memory = merit.assembly.followed(*merit.topology.frame_poses(state.o, state.U), memory)
    for end, followed in zip(there.memory, memory, strict=True):
        np.testing.assert_allclose(end, followed, rtol=0, atol=1e-9)


def test_joints_apart_are_put_together_by_displacements_as_much_as_by_turns():
    """Of the shortest way back by ``|d|^2 + (size turn)^2`` half is a turn, where the lever is the size."""
    s = mse.MSystem("hinged", gravity=(0, 0, -9.81))
    bar = s.add(mse.RigidBody("bar", mass=1.0, inertia=0.1, at=Pose.dxdydz(1.0, 0.0, 0.01)))
    hinge = s.add(mse.Revolute("hinge", axis=(0.0, 1.0, 0.0)))
    s.clamp(s.ground, hinge.frame(0))
    s.clamp(bar.frame(0), hinge.frame(1), Pose.dx(-1.0))
    topology = Topology(s)
    start = MeritFunction.of(topology, Assembly(topology, topology.unit)).start
    height, turn = start.o[1, 2], np.arcsin(start.U[1][0, 2])
    np.testing.assert_allclose([height, abs(turn)], [0.005, 0.005], rtol=0.01)
