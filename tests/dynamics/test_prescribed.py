"""Motions that are prescribed: drive torques, moving pivots, and what is refused."""

import math

import numpy as np
import pytest
import textbook as book
from scipy.interpolate import CubicSpline

import mse
from mse import ModelError, MotionError, Pose
from mse.dynamics import prescribed
from mse.dynamics.prescribed import Signal
from mse.numerics.record import Record


def wheel(mass_at=0.0, motor="position"):
    """A wheel of 0.5 kg m2 about a level hinge, which may have a mass of 2 kg on its rim."""
    system = mse.MSystem("wheel", gravity=(0, 0, -9.81))
    body = system.add(mse.RigidBody("wheel", mass=1.0, inertia=0.5))
    system.add(mse.Revolute("crank", axis=(0, 1, 0), motor=motor), between=(body, system.ground))
    if mass_at:
        system.clamp(body.frame(0), system.add(mse.RigidBody("weight", mass=2.0)).frame(0), Pose.dz(-mass_at))
    return system


def test_the_torque_of_a_crank_is_that_of_the_equations_of_motion():
    motion = wheel(0.3).simulate(duration=4.0, dt=0.5, inputs={"crank.angle": lambda t: 2.0 * t**2}, rtol=1e-6)
    t = motion.time
    np.testing.assert_allclose(motion["crank.angle"], 2.0 * t**2, atol=1e-12)  # more than five turns
    torque = (0.5 + 2.0 * 0.3**2) * 4.0 + 2.0 * 9.81 * 0.3 * np.sin(2.0 * t**2)
    np.testing.assert_allclose(motion["crank.torque"], torque, atol=1e-11)
    energy = motion.energy
    np.testing.assert_allclose(energy["kinetic"], 0.5 * 0.68 * (4.0 * t) ** 2, rtol=1e-12)
    np.testing.assert_allclose(
        energy["driven"], energy["kinetic"] + energy["gravity"] - energy["gravity"][0], atol=1e-3
    )


def test_a_slider_crank_takes_its_known_torque():
    motion = book.slider_crank().simulate(duration=0.031, dt=0.031, inputs={"crank.angle": lambda t: 40 * t})
    assert motion["crank.torque"][-1] == pytest.approx(2.503218600566, abs=1e-10)


@pytest.mark.slow
def test_samples_of_a_smooth_motion_do_as_its_function():
    t = np.linspace(0.0, 1.0, 101)
    found = [
        wheel(0.3).simulate(duration=1.0, dt=0.01, inputs={"crank.angle": u}, outputs=["crank.torque"], rtol=1e-4)
        for u in (lambda t: 0.5 * np.sin(6.0 * t), 0.5 * np.sin(6.0 * t))
    ]
    np.testing.assert_allclose(found[1].values, found[0].values, atol=5e-5)
    np.testing.assert_allclose(found[1]["crank.angle"], 0.5 * np.sin(6.0 * t), atol=1e-12)


def test_a_motor_without_an_input_holds_its_position():
    system = wheel(0.3)
    system["crank"].position = 0.7
    motion = system.simulate(duration=0.1, dt=0.1)
    np.testing.assert_allclose(motion["crank.angle"], 0.7, atol=1e-14)
    from_there = system.simulate(duration=0.1, dt=0.1, inputs={"crank.angle": lambda t: 0.7 + t})
    np.testing.assert_allclose(from_there["crank.angle"], [0.7, 0.8], atol=1e-14)
    np.testing.assert_allclose(from_there.driven[:, 0], [0.7, 0.8], atol=1e-14)


def shaken(way):
    """A uniform rod of 0.4 m on a pivot that an actuator, or a slide with a motor, moves."""
    system = mse.MSystem("shaken", gravity=(0, 0, -9.81))
    inertia = book.slender(1.0, 0.4)
    rod = system.add(mse.RigidBody("rod", mass=1.0, inertia=inertia, at=Pose.dz(-0.2), frames={"top": Pose.dz(0.2)}))
    if way == "shaker.z":
        shaker = system.add(mse.PositionActuator("shaker"))
        system.clamp(system.ground, shaker.frame(1))
        pivot = shaker.frame(0)
    else:
        pivot = system.add(mse.RigidBody("block", mass=1.0, inertia=0.1))
        system.add(mse.Prismatic("slide", axis=(0, 0, 1), motor="position"), between=(pivot, system.ground))
    system.add(mse.Revolute("hinge", axis=(0, 1, 0)), between=(rod.frame("top"), pivot))
    return system


