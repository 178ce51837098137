"""Ctrl-C while responses are interpolated."""

import numpy as np
import pytest

from mse.analysis.frequency.interpolation import interpolated
from mse.analysis.frequency.sweep import Stopped


@pytest.mark.parametrize("before", [0, 1, 7])
def test_what_was_solved_before_ctrl_c_is_kept(before):
    f, unit = np.linspace(1.0, 2.0, 500), np.zeros((2, 3), dtype=int)

    def solve(some):
        solved = np.arange(len(some)) < before
        raise Stopped(np.ones((len(some), *unit.shape)) / some[:, None, None], solved)

    with pytest.raises(Stopped) as stopped:
        interpolated(solve, f, unit, 1e-6)
    done = stopped.value.solved
    assert stopped.value.values.shape == (500, 2, 3) and done.sum() == before and not stopped.value.interpolated
    np.testing.assert_array_equal(stopped.value.values[done][:, 0, 0], 1.0 / f[done])
