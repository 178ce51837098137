"""Bad input is refused by name: each message holds the object, the value, what was expected and what to do."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import mse
from mse import Pose
from mse.elements.base import FramePose
from mse.errors import (
    ImproperModelError,
    ModelError,
    MseError,
    SingularResponseError,
    UnknownNameError,
    WorkingPointError,
)


class refused:
    """``with refused(ModelError, "word", ...)``: that error is raised and its one-line message holds all words."""

    def __init__(self, error, *words):
        self.error, self.words = error, words

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        assert kind is not None, f"nothing was refused; expected {self.error.__name__}"
        if not issubclass(kind, MseError):
            return False
        assert kind is self.error, f"{kind.__name__}: {value}"
        self.message = str(value)
        for word in self.words:
            assert word in self.message
        assert "\n" not in self.message
        return True


def pendulum(**parameters) -> mse.MSystem:
    """One kilogram on a meter of steel wire."""
    system = mse.MSystem("pendulum", **parameters)
    system.add(mse.Wire("wire", length=1.0, young_modulus=2e11, poisson_ratio=0.3, radius=2e-4))
    system.add(mse.RigidBody("mass", mass=1.0, inertia=0.01, at=Pose.dz(-1.0), frames={"hook": Pose.dz(0.05)}))
    system.clamp("ground", "wire.1")
    system.clamp("wire.0", "mass.hook")
    return system


def driven(**body) -> mse.MSystem:
    """A pendulum on a spring, hung from a position actuator and watched by a position sensor."""
    system = mse.MSystem("driven")
    system.add(mse.PositionActuator("piezo"))
    system.add(mse.Spring("spring", length=1.0, stiffness=1e3))
    system.add(mse.RigidBody("mass", **({"mass": 1.0, "inertia": 0.01, "at": Pose.dz(-1.01)} | body)))
    system.add(mse.PositionSensor("probe"))
    system.clamp("ground", "piezo.1")
    system.clamp("piezo.0", "spring.1")
    system.clamp("spring.0", "mass.center")
    system.clamp("mass.center", "probe.0")
    system.clamp("ground", "probe.1")
    return system


@pytest.fixture(scope="module")
def linear():
    return driven().find_working_point().linearize()


def table() -> mse.MSystem:
    """A table top on a leg without vertical stiffness: it falls for ever."""
    system = mse.MSystem("table")
    system.add(mse.Bushing("leg", stiffness=(10, 10, 0, 1, 1, 1)))
    system.add(mse.RigidBody("top", mass=1.0, inertia=1.0))
    system.clamp("ground", "leg.1")
    system.clamp("leg.0", "top.center")
    return system


def vane() -> mse.MSystem:
    """A vane on an axle that drives it round with a constant torque."""
    system = mse.MSystem("vane", gravity=(0, 0, 0))
    system.add(mse.Bushing("axle", stiffness=(10, 10, 10, 1, 1, 0), preload=(0, 0, 0, 0, 0, 0.5)))
    system.add(mse.RigidBody("rotor", mass=1.0, inertia=1.0))
    system.clamp("ground", "axle.1")
    system.clamp("axle.0", "rotor.center")
    return system


def oscillator() -> mse.MSystem:
    """Body of 1 kg on 100, 200, 300 N/m, pushed by a force actuator: resonances at 10, 14.1 and 17.3 rad/s."""
    system = mse.MSystem("oscillator", gravity=(0, 0, 0))
    system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
    for obj, first, second in (
        (mse.Bushing("seat", stiffness=(100, 200, 300, 4, 5, 6)), "mass.center", "ground"),
        (mse.ForceActuator("coil"), "ground", "mass.center"),
        (mse.PositionSensor("eye"), "mass.center", "ground"),
    ):
        system.add(obj)
        system.clamp(first, f"{obj.name}.0")
        system.clamp(second, f"{obj.name}.1")
    return system


# -- building -----------------------------------------------------------------------------------------------------
def test_two_objects_of_one_name():
    with refused(ModelError, "MSystem 'pendulum'", "already has a Wire named 'wire'", "choose another name"):
        pendulum().add(mse.Spring("wire"))


def test_a_name_with_a_dot():
    with refused(ModelError, "Spring: name is 'upper.wire'", "without '.', which separates subsystems"):
        mse.Spring("upper.wire")


def test_an_object_added_twice():
    system = pendulum()
    with refused(ModelError, "MSystem 'pendulum'", "'wire'"):
        system.add(system["wire"])
    with refused(ModelError, "Wire 'wire' is already part of MSystem 'pendulum'", "'wire'.copy('new name')"):
        mse.MSystem("other").add(system["wire"])


def test_something_that_is_no_object():
    with refused(
        ModelError, "MSystem 'pendulum'", "add() got 'wire'", "expected an mse object such as mse.Spring('name')"
    ):
        pendulum().add("wire")


def test_a_system_inside_itself():
    outer = mse.MSystem("outer")
    inner = outer.add(mse.MSystem("inner"))
    with refused(ModelError, "cannot contain itself"):
        outer.add(outer)
    with refused(ModelError, "MSystem 'inner'", "cannot contain itself"):
        inner.add(outer)


def test_a_frame_of_an_object_that_is_not_in_the_system():
    system = pendulum()
    with refused(ModelError, "MSystem 'pendulum'", "frame 'stray.0'", "not in the system", "add() it first"):
        system.clamp(system.ground, mse.Spring("stray").frame(0))


def test_a_frame_clamped_to_itself():
    with refused(ModelError, "MSystem 'pendulum'", "clamp() got 'mass.center' twice", "expected two different frames"):
        pendulum().clamp("mass.center", "mass.center")


def test_an_object_where_a_frame_belongs():
    system = pendulum()
    with refused(ModelError, "MSystem 'pendulum'", "clamp() got Wire 'wire'", "expected a frame, e.g. wire.frame(0)"):
        system.clamp(system.ground, system["wire"])


def test_a_clamp_without_a_pose():
    with refused(ModelError, "mass.center) got pose (0, 0, 1)", "expected a Pose"):
        pendulum().clamp("ground", "mass.center", (0, 0, 1))


@pytest.mark.parametrize(
    "path, words",
    [
        ("mas.center", ["no object 'mas'", "did you mean 'mass'?"]),
        ("mass.centre", ["RigidBody 'mass'", "no frame 'centre'", "did you mean 'center'?"]),
        ("grund", ["MSystem 'pendulum'", "no frame 'grund'", "did you mean 'ground'?"]),
        ("wire.top.end", ["'wire' is a Wire, not a system"]),
    ],
)
def test_an_unknown_path(path, words):
    with refused(UnknownNameError, *words):
        pendulum().clamp("ground", path)


# -- clamps -------------------------------------------------------------------------------------------------------
def with_plates(third: Pose | None) -> mse.MSystem:
    """Two plates clamped to the pendulum's mass, and a third clamp that closes the loop with the given pose if any."""
    system = pendulum()
    system.add(mse.RigidBody("left", mass=0.1))
    system.add(mse.RigidBody("right", mass=0.1))
    system.clamp("mass.center", "left.center", Pose.dx(-0.1))
    system.clamp("mass.center", "right.center", Pose.dx(0.1))
    if third is not None:
        system.clamp("left.center", "right.center", third)
    return system


