"""Closed poles and stability: figures, formulas with delays, matrices written down, and Nyquist's count."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import lambertw

import mse
from example_scripts import example
from loops import MASS, PAIR, STIFFNESS, chain, damper, free_mass, oscillator, sampled_pd
from mse.control import stability
from mse.errors import ImproperModelError, ModelError


def nearest(found: np.ndarray, wanted: complex) -> complex:
    return found[np.argmin(np.abs(found - wanted))]


@pytest.mark.parametrize(
    ("plant", "pole"),
    [
        (oscillator(), -2.2756874832 + 6.4736658999j),
        (oscillator(damped=False, loss=1e-3), -2.2755307573 + 6.4749862580j),
    ],
    ids=["damper", "loss"],
)
def test_poles_with_a_delay_are_roots_of_the_exact_equation(plant, pole):
    closed = plant.feedback({PAIR: damper()}, name="damping")
    found = closed.poles()
    assert nearest(found, pole) == pytest.approx(pole, rel=1e-10)
    k = STIFFNESS * (1.0 if plant.Lambda.nnz else 1.0 + 1e-3j)
    for s in found[found.imag > 0.0]:
        c = 40 * s / (1 + s / 62.8318530718) ** 2 * np.exp(-5e-3 * s)
        assert abs(k + s * plant.Lambda[0, 0] + MASS * s**2 + c) < 1e-9 * abs(k)
    assert closed.stable and closed.modes().lossy == (not plant.Lambda.nnz)


@pytest.mark.parametrize("gain", [0.3, 1.5, 1.6, 4.8, 30.0])
def test_poles_of_a_long_delay_are_those_of_lambert_s_function(gain):
    """``x' = -k x(t - 1)`` has the poles W_j(-k); it is stable up to k = pi/2."""
    flow = mse.LinearModel.from_matrices([[0.0]], [[1.0]], [[0.0]], coordinates=["tank.x"])
    closed = flow.feedback({("tank.x", "tank.x"): mse.Controller.zpk([], [], gain, delay=1.0)})
    expected = np.array([lambertw(-gain, k) for k in range(-30, 30)])
    growing = expected[expected.real > 0.0]
    found = closed.poles()
    assert np.count_nonzero(found.real > 0.0) == len(growing) == (0 if gain < np.pi / 2 else len(growing))
    for pole in (*growing, expected[np.argmax(expected.real)]):
        assert nearest(found, pole) == pytest.approx(pole, rel=1e-10)
    for pole in found:
        assert abs(pole + gain * np.exp(-pole)) < 1e-8 * max(gain, abs(pole))


def test_an_improper_controller_is_the_damper_that_it_stands_for():
    """``u = -40 s y`` on one mass and ``-(5 s + 30) y`` on another: a damper, and a damper with a spring."""
    model = chain(6)
    loops = {
        ("m1.x", "m1.x"): mse.Controller.zpk([0.0], [], 40.0),
        ("m4.x", "m4.x"): mse.Controller.zpk([-6.0], [], 5.0),
    }
    closed = model.feedback(loops)
    lam, k = model.Lambda.toarray(), model.K.toarray()
    lam[1, 1] += 40.0
    lam[4, 4] += 5.0
    k[4, 4] += 30.0
    built = mse.LinearModel.from_matrices(np.eye(6), lam, k).modes(damped=True)
    np.testing.assert_allclose(closed.modes().eigenvalues, built.eigenvalues, rtol=1e-11)
    np.testing.assert_allclose(closed.modes().energies, built.energies, atol=1e-9)
    with pytest.raises(ImproperModelError, match="differentiates what its sensor reads of its actuator at once"):
        model.feedback({("m1.x", "m1.x"): mse.Controller.zpk([0.0, 0.0, 0.0], [], 1.0)}).modes()


