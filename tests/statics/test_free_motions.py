"""Free motions returned to where users put them, at rest all the same."""

from __future__ import annotations

import pytest

from models import double_pendulum

pytestmark = pytest.mark.rounding


@pytest.mark.parametrize("line", ["wire", "spring"])
def test_without_loads_wires_carry_rounding_alone(line):
    """Residuals relative to loads that are rounding themselves must not pass for balance on the way back."""
    wp = double_pendulum(line=line).find_working_point(load_factor=0.0)
    assert max(abs(tension) for tension in wp.tensions.values()) < 1e-6
    assert wp.energy < 1e-20
