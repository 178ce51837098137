"""Motions that are written to disk, which go on to the bit after any end."""

import json

import numpy as np
import pytest

import mse
from mse import MotionError, Pose, RecordingError


def pendulum():
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    bob = mse.RigidBody("bob", mass=1.0, inertia=0.01, at=Pose.dz(-0.3), frames={"top": Pose.dz(0.3)})
    hinge = mse.Revolute("hinge", axis=(0, 1, 0), motor="force")
    system.add(hinge, between=(system.add(bob).frame("top"), system.ground))
    return system


def push(t):
    return 0.1 * np.sin(20.0 * t)


GIVEN = {
    "duration": 1.0, "dt": 0.03125, "initial": {"hinge.angle": 1.0}, "inputs": {"hinge.torque": push}, "rtol": 1e-6,
    "crossings": {"hinge.angle": 0.0},
}  # fmt: skip


def interrupted(after):
    """The given motion, but that who watches presses Ctrl-C when time (s) has come to ``after``."""

    def pushed(t):
        if t > after:
            raise KeyboardInterrupt
        return push(t)

    return GIVEN | {"inputs": {"hinge.torque": pushed}}


def test_a_recorded_motion_has_the_bits_of_the_result(tmp_path):
    path, motion = tmp_path / "run.npy", pendulum().simulate(**GIVEN)
    recorded = pendulum().simulate(**GIVEN, record=path)
    read = mse.read_recording(path)
    for found in (recorded, read):
        np.testing.assert_array_equal(found.time, motion.time)
        np.testing.assert_array_equal(found.values, motion.values)
        np.testing.assert_array_equal(found.driven, motion.driven)
        assert found.crossings == motion.crossings and len(motion.crossings) == 2
    np.testing.assert_array_equal(np.load(path)[:, 1:3], motion.values)
    assert read["hinge.angle"][-1] == motion["hinge.angle"][-1]


def test_a_motion_that_was_interrupted_goes_on_in_its_file_to_the_bit(tmp_path):
    path, whole = tmp_path / "run.npy", tmp_path / "whole.npy"
    pendulum().simulate(**GIVEN, record=whole)
    with pytest.raises(mse.Interrupted) as caught:
        pendulum().simulate(**interrupted(0.7), record=path)
    so_far = caught.value.result
    assert 2 <= len(so_far.time) < 33
    pendulum().simulate(**GIVEN, record=path)
    assert path.read_bytes() == whole.read_bytes()
    assert mse.read_recording(path).crossings == mse.read_recording(whole).crossings
    before = path.stat().st_mtime_ns
    pendulum().simulate(**GIVEN, record=path)  # complete
    assert path.stat().st_mtime_ns == before


def test_a_recorded_motion_ends_where_it_is_asked_to(tmp_path):
    given = GIVEN | {"crossings": None, "until": {"hinge.angle": 0.0}}
    path, motion = tmp_path / "run.npy", pendulum().simulate(**given)
    for _ in range(2):
        found = pendulum().simulate(**given, record=path)
        np.testing.assert_array_equal(found.time, motion.time)
        np.testing.assert_array_equal(found.values, motion.values)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"initial": {"hinge.angle": 1.1}}, "initial "),
        ({"rtol": 1e-7}, "rtol is 1e-07, but 1e-06 in the file"),
        (
            {"inputs": {"hinge.torque": lambda t: 0.2 * t}},
            r"input 'hinge.torque' is 0.00625 at t = 0.03125 s, but ",
        ),
    ],
)
def test_another_motion_is_refused(tmp_path, change, said):
    path = tmp_path / "run.npy"
    with pytest.raises(mse.Interrupted):
        pendulum().simulate(**interrupted(0.2), record=path)
    with pytest.raises(RecordingError, match=f"belongs to another run: .*{said}"):
        pendulum().simulate(**(GIVEN | change), record=path)
    other = pendulum()
    other["bob"].mass = 1.5
    with pytest.raises(RecordingError, match=r"the inertia of bob\.x is another"):
        other.simulate(**GIVEN, record=path)


@pytest.mark.slow
def test_a_motion_that_cannot_go_on_leaves_its_file(tmp_path):
    class Escape(mse.MObject):
        coordinate_names = (mse.coordinate("x", unit="m"),)
        frame_names = ("seat",)

        def energy(self, frames, q):
            return -(q[0] ** 4)

        def kinetic(self, frames, q, v):
            return 0.5 * v[0] ** 2

    system = mse.MSystem("own", gravity=(0, 0, 0))
    system.add(Escape("escape"), between=(system.ground,))
    path = tmp_path / "run.npy"
    with pytest.raises(MotionError) as caught:
        system.simulate(duration=10.0, dt=0.0625, initial={"escape.x": 1.0}, rtol=1e-2, record=path)
    found = caught.value.motion
    assert 0.5 < found.time[-1] < 2.0
    np.testing.assert_array_equal(mse.read_recording(path).values, found.values)
    assert json.loads((tmp_path / "run.npy.json").read_text())["rows"] == len(found.time)
