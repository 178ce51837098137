"""What users give is checked at the border: the right answer, or a refusal of mse's own with all it takes to mend it."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.errors import ModelError, WorkingPointError, nearest_name
from mse.validation import arguments
from test_bad_input import refused


# -- functions of the user's ----------------------------------------------------------------------------------------
def multipliers_of(element: mse.MObject) -> mse.MSystem:
    """A body held by an element of the user's alone."""
    system = mse.MSystem("held", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=1.0, at=Pose.dx(0.3)))
    system.add(element)
    system.clamp(system.ground, element.frame(1))
    system.clamp(body.frame(0), element.frame(0))
    return system


def owned(**laws) -> mse.MObject:
    return type("Owned", (mse.MObject,), laws)("own")


def test_an_object_stands_for_its_first_name_and_what_is_unlike_is_no_guess():
    assert nearest_name("one", ["at one.0", "one.center", "one.hook"]) == " (did you mean 'one.center'?)"
    assert nearest_name("fibre", ["fibre / axial", "fibre / torsion"]) == " (did you mean 'fibre / axial'?)"
    assert nearest_name("ratio", ["at", "turns"]) == " (known: at, turns)"


def raising(kind: type[Exception]):
    def law(*_):
        raise kind("by its\nauthor")

    return law


@pytest.mark.parametrize("kind", [ZeroDivisionError, KeyError, AttributeError, ValueError, RuntimeError, OSError])
@pytest.mark.parametrize("law", ["energy", "gravity_energy", "constraint"])
def test_what_a_law_of_the_users_raises_names_the_object(law, kind):
    with pytest.raises(ModelError, match=rf"Owned 'own': its {law} failed: {kind.__name__}: .*by its") as caught:
        multipliers_of(owned(**{law: raising(kind)})).find_working_point()
    assert type(caught.value.__cause__) is kind
    if law != "constraint":
        assert "\n" not in str(caught.value) and f"expected to be called as {law}(frames, q" in str(caught.value)


def test_what_a_law_may_not_call_names_the_object():
    inverted = owned(energy=lambda self, frames, q: np.linalg.inv(frames[0].U)[0, 0])
    with refused(ModelError, "Owned 'own': its energy failed", "numpy.inv", "differentiation = 'differences'"):
        multipliers_of(inverted).find_working_point()


def test_a_law_that_gives_no_number_is_refused_even_where_gravity_adds_to_it():
    words = owned(energy=lambda self, f, q: "much", gravity_energy=lambda self, f, q, g: f[0].o[2])
    with refused(ModelError, "Owned 'own': its energy is 'much'; expected one real number (J)"):
        multipliers_of(words).find_working_point()


def test_a_law_outside_its_domain_is_refused_without_warnings():
    below = owned(energy=lambda self, frames, q: np.log(-(frames[0].o @ frames[0].o) - 1.0))
    with refused(ModelError, "Owned 'own': its energy is not a finite number"):
        multipliers_of(below).find_working_point()


@pytest.mark.parametrize("kind", [ZeroDivisionError, KeyError, TypeError])
def test_what_a_profile_raises_names_the_beam(kind):
    system = mse.MSystem("cantilever")
    system.add(mse.Beam("blade", length=1.0, width=raising(kind), height=0.002))
    system.clamp("ground", "blade.0")
    with refused(ModelError, "Beam 'blade': width, a function, failed", kind.__name__, "called as width(s)"):
        system.find_working_point()


def test_errors_of_mse_in_a_function_of_the_users_name_whose_it_is():
    with refused(ModelError, "loop: law failed: Pose: ", "expected to be called as law(t)"):
        arguments.called("loop", "law", "law(t)", lambda t: Pose.dx("far"), 1.0)
    already = ModelError("loop: it says so itself")
    with pytest.raises(ModelError) as caught:
        arguments.called("loop", "law", "law(t)", raising(lambda _: already))
    assert caught.value is already


# -- numbers ----------------------------------------------------------------------------------------------------------
NO_NUMBERS = [np.nan, np.inf, -np.inf, None, "1.0", b"1", 1j, np.array(1 + 0j), True, np.True_, [], [1.0, 2.0],
              {}, {1.0}, object(), float, 10**400, np.ma.masked, np.datetime64("2020-01-01"), (x for x in [1.0]), 1e61, -1e308,
              np.longdouble("1e400")]  # fmt: skip