def test_several_channels_and_loops_have_the_poles_of_the_whole_matrix():
    model = chain(5, damping=0.0)
    mixed = mse.Controller.state_space(-50.0, [[1.0, 2.0]], [[300.0], [200.0]], [[5.0, 0.0], [1.0, 2.0]])
    closed = model.feedback({(("m0.x", "m3.x"), ("m3.x", "m1.x")): mixed}, name="mixed")
    closed = closed.feedback({("m2.x", "m2.x"): mse.Controller.zpk([0.0], [-90.0], 2e3)}, name="damping")
    n = 5
    a = np.zeros((2 * n + 2, 2 * n + 2))
    a[:n, n : 2 * n], a[n : 2 * n, :n] = np.eye(n), -model.K.toarray()
    for row, column, gain in ((0, 3, 5.0), (3, 3, 1.0), (3, 1, 2.0)):
        a[n + row, column] -= gain
    a[n, -2], a[n + 3, -2] = -300.0, -200.0
    a[-2, [3, 1, 10]] = 1.0, 2.0, -50.0
    # 2e3 s/(s + 90) = 2e3 (1 - 90/(s + 90))
    a[n + 2, 2] -= 2e3
    a[n + 2, -1], a[-1, [2, 11]] = 2e3 * 90.0, (1.0, -90.0)
    expected = np.linalg.eigvals(a)
    found = closed.poles()
    assert len(found) == len(expected)
    for pole in expected:
        assert nearest(found, pole) == pytest.approx(pole, rel=1e-9)


def test_free_motions_that_the_loop_does_not_move_stay_free():
    """A body that nothing holds, damped and held along x alone: five free motions stay, each with two poles at zero."""
    system = mse.MSystem("floating", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=2.0, inertia=(0.1, 0.2, 0.3)))
    system.add(mse.ForceActuator("coil"), between=(system.ground, body))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    linear = system.find_working_point().linearize()
    closed = linear.feedback({("coil.fx", "probe.x"): mse.Controller.zpk([-5.0], [-100.0], 400.0)})
    modes = closed.modes()
    assert np.count_nonzero(modes.free) == 10 and not modes.unstable.any() and closed.stable
    expected = np.roots([2.0, 200.0, 400.0, 2000.0])
    for pole in expected[expected.imag >= 0.0]:
        assert nearest(modes.eigenvalues, pole) == pytest.approx(pole, rel=1e-9)
    swinging = [mode for mode in modes if mode.eigenvalue.imag > 0.0]
    assert [mode.participants() for mode in swinging] == ["body.x 100 %"]


def test_motions_along_other_axes_are_not_moved_and_keep_their_poles():
    """Five bodies in a row along x, a loop with delay along x: of 30 motions five are moved, the others are as without it."""
    system, last = mse.MSystem("row", gravity=(0, 0, 0)), None
    for j in range(5):
        body = system.add(mse.RigidBody(f"b{j}", mass=1.0 + 0.1 * j, inertia=0.1, at=mse.Pose.dx(0.1 * j)))
        rates = {"stiffness": (1e3,) * 3 + (40.0,) * 3, "damping": (1e-2,) * 3 + (1e-3,) * 3}
        system.add(mse.Bushing(f"k{j}", **rates), between=(last or system.ground, body))
        last = body
    system.add(mse.ForceActuator("coil"), between=(system.ground, last))
    system.add(mse.PositionSensor("probe"), between=(last, system.ground))
    linear = system.find_working_point().linearize()
    found = linear.feedback({("coil.fx", "probe.x"): damper()}).plant.poles
    others, before = found.values[~found.moved], linear.modes(damped=True).eigenvalues
    assert len(others) == 50
    np.testing.assert_allclose(others.imag.max(), before.imag.max(), rtol=1e-10)
    for pole in others[others.imag > 0.0]:
        assert nearest(before, pole) == pytest.approx(pole, rel=1e-10)


def test_springs_by_feedback_on_undamped_motions_neither_grow_nor_decay():
    closed = chain(8, damping=0.0).feedback({("m2.x", "m2.x"): 300.0, ("m7.x", "m7.x"): 50.0})
    modes = closed.modes()
    k = chain(8).K.toarray()
    k[2, 2] += 300.0
    k[7, 7] += 50.0
    np.testing.assert_allclose(modes.eigenvalues.imag**2, np.linalg.eigvalsh(k), rtol=1e-9)
    assert closed.stable and not modes.unstable.any()


@pytest.mark.slow
def test_motions_that_a_loop_moves_by_rounding_alone_do_not_grow():
    """A suspension of six bodies without any loss: loops along x and y leave other motions as they are, but for rounding."""
    linear = example("kagra_type_bp").build(as_sumcon=True).find_working_point().linearize()
    for axis in "xy":
        for gain, delay, stable in ((30.0, 0.0, True), (30.0, 2e-3, False), (-30.0, 2e-3, False)):
            corner = 1e4 if stable else 60.0
            servo = mse.Controller.zpk([0.0], [-corner, -corner], gain * corner**2, delay=delay)
            closed = linear.feedback({(f"coil.f{axis}", f"lvdt.{axis}"): servo})
            assert closed.stable == stable  # where count and poles differ it raises


