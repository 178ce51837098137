"""Gyroscopic couplings by kinetic coenergies: coils, rotors and any other terms linear in velocities."""

import numpy as np
import pytest

import mse
from catalogue import Coil
from mse.elements import velocity_laws
from mse.elements.differentiation import FramePose
from mse.elements.parameters import Real
from mse.kernels.rotations import cross_matrix


def free_stage(cls, **frames):
    """A mass on a slide, off its center, and a coil to the ground."""
    system = mse.MSystem("stage")
    mass = system.add(mse.RigidBody("mass", mass=0.05, inertia=1e-5, at=mse.Pose.dz(-0.1)))
    system.add(mse.Prismatic("guide"), between=(mass, system.ground))
    spring = mse.Spring("spring", length=0.1, stiffness=2000.0, damping=0.5)
    system.add(spring, between=(system.ground, mass))
    system.add(cls("coil", bl=10.0, resistance=4.0, inductance=1e-3), between=(system.ground, mass))
    return system


@pytest.mark.parametrize("at_rest", [0.0, 0.3])
def test_a_coil_pushes_by_its_current_and_is_driven_by_its_motion(at_rest):
    """Wherever it is: with a flux that vanishes at rest, and with one that does not."""

    class Shifted(Coil):
        def kinetic(self, frames, q, v):
            return super().kinetic(frames, q, v) + self.bl * v[0] * (at_rest + 0.100245)

    model = free_stage(Shifted).find_working_point().linearize()
    z, charge = model.coordinates.index("mass.z"), model.coordinates.index("coil.charge")
    np.testing.assert_allclose(model.gyroscopic[[charge, z], [z, charge]], [[10.0, -10.0]], rtol=1e-14)
    assert model.Lambda[charge, charge] == 4.0 and model.M[charge, charge] == 1e-3
    rates = np.sort(model.modes(damped=True).eigenvalues.real)
    states = [[0, 1, 0], [-2000.0 / 0.05, -0.5 / 0.05, 10.0 / 0.05], [0, -10.0 / 1e-3, -4.0 / 1e-3]]
    np.testing.assert_allclose(rates, np.sort(np.linalg.eigvals(states).real), rtol=1e-9)


class Spin(mse.MObject):
    """A wheel that turns at a constant rate about an axis of its frame."""

    momentum: Real = Real("about z", unit="N m s", default=2.0)
    frame_names = ("0",)

    def kinetic(self, frames, q, v):
        return self.momentum * frames[0].U[:, 2] @ frames[0].w


def test_a_wheel_whirls():
    """Polar and transverse inertia 0.02, 0.01 kg m2, 40 N m/rad, 100 rad/s: 218.3 rad/s forward, 18.3 rad/s backward."""
    system = mse.MSystem("rotor", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=(0.01, 0.01, 0.02)))
    system.add(mse.Bushing("held", stiffness=[1e4] * 3 + [40.0, 40.0, 1e3]), between=(system.ground, body))
    spin = system.add(Spin("spin"))
    system.clamp(body.frame(0), spin.frame(0))
    model = system.find_working_point().linearize()
    found = 2 * np.pi * model.modes(damped=True).frequencies_hz
    assert np.abs(found - 218.32159566).min() < 1e-8 and np.abs(found - 18.32159566).min() < 1e-8
    np.testing.assert_allclose(model.gyroscopic[3:, 3:].toarray(), -2.0 * cross_matrix([0, 0, 1.0]), atol=1e-15)


class Anything(mse.MObject):
    """Terms linear in all velocities that depend on all coordinates."""

    coordinate_names = (mse.coordinate("charge", unit="C"),)

    def kinetic(self, frames, q, v):
        one, two = frames
        d = two.o - one.o
        flux = np.sin(d @ one.U[:, 0]) + 0.3 * (one.U[:, 1] @ two.U[:, 2]) + 0.2 * q[0] * d[1]
        turns = np.cos(q[0]) * (one.w @ two.U[:, 0]) + (two.w @ d) * q[0] + one.U[0, 1] * (two.w @ one.U[:, 2])
        moves = (one.v @ two.U[:, 1]) * d[2] + (two.v @ one.U[:, 0]) * one.o[1]
        return flux * v[0] + turns + moves + 0.5 * (one.w @ one.w) + 0.1 * v[0] ** 2


class Remembering(Anything):
    """The same by a law that cannot be recorded."""

    def kinetic(self, frames, q, v):
        self._last = super().kinetic(frames, q, v)
        return self._last


def turned(a):
    """exp([a]x) and the matrix that takes rates of a to angular velocities, by their series."""
    x, u, j, term = cross_matrix(a), np.eye(3), np.zeros((3, 3)), np.eye(3)
    for k in range(1, 20):
        j = j + term / k
        term = term @ x / k
        u = u + term
    return u, j


