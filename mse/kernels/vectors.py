"""Single numbers of an arena of :mod:`mse.kernels.lanes`, for numba: one matrix whose rows are vectors of eight columns.

Element ``i`` of an arena is number ``i % 8`` of its entry ``i // 8``, which for complex arenas holds eight real parts, then
eight imaginary ones.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .lanes import WIDTH, _joined, _of, _splat

_DOUBLE = ir.DoubleType()


def _places(context, builder, arena_type, arena, element) -> list:
    """Pointers to the parts of one element."""
    data = builder.bitcast(context.make_array(arena_type)(context, builder, arena).data, _DOUBLE.as_pointer())
    if not isinstance(arena_type.dtype, types.Complex):
        return [builder.gep(data, [element])]
    lane = builder.and_(element, ir.Constant(element.type, WIDTH - 1))
    # twice what is before the entry, then the lane
    real = builder.sub(builder.mul(element, ir.Constant(element.type, 2)), lane)
    return [builder.gep(data, [builder.add(real, ir.Constant(element.type, k * WIDTH))]) for k in range(2)]


@intrinsic
def spread(typing, arena, element):
    """Element number ``element`` of an arena, eight times."""

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
