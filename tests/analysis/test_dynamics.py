"""Modes, frequency response, state space and time evolution against each other and against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.signal

import mse
import mse.analysis.frequency.response
import mse.analysis.modes.find
from models import four_wire_chain, hanging_stages
from mse import Pose
from mse.numerics.options import SIZES
from test_links import carrier

pytestmark = pytest.mark.rounding


def damped_stage(damping: float = 3.0, **body) -> mse.LinearModel:
    """A mass on a damped spring, pushed, its support moved, its position and the support's force sensed."""
    s = mse.MSystem("stage", gravity=(0, 0, -9.81))
    base = s.add(mse.PositionActuator("base"))
    spring = s.add(mse.Spring("spring", length=0.5, stiffness=200.0, damping=damping))
    mass = s.add(mse.RigidBody("mass", **({"mass": 2.0, "inertia": 0.01} | body), at=Pose.dz(-0.6)))
    push = s.add(mse.ForceActuator("push"))
    probe = s.add(mse.PositionSensor("probe"))
    s.clamp(s.ground, base.frame(1))
    s.clamp(base.frame(0), spring.frame(1))
    s.clamp(spring.frame(0), mass.frame(0))
    for pair in (push, probe):
        ends = (0, 1) if pair is push else (1, 0)
        s.clamp(s.ground, pair.frame(ends[0]))
        s.clamp(mass.frame(0), pair.frame(ends[1]))
    return s.find_working_point().linearize()


# -- closed forms -------------------------------------------------------------------------------------------------
def test_damped_oscillator_modes():
    w0, zeta = np.sqrt(200.0 / 2.0), 3.0 / (2 * np.sqrt(200.0 * 2.0))
    modes = damped_stage().modes(damped=True)
    k = int(np.argmax(modes.damping_ratios))
    assert modes.frequencies_hz[k] == pytest.approx(w0 / (2 * np.pi), rel=1e-12)
    assert modes.damping_ratios[k] == pytest.approx(zeta, rel=1e-12)
    assert modes.eigenvalues[k] == pytest.approx(w0 * (-zeta + 1j * np.sqrt(1 - zeta**2)), rel=1e-12)
    assert modes.quality[k] == pytest.approx(1 / (2 * zeta), rel=1e-12)


def test_overdamped_oscillator_has_two_real_modes():
    rates = np.sort(np.roots([2.0, 100.0, 200.0]))
    modes = damped_stage(damping=100.0).modes(damped=True)
    real = modes.eigenvalues[np.abs(modes.damping_ratios - 1) < 1e-12]
    np.testing.assert_allclose(np.sort(real.real), rates, rtol=1e-12)


def test_transmissibility_of_a_damped_spring():
    """Base to mass: (k + i w c)/(k - m w^2 + i w c) (any vibration text, e.g. Den Hartog 1956, section 2.12)."""
    f = np.geomspace(0.01, 1e3, 60)
    w = 2 * np.pi * f
    response = damped_stage().frequency_response(f)
    expected = (200 + 3j * w) / (200 - 2.0 * w**2 + 3j * w)
    np.testing.assert_allclose(response["probe.z", "base.z"], expected, rtol=1e-12)
    np.testing.assert_allclose(response["probe.z", "push.fz"], 1 / (200 - 2.0 * w**2 + 3j * w), rtol=1e-12)


