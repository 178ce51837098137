"""What pictures show: axes with units, named curves, options, rounding, faces, notebooks."""

from __future__ import annotations

import dataclasses
import importlib
import pickle
import pkgutil
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import mse
from models import four_wire_chain
from mse import Pose
from mse.elements.base import Outline
from mse.errors import MissingPackageError
from mse.linear.linear_model import LinearModel
from mse.results import Result, drawing
from mse.tools.figures import new_figure
from mse.tools.plots import bode, draw
from mse.tools.plots.frequency import continuous_phase

PNG = b"\x89PNG\r\n\x1a\n"


class Pane(mse.MObject):
    """A square plate standing upright, which draws itself as a face larger than the distance of its frames."""

    frame_names = ("0",)

    def mass_matrix(self, frames, q=()):
        return np.eye(6)

    def outline(self, frames):
        corners = np.array([[0, 0, 0], [2, 0, 0], [2, 0, 2], [0, 0, 2]], dtype=float)
        return Outline(frames[0].o + corners, faces=((0, 1, 2, 3),))


def bob(height: float) -> mse.MSystem:
    system = mse.MSystem("bob")
    rod = system.add(mse.Spring("rod", length=1.0, stiffness=1e5))
    mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.01, at=Pose.dz(height)))
    coil, probe = system.add(mse.ForceActuator("coil")), system.add(mse.PositionSensor("probe"))
    system.clamp(system.ground, rod.frame(1))
    for frame in (rod.frame(0), coil.frame(1), probe.frame(0)):
        system.clamp(mass.frame(0), frame)
    for frame in (coil.frame(0), probe.frame(1)):
        system.clamp(system.ground, frame)
    return system


@pytest.fixture(scope="module")
def linear():
    return bob(-1.0).find_working_point().linearize()


def legend_of(axes) -> list[str]:
    return [t.get_text() for t in axes.get_legend().get_texts()]


def legend_below(axes) -> list[str]:
    (legend,) = axes.figure.legends
    return [t.get_text() for t in legend.get_texts()]


@pytest.fixture(scope="module")
def response(linear):
    return linear.frequency_response([0.1, 1.0, 10.0], inputs=["coil.fx", "coil.fz"], outputs=["probe.x", "probe.z"])


def test_bode_takes_one_pair_or_several_and_draws_into_a_given_figure(response):
    for pairs in (("probe.x", "coil.fx"), [("probe.x", "coil.fx")]):
        magnitude, phase = response.plot(pairs=pairs).axes
        assert magnitude.get_ylabel() == "magnitude (m/N)"
        assert legend_of(magnitude) == ["probe.x / coil.fx"]
        assert len(magnitude.lines) == len(phase.lines) == 1
        # an undamped pendulum, below and above its resonance
        np.testing.assert_allclose(phase.lines[0].get_ydata(), [0.0, -180.0, -180.0], atol=1e-9)
    right = new_figure().subfigures(1, 2)[1]
    assert bode(response, figure=right) is right
    assert legend_of(right.axes[0]) == ["probe.x / coil.fx", "probe.z / coil.fz"]
    with pytest.raises(mse.UnknownNameError, match=r"did you mean 'probe\.x'"):
        response.plot(pairs=[("prbe.x", "coil.fx")])


def test_bode_leaves_out_zero_frequency_and_draws_in_ascending_order(linear):
    response = linear.frequency_response([10.0, 0.0, 1.0], inputs=["coil.fx"], outputs=["probe.x"])
    np.testing.assert_array_equal(response.plot().axes[0].lines[0].get_xdata(), [1.0, 10.0])


@pytest.mark.slow
def test_a_long_legend_stands_beside_the_curves():
    model = LinearModel.from_matrices(np.eye(9), None, np.diag(np.arange(1.0, 10.0)) + np.ones((9, 9)))
    figure = model.frequency_response([0.01, 0.02], inputs=["x0"]).plot()
    figure.draw_without_rendering()
    axes = figure.axes[0]
    assert "(2 more responses not shown)" in figure.get_suptitle()
    assert len(legend_of(axes)) == 7
    assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1


