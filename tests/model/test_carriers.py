"""What hangs on what, and how it turns along."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.kernels.motions import relative_twist
from mse.kernels.rotations import turn_all
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


def test_depth_is_that_of_the_longest_chain():
    _, found = carriers_of([(0, 1), (1, 2), (2, 3), (2, 4), (4, 5)], at(5))
    assert found.depth == 3
    assert carriers_of([(0, 1), (0, 2)], at(2))[1].depth == 0


def test_what_hangs_in_a_loop_is_carried_as_a_whole_and_a_loop_with_the_ground_by_nothing():
    carried, _ = carriers_of([(0, 1), (1, 2), (2, 3), (3, 4), (4, 2), (4, 5)], at(5))
    assert carried == {"b2": "b1", "b3": "b1", "b4": "b1", "b5": "b4"}
    carried, _ = carriers_of([(0, 1), (1, 2), (2, 0), (2, 3)], at(3))
    assert carried == {"b3": "b2"}


PLACES = np.array([[0.0, 0, 0], [0, 0, -1], [0, 0, -2]])


def test_a_turn_about_the_load_takes_along_what_hangs_below():
    """The second body is swung aside, and turns about the first one's axis when that turns; tilts carry nothing along."""
    _, found = carriers_of([(0, 1), (1, 2)], at(2))
    u = np.stack([np.eye(3)] * 3)
    axes = found.axes(PLACES, np.array([[0, 0, -9.81], [0, 0, -9.81]]))
    aside = np.array([[0, 0, 0, 0, 0, np.pi / 2], [0.5, 0, 0, 0, 0, np.pi / 2]])
    there, turned = found.moved(PLACES, u, aside, axes)
    assert np.allclose(there[2], [0, 0.5, -2]) and np.allclose(turned[1], turned[2])
    tilted = np.array([[0, 0, 0, 0.3, 0, 0], [0.5, 0, 0, 0, 0, 0]])
    there, turned = found.moved(PLACES, u, tilted, axes)
    assert np.allclose(there[2], [0.5, 0, -2]) and np.allclose(turned[2], np.eye(3))


def test_what_hangs_beside_its_carrier_goes_round_the_load_on_a_circle():
    """A quarter of a turn and what it displaces to first order lead round by just that, whatever the line to the body."""
    _, found = carriers_of([(0, 1), (1, 2)], at(2))
    o = np.array([[0.0, 0, 0], [0, 0, -1], [0.3, 0, -2]])
    axes = found.axes(o, np.array([[0, 0, -9.81], [0, 0, -9.81]]))
    round_it = np.array([[0, 0, 0, 0, 0, np.pi / 2], [0, 0.3 * np.pi / 2, 0, 0, 0, np.pi / 2]])
    there, turned = found.moved(o, np.stack([np.eye(3)] * 3), round_it, axes)
    assert np.allclose(there[2], [0, 0.3, -2]) and np.allclose(turned[1], turned[2])


def test_what_is_carried_as_a_whole_goes_where_its_twist_against_its_carrier_leads():
    """That twist changes by what the step changes it to first order, however far the step leads."""
    _, found = carriers_of([(0, 1), (1, 2), (2, 3)], at(3))
    rng = np.random.default_rng(0)
    o = np.vstack([np.zeros(3), rng.standard_normal((3, 3))])
    u = turn_all(np.stack([np.eye(3)] * 4), np.vstack([np.zeros(3), rng.standard_normal((3, 3))]))
    step = 0.3 * rng.standard_normal((3, 6))

    def twists(share):
        there, turned = found.moved_whole(o, u, share * step)
        assert np.allclose(turned @ turned.transpose(0, 2, 1), np.eye(3), atol=1e-15)
        return np.array([relative_twist(there[k], turned[k], there[k + 1], turned[k + 1]) for k in (1, 2)])

    there, turned = found.moved_whole(o, u, step)
    straight = turn_all(u, np.vstack([np.zeros(3), step[:, 3:]]))
    assert np.allclose(there[1], o[1] + step[0, :3]) and np.allclose(turned[1], straight[1])
    slope = (twists(1e-5) - twists(-1e-5)) / 2e-5
    assert np.allclose(twists(1.0) - twists(0.0), slope, atol=1e-9)
    for share in (1e-6, -1e-6):  # to first order bodies go where the step leads
        there, turned = found.moved_whole(o, u, share * step)
        assert np.allclose(there[1:], o[1:] + share * step[:, :3], atol=1e-10)
        straight = turn_all(u, share * np.vstack([np.zeros(3), step[:, 3:]]))
        assert np.allclose(turned, straight, atol=1e-10)


