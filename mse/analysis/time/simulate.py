"""Time evolution of a linear model, exact for inputs that are constant, linear or polynomial over each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from ...errors import Interrupted, ModelError
from ...linear.linear_model import LinearModel
from ...numerics.blas_threads import one_thread
from ...progress.tasks import SIMULATING, Show, Task
from ...validation.arguments import positions
from ...validation.file_access import file_path
from ..resources import refuse_beyond_memory
from .asked import Asked
from .inputs import Input, Inputs, checked_times
from .recording import Recording, read_recording
from .response import TimeResponse
from .state_space import StateSpace
from .steps import Blocks, Step

_PIECE = 8192  # steps for which functions are called at once in a recorded run


@one_thread
def simulate(
    model: LinearModel,
    *,
    duration: float,
    dt: float,
    inputs: Mapping[str, Input] | None = None,
    hold: str | None = None,
    outputs: Sequence[str] | None = None,
    initial: Mapping[str, float] | None = None,
    record: str | PathLike[str] | None = None,
    progress: Show = True,
) -> TimeResponse:
    """See :meth:`.LinearModel.simulate`; :mod:`mse.analysis.time.recording` describes the files of ``record``."""
    steps, dt = checked_times(model.name, duration, dt)
    given = Inputs(model.name, inputs, hold, steps, dt)
    positions(model.name, "input", given.names, model.inputs)  # refuses unknown names
    with Task(model.name, SIMULATING, steps, "steps", show=progress) as task:
        ss = model.state_space(inputs=given.names, outputs=outputs)
        if record is not None:
            return task.finished(_recorded(ss, given, steps, dt, initial, file_path(record, "record")))
        refuse_beyond_memory(
            model.name, (steps + 1) * (8.0 * (len(ss.outputs) + 1) + given.row),
            f"{steps} steps need {{}} for inputs and outputs",
            "record='run.npy' writes them to disk instead; or take fewer outputs or a larger dt",
        )  # fmt: skip
        return task.finished(_in_memory(ss, given, steps, dt, initial))


def _in_memory(ss: StateSpace, given: Inputs, steps: int, dt: float, initial) -> TimeResponse:
    driven, w = given.between(0, steps)
    step = Step(ss, dt, given.holds)
    blocks = Blocks(step, steps)
    begin = ss.initial_state(initial)
    state = step.back @ begin - step.shift @ driven[0]
    values = np.empty((steps + 1, len(ss.outputs)))

    def until(last: int, state: np.ndarray) -> TimeResponse:
        values[last] = step.of_state @ state + step.of_inputs @ driven[last]
        _refuse_overflow(ss.name, 0, dt, ss.outputs, values[: last + 1], state)
        return TimeResponse(
            ss.name, dt * np.arange(last + 1), values[: last + 1], ss.outputs, ss.output_units, driven[: last + 1],
            ss.inputs, ss.input_units, step.named(ss, state, driven[last]), ss.parameters,
            {n: v for n, v in zip(ss.states, begin.tolist(), strict=True) if v}, given.holds,
            w[:last, len(ss.inputs) :],
        )  # fmt: skip

    reached = 0, state.copy()
    with Task(ss.name, SIMULATING, steps, "steps") as task:

        def tell(done: int) -> None:
            nonlocal reached
            reached = done, state.copy()  # the state is advanced in place
            task.tell(done)

        try:
            blocks.advance(state, w, values[:-1], tell)
        except KeyboardInterrupt:
            last, state = reached
            raise Interrupted(
                f"{ss.name}: interrupted after {last} of {steps} steps (t = {dt * last:g} s), see the result of this "
                "error",
                until(last, state),
            ) from None
    return until(steps, state)


def _recorded(ss: StateSpace, given: Inputs, steps: int, dt: float, initial, path: Path) -> TimeResponse:
    step = Step(ss, dt, given.holds)
    blocks = Blocks(step, steps)
    # always evaluate inputs between the same samples, so that a run in two halves equals one in one piece
    piece = blocks.chunk * max(1, round(_PIECE / blocks.chunk))
    o = len(ss.outputs)
    with Recording(path, Asked.of_linear(ss, given, steps, dt, ss.initial_state(initial), step)) as file:
        state, first = file.state, file.rows
        if first == 0:
            state = state - step.shift @ given.between(0, 0)[0][0]
        with Task(ss.name, SIMULATING, steps, "steps", first=first) as task:
            while first < steps:
                last = min(first + piece, steps)
                driven, w = given.between(first, last)
                values = np.empty((last - first + 1, o))
                blocks.advance(state, w, values[:-1])
                values[-1] = step.of_state @ state + step.of_inputs @ driven[-1]
                _refuse_overflow(ss.name, first, dt, ss.outputs, values, state)
                count = last - first + (last == steps)  # the sample after a piece is the first of the next
                time = dt * np.arange(first, first + count)
                rows = np.column_stack([time, values[:count], driven[:count]])
                file.append(rows, state, step.named(ss, state, driven[-1]))
                first = last
                task.tell(first)
    return read_recording(path)


def _refuse_overflow(
    name: str, first: int, dt: float, outputs: Sequence[str], values: np.ndarray, state: np.ndarray
) -> None:
    """ModelError if outputs (n + 1, o) from sample ``first`` on, or the state after them, are no longer finite."""
    if np.isfinite(values).all() and np.isfinite(state).all():
        return
    rows, columns = np.nonzero(~np.isfinite(values))
    what, row = (f"output {outputs[columns[0]]!r}", rows[0]) if len(rows) else ("the motion", len(values) - 1)
    raise ModelError(
        f"{name}: {what} grows beyond the largest number by t = {dt * (first + row):g} s; expected a motion that stays finite; "
        "simulate a shorter duration, with smaller inputs, or constrain the unstable motion"
    )
