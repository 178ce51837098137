"""Currents of steady motions: of motors that turn, of sources, past capacitors; against the equations of a DC motor by hand."""

import numpy as np
import pytest
import scipy.linalg

import mse

CONSTANT, RESISTANCE, INDUCTANCE, INERTIA, DRAG = 0.05, 1.5, 1e-3, 2e-4, 1e-5


class Motor(mse.MObject):
    """A DC motor: the torque about the stator's z is the constant times the current, and so is voltage times the rate."""

    frame_names = ("stator", "rotor")
    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)

    def kinetic(self, frames, q, v):
        return 0.5 * INDUCTANCE * v[0] ** 2

    def dissipation(self, frames, q, v):
        return 0.5 * RESISTANCE * v[0] ** 2

    def power(self, frames, q, v, given):
        axis = frames[0].U[:, 2]
        virtual, actual = (axis @ (f[1].w - f[0].w) for f in (frames, given.frames))
        return CONSTANT * (given.v[0] * virtual - actual * v[0])


def drive(source, motor="none"):
    """A rotor on a hinge with drag, turned by a motor at a source; a capacitor lies across it."""
    system = mse.MSystem("drive", gravity=(0, 0, -9.81))
    rotor = system.add(mse.RigidBody("rotor", mass=0.2, inertia=(1e-4, 1e-4, INERTIA)))
    hinge = mse.Revolute("hinge", axis=(0, 0, 1), damping=DRAG, motor=motor)
    system.add(hinge, between=(rotor, system.ground))
    system.add(Motor("motor"), between=(system.ground, rotor))
    system.add(source)
    system.add(mse.Capacitor("capacitor", capacitance=1e-6))
    system.connect("source.+", "motor.+", "capacitor.+")
    system.connect("source.-", "motor.-", "capacitor.-", system.earth)
    return system


def rates(steady):
    """All rates of a steady motion by coordinate, as its table has them."""
    return {row[0]: row[2] for row in steady.table().rows}


def test_the_current_of_a_rotor_kept_at_a_rate_is_found():
    steady = drive(mse.VoltageSource("source", voltage=6.0), "position").find_steady_motion({"hinge.angle": 80.0})
    current = (6.0 - CONSTANT * 80.0) / RESISTANCE
    assert rates(steady)["motor.charge"] == pytest.approx(current, rel=1e-12)
    assert rates(steady)["source.charge"] == pytest.approx(-current, rel=1e-12)
    assert rates(steady)["capacitor.charge"] == 0.0
    assert steady.joint_coordinates["capacitor.charge"] == pytest.approx(6e-6, rel=1e-12)
    assert abs(steady.reactions["hinge"][5]) == pytest.approx(CONSTANT * current - DRAG * 80.0, rel=1e-10)


def test_the_rate_at_a_voltage_is_found_and_small_motions_are_those_of_a_motor():
    system = drive(mse.VoltageSource("source", voltage=6.0))
    steady = system.find_steady_motion({"hinge.angle": 50.0}, free=["hinge.angle"], initial={"hinge.angle": 0.3})
    rate = CONSTANT * 6.0 / (RESISTANCE * DRAG + CONSTANT**2)
    assert steady.rates["hinge.angle"] == pytest.approx(rate, rel=1e-11)
    assert steady.stable
    found = steady.linearize().modes(damped=True).eigenvalues
    matrix = [[-RESISTANCE / INDUCTANCE, -CONSTANT / INDUCTANCE], [CONSTANT / INERTIA, -DRAG / INERTIA]]
    for s in np.linalg.eigvals(matrix):
        assert np.abs(found - s).min() < 1e-9 * abs(s)
    later = system.simulate(duration=0.05, dt=0.05, start=steady.state, outputs=["hinge.angle'", "motor.current"])
    np.testing.assert_allclose(later["hinge.angle'"], rate, rtol=1e-8)
    np.testing.assert_allclose(later["motor.current"], rates(steady)["motor.charge"], rtol=1e-7)


@pytest.mark.parametrize("guess", [-5.0, 1e-3, 1e5])
def test_the_guess_of_a_rate_may_have_the_wrong_sign_or_size(guess):
    system = drive(mse.VoltageSource("source", voltage=6.0))
    steady = system.find_steady_motion({"hinge.angle": guess}, free=["hinge.angle"], initial={"hinge.angle": 0.3})
    assert steady.rates["hinge.angle"] == pytest.approx(CONSTANT * 6.0 / (RESISTANCE * DRAG + CONSTANT**2), rel=1e-11)


def test_a_current_source_drives_a_steady_motion():
    system = drive(mse.CurrentSource("source", current=-0.02))
    steady = system.find_steady_motion({"hinge.angle": 50.0}, free=["hinge.angle"], initial={"hinge.angle": 0.0})
    assert steady.rates["hinge.angle"] == pytest.approx(CONSTANT * 0.02 / DRAG, rel=1e-11)
    assert rates(steady)["motor.charge"] == pytest.approx(0.02, rel=1e-12)


