"""BLAS on one thread while mse computes.

NumPy's wheels and SciPy's each bring an OpenBLAS with its own threads.  These wake up from about a hundred rows on, and spin
while they wait for the next product.  For the matrices of a search they cost more time than they save (tens of times as much on a
machine that others use too), and sums depend on the number of threads.
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
)  # prefixes and suffixes of OpenBLAS's names in wheels and distributions


@cache
def libraries() -> tuple[tuple[Callable[[], int], Callable[[int], None]], ...]:
    """Functions that read and set the number of threads of each OpenBLAS that NumPy and SciPy use.

    They are found through the extension modules that are linked with it.  Other libraries (MKL, Accelerate), and systems without
    this look-up (Windows), stay unchanged.
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
                    found.setdefault(ctypes.cast(get, ctypes.c_void_p).value, (get, put))  # may be the same one
    return tuple(found.values())


class _OneThread(ContextDecorator):
    """The number of threads belongs to the process: the first to enter sets it to one, the last to leave restores it."""

    def __init__(self):
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        # in the child of a fork other threads and their locks do not exist
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
