"""Internal coordinates with unit, domain and size: what they are refused for, and where their units are told."""

import pickle
import re
from typing import ClassVar

import numpy as np
import pytest

import mse
from mse.elements import coordinates
from mse.elements.coordinates import Coordinate
from mse.elements.parameters import Real

EPS0 = 8.8541878128e-12


class Capacitor(mse.MObject):
    """Plates at a fixed distance, on a source."""

    capacitance: Real = Real("charge per voltage", unit="F", default=4e-14, above=0.0)
    voltage: Real = Real("of the source", unit="V", default=10.0)
    frame_names = ("0",)
    coordinate_names = (mse.coordinate("charge", unit="C"),)

    def energy(self, frames, q):
        return 0.5 * q[0] ** 2 / self.capacitance - self.voltage * q[0]

    def mass_matrix(self, frames, q):
        m = np.zeros((7, 7))
        m[6, 6] = 1e-3  # an inductance (H)
        return m


class Unnamed(Capacitor):
    coordinate_names = ("charge",)


class Sized(Capacitor):
    coordinate_names = (mse.coordinate("charge", unit="C", size=lambda self: self.capacitance * self.voltage),)


def circuit(cls=Capacitor, **parameters):
    """A body on a spring, with a capacitor on it."""
    system = mse.MSystem("circuit")
    mass = system.add(mse.RigidBody("mass", mass=2.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
    system.add(mse.Spring("spring", length=0.5, stiffness=800.0), between=(system.ground, mass))
    capacitor = system.add(cls("capacitor", **parameters))
    system.clamp(mass.frame(0), capacitor.frame(0))
    return system


# -- declarations -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "domain"), coordinates.DOMAINS.items())
def test_unit_and_domain_follow_from_each_other(name, domain):
    for c in (
        mse.coordinate("q", unit=domain.unit),
        mse.coordinate("q", domain=name),
        mse.coordinate("q", domain=name, unit=domain.unit),
    ):
        assert (c, c.domain, c.unit, c.size) == ("q", name, domain.unit, None)
        assert (c.flow_unit, c.effort_unit) == (domain.flow, domain.effort)
        assert c.is_motion == (name in ("translation", "rotation"))


def test_a_coordinate_is_a_name():
    charge = mse.coordinate("charge", unit="C", size=1e-12)
    assert charge == "charge" and hash(charge) == hash("charge") and {charge: 1}["charge"] == 1
    again = pickle.loads(pickle.dumps(charge))
    assert type(again) is Coordinate and vars(again) == vars(charge) and again == charge
    full = charge.of("upper.coil")
    assert (full, full.unit, full.size) == ("upper.coil.charge", "C", None)


def test_a_unit_of_its_own():
    shape = mse.coordinate("shape", domain="generalized", unit="m kg^0.5", size=2)
    assert (shape.unit, shape.effort_unit, shape.flow_unit, shape.size) == (
        "m kg^0.5", "J/(m kg^0.5)", "m kg^0.5/s", 2.0,
    )  # fmt: skip
    bare = mse.coordinate("shape", domain="generalized")
    assert (bare.unit, bare.effort_unit, bare.flow_unit) == ("", "", "1/s")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "coordinate 'q': neither unit nor domain is given; expected one of them"),
        ({"unit": "pC"}, "coordinate 'q': unit 'pC' belongs to no domain; expected one of m (translation), rad (rotation), C"),
        ({"unit": ""}, "coordinate 'q': unit is ''; expected a word such as 'C'"),
        ({"unit": 3}, "coordinate 'q': unit is 3; expected a word such as 'C'"),
        (
            {"unit": "m", "domain": "electric"},
            "coordinate 'q': unit 'm' and domain 'electric' contradict each other; expected 'C', the unit of that domain",
        ),
        ({"domain": "electrical"}, "coordinate 'q': domain 'electrical' is not known; expected one of translation, rotation"),
        ({"domain": 1}, "coordinate 'q': domain 1 is not known; expected one of translation"),
        ({"unit": "C", "size": 0.0}, "coordinate 'q': its size is 0.0; expected a positive number in its unit; leave it out"),
        ({"unit": "C", "size": -1.0}, "coordinate 'q': its size is -1.0; expected a positive number"),
        ({"unit": "C", "size": np.nan}, "coordinate 'q': its size is nan; expected a positive number"),
        ({"unit": "C", "size": "1 pC"}, "coordinate 'q': its size is '1 pC'; expected a positive number"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused(given, message):
    with pytest.raises(mse.ModelError, match=f"^{re.escape(message)}"):
        mse.coordinate("q", **given)


def test_the_nearest_domain_is_told():
    with pytest.raises(mse.ModelError, match="did you mean 'electric'"):
        mse.coordinate("q", domain="electrik")


@pytest.mark.parametrize("name", ["", " ", "a\nb", 3, None])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(mse.ModelError, match=r"coordinate\(\): name is"):
        mse.coordinate(name, unit="C")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("charge", "class Wrong: coordinate_names is 'charge'; expected a tuple of names; write ('charge',)"),
        (("a.b",), "class Wrong: coordinate_names hold 'a.b'; expected names without '.'"),
        ((3,), "class Wrong: coordinate_names hold 3; expected names"),
        (("q", "q"), "class Wrong: two coordinates are named 'q'; expected different names; rename one"),
        (
            (mse.coordinate("q", unit="C"), mse.coordinate("q", unit="m")),
            "class Wrong: two coordinates are named 'q' with units 'C' and 'm'; expected different names",
        ),
    ],
)
def test_classes_with_wrong_names_are_refused(names, message):
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        type("Wrong", (mse.MObject,), {"coordinate_names": names})


