"""Frequency grids that resolve every resonance, and long sweeps by interpolation held to a bound."""

from __future__ import annotations

import numpy as np
import pytest

import mse
import mse.analysis.frequency.resonance_grid
import mse.analysis.frequency.response
from mse.analysis.frequency.interpolation import interpolated
from mse.errors import ModelError, UnknownNameError
from mse.numerics.options import SIZES


def row_of_masses(count: int, damping: float = 0.0) -> mse.LinearModel:
    """Unit masses on springs of 100 N/m between walls, with viscous damping proportional to the springs."""
    k = 100.0 * (2 * np.eye(count) - np.eye(count, k=1) - np.eye(count, k=-1))
    return mse.LinearModel.from_matrices(np.eye(count), damping * k, k, name="row")


def rates_of_row(count: int) -> np.ndarray:
    return 20.0 * np.sin(np.arange(1, count + 1) * np.pi / (2 * (count + 1)))


# -- grids --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("per_width", [4.0, 6.0, 11.0])
def test_every_resonance_in_the_band_has_its_points(per_width):
    """w_k = 2 sqrt(k/m) sin(k pi/(2n + 2)), widths c w_k^2/k: all and only those between the ends of the band."""
    model = row_of_masses(30, 1e-5)
    grid = model.resonance_grid(0.5, 2.5, points_per_width=per_width)
    f = rates_of_row(30) / (2 * np.pi)
    inside = (f >= 0.5) & (f <= 2.5)
    np.testing.assert_allclose(grid.resonances_hz, f[inside], rtol=1e-8)  # |s| and Im s differ by the damping squared
    np.testing.assert_allclose(grid.widths_hz, 1e-5 * (2 * np.pi * f[inside]) ** 2 / (2 * np.pi), rtol=1e-6)
    for at, width in zip(grid.resonances_hz, grid.widths_hz, strict=True):
        assert np.sum(np.abs(grid.frequencies_hz - at) <= 0.5001 * width) >= per_width
    assert grid.frequencies_hz[0] == 0.5 and grid.frequencies_hz[-1] == 2.5
    assert np.all(np.diff(grid.frequencies_hz) > 0)
    assert np.diff(np.log10(grid.frequencies_hz)).max() <= 1.001 / 30
    assert grid.notes[0].startswith(f"{inside.sum()} resonances from damped modes")
    assert grid.notes[0] in repr(grid) and len(grid) < 60 * per_width * inside.sum()


def test_interpolation_between_the_points_finds_the_response():
    model = row_of_masses(12, 1e-4)
    grid = model.resonance_grid(0.2, 4.0, points_per_width=16)
    found = model.frequency_response(grid.frequencies_hz, inputs=["x0"], outputs=["x0"])["x0", "x0"]
    fine = np.unique(np.concatenate([np.geomspace(0.2, 4.0, 4001), grid.resonances_hz[grid.resonances_hz < 4.0]]))
    right = model.frequency_response(fine, inputs=["x0"], outputs=["x0"])["x0", "x0"]
    from scipy.interpolate import CubicSpline

    assert np.abs(CubicSpline(grid.frequencies_hz, found)(fine) - right).max() < 1e-3 * np.abs(right).max()
    coarse = np.geomspace(0.2, 4.0, len(grid))
    other = model.frequency_response(coarse, inputs=["x0"], outputs=["x0"])["x0", "x0"]
    assert np.abs(CubicSpline(coarse, other)(fine) - right).max() > 0.1 * np.abs(right).max()


def test_frequencies_that_the_elimination_misses_are_told(monkeypatch):
    class Missing(mse.analysis.frequency.resonance_grid.Sweep):
        def __call__(self, w, *told):
            values, good = super().__call__(w, *told)
            return values, good & (w < 2 * np.pi)

    model = row_of_masses(12, 1e-4)
    assert not any("pivoting" in note for note in model.resonance_grid(0.2, 4.0).notes)
    monkeypatch.setattr(mse.analysis.frequency.resonance_grid, "Sweep", Missing)
    grid = model.resonance_grid(0.2, 4.0)
    missed = np.count_nonzero(grid.frequencies_hz >= 1.0)
    assert any(note.startswith(f"at {missed} frequencies that response could not be solved") for note in grid.notes)


def test_structural_loss_makes_widths():
    grid = row_of_masses(8).resonance_grid(0.1, 4.0, loss={"row": 2e-3})
    np.testing.assert_allclose(grid.resonances_hz, rates_of_row(8) / (2 * np.pi), rtol=1e-9)
    np.testing.assert_allclose(grid.widths_hz, 2e-3 * grid.resonances_hz, rtol=1e-9)
    assert "undamped modes" in grid.notes[0]


@pytest.mark.slow
def test_undamped_resonances_are_surrounded_and_left_out():
    model = row_of_masses(8)
    grid = model.resonance_grid(0.1, 4.0)
    f = rates_of_row(8) / (2 * np.pi)
    assert np.all(grid.widths_hz == 0) and "8 resonances are undamped" in grid.notes[-1]
    distance = np.abs(grid.frequencies_hz[:, None] / f - 1).min(axis=0)
    assert np.all(distance > 1e-6) and np.all(distance < 1e-4)
    assert np.all(np.isfinite(model.frequency_response(grid.frequencies_hz).values))


