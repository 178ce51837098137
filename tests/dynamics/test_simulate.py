"""Large motions through system.simulate: agreement by principle, restart, bad input."""

import numpy as np
import pytest
import textbook as book
from scipy.linalg import expm

import mse
from mse import ModelError, MotionError, Pose, UnknownNameError
from mse.dynamics import simulate


def pendulum(damping=0.0):
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    bob = mse.RigidBody("bob", mass=1.0, inertia=0.01, at=Pose.dz(-0.3), frames={"top": Pose.dz(0.3)})
    hinge = mse.Revolute("hinge", axis=(0, 1, 0), damping=damping)
    system.add(hinge, between=(system.add(bob).frame("top"), system.ground))
    return system


def test_a_motion_that_goes_on_from_its_final_state_equals_one_in_one_piece():
    system = pendulum()
    initial = {"hinge.angle": 2.0, "hinge.angle'": 0.5}
    whole = system.simulate(duration=1.0, dt=0.125, initial=initial, rtol=1e-6)
    half = system.simulate(duration=0.5, dt=0.25, initial=initial, rtol=1e-6)
    rest = system.simulate(duration=0.5, dt=0.125, start=half.final_state, rtol=1e-6)
    np.testing.assert_array_equal(rest.values, whole.values[4:])
    again = system.simulate(duration=0.25, dt=0.125, start=whole.at(0.75).state, rtol=1e-6)
    np.testing.assert_array_equal(again.values, whole.values[6:])
    between = whole.at(0.3125)
    assert whole["hinge.angle"][2] > between.joint_coordinates["hinge.angle"] > whole["hinge.angle"][3]


def test_a_state_of_a_system_that_has_changed_begins_new_steps():
    system = pendulum()
    first = system.simulate(duration=0.25, dt=0.25, initial={"hinge.angle": 1.0}, rtol=1e-6)
    system["bob"].mass = 2.0
    later = system.simulate(duration=0.25, dt=0.25, start=first.final_state, rtol=1e-6)
    assert later["hinge.angle"][0] == pytest.approx(first["hinge.angle"][-1], abs=1e-13)
    assert later.energy["kinetic"][0] > first.energy["kinetic"][-1]


def test_energy_is_accounted_for_with_what_dampers_took():
    motion = pendulum(damping=0.05).simulate(duration=1.0, dt=0.25, initial={"hinge.angle": 1.5})
    assert motion.energy["damped"][-1] < -0.1
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-8
    assert "largest unaccounted energy" in str(motion)
    assert "seconds per second of motion" in str(motion)


def test_a_reversed_motion_returns():
    system = pendulum()
    there = system.simulate(duration=0.5, dt=0.5, initial={"hinge.angle": 1.5, "hinge.angle'": 1.0})
    turned = {"hinge.angle": there["hinge.angle"][-1], "hinge.angle'": -there["hinge.angle'"][-1]}
    back = system.simulate(duration=0.5, dt=0.5, initial=turned)
    assert back["hinge.angle"][-1] == pytest.approx(1.5, abs=1e-8)
    assert back["hinge.angle'"][-1] == pytest.approx(-1.0, abs=1e-8)


def test_angles_of_joints_go_beyond_whole_turns():
    motion = pendulum().simulate(duration=1.0, dt=0.5, initial={"hinge.angle'": 30.0}, rtol=1e-6)
    assert motion["hinge.angle"][-1] > 4 * np.pi


def test_coordinates_alone_equal_those_among_all_outputs():
    run = {"duration": 1.0, "dt": 0.1, "initial": {"hinge.angle": 1.5}}
    whole = pendulum().simulate(**run)
    alone = pendulum().simulate(**run, outputs=["hinge.angle"])
    np.testing.assert_array_equal(alone["hinge.angle"], whole["hinge.angle"])


def test_small_motions_differ_from_the_linear_model_by_the_square_of_their_size():
    system = book.trolley()
    names = ["slide.displacement", "phi1.angle", "phi2.angle"]
    ss = system.find_working_point().linearize().state_space(outputs=names)
    begin = np.linalg.lstsq(np.vstack([ss.C, ss.C @ ss.A]), np.array([0, 1, 0, 0, 0, 0]), rcond=None)[0]
    small = ss.C @ expm(0.5 * ss.A) @ begin
    apart = []
    for e in (0.02, 0.01):
        motion = system.simulate(duration=0.5, dt=0.5, initial={"phi1.angle": e}, rtol=1e-9)
        apart.append(np.array([motion[n][-1] / e for n in names]) - small)
    assert np.abs(apart[1]).max() < 1e-4
    np.testing.assert_allclose(apart[0], 4.0 * apart[1], rtol=0.01, atol=1e-7)


