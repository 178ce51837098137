"""Internal forces of beams, as pictures and tables show them."""

from __future__ import annotations

import numpy as np
import pytest

import mse


def test_stress_is_drawn_along_the_elements_of_a_tapered_beam():
    system = mse.MSystem("blade", gravity=(0, 0, -9.81))
    b, h, length = (0.08, 0.02), 0.002, 0.25
    blade = system.add(mse.Beam("blade", length=length, width=b, height=h, elements=2, density=0.0))
    load = system.add(mse.Load("load", force=(0.0, 0.0, -0.01)))  # N: it bends by micrometers
    system.clamp(system.ground, blade.frame(0))
    system.clamp(blade.frame(1), load.frame(0))
    loads = blade.internal_forces(system.find_working_point())
    figure = loads.plot()
    s, largest = figure.axes[2].lines[0].get_data()
    width = b[0] + (b[1] - b[0]) * s / length
    np.testing.assert_allclose(largest, 6 * 0.01 * (length - s) / (width * h**2), rtol=1e-4, atol=1.0)
    # drawn lines follow the curve: 8 pieces an element leave 1 % of the stress at the thin end
    middle = 0.5 * (s[1:] + s[:-1])
    exact = 6 * 0.01 * (length - middle) / ((b[0] + (b[1] - b[0]) * middle / length) * h**2)
    assert np.abs(0.5 * (largest[1:] + largest[:-1]) - exact).max() < 1e-2 * exact.max()


def test_nodes_of_a_beam_are_one_row_where_both_sides_agree():
    system = mse.MSystem("blade", gravity=(0, 0, -9.81))
    blade = system.add(mse.Beam("blade", length=0.25, width=0.02, height=0.002, elements=4, stations={"middle": 0.125}))
    load = system.add(mse.Load("load", force=(0.0, 0.0, -1.0)))
    system.clamp(system.ground, blade.frame(0))
    system.clamp(blade.frame("middle"), load.frame(0))
    loads = blade.internal_forces(system.find_working_point())
    rows = np.array(loads.table().rows, dtype=float)
    assert len(loads.s) == 8 and rows[:, 0].tolist() == [
        0.0,
        0.0625,
        0.125,
        0.125,
        0.1875,
        0.25,
    ]  # it jumps at the load
    assert abs(rows[3, 3] - rows[2, 3]) == pytest.approx(1.0, rel=1e-3)
