"""Recorded arrays: every formula against long doubles, what is asked of them, and what no record can hold."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from fine_differences import alike, along, directions
from formulas import EXPRESSIONS, UNARY
from recordings import derivatives, recorded

from mse.numerics import recorder
from mse.numerics.record import Record, Unrecordable
from mse.numerics.recorder import Recorded

POINT = np.array([0.7, -0.35, 0.52, 1.1])


def agrees(formula, x, reference=None):
    """Value, gradient and Hessian of a record to rounding."""
    reference = reference or formula
    value, gradient, hessian = (found[0] for found in derivatives(formula, x))
    for u in directions(len(x)):
        with np.errstate(all="ignore"):
            at, first, second = along(lambda t, u=u: np.asarray(reference(x + t * u)))
        assert value.shape == at.shape
        scale = 1.0 + np.abs(hessian).max(initial=0.0)
        for found, expected in ((value, at), (gradient @ u, first), (hessian @ u @ u, second)):
            alike(found, expected, 1e-13, scale)


def test_every_function_of_one_variable_is_recorded():
    assert set(UNARY) <= set(recorder._UFUNCS)


@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_functions_of_one_variable(function):
    at = UNARY[function]
    agrees(lambda x: function(at + 0.1 * x[0] * x[1] + 0.05 * x[:2]), np.array([0.3, -0.4, 0.2]))


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions(name):
    agrees(EXPRESSIONS[name], POINT)


@pytest.mark.parametrize("change", [operator.iadd, operator.isub, operator.imul, operator.itruediv])
def test_accumulating_in_place(change):
    def formula(x):
        total = 0.5 * x[0] + 1.0
        for k in range(3):
            total = change(total, (k + 2) * x[k] ** 2)
        return total

    agrees(formula, POINT)


def test_what_changes_in_place_leaves_what_it_came_from():
    record, inputs, _ = recorded(lambda x: x, 4)
    x = Recorded(record, inputs)
    for copied in (+x, x[:], x.T, np.transpose(x)):
        copied += 1.0
        assert x.nodes.tolist() == inputs


SELECTIONS = {
    "root": lambda x, s: np.where(s > 0.0, np.sqrt(x), 0.0),
    "logarithm": lambda x, s: np.where(s > 0.0, x * np.log(x), x**2),
    "quotient": lambda x, s: np.where(s == 0.0, 1.0, np.sin(x) / x),
    "product of what is not selected": lambda x, s: np.where(s > 0.0, x**0.5 * np.log(x) * x[3], x[3] ** 2),
    "one inside the other": lambda x, s: np.where(s > 0.0, np.where(s < 1.0, np.sqrt(1.0 - x), 0.0), np.exp(x)),
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_what_is_not_selected_does_not_matter_even_where_it_has_no_value(name):
    """Also where the selection changes: derivatives are those of what is selected."""
    at, formula = np.array([0.7, -0.35, 0.0, 1.1]), SELECTIONS[name]
    agrees(lambda x: formula(x, x), at, lambda x: formula(x, at))


def test_one_record_holds_both_sides_of_a_selection():
    points = np.array([[-1.0], [2.0]])
    value, gradient, hessian = derivatives(lambda x: np.where(x[0] > 0.0, x[0] ** 3, np.cos(x[0])), points)
    np.testing.assert_allclose(value, [np.cos(-1.0), 8.0], rtol=1e-15)
    np.testing.assert_allclose(gradient[:, 0], [np.sin(1.0), 12.0], rtol=1e-15)
    np.testing.assert_allclose(hessian[:, 0, 0], [-np.cos(1.0), 12.0], rtol=1e-15)


def test_conditions_and_bounds():
    points = np.linspace(-2.0, 2.0, 9)[:, None]
    formulas = {
        "and": lambda x: np.where((x[0] > -1.0) & (x[0] <= 1.0), x[0], 0.0),
        "or": lambda x: np.where((x[0] < -1.0) | (x[0] >= 1.0), x[0], 0.0),
        "not": lambda x: np.where(np.logical_not(x[0] != 1.0), 5.0 * x[0], 0.0),
        "times": lambda x: (x[0] > 0.5) * x[0] ** 2,
        "sign": lambda x: np.sign(x[0]) * x[0],
        "lower": lambda x: np.minimum(x[0] ** 3, 1.0),
        "higher": lambda x: np.maximum(0.25, x[0] ** 2),
        "clipped": lambda x: np.clip(x[0] ** 3, -1.0, 2.0),
        "clipped from above": lambda x: np.clip(x[0], None, 0.5),
    }
    for formula in formulas.values():
        np.testing.assert_array_equal(derivatives(formula, points)[0], [formula(x) for x in points])


REFUSED = {
    "branch": (lambda x: x[0] if x[0] > 0.0 else -x[0], "asks whether"),
    "and": (lambda x: x[0] > 0.0 and x[1], "asks whether"),
    "float": (lambda x: float(x[0]), "plain number"),
    "math": (lambda x: math.sin(x[0]), "plain number"),
    "mask": (lambda x: x[x > 0.0], "asks whether"),
    "ufunc": (lambda x: np.floor(x), "uses numpy.floor"),
    "reduction": (lambda x: np.add.reduce(x), "uses numpy.add.reduce"),
    "function": (lambda x: np.linalg.inv(np.outer(x, x)), "uses numpy.inv"),
}  # fmt: skip
ALWAYS = {
    "into a plain array": (lambda x: np.add(x, x, out=np.zeros(4)), "into a plain array"),
    "truth of an array": (lambda x: 1.0 if x > 0.0 else 0.0, "np.any and np.all"),
    "norm(ord=1)": (lambda x: np.linalg.norm(x, 1), r"norm\(ord=1\)"),
    "norm, keepdims": (lambda x: np.linalg.norm(x, keepdims=True), "norm with these arguments"),
    "sum, keepdims": (lambda x: np.sum(x, keepdims=True), "sum with these arguments"),
    "cross, axis": (lambda x: np.cross(np.outer(x[:3], x[:3]), x[:3], axis=0), "cross with these arguments"),
}


@pytest.mark.parametrize("name", REFUSED | ALWAYS)
def test_what_no_record_can_hold(name):
    formula, said = (REFUSED | ALWAYS)[name]
    record = Record()
    with pytest.raises(Unrecordable, match=said):
        formula(Recorded(record, record.inputs(4, 0)))


@pytest.mark.parametrize("name", REFUSED)
def test_parameters_are_plain_numbers_where_a_formula_asks_for_them(name):
    """They are as at the point, and the record serves where they are the same."""
    formula, point = REFUSED[name][0], np.array([0.7, -0.35, 0.52, 1.1])
    if name == "function":
        formula = lambda x: np.linalg.inv(np.outer(x, x) + np.eye(4))
    record = Record(point)
    found, expected = formula(Recorded(record, record.inputs(4, 0, varies=False))), formula(point)
    if isinstance(found, Recorded):
        found = record.program(found.nodes.ravel().tolist())
        found = found.run(point[None])[0].reshape(np.shape(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    guards = record.program(record.guards)
    other = np.array([point, point * [-1, 1, 1, 1]])
    answers = guards.run(other) != 0.0
    assert ((answers == list(record.guards.values())).all(axis=1)).tolist() == [True, False]


def test_plain_arrays_of_recorded_numbers_go_on_being_recorded():
    agrees(lambda x: np.array([[0.0, x[0] * x[1]], [np.sin(x[2]), 1.0]]) * np.stack([x[:2], x[1:3]]), POINT)
    agrees(lambda x: np.array([0.0, 0.0, x[0] * x[1]]) - x[:3], POINT)
    agrees(lambda x: np.array([1.0, x[3]]) @ x[:2], POINT)
    record = Record(POINT)
    parameters = Recorded(record, record.inputs(4, 0, varies=False))
    assert np.array([parameters[0], 1.0]).dtype == object and not record.guards  # it stays a variable
    x = Recorded(record, record.inputs(3, 4))
    assert np.array(x).dtype == object
    for into in (lambda: np.array([x[0], 1.0], dtype=float), lambda: np.zeros(3).__setitem__(0, x[0])):
        with pytest.raises((Unrecordable, ValueError)) as caught:
            into()
        assert isinstance(caught.value, Unrecordable) or isinstance(caught.value.__cause__, Unrecordable)


def test_masks_are_asked_for_each_entry():
    record = Record(POINT)
    found = (lambda x: x[x > 0.6] ** 2)(Recorded(record, record.inputs(4, 0)))
    assert found.shape == (2,) and list(record.guards.values()) == [True, False, False, True]


def test_numbers_that_are_none_are_told_from_others():
    with np.errstate(all="ignore"):
        points = np.array([[1.0], [np.nan], [np.inf], [-np.inf]])
        for function in (np.isfinite, np.isnan):
            value = derivatives(lambda x, f=function: np.where(f(x[0]), 1.0, 0.0), points)[0]
            np.testing.assert_array_equal(value, function(points[:, 0]))


def root(x: float, slope: float) -> tuple[float, float]:
    """T with ``T + slope T^3 = x``, for x and a slope above 0, and the derivative of the left side by T, by Newton's method."""
    t = x
    for _ in range(50):
        t -= (t + slope * t**3 - x) / (1.0 + 3.0 * slope * t * t)
    return t, 1.0 + 3.0 * slope * t * t


