"""Beam segments in motion, against their mass matrix and against derivatives of their energy."""

import numpy as np
import pytest

import mse
from mse import Pose
from mse.elements.base import FramePose
from mse.elements.recorded_laws import differentiated
from mse.kernels import beam_shapes, beams
from mse.kernels.rotations import rotation_matrix

FIRST = Pose.rx(0.2) @ Pose.ry(0.4) @ Pose.rz(0.3)
BENT = FIRST @ Pose.dx(0.25) @ Pose.ry(0.02) @ Pose.rz(0.01) @ Pose.dy(0.001)


def segment(theory="timoshenko"):
    beam = mse.RoundBeam("beam", length=0.5, radius=0.01, elements=2, curvature_y=0.3, theory=theory)
    return beam.components()[0].element


def stacked(poses):
    return np.array([[p.o for p in poses]]), np.array([[p.U for p in poses]])


@pytest.mark.parametrize(("theory", "n"), [("timoshenko", 20), ("euler-bernoulli", 18)])
def test_forces_of_inertia_are_those_of_lagrange(theory, n):
    seg, poses = segment(theory), (FIRST, BENT)
    inertia = type(seg).moving([seg])
    v = np.random.default_rng(0).normal(size=n)
    mass, c = (x[0] for x in inertia(*stacked(poses), v[None]))
    np.testing.assert_allclose(mass, seg.mass_matrix([FramePose(p.o, p.U) for p in poses]), atol=1e-12 * mass.max())

    def mass_at(x):
        moved = [
            Pose(p.o + six[:3], rotation_matrix(six[3:].copy()) @ p.U)
            for p, six in zip(poses, x.reshape(2, 6), strict=True)
        ]
        return inertia(*stacked(moved), np.zeros((1, n)))[0][0]

    h = 1e-4
    near, far = (
        np.array([(mass_at(x * unit) - mass_at(-x * unit)) / (2 * x) for unit in np.eye(12)]) for x in (h, 2 * h)
    )
    change = (4.0 * near - far) / 3.0
    expected = np.einsum("kij,j,k->i", change, v, v[:12])
    expected[:12] -= 0.5 * np.einsum("kij,i,j->k", change, v, v)
    p = mass @ v
    for k in (0, 6):
        expected[k + 3 : k + 6] -= np.cross(v[k + 3 : k + 6], p[k + 3 : k + 6])
    np.testing.assert_allclose(c, expected, atol=1e-9 * np.abs(c).max())


def test_what_is_kept_for_the_next_call_is_for_the_same_velocities_alone():
    seg, places = segment(), stacked((FIRST, BENT))
    inertia, v = type(seg).moving([seg]), np.random.default_rng(2).normal(size=(1, 20))
    (mass, c), (same, fast), (_, rest) = (inertia(*places, x * v) for x in (1.0, 2.0, 0.0))
    np.testing.assert_allclose(same, mass, atol=1e-15)
    np.testing.assert_allclose(fast, 4.0 * c, rtol=1e-12, atol=1e-12 * np.abs(c).max())
    assert not rest.any() and c.any()


@pytest.mark.parametrize("size", [0.0, 1e-3])
def test_the_kernel_has_the_derivatives_of_the_law_with_internal_coordinates(size):
    seg = segment()
    frames = [FramePose(p.o, p.U) for p in (FIRST, BENT)]
    q, gravity = size * np.random.default_rng(1).normal(size=8), np.array([0, 0, -9.81])
    energy, gradient, stiffness = differentiated(seg, frames, q, gravity, 2)
    found = np.zeros(1), np.zeros((1, 20)), np.zeros((1, 1, 20, 20))
    row = np.concatenate([seg.kernel_parameters(), q])[None]
    beams.segment(row, *stacked((FIRST, BENT)), np.zeros((1, 0)), gravity, 2, *found)
    assert found[0][0] == pytest.approx(energy, rel=1e-12)
    np.testing.assert_allclose(found[1][0], gradient, atol=1e-12 * np.abs(gradient).max())
    np.testing.assert_allclose(found[1][0, 12:], gradient[12:], rtol=1e-9)
    whole = np.sum(stiffness, axis=0) if np.ndim(stiffness) == 3 else stiffness
    np.testing.assert_allclose(found[2][0, 0], whole, atol=1e-12 * np.abs(whole).max())


def test_a_straight_uniform_segment_has_the_textbook_mass_matrix():
    """J. S. Przemieniecki, "Theory of Matrix Structural Analysis" (1968), table 11.4."""
    steel, length, radius = mse.materials["C70 steel"], 0.4, 0.02
    beam = mse.RoundBeam("beam", length=length, radius=radius, elements=1, theory="euler-bernoulli", material=steel)
    seg = beam.components()[0].element
    m = seg.mass_matrix([FramePose(np.zeros(3), np.eye(3)), FramePose(np.array([length, 0.0, 0.0]), np.eye(3))])
    area, inertia = np.pi * radius**2, np.pi * radius**4 / 4
    mass = steel.density * area * length
    axial, torsion, bending, turning = (0, 6), (3, 9), (2, 4, 8, 10), 2.0 * inertia / area
    expected = mass * np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0
    np.testing.assert_allclose(m[np.ix_(axial, axial)], expected, rtol=1e-12)
    np.testing.assert_allclose(m[np.ix_(torsion, torsion)], turning * expected, rtol=1e-12)
    x = length
    shape = [[156, -22 * x, 54, 13 * x], [-22 * x, 4 * x * x, -13 * x, -3 * x * x]]
    first = mass / 420.0 * np.array(shape)  # without rotary inertia, which Euler and Bernoulli leave out
    np.testing.assert_allclose(m[np.ix_(bending[:2], bending)], first, rtol=1e-11)
    np.testing.assert_allclose(m[np.ix_(bending[2:], bending[2:])], first[:, :2] * [[1, -1], [-1, 1]], rtol=1e-11)


def test_a_bent_segment_moves_rigidly_with_the_energy_of_its_sections():
    seg, poses = segment(), (FIRST, BENT)
    frames = [FramePose(p.o, p.U) for p in poses]
    v, w = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -1.5])
    u = np.concatenate([*(x for f in frames for x in (v + np.cross(w, f.o), w)), np.zeros(8)])
    energy, data = 0.0, type(seg).moving([seg]).segments
    for section, weight, density in zip(seg.section_poses(frames), beam_shapes.WEIGHTS, data.density[0], strict=True):
        own = np.concatenate([section.U.T @ (v + np.cross(w, section.o)), section.U.T @ w])
        energy += weight * data.length[0] * own @ (density * own)
    assert u @ seg.mass_matrix(frames) @ u == pytest.approx(energy, rel=1e-10)
    motions = seg.section_motions(frames) @ u
    for section, moved in zip(seg.section_poses(frames), motions, strict=True):
        np.testing.assert_allclose(section.U @ moved[:3], v + np.cross(w, section.o), atol=1e-12)


def test_masses_of_many_segments_are_those_of_each():
    many = [
        mse.RoundBeam(f"b{k}", length=0.3 + 0.001 * k, radius=0.01, elements=1).components()[0].element
        for k in range(300)
    ]
    o, u = stacked((FIRST, BENT))
    found = type(many[0]).moving(many).masses(np.repeat(o, 300, axis=0), np.repeat(u, 300, axis=0))
    frames = [FramePose(p.o, p.U) for p in (FIRST, BENT)]
    for k in (0, 255, 256, 299):
        np.testing.assert_allclose(found[k], many[k].mass_matrix(frames), rtol=1e-12, atol=1e-15)
