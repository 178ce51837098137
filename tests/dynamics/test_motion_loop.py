"""Large motions sample by sample: as in one run while forces stay, and as in runs one after the other where they change."""

import numpy as np
import pytest
import textbook as book

import mse
from mse import Pose

START = {"hinge.angle": 0.4, "rail.displacement": 0.1}


def test_a_held_force_gives_the_motion_of_one_run_to_the_bit():
    system = book.crane()
    motion = system.simulate(duration=0.5, dt=0.1, initial=START, inputs={"coil.fx": 3.0}, progress=False)
    loop = system.step_loop(dt=0.1, inputs=["coil.fx"], initial=START)
    loop["coil.fx"] = 3.0
    rows = [loop.read()]
    while loop.time < 0.45:
        loop.step()
        rows.append(loop.read())
    assert np.array_equal(np.array(rows), motion.values)
    assert loop["hinge.angle"] == motion["hinge.angle"][-1] and loop["coil.fx"] == 3.0
    later = system.simulate(duration=0.1, dt=0.1, start=loop.state(), inputs={"coil.fx": 3.0}, progress=False)
    assert later.time[0] == loop.time and later.values[0] == pytest.approx(rows[-1], abs=1e-12)


def test_forces_that_change_begin_a_step():
    system, forces = book.crane(), (4.0, -7.0, 0.0)
    loop = system.step_loop(dt=0.2, inputs=["coil.fx", "coil.fz"], initial=START, rtol=1e-11)
    state = None
    for force in forces:
        loop.set([force, 0.0])
        loop.step()
        more = {"initial": START} if state is None else {"start": state}
        motion = system.simulate(duration=0.2, dt=0.2, inputs={"coil.fx": force}, rtol=1e-11, progress=False, **more)
        state = motion.final_state
    assert loop.time == pytest.approx(0.6)
    assert loop.read() == pytest.approx(motion.values[-1], abs=1e-9)
    assert "coil.fx" in str(loop) and "hinge.angle" in str(loop)


def test_a_loop_reads_the_force_of_a_sensor():
    """A body of 1 kg falls on a spring: ``F = m g (1 - cos(w t))`` through the sensor that holds it."""
    system = mse.MSystem("scale", gravity=(0, 0, -9.81))
    plate = system.add(mse.RigidBody("plate", mass=0.0, inertia=0.0))
    ball = system.add(mse.RigidBody("ball", mass=1.0, inertia=0.1))
    system.add(mse.Prismatic("guide", axis=(0, 0, 1), stiffness=100.0), between=(plate, system.ground))
    system.add(mse.ForceSensor("cell"), between=(plate, ball))
    loop = system.step_loop(dt=0.05, outputs=["cell.fz"])
    for _ in range(4):
        loop.step()
        assert abs(abs(loop["cell.fz"]) - 9.81 * (1.0 - np.cos(10.0 * loop.time))) < 1e-6


def test_what_a_loop_refuses_is_named():
    system = book.crane()
    with pytest.raises(mse.UnknownNameError, match=r"coil\.fx"):
        system.step_loop(dt=0.1, inputs=["coil.f"])
    loop = system.step_loop(dt=0.1, inputs=["coil.fx"])
    with pytest.raises(mse.ModelError, match=r"inputs name 'coil\.fx' twice; expected each input once"):
        book.crane().step_loop(dt=0.1, inputs=["coil.fx", "coil.fz", "coil.fx"])
    with pytest.raises(mse.UnknownNameError, match=r"hinge\.angle"):
        loop["hinge.angel"]
    with pytest.raises(mse.ModelError, match=r"coil\.fx.*t = 0 s"):
        loop["coil.fx"] = np.nan
    with pytest.raises(mse.ModelError, match=r"shape \(2,\); expected \(1,\)"):
        loop.set([1.0, 2.0])
    system["rail"].motor = "position"
    with pytest.raises(mse.ModelError, match=r"rail\.displacement.*simulate"):
        system.step_loop(dt=0.1, inputs=["rail.displacement"])


@pytest.mark.slow
def test_a_loop_steps_by_the_method_of_one_run():
    s = mse.MSystem("soft", gravity=(0, 0, 0))
    mass, light = (
        s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1)),
        s.add(mse.RigidBody("light", inertia=0.0, mass=0.0)),
    )
    s.add(mse.Prismatic("one", axis=(1, 0, 0), stiffness=2.0), between=(light, s.ground))
    s.add(mse.Prismatic("two", axis=(1, 0, 0), stiffness=2.0), between=(mass, light))
    initial = {"one.displacement": 0.1, "two.displacement": 0.1}
    motion = s.simulate(duration=0.2, dt=0.1, initial=initial, rtol=1e-7, progress=False)
    assert motion.method == "implicit"
    loop = s.step_loop(dt=0.1, initial=initial, rtol=1e-7)
    loop.step()
    loop.step()
    assert np.array_equal(loop.read(), motion.values[-1])
    assert loop["two.displacement"] == pytest.approx(0.1 * np.cos(0.2), abs=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s: s.add(mse.RigidBody("other", mass=1.0)),
            "its objects or how they are connected changed at t = 0.1 s",
        ),
        (lambda s: setattr(s["load"], "mass", 3.0), "parameters of load changed at t = 0.1 s"),
        (lambda s: setattr(s, "gravity", (0, 0, -1.0)), "changed at t = 0.1 s"),
    ],
)
def test_a_system_that_changes_under_a_loop_is_refused(change, message):
    system = book.crane()
    loop = system.step_loop(dt=0.1, initial=START)
    loop.step()
    change(system)
    with pytest.raises(mse.ModelError, match=message):
        loop.step()
    assert loop.time == pytest.approx(0.1)


def test_gears_that_stay_as_they_were_go_on_to_the_bit():
    s, middle = mse.MSystem("drive", gravity=(0, 0, 0)), {"one": 0.0, "two": 1.0}
    for name, x in middle.items():
        wheel = s.add(mse.RigidBody(name, mass=1.0, inertia=0.1, at=Pose.dx(x)))
        hinge = s.add(mse.Revolute(f"{name}_hinge", stiffness=2.0 if name == "one" else 0.0))
        s.clamp(wheel, hinge.frame(0))
        s.clamp(s.ground, hinge.frame(1), Pose.dx(x))
    s.add(mse.Gear("gear", joints={"one_hinge": 1.0, "two_hinge": -0.5}))
    given = {"initial": {"one_hinge.angle": 0.3}, "rtol": 1e-9}
    motion = s.simulate(duration=0.4, dt=0.1, progress=False, **given)
    # the second wheel turns twice as far
    assert motion["one_hinge.angle"] == pytest.approx(0.3 * np.cos(2.0 * motion.time), abs=1e-8)
    loop, rows = s.step_loop(dt=0.1, **given), []
    while loop.time < 0.35:
        loop.step()
        rows.append(loop.read())
    assert np.array_equal(rows, motion.values[1:])
    half = s.simulate(duration=0.2, dt=0.1, progress=False, **given)
    rest = s.simulate(duration=0.2, dt=0.1, start=half.final_state, rtol=1e-9, progress=False)
    assert np.array_equal(rest.values, motion.values[2:])
    s["two_hinge"].axis = (0, 0, -1)  # turns count the other way, and the gear has to follow
    with pytest.raises(mse.ModelError, match="changed at"):
        loop.step()
    other = s.simulate(duration=0.1, dt=0.1, progress=False, **given)
    spin = other.at(0.1).velocities
    assert spin["two.center"][5] == pytest.approx(-2.0 * spin["one.center"][5], rel=1e-9)
