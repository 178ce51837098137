"""Losses with a law in responses, noise, modes and grids, against dense matrices and closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg as sl

import mse
from mse import Pose
from mse.analysis.noise.thermal import BOLTZMANN
from mse.elements.loss_laws import LossLaw
from mse.errors import ModelError
from mse.numerics.options import SIZES

LAWS = (
    mse.Zener(0.2, 3.0),
    mse.LossTable([0.01, 1.0, 100.0], [1e-2, 3e-2, 1e-2]),
    lambda f: 0.02 / (1.0 + f),
    1e-3 + 2 * mse.Zener(0.05, 10.0),
    2e-3,
)


def towers(count: int, hinges: bool = False) -> mse.LinearModel:
    """Masses on lossy mounts in rows, on a ground that moves and a force sensor, with a damper each."""
    system = mse.MSystem("towers", gravity=(0, 0, 0))
    base = system.add(mse.PositionActuator("base"))
    system.clamp(system.ground, base.frame(1))
    scale = system.add(mse.ForceSensor("scale"))
    system.clamp(base.frame(0), scale.frame(1))
    below = scale.frame(0)
    for k in range(count):
        body = system.add(mse.RigidBody(f"m{k}", mass=1.0 + 0.1 * k, inertia=0.02, at=Pose.dz(0.3 * (k + 1))))
        stiffness, damping = (900.0 + 30 * k, 700.0, 2e3, 50.0, 60.0, 40.0), [0.05 * (k % 2)] * 6
        options = {"stiffness": stiffness, "damping": damping, "loss": LAWS[k % len(LAWS)], "temperature": 100.0 + k}
        mount = system.add(mse.Bushing(f"b{k}", **options))
        system.clamp(below, mount.frame(1))
        system.clamp(body.frame(0), mount.frame(0), Pose.dz(-0.1))
        if hinges and k:
            bar = system.add(mse.RigidBody(f"bar{k}", mass=0.3, inertia=0.01, at=Pose.dz(0.3 * (k + 1))))
            hinge = mse.Revolute(f"hinge{k}", axis=(0, 1, 0), stiffness=20.0, loss=LAWS[(k + 1) % len(LAWS)])
            system.add(hinge)
            system.clamp(body.frame(0), hinge.frame(1))
            system.clamp(bar.frame(0), hinge.frame(0), Pose((0.05, 0, 0)))
        below = body.frame(0)
    system.add(mse.PositionSensor("top"), between=(body, system.ground))
    system.add(mse.ForceActuator("push"), between=(system.ground, body))
    return system.find_working_point().linearize()


def dense(model: mse.LinearModel, f: float) -> np.ndarray:
    """The response by dense matrices with multipliers, all losses in the stiffness of all coordinates x = (q, w)."""
    n, w = model.size, 2 * np.pi * f
    z = lossy_stiffness(model, f) + 1j * w * model.full_velocity.toarray() - w**2 * model.full_mass.toarray()
    g, m = model.constraints.toarray(), model.constraints.shape[0]
    drive, force = model.drive.toarray(), model.force.toarray()
    whole = np.block([[z[:n, :n], g[:, :n].T], [g[:, :n], np.zeros((m, m))]])
    x = np.linalg.solve(whole, np.vstack([force[:n] - z[:n, n:] @ drive, -g[:, n:] @ drive]))
    held = z[n:] @ np.vstack([x[:n], drive]) + g[:, n:].T @ x[n:] - force[n:]
    react = model.read_reactions(np.arange(len(model.outputs)))
    return model.measure @ np.vstack([x[:n], drive]) - react @ held


def lossy_stiffness(model: mse.LinearModel, f: float) -> np.ndarray:
    k = model.full_stiffness.toarray().astype(complex)
    for label, law in model.losses.items():
        kappa = law.factor(np.array([2 * np.pi * f]))[0] if isinstance(law, LossLaw) else 1.0 + 1j * law
        k = k + (kappa - 1.0) * model.parts[label].toarray()
    return k


F = np.array([0.05, 0.9, 3.1, 17.0])


def check(model: mse.LinearModel, outputs=None, rtol=1e-9) -> mse.FrequencyResponse:
    """All responses against dense ones, by the largest of a unit."""
    found = model.frequency_response(np.repeat(F, 40), outputs=outputs)
    chosen = model.output_indices(outputs)
    for k, f in enumerate(F):
        expected = dense(model, f)[chosen]
        np.testing.assert_allclose(found.values[40 * k], expected, rtol=1e-8, atol=rtol * np.abs(expected).max())
    return found


@pytest.mark.parametrize("hinges", [False, True])
@pytest.mark.parametrize("outputs", [["top.x", "scale.fx", "top.ay"], None], ids=["few", "all"])
def test_responses_agree_with_dense_matrices_by_elimination(hinges, outputs):
    """Few outputs go into the border of the elimination, many are substituted back."""
    model = towers(5, hinges)
    assert not check(model, outputs).notes


def test_responses_agree_with_pivoting_and_with_multipliers(monkeypatch):
    model = towers(4, hinges=True)
    monkeypatch.setattr(SIZES, "few_frequencies", 1000)
    monkeypatch.setattr(SIZES, "few_coordinates", 1000)
    check(model)  # dense, with pivoting
    monkeypatch.setattr(SIZES, "dense", 1)
    check(model)  # sparse, with pivoting
    monkeypatch.setattr(SIZES, "few_frequencies", 0)
    assert not check(model, ["top.x", "scale.fx"]).notes  # elimination with multipliers


def test_constant_laws_are_loss_factors_at_the_same_ordering():
    numbers = towers(12)
    laws = {
        label: eta if isinstance(eta, float) else 0.01 for label, eta in numbers.losses.items()
    }  # by label, so that both have the same losses
    tables = {label: mse.LossTable([1e-3, 1e3], [eta, eta]) for label, eta in laws.items()}
    f = np.geomspace(0.01, 100.0, 200)
    a, b = (numbers.frequency_response(f, loss=loss) for loss in (laws, tables))
    np.testing.assert_allclose(b.values, a.values, rtol=1e-9, atol=1e-11 * np.abs(a.values).max())
    assert not b.notes


def test_noise_agrees_with_dense_matrices():
    model, w = towers(5, hinges=True), 2 * np.pi * F
    budget = model.noise(F, "top.x")
    n, g, m = model.size, model.constraints.toarray(), model.constraints.shape[0]
    for k, f in enumerate(F):
        stiffness = lossy_stiffness(model, f)
        z = stiffness + 1j * w[k] * model.full_velocity.toarray() - w[k] ** 2 * model.full_mass.toarray()
        whole = np.block([[z[:n, :n], g[:, :n].T], [g[:, :n], np.zeros((m, m))]])
        row = np.linalg.solve(whole.T, np.r_[model.measure.toarray()[model.outputs.index("top.x"), :n], np.zeros(m)])[
            :n
        ]
        for (owner, mechanism), law in model.losses.items():
            lost = law.factor(w[k : k + 1])[0].imag if isinstance(law, LossLaw) else law
            part = model.parts[owner, mechanism].toarray()[:n, :n]
            kelvin = 300.0 if owner.startswith("hinge") else 100.0 + int(owner[1:])
            density = 4 * BOLTZMANN * kelvin / w[k] * lost * (row @ part @ row.conj()).real
            assert budget[owner, mechanism][k] ** 2 == pytest.approx(density, rel=1e-8)


def oscillator(loss) -> mse.LinearModel:
    system = mse.MSystem("oscillator", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=10.0, inertia=0.1))
    guide = system.add(mse.Prismatic("guide", axis=(1, 0, 0), stiffness=10.0 * (2 * np.pi) ** 2, loss=loss))
    system.clamp(system.ground, guide.frame(1))
    system.clamp(body.frame(0), guide.frame(0))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    return system.find_working_point().linearize()


def test_noise_and_mode_of_a_zener_oscillator():
    """Noise 4 kB T k Im kappa/(w |k kappa - m w^2|^2); s is a root of m s^2 (s + c) + k (s + c) + k D s."""
    model = oscillator(mse.Zener(2e-3, 5.0))
    assert model.noise([2.0], "probe.x").total[0] == pytest.approx(1.59986056515e-14, rel=1e-10)
    (mode,) = model.modes(lossy=True)
    corner, k = 2 * np.pi * 5.0, (2 * np.pi) ** 2
    root = max(np.roots([1.0, corner, k * (1 + 2e-3), k * corner]), key=lambda s: s.imag)
    assert mode.eigenvalue == pytest.approx(root, rel=1e-12)
    assert abs(mode.eigenvalue) / (2 * np.pi) == pytest.approx(1.00003846649, rel=1e-11)
    assert mode.quality == pytest.approx(2599.915234, rel=1e-9)


def test_lossy_modes_with_dampers_and_joints_are_roots_of_the_dense_equations():
    model = towers(3, hinges=True)
    modes = model.modes(lossy=True)
    reduced, _ = model.reduced
    for mode in list(modes)[::4]:
        s = mode.eigenvalue
        z = reduced.K.toarray() + s * reduced.Lambda.toarray() + s**2 * reduced.M.toarray() + 0j
        for label, law in model.losses.items():
            kappa = law.factor(np.array([-1j * s]))[0] if isinstance(law, LossLaw) else 1.0 + 1j * law
            z += (kappa - 1.0) * reduced.stiffness_parts[label].toarray()
        size = np.sqrt(np.abs(np.diag(z)) + 1.0)
        values = np.linalg.svd(z / np.outer(size, size), compute_uv=False)
        assert values[-1] < 1e-9 * values[0]


@pytest.mark.parametrize(
    "law", [mse.Zener(2e-2, 5.0), mse.LossTable([0.01, 10.0], [1e-3, 1e-2]), lambda f: 1e-3 * np.sqrt(f)]
)
def test_exact_members_take_laws(law):
    """A rod's axial stiffness times kappa: its response is that of the same rod with kappa as a loss factor at each frequency."""
    system = mse.MSystem("rod", gravity=(0, 0, 0))
    rod = system.add(mse.RoundBeam("rod", length=1.0, radius=0.01, form="exact", loss={"axial": law}))
    system.clamp(system.ground, rod.frame(0))
    body = system.add(mse.RigidBody("body", mass=1e5, inertia=1e4, at=Pose.dx(1.0)), between=(rod.frame(1),))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    system.add(mse.ForceActuator("push"), between=(system.ground, body))
    model, f = system.find_working_point().linearize(), np.array([0.5, 4.0])
    found = model.frequency_response(f, inputs=["push.fx"], outputs=["probe.x"]).values[:, 0, 0]
    kappa = model.losses["rod", "axial"].factor(2 * np.pi * f)
    ea, mass, w = 2e11 * np.pi * 1e-4 * kappa, 7800 * np.pi * 1e-4, 2 * np.pi * f
    wave = np.sqrt(mass / ea) * w
    np.testing.assert_allclose(found, 1.0 / (ea * wave / np.tan(wave) - 1e5 * w**2), rtol=1e-9)
    budget = model.noise(f, "probe.x")
    np.testing.assert_allclose(budget.total**2, 4 * BOLTZMANN * 300.0 / w * -found.imag / 1.0, rtol=1e-6)
    mode = max(model.modes(6, lossy=True), key=lambda m: abs(m.shape["body.x"]))
    s = mode.eigenvalue
    kappa = model.losses["rod", "axial"].factor(np.array([-1j * s]))[0]
    wave = -1j * s * np.sqrt(mass / (2e11 * np.pi * 1e-4 * kappa))
    assert abs(wave / np.tan(wave) * 2e11 * np.pi * 1e-4 * kappa / (-1e5 * s**2) - 1.0) < 1e-9 and mode.quality < 1e4


