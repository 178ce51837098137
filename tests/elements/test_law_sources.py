"""What laws read beside their arguments: found at any depth of their helpers, compared by value, refused where it cannot be."""

from __future__ import annotations

import functools
import types

import numpy as np
import pytest

import mse
from mse.elements.law_sources import contents, sources
from mse.elements.parameters import Real
from mse.numerics.record import Unrecordable

FACTOR, ROWS, TABLE, WORDS = 2.0, [1.0, [2.0]], np.array([1.0, 2.0]), {"a": 1.0}
MODULE = types.ModuleType("constants_of_a_user")
MODULE.MU = 1.25e-6
MODULE.OTHER = object()  # which no law names
mass = object()  # as scripts name what a law has as a parameter


class Constants:
    LIGHT = 3e8
    UNUSED = object()


def deep(x):
    return [WORDS["a"] * y for y in (lambda z: (z, TABLE))(x)]


def given(x, rows=(1.0, 2.0)):
    return deep(x) if rows else None


class Element(mse.MObject):
    """Reads all there is."""

    mass = Real("mass", default=1.0)
    SHARE = 0.25
    hidden = object()

    @property
    def area(self):
        return FACTOR * self.SHARE

    @functools.cached_property
    def rows(self):
        return ROWS

    @staticmethod
    def doubled(x):
        return given(x)

    def energy(self, frames, q):
        return self.area * MODULE.MU * Constants.LIGHT * len(self.rows) * self.mass * self.doubled(np.pi)


def names(cls) -> set[str]:
    return {source.name for source in sources(cls, "energy")}


def test_everything_that_a_law_reads_is_found_and_nothing_else():
    found = names(Element)
    expected = {
        "FACTOR",
        "ROWS",
        "TABLE",
        "WORDS",
        "Element.SHARE",
        "constants_of_a_user.MU",
        "Constants.LIGHT",
        "a default",
    }
    assert expected <= found
    assert not found & {"mass", "Element.hidden", "Constants.UNUSED", "constants_of_a_user.OTHER"}


CHANGES = {
    "number": lambda patch: patch.setitem(globals(), "FACTOR", 3.0),
    "list inside a list": lambda patch: (
        patch.setitem(ROWS[1], 0, 3.0) if isinstance(ROWS[1], dict) else ROWS[1].append(3.0)
    ),
    "array": lambda patch: TABLE.__setitem__(0, 5.0),
    "dictionary": lambda patch: patch.setitem(WORDS, "a", 2.0),
    "attribute of a class": lambda patch: patch.setattr(Constants, "LIGHT", 1.0),
    "of its own class": lambda patch: patch.setattr(Element, "SHARE", 1.0),
    "of a module": lambda patch: patch.setattr(MODULE, "MU", 1.0),
    "helper": lambda patch: patch.setitem(globals(), "deep", lambda x: x),
    "gone": lambda patch: patch.delitem(globals(), "FACTOR"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_are_seen(name, monkeypatch):
    found = sources(Element, "energy")
    assert not any(source.changed for source in found)
    CHANGES[name](monkeypatch)
    assert any(source.changed for source in found)


def test_closures_are_read():
    factor = 2.0

    def energy(self, frames, q):
        return factor * q[0]

    cls = type("Own", (mse.MObject,), {"energy": energy})
    (found,) = [source for source in sources(cls, "energy") if source.name == "factor"]
    factor = 2.0
    assert not found.changed
    factor = 3.0
    assert found.changed


def test_functions_of_numpy_and_mse_are_taken_as_they_are():
    cls = type("Own", (mse.MObject,), {"energy": mse.Wire.energy})
    assert sources(cls, "energy") == []


def test_objects_that_may_change_unseen_are_refused():
    state = types.SimpleNamespace(k=1.0)
    cls = type("Own", (mse.MObject,), {"energy": lambda self, frames, q: state.k})
    with pytest.raises(Unrecordable, match="reads state, a SimpleNamespace, which may change unnoticed"):
        sources(cls, "energy")


@pytest.mark.parametrize(
    "one, other",
    [(1, 1.0), (1.0, True), ([1.0], (1.0,)), (np.zeros(2), np.zeros((2, 1))), (np.zeros(2), np.zeros(2, int)), ("a", b"a"),
     ({1}, {2}), ({"a": 1}, {"a": 2}), (np.sin, np.cos)],
)  # fmt: skip
def test_what_is_different_has_other_contents(one, other):
    assert contents(one, "x") != contents(other, "x") and contents(one, "x") == contents(one, "x")


def test_nan_is_itself():
    assert contents(np.nan, "x") == contents(float("nan"), "x")
