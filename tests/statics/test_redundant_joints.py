"""Redundant joints: the shortest reactions that balance, at every size, in working points and in linear models."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mse
from mse import Pose
from mse.model.assembly import Assembly
from mse.model.configuration import Configuration
from mse.model.topology import Topology
from mse.numerics.options import SIZES
from mse.statics.scales import joint_arm

FORCES = ("fx", "fy", "fz", "tx", "ty", "tz")


def ladder(rungs: int) -> mse.MSystem:
    """Rungs that hang below each other on two bars each, all on hinges, pushed at the last one: each loop has three too many."""
    s = mse.MSystem("ladder", gravity=(0, 0, -9.81))
    above = s.ground
    for k in range(rungs):
        rung = s.add(mse.RigidBody(f"rung{k}", mass=1.0, inertia=(1e-3, 0.1, 0.1), at=Pose((0, 0, -(k + 1.0)))))
        for i, x in enumerate((-0.5, 0.5)):
            bar = s.add(mse.RigidBody(f"bar{k}_{i}", mass=0.3 + 0.1 * i, inertia=0.02, at=Pose((x, 0, -k - 0.5))))
            top, low = (s.add(mse.Revolute(f"{n}{k}_{i}", axis=(0, 1, 0))) for n in ("top", "low"))
            s.clamp(above, top.frame(1), Pose((x, 0, 0)))
            s.clamp(bar.frame(0), top.frame(0), Pose((0, 0, 0.5)))
            s.clamp(bar.frame(0), low.frame(1), Pose((0, 0, -0.5)))
            s.clamp(rung.frame(0), low.frame(0), Pose((x, 0, 0)))
        above = rung.frame(0)
    load, push = s.add(mse.Load("load", force=(3.0, 2.0, 1.0))), s.add(mse.ForceActuator("push"))
    s.clamp(above, load.frame(0))
    s.clamp(above, push.frame(1))
    s.clamp(s.ground, push.frame(0))
    return s


def ring(seed: int, name=str, order=None, world: Pose = Pose()) -> mse.MSystem:  # noqa: B008
    """Bodies anywhere, each held by joints to two others and the first two to the ground: rigid, many times over."""
    rng = np.random.default_rng(seed)
    count = 5
    places = [Pose(rng.normal(size=3)) @ Pose.rotation(rng.normal(size=3)) for _ in range(count)]
    masses = rng.uniform(1, 3, count)
    links = [(k, (k + step) % count) for step in (1, 2) for k in range(count)] + [(0, -1), (1, -1)]
    seats = [Pose(rng.normal(size=3)) @ Pose.rotation(rng.normal(size=3)) for _ in links]
    kinds = [(mse.Fixed, mse.Revolute, mse.Spherical)[k] for k in rng.integers(0, 3, len(links) - 2)] + [mse.Fixed] * 2
    s = mse.MSystem("ring", gravity=world.U @ (0, 0, -9.81))
    bodies = {}
    for k in order or range(count):
        body = s.add(mse.RigidBody(name(f"body{k}"), mass=masses[k], inertia=0.3, at=world @ places[k]))
        bodies[k] = body.frame(0), places[k]
    ground = mse.Pose(world.o, world.U)
    numbers = list(range(len(links)))
    for k in numbers if order is None else numbers[::-1]:
        joint = s.add(kinds[k](name(f"joint{k}")))
        for frame, end in zip((joint.frame(0), joint.frame(1)), links[k], strict=True):
            if end < 0:
                s.clamp(s.ground, frame, ground @ seats[k])
            else:
                s.clamp(bodies[end][0], frame, bodies[end][1].inverse() @ seats[k])
    return s


def shortest(wp) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers of a working point, and those of NumPy's least squares, both with torques over the arm."""
    topology = Topology(wp.system)
    assembly = Assembly(topology, topology.unit)
    o, u = wp.frame_poses
    here = Configuration(o, u, wp.state.o, wp.state.q, wp.state.memory, topology.gravity)
    residual, slopes = assembly.constraints(here)
    weight = assembly.constraint_weights(joint_arm(topology, o, wp.scale), np.ones(len(residual)))
    given = slopes.T @ wp.multipliers
    rows = (sp.diags(weight) @ slopes @ sp.diags(1.0 / wp.scale)).toarray()
    return wp.multipliers / weight, np.linalg.lstsq(rows.T, given / wp.scale, rcond=1e-9)[0]


def set_limit(monkeypatch, limit: int) -> None:
    """Patch the number of coordinates from which the search is sparse."""
    monkeypatch.setattr(SIZES, "dense", limit)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [10, 10_000])
