"""Readings of all sensors with a ``measure`` at a configuration, and their slopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..elements import measures
from .configuration import Configuration
from .flattening import Element
from .topology import Topology


def readings(topology: Topology, at: Configuration) -> Iterator[tuple[str, str, float]]:
    """Name, unit and value of every reading."""
    for elements in _measuring(topology):
        for el in elements:
            values = measures.readings(el.obj, at.frames(el.frames), at.q[el.coordinates])
            for channel, value in zip(el.obj.outputs, values.tolist(), strict=True):
                yield f"{el.path}.{channel.name}", channel.unit, value


def reading_slopes(
    topology: Topology, at: Configuration, chosen: Callable[[Element], bool] | None, notes: list[str]
) -> dict[str, np.ndarray]:
    """Slopes (outputs, n) of elements' readings by their own coordinates, by path; only for ``chosen`` elements if given.

    ``notes`` collects remarks on laws that cannot be recorded.
    """
    found = {}
    for elements in _measuring(topology):
        own = [el for el in elements if chosen is None or chosen(el)]
        places = [(at.frames(el.frames), at.q[el.coordinates]) for el in own]
        slopes = measures.slopes([el.obj for el in own], places, notes)
        found |= {el.path: rows for el, rows in zip(own, slopes, strict=True)}
    return found


def _measuring(topology: Topology) -> Iterator[list[Element]]:
    """The elements that have a measure, by kind."""
    for kind in topology.kinds:
        if kind.cls.defines("measure"):
            yield [topology.elements[k] for k in kind.members]
