"""Laws of velocities: masses of kinetic coenergies and dampings of contents, against closed forms and built-in elements."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from catalogue import CATALOGUE, Bead, SlidingMass
from mse import Pose
from mse.elements import velocity_laws
from mse.elements.parameters import Real
from mse.errors import ModelError


# -- a bead on a spring in a body ---------------------------------------------------------------------------------
def carried(bead, turn=0.0) -> mse.LinearModel:
    """A free body of 2 kg with a bead, at rest."""
    s = mse.MSystem("s", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=2.0, inertia=(0.3, 0.4, 0.5), at=Pose.rz(turn)))
    s.add(bead, between=(body,))
    s.add(mse.PositionSensor("seen"), between=(body, s.ground))
    return s.find_working_point(seek="nearest").linearize()


@pytest.mark.parametrize("turn", [0.0, 0.7])
def test_a_bead_on_a_spring_in_a_body(turn):
    linear = carried(Bead("bead"), turn)
    m, arm = 0.3, 0.2 * np.array([np.cos(turn), np.sin(turn), 0.0])
    motion = np.zeros((3, 7))
    motion[:, :3], motion[:, 6] = np.eye(3), arm / 0.2
    motion[:, 3:6] = np.cross(np.eye(3), arm).T  # w x arm
    turned = Pose.rz(turn).U
    body = np.zeros((7, 7))
    body[:3, :3], body[3:6, 3:6] = 2.0 * np.eye(3), turned @ np.diag((0.3, 0.4, 0.5)) @ turned.T
    np.testing.assert_allclose(linear.M.toarray(), body + m * motion.T @ motion, rtol=1e-14, atol=1e-15)
    # bead and body against each other, by their reduced mass
    reduced = 0.3 * 2.0 / 2.3
    assert linear.modes().frequencies_hz[-1] == pytest.approx(np.sqrt(50.0 / reduced) / (2 * np.pi), rel=1e-12)


def test_a_mass_follows_its_internal_coordinate():
    obj, frames = CATALOGUE["internal coordinate"].make(), CATALOGUE["internal coordinate"].frames(0)
    for q in (0.0, 0.13):
        slope = np.zeros((3, 13))
        slope[:, :3], slope[:, 6:9] = (0.7 - q) * np.eye(3), (0.3 + q) * np.eye(3)
        slope[:, 12] = frames[1].o - frames[0].o
        found = velocity_laws.matrices([obj], "kinetic", [(frames, np.array([q]))])[0]
        np.testing.assert_allclose(found, obj.mass * slope.T @ slope, rtol=1e-14, atol=1e-16)


# -- a double pendulum --------------------------------------------------------------------------------------------
class DoublePendulum(mse.MObject):
    """Two rods (1 kg, 1 m and 0.7 m, 0.05 and 0.02 kg m2) in the x-z plane, written in their angles from the plumb line."""

    frame_names = ("0",)
    coordinate_names = (mse.coordinate("upper", unit="rad"), mse.coordinate("lower", unit="rad"))

    def gravity_energy(self, frames, q, gravity):
        g = 9.8
        return -g * (0.5 + 1.0) * np.cos(q[0]) - g * 0.35 * np.cos(q[1])

    def kinetic(self, frames, q, v):
        a, b = q[0], q[1]
        first = 0.25 * v[0] ** 2 * 1.0 + 0.05 * v[0] ** 2
        x = v[0] * np.cos(a) + 0.35 * v[1] * np.cos(b)
        z = v[0] * np.sin(a) + 0.35 * v[1] * np.sin(b)
        return 0.5 * (first + x**2 + z**2 + 0.02 * v[1] ** 2)


def test_a_double_pendulum_in_coordinates_and_of_rigid_bodies():
    s = mse.MSystem("in coordinates")
    s.add(DoublePendulum("it"), between=(s.ground,))
    own = s.find_working_point().linearize()
    t = mse.MSystem("of bodies")
    upper = t.add(mse.RigidBody("upper", mass=1.0, inertia=(0.05, 0.05, 0.01), at=Pose.dz(-0.5),
                                frames={"top": Pose.dz(0.5), "end": Pose.dz(-0.5)}))  # fmt: skip
    lower = t.add(
        mse.RigidBody("lower", mass=1.0, inertia=(0.02, 0.02, 0.01), at=Pose.dz(-1.35), frames={"top": Pose.dz(0.35)})
    )
    first = t.add(mse.Revolute("first", axis=(0, 1, 0)))
    second = t.add(mse.Revolute("second", axis=(0, 1, 0)))
    t.clamp(t.ground, first.frame(1))
    t.clamp(upper.frame("top"), first.frame(0))
    t.clamp(upper.frame("end"), second.frame(1))
    t.clamp(lower.frame("top"), second.frame(0))
    bodies = t.find_working_point().linearize()
    np.testing.assert_allclose(own.M.toarray(), [[0.25 + 0.05 + 1.0, 0.35], [0.35, 0.35**2 + 0.02]], rtol=1e-14)
    np.testing.assert_allclose(own.modes().frequencies_hz, bodies.modes().frequencies_hz, rtol=1e-10)


# -- dampers ------------------------------------------------------------------------------------------------------
class Damper(mse.MObject):
    """Takes power from the rate of the distance of two frames."""

    damping: Real = Real("force per speed", unit="N s/m", default=0.7)

    def dissipation(self, frames, q, v):
        d = frames[1].o - frames[0].o
        rate = d @ (frames[1].v - frames[0].v) / np.sqrt(d @ d)
        return 0.5 * self.damping * rate**2


def with_damper(*more) -> mse.LinearModel:
    s = mse.MSystem("s", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=1.0, at=Pose.dxdydz(0.3, 0.4, 0.1)))
    s.add(mse.Bushing("seat", stiffness=30.0), between=(body, s.ground))
    for obj in more:
        s.add(obj, between=(body, s.ground))
    return s.find_working_point().linearize()


def test_a_damper_by_its_content_and_the_built_in_one():
    own = with_damper(Damper("damper"), mse.Spring("spring", length=0.5, stiffness=2.0))
    built_in = with_damper(mse.Spring("spring", length=0.5, stiffness=2.0, damping=0.7))
    assert np.abs(own.Lambda).max() > 0.1
    np.testing.assert_allclose(own.Lambda.toarray(), built_in.Lambda.toarray(), rtol=0, atol=1e-13)
    one, other = (x.modes(damped=True).eigenvalues for x in (own, built_in))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "form", [lambda v: np.linalg.norm(v) ** 3, lambda v: (v @ v) ** 1.5, lambda v: np.abs(v[0]) ** 3]
)
def test_quadratic_drag_damps_nothing_at_rest(form):
    class Drag(mse.MObject):
        frame_names = ("0",)

        def dissipation(self, frames, q, v):
            return 0.4 / 3.0 * form(frames[0].v)

    s = mse.MSystem("s", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=1.0))
    s.add(mse.Bushing("seat", stiffness=30.0), between=(body, s.ground))
    s.add(Drag("drag"), between=(body,))
    wp = s.find_working_point()
    assert not wp.notes
    assert abs(wp.linearize().Lambda).max() == 0.0


# -- by records for all and for each ------------------------------------------------------------------------------
class Remembering(SlidingMass):
    """The bead, which keeps what no record may change."""

    def kinetic(self, frames, q, v):
        self._last = super().kinetic(frames, q, v)
        return self._last


@pytest.mark.parametrize("law", ["kinetic", "dissipation"])
def test_records_for_all_and_for_each_agree(law):
    one, other = SlidingMass("it"), Remembering("it")
    entry = CATALOGUE["internal coordinate"]
    places = [(entry.frames(0), entry.internal(0))]
    found = [velocity_laws.matrices([obj], law, places)[0] for obj in (one, other)]
    np.testing.assert_allclose(*found, rtol=1e-13, atol=1e-15)
    assert np.abs(found[0]).max() > 0.1


def test_what_cannot_be_recorded_is_said():
    entry, said = CATALOGUE["internal coordinate"], []
    places = [(entry.frames(0), entry.internal(0))]
    velocity_laws.matrices([SlidingMass("it")], "kinetic", places, said)
    assert not said
    velocity_laws.matrices([Remembering("it")], "kinetic", places, said)
    assert "differentiated the kinetic of Remembering object by object" in said[0] and "sets _last of" in said[0]

    class Questioning(Bead):
        def kinetic(self, frames, q, v):
            return super().kinetic(frames, q, v) * self.system["body"].mass / 2.0

    s = mse.MSystem("s", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=2.0, inertia=1.0))
    s.add(mse.Bushing("seat", stiffness=30.0), between=(body, s.ground))
    s.add(Questioning("bead"), between=(body,))
    wp = s.find_working_point()
    linear = wp.linearize()
    assert not wp.notes  # the search asks for no masses
    assert 'self.system["body"].mass' in linear.notes[0] and linear.notes[0] in str(linear)
    parts = [wp.linearize(within=names) for names in (["body"], ["seat", "bead"])]
    assert mse.compose("whole", parts).notes == linear.notes


# -- refused ------------------------------------------------------------------------------------------------------
BAD = {
    "a content that feeds": ("dissipation", lambda v: -0.5 * v @ v, ["its dissipation is -1 at", "feeds energy"]),
    "dry friction": ("dissipation", lambda v: 3.0 * np.abs(v[0]), ["slopes from -3 to 3", "frame 0.dx", "round off"]),
    "dry friction in all directions": ("dissipation", lambda v: np.linalg.norm(v), ["slopes from", "round off"]),
    "a force at rest": ("dissipation", lambda v: 3.0 * v[1] + v @ v, ["the slope 3", "frame 0.dy", "as an energy"]),
    "a kink of the curvature": (
        "dissipation", lambda v: np.where(v[0] > 0.0, 2.0, 1.0) * v[0] ** 2, ["no second derivative", "(2 to 4 beside it)"],
    ),
    "a small power": ("dissipation", lambda v: (v @ v) ** 0.75, ["no second derivative"]),
    "an energy at rest": ("kinetic", lambda v: 2.0 + v @ v, ["is 2 J at rest", "expected 0 there", "quadratic"]),
    "a norm": ("kinetic", lambda v: np.sqrt(v @ v), ["slopes from", "quadratic"]),
    "a negative one": ("kinetic", lambda v: -2.0 * v @ v, ["its kinetic is -4 at", "the sum over all objects"]),
    "no number": ("kinetic", lambda v: v, ["shape (3,)", "one number; add its terms up"]),
    "no power": ("dissipation", lambda v: "none", ["real number (W)"]),
    "a failure": ("kinetic", lambda v: v[7], ["kinetic failed", "kinetic(frames, q, v)"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_has_no_place_in_a_linear_model_is_refused(name):
    law, form, words = BAD[name]
    bad = type("Magnet", (mse.MObject,), {
        "frame_names": ("0",), law: lambda self, frames, q, v: form(frames[0].v),
    })("own")  # fmt: skip
    s = mse.MSystem("s", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=1.0))
    s.add(mse.Bushing("seat", stiffness=30.0), between=(body, s.ground))
    s.add(bad, between=(body,))
    with pytest.raises(ModelError) as caught:
        s.find_working_point().linearize()
    message = str(caught.value)
    for word in ("Magnet 'own': its ", "; expected ", *words):
        assert word in message, message


def define(**members):
    return type("Own", (mse.MObject,), members)


@pytest.mark.parametrize(
    ("near", "name"), [("kinetick", "kinetic"), ("disipation", "dissipation"), ("coenergy", "energy")]
)
def test_misspelt_laws_are_refused(near, name):
    with pytest.raises(TypeError, match=f"'{near}' is not part of the MObject contract; did you mean '{name}'"):
        define(**{near: lambda self, frames, q, v: 0.0})


def test_a_class_has_a_law_or_its_matrix():
    for law, matrix in (("kinetic", "mass_matrix"), ("dissipation", "damping_matrix")):
        with pytest.raises(TypeError, match=f"it has {law} and {matrix}.*one or the other"):
            define(**{law: lambda self, frames, q, v: 0.0, matrix: lambda self, frames, q: None})
    with pytest.raises(TypeError, match="kinetic and mass_matrix"):
        type("Heavier", (mse.RigidBody,), {"kinetic": lambda self, frames, q, v: 0.0})


def test_matrices_receive_internal_coordinates_and_those_that_do_not_are_refused():
    class Sliding(Bead):
        kinetic = mse.MObject.kinetic

        def mass_matrix(self, frames, q):
            return np.diag([0.0] * 6 + [1.0 + q[0]])

    assert carried(Sliding("bead")).M[6, 6] == pytest.approx(1.2, rel=1e-12)
    for name in ("mass_matrix", "damping_matrix"):
        with pytest.raises(TypeError, match=rf"class Own: {name} takes only poses; expected {name}\(self, frames, q\)"):
            define(**{name: lambda self, frames: None})
