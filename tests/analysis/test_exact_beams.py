"""Beams in their two forms, as users build them: exact in the frequency domain, and discretized."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mse
import rods
from mse import Pose
from paths import REFERENCE
from test_beams import CASE06, MATERIAL, THIN, cantilever

CASE08 = json.loads((REFERENCE / "case08_stiff_wire.json").read_text())
DOWN = Pose.ry(np.pi / 2)


def taut_wire(form: str, elements: int = 8, *, pull=98.1, length=1.0, **stations) -> mse.MSystem:
    """A steel wire of 0.3 mm radius, clamped at both ends, so much shorter at rest that it carries the pull.

    The closed form has length, mass and bending stiffness of the loaded state.  A rod bends by its material length, which
    makes E I/(1 + strain) at rest of it: with E - T/A for E both agree to the last digit.
    """
    s = mse.MSystem("taut wire", gravity=(0, 0, 0))
    modulus = 2e11 - pull / (np.pi * 9e-8)
    stretch = 1 + pull / (modulus * np.pi * 9e-8)
    wire = s.add(
        mse.RoundBeam(
            "wire", length=length / stretch, radius=3e-4, young_modulus=modulus, density=7800.0 * stretch, form=form,
            elements=elements, theory="euler-bernoulli", stations={k: v / stretch for k, v in stations.items()},
        )
    )  # fmt: skip
    s.clamp(s.ground, wire.frame(0))
    s.clamp(s.ground, wire.frame(1), Pose.dx(length))
    return s


def test_violin_modes_of_the_exact_form():
    found = taut_wire("exact", somewhere=0.37).find_working_point().linearize().modes(4).frequencies_hz
    # two polarizations each
    np.testing.assert_allclose(found, np.repeat([106.2253830039, 212.49164317908], 2), rtol=1e-8)


def test_a_wire_held_at_both_ends_alone_has_its_violin_modes():
    found = taut_wire("exact").find_working_point().linearize().modes(2).frequencies_hz
    np.testing.assert_allclose(found, [106.2253830039] * 2, rtol=1e-8)


@pytest.mark.slow
def test_violin_modes_of_the_discretized_form_converge_to_them():
    errors = []
    for n in (50, 100, 200):
        found = taut_wire("elements", n).find_working_point().linearize().modes(4).frequencies_hz
        errors.append(np.abs(found / np.repeat([106.2253830039, 212.49164317908], 2) - 1).max())
    assert errors[0] < 3e-3
    assert errors[1] < 0.2 * errors[0]
    assert errors[2] < 0.1 * errors[1]


def hanging(form: str, elements: int = 1, *, mass_inertia=0.0) -> mse.MSystem:
    """Case 08: a mass on a stiff wire of 0.6 m in the loaded state, with a driven top; the wire's own weight is left out."""
    p = CASE08["parameters"]
    modulus = p["E"] - p["T"] / p["A"]
    stretch = 1 + p["T"] / (modulus * p["A"])
    s = mse.MSystem("stiff wire", gravity=(0, 0, 0))
    wire = s.add(
        mse.RoundBeam(
            "wire", length=p["L"] / stretch, radius=p["radius"], young_modulus=modulus, density=p["rho"] * stretch,
            theory="euler-bernoulli", form=form, elements=elements,
        )
    )  # fmt: skip
    mass = s.add(mse.RigidBody("mass", mass=p["m"], inertia=mass_inertia))
    pull = s.add(mse.Load("pull", force=(0, 0, -p["T"])))
    top = s.add(mse.PositionActuator("top"))
    probe = s.add(mse.PositionSensor("probe"))
    s.clamp(s.ground, top.frame(1))
    s.clamp(top.frame(0), wire.frame(0), DOWN)
    s.clamp(wire.frame(1), mass.frame(0), DOWN.inverse())
    s.clamp(mass.frame(0), pull.frame(0))
    s.clamp(mass.frame(0), probe.frame(0))
    s.clamp(s.ground, probe.frame(1))
    return s


@pytest.mark.slow
def test_a_pendulum_on_a_stiff_wire_against_case_08():
    """Pinned lower end: a point mass feels no moment."""
    linear = hanging("exact").find_working_point().linearize()
    expected = CASE08["outputs"]["b"]["modes_hz_pinned"]
    found = linear.modes(20).frequencies_hz
    for f in (expected["pendulum"], *expected["violin_1_to_5"]):
        assert np.abs(found - f).min() < 1e-6 * f
    b = CASE08["outputs"]["b"]
    f = np.array(b["frequency_hz"])
    response = linear.frequency_response(f)["probe.x", "top.x"]
    wanted = np.array(b["top_to_mass_pinned_lossless"])
    np.testing.assert_allclose(response.real, wanted, rtol=2e-5, atol=1e-9 * np.abs(wanted).max())
    lossy = linear.frequency_response(f, loss={"wire": CASE08["parameters"]["phi"]})["probe.x", "top.x"]
    wanted = np.array(b["top_to_mass_pinned_phi"]["re"]) + 1j * np.array(b["top_to_mass_pinned_phi"]["im"])
    assert np.all(np.abs(lossy - wanted) <= 2e-5 * np.abs(wanted) + 1e-9 * np.abs(wanted).max())


