"""Beams against closed forms, independent solutions (rods.py) and the reference cases: statics and modes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mse
import rods
from mse import Pose
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.statics.merit_function import MeritFunction
from paths import REFERENCE

CASE06 = json.loads((REFERENCE / "case06_beams.json").read_text())
MATERIAL = {"young_modulus": 186e9, "poisson_ratio": 0.3, "density": 8000.0}
THIN, THICK = {"width": 0.04, "height": 0.002}, {"width": 0.03, "height": 0.05}


def cantilever(beam: mse.MObject, *, gravity=(0, 0, 0), base: Pose | None = None, **load) -> mse.MSystem:
    """A beam clamped to the ground, with a load on its tip."""
    s = mse.MSystem("cantilever", gravity=gravity)
    s.add(beam)
    s.clamp(s.ground, beam.frame(0), base or Pose())
    if load:
        tip = s.add(mse.Load("load", **load))
        s.clamp(beam.frame(1), tip.frame(0))
    return s


def slender(n: int, *, ea=1e9, iy=1.0, iz=1.0, j=1.0, length=1.0, **other) -> mse.SectionBeam:
    """A beam of unit modulus that hardly stretches and does not shear."""
    return mse.SectionBeam(
        "beam", length=length, young_modulus=1.0, poisson_ratio=-0.5, density=0.0, area=ea, second_moment_y=iy,
        second_moment_z=iz, torsion_constant=j, elements=n, theory="euler-bernoulli", **other,
    )  # fmt: skip


def tip(system: mse.MSystem, **options) -> np.ndarray:
    return system.find_working_point(**options).poses["beam.1"].o


def frequencies(system: mse.MSystem, count=None) -> np.ndarray:
    return system.find_working_point().linearize().modes(count).frequencies_hz


def nearest(found: np.ndarray, expected) -> np.ndarray:
    """Relative distance of each expected frequency to the closest found one."""
    return np.array([np.abs(found - f).min() / f for f in expected])


def order(errors, ratio=2.0) -> np.ndarray:
    errors = np.asarray(errors)
    return np.log(errors[:-1] / errors[1:]) / np.log(ratio)


# -- modes --------------------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "size"), [("uniform_thin", THIN), ("uniform_thick", THICK)])
def test_cantilevers_of_euler_and_bernoulli(kind, size):
    beam = mse.Beam("beam", length=0.3, elements=40, theory="euler-bernoulli", **size, **MATERIAL)
    found, expected = frequencies(cantilever(beam)), CASE06["outputs"][kind]
    for family in ("EB_z_bending_hz", "EB_y_bending_hz", "axial_hz", "torsion_hz"):
        assert nearest(found, expected[family][:5]).max() < 1e-7, family


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "size"), [("uniform_thin", THIN), ("uniform_thick", THICK)])
@pytest.mark.parametrize(("factor", "name"), [(5 / 6, "5_6"), (CASE06["parameters"]["kappa_cowper"], "cowper")])
def test_cantilevers_of_timoshenko(kind, size, factor, name):
    beam = mse.Beam("beam", length=0.3, elements=40, shear_factor=factor, **size, **MATERIAL)
    found, expected = frequencies(cantilever(beam)), CASE06["outputs"][kind]
    for plane in ("y", "z"):
        assert nearest(found, expected[f"Timoshenko_{plane}_bending_hz_kappa_{name}"][:3]).max() < 1e-6


@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
@pytest.mark.parametrize(
    ("width", "height"), [((0.08, 0.02), (0.003, 0.002)), ((0.04, 0.02), (0.02, 0.03)), ((0.05, 0.005), (0.01, 0.01))]
)
def test_tapered_cantilevers_with_eight_elements(theory, width, height):
    beam = mse.Beam("beam", length=0.3, width=width, height=height, elements=8, theory=theory, **MATERIAL)
    found = frequencies(cantilever(beam))
    for family, expected in rods.tapered_frequencies(width, height, 0.3, 186e9, 0.3, 8000.0, theory=theory).items():
        assert nearest(found, expected[:1]).max() < 1e-6, family


@pytest.mark.slow
@pytest.mark.parametrize(
    ("theory", "family", "expected"),
    [("euler-bernoulli", "z", 6.0), ("euler-bernoulli", "axial", 6.0), ("timoshenko", "z", 4.0)],
)
def test_order_of_convergence_of_frequencies(theory, family, expected):
    width, height = (0.05, 0.03), (0.04, 0.03)
    exact = rods.tapered_frequencies(width, height, 0.3, 186e9, 0.3, 8000.0, theory=theory)[family][2:3]
    errors = []
    for n in (6, 12, 24):
        beam = mse.Beam("beam", length=0.3, width=width, height=height, elements=n, theory=theory, **MATERIAL)
        errors.append(nearest(frequencies(cantilever(beam)), exact)[0])
    assert order(errors)[-1] == pytest.approx(expected, abs=0.1)


def test_a_function_and_a_pair_describe_the_same_taper():
    models = [mse.Beam("beam", length=1.0, width=w, height=0.01) for w in ((0.05, 0.02), lambda s: 0.05 - 0.03 * s)]
    a, b = (frequencies(cantilever(m), 6) for m in models)
    np.testing.assert_allclose(a, b, rtol=1e-10)


def test_sections_are_what_they_claim():
    """A round beam as a general section, and Saint-Venant's constant and stress of the rectangle."""
    r = 0.004
    one = mse.RoundBeam("beam", length=1.0, radius=r, poisson_ratio=0.3)
    i = np.pi * r**4 / 4
    other = mse.SectionBeam(
        "beam", length=1.0, area=np.pi * r**2, second_moment_y=i, second_moment_z=i, torsion_constant=2 * i, shear_factor_y=0.9,
        shear_factor_z=0.9,
    )  # fmt: skip
    np.testing.assert_allclose(frequencies(cantilever(one), 8), frequencies(cantilever(other), 8), rtol=1e-9)
    beam = mse.Beam("beam", length=1.0, width=0.03, height=0.05)
    assert beam.sections(np.array(0.0)).torsion == pytest.approx(
        CASE06["outputs"]["uniform_thick"]["J_saint_venant"], rel=1e-12
    )
    square = mse.Beam("square", length=1.0, width=0.01, height=0.01)
    # T&G, table of article 109: k2 = 0.208 for a square, tau = T/(k2 a b^2)
    assert 1e-6 * square.torsion_stress(np.array(0.0)) == pytest.approx(1 / 0.208, rel=2e-3)


