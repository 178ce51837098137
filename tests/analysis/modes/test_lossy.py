"""Modes with loss factors: complex eigenvalues against dense solvers and closed forms, Q of dilution, what does not lose."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.linalg as sl

import mse
from catalogue import CATALOGUE
from models import four_wire_chain
from mse import LinearModel, Pose
from mse.analysis.modes import lossy as followed
from mse.linear.losses import weights
from mse.numerics.options import SIZES

# a steel wire of 0.3 mm radius
EI, AREA, LENGTH, MASS, INERTIA, GRAVITY, BENDING_LOSS = 1.2723e-3, 2.827e-7, 1.0, 10.0, 0.05, 9.8, 2e-4


def oscillator(**parameters) -> LinearModel:
    system = mse.MSystem("oscillator", gravity=(0, 0, 0))
    mass = system.add(mse.RigidBody("mass", mass=10.0, inertia=1.0, at=Pose.dx(1.0)))
    spring = mse.Spring("spring", length=1.0, stiffness=10.0 * (2 * np.pi) ** 2, **parameters)
    system.add(spring, between=(system.ground, mass))
    return system.find_working_point().linearize()


def random_mount(rng: np.random.Generator, bodies: int, *, damping: float = 0.0) -> LinearModel:
    """Bodies between bushings, each of which has another loss."""
    system = mse.MSystem("mount", gravity=(0, 0, 0))
    made = [
        system.add(mse.RigidBody(f"b{k}", mass=rng.uniform(1, 3), inertia=rng.uniform(0.1, 0.3))) for k in range(bodies)
    ]
    for k, body in enumerate(made):
        a = rng.normal(size=(6, 6))
        mount = mse.Bushing(
            f"m{k}",
            stiffness=100.0 * (a @ a.T + np.eye(6)),
            damping=damping * np.eye(6),
            loss=float(rng.uniform(0, 0.3)),
        )
        system.add(mount, between=(body, made[k - 1] if k else system.ground))
    return system.find_working_point().linearize()


def lossy_k(model: LinearModel) -> np.ndarray:
    return model.stiffness_parts.total(weights(model, model.losses)).toarray()


def nearest(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest relative distance of each found number from the nearest expected one."""
    return max(np.abs(expected - x).min() / abs(x) for x in found)


# -- closed forms -----------------------------------------------------------------------------------------------------
def test_one_hertz_with_a_loss_of_a_thousandth_has_q_1000():
    mode = oscillator(loss=1e-3).modes(lossy=True)[-1]
    assert mode.quality == pytest.approx(1000.0, rel=1e-13)
    assert mode.loss_factor == pytest.approx(1e-3, rel=1e-13)
    assert mode.frequency_hz == pytest.approx((1 + 1e-6) ** 0.25, rel=1e-14)
    assert mode.eigenvalue == pytest.approx(2j * np.pi * np.sqrt(1 + 1e-3j), rel=1e-14)


def pendulum(form: str = "exact", **parameters) -> LinearModel:
    system = mse.MSystem("pendulum", gravity=(0, 0, -GRAVITY))
    wire = mse.SectionBeam(
        "wire", length=LENGTH, area=AREA, second_moment_y=EI / 2e11, second_moment_z=EI / 2e11, torsion_constant=2 * EI / 2e11,
        young_modulus=2e11, theory="euler-bernoulli", form=form, **{"density": 0.0} | parameters,
    )  # fmt: skip
    system.add(wire)
    bob = system.add(mse.RigidBody("bob", mass=MASS, inertia=INERTIA, at=Pose.dz(-LENGTH)))
    system.clamp(system.ground, wire.frame(0), Pose.ry(np.pi / 2))
    system.clamp(wire.frame(1), bob.frame(0), Pose.ry(-np.pi / 2))
    return system.find_working_point().linearize()


