"""Functions for laws: of plain numbers and of recorded ones, against other formulas and many digits."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from fine_differences import alike, along, directions, placed
from scipy.spatial.transform import Rotation

from mse.elements.base import FramePose
from mse.kernels import rotations
from mse.numerics import law_functions
from mse.numerics.record import Expansion, Record
from mse.numerics.recorder import Recorded

SIZES = [
    0.0,
    1e-12,
    1e-8,
    1e-3,
    0.1,
    0.5,
    0.7226,
    0.7228,
    1.5,
    2.8,
]  # the series for 1 - cos t < 1/4 ends at 0.7227 rad


def turned(w0: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rotation vector (3,) of exp([a]x) R0 by its record, with its derivatives by a at 0, from the generators of turns."""
    r0 = Rotation.from_rotvec(w0).as_matrix()
    generators = np.array([rotations.cross_matrix(e) for e in np.eye(3)])
    slopes = np.einsum("kij,jl->ilk", generators, r0)
    pairs = np.einsum("kij,mjl->kmil", generators, generators)
    curvatures = 0.5 * np.einsum("kmij,jl->ilkm", pairs + pairs.swapaxes(0, 1), r0)
    record = Record()
    inputs = np.reshape(record.inputs(9, 0), (3, 3))
    expansions = {
        int(inputs[i, j]): Expansion(
            {k: record.constant(slopes[i, j, k]) for k in range(3)},
            {(k, m): record.constant(curvatures[i, j, k, m]) for k in range(3) for m in range(k, 3)},
        )
        for i in range(3)
        for j in range(3)
    }
    outputs = [record.zero] * 39
    for r, node in enumerate(law_functions.rotation_vector(Recorded(record, inputs)).nodes.tolist()):
        outputs[r] = node
        for k, x in record.by_variables(node, expansions).items():
            outputs[3 + 3 * r + k] = x
        for (k, m), x in record.hessian(node, expansions).items():
            outputs[12 + 9 * r + 3 * k + m] = outputs[12 + 9 * r + 3 * m + k] = x
    found = record.program(outputs).run(r0.reshape(1, 9))[0]
    return found[:3], found[3:12].reshape(3, 3), found[12:].reshape(3, 3, 3)


@pytest.mark.parametrize("size", SIZES)
def test_rotation_vector_value_and_derivatives(size):
    rng = np.random.default_rng(1)
    for n in [np.array([1.0, 0, 0]), *rng.normal(size=(4, 3))]:
        w = size * n / np.linalg.norm(n)
        value, gradient, hessian = turned(w)
        np.testing.assert_allclose(value, w, rtol=0, atol=4e-15 * size)
        plain = law_functions.rotation_vector(Rotation.from_rotvec(w).as_matrix())
        np.testing.assert_allclose(plain, w, rtol=0, atol=4e-15 * size)
        left = rotations.inverse_left_jacobian(w)
        np.testing.assert_allclose(gradient, left, atol=2e-14)
        # d(J^-1(w) a)/dw J^-1(w), made symmetric: the second derivative along exp([a]x)
        first = np.array([rotations.inverse_left_jacobian_slope(w, a) @ left for a in np.eye(3)])  # [a, i, b]
        expected = 0.5 * (first.transpose(1, 0, 2) + first.transpose(1, 2, 0))
        np.testing.assert_allclose(hessian, expected, atol=1e-12)


@pytest.mark.parametrize("size", [0.3, 1.0, 2.8])
def test_rotation_vector_against_long_doubles(size):
    w = size * np.array([2, -1, 2]) / 3
    value, gradient, hessian = turned(w)
    start = [FramePose(np.zeros(3), Rotation.from_rotvec(w).as_matrix())]
    for u in directions(3):
        found = along(
            lambda t, u=u: law_functions.rotation_vector(placed(start, (), np.r_[0, 0, 0, t * u])[0][0].U), 2e-3
        )
        for one, other in zip((value, gradient @ u, hessian @ u @ u), found, strict=True):
            alike(one, other, 1e-12, 1.0)


@pytest.mark.parametrize("c", [1.0, 1 - 1e-15, 1 - 1e-9, 0.99, 0.9, 0.3, -0.5, -0.99, -1 + 1e-9])
def test_angle_over_sine_of_plain_numbers(c):
    with mp.workdps(40):
        expected = mp.acos(mp.mpf(c)) / mp.sqrt(1 - mp.mpf(c) ** 2) if c < 1 else mp.mpf(1)
        assert law_functions.angle_over_sine(c) == pytest.approx(float(expected), rel=1e-15)


def test_angle_over_sine_is_finite_where_rounding_leaves_the_range_of_cosines():
    eps = np.finfo(float).eps
    assert law_functions.angle_over_sine(1.0 + eps) == pytest.approx(1.0, rel=1e-15)
    assert 1e7 < law_functions.angle_over_sine(-1.0 - eps) < 1e9


@pytest.mark.parametrize("n", [1, 2, 6])
def test_elimination_solves_positive_definite_systems(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(n, n)), rng.normal(size=n)
    matrix = a @ a.T + 0.1 * np.eye(n)
    expected = np.linalg.solve(matrix, b)
    for rows in (matrix, list(matrix)):
        found = law_functions.solved(rows, b)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
