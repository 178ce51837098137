"""Links that carry loads: what a prescribed displacement does to the body that carries its link."""

from __future__ import annotations

import pytest

import mse
from mse import Pose

AXES = {"x": Pose.dx, "y": Pose.dy, "z": Pose.dz, "ax": Pose.rx, "ay": Pose.ry, "az": Pose.rz}


def loaded(turn: Pose | None = None) -> mse.MSystem:
    """A table on a soft mount, and on it an arm with a force and a torque, by an actuator or clamped after a displacement."""
    system = mse.MSystem("arm", gravity=(0, 0, 0))
    table = system.add(mse.RigidBody("table", mass=2.0, inertia=0.1, at=Pose.ry(0.3)))
    mount = system.add(mse.Bushing("mount", stiffness=(900.0, 1100.0, 1300.0, 40.0, 50.0, 60.0)))
    system.clamp(system.ground, mount.frame(1))
    system.clamp(table.frame(0), mount.frame(0))
    arm = system.add(mse.RigidBody("arm", mass=0.5, inertia=0.01))
    seat = Pose((0.1, 0.05, 0.2)) @ Pose.rx(0.4)
    if turn is None:
        drive = system.add(mse.PositionActuator("drive"))
        system.clamp(table.frame(0), drive.frame(1), seat)
        system.clamp(arm.frame(0), drive.frame(0))
    else:
        system.clamp(table.frame(0), arm.frame(0), seat @ turn)
    push = system.add(mse.Load("push", force=(3.0, -2.0, 4.0), torque=(0.7, 1.1, -0.5)))
    system.clamp(arm.frame(0), push.frame(0), Pose((0.0, 0.1, 0.15)))
    probe = system.add(mse.PositionSensor("probe"))
    system.clamp(table.frame(0), probe.frame(0))
    system.clamp(system.ground, probe.frame(1))
    return system


def test_a_table_answers_a_moved_load_as_it_does_when_solved_again():
    """Static responses to an actuator that carries a force and a torque, against working points with a displaced clamp."""
    linear = loaded().find_working_point().linearize()
    response = linear.frequency_response([0.0])
    step = 1e-4
    for axis, displaced in AXES.items():
        moved = [loaded(displaced(s)).find_working_point(seek="nearest").poses["table.center"] for s in (step, -step)]
        shift = (moved[0].o - moved[1].o) / (2 * step)
        turn = (moved[0] @ moved[1].inverse()).rotation_vector() / (2 * step)
        found = [response[f"probe.{name}", f"drive.{axis}"][0].real for name in AXES]
        assert found == pytest.approx([*shift, *turn], abs=2e-7)
