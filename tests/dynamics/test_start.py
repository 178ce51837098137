"""Consistent beginnings of motions: given coordinates and rates hold exactly, others change as little as joints let them."""

import numpy as np
import pytest
import textbook as book

from mse.dynamics import start


def first(system, **given):
    return system.simulate(duration=1e-3, dt=1e-3, rtol=1e-4, **given)


def test_coordinates_not_named_keep_their_values_in_a_chain():
    found = first(book.double_pendulum(), initial={"one.angle": 2.5})
    assert found["one.angle"][0] == pytest.approx(2.5, abs=1e-14)
    assert found["two.angle"][0] == pytest.approx(0.0, abs=1e-9)


def test_angles_beyond_a_whole_turn_are_reached():
    found = first(book.double_pendulum(), initial={"one.angle": 8.0, "two.angle": -7.0})
    np.testing.assert_allclose([found["one.angle"][0], found["two.angle"][0]], [8.0, -7.0], atol=1e-13)


def test_loops_follow_the_coordinates_that_are_given():
    found = first(book.four_bars(2), initial={"low1.angle": 0.7})
    for name in ("low0.angle", "low2.angle"):
        assert found[name][0] == pytest.approx(0.7, abs=1e-12)
    assert found.largest_residual < 1e-14


def test_rates_that_are_not_named_have_the_least_kinetic_energy():
    found = first(book.double_pendulum(), initial={"one.angle'": 1.0})
    # the lower point stays where it is, as the rods are in line
    assert found.velocities("lower.center")[0, 0] == pytest.approx(0.0, abs=1e-13)
    assert found["two.angle'"][0] == pytest.approx(-1.0 - 1.0 / 0.7, abs=1e-12)


def test_a_working_point_is_a_start_at_rest():
    system = book.trolley()
    found = first(system, start=system.find_working_point())
    assert np.abs(found.velocities("cart.center")).max() < 1e-12


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_how_far_coordinates_are_brought_at_once_decides_nothing(monkeypatch, factor):
    monkeypatch.setattr(start, "_AT_ONCE", factor * start._AT_ONCE)
    test_angles_beyond_a_whole_turn_are_reached()
    test_loops_follow_the_coordinates_that_are_given()


@pytest.mark.parametrize("factor", [1e-2, 1e2])
@pytest.mark.parametrize("name", ["_UNIQUE", "_CLOSE"])
def test_weights_and_tolerances_have_a_margin(monkeypatch, name, factor):
    monkeypatch.setattr(start, name, factor * getattr(start, name))
    test_coordinates_not_named_keep_their_values_in_a_chain()
    test_loops_follow_the_coordinates_that_are_given()
    test_rates_that_are_not_named_have_the_least_kinetic_energy()
