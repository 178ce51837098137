"""What laws of users' own elements may give: everything else is refused by object, law, value, expectation and remedy."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.elements.base import Channel
from mse.errors import ModelError

INPUT, OUTPUT = (Channel("push", "N"),), (Channel("seen", "m"),)
RESTING = 1.0 / (2 * np.pi)


def squared(frames):
    d = frames[0].o - frames[1].o
    return d @ d


class Own(mse.MObject):
    """A spring of 2 N/m and no length; tests give it more laws."""

    def energy(self, frames, q):
        return squared(frames)


def solved(**laws) -> mse.LinearModel:
    """The linear model of 1 kg and 1 kg m2 on a spring of one's own, with other laws."""
    s = mse.MSystem("s", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=1.0, at=Pose.dx(0.3)))
    own = s.add(type("Magnet", (Own,), laws)("own"))
    s.clamp(s.ground, own.frame(1))
    s.clamp(body.frame(0), own.frame(0))
    return s.find_working_point().linearize()


def law(value):
    """A law that gives this whatever it is asked."""
    return lambda self, *_: value


def refused(*words: str, **laws) -> None:
    with pytest.raises(ModelError) as caught:
        solved(**laws)
    message = str(caught.value)
    for word in ("Magnet 'own': its ", "; expected ", *words):
        assert word in message, message
    assert "\n" not in message


I12 = np.eye(12)
NO_MATRIX = {
    "shape": np.eye(3),
    "number": 3.0,
    "nan": np.where(I12, np.nan, 0.0),
    "infinite": np.inf * np.ones((12, 12)),
    "beyond reckoning": 1e300 * I12,
    "complex": (1.0 + 1e-30j) * I12,
    "text": "heavy",
    "None inside": np.full((12, 12), None),
    "ragged": [[1.0], [1.0, 2.0]],
    "one triangle": np.triu(np.ones((12, 12))),
}


@pytest.mark.parametrize("name", NO_MATRIX)
@pytest.mark.parametrize("which", ["mass_matrix", "damping_matrix"])
def test_matrices_that_are_none(which, name):
    refused(which, **{which: law(NO_MATRIX[name])})


@pytest.mark.parametrize("which, why", [("mass_matrix", "negative kinetic energy"), ("damping_matrix", "feed energy")])
def test_negative_masses_and_dampings(which, why):
    refused(f"its {which} is -3 at [0, 0]", "positive semi-definite", why, **{which: law(-3.0 * I12)})
    small = np.diag([5.0] * 5 + [-2.0] + [5.0] * 6)
    refused("-2 at [5, 5]", why, **{which: law(small)})


def coupled(share: float) -> np.ndarray:
    """Couples x and y of one body with so many kilograms, and has no mass of its own."""
    m = np.zeros((12, 12))
    m[0, 1] = m[1, 0] = share
    return m


def test_a_negative_mass_may_be_right_beside_others():
    """A counterweight takes off what couples the ends of its lever; refused is what is left negative of the whole."""
    with_1_kg = solved(mass_matrix=law(coupled(0.3)))
    assert with_1_kg.M[0, 1] == 0.3 and len(with_1_kg.modes()) == 6
    refused("its mass_matrix has the eigenvalue -30", "the sum over all objects", mass_matrix=law(coupled(30.0)))


def test_what_is_semidefinite_but_for_rounding_counts():
    arm = np.linspace(0.0, 1.0, 12)
    for which in ("mass_matrix", "damping_matrix"):
        for given in (
            np.outer(arm, arm) - 1e-13 * I12,
            (np.outer(arm, arm)).tolist(),
            None,
            0.0 * I12,
            I12.astype(int),
        ):
            assert len(solved(**{which: law(given)}).modes()) == 6