def test_bodies_go_on_round_the_axes_that_they_turn_about_against_their_carriers():
    """Two arms that turn about one axis each, the second of which the first one carries along, by any angles."""
    _, found = carriers_of([(0, 1), (1, 2)], at(2))
    o, u = np.array([[0.0, 0, 0], [1, 0, 0], [2, 1, 0.5]]), np.stack([np.eye(3)] * 3)
    first, second, elbow = 1.3, -2.4, np.array([1.5, 0, 0])
    spins = np.array([[0, 0, first], [0, 0, first + second]])
    # velocities of origins: the second axis is parallel to the first one and goes round with it
    velocity = [np.cross(spins[0], o[1]), np.cross(spins[0], o[2]) + np.cross(spins[1] - spins[0], o[2] - elbow)]
    there, turned = found.moved_on_screws(o, u, np.hstack([velocity, spins]))
    shoulder, both = (turn_all(np.eye(3)[None], np.array([[0, 0, angle]]))[0] for angle in (first, first + second))
    assert np.allclose(there[1], shoulder @ o[1], atol=1e-14) and np.allclose(turned[1], shoulder, atol=1e-14)
    assert np.allclose(there[2], shoulder @ elbow + both @ (o[2] - elbow), atol=1e-14)
    assert np.allclose(turned[2], both, atol=1e-14)
    assert np.allclose(there[0], 0.0) and np.allclose(turned[0], np.eye(3))


def test_bend_on_screws_is_the_second_derivative_along_them():
    """Of an energy whose own second derivative is known: that of springs from each body to where it was, in space and in turn."""
    _, found = carriers_of([(0, 1), (1, 2), (2, 3), (2, 4), (0, 5)], at(5))
    rng = np.random.default_rng(3)
    before, o = rng.standard_normal((2, 6, 3))
    eye = np.stack([np.eye(3)] * 6)
    u = turn_all(eye, rng.standard_normal((6, 3)))
    u[0] = np.eye(3)

    def energy(step):
        there, turned = found.moved_on_screws(o, u, step.reshape(5, 6))
        # |V - I|^2/4 is 1 - cos of the angle: its own second derivative along a turn about any axis is known, too
        return 0.5 * np.sum((there - before)[1:] ** 2) + 0.25 * np.sum((turned[1:] - np.eye(3)) ** 2)

    torque = 0.5 * np.array([[m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]] for m in u[1:]])
    gradient = np.hstack([(o - before)[1:], torque])
    straight = np.zeros((30, 30))
    for k, m in enumerate(u[1:]):
        straight[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = np.eye(3)
        straight[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = 0.5 * (np.trace(m) * np.eye(3) - 0.5 * (m + m.T))
    whole = straight + found.bend_on_screws(o, gradient, 30).toarray()
    for step in rng.standard_normal((6, 30)):
        up, down = energy(1e-4 * step), energy(-1e-4 * step)
        assert (up - down) / 2e-4 == pytest.approx(gradient.ravel() @ step, abs=1e-5)
        assert (up + down - 2.0 * energy(0.0 * step)) / 1e-8 == pytest.approx(step @ whole @ step, abs=1e-4)


def test_bodies_turned_by_more_than_logarithms_reach_are_not_carried():
    """Beside half a turn against its carrier a body moves straight, and carries what hangs on it."""
    _, found = carriers_of([(0, 1), (1, 2), (2, 3)], at(3))
    o, u = np.array([[0.0, 0, -k] for k in range(4)]), np.stack([np.eye(3)] * 4)
    u[2:] = np.diag([-1.0, -1.0, 1.0])
    step = np.array([[0, 0, 0, 0.2, 0, 0], [0, 0, 0, 0.1, 0, 0], [0, 0.1, 0, 0.1, 0, 0]])
    there, _ = found.moved_whole(o, u, step)
    assert np.allclose(there[2], o[2])
    assert np.allclose(there[3], [0, np.sin(0.1), -2 - np.cos(0.1)])


def test_axes_are_those_of_all_loads_on_what_is_carried_or_of_the_line_where_these_cancel():
    _, found = carriers_of([(0, 1), (1, 2), (2, 3), (2, 4)], at(4))
    o = np.vstack([np.zeros(3), [(0.1 * k, 0, -k) for k in range(1, 5)]])
    loads = np.array([[5.0, 0, 0], [0, 0, -4.0], [0, 3.0, 0], [1 / 3, 0.1, 0.7]])
    axes = dict(zip(found.body.tolist(), found.axes(o, loads), strict=True))
    total = loads[1] + loads[2] + loads[3]
    assert np.allclose(axes[2], total / np.linalg.norm(total)) and np.allclose(axes[3], [0, 1, 0])
    loads[2] = -loads[3] - loads[1] * (1 + 1e-16)
    axes = dict(zip(found.body.tolist(), found.axes(o, loads), strict=True))
    assert np.allclose(axes[2], (o[2] - o[1]) / np.linalg.norm(o[2] - o[1]))
