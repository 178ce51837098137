"""Models with joints by linear algebra: null spaces and bordered equations by hand, large and small, and in time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space

import mse
from mse import Pose
from mse.errors import ImproperModelError, ModelError, SingularResponseError, UnknownNameError
from mse.numerics.options import SIZES
from test_joint_dynamics import INERTIA, WEIGHT, carried, pendulum
from test_joint_statics import join, put, start

pytestmark = pytest.mark.rounding


# -- linear algebra by hand -------------------------------------------------------------------------------------------
def chain(links: int) -> mse.MSystem:
    """Bodies hung one from another by joints of all kinds, with motors, dampers, a rod back to the ground and redundancy."""
    s, floor = start(gravity=(1.0, 0.5, -9.0))
    above, seat = floor, Pose()
    for k in range(links):
        body = put(s, f"b{k}", Pose.dz(-0.5 - k), mass=1.0 + 0.1 * k)
        joint = [
            mse.Revolute(f"j{k}", axis=(0, 1, 0), damping=0.3, motor="force" if k == 0 else "none", stiffness=4.0),
            mse.Universal(f"j{k}", damping=(0.2, 0.1), stiffness=(5.0, 3.0)),
            mse.Spherical(f"j{k}", damping={"az": 0.2}, stiffness={"az": 6.0}),
            mse.Prismatic(f"j{k}", stiffness=900.0, damping=4.0, motor="position" if k == 3 else "none"),
            mse.Cylindrical(f"j{k}", stiffness=(700.0, 8.0), damping=(3.0, 0.1)),
            mse.Fixed(f"j{k}"),
        ][k % 6]
        join(s, joint, body, Pose.dz(0.5), above, seat)
        if k % 6 == 5:  # held twice
            join(s, mse.PointOnLine(f"again{k}"), body, Pose.dz(0.5), above, seat)
        above, seat = body, Pose.dz(-0.5)
    watched = s.add(mse.PositionSensor("probe"))
    s.clamp(above, watched.frame(0))
    s.clamp(floor, watched.frame(1))
    stay = put(s, "stay", Pose.dxdydz(1.0, 0.2, -1.0), mass=0.5)
    soft = mse.Bushing("soft", stiffness=[60.0, 70.0, 80.0, 6.0, 7.0, 8.0], damping=[1.0] * 3 + [0.1] * 3)
    join(s, soft, stay, Pose(), floor, Pose.dxdydz(1.0, 0.2, -1.0))
    join(s, mse.Rod("rod", length=1.0), stay, Pose(), s["b0"].frame(0), Pose.dz(-0.4))
    return s


F = np.array([0.0, 0.05, 0.31, 1.7, 8.0])


def by_hand(linear, f) -> np.ndarray:
    """Responses (outputs, inputs) from bordered equations in all coordinates and multipliers, and from a null space."""
    n = linear.size
    s = 2j * np.pi * f
    d = (linear.full_stiffness + s * linear.full_damping + s**2 * linear.full_mass).toarray()
    g = linear.constraints.toarray()
    w = linear.drive.toarray()
    force = linear.force.toarray()
    z = null_space(g[:, :n])
    lift = -np.linalg.pinv(g[:, :n]) @ g[:, n:] @ w
    right = force[:n] - d[:n, n:] @ w - d[:n, :n] @ lift
    q = lift + z @ np.linalg.solve(z.T @ d[:n, :n] @ z, z.T @ right)
    x = np.vstack([q, w])
    # multipliers balance what the motion leaves; what holds w is read with them
    multipliers = np.linalg.lstsq(g[:, :n].T.astype(complex), force[:n] - d[:n] @ x, rcond=None)[0]
    held = d[n:] @ x + g[:, n:].T @ multipliers - force[n:]
    weight, stress = linear.sharing[:, None], linear.self_stress.toarray()
    held = held - stress @ np.linalg.lstsq(weight * stress, weight * held)[0]  # the shortest that balance
    return linear.measure.toarray() @ x - linear.reaction.toarray() @ held


def sizes(linear, values) -> np.ndarray:
    """The largest response (outputs, inputs) among the outputs of one unit."""
    units, largest = np.array(linear.output_units), np.abs(values).max(axis=0)
    return np.array([largest[units == u].max(axis=0) for u in units])


@pytest.mark.slow
@pytest.mark.parametrize("links", [4, 9])
def test_responses_are_those_of_null_space_reduction_by_hand(links, monkeypatch):
    linear = chain(links).find_working_point().linearize()
    assert linear.size < 300 and linear.constraints.shape[0] > 15
    expected = np.array([by_hand(linear, f) for f in F])
    dense = linear.frequency_response(F).values
    size = sizes(linear, expected)
    np.testing.assert_allclose(dense / size, expected / size, atol=1e-9)
    monkeypatch.setattr(SIZES, "dense", 10)
    sparse = linear.frequency_response(F).values
    assert not np.array_equal(sparse, dense)
    np.testing.assert_allclose(sparse / size, expected / size, atol=1e-8)


@pytest.mark.slow
def test_a_large_chain_along_both_ways(monkeypatch):
    linear = chain(53).find_working_point().linearize()
    assert linear.size > 300
    sparse = linear.frequency_response(F).values
    monkeypatch.setattr(SIZES, "dense", 1000)
    dense = linear.frequency_response(F).values
    size = sizes(linear, dense)
    np.testing.assert_allclose(sparse / size, dense / size, atol=1e-8)
    few = linear.modes(5).frequencies_hz
    # two factorizations of matrices with wires as stiff as 1e6 N/m beside hinges: measured 1.2e-8 apart
    np.testing.assert_allclose(few, linear.modes().frequencies_hz[:5], rtol=1e-7)


@pytest.mark.slow
def test_modes_are_those_of_null_space_reduction_by_hand():
    linear = chain(8).find_working_point().linearize()
    z = null_space(linear.constraints[:, : linear.size].toarray())
    k, m = (z.T @ (a @ z) for a in (linear.K, linear.M))
    expected = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(m, k)).real)) / (2 * np.pi)
    found = linear.modes()
    np.testing.assert_allclose(found.frequencies_hz, expected, rtol=1e-8)
    np.testing.assert_allclose(found.shapes.T @ (linear.M @ found.shapes), np.eye(len(expected)), atol=1e-8)
    np.testing.assert_allclose(linear.constraints[:, : linear.size] @ found.shapes, 0, atol=1e-10)
    np.testing.assert_allclose(sum(found.participation.values()), 1.0, rtol=1e-12)


@pytest.mark.slow
def test_the_null_space_of_a_model():
    wp = chain(6).find_working_point()
    linear = wp.linearize()
    space = linear.null_space()
    assert len(space.independent) == wp.freedoms == space.basis.shape[1]
    assert space.residual < 1e-12
    n = linear.size
    g = linear.constraints
    np.testing.assert_allclose((g[:, :n] @ space.basis).toarray(), 0, atol=1e-12)
    np.testing.assert_allclose((g[:, :n] @ space.lift + g[:, n:]).toarray(), 0, atol=1e-12)
    at = [linear.coordinates.index(name) for name in space.independent]
    np.testing.assert_array_equal(space.basis[at].toarray(), np.eye(len(at)))
    # any other choice that works spans the same
    other = list(space.independent)
    swapped = next(k for k, name in enumerate(other) if name.startswith("stay"))
    other[0], other[swapped] = other[swapped], other[0]
    again = linear.null_space(other)
    assert again.independent == tuple(other)
    together = np.hstack([space.basis.toarray(), again.basis.toarray()])
    assert np.linalg.matrix_rank(together, tol=1e-9) == len(other)


def test_wrong_choices_of_independent_coordinates_are_refused():
    linear = pendulum().find_working_point().linearize()
    assert linear.null_space(["body.ay"]).independent == ("body.ay",)
    np.testing.assert_allclose(
        linear.null_space(["body.x"]).basis.toarray().ravel()[:5], [1, 0, 0, 0, -1 / 0.6], atol=1e-12
    )
    with pytest.raises(UnknownNameError, match="no independent coordinate 'body.aay'.*did you mean 'body.ay'"):
        linear.null_space(["body.aay"])
    for wrong in (["body.x", "body.ay"], []):
        with pytest.raises(ModelError, match=f"{len(wrong)} independent coordinates; expected 1"):
            linear.null_space(wrong)
    with pytest.raises(ModelError, match="body.y do not determine the motion"):
        linear.null_space(["body.y"])


def test_a_model_without_joints_has_all_coordinates_independent():
    s, floor = start()
    join(s, mse.Bushing("soft", stiffness=9.0), put(s, "body"), Pose(), floor, Pose())
    linear = s.find_working_point().linearize()
    space = linear.null_space()
    assert space.independent == linear.coordinates and space.residual == 0.0
    assert linear.constraints.shape == (0, 6)


# -- in time ----------------------------------------------------------------------------------------------------------
def test_a_sinusoidal_motor_in_time_is_its_frequency_response():
    """A carriage on a motor with a pendulum below: u' and u'' push the pendulum; long after, only the response is left."""
    s, floor = start()
    cart = put(s, "cart")
    join(s, mse.Prismatic("rail", axis=(1, 0, 0), motor="position"), cart, Pose(), floor, Pose())
    bob = put(s, "bob", Pose.dz(-0.6))
    join(s, mse.Revolute("hinge", axis=(0, 1, 0), damping=1.5), bob, Pose.dz(0.6), cart, Pose())
    damper = mse.Bushing("air", stiffness=np.zeros(6), damping=[0.4] * 3 + [0.0] * 3)
    join(s, damper, bob, Pose(), floor, Pose.dz(-0.6))
    linear = s.find_working_point().linearize()
    f = 0.9
    w = 2 * np.pi * f
    r = linear.frequency_response([f])
    # J a'' + (c + d l^2) a' + m g l a = m l u'' + d l u', l downwards
    plain = INERTIA * -(w**2) + 1j * w * (1.5 + 0.4 * 0.36) + WEIGHT
    expected = (2.0 * 0.6 * -(w**2) + 0.4 * 0.6 * 1j * w) / plain
    assert r["hinge.angle", "rail.displacement"][0] == pytest.approx(expected, rel=1e-9)
    history = linear.simulate(
        duration=30.0, dt=0.01, inputs={"rail.displacement": lambda t: np.sin(w * t)},
        outputs=["hinge.angle", "rail.displacement"],
    )  # fmt: skip
    late = history.time > 25.0
    t = history.time[late]
    np.testing.assert_allclose(history["hinge.angle"][late], (expected * np.exp(1j * w * t)).imag, atol=1e-6)
    np.testing.assert_allclose(history["rail.displacement"][late], np.sin(w * t), atol=1e-9)