def test_base_motion_to_force():
    """A force sensor between a shaken base and a mass on a spring reads m w^2 times the mass's motion."""
    s = mse.MSystem("shaken", gravity=(0, 0, -9.81))
    base, cell = s.add(mse.PositionActuator("base")), s.add(mse.ForceSensor("cell"))
    spring = s.add(mse.Spring("spring", length=0.5, stiffness=200.0, damping=3.0))
    mass = s.add(mse.RigidBody("mass", mass=2.0, inertia=0.01, at=Pose.dz(-0.6)))
    s.clamp(s.ground, base.frame(1))
    s.clamp(base.frame(0), cell.frame(1))
    s.clamp(cell.frame(0), spring.frame(1))
    s.clamp(spring.frame(0), mass.frame(0))
    f = np.geomspace(0.1, 100, 40)
    w = 2 * np.pi * f
    motion = (200 + 3j * w) / (200 - 2.0 * w**2 + 3j * w)
    response = s.find_working_point().linearize().frequency_response(f)
    np.testing.assert_allclose(response["cell.fz", "base.z"], 2.0 * w**2 * motion, rtol=1e-11)


def test_driven_mass_drags_along_in_the_frequency_domain():
    """A force sensor behind a mass that an actuator moves rigidly reads -m (i w)^2 = m w^2 per meter."""
    s = mse.MSystem("stage", gravity=(0, 0, 0))
    actuator, cell = s.add(mse.PositionActuator("piezo")), s.add(mse.ForceSensor("cell"))
    mass = s.add(mse.RigidBody("mass", mass=2.0, inertia=0.01))
    s.clamp(s.ground, cell.frame(1))
    s.clamp(cell.frame(0), actuator.frame(1))
    s.clamp(actuator.frame(0), mass.frame(0))
    linear = s.find_working_point().linearize()
    f = np.array([0.0, 1.0, 10.0])
    np.testing.assert_allclose(
        linear.frequency_response(f)["cell.fz", "piezo.z"], 2.0 * (2 * np.pi * f) ** 2, rtol=1e-13
    )
    with pytest.raises(mse.ImproperModelError, match=r"cell\.fx under piezo\.x.*second derivative"):
        linear.state_space()


def test_total_mass_and_inertia_are_those_of_the_bodies():
    linear = hanging_stages(3).find_working_point().linearize()
    wp = hanging_stages(3).find_working_point()
    bodies = [o for o in wp.system.objects if isinstance(o, mse.RigidBody)]
    n = len(linear.coordinates) // 6
    for axis in range(3):
        e = np.zeros(6 * n)
        e[axis::6] = 1.0
        assert e @ linear.M @ e == pytest.approx(sum(b.mass for b in bodies), rel=1e-12)
    turn = np.zeros(6 * n)
    for k, b in enumerate(bodies):
        turn[6 * k : 6 * k + 3] = np.cross((0, 0, 1), wp.poses[f"{b.name}.center"].o)
        turn[6 * k + 5] = 1.0
    expected = sum(
        b.mass * np.sum(wp.poses[f"{b.name}.center"].o[:2] ** 2)
        + (wp.poses[f"{b.name}.center"].U @ b.inertia @ wp.poses[f"{b.name}.center"].U.T)[2, 2]
        for b in bodies
    )
    assert turn @ linear.M @ turn == pytest.approx(expected, rel=1e-12)


# -- routes against each other ------------------------------------------------------------------------------------
@pytest.mark.parametrize("rider", [False, True])
def test_state_space_is_the_frequency_response(rider):
    """With a rider the actuator drags a mass and a damper along: both shifts of the state are at work."""
    linear = carrier(rider=rider).find_working_point().linearize()
    outputs = [n for n in linear.outputs if n.startswith("probe")]
    ss = linear.state_space(outputs=outputs)
    f = np.geomspace(0.05, 200, 25)
    direct = linear.frequency_response(f, outputs=outputs).values
    for k, w in enumerate(2 * np.pi * f):
        via = ss.C @ np.linalg.solve(1j * w * np.eye(len(ss.states)) - ss.A, ss.B) + ss.D
        np.testing.assert_allclose(via, direct[k], rtol=0, atol=1e-9 * np.abs(direct[k]).max())


