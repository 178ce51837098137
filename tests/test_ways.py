"""Through how many files a call goes: what whoever follows it has to read."""

from __future__ import annotations

import pytest

from benchmarks.ways import Way, ways


@pytest.fixture(scope="module")
def found() -> dict[str, Way]:
    return ways()


@pytest.mark.parametrize(("what", "most"), [("constructors to K", 77), ("search", 46), ("linearize", 31)])
def test_no_way_leads_through_more_files_than_it_did(found, what, most):
    """Counts of ``python -m benchmarks.ways``: lower them where a way has become shorter."""
    assert len(found[what].entered) <= most, sorted(found[what].entered)


def test_a_search_enters_each_room_by_few_doors(found):
    """Energy, forces and constraints are asked of one file: laws and kernels stand behind it, and scales beside it."""
    entered = found["search"].entered
    assert "model/evaluation.py" in entered and "model/configuration.py" not in entered
    assert not any(name.startswith(("linear/", "analysis/", "tools/")) for name in entered)
