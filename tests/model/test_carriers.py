"""What hangs on what, and how it turns along."""

from __future__ import annotations

import numpy as np

import mse
from mse import Pose
from mse.model.assembly import Assembly
from mse.model.topology import Topology


def carriers_of(links: list[tuple[int, int]], places: dict[int, tuple[float, float, float]]):
    """Carriers by number of bodies linked by springs, 0 being the ground; and the assembly and its topology."""
    s = mse.MSystem("links")
    frames = {0: s.ground}
    for k, o in places.items():
        frames[k] = s.add(mse.RigidBody(f"b{k}", mass=1.0, inertia=1.0, at=Pose(o))).frame(0)
    for n, (a, b) in enumerate(links):
        spring = s.add(mse.Spring(f"s{n}", length=1.0, stiffness=1.0))
        s.clamp(frames[a], spring.frame(0))
        s.clamp(frames[b], spring.frame(1))
    topology = Topology(s)
    found = Assembly(topology, topology.unit).carriers
    names = topology.unit_names
    return {names[v]: names[c] for v, c in zip(found.body, found.carrier, strict=True)}, found


def at(count: int) -> dict[int, tuple[float, float, float]]:
    return {k: (0.0, 0.0, -float(k)) for k in range(1, count + 1)}


def test_each_body_of_a_chain_carries_the_next():
    carried, _ = carriers_of([(0, 1), (1, 2), (1, 2), (2, 3), (2, 4)], at(4))
    assert carried == {"b2": "b1", "b3": "b2", "b4": "b2"}


def test_what_hangs_in_a_loop_is_carried_as_a_whole_and_a_loop_with_the_ground_by_nothing():
    carried, _ = carriers_of([(0, 1), (1, 2), (2, 3), (3, 4), (4, 2), (4, 5)], at(5))
    assert carried == {"b2": "b1", "b3": "b1", "b4": "b1", "b5": "b4"}
    carried, _ = carriers_of([(0, 1), (1, 2), (2, 0), (2, 3)], at(3))
    assert carried == {"b3": "b2"}


def test_a_turn_about_the_line_takes_along_what_hangs_below():
    """The second body is swung aside, and turns about the first one's axis when that turns; tilts carry nothing along."""
    _, found = carriers_of([(0, 1), (1, 2)], at(2))
    o = np.array([[0.0, 0, 0], [0, 0, -1], [0, 0, -2]])
    u = np.stack([np.eye(3)] * 3)
    aside = np.array([[0, 0, 0, 0, 0, np.pi / 2], [0.5, 0, 0, 0, 0, np.pi / 2]])
    there, turned = found.moved(o, u, aside)
    assert np.allclose(there[2], [0, 0.5, -2]) and np.allclose(turned[1], turned[2])
    tilted = np.array([[0, 0, 0, 0.3, 0, 0], [0.5, 0, 0, 0, 0, 0]])
    there, turned = found.moved(o, u, tilted)
    assert np.allclose(there[2], [0.5, 0, -2]) and np.allclose(turned[2], np.eye(3))
