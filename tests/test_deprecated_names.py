"""Replaced names work and warn until the version in which they end, and are gone from then on."""

from __future__ import annotations

import pytest

import mse
from mse.deprecation import RENAMED, Renamed
from public_names import CLASSES

MEMBERS = [(cls, name, value) for cls in CLASSES for name, value in vars(cls).items() if isinstance(value, Renamed)]


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def overdue(version: str) -> list[str]:
    """Old names that a version should not have any more."""
    found = [f"mse.{old}" for old, (_, ends) in RENAMED.items() if numbers(ends) <= numbers(version)]
    return found + [f"{cls.__name__}.{old}" for cls, old, to in MEMBERS if numbers(to.ends) <= numbers(version)]


def test_old_names_are_gone_when_they_end():
    assert not overdue(mse.__version__), "take these names out"


def test_old_names_lead_to_names_that_there_are():
    for new, _ in RENAMED.values():
        assert hasattr(mse, new)
    for cls, _, to in MEMBERS:
        assert hasattr(cls, to.new)


def test_an_old_name_of_the_package_warns_where_it_is_used(monkeypatch):
    monkeypatch.setitem(RENAMED, "Placement", ("Pose", "0.2"))
    with pytest.warns(
        DeprecationWarning, match=r"mse\.Placement is now mse\.Pose; the old name ends with mse 0\.2"
    ) as told:
        assert mse.Placement is mse.Pose
    assert told[0].filename == __file__
    assert overdue("0.1.9") == [] and overdue("0.2.0") == ["mse.Placement"]
    assert "Placement" not in dir(mse)


def test_an_old_name_of_a_class_warns_where_it_is_used():
    class Gauge:
        def read(self) -> float:
            return 1.0

        value = Renamed("read", ends="0.3")

    with pytest.warns(
        DeprecationWarning, match=r"Gauge\.value is now Gauge\.read; the old name ends with mse 0\.3"
    ) as told:
        assert Gauge().value() == 1.0
    assert told[0].filename == __file__
    with pytest.warns(DeprecationWarning):
        assert Gauge.value is Gauge.read