def test_momentum_of_a_free_system_stays():
    system = mse.MSystem("pair", gravity=(0, 0, 0))
    one = system.add(mse.RigidBody("one", mass=1.0, inertia=(0.1, 0.2, 0.15), frames={"pin": Pose.dx(0.5)}))
    two = mse.RigidBody("two", mass=2.0, inertia=(0.3, 0.2, 0.1), at=Pose.dx(1.2), frames={"pin": Pose.dx(-0.7)})
    two = system.add(two)
    system.add(mse.Spherical("ball"), between=(two.frame("pin"), one.frame("pin")))
    system.add(mse.Joint("free", free=("x", "y", "z", "ax", "ay", "az")), between=(one, system.ground))
    rates = {"free.x'": 0.3, "free.ax'": 1.0, "ball.ay'": 2.0, "ball.az'": -1.0}
    motion = system.simulate(duration=1.0, dt=0.5, initial=rates, rtol=1e-11)

    def momenta(k):
        linear, angular = np.zeros(3), np.zeros(3)
        for body in (one, two):
            o, u = (x[k] for x in motion.poses(f"{body.name}.center"))
            v = motion.velocities(f"{body.name}.center")[k]
            linear += body.mass * v[:3]
            angular += u @ body.inertia @ u.T @ v[3:] + np.cross(o, body.mass * v[:3])
        return np.concatenate([linear, angular])

    np.testing.assert_allclose(momenta(2), momenta(0), atol=1e-11)
    assert np.abs(momenta(0)).max() > 0.1


def test_reactions_of_a_motion_hold_the_centripetal_force():
    motion = pendulum().simulate(duration=0.25, dt=0.25, initial={"hinge.angle'": 5.0}, rtol=1e-8)
    np.testing.assert_allclose(motion.at(0.0).reactions["hinge"][2], -(9.81 + 25 * 0.3), rtol=1e-12)


# -- bad input ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"duration": -1.0}, ModelError, "duration is -1"),
        ({"dt": 0.3}, ModelError, "not a whole number of steps"),
        ({"rtol": 1.0}, ModelError, "rtol is 1"),
        ({"initial": {"hing.angle": 1.0}}, UnknownNameError, r"hing\.angle.*did you mean 'hinge\.angle'"),
        ({"initial": {"hinge.angle": np.nan}}, ModelError, r"initial 'hinge\.angle' is nan"),
        ({"initial": 3.0}, ModelError, "initial is 3"),
        ({"outputs": ["hinge.angel"]}, UnknownNameError, "did you mean"),
        ({"start": 1.0}, ModelError, "start is 1"),
    ],
)
def test_bad_arguments_are_refused_by_name(given, error, message):
    with pytest.raises(error, match=message):
        pendulum().simulate(**({"duration": 1.0, "dt": 0.5} | given))


def test_a_motor_that_another_one_holds_is_refused_by_name():
    system = book.four_bars(1)
    system["low0"].motor = system["low1"].motor = "position"
    with pytest.raises(
        ModelError, match=r"as near as they come, its input drives low0\.angle at 0\.1 a second, Revolute"
    ):
        system.simulate(duration=1.0, dt=0.5, inputs={"low0.angle": lambda t: 0.1 * np.sin(t)})


def test_initial_values_that_joints_contradict_are_refused_by_name():
    system = book.four_bars(1)
    with pytest.raises(
        ModelError, match=r"contradict the initial values: .*low1\.angle is .* where -0\.2 rad is given"
    ):
        system.simulate(duration=1.0, dt=1.0, initial={"low0.angle": 0.2, "low1.angle": -0.2})
    with pytest.raises(
        ModelError, match=r"tie the initial rates together: .*low1\.angle' is .* where -1 rad/s is given"
    ):
        system.simulate(duration=1.0, dt=1.0, initial={"low0.angle'": 1.0, "low1.angle'": -1.0})


def test_a_state_of_another_system_is_refused():
    state = pendulum().simulate(duration=0.5, dt=0.5).final_state
    with pytest.raises(
        ModelError, match=r"start is a state of a system with other objects \(bob is in one of them only"
    ):
        book.double_pendulum().simulate(duration=0.5, dt=0.5, start=state)


