"""Margins: figures, python-control's, and what the poles say of a loop that has lost them."""

from __future__ import annotations

import control
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
from counting import made_of

import mse
from loops import PAIR, chain, damper, free_mass, oscillator, sampled_pd
from mse.analysis.frequency.sweep import Sweep
from mse.control.poles import Plant
from mse.errors import ModelError, SingularResponseError
from mse.numerics.options import SIZES


def test_margins_of_a_damping_loop_are_all_crossings():
    margins = oscillator().feedback({PAIR: damper()}).margins()
    np.testing.assert_allclose(margins.gain_crossings_hz, [0.7323130723, 1.3602260408], rtol=1e-9)
    np.testing.assert_allclose(margins.phase_margins, [-99.785383, 72.151294], atol=1e-6)
    assert margins.phase_crossings_hz[0] == pytest.approx(7.806612665, rel=1e-9)
    assert margins.gain_margins[0] == pytest.approx(19.41197921, rel=1e-8) == margins.gain_margin
    assert margins.sensitivity == pytest.approx(1.137976572, rel=1e-9)
    assert margins.phase_margin == margins.phase_margins[1]
    assert "largest sensitivity 1.13798 at" in repr(margins)
    # the delay turns the phase by a whole turn every 200 Hz
    assert len(oscillator().feedback({PAIR: damper()}).margins(high_hz=2000.0).phase_crossings_hz) == 11


def test_margins_are_those_of_python_control_on_frequency_data():
    model, c = chain(4, damping=3e-3), mse.Controller.zpk([-2.0], [-80.0, -90.0], 2e5, delay=2e-3)
    margins = model.feedback({("m1.x", "m1.x"): c}).margins(0.05, 60.0)
    f = np.geomspace(0.05, 60.0, 4_000)
    gain = c.response(f) * model.frequency_response(f, inputs=["m1.x"], outputs=["m1.x"]).values[:, 0, 0]
    gm, pm, _, wpc, wgc, _ = control.stability_margins(control.frd(gain, 2 * np.pi * f, smooth=True), returnall=True)
    np.testing.assert_allclose(margins.phase_crossings_hz, np.sort(wpc) / (2 * np.pi), rtol=1e-6)
    np.testing.assert_allclose(margins.gain_crossings_hz, np.sort(wgc) / (2 * np.pi), rtol=1e-6)
    np.testing.assert_allclose(np.sort(margins.gain_margins), np.sort(gm), rtol=1e-5)
    turned = np.where(pm > 180.0, pm - 360.0, pm)
    np.testing.assert_allclose(np.sort(margins.phase_margins), np.sort(turned), atol=1e-3)


def test_a_loop_without_its_margins_is_at_the_edge_of_stability():
    """The gain margin, or the phase margin as a delay, brings a pole onto the axis, in s and in z."""
    for model, c in ((oscillator(), damper()), (free_mass(), sampled_pd(60.0))):
        margins = model.feedback({PAIR: c}).margins()
        raised = mse.Controller(c.zeros, c.poles, c.gain * margins.gain_margin, None, c.delay, c.dt)
        edge = model.feedback({PAIR: raised})
        growth = edge.poles().real.max() if c.dt is None else np.abs(edge.poles()).max() - 1.0
        assert abs(growth) < 1e-7
        w = 2 * np.pi * margins.phase_crossings_hz[np.argmin(margins.gain_margins)]
        at = edge.poles()[np.argmax(edge.poles().real if c.dt is None else np.abs(edge.poles()))]
        assert abs(at.imag if c.dt is None else np.angle(at) / c.dt) == pytest.approx(w, rel=1e-6)
    margins = oscillator().feedback({PAIR: damper()}).margins()
    late = np.radians(margins.phase_margin) / (2 * np.pi * margins.gain_crossings_hz[1])
    edge = oscillator().feedback({PAIR: damper(delay=5e-3 + late)}).poles()
    assert abs(edge.real.max()) < 1e-7


