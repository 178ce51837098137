"""Arrays that record what numpy does to them, as nodes of a :class:`mse.numerics.record.Record`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import numpy as np

from ..kernels import machine as m
from .jets import value_of
from .numpy_functions import COMPOUND, hypot, matmul
from .program import FUNCTIONS
from .record import Record, Unrecordable


class Recorded(np.lib.mixins.NDArrayOperatorsMixin):
    """An array (...) of nodes of a record; numpy functions applied to it add nodes."""

    __slots__ = ("nodes", "record")

    def __init__(self, record: Record, nodes):
        self.record = record
        self.nodes = np.asarray(nodes, dtype=np.int64)

    # -- array behavior --------------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        return self.nodes.shape

    @property
    def ndim(self) -> int:
        return self.nodes.ndim

    @property
    def T(self) -> Recorded:
        return Recorded(self.record, self.nodes.T)

    @property
    def varies(self) -> bool:
        """Whether any entry depends on inputs that vary."""
        return any(self.record.varies[v] for v in self.nodes.ravel().tolist())

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index) -> Recorded:
        for part in index if isinstance(index, tuple) else (index,):
            if isinstance(part, Recorded):
                raise self._refusal("picks entries by a value")
        return Recorded(self.record, self.nodes[index])

    def dot(self, other) -> Recorded:
        return np.dot(self, other)

    def sum(self, axis=None) -> Recorded:
        axes = range(self.ndim) if axis is None else [int(a) % max(self.ndim, 1) for a in np.atleast_1d(axis)]
        kept = [k for k in range(self.ndim) if k not in axes]
        rows = self.nodes.transpose(*kept, *axes).reshape(*(self.shape[k] for k in kept), -1)
        shape, rows = rows.shape[:-1], rows.reshape(int(np.prod(rows.shape[:-1])), rows.shape[-1])
        return Recorded(self.record, np.array([self._total(row) for row in rows.tolist()], dtype=int).reshape(shape))

    def _total(self, nodes: list[int]) -> int:
        total = self.record.zero
        for node in nodes:
            total = self.record.add(total, node)
        return total

    def angle_over_sine(self) -> Recorded:
        """``arccos(c)/sqrt(1 - c^2)`` of one number c."""
        return Recorded(self.record, self.record.angle(int(self.nodes)))

    # -- what cannot be recorded ------------------------------------------------------------------------------
    def _refusal(self, what: str) -> Unrecordable:
        return Unrecordable(what, not self.varies)

    def _number(self, what: str) -> float:
        value = self.record.number(int(self.nodes)) if self.ndim == 0 else None
        if value is None:
            raise self._refusal(what)
        return value

    def __bool__(self) -> bool:
        if self.ndim == 0 and self.record.number(int(self.nodes)) is None and self.record.point is not None:
            return self.record.holds(int(self.nodes))
        return bool(self._number("asks whether something holds that depends on a value"))

    def __float__(self) -> float:
        return self._number("makes a value a plain number, as float(), math functions and assignments into arrays do")

    def __array__(self, dtype=None, copy=None):
        return np.asarray(
            self._number(
                "makes values a plain array (x * np.array([0, 0, 1.0]) keeps them, np.array([0, 0, x]) does not)"
            ),
            dtype=dtype,
        )

    # -- numpy protocols --------------------------------------------------------------------------------------
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        out = kwargs.pop("out", None)
        if method != "__call__" or kwargs or ufunc not in _UFUNCS:
            raise self._unsupported(inputs, ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}")
        if ufunc is np.matmul:
            result = matmul(*inputs)
        elif ufunc is np.hypot:
            result = hypot(*(Recorded(self.record, _nodes(self.record, x)) for x in inputs))
        else:
            result = _elementwise(self.record, _UFUNCS[ufunc], *inputs)
        if out is None:
            return result
        target = out[0]
        if not isinstance(target, Recorded) or target.shape != result.shape:
            raise self._unsupported(inputs, f"{ufunc.__name__} into a plain array")
        target.nodes = result.nodes
        return target

    def __array_function__(self, function, types, args, kwargs):
        if function not in _FUNCTIONS:
            raise self._unsupported(args, function.__name__)
        return _FUNCTIONS[function](*args, **kwargs)

    def _unsupported(self, inputs, name: str) -> Unrecordable:
        varying = any(isinstance(x, Recorded) and x.varies for x in inputs)
        return Unrecordable(f"uses numpy.{name}", not varying)


def outside(function: Callable, count: int, *values):
    """Numbers (count,) computed by a function that cannot be recorded, such as a search; for use inside a law.

    Derivatives take the numbers as fixed.  A solution T of ``m(T, x) = 0`` gets its derivatives from two rounds of Newton's
    method, ``T - m(T, x)/m_T``, each of which makes one more order exact.
    """
    known = next((x.record for x in values if isinstance(x, Recorded)), None)
    if known is None:
        return np.array(function(*(float(value_of(x)) for x in values)), dtype=float)
    return Recorded(known, known.outside(function, [int(_nodes(known, x)) for x in values], count))


def _nodes(record: Record, x) -> np.ndarray:
    """The nodes of an array, or of constants."""
    if isinstance(x, Recorded):
        return x.nodes
    if np.iscomplexobj(x):
        raise TypeError("complex numbers")
    x = np.asarray(x, dtype=float)
    return np.array([record.constant(v) for v in x.ravel().tolist()], dtype=np.int64).reshape(x.shape)


def _elementwise(record: Record, rule: Callable, *arrays) -> Recorded:
    given = [_nodes(record, x) for x in arrays]
    shape = np.broadcast_shapes(*(x.shape for x in given))
    columns = [(x if x.shape == shape else np.broadcast_to(x, shape)).ravel().tolist() for x in given]
    found = [rule(record, *row) for row in zip(*columns, strict=True)]
    return Recorded(record, np.array(found, dtype=np.int64).reshape(shape))


def _of(operation: int) -> Callable:
    return lambda record, *given: record.function(operation, *given)


def _power(record: Record, a: int, p: int) -> int:
    if record.varies[p]:
        return record.function(m.EXP, record.multiply(record.function(m.LOG, a), p))
    return record.power(a, p)


def _tan(record: Record, a: int) -> int:
    return record.divide(record.function(m.SIN, a), record.function(m.COS, a))


def _opposite_leg(record: Record, a: int) -> int:
    """``sqrt(1 - a^2)``, accurate also close to 1."""
    return record.function(m.SQRT, record.multiply(record.subtract(record.one, a), record.add(record.one, a)))


def _arcsin(record: Record, a: int) -> int:
    return record.function(m.ARCTAN2, a, _opposite_leg(record, a))


def _arccos(record: Record, a: int) -> int:
    return record.function(m.ARCTAN2, _opposite_leg(record, a), a)


def _not(record: Record, a: int) -> int:
    return record.select(a, record.zero, record.one)


def _either(record: Record, a: int, b: int) -> int:
    return record.select(a, record.one, b)


_UFUNCS: dict[np.ufunc, Callable] = {
    **{function: _of(operation) for function, operation in FUNCTIONS.items()},
    np.negative: Record.negate,
    np.positive: lambda record, a: a,
    np.square: lambda record, a: record.multiply(a, a),
    np.reciprocal: lambda record, a: record.divide(record.one, a),
    np.add: Record.add,
    np.subtract: Record.subtract,
    np.multiply: Record.multiply,
    np.divide: Record.divide,
    np.power: _power,
    np.float_power: _power,
    np.arctan2: _of(m.ARCTAN2),
    np.arctan: lambda record, a: record.function(m.ARCTAN2, a, record.one),
    np.arcsin: _arcsin,
    np.arccos: _arccos,
    np.tan: _tan,
    np.hypot: hypot,
    np.matmul: matmul,
    np.less: _of(m.LESS),
    np.less_equal: _of(m.LESS_EQUAL),
    np.greater: lambda record, a, b: record.function(m.LESS, b, a),
    np.greater_equal: lambda record, a, b: record.function(m.LESS_EQUAL, b, a),
    np.equal: _of(m.EQUAL),
    np.not_equal: lambda record, a, b: _not(record, record.function(m.EQUAL, a, b)),
    # of conditions
    np.logical_and: Record.multiply,
    np.bitwise_and: Record.multiply,
    np.logical_or: _either,
    np.bitwise_or: _either,
    np.logical_not: _not,
    np.invert: _not,
}  # fmt: skip


def _record_of(items) -> Record:
    return next(x.record for x in items if isinstance(x, Recorded))


def _stack(items, axis=0):
    items = list(items)
    record = _record_of(items)
    return Recorded(record, np.stack([_nodes(record, x) for x in items], axis=axis))


def _concatenate(items, axis=0):
    items = list(items)
    record = _record_of(items)
    return Recorded(record, np.concatenate([_nodes(record, x) for x in items], axis=axis))


def _where(condition, a, b):
    record = _record_of((condition, a, b))
    return _elementwise(record, Record.select, condition, a, b)


def _flat(x: Recorded) -> list[Recorded]:
    return [Recorded(x.record, node) for node in x.nodes.ravel()]


def _first(better: Callable) -> Callable:
    """The place of the best entry, decided by recorded conditions."""

    def place(x):
        entries = _flat(x)
        return functools.reduce(lambda k, i: i if better(entries[i], entries[k]) else k, range(len(entries)))

    return place


_FUNCTIONS: dict[Callable, Callable] = {
    **COMPOUND, np.stack: _stack, np.concatenate: _concatenate, np.where: _where,
    np.any: lambda x: any(map(bool, _flat(x))), np.all: lambda x: all(map(bool, _flat(x))),
    np.argmax: _first(operator.gt), np.argmin: _first(operator.lt),
}  # fmt: skip