def hanging(w2: complex, density: float = 0.0) -> mpmath.mpc:
    """Determinant of a clamped wire, ``EI (1 + i eta) w'''' = T w'' + rhoA w^2 w``, with a body at its end.

    w = w' = 0 above; below ``T w' - EI w''' = m w^2 w`` and ``EI w'' = J w^2 w'``.  The tension is that of its middle.  The wire
    is stretched by T/EA and keeps its mass and, for motions of its ends, its stiffness: EI grows by as much.
    """
    tension = mpmath.mpf(GRAVITY) * (MASS + density * LENGTH / 2)
    length = LENGTH * (1 + tension / (2e11 * AREA))
    ei, mu = mpmath.mpc(1, BENDING_LOSS) * EI * length / LENGTH, density * LENGTH / length
    a, b = tension / ei, mu * w2 / ei
    root = mpmath.sqrt(a * a + 4 * b)
    fast, slow = mpmath.sqrt((root + a) / 2), mpmath.sqrt((root - a) / 2) if density else mpmath.mpf(0)
    waves = [
        lambda x, n: (-fast) ** n * mpmath.exp(-fast * x),
        lambda x, n: fast**n * mpmath.exp(fast * (x - length)),
        lambda x, n: slow**n * mpmath.cos(slow * x + n * mpmath.pi / 2) if density else mpmath.mpf(n == 0),
        lambda x, n: slow**n * mpmath.sin(slow * x + n * mpmath.pi / 2) if density else (x, mpmath.mpf(1), 0, 0)[n],
    ]
    end = [[w(length, n) for n in range(4)] for w in waves]
    rows = [
        [w(0, 0) for w in waves],
        [w(0, 1) for w in waves],
        [tension * e[1] - ei * e[3] - MASS * w2 * e[0] for e in end],
        [ei * e[2] - INERTIA * w2 * e[1] for e in end],
    ]
    return mpmath.det(mpmath.matrix(rows))


def root_beside(function, start: complex) -> mpmath.mpc:
    """The root of an analytic function near a place, by Newton's method."""
    x, small = mpmath.mpc(start), mpmath.mpf(10) ** -20
    for _ in range(6):
        slope = (function(x * (1 + small)) - function(x * (1 - small))) / (2 * small * x)
        step = function(x) / slope
        x -= step
    assert abs(step) < 1e-25 * abs(x)
    return x


def test_a_pendulum_on_a_lossy_wire_has_the_q_of_the_complex_beam():
    modes = pendulum(loss={"bending": BENDING_LOSS}).modes(lossy=True)
    swinging = [m for m in modes if m.participants(1).split()[0] in ("bob.x", "bob.y", "bob.ax", "bob.ay")]
    assert len(swinging) == 4
    with mpmath.workdps(40):
        for mode in swinging:
            w2 = -(mode.eigenvalue**2)
            exact = root_beside(hanging, w2)
            # without mass, loss multiplies EI dK/dEI: K of a complex EI to first order
            assert w2 == pytest.approx(complex(exact), rel=BENDING_LOSS**2)
            assert mode.quality == pytest.approx(float(exact.real / exact.imag), rel=BENDING_LOSS**2)
    pendulums = [m for m in swinging if m.participants(1).split()[0] in ("bob.x", "bob.y")]
    assert [round(m.quality) for m in pendulums] == [217369, 217369]  # 1/loss is 5000
    others = [m.quality for m in modes if m not in swinging and not any(m.number == s.number for s in swinging)]
    assert others == [np.inf, np.inf]  # torsion and stretch have no loss


def test_violin_modes_of_a_lossy_wire_close_to_poles_of_its_stiffness():
    density = 2.2e-3
    modes = pendulum(loss={"bending": BENDING_LOSS}, density=density / AREA).modes(12, lossy=True)
    violins = [
        m for m in modes if 100.0 < m.frequency_hz < 400.0 and m.participants(1).split()[0] in ("bob.x", "bob.y")
    ]
    assert len(violins) == 6
    with mpmath.workdps(40):
        for mode in violins:
            w2 = -(mode.eigenvalue**2)
            exact = root_beside(lambda x: hanging(x, density), w2)
            assert w2 == pytest.approx(complex(exact), rel=1e-9)
            assert mode.quality == pytest.approx(float(exact.real / exact.imag), rel=1e-8)
            assert 5e5 < mode.quality < 7e5


def test_elements_approach_the_exact_member():
    exact = pendulum(loss=1e-3, density=1000.0).modes(10, lossy=True)
    fine = pendulum("elements", loss=1e-3, density=1000.0, elements=60).modes(10, lossy=True)
    torsion = [next(m for m in modes if m.participants(1).startswith("bob.az")) for modes in (exact, fine)]
    assert torsion[0].quality == pytest.approx(torsion[1].quality, rel=1e-6)
    assert torsion[0].quality == pytest.approx(1000.0, rel=1e-3)


