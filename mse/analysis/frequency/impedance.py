"""Impedance at a charge, a volume or another coordinate: the effort in series with it, per flow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ...elements.coordinates import Coordinate, effort_unit_of
from ...errors import ModelError
from ...linear.linear_model import LinearModel
from ...numerics.blas_threads import one_thread
from ...validation.arguments import find, frequencies
from .response import frequency_response


@one_thread
def impedance(model: LinearModel, where: str, frequencies_hz: ArrayLike) -> np.ndarray:
    """See :meth:`.LinearModel.impedance`."""
    number = _coordinate(model, where)
    name = model.coordinates[number]
    f = np.atleast_1d(frequencies(model.name, frequencies_hz))
    if not np.all(f > 0.0):
        raise ModelError(
            f"{model.name}: impedance({where!r}) got the frequency {f.min():g} Hz; expected frequencies above 0, since a "
            "displacement per effort says nothing of a steady flow; give a low frequency instead"
        )
    width = model.size + len(model.prescribed)
    along = sp.csr_matrix(([1.0], ([0], [number])), shape=(1, width))
    prescribed = len(model.prescribed)
    probed = replace(
        model, inputs=("effort",), outputs=("displacement",), input_units=(effort_unit_of(name),),
        output_units=(name.unit,), force=along.T.tocsr(), measure=along, drive=sp.csr_matrix((prescribed, 1)),
        reaction=sp.csr_matrix((1, prescribed)), rate=None, drive_rate=None,
    )  # fmt: skip
    moved = frequency_response(probed, f).values[:, 0, 0]
    out = np.full(len(f), np.inf + 0j)  # where nothing can flow
    return np.divide(1.0, 2j * np.pi * f * moved, out=out, where=moved != 0.0)


def _coordinate(model: LinearModel, where: str) -> int:
    """Number of a coordinate by its name, or by the path of an object that has one."""
    if where in model.coordinates:
        number = model.coordinates.index(where)
        if not isinstance(model.coordinates[number], Coordinate):
            raise ModelError(
                f"{model.name}: impedance() got {where!r}, a coordinate of a frame; expected a charge, a volume or the like; "
                "compliance() is for frames"
            )
        return number
    known = [k for k, name in enumerate(model.coordinates) if isinstance(name, Coordinate)]
    own = [k for k in known if model.coordinates[k].rpartition(".")[0] == where]
    if len(own) == 1:
        return own[0]
    if own:
        raise ModelError(
            f"{model.name}: {where!r} has the coordinates {', '.join(model.coordinates[k] for k in own)}; expected one of them"
        )
    names = {model.coordinates[k].rpartition(".")[0] for k in known} | {str(model.coordinates[k]) for k in known}
    find(model.name, "charge or volume", where, sorted(names))
    raise AssertionError  # find() has refused it
