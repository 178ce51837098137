"""Histories and their spectra."""

from __future__ import annotations

import numpy as np

from test_plots import bob, legend_of


def test_a_history_with_its_spectrum_says_so_and_its_density_of_noise_is_level():
    linear = bob(-1.0).find_working_point().linearize()
    noise = np.random.default_rng(1).standard_normal(20001)
    history = linear.simulate(duration=20.0, dt=1e-3, inputs={"coil.fx": noise}, hold="zoh")
    figure = history.plot(names=["coil.fx"], spectrum=True)
    assert figure.get_suptitle() == "bob: time response and spectrum"
    assert history.plot(names=["coil.fx"]).get_suptitle() == "bob: time response"
    # white noise has sqrt(2 dt) at all frequencies, the highest ones too, where its line counts once
    f, density = figure.axes[1].lines[0].get_data()
    assert 490.0 < f[-1] < 500.0
    np.testing.assert_allclose(np.sqrt(np.mean(density[-8:] ** 2)), np.sqrt(2e-3), rtol=0.2)
    from scipy.signal import welch

    raw = np.sqrt(welch(noise, 1e3, nperseg=2 * 20001 // 9)[1])
    assert len(f) == len(raw) - 3


def test_histories_leave_out_what_lies_on_the_axis_and_count_it():
    linear = bob(-1.0).find_working_point().linearize()
    history = linear.simulate(
        duration=1.0, dt=0.01, inputs={"coil.fx": np.sin}, initial={"mass.z": 1e-9, "mass.ay": 1e-9}
    )
    assert 0 < np.abs(history["probe.z"]).max() < 1e-5 * np.abs(history["probe.x"]).max()
    assert 0 < np.abs(history["probe.ay"]).max() < 1e-5 * np.abs(history["probe.x"]).max()  # rad at 1 m
    figure = history.plot()
    assert [legend_of(axes) for axes in figure.axes] == [["coil.fx (input)"], ["probe.x"]]
    assert "(2 more signals not shown)" in figure.get_suptitle()
    assert len(history.plot(names=["probe.ay"]).axes[0].lines) == 1
