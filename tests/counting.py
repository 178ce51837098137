"""What tests count instead of seconds, and counts that they take away."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from pathlib import Path

import pytest

from mse.numerics.lanczos import Lanczos


def calls_of(action: Callable[[], object]) -> int:
    """Function calls made, those of compiled and built-in functions among them."""
    profile = cProfile.Profile()
    profile.enable()
    action()
    profile.disable()
    return pstats.Stats(profile).total_calls


def own_calls_of(action: Callable[[], object]) -> int:
    """Calls of mse's own functions: when numba compiles depends on what a second process has compiled already."""
    profile = cProfile.Profile()
    profile.enable()
    action()
    profile.disable()
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    return sum(calls for (file, *_), (_, calls, *_) in stats.items() if "mse" in Path(file).parts)


def made_of(monkeypatch: pytest.MonkeyPatch, cls: type) -> list[object]:
    """The objects of a class that have been made since."""
    made: list[object] = []
    make = cls.__init__

    def counted(self, *given, **options):
        made.append(self)
        make(self, *given, **options)

    monkeypatch.setattr(cls, "__init__", counted)
    return made


def solved_by_lanczos(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Blocks that searches by Lanczos have solved for since, by their numbers of vectors."""
    solved: list[int] = []
    make = Lanczos.__init__

    def made(self, solve, *given):
        make(self, lambda b: (solved.append(b.shape[1]), solve(b))[1], *given)

    monkeypatch.setattr(Lanczos, "__init__", made)
    return solved


def without_counts(monkeypatch: pytest.MonkeyPatch, factor: type) -> None:
    """Factors of this class no longer count negative pivots, as where these are rounding."""
    make = factor.__init__

    def made(self, *given, **options):
        make(self, *given, **options)
        self.negative = None

    monkeypatch.setattr(factor, "__init__", made)
