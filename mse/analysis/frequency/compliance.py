"""Static compliance and stiffness at a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ...elements.base import Frame, MObject, Place
from ...elements.joint_base import AXES
from ...errors import ModelError, SingularResponseError
from ...linear.frames import motion_of
from ...linear.linear_model import LinearModel
from ...numerics.blas_threads import one_thread
from ...numerics.precision import DEPENDENT
from ...numerics.tangent import Tangent, normalized
from ...validation.arguments import positions, refusal
from .response import frequency_response

# Relative to the largest part of a motion: smaller parts are not named in messages.
# tests/analysis/frequency/test_compliance.py:: test_motions_without_stiffness_are_named_where_they_move_the_frame
_LEADING = 0.1


@one_thread
def compliance(
    model: LinearModel, where: str | Frame | Place | MObject, along: Sequence[str] | str | None, axes: str
) -> np.ndarray:
    """See :meth:`.LinearModel.compliance`."""
    name, chosen, motion = _motion(model, where, along, axes)
    _refuse_free(model, name, chosen, motion)
    units = tuple("m" if k < 3 else "rad" for k in chosen), tuple("N" if k < 3 else "N m" for k in chosen)
    loads, moved = (tuple(f"{what} {AXES[k]} at {name}" for k in chosen) for what in ("load", "displacement"))
    prescribed = len(model.prescribed)
    probed = replace(
        model, losses={}, inputs=loads, outputs=moved, input_units=units[1], output_units=units[0],
        force=motion.T.tocsr(), measure=motion, drive=sp.csr_matrix((prescribed, len(chosen))),
        reaction=sp.csr_matrix((len(chosen), prescribed)), rate=None, drive_rate=None,
    )  # fmt: skip
    return frequency_response(probed, [0.0]).values[0].real.copy()


@one_thread
def stiffness(
    model: LinearModel, where: str | Frame | Place | MObject, along: Sequence[str] | str | None, axes: str
) -> np.ndarray:
    """See :meth:`.LinearModel.stiffness`."""
    name, chosen, motion = _motion(model, where, along, axes)
    _refuse_held(model, name, chosen, motion)
    found = compliance(model, where, along, axes)
    size = np.sqrt(np.abs(found.diagonal()))  # so that rad and m do not mix
    return np.linalg.inv(found / np.outer(size, size)) / np.outer(size, size)


def _motion(
    model: LinearModel, where: str | Frame | Place | MObject, along: Sequence[str] | str | None, axes: str
) -> tuple[str, list[int], sp.csr_matrix]:
    """Name of a frame, numbers of the chosen directions (k,), and their displacements (k, n + l) by all coordinates."""
    name, motion, first = motion_of(model, where, axes)
    chosen = positions(model.name, "direction", along, AXES).tolist()
    if not chosen or len(set(chosen)) < len(chosen):
        raise refusal(model.name, "along", along, f"some of {', '.join(AXES)}, each once")
    width = model.size + len(model.prescribed)
    rows = np.repeat(np.arange(len(chosen)), 6)
    columns = np.tile(first + np.arange(6), len(chosen))
    return name, chosen, sp.csr_matrix((motion[chosen].ravel(), (rows, columns)), shape=(len(chosen), width))


def _refuse_free(model: LinearModel, name: str, chosen: list[int], motion: sp.csr_matrix) -> None:
    """SingularResponseError if motions without stiffness move the frame along the chosen directions."""
    free = model.zero_motions
    if not free.shape[1]:
        return
    motion = motion[:, : model.size]
    moved = (motion @ free).toarray()
    # compared with the terms that cancel in it, and with the whole motion (columns have about unit length)
    unit = 1.0 / (abs(motion) @ model.scale)
    limit = DEPENDENT * np.maximum((abs(motion) @ abs(free)).toarray(), unit[:, None])
    driven = np.abs(moved) > limit
    if driven.any():
        shape = np.abs(free[:, np.flatnonzero(driven.any(axis=0))]).max(axis=1).toarray().ravel() * model.scale
        order = np.argsort(-shape, kind="stable")[:3]
        who = ", ".join(model.coordinates[k] for k in order if shape[k] > _LEADING * shape[order[0]])
        infinite = driven.any(axis=1)
        raise SingularResponseError(
            f"{model.name}: the compliance at {name} is infinite along {_named(chosen, infinite)}, where a motion without "
            f"stiffness of {who} moves it; expected directions with stiffness; {_others(chosen, infinite)}"
        )


def _refuse_held(model: LinearModel, name: str, chosen: list[int], motion: sp.csr_matrix) -> None:
    """ModelError if joints prevent a motion of the frame along the chosen directions, or along a combination of them."""
    if not model.constraints.shape[0]:
        return
    slopes = model.constraints[:, : model.size] @ sp.diags(1.0 / model.scale, format="csr")
    allowed = Tangent(normalized(slopes, np.zeros(slopes.shape[0]))[0], model._factors)
    rows = (motion[:, : model.size] @ sp.diags(1.0 / model.scale)).toarray()
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    left, sizes, _ = np.linalg.svd(np.array([allowed.along(row) for row in rows]), full_matrices=False)
    held = np.abs(left[:, sizes <= DEPENDENT])
    if held.shape[1]:
        infinite = held.max(axis=1) > _LEADING
        raise ModelError(
            f"{model.name}: the stiffness at {name} is infinite along {_named(chosen, infinite)}, which joints hold, "
            f"alone or together; expected directions that can move; {_others(chosen, infinite)}; compliance() gives "
            "zero for these"
        )


def _named(chosen: list[int], those: np.ndarray) -> str:
    return ", ".join(AXES[k] for k, one in zip(chosen, those, strict=True) if one)


def _others(chosen: list[int], infinite: np.ndarray) -> str:
    names = [AXES[k] for k, one in zip(chosen, infinite, strict=True) if not one]
    return f"ask for others, along={names}" if names else "ask for others by along=, or take another frame"
