"""First and second derivatives of the operations of a record by their operands, as nodes of the record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..kernels import machine as m
from .program import MASK

if TYPE_CHECKING:
    from .record import Record

Slopes = list[tuple[int, int]]  # operand, first derivative by it
Curvatures = list[tuple[int, int, int]]  # two operands and the second derivative by them; each pair once


def _multiply(r: Record, v, a, b, _):
    if a == b:
        return [(a, r.multiply(r.two, a))], [(a, a, r.two)]
    return [(a, b), (b, a)], [(a, b, r.one)]


def _divide(r: Record, v, a, b, _):
    by = r.divide(r.one, b)
    slope = r.multiply(v, by)
    curvature = r.multiply(r.two, r.multiply(slope, by))
    return [(a, by), (b, r.negate(slope))], [(a, b, r.negate(r.multiply(by, by))), (b, b, curvature)]


def _select(r: Record, v, condition, a, b):
    return [(a, r.select(condition, r.one, r.zero)), (b, r.select(condition, r.zero, r.one))], []


def _power(r: Record, v, a, p, _):
    """0 times an infinite power is 0 at a = 0."""

    def falling(q, x):  # q x**(q - 1)
        return r.select(r.function(m.EQUAL, q, r.zero), r.zero, r.multiply(q, r.power(x, r.subtract(q, r.one))))

    less = r.subtract(p, r.one)
    slope = falling(p, a)
    curvature = r.select(r.function(m.EQUAL, p, r.zero), r.zero, r.multiply(p, falling(less, a)))
    log = r.function(m.LOG, a)
    by_power = r.multiply(v, log)
    mixed = r.add(r.power(a, less), r.multiply(slope, log))
    return [(a, slope), (p, by_power)], [(a, a, curvature), (a, p, mixed), (p, p, r.multiply(by_power, log))]


def _arctan2(r: Record, v, y, x, _):
    square = r.add(r.multiply(x, x), r.multiply(y, y))
    fy, fx = r.divide(x, square), r.negate(r.divide(y, square))
    yy = r.multiply(r.two, r.multiply(fx, fy))
    xy = r.subtract(r.multiply(fx, fx), r.multiply(fy, fy))
    return [(y, fy), (x, fx)], [(y, y, yy), (x, y, xy), (x, x, r.negate(yy))]


def _angle(r: Record, v, a, order, _):
    first, second = (r.function(m.ANGLE, a, r.constant(r.number(order) + k)) for k in (1, 2))
    return [(a, first)], [(a, a, second)]


def _one_variable(derivatives: Callable) -> Callable:
    """The rule for a function, given its first and second ``derivatives`` by record, variable x and value v."""

    def rule(r: Record, v, a, *_):
        first, second = derivatives(r, a, v)
        return [(a, first)], [(a, a, second)]

    return rule


def _root_slope(r: Record, a, v):
    first = r.divide(r.constant(0.5), v)
    return first, r.negate(r.divide(r.multiply(r.constant(0.5), first), a))


def _log_slope(r: Record, of: int):
    first = r.divide(r.one, of)
    return first, r.negate(r.multiply(first, first))


def _tanh_slope(r: Record, a, v):
    first = r.subtract(r.one, r.multiply(v, v))
    return first, r.negate(r.multiply(r.two, r.multiply(v, first)))


RULES: dict[int, Callable] = {
    m.ADD: lambda r, v, a, b, _: ([(a, r.one), (b, r.one)], []),
    m.SUBTRACT: lambda r, v, a, b, _: ([(a, r.one), (b, r.minus_one)], []),
    m.MULTIPLY: _multiply,
    MASK: _multiply,
    m.DIVIDE: _divide,
    m.SELECT: _select,
    m.POWER: _power,
    m.ARCTAN2: _arctan2,
    m.ANGLE: _angle,
    m.SQRT: _one_variable(_root_slope),
    m.ABSOLUTE: _one_variable(lambda r, a, v: (r.function(m.SIGN, a), r.zero)),
    m.EXP: _one_variable(lambda r, a, v: (v, v)),
    m.EXPM1: _one_variable(lambda r, a, v: (r.function(m.EXP, a),) * 2),
    m.LOG: _one_variable(lambda r, a, v: _log_slope(r, a)),
    m.LOG1P: _one_variable(lambda r, a, v: _log_slope(r, r.add(r.one, a))),
    m.SIN: _one_variable(lambda r, a, v: (r.function(m.COS, a), r.negate(v))),
    m.COS: _one_variable(lambda r, a, v: (r.negate(r.function(m.SIN, a)), r.negate(v))),
    m.SINH: _one_variable(lambda r, a, v: (r.function(m.COSH, a), v)),
    m.COSH: _one_variable(lambda r, a, v: (r.function(m.SINH, a), v)),
    m.TANH: _one_variable(_tanh_slope),
}
