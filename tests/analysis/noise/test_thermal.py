"""Thermal noise against closed forms, dense matrices, and the figures of other programs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from counting import made_of

import mse
from example_scripts import example
from mse import Pose
from mse.analysis.frequency import response
from mse.analysis.frequency.sweep import Sweep
from mse.analysis.noise.thermal import BOLTZMANN
from mse.linear import part_blocks
from mse.numerics.options import SIZES

ROOM = 300.0


def slide(system: mse.MSystem, name: str, seat, body, **parameters) -> mse.Prismatic:
    """A slide along x between two frames that coincide."""
    joint = system.add(mse.Prismatic(name, axis=(1, 0, 0), **parameters))
    system.clamp(seat, joint.frame(1))
    system.clamp(body, joint.frame(0))
    return joint


def oscillator(**parameters) -> mse.LinearModel:
    """10 kg at 1 Hz along x, with a sensor."""
    system = mse.MSystem("oscillator", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=10.0, inertia=0.1))
    slide(system, "guide", system.ground, body.frame(0), stiffness=10.0 * (2 * np.pi) ** 2, **parameters)
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    return system.find_working_point().linearize()


def test_structural_noise_of_an_oscillator_is_its_closed_form():
    """S = 4 kB T k phi / (w |k (1 + i phi) - m w^2|^2)."""
    f, k, phi = np.array([0.1, 2.0, 10.0]), 10.0 * (2 * np.pi) ** 2, 1e-6
    w = 2 * np.pi * f
    expected = np.sqrt(4 * BOLTZMANN * ROOM * k * phi / w) / abs(k * (1 + 1j * phi) - 10.0 * w**2)
    total = oscillator(loss=phi).noise(f, "probe.x").total
    np.testing.assert_allclose(total, expected, rtol=1e-12)
    np.testing.assert_allclose(total, [8.255193685113e-15, 6.091527501625e-16, 8.255193685117e-18], rtol=1e-12)


def test_a_force_sensor_under_a_lossy_spring_reads_its_force():
    system = mse.MSystem("oscillator", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=10.0, inertia=0.1))
    scale = system.add(mse.ForceSensor("scale"))
    spring = system.add(mse.Bushing("spring", stiffness=10.0 * (2 * np.pi) ** 2, loss=1e-6))
    system.clamp(system.ground, scale.frame(1))
    system.clamp(scale.frame(0), spring.frame(1))
    system.clamp(body.frame(0), spring.frame(0))
    linear = system.find_working_point().linearize()
    np.testing.assert_allclose(linear.noise([2.0], "scale.fx").total, 9.619354662e-13, rtol=1e-9)


def two_masses(damping: float = 0.01) -> mse.LinearModel:
    """1 and 2 kg in a row, with losses at three temperatures."""
    system = mse.MSystem("row", gravity=(0, 0, 0))
    first = system.add(mse.RigidBody("first", mass=1.0, inertia=0.1))
    second = system.add(mse.RigidBody("second", mass=2.0, inertia=0.1))
    slide(system, "warm", system.ground, first.frame(0), stiffness=40.0, loss=1e-3)
    slide(system, "cold", first.frame(0), second.frame(0), stiffness=30.0, loss=1e-5, temperature=20.0)
    if damping:
        slide(system, "damper", system.ground, second.frame(0), damping=damping, temperature=77.0)
    system.add(mse.PositionSensor("probe"), between=(second, system.ground))
    system.add(mse.PositionSensor("between"), between=(second, first))
    return system.find_working_point().linearize()


def test_every_source_has_the_temperature_of_its_object():
    """Figures of matrices written down, [[70 + ...]] and so on, by numpy alone."""
    w, eta = np.pi, np.diag([1e-3, 1e-5])
    stiffness = np.array([[40.0, 0.0], [0.0, 30.0]])
    stretch = np.array([[1.0, 0.0], [-1.0, 1.0]])  # of both springs, by places of the masses
    k = stretch.T @ (stiffness @ (np.eye(2) + 1j * eta)) @ stretch
    z = k + 1j * w * np.diag([0.0, 0.01]) - w**2 * np.diag([1.0, 2.0])
    for output, row, figure in (("probe.x", [0.0, 1.0], 2.071406714e-12), ("between.x", [-1.0, 1.0], 1.228076714e-12)):
        r = np.linalg.solve(z.T, row)
        pulls = stretch @ r
        expected = [
            np.sqrt(4 * BOLTZMANN * 300.0 * 40.0 * 1e-3 / w) * abs(pulls[0]),
            np.sqrt(4 * BOLTZMANN * 20.0 * 30.0 * 1e-5 / w) * abs(pulls[1]),
            np.sqrt(4 * BOLTZMANN * 77.0 * 0.01) * abs(r[1]),
        ]
        budget = two_masses().noise([0.5], output)
        assert budget.sources == (("warm", "elastic"), ("cold", "elastic"), ("damper", "damping"))
        np.testing.assert_allclose([budget[s][0] for s in budget.sources], expected, rtol=1e-12)
        np.testing.assert_allclose(budget.total, figure, rtol=1e-9)
    each = [two_masses().noise([0.5], "probe.x")[source][0] for source in budget.sources]
    np.testing.assert_allclose(each, [1.539513337e-12, 3.457422227e-14, 1.385434619e-12], rtol=1e-9)


def test_losses_of_two_springs_share_in_the_quality_of_both_modes():
    k = np.array(
        [[40.0 * (1 + 1e-3j) + 30.0 * (1 + 1e-5j), -30.0 * (1 + 1e-5j)], [-30.0 * (1 + 1e-5j), 30.0 * (1 + 1e-5j)]]
    )
    w2 = np.linalg.eigvals(np.diag([1.0, 0.5]) @ k)
    modes = two_masses(damping=0.0).modes(lossy=True)
    expected = np.sort_complex(w2)
    np.testing.assert_allclose(modes.quality, expected.real / expected.imag, rtol=1e-9)
    np.testing.assert_allclose(modes.quality, [1849.6918, 2130.5192], rtol=1e-7)


def dense_noise(linear: mse.LinearModel, f: float, output: str, loss: dict) -> float:
    """Power density by dense matrices with multipliers: forces on all coordinates, the reactions that they cause read as well."""
    n, w = linear.size, 2 * np.pi * f
    k = linear.full_stiffness.toarray().astype(complex)
    lost = sum(eta * linear.parts[label].toarray() for label, eta in loss.items())
    z = k + 1j * lost + 1j * w * linear.full_velocity.toarray() - w**2 * linear.full_mass.toarray()
    g = linear.constraints.toarray()
    m, width = len(g), len(z)
    whole = np.block([[z[:n, :n], g[:, :n].T], [g[:, :n], np.zeros((m, m))]])
    o = linear.outputs.index(output)
    react = linear.read_reactions(np.array([o])).toarray()[0]
    row = np.zeros(width, dtype=complex)
    for j in range(width):
        force = np.zeros(width)
        force[j] = 1.0
        x = np.linalg.solve(whole, np.r_[force[:n], np.zeros(m)])
        held = z[n:, :n] @ x[:n] + g[:, n:].T @ x[n:] - force[n:]
        row[j] = linear.measure.toarray()[o, :n] @ x[:n] - react @ held
    heat = lost / w + linear.full_damping.toarray()
    return float(4 * BOLTZMANN * ROOM * (row @ heat @ row.conj()).real)


def hinged_frame() -> mse.MSystem:
    """A plate on four hinged legs (redundant hinges), on a moved ground, with a force sensor and losses."""
    system = mse.MSystem("frame", gravity=(0, 0, -9.81))
    base = system.add(mse.PositionActuator("base"))
    system.clamp(system.ground, base.frame(1))
    scale = system.add(mse.ForceSensor("scale"))
    system.clamp(base.frame(0), scale.frame(1))
    plate = system.add(mse.RigidBody("plate", mass=8.0, inertia=0.3, at=Pose.dz(0.5)))
    for k, (x, y) in enumerate(((0.2, 0.1), (-0.2, 0.1), (-0.2, -0.1), (0.2, -0.1))):
        leg = system.add(mse.RigidBody(f"leg{k}", mass=0.5, inertia=(0.02, 0.02, 1e-3), at=Pose((x, y, 0.25))))
        for end, (seat, place) in enumerate(((scale.frame(0), Pose((x, y, 0.0))), (plate.frame(0), Pose((x, y, 0.0))))):
            hinge = system.add(
                mse.Revolute(f"hinge{k}{end}", axis=(0, 1, 0), stiffness=60.0 + k, loss=1e-3 * (1 + k), damping=0.02)
            )
            system.clamp(seat, hinge.frame(1), place)
            system.clamp(leg.frame(0), hinge.frame(0), Pose.dz(0.25 * (2 * end - 1)))
    system.add(mse.PositionSensor("probe"), between=(plate, system.ground))
    return system


@pytest.mark.parametrize("output", ["probe.x", "scale.fx", "scale.ty", "hinge00.angle", "hinge21.fz"])
def test_noise_agrees_with_dense_matrices_where_joints_are_redundant_and_the_ground_moves(output):
    linear = hinged_frame().find_working_point().linearize()
    assert linear.self_stress.shape[1] > 0
    f = np.array([0.3, 1.7, 20.0])
    budget = linear.noise(f, output)
    expected = [dense_noise(linear, x, output, dict(linear.losses)) for x in f]
    np.testing.assert_allclose(budget.total**2, expected, rtol=1e-8)
    np.testing.assert_allclose(budget.densities.sum(axis=0), budget.total**2, rtol=1e-14)


def wheel() -> mse.LinearModel:
    """A body on a lossy mount, with a rotor inside, pushed off its center."""

    class Wheel(mse.MObject):
        frame_names = ("0",)

        def kinetic(self, frames, q, v):
            return 0.4 * frames[0].U[:, 2] @ frames[0].w

    system = mse.MSystem("wheel", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=2.0, inertia=(0.1, 0.2, 0.3), frames={"rim": Pose((0.1, 0.2, 0.3))}))
    system.add(mse.Bushing("mount", stiffness=50.0, loss=1e-2, damping=0.1), between=(body, system.ground))
    system.add(Wheel("wheel"), between=(body,))
    system.add(mse.ForceActuator("coil"), between=(system.ground, body.frame("rim")))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    return system.find_working_point().linearize()


@pytest.mark.parametrize("output", ["probe.x", "probe.ay", "scale.fx", "hinge21.fz"])
@pytest.mark.parametrize("kind", ["frame", "wheel"])
def test_noise_of_inputs_is_their_response_and_costs_no_further_one(kind, output, monkeypatch):
    """By reciprocity from the row of thermal noise: moved ground, redundant joints, gyroscopic coupling, forces as outputs."""
    if kind == "wheel":
        linear, output = wheel(), {"scale.fx": "probe.ax", "hinge21.fz": "probe.z"}.get(output, output)
    else:
        linear = hinged_frame().find_working_point().linearize()
    f = np.array([0.3, 1.7, 20.0])
    expected = linear.frequency_response(f, outputs=[output]).values[:, 0]
    solved, equations = [], response.Equations
    monkeypatch.setattr(response, "Equations", lambda *a: solved.append(a) or equations(*a))
    budget = linear.noise(f, output, inputs=dict.fromkeys(linear.inputs, 1.0))
    found = np.array([budget[name] for name in linear.inputs]).T
    np.testing.assert_allclose(found, np.abs(expected), rtol=1e-9, atol=1e-12 * np.abs(expected).max())
    assert len(solved) == 1


def test_gyroscopic_parts_lose_nothing_but_count_in_the_row():
    linear = wheel()
    assert linear.skew is not None
    expected = [dense_noise(linear, x, "probe.ax", dict(linear.losses)) for x in (0.5, 3.0)]
    budget = linear.noise([0.5, 3.0], "probe.ax")
    np.testing.assert_allclose(budget.total**2, expected, rtol=1e-10)
    assert set(budget.objects) == {"mount"}


def fiber(density: float) -> mse.LinearModel:
    """10 kg on a stiff wire of 1 m without stretch, EI 1.2723450247e-3 N m2, hung 0.02 m above its center of mass."""
    bending, modulus, area = 1.2723450247e-3, 2e16, np.pi * 9e-8
    system = mse.MSystem("fiber", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=10.0, inertia=0.05, at=Pose.dz(-1.02)))
    section = {
        "area": area,
        "torsion_constant": 2 * bending / modulus,
        "density": density / area,
        "young_modulus": modulus,
    }
    section |= {f"second_moment_{axis}": bending / modulus for axis in "yz"}
    exact = {"form": "exact", "theory": "euler-bernoulli", "loss": {"bending": 2e-4}}
    wire = system.add(mse.SectionBeam("wire", length=1.0, **section, **exact))
    system.clamp(system.ground, wire.frame(0), Pose.ry(np.pi / 2))
    system.clamp(wire.frame(1), body.frame("center"), Pose.dx(0.02) @ Pose.ry(-np.pi / 2))
    system.add(mse.Load("load", force=(0, 0, -98.1)), between=(body,))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    return system.find_working_point().linearize()


def string(f: float, mass_per_length: float) -> complex:
    """``x/F`` of the body on :func:`fiber`, from the beam's exact solution ``e^(k s)`` under tension, in fifty digits."""
    mpmath.mp.dps = 50
    w, tension = 2 * mpmath.pi * f, mpmath.mpf("98.1")
    stiff = mpmath.mpf("1.2723450247e-3") * (1 + mpmath.mpc(0, 2e-4))
    mu = mpmath.mpf(mass_per_length)
    # EI k^4 - T k^2 - mu w^2 = 0
    root = mpmath.sqrt(tension**2 + 4 * stiff * mu * w**2)
    ks = [s * mpmath.sqrt((tension + t * root) / (2 * stiff)) for t in (1, -1) for s in (1, -1)]
    # of each solution: at the top w, w'; at the lower end, on the center of mass at 0.02 m below
    rows = mpmath.matrix(4, 4)
    for j, k in enumerate(ks):
        # scaled at the end where it is largest
        at = (lambda s, k=k: mpmath.exp(k * (s - 1))) if mpmath.re(k) > 0 else (lambda s, k=k: mpmath.exp(k * s))
        rows[0, j], rows[1, j] = at(0), k * at(0)
        shear, moment = -(stiff * k**3 - tension * k) * at(1), stiff * k**2 * at(1)
        y, turn = at(1), k * at(1)  # of the lower end; the body turns with it
        center = y + mpmath.mpf("0.02") * turn
        rows[2, j] = shear - 10 * w**2 * center
        rows[3, j] = moment - mpmath.mpf("0.05") * w**2 * turn + mpmath.mpf("0.02") * (tension * turn - shear)
    found = mpmath.lu_solve(rows, mpmath.matrix([0, 0, 1, 0]))
    x = 0
    for j, k in enumerate(ks):
        end = mpmath.exp(k * 0) if mpmath.re(k) > 0 else mpmath.exp(k)
        x += found[j] * end * (1 + mpmath.mpf("0.02") * k)
    return complex(x)