@pytest.mark.parametrize("make", [lambda: ladder(4), lambda: ladder(20), lambda: ring(1), lambda: ring(2)])
def test_the_reactions_are_the_shortest_on_both_sides_of_the_limit(monkeypatch, make, limit):
    set_limit(monkeypatch, limit)
    wp = make().find_working_point()
    found, expected = shortest(wp)
    assert wp.redundant and wp.redundant[0].count >= 3
    assert found == pytest.approx(expected, abs=1e-9 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("rungs", [15, 20, 70])
def test_a_pull_sideways_is_shared_alike_by_ladders_of_all_lengths(rungs):
    wp = ladder(rungs).find_working_point()
    pull = [sum(wp.reactions[f"{which}{rungs - 1}_{i}"][1] for i in (0, 1)) for which in ("top", "low")]
    assert pull == pytest.approx([pull[0]] * 2, rel=1e-9)
    assert abs(pull[0]) == pytest.approx(2.0, rel=1e-9)
    turned = wp.update({"load.force": (3.0, 2.5, 1.0)})
    last = [turned.reactions[f"low{rungs - 1}_{i}"] - wp.reactions[f"low{rungs - 1}_{i}"] for i in (0, 1)]
    assert np.abs(last).max() < 0.5  # a fraction of the newton that was added


@pytest.mark.slow
@pytest.mark.parametrize("rungs", [3, 17, 70])
def test_the_linear_model_shares_as_the_working_point_does(rungs):
    wp = ladder(rungs).find_working_point()
    model = wp.linearize()
    names = [name for name in model.outputs if name.rsplit(".")[1] in FORCES]
    linear = model.frequency_response([0.0], inputs=["push.fy"], outputs=names).values[0, :, 0]

    def reactions(force):
        found = wp.update({"load.force": force}).reactions
        return np.array([found[name.rsplit(".")[0]][FORCES.index(name.rsplit(".")[1])] for name in names])

    h = 1e-3
    slope = (reactions((3.0, 2.0 + h, 1.0)) - reactions((3.0, 2.0 - h, 1.0))) / (2 * h)
    assert linear == pytest.approx(slope, abs=1e-7 * np.abs(slope).max())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_moved_renamed_and_reordered_joints_share_alike(seed):
    before = ring(seed).find_working_point().reactions
    others = (
        ring(seed, world=Pose((3.0, -20.0, 5.0)) @ Pose.rotation((0.4, -1.2, 0.7))),
        ring(seed, name=lambda x: f"a{x[::-1]}"),
        ring(seed, order=[3, 1, 4, 0, 2]),
    )
    largest = max(np.abs(r).max() for r in before.values())
    for k, other in enumerate(others):
        after = other.find_working_point().reactions
        for name, reaction in before.items():
            assert after[f"a{name[::-1]}" if k == 1 else name] == pytest.approx(reaction, abs=1e-9 * largest)


def test_composed_models_share_as_the_whole_does():
    """Two halves of a ladder, each with redundant joints, and a bar across that makes more."""
    s = mse.MSystem("bars", gravity=(0, 0, -9.81))
    ends = []
    for k, name in enumerate(("left", "right")):
        half = s.add(mse.MSystem(name))
        s.clamp(s.ground, half.ground, Pose((2.0 * k, 0, 0)))
        plate = half.add(mse.RigidBody("plate", mass=1.0 + k, inertia=0.2, at=Pose((0, 0, -1))))
        for i, x in enumerate((-0.3, 0.4)):
            hinge = half.add(mse.Revolute(f"hinge{i}", axis=(1, 0, 0)))
            half.clamp(half.ground, hinge.frame(1), Pose((x, 0, 0)))
            half.clamp(plate.frame(0), hinge.frame(0), Pose((x, 0, 1)))
        ends.append(plate.frame(0))
    bar = s.add(mse.RigidBody("bar", mass=0.5, inertia=0.1, at=Pose((1, 0, -1))))
    for k, (end, x) in enumerate(zip(ends, (1.0, -1.0), strict=True)):
        pin = s.add(mse.Fixed(f"pin{k}"))
        s.clamp(end, pin.frame(1), Pose((x, 0, 0)))
        s.clamp(bar.frame(0), pin.frame(0))
    push = s.add(mse.ForceActuator("push"))
    s.clamp(s.ground, push.frame(0))
    s.clamp(bar.frame(0), push.frame(1))
    wp = s.find_working_point()
    flat = wp.linearize()
    both = mse.compose("both", [wp.linearize(within=w) for w in ("left", "right", ["bar", "pin0", "pin1", "push"])])
    assert abs(flat.K - both.K).max() <= 1e-12 * abs(flat.K).max()
    assert abs(flat.K - sum(flat.stiffness_parts.values())).max() <= 1e-12 * abs(flat.K).max()
    expected, found = (m.frequency_response([0.1]) for m in (flat, both))
    for name in flat.outputs:
        for push_name in flat.inputs:
            a, b = expected[name, push_name][0], found[name, push_name][0]
            assert b == pytest.approx(a, abs=1e-8)
    assert np.abs([expected[name, "push.fy"][0] for name in flat.outputs]).max() > 0.1


@pytest.mark.parametrize("gravity", [0.0, 1e-20, 1e-11, 9.81])
def test_bodies_at_one_place_but_for_rounding_keep_their_constraints(gravity):
    """Torques were divided by their distance of 1e-22 m, and rows that hold turns were lost in the linear model."""
    s = mse.MSystem("nested", gravity=(0, 0, -gravity))
    inner, outer = (s.add(mse.RigidBody(name, mass=1.0, inertia=1e-3)) for name in ("inner", "outer"))
    s.add(mse.Prismatic("below", stiffness=100.0), between=(inner, s.ground))
    s.add(mse.Prismatic("beside", stiffness=444.0), between=(outer, s.ground))
    s.add(mse.Prismatic("among", stiffness=853.0), between=(outer, inner))
    linear = s.find_working_point().linearize()
    rows = linear.constraints[:, : linear.size].toarray() / linear.scale
    lengths = np.linalg.norm(rows, axis=1)
    assert len(rows) == 10 and lengths.min() > 1e-3 * lengths.max()
    found = linear.modes().frequencies_hz
    k = np.array([[953.0, -853.0], [-853.0, 1297.0]])
    np.testing.assert_allclose(found, np.sqrt(np.linalg.eigvalsh(k)) / (2.0 * np.pi), rtol=1e-10)