def test_a_tapered_blade_of_the_catalogue_against_its_closed_form():
    """A point mass on a clamped blade of the width b1 + c s, s from its tip: 1/k = 12/(E h^3) times the integral of s^2/b."""
    blade, mass = CATALOGUE["tapered blade with loss"].make(), 0.4
    system = mse.MSystem("blade", gravity=(0, 0, 0))
    system.add(blade)
    tip = system.add(mse.RigidBody("tip", mass=mass, at=Pose.dx(0.3)))
    system.clamp(system.ground, blade.frame(0))
    system.clamp(blade.frame(1), tip.frame(0))
    push = system.add(mse.ForceActuator("push"), between=(system.ground, tip))
    probe = system.add(mse.PositionSensor("probe"), between=(tip, system.ground))
    model = system.find_working_point().linearize()
    b1, c, length, height = 0.01, 0.04 / 0.3, 0.3, 0.002
    integral = length**2 / (2 * c) - b1 * length / c**2 + b1**2 / c**3 * np.log1p(c * length / b1)
    k = 2e11 * height**3 / 12 / integral
    along = 2e11 * height * c / np.log1p(c * length / b1)  # EA is E h b
    for stiffness, loss, axis in ((k, 1e-3, "z"), (along, 2e-5, "x")):
        mode = next(m for m in model.modes(lossy=True) if m.participants(1).startswith(f"tip.{axis}"))
        assert -(mode.eigenvalue**2) == pytest.approx(stiffness * (1 + 1j * loss) / mass, rel=1e-9)
        assert mode.quality == pytest.approx(1.0 / loss, rel=1e-9)
        f = np.array([0.5, 1.0, 2.0]) * mode.frequency_hz
        h = model.frequency_response(f, inputs=[f"{push.name}.f{axis}"], outputs=[f"{probe.name}.{axis}"]).values[
            :, 0, 0
        ]
        exact = 1.0 / (stiffness * (1 + 1j * loss) - mass * (2 * np.pi * f) ** 2)
        assert np.abs(h / exact - 1.0).max() < 1e-6


class Relaxing(mse.MObject):
    """A spring of 100 N/m, and beside it along z one of 20 N/m behind a dashpot, as a dynamic stiffness."""

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 50.0 * (d @ d)

    def dynamic_stiffness(self, omega, frames):
        along = np.zeros((12, 12))
        along[2, 2] = along[8, 8] = 1.0
        along[2, 8] = along[8, 2] = -1.0
        return 20.0 * 0.01j * omega / (1.0 + 0.01j * omega) * along


def test_a_dynamic_stiffness_dissipates_beside_the_loss_factor_of_the_energy():
    """``(k (1 + i eta) - m w^2) (1 + i w tau) + 20 i w tau = 0``."""
    system = mse.MSystem("mount", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=1.0))
    system.add(Relaxing("mount", loss=0.01), between=(system.ground, body))
    system.add(mse.Bushing("turning", stiffness=[0, 0, 0, 1.0, 2.0, 3.0]), between=(system.ground, body))
    modes = system.find_working_point().linearize().modes(lossy=True)
    mode = next(m for m in modes if m.participants(1).startswith("body.z"))
    stiffness, tau = 100.0 * (1 + 0.01j), 0.01
    exact = np.roots([-1j * tau, -1.0, 1j * tau * (stiffness + 20.0), stiffness])
    w = mode.eigenvalue / 1j
    assert np.abs(exact / w - 1.0).min() < 1e-12
    assert 0.029 < mode.loss_factor < 0.031
    others = [m for m in modes if m.participants(1)[:6] in ("body.x", "body.y")]
    assert [m.loss_factor for m in others] == pytest.approx([0.01, 0.01], rel=1e-12)