def test_the_first_of_many_that_is_wrong_is_named():
    class Pair(Own):
        def mass_matrix(self, frames, q=()):
            return (-2.0 if self.name == "third" else 1.0) * I12

    s = mse.MSystem("s", gravity=(0, 0, 0))
    for name in ("first", "second", "third", "fourth"):
        pair = s.add(Pair(name))
        s.clamp(s.ground, pair.frame(1))
        s.clamp(s.add(mse.RigidBody(f"body {name}", mass=1.0, inertia=1.0)).frame(0), pair.frame(0))
    with pytest.raises(ModelError, match="Pair 'third': its mass_matrix is -2"):
        s.find_working_point().linearize()


def test_a_body_of_ones_own_is_asked_for_its_mass_before_the_search():
    class Lump(mse.MObject):
        frame_names = ("center",)

        def mass_matrix(self, frames, q=()):
            return 3.0

    s = mse.MSystem("s", gravity=(0, 0, 0))
    s.clamp(s.add(Lump("lump")).frame(0), s.add(mse.RigidBody("body", mass=1.0, inertia=1.0)).frame(0))
    with pytest.raises(ModelError, match=r"Lump 'lump': its mass_matrix has shape \(\); expected .* shape \(6, 6\)"):
        s.find_working_point()


def test_what_a_law_raises_names_it():
    for which in ("mass_matrix", "damping_matrix", "forces", "stiffness_parts"):
        refused(f"{which} failed: ZeroDivisionError", "called as", **{which: lambda self, *_: 1 / 0})
    refused("input_map failed: KeyError", inputs=INPUT, input_map=lambda self, frames: {}["a"])


@pytest.mark.parametrize(
    "value", [None, np.ones((12, 2)), np.ones(12), np.full((12, 1), np.nan), 1j * np.ones((12, 1)), "push"],
    ids=["None", "shape", "vector", "nan", "complex", "text"],
)  # fmt: skip
def test_maps_of_inputs_and_outputs(value):
    refused("input_map", "forces by inputs", inputs=INPUT, input_map=law(value))
    turned = value if value is None or isinstance(value, str) else value.T
    refused("output_map", "outputs by coordinates", outputs=OUTPUT, output_map=law(turned))


def test_channels_without_a_map():
    refused("input_map is None", inputs=INPUT)
    refused("output_map is None", outputs=OUTPUT)


def test_reactions_without_a_map():
    s = mse.MSystem("s", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=1.0, at=Pose.dx(0.3)))
    laws = {"constraint": lambda self, f, q: [squared(f) - 0.09], "reaction_outputs": OUTPUT}
    rod = s.add(type("Rope", (Own,), laws)("rope"))
    s.clamp(s.ground, rod.frame(1))
    s.clamp(body.frame(0), rod.frame(0))
    with pytest.raises(
        ModelError, match=r"Rope 'rope': its reaction_map has shape \(0, 1\); .*reaction outputs by residuals"
    ):
        print(s.find_working_point().reactions)


@pytest.mark.parametrize(
    "value", [None, np.zeros(3), 0.0, np.full(12, np.nan), 1j * np.ones(12), "push", np.zeros((12, 1))],
    ids=["None", "shape", "number", "nan", "complex", "text", "column"],
)  # fmt: skip
def test_forces(value):
    refused("forces", "shape (12,)", forces=law(value))


@pytest.mark.parametrize(
    "value, words",
    [
        (None, "NoneType"),
        ([I12], "list"),
        ({}, "empty"),
        ({"axial": I12}, "axial; expected a matrix for each of its parts total"),
        ({"total": I12, "more": I12}, "total, more"),
        ({"total": np.eye(3)}, "stiffness_parts['total'] has shape (3, 3)"),
        ({"total": np.nan * I12}, "stiffness_parts['total'][0, 0] is nan"),
        ({"total": 1j * I12}, "real numbers"),
        ({"total": np.triu(np.ones((12, 12)))}, "is 1 at [0, 1] and 0 at [1, 0]; expected a symmetric"),
    ],
)
def test_parts_of_the_stiffness(value, words):
    refused(words, stiffness_parts=law(value))


