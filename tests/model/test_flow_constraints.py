"""Wheels and knife edges about rest, against closed forms and joints that hold the same: responses, modes, time, files."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from catalogue import KnifeEdge
from mse import Pose
from mse.elements.base import Channel
from mse.elements.parameters import Real
from mse.errors import ModelError, WorkingPointError
from mse.numerics.options import SIZES

M, J = 2.0, 0.5  # kg; kg m2 about z


class Held(mse.MObject):
    """What a knife edge holds of velocities, held of positions: of frame 0 along y of frame 1."""

    reaction_outputs = (Channel("side", "N"),)

    def constraint(self, frames, q):
        return frames[1].U[:, 1] @ (frames[0].o - frames[1].o)

    def reaction_map(self, frames):
        return np.eye(1)


def sled(*, seat=0.0, arm=0.0, turn=0.0, edge="edge", load=None, damping=0.0) -> mse.MSystem:
    """A body in a plane with an edge at a distance along its x axis, on three springs at its center or on none."""
    s = mse.MSystem("sled", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=M, inertia=(0.3, 0.4, J), at=Pose.rz(turn), frames={"fore": Pose.dx(arm)}))
    s.add(mse.Planar("plane"), between=(body, s.ground))
    if edge == "edge":
        s.add(KnifeEdge("edge"), between=(body.frame("fore"),))
    elif edge == "joint":
        held = s.add(Held("edge"))
        s.clamp(body.frame("fore"), held.frame(0))
        s.clamp(s.ground, held.frame(1), Pose.rz(turn) @ Pose.dx(arm))
    if seat:
        held = s.add(mse.Bushing("seat", stiffness=seat, damping=damping))
        s.clamp(body, held.frame(0))
        s.clamp(s.ground, held.frame(1), Pose.rz(turn))
    if load:
        s.add(mse.Load("load", force=load), between=(body,))
    s.add(mse.ForceActuator("push", axes="world"), between=(s.ground, body))
    s.add(mse.PositionSensor("see"), between=(body, s.ground))
    return s


# -- a knife edge at rest ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("turn", [0.0, 0.7])
def test_a_sled_slides_and_turns_freely_and_does_not_move_across_its_edge(turn):
    wp = sled(turn=turn).find_working_point()
    along = np.array([np.cos(turn), np.sin(turn)])
    basis = wp.free.vectors.toarray()
    assert wp.stable and basis.shape[1] == 2
    np.testing.assert_allclose(basis[:2].T @ [-along[1], along[0]], 0.0, atol=1e-12)  # nothing across
    assert np.linalg.matrix_rank(np.vstack([basis[:2].T @ along, basis[5]]), tol=1e-6) == 2
    linear = wp.linearize()
    modes = linear.modes()
    assert len(modes.frequencies_hz) == 2 and not modes.frequencies_hz.any()
    omega = 2 * np.pi * 3.0
    found = linear.frequency_response([3.0])
    motion = np.array([[found[f"see.{y}", f"push.{u}"][0] for u in ("fx", "fy", "tz")] for y in ("x", "y", "az")])
    expected = np.zeros((3, 3))
    expected[:2, :2], expected[2, 2] = np.outer(along, along) / M, 1.0 / J
    np.testing.assert_allclose(motion, -expected / omega**2, rtol=0, atol=1e-12 / omega**2)


def test_an_edge_ahead_of_the_center_makes_the_sled_yaw_about_it():
    """Pushed across at its center, a sled turns about its edge: all inertia m a^2 + J, stiffness k a^2 + k."""
    k, a = 100.0, 0.3
    linear = sled(seat=k, arm=a).find_working_point().linearize()
    expected = np.sqrt(np.array([k / M, k * (1.0 + a**2) / (J + M * a**2)])) / (2 * np.pi)
    np.testing.assert_allclose(linear.modes().frequencies_hz, expected, rtol=1e-13)
    f = np.array([0.0, 0.4, 1.9, 7.0])
    found = linear.frequency_response(f)
    dynamic = k * (1.0 + a**2) - (2 * np.pi * f) ** 2 * (J + M * a**2)
    np.testing.assert_allclose(found["see.y", "push.fy"], a**2 / dynamic, rtol=1e-11)
    np.testing.assert_allclose(found["see.az", "push.fy"], -a / dynamic, rtol=1e-11)
    # what the edge exerts on the body: the moment about the center that turns it, over the arm
    exerted = found["see.az", "push.fy"] * (k - (2 * np.pi * f) ** 2 * J) / a
    np.testing.assert_allclose(np.abs(found["edge.side", "push.fy"]), np.abs(exerted), rtol=1e-11)


def test_a_knife_edge_holds_in_linear_motion_what_a_joint_holds_by_positions():
    """In every analysis about rest; the joint holds the working point, too, which is the same here."""
    edge, joint = (
        sled(seat=70.0, arm=0.2, turn=0.4, edge=kind, damping=1.5).find_working_point() for kind in ("edge", "joint")
    )
    one, other = edge.linearize(), joint.linearize()
    assert one.outputs == other.outputs and one.inputs == other.inputs
    f = np.geomspace(0.1, 20.0, 7)
    np.testing.assert_allclose(
        one.frequency_response(f).values, other.frequency_response(f).values, rtol=1e-12, atol=1e-17
    )
    np.testing.assert_allclose(one.modes(damped=True).eigenvalues, other.modes(damped=True).eigenvalues, rtol=1e-12)
    runs = [m.simulate(duration=1.0, dt=0.01, inputs={"push.fy": lambda t: np.sin(9.0 * t)}) for m in (one, other)]
    for name in one.outputs:
        np.testing.assert_allclose(runs[0][name], runs[1][name], rtol=0, atol=1e-13)
    assert np.abs(runs[0]["see.y"]).max() > 1e-3
    spaces = [m.state_space() for m in (one, other)]
    assert len(spaces[0].states) == 4
    at = [2j * np.pi * 1.3 * np.eye(4) - ss.A for ss in spaces]
    gains = [ss.C @ np.linalg.solve(a, ss.B) + ss.D for a, ss in zip(at, spaces, strict=True)]
    np.testing.assert_allclose(*gains, rtol=1e-11, atol=1e-15)


# -- statics ----------------------------------------------------------------------------------------------------------
def test_a_flow_constraint_holds_no_position():
    """A load across moves the working point as if there were no edge; the response at 0 Hz is the limit of motions, without."""
    wp = sled(seat=100.0, load=(0.0, 3.0, 0.0)).find_working_point()
    assert wp.poses["body.center"].o[1] == pytest.approx(0.03, rel=1e-12)
    moved = wp.update({"load.force": (0.0, 4.0, 0.0)})
    assert moved.poses["body.center"].o[1] == pytest.approx(0.04, rel=1e-12)
    found = wp.linearize().frequency_response([0.0, 1e-6])
    assert not found["see.y", "push.fy"].any()
    np.testing.assert_allclose(found["see.x", "push.fx"], 0.01, rtol=1e-9)
    assert any("flow constraints of edge carry no load" in note for note in wp.notes)
    assert "carry no load" in str(wp)


def test_a_load_that_only_the_edge_could_carry_has_no_working_point():
    with pytest.raises(WorkingPointError, match="body.y has no stiffness.*flow constraints of edge carry no load"):
        sled(load=(0.0, 1.0, 0.0)).find_working_point()


class Pushing(mse.MObject):
    """A spring of negative stiffness along y of frame 1, as an energy."""

    stiffness: Real = Real("how much is missing", unit="N/m", default=30.0)

    def energy(self, frames, q):
        return -0.5 * self.stiffness * (frames[1].U[:, 1] @ (frames[0].o - frames[1].o)) ** 2


@pytest.mark.parametrize("edge", ["edge", "none"])
def test_stability_is_that_of_the_motions_that_are_permitted(edge):
    s = sled(seat=10.0, edge=edge)
    s.add(Pushing("magnet"), between=(s["body"], s.ground))
    wp = s.find_working_point(seek="nearest")
    assert wp.stable == (edge == "edge")
    assert [m.name for m in wp.unstable] == ([] if edge == "edge" else ["body.y"])
    modes = wp.linearize().modes()
    assert len(modes.frequencies_hz) == (2 if edge == "edge" else 3)


def test_curves_of_equilibria_are_refused():
    s = sled(seat=100.0, load=(0.0, 3.0, 0.0))
    for call in (lambda: s.find_instability(), lambda: s.trace("load_factor", 2.0)):
        with pytest.raises(ModelError, match="KnifeEdge 'edge': its flow constraint fixes no position"):
            call()


# -- rows that depend on each other -----------------------------------------------------------------------------------
@pytest.mark.parametrize("second", ["the same", "as a joint", "on the ground"])
def test_rows_that_hold_nothing_more_change_nothing(second):
    s = sled(seat=50.0, arm=0.2)
    one = s.find_working_point().linearize()
    if second == "the same":
        s.add(KnifeEdge("again"), between=(s["body"].frame("fore"),))
    elif second == "as a joint":
        held = s.add(Held("again"))
        s.clamp(s["body"].frame("fore"), held.frame(0))
        s.clamp(s.ground, held.frame(1), Pose.dx(0.2))
    else:
        s.add(KnifeEdge("again"), between=(s.ground,))
    other = s.find_working_point().linearize()
    assert other.constraints.shape[0] == one.constraints.shape[0]
    np.testing.assert_allclose(other.modes().frequencies_hz, one.modes().frequencies_hz, rtol=1e-12)
    found = [m.frequency_response([0.7], inputs=["push.fy"]) for m in (one, other)]
    assert found[0]["see.y", "push.fy"] == pytest.approx(found[1]["see.y", "push.fy"], rel=1e-12)
    sides = [f["edge.side", "push.fy"][0] for f in found]
    shared = 1.0 if second == "on the ground" else 0.5
    assert sides[1] == pytest.approx(shared * sides[0], rel=1e-9)


def test_an_edge_across_a_motor_that_prescribes_its_motion_is_refused():
    s = mse.MSystem("s", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=M, inertia=J))
    s.add(mse.Prismatic("slide", axis=(0, 1, 0), motor="position"), between=(body, s.ground))
    s.add(KnifeEdge("edge"), between=(body,))
    with pytest.raises(ModelError, match="slide.*is blocked or decided elsewhere.*edge"):
        s.find_working_point().linearize()


# -- rolling ----------------------------------------------------------------------------------------------------------
class RollingDisc(mse.MObject):
    """A disc that stands on the plane z = 0 of frame 1, its axle along y of frame 0, and rolls: no velocity where it touches."""

    radius: Real = Real("of the disc", unit="m", default=0.4, above=0.0)

    def flow_constraint(self, frames, q, v):
        down = -self.radius * frames[1].U[:, 2]
        slip = frames[0].v + np.cross(frames[0].w, down) - frames[1].v
        return [frames[1].U[:, 0] @ slip, frames[1].U[:, 1] @ slip]


def test_a_disc_on_a_spring_rolls_with_the_inertia_of_its_turning():
    s = mse.MSystem("disc", gravity=(0, 0, 0))
    disc = s.add(mse.RigidBody("disc", mass=3.0, inertia=(0.15, 0.24, 0.15), at=Pose.dz(0.4)))
    guide = s.add(mse.Joint("guide", free=("x", "y", "ay", "az")))  # upright on the plane
    s.clamp(disc, guide.frame(0))
    s.clamp(s.ground, guide.frame(1), Pose.dz(0.4))
    s.add(RollingDisc("rolls"), between=(disc, s.ground))
    seat = s.add(mse.Bushing("seat", stiffness=(120.0, 120.0, 120.0, 0.0, 0.0, 0.0)))
    s.clamp(disc, seat.frame(0))
    s.clamp(s.ground, seat.frame(1), Pose.dz(0.4))
    wp = s.find_working_point()
    linear = wp.linearize()
    frequencies = linear.modes().frequencies_hz
    assert len(frequencies) == 2 and frequencies[0] == 0.0  # it may turn about the vertical
    expected = np.sqrt(120.0 / (3.0 + 0.24 / 0.4**2)) / (2 * np.pi)
    assert frequencies[1] == pytest.approx(expected, rel=1e-12)
    assert len(wp.free) == 1 and wp.stable


# -- internal coordinates ---------------------------------------------------------------------------------------------
class Circuit(mse.MObject):
    """A coil on a spring, its current forced to follow: i = b x' / 2, by a flow of charge that is held."""

    coordinate_names = (mse.coordinate("charge", unit="C"),)
    frame_names = ("0",)

    def kinetic(self, frames, q, v):
        return 0.5 * 0.7 * v[0] ** 2

    def flow_constraint(self, frames, q, v):
        return v[0] - 1.5 * frames[0].v[2]


