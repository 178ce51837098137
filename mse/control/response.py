"""Responses with loops closed: ``y = (P_yu - P_ya (1 + C P_sa)^-1 C P_su) u`` of an open model P and controllers C.

a are the actuators and s the sensors of the loops, u and y any other inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..analysis.frequency.response import FrequencyResponse, frequency_response
from ..errors import Interrupted, SingularResponseError
from ..progress.tasks import Show
from ..validation.arguments import positions
from .links import finite

if TYPE_CHECKING:
    from .closed import ClosedModel


def closed_response(
    closed: ClosedModel,
    frequencies_hz: ArrayLike,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    loss: Mapping[str | tuple[str, str], float] | None = None,
    progress: Show = True,
) -> FrequencyResponse:
    """See :meth:`.ClosedModel.frequency_response`."""
    model, links = closed.linear, closed.links
    i, o = (
        positions(closed.name, what, given, known)
        for what, given, known in (("input", inputs, closed.inputs), ("output", outputs, closed.outputs))
    )
    driven = [closed.inputs[k] for k in i]
    read = [closed.outputs[k] for k in o]
    of_model = [n for k, n in zip(i, driven, strict=True) if k < len(model.inputs)]
    to_model = [n for k, n in zip(o, read, strict=True) if k < len(model.outputs)]
    asked = list(dict.fromkeys([*links.actuators, *of_model])), list(dict.fromkeys([*links.sensors, *to_model]))
    # no interpolation: it keeps a share of the largest response, of which a loop may leave less
    try:
        plant = frequency_response(
            model, frequencies_hz, inputs=asked[0], outputs=asked[1], loss=loss, bound=0.0, progress=progress
        )
    except Interrupted as stopped:
        raise Interrupted(str(stopped), _closed_around(closed, stopped.result, driven, read)) from None
    return _closed_around(closed, plant, driven, read)


def _closed_around(
    closed: ClosedModel, plant: FrequencyResponse, driven: Sequence[str], read: Sequence[str]
) -> FrequencyResponse:
    """Responses with loops closed from those of the open model, whose first inputs are the actuators, outputs the sensors."""
    model, links, asked = closed.linear, closed.links, (plant.inputs, plant.outputs)
    i, o = [closed.inputs.index(name) for name in driven], [closed.outputs.index(name) for name in read]
    f, p = plant.frequencies_hz, plant.values
    a, s = len(links.actuators), len(links.sensors)
    reached = np.zeros((len(f), len(asked[1]), len(i)), dtype=complex)  # by inputs, loops open
    for column, (k, name) in enumerate(zip(i, driven, strict=True)):
        if k < len(model.inputs):
            reached[:, :, column] = p[:, :, asked[0].index(name)]
    sensed = reached[:, :s].copy()
    for column, k in enumerate(i):
        if k >= len(model.inputs):
            sensed[:, k - len(model.inputs), column] = 1.0
    command = commanded(closed, f, p[:, :s, :a], sensed)
    whole = reached + p[:, :, :a] @ command
    values = [
        whole[:, asked[1].index(name)] if k < len(model.outputs) else command[:, k - len(model.outputs)]
        for k, name in zip(o, read, strict=True)
    ]
    notes = list(plant.notes)
    if links.dt is not None and np.any(f > 0.5 / links.dt):
        notes.append(
            f"above {0.5 / links.dt:g} Hz, half the sampling rate, what sampling folds to other frequencies is left out"
        )
    return FrequencyResponse(
        closed.name, f, np.stack(values, axis=1) if values else np.zeros((len(f), 0, len(i)), dtype=complex),
        tuple(driven), tuple(read), tuple(closed.input_units[k] for k in i), tuple(closed.output_units[k] for k in o),
        tuple(notes), plant.parameters,
    )  # fmt: skip


def commanded(closed: ClosedModel, f: np.ndarray, p: np.ndarray, sensed: np.ndarray) -> np.ndarray:
    """``-(1 + C P)^-1 C`` times what sensors read with loops open (f, s, i), for the open responses P (f, s, a)."""
    c = finite(closed.name, closed.links.at(2j * np.pi * f), 2 * np.pi * f)
    try:
        return -np.linalg.solve(np.eye(p.shape[2]) + c @ p, c @ sensed)
    except np.linalg.LinAlgError:
        raise SingularResponseError(
            f"{closed.name}: 1 + C P is singular at one of the frequencies, where the closed loop has a pole; expected "
            "frequencies off it; change the gain"
        ) from None