class Odd:
    """Something whose every conversion fails, and whose repr does, too."""

    def __repr__(self):
        raise RuntimeError("no repr")

    def __array__(self, *_, **__):
        raise RuntimeError("no array")

    def __float__(self):
        raise RuntimeError("no float")

    def __index__(self):
        raise RuntimeError("no index")

    def __iter__(self):
        raise RuntimeError("no items")

    def __eq__(self, other):
        raise RuntimeError("not to be compared")

    __hash__ = None


@pytest.mark.parametrize("value", [*NO_NUMBERS, Odd()], ids=lambda value: type(value).__name__)
def test_what_is_no_number_is_refused_everywhere(value):
    for refuse in (
        lambda: arguments.number("it", "size", value),
        lambda: mse.Spring("it", stiffness=value),
        lambda: mse.Beam("it", length=1.0, height=0.1, width=[value, value]),
        lambda: mse.Revolute("it", rest=value if not isinstance(value, dict) else {"angle": {}}),
        lambda: mse.RigidBody("it", inertia=[value, 1.0, 1.0]),
        lambda: Pose([value, 0.0, 0.0]),
        lambda: Pose.rx(value),
        lambda: Pose().apply([[1.0, 2.0, value]]),
    ):
        with refused(ModelError, "; expected "):
            refuse()


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int8(2), np.array(2), np.longdouble(2), np.ma.array(2.0)],
                         ids=repr)  # fmt: skip
def test_what_is_a_number_is_one(value):
    assert arguments.number("it", "size", value) == 2.0
    assert mse.Spring("it", stiffness=value).stiffness == 2.0
    np.testing.assert_array_equal(Pose([value, 0, 0]).o, [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(Pose(np.ma.array([2.0, 0.0, 0.0])).o, [2.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "value", [[1.0, np.ma.masked, 2.0], np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), [1.0, True, 0.0], [0.0, None, 0.0],
              ["1", 2, 3], [[1, 2], [3]], np.ones((1, 1, 3)), [np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])], {0.0, 1.0, 2.0},
              {0: 1.0, 1: 2.0, 2: 3.0}, {0: 1.0, 1: 2.0, 2: 3.0}.values(), np.array([1.0, None, 2.0]), "123", b"123",
              [1.0, 1e150, 0.0], np.ones((1, 3)), Odd(), [Odd(), 1.0, 2.0]], ids=arguments.shown)  # fmt: skip
def test_what_is_no_vector_is_refused_everywhere(value):
    for refuse in (
        lambda: Pose(value),
        lambda: Pose().moved(value, (0, 0, 0)),
        lambda: mse.MSystem("it", gravity=value),
        lambda: mse.Revolute("it", axis=value),
    ):
        with refused(ModelError, "expected "):
            refuse()


@pytest.mark.parametrize("value", [-1, 0, 1.0, np.float64(2.0), True, np.True_, "3", None, [3], np.array([3]), 10**400, 1j,
                                   np.ma.masked, Odd()], ids=arguments.shown)  # fmt: skip
def test_what_is_no_whole_number_is_refused(value):
    with refused(ModelError, "Beam 'it': elements is", "expected a whole number of at least 1 and at most 10000"):
        mse.Beam("it", elements=value)


def test_a_value_is_shown_on_one_short_line():
    for value in (np.eye(30), 10**5000, "a" * 300, Odd(), mse.Spring("wire")):
        assert len(arguments.shown(value)) <= 60 and "\n" not in arguments.shown(value)


# -- names ------------------------------------------------------------------------------------------------------------
NO_NAMES = ["", "  ", "a.b", None, 3, b"a", ["a"], ("a",), np.nan, True, "a\nb", "a\0b", "\ud800", Odd()]


@pytest.mark.parametrize("name", NO_NAMES, ids=arguments.shown)
def test_what_is_no_name_is_refused_everywhere(name):
    for refuse in (
        lambda: mse.Spring(name),
        lambda: mse.MSystem(name),
        lambda: mse.Spring("a").copy(name),
        lambda: mse.MSystem("a").copy(name),
        lambda: mse.RigidBody("a", mass=1.0).add_frame(name, Pose()),
    ):
        with refused(ModelError, "name is ", "; expected "):
            refuse()


