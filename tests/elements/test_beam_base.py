"""Beams: their frames, counted, and their units."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse.elements import beam_nodes


def test_many_clamps_on_a_fine_beam_cost_little(tmp_path):
    """The frames of a beam are laid out once, not for each clamp."""
    s = mse.MSystem("s")
    fine = s.add(mse.Beam("fine", length=1.0, width=0.1, height=0.1, elements=1000, stations={"middle": 0.5}))
    assert fine.frame_names[:3] == ("0", "1", "middle") and len(fine.frame_names) == 1001
    for k in range(999):
        s.clamp(s.ground, f"fine.n{k + 1}" if k < 998 else "fine.middle")
    s.save(tmp_path / "x.json")
    beam_nodes.placed.cache_clear()
    assert len(mse.read_model(tmp_path / "x.json").clamps) == 999
    assert beam_nodes.placed.cache_info().misses == 1


@pytest.mark.parametrize("form", ["elements", "exact"])
@pytest.mark.parametrize(
    ("meter", "kilogram", "second"), [(1e3, 1e-3, 1.0), (1e3, 1e3, 1.0), (1e6, 1e9, 1e3), (1 / 0.3, 1e12, 1 / 7.0)]
)
def test_a_blade_is_the_same_in_every_system_of_units(form, meter, kilogram, second):
    """``meter`` units of length, ``kilogram`` of mass and ``second`` of time: mm t s, mm g s, um ug ms, and others."""

    def frequencies(m, kg, s):
        density, modulus = kg / m**3, kg / (m * s**2)
        gravity = (0, 0, -9.81 * m / s**2)
        system = mse.MSystem("blade", gravity=gravity)
        blade = mse.Beam("blade", length=0.3 * m, width=0.05 * m, height=1e-3 * m, young_modulus=1.9e11 * modulus,
                         density=7850.0 * density, form=form)  # fmt: skip
        load = mse.RigidBody("load", mass=0.05 * kg, inertia=1e-5 * kg * m**2)
        system.add(blade), system.add(load)
        system.clamp(system.ground, blade.frame(0), mse.Pose.ry(np.pi / 2))
        system.clamp(blade.frame(1), load.frame(0))
        return system.find_working_point().linearize().modes(6).frequencies_hz * s

    np.testing.assert_allclose(frequencies(meter, kilogram, second), frequencies(1.0, 1.0, 1.0), rtol=1e-8)


def test_a_rod_without_units_has_bernoullis_frequencies():
    """``E I = rho A = 1`` of a rod that hardly stretches: area 2e8, density 5e-9; (n + 1/2)^2 pi^2 of a cantilever, corrected."""
    rod = mse.SectionBeam("rod", length=1.0, young_modulus=1.0, density=5e-9, area=2e8, second_moment_y=1.0,
                          second_moment_z=1.0, torsion_constant=1.0, theory="euler-bernoulli", elements=16)  # fmt: skip
    s = mse.MSystem("rod", gravity=(0, 0, 0))
    s.add(rod)
    s.clamp(s.ground, rod.frame(0))
    found = 2 * np.pi * s.find_working_point().linearize().modes(2).frequencies_hz
    np.testing.assert_allclose(found, [1.8751040687119611**2] * 2, rtol=1e-7)