STILL = {"hinge.angle": 2.9, "hinge.angle'": 0.0}


@pytest.mark.slow
def test_a_pendulum_on_a_vibrating_pivot_swings_as_is_known():
    motion = shaken("shaker.z").simulate(
        duration=1.0, dt=1.0, inputs={"shaker.z": lambda t: 0.02 * np.sin(200 * t)}, initial=STILL, rtol=1e-9
    )
    assert motion["hinge.angle"][-1] == pytest.approx(3.58553746, abs=1e-7)
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-5


def test_an_actuator_does_as_a_driven_slide():
    motions = [
        shaken(way).simulate(duration=0.05, dt=0.05, inputs={way: lambda t: 0.02 * np.sin(200 * t)}, initial=STILL)
        for way in ("shaker.z", "slide.displacement")
    ]
    assert motions[0]["hinge.angle"][-1] == pytest.approx(motions[1]["hinge.angle"][-1], abs=1e-9)
    block = 200.0**2 * 0.02 * np.sin(10.0) - 9.81  # a = -w^2 u of the block of 1 kg
    assert motions[1]["slide.force"][-1] + block == pytest.approx(motions[0]["shaker.z_force"][-1], abs=1e-6)


def test_an_actuator_places_its_frame_by_translation_and_rotation_vector():
    system = mse.MSystem("hand", gravity=(0, 0, 0))
    hand = system.add(mse.PositionActuator("hand"))
    seat = Pose.dxdydz(1, 2, 3) @ Pose.rotation((0.3, 0.2, -0.5))
    system.clamp(system.ground, hand.frame(1), seat)
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=(0.1, 0.2, 0.3)))
    system.clamp(hand.frame(0), body.frame(0))
    probe = system.add(mse.PositionSensor("probe"))
    system.clamp(body.frame(0), probe.frame(0))
    system.clamp(system.ground, probe.frame(1), seat)
    inputs = {"hand.x": lambda t: t, "hand.ax": lambda t: 2 * t, "hand.ay": np.sin, "hand.az": lambda t: -(t**2)}
    motion = system.simulate(duration=0.8, dt=0.4, inputs=inputs, rtol=1e-6)
    u, w = np.array([0.8, 0, 0]), np.array([1.6, np.sin(0.8), -0.64])
    there = seat @ Pose(u, np.eye(3)) @ Pose.rotation(w)
    found = motion.at(0.8).poses["body.center"]
    np.testing.assert_allclose(found.o, there.o, atol=1e-13)
    np.testing.assert_allclose(found.U, there.U, atol=1e-13)
    np.testing.assert_allclose(
        [motion[f"probe.{a}"][-1] for a in ("x", "y", "z", "ax", "ay", "az")], [*u, *w], atol=1e-12
    )
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-6


def test_an_actuator_turns_beyond_whole_turns():
    system = mse.MSystem("table", gravity=(0, 0, 0))
    table = system.add(mse.PositionActuator("table"))
    system.clamp(system.ground, table.frame(1))
    system.clamp(table.frame(0), system.add(mse.RigidBody("body", mass=1.0, inertia=0.1)).frame(0))
    motion = system.simulate(duration=2.0, dt=1.0, inputs={"table.az": lambda t: 5.0 * t**2}, rtol=1e-6)
    np.testing.assert_allclose(motion["table.az"], [0.0, 5.0, 20.0], atol=1e-11)


