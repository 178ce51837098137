"""Kernels that are called by their address."""

import os
import subprocess
import sys

import numpy as np
import pytest

from mse.kernels.by_address import InMemory, InPython, address, called, from_memory
from mse.kernels.jit import kept


@kept()
def inner(row, k):
    if k >= row.shape[0]:
        raise IndexError("too far")
    row[k] += 1.5
    return k + 1


@kept()
def outer(at, row, k):
    return 10 * called(at, (row, k))


ARGUMENTS = np.zeros(3), 0


EXAMPLE = np.zeros((0, 0)), (0, np.zeros(0, dtype=bool)), np.zeros((0, 0, 0), dtype=complex)
found = from_memory(EXAMPLE)


@kept(_nrt=False)
def reached(at):
    table, (number, marks), blocks = found(at)
    table[1, 2] += number
    marks[1] = True
    return blocks[1, 0, 2].imag * table.shape[0] + marks.shape[0]


def test_what_is_in_memory_is_found_and_changed():
    table, marks, blocks = np.zeros((2, 3)), np.zeros(4, dtype=bool), np.zeros((2, 1, 3), dtype=complex)
    blocks[1, 0, 2] = 5.0j
    memory = InMemory((table, (7, marks), blocks))
    assert reached(memory.at) == 14.0
    np.testing.assert_array_equal(table, [[0, 0, 0], [0, 0, 7]])
    assert marks.tolist() == [False, True, False, False]


def test_a_kernel_is_called_and_changes_its_arguments():
    row = np.zeros(3)
    assert outer(address(inner, ARGUMENTS), row, 2) == 30
    np.testing.assert_array_equal(row, [0, 0, 1.5])


def test_what_it_raises_comes_through():
    with pytest.raises(IndexError, match="too far"):
        outer(address(inner, ARGUMENTS), np.zeros(3), 3)


def test_without_compiling_it_is_a_plain_call():
    code = "import test_by_address as t; t.test_a_kernel_is_called_and_changes_its_arguments(); print(type(t.outer)); "
    code += "t.test_what_is_in_memory_is_found_and_changed()"
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, cwd=os.path.dirname(__file__)
    )
    assert run.stdout == "<class 'function'>\n", run.stderr


@kept(nogil=True)
def asking(at, numbers):
    total = 0
    for x in numbers:
        total = 10 * total + called(at, (x, 1 if x > 1.0 else 0))
    return total


def test_kernels_ask_functions_of_python():
    given = []

    def answer(number, integer):
        given.append((number, integer))
        return integer + 2

    assert asking(InPython(answer).at, np.array([0.25, 1.5])) == 23
    assert given == [(0.25, 0), (1.5, 1)]