def test_a_lossy_exact_fiber_has_the_noise_of_its_admittance():
    """One source and a force along the output: S = 4 kB T/w Im(-chi), Callen and Welton."""
    f, mu = np.array([0.1, 1.0, 10.0, 100.0]), 2.20539804282e-3
    chi = np.array([string(x, mu) for x in f])
    expected = np.sqrt(4 * BOLTZMANN * ROOM * -chi.imag / (2 * np.pi * f))
    np.testing.assert_allclose(
        expected, [1.025890409e-14, 5.014928329e-15, 3.487689684e-18, 1.776807877e-19], rtol=1e-9
    )
    budget = fiber(mu).noise(f, "probe.x")
    np.testing.assert_allclose(budget.total, expected, rtol=1e-6)
    assert set(budget.mechanisms) == {"bending_y", "bending_z"}


def test_mechanisms_of_an_exact_member_add_up_to_its_admittance():
    """With two losses in one plane: both together are the noise by the imaginary part of the response."""
    system = mse.MSystem("leg", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=1e-3, at=Pose.dx(0.1)))
    losses = {"bending": 1e-2, "shear": 5e-2}
    leg = system.add(mse.RoundBeam("leg", length=0.1, radius=5e-3, form="exact", loss=losses))
    system.clamp(system.ground, leg.frame(0))
    system.clamp(leg.frame(1), body.frame(0))
    coil = system.add(mse.ForceActuator("coil"), between=(system.ground, body))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    assert coil.inputs
    linear = system.find_working_point().linearize()
    f = np.array([10.0, 300.0, 2e4])
    budget = linear.noise(f, "probe.y")
    chi = linear.frequency_response(f, inputs=["coil.fy"], outputs=["probe.y"])["probe.y", "coil.fy"]
    np.testing.assert_allclose(budget.total**2, -4 * BOLTZMANN * ROOM * chi.imag / (2 * np.pi * f), rtol=1e-7)
    assert {"bending_z", "shear"} <= set(budget.mechanisms)