def test_grids_follow_the_width_and_the_modulus_of_a_law():
    model = oscillator(mse.Zener(0.2, 1.0))
    grid, (mode,) = model.resonance_grid(0.1, 10.0), model.modes(lossy=True)
    assert grid.resonances_hz[0] == pytest.approx(mode.frequency_hz, rel=5e-3)
    assert grid.widths_hz[0] == pytest.approx(mode.frequency_hz / mode.quality, rel=0.1)
    # a table that is known in the band alone
    narrow = replace(towers(3), losses={("b0", "elastic"): mse.LossTable([1.0, 5.0], [1e-2, 1e-2])})
    assert len(narrow.resonance_grid(1.0, 5.0)) > 30


def test_frequencies_outside_a_table_are_refused_by_the_name_of_its_part():
    model = oscillator(mse.LossTable([2.0, 4.0], [1e-3, 1e-3]))
    what = r"guide / elastic: its loss: asked at {} Hz; expected 2 to 4 Hz.*outside='hold'"
    for ask, hz in (
        (lambda: model.noise([5.0], "probe.x"), "5"), (lambda: model.modes(lossy=True), "1"),
        (lambda: model.noise([1.0], "probe.x"), "1"),
    ):  # fmt: skip
        with pytest.raises(ModelError, match=what.format(hz)):
            ask()
    held = oscillator(mse.LossTable([2.0, 4.0], [1e-3, 1e-3], outside="hold"))
    assert held.modes(lossy=True)[0].quality == pytest.approx(1000.0)