def test_what_grows_is_named_and_counted():
    closed = chain(5).feedback({("m4.x", "m4.x"): mse.Controller.zpk([0.0], [-500.0], -4e3)})
    assert not closed.stable
    grown = [mode for mode in closed.modes() if mode.unstable]
    assert np.count_nonzero(closed.poles().real > 0.0) == 2 * len(grown)
    assert "UNSTABLE: motions grow at" in repr(closed) and "m4.x" in repr(closed)
    assert "UNSTABLE" in repr(closed.modes())
    fallen = oscillator().feedback({PAIR: -2.0 * STIFFNESS})
    assert fallen.poles().max().real == pytest.approx(2 * np.pi, rel=1e-3) and not fallen.stable


def test_an_inverted_pendulum_is_held_and_a_weak_loop_does_not_hold_it():
    fallen = mse.LinearModel.from_matrices([[1.0]], [[0.01]], [[-4.0]], coordinates=["mass.x"], active=True)
    for gain, stable in ((3.0, False), (8.0, True)):
        closed = fallen.feedback({PAIR: mse.Controller.zpk([-4.0], [-400.0], gain * 100.0, delay=1e-3)})
        assert closed.stable == stable


def test_gyroscopic_plants_have_the_poles_of_their_matrices():
    spin = np.array([[0.0, 3.0], [-3.0, 0.0]])
    model = mse.LinearModel.from_matrices(
        np.eye(2),
        {"damping": 0.1 * np.eye(2), "gyroscopic": spin},
        np.diag([20.0, 30.0]),
        coordinates=["top.x", "top.y"],
    )
    closed = model.feedback({("top.x", "top.y"): mse.Controller.zpk([], [-10.0], 150.0)})
    a = np.zeros((5, 5))
    a[:2, 2:4], a[2:4, :2], a[2:4, 2:4] = np.eye(2), -np.diag([20.0, 30.0]), -0.1 * np.eye(2) - spin
    a[2, 4], a[4, [1, 4]] = -150.0, (1.0, -10.0)
    for pole in np.linalg.eigvals(a):
        assert nearest(closed.poles(), pole) == pytest.approx(pole, rel=1e-10)
    assert closed.stable == (np.linalg.eigvals(a).real.max() < 0)


def test_sampled_poles_are_those_of_the_plant_discretized_exactly():
    closed = free_mass().feedback({PAIR: sampled_pd(60.0)})
    expected = [-0.109717268, 0.141134236, 0.972382046, 0.996200986]
    np.testing.assert_allclose(closed.poles(), expected, atol=1e-9)
    assert closed.stable
    s = closed.modes().eigenvalues
    np.testing.assert_allclose(np.sort(np.exp(s * 5e-3).real), expected, atol=1e-9)


def test_the_largest_gain_of_a_sampled_loop_is_found_by_poles_and_by_count():
    largest = 1656.583489
    for share, growing in ((1 - 1e-9, 0), (1 + 1e-9, 2)):
        closed = free_mass().feedback({PAIR: sampled_pd(share * largest)})
        assert np.count_nonzero(np.abs(closed.poles()) > 1.0) == growing
        assert closed.stable == (not growing)
        assert closed.modes().notes[0].startswith(f"{growing} poles grow")


def test_sampled_and_continuous_loops_together_are_one_matrix():
    """A continuous damper inside, a sampled servo outside: the inner loop is a damper of the plant."""
    inner = free_mass().feedback({PAIR: mse.Controller.zpk([], [-50.0], 2e3)}, name="spring")
    both = inner.feedback({PAIR: sampled_pd(60.0)}, name="servo")
    a = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -2e3 / MASS], [1.0, 0.0, -50.0]])
    b = np.array([[0.0], [1.0 / MASS], [0.0]])
    from scipy.linalg import expm

    big = expm(5e-3 * np.block([[a, b], [np.zeros((1, 4))]]))
    p, g, kd = big[:3, :3], big[:3, 3], 60.0 / 5e-3
    # states: plant, the last reading, the last command
    whole = np.zeros((5, 5))
    whole[:3, :3], whole[:3, 4] = p, g
    whole[3, 0] = 1.0
    whole[4, 0], whole[4, 3] = -(40.0 + kd), kd
    for z in np.linalg.eigvals(whole):
        assert abs(nearest(both.poles(), z) - z) < 1e-9
    assert len(both.poles()) == 5


