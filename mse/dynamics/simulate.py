"""Large motions of a system from a consistent start: steps, samples, and what ends a run before its time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import LinAlgError

from ..analysis.resources import refuse_beyond_memory
from ..analysis.time.inputs import checked_times
from ..analysis.time.recording import Recording
from ..analysis.time.response import Crossing, TimeResponse
from ..errors import Interrupted, ModelError, MotionError
from ..model.assembly import Assembly
from ..model.evaluation import Evaluation
from ..model.topology import Topology
from ..model.variants import prepared
from ..numerics.blas_threads import one_thread
from ..progress.tasks import SIMULATING, Show, Task
from ..statics.working_point import WorkingPoint
from ..validation.arguments import mapping, names, number, shown
from ..validation.file_access import file_path
from .accelerations import Equations
from .charts import JointsOpen, StepFailed, displaced
from .crossings import LEVELS, Watch
from .faint import hardly_seen
from .fast_motions import fastest_motion
from .input_forces import INPUTS, InputForces
from .jumps import Jumps
from .ledger import unaccounted
from .locking import Locking
from .methods import checked, chosen, refuse_undivided, stepper, undecided
from .moments import Begins, Moment
from .one_sided import half_turns, wrong_ways
from .outputs import Outputs
from .prescribed import with_drives
from .recorded import Numbers, asked
from .settling import Hidden, refuse_bare, settled
from .sparse_jacobian import goes_by_sparse_matrices
from .start import Given, carried, closed, moving, placed, put_along
from .steppers import compile_steps_ahead
from .sticking import Sticking
from .switches import Switches
from .trajectory import MotionState, Trajectory
from .undefined import ends_of_range, refuse_undefined
from .unlike import refuse_other

if TYPE_CHECKING:
    from ..model.system import MSystem, Snapshot

# Of the size of the system: how far ahead of the last step laws are looked at that may be undefined there. With a tenth and ten
# times of it tests/dynamics/test_simulate.py passes.
_AHEAD = 1e-3
# Dense matrices at once: M, G, a basis of the motions that G leaves, and copies of LAPACK (tests/dynamics/test_simulate.py).
_MATRICES = 10
_TIMES = 24.0  # bytes a sample: its time, and two numbers while times are made (tests/dynamics/test_simulate.py)


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
    method: str | None = None,
    record: str | PathLike[str] | None = None,
    progress: Show = True,
) -> Trajectory | TimeResponse:
    """See :meth:`.MSystem.simulate`."""
    steps, dt = checked_times(system.name, duration, dt)
    # before anything of that length is made; what outputs and poses need is known later
    asked_for = f"duration {duration:g} s with dt {dt:g} s makes {steps + 1} samples"
    refuse_beyond_memory(
        system.label, _TIMES * (steps + 1), f"{asked_for}, whose times alone need {{}}",
        "take a larger dt, or several runs, each from the final_state of the one before",
    )  # fmt: skip
    rtol = number(system.label, "rtol", rtol, minimum=1e-13, maximum=1e-2)
    method = checked(system.label, method)
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
        each = 8.0 * (len(outputs or ()) + 2 * assembly.size + 18 * assembly.bodies)
        if record is None:  # before times are made and inputs are read at them
            refuse_beyond_memory(
                system.label, (steps + 1) * each, f"{asked_for}, which need {{}} for outputs and poses",
                "take at most {} samples by a larger dt, or record='run.npy' to keep outputs on disk", each,
            )  # fmt: skip
        first, before = _grid(start.time if isinstance(start, MotionState) else 0.0, dt)
        times = first + (before + np.arange(steps + 1)) * dt
        given = InputForces(assembly, inputs, times)
        run = Run(Equations(topology, assembly, given), source, rtol, outputs, method, duration)
        watch = Watch(run.outputs, crossings, until)
        sample, begin = run.begin(system, start, initial)
        if record is not None:
            units, path = [run.outputs.units[n] for n in run.outputs.names], file_path(record, "record")
            with Recording(
                path, asked(run.equations, begin, times, run.outputs.names, units, rtol, run.method)
            ) as file:
                return task.finished(run.to(sample, begin, times, watch, task.tell, file))
        return task.finished(run.to(sample, begin, times, watch, task.tell))


def _grid(first: float, dt: float) -> tuple[float, int]:
    """Time (s) from which samples are counted, and the number of the first one.

    They are multiples of dt from zero on, if the run begins at one: a run in two pieces then has the times of one.
    """
    whole = round(first / dt)
    return (0.0, whole) if whole * dt == first else (first, 0)


class Run:
    """A run as it goes: samples so far, and the moments at which steps began."""

    def __init__(
        self,
        equations: Equations,
        source: Snapshot,
        rtol: float,
        outputs: Sequence[str] | None,
        method: str | None = None,
        span: float = 0.0,
    ):
        topology = equations.topology
        refuse_unfit(topology)
        self.equations, self.rtol, self.label = equations, rtol, topology.label
        self.topology, self.source = topology, source
        compile_steps_ahead(equations, implicit=method == "implicit")
        self.here = Evaluation.initial(equations.assembly).measured(self.equations.measure)
        for part in equations.flows:
            part.check(self.here.configuration)
        self.outputs = Outputs(equations, self.here, outputs)
        self.coordinates = self.outputs.coordinates
        self.watch: Watch | None = None
        self.file: Recording | None = None
        self.locking: Locking | None = None
        self.sticking, self.switches = Sticking(equations), Switches(equations)
        self.samples: list[Moment] = []
        self.single: list[np.ndarray] = []  # their outputs but coordinates of joints
        self.begins = Begins()
        self.evaluations = 0
        self._since: float | None = None  # on the clock, when samples began to be made in one go
        self.method, self.why, self._span = method or "", "", span
        self._along = ""  # a note on what initial values put along
        self._moved = False  # whether there are initial values
        self._stays: list[str] = []  # names of what neither mass nor force decides

    # -- start ------------------------------------------------------------------------------------------------
    def begin(self, system: MSystem, start: Any, initial: Mapping[str, Any] | None) -> tuple[Moment, Moment]:
        """The first sample, and the moment at which the first step begins, which may be earlier."""
        e, given = self.equations, Given(self.topology, self.coordinates, initial)
        self._moved = bool(given)
        time, v, moment = 0.0, np.zeros(e.size), None
        if start is None:
            here = self.here
        elif isinstance(start, WorkingPoint):
            refuse_other("working point", (start._topology, start._topology.source), (self.topology, self.source))
            v = np.zeros(start._assembly.size)  # of a system whose actuators may link frames that move here
            v[len(v) - self.topology.internal :] = start._assembly.flows
            state, v = carried(start.state, v, start._topology, e.assembly)
            here = e.evaluation(state)
        elif isinstance(start, MotionState):
            refuse_other("state", (start._topology, start._source), (self.topology, self.source))
            moment, time = start._moment, start.time
            state, v = carried(moment.state, moment.v, start._topology, e.assembly)
            unchanged = start._source.differences(system) == {} and not given and state is moment.state
            here = e.evaluation(state)
            if (
                unchanged
                and self.rtol == start.rtol
                and e.inputs == start._inputs
                and self.method in ("", start.method)
            ):
                self._choose(here, v, start.method)
                e.inputs.go_on(start._inputs)
                return moment, moment.origin or moment
        else:
            raise ModelError(
                f"{self.label}: start is {shown(start)}; expected a working point, or the state of a motion, such as "
                "motion.final_state or motion.at(3.2).state"
            )
        inner = self.topology.coordinate_names[e.size - self.topology.internal :]
        e.inputs.begin_at(time, {**dict(zip(inner, here.state.q.tolist(), strict=True)), **given.values})
        given.refuse_unlike(self.label, e.inputs, time)
        here = closed(e, here, time, start is None)
        before, here = here, placed(e, here, self.coordinates, given)
        self._along = put_along(e, before, here, given)
        here.refuse_undefined()
        v = moving(e, here, self.coordinates, given, v, time)
        self._choose(here, v, self.method)
        if e.implicit:
            here, v = settled(e, here, v, time, given)
            refuse_undivided(self.label, self._stays)
            if self._stays:
                refuse_bare(e, here, v, time)
        work = (0.0, 0.0) if moment is None else (moment.damped, moment.driven)
        first = Moment(time, here.state, v, *work)
        return first, first

    def _choose(self, here: Evaluation, v: np.ndarray, method: str) -> None:
        e = self.equations
        self.method, self.why = (method, "") if method else chosen(e, here, v, self._span, self.rtol)
        e.implicit = self.method == "implicit"
        e.sparse = e.implicit and goes_by_sparse_matrices(e, here)
        by_dense = e.implicit and not e.sparse
        self._stays = undecided(e, here, v) if by_dense else []
        e.undecided, e.hidden = bool(self._stays), by_dense and bool(Hidden.of(e, here, v))

    # -- steps ------------------------------------------------------------------------------------------------
    def to(
        self, sample: Moment, begin: Moment, times: np.ndarray, watch: Watch, tell: Callable[[int], None],
        file: Recording | None = None,
    ) -> Trajectory | TimeResponse:  # fmt: skip
        """The motion with samples at times (s), or until the watch ends it; in a file, of which rows may be there already."""
        self._since = perf_counter()
        maker = stepper(self.equations, self.rtol, self.method, float(times[-1]))
        self.outputs.left = maker.left
        switches, ahead = self.switches, times.tolist()
        jumps = Jumps(self.equations, Given(self.topology, self.coordinates, None), times)
        self.locking = Locking(self.equations, float(times[0]), float(times[-1]))
        steps, self.watch, end, k = len(times) - 1, watch, None, 1
        if file is not None:
            self._in(file, begin)
        if file is not None and file.complete:
            return self.motion()
        if file is not None and file.rows:
            begin, k = self.numbers.moment(file.state), file.rows
            sample = begin
        else:
            self._add(sample)
        watch.start(sample)
        looked_at = watch.looks or self.sticking.looks or switches.looks(begin)
        leaps = maker.leaps and not looked_at
        if not looked_at:
            maker.samples = times
        try:
            while k <= steps and end is None:
                step = jumps.leap(maker, begin, times[k:]) if leaps else None
                step = step or jumps.step(maker, switches, begin)
                self.locking.refuse_pole(step)
                self.begins.add(step)
                self.evaluations += step.evaluations
                end = watch.between(step, sample.time, times[-1])
                reached = step.end.time if end is None else end.time
                while k <= steps and ahead[k] <= reached:
                    self._add(step.at(ahead[k]))
                    k += 1
                if end is not None and end.time > times[k - 1]:
                    self._add(end)
                begin = step.end
                if file is not None:
                    self._write(begin, end is not None)
                if end is None and k <= steps:
                    self.locking.refuse(step)
                    self.sticking.refuse(step)
                tell(k - 1)
        except Interrupted:  # of a file, which has all
            raise
        except KeyboardInterrupt:
            self._keep(begin)
            raise Interrupted(
                f"{self.label}: interrupted at t = {begin.time:g} s, up to which this error has the motion as its result",
                self.motion(),
            ) from None
        except (StepFailed, ModelError, LinAlgError) as error:
            if not isinstance(error, StepFailed | LinAlgError) and begin is sample and k == 1:
                raise
            self._keep(begin)
            raise MotionError(self.failure(begin, error), self.motion()) from None
        return self.motion()

    def _in(self, file: Recording, begin: Moment) -> None:
        """Write to a file, which keeps the crossings of a run that goes on in it."""
        self.file, self.numbers = file, Numbers(self.equations, begin)
        passages = zip(file.more.get("crossed", ()), np.reshape(file.more.get("passages", ()), (-1, 3)), strict=True)
        self.watch.found += [Crossing(name, level, t, sign > 0.0) for name, (level, t, sign) in passages]

    def _keep(self, begin: Moment) -> None:
        """Bring all rows so far to the disk, if there is a file; the next step would have begun at a moment."""
        if self.file is not None:
            self._write(begin)
            numbers = self.numbers.of(begin)
            self.file.flush(numbers, dict(zip(self.numbers.names, numbers.tolist(), strict=True)))

    def _write(self, begin: Moment, ended: bool = False) -> None:
        """Hand the rows so far to the file, and forget them; ``begin`` is where the next step begins."""
        file, numbers = self.file, self.numbers.of(begin)
        rows = []
        if self.samples:
            inputs = [self.equations.inputs.at(m.time) for m in self.samples]
            rows = np.column_stack([[m.time for m in self.samples], self._rows(), inputs])
        self.samples, self.single, self.begins = [], [], Begins()
        crossed, passages = self._passages()
        file.more = {"crossed": list(crossed), "passages": passages.ravel().tolist(), "ended": int(ended)}
        named = dict(zip(self.numbers.names, numbers.tolist(), strict=True))
        if len(rows):
            file.append(rows, numbers, named)
        if ended:
            file.flush(numbers, named)

    def _passages(self) -> tuple[tuple[str, ...], np.ndarray]:
        found = self.watch.found
        passages = np.array([(c.level, c.time, 1.0 if c.rising else -1.0) for c in found]).reshape(-1, 3)
        return tuple(c.output for c in found), passages

    def failure(self, begin: Moment, error: Exception) -> str:
        """In words: why no step leads on from a moment."""
        ended = f"the motion ends at t = {begin.time:.6g} s, of which this error has the part so far as its motion"
        if isinstance(error, ModelError) and not isinstance(error, JointsOpen | StepFailed):
            return f"{error}; {ended}"
        e = self.equations
        if broken := e.inputs.broken(begin.time):
            return f"{broken}; {ended}"
        fast = np.abs(e.measure.metric * begin.v).max(initial=0.0)
        ahead = _AHEAD * e.measure.size / fast if fast else 0.0
        for time in (0.0, ahead):
            state = displaced(begin.state, time * begin.v)
            try:
                refuse_undefined(e, state, begin.v, begin.time + time)
            except ModelError as undefined:
                return f"{undefined}; {ended}"
        if self.locking is not None and (locked := self.locking.words(begin)):
            return f"{locked}; {ended}"
        ending = next(ends_of_range(e, begin.state), "")
        if isinstance(error, JointsOpen) and not ending:
            return f"{error}; {ended}"
        if e.implicit and not ending:
            later = float(np.nextafter(begin.time, np.inf))
            try:
                settled(
                    e, e.evaluation(begin.state, later), begin.v, later, Given(self.topology, self.coordinates, None)
                )
            except ModelError as torn:
                return f"{torn}; {ended}"
        fastest = int(np.abs(e.measure.metric * begin.v).argmax())
        none = f"{self.label}: no step from t = {begin.time:.6g} s on keeps rtol = {self.rtol:g}"
        if ending:
            return f"{none}, where {ending}; {ended}"
        if stuck := self.sticking.words(begin) or self.switches.words(begin):
            return f"{stuck}; {ended}"
        quick = f", and {found.words}" if (found := fastest_motion(e, begin.state, begin.v, begin.time)) else ""
        name = self.topology.coordinate_names[fastest]
        cause = "a temperature that falls to 0 K, " if getattr(name, "domain", "") == "thermal" else ""
        return (
            f"{none}; {name} moves fastest ({begin.v[fastest]:.3g} a second){quick}; expected a motion that stays finite and "
            f"smooth; look for {cause}a stiffness of the wrong sign, a law that jumps, forces or rates that are far too large, "
            f"or motors that contradict each other; {ended}"
        )

    def _add(self, moment: Moment) -> None:
        if len(self.outputs.asked_singly):
            self.single.append(self.outputs.single(moment, self.outputs.asked_singly))
        self.samples.append(moment)

    def _rows(self) -> np.ndarray:
        """Outputs (t, o) at all samples."""
        single = self.single[: len(self.samples)]  # Ctrl-C may come between both
        return self.outputs.over_time(self.samples, single, self.outputs.asked)

    def state(self, moment: Moment) -> MotionState:
        """What another run goes on from."""
        inputs = self.equations.inputs
        return MotionState(
            self.source.name, moment.time, self.rtol, self.topology, self.source, moment, inputs, self.method
        )

    def motion(self) -> Trajectory | TimeResponse:
        """The motion so far, from its file if it has one."""
        if self.file is not None:
            return self.file.history()
        last = self.samples[-1]
        inputs, state = self.equations.inputs, self.state(last)
        driven = np.array([inputs.at(m.time) for m in self.samples]).reshape(len(self.samples), -1)
        names, (crossed, passages) = self.outputs.names, self._passages()
        stay = "neither mass nor force nor constraint decides at the beginning how {} move: they stay"
        notes = tuple(filter(None, [self.why, self._along, self._stays and stay.format(", ".join(self._stays))]))
        if self.equations.massless and self.method == "explicit":
            notes += (
                "some turns or displacements have neither mass nor force, such as turns of points; they stay as they are",
            )
        notes += tuple(self.coordinates.beyond(self.samples))
        notes += tuple(wrong_ways(self.equations, self.samples, self.rtol, self.outputs.left))
        notes += tuple(half_turns(self.equations, self.samples, self.begins))
        notes += tuple(filter(None, [unaccounted(self.equations, self.samples, self.rtol)]))
        if self._moved or inputs.names:  # what is left alone may well rest
            notes += tuple(filter(None, [hardly_seen(self.equations, self.samples, self.rtol)]))
        return Trajectory(
            self.topology.source.name, np.array([m.time for m in self.samples]), self._rows(), names,
            tuple(self.outputs.units[name] for name in names), driven, inputs.names, inputs.units, state,
            crossed=crossed or None, passages=passages if crossed else None, rtol=self.rtol,
            method=self.method, steps=len(self.begins), evaluations=self.evaluations,
            notes=notes, _equations=self.equations, _source=self.source, _coordinates=self.coordinates,
            _samples=tuple(self.samples), _begins=self.begins,
            _seconds=0.0 if self._since is None else perf_counter() - self._since,
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
    if topology.lossy:
        el = topology.elements[topology.lossy[0]]
        raise ModelError(
            f"{el.obj.label}: it has a loss factor, which is a law of frequencies; expected dampings in a motion; set loss to 0, "
            "and give a damping"
        )
