"""What is read of a large motion by name: coordinates of joints with their rates, and what sensors measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model.evaluation import Evaluation
from ..model.sensors import readings
from ..validation.arguments import find, names
from .accelerations import Equations
from .coordinates import NamedCoordinates
from .explicit import Moment


class Outputs:
    """All outputs of a motion, with their ``units`` by name; ``names`` are those that were asked for, all if None were."""

    def __init__(self, equations: Equations, here: Evaluation, asked: Sequence[str] | None):
        self.equations, self.label = equations, equations.topology.label
        self.coordinates = c = NamedCoordinates(equations.topology, here)
        self.units = dict(zip((*c.names, *c.rates), (*c.units, *c.rate_units), strict=True))
        read = {name: unit for name, unit, _ in readings(equations.topology, here.configuration)}
        self.units |= read
        self._measured = bool(read)
        self.names = tuple(self.units) if asked is None else names(self.label, "outputs", asked)
        self._numbers = {name: k for k, name in enumerate(self.units)}
        self._asked = self.chosen(self.names)

    def chosen(self, asked: Sequence[str]) -> np.ndarray:
        """Numbers of named outputs among all."""
        return np.array([self._numbers[find(self.label, "output", name, self.units)] for name in asked], dtype=int)

    def row(self, moment: Moment) -> np.ndarray:
        """The outputs that were asked for, at a moment."""
        return self.all(moment)[self._asked]

    def all(self, moment: Moment) -> np.ndarray:
        """All outputs at a moment, in the order of ``units``."""
        here = self.equations.evaluation(moment.state)
        found = [self.coordinates.values(here), self.coordinates.slopes(here) @ moment.v]
        if self._measured:
            found.append(np.array([x for _, _, x in readings(self.equations.topology, here.configuration)]))
        return np.concatenate(found)
