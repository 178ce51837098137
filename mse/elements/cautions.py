"""Cautions: notes on objects at a working point, made for all objects of a class together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# of wires and beams: metals yield or break before, and among examples and documents only those meant to reach it do
# (tests/elements/test_cautions.py)
MOST_STRAIN = 0.03
MOST_TURN = 0.3  # rad between the ends at the start: clamps rotated by mistake are mostly off by a quarter turn
_NAMED = 6  # objects that a sentence names besides the worst


class Surroundings(NamedTuple):
    """Positions of the frames of objects of one class at a working point, for :meth:`.MObject.cautions`.

    ``origins`` (E, F, 3) m and ``orientations`` (E, F, 3, 3); ``start`` is the same at the start of the search, or None if it
    started at another working point; ``held`` (E, F) says if anything else is clamped to a frame; ``gravity`` (3,) m/s2.
    """

    origins: np.ndarray
    orientations: np.ndarray
    start: tuple[np.ndarray, np.ndarray] | None
    held: np.ndarray
    gravity: np.ndarray


class Worst:
    """The worst of several objects that need the same note, and the names of the others."""

    def __init__(self) -> None:
        self._found: list[tuple[float, str, str, str]] = []

    def add(self, size: float, obj: Any, text: str) -> None:
        """Note ``text`` about an object if its ``size``, relative to the limit, is above one."""
        if size > 1.0:
            self._found.append((size, obj.label, obj.path, text))

    def told(self, sentence: str) -> list[str]:
        """At most one sentence, with the text about the worst object in place of its braces."""
        if not self._found:
            return []
        _, label, path, text = max(self._found, key=lambda item: item[0])
        others = list(dict.fromkeys(p for _, _, p, _ in self._found if p != path))
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        as_well = f" (as well as {', '.join(others[:_NAMED])}{more})" if others else ""
        return [sentence.format(f"{label}{as_well} {text}")]