def test_scaled_state_space_is_the_same_system():
    ss = carrier().find_working_point().linearize().state_space(outputs=["probe.x"])
    a, b, c = ss.scaled()
    s = 1.0 + 2.0j
    plain = ss.C @ np.linalg.solve(s * np.eye(len(a)) - ss.A, ss.B)
    scaled = c @ np.linalg.solve(s * np.eye(len(a)) - a, b)
    np.testing.assert_allclose(scaled, plain, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["base.z", "push.fz"])
def test_sine_after_transients_is_the_transfer_function(name):
    linear = damped_stage(damping=30.0)
    f, dt = 1.3, 0.005
    w = 2 * np.pi * f
    history = linear.simulate(duration=20.0, dt=dt, inputs={name: lambda t: np.sin(w * t)})
    late = history.time > 15.0
    h = linear.frequency_response([f])["probe.z", name][0]
    expected = np.imag(h * np.exp(1j * w * history.time[late]))
    np.testing.assert_allclose(history["probe.z"][late], expected, rtol=0, atol=1e-8 * abs(h))


@pytest.mark.parametrize("hold", ["zoh", "foh"])
def test_holds_agree_with_scipy(hold):
    linear = carrier().find_working_point().linearize()
    inputs, outputs = ["piezo.x", "push.fy"], ["probe.x", "probe.ay", "probe.z"]
    ss = linear.state_space(inputs=inputs, outputs=outputs)
    rng = np.random.default_rng(2)
    dt, n = 0.01, 400
    u = rng.standard_normal((n + 1, 2)) * [1e-3, 1.0]
    history = linear.simulate(
        duration=n * dt, dt=dt, inputs=dict(zip(inputs, u.T, strict=True)), hold=hold, outputs=outputs
    )
    assert history.outputs == tuple(outputs)
    t = dt * np.arange(n + 1)
    _, y, _ = scipy.signal.lsim((ss.A, ss.B, ss.C, ss.D), u, t, interp=hold == "foh")
    np.testing.assert_allclose(history.values, y, rtol=0, atol=1e-10 * np.abs(y).max())


def test_smooth_hold_converges_with_order_eight():
    """``x'' + 0.2 x' + 4 x = sin 7t`` from rest, in closed form: Gauss-Lobatto quadrature by five points has degree seven."""
    model = mse.LinearModel.from_matrices([[1.0]], [[0.2]], [[4.0]], coordinates=["mass.x"])
    steady, poles = 1 / (4.0 + 1.4j - 49.0), np.roots([1.0, 0.2, 4.0])
    free = np.linalg.solve([[1, 1], poles], [-steady.imag, -(7j * steady).imag])
    errors = []
    for steps in (40, 80):
        history = model.simulate(duration=8.0, dt=8.0 / steps, inputs={"mass.x": lambda t: np.sin(7.0 * t)})
        t = history.time[:, None]
        exact = (steady * np.exp(7j * t[:, 0])).imag + (np.exp(poles * t) @ free).real
        errors.append(np.abs(history["mass.x"] - exact).max())
    assert errors[1] > 1e-12  # not yet rounding
    assert np.log2(errors[0] / errors[1]) == pytest.approx(8.0, abs=0.3)


def test_step_loop_is_simulate_with_zero_hold_and_takes_controllers():
    linear = damped_stage()
    loop = linear.step_loop(dt=0.01, inputs=["push.fz"], outputs=["probe.z"])
    seen, forces = [], []
    while loop.time < 1.0 - 1e-9:
        loop["push.fz"] = 1.0 - 80.0 * loop["probe.z"]
        seen.append(loop["probe.z"])
        forces.append(loop["push.fz"])
        loop.step()
    seen.append(loop["probe.z"])
    replay = linear.simulate(duration=1.0, dt=0.01, inputs={"push.fz": np.array([*forces, 0.0])}, hold="zoh")
    np.testing.assert_allclose(replay["probe.z"], seen, atol=1e-14)
    # the loop stiffens the stage: it settles near 1 N/(k + gain)
    for _ in range(2000):
        loop["push.fz"] = 1.0 - 80.0 * loop["probe.z"]
        loop.step()
    assert loop["probe.z"] == pytest.approx(1 / 280.0, rel=1e-5)


