"""Working points and assembled stiffness against differences, symmetries and equivalences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mse
from models import four_wire_chain, hanging_stages
from mse import Pose
from mse.kernels.rotations import turn_all
from mse.model.assembly import Assembly
from mse.model.configuration import Configuration, State
from mse.model.initial_poses import initial_poses
from mse.model.topology import Topology


class Gum(mse.MObject):
    """``W = k/4 |o1 - o0|^4``: a user's element of an energy alone."""

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.25 * 40.0 * (d @ d) ** 2


class Slider(mse.MObject):
    """``W = k/2 (z0 - z1 - q)^2 + k/2 q^2``: a user's element with an internal coordinate."""

    coordinate_names = (mse.coordinate("slip", unit="m"),)

    def energy(self, frames, q):
        gap = frames[0].o[2] - frames[1].o[2]
        return 0.5 * 200.0 * (gap - q[0]) ** 2 + 0.5 * 300.0 * q[0] ** 2

    def mass_matrix(self, frames, q=()):
        m = np.zeros((13, 13))
        m[12, 12] = 0.1
        return m


def every_kind(seed: int) -> mse.MSystem:
    """Two bodies held by every kind of element at random frames, far from equilibrium."""
    rng = np.random.default_rng(seed)

    def anywhere():
        return Pose(rng.uniform(-0.3, 0.3, 3), Pose.rotation(rng.uniform(-1, 1, 3)).U)

    s = mse.MSystem("every kind", gravity=rng.uniform(-10, 10, 3))
    bodies = [
        s.add(mse.RigidBody(f"b{k}", mass=2.0 + k, inertia=(0.1, 0.12, 0.15), at=Pose.dz(-1.0 - k) @ anywhere()))
        for k in (0, 1)
    ]
    couplings = [
        mse.Spring("spring", length=0.4, stiffness=60.0),
        mse.Spring("zero", length=0.0, stiffness=35.0),
        mse.Wire("wire", length=0.6, young_modulus=3e3, poisson_ratio=0.3, radius=0.1),
        mse.Bushing("bushing", stiffness=_spd(rng), preload=rng.uniform(-5, 5, 6)),
        Gum("gum"),
        Slider("slider"),
    ]
    for c, (a, b) in zip(couplings, itertools.cycle([(s.ground, bodies[0]), (bodies[0].frame(0), bodies[1])])):
        s.add(c)
        s.clamp(a, c.frame(1), anywhere())
        s.clamp(b.frame(0), c.frame(0), anywhere())
    return s


def _spd(rng) -> np.ndarray:
    a = rng.uniform(-1, 1, (6, 6))
    return 20.0 * (a @ a.T + np.eye(6))


