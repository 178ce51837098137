"""Powers: forces that come from no energy, against built-in loads and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from models import pushed_rail
from mse import Pose
from mse.elements import velocity_laws
from mse.elements.base import FramePose
from mse.elements.parameters import Array, Real
from mse.errors import ModelError


class Follower(mse.MObject):
    """A force and a torque that turn with their frame."""

    force: Array = Array("along the frame", shape=(3,), unit="N", default=(3.0, 1.0, 0.0))
    torque: Array = Array("along the frame", shape=(3,), unit="N m", default=(0.0, 0.2, 0.1))
    frame_names = ("0",)
    external = True

    def power(self, frames, q, v, given):
        f = frames[0]
        return (f.U @ self.force) @ f.v + (f.U @ self.torque) @ f.w


class Torque(Follower):
    """Along fixed axes."""

    def power(self, frames, q, v, given):
        return self.force @ frames[0].v + self.torque @ frames[0].w


def pushed(push) -> mse.WorkingPoint:
    s = mse.MSystem("pushed", gravity=(0, 0, 0))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
    s.add(mse.Bushing("seat", stiffness=(1e3,) * 3 + (30.0,) * 3), between=(mass, s.ground))
    s.add(push)
    s.clamp(mass.frame(0), push.frame(0), Pose.dy(0.4) @ Pose.rz(0.3))
    return s.find_working_point()


@pytest.mark.parametrize(("cls", "axes"), [(Follower, "frame"), (Torque, "world")])
def test_followers_and_torques_are_those_of_loads(cls, axes):
    load = mse.Load("push", force=(3.0, 1.0, 0.0), torque=(0.0, 0.2, 0.1), axes=axes)
    own, built_in = pushed(cls("push")), pushed(load)
    assert own.poses["mass.center"].is_close(built_in.poses["mass.center"], 1e-12, 1e-12)
    np.testing.assert_allclose(own.forces["push"], built_in.forces["push"], rtol=0, atol=1e-12)
    one, other = own.linearize(), built_in.linearize()
    np.testing.assert_allclose(one.K.toarray(), other.K.toarray(), rtol=0, atol=1e-10)
    assert abs(one.K - one.K.T).max() > 0.01
    assert one.stiffness_parts["push", "circulatory"].nnz
    # two motions of one size, one that grows and one that decays, come in either order
    found, expected = (x.modes(damped=True).eigenvalues for x in (one, other))
    found, expected = (s[np.lexsort((s.real.round(6), s.imag.round(6)))] for s in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("axes", ["frame", "world"])
@pytest.mark.parametrize("seed", range(3))
def test_forces_and_stiffness_are_those_of_loads_off_equilibrium(axes, seed):
    rng = np.random.default_rng(seed)
    force, torque = rng.normal(size=(2, 3))
    own = {"frame": Follower, "world": Torque}[axes]("push", force=force, torque=torque)
    load = mse.Load("push", force=force, torque=torque, axes=axes)
    frames = [FramePose(rng.normal(size=3), Pose.rotation(rng.normal(size=3)).U)]
    np.testing.assert_allclose(own.forces(frames, np.zeros(0)), load.forces(frames, np.zeros(0)), rtol=1e-13)
    one, other = (sum(x.stiffness_parts(frames, np.zeros(0)).values()) for x in (own, load))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-14)


class Remembering(Follower):
    """The same, but it keeps what no record may change."""

    def power(self, frames, q, v, given):
        self._last = super().power(frames, q, v, given)
        return self._last


def test_powers_go_by_records_and_those_without_say_so():
    own, looking = pushed(Follower("push")), pushed(Remembering("push"))
    assert not own.notes
    said = " ".join(looking.notes)
    assert "differentiated the power of Remembering object by object" in said and "sets _last of its object" in said
    np.testing.assert_allclose(own.forces["push"], looking.forces["push"], rtol=0, atol=1e-13)
    np.testing.assert_allclose(own.stiffness.toarray(), looking.stiffness.toarray(), rtol=0, atol=1e-11)


# -- what velocities change ---------------------------------------------------------------------------------------
class Wind(mse.MObject):
    """Drag, and an angular momentum that turns with the frame."""

    drag: Real = Real("force per speed", unit="N s/m", default=0.4)
    square: Real = Real("force per square of speed", unit="N s2/m2", default=7.0)
    momentum: Real = Real("along z of the frame", unit="N m s", default=2.0)
    frame_names = ("0",)

    def power(self, frames, q, v, given):
        own, actual = frames[0], given.frames[0]
        speed = np.sqrt(actual.v @ actual.v)
        spin = np.cross(self.momentum * own.U[:, 2], actual.w)
        return -(self.drag + self.square * speed) * (actual.v @ own.v) + spin @ own.w


def test_drag_damps_and_a_spin_couples_gyroscopically():
    s = mse.MSystem("rotor", gravity=(0, 0, 0))
    disc = s.add(mse.RigidBody("disc", mass=1.0, inertia=(0.01, 0.01, 0.02)))
    s.add(mse.Bushing("seat", stiffness=(100.0,) * 3 + (40.0,) * 3), between=(disc, s.ground))
    s.add(Wind("wind"), between=(disc,))
    linear = s.find_working_point().linearize()
    np.testing.assert_allclose(linear.full_damping.toarray(), np.diag([0.4] * 3 + [0.0] * 3), rtol=0, atol=1e-15)
    skew = np.zeros((6, 6))
    skew[3, 4], skew[4, 3] = 2.0, -2.0
    np.testing.assert_allclose(linear.gyroscopic.toarray(), skew, rtol=0, atol=1e-14)
    # roots of w^2 I - w H - k = 0 for w and -w
    whirl = np.abs(linear.modes(damped=True).eigenvalues)
    assert np.abs(whirl - 18.321595661992319).min() < 1e-10
    assert np.abs(whirl - 218.32159566199232).min() < 1e-9


def test_damping_of_powers_goes_by_records(monkeypatch):
    class Remembering(Wind):
        def power(self, frames, q, v, given):
            self._last = super().power(frames, q, v, given)
            return self._last

    rng = np.random.default_rng(3)
    objects, places = [], []
    for _ in range(3):
        objects.append(dict(zip(("drag", "square", "momentum"), rng.uniform(0.1, 2.0, 3), strict=True)))
        places.append(([FramePose(rng.normal(size=3), Pose.rotation(rng.normal(size=3)).U)], np.zeros(0)))
    said: list[str] = []
    one_by_one = velocity_laws.damping_of_power([Remembering("it", **p) for p in objects], places, said)
    assert "differentiated the power of Remembering object by object" in said[0]
    monkeypatch.setattr(velocity_laws.Together, "alone", None)
    by_record = velocity_laws.damping_of_power([Wind("it", **p) for p in objects], places, said)
    assert len(said) == 1
    np.testing.assert_allclose(by_record, one_by_one, rtol=1e-13, atol=1e-15)
    assert np.abs(by_record).max() > 0.1


def test_a_force_that_does_not_follow_its_reaction_circulates():
    """Masses of 2 and 1 kg on a rail, springs of 100 and 50 N/m, a push of -kp x2 on the first: flutter from 56.25 N/m on."""

    def growth(gain):
        return pushed_rail(gain).find_working_point().linearize().modes(damped=True).eigenvalues

    below, at, above = growth(56.0), growth(56.25), growth(57.0)
    assert np.abs(below.real).max() < 1e-9
    assert above.real.max() > 0.1
    # K = [[150, -50 + kp], [-50, 50]], M = diag(2, 1)
    for found, gain in ((below, 56.0), (above, 57.0)):
        w2 = np.linalg.eigvals(np.array([[75.0, (gain - 50.0) / 2], [-50.0, 50.0]]))
        np.testing.assert_allclose(np.poly(found**2), np.poly(-w2), rtol=1e-9)
    np.testing.assert_allclose(np.abs(at), np.sqrt(62.5), rtol=1e-6)


class Fan(mse.MObject):
    """A push along the velocity, as a flow or a controller makes it."""

    gain: Real = Real("force per speed", unit="N s/m", default=0.5)
    frame_names = ("0",)

    def power(self, frames, q, v, given):
        return self.gain * given.frames[0].v @ frames[0].v


@pytest.mark.parametrize(("gain", "damping"), [(0.5, 0.1), (0.5, 0.7), (30.0, 0.0)])
def test_what_feeds_makes_motions_grow_or_is_held_by_dampers(gain, damping):
    """m s^2 + (c - gain) s + k = 0"""
    s = mse.MSystem("s", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=2.0, inertia=0.1))
    s.add(mse.Bushing("seat", stiffness=(50.0, 50.0, 70.0, 1.0, 1.0, 1.0), damping=damping), between=(body, s.ground))
    s.add(Fan("fan", gain=gain), between=(body,))
    wp = s.find_working_point()
    c = damping - gain
    wanted = np.array([np.roots([2.0, c, k]) for k in (50.0, 50.0, 70.0)])
    assert wp.stable is bool(c > 0) and len(wp.unstable) == (0 if c > 0 else 3 * (2 if c**2 > 8 * 70.0 else 1))
    if c < 0:
        rates = {round(m.growth, 9) for m in wp.unstable}
        assert rates == {round(float(x), 9) for x in wanted.real.ravel()}
    modes = wp.linearize().modes(damped=True)
    for root in wanted.ravel():
        assert (
            np.abs(modes.eigenvalues - root).min() < 1e-9 * abs(root)
            or np.abs(modes.eigenvalues - root.conj()).min() < 1e-9
        )
    assert ("UNSTABLE" in str(modes)) == (c < 0)


# -- refused ------------------------------------------------------------------------------------------------------
BAD = {
    "quadratic": (lambda f, g: f.v @ f.v, ["its power is 0 W without velocities", "linear in the velocities", "given.frames"]),
    "constant": (lambda f, g: 2.0 + f.v[0], ["its power is 2 W without velocities"]),
    "a speed": (lambda f, g: np.abs(f.v[0]), ["its power is 0 W without velocities", "linear in the velocities"]),
    "no number": (lambda f, g: f.v, ["shape (3,)"]),
    "failing": (lambda f, g: f.speed, ["power failed", "power(frames, q, v, given)"]),
    "dry friction": (lambda f, g: -3.0 * np.sign(g.v[0]) * f.v[0], ["on frame 0.dx at rest, and no slope", "round off"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_powers_that_are_none_are_refused(name):
    form, words = BAD[name]
    cls = type("Wind", (mse.MObject,), {
        "frame_names": ("0",), "power": lambda self, frames, q, v, given: form(frames[0], given.frames[0]),
    })  # fmt: skip
    s = mse.MSystem("s", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=1.0))
    s.add(mse.Bushing("seat", stiffness=30.0), between=(body, s.ground))
    s.add(cls("wind"), between=(body,))
    with pytest.raises(ModelError) as caught:
        s.find_working_point().linearize()
    for word in ("Wind 'wind': its power ", "; expected ", *words):
        assert word in str(caught.value), str(caught.value)


def test_a_law_that_puts_a_number_into_a_plain_array_is_told_how_to_write_it():
    class Target(mse.MObject):
        frame_names = ("0",)
        coordinate_names = (mse.coordinate("height", unit="m"),)

        def energy(self, frames, q):
            place = np.zeros(3)
            place[2] = q[0]
            return 50.0 * (place - frames[0].o) @ (place - frames[0].o)

    system = mse.MSystem("target")
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.1))
    system.add(Target("target"), between=(body,))
    with pytest.raises(
        mse.ModelError, match=r"Target 'target': its energy failed.*write x \* np\.array\(\[0, 0, 1\.0\]\)"
    ):
        system.find_working_point()


def test_an_array_of_numbers_of_which_one_depends_on_poses_is_a_vector():
    """``9 z = -sqrt(1 + z^2) + z``."""

    class Pull(mse.MObject):
        frame_names = ("0",)

        def power(self, frames, q, v, given):
            up = np.sqrt(1.0 + frames[0].o @ frames[0].o)
            return (frames[0].o - np.array([0.0, 0.0, up])) @ frames[0].v

    system = mse.MSystem("pulled", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("b", mass=1.0, inertia=1.0))
    system.add(mse.Bushing("k", stiffness=[9, 9, 9, 1, 1, 1]), between=(body, system.ground))
    system.add(Pull("pull"), between=(body,))
    point = system.find_working_point()
    assert point.poses["b.center"].o[2] == pytest.approx(-1.0 / np.sqrt(63.0), rel=1e-9)
    assert not point.notes
