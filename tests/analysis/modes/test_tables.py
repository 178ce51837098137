"""Modes with loss of tables k(f), known at real frequencies alone: against the roots of the function behind the table."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import mse

SOFT, TAU, MASS = 2e5, 1e-3, 5.0
GRID = 2 * np.pi * np.linspace(0.0, 2000.0, 4001)
BETWEEN = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]))


def rubber(w, amount):
    """A fractional Zener solid without its static stiffness: ``k (i w tau)^(1/2)/(1 + (i w tau)^(1/2))``."""
    root = (1j * np.asarray(w, dtype=complex) * TAU) ** 0.5
    return amount * SOFT * root / (1.0 + root)


class Ring(mse.MObject):
    """A ring of viton: static stiffness by energy, and the change with frequency by a table."""

    table = staticmethod(lambda w: 0.0 * w)

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.5 * SOFT * (d @ d)

    def dynamic_stiffness(self, omega, frames):
        return self.table(omega) * BETWEEN


def held(table, bodies: int = 1, **attributes) -> mse.LinearModel:
    cls = type("Ring", (Ring,), {"table": staticmethod(table), **attributes})
    system = mse.MSystem("stack", gravity=(0, 0, 0))
    last = system.ground
    for k in range(bodies):
        body = system.add(mse.RigidBody(f"b{k}", mass=MASS * (1 + 0.1 * k), inertia=0.1))
        system.add(cls(f"ring{k}"), between=(last, body))
        turning = mse.Bushing(f"turning{k}", stiffness=(0, 0, 0, 1e4, 2e4, 3e4))
        system.add(turning, between=(last, body))
        last = body
    system.add(mse.ForceActuator("push"), between=(system.ground, last))
    system.add(mse.PositionSensor("probe"), between=(last, system.ground))
    return system.find_working_point().linearize()


def exact(amount: float) -> complex:
    """s of one mass on the ring, with ``m s^2 + k + rubber(-i s) = 0``."""
    with mpmath.workdps(30):

        def balance(s):
            root = mpmath.sqrt(s * TAU)
            return MASS * s**2 + SOFT + amount * SOFT * root / (1 + root)

        return complex(mpmath.findroot(balance, mpmath.mpc(-amount * 16.0, 200.0 + 25.0 * amount)))


def splined(amount: float) -> CubicSpline:
    return CubicSpline(GRID, rubber(GRID, amount))


@pytest.mark.parametrize("amount", [1e-4, 1e-2, 0.1, 1.0, 3.0])
def test_the_q_of_a_mass_on_a_table_is_right_to_the_square_of_its_inverse(amount):
    modes = held(splined(amount)).modes(lossy=True)
    expected = exact(amount)
    along = [k for k, mode in enumerate(modes) if mode.participants(1)[:4] in ("b0.x", "b0.y", "b0.z")]
    assert len(along) == 3
    for k in along:
        mode, told = modes[k], 2 * np.pi * modes.uncertainties_hz[k]
        off = abs(mode.eigenvalue - expected)
        assert off <= told + 1e-11 * abs(expected)
        assert told <= 3.0 * off + 1e-7
        # of second order, beside what the cubic leaves of the table
        assert off <= 0.1 / mode.quality**2 * abs(expected) + 1e-11 * abs(expected)
        assert mode.quality == pytest.approx(-abs(expected) / (2 * expected.real), rel=0.5 / mode.quality**2 + 1e-6)


def test_a_formula_goes_on_without_anything_left_open():
    modes = held(lambda w: rubber(w, 1.0)).modes(lossy=True)
    off = [abs(mode.eigenvalue - exact(1.0)) for mode in modes if mode.participants(1).startswith("b0.x")]
    assert max(off) < 1e-11 * 229.0
    assert not any("real frequencies" in note for note in modes.notes)


def test_the_response_has_its_pole_where_the_mode_is():
    """Within two widths of the peak, the response times the distance from the pole changes by no more than 1/Q."""
    linear = held(splined(0.01))
    mode = next(m for m in linear.modes(lossy=True) if m.participants(1).startswith("b0.x"))
    w = mode.eigenvalue.imag + np.linspace(-2.0, 2.0, 9) * abs(mode.eigenvalue.real)
    residue = (1j * w - mode.eigenvalue) / (SOFT + rubber(w, 0.01) - MASS * w**2)
    assert np.abs(residue / residue[4] - 1.0).max() < 1.0 / mode.quality


def test_several_bodies_on_tables_have_as_many_modes_as_formulas_give():
    found, expected = (held(law, 3).modes(lossy=True) for law in (splined(0.3), lambda w: rubber(w, 0.3)))
    assert len(found) == len(expected) == 18
    off, told = np.abs(found.eigenvalues - expected.eigenvalues), 2 * np.pi * found.uncertainties_hz
    assert np.all(off <= told + 1e-9)
    assert off.max() > 1e-6 and told.max() < 1e-3 * np.abs(found.eigenvalues).max()


def test_a_table_that_bends_where_a_mode_fades_is_refused_with_what_is_open():
    """Its slope turns over at the frequency of the mode, by as much as the stiffness over the frequency."""
    at = np.sqrt(SOFT / MASS)
    soft = np.array([0.0, 0.2 * SOFT, 0.0, 0.0]) + 3e4j * np.array([0.0, 1.0, 1.0, 1.0])
    bent = lambda w: np.interp(w, at * np.array([0.0, 0.8, 1.0, 2.0]), soft)
    with pytest.raises(
        mse.ModelError, match=r"stack: the mode at .* Hz fades with .* 1/s are open: .*ring0 is known at real"
    ):
        held(bent).modes(lossy=True)


SHORT = 2 * np.pi * np.linspace(0.0, 60.0, 241)


def short(w):
    """A spline of the first 60 Hz, which beyond them is nonsense and would feed."""
    return CubicSpline(SHORT, rubber(SHORT, 1.0))(w) - 1e6j * np.maximum(w - SHORT[-1], 0.0)


@pytest.mark.parametrize("options", [{}, {"lossy": True}])
def test_a_table_that_says_where_it_ends_is_not_asked_beyond(options):
    whole = held(lambda w: rubber(w, 1.0)).modes(**options)
    below = whole.frequencies_hz <= 60.0
    assert 0 < below.sum() < len(whole)
    model = held(short, dynamic_up_to_hz=60.0)
    modes = model.modes(**options)
    np.testing.assert_allclose(modes.frequencies_hz, whole.frequencies_hz[below], rtol=1e-3)
    assert "none above 60 Hz, where the dynamic stiffness of ring0 ends" in modes.notes
    np.testing.assert_allclose(model.modes(1, **options).frequencies_hz, modes.frequencies_hz[:1], rtol=1e-12)


def test_frequencies_beyond_the_end_of_a_table_are_refused_with_its_range():
    model = held(short, dynamic_up_to_hz=60.0)
    f = np.array([10.0, 60.0])
    np.testing.assert_array_equal(model.frequency_response(f).values, held(short).frequency_response(f).values)
    expected = r"ring0: its dynamic stiffness at 61 Hz is not known; expected frequencies from 0 to 60 Hz"
    with pytest.raises(mse.ModelError, match=expected):
        model.frequency_response([10.0, 61.0])
    with pytest.raises(mse.ModelError, match=r"ring0.*at .* Hz has an imaginary part .* set dynamic_up_to_hz if"):
        held(short).modes(1)


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, "60"])
def test_the_end_of_a_table_is_a_positive_number(wrong):
    with pytest.raises(
        mse.ModelError, match=r"ring0.*dynamic_up_to_hz .*; expected a finite number greater than 0; give the highest"
    ):
        held(short, dynamic_up_to_hz=wrong)