# -- small deflections --------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
def test_tapered_cantilevers_bend_as_mohr_says(theory):
    width, height = (0.08, 0.02), (0.003, 0.002)
    make = lambda: mse.Beam("beam", length=0.3, width=width, height=height, elements=8, theory=theory, **MATERIAL)
    arguments = (width, height, 0.3, 186e9, 0.3, 8000.0)
    small = 1e-4
    down, turned = rods.tapered_tip(*arguments, theory=theory, force=small)
    pose = cantilever(make(), force=(0, 0, small)).find_working_point().poses["beam.1"]
    assert pose.o[2] == pytest.approx(down, rel=1e-6)
    assert -pose.rotation_vector()[1] == pytest.approx(turned, rel=1e-6)
    down, _ = rods.tapered_tip(*arguments, theory=theory, plane="y", force=small)
    assert tip(cantilever(make(), force=(0, small, 0)))[1] == pytest.approx(down, rel=1e-6)
    down, _ = rods.tapered_tip(*arguments, theory=theory, gravity=1e-4)
    assert tip(cantilever(make(), gravity=(0, 0, 1e-4)))[2] == pytest.approx(down, rel=1e-6)
    stretch, twist = rods.tapered_axial_tip(*arguments, force=100.0, torque=1e-4)
    assert tip(cantilever(make(), force=(100.0, 0, 0)))[0] - 0.3 == pytest.approx(stretch, rel=1e-6)
    pose = cantilever(make(), torque=(1e-4, 0, 0)).find_working_point().poses["beam.1"]
    assert pose.rotation_vector()[0] == pytest.approx(twist, rel=1e-6)


