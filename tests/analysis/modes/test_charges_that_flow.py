"""Charges that flow and store nothing: no free motions, no modes at zero, and right in responses, damped modes and runs."""

import numpy as np
import pytest
import scipy.linalg

import mse
from mse.elements.parameters import Real
from mse.elements.records import Channel
from mse.numerics.options import SIZES

MASS, STIFFNESS, DAMPER, BL, R, L = 0.05, 2000.0, 0.5, 10.0, 4.0, 1e-3


class Wiring(mse.MObject):
    """A coil in two parallel wires, with all that stores energy left out where it is zero."""

    resistance: Real = Real("of the loop", unit="ohm", default=R, minimum=0.0)
    inductance: Real = Real("of the loop", unit="H", default=0.0, minimum=0.0)
    elastance: Real = Real("one over the capacitance between the wires", unit="1/F", default=0.0, minimum=0.0)
    bl: Real = Real("force by current", unit="N/A", default=0.0)
    coordinate_names = (mse.coordinate("one", unit="C"), mse.coordinate("two", unit="C"))
    inputs = (Channel("voltage", "V"),)
    outputs = (Channel("one", "C"), Channel("two", "C"))

    def energy(self, frames, q):
        return 0.5 * self.elastance * (q[0] - q[1]) ** 2

    def kinetic(self, frames, q, v):
        return 0.5 * self.inductance * (v @ v)

    def damping_matrix(self, frames, q):
        d = np.diag(np.concatenate([np.zeros(12), [self.resistance] * 2]))
        moved = frames[0].U[:, 2]
        d[12, 0:3], d[12, 6:9] = self.bl * moved, -self.bl * moved
        return d - np.triu(d.T, 1) - np.tril(d.T, -1)

    def input_map(self, frames):
        return np.eye(14)[:, [12]]

    def output_map(self, frames):
        return np.eye(14)[12:]


def stage(held=True, **parameters):
    """A mass on a slide, on a spring where it is held, with a wiring to the ground."""
    system = mse.MSystem("stage", gravity=(0, 0, 0))
    mass = system.add(mse.RigidBody("mass", mass=MASS, inertia=1e-5, at=mse.Pose.dz(-0.1)))
    system.add(mse.Prismatic("guide"), between=(mass, system.ground))
    if held:
        spring = mse.Spring("spring", length=0.1, stiffness=STIFFNESS, damping=DAMPER)
        system.add(spring, between=(system.ground, mass))
    system.add(Wiring("coil", **parameters), between=(system.ground, mass))
    system.add(mse.ForceActuator("push"), between=(system.ground, mass))
    return system


@pytest.mark.parametrize(
    ("parameters", "flows"),
    [
        ({}, ["coil.one", "coil.two"]),
        ({"inductance": L}, ["coil.one", "coil.two"]),
        ({"bl": BL}, ["coil.one", "coil.two"]),
        ({"elastance": 1e3}, ["0.71 coil.one + 0.71 coil.two"]),
    ],
)
def test_flows_are_no_free_motions(parameters, flows):
    wp = stage(**parameters).find_working_point()
    assert [m.name for m in wp.cyclic] == flows and len(wp.free) == 0 and wp.stable
    assert f"Flows that store no energy: {', '.join(flows)}" in str(wp) and "Free" not in str(wp)
    loose = stage(held=False, **parameters).find_working_point()
    assert [m.name for m in loose.free] == ["mass.z"] and [m.name for m in loose.cyclic] == flows


def test_without_units_a_charge_is_a_motion():
    cls = type("Plain", (Wiring,), {"coordinate_names": ("one", "two")})
    system = stage()
    system.add(cls("plain"), between=(system.ground, "mass.center"))
    wp = system.find_working_point()
    assert [m.name for m in wp.free] == ["plain.one", "plain.two"] and len(wp.cyclic) == 2


