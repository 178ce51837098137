"""Crossings of outputs, which are listed and may end a run, against closed forms."""

import numpy as np
import pytest

import mse
from mse import ModelError, UnknownNameError
from mse.dynamics import crossings


def oscillator():
    """2 kg on a slide with a spring: ``x = cos(3 t)`` from x = 1."""
    system = mse.MSystem("oscillator", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=2.0, inertia=0.1))
    slide = mse.Prismatic("slide", axis=(1, 0, 0), stiffness=18.0)
    system.add(slide, between=(body, system.ground))
    return system


def run(system=None, **given):
    system = oscillator() if system is None else system
    return system.simulate(**({"initial": {"slide.displacement": 1.0}, "rtol": 1e-9} | given))


def test_crossings_are_where_the_closed_form_passes_the_level():
    motion = run(duration=2.0, dt=0.5, crossings={"slide.displacement": 0.5, "slide.displacement'": 0.0})
    found = [(c.output, c.rising) for c in motion.crossings]
    x, v = "slide.displacement", "slide.displacement'"
    assert found == [(x, False), (v, True), (x, True)]
    times = np.array([1.0, 3.0, 5.0]) * np.pi / 9.0
    np.testing.assert_allclose([c.time for c in motion.crossings], times, atol=1e-8)
    assert "slide.displacement falls to 0.5" in str(motion)
    assert motion.crossings[0].level == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("parts", [2, 8])
def test_crossings_do_not_depend_on_how_often_outputs_are_looked_at(monkeypatch, parts):
    monkeypatch.setattr(crossings, "_PARTS", parts)
    test_crossings_are_where_the_closed_form_passes_the_level()


def test_a_run_ends_at_the_level_and_goes_on_from_there_to_the_bit():
    system = oscillator()
    ended = run(system, duration=9.0, dt=0.25, until={"slide.displacement": 0.0})
    assert ended.time[-1] == pytest.approx(np.pi / 6.0, abs=1e-8)
    np.testing.assert_array_equal(ended.time[:-1], [0.0, 0.25, 0.5])
    assert abs(ended["slide.displacement"][-1]) < 1e-15
    given = {"start": ended.final_state, "initial": None}
    # it does not end where it begins
    further = run(system, duration=9.0, dt=0.25, until={"slide.displacement": 0.0}, **given)
    assert further.time[-1] == pytest.approx(np.pi / 2.0, abs=1e-8)
    assert further.crossings[-1].rising
    whole = run(system, duration=0.75, dt=0.25)
    left = 0.75 - ended.time[-1]
    rest = run(system, duration=left, dt=left, **given)
    assert rest["slide.displacement"][-1] == whole["slide.displacement"][-1]


def test_what_is_passed_after_the_end_is_not_listed():
    assert not run(duration=0.5, dt=0.25, crossings={"slide.displacement": 0.0}).crossings


def test_files_have_the_crossings(tmp_path):
    motion = run(duration=1.0, dt=0.5, outputs=["slide.displacement'"], crossings={"slide.displacement": 0.0})
    motion.save(tmp_path / "run.npz")
    assert mse.read_result(tmp_path / "run.npz").crossings == motion.crossings
    assert motion.crossings[0].output == "slide.displacement"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"crossings": {"slide.displacment": 0.0}}, UnknownNameError, "did you mean 'slide.displacement'"),
        ({"until": {"slide.displacement": np.nan}}, ModelError, "level of 'slide.displacement' is nan"),
        ({"until": "slide.displacement"}, ModelError, r"until is 'slide.displacement'; expected levels by output"),
    ],
)
def test_levels_of_what_is_no_output_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        run(duration=1.0, dt=0.5, **given)