@pytest.mark.parametrize(
    "third, mismatch",
    [(Pose.dx(0.25), "0.05 m and 0 rad"), (Pose.dx(0.2) @ Pose.rz(0.3), "0 m and 0.3 rad"),
     (Pose.dx(0.2 + 1e-8), "1e-08 m and 0 rad")],
)  # fmt: skip
def test_clamps_that_contradict(third, mismatch):
    with refused(
        ModelError, "clamps contradict each other",
        "clamp mass.center - left.center", "clamp mass.center - right.center",
        "clamp left.center - right.center", f"{mismatch} apart", "expected the same pose along both ways",
        "remove one of the clamps or correct its pose",
    ):  # fmt: skip
        with_plates(third).find_working_point()


def test_a_clamp_against_the_bodys_own_frames():
    system = pendulum()
    system.clamp("mass.center", "mass.hook", Pose.dz(0.06))
    with refused(ModelError, "frame mass.hook", "clamp mass.center - mass.hook", "0.01 m and 0 rad apart"):
        system.find_working_point()


def test_redundant_clamps_that_agree_change_nothing():
    redundant = with_plates(Pose.dx(0.2)).find_working_point()
    single = with_plates(None).find_working_point()
    assert redundant.converged and single.converged
    for name, pose in single.poses.items():
        assert redundant.poses[name].is_close(pose, 1e-12, 1e-12)
    np.testing.assert_allclose(redundant.stiffness.toarray(), single.stiffness.toarray(), rtol=1e-9, atol=1e-6)