# -- large deflections --------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("load", [1.0, 5.0, 10.0])
def test_the_elastica(load):
    x, y, angle = rods.elastica_cantilever(load)
    wp = cantilever(slender(16), force=(0, load, 0)).find_working_point()
    np.testing.assert_allclose(wp.poses["beam.1"].o, [x, y, 0], rtol=0, atol=1e-6)
    assert wp.poses["beam.1"].rotation_vector()[2] == pytest.approx(angle, abs=1e-6)
    assert wp.stable


@pytest.mark.slow
@pytest.mark.parametrize(("load", "elements"), [(1.0, 16), (5.0, 16), (10.0, 24)])
def test_the_elastica_under_a_force_that_follows_its_tip(load, elements):
    x, y, _ = rods.elastica_follower(load)
    wp = cantilever(slender(elements), force=(0, load, 0), axes="frame").find_working_point()
    np.testing.assert_allclose(wp.poses["beam.1"].o, [x, y, 0], rtol=0, atol=1e-6)


def test_a_moment_rolls_a_beam_into_a_circle():
    wp = cantilever(slender(8, ea=1e4), torque=(0, 0, 2 * np.pi)).find_working_point()
    np.testing.assert_allclose(wp.poses["beam.1"].o, 0, atol=1e-8)
    np.testing.assert_allclose(wp.poses["beam.1"].U, np.eye(3), atol=1e-8)
    half_way = wp.poses["beam.n4"]
    np.testing.assert_allclose(half_way.o, [0, 1 / np.pi, 0], atol=1e-8)


@pytest.mark.slow
def test_order_of_convergence_of_large_deflections_in_space():
    """Unequal stiffnesses, force in no plane: bending, twist and shear together, against an independent solution."""
    stiffness = (1e4, 8e2, 5e2, 2.0, 1.0, 3.0)
    exact = rods.cosserat_cantilever(1.0, stiffness, force=(0.1, 0.8, 1.5)).tip
    errors = []
    for n in (8, 16, 32):
        beam = mse.SectionBeam(
            "beam", length=1.0, young_modulus=1.0, poisson_ratio=-0.5, density=0.0, area=1e4, shear_factor_y=0.08,
            shear_factor_z=0.05, second_moment_y=1.0, second_moment_z=3.0, torsion_constant=2.0, elements=n,
        )  # fmt: skip
        errors.append(np.linalg.norm(tip(cantilever(beam, force=(0.1, 0.8, 1.5))) - exact))
    assert errors[-1] < 1e-7
    assert order(errors)[-1] == pytest.approx(4.0, abs=0.1)


def bend(n: int, theory="timoshenko") -> mse.MSystem:
    beam = mse.Beam(
        "beam", length=25 * np.pi, width=1.0, height=1.0, young_modulus=1e7, poisson_ratio=0.0, density=0.0,
        curvature_z=-0.01, elements=n, theory=theory,
    )  # fmt: skip
    return cantilever(beam, base=Pose.rz(np.pi / 2), force=(0, 0, 600.0))


@pytest.mark.slow
def test_the_45_degree_bend_of_bathe_and_bolourchi():
    published = [15.9, 47.2, 53.4]
    finest = tip(bend(64))
    np.testing.assert_allclose(tip(bend(16)), finest, rtol=1e-5)
    np.testing.assert_allclose(finest, rods.bend45().tip, rtol=1e-8)
    np.testing.assert_allclose(tip(bend(32, "euler-bernoulli")), rods.bend45(shear=False).tip, rtol=1e-7)
    np.testing.assert_allclose(finest, published, rtol=0.025)


def test_rest_shapes_without_load_are_kept():
    """A closed ring, and a helix made of curvature and twist, cost no force."""
    ring = cantilever(mse.Beam("beam", length=1.0, width=0.02, height=0.002, curvature_z=2 * np.pi, elements=12))
    np.testing.assert_allclose(tip(ring), 0, atol=1e-12)
    helix = slender(5, twist=2.0, curvature_y=1.0)
    wp = cantilever(helix).find_working_point()
    w = np.array([2.0, 1.0, 0.0])
    turned = Pose.rotation(w).U
    t = np.linalg.norm(w)
    n = w / t
    along = np.array([1.0, 0.0, 0.0])
    place = np.sin(t) / t * along + (1 - np.cos(t)) / t * np.cross(n, along) + (1 - np.sin(t) / t) * (n @ along) * n
    np.testing.assert_allclose(wp.poses["beam.1"].o, place, atol=1e-12)
    np.testing.assert_allclose(wp.poses["beam.1"].U, turned, atol=1e-12)