def test_initial_conditions_and_continuation():
    linear = damped_stage(damping=0.0)
    w = 10.0
    history = linear.simulate(duration=1.0, dt=0.01, initial={"mass.z": 1e-3, "mass.z'": 0.02})
    expected = 1e-3 * np.cos(w * history.time) + 0.002 * np.sin(w * history.time)
    np.testing.assert_allclose(history["probe.z"], expected, atol=1e-15)
    whole = linear.simulate(duration=2.0, dt=0.01, initial={"mass.z": 1e-3, "mass.z'": 0.02})
    rest = linear.simulate(duration=1.0, dt=0.01, initial=history.final_state)
    np.testing.assert_allclose(rest["probe.z"], whole["probe.z"][100:], atol=1e-15)


def test_energy_only_falls_in_a_damped_system():
    linear = carrier().find_working_point().linearize()
    ss = linear.state_space(inputs=[], outputs=[])
    n = len(ss.states) // 2
    start = np.random.default_rng(1).standard_normal(2 * n) * 1e-3
    k, m = linear.K.toarray(), linear.M.toarray()
    energies = []
    for t in np.linspace(0, 3, 40):
        x = scipy.linalg.expm(ss.A * t) @ start
        energies.append(0.5 * x[:n] @ k @ x[:n] + 0.5 * x[n:] @ m @ x[n:])
    assert np.all(np.diff(energies) < 0) and energies[-1] < energies[0]


# -- coordinates without mass -------------------------------------------------------------------------------------
def in_series(**upper) -> mse.LinearModel:
    """A mass on two bushings in series with nothing but a joint between them."""
    s = mse.MSystem("series", gravity=(0, 0, 0))
    first = s.add(mse.Bushing("first", **upper))
    second = s.add(mse.Bushing("second", stiffness=300.0))
    mass = s.add(mse.RigidBody("mass", mass=2.0, inertia=0.5))
    push, probe = s.add(mse.ForceActuator("push")), s.add(mse.PositionSensor("probe"))
    s.clamp(s.ground, first.frame(1))
    s.clamp(first.frame(0), second.frame(1))
    s.clamp(second.frame(0), mass.frame(0))
    s.clamp(s.ground, push.frame(0))
    s.clamp(mass.frame(0), push.frame(1))
    s.clamp(mass.frame(0), probe.frame(0))
    s.clamp(s.ground, probe.frame(1))
    return s.find_working_point().linearize()


def test_massless_joint_is_condensed_exactly():
    linear = in_series(stiffness=150.0)
    k = 1 / (1 / 150.0 + 1 / 300.0)
    modes = linear.modes()
    assert len(modes) == 6
    expected = np.sort(np.sqrt(np.array([k / 2.0] * 3 + [k / 0.5] * 3)) / (2 * np.pi))
    np.testing.assert_allclose(modes.frequencies_hz, expected, rtol=1e-12)
    assert modes["first.0.x"] == pytest.approx(modes["mass.x"] * 300 / 450, abs=1e-12)
    ss = linear.state_space()
    assert len(ss.states) == 12
    poles = np.sort(np.abs(ss.poles()))[::2]
    np.testing.assert_allclose(poles / (2 * np.pi), expected, rtol=1e-9)
    static = ss.D - ss.C @ np.linalg.solve(ss.A, ss.B)
    assert static[ss.outputs.index("probe.x"), ss.inputs.index("push.fx")] == pytest.approx(1 / k, rel=1e-12)