def test_a_rounded_redundant_clamp_is_accepted():
    assert with_plates(Pose.dx(0.2 + 1e-10)).find_working_point().converged


def test_frames_clamped_to_nothing():
    system = pendulum()
    system.add(mse.Spring("stray"))
    system.add(mse.RigidBody("spare", mass=1.0))
    with refused(
        ModelError, "MSystem 'pendulum'", "clamped to nothing",
        "stray.0 (Spring), stray.1 (Spring), spare.center (RigidBody)",
        "clamp() them or remove their objects",
    ):  # fmt: skip
        system.find_working_point()


@pytest.mark.parametrize("cls, consequence", [(mse.PositionActuator, "its displacement is then blocked"),
                                              (mse.ForceSensor, "its force is then not determined")])  # fmt: skip
def test_an_actuator_or_force_sensor_beside_a_clamp(cls, consequence):
    system = pendulum()
    system.add(mse.RigidBody("stage", mass=1.0))
    system.add(cls("between"))
    system.clamp("ground", "between.1")
    system.clamp("between.0", "stage.center")
    system.find_working_point()
    system.clamp("ground", "stage.center")
    with refused(ModelError, f"{cls.__name__} 'between'", "another rigid path", consequence, "remove the other one"):
        system.find_working_point()


def test_two_rigid_objects_side_by_side():
    system = pendulum()
    system.add(mse.RigidBody("stage", mass=1.0))
    for obj in (mse.PositionActuator("piezo"), mse.ForceSensor("load")):
        system.add(obj)
        system.clamp("ground", f"{obj.name}.1")
        system.clamp(f"{obj.name}.0", "stage.center")
    with refused(
        ModelError, "another rigid path of clamps, position actuators or force sensors", "remove the other one"
    ):
        system.find_working_point()


# -- working point ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "element",
    [
        mse.Spring("line", length=1.0, stiffness=100.0),
        mse.Wire("line", length=1.0, young_modulus=2e11, poisson_ratio=0.3, radius=1e-4),
    ],
    ids=["Spring", "Wire"],
)
def test_coincident_ends(element):
    system = mse.MSystem("short")
    line = system.add(element.copy("line"))
    system.add(mse.RigidBody("mass", mass=1.0, inertia=1.0, at=Pose.dx(0.3)))
    system.clamp("ground", line.frame(1), Pose.dx(0.3))
    system.clamp(line.frame(0), "mass.center")
    with refused(
        ModelError, f"{type(element).__name__} 'line'", "0 m apart", "(0.3, 0, 0)", "direction is undefined",
        "expected ends apart, near its length of 1 m", "at=Pose",
    ):  # fmt: skip
        system.find_working_point()


