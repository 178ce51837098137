"""What docstrings promise: numpydoc sections that agree with the code, and examples that run as they stand."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import pydoc
import re
import types

import numpy as np
import pytest

import mse
from catalogue import CATALOGUE
from mse.elements.base import MObject
from mse.elements.definitions import misspelled
from mse.errors import MseError
from mse.results import Result
from public_names import CALLABLES, CLASSES, FUNCTIONS, KINDS, MADE, NAMED, inherited, methods

# -- reading docstrings -----------------------------------------------------------------------------------------------
HEAD = re.compile(r"^(\*{0,2}\w[\w, *]*) : ", re.MULTILINE)


def sections(text: str) -> dict[str, str]:
    """The numpydoc sections of a docstring by name, what comes before them under ''."""
    pieces = re.split(r"^(\w+)\n-{3,}\n", inspect.cleandoc(text), flags=re.MULTILINE)
    return {"": pieces[0]} | dict(zip(pieces[1::2], pieces[2::2], strict=True))


def entries(section: str) -> list[str]:
    return [name.strip(" *") for head in HEAD.findall(section) for name in head.split(",")]


# -- elements ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cls", KINDS, ids=lambda cls: cls.__name__)
def test_each_parameter_of_an_object_is_documented_with_its_unit(cls):
    text = sections(cls.__doc__)["Parameters"]
    known = [p for p in inspect.signature(cls).parameters if p not in ("given", "_")]
    assert sorted(entries(text)) == sorted(known if cls is not MObject else ["name", "at"])
    for name, parameter in cls.declared_parameters.items():
        entry = re.search(rf"^{name} : (.*)\n((?:    .*\n?)+)", text, re.MULTILINE)
        assert entry is not None and parameter.unit in entry[1]
        assert parameter.expectation() in entry[2]
        assert ("must be given" in entry[2]) == parameter.required


@pytest.mark.parametrize(
    "cls", [*KINDS, *dict.fromkeys(type(entry.make()) for entry in CATALOGUE.values())], ids=lambda cls: cls.__name__
)
def test_help_names_each_parameter_with_unit_range_and_default(cls):
    text = pydoc.render_doc(cls, renderer=pydoc.plaintext)
    assert f" |  {cls.__name__}(" in text
    for name, parameter in cls.declared_parameters.items():
        told = inspect.signature(cls).parameters[name]
        assert (told.default is inspect.Parameter.empty) == parameter.required
        described = f" |  {name}\n |      {parameter.description}" + (f" ({parameter.unit})" if parameter.unit else "")
        assert described in text or f"{name} : {parameter.kind}" in text


@pytest.mark.parametrize("cls", KINDS, ids=lambda cls: cls.__name__)
def test_help_of_an_element_begins_with_what_it_is_and_what_it_needs(cls):
    assert cls is MObject or not cls.__doc__.startswith("`"), "say what it is, then its law"
    parameters = inspect.signature(cls).parameters
    needed = [p.default is p.empty and p.kind is not p.VAR_KEYWORD for p in parameters.values()]
    assert needed == sorted(needed, reverse=True)
    assert len(f"{cls.__name__}{inspect.signature(cls)}") < 450
    order = [name for name in entries(sections(cls.__doc__)["Parameters"]) if name in cls.declared_parameters]
    assert order == [name for name in parameters if name in cls.declared_parameters]


def test_help_of_the_package_names_all_that_is_in_it_on_one_screen():
    named = set(re.findall(r"\w+", mse.__doc__))
    assert {name for name in dir(mse) if name[0] != "_" and not inspect.ismodule(getattr(mse, name))} <= named
    text = pydoc.render_doc(mse, renderer=pydoc.plaintext)
    assert len(text.splitlines()) < 80 and "class " not in text


@pytest.mark.parametrize("cls", MObject.classes.values(), ids=lambda cls: cls.__name__)
def test_no_class_of_mse_misspells_the_contract(cls):
    assert not list(misspelled(cls, MObject))


def test_a_class_of_ones_own_is_documented_too():
    from mse.elements.parameters import Real

    class Magnet(MObject):
        """``W = c/|o1 - o0|``.

        Examples
        --------
        None.
        """

        strength = Real("how strongly it pushes", unit="N m2", above=0.0)

    assert list(sections(Magnet.__doc__)) == ["", "Parameters", "Examples"]
    assert (
        "strength : number, N m2\n    How strongly it pushes: a finite number greater than 0; must be given."
        in Magnet.__doc__
    )

    class Bare(MObject):
        strength = Real("how strongly it pushes", unit="N m2", above=0.0)

    assert "__doc__" not in vars(Bare) or Bare.__doc__ is None


# -- everything else ----------------------------------------------------------------------------------------------------
def flaws(function) -> list[str]:
    """What the docstring of a function does not say, or says of something that there is not."""
    if not function.__doc__:
        return ["no docstring"]
    text, signature = sections(function.__doc__), inspect.signature(function)
    found = [] if text[""].strip() else ["no summary"]
    given, told = [p for p in signature.parameters if p not in ("self", "cls")], entries(text.get("Parameters", ""))
    if given != told:
        found.append(f"takes {given}, documents {told}")
    if (signature.return_annotation not in (None, "None")) != ("Returns" in text or "Yields" in text):
        found.append(f"returns {signature.return_annotation}, documents {list(text)[1:]}")
    return found


@pytest.mark.parametrize("name", CALLABLES)
def test_parameters_and_returns_are_those_of_the_signature(name):
    assert not flaws(CALLABLES[name])


@pytest.mark.parametrize(
    "cls", [c for c in CLASSES if c not in KINDS and not inspect.isabstract(c)], ids=lambda cls: cls.__name__
)
def test_the_data_of_results_are_documented(cls):
    text = sections(cls.__doc__)
    if hasattr(cls, "_fields"):
        assert entries(text["Attributes"]) == list(cls._fields)
    elif (
        dataclasses.is_dataclass(cls) and "__init__" not in vars(cls).get("__annotations__", {}) and cls is not mse.Pose
    ):
        told = entries(text["Attributes"] if issubclass(cls, Result) or "Attributes" in text else text["Parameters"])
        assert sorted(told) == sorted(f.name for f in dataclasses.fields(cls) if f.name[0] != "_")
    else:
        assert entries(text["Parameters"]) == list(inspect.signature(cls).parameters)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_properties_are_documented(cls):
    for name, value in methods(cls).items():
        assert inspect.isfunction(value) or value.__doc__ or inherited(cls, name), f"{cls.__name__}.{name}"


@pytest.mark.parametrize("cls", [c for c in CLASSES if c not in KINDS], ids=lambda cls: cls.__name__)
def test_what_a_result_shows_is_documented(cls):
    """All names that completion offers stand in its docstring or have one of their own; others begin with an underscore."""
    text = sections(cls.__doc__)
    told = entries(text.get("Attributes", "")) + entries(text.get("Parameters", ""))
    for name in dir(cls):
        if name[0] != "_" and name not in told:
            value = inspect.getattr_static(cls, name)
            own = value.__doc__ not in (None, type(value).__doc__)
            assert own or inherited(cls, name), f"{cls.__name__}.{name}"


def test_what_is_raised_is_an_error_that_there_is():
    errors = {
        cls.__name__ for cls in NAMED.values() if inspect.isclass(cls) and issubclass(cls, MseError | mse.Interrupted)
    }
    for name, thing in {**CALLABLES, **{cls.__name__: cls for cls in CLASSES}}.items():
        told = re.findall(r"^(\w+)$", sections(thing.__doc__).get("Raises", ""), re.MULTILINE)
        assert set(told) <= errors | {"MemoryError", "KeyboardInterrupt"}, name


def test_the_check_sees_what_is_wrong():
    def good(a, *, b: int = 1) -> float:
        """Sum.

        Parameters
        ----------
        a : float, m
            One.
        b : int
            Other.

        Returns
        -------
        float
            Both.
        """

    assert not flaws(good)
    for before, after in (("b : int", "c : int"), ("Returns\n-------", "Gives"), ("Sum.", "")):
        bad = types.FunctionType(good.__code__, {}, "bad")
        bad.__doc__, bad.__annotations__ = inspect.cleandoc(good.__doc__).replace(before, after), good.__annotations__
        bad.__kwdefaults__ = good.__kwdefaults__
        assert flaws(bad), after


# -- examples -----------------------------------------------------------------------------------------------------------
def examples(thing, name: str) -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(recurse=inspect.isclass(thing))
    return [t for t in finder.find(thing, name, globs={"mse": mse, "np": np}) if t.examples]


@pytest.mark.slow
@pytest.mark.parametrize("thing", [*CLASSES, *FUNCTIONS], ids=lambda thing: thing.__name__)
def test_examples_run_as_they_stand(thing):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    for test in examples(thing, thing.__name__):
        runner.run(test, out=said.append)
    for base in thing.__mro__[1:] if inspect.isclass(thing) else ():
        if base.__module__.startswith("mse.") and base not in CLASSES and base is not Result:
            for test in examples(base, base.__name__):
                runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)


# classes and functions that users call: each has an example of its own; results made by a method may show it there
@pytest.mark.parametrize(
    "thing", [*(c for c in MADE if c is not MObject), *FUNCTIONS], ids=lambda thing: thing.__name__
)
def test_what_users_call_has_an_example(thing):
    assert any(t.name == thing.__name__ for t in examples(thing, thing.__name__))


@pytest.mark.parametrize(
    "name",
    ["Modes", "Mode", "FrequencyResponse", "ResonanceGrid", "StateSpace", "TimeResponse", "StepLoop", "WorkingPoint",
     "Trace", "Instability", "Reduction"],
)  # fmt: skip
def test_results_have_an_example(name):
    (cls,) = [cls for cls in CLASSES if cls.__name__ == name]
    assert any(t.name == name for t in examples(cls, name))


@pytest.mark.parametrize(
    "name",
    [*(f"MSystem.{n}" for n in ("add", "clamp", "find_working_point", "find_instability", "trace", "relaxation", "save")),
     *(f"WorkingPoint.{n}" for n in ("update", "linearize")),
     *(f"LinearModel.{n}" for n in ("from_matrices", "modes", "frequency_response", "resonance_grid", "state_space",
                                    "simulate", "step_loop", "null_space")),
     *(f"Pose.{n}" for n in ("dx", "dy", "dz", "dxdydz", "rx", "ry", "rz", "rotation", "euler")), "StepLoop.run"],
)  # fmt: skip
def test_methods_that_users_call_have_an_example(name):
    owner, _, method = name.partition(".")
    (cls,) = [cls for cls in CLASSES if cls.__name__ == owner]
    assert ">>>" in sections(getattr(cls, method).__doc__)["Examples"]
