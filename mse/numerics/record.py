"""Records: formulas as lists of scalar operations, which can be differentiated exactly and run for many inputs at once.

A formula is recorded by running it once with :class:`mse.numerics.recorder.Recorded` arrays.  Equal operations become one node,
so common subexpressions are shared.  Gradients use a reverse sweep, Hessians edge pushing (R. M. Gower, M. P. Mello, "A new
framework for the computation of Hessians", Optim. Methods Softw. 27 (2012) 251).  Both write nodes into the same record, so
derivatives can be differentiated again.  Hessians as gradients of gradients would need no
rules for second derivatives, but take 1.6 times as many operations (13 variables: 1424 in place of 877).

Why not a library (``benchmarks/derivatives.py``: energy, 12 slopes and 78 second derivatives of 1,000 elements between two
frames on one processor, with the same numbers by all): JAX 0.10 takes 9 to 11 s to compile such a law, in each process again, and
runs it 5 to 9 times slower; a record is made in 0.03 to 0.06 s.  CasADi 3.8 is as quick to build and 8 to 14 times slower in its
own machine.  With a C compiler, which users would need, it runs as fast to twice as fast, after 1 s for each law.  Both need
their own functions instead of numpy's, and neither knows how terms are rounded (:meth:`Record.rounding`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from ..errors import ModelError
from ..kernels import machine as m
from .derivative_rules import RULES, Curvatures, Slopes
from .program import CONSTANT, FUNCTIONS, INPUT, MASK, Program, lowered

_PRODUCTS = 8  # largest power made of products: four of them are faster than a power
MOST_NODES = 100_000  # half a second of recording, 50 MB
# difference of two evaluations in other orders, with functions accurate to some units in the last place
# (tests/numerics/test_record.py::test_the_rounding_of_a_formula_is_that_of_its_terms)
_MOST_ULPS = 8.0


class Unrecordable(ModelError):
    """A formula does what no record can hold."""


class Expansion(NamedTuple):
    """An input as a function of the variables to second order about zero: derivatives by variable number, as nodes."""

    slopes: Mapping[int, int]
    curvatures: Mapping[tuple[int, int], int] = {}


class Record:
    """Nodes (operation, a, b, c) in an order in which they can be evaluated; a, b, c are nodes.

    An INPUT is column a of what a program is given, a CONSTANT has its value in ``constants`` and its bits in a.  Where the
    inputs have values, in ``point``, conditions can be asked: a condition answers as at that point and becomes one of the
    ``guards``.  So can numbers that follow from parameters alone: their guard is that they are the same.  The record serves where
    all guards answer the same.
    """

    def __init__(self, point: Iterable[float] | None = None):
        self.point = None if point is None else list(point)
        self.guards: dict[int, bool] = {}  # answers of the conditions that were decided
        self.nodes: list[tuple[int, int, int, int]] = []
        self.varies: list[bool] = []  # whether a node depends on varying inputs, not only on parameters
        self.constants: dict[int, float] = {}  # values of nodes
        self._known: dict[tuple[int, int, int, int], int] = {}
        self._masked = False  # whether anything is selected
        self._width = 0  # columns of inputs
        self._outside: list[tuple[Callable, list[int], list[int]]] = []  # functions, argument nodes, columns of results
        self.zero, self.one, self.two, self.minus_one = map(self.constant, (0.0, 1.0, 2.0, -1.0))
        self._negated = {self.minus_one: self.one}  # the node whose negative each of these is

    # -- nodes ------------------------------------------------------------------------------------------------
    def inputs(self, count: int, first: int, varies: bool = True) -> list[int]:
        """Input nodes for ``count`` columns from ``first`` on."""
        self._width = max(self._width, first + count)
        return [self._node(INPUT, first + k, varies=varies) for k in range(count)]

    def outside(self, function: Callable, given: list[int], count: int) -> list[int]:
        """Nodes for ``count`` numbers that a function computes from the values of given nodes; derivatives take them as fixed."""
        first = self._width
        self._outside.append((function, given, list(range(first, first + count))))
        return self.inputs(count, first, varies=False)

    def constant(self, value: float) -> int:
        value = float(value)
        (bits,) = struct.unpack("q", struct.pack("d", value))  # zeros differ by their sign
        node = self._node(CONSTANT, bits)
        self.constants[node] = value
        return node

    def _node(self, operation: int, a: int, b: int = 0, c: int = 0, *, varies: bool = False) -> int:
        key = (operation, a, b, c)
        node = self._known.get(key)
        if node is None:
            if len(self.nodes) >= MOST_NODES:
                raise Unrecordable(f"takes more than {MOST_NODES:,} operations with its derivatives")
            node = self._known[key] = len(self.nodes)
            self.nodes.append(key)
            self.varies.append(varies)
        return node

    def function(self, operation: int, a: int, b: int = 0, c: int = 0) -> int:
        """An operation of the machine as a node; of constants its value.  Operands that it does not have are node 0, zero."""
        constants, varies = self.constants, self.varies
        if a in constants and b in constants and operation in FUNCTIONS:
            value = FUNCTIONS[operation]
            with np.errstate(all="ignore"):
                return self.constant(value(*(constants[a], constants[b])[: value.nin]))
        return self._node(operation, a, b, c, varies=varies[a] or varies[b] or varies[c])

    def number(self, node: int) -> float | None:
        """The value of a constant; None for all other nodes."""
        return self.constants.get(node)

    def holds(self, condition: int) -> bool:
        """Whether a condition holds, or a number is not zero, at the point of the record."""
        if (number := self.number(condition)) is not None:
            return bool(number)
        if condition not in self.guards:
            there = self._there(condition, "asks whether something holds that depends on a value")
            self.guards[condition] = bool(there)
        return self.guards[condition]

    def asked(self, node: int) -> float:
        """The number that follows from parameters alone; the record serves where it is the same as at the point."""
        if (number := self.number(node)) is not None:
            return number
        said = (
            "makes a value a plain number, as float(), math functions and assignments into arrays do; write "
            "x * np.array([0, 0, 1.0]) in place of array[2] = x"
        )
        if self.varies[node]:
            raise Unrecordable(said)
        number = self._there(node, said)
        self.guards[self.function(m.EQUAL, node, self.constant(number))] = True
        return number

    def _there(self, node: int, said: str) -> float:
        if self.point is None:
            raise Unrecordable(said)
        return float(self.program([node]).run(np.array([self.point]))[0, 0])

    def add(self, a: int, b: int) -> int:
        if a == self.zero:
            return b
        if b == self.zero:
            return a
        if a == b:
            return self.multiply(self.two, a)
        if b in self._negated:
            return self.subtract(a, self._negated[b])
        if a in self._negated:
            return self.subtract(b, self._negated[a])
        return self.function(m.ADD, a, b) if a < b else self.function(m.ADD, b, a)

    def subtract(self, a: int, b: int) -> int:
        if a == b:
            return self.zero
        if b == self.zero:
            return a
        if a == self.zero:
            return self.negate(b)
        if b in self._negated:
            return self.add(a, self._negated[b])
        return self.function(m.SUBTRACT, a, b)

    def negate(self, a: int) -> int:
        if a in self._negated:
            return self._negated[a]
        found = self.function(m.MULTIPLY, self.minus_one, a)
        if a not in self.constants:
            self._negated[found] = a
        return found

    def multiply(self, a: int, b: int) -> int:
        if a == self.zero or b == self.zero:
            return self.zero
        if a == self.one:
            return b
        if b == self.one:
            return a
        if a in self._negated:
            return self.negate(self.multiply(self._negated[a], b))
        if b in self._negated:
            return self.negate(self.multiply(a, self._negated[b]))
        return self.function(m.MULTIPLY, a, b) if a < b else self.function(m.MULTIPLY, b, a)

    def times(self, a: int, slope: int) -> int:
        """A derivative times a slope; 0 if the derivative is 0, even if the slope of an unselected branch is not finite."""
        if not self._masked or a == self.zero or slope == self.zero:
            return self.multiply(a, slope)
        x, y = self.number(a), self.number(slope)
        if x is not None or (y is not None and np.isfinite(y)):
            return self.multiply(a, slope)
        return self.function(MASK, a, slope)

    def divide(self, a: int, b: int) -> int:
        if b == self.one or a == self.zero:
            return a
        if a in self._negated:
            return self.negate(self.divide(self._negated[a], b))
        return self.function(m.DIVIDE, a, b)

    def power(self, a: int, p: int) -> int:
        """``a**p``: small whole powers by products, half powers by roots, powers that vary by logarithms."""
        if self.varies[p]:
            return self.function(m.EXP, self.multiply(self.function(m.LOG, a), p))
        exponent = self.number(p)
        if exponent is not None and abs(exponent) == 0.5:
            root = self.function(m.SQRT, a)
            return root if exponent > 0.0 else self.divide(self.one, root)
        if exponent is None or not exponent.is_integer() or abs(exponent) > _PRODUCTS:
            return self.function(m.POWER, a, p)
        out, base, left = self.one, a, int(abs(exponent))
        while left:
            out = self.multiply(out, base) if left % 2 else out
            left //= 2
            base = self.multiply(base, base) if left else base
        return out if exponent >= 0.0 else self.divide(self.one, out)

    def select(self, condition: int, a: int, b: int) -> int:
        """a if the condition is not 0, else b."""
        x = self.number(condition)
        if x is not None or a == b:
            return a if x is None or x else b
        self._masked = True
        return self.function(m.SELECT, condition, a, b)

    # -- derivatives ------------------------------------------------------------------------------------------
    def local(self, node: int) -> tuple[Slopes, Curvatures]:
        """First and second derivatives of an operation by its operands."""
        operation, a, b, c = self.nodes[node]
        return RULES[operation](self, node, a, b, c) if operation in RULES else ([], [])

    def gradient(self, output: int, parameters: bool = False) -> dict[int, int]:
        """Derivatives of a node by all nodes that it depends on, as nodes; by what follows from parameters alone if asked."""
        slopes = {output: self.one}
        for v in range(output, -1, -1):
            if v in slopes:
                for p, slope in self.local(v)[0]:
                    if parameters or self.varies[p]:
                        slopes[p] = self.add(slopes.get(p, self.zero), self.times(slopes[v], slope))
        return slopes

    def by_variables(self, output: int, expansions: Mapping[int, Expansion]) -> dict[int, int]:
        """Derivatives of a node by the variables that its inputs depend on, which may be parameters."""
        out: dict[int, int] = {}
        slopes = self.gradient(output, not all(self.varies[v] for v in expansions))
        for node, expansion in expansions.items():
            for i, slope in expansion.slopes.items() if node in slopes else ():
                out[i] = self.add(out.get(i, self.zero), self.multiply(slopes[node], slope))
        return out

    def hessian(self, output: int, expansions: Mapping[int, Expansion]) -> dict[tuple[int, int], int]:
        """Second derivatives of a node by the variables i <= j that its inputs depend on, as nodes, without zeros.

        Operations are eliminated from the last to the first: second derivatives by a node become those by its operands.
        """
        rows: dict[int, dict[int, int]] = {}  # by pairs of nodes, and of variables as ~i; each stands in both rows
        slopes = {output: self.one}

        def join(p: int, q: int, x: int) -> None:
            if x != self.zero:
                row = rows.setdefault(p, {})
                row[q] = self.add(row.get(q, self.zero), x)
                rows.setdefault(q, {})[p] = row[q]

        for v in range(output, -1, -1):
            if v not in slopes:
                continue
            if v in expansions:
                given = expansions[v]
                first = [(~i, slope) for i, slope in given.slopes.items()]
                second = [(~i, ~j, curvature) for (i, j), curvature in given.curvatures.items()]
            else:
                first, second = self.local(v)
                first = [(p, slope) for p, slope in first if self.varies[p]]
                second = [(p, q, x) for p, q, x in second if self.varies[p] and self.varies[q]]
            row = rows.pop(v, {})
            own = row.pop(v, self.zero)
            for w, x in row.items():
                del rows[w][v]
                for p, slope in first:
                    y = self.times(x, slope)
                    join(p, w, self.multiply(self.two, y) if p == w else y)
            for k, (p, slope) in enumerate(first) if own != self.zero else ():
                y = self.times(own, slope)
                for q, other in first[k:]:
                    join(p, q, self.times(y, other))
            for p, q, curvature in second:
                join(p, q, self.times(slopes[v], curvature))
            for p, slope in first:
                slopes[p] = self.add(slopes.get(p, self.zero), self.times(slopes[v], slope))
        return {(~i, ~j): x for i, row in rows.items() for j, x in row.items() if i < 0 and j < 0 and ~i <= ~j}

    def rounding(self, output: int) -> int:
        """A node with the rounding of another: how much two evaluations of it may differ, from all its terms."""
        total = self.zero
        for v, slope in self.gradient(output).items():
            if self.nodes[v][0] >= 0:
                total = self.add(total, self.function(m.ABSOLUTE, self.times(slope, v)))
        return self.multiply(self.constant(_MOST_ULPS * np.finfo(float).eps), total)

    # -- programs ---------------------------------------------------------------------------------------------
    def program(self, outputs: Iterable[int]) -> Program:
        """The program whose columns of results are some nodes."""
        found = lowered(self.nodes, self.constants, list(outputs))
        for function, given, columns in self._outside:
            if not found.loaded.isdisjoint(columns):
                found.outside.append((self.program(given), function, columns))
        return found