@pytest.mark.parametrize("mass", [0.2e60, 1e60])
def test_a_mass_beyond_reckoning(mass):
    system = pendulum()
    wp = system.find_working_point()
    with refused(ModelError, "MSystem 'pendulum'", "mass.z", f"{9.8 * mass:.3g}", "at most 1e+60", "correct its mass"):
        wp.update({"mass.mass": mass})
    system["mass"].mass = mass
    with refused(ModelError, "MSystem 'pendulum'", "mass.z", f"{9.8 * mass:.3g}", "at most 1e+60", "correct its mass"):
        system.find_working_point()


def test_a_system_without_ground():
    system = mse.MSystem("adrift")
    system.add(mse.Spring("spring", stiffness=100.0))
    system.add(mse.RigidBody("upper", mass=1.0, inertia=1.0))
    system.add(mse.RigidBody("lower", mass=1.0, inertia=1.0, at=Pose.dz(-1.0)))
    system.clamp("upper.center", "spring.1")
    system.clamp("spring.0", "lower.center")
    with refused(ModelError, "no ground", "upper, lower would fall", "clamp to system.ground", "gravity=(0, 0, 0)"):
        system.find_working_point()
    system.parameters["gravity"] = (0, 0, 0)
    assert system.find_working_point().converged


def test_a_body_that_falls():
    system = pendulum()
    system.add(mse.RigidBody("apple", mass=0.1, inertia=1e-4))
    system.add(mse.PositionSensor("eye"))
    system.clamp("ground", "eye.1")
    system.clamp("apple.center", "eye.0")
    with refused(
        ModelError, "the system falls", "ties apple to the ground", "clamp it to what should carry it", "gravity"
    ):
        system.find_working_point()


@pytest.mark.parametrize("build, words", [
    (table, ["MSystem 'table'", "no working point after", "-9.8 N on top.z", "top.z has no stiffness",
             "give it a stiffness or remove the load"]),
    (vane, ["MSystem 'vane'", "no working point after", "0.5 N m on rotor.az", "rotor.az has no stiffness",
            "give it a stiffness or remove the load"]),
])  # fmt: skip
def test_no_equilibrium(build, words):
    with pytest.raises(WorkingPointError) as caught:
        build().find_working_point()
    for word in words:
        assert word in str(caught.value)
    result = caught.value.working_point
    assert not result.converged and not result.stable
    # The same comes back where the caller does not want an exception.
    again = build().find_working_point(throw=False)
    for wp in (result, again):
        assert not wp.converged and wp.reason
        for array in (*wp.frame_poses, wp.residual, wp.relative_residual, wp.stiffness.toarray(), wp.energy):
            assert np.all(np.isfinite(array))
        assert "NOT a working point" in repr(wp)


@pytest.mark.parametrize("build", [table, vane])
def test_an_unconverged_point_is_not_linearized(build):
    wp = build().find_working_point(throw=False)
    with refused(WorkingPointError, f"{wp.name}: not at a working point", "expected an equilibrium to linearize about"):
        wp.linearize()


def test_an_unknown_way_of_seeking():
    with refused(ModelError, "MSystem 'pendulum'", "seek is 'fast'", "expected 'stable' or 'nearest'"):
        pendulum().find_working_point(seek="fast")


def test_unknown_names_at_the_working_point():
    wp = pendulum().find_working_point()
    with refused(UnknownNameError, "no frame 'mass.centre'", "did you mean 'mass.center'?"):
        wp.poses["mass.centre"]
    with refused(UnknownNameError, "no frame 'mass'", "did you mean 'mass.center'?"):
        wp.poses["mass"]
    with refused(UnknownNameError, "'wyre'", "did you mean 'wire'?"):
        wp.tensions["wyre"]
    with refused(UnknownNameError, "'wyre'", "did you mean 'wire'?"):
        wp.forces["wyre"]


