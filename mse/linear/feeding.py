"""The refusal of loss factors on stiffness that is negative for some motion, where they would feed energy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ..elements.loss_laws import LossLaw
from ..errors import ModelError
from ..numerics.factor import Factor as Factored
from .law_stiffness import Factor
from .part_blocks import blocks

if TYPE_CHECKING:
    from .linear_model import LinearModel

Label = tuple[str, str]

# Of the largest stiffness of a part: its rounding.  With 1e-14 and 1e-6 tests/linear/test_losses.py, tests/test_kagra.py and
# tests/elements/test_massless_wire.py pass, with none the wires of KAGRA are refused.
_ROUNDING = 1e-9


def refuse_feeding(model: LinearModel, factors: Mapping[Label, Factor]) -> None:
    """ModelError if a part with a loss is negative for a motion, and all lossy parts of its object together, too.

    Loss belongs to what stores elastic energy.  Only loads make stiffness negative, and they lose nothing.
    """
    known = model.parts._storing
    asked = {label: 1.0 for label in factors if label not in known and label in model.parts}
    if not asked:
        return
    arms = np.r_[model.scale, np.ones(len(model.prescribed))]
    found = blocks(model.parts, asked)
    for numbers, on, matrices in found.alike:
        scaled = matrices / (arms[on][:, :, None] * arms[on][:, None, :])
        w, v = np.linalg.eigh(0.5 * (scaled + scaled.transpose(0, 2, 1)))
        for k in np.flatnonzero(w[:, 0] < -_ROUNDING * np.abs(w).max(axis=1)).tolist():
            x = np.zeros(len(arms))
            x[on[k]] = v[k, :, 0] / arms[on[k]]
            label = found.labels[numbers[k]]
            del asked[label]
            own = {other: eta for other, eta in factors.items() if other[0] == label[0] and other in model.parts}
            if _lost(model, own, label, x) < 0.0:
                refuse_part(model, label, int(on[k][np.argmax(np.abs(v[k, :, 0]))]))
    for k, (on, matrix) in found.wide.items():
        scaled = sp.diags(1.0 / arms[on]) @ matrix @ sp.diags(1.0 / arms[on])
        size = float(abs(scaled).sum(axis=1).max())
        if not Factored(sp.csc_matrix(scaled + _ROUNDING * size * sp.identity(len(on)))).positive_definite:
            refuse_part(model, found.labels[k])
    known.update(asked)


def _lost(model: LinearModel, own: Mapping[Label, Factor], label: Label, x: np.ndarray) -> float:
    """What an object loses in a motion x, compared with the loss factor of one of its parts; laws count alone."""
    eta = own[label]
    if isinstance(eta, LossLaw):
        return float(x @ (model.parts[label] @ x))
    return sum(
        other / eta * float(x @ (model.parts[name] @ x))
        for name, other in own.items()
        if not isinstance(other, LossLaw)
    )


def refuse_part(model: LinearModel, label: Label, at: int | None = None) -> None:
    """ModelError for a part that is negative for a motion, in which the coordinate number ``at`` moves most."""
    where = "some motion" if at is None else f"a motion of {(model.coordinates + model.prescribed)[at]}"
    raise ModelError(
        f"{model.name}: the stiffness {' / '.join(label)} has a loss and is negative for {where}, so its loss would feed energy; "
        "expected loss on elastic stiffness, which is not negative anywhere; give the elastic part a mechanism of its own, by "
        "elastic_parts or another object, and the loss to this"
    )
