"""The tension of an exact segment, alone."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.elements.base import FramePose
from mse.elements.exact_beam import ExactSegment, _bending, _tension


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
        distance = length * (1 + rng.choice([0, 1, -1]) * 10 ** rng.uniform(-20, -2))
        turn = 10 ** rng.uniform(-18, -0.7) * rng.choice([0, 1, 1, 1])
        planes = [
            (*(turn * rng.standard_normal(2)), ei, 0.25 * length * distance / ei, length / (shear * distance))
            for ei in rigidity[4:]
        ]
        stretch, stiffness = distance - length, rigidity[0] / length

        def misfit(t, length=length, planes=planes, stretch=stretch, stiffness=stiffness):
            return stretch + _bending(planes, t, length)[1] - t / stiffness

        tension = _tension(planes, stretch, stiffness, length)
        buckling = max(-(np.pi**2) / (p[3] + np.pi**2 * p[4]) for p in planes)
        if np.isnan(tension):
            # no tension above the buckling load, where bending shortens without end, fits
            assert stiffness * stretch <= buckling * (1 - 1e-9)
            continue
        assert tension >= buckling * (1 - 1e-9)
        off = 1e-9 * abs(tension)
        assert misfit(tension + off) <= 0.0
        assert tension - off <= buckling or misfit(tension - off) >= 0.0


def hanging(turn):
    """Body on an exact fiber, started turned by the rotation vector ``turn`` (3,)."""
    s = mse.MSystem("s", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.01, at=Pose((0, 0, -0.5), Pose.rotation(turn).U)))
    fiber = s.add(mse.RoundBeam("fiber", length=0.5, radius=2e-4, young_modulus=7e10, density=2200.0, form="exact"))
    s.clamp(s.ground, fiber.frame(0), Pose.ry(np.pi / 2))
    s.clamp(fiber.frame(1), body.frame(0), Pose.ry(-np.pi / 2))
    return s.find_working_point()


@pytest.mark.parametrize("angle", [2.0, 3.0, np.pi - 1e-3, np.pi - 1e-6, np.pi - 1e-9, np.pi])
@pytest.mark.parametrize("axis", [(0, 1.0, 0), (0.48, 0.64, 0.6)])
def test_a_body_that_starts_up_to_half_a_turn_off_hangs_upright(angle, axis):
    wp = hanging(angle * np.array(axis))
    assert wp.stable and not wp.free
    assert np.abs(wp.poses["body.center"].rotation_vector()).max() < 1e-8


@pytest.mark.parametrize("turned", [0.0, 1e-3, 0.5, 2.0, 3.0])
def test_forces_of_ends_bent_by_any_angle_are_slopes_of_the_energy(turned):
    """Complex steps are no way through a search for the tension: fourth-order differences, whose error is 1e-10 here."""
    segment = ExactSegment("e1", 1.0, np.array([1e4, 4e3, 4e3, 2.0, 5.0, 3.0]), np.full(6, 3.0))
    rng = np.random.default_rng(3)
    there = [
        FramePose(np.zeros(3), Pose.rotation((0.2, turned, 0.1)).U),
        FramePose(np.array([1.001, 0.1, 0.0]), np.eye(3)),
    ]
    way = rng.standard_normal(12)
    q, gravity = np.zeros(0), np.array([-9.0, 2.0, 5.0])

    def moved(x):
        return [
            FramePose(f.o + x * w[:3], Pose.rotation(x * w[3:]).U @ f.U)
            for f, w in zip(there, way.reshape(2, 6), strict=True)
        ]

    h = 1e-4
    weights = ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))
    energy, gradient, parts = segment.evaluate(there, q, gravity, 2)
    values = [segment.evaluate(moved(k * h), q, gravity, 0)[0] for k, _ in weights]
    slope = sum(c * v for (_, c), v in zip(weights, values, strict=True)) / h
    assert slope == pytest.approx(gradient @ way, rel=1e-7, abs=1e-7 * energy)
    steeper = sum(c * way @ segment.evaluate(moved(k * h), q, gravity, 1)[1] for k, c in weights) / h
    assert steeper == pytest.approx(way @ parts.sum(axis=0) @ way, rel=1e-6)


def test_an_end_that_is_clamped_backwards_is_refused():
    s = mse.MSystem("s", gravity=(0, 0, 0))
    beam = s.add(mse.RoundBeam("beam", length=0.5, radius=1e-3, form="exact"))
    s.clamp(s.ground, beam.frame(0))
    s.clamp(s.ground, beam.frame(1), Pose.dx(0.5) @ Pose.ry(np.pi))
    wp = s.find_working_point()
    with pytest.raises(mse.ModelError, match=r"rotated by \S+ rad against the line"):
        wp.linearize()


@pytest.mark.parametrize("bends", [1.0, 5.0, 20.0, 60.0])
def test_the_weight_of_an_exact_member_is_right_to_first_order(bends):
    """A body on a fiber as long as so many bends sqrt(EI/T), of 2 % of its load: the end bends under the tension at the end.

    Moments of its weight as without tension made the pitch of 60 bends lower by 5 %.
    """

    def frequencies(**form):
        length, modulus, share = 0.5, 7e10, 0.02
        radius = (4.0 * 9.81 * (length / bends) ** 2 / (np.pi * modulus)) ** 0.25
        density = share / (np.pi * radius**2 * length)
        s = mse.MSystem("s", gravity=(0, 0, -9.81))
        fiber = mse.RoundBeam("fiber", length=length, radius=radius, young_modulus=modulus, density=density, **form)
        s.add(fiber)
        body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.01))
        s.clamp(s.ground, fiber.frame(0), Pose.ry(np.pi / 2))
        s.clamp(fiber.frame(1), body.frame(0), Pose.ry(-np.pi / 2))
        return s.find_working_point().linearize().modes(5).frequencies_hz

    np.testing.assert_allclose(frequencies(form="exact"), frequencies(elements=160), rtol=1e-4)


@pytest.mark.parametrize("tension", [0.0, 30.0])
def test_the_moments_of_a_weight_across_are_those_of_a_clamped_beam(tension):
    """``q L^2/12`` without tension; with it the slope of an end of ``EI w_xxxx - T w_xx = q`` times its stiffness, by hand."""
    bending, weight = 2.0, 6.0
    segment = ExactSegment("e1", 1.0, np.array([1e9, np.inf, np.inf, 1.0, bending, bending]), np.full(6, weight / 9.0))
    frames = [FramePose(np.zeros(3), np.eye(3)), FramePose(np.array([1.0 + tension / 1e9, 0, 0]), np.eye(3))]
    moments = segment.forces(frames, np.zeros(0), np.array([0, 0, -9.0]))[[4, 10]]
    k = np.sqrt(tension / bending)
    expected = weight / 12.0 if not tension else weight / k**2 * (0.5 * k / np.tanh(0.5 * k) - 1.0)
    np.testing.assert_allclose(moments, [expected, -expected], rtol=1e-6)


def test_a_beam_names_the_mechanisms_of_its_members():
    assert mse.RoundBeam.mechanisms == ExactSegment.dynamic_losses
