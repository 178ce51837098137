"""Loss factors as Maxwell branches: figures of suspensions, complex stiffness by hand, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mse
from example_scripts import example
from mse import Pose
from mse.analysis.time import rational
from mse.errors import ModelError
from mse.linear.losses import loss_factors

BENDING = 1.2723450247e-3  # N m2


def oscillator(loss, *, mass: float = 10.0) -> mse.LinearModel:
    """A mass at 1 Hz."""
    model = mse.LinearModel.from_matrices(
        [[mass]], None, [[mass * (2 * np.pi) ** 2]], coordinates=["mass.x"], name="oscillator"
    )
    return replace(model, losses={("oscillator", "given"): loss})


def stiffness(model: mse.LinearModel, f: np.ndarray, mass: float = 10.0) -> np.ndarray:
    """The complex stiffness under a single mass."""
    return 1.0 / model.frequency_response(f)["mass.x", "mass.x"] + mass * (2 * np.pi * f) ** 2


def swinging(model: mse.LinearModel) -> list[mse.Mode]:
    return [m for m in model.modes(damped=True) if m.eigenvalue.imag > 1e-6 * abs(m.eigenvalue)]


def moved() -> mse.LinearModel:
    """Two bodies on lossy springs and a hinge, on a ground that an actuator moves and a sensor feels."""
    system = mse.MSystem("moved", gravity=(0, 0, 0))
    base = system.add(mse.RigidBody("base", mass=3.0, inertia=0.2))
    top = system.add(mse.RigidBody("top", mass=2.0, inertia=0.1, at=Pose((0.1, 0.2, 0.5))))
    arm = system.add(mse.RigidBody("arm", mass=1.0, inertia=0.05, at=Pose((0.3, 0.2, 0.5))))
    system.add(mse.PositionActuator("shaker"), between=(system.ground, base))
    feet = (4e3, 5e3, 6e3, 300.0, 310.0, 320.0)
    system.add(mse.Bushing("feet", stiffness=feet, loss=2e-2), between=(base, top))
    hinge = system.add(mse.Revolute("hinge", axis=(0, 0, 1), stiffness=40.0, loss=([0.1, 100.0], [3e-2, 1e-2])))
    system.clamp(top.frame("center"), hinge.frame(0), Pose((0.1, 0.0, 0.0)))
    system.clamp(hinge.frame(1), arm.frame("center"), Pose((0.1, 0.0, 0.0)))
    stay = mse.Bushing("stay", stiffness=30.0, loss=1e-2 + mse.Zener(0.1, 4.0))
    system.add(stay, between=(arm, system.ground))
    system.add(mse.PositionSensor("probe"), between=(arm, system.ground))
    return system.find_working_point().linearize()


@pytest.mark.parametrize(("error", "count"), [(0.01, 7), (0.001, 11)])
def test_the_loss_is_constant_in_the_band_and_the_modulus_grows_as_it_must(error, count):
    """By Kramers and Kronig it grows by ``(2/pi) ln 10 phi`` a decade, and is that of the spring at the mode."""
    wanted, f = oscillator(1e-3), np.geomspace(0.05, 300.0, 1777)
    found = wanted.rational(0.05, 300.0, error)
    assert not found.losses and found.size == 1 + count
    k = stiffness(found, f) / (10.0 * (2 * np.pi) ** 2)
    assert 0.4 * error < np.abs(k.imag / 1e-3 - 1.0).max() < 1.001 * error
    inner = np.interp([0.3, 1.0, 3.0, 30.0], f, k.real)
    assert inner[1] == pytest.approx(1.0, abs=1e-7)
    np.testing.assert_allclose(np.diff(inner)[[0, 1, 2]], 1.46587e-3 * np.log10([1 / 0.3, 3.0, 10.0]), rtol=0.03)
    mode = swinging(found)[0]
    assert mode.frequency_hz == pytest.approx(1.0, rel=1e-6) and mode.quality == pytest.approx(1e3, rel=error)


def test_a_zener_law_is_one_branch_and_exact():
    wanted = oscillator(mse.Zener(2e-3, 5.0))
    found = wanted.rational(0.1, 10.0)
    f = np.geomspace(1e-3, 1e3, 40)
    np.testing.assert_allclose(stiffness(found, f), stiffness(wanted, f), rtol=1e-9)
    mode = swinging(found)[0]
    assert found.size == 2
    assert (mode.frequency_hz, mode.quality) == pytest.approx((1.00003846649, 2599.915234), rel=1e-7)


def test_a_pendulum_keeps_the_dilution_of_its_wire():
    """10 kg on a stiff wire of 1 m with EI 1.2723450247e-3 N m2 and phi 2e-4 in bending, hung 0.02 m above its center of mass."""
    system = mse.MSystem("pendulum", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=10.0, inertia=0.05, at=Pose.dz(-1.02)))
    section = {"area": np.pi * 9e-8, "torsion_constant": 2 * BENDING / 2e16}
    section |= {f"second_moment_{axis}": BENDING / 2e16 for axis in "yz"}
    options = {"young_modulus": 2e16, "density": 0.0, "form": "exact", "theory": "euler-bernoulli"}
    wire = mse.SectionBeam("wire", length=1.0, loss={"bending": 2e-4}, **section, **options)
    system.clamp(system.ground, system.add(wire).frame(0), Pose.ry(np.pi / 2))
    system.clamp(wire.frame(1), body.frame("center"), Pose.dx(0.02) @ Pose.ry(-np.pi / 2))
    system.add(mse.Load("load", force=(0, 0, -98.1)), between=(body,))
    found = system.find_working_point().linearize().rational(0.05, 50.0)
    modes = [m for m in swinging(found) if 0.4 < m.frequency_hz < 2.0][::2]
    figures = ((0.49295690505, 2678103.2), (1.0991416177, 64056.313))
    for mode, (f, q) in zip(modes, figures, strict=True):
        assert mode.frequency_hz == pytest.approx(f, rel=1e-6) and mode.quality == pytest.approx(q, rel=0.01)


def test_a_ringdown_has_the_decay_of_the_loss_factor():
    found = oscillator(1e-2).rational(0.05, 50.0)
    mode = swinging(found)[0]
    x = found.simulate(duration=60.0, dt=1e-3, initial={"mass.x": 1.0})
    t, y = x.time, x["mass.x"]
    peaks = np.flatnonzero((y[1:-1] > y[:-2]) & (y[1:-1] >= y[2:]))[20:] + 1
    rate, _ = np.polyfit(t[peaks], np.log(y[peaks]), 1)
    assert -np.pi / rate == pytest.approx(mode.quality, rel=1e-3) == pytest.approx(100.0, rel=1e-2)


def test_branches_are_the_complex_stiffness_that_they_stand_for(monkeypatch):
    """With joints, a ground that moves, sensors of reactions, tables and sums, against the law of each part at each frequency."""
    laws, static = {}, rational._static
    monkeypatch.setattr(rational, "_static", lambda model, found: laws.update(found) or static(model, found))
    wanted, f = moved(), np.geomspace(0.01, 1e3, 60)
    found = wanted.rational(0.2, 90.0)
    channels = {"inputs": ["shaker.x", "shaker.az"], "outputs": ["hinge.ty", "hinge.fx", "probe.x", "probe.ay"]}
    one, other = (m.frequency_response(f, **channels).values for m in (replace(wanted, losses=laws), found))
    np.testing.assert_allclose(other, one, rtol=1e-8, atol=1e-10 * np.abs(one).max())
    space = found.state_space(**channels)
    assert np.all(space.poles().real < 0.0)


def test_q_and_noise_are_those_of_the_loss_factors():
    wanted, f = moved(), np.geomspace(0.25, 80.0, 60)
    found = wanted.rational(0.2, 90.0, 0.003)
    q = [m.quality for m in wanted.modes(lossy=True) if np.isfinite(m.quality)]
    assert [m.quality for m in swinging(found)] == pytest.approx(q, rel=0.01)
    # frequencies move by half a percent at these large losses, so that noise at a resonance is another
    off = found.noise(f, "probe.x").total / wanted.noise(f, "probe.x").total - 1.0
    assert np.median(np.abs(off)) < 0.02
    eigenvalues = np.linalg.eigvalsh(found.full_damping.toarray())
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]


def test_notes_list_branches_and_every_mode_beside_the_wanted_one(tmp_path):
    found = moved().rational(0.2, 90.0)
    text = "\n".join(found.notes)
    assert "constant loss factors, 6 branches of 12 " in text and "Zener(0.1, 4 Hz), 1 branch of 6 coordinates" in text
    assert (
        "a table of 2 from 0.1 to 100 Hz, 6 branches of 1 coordinate, error" in text and "7 modes in the band" in text
    )
    first = next(m for m in found.modes(lossy=True) if m.eigenvalue.imag > 1e-6 * abs(m.eigenvalue))
    assert f"{first.frequency_hz:.6g}" in text and f"{first.quality:.6g}" in text
    found.save(tmp_path / "fading.npz")
    again = mse.read_result(tmp_path / "fading.npz")
    assert again.state_space().states == found.state_space().states
    assert (again.full_damping != found.full_damping).nnz == (again.full_stiffness != found.full_stiffness).nnz == 0


def test_losses_with_one_law_share_coordinates():
    """Three springs along one line, two of them on the same two masses."""
    k = np.array([[1.0, -1.0], [-1.0, 1.0]])
    parts = {"a": 1e3 * k, "b": 1.0 * k, "c": np.diag([1e-3, 0.0])}
    model = mse.LinearModel.from_matrices(np.eye(2), None, parts, name="pair")
    found = replace(model, losses={("pair", n): 1e-3 for n in parts}).rational(1e-3, 30.0)
    assert (found.size - 2) % 2 == 0 and "branches of 2 coordinates" in found.notes[1]
    stored = found.K.toarray()[:2, :2] + 0.0
    branches = found.parts["loss 1", "branches"].toarray()
    inner = branches[:2, :2] - branches[:2, 2:] @ np.linalg.solve(branches[2:, 2:], branches[2:, :2])
    assert np.abs(inner).max() < 1e-12 * np.abs(stored).max()  # at rest branches carry nothing


def test_a_mode_without_loss_keeps_its_infinite_q():
    parts = {"lossy": np.diag([40.0, 0.0]), "rest": np.diag([0.0, 40.0])}
    model = mse.LinearModel.from_matrices(np.eye(2), None, parts, name="table")
    found = replace(model, losses={("table", "lossy"): 1e-4}).rational(0.01, 10.0)
    assert "2 modes in the band: f is off" in found.notes[-1] and found.notes[-1].count(" inf") == 2
    assert found.modes(damped=True).quality.max() > 1e12


def test_a_model_without_losses_stays_as_it_is():
    model = oscillator(1e-3).lossless
    assert model.rational(0.1, 10.0) is model


def test_what_branches_cannot_be_is_refused():
    f = np.geomspace(0.1, 10.0, 30)
    steep = oscillator(mse.LossTable(f, 1e-3 * f**3))
    with pytest.raises(
        ModelError, match=r"oscillator / given: 40 branches follow its loss \(a table of 30 .* expected 1 %"
    ):
        steep.rational(0.1, 10.0)
    with pytest.raises(ModelError, match="oscillator / given: its loss: asked at .* where its table is known"):
        steep.rational(0.01, 10.0)
    with pytest.raises(ModelError, match="high_hz is 0.1 Hz; expected"):
        oscillator(1e-3).rational(1.0, 0.1)
    with pytest.raises(ModelError, match="at rest the stiffness oscillator / given is -.* a larger low_hz"):
        oscillator(0.5).rational(1e-3, 10.0)
    model = mse.LinearModel.from_matrices(np.eye(2), None, {"soft": np.diag([1.0, -0.5]), "hard": np.eye(2)}, name="m")
    with pytest.raises(ModelError, match="the stiffness m / soft has a loss and is negative for a motion of x1"):
        replace(model, losses={("m", "soft"): 1e-3}).rational(0.01, 1.0)
    system = mse.MSystem("heavy", gravity=(0, 0, 0))
    beam = system.add(mse.RoundBeam("beam", length=1.0, radius=0.01, form="exact", loss=1e-3))
    system.clamp(system.ground, beam.frame(0))
    linear = system.find_working_point().linearize()
    with pytest.raises(
        ModelError, match="the stiffness of beam depends on the frequency .* choose density=0 or form='el"
    ):
        linear.rational(0.1, 10.0)


def test_fits_need_poles_near_and_far_beyond_the_band(monkeypatch):
    monkeypatch.setattr(rational, "_BEYOND", (3.0,))
    assert oscillator(1e-3).rational(0.05, 300.0).size == 9  # one more
    monkeypatch.setattr(rational, "_BEYOND", (1.5,))
    with pytest.raises(ModelError, match="40 branches follow"):
        oscillator(1e-3).rational(0.05, 300.0, 1e-3)


@pytest.mark.slow
def test_a_real_suspension_keeps_all_its_q():
    """KAGRA's type Bp: Q of two modes, three decades apart, to 1 %, and of all 36 to 3 %, by at most ten branches."""
    kagra = example("kagra_type_bp")
    system, data = kagra.build(as_sumcon=True), kagra.DATA
    for body in ("F2", "IR"):
        system.add(mse.PositionSensor(f"{body} probe"), between=(system.frame(f"{body}.center"), system.ground))
    linear = system.find_working_point().linearize()
    loss = {spring["name"]: 1 / spring["Q"] for spring in data["vspr"]}
    for wire in data["wires"]:
        for name in (wire["name"], f"{wire['name']} torsion"):
            if any(owner == name for owner, _ in linear.parts):
                loss[name] = data["materials"][wire["material"]]["loss"]
    linear = replace(linear, losses=loss_factors(linear, loss))
    found, wanted = linear.rational(0.05, 300.0), linear.modes(lossy=True)
    assert "7 branches of 22 coordinates" in found.notes[-2]
    modes = swinging(found)
    np.testing.assert_allclose([m.frequency_hz for m in modes], wanted.frequencies_hz, rtol=2.6e-3)
    np.testing.assert_allclose([m.quality for m in modes], wanted.quality, rtol=0.03)
    for f, q, probe in ((0.107822, 1002.30, "F2 probe.ay"), (98.1703, 1000.25, "IR probe.az")):
        near = min(modes, key=lambda m: abs(m.frequency_hz - f))
        assert near.quality == pytest.approx(q, rel=0.01)
        s, dt = near.eigenvalue, 0.01 / near.frequency_hz
        initial = dict(zip(near.coordinates, near.vector.real, strict=True))
        initial |= {f"{n}'": x.real for n, x in zip(near.coordinates, s * near.vector, strict=True)}
        states = found.state_space().states
        start = {n: x for n, x in initial.items() if n in states}
        run = found.simulate(duration=20000 * dt, dt=dt, initial=start, outputs=[probe])
        line = (run[probe] * np.exp(-1j * s.imag * run.time))[:-1].reshape(20, -1).mean(axis=1)
        rate, _ = np.polyfit(np.arange(20) * 1000 * dt, np.log(np.abs(line)), 1)
        assert -np.pi * near.frequency_hz / rate == pytest.approx(q, rel=0.01)


