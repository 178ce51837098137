"""Forces that are functions of time in large motions."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import mse
from mse import ModelError, Pose, UnknownNameError


def slider(stiffness: float = 90.0) -> mse.MSystem:
    """2 kg on a slide along x with a spring, pushed by an actuator at a place beside it."""
    system = mse.MSystem("slider", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=2.0, inertia=0.1))
    slide = mse.Prismatic("slide", axis=(1, 0, 0), stiffness=stiffness)
    system.add(slide, between=(body, system.ground))
    push = system.add(mse.ForceActuator("push"))
    system.clamp(system.ground, push.frame(0))
    system.clamp(body.frame(0), push.frame(1), Pose.dy(0.3))
    return system


def test_a_resonant_force_makes_a_swing_that_grows():
    """x = F t sin(w t)/(2 m w) for F cos(w t) at the frequency w of a mass on a spring."""
    w = np.sqrt(45.0)
    motion = slider().simulate(duration=2.0, dt=0.1, inputs={"push.fx": lambda t: 3.0 * np.cos(w * t)}, rtol=1e-11)
    t = motion.time
    np.testing.assert_allclose(motion["slide.displacement"], 3.0 * t * np.sin(w * t) / (4.0 * w), atol=1e-10)
    np.testing.assert_allclose(motion.driven[:, 0], 3.0 * np.cos(w * t), rtol=1e-14)
    assert motion.inputs == ("push.fx",) and motion.input_units == ("N",)
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-9
    assert motion.energy["driven"][-1] == pytest.approx(motion.energy["kinetic"][-1] + motion.energy["elastic"][-1])


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_a_step_may_have_many_samples(method):
    """They do not depend on how many are found together with the step."""
    given = {"duration": 1.0, "inputs": {"push.fx": np.sin}, "method": method, "rtol": 1e-7, "progress": False}
    system = slider(stiffness=2.0)
    few, many = (system.simulate(dt=dt, **given) for dt in (0.25, 0.25 / 128))
    assert len(many.time) > 30 * many.steps and few.steps == many.steps
    np.testing.assert_array_equal(few.values, many.values[::128])
    for k in (5, 170, 411):
        assert few.at(many.time[k]).joint_coordinates["slide.displacement"] == many["slide.displacement"][k]


class Own(mse.MObject):
    """A spring without a kernel and without a record, which raises an ``error`` where it is shorter than a length (m)."""

    frames, error, least = 2, ValueError, -np.inf

    def energy(self, frames, q):
        self.asked = getattr(self, "asked", 0) + 1  # of what an element keeps, there is no record
        x = frames[0].o[0] - frames[1].o[0]
        if x < self.least:
            raise self.error("too short")
        return 45.0 * x**2


def test_elements_in_python_act_in_compiled_steps():
    """The spring is the same as the one of a slide; nobody looks at these steps."""
    system = slider(stiffness=0.0)
    system.add(Own("own"), between=(system["body"], system.ground))
    given = {"duration": 1.0, "dt": 0.1, "initial": {"slide.displacement": 0.2}, "rtol": 1e-10}
    one, two = (s.simulate(**given, inputs={"push.fx": 3.0}) for s in (system, slider()))
    np.testing.assert_allclose(one["slide.displacement"], two["slide.displacement"], atol=1e-10)
    np.testing.assert_allclose(one.energy["driven"], two.energy["driven"], atol=1e-9)
    assert np.abs(one.energy["unaccounted"]).max() < 1e-8


@pytest.mark.parametrize(("error", "told"), [(ValueError, mse.MotionError), (KeyboardInterrupt, mse.Interrupted)])
def test_what_python_raises_in_compiled_steps_ends_the_motion(monkeypatch, error, told):
    """x = 0.2 cos(w t) with w^2 = 45 is below 0.05 from t = 0.1965 s on."""
    monkeypatch.setattr(Own, "error", error)
    monkeypatch.setattr(Own, "least", 0.05)
    system = slider(stiffness=0.0)
    system.add(Own("own"), between=(system["body"], system.ground))
    with pytest.raises(told, match="too short" if error is ValueError else "interrupted at t = 0.1") as caught:
        system.simulate(duration=1.0, dt=0.01, initial={"slide.displacement": 0.2})
    motion = caught.value.motion if error is ValueError else caught.value.result
    assert 0.1 < motion.time[-1] < 0.2
    np.testing.assert_allclose(motion["slide.displacement"], 0.2 * np.cos(np.sqrt(45.0) * motion.time), atol=1e-8)


def test_a_constant_torque_speeds_a_wheel_up():
    system = mse.MSystem("wheel", gravity=(0, 0, -9.81))
    hinge = mse.Revolute("hinge", axis=(0, 0, 1), motor="force")
    system.add(hinge, between=(system.add(mse.RigidBody("wheel", mass=1.0, inertia=0.5)), system.ground))
    motion = system.simulate(duration=4.0, dt=1.0, inputs={"hinge.torque": 2.0})
    np.testing.assert_allclose(motion["hinge.angle"], 2.0 * motion.time**2, atol=1e-9)  # beyond whole turns


def test_a_force_that_turns_with_its_arm_is_a_constant_torque():
    """``angle = F r t^2/(2 J)`` of a wheel that is pushed across an arm r, by a force along the axes of the wheel."""
    system = mse.MSystem("wheel", gravity=(0, 0, 0))
    wheel = system.add(mse.RigidBody("wheel", mass=1.0, inertia=0.5, frames={"rim": Pose.dx(0.3)}))
    system.add(mse.Revolute("hinge", axis=(0, 0, 1)), between=(wheel, system.ground))
    push = system.add(mse.ForceActuator("push"))
    system.clamp(system.ground, push.frame(0))
    system.clamp(wheel.frame("rim"), push.frame(1))
    motion = system.simulate(duration=2.0, dt=1.0, inputs={"push.fy": 2.0})
    np.testing.assert_allclose(motion["hinge.angle"], 0.5 * 2.0 * 0.3 / 0.5 * motion.time**2, atol=1e-9)


def test_small_motions_agree_with_the_linear_model():
    system = slider()
    dt, force = 0.02, lambda t: 1e-3 * np.sin(11.0 * t)
    motion = system.simulate(duration=1.0, dt=dt, inputs={"push.fx": force})
    linear = system.find_working_point().linearize()
    same = linear.simulate(duration=1.0, dt=dt, inputs={"push.fx": force})
    np.testing.assert_allclose(motion["slide.displacement"], same["slide.displacement"], atol=1e-9)


def test_a_run_with_inputs_goes_on_to_the_bit_and_with_others_begins_anew():
    system, force = slider(), np.sin
    whole = system.simulate(duration=1.0, dt=0.25, inputs={"push.fx": force}, rtol=1e-6)
    half = system.simulate(duration=0.5, dt=0.25, inputs={"push.fx": force}, rtol=1e-6)
    rest = system.simulate(duration=0.5, dt=0.25, start=half.final_state, inputs={"push.fx": force}, rtol=1e-6)
    np.testing.assert_array_equal(rest.values, whole.values[2:])
    alone = system.simulate(duration=0.5, dt=0.25, start=half.final_state, rtol=1e-6)
    assert alone["slide.displacement"][0] == half["slide.displacement"][-1]
    assert alone["slide.displacement"][-1] != rest["slide.displacement"][-1]
    assert np.abs(alone.energy["unaccounted"]).max() < 1e-6


def test_pieces_that_end_at_decimal_times_are_those_of_one_run_to_the_bit():
    system = slider()
    whole = system.simulate(duration=0.7, dt=0.1, inputs={"push.fx": np.sin}, rtol=1e-6)
    piece = system.simulate(duration=0.3, dt=0.1, inputs={"push.fx": np.sin}, rtol=1e-6)
    rest = system.simulate(duration=0.4, dt=0.1, start=piece.final_state, inputs={"push.fx": np.sin}, rtol=1e-6)
    np.testing.assert_array_equal(rest.time, whole.time[3:])
    np.testing.assert_array_equal(rest.values, whole.values[3:])


def test_forces_are_asked_at_no_time_before_a_run():
    system, asked = slider(), []

    def force(t):
        asked.append(np.min(t))
        return np.sin(t)

    first = system.simulate(duration=0.5, dt=0.25, initial={"slide.displacement'": 0.1})
    later = system.simulate(duration=0.5, dt=0.25, start=first.final_state, inputs={"push.fx": force})
    assert later.energy["driven"][-1] != 0.0
    assert min(asked) == 0.5


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"push.fx": [1.0, 2.0]}, ["input 'push.fx'", "a number or a function of time", "np.interp"]),
        ({"push.fx": lambda t: [t]}, ["input 'push.fx' at t = 0 s", "expected a finite number"]),
        ({"push.fx": lambda t: 1.0 / t}, ["input 'push.fx'", "ZeroDivisionError"]),
        ([1.0], ["inputs", "forces and motions by input"]),
    ],
)
def test_what_is_no_force_is_refused(inputs, said):
    with pytest.raises(ModelError) as error:
        slider().simulate(duration=1.0, dt=0.5, inputs=inputs)
    assert all(part in str(error.value) for part in said), str(error.value)


def test_unknown_inputs_are_refused():
    with pytest.raises(UnknownNameError, match=r"no input 'push.fy2' \(did you mean 'push.fy'"):
        slider().simulate(duration=1.0, dt=0.5, inputs={"push.fy2": 1.0})


@pytest.mark.parametrize("store", [mse.Resistor("load", resistance=10.0), mse.Capacitor("load", capacitance=1e-6)])
def test_current_sources_keep_their_current_in_motion(store):
    """From a working point, from nothing, beside an input, and on from a state with another current."""
    system = mse.MSystem("circuit")
    source = system.add(mse.CurrentSource("source", current=1e-3))
    load = system.add(store.copy("load"))
    system.connect("source.+", "load.+")
    system.connect("source.-", "load.-", system.earth)
    run = partial(system.simulate, duration=1e-3, dt=1e-4, progress=False)
    starts = [run(), run(inputs={"source.current": 2e-3})]
    if isinstance(load, mse.Resistor):
        starts.append(run(start=system.find_working_point()))
    for motion, current in zip(starts, (1e-3, 3e-3, 1e-3), strict=False):
        np.testing.assert_allclose(motion["load.charge'"], -current, rtol=1e-9)
        np.testing.assert_allclose(motion["load.charge"], -current * motion.time, rtol=1e-9, atol=1e-18)
    whole, rest = run(duration=2e-3), run(start=starts[0].final_state)
    np.testing.assert_array_equal(rest["load.charge"], whole["load.charge"][10:])
    source.current = -2e-3
    rest = run(start=starts[0].final_state)
    np.testing.assert_allclose(rest["load.charge"], -1e-6 + 2e-3 * (rest.time - 1e-3), rtol=1e-9, atol=1e-18)
    assert not rest.notes


def test_the_current_of_a_source_is_offered_and_its_charge_is_not():
    system = mse.MSystem("circuit")
    source = system.add(mse.CurrentSource("source", current=1e-3))
    load = system.add(mse.Resistor("load", resistance=5.0))
    system.connect(source.port("+"), load.port("+"))
    system.connect(source.port("-"), load.port("-"), system.earth)
    run = partial(system.simulate, duration=1e-3, dt=1e-4, progress=False)
    with pytest.raises(UnknownNameError, match=r"no input 'source.curent' \(did you mean 'source.current'\?\)"):
        run(inputs={"source.curent": 1e-3})
    unknown = r"no input 'source.charge' \(did you mean 'source.current'\?\)"
    with pytest.raises(UnknownNameError, match=unknown):
        run(inputs={"source.charge": 0.0})
    with pytest.raises(UnknownNameError, match=unknown):
        system.step_loop(dt=1e-4, inputs=["source.charge"])
