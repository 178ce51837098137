"""Second-order jets: every supported numpy function against differences, refusals, and the rotation vector."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
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


# A point for each function of one variable, away from its singularities by far more than the differences reach.
UNARY = {
    np.negative: 0.7, np.positive: 0.7, np.square: -0.7, np.reciprocal: -1.3, np.exp: 0.4, np.expm1: 0.2, np.log: 1.7,
    np.log1p: 0.6, np.sin: 0.9, np.cos: 0.9, np.tan: 0.5, np.arcsin: 0.3, np.arccos: -0.3, np.arctan: 1.4,
    np.sinh: 0.8, np.cosh: -0.8, np.tanh: 0.6, np.absolute: -0.8, np.sqrt: 1.9,
}  # fmt: skip


def test_every_function_of_one_variable_is_in_the_list_above():
    assert set(UNARY) == set(jets._UNARY)


@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_functions_of_one_variable(function):
    at = UNARY[function]
    check(lambda x: function(at + 0.1 * x[0] * x[1] + 0.05 * x[:2]), [0.3, -0.4, 0.2])


MATRIX = np.array([[1.0, 2.0, -0.5], [0.3, -1.0, 0.8]])
ROW = np.array([0.5, -1.2, 2.0])

EXPRESSIONS = {
    "sum and difference": lambda x: x[:3] + x[1:4] - 2.0 * x[0],
    "number first": lambda x: 3.0 - x[:3],
    "product of vector and scalar": lambda x: x[:3] * x[3],
    "product of constant matrix and vector": lambda x: MATRIX * x[:3],
    "product of matrix and vector": lambda x: (MATRIX * x[3]) * x[:3],
    "column times row": lambda x: x[:2, None] * x[None, 1:4],
    "matrix and column": lambda x: (MATRIX * x[0]) + x[1:3, None],
    "quotient": lambda x: x[:3] / x[3],
    "quotient by a constant": lambda x: x[:3] / ROW,
    "number by vector": lambda x: 2.0 / x[:3],
    "constant matrix by vector": lambda x: MATRIX / x[:3],
    "power, integer": lambda x: x[:3] ** 3,
    "power, fraction": lambda x: (x[:3] ** 2) ** 0.75,
    "power, negative": lambda x: x[:3] ** -2,
    "powers, one for each": lambda x: x[:3] ** np.array([0, 1, 4]),
    "powers, broadcast": lambda x: x[:3] ** np.array([[2], [3]]),
    "power, variable": lambda x: (2.0 + x[0]) ** x[1],
    "power of a number": lambda x: 1.7 ** x[:3],
    "float_power": lambda x: np.float_power(x[:3], 3),
    "arctan2": lambda x: np.arctan2(x[0], x[1]),
    "arctan2, all quadrants": lambda x: np.arctan2(x[:3], -x[1:4]),
    "arctan2, broadcast": lambda x: np.arctan2(x[:3], x[3]),
    "arctan2 of a constant": lambda x: np.arctan2(1.5, x[:3]),
    "arctan2 with a constant": lambda x: np.arctan2(x[:3], ROW),
    "hypot": lambda x: np.hypot(x[:3], x[3]),
    "inner product": lambda x: x[:3] @ x[1:4],
    "inner product with a constant": lambda x: ROW @ x[:3],
    "matrix times vector": lambda x: MATRIX @ x[:3],
    "vector times matrix": lambda x: x[:2] @ MATRIX,
    "vector times matrix, both variable": lambda x: x[:2] @ (MATRIX * x[3]),
    "matrix times matrix": lambda x: (MATRIX * x[:3]) @ (MATRIX * x[3]).T,
    "matrix times constant matrix": lambda x: (MATRIX * x[:3]) @ MATRIX.T,
    "constant matrix times matrix": lambda x: MATRIX.T @ (MATRIX * x[:3]),
    "stack of matrices times vector": lambda x: np.stack([MATRIX, 2 * MATRIX]) @ x[:3],
    "dot, method": lambda x: x[:3].dot(x[1:4]),
    "dot": lambda x: np.dot(MATRIX, x[:3]),
    "dot with a number": lambda x: np.dot(x[:3], 2.0),
    "dot of numbers": lambda x: np.dot(3.0, x[0]),
    "inner": lambda x: np.inner(x[:3], ROW),
    "inner of matrices": lambda x: np.inner(MATRIX * x[:3], MATRIX),
    "vdot": lambda x: np.vdot(x[:3], ROW),
    "vdot of matrices": lambda x: np.vdot(MATRIX * x[:3], MATRIX),
    "outer": lambda x: np.outer(x[:3], x[1:4]),
    "outer with a constant": lambda x: np.outer(ROW, x[:2]),
    "cross": lambda x: np.cross(x[:3], x[1:4]),
    "cross with a constant": lambda x: np.cross(ROW, x[:3]),
    "cross of many": lambda x: np.cross(MATRIX * x[:3], x[1:4]),
    "norm": lambda x: np.linalg.norm(x[:3]),
    "norm of a matrix": lambda x: np.linalg.norm(MATRIX * x[:3]),
    "norms of rows": lambda x: np.linalg.norm(MATRIX * x[:3], axis=1),
    "norm, order two": lambda x: np.linalg.norm(x, 2),
    "norm, Frobenius": lambda x: np.linalg.norm(MATRIX * x[:3], "fro"),
    "sum": lambda x: np.sum(MATRIX * x[:3]),
    "sum over an axis": lambda x: np.sum(MATRIX * x[:3], axis=0),
    "sum over the last axis": lambda x: (MATRIX * x[:3]).sum(-1),
    "sum over both axes": lambda x: np.sum(MATRIX * x[:3], axis=(0, 1)),
    "built-in sum": lambda x: sum(x),
    "trace": lambda x: np.trace(np.outer(x[:3], x[1:4])),
    "trace of four": lambda x: np.trace(np.outer(x, x)),
    "trace of two": lambda x: np.trace(np.outer(x[:2], x[:2])),
    "transpose": lambda x: np.transpose(MATRIX * x[:3]),
    "transpose, attribute": lambda x: (MATRIX * x[:3]).T,
    "stack": lambda x: np.stack([x[0], x[1] * x[2], np.sin(x[3])]),
    "stack of vectors": lambda x: np.stack([x[:3], ROW, x[1:4]], axis=1),
    "stack along the last axis": lambda x: np.stack([x[:3], x[1:4]], axis=-1),
    "concatenate": lambda x: np.concatenate([ROW, x[:3] ** 2]),
    "concatenate matrices": lambda x: np.concatenate([MATRIX, MATRIX * x[:3]], axis=0),
    "concatenate columns": lambda x: np.concatenate([MATRIX * x[0], MATRIX * x[:3]], axis=-1),
    "hstack": lambda x: np.hstack([x[:2], ROW, x[2:] ** 2]),
    "where": lambda x: np.where(x > 0.4, x**2, np.sin(x)),
    "where with a constant": lambda x: np.where(x > 0.4, x**3, 0.0),
    "where, one condition": lambda x: np.where(x[0] > 0.0, x[:3] ** 2, x[1:4]),
    "where, scalars picked by a mask": lambda x: np.where(np.array([True, False, True]), x[0] ** 2, x[1]),
    "where, broadcast": lambda x: np.where(MATRIX > 0, x[:3], x[3] ** 2),
    "index": lambda x: x[2] * x[-1],
    "slice": lambda x: x[::2] ** 2,
    "mask": lambda x: x[np.array([True, False, True, False])] ** 2,
    "array of indices": lambda x: x[np.array([2, 0, 0])] ** 2,
    "list of indices": lambda x: x[[2, 0]] ** 2,
    "index of a matrix": lambda x: (MATRIX * x[:3])[1, 2] ** 2,
    "last index": lambda x: (MATRIX * x[:3])[..., 0] ** 2,
    "abs": lambda x: abs(x - 0.6),
    "unary minus and plus": lambda x: -((+x) ** 2),
    "loop": lambda x: sum(y**2 for y in x),
    "composition": lambda x: np.exp(-np.linalg.norm(np.cross(x[:3], ROW)) / (1.0 + x[3] ** 2)),
}


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