@pytest.mark.parametrize("resistance", [1e6, 1e13])
def test_a_leak_that_touches_nothing_changes_no_branch(resistance):
    """Ohms are far larger numbers than the damping of branches, which is no rounding of them."""
    system = mse.MSystem("beside a leak", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=1e-3))
    system.add(mse.Prismatic("slide", axis=(1, 0, 0), stiffness=4e3, loss=0.05), between=(body, system.ground))
    alone = system.find_working_point().linearize().rational(0.3, 300.0)
    system.add(mse.Resistor("leak", resistance=resistance))
    system.add(mse.Capacitor("plates", capacitance=1e-9))
    system.connect("leak.+", "plates.+")
    system.connect("leak.-", "plates.-", system.earth)
    beside = system.find_working_point().linearize().rational(0.3, 300.0)
    expected = np.append(alone.modes(damped=True).eigenvalues, -1e9 / resistance)
    found = beside.modes(damped=True).eigenvalues
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(expected), rtol=1e-9)


def test_damping_at_a_point_mass_leaves_no_rate_of_turns_about_it():
    """What is left of damping where its terms cancel is rounding, and no state: one mass and one dashpot act along one motion."""
    rng = np.random.default_rng(1)
    for reach in 10.0 ** rng.uniform(-3.0, 3.0, 20):
        v = np.array([1.0, *(reach * rng.normal(size=2))])
        mass, damping, elastic = (
            1.3 * np.outer(v, v),
            rng.uniform() * np.outer(v, v),
            np.diag(rng.uniform(1.0, 2.0, 3) * v**2),
        )
        model = mse.LinearModel.from_matrices(mass, damping, elastic)
        assert len(model.state_space(inputs=[], outputs=[]).states) == 2


@pytest.mark.parametrize(
    "element",
    [
        mse.Bushing("damper", damping=0.1, loss=1e-3),
        mse.Spring("damper", stiffness=0.0, damping=0.1, loss=1e-3),
        mse.GasSpring("gas", stiffness=0.0, blade_stiffness=2e4, blade_span=0.1, blade_length=0.1, loss=1e-3),
    ],
    ids=["bushing", "spring", "blades"],
)
@pytest.mark.parametrize("beside", [0.0, 1e-3])
def test_a_lossy_part_that_is_zero_at_the_working_point_takes_no_branches(element, beside):
    system = mse.MSystem("stage", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=10.0, inertia=0.1))
    system.add(mse.Prismatic("rail", axis=(0, 0, 1), stiffness=40.0, loss=beside), between=(body, system.ground))
    foot = Pose.dz(-1.0) if isinstance(element, mse.Spring) else Pose()
    system.add(element.copy("zero"), between=(body, system.ground @ foot))
    model = system.find_working_point().linearize()
    found = model.rational(0.05, 30.0)
    assert not found.losses and (found.size == model.size) == (not beside)
    np.testing.assert_allclose(swinging(found)[0].quality, model.modes(lossy=True)[0].quality, rtol=0.02)
