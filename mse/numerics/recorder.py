"""Arrays that record what numpy does to them, as nodes of a :class:`mse.numerics.record.Record`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels import machine as m
from .program import FUNCTIONS
from .record import Record, Unrecordable


class Recorded(np.lib.mixins.NDArrayOperatorsMixin):
    """An array (...) of nodes of a record: numpy functions applied to it become further nodes.

    What is asked of it is answered as at the point of the record, and becomes a guard: conditions of all numbers, values of
    those that follow from parameters alone.
    """

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

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index) -> Recorded:
        parts = index if isinstance(index, tuple) else (index,)
        # a mask
        asked = [np.reshape(list(map(bool, _flat(x))), x.shape) if isinstance(x, Recorded) else x for x in parts]
        return Recorded(self.record, self.nodes[tuple(asked) if isinstance(index, tuple) else asked[0]])

    def dot(self, other) -> Recorded:
        return np.dot(self, other)

    def sum(self, axis=None) -> Recorded:
        add = np.frompyfunc(self.record.add, 2, 1, identity=self.record.zero)
        return Recorded(self.record, add.reduce(self.nodes, axis=axis, dtype=object))

    def angle_over_sine(self) -> Recorded:
        """``arccos(c)/sqrt(1 - c^2)`` of one number c."""
        return Recorded(self.record, self.record.function(m.ANGLE, int(self.nodes), self.record.zero))

    # -- what is asked ----------------------------------------------------------------------------------------
    def __bool__(self) -> bool:
        if self.ndim:
            raise Unrecordable("asks whether an array holds; np.any and np.all ask for some or all of it")
        return self.record.holds(int(self.nodes))

    def __float__(self) -> float:
        if self.ndim:
            raise TypeError("only one number can be a float")
        return self.record.asked(int(self.nodes))

    @property
    def __array__(self) -> Callable:
        # without one numpy makes an array of objects, whose operations are recorded
        if self.ndim == 0 or any(self.record.varies[v] for v in self.nodes.ravel().tolist()):
            raise AttributeError("no plain array")
        return lambda dtype=None, copy=None: np.array([float(x) for x in _flat(self)], dtype).reshape(self.shape)

    # -- numpy protocols --------------------------------------------------------------------------------------
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        out = kwargs.pop("out", None)
        if method != "__call__" or kwargs or ufunc not in _UFUNCS:
            name = f"{ufunc.__name__}.{method}".removesuffix(".__call__")
            return _plainly(getattr(ufunc, method), name, inputs, kwargs)
        result = _UFUNCS[ufunc](*inputs)
        if out is None:
            return result
        target = out[0]
        if not isinstance(target, Recorded) or target.shape != result.shape:
            raise Unrecordable(f"uses numpy.{ufunc.__name__} into a plain array")
        target.nodes = result.nodes
        return target

    def __array_function__(self, function, types, args, kwargs):
        if function not in _FUNCTIONS:
            return _plainly(function, function.__name__, args, kwargs)
        try:
            return _FUNCTIONS[function](*args, **kwargs)
        except TypeError:
            raise Unrecordable(f"uses numpy.{function.__name__} with these arguments") from None


def outside(function: Callable, count: int, *values):
    """Numbers (count,) computed by a function that cannot be recorded, such as a search; for use inside a law.

    Derivatives take the numbers as fixed.  A solution T of ``m(T, x) = 0`` gets its derivatives from two rounds of Newton's
    method, ``T - m(T, x)/m_T``, each of which makes one more order exact.
    """
    known = next((x.record for x in values if isinstance(x, Recorded)), None)
    if known is None:
        return np.array(function(*(float(x) for x in values)), dtype=float)
    return Recorded(known, known.outside(function, [int(nodes_of(known, x)) for x in values], count))


def nodes_of(record: Record, x) -> np.ndarray:
    """The nodes of an array, or of constants."""
    if isinstance(x, Recorded):
        return x.nodes
    x = np.asarray(x)
    if x.dtype.kind not in "biufO":
        raise TypeError(f"{x.dtype} numbers")
    nodes = [int(v.nodes) if isinstance(v, Recorded) else record.constant(v) for v in x.ravel().tolist()]
    return np.array(nodes, dtype=np.int64).reshape(x.shape)


def _plainly(function: Callable, name: str, args, kwargs) -> Any:
    """What a function finds of numbers that follow from parameters alone."""

    def plain(x):
        if isinstance(x, list | tuple):
            return [plain(y) for y in x]
        if not isinstance(x, Recorded):
            return x
        if any(x.record.varies[v] for v in x.nodes.ravel().tolist()):
            raise Unrecordable(f"uses numpy.{name}")
        return np.asarray(x) if x.ndim else float(x)

    return function(*map(plain, args), **{key: plain(x) for key, x in kwargs.items()})


def _record_of(items) -> Record:
    return next(x.record for x in items if isinstance(x, Recorded))


def _by_nodes(rule: Callable) -> Callable:
    """A function of arrays that applies a rule of a record to the nodes of their entries."""

    def found(*arrays):
        record = _record_of(arrays)
        given = [nodes_of(record, x) for x in arrays]
        return Recorded(record, np.frompyfunc(functools.partial(rule, record), len(given), 1)(*given))

    return found


def _operation(number: int) -> Callable:
    return _by_nodes(lambda record, *given: record.function(number, *given))


def _opposite_leg(x):
    """``sqrt(1 - x^2)``, accurate also close to 1."""
    return np.sqrt((1.0 - x) * (1.0 + x))


_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])  # axes after each axis


def _array(x):
    return x if hasattr(x, "ndim") else np.asarray(x)


def matmul(a, b):
    a, b = _array(a), _array(b)
    if b.ndim == 1:
        return (a * b).sum(-1)
    if a.ndim == 1:
        return (a[:, None] * b).sum(-2)
    return (a[..., :, :, None] * b[..., None, :, :]).sum(-2)


_UFUNCS: dict[np.ufunc, Callable] = {
    **{function: _operation(number) for number, function in FUNCTIONS.items()},
    np.negative: _by_nodes(Record.negate), np.add: _by_nodes(Record.add), np.subtract: _by_nodes(Record.subtract),
    np.divide: _by_nodes(Record.divide), np.power: _by_nodes(Record.power), np.float_power: _by_nodes(Record.power),
    **dict.fromkeys((np.multiply, np.logical_and, np.bitwise_and), _by_nodes(Record.multiply)),
    **dict.fromkeys((np.logical_or, np.bitwise_or), lambda x, y: np.where(x, 1.0, y)),
    **dict.fromkeys((np.logical_not, np.invert), lambda x: np.where(x, 0.0, 1.0)),
    np.matmul: matmul, np.positive: _by_nodes(lambda record, a: a), np.square: lambda x: x * x, np.reciprocal: lambda x: 1.0 / x,
    np.tan: lambda x: np.sin(x) / np.cos(x), np.hypot: lambda x, y: np.sqrt(x * x + y * y),
    np.arctan: lambda x: np.arctan2(x, 1.0), np.arcsin: lambda x: np.arctan2(x, _opposite_leg(x)),
    np.arccos: lambda x: np.arctan2(_opposite_leg(x), x),
    np.greater: lambda x, y: np.less(y, x), np.greater_equal: lambda x, y: np.less_equal(y, x),
    np.not_equal: lambda x, y: np.logical_not(np.equal(x, y)), np.isnan: lambda x: np.not_equal(x, x),
    np.isfinite: lambda x: np.abs(x) <= np.finfo(float).max,
    # nan if either is nan, as in numpy
    np.minimum: lambda x, y: np.where(np.isnan(x) | (x <= y), x, y),
    np.maximum: lambda x, y: np.where(np.isnan(x) | (x >= y), x, y),
}  # fmt: skip


def dot(a, b):
    a, b = _array(a), _array(b)
    return a * b if a.ndim == 0 or b.ndim == 0 else matmul(a, b)


def _cross(a, b):
    a, b = _array(a), _array(b)
    return a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT]


def _norm(x, ord=None, axis=None):
    if ord not in (None, 2, "fro") or (ord == 2 and x.ndim != 1 and axis is None):
        raise Unrecordable(f"uses numpy.linalg.norm(ord={ord!r})")
    return np.sqrt((x * x).sum(axis))


def _moved(function: Callable) -> Callable:
    """A function that only moves entries, of an array or of several."""

    def moved(given, *args, **kwargs):
        if isinstance(given, Recorded):
            return Recorded(given.record, function(given.nodes, *args, **kwargs))
        given = list(given)
        record = _record_of(given)
        return Recorded(record, function([nodes_of(record, x) for x in given], *args, **kwargs))

    return moved


def _flat(x: Recorded) -> list[Recorded]:
    return [Recorded(x.record, node) for node in x.nodes.ravel()]


def _asked(function: Callable) -> Callable:
    """A function that compares entries, each of which is asked."""
    return lambda x: int(function(np.array(_flat(x), dtype=object)))


def _clip(x, a_min=None, a_max=None):
    x = x if a_min is None else np.maximum(x, a_min)
    return x if a_max is None else np.minimum(x, a_max)


_FUNCTIONS: dict[Callable, Callable] = {
    **{function: _moved(function) for function in (np.stack, np.concatenate, np.hstack, np.transpose, np.diagonal)},
    np.dot: dot, np.inner: lambda a, b: dot(a, _array(b).T), np.vdot: lambda a, b: (_array(a) * _array(b)).sum(),
    np.cross: _cross, np.outer: lambda a, b: _array(a)[:, None] * _array(b), np.linalg.norm: _norm,
    np.trace: lambda a: np.diagonal(a).sum(-1), np.sum: lambda x, axis=None: x.sum(axis), np.where: _by_nodes(Record.select),
    np.any: lambda x: any(map(bool, _flat(x))), np.all: lambda x: all(map(bool, _flat(x))),
    np.argmax: _asked(np.argmax), np.argmin: _asked(np.argmin), np.clip: _clip,
}  # fmt: skip
