"""Time evolution step by step, with a controller in Python or compiled between the steps."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from math import isfinite

import numba
import numpy as np
from numpy.typing import ArrayLike

from ..blas import one_thread
from ..errors import ControllerError, ModelError, UnknownNameError, nearest_name
from ..kernels import march
from ..linear_model import LinearModel
from ..reals import is_finite, real_array
from .limits import refuse_beyond_memory
from .stepping import Step
from .time import checked_steps
from .time_response import TimeResponse

log = logging.getLogger("mse")


class StepLoop:
    """Time evolution one step at a time, inputs held over each step (exactly); controllers live in the loop's body.

    ``loop["piezo.x"] = value`` sets an input until it is set again, ``loop["probe.x"]`` reads an output at the present
    :attr:`time`, ``loop.step()`` advances by dt (manual 2.8.7 to 2.8.9)::

        loop = linear.step_loop(dt=1e-3)
        while loop.time < 20.0:
            loop["coil.fx"] = -50.0 * loop["probe.x"]
            loop.step()

    A controller compiled by numba runs through many steps at once, ten to a hundred times faster (:meth:`run`).
    """

    @one_thread
    def __init__(
        self,
        model: LinearModel,
        *,
        dt: float,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        initial: Mapping[str, float] | None = None,
    ):
        checked_steps(model, dt, dt)
        self._ss = ss = model.state_space(inputs=inputs, outputs=outputs)
        step = self._step = Step(ss, dt, ["zero"] * len(ss.inputs))
        self.name, self.dt = model.name, float(dt)
        self.inputs, self.outputs = ss.inputs, ss.outputs
        self._input_number = {n: k for k, n in enumerate(ss.inputs)}
        self._output_number = {n: k for k, n in enumerate(ss.outputs)}
        self._u = np.zeros(len(ss.inputs))
        self._s = step.back @ ss.initial_state(initial)
        self._moving = step.pairs, np.ascontiguousarray(step.rest.T), step.into
        self._seen = step.of_state, step.of_inputs
        self._count = 0
        self._tried: tuple[Callable, int] | None = None  # the last controller tried out, and the length of its memory

    @property
    def time(self) -> float:
        """Present time in s."""
        return self._count * self.dt

    def __setitem__(self, name: str, value: float) -> None:
        number = self._input_number.get(name)
        if number is None:
            raise UnknownNameError(f"{self.name}: no input {name!r}{nearest_name(str(name), self._input_number)}")
        # what a controller computes is a float nearly always; the full check takes ten times as long as a step
        if not (isfinite(value) if isinstance(value, float) else is_finite(value)):
            raise ModelError(
                f"{self.name}: input {name!r} is {value!r:.60} at t = {self.time:g} s; expected a finite number"
            )
        self._u[number] = value

    def __getitem__(self, name: str) -> float:
        number = self._output_number.get(name)
        if number is not None:
            return march.output(*self._seen, self._s, self._u, number)
        if name in self._input_number:
            return float(self._u[self._input_number[name]])
        known = [*self.outputs, *self.inputs]
        raise UnknownNameError(f"{self.name}: no output {name!r}{nearest_name(str(name), known)}")

    def read(self) -> np.ndarray:
        """All outputs (o,) at the present time, in the order of ``outputs``."""
        out = np.empty(len(self.outputs))
        march.read(*self._seen, self._s, self._u, out)
        return out

    def set(self, values: ArrayLike) -> None:
        """Set all inputs (i,) at once, in the order of ``inputs``."""
        try:
            found = np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            raise ModelError(f"{self.name}: set({values!r:.60}); expected real numbers {self._u.shape}") from None
        if found.shape != self._u.shape:
            raise ModelError(
                f"{self.name}: set() got shape {found.shape}; expected {self._u.shape}, one value per input"
            )
        if not np.isfinite(found).all():
            k = int(np.argmin(np.isfinite(found)))
            raise ModelError(
                f"{self.name}: input {self.inputs[k]!r} is {found[k]} at t = {self.time:g} s; expected a finite number"
            )
        self._u[:] = found

    def step(self) -> float:
        """Advance by one step and return the new time (s)."""
        march.step(*self._moving, self._s, self._u)
        self._count += 1
        return self._count * self.dt

    def state(self) -> dict[str, float]:
        """The state by name, as ``initial`` takes it."""
        return self._step.named(self._ss, self._s, self._u)

    @one_thread
    def run(self, steps: int, *, controller: Callable, memory: ArrayLike | None = None) -> TimeResponse:
        """Make many steps with a compiled controller in between, and return what was seen at each and at the end.

        ``controller(outputs, inputs, memory, time)``, decorated with ``@numba.njit``, is called at the start of every step: it
        reads ``outputs`` (o,), made by the present state and the inputs so far, and sets ``inputs`` (i,) for the step,
        both in this loop's order and units (m, rad, N, N m); ``time`` is in s.  ``memory`` (any length) is its own, kept from
        step to step: integrators, filters, parameters; a float array given is changed in place.  It returns nothing::

            @numba.njit
            def damping(outputs, inputs, memory, time):
                inputs[0] = -memory[0] * (outputs[0] - memory[1])
                memory[1] = outputs[0]

            history = linear.step_loop(dt=1e-3, inputs=["coil.fx"], outputs=["probe.x"]).run(
                100_000, controller=damping, memory=[50.0, 0.0])

        Row k of the history has the inputs that the controller set at that time and the outputs with them; the last row, the
        inputs as they were left.  Raises ControllerError, with the history so far, where the controller raises or sets an input
        that is not finite (the loop then stands before that step); ModelError for one that is not compiled, cannot be called
        so, or reaches beyond its arrays in a trial call, which compiled code would not notice, and for more samples than
        memory.
        """
        if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 1:
            raise ModelError(f"{self.name}: run({steps!r}); expected a whole number of steps, at least one")
        from ..kernels.control import CONTROLLER, control  # compiled on import

        self._compile(controller, CONTROLLER)
        memory = self._memory(memory)
        self._try_out(controller, memory)
        refuse_beyond_memory(
            self.name, (steps + 1) * 8.0 * (len(self.outputs) + len(self.inputs) + 1),
            f"{steps} steps need {{}} for inputs and outputs",
            "run fewer steps at a time: the loop goes on where it stands; or take fewer outputs",
        )  # fmt: skip
        values, driven = np.empty((steps + 1, len(self.outputs))), np.empty((steps + 1, len(self.inputs)))
        first, failed = self._count, None
        done = np.zeros(1, dtype=np.int64)
        try:
            control(
                *self._moving, *self._seen, self._s, self._u, controller, memory, first, self.dt, values, driven, done
            )
        except Exception as error:
            failed = error
        finally:
            self._count += int(done[0])
        if done[0] == steps and failed is None:
            return self._history(first, values, driven)
        wrong = np.flatnonzero(~np.isfinite(self._u))
        value = self._u[wrong]
        self._u[wrong] = 0.0
        so_far = self._history(first, values[: int(done[0])], driven[: int(done[0])])
        if failed is not None:
            raise ControllerError(
                f"{self.name}: the controller raised {type(failed).__name__}: {failed} at t = {self.time:g} s; what happened "
                "until then is the history of this error", so_far,
            ) from failed  # fmt: skip
        raise ControllerError(
            f"{self.name}: the controller set input {self.inputs[wrong[0]]!r} to {value[0]} at t = {self.time:g} s; expected "
            "a finite number", so_far,
        )  # fmt: skip

    def _history(self, first: int, values: np.ndarray, driven: np.ndarray) -> TimeResponse:
        ss, time = self._ss, self.dt * np.arange(first, first + len(values))
        return TimeResponse(
            ss.name, time, values, ss.outputs, ss.output_units, driven, ss.inputs, ss.input_units, self.state()
        )

    def _try_out(self, controller: Callable, memory: np.ndarray) -> None:
        """Call a controller once as plain Python, on copies: compiled code does not notice indices beyond its arrays."""
        if self._tried == (controller, len(memory)):
            return
        try:
            with np.errstate(all="ignore"):
                controller.py_func(self.read(), self._u.copy(), memory.copy(), self.time)
        except IndexError as error:
            raise ModelError(
                f"{self.name}: controller {controller.py_func.__name__!r} reaches beyond its arrays ({error}); there are "
                f"{len(self.outputs)} outputs, {len(self.inputs)} inputs and {len(memory)} numbers of memory; name more of "
                "them, or give it memory=[...]"
            ) from None
        except Exception as error:
            log.debug("%s: the trial call of the controller raised %r; so may the run", self.name, error)
        self._tried = controller, len(memory)

    def _compile(self, controller: Callable, signature: numba.core.typing.Signature) -> None:
        """Compile a controller for the signature that the compiled loop calls; ModelError where it cannot be."""
        if not isinstance(controller, numba.core.registry.CPUDispatcher):
            raise ModelError(
                f"{self.name}: the controller is {controller!r:.60}, which is not compiled; expected a function decorated "
                "with @numba.njit; a plain one is called in a loop of one's own around step()"
            )
        name, given = controller.py_func.__name__, list(inspect.signature(controller.py_func).parameters)
        if len(given) != 4:
            raise ModelError(
                f"{self.name}: controller {name!r} takes ({', '.join(given)}); expected (outputs, inputs, memory, time)"
            )
        try:
            controller.compile(signature.args)
            returned = controller.overloads[signature.args].signature.return_type
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
        if isinstance(memory, np.ndarray) and memory.dtype == float and memory.ndim == 1 and memory.flags.c_contiguous:
            return memory
        try:
            copied = real_array([] if memory is None else memory)
        except TypeError:
            copied = None
        if copied is None or copied.ndim != 1:
            raise ModelError(f"{self.name}: memory is {memory!r:.60}; expected numbers (n,), or None")
        return copied
