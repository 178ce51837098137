"""Motions of single bodies that equations do not see, among many that they see badly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import mse
from mse.numerics.null_motions import in_echelon, local_null, within

pytestmark = pytest.mark.rounding


@pytest.mark.parametrize("decades", [0, 2, 4, 6])
@pytest.mark.parametrize("free", [0, 1, 3, 6])
def test_against_what_was_put_in(free, decades):
    """Each body's columns leave out a random space of motions; what they see of the others spans decades.

    Of what is free beside what is hardly seen some may be missed; none is made up.
    """
    rng = np.random.default_rng(free)
    bodies, rows = 30, []
    spaces = [np.linalg.qr(rng.standard_normal((6, 6)))[0] for _ in range(bodies)]
    a = np.zeros((12 * bodies, 6 * bodies + 4))
    for k, q in enumerate(spaces):
        seen = q[:, free:]
        for rows in (slice(12 * k, 12 * k + 12), slice(12 * ((k + 1) % bodies), 12 * ((k + 1) % bodies) + 12)):
            sizes = np.logspace(0, -decades, 6)[free:]
            a[rows, 6 * k : 6 * k + 6] = rng.standard_normal((12, 6 - free)) * sizes @ seen.T
    a[:, -4:] = rng.standard_normal((12 * bodies, 4))
    found = local_null(sp.csc_matrix(a), bodies).toarray()
    assert found.shape[1] == free * bodies or (decades == 6 and found.shape[1] < free * bodies)
    expected = np.zeros((6 * bodies + 4, free * bodies))
    for k, q in enumerate(spaces):
        expected[6 * k : 6 * k + 6, free * k : free * (k + 1)] = q[:, :free]
    # the same space, and orthonormal
    np.testing.assert_allclose(found.T @ found, np.eye(found.shape[1]), atol=1e-13)
    np.testing.assert_allclose(expected @ (expected.T @ found), found, atol=1e-11 * 10.0**decades)
    assert np.abs(a @ found).max(initial=0.0) < 1e-12


def of_bodies(mass: np.ndarray, held: np.ndarray) -> mse.LinearModel:
    """A model with six coordinates for each body, held by single springs."""
    model = mse.LinearModel.from_matrices(mass, None, np.diag(held))
    return replace(model, bodies=np.arange(model.size) // 6)


@pytest.mark.parametrize("coupled", [False, True])
def test_spins_that_masses_couple_are_modes_all_the_same(coupled):
    """Fifty bodies that nothing holds against turning about z; two of them may share some inertia."""
    n = 300
    held = np.tile([1.0, 2.0, 3.0, 4.0, 5.0, 0.0], 50) * np.linspace(1.0, 2.0, n)
    mass = np.diag(np.linspace(1.0, 3.0, n))
    if coupled:
        mass[5, 11] = mass[11, 5] = 0.5
    found = of_bodies(mass, held).modes(10)
    assert np.count_nonzero(found.free) == 50 and len(found) == 60
    np.testing.assert_allclose(found.shapes.T @ mass @ found.shapes, np.eye(60), atol=1e-10)


def test_what_is_very_soft_is_not_free():
    """A spin held by 1e-6 beside 1e8: less than the equations of its body tell from rounding, but no rounding."""
    soft = np.linspace(1e-6, 2e-6, 50)
    held = np.repeat(1e8 * np.linspace(1.0, 2.0, 50), 6)
    held[5::6] = soft
    found = of_bodies(np.eye(300), held).modes(45)
    assert not found.free.any()
    np.testing.assert_allclose((2 * np.pi * found.frequencies_hz) ** 2, soft[:45], rtol=1e-8)


def test_names_of_coordinates_decide_nothing():
    """1 N/m on 1 kg beside 1e16 N/m on 1e16 kg is no rounding, whatever the two coordinates are called."""
    matrix = np.diag([1e16, 1.0])
    for names in (("stiff", "soft"), ("body.x", "body.ax")):
        found = mse.LinearModel.from_matrices(matrix, None, matrix, coordinates=names).modes()
        np.testing.assert_allclose(2 * np.pi * found.frequencies_hz, 1.0, rtol=1e-14)
    names = [f"body{k}.{axis}" for k in range(50) for axis in ("x", "y", "z", "ax", "ay", "az")]
    mass, held = np.linspace(1.0, 2.0, 300), np.tile([1e8, 2e8, 3e8, 4e8, 5e8, 0.0], 50)
    model = of_bodies(np.diag(mass), held)
    other = replace(model, coordinates=tuple(names)).modes(10)
    np.testing.assert_array_equal(other.frequencies_hz, model.modes(10).frequencies_hz)
    assert np.count_nonzero(other.free) == 50


def test_which_coordinates_are_of_one_body_stays_known():
    """Through a part of a system, its composition, a reduction and joints; also where a body is named like a coordinate."""
    s = mse.MSystem("s", gravity=(0, 0, -9.81))
    for name in ("x", "az"):
        s.add(mse.RigidBody(name, mass=1.0, inertia=(1.0, 2.0, 2.5)))
    hinge = s.add(mse.Revolute("hinge", stiffness=50.0))
    spring = s.add(mse.Bushing("spring", stiffness=np.full(6, 1e3)))
    s.clamp(s.ground, hinge.frame(0))
    s.clamp(hinge.frame(1), s["x"].frame(0), mse.Pose.dz(-0.1))
    s.clamp(s["x"].frame(0), spring.frame(0))
    s.clamp(spring.frame(1), s["az"].frame(0))
    wp = s.find_working_point()
    model = wp.linearize()
    np.testing.assert_array_equal(model.bodies, np.repeat([0, 1], 6))
    np.testing.assert_array_equal(model.reduced[0].bodies, [0] + 6 * [1])
    np.testing.assert_array_equal(wp.linearize(within=["az"]).bodies, np.repeat(1, 6))
    parts = [wp.linearize(within=[name]) for name in ("az", "spring", "x", "hinge")]
    whole = mse.compose("whole", parts, [])
    assert [len(set(whole.bodies[k : k + 6])) for k in (0, 6)] == [1, 1] and len(set(whole.bodies)) == 2
    reduced, _ = mse.reduce_model(model, ["az"], modes=1)
    np.testing.assert_array_equal(reduced.bodies, 6 * [1] + [-1])


def test_motions_within_some_coordinates_are_told_from_others():
    """A basis that is mixed at random: two motions inside, one of a body, one that moves both."""
    rng = np.random.default_rng(3)
    whole = np.zeros((10, 4))
    whole[8, 0], whole[[7, 9], 1] = 1.0, (0.6, -0.8)
    whole[2, 2], whole[[4, 9], 3] = 1.0, (0.8, 0.6)
    whole[:, 3] -= whole[:, 1] * (whole[:, 1] @ whole[:, 3])
    whole[:, 3] /= np.linalg.norm(whole[:, 3])
    inside = np.arange(10) >= 7
    mixed = whole @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    first, rest, local = within(sp.csc_matrix(mixed), 0, inside)
    assert (first.shape, rest.shape, local) == ((10, 2), (10, 2), 0)
    np.testing.assert_allclose(first @ first.T @ whole[:, :2], whole[:, :2], atol=1e-14)
    both = np.hstack([first.toarray(), rest.toarray()])
    np.testing.assert_allclose(both.T @ both, np.eye(4), atol=1e-14)
    # single bodies stay sparse columns
    first, rest, local = within(sp.csc_matrix(whole[:, [2, 0, 1, 3]]), 2, inside)
    assert (first.shape[1], rest.shape[1], local) == (2, 2, 1)
    np.testing.assert_allclose(rest[:, [0]].toarray().ravel(), whole[:, 2], atol=0)
    for none in (np.zeros(10, dtype=bool), np.ones(10, dtype=bool)):
        first, rest, _ = within(sp.csc_matrix(mixed), 0, none)
        assert first.shape[1] == 4 * none[0] and rest.shape[1] == 4 * (not none[0])


def test_motions_in_echelon_keep_small_entries_beside_large_ones():
    # the second motion is [0, 1, 0.8], which both given ones have, and both hide
    found = in_echelon(np.array([[3e16, -2e16], [1.0, 1.0], [2.0, 0.0]]))
    np.testing.assert_allclose(
        found, [[1.0, 0.0], [0.0, 1.0 / np.hypot(1.0, 0.8)], [4e-17, 0.8 / np.hypot(1.0, 0.8)]], atol=1e-15
    )


def test_motions_in_echelon_are_led_by_no_rounding():
    """The first two coordinates move together up to rounding; their weights made what it leaves as large as the third one."""
    weight = np.array([1e7, 1e7, 1e23])
    for rounding in (0.0, 1e-16, -1e-16):
        found = in_echelon(np.array([[0.6, 0.3], [-0.6, -0.3 + rounding], [0.5, -0.8]]), weight)
        shapes = found * np.sign(found[[0, 2], [0, 1]])
        np.testing.assert_allclose(shapes, [[np.sqrt(0.5), 0.0], [-np.sqrt(0.5), 0.0], [0.0, 1.0]], atol=1e-15)