def folded_gain(s: complex, dt: float, of, aliases: int) -> complex:
    """The sum of a held response over the rates of one z, with losses that turn their sign with that of the rate."""
    x = s + 2j * np.pi / dt * np.arange(-aliases, aliases + 1)
    p = np.array([of(v) if v.imag > 0.0 else np.conj(of(np.conj(v))) for v in x])
    return np.sum(p * -np.expm1(-x * dt) / (x * dt))


def root(function, s: complex) -> complex:
    for _ in range(20):
        h = 1e-6 * abs(s)
        s -= function(s) * 2.0 * h / (function(s + h) - function(s - h))
    return s


def test_losses_decide_about_a_sampled_loop():
    """A spring with loss alone damps what a hold and a pole in z would let grow: 10 kg at 1 Hz, C = 1/(z - 0.5)."""
    dt, plant = 5e-3, oscillator(damped=False, loss=1e-3)
    closed = plant.feedback({PAIR: mse.Controller.zpk([], [0.5], 1.0, dt=dt)})

    def equation(s):
        p = folded_gain(s, dt, lambda x: 1.0 / (MASS * x**2 + STIFFNESS * (1.0 + 1e-3j)), 300)
        return 1.0 + p / (np.exp(s * dt) - 0.5)

    expected = root(equation, 6.3j)
    assert expected == pytest.approx(-1.88673e-3 + 6.29902j, abs=1e-5)
    assert nearest(np.log(closed.poles()) / dt, expected) == pytest.approx(expected, rel=1e-10)
    f = np.array([0.3, 1.0, 20.0, 90.0, 99.0])
    whole = [equation(2j * np.pi * hz) - 1.0 for hz in f]
    np.testing.assert_allclose(closed.loop_gain(f)["mass.x"], whole, rtol=1e-7)
    margins = closed.margins()
    assert margins.phase_margin == pytest.approx(6.88705, abs=1e-5)
    assert margins.sensitivity == pytest.approx(8.59878, abs=1e-5)
    assert closed.stable and closed.noise([1.0], "mass.x").total[0] > 0.0
    rational = plant.rational(0.01, 100.0).feedback({PAIR: mse.Controller.zpk([], [0.5], 1.0, dt=dt)})
    assert rational.margins().phase_margin == pytest.approx(margins.phase_margin, rel=0.02)


@pytest.mark.parametrize("gain", [1e-9, 400.0])
@pytest.mark.parametrize("inner", [0.0, 3.0])
def test_sampled_poles_with_losses_are_exact_above_half_the_sampling_rate_too(gain, inner):
    """Two modes of a chain of three swing faster; a delay of a part of a sample, and a continuous damper inside."""
    dt, late, loss = 0.1, 0.03, 2e-2
    model = chain(3, loss=loss, damping=0.0)
    closed = model.feedback({("m1.x", "m1.x"): mse.Controller.zpk([0.0], [-200.0], 200.0 * inner)}, name="inner")
    closed = closed.feedback({("m0.x", "m2.x"): mse.Controller.zpk([], [0.2], gain, dt=dt, delay=late)})
    k = model.K.toarray() * (1.0 + 1j * loss)

    def response(s):
        z = k + s**2 * np.eye(3)
        z[1, 1] += 200.0 * inner * s / (s + 200.0)
        return np.linalg.inv(z)[2, 0] * np.exp(-s * late)

    def equation(s):  # next to a pole of the plant its inverse is straight
        return 1.0 / folded_gain(s, dt, response, 300) + gain / (np.exp(s * dt) - 0.2)

    found = closed.poles()
    swinging = found[found.imag > 0.0]
    assert len(swinging) == 3
    for z in swinging:
        s = np.log(z) / dt
        assert root(equation, s * (1.0 + 1e-4)) == pytest.approx(s, rel=1e-8)
    assert closed.stable == bool(np.all(np.abs(found) < 1.0))


