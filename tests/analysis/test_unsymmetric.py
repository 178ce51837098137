"""Models with gyroscopic and circulatory parts in every analysis, against dense matrices, closed forms and balances of energy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.signal as sg

import mse
from mse import LinearModel
from mse.errors import ModelError
from mse.numerics.options import SIZES

ROTOR = ["rotor.x", "rotor.y", "rotor.z", "rotor.ax", "rotor.ay", "rotor.az"]
WHIRL = np.array([18.321595661992319, 218.32159566199232])  # rad/s: roots of 0.01 w^2 -+ 2 w - 40 = 0


class Matrices(NamedTuple):
    M: np.ndarray
    L: np.ndarray
    K: np.ndarray

    @property
    def model(self) -> LinearModel:
        return LinearModel.from_matrices(self.M, self.L, self.K, active=True)

    def response(self, f: np.ndarray) -> np.ndarray:
        w = 2 * np.pi * f
        return np.array([np.linalg.inv(self.K + 1j * x * self.L - x**2 * self.M) for x in w])

    def rates(self) -> np.ndarray:
        """All finite eigenvalues, by the QZ algorithm on the companion form."""
        n = len(self.M)
        zero = np.zeros((n, n))
        s = sl.eigvals(np.block([[zero, np.eye(n)], [-self.K, -self.L]]), sl.block_diag(np.eye(n), self.M))
        return s[np.isfinite(s) & (np.abs(s) < 1e8)]


def spun() -> Matrices:
    g = np.zeros((6, 6))
    g[3, 4], g[4, 3] = 2.0, -2.0
    return Matrices(np.diag([1.0, 1, 1, 0.01, 0.01, 0.02]), g, np.diag([100.0] * 3 + [40.0] * 3))


def random(seed: int, n: int, *, circulates: bool, massless: int = 0) -> Matrices:
    """Anything but symmetric, with the last coordinates massless and damped."""
    rng = np.random.default_rng(seed)
    m, d, k = (a @ a.T / n + np.eye(n) for a in rng.standard_normal((3, n, n)))
    g, c = (0.3 * (a - a.T) for a in rng.standard_normal((2, n, n)))
    light = np.arange(n) >= n - massless
    m[light], m[:, light] = 0.0, 0.0
    return Matrices(m, 0.1 * d + g, k + c if circulates else k)


def flutter(kp: float) -> Matrices:
    """2 kg and 1 kg on a rail, springs to the ground and between, and an effort -kp x2 on the first."""
    return Matrices(np.diag([2.0, 1.0]), np.zeros((2, 2)), np.array([[150.0, kp - 50.0], [-50.0, 50.0]]))


# -- rotor ----------------------------------------------------------------------------------------------------------
def test_a_rotor_whirls_alike_in_modes_response_and_time():
    given = spun()
    model = LinearModel.from_matrices(*given, coordinates=ROTOR)
    s = model.modes(damped=True).eigenvalues
    np.testing.assert_allclose(np.abs(s)[[3, 5]], WHIRL, rtol=1e-12)
    assert np.abs(s.real).max() < 1e-12
    # the response is infinite there: its inverse along circles of either sense goes through zero
    circle = np.array([1.0, -1.0j]) / np.sqrt(2)
    for sense, w in zip((circle.conj(), circle), WHIRL, strict=True):
        f = w * np.array([1 - 1e-3, 1 + 1e-3]) / (2 * np.pi)
        tilt = model.frequency_response(f, inputs=ROTOR[3:5], outputs=ROTOR[3:5]).values
        best = np.abs([sense.conj() @ a @ sense for a in tilt])
        other = np.abs([sense @ a @ sense.conj() for a in tilt])
        assert best.min() > 20 * other.max()
        dynamic = 0.01 * w**2 * np.array([2e-3, 2e-3])  # of 0.01 w^2 -+ 2 w - 40, to first order
        assert (np.abs(1 / best) < dynamic * 25).all()
    history = model.simulate(duration=2.0, dt=1e-3, initial={"rotor.ax": 1.0, "rotor.y": 0.3})
    n = 6
    a = np.block(
        [[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(given.M, given.K), -np.linalg.solve(given.M, given.L)]]
    )
    x = np.zeros(12)
    x[[3, 1]] = 1.0, 0.3
    step, expected = sl.expm(1e-3 * a), [x]
    for _ in range(2000):
        expected.append(step @ expected[-1])
    np.testing.assert_allclose(history.values, np.array(expected)[:, :n], atol=1e-10)
    # forward and backward whirl as the sum of two circles, whose radii follow from where it starts
    w1, w2 = WHIRL
    z = (w2 * np.exp(1j * w1 * history.time) + w1 * np.exp(-1j * w2 * history.time)) / (w1 + w2)
    np.testing.assert_allclose(history["rotor.ax"], z.real, atol=1e-10)
    np.testing.assert_allclose(np.abs(history["rotor.ay"]), np.abs(z.imag), atol=1e-10)


def test_a_gyroscopic_run_keeps_its_energy():
    given = random(3, 20, circulates=False)
    given = given._replace(L=0.5 * (given.L - given.L.T))
    names = given.model.state_space().states
    loop = given.model.step_loop(dt=0.05, initial={f"x{k}": 1.0 / (1 + k) for k in range(20)})
    energies = []
    for _ in range(400):
        loop.step()
        now = loop.state()
        q, v = np.array([now[name] for name in names]).reshape(2, -1)
        energies.append(0.5 * (q @ given.K @ q + v @ given.M @ v))
    assert np.ptp(energies) < 1e-12 * energies[0]


# -- all routes -------------------------------------------------------------------------------------------------------
CASES = [
    (n, circulates, massless)
    for n in (3, SIZES.few_coordinates, SIZES.few_coordinates + 1, 30, 60, 61)
    for circulates in (False, True)
    for massless in (0, 2)
]


@pytest.mark.rounding
@pytest.mark.parametrize("n, circulates, massless", CASES)
def test_random_systems_agree_with_dense_solutions(n, circulates, massless):
    given = random(n, n, circulates=circulates, massless=massless)
    model, f = given.model, np.linspace(0.01, 0.6, 9)
    expected = given.response(f)
    size = np.abs(expected).max()
    np.testing.assert_allclose(model.frequency_response(f).values, expected, atol=1e-10 * size)
    ss = model.state_space()
    moved = [np.linalg.solve(2j * np.pi * x * np.eye(len(ss.A)) - ss.A, ss.B) for x in f]
    np.testing.assert_allclose(np.array([ss.C @ x + ss.D for x in moved]), expected, atol=1e-10 * size)
    modes = model.modes(damped=True)
    s = modes.eigenvalues
    rates = given.rates()
    assert len(s) + np.count_nonzero(s.imag) == len(rates)
    assert max(np.abs(rates - x).min() for x in s) < 1e-9
    for x, shape in zip(s, modes.shapes.T, strict=True):
        left = np.linalg.norm((x**2 * given.M + x * given.L + given.K) @ shape)
        assert left < 1e-9 * np.linalg.norm(shape) * (1 + abs(x)) ** 2
    u = np.sin(0.05 * np.arange(201))
    history = model.simulate(duration=10.0, dt=0.05, inputs={"x0": u}, hold="foh")
    _, y, _ = sg.lsim((ss.A, ss.B[:, :1], ss.C, ss.D[:, :1]), u, history.time)
    np.testing.assert_allclose(history.values, y, atol=1e-10 * np.abs(y).max())


@pytest.mark.parametrize("name", ["dense", "few_frequencies"])
@pytest.mark.parametrize("n", [13, 40])
def test_answers_do_not_change_where_algorithms_do(name, n, monkeypatch):
    given, f = random(5, n, circulates=True), np.linspace(0.01, 0.6, 7)
    before = given.model.frequency_response(f).values
    monkeypatch.setattr(SIZES, name, 1)
    np.testing.assert_allclose(given.model.frequency_response(f).values, before, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("circulates", [False, True])
def test_slow_motions_alone_answer_slow_inputs(circulates):
    """Two stiff coordinates on a whirling pair."""
    m, k = np.eye(4), np.diag([1.0, 2.0, 1e6, 2e6])
    g = np.zeros((4, 4))
    g[0, 1], g[1, 0], g[0, 2], g[2, 0] = 0.5, -0.5, 3.0, -3.0
    given = Matrices(m, g + 0.05 * np.eye(4), k)
    if circulates:
        k[0, 1], k[1, 0] = 0.2, -0.2
    slow = given.model.state_space(up_to_hz=5.0)
    f = np.array([0.02, 0.1, 0.3])
    moved = [np.linalg.solve(2j * np.pi * x * np.eye(len(slow.A)) - slow.A, slow.B) for x in f]
    np.testing.assert_allclose(np.array([slow.C @ x + slow.D for x in moved]), given.response(f), atol=1e-7)


# -- modes without damping, stability ---------------------------------------------------------------------------------
@pytest.mark.parametrize("given, what", [(spun(), "gyroscopic coupling"), (flutter(20.0), "circulatory stiffness")])
def test_undamped_modes_of_unsymmetric_models_are_refused(given, what):
    with pytest.raises(ModelError, match=rf"it has {what}, so undamped .*modes\(damped=True\)"):
        given.model.modes()
    assert len(given.model.symmetric.modes()) == len(given.M)


@pytest.mark.rounding
def test_flutter_begins_where_two_frequencies_meet():
    for kp in np.linspace(0.0, 56.24, 12):
        modes = flutter(kp).model.modes(damped=True)
        assert not modes.unstable.any()
        # of 2 w^4 - 250 w^2 + 5000 + 50 kp = 0
        w2 = 62.5 + np.array([-1, 1]) * np.sqrt(62.5**2 - 2500 - 25 * kp)
        np.testing.assert_allclose(np.abs(modes.eigenvalues) ** 2, w2, rtol=1e-11)
    meeting = flutter(56.25).model.modes(damped=True)
    assert not meeting.unstable.any()
    np.testing.assert_allclose(meeting.eigenvalues, [1j * np.sqrt(62.5)] * 2, rtol=1e-12)
    for kp in (56.251, 57.0, 80.0):
        modes = flutter(kp).model.modes(damped=True)
        assert modes.unstable.tolist().count(True) == 1
        growth = np.sqrt(62.5 - 1j * np.sqrt(25 * kp + 2500 - 62.5**2)).imag
        np.testing.assert_allclose(np.sort(modes.eigenvalues.real), [growth, -growth], rtol=1e-9)
        assert "UNSTABLE" in str(modes)


def test_a_motion_that_turns_under_a_spin_has_one_pole_at_zero_each():
    """A free gyroscope: a push leaves it turned, not turning."""
    g = np.array([[0.0, 2.0], [-2.0, 0.0]])
    model = LinearModel.from_matrices(np.eye(2), g, np.zeros((2, 2)), coordinates=["top.ax", "top.ay"])
    s = model.modes(damped=True).eigenvalues
    np.testing.assert_allclose(s, [0.0, 0.0, 2.0j], atol=1e-14)
    assert model.state_space().zeros == 2
    history = model.simulate(duration=10.0, dt=0.1, initial={"top.ax'": 1.0})
    np.testing.assert_allclose(history["top.ax"], 0.5 * np.sin(2 * history.time), atol=1e-13)


def test_three_spins_under_one_momentum_keep_one_that_turns_on():
    """About the momentum itself nothing turns aside: that motion has both its poles at zero."""
    x, y, z = 1.0, 2.0, 3.0
    g = np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])
    model = Matrices(np.eye(3), g, np.zeros((3, 3))).model
    assert model.state_space().zeros == 4
    s = model.modes(damped=True).eigenvalues
    assert np.count_nonzero(s == 0) == 4
    np.testing.assert_allclose(s[-1], 1j * np.sqrt(14.0), rtol=1e-12)


@pytest.mark.parametrize("damping, zeros", [(0.0, 2), (0.5, 1)])
def test_what_is_only_pushed_is_free(damping, zeros):
    """A coordinate that another pushes and that pushes nothing back, as no symmetric stiffness allows."""
    given = Matrices(np.eye(2), np.diag([0.1, damping]), np.array([[4.0, 0.0], [1.5, 0.0]]))
    model = given.model
    np.testing.assert_allclose(np.abs(model.zero_motions.toarray().ravel()), [0.0, 1.0], atol=1e-12)
    assert model.state_space().zeros == zeros
    assert np.count_nonzero(model.modes(damped=True).eigenvalues == 0) == zeros


def test_massless_coordinates_that_only_a_spin_couples_are_first_order_states():
    g = np.zeros((3, 3))
    g[1, 2], g[2, 1] = 2.0, -2.0
    k = np.array([[3.0, -1.0, 0.5], [-1.0, 4.0, 0.2], [0.5, 0.2, 5.0]])
    given = Matrices(np.diag([1.0, 0.0, 0.0]), g, k)
    s = given.model.modes(damped=True).eigenvalues
    expected = given.rates()
    expected = expected[expected.imag >= 0]
    np.testing.assert_allclose(s, expected[np.argsort(np.abs(expected))], atol=1e-12)
    ss, f = given.model.state_space(), np.array([0.1, 0.4])
    assert len(ss.states) == 4
    moved = [np.linalg.solve(2j * np.pi * x * np.eye(4) - ss.A, ss.B) for x in f]
    np.testing.assert_allclose(np.array([ss.C @ x + ss.D for x in moved]), given.response(f), atol=1e-12)


def test_what_only_a_spin_couples_to_coordinates_without_mass_or_damping_adds_mass():
    """8 x1 = 2 x0' pushes x0 by -2 x1', as a mass of 2^2/8 does."""
    given = Matrices(np.diag([1.0, 0.0]), np.array([[0.0, 2.0], [-2.0, 0.0]]), np.diag([4.0, 8.0]))
    np.testing.assert_allclose(given.model.modes(damped=True).eigenvalues, [1j * np.sqrt(4.0 / 1.5)], rtol=1e-12)
    f, ss = np.array([0.3]), given.model.state_space()
    moved = np.linalg.solve(0.6j * np.pi * np.eye(2) - ss.A, ss.B)
    for found in (given.model.frequency_response(f).values[0], ss.C @ moved + ss.D):
        np.testing.assert_allclose(found, given.response(f)[0], rtol=1e-12)


def test_grids_resolve_the_resonances_of_a_rotor():
    given = spun()
    model = given._replace(L=given.L + 1e-3 * given.K).model
    grid = model.resonance_grid(0.5, 60.0)
    rates = np.abs(model.modes(damped=True).eigenvalues.imag) / (2 * np.pi)
    np.testing.assert_allclose(np.unique(grid.resonances_hz.round(9)), np.unique(rates.round(9)), rtol=1e-9)


# -- large models ---------------------------------------------------------------------------------------------------
def chain(n: int, *, circulates: bool = False) -> Matrices:
    """Pairs of coordinates along a chain, each pair coupled by a spin of its own, or pushed aside by a circulatory force."""
    rng = np.random.default_rng(0)
    links = sl.toeplitz([2.0, 0.0, -1.0] + [0.0] * (n - 3))
    turn = np.zeros((n, n))
    at = np.arange(0, n - 1, 2)
    turn[at, at + 1] = 0.2 + 0.1 * rng.random(len(at))
    turn -= turn.T
    m = np.diag(1.0 + 0.2 * rng.random(n))
    return Matrices(m, 0.02 * links + (0 if circulates else 1) * turn, links + (0.01 * turn if circulates else 0))


@pytest.mark.rounding
@pytest.mark.parametrize("circulates", [False, True])
def test_few_modes_of_large_models_are_the_lowest_of_all(circulates):
    given = chain(200, circulates=circulates)
    model, n = given.model, 200
    modes = model.modes(6, damped=True)
    assert len(modes) == 6
    assert not any("counted" in note or "eigenvalues" in note for note in modes.notes)
    rates = given.rates()
    rates = rates[rates.imag >= -1e-12]
    lowest = rates[np.argsort(np.abs(rates))][:6]
    np.testing.assert_allclose(np.sort_complex(modes.eigenvalues), np.sort_complex(lowest), rtol=1e-8, atol=1e-10)
    f = np.array([0.01, 0.02])
    some = ["x0", f"x{n - 1}"]
    response = model.frequency_response(f, inputs=some, outputs=some)
    expected = given.response(f)[:, [0, n - 1]][:, :, [0, n - 1]]
    np.testing.assert_allclose(response.values, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.slow
def test_few_modes_beside_free_spins_are_the_lowest_of_all():
    """A chain of bodies free to spin about their own axes, which some gyroscopes couple to their tilt."""
    system = mse.MSystem("chain", gravity=(0, 0, -9.81))
    above = system.ground
    for k in range(30):
        body = system.add(mse.RigidBody(f"b{k}", mass=1.0, inertia=0.01, at=mse.Pose.dz(-1.0 - k)))
        wire = system.add(mse.Spring(f"w{k}", length=0.9, stiffness=1e4))
        system.clamp(above, wire.frame(1), mse.Pose.dz(-0.05) if k else mse.Pose())
        system.clamp(wire.frame(0), body.frame(0), mse.Pose.dz(0.05))
        above = body.frame(0)

    class Wheel(mse.MObject):
        frame_names = ("0",)

        def damping_matrix(self, frames, q):
            out = np.zeros((6, 6))
            out[4, 5], out[5, 4] = 0.05, -0.05
            return out

    for k in range(0, 30, 7):
        system.add(Wheel(f"wheel{k}"), between=(f"b{k}.center",))
    model = system.find_working_point().linearize()
    few, every = model.modes(8, damped=True), model.modes(damped=True)
    moving = every.eigenvalues[every.eigenvalues != 0]
    found = few.eigenvalues[few.eigenvalues != 0]
    np.testing.assert_allclose(np.abs(found[:8]), np.abs(moving[:8]), rtol=1e-7)
    assert np.count_nonzero(few.eigenvalues == 0) == np.count_nonzero(every.eigenvalues == 0)


# -- coils --------------------------------------------------------------------------------------------------------
def coils(n: int, seed: int = 0) -> Matrices:
    """n masses on a chain of springs, each with a coil whose charge is a coordinate: skew couplings through charge rates."""
    rng = np.random.default_rng(seed)
    k = sl.toeplitz([2.0, -1.0] + [0.0] * (n - 2)) * 1e2
    push = np.diag(5.0 + rng.random(n))
    zero = np.zeros((n, n))
    return Matrices(
        sl.block_diag(np.diag(1.0 + rng.random(n)), 1e-3 * np.eye(n)),
        np.block([[0.5 * np.eye(n), push], [-push, 4.0 * np.eye(n)]]),
        np.block([[k, zero], [zero, zero]]),
    )


def test_charges_of_coils_are_rows_of_the_other_sign():
    given = coils(4)
    mirror = given.model.mirror
    np.testing.assert_array_equal(mirror * mirror[0], [1.0] * 4 + [-1.0] * 4)
    assert not mirror.flags.writeable
    for a in given:
        np.testing.assert_array_equal(mirror[:, None] * a, (mirror[:, None] * a).T)
    np.testing.assert_array_equal(Matrices(given.M, 0 * given.L, given.K).model.mirror, np.ones(8))


@pytest.mark.parametrize("loop", [3, 4, 5, 6])
def test_rings_of_skew_couplings_have_signs_where_they_are_even(loop):
    g = np.zeros((loop, loop))
    at = np.arange(loop)
    g[at, (at + 1) % loop] = 1.0
    ring = Matrices(np.eye(loop), g - g.T, np.eye(loop)).model
    assert (ring.mirror is None) == (loop % 2 == 1)
    # a spring across two of opposite sign
    k = np.eye(loop)
    k[:2, :2] = [[2.0, -1.0], [-1.0, 2.0]]
    assert Matrices(np.eye(loop), g - g.T, k).model.mirror is None


@pytest.mark.rounding
@pytest.mark.parametrize("n", [2, 6, 7, 40])
def test_coils_are_swept(n):
    given, f = coils(n), np.geomspace(0.1, 20.0, 40)
    model, expected = given.model, given.response(f)
    response = model.frequency_response(f)
    np.testing.assert_allclose(response.values, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())
    assert response.notes == ()
    # few inputs, many outputs, the other way round, and losses
    for i, o in ((["x0"], None), (None, [f"x{n}"])):
        some = model.frequency_response(f, inputs=i, outputs=o).values
        whole = expected[:, :, :1] if o is None else expected[:, n : n + 1]
        np.testing.assert_allclose(some, whole, rtol=1e-9, atol=1e-12 * np.abs(whole).max())
    lossy = model.frequency_response(f, loss={"model": 0.1}).values
    expected = given._replace(K=given.K * (1 + 0.1j)).response(f)
    np.testing.assert_allclose(lossy, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


def test_what_cannot_be_swept_says_so():
    given = random(0, 20, circulates=True)
    response = given.model.frequency_response(np.array([0.1]))
    assert len(response.notes) == 0 or "pivoting" in response.notes[0]
    response = given.model.frequency_response(np.geomspace(0.01, 1.0, 30))
    assert response.notes == (
        "solved one by one with pivoting, since elimination without pivoting is for symmetric matrices",
    )


def test_a_voice_coil_with_an_eddy_loop():
    """Impedance with the charges as coordinates, against one over its admittance in closed form."""
    bl, r, ind, m, k, c, l2, r2, mutual = 10.0, 4.0, 1e-3, 0.05, 2000.0, 0.5, 2e-4, 0.5, 3e-4
    given = Matrices(
        np.array([[m, 0, 0], [0, ind, mutual], [0, mutual, l2]]),
        np.array([[c, -bl, 0], [bl, r, 0], [0, 0, r2]]),
        np.diag([k, 0.0, 0.0]),
    )
    model = LinearModel.from_matrices(*given, coordinates=["coil.z", "coil.charge", "eddy.charge"])
    f = np.array([10.0, 100.0])
    s = 2j * np.pi * f
    charge = model.frequency_response(f)["coil.charge", "coil.charge"]
    expected = r + ind * s - (mutual * s) ** 2 / (r2 + l2 * s) + bl**2 * s / (m * s**2 + c * s + k)
    np.testing.assert_allclose(1 / (s * charge), expected, rtol=1e-12)
    np.testing.assert_allclose(expected, [4.0614390475 + 3.5473640343j, 4.1295475256 - 2.9293455108j], rtol=1e-10)
    # a charge that has moved stays, and no motion but the two charges is free
    modes = model.modes(damped=True)
    assert np.count_nonzero(modes.eigenvalues == 0) == 2
    rates = given.rates()
    assert max(np.abs(rates - s).min() for s in modes.eigenvalues) < 1e-8 * np.abs(rates).max()


def test_a_coil_has_one_answer_in_time_and_frequency():
    given = coils(3)
    f = 0.8
    history = given.model.simulate(duration=200.0, dt=0.01, inputs={"x3": lambda t: np.sin(2 * np.pi * f * t)})
    late = history.time > 150
    x, t = history["x1"][late], history.time[late]
    basis = np.stack([np.cos(2 * np.pi * f * t), np.sin(2 * np.pi * f * t)], axis=1)
    found = np.linalg.lstsq(basis, x, rcond=None)[0]
    response = given.model.frequency_response(np.array([f]))["x1", "x3"][0]
    np.testing.assert_allclose(found, [response.imag, response.real], rtol=1e-7, atol=1e-9 * abs(response))