@pytest.mark.slow
def test_a_blade_made_with_the_curvature_of_its_load_is_flat_under_it():
    e, force, length = 2e11, 30.0, 0.25
    width, height = (0.08, 0.02), 0.002
    rigidity = lambda s: e * (width[0] + (width[1] - width[0]) * s / length) * height**3 / 12
    blade = mse.Beam(
        "beam", length=length, width=width, height=height, young_modulus=e, density=0.0, elements=8,
        curvature_y=lambda s: -force * (length - s) / rigidity(s), theory="euler-bernoulli",
    )  # fmt: skip
    wp = cantilever(blade, force=(0, 0, -force)).find_working_point()
    free = cantilever(blade.copy("beam")).find_working_point()
    assert abs(wp.poses["beam.1"].o[2]) < 2e-6 * length
    assert free.poses["beam.1"].o[2] > 0.015


def test_rotated_worlds_leave_forces_and_frequencies_alone():
    def model(turn):
        base = Pose.rotation(turn * np.array([0.3, 0.5, 0.8]) / np.linalg.norm([0.3, 0.5, 0.8]))
        beam = mse.Beam("beam", length=0.4, width=(0.04, 0.01), height=0.006, curvature_y=-0.5, elements=6)
        s = cantilever(beam, gravity=tuple(base.U @ [0, 0, -9.81]), base=base)
        mass = s.add(mse.RigidBody("mass", mass=3.0, inertia=1e-3))
        s.clamp(beam.frame(1), mass.frame(0))
        wp = s.find_working_point()
        return wp.linearize().modes(6).frequencies_hz, beam.internal_forces(wp).forces

    f, cut = model(0.0)
    for turn in (1.0, 2.5, np.pi, 6.0):
        turned = model(turn)
        np.testing.assert_allclose(turned[0], f, rtol=1e-10)
        np.testing.assert_allclose(turned[1], cut, rtol=0, atol=1e-9 * np.abs(cut).max())


def test_load_cycles_return_to_the_start():
    s = cantilever(slender(8, ea=1e5, iz=3.0, j=2.0), force=(0.3, 1.0, 2.0))
    start = s.find_working_point(seek="nearest", load_factor=0.5)
    wp = start
    for load in (2.0, 4.0, -3.0, 1.0, 0.5):
        wp = s.find_working_point(seek="nearest", load_factor=load, start=wp)
    np.testing.assert_allclose(wp.state.o, start.state.o, atol=1e-9)
    np.testing.assert_allclose(wp.state.U, start.state.U, atol=1e-9)


def test_a_beam_between_two_placed_frames_starts_bent_to_fit():
    """Clamped at both ends, turned by half a turn and shifted: found from an unassembled start."""
    s = mse.MSystem("strip", gravity=(0, 0, 0))
    beam = s.add(slender(12, ea=1e5, iy=1.0, iz=1.0))
    s.clamp(s.ground, beam.frame(0))
    s.clamp(s.ground, beam.frame(1), Pose.dxdydz(0.0, 0.6, 0.1) @ Pose.rz(np.pi))
    wp = s.find_working_point()
    assert wp.stable
    assert wp.relative_residual.max() < 1e-6
    # the strip is symmetric about the plane half way
    np.testing.assert_allclose(wp.poses["beam.n6"].o[1], 0.3, atol=1e-6)


