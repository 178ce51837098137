"""How far beams are off by what working points say of them, beside how far they are: against finer ones, or the exact form."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import mse
from mse import Pose
from mse.elements.beam_errors import bent_error, heavy_error, sagging_softness, taut_error
from mse.kernels.dynamic_stiffness import Plane, bending_stiffness

L, MODULUS = 0.5, 7e10


def hanging(bends: float, mass: float = 1.0, turned: float = 0.0, share: float = 1e-4, **form) -> mse.MSystem:
    """A body clamped to a fiber of so many ``bends`` sqrt(EI/T), its top ``turned``, its weight a ``share`` of the load."""
    pull = mass * 9.81
    radius = (4.0 * pull * (L / bends) ** 2 / (np.pi * MODULUS)) ** 0.25
    s = mse.MSystem("fiber", gravity=(0, 0, -9.81))
    density = share * mass / (np.pi * radius**2 * L)
    fiber = s.add(mse.RoundBeam("fiber", length=L, radius=radius, young_modulus=MODULUS, density=density, **form))
    body = s.add(mse.RigidBody("body", mass=mass, inertia=0.01 * mass, at=Pose.dz(-L)))
    s.clamp(s.ground, fiber.frame(0), Pose.ry(np.pi / 2 + turned))
    s.clamp(fiber.frame(1), body.frame(0), Pose.ry(-np.pi / 2))
    return s


def off(s: mse.MSystem, best: mse.MSystem, count: int = 5) -> float:
    """The largest relative difference of the lowest frequencies."""
    found, right = (x.find_working_point().linearize().modes(count).frequencies_hz for x in (s, best))
    return float(np.abs(found / right - 1.0).max())


def estimates(s: mse.MSystem) -> tuple[float, float, float]:
    """Turn of the ends, error as they are bent and by the weight of the exact fiber, where it rests."""
    wp = s.find_working_point()
    (part,) = wp.system["fiber"].components()
    return part.element.errors([wp.poses["fiber.0"], wp.poses["fiber.1"]], np.array([0, 0, -9.81]))


# -- elements under tension -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("bends", [10.0, 30.0, 100.0])
@pytest.mark.parametrize("elements", [2, 8, 24])
def test_errors_of_taut_elements_are_as_large_as_estimated(bends, elements):
    """Of the pitch of a body clamped at its center, which the end of the fiber alone holds."""
    measured = off(hanging(bends, elements=elements), hanging(bends, form="exact"))
    h, pull = np.full(elements, L / elements), np.full(elements, 9.81)
    held = np.zeros(elements + 1, dtype=bool)
    held[[0, -1]] = True
    estimate = taut_error(h, pull * (L / bends) ** 2, pull, held)
    if estimate == 0.0:
        assert L / elements <= L / bends and measured < 2e-3
    else:
        assert 0.5 * measured < estimate < 2.5 * measured


def test_taut_elements_with_stations_near_the_ends_are_as_good_as_fine_ones():
    bends = 100.0
    near = {f"at{k}": x for k, x in enumerate((0.25, 0.5, 1.0, 2.0, 4.0))}
    stations = {name: x * L / bends for name, x in near.items()}
    stations |= {f"{name}_below": L - x for name, x in stations.items()}
    s = hanging(bends, elements=8, stations=stations)
    assert off(s, hanging(bends, form="exact")) < 0.01
    assert not s.find_working_point().notes


def test_the_note_on_taut_elements_names_the_beam_the_error_and_the_remedy():
    (note,) = hanging(100.0, elements=8).find_working_point().notes
    assert note.startswith("found RoundBeam 'fiber' under 9.811 N with an element of 0.0625 m at an end")
    assert "sqrt(EI/T) = 0.005 m" in note and "may be too high by 33 %" in note
    assert note.endswith("set its grading_tension to that, use more elements, or choose form='exact'")


def test_fine_and_loose_beams_have_no_note():
    assert not hanging(100.0, elements=120).find_working_point().notes
    assert not hanging(3.0, elements=8).find_working_point().notes
    assert not hanging(30.0, form="exact").find_working_point().notes


def test_pieces_under_tension_are_those_of_the_exact_form():
    """Elements so short that no tension is felt within them, beside one uniform piece."""
    n = 400
    h, bending, tension = np.full(n, 1.0 / n), np.full(n, 1.0), np.full(n, 900.0)
    held = np.zeros(n + 1, dtype=bool)
    held[[0, -1]] = True
    assert taut_error(h, bending, tension, held) == 0.0
    one = taut_error(np.ones(1), np.ones(1), np.full(1, 900.0), np.ones(2, dtype=bool))
    # an element holds a turn of its end by 4 EI/h + 2 T h/15, the exact piece by sqrt(EI T) for a long one
    exact = bending_stiffness(0.0, Plane(1.0, 900.0, 0.0, 1.0, 0.0, 0.0))[3, 3]
    assert (1.0 + one) ** 2 >= (4.0 + 2.0 * 900.0 / 15.0) / exact > 3.0


# -- exact members that are bent --------------------------------------------------------------------------------------
@pytest.mark.parametrize("turned", [0.01, 0.03])
@pytest.mark.parametrize(("bends", "mass"), [(1.5, 2.0), (3.0, 0.3), (6.0, 0.5), (12.0, 0.5)])
def test_errors_of_bent_exact_members_are_as_large_as_estimated(bends, mass, turned):
    """Within a factor of three, where bounce and violin modes lie a quarter of their frequency apart, among the ten lowest."""
    s = hanging(bends, mass, turned, share=2e-3, form="exact")
    angle, estimate, _ = estimates(s)
    assert 0.1 * turned < angle < turned
    if estimate > 0.3:
        with pytest.raises(mse.ModelError, match="rotated by .* rad against the line between them, so frequencies"):
            s.find_working_point().linearize()
        return
    measured = off(s, hanging(bends, mass, turned, share=2e-3, elements=48), 10)
    assert measured / 3.0 < estimate < 3.0 * measured


def test_the_note_on_bent_exact_members_names_the_beam_the_error_and_the_remedy():
    (note,) = hanging(6.0, turned=0.03, form="exact").find_working_point().notes
    assert note.startswith("found RoundBeam 'fiber' bent at rest, its ends turned by 0.02")
    assert "frequencies may be off by 1" in note and note.endswith("clamp it along its pull, or choose form='elements'")
    assert not hanging(6.0, turned=0.003, form="exact").find_working_point().notes


@pytest.mark.parametrize("tension", [0.0, 100.0, 1e4])
def test_the_softness_of_a_member_that_sags(tension):
    """``int slope^2 dx/2`` by hand, of ``EI w_xxxx - T w_xx = q`` between clamps, by a sine series of cosines less one."""
    axial, bending, q = 3e4, 1.0, 7.0
    k = 2.0 * np.pi * np.arange(1, 400)  # even about the middle, with no slope or deflection at both ends together
    stiffness = np.diag(0.5 * (bending * k**4 + tension * k**2))
    give = np.ones(399) * q  # int of 1 - cos

    def shortening(t):
        a = np.linalg.solve(stiffness + np.diag(0.5 * (t - tension) * k**2), give)
        return 0.25 * np.sum((a * k) ** 2)

    step = 1e-3 * (tension + 50.0)
    exact = -(shortening(tension + step) - shortening(tension - step)) / (2 * step) * axial
    assert sagging_softness(q, 1.0, axial, bending, tension) == pytest.approx(exact, rel=0.5)


# -- exact members that are heavy -------------------------------------------------------------------------------------
@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("bends", [5.0, 20.0])
def test_errors_of_heavy_exact_members_are_as_large_as_estimated(bends, share):
    s = hanging(bends, share=share, form="exact")
    *_, estimate = estimates(s)
    measured = off(s, hanging(bends, share=share, elements=96), 8)
    assert measured / 3.0 < estimate < 3.0 * measured


def test_estimates_by_hand():
    assert bent_error(0.21, 0.0) == pytest.approx(0.1)
    assert bent_error(0.0, np.pi) > 2.0  # backwards, however stiff
    assert heavy_error(30.0, 1.0, 0.0, 100.0) == pytest.approx(0.003)


# -- the table of docs/beams.md ---------------------------------------------------------------------------------------
def taut_row(elements: int) -> tuple[float, float]:
    held = np.zeros(elements + 1, dtype=bool)
    held[[0, -1]] = True
    estimate = taut_error(
        np.full(elements, L / elements), np.full(elements, 9.81 * (L / 100.0) ** 2), np.full(elements, 9.81), held
    )
    return estimate, off(hanging(100.0, elements=elements), hanging(100.0, form="exact"))


def bent_row(turned: float) -> tuple[float, float]:
    s = hanging(6.0, 0.5, turned, share=2e-3, form="exact")
    return estimates(s)[1], off(s, hanging(6.0, 0.5, turned, share=2e-3, elements=48), 10)


def heavy_row(share: float) -> tuple[float, float]:
    s = hanging(20.0, share=share, form="exact")
    return estimates(s)[2], off(s, hanging(20.0, share=share, elements=96), 8)


@pytest.mark.slow
def test_the_table_of_the_documentation_is_measured():
    page = Path(__file__).parents[2] / "docs" / "beams.md"
    table = page.read_text(encoding="utf-8").partition("## Notes on beams")[2]
    told = np.array([[float(x) for x in row] for row in re.findall(r"([\d.]+) % \| ([\d.]+) % \|", table)]) / 100.0
    found = [*map(taut_row, (8, 20, 40)), *map(bent_row, (0.003, 0.01, 0.03)), *map(heavy_row, (0.02, 0.3, 1.0))]
    np.testing.assert_allclose(told, found, rtol=0.05, atol=5e-6)
