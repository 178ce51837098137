"""The peer Pardiso (of MKL) for symmetric complex matrices on one pattern.

pypardiso itself takes real matrices only; here its low-level interface is called with matrix type 6 (complex symmetric, upper
triangle): analysis once, then factorization and solution for every frequency, on as many threads as MKL takes.
"""

from __future__ import annotations

import ctypes

import numpy as np

from .peers import peer

ANALYZE, SOLVE = 11, 23


class ComplexSymmetric:
    """Solver for upper triangles (CSR: columns ``indices`` in order, rows by ``indptr``) that differ in their values only."""

    def __init__(self, indices: np.ndarray, indptr: np.ndarray, values: np.ndarray):
        self.solver = peer("Pardiso").PyPardisoSolver(mtype=6)
        self.rows, self.columns = (np.asarray(a + 1, dtype=np.int32) for a in (indptr, indices))
        self._call(ANALYZE, values, np.zeros(len(indptr) - 1, dtype=complex))

    def solve(self, values: np.ndarray, load: np.ndarray) -> np.ndarray:
        """x of ``Z x = load``, all complex."""
        return self._call(SOLVE, values, load)

    def _call(self, phase: int, values: np.ndarray, load: np.ndarray) -> np.ndarray:
        s, whole = self.solver, ctypes.c_int32
        x, error = np.empty_like(load), whole(0)

        def number(n: int):
            return ctypes.byref(whole(n))

        def array(a: np.ndarray, kind=ctypes.c_double):
            return a.ctypes.data_as(ctypes.POINTER(kind))

        s._mkl_pardiso(
            array(s.pt, ctypes.c_int64), number(1), number(1), number(s.mtype), number(phase), number(len(load)),
            array(values), array(self.rows, whole), array(self.columns, whole), array(s.perm, whole), number(1),
            array(s.iparm, whole), number(0), array(load), array(x), ctypes.byref(error),
        )  # fmt: skip
        if error.value:
            raise RuntimeError(f"Pardiso failed with error {error.value}")
        return x

    def close(self) -> None:
        """Give MKL's memory back."""
        self._call(-1, np.zeros(1, dtype=complex), np.zeros(len(self.rows) - 1, dtype=complex))
