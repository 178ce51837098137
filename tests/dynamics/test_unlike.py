"""Starts of motions that belong to other systems, which are refused, and to the same one with other values, which are not."""

import pytest

import mse
from mse import ModelError, Pose


def hanging(joint, **spring):
    s = mse.MSystem("hanging", gravity=(0, 0, -9.81))
    bob = s.add(mse.RigidBody("bob", mass=1.0, inertia=0.01, at=Pose.dz(-0.3), frames={"top": Pose.dz(0.3)}))
    s.add(joint, between=(bob.frame("top"), s.ground))
    if spring:
        s.add(mse.Spring("spring", length=0.3, **spring), between=(bob, s.ground))
    return s


@pytest.fixture(scope="module")
def system():
    return hanging(mse.Revolute("hinge", axis=(0, 1, 0)), stiffness=2.0)


@pytest.fixture(scope="module")
def before(system):
    return system.simulate(duration=0.1, dt=0.1, initial={"hinge.angle": 1.0}, progress=False)


@pytest.fixture(scope="module")
def state(before):
    return before.final_state


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: hanging(mse.Revolute("hinge", axis=(1, 0, 0)), stiffness=2.0), r"\(axis of hinge was .* and is .*\)"),
        (
            lambda: hanging(mse.Spherical("hinge"), stiffness=2.0),
            r"\(hinge was a mse\.Revolute and is a mse\.Spherical",
        ),
        (lambda: hanging(mse.Revolute("hinge", axis=(0, 1, 0))), r"\(spring is in one of them only"),
    ],
)
def test_states_of_systems_with_other_joints_or_axes_are_refused_by_name(state, other, message):
    with pytest.raises(ModelError, match=r"start is a state of a system with other objects " + message):
        other().simulate(duration=0.1, dt=0.1, start=state, progress=False)


def test_a_working_point_of_a_system_with_another_axis_is_refused(system):
    point = system.find_working_point(progress=False)
    other = hanging(mse.Revolute("hinge", axis=(1, 0, 0)), stiffness=2.0)
    with pytest.raises(ModelError, match=r"start is a working point of a system with other objects \(axis of hinge"):
        other.simulate(duration=0.1, dt=0.1, start=point, progress=False)


def test_a_joint_that_connects_other_frames_is_refused():
    def chain(first, second):
        s = mse.MSystem("chain", gravity=(0, 0, -9.81))
        bodies = {n: s.add(mse.RigidBody(n, mass=1.0, inertia=0.01)) for n in ("a", "b")}
        bodies["ground"] = s.ground
        s.add(mse.Joint("free", free=("x", "y", "z", "ax", "ay", "az")), between=(bodies["b"], s.ground))
        s.add(mse.Revolute("hinge", axis=(0, 1, 0)), between=(bodies[first], bodies[second]))
        return s

    state = chain("a", "ground").simulate(duration=0.01, dt=0.01, progress=False).final_state
    with pytest.raises(ModelError, match=r"other objects \(hinge\.1 is connected elsewhere"):
        chain("a", "b").simulate(duration=0.01, dt=0.01, start=state, progress=False)


def test_other_values_are_no_other_system(before):
    """It goes on from where it was, as with the mass of before."""
    other = hanging(mse.Revolute("hinge", axis=(0, 1, 0), stiffness=0.5), stiffness=3.0)
    other["bob"].mass = 2.0
    motion = other.simulate(duration=0.1, dt=0.1, start=before.final_state, progress=False)
    found, expected = (m.at(0.1).poses["bob.center"].o for m in (motion, before))
    assert found == pytest.approx(expected, abs=1e-12)
