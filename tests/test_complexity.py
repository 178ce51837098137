"""How the work grows with the size of a model, counted, not timed."""

from __future__ import annotations

import cProfile
import pstats

import pytest

from models import four_wire_chain


def calls(stages: int) -> tuple[int, int]:
    """Function calls made from system to 20 modes, and steps of the search."""
    system = four_wire_chain(stages)
    profile = cProfile.Profile()
    profile.enable()
    wp = system.find_working_point()
    wp.linearize().modes(20)
    profile.disable()
    return pstats.Stats(profile).total_calls, len(wp.history)


def test_work_from_system_to_modes_grows_no_faster_than_the_chain():
    calls(2)
    small, small_steps = calls(150)
    large, large_steps = calls(600)
    assert large < 4.3 * small
    assert large_steps <= small_steps + 1


@pytest.mark.parametrize("stages", [40, 160])
def test_stiffness_is_as_sparse_as_the_chain(stages):
    linear = four_wire_chain(stages).find_working_point().linearize()
    assert linear.K.nnz <= 3 * 36 * stages
    assert linear.M.nnz <= 36 * stages
