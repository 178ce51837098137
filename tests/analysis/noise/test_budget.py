"""Budgets: sums, RMS, inputs, files, and refusals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import mse
from mse.analysis.noise.thermal import BOLTZMANN
from mse.errors import ModelError, ModelWarning, UnknownNameError
from mse.numerics.options import SIZES
from test_thermal import oscillator, slide, two_masses


def test_rms_of_a_damped_oscillator_is_equipartition():
    """``<x^2> = kB T/k`` whatever the damping, on the grid that the budget takes."""
    k = 10.0 * (2 * np.pi) ** 2
    budget = oscillator(damping=10.0 * 2 * np.pi / 50.0).noise(None, "probe.x")
    expected = np.sqrt(BOLTZMANN * 300.0 / k)
    assert expected == pytest.approx(3.239085413e-12, rel=1e-9)
    assert budget.rms() == pytest.approx(expected, rel=1e-4)
    assert budget.cumulative_rms[0] == pytest.approx(budget.rms(), rel=1e-12)
    f = budget.frequencies_hz
    parts = budget.rms(f[0], f[100]) ** 2 + budget.rms(f[100], f[-1]) ** 2
    assert parts == pytest.approx(budget.rms() ** 2, rel=1e-12)


@pytest.mark.parametrize(("mass", "damping"), [(1.0, 1e5), (1.0, 2e3), (1.0, 200.0), (1.0, 150.0), (0.0, 3.0)])
def test_rms_of_overdamped_motions_is_equipartition(mass, damping):
    """Its real poles are far apart, equal, or there is only one."""
    model = mse.LinearModel.from_matrices([[mass]], [[damping]], [[1e4]], coordinates=["body.x"])
    expected = np.sqrt(BOLTZMANN * 300.0 / 1e4)
    assert model.noise(None, "body.x").rms() == pytest.approx(expected, rel=6e-4, abs=0.0)


@pytest.mark.parametrize("power", [-4.0, -1.0, 0.0, 2.0])
def test_rms_of_a_power_law_is_exact(power):
    """Input noise as a power of f on a model that passes it on unchanged."""
    model = mse.LinearModel.from_matrices([[1e-16]], None, [[1.0]], coordinates=["plate.x"])
    f = np.geomspace(1.0, 8.0, 4)
    budget = model.noise(f, "plate.x", inputs={"plate.x": lambda f: f ** (power / 2)})
    exact = np.log(8.0) if power == -1.0 else (8.0 ** (power + 1) - 1.0) / (power + 1)
    assert budget.rms() == pytest.approx(np.sqrt(exact), rel=1e-9)


def test_input_noise_goes_through_its_response_and_adds_to_thermal_noise():
    f = np.array([0.2, 0.5, 3.0])
    model = mse.LinearModel.from_matrices(
        np.eye(2), 0.1 * np.eye(2), [[3.0, -1.0], [-1.0, 2.0]], coordinates=["a.x", "b.x"]
    )
    budget = model.noise(f, "a.x", inputs={"a.x": 1e-12, "b.x": ([0.1, 10.0], [1e-11, 1e-13])})
    response = model.frequency_response(f)
    spectrum = 10.0 ** np.interp(np.log10(f), [-1.0, 1.0], [-11.0, -13.0])
    np.testing.assert_allclose(budget["a.x"], np.abs(response["a.x", "a.x"]) * 1e-12, rtol=1e-12)
    np.testing.assert_allclose(budget["b.x"], np.abs(response["a.x", "b.x"]) * spectrum, rtol=1e-12)
    np.testing.assert_allclose(budget.total**2, budget.densities.sum(axis=0), rtol=1e-12)
    assert budget.kinds == ("viscous", "input", "input")
    whole = sum(own**2 for own in budget.by("kind").values())
    np.testing.assert_allclose(whole, budget.total**2, rtol=1e-12)


def test_combined_outputs_are_amplitudes_not_powers():
    """Mass 2 less mass 1 as a sum of outputs is the sensor between them."""
    linear = two_masses()
    both = linear.combined(outputs={"difference": {"probe.x": 1.0, "between.x": 0.5}})
    f = [0.5, 2.0]
    response = both.noise(f, "difference").total
    apart = np.sqrt(linear.noise(f, "probe.x").total ** 2 + 0.25 * linear.noise(f, "between.x").total ** 2)
    assert np.all(np.abs(response / apart - 1) > 1e-3)  # they are correlated
    one = linear.combined(outputs={"twice": {"between.x": 2.0}}).noise(f, "twice").total
    np.testing.assert_allclose(one, 2.0 * linear.noise(f, "between.x").total, rtol=1e-12)


def test_an_rms_over_a_resonance_that_the_frequencies_miss_warns_with_its_name():
    linear = oscillator(loss=1e-6)
    budget = linear.noise(np.geomspace(0.1, 10.0, 41), "probe.x")
    with pytest.warns(ModelWarning, match=r"resonances at 1 Hz \(width 1e-06 Hz\).*noise\(None"):
        budget.rms()
    assert budget.rms(2.0, 5.0) > 0.0  # no resonance there, no warning


def test_an_undamped_motion_warns_by_its_name_where_it_makes_noise():
    """No frequencies resolve it; damping does.  Thermal noise does not drive it, nor an input that does not push it."""
    model = mse.LinearModel.from_matrices(
        np.eye(2), np.diag([0.1, 0.0]), np.diag([4.0, 9.0]), coordinates=["a.x", "b.x"]
    )
    pushed = {"b.x": 1e-9}
    for output, inputs in (("a.x", {}), ("b.x", {}), ("a.x", pushed), ("b.x", {"a.x": 1e-9})):
        model.noise(None, output, inputs=inputs).rms()
    words = r"motions at 0.477465 Hz \(b.x 100 %\) are undamped, so the RMS has no bound.*give the elements .* damping or loss"
    for f in (None, np.geomspace(0.01, 100.0, 3001)):
        with pytest.warns(ModelWarning, match=words) as warned:
            model.noise(f, "b.x", inputs=pushed).rms()
        assert len(warned) == 1 and "leave the frequencies out" not in str(warned[0].message)
    closed = model.feedback({("a.x", "a.x"): mse.Controller.zpk([0.0], [-100.0, -100.0], 1e3)})
    closed.noise(None, "a.x command", inputs=pushed).rms()
    with pytest.warns(ModelWarning, match=words):
        closed.noise(None, "b.x", inputs=pushed).rms()


@pytest.mark.parametrize("suffix", [".npz", ".mat", ".h5"])
def test_a_budget_is_read_as_it_was_saved(tmp_path, suffix):
    budget = two_masses().noise([0.5, 1.0], "probe.x")
    path = tmp_path / f"budget{suffix}"
    budget.save(path)
    again = mse.read_result(path)
    np.testing.assert_array_equal(again.densities, budget.densities)
    assert (again.sources, again.output, again.unit, again.kinds) == (budget.sources, "probe.x", "m", budget.kinds)
    assert again.parameters["cold"]["temperature"] == 20.0
    assert str(again) == str(budget)


def test_a_budget_becomes_labeled_arrays():
    budget = two_masses().noise([0.5, 1.0], "probe.x")
    array, table = budget.to_xarray(), budget.to_pandas()
    np.testing.assert_array_equal(array.values, budget.densities)
    assert list(array.coords["object"].values) == ["warm", "cold", "damper"]
    np.testing.assert_array_equal(table["cold", "elastic", "structural"], budget["cold", "elastic"])


def test_the_table_lists_the_largest_source_first():
    text = str(two_masses().noise(np.geomspace(0.1, 10.0, 50), "probe.x"))
    assert text.index("warm / elastic") < text.index("cold / elastic")
    assert "RMS (m)" in text


def test_a_requirement_is_drawn_where_it_is_known():
    budget = two_masses().noise(np.geomspace(0.1, 10.0, 50), "probe.x")
    figure = budget.plot(requirements={"goal": ([2.0, 100.0], [1e-9, 1e-12]), "all": 1e-12})
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    x, y = lines["goal"].get_data()
    assert (x[0], x[-1]) == (2.0, 10.0)
    np.testing.assert_allclose(y, 1e-9 * (x / 2.0) ** (np.log(1e-3) / np.log(50.0)), rtol=1e-12)
    np.testing.assert_array_equal(lines["all"].get_xdata(), budget.frequencies_hz)
    with pytest.raises(
        ModelError, match=r"requirement goal: the density at 0\.1 Hz is not known; expected 20 to 30 Hz"
    ):
        budget.plot(requirements={"goal": ([20.0, 30.0], [1.0, 1.0])})


def test_a_high_resonance_leaves_the_total_in_the_picture():
    """More than 15 decades below the peak, too, as for a fiber of a Q of 1e10."""
    budget = two_masses().noise(np.geomspace(0.1, 10.0, 50), "probe.x")
    peak = 1.0 + 1e36 * (budget.frequencies_hz == budget.frequencies_hz[20])
    tall = dataclasses.replace(budget, densities=budget.densities * peak)
    low, high = tall.plot().axes[0].get_ylim()
    assert low < tall.total.min() < 1e-16 * tall.total.max() < 1e-16 * high


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m: m.noise([0.0, 1.0], "probe.x"), ModelError, "number 0 is 0 Hz; expected.*above zero.*warm / elastic"),
        (lambda m: m.noise([2.0, 1.0], "probe.x"), ModelError, "number 1 is 1 Hz, after 2 Hz; expected them ascending"),
        (lambda m: m.noise([], "probe.x"), ModelError, "frequencies_hz is empty; expected at least one"),
        (lambda m: m.noise([1.0], "prob.x"), UnknownNameError, "probe.x"),
        (lambda m: m.noise([1.0], "probe.x", inputs={"coil": 1.0}), UnknownNameError, "coil"),
        (lambda m: m.noise([1.0], "probe.x", temperature=-3.0), ModelError, "temperature is -3.0 K"),
        (lambda m: m.noise([1.0], "probe.x")["wam", "elastic"], UnknownNameError, "warm / elastic"),
        (lambda m: m.noise([1.0], "probe.x").plot(requirements=5), ModelError, "requirements is 5; expected amplitude densities"),
        (lambda m: m.noise([1.0], "probe.x").by("color"), ModelError, "'object', 'mechanism' or 'kind'"),
        (lambda m: m.noise([1.0, 2.0], "probe.x").rms(0.5, 1.5), ModelError, "1 to 2 Hz"),
    ],
)  # fmt: skip
def test_what_makes_no_budget_is_refused(call, error, words):
    with pytest.raises(error, match=words.replace("(", r"\(")):
        call(two_masses())


def test_a_model_of_free_motions_has_no_grid_of_its_own():
    model = mse.LinearModel.from_matrices([[1.0]], None, [[0.0]], coordinates=["cart.x"])
    with pytest.raises(
        ModelError, match="no motion of it swings or fades, to make a frequency grid for; expected frequencies_hz"
    ):
        model.noise(None, "cart.x")


def test_noise_of_motions_that_grow_is_refused_with_their_names():
    system = mse.MSystem("upright", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.1))
    slide(system, "guide", system.ground, body.frame(0), stiffness=-10.0, damping=0.2)
    model = system.find_working_point(seek="nearest").linearize()
    for f in (None, [1.0]):
        with pytest.raises(
            ModelError, match=r"it is unstable, motions grow \(body\.x\), so its noise has no bound; expected a stable"
        ):
            model.noise(f, "guide.displacement")
    fed = mse.LinearModel.from_matrices([[1.0]], [[-0.1]], [[1.0]], coordinates=["body.x"], active=True)
    with pytest.raises(ModelError, match=r"it is unstable, motions grow \(body.x\)"):
        fed.noise([1.0], "body.x")


def test_a_large_model_with_skew_parts_says_that_its_growth_was_not_looked_at(monkeypatch):
    skew = np.array([[0.0, 0.1], [-0.1, 0.0]])
    model = mse.LinearModel.from_matrices(np.eye(2), 0.1 * np.eye(2), 4.0 * np.eye(2) + skew)
    assert not any("grow" in note for note in model.noise([1.0], "x0").notes)
    monkeypatch.setattr(SIZES, "dense_modes", 1)
    assert any("whether motions grow" in note for note in model.noise([1.0], "x0").notes)


def on_tables(loss, link=None) -> mse.LinearModel:
    """A mass at 1.6 Hz with a law of loss, and with a link by its table."""
    system = mse.MSystem("stage", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
    system.add(mse.Bushing("mount", stiffness=100.0, loss=loss), between=(body, system.ground))
    if link is not None:
        system.add(mse.TabulatedLink("link", table=link), between=(body, system.ground))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    system.add(mse.ForceActuator("push"), between=(system.ground, body))
    return system.find_working_point().linearize()


def test_the_own_frequencies_of_a_budget_end_where_tables_do():
    table, f = mse.LossTable([0.5, 40.0], [1e-3, 1e-3]), np.geomspace(0.1, 20.0, 30)
    table_of_link = f, 10.0 + 0.1j * f
    samples = ([0.7, 1e4], [1e-12, 1e-12])
    for model, inputs, ends, who in (
        (on_tables(table), {}, [0.5, 40.0], "mount / elastic"),
        (on_tables(table + 1e-5), {"push.fx": samples}, [0.7, 40.0], "mount / elastic, push.fx"),
        (on_tables(1e-3, link=table_of_link), {}, [0.1, 20.0], "link"),
        (on_tables(2.0 * table, link=table_of_link), {}, [0.5, 20.0], "mount / elastic, link"),
    ):
        budget = model.noise(None, "probe.x", inputs=inputs)
        np.testing.assert_allclose(budget.frequencies_hz[[0, -1]], ends, rtol=1e-12)
        assert budget.notes[-1].endswith(who)
    free = on_tables(mse.LossTable([0.5, 40.0], [1e-3, 1e-3], outside="hold")).noise(None, "probe.x")
    assert free.frequencies_hz[0] < 0.01 and not free.notes


def test_tables_without_a_common_band_are_refused_by_name():
    low, high = mse.LossTable([0.1, 0.2], [1e-3, 1e-3]), ([5.0, 6.0], [1e-12, 1e-12])
    with pytest.raises(ModelError, match="tables of mount / elastic, push.fx leave no band, from 5 to 0.2 Hz"):
        on_tables(low).noise(None, "probe.x", inputs={"push.fx": high})


def test_dampers_have_their_noise_at_0_hz_too():
    """``sqrt(4 kB T c)/k`` of an oscillator; from there on the RMS is that of the whole."""
    model = mse.LinearModel.from_matrices([[2.0]], [[8.0]], [[40.0]], coordinates=["mass.x"])
    f = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 2000)])
    budget = model.noise(f, "mass.x", inputs={"mass.x": 1e-12})
    assert budget["model", "given"][0] == pytest.approx(np.sqrt(4.0 * BOLTZMANN * 300.0 * 8.0) / 40.0, rel=1e-12)
    assert budget["mass.x"][0] == pytest.approx(1e-12 / 40.0, rel=1e-12)
    whole = np.sqrt(budget.rms() ** 2 - 1e-24 / (4.0 * 8.0 * 40.0))
    assert whole == pytest.approx(np.sqrt(BOLTZMANN * 300.0 / 40.0), rel=1e-4)
    assert budget.rms(0.0005, 1.0) == pytest.approx(budget.rms(0.0, 1.0), rel=1e-3)
    free = mse.LinearModel.from_matrices([[2.0]], [[8.0]], [[0.0]], coordinates=["mass.x"])
    with pytest.raises(mse.errors.SingularResponseError):
        free.noise([0.0, 1.0], "mass.x")


def test_a_budget_of_one_frequency_has_amplitudes_and_no_rms():
    budget = two_masses().noise([0.5], "probe.x")
    text = str(budget)
    assert "RMS" not in text and f"0.5 Hz, amplitude {budget.total[0]:.4g} m/sqrt(Hz)" in text
    shares = budget.densities[:, 0] / budget.densities.sum()
    assert f"{shares.max():.3g}" in text and next(iter(budget.by("object"))) == budget.objects[int(np.argmax(shares))]
