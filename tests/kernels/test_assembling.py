"""Sizes of the terms of elements' stiffness at their bodies."""

from __future__ import annotations

import numpy as np
import pytest

from mse.kernels.assembling import size_terms

K, FORCE, FAR, LEAST = 1e3, 7.0, 50.0, 1e-8


def sizes(arm: float) -> np.ndarray:
    """Terms (6, 6) of a spring along all axes, with a force along x, at an arm along y."""
    stiffness = np.diag([K, K, K, 0.0, 0.0, 0.0])[None, None]
    gradient = np.array([[-FORCE, 0.0, 0.0, 0.0, 0.0, 0.0]])
    levers, far = np.array([[[0.0, arm, 0.0]]]), np.array([[FAR]])
    terms, held, arms = size_terms(levers, far, 1.0, LEAST, gradient, stiffness)
    assert held[0, 0] == 3.0 * K and arms[0, 0] == abs(arm)
    return terms[0]


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
