"""How numba compiles the kernels and keeps their code on disk.

Kernels avoid what numba compiles slowly, since the first call waits for it: slices that are assigned to (they
compile the text of their errors), ``@``, numpy's functions and arithmetic on whole arrays, arrays of other strides than
the rows of a matrix, for which every helper would be compiled again, and numbers written out as arguments of helpers, which
make a helper for each.  Compile time grows with statements and loops, and each function costs some 0.06 s more: code that
several kernels share is one kernel, code that one uses stands in it.  Beams allocate by ``np.zeros`` alone, since ``np.empty``
is one more function for each number of axes.
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
from .first_use import first_use

# Python takes 0.2 to 1.2 microseconds for each number that these kernels are given (a blade of 8 elements gives them up to
# 15,000), compiling takes 0.14 to 0.5 s, loading what was compiled 0.01 s: a tenth of a second at most is lost by waiting.
_INTERPRETED = 50_000


class Uncollected(event.Listener):
    """No garbage is collected while kernels are compiled: searching all that numba holds takes a tenth of the time."""

    def __init__(self):
        self._open: list = []  # functions being compiled, each waiting for the next
        self._collecting = True

    def on_start(self, event) -> None:
        """A function is going to be compiled."""
        kernel = event.data["dispatcher"]
        if not self._open:
            if not (kernel.py_func.__module__ or "").startswith(f"{__package__}."):
                return
            self._collecting = gc.isenabled()
            gc.disable()
        self._open.append(kernel)

    def on_end(self, event) -> None:
        """A function has been compiled, or could not be."""
        if self._open and self._open[-1] is event.data["dispatcher"]:
            self._open.pop()
            if not self._open and self._collecting:
                gc.enable()


event.register("numba:compile", first_use)
event.register("numba:compile", Uncollected())


def kept(*signature, **options):
    """``numba.njit`` with code kept on disk; where no folder is writable, every process compiles the kernels that it uses.

    There is no entry for C, which nobody calls and which takes as long to compile as a short function.  With a signature it
    is compiled at once, for that alone.
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
    """As Python code for the first ``_INTERPRETED`` numbers that a process gives it, unless compiled code is on disk.

    For sums, products and comparisons of numbers, which are the same to the last bit either way: a small model has its first
    response before the code would be compiled.  ``work`` gives how many numbers an array counts for.
    """
    kernel = compiled(function)
    left: int | None = None  # numbers until it is worth compiling

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
    """Whether code of a kernel can be kept."""
    # a kernel is its function where NUMBA_DISABLE_JIT is set
    return isinstance(getattr(kernel, "_cache", None), CodeCache)


def on_disk(kernel) -> bool:
    """Whether code of a kernel is kept, from whatever process."""
    return storable(kernel) and kernel._cache.filled


def compile_for(kernel, arguments: tuple) -> None:
    """Compile a kernel, or a part of kernels, for arguments like these, and keep it."""
    signature = tuple(typeof(a) for a in arguments)
    kernel.compile(signature)
    if isinstance(kernel._cache, CodeOfPart):
        kernel._cache.keep(signature, kernel.overloads[signature])


def writable(array: np.ndarray) -> np.ndarray:
    """The array, or a copy of one that is read-only, for which numba would compile everything again."""
    return array if array.flags.writeable else array.copy()


compiled = kept()
# What only kernels call, without an entry for Python.  It is not kept: the code of what calls it contains it.
part = njit(no_cfunc_wrapper=True, no_cpython_wrapper=True)


def long_part(function):
    """A ``part`` that takes long to compile, with code that another process may leave on disk, see ``ahead``."""
    kernel = part(function)
    if kernel is not function:
        with suppress(RuntimeError):
            kernel._cache = CodeOfPart(function)
    return kernel


# What both Python and kernels call.
shared = register_jitable
