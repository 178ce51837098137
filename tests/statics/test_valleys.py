"""Searches end in the valley that a slow descent from their start leads into."""

from __future__ import annotations

import numpy as np
import pytest
from valleys import agrees, crooked, jointed, merit_of, slow_descent

from mse.numerics.options import SIZES


@pytest.mark.slow
def test_searches_end_where_a_slow_descent_does(monkeypatch):
    """On both sides of the size from which on matrices stay sparse."""
    alike, steps, seeds = {300: [], 0: []}, {300: 0, 0: 0}, range(10)
    for seed in seeds:
        merit = merit_of(crooked(seed))
        there = slow_descent(merit, 0.01)
        assert np.isfinite(there)
        for dense in alike:
            monkeypatch.setattr(SIZES, "dense", dense)
            point = crooked(seed).find_working_point()
            alike[dense].append(agrees(point, merit, there))
            steps[dense] += len(point.history)
        monkeypatch.undo()
    # measured: 9 in 216 steps with dense matrices, 10 in 200 with sparse ones, which go along curves (of 24: 23 and 24)
    assert min(sum(a) for a in alike.values()) >= 8, alike
    assert steps[300] < 245 and steps[0] < 228


@pytest.mark.slow
def test_searches_of_mechanisms_end_where_a_slow_descent_does():
    """What joints allow is searched in another measure than the slow descent takes, and ends where that does."""
    alike, steps = [], 0
    for seed in range(16):
        merit = merit_of(jointed(seed))
        there = slow_descent(merit, 0.01)
        assert np.isfinite(there)
        point = jointed(seed).find_working_point()
        alike.append(agrees(point, merit, there))
        steps += len(point.history)
    # measured: all in 243 steps; of 40 all, and 37 with a first region of one size; a fifth more steps where turns count by
    # the whole size
    assert sum(alike) >= 15, alike
    assert steps < 263