class Bench:
    """A system's total energy, gradient and stiffness as functions of small motions from its initial poses."""

    def __init__(self, system):
        self.t = Topology(system)
        self.a = Assembly(self.t, self.t.unit)
        o, u = initial_poses(self.t)
        frames = self.t.frame_poses(o, u)
        q = np.random.default_rng(0).uniform(-0.1, 0.1, self.t.internal)
        self.state = State(o, u, q, tuple(g.initial_memory(*frames) for g in self.a.groups))

    def at(self, x, order=1):
        units = self.t.units - 1
        six = x[: 6 * units].reshape(-1, 6)
        o, u = self.state.o.copy(), self.state.U.copy()
        o[1:] += six[:, :3]
        u[1:] = turn_all(u[1:], np.ascontiguousarray(six[:, 3:]))
        q = self.state.q + x[6 * units :]
        return self.a.total(Configuration.of(self.t, State(o, u, q, self.state.memory)), order)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_assembled_force_and_stiffness_are_derivatives_of_the_total_energy(seed):
    bench = Bench(every_kind(seed))
    n = bench.t.size
    _, _, gradient, _, k = bench.at(np.zeros(n), 2)
    k = k.toarray()
    assert np.abs(gradient).max() > 1.0  # far from equilibrium, so the lever-arm terms are there
    np.testing.assert_allclose(k, k.T, rtol=0, atol=1e-12 * np.abs(k).max())

    def energy(x):
        return bench.at(x, 0)[0]

    steps = np.eye(n)

    def richardson(f, h):
        a, b, c = f(h), f(h / 2), f(h / 4)
        return (16 * (4 * c - b) / 3 - (4 * b - a) / 3) / 15

    first = np.array([richardson(lambda h, e=e: (energy(h * e) - energy(-h * e)) / (2 * h), 0.02) for e in steps])
    np.testing.assert_allclose(gradient, first, rtol=0, atol=1e-9 * np.abs(first).max())

    def second(e, f):
        def plain(h):
            if e is f:
                return (energy(h * e) - 2 * energy(0 * e) + energy(-h * e)) / h**2
            return (energy(h * (e + f)) - energy(h * (e - f)) - energy(h * (f - e)) + energy(-h * (e + f))) / (4 * h**2)

        return richardson(plain, 0.05)

    expected = np.array([[second(e, f) for f in steps] for e in steps])
    np.testing.assert_allclose(k, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_stiffness_parts_add_up_and_agree_with_the_search(seed):
    wp = hanging_stages(seed).find_working_point()
    linear = wp.linearize()
    k = wp.stiffness.toarray()
    np.testing.assert_allclose(linear.K.toarray(), k, rtol=0, atol=1e-11 * np.abs(k).max())
    total = sum(p.toarray() for p in linear.stiffness_parts.values())
    np.testing.assert_allclose(total, k, rtol=0, atol=1e-11 * np.abs(k).max())
    mechanisms = linear.stiffness_parts.mechanisms()
    assert set(mechanisms) >= {"axial", "geometric", "gravity"}
    np.testing.assert_allclose(sum(m.toarray() for m in mechanisms.values()), k, rtol=0, atol=1e-11 * np.abs(k).max())
    for (_, mechanism), part in linear.stiffness_parts.items():
        if mechanism in ("axial", "torsion", "elastic"):
            assert np.linalg.eigvalsh(part.toarray())[0] > -1e-9 * abs(part).max()


def test_elastic_parts_scale_by_their_factors():
    linear = four_wire_chain(1).find_working_point().linearize()
    lossy = linear.stiffness_parts.total({("wire0_0", "axial"): 1 + 0.01j})
    expected = linear.K + 0.01j * linear.stiffness_parts["wire0_0", "axial"]
    np.testing.assert_allclose(lossy.toarray(), expected.toarray(), rtol=1e-12, atol=1e-9)
    with pytest.raises(mse.UnknownNameError, match="wire0_0 / axial"):
        linear.stiffness_parts["wire0_0", "axail"]


@pytest.mark.slow
@pytest.mark.rounding
@pytest.mark.parametrize("seed", [1, 2])
def test_moved_and_turned_world_gives_the_same_modes(seed):
    """The whole scene, gravity included, translated and turned."""
    reference = hanging_stages(seed).find_working_point()
    world = Pose((3.0, -2.0, 5.0)) @ Pose.rotation((0.7, -1.1, 0.4))
    s = mse.MSystem("turned", gravity=world.U @ np.array([0, 0, -9.81]))
    inner = hanging_stages(seed)
    s.add(inner)
    s.clamp(s.ground, inner.ground, world)
    moved = s.find_working_point()
    assert moved.stable and reference.stable
    a, b = reference.linearize().modes().frequencies_hz, moved.linearize().modes().frequencies_hz
    np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-6)
    # free motions settle where the path leads, so only what is held has to be at the same place
    z = list(reference.tensions)
    np.testing.assert_allclose(
        [moved.tensions[f"hanging {seed}.{n}"] for n in z], [reference.tensions[n] for n in z], rtol=1e-8
    )