def test_arguments_take_laws_and_refuse_by_name():
    model = mse.LinearModel.from_matrices([[1.0]], None, [[4.0]], coordinates=["mass.x"])
    law = mse.Zener(0.5, 1.0)
    expected = 1.0 / (4.0 * law.factor(np.array([np.pi]))[0] - np.pi**2)
    assert model.frequency_response([0.5], loss={"model": law})["mass.x", "mass.x"][0] == pytest.approx(expected)
    c70 = mse.Thermoelastic(12e-6, 49.0, 486.0)
    for given, what in (
        (-1.0, "feed energy"),
        (c70, r"law of the frequency alone.*zener"),
        ("a", "expected a loss factor"),
    ):
        with pytest.raises(ModelError, match=f"loss of model.*{what}"):
            model.frequency_response([0.5], loss={"model": given})
    with pytest.raises(ModelError, match=r"loss of model: LossTable: frequency number 1"):
        model.frequency_response([0.5], loss={"model": ([2.0, 1.0], [1e-3, 1e-3])})
    with pytest.raises(ModelError, match=r"its function failed.*frequencies_hz"):
        model.frequency_response([0.5], loss={"model": lambda f: [][0]})
    with pytest.raises(ModelError, match=r"gives -1 at 0.5 Hz"):
        model.frequency_response([0.5], loss={"model": lambda f: -1.0})