@pytest.mark.parametrize("name", ["", "  ", "a.b", None, 3, b"a", ("a",), np.nan, "a\nb", "7"], ids=arguments.shown)
def test_names_of_frames_are_no_numbers(name):
    for refuse in (
        lambda: mse.RigidBody("a", mass=1.0, frames={name: Pose()}),
        lambda: mse.Beam("a", length=1.0, width=0.1, height=0.1, stations={name: 0.5}),
        lambda: mse.FlexibleBody("a", M=np.eye(6), K=np.zeros((6, 6)), interfaces={name: Pose()}),
    ):
        with refused(ModelError, "name is ", "; expected "):
            refuse()


def test_names_of_any_language_are_names():
    body = mse.RigidBody("质量 ü 🛰", mass=1.0, frames={"крюк": Pose()})
    assert body.copy("другой").frame("крюк").label == "другой.крюк"


@pytest.mark.parametrize("at", [5, (0, 0, -1), "up", np.eye(4), Pose, Odd()], ids=arguments.shown)
def test_an_initial_pose_is_one_when_it_is_set(at):
    body = mse.RigidBody("body", mass=1.0)
    body.at = Pose.dx(1.0)
    with refused(ModelError, "RigidBody 'body': at is", "expected a Pose"):
        body.at = at
    assert body.at.o[0] == 1.0
    body.at = None


@pytest.mark.parametrize(
    "name, known, meant",
    [
        ("mass.X", ["mass.z", "mass.y", "mass.x"], "mass.x"),
        ("MASS.x", ["mass.z", "mass.y", "mass.x"], "mass.x"),
        ("coil.x", ["probe.x", "coil.fx", "coil.fy", "coil.tx", "coil.ty"], "coil.fx"),
        ("coil.z", ["coil.fx", "coil.fy", "coil.fz", "coil.tx", "coil.ty", "coil.tz", "eye.z"], "coil.fz"),
        ("coil.X", ["coil.tx", "coil.fx"], "coil.tx"),
        ("lens.x", ["lend.y", "lent.x", "lend.x"], "lent.x"),
        ("hinge.angel", ["hinge.angle", "hinge.stiffness"], "hinge.angle"),
        ("Stiffness", ["damping", "stiffness"], "stiffness"),
    ],
)
def test_the_nearest_name_is_the_one_that_was_meant(name, known, meant):
    assert nearest_name(name, known) == f" (did you mean {meant!r}?)"
    assert nearest_name(name, dict.fromkeys(known)) == f" (did you mean {meant!r}?)"


# -- what positions and loads cannot hold ------------------------------------------------------------------------------
def hanging(length: float = 1.0, mass: float = 1.0, gravity: float = 9.81) -> mse.MSystem:
    system = mse.MSystem("hanging", gravity=(0, 0, -gravity))
    system.add(mse.Spring("wire", length=length, stiffness=1e4))
    system.add(mse.RigidBody("mass", mass=mass, inertia=0.1, at=Pose.dz(-length)))
    system.clamp("ground", "wire.1")
    system.clamp("wire.0", "mass.center")
    return system


@pytest.mark.parametrize(
    "numbers", [{"length": x} for x in (1e18, 1e30, 1e60)] + [{"mass": x} for x in (1e-15, 1e-100, 1e-300)]
    + [{"gravity": x} for x in (1e-20, 1e-160, 1e-300)])  # fmt: skip
def test_loads_that_positions_cannot_tell_give_no_working_point(numbers):
    with refused(WorkingPointError, "rounding of the positions alone leaves"):
        hanging(**numbers).find_working_point()


@pytest.mark.parametrize("load", [1e-308, 1e-100])
def test_a_load_factor_that_positions_cannot_tell_gives_no_working_point(load):
    with refused(WorkingPointError, "rounding of the positions alone leaves"):
        hanging().find_working_point(load_factor=load)


@pytest.mark.parametrize("load", [1e308, -1e101, np.inf, "1", None, True])
def test_a_load_factor_beyond_reckoning_is_refused(load):
    with refused(ModelError, "MSystem 'hanging': load_factor is", "expected a finite number"):
        hanging().find_working_point(load_factor=load)


def test_who_gives_a_number_beyond_reckoning_is_told_the_limit():
    for value, told in ((1e61, "greater than 0 and at most 1e+60"), (1e-300, "greater than 0 and at least 1e-60")):
        with refused(ModelError, f"expected a finite number {told}"):
            mse.Wire("it", length=1.0, young_modulus=2e11, poisson_ratio=0.3, radius=value)
        with refused(ModelError, f"expected a finite number {told}"):
            hanging().find_instability(max_load_factor=value)
    assert mse.Spring("it", damping=1e-300).damping == 1e-300
    assert Pose.dx(1e-300).o[0] == 1e-300