@pytest.mark.parametrize("inductance", [0.0, L])
@pytest.mark.parametrize("held", [True, False])
def test_undamped_modes_have_no_flows(inductance, held):
    modes = stage(held, inductance=inductance).find_working_point().linearize().modes()
    np.testing.assert_allclose(modes.eigenvalues, [1j * np.sqrt(STIFFNESS / MASS) if held else 0.0], rtol=1e-12)
    told = "without the flows at 0 Hz of coil.one, coil.two, which store no energy and are not motions"
    assert modes.notes == (told,) and modes[0].participation["mass"] == pytest.approx(1.0)


def rates(*matrices):
    """Eigenvalues of ``s^2 M + s Lambda + K`` on states that are given as rows of a first-order system."""
    return np.sort_complex(np.linalg.eigvals(np.array(matrices)))


@pytest.mark.parametrize("bl", [0.0, BL])
def test_damped_modes_have_the_rates_of_currents_alone(bl):
    """States z, v, i: the charges appear in none of the equations."""
    modes = stage(inductance=L, bl=bl).find_working_point().linearize().modes(damped=True)
    expected = rates(
        [0, 1, 0, 0],
        [-STIFFNESS / MASS, -DAMPER / MASS, -bl / MASS, 0],
        [0, bl / L, -R / L, 0],
        [0, 0, 0, -R / L],
    )
    upper = expected[expected.imag >= 0]
    np.testing.assert_allclose(np.sort_complex(modes.eigenvalues), upper, rtol=1e-9)
    assert modes.notes[0].startswith("without the flows at 0 Hz of coil.one, coil.two")
    # charges take part in motions, with the share of their inductance
    model = stage(inductance=L, bl=bl).find_working_point().linearize()
    for mode in modes:
        x, s = mode.vector, mode.eigenvalue
        left = (s**2 * model.M + s * model.Lambda + model.K) @ x
        allowed = model.reduced[1].T @ left
        assert np.abs(allowed).max() < 1e-8 * np.abs(s**2 * (model.M @ x)).max()


def test_damped_modes_without_inductance():
    modes = stage(bl=BL).find_working_point().linearize().modes(damped=True)
    expected = np.roots([MASS, DAMPER + BL**2 / R, STIFFNESS])
    np.testing.assert_allclose(np.sort(modes.eigenvalues.real), np.sort(expected.real), rtol=1e-10)
    assert not modes.free.any()


def test_a_free_mass_drifts_beside_flows():
    modes = stage(held=False, inductance=L).find_working_point().linearize().modes(damped=True)
    np.testing.assert_allclose(np.sort(modes.eigenvalues.real), [-R / L, -R / L, 0.0, 0.0], rtol=1e-12, atol=0)
    for mode in modes[:2]:
        assert mode.free and set(mode.participants().split()[:1]) == {"mass.z"}


def test_a_loop_that_two_charges_share_flows_alone():
    """With a capacitor between two wires, their difference swings and their sum flows."""
    modes = stage(inductance=L, elastance=1e3, resistance=0.0).find_working_point().linearize().modes()
    np.testing.assert_allclose(modes.frequencies_hz, np.sqrt([STIFFNESS / MASS, 2e3 / L]) / (2 * np.pi), rtol=1e-12)
    assert "0.71 coil.one + 0.71 coil.two" in modes.notes[0]


def test_currents_that_persist_are_no_modes_either():
    modes = stage(inductance=L, resistance=0.0).find_working_point().linearize().modes(damped=True)
    assert len(modes) == 1 and not modes.free.any()


def test_state_spaces_do_not_call_flows_free():
    ss = stage(inductance=L, bl=BL).find_working_point().linearize().state_space()
    assert ss.free == () and ss.zeros == 2 and "coil.one" in ss.states
    loose = stage(held=False, inductance=L).find_working_point().linearize().state_space()
    assert loose.free == ("mass.z",) and loose.zeros == 4


def test_runs_charge_steadily():
    """After the current has settled, the charge grows by V / R and the mass is pushed by Bl V / R."""
    model = stage(inductance=L, bl=BL).find_working_point().linearize()
    history = model.simulate(duration=2.0, dt=1e-3, inputs={"coil.voltage": lambda t: 1.0})
    charge = history["coil.one"]
    assert (charge[-1] - charge[-101]) / 0.1 == pytest.approx(1.0 / R, rel=1e-6)


