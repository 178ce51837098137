"""What is read of a large motion by name: coordinates of joints and their rates, sensors, forces of motors, reactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..elements.base import MObject
from ..elements.ports import port_rates
from ..elements.records import Channel
from ..model.evaluation import Evaluation
from ..model.flattening import Element
from ..model.sensors import readings
from ..validation.arguments import find, names
from .accelerations import Equations, all_reactions
from .coordinates import NamedCoordinates
from .moments import Moment


class Outputs:
    """All outputs of a motion, with their ``units`` by name; ``names`` are those that were asked for.

    Without asking these are all but reactions of joints, which take the accelerations of each sample.
    """

    def __init__(self, equations: Equations, here: Evaluation, asked: Sequence[str] | None):
        self.equations, self.label = equations, equations.topology.label
        # what knows M a - f (n,) at a moment, see Stepper.left
        self.left: Callable[[Moment], np.ndarray | None] | None = None
        self.coordinates = c = NamedCoordinates(equations.topology, here)
        # all that is read, in this order; elements such as capacitors read what has its name as a coordinate or rate already
        read = list(zip((*c.names, *c.rates), (*c.units, *c.rate_units), strict=True))
        self._of_joints = len(read)  # the first so many, with internal coordinates
        measured = [(name, unit) for name, unit, _ in readings(equations.topology, here.configuration)]
        self._measures = not {name for name, _ in measured} <= {name for name, _ in read}
        if self._measures:
            read += measured
        elements = equations.topology.elements
        self._sensors = [el for el in elements if el.obj.defines("reading")]
        read += _channels(self._sensors, lambda obj: obj.outputs)
        read += _channels(elements, lambda obj: list(port_rates(obj)))
        flows = [el.internal[k] for el in elements for k in port_rates(el.obj).values()]
        self._flows = np.array(flows, dtype=int)  # their coordinates among internal ones
        self._without_forces = len(read)  # the first so many, which positions and velocities give
        held = {el.path for g in equations.assembly.groups if g.constraint_count for el in g.elements}
        held |= {el.path for part in equations.flows for el in part.elements}
        self._reacting = [el for el in elements if el.path in held and el.obj.reaction_outputs]
        read += _channels(self._reacting, lambda obj: obj.reaction_outputs)
        self._without_drives = len(read)
        self.units: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        for k, (name, unit) in enumerate(read):
            self.units.setdefault(name, unit)
            self._numbers.setdefault(name, k)
        self._drives: dict[str, int] = {}  # the constraint of each that has a motor, by the name of its force
        of_motors = []
        for el in elements:
            for name, (_, force) in el.obj.drives.items():
                row = equations.inputs.motors.get(f"{el.path}.{name}")
                if row is None:
                    continue
                channel = f"{el.path}.{force.name}"
                if channel in self.units:  # a reaction, which is opposite
                    channel = f"{el.path}.{name}_{'torque' if force.unit == 'N m' else 'force'}"
                of_motors.append(channel)
                self._numbers[channel] = len(read) + len(self._drives)
                self._drives[channel] = row
                self.units[channel] = force.unit
        usual = (*(name for name, k in self._numbers.items() if k < self._without_forces), *of_motors)
        self.names = usual if asked is None else names(self.label, "outputs", asked)
        self.asked = self.chosen(self.names)
        self.asked_singly = self.asked[self.asked >= self._of_joints]

    def chosen(self, asked: Sequence[str]) -> np.ndarray:
        """Numbers of named outputs among all."""
        return np.array([self._numbers[find(self.label, "output", name, self.units)] for name in asked], dtype=int)

    def at(self, moment: Moment, numbers: np.ndarray) -> np.ndarray:
        """Outputs at a moment, by their numbers."""
        singly = numbers[numbers >= self._of_joints]
        return self.over_time([moment], [self.single(moment, singly)] if len(singly) else [], numbers)[0]

    def over_time(self, moments: Sequence[Moment], single: Sequence[np.ndarray], numbers: np.ndarray) -> np.ndarray:
        """Outputs (t, k) at moments by their numbers; ``single`` has what :meth:`single` gives for each moment."""
        out, of_joints = np.empty((len(moments), len(numbers))), numbers < self._of_joints
        if of_joints.any():
            out[:, of_joints] = self.coordinates.over_time(moments)[:, numbers[of_joints]]
        if not of_joints.all():
            out[:, ~of_joints] = single
        return out

    def single(self, moment: Moment, numbers: np.ndarray) -> np.ndarray:
        """Outputs at a moment by their numbers, none of which is a coordinate of a joint or its rate."""
        here, found = self.equations.evaluation(moment.state, moment.time), []
        if self._measures:
            found += [x for _, _, x in readings(self.equations.topology, here.configuration)]
        for el in self._sensors:
            found += el.obj.reading(here.configuration.frames(el.frames)).tolist()
        found += moment.v[len(moment.v) - here.assembly.topology.internal + self._flows].tolist()
        if numbers.max() >= self._without_forces:
            found += self._forces(here, moment, numbers)
        return np.array(found)[numbers - self._of_joints]

    def _forces(self, here: Evaluation, moment: Moment, numbers: np.ndarray) -> list[float]:
        e, first = self.equations, self._without_forces
        given = e.holding(here, moment.v, moment.time, None if self.left is None else self.left(moment))
        multipliers, of_flows = np.split(given, [e.assembly.constraint_count])
        found = [0.0] * (self._without_drives - first)
        if ((first <= numbers) & (numbers < self._without_drives)).any():
            reactions = all_reactions(e, here, multipliers, of_flows)
            found = [x for el in self._reacting for x in reactions[el.path].tolist()]
        return found + [-float(multipliers[row]) for row in self._drives.values()]


def _channels(elements: Sequence[Element], channels: Callable[[MObject], Sequence[Channel]]) -> list[tuple[str, str]]:
    """Names and units of some channels of each element."""
    return [(f"{el.path}.{channel.name}", channel.unit) for el in elements for channel in channels(el.obj)]
