"""Inputs and outputs that are sums of others: sensing and actuation matrices by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ..errors import ModelError
from ..validation.arguments import mapping, new_name, number, refusal

if TYPE_CHECKING:
    from .linear_model import LinearModel

Weights = Mapping[str, Mapping[str, float]]


def combined(model: LinearModel, outputs: Weights | None, inputs: Weights | None) -> LinearModel:
    """See :meth:`.LinearModel.combined`."""
    sensed, sensed_units, sensing = _weighed(model, "output", outputs, model.output_indices, model.output_units)
    driven, driven_units, driving = _weighed(model, "input", inputs, model.input_indices, model.input_units)
    for what, new, old in (("output", sensed, model.outputs), ("input", driven, model.inputs)):
        for name in new:
            if name in old:
                raise ModelError(
                    f"{model.name}: an {what} named {name!r} exists already; expected a new name for the combined one"
                )
    return replace(
        model,
        outputs=model.outputs + sensed,
        output_units=model.output_units + sensed_units,
        measure=sp.vstack([model.measure, sensing @ model.measure], format="csr"),
        rate=sp.vstack([model.rate, sensing @ model.rate], format="csr"),
        reaction=sp.vstack([model.reaction, sensing @ model.reaction], format="csr"),
        inputs=model.inputs + driven,
        input_units=model.input_units + driven_units,
        force=sp.hstack([model.force, model.force @ driving.T], format="csr"),
        drive=sp.hstack([model.drive, model.drive @ driving.T], format="csr"),
        drive_rate=sp.hstack([model.drive_rate, model.drive_rate @ driving.T], format="csr"),
    )


def _weighed(
    model: LinearModel, what: str, given: Weights | None, numbers: Callable, units: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...], sp.csr_matrix]:
    """Names, units and weights (new, all) of new outputs or inputs, given by the names of the existing ones."""
    expected = f"weights by name, such as {{'sum': {{{'...' if not units else repr('a')}: 1.0}}}}"
    names, own_units, rows = [], [], []
    for name, weights in mapping(model.name, f"{what}s", given, expected).items():
        new = new_name(model.name, f"name of a combined {what}", name)
        weights = mapping(model.name, f"{what} {new!r}", weights, f"weights by names of {what}s")
        if not weights:
            raise refusal(model.name, f"{what} {new!r}", weights, f"at least one {what} with its weight")
        row = np.zeros(len(units))
        on = numbers(list(weights))
        row[on] = [number(model.name, f"weight of {key!r} in {new!r}", x) for key, x in weights.items()]
        named = list(dict.fromkeys(units[k] for k in on))
        names.append(new)
        # the weights convert the other units to the unit of the first, as a lever arm or a tilt does
        own_units.append(named[0])
        rows.append(row)
    return tuple(names), tuple(own_units), sp.csr_matrix(np.reshape(rows, (len(rows), len(units))))
