"""Beams so long that loads bend them as they like: straight ones put between pins that are nearer than their ends."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq

import mse
from mse import Pose
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.statics.merit_function import MeritFunction
from mse.statics.stages import WHOLE, loads_from_little

LENGTH, GAP, MODULUS, GRAVITY = 1.1, 1.0, 2e11, 9.81
STRAIN = 1e-3  # of a cable that carries its weight lengthwise


def cable(bendable: float, elements: int) -> mse.MSystem:
    """A beam between two pins; its weight times its length squared is so many times its bending stiffness."""
    radius = np.sqrt(4.0 * STRAIN / bendable) * LENGTH
    stiffness = MODULUS * np.pi / 4.0 * radius**4
    density = bendable * stiffness / LENGTH**3 / (GRAVITY * np.pi * radius**2)
    s = mse.MSystem("cable", gravity=(0, 0, -GRAVITY))
    beam = mse.RoundBeam(
        "beam", length=LENGTH, radius=radius, young_modulus=MODULUS, density=density, elements=elements
    )
    s.add(beam)
    for k, x in enumerate((0.0, GAP)):
        pin = s.add(mse.Spherical(f"pin{k}"))
        s.clamp(s.ground, pin.frame(1), Pose.dx(x))
        s.clamp(beam.frame(k), pin.frame(0))
    return s


def elastic_catenary() -> float:
    """Sag (m) of a cable without bending stiffness: H. M. Irvine, "Cable Structures" (1981), section 1.3.

    Along half of it, with weight W/L per length and W/(E A) = STRAIN: x = H s/EA + H/w asinh(w s/H), z alike.
    """
    half = 0.5 * LENGTH

    def span(h):  # h = H/W
        return h * STRAIN * half + h * LENGTH * np.arcsinh(half / (h * LENGTH)) - 0.5 * GAP

    h = brentq(span, 1e-2, 1e2)
    return STRAIN * half**2 / (2.0 * LENGTH) + h * LENGTH * (np.hypot(1.0, half / (h * LENGTH)) - 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("bendable", "elements"), [(1e5, 20), (3e5, 20), (3e6, 40), (3e7, 60)])
def test_a_straight_cable_is_found_hanging(bendable, elements):
    """Loads at once crumple them: 500 steps are not enough from 1e5 on."""
    wp = cable(bendable, elements).find_working_point()
    assert wp.stable and wp.relative_residual.max() < 1e-10 and len(wp.history) < 200
    sag = -wp.poses[f"beam.n{elements // 2}"].o[2]
    # chords of a parabola with n pieces, and the bending stiffness beside the pins
    assert sag == pytest.approx(elastic_catenary(), rel=1.0 / elements**2 + 2.0 / np.sqrt(bendable))


def stages_of(system: mse.MSystem):
    topology = Topology(system)
    merit = MeritFunction.of(topology, Assembly(topology, topology.unit))
    return loads_from_little(topology, WHOLE, merit.weights)


def test_loads_of_cables_are_raised_from_little_through_softened_stages():
    found = stages_of(cable(3e5, 4))
    loads = [stage.load_factor for stage in found]
    assert loads == sorted(loads) and loads[0] == 1e-4 and found[-1] == WHOLE
    assert all(
        stage.stiffness_ratio == np.inf for stage, after in pairwise(found) if after.load_factor > stage.load_factor
    )


def test_what_bending_holds_is_no_cable():
    assert stages_of(cable(1e3, 4)) == ()
    both = cable(3e5, 4)
    both.add(mse.RoundBeam("post", length=1.0, radius=0.1, young_modulus=MODULUS, density=1.0, elements=2))
    both.clamp(both.ground, both["post"].frame(0))
    assert stages_of(both) == ()
    hung = mse.MSystem("hung", gravity=(0, 0, -GRAVITY))
    body = hung.add(mse.RigidBody("body", mass=1.0, inertia=1.0, at=Pose.dz(-1.0)))
    hung.add(mse.Spring("spring", length=1.0, stiffness=1e3), between=(hung.ground, body))
    assert stages_of(hung) == ()
