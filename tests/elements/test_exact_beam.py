"""The tension of an exact segment, alone."""

from __future__ import annotations

import numpy as np
import pytest

from mse.elements.exact_beam import ExactSegment


@pytest.mark.parametrize("seed", range(4))
def test_the_tension_fits_the_distance_of_the_ends(seed):
    """Slack, tight, compressed, bent by nothing to much, thin and thick: no tension fits better than the one found."""
    rng = np.random.default_rng(seed)
    modulus = 1e11
    for _ in range(500):
        length = 10 ** rng.uniform(-2, 1)
        radius = length * 10 ** rng.uniform(-6, -1)
        area, inertia = np.pi * radius**2, np.pi * radius**4 / 4
        shear = 0.35 * modulus * area if rng.random() < 0.5 else np.inf
        rigidity = modulus * np.array([area, 0.0, 0.0, inertia, inertia, inertia * rng.uniform(0.3, 1.0)])
        rigidity[1:3] = shear
        segment = ExactSegment("e1", length, rigidity, np.zeros(6))
        distance = length * (1 + rng.choice([0, 1, -1]) * 10 ** rng.uniform(-20, -2))
        turn = 10 ** rng.uniform(-18, -0.7) * rng.choice([0, 1, 1, 1])
        planes = [
            (*(turn * rng.standard_normal(2)), ei, 0.25 * length * distance / ei, length / (shear * distance))
            for ei in rigidity[4:]
        ]
        stretch, stiffness = distance - length, rigidity[0] / length

        def misfit(t, segment=segment, planes=planes, stretch=stretch, stiffness=stiffness):
            return stretch + segment._bending(planes, t)[1] - t / stiffness

        tension = segment._tension(planes, stretch)
        buckling = max(-(np.pi**2) / (p[3] + np.pi**2 * p[4]) for p in planes)
        if np.isnan(tension):
            # no tension above the buckling load, where bending shortens without end, fits
            assert stiffness * stretch <= buckling * (1 - 1e-9)
            continue
        assert tension >= buckling * (1 - 1e-9)
        off = 1e-9 * abs(tension)
        assert misfit(tension + off) <= 0.0
        assert tension - off <= buckling or misfit(tension - off) >= 0.0