def test_a_flow_of_an_internal_coordinate():
    """A charge that follows a velocity lends its inductance to the mass: m + L r^2."""
    s = mse.MSystem("s", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=M, inertia=J))
    s.add(mse.Prismatic("slide", stiffness=40.0), between=(body, s.ground))
    s.add(Circuit("coil"), between=(body,))
    wp = s.find_working_point()
    assert not len(wp.free)
    found = wp.linearize().modes().frequencies_hz
    np.testing.assert_allclose(found, [np.sqrt(40.0 / (M + 0.7 * 1.5**2)) / (2 * np.pi)], rtol=1e-13)


# -- actuators, parts, large models, files ----------------------------------------------------------------------------
def test_an_edge_beyond_an_actuator_follows_the_actuator():
    """The body rides on a carriage that an actuator moves; its edge keeps it on its line, across which nothing goes."""
    s = mse.MSystem("s", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=M, inertia=J, frames={"fore": Pose.dx(0.3)}))
    piezo = s.add(mse.PositionActuator("piezo"))
    s.clamp(s.ground, piezo.frame(1))
    seat = s.add(mse.Bushing("seat", stiffness=100.0))
    s.clamp(piezo.frame(0), seat.frame(1))
    s.clamp(body, seat.frame(0))
    carriage = s.add(mse.RigidBody("carriage", mass=1.0, inertia=1.0))
    s.clamp(piezo.frame(0), carriage)
    s.add(mse.Planar("plane"), between=(body, s.ground))
    s.add(KnifeEdge("edge"), between=(body.frame("fore"),))
    s.add(mse.PositionSensor("see"), between=(body, s.ground))
    linear = s.find_working_point().linearize()
    a, f = 0.3, np.array([0.2, 3.0])
    dynamic = 100.0 * (1.0 + a**2) - (2 * np.pi * f) ** 2 * (J + M * a**2)
    found = linear.frequency_response(f, inputs=["piezo.y"])
    np.testing.assert_allclose(found["see.y", "piezo.y"], 100.0 * a**2 / dynamic, rtol=1e-11)


