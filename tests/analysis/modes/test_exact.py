"""Undamped modes of objects with a dynamic stiffness: counted, and found by iteration on Re K(w)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import brentq

import mse
from mse.elements.parameters import Integer
from mse.linear.linear_model import DynamicMember

pytestmark = pytest.mark.rounding

M, K = np.diag([2.0, 0.5, 1.0]), np.array([[300.0, -100.0, 0.0], [-100.0, 250.0, -150.0], [0.0, -150.0, 150.0]])


def with_member(law, clamped_count=None, k=K, at=1) -> mse.LinearModel:
    """Three masses in a row on springs, with a law of one coordinate between the second and the ground."""
    model = mse.LinearModel.from_matrices(M, None, k, coordinates=["a.x", "b.x", "c.x"])
    motion = sp.csr_matrix(np.eye(3)[at : at + 1])
    stiffness = lambda omega, loss: law(omega)[:, None, None]
    return replace(model, members=(DynamicMember("link", motion, stiffness, clamped_count),))


def roots(law, k=K, most=60.0) -> np.ndarray:
    """Frequencies (rad/s) at which the determinant of the whole vanishes, by a fine grid and bisection."""

    def determinant(w):
        a = k - w**2 * M
        a[1, 1] += np.real(law(np.array([w]))[0])
        return np.linalg.det(a)

    grid = np.linspace(1e-3, most, 6001)
    signs = np.sign([determinant(w) for w in grid])
    return np.array(
        [brentq(determinant, *grid[i : i + 2], xtol=1e-14) for i in np.flatnonzero(signs[1:] != signs[:-1])]
    )


def relaxing(w):
    return 80.0 * 1j * w * 0.1 / (1.0 + 1j * w * 0.1)


TABLE = np.array([0.0, 5.0, 12.0, 20.0, 40.0]), np.array([0.0, 20.0, 35.0, 90.0, 100.0])


@pytest.mark.parametrize(
    "law",
    [
        relaxing,
        lambda w: np.interp(np.real(w), *TABLE) + 0.3j * w,
        lambda w: 0.4 * w**2,  # less mass than there was
        lambda w: -3.0 * w**2 + 0j,  # more
    ],
)
def test_modes_are_those_of_the_real_part(law):
    found = with_member(law).modes()
    np.testing.assert_allclose(2 * np.pi * found.frequencies_hz, roots(law), rtol=1e-11)
    assert found.complete
    for k, w in enumerate(2 * np.pi * found.frequencies_hz):
        a = K - w**2 * M
        a[1, 1] += np.real(law(np.array([w]))[0])
        assert np.abs(a @ found.shapes[:, k].real).max() < 1e-9 * np.abs(K).max()
    assert any("real part of the dynamic stiffness of link" in note for note in found.notes) == np.any(
        np.imag(law(np.ones(1)))
    )


def test_a_resonator_inside_is_counted_with_its_pole():
    """A mass on a spring inside the link: one more mode, two near its pole."""
    m, k = 0.2, 20.7
    pole = k / m
    law = lambda w: -(w**2) * m * pole / (pole - w**2)
    found = with_member(law, lambda omega2: int(omega2 > pole)).modes(4)
    whole_m, whole_k = np.diag([2.0, 0.5, 1.0, m]), np.pad(K, (0, 1))
    whole_k[1, 1] += k
    whole_k[3, 3], whole_k[1, 3], whole_k[3, 1] = k, -k, -k
    expected = mse.LinearModel.from_matrices(whole_m, None, whole_k).modes().frequencies_hz
    np.testing.assert_allclose(found.frequencies_hz, expected, rtol=1e-11)


def test_motions_that_grow_meet_the_static_stiffness():
    unstable = K - 300.0 * np.outer([0, 1, 0], [0, 1, 0])
    found = with_member(relaxing, k=unstable).modes()
    static = mse.LinearModel.from_matrices(M, None, unstable).modes()
    assert found.eigenvalues.real.max() == pytest.approx(static.eigenvalues.real.max(), rel=1e-11)
    assert static.eigenvalues.real.max() > 1.0
    assert "motions that grow are found with the static stiffness of link" in found.notes[-1]
    np.testing.assert_allclose(
        found.eigenvalues.imag[found.eigenvalues.imag > 0], roots(relaxing, unstable), rtol=1e-11
    )


# -- damped -----------------------------------------------------------------------------------------------------------
def residual(law, s: complex, shape: np.ndarray) -> float:
    a = (K + s**2 * M).astype(complex)
    a[1, 1] += law(np.array([-1j * s]))[0]
    return float(np.abs(a @ shape).max() / (np.abs(a) @ np.abs(shape)).max())


def test_damped_modes_are_those_at_complex_frequencies():
    found = with_member(relaxing).modes(damped=True)
    assert len(found) == 3
    assert np.all(found.eigenvalues.real <= 1e-12)
    assert found.eigenvalues.real.min() < -0.1
    for k, s in enumerate(found.eigenvalues):
        assert residual(relaxing, s, found.shapes[:, k]) < 1e-12
    assert not any("real part of the dynamic" in note for note in found.notes)
    assert "motions that fade without swinging are not sought" in found.notes[-1]


def test_a_dashpot_as_a_dynamic_stiffness_has_the_damped_modes_of_one():
    damping = np.diag([0.0, 2.0, 0.0])
    expected = mse.LinearModel.from_matrices(M, damping, K).modes(damped=True)
    found = with_member(lambda w: 2j * w).modes(damped=True)
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=1e-11, atol=1e-11)
    # beside one that is a damping matrix
    half = replace(mse.LinearModel.from_matrices(M, 0.5 * damping, K), members=with_member(lambda w: 1j * w).members)
    np.testing.assert_allclose(half.modes(damped=True).eigenvalues, expected.eigenvalues, rtol=1e-11, atol=1e-11)


def test_exact_members_have_damped_modes():
    """With a dashpot at the end, as a fine discretized beam has them."""
    found = []
    for form, elements in (("exact", 1), ("elements", 40)):
        s = mse.MSystem("rod", gravity=(0, 0, 0))
        rod = s.add(
            mse.RoundBeam(
                "rod", length=1.0, radius=5e-3, density=2700, young_modulus=7e10, form=form, elements=elements
            )
        )
        tip = s.add(mse.RigidBody("tip", mass=0.1, inertia=1e-4))
        s.clamp(s.ground, rod.frame(0))
        s.clamp(rod.frame(1), tip.frame(0))
        s.add(mse.Bushing("oil", stiffness=(0,) * 6, damping=(3, 3, 3, 0, 0, 0)), between=(tip, s.ground))
        found.append(s.find_working_point().linearize().modes(6, damped=True).eigenvalues[:6])
    np.testing.assert_allclose(found[0], found[1], rtol=2e-3)
    assert found[0].real.min() < -9.0


def own(law) -> mse.LinearModel:
    cls = type(
        "Foot", (mse.MObject,), {"frame_names": ("0",), "dynamic_stiffness": lambda self, omega, frames: law(omega)}
    )
    s = mse.MSystem("foot", gravity=(0, 0, 0))
    foot, mass = s.add(cls("foot")), s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
    s.add(mse.Bushing("hold", stiffness=(10.0, 20.0, 30.0, 4.0, 5.0, 6.0)), between=(s.ground, mass))
    s.clamp(mass.frame(0), foot.frame(0))
    return s.find_working_point().linearize()


@pytest.mark.parametrize(
    "law, same, known",
    [
        (lambda w: np.interp(w, [0.0, 60.0], [0.0, 12.0]), lambda w: 0.2 * w, 0.0),
        (lambda w: 0.3 * np.abs(w), lambda w: 0.3 * w, 0.0),
        (lambda w: 0.3 * w.real**1.5, lambda w: 0.3 * np.asarray(w, dtype=complex) ** 1.5, 1.0),
        (lambda w: 0.03 * float(w) ** 2, lambda w: 0.03 * w**2, 1.0),
    ],
    ids=["table", "magnitude", "real part", "one at a time"],
)
def test_a_law_of_real_frequencies_goes_on_by_its_slope(law, same, known):
    """As the analytic function that it is there: exactly where that is linear, else but for what the result tells."""
    pair = [own(lambda w, f=f: f(w) * np.eye(6) + 0.1j * w * np.eye(6)) for f in (law, same)]
    for how in ("damped", "lossy"):
        found, expected = (linear.modes(**{how: True}) for linear in pair)
        off = np.abs(found.eigenvalues - expected.eigenvalues)
        told = 2 * np.pi * found.uncertainties_hz
        assert np.all(off <= known * told + 1e-11)
        assert np.all(told[3:] <= 5.0 * off[3:] + 1e-11)
        assert "Foot" not in found.notes[0] and any("foot is known at real frequencies only" in n for n in found.notes)
        assert not any("real frequencies" in n for n in expected.notes)


def test_damped_modes_of_skew_models_with_a_dynamic_stiffness_are_refused():
    coupling = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    model = replace(mse.LinearModel.from_matrices(M, coupling, K), members=with_member(relaxing).members)
    with pytest.raises(mse.ModelError, match="gyroscopic coupling and the dynamic stiffness of link"):
        model.modes(damped=True)
    assert len(model.symmetric.modes(damped=True)) == 3


class Link(mse.MObject):
    """Along x, between two bodies: a table that is 0.2 w at first, or a dashpot behind a spring."""

    relaxes: Integer = Integer("whether it is the latter", default=0, minimum=0, maximum=1)
    frame_names = ("0", "1")

    def dynamic_stiffness(self, omega, frames):
        along = np.zeros(12)
        along[[0, 6]] = -1.0, 1.0
        k = (
            5.0 * 1j * omega / (1.0 + 0.1j * omega)
            if self.relaxes
            else np.interp(omega, [0.0, 5.0, 40.0], [0.0, 1.0, 6.0])
        )
        return k * np.outer(along, along)


def free_body(relaxes: int) -> mse.LinearModel:
    """2 kg on the link, and on springs across it; its turns are free."""
    s = mse.MSystem("one", gravity=(0, 0, 0))
    mass = s.add(mse.RigidBody("mass", mass=2.0, inertia=0.1))
    s.add(mse.Bushing("across", stiffness=(0, 30, 40, 0, 0, 0)), between=(s.ground, mass))
    s.add(Link("link", relaxes=relaxes), between=(s.ground, mass))
    return s.find_working_point().linearize()


def test_free_turns_beside_a_table_are_at_zero():
    """m w^2 = 0.2 w along x."""
    model = free_body(0)
    modes = model.modes()
    w = 2 * np.pi * modes.frequencies_hz
    np.testing.assert_allclose(w[3:], [0.1, np.sqrt(15.0), np.sqrt(20.0)], rtol=1e-12)
    assert np.all(w[:3] == 0.0) and all(mode.free for mode in modes[:3])
    assert np.abs(np.array([mode.vector[:3] for mode in modes[:3]])).max() < 1e-12
    f = np.array([0.01, 0.3, 1.0])
    s = mse.MSystem("driven", gravity=(0, 0, 0))
    mass = s.add(mse.RigidBody("mass", mass=2.0, inertia=0.1))
    s.add(mse.Bushing("across", stiffness=(0, 30, 40, 0, 0, 0)), between=(s.ground, mass))
    s.add(Link("link"), between=(s.ground, mass))
    s.add(mse.ForceActuator("coil"), between=(s.ground, mass))
    s.add(mse.PositionSensor("probe"), between=(mass, s.ground))
    found = s.find_working_point().linearize().frequency_response(f, inputs=["coil.fx"], outputs=["probe.x"])
    w = 2 * np.pi * f
    expected = 1.0 / (np.interp(w, [0.0, 5.0, 40.0], [0.0, 1.0, 6.0]) - 2.0 * w**2)
    np.testing.assert_allclose(found["probe.x", "coil.fx"], expected, rtol=1e-12)


@pytest.mark.parametrize("options", [{"damped": True}, {"lossy": True}])
def test_free_turns_beside_a_law_that_relaxes_are_at_zero(options):
    """m s^2 + 5 s/(1 + s/10) = 0 along x: s = -5, which does not swing, twice."""
    modes = free_body(1).modes(**options)
    assert np.count_nonzero(modes.eigenvalues == 0.0) >= 3
    swinging = np.sort(np.abs(modes.eigenvalues[np.abs(modes.eigenvalues.imag) > 1.0]))
    np.testing.assert_allclose(swinging[-2:], [np.sqrt(15.0), np.sqrt(20.0)], rtol=1e-12)


def test_two_free_bodies_on_a_table():
    """w = 0.2 (1/2 + 1/3), and all other motions at zero."""
    s = mse.MSystem("two", gravity=(0, 0, 0))
    bodies = [s.add(mse.RigidBody(name, mass=m, inertia=0.1)) for name, m in (("a", 2.0), ("b", 3.0))]
    s.add(Link("link"), between=bodies)
    w = 2 * np.pi * s.find_working_point().linearize().modes().frequencies_hz
    np.testing.assert_allclose(w, [0.0] * 11 + [1.0 / 6.0], rtol=1e-12)
