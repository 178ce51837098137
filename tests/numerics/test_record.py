"""Records: derivatives to many digits, along directions and by parameters; their length; what rounding may do."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from fine_differences import alike, along, directions
from recordings import derivatives, recorded

from mse.kernels import machine
from mse.numerics.record import Expansion, Record, Unrecordable
from mse.numerics.recorder import Recorded

MP = {"sin": mp.sin, "cos": mp.cos, "tanh": mp.tanh, "exp": lambda x: mp.exp(-x * x), "root": lambda x: mp.sqrt(2 + x * x),
      "log": lambda x: mp.log(3 + x * x), "angle": lambda x: mp.atan2(x, 2 + x * x), "power": lambda x: (1 + x * x) ** 1.75,
      "asin": lambda x: mp.asin(mp.tanh(x) / 2), "quotient": lambda x: x / (2 + mp.cos(x))}  # fmt: skip
NP = {"sin": np.sin, "cos": np.cos, "tanh": np.tanh, "exp": lambda x: np.exp(-x * x), "root": lambda x: np.sqrt(2 + x * x),
      "log": lambda x: np.log(3 + x * x), "angle": lambda x: np.arctan2(x, 2 + x * x), "power": lambda x: (1 + x * x) ** 1.75,
      "asin": lambda x: np.arcsin(np.tanh(x) / 2), "quotient": lambda x: x / (2 + np.cos(x))}  # fmt: skip


def random_formula(seed: int):
    """A formula of three variables for numpy and for mpmath: functions of sums and products of what came before."""
    rng = np.random.default_rng(seed)
    plan = [(str(rng.choice(list(NP))), *rng.integers(0, 3 + k, 2), rng.uniform(-1, 1, 2)) for k in range(6)]

    def formula(x, functions):
        terms = [x[0], x[1], x[2]]
        for name, a, b, (p, q) in plan:
            terms.append(functions[name](float(p) * terms[a] + float(q) * terms[a] * terms[b]))
        return terms[-1] + terms[-2] * terms[-3]

    return formula


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_formulas_against_many_digits(seed):
    """The digits of mpmath are differences of 60 digits, which lose some 20 in second derivatives."""
    formula, at = random_formula(seed), np.random.default_rng(seed + 100).uniform(-1, 1, 3)
    value, gradient, hessian = (found[0] for found in derivatives(lambda x: formula(x, NP), at))
    with mp.workdps(60):
        x = [mp.mpf(float(a)) for a in at]

        def by(*orders):
            return float(mp.diff(lambda *y: formula(y, MP), x, orders)) if any(orders) else float(formula(x, MP))

        unit = np.eye(3, dtype=int)
        assert value == pytest.approx(by(0, 0, 0), rel=1e-13)
        size = 1.0 + np.abs(hessian).max()
        np.testing.assert_allclose(gradient, [by(*map(int, e)) for e in unit], rtol=0, atol=1e-13 * size)
        expected = [[by(*map(int, e + f)) for f in unit] for e in unit]
        np.testing.assert_allclose(hessian, expected, rtol=0, atol=1e-13 * size)


@pytest.mark.parametrize("seed", range(20))
def test_random_formulas_against_long_doubles(seed):
    formula, at = random_formula(seed), np.random.default_rng(seed + 100).uniform(-1, 1, 3)
    value, gradient, hessian = (found[0] for found in derivatives(lambda x: formula(x, NP), at))
    scale = 1.0 + np.abs(hessian).max()
    for u in directions(3):
        for found, expected in zip(
            (value, gradient @ u, u @ hessian @ u), along(lambda t, u=u: formula(at + t * u, NP)), strict=True
        ):
            alike(found, expected, 1e-13, scale)


def test_third_derivatives_along_a_direction():
    """Of x^3 y + sin(x y): closed forms."""
    record, (x, y), node = recorded(lambda v: v[0] ** 3 * v[1] + np.sin(v[0] * v[1]), 2)
    expansions = {x: Expansion({0: record.one}), y: Expansion({1: record.one})}
    second = record.hessian(int(node), expansions)
    direction = {x: Expansion({0: record.constant(0.3)}), y: Expansion({0: record.constant(-2.0)})}
    third = [record.by_variables(second[i], direction)[0] for i in ((0, 0), (0, 1), (1, 1))]
    a, b = 0.7, 1.3
    found = record.program(third).run(np.array([[a, b]]))[0]
    s, c = np.sin(a * b), np.cos(a * b)
    xxx, xxy = 6 * b - b**3 * c, 6 * a - 2 * b * s - a * b**2 * c
    xyy, yyy = -2 * a * s - a**2 * b * c, -(a**3) * c
    expected = [0.3 * xxx - 2.0 * xxy, 0.3 * xxy - 2.0 * xyy, 0.3 * xyy - 2.0 * yyy]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_third_derivatives_where_something_is_selected():
    """Where the first factor of a masked product crosses zero its slope still counts."""
    record, (x,), node = recorded(lambda v: np.where(v[0] > -1.0, v[0] ** 4, 0.0), 1)
    by_x = {x: Expansion({0: record.one})}
    third = record.by_variables(record.hessian(int(node), by_x)[0, 0], by_x)[0]
    fourth = record.by_variables(third, by_x)[0]
    found = record.program([third, fourth]).run(np.array([[0.0], [0.5]]))
    np.testing.assert_allclose(found, [[0.0, 24.0], [12.0, 24.0]], rtol=1e-14)


def test_derivatives_by_parameters():
    """Of k (sqrt(1 + x^2) - l)^p: the change of its slope with l, k and p."""
    record = Record()
    (x,) = record.inputs(1, 0)
    parameters = record.inputs(3, 1, varies=False)
    u, (k, rest, p) = Recorded(record, x), (Recorded(record, v) for v in parameters)
    total = k * (np.sqrt(1.0 + u * u) - rest) ** p
    slope = record.by_variables(int(total.nodes), {x: Expansion({0: record.one})})[0]
    assert record.varies[slope] and not record.varies[parameters[0]]
    changes = [record.by_variables(slope, {v: Expansion({0: record.one})})[0] for v in parameters]
    found = record.program(changes).run(np.array([[2.0, 3.0, 1.2, 2.5]]))[0]
    r = np.sqrt(5.0)
    d, n = r - 1.2, 2.0 / r
    expected = [2.5 * d**1.5 * n, -3.0 * 2.5 * 1.5 * d**0.5 * n, 3.0 * d**1.5 * n * (1.0 + 2.5 * np.log(d))]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("power, slope, curvature", [(0, 0, 0), (1, 1, 0), (2, 0, 2), (3, 0, 0)])
@pytest.mark.parametrize("by_parameter", [False, True])
def test_powers_at_zero_have_finite_derivatives(power, slope, curvature, by_parameter):
    record = Record()
    (x,), (p,) = record.inputs(1, 0), record.inputs(1, 1, varies=False)
    out = Recorded(record, x) ** (Recorded(record, p) if by_parameter else power)
    expansions = {x: Expansion({0: record.one})}
    nodes = [int(out.nodes), record.by_variables(int(out.nodes), expansions).get(0, record.zero),
             record.hessian(int(out.nodes), expansions).get((0, 0), record.zero)]  # fmt: skip
    found = record.program(nodes).run(np.array([[0.0, power]]))[0]
    assert found.tolist() == [power == 0, slope, curvature]


@pytest.mark.parametrize("c", [1.0, 1 - 1e-9, 0.99, 0.9, 0.75 + 1e-12, 0.75 - 1e-12, 0.3, -0.5, -0.99])
def test_angle_over_sine_and_its_derivatives(c):
    """arccos(c)/sqrt(1 - c^2) = 2F1(1, 1; 3/2; (1 - c)/2), to four derivatives, across the switch to its series."""
    record = Record()
    (x,) = record.inputs(1, 0)
    nodes = [record.function(machine.ANGLE, x, record.zero)]
    for _ in range(4):
        nodes.append(record.by_variables(nodes[-1], {x: Expansion({0: record.one})})[0])
    found = record.program(nodes).run(np.array([[c]]))[0]
    z = (1 - c) / 2
    expected = [
        (-0.5) ** k * float(mp.rf(1, k) ** 2 / mp.rf(mp.mpf("1.5"), k) * mp.hyp2f1(1 + k, 1 + k, mp.mpf("1.5") + k, z))
        for k in range(5)
    ]
    # at each order the recurrence divides a difference by 1 - c^2
    np.testing.assert_allclose(found, expected, rtol=1e-13 if c > -0.9 else 1e-11)


def test_an_expansion_is_the_input_to_second_order():
    """x = a + 2 b + a b - b^2 at zero, in x^2 at x0."""
    record = Record()
    (x,) = record.inputs(1, 0)
    one = record.one
    curvatures = {(0, 1): one, (1, 1): record.constant(-2.0)}
    expansions = {x: Expansion({0: one, 1: record.two}, curvatures)}
    square = record.multiply(x, x)
    found = record.hessian(square, expansions)
    nodes = [*record.by_variables(square, expansions).values(), found[0, 0], found[0, 1], found[1, 1]]
    value = record.program(nodes).run(np.array([[3.0]]))[0]
    assert value.tolist() == [6.0, 12.0, 2.0, 4.0 + 6.0, 8.0 - 12.0]


def steps(count: int) -> int:
    """Steps of the energy, gradient and Hessian of a chain of so many springs along a line."""

    def energy(x):
        d = x[1:] - x[:-1]
        return np.sum((np.sqrt(1.0 + d * d) - 1.0) ** 2)

    record, inputs, node = recorded(energy, count + 1)
    expansions = {v: Expansion({k: record.one}) for k, v in enumerate(inputs)}
    nodes = [int(node), *record.by_variables(int(node), expansions).values()]
    nodes += record.hessian(int(node), expansions).values()
    return len(record.program(nodes))


def test_the_length_of_a_record_grows_as_its_formula():
    """Second derivatives of what does not act on each other are not there: no square of the number of variables."""
    sizes = np.array([10, 20, 40, 80])
    found = [steps(n) for n in sizes]
    assert np.polyfit(np.log(sizes), np.log(found), 1)[0] < 1.05


def test_equal_operations_are_one():
    record = Record()
    x = Recorded(record, record.inputs(2, 0))
    before = len(record.nodes)
    a, b = np.sin(x[0] * x[1]), np.sin(x[1] * x[0])
    assert a.nodes == b.nodes and len(record.nodes) == before + 2


def test_the_rounding_of_a_formula_is_that_of_its_terms():
    """What is left of a difference of large terms may be off by their rounding, and is; by no more."""
    record, _, node = recorded(lambda x: (x[0] + x[1]) - x[0], 2)
    program = record.program([int(node), record.rounding(int(node))])
    points = np.array([[1e8 * (1 + k / 7), 0.1] for k in range(20)])
    value, rounding = program.run(points).T
    error = np.abs(value - 0.1)
    assert (error > 0).any() and (error < rounding).all() and (rounding < 100 * 1e8 * np.finfo(float).eps).all()


def test_whole_powers_are_products():
    record, _, node = recorded(lambda x: x[0] ** 3 + x[1] ** -2, 2)
    operations = {operation for operation, *_ in record.nodes}
    assert machine.POWER not in operations and record.program([int(node)]).run(np.array([[2.0, 4.0]])) == 8.0625


def test_records_do_not_become_endless(monkeypatch):
    """Sums over fine grids would take long to write down."""
    monkeypatch.setattr("mse.numerics.record.MOST_NODES", 1_000)
    grid = np.linspace(0.0, 1.0, 1_001)
    with pytest.raises(Unrecordable, match="takes more than 1,000 operations"):
        recorded(lambda x: np.sum(np.sin(grid * x[0])), 1)
