"""Second-order jets: every supported numpy function against differences, refusals, and the rotation vector."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from formulas import EXPRESSIONS, ROW, UNARY
from scipy.spatial.transform import Rotation
from scipy.special import hyp2f1

from mse.errors import ModelError
from mse.kernels import rotations
from mse.numerics import jets
from mse.numerics.jets import Jet


def difference(f, x, h=1e-2):
    """Derivative of f (vector -> array) at x by central differences of order eight, the last axis for x."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    columns = []
    for e in np.eye(len(x)):
        columns.append(sum(w * (f(x + (k + 1) * h * e) - f(x - (k + 1) * h * e)) for k, w in enumerate(weights)) / h)
    return np.stack(columns, axis=-1)


def check(f, x, tolerance=1e-9):
    """Value against plain numpy, gradient against differences of the value, Hessian against those of the gradient."""
    x = np.asarray(x, dtype=float)
    jet = f(Jet.variables(x))
    plain = np.asarray(f(x))
    assert isinstance(jet, Jet)
    assert jet.shape == plain.shape
    assert jet.gradient.shape == (*plain.shape, len(x))
    assert jet.hessian.shape == (*plain.shape, len(x), len(x))
    np.testing.assert_allclose(jet.value, plain, rtol=1e-14, atol=1e-15)
    size = 1.0 + np.abs(jet.gradient).max() + np.abs(jet.hessian).max()
    np.testing.assert_allclose(jet.gradient, difference(f, x), atol=tolerance * size)
    slope = difference(lambda y: f(Jet.variables(y)).gradient, x)
    np.testing.assert_allclose(jet.hessian, slope, atol=tolerance * size)
    np.testing.assert_allclose(jet.hessian, np.swapaxes(jet.hessian, -1, -2), atol=1e-14 * size)


def test_every_function_of_one_variable_is_in_the_list_above():
    assert set(UNARY) == set(jets._UNARY)


@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_functions_of_one_variable(function):
    at = UNARY[function]
    check(lambda x: function(at + 0.1 * x[0] * x[1] + 0.05 * x[:2]), [0.3, -0.4, 0.2])


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions(name):
    check(EXPRESSIONS[name], [0.7, -0.35, 0.52, 1.1])


@pytest.mark.parametrize("change", [operator.iadd, operator.isub, operator.imul, operator.itruediv])
def test_accumulating_in_place(change):
    # ``w += k * x**2`` in a loop is how people write energies of many terms.
    def f(x):
        total = 0.5 * x[0] + 1.0
        for k in range(3):
            total = change(total, (k + 2) * x[k] ** 2)
        return total

    check(f, [0.7, -0.35, 0.52])


def test_the_energy_of_a_dipole_pair():
    # W = (m1.m2 - 3 (m1.n)(m2.n))/r^3, a closed form whose gradient by r is known: J. D. Jackson, Classical
    # Electrodynamics (1999), section 5.7; F = 3/r^4 ((m1.n) m2 + (m2.n) m1 + (m1.m2) n - 5 (m1.n)(m2.n) n).
    m1, m2, d = np.array([0.3, -0.2, 1.0]), np.array([0.5, 0.4, -0.6]), np.array([0.4, 0.9, -0.7])

    def energy(x):
        r = np.sqrt(x @ x)
        return (m1 @ m2 - 3 * (m1 @ x) * (m2 @ x) / r**2) / r**3

    r = np.linalg.norm(d)
    n = d / r
    force = 3 / r**4 * ((m1 @ n) * m2 + (m2 @ n) * m1 + (m1 @ m2) * n - 5 * (m1 @ n) * (m2 @ n) * n)
    np.testing.assert_allclose(energy(Jet.variables(d)).gradient, -force, rtol=1e-12)


@pytest.mark.parametrize("power, slope, curvature", [(0, 0, 0), (1, 1, 0), (2, 0, 2), (3, 0, 0)])
def test_powers_at_zero_have_finite_derivatives(power, slope, curvature):
    with np.errstate(all="raise"):
        jet = Jet.variables(np.zeros(1)) ** power
    assert jet.value[0] == (power == 0)
    assert jet.gradient[0, 0] == slope
    assert jet.hessian[0, 0, 0] == curvature


def test_comparisons_look_at_the_values():
    x = Jet.variables(np.array([1.0, 2.0, 3.0]))
    assert (x > 1.5).tolist() == [False, True, True]
    assert (x <= x[1]).tolist() == [True, True, False]
    assert np.isfinite(x).all() and not np.isnan(x).any()
    assert np.sign(-x).tolist() == [-1, -1, -1]
    assert bool(x[0] > 0) and len(x) == 3


