"""Parameters by name: listed, read, set and copied; every bad value refused with object, value and expectation."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import mse
from catalogue import CATALOGUE
from mse import Pose
from mse.elements.losses import Loss
from mse.elements.parameters import Array, Real
from mse.errors import ModelError, UnknownNameError
from mse.pose import IDENTITY

EVERY = pytest.mark.parametrize("entry", CATALOGUE.values(), ids=list(CATALOGUE))

# Names and SI units, in the order in which they are listed.
LOSSY = {"loss": "", "temperature": "K"}
LOSSLESS = {"loss": 0.0, "temperature": 300.0}
TAUT = {"tension_only": False}
DECLARED = {
    mse.Spring: {"length": "m", "stiffness": "N/m", "damping": "N s/m"} | LOSSY | {"tension_only": ""},
    mse.Wire: {"length": "m", "young_modulus": "Pa", "poisson_ratio": "", "radius": "m", "damping": "N s/m"}
    | LOSSY
    | {"tension_only": ""},
    mse.Bushing: {"stiffness": "N/m, N, N m", "damping": "N s/m, N s, N m s", "preload": "N, N m"} | LOSSY,
    mse.RigidBody: {"mass": "kg", "inertia": "kg m2"},
    mse.MSystem: {"gravity": "m/s2"},
    mse.PositionActuator: {},
    mse.ForceActuator: {"axes": ""},
    mse.PositionSensor: {},
    mse.ForceSensor: {},
}

# What has no default that an engineer would accept unseen, and must be given.
GIVEN = {
    mse.Wire: {"length": 1.0, "young_modulus": 2e11, "poisson_ratio": 0.3, "radius": 2e-4},
    mse.RigidBody: {"mass": 1.0},
    mse.Rod: {"length": 1.0},
    mse.Beam: {"length": 1.0, "width": 0.02, "height": 0.002},
    mse.RoundBeam: {"length": 1.0, "radius": 0.001},
    mse.SectionBeam: {
        "length": 1.0, "area": 1e-4, "second_moment_y": 1e-9, "second_moment_z": 1e-9, "torsion_constant": 1.4e-9,
    },
    mse.TabulatedLink: {"table": ([1.0, 2.0], [3.0 + 0.1j, 4.0])},
    mse.EddyCurrentDamper: {"damping": 1.0},
    mse.GasSpring: {"stiffness": 500.0},
    mse.Resistor: {"resistance": 8.0},
    mse.Capacitor: {"capacitance": 1e-6},
    mse.Inductor: {"inductance": 1e-3},
    mse.Transformer: {"primary": 1e-3, "secondary": 1e-3, "coupling": 0.9},
    mse.CoupledInductors: {"inductance": [[1e-3, 5e-4], [5e-4, 2e-3]]},
    mse.FlowResistance: {"resistance": 3e5},
    mse.Inertance: {"inertance": 1.5e8},
    mse.Compliance: {"compliance": 3e-12},
    mse.Accumulator: {"pressure": 1e5, "gas_volume": 1e-4},
    mse.HydraulicCylinder: {"area": 1e-3},
    mse.VoiceCoil: {"bl": 8.0},
    mse.Amplifier: {"gain": 10.0},
    mse.Gyrator: {"resistance": 50.0},
    mse.HeatCapacity: {"capacity": 1.0},
    mse.HeatConductor: {"conductance": 1.0},
    mse.Heater: {"resistance": 10.0},
    mse.ThermalSpring: {"stiffness": 1e5, "length": 0.1, "expansion": 1e-5, "capacity": 1.0},
    mse.PlateCapacitor: {"sides": (0.01, 0.01), "gap": 1e-3},
    mse.PiezoStack: {"stiffness": 5e7, "stroke": 1e-7, "capacitance": 2e-6},
    mse.RollingDisc: {"radius": 0.3},
    mse.RollingSphere: {"radius": 0.3},
    mse.FlexibleBody: {"M": np.eye(6), "K": np.zeros((6, 6))},
}  # fmt: skip

# Defaults of the manual: 2.8 (gravity), 2.12 (spring); whatever else is not given is not there.
DEFAULTS = {
    (mse.Spring, "length"): 1.0,
    (mse.Spring, "stiffness"): 1.0,
    (mse.Spring, "damping"): 0.0,
    (mse.Wire, "damping"): 0.0,
    (mse.RigidBody, "inertia"): np.zeros((3, 3)),
    (mse.Bushing, "stiffness"): np.zeros((6, 6)),
    (mse.Bushing, "damping"): np.zeros((6, 6)),
    (mse.Bushing, "preload"): np.zeros(6),
    (mse.ForceActuator, "axes"): "frame",
    **{(cls, name): value for cls in (mse.Spring, mse.Wire, mse.Bushing) for name, value in LOSSLESS.items()},
    **{(cls, "tension_only"): False for cls in (mse.Spring, mse.Wire)},
    (mse.MSystem, "gravity"): [0.0, 0.0, -9.8],
}


def made(cls, **parameters):
    """An object of the class with what must be given, and these parameters."""
    options = {"interfaces": {"a": Pose()}} if cls is mse.FlexibleBody else {}
    return cls("it", **options, **(GIVEN.get(cls, {}) | parameters))


@pytest.mark.parametrize("cls", DECLARED, ids=lambda c: c.__name__)
def test_parameters_are_listed_in_order_with_units(cls):
    obj = made(cls)
    assert list(obj.parameters) == list(DECLARED[cls])
    assert len(obj.parameters) == len(DECLARED[cls])
    assert {n: p.unit for n, p in cls.declared_parameters.items()} == DECLARED[cls]


@pytest.mark.parametrize("cls, name", DEFAULTS, ids=lambda v: getattr(v, "__name__", v))
def test_defaults_are_those_of_the_manual(cls, name):
    np.testing.assert_array_equal(made(cls).parameters[name], DEFAULTS[cls, name])


def test_every_parameter_has_a_default_in_the_list_above_or_must_be_given():
    required = {(c, n) for c, names in GIVEN.items() for n in names}
    assert {(c, n) for c, names in DECLARED.items() for n in names} == set(DEFAULTS) | {
        (c, n) for c, n in required if c in DECLARED
    }
    classes = {type(entry.make()) for entry in CATALOGUE.values()}
    shipped = {c for c in classes if c.__module__.startswith("mse.")}
    assert {(c, n) for c in shipped for n, p in c.declared_parameters.items() if p.required} == required


@pytest.mark.parametrize("cls", GIVEN, ids=lambda c: c.__name__)
def test_what_must_be_given_is_named_with_its_unit_and_what_to_write(cls):
    for name in GIVEN[cls]:
        others = {n: v for n, v in GIVEN[cls].items() if n != name}
        options = {"interfaces": {"a": Pose()}} if cls is mse.FlexibleBody else {}
        with pytest.raises(ModelError) as caught:
            cls("it", **options, **others)
        p = cls.declared_parameters[name]
        unit = f" ({p.unit})" if p.unit else ""
        assert str(caught.value) == (
            f"{cls.__name__} 'it': {name}{unit} missing; expected a value, since no default would suit; write "
            f"{cls.__name__}('it', {name}=...)"
        )
        assert "must be given" in p.__doc__ and p.description in p.__doc__


def test_all_that_is_missing_is_named_at_once_and_wrong_values_and_names_before():
    with pytest.raises(
        ModelError, match=r"length \(m\), poisson_ratio, radius \(m\) missing; .*Wire\('w', length=\.\.\., p"
    ):
        mse.Wire("w", young_modulus=2e11)
    with pytest.raises(ModelError, match="radius is -1.0 m"):
        mse.Wire("w", radius=-1.0)
    with pytest.raises(ModelError, match="did you mean 'radius'"):
        mse.Wire("w", radus=1.0)


@pytest.mark.parametrize(
    "cls", [mse.Spring, mse.RigidBody, mse.Beam, mse.Gear, mse.FlexibleBody, mse.MSystem, mse.Load]
)
def test_parameters_are_given_by_name(cls):
    first = next(iter(cls.declared_parameters))
    with pytest.raises(ModelError) as caught:
        cls("it", 3.0)
    assert str(caught.value) == (
        f"{cls.__name__} 'it': 3.0 is given without a name; expected parameters by name, such as "
        f"{cls.__name__}('it', {first}=...)"
    )


def test_own_classes_may_take_what_they_like_by_place():
    class Pair(mse.MObject):
        def __init__(self, name, first, second=2.0):
            super().__init__(name)
            self.both = first, second

    assert Pair("it", 1.0).both == (1.0, 2.0) and Pair("it", 1.0, 3.0).both == (1.0, 3.0)
    with pytest.raises(ModelError, match="Pair 'it': 3.0 is given without a name"):
        Pair("it", 1.0, 2.0, 3.0)


def test_signatures_list_the_parameters_and_which_must_be_given():
    assert str(inspect.signature(mse.Rod)) == "(name, *, length, at=None)"
    wire = inspect.signature(mse.Wire).parameters
    assert (
        next(iter(wire)) == "name"
        and list(wire)[-2:] == ["at", "material"]
        and set(wire) == {"name", "at", "material", *mse.Wire.declared_parameters}
    )
    assert list(inspect.signature(mse.Spring).parameters) == [
        "name", "length", "stiffness", "damping", "loss", "temperature", "tension_only", "at",
    ]  # fmt: skip
    assert list(inspect.signature(mse.Beam).parameters)[:5] == ["name", "length", "width", "height", "young_modulus"]
    assert {n for n, p in wire.items() if p.default is p.empty} == {"name", *GIVEN[mse.Wire]}
    assert list(inspect.signature(mse.RigidBody).parameters) == [
        "name", "mass", "inertia", "at", "frames", "shape", "density"
    ]  # fmt: skip

    class Sized(mse.MObject):
        def __init__(self, name, *, size=1.0, **parameters):
            super().__init__(name, size=2.0 * size, **parameters)

        size = Real("what its constructor doubles")

    assert str(inspect.signature(Sized)) == "(name, *, size=1.0)" and Sized("it").size == 2.0


def test_a_gear_names_joints_and_a_flexible_body_interfaces():
    with pytest.raises(ModelError, match="Gear 'g': joints is None; expected ratios by joint"):
        mse.Gear("g")
    with pytest.raises(ModelError, match="Gear 'g': no parameter 'OFFSET'"):
        mse.Gear("g", OFFSET=1)
    with pytest.raises(ModelError, match="FlexibleBody 'f': interfaces is None; expected at least one name and pose"):
        mse.FlexibleBody("f", M=np.eye(6), K=np.zeros((6, 6)))


def test_an_own_parameter_without_a_default_must_be_given_and_survives_a_file(tmp_path):
    class Tether(mse.MObject):
        strength = Real("energy per distance", unit="J/m")
        seat = Array("where it starts", shape=(3,), unit="m")

        def energy(self, frames, q):
            return self.strength * (frames[0].o @ frames[0].o + self.seat @ self.seat)

    with pytest.raises(
        ModelError, match=r"Tether 't': strength \(J/m\), seat \(m\) missing; .*strength=\.\.\., seat=\.\.\."
    ):
        Tether("t")
    system = mse.MSystem("s")
    tether = system.add(Tether("t", strength=2.0, seat=(0, 0, 1)))
    system.save(tmp_path / "s.json")
    read = mse.read_model(tmp_path / "s.json")["t"]
    assert read.strength == 2.0 and read.seat.tolist() == [0, 0, 1]
    assert tether.copy("u").strength == 2.0
    with pytest.raises(ModelError, match="strength is None J/m; expected a finite number"):
        tether.strength = None


def test_defaults_are_checked_once_and_wrong_ones_refused_by_each_object():
    asked = []

    class Even(Real):
        def checked(self, obj, value):
            asked.append(obj.name)
            return 2.0 * round(super().checked(obj, value) / 2.0)

    class Peg(mse.MObject):
        width = Real("of it", unit="m", default=1.0, above=0.0)
        teeth = Even("of it", default=3.1)
        depth = Real("of it", unit="m", default=-1.0, above=0.0)
        loss = Loss(default=0.25)

        def energy(self, frames, q):
            return self.width * (frames[0].o @ frames[0].o)

    with pytest.raises(ModelError, match="Peg 'p': depth is -1.0 m; expected a finite number greater than 0"):
        Peg("p")
    assert (peg := Peg("p", depth=2)).parameters == {
        "width": 1.0, "teeth": 4.0, "depth": 2.0, "loss": 0.25, "temperature": 300.0
    }  # fmt: skip
    assert asked == ["p", "p"] and peg.width == 1.0
    with pytest.raises(ModelError, match="width is -1"):
        Peg("p", depth=2, width=-1.0)


@EVERY
def test_reading_by_name_and_by_attribute_agree(entry):
    obj = entry.make()
    for name, value in obj.parameters.items():
        np.testing.assert_array_equal(value, getattr(obj, name))


def test_setting_by_name_and_by_attribute():
    spring = mse.Spring("s", stiffness=2)
    spring.parameters["stiffness"] = 3
    assert spring.stiffness == 3.0 and isinstance(spring.stiffness, float)
    spring.stiffness = 4
    assert spring.parameters["stiffness"] == 4.0
    spring.parameters.update(length=2.0, damping=0.5)
    assert dict(spring.parameters) == {"length": 2.0, "stiffness": 4.0, "damping": 0.5} | LOSSLESS | TAUT


def test_objects_of_one_class_do_not_share_values():
    a, b = mse.Spring("a"), mse.Spring("b")
    a.stiffness = 7.0
    assert b.stiffness == 1.0
    c = a.copy("c")
    c.stiffness = 8.0
    assert a.stiffness == 7.0 and c.name == "c" and a.name == "a"


@pytest.mark.parametrize(
    "given, stored",
    [
        (2.0, np.diag([2.0, 2, 2])),
        ((1, 2, 2.5), np.diag([1, 2, 2.5])),
        (np.eye(3), np.eye(3)),
        (3, np.diag([3.0, 3, 3])),
    ],
)
def test_inertia_takes_a_number_three_or_a_tensor(given, stored):
    np.testing.assert_array_equal(mse.RigidBody("b", mass=1.0, inertia=given).inertia, stored)


@pytest.mark.parametrize("plane", [(0, 1), (0, 2), (1, 2)])
def test_inertia_no_body_can_have_is_noticed_whatever_its_axes(plane):
    """Principal moments 1, 1 and 3, turned by half a right angle in one plane; the diagonal alone would pass."""
    third = ({0, 1, 2} - set(plane)).pop()
    tensor = np.zeros((3, 3))
    tensor[plane[0], plane[0]] = tensor[plane[1], plane[1]] = 2.0
    tensor[plane[0], plane[1]] = tensor[plane[1], plane[0]] = 1.0
    tensor[third, third] = 1.0
    with pytest.warns(mse.ModelWarning, match=r"principal moments are 1, 1, 3; expected none above the sum"):
        mse.RigidBody("b", mass=1.0, inertia=tensor)
    tensor[third, third] = 2.5
    mse.RigidBody("b", mass=1.0, inertia=tensor)


# as published: a recoil mass of KAGRA, and a wheel of which only the turning about its held axis counts
@pytest.mark.parametrize("inertia", [(0.717, 1.493, 0.717), (80, 200, 80), (0.0, 0.0, 1.0)])
def test_a_published_inertia_that_breaks_the_triangle_inequality_is_taken_with_one_warning(inertia, tmp_path):
    with pytest.warns(mse.ModelWarning) as heard:
        body = mse.RigidBody("recoil", mass=1.0, inertia=inertia)
    assert len(heard) == 1 and heard[0].filename == __file__
    message = str(heard[0].message)
    least, middle, most = sorted(inertia)
    for word in ("RigidBody 'recoil': inertia is [[", f"{least:g}, {middle:g}, {most:g}", "kg m2", "triangle inequality",
                 "warnings.filterwarnings('ignore', category=mse.ModelWarning)"):  # fmt: skip
        assert word in message
    np.testing.assert_array_equal(body.inertia, np.diag(inertia))
    # nothing is said again where it is copied, solved and read, and at all where it is not wanted
    system = mse.MSystem("s", gravity=(0, 0, 0))
    system.add(body.copy("mass"))
    spring = system.add(mse.Bushing("spring", stiffness=1.0))
    system.clamp("mass.center", spring.frame(0))
    system.clamp(system.ground, spring.frame(1))
    found = system.find_working_point().linearize().modes().frequencies_hz
    assert np.sqrt(1.0 / most) / (2 * np.pi) == pytest.approx(found[found > 0].min(), rel=1e-12)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=mse.ModelWarning)
        mse.RigidBody("recoil", mass=1.0, inertia=inertia)
        system.save(tmp_path / "s.json")
        np.testing.assert_array_equal(mse.read_model(tmp_path / "s.json")["mass"].inertia, np.diag(inertia))


@pytest.mark.parametrize("given", [4.0, [4.0] * 6, np.diag([4.0] * 6)])
def test_bushing_takes_a_number_six_or_a_matrix(given):
    np.testing.assert_array_equal(mse.Bushing("b", stiffness=given, damping=given).stiffness, 4 * np.eye(6))


def test_array_parameters_are_read_only_and_not_shared():
    given = np.array([1.0, 2.0, 2.5])
    body = mse.RigidBody("b", mass=1.0, inertia=given)
    given[0] = 9.0
    assert body.inertia[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        body.inertia[0, 0] = 5.0


# -- copying ------------------------------------------------------------------------------------------------------
def test_copy_from_takes_what_both_have():
    spring, wire = mse.Spring("s", length=2.0, stiffness=7.0, damping=0.3), made(mse.Wire, radius=0.1)
    wire.parameters.copy_from(spring)
    assert dict(wire.parameters) == {
        "length": 2.0, "young_modulus": 2e11, "poisson_ratio": 0.3, "radius": 0.1, "damping": 0.3, **LOSSLESS, **TAUT,
    }  # fmt: skip
    other = mse.Spring("t")
    other.parameters.copy_from(spring)
    assert dict(other.parameters) == dict(spring.parameters)
    other.stiffness = 1.0
    assert spring.stiffness == 7.0


def test_copy_from_checks_ranges():
    wire = made(mse.Wire)
    with pytest.raises(ModelError, match=r"Wire 'it': length is 0.0 m; expected a finite number greater than 0"):
        wire.parameters.copy_from(mse.Spring("s", length=0.0))
    assert wire.length == 1.0


def test_a_copy_has_the_same_parameters_pose_and_frames():
    body = mse.RigidBody("b", mass=2.0, inertia=(1, 2, 2.5), at=Pose.dz(-1), frames={"hook": Pose.dx(0.2)})
    twin = body.copy("twin")
    np.testing.assert_array_equal(twin.inertia, body.inertia)
    assert twin.mass == 2.0 and twin.at is body.at and list(twin.fixed_frames()) == ["hook"]
    twin.add_frame("eye", IDENTITY)
    assert list(body.fixed_frames()) == ["hook"]


def test_the_table_shows_name_value_unit_and_expectation():
    text = repr(mse.Wire("main", **GIVEN[mse.Wire]))
    assert text == repr(mse.Wire("main", **GIVEN[mse.Wire]).parameters)
    assert text.startswith("Wire 'main'")
    row = next(line for line in text.splitlines() if line.startswith("radius"))
    for word in ("0.0002", " m ", "greater than 0", "radius of the round section"):
        assert word in row


# -- unknown names ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "wrong, right", [("stifness", "stiffness"), ("Length", "length"), ("dampening", "damping"), ("lenght", "length")]
)
def test_an_unknown_name_is_refused_with_the_nearest(wrong, right):
    spring = mse.Spring("main")
    expected = f"Spring 'main': no parameter '{wrong}' (did you mean '{right}'?)"
    with pytest.raises(ModelError) as caught:
        mse.Spring("main", **{wrong: 1.0})
    assert str(caught.value) == expected
    with pytest.raises(UnknownNameError) as caught:
        spring.parameters[wrong] = 2.0
    assert str(caught.value) == expected
    with pytest.raises(UnknownNameError) as caught:
        spring.parameters[wrong]
    assert str(caught.value) == expected
    assert dict(spring.parameters) == {"length": 1.0, "stiffness": 1.0, "damping": 0.0} | LOSSLESS | TAUT


def test_a_name_like_none_lists_what_there_is():
    with pytest.raises(
        UnknownNameError,
        match=r"no parameter 'xyz' \(known: damping, length, loss, stiffness, temperature, tension_only\)",
    ):
        mse.Spring("s").parameters["xyz"]
    with pytest.raises(ModelError, match="no parameter 'mass'"):
        mse.PositionSensor("p", mass=1.0)


def test_parameters_cannot_be_removed():
    with pytest.raises(ModelError, match="'length' cannot be removed; set it instead"):
        del mse.Spring("s").parameters["length"]


# -- bad values ---------------------------------------------------------------------------------------------------
ABOVE_ZERO, NOT_NEGATIVE = "a finite number greater than 0", "a finite number of at least 0"
REALS = {
    (mse.Spring, "length"): (NOT_NEGATIVE, [-1.0, -1e-300]),
    (mse.Spring, "stiffness"): (NOT_NEGATIVE, [-1.0]),
    (mse.Spring, "damping"): (NOT_NEGATIVE, [-0.1]),
    (mse.Wire, "length"): (ABOVE_ZERO, [0.0, -1.0]),
    (mse.Wire, "young_modulus"): (ABOVE_ZERO, [0.0, -2e11]),
    (mse.Wire, "poisson_ratio"): ("a finite number greater than -1 and at most 0.5", [-1.0, 0.51, 2]),
    (mse.Wire, "radius"): (ABOVE_ZERO, [0.0, -1e-4]),
    (mse.Wire, "damping"): (NOT_NEGATIVE, [-0.1]),
    (mse.RigidBody, "mass"): (NOT_NEGATIVE, [-1.0]),
}
NEVER_A_NUMBER = [np.nan, np.inf, -np.inf, None, "soft", "2.5", 1j, [1.0, 2.0], np.ones(3)]


@pytest.mark.parametrize(
    "cls, name, value",
    [(c, n, v) for (c, n), (_, bad) in REALS.items() for v in (*bad, *NEVER_A_NUMBER)],
    ids=lambda v: getattr(v, "__name__", repr(v)),
)
def test_a_bad_number_is_refused(cls, name, value):
    unit = f" {DECLARED[cls][name]}" if DECLARED[cls][name] else ""
    expected = f"{cls.__name__} 'it': {name} is {value!r}{unit}; expected {REALS[cls, name][0]}"
    with pytest.raises(ModelError) as caught:
        cls("it", **{name: value})
    assert str(caught.value) == expected
    obj = made(cls)
    before = obj.parameters[name]
    with pytest.raises(ModelError) as caught:
        setattr(obj, name, value)
    assert str(caught.value) == expected
    with pytest.raises(ModelError):
        obj.parameters[name] = value
    assert obj.parameters[name] == before


@pytest.mark.parametrize(
    "cls, name, value",
    [(mse.Spring, "length", 0.0), (mse.Spring, "stiffness", 0), (mse.Wire, "poisson_ratio", 0.5),
     (mse.RigidBody, "mass", 0.0), (mse.Wire, "poisson_ratio", -0.99),
     (mse.Wire, "length", 1e-9),
     (mse.Spring, "stiffness", np.float32(2.0)), (mse.Spring, "stiffness", np.array(2.0))],
)  # fmt: skip
def test_values_on_the_edge_of_the_range_are_accepted(cls, name, value):
    assert made(cls, **{name: value}).parameters[name] == value


ARRAYS = [(mse.RigidBody, "inertia"), (mse.Bushing, "stiffness"), (mse.Bushing, "damping"), (mse.Bushing, "preload"),
          (mse.MSystem, "gravity")]  # fmt: skip


@pytest.mark.parametrize("cls, name", ARRAYS, ids=lambda v: getattr(v, "__name__", v))
@pytest.mark.parametrize(
    "value", [np.nan, (1, 2), np.ones((2, 2)), "large", None, [1, "a", 3], 1j, [[1, 2], [3]], "1.0"], ids=repr
)
def test_a_bad_array_is_refused(cls, name, value):
    with pytest.raises(ModelError) as caught:
        cls("it", **{name: value})
    message = str(caught.value)
    assert message.startswith(f"{cls.__name__} 'it': {name} is ")
    assert " ".join(repr(value).split()) in message
    assert f"expected finite numbers of shape {cls.declared_parameters[name].shape}" in message


@pytest.mark.parametrize("cls, name", ARRAYS, ids=lambda v: getattr(v, "__name__", v))
def test_a_complex_array_is_refused(cls, name):
    value = np.zeros(cls.declared_parameters[name].shape, dtype=complex)
    value.flat[0] = 1.0 + 0.5j
    with pytest.raises(ModelError, match=f"(?s){cls.__name__} 'it': {name} is .*expected finite numbers"):
        cls("it", **{name: value})


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("cls, name", ARRAYS, ids=lambda v: getattr(v, "__name__", v))
def test_an_array_with_one_bad_entry_is_refused(cls, name, bad):
    value = np.zeros(cls.declared_parameters[name].shape)
    value.flat[-1] = bad
    with pytest.raises(ModelError, match=f"(?s){cls.__name__} 'it': {name} is .*expected finite numbers"):
        cls("it", **{name: value})


@pytest.mark.parametrize(
    "inertia, words",
    [
        (-1.0, ["-1, -1, -1", "none to be negative"]),
        ((1.0, 1.0, -0.5), ["-0.5, 1, 1", "none to be negative"]),
        ([[1, 2, 0], [2, 1, 0], [0, 0, 1]], ["-1, 1, 3", "none to be negative"]),
        ([[1, 0.1, 0], [0, 1, 0], [0, 0, 1]], ["symmetric"]),
    ],
)
def test_an_impossible_inertia_is_refused(inertia, words):
    with pytest.raises(ModelError) as caught:
        mse.RigidBody("mirror", mass=1.0, inertia=inertia)
    for word in ("RigidBody 'mirror': inertia is ", "kg m2", *words):
        assert word in str(caught.value)


@pytest.mark.parametrize("inertia", [(1.0, 1.0, 2.0), (0.0, 1.0, 1.0), 0.0, [[2, -1, 0], [-1, 2, 0], [0, 0, 4]]])
def test_inertia_at_the_limit_of_the_possible_is_accepted(inertia):
    # A disc, a rod, a point; and a plane figure, whose moment about its normal is the sum of the two others.
    body = mse.RigidBody("it", mass=1.0, inertia=inertia)
    moments = np.diag(inertia) if np.ndim(inertia) == 2 else np.broadcast_to(inertia, 3)
    np.testing.assert_array_equal(body.inertia.diagonal(), moments)


def test_an_unsymmetric_stiffness_and_an_active_damper_are_refused():
    uneven = np.eye(6)
    uneven[0, 1] = 0.1
    with pytest.raises(ModelError, match=r"Bushing 'flexure': stiffness is .*expected a symmetric matrix"):
        mse.Bushing("flexure", stiffness=uneven)
    with pytest.raises(ModelError, match=r"Bushing 'flexure': damping is .*expected a symmetric matrix"):
        mse.Bushing("flexure", damping=uneven)
    with pytest.raises(
        ModelError, match=r"Bushing 'flexure': damping is .*expected a positive semi-definite.*create energy"
    ):
        mse.Bushing("flexure", damping=(1, 1, 1, 1, 1, -1e-3))
    uneven[1, 0] = 1.5
    uneven[0, 1] = 1.5
    with pytest.raises(ModelError, match="expected a positive semi-definite"):
        mse.Bushing("flexure", damping=uneven)
    assert mse.Bushing("antispring", stiffness=-1.0).stiffness[0, 0] == -1.0


# -- name and pose ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["", "  ", None, 3, b"wire"])
def test_a_bad_name_is_refused(name):
    with pytest.raises(ModelError) as caught:
        mse.Spring(name)
    assert f"Spring: name is {name!r}; expected a non-empty string" in str(caught.value)


@pytest.mark.parametrize("at", [(0, 0, -1), np.zeros(3), "below", 1.0])
def test_an_initial_pose_that_is_not_a_pose_is_refused(at):
    with pytest.raises(ModelError) as caught:
        mse.Spring("main", at=at)
    assert f"Spring 'main': at is {at!r}; expected a Pose, e.g. Pose.dz(-1.0)" in str(caught.value)


@pytest.mark.parametrize(
    "name, pose, words",
    [
        ("hook", IDENTITY, ["already has a frame 'hook'", "choose another name"]),
        ("center", IDENTITY, ["already has a frame 'center'"]),
        ("a.b", IDENTITY, ["'a.b'", "without '.'"]),
        ("", IDENTITY, ["''", "non-empty"]),
        (7, IDENTITY, ["7", "non-empty string"]),
        ("eye", (0, 0, 1), ["(0, 0, 1)", "expected a Pose as seen from the center of mass"]),
    ],
)
def test_a_bad_frame_of_a_body_is_refused(name, pose, words):
    body = mse.RigidBody("mirror", mass=1.0, frames={"hook": Pose.dz(0.1)})
    with pytest.raises(ModelError) as caught:
        body.add_frame(name, pose)
    for word in ("RigidBody 'mirror': ", *words):
        assert word in str(caught.value)
    assert list(body.fixed_frames()) == ["hook"]


@pytest.mark.parametrize("which, hint", [("hok", "did you mean 'hook'?"), (1, "known: center, hook"), ("0", "known")])
def test_an_unknown_frame_is_refused_with_the_nearest(which, hint):
    with pytest.raises(UnknownNameError) as caught:
        mse.RigidBody("mirror", mass=1.0, frames={"hook": Pose.dz(0.1)}).frame(which)
    assert f"RigidBody 'mirror': no frame {which!r}" in str(caught.value)
    assert hint in str(caught.value)