@pytest.mark.parametrize(("size", "told"), [(0.0, "0.0"), (-2e-12, "-2e-12"), (np.inf, "inf"), (None, "None")])
def test_a_size_that_comes_to_no_positive_number_is_refused(size, told):
    cls = type("Odd", (Capacitor,), {"coordinate_names": (mse.coordinate("charge", unit="C", size=lambda _: size),)})
    with pytest.raises(
        mse.ModelError, match=f"Odd 'capacitor', coordinate 'charge': its size is {told}; expected a posi"
    ):
        circuit(cls).find_working_point()
    broken = type(
        "Broken", (Capacitor,), {"coordinate_names": (mse.coordinate("charge", unit="C", size=lambda x: 1 / 0),)}
    )
    with pytest.raises(
        mse.ModelError, match="Broken 'capacitor': the size of its coordinate 'charge' failed: ZeroDivision"
    ):
        circuit(broken).find_working_point()


# -- names without units ----------------------------------------------------------------------------------------------
def test_plain_names_are_lengths_and_said_to_be():
    wp = circuit(Unnamed).find_working_point()
    told = "took charge of Unnamed for a length in meters; declare its unit, such as mse.coordinate('charge', unit='C')"
    assert wp.notes == (told,)
    assert coordinates.unit_of(wp.coordinate_names[-1]) == "m"
    assert circuit().find_working_point().notes == ()
    two = type("Two", (Capacitor,), {"coordinate_names": ("charge", "slip")})
    assert coordinates.undeclared(two("two")).startswith(
        "took charge and slip of Two for lengths in meters; declare their un"
    )


def test_coordinates_of_mse_have_no_note():
    system = mse.MSystem("blade")
    beam = system.add(mse.RoundBeam("beam", length=0.3, radius=5e-3, young_modulus=2e11, density=7800.0, elements=2))
    system.clamp(system.ground, beam.frame(0))
    wp = system.find_working_point()
    assert wp.notes == () and not any(isinstance(name, Coordinate) for name in wp.coordinate_names)


# -- sizes ------------------------------------------------------------------------------------------------------------
def test_a_charge_counts_by_its_energy():
    wp = circuit().find_working_point()
    # as much as the displacement of the body that takes as much energy, on its spring of 800 N/m
    assert wp.scale[-1] == pytest.approx(1 / np.sqrt(4e-14 * 800.0), rel=1e-12)
    assert wp.internal["capacitor.charge"] == pytest.approx(4e-13, rel=1e-14)


def test_a_declared_size_counts_as_the_model_does():
    wp = circuit(Sized).find_working_point()
    assert wp.scale[-1] == pytest.approx(wp.size / 4e-13, rel=1e-14)
    number = type("Fixed", (Capacitor,), {"coordinate_names": (mse.coordinate("charge", unit="C", size=1e-11),)})
    assert circuit(number).find_working_point().scale[-1] == pytest.approx(wp.size / 1e-11, rel=1e-14)


class Quartic(mse.MObject):
    """Coordinates without stiffness where the search begins: pushed by the frame, by a force, and by nothing."""

    frame_names = ("0",)
    coordinate_names = tuple(mse.coordinate(name, unit="C") for name in ("pushed", "loaded", "left"))
    strength: ClassVar[float] = 1.0

    def energy(self, frames, q):
        return 1e9 * q[0] ** 4 - 30.0 * q[0] * frames[0].o[2] + q[1] ** 4 - 7.0 * q[1] + q[2] ** 4