# -- frequency response -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "frequencies, words",
    [
        ([1.0, -0.5], ["frequency number 1 is -0.5 Hz", "finite frequencies from 0"]),
        ([np.nan], ["frequency number 0 is nan Hz", "expected finite"]),
        (np.inf, ["is inf Hz", "expected finite"]),
        (np.ones((2, 2)), ["shape (2, 2)", "expected one dimension"]),
        ("low", ["'low'", "expected real numbers in Hz"]),
        (1j, ["1j", "expected real numbers in Hz"]),
        (np.array([1j]), ["expected real numbers in Hz"]),
        (None, ["expected"]),
    ],
)
def test_bad_frequencies(linear, frequencies, words):
    with refused(ModelError, "driven: frequenc", *words):
        linear.frequency_response(frequencies)


def test_no_frequencies_give_an_empty_response(linear):
    assert linear.frequency_response([]).values.shape == (0, 6, 6)


@pytest.mark.parametrize("analysis", ["frequency_response", "state_space", "simulate", "step_loop"])
def test_unknown_inputs_and_outputs(linear, analysis):
    options = {
        "frequency_response": {"frequencies_hz": [1.0]},
        "simulate": {"duration": 1.0, "dt": 0.1},
        "step_loop": {"dt": 0.1},
    }
    call, options = getattr(linear, analysis), options.get(analysis, {})
    wrong = {"piezzo.x": np.sin} if analysis == "simulate" else ["piezzo.x"]
    with refused(UnknownNameError, "no input 'piezzo.x'", "did you mean 'piezo.x'?"):
        call(**options, inputs=wrong)
    with refused(UnknownNameError, "no output 'prob.z'", "did you mean 'probe.z'?"):
        call(**options, outputs=["prob.z"])


def test_unknown_names_in_a_mode_shape(linear):
    shape = linear.modes()[0].shape
    with refused(UnknownNameError, "no coordinate 'mass.q'", "did you mean 'mass.x'?"):
        shape["mass.q"]
    assert shape == pickle.loads(pickle.dumps(shape)) and shape.get("mass.q") is None


def test_unknown_names_in_a_response(linear):
    response = linear.frequency_response([1.0], inputs=["piezo.x"])
    with refused(UnknownNameError, "driven", "no output 'prob.x'", "did you mean 'probe.x'?"):
        response["prob.x", "piezo.x"]
    with refused(UnknownNameError, "driven", "no input 'piezo.y' in this response", "did you mean 'piezo.x'?"):
        response["probe.x", "piezo.y"]
    with refused(
        UnknownNameError, "has the input first; expected (output, input); write response['probe.x', 'piezo.x']"
    ):
        response["piezo.x", "probe.x"]
    with refused(ModelError, "expected two names, response[output, input]"):
        response["probe.x"]


@pytest.mark.parametrize(("axis", "stiffness"), [("x", 100.0), ("y", 200.0), ("z", 300.0)])
def test_an_undamped_resonance(axis, stiffness):
    # At sqrt(k/m) to the last digit, whether or not k - w^2 m comes out as an exact zero.
    model = oscillator().find_working_point().linearize()
    hz = np.sqrt(stiffness / 1.0) / (2 * np.pi)
    with refused(
        SingularResponseError, "oscillator", f"{hz:.11g}"[:11], "infinite", "undamped resonance", f"mass.{axis}",
        f"coil.f{axis}", "move the frequency, add damping or stiffness",
    ) as caught:  # fmt: skip
        model.frequency_response([1.0, hz, 2.0])
    assert all(f"mass.{other}" not in caught.message for other in "xyz" if other != axis)
    beside = model.frequency_response([hz * (1 + 1e-6)], inputs=[f"coil.f{axis}"])[f"eye.{axis}", f"coil.f{axis}"][0]
    assert beside == pytest.approx(1 / (stiffness * (1 - (1 + 1e-6) ** 2)), rel=1e-8)