def test_a_motion_that_grows_without_limit_ends_with_its_part_so_far():
    class Escape(mse.MObject):
        coordinate_names = (mse.coordinate("x", unit="m"),)
        frame_names = ("seat",)

        def energy(self, frames, q):
            return -(q[0] ** 4)

        def kinetic(self, frames, q, v):
            return 0.5 * v[0] ** 2

    system = mse.MSystem("own", gravity=(0, 0, 0))
    system.add(Escape("escape"), between=(system.ground,))
    with pytest.raises(MotionError, match=r"'own': no step from t = .* escape\.x moves fastest.*; expected") as caught:
        system.simulate(duration=10.0, dt=0.25, initial={"escape.x": 1.0}, rtol=1e-4)
    assert 0.5 < caught.value.motion.time[-1] < 2.0


def test_a_loss_factor_is_refused():
    system = pendulum()
    system["hinge"].stiffness = 1.0
    system["hinge"].loss = 1e-3
    with pytest.raises(ModelError, match="'hinge': it has a loss factor"):
        system.simulate(duration=1.0, dt=1.0)


def test_outputs_are_saved_and_drawn(tmp_path):
    motion = pendulum().simulate(duration=0.5, dt=0.25, initial={"hinge.angle": 1.0})
    motion.save(tmp_path / "run.npz")
    np.testing.assert_array_equal(mse.read_result(tmp_path / "run.npz").values, motion.values)
    assert motion.plot().axes


@pytest.mark.parametrize("factor", [0.1, 1.0, 10.0])
def test_a_law_that_is_undefined_further_on_is_named(monkeypatch, factor):
    class Edge(mse.MObject):
        coordinate_names = (mse.coordinate("x", unit="m"),)
        frame_names = ("seat",)

        def energy(self, frames, q):
            return np.sqrt(1.0 - q[0])

        def kinetic(self, frames, q, v):
            return 0.5 * v[0] ** 2

    monkeypatch.setattr("mse.dynamics.simulate._AHEAD", factor * 1e-3)
    system = mse.MSystem("own", gravity=(0, 0, 0))
    system.add(Edge("edge"), between=(system.ground,))
    with pytest.raises(
        MotionError, match=r"'edge': its energy is nan at t = 0.*; expected .*; the motion ends at t = 0"
    ) as caught:
        system.simulate(duration=3.0, dt=0.01, initial={"edge.x'": 1.0}, rtol=1e-4)
    assert caught.value.motion["edge.x"][-1] > 0.9


def test_ctrl_c_leaves_the_motion_so_far():
    def pressed(progress):
        if progress.done:
            raise KeyboardInterrupt

    with pytest.raises(mse.Interrupted) as caught:
        pendulum().simulate(duration=2000.0, dt=0.05, initial={"hinge.angle": 1.0}, progress=pressed)
    found = caught.value.result
    assert 0.0 < found.time[-1] < 2000.0
    later = pendulum().simulate(duration=0.1, dt=0.05, start=found.final_state)
    assert later.time[0] == found.time[-1]


def test_matrices_that_do_not_fit_into_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr("mse.analysis.resources.ALWAYS_FREE", 0)
    monkeypatch.setattr("mse.analysis.resources.free_memory", lambda: 1000.0)
    with pytest.raises(
        ModelError, match=r"a motion of 6 coordinates needs .* for dense matrices; .*; take fewer bodies"
    ):
        pendulum().simulate(duration=1.0, dt=0.5)


@pytest.mark.parametrize("more", [{}, {"record": "run.npy"}])
def test_more_samples_than_memory_are_refused_with_both_numbers(more):
    """1e12 times are 8 TB alone; they are counted before anything is made."""
    message = r"duration 1e\+09 s with dt 0\.001 s makes 1000000000001 samples, .*; take a larger dt, or"
    with pytest.raises(ModelError, match=message):
        pendulum().simulate(duration=1e9, dt=1e-3, progress=False, **more)


def test_samples_whose_poses_do_not_fit_are_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr("mse.analysis.resources.free_memory", lambda: 1.25e7)
    message = r"duration 100 s with dt 0\.001 s makes 100001 samples, .* poses; .*; take at most [\d,]+ samples by a larger dt"
    with pytest.raises(ModelError, match=message):
        pendulum().simulate(duration=100.0, dt=1e-3, progress=False)


def test_samples_beyond_memory_are_refused_before_their_times_are_made(monkeypatch):
    monkeypatch.setattr(simulate, "_grid", None)
    with pytest.raises(
        ModelError, match=r"makes 200000001 samples, which need .*; take at most [\d,]+ samples by a larger dt"
    ):
        pendulum().simulate(duration=2.0, dt=1e-8)
