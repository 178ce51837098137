"""Cautions: what objects say of a working point, each class of all its objects together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# Of wires and beams: metals flow or break before, and of examples and documents only those reach it that are meant to
# (tests/elements/test_cautions.py).
MOST_STRAIN = 0.03
MOST_TURN = 0.3  # rad between the ends where a search begins: clamps turned by mistake are mostly off by a quarter turn
_NAMED = 6  # objects that a sentence names beside the worst


class Surroundings(NamedTuple):
    """Where the frames of objects of one class are at a working point, for :meth:`.MObject.cautions`.

    ``origins`` (E, F, 3) m and ``orientations`` (E, F, 3, 3); ``start`` the same where the search began, None where that was
    another working point; ``held`` (E, F) whether anything else is clamped to a frame; ``gravity`` (3,) m/s2.
    """

    origins: np.ndarray
    orientations: np.ndarray
    start: tuple[np.ndarray, np.ndarray] | None
    held: np.ndarray
    gravity: np.ndarray


class Worst:
    """The worst of several objects of which the same is to be said, and the names of the others."""

    def __init__(self) -> None:
        self._found: list[tuple[float, str, str, str]] = []

    def add(self, size: float, obj: Any, text: str) -> None:
        """``text`` about an object, of a ``size`` that is beyond one where it is worth a word."""
        if size > 1.0:
            self._found.append((size, obj.label, obj.path, text))

    def told(self, sentence: str) -> list[str]:
        """At most one sentence, with what is said of the worst in place of its braces."""
        if not self._found:
            return []
        _, label, path, text = max(self._found, key=lambda item: item[0])
        others = list(dict.fromkeys(p for _, _, p, _ in self._found if p != path))
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        as_well = f" (as well as {', '.join(others[:_NAMED])}{more})" if others else ""
        return [sentence.format(f"{label}{as_well} {text}")]
