"""Time evolution step by step, with a controller in Python or compiled between the steps."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from time import perf_counter
from typing import Any

import numba
import numpy as np
from numpy.typing import ArrayLike

from ...display import Column, Shown, Table, scales, without_rounding
from ...errors import ControllerError, Interrupted, ModelError
from ...kernels import march
from ...linear.linear_model import LinearModel
from ...numerics.blas_threads import one_thread
from ...numerics.options import SIZES
from ...numerics.reals import is_finite, real_array
from ...progress.interrupts import Uninterrupted
from ...progress.reports import Progress
from ...progress.tasks import BUILDING, Show, Task
from ...validation import arguments
from ..resources import refuse_beyond_memory
from .inputs import Input, Inputs, checked_times
from .response import TimeResponse
from .state_space import StateSpace
from .steps import Step

log = logging.getLogger("mse")

_MOST_STEPS = 2**53  # floats, such as times, do not count further


class StepLoop(Shown):
    """Time evolution one step at a time, inputs kept over each step (exactly); controllers live in the loop's body.

    ``loop["piezo.x"] = value`` sets an input until it is set again, ``loop["probe.x"]`` reads an output at the present
    :attr:`time`, ``loop.step()`` advances by dt (manual 2.8.7 to 2.8.9).  A controller compiled by numba runs through many
    steps at once, ten to a hundred times faster (:meth:`run`).

    Parameters
    ----------
    model : LinearModel
        The model; :meth:`.LinearModel.step_loop` makes its loop.
    dt : float, s
        The step.
    inputs, outputs : sequence of str, optional
        Names of the inputs and outputs wanted; all if left out.
    initial : mapping, optional
        Displacements and velocities by state name; zero for the others.
    progress : bool or callable
        Where building the state space is shown, as for :func:`mse.show_progress`; True for its setting.

    Raises
    ------
    ModelError
        ``dt`` is not positive, or the model has no state space.
    ImproperModelError
        An output would need a derivative of an input.

    Examples
    --------
    >>> model = mse.LinearModel.from_matrices([[1.0]], None, [[1.0]], coordinates=["mass.x"])
    >>> loop = model.step_loop(dt=1e-3, initial={"mass.x": 1.0})
    >>> last = loop["mass.x"]
    >>> while loop.time < 20.0:
    ...     now = loop["mass.x"]
    ...     loop["mass.x"] = -0.5 * (now - last) / loop.dt  # a damper
    ...     last = now
    ...     time = loop.step()
    >>> bool(abs(loop["mass.x"]) < np.exp(-0.25 * 19.0))
    True
    """

    # how many inputs and outputs belong to controllers inside; they come first, and users do not see them
    _first_input = _first_output = 0

    @one_thread
    def __init__(
        self,
        model: LinearModel,
        *,
        dt: float,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        initial: Mapping[str, float] | None = None,
        progress: bool | Callable[[Progress], object] = True,
    ):
        dt = checked_times(model.name, dt, dt)[1]
        with Task(model.name, BUILDING, show=progress) as task:
            self._ss = ss = model.state_space(inputs=inputs, outputs=outputs)
            step = self._step = Step(ss, dt, self._holds(ss))
            self.name, self.dt = model.name, dt
            self.inputs, self.outputs = ss.inputs[self._first_input :], ss.outputs[self._first_output :]
            self._input_number = {n: k for k, n in enumerate(self.inputs, self._first_input)}
            self._output_number = {n: k for k, n in enumerate(self.outputs, self._first_output)}
            self._u = np.zeros(len(ss.inputs))
            self._given = self._u[self._first_input :]
            self._s = step.back @ ss.initial_state(initial)
            self._moving = step.pairs, np.ascontiguousarray(step.rest.T), step.into
            self._seen = step.of_state, step.of_inputs
            self._count = 0
            # the last controller that was tried out, and the length of its memory
            self._tried: tuple[Callable, int] | None = None
            task.finished(self)

    def _holds(self, ss: StateSpace) -> Sequence[str | tuple[float, float]]:
        """How inputs go within a step."""
        return ["zoh"] * len(ss.inputs)

    @property
    def time(self) -> float:
        """Present time in s."""
        return self._count * self.dt

    def table(self) -> Table:
        kinds = (
            ("input", self.inputs, self._ss.input_units[self._first_input :], self._given),
            ("output", self.outputs, self._ss.output_units[self._first_output :], self.read()),
        )
        rows = [
            (name, kind, float(value), unit)
            for kind, names, units, values in kinds
            for name, unit, value in zip(
                names, units, without_rounding(values, scales(abs(values), units)), strict=True
            )
        ]
        title = f"{self.name}: loop at t = {self.time:g} s, in steps of {self.dt:g} s"
        return Table(title, ("name", "kind", Column("now", digits=6), "unit"), rows)

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.inputs, *self.outputs]

    def __setitem__(self, name: str, value: float) -> None:
        number = self._input_number.get(name) if isinstance(name, str) else None
        if number is None:
            arguments.find(self.name, "input", name, self._input_number)  # raises the error
        # controllers nearly always give floats; the full check takes ten times as long as a step
        if not (isfinite(value) if isinstance(value, float) else is_finite(value)):
            raise arguments.refusal(self.name, f"input {name!r} at t = {self.time:g} s", value, "a finite number")
        self._u[number] = value

    def __getitem__(self, name: str) -> float:
        number = self._output_number.get(name) if isinstance(name, str) else None
        if number is not None:
            return march.output(*self._seen, self._s, self._u, number)
        arguments.find(self.name, "output", name, (*self.outputs, *self.inputs))
        return float(self._u[self._input_number[name]])

    def read(self) -> np.ndarray:
        """All outputs at the present time.

        Returns
        -------
        ndarray, (o,)
            In the order of ``outputs``.
        """
        return self._read(self._u)

    def _read(self, u: np.ndarray) -> np.ndarray:
        """Outputs (o,) under inputs u (i,), the ones that controllers inside sense included."""
        out = np.empty(len(self._ss.outputs))
        march.read(*self._seen, self._s, u, out)
        return out

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
        found = values
        if type(values) is not np.ndarray or values.dtype != float:  # the full check takes longer than a step
            try:
                found = real_array(values)
            except TypeError:
                raise arguments.refusal(self.name, "set()", values, f"real numbers {self._given.shape}") from None
        if found.shape != self._given.shape:
            raise ModelError(
                f"{self.name}: set() got shape {found.shape}; expected {self._given.shape}, one value per input"
            )
        if not np.isfinite(found).all():
            k = int(np.argmin(np.isfinite(found)))
            raise ModelError(
                f"{self.name}: input {self.inputs[k]!r} is {found[k]} at t = {self.time:g} s; expected a finite number"
            )
        self._given[:] = found

    def step(self) -> float:
        """Advance by one step.

        Returns
        -------
        float, s
            The new time.

        Raises
        ------
        ModelError
            The motion grows beyond the largest number.
        """
        if not march.step(*self._moving, self._s, self._u):
            raise ModelError(self._overflow())
        self._count += 1
        return self._count * self.dt

    def state(self) -> dict[str, float]:
        """The present state.

        Returns
        -------
        dict of str to float
            Displacements and velocities by state name, as ``initial`` takes them.
        """
        return self._step.named(self._ss, self._s, self._u)

    def _overflow(self) -> str:
        return (
            f"{self.name}: the motion grows beyond the largest number in the step from t = {self.time:g} s; expected one that "
            "stays finite; check the sign of what the controller does, or constrain the unstable motion; this loop cannot go on"
        )

    @one_thread
    def run(
        self,
        steps: int,
        *,
        controller: Callable[..., Any],
        memory: ArrayLike | None = None,
        inputs: Mapping[str, Input] | None = None,
        progress: bool | Callable[[Progress], object] = True,
    ) -> TimeResponse:
        """Make many steps with a compiled controller in between.

        ``controller(outputs, inputs, memory, time)``, decorated with ``@numba.njit``, is called at the start of every step.  It
        reads ``outputs`` (o,), made by the present state and the inputs so far, and sets ``inputs`` (i,) for the step, both in
        this loop's order and units (m, rad, N, N m); ``time`` is in s.  It returns nothing.

        Parameters
        ----------
        steps : int
            Number of steps.
        controller : callable
            The compiled controller.
        memory : array_like, optional
            Numbers of the controller's own, kept from step to step: integrators, filters, parameters.  A float array given is
            changed in place.
        inputs : mapping, optional
            Further driven inputs, as :meth:`.LinearModel.simulate` takes them: functions of the time in s, or
            samples (steps + 1,), from the present :attr:`time` on, kept over each step.  They are set before the controller is
            called, which sees their effect and leaves them alone; the other inputs are its own.
        progress : bool or callable
            Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

        Returns
        -------
        TimeResponse
            Row k has the inputs at that time, after the controller set its own, and the outputs with them; the last row has the
            controller's inputs as they were left.

        Raises
        ------
        ControllerError
            With the history so far: the controller raises, sets an input that is not finite or one that ``inputs`` drives (the
            loop then stands before that step), or lets the motion grow beyond the largest number.
        ModelError
            The controller is not compiled, cannot be called so, or reaches beyond its arrays in a trial call, which compiled code
            would not notice; inputs that simulate would refuse; more samples than memory.
        Interrupted
            After Ctrl-C, with the history so far; the loop stands after its last step.

        Examples
        --------
        >>> import numba
        >>> @numba.njit
        ... def damper(outputs, inputs, memory, time):
        ...     inputs[0] = -memory[0] * (outputs[0] - memory[1])
        ...     memory[1] = outputs[0]
        >>> model = mse.LinearModel.from_matrices([[1.0]], None, [[1.0]], coordinates=["mass.x"])
        >>> loop = model.step_loop(dt=1e-3, initial={"mass.x": 1.0})
        >>> history = loop.run(20_000, controller=damper, memory=[0.5 / loop.dt, 1.0])
        >>> bool(np.all(np.abs(history["mass.x"][-1000:]) < np.exp(-0.25 * 19.0)))
        True
        """
        steps = arguments.whole(self.name, "steps", steps, minimum=1, maximum=_MOST_STEPS)
        memory = self._memory(memory)
        recorded = Inputs(self.name, inputs, "zoh", steps, self.dt, self._count)
        own = self._first_input + arguments.positions(self.name, "input", recorded.names, self.inputs)
        outputs, channels = len(self._ss.outputs), len(self._ss.inputs)
        refuse_beyond_memory(
            self.name, (steps + 1) * (8.0 * (outputs + channels + 1) + recorded.row),
            f"{steps} steps need {{}} for inputs and outputs",
            "run fewer steps at a time: the loop continues from its present time; or take fewer outputs",
        )  # fmt: skip
        given = recorded.between(0, steps)[0]
        values, driven = np.empty((steps + 1, outputs)), np.empty((steps + 1, channels))
        return self._controlled(controller, memory, own, (given, values, driven), progress)

    def _controlled(self, controller: Callable, memory: np.ndarray, own, rows: tuple, progress: Show) -> TimeResponse:
        """The steps of a run, in pieces, so that it can be watched and stopped; see :func:`.control` for its arrays."""
        given, values, driven = rows
        first, begin, steps, made, piece = self._count, self._s.copy(), len(values) - 1, 0, SIZES.loop_steps
        try:
            with Task(self.name, "running the loop", steps, "steps", show=progress) as task:
                self._compile(controller)
                self._try_out(controller, memory)
                while made < steps:
                    start, last = perf_counter(), min(made + piece, steps)
                    these = tuple(array[made : last + 1] for array in rows)
                    failed = self._piece(controller, memory, made + first, own, these)
                    made = self._count - first
                    if made < last or failed is not None:
                        message = self._failure(failed, own, given[made])
                        raise ControllerError(
                            message, self._history(first, begin, values[:made], driven[:made])
                        ) from failed
                    task.tell(made)
                    took = perf_counter() - start  # each piece is at most twice the one before
                    piece = max(1, int(piece * SIZES.loop_seconds / max(took, SIZES.loop_seconds / 2)))
        except KeyboardInterrupt:
            made = self._count - first
            self._u[own] = given[made]
            values[made], driven[made] = self._read(self._u), self._u
            raise Interrupted(
                f"{self.name}: interrupted after {made} of {steps} steps, see the result of this error; the loop can "
                "go on "
                "from there", self._history(first, begin, values[: made + 1], driven[: made + 1]),
            ) from None  # fmt: skip
        return self._history(first, begin, values, driven)

    def _piece(self, controller: Callable, memory: np.ndarray, first: int, own, rows: tuple) -> Exception | None:
        """Steps for some rows (given, values, driven) of a run; returns an exception raised by the controller."""
        from ...kernels.control import control

        done = np.zeros(1, dtype=np.int64)
        try:
            with Uninterrupted():  # numba asks for the controller's address and would lose a signal raised then
                control(
                    *self._moving, *self._seen, self._s, self._u, controller, memory, first, self.dt, own, *rows, done
                )
        except Exception as error:
            return error
        finally:
            self._count += int(done[0])
        return None

    def _failure(self, failed: Exception | None, own: np.ndarray, given: np.ndarray) -> str:
        """Why a run ended early; also corrects the inputs."""
        wrong, changed = np.flatnonzero(~np.isfinite(self._u)), own[self._u[own] != given]
        value = self._u.copy()
        self._u[wrong], self._u[own] = 0.0, given
        at = f"at t = {self.time:g} s"
        if failed is not None:
            return (
                f"{self.name}: the controller raised {type(failed).__name__}: {failed} {at}; the history of this "
                "error has the time until then"
            )
        if len(wrong):
            name = self._ss.inputs[wrong[0]]
            return f"{self.name}: the controller set input {name!r} to {value[wrong[0]]} {at}; expected a finite number"
        if len(changed):
            return (
                f"{self.name}: the controller set input {self._ss.inputs[changed[0]]!r} to {value[changed[0]]} {at}, but "
                f"inputs= sets it to {self._u[changed[0]]}; expected only one of them to set it; leave it out of "
                "inputs=, or add another input and let the controller set that"
            )
        return self._overflow()

    def _history(self, first: int, begin: np.ndarray, values: np.ndarray, driven: np.ndarray) -> TimeResponse:
        ss, time = self._ss, self.dt * np.arange(first, first + len(values))
        initial = self._step.named(ss, begin, driven[0]) if len(driven) else {}
        i, o = self._first_input, self._first_output
        return TimeResponse(
            ss.name, time, values[:, o:], self.outputs, ss.output_units[o:], driven[:, i:], self.inputs, ss.input_units[i:],
            self.state(), ss.parameters, initial, ("zoh",) * len(self.inputs),
        )  # fmt: skip

    def _try_out(self, controller: Callable, memory: np.ndarray) -> None:
        """Call a controller once as plain Python, on copies: compiled code does not check indices beyond its arrays."""
        if self._tried == (controller, len(memory)):
            return
        try:
            with np.errstate(all="ignore"):
                controller.py_func(self.read(), self._given.copy(), memory.copy(), self.time)
        except IndexError as error:
            raise ModelError(
                f"{self.name}: controller {controller.py_func.__name__!r} reaches beyond its arrays ({error}); there are "
                f"{len(self.outputs)} outputs, {len(self.inputs)} inputs and {len(memory)} numbers of memory; name more of "
                "them, or give it memory=[...]"
            ) from None
        except Exception as error:
            log.debug("%s: the trial call of the controller raised %r; so may the run", self.name, error)
        self._tried = controller, len(memory)

    def _compile(self, controller: Callable) -> None:
        """Compile a controller for the signature that the compiled loop calls; ModelError if that fails."""
        if not isinstance(controller, numba.core.registry.CPUDispatcher):
            remedy = "a function that is not compiled can be called in your own loop around step()"
            raise arguments.refusal(
                self.name, "the controller", controller, "a function decorated with @numba.njit", remedy=remedy
            )
        name, given = controller.py_func.__name__, list(inspect.signature(controller.py_func).parameters)
        if len(given) != 4:
            raise ModelError(
                f"{self.name}: controller {name!r} takes ({', '.join(given)}); expected (outputs, inputs, memory, time)"
            )
        try:
            with Task(self.name, "compiling the controller"), Uninterrupted():
                from ...kernels.control import CONTROLLER  # compiled on import

                controller.compile(CONTROLLER.args)
            returned = controller.overloads[CONTROLLER.args].signature.return_type
        except numba.core.errors.NumbaError as error:
            raise ModelError(
                f"{self.name}: controller {name!r} does not compile for (outputs, inputs, memory, time) = (float array, float "
                f"array, float array, float): {error}"
            ) from error
        if returned != numba.types.none:
            raise ModelError(
                f"{self.name}: controller {name!r} returns {returned}; expected nothing: it sets inputs[0] ... in place"
            )

    def _memory(self, memory: ArrayLike | None) -> np.ndarray:
        """The array itself if the controller can write to it, else a copy; initial values may be infinite or nan."""
        if type(memory) is np.ndarray and memory.dtype == float and memory.ndim == 1 and memory.flags.c_contiguous:
            return memory
        try:
            copied = real_array([] if memory is None else memory)
        except TypeError:
            copied = None
        if copied is None or copied.ndim != 1:
            raise arguments.refusal(self.name, "memory", memory, "numbers (n,), or None")
        return copied