def test_noise_of_a_real_suspension():
    """Of KAGRA's type Bp, by another program's matrices with the quadratic form, in numpy."""
    kagra = example("kagra_type_bp")
    system, data = kagra.build(as_sumcon=True), kagra.DATA
    system.add(mse.PositionSensor("probe"), between=(system.frame("TM.center"), system.ground))
    linear = system.find_working_point().linearize()
    loss = {spring["name"]: 1 / spring["Q"] for spring in data["vspr"]}
    for wire in data["wires"]:
        for name in (wire["name"], f"{wire['name']} torsion"):
            if any(owner == name for owner, _ in linear.parts):
                loss[name] = data["materials"][wire["material"]]["loss"]
    budget = linear.noise([1.0, 10.0, 100.0], "probe.y", loss=loss)
    np.testing.assert_allclose(budget.total, [2.1825993e-13, 4.4569397e-15, 4.7273377e-18], rtol=2e-8)
    springs = [spring["name"] for spring in data["vspr"]]
    by = budget.by("object")
    gas = np.sqrt(sum(by[name][1] ** 2 for name in springs))
    wires = np.sqrt(sum(own[1] ** 2 for name, own in by.items() if name not in springs))
    np.testing.assert_allclose([wires, gas], [4.1687097e-15, 1.5767597e-15], rtol=1e-7)


