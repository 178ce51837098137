"""What beams, loads and load steps refuse, and in which words."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from test_beams import cantilever, slender

STRIP = {"length": 1.0, "width": 0.02, "height": 0.002}


def solved(beam: mse.MObject, **load) -> mse.WorkingPointError:
    return cantilever(beam, **load).find_working_point()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (
            {"width": 0.0},
            "Beam 'it': width is 0.0 m; expected a finite number greater than 0, two for a straight taper",
        ),
        ({"width": (0.05, 0.0)}, r"width is \(0.05, 0.0\) m; expected"),
        ({"width": (0.05, -0.01)}, "width is"),
        ({"height": -0.001}, "height is -0.001 m"),
        ({"height": np.nan}, "height is nan m"),
        ({"width": (0.1, 0.2, 0.3)}, "width is"),
        ({"width": "wide"}, "width is 'wide' m"),
        ({"width": None}, "width is None"),
        ({"elements": 0}, "elements is 0; expected a whole number of at least 1"),
        ({"elements": -3}, "elements is -3"),
        ({"elements": 2.5}, "elements is 2.5"),
        ({"elements": True}, "elements is True"),
        (
            {"poisson_ratio": -1.0},
            "poisson_ratio is -1.0; expected a finite number of at least -0.999999 and at most 0.5",
        ),
        ({"poisson_ratio": 0.51}, "poisson_ratio is 0.51"),
        ({"young_modulus": 0.0}, "young_modulus is 0.0 Pa"),
        ({"density": -1.0}, "density is -1.0"),
        ({"length": 0.0}, "length is 0.0 m"),
        ({"theory": "timoschenko"}, "theory is 'timoschenko'; expected one of 'timoshenko', 'euler-bernoulli'"),
        ({"form": "precise"}, "form is 'precise'; expected one of 'elements', 'exact'"),
        ({"heigth": 0.01}, "no parameter 'heigth'.*did you mean 'height'"),
        ({"curvature_y": "bent"}, "curvature_y is 'bent'"),
        (
            {"stations": {"hook": 0.0}},
            "station 'hook' is at 0.0 m; expected more than 0 and less than its length of 1 m",
        ),
        ({"stations": {"hook": 1.0}}, "station 'hook' is at 1.0 m"),
        ({"stations": {"hook": -0.2}}, "station 'hook' is at -0.2 m"),
        ({"stations": {"hook": np.nan}}, "station 'hook' is at nan m"),
        ({"stations": {"n1": 0.5}}, "station name is 'n1'"),
        ({"stations": {"0": 0.5}}, "station name is '0'"),
        ({"stations": {"a.b": 0.5}}, "station name is 'a.b'"),
        ({"stations": {"": 0.5}}, "station name is ''"),
        ({"stations": {"a": 0.5, "b": 0.5}}, "two stations are at the same place"),
        ({"stations": [0.5]}, "stations is"),
    ],
)
def test_parameters_of_beams(parameters, words):
    with pytest.raises(mse.ModelError, match=words):
        mse.Beam("it", **(STRIP | parameters))


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (
            lambda s: 0.05 - 0.1 * s,
            r"beam.*width is -?\S+ m at s = 0\.\d+ m; expected a finite number greater than 0 everywhere",
        ),
        (lambda s: np.nan, "width is nan m at s ="),
        (lambda s: "0.05", "width is '0.05' m at s ="),
        (lambda s: None, "width is None m at s ="),
        (lambda s: np.ones(3), r"width is array\(\[1., 1., 1.\]\) m at s ="),
    ],
)
def test_functions_along_a_beam_are_checked_where_they_are_used(width, words):
    with pytest.raises(mse.ModelError, match=words):
        solved(mse.Beam("beam", **(STRIP | {"width": width})))


def test_a_station_left_behind_by_a_shorter_beam_is_refused():
    beam = mse.Beam("beam", **STRIP, stations={"hook": 0.8})
    beam.length = 0.5
    with pytest.raises(mse.ModelError, match=r"station 'hook' is at 0.8 m; .* less than its length of 0.5 m"):
        solved(beam)


def test_too_few_elements_for_the_rest_shape():
    with pytest.raises(
        mse.ModelError, match=r"element 1 of 2 rotates by 3.14 rad; expected at most 1.5 rad .* more elements"
    ):
        solved(mse.Beam("beam", **STRIP, curvature_z=2 * np.pi, elements=2))


@pytest.mark.parametrize(
    ("parameters", "name"),
    [({"width": (0.02, 0.01)}, "width"), ({"curvature_y": 0.1}, "curvature_y"), ({"twist": 1.0}, "twist")],
)
def test_the_exact_form_is_for_uniform_straight_beams(parameters, name):
    with pytest.raises(mse.ModelError, match=f"form is 'exact' but {name} is .* choose form='elements'"):
        solved(mse.Beam("beam", form="exact", **(STRIP | parameters)))


def test_an_exact_beam_pressed_beyond_buckling():
    s = mse.MSystem("press", gravity=(0, 0, 0))
    beam = s.add(mse.RoundBeam("beam", length=1.0, radius=1e-3, form="exact"))
    s.clamp(s.ground, beam.frame(0))
    s.clamp(s.ground, beam.frame(1), Pose.dx(0.99))
    with pytest.raises(mse.ModelError, match="0.99 m apart, so it is compressed beyond its buckling load"):
        s.find_working_point()


def test_a_beam_that_nothing_holds_falls():
    s = mse.MSystem("loose", gravity=(0, 0, -9.81))
    beam = s.add(mse.Beam("beam", **STRIP))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=1.0))
    s.clamp(beam.frame(1), body.frame(0))
    with pytest.raises(mse.ModelError, match=r"no ground: .*beam.* would fall"):
        s.find_working_point()


def test_instabilities_under_follower_loads_and_torques_are_not_sought():
    for load in ({"force": (0, 1.0, 0), "axes": "frame"}, {"torque": (0, 0, 1.0)}):
        wp = cantilever(slender(4, ea=1e4), **load).find_working_point()
        assert wp.converged and wp.stable
        with pytest.raises(mse.ModelError, match="Load 'load': it exerts forces without an energy"):
            cantilever(slender(4, ea=1e4), **load).find_instability()


@pytest.mark.parametrize("load", [np.nan, "one", None])
def test_load_factors_are_numbers(load):
    with pytest.raises(mse.ModelError, match="load_factor is .*; expected a finite number"):
        cantilever(slender(4)).find_working_point(load_factor=load)


@pytest.mark.parametrize("up_to", [-1.0, 0.0, np.nan, "far"])
def test_instabilities_are_sought_up_to_a_positive_factor(up_to):
    with pytest.raises(mse.ModelError, match="max_load_factor is .*; expected a finite number greater than 0"):
        cantilever(slender(4)).find_instability(max_load_factor=up_to)


def test_a_start_from_another_system_is_refused():
    start = cantilever(slender(5)).find_working_point()
    with pytest.raises(mse.ModelError, match="start is a working point of 'cantilever' with other objects or clamps"):
        cantilever(slender(4)).find_working_point(start=start)


def test_internal_forces_of_a_beam_elsewhere():
    wp = cantilever(slender(4)).find_working_point()
    with pytest.raises(mse.UnknownNameError, match="Beam 'other': the working point of 'cantilever' has no such beam"):
        mse.Beam("other", **STRIP).internal_forces(wp)


def test_exact_members_have_no_state_space_and_say_so():
    linear = cantilever(mse.RoundBeam("fiber", length=1.0, radius=1e-3, form="exact")).find_working_point().linearize()
    for analysis in (
        linear.state_space,
        lambda: linear.simulate(duration=1.0, dt=0.1),
    ):
        with pytest.raises(mse.ModelError, match="fiber"):
            analysis()


def test_a_beam_with_a_function_cannot_be_saved_and_nothing_is_written(tmp_path):
    s = cantilever(mse.Beam("beam", **(STRIP | {"width": lambda s: 0.05})))
    with pytest.raises(mse.ModelError, match="Beam 'beam': width is a function, which a file cannot store"):
        s.save(tmp_path / "it.json")
    assert not list(tmp_path.iterdir())


def test_beams_are_saved_and_read_without_loss(tmp_path):
    beam = mse.Beam(
        "beam",
        length=1.0,
        width=(0.05, 0.02),
        height=0.002,
        curvature_y=0.1,
        stations={"hook": 0.4},
        theory="euler-bernoulli",
        elements=5,
    )
    s = cantilever(beam, gravity=(0, 0, -9.81), force=(0, 0, -2.0))
    s.save(tmp_path / "system.json")
    read = mse.read_model(tmp_path / "system.json")
    assert dict(read["beam"].parameters) == dict(beam.parameters)
    assert read["beam"].stations == {"hook": 0.4}
    wp = s.find_working_point(load_factor=0.7)
    np.testing.assert_array_equal(read.find_working_point(load_factor=0.7).state.o, wp.state.o)
    wp.save(tmp_path / "point.json")
    point = mse.read_model(tmp_path / "point.json")
    np.testing.assert_array_equal(point.poses["beam.hook"].o, wp.poses["beam.hook"].o)
    assert point.load_factor == 0.7
    np.testing.assert_allclose(point.residual, wp.residual, atol=1e-9)


@pytest.mark.parametrize("form", ["elements", "exact"])
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"length": 1e20}, "its elements resist one motion .* times as much as another.*correct its length"),
        ({"length": 1e-20}, "its elements resist one motion"),
        ({"area": 1e-50}, "its elements resist one motion"),
        ({"area": 1e-200}, r"area is 1e-200 m2; .*its size has to be above 1e-60 and at most 1e\+60"),
        ({"area": 1e200}, r"area is 1e\+200 m2; .*its size has to be above 1e-60 and at most 1e\+60"),
        ({"area": 1e60}, "its elements resist one motion"),
        ({"second_moment_y": 1e-50}, "its elements resist one motion"),
        ({"second_moment_z": 1e-300}, "second_moment_z is 1e-300 m4"),
        ({"torsion_constant": 1e-50}, "its elements resist one motion"),
        ({"torsion_constant": 1e-300}, "torsion_constant is 1e-300 m4"),
    ],
)
def test_what_no_numbers_hold(form, parameters, words):
    section = {"length": 1.0, "area": 1e-4, "second_moment_y": 1e-9, "second_moment_z": 1e-9, "torsion_constant": 1e-9}
    with pytest.raises(mse.ModelError, match=words):
        cantilever(mse.SectionBeam("it", form=form, **(section | parameters))).find_working_point()


@pytest.mark.parametrize("parameters", [{"width": 1e60}, {"height": 1e-50}, {"width": 1e-50, "height": 1e50}])
def test_sections_that_no_numbers_hold(parameters):
    with pytest.raises(mse.ModelError, match="its elements resist one motion"):
        cantilever(mse.Beam("it", **(STRIP | parameters))).find_working_point()


def loaded_strip(**parameters):
    """Its lowest frequencies with 1 kg at its end."""
    s = cantilever(mse.Beam("it", **(STRIP | parameters)))
    s.clamp(s["it"].frame(1), s.add(mse.RigidBody("end", mass=1.0, inertia=0.1)).frame(0))
    return s.find_working_point().linearize().modes(2).frequencies_hz


@pytest.mark.parametrize("density", [1e-8, 1e-10, 1e-16, 1e-25])
def test_hardly_any_mass_is_none(density):
    """Rounding of the frequencies of its nodes, 1e17 times as fast as what it carries, is not left in that."""
    np.testing.assert_allclose(loaded_strip(density=density), loaded_strip(density=0.0), rtol=1e-7)
    exact = {"form": "exact"}
    np.testing.assert_allclose(loaded_strip(density=density, **exact), loaded_strip(density=0.0, **exact), rtol=1e-9)


@pytest.mark.parametrize("density", [1e-300, 1e-40])
def test_a_mass_that_no_numbers_hold_beside_what_the_beam_carries(density):
    with pytest.raises(
        mse.ModelError, match="^it: one of its nodes has a mass of .* kg, compared with 1 kg of end; expected 0"
    ):
        loaded_strip(density=density)


@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
def test_soft_torsion_of_an_exact_member_is_a_rod(theory):
    """``f = n sqrt(GJ/(rho I_p))/2L`` with both ends held, far below all bending."""
    section = {"area": 1e-4, "second_moment_y": 1e-9, "second_moment_z": 1e-9, "torsion_constant": 1e-20}
    beam = mse.SectionBeam("it", length=1.0, form="exact", theory=theory, **section)
    s = cantilever(beam)
    s.clamp(beam.frame(1), s.ground, Pose.dx(-1.0))
    found = s.find_working_point().linearize().modes(3).frequencies_hz
    shear = beam.young_modulus / (2.0 * (1.0 + beam.poisson_ratio))
    speed = np.sqrt(shear * 1e-20 / (beam.density * 2e-9))
    np.testing.assert_allclose(found, 0.5 * speed * np.arange(1, 4), rtol=1e-9)


@pytest.mark.parametrize("form", ["elements", "exact"])
@pytest.mark.parametrize("sizes", [{"width": 1e6}, {"height": 1e8}, {"length": 1e-8}])
def test_sections_far_larger_than_their_length(form, sizes):
    """Where nothing is left of bending beside shear: they took minutes, or moved freely without a word."""
    given = {"length": 0.5, "width": 0.01, "height": 0.005, "form": form, **sizes}
    with pytest.raises(
        mse.ModelError, match=r"bending .* times as much as shear; expected at most 6\.71e\+07.*euler-bernoulli"
    ):
        cantilever(mse.Beam("beam", **given)).find_working_point()


@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
def test_poisson_ratios_whose_shear_drowns_bending(theory):
    """With -0.9999999999999999 the search ended in a division by zero, with 1e-12 more in a frequency 20 % off."""
    with pytest.raises(
        mse.ModelError, match=r"poisson_ratio is -0\.9999999999999999; expected .* at least -0\.999999 "
    ):
        mse.Beam("beam", length=0.5, width=0.01, height=0.005, poisson_ratio=-0.9999999999999999, theory=theory)


def test_the_stiffest_shear_admitted():
    """Twist and shear do not move any more: the frequencies of bending are those with -0.999, to that."""
    found = []
    for ratio in (-0.999, -0.999999):
        beam = mse.Beam("beam", length=0.5, width=0.01, height=0.005, density=0.0, elements=4, poisson_ratio=ratio)
        s = cantilever(beam)
        body = s.add(mse.RigidBody("body", mass=0.1, inertia=1e-4))
        s.clamp(beam.frame(1), body.frame(0))
        found.append(s.find_working_point().linearize().modes(2).frequencies_hz)
    np.testing.assert_allclose(*found, rtol=1e-5)
