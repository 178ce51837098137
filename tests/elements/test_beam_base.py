"""The frames of beams, counted."""

from __future__ import annotations

import mse
from mse.elements import beam_base


def test_many_clamps_on_a_fine_beam_cost_little(tmp_path):
    """The frames of a beam are laid out once, not for each clamp."""
    s = mse.MSystem("s")
    fine = s.add(mse.Beam("fine", length=1.0, width=0.1, height=0.1, elements=1000, stations={"middle": 0.5}))
    assert fine.frame_names[:3] == ("0", "1", "middle") and len(fine.frame_names) == 1001
    for k in range(999):
        s.clamp(s.ground, f"fine.n{k + 1}" if k < 998 else "fine.middle")
    s.save(tmp_path / "x.json")
    beam_base._placed.cache_clear()
    assert len(mse.read_model(tmp_path / "x.json").clamps) == 999
    assert beam_base._placed.cache_info().misses == 1