def test_what_feeds_energy_has_no_thermal_noise_and_a_note():
    class Wind(mse.MObject):
        frame_names = ("0",)

        def power(self, frames, q, v, given):
            return 0.05 * given.frames[0].v @ frames[0].v

    system = mse.MSystem("sail", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=2.0, inertia=0.1))
    system.add(mse.Bushing("mount", stiffness=50.0, damping=0.2), between=(body, system.ground))
    system.add(Wind("wind"), between=(body,))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    budget = system.find_working_point().linearize().noise([1.0], "probe.x")
    assert budget.sources == (("mount", "damping"),)
    assert any("wind" in note for note in budget.notes)


def test_a_stiff_part_that_hardly_deforms_loses_its_own_noise_to_no_rounding():
    """Its form is a difference of much larger terms, which rounding may leave below zero: that is no power that feeds."""
    system = mse.MSystem("stiff", gravity=(0, 0, 0))
    first = system.add(mse.RigidBody("first", mass=1.0, inertia=0.1))
    second = system.add(mse.RigidBody("second", mass=2.0, inertia=0.1, at=Pose((0.3, 0.4, 0.5))))
    system.add(mse.Bushing("soft", stiffness=40.0, loss=1e-3), between=(first, system.ground))
    rod = system.add(mse.Spring("rod", stiffness=1e12, length=float(np.sqrt(0.5)), loss=1e-3))
    system.clamp(first.frame(0), rod.frame(0))
    system.clamp(second.frame(0), rod.frame(1))
    system.add(mse.Bushing("aside", stiffness=70.0, loss=1e-3), between=(second, system.ground))
    system.add(mse.PositionSensor("probe"), between=(second, system.ground))
    budget = system.find_working_point().linearize().noise(np.geomspace(0.1, 10.0, 200), "probe.x")
    assert set(budget.objects) == {"soft", "rod", "aside"}
    assert not any("feed" in note for note in budget.notes)