def test_laws_in_order_are_taken():
    """Parts in whatever order, maps as lists, forces and stiffness that the energy has, too."""
    k = np.kron([[2.0, -2.0], [-2.0, 2.0]], np.diag([1.0, 1, 1, 0, 0, 0]))
    linear = solved(
        parts=("axial", "geometric"),
        forces=lambda self, f, q, gravity=None: (
            np.concatenate([2 * (f[1].o - f[0].o), np.zeros(3)] * 2) * np.repeat([1.0, -1.0], 6)
        ),
        stiffness_parts=law({"geometric": 0.0 * k, "axial": k}),
        inputs=INPUT,
        input_map=law(np.ones((12, 1)).tolist()),
    )
    np.testing.assert_allclose(linear.modes().frequencies_hz[3:], np.sqrt(2) * RESTING, rtol=1e-12)
    np.testing.assert_allclose(linear.stiffness_parts["own", "axial"].toarray()[:3, :3], 2 * np.eye(3))
    assert linear.force.toarray().ravel().tolist() == [1.0] * 6


@pytest.mark.parametrize(
    "energy, words",
    [
        (lambda self, f, q: 1j * squared(f), "real number"),
        (lambda self, f, q: 1j, "real number"),
        (lambda self, f, q: np.array([1j, 0, 0]) @ f[0].o, "real number"),
        (lambda self, f, q: squared(f) * np.nan, "not a finite number"),
        (lambda self, f, q: 1e200 * squared(f) ** 2, "at most 1e+60 J"),
        (lambda self, f, q: f[0].o, "expected one number"),
        (lambda self, f, q: None, "is None; expected one real number"),
    ],
    ids=["complex", "complex constant", "complex vector", "nan", "huge", "vector", "None"],
)
def test_energies(energy, words):
    refused(words, energy=energy)
    refused("energy", gravity_energy=lambda self, f, q, gravity: energy(self, f, q))


class TwiceAsStiff(mse.Spring):
    def energy(self, frames, q):
        return 2.0 * super().energy(frames, q)


class Pulled(mse.Spring):
    def forces(self, frames, q, gravity):
        return 2.0 * super().forces(frames, q, gravity)

    def stiffness_parts(self, frames, q, gravity):
        return {name: 2.0 * part for name, part in super().stiffness_parts(frames, q, gravity).items()}


class Above(mse.Revolute):
    """A hinge that holds frame 0 a centimetre above frame 1."""

    def constraint(self, frames, q):
        residual = np.array(super().constraint(frames, q))
        residual[2] -= 0.01
        return list(residual)


def hanging(joint) -> mse.WorkingPoint:
    """1 kg that hangs on an element."""
    s = mse.MSystem("s", gravity=(0, 0, -10.0))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose.dz(-0.6)))
    s.add(joint, between=(body, s.ground))
    return s.find_working_point()


@pytest.mark.parametrize("cls", [TwiceAsStiff, Pulled, type("Derived", (TwiceAsStiff,), {})])
def test_a_law_that_a_spring_is_given_anew_counts_in_place_of_its_kernel(cls):
    own, twice = hanging(cls("k", length=0.5, stiffness=100.0)), hanging(mse.Spring("k", length=0.5, stiffness=200.0))
    assert own.poses["body.center"].o[2] == pytest.approx(-0.55, abs=1e-12)
    frequencies = [wp.linearize().modes().frequencies_hz for wp in (own, twice)]
    np.testing.assert_allclose(*frequencies, rtol=0, atol=1e-9)


def test_a_constraint_that_a_hinge_is_given_anew_counts_in_place_of_its_kernel():
    wp = hanging(Above("hinge", axis=(0, 1, 0), stiffness=2.0))
    assert wp.poses["body.center"].o[2] == pytest.approx(0.01, abs=1e-14)
    assert wp.reactions["hinge"][2] == pytest.approx(-10.0, abs=1e-12)


def test_a_class_may_name_a_kernel_beside_its_law():
    own = type("Own", (mse.Spring,), {"energy": mse.Spring.energy, "kernel": mse.Spring.kernel})
    assert own.kernel is mse.Spring.kernel and TwiceAsStiff.kernel is None
    assert Above.constraint_kernel is None and Above.kernel is mse.Revolute.kernel
