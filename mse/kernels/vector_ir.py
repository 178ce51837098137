"""Eight numbers side by side, for numba: the same arithmetic on eight frequencies at once in vector registers.

An arena is a flat array of float64 (real lanes) or complex128 (complex lanes), with eight elements an entry.  A complex entry
stores its eight real parts first and then its eight imaginary parts, so that no instruction has to shuffle them.  All
functions below work on both kinds; a machine without 512-bit vectors splits them.

Numba guarantees nothing about ``numba.core`` and ``llvmlite.ir``.  A new version of either may break this file, the only one
that uses LLVM; tests/analysis/frequency/test_sweep.py then fails.  :mod:`.ldl` says why it is worth that.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

WIDTH = 8

_LINE = 64  # bytes that a processor fetches from memory at once: a vector of eight


def aligned(elements: int, dtype: np.dtype | type) -> np.ndarray:
    """An uninitialized arena of ``elements``, aligned to memory lines; vectors across two lines cost a fifth of the time."""
    bytes_ = np.empty(elements * np.dtype(dtype).itemsize + _LINE, dtype=np.uint8)
    first = -bytes_.ctypes.data % _LINE
    return bytes_[first : len(bytes_) - _LINE + first].view(dtype)


_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, WIDTH)
_PAIR = ir.LiteralStructType((_VECTOR, _VECTOR))


class Lanes(types.Type):
    """Numba's type of eight real or eight complex numbers in registers."""

    def __init__(self, is_complex: bool):
        self.is_complex = is_complex
        super().__init__(name=f"Lanes({'complex' if is_complex else 'real'})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _PAIR if fe_type.is_complex else _VECTOR)


def _of(arena) -> Lanes:
    return Lanes(isinstance(arena.dtype, types.Complex))


def _parts(builder, lanes: Lanes, value) -> list:
    return [builder.extract_value(value, k) for k in range(2)] if lanes.is_complex else [value]


def _joined(builder, parts):
    if len(parts) == 1:
        return parts[0]
    return builder.insert_value(builder.insert_value(_PAIR(ir.Undefined), parts[0], 0), parts[1], 1)


def _pointers(context, builder, arena_type, arena, entry) -> list:
    data = context.make_array(arena_type)(context, builder, arena).data
    vectors = builder.bitcast(data, _VECTOR.as_pointer())
    count = 2 if isinstance(arena_type.dtype, types.Complex) else 1
    first = builder.mul(entry, ir.Constant(entry.type, count))
    return [builder.gep(vectors, [builder.add(first, ir.Constant(entry.type, k))]) for k in range(count)]


def _multiply_add(builder, a, b, c):
    """``a b + c`` with a single rounding if the machine can."""
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{WIDTH}f64"), [a, b, c])


def _splat(builder, scalar):
    one = builder.insert_element(_VECTOR(ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(
        one, _VECTOR(ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    )


@intrinsic
def load(typing, arena, entry):
    """Entry number ``entry`` of an arena."""

    def code(context, builder, signature, args):
        pointers = _pointers(context, builder, signature.args[0], *args)
        return _joined(builder, [builder.load(p, align=8) for p in pointers])

    return _of(arena)(arena, types.int64), code


@intrinsic
def store(typing, arena, entry, value):
    """Write ``value`` to entry number ``entry`` of an arena."""

    def code(context, builder, signature, args):
        pointers = _pointers(context, builder, signature.args[0], *args[:2])
        for p, part in zip(pointers, _parts(builder, signature.args[2], args[2]), strict=True):
            builder.store(part, p, align=8)
        return context.get_dummy_value()

    return types.void(arena, types.int64, value), code


@intrinsic
def zero(typing, arena):
    """Zeros of the arena's kind."""
    lanes = _of(arena)

    def code(context, builder, signature, args):
        return _joined(builder, [ir.Constant(_VECTOR, [0.0] * WIDTH)] * (2 if lanes.is_complex else 1))

    return lanes(arena), code


@intrinsic
def plus(typing, a, b):
    """``a + b``."""

    def code(context, builder, signature, args):
        pairs = zip(_parts(builder, a, args[0]), _parts(builder, b, args[1]), strict=True)
        return _joined(builder, [builder.fadd(x, y) for x, y in pairs])

    return a(a, b), code


@intrinsic
def minus_product(typing, c, a, b):
    """``c - a b``."""

    def code(context, builder, signature, args):
        before, left, right = (_parts(builder, c, x) for x in args)
        back = [builder.fneg(x) for x in left]
        if not c.is_complex:
            return _multiply_add(builder, back[0], right[0], before[0])
        real = _multiply_add(builder, left[1], right[1], _multiply_add(builder, back[0], right[0], before[0]))
        imag = _multiply_add(builder, back[1], right[0], _multiply_add(builder, back[0], right[1], before[1]))
        return _joined(builder, [real, imag])

    return c(c, a, b), code


@intrinsic
def plus_times(typing, c, a, values, at):
    """``c + a values[at]``, values being real numbers."""

    def code(context, builder, signature, args):
        pointer = context.make_array(signature.args[2])(context, builder, args[2]).data
        by = _splat(builder, builder.load(builder.gep(pointer, [args[3]])))
        pairs = zip(_parts(builder, a, args[1]), _parts(builder, c, args[0]), strict=True)
        return _joined(builder, [_multiply_add(builder, x, by, y) for x, y in pairs])

    return c(c, a, values, types.int64), code


@intrinsic
def plus_square(typing, c, a):
    """``c + |a|^2`` with real c."""

    def code(context, builder, signature, args):
        total = args[0]
        for x in _parts(builder, a, args[1]):
            total = _multiply_add(builder, x, x, total)
        return total

    return c(c, a), code


@intrinsic
def product(typing, a, b):
    """``a b``."""

    def code(context, builder, signature, args):
        left, right = (_parts(builder, a, x) for x in args)
        if not a.is_complex:
            return builder.fmul(left[0], right[0])
        real = _multiply_add(builder, left[0], right[0], builder.fneg(builder.fmul(left[1], right[1])))
        imag = _multiply_add(builder, left[0], right[1], builder.fmul(left[1], right[0]))
        return _joined(builder, [real, imag])

    return a(a, b), code


@intrinsic
def reciprocal(typing, a):
    """``1 / a``; infinite or not a number if a is zero."""

    def code(context, builder, signature, args):
        one = ir.Constant(_VECTOR, [1.0] * WIDTH)
        parts = _parts(builder, a, args[0])
        if not a.is_complex:
            return builder.fdiv(one, parts[0])
        size = _multiply_add(builder, parts[0], parts[0], builder.fmul(parts[1], parts[1]))
        scale = builder.fdiv(one, size)
        return _joined(builder, [builder.fmul(parts[0], scale), builder.fmul(builder.fneg(parts[1]), scale)])

    return a(a), code


@intrinsic
def polynomial(typing, arena, coefficients, at, rates, group):
    """``k + i h + i w c - w^2 m`` with (k, h, c, m) = coefficients[4 at : 4 at + 4] at the rates of a group.

    ``rates`` (2 groups * 8,) has eight w and eight -w^2 for each group; real lanes take ``k - w^2 m``.
    """
    lanes = _of(arena)

    def code(context, builder, signature, args):
        _, values, at, rates, group = args
        pointer = context.make_array(signature.args[1])(context, builder, values).data
        first = builder.mul(at, ir.Constant(at.type, 4))
        k, h, c, m = (
            _splat(builder, builder.load(builder.gep(pointer, [builder.add(first, ir.Constant(at.type, i))])))
            for i in range(4)
        )
        vectors = builder.bitcast(
            context.make_array(signature.args[3])(context, builder, rates).data, _VECTOR.as_pointer()
        )
        twice = builder.mul(group, ir.Constant(group.type, 2))
        w, minus_w2 = (
            builder.load(builder.gep(vectors, [builder.add(twice, ir.Constant(group.type, i))]), align=8)
            for i in range(2)
        )
        real = _multiply_add(builder, m, minus_w2, k)
        return _joined(builder, [real, _multiply_add(builder, c, w, h)] if lanes.is_complex else [real])

    return lanes(arena, coefficients, types.int64, rates, types.int64), code


# -- single numbers of an arena: a matrix whose rows are vectors of eight columns ---------------------------------
# Element ``i`` of an arena is number ``i % 8`` of its entry ``i // 8``.
def _places(context, builder, arena_type, arena, element) -> list:
    """Pointers to the parts of one element."""
    data = builder.bitcast(context.make_array(arena_type)(context, builder, arena).data, _DOUBLE.as_pointer())
    if not isinstance(arena_type.dtype, types.Complex):
        return [builder.gep(data, [element])]
    lane = builder.and_(element, ir.Constant(element.type, WIDTH - 1))
    # two numbers for each element before, then the lane
    real = builder.sub(builder.mul(element, ir.Constant(element.type, 2)), lane)
    return [builder.gep(data, [builder.add(real, ir.Constant(element.type, k * WIDTH))]) for k in range(2)]


@intrinsic
def spread(typing, arena, element):
    """Element number ``element`` of an arena, repeated eight times."""

    def code(context, builder, signature, args):
        places = _places(context, builder, signature.args[0], *args)
        return _joined(builder, [_splat(builder, builder.load(p)) for p in places])

    return _of(arena)(arena, types.int64), code


@intrinsic
def pick(typing, arena, element):
    """Element number ``element`` of an arena, as a number."""

    def code(context, builder, signature, args):
        values = [builder.load(p) for p in _places(context, builder, signature.args[0], *args)]
        if len(values) == 1:
            return values[0]
        out = context.make_complex(builder, signature.return_type)
        out.real, out.imag = values
        return out._getvalue()

    return arena.dtype(arena, types.int64), code


@intrinsic
def put(typing, arena, element, value):
    """Write a number to element number ``element`` of an arena."""

    def code(context, builder, signature, args):
        places = _places(context, builder, signature.args[0], *args[:2])
        if len(places) == 1:
            builder.store(args[2], places[0])
        else:
            number = context.make_complex(builder, signature.args[2], args[2])
            builder.store(number.real, places[0])
            builder.store(number.imag, places[1])
        return context.get_dummy_value()

    return types.void(arena, types.int64, arena.dtype), code
