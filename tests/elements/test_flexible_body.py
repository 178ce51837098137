"""Elastic bodies from finite-element matrices: against beams, closed forms, exact differentiation, and each other."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.transform import Rotation
from textbook_frames import Bar, chain

import mse
from mse import ModelError, Pose
from mse.elements.base import FramePose
from mse.elements.recorded_laws import differentiated

BAR = Bar()
G = 9.81
ENDS = {"left": Pose(), "right": Pose.dx(BAR.length)}
PARTICLES = np.random.default_rng(3).normal(size=(40, 3)), np.random.default_rng(4).uniform(size=40)


def bar_body(name="bar", *, bar=BAR, elements=16, modes=12, damping=0.0, at=None) -> mse.FlexibleBody:
    m, k = chain(bar, elements)
    ends = np.r_[0:6, 6 * elements : 6 * elements + 6]
    r = mse.reduce_matrices(m, damping * k, k, ends, modes=modes)
    return r.body(name, interfaces={"left": Pose(), "right": Pose.dx(bar.length)}, at=at)


def rigid_motions(place) -> np.ndarray:
    out = np.tile(np.eye(6), (len(place), 1))
    for k, p in enumerate(place):
        out[6 * k : 6 * k + 3, 3:] = np.array([[0, p[2], -p[1]], [-p[2], 0, p[0]], [p[1], -p[0], 0]])
    return out


def any_body(interfaces: int, internal: int) -> mse.FlexibleBody:
    """A body of particles that follow the interfaces: exact inertia of rigid motions, otherwise at random."""
    rng = np.random.default_rng(interfaces)
    place, n = rng.normal(size=(interfaces, 3)), 6 * interfaces + internal
    rigid = np.zeros((n, 6))
    rigid[: 6 * interfaces] = rigid_motions(place)
    across = np.eye(n) - rigid @ np.linalg.pinv(rigid)
    stiffness = rng.normal(size=(n, n))
    mass = np.zeros((n, n))
    for p, m in zip(*PARTICLES, strict=True):
        moves = rigid_motions([p])[:3] @ np.linalg.pinv(rigid) + 0.1 * rng.normal(size=(3, n)) @ across
        mass += m * moves.T @ moves
    k = across @ stiffness @ stiffness.T @ across
    if interfaces == 1:
        k[:6] = k[:, :6] = 0.0  # to the last digit
    poses = {f"f{k}": Pose(p, Rotation.random(rng=rng).as_matrix()) for k, p in enumerate(place)}
    return mse.FlexibleBody("body", M=mass, K=k, Lambda=0.1 * k, interfaces=poses)


def anywhere(count: int, seed: int) -> list[FramePose]:
    rng = np.random.default_rng([seed, 1])
    return [FramePose(rng.normal(size=3), Rotation.random(rng=rng).as_matrix()) for _ in range(count)]


def at_rest(body: mse.FlexibleBody, base: Pose) -> list[FramePose]:
    return [FramePose(p.o, p.U) for p in (base @ pose for pose in body.rest_poses().values())]


def cantilever(body, *, turn=None, probe="right", held="left") -> mse.MSystem:
    """The body held at one end, with everything and gravity turned about the origin."""
    turn = Pose() if turn is None else turn
    system = mse.MSystem("cantilever", gravity=turn.U @ np.array([0, 0, -G]))
    system.add(body)
    system.clamp(system.ground, body.frame(held), turn)
    if probe:
        sensor = system.add(mse.PositionSensor("probe"))
        system.clamp(body.frame(probe), sensor.frame(0))
        system.clamp(system.ground, sensor.frame(1))
    return system


# -- the law ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("interfaces, internal", [(1, 0), (1, 3), (2, 0), (2, 3), (3, 2)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_forces_and_stiffness_are_the_exact_derivatives_of_the_energy(interfaces, internal, seed):
    body, frames = any_body(interfaces, internal), anywhere(interfaces, seed)
    q, gravity = 0.3 * np.random.default_rng(seed).normal(size=internal), np.array([0.4, -1.1, -9.8])
    energy, gradient, parts = body.evaluate(frames, q, gravity, 2)
    expected, slope, hessian = differentiated(body, frames, q, gravity, 2)
    assert energy == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=0, atol=1e-11 * np.abs(slope).max())
    np.testing.assert_allclose(parts.sum(axis=0), hessian.sum(axis=0), rtol=0, atol=1e-12 * np.abs(hessian).max())
    np.testing.assert_array_equal(body.evaluate(frames, q, gravity, 1)[1], gradient)
    # without weight no gravity, and at rest no geometric stiffness
    assert not np.any(body.stiffness_parts(frames, q)["gravity"])
    rest = at_rest(body, Pose((1, 2, 3), Rotation.random(rng=np.random.default_rng(seed)).as_matrix()))
    still = body.stiffness_parts(rest, np.zeros(internal))
    assert np.abs(still["geometric"]).max() < 1e-12 * max(1.0, np.abs(body.K).max())


def test_elastic_stiffness_at_rest_is_K_turned():
    body = any_body(3, 4)
    turn = Rotation.random(rng=np.random.default_rng(9)).as_matrix()
    frames = at_rest(body, Pose((0.3, 0.1, -2), turn))
    there = np.eye(22)
    there[:18, :18] = np.kron(
        np.eye(6), turn @ body.rest_poses()["f0"].U @ next(iter(body.options()["interfaces"].values())).U.T
    )
    found = body.stiffness_parts(frames, np.zeros(4))["elastic"]
    np.testing.assert_allclose(found, there @ body.K @ there.T, atol=1e-12 * np.abs(body.K).max())
    np.testing.assert_allclose(body.mass_matrix(frames), there @ body.M @ there.T, atol=1e-12 * np.abs(body.M).max())
    damping = body.damping_matrix(frames)
    np.testing.assert_allclose(damping, there @ body.Lambda @ there.T, atol=1e-12 * np.abs(damping).max())


def test_mass_and_its_center_are_those_of_the_particles():
    (places, masses), body = PARTICLES, any_body(3, 2)
    center = masses @ places / masses.sum()
    assert body.mass == pytest.approx(masses.sum(), rel=1e-12)
    np.testing.assert_allclose(body.center_of_mass, center, atol=1e-12)
    base = Pose((1, -1, 2), Rotation.random(rng=np.random.default_rng(1)).as_matrix())
    frames = at_rest(body, base)
    seat = next(iter(body.options()["interfaces"].values()))
    place = (base @ seat.inverse()).apply(center)
    g = np.array([0.4, -1.1, -9.8])
    assert body.evaluate(frames, np.zeros(2), g, 0)[0] == pytest.approx(-masses.sum() * g @ place, rel=1e-12)
    # the weight, and its moment about the world's origin
    wrench = body.forces(frames, np.zeros(2), g)[:18].reshape(3, 6)
    np.testing.assert_allclose(wrench[:, :3].sum(axis=0), masses.sum() * g, rtol=1e-11)
    moment = wrench[:, 3:].sum(axis=0) + np.cross([f.o for f in frames], wrench[:, :3]).sum(axis=0)
    np.testing.assert_allclose(moment, np.cross(place, masses.sum() * g), rtol=1e-10)


def test_rigid_motions_of_a_bent_body_are_not_damped():
    body, frames = any_body(3, 2), anywhere(3, 5)
    motions = np.vstack([rigid_motions([f.o for f in frames]), np.zeros((2, 6))])
    damping = body.damping_matrix(frames)
    assert np.abs(damping @ motions).max() < 1e-13 * np.abs(damping).max()
    assert np.linalg.eigvalsh(damping)[0] > -1e-12 * np.abs(damping).max()


def test_damping_is_the_dissipation_of_the_rate_of_deformation():
    body, frames = any_body(2, 1), anywhere(2, 6)
    v, h = np.random.default_rng(0).normal(size=13), 1e-5
    u = [body._deformation([FramePose(f.o + s * h * v[6 * k : 6 * k + 3],
                                      Rotation.from_rotvec(s * h * v[6 * k + 3 : 6 * k + 6]).as_matrix() @ f.U)
                            for k, f in enumerate(frames)], [s * h * v[12]]) for s in (-1, 1)]  # fmt: skip
    rate = (u[1] - u[0]) / (2 * h)
    assert v @ body.damping_matrix(frames) @ v == pytest.approx(rate @ body.Lambda @ rate, rel=1e-7)


def test_what_damps_rigid_motions_too_is_drag():
    body, at = any_body(3, 2), Pose((1, 2, 3), Rotation.random(rng=np.random.default_rng(2)).as_matrix())
    body.Lambda = 2.0 * body.M
    frames = at_rest(body, at)
    np.testing.assert_allclose(body.damping_matrix(frames), 2.0 * body.mass_matrix(frames), atol=1e-11)


def test_many_internal_coordinates_are_quick():
    body, frames = any_body(4, 60), anywhere(4, 0)
    g = np.array([0, 0, -G])
    body.evaluate(frames, np.zeros(60), g, 2)
    start = time.perf_counter()
    for _ in range(20):
        body.evaluate(frames, np.zeros(60), g, 2)
    assert (time.perf_counter() - start) / 20 < 0.02


# -- a cantilever -------------------------------------------------------------------------------------------------
def test_it_sags_under_its_weight_by_the_closed_form():
    working_point = cantilever(bar_body()).find_working_point()
    sag = -BAR.density * BAR.area * G * BAR.length**4 / (8 * BAR.young * BAR.iy)
    assert working_point.poses["bar.right"].o[2] == pytest.approx(sag, rel=1e-9)
    slope = BAR.density * BAR.area * G * BAR.length**3 / (6 * BAR.young * BAR.iy)
    assert working_point.poses["bar.right"].rotation_vector()[1] == pytest.approx(slope, rel=1e-9)
    # the clamp carries weight and moment
    np.testing.assert_allclose(working_point.forces["bar"][0, :3], [0, 0, -BAR.mass * G], atol=1e-8)
    assert working_point.forces["bar"][0, 4] == pytest.approx(BAR.mass * G * BAR.length / 2, rel=1e-6)


def test_modes_are_those_of_a_clamped_bar():
    body = bar_body(elements=24, modes=30)
    system = cantilever(body)
    system.gravity = (0, 0, 0)
    found = system.find_working_point().linearize().modes(6).frequencies_hz
    betas = np.array([1.875104068711961, 4.694091132974175, 7.854757438237613, 10.995540734875467])
    bending = [betas**2 / BAR.length**2 * np.sqrt(BAR.young * i / (BAR.density * BAR.area)) for i in (BAR.iy, BAR.iz)]
    twist = np.pi / (2 * BAR.length) * np.sqrt(BAR.shear * BAR.torsion / (BAR.density * (BAR.iy + BAR.iz)))
    expected = np.sort(np.concatenate([*bending, [twist]]))[:6] / (2 * np.pi)
    np.testing.assert_allclose(found, expected, rtol=3e-4)
    np.testing.assert_allclose(found[:4], expected[:4], rtol=2e-5)


def test_modes_and_sag_agree_with_a_beam():
    system = mse.MSystem("beam", gravity=(0, 0, -G))
    beam = system.add(
        mse.SectionBeam(
            "bar",
            length=BAR.length,
            area=BAR.area,
            second_moment_y=BAR.iy,
            second_moment_z=BAR.iz,
            torsion_constant=BAR.torsion,
            density=BAR.density,
            young_modulus=BAR.young,
            poisson_ratio=BAR.young / (2 * BAR.shear) - 1,
            theory="euler-bernoulli",
            elements=12,
        )
    )
    sensor = system.add(mse.PositionSensor("probe"))
    system.clamp(system.ground, beam.frame(0))
    system.clamp(beam.frame(1), sensor.frame(0))
    system.clamp(system.ground, sensor.frame(1))
    one, other = system.find_working_point(), cantilever(bar_body(elements=24, modes=30)).find_working_point()
    for name, pose in (("probe.0", one.poses["bar.1"]),):
        assert other.poses[name].o[2] == pytest.approx(pose.o[2], rel=2e-5)
    a, b = (wp.linearize().modes(6).frequencies_hz for wp in (one, other))
    np.testing.assert_allclose(b, a, rtol=2e-4)
    np.testing.assert_allclose(b[:2], a[:2], rtol=5e-5)


@pytest.mark.parametrize("seed", [0, 1])
def test_everything_turned_together_stays_the_same(seed):
    turn = Pose((1.0, -2.0, 0.5), Rotation.random(rng=np.random.default_rng(seed)).as_matrix())
    upright, turned = (cantilever(bar_body(), turn=t).find_working_point() for t in (Pose(), turn))
    expected = turn @ upright.poses["bar.right"]
    assert turned.poses["bar.right"].is_close(expected, distance=1e-9, angle=1e-9)
    a, b = (wp.linearize().modes(8).frequencies_hz for wp in (upright, turned))
    np.testing.assert_allclose(b, a, rtol=1e-8)


def test_upside_down_it_sags_the_other_way_with_the_same_frequencies():
    a = cantilever(bar_body()).find_working_point()
    b = cantilever(bar_body(), turn=Pose.rx(np.pi)).find_working_point()
    assert b.poses["bar.right"].o[2] == pytest.approx(-a.poses["bar.right"].o[2], rel=1e-9)
    flipped = cantilever(bar_body(), turn=Pose.rx(np.pi))
    flipped.gravity = (0, 0, -G)
    c = flipped.find_working_point()
    assert c.poses["bar.right"].o[2] == pytest.approx(a.poses["bar.right"].o[2], rel=1e-9)
    np.testing.assert_allclose(c.linearize().modes(6).frequencies_hz, a.linearize().modes(6).frequencies_hz, rtol=1e-8)


def hanging(body: mse.FlexibleBody, payload: float, top: str, bottom: str, at=None) -> mse.MSystem:
    system = mse.MSystem("pendulum", gravity=(0, 0, -G))
    system.add(body)
    hinge = system.add(mse.Bushing("hinge", stiffness=(1e7, 1e7, 1e7, 1e-6, 1e-6, 1e-6)))
    weight = system.add(mse.RigidBody("weight", mass=payload, inertia=payload * 1e-4))
    system.clamp(system.ground, hinge.frame(1))
    system.clamp(hinge.frame(0), body.frame(top))
    system.clamp(body.frame(bottom), weight.frame(0))
    return system


def test_it_swings_down_from_far_and_is_then_a_pendulum():
    # laid out along x, it has to turn by 90 degrees; then a rigid rod with a weight at its end, bent very little
    body = bar_body(modes=6)
    working_point = hanging(body, 2.0, "left", "right").find_working_point()
    np.testing.assert_allclose(working_point.poses["weight.center"].o, [0, 0, -BAR.length], atol=2e-5)
    inertia = BAR.mass * BAR.length**2 / 3 + 2.0 * BAR.length**2 + 2e-4
    moment = BAR.mass * BAR.length / 2 + 2.0 * BAR.length
    rigid = np.sqrt((moment * G) / inertia) / (2 * np.pi)
    modes = working_point.linearize().modes(6).frequencies_hz
    swings = modes[np.abs(modes / rigid - 1) < 0.01]
    assert len(swings) == 2
    # and a little slower, as gravity also bends it
    np.testing.assert_allclose(swings, rigid, rtol=2e-3)


def test_order_of_the_interfaces_matters_only_to_second_order():
    # a tilted rod between hinge and weight: the frames from either end differ by the square of the deformation
    m, k = chain(BAR, 8)
    ends = np.r_[0:6, 48:54]
    found = []
    for scale in (1.0, 0.5):
        tips = []
        for order in (("left", "right"), ("right", "left")):
            at = ends if order[0] == "left" else np.roll(ends, 6)
            r = mse.reduce_matrices(m, None, k, at, modes=6)
            body = r.body("bar", interfaces={name: ENDS[name] for name in order})
            system = cantilever(body, probe=None)
            weight = system.add(mse.RigidBody("weight", mass=scale * 1.0, inertia=1e-4))
            system.clamp(body.frame("right"), weight.frame(0))
            system.gravity = (0, 3.0 * scale, -G)
            tips.append(system.find_working_point().poses["bar.right"])
        found.append((tips[0].o, tips[1].o - tips[0].o))
    sag, difference = np.linalg.norm(found[0][0][1:]), np.linalg.norm(found[0][1])
    assert 0 < difference < 3 * sag**2 / BAR.length
    assert np.linalg.norm(found[1][1]) < 0.35 * difference


# -- other machinery ----------------------------------------------------------------------------------------------
def test_frequency_response_and_loss_are_those_of_the_matrices():
    m, k = chain(BAR, 16)
    system = cantilever(bar_body(modes=40), probe=None)
    system.gravity = (0, 0, 0)
    force = system.add(mse.ForceActuator("push"))
    sensor = system.add(mse.PositionSensor("probe"))
    system.clamp(force.frame(1), system.frame("bar.right"))
    system.clamp(system.ground, force.frame(0))
    system.clamp(sensor.frame(0), system.frame("bar.right"))
    system.clamp(system.ground, sensor.frame(1))
    linear = system.find_working_point().linearize()
    f = np.array([1.0, 20.0, 60.0, 150.0])
    found = linear.frequency_response(f, inputs=["push.fz"], outputs=["probe.z"], loss={"bar": 0.02})
    for k_f, value in zip(f, found["probe.z", "push.fz"], strict=True):
        d = ((1 + 0.02j) * k - (2 * np.pi * k_f) ** 2 * m).toarray()[6:, 6:]
        load = np.zeros(len(d))
        load[-4] = 1.0
        assert value == pytest.approx(np.linalg.solve(d, load)[-4], rel=1e-5)


def test_time_response_rings_down_by_its_damping():
    damping = 2e-5
    system = cantilever(bar_body(modes=4, damping=damping), probe=None)
    force = system.add(mse.ForceActuator("push"))
    sensor = system.add(mse.PositionSensor("probe"))
    system.clamp(force.frame(1), system.frame("bar.right"))
    system.clamp(system.ground, force.frame(0))
    system.clamp(sensor.frame(0), system.frame("bar.right"))
    system.clamp(system.ground, sensor.frame(1))
    linear = system.find_working_point().linearize()
    modes = linear.modes(damped=True)
    # stiffness-proportional: zeta = beta w/2
    slowest = modes.frequencies_hz[0]
    assert modes.damping_ratios[0] == pytest.approx(damping * np.pi * slowest, rel=1e-3)
    period = 1 / slowest
    history = linear.simulate(
        duration=30 * period, dt=period / 200, inputs={"push.fz": lambda t: np.where(t < 0.02 * period, 1.0, 0.0)}
    )
    z, t = history["probe.z"], history.time
    early, late = (np.abs(z[(t > a * period) & (t < (a + 1) * period)]).max() for a in (9.0, 27.0))
    assert late / early == pytest.approx(np.exp(-damping * np.pi * slowest * 2 * np.pi * 18), rel=0.02)


def test_it_carries_a_rigid_body_like_a_beam_does():
    # static: F L^3/(3 E I) + q L^4/(8 E I); light enough to stay linear
    body = bar_body(modes=8)
    system = cantilever(body, probe=None)
    weight = system.add(mse.RigidBody("weight", mass=0.05, inertia=1e-6))
    system.clamp(body.frame("right"), weight.frame(0))
    working_point = system.find_working_point()
    stiff = BAR.young * BAR.iy
    sag = -(0.05 * G * BAR.length**3 / (3 * stiff) + BAR.mass * G * BAR.length**3 / (8 * stiff))
    assert working_point.poses["weight.center"].o[2] == pytest.approx(sag, rel=1e-5)
    # Rayleigh's quotient with 33/140 of the bar bounds the first mode from above, closely
    rayleigh = np.sqrt(3 * stiff / BAR.length**3 / (0.05 + 33 / 140 * BAR.mass)) / (2 * np.pi)
    first = working_point.linearize().modes(1).frequencies_hz[0]
    assert rayleigh * 0.985 < first < rayleigh


def test_two_bodies_of_different_sizes_in_one_system():
    # a bar in two pieces with unequal numbers of modes is the bar
    half = Bar(length=BAR.length / 2)
    first, second = bar_body("first", bar=half, modes=10), bar_body("second", bar=half, modes=14)
    system = cantilever(first, probe=None)
    system.add(second)
    sensor = system.add(mse.PositionSensor("probe"))
    system.clamp(first.frame("right"), second.frame("left"))
    system.clamp(second.frame("right"), sensor.frame(0))
    system.clamp(system.ground, sensor.frame(1))
    whole, pieces = cantilever(bar_body()).find_working_point(), system.find_working_point()
    assert pieces.poses["second.right"].o[2] == pytest.approx(whole.poses["bar.right"].o[2], rel=1e-5)
    a, b = (wp.linearize().modes(3).frequencies_hz for wp in (whole, pieces))
    np.testing.assert_allclose(b, a, rtol=1e-3)


def test_files_and_copies_keep_every_digit(tmp_path):
    system = cantilever(bar_body(modes=3, damping=1e-5))
    working_point = system.find_working_point()
    working_point.save(tmp_path / "bar.json")
    again = mse.read_model(tmp_path / "bar.json")
    body, loaded = system.objects[0], again.system.objects[0]
    for key in ("M", "K", "Lambda"):
        np.testing.assert_array_equal(loaded.parameters[key], body.parameters[key])
    assert loaded.frame_names == ("left", "right") and loaded.coordinate_names == ("q1", "q2", "q3")
    np.testing.assert_array_equal(again.linearize().K.toarray(), working_point.linearize().K.toarray())
    undamped = cantilever(mse.FlexibleBody("bar", M=body.M, K=body.K, interfaces=ENDS))
    undamped.save(tmp_path / "undamped.json")
    assert mse.read_model(tmp_path / "undamped.json").objects[0].Lambda is None

    twin = body.copy("twin")
    twin.K = 4.0 * body.K
    assert twin.K[0, 0] == 4.0 * body.K[0, 0] and twin.mass == body.mass
    np.testing.assert_allclose(
        twin.stiffness_parts(at_rest(twin, Pose()), np.zeros(3))["elastic"], 4.0 * body.K, atol=1e-3
    )


def test_sparse_matrices_are_taken():
    m, k = chain(BAR, 1)
    body = mse.FlexibleBody("bar", M=m, K=sp.csc_array(k), interfaces=ENDS)
    np.testing.assert_array_equal(body.M, 0.5 * (m + m.T).toarray())
    assert body.span() == BAR.length and body.outline(at_rest(body, Pose())).lines == ((0, 1),)


# -- refusals -----------------------------------------------------------------------------------------------------
def spoiled(matrix, *entries):
    out = np.array(matrix.toarray() if sp.issparse(matrix) else matrix)
    for i, j, value in entries:
        out[i, j] = value
    return out


ONE_M, ONE_K = (a.toarray() for a in chain(BAR, 1))
UPPER = np.diag(np.r_[np.ones(6), np.zeros(6)])
SWAP = np.eye(12)[[6, 1, 2, 3, 4, 5, 0, 7, 8, 9, 10, 11]] - np.diag([0.0, *[1.0] * 5, 0.0, *[1.0] * 5])


@pytest.mark.parametrize(
    "changes, text",
    [
        ({"K": np.triu(ONE_K)}, "K is unsymmetric by|expected a symmetric matrix|add the other"),
        ({"M": spoiled(ONE_M, (2, 4, 9.0))}, "M is unsymmetric by 9"),
        ({"K": ONE_K[:11, :11]}, "K has shape (11, 11); expected at least (12, 12), six for each of the 2 interfaces"),
        ({"M": np.eye(14)}, "M has shape (14, 14); expected (12, 12) like K"),
        ({"Lambda": np.eye(6)}, "Lambda has shape (6, 6); expected (12, 12)"),
        ({"K": ONE_K[:5]}, "K has shape (5, 12); expected a symmetric"),
        ({"M": spoiled(ONE_M, (3, 3, np.nan))}, "M[3, 3] is nan; expected finite numbers"),
        ({"M": -ONE_M}, "M is -|at [|expected a positive semi-definite matrix; check that it was exported whole"),
        ({"K": -ONE_K}, "K, with the first interface held, is -|positive semi-definite"),
        ({"Lambda": spoiled(np.zeros((12, 12)), (1, 1, -1.0))}, "Lambda is -1 at [1, 1]"),
        ({"M": ONE_M + 2e3 * SWAP}, "M has the eigenvalue -|once scaled to a unit diagonal; expected a positive semi-definite"),
        ({"K": ONE_K + 1e3 * np.eye(12)}, "K resists the rigid|expected below 0.0001; export the body free of supports"),
        ({"interfaces": {"left": Pose(), "right": Pose.dx(0.61)}}, "K resists the rigid rotation about"),
        ({"interfaces": {"left": Pose(), "right": Pose.dy(0.6)}}, "K resists the rigid rotation about"),
        ({"M": ONE_M + np.diag([1.0, 0, 0] * 4)}, "M gives different masses for rigid translations along different directions"),
        ({"M": ONE_M + np.outer(*(np.eye(12)[[0, 3]])) + np.outer(*(np.eye(12)[[3, 0]])) + UPPER},
         "M couples rigid translations and rotations by a matrix unsymmetric by 2 kg m"),
        ({"M": None}, "M is None; expected a symmetric positive semi-definite matrix"),
        ({"K": 1j * ONE_K}, "K is array("),
        ({"K": "stiff"}, "K is 'stiff'; expected a symmetric"),
        ({"K": sp.identity(50000)}, "K has shape (50000, 50000); expected at most 3000|reduce_matrices"),
        ({"interfaces": {}}, "interfaces is {}; expected at least one name and pose"),
        ({"interfaces": ["left", "right"]}, "interfaces is ['left', 'right']; expected at least one"),
        ({"interfaces": {"a.b": Pose(), "c": Pose()}}, "interface name is 'a.b'; expected a non-empty string without '.'"),
        ({"interfaces": {"left": Pose(), "right": 0.6}}, "interface 'right' is 0.6; expected a Pose"),
    ],
)  # fmt: skip
def test_refusals(changes, text):
    arguments = {"M": ONE_M, "K": ONE_K, "interfaces": ENDS} | changes
    with pytest.raises(ModelError) as caught:
        mse.FlexibleBody("bar", **arguments)
    for words in ("FlexibleBody 'bar'", *text.split("|")):
        assert words in str(caught.value), caught.value


def test_slender_bodies_of_many_elements_are_taken():
    # of n^3 units of the last digit that rounding takes, nothing reaches the sag
    body = bar_body(elements=1000, modes=2)
    sag = -BAR.density * BAR.area * G * BAR.length**4 / (8 * BAR.young * BAR.iy)
    assert cantilever(body).find_working_point().poses["bar.right"].o[2] == pytest.approx(sag, rel=1e-4)


def test_a_refused_matrix_changes_nothing():
    body = mse.FlexibleBody("bar", M=ONE_M, K=ONE_K, interfaces=ENDS)
    with pytest.raises(ModelError, match="K resists"):
        body.K = np.eye(12)
    np.testing.assert_array_equal(body.K, 0.5 * (ONE_K + ONE_K.T))
    with pytest.raises(ValueError, match="read-only"):
        body.K[0, 0] = 1.0


def test_a_body_with_one_interface_shakes_its_modes():
    # held at one end: effective masses in M's coupling; the same frequencies as the cantilever by both ends
    m, k = chain(BAR, 16)
    body = mse.reduce_matrices(m, None, k, np.arange(6), modes=10).body("bar", interfaces={"foot": Pose()})
    system = cantilever(body, held="foot", probe=None)
    one, both = system.find_working_point(), cantilever(bar_body(modes=60)).find_working_point()
    np.testing.assert_allclose(
        one.linearize().modes(4).frequencies_hz, both.linearize().modes(4).frequencies_hz, rtol=1e-4
    )