def test_renamed_and_reordered_objects_give_the_same_modes():
    a = four_wire_chain(3).find_working_point().linearize().modes().frequencies_hz
    s = mse.MSystem("other order", gravity=(0, 0, -9.81))
    plates = {}
    for k in (2, 0, 1):
        corners = {f"{side}{c}": Pose.dxdydz(0.1 * (1 - 2 * (c % 2)), 0.1 * (1 - 2 * (c // 2)), dz)
                   for side, dz in (("top", 0.01), ("bottom", -0.01)) for c in range(4)}  # fmt: skip
        plates[k] = s.add(
            mse.RigidBody(
                f"p{9 - k}", mass=10.0, inertia=(0.04, 0.05, 0.08), frames=corners, at=Pose.dz(-0.52 * (k + 1) + 0.01)
            )
        )
    for k in (1, 2, 0):
        for c in (3, 1, 0, 2):
            radius = 2e-4 * np.sqrt(1 + 0.2 * (3 - k))
            wire = s.add(mse.Wire(f"w{k}{c}", length=0.5, young_modulus=2e11, poisson_ratio=0.3, radius=radius))
            place = Pose.dxdydz(0.1 * (1 - 2 * (c % 2)), 0.1 * (1 - 2 * (c // 2)), 0.0)
            # ends swapped too
            s.clamp(plates[k].frame(f"top{c}"), wire.frame(1))
            if k:
                s.clamp(wire.frame(0), plates[k - 1].frame(f"bottom{c}"))
            else:
                s.clamp(wire.frame(0), s.ground, place.inverse())
    b = s.find_working_point().linearize().modes().frequencies_hz
    np.testing.assert_allclose(b, a, rtol=1e-10)


def test_one_wire_is_two_halves_in_series():
    """Two half wires with a massless joint between them carry like the whole; the joint's rotations are held by torsion alone."""

    def hanging(halves: bool):
        s = mse.MSystem("wire", gravity=(0, 0, -9.81))
        body = s.add(mse.RigidBody("body", mass=8.0, inertia=(0.1, 0.12, 0.09), at=Pose.dz(-1.0)))
        parameters = {"young_modulus": 2e11, "poisson_ratio": 0.3, "radius": 3e-4}
        if halves:
            upper = s.add(mse.Wire("upper", length=0.5, **parameters))
            lower = s.add(mse.Wire("lower", length=0.5, **parameters))
            s.clamp(upper.frame(0), lower.frame(1))
        else:
            upper = lower = s.add(mse.Wire("whole", length=1.0, **parameters))
        s.clamp(s.ground, upper.frame(1))
        s.clamp(body.frame(0), lower.frame(0))
        return s.find_working_point()

    whole, two = hanging(False), hanging(True)
    np.testing.assert_allclose(two.poses["body.center"].o, whole.poses["body.center"].o, atol=1e-12)
    a, b = whole.linearize(), two.linearize()
    # the joint's tilts have neither mass nor stiffness (a wire does not bend): leave them out
    keep = [k for k, n in enumerate(b.coordinates) if n not in ("upper.0.ax", "upper.0.ay")]
    assert len(keep) == len(b.coordinates) - 2
    reduced = mse.LinearModel.from_matrices(b.M[keep][:, keep], None, b.K[keep][:, keep])
    np.testing.assert_allclose(reduced.modes().frequencies_hz, a.modes().frequencies_hz, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 5, 11])
def test_forces_balance_on_every_body_and_the_ground_carries_the_weight(seed):
    wp = hanging_stages(seed).find_working_point()
    weight = sum(o.mass for o in wp.system.objects if isinstance(o, mse.RigidBody)) * 9.81
    on_ground = sum(f[1, :3] for n, f in wp.forces.items() if f.shape[0] == 2 and _held_by_ground(wp, n))
    np.testing.assert_allclose(on_ground, [0, 0, -weight], atol=1e-8 * weight)
    for name, f in wp.forces.items():
        if f.shape[0] == 2:
            a, b = wp.poses[f"{name}.0"].o, wp.poses[f"{name}.1"].o
            np.testing.assert_allclose(f[0, :3] + f[1, :3], 0, atol=1e-9 * weight)
            np.testing.assert_allclose(f[0, 3:] + f[1, 3:] + np.cross(a - b, f[0, :3]), 0, atol=1e-8 * weight)


def _held_by_ground(wp, name) -> bool:
    topology = Topology(wp.system)
    return topology.unit[topology.frame_labels.index(f"{name}.1")] == 0


def test_newton_converges_quadratically():
    """Errors of the poses near the solution: the exponent doubles at least until rounding."""
    s = mse.MSystem("soft", gravity=(0.5, -0.3, -9.81))
    body = s.add(mse.RigidBody("body", mass=2.0, inertia=(0.02, 0.03, 0.04), at=Pose.dxdydz(0.02, 0.01, -0.55)))
    for k in range(3):
        spring = s.add(mse.Spring(f"spring{k}", length=0.4, stiffness=80.0 + 20 * k))
        place = Pose((0.2 * np.cos(2.1 * k), 0.2 * np.sin(2.1 * k), 0.0))
        s.clamp(s.ground, spring.frame(1), place @ place)
        s.clamp(body.frame(0), spring.frame(0), place)
    relaxation = s.relaxation()
    places = [relaxation.result().poses["body.center"].o]
    for _ in relaxation:
        places.append(relaxation.result().poses["body.center"].o)
    errors = np.linalg.norm(np.array(places) - places[-1], axis=1)
    errors = np.maximum(errors[errors < 0.2], 1e-16)
    orders = np.log(errors[2:] / errors[1:-1]) / np.log(errors[1:-1] / errors[:-2])
    assert len(errors) >= 3 and errors[-1] < 1e-8
    assert orders[0] > 1.8, errors


def test_relaxation_can_be_watched_and_lowers_the_energy():
    relaxation = hanging_stages(7).relaxation()
    energies = [relaxation.history[0].energy] + [s.energy for s in relaxation]
    assert relaxation.converged
    assert np.all(np.diff(energies) <= 1e-9 * abs(energies[-1]))
    assert relaxation.result().stable


@pytest.mark.rounding
def test_stable_search_leaves_the_ridge_and_nearest_stays():
    def upright():
        s = mse.MSystem("upright", gravity=(0, 0, -9.81))
        body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.01, at=Pose.dz(1.0)))
        rod = s.add(mse.Spring("rod", length=1.0, stiffness=1e5))
        s.clamp(s.ground, rod.frame(1))
        s.clamp(body.frame(0), rod.frame(0))
        return s

    down = upright().find_working_point()
    assert down.stable and down.poses["body.center"].o[2] < -1.0
    up = upright().find_working_point(seek="nearest")
    assert up.converged and not up.stable and up.poses["body.center"].o[2] > 0.99
    assert {m.name for m in up.unstable} == {"body.x", "body.y"}
    assert "UNSTABLE" in repr(up)
    growing = up.linearize().modes()
    assert growing.unstable.sum() == 2
    np.testing.assert_allclose(
        growing.eigenvalues[growing.unstable].real, np.sqrt(9.81 / up.poses["body.center"].o[2]), rtol=1e-9
    )


@pytest.mark.slow
def test_initial_strength_reaches_the_same_point_and_options_are_checked():
    """Softened members may let a body wind up on the way, into another equilibrium: those of this system do not."""
    s = hanging_stages(1)
    plain = s.find_working_point()
    for strength in (1e-3, 1e-2, 1e-1):
        stepped = s.find_working_point(options=mse.SearchOptions(initial_strength=strength))
        assert stepped.history[0].strength == strength and stepped.history[-1].strength == 1.0
        assert stepped.energy == pytest.approx(plain.energy, rel=1e-9)
    for strength in (0.0, 1.5, -1.0, np.nan, "weak"):
        with pytest.raises(mse.ModelError, match="SearchOptions: initial_strength is .* greater than 0 and at most 1"):
            mse.SearchOptions(initial_strength=strength)
    for search in (s.find_working_point, s.relaxation, lambda options: plain.update({}, options=options)):
        with pytest.raises(mse.ModelError, match=r"options is 0.5; expected mse.SearchOptions\(...\), or None"):
            search(options=0.5)


@pytest.mark.rounding
@pytest.mark.parametrize(("stiffness", "outcome"), [(1e6, "quiet"), (1e13, "warned"), (1e17, "refused")])
def test_stiffness_beyond_the_digits_of_positions_is_said(stiffness, outcome, caplog):
    s = mse.MSystem("rigid", gravity=(0, 0, -9.81))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=1.0, at=Pose.dz(-1.0)))
    wire = s.add(mse.Spring("wire", length=1.0, stiffness=stiffness))
    s.clamp(s.ground, wire.frame(1))
    s.clamp(mass.frame(0), wire.frame(0))
    if outcome == "refused":
        with pytest.raises(mse.WorkingPointError, match="rounding of the positions alone leaves"):
            s.find_working_point()
        return
    wp = s.find_working_point()
    assert wp.converged
    assert ("so stiff that rounding" in caplog.text) == (outcome == "warned")


def test_wires_that_push_are_pointed_out():
    """The middle wire is too long: a real one would be slack, this one pushes."""
    s = mse.MSystem("three wires", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("body", mass=10.0, inertia=1.0, at=Pose.dz(-1.0)))
    for name, x, length in (("left", -0.3, 1.0), ("right", 0.3, 1.0), ("middle", 0.0, 1.0001)):
        wire = s.add(mse.Wire(name, length=length, young_modulus=2e11, poisson_ratio=0.3, radius=2e-4))
        s.clamp(s.ground, wire.frame(1), Pose.dx(x))
        s.clamp(body.frame(0), wire.frame(0), Pose.dx(x))
    wp = s.find_working_point(seek="nearest")
    pushing = tuple(n for n, t in wp.tensions.items() if t < 0)
    assert wp.slack == pushing
    assert ("Pushing" in repr(wp)) == bool(pushing)
    s["middle"].length = 1.01
    wp = s.find_working_point(seek="nearest")
    assert wp.slack == ("middle",)
    assert "Pushing, where a real one would be slack or buckle: middle" in repr(wp)


@pytest.mark.rounding
def test_a_coordinate_that_carries_nothing_does_not_spoil_the_residual():
    s = mse.MSystem("idle", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=1.0, at=Pose.dz(-0.6)))
    slider, spring = s.add(Slider("slider")), s.add(mse.Spring("spring", length=0.5, stiffness=100.0))
    for held in (slider, spring):
        s.clamp(s.ground, held.frame(1), Pose.dz(-0.5981 if held is slider else 0.0))
        s.clamp(body.frame(0), held.frame(0))
    assert s.find_working_point().relative_residual.max() < 1e-10


