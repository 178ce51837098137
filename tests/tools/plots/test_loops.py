"""Pictures of loop gains show the gain, its crossings and the point that it must not enclose."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from loops import PAIR, chain, damper, free_mass, oscillator, sampled_pd
from mse.errors import ModelError, UnknownNameError

CLOSED = oscillator().feedback({PAIR: damper()}, name="damping")


def marks(axes, symbol: str) -> np.ndarray:
    """Places of all marks of a kind (k, 2)."""
    found = [line.get_xydata() for line in axes.lines if line.get_marker() == symbol]
    return np.vstack(found) if found else np.zeros((0, 2))


def test_a_bode_diagram_has_the_gain_and_marks_at_all_crossings():
    figure, margins = CLOSED.plot("bode"), CLOSED.margins()
    upper, lower = figure.axes
    f, size = upper.lines[0].get_xydata().T
    np.testing.assert_allclose(size, np.abs(CLOSED.loop_gain(f)["mass.x"]), rtol=1e-12)
    np.testing.assert_allclose(marks(upper, "o"), np.column_stack([margins.gain_crossings_hz, np.ones(2)]))
    np.testing.assert_allclose(
        marks(upper, "s"), np.column_stack([margins.phase_crossings_hz, 1 / margins.gain_margins])
    )
    # on the curve of the phase, which falls on through whole turns
    for at, turned in (*marks(lower, "o"), *marks(lower, "s")):
        assert turned == pytest.approx(np.interp(at, f, lower.lines[0].get_ydata()), abs=2.0)
    np.testing.assert_allclose(marks(lower, "s")[:, 1], [-180.0, -540.0])
    assert "phase margin 72.2 deg\ngain margin 19.4" in upper.get_legend().get_texts()[0].get_text()
    assert figure.get_suptitle() == "oscillator: loop gain, largest sensitivity 1.138"


def test_a_nyquist_diagram_keeps_gains_up_to_two_and_stays_out_of_the_circle_of_its_sensitivity():
    axes, margins = CLOSED.plot("nyquist").axes[0], CLOSED.margins()
    curve = next(line for line in axes.lines if line.get_label().startswith("mass.x")).get_xydata() @ [1, 1j]
    assert np.abs(curve).max() < 4.0
    assert np.abs(curve + 1.0).min() == pytest.approx(1 / margins.sensitivity, rel=1e-3)
    np.testing.assert_allclose(np.abs(marks(axes, "o") @ [1, 1j]), 1.0)
    assert marks(axes, "+").tolist() == [[-1.0, 0.0]]
    near = marks(axes, "o") @ [1, 1j]
    assert max(np.abs(curve - z).min() for z in near) < 0.02


def test_a_nichols_diagram_has_its_marks_on_the_curve_and_levels_of_the_closed_gain():
    axes = CLOSED.plot("nichols").axes[0]
    curve = next(line for line in axes.lines if line.get_label().startswith("mass.x")).get_xydata()
    for point in marks(axes, "o"):
        assert np.abs(curve - point).sum(axis=1).min() < 3.0
    assert [-180.0, 0.0] in marks(axes, "+").tolist()
    levels = [line.get_xydata() for line in axes.lines if line.get_linewidth() == 0.8]
    angle, db = np.vstack(levels).T
    gain = 10 ** (db / 20) * np.exp(1j * np.radians(angle))
    closed = np.round(20 * np.log10(np.abs(gain / (1 + gain))), 6)
    assert sorted(set(closed.tolist())) == [-12.0, -6.0, -3.0, 0.0, 1.0, 3.0, 6.0, 12.0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bode", "nyquist", "nichols"])
def test_several_loops_and_sampled_ones_are_drawn(kind):
    late = mse.Controller.zpk([-1.0], [-70.0, -80.0], 3e5, delay=2e-3)
    both = chain(4).feedback({("m0.x", "m0.x"): damper(200.0, 0.0), ("m3.x", "m2.x"): late})
    names = [text.get_text().split("\n")[0] for text in both.plot(kind).axes[0].get_legend().get_texts()]
    assert names == ["m0.x", "m3.x"]
    assert both.plot(kind).get_suptitle().endswith("UNSTABLE")
    one = both.plot(kind, actuators="m3.x", low_hz=0.5, high_hz=20.0)
    assert len(one.axes[0].get_legend().get_texts()) == 1
    assert free_mass().feedback({PAIR: sampled_pd(60.0)}).plot(kind).axes


def test_other_kinds_and_unknown_actuators_are_refused():
    with pytest.raises(ModelError, match="kind is 'root locus'; expected 'bode' or 'nyquist' or 'nichols'"):
        CLOSED.plot("root locus")
    with pytest.raises(UnknownNameError, match="no actuator 'mass.y'"):
        CLOSED.plot(actuators="mass.y")
    with pytest.raises(ModelError, match="frequency is 150.0 Hz; expected at most half the sampling rate, 100 Hz"):
        free_mass().feedback({PAIR: sampled_pd(60.0)}).loop_gain([1.0, 150.0])
