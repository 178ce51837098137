"""Names that users try lead to those that there are, and change nothing else about objects."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

import mse
from mse.elsewhere import TRIED, Guided
from mse.pose import Pose
from public_names import CALLABLES, CLASSES


@pytest.fixture
def stage() -> mse.MSystem:
    system = mse.MSystem("stage")
    mirror = system.add(mse.RigidBody("mirror", mass=1.0, inertia=0.1, at=Pose.dz(-0.5)))
    system.add(mse.Spring("spring", length=0.5, stiffness=1e3), between=(system.ground, mirror))
    return system


@pytest.mark.parametrize(
    "tried, expected",
    [
        ("system.join(a, b)", r"MSystem has no 'join': frames are clamped: system\.clamp\(a, b\)"),
        ("system.modes()", r"belong to a linear model: system\.find_working_point\(\)\.linearize\(\)\.modes\(\)"),
        ("system.linearize()", r"system\.find_working_point\(\)\.linearize\(\)"),
        ("system.show()", r"system\.plot\(\)"),
        ("point.modes()", r"modes belong to a linear model: working_point\.linearize\(\)\.modes\(\)"),
        ("point.frequency_response()", r"working_point\.linearize\(\)\.frequency_response\("),
        ("mse.load('a')", r"mse\.read_model\(path\)"),
        ("Pose.translation(1, 2, 3)", r"Pose\.dxdydz\(x, y, z\)"),
        ("Pose().translation", r"Pose\.dxdydz\(x, y, z\)"),
        ("point.linearize().modes().show()", r"Modes has no 'show': plot\(\) draws it"),
    ],
)
def test_a_name_that_users_try_is_answered_by_where_it_is(stage, tried, expected):
    known = {"system": stage, "point": stage.find_working_point(), "mse": mse, "Pose": Pose}
    with pytest.raises(AttributeError, match=expected):
        eval(tried, known)


@pytest.mark.parametrize(
    "tried, expected",
    [
        ("linear.modes(n=3)", r"modes\(\) has no argument 'n': write modes\(3\), or modes\(count=3\)"),
        ("linear.modes(cout=3)", r"modes\(\) has no argument 'cout' \(did you mean 'count'\?\)"),
        ("linear.simulate(10, 1e-3)", r"by name; write simulate\(duration=10, dt=0\.001\)"),
        ("point.update(mirror_mass=1)", r"in a mapping: update\(\{\"mirror\.mass\": 2\.0\}\)"),
        ("system.find_working_point('nearest')", r"write find_working_point\(seek='nearest'\)"),
        ("point.update()", "missing 1 required positional argument: 'changes'"),
    ],
)
def test_arguments_that_do_not_fit_are_answered_by_those_that_do(stage, tried, expected):
    point = stage.find_working_point()
    with pytest.raises(TypeError, match=expected):
        eval(tried, {"system": stage, "point": point, "linear": point.linearize()})


def test_an_error_inside_a_method_stays_as_it_is(stage):
    def fails(progress):
        raise TypeError("of the user's own")

    with pytest.raises(TypeError, match="of the user's own"):
        stage.find_working_point(progress=fails)


def test_no_entry_hides_or_makes_a_name(stage):
    classes = {cls.__name__: cls for cls in CLASSES} | {
        "Result": mse.LinearModel.__mro__[1],
        "Frame": type(stage.ground),
    }
    for place, names in TRIED.items():
        if place.endswith("()"):
            function = next(f for name, f in CALLABLES.items() if name.endswith(f".{place[:-2]}"))
            assert not set(names) & set(inspect.signature(function).parameters)
        else:
            of = mse if place == "mse" else classes[place]
            assert of is mse or issubclass(of, Guided)
            for name in names:
                assert not hasattr(of, name) and name not in dir(of)
    point = stage.find_working_point()
    for name in ("modes", "show"):
        assert not hasattr(point, name) and name not in dir(point)


def test_other_unknown_names_fail_as_everywhere_in_python(stage):
    with pytest.raises(AttributeError, match="'MSystem' object has no attribute 'grond'") as told:
        stage.grond  # noqa: B018
    assert told.value.name == "grond" and told.value.obj is stage  # from which Python makes its suggestion
    with pytest.raises(AttributeError, match="type object 'Pose' has no attribute 'dxdz'"):
        Pose.dxdz  # noqa: B018


def test_a_property_that_fails_tells_why():
    class Own(mse.RigidBody):
        @property
        def shade(self):
            return self.no_such_thing

    with pytest.raises(AttributeError, match="no attribute 'no_such_thing'"):
        Own("own", mass=1.0).shade  # noqa: B018


def test_copies_and_pickles_are_as_before(stage):
    linear = stage.find_working_point().linearize()
    for thing in (stage, linear, linear.modes(), stage.ground, Pose.dx(1.0)):
        assert type(copy.copy(thing)) is type(copy.deepcopy(thing)) is type(pickle.loads(pickle.dumps(thing)))


def test_signatures_and_documentation_of_methods_are_their_own():
    signature = inspect.signature(mse.LinearModel.modes)
    assert list(signature.parameters) == ["self", "count", "damped", "lossy", "progress"]
    assert mse.LinearModel.modes.__doc__.startswith("``K phi = w^2 M phi``")
    assert mse.LinearModel.modes.__module__ == "mse.linear.methods"