def weighed(loss: float) -> mse.LinearModel:
    """10 kg at 1 Hz on a lossy spring, of which a sensor reads the force."""
    system = mse.MSystem("scale", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=MASS, inertia=0.1))
    guide = system.add(mse.Prismatic("guide", axis=(1, 0, 0), stiffness=STIFFNESS, loss=loss))
    scale = system.add(mse.ForceSensor("scale"))
    system.clamp(system.ground, scale.frame(1))
    system.clamp(scale.frame(0), guide.frame(1))
    system.clamp(body, guide.frame(0))
    system.add(mse.ForceActuator("push"), between=(system.ground, body))
    return system.find_working_point().linearize()


@pytest.mark.parametrize("pole", [5.0, -5.0])
@pytest.mark.parametrize("delay", [0.0, 0.01])
def test_a_sensor_that_sees_no_motion_leaves_the_poles_of_plant_and_controller(delay, pole):
    """On a rail along x a body of 2 kg has ``2 s^2 + 200 (1 + i eta) = 0``; the pole of the controller is its own."""
    system = mse.MSystem("rail", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=2.0, inertia=0.1))
    system.add(mse.Prismatic("rail", axis=(1, 0, 0), stiffness=200.0, loss=1e-3), between=(system.ground, body))
    system.add(mse.ForceActuator("push"), between=(system.ground, body))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    linear = system.find_working_point().linearize()
    closed = linear.feedback({("push.fx", "probe.y"): mse.Controller.zpk([], [pole], 1.0, delay=delay)})
    found, swinging = closed.poles(), 1j * np.sqrt(100.0 * (1.0 + 1e-3j))
    np.testing.assert_allclose(np.abs(found[:, None] - [pole, swinging]).min(axis=0), 0.0, atol=1e-9)
    assert closed.stable == (pole < 0.0) and closed.margins().gain_margin == np.inf


@pytest.mark.parametrize("late, error", [(0.0, 1e-12), (0.3, 1e-8)])
def test_what_losses_do_at_the_rates_beyond_the_last_is_extrapolated(late, error):
    """The force of a lossy spring less that with damping falls as 1/w, so what sampling folds falls as 1/n^2 alone."""
    dt, eta, f = 0.02, 2e-2, np.array([0.3, 1.0])
    controller = mse.Controller.zpk([], [0.5], 0.01, dt=dt, delay=late * dt)
    closed = weighed(eta).feedback({("push.fx", "scale.fx"): controller})
    gain = closed.loop_gain(f)["push.fx"]
    for hz, found in zip(f, gain, strict=True):
        n = 100_000
        x = 2j * np.pi * (hz + np.arange(-n, n + 1) / dt)
        k = STIFFNESS * (1.0 + 1j * eta * np.sign(x.imag))
        whole = np.sum(k / (MASS * x**2 + k) * np.exp(-x * late * dt) * -np.expm1(-x * dt) / (x * dt))
        expected = 0.01 * whole / (np.exp(2j * np.pi * hz * dt) - 0.5)
        assert abs(found / expected - 1.0) < error
    assert late or not closed.plant.notes
    # at half the sampling rate little is left of the response, and more in proportion of what is folded
    notes = closed.margins().notes
    assert "what losses do above them is left out, up to some" in " ".join(notes)
    assert closed.modes().notes[-1] == closed.plant.notes[0]
    # the same question has the same notes, whatever was asked before
    again = weighed(eta).feedback({("push.fx", "scale.fx"): controller})
    assert again.modes().notes == closed.modes().notes
    again.loop_gain([0.4999 / dt])
    low = again.margins(high_hz=0.01).notes
    assert low == weighed(eta).feedback({("push.fx", "scale.fx"): controller}).margins(high_hz=0.01).notes
    assert again.margins().notes == notes


class Rubber(mse.MObject):
    """A mount by a law of relaxation beside the spring of its energy."""

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.5 * 2.0e3 * (d @ d)

    def dynamic_stiffness(self, omega, frames):
        k = 500.0 * (1j * omega / 20.0) / (1.0 + 1j * omega / 20.0)
        return k * np.kron([[1, -1], [-1, 1]], np.diag([1, 1, 1, 0, 0, 0]))


