"""Large motions step by step, with a controller in Python between the steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError

from ..analysis.time.inputs import checked_times
from ..display import Column, Shown, Table, scales, without_rounding
from ..errors import ModelError
from ..model.assembly import Assembly
from ..model.variants import prepared
from ..numerics.blas_threads import one_thread
from ..statics.working_point import WorkingPoint
from ..validation import arguments
from .accelerations import Equations
from .charts import JointsOpen, StepFailed
from .input_forces import InputForces
from .jumps import Jumps
from .methods import stepper
from .moments import Step
from .prescribed import with_drives
from .simulate import Run
from .start import Given
from .trajectory import MotionState

if TYPE_CHECKING:
    from ..model.system import MSystem


class MotionLoop(Shown):
    """A large motion one sample at a time, forces kept over each of them; controllers live in the loop's body.

    ``loop["coil.fx"] = value`` sets an input until it is set again, ``loop["hinge.angle"]`` reads an output at the present
    :attr:`time`, ``loop.step()`` advances by dt.  Between samples steps have the length that ``rtol`` needs.  As long as no
    input changes, the motion is that of :meth:`.MSystem.simulate` to the bit.

    Parameters
    ----------
    system : MSystem
        The system; :meth:`.MSystem.step_loop` makes its loop.
    dt : float, s
        Time between samples.
    inputs : sequence of str, optional
        Names of the inputs that are forces, and of currents of current sources; all forces if left out.
    outputs : sequence of str, optional
        Names of the outputs, as for :meth:`.MSystem.simulate`.
    initial : mapping of str to float, Pose or six numbers, optional
        Values and rates at the beginning, as :meth:`.MSystem.simulate` takes them.
    start : WorkingPoint or MotionState, optional
        Where it begins, as :meth:`.MSystem.simulate` takes it.
    rtol : float
        Relative tolerance of each step, 1e-13 to 1e-2.

    Raises
    ------
    ModelError
        ``dt`` is not positive, an input prescribes a motion, or initial values contradict joints.
    UnknownNameError
        There is no such input or output.

    Examples
    --------
    >>> system = mse.MSystem("stage")
    >>> cart = system.add(mse.RigidBody("cart", mass=2.0, inertia=0.1))
    >>> rail = system.add(mse.Prismatic("rail", axis=(1, 0, 0)), between=(cart, system.ground))
    >>> coil = system.add(mse.ForceActuator("coil"), between=(system.ground, cart))
    >>> loop = system.step_loop(dt=0.1, inputs=["coil.fx"], initial={"rail.displacement": 0.5})
    >>> while loop.time < 20.0:
    ...     loop["coil.fx"] = -2.0 * loop["rail.displacement"] - 2.5 * loop["rail.displacement'"]
    ...     time = loop.step()
    >>> bool(abs(loop["rail.displacement"]) < 1e-4)
    True
    """

    @one_thread
    def __init__(
        self,
        system: MSystem,
        *,
        dt: float,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        initial: Mapping[str, Any] | None = None,
        start: WorkingPoint | MotionState | None = None,
        rtol: float = 1e-9,
    ):
        self._system, self.name, self.dt = system, system.name, checked_times(system.name, dt, dt)[1]
        rtol = arguments.number(system.label, "rtol", rtol, minimum=1e-13, maximum=1e-2)
        topology, assembly = system._prepared = prepared(system, system._prepared)
        known = [f"{el.path}.{c.name}" for el in topology.elements if el.obj.role == "free" for c in el.obj.inputs]
        asked = known if inputs is None else arguments.names(system.label, "inputs", inputs)
        self._u, self._number = np.zeros(len(asked)), {name: k for k, name in enumerate(asked)}
        if len(self._number) < len(asked):
            first = next(name for k, name in enumerate(asked) if self._number[name] != k)
            raise ModelError(f"{system.label}: inputs name {first!r} twice; expected each input once")
        source = topology.source
        outputs = outputs if outputs is None else arguments.names(system.label, "outputs", outputs)
        driven = with_drives(topology, asked, outputs or ())
        if driven is not topology:
            topology, assembly = driven, Assembly(driven, driven.unit)
        given = InputForces(assembly, {name: self._value(k) for k, name in enumerate(asked)}, stepwise=True)
        if moved := given.prescribed:
            raise ModelError(
                f"{system.label}: input {moved[0]!r} prescribes a motion, of which a step would need rates and "
                "accelerations; expected forces or currents in a loop; prescribe it in simulate(), as a function of time"
            )
        self._run = run = Run(Equations(topology, assembly, given), source, rtol, outputs, span=self.dt)
        self.inputs, self.outputs = given.names, run.outputs.names
        self._units = given.units, tuple(run.outputs.units[n] for n in self.outputs)
        self._columns = {
            name: np.array([k]) for name, k in zip(self.outputs, run.outputs.chosen(self.outputs), strict=True)
        }
        self._now, begin = run.begin(system, start, initial)
        self._stepper, self._switches = stepper(run.equations, rtol, run.method), run.switches
        run.outputs.left = self._stepper.left
        self._jumps = Jumps(run.equations, Given(topology, run.coordinates, None), np.zeros(0))
        self._step: Step | None = None
        self._begin, self._held = begin, self._u.copy()
        self._first, self._count = self._now.time, 0

    def _value(self, k: int) -> Callable[[float], float]:
        return lambda t: float(self._u[k])

    @property
    def time(self) -> float:
        """Present time in s."""
        return self._first + self._count * self.dt

    def table(self) -> Table:
        kinds = ("input", self.inputs, self._units[0], self._u), ("output", self.outputs, self._units[1], self.read())
        rows = [
            (name, kind, float(value), unit)
            for kind, names, units, values in kinds
            for name, unit, value in zip(
                names, units, without_rounding(values, scales(abs(values), units)), strict=True
            )
        ]
        title = f"{self.name}: loop at t = {self.time:g} s, samples every {self.dt:g} s"
        return Table(title, ("name", "kind", Column("now", digits=6), "unit"), rows)

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.inputs, *self.outputs]

    def __setitem__(self, name: str, value: float) -> None:
        arguments.find(self.name, "input", name, self._number)
        self._u[self._number[name]] = arguments.number(self.name, f"input {name!r} at t = {self.time:g} s", value)

    def __getitem__(self, name: str) -> float:
        if isinstance(name, str) and name in self._columns:
            return float(self._run.outputs.at(self._now, self._columns[name])[0])
        arguments.find(self.name, "output", name, (*self.outputs, *self.inputs))
        return float(self._u[self._number[name]])

    def read(self) -> np.ndarray:
        """All outputs at the present time.

        Returns
        -------
        ndarray, (o,)
            In the order of ``outputs``.
        """
        return self._run.outputs.at(self._now, self._run.outputs.asked)

    def set(self, values: ArrayLike) -> None:
        """Set all inputs at once.

        Parameters
        ----------
        values : array_like, (i,)
            Values in the order of ``inputs``.

        Raises
        ------
        ModelError
            The shape is another, or a value is no finite real number.
        """
        found = np.asarray(values)
        if found.shape != self._u.shape:
            raise ModelError(
                f"{self.name}: set() got shape {found.shape}; expected {self._u.shape}, one value per input"
            )
        what = [f"input {name!r} at t = {self.time:g} s" for name in self.inputs]
        self._u[:] = [arguments.number(self.name, w, x) for w, x in zip(what, found.tolist(), strict=True)]

    @one_thread
    def step(self) -> float:
        """Advance by dt.

        Returns
        -------
        float, s
            The new time.

        Raises
        ------
        ModelError
            The motion cannot go on, or the system has changed since the loop was made; the loop stays where it was.
        """
        self._refuse_changed()
        to, step, begin = self._first + (self._count + 1) * self.dt, self._step, self._begin
        if not np.array_equal(self._held, self._u):  # forces jump here, so a step begins here
            now = self._now
            length = None if now.origin is None else now.origin.step
            step, begin = None, self._jumps.behind(now, now.time).but(step=length)
        try:
            while step is None or step.end.time < to:
                step = self._switches.step(self._stepper, begin)
                begin = step.end
        except (StepFailed, JointsOpen, LinAlgError) as error:
            raise ModelError(self._run.failure(begin, error)) from None
        # an interruption before leaves the loop as it was
        self._now, self._step, self._begin, self._held, self._count = (
            step.at(to),
            step,
            begin,
            self._u.copy(),
            self._count + 1,
        )
        return self.time

    def _refuse_changed(self) -> None:
        """Refuse to go on in a system that is another one now, as the loop keeps what it was made of."""
        changed = self._run.source.differences(self._system)
        if changed != {}:
            what = (
                "its objects or how they are connected" if changed is None else f"parameters of {next(iter(changed))}"
            )
            raise ModelError(
                f"{self.name}: {what} changed at t = {self.time:g} s, and the loop has those of its begin; expected a system "
                "that stays as it was; take inputs for what changes on the way, or go on in another loop, with "
                "start=loop.state() if objects are the same"
            )

    def state(self) -> MotionState:
        """The present state.

        Returns
        -------
        MotionState
            What another motion or loop goes on from, as their ``start``.
        """
        return self._run.state(self._now)