def test_modes_that_loss_moves_past_others_are_said_to_be_the_lowest_without_it():
    """A mode at 4.8 Hz by the real part of a stiffness is at 5.6 Hz with its loss, above another at 5.2 Hz."""
    system = mse.MSystem("stiffened", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("b", mass=1.0, inertia=1.0))

    class Stiffening(mse.MObject):
        def dynamic_stiffness(self, omega, frames):
            return 1j * 60.0 * omega / (1.0 + 0.05j * omega) * along

    along = np.zeros((12, 12))
    along[0, 0] = along[6, 6] = 1.0
    along[0, 6] = along[6, 0] = -1.0
    mount = mse.Bushing("m", stiffness=[(2 * np.pi * f) ** 2 for f in (1.3, 5.2, 7.0, 2.0, 8.0, 9.0)], loss=1e-3)
    system.add(mount, between=(body, system.ground))
    system.add(Stiffening("s"), between=(body, system.ground))
    model = system.find_working_point().linearize()
    every, two = model.modes(lossy=True), model.modes(2, lossy=True)
    np.testing.assert_allclose(two.frequencies_hz, every.frequencies_hz[[0, 2]], rtol=1e-12)
    assert "the 2 modes that are lowest without loss; modes(count=4) gives more" in two.notes
    assert "2 lossy modes, the lowest without loss, of more" in str(two)


# -- against dense solvers --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(8))
def test_eigenvalues_are_those_of_the_complex_pencil(seed):
    model = random_mount(np.random.default_rng(seed), 3)
    modes = model.modes(lossy=True)
    expected = sl.eigvals(lossy_k(model), model.M.toarray())
    w2 = -(modes.eigenvalues**2)
    assert len(w2) == model.size
    assert max(nearest(w2, expected), nearest(expected, w2)) < 1e-11
    miss = lossy_k(model) @ modes.shapes - (model.M @ modes.shapes) * w2
    assert np.abs(miss).max() < 1e-9 * np.abs(lossy_k(model)).max()
    np.testing.assert_allclose(modes.energies.sum(axis=0), 1.0)
    np.testing.assert_allclose(np.einsum("ij,ij->j", modes.shapes.conj(), model.M @ modes.shapes), 1.0)
    assert np.all(np.diff(modes.frequencies_hz) >= 0)


@pytest.mark.parametrize("seed", range(5))
def test_with_damping_they_are_those_of_the_quadratic_problem(seed):
    model = random_mount(np.random.default_rng(seed), 2, damping=0.5)
    n, m = model.size, np.linalg.inv(model.M.toarray())
    state = np.block([[np.zeros((n, n)), np.eye(n)], [-m @ lossy_k(model), -m @ model.Lambda.toarray()]])
    expected = np.linalg.eigvals(state)
    modes = model.modes(lossy=True)
    assert max(nearest(modes.eigenvalues, expected), nearest(expected[expected.imag > 0], modes.eigenvalues)) < 1e-11


def test_equal_frequencies_turn_into_each_other_as_their_losses_ask():
    """Two equal motions; a lossy spring along the diagonal leaves the other diagonal without loss."""
    system = mse.MSystem("diagonal", gravity=(0, 0, 0))
    mass = system.add(mse.RigidBody("mass", mass=1.0))
    equal = mse.Bushing("equal", stiffness=[100.0, 100.0, 900.0, 1.0, 1.0, 1.0])
    system.add(equal, between=(mass, system.ground))
    turned = system.add(mse.Bushing("lossy", stiffness=[50.0, 0, 0, 0, 0, 0], loss=0.1))
    other = system.add(mse.Bushing("other", stiffness=[0, 50.0, 0, 0, 0, 0]))
    for bushing in (turned, other):
        system.clamp(system.ground, bushing.frame(1), Pose.rz(np.pi / 4))
        system.clamp(mass.frame(0), bushing.frame(0), Pose.rz(np.pi / 4))
    modes = system.find_working_point().linearize().modes(lossy=True)
    first = [m for m in modes if abs(m.frequency_hz * 2 * np.pi - np.sqrt(150.0)) < 0.1]
    assert sorted(m.loss_factor for m in first) == pytest.approx([0.0, 0.1 / 3.0], abs=1e-14)
    for mode in first:
        x, y = mode.vector[:2]
        assert abs(abs(x / y) - 1.0) < 1e-12


def test_large_models_and_small_ones_have_the_same(monkeypatch):
    system = four_wire_chain(8)
    for k, obj in enumerate(o for o in system.walk() if isinstance(o, mse.Wire)):
        obj.loss = {"axial": 1e-3 * (1 + k % 3), "torsion": 0.01}
    model = system.find_working_point().linearize()
    dense, undamped, kl = model.modes(lossy=True), model.modes(), lossy_k(model).imag
    monkeypatch.setattr(SIZES, "dense_modes", 10)
    sparse = model.modes(12, lossy=True)
    np.testing.assert_allclose(sparse.frequencies_hz, dense.frequencies_hz[:12], rtol=1e-9)
    np.testing.assert_allclose(sparse.loss_factors, dense.loss_factors[:12], rtol=1e-6)
    first = np.einsum("ij,ij->j", undamped.shapes, kl @ undamped.shapes) / (2 * np.pi * undamped.frequencies_hz) ** 2
    # those of equal frequencies turn into each other, which leaves their sum
    assert first.sum() == pytest.approx(dense.loss_factors.sum(), rel=1e-5)


