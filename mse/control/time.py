"""Closed loops in time: their state space, and runs with sampled controllers between the steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg as sl

from ..analysis.time.inputs import Input, checked_times
from ..analysis.time.response import TimeResponse
from ..analysis.time.state_space import StateSpace
from ..analysis.time.step_loop import StepLoop
from ..errors import ImproperModelError, ModelError
from ..linear.linear_model import LinearModel
from ..numerics.precision import NOTHING
from ..progress.tasks import Show
from ..validation.arguments import mapping, positions, refusal
from .controller import realized, sampled
from .links import Links
from .poles import algebraic

if TYPE_CHECKING:
    from .closed import ClosedModel


def refuse_not_rational(closed: ClosedModel) -> None:
    """Refuse controllers that no state space has: sampled ones, delays, and those that differentiate."""
    for link in closed.links.all:
        controller, who = link.controller, f"{closed.name}: the controller of loop {link.loop!r}"
        if controller.dt is not None:
            raise ModelError(
                f"{who} is sampled every {controller.dt:g} s; expected continuous ones in a state space; use simulate(), "
                "modes() or frequency_response()"
            )
        if controller.delay:
            raise ModelError(
                f"{who} has a delay of {controller.delay:g} s, which no state space has; expected none; with_pade(order) puts "
                "a rational function in its place"
            )
        if not controller.proper:
            raise ImproperModelError(
                f"{who} has {len(controller.zeros)} zeros and {len(controller.poles)} poles, so it differentiates; expected a "
                "proper one in time; give it poles at high frequency"
            )


def state_space(
    closed: ClosedModel, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None
) -> StateSpace:
    """See :meth:`.ClosedModel.state_space`."""
    refuse_not_rational(closed)
    model, links = closed.linear, closed.links
    i, o = (
        positions(closed.name, what, given, known)
        for what, given, known in (("input", inputs, closed.inputs), ("output", outputs, closed.outputs))
    )
    own_i, own_o = i[i < len(model.inputs)], o[o < len(model.outputs)]
    driven = list(dict.fromkeys([*links.actuators, *(model.inputs[k] for k in own_i)]))
    read = list(dict.fromkeys([*links.sensors, *(model.outputs[k] for k in own_o)]))
    plant = model.state_space(inputs=driven, outputs=read, progress=False)
    (a, bv, cc, dv, _), sensors, _ = links.stacked(realized)
    n, count, u = len(plant.A), len(a), len(links.actuators)
    # inputs of the closed model on states and sensors of the open one, and outputs by its states and inputs
    drive, direct = np.zeros((n, len(i))), np.zeros((len(read), len(i)))
    shift, noise = np.zeros((n, len(i))), np.zeros((len(sensors), len(i)))
    for column, k in enumerate(i):
        if k < len(model.inputs):
            place = driven.index(closed.inputs[k])
            drive[:, column], direct[:, column] = plant.B[:, place], plant.D[:, place]
            shift[:, column] = plant.shift[:, place]
        else:
            noise[:, column] = sensors == k - len(model.inputs)
    c, d = plant.C[sensors], plant.D[sensors][:, :u]
    solve = -algebraic(closed.name, dv @ d)
    # commands by states of plant and controllers, and by inputs
    command = solve @ np.hstack([dv @ c, cc]), solve @ dv @ (direct[sensors] + noise)
    seen = np.hstack([c, np.zeros((len(sensors), count))]) + d @ command[0], direct[sensors] + noise + d @ command[1]
    push = plant.B[:, :u]
    whole = np.vstack([np.hstack([plant.A, np.zeros((n, count))]) + push @ command[0], bv @ seen[0]])
    whole[n:, n:] += a
    answer = np.hstack([plant.C, np.zeros((len(read), count))]) + plant.D[:, :u] @ command[0]
    direct = direct + plant.D[:, :u] @ command[1]
    rows = [read.index(closed.outputs[k]) if k < len(model.outputs) else len(read) + k - len(model.outputs) for k in o]
    names = [f"{link.loop} {k}" for link in links.all for k in range(len(realized(link.controller).A))]
    return StateSpace(
        closed.name, whole, np.vstack([drive + push @ command[1], bv @ seen[1]]),
        np.vstack([answer, command[0]])[rows], np.vstack([direct, command[1]])[rows], (*plant.states, *names),
        tuple(closed.inputs[k] for k in i), tuple(closed.outputs[k] for k in o),
        tuple(closed.input_units[k] for k in i), tuple(closed.output_units[k] for k in o), 0,
        np.vstack([shift, np.zeros((count, len(i)))]),
        tuple(sl.block_diag(x, np.eye(count)) for x in plant.scaling), parameters=plant.parameters,
    )  # fmt: skip


def continuous(closed: ClosedModel, model: LinearModel) -> ClosedModel | LinearModel:
    """A model with the continuous loops alone closed around it; itself where there are none."""
    links = [link for link in closed.links.all if link.controller.dt is None]
    return replace(closed, linear=model, links=Links(links)) if links else model


@dataclass
class _Driven:
    """A model whose actuators have two inputs each: what is driven from outside, and commands; and readings with noise.

    If ``parts`` (a,) are not all 0, commands change in that part of a step, and each has a second input, its value before that.
    ``commands`` and ``noisy`` are the names of the commands and of the noise of sampled controllers.
    """

    name: str
    inner: LinearModel | ClosedModel
    sampled: Links
    driven: Sequence[str]
    read: Sequence[str]
    commands: tuple[str, ...]
    noisy: tuple[str, ...]
    parts: np.ndarray
    units: Mapping[str, str]

    @property
    def split(self) -> bool:
        """Whether commands change within steps."""
        return bool(self.parts.any())

    def state_space(self, *, inputs: None = None, outputs: None = None) -> StateSpace:
        links, plain = self.sampled, [name for name in self.driven if name in self.inner.inputs]
        read = (name for name in self.read if name in self.inner.outputs)
        ss = self.inner.state_space(
            inputs=list(dict.fromkeys([*links.actuators, *plain])), outputs=list(dict.fromkeys([*links.sensors, *read])),
            progress=False,
        )  # fmt: skip
        # the commands first, then what is driven from outside; readings first, then what is recorded
        asked = (*links.sensors, *self.read)
        on = [row for row, name in enumerate(asked) if name in ss.outputs]
        rows = [ss.outputs.index(asked[row]) for row in on]
        c, direct = np.zeros((len(asked), len(ss.A))), np.zeros((len(asked), len(ss.inputs)))
        c[on], direct[on] = ss.C[rows], ss.D[rows]
        columns = [ss.inputs.index(name) for name in links.actuators]
        b, d, shift = ([x[:, [k]] for k in columns] for x in (ss.B, direct, ss.shift))
        for column, name in zip(d, self.commands, strict=True):  # an actuator may have a continuous loop, too
            if name in self.read:
                column[len(links.sensors) + self.read.index(name), 0] += 1.0
        before = links.actuators if self.split else ()
        b += b[: len(before)]
        for into in (d, shift):
            into += [np.zeros_like(x) for x in into[: len(before)]]
        for name in self.driven:
            at = ss.inputs.index(name) if name in ss.inputs else None
            for into, matrix in ((b, ss.B), (d, direct), (shift, ss.shift)):
                into.append(np.zeros((len(matrix), 1)) if at is None else matrix[:, [at]])
            if name in self.noisy:
                d[-1][self.noisy.index(name), 0] += 1.0
        return replace(
            ss, B=np.hstack(b), C=c, D=np.hstack(d), shift=np.hstack(shift),
            inputs=(
                *(f"{name} (commanded)" for name in links.actuators), *(f"{name} (before)" for name in before), *self.driven,
            ),
            outputs=(*(f"{name} (read)" for name in links.sensors), *self.read),
            input_units=tuple(self.units[name] for name in (*links.actuators, *before, *self.driven)),
            output_units=tuple(self.units[name] for name in asked),
        )  # fmt: skip


class SampledLoop(StepLoop):
    """Steps with sampled controllers, which act at the start of those that are samples, after inputs were set.

    Between two steps outputs are those that the controllers leave.
    """

    def __init__(
        self, closed: ClosedModel, *, dt: float, inputs: Sequence[str] | None, outputs: Sequence[str] | None,
        initial: Mapping[str, float] | None, progress: Show,
    ):  # fmt: skip
        own = Links([link for link in closed.links.all if link.controller.dt is not None])
        dt = checked_times(closed.name, dt, dt)[1]
        every = own.dt / dt
        if abs(every - round(every)) > NOTHING * every or every < 0.5:
            raise ModelError(
                f"{closed.name}: its controllers are sampled every {own.dt:g} s, which is no whole number of steps of {dt:g} s; "
                f"expected one; take a dt of {own.dt / max(np.ceil(every), 1):g} s"
            )
        driven = [closed.inputs[k] for k in positions(closed.name, "input", inputs, closed.inputs)]
        asked = [closed.outputs[k] for k in positions(closed.name, "output", outputs, closed.outputs)]
        noisy = tuple(
            closed.inputs[len(closed.linear.inputs) + closed.links.sensors.index(name)] for name in own.sensors
        )
        commands = tuple(
            closed.outputs[len(closed.linear.outputs) + closed.links.actuators.index(name)] for name in own.actuators
        )
        units = dict(zip(closed.inputs + closed.outputs, closed.input_units + closed.output_units, strict=True))
        wait, parts = _whole_and_parts(own.fractions * round(every))
        inner = continuous(closed, closed.linear)
        plant = _Driven(closed.name, inner, own, driven, asked, commands, noisy, parts, units)
        (a, b, c, d, _), sensors, _ = own.stacked(sampled)
        self._parts, count = parts, len(own.actuators)
        self._first_input, self._first_output = count * (1 + plant.split), len(own.sensors)
        sizes = [round(every), 0.0, len(a), count, b.shape[1], count * plant.split]
        rest = np.zeros(2 * len(a)), wait, np.zeros(count)
        self._filters = np.concatenate([sizes, sensors, *(x.ravel() for x in (a, b, c, d)), *rest])
        super().__init__(plant, dt=dt, initial=initial, progress=progress)

    def _holds(self, ss: StateSpace) -> Sequence[str | tuple[float, float]]:
        parts = self._parts.tolist() if self._parts.any() else []
        own = [*((x, 1.0) for x in parts), *((0.0, x) for x in parts)]
        return [*own, *super()._holds(ss)[len(own) :]]

    def _controlled_inputs(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (i,) for the next step, and the memory of the controllers after it."""
        from ..kernels.control import filters

        u, memory = self._u.copy(), self._filters.copy()
        filters(self._read(u), u, memory, self.time)
        return u, memory

    def __getitem__(self, name: str) -> float:
        number = self._output_number.get(name) if isinstance(name, str) else None
        return super().__getitem__(name) if number is None else float(self._now()[number])

    def read(self) -> np.ndarray:
        """See :meth:`.StepLoop.read`."""
        return self._now()[self._first_output :]

    def step(self) -> float:
        """See :meth:`.StepLoop.step`."""
        self._u[:], self._filters[:] = self._controlled_inputs()
        return super().step()

    def _now(self) -> np.ndarray:
        """All outputs at the present time, when controllers have set their inputs."""
        u = self._controlled_inputs()[0]
        late = np.flatnonzero(self._parts)
        u[late] = u[len(self._parts) + late]
        return self._read(u)

    def _try_out(self, controller: Callable, memory: np.ndarray) -> None:
        from ..kernels.control import filters

        if controller is not filters:
            super()._try_out(controller, memory)

    def _piece(self, controller: Callable, memory: np.ndarray, first: int, own, rows: tuple) -> Exception | None:
        from ..kernels.control import before_filters, filters

        if controller is filters:
            return super()._piece(filters, self._filters, first, own, rows)
        count = len(self._filters)
        both = before_filters(controller, count, self._first_input, self._first_output)
        whole = np.concatenate([self._filters, memory])
        failed = super()._piece(both, whole, first, own, rows)
        self._filters[:], memory[:] = whole[:count], whole[count:]
        return failed

    def _history(self, first: int, begin: np.ndarray, values: np.ndarray, driven: np.ndarray) -> TimeResponse:
        late = np.flatnonzero(self._parts)
        if len(late):  # commands as they are at each time, not later in the step
            values = values.copy()
            change = driven[:-1, len(self._parts) + late] - driven[:-1, late]
            values[:-1] += change @ self._ss.D[:, late].T
        return super()._history(first, begin, values, driven)


def simulate_sampled(
    closed: ClosedModel, times: tuple[float, float], inputs: Mapping[str, Input] | None, outputs: Sequence[str] | None,
    initial: Mapping[str, float] | None, hold: str | None, progress: Show,
) -> TimeResponse:  # fmt: skip
    """A run over (duration, dt) with sampled controllers; inputs are held over each step."""
    from ..kernels.control import filters

    if hold not in (None, "zoh"):
        raise refusal(closed.name, "hold", hold, "'zoh': with sampled controllers inputs keep their values over a step")
    steps, dt = checked_times(closed.name, *times)
    given = mapping(closed.name, "inputs", inputs, "functions of time or samples by input")
    loop = SampledLoop(closed, dt=dt, inputs=list(given), outputs=outputs, initial=initial, progress=progress)
    return loop.run(steps, controller=filters, inputs=given, progress=progress)


def _whole_and_parts(steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers (a,) of steps, and what is left of them (a,)."""
    whole = np.round(steps)
    whole = np.where(np.abs(steps - whole) <= NOTHING * np.maximum(steps, 1.0), whole, np.floor(steps))
    parts = steps - whole
    return whole, np.where(parts > NOTHING, parts, 0.0)