def test_time_and_composition_know_laws():
    law = mse.Zener(2e-3, 5.0)
    with pytest.raises(ModelError, match=r"guide \(elastic Zener\(0.002, 5 Hz\)\)"):
        oscillator(law).state_space()
    assert "Zener" in str(oscillator(law).modes().notes)


class Counted(mse.LossLaw):
    """A relaxation that counts how often it is asked."""

    def __init__(self, corner_hz: float):
        self.law, self.calls = mse.Zener(1e-3, corner_hz), 0

    def factor(self, omega):
        self.calls += 1
        return self.law.factor(omega)


def test_each_law_is_asked_for_all_modes_at_once():
    laws = [Counted(1.0 + k) for k in range(4)]
    system = mse.MSystem("chain", gravity=(0, 0, 0))
    before = system.ground
    for k, law in enumerate(laws):
        body = system.add(mse.RigidBody(f"b{k}", mass=1.0 + 0.3 * k, inertia=(0.1, 0.2, 0.3)))
        mount = mse.Bushing(f"m{k}", stiffness=(900.0, 800.0, 700.0, 50.0, 40.0, 30.0), loss=law)
        system.add(mount, between=(body, before))
        before = body
    model = system.find_working_point().linearize()
    modes = model.modes(lossy=True)
    assert len(modes) == 24
    assert max(law.calls for law in laws) < len(modes) / 2  # some five steps of Newton's method
    for law in laws:
        law.calls = 0
    for w in modes.eigenvalues / 1j:
        k = model.K.toarray().astype(complex)
        for (owner, mechanism), part in model.stiffness_parts.items():
            loss = model.losses.get((owner, mechanism), 0.0)
            k += (loss.factor(np.array([w]))[0] - 1.0 if loss else 0.0) * part.toarray()
        values = sl.eigvals(k, model.M.toarray())
        assert np.abs(values / w**2 - 1.0).min() < 1e-12


def test_files_refuse_a_function_by_the_name_of_its_part(tmp_path):
    model = oscillator(lambda f: 1e-3 + 0.0 * f)
    (label,) = model.losses
    with pytest.raises(ModelError, match=f"{' / '.join(label)}: the loss law function .* sample it: mse.LossTable"):
        model.save(tmp_path / "model.npz")
