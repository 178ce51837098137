"""Several laws in one class: what an object has of them is what objects with one law each have together."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mse
from mse import Pose
from mse.elements.differentiation import FramePose
from mse.elements.parameters import Real
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.statics.merit_function import MeritFunction
from mse.statics.stages import Stage


def energy(self, frames, q):
    d = frames[1].o - frames[0].o
    return 0.25 * self.size * 300.0 * (d @ d - 1.2) ** 2 + 2.0 * (frames[0].U[:, 0] @ frames[1].U[:, 1])


def gravity_energy(self, frames, q, gravity):
    return -self.size * 0.7 * (gravity @ (0.3 * frames[0].o + 0.7 * frames[1].o))


def kinetic(self, frames, q, v):
    mid = 0.3 * frames[0].v + 0.7 * frames[1].v
    turn = frames[1].w - frames[0].w
    return 0.5 * self.size * (mid @ mid) + 0.02 * (turn @ turn)


def dissipation(self, frames, q, v):
    apart = frames[1].v - frames[0].v
    return 0.5 * self.size * (apart @ apart) + 0.1 * (frames[0].w @ frames[0].w)


def power(self, frames, q, v, given):
    thrust = self.size * 4.0 * frames[0].U[:, 0] - 0.4 * given.frames[1].v
    spin = np.cross(0.5 * frames[1].U[:, 2], given.frames[1].w)
    return thrust @ frames[0].v + 0.4 * given.frames[1].v @ (frames[0].v - frames[1].v) + spin @ frames[1].w


def constraint(self, frames, q):
    return [frames[1].o[0] - frames[0].o[0] - 1.0, frames[0].U[:, 1] @ frames[1].U[:, 2]]


LAWS = {law.__name__: law for law in (energy, gravity_energy, kinetic, dissipation, power, constraint)}


def of(*laws: str, base: type = mse.MObject, **members) -> type:
    name = "Of" + "And".join(law.title().replace("_", "") for law in laws)
    return type(
        name, (base,), {"size": Real("of its laws", default=1.3), **{law: LAWS[law] for law in laws}, **members}
    )


def between(*objects: mse.MObject) -> mse.WorkingPoint:
    """The working point of two bodies on seats with some objects between them."""
    s = mse.MSystem("two", gravity=(0, 0, -9.81))
    bodies = []
    for k in range(2):
        body = s.add(mse.RigidBody(f"body {k}", mass=1.0 + k, inertia=(0.1, 0.2, 0.3), at=Pose.dx(1.0 * k)))
        seat = s.add(mse.Bushing(f"seat {k}", stiffness=(900.0,) * 3 + (60.0,) * 3, damping=(2.0,) * 6))
        s.clamp(body.frame(0), seat.frame(0))
        s.clamp(s.ground, seat.frame(1), Pose.dx(1.0 * k))
        bodies.append(body)
    for obj in objects:
        s.add(obj)
        for body, frame in zip(bodies, obj.frame_names, strict=False):
            s.clamp(body.frame(0), obj.frame(frame), Pose.dy(0.2))
    return s.find_working_point()


def assert_alike(one: mse.WorkingPoint, other: mse.WorkingPoint) -> None:
    for k in range(2):
        assert one.poses[f"body {k}.center"].is_close(other.poses[f"body {k}.center"], 1e-10, 1e-10)
    a, b = one.linearize(), other.linearize()
    for name in ("M", "Lambda", "K", "gyroscopic"):
        found, expected = (np.asarray(getattr(x, name).toarray()) for x in (a, b))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * max(1.0, np.abs(expected).max()), err_msg=name)
    np.testing.assert_allclose(a.symmetric.K.toarray(), b.symmetric.K.toarray(), rtol=0, atol=1e-6)
    assert a.constraints.shape == b.constraints.shape


COMBINATIONS = [c for n in range(2, len(LAWS) + 1) for c in itertools.combinations(LAWS, n)]


@pytest.mark.parametrize("laws", COMBINATIONS, ids="-".join)
def test_laws_in_one_class_are_those_of_several(laws):
    one = between(of(*laws)("all"))
    assert_alike(one, between(*(of(law)(f"own {law}") for law in laws)))
    assert not one.notes and not one.linearize().notes


@pytest.mark.parametrize("missing", [(), ("energy",), ("kinetic", "constraint")])
def test_laws_without_records_are_those_with(missing):
    """Recorded for each place, as classes whose laws keep something."""

    def keeping(law):
        def kept(self, frames, *given):
            self._last = law(self, frames, *given)
            return self._last

        return kept

    laws = [law for law in LAWS if law not in missing]
    looking = type("Keeping", (of(*laws),), {law: keeping(LAWS[law]) for law in laws})
    found = between(looking("all"))
    assert_alike(found, between(of(*laws)("all")))
    asked = ["energy" in laws or "gravity_energy" in laws, "power" in laws, "constraint" in laws]
    assert len(found.notes) == sum(asked)


BUILT_IN = {
    "spring": (mse.Spring, {"length": 0.9, "stiffness": 300.0, "damping": 3.0}),
    "wire": (mse.Wire, {"length": 0.99, "radius": 1e-3, "young_modulus": 1e9, "poisson_ratio": 0.3}),
    "bushing": (mse.Bushing, {"stiffness": 50.0, "damping": 1.0}),
    "joint": (mse.Spherical, {}),
    "body": (mse.RigidBody, {"mass": 0.4, "inertia": 0.01}),
    "load": (mse.Load, {"force": (1.0, 2.0, 0.0), "axes": "frame"}),
}


def follower(self, frames, q, v, given):
    f, actual = frames[0], given.frames[0]
    push = f.U @ np.array([3.0, 1.0, 0.0]) - 0.8 * actual.v
    return push @ f.v + np.cross(0.3 * f.U[:, 2], actual.w) @ f.w


@pytest.mark.parametrize("name", BUILT_IN)
def test_powers_of_built_in_elements_are_added_to_what_these_do(name):
    cls, given = BUILT_IN[name]
    pushed = type(f"Pushed{cls.__name__}", (cls,), {"power": follower})
    alone = type("Pushing", (mse.MObject,), {"power": follower, "frame_names": ("0",)})
    found = between(pushed("it", **given))
    assert_alike(found, between(cls("it", **given), alone("push")))
    linear = found.linearize()
    assert linear.stiffness_parts["it", "circulatory"].nnz and linear.gyroscopic.nnz
    assert set(linear.stiffness_parts.labels) >= {("it", part) for part in (*cls.parts, "field") if part != "total"}


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name != "load"])  # which has closed forms of its own
def test_all_of_an_object_is_the_sum_of_its_laws(name):
    """What the object itself tells, as its forces and stiffness parts, beside what searches make of it."""
    cls, given = BUILT_IN[name]
    pushed = type(f"Pushed{cls.__name__}", (cls,), {"power": follower})
    it, bare = pushed("it", **given), cls("it", **given)
    alone = type("Pushing", (mse.MObject,), {"power": follower, "frame_names": cls.frame_names})("push")
    poses = between(pushed("it", **given)).poses
    frames = [FramePose(poses[f"it.{name}"].o, poses[f"it.{name}"].U) for name in cls.frame_names]
    none = np.zeros(0)
    np.testing.assert_allclose(
        it.forces(frames, none), bare.forces(frames, none) + alone.forces(frames, none), atol=1e-9
    )
    both = {**bare.stiffness_parts(frames, none), **alone.stiffness_parts(frames, none)}
    found = it.stiffness_parts(frames, none)
    assert list(found) == list(it.parts) == ["field", *cls.parts]
    for part, k in found.items():
        np.testing.assert_allclose(k, both[part], atol=1e-9)


def test_a_weak_power_beside_a_stiff_energy_is_not_taken_for_rounding():
    class Stiff(mse.MObject):
        def energy(self, frames, q):
            d = frames[1].o - frames[0].o - np.array([1.0, 0.0, 0.0])
            return 0.5e9 * (d @ d)

        def dissipation(self, frames, q, v):
            return 0.5e9 * (frames[0].w @ frames[0].w)

        def power(self, frames, q, v, given):
            turning = frames[1].o[0] * frames[1].v[1] - frames[1].o[1] * frames[1].v[0]
            return 0.5 * turning + np.cross([0.0, 0.0, 0.5], given.frames[0].w) @ frames[0].w

    linear = between(Stiff("stiff")).linearize()
    circulatory = linear.stiffness_parts["stiff", "circulatory"].toarray()
    np.testing.assert_allclose(circulatory[6:8, 6:8], [[0.0, 0.5], [-0.5, 0.0]], rtol=1e-12)
    np.testing.assert_allclose(linear.gyroscopic.toarray()[3:5, 3:5], [[0.0, 0.5], [-0.5, 0.0]], rtol=1e-12)


def test_only_the_power_of_an_object_is_raised():
    """The search for what has no energy begins without it, and with the energy of the same object."""
    system = between(of("energy", "power")("all")).system
    bare = between(of("energy")("all")).system
    topologies = [Topology(s) for s in (system, bare)]
    merits = [MeritFunction.of(t, Assembly(t, t.unit)) for t in topologies]
    points = [merits[0].at(Stage(follower_factor=x)).evaluate(merits[0].start, 2) for x in (0.0, 0.5, 1.0)]
    without = merits[1].evaluate(merits[1].start, 2)
    for name in ("gradient", "stiffness"):
        none, half, whole, expected = (np.asarray(getattr(p, name).todense() if name == "stiffness" else p.gradient)
                                       for p in (*points, without))  # fmt: skip
        np.testing.assert_allclose(none, expected, rtol=0, atol=1e-11)
        np.testing.assert_allclose(half, 0.5 * (none + whole), rtol=0, atol=1e-11)
        assert np.abs(whole - none).max() > 0.1


def test_a_magnet_with_an_eddy_drag():
    """``W = c/d^3`` and a drag along its frame: the drop of a floating magnet is damped by ``drag/(2 sqrt(k m))``."""

    class Magnet(mse.MObject):
        strength: Real = Real("energy times distance cubed", unit="J m3", default=1e-3)
        drag: Real = Real("force per speed", unit="N s/m", default=0.5)

        def energy(self, frames, q):
            d = frames[1].o - frames[0].o
            return self.strength / (d @ d) ** 1.5

        def power(self, frames, q, v, given):
            return -self.drag * (given.frames[1].v - given.frames[0].v) @ (frames[1].v - frames[0].v)

    s = mse.MSystem("levitation", gravity=(0, 0, -9.81))
    mass = s.add(mse.RigidBody("mass", mass=0.2, inertia=1e-4, at=Pose.dz(0.2)))
    s.add(mse.Prismatic("guide"), between=(mass, s.ground))
    s.add(Magnet("magnet"), between=(s.ground, mass))
    wp = s.find_working_point()
    height = (3e-3 / (0.2 * 9.81)) ** 0.25
    assert wp.poses["mass.center"].o[2] == pytest.approx(height, rel=1e-12)
    stiffness = 12e-3 / height**5
    (mode,) = wp.linearize().modes(damped=True)
    assert mode.damping_ratio == pytest.approx(0.5 / (2 * np.sqrt(stiffness * 0.2)), rel=1e-10)
    assert wp.linearize().skew is None