def implicit(x):
    """That root of ``x0^2``, the slope being x1, to second order."""
    t, by_t = recorder.outside(root, 2, x[0] ** 2, x[1])
    for _ in range(2):
        t = t - (t + x[1] * t**3 - x[0] ** 2) / by_t
    return t


def test_what_is_found_outside_has_derivatives_by_newtons_method():
    """Closed forms: T' = 1/(1 + 3 s T^2) by the right side, T'' = -6 s T T'^3; dT/ds = -T^3 T', d2T/ds2 by its chain rule."""
    points = np.array([[0.9, 0.7], [1.4, 2.0], [0.3, 0.1]])
    value, gradient, hessian = derivatives(implicit, points)
    for k, (x, s) in enumerate(points):
        t = root(x * x, s)[0]
        r = 1.0 / (1.0 + 3.0 * s * t * t)
        bent = -6.0 * s * t * r**3
        mixed = 2.0 * x * (-3.0 * t * t * r * r + 6.0 * s * t**4 * r**3)
        by_slope = 6.0 * t**5 * r * r - 6.0 * s * t**7 * r**3
        assert value[k] == pytest.approx(t, rel=1e-15) == implicit(points[k])
        np.testing.assert_allclose(gradient[k], [2.0 * x * r, -(t**3) * r], rtol=1e-13)
        expected = [[2.0 * r + 4.0 * x * x * bent, mixed], [mixed, by_slope]]
        np.testing.assert_allclose(hessian[k], expected, rtol=1e-12)