def test_joints_and_large_mechanisms(monkeypatch):
    system = mse.MSystem("arm", gravity=(0, 0, -9.8))
    above = system.ground
    for k in range(4):
        arm = system.add(mse.RigidBody(f"arm{k}", mass=1.0, inertia=0.1, frames={"top": Pose.dz(0.3)}))
        hinge = system.add(mse.Revolute(f"hinge{k}", axis=(0, 1, 0), stiffness=2.0, loss=0.01 * (k + 1)))
        system.clamp(above, hinge.frame(1), Pose.dz(-0.2) if k else Pose())
        system.clamp(hinge.frame(0), arm.frame("top"))
        above = arm.frame(0)
    model = system.find_working_point().linearize()
    inner, _ = model.reduced
    expected = sl.eigvals(lossy_k(inner), inner.M.toarray())
    modes = model.modes(lossy=True)
    assert len(modes) == 4
    assert nearest(-(modes.eigenvalues**2), expected) < 1e-12
    assert all(0.0 < eta < 0.04 for eta in modes.loss_factors)  # gravity holds a share without loss
    monkeypatch.setattr(SIZES, "dense_modes", 1)
    few = model.modes(2, lossy=True)
    np.testing.assert_allclose(few.eigenvalues, modes.eigenvalues[:2], rtol=1e-10)


# -- next to rounding -------------------------------------------------------------------------------------------------
@pytest.mark.rounding
@pytest.mark.parametrize("loss", [1e-9, 1e-2])
@pytest.mark.parametrize(("radius", "beside"), [(2e-5, 0.0), (5e-6, 1e3), (2e-6, 1e3), (1e-6, 1e3)])
def test_a_soft_turn_next_to_rounding_has_its_loss_and_hides_no_other_mode(radius, beside, loss):
    """Torsion of a fiber is ``J w^2 = G pi r^4/2 L (1 + i eta)``, with rounding of the stiffness of a pendulum in it."""
    down = np.array([1.0, 2.0, -3.0]) / 14**0.5
    system = mse.MSystem("torsion", gravity=9.81 * down)
    top = {"top": Pose(-0.1 * down)}
    body = system.add(mse.RigidBody("b", mass=10.0, inertia=0.1, at=Pose(down), frames=top))
    wire = mse.Wire("w", length=0.9, radius=radius, young_modulus=2e11, poisson_ratio=0.3, loss=loss)
    system.add(wire, between=(body.frame("top"), system.ground))
    if beside:  # it carries the load, and has no torsion
        system.add(mse.Spring("s", length=0.9, stiffness=beside), between=(body.frame("top"), system.ground))
    model = system.find_working_point().linearize()
    undamped, modes = model.modes(), model.modes(lossy=True)
    assert len(modes) == 6
    if modes.frequencies_hz[0]:  # else rounding hides it
        assert modes.loss_factors[0] == pytest.approx(
            loss, rel=1e-5 + 4.0 * modes.uncertainties_hz[0] / modes.frequencies_hz[0]
        )
    stiffness = 2e11 / 2.6 * np.pi * radius**4 / 2 / 0.9
    exact = np.sqrt(abs(stiffness * (1 + 1j * loss)) / 0.1) / (2 * np.pi)
    assert modes.frequencies_hz[0] == pytest.approx(exact, abs=modes.uncertainties_hz[0])
    np.testing.assert_allclose(modes.frequencies_hz[1:], undamped.frequencies_hz[1:], rtol=1e-4)
    # modes of equal frequencies may change places
    assert sorted(modes.uncertainties_hz.tolist()) == sorted(undamped.uncertainties_hz.tolist())