@pytest.mark.parametrize("limit", [600, 0])
def test_a_resonance_that_only_a_dashpot_makes_is_resolved(monkeypatch, limit):
    """A dashpot that holds two masses together: they resonate as one, where no undamped mode is."""
    monkeypatch.setattr(SIZES, "dense_modes", limit)
    k, c, m = np.diag([100.0, 1.0]), 1e4 * np.array([[1.0, -1.0], [-1.0, 1.0]]), np.diag([1.0, 2.0])
    model = mse.LinearModel.from_matrices(m, c, k, name="held")
    grid = model.resonance_grid(0.2, 4.0)
    together = np.sqrt(101.0 / 3.0) / (2 * np.pi)
    s = np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(m, k), -np.linalg.solve(m, c)]]))
    width = -2 * s.real[s.imag > 0][0] / (2 * np.pi)
    assert np.all(np.abs(np.sqrt([100.0, 0.5]) / (2 * np.pi) - together) > 0.1)
    assert np.sum(np.abs(grid.frequencies_hz - together) < width) >= 3
    if limit:
        np.testing.assert_allclose(grid.resonances_hz, [together], rtol=1e-4)
    else:
        assert grid.added > 10 and "to resolve the response to a random force" in grid.notes[1]


def test_a_grid_of_a_large_model_counts_its_modes(monkeypatch):
    monkeypatch.setattr(mse.analysis.frequency.resonance_grid, "_FIRST_COUNT", 5)
    grid = row_of_masses(700, 1e-7).resonance_grid(0.001, 0.1)
    f = rates_of_row(700) / (2 * np.pi)
    np.testing.assert_allclose(grid.resonances_hz, f[f < 0.1], rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"low_hz": 0.0, "high_hz": 1.0}, ["low_hz is 0.0", "a finite number greater than 0"]),
        ({"low_hz": 1.0, "high_hz": np.inf}, ["high_hz is inf", "a finite number greater than 0"]),
        ({"low_hz": 2.0, "high_hz": 1.0}, ["low_hz is 2 Hz and high_hz 1 Hz", "low_hz below high_hz"]),
        ({"low_hz": 1.0, "high_hz": 2.0, "points_per_width": 2}, ["points_per_width is 2", "at least 4"]),
        (
            {"low_hz": 1.0, "high_hz": 2.0, "points_per_width": "many"},
            ["points_per_width is 'many'", "a finite number of at least 4 and at most 10000"],
        ),
    ],
)
def test_what_makes_no_grid_is_refused(options, words):
    with pytest.raises(ModelError) as caught:
        row_of_masses(3).resonance_grid(**options)
    assert all(word in str(caught.value) for word in ["row", *words])


def test_loss_of_something_unknown_is_refused():
    with pytest.raises(UnknownNameError, match="did you mean 'row'"):
        row_of_masses(3).resonance_grid(0.1, 1.0, loss={"rov": 0.1})


# -- interpolation ------------------------------------------------------------------------------------------------
ONE = np.zeros((1, 1), dtype=int)


def counted(function):
    """A response of one output to one input, and the frequencies at which it was asked for."""
    asked: list[float] = []

    def solve(f):
        asked.extend(f)
        return function(f)[:, None, None].astype(complex)

    return solve, asked


def test_long_sweeps_are_interpolated_within_the_bound_and_say_so(monkeypatch):
    monkeypatch.setattr(SIZES, "interpolated_cycles", 0.0)
    model = row_of_masses(40, 1e-4)
    f = np.random.default_rng(0).permutation(np.r_[np.linspace(0.1, 2.0, 9000), 0.7, 0.7])
    points = ["x0", "x11", "x39"]
    found = model.frequency_response(f, inputs=["x0"], outputs=points)
    right = model.frequency_response(f, inputs=["x0"], outputs=points, bound=0)
    assert right.notes == ()
    assert np.abs(found.values - right.values).max() < 1e-9 * np.abs(right.values).max()
    (note,) = found.notes
    solved, all_ = int(note.split()[0]), int(note.split()[2])
    assert all_ == 9002 and solved < 0.4 * all_
    assert "rational interpolation" in note and "(bound 1.0e-09)" in note
    coarser = model.frequency_response(f, inputs=["x0"], outputs=points, bound=1e-4)
    assert int(coarser.notes[0].split()[0]) < solved
    assert np.abs(coarser.values - right.values).max() < 1e-4 * np.abs(right.values).max()


def test_short_sweeps_and_small_models_are_solved_at_every_frequency():
    assert (
        row_of_masses(40, 1e-4).frequency_response(np.linspace(0.1, 2.0, 9000), inputs=["x0"], outputs=["x3"]).notes
        == ()
    )