def test_massless_dashpot_in_series_is_a_state_of_its_own():
    """Maxwell element: spring k2 behind k1 parallel to c; the joint follows c x' = k2 (y - x) - k1 x."""
    linear = in_series(stiffness=150.0, damping=40.0)
    ss = linear.state_space()
    assert len(ss.states) == 18 and ss.states[-6:] == tuple(f"first.0.{a}" for a in ("x", "y", "z", "ax", "ay", "az"))
    f = np.geomspace(0.01, 30, 20)
    s = 2j * np.pi * f
    series = 1 / (1 / (150 + 40 * s) + 1 / 300.0)
    expected = 1 / (2.0 * s**2 + series)
    np.testing.assert_allclose(linear.frequency_response(f)["probe.x", "push.fx"], expected, rtol=1e-12)
    k, o, i = ss.A.shape[0], ss.outputs.index("probe.x"), ss.inputs.index("push.fx")
    via = [ss.C[o] @ np.linalg.solve(z * np.eye(k) - ss.A, ss.B[:, i]) + ss.D[o, i] for z in s]
    np.testing.assert_allclose(via, expected, rtol=1e-11)
    modes = linear.modes(damped=True)
    roots = np.roots([2.0 * 40, 2.0 * 450, 300 * 40.0, 150 * 300.0])
    for root in roots[roots.imag >= 0]:
        assert np.min(np.abs(modes.eigenvalues - root)) < 1e-10 * abs(root)


def test_point_mass_at_a_lever_arm_is_separated():
    """A point mass off the clamped joint: rank three of six; the three rotations about it are condensed."""
    s = mse.MSystem("lever", gravity=(0, 0, 0))
    bushing = s.add(mse.Bushing("bushing", stiffness=(1e3, 1e3, 1e3, 20.0, 20.0, 20.0)))
    mass = s.add(mse.RigidBody("mass", mass=2.0, inertia=0.0))
    mark = s.add(mse.RigidBody("mark", mass=0.0))
    s.clamp(s.ground, bushing.frame(1))
    s.clamp(bushing.frame(0), mark.frame(0))
    s.clamp(bushing.frame(0), mass.frame(0), Pose.dz(-0.4))
    linear = s.find_working_point().linearize()
    modes = linear.modes()
    # a force F on the mass moves it by F/k + F l^2/kt across, F/k along
    across = 1 / (1 / 1e3 + 0.4**2 / 20.0)
    np.testing.assert_allclose(
        modes.frequencies_hz, np.sqrt(np.array([across, across, 1e3]) / 2.0) / (2 * np.pi), rtol=1e-12
    )


def test_free_coordinate_without_mass_is_named():
    linear = damped_stage(inertia=0.0)
    with pytest.raises(mse.ModelError, match=r"mass\.ax.*without mass, damping or stiffness"):
        linear.state_space()


class Absorber(mse.MObject):
    """A small mass on a spring inside a housing, moving along its z axis: an internal coordinate with mass."""

    frame_names = ("housing",)
    coordinate_names = (mse.coordinate("lift", unit="m"),)

    def energy(self, frames, q):
        return 0.5 * 50.0 * q[0] ** 2

    def gravity_energy(self, frames, q, gravity):
        return -0.2 * (frames[0].o + q[0] * frames[0].U[:, 2]) @ gravity

    def mass_matrix(self, frames, q=()):
        # velocity of the small mass: that of the housing plus lift' along its axis (no arm at zero lift)
        rows = np.zeros((3, 7))
        rows[:, :3] = np.eye(3)
        rows[:, 6] = frames[0].U[:, 2]
        return 0.2 * rows.T @ rows