def test_a_load_cell_and_a_hinge_are_read_in_motion():
    """A lift that speeds up by 2 m/s2 with 3 kg on a load cell."""
    system = mse.MSystem("lift", gravity=(0, 0, -9.81))
    floor = system.add(mse.RigidBody("floor", mass=1.0, inertia=0.1))
    system.add(mse.Prismatic("lift", axis=(0, 0, 1), motor="position"), between=(floor, system.ground))
    cell, load = system.add(mse.ForceSensor("cell")), system.add(mse.RigidBody("load", mass=3.0, inertia=0.1))
    system.clamp(load.frame(0), cell.frame(0))
    system.clamp(floor.frame(0), cell.frame(1))
    motion = system.simulate(
        duration=0.2, dt=0.1, inputs={"lift.displacement": lambda t: t**2}, outputs=["cell.fz", "lift.fz", "lift.force"]
    )
    np.testing.assert_allclose(motion["cell.fz"], -3.0 * 11.81, rtol=1e-12)
    np.testing.assert_allclose(motion["lift.force"], 4.0 * 11.81, rtol=1e-12)
    np.testing.assert_allclose(motion["lift.fz"], motion.at(0.1).reactions["lift"][2], rtol=1e-12)


def test_a_driven_run_goes_on_to_the_bit_and_another_lets_go():
    system, turn = shaken("shaker.z"), {"shaker.z": lambda t: 0.02 * np.sin(20 * t)}
    whole = system.simulate(duration=0.2, dt=0.05, inputs=turn, initial=STILL, rtol=1e-6)
    half = system.simulate(duration=0.1, dt=0.05, inputs=turn, initial=STILL, rtol=1e-6)
    rest = system.simulate(duration=0.1, dt=0.05, inputs=turn, start=half.final_state, rtol=1e-6)
    np.testing.assert_array_equal(rest.values, whole.values[2:])
    system = shaken("slide.displacement")
    driven = system.simulate(duration=0.1, dt=0.05, inputs={"slide.displacement": np.sin}, initial=STILL)
    system["slide"].motor = "none"
    free = system.simulate(duration=0.1, dt=0.05, start=driven.final_state)
    for name in ("slide.displacement", "slide.displacement'", "hinge.angle'"):
        assert free[name][0] == pytest.approx(driven[name][-1], abs=1e-12)


# -- refusals -----------------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda t: t if t < 0.03 else t + 0.5, r"'crank.angle' jumps at t = 0.03 s: from 0.029999.* to 0.53"),
        (lambda t: t if t < 0.03 else 0.06 - t, r"'crank.angle' has a kink at t = 0.03 s: its rate goes from 1 to -1"),
    ],
)
def test_jumps_and_kinks_are_refused_with_both_values(function, said):
    with pytest.raises(MotionError, match=said) as caught:
        wheel().simulate(duration=0.1, dt=0.01, inputs={"crank.angle": function}, rtol=1e-4)
    assert caught.value.motion.time[-1] == pytest.approx(0.03, abs=0.011)


@pytest.mark.parametrize(("name", "factor"), [("BESIDE", 0.1), ("BESIDE", 10.0), ("_JUMP", 0.5), ("_JUMP", 5.0)])
def test_where_functions_are_asked_beside_a_jump_decides_nothing(monkeypatch, name, factor):
    monkeypatch.setattr(prescribed, name, factor * getattr(prescribed, name))
    signal = prescribed.Signal("system", "crank.angle", lambda t: np.sin(t) if t < 0.03 else 0.5, np.zeros(2))
    assert "jumps at t = 0.03 s: from 0.02999" in signal.broken(0.03)
    smooth = prescribed.Signal("system", "crank.angle", lambda t: np.sin(300.0 * t), np.zeros(2))
    assert not any(smooth.broken(t) for t in np.linspace(0.0, 5.0, 200))


T = np.linspace(0.0, 1.0, 61)