def test_reactions_under_a_motor_that_moves_mass_are_improper_in_time():
    linear = carried("Revolute", motor="position", position=0.3).find_working_point().linearize()
    with pytest.raises(ImproperModelError, match=r"it\.\w+ under it\.angle.*acceleration"):
        linear.state_space(outputs=["it.tz"])
    with pytest.raises(ImproperModelError, match="it.angle"):
        linear.simulate(duration=1.0, dt=0.1, inputs={"it.angle": np.sin}, outputs=["it.fx", "it.tz"])
    linear.state_space(outputs=["probe.x", "it.angle"])
    # a force motor's reactions are proper, and in time they end where they are static
    linear = carried("Revolute", motor="force", damping=8.0).find_working_point().linearize()
    space = linear.state_space(inputs=["it.torque"], outputs=["it.fx", "it.angle"])
    w = 2j * np.pi * 0.7
    transfer = space.C @ np.linalg.solve(w * np.eye(len(space.A)) - space.A, space.B) + space.D
    r = linear.frequency_response([0.7])
    expected = [r["it.fx", "it.torque"][0], r["it.angle", "it.torque"][0]]
    np.testing.assert_allclose(transfer[:, 0], expected, rtol=1e-8)


@pytest.mark.parametrize("stiffness", [1e4, 1e7, 1e9])
def test_stiff_springs_beside_hide_no_derivative(stiffness):
    """The motor carries 1 kg: that was taken for rounding of the spring's squared stiffness, and the state space lacked it."""
    system = mse.MSystem("stage", gravity=(0, 0, 0))
    carriage, probe = (system.add(mse.RigidBody(name, mass=1.0, inertia=1e-3)) for name in ("carriage", "probe"))
    system.add(mse.Prismatic("guide", motor="position"), between=(carriage, system.ground))
    system.add(mse.Prismatic("flexure", stiffness=stiffness), between=(probe, carriage))
    linear, w = system.find_working_point().linearize(), 2.0 * np.pi * 1000.0
    force = linear.frequency_response([w / (2.0 * np.pi)], outputs=["guide.fz"]).values[0, 0, 0]
    np.testing.assert_allclose(np.abs(force), np.abs(w**2 * (1.0 + 1.0 / (1.0 - w**2 / stiffness))), rtol=1e-9)
    with pytest.raises(
        ImproperModelError, match=r"guide\.fz under guide\.displacement would need the second derivative"
    ):
        linear.state_space(outputs=["guide.fz"])


def test_a_free_swing_in_time():
    linear = pendulum().find_working_point().linearize()
    (state,) = [x for x in linear.state_space().states if not x.endswith("'")]
    history = linear.simulate(duration=3.0, dt=0.05, initial={state: 0.01})
    start = history["hinge.angle"][0]
    assert abs(start) > 1e-3
    expected = start * np.cos(np.sqrt(WEIGHT / INERTIA) * history.time)
    np.testing.assert_allclose(history["hinge.angle"], expected, atol=1e-9)


def test_a_free_hinge_has_no_static_response():
    s, floor = start(gravity=(0, 0, 0))
    join(s, mse.Revolute("hinge", motor="force"), put(s, "wheel"), Pose(), floor, Pose())
    linear = s.find_working_point().linearize()
    with pytest.raises(SingularResponseError, match="hinge.torque at 0 Hz"):
        linear.frequency_response([0.0])
    w = 2 * np.pi * 0.5
    r = linear.frequency_response([0.5])
    assert r["hinge.angle", "hinge.torque"][0] == pytest.approx(-1 / (0.15 * w**2), rel=1e-12)
