"""Calls of compiled kernels by their address: a kernel that calls a long one so is compiled without it.

What differs from system to system may be handed over by its address, too: then a kernel is compiled once for all of them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from weakref import WeakValueDictionary

import numpy as np
from numba import config, typeof
from numba.core import cgutils, types
from numba.extending import intrinsic

# What kernels answer that are called so: all is well; something has no inertia, or is not found; a dead point is near; Python or
# the record of a law failed.
GOOD, NOT_GOOD, NEAR, BROKEN = range(4)


def address(kernel, arguments: tuple) -> int:
    """Where the code of a kernel is for arguments of these types; it is compiled if it is not there yet."""
    if config.DISABLE_JIT:
        return kernel
    signature = tuple(typeof(a) for a in arguments)
    kernel.compile(signature)
    found = kernel.overloads[signature]
    return found.library.get_pointer_to_function(found.fndesc.llvm_func_name)


_interpreted_at: WeakValueDictionary[int, InMemory] = WeakValueDictionary()  # where nothing is compiled


class InMemory:
    """What kernels are given, as numba has it in memory, from the address ``at`` on as long as this object lives.

    Arrays stay where they are.  They have to be of the types of the ``example`` of :func:`from_memory`, which nobody checks.
    """

    def __init__(self, given: tuple):
        self._given = given
        if config.DISABLE_JIT:
            self.at = id(self)
            _interpreted_at[self.at] = self
        else:
            self._numbers = np.fromiter(_numbers(given), np.int64)
            self.at = self._numbers.ctypes.data


def _numbers(given: tuple) -> Iterator[int]:
    """The numbers by which numba has integers, C-contiguous arrays and tuples of both in memory."""
    for one in given:
        if isinstance(one, tuple):
            yield from _numbers(one)
        elif isinstance(one, np.ndarray):
            # the first two would tell where references to the array are counted; this object holds one
            yield from (0, 0, one.size, one.itemsize, one.ctypes.data, *one.shape, *one.strides)
        else:
            yield one


def from_memory(example: tuple):
    """A function for kernels that gives the tuple at an address, which has the types of the example."""
    if config.DISABLE_JIT:
        return lambda at: _interpreted_at[at]._given
    given = typeof(example)

    @intrinsic
    def find(context, at):
        def put(context, builder, signature, values):
            data = context.get_data_type(given).as_pointer()
            return context.unpack_value(builder, given, builder.inttoptr(values[0], data))

        return given(at), put

    return find


# what numba calls where a kernel calls a function of a number and an integer: the status, and behind an address the result
_FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p, ctypes.c_double, ctypes.c_int64
)


class InPython:
    """A function of Python that gives an integer for a number and an integer, which kernels call by the address ``at``.

    It must raise nothing, and has to live as long as kernels call it.  Kernels may call it without holding Python's lock.
    """

    def __init__(self, function: Callable[[float, int], int]):
        def call(result, _, number: float, integer: int) -> int:
            result[0] = function(number, integer)
            return 0

        self._called = _FUNCTION(call)
        self.at = function if config.DISABLE_JIT else ctypes.cast(self._called, ctypes.c_void_p).value


def _interpreted(kernel, arguments):
    return kernel(*arguments)


def _calls(result):
    @intrinsic
    def call(context, address, arguments):
        given = [types.unliteral(one) for one in arguments.types]

        def put(context, builder, signature, values):
            at = context.call_conv.get_function_type(result, given).as_pointer()
            status, out = context.call_conv.call_function(
                builder, builder.inttoptr(values[0], at), result, given, cgutils.unpack_tuple(builder, values[1])
            )
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
            return out

        return result(address, arguments), put

    return call


# the integer that the kernel at an address gives for a tuple of arguments; and a call of one that gives nothing
called = _interpreted if config.DISABLE_JIT else _calls(types.int64)
done = _interpreted if config.DISABLE_JIT else _calls(types.none)