def test_loops_of_several_channels_are_broken_one_at_a_time():
    model = chain(4)
    first, second = damper(200.0, 0.0), mse.Controller.zpk([-1.0], [-70.0, -80.0], 6e5, delay=2e-3)
    both = model.feedback({("m0.x", "m0.x"): first, ("m3.x", "m2.x"): second})
    margins = both.margins()
    for c, actuator, sensor, other in (
        (first, "m0.x", "m0.x", {("m3.x", "m2.x"): second}),
        (second, "m3.x", "m2.x", {("m0.x", "m0.x"): first}),
    ):
        rest = model.feedback(other)
        f = margins.gain_crossings_hz[np.array(margins.gain_loops) == actuator]
        assert len(f)
        gain = c.response(f) * rest.frequency_response(f, inputs=[actuator], outputs=[sensor]).values[:, 0, 0]
        np.testing.assert_allclose(np.abs(gain), 1.0, rtol=1e-9)
        alone = rest.frequency_response(f, inputs=[actuator]).values  # of the loop that is left
        assert np.isfinite(alone).all()
    f = np.linspace(0.2, 30.0, 20_001)
    p = model.frequency_response(f, inputs=["m0.x", "m3.x"], outputs=["m0.x", "m2.x"]).values
    c = np.stack([first.response(f), second.response(f)], axis=1)[:, :, None]
    s = np.linalg.norm(np.linalg.inv(np.eye(2) + c * p), ord=2, axis=(1, 2))
    assert s.max() <= margins.sensitivity * (1 + 1e-12) == pytest.approx(s.max(), rel=1e-3)
    assert margins.sensitivity_hz == pytest.approx(f[np.argmax(s)], rel=1e-3)


@pytest.mark.slow
def test_the_largest_of_two_sensitivities_between_grid_points_is_found():
    """Two peaks within a few percent of each other, on either side of what the grid shows."""
    for gain in np.linspace(1.5e5, 3.5e5, 5):
        c = mse.Controller.zpk([-2.0], [-80.0, -90.0], gain, delay=2e-3)
        margins = chain(2, damping=3e-3).feedback({("m0.x", "m0.x"): c}).margins()
        f = np.linspace(0.5, 60.0, 50_001)
        w = 2j * np.pi * f
        k, lam = chain(2).K.toarray(), 3e-3 * chain(2).K.toarray()
        z = k + w[:, None, None] * lam + w[:, None, None] ** 2 * np.eye(2)
        p = z[:, 1, 1] / (z[:, 0, 0] * z[:, 1, 1] - z[:, 0, 1] ** 2)
        s = 1 / np.abs(1 + c.response(f) * p)
        assert margins.sensitivity == pytest.approx(s.max(), rel=1e-5) and margins.sensitivity >= s.max() * (1 - 1e-12)


def test_gains_without_a_phase_crossing_have_none():
    """An undamped mass with a spring by feedback: L stays real, and jumps at its resonance."""
    margins = oscillator(damped=False).feedback({PAIR: 0.5 * float(oscillator().K[0, 0])}).margins()
    assert not len(margins.phase_crossings_hz) and margins.gain_margin == np.inf
    # k' = |k - m w^2|
    np.testing.assert_allclose(margins.gain_crossings_hz, np.sqrt([0.5, 1.5]), rtol=1e-9)


def test_bands_that_are_none_are_refused():
    closed = free_mass().feedback({PAIR: sampled_pd(60.0)})
    with pytest.raises(
        ModelError, match="from 1 to 150 Hz; expected low below high, at most 100 Hz, half the sampling rate"
    ):
        closed.margins(1.0, 150.0)
    with pytest.raises(ModelError, match="low_hz is 0.0 Hz; expected"):
        closed.margins(0.0)
    with pytest.raises(ModelError, match="points is .*; choose a lower high_hz"):
        oscillator().feedback({PAIR: damper()}).margins(high_hz=1e12)


def test_margins_are_saved_and_read(tmp_path):
    margins = oscillator().feedback({PAIR: damper()}).margins()
    margins.save(tmp_path / "margins.npz")
    again = mse.read_result(tmp_path / "margins.npz")
    np.testing.assert_array_equal(again.gain_margins, margins.gain_margins)
    assert again.gain_loops == margins.gain_loops and again.sensitivity == margins.sensitivity


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dt", [None, 5e-3])
def test_an_infinite_loop_gain_is_refused_and_margins_leave_it_out(dt):
    closed = oscillator(damped=False).feedback({PAIR: mse.Controller.zpk([], [0.5 if dt else -5.0], 1.0, dt=dt)})
    with pytest.raises(SingularResponseError, match="infinite"):
        closed.loop_gain([0.5, 1.0])
    assert np.isfinite(closed.loop_gain([0.5, 1.0 + 1e-9])["mass.x"]).all()
    assert len(closed.margins(0.5, 2.0).gain_crossings_hz) == 2 and not closed.stable
    integrator = oscillator().feedback({PAIR: mse.Controller.zpk([], [1.0 if dt else 0.0], 1.0, dt=dt)})
    with pytest.raises(SingularResponseError, match="a controller is infinite at 0 Hz, where it has a pole"):
        integrator.loop_gain([0.0])


def test_a_plant_is_prepared_once_for_all_searches(monkeypatch):
    monkeypatch.setattr(SIZES, "few_coordinates", 0)
    made = made_of(monkeypatch, Sweep)
    loop = chain(12, damping=3e-3).feedback(
        {("m1.x", "m1.x"): mse.Controller.zpk([-2.0], [-80.0, -90.0], 2e5, delay=2e-3)}
    )
    assert len(loop.margins().gain_crossings_hz) > 4
    assert len(made) == 1  # on the imaginary axis
    assert loop.modes() and len(made) == 2  # beside it, for the count


