"""Working points at which currents depend on positions, and positions on currents."""

import numpy as np
import pytest

import mse
from test_steady_flows import Amplifier, Magnet

VOLTAGE, CURRENT = 3.8817727909, 0.4852215988597
# figure 4 of the reference answers: a magnet of 0.06 kg at 4 mm, held by 6000 (x - 0.004) + 100 x'
ROOTS = -59.2608629406, -14.8140129742 + 203.9367265968j


class Position(mse.MObject):
    """An ideal voltage 60 (x - 0.004) + x' between its ports, as a sensor of a gap gives."""

    frame_names = ("pole", "ball")
    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)
    effort_names = ("voltage",)

    def effort_constraint(self, frames, q, v, given):
        x, rate = frames[0].o[2] - frames[1].o[2], given.frames[0].v[2] - given.frames[1].v[2]
        return [given.e[0] - 60.0 * (x - 0.004) - rate]

    def power(self, frames, q, v, given):
        return -given.e[0] * v[0]


def levitation(gap, network):
    """The ball begins at a gap; a sensor and an amplifier of gain 100, or one element, make the voltage."""
    system = mse.MSystem("levitation", gravity=(0, 0, -9.81))
    ball = system.add(mse.RigidBody("ball", mass=0.06, inertia=1e-5, at=mse.Pose.dz(-gap)))
    system.add(mse.Prismatic("guide"), between=(ball, system.ground))
    system.add(Magnet("coil"), between=(system.ground, ball))
    system.add(mse.VoltageSource("source", voltage=VOLTAGE))
    if network:
        system.add(Position("probe"), between=(system.ground, ball))
        system.add(mse.Amplifier("control", gain=100.0))
        system.connect("probe.-", "control.in-", system.earth)
        system.connect("probe.+", "control.in+")
    else:
        system.add(Amplifier("control"), between=(system.ground, ball))
    system.connect("source.-", "coil.-", system.earth)
    system.connect("source.+", "control.-")
    system.connect("control.+", "coil.+")
    return system


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("gap", [0.003, 0.0045, 0.008])
def test_a_ball_under_a_magnet_is_found_from_afar(gap, network):
    """At a constant current it would fall, or fly to the pole."""
    point = levitation(gap, network).find_working_point()
    assert point.stable
    assert point.poses["ball.center"].o[2] == pytest.approx(-0.004, rel=1e-9)
    assert point.flows["coil.charge"] == pytest.approx(CURRENT, rel=1e-9)
    roots = sorted((mode.eigenvalue for mode in point.linearize().modes(damped=True)), key=lambda s: s.real)
    np.testing.assert_allclose([s for s in roots if s.imag >= 0.0][:2], ROOTS, rtol=1e-8)


def test_new_parameters_move_the_ball():
    """With 1 V more, ``u + 6000 (x - a) = 8 i`` and ``i = sqrt(2 m g a/L1) (1 + x/a)``."""
    system = levitation(0.004, False)
    point = system.find_working_point()
    x = -point.update({"source.voltage": VOLTAGE + 1.0}).poses["ball.center"].o[2]
    i = np.sqrt(2.0 * 0.06 * 9.81 * 0.004 / 0.08) * (1.0 + x / 0.004)
    assert VOLTAGE + 1.0 + 6000.0 * (x - 0.004) == pytest.approx(8.0 * i, rel=1e-9)


class Loop(mse.MObject):
    """A coil of 4 ohm that is pushed by 2 N/A, with a voltage ``3 z + 1`` of its height z."""

    frame_names = ("fixed", "end")
    coordinate_names = (mse.coordinate("charge", unit="C"),)

    def kinetic(self, frames, q, v):
        return 0.5e-3 * v[0] ** 2 + 2.0 * (frames[1].o[2] - frames[0].o[2]) * v[0]

    def dissipation(self, frames, q, v):
        return 2.0 * v[0] ** 2

    def power(self, frames, q, v, given):
        return -(3.0 * (frames[1].o[2] - frames[0].o[2]) + 1.0) * v[0]