def test_noise_of_many_losses_holds_little_more_than_its_densities():
    """Neither what an output reads of each coordinate nor a second copy of the densities is held."""
    system = mse.MSystem("chain", gravity=(0, 0, 0))
    before = system.ground
    for k in range(60):
        body = system.add(mse.RigidBody(f"body{k}", mass=1.0 + 0.01 * k, inertia=0.1))
        for j in range(6):
            spring = mse.Bushing(f"spring{k}_{j}", stiffness=400.0 * np.eye(6)[j] + 1.0, loss=1e-3 * (1 + j))
            system.add(spring, between=(body, before))
        before = body
    system.add(mse.PositionSensor("probe"), between=(before, system.ground))
    linear, f = system.find_working_point().linearize(), np.geomspace(0.1, 10.0, 1600)
    linear.noise(f[:100], "probe.x")  # compiled
    tracemalloc.start()
    try:
        densities = linear.noise(f, "probe.x").densities
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert densities.shape == (360, 1600)
    assert peak < 2.0 * densities.nbytes


def test_parts_on_many_coordinates_have_the_same_noise(monkeypatch):
    """By their sparse matrices, as by the roots of small ones: of a beam of several elements, and of what feeds energy."""
    system = mse.MSystem("cantilever", gravity=(0, 0, 0))
    beam = system.add(mse.RoundBeam("beam", length=1.0, radius=0.01, elements=6, loss={"bending": 1e-3, "axial": 2e-3}))
    system.clamp(system.ground, beam.frame(0))
    system.add(mse.Bushing("film", damping=3.0), between=(beam.frame(1), system.ground))
    system.add(mse.PositionSensor("probe"), between=(beam.frame(1), system.ground))
    linear, f = system.find_working_point().linearize(), np.geomspace(1.0, 1e3, 30)
    for output in ("probe.x", "probe.z"):
        roots = linear.noise(f, output)
        with monkeypatch.context() as wide:
            wide.setattr(part_blocks, "WIDE", 0)
            sparse = linear.noise(f, output)
        assert sparse.sources == roots.sources and len(roots.sources) == 4
        np.testing.assert_allclose(sparse.densities, roots.densities, rtol=1e-6, atol=1e-9 * roots.densities.max())


class _ByContent(mse.MObject):
    def dissipation(self, frames, q, v):
        slip = frames[1].v - frames[0].v
        return 0.5 * 0.3 * slip @ slip


class _ByMatrix(mse.MObject):
    def damping_matrix(self, frames, q):
        return np.kron([[0.3, 0, -0.3, 0], [0] * 4, [-0.3, 0, 0.3, 0], [0] * 4], np.eye(3))


@pytest.mark.parametrize("film", [_ByContent, _ByMatrix])
def test_an_element_of_ones_own_that_only_damps_has_a_temperature(film):
    system = mse.MSystem("film", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=2.0, inertia=0.1))
    system.add(film("film", temperature=4.0), between=(system.ground, body))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    f = np.array([0.5, 3.0])
    w = 2 * np.pi * f
    expected = np.sqrt(4 * BOLTZMANN * 4.0 * 0.3) / abs(0.3j * w - 2.0 * w**2)
    total = system.find_working_point().linearize().noise(f, "probe.x").total
    np.testing.assert_allclose(total, expected, rtol=1e-12)


SILICA = {"y": 7.2e10, "rho": 2.2e3, "c": 772.0, "kappa": 1.38, "alpha": 3.9e-7, "beta": 1.52e-4, "phi": 4.1e-10}
STEEL = {"y": 212e9, "rho": 7800.0, "c": 486.0, "kappa": 49.0, "alpha": 12e-6, "beta": -2.5e-4, "phi": 2e-4}
MARAGING = {"y": 187e9, "rho": 7800.0, "c": 460.0, "kappa": 20.0, "alpha": 11e-6, "beta": 0.0, "phi": 1e-4}
# of each stage from the top: mass, length, number and radius of wires, dilution, blade's stiffness and thickness
STAGES = (
    (22.1, 0.416, 2, 520e-6, 87.0, 3400.0, 4300e-6),
    (21.8, 0.277, 4, 350e-6, 80.0, 3900.0, 4600e-6),
    (39.6, 0.341, 4, 310e-6, 106.0, 5200.0, 4200e-6),
)
MIRROR, LENGTH, FIBERS, RADIUS, END_RADIUS, END_LENGTH, DEPTH = 39.6, 0.59, 4, 205e-6, 400e-6, 45e-3, 1.5e-2


def thermoelastic(w, material: dict[str, float], tau: float, expansion: float):
    """``Delta w tau / (1 + (w tau)^2)`` with ``Delta = Y expansion^2 T / (rho c)`` at 290 K."""
    delta = material["y"] * expansion**2 * 290.0 / (material["rho"] * material["c"])
    return delta * tau * w / (1 + w**2 * tau**2)


def bending_loss(w, material: dict[str, float], tension: float, radius: float, depth: float = 0.0):
    """Loss angle of a round wire that bends: of bulk, of the surface, and thermoelastic."""
    area = np.pi * radius**2
    tau = 4 * 7.37e-2 * material["rho"] * material["c"] * area / (np.pi * material["kappa"])
    expansion = material["alpha"] - tension * material["beta"] / (area * material["y"])
    return material["phi"] * (1 + 4 / radius * depth) + thermoelastic(w, material, tau, expansion)


