"""Programs made of a record: the machine of :mod:`mse.kernels.machine` runs them for many elements at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..kernels import machine as m

# operations of a record that the machine lacks: negation, and a product that is 0 if its first factor is 0
INPUT, CONSTANT, NEGATE, MASK = -1, -2, -3, -4

# functions of one variable that laws can call
FUNCTIONS: dict[np.ufunc, int] = {
    np.exp: m.EXP, np.expm1: m.EXPM1, np.log: m.LOG, np.log1p: m.LOG1P, np.sin: m.SIN, np.cos: m.COS, np.sinh: m.SINH,
    np.cosh: m.COSH, np.tanh: m.TANH, np.absolute: m.ABSOLUTE, np.sign: m.SIGN, np.sqrt: m.SQRT,
}  # fmt: skip
# numbers of operands of operations that do not have two
_OPERANDS = {INPUT: 0, CONSTANT: 0, m.SELECT: 3, NEGATE: 1, **dict.fromkeys(FUNCTIONS.values(), 1)}


class Program:
    """Steps of the machine: from inputs (E, i) to results (E, columns)."""

    def __init__(self, steps: np.ndarray, constants: np.ndarray, registers: int):
        self.steps, self.constants, self._registers = steps, constants, registers
        self.loaded = set(steps[steps[:, 0] == m.LOAD, 2].tolist())  # columns of inputs that it reads
        # for each outside function: program of its arguments, their number, the function, and the columns of its results
        self.outside: list[tuple[Program, int, Callable, list[int]]] = []

    def __len__(self) -> int:
        return len(self.steps)

    def run(self, inputs: np.ndarray, columns: int) -> np.ndarray:
        """The results (E, columns); columns in which nothing is stored are zero."""
        for program, count, function, at in self.outside:
            found = np.array([function(*row) for row in program.run(inputs, count).tolist()]).reshape(-1, len(at))
            wide = np.zeros((len(inputs), max(inputs.shape[1], at[-1] + 1)))
            wide[:, : inputs.shape[1]] = inputs
            wide[:, at] = found
            inputs = wide
        out = np.zeros((len(inputs), columns))
        room = np.empty((self._registers, min(len(inputs), m.LANES)))
        m.run(self.steps, self.constants, np.ascontiguousarray(inputs, dtype=float), room, out)
        return out


class Lowering:
    """Turns nodes into steps: only needed nodes become steps, sums absorb products, and registers are used again.

    ``outputs`` are pairs of a node and the column where it is stored.
    """

    def __init__(self, nodes: list[tuple[int, int, int, int]], constants: list[float], outputs: list[tuple[int, int]]):
        self.nodes = nodes
        self.columns: dict[int, list[int]] = {}
        for node, column in outputs:
            self.columns.setdefault(node, []).append(column)
        uses = self._uses()
        self.steps = [self._fused(v, uses) for v in sorted(uses)]
        self.steps = [s for s in self.steps if s[1] not in self._inside]
        self.registers: dict[int, int] = {}  # registers of constants
        self.values: list[float] = []
        for operation, v, _ in self.steps:
            if operation == CONSTANT:
                self.registers[v] = self._constant(constants[self.nodes[v][1]])

    def _constant(self, value: float) -> int:
        """A new register with a constant."""
        self.values.append(value)
        return len(self.values) - 1

    def _uses(self) -> dict[int, int]:
        """How often each node that is needed is read."""
        uses = dict.fromkeys(self.columns, 2)  # a stored node remains a step of its own
        self._inside: set[int] = set()  # products that are part of another step
        for v in range(max(uses, default=-1), -1, -1):
            if v in uses:
                for p in self._operands(v):
                    uses[p] = uses.get(p, 0) + 1
        return uses

    def _operands(self, v: int) -> tuple[int, ...]:
        operation, *given = self.nodes[v]
        return tuple(given[: _OPERANDS.get(operation, 2)])

    def _fused(self, v: int, uses: dict[int, int]) -> tuple[int, int, tuple[int, ...]]:
        """Operation, node and operands; a sum absorbs a product that nothing else reads."""
        operation, operands = self.nodes[v][0], self._operands(v)
        if operation == m.ADD:
            for product, rest in (operands, operands[::-1]):
                if uses[product] == 1 and self.nodes[product][0] == m.MULTIPLY:
                    self._inside.add(product)
                    return m.MULTIPLY_ADD, v, (*self._operands(product), rest)
        return operation, v, operands

    def program(self) -> Program:
        """The steps; each node has a register from its computation until it is last read."""
        operations = {operation for operation, _, _ in self.steps}
        minus_one = self._constant(-1.0) if NEGATE in operations else 0
        zero = self._constant(0.0) if MASK in operations else 0
        last = {p: k for k, (_, _, operands) in enumerate(self.steps) for p in operands}
        place, free, most, out = dict(self.registers), [], len(self.values), []
        for k, (operation, v, operands) in enumerate(self.steps):
            if operation != CONSTANT:
                if free:
                    to = place[v] = free.pop()
                else:
                    to = place[v] = most
                    most += 1
                read = [place[p] for p in operands]
                if operation == INPUT:
                    out.append((m.LOAD, to, self.nodes[v][1], 0, 0))
                elif operation == NEGATE:
                    out.append((m.MULTIPLY, to, minus_one, *read, 0))
                elif operation == MASK:
                    out += [(m.MULTIPLY, to, *read, 0), (m.SELECT, to, read[0], to, zero)]
                else:
                    # functions of one variable read it twice
                    out.append((operation, to, *read, *read[:1] * (3 - len(read))))
                # no step may write to a register that it reads, or the compiled loop could not be vectorized
                free += [place[p] for p in dict.fromkeys(operands) if last[p] == k and p not in self.registers]
            out += [(m.STORE, column, place[v], 0, 0) for column in self.columns.get(v, ())]
            if v not in last and operation != CONSTANT:
                free.append(place[v])
        return Program(np.array(out, dtype=np.uint32).reshape(-1, 5), np.array(self.values, dtype=float), most)
