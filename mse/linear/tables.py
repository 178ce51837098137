"""A linear model as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..display import Column, Table, amounts, kind_of, scales, without_rounding
from ..elements.coordinates import coordinates_table

if TYPE_CHECKING:
    from .linear_model import LinearModel


def linear_model_table(model: LinearModel) -> Table:
    """Coordinates with the diagonals of M and K, members, inputs and outputs."""
    kinds = [kind_of(name) for name in model.coordinates]
    m, k = (without_rounding(d, scales(np.abs(d), kinds)) for d in (model.M.diagonal(), abs(model.K).diagonal()))
    head = f"{model.name}: {amounts(coordinate=model.size, input=len(model.inputs), output=len(model.outputs))}"
    if model.affine is not None:
        left = np.abs(model.affine).max(initial=0.0)
        head += f"; NOT about a working point of its own: forces up to {left:.6g} are left"
    named = {
        "Dynamic stiffness": tuple(dict.fromkeys(m.label for m in model.members)),
        "Loss factors": tuple(f"{owner} / {m} {eta:.4g}" for (owner, m), eta in model.losses.items()),
        "Inputs": model.inputs,
        "Outputs": model.outputs,
    }
    more = [Table("\n".join(f"{what}: {_first(names)}" for what, names in named.items() if names))]
    columns = {Column("M diagonal", digits=6): m.tolist(), Column("K diagonal", digits=6): k.tolist()}
    notes, more = [f"note: {note}" for note in model.notes], more if any(named.values()) else []
    return coordinates_table(head, model.coordinates, columns, notes=notes, more=more)


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:36]) + (" ..." if len(names) > 36 else "")
