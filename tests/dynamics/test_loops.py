"""Why no step of bodies that close loops keeps a tolerance."""

import pytest
import textbook as book

import mse
from mse.dynamics import explicit, loops


def test_a_tolerance_that_rounding_denies_next_to_a_dead_point_is_told(monkeypatch):
    """Where steps may not be shorter than a tenth of the time that motions take, and dead points are where others are not."""
    monkeypatch.setattr(explicit, "NOTHING", 0.1)
    monkeypatch.setattr(loops, "_dead", lambda rtol: 0.3)
    said = "rtol = 1e-09 next to a dead point of joints, where rounding makes accelerations .*; expected a larger rtol; the"
    with pytest.raises(mse.MotionError, match=said) as caught:
        book.four_bars(2).simulate(duration=1.5, dt=0.1, initial={f"low{k}.angle'": 1.0 for k in range(3)}, rtol=1e-9)
    assert 0.5 < caught.value.motion.time[-1] < 0.8
