"""The inside of a clamped body, alone."""

from __future__ import annotations

import numpy as np
from textbook_frames import Bar, chain

from mse.linear.fixed_interface import FixedInterface


def test_a_missed_mode_is_noticed():
    m, k = chain(Bar(), 130)
    inside = FixedInterface(k[6:-6, 6:-6].tocsc(), m[6:-6, 6:-6].tocsc(), np.arange(6, 6 * 130))
    rates = inside.modes(6, None)[0]
    assert inside._complete(rates)
    assert not inside._complete(np.delete(rates, 2))