def test_phase_falls_at_poles_and_rises_at_zeros_whether_damped_or_not():
    f = np.linspace(0.3, 4.0, 400)
    for loss in (0.0, 1e-6, 1e-2):
        poles = (1 - f**2 + 1j * loss) * (9 - f**2 + 1j * loss)
        phase = np.degrees(continuous_phase(f, (4 - f**2 + 1j * loss) / poles))
        at = [phase[np.searchsorted(f, x)] for x in (0.5, 1.5, 2.5, 3.5)]
        np.testing.assert_allclose(at, [0.0, -180.0, 0.0, -180.0], atol=3.0)
        # two poles without a zero between them go on falling; a second axis, as sensors of the other end have it, begins at -180
        phase = np.degrees(continuous_phase(f, -1.0 / poles))
        at = [phase[np.searchsorted(f, x)] for x in (0.5, 1.5, 3.5)]
        np.testing.assert_allclose(np.array(at) % 360.0, [180.0, 0.0, 180.0], atol=3.0)
        assert at[0] - at[2] == pytest.approx(360.0, abs=3.0)
    assert continuous_phase(np.ones(1), np.array([-1.0 + 0j]))[0] == -np.pi
    assert len(continuous_phase(np.zeros(0), np.zeros(0, dtype=complex))) == 0


def test_the_ways_around_are_the_same_for_any_grid():
    pendulum = lambda f: 1.0 / (1.0 - f**2)
    for f in (np.array([0.1, 10.0]), np.array([0.5, 0.99, 1.01]), np.array([0.2, 0.999, 1.5, 1.6])):
        assert np.degrees(continuous_phase(f, pendulum(f).astype(complex)))[-1] == -180.0


