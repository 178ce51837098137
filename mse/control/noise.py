"""Noise with loops closed: thermal noise of all losses, of sensors, and of actuators.

With loops closed an output y reads ``r = r_y + sum_s h_s r_s`` of a force on each coordinate, by what y and the sensors s read of
it with loops open: a force moves the reading of a sensor as its noise does, to which y answers with h_s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..analysis.frequency.response import FrequencyResponse
from ..analysis.frequency.squares import sums_of_squares
from ..analysis.noise.budget import ABOVE, NoiseBudget, Resonances, added_up, ascending, ends, read, within
from ..analysis.noise.spectra import Given, density, spectrum
from ..analysis.noise.thermal import Reading, Rows, thermal
from ..errors import Interrupted, ModelError
from ..linear.losses import Factor, loss_factors
from ..numerics.precision import DEPENDENT
from ..progress.tasks import SOLVING, Show, Task
from ..validation.arguments import find, mapping, number, positions
from .response import closed_response
from .stability import grid, growth

if TYPE_CHECKING:
    from .closed import ClosedModel

# Points in the width of a resonance for an RMS, as for open models
# (tests/control/test_closed_noise.py::test_the_rms_of_a_damped_oscillator_is_that_of_its_closed_loop).
_PER_WIDTH = 12.0


class _ClosedRows:
    """What an output reads of forces on coordinates with loops closed, at given frequencies; see :class:`.Rows`."""

    def __init__(self, closed: ClosedModel, output: int, loss: Mapping[tuple[str, str], float]):
        self._closed, self._output, self._loss = closed, output, loss

    def at(self, f: np.ndarray, reading: Reading) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        model, sensors = self._closed.linear, self._closed.links.sensors
        noises = self._closed.inputs[len(model.inputs) :]
        answers = _answers(self._closed, f, noises, self._output, self._loss).values[:, 0]
        # squares of a sum are not sums of squares, so all readings are needed
        count = reading.squares.shape[0]
        each = reading.each
        out = np.zeros((len(f), each.products.shape[0]), dtype=complex)
        if self._output < len(model.outputs):
            out += self._open(self._output, f, each)
        for k, sensor in enumerate(sensors):
            out += answers[:, k, None] * self._open(model.outputs.index(sensor), f, each)
        sums = sums_of_squares(out[:, :count], reading.first)
        return sums, out[:, count:], np.zeros((len(f), 0), dtype=complex), np.ones(len(f), dtype=bool)

    def _open(self, output: int, f: np.ndarray, reading: Reading) -> np.ndarray:
        """What an output of the open model reads (f, p); a part of it makes no budget, so Ctrl-C leaves nothing."""
        _, products, _, solved = Rows(self._closed.linear, output, self._loss).at(f, reading)
        if not solved.all():
            raise KeyboardInterrupt
        return products


def _answers(
    closed: ClosedModel, f: np.ndarray, inputs: Sequence[str], output: int, loss: Mapping[tuple[str, str], Factor]
) -> FrequencyResponse:
    """Responses of an output to inputs with loops closed; a part of them makes no budget, so Ctrl-C leaves nothing."""
    try:
        return closed_response(closed, f, inputs, [closed.outputs[output]], loss, False)
    except Interrupted:
        raise KeyboardInterrupt from None


def closed_noise(
    closed: ClosedModel, frequencies_hz: ArrayLike | None, output: str, inputs: Mapping[str, Given] | None,
    loss: Mapping[tuple[str, str] | str, float] | None, temperature: float, progress: Show,
) -> NoiseBudget:  # fmt: skip
    """See :meth:`.ClosedModel.noise`."""
    model = closed.linear
    find(closed.name, "output", output, closed.outputs)
    o = closed.outputs.index(output)
    given = mapping(closed.name, "inputs", inputs, "densities by the names of inputs, such as {'lvdt.x noise': 1e-9}")
    names = [closed.inputs[k] for k in positions(closed.name, "input", list(given), closed.inputs)]
    room = number(closed.name, "temperature", temperature, unit="K", above=0.0)
    factors = loss_factors(model, loss)
    if not closed.stable:
        raise ModelError(
            f"{closed.name}: its loop is unstable, {growth(closed)}, so its noise has no bound; expected a stable one; see "
            "margins() and modes(), and change gain or phase"
        )
    given = {name: spectrum(f"{closed.name}: noise of {name}", given[name]) for name in names}
    f, cut = (
        (ascending(closed.name, frequencies_hz), ())
        if frequencies_hz is not None
        else _own_grid(closed, factors, given)
    )
    with Task(closed.name, SOLVING, len(f), "frequencies of noise", show=progress) as task:
        units = (closed.input_units[closed.inputs.index(name)] for name in names)
        spectra = {
            name: density(f"{closed.name}: noise of {name}", given[name], f, unit)
            for name, unit in zip(names, units, strict=True)
        }
        found, notes, *_ = thermal(model, f, 0, factors, room, rows=_ClosedRows(closed, o, factors))
        response = _answers(closed, f, names, o, factors)
        driving = {name: np.abs(response[output, name]) ** 2 * s**2 for name, s in spectra.items()}
        notes = *notes, *response.notes, *cut
        of = (
            (closed.name, output, closed.output_units[o], f),
            (notes, model.parameters, partial(_resonances, closed, o)),
        )
        return task.finished(added_up(of, found, driving))


def _resonances(closed: ClosedModel, output: int, low_hz: float, high_hz: float) -> Resonances:
    """Closed resonances in a band that may make noise of an output, their full widths (r,), Hz, and who moves."""
    model, modes = closed.linear, closed.modes()
    s = modes.eigenvalues / (2 * np.pi)
    widths = np.where(np.abs(s.real) < DEPENDENT * s.imag, 0.0, -2.0 * s.real)
    outputs = [output] * (output < len(model.outputs)) + [model.outputs.index(x) for x in closed.links.sensors]
    heard = (widths > 0.0) | read(model, outputs, modes.shapes)
    kept = np.flatnonzero((s.imag > low_hz) & (s.imag < high_hz) & (np.abs(s.real) < s.imag) & heard)
    return s.imag[kept], widths[kept], lambda k: modes[int(kept[k])].participants() or "a controller"


def _own_grid(
    closed: ClosedModel, factors: Mapping[tuple[str, str], Factor], given: Mapping[str, object]
) -> tuple[np.ndarray, tuple[str, ...]]:
    modes, top = closed.modes(), closed.plant.highest / (2 * np.pi)
    reach = ends(modes)
    if reach is None:
        raise ModelError(
            f"{closed.name}: no motion of it swings or fades, to make a frequency grid for; expected frequencies_hz"
        )
    low, high = reach
    if high > top:  # responses of samplers repeat there: only what swings counts
        high = max(top, ABOVE * float(modes.eigenvalues.imag.max()) / (2 * np.pi))
    low, high, cut = within(closed.linear, factors, given, (low, high))
    return grid(closed.name, modes.eigenvalues / (2 * np.pi), low, high, per_width=_PER_WIDTH), cut
