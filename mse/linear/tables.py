"""A linear model as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..display import table

if TYPE_CHECKING:
    from .linear_model import LinearModel


def linear_model_table(model: LinearModel) -> str:
    """Coordinates with the diagonals of M and K, members, inputs and outputs."""
    k, m = abs(model.K).diagonal(), model.M.diagonal()
    rows = [(c, f"{a:.6g}", f"{b:.6g}") for c, a, b in zip(model.coordinates, m, k, strict=True)]
    head = f"{model.name}: {model.size} coordinates, {len(model.inputs)} inputs, {len(model.outputs)} outputs"
    if model.affine is not None:
        left = np.abs(model.affine).max(initial=0.0)
        head += f"; NOT about a working point of its own: forces up to {left:.6g} are left"
    text = table(head, ("coordinate", "M diagonal", "K diagonal"), rows)
    if model.members:
        text += "\n\nExact members: " + _first(tuple(dict.fromkeys(m.label for m in model.members)))
    if model.inputs:
        text += "\n\nInputs: " + _first(model.inputs)
    if model.outputs:
        text += "\nOutputs: " + _first(model.outputs)
    return text


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:36]) + (" ..." if len(names) > 36 else "")