def test_a_resonance_that_the_input_leaves_alone_is_no_obstacle():
    # Along y at the resonance of x: 1/(200 - 100) m/N.
    model = oscillator().find_working_point().linearize()
    response = model.frequency_response([np.sqrt(100.0) / (2 * np.pi)], inputs=["coil.fy"])
    assert response["eye.y", "coil.fy"][0] == pytest.approx(0.01, rel=1e-12)


def test_a_free_motion_at_zero_frequency():
    system = mse.MSystem("space", gravity=(0, 0, 0))
    system.add(mse.RigidBody("satellite", mass=2.0, inertia=0.1))
    system.add(mse.ForceActuator("jet"))
    system.clamp("ground", "jet.0")
    system.clamp("satellite.center", "jet.1")
    model = system.find_working_point().linearize()
    with refused(SingularResponseError, "space", "at 0 Hz is infinite", "motion without stiffness", "satellite.x"):
        model.frequency_response([0.0], inputs=["jet.fx"])


# -- time ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "options, words",
    [
        ({"duration": 1.0, "dt": 0.0}, ["dt is 0.0 s", "expected a finite number greater than 0"]),
        ({"duration": 1.0, "dt": -0.1}, ["dt is -0.1 s", "expected a finite number greater than 0"]),
        ({"duration": 1.0, "dt": np.nan}, ["dt is nan s", "expected a finite number greater than 0"]),
        ({"duration": 1.0, "dt": "short"}, ["dt is 'short'", "expected a finite number greater than 0"]),
        ({"duration": 0.0, "dt": 0.1}, ["duration is 0.0 s", "expected a finite number greater than 0"]),
        ({"duration": np.inf, "dt": 0.1}, ["duration is inf s", "expected a finite number greater than 0"]),
        (
            {"duration": 1.0, "dt": 0.3},
            [
                "duration 1 s",
                "not a whole number of steps of 0.3 s",
                "expected duration = n dt",
                "dt=0.333333333 or duration=0.9",
            ],
        ),
        (
            {"duration": 0.01, "dt": 0.1},
            ["duration 0.01 s", "not a whole number of steps", "take dt=0.01 or duration=0.1"],
        ),
        (
            {"inputs": {"piezo.x": np.zeros(10)}},
            ["input 'piezo.x'", "(10,)", "expected (11,)", "one value for each of the times"],
        ),
        ({"inputs": {"piezo.x": 0.5}}, ["input 'piezo.x'", "expected (11,)"]),
        (
            {"inputs": {"piezo.x": np.full(11, np.nan)}},
            ["input 'piezo.x' at t = 0 s is nan; expected a finite real number"],
        ),
        (
            {"inputs": {"piezo.x": lambda t: np.zeros(3)}},
            ["input 'piezo.x' as a function of time gives shape (", "one finite real number for each time"],
        ),
        (
            {"inputs": {"piezo.x": lambda t: np.full_like(t, np.inf)}},
            ["input 'piezo.x' at t = 0 s is inf", "expected a finite real number"],
        ),
        ({"inputs": {"piezo.x": np.zeros(11)}, "hold": "smooth"}, ["'piezo.x' is an array", "use hold='foh'"]),
        ({"hold": "second"}, ["hold is 'second'", "expected 'zoh' or 'foh' or 'smooth'"]),
        ({"initial": {"mass.x": np.nan}}, ["mass.x", "nan", "finite"]),
    ],
)
def test_bad_time_simulations(linear, options, words):
    with refused(ModelError, "driven: ", *words):
        linear.simulate(**({"duration": 1.0, "dt": 0.1} | options))


def test_unknown_state(linear):
    with refused(UnknownNameError, "driven", "no state 'mas.x'", "did you mean 'mass.x'?"):
        linear.simulate(duration=1.0, dt=0.1, initial={"mas.x": 1.0})


