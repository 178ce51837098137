"""Controllers by roots, sections, matrices and objects of other programs, against formulas and those programs."""

from __future__ import annotations

import control
import numpy as np
import pytest
from scipy import signal

import mse
from mse.control.controller import rational, realized, sampled, without_delay
from mse.errors import ModelError

F = np.array([0.05, 0.3, 2.0])
S = 2j * np.pi * F


def test_roots_follow_the_conventions_of_foton():
    zero, pole, k = -2.0, -5.0 + 1j, 3.0
    by_hand = k * (S - zero) / ((S - pole) * (S - pole.conjugate()))
    roots = [zero], [pole, pole.conjugate()]
    np.testing.assert_allclose(mse.Controller.zpk(*roots, k).response(F), by_hand, rtol=1e-14)
    hz = [np.array(x) / (2 * np.pi) for x in roots]
    np.testing.assert_allclose(mse.Controller.zpk(*hz, k, convention="f").response(F), by_hand, rtol=1e-14)
    gain = k * 2.0 / abs(pole) ** 2  # at rest
    negated = [-x for x in hz]
    np.testing.assert_allclose(mse.Controller.zpk(*negated, gain, convention="n").response(F), by_hand, rtol=1e-14)
    # (1 - s/2), and an integrator of 1 Hz
    right = mse.Controller.zpk([-1 / np.pi], [0.0], 1.0, convention="n").response(F)
    np.testing.assert_allclose(right, (1 - S / 2) / (S / (2 * np.pi)), rtol=1e-14)


def test_sections_matrices_and_objects_of_other_programs_are_the_same_controller():
    filter_ = signal.butter(5, [1.0, 3.0], btype="band", analog=True, output="zpk")
    b, a = signal.zpk2tf(*filter_)
    expected = signal.freqs(b, a, S.imag)[1]
    sections = signal.butter(5, [1.0, 3.0], btype="band", analog=True, output="sos")
    for given in (
        mse.Controller.zpk(*filter_), mse.Controller.sections(sections), signal.TransferFunction(b, a),
        signal.ZerosPolesGain(*filter_), signal.StateSpace(*signal.tf2ss(b, a)), control.tf(b, a),
        control.ss(*signal.tf2ss(b, a)),
    ):  # fmt: skip
        np.testing.assert_allclose(mse.Controller.of(given).response(F), expected, rtol=1e-9)
    assert mse.Controller.of(2.5).response([0.0]) == 2.5
    both = control.tf([[[1], [1, 2]], [[3], [1]]], [[[1, 2], [1, 5]], [[1], [1, 1]]])
    np.testing.assert_allclose(mse.Controller.of(both).response([0.2])[0], both(0.4j * np.pi), rtol=1e-14)


def test_a_sampled_controller_is_held_and_late():
    sections, dt = signal.butter(3, 0.1, output="sos"), 0.1
    own = mse.Controller.sections(sections, dt=dt, delay=2 * dt)
    assert (len(own.zeros), len(own.poles), own.late) == (3, 3, 2)
    by_scipy = signal.sosfreqz(sections, S.imag * dt)[1]
    held = (1 - np.exp(-S * dt)) / (S * dt)
    np.testing.assert_allclose(own.response(F), by_scipy * held * np.exp(-2 * dt * S), rtol=1e-12)
    assert own.response([0.0]) == pytest.approx(1.0)
    for other in (signal.dlti(*signal.butter(3, 0.1), dt=dt), control.tf(*signal.butter(3, 0.1), dt)):
        np.testing.assert_allclose(mse.Controller.of(other, delay=0.2).response(F), own.response(F), rtol=1e-9)
    z = np.exp(0.3j)
    a, b, c, d, _ = sampled(own)
    assert c @ np.linalg.solve(z * np.eye(5) - a, b) + d == pytest.approx(rational(own, np.array([z]))[0] / z**2)


@pytest.mark.parametrize(
    ("zeros", "poles"),
    [
        ([-1.0], [-2.0, -3.0, -4 + 1j, -4 - 1j]),
        ([0.0], []),
        ([1.0, 2.0, -3 + 1j, -3 - 1j], [-1 + 5j, -1 - 5j]),
        ([1.0, -3 + 1j, -3 - 1j, -2 + 4j, -2 - 4j], [-1 + 5j, -1 - 5j]),
        ([-3 + 1j, -3 - 1j], [-1.0]),
        ([], [0.0, 0.0, 0.0]),
    ],
)
def test_matrices_are_the_controller_and_zeros_beyond_poles_a_polynomial(zeros, poles):
    own, s = mse.Controller.zpk(zeros, poles, 2.5), 1.3 + 2.2j
    a, b, c, d, polynomial = realized(own)
    found = (c @ np.linalg.solve(s * np.eye(len(a)) - a, b) + d) * np.polyval(polynomial, s)
    assert own.proper == (len(polynomial) == 1)
    np.testing.assert_allclose(found, rational(own, np.array([s]))[0], rtol=1e-13)


def test_a_rational_function_takes_the_place_of_a_delay():
    num, den = control.pade(0.2, 3)
    expected = np.polyval(num, S) / np.polyval(den, S)
    for own in (
        mse.Controller.zpk([], [-2.0], 4.0, delay=0.2),
        mse.Controller.state_space(-2.0, 2.0, 2.0, 0.0, delay=0.2),
    ):
        np.testing.assert_allclose(without_delay(own, 3).response(F), 4.0 / (S + 2) * expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: mse.Controller.zpk([1j], [], 1.0), "zeros is 1j; expected its conjugate"),
        (lambda: mse.Controller.zpk([], [-1.0], 1.0, delay=-1.0), "delay is -1.0 s; expected a finite number of at least 0"),
        (lambda: mse.Controller.zpk([1.0], [], 1.0, dt=0.1), "1 zeros and 0 poles in z"),
        (lambda: mse.Controller.zpk([], [], 1.0, dt=0.0), "dt is 0.0 s; expected"),
        (lambda: mse.Controller.zpk([], [-1.0], 1.0, convention="Hz"), "convention is 'Hz'; expected 's' or 'f' or 'n'"),
        (lambda: mse.Controller.zpk([], [-1.0], 1.0, convention="n", dt=0.1), "convention is 'n'; expected 's'"),
        (lambda: mse.Controller.of("lead"), "controller is 'lead'; expected a number"),
        (lambda: mse.Controller.of(control.tf([1], [1, 0.5], True)), "without a sampling time"),
        (lambda: mse.Controller.state_space([[1.0, 2.0]], [[1.0]], [[1.0]], 1.0), "A has shape (1, 2)"),
        (lambda: mse.Controller.sections([[1.0, 0, 0, 0, 0, 0]]), "denominator that is not zero"),
    ],
)  # fmt: skip
def test_what_is_no_controller_is_refused(made, words):
    with pytest.raises(ModelError) as refused:
        made()
    assert words in str(refused.value)


def test_tables_list_the_roots():
    text = repr(mse.Controller.zpk([0.0], [-60.0], 2.0, delay=1e-3))
    assert "continuous, 0.001 s late, gain 2" in text and "9.5493" in text
    assert "sampled every 0.1 s, 0 states, 2 inputs, 1 output" in repr(
        mse.Controller.state_space([], [], [], [[1.0, 2.0]], dt=0.1)
    )
