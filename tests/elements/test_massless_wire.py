"""Stiff wires without mass, and graded elements of taut ones, against the exact beam under tension."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import mse
from mse import Pose
from mse.elements.beam_nodes import placed

BENDING, LOAD = 1.2723450247e-3, 98.1  # N m2, N


def hung(arm: float = 0.02, body=None, **parameters) -> mse.MSystem:
    """10 kg on a stiff wire of 1 m that hardly stretches, hung above its center of mass, with a loss of bending of 2e-4."""
    modulus, area = 2e16, np.pi * 9e-8
    parameters["density"] = parameters.get("density", 0.0) / area
    section = {f"second_moment_{axis}": BENDING / modulus for axis in "yz"} | {"area": area, "young_modulus": modulus}
    system = mse.MSystem("fiber", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=10.0, inertia=0.05, at=Pose.dz(-1.0 - arm)))
    loss = {"theory": "euler-bernoulli", "loss": {"bending": 2e-4}, "torsion_constant": 2 * BENDING / modulus}
    wire = system.add(mse.SectionBeam("wire", length=1.0, **(section | loss | parameters)))
    system.clamp(system.ground, wire.frame(0), Pose.ry(np.pi / 2))
    system.clamp(wire.frame(1), body.frame("center"), Pose.dx(arm) @ Pose.ry(-np.pi / 2))
    system.add(mse.Load("load", force=(0, 0, -LOAD)), between=(body,))
    system.add(mse.ForceActuator("coil"), between=(system.ground, body))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    return system


def closed_form(arm: float) -> list[tuple[float, float]]:
    """Frequencies and Q of the swinging modes: EI w'''' = T w'', w = a + b s + c e^(-k s) + d e^(k (s - 1)), in forty digits."""
    mpmath.mp.dps = 40
    stiff = mpmath.mpf(repr(BENDING)) * mpmath.mpc(1, 2e-4)
    k, tension = mpmath.sqrt(mpmath.mpf(LOAD) / stiff), mpmath.mpf(repr(LOAD))
    far = mpmath.exp(-k)
    start = [[1, 0, 1, far], [0, 1, -k, k * far]]  # w and its slope at the clamp
    end = [[1, 1, far, 1], [0, 1, -k * far, k], [0, 0, k**2 * far, k**2], [0, 0, -(k**3) * far, k**3]]
    own = mpmath.matrix(2, 2)  # force and moment at the lower end by its deflection and rotation
    for column in range(2):
        held = mpmath.matrix([0, 0, 1 - column, column])
        found = mpmath.lu_solve(mpmath.matrix([*start, *end[:2]]), held)
        slope, bend, third = (sum(x * y for x, y in zip(row, found, strict=True)) for row in end[1:])
        own[0, column], own[1, column] = tension * slope - stiff * third, stiff * bend
    a, m, inertia = mpmath.mpf(repr(arm)), mpmath.mpf(10), mpmath.mpf("0.05")
    # of the center of mass (x, turn): the end moves by x - arm turn; the load's moment about it is that of the tension
    to = mpmath.matrix([[1, -a], [0, 1]])
    stiffness = to.T * own * to
    stiffness[1, 1] += tension * a
    half = (stiffness[0, 0] / m + stiffness[1, 1] / inertia) / 2
    root = mpmath.sqrt(
        (stiffness[0, 0] / m - stiffness[1, 1] / inertia) ** 2 / 4 + stiffness[0, 1] ** 2 / (m * inertia)
    )
    out = []
    for w2 in (half - root, half + root):
        w = mpmath.sqrt(w2)
        out.append((float(abs(w) / (2 * mpmath.pi)), float(w2.real / w2.imag)))
    return out


def swinging(linear: mse.LinearModel) -> list[mse.Mode]:
    """The two modes in the plane of x, of which each has a twin."""
    return [m for m in linear.modes(8, lossy=True) if 0.05 < m.frequency_hz < 5.0 and np.isfinite(m.quality)][::2]


def test_a_wire_without_mass_has_the_modes_of_the_closed_form():
    linear = hung(form="exact").find_working_point().linearize()
    assert not linear.members
    figures = [(0.49295690505, 2678103.2), (1.0991416177, 64056.313)]
    for mode, expected, figure in zip(swinging(linear), closed_form(0.02), figures, strict=True):
        assert expected == pytest.approx(figure, rel=1e-7)
        assert abs(mode.eigenvalue) / (2 * np.pi) == pytest.approx(expected[0], rel=1e-8)  # it stretches by 1.7e-8
        assert mode.quality == pytest.approx(expected[1], rel=1e-7)


def test_its_parts_add_up_and_those_that_lose_store_energy():
    linear = hung(form="exact").find_working_point().linearize()
    mechanisms = {m for owner, m in linear.parts if owner == "wire"}
    assert mechanisms == {"axial", "torsion", "bending_y", "bending_z", "shear", "geometric"}
    for mechanism in mechanisms - {"geometric"}:
        part = linear.parts["wire", mechanism].toarray()
        assert np.linalg.eigvalsh(part)[0] >= -1e-9 * max(np.abs(part).max(), 1.0)
    with_mass = hung(form="exact", density=1e-9).find_working_point().linearize()
    whole = with_mass.K.toarray()
    np.testing.assert_allclose(linear.K.toarray(), whole, rtol=1e-9, atol=1e-12 * np.abs(whole).max())


def test_parts_of_bending_follow_from_systems_with_another_rigidity():
    """``EI dK/dEI`` at the same tension, by central differences of whole systems."""
    step = 1e-4
    moments = dict.fromkeys(("second_moment_y", "second_moment_z"), BENDING / 2e16)
    low, high = (
        hung(form="exact", **{name: v * (1 + sign * step) for name, v in moments.items()})
        .find_working_point()
        .linearize()
        for sign in (-1, 1)
    )
    parts = hung(form="exact").find_working_point().linearize().parts
    bending = (parts["wire", "bending_y"] + parts["wire", "bending_z"]).toarray()
    slope = (high.full_stiffness - low.full_stiffness).toarray() / (2 * step)
    np.testing.assert_allclose(bending, slope, rtol=1e-5, atol=1e-6 * np.abs(bending).max())


def test_it_runs_in_time():
    linear = hung(form="exact").find_working_point().linearize().lossless
    history = linear.simulate(duration=8.0, dt=1e-3, inputs={"coil.fx": lambda t: np.where(t < 0.1, 1.0, 0.0)})
    assert np.isfinite(history["probe.x"]).all() and np.abs(history["probe.x"]).max() > 1e-4
    assert linear.state_space().A.shape == (12, 12)


def test_with_shear_and_stations_it_is_the_same_wire():
    """Under Timoshenko's theory with stiff shear, and cut in two by a station without mass, which is condensed."""
    one = swinging(hung(form="exact").find_working_point().linearize())
    two = swinging(hung(form="exact", stations={"middle": 0.4}).find_working_point().linearize())
    for a, b in zip(one, two, strict=True):
        assert b.frequency_hz == pytest.approx(a.frequency_hz, rel=1e-7)
        assert b.quality == pytest.approx(a.quality, rel=1e-4)


@pytest.mark.parametrize("arm", [0.0, 0.02])
def test_graded_elements_are_right_to_1e4(arm):
    """Frequency and Q of the closed form; without grading the default eight elements are off by a factor."""
    graded = hung(arm, density=1e-6, grading_tension=LOAD).find_working_point()
    assert not any("sqrt" in note for note in graded.notes) and len(graded.system["wire"].components()) < 30
    plain = hung(arm, density=1e-6).find_working_point()
    assert any("grading_tension" in note for note in plain.notes)
    for mode, wrong, (f, q) in zip(*(swinging(p.linearize()) for p in (graded, plain)), closed_form(arm), strict=True):
        assert abs(mode.eigenvalue) / (2 * np.pi) == pytest.approx(f, rel=1e-4)
        assert mode.quality == pytest.approx(q, rel=1e-3)
        assert abs(wrong.quality / q - 1.0) > 0.1 or abs(wrong.frequency_hz / f - 1.0) > 1e-3


def test_lengths_of_graded_elements():
    """They begin with 0.4 sqrt(EI/T), grow by less than 1.6, stay below length/elements, and fill the beam."""
    for stations in ((), (("a", 0.3),), (("a", 0.003), ("b", 0.31))):
        nodes, names, lengths = placed(1.0, stations, 8, (0.01, 0.002))
        assert list(nodes) == sorted(nodes, key=nodes.get) and set(names) == set(nodes)
        np.testing.assert_allclose(np.diff(list(nodes.values())), lengths, rtol=1e-9)
        assert lengths.max() <= (0.125 if not stations else 0.16) * (1 + 1e-12) and lengths.sum() == pytest.approx(1.0)
        assert lengths[-1] <= 0.4 * 0.002 * (1 + 1e-9) and lengths[0] <= 0.4 * 0.01
        ratio = lengths[1:] / lengths[:-1]
        if not stations:
            assert max(ratio.max(), (1 / ratio).max()) <= 1.6 * (1 + 1e-9)
    np.testing.assert_array_equal(placed(1.0, (), 8, (np.inf, np.inf))[2], 0.125)
    np.testing.assert_array_equal(placed(1.0, (), 8, (1.0, 1.0))[2], 0.125)


def upright(arm: float, density: float) -> mse.Modes:
    """A body clamped ``arm`` below its end to a stiff wire, or above it if negative."""
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    at, frames = Pose.dz(-1.0 - arm), {"top": Pose.dz(arm)}
    body = system.add(mse.RigidBody("body", mass=10.0, inertia=0.05, at=at, frames=frames))
    wire = mse.RoundBeam("wire", length=1.0, radius=3e-4, form="exact", density=density, loss=1e-3)
    down = Pose.ry(np.pi / 2)
    system.add(wire, between=(system.ground @ down, body.frame("top") @ down))
    return system.find_working_point().linearize().modes(6, lossy=True)


@pytest.mark.parametrize("arm", [0.02, -0.003])
def test_the_lever_arm_of_its_tension_loses_nothing(arm):
    """The same Q as with a little mass, whose loss multiplies EI, GJ and EA themselves."""
    without, light = upright(arm, 0.0), upright(arm, 1e-6)
    np.testing.assert_allclose(without.quality, light.quality, rtol=1e-6)
    shares = without.strain_energies
    for k, mode in enumerate(without):
        lost = 1e-3 * sum(share[k] for (name, part), share in shares.items() if name == "wire" and part != "geometric")
        assert lost == pytest.approx(1.0 / mode.quality, rel=1e-4)