def test_bad_steps_and_settings_of_a_loop(linear):
    with refused(ModelError, "driven", "dt is 0.0 s", "expected a finite number greater than 0"):
        linear.step_loop(dt=0.0)
    loop = linear.step_loop(dt=0.1)
    with refused(UnknownNameError, "driven", "no input 'piezo.xx'", "did you mean 'piezo.x'?"):
        loop["piezo.xx"] = 1.0
    with refused(ModelError, "driven", "input 'piezo.x' at t = 0 s is nan", "expected a finite number"):
        loop["piezo.x"] = np.nan
    with refused(UnknownNameError, "driven", "no output 'probe.xx'", "did you mean 'probe.x'?"):
        loop["probe.xx"]
    with refused(ModelError, "driven", "(2,)", "expected (6,), one value per input"):
        loop.set([1.0, 2.0])


# -- massless and improper ----------------------------------------------------------------------------------------
def test_a_free_rotation_without_inertia():
    model = driven(inertia=0.0).find_working_point().linearize()
    with refused(
        ModelError,
        "driven",
        "mass.ax, mass.ay, mass.az",
        "without mass, damping or stiffness",
        "give the body inertia, or constrain it",
    ):
        model.state_space()
    assert not model.modes().free.any()  # what has neither mass nor stiffness is no mode


def shaker() -> mse.MSystem:
    """A position actuator that moves 2 kg rigidly, standing on a force sensor."""
    system = mse.MSystem("shaker", gravity=(0, 0, 0))
    system.add(mse.PositionActuator("piezo"))
    system.add(mse.ForceSensor("load"))
    system.add(mse.RigidBody("mass", mass=2.0, inertia=1.0))
    system.clamp("ground", "load.1")
    system.clamp("load.0", "piezo.1")
    system.clamp("piezo.0", "mass.center")
    return system


def test_a_force_sensor_that_sees_a_driven_mass():
    model = shaker().find_working_point().linearize()
    with refused(
        ImproperModelError, "shaker", "load.fx under piezo.x", "second derivative (acceleration)", "outputs=[...]",
        "or use frequency_response",
    ):  # fmt: skip
        model.state_space(inputs=["piezo.x"], outputs=["load.fx"])
    with refused(ImproperModelError, "load.fx under piezo.x"):
        model.simulate(duration=1.0, dt=0.1, inputs={"piezo.x": np.sin})
    # Frame 0 carries the mass and pulls frame 1 along: F = m w^2 x.
    hz = np.array([0.1, 1.0, 50.0])
    found = model.frequency_response(hz)["load.fx", "piezo.x"]
    np.testing.assert_allclose(found, 2.0 * (2 * np.pi * hz) ** 2, rtol=1e-12)


def test_every_error_is_caught_as_one_family():
    for error in (ModelError, UnknownNameError, WorkingPointError, SingularResponseError, ImproperModelError):
        assert issubclass(error, MseError)
    assert issubclass(ModelError, ValueError) and issubclass(UnknownNameError, KeyError)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s[0], ["no object 0", "expected a name"]),
        (lambda s: setattr(s["wire"], "name", "rope"), ["name"]),
        (lambda s: mse.RigidBody("b", mass=1.0, frames=[mse.Pose()]), ["frames is", "expected names and poses"]),
        (lambda s: mse.RigidBody("b", mass=1.0, frames={"0": mse.Pose()}), ["frame name is '0'", "not a number"]),
        (lambda s: linear_of(s).simulate(duration=1, dt=0.1, inputs=["piezo.x"]), ["inputs is", "expected functions"]),
        (lambda s: linear_of(s).simulate(duration=1, dt=0.1, initial=[1]), ["initial is", "by state name"]),
        (lambda s: linear_of(s).simulate(duration=1, dt=0.1, initial={"mass.x": "a"}), ["initial mass.x is 'a'"]),
        (lambda s: linear_of(s).simulate(duration=1e9, dt=1e-3), ["steps need", "GB", "larger dt"]),
        (
            lambda s: linear_of(s).step_loop(dt=0.1).__setitem__("piezo.x", None),
            ["'piezo.x' at t = 0 s is None", "finite number"],
        ),
    ],
)
def test_misuse_is_answered_in_words(call, words):
    s = mse.MSystem("pendulum")
    wire = s.add(mse.Spring("wire", length=1.0, stiffness=100.0))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=1.0, at=mse.Pose.dz(-1.0)))
    piezo = s.add(mse.PositionActuator("piezo"))
    s.clamp(s.ground, piezo.frame(1))
    s.clamp(piezo.frame(0), wire.frame(1))
    s.clamp(wire.frame(0), mass.frame(0))
    with pytest.raises((mse.MseError, AttributeError)) as error:
        call(s)
    for word in words:
        assert word in str(error.value)