def test_internal_coordinates_take_part_in_statics_and_dynamics():
    """Two masses in series along z: m1 on k1, the absorber's m2 on k2 inside it; closed form of the 2 x 2 problem."""
    s = mse.MSystem("absorber", gravity=(0, 0, -9.81))
    spring = s.add(mse.Bushing("spring", stiffness=400.0))
    body = s.add(mse.RigidBody("body", mass=2.0, inertia=0.5))
    absorber = s.add(Absorber("absorber"))
    s.clamp(s.ground, spring.frame(1))
    s.clamp(spring.frame(0), body.frame(0))
    s.clamp(body.frame(0), absorber.frame(0))
    wp = s.find_working_point()
    assert wp.internal["absorber.lift"] == pytest.approx(-0.2 * 9.81 / 50.0, rel=1e-12)
    assert wp.poses["body.center"].o[2] == pytest.approx(-2.2 * 9.81 / 400.0, rel=1e-12)
    modes = wp.linearize().modes()
    m, k = np.array([[2.2, 0.2], [0.2, 0.2]]), np.diag([400.0, 50.0])
    for w2 in scipy.linalg.eigh(k, m, eigvals_only=True):
        assert np.min(np.abs(np.abs(modes.eigenvalues) ** 2 / w2 - 1)) < 1e-10
    assert "absorber" in modes.objects


# -- large models -------------------------------------------------------------------------------------------------
def test_sparse_modes_are_the_dense_ones(monkeypatch):
    linear = four_wire_chain(8).find_working_point().linearize()
    dense = linear.modes(20)
    monkeypatch.setattr(SIZES, "dense_modes", 10)
    sparse = linear.modes(20)
    np.testing.assert_allclose(sparse.frequencies_hz, dense.frequencies_hz, rtol=1e-9)
    np.testing.assert_allclose(sparse.participation["plate7"], dense.participation["plate7"], atol=1e-3)


@pytest.mark.parametrize(("mass", "digits"), [(1.0, 1e-10), (1e-2, 1e-9), (1e-4, 1e-7)])
def test_soft_modes_keep_their_digits_beside_stiff_ones(mass, digits):
    """A light, bulky bob on a steel wire: tilt against bounce, eigenvalues up to 14 orders of magnitude apart.

    The tension k (L - l0) has the digits that the rounding of L leaves it; the modes lose no more.
    """
    s = mse.MSystem("bob", gravity=(0, 0, -9.81))
    bob = s.add(mse.RigidBody("bob", mass=mass, inertia=0.1, at=Pose.dz(-1.0)))
    wire = s.add(mse.Wire("wire", length=0.98, young_modulus=2e11, poisson_ratio=0.3, radius=1e-3))
    s.clamp(s.ground, wire.frame(1))
    s.clamp(bob.frame(0), wire.frame(0), Pose.dz(0.01))
    modes = s.find_working_point().linearize().modes()
    weight = mass * 9.81
    length = 0.98 + weight / wire.axial_stiffness
    # (x, tilt): K = [[T/L, T d/L], [T d/L, T d + T d^2/L]]; the small root by the product of both, which does not cancel
    a, b, c = (
        weight / length / mass,
        weight * 0.01 / length / np.sqrt(0.1 * mass),
        weight * (0.01 + 1e-4 / length) / 0.1,
    )
    large = 0.5 * (a + c) + np.sqrt(0.25 * (a - c) ** 2 + b**2)
    small = (weight / length) * weight * 0.01 / (mass * 0.1) / large
    twist = wire.torsional_stiffness / 0.1
    bounce = wire.axial_stiffness / mass
    expected = np.sort(np.sqrt([small, small, large, large, twist, bounce])) / (2 * np.pi)
    np.testing.assert_allclose(modes.frequencies_hz, expected, rtol=digits)
    assert not modes.unstable.any()


def test_long_models_march_like_short_ones():
    """Beyond 40 states the recursion changes to matrix products; both are the exponential."""
    linear = four_wire_chain(5, driven=True).find_working_point().linearize()
    ss = linear.state_space(inputs=["base.x"], outputs=["probe.x"])
    history = linear.simulate(duration=0.5, dt=0.05, inputs={"base.x": np.ones(11)}, hold="zoh", outputs=["probe.x"])
    big = scipy.linalg.expm(np.block([[ss.A, ss.B], [np.zeros((1, 61))]]) * 0.05)
    state, seen = np.zeros(60), []
    for _ in range(11):
        seen.append((ss.C @ state + ss.D @ [1.0])[0])
        state = big[:60, :60] @ state + big[:60, 60]
    np.testing.assert_allclose(history["probe.x"], seen, rtol=1e-7)


