"""Arenas of vectors: where they begin."""

from __future__ import annotations

import numpy as np
import pytest

from mse.kernels.vector_ir import WIDTH, aligned


@pytest.mark.parametrize("dtype", [float, complex])
def test_vectors_of_an_arena_are_lines_of_memory(dtype):
    for elements in (8, 24, 1000, 10_000, 1_000_000):
        arena = aligned(elements, dtype)
        assert arena.shape == (elements,) and arena.dtype == dtype
        assert arena.ctypes.data % (WIDTH * np.dtype(float).itemsize) == 0
        assert arena.flags.c_contiguous and arena.flags.writeable
        arena[:] = 1.0
