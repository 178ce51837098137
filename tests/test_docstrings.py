"""What docstrings promise: all parameters in numpydoc sections, and examples that run as they stand."""

from __future__ import annotations

import doctest
import inspect
import re

import numpy as np
import pytest

import mse
from mse.elements.base import MObject

MADE = [cls for cls in vars(mse).values() if inspect.isclass(cls) and not issubclass(cls, Exception | Warning)]
KINDS = [cls for cls in MADE if issubclass(cls, MObject)]
HEAD = re.compile(r"^(\w[\w, *]*) : ", re.MULTILINE)


def sections(text: str) -> dict[str, str]:
    """The numpydoc sections of a docstring by name, what comes before them under ''."""
    pieces = re.split(r"^(\w+)\n-{3,}\n", inspect.cleandoc(text), flags=re.MULTILINE)
    return {"": pieces[0]} | dict(zip(pieces[1::2], pieces[2::2], strict=True))


def entries(section: str) -> list[str]:
    return [name.strip(" *") for head in HEAD.findall(section) for name in head.split(",")]


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


@pytest.mark.parametrize("cls", MADE, ids=lambda cls: cls.__name__)
def test_examples_of_classes_run_as_they_stand(cls):
    tests = [
        t
        for t in doctest.DocTestFinder(recurse=True).find(cls, cls.__name__, globs={"mse": mse, "np": np})
        if t.examples
    ]
    assert any(t.name == cls.__name__ for t in tests) or cls is MObject
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    for test in tests:
        runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)