def quadruple_springs() -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """k(w) of the aLIGO quadruple suspension, from the top: "along" the beam, and "up".

    Formulas of gwinc 0.6.2, ``gwinc/suspension.py`` (``suspQuad``), with the numbers of its ``gwinc/ifo/aLIGO/ifo.yaml``.
    """
    gravity, springs = 9.80665, {}
    below = np.cumsum([MIRROR, *(stage[0] for stage in STAGES[::-1])])[::-1] * gravity
    for n, (_, length, wires, radius, dilution, blade, thick) in enumerate(STAGES):
        weight, tau = below[n], MARAGING["rho"] * MARAGING["c"] * thick**2 / (MARAGING["kappa"] * np.pi**2)
        springs[f"along{n}"] = lambda w, at=(weight / wires, radius), k=weight / length, dilution=dilution: (
            k * (1 + 1j * bending_loss(w, STEEL, *at) / dilution)
        )
        springs[f"up{n}"] = lambda w, tau=tau, k=blade: (
            k * (1 + 1j * (MARAGING["phi"] + thermoelastic(w, MARAGING, tau, MARAGING["alpha"])))
        )
    tension = below[3] / FIBERS
    middle, end = np.pi * RADIUS**2, np.pi * END_RADIUS**2

    def along(w):
        young = SILICA["y"] * (1 + 1j * bending_loss(w, SILICA, tension, END_RADIUS, DEPTH))
        k = np.sqrt(SILICA["rho"] * middle / tension) * w
        bent = k * np.sqrt(young * np.pi / 4 * END_RADIUS**4 / tension)
        cos, sin = np.cos(k * LENGTH), np.sin(k * LENGTH)
        return FIBERS * tension * k * (cos + bent * sin) / (sin - 2 * bent * cos)

    def up(w):
        young = SILICA["y"] * (1 + 1j * SILICA["phi"] * (1 + 2 / RADIUS * DEPTH))
        k = np.sqrt(SILICA["rho"] / young) * w
        half, whole = (
            FIBERS * area * young * k / np.tan(k * length)
            for area, length in ((end, END_LENGTH), (middle, LENGTH - 2 * END_LENGTH))
        )
        return 1 / (2 / half + 1 / whole)

    return springs | {"along3": along, "up3": up}


class KOfOmega(mse.MObject):
    """A spring along x whose stiffness is a law of the frequency."""

    law: Callable[[np.ndarray], np.ndarray]
    frame_names = ("0", "1")
    _static = property(lambda self: float(np.real(self.law(1e-6))))

    def energy(self, frames, q):
        return 0.5 * self._static * (frames[1].o[0] - frames[0].o[0]) ** 2

    def dynamic_stiffness(self, omega, frames):
        along = np.kron([[1, -1], [-1, 1]], np.diag([1, 0, 0, 0, 0, 0]))
        return (self.law(np.maximum(omega, 1e-6)) - self._static) * along


def test_thermal_noise_of_the_quadruple_suspension_of_aligo_is_that_of_gwinc():
    """Its masses on rails, once with springs along the beam and once with springs up, which couple by the earth's curvature."""
    system = mse.MSystem("quadruple", gravity=(0, 0, 0))
    springs = quadruple_springs()
    for way in ("along", "up"):
        last = system.ground
        for n, mass in enumerate((*(stage[0] for stage in STAGES), MIRROR)):
            name = f"{way}{n}"
            body = system.add(mse.RigidBody(f"mass {name}", mass=mass, inertia=1.0))
            slide(system, f"rail {name}", system.ground, body.frame(0))
            kind = type(f"K{name}", (KOfOmega,), {"law": staticmethod(springs[name])})
            system.add(kind(name, temperature=290.0), between=(last, body))
            last = body
        system.add(mse.PositionSensor(way), between=(last, system.ground))
    curvature = 3995.0 / 6.3781e6  # arm over radius of the earth, as gwinc has it
    linear = system.find_working_point().linearize().combined(outputs={"beam": {"along.x": 1.0, "up.x": curvature}})
    budget = linear.noise([0.1, 1.0, 5.0, 10.0], "beam")
    np.testing.assert_allclose(budget.total, [8.3144566e-15, 6.7059693e-14, 1.3162014e-18, 6.1724710e-19], rtol=1e-6)
    by = budget.by("object")
    np.testing.assert_allclose([by["up2"][-1], by["along3"][-1]], [6.068224e-19, 5.431094e-20], rtol=1e-6)


def conducting() -> mse.MSystem:
    """A rod that warms where it is pressed, under a mass, and a conductor of heat from there to a room."""
    system = mse.MSystem("rod", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=Pose.dz(-0.1)))
    system.add(mse.Prismatic("rail"), between=(body, system.ground))
    rod = mse.ThermalSpring("rod", stiffness=100.0, length=0.1, expansion=0.02, capacity=0.1, temperature=300.0)
    system.add(rod, between=(system.ground, body))
    wall = system.add(mse.HeatConductor("wall", conductance=0.1))
    room = system.add(mse.TemperatureSource("room", temperature=300.0))
    system.connect(rod.port("heat"), wall.port("1"))
    system.connect(wall.port("2"), room.port("heat"))
    system.add(mse.ForceActuator("push"), between=(system.ground, body))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    return system


