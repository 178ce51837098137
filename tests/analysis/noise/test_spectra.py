"""Amplitude spectral densities of inputs as users give them."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse.analysis.noise.spectra import Spectrum, density
from mse.errors import FileError, ModelError


def test_a_spectrum_is_linear_in_the_logarithms():
    spectrum = Spectrum([0.1, 1.0, 10.0], [1e-6, 1e-9, 0.0])
    np.testing.assert_allclose(spectrum.at(np.array([0.1, 0.1**0.5, 1.0])), [1e-6, 10.0**-7.5, 1e-9], rtol=1e-12)
    assert spectrum.at(np.array([10.0]))[0] == 0.0


def test_all_ways_to_give_a_density_agree(tmp_path):
    f = np.array([0.5, 2.0])
    path = tmp_path / "ground.txt"
    path.write_text("# Hz, m/sqrt(Hz)\n0.1, 1e-6\n10 1e-10  % a comment\n")
    expected = 1e-8 / f**2
    for given in (
        path,
        str(path),
        ([0.1, 10.0], [1e-6, 1e-10]),
        np.array([[0.1, 1e-6], [10.0, 1e-10]]),
        Spectrum([0.1, 10.0], [1e-6, 1e-10]),
        lambda f: 1e-8 / f**2,
    ):
        np.testing.assert_allclose(density("ground", given, f, "m"), expected, rtol=1e-12)
    np.testing.assert_array_equal(density("ground", 3.0, f, "m"), [3.0, 3.0])


def test_beyond_its_samples_a_spectrum_does_what_it_was_told():
    f, samples = np.array([0.01, 1.0, 100.0]), ([0.1, 10.0], [2.0, 4.0])
    with pytest.raises(ModelError, match=r"the density at 0.01 Hz is not known; expected 0.1 to 10 Hz.*outside='hold'"):
        Spectrum(*samples).at(f)
    np.testing.assert_allclose(Spectrum(*samples, "hold").at(f)[[0, 2]], [2.0, 4.0], rtol=1e-12)
    np.testing.assert_array_equal(Spectrum(*samples, "zero").at(f)[[0, 2]], [0.0, 0.0])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([1.0, 0.5], [1.0, 1.0]), "frequency number 1 is 0.5 Hz"),
        (([0.0, 0.5], [1.0, 1.0]), "frequency number 0 is 0 Hz"),
        (([1.0, 2.0], [1.0, -1.0]), "is -1 at 2 Hz; expected amplitudes"),
        (([1.0, 2.0], [1.0]), "2 frequencies and 1 densities"),
        (([1.0, 2.0], [1.0, np.nan]), r"density\[1\] is nan"),
        (-1.0, "density is -1.0; expected a number of at least 0"),
        (lambda f: -f, "density is -"),
        (lambda f: f[:1, None] * np.ones(3), r"density has shape \(1, 3\)"),
        (lambda f: 1 / 0, "ZeroDivisionError"),
        ({"f": 1}, "density is"),
    ],
)
def test_what_is_no_density_is_refused_with_the_name_of_the_input(given, words):
    with pytest.raises(ModelError, match=words):
        density("stage: noise of ground.x", given, np.array([1.0, 2.0]), "m")


def test_a_file_that_is_no_spectrum_is_named(tmp_path):
    path = tmp_path / "ground.txt"
    for text, words in (
        ("1 2\nx y\n", r"line 2 is 'x y'; expected frequency \(Hz\) and density in each line; begin lines"),
        ("1 2\n\n3 4 5\n", "line 3 has 3 numbers, lines before it 2; expected"),
        ("1\n2\n", "does not have two columns"),
        ("2 1\n1 1\n", "frequency number 1"),
        ("1 2 3\n2 3 4\n", "it has 3 columns; expected frequency"),
    ):
        path.write_text(text)
        with pytest.raises(FileError, match=words):
            mse.Spectrum.read(path)
    with pytest.raises(FileError, match=r"nowhere\.txt"):
        mse.Spectrum.read(tmp_path / "nowhere.txt")


def test_a_spectrum_of_another_unit_than_the_input_is_refused(tmp_path):
    path = tmp_path / "coil.txt"
    path.write_text("0.1 1e-7\n10 1e-7\n")
    model = mse.LinearModel.from_matrices([[10.0]], [[1.0]], [[400.0]], coordinates=["mass.x"], name="plant")
    closed = model.feedback({("mass.x", "mass.x"): mse.Controller.zpk([0.0], [-1e3, -1e3], 1e6)})
    force = mse.Spectrum.read(path, unit="N")
    open_loop = [model.noise([1.0], "mass.x", inputs={"mass.x": x}).total for x in (force, 1e-7)]
    np.testing.assert_allclose(*open_loop, rtol=1e-12)
    assert closed.noise([1.0], "mass.x", inputs={"mass.x": force}).total[0] > 0.0
    words = "noise of mass.x noise: its spectrum is in N/sqrt\\(Hz\\); expected m/sqrt\\(Hz\\), its unit in the model"
    with pytest.raises(ModelError, match=words):
        closed.noise([1.0], "mass.x", inputs={"mass.x noise": force})
    with pytest.raises(ModelError, match="expected N/sqrt"):
        model.noise([1.0], "mass.x", inputs={"mass.x": mse.Spectrum([0.1, 10.0], [1.0, 1.0], unit="m")})


def test_the_input_is_named_once():
    with pytest.raises(ModelError) as error:
        density("stage: noise of ground.x", ([1.0, 2.0], [1.0, 1.0]), np.array([5.0]), "m")
    assert str(error.value).count("ground.x") == 1


def test_frequencies_and_units_that_are_none_are_refused():
    spectrum = Spectrum([1.0, 2.0], [1.0, 1.0], "hold")
    for given, words in (
        ("a", "frequencies_hz is 'a'; expected real"), ([np.nan], "frequency number 0 is nan"),
        ([1.0, -1.0], "frequency number 1 is -1.0 Hz"), ([0.0, 1.0], "a frequency is 0.0 Hz; expected frequencies above zero"),
    ):  # fmt: skip
        with pytest.raises(ModelError, match=f"Spectrum: {words}"):
            spectrum.at(given)
    assert spectrum.at([0.1, 1.5]).tolist() == [1.0, 1.0]
    for unit in (5, " "):
        with pytest.raises(ModelError, match="Spectrum: unit is .*; expected a unit such as 'm' or 'N', or None"):
            Spectrum([1.0, 2.0], [1.0, 1.0], unit=unit)
