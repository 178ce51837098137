"""Joints as users write them: a class with nothing but ``constraint``, good ones and bad ones."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.errors import ModelError
from mse.numerics.law_functions import rotation_vector
from test_joint_refusals import refused


class Screw(mse.MObject):
    """Turns about z and moves along it by ``pitch`` (m) a radian."""

    def constraint(self, frames, q):
        r = frames[1].U.T @ frames[0].U
        d = frames[1].U.T @ (frames[0].o - frames[1].o)
        return [d[0], d[1], r[0, 2], r[1, 2], d[2] - 0.2 * rotation_vector(r)[2]]


class ScrewByDifferences(Screw):
    differentiation = "differences"


class OnSphere(mse.MObject):
    """One residual as a plain number."""

    def constraint(self, frames, q):
        d = frames[0].o - frames[1].o
        return d @ d - 1.0


class Pinned(mse.MObject):
    """Residuals as an array."""

    def constraint(self, frames, q):
        return frames[0].o - frames[1].o


class Sliding(mse.MObject):
    """Frame 0 on a line at a place that is an internal coordinate, which has mass and a spring of its own."""

    coordinate_names = (mse.coordinate("place", unit="m"),)

    def constraint(self, frames, q):
        return frames[1].U.T @ (frames[0].o - frames[1].o) - q[0] * np.array([0.0, 0.0, 1.0])

    def energy(self, frames, q):
        return 0.5 * 30.0 * q[0] ** 2


def hung(joint, arm, at) -> mse.MSystem:
    s = mse.MSystem("hung", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("body", mass=2.0, inertia=(0.3, 0.4, 0.5), at=at))
    s.add(joint)
    s.clamp(body.frame(0), joint.frame(0), arm)
    s.clamp(s.ground, joint.frame(1))
    return s


@pytest.mark.slow
@pytest.mark.parametrize(("cls", "close"), [(Screw, 1e-12), (ScrewByDifferences, 1e-7)])
def test_a_screw_of_the_user_s_own(cls, close):
    """On a torsion spring: ``z = pitch k_t`` under weight, one motion with the inertia of both."""
    s = hung(cls("screw"), Pose(), Pose())
    spring = s.add(mse.Bushing("spring", stiffness=(0, 0, 0, 0, 0, 3.0)))
    s.clamp(s["body"].frame(0), spring.frame(0))
    s.clamp(s.ground, spring.frame(1))
    wp = s.find_working_point()
    angle = -2.0 * 9.81 * 0.2 / 3.0
    expected = Pose.dz(0.2 * angle) @ Pose.rz(angle)
    assert wp.poses["body.center"].is_close(expected, 1e-9, 1e-9)
    # it stands: all weight is carried by the screw's thread
    np.testing.assert_allclose(wp.forces["screw"][0], [0, 0, 2 * 9.81, 0, 0, 3.0 * angle], atol=1e4 * close)
    frequency = np.sqrt(3.0 / (0.5 + 2.0 * 0.2**2)) / (2 * np.pi)
    np.testing.assert_allclose(wp.linearize().modes().frequencies_hz, [frequency], rtol=1e3 * close)


@pytest.mark.parametrize(("cls", "motions"), [(OnSphere, 5), (Pinned, 3)])
def test_residuals_as_a_number_and_as_an_array(cls, motions):
    wp = hung(cls("own"), Pose() if cls is OnSphere else Pose.dz(1.0), Pose.dz(-1.0)).find_working_point()
    assert wp.freedoms == motions
    np.testing.assert_allclose(wp.forces["own"][0], [0, 0, 2 * 9.81, 0, 0, 0], atol=1e-9)
    swing = [np.sqrt(9.81)] * 2 if cls is OnSphere else [np.sqrt(2 * 9.81 / (2 + j)) for j in (0.4, 0.3)]
    found = wp.linearize().modes().frequencies_hz
    np.testing.assert_allclose(found[-2:], np.array(swing) / (2 * np.pi), rtol=1e-9)
    np.testing.assert_allclose(found[:-2], 0, atol=1e-7)


def test_a_constraint_on_an_internal_coordinate():
    wp = hung(Sliding("own"), Pose(), Pose()).find_working_point()
    assert wp.internal["own.place"] == pytest.approx(-2.0 * 9.81 / 30.0, rel=1e-10)
    assert wp.poses["body.center"].o[2] == pytest.approx(-2.0 * 9.81 / 30.0, rel=1e-10)
    found = wp.linearize().modes().frequencies_hz
    assert found[-1] == pytest.approx(np.sqrt(30.0 / 2.0) / (2 * np.pi), rel=1e-10)


# -- bad ones ---------------------------------------------------------------------------------------------------------
def ends(frames):
    return frames[0].o - frames[1].o


def raising(error):
    def law(self, frames, q):
        raise error

    return law


def changing(self, frames, q):
    """Three residuals, or one where frame 0 is near."""
    d = ends(frames)
    return d if float(np.asarray(getattr(d, "value", d)) @ np.asarray(getattr(d, "value", d))) > 0.3 else [d[0]]


BAD = {
    "nan": (lambda self, frames, q: ends(frames) * np.nan, ["not a finite number", "start elsewhere"]),
    "one nan": (lambda self, frames, q: [ends(frames)[0], np.nan], ["not a finite number"]),
    "two dimensions": (lambda self, frames, q: np.outer(ends(frames), ends(frames)), [r"shape \(3, 3\)", "list"]),
    "list of vectors": (lambda self, frames, q: [ends(frames), ends(frames)], [r"shape \(2, 3\)", "list"]),
    "ragged": (lambda self, frames, q: [ends(frames), ends(frames)[0]], ["constraint"]),
    "nothing": (lambda self, frames, q: None, ["is None", "real numbers"]),
    "text": (lambda self, frames, q: "three", ["'three'", "real numbers"]),
    "list of text": (lambda self, frames, q: ["three"], ["three", "real numbers"]),
    "complex": (lambda self, frames, q: [1j], ["1j", "real numbers"]),
    "truth": (lambda self, frames, q: [True], ["True", "real numbers"]),
    "changing": (changing, [r"\(1,\)", r"\(3,\)"]),
    "wrong arguments": (lambda self, frames: ends(frames), ["constraint", r"constraint\(frames, q\)"]),
    "index": (lambda self, frames, q: frames[2].o, ["constraint failed", "out of range"]),
    "raises": (raising(ValueError("no such place")), ["constraint failed", "no such place"]),
    "divides": (raising(ZeroDivisionError("by nothing")), ["constraint failed", "by nothing"]),
    "name": (lambda self, frames, q: frames[0].origin, ["constraint failed", "origin"]),
}  # fmt: skip


@pytest.mark.parametrize("way", ["exact", "differences"])
@pytest.mark.parametrize("bad", BAD)
def test_a_bad_constraint_is_refused_by_name(bad, way):
    law, words = BAD[bad]
    cls = type("Bad", (mse.MObject,), {"constraint": law, "differentiation": way})
    with np.errstate(all="ignore"), refused(ModelError, "Bad 'own'", *words):
        hung(cls("own"), Pose(), Pose.dz(-1.0)).find_working_point()


def test_a_count_that_is_not_kept_is_refused():
    cls = type("Bad", (mse.MObject,), {"constraint": lambda self, frames, q: ends(frames), "constraint_count": 2})
    with refused(ModelError, "Bad 'own'", r"shape \(3,\)", r"\(2,\)"):
        hung(cls("own"), Pose(), Pose.dz(-1.0)).find_working_point()


def test_a_misspelled_constraint_is_refused():
    with refused(TypeError, "class Bad", "'constrain'", "did you mean 'constraint'"):
        type("Bad", (mse.MObject,), {"constrain": lambda self, frames, q: ends(frames)})


def test_a_constraint_that_can_never_hold_is_refused():
    cls = type("Never", (mse.MObject,), {"constraint": lambda self, frames, q: [1.0 + 0.0 * ends(frames)[0]]})
    with refused(ModelError, "Never 'own' misses by 1", "cannot be put together"):
        hung(cls("own"), Pose(), Pose.dz(-1.0)).find_working_point()


@pytest.mark.parametrize("units", [("m", "m"), ("mm", "m", "m"), "mmm", None])
def test_units_of_residuals_that_are_none_are_refused_by_name(units):
    """Where joints share, torques are compared with forces by what unit a residual has."""
    bad = type("Oddly", (Pinned,), {"constraint_units": units})
    s = hung(bad("pin"), Pose.dz(1), Pose.dz(-1))
    again = s.add(bad("twin"))
    s.clamp(s.ground, again.frame(1))
    s.clamp(s["body"].frame(0), again.frame(0), Pose.dz(1))
    with pytest.raises(
        ModelError, match=r"'(pin|twin)': its constraint_units are .*; expected 'm', 'rad' or ''.*3 residuals"
    ):
        s.find_working_point()