@pytest.mark.parametrize("factor", [1 / 3, 1.0, 3.0])
def test_samples_with_jumps_and_kinks_are_told_from_smooth_ones(monkeypatch, factor):
    monkeypatch.setattr(prescribed, "_SMOOTH", factor * prescribed._SMOOTH)
    for bad in (np.where(T < 0.5, 0.0, 1.0), np.abs(T - 0.5)):
        with pytest.raises(
            ModelError, match=r"input 'a.b' is no smooth motion at t = 0\.[45].* expected samples without"
        ):
            prescribed.Signal("system", "a.b", bad, T)
    for good in (np.sin(4 * np.pi * T), np.exp(-3.0 * T), 2.0 * T, T**2 * (3.0 - 2.0 * T)):
        prescribed.Signal("system", "a.b", good, T)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (math.sin, r"input 'crank.angle' prescribes a motion.*it makes a value a plain number.*np\.sin"),
        (
            lambda t: np.interp(t, [0, 1], [0, 1]),
            r"cannot \(it uses numpy\.interp; .*np\.where; write it with these, or give samples",
        ),
        (
            lambda t: np.sqrt(t),
            r"'crank.angle' with rate and acceleration at t = 0 s is '0, inf.*expected finite numbers",
        ),
        (lambda t: 1.0 / 0.0, "ZeroDivisionError"),
        (
            CubicSpline(T, T**2),
            r"cannot \(it uses what takes plain numbers only: .*np\.where; write it with these, or give samples",
        ),
        (lambda t: np.array([t]), r"'crank.angle' at t = 0 s is array\(\[0\.\]\); expected a finite number"),
        (
            [1.0, 2.0],
            r"input 'crank.angle' has shape \(2,\); expected three finite numbers; one value for each of the 3 times",
        ),
        ([1.0, 2.0, 3.0], "has 3 samples; expected at least 8"),
        ("fast", "input 'crank.angle' is 'fast'"),
    ],
)
def test_what_is_no_motion_is_refused(value, said):
    with pytest.raises(ModelError, match=said):
        wheel().simulate(duration=1.0, dt=0.5, inputs={"crank.angle": value})


def test_a_beginning_unlike_the_prescribed_motion_is_refused():
    inputs = {"crank.angle": lambda t: 0.3 + t}
    with pytest.raises(ModelError, match=r"initial 'crank.angle' differs from its input, which is 0\.3 at t = 0 s"):
        wheel().simulate(duration=1.0, dt=0.5, inputs=inputs, initial={"crank.angle": 1.0})
    with pytest.raises(ModelError, match=r'initial "crank.angle\'" differs from its input, which is 1 at'):
        wheel().simulate(duration=1.0, dt=0.5, inputs=inputs, initial={"crank.angle'": 0.0})
    system = wheel()
    with pytest.raises(ModelError, match=r"input 'crank.angle' is 0\.3 at t = 0 s, where it is at 0 so far; expected"):
        system.simulate(duration=1.0, dt=0.5, inputs=inputs, start=system.find_working_point())


POLES = [
    (lambda t: 1.0 / (1.0 - t), "1"),
    (lambda t: np.tan(t), r"1\.5708"),
    (lambda t: (1.0231 - t) ** -2.0, r"1\.0231"),
]


def slid(function, method=None):
    s = mse.MSystem("pole", gravity=(0, 0, 0))
    cart = s.add(mse.RigidBody("cart", mass=1.0, inertia=0.1))
    s.add(mse.Prismatic("rail", axis=(1, 0, 0), motor="position"), between=(cart, s.ground))
    inputs = {"rail.displacement": function}
    return s.simulate(duration=2.0, dt=0.1, inputs=inputs, method=method, rtol=1e-6, progress=False)


@pytest.mark.parametrize("method", ["explicit", "implicit"])
@pytest.mark.parametrize(("function", "at"), POLES)
def test_a_motion_with_a_pole_is_named_with_its_time(function, at, method):
    """Implicit steps of such a slide are so long that they pass it."""
    with pytest.raises(
        MotionError, match=rf"input 'rail\.displacement' grows without limit towards t = {at} s"
    ) as caught:
        slid(function, method)
    motion = caught.value.motion
    np.testing.assert_allclose(motion["rail.displacement"], function(motion.time), rtol=1e-9)


def test_a_pulse_from_nothing_is_no_pole():
    pulse = prescribed.Signal("pulse", "u", lambda t: 1e-2 * np.exp(-(((t - 1.02) / 2e-3) ** 2)), np.zeros(0))
    assert pulse.pole(0.9, 3.0) == ""
    for at in (0.1, 1.0 / 3.0, 0.1 + 1e-12):
        pole = prescribed.Signal("pole", "u", lambda t, at=at: 1.0 / (t - at), np.zeros(0))
        assert "grows without limit towards" in pole.pole(0.0, 0.2 if at < 0.3 else 1.0)


