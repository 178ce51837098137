"""Undamped modes of objects with a dynamic stiffness: counted, and found by iteration on Re K(w)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import brentq

import mse
from mse.linear.linear_model import DynamicMember

pytestmark = pytest.mark.rounding

M, K = np.diag([2.0, 0.5, 1.0]), np.array([[300.0, -100.0, 0.0], [-100.0, 250.0, -150.0], [0.0, -150.0, 150.0]])


def with_member(law, clamped_count=None, k=K, at=1) -> mse.LinearModel:
    """Three masses in a row on springs, with a law of one coordinate between the second and the ground."""
    model = mse.LinearModel.from_matrices(M, None, k, coordinates=["a.x", "b.x", "c.x"])
    motion = sp.csr_matrix(np.eye(3)[at : at + 1])
    stiffness = lambda omega, loss: law(omega)[:, None, None]
    return replace(model, members=(DynamicMember("link", motion, stiffness, clamped_count),))


def roots(law, k=K, most=60.0) -> np.ndarray:
    """Frequencies (rad/s) at which the determinant of the whole vanishes, by a fine grid and bisection."""

    def determinant(w):
        a = k - w**2 * M
        a[1, 1] += np.real(law(np.array([w]))[0])
        return np.linalg.det(a)

    grid = np.linspace(1e-3, most, 6001)
    signs = np.sign([determinant(w) for w in grid])
    return np.array(
        [brentq(determinant, *grid[i : i + 2], xtol=1e-14) for i in np.flatnonzero(signs[1:] != signs[:-1])]
    )


def relaxing(w):
    return 80.0 * 1j * w * 0.1 / (1.0 + 1j * w * 0.1)


TABLE = np.array([0.0, 5.0, 12.0, 20.0, 40.0]), np.array([0.0, 20.0, 35.0, 90.0, 100.0])


@pytest.mark.parametrize(
    "law",
    [
        relaxing,
        lambda w: np.interp(np.real(w), *TABLE) + 0.3j * w,
        lambda w: 0.4 * w**2,  # less mass than there was
        lambda w: -3.0 * w**2 + 0j,  # more
    ],
)
def test_modes_are_those_of_the_real_part(law):
    found = with_member(law).modes()
    np.testing.assert_allclose(2 * np.pi * found.frequencies_hz, roots(law), rtol=1e-11)
    assert found.complete
    for k, w in enumerate(2 * np.pi * found.frequencies_hz):
        a = K - w**2 * M
        a[1, 1] += np.real(law(np.array([w]))[0])
        assert np.abs(a @ found.shapes[:, k].real).max() < 1e-9 * np.abs(K).max()
    assert any("real part of the dynamic stiffness of link" in note for note in found.notes) == np.any(
        np.imag(law(np.ones(1)))
    )


def test_a_resonator_inside_is_counted_with_its_pole():
    """A mass on a spring inside the link: one more mode, two near its pole."""
    m, k = 0.2, 20.7
    pole = k / m
    law = lambda w: -(w**2) * m * pole / (pole - w**2)
    found = with_member(law, lambda omega2: int(omega2 > pole)).modes(4)
    whole_m, whole_k = np.diag([2.0, 0.5, 1.0, m]), np.pad(K, (0, 1))
    whole_k[1, 1] += k
    whole_k[3, 3], whole_k[1, 3], whole_k[3, 1] = k, -k, -k
    expected = mse.LinearModel.from_matrices(whole_m, None, whole_k).modes().frequencies_hz
    np.testing.assert_allclose(found.frequencies_hz, expected, rtol=1e-11)


def test_motions_that_grow_meet_the_static_stiffness():
    unstable = K - 300.0 * np.outer([0, 1, 0], [0, 1, 0])
    found = with_member(relaxing, k=unstable).modes()
    static = mse.LinearModel.from_matrices(M, None, unstable).modes()
    assert found.eigenvalues.real.max() == pytest.approx(static.eigenvalues.real.max(), rel=1e-11)
    assert static.eigenvalues.real.max() > 1.0
    assert "motions that grow are those with the static stiffness of link" in found.notes[-1]
    np.testing.assert_allclose(
        found.eigenvalues.imag[found.eigenvalues.imag > 0], roots(relaxing, unstable), rtol=1e-11
    )