def linear_of(system):
    return system.find_working_point().linearize()


@pytest.mark.parametrize("energy", [lambda d: None, lambda d: d, lambda d: "1", lambda d: 1j * (d @ d).value])
def test_an_energy_that_is_no_number_is_refused(energy):
    class Odd(mse.MObject):
        def energy(self, frames, q):
            return energy(frames[1].o - frames[0].o)

    frames = [FramePose(np.zeros(3), np.eye(3)), FramePose(np.ones(3), np.eye(3))]
    with pytest.raises(mse.ModelError, match="Odd 'odd': its energy"):
        Odd("odd").forces(frames, np.zeros(0))


def test_an_energy_that_fails_names_its_object():
    class Reaching(mse.MObject):
        def energy(self, frames, q):
            return q[0] * frames[2].o[0]

    frames = [FramePose(np.zeros(3), np.eye(3)), FramePose(np.ones(3), np.eye(3))]
    with pytest.raises(mse.ModelError, match=r"Reaching 'far': its energy failed: .*energy\(frames, q\)"):
        Reaching("far").forces(frames, np.zeros(0))


def test_a_mass_matrix_of_wrong_shape_is_refused():
    class Lump(mse.RigidBody):
        def mass_matrix(self, frames, q=()):
            return np.eye(3)

    s = mse.MSystem("s", gravity=(0, 0, 0))
    lump, spring = s.add(Lump("lump", mass=1.0)), s.add(mse.Bushing("spring", stiffness=1.0))
    s.clamp(s.ground, spring.frame(1))
    with pytest.raises(mse.ModelError, match=r"Lump 'lump': its mass_matrix has shape \(3, 3\); expected .* \(6, 6\)"):
        s.clamp(spring.frame(0), lump.frame(0))
        s.find_working_point().linearize()


def test_an_initial_pose_that_a_clamp_to_the_ground_overrules_is_noted(caplog):
    s = mse.MSystem("s")
    body = s.add(mse.RigidBody("body", mass=1.0, at=mse.Pose.dz(-1.0)))
    s.clamp(s.ground, body.frame(0), mse.Pose.dz(-0.5))
    s.find_working_point()
    assert "RigidBody 'body': it is clamped to the ground, so its initial pose is not used" in caplog.text


def test_parameters_in_capitals_are_no_new_attributes():
    body = mse.RigidBody("body", mass=1.0, inertia=1.0)
    with pytest.raises(mse.ModelError, match="no parameter 'Mass' .did you mean 'mass'"):
        body.Mass = 5.0


def test_responses_beyond_memory_are_refused(monkeypatch):
    monkeypatch.setattr("mse.analysis.resources.free_memory", lambda: 1e6)
    model = mse.LinearModel.from_matrices(np.eye(30), None, np.eye(30))
    with pytest.raises(mse.ModelError, match="at 10000 frequencies need 0.144 GB; expected at most 0.0008 GB"):
        model.frequency_response(np.linspace(0.3, 1, 10_000))
    with pytest.raises(mse.ModelError, match=r"frequency number 1 is 1e\+200 Hz; expected"):
        model.frequency_response([1.0, 1e200])