def momenta_of(obj, frames, q, x):
    """Slopes of the coenergy at rest by the rates of true coordinates x (n,), by differences of what is linear in them."""
    placed, to_velocities = [], np.eye(len(x))
    for k, f in enumerate(frames):
        u, j = turned(x[6 * k + 3 : 6 * k + 6])
        placed.append(FramePose(f.o + x[6 * k : 6 * k + 3], u @ f.U))
        to_velocities[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = j
    from mse.elements.differentiation import moving

    def at(velocities):
        moved, own = moving(placed, velocities)
        return obj.kinetic(moved, q + x[12:], own)

    return to_velocities.T @ [0.5 * (at(e) - at(-e)) for e in np.eye(len(x))]


def somewhere(seed):
    rng = np.random.default_rng(seed)
    return [FramePose(rng.normal(size=3), mse.Pose.rotation(rng.normal(size=3)).U) for _ in range(2)], rng.normal(
        size=1
    )


@pytest.mark.parametrize("cls", [Anything, Remembering])
@pytest.mark.parametrize("seed", range(3))
def test_couplings_are_those_of_true_coordinates(cls, seed):
    frames, q = somewhere(seed)
    found = velocity_laws.couplings([cls("a")], [(frames, q)])[0]
    steps = np.eye(13) * 1e-3

    def difference(h):
        return np.array(
            [
                (momenta_of(cls("a"), frames, q, h * s) - momenta_of(cls("a"), frames, q, -h * s)) / (2e-3 * h)
                for s in steps
            ]
        )

    slopes = ((4.0 * difference(1.0) - difference(2.0)) / 3.0).T
    np.testing.assert_allclose(found, slopes - slopes.T, atol=1e-10)
    np.testing.assert_array_equal(found, -found.T)


def test_many_are_coupled_together():
    places = [somewhere(seed) for seed in range(4)]
    together = velocity_laws.couplings([Anything(f"a{k}") for k in range(4)], places)
    for one, place in zip(together, places, strict=True):
        np.testing.assert_allclose(velocity_laws.couplings([Anything("a")], [place])[0], one, rtol=1e-14, atol=1e-15)
    assert velocity_laws.couplings([type("None", (Coil,), {})("c", bl=0.0)], [(places[0][0], np.zeros(1))]) is None


def test_all_objects_of_a_class_are_recorded_once(monkeypatch):
    frames, q = somewhere(0)
    expected = velocity_laws.couplings([Remembering("b")], [(frames, q)])
    monkeypatch.setattr(velocity_laws.Together, "alone", None)
    np.testing.assert_allclose(
        velocity_laws.couplings([Anything("a")], [(frames, q)]), expected, rtol=1e-13, atol=1e-14
    )
    with pytest.raises(TypeError):
        velocity_laws.couplings([Remembering("b")], [(frames, q)])


def test_couplings_are_carried_by_lever_arms():
    """A coil at the ends of arms, and the same law written for the bodies."""
    poses = mse.Pose((0.1, -0.2, 0.3), mse.Pose.rotation((0.2, 0.1, -0.3)).U), mse.Pose.dx(0.4)

    class Reaching(Anything):
        def kinetic(self, frames, q, v):
            moved = []
            for f, pose in zip(frames, poses, strict=True):
                arm = f.U @ pose.o
                moved.append(type(f)(f.o + arm, f.U @ pose.U, f.v + np.cross(f.w, arm), f.w))
            return super().kinetic(moved, q, v)

    found = []
    for cls in (Anything, Reaching):
        system = mse.MSystem("s", gravity=(0, 0, 0))
        own = system.add(cls("own"))
        for k in range(2):
            at = mse.Pose((0.3 * k, 1.0, 0.2), mse.Pose.rotation((0.3, 0.5 * k, 0.1)).U)
            body = system.add(mse.RigidBody(f"b{k}", mass=1.0, inertia=1.0, at=at))
            if cls is Anything:
                system.clamp(body.frame(0), own.frame(k), poses[k])
            else:
                system.clamp(body.frame(0), own.frame(k))
        found.append(system.find_working_point().linearize().gyroscopic.toarray())
    assert np.abs(found[0]).max() > 0.1
    np.testing.assert_allclose(found[0], found[1], atol=1e-13)


def test_a_constant_momentum_couples_nothing():
    def kinetic(self, frames, q, v):
        return 4.0 * frames[1].v[2] + 0.5 * v[0] ** 2

    model = free_stage(type("Constant", (Coil,), {"kinetic": kinetic})).find_working_point().linearize()
    assert model.skew is None and model.Lambda[-1, -1] == 4.0


def test_contents_still_have_no_force_at_rest():
    cls = type("Pushing", (Coil,), {"dissipation": lambda self, frames, q, v: 3.0 * v[0]})
    with pytest.raises(mse.ModelError, match="its dissipation has the slope 3 by the velocity of charge at rest"):
        free_stage(cls).find_working_point().linearize()
