"""Straight parts of kernels compute what they compute as Python code."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from mse.kernels.straight_ir import straight, summing


def mixed(row, table, at, x, out):
    """All that straight parts may do."""
    total = 0.0
    for i in range(3):
        out[at + i] = -row[i] / (2 - x) + 3 * table[i, at - 1] - 1.0 / (x + row[2 * i])
        total += (1 - out[at + i]) * 0.5 + x / row[i]
    out[0], out[1] = out[1], total - 2
    return total


ROW, TABLE = np.array([0.3, -1.7, 2.9, 0.11, 5.3]), np.arange(12.0).reshape(3, 4) / 7.0


def test_a_part_gives_the_bits_that_python_gives():
    part, there, here = straight(mixed), np.ones(6), np.ones(6)
    found = njit(lambda row, table, at, x, out: part(row, table, at, x, out))(ROW, TABLE, 2, 0.7, there)
    assert found == mixed(ROW, TABLE, 2, 0.7, here)
    np.testing.assert_array_equal(there, here)


def test_a_part_without_a_result_gives_zero_and_takes_numbers_that_are_written_out():
    @straight
    def put(row, at, x):
        row[at] = x

    row = np.zeros(2)
    assert njit(lambda row: put(row, 1, 2.0))(row) == 0.0 and row.tolist() == [0.0, 2.0]


def test_only_summing_parts_may_add_products_in_one_instruction():
    def product(row, x):
        row[0] += row[1] * x

    for decorate, fused in ((straight, False), (summing, True)):
        part = decorate(product)

        @njit
        def kernel(row, x, part=part):
            part(row, x)

        kernel(ROW.copy(), 0.5)
        assert (" contract " in "".join(kernel.inspect_llvm().values())) == fused


def test_rows_whose_numbers_do_not_lie_one_behind_the_other_are_refused():
    part = straight(mixed)
    kernel = njit(lambda row, table, out: part(row, table, 2, 0.5, out))
    for row in (np.ones(12)[::2], np.ones(6, dtype=int)):
        with pytest.raises(TypingError, match="mixed takes rows of float64 one behind the other"):
            kernel(row, TABLE, np.zeros(6))
