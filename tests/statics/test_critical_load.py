"""Buckling loads, limit points, and modes against load."""

from __future__ import annotations

import numpy as np
import pytest

import mse
import rods
from mse import Pose
from test_beams import cantilever, slender
from test_continuation import TOGGLE, toggle

pytestmark = pytest.mark.rounding

UP = Pose.ry(-np.pi / 2)
STIFF = 1e9  # of what stands for hinges and slides, beside E I = 1, L = 1


def column(n: int, ends: str, *, ea=1e8) -> mse.MSystem:
    """An upright column with a unit load on top; it bends more easily about y."""
    base, top = ends.split("-")
    s = mse.MSystem("column", gravity=(0, 0, 0))
    beam = s.add(slender(n, ea=ea, iz=1.5))
    beam.at = UP
    if base == "clamped":
        s.clamp(s.ground, beam.frame(0), UP)
    else:
        hinge = s.add(mse.Bushing("hinge", stiffness=(STIFF, STIFF, STIFF, 0, 0, STIFF)))
        s.clamp(s.ground, hinge.frame(1))
        s.clamp(hinge.frame(0), beam.frame(0), UP)
    if top != "free":
        held = (STIFF, STIFF, 0, 0, 0, STIFF) if top == "pinned" else (STIFF, STIFF, 0, STIFF, STIFF, STIFF)
        guide = s.add(mse.Bushing("guide", stiffness=held))
        s.clamp(s.ground, guide.frame(1), Pose.dz(1.0))
        s.clamp(guide.frame(0), beam.frame(1), UP)
    load = s.add(mse.Load("load", force=(0, 0, -1.0)))
    s.clamp(beam.frame(1), load.frame(0))
    return s


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ends", "elements"), [("clamped-free", 24), ("pinned-pinned", 32), ("clamped-pinned", 32), ("clamped-clamped", 48)]
)
def test_eulers_four_columns(ends, elements):
    found = column(elements, ends).find_instability()
    assert found.load_factor == pytest.approx(rods.euler_buckling(1.0, 1.0, ends), rel=1e-6)
    assert found.kind == "bifurcation"
    assert ".x" in found.motion.name
    assert found.working_point.stable
    assert f"{found.load_factor:.9g}" in repr(found)


@pytest.mark.slow
def test_order_of_convergence_of_buckling_loads():
    exact = rods.euler_buckling(1.0, 1.0, "clamped-clamped")
    errors = [abs(column(n, "clamped-clamped", ea=1e10).find_instability().load_factor / exact - 1) for n in (6, 12)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)


@pytest.mark.slow
def test_a_heavy_column_under_its_own_weight():
    s = mse.MSystem("column", gravity=(0, 0, -1.0))
    beam = s.add(slender(32, ea=3e7))
    beam.density = 1 / 3e7
    s.clamp(s.ground, beam.frame(0), UP)
    assert s.find_instability().load_factor == pytest.approx(rods.heavy_column(), rel=1e-6)


def test_a_strip_on_edge_gives_way_sideways():
    """Lateral-torsional buckling of a cantilever strip, too stiff in its plane to sag before."""
    beam = slender(32, iy=1e7, iz=1.0, j=1.0)
    found = cantilever(beam, force=(0, 0, -1.0)).find_instability()
    assert found.load_factor == pytest.approx(rods.lateral_buckling_cantilever(), rel=1e-6)
    assert "beam.1.y" in found.motion.name


def arch(height: float = 0.05) -> mse.MSystem:
    """Two straight beams that meet in a shallow ridge, clamped at the abutments, with a unit load on the ridge."""
    length, slope = np.hypot(0.5, height), np.arctan2(height, 0.5)
    s = mse.MSystem("arch", gravity=(0, 0, 0))
    half = [s.add(mse.SectionBeam(
        name, length=length, young_modulus=1e4, poisson_ratio=0.0, density=0.0, area=1.0, second_moment_y=5e-5,
        second_moment_z=2e-3, torsion_constant=1e-3, elements=6, theory="euler-bernoulli",
    )) for name in ("left", "right")]  # fmt: skip
    s.clamp(s.ground, half[0].frame(0), Pose.ry(-slope))
    s.clamp(s.ground, half[1].frame(0), Pose.dx(1.0) @ Pose.rz(np.pi) @ Pose.ry(-slope))
    s.clamp(half[0].frame(1), half[1].frame(1), Pose.ry(slope) @ Pose.rz(np.pi) @ Pose.ry(-slope))
    load = s.add(mse.Load("load", force=(0, 0, -1.0)))
    s.clamp(half[0].frame(1), load.frame(0), Pose.ry(slope))
    return s