def test_stiffness_that_depends_on_frequency_is_judged_by_the_count_alone():
    """Relaxation is a spring on a massless damped coordinate: both are stable up to the same gain."""
    system = mse.MSystem("mount", gravity=(0, 0, 0))
    mass = system.add(mse.RigidBody("mass", mass=4.0, inertia=1.0))
    system.add(mse.Bushing("hold", stiffness=(0, 0, 0, 1.0, 1.0, 1.0)), between=(system.ground, mass))
    system.add(Rubber("rubber"), between=(system.ground, mass))
    system.add(mse.ForceActuator("coil"), between=(system.ground, mass))
    system.add(mse.PositionSensor("probe"), between=(mass, system.ground))
    linear = system.find_working_point().linearize()
    k, arm = np.array([[2500.0, -500.0], [-500.0, 500.0]]), np.array([[0.0, 0.0], [0.0, 25.0]])
    built = mse.LinearModel.from_matrices(np.diag([4.0, 0.0]), arm, k, coordinates=["mass.x", "inside.x"])
    verdicts = []
    for gain in (10.0, 400.0, 600.0, 3000.0):
        servo = mse.Controller.zpk([], [-30.0], gain * 30.0)
        of_both = linear.feedback({("coil.fx", "probe.x"): servo}), built.feedback({("mass.x", "mass.x"): servo})
        assert of_both[0].stable == of_both[1].stable
        verdicts.append(of_both[0].stable)
    assert verdicts[0] and not verdicts[-1]
    with pytest.raises(ModelError, match="rubber has no state space, from which closed poles are found"):
        of_both[0].modes()
    assert "UNSTABLE: 2 poles grow by Nyquist's criterion, which does not say who moves" in repr(of_both[0])
    fallen = linear.feedback({("coil.fx", "probe.x"): -1e4})
    with pytest.raises(ModelError, match="its loop is unstable, 1 pole grows by Nyquist's criterion"):
        fallen.noise([1.0], "probe.x")


def test_loops_without_a_solution_are_refused():
    """A force sensor feels its actuator at once: with a gain of -1 all around there is no command."""
    system = mse.MSystem("stage", gravity=(0, 0, 0))
    base, scale = system.add(mse.PositionActuator("base")), system.add(mse.ForceSensor("scale"))
    mass = system.add(mse.RigidBody("mass", mass=2.0, inertia=0.1))
    spring = system.add(mse.Bushing("spring", stiffness=800.0))
    system.clamp(system.ground, base.frame(1))
    system.clamp(base.frame(0), scale.frame(1))
    system.clamp(scale.frame(0), spring.frame(1))
    system.clamp(mass.frame(0), spring.frame(0))
    linear = system.find_working_point().linearize()
    direct = linear.state_space(inputs=["base.x"], outputs=["scale.fx"]).D[0, 0]
    for use in (lambda c: c.modes(), lambda c: c.state_space()):
        with pytest.raises(ModelError, match="the loop has no solution: sensors answer at once to actuators"):
            use(linear.feedback({("base.x", "scale.fx"): -1.0 / direct}))


def test_a_count_that_differs_from_the_poles_is_an_error(monkeypatch):
    closed = oscillator().feedback({PAIR: damper()})
    monkeypatch.setattr(stability, "count", lambda *given: 1)
    with pytest.raises(ModelError, match="0 closed poles grow faster than .* and 1 by Nyquist's criterion"):
        closed.modes()
    assert "stability is not known" in repr(oscillator().feedback({PAIR: damper()}))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_loops_agree_with_their_count(seed):
    """Chains with random controllers, delays and losses: poles and count agree, or modes() would raise."""
    rng = np.random.default_rng(seed)
    model = chain(int(rng.integers(2, 7)), loss=float(rng.choice([0.0, 1e-3])), damping=float(rng.choice([0.0, 1e-3])))
    last = model.coordinates[-1]
    unstable = []
    for gain in (1e3, 1e5, 1e6):
        poles = -(10.0 ** rng.uniform(0, 3, 2))
        c = mse.Controller.zpk([-(10.0 ** rng.uniform(-1, 2))], poles, gain, delay=float(rng.choice([0.0, 1e-2])))
        closed = model.feedback({("m0.x", last): c})
        unstable.append(np.count_nonzero(closed.poles().real > 1e-9))
        assert closed.stable == (not closed.modes().unstable.any())
    assert max(unstable) > 0