@pytest.mark.slow
@pytest.mark.rounding
def test_a_beam_of_many_stiff_elements_near_buckling_has_its_loss():
    up, found = Pose.ry(-np.pi / 2), []
    for elements in (50, 200):
        system = mse.MSystem("leg", gravity=(0, 0, -9.81))
        leg = mse.RoundBeam(
            "b", length=0.5, radius=5e-3, young_modulus=2e11, elements=elements, theory="euler-bernoulli",
            loss={"bending": 1e-3},
        )  # fmt: skip
        system.add(leg)
        bob = system.add(mse.RigidBody("bob", mass=90.0, inertia=0.0))
        system.clamp(system.ground, leg.frame(0), up)
        system.clamp(leg.frame(1), bob, up.inverse())
        found.append(system.find_working_point(seek="nearest").linearize().modes(1, lossy=True)[0])
    assert found[1].frequency_hz == pytest.approx(found[0].frequency_hz, rel=1e-3)
    assert found[1].loss_factor == pytest.approx(found[0].loss_factor, rel=2e-3)
    assert found[1].loss_factor == pytest.approx(
        0.0114, rel=0.01
    )  # eleven times 1e-3: gravity takes most of the stiffness


def test_a_mode_that_no_longer_swings_has_its_uncertainty_and_the_others_are_exact():
    class Table(mse.MObject):
        def energy(self, frames, q):
            return 50.0 * (frames[1].o - frames[0].o)[0] ** 2

        def dynamic_stiffness(self, omega, frames):
            w = 0.03j * np.real(omega)
            along = np.zeros((12, 12))
            along[0, 0] = along[6, 6] = 1.0
            along[0, 6] = along[6, 0] = -1.0
            return 1000.0 * w / (1.0 + w) * along

    system = mse.MSystem("overdamped", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("b", mass=1.0, inertia=1.0))
    system.add(mse.Bushing("m", stiffness=[0, 100.0, 900.0, 9, 9, 9]), between=(body, system.ground))
    system.add(Table("t"), between=(body, system.ground))
    linear = system.find_working_point().linearize()
    modes, without = linear.modes(lossy=True), linear.modes()
    lost = int(np.argmax(modes.uncertainties_hz))
    assert modes.uncertainties_hz[lost] > 0.5  # the whole change by loss
    assert np.delete(modes.uncertainties_hz, lost).max() < 1e-9
    np.testing.assert_allclose(
        np.delete(modes.frequencies_hz, lost),
        np.delete(without.frequencies_hz, [np.argmin(abs(without.frequencies_hz - 2.88165))]),
        rtol=1e-12,
    )
    assert any("modes were not found again with loss" in note for note in modes.notes)


# -- what does not lose -----------------------------------------------------------------------------------------------
def test_free_and_growing_motions_have_no_loss_and_the_note_counts_them():
    system = mse.MSystem("upright", gravity=(0, 0, -9.8))
    mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=1.0, frames={"foot": Pose.dz(-1.0)}))
    hinge = mse.Revolute("hinge", axis=(0, 1, 0), stiffness=2.0, loss=0.1)
    system.add(hinge, between=(mass.frame("foot"), system.ground))
    model = system.find_working_point(seek="nearest").linearize()
    modes, before = model.modes(lossy=True), model.modes()
    assert modes.unstable.tolist() == [True]
    assert modes.eigenvalues[0] == before.eigenvalues[0]
    assert any("do not swing" in note for note in modes.notes)
    free = oscillator(loss=1e-3).modes(lossy=True)
    assert free.free.sum() == 5 and np.all(free.loss_factors[:5] == 0.0)


def test_without_any_loss_they_are_the_damped_ones_and_undamped_ones_say_what_they_leave_out():
    model = random_mount(np.random.default_rng(1), 2, damping=0.5)
    lossless = model.lossless
    lossy, damped = lossless.modes(lossy=True), lossless.modes(damped=True)
    np.testing.assert_allclose(lossy.eigenvalues, damped.eigenvalues, rtol=1e-11)
    assert not any("loss" in note for note in damped.notes)
    for options in ({}, {"damped": True}):
        assert any("without the loss factors of m0 (elastic" in note for note in model.modes(**options).notes)


def test_tables_show_q_and_the_loss_factor():
    modes = oscillator(loss=1e-3).modes(lossy=True)
    text = str(modes)
    assert "6 lossy modes" in text and " Q " in text and " loss " in text and "damping ratio" not in text
    assert "1000  0.001      318.3  mass.x 100 %   spring axial 100 %" in text
    assert "Q 1000, loss 0.001" in str(modes[-1])
    assert "1000" in modes._repr_html_()