def test_conduction_of_heat_makes_temperatures_and_positions_fluctuate(tmp_path):
    """By the fluctuation-dissipation theorem of the model's own response, also from a file and in independent coordinates."""
    model = conducting().find_working_point().linearize()
    f = np.array([0.5, 5.0, 50.0])
    chi = model.frequency_response(f, inputs=["push.fz"], outputs=["probe.z"])["probe.z", "push.fz"]
    expected = np.sqrt(-4.0 * BOLTZMANN * 300.0 / (2 * np.pi * f) * chi.imag)
    model.save(tmp_path / "rod.npz")
    for one in (model, mse.read_result(tmp_path / "rod.npz"), model.reduced[0]):
        np.testing.assert_allclose(one.noise(f, "probe.z")["wall", "damping"], expected, rtol=1e-9)


@pytest.mark.parametrize("room", [300.0, 77.0])
def test_the_temperature_of_a_body_behind_a_conductor_fluctuates_by_its_closed_form(room):
    """``sqrt(4 kB T^2 G/(G^2 + (w C)^2))`` of a bolometer."""
    system = mse.MSystem("bolometer", gravity=(0, 0, 0))
    body = system.add(mse.HeatCapacity("body", capacity=2e-3, temperature=room))
    wall = system.add(mse.HeatConductor("wall", conductance=1e-2))
    outside = system.add(mse.TemperatureSource("room", temperature=room))
    system.connect(body.port("heat"), wall.port("1"))
    system.connect(wall.port("2"), outside.port("heat"))
    f = np.array([0.1, 1.0, 10.0])
    found = system.find_working_point().linearize().noise(f, "body.temperature")
    expected = room * np.sqrt(4.0 * BOLTZMANN * 1e-2 / (1e-4 + (2 * np.pi * f * 2e-3) ** 2))
    np.testing.assert_allclose(found.total, expected, rtol=1e-9)
    assert not found.notes


def test_a_conductor_between_two_temperatures_has_the_noise_of_both():
    first, second = 300.0, 280.0
    noise = mse.HeatConductor("wall", conductance=0.1).fluctuation_matrix(
        [], np.array([0.0, 0.0, first, second]), np.zeros(4)
    )
    heat = np.array([0.0, 0.0, first, -second])
    assert heat @ noise @ heat / 4.0 == pytest.approx(0.1 * (first**2 + second**2) / 2.0)
    kept = np.array([0.0, 0.0, first, second])
    assert kept @ noise @ kept == pytest.approx(0.0, abs=1e-12)


def test_efforts_without_a_noise_of_their_own_are_named():
    class Leak(mse.HeatConductor):
        def fluctuation_matrix(self, frames, q, v):
            return None

    system = mse.MSystem("bolometer", gravity=(0, 0, 0))
    body = system.add(mse.HeatCapacity("body", capacity=2e-3, temperature=300.0))
    leak = system.add(Leak("leak", conductance=1e-2))
    room = system.add(mse.TemperatureSource("room", temperature=300.0))
    system.connect(body.port("heat"), leak.port("1"))
    system.connect(leak.port("2"), room.port("heat"))
    budget = system.find_working_point().linearize().noise([1.0], "body.temperature")
    assert "the damping of leak follows from a power or an effort constraint" in " ".join(budget.notes)


def test_budgets_of_one_model_prepare_its_rows_once_and_are_those_of_a_fresh_one(monkeypatch):
    monkeypatch.setattr(SIZES, "few_coordinates", 0)
    model = two_masses(damping=0.0)
    made = made_of(monkeypatch, Sweep)
    f, g = np.geomspace(0.1, 10.0, 30), np.geomspace(0.2, 3.0, 40)
    first = model.noise(f, "probe.x")
    again = model.noise(g, "probe.x")
    assert len(made) == 1
    warm = model.noise(g, "probe.x", loss=dict.fromkeys(model.losses, 0.01))
    assert len(made) == 2
    fresh = replace(model).noise(g, "probe.x")
    np.testing.assert_array_equal(again.densities, fresh.densities)
    assert np.all(warm.total > 0.0) and np.all(first.total > 0.0)
    assert again.densities.base is not None  # what the thermal sources fill is not copied


def test_a_relaxation_has_noise_at_rest_and_a_constant_loss_has_none_there():
    """S(0) = 4 kB T D/(2 pi f_c k), since x/F is 1/k and phi/w goes to D/(2 pi f_c)."""
    k, zener = 10.0 * (2 * np.pi) ** 2, mse.Zener(2e-3, 5.0)
    white = 4.0 * BOLTZMANN * ROOM * 2e-3 / (2 * np.pi * 5.0) / k
    for loss, times in ((zener, 1.0), (2.0 * zener, 2.0), (zener + mse.LossTable([1.0, 2.0], [0.0, 0.1], "hold"), 1.0)):
        budget = oscillator(loss=loss).noise([0.0, 1e-6], "probe.x")
        np.testing.assert_allclose(budget.total**2, times * white, rtol=1e-9)
    closed = oscillator(loss=zener).noise([0.0, 1e-4], "probe.x")
    assert closed.total[0] == pytest.approx(closed.total[1], rel=1e-7)
    for loss in (1e-6, zener + 1e-6, lambda f: 1e-3 * f, mse.LossTable([1.0, 2.0], [1e-3, 0.1], "hold")):
        with pytest.raises(mse.ModelError, match="0 Hz; expected frequencies above zero, .* guide / .*Zener"):
            oscillator(loss=loss).noise([0.0, 1.0], "probe.x")