def test_without_stiffness_what_a_coordinate_exerts_counts():
    from mse.model.assembly import Assembly
    from mse.model.topology import Topology
    from mse.statics.merit_function import MeritFunction

    topology = Topology(circuit(Quartic))
    merit = MeritFunction.of(topology, Assembly(topology, topology.unit))
    np.testing.assert_allclose(merit.scale[-3:], [30.0 / 800.0, 7.0 / (800.0 * merit.size), 1.0], rtol=1e-9)


def test_what_is_found_does_not_depend_on_the_unit_of_a_charge():
    """The same capacitor with its charge in C, uC and pC."""
    found = []
    for factor in (1.0, 1e6, 1e12):

        class Counted(Capacitor):
            def energy(self, frames, q, factor=factor):
                x = q[0] / factor
                return 0.5 * x**2 / self.capacitance * (1.0 + frames[0].o[2]) - self.voltage * x

        wp = circuit(Counted).find_working_point()
        found.append((wp.poses["mass.center"].o[2], wp.internal["capacitor.charge"] / factor, wp.scale[-1] * factor))
        assert wp.stable and wp.relative_residual.max() < 1e-10 and not wp.free.named().count("charge")
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-12)


# -- units of results -------------------------------------------------------------------------------------------------
def test_tables_tell_units():
    wp = circuit().find_working_point()
    assert wp.internal.table().rows == (("capacitor.charge", wp.internal["capacitor.charge"], "C"),)
    model = wp.linearize()
    assert model.table().columns[-1].name == "unit" and model.table().rows[-1][-1] == "C"
    assert [row[-1] for row in model.table().rows[:6]] == ["m"] * 3 + ["rad"] * 3
    mode = model.modes()[-1]
    assert mode.table().rows[0][0] == "capacitor.charge" and mode.table().rows[0][-1] == "C"
    assert [coordinates.effort_unit_of(name) for name in wp.coordinate_names] == ["N"] * 3 + ["N m"] * 3 + ["V"]
    plain = mse.LinearModel.from_matrices([[1.0]], None, [[1.0]])
    assert "unit" not in [c.name for c in (*plain.table().columns, *plain.modes()[0].table().columns)]


def test_free_motions_tell_units():
    system = circuit()
    motion = next(m for m in system.find_working_point().free)
    assert "unit" not in [c.name for c in motion.table().columns]
    charge = mse.coordinate("capacitor.charge", unit="C")
    from mse.statics.stability import Motion

    named = Motion.of("loop", np.array([1.0, 0.5]), 0.0, (charge, "mass.x"))
    assert [row[-1] for row in named.table().rows] == ["C", "m"]


def test_models_keep_units(tmp_path):
    model = circuit().find_working_point().linearize()
    model.save(tmp_path / "model.npz")
    again = mse.read_result(tmp_path / "model.npz")
    assert again.coordinates == model.coordinates
    assert [coordinates.unit_of(c) for c in again.coordinates] == ["m"] * 3 + ["rad"] * 3 + ["C"]
    assert again.coordinates[-1].domain == "electric" and type(again.coordinates[0]) is str
    composed = mse.compose("whole", [model])
    assert composed.coordinates[-1].unit == "C" and composed.scale[-1] == model.scale[-1]
    assert pickle.loads(pickle.dumps(model)).coordinates[-1].unit == "C"


def test_given_matrices_have_the_units_of_their_coordinates():
    names = [mse.coordinate("coil.charge", unit="C"), "mass.x"]
    model = mse.LinearModel.from_matrices(np.eye(2), None, np.eye(2), coordinates=names)
    assert model.input_units == ("V", "N") and model.output_units == ("C", "m")
    assert model.frequency_response(np.array([1.0])).unit("coil.charge", "coil.charge") == "C/V"


def test_models_whose_units_clash_are_not_composed():
    one, two = (
        mse.LinearModel.from_matrices([[1.0]], None, [[1.0]], coordinates=[mse.coordinate("a.q", unit=unit)], name=unit)
        for unit in ("C", "m3")
    )
    from dataclasses import replace

    two = replace(two, inputs=("other",), outputs=("other",))
    expected = r"compose\('whole'\): coordinate 'a.q' has the unit C in one model and m3 in another; expected one unit"
    with pytest.raises(mse.ModelError, match=expected):
        mse.compose("whole", [one, two])


def test_labeled_modes_tell_units():
    modes = circuit().find_working_point().linearize().modes()
    assert modes.to_xarray()["unit"].values.tolist() == ["m"] * 3 + ["rad"] * 3 + ["C"]