def test_frequencies_without_an_answer_are_moved_and_no_others():
    model = chain(12, damping=0.0)
    f = model.modes().frequencies_hz
    f = f[f > 0.0]
    plant = model.feedback({("m1.x", "m1.x"): mse.Controller.zpk([], [-80.0], 1.0)}).plant
    own = []
    for x in f:  # those that rounding leaves exactly singular
        try:
            model.frequency_response([x], inputs=["m1.x"], outputs=["m1.x"])
        except SingularResponseError as error:
            own.append(error.frequency_hz)
    assert own and set(own) <= set(f)
    between = np.sqrt(f[1:] * f[:-1])
    both = np.sort(np.concatenate([f, between]))
    found = plant.response(2 * np.pi * both)[np.isin(both, between), 0, 0]
    right = model.frequency_response(between, inputs=["m1.x"], outputs=["m1.x"]).values[:, 0, 0]
    np.testing.assert_allclose(found, right, rtol=1e-9)


def modal_gain(model: mse.LinearModel, c: mse.Controller, name: str, w: np.ndarray) -> np.ndarray:
    """The loop gain of an undamped model by its modes, at rates w (f,)."""
    squares, shapes = scipy.linalg.eigh(model.K.toarray(), model.M.toarray())
    weights = shapes[model.coordinates.index(name)] ** 2
    return c.response(w / (2 * np.pi)) * (weights / (squares - w[:, None] ** 2)).sum(axis=1)


def test_crossings_of_an_undamped_plant_are_found_without_narrowing_on_its_poles_and_zeros(monkeypatch):
    """At poles and at zeros the phase of its gain jumps by half a turn, where no crossing is."""
    model, c = chain(12, damping=0.0), mse.Controller.zpk([0.0], [-60.0, -70.0], 2e5, delay=2e-2)
    calls, gain = [], Plant.gain
    monkeypatch.setattr(Plant, "gain", lambda self, w, *a, **k: calls.append(len(w)) or gain(self, w, *a, **k))
    margins = model.feedback({("m1.x", "m1.x"): c}).margins()
    counted = len(calls)

    def own(f: float) -> complex:
        return modal_gain(model, c, "m1.x", 2 * np.pi * np.array([f]))[0]

    f = np.geomspace(0.05, margins.phase_crossings_hz[-1] * 1.001, 200_000)
    phase = modal_gain(model, c, "m1.x", 2 * np.pi * f)
    # without jumps: the phase turns little between neighbors
    turns = (phase.imag[1:] * phase.imag[:-1] < 0.0) & (phase.real[1:] < 0.0) & (phase.real[:-1] < 0.0)
    right = [scipy.optimize.brentq(lambda x: own(x).imag, f[k], f[k + 1], xtol=1e-13) for k in np.flatnonzero(turns)]
    assert len(right) >= 2
    np.testing.assert_allclose(margins.phase_crossings_hz, right, rtol=1e-9)
    gains = [own(x) for x in margins.gain_crossings_hz]
    np.testing.assert_allclose(np.abs(gains), 1.0, rtol=1e-7)
    assert len(gains) >= 10
    assert counted < 22


@pytest.mark.parametrize("coupling", [1e-5, 1e-3, 0.1])
def test_a_phase_crossing_beside_an_undamped_pole_is_kept(coupling):
    """A second mass swings where the loop of the first one has its crossing, and hardly knows of it."""
    c, at = damper(), 2 * np.pi * 7.806612665
    own, weight = 10.0 * (2 * np.pi) ** 2, 1e-3
    k = np.array([[own + coupling, -coupling], [-coupling, weight * at**2 + coupling]])
    damping = np.diag([10.0 * 2 * np.pi / 1000.0, 0.0])
    model = mse.LinearModel.from_matrices(np.diag([10.0, weight]), damping, k, coordinates=["mass.x", "other.x"])
    margins = model.feedback({("mass.x", "mass.x"): c}).margins()

    def gain(w: np.ndarray) -> np.ndarray:
        z = k + 1j * w[:, None, None] * damping - w[:, None, None] ** 2 * np.diag([10.0, weight])
        return c.response(w / (2 * np.pi)) * np.linalg.inv(z)[:, 0, 0]

    near = 2 * np.pi * margins.phase_crossings_hz
    assert np.any(np.abs(near / at - 1.0) < 0.1)
    found = gain(near)
    np.testing.assert_allclose(np.angle(-found), 0.0, atol=1e-5)
