"""Circuits that ideal sources contradict, whatever their values are: refused by name before anything is solved.

In a loop of ideal sources of effort their sum need not be zero, and if it is, nothing decides what flows.  Where only sources of
flow meet, their sum need not be zero, and if it is, nothing decides the effort.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..elements.amplifiers import Amplifier
from ..elements.circuits import CurrentSource, VoltageSource
from ..elements.fluids import PressureSource
from ..elements.heat import TemperatureSource
from ..errors import ModelError

_EFFORTS = {
    VoltageSource: ("voltage", "V"),
    PressureSource: ("pressure", "Pa"),
    TemperatureSource: ("temperature", "K"),
}
_FLOWS = {CurrentSource: ("current", "A")}
_Ends = tuple[int, int]


def refuse_loops(elements: Sequence[Any], ends: Mapping[int, _Ends]) -> None:
    """ModelError for a loop of ideal sources of effort.

    Parameters
    ----------
    elements : sequence of Element
        The flattened elements.
    ends : mapping
        The two junctions that each coordinate joins, by its number.
    """
    sources = [el for el in elements if type(el.obj) in _EFFORTS]
    to: dict[int, int] = {}  # from a junction towards the first of those that sources have joined it to

    def end(junction: int) -> int:
        while junction in to:
            junction = to[junction]
        return junction

    for k, el in enumerate(sources):
        first, second = map(end, ends[el.coordinates.start])
        if first == second:
            loop = sorted([*_way(sources[:k], ends, *ends[el.coordinates.start]), el], key=lambda one: one.path)
            raise ModelError(
                f"{_labels(loop)}: a loop of ideal sources, {_values(loop, _EFFORTS, ' against ')}; expected something between "
                "them that limits what flows; add a resistance, or remove a source"
            )
        to[max(first, second)] = min(first, second)


def _way(sources: Sequence[Any], ends: Mapping[int, _Ends], begin: int, goal: int) -> list[Any]:
    """The sources on the way from one junction to another."""
    met: dict[int, list[tuple[int, Any]]] = {}
    for el in sources:
        first, second = ends[el.coordinates.start]
        met.setdefault(first, []).append((second, el))
        met.setdefault(second, []).append((first, el))
    ways: dict[int, list[Any]] = {begin: []}
    ahead = [begin]
    while goal not in ways:
        here = ahead.pop()
        for there, source in met[here]:
            if there not in ways:
                ways[there] = [*ways[here], source]
                ahead.append(there)
    return ways[goal]


def refuse_cuts(elements: Sequence[Any], ends: Mapping[int, _Ends], alone: Sequence[bool], groups: Any) -> None:
    """ModelError for sources of flow if what they drive has no way back but through sources of flow.

    Parameters
    ----------
    elements, ends
        As for :func:`refuse_loops`.
    alone : sequence of bool
        Whether a junction is a port that is connected to nothing, where nothing flows.
    groups : callable
        ``groups(count, pairs)``: numbers of the connected parts of a graph.
    """
    sources = [
        el for el in elements if type(el.obj) in _FLOWS and not any(alone[j] for j in ends[el.coordinates.start])
    ]
    if not sources:
        return
    held = {el.coordinates.start for el in sources}
    others = np.array([pair for c, pair in ends.items() if c not in held], dtype=int).reshape(-1, 2)
    part = groups(len(alone), others)
    cut = [el for el in sources if len({int(part[j]) for j in ends[el.coordinates.start]}) > 1]
    if cut:
        raise ModelError(
            f"{_labels(cut)}: only sources of flow meet at a port, {_values(cut, _FLOWS, ', ')}; expected another way for what "
            "they drive, so that the effort there is known; connect a resistance beside them, or remove a source"
        )


def refuse_open_inputs(elements: Sequence[Any], ends: Mapping[int, _Ends], alone: Sequence[bool]) -> None:
    """ModelError for an amplifier with an open input, whose voltage nothing decides; arguments as above."""
    for el in elements:
        if type(el.obj) is Amplifier and any(alone[j] for j in ends[el.coordinates.start]):
            raise ModelError(
                f"{el.obj.label}: its input is open, so nothing decides the voltage there; expected both ports of it connected; "
                "connect in+ and in-, one of them to system.earth perhaps, or remove it"
            )


def open_sources(elements: Sequence[Any], ends: Mapping[int, _Ends], alone: Sequence[bool]) -> tuple[str, ...]:
    """Paths of sources with a port that is connected to nothing, so that they drive nothing; arguments as above."""
    sources = (el for el in elements if type(el.obj) in _EFFORTS | _FLOWS)
    return tuple(el.path for el in sources if any(alone[j] for j in ends[el.coordinates.start]))


def _labels(elements: Sequence[Any]) -> str:
    return ", ".join(el.obj.label for el in elements)


def _values(elements: Sequence[Any], kinds: Mapping[type, tuple[str, str]], between: str) -> str:
    found = ((el.obj.parameters[kinds[type(el.obj)][0]], kinds[type(el.obj)][1]) for el in elements)
    return between.join(f"{value:g} {unit}" for value, unit in found)
