"""Large motions of a system from a consistent start: steps, samples, and what ends a run before its time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import LinAlgError

from ..analysis.resources import refuse_beyond_memory
from ..analysis.time.simulate import checked_times
from ..errors import Interrupted, ModelError, MotionError
from ..model.assembly import Assembly
from ..model.evaluation import Evaluation
from ..model.topology import Topology
from ..model.variants import prepared
from ..numerics.blas_threads import one_thread
from ..progress.tasks import SIMULATING, Show, Task
from ..statics.working_point import WorkingPoint
from ..validation.arguments import mapping, names, number, shown
from .accelerations import Equations
from .charts import displaced
from .crossings import LEVELS, Watch
from .explicit import Moment, StepFailed, Stepper
from .input_forces import INPUTS, InputForces
from .outputs import Outputs
from .prescribed import with_drives
from .start import Given, carried, closed, moving, placed
from .switches import Switches
from .trajectory import MotionState, Trajectory

if TYPE_CHECKING:
    from ..model.system import MSystem, Snapshot

# Of the size of the system: how far ahead of the last step laws are looked at that may be undefined there. With a tenth and ten
# times of it tests/dynamics/test_simulate.py passes.
_AHEAD = 1e-3
# Dense matrices at once: M, G, a basis of the motions that G leaves, and copies of LAPACK (tests/dynamics/test_simulate.py).
_MATRICES = 10


@one_thread
def simulate(
    system: MSystem,
    *,
    duration: float,
    dt: float,
    initial: Mapping[str, Any] | None = None,
    start: WorkingPoint | MotionState | None = None,
    inputs: Mapping[str, Any] | None = None,
    outputs: Sequence[str] | None = None,
    crossings: Mapping[str, float] | None = None,
    until: Mapping[str, float] | None = None,
    rtol: float = 1e-9,
    progress: Show = True,
) -> Trajectory:
    """See :meth:`.MSystem.simulate`."""
    steps, dt = checked_times(system, duration, dt)
    rtol = number(system.label, "rtol", rtol, minimum=1e-13, maximum=1e-2)
    with Task(system.name, SIMULATING, steps, "steps", show=progress) as task:
        topology, assembly = system._prepared = prepared(system, system._prepared)
        source, inputs = topology.source, mapping(system.label, "inputs", inputs, INPUTS)
        outputs = outputs if outputs is None else names(system.label, "outputs", outputs)
        read = [*(outputs or ()), *mapping(system.label, "crossings", crossings, LEVELS)]
        driven = with_drives(topology, inputs, [*read, *mapping(system.label, "until", until, LEVELS)])
        if driven is not topology:
            topology, assembly = driven, Assembly(driven, driven.unit)
        refuse_beyond_memory(
            system.label,
            8.0 * _MATRICES * assembly.size**2,
            f"a motion of {assembly.size} coordinates needs {{}} for dense matrices",
            "take fewer bodies, or linear.simulate() for small motions",
        )
        first, before = _grid(start.time if isinstance(start, MotionState) else 0.0, dt)
        given = InputForces(assembly, inputs, first + (before + np.arange(steps + 1)) * dt)
        run = _Run(Equations(topology, assembly, given), source, rtol, outputs)
        watch = Watch(run.outputs, crossings, until)
        refuse_beyond_memory(
            system.label, (steps + 1) * 8.0 * (len(run.outputs.names) + 2 * assembly.size + 18 * assembly.bodies),
            f"{steps} steps need {{}} for outputs and poses", "take a larger dt, or run it in pieces (start=motion.final_state)",
        )  # fmt: skip
        sample, begin = run.begin(system, start, initial)
        return task.finished(run.to(sample, begin, steps, dt, watch, task.tell))


def _grid(first: float, dt: float) -> tuple[float, int]:
    """Time (s) from which samples are counted, and the number of the first one.

    They are multiples of dt from zero on, if the run begins at one: a run in two pieces then has the times of one.
    """
    whole = round(first / dt)
    return (0.0, whole) if whole * dt == first else (first, 0)


class _Run:
    """A run as it goes: samples so far, and the moments at which steps began."""

    def __init__(self, equations: Equations, source: Snapshot, rtol: float, outputs: Sequence[str] | None):
        topology = equations.topology
        refuse_unfit(topology)
        self.equations, self.rtol, self.label = equations, rtol, topology.label
        self.topology, self.source = topology, source
        self.here = Evaluation.initial(equations.assembly).measured(self.equations.measure)
        self.outputs = Outputs(equations, self.here, outputs)
        self.coordinates = self.outputs.coordinates
        self.watch: Watch | None = None
        self.rows: list[np.ndarray] = []
        self.samples: list[Moment] = []
        self.begins: list[Moment] = []
        self.evaluations = 0

    # -- start ------------------------------------------------------------------------------------------------
    def begin(self, system: MSystem, start: Any, initial: Mapping[str, Any] | None) -> tuple[Moment, Moment]:
        """The first sample, and the moment at which the first step begins, which may be earlier."""
        e, given = self.equations, Given(self.topology, self.coordinates, initial)
        time, v, moment = 0.0, np.zeros(e.size), None
        if start is None:
            here = self.here
        elif isinstance(start, WorkingPoint):
            self._refuse_other("working point", start._topology)
            here = e.evaluation(carried(start.state, v, start._topology, e.assembly)[0])
        elif isinstance(start, MotionState):
            self._refuse_other("state", start._topology)
            moment, time = start._moment, start.time
            state, v = carried(moment.state, moment.v, start._topology, e.assembly)
            unchanged = start._source.differences(system) == {} and not given and state is moment.state
            here = e.evaluation(state)
            if unchanged and self.rtol == start.rtol and e.inputs == start._inputs:
                return moment, moment.origin or moment
        else:
            raise ModelError(
                f"{self.label}: start is {shown(start)}; expected a working point, or the state of a motion, such as "
                "motion.final_state or motion.at(3.2).state"
            )
        given.refuse_unlike(self.label, e.inputs, time)
        here = closed(e, here, time, start is None)
        here = placed(e, here, self.coordinates, given)
        v = moving(e, here, self.coordinates, given, v, time)
        work = (0.0, 0.0) if moment is None else (moment.damped, moment.driven)
        first = Moment(time, here.state, v, *work)
        return first, first

    def _refuse_other(self, what: str, other: Topology) -> None:
        if self.topology.same_frames(other) and self.topology.internal == other.internal:
            return
        one, two = self.topology.frame_labels, other.frame_labels
        differ = next((n for n in [*two, *one] if (n in one) != (n in two)), "their coordinates")
        raise ModelError(
            f"{self.label}: start is a {what} of a system with other objects ({differ} is in one of them only); expected one "
            "of this system; parameters may have changed, objects may not"
        )

    # -- steps ------------------------------------------------------------------------------------------------
    def to(
        self, sample: Moment, begin: Moment, steps: int, dt: float, watch: Watch, tell: Callable[[int], None]
    ) -> Trajectory:
        """The motion of so many samples after the first, or until the watch ends it."""
        stepper, switches, first = Stepper(self.equations, self.rtol), Switches(self.equations), sample.time
        offset, before = _grid(first, dt)
        last = offset + (before + steps) * dt
        self.watch = watch
        self._add(sample)
        watch.start(sample)
        k, end = 1, None
        try:
            while k <= steps and end is None:
                step = switches.cut(stepper, stepper.step(begin))
                self.begins.append(step.begin)
                self.evaluations += step.evaluations
                end = watch.between(step, first, last)
                reached = step.end.time if end is None else end.time
                while k <= steps and (t := offset + (before + k) * dt) <= reached:
                    self._add(step.at(t))
                    k += 1
                if end is not None and end.time > self.samples[-1].time:
                    self._add(end)
                begin = step.end
                tell(k - 1)
        except KeyboardInterrupt:
            raise Interrupted(
                f"{self.label}: interrupted at t = {self.samples[-1].time:g} s, which this error has as its result",
                self.motion(),
            ) from None
        except (StepFailed, ModelError, LinAlgError) as error:
            if isinstance(error, ModelError) and begin is sample and k == 1:
                raise
            raise MotionError(self._failure(begin, error), self.motion()) from None
        return self.motion()

    def _failure(self, begin: Moment, error: Exception) -> str:
        ended = f"the motion ends at t = {begin.time:.6g} s, of which this error has the part so far as its motion"
        if isinstance(error, ModelError):
            return f"{error}; {ended}"
        e = self.equations
        if broken := e.inputs.broken(begin.time):
            return f"{broken}; {ended}"
        fast = np.abs(e.measure.metric * begin.v).max(initial=0.0)
        ahead = _AHEAD * e.measure.size / fast if fast else 0.0
        for time in (0.0, ahead):
            state = displaced(begin.state, time * begin.v)
            try:
                e.evaluation(state).refuse_undefined()
            except ModelError as undefined:
                return f"{undefined}; {ended}"
        fastest = int(np.abs(e.measure.metric * begin.v).argmax())
        return (
            f"{self.label}: no step from t = {begin.time:.6g} s on keeps rtol = {self.rtol:g}; "
            f"{self.topology.coordinate_names[fastest]} moves fastest ({begin.v[fastest]:.3g} a second); expected a motion that "
            f"stays finite and smooth; look for a stiffness of the wrong sign, or a law that jumps; {ended}"
        )

    def _add(self, moment: Moment) -> None:
        self.rows.append(self.outputs.row(moment))
        self.samples.append(moment)

    def motion(self) -> Trajectory:
        """The motion so far."""
        last = self.samples[-1]
        inputs = self.equations.inputs
        state = MotionState(self.source.name, last.time, self.rtol, self.topology, self.source, last, inputs)
        driven = np.array([inputs.at(m.time) for m in self.samples]).reshape(len(self.samples), -1)
        names, passed = self.outputs.names, self.watch.found
        passages = np.array([(c.level, c.time, 1.0 if c.rising else -1.0) for c in passed]).reshape(-1, 3)
        notes = ()
        if self.equations.massless:
            notes = (
                "some turns or displacements have neither mass nor force, such as turns of points; they stay as they are",
            )
        return Trajectory(
            self.topology.source.name, np.array([m.time for m in self.samples]), np.array(self.rows), names,
            tuple(self.outputs.units[name] for name in names), driven, inputs.names, inputs.units, state,
            crossed=tuple(c.output for c in passed), passages=passages, rtol=self.rtol,
            steps=len(self.begins), evaluations=self.evaluations,
            notes=notes, _equations=self.equations, _source=self.source, _coordinates=self.coordinates,
            _samples=tuple(self.samples), _begins=tuple(self.begins),
        )  # fmt: skip


def refuse_unfit(topology: Topology) -> None:
    """Refuse what has no law in time, or none yet."""
    for kind in topology.kinds:
        el = topology.elements[kind.members[0]]
        if kind.cls.defines("dynamic_stiffness"):
            raise ModelError(
                f"{el.obj.label}: its law is a dynamic stiffness, of frequencies; expected laws in time for a motion; take a "
                "member with discrete segments, or the linear model's frequency response"
            )
        if kind.cls.defines("flow_constraint"):
            raise ModelError(
                f"{el.obj.label}: it constrains velocities (flow_constraint), which motions do not know yet; expected "
                "constraints of positions; write it as a constraint, or take the linear model"
            )
    if topology.lossy:
        el = topology.elements[topology.lossy[0]]
        raise ModelError(
            f"{el.obj.label}: it has a loss factor, which is a law of frequencies; expected dampings in a motion; set loss to 0, "
            "and give a damping"
        )