def test_what_velocities_hold_has_no_modes_and_the_others_lose():
    system = mse.MSystem("skate", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=2.0, inertia=0.3))
    stiffness = np.diag([100.0, 80.0, 60.0, 5.0, 6.0, 7.0]) + 1.0
    system.add(mse.Bushing("mount", stiffness=stiffness, loss=0.1), between=(body, system.ground))
    system.add(CATALOGUE["knife edge"].make(), between=(body,))
    modes = system.find_working_point().linearize().modes(lossy=True)
    assert len(modes) == 5
    np.testing.assert_allclose(modes.loss_factors, 0.1, rtol=1e-12)


def test_gyroscopic_models_have_lossy_modes():
    """A rotor on a lossy bearing: forward and backward whirl of a complex stiffness, s^2 J - i s h + k (1 + i eta) = 0."""

    class Wheel(mse.MObject):
        frame_names = ("0",)

        def damping_matrix(self, frames, q=()):
            out = np.zeros((6, 6))
            out[3, 4], out[4, 3] = 2.0, -2.0
            return out

    system = mse.MSystem("rotor", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("rotor", mass=1.0, inertia=0.01))
    bearing = mse.Bushing("bearing", stiffness=[1e4, 1e4, 1e4, 40.0, 40.0, 40.0], loss=0.02)
    system.add(bearing, between=(body, system.ground))
    system.add(Wheel("wheel"), between=(body,))
    modes = system.find_working_point().linearize().modes(lossy=True)
    k = 40.0 * (1 + 0.02j)
    expected = np.concatenate([np.roots([0.01, sign * 2.0j, k]) for sign in (1, -1)])
    whirl = [
        m.eigenvalue for m in modes if m.participation["rotor"] > 0.5 and abs(m.vector[3]) * abs(m.vector[4]) > 1e-3
    ]
    assert len(whirl) == 2
    assert nearest(np.array(whirl), expected) < 1e-11


def test_laws_of_loss_are_the_same_by_sparse_matrices(monkeypatch):
    """Of masses in a row with a relaxation and a table."""
    system = mse.MSystem("row", gravity=(0, 0, 0))
    below = system.ground
    for k, law in enumerate((mse.Zener(0.1, 3.0), ([0.01, 1e3], [1e-2, 3e-2]), 1e-3)):
        body = system.add(mse.RigidBody(f"m{k}", mass=1.0 + k, inertia=0.1))
        mount = system.add(mse.Bushing(f"b{k}", stiffness=(900.0, 800.0, 700.0, 50.0, 40.0, 30.0), loss=law))
        system.clamp(below, mount.frame(1))
        system.clamp(body.frame(0), mount.frame(0))
        below = body.frame(0)
    model = system.find_working_point().linearize()
    dense = model.modes(lossy=True).eigenvalues
    monkeypatch.setattr(followed, "_DENSE", 0)
    np.testing.assert_allclose(model.modes(lossy=True).eigenvalues, dense, rtol=1e-9)


# -- work ------------------------------------------------------------------------------------------------------------------
def test_modes_that_do_not_meet_are_not_searched_for_groups(monkeypatch):
    system = mse.MSystem("rail", gravity=(0, 0, 0))
    masses = [system.add(mse.RigidBody(f"mass{k}", mass=1.0, inertia=(1.0, 2.0, 3.0))) for k in range(2)]
    stiffness = [100.0, 210.0, 330.0, 470.0, 640.0, 880.0]
    system.add(mse.Bushing("first", stiffness=stiffness, loss=1e-3), between=(masses[0], system.ground))
    system.add(mse.Bushing("second", stiffness=stiffness, loss=2e-3), between=(masses[1], masses[0]))
    model = system.find_working_point().linearize()
    asked = []
    search = followed.connected_components
    monkeypatch.setattr(followed, "connected_components", lambda *a, **k: (asked.append(a), search(*a, **k))[1])
    model.modes(lossy=True)
    assert not asked
    together = np.eye(6, dtype=bool)
    together[1, 4] = together[4, 1] = together[4, 5] = True  # one way is enough
    assert [g.tolist() for g in followed._groups(together)] == [[1, 4, 5]]
    assert len(asked) == 1