def heated(*, voltage: float = 0.0, slope: float = 0.0) -> mse.MSystem:
    """A heater in a box that loses heat to a room at 300 K, between a supply and a capacitor, or without one."""
    system = mse.MSystem("box")
    supply = system.add(mse.VoltageSource("supply", voltage=voltage))
    heater = system.add(mse.Heater("heater", resistance=10.0, slope=slope, temperature=300.0))
    box = system.add(mse.HeatCapacity("box", capacity=0.5, temperature=300.0))
    wall = system.add(mse.HeatConductor("wall", conductance=0.08))
    room = system.add(mse.TemperatureSource("room", temperature=300.0))
    system.connect(heater.port("heat"), box.port("heat"), wall.port("1"))
    system.connect(wall.port("2"), room.port("heat"))
    if voltage:
        system.connect(supply.port("+"), heater.port("+"))
        system.connect(supply.port("-"), heater.port("-"), system.earth)
        return system
    capacitor = system.add(mse.Capacitor("capacitor", capacitance=1e-3))
    system.connect(supply.port("+"), heater.port("+"))
    system.connect(heater.port("-"), capacitor.port("+"))
    system.connect(capacitor.port("-"), supply.port("-"), system.earth)
    return system


def test_a_heater_without_a_current_has_the_noise_of_a_resistor_at_its_temperature():
    """S = 4 kB T R/|1/C + i w R|^2 of the charge of a capacitor behind it."""
    f = np.array([0.1, 15.0, 100.0])
    budget = heated().find_working_point().linearize().noise(f, "capacitor.charge")
    expected = np.sqrt(4.0 * BOLTZMANN * 300.0 * 10.0) / np.abs(1e3 + 2j * np.pi * f * 10.0)
    np.testing.assert_allclose(budget["heater", "damping"], expected, rtol=1e-9)
    assert not budget.notes


@pytest.mark.parametrize("slope", [0.0, 4e-3])
def test_what_the_noise_of_a_heater_feeds_into_its_current_is_taken_from_its_heat(slope):
    """C T' = U^2/R(T) - G (T - T0) + (2 v0 - v0) u: the voltage u changes the current by u/R, and gives v0 u to the circuit."""
    point = heated(voltage=6.0, slope=slope).find_working_point()
    hot, current = point.potentials["box.heat"], point.flows["heater.charge"]
    resistance = 10.0 * (1.0 + slope * (hot - 300.0))
    f = np.array([1e-3, 1e-2, 1.0])
    budget = point.linearize().noise(f, "box.temperature")
    leak = 0.08 + current**2 * 10.0 * slope  # U^2/R falls where R grows
    expected = current * np.sqrt(4.0 * BOLTZMANN * hot * resistance) / np.abs(leak + 2j * np.pi * f * 0.5)
    np.testing.assert_allclose(budget["heater", "damping"], expected, rtol=1e-8)


@pytest.mark.parametrize("eddy", [0.0, 2.0])
def test_a_shorted_voice_coil_has_the_noise_of_its_resistances_at_its_temperature(eddy):
    """S_x = 4 kB T Re c/|k - m w^2 + i w c|^2 for c = Bl^2/(R + i w L2 R2/(R2 + i w L2))."""
    system = mse.MSystem("shaker", gravity=(0, 0, 0))
    table = system.add(mse.RigidBody("table", mass=0.5, inertia=1e-3))
    system.add(mse.Prismatic("guide", stiffness=1000.0), between=(table, system.ground))
    more = {"eddy_inductance": 1e-2, "eddy_resistance": eddy} if eddy else {}
    coil = mse.VoiceCoil("coil", bl=8.0, resistance=4.0, temperature=77.0, **more)
    system.add(coil, between=(system.ground, table))
    system.add(mse.VoltageSource("source"))
    system.connect("source.+", "coil.+")
    system.connect("source.-", "coil.-", system.earth)
    system.add(mse.PositionSensor("probe"), between=(table, system.ground))
    f = np.array([1.0, 7.0, 50.0])
    s = 2j * np.pi * f
    impedance = 4.0 + (s * 1e-2 * eddy / (eddy + s * 1e-2) if eddy else 0.0)
    drag = 64.0 / impedance
    expected = np.sqrt(4.0 * BOLTZMANN * 77.0 * drag.real) / np.abs(1000.0 + 0.5 * s**2 + s * drag)
    found = system.find_working_point().linearize().noise(f, "probe.z")
    np.testing.assert_allclose(found.total, expected, rtol=1e-9)


def test_classes_that_lose_energy_have_a_temperature():
    losing = [cls for cls in vars(mse).values() if isinstance(cls, type) and issubclass(cls, mse.MObject)]
    laws = ("dissipation", "damping_matrix", "dynamic_stiffness")
    losing = [cls for cls in losing if cls.mechanisms or any(map(cls.defines, laws))]
    assert mse.VoiceCoil in losing and mse.Resistor in losing
    assert [cls.__name__ for cls in losing if "temperature" not in cls.declared_parameters] == []

    class Shunted(mse.PlateCapacitor):
        def dissipation(self, frames, q, v):
            return 0.5 * v[0] ** 2

    assert Shunted.temperature.default == 300.0
