"""The machine that runs recorded laws (:mod:`mse.numerics.record`): one compiled loop for the steps of all records.

A step (operation, register, a, b, c) sets the register to the operation's value of registers a, b and c.  A register has one
number (lane) for each of several elements, so each operation is decoded once for all of them.
"""

from __future__ import annotations

import math

import numpy as np

from .jit import kept, part

# elements side by side: registers of 400 steps that are needed at once then take 100 kB, close to the processor
LANES = 32

(
    LOAD, STORE, ADD, SUBTRACT, MULTIPLY, MULTIPLY_ADD, DIVIDE, SELECT, SQRT,
    LESS, LESS_EQUAL, EQUAL, ABSOLUTE, SIGN, POWER, ARCTAN2, ANGLE, EXP, EXPM1, LOG, LOG1P, SIN, COS, SINH, COSH, TANH,
) = range(26)  # fmt: skip

_ORDERS, _TERMS = 5, 26
_NEAR = 0.25  # 1 - c at which each term is an eighth of the one before; beyond, dividing by 1 - c^2 loses little


def _angle_series() -> np.ndarray:
    """Coefficients (order, k) of ``(1 - c)^k`` in the derivatives of ``f(c) = arccos(c)/sqrt(1 - c^2)`` by c.

    ``f = sum of (1 - c)^k k!/(2k + 1)!!``, from ``(1 - c^2) f' = c f - 1``.
    """
    out = np.zeros((_ORDERS, _TERMS))
    row = np.cumprod([1.0, *((k + 1.0) / (2.0 * k + 3.0) for k in range(_TERMS + _ORDERS))])
    for order in range(_ORDERS):
        out[order] = row[:_TERMS]
        row = -row[1:] * np.arange(1.0, len(row))
    return out


_SERIES = _angle_series()


@part
def _angle(c, order):
    """A derivative of ``arccos(c)/sqrt(1 - c^2)``, by its series or by its differentiated differential equation."""
    if 1.0 - c < _NEAR:
        total = 0.0
        for k in range(_TERMS):
            total = total * (1.0 - c) + _SERIES[order, _TERMS - 1 - k]
        return total
    s2 = 1.0 - c * c
    last, found = 0.0, math.atan2(math.sqrt(s2), c) / math.sqrt(s2)
    for k in range(order):
        last, found = found, ((2.0 * k + 1.0) * c * found + (k * k * last if k else -1.0)) / s2
    return found


@part
def _function(operation, x, y):
    """The value of operations that take longer than finding out which one it is."""
    if operation == SQRT:
        return math.sqrt(x)
    if operation == LESS:
        return 1.0 if x < y else 0.0
    if operation == LESS_EQUAL:
        return 1.0 if x <= y else 0.0
    if operation == EQUAL:
        return 1.0 if x == y else 0.0
    if operation == ABSOLUTE:
        return abs(x)
    if operation == SIGN:
        return math.copysign(1.0, x) if x != 0.0 else x
    if operation == POWER:
        return x**y
    if operation == ARCTAN2:
        return math.atan2(x, y)
    if operation == ANGLE:
        return _angle(x, int(y))
    if operation == EXP:
        return math.exp(x)
    if operation == EXPM1:
        return math.expm1(x)
    if operation == LOG:
        return math.log(x)
    if operation == LOG1P:
        return math.log1p(x)
    if operation == SIN:
        return math.sin(x)
    if operation == COS:
        return math.cos(x)
    if operation == SINH:
        return math.sinh(x)
    if operation == COSH:
        return math.cosh(x)
    return math.tanh(x)


@part
def _value(operation, x, y, z):
    """The value of any operation but LOAD and STORE."""
    if operation == MULTIPLY:
        return x * y
    if operation == MULTIPLY_ADD:
        return x * y + z
    if operation == ADD:
        return x + y
    if operation == SUBTRACT:
        return x - y
    if operation == DIVIDE:
        return x / y
    if operation == SELECT:
        return y if x != 0.0 else z
    return _function(operation, x, y)


@kept(error_model="numpy")
def run(steps, constants, inputs, registers, out):
    """Run the steps (s, 5) for each row of ``inputs`` (E, i), and write the values they store to ``out`` (E, o).

    ``registers`` (r, lanes) is scratch; the first ones contain the ``constants``.  One row alone goes without loops over
    lanes, whose beginnings and ends would take half its time.
    """
    lanes = registers.shape[1]
    for k in range(len(constants)):
        for i in range(lanes):
            registers[k, i] = constants[k]
    if lanes == 1:
        for s in range(len(steps)):
            operation, to, a, b, c = steps[s, 0], steps[s, 1], steps[s, 2], steps[s, 3], steps[s, 4]
            if operation == STORE:
                out[0, to] = registers[a, 0]
            elif operation == LOAD:
                registers[to, 0] = inputs[0, a]
            else:
                registers[to, 0] = _value(operation, registers[a, 0], registers[b, 0], registers[c, 0])
        return
    for start in range(0, len(inputs), lanes):
        width = min(lanes, len(inputs) - start)
        for s in range(len(steps)):
            operation, to, a, b, c = steps[s, 0], steps[s, 1], steps[s, 2], steps[s, 3], steps[s, 4]
            if operation == MULTIPLY:
                for i in range(width):
                    registers[to, i] = registers[a, i] * registers[b, i]
            elif operation == MULTIPLY_ADD:
                for i in range(width):
                    registers[to, i] = registers[a, i] * registers[b, i] + registers[c, i]
            elif operation == ADD:
                for i in range(width):
                    registers[to, i] = registers[a, i] + registers[b, i]
            elif operation == SUBTRACT:
                for i in range(width):
                    registers[to, i] = registers[a, i] - registers[b, i]
            elif operation == STORE:
                for i in range(width):
                    out[start + i, to] = registers[a, i]
            elif operation == LOAD:
                for i in range(width):
                    registers[to, i] = inputs[start + i, a]
            elif operation == DIVIDE:
                for i in range(width):
                    registers[to, i] = registers[a, i] / registers[b, i]
            elif operation == SELECT:
                for i in range(width):
                    registers[to, i] = registers[b, i] if registers[a, i] != 0.0 else registers[c, i]
            else:
                for i in range(width):
                    registers[to, i] = _function(operation, registers[a, i], registers[b, i])
