"""Noise with loops closed: figures, matrices written down, and what feedback leaves of equipartition."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from loops import PAIR, STIFFNESS, chain, damper, free_mass, oscillator, sampled_pd
from mse.analysis.noise.thermal import BOLTZMANN
from mse.errors import ModelError, ModelWarning, UnknownNameError

NOISES = {"mass.x noise": 1e-9, "mass.x": 1e-7}


def test_sensor_and_actuator_noise_of_a_damping_loop_and_its_command():
    closed = oscillator().feedback({PAIR: damper()}, name="damping")
    budget = closed.noise([1.0], "mass.x", inputs=NOISES)
    # thermal noise adds 7e-9 of it
    assert budget.by("kind")["input"][0] == pytest.approx(1.076065452e-9, rel=1e-9, abs=0.0)
    command = closed.noise([1.0], "mass.x command", inputs=NOISES)
    assert command.total[0] == pytest.approx(9.984656e-8, rel=1e-6, abs=0.0) and command.unit == "N"
    assert budget.sources == (("oscillator", "given"), "mass.x noise", "mass.x")


def test_thermal_noise_in_several_loops_is_the_quadratic_form_of_the_closed_matrix():
    model, f = chain(4, loss=1e-2), np.array([0.5, 3.0, 7.0])
    first, second = damper(0.1, 2e-3), mse.Controller.zpk([-3.0], [-300.0, -400.0], 4e5)
    closed = model.feedback({("m0.x", "m1.x"): first}, name="first").feedback({("m2.x", "m2.x"): second}, name="second")
    found = closed.noise(f, "m3.x"), closed.noise(f, "m0.x command")
    for k, hz in enumerate(f):
        w = 2 * np.pi * hz
        z = model.K.toarray() * (1 + 1e-2j) + 1j * w * model.Lambda.toarray() - w**2 * model.M.toarray()
        c = np.zeros((4, 4), dtype=complex)
        c[0, 1], c[2, 2] = first.response([hz])[0], second.response([hz])[0]
        inverse = np.linalg.inv(z + c)
        for budget, row in zip(found, (inverse[3], -c[0, 1] * inverse[1]), strict=True):
            for source, lost in (
                ("structural", 1e-2 * model.K.toarray() / w),
                ("viscous", model.Lambda.toarray()),
            ):
                expected = np.sqrt(4 * BOLTZMANN * 300.0 * (row @ lost @ row.conj()).real)
                assert budget.by("kind")[source][k] == pytest.approx(expected, rel=1e-9, abs=0.0)


def test_the_rms_of_a_damped_oscillator_is_that_of_its_closed_loop():
    """Damping by feedback brings no noise: <x^2> = kB T c/(k (c + c'))."""
    model = oscillator()
    c, more = model.Lambda[0, 0], 1.2
    closed = model.feedback({PAIR: mse.Controller.zpk([0.0], [], more)})
    expected = np.sqrt(BOLTZMANN * 300.0 / STIFFNESS * c / (c + more))
    assert closed.noise(None, "mass.x").rms() == pytest.approx(expected, rel=1e-4, abs=0.0)
    with pytest.warns(ModelWarning, match="resonances at 0.99995 Hz"):
        closed.noise(np.geomspace(0.1, 10.0, 50), "mass.x").rms()


def test_the_rms_of_a_command_reaches_beyond_the_poles_of_its_controller():
    closed = oscillator().feedback({PAIR: mse.Controller.zpk([0.0], [-1e4, -1e4], 40e8)})
    for output in ("mass.x command", "mass.x"):
        own, fine = (closed.noise(f, output, inputs=NOISES) for f in (None, np.geomspace(1e-5, 1e8, 100_001)))
        assert own.rms() == pytest.approx(fine.rms(), rel=1e-3, abs=0.0)


def test_without_losses_only_inputs_make_noise_and_sampled_loops_say_where_they_fold():
    closed, f = free_mass().feedback({PAIR: sampled_pd(60.0)}), [1.0, 150.0]
    budget = closed.noise(f, "mass.x", inputs=NOISES)
    response = closed.frequency_response(f)
    by_hand = np.hypot(1e-9 * abs(response["mass.x", "mass.x noise"]), 1e-7 * abs(response["mass.x", "mass.x"]))
    np.testing.assert_allclose(budget.total, by_hand, rtol=1e-12)
    assert "nothing in the model dissipates" in budget.notes[0] and "above 100 Hz" in budget.notes[1]


def test_noise_of_an_unstable_loop_and_of_unknown_names_is_refused():
    closed = oscillator().feedback({PAIR: damper(-40.0)})
    with pytest.raises(ModelError, match=r"its loop is unstable, motions grow at .* Hz \(mass.x 100 %\)"):
        closed.noise([1.0], "mass.x")
    closed = oscillator().feedback({PAIR: damper()})
    with pytest.raises(UnknownNameError, match="no output 'mass.y'"):
        closed.noise([1.0], "mass.y")
    with pytest.raises(UnknownNameError, match=r"no input 'mass.x noise.'"):
        closed.noise([1.0], "mass.x", inputs={"mass.x noises": 1.0})
    with pytest.raises(ModelError, match="frequency number 1 is 1 Hz, after 2 Hz; expected them ascending"):
        closed.noise([2.0, 1.0], "mass.x")


def test_the_own_frequencies_end_where_spectra_do():
    closed = oscillator().feedback({PAIR: damper(40.0)})
    budget = closed.noise(None, "mass.x", inputs={"mass.x noise": ([0.1, 50.0], [1e-9, 1e-9])})
    assert budget.frequencies_hz[[0, -1]].tolist() == [0.1, 50.0]
    assert "where tables do" in budget.notes[-1] and budget.notes[-1].endswith("mass.x noise")