def rational(rng: np.random.Generator, loss: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A response ``sum c/(p^2 (1 + i loss) - f^2)`` at some frequencies, and its phase (rad) for little loss."""
    count = int(rng.integers(1, 9))
    poles = np.sort(10.0 ** rng.uniform(-1, 1, count))
    c = rng.choice([rng.normal(size=count), rng.uniform(0.01, 1.0, count)]) * 10.0 ** rng.uniform(-3, 2, count)
    numerator = sum(c[k] * np.atleast_1d(np.poly(np.delete(poles**2, k))) for k in range(count))
    zeros = np.roots(numerator)
    zeros = np.sqrt(zeros[(np.abs(zeros.imag) < 1e-12 * np.abs(zeros)) & (zeros.real > 0.0)].real)
    points = int(rng.choice([60, 200, 600]))
    f = rng.choice([np.geomspace(0.05, 20.0, points), np.linspace(0.05, 20.0, points)])
    h = (c[:, None] / (poles[:, None] ** 2 * (1 + 1j * loss) - f**2)).sum(axis=0)
    above = lambda x: np.count_nonzero(x[:, None] < f, axis=0)
    # a damping that goes to zero turns the phase by half a turn at each
    return f, h, np.pi * (above(zeros) - above(poles))


@pytest.mark.rounding
@pytest.mark.parametrize(("factor", "loss"), [(1.0, 0.0), (1j, 0.0), (-2.0, 0.0), (1.0, 1e-8), (1.0, 1e-6)])
def test_the_phase_of_any_response_counts_its_poles_and_zeros(factor, loss):
    rng, judged = np.random.default_rng(3), 0
    for _ in range(60):
        f, h, true = rational(rng, loss)
        step = np.diff(true)
        if np.abs(step).max(initial=0.0) > 4.0 or not step.any():
            continue  # two poles between two samples are not seen
        judged += 1
        phase = continuous_phase(f, h * factor)
        np.testing.assert_allclose((phase - phase[0])[-1], (true - true[0])[-1], atol=1e-9 + 1e4 * loss)
    assert judged > 30


def test_one_sample_between_a_pole_and_a_zero_tells_them_from_each_other():
    """A pendulum on a blade: a zero close above its first resonance."""
    f = np.linspace(0.3, 1.3, 51)
    h = (0.915**2 - f**2) / ((0.8975**2 - f**2) * (1.21**2 - f**2))
    assert np.count_nonzero((f > 0.8975) & (f < 0.915)) == 1
    assert np.degrees(continuous_phase(f, h.astype(complex)))[[0, -1]].tolist() == [0.0, -180.0]


def test_histories_take_one_name_and_refuse_unknown_ones(linear):
    history = linear.simulate(duration=1.0, dt=0.01, inputs={"coil.fx": np.sin})
    assert [line.get_label() for line in history.plot(names="probe.x").axes[0].lines] == ["probe.x"]
    panels = history.plot().axes
    assert [(p.get_ylabel(), legend_of(p)) for p in panels] == [
        ("force (mN)", ["coil.fx (input)"]),
        ("displacement (mm)", ["probe.x"]),
    ]
    with pytest.raises(mse.UnknownNameError, match=r"did you mean 'probe\.x'"):
        history.plot(names=["prbe.x"])


def test_modes_mark_what_grows_and_what_is_free():
    modes = bob(1.0).find_working_point(seek="nearest").linearize().modes()
    top, bottom = modes.plot().axes
    assert top.get_yscale() == "log"
    assert legend_of(top) == ["free (0 Hz)", "oscillating", "unstable: growth rate / 2 pi"]
    assert modes.unstable.sum() == 2
    assert sum(p.get_facecolor()[0] > 0.8 for p in top.patches) == 2
    assert bottom.get_xlabel() == "mode"


def test_shares_are_stacked_in_the_order_of_the_model():
    names = ["c.x", "a.x", "b.x"]
    modes = LinearModel.from_matrices(np.eye(3), None, np.diag([1.0, 2.0, 3.0]), coordinates=names).modes()
    figure = modes.plot(max_modes=2)
    assert legend_of(figure.axes[1]) == ["c", "a"]  # b moves in neither mode
    assert "(1 more modes not shown)" in figure.get_suptitle()


@pytest.mark.parametrize(
    ("coordinates", "expected"),
    [
        ([f"blade {b}.n{k}.{c}" for b in "ab" for k in range(20) for c in "xyz"], ["blade a", "blade b"]),
        ([f"m{k}.{c}" for k in range(60) for c in "xyz"], [f"m{k}" for k in range(0, 60, 3)]),
        ([f"x{k}" for k in range(50)], [f"x{k}" for k in range(0, 50, 2)]),
    ],
)
def test_sparsity_names_what_there_is_room_for(coordinates, expected):
    n = len(coordinates)
    axes = LinearModel.from_matrices(np.eye(n), None, np.eye(n), coordinates=coordinates).plot().axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == expected
    assert [label.get_text() for label in axes.get_xticklabels()] == expected


def test_sparsity_shows_couplings_and_no_rounding():
    stiff = np.array([[4e8, 1.0, 0.0], [1.0, 1.0, 1e-9], [0.0, 1e-9, 1e8]])
    stiff[0, 2] = stiff[2, 0] = 1e-5  # 5e-14 of what its rows hold
    model = LinearModel.from_matrices(np.eye(3), None, stiff, coordinates=["a.x", "a.y", "b.x"])
    axes = model.plot().axes[0]
    drawn = set(zip(*(np.round(v).astype(int) for v in axes.lines[0].get_data()), strict=True))
    assert drawn == {(0, 0), (1, 1), (2, 2), (0, 1), (1, 0)}
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a", "b"]
    np.testing.assert_allclose(axes.get_yticks(), [0.5, 2.0])


def test_poles_lie_where_they_are(linear):
    ss = linear.state_space(inputs=["coil.fx"], outputs=["probe.x"])
    axes = draw(ss).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("real part (1/s)", "imaginary part (rad/s)")
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), ss.poles().imag)


def test_upright_faces_are_drawn_and_fit_into_the_scene():
    system = mse.MSystem("window", gravity=(0, 0, 0))
    pane = system.add(Pane("pane"))
    system.clamp(system.ground, pane.frame(0))
    axes = system.plot().axes[0]
    assert len(axes.collections) == 1
    assert legend_below(axes) == ["Pane", "ground", *(f"axis {x} of frames" for x in "xyz")]
    assert axes.get_xlim()[1] > 2
    assert axes.get_zlim()[1] > 2


def test_sketch_has_equal_scales_and_says_when_it_is_not_at_rest():
    system = bob(-1.0)
    wp = system.find_working_point()
    axes = wp.plot().axes[0]
    spans = [np.ptp(limits) for limits in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())]
    aspect = np.asarray(axes.get_box_aspect())
    np.testing.assert_allclose(spans / aspect, spans[0] / aspect[0], rtol=1e-9)
    # three curves more, one for each axis of the triads
    assert len(axes.lines) - len(wp.plot(frames=False).axes[0].lines) == 3
    stopped = dataclasses.replace(wp, converged=False, reason="stopped")
    assert stopped.plot().axes[0].get_title() == "bob (not in equilibrium)"
    given = new_figure().add_subplot(projection="3d")
    assert wp.plot(ax=given) is given.figure
    assert given.get_title() == "bob"


def test_names_are_left_out_where_they_would_cover_everything():
    def row(count):
        system = mse.MSystem("row", gravity=(0, 0, 0))
        for k in range(count):
            body = system.add(mse.RigidBody(f"body{k}", mass=1.0))
            system.clamp(system.ground, body.frame(0), Pose.dxdydz(k, 0, 0))
        return system.plot().axes[0]

    assert len(row(40).texts) == 40
    assert len(row(41).texts) == 0


def every_kind_of_result(base: type = Result) -> set[type]:
    return {base, *(kind for cls in base.__subclasses__() for kind in every_kind_of_result(cls))} - {Result}


def test_every_kind_of_result_is_drawn():
    for module in pkgutil.walk_packages(mse.__path__, "mse."):
        importlib.import_module(module.name)
    own = {kind for kind in every_kind_of_result() if kind.__module__.startswith("mse.")}
    assert len(own) > 12
    assert not [kind.__name__ for kind in own if drawing.dispatch(kind) is drawing.dispatch(object)]


def test_what_is_left_out_is_drawn_as_it_is():
    K = np.diag([1.0, 4.0, 900.0]) - 0.1
    chain = mse.LinearModel.from_matrices(np.eye(3), None, K, coordinates=["a.x", "b.x", "c.x"])
    left = chain.state_space(inputs=["a.x"], outputs=["c.x"], up_to_hz=1.0).left_out
    curve, dots = left.plot().axes[0].lines
    f, size = curve.get_data()
    np.testing.assert_array_equal(size, np.abs(left.error(f))[:, 0, 0])
    np.testing.assert_array_equal(dots.get_ydata(), left.response[:, 0, 0])
    assert f[-1] == pytest.approx(1.0) and size.max() > 0.0

    reduction = mse.reduce_matrices(np.eye(3), None, K, [0], modes=1)
    f, error = reduction.plot().axes[0].lines[0].get_data()
    np.testing.assert_array_equal(error, reduction.relative_error(f))
    assert f[-1] < reduction.omitted_frequency_hz < 1.02 * f[-1]

    grid = chain.resonance_grid(0.05, 10.0)
    f, step = grid.plot().axes[0].lines[0].get_data()
    np.testing.assert_allclose(f + step, grid.frequencies_hz[1:])


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(mse.ModelError, match="cannot draw a int"):
        draw(3)


@pytest.mark.slow
def test_figures_show_themselves_in_a_notebook_and_survive_pickling(response):
    figure = response.plot()
    assert isinstance(figure, Figure)
    assert figure._repr_png_()[:8] == PNG
    assert pickle.loads(pickle.dumps(figure))._repr_png_()[:8] == PNG


def test_without_matplotlib_the_remedy_is_named(response, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'mse\[plot\]'") as caught:
        response.plot()
    assert isinstance(caught.value, mse.MseError)
    assert isinstance(caught.value, ImportError)


def test_numbers_stay_clear_of_the_corners_of_a_narrow_scene():
    axes = bob(-1.0).plot().axes[0]
    for ticks, limits in ((axes.get_xticks(), axes.get_xlim()), (axes.get_yticks(), axes.get_ylim())):
        assert len(ticks) >= 2
        assert np.abs(ticks - np.mean(limits)).max() < 0.4 * np.ptp(limits)


@pytest.fixture(scope="module")
def chain():
    system = four_wire_chain(2, driven=True)
    return system, system.find_working_point()


def words(axes) -> str:
    texts = [axes.get_xlabel(), axes.get_ylabel(), axes.get_title(), axes.figure.get_suptitle()]
    legend = axes.get_legend()
    return " | ".join(texts + ([t.get_text() for t in legend.get_texts()] if legend else []))


def test_bode_plot_has_a_panel_for_each_unit(chain):
    response = chain[1].linearize().frequency_response(np.geomspace(0.1, 10, 50))
    lengths, angles, phase = response.plot(pairs=[("probe.x", "base.x"), ("probe.ay", "base.x")]).axes
    assert (lengths.get_ylabel(), angles.get_ylabel()) == ("magnitude (m/m)", "magnitude (rad/m)")
    assert (legend_of(lengths), legend_of(angles)) == (["probe.x / base.x"], ["probe.ay / base.x"])
    assert (phase.get_ylabel(), phase.get_xlabel()) == ("phase (deg)", "frequency (Hz)")
    assert [line.get_color() for line in phase.lines] == [a.lines[0].get_color() for a in (lengths, angles)]
    x, y = lengths.lines[0].get_data()
    np.testing.assert_array_equal(x, response.frequencies_hz)
    np.testing.assert_array_equal(y, np.abs(response["probe.x", "base.x"]))


def test_bode_plot_draws_by_default_what_is_of_one_unit_and_no_rounding(chain):
    response = chain[1].linearize().frequency_response(np.geomspace(0.1, 10, 50))
    everything = response.plot().axes[0]
    assert everything.get_ylabel() == "magnitude (m/m)"
    assert legend_of(everything) == ["probe.x / base.x\n= probe.y / base.y", "probe.z / base.z"]
    assert "more responses not shown" in everything.figure.get_suptitle()


def test_responses_that_hide_each_other_are_one_curve_with_the_names_of_all(chain):
    response = chain[1].linearize().frequency_response(np.geomspace(0.1, 10, 50))
    np.testing.assert_allclose(response["probe.x", "base.x"], response["probe.y", "base.y"], rtol=5e-4)
    magnitude, phase = response.plot().axes
    assert legend_of(magnitude) == ["probe.x / base.x\n= probe.y / base.y", "probe.z / base.z"]
    assert len(magnitude.lines) == len(phase.lines) == 2
    assert [line.get_color() for line in magnitude.lines] == [line.get_color() for line in phase.lines]


def test_histories_have_a_panel_for_each_unit(chain):
    linear = chain[1].linearize()
    history = linear.simulate(duration=1.0, dt=0.01, inputs={"base.x": np.sin})
    panels = history.plot().axes
    assert [p.get_ylabel() for p in panels] == ["displacement (m)", "rotation (urad)"]
    assert "base.x" in words(panels[0])
    assert "probe.x" in words(panels[0])
    assert "probe.y" not in words(panels[0])
    assert panels[-1].get_xlabel() == "time (s)"
    assert len(history.plot(names=["probe.x"]).axes[0].lines) == 1


def test_a_beam_whose_tip_has_no_body_is_one_mover():
    system = mse.MSystem("blade", gravity=(0, 0, -9.81))
    blade = system.add(mse.Beam("blade", length=0.2, width=0.02, height=0.002, elements=3))
    wire = system.add(mse.Wire("wire", length=0.3, radius=2e-4, young_modulus=2e11, poisson_ratio=0.3))
    load = system.add(mse.RigidBody("load", mass=1.0, inertia=1e-3))
    system.clamp(system.ground, blade.frame(0))
    system.clamp(blade.frame(1), wire.frame(1))
    system.clamp(load.frame("center"), wire.frame(0))
    linear = system.find_working_point().linearize()
    assert set(linear.modes().objects) == {"load", "blade"}
    assert {t.get_text() for t in linear.modes().plot().axes[1].get_legend().get_texts()} <= {"load", "blade", "others"}
    # and what is kept in a reduction goes by the name of the frame, as before
    small, _ = mse.reduce_model(linear, ["blade.1", "load"], modes=0)
    assert set(small.coordinates) == {
        f"{name}.{c}" for name in ("blade.1", "load") for c in ("x", "y", "z", "ax", "ay", "az")
    }


@pytest.mark.parametrize("height", [0.3, 5.0])
def test_numbers_and_label_of_a_tall_upright_axis_are_clear_of_each_other(height, monkeypatch):
    from reading import drawn, outside, overlaps

    system = mse.MSystem("tall", gravity=(0, 0, -9.81))
    ball = system.add(
        mse.RigidBody("bob", mass=1.0, inertia=0.01, at=Pose.dz(-height), shape=mse.Box((0.05, 0.05, 0.05)))
    )
    wire = mse.Wire("wire", length=height, radius=2e-4, young_modulus=2e11, poisson_ratio=0.3)
    system.add(wire, between=(ball, system.ground))
    wp = system.find_working_point()
    figure = wp.plot()
    seen = drawn(figure, monkeypatch)
    assert not overlaps(seen) + outside(seen, figure)
    # in a panel, too
    figure = new_figure(9.0, 5.0)
    wp.plot(ax=figure.subfigures(1, 2)[0].add_subplot(projection="3d"))
    assert not [pair for pair in overlaps(drawn(figure, monkeypatch)) if pair[1] == "a tick"]


def test_long_titles_stay_within_the_figure(monkeypatch):
    from reading import drawn, outside

    long = "A pendulum of the second series, rebuilt on the bench in the basement, with the long coil and the new probe"
    system = bob(-1.0).copy(long)
    wp = system.find_working_point()
    linear = wp.linearize()
    history = linear.simulate(duration=1.0, dt=0.01, inputs={"coil.fx": np.sin})
    right = new_figure().subfigures(1, 2)[1]
    response = linear.frequency_response([0.1, 1.0, 10.0])
    response.plot(figure=right)
    results = (
        wp.plot(),
        linear.plot(),
        linear.modes().plot(),
        response.plot(),
        history.plot(),
        linear.state_space().plot(),
    )
    for figure in (*results, right.figure):
        assert not outside(drawn(figure, monkeypatch), figure)


def test_mode_bars_show_frequencies_and_shares(chain):
    modes = chain[1].linearize().modes()
    top, bottom = modes.plot().axes
    heights = [p.get_y() + p.get_height() for p in top.patches]
    np.testing.assert_allclose(heights, modes.frequencies_hz, rtol=1e-12)
    assert "frequency (Hz)" in words(top)
    assert "plate1" in words(bottom)
    per_mode = np.zeros(len(modes))
    for patch in bottom.patches:
        per_mode[round(patch.get_x() + patch.get_width() / 2)] += patch.get_height()
    np.testing.assert_allclose(per_mode, 1.0, rtol=1e-9)


def test_sketch_shows_bodies_wires_and_names(chain):
    system, wp = chain
    for result, title in ((wp, "chain of 2"), (system, "chain of 2: initial poses")):
        axes = result.plot().axes[0]
        assert axes.get_title() == title
        assert {"x (m)", "y (m)", "z (m)"} == {axes.get_xlabel(), axes.get_ylabel(), axes.get_zlabel()}
        assert {t.get_text().strip() for t in axes.texts} == {"plate0", "plate1"}
        assert {"Wire", "RigidBody", "ground", "sensor reads", "gravity, 9.81 m/s2"} <= set(legend_below(axes))
    # no triads in a system of many frames, unless they are asked for
    bare = wp.plot(names=False).axes[0]
    assert not bare.texts
    assert len(wp.plot(frames=True).axes[0].lines) == len(bare.lines) + 3


def test_poles_and_sparsity(chain):
    linear = chain[1].linearize()
    axes = linear.state_space().plot().axes[0]
    assert len(axes.lines[0].get_xdata()) == 24
    assert "imaginary part (rad/s)" in words(axes)
    assert "stiffness, 12 coordinates" in words(linear.plot().axes[0])


@pytest.mark.slow
def test_results_without_anything_to_draw_are_drawn(linear):
    """Zero, not finite, constant, a single sample, none: as results can be, without a warning."""
    response = linear.frequency_response([0.3, 2.0, 5.0], inputs=["coil.fx"])
    history = linear.simulate(duration=1.0, dt=0.01, inputs={"coil.fz": lambda t: 1.0})
    few = [
        dataclasses.replace(history, time=history.time[:n], values=history.values[:n], driven=history.driven[:n])
        for n in (0, 1)
    ]
    still = linear.simulate(duration=1.0, dt=0.01, inputs={"coil.fz": lambda t: 0.0})
    empty = mse.MSystem("empty")
    for result, options in (
        (linear.frequency_response([0.0], inputs=["coil.fz"]), {}),
        (linear.frequency_response([], inputs=["coil.fz"]), {}),
        (linear.frequency_response(np.linspace(5.0, 5.01, 9), inputs=["coil.fz"]), {}),
        (response, {"pairs": ("probe.y", "coil.fx")}),
        *((dataclasses.replace(response, values=c * np.ones_like(response.values)), {}) for c in (0.0, 1.0, np.nan)),
        (history, {"spectrum": True}), (still, {}), (still, {"names": "probe.x", "spectrum": True}), *((h, {}) for h in few),
        (empty, {}), (empty.find_working_point(), {}), (empty.find_working_point().linearize().modes(), {}),
    ):  # fmt: skip
        figure = result.plot(**options)
        assert figure._repr_png_()[:8] == PNG
    with pytest.raises(mse.ModelError, match="the history has 1 samples; expected at least 16 for a spectrum"):
        few[1].plot(names=["probe.z"], spectrum=True)
    with pytest.raises(mse.ModelError, match="spectrum is 1; expected True or False"):
        history.plot(spectrum=1)
