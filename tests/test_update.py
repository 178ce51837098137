"""A working point solved again with other parameters equals one solved afresh, and keeps what does not depend on them."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from models import four_wire_chain
from mse import Pose
from mse.model.topology import Topology


def four_bar() -> mse.MSystem:
    s = mse.MSystem("bars", gravity=(0, 0, -9.81))
    rods = [
        s.add(mse.RigidBody(name, mass=1.0, inertia=(0.08, 0.08, 0.01), at=Pose(at)))
        for name, at in (("left", (0, 0, -0.5)), ("right", (1, 0, -0.5)), ("coupler", (0.5, 0, -1)))
    ]
    left, right, coupler = (r.frame(0) for r in rods)
    pins = (
        ("a", s.ground, Pose(), left, Pose((0, 0, 0.5))),
        ("b", s.ground, Pose((1, 0, 0)), right, Pose((0, 0, 0.5))),
        ("c", left, Pose((0, 0, -0.5)), coupler, Pose((-0.5, 0, 0))),
        ("d", right, Pose((0, 0, -0.5)), coupler, Pose((0.5, 0, 0))),
    )
    for name, seat, at_seat, body, at_body in pins:
        pin = s.add(mse.Revolute(name, axis=(0, 1, 0), stiffness=2.0 if name == "a" else 0.0))
        s.connect(seat, pin.frame(1), at_seat)
        s.connect(body, pin.frame(0), at_body)
    return s


def with_blade() -> mse.MSystem:
    s = mse.MSystem("blade")
    blade = s.add(mse.Beam("blade", length=0.3, width=0.02, height=0.002, young_modulus=2e11, density=7800, elements=6))
    tip = s.add(mse.RigidBody("tip", mass=0.2, inertia=1e-4))
    s.connect(s.ground, blade.frame(0))
    s.connect(blade.frame(1), tip.frame(0))
    return s


@pytest.mark.parametrize(
    "make, changes",
    [
        (lambda: four_wire_chain(3), {"wire1_0.length": 0.503, "plate2.mass": 12.0}),
        (lambda: four_wire_chain(3), {"gravity": (0.3, 0.0, -9.0)}),
        (lambda: four_wire_chain(2, driven=True), {"wire0_1.young_modulus": 1.8e11}),
        (four_bar, {"a.stiffness": 9.0, "a.rest": 0.7, "coupler.mass": 3.0}),
        (four_bar, {"b.motor": "position", "b.position": -0.3}),
        (with_blade, {"blade.height": 0.0025}),
        (with_blade, {"tip.mass": 0.3}),
    ],
)
def test_an_updated_working_point_is_that_of_the_changed_system(make, changes):
    first = make().find_working_point()
    before = first.energy, first.linearize().modes().frequencies
    second = first.update(changes)
    changed = make()
    for name, value in changes.items():
        path, _, key = name.rpartition(".")
        (changed[path] if path else changed).parameters[key] = value
    fresh = changed.find_working_point()
    assert second.converged and second.stable == fresh.stable
    for name, pose in fresh.poses.items():
        assert second.poses[name].is_close(pose, 1e-9, 1e-9), name
    one, other = second.linearize(), fresh.linearize()
    assert one.modes().frequencies == pytest.approx(other.modes().frequencies, rel=1e-8)
    assert one.inputs == other.inputs
    # what it came from is what it was
    assert (first.energy, list(first.linearize().modes().frequencies)) == (before[0], list(before[1]))
    # and its own system is the changed one
    for name, value in changes.items():
        path, _, key = name.rpartition(".")
        target = second.system[path] if path else second.system
        assert np.all(
            np.asarray(target.parameters[key]) == np.asarray(changed[path].parameters[key] if path else value)
        )


def test_nothing_is_flattened_again(monkeypatch):
    wp = four_wire_chain(4).find_working_point()
    monkeypatch.setattr(Topology, "__init__", lambda *a: pytest.fail("the topology was made again"))
    wp.update({"wire2_0.length": 0.501}).update({"plate1.mass": 9.0}).linearize().modes()


def test_many_updates_one_after_the_other_lose_nothing():
    wp = first = four_wire_chain(2).find_working_point()
    for k in range(20):
        wp = wp.update({"wire0_0.length": 0.5 + 1e-4 * np.sin(k)})
    back = wp.update({"wire0_0.length": first.system["wire0_0"].length})
    assert back.linearize().modes().frequencies == pytest.approx(first.linearize().modes().frequencies, rel=1e-10)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"wire0_0.lenght": 0.5}, "no parameter 'lenght'.*length"),
        ({"wire9_0.length": 0.5}, "no object 'wire9_0'"),
        ({"wire0_0.length": -0.5}, "length is -0.5 m; expected"),
        ("wire0_0.length", "expected values by parameter"),
    ],
)
def test_refusals(changes, words):
    wp = four_wire_chain(1).find_working_point()
    with pytest.raises(mse.MseError, match=words):
        wp.update(changes)