def test_a_resonance_between_all_samples_is_not_lost():
    """Its width is a thousandth of the spacing, its largest value as large as the rest: seen by its tail alone."""
    f = np.linspace(1.0, 2.0, 4001)
    at = f[1234] + 1e-9
    solve, asked = counted(lambda x: 1.0 / (4.5 - x**2) + 2.5e-7 * (0.3 + 0.1j) / (at - x + 2.5e-7j))
    values, solved, error = interpolated(solve, f, ONE, 1e-9)
    assert f[1234] not in asked or solved[1234]
    right = solve(f)[:, 0, 0]
    assert np.abs(values[:, 0, 0] - right).max() < 1e-9 * np.abs(right).max()
    assert solved.mean() < 0.2 and error <= 1e-9


@pytest.mark.parametrize("away", [0.3, 0.1, 0.03, 0.01])
def test_a_frequency_beside_a_narrow_resonance_is_right(away):
    """Q of 1e8, a hundredth to a third of the spacing off a requested frequency; samples have a hundredth of the bound of it."""
    f, bound = np.linspace(1.0, 2.0, 6001), 1e-8
    missed = []
    for at in np.random.default_rng(1).integers(10, 5990, 12):
        center = f[at] + away * (f[1] - f[0])
        height = 8.0 * bound * away * (f[1] - f[0])  # several times the bound at the frequency

        def response(x, center=center, height=height):
            return 1.0 / (4.5 - x**2) + height / (center - x + 0.5e-8j * center)

        solve, _ = counted(response)
        values, solved, _ = interpolated(solve, f, ONE, bound)
        missed.append(np.abs(values[:, 0, 0] - response(f)).max() / np.abs(response(f)).max())
        assert solved.mean() < 0.2
    assert max(missed) < bound


@pytest.mark.slow
def test_resonances_between_the_samples_stay_within_the_bound():
    """Some near the spacing of the samples in width, as high as the bound or more: within a fifth of it, by few solutions."""
    f, bound = np.linspace(1.0, 2.0, 3001), 1e-8
    shares = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(1, 6))
        at, width = rng.uniform(1.0, 2.0, count), 10.0 ** rng.uniform(-4.0, -2.0, count)
        height = bound * 10.0 ** rng.uniform(0.0, 4.0, count)

        def response(x, at=at, width=width, height=height):
            return 1.0 / (4.5 - x**2) + (height * width / (at - x[:, None] + 1j * width)).sum(axis=1)

        values, solved, _ = interpolated(counted(response)[0], f, ONE, bound)
        right = response(f)
        assert np.abs(values[:, 0, 0] - right).max() < 0.2 * bound * np.abs(right).max(), seed
        shares.append(solved.mean())
    assert np.mean(shares) < 0.06


@pytest.mark.slow
@pytest.mark.parametrize("noise", [1e-5, 1e-8])
def test_what_is_not_rational_is_solved(noise):
    """Noise above the bound: every value is the one solved for, none made up."""
    f = np.linspace(1.0, 2.0, 5000)
    table = dict(zip(f, 1.0 / (4.5 - f**2) + noise * np.random.default_rng(0).standard_normal(5000), strict=True))
    solve, asked = counted(lambda x: np.array([table[v] for v in x]))
    values, solved, _ = interpolated(solve, f, ONE, 1e-10)
    assert solved.all() and len(asked) == 5000
    np.testing.assert_array_equal(values[:, 0, 0].real, np.array(list(table.values())))


def test_only_the_window_with_a_kink_is_solved_to_the_end():
    f = np.linspace(-1.0, 2.0, 8192)
    solve, _ = counted(lambda x: 1.0 / (5.0 + x) + np.maximum(x - 1.5, 0.0) ** 2 * 0.3)
    values, solved, _ = interpolated(solve, f, ONE, 1e-11)
    right = solve(f)[:, 0, 0]
    assert np.abs(values[:, 0, 0] - right).max() < 1e-11 * np.abs(right).max()
    assert solved.mean() < 0.15 and solved[np.abs(f - 1.5) < 0.002].mean() > 0.9


@pytest.mark.slow
def test_each_unit_has_its_own_bound():
    """A response of 1e-11 beside one of 1: exact to its own size if measured alone, not if measured with the other."""
    f = np.linspace(1.0, 2.0, 4000)
    rng = np.random.default_rng(1)
    rough = dict(zip(f, 1e-11 * rng.standard_normal(4000), strict=True))

    def solve(x):
        return np.stack([1.0 / (4.5 - x**2), np.array([rough[v] for v in x])], axis=1)[:, :, None].astype(complex)

    alone = interpolated(solve, f, np.array([[0], [1]]), 1e-7)[1]
    together = interpolated(solve, f, np.array([[0], [0]]), 1e-7)[1]
    assert alone.all() and together.mean() < 0.1


@pytest.mark.parametrize("bound", [-1.0, np.nan, "tight"])
def test_a_bound_that_is_none_is_refused(bound):
    with pytest.raises(ModelError, match=r"row: bound is .*expected a finite number of at least 0"):
        row_of_masses(3, 0.1).frequency_response([1.0], bound=bound)