UNSUPPORTED = {
    "maximum": lambda x: np.maximum(x, 0.0),
    "remainder": lambda x: x % 2.0,
    "floor": lambda x: np.floor(x),
    "clip": lambda x: np.clip(x, 0.0, 1.0),
    "einsum": lambda x: np.einsum("i,i", x, x),
    "prod": lambda x: np.prod(x),
    "det": lambda x: np.linalg.det(np.outer(x, x)),
    "norm(ord=1)": lambda x: np.linalg.norm(x, 1),
    "norm": lambda x: np.linalg.norm(x, keepdims=True),
    "sum": lambda x: np.sum(x, keepdims=True),
    "transpose": lambda x: np.transpose(np.outer(x, x), (1, 0)),
    "cross": lambda x: np.cross(np.outer(x, x), ROW, axis=0),
    "add": lambda x: np.add.reduce(x),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported_functions_are_refused_by_name(name):
    with pytest.raises(ModelError) as caught:
        UNSUPPORTED[name](Jet.variables(np.array([0.5, 1.5, 2.5])))
    message = str(caught.value)
    assert f"{name}" in message
    assert "write it with elementary functions" in message
    assert "differentiation = 'differences'" in message


@pytest.mark.parametrize("function", [float, math.sqrt, math.sin, lambda x: math.atan2(x, 1.0)])
def test_float_and_math_functions_are_refused(function):
    with pytest.raises(ModelError) as caught:
        function(Jet.variables(np.array([0.5]))[0])
    assert "float()" in str(caught.value) and "use numpy functions" in str(caught.value)


# -- rotation vector ----------------------------------------------------------------------------------------------
def turned(w0):
    """exp([a]x) R0 as a jet in a, from the generators: I + [a]x + [a]x^2/2 to second order."""
    r0 = Rotation.from_rotvec(w0).as_matrix()
    generators = np.array([rotations.cross_matrix(e) for e in np.eye(3)])
    gradient = np.einsum("kij,jl->ilk", generators, r0)
    pairs = np.einsum("kij,mjl->kmil", generators, generators)
    hessian = 0.5 * np.einsum("kmij,jl->ilkm", pairs + pairs.swapaxes(0, 1), r0)
    return Jet(r0, gradient, hessian)


# The series in 1 - cos takes over below arccos(0.98) = 0.2003 rad.
SWITCH = np.arccos(0.98)
SIZES = [0.0, 1e-12, 1e-8, 1e-3, 0.1, SWITCH - 1e-6, SWITCH - 1e-10, SWITCH + 1e-10, SWITCH + 1e-6, 0.5, 1.5, 2.8]


@pytest.mark.parametrize("size", SIZES)
def test_rotation_vector_value_and_derivatives(size):
    rng = np.random.default_rng(1)
    for n in [np.array([1.0, 0, 0]), *rng.normal(size=(4, 3))]:
        w = size * n / np.linalg.norm(n)
        jet = jets.rotation_vector(turned(w))
        np.testing.assert_allclose(jet.value, w, rtol=0, atol=4e-15 * size)
        np.testing.assert_allclose(jets.rotation_vector(turned(w).value), w, rtol=0, atol=4e-15 * size)
        left = rotations.inverse_left_jacobian(w)
        np.testing.assert_allclose(jet.gradient, left, atol=2e-14)
        # d(J^-1(w) a)/dw J^-1(w), made symmetric: the second derivative along exp([a]x)
        first = np.array([rotations.inverse_left_jacobian_slope(w, a) @ left for a in np.eye(3)])  # [a, i, b]
        expected = 0.5 * (first.transpose(1, 0, 2) + first.transpose(1, 2, 0))
        np.testing.assert_allclose(jet.hessian, expected, atol=1e-12)


@pytest.mark.parametrize("size", [0.0, 1e-6, SWITCH, 1.0, 2.8])
def test_rotation_vector_against_differences(size):
    w = size * np.array([2, -1, 2]) / 3

    def log(a):
        return (Rotation.from_rotvec(a) * Rotation.from_rotvec(w)).as_rotvec()

    jet = jets.rotation_vector(turned(w))
    np.testing.assert_allclose(jet.gradient, difference(log, np.zeros(3)), atol=1e-11)

    def slope(a):
        return difference(lambda b: log(a + b), np.zeros(3), h=2e-2)

    np.testing.assert_allclose(jet.hessian, difference(slope, np.zeros(3), h=2e-2), atol=1e-8)


def test_angle_over_sine_is_smooth_across_its_switch():
    # arccos(c)/sqrt(1 - c^2) = 2F1(1, 1; 3/2; (1 - c)/2), whose k-th derivative by its argument is 2F1(1+k, 1+k; 3/2+k)
    # times (1)_k^2/(3/2)_k (Abramowitz and Stegun 15.1.6, 15.2.2).
    for c in (1.0, 1 - 1e-9, 0.99, 0.98 + 1e-12, 0.98 - 1e-12, 0.9, 0.3, -0.5):
        z = (1 - c) / 2
        f, df, ddf = jets._angle_over_sine(np.array(c))
        expected = [
            hyp2f1(1, 1, 1.5, z),
            -0.5 * hyp2f1(2, 2, 2.5, z) / 1.5,
            0.25 * hyp2f1(3, 3, 3.5, z) * 4 / (1.5 * 2.5),
        ]
        np.testing.assert_allclose([f, df, ddf], expected, rtol=5e-12)


def test_numbers_with_derivatives_in_a_plain_array_keep_them():
    def law(x):
        return np.array([[0.0, x[0] * x[1]], [np.sin(x[2]), 1.0]]) * np.stack([x[:2], x[1:]])

    check(law, np.array([0.3, -0.7, 1.2]))
    check(lambda x: np.array([0.0, 0.0, x[0] * x[1]]) - x, np.array([0.3, -0.7, 1.2]))