def test_sparse_modes_find_free_and_unstable_ones(monkeypatch):
    k = np.diag([0.0, 0.0, 3.0, 4.0, 5.0, -2.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0])
    rng = np.random.default_rng(0)
    q = np.linalg.qr(rng.standard_normal(k.shape))[0]
    model = mse.LinearModel.from_matrices(np.eye(len(k)), None, (q @ k @ q.T + (q @ k @ q.T).T) / 2)
    dense = model.modes()
    monkeypatch.setattr(SIZES, "dense_modes", 10)
    sparse = model.modes(5)
    assert np.count_nonzero(sparse.free) == 2
    np.testing.assert_allclose(sparse.eigenvalues**2, dense.eigenvalues[:7] ** 2, atol=1e-9)
    assert sparse.unstable.sum() == 1


def test_sparse_modes_miss_no_copy_of_a_repeated_frequency(monkeypatch):
    """Ten equal oscillators beside others: a Krylov space holds each eigenvalue once, the count of inertia shows the rest."""
    model = mse.LinearModel.from_matrices(np.eye(40), None, np.diag([4.0] * 10 + [9.0 + k for k in range(30)]))
    monkeypatch.setattr(SIZES, "dense_modes", 10)
    modes = model.modes(12)
    np.testing.assert_allclose(np.abs(modes.eigenvalues) ** 2, [4.0] * 10 + [9.0, 10.0], rtol=1e-9)


def test_sparse_damped_modes_are_the_dense_ones(monkeypatch):
    s = four_wire_chain(4)
    for k in range(4):
        damper = s.add(mse.Bushing(f"damper{k}", stiffness=np.zeros(6), damping=(5.0, 4.0, 3.0, 0.1, 0.1, 0.1)))
        s.clamp(s.ground, damper.frame(1), Pose.dz(-0.52 * (k + 1)))
        s.clamp(s[f"plate{k}"].frame(0), damper.frame(0))
    linear = s.find_working_point().linearize()
    dense = linear.modes(8, damped=True)
    monkeypatch.setattr(SIZES, "dense_modes", 10)
    sparse = linear.modes(8, damped=True)
    np.testing.assert_allclose(sparse.eigenvalues, dense.eigenvalues, rtol=1e-6)


