"""Programs made of a record: the machine of :mod:`mse.kernels.machine` runs them for many elements at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ..kernels import machine as m

# operations of a record that the machine lacks; the last one is a product that is 0 if its first factor is 0
INPUT, CONSTANT, MASK = -1, -2, -3

# operations that numpy has, too
FUNCTIONS: dict[int, np.ufunc] = {
    m.ADD: np.add, m.SUBTRACT: np.subtract, m.MULTIPLY: np.multiply, m.DIVIDE: np.divide, m.POWER: np.power,
    m.LESS: np.less, m.LESS_EQUAL: np.less_equal, m.EQUAL: np.equal, m.ABSOLUTE: np.absolute, m.SIGN: np.sign, m.SQRT: np.sqrt,
    m.EXP: np.exp, m.EXPM1: np.expm1, m.LOG: np.log, m.LOG1P: np.log1p, m.SIN: np.sin, m.COS: np.cos, m.ARCTAN2: np.arctan2,
    m.SINH: np.sinh, m.COSH: np.cosh, m.TANH: np.tanh,
}  # fmt: skip
# numbers of operands of operations that do not have two
_OPERANDS = {INPUT: 0, CONSTANT: 0, m.SELECT: 3} | {number: function.nin for number, function in FUNCTIONS.items()}


class Program:
    """Steps of the machine: from inputs (E, i) to results (E, columns)."""

    def __init__(self, steps: np.ndarray, constants: np.ndarray, registers: int, columns: int):
        self.steps, self.constants, self._registers, self._columns = steps, constants, registers, columns
        self.loaded = set(steps[steps[:, 0] == m.LOAD, 2].tolist())  # columns of inputs that it reads
        # for each outside function: program of its arguments, the function, and the columns of its results
        self.outside: list[tuple[Program, Callable, list[int]]] = []

    def __len__(self) -> int:
        return len(self.steps)

    def alone(self) -> tuple[np.ndarray, ...]:
        """Steps, constants, and room for one row of registers and of results, as the machine's loop takes them."""
        return self.steps, self.constants, np.zeros((self._registers, 1)), np.zeros((1, self._columns))

    def run(self, inputs: np.ndarray) -> np.ndarray:
        """The results (E, columns)."""
        for program, function, at in self.outside:
            found = np.array([function(*row) for row in program.run(inputs).tolist()]).reshape(-1, len(at))
            wide = np.zeros((len(inputs), max(inputs.shape[1], at[-1] + 1)))
            wide[:, : inputs.shape[1]] = inputs
            wide[:, at] = found
            inputs = wide
        out = np.zeros((len(inputs), self._columns))
        room = np.empty((self._registers, min(len(inputs), m.LANES)))
        m.run(self.steps, self.constants, np.ascontiguousarray(inputs, dtype=float), room, out)
        return out


def operands(node: tuple[int, int, int, int]) -> tuple[int, ...]:
    """The operands of a node of a record."""
    operation, *given = node
    return tuple(given[: _OPERANDS.get(operation, 2)])


def uses(nodes: Sequence[tuple[int, int, int, int]], outputs: Iterable[int]) -> dict[int, int]:
    """How often each node that outputs need is read; outputs twice more, so that they remain steps of their own."""
    found = dict.fromkeys(outputs, 2)
    for v in range(max(found, default=-1), -1, -1):
        if v in found:
            for p in operands(nodes[v]):
                found[p] = found.get(p, 0) + 1
    return found


def _steps(nodes: Sequence[tuple[int, int, int, int]], read: dict[int, int]) -> list[tuple[int, int, tuple[int, ...]]]:
    """Operation, node and operands of each step; a sum absorbs a product that nothing else reads."""
    found, inside = [], set()
    for v in sorted(read):
        operation, given = nodes[v][0], operands(nodes[v])
        for product, rest in (given, given[::-1]) if operation == m.ADD else ():
            if read[product] == 1 and nodes[product][0] == m.MULTIPLY:
                inside.add(product)
                operation, given = m.MULTIPLY_ADD, (*operands(nodes[product]), rest)
                break
        found.append((operation, v, given))
    return [step for step in found if step[1] not in inside]


def lowered(
    nodes: Sequence[tuple[int, int, int, int]], constants: Mapping[int, float], outputs: Sequence[int]
) -> Program:
    """The program whose columns of results are some nodes, without nodes that they do not need; zeros are not stored.

    Each node has a register from its computation until it is last read; constants keep theirs.
    """
    columns: dict[int, list[int]] = {}
    for column, node in enumerate(outputs):
        if constants.get(node) != 0.0:
            columns.setdefault(node, []).append(column)
    steps = _steps(nodes, uses(nodes, columns))
    known = {v: k for k, v in enumerate(v for operation, v, _ in steps if operation == CONSTANT)}
    values = [*(constants[v] for v in known), 0.0]
    zero, most = len(known), len(values)
    last = {p: k for k, (_, _, given) in enumerate(steps) for p in given}
    place, free, out = dict(known), [], []
    for k, (operation, v, given) in enumerate(steps):
        if operation != CONSTANT:
            if not free:
                free, most = [most], most + 1
            to = place[v] = free.pop()
            read = [place[p] for p in given]
            if operation == INPUT:
                out.append((m.LOAD, to, nodes[v][1], 0, 0))
            elif operation == MASK:
                out += [(m.MULTIPLY, to, *read, 0), (m.SELECT, to, read[0], to, zero)]
            else:
                # functions of one variable read it twice
                out.append((operation, to, *read, *read[:1] * (3 - len(read))))
            # no step may write to a register that it reads, or the compiled loop could not be vectorized
            free += [place[p] for p in dict.fromkeys(given) if last[p] == k and p not in known]
        out += [(m.STORE, column, place[v], 0, 0) for column in columns.get(v, ())]
        if v not in last and operation != CONSTANT:
            free.append(place[v])
    return Program(np.array(out, dtype=np.uint32).reshape(-1, 5), np.array(values), most, len(outputs))
