"""What objects say of a working point: how far off their laws may be there, and what no real one would do."""

from __future__ import annotations

import numpy as np

from ..elements.cautions import Surroundings
from ..model.configuration import Configuration
from ..model.topology import Topology


def cautions(topology: Topology, at: Configuration, start: Configuration | None) -> list[str]:
    """Sentences, each to follow "The search ".

    Parameters
    ----------
    topology : Topology
        The system.
    at, start : Configuration
        The working point, and where the search for it began; None where that was another working point.

    Returns
    -------
    list of str
        What is worth a word.
    """
    notes: list[str] = []
    kinds = [kind for kind in topology.kinds if kind.cls.defines("cautions")]
    if not kinds:
        return notes
    crowd = np.bincount(topology.unit, minlength=topology.units)
    crowd[0] += 1  # a frame at the ground is held
    for kind in kinds:
        objects, frames = [topology.elements[k].obj for k in kind.members], kind.frames
        began = None if start is None else (start.o[frames], start.U[frames])
        held = crowd[topology.unit[frames]] > 1
        notes += kind.cls.cautions(objects, Surroundings(at.o[frames], at.U[frames], began, held, at.gravity))
    return notes