@pytest.mark.slow
def test_a_shallow_arch_has_a_limit_point_and_beyond_it_a_named_failure():
    found = arch().find_instability()
    assert found.kind == "limit point"
    below = arch().find_working_point(seek="nearest", load_factor=0.999 * found.load_factor)
    assert below.stable
    with pytest.raises(
        mse.WorkingPointError, match="followed (up to .* times its loads but no further|over .* of the change)"
    ):
        arch().find_working_point(seek="nearest", load_factor=1.01 * found.load_factor, start=below)
    # seeking a stable one instead snaps through
    through = arch().find_working_point(load_factor=1.01 * found.load_factor)
    assert through.stable
    assert through.poses["left.1"].o[2] < -0.02


def test_a_stable_system_has_no_instability():
    result = cantilever(slender(4, ea=1e4), force=(1.0, 0, 0)).find_instability(max_load_factor=50.0)
    assert not result and not result.found
    assert result.load_factor is None and result.kind is None and result.motion is None
    assert result.working_point.load_factor == result.max_load_factor == 50.0
    assert "stable up to 50 times its loads" in repr(result)


def test_an_instability_counts_as_true():
    found = column(4, "clamped-free").find_instability(max_load_factor=50.0)
    assert found and found.found and found.max_load_factor == 50.0


def test_a_preload_without_loads_leaves_nothing_to_multiply():
    s = mse.MSystem("bent", gravity=(0, 0, 0))
    beam = s.add(slender(4))
    hinge = s.add(mse.Revolute("hinge", axis=(0, 0, 1), preload=-0.1))
    s.clamp(s.ground, hinge.frame(1))
    s.clamp(hinge.frame(0), beam.frame(0))
    end = s.add(mse.Fixed("end"))
    s.clamp(s.ground, end.frame(1), Pose.dx(1.0))
    s.clamp(end.frame(0), beam.frame(1))
    with pytest.raises(mse.ModelError, match=r"nothing to multiply; expected gravity or a Load; .* use trace"):
        s.find_instability(max_load_factor=10.0)


@pytest.mark.parametrize(
    ("up_to", "words"),
    [
        (1e308, "max_load_factor is 1e[+]308; expected"),
        (1e60, "1e[+]60 times loads of up to 1e[+]06 .*smaller max_load_factor"),
    ],
)
def test_loads_beyond_the_range_of_numbers_are_refused(up_to, words):
    with pytest.raises(mse.ModelError, match=words):
        cantilever(slender(4, ea=1e4), force=(1e6, 0, 0)).find_instability(max_load_factor=up_to)


@pytest.mark.slow
@pytest.mark.parametrize("up_to", [3.0, 1e3, 1e9])
def test_what_falls_at_once_is_unstable_from_no_load_on(up_to):
    """A body on top of a free hinge balances, and nothing but its weight moves it."""
    s = mse.MSystem("upright", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose.dz(1.0)))
    hinge = s.add(mse.Revolute("hinge", axis=(0, 1, 0)))
    s.clamp(s.ground, hinge.frame(1))
    s.clamp(body.frame(0), hinge.frame(0), Pose.dz(-1.0))
    found = s.find_instability(max_load_factor=up_to)
    assert found.kind == "bifurcation" and 0.0 <= found.load_factor < 1e-5 * up_to


def test_a_stiff_flat_frame_snaps_through_where_rounding_leaves_little_of_the_balance():
    found = toggle(8, 10.0).find_instability(max_load_factor=1e5)
    assert found.kind == "limit point"
    assert 1e-2 * found.load_factor == pytest.approx(TOGGLE[0], rel=1e-4)


def inverted(mass: float, *, elements: int = 8) -> mse.MSystem:
    """A point mass on a steel leg of negligible mass."""
    s = mse.MSystem("inverted pendulum", gravity=(0, 0, -9.81))
    leg = s.add(mse.RoundBeam("leg", length=0.5, radius=2e-3, density=0.0, elements=elements, theory="euler-bernoulli"))
    payload = s.add(mse.RigidBody("payload", mass=mass))
    s.clamp(s.ground, leg.frame(0), UP)
    s.clamp(leg.frame(1), payload.frame(0))
    return s


