"""BLAS on one thread while mse computes.

The OpenBLAS of NumPy's wheels and that of SciPy's each keep threads of their own, which they wake from some hundred rows on, and
which spin while they wait for the next product.  For the matrices of a search that takes more than it gives, tens of times as
much on a machine that others use too, and sums depend on how many threads there are.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from functools import cache

_PREFIXES, _SUFFIXES = (
    ("scipy_", ""),
    ("64_", "", "_64"),
)  # of the names in OpenBLAS, as wheels and distributions have them


@cache
def libraries() -> tuple[tuple[Callable[[], int], Callable[[int], None]], ...]:
    """How to read and to set the number of threads of each OpenBLAS that NumPy and SciPy compute with.

    Looked for through the extension modules that are linked with it.  Other libraries (MKL, Accelerate), and systems that do not
    look names up so (Windows), have none here: they stay unchanged.
    """
    import numpy.linalg._umath_linalg
    import scipy.linalg.cython_blas

    found = {}
    for module in (numpy.linalg._umath_linalg, scipy.linalg.cython_blas):
        try:
            library = ctypes.CDLL(module.__file__)
        except OSError:
            continue
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                names = [f"{prefix}openblas_{what}_num_threads{suffix}" for what in ("get", "set")]
                if all(hasattr(library, name) for name in names):
                    get, put = (getattr(library, name) for name in names)
                    get.restype, get.argtypes = ctypes.c_int, []
                    put.restype, put.argtypes = None, [ctypes.c_int]
                    found.setdefault(ctypes.cast(get, ctypes.c_void_p).value, (get, put))  # both may be the same one
    return tuple(found.values())


class _OneThread(ContextDecorator):
    """Numbers of threads belong to the process: the first that enters sets them to one, the last that leaves sets them back."""

    def __init__(self):
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        # other threads and their locks do not exist in the child of a fork
        self._lock, self._inside, self._before = threading.Lock(), 0, ()

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._before = tuple((put, count) for get, put in libraries() if (count := get()) > 1)
                for put, _ in self._before:
                    put(1)

    def __exit__(self, *error) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                for put, count in self._before:
                    put(count)


one_thread = _OneThread()
