"""Calls of compiled kernels by their address: a kernel that calls a long one so is compiled without it."""

from __future__ import annotations

from numba import config, typeof
from numba.core import cgutils, types
from numba.extending import intrinsic


def address(kernel, arguments: tuple) -> int:
    """Where the code of a kernel is for arguments of these types; it is compiled if it is not there yet."""
    if config.DISABLE_JIT:
        return kernel
    signature = tuple(typeof(a) for a in arguments)
    kernel.compile(signature)
    found = kernel.overloads[signature]
    return found.library.get_pointer_to_function(found.fndesc.llvm_func_name)


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
