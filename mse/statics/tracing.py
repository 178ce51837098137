"""Equilibria of a system along one of its parameters: how :meth:`MSystem.trace` begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..elements.base import MObject
from ..errors import ModelError, UnknownNameError, WorkingPointError, nearest_name
from ..model.assembly import Assembly
from ..model.configuration import State
from ..model.flow_constraints import refuse_flow_constraints
from ..model.topology import Topology
from ..model.variants import variant
from ..numerics.blas_threads import one_thread
from ..numerics.precision import EPS, SURE
from ..progress.tasks import Show, Task
from ..validation.arguments import instance, number, real, refusal, shown, whole
from .continuation import FIRST, Curve, Trace
from .equilibrium import RESIDUAL
from .first_loads import settled
from .merit_function import MeritFunction, Point
from .relaxation import relaxation
from .working_point import WorkingPoint

if TYPE_CHECKING:
    from ..model.system import MSystem

_MOST_POINTS = 1_000_000
_DIFFERENCE = float(np.cbrt(EPS))  # of the parameter: best step of central differences


@one_thread
def trace(
    system: MSystem,
    parameter: str,
    target: float,
    *,
    start: WorkingPoint | None,
    max_points: int,
    progress: Show = True,
) -> Trace:
    """See :meth:`MSystem.trace`."""
    if not isinstance(parameter, str):
        raise refusal(system.label, "the parameter to trace", parameter, "'load_factor' or 'object.parameter'")
    target = number(system.label, "target", target)
    # every point keeps a working point
    max_points = whole(system.label, "max_points", max_points, minimum=2, maximum=_MOST_POINTS)
    if start is not None:
        instance(system.label, "start", start, WorkingPoint, "a working point of this system, or None")
    with Task(system.name, f"tracing {parameter}", unit="points", show=progress) as task:
        family = ParameterFamily(system, parameter, start)
        if target == family.begin:
            raise ModelError(
                f"{system.label}: trace(target={target!r}), but {parameter} is {target!r} already; expected another value"
            )
        family.refuse(target)
        family.start = settled(family, target, near=True) or family.start
        return task.finished(Curve(family, target).run(max_points, task))


class ParameterFamily:
    """One system for the values of one parameter, in the coordinates of the first, which has the value ``begin``."""

    def __init__(self, system: MSystem, parameter: str, start: WorkingPoint | None):
        self.system, self.parameter = system, parameter
        self.path, _, self.key = parameter.rpartition(".")
        self.by_load = parameter == "load_factor"
        self.load_factor = 1.0 if start is None else start.load_factor
        self._topology = Topology(system)
        refuse_flow_constraints(self._topology)
        self._assembly = Assembly(self._topology, self._topology.unit)
        # an unknown name is refused first
        self.begin = self._present(system[self.path] if self.path else system) if not self.by_load else self.load_factor
        if start is not None and not start.converged:
            raise WorkingPointError(
                f"{system.label}: trace() needs a working point to start from; {start.reason}", start
            )
        if start is not None and not self.by_load:
            self.begin = self._present(start._topology.source[self.path])
        topology, assembly = self._changed(self.begin)
        looking = relaxation(
            topology, assembly, seek="stable" if start is None else "nearest", load_factor=self.load_factor, start=start
        )
        if start is None or not self._rests(topology, assembly, looking.state, start):
            looking.run()
        self.start: State = looking.state
        self._first = self._merit(topology, assembly, looking.state)
        self._known: dict[float, MeritFunction] = {self.begin: self._first}

    def _merit(self, topology: Topology, assembly: Assembly, state: State) -> MeritFunction:
        return MeritFunction.of(topology, assembly, state).under(self.load_factor)

    def _rests(self, topology: Topology, assembly: Assembly, state: State, start: WorkingPoint) -> bool:
        """Whether a start balances as well as when it was found."""
        merit = self._merit(topology, assembly, state)
        residual = merit.residual(merit.evaluate(state, 1))[0]
        return residual <= max(SURE * start.relative_residual.max(initial=0.0), RESIDUAL)

    def _present(self, target: MObject) -> float:
        """The present value of the parameter."""
        if self.key not in target.parameters:
            raise UnknownNameError(
                f"{target.label}: no parameter {self.key!r}{nearest_name(self.key, list(target.parameters))}"
            )
        value = target.parameters[self.key]
        if isinstance(value, tuple) and len(value) == 1:
            value = value[0]
        found = real(value)
        if found is None:
            raise ModelError(f"{target.label}: trace() along {self.key}, which is {shown(value)}; expected a number")
        return found

    def refuse(self, value: float) -> None:
        """ModelError for a value that the parameter cannot have."""
        if not self.by_load:
            self._with(value)

    def _with(self, value: float) -> MObject:
        obj = self._topology.source[self.path]._snapshot()
        obj.parameters[self.key] = float(value)
        return obj

    def _changed(self, value: float) -> tuple[Topology, Assembly]:
        if self.by_load:
            return self._topology, self._assembly
        return variant(self._topology, self._assembly, {self.path: self._with(value)})

    def at(self, value: float) -> MeritFunction:
        """The merit function for one value of the parameter."""
        if value not in self._known:
            if self.by_load:
                merit = self._first.under(value)
            else:
                merit = self._first.neighbor(*self._changed(value))
            if len(self._known) > 8:
                self._known.clear()
            self._known[value] = merit
        return self._known[value]

    def slope(self, merit: MeritFunction, point: Point, value: float, to: float) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of forces (n,) and constraints (m,) by the parameter, at fixed multipliers.

        Differences do not go beyond ``to``, where the system may not exist.
        """
        if self.by_load:
            return -merit.weights_at(point.state), np.zeros(len(point.multipliers))
        range_, ahead = abs(to - self.begin), np.sign(to - self.begin)
        far = max(abs(value), abs(value - self.begin), FIRST * range_)
        step = min(_DIFFERENCE * far, 0.5 * range_)
        ends = np.array([value - step, value + step])
        ends -= ahead * max(0.0, float(((ends - to) * ahead).max()))
        (f0, g0), (f1, g1) = (self.at(v).raw(point.state, point.multipliers) for v in ends)
        return (f1 - f0) / (ends[1] - ends[0]), (g1 - g0) / (ends[1] - ends[0])
