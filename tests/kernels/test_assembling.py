"""Sizes of the terms of elements' stiffness at their bodies."""

from __future__ import annotations

import numpy as np
import pytest

from mse.kernels.assembling import add_terms

K, FORCE, FAR, LEAST = 1e3, 7.0, 50.0, 1e-8


def sizes(arm: float) -> np.ndarray:
    """Terms (6, 6) of a spring along all axes, with a force along x, at an arm along y."""
    stiffness = np.diag([K, K, K, 0.0, 0.0, 0.0])[None, None]
    gradient = np.array([[-FORCE, 0.0, 0.0, 0.0, 0.0, 0.0]])
    levers, origins = np.array([[[0.0, arm, 0.0]]]), np.array([[0.0, 0.0, 0.0], [1.0, 0.0, -FAR]])
    one, sums, terms = np.ones((1, 1), dtype=int), np.zeros((3, 2)), np.zeros(36)
    places = 6 * np.arange(6)[None, :, None]
    add_terms(levers, origins, one, 1.0, LEAST, gradient, stiffness, one, sums, np.array([6]), places, terms)
    np.testing.assert_array_equal(sums, [[0.0, 3.0 * K], [0.0, 3.0 * K * arm**2], [0.0, abs(arm)]])
    return terms.reshape(6, 6)


def test_arms_carry_stiffness_and_forces():
    terms = sizes(-0.5)
    np.testing.assert_allclose(np.diag(terms)[3:], [K * 0.25, 0.0, K * 0.25])
    assert terms[3, 2] == K * 0.5 and terms[3, 4] == pytest.approx(0.5 * FORCE * 0.5)


def test_arms_that_may_be_rounding_of_positions_are_as_long_as_that_allows():
    rounded = LEAST * FAR
    terms = sizes(0.01 * rounded)
    expected = 2.0 * K * rounded**2 + FORCE * FAR * np.array([2.0, 1.0, 1.0])
    np.testing.assert_allclose(np.diag(terms)[3:], expected)


def test_a_frame_at_the_center_of_its_body_has_no_arm():
    assert not sizes(0.0)[3:].any()