def test_currents_follow_a_rate_that_is_traced():
    system = drive(mse.VoltageSource("source", voltage=6.0), "position")
    trace = system.find_steady_motion({"hinge.angle": 20.0}).trace("hinge.angle'", 200.0, points=4)
    assert not trace.notes and not trace.limits
    for steady in trace.motions:
        current = (6.0 - CONSTANT * steady.rates["hinge.angle"]) / RESISTANCE
        assert rates(steady)["motor.charge"] == pytest.approx(current, rel=1e-12)


def test_a_current_that_is_given_and_does_not_balance_is_refused():
    system = drive(mse.VoltageSource("source", voltage=6.0), "position")
    with pytest.raises(mse.ModelError, match=r"no steady motion with hinge\.angle' = 80, motor\.charge' = 1 near"):
        system.find_steady_motion({"hinge.angle": 80.0, "motor.charge": 1.0})


def test_a_circuit_next_to_a_rotor_carries_its_current():
    system = mse.MSystem("rotor")
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.1))
    system.add(mse.Revolute("axle", axis=(0, 0, 1)), between=(system.ground, body))
    system.add(mse.CurrentSource("source", current=0.5))
    resistors = [system.add(mse.Resistor(f"r{k}", resistance=2.0 * k)) for k in (1, 2)]
    system.connect("source.+", *(r.port("+") for r in resistors))
    system.connect("source.-", *(r.port("-") for r in resistors), system.earth)
    found = rates(system.find_steady_motion({"axle.angle": 3.0}))
    assert [found["r1.charge"], found["r2.charge"]] == pytest.approx([-1 / 3, -1 / 6], rel=1e-12)


def test_a_motor_between_two_rotors_drives_both():
    system = mse.MSystem("two", gravity=(0, 0, -9.81))
    drags = {"one": 1e-4, "other": 3e-4}
    bodies = [system.add(mse.RigidBody(name, mass=0.1, inertia=INERTIA)) for name in drags]
    for body, (name, drag) in zip(bodies, drags.items(), strict=True):
        system.add(mse.Revolute(f"{name}_hinge", damping=drag), between=(body, system.ground))
    system.add(Motor("motor"), between=bodies)
    system.add(mse.VoltageSource("source", voltage=6.0))
    system.connect("source.+", "motor.+")
    system.connect("source.-", "motor.-", system.earth)
    # current, rate of one and of the other, whose slopes are ``steady_at (x_steady - x) / (L, I, I)``
    slopes = [[RESISTANCE, -CONSTANT, CONSTANT], [CONSTANT, drags["one"], 0.0], [-CONSTANT, 0.0, drags["other"]]]
    balance = np.linalg.solve(slopes, [6.0, 0.0, 0.0])
    guessed = dict.fromkeys(("one_hinge.angle", "other_hinge.angle"), 1.0)
    steady = system.find_steady_motion(guessed, free=[*guessed], initial=dict.fromkeys(guessed, 0.0))
    found = rates(steady)
    names = ("motor.charge", *guessed)
    assert [found[name] for name in names] == pytest.approx(balance, rel=1e-11)
    names = ["motor.current", "one_hinge.angle'", "other_hinge.angle'"]
    motion = system.simulate(duration=0.1, dt=0.1, outputs=names, progress=False)
    left = scipy.linalg.expm(-0.1 * np.array(slopes) / np.array([[INDUCTANCE], [INERTIA], [INERTIA]])) @ -balance
    assert [motion[name][-1] for name in names] == pytest.approx(balance + left, rel=1e-7)


def test_a_motor_drives_a_cart_on_its_wheel():
    system, up = mse.MSystem("cart", gravity=(0, 0, -9.81)), mse.Pose.dz(0.1)
    cart = system.add(mse.RigidBody("cart", mass=2.0, inertia=0.1, at=up))
    wheel = system.add(mse.RigidBody("wheel", mass=0.2, inertia=(1e-3, 2e-3, 1e-3), at=up))
    system.add(mse.Prismatic("rail", axis=(1, 0, 0), damping=0.5), between=(cart, system.ground @ up))
    system.add(mse.Revolute("axle", axis=(0, 1, 0), damping=1e-3), between=(wheel, cart))
    system.add(mse.RollingDisc("disc", axis=(0, 1, 0), radius=0.1), between=(wheel, system.ground))
    along = mse.Pose.rx(-np.pi / 2)
    system.add(Motor("motor"), between=(cart @ along, wheel @ along))
    system.add(mse.VoltageSource("source", voltage=6.0))
    system.connect("source.+", "motor.+")
    system.connect("source.-", "motor.-", system.earth)
    given = {"initial": {"rail.displacement": 0.0}, "free": ["rail.displacement"]}
    steady = system.find_steady_motion({"rail.displacement": 1.0}, **given)
    turning = CONSTANT * 6.0 / (RESISTANCE * (1e-3 + 0.5 * 0.1**2) + CONSTANT**2)
    assert steady.rates["rail.displacement"] == pytest.approx(0.1 * turning, rel=1e-11)
    assert rates(steady)["motor.charge"] == pytest.approx((6.0 - CONSTANT * turning) / RESISTANCE, rel=1e-11)