@pytest.mark.parametrize("limit", [5, 300])
def test_response_at_an_exact_resonance_is_refused(monkeypatch, limit):
    """Eleven unit masses on unit springs between walls: w^2 = 2 - 2 cos(k pi/12), which is 1 for k = 4."""
    monkeypatch.setattr(SIZES, "dense", limit)
    k = 2 * np.eye(11) - np.eye(11, k=1) - np.eye(11, k=-1)
    model = mse.LinearModel.from_matrices(np.eye(11), None, k)
    with pytest.raises(
        mse.SingularResponseError, match=r"response to x\d+ at 0\.159154943092 Hz is infinite.*resonance of x"
    ):
        model.frequency_response([0.1, 1 / (2 * np.pi)])
    # its shape sin(k pi j/3) has a node at x2: a force there does not drive it
    response = model.frequency_response([1 / (2 * np.pi)], inputs=["x2"], outputs=["x2"])
    nearby = model.frequency_response([1 / (2 * np.pi) * (1 + 1e-6)], inputs=["x2"], outputs=["x2"])
    np.testing.assert_allclose(response.values, nearby.values, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_nothing_dense_in_a_long_chain():
    """500 stages, 3,000 coordinates: a dense matrix would take 72 MB; the whole way to the modes stays below it."""
    import tracemalloc

    four_wire_chain(2).find_working_point().linearize().modes()  # compile outside the measurement
    system = four_wire_chain(500)
    tracemalloc.start()
    linear = system.find_working_point().linearize()
    modes = linear.modes(20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(linear.coordinates) == 3000 and len(modes) == 20
    assert peak < 3000**2 * 8
    w2 = np.abs(modes.eigenvalues) ** 2
    left = linear.K @ modes.shapes - linear.M @ modes.shapes * w2
    # residuals against what the stiff wires make of the rounding of the shapes
    assert np.abs(left).max() < 1e-9 * np.abs(linear.K).max() * np.abs(modes.shapes).max()


def test_participation_adds_up_and_names_who_moves():
    modes = four_wire_chain(3).find_working_point().linearize().modes()
    np.testing.assert_allclose(sum(modes.participation.values()), 1.0, rtol=1e-12)
    m = four_wire_chain(3).find_working_point().linearize().M
    np.testing.assert_allclose(modes.shapes.T @ m @ modes.shapes, np.eye(18), atol=1e-10)
    assert "plate2" in modes[0].participants() and "plate2" in repr(modes)
    with pytest.raises(mse.UnknownNameError, match=r"plate1\.x"):
        modes["plate1.xx"]


def test_one_mode_after_the_other_and_by_number():
    modes = four_wire_chain(2).find_working_point().linearize().modes()
    each = list(modes)
    assert len(each) == len(modes) and [mode.number for mode in each] == list(range(len(modes)))
    for k, mode in enumerate(each):
        assert mode.frequency_hz == modes.frequencies_hz[k] and mode.damping_ratio == modes.damping_ratios[k]
        assert mode.quality == modes.quality[k] and mode.free == modes.free[k] and mode.unstable == modes.unstable[k]
        assert mode.shape == {name: modes[name][k] for name in modes.coordinates}
        assert mode.participation == pytest.approx({name: share[k] for name, share in modes.participation.items()})
        sizes = np.abs(list(mode.shape.values()))
        assert np.all(np.diff(sizes) <= 0.0) and np.all(np.diff(list(mode.participation.values())) <= 0.0)
    assert modes[-1].number == len(modes) - 1 and "damping ratio" in repr(modes[0])
    assert [mode.number for mode in modes[1:8:3]] == [1, 4, 7] and modes[5:5] == ()
    assert modes[0].participants(1).count("%") == 1
    for wrong in (len(modes), -len(modes) - 1, 1.0, True, None):
        with pytest.raises(
            mse.ModelError, match="mode is .*; expected a whole number of at least .* row of the shapes"
        ):
            modes[wrong]


def test_given_matrices_are_refused_where_they_cannot_be():
    with pytest.raises(mse.ModelError, match=r"M is unsymmetric by 1"):
        mse.LinearModel.from_matrices([[1, 1], [0, 1]], None, np.eye(2))
    with pytest.raises(mse.ModelError, match=r"Lambda has shape \(3, 3\); expected \(2, 2\)"):
        mse.LinearModel.from_matrices(np.eye(2), np.eye(3), np.eye(2))
    with pytest.raises(mse.ModelError, match=r"K\[0, 0\] is nan; expected finite"):
        mse.LinearModel.from_matrices(np.eye(2), None, [[np.nan, 0], [0, 1]])


def test_a_forgotten_mass_is_noted():
    system = mse.MSystem("empty pan", gravity=(0, 0, -9.81))
    pan = system.add(mse.RigidBody("pan", mass=0.0))
    seat = mse.Bushing("seat", stiffness=1e3, damping=(1.0,) * 6)
    system.add(seat, between=(pan, system.ground))
    linear = system.find_working_point().linearize()
    assert len(linear.modes()) == 0 and "nothing has a mass" in linear.modes().notes[0]
    fading = linear.modes(damped=True)  # x' = -k/c x
    assert not any("nothing has a mass" in note for note in fading.notes)
    np.testing.assert_allclose(fading.eigenvalues.real, -1e3, rtol=1e-9)
