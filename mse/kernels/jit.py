"""How numba compiles the kernels and keeps their code on disk.

The first call waits for compilation, so kernels avoid what numba compiles slowly: assignment to slices (numba compiles the
text of their errors), ``@``, numpy functions and arithmetic on whole arrays, arrays whose strides are not those of the rows
of a matrix (every helper would be compiled again), and literal numbers as arguments of helpers (one helper for each,
and not for numbers of numpy such as ``np.int64(1)``).
Compile time grows with statements and loops, and each function costs another 0.06 s: code shared by several kernels is one
kernel, code used by one kernel is written inside it, and long arithmetic is a straight part (:mod:`.straight_ir`).  A part is
optimized again in each part that calls it, so a long one has one caller.  Beams allocate only by ``np.zeros``, since
``np.empty`` is one more function for each number of axes.
"""

from __future__ import annotations

import functools
import gc
from contextlib import suppress

import numpy as np
from numba import njit, typeof
from numba.core import event
from numba.extending import register_jitable

from .code_cache import CodeCache, CodeOfPart
from .first_use import Outermost, first_use

# Python takes 0.2 to 1.2 microseconds for each number given to these kernels (a blade of 8 elements gives up to 15,000).
# Compiling takes 0.14 to 0.5 s, loading compiled code 0.01 s.  So interpreting first loses a tenth of a second at most.
_INTERPRETED = 50_000


class Uncollected(Outermost):
    """Turns garbage collection off while kernels are compiled: searching everything numba holds takes a tenth of the time."""

    def begin(self, kernel) -> None:
        self._collecting = gc.isenabled()
        gc.disable()

    def end(self) -> None:
        if self._collecting:
            gc.enable()


event.register("numba:compile", first_use)
event.register("numba:compile", Uncollected())


def kept(*signature, **options):
    """``numba.njit`` with code kept on disk; if no folder is writable, every process compiles the kernels that it uses.

    No entry for C is made: nobody calls it, and it takes as long to compile as a short function.  With a signature, the
    function is compiled at once for that signature only.  Kernels that are called by address alone have no entry for Python
    either (``no_cpython_wrapper``), which for large tuples takes 0.2 to 0.4 s.
    """

    def decorate(function):
        kernel = njit(no_cfunc_wrapper=True, **options)(function)
        if kernel is function:  # NUMBA_DISABLE_JIT is set
            return function
        with suppress(RuntimeError):  # numba found no folder
            kernel._cache = CodeCache(function)
        for one in signature:
            kernel.compile(one)
        kernel.disable_compile(bool(signature))
        return kernel

    return decorate


def when_large(function, work=np.size):
    """Run as Python code for the first ``_INTERPRETED`` numbers in a process, unless compiled code is on disk.

    For sums, products and comparisons, which give the same bits either way: a small model has its first response sooner than
    the code could be compiled.  ``work`` gives how many numbers an array counts for.
    """
    kernel = compiled(function)
    left: int | None = None  # numbers until compiling pays off

    @functools.wraps(function)
    def called(*arguments):
        nonlocal left
        if left is None:
            left = 0 if on_disk(kernel) else _INTERPRETED
        if left > 0:
            left -= sum(work(a) for a in arguments if isinstance(a, np.ndarray))
        return (function if left > 0 else kernel)(*arguments)

    return called


def storable(kernel) -> bool:
    """Whether the code of a kernel can be kept."""
    # with NUMBA_DISABLE_JIT a kernel is the plain function
    return isinstance(getattr(kernel, "_cache", None), CodeCache)


def on_disk(kernel) -> bool:
    """Whether code of a kernel is on disk, from any process."""
    return storable(kernel) and kernel._cache.filled


def compiled_for(kernel, arguments: tuple) -> bool:
    """Whether a kernel is compiled for arguments of these types, in this process or on disk."""
    if not storable(kernel):
        return False
    signature = tuple(typeof(a) for a in arguments)
    return signature in kernel.overloads or kernel._cache.holds(signature, kernel.targetctx.codegen())


def compile_for(kernel, arguments: tuple) -> None:
    """Compile a kernel, or a part of kernels, for arguments of these types, and keep it."""
    signature = tuple(typeof(a) for a in arguments)
    kernel.compile(signature)
    if isinstance(kernel._cache, CodeOfPart):
        kernel._cache.keep(signature, kernel.overloads[signature])


def writable(array: np.ndarray) -> np.ndarray:
    """The array, or a copy if it is read-only: numba would compile everything again for read-only arrays."""
    return array if array.flags.writeable else array.copy()


compiled = kept()
# For functions called only by kernels: no entry for Python.  Their code is not kept, since the caller's code contains it.
part = njit(no_cfunc_wrapper=True, no_cpython_wrapper=True)

# For parts that allocate nothing and take many views of arrays: without counting who refers to an array, steps of trees take a
# quarter less time.
bare_part = njit(no_cfunc_wrapper=True, no_cpython_wrapper=True, error_model="numpy", _nrt=False)

# The same for short parts that a loop calls for each body, as each array handed over is seven numbers on the stack.
inner_part = njit(
    no_cfunc_wrapper=True, no_cpython_wrapper=True, error_model="numpy", _nrt=False, forceinline=True
)  # fmt: skip


def long_part(function):
    """A ``part`` that takes long to compile, whose code another process may leave on disk; see ``ahead``."""
    kernel = part(function)
    if kernel is not function:
        with suppress(RuntimeError):
            kernel._cache = CodeOfPart(function)
    return kernel


# For functions called by both Python and kernels.
shared = register_jitable