@pytest.mark.parametrize("factor", [1e-2, 1e2])
def test_growth_that_only_poles_have_is_far_from_both(monkeypatch, factor):
    monkeypatch.setattr(prescribed, "_POLE", factor * prescribed._POLE)
    with pytest.raises(MotionError, match="grows without limit towards"):
        slid(POLES[0][0])
    for method in ("explicit", "implicit"):
        assert slid(lambda t: 1e-3 / (1e-3 + (t - 1.0) ** 2), method).time[-1] == 2.0
        assert slid(lambda t: np.sin(20.0 * t), method).time[-1] == 2.0


def test_the_force_that_a_driven_joint_takes_does_its_work():
    """m a, which drives the same joint to the same place as a force; the reaction j.fx is opposite."""

    def slide(motor: str) -> mse.MSystem:
        system = mse.MSystem("slide", gravity=(0, 0, 0))
        block = system.add(mse.RigidBody("block", mass=2.0, inertia=0.1))
        system.add(mse.Joint("j", free=("x",), motor=motor), between=(block, system.ground))
        return system

    driven = slide("position").simulate(duration=1.0, dt=0.25, inputs={"j.x": lambda t: t**2 / 2})
    assert driven.outputs == ("j.x", "j.x'", "j.x_force")
    np.testing.assert_allclose(driven["j.x_force"], 2.0, rtol=1e-9)
    pushed = slide("force").simulate(duration=1.0, dt=0.25, inputs={"j.fx": driven["j.x_force"][-1]})
    np.testing.assert_allclose(pushed["j.x"], driven["j.x"], atol=1e-9)
    assert driven.energy["driven"][-1] == pytest.approx(1.0, rel=1e-9)
    asked = slide("position").simulate(duration=1.0, dt=0.25, inputs={"j.x": lambda t: t**2 / 2}, outputs=["j.fx"])
    np.testing.assert_allclose(asked["j.fx"], -2.0, rtol=1e-9)


def test_reactions_are_read_beside_a_joint_that_holds_nothing():
    system = mse.MSystem("floating", gravity=(0, 0, -9.81))
    free, held = (
        system.add(mse.RigidBody(n, mass=1.0, inertia=0.1, at=Pose.dx(x))) for n, x in (("a", 0.0), ("b", 1.0))
    )
    system.add(mse.Joint("free", free=("x", "y", "z", "ax", "ay", "az")), between=(free, system.ground))
    system.add(mse.Revolute("hinge"), between=(held, system.ground))
    motion = system.simulate(duration=0.1, dt=0.1, outputs=["hinge.fz"])
    np.testing.assert_allclose(np.abs(motion["hinge.fz"]), 9.81, rtol=1e-9)


def test_a_function_is_recorded_once_for_each_way_through_its_conditions(monkeypatch):
    made = []
    monkeypatch.setattr(prescribed, "Record", lambda point: made.append(point) or Record(point))

    def given(t):
        return t**3 if t < 1.0 else 3.0 * t**2 - 3.0 * t + 1.0

    times = np.linspace(0.0, 2.0, 41)
    signal = Signal("system", "slide", given, np.zeros(0))
    found = np.array([signal.at(t) for t in times.tolist()])
    early = times < 1.0
    np.testing.assert_allclose(
        found[early], np.stack([times**3, 3.0 * times**2, 6.0 * times], axis=1)[early], atol=1e-14
    )
    late = np.stack([3.0 * times**2 - 3.0 * times + 1.0, 6.0 * times - 3.0, np.full(41, 6.0)], axis=1)
    np.testing.assert_allclose(found[~early], late[~early], atol=1e-14)
    assert len(made) == 2
    alone = [Signal("system", "slide", given, np.zeros(0)).at(t) for t in times.tolist()]
    np.testing.assert_array_equal(found, alone)  # to the bit, whatever was recorded before


def test_a_function_that_reads_another_number_than_before_is_recorded_anew():
    factor = [2.0]
    signal = Signal("system", "slide", lambda t: factor[0] * np.sin(t), np.zeros(0))
    assert signal.at(0.3) == pytest.approx((2.0 * np.sin(0.3), 2.0 * np.cos(0.3), -2.0 * np.sin(0.3)))
    factor[0] = 3.0
    assert signal.at(0.7) == pytest.approx((3.0 * np.sin(0.7), 3.0 * np.cos(0.7), -3.0 * np.sin(0.7)))