# -- internal forces ----------------------------------------------------------------------------------------------
def test_internal_forces_and_stress_of_a_loaded_cantilever():
    beam = mse.Beam("beam", length=1.0, width=0.03, height=0.02, elements=6, stations={"middle": 0.5}, density=7800.0)
    s = cantilever(beam, gravity=(0, 0, -9.81), force=(0, 0, -20.0), torque=(1.0, 0, 0))
    extra = s.add(mse.Load("extra", force=(0, 5.0, -10.0)))
    s.clamp(beam.frame("middle"), extra.frame(0))
    loads = beam.internal_forces(s.find_working_point())
    q = 7800 * 0.03 * 0.02 * 9.81
    beyond = loads.s < 0.5 - 1e-9
    beyond[np.flatnonzero(np.isclose(loads.s, 0.5))[0]] = True
    rest = 1.0 - loads.s
    np.testing.assert_allclose(loads.forces[:, 2], -20 - q * rest - 10 * beyond, rtol=1e-3)
    moment = 20 * rest + q * rest**2 / 2 + 10 * beyond * (0.5 - loads.s)
    np.testing.assert_allclose(loads.forces[:, 4], moment, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(loads.forces[:, 3], 1.0, rtol=2e-2)
    stress = moment[0] * 0.01 / (0.03 * 0.02**3 / 12) + 2.5 * 0.015 / (0.02 * 0.03**3 / 12)
    assert loads.largest == (pytest.approx(stress, rel=2e-3), 0.0)
    assert loads.equivalent[0] == pytest.approx(np.hypot(stress, np.sqrt(3) * loads.shear[0]), rel=2e-3)


def test_stiffness_parts_of_a_beam_are_named_by_mechanism_and_add_up():
    beam = mse.Beam("beam", length=0.3, elements=4, **THIN, **MATERIAL)
    model = cantilever(beam).find_working_point().linearize()
    names = ("axial", "shear", "torsion", "bending_y", "bending_z", "gravity", "geometric")
    assert tuple(model.stiffness_parts) == tuple(("beam", m) for m in names)
    whole = sum(model.stiffness_parts.values()).toarray()
    np.testing.assert_allclose(whole, model.K.toarray(), atol=1e-9 * np.abs(whole).max())
    # each elastic part alone resists only what it is named after: pull, twist, and bending in either plane
    tip_x, tip_z = (model.coordinates.index(f"beam.1.{axis}") for axis in "xz")
    compliance = np.linalg.inv(whole)
    unit = compliance[:, tip_z] / compliance[tip_z, tip_z]
    shares = {m: unit @ (model.stiffness_parts["beam", m] @ unit) for m in names[:5]}
    assert shares["bending_y"] > 0.99 * sum(shares.values())
    unit = compliance[:, tip_x] / compliance[tip_x, tip_x]
    shares = {m: unit @ (model.stiffness_parts["beam", m] @ unit) for m in names[:5]}
    assert shares["axial"] > 0.99 * sum(shares.values())


def test_two_beams_end_to_end_are_one():
    one = mse.Beam("beam", length=0.4, width=(0.04, 0.02), height=0.003, elements=8)
    s = mse.MSystem("two", gravity=(0, 0, -9.81))
    first = s.add(mse.Beam("first", length=0.2, width=(0.04, 0.03), height=0.003, elements=4))
    second = s.add(mse.Beam("second", length=0.2, width=(0.03, 0.02), height=0.003, elements=4))
    s.clamp(s.ground, first.frame(0))
    s.clamp(first.frame(1), second.frame(0))
    np.testing.assert_allclose(frequencies(s, 8), frequencies(cantilever(one, gravity=(0, 0, -9.81)), 8), rtol=1e-9)


def test_a_beam_turned_end_for_end_is_the_same():
    s = mse.MSystem("turned", gravity=(0, 0, -9.81))
    beam = s.add(mse.Beam("beam", length=0.4, width=(0.02, 0.04), height=0.003, elements=8))
    s.clamp(s.ground, beam.frame(1), Pose.rz(np.pi))
    one = mse.Beam("beam", length=0.4, width=(0.04, 0.02), height=0.003, elements=8)
    np.testing.assert_allclose(frequencies(s, 8), frequencies(cantilever(one, gravity=(0, 0, -9.81)), 8), rtol=1e-9)


def test_a_beam_held_in_its_middle_has_free_ends():
    for form in ("elements", "exact"):
        s = mse.MSystem("balance", gravity=(0, 0, -9.81))
        beam = s.add(mse.Beam("beam", length=0.6, width=0.03, height=0.006, stations={"middle": 0.3}, form=form))
        s.clamp(s.ground, beam.frame("middle"))
        wp = s.find_working_point()
        assert wp.stable
        ends = [wp.poses["beam.0"].o, wp.poses["beam.1"].o]
        np.testing.assert_allclose(ends[0][2], ends[1][2], rtol=1e-9)
        # q L^4/8EI of either half, and its shear
        q, ei = 7800 * 9.81 * 0.03 * 0.006, 2e11 * 0.03 * 0.006**3 / 12
        assert -ends[0][2] == pytest.approx(q * 0.3**4 / (8 * ei), rel=1e-3)


@pytest.mark.slow
def test_a_flexible_rope_between_two_points_hangs_as_a_catenary():
    """From a straight start that does not even fit between the points; its bending matters little."""
    s = mse.MSystem("rope", gravity=(0, 0, -9.81))
    rope = s.add(mse.RoundBeam("rope", length=2.0, radius=2e-3, young_modulus=1e7, elements=30))
    s.clamp(s.ground, rope.frame(0))
    s.clamp(s.ground, rope.frame(1), Pose.dx(1.0))
    wp = s.find_working_point()
    assert wp.stable
    # catenary: 2 a sinh(1/2a) = 2
    a = 0.2296500437
    assert 2 * a * np.sinh(0.5 / a) == pytest.approx(2.0, rel=1e-3)
    assert -wp.poses["rope.n15"].o[2] == pytest.approx(a * (np.cosh(0.5 / a) - 1), rel=0.02)


def test_a_changed_parameter_changes_the_answer():
    """What a beam keeps between solutions is thrown away when it no longer holds."""
    beam = mse.Beam("beam", length=0.3, width=0.02, height=0.002)
    s = cantilever(beam)
    first = frequencies(s, 1)
    beam.height = 0.004
    np.testing.assert_allclose(frequencies(s, 1), 2 * first, rtol=2e-3)
    beam.height, beam.length = 0.002, 0.6
    np.testing.assert_allclose(frequencies(s, 1), first / 4, rtol=2e-3)
    thickness = {"h": 0.002}
    beam.height, beam.length = lambda s: thickness["h"], 0.3
    np.testing.assert_allclose(frequencies(s, 1), first, rtol=1e-9)
    thickness["h"] = 0.004
    np.testing.assert_allclose(frequencies(s, 1), 2 * first, rtol=2e-3)


@pytest.mark.parametrize(
    "load", [{"torque": (0.4, 0.8, 0.5)}, {"force": (0.5, 1.0, 1.0), "torque": (0.3, 0, 0.2), "axes": "frame"}]
)
def test_the_stiffness_of_loads_without_energy_is_what_their_forces_do(load):
    """About equilibrium the search's matrix, unsymmetric here, foresees the forces of small displacements."""
    wp = cantilever(slender(3, ea=1e3, iz=3.0, j=2.0), **load).find_working_point()
    topology = Topology(wp.system)
    merit = MeritFunction.of(topology, Assembly(topology, topology.unit), wp.state)
    k, *_ = merit.scaled(merit.evaluate(wp.state, 2))
    for direction in np.random.default_rng(1).normal(size=(4, k.shape[0])):
        x = 1e-5 * direction / np.linalg.norm(direction)
        ahead, behind = (merit.pull(merit.evaluate(merit.moved(wp.state, y), 1)) for y in (x, -x))
        np.testing.assert_allclose(0.5 * (ahead - behind), k @ x, atol=1e-8 * np.abs(k @ x).max())


def test_a_floating_beam_has_six_free_motions_and_the_modes_of_a_free_one():
    s = mse.MSystem("floating", gravity=(0, 0, 0))
    beam = s.add(mse.Beam("beam", length=0.3, elements=12, theory="euler-bernoulli", **THIN, **MATERIAL))
    probe = s.add(mse.PositionSensor("probe"))
    s.clamp(beam.frame(0), probe.frame(0))
    s.clamp(s.ground, probe.frame(1))
    wp = s.find_working_point()
    assert wp.stable
    assert len(wp.free) == 6
    modes = wp.linearize().modes(2)
    assert modes.free.sum() == 6 and len(modes) == 8
    # beta L = 4.730040744862704 of free-free; 1.8751... of the cantilever in the reference
    ratio = (4.730040744862704 / 1.8751040687119611) ** 2
    expected = ratio * CASE06["outputs"]["uniform_thin"]["EB_z_bending_hz"][0]
    assert np.abs(modes.frequencies_hz - expected).min() < 1e-6 * expected


def taut_and_pinned(wave: int, *, strain: float, radius: float, theory: str) -> float:
    """Frequency (Hz) of a stretched, shearing, pinned round rod of 1 m of E. Reissner's theory (J. Appl. Math. Phys. 23
    (1972) 795): deflections go as sin(q x) and rotations as cos(q x), and the second-order energy is that of two numbers."""
    area, inertia, q = np.pi * radius**2, np.pi * radius**4 / 4, wave * np.pi
    shear = 0.9 * 2e11 / 2.6 * area
    tension, stretch = 2e11 * area * strain, 1.0 + strain
    if theory == "euler-bernoulli":
        # rotations are q Y/stretch
        return q * np.sqrt((tension * stretch + 2e11 * inertia * q**2) / (7800.0 * area)) / stretch / (2 * np.pi)
    mixed = (tension - shear * stretch) * q
    turned = shear * stretch**2 - tension * stretch + 2e11 * inertia * q**2
    mass = 7800.0 * np.array([area, inertia])
    k = np.array([[shear * q**2, mixed], [mixed, turned]]) / np.sqrt(np.outer(mass, mass))
    return np.sqrt(np.linalg.eigvalsh(k)[0]) / (2 * np.pi)


def between_pins(strain: float, **options) -> mse.MSystem:
    s = mse.MSystem("taut", gravity=(0, 0, 0))
    rod = s.add(mse.RoundBeam("rod", length=1.0, young_modulus=2e11, density=7800.0, **options))
    for k, place in enumerate((0.0, 1.0 + strain)):
        pin = s.add(mse.Revolute(f"pin{k}", axis=(0, 0, 1)))
        s.clamp(s.ground, pin.frame(1), Pose.dx(place))
        s.clamp(pin.frame(0), rod.frame(k))
    return s


@pytest.mark.slow
@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
@pytest.mark.parametrize("strain, radius", [(2.4e-4, 0.01), (2.4e-4, 0.03), (2.4e-3, 0.03)])
def test_frequencies_of_taut_beams_are_of_fourth_order(theory, strain, radius):
    errors = []
    for elements in (12, 24, 48):
        s = between_pins(strain, radius=radius, theory=theory, elements=elements)
        found = s.find_working_point().linearize().modes(4).frequencies_hz
        expected = taut_and_pinned(1, strain=strain, radius=radius, theory=theory)
        errors.append(np.abs(found / expected - 1).min())
    assert errors[0] < 6e-6
    assert np.all(order(errors) > 3.8)


@pytest.mark.slow
def test_shear_under_tension_is_off_by_a_share_of_the_strain_in_the_exact_form():
    """Its tension acts along the axis (Engesser), that of elements across their sections (Reissner)."""
    for strain in (2.4e-4, 2.4e-3):
        s = between_pins(strain, radius=0.03, theory="timoshenko", form="exact")
        found = s.find_working_point().linearize().modes(12).frequencies_hz
        for wave, share in ((1, 0.01), (2, 0.04), (3, 0.08)):
            expected = taut_and_pinned(wave, strain=strain, radius=0.03, theory="timoshenko")
            off = np.abs(found / expected - 1).min()
            assert 0.3 * share * strain < off < share * strain


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-6, 1e-5, 1e-3, 1e3])
def test_similar_strips_of_any_size_have_similar_modes_and_no_free_motion(size):
    """``f l = const`` without gravity; what rotations and inner coordinates count for goes with the size."""

    def strip(size: float) -> tuple[np.ndarray, tuple]:
        system = mse.MSystem("strip", gravity=(0, 0, -1e-3 / size))  # similar loads, too small to be seen
        beam = system.add(mse.Beam("beam", length=size, width=0.1 * size, height=0.01 * size, elements=50))
        system.clamp(system.ground, beam.frame(0))
        working_point = system.find_working_point()
        return working_point.linearize().modes(4).frequencies_hz * size, working_point.free

    expected, _ = strip(1.0)
    found, free = strip(size)
    assert free == ()
    assert found == pytest.approx(expected, rel=1e-7)