def test_responses_have_flows():
    model = stage(inductance=L, bl=BL).find_working_point().linearize()
    f = np.array([0.01, 1.0, 30.0, 1e3])
    s = 2j * np.pi * f
    charge = model.frequency_response(f)["coil.one", "coil.voltage"]
    impedance = R + L * s + BL**2 * s / (MASS * s**2 + DAMPER * s + STIFFNESS)
    np.testing.assert_allclose(1.0 / (s * charge), impedance, rtol=1e-10)


@pytest.mark.parametrize("damped", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_large_models_have_no_flows_at_zero(damped, monkeypatch):

    system = mse.MSystem("row", gravity=(0, 0, 0))
    before = system.ground
    for k in range(12):
        mass = system.add(mse.RigidBody(f"m{k}", mass=1.0, inertia=0.1, at=mse.Pose.dx(1.0 + k)))
        system.add(mse.Bushing(f"b{k}", stiffness=[1e3 + 10.0 * k] * 3 + [50.0 + k] * 3), between=(before, mass))
        system.add(Wiring(f"c{k}", inductance=L), between=(before, mass))
        before = mass
    model = system.find_working_point().linearize()
    whole = model.modes(damped=damped)
    for size in ("dense", "dense_modes", "dense_eigenpairs"):
        monkeypatch.setattr(SIZES, size, 10)
    model = system.find_working_point().linearize()
    lowest = model.modes(damped=damped, count=4)
    assert len(system.find_working_point().cyclic) == 24 and not whole.free.any() and not lowest.free.any()
    assert "c0.one" in whole.notes[-1] and "and 18 more" in whole.notes[-1]
    np.testing.assert_allclose(lowest.frequencies_hz[:4], whole.frequencies_hz[:4], rtol=1e-8)


def test_what_drives_a_flow_has_a_steady_current():
    class Driven(Wiring):
        def energy(self, frames, q):
            return super().energy(frames, q) - 2.0 * q[0]

    system = stage()
    system.add(Driven("driven"), between=(system.ground, "mass.center"))
    point = system.find_working_point()
    assert point.flows["driven.one"] == pytest.approx(2.0 / R, rel=1e-12) and point.flows["driven.two"] == 0.0


@pytest.mark.parametrize("bias", [0.0, -0.648, 1e-3])
@pytest.mark.parametrize("wiring", [0, 1])
def test_modes_of_an_amplifier_among_coils_do_not_depend_on_a_bias_or_on_the_order_of_wiring(bias, wiring):
    gain, ohm, l1, l2, farad = (
        0.25046457659747556,
        4.171912879535432,
        0.14524081388974777,
        0.35776546586539804,
        0.01912069306024233,
    )
    parts = {
        "amp": mse.Amplifier("amp", gain=gain), "r": mse.Resistor("r", resistance=ohm),
        "l1": mse.Inductor("l1", inductance=l1), "source": mse.CurrentSource("source", current=bias),
        "l2": mse.Inductor("l2", inductance=l2), "c": mse.Capacitor("c", capacitance=farad),
    }  # fmt: skip
    system = mse.MSystem("circuit")
    for part in parts.values():
        system.add(part)
    one, two = ["amp.-", "l1.+", "source.+", "c.-"], ["amp.in+", "r.-", "l1.-", "source.-", "l2.-"]
    zero, inside = [system.earth, "amp.in-", "l2.+", "c.+"], ["amp.+", "r.+"]
    for ports in ((inside, two, one, zero), (two, zero, inside, one))[wiring]:
        system.connect(*ports)
    found = system.find_working_point().linearize().modes(damped=True).eigenvalues
    # potentials at both nodes and currents in both coils: E x' + A x = 0
    e = np.diag([farad, 0.0, l1, l2])
    a = np.array([[1 / ohm, (gain - 1) / ohm, 1, 0], [-1 / ohm, (1 - gain) / ohm, -1, -1], [-1, 1, 0, 0], [0, 1, 0, 0]])
    right = scipy.linalg.eigvals(-a, e)
    right = right[np.isfinite(right) & (right.imag >= 0.0)]
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(right), rtol=1e-9)