@pytest.mark.rounding
@pytest.mark.parametrize("place", [(0.0, 0.0, -0.9), (0.25, -0.2, -0.3), (0.0, 0.1, 0.4)])
def test_free_coordinates_are_named_and_stay_where_they_were_put(place):
    """However far and crooked the way from the start, the spin about the vertical is that of the start."""
    s = mse.MSystem("spinner", gravity=(0, 0, -9.81))
    start = Pose(place) @ Pose.rotation((0.0, 0.0, 1.2))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=(0.01, 0.02, 0.025), at=start))
    hook = s.add(mse.Spring("hook", length=0.5, stiffness=100.0))
    s.clamp(s.ground, hook.frame(1))
    s.clamp(body.frame(0), hook.frame(0), Pose.dz(0.1))
    wp = s.find_working_point()
    assert [m.name for m in wp.free] == ["body.az"] and wp.stable
    np.testing.assert_allclose(wp.poses["body.center"].rotation_vector(), [0, 0, 1.2], atol=1e-9)
    assert "body.az" in repr(wp)


@pytest.mark.slow
def test_forty_random_hanging_systems_reach_a_stable_working_point():
    failed = []
    for seed in range(40):
        try:
            wp = hanging_stages(seed).find_working_point()
        except mse.WorkingPointError as error:
            failed.append((seed, str(error)))
            continue
        k = wp.stiffness.toarray()
        lowest = np.linalg.eigvalsh(k / np.outer(wp.scale, wp.scale))[0]
        if not (wp.stable and wp.relative_residual.max() < 1e-10 and lowest > -1e-9 * np.abs(k).max()):
            failed.append((seed, "not stable or not at rest"))
    assert not failed, failed


class Pushed(mse.MObject):
    """A coordinate of any name that a force pushes and nothing holds."""

    coordinate_names = (mse.coordinate("x", unit="m"),)

    def energy(self, frames, q):
        return -3.0 * q[0] + 0.0 * frames[0].o[0]


@pytest.mark.slow
def test_residuals_have_the_unit_of_their_coordinate_whatever_its_name():
    s = mse.MSystem("s", gravity=(0, 0, 0))
    own = s.add(Pushed("own"))
    for frame in (0, 1):
        s.clamp(s.ground, own.frame(frame))
    with pytest.raises(mse.WorkingPointError, match=r"Largest residual 3 N on own\.x "):
        s.find_working_point()
    s = mse.MSystem("s", gravity=(0, 0, -10.0))
    wire = s.add(mse.Wire("wire", length=1.0, radius=1e-3, young_modulus=2e11, poisson_ratio=0.3))
    s.clamp(s.ground, wire.frame(0))
    s.clamp(wire.frame(1), s.add(mse.RigidBody("z", mass=1.0, inertia=1.0)).frame(0))
    topology = Topology(s)
    assert [topology.force_unit(k) for k in range(6)] == 3 * [" N"] + 3 * [" N m"]
