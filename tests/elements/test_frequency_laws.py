"""The law ``dynamic_stiffness``: forms in which it may be written, and what is refused of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import mse
from mse.elements.frequency_laws import dynamic_stiffness
from mse.errors import ModelError

BETWEEN = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.diag([1.0, 2.0, 3.0, 0.1, 0.2, 0.3]))
W = np.linspace(0.0, 900.0, 10)
TABLE = 40.0 * W / (W + 100.0) + 3j * np.sqrt(W)


def value(omega):
    return np.interp(omega, W, TABLE.real) + 1j * np.interp(omega, W, TABLE.imag)


class Formula(mse.MObject):
    def dynamic_stiffness(self, omega, frames):
        return value(omega) * BETWEEN


class OneAtATime(mse.MObject):
    def dynamic_stiffness(self, omega, frames):
        return value(float(omega)) * BETWEEN


class Filled(mse.MObject):
    def dynamic_stiffness(self, omega, frames):
        d = np.zeros((12, 12), dtype=complex)
        d[:] = value(omega) * BETWEEN if omega > 0 else 0.0
        return d


class OfMatrices(mse.MObject):
    spline = CubicSpline(W, np.multiply.outer(TABLE, BETWEEN))

    def dynamic_stiffness(self, omega, frames):
        return self.spline(omega)


class OfFormulas(mse.MObject):
    frame_names = ("0",)

    def dynamic_stiffness(self, omega, frames):
        d = value(omega)
        return np.array([[d * (i == j) for i in range(6)] for j in range(6)])


class Misleading(mse.MObject):
    """One call for all frequencies mixes them up, in the right shape."""

    def dynamic_stiffness(self, omega, frames):
        return value(np.full(np.shape(omega), np.mean(omega))) * BETWEEN


@pytest.mark.parametrize("cls", [Formula, OneAtATime, Filled, OfMatrices, OfFormulas, Misleading])
@pytest.mark.parametrize("omega", [W, W[3:4], W[:0], W[[6, 2, 2, 9]]])
def test_a_law_for_one_frequency_serves_many(cls, omega):
    obj = cls("foot")
    found = dynamic_stiffness(obj, [None] * len(obj.frame_names), omega)
    matrix = np.eye(6) if cls is OfFormulas else BETWEEN
    np.testing.assert_allclose(found, np.multiply.outer(value(omega), matrix), rtol=1e-12, atol=1e-12)


def test_a_formula_is_called_once_for_all_frequencies():
    calls = []

    class Counted(mse.MObject):
        def dynamic_stiffness(self, omega, frames):
            calls.append(np.shape(omega))
            return value(omega) * BETWEEN

    dynamic_stiffness(Counted("foot"), [None, None], W)
    assert sorted(calls) == [(), (len(W), 1, 1)]


def between(cls):
    s = mse.MSystem("one", gravity=(0, 0, 0))
    foot, mass = s.add(cls("foot")), s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
    hold = s.add(mse.Bushing("hold", stiffness=(10.0,) * 6))
    push, probe = s.add(mse.ForceActuator("push")), s.add(mse.PositionSensor("probe"))
    for one in (foot, hold, push):
        s.clamp(s.ground, one.frame(0))
        s.clamp(mass.frame(0), one.frame(1))
    s.clamp(mass.frame(0), probe.frame(0))
    s.clamp(s.ground, probe.frame(1))
    return s.find_working_point()


def defined(law, energy=None):
    members = {"dynamic_stiffness": law} | ({} if energy is None else {"energy": energy})
    return type("Foot", (mse.MObject,), members)


@pytest.mark.parametrize("off, calls", [(1e-11, 2), (1e-7, 1 + len(W))])
def test_what_differs_by_rounding(off, calls):
    """A law that gives an array of frequencies other values than one: the same but for rounding, or another."""
    asked = []

    class Rough(mse.MObject):
        def dynamic_stiffness(self, omega, frames):
            asked.append(omega)
            return (1.0 + off * (np.ndim(omega) > 0)) * value(omega) * BETWEEN

    found = dynamic_stiffness(Rough("rough"), (None, None), W)
    assert len(asked) == calls
    right = np.array([value(w) * BETWEEN for w in W])
    np.testing.assert_allclose(found, right, rtol=1e-10)


def spring(self, frames, q):
    d = frames[1].o - frames[0].o
    return 0.5 * 200.0 * (d @ d)


@pytest.mark.parametrize(
    "law, words",
    [
        (lambda self, omega, frames: np.eye(6), r"at 0 Hz has shape \(6, 6\); expected \(12, 12\), six .* 2 frames"),
        (lambda self, omega, frames: "k", r"at 0 Hz is 'k'; expected numbers \(n, n\)"),
        (lambda self, omega, frames: [[1.0], [1.0, 2.0]], r"at 0 Hz .*expected"),
        (
            lambda self, omega, frames: 1 / 0,
            r"failed: ZeroDivisionError.* dynamic_stiffness\(omega, frames\) with omega",
        ),
        (lambda self, omega, frames: BETWEEN / (1j * np.float64(omega)), r"at 0 Hz is .* at \[0, .*approach a limit"),
        (
            lambda self, omega, frames: 7.0 * BETWEEN,
            r"at 0 Hz is 21 at \[2, 2\], compared with a static .* of 0 .*write k\(omega\)",
        ),
    ],
)
def test_what_is_no_dynamic_stiffness_at_rest_is_refused(law, words):
    wp = between(defined(law))
    with pytest.raises(ModelError, match=f"Foot 'foot': its dynamic_stiffness {words}"):
        wp.linearize()


def test_the_static_stiffness_is_that_of_the_energy_alone():
    whole = defined(lambda self, omega, frames: (200.0 + value(omega)) * np.diag(np.diag(BETWEEN)), spring)
    with pytest.raises(
        ModelError, match=r"is 600 at \[2, 2\], compared with a static stiffness of 200 .*give k\(0\) by energy"
    ):
        between(whole).linearize()
    rounded = defined(lambda self, omega, frames: value(omega) * BETWEEN + 1e-8 * np.eye(12), spring)
    between(rounded).linearize()  # as a table with ten digits leaves
    left = defined(lambda self, omega, frames: value(omega) * BETWEEN + 1e-4 * np.eye(12), spring)
    with pytest.raises(ModelError, match="compared with a static stiffness of 200"):
        between(left).linearize()
    lossy = defined(lambda self, omega, frames: 2j * np.eye(12), spring)
    found = between(lossy).linearize().frequency_response([0.0])["probe.x", "push.fx"]
    np.testing.assert_allclose(found, 1 / (210.0 + 2j), rtol=1e-12)


@pytest.mark.parametrize(
    "law, words",
    [
        (
            lambda self, omega, frames: -1j * omega * BETWEEN,
            r"imaginary part that is -\d+.* at \[2, 2\], which would feed energy.*; expected",
        ),
        (
            lambda self, omega, frames: 1j * omega * np.kron([[1.0, 1.5], [1.5, 1.0]], np.eye(6)),
            r"imaginary part that has the eigenvalue -0.5 .*feed energy",
        ),
        (
            lambda self, omega, frames: np.where(omega > 8.0, np.nan, 0.0) * BETWEEN,
            r"is nan.* at \[0, 0\]; expected finite",
        ),
    ],
)
def test_what_no_passive_object_does_is_refused_where_it_is_met(law, words):
    linear = between(defined(law)).linearize()
    with pytest.raises(ModelError, match=f"foot: its dynamic stiffness at 2 Hz .*{words}"):
        linear.frequency_response([0.0, 2.0])


def test_an_unsymmetric_one_may_not_feed_by_its_symmetric_half():
    turn = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.eye(6)[[1, 0, 2, 3, 4, 5]] * [[1.0], [-1.0], [0], [0], [0], [0]])
    across = 3.0 * turn + 0.7j * turn  # a circulatory and a gyroscopic one
    between(defined(lambda self, omega, frames: omega * across)).linearize().frequency_response([2.0])
    feeding = defined(lambda self, omega, frames: omega * (across - 0.01j * BETWEEN))
    with pytest.raises(
        ModelError, match=r"foot: its dynamic stiffness at 2 Hz has an imaginary part that .*feed energy"
    ):
        between(feeding).linearize().frequency_response([2.0])


def test_a_table_that_dissipates_nothing_but_rounding_is_none_that_feeds():
    law = defined(lambda self, omega, frames: (1.0 - 1e-14j) * omega * BETWEEN)
    assert between(law).linearize().frequency_response([0.0, 2.0]).notes == ()


def test_it_is_refused_in_state_space_and_time_with_the_reason():
    linear = between(Formula).linearize()
    for analysis in (
        linear.state_space,
        lambda: linear.simulate(duration=1.0, dt=0.1),
        lambda: linear.step_loop(dt=0.1),
    ):
        with pytest.raises(
            ModelError, match=r"stiffness of foot depends on the frequency.*internal coordinates with damping"
        ):
            analysis()
