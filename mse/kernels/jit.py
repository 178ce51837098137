"""How numba compiles the kernels and keeps their code on disk.

Kernels avoid what numba compiles slowly, since the first call waits for it: slices that are assigned to (they
compile the text of their errors), ``@``, numpy's functions and arithmetic on whole arrays, arrays of other strides than
the rows of a matrix, for which every helper would be compiled again, and numbers written out as arguments of helpers, which
make a helper for each.  Compile time grows with statements and loops: code that several kernels share is one kernel.
"""

from __future__ import annotations

import gc
from contextlib import suppress

import numpy as np
from numba import njit
from numba.core import event

from .code_cache import CodeCache
from .first_use import first_use


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

    With a signature it is compiled at once, for that alone.
    """

    def decorate(function):
        kernel = njit(**options)(function)
        if kernel is function:  # NUMBA_DISABLE_JIT is set
            return function
        with suppress(RuntimeError):  # numba found no folder
            kernel._cache = CodeCache(function)
        for one in signature:
            kernel.compile(one)
        kernel.disable_compile(bool(signature))
        return kernel

    return decorate


def writable(array: np.ndarray) -> np.ndarray:
    """The array, or a copy of one that is read-only, for which numba would compile everything again."""
    return array if array.flags.writeable else array.copy()


# Without the entry for C, which nobody calls.  What only kernels call does without that for Python, too: both take as long
# to compile as a short function.
compiled = kept(no_cfunc_wrapper=True)
part = kept(no_cfunc_wrapper=True, no_cpython_wrapper=True)
