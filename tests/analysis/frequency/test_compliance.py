"""Static compliance and stiffness at a frame, beside closed forms and responses from actuators to sensors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import mse
from mse import Pose

LENGTH, RADIUS, YOUNG, POISSON = 0.7, 0.004, 2e11, 0.3
AREA, SECOND = np.pi * RADIUS**2, np.pi / 4 * RADIUS**4


def cantilever(**options) -> mse.LinearModel:
    system = mse.MSystem("cantilever", gravity=(0, 0, 0))
    bar = mse.RoundBeam("bar", length=LENGTH, radius=RADIUS, theory="euler-bernoulli", **options)
    system.clamp(system.ground, system.add(bar).frame(0))
    return system.find_working_point().linearize()


def of_cantilever() -> np.ndarray:
    """Compliance (6, 6) of the tip of a straight cantilever along x by beam theory."""
    bending = YOUNG * SECOND
    c = np.zeros((6, 6))
    c[0, 0] = LENGTH / (YOUNG * AREA)
    c[1, 1] = c[2, 2] = LENGTH**3 / (3 * bending)
    c[3, 3] = LENGTH / (YOUNG / (2 * (1 + POISSON)) * 2 * SECOND)
    c[4, 4] = c[5, 5] = LENGTH / bending
    c[1, 5] = c[5, 1] = LENGTH**2 / (2 * bending)
    c[2, 4] = c[4, 2] = -(LENGTH**2) / (2 * bending)
    return c


def arm(r) -> np.ndarray:
    """Displacements of a point at r by those of the body."""
    t = np.eye(6)
    t[:3, 3:] = -np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
    return t


def net() -> tuple[mse.MSystem, np.ndarray, np.ndarray]:
    """A body on nine springs at rest, its stiffness at the center, and a place away from it."""
    rng = np.random.default_rng(4)
    system = mse.MSystem("net", gravity=(0, 0, 0))
    place = rng.normal(size=3)
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.1, frames={"far": Pose(place) @ Pose.rx(0.4)}))
    stiffness = np.zeros((6, 6))
    for k in range(9):
        at, other = rng.normal(size=3), rng.normal(size=3) * 3
        n = (at - other) / np.linalg.norm(at - other)
        size = 10.0 ** rng.uniform(2, 4)
        spring = mse.Spring(f"spring {k}", length=float(np.linalg.norm(at - other)), stiffness=size)
        system.add(spring, between=(body @ Pose(at), system.ground @ Pose(other)))
        row = n @ arm(at)[:3]
        stiffness += size * np.outer(row, row)
    return system, stiffness, place


@pytest.mark.parametrize("options", [{}, {"elements": 150}, {"form": "exact"}])
def test_the_tip_of_a_cantilever_gives_way_as_beam_theory_says(options):
    linear = cantilever(**options)
    expected = of_cantilever()
    size = np.sqrt(expected.diagonal())
    np.testing.assert_allclose(
        linear.compliance("bar.1") / np.outer(size, size), expected / np.outer(size, size), atol=1e-7
    )
    np.testing.assert_allclose(
        linear.stiffness("bar.1") * np.outer(size, size),
        np.linalg.inv(expected / np.outer(size, size)), atol=1e-6, rtol=1e-6,
    )  # fmt: skip


def test_a_net_of_springs_is_the_sum_of_them_anywhere_on_the_body():
    system, stiffness, place = net()
    linear = system.find_working_point().linearize()
    np.testing.assert_allclose(linear.stiffness("body.center"), stiffness, rtol=1e-9, atol=1e-9 * stiffness.max())
    moved = arm(place) @ np.linalg.inv(stiffness) @ arm(place).T
    for where in ("body.far", system["body"].frame("far"), system["body"] @ Pose(place)):
        np.testing.assert_allclose(linear.compliance(where), moved, rtol=1e-9, atol=1e-9 * np.abs(moved).max())
    turn = np.kron(np.eye(2), Pose.rx(0.4).U)
    np.testing.assert_allclose(
        linear.compliance("body.far", axes="frame"), turn.T @ moved @ turn, rtol=1e-9, atol=1e-9 * np.abs(moved).max()
    )
    some = linear.compliance("body.far", along=["z", "ax"])
    np.testing.assert_allclose(some, moved[np.ix_([2, 3], [2, 3])], rtol=1e-9)
    np.testing.assert_allclose(linear.stiffness("body.far", along=["z", "ax"]), np.linalg.inv(some), rtol=1e-9)


def test_it_is_the_static_response_of_a_coil_and_a_gauge_at_the_frame():
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    base = system.add(mse.PositionActuator("base"))
    system.clamp(system.ground, base.frame(1))
    mirror = system.add(mse.RigidBody("mirror", mass=10.0, inertia=0.1, at=Pose.dz(-0.5)))
    for k, (x, y) in enumerate(((0.1, 0.1), (-0.1, 0.1), (-0.1, -0.1), (0.1, -0.1))):
        wire = mse.Wire(f"wire {k}", length=0.5, radius=2e-4, young_modulus=2e11, poisson_ratio=0.3)
        system.add(wire, between=(mirror @ Pose.dxdydz(x, y, 0.02), base.frame(0) @ Pose.dxdydz(x, y, 0.0)))
    hook = mirror.add_frame("hook", Pose.dxdydz(0.05, -0.03, 0.04))
    rest = system.find_working_point().poses["mirror.hook"]
    system.add(mse.ForceActuator("coil"), between=(system.ground @ rest, hook))
    system.add(mse.PositionSensor("gauge"), between=(hook, system.ground @ rest))
    linear = system.find_working_point().linearize()
    response = linear.frequency_response([0.0], inputs=[f"coil.{c}" for c in ("fx", "fy", "fz", "tx", "ty", "tz")])
    expected = response.values[0].real
    np.testing.assert_allclose(linear.compliance(hook), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    for same in (pickle.loads(pickle.dumps(linear)), system.find_working_point().linearize(within=["base", "mirror"] + [
        f"wire {k}" for k in range(4)])):  # fmt: skip
        np.testing.assert_allclose(same.compliance("mirror.hook"), expected, rtol=1e-6, atol=1e-9)


def test_a_model_from_a_file_knows_its_frames(tmp_path):
    system, *_ = net()
    linear = system.find_working_point().linearize()
    linear.save(tmp_path / "net.npz")
    np.testing.assert_allclose(
        mse.read_result(tmp_path / "net.npz").compliance("body.far"), linear.compliance("body.far"), rtol=1e-9
    )


def guided(stiffness: float) -> mse.LinearModel:
    system = mse.MSystem("guide", gravity=(0, 0, 0))
    table = system.add(mse.RigidBody("table", mass=1.0, inertia=0.01))
    system.add(mse.Prismatic("slide", axis=(1, 0, 0), stiffness=stiffness), between=(table, system.ground))
    return system.find_working_point().linearize()


def test_joints_have_no_compliance_along_what_they_hold():
    linear = guided(50.0)
    expected = np.zeros((6, 6))
    expected[0, 0] = 1 / 50.0
    np.testing.assert_allclose(linear.compliance("table.center"), expected, atol=1e-15)
    np.testing.assert_allclose(linear.stiffness("table.center", along="x"), [[50.0]])
    with pytest.raises(mse.ModelError, match=r"infinite along y, z, ax, ay, az, which joints hold.*along=\['x'\]"):
        linear.stiffness("table.center")


def test_motions_without_stiffness_are_named_where_they_move_the_frame():
    with pytest.raises(
        mse.SingularResponseError, match=r"infinite along x, where a motion .* of table.x moves it; .*'ay', 'az'\]"
    ):
        guided(0.0).compliance("table.center")
    assert not guided(0.0).compliance("table.center", along=["y", "az"]).any()
    system = mse.MSystem("spinning", gravity=(0, 0, -9.81))
    bob = system.add(mse.RigidBody("bob", mass=2.0, inertia=0.1, frames={"rim": Pose.dx(0.1)}, at=Pose.dz(-0.5)))
    system.add(mse.Spring("spring", length=0.5, stiffness=1e3), between=(system.ground, bob @ Pose.dz(0.05)))
    linear = system.find_working_point().linearize()
    with pytest.raises(
        mse.SingularResponseError, match="infinite along az, where a motion without stiffness of bob.az"
    ):
        linear.compliance(bob)
    with pytest.raises(mse.SingularResponseError, match="infinite along y, az,"):
        linear.compliance("bob.rim")
    swing = linear.compliance(bob, along="x")[0, 0]  # at the center: it swings about the hook, and turns about it
    length = 0.5 + 2.0 * 9.81 / 1e3
    np.testing.assert_allclose(swing, (length + 0.05) / (2.0 * 9.81), rtol=1e-9)


def test_what_is_no_frame_that_moves_is_refused():
    linear = guided(50.0)
    with pytest.raises(mse.ModelError, match="'ground' is on the ground"):
        linear.compliance("ground")
    with pytest.raises(mse.UnknownNameError, match="no frame 'table.centre' .did you mean 'table.center'"):
        linear.compliance("table.centre")
    with pytest.raises(mse.UnknownNameError, match="no direction 'q'"):
        linear.compliance("table.center", along="q")
    with pytest.raises(mse.ModelError, match="each once"):
        linear.stiffness("table.center", along=["x", "x"])
    with pytest.raises(mse.ModelError, match="expected the name of a frame"):
        linear.stiffness(3)
    with pytest.raises(mse.ModelError, match="'world' or 'frame'"):
        linear.stiffness("table.center", axes="own")
    with pytest.raises(mse.UnknownNameError, match="there are none"):
        mse.LinearModel.from_matrices([[1.0]], None, [[1.0]]).compliance("x0")
