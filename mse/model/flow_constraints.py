"""Flow constraints of a whole system at a configuration, as rows on velocities of bodies and internal coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..elements.flows import flow_rows
from ..errors import ModelError
from ..kernels.rotations import cross_matrix
from ..numerics.sparse_tools import empty
from .assembly import Assembly
from .configuration import Configuration
from .flattening import Element
from .topology import Topology


class FlowConstraints(NamedTuple):
    """Rows (m, n) on velocities, and by element the numbers of its rows."""

    slopes: sp.csr_matrix
    numbers: list[tuple[Element, np.ndarray]]


def flow_constraints(
    assembly: Assembly, at: Configuration, chosen: Callable[[Element], bool] | None = None
) -> FlowConstraints:
    """The rows of all elements, or of ``chosen`` ones, about the reference points of an assembly's bodies."""
    t = assembly.topology
    if not t.flow_constrained:
        return FlowConstraints(empty(0, assembly.size), [])
    found, numbers, count = [(np.zeros(0), np.zeros(0, dtype=int), np.zeros(0, dtype=int))], [], 0
    for kind in t.kinds:
        if not kind.cls.defines("flow_constraint"):
            continue
        for k, frames, inner in zip(kind.members, kind.frames, kind.internal, strict=True):
            el = t.elements[k]
            if chosen is not None and not chosen(el):
                continue
            own = flow_rows(el.obj, at.frames(frames), at.q[inner])
            numbers.append((el, count + np.arange(len(own))))
            found.append(_on_bodies(own, count, frames, inner, assembly, at))
            count += len(own)
    values, rows, columns = (np.concatenate(x) for x in zip(*found, strict=True))
    return FlowConstraints(sp.csr_matrix((values, (rows, columns)), shape=(count, assembly.size)), numbers)


def _on_bodies(
    own: np.ndarray, first: int, frames: np.ndarray, inner: np.ndarray, assembly: Assembly, at: Configuration
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries of an element's rows (m, 6 F + q) on coordinates of bodies: values, row numbers from ``first`` on, columns."""
    bodies = assembly.body[frames]
    for k, lever in enumerate(at.o[frames] - at.reference[bodies]):
        own[:, 6 * k + 3 : 6 * k + 6] -= own[:, 6 * k : 6 * k + 3] @ cross_matrix(lever)
    columns = (6 * (bodies[:, None] - 1) + np.arange(6)).ravel()  # negative on the ground
    columns = np.concatenate([columns, 6 * (assembly.bodies - 1) + inner])
    r, c = np.nonzero(own)
    on = columns[c] >= 0
    return own[r[on], c[on]], first + r[on], columns[c[on]]


def refuse_flow_constraints(topology: Topology) -> None:
    """ModelError if a curve of equilibria is requested of a system with flow constraints, which leave it undetermined."""
    for path in topology.flow_constrained:
        raise ModelError(
            f"{topology.elements[topology.places[path]].obj.label}: its flow constraint fixes no position, so equilibria "
            "depend on the path and a curve of them is not defined; expected a system without flow constraints; leave it "
            "out, or fix the position by a joint"
        )
