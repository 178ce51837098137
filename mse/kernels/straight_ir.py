"""Arithmetic without conditions on its numbers, for kernels: LLVM gets it as it is written, and numba does not look into it.

numba takes a millisecond for each sum and product, to find its types and to lower it.  A *straight* part is run once as Python
where a kernel calls it, on stand-ins for its numbers, which write each operation into the code of the kernel.  Loops are
unrolled by that, and plain functions may be called.  Steps of trees compile in 6 s instead of 16 s, and run as fast.

As :mod:`.vector_ir` this depends on parts of numba and llvmlite that may change; tests/kernels/test_straight_ir.py then fails.
"""

from __future__ import annotations

import inspect

from llvmlite import ir
from numba import config
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

_DOUBLE, _INT = ir.DoubleType(), ir.IntType(64)


class _Number:
    """Stands for a number, or for a place in a row."""

    def __init__(self, builder, value, flags: tuple[str, ...]):
        self.builder, self.value, self.flags = builder, value, flags

    def _with(self, name: str, other, swapped: bool = False) -> _Number:
        real = self.value.type == _DOUBLE
        other = (
            other.value if isinstance(other, _Number) else ir.Constant(self.value.type, (float if real else int)(other))
        )
        pair = (other, self.value) if swapped else (self.value, other)
        out = getattr(self.builder, f"f{name}")(*pair, flags=self.flags) if real else getattr(self.builder, name)(*pair)
        return _Number(self.builder, out, self.flags)

    def __add__(self, other):
        return self._with("add", other)

    def __radd__(self, other):
        return self._with("add", other, True)

    def __sub__(self, other):
        return self._with("sub", other)

    def __rsub__(self, other):
        return self._with("sub", other, True)

    def __mul__(self, other):
        return self._with("mul", other)

    def __rmul__(self, other):
        return self._with("mul", other, True)

    def __truediv__(self, other):
        return self._with("div", other)

    def __rtruediv__(self, other):
        return self._with("div", other, True)

    def __neg__(self):
        return _Number(self.builder, self.builder.fneg(self.value), self.flags)


class _Row:
    """Stands for an array of numbers, of which ``lengths`` are how many there are along its axes."""

    def __init__(self, builder, data, lengths: list, flags: tuple[str, ...]):
        self.builder, self.data, self.lengths, self.flags = builder, data, lengths, flags

    def _pointer(self, places):
        at = None
        for place, length in zip(places if isinstance(places, tuple) else (places,), self.lengths, strict=True):
            place = place.value if isinstance(place, _Number) else ir.Constant(_INT, place)
            at = place if at is None else self.builder.add(self.builder.mul(at, length), place)
        return self.builder.gep(self.data, [at], inbounds=True)

    def __getitem__(self, places) -> _Number:
        return _Number(self.builder, self.builder.load(self._pointer(places)), self.flags)

    def __setitem__(self, places, value) -> None:
        value = value.value if isinstance(value, _Number) else ir.Constant(_DOUBLE, float(value))
        self.builder.store(value, self._pointer(places))


def straight(function, flags: tuple[str, ...] = ()):
    """A part of kernels whose conditions and loops, if it has any, do not depend on its arguments.

    These are real numbers, places in arrays, counted from 0, and arrays of real numbers that lie one behind the other.  It gives
    one real number at the most; what else it finds it writes into arrays.
    """
    if config.DISABLE_JIT:
        return function
    own = inspect.signature(function)

    def stand_in(context, builder, kind, value):
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, value)
            return _Row(builder, array.data, [builder.extract_value(array.shape, k) for k in range(kind.ndim)], flags)
        return _Number(builder, value, flags)

    def typed(typing, *arguments):
        for kind in arguments:
            if isinstance(kind, types.Array) and (kind.layout != "C" or kind.dtype != types.float64):
                raise TypingError(f"{function.__name__} takes rows of float64 one behind the other, not {kind}")
        kinds = [k if isinstance(k, types.Array) else types.unliteral(k) for k in arguments]

        def code(context, builder, signature, values):
            out = function(*(stand_in(context, builder, *one) for one in zip(signature.args, values, strict=True)))
            return _DOUBLE(0.0) if out is None else out.value

        return types.float64(*kinds), code

    typed.__name__ = function.__name__
    typed.__doc__ = function.__doc__
    typed.__signature__ = own.replace(
        parameters=[inspect.Parameter("typing", inspect.Parameter.POSITIONAL_OR_KEYWORD), *own.parameters.values()]
    )
    return intrinsic(typed)


def summing(function):
    """The same with products that are added in one instruction.

    Which of two products that is, is not said: two kernels that take in the same part may differ in the last bit.
    """
    return straight(function, ("contract",))
