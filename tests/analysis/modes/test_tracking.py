"""Modes along a parameter: veering and crossing told apart, families as subspaces, Q, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.analysis.modes.tracking import _paired, _Point


def two(coupling: float, loss=(0.0, 0.0)) -> mse.MSystem:
    """Two masses of 1 kg on slides of 100 N/m, coupled by a spring."""
    system = mse.MSystem("two", gravity=(0, 0, 0))
    masses = []
    for k in range(2):
        mass = system.add(mse.RigidBody(f"m{k}", mass=1.0, inertia=1.0))
        system.add(mse.Prismatic(f"k{k}", stiffness=100.0, loss=loss[k]), between=(mass, system.ground))
        masses.append(mass)
    if coupling:
        system.add(mse.Spring("tie", length=0.0, stiffness=coupling), between=masses)
    return system


def test_frequencies_and_shares_beside_a_veering():
    tracks = mse.track(two(0.2), "k0.stiffness", [102.0, 101.0])
    np.testing.assert_allclose(tracks.frequencies_hz[0], [1.5929827405, 1.6091171122], rtol=1e-10)
    np.testing.assert_allclose(tracks.participation[0], [[0.0097, 0.9903], [0.9903, 0.0097]], atol=5e-5)


@pytest.mark.parametrize("values", [(90.0, 110.0), (90.0, 102.0, 110.0), (110.0, 90.0), np.linspace(90.0, 110.0, 9)])
def test_lines_veer_where_they_are_coupled_and_cross_where_not(values):
    for coupling in (0.0, 0.2):
        tracks = mse.track(two(coupling), "k0.stiffness", values)
        np.testing.assert_array_equal(tracks.values[tracks.asked], values)
        k = coupling * np.array([[1, -1], [-1, 1]]) + np.array([np.diag([v, 100.0]) for v in tracks.values])
        f = np.sqrt(np.linalg.eigvalsh(k)) / (2 * np.pi)
        if coupling:
            expected = f
        else:
            own = np.sqrt(tracks.values) / (2 * np.pi)
            expected = np.column_stack([own, np.full_like(own, np.sqrt(100.0) / (2 * np.pi))])
            expected = expected[:, ::-1] if values[0] > 100.0 else expected
        np.testing.assert_allclose(tracks.frequencies_hz, expected, rtol=1e-9)
        assert not tracks.notes


def test_lines_keep_what_moves_and_its_quality_through_a_crossing():
    tracks = mse.track(two(0.0, loss=(1e-3, 1e-2)), "k0.stiffness", [90.0, 110.0], lossy=True)
    assert tracks.lines == ("m0.z", "m1.z") and tracks.lossy
    np.testing.assert_allclose(tracks.quality[:, 0], 1e3, rtol=1e-9)
    np.testing.assert_allclose(tracks.quality[:, 1], 1e2, rtol=1e-9)
    np.testing.assert_allclose(tracks.participation[:, 0, 0], 1.0, atol=1e-9)


@pytest.mark.parametrize("damping", [1.0, 1.95, 2.0, 3.0])
def test_lines_of_a_tuned_mass_damper_are_those_of_its_eigenvalues(damping):
    """Beside 1.97 N s/m two modes become one: with less they veer, with more they cross and keep their damping."""
    system = mse.MSystem("tuned", gravity=(0, 0, 0))
    main = system.add(mse.RigidBody("main", mass=100.0, inertia=1.0))
    small = system.add(mse.RigidBody("small", mass=1.0, inertia=0.1))
    system.add(mse.Prismatic("k", stiffness=1e4), between=(main, system.ground))
    system.add(mse.Prismatic("d", stiffness=98.0, damping=damping), between=(small, main))
    tracks = mse.track(system, "d.stiffness", [80.0, 120.0], lossy=True)
    assert len(tracks.values) < 40 and not tracks.notes
    followed, coupling = tracks.eigenvalues[0], np.array([[0.01, -0.01], [-1.0, 1.0]])
    for k in np.linspace(80.0, 120.0, 2001):
        stiffness = np.diag([100.0, 0.0]) + k * coupling
        s = np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [-stiffness, -damping * coupling]]))
        s = s[s.imag > 0.0]
        followed = min((s, s[::-1]), key=lambda other: np.abs(other - followed).sum())
    np.testing.assert_allclose(tracks.eigenvalues[-1], followed, rtol=1e-9)


def test_equal_frequencies_are_followed_as_a_subspace():
    """A round pendulum swings alike in all directions, and its shapes at each length are any two of these."""
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.0, at=mse.Pose.dz(-1.0)))
    system.add(mse.Spring("wire", length=1.0, stiffness=1e5), between=(system.ground, body))
    tracks = mse.track(system, "wire.length", np.linspace(0.5, 2.0, 7), count=3)
    assert tracks.asked.all() and not tracks.notes
    length = tracks.values + 9.81 / 1e5
    for line in (0, 1):
        np.testing.assert_allclose(tracks.frequencies_hz[:, line], np.sqrt(9.81 / length) / (2 * np.pi), rtol=1e-6)


@pytest.mark.parametrize("apart, doubtful", [(0.0, []), (1e-6, []), (1e-2, [0, 1])])
def test_shapes_of_one_frequency_are_turned_back_into_those_before(apart, doubtful):
    """An eigensolver gives any two directions of a round pendulum; of an oval one a turn by 40 degrees is in doubt."""
    s = 1j * np.array([1.0, 1.0 + apart, 3.0])
    turned = mse.Pose.rz(np.radians(40.0)).U
    before = _Point(0.0, None, np.eye(3), s, np.eye(3), np.eye(3))
    found, doubts = _paired(before, before._replace(shapes=turned))
    assert doubts.tolist() == doubtful
    np.testing.assert_allclose(found.shapes, turned if doubtful else np.eye(3), atol=1e-12)


@pytest.mark.slow
def test_motions_inside_an_exact_beam_are_told_by_their_frequency():
    """Clamped at both ends it moves nothing outside; beside it a mass on a spring crosses the first of its modes."""
    system = mse.MSystem("string", gravity=(0, 0, 0))
    string = mse.RoundBeam("string", length=1.0, radius=1e-3, form="exact")
    system.add(string, between=(system.ground, system.ground @ Pose.dx(1.0005)))
    mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=1.0))
    system.add(mse.Prismatic("slide", stiffness=1e3), between=(mass, system.ground))
    inside = system.find_working_point().linearize().modes(5).frequencies_hz[1:5:2]
    low, high = ((2 * np.pi * f) ** 2 for f in (0.9 * inside[0], 1.1 * inside[0]))
    tracks = mse.track(system, "slide.stiffness", [low, high], count=3)
    assert tracks.lines[0] == "mass.z" and not tracks.notes
    np.testing.assert_allclose(tracks.frequencies_hz[:, 0], np.sqrt(tracks.values) / (2 * np.pi), rtol=1e-6)
    np.testing.assert_allclose(tracks.frequencies_hz[:, 1:], inside[0], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [{}, {"loss": {"bending": 1e-3}}])
def test_motions_inside_a_wire_that_move_its_bob_alike_are_told_by_their_frequency(loss):
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    bob = system.add(mse.RigidBody("bob", mass=10.0, inertia=0.05, at=Pose.dz(-1.02)))
    wire = system.add(mse.RoundBeam("wire", length=1.0, radius=2e-4, form="exact", **loss))
    system.clamp(system.ground, wire.frame(0), Pose.ry(np.pi / 2))
    system.clamp(wire.frame(1), bob.frame("center"), Pose.dx(0.02) @ Pose.ry(-np.pi / 2))
    tracks = mse.track(system, "bob.mass", [10.0, 11.0], count=10, lossy=bool(loss))
    assert len(tracks.values) == 2 and not tracks.notes
    f = tracks.frequencies_hz[:, 6:]
    np.testing.assert_allclose(f[1] / f[0], np.sqrt(1.1), rtol=1e-3)


def test_the_lowest_few_are_followed_where_others_come_below_them():
    tracks = mse.track(two(0.0), "k1.stiffness", [200.0, 20.0], count=1)
    assert tracks.lines == ("m0.z",)
    np.testing.assert_allclose(tracks.frequencies_hz, np.sqrt(100.0) / (2 * np.pi), rtol=1e-12)


def test_tables_pictures_and_files(tmp_path):
    tracks = mse.track(two(0.2, loss=(1e-3, 1e-2)), "k0.stiffness", [90.0, 110.0], lossy=True)
    assert "2 modes along k0.stiffness" in repr(tracks) and "m0.z" in repr(tracks)
    top, bottom = tracks.plot().axes
    assert [t.get_text() for t in top.get_legend().get_texts()] == list(tracks.lines)
    assert bottom.get_ylabel() == "Q" and bottom.get_xlabel() == "k0.stiffness"
    assert len(mse.track(two(0.2), "m0.mass", [1.0, 1.1]).plot().axes) == 1
    tracks.save(tmp_path / "tracks.npz")
    again = mse.read_result(tmp_path / "tracks.npz")
    assert again.lines == tracks.lines and repr(again) == repr(tracks)
    np.testing.assert_array_equal(again.eigenvalues, tracks.eigenvalues)
    assert len(tracks.to_pandas()) == len(tracks.values)


@pytest.mark.parametrize(
    "parameter, values, options, told",
    [
        ("stiffness", [1.0, 2.0], {}, "parameter is 'stiffness'; expected 'object.parameter'"),
        ("k0.stiffness", [1.0], {}, "values is .*at least two numbers"),
        ("k0.stiffness", [1.0, 1.0], {}, "neighbors being different"),
        ("k0.stifness", [1.0, 2.0], {}, "stiffness"),
        ("k0.stiffness", [1.0, 2.0], {"count": 0}, "count"),
    ],
)
def test_what_cannot_be_followed_is_refused(parameter, values, options, told):
    with pytest.raises(mse.MseError, match=told):
        mse.track(two(0.2), parameter, values, **options)
