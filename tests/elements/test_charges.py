"""Charges as coordinates: parallel plates up to pull-in, and the impedance of a voice coil, against closed forms."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import mse
from mse.elements.parameters import Real
from mse.elements.records import Channel

# -- plates -----------------------------------------------------------------------------------------------------------
EPS0, STIFFNESS, MASS, GAP, AREA = 8.8541878128e-12, 5.0, 2e-10, 2e-6, 1e-8  # N/m, kg, m, m2
PULL_IN = np.sqrt(8.0 * STIFFNESS * GAP**3 / (27.0 * EPS0 * AREA))
DEFLECTION = 0.177292477825  # of the gap, at 0.9 of the voltage of pull-in
BY_VOLTAGE, BY_CHARGE = 18982.228223, 25164.606052  # Hz


class Suspension(mse.MObject):
    """A spring along x."""

    stiffness: Real = Real("along x", unit="N/m", above=0.0)

    def energy(self, frames, q):
        return 0.5 * self.stiffness * (frames[1].o[0] - frames[0].o[0]) ** 2


class AtVoltage(mse.MObject):
    """Plates that a source keeps at a voltage: -C V^2/2."""

    voltage: Real = Real("of the source", unit="V", default=0.0)
    gap: Real = Real("without voltage", unit="m", above=0.0)
    permittance: Real = Real("area times permittivity", unit="F m", above=0.0)

    def span(self):
        return self.gap

    def _left(self, frames):
        return self.gap - (frames[1].o - frames[0].o) @ frames[0].U[:, 0]

    def energy(self, frames, q):
        return -0.5 * self.permittance / self._left(frames) * self.voltage**2


class WithCharge(AtVoltage):
    """The same with its charge as a coordinate: q^2/2C - V q."""

    resistance: Real = Real("between source and plates", unit="ohm", default=0.0, minimum=0.0)
    coordinate_names = (mse.coordinate("charge", unit="C"),)

    def energy(self, frames, q):
        return 0.5 * q[0] ** 2 * self._left(frames) / self.permittance - self.voltage * q[0]

    def dissipation(self, frames, q, v):
        return 0.5 * self.resistance * v[0] ** 2


class WithSize(WithCharge):
    usual: Real = Real("voltage", unit="V", default=10.0, above=0.0)
    coordinate_names = (mse.coordinate("charge", unit="C", size=lambda self: self.permittance / self.gap * self.usual),)


class AtCharge(WithCharge):
    """The same with a charge that is held."""

    held: Real = Real("charge", unit="C", default=0.0)

    def constraint(self, frames, q):
        return [q[0] - self.held]


def plates(cls, voltage, units=(1.0, 1.0, 1.0), **parameters):
    """One plate that moves along x, with numbers in units of length, mass and charge that are so many times smaller."""
    length, mass, charge = units
    energy = mass * length**2
    system = mse.MSystem("plates", gravity=(0, 0, 0))
    plate = system.add(mse.RigidBody("plate", mass=MASS * mass, inertia=1e-18 * energy))
    system.add(mse.Prismatic("guide", axis=(1, 0, 0)), between=(plate, system.ground))
    system.add(Suspension("spring", stiffness=STIFFNESS * mass), between=(system.ground, plate))
    given = {"gap": GAP * length, "permittance": EPS0 * AREA * charge**2 / energy * length}
    if cls is WithSize:
        given["usual"] = 10.0 * energy / charge
    law = cls("field", voltage=voltage * energy / charge, **given, **parameters)
    system.add(law, between=(system.ground, plate))
    return system


UNITS = {
    "SI": (1.0, 1.0, 1.0),
    "mm, g, nC": (1e3, 1e3, 1e9),
    "um, ng, pC": (1e6, 1e12, 1e12),
    "km, t, C": (1e-3, 1e-3, 1.0),
}


@pytest.mark.parametrize("cls", [AtVoltage, WithCharge, WithSize])
@pytest.mark.parametrize("units", UNITS.values(), ids=UNITS.keys())
def test_plates_below_pull_in(cls, units):
    wp = plates(cls, 0.9 * PULL_IN, units).find_working_point()
    assert wp.stable and wp.notes == ()
    assert wp.poses["plate.center"].o[0] / (GAP * units[0]) == pytest.approx(DEFLECTION, abs=1e-12)
    assert wp.linearize().modes().frequencies_hz == pytest.approx([BY_VOLTAGE], rel=1e-10)


@pytest.mark.parametrize("cls", [AtVoltage, WithCharge, WithSize])
@pytest.mark.slow
@pytest.mark.parametrize("units", UNITS.values(), ids=UNITS.keys())
def test_pull_in_is_a_limit_point(cls, units):
    volt = units[1] * units[0] ** 2 / units[2]
    curve = plates(cls, 0.01 * PULL_IN, units).trace("field.voltage", 12.0 * volt, max_points=28)
    limit = curve.events[0]
    assert limit.kind == "limit point" and limit.value / volt == pytest.approx(11.569610601331, abs=1e-10)
    assert pytest.approx(11.569610601331, abs=1e-11) == PULL_IN
    before = curve.values < limit.value
    assert curve.stable[: int(np.argmin(before))].all()


def test_plates_with_their_charge_held():
    """They resist by their spring alone, since the force of a charge does not depend on the gap."""
    wp = plates(WithCharge, 0.9 * PULL_IN).find_working_point()
    held = plates(AtCharge, 0.9 * PULL_IN, held=wp.internal["field.charge"]).find_working_point()
    assert held.poses["plate.center"].o[0] / GAP == pytest.approx(DEFLECTION, abs=1e-12)
    assert held.linearize().modes().frequencies_hz == pytest.approx([BY_CHARGE], rel=1e-10)
    # and so do those whose charge would take 50 s to flow
    slow = plates(WithCharge, 0.9 * PULL_IN, resistance=1e15).find_working_point().linearize()
    modes = slow.modes(damped=True)
    assert modes.frequencies_hz[-1] == pytest.approx(BY_CHARGE, rel=1e-9)
    fast = plates(WithCharge, 0.9 * PULL_IN, resistance=1.0).find_working_point().linearize()
    assert fast.modes(damped=True).frequencies_hz[0] == pytest.approx(BY_VOLTAGE, rel=1e-9)


def test_plates_between_bodies_of_tons():
    """The same plates on a table of 2,000 kg: charges of pC beside 20 kN."""
    system = plates(WithCharge, 0.9 * PULL_IN)
    table = system.add(mse.RigidBody("table", mass=2e3, inertia=500.0, at=mse.Pose.dz(-1.0)))
    system.gravity = (0, 0, -9.8)
    wire = mse.Spring("wire", length=1.0, stiffness=1e7)
    system.add(wire, between=(system.ground, table))
    wp = system.find_working_point()
    assert wp.stable and [m.name for m in wp.cyclic] == []
    assert wp.poses["plate.center"].o[0] / GAP == pytest.approx(DEFLECTION, abs=1e-11)
    assert wp.linearize().modes().frequencies_hz[-1] == pytest.approx(BY_VOLTAGE, rel=1e-9)


# -- a voice coil -----------------------------------------------------------------------------------------------------
BL, R, L, M, K, C, L2, R2, MUTUAL = 10.0, 4.0, 1e-3, 0.05, 2000.0, 0.5, 2e-4, 0.5, 3e-4


class VoiceCoil(mse.MObject):
    """A coil on frame 1 in the field of a magnet on frame 0, and the loop of its eddy current."""

    coordinate_names = (mse.coordinate("charge", unit="C"), mse.coordinate("eddy", unit="C"))
    inputs = (Channel("voltage", "V"),)
    outputs = (Channel("charge", "C"),)

    def kinetic(self, frames, q, v):
        depth = (frames[1].o - frames[0].o) @ frames[0].U[:, 2]
        own = 0.5 * L * v[0] ** 2 + MUTUAL * v[0] * v[1] + 0.5 * L2 * v[1] ** 2
        return own + BL * v[0] * depth

    def dissipation(self, frames, q, v):
        return 0.5 * R * v[0] ** 2 + 0.5 * R2 * v[1] ** 2

    def input_map(self, frames):
        return np.eye(14)[:, [12]]

    def output_map(self, frames):
        return np.eye(14)[[12]]


@pytest.fixture(scope="module")
def coil():
    system = mse.MSystem("voice coil")
    mass = system.add(mse.RigidBody("mass", mass=M, inertia=1e-5, at=mse.Pose.dz(-0.1)))
    system.add(mse.Prismatic("guide"), between=(mass, system.ground))
    system.add(mse.Spring("spring", length=0.1, stiffness=K, damping=C), between=(system.ground, mass))
    system.add(VoiceCoil("coil"), between=(system.ground, mass))
    return system.find_working_point()


def impedance(wp, f):
    f = np.atleast_1d(np.asarray(f, dtype=float))
    return 1.0 / (2j * np.pi * f * wp.linearize().frequency_response(f)["coil.charge", "coil.voltage"])


def test_the_impedance_of_a_voice_coil(coil):
    expected = [4.0614390475 + 3.5473640343j, 4.1295475256 - 2.9293455108j]
    np.testing.assert_allclose(impedance(coil, [10.0, 100.0]), expected, rtol=1e-10)


def test_the_largest_impedance_of_a_voice_coil(coil):
    """At its mechanical resonance, beside R + Bl^2/c = 204 ohm."""
    around = np.linspace(31.0, 33.0, 41)
    f = around[np.argmax(np.abs(impedance(coil, around)))]
    near = {"bounds": (f - 0.05, f + 0.05), "method": "bounded", "options": {"xatol": 1e-7}}
    found = minimize_scalar(lambda x: -abs(impedance(coil, x)[0]), **near)
    assert -found.fun == pytest.approx(204.00734506, abs=1e-8)


def test_a_voice_coil_flows_and_does_not_drift(coil):
    assert [m.name for m in coil.cyclic] == ["coil.charge", "coil.eddy"] and not coil.free
    model = coil.linearize()
    modes = model.modes(damped=True)
    assert not modes.free.any() and model.mirror is not None
    z, v = [0, 1, 0, 0], [-K / M, -C / M, BL / M, 0]
    currents = np.linalg.solve([[L, MUTUAL], [MUTUAL, L2]], [[0, -BL, -R, 0], [0, 0, 0, -R2]])
    rates = np.linalg.eigvals(np.vstack([z, v, currents]))
    np.testing.assert_allclose(np.sort(modes.eigenvalues.real), np.sort(rates[rates.imag >= 0].real), rtol=1e-9)


def test_forces_of_its_own_beside_a_coenergy_of_currents():
    """An inductor on a capacitor, and a spring to a fixed point, whose energy and forces are both given."""

    class Tank(mse.MObject):
        frame_names = ("0",)
        coordinate_names = (mse.coordinate("charge", unit="C"),)
        parts = ("elastic",)

        def energy(self, frames, q):
            return 0.5 * 4.0 * q[0] ** 2 + 0.5 * 30.0 * frames[0].o @ frames[0].o

        def forces(self, frames, q, gravity):
            return -np.concatenate([30.0 * frames[0].o, np.zeros(3), [4.0 * q[0]]])

        def kinetic(self, frames, q, v):
            return 0.5 * 2.0 * v[0] ** 2

    system = mse.MSystem("tank", gravity=(0, 0, -9.81))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=1.0))
    system.add(mse.Bushing("seat", stiffness=30.0), between=(body, system.ground))
    system.add(Tank("tank"), between=(body,))
    point = system.find_working_point()
    np.testing.assert_allclose(point.poses["body.center"].o, [0.0, 0.0, -9.81 / 60.0], atol=1e-12)
    found = np.unique((2 * np.pi * point.linearize().modes().frequencies_hz) ** 2)
    for square in (4.0 / 2.0, 60.0):  # of the circuit, and of displacements
        assert np.abs(found - square).min() < 1e-9 * square