def test_an_inverted_pendulum_against_its_payload_to_and_through_zero():
    ei = 2e11 * np.pi * (2e-3) ** 4 / 4
    critical = np.pi**2 / 4 * ei / 0.5**2 / 9.81
    for share in (0.1, 0.5, 0.9, 0.99, 1.01, 1.1):
        mass = share * critical
        wp = inverted(mass, elements=16).find_working_point(seek="nearest")
        modes = wp.linearize().modes()
        stiffness = rods.pendulum_stiffness(mass * 9.81, ei, 0.5)
        # the column also gets shorter, by P/EA
        square = -(modes.eigenvalues[0].real ** 2) + modes.eigenvalues[0].imag ** 2
        assert square == pytest.approx(stiffness / mass, abs=2e-5 * 3 * ei / 0.5**3 / mass)
        if share < 1:
            assert wp.stable
        else:
            assert not wp.stable
            assert "payload" in wp.unstable[0].name
            assert "UNSTABLE" in repr(modes)
            assert modes.unstable[:2].all()


def test_a_column_that_buckles_in_the_search_says_so():
    wp = inverted(6.0).find_working_point()
    assert wp.stable
    assert "buckles" in wp.notes[0]
    assert wp.notes[0] in repr(wp)
    assert wp.poses["payload.center"].o[2] < 0.3


def test_modes_of_a_loaded_column_with_mass_on_top():
    """Distributed mass and a tip mass under a compression of fixed direction."""
    ei, mu, length, mass, push = 2.0, 0.3, 1.2, 0.5, 1.5
    expected = rods.column_frequencies(push, ei, mu, length, mass, count=3)
    beam = mse.SectionBeam(
        "beam", length=length, young_modulus=ei, poisson_ratio=0.0, density=mu / 1e7, area=1e7, second_moment_y=1.0,
        second_moment_z=1.7, torsion_constant=1e3, elements=24, theory="euler-bernoulli",
    )  # fmt: skip
    s = cantilever(beam, force=(-push, 0, 0))
    body = s.add(mse.RigidBody("body", mass=mass))
    s.clamp(beam.frame(1), body.frame(0))
    found = s.find_working_point(seek="nearest").linearize().modes().frequencies_hz
    for f in expected:
        assert np.abs(found - f).min() < 2e-6 * f


def test_a_load_factor_is_a_change_of_weights_and_loads():
    """Working point, forces and linear model at a load factor are those of the model with heavier gravity and loads."""

    def model(factor):
        beam = mse.Beam("beam", length=0.4, width=0.03, height=0.004, elements=4)
        s = cantilever(beam, gravity=(0, 0, -9.81 * factor), force=(0.5 * factor, 2.0 * factor, 0))
        body = s.add(mse.RigidBody("body", mass=0.3, inertia=1e-3))
        s.clamp(beam.frame(1), body.frame(0), Pose.dxdydz(0.05, 0.02, -0.03))
        return s

    scaled, changed = model(1.0).find_working_point(load_factor=1.7), model(1.7).find_working_point()
    assert scaled.load_factor == 1.7
    np.testing.assert_allclose(scaled.state.o, changed.state.o, atol=1e-12)
    for name, wrench in changed.forces.items():
        np.testing.assert_allclose(scaled.forces[name], wrench, atol=1e-6)
    a, b = (wp.linearize() for wp in (scaled, changed))
    np.testing.assert_allclose(a.K.toarray(), b.K.toarray(), atol=1e-7 * abs(b.K).max())
    np.testing.assert_allclose(a.modes(4).frequencies_hz, b.modes(4).frequencies_hz, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
@pytest.mark.parametrize("push", [0.03, 0.1, 1.0])
def test_shallow_arches_of_thin_steel_come_to_rest_as_well_as_rounding_allows(theory, push):
    """Pressed steel strips are so stiff along their length that positions cannot show the last of the balance."""
    rise = 0.013
    slope, length = np.arctan(rise / 0.5), np.hypot(0.5, rise)
    s = mse.MSystem("arch", gravity=(0, 0, 0))
    left, right = (
        s.add(mse.Beam(name, length=length, width=0.02, height=0.002, elements=8, theory=theory))
        for name in ("left", "right")
    )
    load = s.add(mse.Load("load", force=(0, 0, -push)))
    s.clamp(s.ground, left.frame(0), Pose.ry(-slope))
    s.clamp(left.frame(1), right.frame(0), Pose.ry(2 * slope))
    s.clamp(s.ground, right.frame(1), Pose.dx(1) @ Pose.ry(slope))
    s.clamp(left.frame(1), load.frame(0))
    wp = s.find_working_point()
    assert wp.stable
    assert wp.relative_residual.max() < 1e-5
