"""Stages of a search: easier systems before the one whose equilibrium is wanted."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..elements.base import MObject
from ..model.columns import parameters_of
from ..model.configuration import State
from ..model.topology import Topology
from .scales import total_force

# Largest ratio of stiffness between mechanisms of an element, stage by stage towards the real element: stiff directions make
# curved valleys that the search could follow only in short steps.  With a hundredth and a hundred times of all
# tests/statics/test_search.py::test_only_elements_with_stiffer_mechanisms_are_softened fails.
_STIFFNESS_RATIOS = (1e2, 1e4, 1e6, 1e8, 1e10, 1e12)
# A beam is a cable if all loads strain it grossly when its other mechanisms are only so many times as stiff as bending; bending
# then holds less than a ten-thousandth of the loads.  With ten times of it
# tests/statics/test_cables.py::test_a_straight_cable_is_found_hanging fails, with a hundredth
# tests/statics/test_cables.py::test_what_bending_holds_is_no_cable.
_CABLE = 1e6
# Of the loads: a cable is found under these first, so that a beam too long for its place buckles in one wave
# (tests/statics/test_cables.py).
_SHARES = (1e-4, 1e-2)
# Of the loads wanted: load factors are found to four digits
# (tests/statics/test_search.py::test_load_steps_are_halved_down_to_a_ten_thousandth, by definition).
_LEAST_LOAD_STEP = 1e-4


class Stage(NamedTuple):
    """The system of a stage.

    ``strength`` multiplies elastic forces, ``load_factor`` weights and loads, ``follower_factor`` forces without an energy.
    Elements are softened: each mechanism is at most ``stiffness_ratio`` times as stiff as the softest of its element.
    """

    strength: float = 1.0
    stiffness_ratio: float = np.inf
    load_factor: float = 1.0
    follower_factor: float = 1.0


WHOLE = Stage()  # all forces as they are


class Reached(NamedTuple):
    """The factors of the last stage whose equilibrium was found, and that equilibrium."""

    load_factor: float
    follower_factor: float
    state: State

    def is_at(self, stage: Stage) -> bool:
        """Whether a stage has these factors."""
        return (self.load_factor, self.follower_factor) == (stage.load_factor, stage.follower_factor)


def stages(first_strength: float, ratios: tuple[float, ...], whole: Stage) -> tuple[Stage, ...]:
    """Stages up to the ``whole`` one: strengths from the first to 1, at most a factor of ten apart, then stiffness ratios.

    Stages of weaker elastic forces have the first of the ``ratios``.
    """
    count = math.ceil(-math.log10(first_strength))
    weak = np.geomspace(first_strength, 1.0, count + 1)[:-1].tolist() if count else []
    softest = ratios[0] if ratios else np.inf
    first = [whole._replace(strength=s, stiffness_ratio=softest) for s in weak]
    return (*first, *(whole._replace(stiffness_ratio=r) for r in ratios), whole)


def loads_from_little(topology: Topology, whole: Stage, weights: np.ndarray) -> tuple[Stage, ...]:
    """Stages in which the loads of a system of cables are raised from very small ones to the ``whole``, with softened elements.

    All loads at once would crumple a cable.  Empty if any element that can be softened is no cable.
    """
    elements = _softer(topology)
    if not elements:
        return ()
    load = abs(whole.load_factor) * total_force(weights, topology.units - 1)
    if not all(_is_cable(obj, load) for obj in elements):
        return ()
    found: list[Stage] = []
    for share in (*_SHARES, 1.0):
        loaded = whole._replace(load_factor=share * whole.load_factor)
        found += stages(1.0, stiffness_ratios(topology, loaded.load_factor, weights), loaded)
    return tuple(found)


def _is_cable(obj: MObject, load: float) -> bool:
    under, without = (parameters_of([obj.softened(_CABLE, force)]) for force in (load, 0.0))
    return not np.array_equal(under, without)


def _softer(topology: Topology) -> list[MObject]:
    """All elements that can be softened."""
    kinds = [kind for kind in topology.kinds if kind.cls.defines("softened")]
    return [topology.elements[k].obj for kind in kinds for k in kind.members]


def stiffness_ratios(topology: Topology, load_factor: float, weights: np.ndarray) -> tuple[float, ...]:
    """The stiffness ratios by which some element can be softened, under a factor on the ``weights`` (n,) and loads."""
    elements = _softer(topology)
    if not elements:
        return ()
    load = abs(load_factor) * total_force(weights, topology.units - 1)
    return tuple(r for r in _STIFFNESS_RATIOS if any(obj.softened(r, load) is not obj for obj in elements))


def halfway(reached: Reached, stage: Stage, whole: Stage) -> Stage | None:
    """The stage half as far from the equilibrium reached; None if that step is too small compared with the whole load."""
    largest = max(abs(whole.load_factor), abs(reached.load_factor)) or 1.0
    gap = abs(stage.load_factor - reached.load_factor) / largest
    if max(gap, abs(stage.follower_factor - reached.follower_factor)) < _LEAST_LOAD_STEP:
        return None
    return stage._replace(
        load_factor=0.5 * (reached.load_factor + stage.load_factor),
        follower_factor=0.5 * (reached.follower_factor + stage.follower_factor),
    )
