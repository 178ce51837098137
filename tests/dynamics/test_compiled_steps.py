"""Steps that are made many in one call."""

import numpy as np
import pytest
import textbook as book

from mse.dynamics import compiled_steps
from mse.dynamics.compiled_steps import CompiledSteps


@pytest.mark.parametrize("system", [book.four_bars(1), book.trolley()], ids=["loops", "tree"])
def test_large_systems_make_fewer_steps_in_one_call_to_the_same_bits(system, monkeypatch):
    rows = book.count_leaps(monkeypatch, CompiledSteps)
    whole = system.simulate(duration=2.0, dt=0.5, rtol=1e-8, progress=False)
    assert rows == [whole.steps]
    monkeypatch.setattr(compiled_steps, "_WORK", 20)
    parts = system.simulate(duration=2.0, dt=0.5, rtol=1e-8, progress=False)
    assert max(rows[1:]) < 8
    assert sum(rows[1:]) == whole.steps
    assert np.array_equal(whole.values, parts.values)
