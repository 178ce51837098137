"""What working points say of wires and beams that are hardly meant as they are."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose

STEEL = {"length": 0.5, "young_modulus": 2e11, "poisson_ratio": 0.3}


def hook(turned: float, radius: float = 1e-4, count: int = 1) -> mse.WorkingPoint:
    """A body that hangs on wires, their upper clamps ``turned`` about them."""
    s = mse.MSystem("hook", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.01, at=Pose.dz(-0.5)))
    for k in range(count):
        wire = s.add(mse.Wire(f"wire{k}", radius=radius, **STEEL))
        place = Pose.dx(0.05 * k)
        s.clamp(s.ground, wire.frame(1), place @ Pose.rz(turned))
        s.clamp(body.frame(0), wire.frame(0), place)
    return s.find_working_point()


def blade(turned: float) -> mse.WorkingPoint:
    """A blade whose head a body holds that is drawn ``turned`` about the axis of bending."""
    s = mse.MSystem("blade", gravity=(0, 0, -9.81))
    beam = s.add(mse.Beam("beam", length=0.3, width=0.03, height=5e-4))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.01, at=Pose.dz(-0.3)))
    s.clamp(s.ground, beam.frame(0), Pose.ry(np.pi / 2))
    s.clamp(beam.frame(1), body.frame(0), Pose.ry(turned - np.pi / 2))
    return s.find_working_point()


def test_what_hangs_straight_has_no_note():
    assert not hook(0.0).notes
    assert not hook(0.2).notes
    assert not blade(0.0).notes


@pytest.mark.parametrize("turned", [0.5, np.pi / 2, -np.pi / 2, 3.0])
def test_a_hook_that_twists_its_wire_is_named(turned):
    (note,) = hook(turned).notes
    assert note == (
        f"began with Wire 'wire0' twisted by {abs(turned):.3g} rad about its line, as the poses of its ends are; check those of "
        "its clamps, in radians"
    )


def test_several_wires_share_a_note():
    (note,) = hook(0.6, count=3).notes
    assert "(as well as wire" in note and "twisted by 0.6 rad" in note


def test_a_head_that_bends_its_blade_is_named():
    notes = blade(np.pi / 2).notes
    assert (
        "began with the ends of Beam 'beam' rotated by 1.57 rad against each other, compared with the beam at rest"
        in notes[-1]
    )
    assert notes[-1].endswith("check the poses of its clamps, in radians")


def test_an_update_does_not_repeat_how_the_search_began():
    assert not [n for n in hook(1.0).update({"body.mass": 1.1}).notes if n.startswith("began")]


def test_a_radius_in_micrometers_too_few_is_named_by_its_strain():
    (note,) = hook(0.0, radius=1e-5).notes
    assert note.startswith("found Wire 'wire0' stretched by 15.6 % of its length, beyond the 3 % that metals take")
    assert note.endswith("expected length and radius in m and young_modulus in Pa; correct them or its load")


def test_a_beam_that_is_strained_too_far_is_named():
    """``h/2R`` of a strip held in a quarter of a circle: 5.2 %."""
    s = mse.MSystem("arc", gravity=(0, 0, 0))
    beam = s.add(mse.Beam("beam", length=0.3, width=0.04, height=0.02))
    radius = 0.3 / (np.pi / 2)
    s.clamp(s.ground, beam.frame(0))
    s.clamp(s.ground, beam.frame(1), Pose((radius, 0, radius), Pose.ry(-np.pi / 2).U))
    found = [n for n in s.find_working_point().notes if "strained" in n]
    assert len(found) == 1 and "found Beam 'beam' strained by 5.2 % in its element" in found[0]
    assert found[0].endswith("correct them or its load")


def test_a_blade_that_is_curved_at_rest_is_not_strained_by_that():
    """Its rest shape turns its head by 0.6 rad, which is no mistake of its clamps either."""
    s = mse.MSystem("curved", gravity=(0, 0, 0))
    beam = s.add(mse.Beam("beam", length=0.3, width=0.03, height=0.02, curvature_y=2.0))
    s.clamp(s.ground, beam.frame(0))
    s.add(mse.RigidBody("body", mass=1.0, inertia=0.01))
    s.clamp(beam.frame(1), s["body"].frame(0))
    assert not s.find_working_point().notes