def train(count: int) -> mse.MSystem:
    """Sleds on springs in a row, each turned and with an edge of its own, except the last."""
    s = mse.MSystem("train", gravity=(0, 0, 0))
    last, before = s.ground, Pose()
    for k in range(count):
        here = Pose.dx(float(k)) @ Pose.rotation((0.1, 0.2, 0.3 * k))
        body = s.add(mse.RigidBody(f"sled{k}", mass=M, inertia=J, at=here))
        if k < count - 1:
            s.add(KnifeEdge(f"edge{k}"), between=(body,))
        seat = s.add(mse.Bushing(f"seat{k}", stiffness=50.0 + k, damping=0.1))
        s.clamp(body, seat.frame(0))
        s.clamp(last, seat.frame(1), before.inverse() @ here)
        last, before = body, here
    s.add(mse.ForceActuator("push", axes="world"), between=(s.ground, last))
    s.add(mse.PositionSensor("see"), between=(last, s.ground))
    return s


def test_large_models_hold_their_flows_as_small_ones_do(monkeypatch):
    f = [0.0, 0.3, 1.0]
    small = train(8).find_working_point()
    expected = small.linearize().modes().frequencies_hz, small.linearize().frequency_response(f).values
    for name in ("dense", "dense_eigenpairs"):
        monkeypatch.setattr(SIZES, name, 5)
    large = train(8).find_working_point()
    assert large.stable and not len(large.free)
    linear = large.linearize()
    np.testing.assert_allclose(linear.modes(count=10).frequencies_hz, expected[0][:10], rtol=1e-9)
    np.testing.assert_allclose(linear.frequency_response(f).values, expected[1], rtol=1e-9, atol=1e-11)