@pytest.mark.slow
def test_both_forms_give_the_same_statics_and_low_modes():
    exact, parts = hanging("exact", mass_inertia=0.02), hanging("elements", 300, mass_inertia=0.02)
    one, other = (s.find_working_point() for s in (exact, parts))
    np.testing.assert_allclose(one.poses["mass.center"].o, other.poses["mass.center"].o, atol=1e-9)
    a, b = (wp.linearize().modes(9).frequencies_hz for wp in (one, other))
    # the discretized ends are as long as the bends at the clamps, 1.6 mm
    np.testing.assert_allclose(a, b, rtol=2e-3)


def test_receptance_of_a_lossy_cantilever_against_case_06():
    """Exact form to 1e-6; the discretized one, mixed with it in one response, to 1e-3."""
    r = CASE06["outputs"]["receptance"]
    f = np.array(r["frequency_hz"])
    wanted = r["uniform_thin_tip_displacement_per_N"]
    wanted = np.array(wanted["re"]) + 1j * np.array(wanted["im"])
    s = mse.MSystem("two cantilevers", gravity=(0, 0, 0))
    for form, place in (("exact", 0.0), ("elements", 1.0)):
        beam = s.add(mse.Beam(form, length=0.3, elements=16, form=form, theory="euler-bernoulli", **THIN, **MATERIAL))
        s.clamp(s.ground, beam.frame(0), Pose.dy(place))
        push, probe = s.add(mse.ForceActuator(f"push {form}")), s.add(mse.PositionSensor(f"probe {form}"))
        s.clamp(s.ground, push.frame(0))
        s.clamp(beam.frame(1), push.frame(1))
        s.clamp(beam.frame(1), probe.frame(0))
        s.clamp(s.ground, probe.frame(1))
    linear = s.find_working_point().linearize()
    response = linear.frequency_response(f, loss={"exact": r["eta"], "elements": r["eta"]})
    size = np.abs(wanted) + 1e-4 * np.abs(wanted).max()
    for form, tolerance in (("exact", 1e-6), ("elements", 1e-3)):
        found = response[f"probe {form}.z", f"push {form}.fz"]
        assert np.max(np.abs(found - wanted) / size) < tolerance, form
    assert np.abs(response["probe elements.z", "push exact.fz"]).max() == 0.0


@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
def test_the_exact_form_bends_statically_as_mohr_says(theory):
    down, turned = rods.tapered_tip(
        (0.04, 0.04), (0.02, 0.02), 0.3, 186e9, 0.3, 8000.0, theory=theory, force=1e-3, gravity=1e-4
    )
    beam = mse.Beam("beam", length=0.3, width=0.04, height=0.02, form="exact", theory=theory, **MATERIAL)
    pose = cantilever(beam, gravity=(0, 0, 1e-4), force=(0, 0, 1e-3)).find_working_point().poses["beam.1"]
    assert pose.o[2] == pytest.approx(down, rel=1e-6)
    assert -pose.rotation_vector()[1] == pytest.approx(turned, rel=1e-6)


@pytest.mark.slow
def test_exact_timoshenko_cantilevers_against_case_06():
    beam = mse.Beam("beam", length=0.3, width=0.03, height=0.05, form="exact", shear_factor=5 / 6, **MATERIAL)
    found = cantilever(beam).find_working_point().linearize().modes(20).frequencies_hz
    expected = CASE06["outputs"]["uniform_thick"]
    for plane in ("y", "z"):
        for f in expected[f"Timoshenko_{plane}_bending_hz_kappa_5_6"]:
            assert np.abs(found - f).min() < 1e-9 * f


@pytest.mark.slow
def test_a_member_bent_far_is_refused_in_the_exact_form():
    beam = mse.RoundBeam("beam", length=1.0, radius=1e-3, form="exact")
    wp = cantilever(beam, force=(0, 0, 3.0)).find_working_point(throw=False)
    if wp.converged:
        with pytest.raises(mse.ModelError, match=r"rotated by .* rad against the line"):
            wp.linearize()


# -- tension ----------------------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("arms", [2, 3, 8, 12])
def test_a_star_of_exact_members_that_fit_exactly_rests_where_it_is(arms):
    """Distances of ends that are the length but for rounding: bending shortens by less than that."""
    s = mse.MSystem("star", gravity=(0, 0, 0))
    hub = s.add(mse.RigidBody("hub", mass=1e-9, inertia=1e-9))
    plane = s.add(mse.Planar("plane", axis=(0, 0, 1)))
    s.clamp(s.ground, plane.frame(1))
    s.clamp(plane.frame(0), hub.frame(0))
    for k in range(arms):
        angle = 2 * np.pi * k / arms
        arm = s.add(mse.Beam(f"arm{k}", length=5.0, width=0.125, height=0.125, form="exact", theory="euler-bernoulli",
                             density=8000.0, young_modulus=2e11))  # fmt: skip
        pin = s.add(mse.Revolute(f"pin{k}", axis=(0, 0, 1)))
        s.clamp(hub.frame(0), arm.frame(0), Pose.rz(angle))
        s.clamp(s.ground, pin.frame(1), Pose.rz(angle) @ Pose.dx(5.0))
        s.clamp(pin.frame(0), arm.frame(1))
    wp = s.find_working_point()
    assert np.abs(wp.poses["hub.center"].o).max() < 1e-14
    # the hub turns, each arm as if pinned at both ends
    pinned = np.pi / 2 / 25 * np.sqrt(2e11 / 8000 * 0.125**2 / 12)
    found = wp.linearize().modes(1 + arms).frequencies_hz
    assert np.abs(found / pinned - 1).min() < 1e-6