def test_functions_outside_are_called_for_what_depends_on_them_alone():
    calls = []

    def counted(*given):
        calls.append(given)
        return root(*given)

    record, _, nodes = recorded(lambda x: np.stack([x[0] * x[1], *recorder.outside(counted, 2, x[0], x[1])]), 2)
    points = np.array([[0.9, 0.7], [1.4, 2.0]])
    found = [record.program([node]).run(points)[:, 0] for node in nodes.tolist()]
    np.testing.assert_array_equal(found[0], points.prod(axis=1))
    assert found[1].tolist() == [root(*point)[0] for point in points] and calls == 2 * [tuple(p) for p in points]


ASKING = {
    "argmax": lambda x: x[np.argmax(np.abs(x))] ** 2,
    "argmin": lambda x: x[np.argmin(x)] ** 2,
    "any": lambda x: x[0] if np.any(x > 1.0) else x[1],
    "all": lambda x: x[0] if np.all(np.outer(x, x) > -0.5) else x[1],
    "largest": lambda x: max(*x, -1.0),
}


@pytest.mark.parametrize("name", ASKING)
@pytest.mark.parametrize("place", [[0.7, -0.35, 0.52, 1.1], [0.7, -1.35, 0.52, 0.3], [0.5, 0.5, -0.5, 0.5]])
def test_what_is_picked_by_asking_is_as_at_the_place(name, place):
    record = Record(place)
    node = int(ASKING[name](Recorded(record, record.inputs(4, 0))).nodes)
    assert record.program([node]).run(np.array([place])) == ASKING[name](np.array(place))
    assert record.guards


def test_complex_numbers_are_refused():
    for number in (1j, np.array([1j, 0.0, 0.0, 0.0])):
        with pytest.raises(TypeError, match="complex"):
            recorded(lambda x, number=number: number * x, 4)


def test_constants_are_numbers():
    """What cancels, or was multiplied by zero, may be asked for."""
    record = Record()
    x = Recorded(record, record.inputs(2, 0))
    assert float(x[0] - x[0] + 2.0) == 2.0
    assert bool(0.0 * x[0] + 1.0) and not x[1] * 0.0