def test_parts_put_together_hold_what_the_whole_holds():
    wp = train(4).find_working_point()
    whole = wp.linearize()
    upper = wp.linearize(within=["seat0", "sled0", "edge0", "seat1", "sled1", "edge1"])
    lower = wp.linearize(within=["seat2", "sled2", "edge2", "seat3", "sled3", "push", "see"])
    joined = mse.compose("joined", [upper, lower])
    assert joined.constraints.shape[0] == whole.constraints.shape[0] == 3
    np.testing.assert_allclose(joined.modes().frequencies_hz, whole.modes().frequencies_hz, rtol=1e-12)
    reduced, _ = mse.reduce_model(whole, keep=["sled3.x", "sled3.y", "sled3.z"], up_to_hz=1e3)
    found = [m.frequency_response([0.0, 0.5]).values for m in (whole, joined, reduced)]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-9, atol=1e-11)


def test_a_saved_working_point_is_judged_as_it_was(tmp_path):
    wp = sled().find_working_point()
    wp.save(tmp_path / "sled.json")
    again = mse.read_model(tmp_path / "sled.json")
    assert [m.name for m in again.free] == [m.name for m in wp.free]
    found = again.linearize().frequency_response([1.0]).values
    np.testing.assert_array_equal(found, wp.linearize().frequency_response([1.0]).values)