def pendulum(angle):
    """A bob 1 m below a hinge, turned by an angle, in such a loop."""
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    hinge = system.add(mse.Revolute("hinge", axis=(0, 1, 0)))
    at = mse.Pose.ry(angle) @ mse.Pose.dz(-1.0)
    bob = system.add(mse.RigidBody("bob", mass=1.0, inertia=0.1, at=at))
    system.clamp(system.ground, hinge.frame(0))
    system.clamp(hinge.frame(1), bob.frame("center"), mse.Pose((0, 0, -1.0)))
    system.add(Loop("loop"), between=(system.ground, bob))
    return system


@pytest.mark.parametrize("angle", [0.0, 0.5, 1.8, 3.0, 3.12])
def test_a_pendulum_in_a_loop_comes_to_hang(angle):
    point = pendulum(angle).find_working_point()
    assert point.stable
    np.testing.assert_allclose(point.poses["bob.center"].o, [0, 0, -1], atol=1e-9)
    assert point.flows["loop.charge"] == pytest.approx(0.5, rel=1e-9)  # (1 - 3)/4 V/ohm, against its voltage


@pytest.mark.parametrize("bodies, seed", [(1, 3), (3, 2), (5, 0), (5, 3)])
def test_bodies_on_wires_in_a_loop_come_to_hang(bodies, seed):
    """The charge balances at no position but its own: a search that moves bodies alone would leave it unbalanced."""
    rng = np.random.default_rng(seed)
    system = mse.MSystem("chain", gravity=(0, 0, -9.81))
    above = system.ground
    for k in range(bodies):
        at = np.array([0.0, 0.0, -1.0 - k]) + 0.2 * rng.normal(size=3)
        body = system.add(mse.RigidBody(f"body{k}", mass=1.0 + k, inertia=0.01, at=mse.Pose(at)))
        wire = mse.Wire(f"wire{k}", length=1.0, radius=3e-4, young_modulus=2e11, poisson_ratio=0.3)
        system.add(wire, between=(above, body))
        above = body
    system.add(Loop("loop"), between=(system.ground, body))
    point = system.find_working_point()
    assert point.stable
    x, y, z = point.poses[f"body{bodies - 1}.center"].o
    assert max(abs(x), abs(y)) < 1e-9
    current = point.flows["loop.charge"]
    assert current == pytest.approx(-(3.0 * z + 1.0) / 4.0, rel=1e-9)
    # the lowest wire carries its body and the coil, which pushes by 2 N/A
    assert point.tensions[f"wire{bodies - 1}"] == pytest.approx(9.81 * bodies - 2.0 * current, rel=1e-9)


def test_the_nearest_equilibrium_may_stand():
    point = pendulum(3.0).find_working_point(seek="nearest")
    assert not point.stable
    np.testing.assert_allclose(point.poses["bob.center"].o, [0, 0, 1], atol=1e-9)
    assert point.flows["loop.charge"] == pytest.approx(-1.0, rel=1e-9)


def test_a_loop_that_no_position_balances_is_refused():
    """A ball on nothing but a coil whose voltage pushes it away."""
    system = mse.MSystem("falling", gravity=(0, 0, -9.81))
    ball = system.add(mse.RigidBody("ball", mass=0.5, inertia=1e-3, at=mse.Pose.dz(-0.5)))
    system.add(mse.Prismatic("guide"), between=(ball, system.ground))

    class Weak(Loop):
        def power(self, frames, q, v, given):
            return -1e-3 / (1.0 + (frames[1].o[2] - frames[0].o[2]) ** 2) * v[0]

    system.add(Weak("loop"), between=(system.ground, ball))
    with pytest.raises(mse.WorkingPointError, match="falling"):
        system.find_working_point()
